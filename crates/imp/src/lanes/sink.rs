//! Stores at the end of both arms of a conditional move behind it.
//!
//! ```text
//! if c { .. ys[f64: i] = x }         if c { .. t = x }
//! else { .. ys[f64: i] = y }    =>   else { .. t = y }
//!                                    ys[f64: i] = t
//! ```
//!
//! Every lane stores then, so that no mask is needed, and arms that are left
//! with arithmetic need no branch. Only in independent loops; needed before
//! statements are numbered.

use super::walk::{Use, names, type_of};
use crate::syntax::{For, Function, How, Stmt, Var, VarInfo, VarType};
use rustc_hash::FxHashSet;
use std::sync::Arc;

struct Sink {
    vars: Vec<VarInfo>,
    /// New variables of the innermost frame.
    fresh: Vec<Var>,
}

/// Moves the stores of a function.
pub(super) fn sink(function: &mut Function) {
    let mut sink = Sink {
        vars: std::mem::take(&mut function.vars),
        fresh: Vec::new(),
    };
    sink.block(&mut function.body, false);
    function.vars = sink.vars;
}

impl Sink {
    fn block(&mut self, stmts: &mut Vec<Stmt>, independent: bool) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let before = std::mem::take(stmts);
            stmts.reserve(before.len());
            for mut stmt in before {
                let stores = self.stmt(&mut stmt, independent);
                stmts.push(stmt);
                stmts.extend(stores);
            }
        });
    }

    /// The stores that now follow the statement.
    fn stmt(&mut self, stmt: &mut Stmt, independent: bool) -> Vec<Stmt> {
        match stmt {
            Stmt::If(_, yes, no) => {
                // Inner ones first: their stores may move further.
                self.block(yes, independent);
                self.block(no, independent);
                if independent {
                    return self.arms(yes, no);
                }
            }
            Stmt::While(_, body) => self.block(body, independent),
            Stmt::For(f) => {
                let before = self.fresh.len();
                let inside = match &f.how {
                    How::Seq { independent: true } | How::Lanes(_) => true,
                    How::Seq { independent: false } => independent,
                    How::Tasks(_) => false,
                };
                self.block(&mut f.body, inside);
                if let How::Tasks(launch) = &mut f.how {
                    launch.locals.extend(self.fresh.drain(before..));
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn arms(&mut self, yes: &mut [Stmt], no: &mut [Stmt]) -> Vec<Stmt> {
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
        // Those from the last one that has to stay on.
        let movable = yes[first_yes..]
            .iter()
            .rev()
            .take_while(|store| {
                let mut free = true;
                if let Stmt::Store(access, _) = store {
                    let place = Stmt::Load(Var(u32::MAX), access.clone());
                    names(&place, &mut |var, _| free &= !own.contains(&var));
                }
                free
            })
            .count();
        let skipped = alike - movable;
        let stores = yes[first_yes + skipped..]
            .iter_mut()
            .zip(&mut no[first_no + skipped..]);
        let mut moved = Vec::with_capacity(movable);
        for (one, other) in stores {
            let (Stmt::Store(access, x), Stmt::Store(_, y)) = (&*one, &*other) else {
                continue;
            };
            let Some(ty) = type_of(&self.vars, x) else {
                continue;
            };
            self.vars.push(VarInfo {
                ty: VarType::Scalar(ty),
                hint: Arc::from("value"),
            });
            let var = Var(self.vars.len() as u32 - 1);
            self.fresh.push(var);
            moved.push(Stmt::Store(access.clone(), crate::Expr::Var(var)));
            let (x, y) = (x.clone(), y.clone());
            *one = Stmt::Set(var, x);
            *other = Stmt::Set(var, y);
        }
        moved
    }
}

/// The variables that statements set.
fn sets(stmts: &[Stmt], own: &mut FxHashSet<Var>) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        for stmt in stmts {
            names(stmt, &mut |var, used| {
                if used == Use::Sets {
                    own.insert(var);
                }
            });
            match stmt {
                Stmt::If(_, yes, no) => {
                    sets(yes, own);
                    sets(no, own);
                }
                Stmt::While(_, body) | Stmt::For(For { body, .. }) => sets(body, own),
                _ => {}
            }
        }
    });
}
