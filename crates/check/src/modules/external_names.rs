//! External spellings of types: names of records, tuples, sums and arrays for callers in other
//! languages. They are the names in the reference compiler's manifests, from which it derives the
//! names of C types:
//!
//! | written | name |
//! |---|---|
//! | `t`, `m.t`, `t [n]`, `*t`, `(t)`, `?[n].t` | `t`, `m.t` |
//! | `t i32 [n] f32` | `t i32 [n] f32` |
//! | `[n]t`, `[n][m]t` | `[]t`, `[][]t` |
//! | `(t, u)` | `(t, u)` |
//! | `{x: t, y: u}` | `{x: t, y: u}` |
//! | `#a t u \| #b` | `a:t u \| b:` |
//!
//! A named type has the parts of its definition, if it was declared at the top level of a file as a
//! record or sum.

use crate::context::Context;
use crate::tast::{ExternalName, ExternalParts};
use std::sync::Arc;
use syntax::ast::{TypeArg, TypeExp, TypeExpKind};

/// The external spelling of a type that was checked without errors.
pub(super) fn external_name(te: &TypeExp, cx: &mut Context<'_>) -> Arc<ExternalName> {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        let te = strip(te);
        let (name, parts) = match &te.kind {
            TypeExpKind::Var(var) => {
                let name = Arc::from(cx.reports.snippet(te.span));
                let before = cx.reports.error_count();
                let known = cx.find_type(var).and_then(|abbr| abbr.external_name.clone());
                // Errors were reported when the type was checked.
                cx.reports.take_errors_since(before);
                let parts = match known.as_deref().map(|known| &known.parts) {
                    Some(parts @ (ExternalParts::Fields(_) | ExternalParts::Constrs(_))) => parts.clone(),
                    Some(ExternalParts::Unknown | ExternalParts::Elem(_)) | None => ExternalParts::Unknown,
                };
                (name, parts)
            }
            TypeExpKind::Tuple(parts) => {
                let parts: Vec<_> = parts.iter().map(|te| external_name(te, cx)).collect();
                let names: Vec<&str> = parts.iter().map(|part| &*part.name).collect();
                let name = format!("({})", names.join(", "));
                let fields = parts.into_iter().enumerate();
                let fields = fields.map(|(i, part)| (Arc::from(i.to_string()), part));
                (name.into(), ExternalParts::Fields(fields.collect()))
            }
            TypeExpKind::Record(fields) => {
                let mut parts = Vec::with_capacity(fields.len());
                for (label, te) in fields {
                    parts.push((cx.symbol_text(label.name), external_name(te, cx)));
                }
                let field = |(label, part): &(Arc<str>, Arc<ExternalName>)| format!("{label}: {}", part.name);
                let names: Vec<String> = parts.iter().map(field).collect();
                let name = format!("{{{}}}", names.join(", "));
                (name.into(), ExternalParts::Fields(parts))
            }
            TypeExpKind::Sum(constrs) => {
                let mut parts = Vec::with_capacity(constrs.len());
                let mut names = Vec::with_capacity(constrs.len());
                for constr in constrs {
                    let label = cx.symbol_text(constr.name.name);
                    let payload: Vec<_> = constr.payload.iter().map(|te| external_name(te, cx)).collect();
                    let payloads: Vec<&str> = payload.iter().map(|part| &*part.name).collect();
                    names.push(format!("{label}:{}", payloads.join(" ")));
                    parts.push((label, payload));
                }
                (names.join(" | ").into(), ExternalParts::Constrs(parts))
            }
            TypeExpKind::Array(_, elem) => {
                let elem = external_name(elem, cx);
                let name = format!("[]{}", elem.name);
                (name.into(), ExternalParts::Elem(elem))
            }
            TypeExpKind::Apply(head, args) => {
                let mut name = cx.reports.snippet(head.span).to_owned();
                for arg in args.iter().take(last_type_arg(args)) {
                    let (TypeArg::Size(syntax::ast::SizeExp { span, .. })
                    | TypeArg::Type(TypeExp { span, .. })) = arg;
                    name.push(' ');
                    name.push_str(cx.reports.snippet(*span));
                }
                (name.into(), ExternalParts::Unknown)
            }
            TypeExpKind::Arrow(..)
            | TypeExpKind::Parens(_)
            | TypeExpKind::Unique(_)
            | TypeExpKind::Exists(..) => (Arc::from(cx.reports.snippet(te.span)), ExternalParts::Unknown),
        };
        Arc::new(ExternalName { name, parts })
    })
}

/// The type expression without parentheses, uniqueness, existential quantifiers and arguments that
/// are only sizes.
fn strip(te: &TypeExp) -> &TypeExp {
    let mut te = te;
    loop {
        te = match &te.kind {
            TypeExpKind::Parens(inner) | TypeExpKind::Unique(inner) | TypeExpKind::Exists(_, inner) => inner,
            TypeExpKind::Apply(head, args) if last_type_arg(args) == 0 => head,
            _ => return te,
        };
    }
}

/// The number of arguments up to the last type argument.
fn last_type_arg(args: &[TypeArg]) -> usize {
    let last = args.iter().rposition(|arg| matches!(arg, TypeArg::Type(_)));
    last.map_or(0, |last| last + 1)
}
