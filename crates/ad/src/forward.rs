//! Forward mode: the tangent of each active name is computed beside it.
//!
//! Every active name has a tangent of its type. Lambdas and loops have parameters for the tangents of
//! active parameters, after all others, and return the tangents of active results, after all others.
//! Operators of scans, reductions and histograms work on values and tangents together; so do those
//! of accumulators, whose elements are values followed by tangents.

mod basic;
mod combinators;

use crate::state::{Ad, Result};
use ir::Name;
use ir::soac::{Soac, Soacs};
use ir::syntax::{Atom, Aux, Body, Exp, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::Type;
use ir::walk::with_stack;
use rustc_hash::FxHashMap;

/// The tangents of active names.
pub(crate) type Tangents = FxHashMap<Name, Atom>;

/// The types of the tangents in an accumulator, by its token.
pub(crate) type AccTangents = FxHashMap<Name, Vec<Type>>;

impl Ad<'_> {
    /// Appends a body's statements with those of the tangents.
    pub fn forward(&mut self, body: Body<Soacs>) -> Result<Vec<Atom>> {
        for stm in body.stms {
            with_stack(|| self.forward_stm(stm))?;
        }
        Ok(body.result)
    }

    /// The tangent of an operand, if it is active.
    pub fn tangent(&self, of: Atom) -> Option<Atom> {
        of.var().filter(|name| self.active.contains(name)).and_then(|name| self.tangents.get(&name)).copied()
    }

    /// The tangent of an operand.
    pub fn tangent_or_zero(&mut self, of: Atom) -> Atom {
        match self.tangent(of) {
            Some(tangent) => tangent,
            None => {
                let ty = self.b.type_of(of);
                self.zero(&ty)
            }
        }
    }

    /// Tangents of the parameters that are active, which are recorded.
    fn tangent_params(&mut self, params: &[Param<Soacs>]) -> Vec<Param<Soacs>> {
        let mut tangents = Vec::new();
        for param in params {
            if !self.has_tangent(param) {
                continue;
            }
            let hint = format!("{}_t", self.b.names.hint(param.name));
            let own = self.b.param(&hint, param.ty.clone());
            self.tangents.insert(param.name, own.name.into());
            tangents.push(own);
        }
        tangents
    }

    fn has_tangent(&self, param: &Param<Soacs>) -> bool {
        self.active.contains(&param.name) && !matches!(param.ty, Type::Acc { .. })
    }

    /// The tangents of the results that bind to active names.
    fn tangents_of(&mut self, results: &[Atom], active: &[bool]) -> Vec<Atom> {
        let mut tangents = Vec::new();
        for (result, active) in results.iter().zip(active) {
            if *active {
                tangents.push(self.tangent_or_zero(*result));
            }
        }
        tangents
    }

    /// The body with the tangents of some results after them.
    fn forward_body(&mut self, body: Body<Soacs>, active: &[bool]) -> Result<Body<Soacs>> {
        let outer = self.b.open();
        let mut result = self.forward(body)?;
        let tangents = self.tangents_of(&result, active);
        result.extend(tangents);
        Ok(self.b.close(outer, result))
    }

    /// The lambda with tangents of its active parameters and of some results.
    fn forward_lambda(&mut self, lambda: Lambda<Soacs>, active: &[bool]) -> Result<Lambda<Soacs>> {
        let Lambda { mut params, body, mut ret } = lambda;
        for param in &mut params {
            self.extend_acc(&mut param.ty);
            self.b.types.set(param.name, param.ty.clone());
        }
        let tangents = self.tangent_params(&params);
        params.extend(tangents);
        let own: Vec<Type> =
            ret.iter().zip(active).filter(|(_, own)| **own).map(|(ty, _)| ty.clone()).collect();
        for ty in &mut ret {
            self.extend_acc(ty);
        }
        ret.extend(own);
        let body = self.forward_body(body, active)?;
        Ok(Lambda { params, body, ret })
    }

    /// Adds the tangents to the elements of an accumulator's type.
    fn extend_acc(&self, ty: &mut Type) {
        if let Type::Acc { token, elems, .. } = ty
            && let Some(tangents) = self.acc_tangents.get(token)
        {
            elems.extend(tangents.iter().cloned());
        }
    }

    /// Which of some bound names have tangents.
    fn active_of(&self, pat: &[Param<Soacs>]) -> Vec<bool> {
        pat.iter().map(|param| self.has_tangent(param)).collect()
    }

    fn forward_stm(&mut self, stm: Stm<Soacs>) -> Result {
        let Stm { mut pat, aux, exp } = stm;
        self.at(&aux);
        for param in &mut pat {
            self.extend_acc(&mut param.ty);
        }
        let active = self.active_of(&pat);
        match exp {
            Exp::Basic(op) => return self.forward_basic(pat, aux, op),
            Exp::If { cond, then_body, else_body } => {
                let then_body = self.forward_body(then_body, &active)?;
                let else_body = self.forward_body(else_body, &active)?;
                let tangents = self.tangent_params(&pat);
                pat.extend(tangents);
                self.b.let_with(pat, aux, Exp::If { cond, then_body, else_body });
            }
            Exp::Loop { params, form, body } => {
                self.forward_loop((pat, active), aux, (params, form, body))?;
            }
            Exp::Apply { fun, args } => self.forward_call(fun, args, pat, aux)?,
            Exp::Op(op) => {
                let Soac::WithVjp { args, lambda, adjoint: _ } = op else {
                    return self.forward_op(pat, active, aux, op);
                };
                self.forward_with_vjp(pat, &aux, (args, lambda))?;
            }
        }
        Ok(())
    }

    /// A function with a reverse derivative of its own: forward, the function itself counts.
    fn forward_with_vjp(
        &mut self,
        pat: Vec<Param<Soacs>>,
        aux: &Aux,
        (args, lambda): (Vec<Atom>, Lambda<Soacs>),
    ) -> Result {
        for (param, arg) in lambda.params.iter().zip(&args) {
            if let Some(tangent) = self.tangent(*arg) {
                self.active.insert(param.name);
                self.tangents.insert(param.name, tangent);
            }
            self.bind(param, *arg);
        }
        self.mark_body(&lambda.body);
        let results = self.forward(lambda.body)?;
        self.at(aux);
        for (param, result) in pat.iter().zip(&results) {
            self.bind(param, *result);
            if self.has_tangent(param) {
                let tangent = self.tangent_or_zero(*result);
                self.tangents.insert(param.name, tangent);
            }
        }
        Ok(())
    }

    fn forward_loop(
        &mut self,
        (mut pat, active): (Vec<Param<Soacs>>, Vec<bool>),
        aux: Aux,
        (mut params, form, body): (Vec<LoopParam<Soacs>>, LoopForm, Body<Soacs>),
    ) -> Result {
        let mut own = Vec::new();
        for p in &mut params {
            self.extend_acc(&mut p.param.ty);
            self.b.types.set(p.param.name, p.param.ty.clone());
            if self.has_tangent(&p.param) {
                let init = self.tangent_or_zero(p.init);
                let param = self.tangent_params(std::slice::from_ref(&p.param)).remove(0);
                own.push(LoopParam { param, init, consumed: p.consumed });
            }
        }
        params.extend(own);
        let body = self.forward_body(body, &active)?;
        let tangents = self.tangent_params(&pat);
        pat.extend(tangents);
        self.b.let_with(pat, aux, Exp::Loop { params, form, body });
        Ok(())
    }
}
