//! Forward mode: operations without bodies. On arrays they are linear: the tangent of the result is
//! the operation on tangents.

use crate::scalars::Mode;
use crate::state::{Ad, Result, zero};
use ir::soac::Soacs;
use ir::syntax::{Atom, Aux, BasicOp, Exp, Param};
use ir::types::Type;
use prim::ScalarOp;

impl Ad<'_> {
    /// Appends `let pat = op` and its tangent.
    pub(super) fn forward_basic(&mut self, pat: Vec<Param<Soacs>>, aux: Aux, op: BasicOp) -> Result {
        let Some(param) = pat.first().cloned() else {
            return Ok(());
        };
        if let BasicOp::UpdateAcc { acc, index, mut values } = op {
            if let Type::Acc { token, .. } = &param.ty
                && let Some(own) = self.acc_active.get(token).cloned()
            {
                let tangents = self.tangents_of(&values, &own);
                values.extend(tangents);
            }
            let op = BasicOp::UpdateAcc { acc, index, values };
            self.b.let_with(pat, aux, Exp::Basic(op));
            return Ok(());
        }
        if !self.has_tangent(&param) {
            self.b.let_with(pat, aux, Exp::Basic(op));
            return Ok(());
        }
        let tangent_first = matches!(op, ir::update_op!());
        let tangent = if tangent_first { Some(self.tangent_of_basic(&op, &param)?) } else { None };
        self.b.let_with(pat, aux.clone(), Exp::Basic(op.clone()));
        self.at(&aux);
        let tangent = match tangent {
            Some(tangent) => tangent,
            None => self.tangent_of_basic(&op, &param)?,
        };
        self.tangents.insert(param.name, tangent);
        Ok(())
    }

    fn tangent_name(&mut self, of: ir::Name) -> ir::Name {
        let tangent = self.tangent_or_zero(of.into());
        self.name_of(tangent)
    }

    fn tangent_of_basic(&mut self, op: &BasicOp, result: &Param<Soacs>) -> Result<Atom> {
        let linear = match op {
            BasicOp::Atom(x) | BasicOp::Opaque(x) => return Ok(self.tangent_or_zero(*x)),
            BasicOp::Scalar(op) => return self.tangent_of_scalar(op, result),
            BasicOp::Index { array, slice } => {
                BasicOp::Index { array: self.tangent_name(*array), slice: slice.clone() }
            }
            BasicOp::FlatIndex { array, offset, dims } => {
                BasicOp::FlatIndex { array: self.tangent_name(*array), offset: *offset, dims: dims.clone() }
            }
            BasicOp::Update { array, slice, value } => BasicOp::Update {
                array: self.tangent_name(*array),
                slice: slice.clone(),
                value: self.tangent_or_zero(*value),
            },
            BasicOp::FlatUpdate { array, offset, strides, value } => BasicOp::FlatUpdate {
                array: self.tangent_name(*array),
                offset: *offset,
                strides: strides.clone(),
                value: self.tangent_name(*value),
            },
            BasicOp::Concat { dim, arrays, width } => {
                let arrays = arrays.iter().map(|array| self.tangent_name(*array)).collect();
                BasicOp::Concat { dim: *dim, arrays, width: *width }
            }
            BasicOp::Iota { ty, count, start, stride } => {
                let (start, stride) = (self.tangent_or_zero(*start), self.tangent_or_zero(*stride));
                BasicOp::Iota { ty: *ty, count: *count, start, stride }
            }
            BasicOp::Replicate { shape, value } => {
                BasicOp::Replicate { shape: shape.clone(), value: self.tangent_or_zero(*value) }
            }
            BasicOp::Rearrange { perm, array } => {
                BasicOp::Rearrange { perm: perm.clone(), array: self.tangent_name(*array) }
            }
            BasicOp::Reshape { kind, shape, array } => {
                BasicOp::Reshape { kind: *kind, shape: shape.clone(), array: self.tangent_name(*array) }
            }
            BasicOp::Copy(array) => BasicOp::Copy(self.tangent_name(*array)),
            BasicOp::Manifest { perm, array } => {
                BasicOp::Manifest { perm: perm.clone(), array: self.tangent_name(*array) }
            }
            BasicOp::ArrayLit { row, elems } => {
                let elems = elems.iter().map(|x| self.tangent_or_zero(*x)).collect();
                BasicOp::ArrayLit { row: row.clone(), elems }
            }
            BasicOp::UpdateAcc { .. }
            | BasicOp::Scratch { .. }
            | BasicOp::ConstArray { .. }
            | BasicOp::Assert { .. }
            | ir::parameter_op!() => {
                return Ok(self.zero(&result.ty));
            }
        };
        Ok(self.b.let_basic("tangent", linear).into())
    }

    fn tangent_of_scalar(&mut self, op: &ScalarOp<Atom>, result: &Param<Soacs>) -> Result<Atom> {
        let known = self.derivatives(op)?;
        let ty = op.result_type();
        let mut sum: Option<Atom> = None;
        for (at, operand) in op.operands().into_iter().enumerate() {
            let Some(tangent) = self.tangent(*operand) else {
                continue;
            };
            let own = (at, &known[at]);
            if let Some(change) = self.passed_on(op, result.name.into(), own, tangent, Mode::Forward) {
                sum = Some(match sum {
                    None => change,
                    Some(sum) => self.sum(&Type::Prim(ty), sum, change),
                });
            }
        }
        Ok(sum.unwrap_or_else(|| zero(ty)))
    }
}
