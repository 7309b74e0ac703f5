//! Expressions of float types. Every value is *small*: a multiple of 1/4 (of 1/2 for `f16`) below
//! 64 (8). Sums and products of a few such values are exact, and so are sums of thousands; a value
//! that could become too large or too fine is made small by a function that keeps its low bits.
//! Zeros have no sign, and there are no infinities or NaNs: the entry points on special values test
//! those.

use super::Gen;
use super::types::Ty;
use prim::ScalarType;

/// A float expression with bounds: below `2^whole`, a multiple of `2^-fraction`.
struct Bounded {
    text: String,
    whole: u32,
    fraction: u32,
}

/// The bounds of small values.
fn small(ty: ScalarType) -> (u32, u32) {
    if ty == ScalarType::F16 { (3, 1) } else { (6, 2) }
}

/// The number of bits that products and sums may have.
fn precision(ty: ScalarType) -> u32 {
    match ty {
        ScalarType::F16 => 10,
        ScalarType::F32 => 23,
        _ => 50,
    }
}

/// A conversion of a scalar that is not a float; a float result is small.
pub(super) fn convert(text: &str, from: ScalarType, to: ScalarType) -> String {
    let (source, target) = (from.name(), to.name());
    if from == to {
        return text.to_owned();
    }
    if from == ScalarType::Bool {
        return format!("({target}.bool {text})");
    }
    match to {
        ScalarType::Bool => format!("({text} > 1{source})"),
        ScalarType::F16 => format!("(f16.{source} ({text} % 4{source}))"),
        ScalarType::F32 | ScalarType::F64 => {
            format!("({target}.{source} ({text} % 32{source}))")
        }
        _ => format!("({target}.{source} {text})"),
    }
}

impl Gen<'_> {
    /// A small literal.
    pub(super) fn float_literal(&mut self, ty: ScalarType) -> String {
        let name = ty.name();
        let (n, parts) = (self.c.below(33), if ty == ScalarType::F16 { 2 } else { 4 });
        let magnitude = n.div_ceil(2) / if parts == 2 { 2 } else { 1 };
        let x = magnitude as f64 / f64::from(parts);
        if n % 2 == 0 && magnitude > 0 { format!("(-{x}{name})") } else { format!("{x}{name}") }
    }

    /// Makes the floats in a text of this type small. Types without floats are unchanged.
    pub(super) fn small(&mut self, ty: &Ty, text: String) -> String {
        if !ty.has_floats() {
            return text;
        }
        match ty {
            Ty::Scalar(scalar) => {
                let name = match scalar {
                    ScalarType::F16 => "small_f16",
                    ScalarType::F32 => "small_f32",
                    _ => "small_f64",
                };
                format!("({} {text})", self.helper(name))
            }
            Ty::Array(_, row) => {
                let x = self.fresh("x");
                let body = self.small(row, x.to_string());
                format!("(map (\\({x}: {}) -> {body}) {text})", row.text())
            }
            Ty::Tuple(parts) => {
                let names: Vec<_> = parts.iter().map(|_| self.fresh("x")).collect();
                let smalls: Vec<String> =
                    names.iter().zip(parts).map(|(name, ty)| self.small(ty, name.to_string())).collect();
                format!("(let ({}) = {text} in ({}))", names.join(", "), smalls.join(", "))
            }
            Ty::Record(fields) => {
                let x = self.fresh("x");
                let smalls: Vec<String> = fields
                    .iter()
                    .map(|(name, ty)| format!("{name} = {}", self.small(ty, format!("{x}.{name}"))))
                    .collect();
                format!("(let {x}: {} = {text} in {{{}}})", ty.text(), smalls.join(", "))
            }
            Ty::Sum(_) => text,
        }
    }

    /// An operation with a small float result.
    pub(super) fn float(&mut self, ty: ScalarType, fuel: u32) -> String {
        let bounded = self.bounded(ty, fuel);
        let (whole, fraction) = small(ty);
        if bounded.whole <= whole && bounded.fraction <= fraction {
            return bounded.text;
        }
        self.small(&Ty::Scalar(ty), bounded.text)
    }

    fn bounded(&mut self, ty: ScalarType, fuel: u32) -> Bounded {
        let (whole, fraction) = small(ty);
        if fuel == 0 || self.c.once_in(3) {
            let text = self.expr(&Ty::Scalar(ty), fuel.saturating_sub(1));
            return Bounded { text, whole, fraction };
        }
        let name = ty.name();
        let x = self.bounded(ty, fuel - 1);
        let kind = self.c.below(14);
        let made = match kind {
            0..=8 => {
                let y = self.bounded(ty, fuel - 1);
                let sum = (x.whole.max(y.whole) + 1, x.fraction.max(y.fraction));
                let product = (x.whole + y.whole, x.fraction + y.fraction);
                let (x, y) = (x.text, y.text);
                let (text, (whole, fraction)) = match kind {
                    0 | 1 => (format!("({x} + {y})"), sum),
                    2 | 3 => (format!("({x} - {y})"), sum),
                    4..=6 => (format!("({x} * {y})"), product),
                    7 => (format!("({name}.max {x} {y})"), sum),
                    _ => (format!("({name}.min {x} {y})"), sum),
                };
                Bounded { text, whole, fraction }
            }
            9 => {
                let y = self.bounded(ty, fuel / 2);
                let z = self.bounded(ty, 0);
                let fun = self.pick_text(&["fma", "mad"]);
                Bounded {
                    text: format!("({name}.{fun} {} {} {})", x.text, y.text, z.text),
                    whole: (x.whole + y.whole).max(z.whole) + 1,
                    fraction: (x.fraction + y.fraction).max(z.fraction),
                }
            }
            10 => Bounded { text: format!("({} / 2{name})", x.text), fraction: x.fraction + 1, ..x },
            11 => Bounded { text: format!("({name}.abs {})", x.text), ..x },
            12 => {
                // Rounding a small number may give a zero with a sign; the sum removes it.
                let fun = self.pick_text(&["floor", "ceil", "round", "trunc"]);
                Bounded { text: format!("({name}.{fun} {} + 0{name})", x.text), whole: x.whole + 1, ..x }
            }
            _ => Bounded { text: format!("(0{name} - {})", x.text), whole: x.whole, fraction: x.fraction },
        };
        if made.whole + made.fraction <= precision(ty) {
            return made;
        }
        let text = self.small(&Ty::Scalar(ty), made.text);
        Bounded { text, whole, fraction }
    }
}
