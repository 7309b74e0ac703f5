//! The latency of an operation, and the time for which it occupies the bottleneck units
//! (multipliers), in cycles for a vector register. Approximate: only the distinction of long and
//! short matters. Chosen by `bench/run.py mini --only black_scholes`; latencies are those of
//! uops.info for Zen 4.

use prim::{BinClass, BinOp, ConvOp, PrimType, ScalarOp, UnClass, UnOp};

/// The latency from the operands to the result, and the cycles of the multipliers.
pub type Latency = (f64, f64);

/// A load from the L1 cache.
pub const LOAD: Latency = (7.0, 0.25);
/// A store.
pub const STORE: Latency = (1.0, 0.25);
/// A broadcast to all lanes.
pub const SPLAT: Latency = (3.0, 0.25);
/// A fused multiply-add.
const FMA: Latency = (4.0, 1.0);
/// A comparison.
const COMPARE: Latency = (4.0, 1.0);
/// A select.
pub const SELECT: Latency = (1.0, 0.25);
/// A function of the mathematical library.
const MATH: Latency = (100.0, 100.0);
/// Two square roots of which the divider computes one.
pub const SPLIT_ROOT: Latency = (22.0, 8.0);
/// A quotient of singles without the divider.
pub const SHARED_QUOTIENT: Latency = (32.0, 9.0);
/// An operation across lanes.
pub const CROSS_LANE: Latency = (5.0, 1.0);
/// An operation without an instruction.
pub const FREE: Latency = (0.0, 0.0);

/// A scalar operation.
pub fn scalar<X>(op: &ScalarOp<X>) -> Latency {
    match op {
        ScalarOp::Unary(op, ty, _) => unary(*op, *ty),
        ScalarOp::Binary(op, ty, ..) => binary(*op, *ty),
        ScalarOp::Compare(..) => COMPARE,
        ScalarOp::Convert { op, .. } => convert(*op),
        ScalarOp::Select { .. } => SELECT,
        ScalarOp::Fma(..) => FMA,
        ScalarOp::Math(..) => MATH,
    }
}

/// A conversion.
fn convert(op: ConvOp) -> Latency {
    if op.is_bit_cast() { FREE } else { (4.0, 0.5) }
}

/// An operator with one operand of a type.
fn unary(op: UnOp, ty: PrimType) -> Latency {
    match op.class() {
        UnClass::Root if ty == PrimType::F64 => (22.0, 2.0),
        UnClass::Root => (15.0, 2.0),
        UnClass::Lookup => (5.0, 0.25),
        UnClass::Sign if op.is_float() => (8.0, 1.0),
        UnClass::Rounding => (8.0, 1.0),
        UnClass::Negation | UnClass::Absolute | UnClass::Sign | UnClass::BitCount => (1.0, 0.25),
    }
}

/// An operator with two operands of a type.
fn binary(op: BinOp, ty: PrimType) -> Latency {
    match (op.class(), op.is_float()) {
        (BinClass::Sum, true) => (3.0, 0.25),
        (BinClass::Product, true) => (4.0, 1.0),
        (BinClass::Quotient, true) if ty == PrimType::F64 => (16.0, 3.0),
        (BinClass::Quotient, true) => (12.0, 3.0),
        (BinClass::Min(_) | BinClass::Max(_), true) | (BinClass::Product, false) => (6.0, 2.0),
        (BinClass::Quotient | BinClass::Remainder, false) => (30.0, 30.0),
        (BinClass::Power, _) | (BinClass::Remainder, true) => (100.0, 100.0),
        (BinClass::Sum | BinClass::Min(_) | BinClass::Max(_), false)
        | (BinClass::Shift | BinClass::Bitwise, _) => (1.0, 0.25),
    }
}
