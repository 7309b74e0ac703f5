//! Flattening: nested combinators to segmented operations (segops) at hardware levels.
//!
//! Before: a program of second-order array combinators (level `soacs`). After: a program of segops
//! (level `segs`) for the levels of a machine ([`target::levels`]). Five passes:
//!
//! 1. [`accumulators`]: an accumulator whose operator works on arrays gets more dimensions, or
//!    becomes an array that is updated in place;
//! 2. [`flatten`]: combinators become segops, in all versions of moderate, incremental and regular
//!    flattening (`rules`);
//! 3. [`prune_versions`]: removes the versions that cannot win;
//! 4. [`dimensions`]: where a level may contain itself, index spaces of several dimensions become
//!    segops in segops;
//! 5. [`grain_sizes`]: the grain size of each segop becomes a tuning parameter.
//!
//! A rule takes a combinator in a `scope`, whose main part is the mapnest context (`nest`), and
//! appends the statements that replace it. A nest is made `manifest` as a segop. Sequential code
//! inside a segop is a loop ([`ir::sequential`]), or a segop shared by the lanes of one worker
//! (`lanes`). Functions have a version for each position that they are called from (`functions`).
//! `decomp` fixes how each segop is partitioned into chunks.
//!
//! Needs: a verified program. Guarantees: no combinator is left; every segop is at a level that
//! the machine allows there; operators of reductions and scans work on scalars.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod context;
mod decomp;
mod dimensions;
mod empty_checks;
mod functions;
mod grain_sizes;
mod guards;
mod lanes;
mod manifest;
mod names;
mod nest;
mod prune;
mod reuse;
mod rules;
mod scope;
mod statements;

pub use dimensions::dimensions;
pub use functions::flatten;
pub use grain_sizes::grain_sizes;
pub use prune::prune_versions;
pub use rules::accumulators;

use ir::syntax::{Lambda, Param, Stm};
use ir::types::Dim;
use ir::{Name, PassError, Segs, Soacs};

type Result<T = ()> = std::result::Result<T, PassError>;

/// A pattern, or parameters.
type Pat = Vec<Param<Soacs>>;

type Stms<L = Segs> = Vec<Stm<L>>;

/// The width, inputs and function of a combinator.
type Mapped<'a> = (Dim, &'a [Name], Lambda<Soacs>);

/// The error for a broken invariant.
fn bug(what: &'static str) -> impl Fn() -> PassError + Copy {
    move || PassError::bug(what)
}
