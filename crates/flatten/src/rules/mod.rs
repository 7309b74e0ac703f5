//! The rules of moderate and incremental flattening (Henriksen et al., PPoPP 2019, figures 3 and 4)
//! and of regular flattening. Each takes a combinator in the scope of a nest and appends the
//! statements that replace it:
//!
//! | rule | module |
//! |---|---|
//! | G0: statements that no rule applies to remain | [`crate::statements`] |
//! | G1, G2: a nest without inner parallelism is a segop | [`map::g2`] |
//! | G3: a map with inner parallelism has three versions | [`map::g3`] |
//! | G4: a reduction or scan of maps is a map of reductions or scans | [`operator_interchange`] |
//! | chunks of rows, as an alternative to G4 | [`chunks`] |
//! | G5: the views of all iterations are one view of an array | [`array_ops::g5`] |
//! | G6: a nest over statements is a nest over each | [`mod@distribute`] |
//! | statements invariant along a dimension are computed in one iteration of it | [`mod@invariant`] |
//! | G7: a nest over a loop is a loop of nests | [`control_flow::g7`] |
//! | G8: a nest over a branch is a branch of nests | [`control_flow::g8`] |
//! | G9: a reduction of a map with inner parallelism has two versions | [`scan_reduce::g9`] |
//! | map-iota, map-replicate, map-copy | [`array_ops`] |
//! | updates in all iterations | [`updates`], [`mod@accumulators`] |
//! | a flat map is tasks whose iterations contain tasks | [`map::flat_map`] |
//! | sizes that vary across iterations | [`distribute_irregular`], [`segments`], [`mod@segment_rows`] |
//! | lifted functions | [`mod@lift`] |
//! | loops whose trip count varies across iterations of the nest | [`irregular_loops`], [`active`] |

mod accumulators;
mod active;
mod array_ops;
mod chunks;
mod control_flow;
mod distribute;
mod distribute_irregular;
mod invariant;
mod irregular_loops;
mod lift;
mod map;
mod operator_interchange;
mod par;
mod parallelism;
mod pending;
mod scan_reduce;
mod segment_rows;
mod segments;
mod updates;
mod versions;

pub use accumulators::accumulators;
pub(crate) use distribute::distribute;
pub(crate) use lift::{Lift, Lifted, Signature, lifted};
pub(crate) use updates::copy_consumed;

use crate::Result;
use crate::context::{Ctx, Let};
use crate::scope::Scope;
use crate::statements::unsupported;
use ir::soac::{Operator, Soac};
use ir::syntax::Attr;

/// Appends the statements that replace a combinator; its pattern has the results for all iterations
/// of the scope's nest. The first rule that applies is taken.
pub(crate) fn combinator(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, soac: Soac) -> Result {
    let scope = scope.of(&to.aux);
    if scope.at.level.is_none() || to.aux.attrs.has(&Attr::SequentialOuter) {
        return ctx.sequential(scope, to, soac);
    }
    let in_nest = !scope.nest.is_empty();
    match soac {
        Soac::Screma(s) if !s.scan_reduce.operators().all(Operator::is_scalar) => {
            operator_interchange::array_operators(ctx, scope, to, s)
        }
        Soac::Screma(s) if s.scan_reduce.is_map() => map::map(ctx, scope, to, s),
        Soac::Screma(s) => scan_reduce::scan_reduce(ctx, scope, to, s),
        Soac::Hist { width, inputs, map, ops } if ops.iter().all(|op| op.op.is_scalar()) => {
            updates::histogram(ctx, scope, to, (width, &inputs, map), ops)
        }
        Soac::WithAcc { inputs, lambda } if in_nest => {
            accumulators::with_acc(ctx, scope, to, (inputs, lambda))
        }
        Soac::WithAcc { inputs, lambda } => ctx.with_acc(scope, to, (inputs, lambda)),
        Soac::FlatMap { width, inputs, lambda } if !in_nest => {
            map::flat_map(ctx, scope, to, (width, &inputs, lambda))
        }
        Soac::Hist { .. } | Soac::FlatMap { .. } => ctx.sequential(scope, to, soac),
        Soac::Stream { .. } | ir::derivative_op!() => Err(unsupported(ctx, &to.aux, &soac)),
    }
}
