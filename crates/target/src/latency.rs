//! The latency of an operation, and the time for which it occupies the bottleneck units
//! (multipliers), in cycles for a vector register. Approximate: only the distinction of long and
//! short matters. Chosen by `bench/run.py mini --only black_scholes`; latencies are those of
//! uops.info for Zen 4.

use prim::{BinOp, ConvOp, PrimType, UnOp};

/// The latency from the operands to the result, and the cycles of the multipliers.
pub type Latency = (f64, f64);

/// A load from the L1 cache.
pub const LOAD: Latency = (7.0, 0.25);
/// A store.
pub const STORE: Latency = (1.0, 0.25);
/// A broadcast to all lanes.
pub const SPLAT: Latency = (3.0, 0.25);
/// A fused multiply-add.
pub const FMA: Latency = (4.0, 1.0);
/// A comparison.
pub const COMPARE: Latency = (4.0, 1.0);
/// A select.
pub const SELECT: Latency = (1.0, 0.25);
/// A function of the mathematical library.
pub const MATH: Latency = (100.0, 100.0);
/// Two square roots of which the divider computes one.
pub const SPLIT_ROOT: Latency = (22.0, 8.0);
/// A quotient of singles without the divider.
pub const SHARED_QUOTIENT: Latency = (32.0, 9.0);
/// An operation across lanes.
pub const CROSS_LANE: Latency = (5.0, 1.0);
/// An operation without an instruction.
pub const FREE: Latency = (0.0, 0.0);

/// A conversion.
pub fn convert(op: ConvOp) -> Latency {
    match op {
        ConvOp::ToBits | ConvOp::FromBits => FREE,
        ConvOp::SExt
        | ConvOp::ZExt
        | ConvOp::SToF
        | ConvOp::UToF
        | ConvOp::FToS
        | ConvOp::FToU
        | ConvOp::FConv
        | ConvOp::BToI
        | ConvOp::IToB
        | ConvOp::BToF
        | ConvOp::FToB => (4.0, 0.5),
    }
}

/// An operator with one operand of a type.
pub fn unary(op: UnOp, ty: PrimType) -> Latency {
    match op {
        UnOp::FSqrt if ty == PrimType::F64 => (22.0, 2.0),
        UnOp::FSqrt => (15.0, 2.0),
        UnOp::FExp2Eighths => (5.0, 0.25),
        UnOp::FSignum | UnOp::FFloor | UnOp::FCeil | UnOp::FRound | UnOp::FTrunc => (8.0, 1.0),
        UnOp::Neg
        | UnOp::Not
        | UnOp::Abs
        | UnOp::SSignum
        | UnOp::USignum
        | UnOp::Clz
        | UnOp::Ctz
        | UnOp::Popc
        | UnOp::FNeg
        | UnOp::FAbs => (1.0, 0.25),
    }
}

/// An operator with two operands of a type.
pub fn binary(op: BinOp, ty: PrimType) -> Latency {
    match op {
        BinOp::FAdd | BinOp::FSub => (3.0, 0.25),
        BinOp::FMul => (4.0, 1.0),
        BinOp::FDiv if ty == PrimType::F64 => (16.0, 3.0),
        BinOp::FDiv => (12.0, 3.0),
        BinOp::FMin | BinOp::FMax => (6.0, 2.0),
        BinOp::Mul => (6.0, 2.0),
        BinOp::SDiv | BinOp::UDiv | BinOp::SMod | BinOp::UMod | BinOp::SQuot | BinOp::SRem => (30.0, 30.0),
        BinOp::Pow | BinOp::FMod => (100.0, 100.0),
        BinOp::Add
        | BinOp::Sub
        | BinOp::SMin
        | BinOp::UMin
        | BinOp::SMax
        | BinOp::UMax
        | BinOp::Shl
        | BinOp::LShr
        | BinOp::AShr
        | BinOp::And
        | BinOp::Or
        | BinOp::Xor => (1.0, 0.25),
    }
}
