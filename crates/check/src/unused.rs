//! Local names that nothing uses: warned of, unless they begin with an underscore.
//!
//! A name is known by the place that binds it. A loop body or a parametric module
//! may be checked several times, and its names are the same ones each time.

use crate::checker::Checker;
use rustc_hash::FxHashSet;
use syntax::ast::Ident;
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// The local names of the definition that is being checked.
#[derive(Default)]
pub(crate) struct LocalNames {
    /// With whether the name is bound by `let x[i] = v`.
    bound: Vec<(Ident, bool)>,
    /// Where names that are used are bound.
    used: FxHashSet<Span>,
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
            let name = self.name(ident.name);
            if name.starts_with('_') {
                continue;
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
}
