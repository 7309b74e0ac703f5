//! The cost of a statement by the table of latencies, for vector registers of one size.

use imp::walk::{each_operand, lanes_of, type_of};
use imp::{Expr, Var, VarInfo, VarType};
use prim::{PrimType, ScalarOp};
use target::Machine;
use target::latency::{self, Latency};

/// The costs of one statement or of several.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub(super) struct Cost {
    /// The latency from the operands to the result, in cycles.
    pub(super) latency: f64,
    /// The cycles for which it occupies the multipliers.
    pub(super) busy: f64,
    /// The number of operations on vector registers.
    pub(super) operations: f64,
}

/// The cost of an expression: latency along its longest path, the rest in total.
pub(super) fn of(vars: &[VarInfo], expr: &Expr, machine: Machine) -> Cost {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        let mut cost = Cost::default();
        each_operand(expr, &mut |part| {
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

/// The number of vector registers of a variable; 0 for scalars.
pub(super) fn registers_of(vars: &[VarInfo], var: Var, machine: Machine) -> f64 {
    match vars.get(var.index()).map(|info| info.ty) {
        Some(VarType::Vector(ty, lanes)) => share(ty, lanes, machine),
        _ => 0.0,
    }
}

fn share(ty: PrimType, lanes: u32, machine: Machine) -> f64 {
    (f64::from(ty.size() as u32 * lanes) / f64::from(machine.bytes)).max(1.0)
}

/// The number of vector registers of an expression's value.
fn registers(vars: &[VarInfo], expr: &Expr, machine: Machine) -> f64 {
    let (Some(lanes), Some(ty)) = (lanes_of(vars, expr), type_of(vars, expr)) else {
        return 0.0;
    };
    // Comparisons have the operands' width.
    if let Expr::Scalar(ScalarOp::Compare(_, ty, _, _)) = expr {
        share(*ty, lanes, machine)
    } else {
        share(ty, lanes, machine)
    }
}

/// The latency of an operation, and the multipliers' cycles for one register of it.
pub(crate) fn operation(expr: &Expr) -> Latency {
    match expr {
        Expr::Const(_) | Expr::Var(_) | Expr::Tunable(_) | Expr::LogsComparisons | Expr::LaneIds(..) => {
            latency::FREE
        }
        Expr::Splat(_, x) => {
            if matches!(**x, Expr::Const(_)) {
                latency::FREE
            } else {
                latency::SPLAT
            }
        }
        Expr::Scalar(op) => latency::scalar(op),
        Expr::SplitSqrt(_) => latency::SPLIT_ROOT,
        Expr::NewtonQuotient(..) => latency::SHARED_QUOTIENT,
        Expr::Any(_)
        | Expr::All(_)
        | Expr::FirstLane(_)
        | Expr::Count(_)
        | Expr::Pack(..)
        | Expr::Extract(..)
        | Expr::Insert(..)
        | Expr::Shift(..) => latency::CROSS_LANE,
    }
}
