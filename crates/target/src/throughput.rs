//! The reciprocal throughput of operations in cycles, with enough independent ones: the basis for
//! comparing scalar and vector code. Approximate, and the same everywhere except for differences
//! between microarchitectures ([`Microarchitecture`]), so that a decision does not depend on the machine that
//! the compiler runs on. Chosen by `bench/run.py lanes` and compared with machines by
//! `bench/machine`.

use crate::{Machine, Microarchitecture};
use prim::{BinOp, PrimType, UnOp};

/// The largest distance of elements whose loads read the gaps too and sort the elements by
/// shuffles, instead of a load per lane (`bench/run.py lanes`).
pub const MAX_SHUFFLED_STRIDE: u64 = 4;
/// The ratio of the slowest lane's trip count to the average.
pub const DIVERGENCE: f64 = 1.5;
/// The same for loops whose iterations contain such loops: few rows are much longer than the others
/// (`bench/run.py irregular`: collatz).
pub const NESTED_DIVERGENCE: f64 = 3.0;
/// The average cost of a poorly predictable branch.
pub const BRANCH: f64 = 6.0;
/// A call.
pub const CALL: f64 = 40.0;
/// A quotient by a constant: multiplications and shifts.
pub const BY_CONSTANT: Throughput = throughput(4.0, 6.0);
/// A comparison or a select.
pub const PLAIN: Throughput = throughput(1.0, 1.0);
/// A conversion from a float to an integer.
pub const TO_INTEGER: Throughput = throughput(4.0, 4.0);
/// A function of the mathematical library.
pub const MATH: Throughput = per_lane(CALL, CALL);

/// A fused multiply-add: without the instruction, the cost of the emulation in `llvm`.
pub fn fma(ty: PrimType, machine: Machine) -> Throughput {
    match ty {
        _ if machine.fma => throughput(1.0, 1.0),
        PrimType::F64 => throughput(32.0, 32.0),
        PrimType::I8
        | PrimType::I16
        | PrimType::I32
        | PrimType::I64
        | PrimType::F16
        | PrimType::F32
        | PrimType::Bool => throughput(24.0, 24.0),
    }
}

/// The cost of an operation.
#[derive(Clone, Copy)]
pub struct Throughput {
    /// Cycles for a scalar.
    pub scalar: f64,
    /// Cycles for a vector register.
    pub register: f64,
    /// Cycles per lane, where there is no vector instruction.
    pub lane: f64,
}

/// The cost for scalars and registers.
pub const fn throughput(scalar: f64, register: f64) -> Throughput {
    Throughput { scalar, register, lane: 0.0 }
}

/// The cost for scalars and single lanes.
pub const fn per_lane(scalar: f64, lane: f64) -> Throughput {
    Throughput { scalar, register: 0.0, lane }
}

/// An operator with two operands of a type.
pub fn binary(op: BinOp, ty: PrimType, make: Microarchitecture) -> Throughput {
    match op {
        BinOp::Add | BinOp::Sub | BinOp::And | BinOp::Or | BinOp::Xor => throughput(1.0, 1.0),
        BinOp::SMin | BinOp::UMin | BinOp::SMax | BinOp::UMax => throughput(1.5, 1.0),
        BinOp::FAdd | BinOp::FSub | BinOp::FMul => throughput(1.0, 1.0),
        BinOp::Mul => match ty {
            PrimType::I64 => throughput(1.0, 3.0),
            PrimType::I8 => throughput(1.0, 4.0),
            PrimType::I16
            | PrimType::I32
            | PrimType::F16
            | PrimType::F32
            | PrimType::F64
            | PrimType::Bool => throughput(1.0, 1.5),
        },
        BinOp::Shl | BinOp::LShr | BinOp::AShr => throughput(2.0, 2.0),
        BinOp::FMin | BinOp::FMax => throughput(4.0, 4.0),
        BinOp::FDiv if ty == PrimType::F64 => per_lane(4.0, make.quotient_f64),
        BinOp::FDiv => per_lane(3.0, make.quotient_f32),
        BinOp::SDiv | BinOp::UDiv | BinOp::SMod | BinOp::UMod | BinOp::SQuot | BinOp::SRem => {
            per_lane(12.0, 12.0)
        }
        BinOp::Pow | BinOp::FMod => per_lane(30.0, 32.0),
    }
}

/// An operator with one operand of a type.
pub fn unary(op: UnOp, ty: PrimType, make: Microarchitecture) -> Throughput {
    match op {
        UnOp::FSqrt if ty == PrimType::F64 => per_lane(5.0, make.root_f64),
        UnOp::FSqrt => per_lane(4.0, make.root_f32),
        UnOp::SSignum | UnOp::USignum | UnOp::FSignum => throughput(3.0, 3.0),
        UnOp::FExp2Eighths => throughput(2.0, 2.0),
        UnOp::Clz | UnOp::Ctz | UnOp::Popc => throughput(1.0, 2.0),
        UnOp::Neg
        | UnOp::Not
        | UnOp::Abs
        | UnOp::FNeg
        | UnOp::FAbs
        | UnOp::FFloor
        | UnOp::FCeil
        | UnOp::FRound
        | UnOp::FTrunc => throughput(1.0, 1.0),
    }
}
