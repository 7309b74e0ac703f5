//! Why two types do not fit, in words.

use crate::checker::Checker;
use crate::infer::Mentions;
use crate::infer::VarState;
use crate::print::show_scalars;
use crate::tast::{Dim, Ty};
use crate::unify::Mismatch;
use syntax::diag::Diagnostic;

/// The error for a failed unification, without its place.
pub(crate) fn mismatch(
    checker: &Checker<'_>,
    expected: &Ty,
    found: &Ty,
    why: &Mismatch,
    what: &str,
) -> Diagnostic {
    let tables = &checker.tables;
    let (wanted, got) = (tables.show(expected), tables.show(found));
    let id = match why {
        Mismatch::Types(..) => "type-mismatch",
        Mismatch::Sizes(..) => "size-mismatch",
        Mismatch::Infinite(..) => "infinite-type",
        Mismatch::Escapes(_) | Mismatch::TypeEscapes(_) => "size-out-of-scope",
        Mismatch::Functional(_) => "functional-type",
        Mismatch::NotScalar(..) | Mismatch::Scalars(..) => "not-a-scalar",
        Mismatch::NoField(..) => "no-such-field",
        Mismatch::NoConstr(..) => "no-such-constructor",
        Mismatch::Existential => "existential-size",
        Mismatch::TooLarge => "type-too-large",
    };
    let mut diag = Diagnostic::error(id, what.to_owned());
    if wanted != got {
        diag = diag
            .note(format!("expected `{wanted}`"))
            .note(format!("found    `{got}`"));
    }
    match why {
        Mismatch::Types(a, b) => {
            let (a, b) = (tables.show(a), tables.show(b));
            if a != wanted || b != got {
                diag = diag.note(format!("`{a}` is not `{b}`"));
            }
        }
        Mismatch::Sizes(a, b) => {
            let (x, y) = (tables.show_dim(a), tables.show_dim(b));
            diag = diag.note(format!(
                "the sizes `{x}` and `{y}` are not known to be equal"
            ));
            diag = origins(checker, diag, &[a, b]);
            diag = diag.hint("if they are equal, say so with a size coercion `:>`");
        }
        Mismatch::Infinite(var, ty) => {
            let (var, ty) = (tables.show(&Ty::Var(*var)), tables.show(ty));
            diag = diag.note(format!(
                "the type `{var}` would have to be `{ty}`, which contains it"
            ));
        }
        Mismatch::Escapes(dim) => {
            let text = tables.show_dim(dim);
            diag = diag.note(format!(
                "the size `{text}` is not known where the type is needed"
            ));
            diag = origins(checker, diag, &[dim]);
            diag = diag.hint("bind the size to a name outside first");
        }
        Mismatch::TypeEscapes(var) => {
            let text = tables.show(&Ty::Var(*var));
            diag = diag.note(format!(
                "the type `{text}` is not visible where it is needed"
            ));
        }
        Mismatch::Functional(ty) => {
            let text = tables.show(ty);
            diag = diag.note(format!(
                "`{text}` is or may hold a function, which cannot stand here"
            ));
        }
        Mismatch::NotScalar(set, ty) => {
            let (set, ty) = (show_scalars(*set), tables.show(ty));
            diag = diag.note(format!("`{ty}` is not {set}"));
        }
        Mismatch::Scalars(a, b) => {
            diag = diag.note(format!(
                "it would have to be {} and {} at once",
                show_scalars(*a),
                show_scalars(*b)
            ));
        }
        Mismatch::NoField(label, ty) => {
            diag = diag.note(format!("`{}` has no field `{label}`", tables.show(ty)));
        }
        Mismatch::NoConstr(label, ty) => {
            diag = diag.note(format!(
                "`{}` has no constructor `#{label}`",
                tables.show(ty)
            ));
        }
        Mismatch::TooLarge => {}
        Mismatch::Existential => {
            diag = diag
                .note("the function's result has a size that differs from call to call")
                .hint("the elements of an array must all have one size, fixed before the call");
        }
    }
    diag
}

/// Where the unknown sizes in some sizes come from.
fn origins(checker: &Checker<'_>, mut diag: Diagnostic, dims: &[&Dim]) -> Diagnostic {
    let mut mentions = Mentions::default();
    for dim in dims {
        crate::subst::map_dim(&checker.tables.resolve_dim(dim), &mut mentions);
    }
    for var in mentions.dims {
        let data = checker.tables.var(var);
        if let (VarState::Unknown, Some(span)) = (&data.state, data.span) {
            let text = format!("the size `{}` is the size of what this gives", data.name);
            if !diag
                .secondary
                .iter()
                .any(|l| l.span == span && l.text == text)
            {
                diag = diag.also(span, text);
            }
        }
    }
    diag
}
