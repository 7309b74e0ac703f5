//! Trigonometric functions of half turns on `f64`, in terms of the crate `libm`.

use std::f64::consts::PI;

/// The sine and cosine of `x` half turns; exact where they are 0 or 1 in magnitude.
fn sin_cos_pi(x: f64) -> (f64, f64) {
    let turn = x.abs() % 2.0;
    let quarters = (2.0 * turn).round_ties_even();
    let angle = PI * (turn - 0.5 * quarters);
    let (sin, cos) = (libm::sin(angle), libm::cos(angle));
    let (sin, cos) = match quarters as i64 & 3 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    };
    (if x.is_sign_negative() { -sin } else { sin }, cos)
}

pub(crate) fn sinpi(x: f64) -> f64 {
    if x.is_finite() { sin_cos_pi(x).0 } else { f64::NAN }
}

pub(crate) fn cospi(x: f64) -> f64 {
    if x.is_finite() { sin_cos_pi(x).1 } else { f64::NAN }
}

pub(crate) fn tanpi(x: f64) -> f64 {
    let (sin, cos) = sin_cos_pi(x);
    if x.is_finite() { sin / cos } else { f64::NAN }
}

pub(crate) fn asinpi(x: f64) -> f64 {
    libm::asin(x) / PI
}

pub(crate) fn acospi(x: f64) -> f64 {
    libm::acos(x) / PI
}

pub(crate) fn atanpi(x: f64) -> f64 {
    libm::atan(x) / PI
}

pub(crate) fn atan2pi(y: f64, x: f64) -> f64 {
    libm::atan2(y, x) / PI
}
