//! Simplifies loops and scalars before back ends see them: less text, the same code.
//!
//! - Loops of one iteration outside of other loops become their bodies, loops of none disappear.
//!   Vector lanes leave many. Inside of loops they remain: LLVM unrolls and schedules loops by their
//!   nesting, and the inner loop of a reduction of 2x2 matrices took 1.6 times as long without.
//! - Copies of variables and constants are propagated, constants folded; conditionals of constants
//!   become one branch.
//! - Values that nothing reads are not computed.
//!
//! LLVM does all this too, but only after its first passes, and prepares each loop for its loop
//! passes before.
//!
//! Needs: a verified program; runs after `pipeline`, whose choices depend on the loops. Guarantees: a
//! verified program with the same results. Kernels are not changed.

pub(crate) mod dead;
mod fold;
pub(crate) mod values;

use imp::captures;
use imp::{Function, Program};
use ir::Context;

/// Simplifies functions, each for one unit of fuel.
pub fn simplify(mut program: Program, context: &mut Context) -> Program {
    program.functions = context.over(program.functions, |mut function, own| {
        if own.fuel.take() {
            simplify_function(&mut function);
        }
        function
    });
    program
}

fn simplify_function(function: &mut Function) {
    values::propagate_and_unroll(function);
    dead::remove(function);
    captures::fill(function);
}
