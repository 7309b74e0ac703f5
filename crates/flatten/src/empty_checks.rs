//! Checks that iterations of a nest make before their inner dimensions.
//!
//! ```text
//! Σ, c = assert p, ys = xs <c> ⊢ reduce op ys
//!   =>  let held  = if m <= 0 and Σ is not empty
//!                   then (segmap (Σ) { c = assert p; true <c> })[0, .., 0] else true
//!       let c'    = assert held
//!       segred (Σ, j < m) (op) { c = assert p; ys = xs <c>; ys[j] } <c'>
//! ```
//!
//! Every iteration of the inner dimension makes the check, so that no iteration waits for another.
//! Where that dimension is empty, there is no such iteration: then, and only then, the enclosing
//! iterations make the check by themselves.
//!
//! Needs: sizes of inner dimensions that are known outside the nest. Sizes of segments vary across
//! iterations; the readers of such segments make their checks (`rules::irregular`).

use crate::context::Ctx;
use crate::manifest::{self, SegopBody};
use crate::nest::{Nest, OuterChecks};
use crate::position::Position;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, MsgPart, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::free_names;
use ir::{Builder, Name, PassError, Segs, Soacs};
use prim::{BinOp, CmpOp, PrimType, Scalar};

/// The result of checks that hold.
const TRUE: Atom = Atom::Const(Scalar::Bool(true));

/// Appends the checks of a segop's iterations for the case that its inner dimensions are empty;
/// returns certificates for them.
pub(crate) fn checks(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    inside: Position,
    segop_body: &SegopBody,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<Vec<Name>, PassError> {
    let mut certs = Vec::new();
    for shallow in nest.outer_checks(|| free_names(&segop_body.body)) {
        if let Some(alone) = has_empty_inner(ctx, &shallow, aux, out) {
            certs.push(conditional_checks(ctx, &shallow, inside, alone, aux, out)?);
        }
    }
    Ok(certs)
}

/// The condition that there are iterations of the outer nest but none inside; `None` if that is
/// known to be false.
fn has_empty_inner(
    ctx: &mut Ctx<'_>,
    shallow: &OuterChecks<'_, '_>,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Option<Atom> {
    let around: Vec<Dim> = shallow.nest.widths().collect();
    // If one of the outer widths is 0, there are no iterations at all.
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

/// The condition that any of these sizes is 0 or less; `None` if all are known to be positive.
/// Negative sizes are refused by a check elsewhere.
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

/// Appends the checks of iterations under a condition, and returns a certificate for them.
fn conditional_checks(
    ctx: &mut Ctx<'_>,
    shallow: &OuterChecks<'_, '_>,
    inside: Position,
    alone: Atom,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<Name, PassError> {
    let here = Aux::at(aux.prov);
    let held: Param<Soacs> = ctx.fresh("passed", Type::BOOL);
    let name = held.name;
    let then_body = check_body(ctx, shallow, inside, &here)?;
    let else_body = Body { stms: Vec::new(), result: vec![TRUE] };
    out.push(Stm {
        pat: ctx.params(vec![held]),
        aux: here,
        exp: Exp::If { cond: alone, then_body, else_body },
    });
    let mut builder = ctx.builder::<Segs>(aux);
    let said = MsgPart::Text("a check fails in a nest whose inner size is 0".into());
    let cert = builder.assert(name.into(), vec![said]);
    out.extend(builder.take_stms());
    Ok(cert)
}

/// The body that makes the checks of all iterations; it returns the result of the first.
fn check_body(
    ctx: &mut Ctx<'_>,
    shallow: &OuterChecks<'_, '_>,
    inside: Position,
    aux: &Aux,
) -> Result<Body<Segs>, PassError> {
    let made: Param<Soacs> = ctx.fresh("passed", Type::BOOL);
    let result = vec![made.name.into()];
    let mut certain = aux.clone();
    certain.certs = shallow.certs.iter().copied().collect();
    let stms = vec![Stm { pat: vec![made], aux: certain, exp: Exp::Basic(BasicOp::Atom(TRUE)) }];
    let segop_body = SegopBody::map(Body { stms, result }, vec![Type::BOOL]);
    let all: Param<Soacs> = ctx.fresh("passed", shallow.nest.expand(&Type::BOOL));
    let (array, first) = (all.name, vec![Atom::i64(0); all.ty.rank()]);
    let mut stms = Vec::new();
    manifest::segop(ctx, shallow.nest, inside, segop_body, vec![all], aux.clone(), &mut stms)?;
    let mut builder = ctx.builder::<Segs>(aux);
    let held = builder.index("passed", array, &first);
    stms.extend(builder.take_stms());
    Ok(Body { stms, result: vec![held.into()] })
}
