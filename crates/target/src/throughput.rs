//! How many operations of a kind a processor finishes, in cycles, where enough of
//! them are independent: what scalar code and vector code are compared by. Rough,
//! and the same everywhere but for what makes of processors differ in ([`Make`]), so
//! that a decision is the same wherever the compiler runs. Chosen by `bench/run.py
//! lanes` and held against machines by `bench/machine`.

use crate::{Machine, Make};
use prim::{BinOp, PrimType, UnOp};

/// Loads of elements at most so far apart read the gaps too and sort what they
/// read by shuffles, rather than load each lane by itself (`bench/run.py lanes`).
pub const NEAR: u64 = 4;
/// How much longer the slowest lane goes on than an average one.
pub const STRAGGLERS: f64 = 1.5;
/// The same of loops whose turns are such loops: few rows are much longer than the others
/// (`bench/irregular.py`: collatz).
pub const SKEW: f64 = 3.0;
/// A branch that is hard to foresee, on average.
pub const BRANCH: f64 = 6.0;
/// A call.
pub const CALL: f64 = 40.0;
/// A quotient by a constant: multiplications and shifts.
pub const BY_CONSTANT: Price = price(4.0, 6.0);
/// A comparison or a choice.
pub const PLAIN: Price = price(1.0, 1.0);
/// From a float to an integer.
pub const TO_INTEGER: Price = price(4.0, 4.0);
/// A function of the mathematical library.
pub const MATH: Price = by_lane(CALL, CALL);

/// A fused multiply-add: where there is no instruction, as many as `llvm` puts there.
pub fn fma(ty: PrimType, machine: Machine) -> Price {
    match ty {
        _ if machine.fma => price(1.0, 1.0),
        PrimType::F64 => price(32.0, 32.0),
        PrimType::I8
        | PrimType::I16
        | PrimType::I32
        | PrimType::I64
        | PrimType::F16
        | PrimType::F32
        | PrimType::Bool => price(24.0, 24.0),
    }
}

/// How expensive an operation is.
#[derive(Clone, Copy)]
pub struct Price {
    /// Cycles of a scalar.
    pub scalar: f64,
    /// Cycles of a vector register.
    pub register: f64,
    /// Cycles of each lane, where there is no vector instruction.
    pub lane: f64,
}

/// A price for scalars and registers.
pub const fn price(scalar: f64, register: f64) -> Price {
    Price { scalar, register, lane: 0.0 }
}

/// A price for scalars and lanes one by one.
pub const fn by_lane(scalar: f64, lane: f64) -> Price {
    Price { scalar, register: 0.0, lane }
}

/// An operator on two operands of a type.
pub fn binary(op: BinOp, ty: PrimType, make: Make) -> Price {
    match op {
        BinOp::Add | BinOp::Sub | BinOp::And | BinOp::Or | BinOp::Xor => price(1.0, 1.0),
        BinOp::SMin | BinOp::UMin | BinOp::SMax | BinOp::UMax => price(1.5, 1.0),
        BinOp::FAdd | BinOp::FSub | BinOp::FMul => price(1.0, 1.0),
        BinOp::Mul => match ty {
            PrimType::I64 => price(1.0, 3.0),
            PrimType::I8 => price(1.0, 4.0),
            PrimType::I16
            | PrimType::I32
            | PrimType::F16
            | PrimType::F32
            | PrimType::F64
            | PrimType::Bool => price(1.0, 1.5),
        },
        BinOp::Shl | BinOp::LShr | BinOp::AShr => price(2.0, 2.0),
        BinOp::FMin | BinOp::FMax => price(4.0, 4.0),
        BinOp::FDiv if ty == PrimType::F64 => by_lane(4.0, make.quotient_f64),
        BinOp::FDiv => by_lane(3.0, make.quotient_f32),
        BinOp::SDiv | BinOp::UDiv | BinOp::SMod | BinOp::UMod | BinOp::SQuot | BinOp::SRem => {
            by_lane(12.0, 12.0)
        }
        BinOp::Pow | BinOp::FMod => by_lane(30.0, 32.0),
    }
}

/// An operator on one operand of a type.
pub fn unary(op: UnOp, ty: PrimType, make: Make) -> Price {
    match op {
        UnOp::FSqrt if ty == PrimType::F64 => by_lane(5.0, make.root_f64),
        UnOp::FSqrt => by_lane(4.0, make.root_f32),
        UnOp::SSignum | UnOp::USignum | UnOp::FSignum => price(3.0, 3.0),
        UnOp::FExp2Eighths => price(2.0, 2.0),
        UnOp::Clz | UnOp::Ctz | UnOp::Popc => price(1.0, 2.0),
        UnOp::Neg
        | UnOp::Not
        | UnOp::Abs
        | UnOp::FNeg
        | UnOp::FAbs
        | UnOp::FFloor
        | UnOp::FCeil
        | UnOp::FRound
        | UnOp::FTrunc => price(1.0, 1.0),
    }
}
