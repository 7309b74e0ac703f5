//! Arrays of the evaluator: views of shared typed buffers.

use super::{ErrorClass, EvalError, MAX_ARRAY_BYTES};
use half::f16;
use prim::{PrimType, Scalar};
use smallvec::SmallVec;
use std::rc::Rc;

/// Sizes or strides.
pub(super) type Sizes = SmallVec<[i64; 3]>;

macro_rules! buffers {
    ($($variant:ident: $ty:ty;)*) => {
        /// Elements of one type, one after another.
        #[derive(Clone, Debug)]
        pub enum Buffer {
            $(
                #[doc = concat!("Elements of type `", stringify!($ty), "`.")]
                $variant(Vec<$ty>),
            )*
        }

        impl Buffer {
            /// An empty buffer with room for `n` elements.
            pub fn with_capacity(elem: PrimType, n: usize) -> Self {
                match elem { $(PrimType::$variant => Self::$variant(Vec::with_capacity(n)),)* }
            }

            /// `n` times the value.
            pub fn filled(value: Scalar, n: usize) -> Self {
                match value { $(Scalar::$variant(x) => Self::$variant(vec![x; n]),)* }
            }

            /// Type of the elements.
            pub fn elem(&self) -> PrimType {
                match self { $(Self::$variant(_) => PrimType::$variant,)* }
            }

            /// Number of elements.
            pub fn len(&self) -> usize {
                match self { $(Self::$variant(xs) => xs.len(),)* }
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The element at `i`.
            pub fn get(&self, i: usize) -> Option<Scalar> {
                match self { $(Self::$variant(xs) => xs.get(i).map(|x| Scalar::$variant(*x)),)* }
            }

            /// Writes the element at `i`; false if there is none or it has another type.
            #[must_use]
            pub fn set(&mut self, i: usize, value: Scalar) -> bool {
                match (self, value) {
                    $((Self::$variant(xs), Scalar::$variant(x)) => match xs.get_mut(i) {
                        Some(place) => {
                            *place = x;
                            true
                        }
                        None => false,
                    },)*
                    _ => false,
                }
            }

            /// Appends a value; false if it has another type.
            #[must_use]
            pub fn push(&mut self, value: Scalar) -> bool {
                match (self, value) {
                    $((Self::$variant(xs), Scalar::$variant(x)) => {
                        xs.push(x);
                        true
                    })*
                    _ => false,
                }
            }

            /// Appends elements of another buffer; false if they have another type
            /// or there are not so many.
            #[must_use]
            fn extend(&mut self, other: &Self, offsets: &View) -> bool {
                match (self, other) {
                    $((Self::$variant(xs), Self::$variant(ys)) => {
                        if let Some(range) = offsets.contiguous() {
                            let Some(ys) = ys.get(range) else { return false };
                            xs.extend_from_slice(ys);
                            return true;
                        }
                        let mut ok = true;
                        offsets.each(|i| match ys.get(i) {
                            Some(y) => xs.push(*y),
                            None => ok = false,
                        });
                        ok
                    })*
                    _ => false,
                }
            }
        }
    };
}

buffers! {
    I8: i8;
    I16: i16;
    I32: i32;
    I64: i64;
    F16: f16;
    F32: f32;
    F64: f64;
    Bool: bool;
}

/// Which elements of a buffer an array has.
#[derive(Clone, Debug)]
struct View {
    offset: i64,
    shape: Sizes,
    strides: Sizes,
}

impl View {
    fn whole(shape: Sizes) -> Self {
        let mut strides: Sizes = SmallVec::from_elem(1, shape.len());
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i].wrapping_mul(shape[i].max(1));
        }
        Self {
            offset: 0,
            shape,
            strides,
        }
    }

    fn count(&self) -> usize {
        self.shape.iter().product::<i64>().max(0) as usize
    }

    /// The elements' positions, if they lie one after another in row-major order.
    fn contiguous(&self) -> Option<std::ops::Range<usize>> {
        let mut expected = 1;
        for (n, stride) in self.shape.iter().zip(&self.strides).rev() {
            if *n > 1 && *stride != expected {
                return None;
            }
            expected *= n;
        }
        let start = self.offset as usize;
        Some(if self.count() == 0 {
            0..0
        } else {
            start..start + self.count()
        })
    }

    /// Calls `f` with the elements' positions in row-major order.
    fn each(&self, mut f: impl FnMut(usize)) {
        if self.count() == 0 {
            return;
        }
        let mut index: Sizes = SmallVec::from_elem(0, self.shape.len());
        let mut at = self.offset;
        loop {
            f(at as usize);
            let mut dim = index.len();
            loop {
                if dim == 0 {
                    return;
                }
                dim -= 1;
                index[dim] += 1;
                at += self.strides[dim];
                if index[dim] < self.shape[dim] {
                    break;
                }
                at -= self.strides[dim] * index[dim];
                index[dim] = 0;
            }
        }
    }
}

/// An array: a view of a buffer that it may share with others.
#[derive(Clone, Debug)]
pub struct Array {
    data: Rc<Buffer>,
    view: View,
}

impl PartialEq for Array {
    /// Equal shapes and equal elements (as constants: NaNs by bits).
    fn eq(&self, other: &Self) -> bool {
        self.elem() == other.elem()
            && self.shape() == other.shape()
            && self.scalars() == other.scalars()
    }
}

/// The product of sizes, if it is a possible number of elements of this size.
pub(super) fn checked_count(shape: &[i64], elem: PrimType) -> Result<usize, EvalError> {
    let mut count = 1i64;
    for n in shape {
        if *n < 0 {
            return Err(EvalError::bug(format!("the size {n} is negative")));
        }
    }
    for n in shape {
        if *n == 0 {
            return Ok(0);
        }
        count = count.checked_mul(*n).unwrap_or(i64::MAX);
    }
    if (count as u64).saturating_mul(elem.size()) > MAX_ARRAY_BYTES {
        let message = format!("an array of {count} elements of type {elem}");
        return Err(EvalError::new(ErrorClass::Limit, message));
    }
    Ok(count as usize)
}

impl Array {
    /// The buffer's elements in this shape, row-major; `None` unless their numbers agree.
    pub fn new(shape: &[i64], data: Buffer) -> Option<Self> {
        let count = checked_count(shape, data.elem()).ok()?;
        (count == data.len()).then(|| Self {
            data: Rc::new(data),
            view: View::whole(SmallVec::from_slice(shape)),
        })
    }

    /// An array of values of type `elem`; `None` unless types and number agree.
    pub fn from_scalars(elem: PrimType, shape: &[i64], values: &[Scalar]) -> Option<Self> {
        let mut data = Buffer::with_capacity(elem, values.len());
        let fits = values.iter().all(|value| data.push(*value));
        if fits { Self::new(shape, data) } else { None }
    }

    /// An array of row-major little-endian elements; `None` unless their number agrees.
    pub fn from_bytes(elem: PrimType, shape: &[i64], bytes: &[u8]) -> Option<Self> {
        let size = elem.size() as usize;
        let mut data = Buffer::with_capacity(elem, bytes.len() / size);
        for chunk in bytes.chunks_exact(size) {
            let mut word = [0; 8];
            word[..size].copy_from_slice(chunk);
            let _ = data.push(Scalar::from_bits(elem, u64::from_le_bytes(word)));
        }
        Self::new(shape, data)
    }

    /// The elements, row-major, little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let size = self.elem().size() as usize;
        let mut bytes = Vec::with_capacity(size * self.view.count());
        self.view.each(|i| {
            let word = self.data.get(i).map_or(0, Scalar::bits).to_le_bytes();
            bytes.extend_from_slice(&word[..size]);
        });
        bytes
    }

    /// The elements, row-major.
    pub fn scalars(&self) -> Vec<Scalar> {
        let mut values = Vec::with_capacity(self.view.count());
        self.view.each(|i| values.extend(self.data.get(i)));
        values
    }

    /// Type of the elements.
    pub fn elem(&self) -> PrimType {
        self.data.elem()
    }

    /// Sizes, outermost first.
    pub fn shape(&self) -> &[i64] {
        &self.view.shape
    }

    /// The element with these indices, as many as dimensions.
    pub(super) fn element(&self, indices: &[i64]) -> Option<Scalar> {
        let mut at = self.view.offset;
        for ((i, n), stride) in indices.iter().zip(&self.view.shape).zip(&self.view.strides) {
            if !(0..*n).contains(i) {
                return None;
            }
            at += i * stride;
        }
        self.data.get(at as usize)
    }

    /// A view: per dimension, one index (`Ok`) or start, count and stride.
    /// `None` if it is out of bounds.
    pub(super) fn slice(&self, slice: &[Result<i64, (i64, i64, i64)>]) -> Option<Self> {
        let old = &self.view;
        let mut offset = old.offset;
        let (mut shape, mut strides) = (Sizes::new(), Sizes::new());
        for (dim, index) in slice.iter().enumerate() {
            let (n, old_stride) = (*old.shape.get(dim)?, old.strides[dim]);
            let inside = |i: i64| (0..n).contains(&i);
            match *index {
                Ok(i) => {
                    if !inside(i) {
                        return None;
                    }
                    offset += i * old_stride;
                }
                Err((start, count, stride)) => {
                    if count < 0 {
                        return None;
                    }
                    if count > 0 {
                        let last = start.checked_add(stride.checked_mul(count - 1)?)?;
                        if !inside(start) || !inside(last) {
                            return None;
                        }
                        offset += start * old_stride;
                    }
                    shape.push(count);
                    strides.push(stride.wrapping_mul(old_stride));
                }
            }
        }
        shape.extend_from_slice(old.shape.get(slice.len()..)?);
        strides.extend_from_slice(&old.strides[slice.len()..]);
        Some(Self {
            data: self.data.clone(),
            view: View {
                offset,
                shape,
                strides,
            },
        })
    }

    /// A view that divides the outermost dimension: first row, then size and
    /// distance of each new dimension. `None` if it is out of bounds.
    pub(super) fn flat_slice(&self, offset: i64, dims: &[(i64, i64)]) -> Option<Self> {
        let old = &self.view;
        let (&n, &row) = (old.shape.first()?, old.strides.first()?);
        let (mut least, mut most) = (offset, offset);
        for (count, stride) in dims {
            let last = stride.checked_mul(count.checked_sub(1)?)?;
            least = least.checked_add(last.min(0))?;
            most = most.checked_add(last.max(0))?;
        }
        let empty = dims.iter().any(|(count, _)| *count == 0);
        if dims.iter().any(|(count, _)| *count < 0) || !empty && (least < 0 || most >= n) {
            return None;
        }
        let mut shape: Sizes = dims.iter().map(|(count, _)| *count).collect();
        // Where there is no next row, its distance may be any number.
        let mut strides: Sizes = dims
            .iter()
            .map(|(count, stride)| if *count > 1 { stride * row } else { 0 })
            .collect();
        shape.extend_from_slice(&old.shape[1..]);
        strides.extend_from_slice(&old.strides[1..]);
        let offset = if empty { 0 } else { offset * row };
        Some(Self {
            data: self.data.clone(),
            view: View {
                offset: old.offset + offset,
                shape,
                strides,
            },
        })
    }

    /// Dimensions permuted.
    pub(super) fn rearrange(&self, perm: &[usize]) -> Option<Self> {
        let pick = |sizes: &Sizes| perm.iter().map(|i| sizes.get(*i).copied()).collect();
        let shape: Option<Sizes> = pick(&self.view.shape);
        let strides: Option<Sizes> = pick(&self.view.strides);
        let view = View {
            offset: self.view.offset,
            shape: shape?,
            strides: strides?,
        };
        Some(Self {
            data: self.data.clone(),
            view,
        })
    }

    /// The same elements in another shape; `None` if that has another number of them.
    pub(super) fn reshape(&self, shape: &[i64]) -> Option<Self> {
        let count = checked_count(shape, self.elem()).ok()?;
        if count != self.view.count() {
            return None;
        }
        let base = if self.view.contiguous().is_some() {
            self.clone()
        } else {
            self.copy()
        };
        let view = View {
            offset: base.view.offset,
            ..View::whole(SmallVec::from_slice(shape))
        };
        Some(Self {
            data: base.data,
            view,
        })
    }

    /// The elements in a buffer of their own.
    pub(super) fn copy(&self) -> Self {
        let mut data = Buffer::with_capacity(self.elem(), self.view.count());
        let _ = data.extend(&self.data, &self.view);
        Self {
            data: Rc::new(data),
            view: View::whole(self.view.shape.clone()),
        }
    }

    /// Appends the elements to a buffer; false if it has another type.
    #[must_use]
    pub(super) fn append_to(&self, buffer: &mut Buffer) -> bool {
        buffer.extend(&self.data, &self.view)
    }

    /// Makes the buffer this array's own, copying it if it is shared.
    fn own(&mut self) -> &mut Buffer {
        if Rc::get_mut(&mut self.data).is_none() {
            *self = self.copy();
        }
        Rc::make_mut(&mut self.data)
    }

    /// Writes an element; false if it is out of bounds or of another type.
    #[must_use]
    pub(super) fn write(&mut self, indices: &[i64], value: Scalar) -> bool {
        self.own();
        let mut at = self.view.offset;
        for ((i, n), stride) in indices.iter().zip(&self.view.shape).zip(&self.view.strides) {
            if !(0..*n).contains(i) {
                return false;
            }
            at += i * stride;
        }
        self.own().set(at as usize, value)
    }

    /// Writes a slice; false if it is out of bounds, or the value has another
    /// number or type of elements.
    #[must_use]
    pub(super) fn write_slice(
        &mut self,
        slice: &[Result<i64, (i64, i64, i64)>],
        value: &Self,
    ) -> bool {
        self.own();
        let part = self.slice(slice);
        self.write_view(part, value)
    }

    /// Writes to a view that divides the outermost dimension; see
    /// [`Array::flat_slice`] and [`Array::write_slice`].
    #[must_use]
    pub(super) fn write_flat(&mut self, offset: i64, dims: &[(i64, i64)], value: &Self) -> bool {
        self.own();
        let part = self.flat_slice(offset, dims);
        self.write_view(part, value)
    }

    fn write_view(&mut self, part: Option<Self>, value: &Self) -> bool {
        let Some(part) = part.map(|part| part.view) else {
            return false;
        };
        if part.shape != value.view.shape {
            return false;
        }
        let values = value.scalars();
        let buffer = self.own();
        let mut values = values.into_iter();
        let mut ok = true;
        part.each(|i| ok &= values.next().is_some_and(|x| buffer.set(i, x)));
        ok
    }
}
