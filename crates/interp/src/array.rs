//! Indexing, slicing, in-place updates, ranges.

use crate::build::{RowError, fits};
use crate::failure::{Failure, OUT_OF_MEMORY, Res};
use crate::machine::{Machine, index_of};
use crate::shape::{push_shape, shapes_differ};
use crate::tree::{Index, Node, Range, SizedType};
use crate::value::{Array, Data, Dims, RunType, RunValue, map_data, with_both};
use check::tast::RangeKind;
use prim::{PrimType, Scalar};
use smallvec::SmallVec;
use std::fmt::Write as _;
use std::rc::Rc;
use syntax::span::Span;

/// One evaluated position of an index.
#[derive(Clone, Copy, Debug)]
pub enum Position {
    /// An element.
    At(i64),
    /// Start, end and step of a slice, where given.
    Slice(Option<i64>, Option<i64>, Option<i64>),
}

type Positions = SmallVec<[Position; 3]>;

/// One dimension of a slice: its start, its number of elements (`None`: a single index, and the
/// dimension is dropped), and its step.
#[derive(Clone, Copy)]
struct Extent {
    start: i64,
    count: Option<i64>,
    step: i64,
}

/// The failure for an allocation that cannot be satisfied.
pub fn out_of_memory(span: Span) -> Box<Failure> {
    Failure::at(span, OUT_OF_MEMORY)
}

impl Machine<'_> {
    fn positions(&mut self, indices: &[Index]) -> Res<Positions> {
        let mut out = Positions::new();
        for index in indices {
            out.push(match index {
                Index::At(node, signed) => Position::At(index_of(self.scalar(node)?, *signed)),
                Index::Slice(from, to, step) => Position::Slice(
                    self.bound(from.as_ref())?,
                    self.bound(to.as_ref())?,
                    self.bound(step.as_ref())?,
                ),
            });
        }
        Ok(out)
    }

    fn bound(&mut self, node: Option<&Node>) -> Res<Option<i64>> {
        Ok(match node {
            Some(node) => self.scalar(node)?.as_i64(),
            None => None,
        })
    }

    /// Evaluates `array[indices]`.
    pub fn index(&mut self, array: &Node, indices: &[Index], span: Span) -> Res<RunValue> {
        let RunValue::Array(array) = self.eval(array)? else {
            return Err(Failure::bug("indexing of a value that is not an array"));
        };
        if let [Index::At(node, signed)] = indices {
            let at = index_of(self.scalar(node)?, *signed);
            if at < 0 || at >= array.shape[0] {
                return Err(out_of_bounds(&[Position::At(at)], &array.shape, span));
            }
            return Ok(array.row(at as usize));
        }
        let positions = self.positions(indices)?;
        let slice = extents(&positions, &array, span)?;
        let rest = &array.shape[positions.len()..];
        let mut shape: Dims = slice.iter().filter_map(|extent| extent.count).collect();
        shape.extend_from_slice(rest);
        let block: i64 = rest.iter().product();
        if shape.is_empty() {
            return Ok(array.data.get(offset(&slice, &array.shape) as usize));
        }
        let data = gather(&array, &slice, block as usize);
        Ok(RunValue::array(shape, data))
    }

    /// Evaluates `array with [indices] = value`. The value is evaluated first, as it may read the
    /// array before the update.
    pub fn update(&mut self, array: &Node, indices: &[Index], value: &Node, span: Span) -> Res<RunValue> {
        let value = self.eval(value)?;
        let positions = self.positions(indices)?;
        let RunValue::Array(mut array) = self.eval(array)? else {
            return Err(Failure::bug("an update of a value that is not an array"));
        };
        let slice = extents(&positions, &array, span)?;
        let rest = &array.shape[positions.len()..];
        let mut shape: Dims = slice.iter().filter_map(|extent| extent.count).collect();
        shape.extend_from_slice(rest);
        let block: i64 = rest.iter().product();
        if let RunValue::Array(value) = &value
            && value.shape != shape
        {
            let ty = shape.iter().rev().fold(array.data.elem(), |ty, dim| Rc::new(RunType::Array(*dim, ty)));
            return Err(shapes_differ(&value.shape, &ty, span));
        }
        let target = Rc::make_mut(&mut array);
        if shape.is_empty() {
            let at = offset(&slice, &target.shape) as usize;
            if !target.data.set(at, value) {
                return Err(Failure::bug("an update with a value of another type"));
            }
        } else if let RunValue::Array(value) = &value {
            scatter(target, &slice, block as usize, &value.data)?;
        } else {
            return Err(Failure::bug("an update of a slice with a value that is not an array"));
        }
        Ok(RunValue::Array(array))
    }

    /// The elements of a range. Lengths are computed in `i64`.
    pub fn range(&mut self, range: &Range) -> Res<RunValue> {
        let first = self.scalar(&range.start)?;
        let second = match &range.second {
            Some(node) => Some(self.scalar(node)?),
            None => None,
        };
        let last = self.scalar(&range.end)?;
        let wide = |x: Scalar| {
            if range.ty.is_signed() { x.as_i64().unwrap_or(0) } else { x.bits().cast_signed() }
        };
        let (a, b) = (wide(first), wide(last));
        let step = match second {
            Some(second) => wide(second).wrapping_sub(a),
            None if range.kind == RangeKind::DownTo => -1,
            None => 1,
        };
        let (up, down) = (step > 0 && a <= b, step < 0 && b <= a);
        let valid = match range.kind {
            RangeKind::UpTo => up,
            RangeKind::DownTo => down,
            RangeKind::Inclusive => up || down,
        };
        if !valid {
            return Err(invalid_range(range, first, second, last));
        }
        let distance = b.wrapping_sub(a);
        let count = match range.kind {
            RangeKind::Inclusive => (distance / step).wrapping_add(1),
            RangeKind::UpTo => distance.wrapping_add(step - 1) / step,
            RangeKind::DownTo => distance.wrapping_add(step + 1) / step,
        };
        let ty = range.ty.prim();
        if count < 0 || !fits(count, ty.size()) {
            return Err(out_of_memory(range.span));
        }
        let element = |i: i64| a.wrapping_add(step.wrapping_mul(i));
        let data = match ty {
            PrimType::I8 => Data::I8((0..count).map(|i| element(i) as i8).collect()),
            PrimType::I16 => Data::I16((0..count).map(|i| element(i) as i16).collect()),
            PrimType::I32 => Data::I32((0..count).map(|i| element(i) as i32).collect()),
            _ => Data::I64((0..count).map(element).collect()),
        };
        Ok(RunValue::vector(data))
    }

    /// Turns the error of appending a row into a failure; `ty` is the type of the rows.
    pub fn row_result(
        &mut self,
        result: Result<(), RowError>,
        ty: Option<&SizedType>,
        span: Span,
    ) -> Res<()> {
        match result {
            Ok(()) => Ok(()),
            Err(RowError::Memory) => Err(out_of_memory(span)),
            Err(RowError::Type) => Err(Failure::bug("rows of different types")),
            Err(RowError::Shape(found, wanted)) => {
                let mut elem = match ty {
                    Some(ty) => self.rty(ty)?,
                    None => Rc::new(RunType::Unknown),
                };
                while let RunType::Array(_, inner) = &*elem {
                    elem = Rc::clone(inner);
                }
                let ty = wanted.iter().rev().fold(elem, |ty, dim| Rc::new(RunType::Array(*dim, ty)));
                Err(shapes_differ(&found, &ty, span))
            }
        }
    }
}

fn invalid_range(range: &Range, first: Scalar, second: Option<Scalar>, last: Scalar) -> Box<Failure> {
    let show = |x: Scalar| {
        if range.ty.is_signed() { x.as_i64().unwrap_or(0).to_string() } else { x.bits().to_string() }
    };
    let mut text = format!("Range {}..", show(first));
    if let Some(second) = second {
        text.push_str(&show(second));
        text.push_str("..");
    }
    text.push_str(match range.kind {
        RangeKind::Inclusive => ".",
        RangeKind::UpTo => "<",
        RangeKind::DownTo => ">",
    });
    text.push_str(&show(last));
    text.push_str(" is invalid.");
    Failure::at(range.span, text)
}

/// The bounds-checked extents of index positions in an array.
fn extents(positions: &[Position], array: &Array, span: Span) -> Res<SmallVec<[Extent; 3]>> {
    let mut out = SmallVec::new();
    for (position, size) in positions.iter().zip(&array.shape) {
        match extent(*position, *size) {
            Some(extent) => out.push(extent),
            None => return Err(out_of_bounds(positions, &array.shape, span)),
        }
    }
    if out.len() < positions.len() {
        return Err(Failure::bug("more indices than dimensions"));
    }
    Ok(out)
}

fn out_of_bounds(positions: &[Position], shape: &[i64], span: Span) -> Box<Failure> {
    let mut text = String::from("Index [");
    let number = |n: Option<i64>| n.map_or(String::new(), |n| n.to_string());
    for (i, position) in positions.iter().enumerate() {
        text.push_str(if i > 0 { ", " } else { "" });
        // Writing to a string cannot fail.
        let _ = match position {
            Position::At(at) => write!(text, "{at}"),
            Position::Slice(from, to, step) => {
                let step = step.map_or(String::new(), |step| format!(":{step}"));
                write!(text, "{}:{}{step}", number(*from), number(*to))
            }
        };
    }
    text.push_str("] out of bounds for array of shape ");
    push_shape(&shape[..positions.len().min(shape.len())], &mut text);
    text.push('.');
    Failure::at(span, text)
}

/// The extent of a position in a dimension of this size, if it is in bounds.
fn extent(position: Position, size: i64) -> Option<Extent> {
    let inside = |i: i128| (0..i128::from(size)).contains(&i);
    match position {
        Position::At(at) => inside(i128::from(at)).then_some(Extent { start: at, count: None, step: 1 }),
        Position::Slice(from, to, step) => {
            let step = step.unwrap_or(1);
            if step == 0 {
                return None;
            }
            let (first, last) = if step > 0 { (0, size) } else { (size - 1, -1) };
            let (start, end) = (from.unwrap_or(first), to.unwrap_or(last));
            // The distance divided by the step, rounded up.
            let (wide_step, distance) = (i128::from(step), i128::from(end) - i128::from(start));
            let count = (distance + wide_step - wide_step.signum()) / wide_step;
            let valid = match count {
                0 => true,
                _ if step == 1 => start >= 0 && start <= end && end <= size,
                _ => {
                    let last = i128::from(start) + (count - 1) * wide_step;
                    count > 0 && inside(i128::from(start)) && inside(last)
                }
            };
            valid.then_some(Extent { start, count: Some(count as i64), step })
        }
    }
}

/// The offset of the first element.
fn offset(slice: &[Extent], shape: &[i64]) -> i64 {
    let mut at = 0;
    for (extent, size) in slice.iter().zip(shape) {
        at = at * size + extent.start;
    }
    at
}

/// Calls `f` with the number of each block of the slice, in order.
fn each_block(slice: &[Extent], shape: &[i64], at: i64, f: &mut dyn FnMut(usize)) {
    let (Some((extent, rest)), Some((size, inner))) = (slice.split_first(), shape.split_first()) else {
        f(at as usize);
        return;
    };
    for i in 0..extent.count.unwrap_or(1) {
        let here = at * size + extent.start + i * extent.step;
        each_block(rest, inner, here, f);
    }
}

/// The elements of a slice, copied in blocks.
fn gather(array: &Array, slice: &[Extent], block: usize) -> Data {
    if let [extent] = slice
        && extent.step == 1
        && let Some(count) = extent.count
    {
        let start = if count == 0 { 0 } else { extent.start as usize };
        return array.data.range(start * block, (start + count as usize) * block);
    }
    let mut starts = Vec::new();
    each_block(slice, &array.shape, 0, &mut |at| starts.push(at * block));
    if starts.is_empty() || block == 0 {
        return array.data.range(0, 0);
    }
    gather_blocks(&array.data, &starts, block)
}

/// The blocks that begin at these elements, concatenated.
pub fn gather_blocks(data: &Data, starts: &[usize], block: usize) -> Data {
    map_data!(data, v => {
        let mut out = Vec::with_capacity(starts.len() * block);
        for start in starts {
            out.extend_from_slice(&v[*start..start + block]);
        }
        out
    })
}

/// Writes the elements of a value to a slice, in blocks.
fn scatter(array: &mut Array, slice: &[Extent], block: usize, value: &Data) -> Res<()> {
    let mut starts = Vec::new();
    each_block(slice, &array.shape, 0, &mut |at| starts.push(at * block));
    write_blocks(&mut array.data, &starts, block, value)
}

/// Writes consecutive blocks of `value` to these start positions.
pub fn write_blocks(data: &mut Data, starts: &[usize], block: usize, value: &Data) -> Res<()> {
    let value = data.unified(value);
    with_both!(data, &*value, (to, from) => {
        for (i, start) in starts.iter().enumerate() {
            to[*start..start + block].clone_from_slice(&from[i * block..(i + 1) * block]);
        }
    }, else return Err(Failure::bug("an update with a value of another type")));
    Ok(())
}
