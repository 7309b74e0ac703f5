//! Operators of reductions, scans and histograms: operands in variables and buffers, and one
//! application.

use crate::mems::{Lambda, Operator};
use crate::schedule::{Generator, Schedule};
use crate::{OrBug, Result};
use imp::build::{Operand, binary};
use imp::{Access, Expr, Stmt, Var};
use ir::syntax::Atom;
use ir::types::Type;
use prim::{BinOp, PrimType};

impl<S: Schedule> Generator<'_, S> {
    /// Returns fresh variables initialised with the neutral elements.
    pub(crate) fn neutral(&mut self, operators: &[&Operator], types: &[PrimType]) -> Result<Vec<Var>> {
        let atoms: Vec<Atom> = operators.iter().flat_map(|op| op.neutral.clone()).collect();
        self.copy_operands(&atoms, types)
    }

    /// Returns fresh variables with the operands' values.
    pub(crate) fn copy_operands(&mut self, atoms: &[Atom], types: &[PrimType]) -> Result<Vec<Var>> {
        let mut vars = Vec::with_capacity(types.len());
        for (&atom, &ty) in atoms.iter().zip(types) {
            let value = self.atom(atom)?;
            let var = self.scalar(ty, "x");
            self.set(var, value);
            vars.push(var);
        }
        Ok(vars)
    }

    /// Emits `accs = op accs values` for each operator.
    pub(crate) fn combine(
        &mut self,
        operators: &[&Operator],
        mut accs: &[Var],
        mut values: &[Var],
    ) -> Result {
        for operator in operators {
            let k = operator.neutral.len();
            for (param, &value) in operator.op.params.iter().zip(accs[..k].iter().chain(&values[..k])) {
                self.set_param(param, value)?;
            }
            let results = self.body(&operator.op.body)?;
            self.set_atoms(accs, &results)?;
            self.release_bound(&operator.op.body)?;
            (accs, values) = (&accs[k..], &values[k..]);
        }
        Ok(())
    }

    /// Sets variables to the values of operands.
    pub(crate) fn set_atoms(&mut self, vars: &[Var], atoms: &[Atom]) -> Result {
        for (&var, &atom) in vars.iter().zip(atoms) {
            let value = self.atom(atom)?;
            self.set(var, value);
        }
        Ok(())
    }

    /// Sets the parameters of a post lambda to the scanned values, which are in variables, and the mapped ones.
    pub(crate) fn set_post_params(&mut self, post: &Lambda, scanned: &[Var], mapped: &[Atom]) -> Result {
        let (first, others) = post.params.split_at(scanned.len().min(post.params.len()));
        for (param, &value) in first.iter().zip(scanned) {
            self.set_param(param, value)?;
        }
        for (param, &atom) in others.iter().zip(mapped) {
            if let Some(var) = self.bind_borrowed(param) {
                let value = self.atom(atom)?;
                self.set(var, value);
            }
        }
        Ok(())
    }

    /// Loads the element at `index` of each buffer into fresh variables.
    pub(crate) fn load_all(
        &mut self,
        buffers: &[Var],
        types: &[PrimType],
        index: impl Into<Expr>,
        hint: &str,
    ) -> Vec<Var> {
        let index = index.into();
        buffers
            .iter()
            .zip(types)
            .map(|(&buffer, &elem)| {
                let var = self.scalar(elem, hint);
                self.emit(Stmt::Load(var, element_of_buffer(buffer, elem, &index)));
                var
            })
            .collect()
    }

    /// Stores variables into buffers at an index.
    pub(crate) fn store_all(
        &mut self,
        buffers: &[Var],
        types: &[PrimType],
        index: impl Into<Expr>,
        values: &[Var],
    ) {
        let index = index.into();
        for ((&buffer, &elem), &value) in buffers.iter().zip(types).zip(values) {
            self.emit(Stmt::Store(element_of_buffer(buffer, elem, &index), value.into()));
        }
    }
}

/// The operand types of the operators, concatenated.
pub(crate) fn operator_types(operators: &[&Operator]) -> Result<Vec<PrimType>> {
    let types = operators.iter().flat_map(|op| &op.op.ret);
    types.map(|ty| prim_of(ty).or_bug("an operator has array parameters")).collect()
}

/// The type of a scalar.
pub(crate) const fn prim_of(ty: &Type) -> Option<PrimType> {
    match ty {
        Type::Prim(ty) => Some(*ty),
        Type::Array { .. } | Type::Acc { .. } | Type::Cert | Type::Mem(_) => None,
    }
}

/// The element type of an array type.
pub(crate) fn elem_of(ty: &Type) -> Result<PrimType> {
    ty.elem().or_bug("a value has no element type")
}

/// Element `index` of a buffer.
pub(crate) fn element_of_buffer(buffer: Var, elem: PrimType, index: impl Into<Expr>) -> Access {
    Access { buffer, elem, offset: Expr::i64(0), dims: vec![(index.into(), Expr::i64(1))] }
}

/// `ceil(a / b)` for `b > 0` and `a >= 0`.
pub(crate) fn div_up(a: impl Into<Expr>, b: impl Into<Operand>) -> Expr {
    let b = b.into();
    binary(BinOp::UDiv, a.into() + (b - 1), b)
}
