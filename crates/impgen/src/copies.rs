//! Copies of arrays.

use crate::mems::Param;
use crate::operators::elem_of;
use crate::schedule::{Generator, Schedule};
use crate::{OrBug, Result};
use imp::build::{Operand, TRUE, and, max, or, product, select};
use imp::copy_plan::constant;
use imp::{Access, Data, Expr, Region, Stmt, VarType, bind, emit, expr};
use ir::mem::Lmad;
use ir::name::Name;
use ir::types::Dim;
use prim::{PrimType, Scalar, UnOp};
use std::sync::Arc;

impl<S: Schedule> Generator<'_, S> {
    /// Copies an array to a block with an index function, unless it is already there. If source and
    /// destination share a block, the copy goes through a temporary block.
    pub(crate) fn copy_into(&mut self, block: Name, lmad: &Lmad, array: Name) -> Result {
        let (ty, from_block, from_lmad) = self.location(array)?;
        let elem = elem_of(&ty)?;
        let same = lmad.offset == from_lmad.offset
            && lmad.dims.iter().zip(&from_lmad.dims).all(|(a, b)| a.stride == b.stride);
        if block == from_block && same {
            return Ok(());
        }
        let extents = self.extents(ty.shape())?;
        let to = self.region(block, lmad)?;
        let from = self.region(from_block, &from_lmad)?;
        if to.buffer != from.buffer {
            return S::copy_array(self, ArrayCopy { to, from, elem, extents });
        }
        let memory = self.type_of(to.buffer).and_then(VarType::memory).or_bug("a block is not a buffer")?;
        let temp = self.owned(memory, "temp");
        let bytes = extents.iter().fold(Expr::i64(elem.size() as i64), |bytes, &extent| extent * bytes);
        self.emit(Stmt::Alloc(temp, bytes, None));
        let strides = self.strides(&Lmad::row_major(ty.shape()))?;
        let packed = Region { buffer: temp, offset: Expr::i64(0), strides };
        S::copy(self, ArrayCopy { to: packed.clone(), from, elem, extents: extents.clone() })?;
        S::copy_array(self, ArrayCopy { to, from: packed, elem, extents })?;
        self.emit(Stmt::Release(temp));
        Ok(())
    }

    /// Copies an array from another memory.
    pub(crate) fn copy_from_memory(&mut self, pat: &Param, array: Name) -> Result {
        self.record_location(pat);
        let [(ty, to_block, to), (_, from_block, from)] = [self.location(pat.name)?, self.location(array)?];
        let (to, from) = (self.region(to_block, &to)?, self.region(from_block, &from)?);
        let extents = self.extents(ty.shape())?;
        self.copy_flat(ArrayCopy { to, from, elem: elem_of(&ty)?, extents });
        Ok(())
    }

    /// Copies between regions that are both row-major without gaps.
    pub(crate) fn copy_flat(&mut self, copy: ArrayCopy) {
        let [to, from] = [copy.to, copy.from].map(|side| Region { strides: vec![Expr::i64(1)], ..side });
        bind!(count = self(product(copy.extents)));
        self.emit(copy_stmt(to, from, copy.elem, [count]));
    }

    /// Copies an array into a view whose elements may overlap. If a run-time test shows that no two
    /// elements have the same location, the copy is parallel, otherwise it is sequential in
    /// row-major order, so that the last write wins.
    pub(crate) fn copy_overlapping(&mut self, block: Name, lmad: &Lmad, array: Name) -> Result {
        let (ty, from_block, from) = self.location(array)?;
        let elem = elem_of(&ty)?;
        let extents = self.extents(ty.shape())?;
        let injective = self.is_injective(lmad, &extents)?;
        emit!(if self(injective) {
            self.copy_into(block, lmad, array)?;
        } else {
            self.nest(&extents, false, Vec::new(), &mut |g, indices| {
                let value = g.scalar(elem, "value");
                let access = g.element(elem, from_block, &from, &indices)?;
                g.load(value, access);
                let access = g.element(elem, block, lmad, &indices)?;
                g.store(access, value);
                Ok(())
            })?;
        });
        Ok(())
    }

    /// A sufficient condition for an injective view: for each dimension, the stride exceeds the
    /// joint reach of all other dimensions with a stride that is not larger. Then no two elements
    /// have the same location, whatever the order of the dimensions.
    fn is_injective(&mut self, lmad: &Lmad, extents: &[Operand]) -> Result<Expr> {
        let mut dims = Vec::with_capacity(extents.len());
        for (dim, &extent) in lmad.dims.iter().zip(extents) {
            let stride = self.poly(&dim.stride)?;
            let distance = match constant(&stride) {
                Some(known) => Expr::i64(known.saturating_abs()),
                None => Expr::unary(UnOp::Abs, PrimType::I64, stride),
            };
            bind!(distance = self(distance));
            let last = max(extent - 1, 0);
            bind!(reach = self(&last * distance));
            dims.push((distance, reach, last));
        }
        let mut injective = TRUE;
        for (own, (distance, _, last)) in dims.iter().enumerate() {
            let mut inside = Expr::i64(0);
            let others = dims.iter().enumerate().filter(|(other, _)| *other != own);
            for (_, (near, reach, _)) in others {
                inside = inside + select(expr!(*near <= *distance), reach, 0);
            }
            // A dimension of extent 1 cannot collide.
            injective = and(injective, or(expr!(last == 0), expr!(inside < *distance)));
        }
        Ok(injective)
    }

    /// Writes constants into an array.
    pub(crate) fn constant(
        &mut self,
        to: Region,
        elem: PrimType,
        shape: &[i64],
        bytes: &Arc<[u8]>,
    ) -> Result {
        // A kernel cannot refer to constant data.
        if !self.schedule.is_host() {
            self.store_constants(&to, elem, shape, bytes);
            return Ok(());
        }
        let id = self.tables.data(Data { elem, bytes: Arc::clone(bytes) });
        let data = self.value(VarType::HOST, "data");
        self.emit(Stmt::ConstData(data, id));
        let dims: Vec<Dim> = shape.iter().map(|&n| Dim::Const(n)).collect();
        let strides = self.strides(&Lmad::row_major(&dims))?;
        let from = Region { buffer: data, offset: Expr::i64(0), strides };
        let extents = shape.iter().map(|&n| n.into()).collect();
        S::copy_data(self, ArrayCopy { to, from, elem, extents })
    }

    /// Stores constants into a thread's array, one by one.
    fn store_constants(&mut self, to: &Region, elem: PrimType, shape: &[i64], bytes: &[u8]) {
        let size = elem.size() as usize;
        for (number, word) in bytes.chunks_exact(size).enumerate() {
            let mut bits = [0; 8];
            bits[..size].copy_from_slice(word);
            let mut rest = number as i64;
            let mut dims = Vec::with_capacity(shape.len());
            for (extent, stride) in shape.iter().zip(&to.strides).rev() {
                let extent = (*extent).max(1);
                dims.push((Expr::i64(rest % extent), stride.clone()));
                rest /= extent;
            }
            dims.reverse();
            let access = Access { buffer: to.buffer, elem, offset: to.offset.clone(), dims };
            let value = Scalar::from_bits(elem, u64::from_le_bytes(bits));
            self.emit(Stmt::Store(access, Expr::Const(value)));
        }
    }
}

/// A copy of elements between two regions.
#[derive(Clone)]
pub(crate) struct ArrayCopy {
    pub(crate) to: Region,
    pub(crate) from: Region,
    pub(crate) elem: PrimType,
    pub(crate) extents: Vec<Operand>,
}

/// A copy statement.
pub(crate) fn copy_stmt(
    to: Region,
    from: Region,
    elem: PrimType,
    extents: impl IntoIterator<Item: Into<Expr>>,
) -> Stmt {
    Stmt::copy(to, from, elem, extents.into_iter().map(Into::into).collect())
}
