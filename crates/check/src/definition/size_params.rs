//! Explicit size parameters: each must be the size of something.
//!
//! Calls do not pass sizes. A size parameter gets its value from the shape of an argument, or from
//! the use of the result.

use crate::definition::DefinitionChecker;
use crate::definition::FunctionSyntax;
use crate::definition::pats::Bound;
use crate::env::TypeParam;
use crate::infer::FreeVars;
use crate::tast::{Pat, RetType};
use syntax::ast;
use syntax::diag::Diagnostic;

impl<'a> DefinitionChecker<'_, 'a> {
    /// Reports explicit size parameters that the types of parameters and result do not mention, and
    /// size-polymorphic constants whose type has an existential size.
    pub(super) fn check_size_params(
        &mut self,
        params: &[TypeParam],
        source: &FunctionSyntax<'a>,
        patterns: &[Pat],
        ret: &RetType,
    ) {
        let ext = &ret.existential_sizes;
        let mut found = FreeVars::of(&self.infer.tables.resolve(&ret.ty));
        for pat in patterns {
            let ty = self.infer.tables.resolve(&pat.ty);
            crate::subst::map_ty(&ty, &mut found);
        }
        if patterns.is_empty() && !ext.is_empty() && params.iter().any(TypeParam::is_size) {
            let message = "A size-polymorphic value binding may not have a type with an existential size";
            self.cx.report(
                Diagnostic::error("existential-size", message)
                    .at(source.name.span, "")
                    .note("each use would recompute the value and its size")
                    .hint("make it a function by adding a parameter"),
            );
        }
        for (param, ident) in params.iter().zip(source.type_params) {
            if let TypeParam::Size(var) = param
                && !found.dims.contains(var)
            {
                let name = self.cx.symbol_text(ident.name.name);
                let message = if patterns.is_empty() {
                    format!("a size-polymorphic value binding: nothing determines the size \"{name}\"")
                } else {
                    format!("Size [{name}] unused: no parameter type mentions it, nor does the result type")
                };
                self.cx.report(
                    Diagnostic::error("unused-size-parameter", message)
                        .at(ident.span, "")
                        .note("a size parameter gets its value from the shapes of arguments")
                        .hint(format!("take \"{name}\" as a parameter of type `i64`")),
                );
            }
        }
    }
}

/// The names of size parameters, which a pattern may not bind again.
pub(super) fn bound_sizes(params: &[ast::TypeParam]) -> Bound {
    let sizes = params.iter().filter(|p| matches!(p.kind, ast::TypeParamKind::Size));
    sizes.map(|p| (p.name.name, p.name.span)).collect()
}
