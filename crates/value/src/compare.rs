//! Compares an actual result with the expected one, floats within a tolerance.
//!
//! The tolerance is that of the reference's test tool: the difference of two elements may be as
//! large as the tolerance itself, or the tolerance times the largest finite magnitude among the
//! expected elements if that is more. NaN equals NaN, and an infinity equals only itself.

use crate::{Element, Value, ValueType};
use half::f16;
use prim::ScalarType;
use std::fmt;

/// The tolerance for floats, relative to the largest magnitude of the expected elements (absolute
/// if that is below 1).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance(pub f64);

impl Default for Tolerance {
    fn default() -> Self {
        Self(0.002)
    }
}

/// The first difference between two values.
#[derive(Clone, PartialEq, Debug)]
pub enum Mismatch {
    /// The types differ.
    Type {
        /// Type of the expected value.
        expected: ValueType,
        /// Type of the actual value.
        actual: ValueType,
    },
    /// The shapes differ.
    Shape {
        /// Shape of the expected value.
        expected: Vec<i64>,
        /// Shape of the actual value.
        actual: Vec<i64>,
    },
    /// An element differs.
    Element {
        /// Its index in each dimension; empty for scalars.
        index: Vec<i64>,
        /// Text of the expected element.
        expected: String,
        /// Text of the actual element.
        actual: String,
        /// For floats, the largest difference allowed.
        tolerance: Option<f64>,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { expected, actual } => {
                write!(f, "expected a value of type {expected}, got type {actual}")
            }
            Self::Shape { expected, actual } => {
                write!(f, "expected an array of shape {expected:?}, got shape {actual:?}")
            }
            Self::Element { index, expected, actual, tolerance } => {
                write!(f, "expected {expected}, got {actual}")?;
                if !index.is_empty() {
                    write!(f, ", at index {index:?}")?;
                }
                match tolerance {
                    Some(t) => write!(f, " (tolerance {t:e})"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for Mismatch {}

/// Checks that `actual` is `expected`: type and shape exactly, integers and bools exactly, floats
/// within `tolerance`.
pub fn compare(expected: &Value, actual: &Value, tolerance: Tolerance) -> Result<(), Mismatch> {
    if expected.value_type() != actual.value_type() {
        return Err(Mismatch::Type { expected: expected.value_type(), actual: actual.value_type() });
    }
    if expected.shape() != actual.shape() {
        return Err(Mismatch::Shape { expected: expected.shape().to_vec(), actual: actual.shape().to_vec() });
    }
    let (at, allowed) = match expected.scalar_type() {
        ScalarType::F16 => floats::<f16>(expected, actual, tolerance, f16::to_f64),
        ScalarType::F32 => floats::<f32>(expected, actual, tolerance, f64::from),
        ScalarType::F64 => floats::<f64>(expected, actual, tolerance, std::convert::identity),
        ty => {
            let byte = expected.bytes().iter().zip(actual.bytes()).position(|(x, y)| x != y);
            (byte.map(|i| i / ty.size() as usize), None)
        }
    };
    let Some(at) = at else { return Ok(()) };
    Err(Mismatch::Element {
        index: unflatten(at as i64, expected.shape()),
        expected: element_text(expected, at),
        actual: element_text(actual, at),
        tolerance: allowed,
    })
}

/// The index of the first pair of elements that differ too much, and the difference allowed.
fn floats<T: Element>(
    expected: &Value,
    actual: &Value,
    tolerance: Tolerance,
    wide: impl Fn(T) -> f64,
) -> (Option<usize>, Option<f64>) {
    let xs = expected.elements::<T>().unwrap_or_default();
    let ys = actual.elements::<T>().unwrap_or_default();
    let largest = xs.iter().map(|&x| wide(x).abs()).filter(|x| x.is_finite()).fold(1.0, f64::max);
    let allowed = tolerance.0 * largest;
    let at = xs.iter().zip(ys).position(|(&x, &y)| {
        let (x, y) = (wide(x), wide(y));
        let same = x == y || (x.is_nan() && y.is_nan());
        let close = x.is_finite() && y.is_finite() && (x - y).abs() <= allowed;
        !same && !close
    });
    (at, Some(allowed))
}

fn unflatten(mut flat: i64, shape: &[i64]) -> Vec<i64> {
    let mut index = vec![0; shape.len()];
    for (i, &dim) in index.iter_mut().zip(shape).rev() {
        *i = flat % dim.max(1);
        flat /= dim.max(1);
    }
    index
}

fn element_text(value: &Value, at: usize) -> String {
    let ty = value.scalar_type();
    let mut text = Vec::new();
    let start = at * ty.size() as usize;
    crate::push_element(&mut text, ty, value.bytes().get(start..).unwrap_or_default());
    String::from_utf8_lossy(&text).into_owned()
}
