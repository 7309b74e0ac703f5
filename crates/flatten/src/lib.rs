//! Flattening: nested combinators to segmented operations at hardware levels.
//!
//! Before: a program of second-order array combinators (level `soacs`), after:
//! a program of segops (level `segs`), for the levels of a machine
//! ([`target::levels`]). Five passes:
//!
//! 1. [`accumulators`]: those whose operator works on arrays get more dimensions, or
//!    become arrays that are updated in place;
//! 2. [`flatten`]: combinators become segops, in all versions that the rules of
//!    moderate, incremental and regular flattening give (`rules`);
//! 3. [`prune_versions`]: versions go that cannot win;
//! 4. [`dimensions`]: where a level may contain itself, spaces of several dimensions
//!    become segops in segops;
//! 5. [`grains`]: how many points a chunk has at least becomes a parameter.
//!
//! A rule takes a combinator and the `nest` that it stands in, and gives what stands
//! for it. A nest is made `manifest` as a segop. What runs in order inside of one is a
//! loop (`sequential`, `growing`), or shared by the lanes of one worker (`lanes`). Functions have
//! a version for each `position` that they are called from (`functions`). `decomp`
//! fixes how each segop falls apart into chunks.
//!
//! Needs: a verified program. Guarantees: no combinator is left; every segop stands at a
//! level where the machine allows it; operators of reductions and scans work on scalars.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod accs;
mod context;
mod decomp;
mod dimensions;
mod empty;
mod functions;
mod grains;
mod growing;
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
pub use grains::grains;
pub use prune::prune_versions;
