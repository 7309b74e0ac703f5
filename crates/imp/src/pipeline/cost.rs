//! How long an operation's result takes and how long it keeps the units busy
//! that everything waits for (multipliers), in cycles, for vector registers of
//! one size. Rough: what counts is what is long and what is short.

use crate::machine::Machine;
use crate::syntax::{Expr, Var, VarInfo, VarType};
use crate::walk::{each_part, is_division, lanes_of, type_of};
use prim::{BinOp, ConvOp, PrimType, UnOp};

/// The costs of one statement or of several.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub(super) struct Cost {
    /// From the operands to the result.
    pub(super) latency: f64,
    /// Cycles of the multipliers.
    pub(super) busy: f64,
    /// Operations on vector registers.
    pub(super) operations: f64,
}

/// A load from the first cache.
pub(super) const LOAD: (f64, f64) = (7.0, 0.25);
/// A store.
pub(super) const STORE: (f64, f64) = (1.0, 0.25);

/// What an expression costs: latency along its longest path, the rest in all.
pub(super) fn of(vars: &[VarInfo], expr: &Expr, machine: Machine) -> Cost {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        let mut cost = Cost::default();
        each_part(expr, &mut |part| {
            let part = of(vars, part, machine);
            cost.latency = cost.latency.max(part.latency);
            cost.busy += part.busy;
            cost.operations += part.operations;
        });
        let (latency, busy) = operation(expr);
        cost.latency += latency;
        if latency > 0.0 {
            let registers = registers(vars, expr, machine);
            cost.busy += busy * registers.max(0.25);
            cost.operations += registers;
        }
        cost
    })
}

/// How many vector registers a variable takes; 0 for scalars.
pub(super) fn registers_of(vars: &[VarInfo], var: Var, machine: Machine) -> f64 {
    match vars.get(var.index()).map(|info| info.ty) {
        Some(VarType::Vector(ty, lanes)) => share(ty, lanes, machine),
        _ => 0.0,
    }
}

fn share(ty: PrimType, lanes: u32, machine: Machine) -> f64 {
    (f64::from(ty.size() as u32 * lanes) / f64::from(machine.bytes)).max(1.0)
}

/// How many registers an expression's value takes.
fn registers(vars: &[VarInfo], expr: &Expr, machine: Machine) -> f64 {
    let (Some(lanes), Some(ty)) = (lanes_of(vars, expr), type_of(vars, expr)) else {
        return 0.0;
    };
    // Comparisons are made at the operands' width.
    match expr {
        Expr::Compare(_, ty, _, _) => share(*ty, lanes, machine),
        _ => share(ty, lanes, machine),
    }
}

/// Latency of an operation, and cycles of the multipliers for a register of it.
fn operation(expr: &Expr) -> (f64, f64) {
    match expr {
        Expr::Const(_) | Expr::Var(_) | Expr::Lanes(..) => (0.0, 0.0),
        Expr::Splat(_, x) => match **x {
            Expr::Const(_) => (0.0, 0.0),
            _ => (3.0, 0.25),
        },
        Expr::Fma(..) => (4.0, 1.0),
        Expr::Binary(op, ty, _, _) => binary(*op, *ty),
        Expr::Unary(op, ty, _) => match op {
            UnOp::FSqrt if *ty == PrimType::F64 => (22.0, 2.0),
            UnOp::FSqrt => (15.0, 2.0),
            UnOp::FExp2Eighths => (5.0, 0.25),
            UnOp::FSignum | UnOp::FFloor | UnOp::FCeil | UnOp::FRound | UnOp::FTrunc => (8.0, 1.0),
            _ => (1.0, 0.25),
        },
        Expr::SharedRoot(_) => (22.0, 8.0),
        Expr::Compare(..) => (4.0, 1.0),
        Expr::Convert(ConvOp::ToBits | ConvOp::FromBits, _, _, _) => (0.0, 0.0),
        Expr::Convert(..) => (4.0, 0.5),
        Expr::Select(..) => (1.0, 0.25),
        Expr::Math(..) => (100.0, 100.0),
        Expr::Any(_)
        | Expr::All(_)
        | Expr::FirstLane(_)
        | Expr::Count(_)
        | Expr::Pack(..)
        | Expr::Extract(..)
        | Expr::Insert(..)
        | Expr::Shift(..) => (5.0, 1.0),
    }
}

fn binary(op: BinOp, ty: PrimType) -> (f64, f64) {
    match op {
        BinOp::FAdd | BinOp::FSub => (3.0, 0.25),
        BinOp::FMul => (4.0, 1.0),
        BinOp::FDiv if ty == PrimType::F64 => (16.0, 3.0),
        BinOp::FDiv => (12.0, 3.0),
        BinOp::FMin | BinOp::FMax => (6.0, 2.0),
        BinOp::Mul => (6.0, 2.0),
        op if is_division(op) => (30.0, 30.0),
        BinOp::Pow | BinOp::FMod => (100.0, 100.0),
        _ => (1.0, 0.25),
    }
}
