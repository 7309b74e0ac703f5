//! Basic operations: applying rules, sharing equal operations, and choosing the scope to emit into.

use super::knowledge::Def;
use super::rewrite::Rewriter;
use super::rules::{NewOps, Simplified};
use super::sharing::cse;
use super::{Certs, Simplifier, Sub, add_certs};
use crate::level::OptLevel;
use analysis::uses::EachUse;
use ir::remark::{CheckRemovedReason, RemarkKind};
use ir::syntax::{Atom, Attrs, Aux, BasicOp, Exp, Param, ReshapeKind, Stm};
use ir::types::{Shape, Type};
use ir::walk::{Visit, VisitMut};
use ir::{Name, Prov};
use prim::ScalarOp;
use smallvec::SmallVec;
use std::rc::Rc;

impl<L: OptLevel> Simplifier<'_, L> {
    /// Simplifies a basic operation: rewrites operands, applies rules, and emits the result.
    pub(crate) fn basic(&mut self, mut param: Param<L>, mut aux: Aux, mut op: BasicOp) {
        self.rewrite_param(&mut param);
        VisitMut::<L>::basic(&mut Rewriter { subs: &self.subs, certs: &mut aux.certs }, &mut op);
        // Each rule simplifies the operation; the bound is a safeguard.
        for _ in 0..16 {
            if self.fuel.is_exhausted() {
                break;
            }
            let mut new = NewOps { names: &mut *self.names, ops: Vec::new() };
            let Some(mut folded) = self.known.fold(&op, param.name, &mut new) else {
                break;
            };
            let before = new.ops;
            if !self.rewrite() {
                break;
            }
            self.emit_before(before, aux.prov, &mut folded);
            match folded {
                Simplified::Atom(atom, certs) => {
                    add_certs(&mut aux.certs, &certs);
                    if let (true, Atom::Var(source)) = (param.ty.is_array(), atom) {
                        self.known.aliases.union(param.name, source);
                    }
                    self.bind_atom(param, aux, atom);
                    return;
                }
                Simplified::Op(new, certs) => {
                    add_certs(&mut aux.certs, &certs);
                    if let (true, BasicOp::Index { array, .. }) = (param.ty.is_array(), &new) {
                        self.known.aliases.union(param.name, *array);
                    }
                    self.retire_overwritten_update(&op, &new);
                    self.use_more(&new);
                    op = new;
                }
            }
        }
        if self.forward_element_read(&param, &aux, &op) {
            return;
        }
        if let BasicOp::Atom(atom) = op {
            if self.fuel.take() {
                self.bind_atom(param, aux, atom);
            } else {
                self.emit_at(self.known.current(), param, aux, op);
            }
            return;
        }
        self.emit(param, aux, op);
    }

    /// Emits the operations that a rule's result refers to.
    fn emit_before(&mut self, ops: Vec<(Name, BasicOp, Certs)>, prov: Prov, result: &mut Simplified) {
        if ops.is_empty() {
            return;
        }
        for (name, mut op, certs) in ops {
            let mut aux = Aux { certs, ..Aux::at(prov) };
            let mut rewriter = Rewriter { subs: &self.subs, certs: &mut aux.certs };
            VisitMut::<L>::basic(&mut rewriter, &mut op);
            let param = self.unbound(name, &op);
            self.basic(param, aux, op);
        }
        match result {
            Simplified::Atom(atom, certs) => self.rewrite_atom(atom, certs),
            Simplified::Op(op, certs) => VisitMut::<L>::basic(&mut Rewriter { subs: &self.subs, certs }, op),
        }
    }

    /// The parameter for a new name that an operation defines.
    pub(super) fn unbound(&mut self, name: Name, op: &BasicOp) -> Param<L> {
        let ty = ir::typing::basic_type(op, &|name| self.known.type_of(name));
        self.known.types.set(name, ty.clone());
        self.grow();
        Param { name, ty, ann: L::Ann::default() }
    }

    /// Replaces the name by the operand from here on.
    pub(crate) fn bind_atom(&mut self, param: Param<L>, aux: Aux, atom: Atom) {
        let ty = self.known.type_of_atom(atom);
        if ty != param.ty && ty.is_array() {
            let op = BasicOp::Reshape {
                kind: ReshapeKind::Coerce,
                shape: Shape::from_slice(param.ty.shape()),
                array: match atom {
                    Atom::Var(name) => name,
                    Atom::Const(_) => return,
                },
            };
            self.emit(param, aux, op);
            return;
        }
        let name = param.name;
        if let Atom::Var(other) = atom {
            self.known.uses.add(other, self.known.uses.count(name));
        }
        let certs = aux.certs.clone();
        if certs.is_empty() {
            self.bind(&param, self.known.current());
        } else {
            self.emit_plain(param, aux, BasicOp::Atom(atom));
        }
        self.subs[name.index()] = Some(Sub { atom, certs });
    }

    /// Makes a bound name an alias of an operand that is known further out, given certificates. The
    /// next walk substitutes it: types of names bound by now mention the name.
    pub(super) fn alias_to(&mut self, name: Name, atom: Atom, certs: &Certs) {
        if let Some(stm) = self.defining_stm(name) {
            stm.exp = Exp::Basic(BasicOp::Atom(atom));
            add_certs(&mut stm.aux.certs, certs);
            if let Atom::Var(other) = atom {
                self.known.uses.add(other, 1);
            }
        }
    }

    /// The emitted statement that defines a name.
    fn defining_stm(&mut self, name: Name) -> Option<&mut Stm<L>> {
        let at = self.known.def(name)?.at;
        let stm = self.scopes[self.known.depth_of(name)].out.get_mut(at)?;
        stm.pat.iter().any(|param| param.name == name).then_some(stm)
    }

    /// If an update replaces the one before, turns the latter into an alias: only one of them may
    /// consume the array.
    fn retire_overwritten_update(&mut self, old: &BasicOp, new: &BasicOp) {
        if let (BasicOp::Update { array: name, .. }, BasicOp::Update { array, .. }) = (old, new)
            && name != array
            && let Some(stm) = self.defining_stm(*name)
        {
            stm.exp = Exp::Basic(BasicOp::Atom(Atom::Var(*array)));
        }
    }

    /// Emits an operation to which no rule applies, unless an equal one is available.
    fn emit(&mut self, param: Param<L>, aux: Aux, mut op: BasicOp) {
        if let BasicOp::Assert { cond, msg: _ } = &op
            && *cond == Atom::Const(prim::Scalar::Bool(true))
            && self.rewrite()
        {
            self.decide(&aux, &op, |check| RemarkKind::CheckRemoved {
                check,
                why: CheckRemovedReason::Holds,
            });
            self.cert_subs.insert(param.name, aux.certs);
            return;
        }
        if matches!(&op, BasicOp::Scalar(ScalarOp::Binary(divide, ..)) if divide.is_division()) {
            self.hoistable_division(&aux, &mut op);
        }
        if let BasicOp::Copy(array) | BasicOp::Index { array, slice: _ } = op
            && param.ty.is_array()
            && self.known.uses.get(array) > Some(1)
        {
            self.left.shared.push(array);
        }
        let hash = cse::hash(&op);
        if let Some(known) = hash.and_then(|hash| self.available(hash, &op, &aux.certs, param.name))
            && self.rewrite()
        {
            self.merge_attrs(known, &aux.attrs);
            if matches!(op, BasicOp::Assert { .. }) {
                self.decide(&aux, &op, |check| RemarkKind::CheckRemoved {
                    check,
                    why: CheckRemovedReason::Same,
                });
                self.cert_subs.insert(param.name, Certs::from_slice(&[known]));
                return;
            }
            let own = self.known.def(known).map(|def| def.certs.clone());
            let own = own.unwrap_or_default();
            let mut aux = aux;
            aux.certs.retain(|cert| !own.contains(cert));
            self.bind_atom(param, aux, Atom::Var(known));
            return;
        }
        let name = param.name;
        let depth = self.emit_plain(param, aux, op);
        if let Some(hash) = hash {
            // An equal operation in a scope that has ended may be after this one now.
            let ended = self.cse.get(&hash).is_some_and(SmallVec::is_empty);
            self.left.to_simplify |= ended && depth < self.known.current();
            self.cse.entry(hash).or_default().push(name);
            self.scopes[depth].cse.push((hash, name));
        }
    }

    /// Merges the attributes of a removed equal statement into the statement of `known`, whose
    /// provenance stays.
    fn merge_attrs(&mut self, known: Name, attrs: &Attrs) {
        if let Some(stm) = self.defining_stm(known)
            && !(stm.aux.attrs.is_empty() && attrs.is_empty())
        {
            stm.aux.attrs = Attrs::merged_equal(&stm.aux.attrs, attrs);
        }
    }

    /// Returns an available name with the operation's value.
    fn available(&self, hash: u64, op: &BasicOp, certs: &Certs, name: Name) -> Option<Name> {
        let candidates = self.cse.get(&hash)?;
        candidates.iter().copied().find(|other| {
            let Some(def) = self.known.def(*other) else {
                return false;
            };
            cse::equal(&def.op, op)
                && def.certs.iter().all(|cert| certs.contains(cert))
                && (!cse::makes_array(op) || self.known.may_share(*other, name))
        })
    }

    /// Emits an operation, records its definition, and returns the scope that it was emitted to.
    fn emit_plain(&mut self, param: Param<L>, aux: Aux, op: BasicOp) -> usize {
        let depth = self.hoist_depth(&param, &aux, &op);
        if let Some(depth) = self.emit_guarded(&param, &aux, &op, depth) {
            return depth;
        }
        if L::IS_FLATTENED
            && let Some(depth) = self.emit_affine_check(&param, &aux, &op)
        {
            return depth;
        }
        if depth < self.known.current() && self.rewrite() {
            self.decide(&aux, &op, RemarkKind::CheckHoisted);
            self.decide_hoisted(&param, &aux, &op);
            return self.emit_at(depth, param, aux, op);
        }
        self.emit_at(self.known.current(), param, aux, op)
    }

    pub(super) fn emit_at(&mut self, depth: usize, param: Param<L>, aux: Aux, op: BasicOp) -> usize {
        self.bind(&param, depth);
        let name = param.name;
        self.known.fresh_arrays[name.index()] =
            cse::makes_array(&op) || matches!(op, BasicOp::Update { .. } | BasicOp::FlatUpdate { .. });
        if cse::is_recorded(&op) {
            self.known.defs[name.index()] = Some(Rc::new(Def {
                op: op.clone(),
                certs: aux.certs.clone(),
                at: self.scopes[depth].out.len(),
            }));
        }
        self.learn_definition(name, &param.ty, &op, &aux.certs);
        if depth < self.known.current()
            && let Some(scope) = self.scopes.last_mut()
        {
            scope.hoisted.push(name);
        }
        self.scopes[depth].out.push(Stm { pat: vec![param], aux, exp: Exp::Basic(op) });
        depth
    }

    /// Adds what an operation implies. The facts may depend on others of the current scope, so they
    /// end with it.
    fn learn_definition(&mut self, name: Name, ty: &Type, op: &BasicOp, certs: &Certs) {
        let here = self.known.current();
        if let BasicOp::Assert { cond, msg: _ } = op {
            self.assume(*cond, true, &Certs::from_slice(&[name]), here);
        } else if let Type::Prim(ty) = *ty
            && ty.is_int()
        {
            self.ranges_at(here, |ranges| ranges.define(name, ty, op, certs));
        } else if !matches!(op, BasicOp::Index { .. } | BasicOp::FlatIndex { .. } | BasicOp::Rearrange { .. })
        {
            // Views may be hoisted out of bodies that do not run, so their shapes prove no sizes.
            self.assume_exists(ty, certs);
        }
    }

    /// Adds what operations imply that were hoisted out of a scope that has ended.
    pub(super) fn learn_hoisted(&mut self, hoisted: Vec<Name>) {
        for name in hoisted {
            if let Some(def) = self.known.def(name).cloned() {
                self.learn_definition(name, &self.known.type_of(name), &def.op, &def.certs);
            }
            if self.known.depth_of(name) < self.known.current()
                && let Some(scope) = self.scopes.last_mut()
            {
                scope.hoisted.push(name);
            }
        }
    }

    /// Emits a new basic operation made by a rule, and returns its name.
    pub(crate) fn make(&mut self, hint: &str, aux: &Aux, op: BasicOp) -> Atom {
        let name = self.names.fresh(hint);
        let param = self.unbound(name, &op);
        self.basic(param, aux.clone(), op);
        let mut atom = Atom::Var(name);
        self.rewrite_plain(&mut atom);
        atom
    }

    /// Appends a statement whose parts are simplified. Its pattern is rewritten and bound.
    pub(crate) fn push(&mut self, pat: Vec<Param<L>>, aux: Aux, exp: Exp<L>) {
        self.push_at(self.known.current(), pat, aux, exp);
    }

    /// As [`Simplifier::push`], into the scope with this index.
    pub(super) fn push_at(&mut self, depth: usize, mut pat: Vec<Param<L>>, aux: Aux, exp: Exp<L>) {
        for param in &mut pat {
            self.rewrite_param(param);
            self.bind(param, depth);
        }
        match &exp {
            Exp::Op(op) => {
                for (i, param) in pat.iter().enumerate() {
                    self.known.fresh_arrays[param.name.index()] = L::is_fresh(op, i);
                }
            }
            Exp::Loop { params, .. } => {
                for (param, bound) in params.iter().zip(&pat) {
                    self.known.fresh_arrays[bound.name.index()] = param.consumed;
                }
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Apply { .. } => {}
        }
        for param in &pat {
            self.assume_exists(&param.ty, &aux.certs);
        }
        self.scopes[depth].out.push(Stm { pat, aux, exp });
    }

    /// Adds a use of each operand of an operation that a rule creates.
    pub(crate) fn use_more(&mut self, op: &BasicOp) {
        Visit::<L>::basic(&mut EachUse(|name| self.known.uses.add(name, 1)), op);
    }
}
