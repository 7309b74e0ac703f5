//! Reuse: folds inside nested maps that read elements which other iterations read as well.
//!
//! ```text
//! map (r <- a) { map (c <- b) { reduce (+) 0 (map2 (*) r c) } }
//! ```
//!
//! `r` depends on the outer iteration alone, `c` on the inner one. Such folds remain loops, whose
//! nest is tiled later: each element is loaded once for several iterations, which reductions in
//! lanes do not allow.

use crate::context::Ctx;
use crate::scope::Scope;
use ir::soac::Screma;
use ir::syntax::{BasicOp, Exp};
use ir::walk::used_names;
use ir::{Name, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns true if two arrays that a screma reads depend on different indices around it.
pub(crate) fn reads_by_rows_and_columns(ctx: &Ctx<'_>, scope: Scope<'_>, s: &Screma) -> bool {
    let reads = reads(ctx, scope, s);
    let differ = |x: &FxHashSet<Name>, y: &FxHashSet<Name>| !x.is_subset(y) && !y.is_subset(x);
    reads.iter().enumerate().any(|(at, x)| reads[at + 1..].iter().any(|y| differ(x, y)))
}

/// For each array that a screma reads, the names bound inside the segop that the elements' positions
/// depend on.
fn reads(ctx: &Ctx<'_>, scope: Scope<'_>, s: &Screma) -> Vec<FxHashSet<Name>> {
    let names = &ctx.names;
    let inside = |name: &Name| scope.is_inside(names, *name);
    let of_array = |array: Name| -> FxHashSet<Name> {
        match names.indices_of_view(array) {
            Some(indices) => indices.into_iter().filter(inside).collect(),
            None => std::iter::once(array).filter(inside).collect(),
        }
    };
    let mut reads: Vec<FxHashSet<Name>> = s.inputs.iter().map(|input| of_array(*input)).collect();
    // What the names of the body depend on; its parameters belong to one iteration of the screma.
    let mut depends: FxHashMap<Name, FxHashSet<Name>> =
        s.map.params.iter().map(|param| (param.name, FxHashSet::default())).collect();
    for stm in &s.map.body.stms {
        let mut all = FxHashSet::default();
        used_names::<Soacs>(&stm.exp, |name| match depends.get(&name) {
            Some(known) => all.extend(known.iter().copied()),
            None => all.extend(of_array(name)),
        });
        if let Exp::Basic(BasicOp::Index { .. }) = &stm.exp {
            reads.push(all.clone());
        }
        for param in &stm.pat {
            depends.insert(param.name, all.clone());
        }
    }
    reads
}
