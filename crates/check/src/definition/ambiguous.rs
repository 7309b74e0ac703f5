//! Reports ambiguous sizes.
//!
//! A size that instantiates a size parameter, an anonymous size of an ascribed type, and a size
//! bound by a pattern must be inferred, or be a parameter of the enclosing definition.

use crate::context::Context;
use crate::definition::DefinitionChecker;
use crate::env::Target;
use crate::infer::{FreeVars, InferTables};
use crate::tast::{Def, Dim, Ty, VarId};
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// A size that must be inferred.
pub(super) struct RequiredSize {
    size: VarId,
    span: Span,
    reason: SizeOrigin,
}

/// The origin of such a size.
#[derive(Clone, Copy)]
pub(super) enum SizeOrigin {
    /// The instance of a size parameter of this function.
    Instance(Target),
    /// An anonymous size of an ascribed type.
    Anonymous,
    /// A size bound by a pattern.
    Pattern,
    /// A size of a coercion.
    Coercion,
}

impl DefinitionChecker<'_, '_> {
    /// Records a size that must be inferred. Nothing is recorded in the prelude.
    pub(super) fn require_size(&mut self, size: VarId, span: Span, reason: SizeOrigin) {
        if !self.cx.site.is_prelude() {
            self.required_sizes.push(RequiredSize { size, span, reason });
        }
    }

    /// Records all open sizes of a type.
    pub(super) fn require_sizes_of(&mut self, ty: &Ty, span: Span, reason: SizeOrigin) {
        if !self.infer.infers_sizes() {
            return;
        }
        for size in FreeVars::of(&self.infer.tables.resolve(ty)).dims {
            if self.infer.tables.is_open(size) {
                self.require_size(size, span, reason);
            }
        }
    }
}

/// Reports the recorded sizes that were not inferred.
pub(super) fn check(
    required_sizes: Vec<RequiredSize>,
    def: &Def,
    tables: &InferTables,
    cx: &mut Context<'_>,
) {
    let mut seen = Vec::new();
    for required in required_sizes {
        let Dim::Var(var) = tables.resolve_dim(&Dim::Var(required.size)) else {
            continue;
        };
        if !tables.is_open(var)
            || tables.var(var).unified_with_any
            || def.size_params.contains(&var)
            || seen.contains(&var)
        {
            continue;
        }
        seen.push(var);
        let name = tables.var(required.size).name.to_string();
        let origin = match required.reason {
            SizeOrigin::Instance(Target::Var(fun)) => {
                let fun = &tables.var(fun).name;
                format!(
                    "instantiated size parameter of \"{fun}\", in its use as function argument \
                     or function"
                )
            }
            SizeOrigin::Instance(Target::Intrinsic(_)) => "a built-in function".to_owned(),
            SizeOrigin::Anonymous => "an anonymous size in a type".to_owned(),
            SizeOrigin::Pattern => "the bound value".to_owned(),
            SizeOrigin::Coercion => "a size coercion".to_owned(),
        };
        cx.report(
            Diagnostic::error(
                "ambiguous-size",
                format!("Ambiguous size \"{name}\": nothing determines it ({origin})"),
            )
            .at(required.span, "")
            .hint("specify the size by an explicit type ascription"),
        );
    }
}
