//! The time of operations on any machine, in sixteenths of a nanosecond: the basis of
//! decompositions and of the choice between tasks and sequential execution by the caller.
//! (`bench/run.py small`: the gain of tasks for calls of 10 µs.)

use prim::{BinClass, BinOp, MathFun, PrimType, ScalarOp};

/// A sum, a comparison, a select.
pub const PLAIN: i64 = 4;
/// A quotient or a power.
pub const DIVISION: i64 = 64;
/// A mathematical function of the library.
const LIBRARY_FUNCTION: i64 = 320;
/// A load.
pub const LOAD: i64 = 8;
/// A store, or an update of an accumulator.
pub const STORE: i64 = 16;
/// An operation on a whole array.
pub const ARRAY: i64 = 400;
/// A branch.
pub const BRANCH: i64 = 8;
/// The overhead of a loop besides its iterations.
pub const LOOP: i64 = 16;
/// A call of a function of unknown cost.
pub const CALL: i64 = crate::TRIPS * 16;

/// The operations on 32-bit floats that all cores of a usual machine do in the time in which they read a
/// byte from memory (`bench/run.py roofline` measures both).
pub const OPERATIONS_PER_BYTE: f64 = 6.0;

/// A mathematical function: the cost of its definition, or that of a library function.
/// (`crates/driver/tests/math.rs` compares these with the definitions.)
pub const fn math(fun: MathFun, ty: PrimType) -> i64 {
    if !fun.has_definition(ty) {
        return LIBRARY_FUNCTION;
    }
    let [single, double] = match fun {
        MathFun::Exp => [92, 116],
        MathFun::Exp2 => [88, 116],
        MathFun::Exp10 => [92, 116],
        MathFun::Expm1 => [108, 128],
        MathFun::Log => [124, 220],
        MathFun::Log2 => [132, 224],
        MathFun::Log10 => [136, 228],
        MathFun::Log1p => [140, 236],
        MathFun::Pow => [328, 660],
        MathFun::Sin => [288, 528],
        MathFun::Cos => [276, 512],
        MathFun::Tan => [432, 692],
        MathFun::Asin => [108, 140],
        MathFun::Acos => [116, 148],
        MathFun::Atan => [156, 204],
        MathFun::Atan2 => [200, 248],
        MathFun::Sinpi => [120, 144],
        MathFun::Cospi => [92, 116],
        MathFun::Tanpi => [264, 296],
        MathFun::Asinpi => [132, 164],
        MathFun::Acospi => [184, 216],
        MathFun::Atanpi => [188, 236],
        MathFun::Atan2pi => [228, 276],
        MathFun::Sinh => [220, 260],
        MathFun::Cosh => [168, 192],
        MathFun::Tanh => [220, 264],
        MathFun::Asinh => [176, 376],
        MathFun::Acosh => [140, 296],
        MathFun::Atanh => [248, 384],
        MathFun::Cbrt => [156, 188],
        MathFun::Hypot => [84, 84],
        MathFun::Erf => [204, 520],
        MathFun::Erfc => [220, 544],
        MathFun::Gamma => [480, 976],
        MathFun::Lgamma => [1244, 1236],
        MathFun::Digamma => [1608, 1600],
        MathFun::Trigamma => [1256, 1248],
        MathFun::Tetragamma => [1432, 1424],
        MathFun::Nextafter | MathFun::Copysign | MathFun::Ldexp => [LIBRARY_FUNCTION; 2],
    };
    if matches!(ty, PrimType::F32) { single } else { double }
}

/// A scalar operation.
pub const fn scalar<X>(op: &ScalarOp<X>) -> i64 {
    match op {
        ScalarOp::Binary(op, ..) => binary(*op),
        ScalarOp::Math(fun, ty, _) => math(*fun, *ty),
        ScalarOp::Unary(..)
        | ScalarOp::Compare(..)
        | ScalarOp::Convert { .. }
        | ScalarOp::Select { .. }
        | ScalarOp::Fma(..) => PLAIN,
    }
}

/// An operator with two scalar operands.
pub const fn binary(op: BinOp) -> i64 {
    match op.class() {
        BinClass::Quotient | BinClass::Remainder | BinClass::Power => DIVISION,
        BinClass::Sum
        | BinClass::Product
        | BinClass::Min(_)
        | BinClass::Max(_)
        | BinClass::Shift
        | BinClass::Bitwise => PLAIN,
    }
}
