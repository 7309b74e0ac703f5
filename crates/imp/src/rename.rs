//! Renaming and substitution of variables in statements.

use crate::nodes::{FieldMut, Fields};
use crate::syntax::{Expr, Stmt, Var};
use crate::walk::{each_part_mut, each_stmt_mut};
use ir::walk::with_stack;

/// Calls `f` on every occurrence of a variable in statements, also in nested ones and in the lists
/// of launches.
pub fn each_var_mut(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Var)) {
    each_stmt_mut(stmts, &mut |stmt| {
        stmt.visit_mut(&mut |field| match field {
            FieldMut::Reads(var) | FieldMut::Sets(var) | FieldMut::Takes(var) | FieldMut::Lists(var) => {
                f(var);
            }
            FieldMut::Expr(expr) => each_expr_var_mut(expr, f),
            FieldMut::Block(_) | FieldMut::Check(_) => {}
        });
    });
}

/// Calls `f` on the variables in an expression.
pub fn each_expr_var_mut(expr: &mut Expr, f: &mut dyn FnMut(&mut Var)) {
    each_leaf_mut(expr, &mut |leaf| {
        if let Expr::Var(var) = leaf {
            f(var);
        }
    });
}

/// Substitutes an expression for a variable that the statements read and do not set.
pub fn replace(stmts: &mut [Stmt], var: Var, by: &Expr) {
    let substitute = &mut |leaf: &mut Expr| {
        if *leaf == Expr::Var(var) {
            *leaf = by.clone();
        }
    };
    each_stmt_mut(stmts, &mut |stmt| own_exprs_mut(stmt, &mut |expr| each_leaf_mut(expr, substitute)));
}

/// Calls `f` on the expressions of a statement, without those of its nested statements.
pub fn own_exprs_mut(stmt: &mut Stmt, f: &mut dyn FnMut(&mut Expr)) {
    stmt.visit_mut(&mut |field| {
        if let FieldMut::Expr(expr) = field {
            f(expr);
        }
    });
}

/// Calls `f` on the expressions without operands in an expression.
pub fn each_leaf_mut(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    if matches!(expr, crate::leaf_expr!()) {
        f(expr);
    } else {
        with_stack(|| each_part_mut(expr, &mut |part| each_leaf_mut(part, f)));
    }
}
