//! Checks that points of a nest make before they go along inner dimensions.
//!
//! ```text
//! Σ, c = assert p, ys = xs <c> ⊢ reduce op ys
//!   =>  let held  = if m == 0 then segred (Σ) (&&) { c = assert p; true <c> } else true
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
use crate::manifest::{self, Kind, Point};
use crate::nest::{Nest, Shallow};
use crate::position::Position;
use ir::folds::Folds;
use ir::soac::Operator;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, MsgPart, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::free_names;
use ir::{Name, PassError, Segs, Soacs};
use prim::{BinOp, CmpOp, PrimType, Scalar};

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
    for mut shallow in nest.shallow_checks(free_names(&point.body)) {
        // Where one of these is empty, no point makes a check.
        let around: Vec<Dim> = shallow.nest.widths().collect();
        shallow.inner.retain(|size| !around.contains(size));
        if let Some(empty) = any_empty(ctx, &shallow.inner, aux, out) {
            certs.push(held(ctx, &shallow, inside, empty, aux, out)?);
        }
    }
    Ok(certs)
}

/// Whether an expression makes checks where inner dimensions are empty: it says that they hold.
pub(crate) fn is_check(exp: &Exp<Segs>) -> bool {
    let yes = Atom::Const(Scalar::Bool(true));
    matches!(exp, Exp::If { else_body, .. }
        if else_body.stms.is_empty() && else_body.result.as_slice() == [yes])
}

/// Whether any of these sizes is zero, unless it is known that none is.
fn any_empty(
    ctx: &mut Ctx<'_>,
    sizes: &[Dim],
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Option<Atom> {
    let mut builder = ctx.builder::<Segs>(aux);
    let mut any: Option<Name> = None;
    for size in sizes {
        let size = match size {
            Dim::Const(1..) => continue,
            Dim::Const(_) => return Some(Atom::Const(Scalar::Bool(true))),
            Dim::Var(name) => Atom::Var(*name),
            Dim::Ext(_) => return None,
        };
        let empty = builder.compare(CmpOp::Eq, PrimType::I64, size, Atom::i64(0));
        any = Some(match any {
            Some(any) => builder.binary(BinOp::Or, PrimType::Bool, any.into(), empty.into()),
            None => empty,
        });
    }
    out.extend(builder.take_stms());
    any.map(Atom::Var)
}

/// Appends the checks of points under a condition, and gives a certificate for them.
fn held(
    ctx: &mut Ctx<'_>,
    shallow: &Shallow<'_, '_>,
    inside: Position,
    empty: Atom,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<Name, PassError> {
    let here = Aux::at(aux.prov);
    let held: Param<Soacs> = ctx.fresh("held", Type::BOOL);
    let then_body = ctx.made(std::slice::from_ref(&held), |ctx, own, stms| {
        all_points(ctx, shallow, inside, own, &here, stms)
    })?;
    let else_body = Body {
        stms: Vec::new(),
        result: vec![Atom::Const(Scalar::Bool(true))],
    };
    let name = held.name;
    out.push(Stm {
        pat: ctx.params(vec![held]),
        aux: here,
        exp: Exp::If {
            cond: empty,
            then_body,
            else_body,
        },
    });
    let mut builder = ctx.builder::<Segs>(aux);
    let said = MsgPart::Text("a check does not hold".into());
    let cert = builder.assert(name.into(), vec![said]);
    out.extend(builder.take_stms());
    Ok(cert)
}

/// Appends a reduction over all points that make the checks.
fn all_points(
    ctx: &mut Ctx<'_>,
    shallow: &Shallow<'_, '_>,
    inside: Position,
    pat: Vec<Param<Soacs>>,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let yes = Atom::Const(Scalar::Bool(true));
    let made: Param<Soacs> = ctx.fresh("made", Type::BOOL);
    let result = vec![made.name.into()];
    let mut certain = Aux::at(aux.prov);
    certain.certs = shallow.certs.iter().copied().collect();
    let stms = vec![Stm {
        pat: vec![made],
        aux: certain,
        exp: Exp::Basic(BasicOp::Atom(yes)),
    }];
    let mut builder = ctx.builder::<Soacs>(aux);
    let all = Operator {
        op: builder.binary_lambda(BinOp::And, PrimType::Bool),
        neutral: vec![yes],
        comm: true,
    };
    let point = Point {
        body: Body { stms, result },
        ret: vec![Type::BOOL],
        kind: Kind::Folds(Folds::reduce(vec![all])),
    };
    let widths: Vec<Dim> = shallow.nest.widths().collect();
    if widths.len() == 1 {
        return manifest::segop(ctx, shallow.nest, inside, point, pat, aux.clone(), out);
    }
    let mut builder = ctx.builder::<Segs>(aux);
    let points = builder.product(&widths);
    out.extend(builder.take_stms());
    let flat = shallow.nest.flat(ctx, points);
    manifest::segop(ctx, &flat, inside, point, pat, aux.clone(), out)
}
