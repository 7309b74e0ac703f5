//! How much parallelism there is: `Par(Σ)` and `Par(e)` of the paper, as the sizes that
//! versions are chosen by.

use crate::context::Ctx;
use crate::nest::Nest;
use ir::seg::{Seg, SegOp};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Stm};
use ir::types::{Dim, Type};
use ir::walk::{binders, sub_bodies, with_stack};
use ir::{Name, Segs};
use prim::{BinOp, PrimType};
use rustc_hash::FxHashSet;

/// `Par(Σ)`: the product of the widths.
pub(super) fn of_nest(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Atom {
    product(ctx, nest.widths(), aux, out)
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
    let mut all: Vec<Vec<Dim>> = Vec::new();
    spaces(body, level, &[], &mut all);
    all.retain(|space| space.iter().all(known));
    let mut spaces: Vec<Vec<Dim>> = Vec::new();
    for space in all {
        if !spaces.contains(&space) {
            spaces.push(space);
        }
    }
    let mut most: Option<Atom> = None;
    for space in spaces {
        let points = product(ctx, space.into_iter(), aux, out);
        most = Some(match most {
            None => points,
            Some(most) => binary(ctx, BinOp::SMax, most, points, aux, out),
        });
    }
    let outer = of_nest(ctx, nest, aux, out);
    most.map(|inner| binary(ctx, BinOp::Mul, outer, inner, aux, out))
}

/// The spaces of segops at a level in a body, each with those around it that are at the
/// level, too.
fn spaces(body: &Body<Segs>, level: u8, around: &[Dim], found: &mut Vec<Vec<Dim>>) {
    each_seg(body, level, &mut |seg| {
        let own = seg.space.dims.iter().map(|(_, size)| *size);
        let space: Vec<Dim> = around.iter().copied().chain(own).collect();
        spaces(&seg.body, level, &space, found);
        found.push(space);
    });
}

/// What a point of the dearest segop at a level costs, in sixteenths of a nanosecond.
pub(super) fn cost(body: &Body<Segs>, level: u8) -> i64 {
    let mut most = 0;
    each_seg(body, level, &mut |seg| {
        let inner = cost(&seg.body, level);
        most = most.max(if inner > 0 { inner } else { seg.decomp.cost });
    });
    most
}

/// Whether a body has segops at a level.
pub(super) fn has(body: &Body<Segs>, level: u8) -> bool {
    let mut found = false;
    each_seg(body, level, &mut |_| found = true);
    found
}

/// Whether a size of a segop at a level in a body is known only in there.
pub(super) fn is_irregular(body: &Body<Segs>, level: u8) -> bool {
    let own: FxHashSet<Name> = binders(body).into_iter().collect();
    let mut found = false;
    each_seg(body, level, &mut |seg| {
        let mut dims = seg.space.dims.iter();
        found |= dims.any(|(_, dim)| matches!(dim, Dim::Var(name) if own.contains(name)));
    });
    found
}

/// The outermost segops at a level.
fn each_seg(body: &Body<Segs>, level: u8, f: &mut dyn FnMut(&Seg<Segs>)) {
    with_stack(|| {
        for stm in &body.stms {
            match &stm.exp {
                Exp::Op(SegOp::Seg(seg)) if seg.level == level => f(seg),
                Exp::Basic(_) | Exp::Apply { .. } => {}
                exp @ (Exp::If { .. } | Exp::Loop { .. } | Exp::Op(_)) => {
                    sub_bodies(exp, |body| each_seg(body, level, f));
                }
            }
        }
    });
}

fn product(
    ctx: &mut Ctx<'_>,
    dims: impl Iterator<Item = Dim>,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Atom {
    let sizes: Vec<Atom> = dims.filter_map(Dim::atom).collect();
    let constant: i64 = (sizes.iter())
        .filter_map(|size| size.constant()?.as_i64())
        .fold(1, i64::saturating_mul);
    let mut product = Atom::i64(constant);
    for size in sizes.into_iter().filter(|size| size.var().is_some()) {
        product = if product == Atom::i64(1) {
            size
        } else {
            binary(ctx, BinOp::Mul, product, size, aux, out)
        };
    }
    product
}

fn binary(
    ctx: &mut Ctx<'_>,
    op: BinOp,
    x: Atom,
    y: Atom,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Atom {
    let param = ctx.fresh("par", Type::I64);
    let name = param.name;
    out.push(Stm {
        pat: vec![param],
        aux: Aux::at(aux.prov),
        exp: Exp::Basic(BasicOp::Binary(op, PrimType::I64, x, y)),
    });
    name.into()
}
