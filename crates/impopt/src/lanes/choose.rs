//! The choice of the loops that run in lanes, and of their widths.
//!
//! Of the independent loops of a nest at most one runs in lanes: the one with the lowest estimated
//! cost of the whole nest. The estimate models the kind of memory accesses (uniform, unit stride,
//! strided, gathers), the cost of divergent branches and loops, and that LLVM vectorises plain
//! innermost loops itself, so this pass does not.

use super::branch_probability::LikelyConditions;
use super::cost::{Costs, trips, widest};
use super::reduction::{has_instructions, is_reduction};
use super::value::{LaneValue, Shapes, Stride};
use super::versions::LoopVersion;
use super::{divergence, legality};
use crate::divider::should_split_roots;
use imp::def_use::DefUse;
use imp::walk::{each_operand, each_stmt};
use imp::{Expr, For, Function, LoopMode, Stmt, VarInfo};
use ir::remark::{Cycles, NotVectorisedReason, RemarkKind};
use ir::{Context, VectorLanes};
use prim::{BinOp, PrimType, Scalar, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;
use target::Machine;

/// The largest ratio of the vector to the scalar cost for which vectorising pays.
const WORTH: f64 = 0.85;
/// The number of nested independent loops that are considered.
const MAX_NEST: usize = 4;
/// Iterations of inner loops up to this cost leave the machine idle between dependent operations.
const SHORT_ITERATION: f64 = 24.0;
/// So do longer iterations if the loop-carried path is at least this share of their cost, as
/// several operations are issued per cycle.
const IDLE: f64 = 0.6;
/// The largest number of registers of lanes for such longer iterations.
const MOST_REGISTERS: usize = 4;
/// The largest number of loop-carried variables, over all registers of lanes, for such longer
/// iterations.
const CARRIED: usize = 16;
/// Bodies without loops from this cost on are too long for the machine to start the next group
/// before one is complete.
const LONG_BODY: f64 = 200.0;
/// The same without fused multiply-adds, whose emulation is a chain of dependent operations:
/// iterations or bodies up to this cost. Longer ones exceed the instruction caches.
const EMULATED_ITERATION: f64 = 800.0;
/// Plain bodies from this cost on run in lanes of this pass: the gain of LLVM's loop vectoriser by
/// unrolling is small in comparison, and it may not be able to prove many arrays disjoint
/// (`bindrune bench` of LocVolCalib).
const HEAVY: f64 = 32.0;
/// Iterations from this cost on are worth a version of the loop for small trip counts: such
/// iterations are chunks of one where there are less than a few hundred (sorting 10^6 f64 by
/// `merge_sort` of `futhark-benchmarks` takes 168 ms on one thread, without versions 381; 100
/// systems of 115 equations by its `tridiag-test` 36 us, without 251).
const EXPENSIVE: f64 = 2000.0;
/// The same for iterations with inner loops of unknown trip count, which are expensive where that
/// is large, if half-filled lanes take longer than scalar code (10 rows of 10^6 numbers, each
/// scanned: 1.5 ms, without versions 15.8).
const EXPENSIVE_IF_LONG: f64 = 250.0;
/// The largest number of lanes.
const MAX_LANES: u32 = 64;

/// A loop that is to run in lanes.
struct Chosen {
    /// The loop's number.
    at: u32,
    lanes: u32,
    /// The index of its decision; the loops of tiles have none.
    decision: Option<usize>,
}

/// A loop that can run in lanes.
struct Candidate {
    lanes: u32,
    cost: f64,
    /// True if it is better left to LLVM's loop vectoriser: a plain loop, except one with a single
    /// divergent conditional and contiguous accesses only, on a machine with masks.
    left_to_llvm: bool,
}

struct Planner<'a> {
    vars: &'a [VarInfo],
    def_use: &'a DefUse,
    likely_conditions: LikelyConditions,
    lanes: VectorLanes,
    machine: Machine,
    chosen: Vec<Chosen>,
    loop_versions: BTreeMap<u32, LoopVersion>,
    /// One for each independent loop, inner ones first.
    decisions: Vec<RemarkKind>,
    nest: usize,
}

/// The plan for a function.
pub(super) struct Plan {
    chosen: Vec<Chosen>,
    decisions: Vec<RemarkKind>,
    /// Versions of loops in lanes, by their numbers: with fewer iterations than the bound, the loop
    /// is faster scalar, or with lanes for its inner loops.
    pub(super) loop_versions: BTreeMap<u32, LoopVersion>,
}

/// Plans a function.
pub(super) fn plan(function: &Function, def_use: &DefUse, context: &Context) -> Plan {
    let mut planner = Planner {
        vars: &function.vars,
        def_use,
        likely_conditions: LikelyConditions::of(&function.body),
        lanes: context.options.lanes,
        machine: context.options.machine,
        chosen: Vec::new(),
        loop_versions: BTreeMap::new(),
        decisions: Vec::new(),
        nest: 0,
    };
    planner.block(&function.body, DefUse::FIRST);
    Plan { chosen: planner.chosen, decisions: planner.decisions, loop_versions: planner.loop_versions }
}

impl Plan {
    /// The width of each loop that is to run in lanes, by the loop's number; also records the
    /// decisions.
    pub(super) fn widths(mut self, function: &Function, context: &mut Context) -> FxHashMap<u32, u32> {
        let mut widths = FxHashMap::default();
        for chosen in self.chosen {
            if context.fuel.take() {
                widths.insert(chosen.at, chosen.lanes);
            } else if let Some(decision) = chosen.decision.and_then(|at| self.decisions.get_mut(at))
                && let RemarkKind::Vectorised { counter, .. } = decision
            {
                let counter = Arc::clone(counter);
                *decision = RemarkKind::NotVectorised { counter, why: NotVectorisedReason::Fuel };
            }
        }
        for kind in self.decisions {
            context.remark(&function.name, Vec::new(), kind);
        }
        widths
    }
}

impl Planner<'_> {
    /// Plans statements; returns their cost under the plan.
    fn block(&mut self, stmts: &[Stmt], mut at: u32) -> f64 {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut cost = 0.0;
            for stmt in stmts {
                cost += self.stmt(stmt, at);
                at = self.def_use.end(at);
            }
            cost
        })
    }

    fn stmt(&mut self, stmt: &Stmt, at: u32) -> f64 {
        let mut arms = Vec::new();
        match stmt {
            Stmt::For(f) => return self.for_loop(f, at),
            Stmt::If(_, yes, no) => {
                arms.push(self.block(yes, at + 1));
                arms.push(self.block(no, self.def_use.else_start(at)));
            }
            Stmt::While(_, body) => arms.push(self.block(body, at + 1)),
            imp::leaf_stmt!() => {}
        }
        let mut arms = arms.into_iter();
        let mut costs = Costs::scalar(self.machine).with_probabilities(&self.likely_conditions);
        costs.stmt(stmt, &mut |_, _| arms.next().unwrap_or(0.0))
    }

    fn for_loop(&mut self, f: &For, at: u32) -> f64 {
        if let LoopMode::Lanes(lanes) = f.mode {
            return self.requested(f, at, lanes);
        }
        let independent = f.mode == (LoopMode::Seq { independent: true });
        let before = self.chosen.len();
        self.nest += usize::from(independent);
        let body = self.block(&f.body, at + 1);
        self.nest -= usize::from(independent);
        let mut cost = trips(f) * (body + 1.0);
        let plain = self.chosen.len() == before && is_plain(&f.body, self.machine);
        if !independent {
            if plain && let Some(vector) = self.reduction(f, at) {
                cost = cost.min(vector);
            }
            return cost;
        }
        let forced = match self.lanes {
            VectorLanes::Off | VectorLanes::Auto => None,
            VectorLanes::Width(lanes) => Some(lanes),
        };
        let candidate = if self.nest < MAX_NEST {
            self.candidate(f, at, forced)
        } else {
            Err(NotVectorisedReason::NestedTooDeep)
        };
        let Candidate { lanes, cost: vector, left_to_llvm: left } = match candidate {
            Ok(candidate) => candidate,
            Err(reason) => {
                let is_carried = matches!(reason, NotVectorisedReason::Carried(_));
                let reason = if !is_carried || !plain || !is_reduction(&f.body) {
                    reason
                } else if has_instructions(&f.body, self.machine) && self.reduction(f, at).is_some() {
                    NotVectorisedReason::LlvmVectorises
                } else {
                    NotVectorisedReason::LlvmVectorisesReduction
                };
                self.no_lanes(f, reason);
                return cost;
            }
        };
        let inside = self.chosen.len() > before;
        if left && forced.is_none() && body < HEAVY {
            self.no_lanes(f, NotVectorisedReason::LlvmVectorises);
            return cost.min(vector);
        }
        let better = if forced.is_some() && !inside { true } else { vector < WORTH * cost };
        let gain = Cycles { vector: vector.round() as u64, scalar: cost.round() as u64 };
        if !better {
            self.no_lanes(f, NotVectorisedReason::NotProfitable(gain));
            return cost;
        }
        let counter = self.counter(f);
        let constant = matches!((&f.from, &f.to), (Expr::Const(_), Expr::Const(_)));
        let least = (vector / (trips(f) / f64::from(lanes)).ceil() / (body + 1.0)).ceil();
        for chosen in self.chosen.drain(before..) {
            self.loop_versions.remove(&chosen.at);
            if let Some(decision) = chosen.decision.and_then(|at| self.decisions.get_mut(at))
                && let RemarkKind::Vectorised { counter: inner, .. } = decision
            {
                *decision = RemarkKind::NotVectorised {
                    counter: inner.clone(),
                    why: NotVectorisedReason::OuterVectorised(counter.clone()),
                };
            }
        }
        let half_loses = 2.0 * least > f64::from(lanes);
        let may_be_expensive = half_loses && body >= EXPENSIVE_IF_LONG && f.body.iter().any(may_be_long);
        let expensive = body >= EXPENSIVE || may_be_expensive;
        if !constant && least > 1.0 && expensive && forced.is_none() {
            self.loop_versions.insert(at, LoopVersion::TripCount((least as i64).min(lanes.into())));
        }
        self.chosen.push(Chosen { at, lanes, decision: Some(self.decisions.len()) });
        self.decisions.push(RemarkKind::Vectorised { counter, lanes, gain });
        vector
    }

    /// A loop for which an earlier pass has chosen the width.
    fn requested(&mut self, f: &For, at: u32, lanes: u32) -> f64 {
        self.chosen.push(Chosen { at, lanes, decision: None });
        self.candidate(f, at, Some(lanes)).map_or(f64::MAX, |candidate| candidate.cost)
    }

    fn counter(&self, f: &For) -> Arc<str> {
        let hint = self.vars.get(f.var.index()).map_or("?", |info| &*info.hint);
        Arc::from(format!("{hint}_{}", f.var.0))
    }

    fn no_lanes(&mut self, f: &For, why: NotVectorisedReason) {
        let counter = self.counter(f);
        self.decisions.push(RemarkKind::NotVectorised { counter, why });
    }

    /// The width of a loop in lanes and its cost then, or the reason why it is not possible.
    fn candidate(&self, f: &For, at: u32, forced: Option<u32>) -> Result<Candidate, NotVectorisedReason> {
        let mut shapes = legality::analyse(self.vars, self.def_use, f, at)?;
        divergence::analyse(&mut shapes, self.def_use, f, at)?;
        shapes.check_extents()?;
        let mut costs = Costs::vector(&shapes, self.machine).with_probabilities(&self.likely_conditions);
        costs.block(&f.body);
        let (weights, loops) = (costs.weights, costs.loops);
        if let Some(lanes) = forced {
            shapes.lanes = lanes;
        } else {
            shapes.lanes = self.width(f, &mut shapes, weights, loops);
            shapes.fit_private();
        }
        shapes.check_private()?;
        let groups = (trips(f) / f64::from(shapes.lanes)).ceil();
        let mut costs = Costs::vector(&shapes, self.machine).with_probabilities(&self.likely_conditions);
        let body = costs.block(&f.body);
        Ok(Candidate {
            lanes: shapes.lanes,
            cost: groups * (body + 1.0) + 3.0,
            left_to_llvm: is_plain(&f.body, self.machine)
                && !is_short(f)
                && (!self.machine.has_masks() || costs.gathers || costs.divergent_branches != 1),
        })
    }

    /// The number of lanes: that of a register of the widest type that matters; twice as many where
    /// chains of dependent operations would leave the machine idle, or the divider would be the
    /// only busy unit.
    fn width(&self, f: &For, shapes: &mut Shapes<'_>, weights: [f64; 4], loops: bool) -> u32 {
        let total: f64 = weights.iter().sum();
        let log2 =
            (0..4).rev().find(|&log2| weights[log2] >= 0.3 * total && weights[log2] > 0.0).unwrap_or(3);
        let mut lanes = (self.machine.bytes >> log2).clamp(2, MAX_LANES);
        shapes.lanes = lanes;
        let mut costs = Costs::vector(shapes, self.machine).with_probabilities(&self.likely_conditions);
        let (cost, waits) = if loops { costs.rounds(&f.body) } else { (costs.block(&f.body), None) };
        let idle = if costs.fused && !self.machine.fma {
            cost <= EMULATED_ITERATION
        } else if loops {
            cost <= SHORT_ITERATION
        } else {
            cost >= LONG_BODY
        };
        if idle || log2 == 3 && any_shares_roots(&f.body, self.machine) {
            lanes = (2 * lanes).min(MAX_LANES);
        } else if let Some((latency, carried)) = waits {
            let mut times = 1;
            while times < MOST_REGISTERS
                && 2 * times * carried <= CARRIED
                && latency >= IDLE * cost * times as f64
            {
                times *= 2;
            }
            lanes = (times as u32 * lanes).min(MAX_LANES);
        }
        if let (Expr::Const(Scalar::I64(from)), Expr::Const(Scalar::I64(to))) = (&f.from, &f.to) {
            let count = to.saturating_sub(*from).max(1);
            while lanes > 2 && (i64::from(lanes) > count || count % i64::from(lanes) != 0) {
                lanes /= 2;
            }
        }
        lanes
    }

    /// The cost of a plain sequential loop if LLVM vectorises it: a reduction of integers with
    /// contiguous or uniform loads.
    fn reduction(&self, f: &For, at: u32) -> Option<f64> {
        let end = self.def_use.end(at);
        let mut own = FxHashSet::default();
        for stmt in &f.body {
            if let Stmt::Set(v, _) | Stmt::Load(v, _) = stmt {
                let ty = imp::walk::scalar_type(self.vars, *v)?;
                if ty.is_float() && !self.def_use.is_local(*v, at, end) {
                    return None;
                }
                own.insert(*v);
            } else {
                return None;
            }
        }
        own.insert(f.var);
        let size = widest(self.vars, &f.body).max(4) as u32;
        let mut shapes = Shapes {
            vars: self.vars,
            lanes: (self.machine.bytes / size).max(2),
            own,
            known: FxHashMap::default(),
            private: FxHashMap::default(),
            bytes: 0,
            extents: Vec::new(),
            extended: FxHashMap::default(),
        };
        divergence::analyse(&mut shapes, self.def_use, f, at).ok()?;
        let in_order = f.body.iter().all(|stmt| {
            if let Stmt::Load(_, access) = stmt {
                matches!(
                    shapes.position(access),
                    LaneValue::Uniform(_) | LaneValue::Affine(PrimType::I64, _, Stride::Const(1))
                )
            } else {
                true
            }
        });
        let body =
            Costs::vector(&shapes, self.machine).with_probabilities(&self.likely_conditions).block(&f.body);
        let groups = (trips(f) / f64::from(shapes.lanes)).ceil();
        in_order.then_some(groups * (body + 1.0) + 10.0)
    }
}

/// Returns true if a body, or a loop in it, is faster when two registers of lanes split its square
/// roots.
fn any_shares_roots(body: &[Stmt], machine: Machine) -> bool {
    let mut found = should_split_roots(body, machine);
    each_stmt(body, &mut |stmt| {
        if let Stmt::While(_, body) | Stmt::For(For { body, .. }) = stmt {
            found |= should_split_roots(body, machine);
        }
    });
    found
}

/// Returns true if a statement is a loop of unknown trip count, or has one in a branch.
fn may_be_long(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::For(f) => !matches!((&f.from, &f.to), (Expr::Const(_), Expr::Const(_))),
        Stmt::While(..) => true,
        Stmt::If(_, yes, no) => yes.iter().chain(no).any(may_be_long),
        imp::leaf_stmt!() => false,
    }
}

/// Returns true if a loop has a constant trip count so small that LLVM would unroll it before it
/// vectorises, and no products that only LLVM knows to widen.
fn is_short(f: &For) -> bool {
    fn byte_product(e: &Expr) -> bool {
        let mut found = matches!(e, Expr::Scalar(ScalarOp::Binary(BinOp::Mul, PrimType::I8, _, _)));
        each_operand(e, &mut |part| found |= byte_product(part));
        found
    }
    let constant = matches!((&f.from, &f.to), (Expr::Const(_), Expr::Const(_)));
    constant
        && trips(f) <= f64::from(MAX_LANES)
        && !f
            .body
            .iter()
            .any(|stmt| if let Stmt::Set(_, e) | Stmt::Store(_, e) = stmt { byte_product(e) } else { false })
}

/// Returns true if LLVM's loop vectoriser supports a body: no loops, calls or checks, and no
/// operators that become code with branches.
pub(super) fn is_plain(body: &[Stmt], machine: Machine) -> bool {
    fn expr(e: &Expr, fma: bool) -> bool {
        match e {
            Expr::Const(_) | Expr::Var(_) | Expr::Tunable(_) | Expr::LogsComparisons => true,
            Expr::Scalar(ScalarOp::Math(..)) | imp::vector_expr!() => false,
            Expr::Scalar(ScalarOp::Fma(..)) if !fma => false,
            Expr::Scalar(op) => op.operands().into_iter().all(|x| expr(x, fma)),
        }
    }
    body.iter().all(|stmt| match stmt {
        Stmt::Set(_, e) | Stmt::Store(_, e) => expr(e, machine.fma),
        Stmt::Load(..) => true,
        Stmt::If(cond, yes, no) => expr(cond, machine.fma) && is_plain(yes, machine) && is_plain(no, machine),
        imp::leaf_stmt!() | imp::nested_stmt!() => false,
    })
}
