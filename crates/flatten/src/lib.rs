//! Flattening: nested combinators to segmented operations at hardware levels.
//!
//! Before: a program of second-order array combinators (level `soacs`), after:
//! a program of segops (level `segs`). The outermost combinator of each nest
//! becomes a segop at level 1 (tasks over all workers); combinators inside its
//! body become sequential loops ([`sequential`]), or segops at level 0 where a
//! worker's lanes may share a reduction ([`level0`]). A function that is called from
//! inside a segop gets a sequential version of its own, named `f.seq`.
//!
//! What a segop cannot express directly is rewritten first: a reduction whose
//! elements are arrays is interchanged with the map in its operator (rule G4 of
//! incremental flattening) or becomes a loop over parallel operators; a screma
//! that both scans and reduces is split. Accumulators with an operator are gone
//! before ([`accs`], a pass of its own). [`decomp`] fixes how each segop falls
//! apart into chunks.
//!
//! Needs: a verified program. Guarantees: no combinator is left; every segop
//! has one dimension; operators of reductions and scans work on scalars.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod accs;
mod context;
mod decomp;
mod dimensions;
mod functions;
mod host;
mod lanes;
mod manifest;
mod nest;
mod position;
mod prune;
mod rules;
mod sequential;

pub use accs::accumulators;
pub use dimensions::dimensions;
pub use functions::flatten;
pub use prune::prune_versions;
