//! The stack that frame arrays take, so that recursive functions can check for it before they use
//! it.
//!
//! Before: a verified program. After: for each function the bytes of its own arrays, those of its
//! tasks included, and of the functions that it calls, transitively up to recursive functions,
//! which check the stack themselves: every cycle of calls contains one.

use imp::walk::{callees_first, each_stmt};
use imp::{Program, Stmt};

/// Optimised code may hold an array twice.
const COPIES: u64 = 2;

/// The bytes for each function, in program order.
pub fn stack_bytes(program: &Program) -> Vec<u64> {
    let functions = &program.functions;
    let mut bytes = vec![0u64; functions.len()];
    for at in callees_first(functions) {
        let (mut own, mut deepest) = (0u64, 0);
        each_stmt(&functions[at].body, &mut |stmt| {
            if let Stmt::Frame { elem, count, .. } = stmt {
                let frame = elem.size().saturating_mul(*count).saturating_mul(COPIES);
                own = own.saturating_add(frame);
            }
            if let Stmt::Call { fun, .. } = stmt {
                let callee = fun.index();
                if functions.get(callee).is_some_and(|f| !f.recursive) {
                    deepest = bytes[callee].max(deepest);
                }
            }
        });
        bytes[at] = own.saturating_add(deepest);
    }
    bytes
}
