//! Conditionals, `match`, and the short-circuiting operators `&&` and `||`.

use crate::size::Mismatch;
use crate::state::is_speculable;
use crate::types::{LTy, Size};
use crate::value::{Env, Value};
use crate::{Lower, Res};
use check::tast::{Case, Exp};
use ir::{Atom, Body, Dim, Exp as CoreExp, Name, Type};
use prim::Scalar;
use std::rc::Rc;

/// The largest number of cheap statements of the second operand of `&&` or `||` with which it is
/// evaluated unconditionally.
const MAX_EAGER: usize = 8;

impl Lower<'_> {
    /// The value of one branch or the other; `exp` is the conditional.
    pub(crate) fn branches(
        &mut self,
        cond: Atom,
        exp: &Exp,
        env: &Rc<Env>,
        then: impl FnOnce(&mut Self) -> Res<Value>,
        otherwise: impl FnOnce(&mut Self) -> Res<Value>,
    ) -> Res<Value> {
        match cond.constant() {
            Some(Scalar::Bool(true)) => return then(self),
            Some(Scalar::Bool(false)) => return otherwise(self),
            _ => {}
        }
        self.f.enter(false);
        let yes = then(self)?;
        let yes_scope = self.f.suspend();
        self.f.enter(false);
        let no = otherwise(self)?;
        let no_scope = self.f.suspend();
        if yes.has_fun() || no.has_fun() {
            return self.bug("a conditional returns a function");
        }
        self.same_accumulators(&yes, &no)?;
        // Sizes that are equal in both branches or occur in the type are used; the rest are
        // existential.
        let claim = self.resolve(&exp.ty, env, &exp.existential_sizes)?;
        let (yes_ty, no_ty) = (yes.claims(), no.claims());
        let mut claims = claim.sizes().into_iter();
        let mut target = yes_ty.zip_sizes(&no_ty, &mut |x, y| {
            let claim = claims.next().flatten();
            let outer = |size: Size| size.filter(|dim| self.f.is_outer_of(*dim));
            if x == y && outer(x).is_some() { x } else { outer(claim) }
        });
        if claim.sizes().len() != target.sizes().len() {
            target = yes_ty.zip_sizes(&no_ty, &mut |x, y| x.filter(|d| x == y && self.f.is_outer_of(*d)));
        }
        let (yes, yes_stms) = self.close_branch(yes_scope, yes, &target)?;
        let (no, no_stms) = self.close_branch(no_scope, no, &target)?;
        let (yes_atoms, no_atoms) = (yes.atoms(), no.atoms());
        // Payloads have sizes of their own, independent of the type's.
        let claims = target;
        let mut payload = claims.payload_sizes().into_iter();
        let mut both = yes.ty().sizes().into_iter().zip(no.ty().sizes());
        let mut exts = Vec::new();
        let target = claims.map_sizes(&mut |size| {
            let (x, y) = both.next().unwrap_or_default();
            let size = if payload.next() == Some(true) {
                x.filter(|dim| x == y && self.f.is_outer_of(*dim))
            } else {
                size
            };
            if size.is_none() {
                exts.extend(x.and_then(Dim::atom).zip(y.and_then(Dim::atom)));
            }
            size
        });
        // Sizes that differ in the same way share one result.
        let mut pairs: Vec<(Atom, Atom)> = Vec::new();
        let mut at = exts.into_iter();
        let result_ty = target.map_sizes(&mut |size| {
            size.or_else(|| {
                let pair = at.next()?;
                let i = pairs.iter().position(|p| *p == pair).unwrap_or_else(|| {
                    pairs.push(pair);
                    pairs.len() - 1
                });
                Some(Dim::Ext(i as u32))
            })
        });
        let mut types = vec![Type::I64; pairs.len()];
        types.extend(result_ty.leaves().iter().map(crate::types::Leaf::core));
        if types.is_empty() {
            return self.value_of(&result_ty, &[]);
        }
        let result = |side: fn(&(Atom, Atom)) -> Atom, atoms: &[Atom]| {
            pairs.iter().map(side).chain(atoms.iter().copied()).collect()
        };
        let then_body = Body { stms: yes_stms, result: result(|p| p.0, &yes_atoms) };
        let else_body = Body { stms: no_stms, result: result(|p| p.1, &no_atoms) };
        let n_sizes = pairs.len();
        let names = self.f.bind_all("r", types, CoreExp::If { cond, then_body, else_body });
        let (sizes, leaves) = names.split_at(n_sizes);
        for ((name, x), y) in leaves.iter().zip(&yes_atoms).zip(&no_atoms) {
            self.f.alias_outer(*name, &[*x, *y]);
        }
        let shared = no.shared().contains(&true);
        let value = self.results(&result_ty, sizes, leaves)?;
        let value = value.with_claims(&claims);
        Ok(if shared { value.mark_shared() } else { value })
    }

    /// The value of a type whose sizes may be earlier results.
    pub(crate) fn results(&mut self, ty: &LTy, sizes: &[Name], leaves: &[Name]) -> Res<Value> {
        let ty = ty.map_sizes(&mut |size| match size {
            Some(Dim::Ext(i)) => sizes.get(i as usize).map(|name| Dim::Var(*name)),
            size => size,
        });
        let atoms: Vec<Atom> = leaves.iter().map(|name| Atom::Var(*name)).collect();
        self.value_of(&ty, &atoms)
    }

    /// Resumes a suspended branch and coerces its value to the sizes of the target, as far as that
    /// has them; returns the value and the branch's statements.
    fn close_branch(
        &mut self,
        scope: crate::state::Scope,
        value: Value,
        target: &LTy,
    ) -> Res<(Value, Vec<ir::Stm<ir::Soacs>>)> {
        self.f.resume(scope);
        let value = self.coerce(value, target, Mismatch::Type)?;
        Ok((value, self.f.leave()))
    }

    /// The value of the first case that matches.
    pub(crate) fn cases(&mut self, value: &Value, cases: &[Case], exp: &Exp, env: &Rc<Env>) -> Res<Value> {
        let Some((first, rest)) = cases.split_first() else {
            return self.bug("a match has no cases");
        };
        let take = |s: &mut Self| {
            let mark = s.f.n_names();
            s.bind_pattern(&first.pat, value.clone(), env, mark)?;
            s.eval(&first.body, env)
        };
        if rest.is_empty() {
            return take(self);
        }
        let cond = self.matches(&first.pat, value)?;
        stacker::maybe_grow(256 * 1024, 8 * 1024 * 1024, || {
            self.branches(cond, exp, env, take, |s| s.cases(value, rest, exp, env))
        })
    }

    /// `x && y` (if `and`) or `x || y`. The second operand is evaluated unconditionally if it is
    /// short and cannot fail.
    pub(crate) fn short_circuit(&mut self, and: bool, x: &Exp, y: &Exp, env: &Rc<Env>) -> Res<Value> {
        let x = self.eval_scalar(x, env)?;
        if let Some(Scalar::Bool(known)) = x.constant() {
            return if known == and { self.eval(y, env) } else { Ok(Value::bool(x)) };
        }
        self.f.enter(false);
        let value = self.eval(y, env)?;
        let Value::Scalar(second, _) = value else {
            return self.bug("an operand of `&&` or `||` is not a scalar");
        };
        let stms = self.f.stms();
        let eager = stms.len() <= MAX_EAGER
            && stms.iter().all(|stm| stm.aux.certs.is_empty() && is_speculable(&stm.exp));
        if eager {
            let stms = self.f.leave();
            self.f.splice(stms);
            let both = if and { self.f.and(x, second) } else { self.f.or(x, second) };
            return Ok(Value::bool(both));
        }
        let body = Body { stms: self.f.leave(), result: vec![second] };
        let known = Body { stms: Vec::new(), result: vec![Atom::Const(Scalar::Bool(!and))] };
        let (then_body, else_body) = if and { (body, known) } else { (known, body) };
        let cond = CoreExp::If { cond: x, then_body, else_body };
        let names = self.f.bind_all("b", vec![Type::BOOL], cond);
        match names.first() {
            Some(name) => Ok(Value::bool(*name)),
            None => self.bug("a conditional has no result"),
        }
    }
}
