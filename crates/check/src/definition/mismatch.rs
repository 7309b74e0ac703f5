//! Explains type mismatches in diagnostics.

use crate::definition::DefinitionChecker;
use crate::infer::{DistinctNames, FreeVars, InferTables, Mismatch, VarState, show_scalars};
use crate::tast::{Dim, Name, Ty};
use std::sync::Arc;
use syntax::ast::Liftedness;
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// The maximum number of labels listed.
const MAX_LABELS: usize = 10;

impl DefinitionChecker<'_, '_> {
    /// Reports that two types do not match.
    pub(crate) fn mismatch(&mut self, expected: &Ty, found: &Ty, why: &Mismatch, span: Span, what: &str) {
        if let Some(diag) = self.mismatch_error(expected, found, why, span, what) {
            self.cx.report(diag);
        }
    }

    /// The error for a type mismatch; `None` if it is suppressed.
    pub(super) fn mismatch_error(
        &mut self,
        expected: &Ty,
        found: &Ty,
        why: &Mismatch,
        span: Span,
        what: &str,
    ) -> Option<Diagnostic> {
        if matches!(why, Mismatch::TooLarge) {
            self.cx.reports.record_too_large(self.infer.tables, span);
            return None;
        }
        // An error within the expression makes its type unreliable.
        if self.cx.reports.has_error_within(span) {
            return None;
        }
        let diag = mismatch(self.infer.tables, expected, found, why, what).at(span, "");
        Some(self.add_hints(diag, (expected, found), why, span))
    }
}

/// The error for a failed unification, without its span.
fn mismatch(tables: &InferTables, expected: &Ty, found: &Ty, why: &Mismatch, what: &str) -> Diagnostic {
    let sizes: &[&Dim] = match why {
        Mismatch::Sizes(a, b) => &[a, b],
        Mismatch::Escapes(dim) => &[dim],
        _ => &[],
    };
    let labels = DistinctNames::of(tables, sizes);
    let (expected_text, found_text) = (labels.show(expected), labels.show(found));
    let id = match why {
        Mismatch::Types(..) => "type-mismatch",
        Mismatch::Sizes(..) => "size-mismatch",
        Mismatch::Infinite(..) => "infinite-type",
        Mismatch::Escapes(_) | Mismatch::TypeEscapes(_) => "scope-violation",
        Mismatch::Lifted(_) => "functional-type",
        Mismatch::NotScalar(..) | Mismatch::Scalars(..) => "not-a-scalar",
        Mismatch::NoField(..) => "no-such-field",
        Mismatch::NoConstr(..) => "no-such-constructor",
        Mismatch::Existential => "existential-size",
        Mismatch::TooLarge => "type-too-large",
    };
    let mut diag = Diagnostic::error(id, what.to_owned());
    if expected_text != found_text {
        diag = diag.note(format!("expected \"{expected_text}\"")).note(format!("found    \"{found_text}\""));
    }
    match why {
        Mismatch::Types(a, b) => {
            let (x, y) = (labels.show(a), labels.show(b));
            if x != expected_text || y != found_text {
                diag = diag.note(format!("\"{x}\" is not \"{y}\""));
            }
            diag = differing_parts(diag, a, b);
        }
        Mismatch::Sizes(a, b) => {
            let (x, y) = (labels.show_dim(a), labels.show_dim(b));
            let (a, b) = (tables.resolve_dim(a), tables.resolve_dim(b));
            let differ = crate::sizes::always_differ(&a, &b);
            let why = if differ { "they always differ" } else { "they are not known to be equal" };
            diag = diag.note(format!("Sizes \"{x}\" and \"{y}\" do not match: {why}"));
            diag = origins(tables, &labels, diag, &[&a, &b]);
            if !differ {
                diag = diag.hint("if they are always equal, use a size coercion `:>`");
            }
        }
        Mismatch::Infinite(var, ty) => {
            let (var, ty) = (tables.show(&Ty::Var(*var)), tables.show(ty));
            diag = diag.note(format!(
                "Occurs check: the type \"{var}\" would have to be \"{ty}\", which contains it"
            ));
        }
        Mismatch::Escapes(dim) => {
            let text = labels.show_dim(dim);
            diag = diag.note(format!(
                "the size \"{text}\" is not yet known where the type is needed (scope-violation)"
            ));
            diag = origins(tables, &labels, diag, &[dim]);
            diag = diag
                .note("Causality check: a size cannot depend on a value computed later")
                .hint("bind the value of this size with `let` first, or take the size as a parameter");
        }
        Mismatch::TypeEscapes(var) => {
            let text = tables.show(&Ty::Var(*var));
            diag =
                diag.note(format!("the type \"{text}\" is not visible where it is needed (scope-violation)"));
        }
        Mismatch::Lifted(ty) => {
            let text = tables.show(ty);
            diag = diag.note(match tables.lifted(ty) {
                Liftedness::SizeLifted => format!(
                    "\"{text}\" is lifted (its values may differ in size): neither an array element nor a \
                     non-lifted type may contain it"
                ),
                Liftedness::Lifted | Liftedness::Unlifted => {
                    format!("\"{text}\" is lifted: it might contain functions, which are not allowed here")
                }
            });
        }
        Mismatch::NotScalar(set, ty) => {
            let (set, ty) = (show_scalars(*set), tables.show(ty));
            diag = diag.note(format!("\"{ty}\" is not {set}"));
        }
        Mismatch::Scalars(a, b) => {
            diag = diag.note(format!(
                "it would have to be {} and {} at once",
                show_scalars(*a),
                show_scalars(*b)
            ));
        }
        Mismatch::NoField(label, ty) => {
            diag = diag.note(format!("\"{}\" has no field \"{label}\"", tables.show(ty)));
        }
        Mismatch::NoConstr(label, ty) => {
            diag = diag.note(format!(
                "Unshared constructors: \"{}\" has no constructor \"#{label}\"",
                tables.show(ty)
            ));
        }
        Mismatch::TooLarge => {}
        Mismatch::Existential => {
            diag = diag
                .note("a function returns a type containing anonymous sizes, which may differ at each call")
                .hint("all elements of an array must have the same size, known before the call");
        }
    }
    diag
}

/// Adds a note with the fields or constructors that only one of two types has.
fn differing_parts(diag: Diagnostic, a: &Ty, b: &Ty) -> Diagnostic {
    let unshared = |x: Vec<String>, y: Vec<String>| {
        let mut labels = [x.clone(), y.clone()].concat();
        labels.retain(|label| !(x.contains(label) && y.contains(label)));
        labels.sort_unstable();
        labels.truncate(MAX_LABELS);
        labels.join(", ")
    };
    match (a, b) {
        (Ty::Record(x), Ty::Record(y)) => {
            let names = |fields: &[(Name, Ty)]| -> Vec<String> {
                fields.iter().map(|(label, _)| label.to_string()).collect()
            };
            diag.note(format!("unshared fields: {}.", unshared(names(x), names(y))))
        }
        (Ty::Sum(x), Ty::Sum(y)) => {
            let arity = x
                .iter()
                .find(|(label, payload)| y.iter().any(|(l, p)| l == label && p.len() != payload.len()));
            if let Some((label, _)) = arity {
                return diag.note(format!("the uses of \"#{label}\" differ in arity"));
            }
            let names = |constrs: &[(Name, Arc<[Ty]>)]| -> Vec<String> {
                constrs.iter().map(|(label, _)| format!("#{label}")).collect()
            };
            diag.note(format!("Unshared constructors: {}.", unshared(names(x), names(y))))
        }
        _ => diag,
    }
}

/// Adds labels at the origins of sizes.
fn origins(
    tables: &InferTables,
    labels: &DistinctNames<'_>,
    mut diag: Diagnostic,
    dims: &[&Dim],
) -> Diagnostic {
    let mut mentions = FreeVars::default();
    for dim in dims {
        crate::subst::map_dim(&tables.resolve_dim(dim), &mut mentions);
    }
    // Sizes that come from one expression share a label.
    let mut unknown_sizes: Vec<(Span, Vec<&str>)> = Vec::new();
    for var in mentions.dims {
        let data = tables.var(var);
        let Some(span) = data.span else { continue };
        let name = labels.name(var);
        let text = match (&data.state, &*data.name) {
            (VarState::Unknown, "range") => "unknown length of range".to_owned(),
            (VarState::Unknown, "slice") => "unknown length of slice".to_owned(),
            (VarState::Unknown, _) => {
                match unknown_sizes.iter_mut().find(|(other, _)| *other == span) {
                    Some((_, names)) => names.push(name),
                    None => unknown_sizes.push((span, vec![name])),
                }
                continue;
            }
            (VarState::Value, _) => format!("the size \"{name}\" is bound here"),
            (VarState::Open(_) | VarState::Copy { .. } | VarState::Existential { .. }, _) => {
                format!("this is the size \"{name}\"")
            }
            (VarState::Solved(_), _) => continue,
        };
        let mut existing = diag.secondary.iter();
        if !existing.any(|l| l.span == span && l.text == text) {
            diag = diag.also(span, text);
        }
    }
    for (span, names) in unknown_sizes {
        let text = match names.as_slice() {
            [name] => format!("the size \"{name}\" is computed here"),
            names => format!("the sizes \"{}\" are computed here", names.join("\" and \"")),
        };
        diag = diag.also(span, text);
    }
    diag
}
