//! Layout preferences: arrays for which another dimension order avoids a copy.
//!
//! ```text
//! let r = segmap (j < m) -> ..     -- row j of r is computed from column j of xs
//! let t = rearrange (1, 0) r
//! in (t)                           -- must be row-major
//! ```
//!
//! If `r` is column-major, `t` is row-major as it is, and nothing is copied. Preferences are
//! propagated from a body's results, which will be row-major, backwards through transposes to
//! arrays without other uses.

use analysis::uses;
use ir::Segs;
use ir::facts::DimOrder;
use ir::mem::Lmad;
use ir::name::Name;
use ir::syntax::{Atom, BasicOp, Body, Exp, ReshapeKind};
use rustc_hash::FxHashMap;

/// The preferred orders in a body whose results have these destinations, except for row-major ones.
pub(super) fn preferences(body: &Body<Segs>, results: &[Option<Lmad>]) -> FxHashMap<Name, DimOrder> {
    let mut preferred: FxHashMap<Name, DimOrder> = FxHashMap::default();
    let transposes = body.stms.iter().any(|stm| matches!(stm.exp, Exp::Basic(BasicOp::Rearrange { .. })));
    if !transposes {
        return preferred;
    }
    let uses = uses::in_body(body);
    // Arrays that are row-major anyway have an empty order.
    for (at, result) in body.result.iter().enumerate() {
        if let (Atom::Var(name), None) = (result, results.get(at).and_then(Option::as_ref)) {
            preferred.insert(*name, DimOrder::new());
        }
    }
    for stm in body.stms.iter().rev() {
        let (Exp::Basic(op), [bound]) = (&stm.exp, stm.pat.as_slice()) else {
            continue;
        };
        let Some(order) = preferred.get(&bound.name) else {
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
            preferred.entry(array).or_insert(order);
        }
    }
    preferred.retain(|_, order| !order.iter().enumerate().all(|(at, dim)| at == *dim));
    preferred
}
