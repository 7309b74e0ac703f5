//! Sinks stores at the end of both branches of a conditional below it.
//!
//! ```text
//! if c { .. ys[f64: i] = x }         if c { .. t = x }
//! else { .. ys[f64: i] = y }    =>   else { .. t = y }
//!                                    ys[f64: i] = t
//! ```
//!
//! Then every lane stores, so that no mask is needed, and branches that are left with arithmetic
//! need no jump. Only in independent loops; runs before statements are numbered.

use super::rewrite::{Fresh, Rule, rewrite};
use imp::walk::{Use, each_stmt, each_use, type_of};
use imp::{Expr, Function, Stmt, Var};
use rustc_hash::FxHashSet;

struct Sink;

/// Sinks the stores of a function.
pub(super) fn sink(function: &mut Function) {
    rewrite(function, &mut Sink);
}

impl Rule for Sink {
    fn rewrite(&mut self, fresh: &mut Fresh, mut stmt: Stmt, independent: bool, out: &mut Vec<Stmt>) {
        let stores = if let Stmt::If(_, yes, no) = &mut stmt
            && independent
        {
            common_stores(fresh, yes, no)
        } else {
            Vec::new()
        };
        out.push(stmt);
        out.extend(stores);
    }
}

/// The stores that both branches end with, removed from them.
fn common_stores(fresh: &mut Fresh, yes: &mut [Stmt], no: &mut [Stmt]) -> Vec<Stmt> {
    let alike = yes
        .iter()
        .rev()
        .zip(no.iter().rev())
        .take_while(|pair| matches!(pair, (Stmt::Store(a, _), Stmt::Store(b, _)) if a == b))
        .count();
    if alike == 0 {
        return Vec::new();
    }
    let mut own = FxHashSet::default();
    sets(yes, &mut own);
    sets(no, &mut own);
    let (first_yes, first_no) = (yes.len() - alike, no.len() - alike);
    // The stores after the last one that has to remain.
    let movable = yes[first_yes..]
        .iter()
        .rev()
        .take_while(|store| {
            let mut free = true;
            if let Stmt::Store(access, _) = store {
                let load = Stmt::Load(Var(u32::MAX), access.clone());
                each_use(&load, &mut |var, _| free &= !own.contains(&var));
            }
            free
        })
        .count();
    let skipped = alike - movable;
    let stores = yes[first_yes + skipped..].iter_mut().zip(&mut no[first_no + skipped..]);
    let mut moved = Vec::with_capacity(movable);
    for (one, other) in stores {
        let (Stmt::Store(access, x), Stmt::Store(_, y)) = (&*one, &*other) else {
            continue;
        };
        let Some(ty) = type_of(&fresh.vars, x) else {
            continue;
        };
        let var = fresh.var(ty, "value");
        moved.push(Stmt::Store(access.clone(), Expr::Var(var)));
        let (x, y) = (x.clone(), y.clone());
        *one = Stmt::Set(var, x);
        *other = Stmt::Set(var, y);
    }
    moved
}

fn sets(stmts: &[Stmt], own: &mut FxHashSet<Var>) {
    each_stmt(stmts, &mut |stmt| {
        each_use(stmt, &mut |var, used| {
            if used == Use::Sets {
                own.insert(var);
            }
        });
    });
}
