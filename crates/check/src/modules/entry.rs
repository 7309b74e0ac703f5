//! Entry points: their rules, and their types as the outside sees them.

use crate::checker::Checker;
use crate::env::Scheme;
use crate::tast::{Def, Entry, EntryParam, EntryType, Name, Ty, Uniq};
use crate::witness::Witness;
use std::sync::Arc;
use syntax::ast::{self, PatKind, TypeExp, TypeExpKind};
use syntax::diag::Diagnostic;

impl<'a> Checker<'a> {
    /// Adds an entry point.
    pub(crate) fn entry_point(&mut self, bind: &'a ast::ValBind, def: &Def, scheme: &Scheme) {
        let name = self.name(bind.name.name);
        let span = bind.name.span;
        if !def.ty_params.is_empty() {
            self.report(
                Diagnostic::error(
                    "bad-entry-point",
                    format!("Entry point functions may not be polymorphic, as \"{name}\" is"),
                )
                .at(span, "")
                .note(format!("its type is \"{}\"", self.tables.show(&scheme.ty)))
                .hint("give its parameters types"),
            );
        }
        self.check_entry_sizes(bind, scheme);
        let mut params = Vec::new();
        let mut ty = self.finish_ty(&scheme.ty);
        let mut unique = Uniq::None;
        let mut patterns = bind.params.iter();
        while let Ty::Arrow(arrow) = &ty {
            let pattern = patterns.next();
            if holds_function(&arrow.param) {
                self.error(
                    "bad-entry-point",
                    pattern.map_or(span, |p| p.span),
                    format!("Entry point functions may not be higher-order: a parameter of \"{name}\" is a function"),
                );
            }
            params.push(EntryParam {
                name: pattern.map_or_else(|| Arc::from(""), |p| self.param_name(p)),
                ty: EntryType {
                    ty: arrow.param.clone(),
                    text: pattern.and_then(ascribed).map(|te| self.type_text(te)),
                    unique: arrow.consumes == Uniq::All,
                },
            });
            unique = arrow.ret.unique.clone();
            let ret = arrow.ret.ty.clone();
            ty = ret;
        }
        if bind.params.is_empty() {
            unique = def.ret.unique.clone();
        }
        if holds_function(&ty) {
            let message = format!(
                "Entry point functions may not be higher-order: the result of \"{name}\" holds a function"
            );
            self.error("bad-entry-point", span, message);
        }
        // The declared result belongs to what is left after the parameters.
        let ret = bind.ret.as_ref().filter(|_| patterns.len() == 0);
        let results = self.results(&ty, &unique, ret);
        self.entries.push(Entry {
            name,
            var: def.var,
            params,
            results,
            span,
        });
    }

    /// Whoever calls an entry point gives arguments, not sizes: these must be
    /// sizes of the arguments.
    fn check_entry_sizes(&mut self, bind: &'a ast::ValBind, scheme: &Scheme) {
        let mut sizes = Witness::default();
        let mut ty = &scheme.ty;
        while let Ty::Arrow(arrow) = ty {
            sizes.add(&arrow.param);
            ty = &arrow.ret.ty;
        }
        for var in &scheme.size_params {
            let size = Arc::clone(&self.tables.var(*var).name);
            let explicit = bind.type_params.iter().find(|p| {
                matches!(p.kind, ast::TypeParamKind::Size) && *self.name(p.name.name) == *size
            });
            let span = explicit.map_or(bind.name.span, |param| param.span);
            if sizes.lacks(*var) {
                self.report(
                    Diagnostic::error(
                        "bad-entry-point",
                        format!(
                            "Entry point size parameter [{size}] is used non-constructively only: \
                             it is not itself the size of an argument"
                        ),
                    )
                    .at(span, "")
                    .hint(format!("take \"{size}\" as a parameter of type `i64`")),
                );
            } else if !sizes.carried.contains(var) {
                self.report(
                    Diagnostic::error(
                        "bad-entry-point",
                        format!(
                            "Entry point is size-polymorphic in its result: nothing tells the size \
                             \"{size}\""
                        ),
                    )
                    .at(span, "")
                    .hint(format!(
                        "take \"{size}\" as a parameter of type `i64`, or declare the size"
                    )),
                );
            }
        }
    }

    fn results(&mut self, ty: &Ty, unique: &Uniq, ret: Option<&TypeExp>) -> Vec<EntryType> {
        let written = ret.map(bare);
        if let Ty::Tuple(parts) = ty
            && !parts.is_empty()
        {
            let texts = match written.map(|te| &te.kind) {
                None => Some(vec![None; parts.len()]),
                Some(TypeExpKind::Tuple(tes)) if tes.len() == parts.len() => {
                    Some(tes.iter().map(|te| Some(self.type_text(te))).collect())
                }
                Some(_) => None,
            };
            if let Some(texts) = texts {
                let part_unique = |i: usize| match unique {
                    Uniq::All => true,
                    Uniq::None => false,
                    Uniq::Parts(all) => all.get(i).is_some_and(|u| *u == Uniq::All),
                };
                let parts = parts.iter().zip(texts).enumerate();
                return parts
                    .map(|(i, (ty, text))| EntryType {
                        ty: ty.clone(),
                        text,
                        unique: part_unique(i),
                    })
                    .collect();
            }
        }
        let text = written.map(|te| self.type_text(te));
        vec![EntryType {
            ty: ty.clone(),
            text,
            unique: *unique == Uniq::All,
        }]
    }

    fn param_name(&mut self, pat: &ast::Pat) -> Name {
        match &pat.kind {
            PatKind::Id(ident) => self.name(ident.name),
            PatKind::Parens(inner) | PatKind::Ascript(inner, _) | PatKind::Attr(_, inner) => {
                self.param_name(inner)
            }
            _ => Arc::from(""),
        }
    }

    fn type_text(&self, te: &TypeExp) -> Arc<str> {
        Arc::from(self.sources.snippet(bare(te).span))
    }
}

/// The type expression without parentheses and uniqueness.
fn bare(te: &TypeExp) -> &TypeExp {
    let mut te = te;
    while let TypeExpKind::Parens(inner)
    | TypeExpKind::Unique(inner)
    | TypeExpKind::Exists(_, inner) = &te.kind
    {
        te = inner;
    }
    te
}

fn ascribed(pat: &ast::Pat) -> Option<&TypeExp> {
    match &pat.kind {
        PatKind::Ascript(_, te) => Some(te),
        PatKind::Parens(inner) | PatKind::Attr(_, inner) => ascribed(inner),
        _ => None,
    }
}

fn holds_function(ty: &Ty) -> bool {
    match ty {
        Ty::Arrow(_) => true,
        Ty::Scalar(_) | Ty::Var(_) | Ty::Abstract(..) => false,
        Ty::Array(array) => holds_function(&array.elem),
        Ty::Tuple(parts) => parts.iter().any(holds_function),
        Ty::Record(fields) => fields.iter().any(|(_, ty)| holds_function(ty)),
        Ty::Sum(constrs) => constrs
            .iter()
            .flat_map(|(_, p)| p.iter())
            .any(holds_function),
    }
}
