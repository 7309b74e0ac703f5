//! The degree of parallelism: `Par(Σ)` and `Par(e)` of the paper, as the sizes that versions are
//! chosen by.

use crate::context::Ctx;
use crate::scope::Scope;
use ir::seg::{Seg, SegKind, SegOp, outermost_segops};
use ir::syntax::{Atom, BasicOp, Body};
use ir::types::Dim;
use ir::walk::{binders, with_stack};
use ir::{Builder, Name, Prov, Segs};
use prim::{BinOp, PrimType};
use rustc_hash::FxHashSet;
use target::chunks::MIN_COLUMNS;
use target::levels::LevelId;

/// `Par(Σ)`: the product of the widths, including those of the enclosing nests where their tasks
/// contain the tasks of this one.
pub(super) fn of_nest(ctx: &mut Ctx<'_>, scope: Scope<'_>) -> Atom {
    ctx.build(scope.prov, |b| {
        let product = product(b, scope.nest.widths());
        scope.outer_parallelism.map_or(product, |enclosing| times(b, enclosing, product))
    })
}

/// `Par(Σ)`, or the number of squares of rows and columns that tasks may divide, if that is greater;
/// `columns` is the number of columns, if they may be divided.
pub(super) fn of_blocks(ctx: &mut Ctx<'_>, scope: Scope<'_>, columns: Option<Dim>) -> Atom {
    let rows = of_nest(ctx, scope);
    let Some(columns) = columns.and_then(Dim::atom) else {
        return rows;
    };
    ctx.build(scope.prov, |b| {
        let side = Atom::i64(MIN_COLUMNS);
        let [tall, wide] = [rows, columns].map(|size| apply(b, BinOp::SQuot, size, side));
        let squares = times(b, tall, wide);
        apply(b, BinOp::SMax, rows, squares)
    })
}

/// `Par(e)` of a middle version.
pub(super) struct Middle {
    /// The degree of parallelism.
    pub(super) all: Atom,
    /// On a device, the threads of the block of each iteration.
    pub(super) threads: Option<Threads>,
}

/// Threads of a block.
#[derive(Clone, Copy)]
pub(super) struct Threads {
    block: LevelId,
    /// The number of threads that have work.
    with_work: Atom,
}

/// `Par(e)` for a segop over a nest whose body has segops at the level: the largest number of
/// parallel iterations, among the spaces whose sizes are known before. `None` if there is none.
///
/// Where each iteration of the nest is a thread block of a device, threads with work are counted:
/// in each block the mean number of iterations of its segops, but at most the number that is enough
/// for a block.
pub(super) fn of_body(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    body: &Body<Segs>,
    level: LevelId,
) -> Option<Middle> {
    let own: FxHashSet<Name> = binders(body).into_iter().collect();
    let known = |dim: &Dim| !matches!(dim, Dim::Var(name) if own.contains(name));
    let mut all = Vec::new();
    spaces(body, level, &[], &mut all);
    let mut seen: FxHashSet<Vec<Dim>> = FxHashSet::default();
    all.retain(|space| space.iter().all(known) && seen.insert(space.clone()));
    let block = ctx.stack.has_device().then_some(level);
    ctx.build(scope.prov, |b| {
        let sizes: Vec<Atom> = all.into_iter().map(|space| product(b, space.into_iter())).collect();
        let outer = product(b, scope.nest.widths());
        let inner = match block {
            Some(block) => threads(b, block, outer, sizes)?,
            None => combine_sizes(b, BinOp::SMax, sizes)?,
        };
        let threads = block.map(|block| Threads { block, with_work: inner });
        Some(Middle { all: times(b, outer, inner), threads })
    })
}

/// `Par(Σ)` where each iteration could be a block of such threads: an iteration whose block would
/// be half empty counts twice, and so on.
pub(super) fn weighted(ctx: &mut Ctx<'_>, (iterations, threads): (Atom, Threads), prov: Prov) -> Atom {
    let Threads { block, with_work } = threads;
    ctx.build(prov, |b| {
        let some = apply(b, BinOp::SMax, with_work, Atom::i64(block.width));
        let weight = apply(b, BinOp::SQuot, Atom::i64(block.threshold), some);
        times(b, iterations, weight)
    })
}

/// The number of threads of a block with work, if its segops have these numbers of iterations and
/// there are `outer` blocks. `None` if there are no segops. It is rounded down to a multiple of a
/// group: the more blocks there are, the larger the group (up to half a block), as blocks have to
/// be fuller to pay where there is enough parallelism without them.
fn threads(builder: &mut Builder<'_, Segs>, block: LevelId, outer: Atom, sizes: Vec<Atom>) -> Option<Atom> {
    let segops = sizes.len() as i64;
    let sum = combine_sizes(builder, BinOp::Add, sizes)?;
    let mean = if segops == 1 { sum } else { apply(builder, BinOp::SQuot, sum, Atom::i64(segops)) };
    let most = apply(builder, BinOp::SMin, mean, Atom::i64(block.threshold));
    let share = apply(builder, BinOp::SQuot, outer, Atom::i64(block.threshold));
    let least = apply(builder, BinOp::SMax, share, Atom::i64(block.width));
    let group = apply(builder, BinOp::SMin, least, Atom::i64(block.threshold / 2));
    let groups = apply(builder, BinOp::SQuot, most, group);
    Some(times(builder, groups, group))
}

fn combine_sizes(builder: &mut Builder<'_, Segs>, op: BinOp, sizes: Vec<Atom>) -> Option<Atom> {
    sizes.into_iter().reduce(|so_far, size| apply(builder, op, so_far, size))
}

fn apply(builder: &mut Builder<'_, Segs>, op: BinOp, x: Atom, y: Atom) -> Atom {
    let op = BasicOp::binary(op, PrimType::I64, x, y);
    builder.let_basic("par", op).into()
}

/// The index spaces of a body's segops at a level, with the dimensions of those around them.
fn spaces(body: &Body<Segs>, level: LevelId, around: &[Dim], found: &mut Vec<Vec<Dim>>) {
    with_stack(|| {
        for seg in segs(body, level) {
            let own = seg.space.dims.iter().map(|(_, size)| *size);
            let space: Vec<Dim> = around.iter().copied().chain(own).collect();
            spaces(&seg.body, level, &space, found);
            found.push(space);
        }
    });
}

/// The cost of an iteration of the most expensive segop at a level, in 1/16 ns; 0 if there is none.
pub(super) fn cost(body: &Body<Segs>, level: LevelId) -> i64 {
    with_stack(|| {
        let costs = segs(body, level).map(|seg| match cost(&seg.body, level) {
            0 => seg.decomp.cost,
            inner => inner,
        });
        costs.max().unwrap_or(0)
    })
}

/// Returns true if a body has segops at a level.
pub(super) fn has(body: &Body<Segs>, level: LevelId) -> bool {
    segs(body, level).next().is_some()
}

/// Returns true if segops at a level in a body scan at that level.
pub(super) fn scans(body: &Body<Segs>, level: LevelId) -> bool {
    with_stack(|| {
        segs(body, level).any(|seg| {
            let scans =
                matches!(&seg.kind, SegKind::ScanReduce(scan_reduce) if !scan_reduce.scans.is_empty());
            scans || self::scans(&seg.body, level)
        })
    })
}

/// Returns true if a segop at a level in a body has a size that is bound in the body.
pub(super) fn is_irregular(body: &Body<Segs>, level: LevelId) -> bool {
    let own: FxHashSet<Name> = binders(body).into_iter().collect();
    segs(body, level)
        .any(|seg| seg.space.dims.iter().any(|(_, dim)| matches!(dim, Dim::Var(name) if own.contains(name))))
}

/// The outermost segops of a body that are at a level.
fn segs(body: &Body<Segs>, level: LevelId) -> impl Iterator<Item = &Seg<Segs>> {
    let all = outermost_segops(body).into_iter();
    all.filter_map(move |op| match op {
        SegOp::Seg(seg) if seg.level == level => Some(seg),
        SegOp::Seg(_) | SegOp::WithAcc { .. } => None,
    })
}

fn product(builder: &mut Builder<'_, Segs>, dims: impl Iterator<Item = Dim>) -> Atom {
    let sizes: Vec<Atom> = dims.filter_map(Dim::atom).collect();
    let constant: i64 =
        (sizes.iter()).filter_map(|size| size.constant()?.as_i64()).fold(1, i64::saturating_mul);
    let sizes = sizes.into_iter().filter(|size| size.var().is_some());
    sizes.fold(Atom::i64(constant), |x, y| times(builder, x, y))
}

fn times(builder: &mut Builder<'_, Segs>, x: Atom, y: Atom) -> Atom {
    match (x, y) {
        (one, size) | (size, one) if one == Atom::i64(1) => size,
        _ => apply(builder, BinOp::Mul, x, y),
    }
}
