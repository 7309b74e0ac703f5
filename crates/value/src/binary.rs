//! The binary format.
//!
//! A value is the byte `b`, a version byte, the rank as one byte, the type as four characters, each
//! dimension as a little-endian `u64`, and the elements in row-major order, little-endian. Before
//! memory is allocated, the header is checked against the expected type and, if the length of the
//! input is known, against the bytes that remain.

use crate::error::{ErrorKind, ReadError};
use crate::input::Input;
use crate::value::{ShapeError, checked_byte_count};
use crate::{Value, ValueType};
use prim::ScalarType;
use std::io::{self, Read, Write};

/// The version of the format that is read and written.
pub const BINARY_VERSION: u8 = 2;

/// Elements are copied as they are in memory, so the byte orders must agree.
const _: () = assert!(cfg!(target_endian = "little"));

/// The type as in the header: its name, padded with spaces on the left.
fn type_tag(ty: ScalarType) -> [u8; 4] {
    let mut tag = *b"    ";
    let name = ty.name().as_bytes();
    for (to, from) in tag.iter_mut().rev().zip(name.iter().rev()) {
        *to = *from;
    }
    tag
}

/// Writes the header of an array of type `ty` and `shape`: everything before the elements.
pub fn write_binary_header(out: &mut dyn Write, ty: ScalarType, shape: &[i64]) -> io::Result<()> {
    let rank = u8::try_from(shape.len()).map_err(io::Error::other)?;
    let mut header = Vec::with_capacity(7 + 8 * shape.len());
    header.extend([b'b', BINARY_VERSION, rank]);
    header.extend(type_tag(ty));
    for dim in shape {
        header.extend(dim.to_le_bytes());
    }
    out.write_all(&header)
}

/// Writes `value` in the binary format.
pub fn write_binary(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    write_binary_header(out, value.scalar_type(), value.shape())?;
    out.write_all(value.bytes())
}

/// Reads a binary value; its `b` is the next byte of `input`.
pub fn read<R: Read>(input: &mut Input<R>, expected: Option<ValueType>) -> Result<Value, ReadError> {
    let start = input.position();
    let fail = |kind, message| ReadError { kind, position: start, message };
    let cut = |what| fail(ErrorKind::End, format!("binary value: the input ends before {what}"));
    let Some([_, version]) = input.take::<2>()? else {
        return Err(cut("the version"));
    };
    if version != BINARY_VERSION {
        return Err(fail(
            ErrorKind::Malformed,
            format!("binary value of version {version}; only version {BINARY_VERSION} is known"),
        ));
    }
    input.start_binary();
    let Some([rank, tag @ ..]) = input.take::<5>()? else {
        return Err(cut("the type"));
    };
    let Some(&scalar) = ScalarType::ALL.iter().find(|&&ty| type_tag(ty) == tag) else {
        return Err(fail(
            ErrorKind::Malformed,
            format!("binary value of unknown type `{}`", tag.escape_ascii()),
        ));
    };
    let found = ValueType::new(scalar, usize::from(rank));
    if let Some(expected) = expected.filter(|&e| e != found) {
        return Err(fail(
            ErrorKind::Type,
            format!("expected {expected}, found a binary value of type {found}"),
        ));
    }
    let mut shape = Vec::with_capacity(found.rank);
    for i in 0..found.rank {
        let Some(bytes) = input.take::<8>()? else {
            return Err(cut(&format!("size {} of {rank}", i + 1)));
        };
        let dim = i64::from_le_bytes(bytes);
        if dim < 0 {
            return Err(fail(ErrorKind::Range, format!("binary value with the invalid size {dim}")));
        }
        shape.push(dim);
    }
    let bytes = checked_byte_count(scalar, &shape)
        .map_err(|e| fail(ErrorKind::Range, format!("binary value of shape {shape:?}: {e}")))?;
    let too_short = |have: u64| {
        fail(
            ErrorKind::End,
            format!(
                "binary value of type {found} and shape {shape:?} has {bytes} bytes of elements, \
                 but the input ends after {have}"
            ),
        )
    };
    if let Some(have) = input.remaining().filter(|&have| have < bytes) {
        return Err(too_short(have));
    }
    let data = input.take_buffer(bytes as usize)?;
    if (data.len() as u64) < bytes {
        return Err(too_short(data.len() as u64));
    }
    Value::new(scalar, shape, data).map_err(|e| {
        let kind = match e {
            ShapeError::Memory(_) => ErrorKind::Memory,
            ShapeError::Negative(_)
            | ShapeError::Rank(_)
            | ShapeError::Overflow
            | ShapeError::Bytes { .. }
            | ShapeError::Bool(_) => ErrorKind::Malformed,
        };
        fail(kind, format!("binary value of type {found}: {e}"))
    })
}
