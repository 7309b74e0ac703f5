//! Renames the results of a body to the names of a pattern.
//!
//! ```text
//! let ys = { let a = e in a }   =>   let ys = e
//! ```
//!
//! A result that is bound outside the body, occurs several times or is a constant is returned, for
//! the caller to bind.

use ir::syntax::{Atom, Body, Param, Stm};
use ir::types::Dim;
use ir::walk::{Substitution, substitute_stm};
use ir::{Name, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};

/// The statements of a body, with its results renamed, and the results that remain to be bound.
pub(super) fn named(
    body: Body<Soacs>,
    pat: Vec<Param<Soacs>>,
) -> (Vec<Stm<Soacs>>, Vec<(Param<Soacs>, Atom)>) {
    let Body { mut stms, result } = body;
    let given: Vec<(Param<Soacs>, Atom)> = pat.into_iter().zip(result).collect();
    let own: FxHashSet<Name> = given.iter().map(|(param, _)| param.name).collect();
    let mut dims = given.iter().flat_map(|(param, _)| param.ty.shape());
    if dims.any(|dim| matches!(dim, Dim::Var(size) if own.contains(size))) {
        // A size has to be bound before the arrays that have it.
        return (stms, given);
    }
    let mut wanted: FxHashMap<Name, Param<Soacs>> = FxHashMap::default();
    for (param, result) in given.iter().rev() {
        if let Atom::Var(name) = result {
            wanted.insert(*name, param.clone());
        }
    }
    let mut map = Substitution::default();
    let mut done: FxHashSet<Name> = FxHashSet::default();
    for param in stms.iter_mut().flat_map(|stm| &mut stm.pat) {
        if let Some(own) = wanted.remove(&param.name) {
            map.insert(param.name, own.name.into());
            done.insert(own.name);
            *param = own;
        }
    }
    if !map.is_empty() {
        for stm in &mut stms {
            substitute_stm(stm, &map);
        }
    }
    let left = given.into_iter();
    let left = left.filter(|(param, _)| !done.contains(&param.name));
    let left = left.map(|(param, result)| {
        let renamed = result.var().and_then(|name| map.get(&name).copied());
        (param, renamed.unwrap_or(result))
    });
    (stms, left.collect())
}
