//! Fission: a loop that computes a value by a fold in each iteration, and combines these values, becomes
//! two loops.
//!
//! ```text
//! for j in lo .. hi {                    for j in lo .. hi independent {
//!   s = fold ..                            s = fold ..
//!   out[j] = s                    =>       out[j] = s
//!   best = max(best, s)                  }
//! }                                      for j in lo .. hi { s = out[j]; best = max(best, s) }
//! ```
//!
//! The iterations of the first loop are independent, so its nest can be tiled. Values that it does not
//! store in any case are kept in an array. The second loop may combine them in arrays, such as lists of the best
//! values, which the first one does not access.

use super::emit::{Emit, Names, element};
use super::reuse::sets;
use imp::build::max;
use imp::def_use::DefUse;
use imp::walk::{each_stmt, each_use, each_var, scalar_type};
use imp::{Access, Expr, For, LoopMode, Stmt, Var, VarType};
use prim::PrimType;
use rustc_hash::FxHashSet;

/// The loops that replace a loop, and the arrays that they need, with their sizes in bytes.
pub(super) struct Split {
    pub(super) loops: Vec<Stmt>,
    pub(super) arrays: Vec<(Var, Expr)>,
}

/// Splits a sequential loop around a fold, the statement with number `at`. It stores only in `private` and `distinct`
/// arrays, which nothing else denotes.
pub(super) fn split(
    g: &mut Emit<'_>,
    (f, at): (&For, u32),
    (private, distinct): (&FxHashSet<Var>, &[Var]),
    def_use: &DefUse,
) -> Option<Split> {
    let has_fold = f.body.iter().any(|stmt| matches!(stmt, Stmt::For(_)));
    let by_index = g.vars()[f.var.index()].ty == VarType::Scalar(PrimType::I64);
    if f.mode != (LoopMode::Seq { independent: false }) || !has_fold || !by_index {
        return None;
    }
    let own: FxHashSet<Var> = f.body.iter().flat_map(sets).collect();
    // Carried values, and what depends on them.
    let carried = |var: Var| def_use.dominating_def(var).is_none_or(|first| first <= at);
    let mut late: FxHashSet<Var> = own.iter().copied().filter(|var| carried(*var)).collect();
    late.extend(combined_arrays(f, (private, distinct), &own)?);
    if late.is_empty() {
        return None;
    }
    loop {
        let before = late.len();
        for stmt in &f.body {
            if names(stmt).iter().any(|var| late.contains(var)) {
                late.extend(sets(stmt));
            }
        }
        if late.len() == before {
            break;
        }
    }
    let is_late = |stmt: &Stmt| names(stmt).iter().any(|var| late.contains(var));
    let (last, first): (Vec<&Stmt>, Vec<&Stmt>) = f.body.iter().partition(|stmt| is_late(stmt));
    if !stores_elements(&first, f, private, &own) {
        return None;
    }
    let read_late: FxHashSet<Var> = last.iter().flat_map(|stmt| names(stmt)).collect();
    let mut shared: Vec<Var> =
        first.iter().flat_map(|stmt| sets(stmt)).filter(|var| read_late.contains(var)).collect();
    shared.sort_unstable_by_key(|var| var.index());
    shared.dedup();
    let mut body: Vec<Stmt> = first.into_iter().cloned().collect();
    let mut arrays = Vec::new();
    let mut loads = Vec::new();
    for var in shared {
        let ty = scalar_type(g.vars(), var)?;
        let access = if let Some(stored) = stored_at(&body, var) {
            stored
        } else {
            let count = max(f.to.clone() - f.from.clone(), 0);
            let array = g.buffer("values");
            arrays.push((array, count * ty.size() as i64));
            let access = element(array, ty, f.var - f.from.clone());
            body.push(Stmt::Store(access.clone(), var.into()));
            access
        };
        loads.push((var, access));
    }
    let mut names = Names::default();
    g.open();
    let counter = g.like(f.var, &mut names);
    for (var, access) in loads {
        g.copy(&Stmt::Load(var, access), &mut names);
    }
    for stmt in last {
        // Carried variables keep their names.
        for var in sets(stmt) {
            if carried(var) {
                names.insert(var, var);
            }
        }
        g.copy(stmt, &mut names);
    }
    let combine = g.close();
    let first = For { mode: LoopMode::Seq { independent: true }, body, ..f.clone() };
    let second = For { var: counter, body: combine, ..f.clone() };
    Some(Split { loops: vec![Stmt::For(first), Stmt::For(second)], arrays })
}

/// The variables that a statement names, at any depth.
fn names(stmt: &Stmt) -> Vec<Var> {
    let mut all = Vec::new();
    each_stmt(std::slice::from_ref(stmt), &mut |stmt| each_use(stmt, &mut |var, _| all.push(var)));
    all
}

/// The arrays that a loop stores in, other than private ones of which it only stores the elements at its index.
/// `None` if another buffer may denote one of them.
fn combined_arrays(
    f: &For,
    (private, distinct): (&FxHashSet<Var>, &[Var]),
    own: &FxHashSet<Var>,
) -> Option<FxHashSet<Var>> {
    let mut combined = FxHashSet::default();
    let mut loaded = FxHashSet::default();
    let mut stored = FxHashSet::default();
    each_stmt(&f.body, &mut |stmt| {
        if let Stmt::Load(_, access) = stmt {
            loaded.insert(access.buffer);
        } else if let Stmt::Store(access, _) = stmt {
            stored.insert(access.buffer);
            if !is_own_element(access, f.var, own) {
                combined.insert(access.buffer);
            }
        }
    });
    combined.extend(stored.into_iter().filter(|array| loaded.contains(array) || !private.contains(array)));
    let alone = |array: &Var| private.contains(array) || distinct.contains(array);
    combined.iter().all(alone).then_some(combined)
}

/// Returns true if statements store nothing but elements at the loop's own index, of private arrays that
/// the loop does not read.
fn stores_elements(stmts: &[&Stmt], f: &For, private: &FxHashSet<Var>, own: &FxHashSet<Var>) -> bool {
    let mut loaded = FxHashSet::default();
    let mut stored = FxHashSet::default();
    let mut fits = true;
    each_stmt(&f.body, &mut |stmt| {
        if let Stmt::Load(_, access) = stmt {
            loaded.insert(access.buffer);
        }
        fits &=
            matches!(stmt, Stmt::Set(..) | Stmt::Load(..) | Stmt::Store(..) | Stmt::If(..) | Stmt::For(_));
    });
    for stmt in stmts {
        let mut inside = 0;
        each_stmt(std::slice::from_ref(*stmt), &mut |stmt| {
            if let Stmt::Store(access, _) = stmt {
                inside += 1;
                let is_new = private.contains(&access.buffer) && stored.insert(access.buffer);
                fits &= is_new && is_own_element(access, f.var, own);
            }
        });
        fits &= inside == 0 || matches!(stmt, Stmt::Store(..));
    }
    fits && stored.is_disjoint(&loaded)
}

/// Returns true if an access has the counter as one index, and varies with nothing else.
fn is_own_element(access: &Access, counter: Var, own: &FxHashSet<Var>) -> bool {
    let invariant = |e: &Expr| {
        let mut invariant = true;
        each_var(e, &mut |var, _| invariant &= var != counter && !own.contains(&var));
        invariant
    };
    let by_counter = access.dims.iter().filter(|(index, _)| *index == Expr::Var(counter)).count();
    by_counter == 1
        && invariant(&access.offset)
        && access
            .dims
            .iter()
            .all(|(index, stride)| invariant(stride) && (*index == Expr::Var(counter) || invariant(index)))
}

/// The element that a statement stores a variable in.
fn stored_at(stmts: &[Stmt], var: Var) -> Option<Access> {
    let last_set = stmts.iter().rposition(|stmt| sets(stmt).contains(&var))?;
    stmts[last_set..].iter().find_map(|stmt| {
        let Stmt::Store(access, value) = stmt else {
            return None;
        };
        (*value == Expr::Var(var)).then(|| access.clone())
    })
}
