//! The text format: scalars, nested arrays, strings with escape sequences and `empty(...)`.
//!
//! An array is read in one pass without recursion: `counts` has the number of items read so far in
//! each open row, `shape` the sizes known so far, each from the first row closed at its level. The
//! innermost rows, where the time is spent, have a loop specialised for each element type.

use crate::error::{ErrorKind, Position, ReadError};
use crate::escape::{self, NO_QUOTE};
use crate::input::{Input, is_space};
use crate::literal::{self, Literal, LiteralError};
use crate::value::{MAX_RANK, ShapeError};
use crate::{Buffer, Value, ValueType};
use half::f16;
use prim::ScalarType;
use std::io::Read;

/// Reads the text value at the current position, which is not white space.
pub fn read<R: Read>(input: &mut Input<R>, expected: Option<ValueType>) -> Result<Value, ReadError> {
    let start = input.position();
    if let Some(b'[' | b'"') = input.peek()? {
        return Array::read(input, expected, start);
    }
    let n = input.token_len()?;
    if input.rest().get(..n) == Some(b"empty") {
        return empty(input, expected, start);
    }
    scalar(input, expected)
}

/// Reads `()`.
pub fn read_unit<R: Read>(input: &mut Input<R>) -> Result<(), ReadError> {
    punctuation(input, b'(', "`()`")?;
    punctuation(input, b')', "`)`")
}

/// Skips white space and comments, then reads the character `wanted`.
fn punctuation<R: Read>(input: &mut Input<R>, wanted: u8, name: &str) -> Result<(), ReadError> {
    input.skip_whitespace()?;
    if input.peek()? == Some(wanted) {
        input.pos += 1;
        return Ok(());
    }
    Err(unexpected(input, name))
}

fn unexpected<R: Read>(input: &mut Input<R>, wanted: &str) -> ReadError {
    let kind = match input.peek() {
        Ok(None) => ErrorKind::End,
        Ok(Some(_)) => ErrorKind::Malformed,
        Err(e) => return e,
    };
    let found = input.found();
    input.error(kind, format!("expected {wanted}, found {found}"))
}

fn article(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => "an",
        ScalarType::F16 | ScalarType::F32 | ScalarType::F64 => "an",
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => "a",
        ScalarType::Bool => "a",
    }
}

/// Reads one literal of type `ty`, in any form, and returns its bits.
fn element<R: Read>(input: &mut Input<R>, ty: ScalarType) -> Result<u64, ReadError> {
    let n = input.token_len()?;
    let wanted = format!("{} {ty}", article(ty));
    if n == 0 {
        return Err(unexpected(input, &wanted));
    }
    let fault = match literal::parse(input.rest().get(..n).unwrap_or_default(), ty) {
        Ok(bits) => {
            input.pos += n;
            return Ok(bits);
        }
        Err(fault) => fault,
    };
    let found = input.found();
    let (kind, message) = match fault {
        LiteralError::Form => (ErrorKind::Malformed, format!("expected {wanted}, found {found}")),
        LiteralError::Suffix(other) => {
            (ErrorKind::Type, format!("expected {wanted}, found {found}, {} {other}", article(other)))
        }
        LiteralError::Range => (ErrorKind::Range, format!("{found} does not fit in {wanted}")),
    };
    Err(input.error(kind, message))
}

/// The type of the literal at the current position if no type is expected.
fn default_type<R: Read>(input: &mut Input<R>) -> Result<ScalarType, ReadError> {
    let n = input.token_len()?;
    literal::default_type(input.rest().get(..n).unwrap_or_default())
        .ok_or_else(|| unexpected(input, "a value"))
}

fn value(ty: ScalarType, shape: Vec<i64>, data: Buffer, position: Position) -> Result<Value, ReadError> {
    Value::new(ty, shape, data).map_err(|e| {
        let kind = match e {
            ShapeError::Memory(_) => ErrorKind::Memory,
            ShapeError::Rank(_) | ShapeError::Overflow | ShapeError::Negative(_) => ErrorKind::Range,
            ShapeError::Bytes { .. } | ShapeError::Bool(_) => ErrorKind::Malformed,
        };
        ReadError { kind, position, message: e.to_string() }
    })
}

fn scalar<R: Read>(input: &mut Input<R>, expected: Option<ValueType>) -> Result<Value, ReadError> {
    let position = input.position();
    let ty = match expected {
        Some(ty) if ty.rank > 0 => return Err(unexpected(input, &format!("{ty}"))),
        Some(ty) => ty.scalar,
        None => default_type(input)?,
    };
    let bits = element(input, ty)?;
    let bytes = bits.to_le_bytes();
    let bytes = bytes.get(..ty.size() as usize).unwrap_or_default();
    let data = Buffer::copy_of(bytes).map_err(|e| input.memory_error(e))?;
    value(ty, Vec::new(), data, position)
}

/// Reads `empty([n]...[m]type)`.
fn empty<R: Read>(
    input: &mut Input<R>,
    expected: Option<ValueType>,
    start: Position,
) -> Result<Value, ReadError> {
    input.pos += b"empty".len();
    punctuation(input, b'(', "`(`")?;
    let mut shape = Vec::new();
    loop {
        input.skip_whitespace()?;
        if input.peek()? != Some(b'[') {
            break;
        }
        input.pos += 1;
        input.skip_whitespace()?;
        let position = input.position();
        let dim = element(input, ScalarType::I64)? as i64;
        if dim < 0 || shape.len() == MAX_RANK {
            let error = if dim < 0 { ShapeError::Negative(dim) } else { ShapeError::Rank(MAX_RANK + 1) };
            return Err(ReadError { kind: ErrorKind::Range, position, message: error.to_string() });
        }
        shape.push(dim);
        punctuation(input, b']', "`]`")?;
    }
    let n = input.token_len()?;
    let name = std::str::from_utf8(input.rest().get(..n).unwrap_or_default()).unwrap_or_default();
    let Ok(scalar) = name.parse::<ScalarType>() else {
        return Err(unexpected(input, "`[` or an element type"));
    };
    input.pos += n;
    punctuation(input, b')', "`)`")?;
    let found = ValueType::new(scalar, shape.len());
    let problem = match expected {
        Some(expected) if expected != found => {
            Some((ErrorKind::Type, format!("expected {expected}, found an empty {found}")))
        }
        _ if !shape.contains(&0) => {
            Some((ErrorKind::Malformed, format!("`empty` of shape {shape:?}, which is not empty")))
        }
        _ => None,
    };
    if let Some((kind, message)) = problem {
        return Err(ReadError { kind, position: start, message });
    }
    value(scalar, shape, Buffer::new(), start)
}

/// The state of reading an array.
struct Array<'a, R> {
    input: &'a mut Input<R>,
    ty: ScalarType,
    /// The sizes known so far, outermost first; -1 if unknown.
    shape: Vec<i64>,
    /// The number of items read so far in each open row, outermost first.
    counts: Vec<i64>,
    data: Buffer,
}

impl<'a, R: Read> Array<'a, R> {
    /// Reads from the first `[` (or `"`) to the last `]`.
    fn read(
        input: &'a mut Input<R>,
        expected: Option<ValueType>,
        start: Position,
    ) -> Result<Value, ReadError> {
        if let Some(ty) = expected.filter(|ty| ty.rank == 0) {
            return Err(input.error(ErrorKind::Type, format!("expected {ty}, found an array")));
        }
        let limit = expected.map_or(MAX_RANK, |ty| ty.rank);
        let mut opened = 0;
        while opened <= limit && input.peek()? == Some(b'[') {
            input.pos += 1;
            opened += 1;
            input.skip_whitespace()?;
        }
        let string = input.peek()? == Some(b'"');
        let (ty, rank) = match expected {
            Some(ty) => (ty.scalar, ty.rank),
            None if string => (ScalarType::U8, opened + 1),
            None if input.peek()? == Some(b']') => {
                return Err(input.error(
                    ErrorKind::Malformed,
                    "the type of an array without elements is unknown; \
                     write it as in `empty([0]i32)`"
                        .to_owned(),
                ));
            }
            None if opened > MAX_RANK => (ScalarType::I32, opened),
            None => (default_type(input)?, opened),
        };
        let full = if string { opened + 1 } else { opened };
        if full > rank || rank > MAX_RANK || (string && (ty != ScalarType::U8 || full < rank)) {
            let wanted = ValueType::new(ty, rank.min(MAX_RANK));
            let found = match (string, full) {
                (true, 1) => "a string".to_owned(),
                (true, _) => format!("an array of strings of {full} dimensions"),
                (false, _) => format!("an array of at least {full} dimensions"),
            };
            return Err(ReadError {
                kind: ErrorKind::Type,
                position: start,
                message: format!("expected {wanted}, found {found}"),
            });
        }
        let mut array =
            Array { input, ty, shape: vec![-1; rank], counts: vec![0; opened], data: Buffer::new() };
        array.items()?;
        let Array { shape, data, .. } = array;
        value(ty, shape, data, start)
    }

    /// Reads everything after the opening brackets.
    fn items(&mut self) -> Result<(), ReadError> {
        let rank = self.shape.len();
        let mut item_allowed = true;
        loop {
            if self.counts.len() == rank {
                self.row()?;
                if self.counts.is_empty() {
                    return Ok(());
                }
                item_allowed = false;
            }
            self.input.skip_whitespace()?;
            match self.input.peek()? {
                Some(b'[') if item_allowed => {
                    self.input.pos += 1;
                    self.counts.push(0);
                }
                Some(b'"') if item_allowed && self.ty == ScalarType::U8 && self.counts.len() + 1 == rank => {
                    self.string()?;
                    if self.counts.is_empty() {
                        return Ok(());
                    }
                    item_allowed = false;
                }
                Some(b',') if !item_allowed => {
                    self.input.pos += 1;
                    item_allowed = true;
                }
                Some(b']') => {
                    self.input.pos += 1;
                    self.close()?;
                    if self.counts.is_empty() {
                        return Ok(());
                    }
                    item_allowed = false;
                }
                _ => {
                    let wanted = if item_allowed {
                        format!("`[` (the value is a {})", ValueType::new(self.ty, rank))
                    } else {
                        "`,` or `]`".to_owned()
                    };
                    return Err(unexpected(self.input, &wanted));
                }
            }
        }
    }

    /// Closes the innermost open row and checks its size against the others.
    fn close(&mut self) -> Result<(), ReadError> {
        let count = self.counts.pop().unwrap_or_default();
        let level = self.counts.len();
        // Without rows, the sizes of the inner dimensions are unknown.
        if count == 0 && self.shape.get(level + 1).is_some_and(|&n| n < 0) {
            return Err(self.input.error(
                ErrorKind::Malformed,
                format!(
                    "an empty row does not determine its inner sizes; \
                     write the array as `empty({}{})`",
                    "[0]".repeat(self.shape.len()),
                    self.ty
                ),
            ));
        }
        let Some(known) = self.shape.get_mut(level) else {
            return Ok(());
        };
        if *known < 0 {
            *known = count;
        } else if *known != count {
            let known = *known;
            return Err(self.input.error(
                ErrorKind::Malformed,
                format!("irregular array: a row of size {count} after rows of size {known}"),
            ));
        }
        if let Some(outer) = self.counts.last_mut() {
            *outer += 1;
        }
        Ok(())
    }

    /// Reads the rest of an innermost row, with its `]`.
    fn row(&mut self) -> Result<(), ReadError> {
        match self.ty {
            ScalarType::I8 => self.row_of::<i8>(),
            ScalarType::I16 => self.row_of::<i16>(),
            ScalarType::I32 => self.row_of::<i32>(),
            ScalarType::I64 => self.row_of::<i64>(),
            ScalarType::U8 => self.row_of::<u8>(),
            ScalarType::U16 => self.row_of::<u16>(),
            ScalarType::U32 => self.row_of::<u32>(),
            ScalarType::U64 => self.row_of::<u64>(),
            ScalarType::F16 => self.row_of::<f16>(),
            ScalarType::F32 => self.row_of::<f32>(),
            ScalarType::F64 => self.row_of::<f64>(),
            ScalarType::Bool => self.row_of::<bool>(),
        }
    }

    fn row_of<T: Literal>(&mut self) -> Result<(), ReadError> {
        let mut count = 0;
        loop {
            count += self.fast_elements::<T>()?;
            // Next is a literal of another form, a comment, the end of the window, an error, or the
            // end of the row.
            self.input.skip_whitespace()?;
            if self.input.peek()? == Some(b']') {
                break;
            }
            let bits = element(self.input, T::TYPE)?;
            T::from_bits(bits).push(&mut self.data).map_err(|e| self.input.memory_error(e))?;
            count += 1;
            self.input.skip_whitespace()?;
            match self.input.peek()? {
                Some(b',') => self.input.pos += 1,
                Some(b']') => break,
                _ => return Err(unexpected(self.input, "`,` or `]`")),
            }
        }
        self.input.pos += 1;
        if let Some(last) = self.counts.last_mut() {
            *last += count;
        }
        self.close()
    }

    /// Reads elements, each with the comma after it, as long as they are plain literals in the
    /// window. Returns their number.
    fn fast_elements<T: Literal>(&mut self) -> Result<i64, ReadError> {
        let text = self.input.rest();
        let mut at = 0;
        let mut count = 0;
        let mut outcome = Ok(());
        loop {
            let mut n = at;
            while text.get(n).is_some_and(|&c| is_space(c)) {
                n += 1;
            }
            let Some((x, length)) = text.get(n..).and_then(T::parse_fast) else {
                break;
            };
            n += length;
            while text.get(n).is_some_and(|&c| is_space(c)) {
                n += 1;
            }
            if text.get(n) != Some(&b',') {
                break;
            }
            outcome = x.push(&mut self.data);
            if outcome.is_err() {
                break;
            }
            at = n + 1;
            count += 1;
        }
        self.input.pos += at;
        outcome.map_err(|e| self.input.memory_error(e))?;
        Ok(count)
    }

    /// Reads a string as a row of bytes.
    fn string(&mut self) -> Result<(), ReadError> {
        let start = self.input.position();
        let before = self.data.len();
        self.input.pos += 1;
        loop {
            let c = match self.input.peek()? {
                None | Some(b'\n') => {
                    return Err(ReadError {
                        kind: ErrorKind::Malformed,
                        position: start,
                        message: NO_QUOTE.to_owned(),
                    });
                }
                Some(b'"') => break,
                Some(b'\\') => {
                    self.escape()?;
                    continue;
                }
                Some(c) => c,
            };
            self.input.pos += 1;
            self.data.push([c]).map_err(|e| self.input.memory_error(e))?;
        }
        self.input.pos += 1;
        self.counts.push((self.data.len() - before) as i64);
        self.close()
    }

    /// Reads an escape sequence and appends its character in UTF-8.
    fn escape(&mut self) -> Result<(), ReadError> {
        // Fill the window with the longest possible sequence, but read nothing after the string.
        let is_end = |c: &u8| matches!(c, b'"' | b'\n');
        while self.input.rest().len() < escape::MAX_ESCAPE_LEN
            && !self.input.rest().iter().skip(2).any(is_end)
            && self.input.refill()?
        {}
        let Some((c, length)) = escape::escape(self.input.rest()) else {
            return Err(self.input.error(ErrorKind::Malformed, escape::NO_ESCAPE.to_owned()));
        };
        self.input.pos += length;
        let mut bytes = [0; 4];
        for byte in c.map_or("", |c| c.encode_utf8(&mut bytes)).bytes() {
            self.data.push([byte]).map_err(|e| self.input.memory_error(e))?;
        }
        Ok(())
    }
}
