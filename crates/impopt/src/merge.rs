//! Merges equal code, so that back ends compile it once.
//!
//! Inlining, versions of segmented operations and sequential copies of functions leave the same
//! code in many places. After this pass, of functions that are equal up to the names of variables
//! one remains; and loops and bodies of task loops that are equal and large become calls of one
//! [outlined](crate::outline) function:
//!
//! ```text
//! for i < n tasks#0 { body(xs) }         for i < n tasks#0 { merged 1 (i, xs) }
//! for j < m tasks#1 { body(ys) }    =>   for j < m tasks#1 { merged 1 (j, ys) }
//! ```
//!
//! Candidates are grouped by a hash that ignores variables, the largest first; within a group, the
//! outlined functions are compared. The time is linear in the program and the code in groups.
//!
//! Needs: a verified program; runs after all passes that look at loops. Guarantees: a verified
//! program with the same results; launches keep their names and numbers.

mod canonical;
mod functions;
mod regions;
mod sites;

use imp::Program;
use ir::Context;

/// Merges equal functions and regions, each group for one unit of fuel.
pub fn merge(mut program: Program, context: &mut Context) -> Program {
    functions::merge(&mut program, context);
    if regions::merge(&mut program, context) {
        functions::merge(&mut program, context);
    }
    program
}
