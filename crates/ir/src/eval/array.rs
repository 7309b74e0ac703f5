//! Arrays of the evaluator: views of shared typed buffers, or of memory blocks.
//!
//! An array in a buffer is a value: the buffer is copied when it is written while shared. An array
//! in a block is a memory location: other writes to it change the array, and a read afterwards is
//! an error.

pub use super::buffer::Buffer;

use super::block::{Block, BlockRef, Stamp};
use super::buffer::PartialBuffer;
use super::view::{Index, Sizes, View};
use super::{ErrorClass, EvalError, MAX_ARRAY_BYTES};
use prim::{PrimType, Scalar};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;

/// An array: a view of a buffer that it may share with others or, in programs with memory, of a
/// block.
///
/// It is as small as a scalar, since most values are scalars.
#[derive(Clone, Debug)]
pub struct Array(Rc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    data: Data,
    view: View,
}

/// The memory of which an array is a view.
#[derive(Clone, Debug)]
enum Data {
    Own(Rc<PartialBuffer>),
    /// Its elements must not have been written since this time.
    InBlock {
        block: BlockRef,
        elem: PrimType,
        owned_since: u32,
    },
}

impl PartialEq for Array {
    /// Equal shapes and equal elements (as constants: NaNs by bits).
    fn eq(&self, other: &Self) -> bool {
        self.elem() == other.elem() && self.shape() == other.shape() && self.scalars() == other.scalars()
    }
}

/// The product of sizes; an error if one is negative or the array would be too large.
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

fn read_of_unwritten<T>() -> Result<T, EvalError> {
    Err(EvalError::bug("an element is read before it is written"))
}

impl Array {
    /// The buffer's elements in this shape, row-major; `None` unless their number matches.
    pub fn new(shape: &[i64], data: Buffer) -> Option<Self> {
        Self::of(shape, data.into())
    }

    /// The elements in this shape, row-major; `None` unless their number matches.
    pub(super) fn of(shape: &[i64], data: PartialBuffer) -> Option<Self> {
        let count = checked_count(shape, data.data.elem()).ok()?;
        (count == data.data.len()).then(|| Self::owning(data, SmallVec::from_slice(shape)))
    }

    fn owning(data: PartialBuffer, shape: Sizes) -> Self {
        Self(Rc::new(Inner { data: Data::Own(Rc::new(data)), view: View::whole(shape) }))
    }

    /// The array at this location of a block, with its current elements.
    pub(super) fn in_block_at(block: BlockRef, elem: PrimType, view: View) -> Self {
        let data = Data::InBlock { block, elem, owned_since: 0 };
        Self(Rc::new(Inner { data, view }))
    }

    /// An array of values of type `elem`; `None` unless types and number match.
    pub fn from_scalars(elem: PrimType, shape: &[i64], values: &[Scalar]) -> Option<Self> {
        let mut data = Buffer::with_capacity(elem, values.len());
        let fits = values.iter().all(|value| data.push(*value));
        if fits { Self::new(shape, data) } else { None }
    }

    /// An array of row-major little-endian elements; `None` unless their number matches.
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

    /// The elements' bytes, row-major, little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let size = self.elem().size() as usize;
        let scalars = self.scalars();
        let mut bytes = Vec::with_capacity(size * scalars.len());
        for value in scalars {
            bytes.extend_from_slice(&value.bits().to_le_bytes()[..size]);
        }
        bytes
    }

    /// The elements, row-major. In results of evaluations, all are present.
    pub fn scalars(&self) -> Vec<Scalar> {
        let mut values = Vec::with_capacity(self.0.view.count());
        match &self.0.data {
            Data::Own(store) => self.0.view.each(|i| values.extend(store.data.get(i))),
            Data::InBlock { block, elem, owned_since: born } => {
                let block = block.borrow();
                let value = |i: usize| block.get(i as i64, *elem, *born);
                self.0.view.each(|i| values.extend(value(i).ok()));
            }
        }
        values
    }

    /// Type of the elements.
    pub fn elem(&self) -> PrimType {
        match &self.0.data {
            Data::Own(store) => store.data.elem(),
            Data::InBlock { elem, .. } => *elem,
        }
    }

    /// Sizes, outermost first.
    pub fn shape(&self) -> &[i64] {
        &self.0.view.shape
    }

    /// The block of the array, if it is in one.
    pub(super) fn block(&self) -> Option<&BlockRef> {
        match &self.0.data {
            Data::Own(_) => None,
            Data::InBlock { block, .. } => Some(block),
        }
    }

    /// Returns true if both have the same location in the same block.
    pub(super) fn same_location(&self, other: &Self) -> bool {
        match (self.block(), other.block()) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b) && self.0.view.same(&other.0.view),
            _ => false,
        }
    }

    /// Returns true if it is row-major from the start of its block, or in no block.
    pub(super) fn is_row_major_at_start(&self) -> bool {
        self.block().is_none() || self.0.view.same(&View::whole(self.0.view.shape.clone()))
    }

    /// Takes ownership of the elements at its location at this time.
    pub(super) fn claim_at(&mut self, time: u32) {
        if let Data::InBlock { owned_since: born, .. } = &mut Rc::make_mut(&mut self.0).data {
            *born = time;
        }
    }

    /// Makes its block read-only.
    pub(super) fn make_read_only(&self) {
        if let Data::InBlock { block, .. } = &self.0.data {
            block.borrow_mut().keep();
        }
    }

    /// Checks that its location has not been written since the array was created.
    pub(super) fn intact(&self) -> Result<(), EvalError> {
        match &self.0.data {
            Data::Own(_) => Ok(()),
            Data::InBlock { block, elem, owned_since: born } => {
                block.borrow().check(&self.0.view, *elem, *born).map(|_| ())
            }
        }
    }

    /// The array, row-major in a block of its own.
    pub(super) fn in_block(&self, block: Block, stamp: Stamp) -> Result<Self, EvalError> {
        let view = View::whole(self.0.view.shape.clone());
        let block = Rc::new(RefCell::new(block));
        let mut placed = Self::in_block_at(block, self.elem(), view);
        placed.fill(self, stamp)?;
        Ok(placed)
    }

    /// The element with these indices, one per dimension; `None` if out of bounds.
    pub(super) fn element(&self, indices: &[i64]) -> Result<Option<Scalar>, EvalError> {
        let Some(at) = self.0.view.position(indices) else {
            return Ok(None);
        };
        match &self.0.data {
            Data::Own(store) => match store.get(at as usize) {
                None => read_of_unwritten(),
                value => Ok(value),
            },
            Data::InBlock { block, elem, owned_since: born } => {
                block.borrow().get(at, *elem, *born).map(Some)
            }
        }
    }

    fn with_view(&self, view: View) -> Self {
        let data = self.0.data.clone();
        Self(Rc::new(Inner { data, view }))
    }

    /// A slice: per dimension, an index (`Ok`) or start, count and stride. `None` if out of bounds.
    pub(super) fn slice(&self, slice: &[Index]) -> Option<Self> {
        self.0.view.slice(slice).map(|view| self.with_view(view))
    }

    /// A view that replaces the outermost dimension by several: first row, then size and stride (in
    /// rows) of each new dimension. `None` if out of bounds.
    pub(super) fn flat_slice(&self, offset: i64, dims: &[(i64, i64)]) -> Option<Self> {
        let view = self.0.view.flat_slice(offset, dims);
        view.map(|view| self.with_view(view))
    }

    /// The array with permuted dimensions; `None` if the permutation is invalid.
    pub(super) fn rearrange(&self, perm: &[usize]) -> Option<Self> {
        self.0.view.rearrange(perm).map(|view| self.with_view(view))
    }

    /// The same elements in another shape; `None` if the number of elements differs.
    pub(super) fn reshape(&self, shape: &[i64]) -> Result<Option<Self>, EvalError> {
        let count = checked_count(shape, self.elem())?;
        if count != self.0.view.count() {
            return Ok(None);
        }
        if let Some(view) = self.0.view.reshape(shape) {
            return Ok(Some(self.with_view(view)));
        }
        if self.block().is_some() {
            return Err(EvalError::bug("no index function expresses this reshape"));
        }
        let copy = self.copy()?;
        Ok(copy.0.view.reshape(shape).map(|view| copy.with_view(view)))
    }

    /// The elements, row-major.
    pub(super) fn store(&self) -> Result<PartialBuffer, EvalError> {
        let mut store = PartialBuffer::with_capacity(self.elem(), self.0.view.count());
        let _ = self.append_to(&mut store)?;
        Ok(store)
    }

    /// A copy in a buffer of its own.
    pub(super) fn copy(&self) -> Result<Self, EvalError> {
        Ok(Self::owning(self.store()?, self.0.view.shape.clone()))
    }

    /// A copy as a result of the program; an error unless all elements have been written.
    pub(super) fn result(&self) -> Result<Self, EvalError> {
        let copy = self.copy()?;
        if let Data::Own(store) = &copy.0.data
            && store.unset.contains(&true)
        {
            Err(EvalError::bug("a result was not completely written"))
        } else {
            Ok(copy)
        }
    }

    /// Appends the elements; returns false if they have another type.
    pub(super) fn append_to(&self, out: &mut PartialBuffer) -> Result<bool, EvalError> {
        match &self.0.data {
            Data::Own(store) => {
                let unset = |at: usize| store.unset.get(at) == Some(&true);
                let noted = !store.unset.is_empty();
                let unset: Option<&dyn Fn(usize) -> bool> = if noted { Some(&unset) } else { None };
                Ok(out.extend(&store.data, &self.0.view, unset))
            }
            Data::InBlock { block, elem, owned_since: born } => {
                block.borrow().append(&self.0.view, *elem, *born, out)
            }
        }
    }

    /// Makes the array the only owner of its buffer, by copying it if it is shared.
    fn own(&mut self) -> Result<(), EvalError> {
        let shared = match Rc::get_mut(&mut self.0) {
            None => self.block().is_none(),
            Some(Inner { data: Data::Own(store), .. }) => Rc::get_mut(store).is_none(),
            Some(_) => false,
        };
        if shared {
            *self = self.copy()?;
        }
        Ok(())
    }

    /// Writes an element; returns false if it is out of bounds or of another type.
    pub(super) fn write(&mut self, indices: &[i64], value: Scalar, stamp: Stamp) -> Result<bool, EvalError> {
        self.own()?;
        let Some(at) = self.0.view.position(indices) else {
            return Ok(false);
        };
        match &mut Rc::make_mut(&mut self.0).data {
            Data::Own(store) => Ok(Rc::make_mut(store).set(at as usize, value)),
            Data::InBlock { block, elem, owned_since: born } => {
                *born = stamp.time;
                if value.ty() != *elem {
                    return Ok(false);
                }
                block.borrow_mut().set(at, value, stamp).map(|()| true)
            }
        }
    }

    /// Writes a slice; returns false if it is out of bounds, or if the value has another shape or
    /// element type.
    pub(super) fn write_slice(
        &mut self,
        slice: &[Index],
        value: &Self,
        stamp: Stamp,
    ) -> Result<bool, EvalError> {
        self.own()?;
        let part = self.0.view.slice(slice);
        self.write_view(part, value, stamp)
    }

    /// Writes to a view that replaces the outermost dimension by several; see [`Array::flat_slice`]
    /// and [`Array::write_slice`].
    pub(super) fn write_flat(
        &mut self,
        offset: i64,
        dims: &[(i64, i64)],
        value: &Self,
        stamp: Stamp,
    ) -> Result<bool, EvalError> {
        self.own()?;
        let part = self.0.view.flat_slice(offset, dims);
        self.write_view(part, value, stamp)
    }

    /// Writes all elements; the shapes must be equal.
    pub(super) fn fill(&mut self, value: &Self, stamp: Stamp) -> Result<(), EvalError> {
        if self.write_view(Some(self.0.view.clone()), value, stamp)? {
            return Ok(());
        }
        Err(EvalError::bug(format!(
            "a value of shape {:?} is written to a location of shape {:?}",
            value.shape(),
            self.shape()
        )))
    }

    fn write_view(&mut self, part: Option<View>, value: &Self, stamp: Stamp) -> Result<bool, EvalError> {
        let Some(part) = part else {
            return Ok(false);
        };
        if part.shape != value.0.view.shape || value.elem() != self.elem() {
            return Ok(false);
        }
        let values = value.store()?;
        match &mut Rc::make_mut(&mut self.0).data {
            Data::Own(store) => Ok(Rc::make_mut(store).put(&part, &values)),
            Data::InBlock { block, owned_since: born, .. } => {
                *born = stamp.time;
                let there = value.block().is_some_and(|other| Rc::ptr_eq(block, other));
                if there && value.0.view.same(&part) {
                    return Ok(true);
                }
                block.borrow_mut().put(&part, &values, stamp)
            }
        }
    }
}
