//! Locations in arrays given by run-time indices (buckets, rows, views of flat arrays), and the
//! arguments of the functions that access them.

use crate::array::{gather_blocks, write_blocks};
use crate::build::fits;
use crate::failure::{Failure, Res};
use crate::machine::Args;
use crate::shape::shapes_differ;
use crate::value::{Array, Dims, RunType, RunValue};
use std::rc::Rc;
use syntax::span::Span;

/// The arguments of a built-in function, in order.
pub struct Arguments {
    args: std::iter::Rev<smallvec::IntoIter<[RunValue; 4]>>,
}

impl Arguments {
    /// All arguments of a call.
    pub fn new(args: Args) -> Self {
        let mut args = args;
        args.reverse();
        Self { args: args.into_iter().rev() }
    }

    /// The next argument.
    pub fn next(&mut self) -> Res<RunValue> {
        self.args.next().ok_or_else(|| Failure::bug("a built-in function with too few arguments"))
    }

    /// The next argument, an array.
    pub fn array(&mut self) -> Res<Rc<Array>> {
        match self.next()? {
            RunValue::Array(array) => Ok(array),
            _ => Err(Failure::bug("an argument that is not an array")),
        }
    }

    /// The next argument, an `i64`.
    pub fn i64(&mut self) -> Res<i64> {
        self.next()?.as_i64().ok_or_else(|| Failure::bug("an argument that is not an `i64`"))
    }
}

/// The rows at these indices, which must be in bounds.
pub fn rows_at(xs: &Array, order: &[usize]) -> RunValue {
    let block = xs.row_len();
    let mut shape = xs.shape.clone();
    shape[0] = order.len() as i64;
    if order.is_empty() || block == 0 {
        return RunValue::array(shape, xs.data.range(0, 0));
    }
    let starts: Vec<usize> = order.iter().map(|i| i * block).collect();
    RunValue::array(shape, gather_blocks(&xs.data, &starts, block))
}

/// The same elements in another shape.
pub fn reshaped(xs: Rc<Array>, shape: Dims) -> RunValue {
    let data = Rc::try_unwrap(xs).map_or_else(|xs| xs.data.clone(), |xs| xs.data);
    RunValue::array(shape, data)
}

/// A location in an array: an element, or a row of elements.
pub struct Bin {
    at: usize,
    /// The number of dimensions that the index fixes.
    rank: usize,
}

/// The bucket at an index, which is a number or a tuple of numbers; `None` if it is out of bounds.
pub fn bucket(dest: &Array, index: &RunValue) -> Option<Bin> {
    let (mut at, mut rank) = (0, 0);
    let mut step = |x: &RunValue| {
        let (i, size) = (x.as_i64()?, dest.shape.get(rank)?);
        if i < 0 || i >= *size {
            return None;
        }
        at = at * size + i;
        rank += 1;
        Some(())
    };
    match index {
        RunValue::Tuple(parts) => parts.iter().try_for_each(step)?,
        one => step(one)?,
    }
    let block: i64 = dest.shape[rank..].iter().product();
    Some(Bin { at: (at * block) as usize, rank })
}

/// The contents of a bucket.
pub fn bin_value(dest: &Array, bucket: &Bin) -> RunValue {
    let inner = &dest.shape[bucket.rank..];
    if inner.is_empty() {
        return dest.data.get(bucket.at);
    }
    let block: i64 = inner.iter().product();
    let data = dest.data.range(bucket.at, bucket.at + block as usize);
    RunValue::array(Dims::from_slice(inner), data)
}

/// Sets the contents of a bucket.
pub fn set_bin(dest: &mut Array, bucket: &Bin, value: RunValue) -> Res<()> {
    let inner = &dest.shape[bucket.rank..];
    match value {
        RunValue::Array(array) if array.shape.as_slice() == inner => {
            let block = array.data.len();
            write_blocks(&mut dest.data, &[bucket.at], block, &array.data)
        }
        RunValue::Array(array) => {
            let dims = inner.iter().rev();
            let ty = dims.fold(dest.data.elem(), |ty, dim| Rc::new(RunType::Array(*dim, ty)));
            Err(shapes_differ(&array.shape, &ty, crate::machine::NO_SPAN))
        }
        value => {
            if inner.is_empty() && dest.data.set(bucket.at, value) {
                Ok(())
            } else {
                Err(Failure::bug("an update with a value of another type"))
            }
        }
    }
}

/// Writes rows at indices; out-of-bounds indices are ignored.
pub fn scatter(dest: Rc<Array>, is: &Array, vs: &Array, span: Span) -> Res<RunValue> {
    let mut dest = dest;
    if is.len() != vs.len() {
        let ty = RunType::Array(is.len() as i64, vs.row_type());
        return Err(shapes_differ(&vs.shape, &ty, span));
    }
    let target = Rc::make_mut(&mut dest);
    for i in 0..is.len() {
        if let Some(bucket) = bucket(target, &is.row(i)) {
            set_bin(target, &bucket, vs.row(i))?;
        }
    }
    Ok(RunValue::Array(dest))
}

/// The element indices of a view into a flat array; `None` if one is out of bounds.
fn view(offset: i64, dims: &[(i64, i64)], size: i64) -> Option<Vec<usize>> {
    let mut indices = vec![i128::from(offset)];
    for (n, stride) in dims {
        if *n < 0 || !fits((indices.len() as i64).checked_mul(*n)?, 16) {
            return None;
        }
        let steps = |at: &i128| {
            let at = *at;
            (0..*n).map(move |i| at + i128::from(i) * i128::from(*stride))
        };
        indices = indices.iter().flat_map(steps).collect();
    }
    indices.into_iter().map(|at| usize::try_from(at).ok().filter(|at| (*at as i64) < size)).collect()
}

fn view_failure(offset: i64, dims: &[(i64, i64)], size: i64, span: Span) -> Box<Failure> {
    let parts: Vec<String> = dims.iter().map(|(n, s)| format!("{n}:{s}")).collect();
    let text = format!("Index [{offset}; {}] out of bounds for array of shape [{size}].", parts.join(", "));
    Failure::at(span, text)
}

/// A view into a flat array; the arguments are the offset, and the size and stride of each
/// dimension.
pub fn flat_index(given: &mut Arguments, rank: usize, span: Span) -> Res<RunValue> {
    let (xs, offset) = (given.array()?, given.i64()?);
    let mut dims = Vec::with_capacity(rank);
    for _ in 0..rank {
        dims.push((given.i64()?, given.i64()?));
    }
    let indices =
        view(offset, &dims, xs.shape[0]).ok_or_else(|| view_failure(offset, &dims, xs.shape[0], span))?;
    let RunValue::Array(rows) = rows_at(&xs, &indices) else {
        return Err(Failure::bug("a view of a value that is not an array"));
    };
    let mut shape: Dims = dims.iter().map(|(n, _)| *n).collect();
    shape.extend_from_slice(&xs.shape[1..]);
    Ok(reshaped(rows, shape))
}

/// A flat array with a view of it overwritten; the arguments are the offset, the strides and the
/// value.
pub fn flat_update(given: &mut Arguments, rank: usize, span: Span) -> Res<RunValue> {
    let (mut xs, offset) = (given.array()?, given.i64()?);
    let mut strides = Vec::with_capacity(rank);
    for _ in 0..rank {
        strides.push(given.i64()?);
    }
    let value = given.array()?;
    let dims: Vec<(i64, i64)> = value.shape.iter().copied().zip(strides).collect();
    let size = xs.shape[0];
    let indices = view(offset, &dims, size).ok_or_else(|| view_failure(offset, &dims, size, span))?;
    let block = xs.row_len();
    let starts: Vec<usize> = indices.iter().map(|at| at * block).collect();
    write_blocks(&mut Rc::make_mut(&mut xs).data, &starts, block, &value.data)?;
    Ok(RunValue::Array(xs))
}
