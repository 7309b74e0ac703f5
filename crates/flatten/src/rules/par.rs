//! How much parallelism there is: `Par(Σ)` and `Par(e)` of the paper, as the sizes that
//! versions are chosen by.

use crate::context::Ctx;
use crate::nest::Nest;
use ir::seg::{Seg, SegKind, SegOp, outermost};
use ir::syntax::{Atom, Aux, BasicOp, Body, Stm};
use ir::types::Dim;
use ir::walk::{binders, with_stack};
use ir::{Builder, Name, Segs};
use prim::{BinOp, PrimType};
use rustc_hash::FxHashSet;

/// `Par(Σ)`: the product of the widths, of the nests around too where their points are
/// tasks that contain those of this one.
pub(super) fn of_nest(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Atom {
    let beside = ctx.beside;
    let mut builder = ctx.builder(aux);
    let mut product = product(&mut builder, nest.widths());
    if let Some(beside) = beside {
        product = times(&mut builder, beside, product);
    }
    out.extend(builder.take_stms());
    product
}

/// `Par(e)` for a segop over a nest whose body has segops at the level: the most points
/// that go on at once, as far as their number is known before. `None` if none is.
pub(super) fn of_body(
    ctx: &mut Ctx<'_>,
    (nest, body, level): (&Nest<'_>, &Body<Segs>, u8),
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Option<Atom> {
    let own: FxHashSet<Name> = binders(body).into_iter().collect();
    let known = |dim: &Dim| !matches!(dim, Dim::Var(name) if own.contains(name));
    let mut all = Vec::new();
    spaces(body, level, &[], &mut all);
    let mut seen: FxHashSet<Vec<Dim>> = FxHashSet::default();
    all.retain(|space| space.iter().all(known) && seen.insert(space.clone()));
    let mut builder = ctx.builder(aux);
    let points = all.into_iter();
    let points = points.map(|space| product(&mut builder, space.into_iter()));
    let points: Vec<Atom> = points.collect();
    let most = points.into_iter().reduce(|most, points| {
        let max = BasicOp::Binary(BinOp::SMax, PrimType::I64, most, points);
        builder.let_basic("par", max).into()
    })?;
    let outer = product(&mut builder, nest.widths());
    let both = times(&mut builder, outer, most);
    out.extend(builder.take_stms());
    Some(both)
}

/// The spaces of segops at a level in a body, each with those around it that are at the
/// level, too.
fn spaces(body: &Body<Segs>, level: u8, around: &[Dim], found: &mut Vec<Vec<Dim>>) {
    with_stack(|| {
        for seg in segs(body, level) {
            let own = seg.space.dims.iter().map(|(_, size)| *size);
            let space: Vec<Dim> = around.iter().copied().chain(own).collect();
            spaces(&seg.body, level, &space, found);
            found.push(space);
        }
    });
}

/// What a point of the dearest segop at a level costs, in sixteenths of a nanosecond.
pub(super) fn cost(body: &Body<Segs>, level: u8) -> i64 {
    with_stack(|| {
        let costs = segs(body, level).map(|seg| match cost(&seg.body, level) {
            0 => seg.decomp.cost,
            inner => inner,
        });
        costs.max().unwrap_or(0)
    })
}

/// Whether a body has segops at a level.
pub(super) fn has(body: &Body<Segs>, level: u8) -> bool {
    segs(body, level).next().is_some()
}

/// Whether segops at a level in a body scan at that level.
pub(super) fn scans(body: &Body<Segs>, level: u8) -> bool {
    with_stack(|| {
        segs(body, level).any(|seg| {
            let scans = matches!(&seg.kind, SegKind::Folds(folds) if !folds.scans.is_empty());
            scans || self::scans(&seg.body, level)
        })
    })
}

/// Whether a size of a segop at a level in a body is known only in there.
pub(super) fn is_irregular(body: &Body<Segs>, level: u8) -> bool {
    let own: FxHashSet<Name> = binders(body).into_iter().collect();
    segs(body, level).any(|seg| {
        let mut dims = seg.space.dims.iter();
        dims.any(|(_, dim)| matches!(dim, Dim::Var(name) if own.contains(name)))
    })
}

/// The outermost segops of a body that are at a level.
fn segs(body: &Body<Segs>, level: u8) -> impl Iterator<Item = &Seg<Segs>> {
    let all = outermost(body).into_iter();
    all.filter_map(move |op| match op {
        SegOp::Seg(seg) if seg.level == level => Some(seg),
        SegOp::Seg(_) | SegOp::WithAcc { .. } => None,
    })
}

fn product(builder: &mut Builder<'_, Segs>, dims: impl Iterator<Item = Dim>) -> Atom {
    let sizes: Vec<Atom> = dims.filter_map(Dim::atom).collect();
    let constant: i64 = (sizes.iter())
        .filter_map(|size| size.constant()?.as_i64())
        .fold(1, i64::saturating_mul);
    let sizes = sizes.into_iter().filter(|size| size.var().is_some());
    sizes.fold(Atom::i64(constant), |x, y| times(builder, x, y))
}

fn times(builder: &mut Builder<'_, Segs>, x: Atom, y: Atom) -> Atom {
    match (x, y) {
        (one, size) | (size, one) if one == Atom::i64(1) => size,
        _ => {
            let product = BasicOp::Binary(BinOp::Mul, PrimType::I64, x, y);
            builder.let_basic("par", product).into()
        }
    }
}
