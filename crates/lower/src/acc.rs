//! Accumulators: arrays that are written at indices while a function is mapped over another array.
//!
//! ```text
//! scatter_stream dest f bs      withacc (dest) \(token, acc) ->
//!                                 map (b <- bs, a <- acc) -> f a b
//! ```
//!
//! The accumulator that a value belongs to is part of its type ([`AccTy`]), as the token that the
//! `withacc` binds; so functions that take accumulators are inlined. `reduce_by_index_stream` is
//! the same with an operator.

use crate::size::Mismatch;
use crate::types::{AccTy, LTy};
use crate::value::Value;
use crate::{Lower, Res};
use ir::soac::{AccInput, Soac};
use ir::{BasicOp, Body, Lambda, Type};
use std::rc::Rc;

impl Lower<'_> {
    /// `f` over the elements of `bs`, writing to `dest` (combining, with an operator and its
    /// neutral element).
    pub(crate) fn stream(
        &mut self,
        dest: &Value,
        op: Option<(&Value, &Value)>,
        f: &Value,
        bs: &Value,
    ) -> Res<Value> {
        let dest = self.as_array(dest)?;
        let bs = self.as_array(bs)?;
        if dest.leaves.is_empty() {
            return Ok(Value::Array(dest));
        }
        let op = match op {
            Some((op, ne)) => Some(self.operator(op, ne, &dest.elem, true)?),
            None => None,
        };
        let arrays = dest.leaves.iter().map(|leaf| self.f.owned_or_copied(*leaf, dest.shared)).collect();
        let attrs = self.f.attrs();
        self.f.enter(true);
        let token = self.f.param("token", Type::Cert);
        let ty = Rc::new(AccTy { token: token.name, dim: dest.dim, elem: dest.elem.clone() });
        let acc = self.f.param("acc", ty.core());
        // The map over the elements.
        self.f.enter(true);
        let mut params = Vec::new();
        let element = self.element(&bs.elem, &mut params)?;
        let inner = self.f.param("acc", ty.core());
        let acc_value = Value::Acc(inner.name, Rc::clone(&ty));
        params.push(inner);
        let Value::Acc(written, _) = self.apply(f, vec![acc_value, element])? else {
            return self.bug("a function for an accumulator does not return it");
        };
        let stms = self.f.leave();
        let map = Lambda { params, body: Body { stms, result: vec![written.into()] }, ret: vec![ty.core()] };
        let mut inputs = bs.leaves.to_vec();
        inputs.push(acc.name);
        self.f.set_attrs(attrs.clone());
        let result = self.screma(bs.dim, inputs, map, Vec::new(), Vec::new());
        let stms = self.f.leave();
        self.f.set_attrs(attrs);
        let lambda = Lambda {
            params: vec![token, acc],
            body: Body { stms, result: result.into_iter().map(ir::Atom::Var).collect() },
            ret: vec![ty.core()],
        };
        let input = AccInput { shape: std::iter::once(dest.dim).collect(), arrays, op };
        let op = Soac::WithAcc { inputs: vec![input], lambda };
        let leaves = self.f.soac("streamed", op);
        Ok(dest.with_leaves(leaves))
    }

    /// One write to an accumulator.
    pub(crate) fn acc_write(&mut self, acc: &Value, at: &Value, value: &Value) -> Res<Value> {
        let Value::Acc(acc, ty) = acc else {
            return self.bug("expected an accumulator");
        };
        let at = self.as_scalar(at)?;
        let value = self.shaped(value.clone(), &ty.elem, Mismatch::Type)?;
        let op =
            BasicOp::UpdateAcc { acc: *acc, index: std::iter::once(at).collect(), values: value.atoms() };
        Ok(Value::Acc(self.f.basic("acc", op), Rc::clone(ty)))
    }

    /// Checks that two values to be merged have the same accumulators in the same components.
    pub(crate) fn same_accumulators(&mut self, x: &Value, y: &Value) -> Res<()> {
        if !x.has_acc() && !y.has_acc() {
            return Ok(());
        }
        let structure = |ty: LTy| {
            let mut text = String::new();
            ty.structure(&mut text);
            text
        };
        if structure(x.ty()) == structure(y.ty()) {
            return Ok(());
        }
        self.unsupported("accumulators in sum types whose constructor is unknown at compile time")
    }
}
