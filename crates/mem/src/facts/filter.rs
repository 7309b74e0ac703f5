//! Filters: scans that count flags, followed by a post lambda that scatters the flagged elements to
//! the count.
//!
//! ```text
//! segscan (i < n) (+, 0) { (btoi c, c, v) }
//!   post (s, c, v) { out with [if c then s - 1 else -1] <- v }
//! ```
//!
//! The positions of flagged elements are consecutive, whatever the flags.

use analysis::affine::{Values, Widths};
use ir::facts::Filter;
use ir::name::Name;
use ir::poly::Poly;
use ir::scan_reduce::ScanReduce;
use ir::syntax::{Atom, BasicOp, Body, Exp, Lambda};
use ir::{Mems, Type};
use prim::{BinOp, ConvOp, ScalarOp};

/// The largest constant added to counts, so that no position wraps.
const MOST_ADDED: i64 = 1 << 31;

/// Returns the filter that a scan over this body and its scatter implement, if they do.
pub(super) fn filter(body: &Body<Mems>, scan_reduce: &ScanReduce<Mems>) -> Option<Filter> {
    let [operator] = scan_reduce.scans.as_slice() else {
        return None;
    };
    let counts = operator.op.ret == [Type::I64] && adds(&operator.op) && operator.neutral == [Atom::i64(0)];
    let groups = scan_reduce.values(&body.result);
    let ([counted], mapped) = (groups.scanned, groups.mapped) else {
        return None;
    };
    let Some(BasicOp::Scalar(ScalarOp::Convert { op: ConvOp::BToI, arg: flag, .. })) =
        definition(body, *counted)
    else {
        return None;
    };
    let post = scan_reduce.post.as_ref()?;
    let (count, params) = post.params.split_first()?;
    let among = |atom: &Atom| {
        let name = atom.var()?;
        params.iter().position(|param| param.name == name)
    };
    let Exp::Basic(BasicOp::UpdateAcc { index, values, .. }) = &post.body.stms.last()?.exp else {
        return None;
    };
    let BasicOp::Scalar(ScalarOp::Select { cond, if_true, if_false: Atom::Const(outside), .. }) =
        definition(&post.body, *index.first()?)?
    else {
        return None;
    };
    let integers = Values::of_body(Widths::Exact, &post.body);
    let added = integers.value(*if_true).sub(&Poly::var(count.name)).as_constant()?;
    let flag_at = among(cond)?;
    let holds = counts
        && mapped.get(flag_at) == Some(flag)
        && outside.as_i64()? < 0
        && (-MOST_ADDED..=MOST_ADDED).contains(&added);
    let values = values.iter().map(among).collect::<Option<_>>()?;
    holds.then_some(Filter { flag: flag_at, values, offset: added })
}

/// Returns true if an operator adds its operands.
fn adds(op: &Lambda<Mems>) -> bool {
    let ([x, y], [result]) = (op.params.as_slice(), op.body.result.as_slice()) else {
        return false;
    };
    let operands = [x.name.into(), y.name.into()];
    match definition(&op.body, *result) {
        Some(BasicOp::Scalar(ScalarOp::Binary(BinOp::Add, _, a, b))) => {
            [*a, *b] == operands || [*b, *a] == operands
        }
        _ => false,
    }
}

/// The operation that defines an operand in a body.
pub(super) fn definition(body: &Body<Mems>, atom: Atom) -> Option<&BasicOp> {
    let name: Name = atom.var()?;
    body.stms.iter().find_map(|stm| {
        if let Exp::Basic(op) = &stm.exp
            && stm.pat.iter().any(|param| param.name == name)
        {
            Some(op)
        } else {
            None
        }
    })
}
