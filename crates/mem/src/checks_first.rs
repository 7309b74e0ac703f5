//! Moves checks first: in each body, the assertions, and the scalars that assertions and the
//! indices of updates depend on, move up to directly after their operands.
//!
//! ```text
//! let r = segmap (i < k) ..            let ok = eq k m
//! let ok = eq k m               =>     let c = assert ok ..
//! let c = assert ok ..                 let r = segmap (i < k) ..
//! let r' : [m] <c> = coerce r          let r' : [m] <c> = coerce r
//! ```
//!
//! `r` can then be built in the location of `r'`, which has room for only `m` elements: the sizes
//! are known to be equal before the first element is written. The relative order of checks, and
//! that of all other statements, is unchanged. Linear except for sorting.

use ir::Segs;
use ir::name::Name;
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Stm};
use ir::walk::used_names;
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the body with its checks as early as possible.
pub(crate) fn checks_first(mut body: Body<Segs>) -> Body<Segs> {
    let moving = movable(&body.stms);
    if !moving.contains(&true) {
        return body;
    }
    // For each name, the number of unmoved statements up to its binding; 0 if it is bound before
    // all.
    let mut behind: FxHashMap<Name, usize> = FxHashMap::default();
    let mut keys = Vec::with_capacity(body.stms.len());
    for (at, (stm, moves)) in body.stms.iter().zip(moving).enumerate() {
        let key = if moves {
            let mut key = 0;
            operands(stm, |name| {
                key = key.max(behind.get(&name).copied().unwrap_or(0));
            });
            (key, 1)
        } else {
            (at + 1, 0)
        };
        behind.extend(stm.pat.iter().map(|param| (param.name, key.0)));
        keys.push(key);
    }
    let mut stms: Vec<_> = keys.into_iter().zip(body.stms).collect();
    stms.sort_by_key(|(key, _)| *key);
    body.stms = stms.into_iter().map(|(_, stm)| stm).collect();
    body
}

/// Flags the assertions, and the scalars that assertions or the indices of updates depend on.
fn movable(stms: &[Stm<Segs>]) -> Vec<bool> {
    let mut needed: FxHashSet<Name> = FxHashSet::default();
    let mut moving = vec![false; stms.len()];
    for (stm, moves) in stms.iter().zip(&mut moving).rev() {
        *moves = is_check(stm) || is_scalar(stm) && stm.pat.iter().any(|p| needed.contains(&p.name));
        if *moves {
            operands(stm, |name| {
                needed.insert(name);
            });
        } else if let Exp::Basic(BasicOp::Update { slice, .. }) = &stm.exp {
            needed.extend(slice.iter().flat_map(slice_operands).filter_map(Atom::var));
        }
    }
    moving
}

fn is_check(stm: &Stm<Segs>) -> bool {
    matches!(stm.exp, Exp::Basic(BasicOp::Assert { .. }))
}

/// Returns true if the statement computes a scalar from scalars, without reading memory.
fn is_scalar(stm: &Stm<Segs>) -> bool {
    let scalars = stm.pat.iter().all(|param| !param.ty.is_array());
    scalars && matches!(&stm.exp, Exp::Basic(op) if op.is_scalar())
}

/// Calls `f` with the names that a statement depends on, including its certificates.
fn operands(stm: &Stm<Segs>, mut f: impl FnMut(Name)) {
    stm.aux.certs.iter().copied().for_each(&mut f);
    used_names(&stm.exp, f);
}

/// The operands of a slice's index.
pub(crate) fn slice_operands(index: &DimIndex) -> Vec<Atom> {
    match index {
        DimIndex::Fix(at) => vec![*at],
        DimIndex::Slice { start, count, stride } => {
            [Some(*start), Some(*stride), count.atom()].into_iter().flatten().collect()
        }
    }
}
