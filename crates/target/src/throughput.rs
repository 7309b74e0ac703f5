//! The reciprocal throughput of operations in cycles, with enough independent ones: the basis for
//! comparing scalar and vector code. Approximate, and the same everywhere except for differences
//! between microarchitectures ([`Microarchitecture`]), so that a decision does not depend on the machine that
//! the compiler runs on. Chosen by `bench/run.py lanes` and compared with machines by
//! `bench/machine`.

use crate::{Machine, Microarchitecture};
use prim::{BinClass, BinOp, PrimType, UnClass, UnOp};

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
    match (op.class(), op.is_float()) {
        (BinClass::Sum | BinClass::Bitwise, _) | (BinClass::Product, true) => throughput(1.0, 1.0),
        (BinClass::Min(_) | BinClass::Max(_), false) => throughput(1.5, 1.0),
        (BinClass::Min(_) | BinClass::Max(_), true) => throughput(4.0, 4.0),
        (BinClass::Product, false) if ty == PrimType::I64 => throughput(1.0, 3.0),
        (BinClass::Product, false) if ty == PrimType::I8 => throughput(1.0, 4.0),
        (BinClass::Product, false) => throughput(1.0, 1.5),
        (BinClass::Shift, _) => throughput(2.0, 2.0),
        (BinClass::Quotient, true) if ty == PrimType::F64 => per_lane(4.0, make.quotient_f64),
        (BinClass::Quotient, true) => per_lane(3.0, make.quotient_f32),
        // Products with a reciprocal.
        (BinClass::Quotient | BinClass::Remainder, false) => throughput(12.0, 12.0),
        (BinClass::Power, _) | (BinClass::Remainder, true) => per_lane(30.0, 32.0),
    }
}

/// An operator with one operand of a type.
pub fn unary(op: UnOp, ty: PrimType, make: Microarchitecture) -> Throughput {
    match op.class() {
        UnClass::Root if ty == PrimType::F64 => per_lane(5.0, make.root_f64),
        UnClass::Root => per_lane(4.0, make.root_f32),
        UnClass::Sign => throughput(3.0, 3.0),
        UnClass::Lookup => throughput(2.0, 2.0),
        UnClass::BitCount => throughput(1.0, 2.0),
        UnClass::Negation | UnClass::Absolute | UnClass::Rounding => throughput(1.0, 1.0),
    }
}
