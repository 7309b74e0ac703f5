//! Interiors: the iterations of a loop in which indices are not bounded by an edge, or wrapped around one.
//!
//! ```text
//! for x in lo .. hi independent {              for side in 0 .. 2 {
//!   for d in 0 .. 5 {                            for x in <lo .. a, or b .. hi> independent { .. }
//!     i = max(0, min(w - 1, x + d - 2))    =>    if side == 0 {
//!     .. xs[i] ..                                  for x in a .. b independent { .. i = x + d - 2 .. }
//!   }                                            }
//! }                                            }
//! ```
//!
//! Stencils read so at the borders of an array. In the interior, from `a = 2` to `b = w - 2`, they read neighbouring
//! elements, which vectors load at once. The bounds follow from the interval of the numbers that are added to the counter; where
//! sizes are so large that a bound might overflow, all iterations run as before. The order of iterations is kept.
//!
//! Runs before loops are chosen. Needs: independent loops without tasks. Guarantees that every iteration computes what
//! it did.

mod forms;

use crate::loop_copies::LoopCopies;
use crate::loops::ReplaceLoops;
use forms::{Form, Forms, form};
use imp::build::{max, min, select, ult};
use imp::def_use::DefUse;
use imp::walk::{Use, each_stmt, each_stmt_mut, each_use, each_var, is_at_most};
use imp::{Access, Expr, For, Function, Launch, LoopMode, Stmt, Var, VarType, expr};
use ir::Fuel;
use prim::{BinClass, BinOp, PrimType, Scalar, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest number of statements of a body.
const MAX_STATEMENTS: usize = 64;
/// The largest number of different bounds of an interior.
const MAX_BOUNDS: usize = 8;
/// Sizes below this do not overflow when they are added.
const SMALL: i64 = 1 << 50;

/// Splits the loops of a function. Returns the numbers of its statements.
pub(super) fn split(function: &mut Function, def_use: DefUse, fuel: &mut Fuel) -> DefUse {
    let mut pass = Splitter { copies: LoopCopies::of(function, def_use), fuel };
    let body = std::mem::take(&mut function.body);
    function.body = pass.block(body, DefUse::FIRST);
    pass.copies.finish(function)
}

struct Splitter<'f> {
    copies: LoopCopies,
    fuel: &'f mut Fuel,
}

/// The iterations in which indices are not bounded.
#[derive(Default)]
struct Interior {
    /// The counter is not below these, and not above those.
    least: Vec<Expr>,
    most: Vec<Expr>,
    /// The variables that equal an operand of what sets them.
    unbounded: FxHashMap<Var, Expr>,
}

impl ReplaceLoops for Splitter<'_> {
    type Mark = usize;

    fn def_use(&self) -> &DefUse {
        &self.copies.def_use
    }

    fn replace(&mut self, f: For, at: u32, out: &mut Vec<Stmt>) -> Option<For> {
        match self.interior(&f, at).filter(|_| self.fuel.take()) {
            Some(interior) => self.parts(f, at, &interior, out),
            None => return Some(f),
        }
        None
    }

    fn mark(&self) -> usize {
        self.copies.mark()
    }

    fn leave(&mut self, mark: usize, launch: &mut Launch) {
        self.copies.leave(mark, launch);
    }
}

impl Splitter<'_> {
    /// The interior of a loop, if it then accesses neighbouring elements.
    fn interior(&self, f: &For, at: u32) -> Option<Interior> {
        if f.mode != (LoopMode::Seq { independent: true })
            || self.copies.vars[f.var.index()].ty != VarType::Scalar(PrimType::I64)
            || !is_at_most(&f.body, MAX_STATEMENTS)
        {
            return None;
        }
        let end = self.copies.def_use.end(at);
        let mut forms = Forms::default();
        let mut plain = true;
        each_stmt(&f.body, &mut |stmt| {
            plain &= !matches!(stmt, Stmt::For(inner) if inner.mode.launch().is_some());
            each_use(stmt, &mut |var, used| {
                if used == Use::Sets {
                    let is_scalar = !self.copies.vars[var.index()].ty.is_buffer();
                    plain &= is_scalar && self.copies.def_use.is_local(var, at, end);
                    forms.insert(var, None);
                }
            });
        });
        if !plain {
            return None;
        }
        forms.insert(f.var, Some(Form::counter()));
        let mut interior = Interior::default();
        let mut neighbours = false;
        each_stmt(&f.body, &mut |stmt| {
            if let Stmt::For(inner) = stmt
                && self.copies.vars[inner.var.index()].ty == VarType::Scalar(PrimType::I64)
            {
                let (from, to) = (form(&inner.from, &forms), form(&inner.to, &forms));
                if let (Some(from), Some(to)) = (from, to)
                    && !from.moves
                    && !to.moves
                {
                    let counter = Form { moves: false, lo: from.lo, hi: to.hi - 1 };
                    forms.insert(inner.var, Some(counter));
                }
            }
            if let Stmt::Set(var, value) = stmt
                && self.is_set_once(*var)
            {
                let own = interior.unbounded(*var, value, &forms).or_else(|| form(value, &forms));
                forms.insert(*var, own);
            }
            if let Stmt::Load(_, access) | Stmt::Store(access, _) = stmt {
                neighbours |= interior.has_neighbours(access, &forms);
            }
        });
        let bounds = interior.least.len() + interior.most.len();
        (neighbours && bounds <= MAX_BOUNDS).then_some(interior)
    }

    fn is_set_once(&self, var: Var) -> bool {
        self.copies.vars[var.index()].ty == VarType::Scalar(PrimType::I64)
            && self.copies.def_use.is_set_once(var)
            && self.copies.def_use.dominating_def(var).is_some()
    }

    /// The loop over the edges, with that over the interior between them.
    fn parts(&mut self, f: For, at: u32, interior: &Interior, out: &mut Vec<Stmt>) {
        let [lo, hi]: [Expr; 2] = [(&f.from, "lo"), (&f.to, "hi")].map(|(bound, hint)| {
            if matches!(bound, Expr::Const(_) | Expr::Var(_)) {
                return bound.clone();
            }
            let var = self.copies.scalar(PrimType::I64, hint);
            out.push(Stmt::Set(var, bound.clone()));
            var.into()
        });
        let first = interior.least.iter().fold(lo.clone(), |all, bound| max(all, bound.clone()));
        let end = interior.most.iter().fold(hi.clone(), |all, bound| min(all, bound.clone() + 1));
        let mut small = Expr::Const(Scalar::Bool(true));
        let mut seen: FxHashSet<Var> = FxHashSet::default();
        for bound in [&first, &end] {
            each_var(bound, &mut |var, _| {
                if seen.insert(var) {
                    small = expr!(small.clone() && ult(Expr::Var(var) + SMALL, 2 * SMALL));
                }
            });
        }
        let mut bind = |value: Expr, hint: &str| {
            let var = self.copies.scalar(PrimType::I64, hint);
            out.push(Stmt::Set(var, value));
            var
        };
        let first = bind(select(small.clone(), min(first, hi.clone()), hi.clone()), "first");
        let end = bind(select(small, max(end, first), hi.clone()), "end");
        let end = bind(min(end, hi.clone()), "end");
        let side = self.copies.scalar(PrimType::I64, "side");
        let mut inside = vec![Stmt::For(For { from: first.into(), to: end.into(), ..f.clone() })];
        each_stmt_mut(&mut inside, &mut |stmt| {
            if let Stmt::Set(var, value) = stmt
                && let Some(operand) = interior.unbounded.get(var)
            {
                *value = operand.clone();
            }
        });
        self.copies.rename(&mut inside, at);
        let is_first = expr!(side == 0);
        let edge =
            For { from: select(is_first.clone(), lo, end), to: select(is_first.clone(), first, hi), ..f };
        let body = vec![Stmt::For(edge), Stmt::If(is_first, inside, Vec::new())];
        let mode = LoopMode::Seq { independent: false };
        out.push(Stmt::For(For { mode, var: side, from: Expr::i64(0), to: Expr::i64(2), body }));
    }
}

impl Interior {
    /// The form of a variable that equals an operand in the interior; `None` if it does not.
    fn unbounded(&mut self, var: Var, value: &Expr, forms: &Forms) -> Option<Form> {
        let Expr::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y)) = value else {
            return None;
        };
        let (left, right) = (form(x, forms)?, form(y, forms)?);
        let (operand, index, other) = match (left.moves, right.moves, op) {
            (true, false, _) => (x, left, right),
            (false, true, BinOp::SMin | BinOp::SMax) => (y, right, left),
            _ => return None,
        };
        if *op == BinOp::SMax {
            add(&mut self.least, other.hi - index.lo.clone());
        } else if *op == BinOp::SMin {
            add(&mut self.most, other.lo - index.hi.clone());
        } else if op.class() == BinClass::Remainder {
            add(&mut self.least, Expr::i64(0) - index.lo.clone());
            add(&mut self.most, other.lo - 1 - index.hi.clone());
        } else {
            return None;
        }
        self.unbounded.insert(var, (**operand).clone());
        Some(index)
    }

    /// Returns true if an unbounded variable is an index of neighbouring elements.
    fn has_neighbours(&self, access: &Access, forms: &Forms) -> bool {
        access.dims.iter().any(|(index, stride)| {
            let mut bounded = false;
            each_var(index, &mut |var, _| bounded |= self.unbounded.contains_key(&var));
            bounded && *stride == Expr::i64(1) && form(index, forms).is_some_and(|form| form.moves)
        })
    }
}

fn add(bounds: &mut Vec<Expr>, bound: Expr) {
    if !bounds.contains(&bound) {
        bounds.push(bound);
    }
}
