//! Compares results: by their bits, or approximately where they are derivatives, which may be added
//! up in another order.

use crate::generator::Precision;
use prim::ScalarType;
use value::Value;

/// A relation between results of one call, by their positions.
#[derive(Clone, Debug)]
pub enum Relation {
    /// Two results are approximately equal.
    Equal(usize, usize),
    /// A result is approximately equal to an estimate, whose error bound is the third result.
    Near(usize, usize, usize),
}

/// The relative errors of derivatives: of `f64`, of types with less precision.
const TOLERANCES: [f64; 2] = [1e-9, 1e-3];
/// The relative error of central differences.
const DIFFERENCES: f64 = 1e-6;

/// Compares values: types, shapes, and elements.
pub(crate) fn same_values(wanted: &[Value], found: &[Value], precision: &Precision) -> Result<(), String> {
    if wanted.len() != found.len() {
        return Err(format!("expected {} results, found {}", wanted.len(), found.len()));
    }
    for (at, (x, y)) in wanted.iter().zip(found).enumerate() {
        let (ty, size) = (x.scalar_type(), x.scalar_type().size() as usize);
        let same = x.value_type() == y.value_type() && x.shape() == y.shape();
        let elements = x.bytes().chunks_exact(size).zip(y.bytes().chunks_exact(size));
        let equal: Box<dyn Fn(&[u8], &[u8]) -> bool> = match precision {
            Precision::Ulps(ulps) => Box::new(move |x, y| same_bits(ty, x, y, *ulps)),
            Precision::Derivatives { exact, .. } if at < *exact || !ty.is_float() => {
                Box::new(move |x, y| same_bits(ty, x, y, 0))
            }
            Precision::Derivatives { .. } => {
                let bound = tolerance(ty) * magnitude([x, y]);
                Box::new(move |x, y| close(float(ty, x), float(ty, y), bound))
            }
        };
        if same && elements.clone().all(|(x, y)| equal(x, y)) {
            continue;
        }
        let differing = elements.enumerate().find(|(_, (x, y))| !equal(x, y)).map_or(0, |(at, _)| at);
        return Err(format!(
            "result {at} differs at element {differing}: found\n{}\nexpected\n{}",
            shortened(y),
            shortened(x)
        ));
    }
    relations(found, precision)
}

/// Checks the relations between the results of a call.
pub(crate) fn relations(found: &[Value], precision: &Precision) -> Result<(), String> {
    let Precision::Derivatives { relations, .. } = precision else {
        return Ok(());
    };
    for relation in relations {
        let (x, y, error) = match *relation {
            Relation::Equal(x, y) => (x, y, None),
            Relation::Near(value, estimate, error) => (value, estimate, Some(error)),
        };
        let (Some(x), Some(y)) = (found.get(x), found.get(y)) else {
            return Err(format!("no such results: {relation:?}"));
        };
        let scale = magnitude(found);
        let bound = match error.and_then(|error| found.get(error)) {
            None => tolerance(x.scalar_type()) * scale,
            Some(error) => DIFFERENCES * scale + 10.0 * floats(error).into_iter().fold(0.0, f64::max),
        };
        let same = floats(x).into_iter().zip(floats(y)).all(|(x, y)| close(x, y, bound));
        if !same || x.shape() != y.shape() {
            return Err(format!("{relation:?} does not hold:\n{}\n{}", shortened(x), shortened(y)));
        }
    }
    Ok(())
}

fn shortened(value: &Value) -> String {
    value.to_string().chars().take(2000).collect()
}

fn tolerance(ty: ScalarType) -> f64 {
    TOLERANCES[usize::from(ty != ScalarType::F64)]
}

/// The largest finite magnitude of a float in values, at least 1.
fn magnitude<'v>(values: impl IntoIterator<Item = &'v Value>) -> f64 {
    let all = values.into_iter().filter(|value| value.scalar_type().is_float()).flat_map(floats);
    all.map(f64::abs).filter(|x| x.is_finite()).fold(1.0, f64::max)
}

/// Returns true if two floats differ by this bound at most, or both are NaN.
fn close(x: f64, y: f64, bound: f64) -> bool {
    x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= bound
}

fn floats(value: &Value) -> Vec<f64> {
    let ty = value.scalar_type();
    value.bytes().chunks_exact(ty.size() as usize).map(|bytes| float(ty, bytes)).collect()
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(word)
}

/// A float from its bytes; `f64` and `f32` only.
fn float(ty: ScalarType, bytes: &[u8]) -> f64 {
    if ty == ScalarType::F64 {
        f64::from_bits(word(bytes))
    } else {
        f64::from(f32::from_bits(word(bytes) as u32))
    }
}

fn same_bits(ty: ScalarType, x: &[u8], y: &[u8], ulps: u64) -> bool {
    if x == y {
        return true;
    }
    if !ty.is_float() {
        return false;
    }
    let (sign, infinity) = match ty {
        ScalarType::F16 => (1u64 << 15, 0x7c00),
        ScalarType::F32 => (1 << 31, 0x7f80_0000),
        _ => (1 << 63, 0x7ff0_0000_0000_0000),
    };
    let (x, y) = (word(x), word(y));
    let is_nan = |bits: u64| bits & !sign > infinity;
    if is_nan(x) || is_nan(y) {
        return is_nan(x) && is_nan(y);
    }
    // Floats of one sign are ordered as their bits are.
    let key = |bits: u64| {
        let magnitude = (bits & !sign) as i64;
        if bits & sign == 0 { magnitude } else { -magnitude }
    };
    ulps > 0 && key(x).abs_diff(key(y)) <= ulps
}
