//! Typed buffers of elements.

use super::view::View;
use half::f16;
use prim::{PrimType, Scalar};

macro_rules! buffers {
    ($($variant:ident: $ty:ty;)*) => {
        /// Contiguous elements of one type.
        #[derive(Clone, Debug)]
        pub enum Buffer {
            $(
                #[doc = concat!("Elements of type `", stringify!($ty), "`.")]
                $variant(Vec<$ty>),
            )*
        }

        impl Buffer {
            /// An empty buffer with capacity for `n` elements.
            pub fn with_capacity(elem: PrimType, n: usize) -> Self {
                match elem { $(PrimType::$variant => Self::$variant(Vec::with_capacity(n)),)* }
            }

            /// A buffer of `n` equal elements.
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

            /// Returns true if there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The element at `i`.
            pub fn get(&self, i: usize) -> Option<Scalar> {
                match self { $(Self::$variant(xs) => xs.get(i).map(|x| Scalar::$variant(*x)),)* }
            }

            /// Writes the element at `i`; returns false if it does not exist or has another type.
            #[must_use]
            pub fn set(&mut self, i: usize, value: Scalar) -> bool {
                match (self, value) {
                    $((Self::$variant(xs), Scalar::$variant(x)) => match xs.get_mut(i) {
                        Some(slot) => {
                            *slot = x;
                            true
                        }
                        None => false,
                    },)*
                    _ => false,
                }
            }

            /// Appends a value; returns false if it has another type.
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

            /// Copies the elements of another buffer to the positions of the view, in order;
            /// returns false if their type or number differs.
            #[must_use]
            pub(super) fn put(&mut self, target: &View, from: &Self) -> bool {
                match (self, from) {
                    $((Self::$variant(xs), Self::$variant(ys)) => {
                        if let Some(range) = target.contiguous() {
                            let Some(xs) = xs.get_mut(range) else { return false };
                            let fits = xs.len() == ys.len();
                            if fits {
                                xs.copy_from_slice(ys);
                            }
                            return fits;
                        }
                        let mut ys = ys.iter();
                        let mut ok = true;
                        target.each(|i| match (xs.get_mut(i), ys.next()) {
                            (Some(x), Some(y)) => *x = *y,
                            _ => ok = false,
                        });
                        ok
                    })*
                    _ => false,
                }
            }

            /// Appends the elements of another buffer at the positions of the view; returns false
            /// if they have another type or do not exist.
            #[must_use]
            pub(super) fn extend(&mut self, other: &Self, offsets: &View) -> bool {
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

/// Elements that may be unwritten: copies preserve this.
#[derive(Clone, Debug)]
pub(super) struct PartialBuffer {
    pub(super) data: Buffer,
    /// True for each element that was never written; empty if all were.
    pub(super) unset: Vec<bool>,
}

impl From<Buffer> for PartialBuffer {
    fn from(data: Buffer) -> Self {
        Self { data, unset: Vec::new() }
    }
}

impl PartialBuffer {
    /// No elements, with capacity for `n`.
    pub(super) fn with_capacity(elem: PrimType, n: usize) -> Self {
        Buffer::with_capacity(elem, n).into()
    }

    /// `n` unwritten elements.
    pub(super) fn scratch(elem: PrimType, n: usize) -> Self {
        Self { data: Buffer::filled(Scalar::zero(elem), n), unset: vec![true; n] }
    }

    /// The element at `i`, if it exists and was written.
    pub(super) fn get(&self, i: usize) -> Option<Scalar> {
        if self.unset.get(i) == Some(&true) {
            return None;
        }
        self.data.get(i)
    }

    /// Writes the element at `i`; returns false if it does not exist or has another type.
    #[must_use]
    pub(super) fn set(&mut self, i: usize, value: Scalar) -> bool {
        if let Some(unset) = self.unset.get_mut(i) {
            *unset = false;
        }
        self.data.set(i, value)
    }

    /// Copies the elements of another store to the positions of the view, in order; returns false
    /// if their type or number differs.
    #[must_use]
    pub(super) fn put(&mut self, target: &View, from: &Self) -> bool {
        if !self.data.put(target, &from.data) {
            return false;
        }
        if self.unset.is_empty() && !from.unset.is_empty() {
            self.unset = vec![false; self.data.len()];
        }
        if !self.unset.is_empty() {
            let mut unset = from.unset.iter();
            target.each(|at| self.unset[at] = unset.next() == Some(&true));
        }
        true
    }

    /// Appends a value; returns false if it has another type.
    #[must_use]
    pub(super) fn push(&mut self, value: Scalar) -> bool {
        let fits = self.data.push(value);
        self.all_set_up_to(self.data.len());
        fits
    }

    /// If unwritten elements are recorded, extends the record to `n` elements; new ones are
    /// written.
    fn all_set_up_to(&mut self, n: usize) {
        if !self.unset.is_empty() {
            self.unset.resize(n, false);
        }
    }

    /// Appends the elements of a buffer at the positions of the view; returns false if they have
    /// another type or do not exist. `unset` returns true for unwritten elements, if there are any.
    #[must_use]
    pub(super) fn extend(
        &mut self,
        data: &Buffer,
        view: &View,
        unset: Option<&dyn Fn(usize) -> bool>,
    ) -> bool {
        let before = self.data.len();
        if !self.data.extend(data, view) {
            return false;
        }
        if let Some(unset) = unset {
            if self.unset.is_empty() {
                self.unset = vec![false; before];
            }
            view.each(|i| self.unset.push(unset(i)));
        }
        self.all_set_up_to(self.data.len());
        true
    }

    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        self.data.len()
    }

    /// Appends zeros up to this number of elements.
    pub(super) fn pad_with_zeros(&mut self, n: usize) {
        for _ in self.len()..n {
            let _ = self.push(Scalar::zero(self.data.elem()));
        }
    }

    /// The elements repeated `times` times.
    #[must_use]
    pub(super) fn repeated(&self, times: usize) -> Self {
        let n = self.data.len();
        let whole = View::whole(smallvec::smallvec![n as i64]);
        let mut store = Self::with_capacity(self.data.elem(), n * times);
        for _ in 0..times {
            let _ = store.data.extend(&self.data, &whole);
            store.unset.extend_from_slice(&self.unset);
        }
        store
    }
}
