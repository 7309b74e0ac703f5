//! Integer polynomials over names, in a normal form; used for offsets and strides.
//!
//! A polynomial is a sum of terms, each a coefficient times a sorted product of names. Terms are
//! sorted and no coefficient is 0, so equal polynomials are equal values. Coefficients wrap, as
//! does the `i64` arithmetic that evaluates them.

use crate::name::Name;
use crate::syntax::Atom;
use crate::types::Dim;
use prim::Scalar;
use smallvec::SmallVec;

/// A product of names, sorted; empty for the constant term.
pub type Monomial = SmallVec<[Name; 2]>;

/// A sum of coefficient times monomial.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Poly {
    terms: Vec<(Monomial, i64)>,
}

impl Poly {
    /// The constant `c`.
    pub fn constant(c: i64) -> Self {
        Self::from_terms([(Monomial::new(), c)])
    }

    /// The variable.
    pub fn var(name: Name) -> Self {
        Self::from_terms([(Monomial::from_slice(&[name]), 1)])
    }

    /// The value of a dimension. A [`Dim::Ext`] has none and counts as 0: it never occurs where an
    /// index function is built.
    pub fn dim(dim: Dim) -> Self {
        match dim {
            Dim::Const(n) => Self::constant(n),
            Dim::Var(name) => Self::var(name),
            Dim::Ext(_) => Self::default(),
        }
    }

    /// The value of an `i64` operand; other constants count as their integer value.
    pub fn atom(atom: Atom) -> Self {
        match atom {
            Atom::Var(name) => Self::var(name),
            Atom::Const(value) => Self::constant(Scalar::as_i64(value).unwrap_or(0)),
        }
    }

    /// The sum of the terms, in normal form.
    pub fn from_terms(terms: impl IntoIterator<Item = (Monomial, i64)>) -> Self {
        let mut all: Vec<(Monomial, i64)> = terms.into_iter().collect();
        for (monomial, _) in &mut all {
            monomial.sort_unstable();
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let mut terms: Vec<(Monomial, i64)> = Vec::with_capacity(all.len());
        for (monomial, coefficient) in all {
            match terms.last_mut() {
                Some(last) if last.0 == monomial => last.1 = last.1.wrapping_add(coefficient),
                _ => terms.push((monomial, coefficient)),
            }
        }
        terms.retain(|term| term.1 != 0);
        Self { terms }
    }

    /// The terms, sorted.
    pub fn terms(&self) -> &[(Monomial, i64)] {
        &self.terms
    }

    /// The value, if the polynomial is constant.
    pub fn as_constant(&self) -> Option<i64> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(monomial, c)] if monomial.is_empty() => Some(*c),
            _ => None,
        }
    }

    /// The sum.
    #[must_use]
    pub fn add(&self, other: &Self) -> Self {
        Self::from_terms(self.terms.iter().chain(&other.terms).cloned())
    }

    /// The difference.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Self {
        self.add(&other.mul(&Self::constant(-1)))
    }

    /// The product.
    #[must_use]
    pub fn mul(&self, other: &Self) -> Self {
        Self::from_terms(self.terms.iter().flat_map(|(m1, c1)| {
            other
                .terms
                .iter()
                .map(move |(m2, c2)| (m1.iter().chain(m2).copied().collect(), c1.wrapping_mul(*c2)))
        }))
    }

    /// The polynomial with each name replaced by a polynomial.
    #[must_use]
    pub fn substitute(&self, mut value: impl FnMut(Name) -> Self) -> Self {
        let mut sum = Self::default();
        for (monomial, coefficient) in &self.terms {
            let mut product = Self::constant(*coefficient);
            for &name in monomial {
                product = product.mul(&value(name));
            }
            sum = sum.add(&product);
        }
        sum
    }

    /// The increment of the polynomial when the name grows by 1; `None` if a term contains the name
    /// more than once.
    pub fn step(&self, name: Name) -> Option<Self> {
        let mut terms = Vec::new();
        for (monomial, coefficient) in &self.terms {
            let rest: Monomial = monomial.iter().copied().filter(|n| *n != name).collect();
            match monomial.len() - rest.len() {
                0 => {}
                1 => terms.push((rest, *coefficient)),
                _ => return None,
            }
        }
        Some(Self::from_terms(terms))
    }

    /// All names in the polynomial, with repetitions.
    pub fn names(&self) -> impl Iterator<Item = Name> + '_ {
        self.terms.iter().flat_map(|(monomial, _)| monomial.iter().copied())
    }
}
