//! Copies, and loops that fill new arrays: on the host they run as tasks.

use super::expr::{add, binary, compare, div, max, min, mul, sub};
use super::function::Gen;
use crate::syntax::{Expr, Stmt, Var};
use ir::mem::Lmad;
use ir::name::Name;
use ir::types::Type;
use ir::{PassError, Prov};
use prim::{BinOp, CmpOp, PrimType, UnOp};

/// Elements that a task fills at least.
const FILL_GRAIN: i64 = 1 << 15;
/// Most tasks of one fill.
const FILL_CHUNKS: i64 = 512;

impl Gen<'_, '_> {
    /// Copies an array to a place, unless it lies there. Where the two share a
    /// block, through a block of its own.
    pub(crate) fn copy_into(
        &mut self,
        block: Name,
        lmad: &Lmad,
        array: Name,
    ) -> Result<(), PassError> {
        let (ty, from_block, from_lmad) = self.place(array)?;
        let elem = ty
            .elem()
            .ok_or_else(|| PassError::bug("a copy of no array"))?;
        let same = lmad.offset == from_lmad.offset
            && lmad
                .dims
                .iter()
                .zip(&from_lmad.dims)
                .all(|(a, b)| a.stride == b.stride);
        if block == from_block && same {
            return Ok(());
        }
        let extents: Vec<Expr> = ty
            .shape()
            .iter()
            .map(|&dim| self.dim(dim))
            .collect::<Result<_, _>>()?;
        let to = self.region(block, lmad)?;
        let mut from = self.region(from_block, &from_lmad)?;
        if to.buffer == from.buffer {
            let temp = self.owned("temp");
            let mut bytes = Expr::i64(elem.size() as i64);
            for extent in &extents {
                bytes = mul(extent.clone(), bytes);
            }
            self.emit(Stmt::Alloc(temp, bytes));
            let mut packed = crate::syntax::Region {
                buffer: temp,
                offset: Expr::i64(0),
                strides: Vec::new(),
            };
            let packed_lmad = Lmad::row_major(ty.shape());
            for dim in &packed_lmad.dims {
                packed.strides.push(self.poly(&dim.stride)?);
            }
            let extents = extents.clone();
            self.emit(Stmt::Copy {
                to: packed.clone(),
                from,
                elem,
                extents,
            });
            from = packed;
        }
        let temp = from.buffer;
        let through_temp = self.var(from_block)? != temp;
        self.copy_rows(to, from, elem, extents)?;
        if through_temp {
            self.emit(Stmt::Release(temp));
        }
        Ok(())
    }

    /// A copy; on the host, over the outer dimension in tasks.
    fn copy_rows(
        &mut self,
        to: crate::syntax::Region,
        from: crate::syntax::Region,
        elem: PrimType,
        extents: Vec<Expr>,
    ) -> Result<(), PassError> {
        let constant = extents
            .iter()
            .all(|extent| matches!(extent, Expr::Const(_)));
        if self.in_task() || constant {
            self.emit(Stmt::Copy {
                to,
                from,
                elem,
                extents,
            });
            return Ok(());
        }
        let mut row = Expr::i64(1);
        for extent in &extents[1..] {
            row = mul(row, extent.clone());
        }
        let row = self.name_value(row, PrimType::I64, "row");
        let outer = self.name_value(extents[0].clone(), PrimType::I64, "n");
        // Rows that make up a task's worth of elements.
        let grain = div(Expr::i64(FILL_GRAIN), max(row.clone(), Expr::i64(1)));
        let grain = self.name_value(max(grain, Expr::i64(1)), PrimType::I64, "grain");
        let cost = div(mul(outer.clone(), row), Expr::i64(4));
        self.chunks(
            "copy",
            Prov::NONE,
            outer,
            grain,
            FILL_CHUNKS,
            cost,
            Vec::new(),
            |g, _, lo, hi| {
                let shift = |region: &crate::syntax::Region| {
                    let mut part = region.clone();
                    part.offset = add(part.offset, mul(lo.clone(), part.strides[0].clone()));
                    part
                };
                let mut extents = extents;
                extents[0] = sub(hi, lo.clone());
                g.emit(Stmt::Copy {
                    to: shift(&to),
                    from: shift(&from),
                    elem,
                    extents,
                });
                Ok(())
            },
        )
    }

    /// A loop over `0..count` whose iterations are independent and cost about
    /// `cost` nanoseconds in all together per 4 elements; tasks on the host.
    pub(crate) fn spread(
        &mut self,
        what: &str,
        prov: Prov,
        count: Expr,
        row: i64,
        fresh: Vec<Name>,
        f: impl FnOnce(&mut Self, Var) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        self.spread_rows(what, prov, count, Expr::i64(row), fresh, f)
    }

    /// As [`Gen::spread`], each iteration filling `row` elements.
    pub(crate) fn spread_rows(
        &mut self,
        what: &str,
        prov: Prov,
        count: Expr,
        row: Expr,
        fresh: Vec<Name>,
        f: impl FnOnce(&mut Self, Var) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        if self.in_task() || matches!(count, Expr::Const(_)) {
            return self.for_seq("i", Expr::i64(0), count, true, f);
        }
        let grain = div(Expr::i64(FILL_GRAIN), max(row.clone(), Expr::i64(1)));
        let grain = self.name_value(max(grain, Expr::i64(1)), PrimType::I64, "grain");
        let cost = div(mul(count.clone(), row), Expr::i64(4));
        let distinct = fresh
            .iter()
            .map(|&b| self.var(b))
            .collect::<Result<_, _>>()?;
        self.chunks(
            what,
            prov,
            count,
            grain,
            FILL_CHUNKS,
            cost,
            distinct,
            |g, _, lo, hi| g.for_seq("i", lo, hi, true, f),
        )
    }

    /// Tasks over the chunks of `0..n`: `f` gets the chunk and its bounds. The
    /// number of chunks is `clamp(n / grain, 1, most)`.
    #[allow(
        clippy::too_many_arguments,
        reason = "what the loop is and how it falls apart"
    )]
    pub(crate) fn chunks(
        &mut self,
        what: &str,
        prov: Prov,
        n: Expr,
        grain: Expr,
        most: i64,
        cost: Expr,
        distinct: Vec<Var>,
        f: impl FnOnce(&mut Self, Var, Expr, Expr) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let n = self.name_value(n, PrimType::I64, "n");
        let chunks = self.n_chunks(n.clone(), grain, most);
        let cost = self.name_value(cost, PrimType::I64, "cost");
        self.for_tasks(what, prov, chunks.clone(), cost, distinct, |g, chunk| {
            let (lo, hi) = g.bounds(n, chunks, Expr::Var(chunk));
            f(g, chunk, lo, hi)
        })
    }

    /// `clamp(n / grain, 1, most)` in a variable.
    pub(crate) fn n_chunks(&mut self, n: Expr, grain: Expr, most: i64) -> Expr {
        let chunks = min(max(div(n, grain), Expr::i64(1)), Expr::i64(most));
        self.name_value(chunks, PrimType::I64, "chunks")
    }

    /// The bounds of a chunk of `0..n`: `chunk * n / chunks` and the next one's.
    pub(crate) fn bounds(&mut self, n: Expr, chunks: Expr, chunk: Expr) -> (Expr, Expr) {
        let next = add(chunk.clone(), Expr::i64(1));
        let lo = div(mul(chunk, n.clone()), chunks.clone());
        let hi = div(mul(next, n), chunks);
        (
            self.name_value(lo, PrimType::I64, "lo"),
            self.name_value(hi, PrimType::I64, "hi"),
        )
    }

    /// The bounds of a chunk of `0..n` in whole steps, but for the end of the
    /// last one.
    pub(crate) fn stepped_bounds(
        &mut self,
        n: Expr,
        step: Expr,
        chunks: Expr,
        chunk: Expr,
    ) -> (Expr, Expr) {
        if step == Expr::i64(1) {
            return self.bounds(n, chunks, chunk);
        }
        let steps = div(n.clone(), step.clone());
        let steps = self.name_value(steps, PrimType::I64, "steps");
        let (lo, hi) = self.bounds(steps, chunks.clone(), chunk.clone());
        let next = add(chunk, Expr::i64(1));
        let last = Box::new(compare(CmpOp::Eq, next, chunks));
        let end = Box::new(mul(hi, step.clone()));
        let hi = Expr::Select(PrimType::I64, last, Box::new(n), end);
        (
            self.name_value(mul(lo, step), PrimType::I64, "lo"),
            self.name_value(hi, PrimType::I64, "hi"),
        )
    }

    /// How many of `n` points go together: the greatest power of two that is no
    /// more than `most` and leaves so many chunks.
    pub(crate) fn step(&mut self, n: Expr, chunks: i64, most: i64) -> Expr {
        if most <= 1 {
            return Expr::i64(1);
        }
        let fill = min(
            max(div(n, Expr::i64(chunks)), Expr::i64(1)),
            Expr::i64(most),
        );
        let zeros = Expr::Unary(UnOp::Clz, PrimType::I64, Box::new(fill));
        let step = binary(BinOp::Shl, Expr::i64(1), sub(Expr::i64(63), zeros));
        self.name_value(step, PrimType::I64, "step")
    }

    /// The element type of an array type.
    pub(crate) fn elem_of(ty: &Type) -> Result<PrimType, PassError> {
        ty.elem().ok_or_else(|| PassError::bug("no element type"))
    }
}
