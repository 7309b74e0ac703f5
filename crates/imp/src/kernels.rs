//! The kernels of a program, in one order for all who write code of them: its functions in
//! order, and what stands first in each first.
//!
//! Whoever makes a device's code and whoever makes the host's number kernels by this list,
//! so that a launch finds its code. Takes time linear in the program.

use crate::syntax::{For, Function, How, Launch, Program, Space, Stmt};
use crate::walk::each_stmt;
use prim::Scalar;

/// A kernel of a program.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'p> {
    /// The function that launches it.
    pub function: &'p Function,
    /// The loop over its blocks.
    pub grid: &'p For,
    /// What identifies it, and what it takes from the host.
    pub launch: &'p Launch,
}

impl Kernel<'_> {
    /// Whether it may note a failure.
    pub fn can_fail(&self) -> bool {
        can_fail(&self.grid.body)
    }

    /// Threads of a block, if their number is known when code is made.
    pub fn threads(&self) -> Option<u64> {
        let Some(Stmt::For(threads)) = self.grid.body.last() else {
            return None;
        };
        match (&threads.how, &threads.to) {
            (How::Block(_), crate::Expr::Const(Scalar::I64(count))) => u64::try_from(*count).ok(),
            _ => None,
        }
    }
}

/// Whether a program uses memory of a device: programs for one may be without kernels.
pub fn uses_device(program: &Program) -> bool {
    program.functions.iter().any(has_device_memory)
}

/// The same of a function.
pub(crate) fn has_device_memory(function: &Function) -> bool {
    let mut vars = function.vars.iter();
    vars.any(|var| var.ty.space() == Some(Space::Device))
}

/// All kernels of a program.
pub fn kernels(program: &Program) -> Vec<Kernel<'_>> {
    let mut found = Vec::new();
    for function in &program.functions {
        each_stmt(&function.body, &mut |stmt| {
            if let Stmt::For(grid) = stmt
                && let How::Grid(launch) = &grid.how
            {
                found.push(Kernel { function, grid, launch });
            }
        });
    }
    found
}

/// Whether statements may fail.
pub fn can_fail(stmts: &[Stmt]) -> bool {
    let mut found = false;
    each_stmt(stmts, &mut |stmt| {
        found |= matches!(stmt, Stmt::Check { .. } | Stmt::Call { .. });
    });
    found
}
