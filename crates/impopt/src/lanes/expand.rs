//! Expands copies to or from an iteration's private arrays into loops.
//!
//! ```text
//! for i in lo .. hi independent {        for i in lo .. hi independent {
//!   row = frame [4]f64                     row = frame [4]f64
//!   copy [4]f64 row[..] <- xs[..]   =>     for k in 0 .. 4 {
//!                                            x = xs[f64: ..]; row[f64: ..] = x }
//! ```
//!
//! Such arrays may be interleaved by lane, where a copy as a whole has no meaning; they are small.
//! Runs before statements are numbered.

use super::rewrite::{Fresh, Rule, rewrite};
use imp::{Access, Expr, For, Function, LoopMode, Region, Stmt, Var};
use prim::PrimType;
use rustc_hash::FxHashSet;

/// Buffers that belong to an iteration of an enclosing independent loop.
#[derive(Default)]
struct Expand {
    own: FxHashSet<Var>,
}

/// Expands the copies of a function.
pub(super) fn expand(function: &mut Function) {
    rewrite(function, &mut Expand::default());
}

impl Rule for Expand {
    fn rewrite(&mut self, fresh: &mut Fresh, stmt: Stmt, independent: bool, out: &mut Vec<Stmt>) {
        match &stmt {
            Stmt::Frame { buffer, .. } if independent => {
                self.own.insert(*buffer);
            }
            Stmt::Borrow(v, w) if self.own.contains(w) => {
                self.own.insert(*v);
            }
            Stmt::Copy { to, from, elem, extents, plan: _ }
                if self.own.contains(&to.buffer) || self.own.contains(&from.buffer) =>
            {
                out.extend(loops(fresh, to, from, *elem, extents));
                return;
            }
            imp::leaf_stmt!() | imp::nested_stmt!() => {}
        }
        out.push(stmt);
    }
}

/// The copy as loops over its dimensions.
fn loops(fresh: &mut Fresh, to: &Region, from: &Region, elem: PrimType, extents: &[Expr]) -> Vec<Stmt> {
    let x = fresh.var(elem, "x");
    let counters: Vec<Var> = extents.iter().map(|_| fresh.var(PrimType::I64, "k")).collect();
    let at = |region: &Region| Access {
        buffer: region.buffer,
        elem,
        offset: region.offset.clone(),
        dims: counters.iter().map(|k| Expr::Var(*k)).zip(region.strides.iter().cloned()).collect(),
    };
    let mut body = vec![Stmt::Load(x, at(from)), Stmt::Store(at(to), Expr::Var(x))];
    for (var, extent) in counters.iter().zip(extents).rev() {
        body = vec![Stmt::For(For {
            mode: LoopMode::Seq { independent: false },
            var: *var,
            from: Expr::i64(0),
            to: extent.clone(),
            body,
        })];
    }
    body
}
