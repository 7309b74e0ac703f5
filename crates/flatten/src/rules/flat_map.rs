//! Flat maps, whose iterations return arrays of varying sizes.
//!
//! ```text
//! flatmap f xs   =>   segflatmap (x in xs) f x     parallelism in f at the level below
//! ```
//!
//! Where a level may contain itself, iterations are tasks in tasks: it is not known before which of
//! them have much work, and recursive functions contain further flat maps.

use super::versions;
use crate::context::Ctx;
use crate::manifest::{self, SegopBody, SegopKind};
use crate::nest::Nest;
use crate::position::Position;
use ir::name::Name;
use ir::syntax::{Attr, Aux, Lambda, Param, Stm};
use ir::types::Dim;
use ir::{PassError, Segs, Soacs};

/// Appends the segop of a flat map.
pub(super) fn flat_map(
    ctx: &mut Ctx<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    (width, inputs, lambda): (Dim, Vec<Name>, Lambda<Soacs>),
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let plain = aux.attrs.has(&Attr::SequentialInner);
    let below = at.level.filter(|_| !plain && versions::level_nests(ctx, at));
    let inside = match below.and_then(|level| Position::inside(ctx.stack, level)) {
        Some(below) => below,
        None => versions::inside(at)?,
    };
    let Lambda { params, body, ret } = lambda;
    let nest = Nest::default();
    let nest = nest.with_map(ctx, width, &params, &inputs)?;
    let segop_body = SegopBody { body, ret, kind: SegopKind::FlatMap };
    manifest::segop(ctx, &nest, inside, segop_body, pat, aux, out)
}
