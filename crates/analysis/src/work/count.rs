//! Counts as polynomials over sizes, with a common divisor: `(n*n - n)/2` iterations of a triangular
//! nest.

use crate::affine::MAX_TERMS;
use ir::Name;
use ir::poly::{Monomial, Poly};
use std::fmt::Write;

/// A polynomial divided by a positive number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Count {
    poly: Poly,
    divisor: i64,
}

impl Default for Count {
    fn default() -> Self {
        Self::from(Poly::default())
    }
}

impl From<Poly> for Count {
    fn from(poly: Poly) -> Self {
        Self { poly, divisor: 1 }
    }
}

impl Count {
    /// A known number.
    pub fn constant(n: i64) -> Self {
        Self::from(Poly::constant(n))
    }

    fn reduced(poly: Poly, divisor: i64) -> Self {
        let common = poly.terms().iter().fold(divisor, |common, (_, coefficient)| gcd(common, *coefficient));
        let terms =
            poly.terms().iter().map(|(monomial, coefficient)| (monomial.clone(), coefficient / common));
        Self { poly: Poly::from_terms(terms), divisor: divisor / common }
    }

    /// The numerator.
    pub fn poly(&self) -> &Poly {
        &self.poly
    }

    /// The divisor, positive.
    pub fn divisor(&self) -> i64 {
        self.divisor
    }

    /// Returns true if it is 0.
    pub fn is_zero(&self) -> bool {
        self.poly.terms().is_empty()
    }

    /// The sum.
    #[must_use]
    pub fn add(&self, other: &Self) -> Self {
        let part = |of: &Self, by: i64| of.poly.mul(&Poly::constant(by));
        let sum = part(self, other.divisor).add(&part(other, self.divisor));
        Self::reduced(sum, self.divisor * other.divisor)
    }

    /// The difference.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Self {
        self.add(&Self { poly: other.poly.mul(&Poly::constant(-1)), divisor: other.divisor })
    }

    /// The product.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        Self::reduced(self.poly.mul(&other.poly), self.divisor * other.divisor)
    }

    /// The count with a name replaced by the quotient; `None` if a term contains the name more than once.
    pub fn with_quotient(&self, name: Name, size: &Poly, by: i64) -> Option<Self> {
        let step = self.poly.step(name)?;
        let rest = self.at(name, &Poly::default());
        let quotient = Self::reduced(step.mul(size), self.divisor * by);
        Some(rest.add(&quotient))
    }

    /// The sum over the values `0 .. trips` of a name; `None` if its power is above 3, or if the sum
    /// has too many terms.
    pub fn sum_over(&self, counter: Name, trips: &Self) -> Option<Self> {
        if !self.poly.names().any(|name| name == counter) {
            return Some(self.times(trips));
        }
        let trips = (trips.divisor == 1).then_some(&trips.poly)?;
        let [mut constant, mut linear, mut square, mut cubic] = [const { Vec::new() }; 4];
        for (monomial, coefficient) in self.poly.terms() {
            let rest: Monomial = monomial.iter().copied().filter(|name| *name != counter).collect();
            let terms = match monomial.len() - rest.len() {
                0 => &mut constant,
                1 => &mut linear,
                2 => &mut square,
                3 => &mut cubic,
                _ => return None,
            };
            terms.push((rest, *coefficient));
        }
        let less = trips.sub(&Poly::constant(1));
        let times = |factors: &[&Poly]| factors.iter().fold(Poly::constant(1), |all, factor| all.mul(factor));
        // Twelve times the sums of the powers of the counter.
        let odd = trips.add(&less);
        let sums = [
            (constant, times(&[trips]), 12),
            (linear, times(&[trips, &less]), 6),
            (square, times(&[trips, &less, &odd]), 2),
            (cubic, times(&[trips, trips, &less, &less]), 3),
        ];
        let parts = sums.into_iter().filter(|(terms, ..)| !terms.is_empty());
        let parts = parts.map(|(terms, sum, by)| Poly::from_terms(terms).mul(&sum).mul(&Poly::constant(by)));
        let sum = parts.fold(Poly::default(), |sum, part| sum.add(&part));
        let sum = Self::reduced(sum, self.divisor * 12);
        (sum.poly.terms().len() <= 2 * MAX_TERMS).then_some(sum)
    }

    /// The count at a value of a name.
    #[must_use]
    pub fn at(&self, name: Name, value: &Poly) -> Self {
        if !self.poly.names().any(|other| other == name) {
            return self.clone();
        }
        let value = |other| if other == name { value.clone() } else { Poly::var(other) };
        Self::reduced(self.poly.substitute(value), self.divisor)
    }

    /// The count in the last iteration; `None` if the number of iterations is a quotient.
    pub fn at_last(&self, counter: Name, trips: &Self) -> Option<Self> {
        if !self.poly.names().any(|name| name == counter) {
            return Some(self.clone());
        }
        (trips.divisor == 1).then(|| self.at(counter, &trips.poly.sub(&Poly::constant(1))))
    }

    /// The count with each name replaced by a polynomial.
    #[must_use]
    pub fn substituted(&self, value: impl Fn(Name) -> Poly) -> Self {
        Self::reduced(self.poly.substitute(value), self.divisor)
    }

    /// The highest degree of its terms, and the sum of the coefficients of that degree.
    pub fn leading(&self) -> (usize, f64) {
        let degree = self.poly.terms().iter().map(|(monomial, _)| monomial.len()).max().unwrap_or(0);
        let top = self.poly.terms().iter().filter(|(monomial, _)| monomial.len() == degree);
        (degree, top.map(|(_, coefficient)| *coefficient as f64).sum::<f64>() / self.divisor as f64)
    }

    /// The text, with names by their hints: `2*n*m*k`.
    pub fn text<'n>(&self, hint: impl Fn(Name) -> &'n str) -> String {
        let mut terms: Vec<&(Monomial, i64)> = self.poly.terms().iter().collect();
        terms.sort_by_key(|(monomial, _)| std::cmp::Reverse(monomial.len()));
        let mut text = String::new();
        for (monomial, coefficient) in terms {
            if !text.is_empty() {
                text.push_str(if *coefficient < 0 { " - " } else { " + " });
            } else if *coefficient < 0 {
                text.push('-');
            }
            let size = coefficient.unsigned_abs();
            let names: Vec<&str> = monomial.iter().map(|name| hint(*name)).collect();
            // Writing to a string cannot fail.
            let _ = match (size, names.as_slice()) {
                (_, []) => write!(text, "{size}"),
                (1, names) => write!(text, "{}", names.join("*")),
                (_, names) => write!(text, "{size}*{}", names.join("*")),
            };
        }
        match (text.is_empty(), self.divisor) {
            (true, _) => "0".to_owned(),
            (false, 1) => text,
            (false, divisor) if self.poly.terms().len() > 1 => format!("({text})/{divisor}"),
            (false, divisor) => format!("{text}/{divisor}"),
        }
    }
}

/// The greatest common divisor, positive unless both are 0.
fn gcd(mut x: i64, mut y: i64) -> i64 {
    while y != 0 {
        (x, y) = (y, x % y);
    }
    x.abs()
}

#[cfg(test)]
mod tests {
    use super::Count;
    use ir::Name;
    use ir::poly::Poly;

    const I: Name = Name(0);
    const N: Name = Name(1);

    fn value(count: &Count, n: i64) -> i64 {
        let count = count.at(N, &Poly::constant(n));
        assert_eq!(count.divisor(), 1);
        count.poly().as_constant().expect("a number")
    }

    #[test]
    fn sums_of_powers_are_exact() {
        let i = Poly::var(I);
        let power = |p: u32| (0..p).fold(Poly::constant(1), |power, _| power.mul(&i));
        let trips = Count::from(Poly::var(N));
        for p in 0..4 {
            let sum = Count::from(power(p)).sum_over(I, &trips).expect("a sum");
            for n in 0..9 {
                assert_eq!(value(&sum, n), (0..n).map(|i| i.pow(p)).sum::<i64>(), "{p} {n}");
            }
        }
        assert_eq!(Count::from(power(4)).sum_over(I, &trips), None);
    }

    #[test]
    fn text_is_in_the_order_of_degrees() {
        let n = Count::from(Poly::var(N));
        let half = Count::from(Poly::var(I)).sum_over(I, &n).expect("a sum");
        assert_eq!(half.text(|_| "n"), "(n*n - n)/2");
        assert_eq!(half.add(&half).text(|_| "n"), "n*n - n");
        assert_eq!(Count::constant(3).times(&n).text(|_| "n"), "3*n");
        assert_eq!(Count::default().text(|_| "n"), "0");
        assert_eq!(half.leading(), (2, 0.5));
    }

    #[test]
    fn quotients_and_their_remainders_are_exact_together() {
        let (i, n) = (Poly::var(I), Poly::var(N));
        let quarter = Count::from(i.clone()).with_quotient(I, &n, 4).expect("a count");
        assert_eq!(quarter.text(|_| "n"), "n/4");
        let rest = Count::from(n.sub(&i.mul(&Poly::constant(4)))).with_quotient(I, &n, 4).expect("a count");
        assert_eq!(rest.text(|_| "n"), "0");
        assert_eq!(Count::constant(6).times(&quarter).text(|_| "n"), "3*n/2");
    }
}
