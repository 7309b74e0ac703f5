//! The pass `migrate`: scalars computed from array elements stay on the device where that avoids
//! reading them back, as a read waits for all work enqueued on the device.
//!
//! ```text
//! let x = xs[0]                             let s: [1]f32 = segmap grid (_ < 1) {
//! let y = ys[0]                       =>      let x = xs[0]
//! let z = fadd x y                            let y = ys[0]
//! in (z)                                      let z = fadd x y  in (z) }
//!                                           let z = s[0]  in (z)
//! ```
//!
//! A segmap with one iteration computes such scalars and returns one-element arrays: their
//! *storage*. Kernels and other such segmaps read the storage, updates and copies copy from it,
//! branches and loops pass it on; any other use of the scalar reads it back, once.
//!
//! 1. The partition is a minimum cut ([`partition`], [`min_cut`]): a read costs 1, multiplied by 16
//!    for each enclosing loop. Of equal cuts the one that moves least is taken. Branches and loops
//!    move as a whole only if that keeps their conditions on the device. Literals of scalars always
//!    move: each element would be a copy.
//! 2. Statements that move are grouped into as few segmaps as data dependencies and consumption
//!    allow ([`rewrite`], [`storage`], [`groups`]); kernels read storage ([`kernels`]).
//!
//! Before and after: level `segs`. Runs after `sink`, so that reads that only one arm uses happen
//! in that arm, and after simplification, which would undo storage. Statements that a single thread
//! cannot run do not move, so the `offload` pass of `mem` rejects nothing more. Does nothing for
//! target machines without a device, nor in functions that kernels call or that run on the host
//! alone.

mod callable;
mod groups;
mod kernels;
mod min_cut;
mod partition;
mod rewrite;
mod storage;

use analysis::signatures::Signatures;
use callable::Callable;
use ir::version::CallPosition;
use ir::{Context, FunId, PassError, Program, Segs};

/// Moves scalars to the device where that avoids reading them back.
pub(crate) fn migrate(mut program: Program<Segs>, context: &mut Context) -> Result<Program<Segs>, PassError> {
    let Some(level) = program.levels.outermost().filter(|_| program.levels.has_device()) else {
        return Ok(program);
    };
    let signatures = Signatures::of(&program);
    let callable = Callable::of(&program);
    let functions = std::mem::take(&mut program.functions).into_iter().enumerate().collect();
    program.functions = context.each(functions, |(at, function), own| {
        let version = function.version.as_ref();
        let runs_inside =
            version.is_some_and(|it| matches!(it.position, CallPosition::Within { .. } | CallPosition::Host));
        if runs_inside || callable.called_by_kernels(FunId::new(at)) {
            return Ok(function);
        }
        let Some(plan) = partition::partition(&function, &callable) else {
            return Ok(function);
        };
        if !own.fuel.take() {
            return Ok(function);
        }
        Ok::<_, PassError>(rewrite::rewrite(function, &signatures, &plan, level))
    })?;
    Ok(program)
}
