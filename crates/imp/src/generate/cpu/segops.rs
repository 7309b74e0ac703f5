//! Segops: at level 1 tasks over chunks of points, a loop over the points inside;
//! at level 0 that loop alone.
//!
//! ```text
//! segmap (i < n) { .. }     chunks = clamp(n / max(grain, step), 1, max)
//!                           for tasks c < chunks
//!                             for i in c*(n/step)/chunks*step .. (c+1)*(n/step)/chunks*step
//!                               <body>; out[i] = results
//! ```

use super::reduce::Operators;
use super::scan::Scan;
use crate::generate::expr::{add, div, max, mul, sub};
use crate::generate::function::Gen;
use crate::syntax::{Expr, For, How, Stmt, Var};
use ir::facts::Mark;
use ir::mem::{Block, MemAnn, MemOp};
use ir::name::Name;
use ir::seg::{Decomp, Seg, SegKind, SegOp};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, LoopForm, Param, Stm};
use ir::types::{Dim, Space as MemSpace};
use ir::walk::{free_names, sub_bodies, with_stack};
use ir::{Mems, PassError, Prov};
use prim::PrimType;
use target::tasks::{
    BLOCK_BYTES, CHUNK_WORK, ELEMENT_WORK, LANES_GRAIN, LANES_LEAST, LEAST_FULL, MOST_ALONE,
};
use target::{LANES, TRIPS, levels, time};

/// A segop's one dimension and what else its kinds share.
#[derive(Clone)]
pub(crate) struct Space<'s> {
    pub(crate) index: Name,
    pub(crate) width: Expr,
    pub(crate) body: &'s Body<Mems>,
    pub(crate) decomp: Decomp,
    pub(crate) prov: Prov,
    /// Whether points may run in any order within a chunk, side by side too:
    /// the body keeps nothing in memory of its own and scatters nothing, and no
    /// two points update the same place. A histogram's updates are behind the body.
    pub(crate) independent: bool,
    /// Tells points that leave what was folded as it is, if something does.
    pub(crate) keeps: Option<&'s Lambda<Mems>>,
    /// Whether points should run in lanes.
    pub(crate) in_lanes: bool,
}

impl Space<'_> {
    /// The same, whose points go one after another.
    pub(crate) fn in_order(&self) -> Self {
        Self { independent: false, ..self.clone() }
    }
}

impl Gen<'_, '_> {
    /// A segop.
    pub(crate) fn seg(&mut self, pat: &[Param<Mems>], aux: &Aux, seg: &Seg<Mems>) -> Result<(), PassError> {
        if self.device.is_some() {
            return self.device_seg(pat, aux, seg);
        }
        let Seg { level, space, kind, body, ret, decomp, keeps } = seg;
        let prov = aux.prov;
        let [(index, width)] = space.dims.as_slice() else {
            return Err(PassError::unsupported(
                "segmented operations over several dimensions",
                self.function.provs.stack(prov),
            ));
        };
        let width = self.dim(*width)?;
        let space = Space {
            index: *index,
            width,
            body,
            decomp: *decomp,
            prov,
            independent: aux.facts.has(Mark::Independent),
            keeps: keeps.as_ref(),
            in_lanes: space.lane.is_some(),
        };
        for param in pat {
            self.note(param);
        }
        match kind {
            SegKind::Folds(folds) if decomp.writes > 0 => {
                let operators = Operators::of(folds)?;
                self.seg_combining(pat, &space, &operators)
            }
            SegKind::Folds(folds) if !folds.is_map() => {
                let operators = Operators::of(folds)?;
                let plain = folds.scans.is_empty() && folds.post.is_none();
                match (plain, *level) {
                    (true, levels::LANES) => self.seg_red_here(pat, &space, &operators),
                    (true, _) => self.seg_red(pat, &space, &operators),
                    (false, level) => {
                        let after = aux.facts.has(Mark::After);
                        let scan = Scan::of(pat, &space, folds, &operators, after);
                        if level == levels::LANES { self.seg_scan_here(&scan) } else { self.seg_scan(&scan) }
                    }
                }
            }
            _ if *level == levels::LANES => {
                Err(PassError::bug("lanes of one worker share reductions and scans only"))
            }
            SegKind::Folds(_) => self.seg_map(pat, &space),
            SegKind::Hist(ops) => self.seg_hist(&space, ops),
            SegKind::FlatMap => self.seg_flat_map(pat, &space, ret),
        }
    }

    fn seg_map(&mut self, pat: &[Param<Mems>], space: &Space<'_>) -> Result<(), PassError> {
        let distinct = self.distinct(pat, space.body)?;
        let cost = self.cost(space)?;
        let decomp = space.decomp;
        let n = self.name_value(space.width.clone(), PrimType::I64, "n");
        // Points that allocate may differ much.
        let alone = allocates(space.body);
        let together = if alone { LANES_LEAST } else { LANES_GRAIN };
        let most = if alone { MOST_ALONE } else { decomp.max_chunks };
        let step = if space.in_lanes {
            Expr::i64(LANES_LEAST)
        } else if self.in_task() && space.independent {
            // There are tasks around: that points fill lanes matters more than that there
            // are many.
            self.step(n.clone(), 1, LANES_LEAST)
        } else if decomp.grain < LANES_GRAIN {
            let few = self.step(n.clone(), LANES_GRAIN, together);
            self.enough_work(space, n.clone(), few, lanes_of(pat))?
        } else {
            Expr::i64(LANES_GRAIN)
        };
        let grain = max(self.grain(decomp, &n)?, step.clone());
        let chunks = self.n_chunks(n.clone(), grain, most);
        let cost = self.name_value(cost, PrimType::I64, "cost");
        self.for_tasks("segmap", space.prov, chunks.clone(), cost, distinct, |g, c| {
            let (lo, hi) = g.stepped_bounds(n, step, chunks, Expr::Var(c));
            if let Some(scatter) = g.scatter(space) {
                return g.scatter_points(&scatter, space, lo, hi);
            }
            g.points(space, lo, hi, |g, results| g.write_point(pat, space, &results))
        })?;
        Ok(())
    }

    /// The points `lo..hi` in order: the body, then `f` with its results.
    pub(crate) fn points(
        &mut self,
        space: &Space<'_>,
        lo: Expr,
        hi: Expr,
        f: impl FnOnce(&mut Self, Vec<Atom>) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let var = self.bind_index(space.index);
        let body = self.collect(|g| g.point(space.body, f))?;
        let how = How::Seq { independent: space.independent };
        self.emit(Stmt::For(For { how, var, from: lo, to: hi, body }));
        Ok(())
    }

    /// One point, its index bound before: the body, then `f`.
    pub(crate) fn point(
        &mut self,
        body: &Body<Mems>,
        f: impl FnOnce(&mut Self, Vec<Atom>) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let results = self.body(body)?;
        f(self, results)?;
        self.release_bound(body)
    }

    /// Writes a point's results into the arrays of the pattern.
    pub(crate) fn write_point(
        &mut self,
        pat: &[Param<Mems>],
        space: &Space<'_>,
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
            self.write(&param.ty, *block, lmad, &slice, value)?;
        }
        Ok(())
    }

    /// Blocks of result arrays that nothing in the body reads.
    pub(crate) fn distinct(&self, pat: &[Param<Mems>], body: &Body<Mems>) -> Result<Vec<Var>, PassError> {
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

    /// At least `few` points, a power of two, and where it is known before the segop what
    /// a point costs, so many that it takes some work to compute them in lanes, and that
    /// lanes are filled while there are still some chunks: a lane more costs nothing then.
    fn enough_work(&mut self, space: &Space<'_>, n: Expr, few: Expr, lanes: i64) -> Result<Expr, PassError> {
        if !space.independent || !self.is_bounded(space.body) {
            return Ok(few);
        }
        let point = max(self.point_cost(space)?, Expr::i64(1));
        let enough = div(Expr::i64(CHUNK_WORK * LANES), point);
        let enough = self.name_value(enough, PrimType::I64, "enough");
        let enough = self.step(enough, 1, LANES_GRAIN);
        let full = self.step(n, LEAST_FULL, lanes);
        let few = max(few, full);
        Ok(self.name_value(max(few, enough), PrimType::I64, "step"))
    }

    /// What a point is estimated to cost, in sixteenths of a nanosecond.
    fn point_cost(&self, space: &Space<'_>) -> Result<Expr, PassError> {
        self.body_cost(space.body, space.decomp)
    }

    /// What a segop's point is estimated to cost, as above: by its loops and the segops in
    /// it, or as was estimated before if there are none.
    fn body_cost(&self, body: &Body<Mems>, decomp: Decomp) -> Result<Expr, PassError> {
        Ok(match self.loop_cost(body)? {
            Some(loops) => add(Expr::i64(statements(&body.stms)), loops),
            None => Expr::i64(decomp.cost),
        })
    }

    /// How often a loop runs, where that is known before the segop.
    fn trips(&self, form: &LoopForm) -> Option<Expr> {
        match *form {
            LoopForm::For { bound: Atom::Var(name), ty: PrimType::I64, .. } if self.is_bound(name) => {
                self.var(name).ok().map(Expr::Var)
            }
            LoopForm::For { bound: Atom::Const(n), .. } => Some(Expr::i64(n.as_i64().unwrap_or(1).max(0))),
            LoopForm::For { .. } | LoopForm::While { .. } => None,
        }
    }

    /// Whether the cost of a body is known before the segop, as its loops' bounds are.
    fn is_bounded(&self, body: &Body<Mems>) -> bool {
        body.stms.iter().all(|stm| match &stm.exp {
            Exp::Basic(_) => true,
            Exp::If { cond: _, then_body, else_body } => {
                self.is_bounded(then_body) && self.is_bounded(else_body)
            }
            Exp::Loop { params: _, form, body } => self.trips(form).is_some() && self.is_bounded(body),
            Exp::Op(MemOp::Alloc { .. }) => true,
            Exp::Apply { .. } | Exp::Op(_) => false,
        })
    }

    /// The estimated cost of a segop in nanoseconds. Where functions are called that call
    /// themselves, it is negative: at least so much, but no less than it takes to
    /// look at all elements that they may be called with.
    pub(crate) fn cost(&mut self, space: &Space<'_>) -> Result<Expr, PassError> {
        let point = self.point_cost(space)?;
        let mut cost = div(mul(space.width.clone(), point), Expr::i64(16));
        if self.recurs(space.body) {
            let mut elements = Expr::i64(0);
            for name in free_names(space.body) {
                if let Ok((ty, _, _)) = self.place(name) {
                    let extents = self.extents(ty.shape())?;
                    elements = add(elements, extents.into_iter().fold(Expr::i64(1), mul));
                }
            }
            let least = max(cost, mul(elements, Expr::i64(ELEMENT_WORK)));
            cost = sub(Expr::i64(0), least);
        }
        Ok(self.name_value(cost, PrimType::I64, "cost"))
    }

    /// Whether functions are called in a body that may call themselves.
    fn recurs(&self, body: &Body<Mems>) -> bool {
        with_stack(|| {
            body.stms.iter().any(|stm| {
                let mut found = match &stm.exp {
                    Exp::Apply { fun, .. } => self.shared.recursive.contains(fun),
                    Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Op(_) => false,
                };
                sub_bodies(&stm.exp, |body| found = found || self.recurs(body));
                found
            })
        })
    }

    /// What loops and segops, whose turns and widths may be known before the segop around
    /// them, add to the cost of a point, in sixteenths of a nanosecond; `None` if there are
    /// none.
    fn loop_cost(&self, body: &Body<Mems>) -> Result<Option<Expr>, PassError> {
        let mut sum: Option<Expr> = None;
        for stm in &body.stms {
            let more = match &stm.exp {
                Exp::Loop { params: _, form, body } => {
                    let inner = match self.loop_cost(body)? {
                        Some(inner) => add(Expr::i64(statements(&body.stms)), inner),
                        None => Expr::i64(statements(&body.stms)),
                    };
                    let trips = self.trips(form).unwrap_or(Expr::i64(TRIPS));
                    Some(mul(trips, inner))
                }
                Exp::If { cond: _, then_body, else_body } => {
                    match (self.loop_cost(then_body)?, self.loop_cost(else_body)?) {
                        (Some(a), Some(b)) => Some(max(a, b)),
                        (a, b) => a.or(b),
                    }
                }
                Exp::Op(MemOp::Seg(SegOp::Seg(seg))) => {
                    let points = match seg.space.dims.last() {
                        Some((_, Dim::Var(name))) if self.is_bound(*name) => Expr::Var(self.var(*name)?),
                        Some((_, Dim::Const(n))) => Expr::i64(*n),
                        Some((_, Dim::Var(_) | Dim::Ext(_))) | None => Expr::i64(TRIPS),
                    };
                    let all = mul(points, self.body_cost(&seg.body, seg.decomp)?);
                    let shared = seg.level == levels::LANES;
                    Some(if shared { div(all, Expr::i64(LANES)) } else { all })
                }
                Exp::Basic(_) | Exp::Apply { .. } | Exp::Op(_) => None,
            };
            sum = match (sum, more) {
                (Some(a), Some(b)) => Some(add(a, b)),
                (a, b) => a.or(b),
            };
        }
        Ok(sum)
    }
}

/// How many lanes points of these results fill at least: those of a register of the widest.
fn lanes_of(pat: &[Param<Mems>]) -> i64 {
    let sizes = pat.iter().filter_map(|param| Some(param.ty.elem()?.size()));
    let widest = sizes.max().unwrap_or(BLOCK_BYTES);
    ((BLOCK_BYTES / widest.max(1)) as i64).clamp(LANES, LANES_LEAST)
}

/// Whether a body allocates blocks of its own.
fn allocates(body: &Body<Mems>) -> bool {
    with_stack(|| {
        body.stms.iter().any(|stm| {
            let host = MemSpace::Host;
            let mut found = matches!(stm.exp, Exp::Op(MemOp::Alloc { space, .. }) if space == host);
            sub_bodies(&stm.exp, |body| found = found || allocates(body));
            found
        })
    })
}

/// The cost of statements, without loops in them, in sixteenths of a nanosecond.
fn statements(stms: &[Stm<Mems>]) -> i64 {
    stms.iter()
        .map(|stm| match &stm.exp {
            // Its memory is there already.
            Exp::Basic(BasicOp::Scratch { .. }) => 0,
            Exp::Basic(op) => ir::cost::basic(op),
            Exp::If { cond: _, then_body, else_body } => {
                statements(&then_body.stms).max(statements(&else_body.stms))
            }
            Exp::Loop { .. } | Exp::Op(MemOp::Seg(SegOp::Seg(Seg { level: levels::LANES, .. }))) => {
                time::LOOP
            }
            Exp::Apply { .. } | Exp::Op(_) => time::CALL,
        })
        .sum()
}
