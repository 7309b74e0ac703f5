//! Views: the elements of a buffer or block that form an array, by offset, sizes and strides.

use smallvec::SmallVec;
use std::ops::Range;

/// Sizes or strides.
pub(super) type Sizes = SmallVec<[i64; 3]>;

/// An entry of a slice: an index (`Ok`), or start, count and stride.
pub(super) type Index = Result<i64, (i64, i64, i64)>;

/// The elements of a buffer that form an array.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) offset: i64,
    pub(super) shape: Sizes,
    pub(super) strides: Sizes,
}

impl View {
    /// All elements, row-major from the first.
    pub(super) fn whole(shape: Sizes) -> Self {
        let mut strides: Sizes = SmallVec::from_elem(1, shape.len());
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i].wrapping_mul(shape[i].max(1));
        }
        Self { offset: 0, shape, strides }
    }

    /// The number of elements.
    pub(super) fn count(&self) -> usize {
        self.shape.iter().product::<i64>().max(0) as usize
    }

    /// Returns true if both have the same elements in the same shape.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.shape == other.shape
            && (self.count() == 0
                || self.offset == other.offset
                    && (0..self.shape.len())
                        .all(|d| self.shape[d] <= 1 || self.strides[d] == other.strides[d]))
    }

    /// The positions of the elements, if they are contiguous in row-major order.
    pub(super) fn contiguous(&self) -> Option<Range<usize>> {
        if self.count() == 0 {
            return Some(0..0);
        }
        let start = usize::try_from(self.offset).ok()?;
        (self.step()? == 1).then(|| start..start + self.count())
    }

    /// The stride from each element to the next in row-major order, if it is the same for all.
    fn step(&self) -> Option<i64> {
        let mut expected = None;
        for (n, stride) in self.shape.iter().zip(&self.strides).rev() {
            if *n <= 1 {
                continue;
            }
            if expected.is_some_and(|expected| *stride != expected) {
                return None;
            }
            expected = Some(stride.wrapping_mul(*n));
        }
        let innermost = self.shape.iter().zip(&self.strides).rev();
        let mut innermost = innermost.filter(|(n, _)| **n > 1);
        Some(innermost.next().map_or(1, |(_, stride)| *stride))
    }

    /// The same elements in row-major order in another shape with equally many elements, if their
    /// stride is uniform.
    pub(super) fn reshape(&self, shape: &[i64]) -> Option<Self> {
        let mut view = Self::whole(SmallVec::from_slice(shape));
        if self.count() > 0 {
            let step = self.step()?;
            for stride in &mut view.strides {
                *stride = stride.wrapping_mul(step);
            }
        }
        view.offset = self.offset;
        Some(view)
    }

    /// The position of the element with these indices; `None` if out of bounds.
    #[inline]
    pub(super) fn position(&self, indices: &[i64]) -> Option<i64> {
        let mut at = self.offset;
        for ((i, n), stride) in indices.iter().zip(&self.shape).zip(&self.strides) {
            if !(0..*n).contains(i) {
                return None;
            }
            at = at.wrapping_add(i.wrapping_mul(*stride));
        }
        Some(at)
    }

    /// The lowest and the highest position; `None` if there are no elements.
    pub(super) fn bounds(&self) -> Option<(i64, i64)> {
        if self.count() == 0 {
            return None;
        }
        let (mut least, mut most) = (self.offset, self.offset);
        for (n, stride) in self.shape.iter().zip(&self.strides) {
            let last = stride.saturating_mul(n - 1);
            least = least.saturating_add(last.min(0));
            most = most.saturating_add(last.max(0));
        }
        Some((least, most))
    }

    /// A slice; `None` if out of bounds.
    pub(super) fn slice(&self, slice: &[Index]) -> Option<Self> {
        let mut offset = self.offset;
        let (mut shape, mut strides) = (Sizes::new(), Sizes::new());
        for (dim, index) in slice.iter().enumerate() {
            let (n, old_stride) = (*self.shape.get(dim)?, self.strides[dim]);
            let inside = |i: i64| (0..n).contains(&i);
            match *index {
                Ok(i) => {
                    if !inside(i) {
                        return None;
                    }
                    offset = offset.wrapping_add(i.wrapping_mul(old_stride));
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
                        offset = offset.wrapping_add(start.wrapping_mul(old_stride));
                    }
                    shape.push(count);
                    strides.push(stride.wrapping_mul(old_stride));
                }
            }
        }
        shape.extend_from_slice(self.shape.get(slice.len()..)?);
        strides.extend_from_slice(&self.strides[slice.len()..]);
        Some(Self { offset, shape, strides })
    }

    /// A view that replaces the outermost dimension by several: first row, then size and stride (in
    /// rows) of each new dimension. `None` if out of bounds.
    pub(super) fn flat_slice(&self, offset: i64, dims: &[(i64, i64)]) -> Option<Self> {
        let (&n, &row) = (self.shape.first()?, self.strides.first()?);
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
        // Without a next row, the stride is irrelevant and might overflow.
        let mut strides: Sizes = dims
            .iter()
            .map(|(count, stride)| if *count > 1 { stride.wrapping_mul(row) } else { 0 })
            .collect();
        shape.extend_from_slice(&self.shape[1..]);
        strides.extend_from_slice(&self.strides[1..]);
        let offset = if empty { 0 } else { offset.wrapping_mul(row) };
        Some(Self { offset: self.offset.wrapping_add(offset), shape, strides })
    }

    /// The view with permuted dimensions.
    pub(super) fn rearrange(&self, perm: &[usize]) -> Option<Self> {
        let pick = |sizes: &Sizes| perm.iter().map(|i| sizes.get(*i).copied()).collect();
        let shape: Option<Sizes> = pick(&self.shape);
        let strides: Option<Sizes> = pick(&self.strides);
        Some(Self { offset: self.offset, shape: shape?, strides: strides? })
    }

    /// Calls `f` with the elements' positions in row-major order.
    pub(super) fn each(&self, mut f: impl FnMut(usize)) {
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
