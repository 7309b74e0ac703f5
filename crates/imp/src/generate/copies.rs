//! Copies, and loops that fill new arrays: on the host they run as tasks.

use super::expr::{add, and, compare, div, max, mul, sub};
use super::function::Gen;
use crate::syntax::{Expr, Stmt, Var};
use ir::mem::Lmad;
use ir::name::Name;
use ir::types::Type;
use ir::{PassError, Prov};
use prim::{CmpOp, PrimType, Scalar, UnOp};
use target::tasks::{FILL_GRAIN, MAX_CHUNKS};

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
            self.emit(Stmt::Alloc(temp, bytes, None));
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

    /// Copies an array over a view whose rows may meet: in any order where each
    /// index of a dimension lies beyond what the dimensions inside reach, else
    /// in row-major order, so that the last one stays.
    pub(crate) fn copy_over(
        &mut self,
        block: Name,
        lmad: &Lmad,
        array: Name,
    ) -> Result<(), PassError> {
        let (ty, from_block, from) = self.place(array)?;
        let elem = Self::elem_of(&ty)?;
        let mut extents = Vec::with_capacity(ty.rank());
        for &dim in ty.shape() {
            extents.push(self.dim(dim)?);
        }
        let mut apart = Expr::Const(Scalar::Bool(true));
        let mut reach = Expr::i64(0);
        for (dim, extent) in lmad.dims.iter().zip(&extents).rev() {
            let stride = self.poly(&dim.stride)?;
            let distance = match stride {
                Expr::Const(_) => stride,
                stride => Expr::Unary(UnOp::Abs, PrimType::I64, Box::new(stride)),
            };
            let distance = self.name_value(distance, PrimType::I64, "distance");
            apart = and(apart, compare(CmpOp::SLt, reach.clone(), distance.clone()));
            let last = max(sub(extent.clone(), Expr::i64(1)), Expr::i64(0));
            reach = add(reach, mul(last, distance));
            reach = self.name_value(reach, PrimType::I64, "reach");
        }
        let free = self.collect(|g| g.copy_into(block, lmad, array))?;
        let ordered = self.collect(|g| {
            g.in_order(extents, Vec::new(), &mut |g, indices| {
                let value = g.scalar(elem, "value");
                let access = g.element(elem, from_block, &from, indices.clone())?;
                g.emit(Stmt::Load(value, access));
                let access = g.element(elem, block, lmad, indices)?;
                g.emit(Stmt::Store(access, Expr::Var(value)));
                Ok(())
            })
        })?;
        self.emit(Stmt::If(apart, free, ordered));
        Ok(())
    }

    /// Nested loops over the extents, in order; `f` gets the indices.
    fn in_order(
        &mut self,
        mut extents: Vec<Expr>,
        indices: Vec<Expr>,
        f: &mut dyn FnMut(&mut Self, Vec<Expr>) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        if extents.is_empty() {
            return f(self, indices);
        }
        let extent = extents.remove(0);
        self.for_seq("i", Expr::i64(0), extent, false, |g, i| {
            let mut indices = indices;
            indices.push(Expr::Var(i));
            g.in_order(extents, indices, f)
        })
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
        let outer = extents[0].clone();
        self.fill_tasks(("copy", Prov::NONE), outer, row, Vec::new(), |g, lo, hi| {
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
        })
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
        let distinct = fresh
            .iter()
            .map(|&b| self.var(b))
            .collect::<Result<_, _>>()?;
        self.fill_tasks((what, prov), count, row, distinct, |g, lo, hi| {
            g.for_seq("i", lo, hi, true, f)
        })
    }

    /// Tasks that fill `n` rows of `row` elements: `f` gets the bounds of each.
    fn fill_tasks(
        &mut self,
        (what, prov): (&str, Prov),
        n: Expr,
        row: Expr,
        distinct: Vec<Var>,
        f: impl FnOnce(&mut Self, Expr, Expr) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let n = self.name_value(n, PrimType::I64, "n");
        // Rows that make up a task's worth of elements.
        let grain = div(Expr::i64(FILL_GRAIN), max(row.clone(), Expr::i64(1)));
        let grain = self.name_value(max(grain, Expr::i64(1)), PrimType::I64, "grain");
        let cost = div(mul(n.clone(), row), Expr::i64(4));
        let chunks = self.n_chunks(n.clone(), grain, MAX_CHUNKS);
        let cost = self.name_value(cost, PrimType::I64, "cost");
        self.for_tasks(what, prov, chunks.clone(), cost, distinct, |g, chunk| {
            let (lo, hi) = g.bounds(n, chunks, Expr::Var(chunk));
            f(g, lo, hi)
        })
    }

    /// The element type of an array type.
    pub(crate) fn elem_of(ty: &Type) -> Result<PrimType, PassError> {
        ty.elem().ok_or_else(|| PassError::bug("no element type"))
    }
}
