//! Operands, polynomials, and the memory that index functions denote.

use crate::emitter::Emitter;
use crate::{OrBug, Result};
use imp::build::Operand;
use imp::{Access, Expr, Region};
use ir::PassError;
use ir::mem::Lmad;
use ir::name::Name;
use ir::poly::Poly;
use ir::syntax::{Atom, DimIndex};
use ir::types::Dim;
use prim::PrimType;

impl Emitter<'_> {
    /// An operand's value.
    pub(crate) fn atom(&self, atom: Atom) -> Result<Operand> {
        match atom {
            Atom::Var(name) => Ok(Operand::Var(self.var(name)?)),
            Atom::Const(value) => Ok(Operand::Const(value)),
        }
    }

    /// The values of operands.
    pub(crate) fn atoms(&self, atoms: &[Atom]) -> Result<Vec<Operand>> {
        atoms.iter().map(|&atom| self.atom(atom)).collect()
    }

    /// A dimension's value.
    pub(crate) fn dim(&self, dim: Dim) -> Result<Operand> {
        self.atom(dim.atom().or_bug("an existential size is used as an operand")?)
    }

    /// The extents of an index space.
    pub(crate) fn extents(&self, shape: &[Dim]) -> Result<Vec<Operand>> {
        shape.iter().map(|&dim| self.dim(dim)).collect()
    }

    /// A polynomial's value.
    pub(crate) fn poly(&self, poly: &Poly) -> Result<Expr> {
        let mut sum = Expr::i64(0);
        for (monomial, coefficient) in poly.terms() {
            let mut product = Expr::i64(*coefficient);
            for &name in monomial {
                product = self.var(name)? * product;
            }
            sum = sum + product;
        }
        Ok(sum)
    }

    /// The strides of an index function.
    pub(crate) fn strides(&self, lmad: &Lmad) -> Result<Vec<Expr>> {
        lmad.dims.iter().map(|dim| self.poly(&dim.stride)).collect()
    }

    /// The region of an array with this block and index function.
    pub(crate) fn region(&self, block: Name, lmad: &Lmad) -> Result<Region> {
        Ok(Region {
            buffer: self.var(block)?,
            offset: self.poly(&lmad.offset)?,
            strides: self.strides(lmad)?,
        })
    }

    /// The element of an array at these indices.
    pub(crate) fn element(
        &self,
        elem: PrimType,
        block: Name,
        lmad: &Lmad,
        indices: impl IntoIterator<Item: Into<Expr>>,
    ) -> Result<Access> {
        let Region { buffer, offset, strides } = self.region(block, lmad)?;
        let dims = indices.into_iter().map(Into::into).zip(strides).collect();
        Ok(Access { buffer, elem, offset, dims })
    }

    /// The element at an index that fixes every dimension.
    pub(crate) fn fixed(
        &self,
        elem: PrimType,
        block: Name,
        lmad: &Lmad,
        slice: &[DimIndex],
    ) -> Result<Access> {
        let mut indices = Vec::with_capacity(slice.len());
        for index in slice {
            let DimIndex::Fix(at) = index else {
                return Err(PassError::bug("a scalar is indexed with a slice"));
            };
            indices.push(self.atom(*at)?);
        }
        self.element(elem, block, lmad, indices)
    }
}
