//! Traversals of statements and expressions: nested statements, the variables that a statement
//! names, operands and types.

use crate::syntax::{
    Access, Arg, DeviceOp, Expr, For, Function, LaneAccess, LanePositions, ROOT_LANES, Region, Slots, Stmt,
    Var, VarInfo, VarType,
};
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

/// Calls `f` on every statement, outer ones first.
pub fn each_stmt<'s>(stmts: &'s [Stmt], f: &mut dyn FnMut(&'s Stmt)) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        for stmt in stmts {
            f(stmt);
            match stmt {
                Stmt::If(_, yes, no) => {
                    each_stmt(yes, f);
                    each_stmt(no, f);
                }
                Stmt::While(_, body) | Stmt::For(For { body, .. }) => each_stmt(body, f),
                crate::leaf_stmt!() => {}
            }
        }
    });
}

/// Returns true if there are at most `most` statements, at any depth; visits no more than these.
pub fn is_at_most(stmts: &[Stmt], most: usize) -> bool {
    fn count(stmts: &[Stmt], left: &mut usize) -> bool {
        stmts.iter().all(|stmt| {
            let Some(less) = left.checked_sub(1) else {
                return false;
            };
            *left = less;
            match stmt {
                Stmt::If(_, yes, no) => count(yes, left) && count(no, left),
                Stmt::While(_, body) | Stmt::For(For { body, .. }) => count(body, left),
                crate::leaf_stmt!() => true,
            }
        })
    }
    count(stmts, &mut { most })
}

/// As [`each_stmt`], mutable.
pub fn each_stmt_mut(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Stmt)) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        for stmt in stmts {
            f(stmt);
            match stmt {
                Stmt::If(_, yes, no) => {
                    each_stmt_mut(yes, f);
                    each_stmt_mut(no, f);
                }
                Stmt::While(_, body) | Stmt::For(For { body, .. }) => each_stmt_mut(body, f),
                crate::leaf_stmt!() => {}
            }
        }
    });
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
    match stmt {
        Stmt::Set(v, e) | Stmt::Alloc(v, e, _) => {
            each_var(e, f);
            f(*v, Use::Sets);
        }
        Stmt::Load(v, access) => {
            in_access(access, f);
            f(*v, Use::Sets);
        }
        Stmt::Store(access, e) => {
            each_var(e, f);
            in_access(access, f);
        }
        Stmt::LoadLanes { var, from, mask } => {
            in_lane_access(from, f);
            if let Some(mask) = mask {
                each_var(mask, f);
            }
            f(*var, Use::Sets);
        }
        Stmt::StoreLanes { to, value, mask } => {
            each_var(value, f);
            in_lane_access(to, f);
            if let Some(mask) = mask {
                each_var(mask, f);
            }
        }
        Stmt::Frame { buffer, elem: _, count: _ } => f(*buffer, Use::Sets),
        Stmt::ConstData(v, _) | Stmt::ReadGlobal(v, _) => f(*v, Use::Sets),
        Stmt::Release(v) => {
            f(*v, Use::Reads);
            f(*v, Use::Sets);
        }
        Stmt::Slots(Slots::New(v, e, _)) => {
            each_var(e, f);
            f(*v, Use::Sets);
        }
        Stmt::Slots(Slots::Put { slots, at, block }) => {
            f(*slots, Use::Reads);
            each_var(at, f);
            f(*block, Use::Reads);
            f(*block, Use::Sets);
        }
        Stmt::Slots(Slots::Get { var, slots, at }) => {
            f(*slots, Use::Reads);
            each_var(at, f);
            f(*var, Use::Sets);
        }
        Stmt::WriteGlobal(_, v) | Stmt::While(v, _) => f(*v, Use::Reads),
        Stmt::Share(v, w) | Stmt::Borrow(v, w) => {
            f(*w, Use::Reads);
            f(*v, Use::Sets);
        }
        Stmt::Copy { to, from, elem: _, extents, plan: _ } => {
            for Region { buffer, offset, strides } in [to, from] {
                f(*buffer, Use::Reads);
                each_var(offset, f);
                strides.iter().for_each(|e| each_var(e, f));
            }
            extents.iter().for_each(|e| each_var(e, f));
        }
        Stmt::If(cond, _, _) => each_var(cond, f),
        Stmt::For(loop_) => {
            each_var(&loop_.from, f);
            each_var(&loop_.to, f);
            if let Some(launch) = loop_.mode.launch() {
                each_var(&launch.cost, f);
                for shared in &launch.shared_buffers {
                    each_var(&shared.bytes, f);
                }
            }
            if let Some(slices) = loop_.slices() {
                each_var(&slices.count, f);
            }
            loop_.counters().for_each(|var| f(var, Use::Sets));
        }
        Stmt::Call { fun: _, args, results, location: _ } => {
            for arg in args {
                match arg {
                    Arg::Scalar(e) => each_var(e, f),
                    Arg::Buffer(v) => f(*v, Use::Reads),
                }
            }
            results.iter().for_each(|v| f(*v, Use::Sets));
        }
        Stmt::RecordComparison(_, size) => each_var(size, f),
        Stmt::Device(DeviceOp::Barrier | DeviceOp::SubgroupBarrier(_)) => {}
        Stmt::Device(DeviceOp::Update(update)) => {
            each_var(&update.value, f);
            in_access(&update.at, f);
            if let Some(old) = update.old {
                f(old, Use::Sets);
            }
        }
        Stmt::Device(DeviceOp::CompareExchange { old, at, expected, value }) => {
            each_var(expected, f);
            each_var(value, f);
            in_access(at, f);
            f(*old, Use::Sets);
        }
        Stmt::Device(DeviceOp::Signal { at, value }) => {
            each_var(value, f);
            in_access(at, f);
        }
        Stmt::Device(DeviceOp::Await { var, at }) => {
            in_access(at, f);
            f(*var, Use::Sets);
        }
        Stmt::Check { cond, check: _, values } => {
            each_var(cond, f);
            values.iter().for_each(|e| each_var(e, f));
        }
    }
}

fn in_access(access: &Access, f: &mut dyn FnMut(Var, Use)) {
    f(access.buffer, Use::Reads);
    each_var(&access.offset, f);
    for (index, stride) in &access.dims {
        each_var(index, f);
        each_var(stride, f);
    }
}

fn in_lane_access(access: &LaneAccess, f: &mut dyn FnMut(Var, Use)) {
    f(access.buffer, Use::Reads);
    match &access.at {
        LanePositions::Unit(at) | LanePositions::SmallStride(at, _) | LanePositions::Gather(at) => {
            each_var(at, f);
        }
        LanePositions::Strided(at, stride) => {
            each_var(at, f);
            each_var(stride, f);
        }
    }
}

/// Calls `f` for the variables in an expression.
pub fn each_var(expr: &Expr, f: &mut dyn FnMut(Var, Use)) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        if let Expr::Var(v) = expr {
            f(*v, Use::Reads);
        } else {
            each_operand(expr, &mut |part| each_var(part, f));
        }
    });
}

/// Defines a function that calls another on the operands of an expression.
macro_rules! operands {
    ($(#[$meta:meta])* $name:ident<$($life:lifetime)?>, $operands:ident, $($m:tt)?) => {
        $(#[$meta])*
        pub fn $name$(<$life>)?(
            expr: &$($life)? $($m)? Expr,
            f: &mut dyn FnMut(&$($life)? $($m)? Expr),
        ) {
            match expr {
                Expr::LaneIds(..) | $crate::leaf_expr!() => {}
                Expr::Scalar(op) => op.$operands(|x| f(x)),
                Expr::SplitSqrt(x)
                | Expr::Splat(_, x)
                | Expr::Any(x)
                | Expr::All(x)
                | Expr::FirstLane(x)
                | Expr::Count(x) => f(x),
                Expr::NewtonQuotient(x, y)
                | Expr::Extract(x, y)
                | Expr::Pack(x, y)
                | Expr::Shift(x, _, y) => {
                    f(x);
                    f(y);
                }
                Expr::Insert(x, y, z) => {
                    f(x);
                    f(y);
                    f(z);
                }
            }
        }
    };
}

operands! {
    /// Calls `f` on the operands of an expression, in order.
    each_operand<'s>, each_operand,
}

operands! {
    /// As [`each_operand`], mutable.
    each_part_mut<>, each_operand_mut, mut
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
