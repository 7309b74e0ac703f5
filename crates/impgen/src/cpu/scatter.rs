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
//! Where a body has loops, all indices and values are computed in lanes, consecutive or not.
//!
//! All writes happen in the order of the iterations, so of several writes to one element the last
//! one always wins.

use super::segops::SegSpace;
use crate::Result;
use crate::cpu::CpuSchedule;
use crate::mems::Body;
use crate::schedule::Generator;
use analysis::size::is_at_most;
use analysis::statements;
use imp::build::{Operand, and, min, ult};
use imp::{Expr, LaneAccess, LanePositions, MaskedOff, Stmt, Var, VarType, bind, emit, expr};
use ir::facts::FactFlag;
use ir::mem::Lmad;
use ir::name::Name;
use ir::syntax::{BasicOp, Exp};
use ir::types::Dim;
use prim::{PrimType, UnOp};

/// Iterations of a block: the lanes of the widest vector of `i64` indices.
pub(crate) const BLOCK: u32 = 8;
/// The same where the body has loops, whose iterations depend on each other: two vectors of indices.
const EXPENSIVE_BLOCK: u32 = 2 * BLOCK;
/// The number of iterations that run one by one after a block whose indices were not consecutive.
const FALLBACK_ITERATIONS: i64 = 512;
/// The maximum number of statements of a body, as it is emitted three times.
const MOST_STATEMENTS: usize = 40;
/// The maximum number of arrays, so that their vectors fit in registers.
const MOST_ARRAYS: usize = 8;

/// A scatter whose iterations can run in blocks.
pub(crate) struct Scatter {
    /// The body without its update; its results are the index and the values.
    body: Body,
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
    pub(crate) first: Operand,
    /// The mask of the selected lanes.
    pub(crate) chosen: Operand,
    /// The mask of the lanes that the packed values occupy: as many as are selected, from lane 0
    /// on.
    pub(crate) occupied: Operand,
}

impl Generator<'_, CpuSchedule> {
    /// The body of a segmap as a scatter, if it is one and its body is small.
    pub(crate) fn scatter(&self, space: &SegSpace<'_>) -> Option<Scatter> {
        let scatter = self.scatter_of(space.body)?;
        is_at_most(&scatter.body, MOST_STATEMENTS).then_some(scatter)
    }

    /// An iteration's body as a scatter, if its writes can be packed.
    pub(crate) fn scatter_of(&self, body: &Body) -> Option<Scatter> {
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
        lo: Operand,
        hi: Operand,
    ) -> Result {
        let types = &scatter.types;
        // Lanes pay for a loop, whatever is stored.
        let is_expensive = statements::any(&scatter.body, &|stm| matches!(stm.exp, Exp::Loop { .. }));
        let count = i64::from(if is_expensive { EXPENSIVE_BLOCK } else { BLOCK });
        let arrays = self.lane_arrays("scattered", types, count);
        let next = self.scalar(PrimType::I64, "next");
        self.set(next, lo);
        let more = self.scalar(PrimType::Bool, "more");
        self.set(more, expr!(count <= hi - next));
        emit!(while self(more) {
            let first = self.scalar(PrimType::I64, "first");
            self.set(first, next);
            emit!(for w in self.independent(0..count) {
                self.set_index(space.index, first + w);
                self.store_scattered(scatter, &arrays, w.into())?;
            });
            self.set(next, next + count);
            if is_expensive {
                self.scatter_arrays(scatter, &arrays, count)?;
            } else {
                let single = self.collect(|g| {
                    bind!(start = g(first + count));
                    bind!(end = g(min(hi, start + FALLBACK_ITERATIONS)));
                    g.set(next, end);
                    g.iterations(space, start, end, |_, _| Ok(()))
                })?;
                self.packed_block(scatter, &arrays, 0, single)?;
            }
            self.set(more, expr!(count <= hi - next));
        });
        self.iterations(space, next.into(), hi, |_, _| Ok(()))
    }

    /// Stores the index and values that an iteration's body yields into arrays, at index `at`.
    pub(crate) fn store_scattered(&mut self, scatter: &Scatter, arrays: &[Var], at: Operand) -> Result {
        self.iteration(&scatter.body, |g, results| {
            let values = g.copy_operands(&results, &scatter.types)?;
            g.store_all(arrays, &scatter.types, at, &values);
            Ok(())
        })
    }

    /// Scatters the first `count` indices and values of the arrays.
    pub(crate) fn scatter_arrays(&mut self, scatter: &Scatter, arrays: &[Var], count: i64) -> Result {
        for start in (0..count).step_by(BLOCK as usize) {
            self.packed_block(scatter, arrays, start, Vec::new())?;
        }
        Ok(())
    }

    /// Scatters the first `count` indices and values of the arrays, which are not expected to be consecutive.
    pub(crate) fn scatter_apart(&mut self, scatter: &Scatter, arrays: &[Var], count: i64) -> Result {
        let size = self.dim(scatter.size)?;
        for start in (0..count).step_by(BLOCK as usize) {
            let indices = self.frame_vector(arrays[0], PrimType::I64, (BLOCK, start), "indices");
            let every = |x: Expr| Expr::Splat(BLOCK, Box::new(x));
            let inside = self.vector(PrimType::Bool, "inside", ult(indices, every(size.into())));
            for (((to, lmad), &elem), &array) in scatter.arrays().zip(&arrays[1..]) {
                let to = self.element(elem, *to, lmad, [0; 0])?;
                self.record_racy_write(scatter.depth, to.buffer);
                let values = self.frame_vector(array, elem, (BLOCK, start), "values");
                self.emit(Stmt::StoreLanes {
                    to: LaneAccess {
                        buffer: to.buffer,
                        elem,
                        lanes: BLOCK,
                        at: LanePositions::Gather(every(to.offset) + indices),
                        masked_off: MaskedOff::Skip,
                    },
                    value: values.into(),
                    mask: Some(inside.into()),
                });
            }
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
    ) -> Result {
        let size = self.dim(scatter.size)?;
        let indices = self.frame_vector(arrays[0], PrimType::I64, (BLOCK, start), "indices");
        let every = |x: Operand| Expr::Splat(BLOCK, Box::new(x.into()));
        let inside = ult(indices, every(size));
        let inside = self.vector(PrimType::Bool, "inside", inside);
        let pack = |x: Operand| Expr::Pack(Box::new(x.into()), Box::new(inside.into()));
        let packed = self.vector(PrimType::I64, "packed", pack(indices));
        bind!(first = self(Expr::Extract(Box::new(packed.into()), Box::new(Expr::i64(0)))));
        let numbers = Expr::LaneIds(PrimType::I64, BLOCK);
        bind!(kept = self(Expr::Count(Box::new(inside.into()))));
        let there = expr!(numbers.clone() < every(kept));
        let there = self.vector(PrimType::Bool, "there", there);
        let expected = every(first) + numbers;
        let follows = expr!(packed == expected);
        let follows = Expr::unary(UnOp::Not, PrimType::Bool, follows);
        let has_gaps = and(there, follows);
        bind!(has_gaps = self(Expr::Any(Box::new(has_gaps))));
        emit!(if self(has_gaps) {
            emit!(for w in self(start..start + i64::from(BLOCK)) {
                let loaded = self.load_all(arrays, &scatter.types, w, "x");
                self.scatter_at(scatter, loaded[0], &loaded[1..])?;
            });
            self.emit_all(otherwise);
        } else {
            let block = Packed { lanes: BLOCK, start, first, chosen: inside, occupied: there };
            self.store_packed(scatter, &arrays[1..], &block)?;
        });
        Ok(())
    }

    /// Stores values at an index, if it is in bounds.
    pub(crate) fn scatter_at(
        &mut self,
        scatter: &Scatter,
        index: impl Into<Operand>,
        values: &[Var],
    ) -> Result {
        let (index, size) = (index.into(), self.dim(scatter.size)?);
        emit!(if self(ult(index, size)) {
            for (((block, lmad), &elem), &value) in scatter.arrays().zip(values) {
                let to = self.element(elem, *block, lmad, [index])?;
                self.record_racy_write(scatter.depth, to.buffer);
                self.store(to, value);
            }
        });
        Ok(())
    }

    /// Stores the selected values of a block that is in the frame.
    pub(crate) fn store_packed(&mut self, scatter: &Scatter, values: &[Var], block: &Packed) -> Result {
        for (((to, lmad), &elem), &array) in scatter.arrays().zip(values) {
            let to = self.element(elem, *to, lmad, [0; 0])?;
            self.record_racy_write(scatter.depth, to.buffer);
            let vector = self.frame_vector(array, elem, (block.lanes, block.start), "values");
            self.emit(Stmt::StoreLanes {
                to: LaneAccess {
                    buffer: to.buffer,
                    elem,
                    lanes: block.lanes,
                    at: LanePositions::Unit(to.offset + block.first),
                    masked_off: MaskedOff::Skip,
                },
                value: Expr::Pack(Box::new(vector.into()), Box::new(block.chosen.into())),
                mask: Some(block.occupied.into()),
            });
        }
        Ok(())
    }

    /// Stores a vector in a fresh variable.
    fn vector(&mut self, elem: PrimType, hint: &str, value: Expr) -> Operand {
        let var = self.value(VarType::Vector(elem, BLOCK), hint);
        self.set(var, value);
        var.into()
    }
}
