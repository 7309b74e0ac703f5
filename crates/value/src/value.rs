//! Values and their types.
//!
//! Invariants of a [`Value`]: the number of bytes is the product of the shape and the element size,
//! all dimensions are at least 0, the rank is at most [`MAX_RANK`], and every byte of a `bool`
//! value is 0 or 1. All constructors check them, so native code and typed views can rely on them.

use crate::{Buffer, OutOfMemory};
use half::f16;
use prim::{Scalar, ScalarType};
use std::fmt;

/// The largest rank that the binary format can express.
pub const MAX_RANK: usize = 127;

/// The type of a value: element type and number of dimensions (0 for a scalar).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ValueType {
    /// Element type.
    pub scalar: ScalarType,
    /// Number of dimensions.
    pub rank: usize,
}

impl ValueType {
    /// The type of arrays of rank `rank` of `scalar`.
    pub const fn new(scalar: ScalarType, rank: usize) -> Self {
        Self { scalar, rank }
    }

    /// The number of words of a value in a call: one, and one for each size.
    pub const fn n_words(self) -> usize {
        self.rank + 1
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for _ in 0..self.rank {
            f.write_str("[]")?;
        }
        write!(f, "{}", self.scalar)
    }
}

/// A Rust type whose values have the representation of elements of a [`Value`].
///
/// # Safety
/// The type must have no padding and the size of `TYPE`; every bit pattern that a value of `TYPE`
/// may hold must be valid for it.
pub unsafe trait Element: Copy + 'static {
    /// The element type.
    const TYPE: ScalarType;
}

macro_rules! elements {
    ($($rust:ty => $ty:ident,)*) => {
        $(
            // SAFETY: the number types have no padding and no invalid patterns; `bool` has the
            // patterns 0 and 1, which are the only ones that a value of that type holds.
            unsafe impl Element for $rust {
                const TYPE: ScalarType = ScalarType::$ty;
            }
        )*
    };
}

elements! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, f32 => F32, f64 => F64, bool => Bool,
}

/// The reason why bytes and shape do not make a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShapeError {
    /// A dimension below 0.
    Negative(i64),
    /// More than [`MAX_RANK`] dimensions.
    Rank(usize),
    /// The size in bytes does not fit in 63 bits.
    Overflow,
    /// The number of bytes is not the one that the shape requires.
    Bytes {
        /// The number of bytes that the shape requires.
        expected: u64,
        /// The number of bytes given.
        found: u64,
    },
    /// A `bool` byte that is neither 0 nor 1, with its index.
    Bool(u64),
    /// A failed allocation.
    Memory(OutOfMemory),
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Negative(dim) => write!(f, "negative size {dim}"),
            Self::Rank(rank) => write!(f, "{rank} dimensions; the maximum is {MAX_RANK}"),
            Self::Overflow => write!(f, "the size in bytes does not fit in 63 bits"),
            Self::Bytes { expected, found } => {
                write!(f, "the shape needs {expected} bytes, but there are {found}")
            }
            Self::Bool(index) => write!(f, "the byte of bool {index} is neither 0 nor 1"),
            Self::Memory(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for ShapeError {}

impl From<OutOfMemory> for ShapeError {
    fn from(e: OutOfMemory) -> Self {
        Self::Memory(e)
    }
}

/// The number of bytes of an array, or the reason why the shape is invalid.
pub(crate) fn checked_byte_count(ty: ScalarType, shape: &[i64]) -> Result<u64, ShapeError> {
    if shape.len() > MAX_RANK {
        return Err(ShapeError::Rank(shape.len()));
    }
    if let Some(&dim) = shape.iter().find(|&&d| d < 0) {
        return Err(ShapeError::Negative(dim));
    }
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(ty.size() as i64, |n, &d| n.checked_mul(d))
        .map(|n| n as u64)
        .ok_or(ShapeError::Overflow)
}

/// A scalar (rank 0) or a regular array in row-major order. Equality compares type, shape and bits.
#[derive(PartialEq, Eq, Debug)]
pub struct Value {
    ty: ScalarType,
    shape: Vec<i64>,
    data: Buffer,
}

impl Value {
    /// The array with these elements, given as bytes in row-major order.
    pub fn new(ty: ScalarType, shape: Vec<i64>, data: Buffer) -> Result<Self, ShapeError> {
        let expected = checked_byte_count(ty, &shape)?;
        let found = data.len() as u64;
        if expected != found {
            return Err(ShapeError::Bytes { expected, found });
        }
        if ty == ScalarType::Bool
            && data.as_slice().iter().fold(0, |all, b| all | b) > 1
            && let Some(index) = data.as_slice().iter().position(|&b| b > 1)
        {
            return Err(ShapeError::Bool(index as u64));
        }
        Ok(Self { ty, shape, data })
    }

    /// As [`Value::new`], with a copy of `bytes`.
    pub fn from_bytes(ty: ScalarType, shape: Vec<i64>, bytes: &[u8]) -> Result<Self, ShapeError> {
        Self::new(ty, shape, Buffer::copy_of(bytes)?)
    }

    /// The array of `shape` with a copy of `elements`.
    pub fn from_slice<T: Element>(shape: &[i64], elements: &[T]) -> Result<Self, ShapeError> {
        // SAFETY: an `Element` has no padding, so all its bytes are initialised.
        let bytes =
            unsafe { std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements)) };
        Self::from_bytes(T::TYPE, shape.to_vec(), bytes)
    }

    /// The scalar `x`.
    pub fn scalar<T: Element>(x: T) -> Result<Self, ShapeError> {
        Self::from_slice(&[], &[x])
    }

    /// The scalar with the bits of `x`, as type `ty`: a core integer has no sign, the source type
    /// adds it. `None` if `x` is not of `ty`'s core type or there is no memory.
    pub fn from_scalar(ty: ScalarType, x: Scalar) -> Option<Self> {
        if ty.prim() != x.ty() {
            return None;
        }
        let bytes = x.bits().to_le_bytes();
        Self::from_bytes(ty, Vec::new(), bytes.get(..ty.size() as usize)?).ok()
    }

    /// A string as an array of type `[n]u8`, its bytes in UTF-8.
    pub fn from_string(text: &str) -> Result<Self, ShapeError> {
        Self::from_slice(&[text.len() as i64], text.as_bytes())
    }

    /// Element type.
    pub const fn scalar_type(&self) -> ScalarType {
        self.ty
    }

    /// Element type and rank.
    pub const fn value_type(&self) -> ValueType {
        ValueType::new(self.ty, self.shape.len())
    }

    /// The dimensions, outermost first.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Number of dimensions, 0 for a scalar.
    pub const fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements; 1 for a scalar.
    pub const fn len(&self) -> usize {
        self.data.len() / self.ty.size() as usize
    }

    /// Returns true for an array without elements.
    pub const fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The elements as bytes, in row-major order and native byte order.
    pub const fn bytes(&self) -> &[u8] {
        self.data.as_slice()
    }

    /// The elements, if they are of type `T`.
    pub fn elements<T: Element>(&self) -> Option<&[T]> {
        // SAFETY: type and size agree, the buffer is aligned to 64 bytes, and bools were checked
        // when the value was made.
        (T::TYPE == self.ty).then(|| unsafe {
            std::slice::from_raw_parts(self.data.as_slice().as_ptr().cast::<T>(), self.len())
        })
    }

    /// The element at flat index `index` as a core scalar.
    pub fn get(&self, index: usize) -> Option<Scalar> {
        let size = self.ty.size() as usize;
        let start = index.checked_mul(size)?;
        let bytes = self.bytes().get(start..start.checked_add(size)?)?;
        let mut wide = [0; 8];
        wide.get_mut(..size)?.copy_from_slice(bytes);
        Some(Scalar::from_bits(self.ty.prim(), u64::from_le_bytes(wide)))
    }

    /// The value itself, if it is a scalar.
    pub fn as_scalar(&self) -> Option<Scalar> {
        if self.rank() == 0 { self.get(0) } else { None }
    }

    /// The element type, the shape and the elements as bytes.
    pub fn into_parts(self) -> (ScalarType, Vec<i64>, Buffer) {
        (self.ty, self.shape, self.data)
    }

    /// A copy, or an error if there is no memory.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self { ty: self.ty, shape: self.shape.clone(), data: Buffer::copy_of(self.bytes())? })
    }
}

/// Displays the text format.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        crate::write_text(&mut text, self).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&text))
    }
}
