//! The abstract types of module types, and the types that implement them.

use crate::env::{AbstractSpec, ModuleExports, NamedType, TypeParam};
use crate::modules::instances::TypeSubst;
use crate::modules::matching::{Matcher, find_path};
use crate::subst::{TypeMapper, map_ty};
use crate::tast::{AbstractTypeId, Ty, TypeArgs};
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::Liftedness;
use syntax::diag::Diagnostic;
use syntax::symbol::Symbol;

impl<'a> Matcher<'_, 'a> {
    /// Finds the type of a module that implements an abstract one, and checks it against the
    /// specification. Adds it to `actual`, and its external view to `seen`; after an error, as an
    /// unknown type.
    pub(super) fn match_abstract_type(
        &mut self,
        module: &ModuleExports<'a>,
        abstract_type: &AbstractSpec,
        opaque: bool,
        actual: &mut TypeSubst,
        seen: &mut TypeSubst,
    ) {
        let unknown = Rc::new(NamedType::plain(Ty::ERROR));
        actual.types.insert(abstract_type.id, Rc::clone(&unknown));
        seen.types.insert(abstract_type.id, unknown);
        let name = Arc::clone(&self.tables.abstracts[abstract_type.id.index()].name);
        let Some(found) = find_path(module, &abstract_type.path) else {
            self.cx.error(
                "module-mismatch",
                self.span,
                format!("the module has no type \"{name}\", which its module type specifies"),
            );
            return;
        };
        if found.params.len() != abstract_type.params.len() {
            self.cx.error(
                "module-mismatch",
                self.span,
                format!(
                    "the type \"{name}\" has {} parameters; its module type specifies {}",
                    found.params.len(),
                    abstract_type.params.len()
                ),
            );
            return;
        }
        if crate::infer::less_lifted(found.lifted, abstract_type.lifted) != found.lifted {
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
                        kind(abstract_type.lifted)
                    ),
                )
                .at(self.span, "")
                .hint("declare both with the same keyword: `type`, `type~` or `type^`"),
            );
            return;
        }
        let carried = crate::carried_sizes::CarriedSizes::of(&self.tables.finish_ty(&found.ty));
        for (param, specified) in found.params.iter().zip(&abstract_type.params) {
            if let (TypeParam::Size(var), TypeParam::Size(_)) = (param, specified)
                && carried.mentions_only(*var)
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
                    .note("the size parameters of an abstract type must be readable from each of its values")
                    .hint(format!("add a component of type \"[{size}]()\", which takes no memory")),
                );
            }
        }
        if abstract_type.lifted == Liftedness::Unlifted && !found.ext.is_empty() {
            self.cx.report(
                Diagnostic::error(
                    "module-mismatch",
                    format!("the type \"{name}\" has sizes that are not parameters"),
                )
                .at(self.span, "")
                .hint("the module type must declare it with `type~`"),
            );
        }
        let what = format!("the type \"{name}\" cannot implement the abstract type of this name");
        let span = self.span;
        self.checker().require_lifted(&found.ty, abstract_type.lifted, span, &what);
        actual.types.insert(abstract_type.id, Rc::clone(&found));
        let shown = if opaque {
            let repr = Some(Arc::new(NamedType::clone(&found)));
            let (_, abbr) =
                self.tables.new_abstract(name, abstract_type.params.clone(), abstract_type.lifted, repr);
            Rc::new(abbr)
        } else {
            found
        };
        seen.types.insert(abstract_type.id, shown);
    }

    /// Reports a value specification, not of a function, whose type is implemented by a type with
    /// existential sizes.
    pub(super) fn check_existential_specs(&mut self, symbol: Symbol, spec: &Ty, actual: &TypeSubst) {
        struct Hidden<'s>(&'s TypeSubst, bool);
        impl TypeMapper for Hidden<'_> {
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
            let message = format!(
                "the type of \"{name}\" mentions an abstract type whose definition has an existential size"
            );
            self.cx.report(
                Diagnostic::error("module-mismatch", message).at(self.span, "").hint(
                    "specify a function that returns the value, or make the size a parameter of the type",
                ),
            );
        }
    }
}
