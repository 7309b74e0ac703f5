//! Accumulators: the targets of updates, and the updates.
//!
//! An accumulator's type contains its token, and each token has one target: the arrays of its
//! `withacc`, or a chunk's private copies while a schedule runs that chunk. So accumulators need no
//! variables, whatever branches and loops they pass through.

use crate::mems::{AccInput, Lambda, Operator, Param};
use crate::operators::{elem_of, element_of_buffer};
use crate::schedule::{Generator, Schedule};
use crate::{OrBug, Result};
use imp::build::{Operand, TRUE, and, ult};
use imp::{Access, Expr, Var, emit};
use ir::mem::Lmad;
use ir::name::Name;
use ir::syntax::{Atom, BasicOp, DimIndex};
use ir::types::{Shape, Type};
use prim::PrimType;
use std::rc::Rc;

/// The target of an accumulator's updates.
#[derive(Clone)]
pub(crate) struct AccTarget {
    /// The accumulator's index space.
    pub(crate) shape: Shape,
    /// The arrays of the `withacc`: type, block and index function.
    pub(crate) arrays: Vec<(Type, Name, Lmad)>,
    /// The operator that combines values; `None` if a value replaces the old one.
    pub(crate) op: Option<Rc<Operator>>,
    /// Private copies that are updated instead of the arrays, while a chunk has them.
    pub(crate) private: Option<PrivateCopies>,
    /// The frame depth of the `withacc` ([`Generator::depth`]).
    pub(crate) depth: usize,
    /// True if the accumulator is private to one thread of a device.
    pub(crate) thread_private: bool,
}

/// Private copies of an accumulator's arrays, row-major.
#[derive(Clone)]
pub(crate) struct PrivateCopies {
    pub(crate) buffers: Vec<Var>,
    /// The position of the first element.
    pub(crate) base: Operand,
}

impl<S: Schedule> Generator<'_, S> {
    /// The target of an accumulator of this type.
    pub(crate) fn target(&self, ty: &Type) -> Result<&Rc<AccTarget>> {
        let target = match ty {
            Type::Acc { token, .. } => self.accs.get(token),
            Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => None,
        };
        target.or_bug("an accumulator is used outside of its withacc")
    }

    /// The accumulators with an operator among the results of a segop, by token.
    pub(crate) fn combining_accs(&self, pat: &[Param]) -> Vec<(Name, Rc<AccTarget>)> {
        let tokens = pat.iter().filter_map(|param| match &param.ty {
            Type::Acc { token, .. } => Some(*token),
            Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => None,
        });
        let targets = tokens.filter_map(|token| Some((token, self.accs.get(&token)?.clone())));
        targets.filter(|(_, target)| target.op.is_some()).collect()
    }

    pub(crate) fn with_acc(&mut self, pat: &[Param], inputs: &[AccInput], lambda: &Lambda) -> Result {
        let n = inputs.len();
        for (AccInput { shape, arrays, op }, token) in inputs.iter().zip(&lambda.params) {
            let locations = arrays.iter().map(|&array| self.location(array));
            let target = AccTarget {
                shape: shape.clone(),
                arrays: locations.collect::<Result<_, _>>()?,
                op: op.clone().map(Rc::new),
                private: None,
                depth: self.frame_depth(),
                thread_private: self.schedule.is_single_thread(),
            };
            self.accs.insert(token.name, Rc::new(target));
        }
        let n_arrays: usize = inputs.iter().map(|input| input.arrays.len()).sum();
        let results = S::with_acc(self, inputs, |g| g.body(&lambda.body))?;
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
    pub(crate) fn acc_op(&mut self, pat: &Param, op: &BasicOp) -> Result {
        let BasicOp::UpdateAcc { acc: _, index, values } = op else {
            return Ok(());
        };
        let target = Rc::clone(self.target(&pat.ty)?);
        let (indices, extents) = (self.atoms(index)?, self.extents(&target.shape)?);
        emit!(if self(inside(&indices, &extents)) {
            match &target.op {
                Some(op) => S::update(self, &target, op, (&indices, &extents), values)?,
                None => self.write_at(&target, index, values)?,
            }
        });
        Ok(())
    }

    /// Combines values with the elements at an index.
    pub(crate) fn combine_at(
        &mut self,
        target: &AccTarget,
        op: &Operator,
        (index, extents): (&[Operand], &[Operand]),
        values: &[Atom],
    ) -> Result {
        let mut elements = Vec::with_capacity(values.len());
        for (k, (ty, block, lmad)) in target.arrays.iter().enumerate() {
            let elem = elem_of(ty)?;
            elements.push(match &target.private {
                None => self.element(elem, *block, lmad, index)?,
                Some(PrivateCopies { buffers, base }) => {
                    element_of_buffer(buffers[k], elem, *base + flat(index, extents))
                }
            });
        }
        let types: Vec<PrimType> = elements.iter().map(|element| element.elem).collect();
        let values = self.copy_operands(values, &types)?;
        self.combine_elements(op, elements, &values)
    }

    /// Combines the elements at these locations with values.
    pub(crate) fn combine_elements(
        &mut self,
        op: &Operator,
        elements: Vec<Access>,
        values: &[Var],
    ) -> Result {
        let olds = self.load_elements(&elements, "old");
        self.combine(&[op], &olds, values)?;
        for (element, old) in elements.into_iter().zip(olds) {
            self.store(element, old);
        }
        Ok(())
    }

    /// Writes scalars or rows at an index.
    fn write_at(&mut self, target: &AccTarget, index: &[Atom], values: &[Atom]) -> Result {
        let fixed: Vec<DimIndex> = index.iter().map(|&at| DimIndex::Fix(at)).collect();
        for ((ty, block, lmad), value) in target.arrays.iter().zip(values) {
            let buffer = self.var(*block)?;
            self.record_racy_write(target.depth, buffer);
            self.store_row(ty, *block, lmad, &fixed, *value)?;
        }
        Ok(())
    }

    /// Loads the elements at these locations into fresh variables.
    pub(crate) fn load_elements(&mut self, elements: &[Access], hint: &str) -> Vec<Var> {
        elements
            .iter()
            .map(|element| {
                let var = self.scalar(element.elem, hint);
                self.load(var, element.clone());
                var
            })
            .collect()
    }
}

/// The condition that an index lies within the extents.
pub(crate) fn inside(index: &[Operand], extents: &[Operand]) -> Expr {
    // The unsigned comparison also rejects negative indices.
    index.iter().zip(extents).fold(TRUE, |inside, (&at, &extent)| and(inside, ult(at, extent)))
}

/// The row-major position of an index.
pub(crate) fn flat(index: &[Operand], extents: &[Operand]) -> Expr {
    index.iter().zip(extents).fold(Expr::i64(0), |flat, (&at, &extent)| flat * extent + at)
}
