//! Conditionals and loops: constant conditions, equal branches, conversion to selections, slices; loops
//! with no or one iteration, and with loop-invariant parameters.

pub(crate) mod closed_forms;
pub(crate) mod invariant;
pub(crate) mod invariant_params;
mod slices;

use super::knowledge::ScopeKind;
use super::{Certs, Simplifier, add_certs};
use crate::dce::retain;
use crate::level::OptLevel;
use crate::simplify::checks::conditions::Guard;
use crate::splice::InheritedAttrs;
use analysis::uses::EachUse;
use analysis::{thresholds, total};
use ir::Name;
use ir::syntax::{Atom, Attr, Aux, BasicOp, Body, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Visit, free_names};
use prim::{BinOp, PrimType, Scalar, ScalarOp, UnOp};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;

impl<L: OptLevel> Simplifier<'_, L> {
    /// Replaces the names of the pattern by these operands.
    pub(crate) fn bind_all(&mut self, pat: Vec<Param<L>>, aux: &Aux, values: &[Atom]) {
        for (mut param, value) in pat.into_iter().zip(values) {
            self.rewrite_param(&mut param);
            let mut aux = aux.clone();
            let mut value = *value;
            self.rewrite_atom(&mut value, &mut aux.certs);
            self.bind_atom(param, aux, value);
        }
    }

    /// Simplifies the statements of a body in the current scope, and returns its results.
    pub(crate) fn splice(&mut self, body: Body<L>, aux: &Aux) -> Vec<Atom> {
        let Body { stms, result } = body;
        let mut heirs = InheritedAttrs::of(aux);
        for mut stm in stms {
            heirs.apply(&mut stm);
            add_certs(&mut stm.aux.certs, &aux.certs);
            self.stm(stm);
        }
        result
    }

    /// Simplifies a conditional whose condition is already rewritten.
    pub(crate) fn conditional(
        &mut self,
        pat: Vec<Param<L>>,
        aux: Aux,
        cond: Atom,
        then_body: Body<L>,
        else_body: Body<L>,
    ) {
        if let Atom::Const(value) = cond
            && self.rewrite()
        {
            let taken = if value.as_bool() == Some(true) { then_body } else { else_body };
            let result = self.splice(taken, &aux);
            self.bind_all(pat, &aux, &result);
            return;
        }
        let (then_body, natural) = self.branch(cond, true, then_body);
        let (else_body, other) = self.branch(cond, false, else_body);
        let natural: Vec<Name> = pat
            .iter()
            .zip(natural.iter().zip(&other))
            .filter(|(_, (x, y))| **x && **y)
            .map(|(param, _)| param.name)
            .collect();
        self.join(pat, aux, cond, then_body, else_body);
        let here = self.known.current();
        for name in natural {
            self.ranges_at(here, |ranges| {
                ranges.at_least(name, 0, &Certs::new());
            });
        }
    }

    /// Simplifies a branch, in which the condition has a known value. Also flags its results that
    /// are integers known to be non-negative.
    fn branch(&mut self, cond: Atom, truth: bool, body: Body<L>) -> (Body<L>, Vec<bool>) {
        self.enter(ScopeKind::Branch);
        let depth = self.known.current();
        self.assume(cond, truth, &Certs::new(), depth);
        let before = cond.var().filter(|_| self.fuel.take()).map(|name| {
            let known = super::Sub { atom: Atom::Const(Scalar::Bool(truth)), certs: Certs::new() };
            self.subs[name.index()].replace(known)
        });
        self.runs_where(Guard::Holds(cond, truth));
        let mut natural = Vec::new();
        let body = self.body_inside_and(body, |s, result| {
            natural.extend(result.iter().map(|atom| match s.known.type_of_atom(*atom) {
                Type::Prim(ty) => ty.is_int() && s.known.at_least(ty, *atom, 0),
                Type::Array { .. } | Type::Acc { .. } | Type::Cert | Type::Mem(_) => false,
            }));
        });
        if let (Atom::Var(name), Some(before)) = (cond, before) {
            self.subs[name.index()] = before;
        }
        (body, natural)
    }

    /// Finishes a conditional whose branches are simplified.
    fn join(
        &mut self,
        mut pat: Vec<Param<L>>,
        aux: Aux,
        cond: Atom,
        mut then_body: Body<L>,
        mut else_body: Body<L>,
    ) {
        let mut keep = vec![true; pat.len()];
        let (mut firsts, mut merged) = (FxHashMap::default(), Vec::new());
        let used_in_types = mentioned(&pat);
        for i in 0..pat.len() {
            let (yes, no) = (then_body.result[i], else_body.result[i]);
            let outside = |atom: Atom| self.known.in_scope(atom);
            let (yes_known, no_known) = (outside(yes), outside(no));
            let mut param = pat[i].clone();
            let sized = used_in_types.contains(&param.name);
            // A result that types of other results mention is replaced in them, or stays.
            if sized && yes == no && yes_known && aux.certs.is_empty() && self.rewrite() {
                keep[i] = false;
                self.bind_atom(param, aux.clone(), yes);
                continue;
            }
            let value = if sized {
                None
            } else if yes == no && yes_known {
                Some(BasicOp::Atom(yes))
            } else if param.ty == Type::BOOL && (yes_known || no_known) {
                truth_value(cond, (yes, yes_known), (no, no_known))
            } else if let Type::Prim(ty) = &param.ty
                && yes_known
                && no_known
            {
                Some(BasicOp::select(*ty, cond, yes, no))
            } else {
                None
            };
            if let Some(op) = value
                && self.rewrite()
            {
                keep[i] = false;
                self.rewrite_param(&mut param);
                self.basic(param, aux.clone(), op);
                continue;
            }
            // Results that are equal in both branches are merged.
            let kept_result = firsts.entry((yes, no)).or_insert(param.name);
            if *kept_result != param.name
                && param.ty.is_prim()
                && (!sized || aux.certs.is_empty())
                && self.rewrite()
            {
                keep[i] = false;
                if sized {
                    self.bind_atom(param, aux.clone(), Atom::Var(*kept_result));
                } else {
                    merged.push((param, *kept_result));
                }
            }
        }
        retain(&mut pat, &keep);
        retain(&mut then_body.result, &keep);
        retain(&mut else_body.result, &keep);
        if !pat.is_empty() {
            self.emit_conditional(pat, aux.clone(), cond, then_body, else_body);
        }
        for (param, kept_result) in merged {
            self.bind_all(vec![param], &aux, &[Atom::Var(kept_result)]);
        }
    }

    /// Emits the remaining conditional, as selections where computing both branches
    /// is little work.
    fn emit_conditional(
        &mut self,
        pat: Vec<Param<L>>,
        aux: Aux,
        cond: Atom,
        then_body: Body<L>,
        else_body: Body<L>,
    ) {
        let scalars = pat.iter().all(|param| param.ty.is_prim());
        let mut arms = then_body.stms.iter().chain(&else_body.stms);
        let size = then_body.stms.len() + else_body.stms.len();
        if scalars
            && size <= thresholds::SELECTED_STATEMENTS
            && arms.all(|stm| is_speculable(stm, self.known.differentiates))
            && self.rewrite()
        {
            let none = Aux::at(aux.prov);
            let yes = self.splice(then_body, &none);
            let no = self.splice(else_body, &none);
            for ((param, mut if_true), mut if_false) in pat.into_iter().zip(yes).zip(no) {
                let mut aux = aux.clone();
                self.rewrite_atom(&mut if_true, &mut aux.certs);
                self.rewrite_atom(&mut if_false, &mut aux.certs);
                let Type::Prim(ty) = param.ty else { continue };
                let op = BasicOp::select(ty, cond, if_true, if_false);
                self.basic(param, aux, op);
            }
            return;
        }
        if self.selected_slice(&pat, &aux, cond, [&then_body, &else_body]) {
            return;
        }
        for (param, (yes, no)) in pat.iter().zip(then_body.result.iter().zip(&else_body.result)) {
            if *no == Atom::Const(Scalar::Bool(false)) {
                self.conjunctions.insert(param.name, (cond, *yes));
            }
        }
        let exp = Exp::If { cond, then_body, else_body };
        self.push_shared(pat, aux, exp);
    }

    /// Simplifies a loop, none of whose parts are rewritten yet.
    pub(crate) fn loop_(
        &mut self,
        mut pat: Vec<Param<L>>,
        mut aux: Aux,
        mut params: Vec<LoopParam<L>>,
        mut form: LoopForm,
        mut body: Body<L>,
    ) {
        for param in &mut params {
            self.rewrite_plain(&mut param.init);
        }
        if let LoopForm::For { bound, .. } = &mut form {
            self.rewrite_atom(bound, &mut aux.certs);
        }
        match self.trips(&form, &params) {
            Some(0) if self.rewrite() => {
                add_certs(&mut aux.certs, &self.checks_before(&body));
                let inits: Vec<Atom> = params.iter().map(|p| p.init).collect();
                self.bind_all(pat, &aux, &inits);
                return;
            }
            Some(1) if self.rewrite() => {
                if let LoopForm::For { var, ty, .. } = form {
                    let param = Param { name: var, ty: Type::Prim(ty), ann: L::Ann::default() };
                    let zero = Atom::Const(Scalar::int(ty, 0));
                    self.bind_atom(param, Aux::at(aux.prov), zero);
                }
                for LoopParam { mut param, init, consumed: _ } in params {
                    self.rewrite_param(&mut param);
                    self.bind_atom(param, Aux::at(aux.prov), init);
                }
                let result = self.splice(body, &aux);
                self.bind_all(pat, &aux, &result);
                return;
            }
            Some(_) => self.left.to_unroll |= aux.attrs.has(&Attr::Unroll),
            None => {}
        }
        self.constant_params(&mut pat, &aux, &mut params, &form, &mut body);
        let same = self.merge_equal_params(&mut pat, &aux, &mut params, &form, &mut body);
        let runs = match form {
            LoopForm::For { ty, bound, .. } => {
                matches!(bound, Atom::Const(n) if n.as_i64() > Some(0)) || self.known.at_least(ty, bound, 1)
            }
            LoopForm::While { .. } => false,
        };
        let results: Vec<Name> = pat.iter().map(|param| param.name).collect();
        let invariants = self.invariants(&params, &form, &body, &results);
        self.enter(ScopeKind::Inner { runs });
        let depth = self.known.current();
        if let LoopForm::For { var, ty, bound } = form {
            let param = Param { name: var, ty: Type::Prim(ty), ann: L::Ann::default() };
            self.enter_param(&param);
            if ty == PrimType::I64 {
                self.scopes[depth].counters.push((var, bound));
            }
            self.ranges_at(depth, |ranges| {
                ranges.typed(var, ty);
                ranges.index(var, bound);
                ranges.counts(var, ty);
                if ty == PrimType::I64
                    && let Atom::Var(bound) = bound
                {
                    ranges.nonempty(Dim::Var(bound));
                }
            });
            self.runs_where(Guard::Positive(smallvec![(ty, bound)]));
        }
        for param in &mut params {
            self.rewrite_param(&mut param.param);
            self.enter_param(&param.param);
        }
        if let LoopForm::While { cond } = form {
            self.assume(Atom::Var(cond), true, &Certs::new(), depth);
        }
        self.learn_invariants(&params, &invariants, depth);
        let mut body = self.body_inside(body);
        self.kept_by_select(&params, &mut body.result);
        let kept = |(param, next): (&LoopParam<L>, &Atom)| {
            *next == param.init || *next == Atom::Var(param.param.name)
        };
        self.left.to_simplify |= params.iter().zip(&body.result).any(kept);
        self.closed_forms(&mut pat, &aux, &params, &form, runs, &body.result);
        let prov = aux.prov;
        self.push(pat, aux, Exp::Loop { params, form, body });
        for (param, same) in same {
            let mut atom = Atom::Var(same);
            self.rewrite_plain(&mut atom);
            self.bind_atom(param, Aux::at(prov), atom);
        }
        self.learn_results(&results, &invariants);
    }

    /// The certificates of the outside values that the body uses: a result depends on them even if
    /// the body never runs.
    fn checks_before(&self, body: &Body<L>) -> Certs {
        let mut certs = Certs::new();
        for mut name in free_names(body) {
            if let Some(subs) = self.cert_subs.get(&name) {
                add_certs(&mut certs, subs);
                continue;
            }
            self.rewrite_name(&mut name, &mut certs);
            if let Some(def) = self.known.def(name) {
                add_certs(&mut certs, &def.certs);
                if matches!(def.op, BasicOp::Assert { .. }) {
                    add_certs(&mut certs, &[name]);
                }
            }
        }
        certs
    }

    /// The trip count, if known. That of a `while` loop is only ever known to be 0.
    fn trips(&self, form: &LoopForm, params: &[LoopParam<L>]) -> Option<i64> {
        match form {
            LoopForm::For { bound, .. } => Some(bound.constant()?.as_i64()?.max(0)),
            LoopForm::While { cond } => {
                let param = params.iter().find(|p| p.param.name == *cond)?;
                let first = param.init.constant()?.as_bool()?;
                if first { None } else { Some(0) }
            }
        }
    }

    /// Replaces loop-invariant parameters by their initial values.
    fn constant_params(
        &mut self,
        pat: &mut Vec<Param<L>>,
        aux: &Aux,
        params: &mut Vec<LoopParam<L>>,
        form: &LoopForm,
        body: &mut Body<L>,
    ) {
        let constant = self.invariant_params(params, form, body);
        if !constant.contains(&true) || !self.rewrite() {
            return;
        }
        let keep: Vec<bool> = constant.iter().map(|constant| !constant).collect();
        for (i, LoopParam { param, init, .. }) in params.iter().enumerate() {
            if constant[i] {
                for bound in [param, &pat[i]] {
                    let mut bound = bound.clone();
                    self.rewrite_param(&mut bound);
                    self.bind_atom(bound, aux.clone(), *init);
                }
            }
        }
        retain(pat, &keep);
        retain(params, &keep);
        retain(&mut body.result, &keep);
    }
}

/// The names that the types of the pattern mention.
pub(crate) fn mentioned<'a, L: OptLevel>(pat: impl IntoIterator<Item = &'a Param<L>>) -> FxHashSet<Name> {
    let mut names = FxHashSet::default();
    let mut each = EachUse(|name| names.extend([name]));
    pat.into_iter().for_each(|param| Visit::<L>::ty(&mut each, &param.ty));
    names
}

/// The operation that computes a boolean conditional with known results.
fn truth_value(cond: Atom, yes: (Atom, bool), no: (Atom, bool)) -> Option<BasicOp> {
    let constant = |atom: Atom| atom.constant().and_then(Scalar::as_bool);
    let ty = PrimType::Bool;
    match ((constant(yes.0), yes.1), (constant(no.0), no.1)) {
        ((Some(true), _), (Some(false), _)) => Some(BasicOp::Atom(cond)),
        ((Some(false), _), (Some(true), _)) => Some(BasicOp::Scalar(ScalarOp::Unary(UnOp::Not, ty, cond))),
        ((Some(true), _), (_, true)) => Some(BasicOp::Scalar(ScalarOp::Binary(BinOp::Or, ty, cond, no.0))),
        ((_, true), (Some(false), _)) => Some(BasicOp::Scalar(ScalarOp::Binary(BinOp::And, ty, cond, yes.0))),
        ((_, true), (_, true)) => {
            Some(BasicOp::Scalar(ScalarOp::Select { ty, cond, if_true: yes.0, if_false: no.0 }))
        }
        _ => None,
    }
}

/// Returns true if a statement may be computed speculatively: a scalar instruction that cannot fail, nor has an
/// infinite derivative if there are derivatives.
fn is_speculable<L: OptLevel>(stm: &Stm<L>, differentiates: bool) -> bool {
    let Exp::Basic(op) = &stm.exp else {
        return false;
    };
    if differentiates && has_pole(op) {
        return false;
    }
    let is_instruction = if let BasicOp::Scalar(ScalarOp::Binary(op, _, _, y)) = op {
        total::never_fails(*op, *y) && !matches!(op, BinOp::Pow | BinOp::FMod)
    } else {
        op.is_scalar() && !matches!(op, BasicOp::Scalar(ScalarOp::Math(..)))
    };
    stm.aux.certs.is_empty() && is_instruction
}

/// Returns true if the derivative of an operation is infinite somewhere.
fn has_pole(op: &BasicOp) -> bool {
    if let BasicOp::Scalar(ScalarOp::Binary(BinOp::FDiv, _, _, y)) = op {
        return y.constant().is_none();
    }
    matches!(op, BasicOp::Scalar(ScalarOp::Unary(UnOp::FSqrt, ..) | ScalarOp::Math(..)))
}
