//! Copies of arrays.

use super::cpu::Fill;
use super::function::Gen;
use imp::build::{add, and, compare, max, mul, or, select, sub};
use imp::copy_plan::constant;
use imp::{Data, Expr, Region, Stmt};
use ir::mem::Lmad;
use ir::name::Name;
use ir::types::{Dim, Type};
use ir::{PassError, Prov};
use prim::{CmpOp, PrimType, Scalar, UnOp};
use std::sync::Arc;

impl Gen<'_, '_> {
    /// Copies an array to a block with an index function, unless it is already there. If source and
    /// destination share a block, the copy goes through a temporary block.
    pub(crate) fn copy_into(&mut self, block: Name, lmad: &Lmad, array: Name) -> Result<(), PassError> {
        let (ty, from_block, from_lmad) = self.location(array)?;
        let elem = ty.elem().ok_or_else(|| PassError::bug("the copied value is not an array"))?;
        let same = lmad.offset == from_lmad.offset
            && lmad.dims.iter().zip(&from_lmad.dims).all(|(a, b)| a.stride == b.stride);
        if block == from_block && same {
            return Ok(());
        }
        let extents: Vec<Expr> = ty.shape().iter().map(|&dim| self.dim(dim)).collect::<Result<_, _>>()?;
        let to = self.region(block, lmad)?;
        let mut from = self.region(from_block, &from_lmad)?;
        if self.is_host_device_copy(&to, &from) {
            self.copy_host_device(&to, &from, elem, extents);
            return Ok(());
        }
        if to.buffer == from.buffer {
            let temp = self.owned_in(self.default_buffer(), "temp");
            let mut bytes = Expr::i64(elem.size() as i64);
            for extent in &extents {
                bytes = mul(extent.clone(), bytes);
            }
            self.emit(Stmt::Alloc(temp, bytes, None));
            let mut packed = Region { buffer: temp, offset: Expr::i64(0), strides: Vec::new() };
            let packed_lmad = Lmad::row_major(ty.shape());
            for dim in &packed_lmad.dims {
                packed.strides.push(self.poly(&dim.stride)?);
            }
            let extents = extents.clone();
            self.copy(packed.clone(), from, elem, extents)?;
            from = packed;
        }
        let temp = from.buffer;
        let through_temp = self.var(from_block)? != temp;
        self.copy_parallel(to, from, elem, extents)?;
        if through_temp {
            self.emit(Stmt::Release(temp));
        }
        Ok(())
    }

    /// Copies an array into a view whose elements may overlap. If a run-time test shows that no two
    /// elements have the same location, the copy is parallel, otherwise it is sequential in
    /// row-major order, so that the last write wins.
    pub(crate) fn copy_overlapping(
        &mut self,
        block: Name,
        lmad: &Lmad,
        array: Name,
    ) -> Result<(), PassError> {
        let (ty, from_block, from) = self.location(array)?;
        let elem = Self::elem_of(&ty)?;
        let mut extents = Vec::with_capacity(ty.rank());
        for &dim in ty.shape() {
            extents.push(self.dim(dim)?);
        }
        let injective = self.is_injective(lmad, &extents)?;
        let free = self.collect(|g| g.copy_into(block, lmad, array))?;
        let ordered = self.collect(|g| {
            g.sequential_nest(extents, Vec::new(), &mut |g, indices| {
                let value = g.scalar(elem, "value");
                let access = g.element(elem, from_block, &from, indices.clone())?;
                g.load(value, access);
                let access = g.element(elem, block, lmad, indices)?;
                g.store(access, Expr::Var(value));
                Ok(())
            })
        })?;
        self.emit(Stmt::If(injective, free, ordered));
        Ok(())
    }

    /// A sufficient condition for an injective view: for each dimension, the stride exceeds the
    /// joint reach of all other dimensions with a stride that is not larger. Then no two elements
    /// have the same location, whatever the order of the dimensions.
    fn is_injective(&mut self, lmad: &Lmad, extents: &[Expr]) -> Result<Expr, PassError> {
        let mut dims = Vec::with_capacity(extents.len());
        for (dim, extent) in lmad.dims.iter().zip(extents) {
            let stride = self.poly(&dim.stride)?;
            let distance = if let Expr::Const(Scalar::I64(known)) = stride {
                Expr::i64(known.saturating_abs())
            } else {
                Expr::unary(UnOp::Abs, PrimType::I64, stride)
            };
            let distance = self.bind_value(distance, PrimType::I64, "distance");
            let last = max(sub(extent.clone(), Expr::i64(1)), Expr::i64(0));
            let reach = self.bind_value(mul(last.clone(), distance.clone()), PrimType::I64, "reach");
            dims.push((distance, reach, last));
        }
        let mut injective = Expr::Const(Scalar::Bool(true));
        for (own, (distance, _, last)) in dims.iter().enumerate() {
            let mut inside = Expr::i64(0);
            let others = dims.iter().enumerate().filter(|(other, _)| *other != own);
            for (_, (near, reach, _)) in others {
                let is_inside = compare(CmpOp::SLe, near.clone(), distance.clone());
                inside = add(inside, select(&is_inside, reach, &Expr::i64(0)));
            }
            // A dimension of extent 1 cannot collide.
            let one = compare(CmpOp::Eq, last.clone(), Expr::i64(0));
            let beyond = compare(CmpOp::SLt, inside, distance.clone());
            injective = and(injective, or(one, beyond));
        }
        Ok(injective)
    }

    /// Sequential nested loops over the extents; `f` is called with the indices.
    fn sequential_nest(
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
            g.sequential_nest(extents, indices, f)
        })
    }

    /// Copies an array with at least one dimension, in slices of the outer dimension; a transposed
    /// matrix in slices of its longer dimension.
    fn copy_parallel(
        &mut self,
        mut to: Region,
        mut from: Region,
        elem: PrimType,
        mut extents: Vec<Expr>,
    ) -> Result<(), PassError> {
        if self.device.is_some() {
            return self.copy(to, from, elem, extents);
        }
        if let ([_, to_by], [from_by, _], [rows, columns]) =
            (to.strides.as_slice(), from.strides.as_slice(), extents.as_slice())
            && [to_by, from_by].map(constant) == [Some(1); 2]
            && constant(rows).and(constant(columns)).is_none()
        {
            let is_wide = compare(CmpOp::SLt, rows.clone(), columns.clone());
            let is_wide = self.bind_value(is_wide, PrimType::Bool, "is_wide");
            for pair in [&mut to.strides, &mut from.strides, &mut extents] {
                self.swap_if(pair, &is_wide);
            }
        }
        let Some((outer, rest)) = extents.split_first() else {
            return Err(PassError::bug("a copied array has no dimensions"));
        };
        let row = rest.iter().cloned().fold(Expr::i64(1), mul);
        let row = self.bind_value(row, PrimType::I64, "row");
        let rows =
            Fill { operation: "copy", prov: Prov::NONE, count: outer.clone(), row, unaliased: Vec::new() };
        self.fill(rows, |g, lo, hi| {
            let shift = |region: &Region| {
                let mut part = region.clone();
                if let Some(stride) = part.strides.first() {
                    part.offset = add(part.offset, mul(lo.clone(), stride.clone()));
                }
                part
            };
            let outer = sub(hi, lo.clone());
            g.emit(Stmt::copy(
                shift(&to),
                shift(&from),
                elem,
                std::iter::once(outer).chain(rest.iter().cloned()).collect(),
            ));
            Ok(())
        })
    }

    /// Swaps two values if `cond` holds.
    fn swap_if(&mut self, pair: &mut [Expr], cond: &Expr) {
        if let [a, b] = pair {
            let (first, second) = (select(cond, b, a), select(cond, a, b));
            *a = self.bind_value(first, PrimType::I64, "outer");
            *b = self.bind_value(second, PrimType::I64, "inner");
        }
    }

    /// Writes constants into an array.
    pub(crate) fn constant(
        &mut self,
        to: Region,
        elem: PrimType,
        shape: &[i64],
        bytes: &Arc<[u8]>,
    ) -> Result<(), PassError> {
        if self.enclosing_kernel.is_some() {
            self.store_constants(&to, elem, shape, bytes);
            return Ok(());
        }
        let id = self.tables.data(Data { elem, bytes: Arc::clone(bytes) });
        let data = self.borrowed("data");
        self.emit(Stmt::ConstData(data, id));
        let dims: Vec<Dim> = shape.iter().map(|&n| Dim::Const(n)).collect();
        let strides = Lmad::row_major(&dims).dims;
        let strides = strides.iter().map(|dim| self.poly(&dim.stride));
        let from = Region { buffer: data, offset: Expr::i64(0), strides: strides.collect::<Result<_, _>>()? };
        if self.device.is_some() {
            return self.upload(to, from, elem, shape);
        }
        let extents = shape.iter().map(|&n| Expr::i64(n)).collect();
        self.emit(Stmt::copy(to, from, elem, extents));
        Ok(())
    }

    /// The element type of an array type.
    pub(crate) fn elem_of(ty: &Type) -> Result<PrimType, PassError> {
        ty.elem().ok_or_else(|| PassError::bug("a value has no element type"))
    }
}
