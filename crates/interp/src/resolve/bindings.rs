//! Patterns, local bindings and loops.

use super::types::payload_sizes;
use super::{Resolver, closure, constr_index, field_index};
use crate::tree::{Bind, Form, Loop, Node, Param, Pat, Slot, Subject};
use check::tast::{self, Exp, PatKind, Ty, VarId};
use prim::ScalarType;
use syntax::span::Span;

impl Resolver<'_> {
    pub(super) fn param(&mut self, pat: &tast::Pat, from: &[&Ty]) -> Param {
        let bound = self.pattern(pat);
        let ty = self.shape(&pat.ty);
        Param {
            pat: bound,
            payload_sizes: payload_sizes(ty.as_ref()),
            ty,
            check: self.size_check(&pat.ty, &[], Subject::Pattern, from, pat.span),
            span: pat.span,
        }
    }

    /// A part of a pattern, whose own type is checked.
    fn part(&mut self, pat: &tast::Pat) -> Pat {
        let part = self.pattern(pat);
        if !matches!(pat.kind, PatKind::Var(_)) {
            return part;
        }
        match self.size_check(&pat.ty, &[], Subject::Pattern, &[], pat.span) {
            Some(check) => Pat::Checked(Box::new(part), check),
            None => part,
        }
    }

    pub(super) fn pattern(&mut self, pat: &tast::Pat) -> Pat {
        match &pat.kind {
            PatKind::Var(var) => {
                let slot = self.bind(*var);
                if matches!(pat.ty, Ty::Scalar(_)) {
                    self.pin(slot);
                }
                Pat::Var(slot)
            }
            PatKind::Wildcard => Pat::Wild,
            PatKind::Tuple(pats) => {
                Pat::Parts((0u32..).zip(pats).map(|(i, pat)| (i, self.part(pat))).collect())
            }
            PatKind::Record(pats) => Pat::Parts(
                pats.iter().map(|(label, inner)| (field_index(&pat.ty, label), self.part(inner))).collect(),
            ),
            PatKind::Lit(value, _) => Pat::Lit(*value),
            PatKind::Constr(label, pats) => {
                let number = constr_index(&pat.ty, label);
                Pat::Constr(number, pats.iter().map(|pat| self.part(pat)).collect())
            }
            PatKind::Attr(_, pat) => self.pattern(pat),
        }
    }

    pub(super) fn local(&mut self, bind: &tast::Bind, body: Span) -> Bind {
        match bind {
            tast::Bind::Pat { sizes, pat, rhs } => {
                let (end, from) = (rhs.span, [&rhs.ty]);
                let node = self.resolve_exp(rhs);
                let sizes: Vec<Slot> = sizes.iter().map(|var| self.bind_size(*var)).collect();
                let region = self.region_after(end, body);
                let param = self.param_in_scope(pat, &from, region);
                let in_payload = sizes.iter().any(|slot| param.payload_sizes.contains(slot));
                let ty = in_payload.then(|| Box::new(self.ty(&rhs.ty)));
                Bind::Pat(sizes, param, node, ty)
            }
            tast::Bind::Fun(def) => {
                let params = (def.ty_params.clone(), def.size_params.clone());
                let plain = params.0.is_empty() && params.1.is_empty();
                if plain && def.params.is_empty() {
                    let rhs = self.resolve_exp(&def.body);
                    let pat = Pat::Var(self.bind(def.var));
                    if matches!(def.body.ty, Ty::Scalar(_)) {
                        self.bind_scalar(def.var);
                    }
                    let region = self.region_after(def.body.span, body);
                    self.add_to_scope(def.var, &def.body.ty, region);
                    let param =
                        Param { pat, ty: None, check: None, payload_sizes: Vec::new(), span: def.span };
                    return Bind::Pat(Vec::new(), param, rhs, None);
                }
                let (func, captured) = self.function(def);
                if !plain {
                    self.local_params.insert(def.var, params);
                }
                Bind::Fun(self.bind(def.var), closure(func, captured))
            }
        }
    }

    pub(super) fn loop_exp(
        &mut self,
        sizes: &[VarId],
        pat: &tast::Pat,
        init: &Exp,
        form: &tast::LoopForm,
        body: &Exp,
    ) -> Node {
        let init_ty = init.ty.clone();
        let init = self.resolve_exp(init);
        // Bounds and arrays are evaluated outside of the loop.
        let driver = match form {
            tast::LoopForm::For(_, bound) => Some((self.resolve_exp(bound), &bound.ty)),
            tast::LoopForm::ForIn(_, array) => Some((self.resolve_exp(array), &array.ty)),
            tast::LoopForm::While(_) => None,
        };
        let mark = self.frame().n_slots;
        let first = self.frame().sizes.len();
        let sizes: Vec<Slot> = sizes.iter().map(|var| self.bind_size(*var)).collect();
        let param = self.param_in_scope(pat, &[&init_ty, &body.ty], body.span);
        let form = match (form, driver) {
            (tast::LoopForm::For(var, _), Some((bound, ty))) => {
                let ty = match ty {
                    Ty::Scalar(ty) => *ty,
                    _ => ScalarType::I64,
                };
                let slot = self.bind_scalar(*var);
                self.add_to_scope(*var, &Ty::Scalar(ty), body.span);
                Form::For(slot, ty, bound)
            }
            (tast::LoopForm::ForIn(pat, _), Some((array, ty))) => {
                Form::ForIn(self.param_in_scope(pat, &[ty], body.span), array)
            }
            (
                tast::LoopForm::While(cond) | tast::LoopForm::For(_, cond) | tast::LoopForm::ForIn(_, cond),
                _,
            ) => Form::While(self.resolve_exp(cond)),
        };
        let body = self.resolve_exp(body);
        let inner_sizes = self.frame().sizes.get(first..).unwrap_or_default().to_vec();
        Node::Loop(Box::new(Loop {
            sizes,
            reset_sizes: inner_sizes,
            param,
            init,
            form,
            body,
            first_body_slot: mark,
        }))
    }
}
