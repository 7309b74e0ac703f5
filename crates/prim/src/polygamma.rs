//! The derivatives of the logarithm of the gamma function, on `f64`.
//!
//! For `z >= 12` they are their asymptotic series, whose coefficients are Bernoulli's numbers; smaller
//! arguments are shifted by 12, those up to 0 reflected. The prelude defines them likewise
//! (`special64.fut`).

use crate::half_turns::{cospi, sinpi, tanpi};
use std::f64::consts::PI;

/// Bernoulli's numbers `B(2 k)` for `k` from 1 on.
const BERNOULLI: [f64; 9] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
];

/// The sum of `B(2 k) weight(2 k) u^(k - 1)`.
fn series(u: f64, weight: impl Fn(f64) -> f64) -> f64 {
    let terms = BERNOULLI.iter().enumerate().rev();
    terms.fold(0.0, |sum, (k, b)| sum * u + b * weight(2.0 * (k as f64 + 1.0)))
}

/// The value for `x > 0`: `far` at `x` or at `x + 12`, and `term(1 / (x + k))` for the 12 steps.
fn positive(x: f64, far: &impl Fn(f64) -> f64, term: &impl Fn(f64) -> f64) -> f64 {
    if x >= 12.0 {
        return far(x);
    }
    // Much cancels near a zero, so the loss of each addition is added at the end.
    let (mut sum, mut lost) = (far(x + 12.0), 0.0);
    for k in 0..12 {
        let term = term(1.0 / (x + f64::from(k)));
        let next = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    sum + lost
}

/// The value for any `x`: up to 0, `reflected` at `1 - x`'s value, but NaN at a pole.
fn value(
    (x, is_pole): (f64, bool),
    far: impl Fn(f64) -> f64,
    term: impl Fn(f64) -> f64,
    reflected: impl Fn(f64) -> f64,
) -> f64 {
    if x > 0.0 {
        positive(x, &far, &term)
    } else if is_pole {
        f64::NAN
    } else {
        reflected(positive(1.0 - x, &far, &term))
    }
}

/// The first derivative.
pub(crate) fn digamma(x: f64) -> f64 {
    let tan = tanpi(x);
    let far = |z: f64| {
        let u = 1.0 / (z * z);
        libm::log(z) - 0.5 / z - u * series(u, |n| 1.0 / n)
    };
    value((x, tan == 0.0), far, |r| -r, |own| own - PI / tan)
}

/// The second derivative.
pub(crate) fn trigamma(x: f64) -> f64 {
    let s = PI / sinpi(x);
    let far = |z: f64| {
        let u = 1.0 / (z * z);
        (1.0 + u * series(u, |_| 1.0)) / z + 0.5 * u
    };
    value((x, s.is_infinite()), far, |r| r * r, |own| s * s - own)
}

/// The third derivative.
pub(crate) fn tetragamma(x: f64) -> f64 {
    let s = PI / sinpi(x);
    let far = |z: f64| {
        let u = 1.0 / (z * z);
        -u * (1.0 + 1.0 / z + u * series(u, |n| n + 1.0))
    };
    value((x, s.is_infinite()), far, |r| -2.0 * r * r * r, |own| own - 2.0 * cospi(x) * (s * s * s))
}

#[cfg(test)]
mod tests {
    use super::{digamma, tetragamma, trigamma};

    /// Values of `mpmath.polygamma` (precision of 40 digits).
    #[test]
    fn values_are_known_ones() {
        let cases = [
            (0.125, [-8.388492663295855, 65.38813344498803, -1025.7533381181356]),
            (0.5, [-1.9635100260214235, 4.934802200544679, -16.82879664423432]),
            (1.0, [-0.5772156649015329, 1.6449340668482264, -2.4041138063191885]),
            (1.4616321449683622, [-9.241265521729427e-17, 0.9676722454476212, -0.8855263379671844]),
            (2.5, [0.7031566406452432, 0.49035775610023485, -0.2362040516417274]),
            (7.0, [1.8727843350984672, 0.15354517795933756, -0.023530472985855238]),
            (11.75, [2.4206968934226323, 0.08883052207962387, -0.007885698505907384]),
            (12.0, [2.442661679975812, 0.08690187287176838, -0.007547205368998912]),
            (30.0, [3.384438132685525, 0.033895060357739946, -0.0011487652037286]),
            (1000.0, [6.907255195648812, 0.0010005001666666333, -1.0010004999998333e-06]),
            (-0.5, [0.03648997397857652, 8.934802200544679, -0.82879664423432]),
            (-1.25, [3.714139120213528, 19.181879647671607, 123.72136678366236]),
            (-7.75, [-1.0307688328309315, 19.61814433435229, -124.03974558822776]),
            (-20.5, [3.044616882512525, 9.82199434464988, -0.002266289919637797]),
        ];
        for (x, values) in cases {
            for (own, known) in [digamma(x), trigamma(x), tetragamma(x)].into_iter().zip(values) {
                let error = (own - known).abs() / known.abs().max(1.0);
                assert!(error < 2e-15, "{x}: {own}, not {known}");
            }
        }
        assert!([digamma(0.0), trigamma(-1.0), tetragamma(-2.0), digamma(-3.0)].iter().all(|x| x.is_nan()));
        assert!(digamma(f64::INFINITY).is_infinite());
        assert!(trigamma(f64::INFINITY).abs() < 1e-300);
    }
}
