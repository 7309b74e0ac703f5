//! Abstract evaluation of the scalar statements of a loop's body before the body is simplified: the
//! relations of its next values, given the invariants at its start.
//!
//! Nothing is rewritten. Results of branches are compared with the values that occur in the
//! relations at hand. Facts from definitions need no certificates of the body's statements: the
//! next value exists only if those checks passed.

use super::{Operand, Relation, SLOW};
use crate::level::OptLevel;
use crate::simplify::knowledge::ScopeKind;
use crate::simplify::rewrite::Rewriter;
use crate::simplify::{Certs, Simplifier};
use analysis::uses::EachUse;
use ir::Name;
use ir::syntax::{Atom, BasicOp, Body, Exp, LoopParam};
use ir::types::Type;
use ir::walk::{Visit, VisitMut};
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarOp, UnOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest depth of boolean operations that are traced.
const FUEL: u32 = 8;
/// The largest number of values that a result of a branch is compared with.
const VALUES: usize = 8;

/// The definition of a boolean in the body.
enum Truth {
    Op(BasicOp),
    /// The conjunction of both: the second is evaluated only if the first holds.
    Both(Atom, Atom),
}

/// The relevant part of a body.
pub(super) struct Scan {
    needed: FxHashSet<Name>,
    truths: FxHashMap<Name, Truth>,
    bound: FxHashSet<Name>,
}

/// The bounds that results of branches are compared with: `(value, k)` for an upper or a lower
/// bound of `value + k`.
#[derive(Default)]
pub(super) struct Values {
    above: Vec<(Atom, i128)>,
    below: Vec<(Atom, i128)>,
}

impl Scan {
    /// Returns the part of the body that these results depend on.
    pub(super) fn of<L: OptLevel>(body: &Body<L>, roots: &[Atom]) -> Self {
        let mut scan = Self {
            needed: roots.iter().filter_map(|atom| atom.var()).collect(),
            truths: FxHashMap::default(),
            bound: FxHashSet::default(),
        };
        scan.part(body);
        scan
    }

    fn part<L: OptLevel>(&mut self, body: &Body<L>) {
        for stm in body.stms.iter().rev() {
            let wanted = stm.pat.iter().any(|param| self.needed.contains(&param.name));
            self.bound.extend(stm.pat.iter().map(|param| param.name));
            match &stm.exp {
                Exp::Basic(op) if wanted => {
                    let needed = &mut self.needed;
                    Visit::<L>::basic(&mut EachUse(|name| needed.extend([name])), op);
                    if let Some(param) = stm.pat.first()
                        && param.ty == Type::BOOL
                    {
                        self.truths.insert(param.name, Truth::Op(op.clone()));
                    }
                }
                Exp::If { cond, then_body, else_body } if wanted => {
                    self.needed.extend(cond.var());
                    let results = then_body.result.iter().zip(&else_body.result);
                    for (param, (yes, no)) in stm.pat.iter().zip(results) {
                        if self.needed.contains(&param.name) {
                            self.needed.extend(yes.var());
                            self.needed.extend(no.var());
                            if *no == Atom::Const(Scalar::Bool(false)) {
                                self.truths.insert(param.name, Truth::Both(*cond, *yes));
                            }
                        }
                    }
                    self.part(then_body);
                    self.part(else_body);
                }
                Exp::Basic(_) | Exp::If { .. } => {}
                Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {}
            }
        }
    }

    /// Returns true if the body binds this name.
    pub(super) fn binds(&self, name: Name) -> bool {
        self.bound.contains(&name)
    }

    /// The bounds that results of branches are compared with.
    pub(super) fn values<L: OptLevel>(&self, params: &[LoopParam<L>], relations: &[Relation]) -> Values {
        let mut values = Values::default();
        let push = |list: &mut Vec<(Atom, i128)>, value| {
            if list.len() < VALUES && !list.contains(&value) {
                list.push(value);
            }
        };
        let at = |side: Operand| match side {
            Operand::Param(i) => (Atom::Var(params[i].param.name), 0),
            Operand::Counter(name) => (Atom::Var(name), 1),
            Operand::Outer(atom) => (atom, 0),
        };
        for relation in relations {
            if let Operand::Param(i) = relation.a {
                let own = Atom::Var(params[i].param.name);
                let (b, more) = at(relation.b);
                if relation.slow {
                    push(&mut values.above, (own, SLOW));
                } else {
                    push(&mut values.above, (b, relation.k + more));
                }
            }
            if let Operand::Param(_) = relation.b {
                let (a, more) = at(relation.a);
                push(&mut values.below, (a, more - relation.k));
            }
        }
        values
    }

    /// Adds the facts of the statements, to a scope that is discarded.
    pub(super) fn run<L: OptLevel>(
        &self,
        s: &mut Simplifier<'_, L>,
        body: &Body<L>,
        values: &Values,
        depth: usize,
    ) {
        for stm in &body.stms {
            match &stm.exp {
                Exp::Basic(op) => {
                    let Some(param) = stm.pat.first() else {
                        continue;
                    };
                    let Type::Prim(ty) = param.ty else { continue };
                    if !ty.is_int() || !self.needed.contains(&param.name) {
                        continue;
                    }
                    let mut op = op.clone();
                    let mut certs = Certs::new();
                    let mut rewriter = Rewriter { subs: &s.subs, certs: &mut certs };
                    VisitMut::<L>::basic(&mut rewriter, &mut op);
                    s.ranges_at(depth, |ranges| ranges.define(param.name, ty, &op, &certs));
                }
                Exp::If { cond, then_body, else_body } => {
                    if !stm.pat.iter().any(|p| self.needed.contains(&p.name)) {
                        continue;
                    }
                    let wanted: Vec<bool> = stm
                        .pat
                        .iter()
                        .map(|p| {
                            let int = matches!(p.ty, Type::Prim(ty) if ty.is_int());
                            int && self.needed.contains(&p.name)
                        })
                        .collect();
                    let yes = self.branch(s, (*cond, true), then_body, values, &wanted);
                    let no = self.branch(s, (*cond, false), else_body, values, &wanted);
                    for (param, (yes, no)) in stm.pat.iter().zip(yes.into_iter().zip(no)) {
                        let Type::Prim(ty) = param.ty else { continue };
                        if !ty.is_int() {
                            continue;
                        }
                        s.known.ranges.typed(param.name, ty);
                        let name = Atom::Var(param.name);
                        for ((value, k), _) in
                            values.above.iter().zip(yes.0.iter().zip(&no.0)).filter(|(_, (x, y))| **x && **y)
                        {
                            s.ranges_at(depth, |r| r.fact(name, *value, *k, &Certs::new()));
                        }
                        for ((value, k), _) in
                            values.below.iter().zip(yes.1.iter().zip(&no.1)).filter(|(_, (x, y))| **x && **y)
                        {
                            s.ranges_at(depth, |r| r.fact(*value, name, -*k, &Certs::new()));
                        }
                    }
                }
                Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {}
            }
        }
    }

    /// Evaluates a branch. Returns, for each of its results, which upper and lower bounds hold.
    fn branch<L: OptLevel>(
        &self,
        s: &mut Simplifier<'_, L>,
        (cond, truth): (Atom, bool),
        body: &Body<L>,
        values: &Values,
        wanted: &[bool],
    ) -> Vec<(Vec<bool>, Vec<bool>)> {
        s.enter(ScopeKind::Branch);
        let inner = s.known.current();
        self.assume(s, cond, truth, &Certs::new(), inner, FUEL);
        self.run(s, body, values, inner);
        let free = |certs: Option<Certs>| certs.is_some_and(|certs| certs.is_empty());
        let compared = body.result.iter().zip(wanted).map(|(result, wanted)| {
            if !wanted {
                return (Vec::new(), Vec::new());
            }
            let mut result = *result;
            s.rewrite_plain(&mut result);
            let above = values.above.iter();
            let above = above.map(|(value, k)| free(s.known.ranges.at_most(result, *value, *k)));
            let below = values.below.iter();
            let below = below.map(|(value, k)| free(s.known.ranges.at_most(*value, result, -*k)));
            (above.collect(), below.collect())
        });
        let compared = compared.collect();
        s.leave();
        compared
    }

    /// Adds the facts implied by a boolean of the body being true, or false.
    fn assume<L: OptLevel>(
        &self,
        s: &mut Simplifier<'_, L>,
        cond: Atom,
        truth: bool,
        certs: &Certs,
        depth: usize,
        fuel: u32,
    ) {
        let Some(known) = cond.var().and_then(|name| self.truths.get(&name)) else {
            let mut cond = cond;
            s.rewrite_plain(&mut cond);
            s.assume(cond, truth, certs, depth);
            return;
        };
        if fuel == 0 {
            return;
        }
        match known {
            Truth::Op(BasicOp::Scalar(ScalarOp::Compare(op, ty, x, y))) if ty.is_int() => {
                let (mut x, mut y) = (*x, *y);
                s.rewrite_plain(&mut x);
                s.rewrite_plain(&mut y);
                s.ranges_at(depth, |ranges| ranges.assume(*op, x, y, truth, certs));
            }
            Truth::Op(BasicOp::Scalar(ScalarOp::Binary(op, PrimType::Bool, x, y)))
                if (*op == BinOp::And && truth) || (*op == BinOp::Or && !truth) =>
            {
                self.assume(s, *x, truth, certs, depth, fuel - 1);
                self.assume(s, *y, truth, certs, depth, fuel - 1);
            }
            Truth::Op(BasicOp::Scalar(ScalarOp::Unary(UnOp::Not, PrimType::Bool, x))) => {
                self.assume(s, *x, !truth, certs, depth, fuel - 1);
            }
            Truth::Both(x, y) if truth => {
                self.assume(s, *x, true, certs, depth, fuel - 1);
                self.assume(s, *y, true, certs, depth, fuel - 1);
            }
            Truth::Op(_) | Truth::Both(..) => {}
        }
    }

    /// The relations of next values that a boolean of the body implies.
    pub(super) fn conjuncts<L: OptLevel>(
        &self,
        s: &Simplifier<'_, L>,
        cond: Atom,
        params: &[LoopParam<L>],
        body: &Body<L>,
    ) -> Vec<Relation> {
        let mut found = Vec::new();
        let mut open: Vec<(Atom, bool, u32)> = vec![(cond, true, FUEL)];
        while let Some((cond, truth, fuel)) = open.pop() {
            let Some(known) = cond.var().and_then(|name| self.truths.get(&name)) else {
                continue;
            };
            if fuel == 0 {
                break;
            }
            match known {
                Truth::Both(x, y) if truth => {
                    open.extend([(*x, true, fuel - 1), (*y, true, fuel - 1)]);
                }
                Truth::Op(BasicOp::Scalar(ScalarOp::Binary(op, PrimType::Bool, x, y)))
                    if (*op == BinOp::And && truth) || (*op == BinOp::Or && !truth) =>
                {
                    open.extend([(*x, truth, fuel - 1), (*y, truth, fuel - 1)]);
                }
                Truth::Op(BasicOp::Scalar(ScalarOp::Unary(UnOp::Not, PrimType::Bool, x))) => {
                    open.push((*x, !truth, fuel - 1));
                }
                Truth::Op(BasicOp::Scalar(ScalarOp::Compare(op, ty, x, y))) if ty.is_int() => {
                    let side = |atom: Atom| {
                        let next = body.result.iter().position(|result| *result == atom);
                        match (atom, next) {
                            (Atom::Const(_), _) => Some(Operand::Outer(atom)),
                            (_, Some(i)) if params.len() > i => Some(Operand::Param(i)),
                            (Atom::Var(name), _) => {
                                let mut atom = Atom::Var(name);
                                s.rewrite_plain(&mut atom);
                                let outer = !params.iter().any(|p| p.param.name == name) && !self.binds(name);
                                outer.then_some(Operand::Outer(atom))
                            }
                        }
                    };
                    let (Some(x), Some(y)) = (side(*x), side(*y)) else {
                        continue;
                    };
                    let mut say = |a, b, k| {
                        found.push(Relation { a, b, k, certs: Certs::new(), slow: false });
                    };
                    match (op, truth) {
                        (CmpOp::SLt, true) => say(x, y, -1),
                        (CmpOp::SLe, true) => say(x, y, 0),
                        (CmpOp::SLt, false) => say(y, x, 0),
                        (CmpOp::SLe, false) => say(y, x, -1),
                        (CmpOp::Eq, true) => {
                            say(x, y, 0);
                            say(y, x, 0);
                        }
                        _ => {}
                    }
                }
                Truth::Op(_) | Truth::Both(..) => {}
            }
        }
        found
    }
}
