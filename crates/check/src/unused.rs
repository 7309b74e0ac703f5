//! Detection of unused local names and module parameters, for warnings. Names that begin with an
//! underscore are exempt (in [`crate::context`]).
//!
//! A name is identified by the span that binds it. A loop body or a parametric module may be
//! checked several times, and its names are the same each time.

use rustc_hash::FxHashSet;
use syntax::ast::Ident;
use syntax::span::Span;
use syntax::symbol::Symbol;

/// The local names of a definition.
#[derive(Default)]
pub(crate) struct BindingUses {
    /// The bindings, each with true if it is by `let x[i] = v`.
    bound: Vec<(Ident, bool)>,
    /// The binding spans of used names.
    used: FxHashSet<Span>,
}

impl BindingUses {
    /// Records a local name. `update` is true if it is bound by `let x[i] = v`.
    pub(crate) fn bind(&mut self, name: &Ident, update: bool) {
        self.bound.push((*name, update));
    }

    /// Records a use of the name bound at a span.
    pub(crate) fn use_name(&mut self, binding: Span) {
        self.used.insert(binding);
    }

    /// The unused names, by position and each once.
    pub(crate) fn unused(self) -> Vec<(Ident, bool)> {
        let Self { mut bound, used } = self;
        bound.retain(|(ident, _)| !used.contains(&ident.span));
        bound.sort_by_key(|(ident, _)| (ident.span.start, ident.span.end));
        bound.dedup_by_key(|(ident, _)| ident.span);
        bound
    }
}

/// The names of used modules.
#[derive(Default)]
pub(crate) struct ModuleUses(FxHashSet<Symbol>);

impl ModuleUses {
    /// Records a use of a module.
    pub(crate) fn use_name(&mut self, name: Symbol) {
        self.0.insert(name);
    }

    /// Begins the body of a parametric module; returns true if a module with the name of this
    /// parameter was used before.
    pub(crate) fn enter(&mut self, parameter: Symbol) -> bool {
        self.0.remove(&parameter)
    }

    /// Ends the body of a parametric module; returns true if it used this parameter.
    pub(crate) fn leave(&mut self, parameter: Symbol, used_before: bool) -> bool {
        let used = self.0.contains(&parameter);
        if used_before {
            self.0.insert(parameter);
        }
        used
    }
}
