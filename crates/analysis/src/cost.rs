//! The estimated cost of code, in sixteenths of a nanosecond ([`target::time`]): one walk for
//! statements, bodies and nests of every level.
//!
//! ```text
//! let y = fadd x 1              once: 4 (y) + 16 (the loop)
//! loop (s = y) for i < n {      repeated: n * (8 + 4)
//!   let x = xs[i]
//!   let t = fadd s x  in (t) }
//! ```
//!
//! The unit is that of a typical processor, as results depend on decompositions, which depend on
//! costs (design contract 1). Trip counts are numbers or, for code that chooses at run time,
//! expressions ([`Counts`]). Of a branch the more expensive arm counts. A call has an assumed cost.
//! [`thresholds`](crate::thresholds) has the costs from which on choices change.

use ir::mem::MemOp;
use ir::seg::{Decomp, Seg, SegOp, SegSpace};
use ir::soac::{HistOp, Screma, Soac};
use ir::syntax::{Atom, BasicOp, Body, Exp, Lambda, Level, LoopForm, Stm};
use ir::walk::with_stack;
use ir::{Mems, Segs, Soacs};
use prim::{PrimType, Scalar};
use target::levels::LevelId;
use target::{LANES, TRIPS, time};

/// The cost of code: of what runs once, and of what loops and nested operations repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost<V = i64> {
    /// The statements outside of loops and nested operations, and the overhead of these.
    pub once: i64,
    /// The iterations of loops and nested operations; `None` without any.
    pub repeated: Option<V>,
    /// True if functions are called, whose cost is assumed.
    pub calls: bool,
}

impl Cost {
    /// The sum of both parts.
    pub fn total(self) -> i64 {
        self.total_in(&Assumed)
    }

    /// Returns true if the code is straight, except for branches.
    pub const fn is_bounded(self) -> bool {
        self.repeated.is_none() && !self.calls
    }
}

impl<V> Cost<V> {
    const fn once(cost: i64) -> Self {
        Self { once: cost, repeated: None, calls: false }
    }

    /// The sum of both parts.
    pub fn total_in<C: Counts<Cost = V>>(self, counts: &C) -> V {
        let once = counts.constant(self.once);
        match self.repeated {
            Some(repeated) => counts.add(once, repeated),
            None => once,
        }
    }

    /// The combination of both parts with those of another cost.
    #[must_use]
    pub fn combined(self, other: Self, once: fn(i64, i64) -> i64, repeated: impl FnOnce(V, V) -> V) -> Self {
        Self {
            once: once(self.once, other.once),
            repeated: match (self.repeated, other.repeated) {
                (Some(x), Some(y)) => Some(repeated(x, y)),
                (x, y) => x.or(y),
            },
            calls: self.calls || other.calls,
        }
    }
}

/// The arithmetic of costs that depend on trip counts: numbers, or expressions over sizes.
pub trait Counts {
    /// A cost or a count.
    type Cost;

    /// A known cost.
    fn constant(&self, cost: i64) -> Self::Cost;
    /// The value of a size or an `i64` bound; an assumed one if it is unknown.
    fn size(&self, size: Option<Atom>) -> Self::Cost;
    /// The sum.
    fn add(&self, x: Self::Cost, y: Self::Cost) -> Self::Cost;
    /// The cost of a conditional with these arms: of the more expensive one.
    fn branch(&self, x: Cost<Self::Cost>, y: Cost<Self::Cost>) -> Cost<Self::Cost>;
    /// The product of a count and a cost.
    fn times(&self, count: Self::Cost, cost: Self::Cost) -> Self::Cost;
    /// The cost divided by the number of lanes.
    fn in_lanes(&self, cost: Self::Cost) -> Self::Cost;
}

/// Costs as numbers: unknown trip counts are assumed to be [`TRIPS`].
struct Assumed;

impl Counts for Assumed {
    type Cost = i64;

    fn constant(&self, cost: i64) -> i64 {
        cost
    }

    fn size(&self, size: Option<Atom>) -> i64 {
        let known = size.and_then(Atom::constant).and_then(Scalar::as_i64);
        known.map_or(TRIPS, |n| n.max(0))
    }

    fn add(&self, x: i64, y: i64) -> i64 {
        x.saturating_add(y)
    }

    fn branch(&self, x: Cost, y: Cost) -> Cost {
        let calls = x.calls || y.calls;
        if x.repeated.or(y.repeated).is_none() {
            return Cost { once: time::BRANCH + x.once.max(y.once), repeated: None, calls };
        }
        Cost { once: time::BRANCH, repeated: Some(x.total().max(y.total())), calls }
    }

    fn times(&self, count: i64, cost: i64) -> i64 {
        cost.saturating_mul(count)
    }

    fn in_lanes(&self, cost: i64) -> i64 {
        cost / LANES
    }
}

/// The cost of a level's operations.
pub trait CostOp<L: Level> {
    /// True if `scratch` takes memory that is already allocated.
    const ALLOCATES_FIRST: bool;

    /// The cost of one execution.
    fn cost<C: Counts>(&self, counts: &C) -> Cost<C::Cost>;
}

/// The cost of a body.
pub fn body<L: Level<Op: CostOp<L>>>(body: &Body<L>) -> Cost {
    stms(&body.stms, &Assumed)
}

/// The cost of statements.
pub fn statements<L: Level<Op: CostOp<L>>>(stms: &[Stm<L>]) -> Cost {
    self::stms(stms, &Assumed)
}

/// The cost of one element of an operation's results.
pub fn per_element(op: &Soac) -> i64 {
    if let Soac::Screma(Screma { map, scan_reduce, .. }) = op
        && scan_reduce.is_map()
    {
        let costs = map.body.stms.iter().map(|stm| match &stm.exp {
            Exp::Op(op) => per_element(op),
            other @ (Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. }) => {
                exp(other, &Assumed).total()
            }
        });
        return costs.fold(0, i64::saturating_add);
    }
    op.cost(&Assumed).total()
}

/// The cost of statements, with trip counts of this form.
pub fn stms<L: Level<Op: CostOp<L>>, C: Counts>(stms: &[Stm<L>], counts: &C) -> Cost<C::Cost> {
    with_stack(|| sum(stms.iter().map(|stm| exp(&stm.exp, counts)), counts))
}

fn sum<C: Counts>(costs: impl Iterator<Item = Cost<C::Cost>>, counts: &C) -> Cost<C::Cost> {
    costs.fold(Cost::once(0), |x, y| x.combined(y, i64::saturating_add, |x, y| counts.add(x, y)))
}

fn exp<L: Level<Op: CostOp<L>>, C: Counts>(exp: &Exp<L>, counts: &C) -> Cost<C::Cost> {
    match exp {
        Exp::Basic(BasicOp::Scratch { .. }) if L::Op::ALLOCATES_FIRST => Cost::once(0),
        Exp::Basic(op) => Cost::once(basic(op)),
        Exp::If { cond: _, then_body, else_body } => {
            counts.branch(stms(&then_body.stms, counts), stms(&else_body.stms, counts))
        }
        Exp::Loop { params: _, form, body } => {
            let bound = match *form {
                LoopForm::For { bound, ty, .. } if ty == PrimType::I64 || bound.var().is_none() => {
                    Some(bound)
                }
                LoopForm::For { .. } | LoopForm::While { .. } => None,
            };
            repeated(stms(&body.stms, counts), counts, |each| counts.times(counts.size(bound), each))
        }
        Exp::Apply { .. } => Cost { calls: true, ..Cost::once(time::CALL) },
        Exp::Op(op) => op.cost(counts),
    }
}

/// The cost of a loop, given that of an iteration.
fn repeated<C: Counts>(
    each: Cost<C::Cost>,
    counts: &C,
    all: impl FnOnce(C::Cost) -> C::Cost,
) -> Cost<C::Cost> {
    let calls = each.calls;
    Cost { once: time::LOOP, repeated: Some(all(each.total_in(counts))), calls }
}

impl CostOp<Soacs> for Soac {
    const ALLOCATES_FIRST: bool = false;

    fn cost<C: Counts>(&self, counts: &C) -> Cost<C::Cost> {
        let one = |lambda: &Lambda<Soacs>| stms(&lambda.body.stms, counts);
        let (count, each) = match self {
            Self::Screma(Screma { width, inputs: _, map, scan_reduce }) => {
                let lambdas = std::iter::once(map).chain(scan_reduce.lambdas());
                (counts.size(width.atom()), sum(lambdas.map(one), counts))
            }
            Self::Hist { width, inputs: _, map, ops } => {
                let operators = ops.iter().map(|HistOp { op, .. }| &op.op);
                (counts.size(width.atom()), sum(std::iter::once(map).chain(operators).map(one), counts))
            }
            Self::Stream { width, lambda, .. } | Self::FlatMap { width, lambda, .. } => {
                (counts.size(width.atom()), one(lambda))
            }
            Self::WithAcc { lambda, .. }
            | Self::Jvp { lambda, .. }
            | Self::Vjp { lambda, .. }
            | Self::WithVjp { lambda, .. } => {
                return one(lambda);
            }
        };
        repeated(each, counts, |each| counts.times(count, each))
    }
}

/// The number of iterations of a segop, by its innermost dimension.
fn iterations<C: Counts>(space: &SegSpace, counts: &C) -> C::Cost {
    counts.size(space.dims.last().and_then(|(_, size)| size.atom()))
}

impl CostOp<Segs> for SegOp<Segs> {
    const ALLOCATES_FIRST: bool = false;

    fn cost<C: Counts>(&self, counts: &C) -> Cost<C::Cost> {
        match self {
            Self::Seg(Seg { space, body, .. }) => {
                let all = |each| counts.in_lanes(counts.times(iterations(space, counts), each));
                repeated(stms(&body.stms, counts), counts, all)
            }
            Self::WithAcc { inputs: _, lambda } => stms(&lambda.body.stms, counts),
        }
    }
}

impl CostOp<Mems> for MemOp {
    const ALLOCATES_FIRST: bool = true;

    /// Nested tasks cost as much as a call; so do allocations and transfers.
    fn cost<C: Counts>(&self, counts: &C) -> Cost<C::Cost> {
        match self {
            Self::Alloc { .. } | Self::Transfer { .. } => Cost::once(time::CALL),
            Self::Seg(SegOp::WithAcc { .. }) => Cost { calls: true, ..Cost::once(time::CALL) },
            Self::Seg(SegOp::Seg(Seg { level, space, body, decomp, .. })) => {
                let each = iteration(body, *decomp, counts);
                let all = |each| counts.times(iterations(space, counts), each);
                if *level == LevelId::Lanes {
                    repeated(each, counts, |each| counts.in_lanes(all(each)))
                } else {
                    Cost { once: time::CALL, calls: true, ..repeated(each, counts, all) }
                }
            }
        }
    }
}

/// The cost of an iteration of a segop: computed from its loops and nested segops, or the
/// decomposition's estimate if there are none.
pub fn iteration<C: Counts>(body: &Body<Mems>, decomp: Decomp, counts: &C) -> Cost<C::Cost> {
    let cost = stms(&body.stms, counts);
    if cost.repeated.is_some() { cost } else { Cost { once: decomp.cost, ..cost } }
}

/// The cost of a basic operation.
pub fn basic(op: &BasicOp) -> i64 {
    match op {
        BasicOp::Atom(_) | BasicOp::Opaque(_) | ir::view_op!() | BasicOp::ConstArray { .. } => 0,
        BasicOp::Scalar(op) => time::scalar(op),
        ir::parameter_op!() | BasicOp::Assert { .. } => time::PLAIN,
        BasicOp::Index { .. } => time::LOAD,
        BasicOp::Update { .. } | BasicOp::UpdateAcc { .. } => time::STORE,
        BasicOp::Concat { .. }
        | BasicOp::FlatUpdate { .. }
        | BasicOp::Iota { .. }
        | BasicOp::Replicate { .. }
        | BasicOp::Scratch { .. }
        | BasicOp::Copy(_)
        | BasicOp::Manifest { .. }
        | BasicOp::ArrayLit { .. } => time::ARRAY,
    }
}
