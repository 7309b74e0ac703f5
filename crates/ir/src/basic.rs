//! Operations without bodies, the same at every level.
//!
//! Passes that treat many of them alike match on classes: the pattern macros
//! [`fresh_array_op`](crate::fresh_array_op), [`view_op`](crate::view_op),
//! [`update_op`](crate::update_op) and [`parameter_op`](crate::parameter_op). A new operation joins
//! a class, or breaks the build wherever it has to be classified.

use crate::name::Name;
use crate::syntax::Atom;
use crate::tunable::TunableId;
use crate::types::{Dim, Shape, Type};
use prim::{BinOp, CmpOp, ConvOp, PrimType, ScalarOp, ScalarType, UnOp};
use smallvec::SmallVec;
use std::sync::Arc;

/// A pattern for the operations that make a fresh array.
#[macro_export]
macro_rules! fresh_array_op {
    () => {
        $crate::BasicOp::Concat { .. }
            | $crate::BasicOp::Iota { .. }
            | $crate::BasicOp::Replicate { .. }
            | $crate::BasicOp::Scratch { .. }
            | $crate::BasicOp::Copy(_)
            | $crate::BasicOp::Manifest { .. }
            | $crate::BasicOp::ArrayLit { .. }
            | $crate::BasicOp::ConstArray { .. }
    };
}

/// A pattern for the operations whose result is always an alias of an array; [`BasicOp::Index`] may
/// also read an element.
#[macro_export]
macro_rules! view_op {
    () => {
        $crate::BasicOp::FlatIndex { .. }
            | $crate::BasicOp::Rearrange { .. }
            | $crate::BasicOp::Reshape { .. }
    };
}

/// A pattern for the operations that consume an array or accumulator, which their result aliases.
#[macro_export]
macro_rules! update_op {
    () => {
        $crate::BasicOp::Update { .. }
            | $crate::BasicOp::FlatUpdate { .. }
            | $crate::BasicOp::UpdateAcc { .. }
    };
}

/// A pattern for the operations that depend on tuning parameters.
#[macro_export]
macro_rules! parameter_op {
    () => {
        $crate::BasicOp::SizeAtLeast { .. } | $crate::BasicOp::Param { .. }
    };
}

/// One dimension of an index or slice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DimIndex {
    /// One index, `i64`; the dimension disappears.
    Fix(Atom),
    /// The indices `start + k * stride` for `k < count`.
    Slice {
        /// First index.
        start: Atom,
        /// Number of indices; the size of the new dimension.
        count: Dim,
        /// Distance between indices, of any sign.
        stride: Atom,
    },
}

impl DimIndex {
    /// Returns true if these are all indices of a dimension, in order.
    pub fn is_full(&self, dim: Dim) -> bool {
        matches!(self, Self::Slice { start, count, stride }
            if *start == Atom::i64(0) && *count == dim && *stride == Atom::i64(1))
    }
}

/// The guarantee of a reshape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReshapeKind {
    /// The same dimensions under other names; certificates prove them equal.
    Coerce,
    /// Other dimensions with the same product; row-major order is kept.
    Arbitrary,
}

/// A part of an error message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MsgPart {
    /// Fixed text.
    Text(Arc<str>),
    /// A value, formatted as a value of this source type.
    Value(ScalarType, Atom),
}

/// Prefix of the messages of failed checks of an entry point's argument sizes.
pub const ENTRY_SIZES_MESSAGE: &str = "entry point arguments have invalid sizes";

/// Operations without bodies.
#[derive(Clone, PartialEq, Debug)]
pub enum BasicOp {
    /// The operand itself.
    Atom(Atom),
    /// An operation on scalars.
    Scalar(ScalarOp<Atom>),
    /// Compares a size (`i64`) with a tuning parameter: true if the size is not less; yields
    /// `bool`. Never folded, since the parameter's value is known at run time only.
    SizeAtLeast {
        /// The size.
        size: Atom,
        /// The function's tuning parameter.
        tunable: TunableId,
    },
    /// The value (`i64`) of a user-defined tuning parameter, by its name in the source program, or
    /// the default if it is not set. Never folded.
    Param {
        /// The parameter's name.
        name: Arc<str>,
        /// The default value.
        default: Atom,
    },
    /// A check: a certificate if `cond` holds; otherwise the program fails with the message.
    Assert {
        /// The condition.
        cond: Atom,
        /// The error message.
        msg: Vec<MsgPart>,
    },
    /// An element or slice; aliases the array. Has one entry per dimension of the array. Its
    /// certificates guarantee that it is in bounds.
    Index {
        /// The array.
        array: Name,
        /// One entry per dimension.
        slice: Vec<DimIndex>,
    },
    /// The array with the slice replaced; consumes the array.
    Update {
        /// The array.
        array: Name,
        /// One entry per dimension.
        slice: Vec<DimIndex>,
        /// A scalar, or an array of the slice's shape.
        value: Atom,
    },
    /// A view that replaces the outermost dimension by several: `dims` are the sizes and strides
    /// (in rows) of the new dimensions. Aliases the array. Must not be consumed, as it may contain
    /// an element more than once.
    FlatIndex {
        /// The array.
        array: Name,
        /// The first row.
        offset: Atom,
        /// At least one.
        dims: SmallVec<[(Dim, Atom); 4]>,
    },
    /// The array with the rows of such a view replaced; consumes the array.
    FlatUpdate {
        /// The array.
        array: Name,
        /// The first row.
        offset: Atom,
        /// Strides in rows; the sizes are the value's outer ones.
        strides: SmallVec<[Atom; 4]>,
        /// The new rows, an array.
        value: Name,
    },
    /// Concatenation of arrays along a dimension; a fresh array.
    Concat {
        /// The dimension.
        dim: usize,
        /// At least one.
        arrays: Vec<Name>,
        /// The sum of the arrays' sizes in that dimension.
        width: Dim,
    },
    /// `start + i * stride` for `i < count`; a fresh array. The arithmetic wraps.
    Iota {
        /// Integer type of the elements.
        ty: PrimType,
        /// Number of elements.
        count: Dim,
        /// First element.
        start: Atom,
        /// Difference of consecutive elements.
        stride: Atom,
    },
    /// The value (scalar or array) repeated over new outer dimensions; a fresh array.
    Replicate {
        /// The new dimensions.
        shape: Shape,
        /// The value that is repeated.
        value: Atom,
    },
    /// A fresh array of unspecified contents.
    Scratch {
        /// Element type.
        elem: PrimType,
        /// Shape.
        shape: Shape,
    },
    /// Permuted dimensions: result dimension `i` is dimension `perm[i]` of the array. Aliases.
    Rearrange {
        /// A permutation of `0..rank`.
        perm: SmallVec<[usize; 3]>,
        /// The array.
        array: Name,
    },
    /// The same elements in row-major order under another shape. Aliases.
    Reshape {
        /// Its guarantee.
        kind: ReshapeKind,
        /// The new shape.
        shape: Shape,
        /// The array.
        array: Name,
    },
    /// A fresh copy.
    Copy(Name),
    /// A fresh copy with its dimensions in this order in memory.
    Manifest {
        /// Order of the dimensions, by decreasing stride.
        perm: SmallVec<[usize; 3]>,
        /// The array.
        array: Name,
    },
    /// An array of given elements (scalars, or arrays of one shape); a fresh array.
    ArrayLit {
        /// The type of one element.
        row: Type,
        /// The elements.
        elems: Vec<Atom>,
    },
    /// A constant array, opaque to all passes; row-major, little-endian.
    ConstArray {
        /// Element type.
        elem: PrimType,
        /// Constant dimensions.
        shape: SmallVec<[i64; 3]>,
        /// The elements' bytes.
        bytes: Arc<[u8]>,
    },
    /// The operand, hidden from the optimiser.
    Opaque(Atom),
    /// The accumulator with `values` combined with the element at the index or, without an
    /// operator, written there. Updates at out-of-bounds indices are ignored.
    UpdateAcc {
        /// The accumulator.
        acc: Name,
        /// One `i64` per dimension of the accumulator's shape.
        index: SmallVec<[Atom; 2]>,
        /// One per element type.
        values: Vec<Atom>,
    },
}

impl From<ScalarOp<Atom>> for BasicOp {
    fn from(op: ScalarOp<Atom>) -> Self {
        Self::Scalar(op)
    }
}

/// Constructors of operations on scalars.
impl BasicOp {
    /// A unary operator at a type.
    pub fn unary(op: UnOp, ty: PrimType, x: impl Into<Atom>) -> Self {
        Self::Scalar(ScalarOp::Unary(op, ty, x.into()))
    }

    /// A binary operator at a type.
    pub fn binary(op: BinOp, ty: PrimType, x: impl Into<Atom>, y: impl Into<Atom>) -> Self {
        Self::Scalar(ScalarOp::Binary(op, ty, x.into(), y.into()))
    }

    /// A comparison at an operand type.
    pub fn compare(op: CmpOp, ty: PrimType, x: impl Into<Atom>, y: impl Into<Atom>) -> Self {
        Self::Scalar(ScalarOp::Compare(op, ty, x.into(), y.into()))
    }

    /// A conversion.
    pub fn convert(op: ConvOp, from: PrimType, to: PrimType, arg: impl Into<Atom>) -> Self {
        Self::Scalar(ScalarOp::Convert { op, from, to, arg: arg.into() })
    }

    /// The integers `0 .. count`.
    pub fn indices(count: Dim) -> Self {
        Self::Iota { ty: PrimType::I64, count, start: Atom::i64(0), stride: Atom::i64(1) }
    }

    /// The count, if the operation is [`indices`](Self::indices).
    pub fn as_indices(&self) -> Option<Dim> {
        if let Self::Iota { count, .. } = self {
            (*self == Self::indices(*count)).then_some(*count)
        } else {
            None
        }
    }

    /// One of two scalars of a type.
    pub fn select(
        ty: PrimType,
        cond: impl Into<Atom>,
        if_true: impl Into<Atom>,
        if_false: impl Into<Atom>,
    ) -> Self {
        let (cond, if_true, if_false) = (cond.into(), if_true.into(), if_false.into());
        Self::Scalar(ScalarOp::Select { ty, cond, if_true, if_false })
    }

    /// A fused multiply-add.
    pub fn fma(ty: PrimType, x: impl Into<Atom>, y: impl Into<Atom>, z: impl Into<Atom>) -> Self {
        Self::Scalar(ScalarOp::Fma(ty, x.into(), y.into(), z.into()))
    }
}
