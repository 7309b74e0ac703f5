//! The core of inference, on types and sizes only.
//!
//! [`InferTables`] hold the variables of the whole program and their solutions. [`Infer`] is the state
//! of one walk over a definition ([`walks`]: the first infers types, the second sizes): the scope
//! depth, and the size equations that could not be decided yet. It creates open types ([`fresh`]),
//! unifies types ([`unify`]), moves them out of scopes ([`scope_exit`]), replaces their sizes
//! ([`size_replacement`], which has the rules for joins), and generalises them ([`generalise`]).
//!
//! It has no access to names and their meaning, the syntax tree, or the definition being checked;
//! spans are only recorded. It reports no errors: failed unification returns a [`Mismatch`], which
//! callers report.

mod fresh;
mod functions;
mod generalise;
mod print;
mod resolve;
mod scope_exit;
mod size_replacement;
mod unify;
mod variables;
mod walks;
mod zonk;

pub(crate) use fresh::{error_node, node};
pub(crate) use functions::{arrow, simple_name};
pub(crate) use generalise::{DefaultedType, sizes_of};
pub(crate) use print::{DistinctNames, show_scalars};
pub(crate) use resolve::{Extent, MAX_DEPTH, MAX_PARTS, ResolveAbstract};
pub(crate) use scope_exit::BoundSizes;
pub(crate) use size_replacement::{has_sizes, replace_dims, replace_vars, sizes_of_values};
pub(crate) use unify::{INNERMOST, Mismatch, Sizes, Unifier, less_lifted};
pub(crate) use variables::{
    Constraint, FreeVars, InferTables, Origin, Scalars, TablesMark, TyState, VarState,
};
pub(crate) use walks::{ErasedTypes, Walk};
pub(crate) use zonk::operator;

use syntax::span::Span;
use unify::Deferred;

/// The inference state of one walk over a definition.
pub(crate) struct Infer<'t> {
    pub(crate) tables: &'t mut InferTables,
    /// The number of scopes that enclose the current expression.
    pub(crate) depth: u32,
    /// Pairs of sizes that must be equal but could not be compared yet, each with its span.
    deferred: Vec<(Deferred, Span)>,
    walk: Walk,
}

impl<'t> Infer<'t> {
    /// The state at the start of a walk.
    pub(crate) const fn new(tables: &'t mut InferTables, walk: Walk) -> Self {
        Self { tables, depth: 0, deferred: Vec::new(), walk }
    }

    /// Runs a unification, which ignores sizes in the first walk. Undecided pairs of sizes are
    /// deferred.
    pub(crate) fn unifying<T>(
        &mut self,
        sizes: Sizes,
        span: Span,
        f: impl FnOnce(&mut Unifier<'_>) -> T,
    ) -> T {
        let sizes = match sizes {
            _ if !self.infers_sizes() => Sizes::Ignore,
            Sizes::Join(since) if self.walk_options().loose_loops => Sizes::LooseJoin(since),
            sizes => sizes,
        };
        let mut unifier = Unifier::new(self.tables, sizes, span);
        let result = f(&mut unifier);
        let deferred = unifier.deferred;
        if !deferred.is_empty() {
            self.deferred.extend(deferred.into_iter().map(|d| (d, span)));
        }
        result
    }

    /// The number of deferred pairs of sizes.
    pub(crate) const fn deferred(&self) -> usize {
        self.deferred.len()
    }

    /// Removes and returns the pairs of sizes deferred since there were `from`.
    pub(crate) fn take_deferred(&mut self, from: usize) -> Vec<(Deferred, Span)> {
        self.deferred.split_off(from)
    }

    /// Drops the pairs of sizes deferred since there were `from`.
    pub(crate) fn forget_deferred(&mut self, from: usize) {
        self.deferred.truncate(from);
    }
}
