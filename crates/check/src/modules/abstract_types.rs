//! The abstract types of module types, and the types that implement them.

use crate::env::{AbstractSpec, ModuleExports, NamedType, TypeParam};
use crate::modules::instances::TypeSubst;
use crate::modules::matching::{Matcher, find_path};
use crate::subst::{TypeMapper, map_ty};
use crate::tast::{AbstractTypeId, Dim, Ty, TyVarId, TypeArgs, VarId};
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::Liftedness;
use syntax::diag::Diagnostic;
use syntax::symbol::Symbol;

impl<'a> Matcher<'_, 'a> {
    /// Finds the type of a module that implements an abstract one, and checks it against the
    /// specification. Adds it to `actual`, and its external view to `seen`.
    pub(super) fn match_abstract_type(
        &mut self,
        module: &ModuleExports<'a>,
        hole: &AbstractSpec,
        opaque: bool,
        actual: &mut TypeSubst,
        seen: &mut TypeSubst,
    ) {
        let name = Arc::clone(&self.tables.abstracts[hole.id.0 as usize].name);
        let Some(found) = find_path(module, &hole.path) else {
            self.cx.error(
                "module-mismatch",
                self.span,
                format!("the module has no type \"{name}\", which its module type specifies"),
            );
            return;
        };
        if found.params.len() != hole.params.len() {
            self.cx.error(
                "module-mismatch",
                self.span,
                format!(
                    "the type \"{name}\" has {} parameters; its module type specifies {}",
                    found.params.len(),
                    hole.params.len()
                ),
            );
            return;
        }
        if crate::infer::less_lifted(found.lifted, hole.lifted) != found.lifted {
            let kind = |lifted| match lifted {
                Liftedness::Unlifted => "non-lifted",
                Liftedness::SizeLifted => "size-lifted",
                Liftedness::Lifted => "lifted",
            };
            self.cx.report(
                Diagnostic::error(
                    "module-mismatch",
                    format!(
                        "the type \"{name}\" is {}, but the module type requires a {} type",
                        kind(found.lifted),
                        kind(hole.lifted)
                    ),
                )
                .at(self.span, "")
                .hint("declare both with the same of `type`, `type~` and `type^`"),
            );
            return;
        }
        let witness = crate::carried_sizes::CarriedSizes::of(&self.tables.finish_ty(&found.ty));
        for (param, own) in found.params.iter().zip(&hole.params) {
            if let (TypeParam::Size(var), TypeParam::Size(_)) = (param, own)
                && witness.mentions_only(*var)
            {
                let size = Arc::clone(&self.tables.var(*var).name);
                self.cx.report(
                    Diagnostic::error(
                        "size-not-carried",
                        format!(
                            "the type \"{name}\" cannot be abstract: \"{size}\" is not used \
                             constructively in its definition, as the size of an array"
                        ),
                    )
                    .at(self.span, "")
                    .note(
                        "whoever gets a value of an abstract type must be able to read its size \
                         parameters off the value",
                    )
                    .hint(format!("add a component of type \"[{size}]()\", which takes no memory")),
                );
            }
        }
        if hole.lifted == Liftedness::Unlifted && !found.ext.is_empty() {
            self.cx.report(
                Diagnostic::error(
                    "module-mismatch",
                    format!("the type \"{name}\" has sizes that are not parameters"),
                )
                .at(self.span, "")
                .hint("the module type must declare it with `type~`"),
            );
        }
        let what = format!("the type \"{name}\" cannot stand for the abstract type of this name");
        let span = self.span;
        self.definer().require_lifted(&found.ty, hole.lifted, span, &what);
        actual.types.insert(hole.id, Rc::clone(&found));
        let shown = if opaque {
            let repr = Some(Arc::new(NamedType::clone(&found)));
            let (_, abbr) = self.tables.new_abstract(name, hole.params.clone(), hole.lifted, repr);
            Rc::new(abbr)
        } else {
            found
        };
        seen.types.insert(hole.id, shown);
    }

    /// Reports a value specification, not of a function, whose type is implemented by a type with
    /// existential sizes.
    pub(super) fn check_existential_specs(&mut self, symbol: Symbol, spec: &Ty, actual: &TypeSubst) {
        struct Hidden<'s>(&'s TypeSubst, bool);
        impl TypeMapper for Hidden<'_> {
            fn ty_var(&mut self, _: TyVarId) -> Option<Ty> {
                None
            }
            fn dim_var(&mut self, _: VarId) -> Option<Dim> {
                None
            }
            fn abstract_ty(&mut self, id: AbstractTypeId, _: &TypeArgs) -> Option<Ty> {
                let definition = self.0.types.get(&id);
                self.1 |= definition.is_some_and(|abbr| !abbr.ext.is_empty());
                None
            }
        }
        if matches!(spec, Ty::Arrow(_)) {
            return;
        }
        let mut hidden = Hidden(actual, false);
        map_ty(spec, &mut hidden);
        if hidden.1 {
            let name = self.cx.symbol_text(symbol);
            let message =
                format!("the value \"{name}\" is specified at a type whose definition has a size of its own");
            self.cx.report(
                Diagnostic::error("module-mismatch", message)
                    .at(self.span, "")
                    .hint("specify a function that gives the value, or make the size a parameter"),
            );
        }
    }
}
