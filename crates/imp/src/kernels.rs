//! The list of a program's kernels: its functions in order, and in each the kernels in order of
//! appearance.
//!
//! The device back end and the host back end number kernels by this list, so that a launch finds
//! its code. Takes time linear in the program.

use crate::syntax::{For, Function, Launch, LoopMode, MemoryId, Program, Stmt};
use crate::walk::each_stmt;
use prim::Scalar;

/// A kernel of a program.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'p> {
    /// The function that launches it.
    pub function: &'p Function,
    /// The loop over its blocks.
    pub grid: &'p For,
    /// The identity of the launch, and its captures.
    pub launch: &'p Launch,
}

impl Kernel<'_> {
    /// Returns true if the kernel may record a failure.
    pub fn can_fail(&self) -> bool {
        can_fail(&self.grid.body)
    }

    /// The number of threads per block, if it is a compile-time constant.
    pub fn threads(&self) -> Option<u64> {
        let Some(Stmt::For(threads)) = self.grid.body.last() else {
            return None;
        };
        match (&threads.mode, &threads.to) {
            (LoopMode::Threads(_), crate::Expr::Const(Scalar::I64(count))) => u64::try_from(*count).ok(),
            _ => None,
        }
    }
}

/// Returns true if a program uses device memory; a program for a device need not have kernels.
pub fn uses_device(program: &Program) -> bool {
    program.functions.iter().any(has_device_memory)
}

/// As [`uses_device`], for one function.
pub fn has_device_memory(function: &Function) -> bool {
    let mut vars = function.vars.iter();
    vars.any(|var| var.ty.memory().is_some_and(MemoryId::is_remote))
}

/// All kernels of a program.
pub fn kernels(program: &Program) -> Vec<Kernel<'_>> {
    let mut found = Vec::new();
    for function in &program.functions {
        each_stmt(&function.body, &mut |stmt| {
            if let Stmt::For(grid) = stmt
                && let LoopMode::Grid(launch) = &grid.mode
            {
                found.push(Kernel { function, grid, launch });
            }
        });
    }
    found
}

/// Returns true if statements may fail.
pub fn can_fail(stmts: &[Stmt]) -> bool {
    let mut found = false;
    each_stmt(stmts, &mut |stmt| {
        found |= matches!(stmt, Stmt::Check { .. } | Stmt::Call { .. });
    });
    found
}
