//! The core of inference: what works on types and sizes, and on nothing else.
//!
//! [`Tables`] hold the variables of the whole program and what is known of them.
//! [`Infer`] infers on them for one walk over a definition ([`shapes`]: the first infers
//! types, the second sizes): it knows how deep in scopes that is, and which sizes it could
//! not compare yet. It makes open types ([`fresh`]), makes types equal ([`unify`]), brings
//! them out of scopes ([`leave`]), gives them other sizes ([`resize`]: the rules for joins
//! are there), and generalises them ([`generalise`]).
//!
//! Never known here: names and what they mean, the syntax tree, places in files other
//! than to note them, errors (a type that does not fit is a [`Mismatch`], which others
//! put into words), and whose definition it is.

mod fresh;
mod functions;
mod generalise;
mod leave;
mod print;
mod resize;
mod resolve;
mod shapes;
mod tables;
mod unify;
mod zonk;

pub(crate) use fresh::node;
pub(crate) use functions::{arrow, simple_name};
pub(crate) use generalise::{Undetermined, sizes_of};
pub(crate) use leave::Known;
pub(crate) use print::{Labels, show_scalars};
pub(crate) use resize::{has_sizes, replace_dims, replace_vars, sizes_of_values};
pub(crate) use resolve::{Extent, MAX_DEPTH, MAX_PARTS, Reveal};
pub(crate) use shapes::{Shapes, Walk};
pub(crate) use tables::{Constraint, Mentions, Origin, Scalars, Tables, TablesMark, TyState, VarState};
pub(crate) use unify::{INNERMOST, Mismatch, Sizes, Unifier, lower};
pub(crate) use zonk::operator;

use syntax::span::Span;
use unify::Deferred;

/// The inference of one definition.
pub(crate) struct Infer<'t> {
    pub(crate) tables: &'t mut Tables,
    /// How many scopes enclose what is being inferred.
    pub(crate) depth: u32,
    /// Sizes that must be equal and could not be compared yet, and for what place.
    deferred: Vec<(Deferred, Span)>,
    walk: Walk,
}

impl<'t> Infer<'t> {
    /// The beginning of a walk over a definition.
    pub(crate) const fn new(tables: &'t mut Tables, walk: Walk) -> Self {
        Self { tables, depth: 0, deferred: Vec::new(), walk }
    }

    /// Runs a unification, which ignores sizes in the first walk; sizes that it could not
    /// decide are kept for later.
    pub(crate) fn unifying<T>(
        &mut self,
        sizes: Sizes,
        span: Span,
        f: impl FnOnce(&mut Unifier<'_>) -> T,
    ) -> T {
        let sizes = match sizes {
            _ if !self.is_sizing() => Sizes::Ignore,
            Sizes::Join(since) if self.manner().loose_loops => Sizes::LooseJoin(since),
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

    /// How many pairs of sizes could not be compared so far.
    pub(crate) const fn deferred(&self) -> usize {
        self.deferred.len()
    }

    /// Takes out the pairs of sizes that could not be compared since there were `from`.
    pub(crate) fn take_deferred(&mut self, from: usize) -> Vec<(Deferred, Span)> {
        self.deferred.split_off(from)
    }

    /// Forgets the pairs of sizes that could not be compared since there were `from`.
    pub(crate) fn forget_deferred(&mut self, from: usize) {
        self.deferred.truncate(from);
    }
}
