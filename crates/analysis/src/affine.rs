//! Affine values: integers as sums of products of names ([`Poly`]), and the positions of elements
//! that they index.
//!
//! Overflow. Coefficients wrap as `i64` values do, so a polynomial and the value that it describes
//! are equal modulo 2^64, whatever wraps on the way: equal polynomials are equal values, and a
//! value at one name's value differs from that at the next by its step ([`Poly::step`]). An order of
//! values follows from no polynomial, only from [`ranges`](crate::ranges). Values of other widths
//! are described only where an estimate is enough ([`Widths`]).

use ir::Name;
use ir::poly::Poly;
use ir::syntax::{Atom, BasicOp, Body, Exp, Level, Stm};
use ir::walk::{Visit, with_stack};
use prim::{BinOp, ConvOp, PrimType, ScalarOp};
use rustc_hash::FxHashMap;

/// The largest number of terms of a value that is kept.
pub const MAX_TERMS: usize = 8;

/// The integers that are described.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Widths {
    /// Those of 64 bits.
    Exact,
    /// All, as if none wrapped and extensions kept every value.
    Estimate,
}

/// The sum, difference or product.
pub fn binary(op: BinOp, x: &Poly, y: &Poly) -> Option<Poly> {
    if op == BinOp::Add {
        Some(x.add(y))
    } else if op == BinOp::Sub {
        Some(x.sub(y))
    } else {
        (op == BinOp::Mul).then(|| x.mul(y))
    }
}

/// The known values of the names that a walk has passed.
#[derive(Clone, Debug)]
pub struct Values {
    widths: Widths,
    known: FxHashMap<Name, Poly>,
}

impl Values {
    /// No known values.
    pub fn new(widths: Widths) -> Self {
        Self { widths, known: FxHashMap::default() }
    }

    /// The values of all names that a body binds.
    pub fn of_body<L: Level>(widths: Widths, body: &Body<L>) -> Self {
        let mut values = Self::new(widths);
        Visit::<L>::body(&mut values, body);
        values
    }

    /// Records the value of a name that an operation binds, if it is affine in others.
    pub fn record(&mut self, name: Name, op: &BasicOp) {
        let any = self.widths == Widths::Estimate;
        let known = if let BasicOp::Atom(x) = op {
            Some(self.value(*x))
        } else if let BasicOp::Scalar(ScalarOp::Binary(op, ty, x, y)) = op {
            let described = any || *ty == PrimType::I64;
            described.then(|| binary(*op, &self.value(*x), &self.value(*y))).flatten()
        } else if let BasicOp::Scalar(ScalarOp::Convert { op: ConvOp::SExt | ConvOp::ZExt, arg, .. }) = op {
            any.then(|| self.value(*arg))
        } else {
            None
        };
        if let Some(known) = known.filter(|known| known.terms().len() <= MAX_TERMS) {
            self.known.insert(name, known);
        }
    }

    /// The value of an operand; its own name if nothing is known.
    pub fn value(&self, atom: Atom) -> Poly {
        let known = atom.var().and_then(|name| self.known.get(&name));
        known.cloned().unwrap_or_else(|| Poly::atom(atom))
    }

    /// The polynomial over the names in terms of which others are known.
    #[must_use]
    pub fn resolved(&self, poly: Poly) -> Poly {
        if poly.names().any(|name| self.known.contains_key(&name)) {
            poly.substitute(|name| self.value(Atom::Var(name)))
        } else {
            poly
        }
    }
}

impl<L: Level> Visit<L> for Values {
    fn body(&mut self, body: &Body<L>) {
        with_stack(|| self.walk_body(body));
    }

    fn stm(&mut self, stm: &Stm<L>) {
        if let (Exp::Basic(op), [param]) = (&stm.exp, stm.pat.as_slice()) {
            self.record(param.name, op);
        }
        self.walk_stm(stm);
    }
}
