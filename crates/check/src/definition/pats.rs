//! Patterns: their types, and the names that they bind.

use crate::definition::types::{AnonymousSizes, record, sort_labels};
use crate::definition::{DefinitionChecker, literals};
use crate::infer::Origin;
use crate::tast::{Name, Pat, PatKind, Ty, Uniq};
use std::sync::Arc;
use syntax::ast::{self, Lit};
use syntax::span::Span;
use syntax::symbol::Symbol;

/// The names bound by a pattern so far, each with its span.
pub(super) type Bound = Vec<(Symbol, Span)>;

impl<'a> DefinitionChecker<'_, 'a> {
    /// Checks a pattern on its own, and binds its names in the current scope.
    pub(super) fn pattern(&mut self, pat: &'a ast::Pat, expected: Option<&Ty>) -> Pat {
        self.pat(pat, expected, &mut Vec::new())
    }

    /// Checks a pattern; names in `bound` may not be bound again. Variables have the type of the
    /// value, `expected`, if it is given.
    pub(super) fn pat(&mut self, pat: &'a ast::Pat, expected: Option<&Ty>, bound: &mut Bound) -> Pat {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
            self.pat_inner(pat, expected, bound)
        })
    }

    /// The type of a variable or wildcard.
    fn var_ty(&mut self, expected: Option<&Ty>, span: Span) -> Ty {
        match expected {
            Some(ty) => {
                self.infer.skip_recorded();
                ty.clone()
            }
            None => self.infer.fresh(span),
        }
    }

    fn pat_inner(&mut self, pat: &'a ast::Pat, expected: Option<&Ty>, bound: &mut Bound) -> Pat {
        let span = pat.span;
        let make = |kind, ty| Pat { kind, ty, consumes: Uniq::None, span };
        match &pat.kind {
            ast::PatKind::Id(ident) => {
                let ty = self.var_ty(expected, span);
                self.bind_pattern_var(ident, ty, bound)
            }
            ast::PatKind::Wild => {
                let ty = self.var_ty(expected, span);
                make(PatKind::Wildcard, ty)
            }
            ast::PatKind::Parens(inner) => self.pat(inner, expected, bound),
            ast::PatKind::Tuple(parts) => {
                let tys = match expected.map(|ty| self.infer.tables.resolve_head(ty)) {
                    Some(Ty::Tuple(tys)) if tys.len() == parts.len() => Some(tys),
                    _ => None,
                };
                let parts = parts.iter().enumerate();
                let parts = parts.map(|(i, p)| {
                    let expected = tys.as_ref().and_then(|tys| tys.get(i));
                    self.pat(p, expected, bound)
                });
                let parts: Vec<Pat> = parts.collect();
                let ty = Ty::Tuple(parts.iter().map(|p| p.ty.clone()).collect());
                let consumes = Uniq::of_parts(parts.iter().map(|p| p.consumes.clone()).collect());
                Pat { consumes, ..make(PatKind::Tuple(parts), ty) }
            }
            ast::PatKind::Record(fields) => {
                let whole = expected.map(|ty| self.infer.tables.resolve_head(ty));
                let mut parts: Vec<(Name, Pat)> = Vec::new();
                for field in fields {
                    let name = self.cx.symbol_text(field.name.name);
                    let expected = whole.as_ref().and_then(|ty| ty.field(&name));
                    let inner = self.pat(&field.pat, expected, bound);
                    if parts.iter().any(|(l, _)| *l == name) {
                        self.cx.error(
                            "duplicate-field",
                            field.name.span,
                            format!("Duplicate fields: \"{name}\" occurs twice in this pattern"),
                        );
                    } else {
                        parts.push((name, inner));
                    }
                }
                let mut uniqs: Vec<(Name, Uniq)> =
                    parts.iter().map(|(l, p)| (Arc::clone(l), p.consumes.clone())).collect();
                sort_labels(&mut uniqs, |f| &f.0);
                let consumes = Uniq::of_parts(uniqs.into_iter().map(|(_, u)| u).collect());
                let ty = record(parts.iter().map(|(l, p)| (Arc::clone(l), p.ty.clone())).collect());
                self.record_labels(fields.iter().map(|field| &field.name), &ty, false);
                Pat { consumes, ..make(PatKind::Record(parts), ty) }
            }
            ast::PatKind::Ascript(inner, te) => {
                let (ty, unique) = self.type_exp(te, &mut AnonymousSizes::Infer);
                let mut inner = self.pat(inner, Some(&ty), bound);
                self.unify(&ty, &inner.ty, span, "the pattern does not have the type of its ascription");
                if let (PatKind::Var(var), Uniq::None) = (&inner.kind, &unique) {
                    self.non_unique_params.push(*var);
                }
                inner.consumes = inner.consumes.or(&unique);
                Pat { ty, ..inner }
            }
            ast::PatKind::Lit(negative, lit) => self.literal_pattern(*negative, lit, span),
            ast::PatKind::Constr(name, payload) => {
                let label = self.cx.symbol_text(name.name);
                let pat = self.constr_pattern(label, payload, expected, bound, span);
                self.record_labels([name], &pat.ty, false);
                pat
            }
            ast::PatKind::Attr(attr, inner) => {
                let attr = self.cx.symbols.attr(attr);
                let inner = self.pat(inner, expected, bound);
                let ty = inner.ty.clone();
                let consumes = inner.consumes.clone();
                Pat { consumes, ..make(PatKind::Attr(vec![attr], Box::new(inner)), ty) }
            }
        }
    }

    fn constr_pattern(
        &mut self,
        label: Name,
        payload: &'a [ast::Pat],
        expected: Option<&Ty>,
        bound: &mut Bound,
        span: Span,
    ) -> Pat {
        self.needed_checks.refutable = true;
        let (slot, known) = match expected.map(|ty| self.infer.tables.resolve_head(ty)) {
            Some(ty @ Ty::Sum(_)) => {
                self.infer.skip_recorded();
                (None, Some(ty))
            }
            _ => match self.infer.recall(Origin::BOUND) {
                Some(ty) => (None, Some(ty)),
                None => (Some(self.infer.record(&Ty::BOOL)), None),
            },
        };
        let tys = match &known {
            Some(Ty::Sum(constrs)) => constrs.iter().find(|(l, _)| *l == label),
            _ => None,
        };
        let tys = tys.map(|(_, tys)| Arc::clone(tys));
        let tys = tys.filter(|tys| tys.len() == payload.len());
        let parts = payload.iter().enumerate().map(|(i, p)| {
            let expected = tys.as_ref().and_then(|tys| tys.get(i));
            self.pat(p, expected, bound)
        });
        let parts: Vec<Pat> = parts.collect();
        let found = || parts.iter().map(|p| p.ty.clone()).collect();
        let ty = match (known, tys) {
            (Some(ty), Some(tys)) => {
                for (expected, part) in tys.iter().zip(&parts) {
                    let what = "the pattern does not have the type of the payload";
                    self.unify(expected, &part.ty, part.span, what);
                }
                ty
            }
            // The type does not have the constructor, or has it with another payload.
            (_, _) => match slot {
                Some(slot) => self.infer.open_sum(&label, found(), slot, span),
                None => {
                    let slot = self.infer.record(&Ty::BOOL);
                    self.infer.open_sum(&label, found(), slot, span)
                }
            },
        };
        Pat { kind: PatKind::Constr(label, parts), ty, consumes: Uniq::None, span }
    }

    fn bind_pattern_var(&mut self, ident: &ast::Ident, ty: Ty, bound: &mut Bound) -> Pat {
        let name = self.cx.symbol_text(ident.name);
        if let Some((_, first)) = bound.iter().find(|(symbol, _)| *symbol == ident.name) {
            let first = *first;
            self.cx.report(
                syntax::diag::Diagnostic::error(
                    "duplicate-name",
                    format!("the name \"{name}\" is bound twice"),
                )
                .at(ident.span, "")
                .also(first, "also bound here"),
            );
        }
        bound.push((ident.name, ident.span));
        self.record_binding(ident, false);
        let id = self.infer.new_value(name, ident.span);
        self.bind_local(ident, self.variables, id, ty.clone());
        Pat { kind: PatKind::Var(id), ty, consumes: Uniq::None, span: ident.span }
    }

    fn literal_pattern(&mut self, negative: bool, lit: &Lit, span: Span) -> Pat {
        self.needed_checks.refutable = true;
        let (value, ty) = literals::value(&mut self.infer, lit, span);
        self.literals.note(lit, negative, &ty, span);
        let (value, parsed) = if negative { literals::negated(value) } else { value };
        Pat { kind: PatKind::Lit(value, parsed), ty, consumes: Uniq::None, span }
    }
}
