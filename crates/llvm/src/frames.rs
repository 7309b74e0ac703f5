//! How much stack the arrays in frames take, so that functions that call themselves can ask
//! for it before they take it.
//!
//! Before: a verified program. After: for each function the bytes of its own arrays, those
//! of tasks that it begins among them, and of the functions that it calls, down to those
//! that ask for themselves: calls go round in circles through these alone.

use imp::walk::each_stmt;
use imp::{Program, Stmt};

/// Code as optimised may hold an array twice.
const COPIES: u64 = 2;

/// The bytes for each function, in the order of the program.
pub fn needs(program: &Program) -> Vec<u64> {
    let functions = &program.functions;
    let mut needs = vec![0u64; functions.len()];
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); functions.len()];
    let mut calls = vec![0usize; functions.len()];
    for (at, function) in functions.iter().enumerate() {
        let mut own = 0u64;
        each_stmt(&function.body, &mut |stmt| {
            if let Stmt::Frame { elem, count, .. } = stmt {
                let bytes = elem.size().saturating_mul(*count).saturating_mul(COPIES);
                own = own.saturating_add(bytes);
            }
            if let Stmt::Call { fun, .. } = stmt {
                let callee = fun.0 as usize;
                if functions.get(callee).is_some_and(|f| !f.recursive) {
                    callers[callee].push(at);
                    calls[at] += 1;
                }
            }
        });
        needs[at] = own;
    }
    // Callees come before their callers.
    let mut deepest = vec![0u64; functions.len()];
    let mut ready: Vec<usize> = (0..functions.len()).filter(|at| calls[*at] == 0).collect();
    while let Some(done) = ready.pop() {
        needs[done] = needs[done].saturating_add(deepest[done]);
        for caller in std::mem::take(&mut callers[done]) {
            deepest[caller] = deepest[caller].max(needs[done]);
            calls[caller] -= 1;
            if calls[caller] == 0 {
                ready.push(caller);
            }
        }
    }
    needs
}
