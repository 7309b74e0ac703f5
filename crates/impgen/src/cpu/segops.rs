//! Segops: at level 1, tasks over chunks of the index space with a sequential loop inside; at level
//! 0, that loop alone.
//!
//! ```text
//! segmap (i < n) { .. }     chunks = clamp(n / max(grain, step), 1, max)
//!                           for tasks c < chunks
//!                             for i in c*(n/step)/chunks*step .. (c+1)*(n/step)/chunks*step
//!                               <body>; out[i] = results
//! ```

use super::reduce::Operators;
use super::scan::Scan;
use crate::function::Gen;
use analysis::cost::{self, Cost, Counts};
use analysis::statements;
use imp::build::{add, div, max, mul, sub};
use imp::{Expr, For, LoopMode, Stmt, Var};
use ir::facts::FactFlag;
use ir::mem::{Block, MemAnn, MemOp};
use ir::name::Name;
use ir::seg::{Decomp, Seg, SegKind};
use ir::syntax::{Atom, Aux, Body, DimIndex, Exp, Lambda, Param};
use ir::types::{Dim, Space as MemSpace};
use ir::walk::free_names;
use ir::{Mems, PassError, Prov};
use prim::PrimType;
use target::chunks::{
    BLOCK_BYTES, CHUNK_WORK, ELEMENT_WORK, LANES_CHUNK, MAX_ALLOCATING_CHUNKS, MIN_FULL_CHUNKS,
    MIN_LANES_CHUNK,
};
use target::{LANES, TRIPS, levels};

/// The one dimension of a segop, and further properties that all its kinds share.
#[derive(Clone)]
pub(crate) struct SegSpace<'s> {
    pub(crate) index: Name,
    pub(crate) width: Expr,
    pub(crate) body: &'s Body<Mems>,
    pub(crate) decomp: Decomp,
    pub(crate) prov: Prov,
    /// True if the iterations of a chunk may run in any order, also concurrently: the body keeps no
    /// memory of its own and scatters nothing, and no two iterations update the same element. A
    /// histogram's updates are not part of the body.
    pub(crate) independent: bool,
    /// The identity (no-op) predicate: true for iterations that leave the reduced values unchanged.
    pub(crate) identity_predicate: Option<&'s Lambda<Mems>>,
    /// True if iterations should run in vector lanes.
    pub(crate) vectorised: bool,
}

impl SegSpace<'_> {
    /// The same space with sequential iterations.
    pub(crate) fn sequential(&self) -> Self {
        Self { independent: false, ..self.clone() }
    }
}

impl Gen<'_, '_> {
    pub(crate) fn seg(&mut self, pat: &[Param<Mems>], aux: &Aux, seg: &Seg<Mems>) -> Result<(), PassError> {
        if self.device.is_some() {
            return self.device_seg(pat, aux, seg);
        }
        let Seg { level, space, kind, body, ret, decomp, identity_predicate: identity } = seg;
        let prov = aux.prov;
        let [(index, width)] = space.dims.as_slice() else {
            return Err(PassError::unsupported(
                "segmented operations over several dimensions",
                self.function.provs.stack(prov),
            ));
        };
        let width = self.dim(*width)?;
        let space = SegSpace {
            index: *index,
            width,
            body,
            decomp: *decomp,
            prov,
            independent: aux.facts.has(FactFlag::Independent),
            identity_predicate: identity.as_ref(),
            vectorised: space.lane.is_some(),
        };
        for param in pat {
            self.record_location(param);
        }
        match kind {
            SegKind::ScanReduce(scan_reduce) if decomp.updates_per_iteration > 0 => {
                let operators = Operators::new(scan_reduce)?;
                self.seg_accumulating(pat, &space, &operators)
            }
            SegKind::ScanReduce(scan_reduce) if !scan_reduce.is_map() => {
                let operators = Operators::new(scan_reduce)?;
                let plain = scan_reduce.scans.is_empty() && scan_reduce.post.is_none();
                match (plain, *level) {
                    (true, levels::LANES) => self.seg_red_lanes(pat, &space, &operators),
                    (true, _) => self.seg_red(pat, &space, &operators),
                    (false, level) => {
                        let after = aux.facts.has(FactFlag::PostScanIndependent);
                        let scan = Scan::of(pat, &space, scan_reduce, &operators, after);
                        if level == levels::LANES { self.seg_scan_lanes(&scan) } else { self.seg_scan(&scan) }
                    }
                }
            }
            _ if *level == levels::LANES => {
                Err(PassError::bug("only reductions and scans run on the lanes of one worker"))
            }
            SegKind::ScanReduce(_) => self.seg_map(pat, &space),
            SegKind::Hist(ops) => self.seg_hist(&space, ops),
            SegKind::FlatMap => self.seg_flat_map(pat, &space, ret),
        }
    }

    fn seg_map(&mut self, pat: &[Param<Mems>], space: &SegSpace<'_>) -> Result<(), PassError> {
        let distinct = self.unaliased_blocks(pat, space.body)?;
        let cost = self.cost(space)?;
        let decomp = space.decomp;
        let n = self.bind_value(space.width.clone(), PrimType::I64, "n");
        // The cost of iterations that allocate may vary widely.
        let alone = allocates(space.body);
        let together = if alone { MIN_LANES_CHUNK } else { LANES_CHUNK };
        let most = if alone { MAX_ALLOCATING_CHUNKS } else { decomp.max_chunks };
        let step = if space.vectorised {
            Expr::i64(MIN_LANES_CHUNK)
        } else if self.in_task() && space.independent {
            // There are enclosing tasks: full lanes matter more than many chunks.
            self.chunk_step(n.clone(), 1, MIN_LANES_CHUNK)
        } else if decomp.grain_size < LANES_CHUNK {
            let few = self.chunk_step(n.clone(), LANES_CHUNK, together);
            self.lane_step(space, n.clone(), few, min_lanes(pat))
        } else {
            Expr::i64(LANES_CHUNK)
        };
        let grain = max(self.grain_size(decomp, &n)?, step.clone());
        let chunks = self.n_chunks(n.clone(), grain, most);
        let cost = self.bind_value(cost, PrimType::I64, "cost");
        self.for_tasks("segmap", space.prov, chunks.clone(), cost, distinct, |g, c| {
            let (lo, hi) = g.stepped_bounds(n, step, chunks, Expr::Var(c));
            if let Some(scatter) = g.scatter(space) {
                return g.scatter_chunk(&scatter, space, lo, hi);
            }
            g.iterations(space, lo, hi, |g, results| g.write_iteration(pat, space, &results))
        })?;
        Ok(())
    }

    /// The iterations `lo..hi` in sequence: the body, then `f` with its results.
    pub(crate) fn iterations(
        &mut self,
        space: &SegSpace<'_>,
        lo: Expr,
        hi: Expr,
        f: impl FnOnce(&mut Self, Vec<Atom>) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let var = self.bind_index(space.index);
        let body = self.collect(|g| g.iteration(space.body, f))?;
        let how = LoopMode::Seq { independent: space.independent };
        self.emit(Stmt::For(For { mode: how, var, from: lo, to: hi, body }));
        Ok(())
    }

    /// One iteration, whose index is already bound: the body, then `f`.
    pub(crate) fn iteration(
        &mut self,
        body: &Body<Mems>,
        f: impl FnOnce(&mut Self, Vec<Atom>) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let results = self.body(body)?;
        f(self, results)?;
        self.release_bound(body)
    }

    /// Writes the results of one iteration into the arrays of the pattern.
    pub(crate) fn write_iteration(
        &mut self,
        pat: &[Param<Mems>],
        space: &SegSpace<'_>,
        results: &[Atom],
    ) -> Result<(), PassError> {
        for (param, &value) in pat.iter().zip(results) {
            let MemAnn::In { block: Block::Var(block), lmad } = &param.ann else {
                continue;
            };
            let full = |&count: &Dim| DimIndex::Slice { start: Atom::i64(0), count, stride: Atom::i64(1) };
            let slice: Vec<DimIndex> = std::iter::once(DimIndex::Fix(Atom::Var(space.index)))
                .chain(param.ty.shape().iter().skip(1).map(full))
                .collect();
            self.store_slice(&param.ty, *block, lmad, &slice, value)?;
        }
        Ok(())
    }

    /// The blocks of result arrays that the body does not read.
    pub(crate) fn unaliased_blocks(
        &self,
        pat: &[Param<Mems>],
        body: &Body<Mems>,
    ) -> Result<Vec<Var>, PassError> {
        let read = self.blocks.read_by(body);
        let mut vars: Vec<Var> = Vec::new();
        for param in pat {
            let MemAnn::In { block: Block::Var(block), lmad: _ } = &param.ann else {
                continue;
            };
            let var = self.var(*block)?;
            if !read.contains(block) && !vars.contains(&var) {
                vars.push(var);
            }
        }
        Ok(vars)
    }

    /// The step of chunk lengths: at least `few`, a power of two. If the cost of an iteration is
    /// known before the segop, the step is also large enough that a step in lanes has some work to
    /// do, and that lanes are filled while there are still at least `MIN_FULL_CHUNKS` chunks: a
    /// further lane then costs nothing.
    fn lane_step(&mut self, space: &SegSpace<'_>, n: Expr, few: Expr, lanes: i64) -> Expr {
        let cost = self.iteration_cost(space);
        let calls = cost.calls;
        let cost = cost.total_in(&Sizes(self));
        if !space.independent || calls || !cost.is_known {
            return few;
        }
        let cost = max(cost.value, Expr::i64(1));
        let enough = div(Expr::i64(CHUNK_WORK * LANES), cost);
        let enough = self.bind_value(enough, PrimType::I64, "enough");
        let enough = self.chunk_step(enough, 1, LANES_CHUNK);
        let full = self.chunk_step(n, MIN_FULL_CHUNKS, lanes);
        let few = max(few, full);
        self.bind_value(max(few, enough), PrimType::I64, "step")
    }

    /// The cost of an iteration ([`analysis::cost`]).
    fn iteration_cost(&self, space: &SegSpace<'_>) -> Cost<RunTimeCost> {
        cost::iteration(space.body, space.decomp, &Sizes(self))
    }

    /// The estimated cost of a segop in nanoseconds. If the body calls recursive functions, it is
    /// negative: its absolute value is a lower bound, not below the time to read all elements that
    /// the functions may be called with.
    pub(crate) fn cost(&mut self, space: &SegSpace<'_>) -> Result<Expr, PassError> {
        let iteration_cost = self.iteration_cost(space).total_in(&Sizes(self));
        let mut cost = div(mul(space.width.clone(), iteration_cost.value), Expr::i64(16));
        if statements::any(
            space.body,
            &|stm| matches!(&stm.exp, Exp::Apply { fun, .. } if self.shared.recursive[fun.index()]),
        ) {
            let mut elements = Expr::i64(0);
            for name in free_names(space.body) {
                if let Ok((ty, _, _)) = self.location(name) {
                    let extents = self.extents(ty.shape())?;
                    elements = add(elements, extents.into_iter().fold(Expr::i64(1), mul));
                }
            }
            let least = max(cost, mul(elements, Expr::i64(ELEMENT_WORK)));
            cost = sub(Expr::i64(0), least);
        }
        Ok(self.bind_value(cost, PrimType::I64, "cost"))
    }
}

/// A cost as an expression; `is_known` is false if it contains assumed sizes.
struct RunTimeCost {
    value: Expr,
    is_known: bool,
}

/// Costs over the sizes that are bound before a segop.
struct Sizes<'g, 'a, 'b>(&'g Gen<'a, 'b>);

impl Counts for Sizes<'_, '_, '_> {
    type Cost = RunTimeCost;

    fn constant(&self, cost: i64) -> RunTimeCost {
        RunTimeCost { value: Expr::i64(cost), is_known: true }
    }

    fn size(&self, size: Option<Atom>) -> RunTimeCost {
        let known = match size {
            Some(Atom::Const(n)) => Some(Expr::i64(n.as_i64().unwrap_or(1).max(0))),
            Some(Atom::Var(name)) if self.0.is_bound(name) => self.0.var(name).ok().map(Expr::Var),
            Some(Atom::Var(_)) | None => None,
        };
        let is_known = known.is_some();
        RunTimeCost { value: known.unwrap_or(Expr::i64(TRIPS)), is_known }
    }

    fn add(&self, x: RunTimeCost, y: RunTimeCost) -> RunTimeCost {
        RunTimeCost { value: add(x.value, y.value), is_known: x.is_known && y.is_known }
    }

    /// The constant parts are compared here, so that little is computed at run time.
    fn branch(&self, x: Cost<RunTimeCost>, y: Cost<RunTimeCost>) -> Cost<RunTimeCost> {
        x.combined(y, i64::max, |x, y| RunTimeCost {
            value: max(x.value, y.value),
            is_known: x.is_known && y.is_known,
        })
    }

    fn times(&self, count: RunTimeCost, cost: RunTimeCost) -> RunTimeCost {
        RunTimeCost { value: mul(count.value, cost.value), is_known: count.is_known && cost.is_known }
    }

    /// Lanes inside leave none for the iterations around them.
    fn in_lanes(&self, cost: RunTimeCost) -> RunTimeCost {
        RunTimeCost { value: div(cost.value, Expr::i64(LANES)), is_known: false }
    }
}

/// The minimum number of lanes that iterations with these results should fill: the lanes of a
/// register of the widest element type.
fn min_lanes(pat: &[Param<Mems>]) -> i64 {
    let sizes = pat.iter().filter_map(|param| Some(param.ty.elem()?.size()));
    let widest = sizes.max().unwrap_or(BLOCK_BYTES);
    ((BLOCK_BYTES / widest.max(1)) as i64).clamp(LANES, MIN_LANES_CHUNK)
}

/// Returns true if a body allocates blocks of its own.
fn allocates(body: &Body<Mems>) -> bool {
    let host = MemSpace::Host;
    statements::any(body, &|stm| matches!(stm.exp, Exp::Op(MemOp::Alloc { space, .. }) if space == host))
}
