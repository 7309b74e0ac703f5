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
//! iterations; the readers of such segments make their checks (`rules::distribute_irregular`).

use crate::Result;
use crate::context::{Ctx, Let};
use crate::manifest::{self, SegopBody};
use crate::names::basic;
use crate::nest::OuterChecks;
use crate::scope::Scope;
use ir::syntax::{Atom, BasicOp, Body, Exp, MsgPart};
use ir::types::{Dim, Type};
use ir::walk::free_names;
use ir::{Builder, Name, Prov, Segs};
use prim::{BinOp, CmpOp, PrimType, Scalar, UnOp};

/// The result of checks that hold.
const TRUE: Atom = Atom::Const(Scalar::Bool(true));

/// Appends the checks of a segop's iterations for the case that its inner dimensions are empty;
/// returns certificates for them. `scope` is that of the segop's body.
pub(crate) fn checks(ctx: &mut Ctx<'_>, scope: Scope<'_>, body: &SegopBody, prov: Prov) -> Result<Vec<Name>> {
    let mut certs = Vec::new();
    for shallow in scope.nest.outer_checks(|| free_names(&body.body)) {
        let alone = ctx.build(prov, |b| has_empty_inner(b, &shallow));
        let Some(cond) = alone else { continue };
        let passed = ctx.names.fresh("passed", Type::BOOL);
        let name = passed.name;
        let then_body = check_body(ctx, scope.over(shallow.nest), shallow.certs, prov)?;
        let else_body = Body { stms: Vec::new(), result: vec![TRUE] };
        let to = Let::at(prov, vec![passed]);
        ctx.emit(to, Exp::If { cond, then_body, else_body });
        let said = MsgPart::Text("a check fails in a nest whose inner size is 0".into());
        certs.push(ctx.build(prov, |b| b.assert(name.into(), vec![said])));
    }
    Ok(certs)
}

/// The condition that there are iterations of the outer nest but none inside; `None` if false.
fn has_empty_inner(b: &mut Builder<'_, Segs>, shallow: &OuterChecks<'_, '_>) -> Option<Atom> {
    let around: Vec<Dim> = shallow.nest.widths().collect();
    // If one of the outer widths is 0, there are no iterations at all.
    let empty = any_empty(b, shallow.inner.iter().filter(|size| !around.contains(size)))?;
    let Some(none) = any_empty(b, around.iter()) else {
        return Some(empty);
    };
    let some = b.unary(UnOp::Not, PrimType::Bool, none);
    Some(b.binary(BinOp::And, PrimType::Bool, empty, some.into()).into())
}

/// The condition that any of these sizes is 0 or less; `None` if all are known to be positive.
/// Negative sizes are refused by a check elsewhere.
pub(crate) fn any_empty<'d>(b: &mut Builder<'_, Segs>, sizes: impl Iterator<Item = &'d Dim>) -> Option<Atom> {
    let mut any: Option<Atom> = None;
    for size in sizes.filter(|size| !matches!(size, Dim::Const(1..))) {
        let none = Atom::Var(b.compare(CmpOp::SLe, PrimType::I64, size.atom()?, Atom::i64(0)));
        any = Some(any.map_or(none, |any| b.binary(BinOp::Or, PrimType::Bool, any, none).into()));
    }
    any
}

/// The body that makes the checks of all iterations of the nest; returns the first result.
fn check_body(ctx: &mut Ctx<'_>, scope: Scope<'_>, certs: Vec<Name>, prov: Prov) -> Result<Body<Segs>> {
    let passed = ctx.names.fresh("passed", Type::BOOL);
    let result = vec![passed.name.into()];
    let mut check = basic(passed, BasicOp::Atom(TRUE), prov);
    check.aux.certs = certs.into_iter().collect();
    let segop_body = SegopBody::map(Body { stms: vec![check], result }, vec![Type::BOOL]);
    let all = ctx.names.fresh("passed", scope.nest.expand(&Type::BOOL));
    let (array, first) = (all.name, vec![Atom::i64(0); all.ty.rank()]);
    let (made, stms) = ctx.collect(|ctx| {
        manifest::segop(ctx, scope, Let::at(prov, vec![all]), segop_body)?;
        Ok(vec![ctx.build(prov, |b| b.index("passed", array, &first)).into()])
    });
    Ok(Body { stms, result: made? })
}
