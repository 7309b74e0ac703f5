//! Scalars: types, literals, conversions, operators of folds and functions of two elements.

use super::Gen;
use prim::ScalarType::{self, Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

/// The types of results.
const TYPES: [ScalarType; 18] =
    [I32, F32, F32, F32, F64, F64, I64, I32, I64, I8, U8, I16, U16, U32, U64, Bool, F32, I32];

/// A literal; in parentheses if it is negative.
pub(super) fn literal(ty: ScalarType, n: i64) -> String {
    let name = ty.name();
    match ty {
        Bool => (n != 0).to_string(),
        _ if n < 0 => format!("({n}{name})"),
        _ => format!("{n}{name}"),
    }
}

/// A conversion of a small value.
pub(super) fn convert(x: &str, from: ScalarType, to: ScalarType) -> String {
    match to {
        _ if from == to => x.to_owned(),
        Bool => format!("({x} > {})", literal(from, 0)),
        _ => format!("({}.{} {x})", to.name(), from.name()),
    }
}

/// A small value made of one that may be large; integers are as they are, since they wrap.
pub(super) fn tame(x: &str, ty: ScalarType) -> String {
    let name = ty.name();
    if ty.is_float() { format!("({name}.i64 (i64.{name} {x} & 15i64))") } else { x.to_owned() }
}

/// An associative and commutative operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FoldOp {
    Sum,
    Min,
    Max,
    Product,
    Xor,
    Or,
    And,
}

impl FoldOp {
    /// The operator as a function.
    pub(super) fn section(self, ty: ScalarType) -> String {
        match self {
            Self::Sum => "(+)".to_owned(),
            Self::Product => "(*)".to_owned(),
            Self::Min => format!("{}.min", ty.name()),
            Self::Max => format!("{}.max", ty.name()),
            Self::Xor if ty == Bool => "(!=)".to_owned(),
            Self::Xor => "(^)".to_owned(),
            Self::Or if ty == Bool => "(||)".to_owned(),
            Self::Or => "(|)".to_owned(),
            Self::And if ty == Bool => "(&&)".to_owned(),
            Self::And => "(&)".to_owned(),
        }
    }

    /// The operator, applied.
    pub(super) fn apply(self, ty: ScalarType, x: &str, y: &str) -> String {
        let section = self.section(ty);
        match section.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            Some(infix) => format!("({x} {infix} {y})"),
            None => format!("({section} {x} {y})"),
        }
    }

    /// The neutral element; of minima and maxima, for the values that there are.
    pub(super) fn neutral(self, ty: ScalarType) -> String {
        let name = ty.name();
        match self {
            Self::Sum | Self::Xor | Self::Or => literal(ty, 0),
            Self::Product => literal(ty, 1),
            Self::And if ty == Bool => literal(ty, 1),
            Self::And => format!("(!{})", literal(ty, 0)),
            Self::Min if ty.is_float() => literal(ty, 30000),
            Self::Max if ty.is_float() => literal(ty, -30000),
            Self::Min => format!("{name}.highest"),
            Self::Max => format!("{name}.lowest"),
        }
    }
}

/// A function of two elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Element {
    Mul,
    Add,
    Sub,
    SquaredDifference,
    Difference,
    Min,
    Equal,
    Larger,
    Xor,
    And,
    Or,
}

impl Element {
    /// Returns true if an element occurs twice in the function.
    pub(super) fn reads_twice(self) -> bool {
        matches!(self, Self::SquaredDifference | Self::Larger)
    }

    /// The function, applied to values of its result's type.
    pub(super) fn apply(self, ty: ScalarType, x: &str, y: &str) -> String {
        let name = ty.name();
        match self {
            Self::Mul => format!("({x} * {y})"),
            Self::Add => format!("({x} + {y})"),
            Self::Sub => format!("({x} - {y})"),
            Self::SquaredDifference => format!("(({x} - {y}) * ({x} - {y}))"),
            Self::Difference => format!("({name}.abs ({x} - {y}))"),
            Self::Min => format!("({name}.min {x} {y})"),
            Self::Equal if ty == Bool => format!("({x} == {y})"),
            Self::Equal => format!("({name}.bool ({x} == {y}))"),
            Self::Larger => format!("(if {x} > {} then {y} else {x} - {y})", literal(ty, 1)),
            Self::Xor if ty == Bool => format!("({x} != {y})"),
            Self::Xor => format!("({x} ^ {y})"),
            Self::And if ty == Bool => format!("({x} && {y})"),
            Self::And => format!("({x} & {y})"),
            Self::Or if ty == Bool => format!("({x} || {y})"),
            Self::Or => format!("({x} | {y})"),
        }
    }
}

impl Gen<'_> {
    /// The type of a result.
    pub(super) fn result_type(&mut self) -> ScalarType {
        self.c.pick(&TYPES).copied().unwrap_or(I32)
    }

    /// The type of numbers.
    pub(super) fn number_type(&mut self) -> ScalarType {
        self.c.pick(&[I32, F32, F64, I64, F32, I16, U8]).copied().unwrap_or(I32)
    }

    /// A type whose values convert to this one.
    pub(super) fn source_type(&mut self, ty: ScalarType) -> ScalarType {
        let types: &[ScalarType] = match ty {
            Bool => &[Bool],
            F32 => &[F32, F32, F32, F32, I8, U8, I32, Bool],
            F64 => &[F64, F64, F64, F64, F32, I8, I32, U16],
            _ => return self.integer_source(ty),
        };
        self.c.pick(types).copied().unwrap_or(ty)
    }

    fn integer_source(&mut self, ty: ScalarType) -> ScalarType {
        let other = self.c.pick(&[I8, U8, I16, I32, Bool, I64]).copied().unwrap_or(ty);
        if self.c.once_in(3) { other } else { ty }
    }

    /// The operator of a fold.
    pub(super) fn fold_op(&mut self, ty: ScalarType) -> FoldOp {
        use FoldOp::{And, Max, Min, Or, Product, Sum, Xor};
        let ops: &[FoldOp] = match ty {
            Bool => &[Or, And, Xor],
            _ if ty.is_float() => &[Sum, Sum, Sum, Sum, Min, Max],
            _ => &[Sum, Sum, Sum, Sum, Sum, Sum, Min, Max, Xor, Or, And, Product],
        };
        self.c.pick(ops).copied().unwrap_or(Sum)
    }

    /// The function of the elements of a fold.
    pub(super) fn element(&mut self, ty: ScalarType, op: FoldOp) -> Element {
        use Element::{Add, And, Difference, Equal, Larger, Min, Mul, Or, SquaredDifference, Sub, Xor};
        let elements: &[Element] = match ty {
            Bool => &[And, Or, Xor, Equal],
            // Products may be negative zeros.
            _ if ty.is_float() && op != FoldOp::Sum => {
                &[Add, Sub, SquaredDifference, Difference, Min, Equal, Larger]
            }
            _ if ty.is_float() => {
                &[Mul, Mul, Mul, Mul, Add, Sub, SquaredDifference, Difference, Equal, Larger]
            }
            _ => &[Mul, Mul, Mul, Mul, Add, Sub, SquaredDifference, Min, Equal, Larger, Xor, And, Or],
        };
        self.c.pick(elements).copied().unwrap_or(Mul)
    }
}
