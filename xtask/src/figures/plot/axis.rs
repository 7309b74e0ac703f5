//! Axes: the mapping of values, the positions of ticks, and the format of numbers.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// The quantity on an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds, logarithmic.
    Micros,
    /// A ratio, logarithmic.
    Ratio,
    /// A number of items, logarithmic.
    Count,
    /// A quantity that changes little, logarithmic.
    Amount,
    /// Whole numbers, linear.
    Number,
}

pub struct Axis {
    /// The range and the ticks.
    pub scale: Scale,
    kind: Kind,
}

/// The coordinates of an axis.
#[derive(Clone)]
pub struct Scale {
    /// The range of coordinates.
    pub range: Range<f64>,
    /// The coordinates and labels of ticks.
    pub ticks: Vec<(f64, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear,
    Logarithmic,
    /// Linear from top to bottom.
    LinearDown,
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (value - self.range.start) / (self.range.end - self.range.start);
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|(at, _)| *at).collect()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, at: &f64) -> String {
        let found = self.ticks.iter().find(|(tick, _)| tick == at);
        found.map(|(_, label)| label.clone()).unwrap_or_default()
    }
}

impl Axis {
    /// Creates an axis whose range contains all values.
    pub fn covering(unit: Unit, values: impl Iterator<Item = f64>) -> Self {
        let (least, most) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| (least.min(x), most.max(x)));
        // An axis without values still needs a range.
        let (least, most) = if least <= most { (least, most) } else { (1.0, 1.0) };
        if unit == Unit::Number {
            let ticks = (least.ceil() as i64..=most.floor() as i64).map(|at| (at as f64, at.to_string()));
            return Self {
                scale: Scale { range: least - 0.5..most + 0.5, ticks: ticks.collect() },
                kind: Kind::Linear,
            };
        }
        let (low, high) = (least.log10(), most.log10());
        let margin = ((high - low) * 0.06).max(0.05);
        let range = low - margin..high + margin;
        let ticks = ticks(unit, &range);
        Self { scale: Scale { range, ticks }, kind: Kind::Logarithmic }
    }

    /// Extends both ends by this fraction of the range.
    pub fn wider(mut self, part: f64) -> Self {
        let more = (self.scale.range.end - self.scale.range.start) * part;
        self.scale.range = self.scale.range.start - more..self.scale.range.end + more;
        self
    }

    /// Creates an axis with names at positions from the top down to `end`.
    pub fn named(names: Vec<(f64, String)>, end: f64) -> Self {
        let ticks = names.into_iter().map(|(at, name)| (-at, name)).collect();
        Self { scale: Scale { range: -end - 0.5..0.0, ticks }, kind: Kind::LinearDown }
    }

    /// Creates an axis with names at 0, 1 and so on. Of many names, some are shown, and the last one.
    pub fn positions(names: &[String]) -> Self {
        let last = names.len().saturating_sub(1);
        let every = names.len().div_ceil(6).max(1);
        let shown = names.iter().enumerate().filter(|(at, _)| (last - at).is_multiple_of(every));
        let ticks = shown.map(|(at, name)| (at as f64, name.clone())).collect();
        Self { scale: Scale { range: -0.5..last as f64 + 0.5, ticks }, kind: Kind::Linear }
    }

    /// The coordinate of a value.
    pub fn coordinate(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Linear => value,
            Kind::Logarithmic => value.log10(),
            Kind::LinearDown => -value,
        }
    }
}

/// The ticks of a logarithmic axis: at powers of ten; on short axes also between them, and at
/// powers of two for ratios. Very short axes of amounts have ticks at equal distances.
fn ticks(unit: Unit, range: &Range<f64>) -> Vec<(f64, String)> {
    let decades = range.end - range.start;
    if unit == Unit::Amount && decades < 0.8 {
        return equidistant_ticks(range);
    }
    let (base, steps): (f64, &[f64]) = match unit {
        Unit::Ratio if decades < 2.5 => (2.0, &[1.0]),
        _ if decades < 1.5 => (10.0, &[1.0, 2.0, 5.0]),
        _ => (10.0, &[1.0]),
    };
    // At most about eight labels.
    let every = ((decades / base.log10() / 8.0).ceil() as i32).max(1);
    let mut ticks = Vec::new();
    for power in -40..=40 {
        for step in steps {
            let value = step * base.powi(power);
            let at = value.log10();
            if range.contains(&at) && power % every == 0 {
                ticks.push((at, label(unit, value)));
            }
        }
    }
    ticks
}

/// About five ticks of a logarithmic axis whose values are multiples of a round number.
fn equidistant_ticks(range: &Range<f64>) -> Vec<(f64, String)> {
    let (least, most) = (10_f64.powf(range.start), 10_f64.powf(range.end));
    let power = 10_f64.powf(((most - least) / 5.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let step = steps.into_iter().find(|step| step * 6.0 >= most - least).unwrap_or(most);
    let multiples = (least / step).ceil() as i64..=(most / step).floor() as i64;
    multiples.map(|n| n as f64 * step).map(|value| (value.log10(), label(Unit::Amount, value))).collect()
}

fn label(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Micros => time(value, 0),
        Unit::Ratio if value < 1.0 => format!("1/{}×", (1.0 / value).round()),
        Unit::Ratio => format!("{}×", value.round()),
        Unit::Amount => amount(value),
        Unit::Count | Unit::Number => count(value),
    }
}

/// Formats a number for tables.
pub fn shown(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Micros => {
            let digits = 2 - value.log10().floor().rem_euclid(3.0) as usize;
            time(value, digits)
        }
        Unit::Ratio => format!("{}×", short(value)),
        Unit::Amount => amount(value),
        Unit::Count | Unit::Number => short(value),
    }
}

/// Formats a number with about three digits.
pub fn short(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Formats microseconds in a suitable unit.
fn time(micros: f64, digits: usize) -> String {
    let (scale, unit) = match micros {
        x if x < 0.9995 => (1e3, "ns"),
        x if x < 999.5 => (1.0, "µs"),
        x if x < 999_500.0 => (1e-3, "ms"),
        _ => (1e-6, "s"),
    };
    let value = micros * scale;
    let digits = if value >= 0.9995 { digits } else { digits.max(2) };
    format!("{value:.digits$} {unit}")
}

/// Formats a number with an SI prefix and up to three decimals.
fn amount(value: f64) -> String {
    let (scale, prefix) = match value {
        x if x < 999.9995 => (1.0, ""),
        x if x < 999_999.5 => (1e-3, " k"),
        x if x < 999_999_500.0 => (1e-6, " M"),
        _ => (1e-9, " G"),
    };
    let digits = format!("{:.3}", value * scale);
    format!("{}{prefix}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Formats a power of ten of at least 1000 as a power, other numbers in full.
fn count(value: f64) -> String {
    let power = value.log10().round();
    if value < 1000.0 || (value.log10() - power).abs() > 1e-9 {
        return format!("{}", value.round());
    }
    raised(&format!("10^{power}"))
}

/// Formats the digits behind `^` as superscripts.
pub fn raised(text: &str) -> String {
    let Some((base, exponent)) = text.split_once('^') else {
        return text.to_owned();
    };
    let exponent = exponent.chars().map(|digit| match digit {
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        other => other,
    });
    format!("{base}{}", exponent.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_units() {
        let micros = |x| shown(Unit::Micros, x);
        for (value, expected) in [
            (0.5, "500 ns"),
            (1.0, "1.00 µs"),
            (12.34, "12.3 µs"),
            (123.4, "123 µs"),
            (1234.0, "1.23 ms"),
            (2_500_000.0, "2.50 s"),
        ] {
            assert_eq!(micros(value), expected);
        }
        assert_eq!(shown(Unit::Ratio, 0.5), "0.50×");
        assert_eq!(shown(Unit::Ratio, 14.0), "14.0×");
        assert_eq!(label(Unit::Ratio, 0.25), "1/4×");
        assert_eq!((count(1e7), count(500.0), count(2000.0)), ("10⁷".into(), "500".into(), "2000".into()));
    }

    #[test]
    fn axes_have_ticks_and_positions_for_all_names() {
        let axis = Axis::covering(Unit::Micros, [3.0, 4000.0].into_iter());
        let labels: Vec<&str> = axis.scale.ticks.iter().map(|(_, label)| &**label).collect();
        assert_eq!(labels, ["10 µs", "100 µs", "1 ms"]);
        assert!(axis.scale.range.contains(&axis.coordinate(3.0)));
        let axis = Axis::covering(Unit::Ratio, [0.5, 4.0].into_iter());
        let labels: Vec<&str> = axis.scale.ticks.iter().map(|(_, label)| &**label).collect();
        assert_eq!(labels, ["1/2×", "1×", "2×", "4×"]);
        let axis = Axis::covering(Unit::Number, [0.0, 3.0].into_iter());
        assert_eq!(axis.scale.ticks.len(), 4);
        assert!(Axis::covering(Unit::Count, std::iter::empty()).scale.range.contains(&0.0));
        for (values, expected) in [
            ([71_000.0, 73_500.0], &["65 k", "70 k", "75 k", "80 k"][..]),
            ([8.0, 8.0], &["7.5", "8", "8.5"]),
            ([1_999_000.0, 2_100_000.0], &["1.8 M", "1.9 M", "2 M", "2.1 M", "2.2 M", "2.3 M"]),
            ([72e6, 2.1e9], &["100 M", "1 G"]),
        ] {
            let axis = Axis::covering(Unit::Amount, values.into_iter());
            let labels: Vec<&str> = axis.scale.ticks.iter().map(|(_, label)| &**label).collect();
            assert_eq!(labels, expected);
        }
        let names: Vec<String> = (1..=13).map(|version| format!("0.{version}")).collect();
        let axis = Axis::positions(&names);
        let labels: Vec<&str> = axis.scale.ticks.iter().map(|(_, label)| &**label).collect();
        assert_eq!(labels, ["0.1", "0.4", "0.7", "0.10", "0.13"]);
    }
}
