//! Random values for `random input` and `bindrune data`.
//!
//! A seed gives the same values on every machine. Each value has a generator of its own, so it does
//! not depend on the values before it.

use value::{Buffer, Reader, Value, ValueType};

use half::f16;
use prim::{Scalar, ScalarType};

/// A value to generate.
#[derive(Clone, PartialEq, Debug)]
pub enum ValueSpec {
    /// A random value of this element type and shape.
    Random(ScalarType, Vec<i64>),
    /// A literal in the text format.
    Literal(String),
}

/// The bounds of the elements of each type, inclusive.
#[derive(Clone, Debug)]
pub struct Bounds {
    bounds: Vec<(ScalarType, Scalar, Scalar)>,
}

impl Default for Bounds {
    /// All integers of each type; 0 to 1 for floats.
    fn default() -> Self {
        let bounds = ScalarType::ALL.iter().map(|ty| {
            let (low, high) = default_bounds(*ty);
            (*ty, low, high)
        });
        Self { bounds: bounds.collect() }
    }
}

fn default_bounds(ty: ScalarType) -> (Scalar, Scalar) {
    let prim = ty.prim();
    if ty.is_float() || ty == ScalarType::Bool {
        return (Scalar::int(prim, 0), Scalar::int(prim, 1));
    }
    let bits = prim.bits();
    if ty.is_signed() {
        let high = i64::MAX >> (64 - bits);
        (Scalar::int(prim, -high - 1), Scalar::int(prim, high))
    } else {
        (Scalar::int(prim, 0), Scalar::from_bits(prim, u64::MAX))
    }
}

impl Bounds {
    /// Sets the bounds of a type from a text of the form `min:max`.
    pub fn set(&mut self, ty: ScalarType, text: &str) -> Result<(), String> {
        let invalid =
            || format!("invalid bounds `{text}` of type {ty}; expected MIN:MAX, for example `0:100`");
        let (low, high) = text.split_once(':').ok_or_else(invalid)?;
        let low = scalar(ty, low).ok_or_else(invalid)?;
        let high = scalar(ty, high).ok_or_else(invalid)?;
        if order_key(ty, low) > order_key(ty, high) {
            return Err(format!("lower bound above upper bound: `{text}`"));
        }
        for bound in &mut self.bounds {
            if bound.0 == ty {
                (bound.1, bound.2) = (low, high);
            }
        }
        Ok(())
    }

    fn get(&self, ty: ScalarType) -> (Scalar, Scalar) {
        let found = self.bounds.iter().find(|bound| bound.0 == ty);
        found.map_or_else(|| default_bounds(ty), |bound| (bound.1, bound.2))
    }
}

/// Returns a number that orders scalars of a type.
fn order_key(ty: ScalarType, x: Scalar) -> f64 {
    match x {
        Scalar::F16(x) => x.to_f64(),
        Scalar::F32(x) => f64::from(x),
        Scalar::F64(x) => x,
        x if ty.is_signed() => x.as_i64().unwrap_or(0) as f64,
        x => x.bits() as f64,
    }
}

fn scalar(ty: ScalarType, text: &str) -> Option<Scalar> {
    let mut reader = Reader::from_slice(text.trim().as_bytes());
    let value = reader.read(ValueType::new(ty, 0)).ok()?;
    value.as_scalar().filter(|_| reader.at_end() == Ok(true))
}

/// Parses types and values, such as `[100]i32 [2][3]f64 5i64`.
pub fn parse(text: &str) -> Result<Vec<ValueSpec>, String> {
    let mut out = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (spec, left) = one(rest)?;
        out.push(spec);
        rest = left.trim_start();
    }
    Ok(out)
}

fn one(text: &str) -> Result<(ValueSpec, &str), String> {
    let mut rest = text;
    let mut shape = Vec::new();
    while let Some(after) = rest.strip_prefix('[') {
        let Some((size, after)) = after.split_once(']') else {
            break;
        };
        let Some(size) = size_of_dim(size) else { break };
        shape.push(size);
        rest = after.trim_start();
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
    if let Ok(ty) = name.parse::<ScalarType>() {
        return Ok((ValueSpec::Random(ty, shape), after));
    }
    // A literal extends to the next blank outside brackets.
    let mut depth = 0;
    let end = text.char_indices().find(|(_, c)| {
        depth += i32::from("[(".contains(*c)) - i32::from("])".contains(*c));
        depth <= 0 && c.is_whitespace()
    });
    let (literal, after) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    let mut reader = Reader::from_slice(literal.as_bytes());
    match reader.read_any() {
        Ok(Some(_)) if reader.at_end() == Ok(true) => Ok((ValueSpec::Literal(literal.to_owned()), after)),
        _ => Err(format!("`{literal}` is neither a type nor a value")),
    }
}

/// Parses the size in brackets: a number, optionally with the suffix `i64`.
fn size_of_dim(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_suffix("i64").unwrap_or(text).replace('_', "");
    digits.parse().ok().filter(|n| *n >= 0)
}

/// Generates the values, each from the seed and its index.
pub fn generate(specs: &[ValueSpec], bounds: &Bounds, seed: u64) -> Result<Vec<Value>, String> {
    let numbered = specs.iter().zip(0u64..);
    numbered.map(|(one, number)| make(one, bounds, seed.wrapping_add(number.wrapping_mul(0x9e37)))).collect()
}

fn make(spec: &ValueSpec, bounds: &Bounds, seed: u64) -> Result<Value, String> {
    match spec {
        ValueSpec::Literal(text) => match Reader::from_slice(text.as_bytes()).read_any() {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err("missing value".to_owned()),
            Err(e) => Err(e.to_string()),
        },
        ValueSpec::Random(ty, shape) => {
            let count = shape.iter().try_fold(ty.size() as i64, |n, d| n.checked_mul(*d));
            let count = count.and_then(|n| usize::try_from(n).ok());
            let count = count.ok_or_else(|| format!("the shape {shape:?} is too large"))?;
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(count).map_err(|_| format!("cannot allocate {count} bytes"))?;
            let mut random = Random::new(seed);
            let (low, high) = bounds.get(*ty);
            let size = ty.size() as usize;
            for _ in 0..count / size {
                let x = random.between(*ty, low, high).bits().to_le_bytes();
                bytes.extend_from_slice(&x[..size]);
            }
            let data = Buffer::copy_of(&bytes).map_err(|e| e.to_string())?;
            Value::new(*ty, shape.clone(), data).map_err(|e| e.to_string())
        }
    }
}

/// A pseudo-random number generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Creates a generator with a seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`, which must not be 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Returns a scalar between two bounds of its type, inclusive.
    pub fn between(&mut self, ty: ScalarType, low: Scalar, high: Scalar) -> Scalar {
        if ty.is_float() {
            let unit = (self.bits() >> 11) as f64 / ((1u64 << 53) - 1) as f64;
            let (low, high) = (order_key(ty, low), order_key(ty, high));
            let x = (low + unit * (high - low)).clamp(low, high);
            return match ty {
                ScalarType::F16 => Scalar::F16(f16::from_f64(x)),
                ScalarType::F32 => Scalar::F32(x as f32),
                _ => Scalar::F64(x),
            };
        }
        let wide = |x: Scalar| {
            if ty.is_signed() { x.as_i64().unwrap_or(0).cast_unsigned() } else { x.bits() }
        };
        let (low, high) = (wide(low), wide(high));
        let offset = match high.wrapping_sub(low).checked_add(1) {
            Some(n) => self.below(n),
            None => self.bits(),
        };
        Scalar::from_bits(ty.prim(), low.wrapping_add(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, ValueSpec, generate, parse};
    use prim::ScalarType;

    #[test]
    fn types_and_values_are_parsed() {
        let specs =
            parse(" [100]i32 [2][3]f64 5i64 bool [1, 2] ").expect("the types and values are well formed");
        assert_eq!(
            specs,
            [
                ValueSpec::Random(ScalarType::I32, vec![100]),
                ValueSpec::Random(ScalarType::F64, vec![2, 3]),
                ValueSpec::Literal("5i64".into()),
                ValueSpec::Random(ScalarType::Bool, vec![]),
                ValueSpec::Literal("[1, 2]".into()),
            ]
        );
        assert!(parse("[10]string").is_err());
        assert!(parse("[-1]i32").is_err());
    }

    #[test]
    fn elements_cover_the_range_of_their_bounds() {
        let mut bounds = Bounds::default();
        bounds.set(ScalarType::I8, "-2:2").expect("the bounds are valid");
        bounds.set(ScalarType::F32, "-1:1").expect("the bounds are valid");
        assert!(bounds.set(ScalarType::U8, "3:2").is_err());
        assert!(bounds.set(ScalarType::U8, "x").is_err());
        let specs = parse("[1000]i8 [1000]f32 [1000]u64").expect("the types and values are well formed");
        let values = generate(&specs, &bounds, 1).expect("the values can be generated");
        let bytes = values[0].elements::<i8>().expect("the elements are i8");
        for x in -2..=2 {
            assert!(bytes.contains(&x));
        }
        assert!(bytes.iter().all(|x| (-2..=2).contains(x)));
        let floats = values[1].elements::<f32>().expect("the elements are f32");
        assert!(floats.iter().all(|x| (-1.0..=1.0).contains(x)));
        assert!(floats.iter().any(|x| *x < -0.9) && floats.iter().any(|x| *x > 0.9));
        let words = values[2].elements::<u64>().expect("the elements are u64");
        assert!(words.iter().any(|x| *x > u64::MAX / 4 * 3));
        assert_eq!(generate(&specs, &bounds, 1), Ok(values));
        assert_ne!(generate(&specs, &bounds, 1), generate(&specs, &bounds, 2));
    }
}
