//! The weight of statements: what back ends' passes take for them.

use imp::walk::each_use;
use imp::{Expr, For, LoopMode, Stmt};

/// The weight of a conditional: basic blocks cost a back end more than operations.
const BRANCH: u64 = 6;
/// The weight of a loop: loop passes visit it.
const LOOP: u64 = 64;
/// The weight of a task loop, whose body is a function of its own.
const TASKS: u64 = 50;

/// The weight of one statement without its nested ones.
pub(crate) fn own_weight(stmt: &Stmt) -> u64 {
    let mut weight = match stmt {
        Stmt::If(..) => BRANCH,
        Stmt::While(..) => LOOP,
        Stmt::For(For { mode: how, .. }) => match how {
            LoopMode::Tasks(_) | LoopMode::Grid(_) | LoopMode::Threads(_) => TASKS,
            LoopMode::Seq { .. } | LoopMode::Scheduled | LoopMode::Lanes(_) => LOOP,
        },
        imp::leaf_stmt!() => 1,
    };
    each_use(stmt, &mut |_, _| weight += 1);
    weight
}

/// The weight of all statements of a frame, except those in its task loops and kernels.
pub(crate) fn frame_weight(stmts: &[Stmt]) -> u64 {
    likely_weight(stmts, &|_| false)
}

/// As [`frame_weight`], without the second branches of conditionals whose condition is likely.
pub(crate) fn likely_weight(stmts: &[Stmt], likely: &dyn Fn(&Expr) -> bool) -> u64 {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        stmts
            .iter()
            .map(|stmt| {
                own_weight(stmt)
                    + match stmt {
                        Stmt::If(cond, yes, _) if likely(cond) => likely_weight(yes, likely),
                        Stmt::For(For { mode: LoopMode::Tasks(_) | LoopMode::Grid(_), .. }) => 0,
                        imp::leaf_stmt!() | imp::nested_stmt!() => {
                            stmt.blocks().map(|block| likely_weight(block, likely)).into_iter().sum()
                        }
                    }
            })
            .sum()
    })
}
