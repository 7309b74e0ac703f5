//! Checks that functions called by kernels only do what a thread can do.

use imp::walk::each_stmt;
use imp::{FunId, Function, LoopMode, Stmt};
use ir::PassError;

/// Rejects programs in which a kernel calls a function with operations of the host.
pub(crate) fn check_callees(functions: &[Function]) -> Result<(), PassError> {
    let mut open: Vec<FunId> = Vec::new();
    for function in functions {
        each_stmt(&function.body, &mut |stmt| {
            if let Stmt::For(f) = stmt
                && let LoopMode::Grid(_) = &f.mode
            {
                calls(&f.body, &mut open);
            }
        });
    }
    let mut seen = vec![false; functions.len()];
    while let Some(FunId(at)) = open.pop() {
        let at = at as usize;
        let (Some(function), Some(seen @ false)) = (functions.get(at), seen.get_mut(at)) else {
            continue;
        };
        *seen = true;
        if let Some(what) = unsupported_in_thread(&function.body) {
            return Err(PassError::unsupported(
                format!("functions with {what} in device kernels"),
                Vec::new(),
            ));
        }
        calls(&function.body, &mut open);
    }
    Ok(())
}

fn calls(stmts: &[Stmt], found: &mut Vec<FunId>) {
    each_stmt(stmts, &mut |stmt| {
        if let Stmt::Call { fun, .. } = stmt {
            found.push(*fun);
        }
    });
}

/// A description of the first operation that a thread cannot execute, if there is one.
fn unsupported_in_thread(stmts: &[Stmt]) -> Option<&'static str> {
    let mut found = None;
    each_stmt(stmts, &mut |stmt| {
        found = found.or(match stmt {
            Stmt::Alloc(..)
            | Stmt::Frame { .. }
            | Stmt::Share(..)
            | Stmt::Release(_)
            | Stmt::Slots(_)
            | Stmt::Copy { .. }
            | Stmt::ConstData(..) => Some("arrays"),
            Stmt::ReadGlobal(..) | Stmt::WriteGlobal(..) => Some("constants"),
            Stmt::RecordComparison(..) => Some("tuning parameters"),
            Stmt::For(f) if f.mode.is_kernel() => Some("kernels"),
            imp::element_stmt!()
            | imp::nested_stmt!()
            | Stmt::Borrow(..)
            | Stmt::Call { .. }
            | Stmt::Check { .. }
            | Stmt::Device(_) => None,
        });
    });
    found
}
