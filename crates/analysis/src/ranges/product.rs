//! Facts about products: rows of a flattened array.
//!
//! If `y < q`, then `y * x` leaves room for another `x` below `q * x`, provided that this product
//! does not wrap or that `q` is a quotient by `x`. So `i * m + j < n * m` for `i < n` and `j < m`,
//! and a slice of length `m` from `i * m` on lies within an array of length `n * m`.
//!
//! The product of the sizes of an array in memory does not wrap: the array has that many elements.

use super::{Certs, NEWEST, Note, Ranges, SLOW_START, Term, ZERO, add_certs, constant, node};
use ir::syntax::Atom;
use ir::types::Dim;
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};

/// Known products and quotients.
#[derive(Default)]
pub(super) struct Products {
    /// Pairs of sizes whose product does not wrap.
    pub(super) non_wrapping: FxHashSet<(u32, u32)>,
    /// Names of products that do not wrap.
    pub(super) of_factors: FxHashMap<(u32, u32), u32>,
    /// Names of quotients, with the dividend and the positive divisor.
    pub(super) quotients: FxHashMap<u32, (u32, u32)>,
    /// Names that are a name times a constant, modulo 2^64.
    pub(super) multiples: FxHashMap<u32, (u32, i128)>,
    /// `s + x <= a` for names `s`, given certificates.
    pub(super) row_slack: FxHashMap<u32, (Term, Term, Certs)>,
}

fn pair(x: u32, y: u32) -> (u32, u32) {
    (x.min(y), x.max(y))
}

impl Ranges {
    /// Adds that an array of this shape exists, not necessarily in memory.
    pub fn shape(&mut self, shape: &[Dim], certs: &Certs) {
        for dim in shape {
            if let Dim::Var(name) = *dim
                && !self.has_fact(&self.below, name, 0)
            {
                self.at_least(name, 0, certs);
            }
        }
    }

    /// Adds that an array of this shape is stored in memory.
    pub fn stored(&mut self, shape: &[Dim]) {
        match *shape {
            [Dim::Var(size)] => self.counts(size, PrimType::I64),
            [Dim::Var(x), Dim::Var(y)] => {
                let pair = pair(node(x), node(y));
                if self.products.non_wrapping.insert(pair) {
                    self.note(Note::Fit(pair));
                }
            }
            _ => {}
        }
    }

    /// Returns true if the product of two sizes is known not to wrap.
    pub fn fits(&self, x: Atom, y: Atom) -> bool {
        let (Atom::Var(x), Atom::Var(y)) = (x, y) else {
            return false;
        };
        let (x, y) = (node(x), node(y));
        let part = |q: u32, by: u32| {
            let known = self.products.quotients.get(&q);
            known.is_some_and(|(_, divisor)| *divisor == by)
        };
        self.products.non_wrapping.contains(&pair(x, y))
            || self.products.of_factors.contains_key(&pair(x, y))
            || part(x, y)
            || part(y, x)
    }

    /// `s = x * y`, where `y` exceeds a quotient by `x` by at most a constant: then `s` is at most
    /// the dividend plus that constant times `x`.
    fn define_rounded(&mut self, s: Term, x: Term, y: Term, certs: &Certs) -> bool {
        let facts = self.above.get(&y.node).map_or(&[] as &[_], Vec::as_slice);
        let found = facts.iter().rev().take(NEWEST).find_map(|fact| {
            let (dividend, divisor) = self.products.quotients.get(&fact.other)?;
            let more = fact.k + y.offset;
            (*divisor == x.node && x.offset == 0 && more >= 0).then(|| (*dividend, more, fact.certs.clone()))
        });
        let Some((dividend, more, mut all)) = found else {
            return false;
        };
        let dividend = Term { node: dividend, offset: 0 };
        let (Some(first), Some(rest)) = (self.some_above(dividend), self.some_above(x)) else {
            return false;
        };
        let most = first.0 + more.saturating_mul(rest.0);
        if most > self.max(s.node) {
            return false;
        }
        for proof in [certs, &first.1, &rest.1] {
            add_certs(&mut all, proof);
        }
        self.add(constant(0), s, &all);
        self.add(s, constant(most), &all);
        self.no_less_than_factors(s, x, y, &all);
        if all.is_empty() {
            let pair = pair(x.node, y.node);
            self.products.of_factors.insert(pair, s.node);
            self.note(Note::Whole(pair));
        }
        true
    }

    /// Records `s = x * c`, which may wrap.
    pub(super) fn record_multiple(&mut self, s: Term, x: Term, c: i128, certs: &Certs) {
        if certs.is_empty() && x.offset == 0 && x.node != ZERO {
            self.products.multiples.insert(s.node, (x.node, c));
            self.note(Note::Multiple(s.node));
        }
    }

    /// `s = (q * c) * x` for a quotient `q` by `x * c`: it is at most the dividend.
    pub(super) fn define_rescaled(&mut self, s: Term, x: Term, y: Term, certs: &Certs) -> bool {
        let multiples = &self.products.multiples;
        let dividend = [(x, y), (y, x)].into_iter().find_map(|(x, y)| {
            let (quotient, c) = *multiples.get(&y.node)?;
            let (dividend, divisor) = *self.products.quotients.get(&quotient)?;
            let fits = multiples.get(&divisor) == Some(&(x.node, c)) && x.offset == 0 && y.offset == 0;
            fits.then_some(dividend)
        });
        let Some(dividend) = dividend else {
            return false;
        };
        self.add(constant(0), s, certs);
        self.add(s, Term { node: dividend, offset: 0 }, certs);
        true
    }

    /// A constant upper bound of the term, by a proof.
    fn some_above(&self, x: Term) -> Option<(i128, Certs)> {
        self.constant_above(x).or_else(|| {
            let most = i128::from(SLOW_START);
            Some((most, self.prove(x, constant(most))?))
        })
    }

    /// `s = x * y`, neither of them negative.
    pub(super) fn define_product(&mut self, s: Term, x: Term, y: Term, certs: &Certs) {
        if x.node == ZERO || y.node == ZERO {
            return;
        }
        if self.products.non_wrapping.contains(&pair(x.node, y.node)) {
            let pair = pair(x.node, y.node);
            self.products.of_factors.insert(pair, s.node);
            self.note(Note::Whole(pair));
            self.add(constant(0), s, certs);
            self.add(s, constant(i128::from(SLOW_START)), certs);
            self.no_less_than_factors(s, x, y, certs);
            return;
        }
        for (x, y) in [(x, y), (y, x)] {
            if self.define_rounded(s, x, y, certs) {
                return;
            }
            let facts = self.above.get(&y.node).map_or(&[] as &[_], Vec::as_slice);
            let slack = facts.iter().rev().take(NEWEST).find_map(|fact| {
                if fact.k > -1 || fact.other == ZERO {
                    return None;
                }
                let whole = self.products.of_factors.get(&pair(x.node, fact.other)).copied();
                let whole = whole.or_else(|| {
                    let (dividend, divisor) = self.products.quotients.get(&fact.other)?;
                    (*divisor == x.node).then_some(*dividend)
                })?;
                Some((whole, fact.certs.clone()))
            });
            let Some((whole, mut all)) = slack else {
                continue;
            };
            add_certs(&mut all, certs);
            let whole = Term { node: whole, offset: 0 };
            self.add(constant(0), s, &all);
            if let Some(mut proof) = self.prove(constant(1), x) {
                add_certs(&mut proof, &all);
                let less = Term { node: whole.node, offset: -1 };
                self.add(s, less, &proof);
            } else {
                self.add(s, whole, &all);
            }
            self.products.row_slack.insert(s.node, (x, whole, all));
            self.note(Note::RowSlack(s.node));
            return;
        }
    }

    /// `s = x + y`, where one operand is a row's start and the other less than or equal to its
    /// length.
    pub(super) fn define_in_row(&mut self, s: Term, x: Term, y: Term, certs: &Certs) {
        for (row, at) in [(x, y), (y, x)] {
            let Some((length, whole, more)) = self.products.row_slack.get(&row.node).cloned() else {
                continue;
            };
            let less = Term { node: length.node, offset: length.offset - 1 };
            let Some(mut proof) = self.prove(constant(0), at) else {
                continue;
            };
            let (within, slack) = match self.prove(at, less) {
                Some(within) => (within, 1),
                None => match self.prove(at, length) {
                    Some(within) => (within, 0),
                    None => continue,
                },
            };
            add_certs(&mut proof, &within);
            add_certs(&mut proof, &more);
            add_certs(&mut proof, certs);
            self.add(row, s, &proof);
            let below = Term { node: whole.node, offset: whole.offset - slack };
            self.add(s, below, &proof);
            return;
        }
    }

    /// `s = x - y`, where `y` is the start of a row within `x`.
    pub(super) fn define_rest(&mut self, s: Term, x: Term, y: Term, certs: &Certs) {
        if let Some((length, whole, mut proof)) = self.products.row_slack.get(&y.node).cloned()
            && let Some(more) = self.prove(whole, x)
        {
            add_certs(&mut proof, &more);
            add_certs(&mut proof, certs);
            self.add(length, s, &proof);
        }
    }

    /// `s = x / y`, with a non-negative dividend and a positive divisor, without certificates.
    pub(super) fn define_quotient(&mut self, s: Term, x: Term, y: Term, certs: &Certs) {
        if certs.is_empty() && x.offset == 0 && x.node != ZERO && y.node != ZERO {
            self.products.quotients.insert(s.node, (x.node, y.node));
            self.note(Note::Quotient(s.node));
        }
    }
}
