//! Operators of reductions, scans and histograms: operands in variables and buffers, and one
//! application.

use super::function::Gen;
use imp::build::{add, binary, sub};
use imp::{Access, Expr, Stmt, Var};
use ir::soac::Operator;
use ir::syntax::Atom;
use ir::{Mems, PassError, Type};
use prim::{BinOp, PrimType};

impl Gen<'_, '_> {
    /// Returns fresh variables initialised with the neutral elements.
    pub(crate) fn neutral(
        &mut self,
        operators: &[&Operator<Mems>],
        types: &[PrimType],
    ) -> Result<Vec<Var>, PassError> {
        let atoms: Vec<Atom> = operators.iter().flat_map(|op| op.neutral.clone()).collect();
        self.copy_operands(&atoms, types)
    }

    /// Returns fresh variables with the operands' values.
    pub(crate) fn copy_operands(
        &mut self,
        atoms: &[Atom],
        types: &[PrimType],
    ) -> Result<Vec<Var>, PassError> {
        let mut vars = Vec::with_capacity(types.len());
        for (&atom, &ty) in atoms.iter().zip(types) {
            let value = self.atom(atom)?;
            let var = self.scalar(ty, "x");
            self.emit(Stmt::Set(var, value));
            vars.push(var);
        }
        Ok(vars)
    }

    /// Emits `accs = op accs values` for each operator.
    pub(crate) fn combine(
        &mut self,
        operators: &[&Operator<Mems>],
        mut accs: &[Var],
        mut values: &[Var],
    ) -> Result<(), PassError> {
        for operator in operators {
            let k = operator.neutral.len();
            for (param, &value) in operator.op.params.iter().zip(accs[..k].iter().chain(&values[..k])) {
                let var = self
                    .bind_borrowed(param)
                    .ok_or_else(|| PassError::bug("an operator's parameter is not a scalar"))?;
                self.emit(Stmt::Set(var, Expr::Var(value)));
            }
            let results = self.body(&operator.op.body)?;
            for (&acc, &result) in accs.iter().zip(&results) {
                let value = self.atom(result)?;
                self.emit(Stmt::Set(acc, value));
            }
            self.release_bound(&operator.op.body)?;
            (accs, values) = (&accs[k..], &values[k..]);
        }
        Ok(())
    }

    /// Loads the element at `index` of each buffer into fresh variables.
    pub(crate) fn load_all(
        &mut self,
        buffers: &[Var],
        types: &[PrimType],
        index: Expr,
        hint: &str,
    ) -> Vec<Var> {
        let mut vars = Vec::with_capacity(buffers.len());
        for (&buffer, &elem) in buffers.iter().zip(types) {
            let var = self.scalar(elem, hint);
            self.emit(Stmt::Load(var, element_of_buffer(buffer, elem, index.clone())));
            vars.push(var);
        }
        vars
    }

    /// Stores variables into buffers at an index.
    pub(crate) fn store_all(&mut self, buffers: &[Var], types: &[PrimType], index: Expr, values: &[Var]) {
        for ((&buffer, &elem), &value) in buffers.iter().zip(types).zip(values) {
            self.emit(Stmt::Store(element_of_buffer(buffer, elem, index.clone()), Expr::Var(value)));
        }
    }
}

/// The operand types of the operators, concatenated.
pub(crate) fn operator_types(operators: &[&Operator<Mems>]) -> Result<Vec<PrimType>, PassError> {
    operators
        .iter()
        .flat_map(|op| &op.op.ret)
        .map(|ty| {
            if let Type::Prim(prim) = ty {
                Ok(*prim)
            } else {
                Err(PassError::bug("an operator has array parameters"))
            }
        })
        .collect()
}

/// Element `index` of a buffer.
pub(crate) fn element_of_buffer(buffer: Var, elem: PrimType, index: Expr) -> Access {
    Access { buffer, elem, offset: Expr::i64(0), dims: vec![(index, Expr::i64(1))] }
}

/// `ceil(a / b)` for `b > 0` and `a >= 0`.
pub(crate) fn div_up(a: Expr, b: i64) -> Expr {
    div_up_by(a, Expr::i64(b))
}

/// `ceil(a / b)` for `b > 0` and `a >= 0`, where `b` may be unknown at compile time.
pub(crate) fn div_up_by(a: Expr, b: Expr) -> Expr {
    let others = sub(b.clone(), Expr::i64(1));
    binary(BinOp::UDiv, add(a, others), b)
}
