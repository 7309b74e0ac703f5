//! Propagation of moves, right after generation: fewer statements for all passes that follow.
//!
//! The generator binds the parameters and results of operators to variables of their own:
//!
//! ```text
//! x = a[i]                    x = a[i]
//! p = acc                     acc = (acc + x)
//! q = x                 =>
//! s = (p + q)
//! acc = s
//! ```
//!
//! A variable that is a copy of another is replaced by it as long as the other keeps its value. Then
//! a value that is only moved to another variable is computed there, if nothing names that variable in
//! between.
//!
//! Needs: a verified program. Guarantees: a verified program with the same results. Kernels are not
//! changed. Variables keep their numbers, by which remarks name the counters of loops.

mod coalesce;
pub(crate) mod windows;

use crate::simplify::{dead, values};
use imp::{Program, captures};
use ir::Context;

/// Propagates the moves of functions, each for one unit of fuel.
pub fn propagate(mut program: Program, context: &mut Context) -> Program {
    program.functions = context.over(program.functions, |mut function, own| {
        if own.fuel.take() {
            values::propagate(&mut function);
            dead::remove_statements(&mut function);
            coalesce::coalesce(&mut function);
            dead::trim(&mut function);
            captures::fill(&mut function);
        }
        function
    });
    program
}
