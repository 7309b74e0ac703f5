//! Facts from definitions: relations of an integer operation's result, where its arithmetic is
//! known not to wrap.

use super::{Certs, NEWEST, Note, Ranges, Term, ZERO, add_certs, constant, node, term};
use ir::Name;
use ir::syntax::BasicOp;
use prim::{BinOp, ConvOp, PrimType, ScalarOp, UnOp};
use std::collections::hash_map::Entry;

/// The largest bound of a summand for which the sum is near the other one.
const NEAR: i128 = 1 << 20;

impl Ranges {
    /// Adds the facts of a name bound to an integer operation.
    pub fn define(&mut self, name: Name, ty: PrimType, op: &BasicOp, certs: &Certs) {
        self.typed(name, ty);
        let s = Term { node: node(name), offset: 0 };
        let zero = constant(0);
        if let BasicOp::Atom(x) = op {
            if let Some(x) = term(*x) {
                self.equal(s, x, certs);
            }
        } else if let BasicOp::Scalar(ScalarOp::Binary(op, _, x, y)) = op {
            if let (Some(x), Some(y)) = (term(*x), term(*y)) {
                self.define_binary(s, *op, x, y, certs);
            }
        } else if let BasicOp::Scalar(ScalarOp::Unary(UnOp::Abs, _, x)) = op {
            if let Some(x) = term(*x)
                && let Some(mut proof) = self.prove(zero, x)
            {
                add_certs(&mut proof, certs);
                self.equal(s, x, &proof);
            }
        } else if let BasicOp::Scalar(ScalarOp::Select { ty: _, cond: _, if_true, if_false }) = op {
            if let (Some(x), Some(y)) = (term(*if_true), term(*if_false)) {
                self.join(s, x, y, certs);
            }
        } else if let BasicOp::Scalar(ScalarOp::Convert { op: conv, from, to, arg }) = op {
            let Some(x) = term(*arg) else { return };
            if from.is_int() {
                self.typed_term(x, *from);
            }
            let widens = to.bits() >= from.bits();
            if *conv == ConvOp::SExt && widens {
                self.equal(s, x, certs);
            } else if *conv == ConvOp::SExt {
                let (most, least) = (constant(self.max(s.node)), constant(self.min(s.node)));
                if let (Some(mut p), Some(q)) = (self.prove(x, most), self.prove(least, x)) {
                    add_certs(&mut p, &q);
                    add_certs(&mut p, certs);
                    self.equal(s, x, &p);
                }
            } else if *conv == ConvOp::ZExt && widens {
                if let Some(mut proof) = self.prove(zero, x) {
                    add_certs(&mut proof, certs);
                    self.equal(s, x, &proof);
                } else if to.bits() > from.bits() {
                    self.add(zero, s, certs);
                    self.add(s, constant((1i128 << from.bits()) - 1), certs);
                }
            } else if *conv == ConvOp::BToI {
                self.add(zero, s, certs);
                self.add(s, constant(1), certs);
            }
        }
    }

    fn typed_term(&mut self, x: Term, ty: PrimType) {
        if x.node != ZERO && ty != PrimType::I64 {
            self.bits.insert(x.node, ty.bits());
        }
    }

    fn join(&mut self, s: Term, x: Term, y: Term, certs: &Certs) {
        if certs.is_empty() {
            self.either_of.insert(s.node, (x, y));
        }
    }

    fn equal(&mut self, a: Term, b: Term, certs: &Certs) {
        self.add(a, b, certs);
        self.add(b, a, certs);
    }

    fn define_binary(&mut self, s: Term, op: BinOp, x: Term, y: Term, certs: &Certs) {
        let zero = constant(0);
        let with = |certs: &Certs, proofs: &[&Certs]| {
            let mut all = certs.clone();
            for proof in proofs {
                add_certs(&mut all, proof);
            }
            all
        };
        match op {
            BinOp::Add => {
                for (x, y) in [(x, y), (y, x)] {
                    if y.node == ZERO && x.node != ZERO {
                        self.define_shift(s, x, y.offset, certs);
                        return;
                    }
                }
                // Both are non-negative, and their upper bounds show that the sum does not wrap.
                if let (Some(p), Some(q)) = (self.prove(zero, x), self.prove(zero, y))
                    && let (Some(mx), Some(my)) = (self.constant_above(x), self.constant_above(y))
                    && mx.0 + my.0 <= self.max(s.node)
                {
                    let certs = with(certs, &[&p, &q, &mx.1, &my.1]);
                    self.add(x, s, &certs);
                    self.add(y, s, &certs);
                    self.add(s, constant(mx.0 + my.0), &certs);
                    self.record_sum(s, x, y, &certs);
                } else if let (Some(p), Some(q)) = (self.prove(zero, x), self.prove(zero, y))
                    && let half = constant(self.max(s.node) >> 1)
                    && let (Some(mx), Some(my)) = (self.prove(x, half), self.prove(y, half))
                {
                    let certs = with(certs, &[&p, &q, &mx, &my]);
                    self.add(x, s, &certs);
                    self.add(y, s, &certs);
                    self.record_sum(s, x, y, &certs);
                } else {
                    self.may_wrap(s, x, y, certs);
                }
                self.near(s, x, y, certs);
                self.between(s, x, y, certs);
                self.define_in_row(s, x, y, certs);
            }
            BinOp::Sub => {
                if y.node == ZERO {
                    self.define_shift(s, x, -y.offset, certs);
                } else if let (Some(p), Some(q)) = (self.prove(zero, x), self.prove(zero, y)) {
                    let base = with(certs, &[&p, &q]);
                    self.add(s, x, &base);
                    if base.is_empty() {
                        self.differences.insert(s.node, (x, y));
                        self.note(Note::Difference(s.node));
                    }
                    // With `y >= 1` it is strictly less.
                    if let Some(r) = self.prove(constant(1), y) {
                        let less = Term { node: x.node, offset: x.offset - 1 };
                        self.add(s, less, &with(&base, &[&r]));
                    }
                    for k in [1, 0] {
                        let below = Term { node: x.node, offset: x.offset - k };
                        if let Some(r) = self.prove(y, below) {
                            self.add(constant(k), s, &with(&base, &[&r]));
                            break;
                        }
                    }
                    self.define_rest(s, x, y, &base);
                }
            }
            BinOp::SMin => {
                self.add(s, x, certs);
                self.add(s, y, certs);
                self.join(s, x, y, certs);
            }
            BinOp::SMax => {
                self.add(x, s, certs);
                self.add(y, s, certs);
                self.join(s, x, y, certs);
            }
            BinOp::SMod | BinOp::UMod | BinOp::SRem => {
                // The result exists, so the divisor is not 0.
                let Some(q) = self.prove(zero, y) else {
                    return;
                };
                let below = Term { node: y.node, offset: y.offset - 1 };
                let certs = with(certs, &[&q]);
                let first = self.prove(zero, x);
                if op == BinOp::SRem {
                    self.add(s, below, &certs);
                    if let Some(p) = first {
                        self.add(zero, s, &with(&certs, &[&p]));
                    }
                } else {
                    self.add(zero, s, &certs);
                    self.add(s, below, &certs);
                    if let Some(p) = first {
                        self.add(s, x, &with(&certs, &[&p]));
                    }
                }
            }
            BinOp::SDiv | BinOp::UDiv | BinOp::SQuot => {
                if let (Some(p), Some(q)) = (self.prove(zero, x), self.prove(zero, y)) {
                    let certs = with(certs, &[&p, &q]);
                    self.add(zero, s, &certs);
                    if y.node == ZERO && y.offset >= 2 {
                        self.add(s, constant(self.max(s.node) / y.offset), &certs);
                        if let Some((most, proof)) = self.constant_above(x) {
                            self.add(s, constant(most / y.offset), &with(&certs, &[&proof]));
                        }
                        self.part(s, x, y.offset == 2, &certs);
                    } else {
                        self.add(s, x, &certs);
                        self.define_quotient(s, x, y, &certs);
                    }
                }
            }
            BinOp::Mul => {
                if y.node == ZERO {
                    self.record_multiple(s, x, y.offset, certs);
                } else if self.define_rescaled(s, x, y, certs) {
                    return;
                }
                if let (Some(p), Some(q)) = (self.prove(zero, x), self.prove(zero, y))
                    && let (Some(mx), Some(my)) = (self.constant_above(x), self.constant_above(y))
                    && mx.0.saturating_mul(my.0) <= self.max(s.node)
                {
                    let certs = with(certs, &[&p, &q, &mx.1, &my.1]);
                    self.add(zero, s, &certs);
                    self.add(s, constant(mx.0 * my.0), &certs);
                    self.no_less_than_factors(s, x, y, &certs);
                    if y.node == ZERO && y.offset > 1 {
                        self.multiple_below(s, x, y.offset, &certs);
                    }
                } else if y.node == ZERO && y.offset >= 1 {
                    self.define_multiple(s, x, y.offset, certs);
                } else if let (Some(p), Some(q)) = (self.prove(zero, x), self.prove(zero, y)) {
                    self.define_product(s, x, y, &with(certs, &[&p, &q]));
                }
            }
            BinOp::And => {
                for (x, y) in [(x, y), (y, x)] {
                    if let Some(p) = self.prove(zero, y) {
                        let certs = with(certs, &[&p]);
                        self.add(zero, s, &certs);
                        self.add(s, y, &certs);
                        if y.node == ZERO && x.node == ZERO {
                            break;
                        }
                    }
                }
            }
            BinOp::LShr | BinOp::AShr => {
                if let Some(p) = self.prove(zero, x) {
                    let certs = with(certs, &[&p]);
                    self.add(zero, s, &certs);
                    if y.node == ZERO && (1..31).contains(&y.offset) {
                        self.part(s, x, y.offset == 1, &certs);
                    } else {
                        self.add(s, x, &certs);
                    }
                }
            }
            BinOp::UMin
            | BinOp::UMax
            | BinOp::Shl
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Pow
            | prim::float_binary!() => {}
        }
    }

    /// Records `s = x + y`, which does not wrap.
    fn record_sum(&mut self, s: Term, x: Term, y: Term, certs: &Certs) {
        if certs.is_empty() {
            self.sums.insert(s.node, (x, y));
            self.note(Note::Sum(s.node));
        }
    }

    /// `s = x * y`, which does not wrap: it is at least one factor if the other is positive.
    pub(super) fn no_less_than_factors(&mut self, s: Term, x: Term, y: Term, certs: &Certs) {
        for (x, y) in [(x, y), (y, x)] {
            if let Some(mut proof) = self.prove(constant(1), y) {
                add_certs(&mut proof, certs);
                self.add(x, s, &proof);
            }
        }
    }

    /// `s` is a non-negative `x` divided by 2 (`half`) or more.
    fn part(&mut self, s: Term, x: Term, half: bool, certs: &Certs) {
        let positive = self.prove(constant(1), x);
        if let Some(mut proof) = positive {
            add_certs(&mut proof, certs);
            let less = Term { node: x.node, offset: x.offset - 1 };
            self.add(s, less, &proof);
        } else {
            self.add(s, x, certs);
        }
        if certs.is_empty() && x.offset == 0 {
            self.quotients_const.insert(s.node, x);
            self.note(Note::Part(s.node));
            // The midpoint of two terms.
            if half && let Some((a, b)) = self.sums.get(&x.node).copied() {
                for (a, b) in [(a, b), (b, a)] {
                    self.middle(s, a, b);
                }
            }
        }
    }

    /// `s` is halfway between two terms, rounded down.
    fn middle(&mut self, s: Term, a: Term, b: Term) {
        if let Some(proof) = self.prove(a, b) {
            self.add(a, s, &proof);
            self.add(s, b, &proof);
            let less = Term { node: b.node, offset: b.offset - 1 };
            if let Some(proof) = self.prove(a, less) {
                self.add(s, less, &proof);
            }
        }
    }

    /// `s = x + y`, where one operand is between 0 and a small constant.
    fn near(&mut self, s: Term, x: Term, y: Term, certs: &Certs) {
        for (x, y) in [(x, y), (y, x)] {
            if x.node != ZERO
                && let Some(mut proof) = self.prove(constant(0), y)
                && let Some((most, p)) = self.constant_above(y)
                && most <= NEAR
                && let Some(q) = self.prove(x, constant(self.max(s.node) - most))
            {
                for more in [certs, &p, &q] {
                    add_certs(&mut proof, more);
                }
                self.add(x, s, &proof);
                self.add(s, Term { node: x.node, offset: x.offset + most }, &proof);
            }
        }
    }

    /// `s = x + y`, where one operand is a fraction of the distance from the other to a third term.
    fn between(&mut self, s: Term, x: Term, y: Term, certs: &Certs) {
        for (x, y) in [(x, y), (y, x)] {
            if let Some(whole) = self.quotients_const.get(&y.node).copied()
                && let Some((end, start)) = self.differences.get(&whole.node).copied()
                && (start.node, start.offset) == (x.node, x.offset)
            {
                // `x <= s <= end`, so the sum does not wrap.
                self.add(x, s, certs);
                self.add(s, end, certs);
                let one = self.prove(constant(1), whole);
                if let Some(mut proof) = one {
                    add_certs(&mut proof, certs);
                    let less = Term { node: end.node, offset: end.offset - 1 };
                    self.add(s, less, &proof);
                }
            }
        }
    }

    /// `s = x * c` for a positive `c`, where that does not wrap.
    fn define_multiple(&mut self, s: Term, x: Term, c: i128, certs: &Certs) {
        let most = constant(self.max(s.node) / c);
        if let (Some(mut p), Some(q)) = (self.prove(constant(0), x), self.prove(x, most)) {
            add_certs(&mut p, &q);
            add_certs(&mut p, certs);
            self.add(x, s, &p);
            if let Some(mut one) = self.prove(constant(1), x) {
                add_certs(&mut one, &p);
                self.add(constant(c), s, &one);
            }
            self.multiple_below(s, x, c, &p);
        }
    }

    /// `s = x * c`, which does not wrap: it is at most `c` times the least of a few powers of two
    /// that are provably at least `x`.
    fn multiple_below(&mut self, s: Term, x: Term, c: i128, certs: &Certs) {
        let proof = |bits: u32| self.prove(x, constant(1i128 << bits));
        // Usually `x` is below the largest power, or nothing is known about it.
        let Some(mut best) = proof(60).map(|certs| (60, certs)) else {
            return;
        };
        for bits in [56, 48, 32] {
            match proof(bits) {
                Some(certs) => best = (bits, certs),
                None => break,
            }
        }
        let (bits, mut all) = best;
        add_certs(&mut all, certs);
        self.add(s, constant((1i128 << bits) * c), &all);
    }

    /// `s = x + c`, where that does not wrap.
    fn define_shift(&mut self, s: Term, x: Term, c: i128, certs: &Certs) {
        let proof = if c >= 0 {
            self.prove(x, constant(self.max(s.node) - c))
        } else {
            self.prove(constant(self.min(s.node) - c), x)
        };
        if let Some(mut proof) = proof {
            add_certs(&mut proof, certs);
            let sum = Term { node: x.node, offset: x.offset + c };
            self.equal(s, sum, &proof);
        } else if c > 0 {
            self.may_wrap(s, x, constant(c), certs);
        }
    }

    /// Keeps a sum that may wrap, until more is known about it.
    fn may_wrap(&mut self, s: Term, x: Term, y: Term, certs: &Certs) {
        if let Entry::Vacant(vacant) = self.wrapping.entry(s.node) {
            vacant.insert((x, y, certs.clone()));
            self.note(Note::Wrapping(s.node));
        }
    }

    /// A sum of two non-negative terms wraps only if the result is negative: if that is excluded,
    /// it does not.
    pub(super) fn unwrap_sum(&mut self, s: Term) {
        let Some((x, y, certs)) = self.wrapping.get(&s.node).cloned() else {
            return;
        };
        let zero = constant(0);
        let whole = Term { offset: 0, ..s };
        let (Some(p), Some(q), Some(mut proof)) =
            (self.prove(zero, x), self.prove(zero, y), self.prove(zero, whole))
        else {
            return;
        };
        for more in [&p, &q, &certs] {
            add_certs(&mut proof, more);
        }
        if y.node == ZERO {
            let sum = Term { node: x.node, offset: x.offset + y.offset };
            self.equal(whole, sum, &proof);
        } else {
            self.add(x, whole, &proof);
            self.add(y, whole, &proof);
        }
    }

    /// A constant upper bound of the term, from its own facts.
    pub(super) fn constant_above(&self, x: Term) -> Option<(i128, Certs)> {
        if x.node == ZERO {
            return Some((x.offset, Certs::new()));
        }
        let facts = self.above.get(&x.node)?;
        facts
            .iter()
            .rev()
            .take(NEWEST)
            .find(|fact| fact.other == ZERO)
            .map(|fact| (fact.k + x.offset, fact.certs.clone()))
    }
}
