//! The rules of moderate and incremental flattening (Henriksen et al., PPoPP 2019, figures 3 and 4)
//! and of regular flattening. Each takes a combinator in a nest and appends the statements that
//! replace it:
//!
//! | rule | module |
//! |---|---|
//! | G0: statements that no rule applies to remain | [`crate::host`] |
//! | G1, G2: a nest without inner parallelism is a segop | [`versions::g2`] |
//! | G3: a map with inner parallelism has three versions | [`versions::g3`] |
//! | G4: a reduction or scan of maps is a map of reductions or scans | [`operator_interchange`] |
//! | chunks of rows, as an alternative to G4 | [`chunks`] |
//! | G5: the views of all iterations are one view of an array | [`array_ops::g5`] |
//! | G6: a nest over statements is a nest over each | [`mod@distribute`] |
//! | statements invariant along a dimension are computed in one iteration of it | [`mod@invariant`] |
//! | G7: a nest over a loop is a loop of nests | [`loops::g7`] |
//! | G8: a nest over a branch is a branch of nests | [`branches::g8`] |
//! | G9: a reduction of a map with inner parallelism has two versions | [`scan_reduce::g9`] |
//! | map-iota, map-replicate, map-copy | [`array_ops`] |
//! | updates in all iterations | [`updates`], [`accumulators`] |
//! | a flat map is tasks whose iterations contain tasks | [`mod@flat_map`] |
//! | sizes that vary across iterations | [`distribute_irregular`], [`segments`], [`mod@segment_rows`] |
//! | lifted functions | [`mod@lift`] |
//! | loops whose trip count varies across iterations of the nest | [`irregular_loops`], [`active`] |

mod accumulators;
mod active;
mod array_ops;
mod branches;
mod chunks;
mod distribute;
mod distribute_irregular;
mod flat_map;
mod invariant;
mod irregular_loops;
mod lift;
mod loops;
mod operator_interchange;
mod par;
mod parallelism;
mod pending;
mod results;
mod scan_reduce;
mod segment_rows;
mod segments;
mod updates;
mod versions;

pub(crate) use distribute::distribute;
pub(crate) use lift::{Lift, Lifted, Signature, lifted};
pub(crate) use updates::{accumulator, copy_consumed};

use crate::context::Ctx;
use crate::manifest::{self, SegopBody, SegopKind};
use crate::nest::Nest;
use crate::position::Position;
use crate::statements::unsupported;
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Aux, Param, Stm};
use ir::{PassError, Segs, Soacs};

/// Appends the statements that replace a combinator in a nest; the pattern has its results for all
/// iterations.
pub(crate) fn combinator(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    soac: Soac,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    match soac {
        Soac::Screma(s) if !s.scan_reduce.operators().all(Operator::is_scalar) => {
            operator_interchange::array_operators(ctx, nest, at, pat, aux, s, out)
        }
        Soac::Screma(s) if s.scan_reduce.is_map() => {
            let Screma { width, inputs, map, .. } = s;
            let inner = nest.with_map(ctx, width, &map.params, &inputs)?;
            versions::g3(ctx, &inner, at, pat, aux, (map.body, map.ret), out)
        }
        Soac::Screma(s) => scan_reduce::scan_reduce(ctx, nest, at, pat, aux, s, out),
        Soac::Hist { width, inputs, map, ops } => {
            if !ops.iter().all(|op| op.op.is_scalar()) {
                let soac = Soac::Hist { width, inputs, map, ops };
                return ctx.sequential(nest, at, pat, aux, soac, out);
            }
            let ops = updates::destinations(ctx, nest, at, ops, &aux, out)?;
            let inner = nest.with_map(ctx, width, &map.params, &inputs)?;
            let inside = versions::inside(at)?;
            let segop_body = SegopBody { body: map.body, ret: map.ret, kind: SegopKind::Hist(ops) };
            manifest::segop(ctx, &inner, inside, segop_body, pat, aux, out)
        }
        Soac::WithAcc { inputs, lambda } => {
            if nest.is_empty() {
                ctx.with_acc(at, pat, aux, inputs, lambda, out)
            } else {
                accumulators::with_acc(ctx, nest, at, pat, aux, (inputs, lambda), out)
            }
        }
        Soac::FlatMap { width, inputs, lambda } if nest.is_empty() => {
            flat_map::flat_map(ctx, at, pat, aux, (width, inputs, lambda), out)
        }
        Soac::FlatMap { .. } => ctx.sequential(nest, at, pat, aux, soac, out),
        Soac::Stream { .. } | Soac::Jvp { .. } | Soac::Vjp { .. } => Err(unsupported(ctx, &aux, &soac)),
    }
}
