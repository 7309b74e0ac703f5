//! The pass `migrate`: scalars that are computed from elements stay on the device where
//! that saves reading them back, which would wait for all that the device was told to do.
//!
//! ```text
//! let x = xs[0]                             let s: [1]f32 = segmap level 1 (_ < 1) {
//! let y = ys[0]                       =>      let x = xs[0]
//! let z = fadd x y                            let y = ys[0]
//! in (z)                                      let z = fadd x y  in (z) }
//!                                           let z = s[0]  in (z)
//! ```
//!
//! A segmap of one point computes such scalars, and gives arrays of one element: their
//! *storage*. Kernels and other such segmaps read from there, updates and copies copy from
//! there, branches and loops pass it on; whatever else needs the scalar reads it, once.
//!
//! 1. What is computed where is a least cut ([`weigh`], [`flow`]): a read costs 1, in each
//!    loop around it 16 times as much. Of equal cuts the one that moves least is taken.
//!    Branches and loops move as a whole where only that keeps their conditions on the
//!    device. Literals of scalars move in any case: each element would be a copy.
//! 2. Statements that move come together in as few segmaps as data and consumption allow
//!    ([`rewrite`], [`storage`], [`groups`]); kernels read storage ([`kernels`]).
//!
//! Before and after: level `segs`. It stands behind `sink`, so that what one arm alone reads
//! is read in that arm, and behind simplification, which would not know what storage is for.
//! What one thread cannot do does not move, so `place` finds nothing more to refuse. Does
//! nothing on machines without a device, nor in functions that kernels call.

mod callable;
mod flow;
mod groups;
mod kernels;
mod rewrite;
mod storage;
mod weigh;

use crate::passes::Signatures;
use callable::Callable;
use ir::version::Place;
use ir::{Context, PassError, Program, Segs};

/// Moves scalars to the device where that saves reading them.
pub(crate) fn migrate(mut program: Program<Segs>, context: &mut Context) -> Result<Program<Segs>, PassError> {
    if !program.stack.has_device() {
        return Ok(program);
    }
    let signatures = Signatures::of(&program);
    let callable = Callable::of(&program);
    let level = program.stack.outermost();
    let functions = std::mem::take(&mut program.functions);
    program.functions = context.each(functions, |function, own| {
        let version = function.version.as_ref();
        let runs_inside = version.is_some_and(|it| matches!(it.place, Place::Within { .. } | Place::Host));
        if runs_inside || callable.in_kernels(&function.name) {
            return Ok(function);
        }
        let Some(plan) = weigh::weigh(&function, &callable) else {
            return Ok(function);
        };
        if !own.fuel.take() {
            return Ok(function);
        }
        Ok::<_, PassError>(rewrite::rewrite(function, &signatures, &plan, level))
    })?;
    Ok(program)
}
