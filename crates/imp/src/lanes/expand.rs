//! Copies that read or write an iteration's own arrays become loops.
//!
//! ```text
//! for i in lo .. hi independent {        for i in lo .. hi independent {
//!   row = frame [4]f64                     row = frame [4]f64
//!   copy [4]f64 row[..] <- xs[..]   =>     for k in 0 .. 4 {
//!                                            x = xs[f64: ..]; row[f64: ..] = x }
//! ```
//!
//! Such arrays may come to lie interleaved by lane, where a copy as a whole has
//! no meaning; they are small. Needed before statements are numbered.

use crate::syntax::{Access, Expr, For, Function, How, Region, Stmt, Var, VarInfo, VarType};
use prim::PrimType;
use rustc_hash::FxHashSet;
use std::sync::Arc;

struct Expand {
    vars: Vec<VarInfo>,
    /// Buffers that belong to an iteration of an independent loop around.
    own: FxHashSet<Var>,
    /// New variables of the innermost frame.
    fresh: Vec<Var>,
}

/// Expands the copies of a function.
pub(super) fn expand(function: &mut Function) {
    let mut expand = Expand {
        vars: std::mem::take(&mut function.vars),
        own: FxHashSet::default(),
        fresh: Vec::new(),
    };
    expand.block(&mut function.body, false);
    function.vars = expand.vars;
}

impl Expand {
    fn block(&mut self, stmts: &mut Vec<Stmt>, independent: bool) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let before = std::mem::take(stmts);
            stmts.reserve(before.len());
            for mut stmt in before {
                match self.stmt(&mut stmt, independent) {
                    None => stmts.push(stmt),
                    Some(copy) => stmts.extend(copy),
                }
            }
        });
    }

    /// What takes the statement's place, if it is a copy of such an array.
    fn stmt(&mut self, stmt: &mut Stmt, independent: bool) -> Option<Vec<Stmt>> {
        match stmt {
            Stmt::Frame { buffer, .. } if independent => {
                self.own.insert(*buffer);
            }
            Stmt::Borrow(v, w) if self.own.contains(w) => {
                self.own.insert(*v);
            }
            Stmt::If(_, yes, no) => {
                self.block(yes, independent);
                self.block(no, independent);
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
            Stmt::Copy {
                to,
                from,
                elem,
                extents,
            } if self.own.contains(&to.buffer) || self.own.contains(&from.buffer) => {
                return Some(self.copy(to, from, *elem, extents));
            }
            _ => {}
        }
        None
    }

    fn copy(&mut self, to: &Region, from: &Region, elem: PrimType, extents: &[Expr]) -> Vec<Stmt> {
        let x = self.var(elem, "x");
        let counters: Vec<Var> = extents
            .iter()
            .map(|_| self.var(PrimType::I64, "k"))
            .collect();
        let at = |region: &Region| Access {
            buffer: region.buffer,
            elem,
            offset: region.offset.clone(),
            dims: counters
                .iter()
                .map(|k| Expr::Var(*k))
                .zip(region.strides.iter().cloned())
                .collect(),
        };
        let mut body = vec![Stmt::Load(x, at(from)), Stmt::Store(at(to), Expr::Var(x))];
        for (var, extent) in counters.iter().zip(extents).rev() {
            body = vec![Stmt::For(For {
                how: How::Seq { independent: false },
                var: *var,
                from: Expr::i64(0),
                to: extent.clone(),
                body,
            })];
        }
        body
    }

    fn var(&mut self, ty: PrimType, hint: &str) -> Var {
        self.vars.push(VarInfo {
            ty: VarType::Scalar(ty),
            hint: Arc::from(hint),
        });
        let var = Var(self.vars.len() as u32 - 1);
        self.fresh.push(var);
        var
    }
}
