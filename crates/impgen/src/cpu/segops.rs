//! Segops: at level `tasks`, tasks over chunks of the index space with a sequential loop inside; at
//! level `lanes`, that loop alone.
//!
//! ```text
//! segmap (i < n) { .. }     chunks = clamp(n / max(grain, step), 1, max)
//!                           for tasks c < chunks
//!                             for i in c*(n/step)/chunks*step .. (c+1)*(n/step)/chunks*step
//!                               <body>; out[i] = results
//! ```

use super::reduce::Operators;
use super::scan::Scan;
use crate::Result;
use crate::cpu::CpuSchedule;
use crate::emitter::Emitter;
use crate::mems::{Body, Lambda, Param, Seg};
use crate::schedule::Generator;
use analysis::cost::{Cost, Counts};
use analysis::{cost, statements};
use imp::build::{Operand, max, product};
use imp::{Expr, For, LoopMode, Stmt, Var, bind, emit};
use ir::facts::FactFlag;
use ir::mem::{Block, MemAnn, MemOp};
use ir::name::Name;
use ir::seg::{Decomp, SegKind, SegOp};
use ir::syntax::{Atom, Aux, Exp};
use ir::types::Dim;
use ir::walk::{binders, free_names};
use ir::{PassError, Prov};
use rustc_hash::FxHashSet;
use target::chunks::{
    BLOCK_BYTES, CHUNK_WORK, ELEMENT_WORK, JAMMED_CHUNK, LANES_CHUNK, MAX_ALLOCATING_CHUNKS, MIN_FULL_CHUNKS,
    MIN_JAMMED_CHUNKS, MIN_LANES_CHUNK,
};
use target::levels::LevelId;
use target::memories::Allocation;
use target::{LANES, TRIPS};

/// The one dimension of a segop, and further properties that all its kinds share.
#[derive(Clone)]
pub(crate) struct SegSpace<'s> {
    pub(crate) index: Name,
    pub(crate) dims: &'s [(Name, Dim)],
    pub(crate) width: Operand,
    pub(crate) body: &'s Body,
    pub(crate) decomp: Decomp,
    pub(crate) prov: Prov,
    /// True if the iterations of a chunk may run in any order, also concurrently: the body keeps no
    /// memory of its own and scatters nothing, and no two iterations update the same element. A
    /// histogram's updates are not part of the body.
    pub(crate) independent: bool,
    /// The identity (no-op) predicate: true for iterations that leave the reduced values unchanged.
    pub(crate) identity_predicate: Option<&'s Lambda>,
    /// True if iterations should run in vector lanes.
    pub(crate) vectorised: bool,
}

impl SegSpace<'_> {
    /// The same space with sequential iterations.
    pub(crate) fn sequential(&self) -> Self {
        Self { independent: false, ..self.clone() }
    }
}

impl Generator<'_, CpuSchedule> {
    pub(super) fn seg(&mut self, pat: &[Param], aux: &Aux, seg: &Seg) -> Result {
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
            dims: &space.dims,
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
                    (true, LevelId::Lanes) => self.seg_red_lanes(pat, &space, &operators),
                    (true, _) => self.seg_red(pat, &space, &operators),
                    (false, level) => {
                        let after = aux.facts.has(FactFlag::PostScanIndependent);
                        let scan = Scan::of(pat, &space, scan_reduce, &operators, after);
                        if level == LevelId::Lanes {
                            self.seg_scan_lanes(&scan)
                        } else {
                            self.seg_scan(&scan)
                        }
                    }
                }
            }
            _ if *level == LevelId::Lanes => {
                Err(PassError::bug("only reductions and scans run on the lanes of one worker"))
            }
            SegKind::ScanReduce(_) if aux.facts.has(FactFlag::SharedColumns) => {
                self.seg_map_in_blocks(pat, &space)
            }
            SegKind::ScanReduce(_) => self.seg_map(pat, &space),
            SegKind::Hist(ops) => self.seg_hist(&space, ops),
            SegKind::FlatMap => self.seg_flat_map(pat, &space, ret),
        }
    }

    fn seg_map(&mut self, pat: &[Param], space: &SegSpace<'_>) -> Result {
        let distinct = self.unaliased_blocks(pat, space.body)?;
        let cost = self.cost(space)?;
        let decomp = space.decomp;
        bind!(n = self(space.width));
        // The cost of iterations that allocate may vary widely.
        let alone = allocates(space.body);
        let together = if alone { MIN_LANES_CHUNK } else { LANES_CHUNK };
        let most = if alone { MAX_ALLOCATING_CHUNKS } else { decomp.max_chunks };
        let step = if space.vectorised {
            MIN_LANES_CHUNK.into()
        } else if self.in_task() && space.independent {
            // There are enclosing tasks: full lanes matter more than many chunks.
            self.chunk_step(n, 1, MIN_LANES_CHUNK)
        } else if decomp.grain_size < LANES_CHUNK {
            let few = self.chunk_step(n, LANES_CHUNK, together);
            let few = if reduces_in_lanes(space.body) {
                let jammed = self.chunk_step(n, MIN_JAMMED_CHUNKS, JAMMED_CHUNK);
                self.bind(max(few, jammed), "step")
            } else {
                few
            };
            self.lane_step(space, n, few, min_lanes(pat))
        } else {
            LANES_CHUNK.into()
        };
        let grain = max(self.grain_size(decomp, n)?, step);
        let chunks = self.n_chunks(n, grain, most);
        bind!(cost = self(cost));
        self.for_tasks(("segmap", space.prov), chunks, cost, distinct, |g, c| {
            let (lo, hi) = g.stepped_bounds(n, step, chunks, c);
            if let Some(scatter) = g.scatter(space) {
                return g.scatter_chunk(&scatter, space, lo, hi);
            }
            g.iterations(space, lo, hi, |g, results| g.write_elements(pat, space.dims, &results))
        })?;
        Ok(())
    }

    /// The iterations `lo..hi` in sequence: the body, then `f` with its results.
    pub(crate) fn iterations(
        &mut self,
        space: &SegSpace<'_>,
        lo: Operand,
        hi: Operand,
        f: impl FnOnce(&mut Self, Vec<Atom>) -> Result,
    ) -> Result {
        let var = self.bind_index(space.index);
        let body = self.collect(|g| g.iteration(space.body, f))?;
        let how = LoopMode::Seq { independent: space.independent };
        self.emit(Stmt::For(For { mode: how, var, from: lo.into(), to: hi.into(), body }));
        Ok(())
    }

    /// `count` iterations from `first` on, independent of each other: the body, then `f` with the
    /// iteration's number and its results.
    pub(crate) fn independent_iterations(
        &mut self,
        space: &SegSpace<'_>,
        first: Operand,
        count: impl Into<Expr>,
        f: impl FnOnce(&mut Self, Var, Vec<Atom>) -> Result,
    ) -> Result {
        emit!(for w in self.independent(0..count) {
            self.set_index(space.index, first + w);
            self.iteration(space.body, |g, results| f(g, w, results))?;
        });
        Ok(())
    }

    /// The blocks of result arrays that the body does not read.
    pub(crate) fn unaliased_blocks(&self, pat: &[Param], body: &Body) -> Result<Vec<Var>> {
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
    fn lane_step(&mut self, space: &SegSpace<'_>, n: Operand, few: Operand, lanes: i64) -> Operand {
        let sizes = Sizes::before(self, space);
        let cost = cost::iteration(space.body, space.decomp, &sizes);
        let calls = cost.calls;
        let cost = cost.total_in(&sizes);
        if !space.independent || calls || !cost.is_known {
            return few;
        }
        let cost = max(cost.value, 1);
        bind!(enough = self(Expr::i64(CHUNK_WORK * LANES) / cost));
        let enough = self.chunk_step(enough, 1, LANES_CHUNK);
        let full = self.chunk_step(n, MIN_FULL_CHUNKS, lanes);
        let few = max(few, full);
        self.bind(max(few, enough), "step")
    }

    /// The estimated cost of a segop in nanoseconds. If the body calls recursive functions, it is
    /// negative: its absolute value is a lower bound, not below the time to read all elements that
    /// the functions may be called with.
    pub(crate) fn cost(&mut self, space: &SegSpace<'_>) -> Result<Operand> {
        let sizes = Sizes::before(self, space);
        let iteration_cost = cost::iteration(space.body, space.decomp, &sizes).total_in(&sizes);
        let mut cost = space.width * iteration_cost.value / 16;
        if statements::any(
            space.body,
            &|stm| matches!(&stm.exp, Exp::Apply { fun, .. } if self.shared.recursive[fun.index()]),
        ) {
            let mut elements = Expr::i64(0);
            for name in free_names(space.body) {
                if let Ok((ty, _, _)) = self.location(name) {
                    let extents = self.extents(ty.shape())?;
                    elements = elements + product(extents);
                }
            }
            let least = max(cost, elements * ELEMENT_WORK);
            cost = 0 - least;
        }
        Ok(self.bind(cost, "cost"))
    }
}

/// A cost as an expression; `is_known` is false if it contains assumed sizes.
struct RunTimeCost {
    value: Expr,
    is_known: bool,
}

/// Costs over the sizes that are bound before a segop.
struct Sizes<'g> {
    emitter: &'g Emitter<'g>,
    /// Names bound in the segop: an earlier copy of its body may have given them variables.
    inside: FxHashSet<Name>,
}

impl<'g> Sizes<'g> {
    fn before(emitter: &'g Emitter<'g>, space: &SegSpace<'_>) -> Self {
        Self { emitter, inside: binders(space.body).into_iter().collect() }
    }
}

impl Counts for Sizes<'_> {
    type Cost = RunTimeCost;

    fn constant(&self, cost: i64) -> RunTimeCost {
        RunTimeCost { value: Expr::i64(cost), is_known: true }
    }

    fn size(&self, size: Option<Atom>) -> RunTimeCost {
        let known = match size {
            Some(Atom::Const(n)) => Some(Expr::i64(n.as_i64().unwrap_or(1).max(0))),
            Some(Atom::Var(name)) if self.emitter.is_bound(name) && !self.inside.contains(&name) => {
                self.emitter.var(name).ok().map(Expr::Var)
            }
            Some(Atom::Var(_)) | None => None,
        };
        let is_known = known.is_some();
        RunTimeCost { value: known.unwrap_or(Expr::i64(TRIPS)), is_known }
    }

    fn add(&self, x: RunTimeCost, y: RunTimeCost) -> RunTimeCost {
        RunTimeCost { value: x.value + y.value, is_known: x.is_known && y.is_known }
    }

    /// The constant parts are compared here, so that little is computed at run time.
    fn branch(&self, x: Cost<RunTimeCost>, y: Cost<RunTimeCost>) -> Cost<RunTimeCost> {
        x.combined(y, i64::max, |x, y| RunTimeCost {
            value: max(x.value, y.value),
            is_known: x.is_known && y.is_known,
        })
    }

    fn times(&self, count: RunTimeCost, cost: RunTimeCost) -> RunTimeCost {
        RunTimeCost { value: count.value * cost.value, is_known: count.is_known && cost.is_known }
    }

    /// Lanes inside leave none for the iterations around them.
    fn in_lanes(&self, cost: RunTimeCost) -> RunTimeCost {
        RunTimeCost { value: cost.value / LANES, is_known: false }
    }
}

/// Returns true if iterations contain operations in lanes.
fn reduces_in_lanes(body: &Body) -> bool {
    statements::any(
        body,
        &|stm| matches!(&stm.exp, Exp::Op(MemOp::Seg(SegOp::Seg(seg))) if seg.level == LevelId::Lanes),
    )
}

/// The minimum number of lanes that iterations with these results should fill: the lanes of a
/// register of the widest element type.
fn min_lanes(pat: &[Param]) -> i64 {
    let sizes = pat.iter().filter_map(|param| Some(param.ty.elem()?.size()));
    let widest = sizes.max().unwrap_or(BLOCK_BYTES);
    ((BLOCK_BYTES / widest.max(1)) as i64).clamp(LANES, MIN_LANES_CHUNK)
}

/// Returns true if a body allocates blocks of its own.
fn allocates(body: &Body) -> bool {
    let heap = Allocation::Heap;
    statements::any(
        body,
        &|stm| matches!(stm.exp, Exp::Op(MemOp::Alloc { memory, .. }) if memory.allocation == heap),
    )
}
