//! What holds of a loop's parameters whenever its body starts.
//!
//! Candidates are relations `a <= b + k` among integer parameters, what they start
//! from, constants and the counter. Those that hold at first are assumed, the
//! statements that the next values depend on are looked at (`scan`), and candidates
//! that do not follow for the next values are dropped, until the rest prove
//! themselves. The condition of a `while` loop holds whenever the body starts, so
//! what it compares holds, too, where it does at first.
//!
//! Parameters of 64 bits that start below 2^61 and grow by at most [`SLOW`] each time
//! stay below 2^62: no loop runs for that many iterations. That is so while it runs;
//! a counted loop's results may be computed without it (`closed`), so what is said of
//! those rests on no such thing.
//!
//! Only scalar statements and conditionals are looked at, only those that matter,
//! and each of them by the innermost loop around it. So the cost is linear.

mod scan;

use super::{Certs, ScopeKind, Simplifier, add_certs};
use crate::level::OptLevel;
use ir::Name;
use ir::syntax::{Atom, Body, LoopForm, LoopParam};
use ir::types::Type;
use prim::{PrimType, Scalar};
use scan::Scan;

/// How much a parameter may grow in an iteration to stay far from wrapping.
const SLOW: i128 = 16;
/// What slow parameters start below, and stay below.
pub(crate) const START: i64 = 1 << 61;
const STAY: i64 = 1 << 62;
/// How often candidates are dropped before all are.
const ROUNDS: usize = 4;
/// How many integer parameters are compared with more than 0.
const FEW: usize = 4;
/// How many integer parameters a loop may have to be looked at.
const MANY: usize = 12;

/// One side of a relation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The parameter with this index.
    Param(usize),
    /// The counter, which is 0 at first and then one more.
    Counter(Name),
    /// What does not change.
    Outer(Atom),
}

/// `a <= b + k`.
#[derive(Clone)]
struct Relation {
    a: Side,
    b: Side,
    k: i128,
    /// What it rests on, outside of the loop.
    certs: Certs,
    /// Whether it follows if the parameter grows slowly.
    slow: bool,
}

/// What holds whenever a loop's body starts.
#[derive(Default)]
pub(super) struct Invariants {
    /// What the parameters have in common.
    relations: Vec<Relation>,
    /// What follows from the condition.
    conditions: Vec<Relation>,
    /// What the results have in common.
    last: Vec<Relation>,
}

/// Whether facts may rest on loops that run, which take their time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// They may: they are used where the loop runs.
    Running,
    /// They hold for any number of iterations.
    Any,
}

fn int(value: i64) -> Side {
    Side::Outer(Atom::i64(value))
}

impl<L: OptLevel> Simplifier<'_, L> {
    /// The invariants of a loop with these results, whose parameters are not yet in scope.
    pub(super) fn invariants(
        &mut self,
        params: &[LoopParam<L>],
        form: &LoopForm,
        body: &Body<L>,
        results: &[Name],
    ) -> Invariants {
        let ints: Vec<(usize, PrimType)> = params
            .iter()
            .enumerate()
            .filter_map(|(i, param)| match param.param.ty {
                Type::Prim(ty) if ty.is_int() => Some((i, ty)),
                Type::Prim(_) | Type::Array { .. } | Type::Acc { .. } | Type::Cert | Type::Mem(_) => None,
            })
            .collect();
        if ints.is_empty() || ints.len() > MANY || self.fuel.is_gone() {
            return Invariants::default();
        }
        for (i, ty) in &ints {
            self.ranges.typed(params[*i].param.name, *ty);
        }
        let condition = match form {
            LoopForm::While { cond } => params.iter().position(|p| p.param.name == *cond),
            LoopForm::For { .. } => None,
        };
        let mut roots: Vec<Atom> = ints.iter().map(|(i, _)| body.result[*i]).collect();
        roots.extend(condition.map(|i| body.result[i]));
        let scan = Scan::of(body, &roots);
        let conditions = condition.map_or_else(Vec::new, |i| self.conditions(params, i, body, &scan));
        let parts = (params, form, body);
        let found = self.candidates(params, form, &ints, Rest::Running);
        let relations = self.lasting(found, parts, &conditions, &scan, Rest::Running);
        let used = ints.iter().any(|(i, _)| self.is_used(results[*i]));
        let last = match form {
            _ if relations.is_empty() || !used => Vec::new(),
            LoopForm::While { .. } => relations.clone(),
            LoopForm::For { .. } => {
                let found = self.candidates(params, form, &ints, Rest::Any);
                self.lasting(found, parts, &conditions, &scan, Rest::Any)
            }
        };
        Invariants { relations, conditions, last }
    }

    /// Those of some relations, true at first, that prove themselves.
    fn lasting(
        &mut self,
        mut relations: Vec<Relation>,
        (params, form, body): (&[LoopParam<L>], &LoopForm, &Body<L>),
        conditions: &[Relation],
        scan: &Scan,
        rest: Rest,
    ) -> Vec<Relation> {
        for _ in 0..ROUNDS {
            self.enter(ScopeKind::Branch);
            let depth = self.current();
            self.learn_head(params, form, &relations, conditions, rest);
            let values = scan.values(params, &relations);
            scan.run(self, body, &values, depth);
            let follow: Vec<Option<Certs>> =
                relations.iter().map(|relation| self.follows(relation, params, body, scan)).collect();
            self.leave();
            let before = relations.len();
            relations = relations
                .into_iter()
                .zip(follow)
                .filter_map(|(mut relation, certs)| {
                    add_certs(&mut relation.certs, &certs?);
                    Some(relation)
                })
                .collect();
            if relations.len() == before {
                return relations;
            }
        }
        Vec::new()
    }

    /// Learns what holds when the body starts, in the scope with this index.
    pub(super) fn learn_invariants(&mut self, params: &[LoopParam<L>], found: &Invariants, depth: usize) {
        let name = |i: usize| Atom::Var(params[i].param.name);
        for relation in found.relations.iter().chain(&found.conditions) {
            self.learn(relation, &name, depth);
        }
    }

    /// Learns what the loop's results have in common with its parameters.
    pub(super) fn learn_results(&mut self, results: &[Name], found: &Invariants) {
        let depth = self.current();
        for name in results {
            if let Type::Prim(ty) = self.type_of(*name) {
                self.ranges.typed(*name, ty);
            }
        }
        let name = |i: usize| Atom::Var(results[i]);
        for relation in &found.last {
            let counts = |side: Side| matches!(side, Side::Counter(_));
            if !counts(relation.a) && !counts(relation.b) {
                self.learn(relation, &name, depth);
            }
        }
    }

    fn learn(&mut self, relation: &Relation, name: &dyn Fn(usize) -> Atom, depth: usize) {
        let at = |side: Side| match side {
            Side::Param(i) => name(i),
            Side::Counter(counter) => Atom::Var(counter),
            Side::Outer(atom) => atom,
        };
        let (a, b) = (at(relation.a), at(relation.b));
        self.ranges_at(depth, |ranges| {
            ranges.fact(a, b, relation.k, &relation.certs);
        });
    }

    fn learn_head(
        &mut self,
        params: &[LoopParam<L>],
        form: &LoopForm,
        relations: &[Relation],
        conditions: &[Relation],
        rest: Rest,
    ) {
        let depth = self.current();
        if let LoopForm::For { var, ty, bound } = *form {
            self.ranges_at(depth, |ranges| {
                ranges.typed(var, ty);
                ranges.index(var, bound);
                if rest == Rest::Running {
                    ranges.counts(var, ty);
                }
            });
        }
        let name = |i: usize| Atom::Var(params[i].param.name);
        for relation in relations.iter().chain(conditions) {
            self.learn(relation, &name, depth);
        }
    }

    /// The candidates that hold at first.
    fn candidates(
        &self,
        params: &[LoopParam<L>],
        form: &LoopForm,
        ints: &[(usize, PrimType)],
        rest: Rest,
    ) -> Vec<Relation> {
        let mut found = Vec::new();
        let mut try_it = |a: Side, b: Side, k: i128, slow: bool| {
            let at = |side: Side| match side {
                Side::Param(i) => params[i].init,
                Side::Counter(_) => Atom::i64(0),
                Side::Outer(atom) => atom,
            };
            // Slow parameters start lower than they get.
            let first = if slow { i128::from(START - STAY) } else { k };
            let holds = self.ranges.at_most(at(a), at(b), first);
            if let Some(certs) = &holds {
                found.push(Relation { a, b, k, certs: certs.clone(), slow });
            }
            holds.is_some()
        };
        for (i, ty) in ints {
            let (param, init) = (Side::Param(*i), params[*i].init);
            let natural = try_it(int(0), param, 0, false);
            if ints.len() > FEW {
                continue;
            }
            if natural {
                try_it(int(1), param, 0, false);
            }
            if init.var().is_some() {
                try_it(Side::Outer(init), param, 0, false);
            }
            try_it(param, Side::Outer(init), 0, false);
            if *ty == PrimType::I64 && rest == Rest::Running {
                try_it(param, int(STAY), 0, true);
            }
            if *ty == PrimType::I64 {
                try_it(param, int(START), 0, false);
            }
            if let LoopForm::For { var, .. } = form
                && let Some(k) = init.constant().and_then(Scalar::as_i64)
            {
                try_it(param, Side::Counter(*var), i128::from(k), false);
            }
        }
        if ints.len() < FEW {
            for (i, _) in ints {
                for (j, _) in ints.iter().filter(|(j, _)| i != j) {
                    try_it(Side::Param(*i), Side::Param(*j), 0, false);
                }
            }
        }
        found
    }

    /// The proof that a relation holds for the next values, where it holds for these.
    fn follows(
        &self,
        relation: &Relation,
        params: &[LoopParam<L>],
        body: &Body<L>,
        scan: &Scan,
    ) -> Option<Certs> {
        let next = |side: Side| match side {
            Side::Param(i) => {
                let mut atom = body.result[i];
                self.rewrite_plain(&mut atom);
                (atom, 0)
            }
            Side::Counter(name) => (Atom::Var(name), 1),
            Side::Outer(atom) => (atom, 0),
        };
        let ((a, more), (b, less)) = (next(relation.a), next(relation.b));
        let certs = if let (true, Side::Param(i)) = (relation.slow, relation.a) {
            let own = Atom::Var(params[i].param.name);
            self.ranges.at_most(a, own, SLOW).or_else(|| {
                // Or it starts anew, below what does not change.
                self.ranges.at_most(a, Atom::i64(START), 0)
            })
        } else {
            self.ranges.at_most(a, b, relation.k + less - more)
        }?;
        certs.iter().all(|cert| !scan.binds(*cert)).then_some(certs)
    }

    /// What the condition says of the parameters whenever the body starts: what both
    /// the first value and the next ones are only true with.
    fn conditions(
        &mut self,
        params: &[LoopParam<L>],
        condition: usize,
        body: &Body<L>,
        scan: &Scan,
    ) -> Vec<Relation> {
        let mut said = scan.conjuncts(self, body.result[condition], params, body);
        self.enter(ScopeKind::Branch);
        let depth = self.current();
        self.assume(params[condition].init, true, &Certs::new(), depth);
        let at = |side: Side| match side {
            Side::Param(i) => params[i].init,
            Side::Counter(_) => Atom::i64(0),
            Side::Outer(atom) => atom,
        };
        said.retain_mut(|relation| match self.ranges.at_most(at(relation.a), at(relation.b), relation.k) {
            Some(certs) => {
                relation.certs = certs;
                true
            }
            None => false,
        });
        self.leave();
        said
    }
}
