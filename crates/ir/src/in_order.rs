//! Machines with one thread and no lanes: everything runs in order.
//!
//! Before: combinators that may run side by side. After: for such a machine, each
//! statement that stands outside of all combinators has the attribute that says that it runs in order with all
//! that is in it, so flattening makes loops of all combinators. For other machines
//! nothing changes.

use crate::attrs::Attr;
use crate::pass::Context;
use crate::soac::Soacs;
use crate::syntax::{Body, Exp, Program};
use crate::walk::with_stack;

/// Marks what runs in order on a machine that has no other way.
pub fn in_order(mut program: Program<Soacs>, context: &Context) -> Program<Soacs> {
    if context.options.stack.is_parallel() {
        return program;
    }
    for function in &mut program.functions {
        mark(&mut function.body);
    }
    program
}

/// Marks the statements of a body, also of branches and loops, which stand outside of all
/// combinators too.
fn mark(body: &mut Body<Soacs>) {
    with_stack(|| {
        for stm in &mut body.stms {
            stm.aux.attrs.add(Attr::Sequential);
            match &mut stm.exp {
                Exp::If {
                    then_body,
                    else_body,
                    ..
                } => {
                    mark(then_body);
                    mark(else_body);
                }
                Exp::Loop { body, .. } => mark(body),
                Exp::Basic(_) | Exp::Apply { .. } | Exp::Op(_) => {}
            }
        }
    });
}
