//! The operator table: each operator once, with its spelling and its operand types.
//!
//! An operator's full spelling in IR text is `name.type`, for instance `sdiv.i32`; a conversion is
//! `name.from.to`, for instance `sext.i8.i64`.

use crate::PrimType;

/// The operand types that an operator accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Integers of any width.
    Int,
    /// Floats of any width.
    Float,
    /// 64-bit floats.
    Double,
    /// Truth values.
    Bool,
    /// Integers and truth values (bitwise operators).
    Bits,
    /// Any scalar type.
    Any,
}

impl Domain {
    /// Returns true if the type is in the domain.
    pub const fn contains(self, ty: PrimType) -> bool {
        match self {
            Self::Int => ty.is_int(),
            Self::Float => ty.is_float(),
            Self::Double => matches!(ty, PrimType::F64),
            Self::Bool => matches!(ty, PrimType::Bool),
            Self::Bits => ty.is_int() || matches!(ty, PrimType::Bool),
            Self::Any => true,
        }
    }
}

macro_rules! operators {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal, $domain:ident;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// Every operator, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The spelling in IR text, without the type.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The operand types it takes.
            pub const fn domain(self) -> Domain {
                match self { $(Self::$variant => Domain::$domain,)* }
            }

            /// The operator with this spelling.
            pub fn from_name(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

operators! {
    /// Binary operators; operands and result have one type.
    BinOp {
        /// Wrapping integer addition.
        Add = "add", Int;
        /// Wrapping integer subtraction.
        Sub = "sub", Int;
        /// Wrapping integer multiplication.
        Mul = "mul", Int;
        /// Signed division, rounding towards negative infinity (source `/`).
        SDiv = "sdiv", Int;
        /// Unsigned division.
        UDiv = "udiv", Int;
        /// Signed modulo with the sign of the divisor (source `%`).
        SMod = "smod", Int;
        /// Unsigned modulo.
        UMod = "umod", Int;
        /// Signed division, rounding towards zero (source `//`).
        SQuot = "squot", Int;
        /// Signed remainder with the sign of the dividend (source `%%`).
        SRem = "srem", Int;
        /// Signed minimum.
        SMin = "smin", Int;
        /// Unsigned minimum.
        UMin = "umin", Int;
        /// Signed maximum.
        SMax = "smax", Int;
        /// Unsigned maximum.
        UMax = "umax", Int;
        /// Shift left; 0 when the amount (unsigned) is the width or more.
        Shl = "shl", Int;
        /// Logical shift right; 0 when the amount (unsigned) is the width or more.
        LShr = "lshr", Int;
        /// Arithmetic shift right; the sign fills when the amount (unsigned) is the width or more.
        AShr = "ashr", Int;
        /// Bitwise and; on truth values without short circuit.
        And = "and", Bits;
        /// Bitwise or; on truth values without short circuit.
        Or = "or", Bits;
        /// Bitwise exclusive or.
        Xor = "xor", Bits;
        /// Integer power, wrapping; the exponent counts as unsigned (programs check signed ones).
        Pow = "pow", Int;
        /// Float addition.
        FAdd = "fadd", Float;
        /// Float subtraction.
        FSub = "fsub", Float;
        /// Float multiplication.
        FMul = "fmul", Float;
        /// Float division.
        FDiv = "fdiv", Float;
        /// Float remainder with the sign of the dividend, as C's `fmod` (source `%`).
        FMod = "fmod", Float;
        /// Float minimum, -0.0 below 0.0; the other operand when one is a NaN.
        FMin = "fmin", Float;
        /// Float maximum, -0.0 below 0.0; the other operand when one is a NaN.
        FMax = "fmax", Float;
    }
}

impl BinOp {
    /// Returns true if it divides integers: then it has no value for a divisor of 0.
    pub const fn is_division(self) -> bool {
        match self {
            Self::SDiv | Self::UDiv | Self::SMod | Self::UMod | Self::SQuot | Self::SRem => true,
            Self::Add
            | Self::Sub
            | Self::Mul
            | Self::SMin
            | Self::UMin
            | Self::SMax
            | Self::UMax
            | Self::Shl
            | Self::LShr
            | Self::AShr
            | Self::And
            | Self::Or
            | Self::Xor
            | Self::Pow
            | Self::FAdd
            | Self::FSub
            | Self::FMul
            | Self::FDiv
            | Self::FMod
            | Self::FMin
            | Self::FMax => false,
        }
    }
}

operators! {
    /// Unary operators; operand and result have one type.
    UnOp {
        /// Wrapping integer negation.
        Neg = "neg", Int;
        /// Bitwise complement; logical negation of truth values.
        Not = "not", Bits;
        /// Absolute value of a signed integer, wrapping at the minimum.
        Abs = "abs", Int;
        /// Sign of a signed integer: -1, 0 or 1.
        SSignum = "ssignum", Int;
        /// Sign of an unsigned integer: 0 or 1.
        USignum = "usignum", Int;
        /// Number of leading zero bits, in the operand's type.
        Clz = "clz", Int;
        /// Number of trailing zero bits, in the operand's type.
        Ctz = "ctz", Int;
        /// Number of one bits, in the operand's type.
        Popc = "popc", Int;
        /// Float negation (flips the sign bit).
        FNeg = "fneg", Float;
        /// Float absolute value (clears the sign bit).
        FAbs = "fabs", Float;
        /// Sign of a float: -1, 0 or 1, NaN for NaN.
        FSignum = "fsignum", Float;
        /// Square root, correctly rounded.
        FSqrt = "fsqrt", Float;
        /// Largest integer not above.
        FFloor = "ffloor", Float;
        /// Smallest integer not below.
        FCeil = "fceil", Float;
        /// Nearest integer, ties to even.
        FRound = "fround", Float;
        /// Integer part, towards zero.
        FTrunc = "ftrunc", Float;
        /// 2 to the power of j / 8, nearest, where j is the number in the last three bits of the
        /// operand: the lookup table of `exp`.
        FExp2Eighths = "fexp2eighths", Double;
    }
}

operators! {
    /// Comparisons; operands have one type, the result is `bool`.
    CmpOp {
        /// Equal; for floats by value (NaN differs from everything).
        Eq = "eq", Any;
        /// Signed less than.
        SLt = "slt", Int;
        /// Signed less than or equal.
        SLe = "sle", Int;
        /// Unsigned less than.
        ULt = "ult", Int;
        /// Unsigned less than or equal.
        ULe = "ule", Int;
        /// Float less than.
        FLt = "flt", Float;
        /// Float less than or equal.
        FLe = "fle", Float;
        /// Less than on truth values, `false < true`.
        BLt = "blt", Bool;
        /// Less than or equal on truth values.
        BLe = "ble", Bool;
    }
}

macro_rules! conversions {
    ($($(#[$vmeta:meta])* $variant:ident = $text:literal, $from:ident -> $to:ident;)*) => {
        /// Conversions between scalar types. The types are given together with the operator.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum ConvOp { $($(#[$vmeta])* $variant,)* }

        impl ConvOp {
            /// Every conversion, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The spelling in IR text, without the types.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Returns true if it converts `from` to `to`.
            pub const fn accepts(self, from: PrimType, to: PrimType) -> bool {
                match self {
                    Self::ToBits | Self::FromBits => {
                        let domain = match self {
                            $(Self::$variant => Domain::$from.contains(from) && Domain::$to.contains(to),)*
                        };
                        domain && from.size() == to.size()
                    }
                    $(#[allow(unreachable_patterns, reason = "the two bit casts are handled above")]
                    Self::$variant => Domain::$from.contains(from) && Domain::$to.contains(to),)*
                }
            }

            /// The conversion with this spelling.
            pub fn from_name(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

conversions! {
    /// Integer to integer, sign-extending or truncating.
    SExt = "sext", Int -> Int;
    /// Integer to integer, zero-extending or truncating.
    ZExt = "zext", Int -> Int;
    /// Signed integer to float, nearest.
    SToF = "sitofp", Int -> Float;
    /// Unsigned integer to float, nearest.
    UToF = "uitofp", Int -> Float;
    /// Float to signed integer, towards zero; NaN and infinities give 0, other values out of range
    /// saturate.
    FToS = "fptosi", Float -> Int;
    /// Float to unsigned integer, towards zero; NaN and infinities give 0, values above the range
    /// saturate, negative ones have the result of `fptosi`.
    FToU = "fptoui", Float -> Int;
    /// Float to float, nearest.
    FConv = "fpconv", Float -> Float;
    /// Truth value to integer, 0 or 1.
    BToI = "btoi", Bool -> Int;
    /// Integer to truth value, true if not 0.
    IToB = "itob", Int -> Bool;
    /// Truth value to float, 0.0 or 1.0.
    BToF = "btof", Bool -> Float;
    /// Float to truth value, true if not 0.0.
    FToB = "ftob", Float -> Bool;
    /// The bits of a float as an integer of the same size.
    ToBits = "tobits", Float -> Int;
    /// The float with these bits.
    FromBits = "frombits", Int -> Float;
}

macro_rules! math_functions {
    ($($(#[$vmeta:meta])* $variant:ident = $text:literal, $arity:literal;)*) => {
        /// Mathematical functions on floats. On `f32` and `f64`, the core IR has the prelude's
        /// definitions ([`MathFun::has_definition`]); all others are those of the crate `libm`, one
        /// value at a time, in compiled code and evaluators alike.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum MathFun { $($(#[$vmeta])* $variant,)* }

        impl MathFun {
            /// Every function, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in runtime symbols; in IR text, [`MATH_PREFIX`] precedes it and the type
            /// follows.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Number of arguments, all of the result's type.
            pub const fn arity(self) -> usize {
                match self { $(Self::$variant => $arity,)* }
            }

            /// The function with this name.
            pub fn from_name(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

/// The prefix of mathematical functions in IR text: `math.sin.f64`.
pub const MATH_PREFIX: &str = "math.";

impl MathFun {
    /// Returns true if programs define the function at this type: operations on it stand for the
    /// definition.
    pub const fn has_definition(self, ty: PrimType) -> bool {
        matches!(ty, PrimType::F32 | PrimType::F64)
            && !matches!(self, Self::Nextafter | Self::Copysign | Self::Ldexp)
    }

    /// The operation's spelling in IR text: `math.sin.f64`.
    pub fn spelling(self, ty: PrimType) -> String {
        format!("{MATH_PREFIX}{}.{ty}", self.name())
    }

    /// The function and type of an operation's spelling.
    pub fn from_spelling(text: &str) -> Option<(Self, PrimType)> {
        let (name, ty) = text.strip_prefix(MATH_PREFIX)?.rsplit_once('.')?;
        let ty: PrimType = ty.parse().ok()?;
        ty.is_float().then_some((Self::from_name(name)?, ty))
    }
}

math_functions! {
    /// Natural exponential.
    Exp = "exp", 1;
    /// Base-2 exponential.
    Exp2 = "exp2", 1;
    /// Base-10 exponential.
    Exp10 = "exp10", 1;
    /// `exp(x) - 1`.
    Expm1 = "expm1", 1;
    /// Natural logarithm.
    Log = "log", 1;
    /// Base-2 logarithm.
    Log2 = "log2", 1;
    /// Base-10 logarithm.
    Log10 = "log10", 1;
    /// `log(1 + x)`.
    Log1p = "log1p", 1;
    /// Sine of radians.
    Sin = "sin", 1;
    /// Cosine of radians.
    Cos = "cos", 1;
    /// Tangent of radians.
    Tan = "tan", 1;
    /// Inverse sine.
    Asin = "asin", 1;
    /// Inverse cosine.
    Acos = "acos", 1;
    /// Inverse tangent.
    Atan = "atan", 1;
    /// Angle of the point `(y, x)`: first argument `y`, second `x`.
    Atan2 = "atan2", 2;
    /// Sine of half turns: `sin(pi * x)`.
    Sinpi = "sinpi", 1;
    /// Cosine of half turns.
    Cospi = "cospi", 1;
    /// Tangent of half turns.
    Tanpi = "tanpi", 1;
    /// Inverse sine in half turns: `asin(x) / pi`.
    Asinpi = "asinpi", 1;
    /// Inverse cosine in half turns.
    Acospi = "acospi", 1;
    /// Inverse tangent in half turns.
    Atanpi = "atanpi", 1;
    /// `atan2` in half turns.
    Atan2pi = "atan2pi", 2;
    /// Hyperbolic sine.
    Sinh = "sinh", 1;
    /// Hyperbolic cosine.
    Cosh = "cosh", 1;
    /// Hyperbolic tangent.
    Tanh = "tanh", 1;
    /// Inverse hyperbolic sine.
    Asinh = "asinh", 1;
    /// Inverse hyperbolic cosine.
    Acosh = "acosh", 1;
    /// Inverse hyperbolic tangent.
    Atanh = "atanh", 1;
    /// First argument to the power of the second.
    Pow = "pow", 2;
    /// Cube root.
    Cbrt = "cbrt", 1;
    /// Length of the hypotenuse.
    Hypot = "hypot", 2;
    /// Error function.
    Erf = "erf", 1;
    /// Complementary error function.
    Erfc = "erfc", 1;
    /// Gamma function.
    Gamma = "gamma", 1;
    /// Logarithm of the absolute value of the gamma function.
    Lgamma = "lgamma", 1;
    /// The next value from the first argument towards the second.
    Nextafter = "nextafter", 2;
    /// Magnitude of the first argument with the sign of the second.
    Copysign = "copysign", 2;
    /// `x * 2^e`, the exponent given as a float that holds an integer.
    Ldexp = "ldexp", 2;
}
