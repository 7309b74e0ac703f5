//! Local names that nothing uses, and parameters of modules: warned of, unless they
//! begin with an underscore.
//!
//! A name is known by the place that binds it. A loop body or a parametric module
//! may be checked several times, and its names are the same ones each time.

use crate::checker::Checker;
use rustc_hash::FxHashSet;
use syntax::ast::Ident;
use syntax::diag::Diagnostic;
use syntax::span::Span;
use syntax::symbol::Symbol;

/// The local names of the definition that is being checked.
#[derive(Default)]
pub(crate) struct LocalNames {
    /// With whether the name is bound by `let x[i] = v`.
    bound: Vec<(Ident, bool)>,
    /// Where names that are used are bound.
    used: FxHashSet<Span>,
    /// Names of modules that are used.
    modules: FxHashSet<Symbol>,
}

impl LocalNames {
    /// Takes out the names of modules that are used, while a body is checked again.
    pub(crate) fn modules(&mut self) -> FxHashSet<Symbol> {
        std::mem::take(&mut self.modules)
    }

    /// Puts them back.
    pub(crate) fn set_modules(&mut self, modules: FxHashSet<Symbol>) {
        self.modules = modules;
    }
}

impl Checker<'_> {
    /// Notes that a local name is bound; `update`: by `let x[i] = v`.
    pub(crate) fn note_bound(&mut self, name: &Ident, update: bool) {
        if !self.in_prelude {
            self.locals.bound.push((*name, update));
        }
    }

    /// Notes that the name bound at a place is used.
    pub(crate) fn note_used(&mut self, place: Option<Span>) {
        if let Some(place) = place
            && !self.in_prelude
        {
            self.locals.used.insert(place);
        }
    }

    /// Notes that a module of this name is used.
    pub(crate) fn note_module_used(&mut self, name: Symbol) {
        if !self.in_prelude {
            self.locals.modules.insert(name);
        }
    }

    /// Begins the body of a parametric module; whether a module with the name of
    /// this parameter was used before.
    pub(crate) fn enter_parameter(&mut self, name: Symbol) -> bool {
        self.locals.modules.remove(&name)
    }

    /// Warns of a parameter that the body of a parametric module did not use.
    pub(crate) fn leave_parameter(&mut self, name: &Ident, used_before: bool) {
        if !self.locals.modules.contains(&name.name) {
            self.warn_of_name(name, false);
        }
        if used_before {
            self.locals.modules.insert(name.name);
        }
    }

    /// Begins another definition.
    pub(crate) fn forget_locals(&mut self) {
        self.locals.bound.clear();
        self.locals.used.clear();
    }

    /// Warns of the names of a definition that nothing in it uses.
    pub(crate) fn warn_of_unused(&mut self) {
        let mut bound = std::mem::take(&mut self.locals.bound);
        bound.retain(|(ident, _)| !self.locals.used.contains(&ident.span));
        bound.sort_by_key(|(ident, _)| (ident.span.start, ident.span.end));
        bound.dedup_by_key(|(ident, _)| ident.span);
        for (ident, update) in bound {
            self.warn_of_name(&ident, update);
        }
    }

    fn warn_of_name(&mut self, ident: &Ident, update: bool) {
        let name = self.name(ident.name);
        if name.starts_with('_') {
            return;
        }
        let hint = if update {
            format!("leave it out: the \"{name}\" that this makes is used nowhere")
        } else {
            format!("leave it out, or call it \"_{name}\" if it is meant to be unused")
        };
        self.warn(
            Diagnostic::warning("unused-name", format!("Unused name \"{name}\""))
                .at(ident.span, "")
                .hint(hint),
        );
    }
}
