//! Reports ambiguous sizes.
//!
//! A size that instantiates a size parameter, an anonymous size of an ascribed type, and a size
//! bound by a pattern must be inferred, or be a parameter of the enclosing definition.

use crate::context::Context;
use crate::define::Definer;
use crate::env::Target;
use crate::infer::{Mentions, Tables};
use crate::tast::{Def, Dim, Ty, VarId};
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// A size that must be inferred.
pub(super) struct Wanted {
    size: VarId,
    span: Span,
    reason: Reason,
}

/// The origin of such a size.
#[derive(Clone, Copy)]
pub(super) enum Reason {
    /// The instance of a size parameter of this function.
    Instance(Target),
    /// An anonymous size of an ascribed type.
    Anonymous,
    /// A size bound by a pattern.
    Pattern,
    /// A size of a coercion.
    Coercion,
}

impl Definer<'_, '_> {
    /// Records a size that must be inferred. Nothing is recorded in the prelude.
    pub(super) fn want(&mut self, size: VarId, span: Span, reason: Reason) {
        if !self.cx.place.is_prelude() {
            self.wanted.push(Wanted { size, span, reason });
        }
    }

    /// Records all open sizes of a type.
    pub(super) fn want_all(&mut self, ty: &Ty, span: Span, reason: Reason) {
        if !self.infer.is_sizing() {
            return;
        }
        for size in Mentions::of(&self.infer.tables.resolve(ty)).dims {
            if self.infer.tables.is_open(size) {
                self.want(size, span, reason);
            }
        }
    }
}

/// Reports the recorded sizes that were not inferred.
pub(super) fn check(wanted: Vec<Wanted>, def: &Def, tables: &Tables, cx: &mut Context<'_>) {
    let mut seen = Vec::new();
    for wanted in wanted {
        let Dim::Var(var) = tables.resolve_dim(&Dim::Var(wanted.size)) else {
            continue;
        };
        if !tables.is_open(var)
            || tables.var(var).told
            || def.size_params.contains(&var)
            || seen.contains(&var)
        {
            continue;
        }
        seen.push(var);
        let name = tables.var(wanted.size).name.to_string();
        let arising = match wanted.reason {
            Reason::Instance(Target::Var(fun)) => {
                let fun = &tables.var(fun).name;
                format!(
                    "instantiated size parameter of \"{fun}\", in its use as function argument \
                     or function"
                )
            }
            Reason::Instance(Target::Intrinsic(_)) => "a built-in function".to_owned(),
            Reason::Anonymous => "an anonymous size in a type".to_owned(),
            Reason::Pattern => "the value that is bound".to_owned(),
            Reason::Coercion => "a size coercion".to_owned(),
        };
        cx.report(
            Diagnostic::error(
                "ambiguous-size",
                format!("Ambiguous size \"{name}\": nothing determines it ({arising})"),
            )
            .at(wanted.span, "")
            .hint("say what the size is, by an explicit type ascription"),
        );
    }
}
