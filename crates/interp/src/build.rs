//! Arrays built row by row.

use crate::value::{Array, Data, Dims, RunType, RunValue, with_both};
use prim::Scalar;
use smallvec::SmallVec;
use std::rc::Rc;

/// The reason why a row cannot be appended.
#[derive(Debug)]
pub enum RowError {
    /// Its shape differs: its own shape, and the first row's.
    Shape(Dims, Dims),
    /// Memory is exhausted.
    Memory,
    /// Its type differs, which is a bug of the checker.
    Type,
}

/// The maximum size of an array in bytes; larger ones are refused without an attempt to allocate.
const MAX_BYTES: u64 = 1 << 40;

/// Returns true if the allocation of an array of `elements` elements of `bytes` bytes each may be
/// attempted.
pub fn fits(elements: i64, bytes: u64) -> bool {
    u64::try_from(elements)
        .ok()
        .and_then(|n| n.checked_mul(bytes))
        .is_some_and(|n| n <= memory_limit().min(MAX_BYTES))
}

/// The available memory of the machine in bytes, or `u64::MAX` if the system does not report it.
fn memory_limit() -> u64 {
    static LIMIT: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *LIMIT.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kib.map_or(u64::MAX, |kib| kib.saturating_mul(1024))
    })
}

/// An array under construction.
pub struct Rows {
    expected: usize,
    count: usize,
    /// The dimensions of a row, once there is one.
    row: Dims,
    data: Option<Data>,
}

impl Rows {
    /// An array without rows; `expected` rows will follow.
    pub fn new(expected: usize) -> Self {
        Self { expected, count: 0, row: SmallVec::new(), data: None }
    }

    /// Adds a row.
    pub fn push(&mut self, value: RunValue) -> Result<(), RowError> {
        self.count += 1;
        match value {
            RunValue::Array(array) => self.push_array(array),
            value => self.push_one(value),
        }
    }

    fn push_one(&mut self, value: RunValue) -> Result<(), RowError> {
        if self.data.is_none() {
            self.data = Some(start(&value, self.expected)?);
        }
        match (self.data.as_mut(), value) {
            (Some(Data::I64(v)), RunValue::Scalar(Scalar::I64(x))) => v.push(x),
            (Some(Data::I32(v)), RunValue::Scalar(Scalar::I32(x))) => v.push(x),
            (Some(Data::F32(v)), RunValue::Scalar(Scalar::F32(x))) => v.push(x),
            (Some(Data::F64(v)), RunValue::Scalar(Scalar::F64(x))) => v.push(x),
            (Some(Data::Bool(v)), RunValue::Scalar(Scalar::Bool(x))) => v.push(x),
            (Some(Data::I8(v)), RunValue::Scalar(Scalar::I8(x))) => v.push(x),
            (Some(Data::I16(v)), RunValue::Scalar(Scalar::I16(x))) => v.push(x),
            (Some(Data::F16(v)), RunValue::Scalar(Scalar::F16(x))) => v.push(x),
            (Some(Data::Other(v, _)), value) => v.push(value),
            (Some(data), value @ RunValue::Active(_)) if data.elem() == value.rty() => {
                data.make_values();
                return self.push_one(value);
            }
            _ => return Err(RowError::Type),
        }
        Ok(())
    }

    fn push_array(&mut self, array: Rc<Array>) -> Result<(), RowError> {
        let Some(data) = self.data.as_mut() else {
            self.row.clone_from(&array.shape);
            let total = array.data.len().checked_mul(self.expected.max(1));
            let total = total.filter(|n| fits(*n as i64, 1)).ok_or(RowError::Memory)?;
            self.data = Some(match Rc::try_unwrap(array) {
                Ok(array) => {
                    let mut data = array.data;
                    let more = total.saturating_sub(data.len());
                    reserve(&mut data, more)?;
                    data
                }
                Err(array) => {
                    let mut data = array.data.range(0, 0);
                    reserve(&mut data, total)?;
                    extend(&mut data, &array.data)?;
                    data
                }
            });
            return Ok(());
        };
        if self.row != array.shape {
            return Err(RowError::Shape(array.shape.clone(), self.row.clone()));
        }
        extend(data, &array.data)
    }

    /// The finished array. Without rows it is empty, and `claim` is the type of its rows.
    pub fn finish(self, claim: impl FnOnce() -> Rc<RunType>) -> RunValue {
        match self.data {
            None => RunValue::Array(Rc::new(Array::empty_of(&claim()))),
            Some(data) => {
                let mut shape = Dims::from_slice(&[self.count as i64]);
                shape.extend_from_slice(&self.row);
                RunValue::array(shape, data)
            }
        }
    }
}

/// An empty vector for elements of the value's kind.
fn start(value: &RunValue, expected: usize) -> Result<Data, RowError> {
    let mut data = match value {
        RunValue::Scalar(x) => match x {
            Scalar::I8(_) => Data::I8(Vec::new()),
            Scalar::I16(_) => Data::I16(Vec::new()),
            Scalar::I32(_) => Data::I32(Vec::new()),
            Scalar::I64(_) => Data::I64(Vec::new()),
            Scalar::F16(_) => Data::F16(Vec::new()),
            Scalar::F32(_) => Data::F32(Vec::new()),
            Scalar::F64(_) => Data::F64(Vec::new()),
            Scalar::Bool(_) => Data::Bool(Vec::new()),
        },
        _ => Data::Other(Vec::new(), Rc::new(RunType::Unknown)),
    };
    reserve(&mut data, expected)?;
    Ok(data)
}

/// Reserves memory for `more` further elements.
pub fn reserve(data: &mut Data, more: usize) -> Result<(), RowError> {
    crate::value::with_data!(data, v => {
        let size = elem_size(v);
        if !fits(more as i64, size as u64) {
            return Err(RowError::Memory);
        }
        v.try_reserve(more).map_err(|_| RowError::Memory)
    })
}

/// The size of an element in bytes.
const fn elem_size<T>(_: &[T]) -> usize {
    size_of::<T>()
}

/// Appends elements of the same type.
pub fn extend(data: &mut Data, more: &Data) -> Result<(), RowError> {
    let more = data.unified(more);
    with_both!(data, &*more, (x, y) => {
        x.try_reserve(y.len()).map_err(|_| RowError::Memory)?;
        x.extend_from_slice(y);
    }, else return Err(RowError::Type));
    Ok(())
}

/// Appends `with`, of the same type, `times` times.
pub fn extend_with(data: &mut Data, times: usize, with: &Data) -> Result<(), RowError> {
    let with = data.unified(with);
    with_both!(data, &*with, (x, y) => {
        for _ in 0..times {
            x.extend_from_slice(y);
        }
    }, else return Err(RowError::Type));
    Ok(())
}
