//! The built-in module `intrinsics`, on which the prelude is based.
//!
//! Scalar members are named `<operator>_<type>` after the source type (`add_i32`, `div_u8`,
//! `sqrt_f64`, `pow_f16`) or `<from>_to_<to>` (`i32_to_f64`); all are curried. Names are parsed
//! here, once, into [`Intrinsic`]s, so that no later stage reads names. Array functions have their
//! types in [`ArrayFun::signature`], written as Futhark module-type specifications, which the
//! checker elaborates like any other.

use crate::tast::Ty;
use prim::{BinOp, CmpOp, ConvOp, MathFun, ScalarType, UnOp};

/// The meaning of a built-in function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intrinsic {
    /// `t -> t -> t`.
    Binary(BinOp, ScalarType),
    /// `t -> t -> bool`: `op(x, y)`, or `op(y, x)` if `swap`; negated if `negate`.
    Compare {
        /// The comparison.
        op: CmpOp,
        /// The type of the operands.
        ty: ScalarType,
        /// True if the operands are swapped.
        swap: bool,
        /// True if the result is negated.
        negate: bool,
    },
    /// `t -> t`.
    Unary(UnOp, ScalarType),
    /// Value conversion `from -> to`; see [`conversion`].
    Convert {
        /// The type of the operand.
        from: ScalarType,
        /// The type of the result.
        to: ScalarType,
    },
    /// The bits of a float, as an unsigned integer of its size.
    ToBits(ScalarType),
    /// The float (of this type) with the bits of an unsigned integer of its size.
    FromBits(ScalarType),
    /// `a -> b -> c -> a * b + c` with one rounding.
    Fma(ScalarType),
    /// A mathematical function of one or two arguments of one float type.
    Math(MathFun, ScalarType),
    /// Structural `==` (`!=` if `negate`) on values of the type argument, which is not a scalar
    /// type (comparisons of scalars are [`Intrinsic::Compare`]).
    Equal {
        /// True for `!=`.
        negate: bool,
    },
    /// A polymorphic function on arrays.
    Array(ArrayFun),
}

impl Intrinsic {
    /// The number of arguments.
    pub fn arity(self) -> usize {
        match self {
            Self::Binary(..) | Self::Compare { .. } | Self::Equal { .. } => 2,
            Self::Unary(..) | Self::Convert { .. } | Self::ToBits(_) | Self::FromBits(_) => 1,
            Self::Fma(_) => 3,
            Self::Math(fun, _) => fun.arity(),
            Self::Array(fun) => fun.arity(),
        }
    }
}

impl ArrayFun {
    /// The number of arguments.
    pub const fn arity(self) -> usize {
        match self {
            Self::Iota
            | Self::Flatten
            | Self::Transpose
            | Self::Unzip
            | Self::Manifest
            | Self::Copy
            | Self::Scratch
            | Self::Opaque
            | Self::Trace
            | Self::Break => 1,
            Self::Map
            | Self::Filter
            | Self::Partition
            | Self::FlatMap
            | Self::Concat
            | Self::Rotate
            | Self::Replicate
            | Self::Zip => 2,
            Self::Reduce
            | Self::ReduceComm
            | Self::Scan
            | Self::Scatter
            | Self::Scatter2d
            | Self::Scatter3d
            | Self::Unflatten
            | Self::Jvp2
            | Self::Vjp2
            | Self::Jmp2
            | Self::Mjp2
            | Self::ScatterStream
            | Self::AccWrite
            | Self::WithVjp => 3,
            Self::Hist | Self::Hist2d | Self::Hist3d | Self::FlatUpdate2d | Self::HistStream => 5,
            Self::FlatIndex2d | Self::FlatUpdate3d => 6,
            Self::FlatUpdate4d => 7,
            Self::FlatIndex3d => 8,
            Self::FlatIndex4d => 10,
        }
    }
}

macro_rules! array_functions {
    ($($(#[$meta:meta])* $variant:ident = $name:literal : $sig:literal;)*) => {
        /// Built-in functions whose types are not in the scalar tables. Type and size arguments of
        /// a use are in the order of its signature.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum ArrayFun { $($(#[$meta])* $variant,)* }

        impl ArrayFun {
            /// All functions.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in module `intrinsics`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The parameters and type, as in a `val` specification after the name.
            pub const fn signature(self) -> &'static str {
                match self { $(Self::$variant => $sig,)* }
            }

            /// The function with this name.
            pub fn from_name(text: &str) -> Option<Self> {
                match text { $($name => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

array_functions! {
    /// Applies a function to every element.
    Map = "map": "'a [n] 'x : (f: a -> x) -> (as: [n]a) -> *[n]x";
    /// Reduction by an associative operator.
    Reduce = "reduce": "[n] 'a : (op: a -> a -> a) -> (ne: a) -> (as: [n]a) -> a";
    /// Reduction by an associative and commutative operator.
    ReduceComm = "reduce_comm": "[n] 'a : (op: a -> a -> a) -> (ne: a) -> (as: [n]a) -> a";
    /// Inclusive prefix scan.
    Scan = "scan": "[n] 'a : (op: a -> a -> a) -> (ne: a) -> (as: [n]a) -> *[n]a";
    /// Generalised histogram into `dest`; indices out of bounds are ignored.
    Hist = "hist": "[k] [n] 'a : (dest: *[k]a) -> (op: a -> a -> a) -> (ne: a) -> (is: [n]i64) -> (as: [n]a) -> *[k]a";
    /// Histogram with two-dimensional indices.
    Hist2d = "hist_2d": "[k] [m] [n] 'a : (dest: *[k][m]a) -> (op: a -> a -> a) -> (ne: a) -> (is: [n](i64, i64)) -> (as: [n]a) -> *[k][m]a";
    /// Histogram with three-dimensional indices.
    Hist3d = "hist_3d": "[k] [m] [l] [n] 'a : (dest: *[k][m][l]a) -> (op: a -> a -> a) -> (ne: a) -> (is: [n](i64, i64, i64)) -> (as: [n]a) -> *[k][m][l]a";
    /// Writes at indices; indices out of bounds are ignored.
    Scatter = "scatter": "[k] [n] 't : (dest: *[k]t) -> (is: [n]i64) -> (vs: [n]t) -> *[k]t";
    /// Scatter with two-dimensional indices.
    Scatter2d = "scatter_2d": "[k] [m] [n] 't : (dest: *[k][m]t) -> (is: [n](i64, i64)) -> (vs: [n]t) -> *[k][m]t";
    /// Scatter with three-dimensional indices.
    Scatter3d = "scatter_3d": "[k] [m] [l] [n] 't : (dest: *[k][m][l]t) -> (is: [n](i64, i64, i64)) -> (vs: [n]t) -> *[k][m][l]t";
    /// The elements that satisfy a predicate, in order.
    Filter = "filter": "[n] 'a : (p: a -> bool) -> (as: [n]a) -> ?[k].*[k]a";
    /// The elements that satisfy a predicate, then the others, with the number of the former.
    Partition = "partition": "[n] 'a : (p: a -> bool) -> (as: [n]a) -> *(i64, [n]a)";
    /// The concatenated results of a function whose result varies in size: shape, flags, offsets,
    /// data, and the uniform results.
    FlatMap = "flatmap": "[n] 'a 'b 'c : (f: a -> ?[k].([k]b, c)) -> (as: [n]a) -> ?[m].([n]i64, [m]bool, [n]i64, [m]b, [n]c)";
    /// The outer two dimensions as one.
    Flatten = "flatten": "[n] [m] 't : (xs: [n][m]t) -> [n * m]t";
    /// The outer dimension as two.
    Unflatten = "unflatten": "'t : (n: i64) -> (m: i64) -> (xs: [n * m]t) -> [n][m]t";
    /// Concatenation of two arrays.
    Concat = "concat": "[n] [m] 't : (xs: [n]t) -> (ys: [m]t) -> *[n + m]t";
    /// Rotation to the left.
    Rotate = "rotate": "[n] 't : (r: i64) -> (xs: [n]t) -> [n]t";
    /// Transposition of the outer two dimensions.
    Transpose = "transpose": "[n] [m] 't : (xs: [n][m]t) -> [m][n]t";
    /// `n` copies of a value.
    Replicate = "replicate": "'t : (n: i64) -> (x: t) -> *[n]t";
    /// `0, 1, ..., n - 1`.
    Iota = "iota": ": (n: i64) -> *[n]i64";
    /// Two arrays as an array of pairs.
    Zip = "zip": "[n] 'a 'b : (as: [n]a) -> (bs: [n]b) -> *[n](a, b)";
    /// An array of pairs as two arrays.
    Unzip = "unzip": "[n] 'a 'b : (xs: [n](a, b)) -> ([n]a, [n]b)";
    /// A copy in row-major order.
    Manifest = "manifest": "'t : (x: t) -> *t";
    /// A copy that aliases nothing.
    Copy = "copy": "'t : (x: t) -> *t";
    /// An array of the same shape and unspecified contents.
    Scratch = "scratch": "[n] 't : (like: [n]t) -> *[n]t";
    /// A two-dimensional view into a flat array: offset, then size and stride of each dimension.
    FlatIndex2d = "flat_index_2d": "[n] 'a : (as: [n]a) -> (offset: i64) -> (n1: i64) -> (s1: i64) -> (n2: i64) -> (s2: i64) -> [n1][n2]a";
    /// A three-dimensional view into a flat array.
    FlatIndex3d = "flat_index_3d": "[n] 'a : (as: [n]a) -> (offset: i64) -> (n1: i64) -> (s1: i64) -> (n2: i64) -> (s2: i64) -> (n3: i64) -> (s3: i64) -> [n1][n2][n3]a";
    /// A four-dimensional view into a flat array.
    FlatIndex4d = "flat_index_4d": "[n] 'a : (as: [n]a) -> (offset: i64) -> (n1: i64) -> (s1: i64) -> (n2: i64) -> (s2: i64) -> (n3: i64) -> (s3: i64) -> (n4: i64) -> (s4: i64) -> [n1][n2][n3][n4]a";
    /// Writes a two-dimensional array into a flat one: offset, strides.
    FlatUpdate2d = "flat_update_2d": "[n] [k] [l] 'a : (dest: *[n]a) -> (offset: i64) -> (s1: i64) -> (s2: i64) -> (v: [k][l]a) -> *[n]a";
    /// Writes a three-dimensional array into a flat one.
    FlatUpdate3d = "flat_update_3d": "[n] [k] [l] [p] 'a : (dest: *[n]a) -> (offset: i64) -> (s1: i64) -> (s2: i64) -> (s3: i64) -> (v: [k][l][p]a) -> *[n]a";
    /// Writes a four-dimensional array into a flat one.
    FlatUpdate4d = "flat_update_4d": "[n] [k] [l] [p] [q] 'a : (dest: *[n]a) -> (offset: i64) -> (s1: i64) -> (s2: i64) -> (s3: i64) -> (s4: i64) -> (v: [k][l][p][q]a) -> *[n]a";
    /// Applies a function that writes to an accumulator to the elements of an array.
    ScatterStream = "scatter_stream": "[k] [n] 'a 'b : (dest: *[k]a) -> (f: *acc ([k]a) -> b -> acc ([k]a)) -> (bs: [n]b) -> *[k]a";
    /// Applies a function that updates an accumulator with an operator to the elements of an array.
    HistStream = "hist_stream": "[k] [n] 'a 'b : (dest: *[k]a) -> (op: a -> a -> a) -> (ne: a) -> (f: *acc ([k]a) -> b -> acc ([k]a)) -> (bs: [n]b) -> *[k]a";
    /// One write to an accumulator.
    AccWrite = "acc_write": "[n] 't : (acc: *acc ([n]t)) -> (i: i64) -> (v: t) -> *acc ([n]t)";
    /// The identity, opaque to the optimiser.
    Opaque = "opaque": "'t : (x: t) -> t";
    /// The identity; prints its argument.
    Trace = "trace": "'t : (x: t) -> t";
    /// The identity; a breakpoint of the interpreter.
    Break = "break": "'t : (x: t) -> t";
    /// Jacobian-vector product, with the primal result.
    Jvp2 = "jvp2": "'a 'b : (f: a -> b) -> (x: a) -> (dx: a) -> (b, b)";
    /// Vector-Jacobian product, with the primal result.
    Vjp2 = "vjp2": "'a 'b : (f: a -> b) -> (x: a) -> (dy: b) -> (b, a)";
    /// Jacobian-matrix product, with the primal result.
    Jmp2 = "jmp2": "'a 'b [n] : (f: a -> b) -> (x: a) -> (dx: [n]a) -> (b, [n]b)";
    /// Matrix-Jacobian product, with the primal result.
    Mjp2 = "mjp2": "'a 'b [n] : (f: a -> b) -> (x: a) -> (dy: [n]b) -> (b, [n]a)";
    /// A function with a custom reverse-mode derivative.
    WithVjp = "with_vjp": "'a 'b : (f: a -> b) -> (g: b -> b -> a) -> (x: a) -> b";
}

/// The core operator of a value conversion; `None` if the bits stay the same (between signed and
/// unsigned integers of one width, or equal types).
pub fn conversion(from: ScalarType, to: ScalarType) -> Option<ConvOp> {
    if from == to || (from.is_int() && to.is_int() && from.size() == to.size()) {
        return None;
    }
    Some(match (from, to) {
        (ScalarType::Bool, t) if t.is_int() => ConvOp::BToI,
        (ScalarType::Bool, _) => ConvOp::BToF,
        (f, ScalarType::Bool) if f.is_int() => ConvOp::IToB,
        (_, ScalarType::Bool) => ConvOp::FToB,
        (f, t) if f.is_float() && t.is_float() => ConvOp::FConv,
        (f, t) if f.is_float() => {
            if t.is_signed() {
                ConvOp::FToS
            } else {
                ConvOp::FToU
            }
        }
        (f, t) if t.is_float() => {
            if f.is_signed() {
                ConvOp::SToF
            } else {
                ConvOp::UToF
            }
        }
        // From or to an unsigned type, integers are zero-extended.
        (f, t) => {
            if f.is_signed() && t.is_signed() {
                ConvOp::SExt
            } else {
                ConvOp::ZExt
            }
        }
    })
}

/// The unsigned integer type of the same size as a float type.
pub const fn bits_type(float: ScalarType) -> ScalarType {
    match float.size() {
        2 => ScalarType::U16,
        4 => ScalarType::U32,
        _ => ScalarType::U64,
    }
}

/// The intrinsic of this name with its type, for members with scalar types.
pub fn scalar(name: &str) -> Option<(Intrinsic, Ty)> {
    if let Some((from, to)) = name.split_once("_to_")
        && let (Ok(from), Ok(to)) = (from.parse(), to.parse())
    {
        return Some((Intrinsic::Convert { from, to }, fun(&[from], to)));
    }
    let (op, ty) = name.rsplit_once('_')?;
    let ty: ScalarType = ty.parse().ok()?;
    if let Some(bin) = binary(op, ty) {
        return Some((Intrinsic::Binary(bin, ty), fun(&[ty, ty], ty)));
    }
    if let Some(cmp) = comparison(op, ty) {
        return Some((cmp, fun(&[ty, ty], ScalarType::Bool)));
    }
    if let Some(un) = unary(op, ty) {
        return Some((Intrinsic::Unary(un, ty), fun(&[ty], ty)));
    }
    if !ty.is_float() {
        return None;
    }
    Some(match op {
        "to_bits" => (Intrinsic::ToBits(ty), fun(&[ty], bits_type(ty))),
        "from_bits" => (Intrinsic::FromBits(ty), fun(&[bits_type(ty)], ty)),
        "fma" => (Intrinsic::Fma(ty), fun(&[ty, ty, ty], ty)),
        _ => {
            // The prelude defines the others.
            let math = MathFun::from_name(op).filter(|math| !math.has_definition(ty.prim()))?;
            (Intrinsic::Math(math, ty), fun(&vec![ty; math.arity()], ty))
        }
    })
}

fn fun(params: &[ScalarType], ret: ScalarType) -> Ty {
    params.iter().rev().fold(Ty::Scalar(ret), |ret, param| Ty::arrow(Ty::Scalar(*param), ret))
}

/// The binary operator `op` at a source type, if it is a [`BinOp`].
pub fn binary(op: &str, ty: ScalarType) -> Option<BinOp> {
    let (float, signed) = (ty.is_float(), ty.is_signed());
    let select = |s: BinOp, u: BinOp, f: BinOp| {
        if float {
            f
        } else if signed {
            s
        } else {
            u
        }
    };
    let found = match op {
        "add" => select(BinOp::Add, BinOp::Add, BinOp::FAdd),
        "sub" => select(BinOp::Sub, BinOp::Sub, BinOp::FSub),
        "mul" => select(BinOp::Mul, BinOp::Mul, BinOp::FMul),
        "div" => select(BinOp::SDiv, BinOp::UDiv, BinOp::FDiv),
        "mod" => select(BinOp::SMod, BinOp::UMod, BinOp::FMod),
        "min" => select(BinOp::SMin, BinOp::UMin, BinOp::FMin),
        "max" => select(BinOp::SMax, BinOp::UMax, BinOp::FMax),
        "quot" => select(BinOp::SQuot, BinOp::UDiv, BinOp::SQuot),
        "rem" => select(BinOp::SRem, BinOp::UMod, BinOp::SRem),
        "pow" => BinOp::Pow,
        "shl" => BinOp::Shl,
        "shr" => select(BinOp::AShr, BinOp::LShr, BinOp::AShr),
        "lshr" => BinOp::LShr,
        "and" => BinOp::And,
        "or" => BinOp::Or,
        "xor" => BinOp::Xor,
        _ => return None,
    };
    found.domain().contains(ty.prim()).then_some(found)
}

/// The comparison `op` at a source type.
pub fn comparison(op: &str, ty: ScalarType) -> Option<Intrinsic> {
    let (less, less_eq) = if ty.is_float() {
        (CmpOp::FLt, CmpOp::FLe)
    } else if ty.is_signed() {
        (CmpOp::SLt, CmpOp::SLe)
    } else if ty.is_unsigned() {
        (CmpOp::ULt, CmpOp::ULe)
    } else {
        (CmpOp::BLt, CmpOp::BLe)
    };
    let (op, swap, negate) = match op {
        "lt" => (less, false, false),
        "le" => (less_eq, false, false),
        "gt" => (less, true, false),
        "ge" => (less_eq, true, false),
        "eq" => (CmpOp::Eq, false, false),
        "neq" => (CmpOp::Eq, false, true),
        _ => return None,
    };
    Some(Intrinsic::Compare { op, ty, swap, negate })
}

/// The unary operator `op` at a source type.
pub fn unary(op: &str, ty: ScalarType) -> Option<UnOp> {
    let float = ty.is_float();
    let found = match op {
        "neg" if float => UnOp::FNeg,
        "neg" => UnOp::Neg,
        "not" => UnOp::Not,
        "abs" if float => UnOp::FAbs,
        "abs" if ty.is_signed() => UnOp::Abs,
        "sgn" if float => UnOp::FSignum,
        "sgn" if ty.is_signed() => UnOp::SSignum,
        "sgn" => UnOp::USignum,
        "clz" => UnOp::Clz,
        "ctz" => UnOp::Ctz,
        "popc" => UnOp::Popc,
        "sqrt" => UnOp::FSqrt,
        "floor" => UnOp::FFloor,
        "ceil" => UnOp::FCeil,
        "round" => UnOp::FRound,
        "trunc" => UnOp::FTrunc,
        "exp2_eighths" => UnOp::FExp2Eighths,
        _ => return None,
    };
    found.domain().contains(ty.prim()).then_some(found)
}
