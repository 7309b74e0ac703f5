//! Sizes: construction, normal form, comparison.
//!
//! A size is a polynomial with integer coefficients over atoms: variables, and expressions that are
//! not sums, differences or products. Two sizes are equal if their difference is the zero
//! polynomial. [`compare`] decides about others, and returns [`SizeComparison::Unknown`] if an atom is an
//! expression of a form that it does not compare.

use crate::intrinsics::Intrinsic;
use crate::tast::{Dim, Exp, ExpKind, Index, Name, OverloadedOp, Ty, VarId};
use prim::{BinOp, Scalar, ScalarType};
use std::sync::Arc;

/// The maximum nesting of a size; deeper ones are unknown.
const MAX_DEPTH: usize = 64;

/// The maximum number of parts of a size, including sizes in the types of its subexpressions;
/// larger ones are unknown.
const MAX_WEIGHT: u32 = 1000;

/// The maximum number of terms of a product that is multiplied out.
const MAX_TERMS: usize = 1000;

/// The outcome of comparing two sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SizeComparison {
    /// The same number in every run.
    Equal,
    /// Not known to be equal.
    Different,
    /// Not comparable.
    Unknown,
}

/// `a op b`, not simplified: the form matters for inference, where `[n * m]` is solved from
/// `[3 * 3]`.
pub(crate) fn size_op(op: BinOp, a: Dim, b: Dim) -> Dim {
    match (&a, &b) {
        (Dim::Any, _) | (_, Dim::Any) => Dim::Any,
        _ => Dim::Op(op, Arc::new((a, b))),
    }
}

/// `a op b`, simplified where an operand is a suitable constant.
pub(crate) fn simplified_size_op(bin: BinOp, a: Dim, b: Dim) -> Dim {
    match (bin, &a, &b) {
        (BinOp::Add, Dim::Const(x), Dim::Const(y)) => Dim::Const(x.wrapping_add(*y)),
        (BinOp::Sub, Dim::Const(x), Dim::Const(y)) => Dim::Const(x.wrapping_sub(*y)),
        (BinOp::Mul, Dim::Const(x), Dim::Const(y)) => Dim::Const(x.wrapping_mul(*y)),
        (BinOp::Add | BinOp::Sub, _, Dim::Const(0)) | (BinOp::Mul, _, Dim::Const(1)) => a,
        (BinOp::Add, Dim::Const(0), _) | (BinOp::Mul, Dim::Const(1), _) => b,
        _ => size_op(bin, a, b),
    }
}

/// The size denoted by an expression of type `i64`; `None` if the expression cannot occur in a type
/// (it contains a loop, binding, update etc., or is too large).
pub(crate) fn from_exp(exp: &Exp) -> Option<Dim> {
    let dim = from_exp_at(exp, MAX_DEPTH)?;
    is_small(&dim).then_some(dim)
}

fn from_exp_at(exp: &Exp, depth: usize) -> Option<Dim> {
    let depth = depth.checked_sub(1)?;
    match &exp.kind {
        ExpKind::Lit(Scalar::I64(n), _) => Some(Dim::Const(*n)),
        ExpKind::Var { id, ty_args, size_args } if ty_args.is_empty() && size_args.is_empty() => {
            Some(Dim::Var(*id))
        }
        ExpKind::Apply { fun, args, .. } => {
            if let (Some(bin), [a, b]) = (size_operator(fun), args.as_slice()) {
                return Some(size_op(bin, from_exp_at(a, depth)?, from_exp_at(b, depth)?));
            }
            is_size_exp(exp, depth).then(|| Dim::Exp(Arc::new(exp.clone())))
        }
        ExpKind::Attr(_, inner) | ExpKind::Assert { exp: inner, .. } => from_exp_at(inner, depth),
        _ => is_size_exp(exp, depth).then(|| Dim::Exp(Arc::new(exp.clone()))),
    }
}

/// Returns true if a size is within the limits.
pub(crate) fn is_small(dim: &Dim) -> bool {
    Weight(MAX_WEIGHT).dim(dim, MAX_DEPTH).is_some()
}

/// As [`from_exp`], for an expression known to denote a size; [`Dim::Any`] if it is too large.
pub(crate) fn simplify(exp: &Exp) -> Dim {
    from_exp(exp).unwrap_or(Dim::Any)
}

/// The number of parts that a size may still have. The walks return `None` if it has more, or nests
/// too deeply.
struct Weight(u32);

impl Weight {
    fn one(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }

    fn dim(&mut self, dim: &Dim, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.one()?;
        match dim {
            Dim::Any | Dim::Const(_) | Dim::Var(_) => Some(()),
            Dim::Op(_, args) => {
                self.dim(&args.0, depth)?;
                self.dim(&args.1, depth)
            }
            Dim::Exp(exp) => self.exp(exp, depth),
        }
    }

    fn exp(&mut self, exp: &Exp, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.one()?;
        self.ty(&exp.ty, depth)?;
        if let ExpKind::Var { size_args, .. } = &exp.kind {
            for (_, dim) in size_args {
                self.dim(dim, depth)?;
            }
        }
        let mut fits = Some(());
        crate::visit::children(exp, &mut |child| {
            fits = fits.and_then(|()| self.exp(child, depth));
        });
        fits
    }

    fn ty(&mut self, ty: &Ty, depth: usize) -> Option<()> {
        let Some(depth) = depth.checked_sub(1) else {
            return self.one();
        };
        match ty {
            Ty::Scalar(_) | Ty::Var(_) => Some(()),
            Ty::Array(array) => {
                self.dim(&array.dim, depth)?;
                self.ty(&array.elem, depth)
            }
            Ty::Tuple(parts) => parts.iter().try_for_each(|ty| self.part(ty, depth)),
            Ty::Record(fields) => fields.iter().try_for_each(|(_, ty)| self.part(ty, depth)),
            Ty::Sum(constrs) => {
                let mut parts = constrs.iter().flat_map(|(_, payload)| payload.iter());
                parts.try_for_each(|ty| self.part(ty, depth))
            }
            Ty::Arrow(arrow) => {
                self.part(&arrow.param, depth)?;
                self.part(&arrow.ret.ty, depth)
            }
            Ty::Abstract(_, args) => {
                args.types.iter().try_for_each(|ty| self.part(ty, depth))?;
                args.dims.iter().try_for_each(|dim| self.dim(dim, depth))
            }
        }
    }

    fn part(&mut self, ty: &Ty, depth: usize) -> Option<()> {
        self.one()?;
        self.ty(ty, depth)
    }
}

fn size_operator(fun: &Exp) -> Option<BinOp> {
    match &fun.kind {
        ExpKind::Operator(OverloadedOp::Add) => Some(BinOp::Add),
        ExpKind::Operator(OverloadedOp::Sub) => Some(BinOp::Sub),
        ExpKind::Operator(OverloadedOp::Mul) => Some(BinOp::Mul),
        ExpKind::Intrinsic {
            fun: Intrinsic::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul), ScalarType::I64),
            ..
        } => Some(*op),
        _ => None,
    }
}

/// Returns true if an expression may occur in a type: it binds nothing and consumes nothing.
fn is_size_exp(exp: &Exp, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let one = |exp: &Exp| is_size_exp(exp, depth);
    let all = |exps: &[Exp]| exps.iter().all(one);
    match &exp.kind {
        ExpKind::Lit(..)
        | ExpKind::String(_)
        | ExpKind::Var { .. }
        | ExpKind::Intrinsic { .. }
        | ExpKind::Operator(_) => true,
        ExpKind::Tuple(parts) | ExpKind::Array(parts) | ExpKind::Constr(_, parts) => all(parts),
        ExpKind::Record(fields) => fields.iter().all(|(_, e)| one(e)),
        ExpKind::Project(e, _) | ExpKind::Attr(_, e) => one(e),
        ExpKind::Index { array, indices } => {
            one(array)
                && indices.iter().all(|index| match index {
                    Index::At(e) => one(e),
                    Index::Slice { from, to, step } => [from, to, step].into_iter().flatten().all(one),
                })
        }
        ExpKind::Apply { fun, args, .. } => {
            let consuming = matches!(&fun.ty, Ty::Arrow(arrow) if arrow.consumes.any());
            !consuming && one(fun) && all(args)
        }
        ExpKind::If { cond, then, otherwise } => one(cond) && one(then) && one(otherwise),
        ExpKind::And(a, b) | ExpKind::Or(a, b) => one(a) && one(b),
        ExpKind::Lambda(_)
        | ExpKind::RecordUpdate { .. }
        | ExpKind::Range { .. }
        | ExpKind::Update { .. }
        | ExpKind::Let { .. }
        | ExpKind::Loop { .. }
        | ExpKind::Match { .. }
        | ExpKind::Coerce(_)
        | ExpKind::Assert { .. }
        | ExpKind::Hole => false,
    }
}

/// The variables that the value of a size depends on, each once. Variables that occur only in the
/// types of parts of an expression are left out.
pub(crate) fn variables(dim: &Dim) -> Vec<VarId> {
    let mut found = Vec::new();
    in_dim(dim, &mut found);
    found
}

fn in_dim(dim: &Dim, found: &mut Vec<VarId>) {
    match dim {
        Dim::Any | Dim::Const(_) => {}
        Dim::Var(var) if found.contains(var) => {}
        Dim::Var(var) => found.push(*var),
        Dim::Op(_, args) => {
            in_dim(&args.0, found);
            in_dim(&args.1, found);
        }
        Dim::Exp(exp) => add_variables(exp, found),
    }
}

/// Adds the variables that the value of a size expression depends on, each once.
pub(crate) fn add_variables(exp: &Exp, found: &mut Vec<VarId>) {
    stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
        if let ExpKind::Var { id, size_args, .. } = &exp.kind {
            in_dim(&Dim::Var(*id), found);
            for (_, dim) in size_args {
                in_dim(dim, found);
            }
        }
        crate::visit::children(exp, &mut |child| add_variables(child, found));
    });
}

/// A product of atoms with a coefficient.
#[derive(Clone, Debug)]
struct Term {
    factors: Vec<Atom>,
    coefficient: i64,
}

#[derive(Clone, Debug)]
enum Atom {
    Var(VarId),
    Exp(Arc<Exp>),
}

/// A size in normal form: terms with coefficients other than 0.
#[derive(Clone, Debug)]
pub(crate) struct Poly {
    terms: Vec<Term>,
}

impl Poly {
    /// The normal form of a size; `None` if it contains an unknown part, an operation other than
    /// `+`, `-` and `*`, or a product of too many terms.
    pub(crate) fn of(dim: &Dim) -> Option<Self> {
        let term = |factors, coefficient| Self { terms: vec![Term { factors, coefficient }] };
        Some(match dim {
            Dim::Any => return None,
            Dim::Const(0) => Self { terms: Vec::new() },
            Dim::Const(n) => term(Vec::new(), *n),
            Dim::Var(var) => term(vec![Atom::Var(*var)], 1),
            Dim::Exp(exp) => term(vec![Atom::Exp(Arc::clone(exp))], 1),
            Dim::Op(op, args) => {
                let (a, b) = (Self::of(&args.0)?, Self::of(&args.1)?);
                match op {
                    BinOp::Add => a.add(b, 1),
                    BinOp::Sub => a.add(b, -1),
                    BinOp::Mul if a.terms.len() * b.terms.len() > MAX_TERMS => return None,
                    BinOp::Mul => a.mul(&b),
                    _ => return None,
                }
            }
        })
    }

    fn add(mut self, other: Self, sign: i64) -> Self {
        for term in other.terms {
            self.push(Term { coefficient: term.coefficient.wrapping_mul(sign), ..term });
        }
        self
    }

    fn mul(&self, other: &Self) -> Self {
        let mut out = Self { terms: Vec::new() };
        for a in &self.terms {
            for b in &other.terms {
                let factors = a.factors.iter().chain(&b.factors).cloned().collect();
                let coefficient = a.coefficient.wrapping_mul(b.coefficient);
                out.push(Term { factors, coefficient });
            }
        }
        out
    }

    fn push(&mut self, term: Term) {
        let same = self.terms.iter_mut().find(|t| same_factors(&t.factors, &term.factors));
        if let Some(old) = same {
            old.coefficient = old.coefficient.wrapping_add(term.coefficient);
            self.terms.retain(|t| t.coefficient != 0);
        } else if term.coefficient != 0 {
            self.terms.push(term);
        }
    }

    /// The value of `var` for which this polynomial is zero, if it is `±var + rest` with `var` not
    /// in `rest`.
    pub(crate) fn solve(&self, var: VarId) -> Option<Dim> {
        let mentions = |t: &Term| t.factors.iter().any(|f| matches!(f, Atom::Var(v) if *v == var));
        let mut with = self.terms.iter().filter(|t| mentions(t));
        let found = with.next()?;
        if with.next().is_some() || found.factors.len() != 1 || found.coefficient.abs() != 1 {
            return None;
        }
        let sign = -found.coefficient;
        let rest = self.terms.iter().filter(|t| !mentions(t));
        // Positive terms first, so that `k - n` is not printed as `-n + k`.
        let (plus, minus): (Vec<&Term>, Vec<&Term>) =
            rest.partition(|t| t.coefficient.wrapping_mul(sign) > 0);
        let sum = plus.into_iter().fold(Dim::Const(0), |acc, t| simplified_size_op(BinOp::Add, acc, t.dim()));
        Some(minus.into_iter().fold(sum, |acc, t| simplified_size_op(BinOp::Sub, acc, t.dim())))
    }
}

impl Term {
    /// The term as a size, with the absolute value of its coefficient.
    fn dim(&self) -> Dim {
        let factors = self.factors.iter().map(|f| match f {
            Atom::Var(v) => Dim::Var(*v),
            Atom::Exp(e) => Dim::Exp(Arc::clone(e)),
        });
        factors.fold(Dim::Const(self.coefficient.wrapping_abs()), |acc, f| {
            simplified_size_op(BinOp::Mul, acc, f)
        })
    }
}

fn same_factors(a: &[Atom], b: &[Atom]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut left: Vec<&Atom> = b.iter().collect();
    a.iter().all(|x| {
        let at = left.iter().position(|y| match (x, y) {
            (Atom::Var(v), Atom::Var(w)) => v == w,
            (Atom::Exp(e), Atom::Exp(f)) => compare_exps(e, f) == SizeComparison::Equal,
            _ => false,
        });
        at.map(|at| left.swap_remove(at)).is_some()
    })
}

/// Compares two sizes without variables that may still be solved for.
pub(crate) fn compare(a: &Dim, b: &Dim) -> SizeComparison {
    if let (Dim::Exp(x), Dim::Exp(y)) = (a, b) {
        return compare_exps(x, y);
    }
    let (Some(x), Some(y)) = (Poly::of(a), Poly::of(b)) else {
        return SizeComparison::Unknown;
    };
    let difference = x.add(y, -1);
    if difference.terms.is_empty() {
        return SizeComparison::Equal;
    }
    let opaque = difference.terms.iter().flat_map(|t| &t.factors).any(|f| match f {
        Atom::Var(_) => false,
        Atom::Exp(e) => !comparable(e),
    });
    if opaque { SizeComparison::Unknown } else { SizeComparison::Different }
}

/// Returns true if two sizes differ for all values of the variables that they mention.
pub(crate) fn always_differ(a: &Dim, b: &Dim) -> bool {
    let (Some(x), Some(y)) = (Poly::of(a), Poly::of(b)) else {
        return false;
    };
    let difference = x.add(y, -1).terms;
    let constant = |term: &Term| term.factors.is_empty();
    !difference.is_empty() && difference.iter().all(constant)
}

fn comparable(exp: &Exp) -> bool {
    compare_exps(exp, exp) == SizeComparison::Equal
}

/// Returns true if the intrinsic is the operator at some scalar type.
fn is_at_some_type(op: OverloadedOp, fun: Intrinsic) -> bool {
    ScalarType::ALL.iter().any(|ty| crate::infer::operator(op, *ty) == Some(fun))
}

/// Compares two expressions, ignoring spans and types.
pub(crate) fn compare_exps(a: &Exp, b: &Exp) -> SizeComparison {
    let all = |xs: &[Exp], ys: &[Exp]| {
        if xs.len() != ys.len() {
            return SizeComparison::Different;
        }
        xs.iter().zip(ys).map(|(x, y)| compare_exps(x, y)).fold(SizeComparison::Equal, both)
    };
    let same = |same: bool| if same { SizeComparison::Equal } else { SizeComparison::Different };
    match (&a.kind, &b.kind) {
        (ExpKind::Attr(_, a), _) => compare_exps(a, b),
        (_, ExpKind::Attr(_, b)) => compare_exps(a, b),
        (ExpKind::Lit(x, _), ExpKind::Lit(y, _)) => match (x.as_i64(), y.as_i64()) {
            (Some(m), Some(n)) => same(m == n),
            _ => same(x == y),
        },
        (ExpKind::String(x), ExpKind::String(y)) => same(x == y),
        (ExpKind::Var { id: x, .. }, ExpKind::Var { id: y, .. }) => same(x == y),
        (ExpKind::Intrinsic { fun: x, .. }, ExpKind::Intrinsic { fun: y, .. }) => same(x == y),
        (ExpKind::Operator(x), ExpKind::Operator(y)) => same(x == y),
        (ExpKind::Operator(op), ExpKind::Intrinsic { fun, .. })
        | (ExpKind::Intrinsic { fun, .. }, ExpKind::Operator(op)) => same(is_at_some_type(*op, *fun)),
        (ExpKind::Tuple(x), ExpKind::Tuple(y)) | (ExpKind::Array(x), ExpKind::Array(y)) => all(x, y),
        (ExpKind::Project(x, l), ExpKind::Project(y, m)) => both(same(l == m), compare_exps(x, y)),
        (ExpKind::Apply { fun: f, args: x, .. }, ExpKind::Apply { fun: g, args: y, .. }) => {
            both(compare_exps(f, g), all(x, y))
        }
        (ExpKind::Index { array: x, indices: i }, ExpKind::Index { array: y, indices: j }) => {
            if i.len() != j.len() {
                return SizeComparison::Different;
            }
            let part = |i: &Option<Exp>, j: &Option<Exp>| match (i, j) {
                (None, None) => SizeComparison::Equal,
                (Some(i), Some(j)) => compare_exps(i, j),
                _ => SizeComparison::Different,
            };
            let indices = i.iter().zip(j).map(|(i, j)| match (i, j) {
                (Index::At(i), Index::At(j)) => compare_exps(i, j),
                (
                    Index::Slice { from, to, step },
                    Index::Slice { from: other_from, to: other_to, step: other_step },
                ) => both(part(from, other_from), both(part(to, other_to), part(step, other_step))),
                _ => SizeComparison::Different,
            });
            indices.fold(compare_exps(x, y), both)
        }
        (ExpKind::Constr(l, x), ExpKind::Constr(m, y)) => both(same(l == m), all(x, y)),
        (ExpKind::Record(x), ExpKind::Record(y)) if x.len() == y.len() => {
            let field = |(label, value): &(Name, Exp)| {
                let other = y.iter().find(|(l, _)| l == label);
                other.map_or(SizeComparison::Different, |(_, other)| compare_exps(value, other))
            };
            x.iter().map(field).fold(SizeComparison::Equal, both)
        }
        (ExpKind::And(a, b), ExpKind::And(c, d)) | (ExpKind::Or(a, b), ExpKind::Or(c, d)) => {
            both(compare_exps(a, c), compare_exps(b, d))
        }
        (ExpKind::If { cond: c, then: t, otherwise: e }, ExpKind::If { cond: d, then: u, otherwise: f }) => {
            both(compare_exps(c, d), both(compare_exps(t, u), compare_exps(e, f)))
        }
        (x, y) if std::mem::discriminant(x) != std::mem::discriminant(y) => SizeComparison::Different,
        _ => SizeComparison::Unknown,
    }
}

const fn both(a: SizeComparison, b: SizeComparison) -> SizeComparison {
    match (a, b) {
        (SizeComparison::Different, _) | (_, SizeComparison::Different) => SizeComparison::Different,
        (SizeComparison::Unknown, _) | (_, SizeComparison::Unknown) => SizeComparison::Unknown,
        (SizeComparison::Equal, SizeComparison::Equal) => SizeComparison::Equal,
    }
}
