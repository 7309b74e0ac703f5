//! Invariants of loop parameters at the start of the body.
//!
//! Candidates are relations `a <= b + k` among integer parameters, their initial values, constants
//! and the counter. The candidates that hold initially are assumed, the statements that the next
//! values depend on are evaluated (`scan`), and candidates that do not follow for the next values
//! are dropped, until the remaining ones are inductive. The condition of a `while` loop holds
//! whenever the body starts, so the comparisons in it hold too, if they hold initially.
//!
//! 64-bit parameters that start below 2^61 and grow by at most [`SLOW`] per iteration stay below
//! 2^62: no loop runs for that many iterations. That holds while the loop runs; a counted loop's
//! results may be computed without running it (`closed`), so facts about those must not depend on
//! it.
//!
//! Only relevant scalar statements and conditionals are evaluated, each by the innermost loop
//! around it, so the cost is linear.

mod scan;

use crate::level::OptLevel;
use crate::simplify::knowledge::ScopeKind;
use crate::simplify::{Certs, Simplifier, add_certs};
use analysis::ranges::SLOW_START;
use ir::Name;
use ir::syntax::{Atom, Body, LoopForm, LoopParam};
use ir::types::Type;
use prim::{PrimType, Scalar};
use scan::Scan;

/// The largest growth per iteration of a parameter that is assumed not to wrap.
const SLOW: i128 = 16;
/// The bound below which slow parameters stay; [`SLOW_START`] bounds their initial values.
const SLOW_BOUND: i64 = 1 << 62;
/// The number of rounds of dropping candidates before all are dropped.
const ROUNDS: usize = 4;
/// The number of integer parameters up to which they are compared with values other than 0.
const FEW: usize = 4;
/// The number of integer parameters up to which a loop is analysed.
const MANY: usize = 12;

/// One side of a relation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// The parameter with this index.
    Param(usize),
    /// The counter, which starts at 0 and is incremented by 1.
    Counter(Name),
    /// A loop-invariant value.
    Outer(Atom),
}

/// `a <= b + k`.
#[derive(Clone)]
struct Relation {
    a: Operand,
    b: Operand,
    k: i128,
    /// The certificates that it depends on, from outside of the loop.
    certs: Certs,
    /// True if it follows from slow growth of the parameter.
    slow: bool,
}

/// The invariants of a loop at the start of its body.
#[derive(Default)]
pub(crate) struct Invariants {
    /// Relations of the parameters.
    relations: Vec<Relation>,
    /// Relations that follow from the condition.
    conditions: Vec<Relation>,
    /// Relations of the results.
    last: Vec<Relation>,
}

/// The assumptions that facts may depend on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// The loop runs, so its trip count is bounded by time.
    Runs,
    /// None: the facts hold for any trip count.
    Nothing,
}

fn int(value: i64) -> Operand {
    Operand::Outer(Atom::i64(value))
}

impl<L: OptLevel> Simplifier<'_, L> {
    /// Finds the invariants of a loop with these results, whose parameters are not yet in scope.
    pub(crate) fn invariants(
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
        if ints.is_empty() || ints.len() > MANY || self.fuel.is_exhausted() {
            return Invariants::default();
        }
        for (i, ty) in &ints {
            self.known.ranges.typed(params[*i].param.name, *ty);
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
        let found = self.candidates(params, form, &ints, Rest::Runs);
        let relations = self.inductive(found, parts, &conditions, &scan, Rest::Runs);
        let used = ints.iter().any(|(i, _)| self.known.is_used(results[*i]));
        let last = match form {
            _ if relations.is_empty() || !used => Vec::new(),
            LoopForm::While { .. } => relations.clone(),
            LoopForm::For { .. } => {
                let found = self.candidates(params, form, &ints, Rest::Nothing);
                self.inductive(found, parts, &conditions, &scan, Rest::Nothing)
            }
        };
        Invariants { relations, conditions, last }
    }

    /// Returns the relations, of those given and true initially, that are inductive.
    fn inductive(
        &mut self,
        mut relations: Vec<Relation>,
        (params, form, body): (&[LoopParam<L>], &LoopForm, &Body<L>),
        conditions: &[Relation],
        scan: &Scan,
        rest: Rest,
    ) -> Vec<Relation> {
        for _ in 0..ROUNDS {
            self.enter(ScopeKind::Branch);
            let depth = self.known.current();
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

    /// Adds the facts that hold at the start of the body, to the scope with this index.
    pub(crate) fn learn_invariants(&mut self, params: &[LoopParam<L>], found: &Invariants, depth: usize) {
        let name = |i: usize| Atom::Var(params[i].param.name);
        for relation in found.relations.iter().chain(&found.conditions) {
            self.learn(relation, &name, depth);
        }
    }

    /// Adds the facts about the loop's results.
    pub(crate) fn learn_results(&mut self, results: &[Name], found: &Invariants) {
        let depth = self.known.current();
        for name in results {
            if let Type::Prim(ty) = self.known.type_of(*name) {
                self.known.ranges.typed(*name, ty);
            }
        }
        let name = |i: usize| Atom::Var(results[i]);
        for relation in &found.last {
            let counts = |side: Operand| matches!(side, Operand::Counter(_));
            if !counts(relation.a) && !counts(relation.b) {
                self.learn(relation, &name, depth);
            }
        }
    }

    fn learn(&mut self, relation: &Relation, name: &dyn Fn(usize) -> Atom, depth: usize) {
        let at = |side: Operand| match side {
            Operand::Param(i) => name(i),
            Operand::Counter(counter) => Atom::Var(counter),
            Operand::Outer(atom) => atom,
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
        let depth = self.known.current();
        if let LoopForm::For { var, ty, bound } = *form {
            self.ranges_at(depth, |ranges| {
                ranges.typed(var, ty);
                ranges.index(var, bound);
                if rest == Rest::Runs {
                    ranges.counts(var, ty);
                }
            });
        }
        let name = |i: usize| Atom::Var(params[i].param.name);
        for relation in relations.iter().chain(conditions) {
            self.learn(relation, &name, depth);
        }
    }

    /// Returns the candidates that hold initially.
    fn candidates(
        &self,
        params: &[LoopParam<L>],
        form: &LoopForm,
        ints: &[(usize, PrimType)],
        rest: Rest,
    ) -> Vec<Relation> {
        let mut found = Vec::new();
        let mut try_it = |a: Operand, b: Operand, k: i128, slow: bool| {
            let at = |side: Operand| match side {
                Operand::Param(i) => params[i].init,
                Operand::Counter(_) => Atom::i64(0),
                Operand::Outer(atom) => atom,
            };
            // Slow parameters start lower than they get.
            let first = if slow { i128::from(SLOW_START - SLOW_BOUND) } else { k };
            let holds = self.known.ranges.at_most(at(a), at(b), first);
            if let Some(certs) = &holds {
                found.push(Relation { a, b, k, certs: certs.clone(), slow });
            }
            holds.is_some()
        };
        for (i, ty) in ints {
            let (param, init) = (Operand::Param(*i), params[*i].init);
            let natural = try_it(int(0), param, 0, false);
            if ints.len() > FEW {
                continue;
            }
            if natural {
                try_it(int(1), param, 0, false);
            }
            if init.var().is_some() {
                try_it(Operand::Outer(init), param, 0, false);
            }
            try_it(param, Operand::Outer(init), 0, false);
            if *ty == PrimType::I64 && rest == Rest::Runs {
                try_it(param, int(SLOW_BOUND), 0, true);
            }
            if *ty == PrimType::I64 {
                try_it(param, int(SLOW_START), 0, false);
            }
            if let LoopForm::For { var, .. } = form
                && let Some(k) = init.constant().and_then(Scalar::as_i64)
            {
                try_it(param, Operand::Counter(*var), i128::from(k), false);
            }
        }
        if ints.len() < FEW {
            for (i, _) in ints {
                for (j, _) in ints.iter().filter(|(j, _)| i != j) {
                    try_it(Operand::Param(*i), Operand::Param(*j), 0, false);
                }
            }
        }
        found
    }

    /// The certificates proving that a relation holds for the next values if it holds for the
    /// current ones.
    fn follows(
        &self,
        relation: &Relation,
        params: &[LoopParam<L>],
        body: &Body<L>,
        scan: &Scan,
    ) -> Option<Certs> {
        let next = |side: Operand| match side {
            Operand::Param(i) => {
                let mut atom = body.result[i];
                self.rewrite_plain(&mut atom);
                (atom, 0)
            }
            Operand::Counter(name) => (Atom::Var(name), 1),
            Operand::Outer(atom) => (atom, 0),
        };
        let ((a, more), (b, less)) = (next(relation.a), next(relation.b));
        let certs = if let (true, Operand::Param(i)) = (relation.slow, relation.a) {
            let own = Atom::Var(params[i].param.name);
            self.known.ranges.at_most(a, own, SLOW).or_else(|| {
                // Or it restarts below a constant.
                self.known.ranges.at_most(a, Atom::i64(SLOW_START), 0)
            })
        } else {
            self.known.ranges.at_most(a, b, relation.k + less - more)
        }?;
        certs.iter().all(|cert| !scan.binds(*cert)).then_some(certs)
    }

    /// Returns the relations that the condition implies whenever the body starts: implied by the
    /// condition's next value, and true for the initial values under its initial value.
    fn conditions(
        &mut self,
        params: &[LoopParam<L>],
        condition: usize,
        body: &Body<L>,
        scan: &Scan,
    ) -> Vec<Relation> {
        let mut required = scan.conjuncts(self, body.result[condition], params, body);
        self.enter(ScopeKind::Branch);
        let depth = self.known.current();
        self.assume(params[condition].init, true, &Certs::new(), depth);
        let at = |side: Operand| match side {
            Operand::Param(i) => params[i].init,
            Operand::Counter(_) => Atom::i64(0),
            Operand::Outer(atom) => atom,
        };
        required.retain_mut(|relation| {
            match self.known.ranges.at_most(at(relation.a), at(relation.b), relation.k) {
                Some(certs) => {
                    relation.certs = certs;
                    true
                }
                None => false,
            }
        });
        self.leave();
        required
    }
}
