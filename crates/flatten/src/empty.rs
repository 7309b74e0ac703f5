//! Checks that points of a nest make before they go along inner dimensions.
//!
//! ```text
//! Σ, c = assert p, ys = xs <c> ⊢ reduce op ys
//!   =>  let held  = if m <= 0 and Σ has points
//!                   then (segmap (Σ) { c = assert p; true <c> })[0, .., 0] else true
//!       let c'    = assert held
//!       segred (Σ, j < m) (op) { c = assert p; ys = xs <c>; ys[j] } <c'>
//! ```
//!
//! Every point of the inner dimension makes the check, so that nobody has to wait for it.
//! Where that dimension is empty there is no such point: then, and only then, the points
//! around it make the check alone.
//!
//! Needs: sizes of inner dimensions that are known outside of the nest; those of segments
//! differ from point to point, and whoever reads such segments makes their checks
//! (`rules::irregular`).

use crate::context::Ctx;
use crate::manifest::{self, Point};
use crate::nest::{Nest, Shallow};
use crate::position::Position;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, MsgPart, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::free_names;
use ir::{Builder, Name, PassError, Segs, Soacs};
use prim::{BinOp, CmpOp, PrimType, Scalar};

/// What is said of checks that hold.
const YES: Atom = Atom::Const(Scalar::Bool(true));

/// Appends what makes the checks of a segop's points where its inner dimensions are empty;
/// gives certificates for them.
pub(crate) fn checks(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    inside: Position,
    point: &Point,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<Vec<Name>, PassError> {
    let mut certs = Vec::new();
    for shallow in nest.shallow_checks(|| free_names(&point.body)) {
        if let Some(alone) = points_alone(ctx, &shallow, aux, out) {
            certs.push(held(ctx, &shallow, inside, alone, aux, out)?);
        }
    }
    Ok(certs)
}

/// Whether there are points without any inside of them, unless it is known that there are not.
fn points_alone(
    ctx: &mut Ctx<'_>,
    shallow: &Shallow<'_, '_>,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Option<Atom> {
    let around: Vec<Dim> = shallow.nest.widths().collect();
    // Where one of these is empty, there are no points.
    let inner = shallow.inner.iter().filter(|size| !around.contains(size));
    let mut builder = ctx.builder::<Segs>(aux);
    let empty = any_empty(&mut builder, inner)?;
    let alone = match any_empty(&mut builder, around.iter()) {
        None => empty,
        Some(none) => {
            let some = builder.unary(prim::UnOp::Not, PrimType::Bool, none);
            let alone = builder.binary(BinOp::And, PrimType::Bool, empty, some.into());
            alone.into()
        }
    };
    out.extend(builder.take_stms());
    Some(alone)
}

/// Whether there is nothing along any of these, unless it is known that there is: sizes below
/// zero are those that a check refuses.
pub(crate) fn any_empty<'d>(
    builder: &mut Builder<'_, Segs>,
    sizes: impl Iterator<Item = &'d Dim>,
) -> Option<Atom> {
    let mut any: Option<Atom> = None;
    for size in sizes.filter(|size| !matches!(size, Dim::Const(1..))) {
        let none = builder.compare(CmpOp::SLe, PrimType::I64, size.atom()?, Atom::i64(0));
        any = Some(
            match any {
                Some(any) => builder.binary(BinOp::Or, PrimType::Bool, any, none.into()),
                None => none,
            }
            .into(),
        );
    }
    any
}

/// Appends the checks of points under a condition, and gives a certificate for them.
fn held(
    ctx: &mut Ctx<'_>,
    shallow: &Shallow<'_, '_>,
    inside: Position,
    alone: Atom,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<Name, PassError> {
    let here = Aux::at(aux.prov);
    let held: Param<Soacs> = ctx.fresh("held", Type::BOOL);
    let name = held.name;
    let then_body = all_points(ctx, shallow, inside, &here)?;
    let else_body = Body { stms: Vec::new(), result: vec![YES] };
    out.push(Stm {
        pat: ctx.params(vec![held]),
        aux: here,
        exp: Exp::If { cond: alone, then_body, else_body },
    });
    let mut builder = ctx.builder::<Segs>(aux);
    let said = MsgPart::Text("a check does not hold".into());
    let cert = builder.assert(name.into(), vec![said]);
    out.extend(builder.take_stms());
    Ok(cert)
}

/// What the first of all points says, which make the checks.
fn all_points(
    ctx: &mut Ctx<'_>,
    shallow: &Shallow<'_, '_>,
    inside: Position,
    aux: &Aux,
) -> Result<Body<Segs>, PassError> {
    let made: Param<Soacs> = ctx.fresh("made", Type::BOOL);
    let result = vec![made.name.into()];
    let mut certain = aux.clone();
    certain.certs = shallow.certs.iter().copied().collect();
    let stms = vec![Stm { pat: vec![made], aux: certain, exp: Exp::Basic(BasicOp::Atom(YES)) }];
    let point = Point::map(Body { stms, result }, vec![Type::BOOL]);
    let all: Param<Soacs> = ctx.fresh("all", shallow.nest.expand(&Type::BOOL));
    let (array, first) = (all.name, vec![Atom::i64(0); all.ty.rank()]);
    let mut stms = Vec::new();
    manifest::segop(ctx, shallow.nest, inside, point, vec![all], aux.clone(), &mut stms)?;
    let mut builder = ctx.builder::<Segs>(aux);
    let held = builder.index("held", array, &first);
    stms.extend(builder.take_stms());
    Ok(Body { stms, result: vec![held.into()] })
}
