//! Reverse mode: reductions by addition, multiplication, minimum and maximum, of scalars and, element by
//! element, of arrays.

use crate::state::{Ad, size_of, zero};
use ir::Name;
use ir::build::Builder;
use ir::soac::{Operator, Screma, Soac, Soacs};
use ir::syntax::{Atom, BasicOp, Exp, Lambda, Param};
use ir::types::{Dim, Type};
use prim::{BinClass, BinOp, CmpOp, PrimType, Scalar, ScalarOp};
use std::convert::Infallible;

/// Returns the operator of a reduction of scalars that applies one operator to its operands.
pub(super) fn scalar_operator(op: &Operator<Soacs>) -> Option<(BinOp, PrimType)> {
    element_operator(&op.op).and_then(|(bin, ty, shape)| shape.is_empty().then_some((bin, ty)))
}

/// The operator that a reduction of arrays applies to their elements, and the shape of the arrays.
fn element_operator(op: &Lambda<Soacs>) -> Option<(BinOp, PrimType, Vec<Dim>)> {
    let ([x, y], [result]) = (op.params.as_slice(), op.body.result.as_slice()) else {
        return None;
    };
    let [stm] = op.body.stms.as_slice() else {
        return None;
    };
    if stm.pat.first().is_none_or(|param| *result != Atom::Var(param.name)) {
        return None;
    }
    let own = [Atom::Var(x.name), Atom::Var(y.name)];
    let applies = |bin: BinOp, operands: [Atom; 2]| {
        operands == own || bin.is_commutative() && operands == [own[1], own[0]]
    };
    match &stm.exp {
        Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(bin, ty, a, b))) => {
            applies(*bin, [*a, *b]).then(|| (*bin, *ty, Vec::new()))
        }
        Exp::Op(Soac::Screma(Screma { width, inputs, map, scan_reduce })) if scan_reduce.is_map() => {
            let (bin, ty, inner) = element_operator(map)?;
            let [a, b] = inputs.as_slice() else {
                return None;
            };
            let shape = std::iter::once(*width).chain(inner).collect();
            applies(bin, [Atom::Var(*a), Atom::Var(*b)]).then_some((bin, ty, shape))
        }
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
    }
}

/// The rules for reductions that apply one operator to elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Sum,
    Product,
    Extremum,
}

/// The rule for a reduction, and the type and shape of its values.
fn rule(op: &Operator<Soacs>, is_repeated: bool) -> Option<(Rule, PrimType, Vec<Dim>)> {
    let (bin, ty, shape) = element_operator(&op.op)?;
    let rule = match bin.class() {
        BinClass::Sum if bin.is_commutative() => Rule::Sum,
        // The quotient's derivative is not that of the product of the others at a zero.
        BinClass::Product if ty.is_float() && !is_repeated => Rule::Product,
        BinClass::Min(_) | BinClass::Max(_) => Rule::Extremum,
        BinClass::Sum
        | BinClass::Product
        | BinClass::Quotient
        | BinClass::Remainder
        | BinClass::Power
        | BinClass::Shift
        | BinClass::Bitwise => return None,
    };
    Some((rule, ty, shape))
}

/// Returns true if a reduction of arrays is better differentiated as such than as a map of reductions of
/// its columns.
pub(crate) fn has_rule_for_arrays(op: &Operator<Soacs>, is_repeated: bool) -> bool {
    rule(op, is_repeated).is_some_and(|(rule, _, shape)| rule != Rule::Sum && !shape.is_empty())
}

/// A reduction with a rule of its own.
struct Special<'a> {
    width: Dim,
    xs: Name,
    /// The type of elements, and their shape within the reduced arrays.
    ty: PrimType,
    shape: &'a [Dim],
    result: Name,
    adjoint: Atom,
}

impl Ad<'_> {
    /// Adds the contributions of a reduction with a rule of its own; returns false for others.
    pub(super) fn reverse_special_reduce(
        &mut self,
        (width, inputs): (Dim, &[Name]),
        op: &Operator<Soacs>,
        pat: &[Param<Soacs>],
        adjoints: &[Option<Atom>],
    ) -> bool {
        let (Some((rule, ty, shape)), [xs], [result], [Some(adjoint)]) =
            (rule(op, self.calls.options.is_repeated), inputs, pat, adjoints)
        else {
            return false;
        };
        let r = Special { width, xs: *xs, ty, shape: &shape, result: result.name, adjoint: *adjoint };
        match rule {
            Rule::Sum => {
                let same = self.b.replicate("adj", &[width], *adjoint);
                self.add((*xs).into(), same.into());
            }
            Rule::Product => self.reverse_product(&r),
            Rule::Extremum => self.reverse_extremum(&r),
        }
        true
    }

    /// The first element that equals the result has its adjoint.
    fn reverse_extremum(&mut self, r: &Special<'_>) {
        let (width, ty) = (r.width, r.ty);
        let size = size_of(width);
        let is = self.b.iota(width);
        let positions = self.map("position", width, &[is, r.xs], |ad, x| {
            ad.of_elements(r.shape, &[x[1], r.result], &mut |ad, own| {
                let equal = ad.b.compare(CmpOp::Eq, ty, own[0].into(), own[1].into());
                vec![ad.b.select(PrimType::I64, equal.into(), x[0].into(), size).into()]
            })
        });
        let least = self.lifted((BinOp::SMin, PrimType::I64), r.shape, Atom::i64(i64::MAX));
        let first = self.b.reduce("first", width, &positions, least)[0];
        let is = self.b.iota(width);
        let adjoint = self.name_of(r.adjoint);
        let own = self.map("adj", width, &[is], |ad, x| {
            ad.of_elements(r.shape, &[first, adjoint], &mut |ad, own| {
                let hit = ad.b.compare(CmpOp::Eq, PrimType::I64, x[0].into(), own[0].into());
                vec![ad.b.select(ty, hit.into(), own[1].into(), zero(ty)).into()]
            })
        });
        if r.shape.is_empty() {
            self.single_elements.insert(own[0], (first, r.adjoint));
        }
        self.add(r.xs.into(), own[0].into());
    }

    /// The product of all other elements: the quotient where there is no zero, the product of the
    /// others at the only zero, otherwise zero.
    fn reverse_product(&mut self, r: &Special<'_>) {
        let (width, ty) = (r.width, r.ty);
        let (nonzero, zeros) = self.product_parts(r);
        let adjoint = self.name_of(r.adjoint);
        let own = self.map("adj", width, &[r.xs], |ad, x| {
            let all = [x[0], r.result, nonzero, zeros, adjoint];
            ad.of_elements(r.shape, &all, &mut |ad, own| {
                let [x, result, nonzero, zeros, adjoint] = [0, 1, 2, 3, 4].map(|at| Atom::from(own[at]));
                let none = ad.b.compare(CmpOp::Eq, PrimType::I64, zeros, Atom::i64(0));
                let single = ad.b.compare(CmpOp::Eq, PrimType::I64, zeros, Atom::i64(1));
                let is_zero = ad.b.compare(CmpOp::Eq, ty, x, zero(ty));
                let at_zero = ad.b.binary(BinOp::And, PrimType::Bool, is_zero.into(), single.into());
                let quotient = ad.b.binary(BinOp::FDiv, ty, result, x);
                let at_zero = ad.b.select(ty, at_zero.into(), nonzero, zero(ty));
                let others = ad.b.select(ty, none.into(), quotient.into(), at_zero.into());
                vec![ad.b.binary(BinOp::FMul, ty, others.into(), adjoint).into()]
            })
        });
        self.add(r.xs.into(), own[0].into());
    }

    /// The product of all elements but zeros, and the number of these; they are sought only if a result is
    /// zero.
    fn product_parts(&mut self, r: &Special<'_>) -> (Name, Name) {
        let (width, ty) = (r.width, r.ty);
        let of = |elem: PrimType| Type::array(elem, r.shape.iter().copied());
        let has_zero = self.has_zero(ty, r.shape, r.result);
        let outer = self.b.open();
        let parts = self.map("x", width, &[r.xs], |ad, x| {
            ad.of_elements(r.shape, x, &mut |ad, own| zero_parts(&mut ad.b, ty, own[0]))
        });
        let mul = self.lifted((BinOp::FMul, ty), r.shape, super::basic::one(ty));
        let nonzero = self.b.reduce("nonzero", width, &parts[..1], mul)[0];
        let count = self.addition(&[of(PrimType::I64)]);
        let zeros = self.b.reduce("zeros", width, &parts[1..], count)[0];
        let then_body = self.b.close(outer, vec![nonzero.into(), zeros.into()]);
        let outer = self.b.open();
        let none = self.zero(&of(PrimType::I64));
        let else_body = self.b.close(outer, vec![r.result.into(), none]);
        let exp = Exp::If { cond: has_zero, then_body, else_body };
        let parts = self.b.bind_all([("nonzero", of(ty)), ("zeros", of(PrimType::I64))], exp);
        (parts[0], parts[1])
    }

    /// Returns true if an element of an array of a shape is zero.
    fn has_zero(&mut self, ty: PrimType, shape: &[Dim], array: Name) -> Atom {
        let Some((width, inner)) = shape.split_first() else {
            return self.b.compare(CmpOp::Eq, ty, array.into(), zero(ty)).into();
        };
        let rows = self.map("is_zero", *width, &[array], |ad, row| vec![ad.has_zero(ty, inner, row[0])]);
        let op = self.b.binary_lambda(BinOp::Or, PrimType::Bool);
        let any = Operator { op, neutral: vec![truth(false)], comm: true };
        self.b.reduce("has_zero", *width, &rows, any)[0].into()
    }

    /// [`Self::elementwise`] for functions that cannot fail.
    fn of_elements(
        &mut self,
        shape: &[Dim],
        arrays: &[Name],
        f: &mut dyn FnMut(&mut Self, &[Name]) -> Vec<Atom>,
    ) -> Vec<Atom> {
        let Ok(results) = self.elementwise("row", shape, arrays, &mut |ad, x| Ok::<_, Infallible>(f(ad, x)));
        results
    }

    /// The operator that applies a scalar one to the elements of arrays of a shape.
    fn lifted(&mut self, (bin, ty): (BinOp, PrimType), shape: &[Dim], neutral: Atom) -> Operator<Soacs> {
        let own = Type::array(ty, shape.iter().copied());
        let params = ["x", "y"].map(|hint| self.b.param(hint, own.clone()));
        let outer = self.b.open();
        let operands = [params[0].name, params[1].name];
        let result = self.of_elements(shape, &operands, &mut |ad, x| {
            vec![ad.b.binary(bin, ty, x[0].into(), x[1].into()).into()]
        });
        let op = self.close_lambda(outer, params.to_vec(), result);
        let neutral = if shape.is_empty() { neutral } else { self.b.replicate("ne", shape, neutral).into() };
        Operator { op, neutral: vec![neutral], comm: true }
    }
}

/// A factor without its zero: one in place of it, and the number of zeros.
pub(super) fn zero_parts(b: &mut Builder<'_, Soacs>, ty: PrimType, x: Name) -> Vec<Atom> {
    let is_zero = b.compare(CmpOp::Eq, ty, x.into(), zero(ty));
    let other = b.select(ty, is_zero.into(), super::basic::one(ty), x.into());
    let count = b.select(PrimType::I64, is_zero.into(), Atom::i64(1), Atom::i64(0));
    vec![other.into(), count.into()]
}

/// A truth value.
pub(super) const fn truth(value: bool) -> Atom {
    Atom::Const(Scalar::Bool(value))
}
