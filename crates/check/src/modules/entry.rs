//! Entry points: their restrictions, and their external types.

use super::external_names::external_name;
use crate::carried_sizes::CarriedSizes;
use crate::context::Context;
use crate::env::Scheme;
use crate::infer::InferTables;
use crate::subst::{TypeMapper, map_ty};
use crate::tast::{AbstractTypeId, Def, Entry, EntryParam, EntryType, Name, Ty, TypeArgs, Uniq};
use std::sync::Arc;
use syntax::ast::{self, Liftedness, PatKind, TypeExp, TypeExpKind};
use syntax::diag::Diagnostic;

/// Makes an entry point of a definition, and reports violated restrictions.
pub(super) fn entry_point(
    bind: &ast::ValBind,
    doc: &str,
    def: &Def,
    scheme: &Scheme,
    tables: &InferTables,
    cx: &mut Context<'_>,
) -> Entry {
    let name = cx.symbol_text(bind.name.name);
    let span = bind.name.span;
    if !def.ty_params.is_empty() {
        cx.report(
            Diagnostic::error(
                "bad-entry-point",
                format!("Entry point functions may not be polymorphic: \"{name}\" has type parameters"),
            )
            .at(span, "")
            .note(format!("its type is \"{}\"", tables.show(&scheme.ty)))
            .hint("declare the types of its parameters"),
        );
    }
    check_entry_sizes(bind, scheme, tables, cx);
    if is_lifted(&scheme.ty, tables) {
        let message = format!(
            "Entry point functions may not be higher-order: the type of \"{name}\" has an abstract \
             type that may contain functions"
        );
        cx.report(
            Diagnostic::error("bad-entry-point", message)
                .at(span, "")
                .hint("declare the abstract type with `type` or `type~` in the module type"),
        );
    }
    let mut params = Vec::new();
    let mut ty = tables.finish_ty(&scheme.ty);
    let mut unique = Uniq::None;
    let mut patterns = bind.params.iter();
    while let Ty::Arrow(arrow) = &ty {
        let pattern = patterns.next();
        if holds_function(&arrow.param) {
            cx.error(
                "bad-entry-point",
                pattern.map_or(span, |p| p.span),
                format!(
                    "Entry point functions may not be higher-order: a parameter of \"{name}\" contains a \
                     function"
                ),
            );
        }
        let written = pattern.and_then(ascribed);
        params.push(EntryParam {
            name: pattern.map_or_else(|| Arc::from(""), |p| param_name(cx, p)),
            ty: entry_type(cx, &arrow.param, &arrow.consumes, written),
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
            "Entry point functions may not be higher-order: the result of \"{name}\" contains a function"
        );
        cx.error("bad-entry-point", span, message);
    }
    // The declared result is that of the function after its parameters.
    let ret = bind.ret.as_ref().filter(|_| patterns.len() == 0);
    let result = entry_type(cx, &ty, &unique, ret.map(bare));
    Entry { name, var: def.var, params, result, doc: doc.into(), span }
}

/// Reports size parameters that are not sizes of arguments: callers of an entry point pass
/// arguments, not sizes.
fn check_entry_sizes(bind: &ast::ValBind, scheme: &Scheme, tables: &InferTables, cx: &mut Context<'_>) {
    let mut sizes = CarriedSizes::default();
    let mut ty = &scheme.ty;
    while let Ty::Arrow(arrow) = ty {
        sizes.add(&arrow.param);
        ty = &arrow.ret.ty;
    }
    for var in &scheme.size_params {
        let size = Arc::clone(&tables.var(*var).name);
        let explicit = bind
            .type_params
            .iter()
            .find(|p| matches!(p.kind, ast::TypeParamKind::Size) && *cx.symbol_text(p.name.name) == *size);
        let span = explicit.map_or(bind.name.span, |param| param.span);
        if sizes.mentions_only(*var) {
            cx.report(
                Diagnostic::error(
                    "bad-entry-point",
                    format!(
                        "Entry point size parameter [{size}] is only used non-constructively: \
                         it is not the size of an array in an argument"
                    ),
                )
                .at(span, "")
                .hint(format!("take \"{size}\" as a parameter of type `i64`")),
            );
        } else if !sizes.carried.contains(var) {
            cx.report(
                Diagnostic::error(
                    "bad-entry-point",
                    format!(
                        "Entry point is size-polymorphic in its result: no argument determines \
                         the size \"{size}\""
                    ),
                )
                .at(span, "")
                .hint(format!(
                    "take \"{size}\" as a parameter of type `i64`, or declare the size in the result type"
                )),
            );
        }
    }
}

fn entry_type(cx: &mut Context<'_>, ty: &Ty, unique: &Uniq, written: Option<&TypeExp>) -> EntryType {
    EntryType {
        ty: ty.clone(),
        text: written.map(|te| type_text(cx, te)),
        external_name: written.map(|te| external_name(te, cx)),
        unique: unique.clone(),
    }
}

fn param_name(cx: &mut Context<'_>, pat: &ast::Pat) -> Name {
    match &pat.kind {
        PatKind::Id(ident) => cx.symbol_text(ident.name),
        PatKind::Parens(inner) | PatKind::Ascript(inner, _) | PatKind::Attr(_, inner) => {
            param_name(cx, inner)
        }
        _ => Arc::from(""),
    }
}

fn type_text(cx: &Context<'_>, te: &TypeExp) -> Arc<str> {
    Arc::from(cx.reports.snippet(bare(te).span))
}

/// The type expression without parentheses, uniqueness and existential quantifiers.
fn bare(te: &TypeExp) -> &TypeExp {
    let mut te = te;
    while let TypeExpKind::Parens(inner) | TypeExpKind::Unique(inner) | TypeExpKind::Exists(_, inner) =
        &te.kind
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

/// Returns true if a type mentions an abstract type whose values may contain functions.
fn is_lifted(ty: &Ty, tables: &InferTables) -> bool {
    struct Lifted<'t>(&'t InferTables, bool);
    impl TypeMapper for Lifted<'_> {
        fn abstract_ty(&mut self, id: AbstractTypeId, _: &TypeArgs) -> Option<Ty> {
            let data = self.0.abstracts.get(id.index());
            self.1 |= data.is_some_and(|data| data.lifted == Liftedness::Lifted);
            None
        }
    }
    let mut lifted = Lifted(tables, false);
    map_ty(ty, &mut lifted);
    lifted.1
}

fn holds_function(ty: &Ty) -> bool {
    match ty {
        Ty::Arrow(_) => true,
        Ty::Scalar(_) | Ty::Var(_) | Ty::Abstract(..) => false,
        Ty::Array(array) => holds_function(&array.elem),
        Ty::Tuple(parts) => parts.iter().any(holds_function),
        Ty::Record(fields) => fields.iter().any(|(_, ty)| holds_function(ty)),
        Ty::Sum(constrs) => constrs.iter().flat_map(|(_, p)| p.iter()).any(holds_function),
    }
}
