//! Known relations of integers: a graph of differences.
//!
//! A fact is `a <= b + k` in exact arithmetic, for names (or the constant 0) `a` and `b` and a
//! constant `k`, given certificates. Facts come from loop counters, index spaces, sizes,
//! conditions, checks and definitions; a definition by wrapping arithmetic yields a fact only if it
//! is known not to wrap. Proofs are searches of bounded length. Separate tables hold sums,
//! differences, quotients and products (`product`), which relate more than two names.

mod define;
mod product;
mod regions;
#[cfg(test)]
mod tests;

use crate::certs::{Certs, add_certs};
use ir::Name;
use ir::syntax::Atom;
use ir::types::Dim;
use prim::{CmpOp, PrimType, Scalar};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The number of iterations, and of elements in memory, that none of a program's loops and arrays
/// reaches.
pub const SLOW_START: i64 = 1 << 61;
/// The largest number of facts that a proof may visit.
const STEPS: u32 = 48;
/// The largest number of facts that a proof may chain.
const CHAIN: u32 = 8;
/// The facts per name that a proof visits: the oldest, which mostly hold without certificates, then
/// the newest.
const OLDEST: usize = 2;
const NEWEST: usize = 6;
/// The largest number of certificates of a proof.
const MAX_CERTS: usize = 6;

const ZERO: u32 = 0;

/// `node + offset`.
#[derive(Clone, Copy)]
struct Term {
    node: u32,
    offset: i128,
}

fn node(name: Name) -> u32 {
    name.0 + 1
}

fn term(atom: Atom) -> Option<Term> {
    match atom {
        Atom::Var(name) => Some(Term { node: node(name), offset: 0 }),
        Atom::Const(value) => Some(Term { node: ZERO, offset: i128::from(Scalar::as_i64(value)?) }),
    }
}

#[derive(Clone)]
struct Fact {
    other: u32,
    k: i128,
    certs: Certs,
    depth: u32,
}

/// An entry of one of the tables besides the facts.
#[derive(Clone, Copy)]
enum Note {
    Sum(u32),
    Difference(u32),
    Part(u32),
    Wrapping(u32),
    Fit((u32, u32)),
    Whole((u32, u32)),
    Quotient(u32),
    RowSlack(u32),
    Multiple(u32),
}

/// The facts known at the current point.
#[derive(Default)]
pub struct Ranges {
    /// `above[a]` has `(b, k)`: `a <= b + k`.
    above: FxHashMap<u32, Vec<Fact>>,
    /// `below[b]` has `(a, k)`: the same facts, by the other side.
    below: FxHashMap<u32, Vec<Fact>>,
    /// Names that are equal to one of two terms (selections, minima and maxima).
    either_of: FxHashMap<u32, (Term, Term)>,
    /// Names that are the sum of two terms, the difference of two terms, or the quotient of a
    /// non-negative term and a number of at least 2.
    sums: FxHashMap<u32, (Term, Term)>,
    differences: FxHashMap<u32, (Term, Term)>,
    quotients_const: FxHashMap<u32, Term>,
    /// Names that are sums of two terms that may wrap.
    wrapping: FxHashMap<u32, (Term, Term, Certs)>,
    products: product::Products,
    /// The entries of those tables, with the scopes that they belong to.
    noted: Vec<(u32, Note)>,
    /// The widths of integers that do not have 64 bits.
    bits: FxHashMap<u32, u32>,
    /// The scope that new facts belong to.
    pub depth: u32,
    /// The facts added since this was last taken: the node, and true if the fact is in `above`.
    pub touched: Vec<(u32, bool)>,
}

impl Ranges {
    fn add(&mut self, a: Term, b: Term, certs: &Certs) {
        if a.node == b.node {
            return;
        }
        let k = b.offset - a.offset;
        let fact = |other| Fact { other, k, certs: certs.clone(), depth: self.depth };
        let (up, down) = (fact(b.node), fact(a.node));
        // The constant's own facts are never looked up.
        if a.node != ZERO {
            self.above.entry(a.node).or_default().push(up);
            self.touched.push((a.node, true));
        }
        if b.node != ZERO {
            self.below.entry(b.node).or_default().push(down);
            self.touched.push((b.node, false));
        }
    }

    fn note(&mut self, note: Note) {
        self.noted.push((self.depth, note));
    }

    fn forget_notes(&mut self, depth: u32) {
        while let Some((_, note)) = self.noted.pop_if(|(at, _)| *at >= depth) {
            match note {
                Note::Sum(s) => drop(self.sums.remove(&s)),
                Note::Difference(s) => drop(self.differences.remove(&s)),
                Note::Part(s) => drop(self.quotients_const.remove(&s)),
                Note::Wrapping(s) => drop(self.wrapping.remove(&s)),
                Note::Fit(pair) => drop(self.products.non_wrapping.remove(&pair)),
                Note::Whole(pair) => drop(self.products.of_factors.remove(&pair)),
                Note::Quotient(s) => drop(self.products.quotients.remove(&s)),
                Note::RowSlack(s) => drop(self.products.row_slack.remove(&s)),
                Note::Multiple(s) => drop(self.products.multiples.remove(&s)),
            }
        }
    }

    /// Removes the facts of a scope that ends. Each entry of `touched` is one fact of that depth,
    /// usually near the end of its list.
    pub fn forget(&mut self, touched: &[(u32, bool)], depth: u32) {
        self.forget_notes(depth);
        for (node, upwards) in touched {
            let table = if *upwards { &mut self.above } else { &mut self.below };
            if let Some(facts) = table.get_mut(node)
                && let Some(at) = facts.iter().rposition(|fact| fact.depth == depth)
            {
                facts.remove(at);
            }
        }
    }

    /// `name >= least`.
    pub fn at_least(&mut self, name: Name, least: i64, certs: &Certs) {
        let least = Term { node: ZERO, offset: i128::from(least) };
        let name = Term { node: node(name), offset: 0 };
        self.add(least, name, certs);
    }

    /// Adds that a size is at least 1, as its body runs.
    pub fn nonempty(&mut self, size: Dim) {
        if let Dim::Var(name) = size {
            self.at_least(name, 1, &Certs::new());
        }
    }

    /// `0 <= index < bound`.
    pub fn index(&mut self, index: Name, bound: Atom) {
        let none = Certs::new();
        self.at_least(index, 0, &none);
        if let Some(bound) = term(bound) {
            let bound = Term { node: bound.node, offset: bound.offset - 1 };
            let index = Term { node: node(index), offset: 0 };
            self.add(index, bound, &none);
        }
    }

    /// Bounds a loop's counter, which starts at 0: no loop runs for that many iterations.
    pub fn counts(&mut self, counter: Name, ty: PrimType) {
        let start = i128::from(SLOW_START);
        if ty == PrimType::I64 && !self.has_fact(&self.above, counter, start) {
            let most = Atom::i64(SLOW_START);
            self.fact(Atom::Var(counter), most, 0, &Certs::new());
        }
    }

    /// Returns true if a table directly holds a fact that relates a name to a constant.
    fn has_fact(&self, table: &FxHashMap<u32, Vec<Fact>>, name: Name, k: i128) -> bool {
        let facts = table.get(&node(name)).map_or(&[] as &[Fact], Vec::as_slice);
        let mut seen = facts.iter().take(OLDEST).chain(facts.iter().rev().take(NEWEST));
        seen.any(|fact| fact.other == ZERO && fact.k <= k && fact.certs.is_empty())
    }

    /// `a <= b + k`.
    pub fn fact(&mut self, a: Atom, b: Atom, k: i128, certs: &Certs) {
        if let (Some(a), Some(b)) = (term(a), term(b)) {
            let b = Term { node: b.node, offset: b.offset + k };
            self.add(a, b, certs);
        }
    }

    /// The certificates of a proof of `a <= b + k`.
    pub fn at_most(&self, a: Atom, b: Atom, k: i128) -> Option<Certs> {
        let (a, b) = (term(a)?, term(b)?);
        let b = Term { node: b.node, offset: b.offset + k };
        self.prove(a, b)
    }

    /// Records the type of a counter or parameter.
    pub fn typed(&mut self, name: Name, ty: PrimType) {
        if ty.is_int() && ty != PrimType::I64 {
            self.bits.insert(node(name), ty.bits());
        }
    }

    fn max(&self, node: u32) -> i128 {
        if node == ZERO {
            return 0;
        }
        let bits = self.bits.get(&node).copied().unwrap_or(64);
        (1i128 << (bits - 1)) - 1
    }

    fn min(&self, node: u32) -> i128 {
        if node == ZERO {
            return 0;
        }
        let bits = self.bits.get(&node).copied().unwrap_or(64);
        -(1i128 << (bits - 1))
    }

    /// Adds the facts implied by a condition.
    pub fn assume(&mut self, op: CmpOp, x: Atom, y: Atom, truth: bool, certs: &Certs) {
        let (Some(a), Some(b)) = (term(x), term(y)) else {
            return;
        };
        self.add_condition(op, truth, (a, b), certs);
        for s in [a, b] {
            self.unwrap_sum(s);
        }
    }

    fn add_condition(&mut self, op: CmpOp, truth: bool, (a, b): (Term, Term), certs: &Certs) {
        let less = |t: Term| Term { node: t.node, offset: t.offset - 1 };
        let zero = constant(0);
        match (op, truth) {
            (CmpOp::SLt, true) => self.add(a, less(b), certs),
            (CmpOp::SLt, false) => self.add(b, a, certs),
            (CmpOp::SLe, true) => self.add(a, b, certs),
            (CmpOp::SLe, false) => self.add(b, less(a), certs),
            (CmpOp::Eq, true) => {
                self.add(a, b, certs);
                self.add(b, a, certs);
            }
            (CmpOp::Eq, false) => {
                // Unequal and not greater (or less): strictly less (or greater).
                if let Some(more) = self.prove(b, a) {
                    let mut certs = certs.clone();
                    add_certs(&mut certs, &more);
                    self.add(b, less(a), &certs);
                } else if let Some(more) = self.prove(a, b) {
                    let mut certs = certs.clone();
                    add_certs(&mut certs, &more);
                    self.add(a, less(b), &certs);
                }
            }
            (CmpOp::ULt | CmpOp::ULe, true) => {
                if let Some(more) = self.prove(zero, b) {
                    let mut certs = certs.clone();
                    add_certs(&mut certs, &more);
                    self.add(zero, a, &certs);
                    let b = if op == CmpOp::ULt { less(b) } else { b };
                    self.add(a, b, &certs);
                }
            }
            _ => {}
        }
    }

    /// The outcome of a comparison, if it is known.
    pub fn compare(&self, op: CmpOp, x: Atom, y: Atom) -> Option<(bool, Certs)> {
        let (a, b) = (term(x)?, term(y)?);
        let less = |t: Term| Term { node: t.node, offset: t.offset - 1 };
        let zero = Term { node: ZERO, offset: 0 };
        let both = |p: Option<Certs>, q: Option<Certs>| {
            let (mut p, q) = (p?, q?);
            add_certs(&mut p, &q);
            Some(p)
        };
        let outcome = |truth: bool, proof: Option<Certs>| proof.map(|certs| (truth, certs));
        match op {
            CmpOp::SLt => outcome(true, self.prove(a, less(b))).or_else(|| outcome(false, self.prove(b, a))),
            CmpOp::SLe => outcome(true, self.prove(a, b)).or_else(|| outcome(false, self.prove(b, less(a)))),
            CmpOp::Eq => outcome(true, both(self.prove(a, b), self.prove(b, a)))
                .or_else(|| outcome(false, self.prove(a, less(b))))
                .or_else(|| outcome(false, self.prove(b, less(a)))),
            CmpOp::ULt => {
                let proof = self.prove(zero, a);
                outcome(true, both(proof, self.prove(a, less(b))))
                    .or_else(|| outcome(false, both(self.prove(zero, b), self.prove(b, a))))
            }
            CmpOp::ULe => {
                let proof = self.prove(zero, a);
                outcome(true, both(proof, self.prove(a, b)))
                    .or_else(|| outcome(false, both(self.prove(zero, b), self.prove(b, less(a)))))
            }
            CmpOp::FLt | CmpOp::FLe | CmpOp::BLt | CmpOp::BLe => None,
        }
    }

    /// The proof of `a <= b`.
    fn prove(&self, a: Term, b: Term) -> Option<Certs> {
        let mut tried = Tried { steps: STEPS, goals: SmallVec::new() };
        self.search(a.node, b.node, b.offset - a.offset, &mut tried, CHAIN)
    }

    /// The proof of `a <= b + k`.
    fn search(&self, a: u32, b: u32, k: i128, tried: &mut Tried, chain: u32) -> Option<Certs> {
        if a == b && k >= 0 {
            return Some(Certs::new());
        }
        if b == ZERO && self.max(a) <= k {
            return Some(Certs::new());
        }
        if a == ZERO && self.min(b) >= -k {
            return Some(Certs::new());
        }
        if chain == 0 || !tried.is_new(a, b, k) {
            return None;
        }
        let tables = if a == ZERO { [(false, b), (true, a)] } else { [(true, a), (false, b)] };
        // A fact that proves the goal itself comes before longer proofs, which may use up the steps.
        let itself = tables.into_iter().find_map(|(upwards, from)| {
            let other = if upwards { b } else { a };
            self.visited(upwards, from).find(|fact| fact.other == other && fact.k <= k)
        });
        if let Some(fact) = itself {
            return Some(fact.certs.clone());
        }
        for (upwards, from) in tables {
            for fact in self.visited(upwards, from) {
                let (a, b) = if upwards { (fact.other, b) } else { (a, fact.other) };
                if let Some(mut certs) = self.search(a, b, k - fact.k, tried, chain - 1) {
                    add_certs(&mut certs, &fact.certs);
                    if certs.len() <= MAX_CERTS {
                        return Some(certs);
                    }
                }
                if tried.steps == 0 {
                    return None;
                }
            }
            if let Some((x, y)) = self.either_of.get(&from) {
                let mut side = |t: &Term| {
                    let before = tried.goals.len();
                    let proof = if upwards {
                        self.search(t.node, b, k - t.offset, tried, chain - 1)
                    } else {
                        self.search(a, t.node, k + t.offset, tried, chain - 1)
                    };
                    // Goals that helped one side may help the other.
                    if proof.is_some() {
                        tried.goals.truncate(before);
                    }
                    proof
                };
                if let (Some(mut p), Some(q)) = (side(x), side(y)) {
                    add_certs(&mut p, &q);
                    return Some(p);
                }
            }
        }
        None
    }

    /// The facts of a node that a proof visits.
    fn visited(&self, upwards: bool, from: u32) -> impl Iterator<Item = &Fact> {
        let table = if upwards { &self.above } else { &self.below };
        let facts = if from == ZERO { None } else { table.get(&from) };
        let facts = facts.map_or(&[] as &[Fact], Vec::as_slice);
        let (oldest, rest) = facts.split_at(facts.len().min(OLDEST));
        oldest.iter().chain(rest.iter().rev().take(NEWEST))
    }
}

/// The state of a proof search.
struct Tried {
    /// The remaining number of facts to visit.
    steps: u32,
    /// The goals `a <= b + k` so far.
    goals: SmallVec<[(u32, u32, i128); 16]>,
}

impl Tried {
    /// Adds a goal. Returns false if it or an easier one was tried before, or if no steps remain.
    fn is_new(&mut self, a: u32, b: u32, k: i128) -> bool {
        let is_known = |goal: &(u32, u32, i128)| (goal.0, goal.1) == (a, b) && goal.2 >= k;
        if self.steps == 0 || self.goals.iter().any(is_known) {
            return false;
        }
        self.steps -= 1;
        self.goals.push((a, b, k));
        true
    }
}

fn constant(offset: i128) -> Term {
    Term { node: ZERO, offset }
}
