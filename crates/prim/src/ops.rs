//! The operator table: each operator once, with its spelling, its operand types and its properties.
//!
//! An operator's full spelling in IR text is `name.type`, for instance `sdiv.i32`; a conversion is
//! `name.from.to`, for instance `sext.i8.i64`.

use crate::laws::Element::{Greatest, Infinity, Least, Nan, NegativeInfinity, NegativeZero, One, Ones, Zero};
use crate::laws::Law::{
    self, Absorbing, Associative, Commutative, Idempotent, Involution, Neutral, Reflexive,
};
use crate::{PrimType, Scalar};

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

/// The computation of a binary operator, on integers or floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinClass {
    /// A sum or difference.
    Sum,
    /// A product.
    Product,
    /// A quotient, in any rounding.
    Quotient,
    /// A remainder, with any sign.
    Remainder,
    /// A power.
    Power,
    /// The lesser operand by an order.
    Min(CmpOp),
    /// The greater operand by an order.
    Max(CmpOp),
    /// A shift of bits.
    Shift,
    /// A bitwise operator.
    Bitwise,
}

/// The computation of a unary operator, on integers or floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnClass {
    /// Arithmetic negation or bitwise complement.
    Negation,
    /// An absolute value.
    Absolute,
    /// A sign as a number.
    Sign,
    /// A number of bits.
    BitCount,
    /// A square root.
    Root,
    /// A float rounded to an integer.
    Rounding,
    /// An element of a lookup table.
    Lookup,
}

/// The order that a comparison tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CmpClass {
    /// Equal.
    Equal,
    /// Less than.
    Less,
    /// Less than or equal.
    LessEqual,
}

/// Declares an enum of operators with spellings.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// Every operator, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The spelling in IR text, without types.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The operator with this spelling.
            pub fn from_name(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

/// Declares operators on operands of one type, in groups. The name of a group is that of a macro,
/// the pattern for its operators: a `match` names operators outside of its types by it. In other
/// crates the pattern may follow arms for some of its operators.
macro_rules! operators {
    ($(#[$meta:meta])* $name:ident: $class_type:ident { $($pattern:ident {
        $($(#[$vmeta:meta])* $variant:ident = $text:literal, $domain:ident, $class:expr, $laws:expr;)*
    })* }) => {
        named! { $(#[$meta])* $name { $($($(#[$vmeta])* $variant = $text;)*)* } }

        impl $name {
            /// The operand types it takes.
            pub const fn domain(self) -> Domain {
                match self { $($(Self::$variant => Domain::$domain,)*)* }
            }

            /// Its computation, on integers or floats.
            pub const fn class(self) -> $class_type {
                match self { $($(Self::$variant => $class,)*)* }
            }

            /// The algebraic laws it obeys at all types of its domain.
            pub const fn laws(self) -> &'static [Law] {
                match self { $($(Self::$variant => &$laws,)*)* }
            }

            /// Returns true if its operands are always floats.
            pub const fn is_float(self) -> bool {
                matches!(self.domain(), Domain::Float | Domain::Double)
            }
        }

        $(
            /// The pattern for the operators of a group of the table.
            #[macro_export]
            macro_rules! $pattern { () => { $($crate::$name::$variant)|* } }
        )*
    };
}

operators! {
    /// Binary operators; operands and result have one type.
    BinOp: BinClass {
        int_binary {
            /// Wrapping integer addition.
            Add = "add", Int, BinClass::Sum, [Commutative, Associative, Neutral(Zero)];
            /// Wrapping integer subtraction.
            Sub = "sub", Int, BinClass::Sum, [Neutral(Zero)];
            /// Wrapping integer multiplication.
            Mul = "mul", Int, BinClass::Product, [Commutative, Associative, Neutral(One), Absorbing(Zero)];
            /// Signed division, rounding towards negative infinity (source `/`).
            SDiv = "sdiv", Int, BinClass::Quotient, [Neutral(One)];
            /// Unsigned division.
            UDiv = "udiv", Int, BinClass::Quotient, [Neutral(One)];
            /// Signed modulo with the sign of the divisor (source `%`).
            SMod = "smod", Int, BinClass::Remainder, [];
            /// Unsigned modulo.
            UMod = "umod", Int, BinClass::Remainder, [];
            /// Signed division, rounding towards zero (source `//`).
            SQuot = "squot", Int, BinClass::Quotient, [Neutral(One)];
            /// Signed remainder with the sign of the dividend (source `%%`).
            SRem = "srem", Int, BinClass::Remainder, [];
            /// Signed minimum.
            SMin = "smin", Int, BinClass::Min(CmpOp::SLe),
                [Commutative, Associative, Idempotent, Neutral(Greatest), Absorbing(Least)];
            /// Unsigned minimum.
            UMin = "umin", Int, BinClass::Min(CmpOp::ULe),
                [Commutative, Associative, Idempotent, Neutral(Ones), Absorbing(Zero)];
            /// Signed maximum.
            SMax = "smax", Int, BinClass::Max(CmpOp::SLe),
                [Commutative, Associative, Idempotent, Neutral(Least), Absorbing(Greatest)];
            /// Unsigned maximum.
            UMax = "umax", Int, BinClass::Max(CmpOp::ULe),
                [Commutative, Associative, Idempotent, Neutral(Zero), Absorbing(Ones)];
            /// Shift left; 0 when the amount (unsigned) is the width or more.
            Shl = "shl", Int, BinClass::Shift, [Neutral(Zero)];
            /// Logical shift right; 0 when the amount (unsigned) is the width or more.
            LShr = "lshr", Int, BinClass::Shift, [Neutral(Zero)];
            /// Arithmetic shift right; the sign fills when the amount (unsigned) is the width or more.
            AShr = "ashr", Int, BinClass::Shift, [Neutral(Zero)];
            /// Integer power, wrapping; the exponent counts as unsigned (programs check signed ones).
            Pow = "pow", Int, BinClass::Power, [Neutral(One)];
        }
        bits_binary {
            /// Bitwise and; on truth values without short circuit.
            And = "and", Bits, BinClass::Bitwise,
                [Commutative, Associative, Idempotent, Neutral(Ones), Absorbing(Zero)];
            /// Bitwise or; on truth values without short circuit.
            Or = "or", Bits, BinClass::Bitwise,
                [Commutative, Associative, Idempotent, Neutral(Zero), Absorbing(Ones)];
            /// Bitwise exclusive or.
            Xor = "xor", Bits, BinClass::Bitwise, [Commutative, Associative, Neutral(Zero)];
        }
        float_binary {
            /// Float addition.
            FAdd = "fadd", Float, BinClass::Sum, [Commutative, Neutral(NegativeZero), Absorbing(Nan)];
            /// Float subtraction.
            FSub = "fsub", Float, BinClass::Sum, [Neutral(Zero), Absorbing(Nan)];
            /// Float multiplication.
            FMul = "fmul", Float, BinClass::Product, [Commutative, Neutral(One), Absorbing(Nan)];
            /// Float division.
            FDiv = "fdiv", Float, BinClass::Quotient, [Neutral(One), Absorbing(Nan)];
            /// Float remainder with the sign of the dividend, as C's `fmod` (source `%`).
            FMod = "fmod", Float, BinClass::Remainder, [Absorbing(Nan)];
            /// Float minimum, -0.0 below 0.0; the other operand when one is a NaN.
            FMin = "fmin", Float, BinClass::Min(CmpOp::FLe),
                [Commutative, Associative, Idempotent, Neutral(Nan), Absorbing(NegativeInfinity)];
            /// Float maximum, -0.0 below 0.0; the other operand when one is a NaN.
            FMax = "fmax", Float, BinClass::Max(CmpOp::FLe),
                [Commutative, Associative, Idempotent, Neutral(Nan), Absorbing(Infinity)];
        }
    }
}

impl BinOp {
    /// Returns true if `x op y = y op x`.
    pub fn is_commutative(self) -> bool {
        self.laws().contains(&Commutative)
    }

    /// Returns true if `(x op y) op z = x op (y op z)`, without any rounding.
    pub fn is_associative(self) -> bool {
        self.laws().contains(&Associative)
    }

    /// Returns true if `x op x = x`.
    pub fn is_idempotent(self) -> bool {
        self.laws().contains(&Idempotent)
    }

    /// The `e` with `x op e = x` for every `x` of the type, if there is one.
    pub fn neutral(self, ty: PrimType) -> Option<Scalar> {
        let mut laws = self.laws().iter().filter(|_| self.domain().contains(ty));
        laws.find_map(|law| if let Neutral(e) = law { e.at(ty) } else { None })
    }

    /// The `e` with `x op e = e op x = e` for every `x` of the type, if there is one.
    pub fn absorbing(self, ty: PrimType) -> Option<Scalar> {
        let mut laws = self.laws().iter().filter(|_| self.domain().contains(ty));
        laws.find_map(|law| if let Absorbing(e) = law { e.at(ty) } else { None })
    }

    /// Returns true if it divides integers: then it has no value for a divisor of 0.
    pub const fn is_division(self) -> bool {
        !self.is_float() && matches!(self.class(), BinClass::Quotient | BinClass::Remainder)
    }

    /// Returns true if programs check its operands: a divisor of 0, a negative exponent.
    pub const fn is_checked(self) -> bool {
        self.is_division() || matches!(self, Self::Pow)
    }
}

operators! {
    /// Unary operators; operand and result have one type.
    UnOp: UnClass {
        int_unary {
            /// Wrapping integer negation.
            Neg = "neg", Int, UnClass::Negation, [Involution];
            /// Absolute value of a signed integer, wrapping at the minimum.
            Abs = "abs", Int, UnClass::Absolute, [];
            /// Sign of a signed integer: -1, 0 or 1.
            SSignum = "ssignum", Int, UnClass::Sign, [];
            /// Sign of an unsigned integer: 0 or 1.
            USignum = "usignum", Int, UnClass::Sign, [];
            /// Number of leading zero bits, in the operand's type.
            Clz = "clz", Int, UnClass::BitCount, [];
            /// Number of trailing zero bits, in the operand's type.
            Ctz = "ctz", Int, UnClass::BitCount, [];
            /// Number of one bits, in the operand's type.
            Popc = "popc", Int, UnClass::BitCount, [];
        }
        bits_unary {
            /// Bitwise complement; logical negation of truth values.
            Not = "not", Bits, UnClass::Negation, [Involution];
        }
        float_unary {
            /// Float negation (flips the sign bit).
            FNeg = "fneg", Float, UnClass::Negation, [Involution];
            /// Float absolute value (clears the sign bit).
            FAbs = "fabs", Float, UnClass::Absolute, [];
            /// Sign of a float: -1, 0 or 1, NaN for NaN.
            FSignum = "fsignum", Float, UnClass::Sign, [];
            /// Square root, correctly rounded.
            FSqrt = "fsqrt", Float, UnClass::Root, [];
            /// Largest integer not above.
            FFloor = "ffloor", Float, UnClass::Rounding, [];
            /// Smallest integer not below.
            FCeil = "fceil", Float, UnClass::Rounding, [];
            /// Nearest integer, ties to even.
            FRound = "fround", Float, UnClass::Rounding, [];
            /// Integer part, towards zero.
            FTrunc = "ftrunc", Float, UnClass::Rounding, [];
            /// 2 to the power of j / 8, nearest, where j is the number in the last three bits of the
            /// operand: the lookup table of `exp`.
            FExp2Eighths = "fexp2eighths", Double, UnClass::Lookup, [];
        }
    }
}

operators! {
    /// Comparisons; operands have one type, the result is `bool`.
    CmpOp: CmpClass {
        any_compare {
            /// Equal; for floats by value (NaN differs from everything).
            Eq = "eq", Any, CmpClass::Equal, [Commutative, Reflexive];
        }
        int_compare {
            /// Signed less than.
            SLt = "slt", Int, CmpClass::Less, [];
            /// Signed less than or equal.
            SLe = "sle", Int, CmpClass::LessEqual, [Reflexive];
            /// Unsigned less than.
            ULt = "ult", Int, CmpClass::Less, [];
            /// Unsigned less than or equal.
            ULe = "ule", Int, CmpClass::LessEqual, [Reflexive];
        }
        float_compare {
            /// Float less than.
            FLt = "flt", Float, CmpClass::Less, [];
            /// Float less than or equal.
            FLe = "fle", Float, CmpClass::LessEqual, [Reflexive];
        }
        bool_compare {
            /// Less than on truth values, `false < true`.
            BLt = "blt", Bool, CmpClass::Less, [];
            /// Less than or equal on truth values.
            BLe = "ble", Bool, CmpClass::LessEqual, [Reflexive];
        }
    }
}

impl UnOp {
    /// Returns true if `op (op x) = x`.
    pub fn is_involution(self) -> bool {
        self.laws().contains(&Involution)
    }
}

impl CmpOp {
    /// Returns true if `x op y = y op x`.
    pub fn is_commutative(self) -> bool {
        self.laws().contains(&Commutative)
    }

    /// Returns true if `x op x` holds, for floats unless `x` is a NaN.
    pub fn is_reflexive(self) -> bool {
        self.laws().contains(&Reflexive)
    }
}

macro_rules! conversions {
    ($($(#[$vmeta:meta])* $variant:ident = $text:literal, $from:ident -> $to:ident;)*) => {
        named! {
            /// Conversions between scalar types. The types are given together with the operator.
            ConvOp { $($(#[$vmeta])* $variant = $text;)* }
        }

        impl ConvOp {
            /// The types that it converts from and to.
            pub const fn domains(self) -> (Domain, Domain) {
                match self { $(Self::$variant => (Domain::$from, Domain::$to),)* }
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

impl ConvOp {
    /// Returns true if it converts `from` to `to`.
    pub const fn accepts(self, from: PrimType, to: PrimType) -> bool {
        let (source, target) = self.domains();
        source.contains(from) && target.contains(to) && (!self.is_bit_cast() || from.size() == to.size())
    }

    /// Returns true if it keeps the bits.
    pub const fn is_bit_cast(self) -> bool {
        matches!(self, Self::ToBits | Self::FromBits)
    }

    /// Returns true if it converts a type to itself, and so changes no value.
    pub fn is_identity(self, from: PrimType, to: PrimType) -> bool {
        from == to && self.accepts(from, to)
    }
}

macro_rules! math_functions {
    ($($(#[$vmeta:meta])* $variant:ident = $text:literal, $arity:literal;)*) => {
        named! {
            /// Mathematical functions on floats. On `f32` and `f64`, the core IR has the prelude's
            /// definitions ([`MathFun::has_definition`]); all others are those of the crate `libm`, one
            /// value at a time, in compiled code and evaluators alike. In IR text, [`MATH_PREFIX`]
            /// precedes the name and the type follows.
            MathFun { $($(#[$vmeta])* $variant = $text;)* }
        }

        impl MathFun {
            /// Number of arguments, all of the result's type.
            pub const fn arity(self) -> usize {
                match self { $(Self::$variant => $arity,)* }
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
    /// First derivative of `lgamma`.
    Digamma = "digamma", 1;
    /// Second derivative of `lgamma`.
    Trigamma = "trigamma", 1;
    /// Third derivative of `lgamma`.
    Tetragamma = "tetragamma", 1;
    /// The next value from the first argument towards the second.
    Nextafter = "nextafter", 2;
    /// Magnitude of the first argument with the sign of the second.
    Copysign = "copysign", 2;
    /// `x * 2^e`, the exponent given as a float that holds an integer.
    Ldexp = "ldexp", 2;
}
