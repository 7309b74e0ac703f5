//! Patterns: types of what they match, names that they bind.

use crate::define::types::{Anonymous, record, sort_labels};
use crate::define::{Definer, literals};

use crate::tast::{Name, Pat, PatKind, Ty, Uniq};
use prim::{Scalar, ScalarType};
use std::sync::Arc;
use syntax::ast::{self, Lit};
use syntax::span::Span;
use syntax::symbol::Symbol;

/// The names that a pattern has bound so far, each with its place.
pub(super) type Bound = Vec<(Symbol, Span)>;

impl<'a> Definer<'_, 'a> {
    /// A pattern that stands alone; binds its names in the current scope.
    pub(super) fn pattern(&mut self, pat: &'a ast::Pat) -> Pat {
        self.pat(pat, &mut Vec::new())
    }

    /// A pattern; names already in `bound` may not be bound again.
    pub(super) fn pat(&mut self, pat: &'a ast::Pat, bound: &mut Bound) -> Pat {
        stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || {
            self.pat_inner(pat, bound)
        })
    }

    fn pat_inner(&mut self, pat: &'a ast::Pat, bound: &mut Bound) -> Pat {
        let span = pat.span;
        let make = |kind, ty| Pat {
            kind,
            ty,
            consumes: Uniq::None,
            span,
        };
        match &pat.kind {
            ast::PatKind::Id(ident) => {
                let ty = self.infer.fresh(span);
                self.bind_pattern_var(ident, ty, bound)
            }
            ast::PatKind::Wild => {
                let ty = self.infer.fresh(span);
                make(PatKind::Wildcard, ty)
            }
            ast::PatKind::Parens(inner) => self.pat(inner, bound),
            ast::PatKind::Tuple(parts) => {
                let parts: Vec<Pat> = parts.iter().map(|p| self.pat(p, bound)).collect();
                let ty = Ty::Tuple(parts.iter().map(|p| p.ty.clone()).collect());
                let consumes = Uniq::of_parts(parts.iter().map(|p| p.consumes.clone()).collect());
                Pat {
                    consumes,
                    ..make(PatKind::Tuple(parts), ty)
                }
            }
            ast::PatKind::Record(fields) => {
                let mut parts: Vec<(Name, Pat)> = Vec::new();
                for field in fields {
                    let name = self.cx.name(field.name.name);
                    let inner = self.pat(&field.pat, bound);
                    if parts.iter().any(|(l, _)| *l == name) {
                        self.cx.error(
                            "duplicate-field",
                            field.name.span,
                            format!("Duplicate fields: \"{name}\" stands twice in this pattern"),
                        );
                    } else {
                        parts.push((name, inner));
                    }
                }
                let mut fields: Vec<(Name, Ty)> = parts
                    .iter()
                    .map(|(l, p)| (Arc::clone(l), p.ty.clone()))
                    .collect();
                sort_labels(&mut fields, |f| &f.0);
                let mut uniqs: Vec<(Name, Uniq)> = parts
                    .iter()
                    .map(|(l, p)| (Arc::clone(l), p.consumes.clone()))
                    .collect();
                sort_labels(&mut uniqs, |f| &f.0);
                let consumes = Uniq::of_parts(uniqs.into_iter().map(|(_, u)| u).collect());
                Pat {
                    consumes,
                    ..make(PatKind::Record(parts), record(fields))
                }
            }
            ast::PatKind::Ascript(inner, te) => {
                let (ty, unique) = self.type_exp(te, &mut Anonymous::Infer);
                let mut inner = match &inner.kind {
                    ast::PatKind::Id(ident) => self.bind_pattern_var(ident, ty.clone(), bound),
                    _ => self.pat(inner, bound),
                };
                self.unify(&ty, &inner.ty, span, "the pattern does not have this type");
                if let (PatKind::Var(var), Uniq::None) = (&inner.kind, &unique) {
                    self.cx.functions.lent.insert(*var);
                }
                inner.consumes = inner.consumes.or(&unique);
                Pat { ty, ..inner }
            }
            ast::PatKind::Lit(negative, lit) => self.literal_pattern(*negative, lit, span),
            ast::PatKind::Constr(name, payload) => {
                let payload: Vec<Pat> = payload.iter().map(|p| self.pat(p, bound)).collect();
                let label = self.cx.name(name.name);
                let tys = payload.iter().map(|p| p.ty.clone()).collect();
                let ty = self.infer.fresh_sum(Arc::clone(&label), tys, span);
                make(PatKind::Constr(label, payload), ty)
            }
            ast::PatKind::Attr(attr, inner) => {
                let attr = self.cx.names.attr(attr);
                let inner = self.pat(inner, bound);
                let ty = inner.ty.clone();
                let consumes = inner.consumes.clone();
                Pat {
                    consumes,
                    ..make(PatKind::Attr(vec![attr], Box::new(inner)), ty)
                }
            }
        }
    }

    fn bind_pattern_var(&mut self, ident: &ast::Ident, ty: Ty, bound: &mut Bound) -> Pat {
        let name = self.cx.name(ident.name);
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
        self.note_bound(ident, false);
        let id = self.infer.new_value(name, ident.span);
        self.cx
            .env
            .bind_mono(ident.name, id, ty.clone(), ident.span);
        Pat {
            kind: PatKind::Var(id),
            ty,
            consumes: Uniq::None,
            span: ident.span,
        }
    }

    fn literal_pattern(&mut self, negative: bool, lit: &Lit, span: Span) -> Pat {
        let (value, ty) = literals::value(&mut self.infer, lit, span);
        self.literals.note(lit, negative, &ty, span);
        let value = match value {
            Scalar::I64(n) if negative => Scalar::I64(n.wrapping_neg()),
            Scalar::F64(x) if negative => Scalar::F64(-x),
            other => other,
        };
        Pat {
            kind: PatKind::Lit(value, ScalarType::I64),
            ty,
            consumes: Uniq::None,
            span,
        }
    }
}
