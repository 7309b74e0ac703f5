//! Accumulators: the targets of updates, and the updates.
//!
//! An accumulator's type contains its token, and each token has one target: the arrays of its
//! `withacc`, or a chunk's private copies while a schedule runs that chunk. So accumulators need no
//! variables, whatever branches and loops they pass through.

use super::function::Gen;
use imp::build::{add, and, compare, mul};
use imp::{Access, Expr, Stmt, Var};
use ir::mem::Lmad;
use ir::name::Name;
use ir::soac::{AccInput, Operator};
use ir::syntax::{Atom, BasicOp, DimIndex, Lambda, Param};
use ir::types::{Dim, Shape, Type};
use ir::{Mems, PassError};
use prim::{CmpOp, PrimType, Scalar};
use std::rc::Rc;

/// The target of an accumulator's updates.
#[derive(Clone)]
pub(crate) struct AccTarget {
    /// The accumulator's index space.
    pub(crate) shape: Shape,
    /// The arrays of the `withacc`: type, block and index function.
    pub(crate) arrays: Vec<(Type, Name, Lmad)>,
    /// The operator that combines values; `None` if a value replaces the old one.
    pub(crate) op: Option<Rc<Operator<Mems>>>,
    /// Private copies that are updated instead of the arrays, while a chunk has them.
    pub(crate) private: Option<PrivateCopies>,
    /// The frame depth of the `withacc` ([`Gen::depth`]).
    pub(crate) depth: usize,
    /// True if the accumulator is private to one thread of a device.
    pub(crate) thread_private: bool,
}

/// Private copies of an accumulator's arrays, row-major.
#[derive(Clone)]
pub(crate) struct PrivateCopies {
    pub(crate) buffers: Vec<Var>,
    /// The position of the first element.
    pub(crate) base: Expr,
}

impl Gen<'_, '_> {
    /// The target of an accumulator of this type.
    pub(crate) fn target(&self, ty: &Type) -> Result<&Rc<AccTarget>, PassError> {
        let target = match ty {
            Type::Acc { token, .. } => self.accs.get(token),
            Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => None,
        };
        target.ok_or_else(|| PassError::bug("an accumulator is used outside of its withacc"))
    }

    pub(crate) fn with_acc(
        &mut self,
        pat: &[Param<Mems>],
        inputs: &[AccInput<Mems>],
        lambda: &Lambda<Mems>,
    ) -> Result<(), PassError> {
        let n = inputs.len();
        let alone = self.enclosing_kernel.is_some() && self.thread_block.is_none();
        for (AccInput { shape, arrays, op }, token) in inputs.iter().zip(&lambda.params) {
            let locations = arrays.iter().map(|&array| self.location(array));
            let target = AccTarget {
                shape: shape.clone(),
                arrays: locations.collect::<Result<_, _>>()?,
                op: op.clone().map(Rc::new),
                private: None,
                depth: self.frame_depth(),
                thread_private: alone,
            };
            self.accs.insert(token.name, Rc::new(target));
        }
        let n_arrays: usize = inputs.iter().map(|input| input.arrays.len()).sum();
        let meets = self.thread_block.is_some() && inputs.iter().any(|input| input.op.is_none());
        self.colliding_withaccs += usize::from(meets);
        let results = self.body(&lambda.body)?;
        self.colliding_withaccs -= usize::from(meets);
        for param in &pat[..n_arrays] {
            self.record_location(param);
        }
        for (param, atom) in pat[n_arrays..].iter().zip(&results[n..]) {
            let var = self.bind_owned(param);
            self.assign_result(param, var, *atom)?;
        }
        self.release_bound(&lambda.body)
    }

    /// An operation that yields an accumulator: a renaming, which emits nothing, or an update,
    /// which is executed if the index is in bounds.
    pub(crate) fn acc_op(&mut self, pat: &Param<Mems>, op: &BasicOp) -> Result<(), PassError> {
        let BasicOp::UpdateAcc { acc: _, index, values } = op else {
            return Ok(());
        };
        let target = Rc::clone(self.target(&pat.ty)?);
        let indices: Vec<Expr> = index.iter().map(|at| self.atom(*at)).collect::<Result<_, _>>()?;
        let extents = self.extents(&target.shape)?;
        let inside = inside(&indices, &extents);
        let update = self.collect(|g| match &target.op {
            Some(op) => g.combine_at(&target, op, (&indices, &extents), values),
            None => g.write_at(&target, index, values),
        })?;
        self.emit(Stmt::If(inside, update, Vec::new()));
        Ok(())
    }

    /// The extents of an index space.
    pub(crate) fn extents(&self, shape: &[Dim]) -> Result<Vec<Expr>, PassError> {
        shape.iter().map(|&dim| self.dim(dim)).collect()
    }

    /// Combines values with the elements at an index.
    fn combine_at(
        &mut self,
        target: &AccTarget,
        op: &Operator<Mems>,
        (index, extents): (&[Expr], &[Expr]),
        values: &[Atom],
    ) -> Result<(), PassError> {
        if self.enclosing_kernel.is_some() && !target.thread_private {
            return self.atomic_acc_update(target, op, index, values);
        }
        let mut elements = Vec::with_capacity(values.len());
        for (k, (ty, block, lmad)) in target.arrays.iter().enumerate() {
            let elem = Self::elem_of(ty)?;
            elements.push(match &target.private {
                None => self.element(elem, *block, lmad, index.to_vec())?,
                Some(PrivateCopies { buffers, base }) => Access {
                    buffer: buffers[k],
                    elem,
                    offset: Expr::i64(0),
                    dims: vec![(add(base.clone(), flat(index, extents)), Expr::i64(1))],
                },
            });
        }
        let types: Vec<PrimType> = elements.iter().map(|element| element.elem).collect();
        let values = self.copy_operands(values, &types)?;
        self.combine_elements(op, elements, &values)
    }

    /// Combines the elements at these locations with values.
    pub(crate) fn combine_elements(
        &mut self,
        op: &Operator<Mems>,
        elements: Vec<Access>,
        values: &[Var],
    ) -> Result<(), PassError> {
        let olds = self.load_elements(&elements, "old");
        self.combine(&[op], &olds, values)?;
        for (element, old) in elements.into_iter().zip(olds) {
            self.store(element, Expr::Var(old));
        }
        Ok(())
    }

    /// Writes scalars or rows at an index.
    fn write_at(&mut self, target: &AccTarget, index: &[Atom], values: &[Atom]) -> Result<(), PassError> {
        let full = |&count: &Dim| DimIndex::Slice { start: Atom::i64(0), count, stride: Atom::i64(1) };
        for ((ty, block, lmad), value) in target.arrays.iter().zip(values) {
            let fixed = index.iter().map(|&at| DimIndex::Fix(at));
            let row = ty.shape().iter().skip(index.len()).map(full);
            let slice: Vec<DimIndex> = fixed.chain(row).collect();
            let buffer = self.var(*block)?;
            self.record_racy_write(target.depth, buffer);
            self.store_slice(ty, *block, lmad, &slice, *value)?;
        }
        Ok(())
    }

    /// Loads the elements at these locations into fresh variables.
    pub(crate) fn load_elements(&mut self, elements: &[Access], hint: &str) -> Vec<Var> {
        let mut vars = Vec::with_capacity(elements.len());
        for element in elements {
            let var = self.scalar(element.elem, hint);
            self.load(var, element.clone());
            vars.push(var);
        }
        vars
    }
}

/// The condition that an index lies within the extents.
pub(crate) fn inside(index: &[Expr], extents: &[Expr]) -> Expr {
    let mut inside = Expr::Const(Scalar::Bool(true));
    for (at, extent) in index.iter().zip(extents) {
        // The unsigned comparison also rejects negative indices.
        inside = and(inside, compare(CmpOp::ULt, at.clone(), extent.clone()));
    }
    inside
}

/// The row-major position of an index.
pub(crate) fn flat(index: &[Expr], extents: &[Expr]) -> Expr {
    let mut flat = Expr::i64(0);
    for (at, extent) in index.iter().zip(extents) {
        flat = add(mul(flat, extent.clone()), at.clone());
    }
    flat
}
