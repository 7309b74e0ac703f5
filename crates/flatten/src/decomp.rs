//! The decomposition of a segop into chunks (design contract 1), from its body alone: never from
//! the number of workers or the machine.

use analysis::cost::CostOp;
use analysis::exact::{is_exact, llvm_reduction_operator, scalar_operator};
use analysis::{cost, statements, uses};
use ir::scan_reduce::ScanReduce;
use ir::seg::{Decomp, SegKind, SegOp};
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Atom, BasicOp, Body, Exp, Lambda, Level, LoopForm, Param};
use ir::types::Type;
use ir::walk::{sub_bodies, with_stack};
use ir::{Name, Segs, Soacs};
use prim::{PrimType, ScalarOp};
use rustc_hash::FxHashSet;
use target::chunks::{
    ACCUMULATOR_BYTES, BLOCK_BYTES, CHUNK_WORK, FLAT_MAP_DIVISOR, MAX_CHUNKS, MAX_UPDATES, MOST_IN_BLOCK,
};
use target::{LANES, TRIPS};

/// The decomposition of a segop with this body; `combines` is true if it passes accumulators with
/// an operator.
pub(crate) fn decompose(body: &Body<Segs>, kind: &SegKind<Segs>, combines: bool) -> Decomp {
    // True if the trip counts of loops are not known here.
    let mut loops = false;
    let mut cost_of = |body: &Body<Segs>| {
        let cost = cost::body(body);
        loops |= !cost.is_bounded();
        cost.total()
    };
    let mut cost = cost_of(body);
    let (mut width, mut streams, mut depth) = (1, 1, 1);
    match kind {
        SegKind::Hist(_) | SegKind::FlatMap => {}
        SegKind::ScanReduce(scan_reduce) if scan_reduce.is_map() => {}
        SegKind::ScanReduce(ScanReduce { scans, reduces: operators, post: None }) if scans.is_empty() => {
            for operator in operators {
                cost += cost_of(&operator.op.body);
            }
            let operators: &[_] = &operators.iter().collect::<Vec<_>>();
            let in_step = can_lockstep(operators) && (all_exact(operators) || is_scalar(body));
            if all_exact(operators) || in_step {
                cost /= LANES;
            }
            (width, streams) = accumulators(body, operators, in_step);
            if streams > 1 {
                depth = block_size(operators);
            }
        }
        SegKind::ScanReduce(scan_reduce) => {
            for lambda in scan_reduce.lambdas() {
                cost += 2 * cost_of(&lambda.body);
            }
            let operators: &[_] = &scan_reduce.operators().collect::<Vec<_>>();
            let after = scan_reduce.post.as_ref();
            let scalar = is_scalar(body) && after.is_none_or(|post| is_scalar(&post.body));
            if can_lockstep(operators) && (all_exact(operators) || scalar) {
                (width, streams) = accumulators(body, operators, true);
                depth = block_size(operators);
            }
        }
    }
    let mut writes = 0;
    if combines {
        (width, streams, depth) = (1, 1, 1);
        writes = updates(body).clamp(1, MAX_UPDATES);
    }
    // Copies of the accumulated arrays cost as much as a chunk.
    let flat = matches!(kind, SegKind::FlatMap);
    let grain_size = if flat && !has_loops_or_calls(body) {
        // Sizes are not known; but each iteration shares its own large parts.
        (CHUNK_WORK / FLAT_MAP_DIVISOR / cost.max(1)).max(1)
    } else if loops && !combines {
        1
    } else {
        (CHUNK_WORK / cost.max(1)).max(1)
    };
    Decomp {
        updates_per_iteration: writes,
        grain_size,
        tunable: None,
        max_chunks: MAX_CHUNKS,
        width,
        accumulators: streams,
        scan_block: depth,
        cost: cost.max(1),
    }
}

/// The estimated number of accumulator updates in an iteration; loops of unknown trip count are
/// taken to have [`TRIPS`] iterations.
fn updates(body: &Body<Segs>) -> u32 {
    with_stack(|| {
        let each = body.stms.iter().map(|stm| {
            let times = match &stm.exp {
                Exp::Basic(op) => return u32::from(matches!(op, BasicOp::UpdateAcc { .. })),
                Exp::Loop { form: LoopForm::For { bound: Atom::Const(bound), .. }, .. } => {
                    bound.as_i64().unwrap_or(1).clamp(0, TRIPS)
                }
                Exp::If { .. } => 1,
                Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => TRIPS,
            };
            let mut inner: u32 = 0;
            sub_bodies(&stm.exp, |body| inner = inner.saturating_add(updates(body)));
            inner.saturating_mul(times as u32)
        });
        each.fold(0, u32::saturating_add)
    })
}

/// The decomposition of a reduction inside a segop that the lanes of one worker share; `None` if
/// they cannot, or if LLVM vectorises its loop without help.
pub(crate) fn lane_reduction<L: Level<Op: SequentialOp<L> + CostOp<L>>>(
    body: &Body<L>,
    operators: &[Operator<L>],
) -> Option<Decomp> {
    let operators: &[_] = &operators.iter().collect::<Vec<_>>();
    if operators.is_empty() || is_auto_vectorised(body, operators) || !can_lockstep(operators) {
        return None;
    }
    let (width, streams) = accumulators(body, operators, true);
    // Iterations of unbounded length are for lanes that run separate iterations, not for sub-chunks
    // in lockstep.
    if !is_scalar(body) && (width == 1 || !is_scalar_with_loops(body, AllowedLoops::All)) {
        return None;
    }
    let depth = if streams > 1 { block_size(operators) } else { 1 };
    let cost = lane_cost(body, operators);
    Some(Decomp { width, accumulators: streams, scan_block: depth, cost, ..Decomp::SINGLE_CHUNK })
}

/// The decomposition of a scan inside a segop that the lanes of one worker share, if they can: one
/// chunk, scanned in blocks. If the screma also reduces, a pass over the chunk that computes the
/// totals comes first.
pub(crate) fn lane_scan<L: Level<Op: SequentialOp<L> + CostOp<L>>>(
    body: &Body<L>,
    scan_reduce: &ScanReduce<L>,
) -> Option<Decomp> {
    let operators: &[_] = &scan_reduce.operators().collect::<Vec<_>>();
    let exact = operators.iter().all(|op| is_exact(&op.op));
    let loops = if exact { AllowedLoops::ConstantTrip } else { AllowedLoops::None };
    let after = scan_reduce.post.as_ref();
    if scan_reduce.scans.is_empty()
        || !can_lockstep(operators)
        || !is_scalar_with_loops(body, loops)
        || !after.is_none_or(|post| is_scalar(&post.body))
    {
        return None;
    }
    let (width, streams) =
        if scan_reduce.reduces.is_empty() { (1, 1) } else { accumulators(body, operators, true) };
    let (scan_block, cost) = (block_size(operators), lane_cost(body, operators));
    Some(Decomp { width, accumulators: streams, scan_block, cost, ..Decomp::SINGLE_CHUNK })
}

/// The cost of an iteration of a reduction or scan in lanes: half of its statements', as loads are shared with
/// neighbouring iterations (`jam-iterations`), whose statements overlap.
fn lane_cost<L: Level<Op: CostOp<L>>>(body: &Body<L>, operators: &[&Operator<L>]) -> i64 {
    let operators = operators.iter().map(|op| cost::body(&op.op.body).total());
    (operators.fold(cost::body(body).total(), i64::saturating_add) / 2).max(1)
}

fn all_exact(operators: &[&Operator<Segs>]) -> bool {
    operators.iter().all(|op| is_exact(&op.op))
}

/// Returns true for a single exact operator that the code generator is known to vectorise without
/// help, over iterations without branches and loops.
fn is_auto_vectorised<L: Level<Op: SequentialOp<L>>>(body: &Body<L>, operators: &[&Operator<L>]) -> bool {
    matches!(operators, [op] if is_exact(&op.op) && llvm_reduction_operator(&op.op).is_some())
        && (body.stms.iter()).all(|stm| matches!(stm.exp, Exp::Basic(_)))
}

/// Returns true if operators work on scalars only, in straight-line code or branches: then several
/// iterations can be combined in lockstep.
fn can_lockstep<L: Level<Op: SequentialOp<L>>>(operators: &[&Operator<L>]) -> bool {
    operators
        .iter()
        .all(|op| op.op.ret.iter().all(|ty| matches!(ty, Type::Prim(_))) && is_scalar(&op.op.body))
}

/// Operations that may become sequential loops inside other operations.
pub(crate) trait SequentialOp<L: Level> {
    /// The bodies of the map and of the operators, if the operation only scans and reduces scalars.
    fn scalar_bodies(&self) -> Option<Vec<&Body<L>>>;

    /// The results of scans that become loops without arrays, as only reductions read them.
    fn scans(body: &Body<L>) -> Vec<Name>;
}

impl SequentialOp<Soacs> for Soac {
    fn scalar_bodies(&self) -> Option<Vec<&Body<Soacs>>> {
        let Self::Screma(Screma { map, scan_reduce, .. }) = self else {
            return None;
        };
        let combines_all = scan_reduce.n_accumulated() > 0 && map.ret.len() == scan_reduce.n_accumulated();
        let operators = scan_reduce.operators().map(|op| &op.op.body);
        (scan_reduce.post.is_none() && combines_all)
            .then(|| std::iter::once(&map.body).chain(operators).collect())
    }

    fn scans(body: &Body<Soacs>) -> Vec<Name> {
        summed(body)
    }
}

impl SequentialOp<Segs> for SegOp<Segs> {
    fn scalar_bodies(&self) -> Option<Vec<&Body<Segs>>> {
        None
    }

    fn scans(_: &Body<Segs>) -> Vec<Name> {
        Vec::new()
    }
}

/// Which loops a body may have to count as scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AllowedLoops {
    None,
    /// Loops of constant trip count: iterations stay in lockstep.
    ConstantTrip,
    All,
}

/// Returns true if a body computes scalars only, without loops.
fn is_scalar<L: Level<Op: SequentialOp<L>>>(body: &Body<L>) -> bool {
    is_scalar_with_loops(body, AllowedLoops::None)
}

/// Returns true if a body computes scalars only, with loops of this kind allowed.
fn is_scalar_with_loops<L: Level<Op: SequentialOp<L>>>(body: &Body<L>, loops: AllowedLoops) -> bool {
    with_stack(|| {
        let scans = match loops {
            AllowedLoops::All => L::Op::scans(body),
            AllowedLoops::None | AllowedLoops::ConstantTrip => Vec::new(),
        };
        body.stms.iter().all(|stm| {
            let is_iteration_local =
                |p: &Param<L>| matches!(p.ty, Type::Prim(_) | Type::Cert) || scans.contains(&p.name);
            let iteration_local = stm.pat.iter().all(is_iteration_local);
            let plain = match &stm.exp {
                Exp::Basic(_) => true,
                Exp::If { cond: _, then_body, else_body } => {
                    is_scalar_with_loops(then_body, loops) && is_scalar_with_loops(else_body, loops)
                }
                Exp::Loop { form, body, .. } => {
                    let allowed = match loops {
                        AllowedLoops::None => false,
                        AllowedLoops::ConstantTrip => {
                            matches!(form, LoopForm::For { bound: Atom::Const(_), .. })
                        }
                        AllowedLoops::All => true,
                    };
                    allowed && is_scalar_with_loops(body, loops)
                }
                Exp::Op(op) => {
                    let folded = op.scalar_bodies().filter(|_| loops == AllowedLoops::All);
                    folded.is_some_and(|bodies| bodies.iter().all(|body| is_scalar_with_loops(body, loops)))
                }
                Exp::Apply { .. } => false,
            };
            iteration_local && plain
        })
    })
}

/// Returns true if a body has loops.
pub(crate) fn has_loops<L: Level<Op: SequentialOp<L>>>(body: &Body<L>) -> bool {
    statements::any(body, &|stm| match &stm.exp {
        Exp::Loop { .. } => true,
        Exp::Op(op) => op.scalar_bodies().is_some(),
        Exp::Basic(_) | Exp::If { .. } | Exp::Apply { .. } => false,
    })
}

/// The results of scans by one operation whose only reader is a reduction over all of them.
pub(crate) fn summed(body: &Body<Soacs>) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    for stm in &body.stms {
        let Exp::Op(Soac::Screma(s)) = &stm.exp else {
            continue;
        };
        let steps = s.scan_reduce.scans.iter().all(|scan| scalar_operator(&scan.op).is_some());
        if steps && !s.scan_reduce.scans.is_empty() && s.scan_reduce.reduces.is_empty() {
            found.extend(stm.pat.iter().map(|param| param.name));
        }
    }
    if found.is_empty() {
        return found;
    }
    let uses = uses::in_body(body);
    let mut reduced: FxHashSet<Name> = FxHashSet::default();
    for stm in &body.stms {
        if let Exp::Op(Soac::Screma(s)) = &stm.exp
            && s.scan_reduce.scans.is_empty()
            && s.map.ret.len() == s.scan_reduce.values(&s.map.ret).reduced.len()
        {
            reduced.extend(&s.inputs);
        }
    }
    found.retain(|name| reduced.contains(name) && uses.get(name) == Some(&1));
    found
}

/// Returns true if a body has a scan or reduction whose map or operator has loops.
pub(crate) fn reductions_have_loops(body: &Body<Soacs>) -> bool {
    body.stms.iter().any(|stm| {
        let Exp::Op(op) = &stm.exp else {
            return false;
        };
        op.scalar_bodies().into_iter().flatten().any(has_loops)
    })
}

/// Returns true if a body has loops or calls functions: no other task shares their work.
fn has_loops_or_calls(body: &Body<Segs>) -> bool {
    statements::any(body, &|stm| matches!(stm.exp, Exp::Loop { .. } | Exp::Apply { .. }))
}

/// The size in bytes of the widest scalar that operators work on.
fn widest<L: Level<Op: SequentialOp<L>>>(operators: &[&Operator<L>]) -> u64 {
    let types = operators.iter().flat_map(|op| &op.op.ret);
    let sizes = types.filter_map(Type::elem).map(PrimType::size);
    sizes.max().unwrap_or(8)
}

/// The number of partial accumulators that iterations go to round-robin, and the number of
/// sub-chunks that are reduced in lockstep. Sub-chunks cost transpositions, but keep the order of
/// the operands.
fn accumulators<L: Level<Op: SequentialOp<L>>>(
    body: &Body<L>,
    operators: &[&Operator<L>],
    in_step: bool,
) -> (u32, u32) {
    if is_auto_vectorised(body, operators) {
        (1, 1)
    } else if operators.iter().all(|op| op.comm) {
        ((ACCUMULATOR_BYTES / widest(operators)) as u32, 1)
    } else if in_step {
        (1, block_size(operators) * n_vectors(operators))
    } else {
        (1, 1)
    }
}

/// The number of iterations of a block: as many as a vector has of the widest scalars.
fn block_size<L: Level<Op: SequentialOp<L>>>(operators: &[&Operator<L>]) -> u32 {
    (BLOCK_BYTES / widest(operators)).min(MOST_IN_BLOCK) as u32
}

/// The number of vectors of sub-chunks that are reduced in lockstep: two, so that one computes
/// while the other waits, unless that takes too many registers.
fn n_vectors<L: Level<Op: SequentialOp<L>>>(operators: &[&Operator<L>]) -> u32 {
    let scalars: usize = operators.iter().map(|op| op.op.ret.len()).sum();
    if scalars <= 2 { 2 } else { 1 }
}

/// Returns true if an operator is known to commute: each result is one commutative scalar operator
/// applied to the parameters of its own position.
pub(crate) fn commutes(op: &Lambda<Soacs>) -> bool {
    let k = op.ret.len();
    op.params.len() == 2 * k
        && op.body.stms.len() == k
        && op.body.result.iter().enumerate().all(|(i, &result)| {
            let (x, y) = (Atom::Var(op.params[i].name), Atom::Var(op.params[k + i].name));
            op.body.stms.iter().any(|stm| {
                let bound = stm.pat.len() == 1 && Atom::Var(stm.pat[0].name) == result;
                let Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, _, a, b))) = stm.exp else {
                    return false;
                };
                bound && op.is_commutative() && ((a, b) == (x, y) || (a, b) == (y, x))
            })
        })
}
