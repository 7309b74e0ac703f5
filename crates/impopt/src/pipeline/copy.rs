//! Renaming of variables in straight-line code.

use imp::rename::each_expr_var_mut;
use imp::walk::{Use, each_use};
use imp::{FieldMut, Fields, Stmt, Var};
use rustc_hash::FxHashMap;

/// The new variable for each old one.
pub(super) type Renamed = FxHashMap<Var, Var>;

/// A straight-line statement in which the variables that it reads are renamed by `names`, and the
/// variable that it sets by `set`.
pub(super) fn renamed(stmt: &Stmt, names: &Renamed, set: &Renamed) -> Stmt {
    let mut renamed = stmt.clone();
    let new = |var: &mut Var, by: &Renamed| *var = by.get(var).copied().unwrap_or(*var);
    renamed.visit_mut(&mut |field| {
        if let FieldMut::Sets(var) = field {
            new(var, set);
        } else if let FieldMut::Expr(expr) = field {
            each_expr_var_mut(expr, &mut |var| new(var, names));
        }
    });
    renamed
}

/// The statements with each variable set once: all definitions of a variable but the last get new
/// variables from `fresh`.
pub(super) fn set_once(stmts: &[Stmt], mut fresh: impl FnMut(Var) -> Var) -> Vec<Stmt> {
    let mut settings: FxHashMap<Var, usize> = FxHashMap::default();
    let each_set = |stmt: &Stmt, f: &mut dyn FnMut(Var)| {
        each_use(stmt, &mut |var, used| {
            if used == Use::Sets {
                f(var);
            }
        });
    };
    for stmt in stmts {
        each_set(stmt, &mut |var| *settings.entry(var).or_default() += 1);
    }
    let mut current = Renamed::default();
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        let mut own = Renamed::default();
        each_set(stmt, &mut |var| {
            let left = settings.entry(var).or_default();
            *left = left.saturating_sub(1);
            own.insert(var, if *left > 0 { fresh(var) } else { var });
        });
        out.push(renamed(stmt, &current, &own));
        current.extend(own);
    }
    out
}
