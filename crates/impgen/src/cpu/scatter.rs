//! Chunks of scatters, a block of iterations at a time: writes to consecutive indices, as in
//! filters, are packed and stored as a vector.
//!
//! ```text
//! iterations lo..hi    i = lo
//!                      while i + 8 <= hi
//!                        for w < 8: <body of i + w>; index[w], value[w] = its results
//!                        inside = index < n
//!                        packed = pack index inside;  first = packed[0];  i = i + 8
//!                        if packed = first, first + 1, ..  (as many as are inside)
//!                          out[first ..] = pack value inside
//!                        else
//!                          for w < 8: if index[w] < n: out[index[w]] = value[w]
//!                          512 iterations one by one;  i = i + 512
//!                      the remaining iterations one by one
//! ```
//!
//! All writes happen in the order of the iterations, so of several writes to one element the last
//! one always wins.

use super::segops::SegSpace;
use crate::function::Gen;
use analysis::size::is_at_most;
use imp::build::{add, and, compare, min, sub};
use imp::{Expr, LaneAccess, LanePositions, MaskedOff, Stmt, Var, VarType};
use ir::facts::FactFlag;
use ir::mem::Lmad;
use ir::name::Name;
use ir::syntax::{BasicOp, Body, Exp};
use ir::types::Dim;
use ir::{Mems, PassError};
use prim::{CmpOp, PrimType, UnOp};

/// Iterations of a block: the lanes of the widest vector of `i64` indices.
pub(crate) const BLOCK: u32 = 8;
/// The number of iterations that run one by one after a block whose indices were not consecutive.
const FALLBACK_ITERATIONS: i64 = 512;
/// The maximum number of statements of a body, as it is emitted three times.
const MOST_STATEMENTS: usize = 40;
/// The maximum number of arrays, so that their vectors fit in registers.
const MOST_ARRAYS: usize = 8;

/// A scatter whose iterations can run in blocks.
pub(crate) struct Scatter {
    /// The body without its update; its results are the index and the values.
    body: Body<Mems>,
    /// The size of the arrays.
    pub(crate) size: Dim,
    /// The types of the index and the values.
    pub(crate) types: Vec<PrimType>,
    /// The blocks and index functions of the arrays.
    arrays: Vec<(Name, Lmad)>,
    /// The frame depth of their `withacc`.
    depth: usize,
}

impl Scatter {
    /// The block and index function of each array, and its element type.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = (&(Name, Lmad), &PrimType)> {
        self.arrays.iter().zip(&self.types[1..])
    }
}

/// The packing of a block of values.
pub(crate) struct Packed {
    /// Iterations of the block.
    pub(crate) lanes: u32,
    /// The position of its first value in the frame.
    pub(crate) start: i64,
    /// The destination index of the first selected value.
    pub(crate) first: Expr,
    /// The mask of the selected lanes.
    pub(crate) chosen: Expr,
    /// The mask of the lanes that the packed values occupy: as many as are selected, from lane 0
    /// on.
    pub(crate) occupied: Expr,
}

impl Gen<'_, '_> {
    /// The body of a segmap as a scatter, if it is one and its body is small.
    pub(crate) fn scatter(&self, space: &SegSpace<'_>) -> Option<Scatter> {
        let scatter = self.scatter_of(space.body)?;
        is_at_most(&scatter.body, MOST_STATEMENTS).then_some(scatter)
    }

    /// An iteration's body as a scatter, if its writes can be packed.
    pub(crate) fn scatter_of(&self, body: &Body<Mems>) -> Option<Scatter> {
        let (last, before) = body.stms.split_last()?;
        let Exp::Basic(BasicOp::UpdateAcc { acc: _, index, values }) = &last.exp else {
            return None;
        };
        let [index] = index.as_slice() else {
            return None;
        };
        if !last.aux.facts.has(FactFlag::Packable) || values.len() > MOST_ARRAYS {
            return None;
        }
        let mut scatter = Scatter {
            body: Body {
                stms: before.to_vec(),
                result: std::iter::once(*index).chain(values.iter().copied()).collect(),
            },
            size: Dim::Const(0),
            types: vec![PrimType::I64],
            arrays: Vec::new(),
            depth: 0,
        };
        let [param] = last.pat.as_slice() else {
            return None;
        };
        let target = self.target(&param.ty).ok()?;
        scatter.depth = target.depth;
        for (ty, block, lmad) in &target.arrays {
            let ([size], Some(elem)) = (ty.shape(), ty.elem()) else {
                return None;
            };
            scatter.size = *size;
            scatter.types.push(elem);
            scatter.arrays.push((*block, lmad.clone()));
        }
        Some(scatter)
    }

    /// The iterations `lo..hi` of a scatter.
    pub(crate) fn scatter_chunk(
        &mut self,
        scatter: &Scatter,
        space: &SegSpace<'_>,
        lo: Expr,
        hi: Expr,
    ) -> Result<(), PassError> {
        let types = &scatter.types;
        let count = Expr::i64(i64::from(BLOCK));
        let arrays = self.lane_arrays("scattered", types, i64::from(BLOCK));
        let next = self.scalar(PrimType::I64, "next");
        self.emit(Stmt::Set(next, lo));
        let more = self.scalar(PrimType::Bool, "more");
        let go_on = |g: &mut Self| {
            let left = sub(hi.clone(), Expr::Var(next));
            g.emit(Stmt::Set(more, compare(CmpOp::SLe, count.clone(), left)));
        };
        go_on(self);
        let blocks = self.collect(|g| {
            let first = g.scalar(PrimType::I64, "first");
            g.emit(Stmt::Set(first, Expr::Var(next)));
            g.for_seq("w", Expr::i64(0), count.clone(), true, |g, w| {
                g.set_index(space, add(Expr::Var(first), Expr::Var(w)));
                g.store_scattered(scatter, &arrays, Expr::Var(w))
            })?;
            g.emit(Stmt::Set(next, add(Expr::Var(next), count.clone())));
            let single = g.collect(|g| {
                let start = g.bind_value(add(Expr::Var(first), count.clone()), PrimType::I64, "start");
                let end = min(hi.clone(), add(start.clone(), Expr::i64(FALLBACK_ITERATIONS)));
                let end = g.bind_value(end, PrimType::I64, "end");
                g.emit(Stmt::Set(next, end.clone()));
                g.iterations(space, start, end, |_, _| Ok(()))
            })?;
            g.packed_block(scatter, &arrays, 0, single)?;
            go_on(g);
            Ok(())
        })?;
        self.emit(Stmt::While(more, blocks));
        self.iterations(space, Expr::Var(next), hi.clone(), |_, _| Ok(()))
    }

    /// Stores the index and values that an iteration's body yields into arrays, at index `at`.
    pub(crate) fn store_scattered(
        &mut self,
        scatter: &Scatter,
        arrays: &[Var],
        at: Expr,
    ) -> Result<(), PassError> {
        self.iteration(&scatter.body, |g, results| {
            let values = g.copy_operands(&results, &scatter.types)?;
            g.store_all(arrays, &scatter.types, at, &values);
            Ok(())
        })
    }

    /// Scatters the first `count` indices and values of the arrays.
    pub(crate) fn scatter_arrays(
        &mut self,
        scatter: &Scatter,
        arrays: &[Var],
        count: i64,
    ) -> Result<(), PassError> {
        for start in (0..count).step_by(BLOCK as usize) {
            self.packed_block(scatter, arrays, start, Vec::new())?;
        }
        Ok(())
    }

    /// Writes a block whose indices and values are in the frame from `start` on: with one vector
    /// store if the in-bounds indices are consecutive; otherwise one by one, followed by
    /// `otherwise`.
    fn packed_block(
        &mut self,
        scatter: &Scatter,
        arrays: &[Var],
        start: i64,
        otherwise: Vec<Stmt>,
    ) -> Result<(), PassError> {
        let size = self.dim(scatter.size)?;
        let indices = self.frame_vector(arrays[0], PrimType::I64, (BLOCK, start), "indices");
        let every = |x: Expr| Expr::Splat(BLOCK, Box::new(x));
        let inside = compare(CmpOp::ULt, indices.clone(), every(size.clone()));
        let inside = self.vector(PrimType::Bool, "inside", inside);
        let pack = |x: Expr| Expr::Pack(Box::new(x), Box::new(inside.clone()));
        let packed = self.vector(PrimType::I64, "packed", pack(indices));
        let first = Expr::Extract(Box::new(packed.clone()), Box::new(Expr::i64(0)));
        let first = self.bind_value(first, PrimType::I64, "first");
        let numbers = Expr::LaneIds(PrimType::I64, BLOCK);
        let kept = Expr::Count(Box::new(inside.clone()));
        let kept = self.bind_value(kept, PrimType::I64, "kept");
        let there = compare(CmpOp::SLt, numbers.clone(), every(kept));
        let there = self.vector(PrimType::Bool, "there", there);
        let expected = add(every(first.clone()), numbers);
        let follows = compare(CmpOp::Eq, packed, expected);
        let follows = Expr::unary(UnOp::Not, PrimType::Bool, follows);
        let has_gaps = and(there.clone(), follows);
        let has_gaps = self.bind_value(Expr::Any(Box::new(has_gaps)), PrimType::Bool, "has_gaps");
        let mut one_by_one = self.collect(|g| {
            let end = Expr::i64(start + i64::from(BLOCK));
            g.for_seq("w", Expr::i64(start), end, false, |g, w| {
                let loaded = g.load_all(arrays, &scatter.types, Expr::Var(w), "x");
                g.scatter_at(scatter, Expr::Var(loaded[0]), &loaded[1..])
            })
        })?;
        one_by_one.extend(otherwise);
        let block = Packed { lanes: BLOCK, start, first, chosen: inside, occupied: there };
        let together = self.collect(|g| g.store_packed(scatter, &arrays[1..], &block))?;
        self.emit(Stmt::If(has_gaps, one_by_one, together));
        Ok(())
    }

    /// Stores values at an index, if it is in bounds.
    pub(crate) fn scatter_at(
        &mut self,
        scatter: &Scatter,
        index: Expr,
        values: &[Var],
    ) -> Result<(), PassError> {
        let size = self.dim(scatter.size)?;
        let inside = compare(CmpOp::ULt, index.clone(), size);
        let mut stores = Vec::with_capacity(values.len());
        for (((block, lmad), &elem), &value) in scatter.arrays().zip(values) {
            let to = self.element(elem, *block, lmad, vec![index.clone()])?;
            self.record_racy_write(scatter.depth, to.buffer);
            stores.push(Stmt::Store(to, Expr::Var(value)));
        }
        self.emit(Stmt::If(inside, stores, Vec::new()));
        Ok(())
    }

    /// Stores the selected values of a block that is in the frame.
    pub(crate) fn store_packed(
        &mut self,
        scatter: &Scatter,
        values: &[Var],
        block: &Packed,
    ) -> Result<(), PassError> {
        for (((to, lmad), &elem), &array) in scatter.arrays().zip(values) {
            let to = self.element(elem, *to, lmad, Vec::new())?;
            self.record_racy_write(scatter.depth, to.buffer);
            let vector = self.frame_vector(array, elem, (block.lanes, block.start), "values");
            self.emit(Stmt::StoreLanes {
                to: LaneAccess {
                    buffer: to.buffer,
                    elem,
                    lanes: block.lanes,
                    at: LanePositions::Unit(add(to.offset, block.first.clone())),
                    masked_off: MaskedOff::Skip,
                },
                value: Expr::Pack(Box::new(vector), Box::new(block.chosen.clone())),
                mask: Some(block.occupied.clone()),
            });
        }
        Ok(())
    }

    /// Stores a vector in a fresh variable.
    fn vector(&mut self, elem: PrimType, hint: &str, value: Expr) -> Expr {
        let var = self.value(VarType::Vector(elem, BLOCK), hint);
        self.emit(Stmt::Set(var, value));
        Expr::Var(var)
    }
}
