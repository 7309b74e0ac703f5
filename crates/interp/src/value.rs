//! Values during evaluation, and types that describe absent elements.
//!
//! Arrays of scalars, of any rank, are one vector in row-major order. Arrays of anything else
//! (tuples, sums, functions, scalars with derivatives) are vectors of values, likewise row-major
//! over all dimensions. Values are reference-counted; writing to a shared array copies it first (copy on write).

use crate::derivative::Active;
use crate::tree::Function;
use check::intrinsics::Intrinsic;
use check::tast::Name;
use half::f16;
use prim::{Scalar, ScalarType};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

/// The components of a tuple or record, or the payload of a constructor.
pub type Parts = SmallVec<[RunValue; 3]>;

/// The dimensions of an array, outermost first.
pub type Dims = SmallVec<[i64; 3]>;

/// A run-time value.
#[derive(Clone, Debug, Default)]
pub enum RunValue {
    /// No value: a size that has not been determined yet.
    #[default]
    Unbound,
    /// A scalar; the signedness of an integer is in its type only.
    Scalar(Scalar),
    /// A scalar with derivatives.
    Active(Rc<Active>),
    /// An array.
    Array(Rc<Array>),
    /// A tuple, or a record, whose fields are sorted by label.
    Tuple(Rc<Parts>),
    /// A value of a sum type: the number of its constructor, and the payload.
    Sum(Rc<(u32, Parts)>),
    /// A function.
    Fun(Rc<FunValue>),
    /// An accumulator.
    Acc(Rc<Accumulator>),
    /// The value of a type parameter.
    Type(Rc<RunType>),
}

/// An array. The number of elements in `data` is the product of the dimensions.
#[derive(Clone, Debug)]
pub struct Array {
    /// The dimensions, at least one, none negative.
    pub shape: Dims,
    /// The elements in row-major order.
    pub data: Data,
}

/// The elements of an array.
#[derive(Clone, Debug)]
pub enum Data {
    /// 8-bit integers.
    I8(Vec<i8>),
    /// 16-bit integers.
    I16(Vec<i16>),
    /// 32-bit integers.
    I32(Vec<i32>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// Half-precision floats.
    F16(Vec<f16>),
    /// Single-precision floats.
    F32(Vec<f32>),
    /// Double-precision floats.
    F64(Vec<f64>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Values that are neither scalars nor arrays, or scalars some of which have derivatives. The
    /// type is only relevant if there are none.
    Other(Vec<RunValue>, Rc<RunType>),
}

/// A type with sizes: the value of a type parameter, or the element type of an empty array.
#[derive(Clone, PartialEq, Debug)]
pub enum RunType {
    /// A scalar type.
    Scalar(ScalarType),
    /// An array; an unknown dimension is [`UNKNOWN`].
    Array(i64, Rc<RunType>),
    /// A tuple.
    Tuple(Vec<Rc<RunType>>),
    /// A record, fields sorted by label.
    Record(Rc<[Name]>, Vec<Rc<RunType>>),
    /// A sum type, constructors sorted by name.
    Sum(Rc<[Name]>, Vec<Vec<Rc<RunType>>>),
    /// A function.
    Fun,
    /// An unknown type.
    Unknown,
}

/// An unknown size.
pub const UNKNOWN: i64 = i64::MIN;

/// A function value.
#[derive(Debug)]
pub struct FunValue {
    /// The kind of function.
    pub kind: FunKind,
    /// The arguments of a partial application, fewer than the function takes.
    pub args: Vec<RunValue>,
}

/// The kinds of function values.
#[derive(Clone, Debug)]
pub enum FunKind {
    /// A lambda or local definition with its captured values.
    Closure {
        /// Its code.
        func: Rc<Function>,
        /// The captured values of the enclosing scope.
        captured: Rc<[RunValue]>,
        /// The values of its type and size parameters.
        inst: Rc<[RunValue]>,
    },
    /// A definition.
    Global {
        /// The definition's number.
        id: u32,
        /// The values of its type and size parameters.
        inst: Rc<[RunValue]>,
    },
    /// A built-in function with its type arguments.
    Intrinsic(Intrinsic, Rc<[Rc<RunType>]>),
}

/// An accumulator: an array that is updated in the order of evaluation.
#[derive(Debug)]
pub struct Accumulator {
    /// The array.
    pub array: RefCell<RunValue>,
    /// The operator that combines values; if it is absent, a new value replaces the old one.
    pub op: Option<RunValue>,
}

/// Evaluates `$body` with `$v` bound to the vector in `$data`, for any element type.
macro_rules! with_data {
    ($data:expr, $v:ident => $body:expr) => {
        match $data {
            $crate::value::Data::I8($v) => $body,
            $crate::value::Data::I16($v) => $body,
            $crate::value::Data::I32($v) => $body,
            $crate::value::Data::I64($v) => $body,
            $crate::value::Data::F16($v) => $body,
            $crate::value::Data::F32($v) => $body,
            $crate::value::Data::F64($v) => $body,
            $crate::value::Data::Bool($v) => $body,
            $crate::value::Data::Other($v, _) => $body,
        }
    };
}
pub(crate) use with_data;

/// Builds a vector of the same element type as the one in `$data`.
macro_rules! map_data {
    ($data:expr, $v:ident => $body:expr) => {
        match $data {
            $crate::value::Data::I8($v) => $crate::value::Data::I8($body),
            $crate::value::Data::I16($v) => $crate::value::Data::I16($body),
            $crate::value::Data::I32($v) => $crate::value::Data::I32($body),
            $crate::value::Data::I64($v) => $crate::value::Data::I64($body),
            $crate::value::Data::F16($v) => $crate::value::Data::F16($body),
            $crate::value::Data::F32($v) => $crate::value::Data::F32($body),
            $crate::value::Data::F64($v) => $crate::value::Data::F64($body),
            $crate::value::Data::Bool($v) => $crate::value::Data::Bool($body),
            $crate::value::Data::Other($v, ty) => $crate::value::Data::Other($body, Rc::clone(ty)),
        }
    };
}
pub(crate) use map_data;

/// Evaluates `$body` with `$x` and `$y` bound to vectors of the same element type; `$else` if their
/// types differ.
macro_rules! with_both {
    ($a:expr, $b:expr, ($x:ident, $y:ident) => $body:expr, else $else:expr) => {
        match ($a, $b) {
            ($crate::value::Data::I8($x), $crate::value::Data::I8($y)) => $body,
            ($crate::value::Data::I16($x), $crate::value::Data::I16($y)) => $body,
            ($crate::value::Data::I32($x), $crate::value::Data::I32($y)) => $body,
            ($crate::value::Data::I64($x), $crate::value::Data::I64($y)) => $body,
            ($crate::value::Data::F16($x), $crate::value::Data::F16($y)) => $body,
            ($crate::value::Data::F32($x), $crate::value::Data::F32($y)) => $body,
            ($crate::value::Data::F64($x), $crate::value::Data::F64($y)) => $body,
            ($crate::value::Data::Bool($x), $crate::value::Data::Bool($y)) => $body,
            ($crate::value::Data::Other($x, _), $crate::value::Data::Other($y, _)) => $body,
            _ => $else,
        }
    };
}
pub(crate) use with_both;

impl Data {
    /// The number of elements.
    pub fn len(&self) -> usize {
        with_data!(self, v => v.len())
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at an index, which must be in bounds.
    pub fn get(&self, at: usize) -> RunValue {
        match self {
            Self::I8(v) => RunValue::Scalar(Scalar::I8(v[at])),
            Self::I16(v) => RunValue::Scalar(Scalar::I16(v[at])),
            Self::I32(v) => RunValue::Scalar(Scalar::I32(v[at])),
            Self::I64(v) => RunValue::Scalar(Scalar::I64(v[at])),
            Self::F16(v) => RunValue::Scalar(Scalar::F16(v[at])),
            Self::F32(v) => RunValue::Scalar(Scalar::F32(v[at])),
            Self::F64(v) => RunValue::Scalar(Scalar::F64(v[at])),
            Self::Bool(v) => RunValue::Scalar(Scalar::Bool(v[at])),
            Self::Other(v, _) => v[at].clone(),
        }
    }

    /// Sets the element at an index, which must be in bounds; returns `false` if the value has
    /// another type.
    pub fn set(&mut self, at: usize, value: RunValue) -> bool {
        match (self, value) {
            (Self::I8(v), RunValue::Scalar(Scalar::I8(x))) => v[at] = x,
            (Self::I16(v), RunValue::Scalar(Scalar::I16(x))) => v[at] = x,
            (Self::I32(v), RunValue::Scalar(Scalar::I32(x))) => v[at] = x,
            (Self::I64(v), RunValue::Scalar(Scalar::I64(x))) => v[at] = x,
            (Self::F16(v), RunValue::Scalar(Scalar::F16(x))) => v[at] = x,
            (Self::F32(v), RunValue::Scalar(Scalar::F32(x))) => v[at] = x,
            (Self::F64(v), RunValue::Scalar(Scalar::F64(x))) => v[at] = x,
            (Self::Bool(v), RunValue::Scalar(Scalar::Bool(x))) => v[at] = x,
            (Self::Other(v, _), value) => v[at] = value,
            (data, value @ RunValue::Active(_)) if data.elem() == value.rty() => {
                data.make_values();
                return data.set(at, value);
            }
            _ => return false,
        }
        true
    }

    /// Turns the elements into values, so that scalars can have derivatives.
    pub fn make_values(&mut self) {
        if !matches!(self, Self::Other(..)) {
            let values = (0..self.len()).map(|at| self.get(at)).collect();
            *self = Self::Other(values, self.elem());
        }
    }

    /// The elements of another vector in the representation of this one. If only one of the two
    /// vectors of scalars has derivatives, this vector gets the representation with derivatives.
    pub fn unified<'d>(&mut self, other: &'d Self) -> Cow<'d, Self> {
        let (here, there) = (matches!(self, Self::Other(..)), matches!(other, Self::Other(..)));
        if here == there || self.elem() != other.elem() {
            return Cow::Borrowed(other);
        }
        self.make_values();
        let mut other = Cow::Borrowed(other);
        if here {
            other.to_mut().make_values();
        }
        other
    }

    /// A copy of the elements `start..end`, which must be in bounds.
    pub fn range(&self, start: usize, end: usize) -> Self {
        if let Self::Other(v, ty) = self
            && start == end
        {
            let ty = v.first().map_or_else(|| Rc::clone(ty), RunValue::rty);
            return Self::empty_of(&ty);
        }
        map_data!(self, v => v[start..end].to_vec())
    }

    /// An empty vector of elements of this type.
    pub fn empty_of(ty: &Rc<RunType>) -> Self {
        match &**ty {
            RunType::Scalar(ty) => match ty {
                ScalarType::I8 | ScalarType::U8 => Self::I8(Vec::new()),
                ScalarType::I16 | ScalarType::U16 => Self::I16(Vec::new()),
                ScalarType::I32 | ScalarType::U32 => Self::I32(Vec::new()),
                ScalarType::I64 | ScalarType::U64 => Self::I64(Vec::new()),
                ScalarType::F16 => Self::F16(Vec::new()),
                ScalarType::F32 => Self::F32(Vec::new()),
                ScalarType::F64 => Self::F64(Vec::new()),
                ScalarType::Bool => Self::Bool(Vec::new()),
            },
            _ => Self::Other(Vec::new(), Rc::clone(ty)),
        }
    }

    /// The type of the elements. Integers count as signed, as the signedness is unknown.
    pub fn elem(&self) -> Rc<RunType> {
        let scalar = |ty| Rc::new(RunType::Scalar(ty));
        match self {
            Self::I8(_) => scalar(ScalarType::I8),
            Self::I16(_) => scalar(ScalarType::I16),
            Self::I32(_) => scalar(ScalarType::I32),
            Self::I64(_) => scalar(ScalarType::I64),
            Self::F16(_) => scalar(ScalarType::F16),
            Self::F32(_) => scalar(ScalarType::F32),
            Self::F64(_) => scalar(ScalarType::F64),
            Self::Bool(_) => scalar(ScalarType::Bool),
            Self::Other(v, ty) => v.first().map_or_else(|| Rc::clone(ty), RunValue::rty),
        }
    }
}

impl Array {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.shape.first().map_or(0, |n| *n as usize)
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements of a row.
    pub fn row_len(&self) -> usize {
        self.shape.iter().skip(1).map(|n| *n as usize).product()
    }

    /// The row at an index, which must be in bounds.
    pub fn row(&self, at: usize) -> RunValue {
        if self.shape.len() == 1 {
            return self.data.get(at);
        }
        let size = self.row_len();
        RunValue::array(Dims::from_slice(&self.shape[1..]), self.data.range(at * size, (at + 1) * size))
    }

    /// The type of a row.
    pub fn row_type(&self) -> Rc<RunType> {
        let dims = self.shape.iter().skip(1).rev();
        dims.fold(self.data.elem(), |ty, dim| Rc::new(RunType::Array(*dim, ty)))
    }

    /// An array without rows of this row type; unknown sizes become 0.
    pub fn empty_of(row: &Rc<RunType>) -> Self {
        let mut shape = Dims::from_slice(&[0]);
        let mut ty = Rc::clone(row);
        while let RunType::Array(dim, elem) = &*ty {
            shape.push((*dim).max(0));
            ty = Rc::clone(elem);
        }
        Self { shape, data: Data::empty_of(&ty) }
    }
}

impl RunValue {
    /// The value `()`.
    pub fn unit() -> Self {
        Self::Tuple(Rc::new(Parts::new()))
    }

    /// A scalar of type `i64`.
    pub const fn i64(x: i64) -> Self {
        Self::Scalar(Scalar::I64(x))
    }

    /// A truth value.
    pub const fn bool(x: bool) -> Self {
        Self::Scalar(Scalar::Bool(x))
    }

    /// An array of these dimensions.
    pub fn array(shape: Dims, data: Data) -> Self {
        Self::Array(Rc::new(Array { shape, data }))
    }

    /// An array of one dimension.
    pub fn vector(data: Data) -> Self {
        Self::array(Dims::from_slice(&[data.len() as i64]), data)
    }

    /// A tuple of these components.
    pub fn tuple(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::Tuple(Rc::new(parts.into_iter().collect()))
    }

    /// An array of these rows, if there is at least one and all have the same type and shape.
    pub fn rows(rows: impl IntoIterator<Item = Self>) -> Option<Self> {
        let rows: Vec<Self> = rows.into_iter().collect();
        let mut out = crate::build::Rows::new(rows.len());
        let any = !rows.is_empty();
        for row in rows {
            out.push(row).ok()?;
        }
        any.then(|| out.finish(|| Rc::new(RunType::Unknown)))
    }

    /// An array without rows, of this row type.
    pub fn no_rows(row: &Rc<RunType>) -> Self {
        Self::Array(Rc::new(Array::empty_of(row)))
    }

    /// A value of a sum type, from its constructor's number and the payload.
    pub fn constructed(number: u32, parts: impl IntoIterator<Item = Self>) -> Self {
        Self::Sum(Rc::new((number, parts.into_iter().collect())))
    }

    /// The row of an array at an index, if it is in bounds.
    pub fn row_at(&self, i: i64) -> Option<Self> {
        match self {
            Self::Array(array) if i >= 0 && i < array.len() as i64 => Some(array.row(i as usize)),
            _ => None,
        }
    }

    /// A pair.
    pub fn pair(x: Self, y: Self) -> Self {
        Self::Tuple(Rc::new(Parts::from_iter([x, y])))
    }

    /// The type of the value, as far as the value determines it: integers count as signed, fields
    /// and constructors have no names.
    pub fn rty(&self) -> Rc<RunType> {
        Rc::new(match self {
            Self::Scalar(_) | Self::Active(_) => {
                let ty = self.as_scalar().map(Scalar::ty);
                let ty = ScalarType::ALL.iter().find(|scalar| Some(scalar.prim()) == ty);
                ty.map_or(RunType::Unknown, |ty| RunType::Scalar(*ty))
            }
            Self::Array(array) => RunType::Array(array.len() as i64, array.row_type()),
            Self::Tuple(parts) => RunType::Tuple(parts.iter().map(Self::rty).collect()),
            Self::Fun(_) => RunType::Fun,
            Self::Sum(_) | Self::Acc(_) | Self::Type(_) | Self::Unbound => RunType::Unknown,
        })
    }

    /// Equality as of the operator `==`: floats are compared numerically.
    pub fn equals(&self, other: &Self) -> bool {
        stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || match (self, other) {
            (Self::Scalar(x), Self::Scalar(y)) => same(*x, *y),
            (Self::Scalar(_) | Self::Active(_), Self::Scalar(_) | Self::Active(_)) => {
                let (x, y) = (self.as_scalar(), other.as_scalar());
                x.zip(y).is_some_and(|(x, y)| same(x, y))
            }
            (Self::Tuple(xs), Self::Tuple(ys)) => {
                xs.len() == ys.len() && xs.iter().zip(ys.iter()).all(|(x, y)| x.equals(y))
            }
            (Self::Sum(x), Self::Sum(y)) => x.0 == y.0 && x.1.iter().zip(&y.1).all(|(x, y)| x.equals(y)),
            (Self::Array(x), Self::Array(y)) => {
                x.shape == y.shape && (0..x.data.len()).all(|i| x.data.get(i).equals(&y.data.get(i)))
            }
            _ => false,
        })
    }
}

fn same(x: Scalar, y: Scalar) -> bool {
    prim::eval::compare(prim::CmpOp::Eq, x, y) == Some(true)
}
