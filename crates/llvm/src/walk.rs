//! Which variables a loop's body names that are not its own.

use imp::walk::{each_stmt, names};
use imp::{How, Stmt, Var};
use rustc_hash::FxHashSet;

/// The variables that a loop's body names but that do not belong to it, in the
/// order in which they are named first.
pub fn captured(body: &[Stmt], own: &[&[Var]]) -> Vec<Var> {
    let mut bound: FxHashSet<Var> = own.iter().copied().flatten().copied().collect();
    let mut named = Vec::new();
    let mut seen = FxHashSet::default();
    each_stmt(body, &mut |stmt| {
        if let Stmt::For(f) = stmt {
            bound.insert(f.var);
            if let How::Tasks(launch) = &f.how {
                bound.extend(launch.owned.iter().chain(&launch.locals));
            }
        }
        names(stmt, &mut |var, _| {
            if seen.insert(var) {
                named.push(var);
            }
        });
    });
    named.retain(|var| !bound.contains(var));
    named
}
