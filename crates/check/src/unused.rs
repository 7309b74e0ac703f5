//! Local names that nothing uses, and parameters of modules: warned of, unless they
//! begin with an underscore.
//!
//! A name is known by the place that binds it. A loop body or a parametric module
//! may be checked several times, and its names are the same ones each time.

use rustc_hash::FxHashSet;
use syntax::ast::Ident;
use syntax::span::Span;
use syntax::symbol::Symbol;

/// The local names of a definition.
#[derive(Default)]
pub(crate) struct LocalNames {
    /// With whether the name is bound by `let x[i] = v`.
    bound: Vec<(Ident, bool)>,
    /// Where names that are used are bound.
    used: FxHashSet<Span>,
}

impl LocalNames {
    /// Notes that a local name is bound; `update`: by `let x[i] = v`.
    pub(crate) fn bind(&mut self, name: &Ident, update: bool) {
        self.bound.push((*name, update));
    }

    /// Notes that the name bound at a place is used.
    pub(crate) fn use_name(&mut self, place: Span) {
        self.used.insert(place);
    }

    /// The names that nothing uses, in order and each once.
    pub(crate) fn unused(self) -> Vec<(Ident, bool)> {
        let Self { mut bound, used } = self;
        bound.retain(|(ident, _)| !used.contains(&ident.span));
        bound.sort_by_key(|(ident, _)| (ident.span.start, ident.span.end));
        bound.dedup_by_key(|(ident, _)| ident.span);
        bound
    }
}

/// Names of modules that are used.
#[derive(Default)]
pub(crate) struct UsedModules(FxHashSet<Symbol>);

impl UsedModules {
    /// Notes that a module of this name is used.
    pub(crate) fn use_name(&mut self, name: Symbol) {
        self.0.insert(name);
    }

    /// Begins the body of a parametric module; whether a module with the name of
    /// this parameter was used before.
    pub(crate) fn enter(&mut self, parameter: Symbol) -> bool {
        self.0.remove(&parameter)
    }

    /// Ends the body of a parametric module; whether it used this parameter.
    pub(crate) fn leave(&mut self, parameter: Symbol, used_before: bool) -> bool {
        let used = self.0.contains(&parameter);
        if used_before {
            self.0.insert(parameter);
        }
        used
    }
}
