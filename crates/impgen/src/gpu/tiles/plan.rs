//! The plan for the tiles of a segmap, or of a reduction over segments: the loops that are executed
//! from tiles are those with shared reads, a fact of the operations ([`SharedRead`]).

use crate::mems::{Body, LoopParam, ScanReduce, Seg, Stm};
use ir::facts::{SharedBy, SharedRead};
use ir::name::Name;
use ir::syntax::{Atom, Exp, LoopForm};
use prim::PrimType;

/// An element that iterations share.
pub(super) struct TileRead<'s> {
    /// The name it is bound to.
    pub(super) name: Name,
    pub(super) elem: PrimType,
    pub(super) shared: &'s SharedRead,
    /// True if the elements of consecutive loop iterations are neighbours in memory.
    pub(super) along_loop: bool,
}

/// A loop that reads shared elements.
pub(super) struct SharedLoop<'s> {
    /// The index of its statement in the body.
    pub(super) at: usize,
    pub(super) params: &'s [LoopParam],
    pub(super) counter: Name,
    pub(super) bound: Atom,
    pub(super) body: &'s Body,
    pub(super) reads: Vec<TileRead<'s>>,
}

/// The loops whose reads are shared, and the dimensions along which they are.
pub(in crate::gpu) struct TilingPlan<'s> {
    /// The loops, in program order; at least one.
    pub(super) loops: Vec<SharedLoop<'s>>,
    /// True if reads are shared in two dimensions, otherwise along the innermost one.
    pub(super) square: bool,
    /// True if a thread has enough registers for several iterations.
    pub(super) is_small: bool,
}

/// The maximum size of iterations of which a thread runs several: values carried by the loop,
/// statements of its body, statements of the segop's body.
const SMALL: (usize, usize, usize) = (2, 16, 8);

impl<'s> TilingPlan<'s> {
    /// The plan for a segmap, if its iterations share reads.
    pub(super) fn of_map(seg: &'s Seg) -> Option<Self> {
        let mut loops = Vec::new();
        for (at, stm) in seg.body.stms.iter().enumerate() {
            if let Exp::Loop { params, form: LoopForm::For { var: counter, ty: _, bound }, body } = &stm.exp {
                let (counter, bound, reads) = (*counter, *bound, tile_reads(body, *counter));
                loops.push(SharedLoop { at, params, counter, bound, body, reads });
            }
        }
        loops.retain(|shared| !shared.reads.is_empty());
        let (carried, statements, outer_statements) = SMALL;
        let is_small = matches!(loops.as_slice(), [one] if one.params.len() <= carried
            && is_straight_line(one.body, statements))
            && seg.body.stms.len() <= outer_statements;
        let mut reads = loops.iter().flat_map(|shared| &shared.reads);
        let square = reads.any(|read| read.shared.by == SharedBy::Row);
        (!loops.is_empty()).then_some(Self { loops, square, is_small })
    }

    /// The plan for a reduction, with the innermost dimension as the loop, if its segments share
    /// reads.
    pub(in crate::gpu) fn of_reduction(seg: &'s Seg, scan_reduce: &ScanReduce) -> Option<Self> {
        let (counter, width) = *seg.space.dims.last()?;
        let reads = tile_reads(&seg.body, counter);
        if reads.is_empty() {
            return None;
        }
        let (carried, statements, _) = SMALL;
        let is_small = scan_reduce.n_reduced() <= carried
            && is_straight_line(&seg.body, statements)
            && scan_reduce.lambdas().all(|op| is_straight_line(&op.body, statements));
        let bound = width.atom()?;
        let shared = SharedLoop { at: 0, params: &[], counter, bound, body: &seg.body, reads };
        Some(Self { loops: vec![shared], square: true, is_small })
    }
}

/// The shared reads of a loop body.
fn tile_reads(body: &Body, counter: Name) -> Vec<TileRead<'_>> {
    body.stms.iter().filter_map(|stm| tile_read(stm, counter)).collect()
}

fn tile_read(stm: &Stm, counter: Name) -> Option<TileRead<'_>> {
    let (shared, [param]) = (stm.aux.facts.shared()?, stm.pat.as_slice()) else {
        return None;
    };
    let along_loop = matches!(shared.offset.step(counter)?.as_constant(), Some(-1 | 1));
    Some(TileRead { name: param.name, elem: param.ty.elem()?, shared, along_loop })
}

/// Returns true if a body has at most `most` statements, none with a body of its own.
pub(in crate::gpu) fn is_straight_line(body: &Body, most: usize) -> bool {
    let is_basic = |stm: &Stm| matches!(stm.exp, Exp::Basic(_));
    body.stms.len() <= most && body.stms.iter().all(is_basic)
}
