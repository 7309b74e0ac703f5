//! Quiet variables: floats that are never signalling NaNs.
//!
//! Arithmetic returns quiet NaNs only. Instructions for the minimum of two floats treat a quiet NaN as the
//! operators do, but not a signalling one, which may come from memory or from bits. Elements of blocks that only the
//! function itself writes are what it stores there.

use imp::walk::{Use, each_operand, each_stmt, each_use, each_var};
use imp::{Expr, Function, Stmt, Var};
use prim::{BinOp, ConvOp, Scalar, ScalarOp, UnOp};
use rustc_hash::FxHashMap;

/// A value of a variable, or of an element of a buffer.
#[derive(Clone, Copy)]
enum Source<'f> {
    Value(&'f Expr),
    ElementOf(Var),
}

/// For each variable of a function, by index, true if it is quiet, for a buffer if its elements are; none if the
/// function has no minimum or maximum of floats.
pub fn quiet_vars(function: &Function) -> Vec<bool> {
    let mut sources: FxHashMap<Var, Vec<Source<'_>>> = FxHashMap::default();
    let mut others: Vec<Var> = function.params.clone();
    let mut needed = false;
    each_stmt(&function.body, &mut |stmt| {
        let (var, source) = match stmt {
            Stmt::Set(var, value) => {
                needed |= takes_minimum(value);
                (*var, Source::Value(value))
            }
            Stmt::Load(var, access) => (*var, Source::ElementOf(access.buffer)),
            Stmt::LoadLanes { var, from, .. } => (*var, Source::ElementOf(from.buffer)),
            Stmt::Store(access, value) => (access.buffer, Source::Value(value)),
            Stmt::StoreLanes { to, value, .. } => (to.buffer, Source::Value(value)),
            // Blocks of the function's own, which no other variable denotes.
            Stmt::Alloc(..) | Stmt::Frame { .. } | Stmt::Release(_) => return,
            Stmt::Share(..)
            | Stmt::Borrow(..)
            | Stmt::Slots(_)
            | Stmt::Copy { .. }
            | Stmt::ConstData(..)
            | Stmt::If(..)
            | Stmt::While(..)
            | Stmt::For(_)
            | Stmt::Call { .. }
            | Stmt::Check { .. }
            | Stmt::RecordComparison(..)
            | Stmt::BeginNest
            | Stmt::EndNest { .. }
            | Stmt::ReadGlobal(..)
            | Stmt::WriteGlobal(..)
            | Stmt::Device(_) => {
                each_use(stmt, &mut |var, used| {
                    let is_buffer = function.vars[var.index()].ty.is_buffer();
                    if used == Use::Sets || is_buffer {
                        others.push(var);
                    }
                });
                return;
            }
        };
        sources.entry(var).or_default().push(source);
    });
    if !needed {
        return Vec::new();
    }
    others.extend(&function.results);
    // The greatest solution: a variable is quiet unless a value of it may not be.
    let mut quiet = vec![true; function.vars.len()];
    let mut readers: FxHashMap<Var, Vec<Var>> = FxHashMap::default();
    for var in (0..function.vars.len()).map(Var::new) {
        for source in sources.get(&var).into_iter().flatten() {
            match source {
                Source::Value(value) => {
                    each_var(value, &mut |read, _| readers.entry(read).or_default().push(var));
                    if !is_quiet(value, &quiet) {
                        others.push(var);
                    }
                }
                Source::ElementOf(buffer) => readers.entry(*buffer).or_default().push(var),
            }
        }
    }
    while let Some(var) = others.pop() {
        if !std::mem::replace(&mut quiet[var.index()], false) {
            continue;
        }
        for reader in readers.get(&var).into_iter().flatten() {
            let mut own = sources.get(reader).into_iter().flatten();
            let loud = own.any(|source| match source {
                Source::Value(value) => !is_quiet(value, &quiet),
                Source::ElementOf(buffer) => !quiet[buffer.index()],
            });
            if loud && quiet[reader.index()] {
                others.push(*reader);
            }
        }
    }
    quiet
}

/// Returns true if an expression contains the minimum or maximum of two floats.
fn takes_minimum(value: &Expr) -> bool {
    let mut found = matches!(value, Expr::Scalar(ScalarOp::Binary(BinOp::FMin | BinOp::FMax, ..)));
    each_operand(value, &mut |part| found |= takes_minimum(part));
    found
}

/// Returns true if an expression's value, or that in each lane, is no signalling NaN.
pub fn is_quiet(value: &Expr, quiet: &[bool]) -> bool {
    let operand = |x: &Expr| is_quiet(x, quiet);
    match value {
        Expr::Const(Scalar::F32(x)) => !x.is_nan(),
        Expr::Const(Scalar::F64(x)) => !x.is_nan(),
        Expr::Var(var) => quiet.get(var.index()) == Some(&true),
        Expr::Splat(_, x) => operand(x),
        Expr::SplitSqrt(_) | Expr::NewtonQuotient(..) => true,
        Expr::Scalar(op) => match op {
            ScalarOp::Binary(op, _, x, y) => {
                matches!(op, BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv)
                    || matches!(op, BinOp::FMin | BinOp::FMax) && operand(x) && operand(y)
            }
            ScalarOp::Fma(..) => true,
            ScalarOp::Unary(op, ..) => *op == UnOp::FSqrt,
            ScalarOp::Select { if_true, if_false, .. } => operand(if_true) && operand(if_false),
            ScalarOp::Convert { op, .. } => matches!(op, ConvOp::SToF | ConvOp::UToF),
            ScalarOp::Compare(..) | ScalarOp::Math(..) => false,
        },
        Expr::Const(_)
        | Expr::Tunable(_)
        | Expr::LogsComparisons
        | Expr::LaneIds(..)
        | Expr::Any(_)
        | Expr::All(_)
        | Expr::FirstLane(_)
        | Expr::Count(_)
        | Expr::Pack(..)
        | Expr::Extract(..)
        | Expr::Insert(..)
        | Expr::Shift(..) => false,
    }
}
