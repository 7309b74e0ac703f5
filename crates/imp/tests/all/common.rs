//! Helpers for imperative programs written by hand.

use imp::{CodePlacement, Expr, Function, Stmt, Var, VarInfo, VarType};

pub fn v(var: u32) -> Expr {
    Expr::Var(Var(var))
}

/// A function without parameters and results.
pub fn function(name: &str, vars: &[(&str, VarType)], body: Vec<Stmt>) -> Function {
    Function {
        name: name.into(),
        params: vec![],
        results: vec![],
        owned: vec![],
        distinct: vec![],
        vars: vars.iter().map(|(hint, ty)| VarInfo { ty: *ty, hint: (*hint).into() }).collect(),
        body,
        code: CodePlacement::OneModule,
        recursive: false,
    }
}
