//! Recognition: independent loops around a fold.
//!
//! ```text
//! for i in a .. b independent {
//!   for j in c .. d independent {        (or more loops)
//!     before                             sets and loads
//!     for k in e .. f {                  the fold: nested loops, each with at most one in its body
//!       ..                               sets and loads, conditionals of sets
//!     }
//!     after                              sets, loads, stores, conditionals of these
//!   }
//! }
//! ```
//!
//! Statements between the heads of the independent loops, sets and loads as well, belong to
//! `before`. The iterations may then run in any order, and interleaved: nothing is stored before
//! `after`, and no iteration reads what another one stores.

use imp::def_use::DefUse;
use imp::walk::{Use, divides, each_stmt, each_use, each_var};
use imp::{Expr, For, LoopMode, Stmt, Var, VarInfo, VarType};
use prim::PrimType;
use rustc_hash::FxHashSet;

/// The largest number of statements of a nest.
const MAX_STATEMENTS: usize = 48;
/// The largest number of independent loops that are considered together.
const MAX_LOOPS: usize = 4;

/// A loop's counter and bounds; the bounds are invariant in the nest.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    pub(super) var: Var,
    pub(super) from: Expr,
    pub(super) to: Expr,
}

/// A loop of a fold.
#[derive(Clone, Debug)]
pub(super) struct FoldLoop {
    pub(super) head: Counted,
    /// The statements before the inner loop, or all if there is none.
    pub(super) before: Vec<Stmt>,
    pub(super) inner: Option<Box<FoldLoop>>,
    pub(super) after: Vec<Stmt>,
}

impl FoldLoop {
    /// The loops from this one inwards.
    pub(super) fn levels(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |level| level.inner.as_deref())
    }

    /// The statements of all levels, outermost first.
    pub(super) fn stmts(&self) -> impl Iterator<Item = &Stmt> {
        self.levels().flat_map(|level| level.before.iter().chain(&level.after))
    }
}

/// A nest.
#[derive(Clone, Debug)]
pub(super) struct Nest {
    /// The independent loops, outermost first; at least two.
    pub(super) loops: Vec<Counted>,
    pub(super) before: Vec<Stmt>,
    pub(super) fold: FoldLoop,
    pub(super) after: Vec<Stmt>,
}

impl Nest {
    /// The nest of an independent loop with number `at`.
    pub(super) fn of(f: &For, at: u32, vars: &[VarInfo], def_use: &DefUse) -> Option<Self> {
        if f.mode != (LoopMode::Seq { independent: true }) || !imp::walk::is_at_most(&f.body, MAX_STATEMENTS)
        {
            return None;
        }
        let mut own = FxHashSet::from_iter([f.var]);
        each_stmt(&f.body, &mut |stmt| {
            each_use(stmt, &mut |var, used| {
                if used == Use::Sets {
                    own.insert(var);
                }
            });
        });
        // Every variable belongs to one iteration.
        let end = def_use.end(at);
        let local = |var: &Var| {
            def_use.is_local(*var, at, end) && (*var == f.var || def_use.dominating_def(*var).is_some())
        };
        if !own.iter().all(local) {
            return None;
        }
        let (mut loops, mut before) = (Vec::new(), Vec::new());
        let mut inner = f;
        loop {
            loops.push(counted(inner, vars, &own)?);
            let at = inner.body.iter().position(|stmt| matches!(stmt, Stmt::For(_)))?;
            let (first, rest) = inner.body.split_at(at);
            let (Stmt::For(next), after) = rest.split_first()? else {
                return None;
            };
            if !first.iter().all(is_pure) {
                return None;
            }
            before.extend_from_slice(first);
            if next.mode == (LoopMode::Seq { independent: true })
                && after.is_empty()
                && loops.len() < MAX_LOOPS
            {
                inner = next;
                continue;
            }
            if loops.len() < 2 || !after.iter().all(is_end) {
                return None;
            }
            let fold = fold(next, vars, &own)?;
            return Some(Self { loops, before, fold, after: after.to_vec() });
        }
    }
}

/// A loop's head, if its bounds are invariant and its counter is an `i64`.
fn counted(f: &For, vars: &[VarInfo], own: &FxHashSet<Var>) -> Option<Counted> {
    if vars[f.var.index()].ty != VarType::Scalar(PrimType::I64) {
        return None;
    }
    let mut invariant = true;
    for bound in [&f.from, &f.to] {
        each_var(bound, &mut |var, _| invariant &= !own.contains(&var));
    }
    invariant.then(|| Counted { var: f.var, from: f.from.clone(), to: f.to.clone() })
}

fn fold(f: &For, vars: &[VarInfo], own: &FxHashSet<Var>) -> Option<FoldLoop> {
    if !matches!(f.mode, LoopMode::Seq { .. }) {
        return None;
    }
    let head = counted(f, vars, own)?;
    let at = f.body.iter().position(|stmt| matches!(stmt, Stmt::For(_)));
    let (before, rest) = f.body.split_at(at.unwrap_or(f.body.len()));
    let (inner, after) = match rest.split_first() {
        Some((Stmt::For(next), after)) => (Some(Box::new(fold(next, vars, own)?)), after),
        _ => (None, rest),
    };
    let simple = |stmt: &Stmt| is_pure(stmt) || is_choice(stmt);
    (before.iter().chain(after).all(simple)).then(|| FoldLoop {
        head,
        before: before.to_vec(),
        inner,
        after: after.to_vec(),
    })
}

/// Returns true for sets and loads.
fn is_pure(stmt: &Stmt) -> bool {
    if let Stmt::Set(_, value) = stmt { !divides(value) } else { matches!(stmt, Stmt::Load(..)) }
}

/// Returns true for conditionals of sets.
fn is_choice(stmt: &Stmt) -> bool {
    let Stmt::If(_, yes, no) = stmt else {
        return false;
    };
    yes.iter().chain(no).all(|stmt| is_pure(stmt) && !matches!(stmt, Stmt::Load(..)) || is_choice(stmt))
}

/// Returns true for the statements that may follow the fold.
fn is_end(stmt: &Stmt) -> bool {
    if let Stmt::If(_, yes, no) = stmt {
        return yes.iter().chain(no).all(is_end);
    }
    matches!(stmt, Stmt::Set(..) | Stmt::Load(..) | Stmt::Store(..))
}
