//! Traversals of statements and expressions: nested statements, the variables that a statement
//! names, operands and types.

use crate::nodes::{Field, Fields};
pub use crate::nodes::{each_operand, each_part_mut};
use crate::syntax::{Expr, For, Function, ROOT_LANES, Stmt, Var, VarInfo, VarType};
use ir::walk::with_stack;
use prim::{PrimType, ScalarOp};

/// A pattern for the statements with nested statements.
#[macro_export]
macro_rules! nested_stmt {
    () => {
        $crate::Stmt::If(..) | $crate::Stmt::While(..) | $crate::Stmt::For(_)
    };
}

/// A pattern for the statements without nested statements. A match on the nested ones ends with it
/// instead of a wildcard, so that a new statement breaks the build until it is classified. In other
/// crates it may follow arms for some of its statements.
#[macro_export]
macro_rules! leaf_stmt {
    () => {
        $crate::element_stmt!()
            | $crate::resource_stmt!()
            | $crate::Stmt::Copy { .. }
            | $crate::Stmt::Call { .. }
            | $crate::Stmt::Check { .. }
            | $crate::Stmt::Device(_)
    };
}

/// A pattern for the statements that compute, load or store elements.
#[macro_export]
macro_rules! element_stmt {
    () => {
        $crate::Stmt::Set(..)
            | $crate::Stmt::Load(..)
            | $crate::Stmt::Store(..)
            | $crate::Stmt::LoadLanes { .. }
            | $crate::Stmt::StoreLanes { .. }
    };
}

/// A pattern for the statements on buffers as a whole and on the context's state.
#[macro_export]
macro_rules! resource_stmt {
    () => {
        $crate::Stmt::Alloc(..)
            | $crate::Stmt::Frame { .. }
            | $crate::Stmt::Share(..)
            | $crate::Stmt::Borrow(..)
            | $crate::Stmt::Release(_)
            | $crate::Stmt::Slots(_)
            | $crate::Stmt::ConstData(..)
            | $crate::Stmt::RecordComparison(..)
            | $crate::Stmt::BeginNest
            | $crate::Stmt::EndNest { .. }
            | $crate::Stmt::ReadGlobal(..)
            | $crate::Stmt::WriteGlobal(..)
    };
}

/// A pattern for the expressions without operands.
#[macro_export]
macro_rules! leaf_expr {
    () => {
        $crate::Expr::Const(_)
            | $crate::Expr::Var(_)
            | $crate::Expr::Tunable(_)
            | $crate::Expr::LogsComparisons
    };
}

/// A pattern for the expressions that exist only in vector code.
#[macro_export]
macro_rules! vector_expr {
    () => {
        $crate::vector_to_scalar!()
            | $crate::Expr::SplitSqrt(_)
            | $crate::Expr::NewtonQuotient(..)
            | $crate::Expr::Splat(..)
            | $crate::Expr::LaneIds(..)
            | $crate::Expr::Pack(..)
            | $crate::Expr::Insert(..)
            | $crate::Expr::Shift(..)
    };
}

/// A pattern for the expressions that are a scalar computed from a vector.
#[macro_export]
macro_rules! vector_to_scalar {
    () => {
        $crate::Expr::Any(_)
            | $crate::Expr::All(_)
            | $crate::Expr::FirstLane(_)
            | $crate::Expr::Count(_)
            | $crate::Expr::Extract(..)
    };
}

macro_rules! blocks {
    ($(#[$meta:meta])* $blocks:ident, $($m:ident)?) => {
        impl Stmt {
            $(#[$meta])*
            pub fn $blocks(&$($m)? self) -> [&$($m)? [Self]; 2] {
                match self {
                    Self::If(_, yes, no) => [yes, no],
                    Self::While(_, body) | Self::For(For { body, .. }) => [body, &$($m)? []],
                    $crate::leaf_stmt!() => [&$($m)? [], &$($m)? []],
                }
            }
        }
    };
}

blocks! {
    /// The lists of nested statements; the second is that of a conditional's second branch.
    blocks,
}

blocks! {
    /// As [`Self::blocks`], mutable.
    blocks_mut, mut
}

/// Calls `f` on every statement, outer ones first.
pub fn each_stmt<'s>(stmts: &'s [Stmt], f: &mut dyn FnMut(&'s Stmt)) {
    for stmt in stmts {
        f(stmt);
        if matches!(stmt, crate::nested_stmt!()) {
            with_stack(|| stmt.blocks().into_iter().for_each(|block| each_stmt(block, f)));
        }
    }
}

/// As [`each_stmt`], mutable.
pub fn each_stmt_mut(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Stmt)) {
    for stmt in stmts {
        f(stmt);
        if matches!(stmt, crate::nested_stmt!()) {
            with_stack(|| stmt.blocks_mut().into_iter().for_each(|block| each_stmt_mut(block, f)));
        }
    }
}

/// Returns true if there are at most `most` statements, at any depth; visits no more than these.
pub fn is_at_most(stmts: &[Stmt], most: usize) -> bool {
    fn count(stmts: &[Stmt], left: &mut usize) -> bool {
        stmts.iter().all(|stmt| {
            let Some(less) = left.checked_sub(1) else {
                return false;
            };
            *left = less;
            stmt.blocks().into_iter().all(|block| count(block, left))
        })
    }
    count(stmts, &mut { most })
}

/// The kind of a variable's occurrence in a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// The statement reads the variable's value.
    Reads,
    /// The statement sets the variable.
    Sets,
}

/// Calls `f` for the variables that a statement itself names, without its nested statements, in
/// execution order: variables that it reads before variables that it sets.
pub fn each_use(stmt: &Stmt, f: &mut dyn FnMut(Var, Use)) {
    stmt.visit(&mut |field| match field {
        Field::Reads(var) => f(*var, Use::Reads),
        Field::Sets(var) => f(*var, Use::Sets),
        Field::Takes(var) => {
            f(*var, Use::Reads);
            f(*var, Use::Sets);
        }
        Field::Expr(expr) => each_var(expr, f),
        Field::Lists(_) | Field::Block(_) | Field::Check(_) => {}
    });
}

/// Calls `f` for the variables in an expression.
pub fn each_var(expr: &Expr, f: &mut dyn FnMut(Var, Use)) {
    if let Expr::Var(v) = expr {
        f(*v, Use::Reads);
    } else if !matches!(expr, crate::leaf_expr!()) {
        with_stack(|| each_operand(expr, &mut |part| each_var(part, f)));
    }
}

/// The scalar type of a variable, or the element type of a vector; buffers have none.
pub fn scalar_type(vars: &[VarInfo], var: Var) -> Option<PrimType> {
    match vars.get(var.index())?.ty {
        VarType::Scalar(ty) | VarType::Vector(ty, _) => Some(ty),
        VarType::Buffer(_) => None,
    }
}

/// The scalar type of an expression, for a vector that of its elements.
pub fn type_of(vars: &[VarInfo], expr: &Expr) -> Option<PrimType> {
    Some(match expr {
        Expr::Const(x) => x.ty(),
        Expr::Var(v) => return scalar_type(vars, *v),
        Expr::Scalar(op) => op.result_type(),
        Expr::Any(_) | Expr::All(_) | Expr::LogsComparisons => PrimType::Bool,
        Expr::FirstLane(_) | Expr::Count(_) | Expr::Tunable(_) => PrimType::I64,
        Expr::SplitSqrt(_) => PrimType::F64,
        Expr::NewtonQuotient(..) => PrimType::F32,
        Expr::LaneIds(ty, _) => *ty,
        Expr::Splat(_, x)
        | Expr::Pack(x, _)
        | Expr::Extract(x, _)
        | Expr::Insert(x, _, _)
        | Expr::Shift(x, _, _) => {
            return type_of(vars, x);
        }
    })
}

/// The number of lanes of an expression, if it is a vector.
pub fn lanes_of(vars: &[VarInfo], expr: &Expr) -> Option<u32> {
    match expr {
        Expr::Var(v) => match vars.get(v.index())?.ty {
            VarType::Vector(_, lanes) => Some(lanes),
            VarType::Scalar(_) | VarType::Buffer(_) => None,
        },
        Expr::Splat(lanes, _) | Expr::LaneIds(_, lanes) => Some(*lanes),
        Expr::SplitSqrt(_) => Some(ROOT_LANES),
        Expr::Const(_)
        | Expr::Tunable(_)
        | Expr::LogsComparisons
        | Expr::Any(_)
        | Expr::All(_)
        | Expr::FirstLane(_)
        | Expr::Count(_)
        | Expr::Extract(..) => None,
        Expr::Scalar(op) => lanes_of(vars, op.operands().first()?),
        Expr::NewtonQuotient(x, _) | Expr::Pack(x, _) | Expr::Insert(x, _, _) | Expr::Shift(x, _, _) => {
            lanes_of(vars, x)
        }
    }
}

/// Returns true if an expression divides scalars, which must not be executed unless a check before
/// it was.
pub fn divides(e: &Expr) -> bool {
    let mut found = if let Expr::Scalar(ScalarOp::Binary(op, _, _, y)) = e {
        op.is_division() && y.as_const().is_none_or(|by| by.as_i64() == Some(0))
    } else {
        matches!(e, Expr::Scalar(ScalarOp::Math(..)))
    };
    each_operand(e, &mut |part| found |= divides(part));
    found
}

/// The indices of the functions in bottom-up call order, callees before callers; calls of functions
/// marked recursive are ignored. Functions on other call cycles, and their callers, are left out.
pub fn callees_first(functions: &[Function]) -> Vec<usize> {
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); functions.len()];
    let mut calls = vec![0usize; functions.len()];
    for (at, function) in functions.iter().enumerate() {
        each_stmt(&function.body, &mut |stmt| {
            if let Stmt::Call { fun, .. } = stmt {
                let callee = fun.index();
                if functions.get(callee).is_some_and(|f| !f.recursive) {
                    callers[callee].push(at);
                    calls[at] += 1;
                }
            }
        });
    }
    let mut order: Vec<usize> = (0..functions.len()).filter(|at| calls[*at] == 0).collect();
    let mut next = 0;
    while let Some(&done) = order.get(next) {
        next += 1;
        for caller in std::mem::take(&mut callers[done]) {
            calls[caller] -= 1;
            if calls[caller] == 0 {
                order.push(caller);
            }
        }
    }
    order
}
