//! Arrays that had better lie in another order of their dimensions.
//!
//! ```text
//! let r = segmap (j < m) -> ..     -- computes row j of r from column j of xs
//! let t = rearrange (1, 0) r
//! in (t)                           -- has to be row-major
//! ```
//!
//! If `r` lies column by column, `t` is row-major as it stands, and nothing is
//! copied. Such wishes flow from a body's results, which will be row-major,
//! back through transposes to what nobody else uses.

use crate::order::count_uses;
use ir::Segs;
use ir::facts::Order;
use ir::mem::Lmad;
use ir::name::Name;
use ir::syntax::{Atom, BasicOp, Body, Exp, ReshapeKind};
use rustc_hash::FxHashMap;

/// The orders that are wished for in a body whose results have these
/// destinations; only those that are not row-major.
pub(super) fn wishes(body: &Body<Segs>, results: &[Option<Lmad>]) -> FxHashMap<Name, Order> {
    let mut wishes: FxHashMap<Name, Order> = FxHashMap::default();
    let transposes = body.stms.iter().any(|stm| matches!(stm.exp, Exp::Basic(BasicOp::Rearrange { .. })));
    if !transposes {
        return wishes;
    }
    let uses = count_uses(body);
    // What is row-major anyway has an empty order.
    for (at, result) in body.result.iter().enumerate() {
        if let (Atom::Var(name), None) = (result, results.get(at).and_then(Option::as_ref)) {
            wishes.insert(*name, Order::new());
        }
    }
    for stm in body.stms.iter().rev() {
        let (Exp::Basic(op), [bound]) = (&stm.exp, stm.pat.as_slice()) else {
            continue;
        };
        let Some(order) = wishes.get(&bound.name) else {
            continue;
        };
        let (array, order) = if let BasicOp::Rearrange { perm, array } = op {
            let order =
                if order.is_empty() { perm.clone() } else { order.iter().map(|at| perm[*at]).collect() };
            (*array, order)
        } else if let BasicOp::Reshape { kind: ReshapeKind::Coerce, array, .. } = op {
            (*array, order.clone())
        } else {
            continue;
        };
        if uses.get(&array) == Some(&1) {
            wishes.entry(array).or_insert(order);
        }
    }
    wishes.retain(|_, order| !order.iter().enumerate().all(|(at, dim)| at == *dim));
    wishes
}
