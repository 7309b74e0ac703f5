//! Shared reads: the elements read by the loops of an iteration that do not depend on one of the two
//! innermost dimensions of the space. For a reduction, the iterations are its segments, and the
//! loop is its innermost dimension.
//!
//! ```text
//! segmap (i < n, j < m) { loop for k < l { a[i, k]   by row: the same for all j
//!                                          b[k, j]   by column: the same for all i
//!                                          w[k] } }  by loop counter: the same for all iterations
//! ```
//!
//! The location of an element is a polynomial in names, after substituting the sums and products
//! that the iteration computes. The element can be loaded by another thread than that of its
//! iteration if these names are the space's indices, the loop's counter, and names bound outside of
//! the segop; and it can be loaded before the loop iteration if the loop reads it in every
//! iteration, and relies on no check made inside the loop.
//!
//! Such loops are in the body of the segop itself, count from 0 to a bound known outside of it, and
//! carry scalars. Iterations only compute scalars ([`FactFlag::Scalars`]), so that a thread without
//! an iteration may run another thread's: all it does then is read. The blocks read are disjoint
//! from the blocks of the results.

use super::Locations;
use analysis::affine::{MAX_TERMS, Values, Widths};
use ir::facts::{FactFlag, Facts, SharedBy, SharedRead};
use ir::mem::{Block, Lmad, MemAnn, MemOp, view};
use ir::name::Name;
use ir::poly::Poly;
use ir::seg::{Seg, SegKind};
use ir::syntax::{BasicOp, Body, Exp, LoopForm, Param, Stm};
use ir::types::Type;
use ir::walk::{Visit, binders};
use ir::{Fuel, Mems};
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};

/// Marks a kernel with these results if its iterations only compute scalars, and then its shared
/// reads.
pub(super) fn mark(
    pat: &[Param<Mems>],
    facts: &mut Facts,
    seg: &mut Seg<Mems>,
    locations: &Locations,
    fuel: &mut Fuel,
) {
    let SegKind::ScanReduce(scan_reduce) = &seg.kind else {
        return;
    };
    let inside: FxHashSet<Name> = binders(&seg.body).into_iter().collect();
    let scans = !scan_reduce.scans.is_empty() || scan_reduce.post.is_some();
    if scans || !is_scalar_only(pat, seg, &inside, locations) || !fuel.take() {
        return;
    }
    facts.add(FactFlag::Scalars);
    let mut dims: Vec<Name> = seg.space.dims.iter().map(|(index, _)| *index).collect();
    let is_map = scan_reduce.is_map();
    let is_mapped = !scan_reduce.values(&seg.ret).mapped.is_empty();
    let counter = if is_map { None } else { dims.pop() };
    let mut iteration = Iteration { locations, inside: &inside, dims, scalars: Values::new(Widths::Exact) };
    let mut reads = match counter {
        None => iteration.reads_of_loops(&seg.body),
        Some(_) if is_mapped => Vec::new(),
        Some(counter) => iteration.reads(&seg.body, counter),
    };
    let has = |by| reads.iter().any(|(_, read)| read.by == by);
    let square = iteration.dims.len() >= 2 && has(SharedBy::Row) && has(SharedBy::Column);
    if !square {
        // Elements that depend on the other dimension are the same along the innermost one.
        reads.retain(|(_, read)| is_map && read.by != SharedBy::Column);
        reads.iter_mut().for_each(|(_, read)| read.by = SharedBy::Loop);
    }
    let reads: FxHashMap<Name, SharedRead> = reads.into_iter().collect();
    if reads.is_empty() || !fuel.take() {
        return;
    }
    set(&mut seg.body, reads);
}

/// Records the reads with their statements, by the names that these bind.
fn set(body: &mut Body<Mems>, mut reads: FxHashMap<Name, SharedRead>) {
    for stm in &mut body.stms {
        if let Exp::Loop { body, .. } = &mut stm.exp {
            for stm in &mut body.stms {
                let read = stm.pat.first().and_then(|param| reads.remove(&param.name));
                read.into_iter().for_each(|read| stm.aux.facts.set_shared(read));
            }
        } else if let Some(read) = stm.pat.first().and_then(|param| reads.remove(&param.name)) {
            stm.aux.facts.set_shared(read);
        }
    }
}

/// Returns true if iterations only compute scalars, from memory that the segop does not write.
fn is_scalar_only(
    pat: &[Param<Mems>],
    seg: &Seg<Mems>,
    inside: &FxHashSet<Name>,
    locations: &Locations,
) -> bool {
    let written = pat.iter().filter_map(|param| block_of(&param.ann)).collect();
    let fits = seg.ret.iter().all(Type::is_prim);
    let mut scalars = ScalarOnly { inside, written, locations, fits };
    scalars.body(&seg.body);
    scalars.fits
}

/// A visitor that checks that iterations only compute scalars.
struct ScalarOnly<'p> {
    inside: &'p FxHashSet<Name>,
    written: FxHashSet<Name>,
    locations: &'p Locations,
    fits: bool,
}

impl Visit<Mems> for ScalarOnly<'_> {
    fn stm(&mut self, stm: &Stm<Mems>) {
        self.fits &= match &stm.exp {
            Exp::Basic(BasicOp::UpdateAcc { .. }) => false,
            Exp::Basic(BasicOp::Index { array, .. }) => {
                let block = self.locations.arrays.get(array).and_then(|(_, ann)| block_of(ann));
                !block.is_some_and(|block| self.written.contains(&block))
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } => true,
            Exp::Op(MemOp::Alloc { .. } | MemOp::Transfer { .. } | MemOp::Seg(_)) => false,
        };
        let is_view = matches!(
            stm.exp,
            Exp::Basic(BasicOp::Atom(_) | BasicOp::Opaque(_) | BasicOp::Index { .. } | ir::view_op!())
        );
        for param in &stm.pat {
            self.fits &= match (&param.ty, block_of(&param.ann)) {
                (Type::Prim(_) | Type::Cert, _) => true,
                // A view of an array that is allocated outside.
                (Type::Array { .. }, Some(block)) => {
                    is_view && !self.inside.contains(&block) && !self.written.contains(&block)
                }
                _ => false,
            };
        }
        self.walk_stm(stm);
    }
}

/// The block of an array.
const fn block_of(ann: &MemAnn) -> Option<Name> {
    match ann {
        MemAnn::In { block: Block::Var(block), lmad: _ } => Some(*block),
        MemAnn::In { block: Block::Ext(_), lmad: _ } | MemAnn::None => None,
    }
}

/// The known values of an iteration's names.
struct Iteration<'p> {
    locations: &'p Locations,
    inside: &'p FxHashSet<Name>,
    /// The indices of the space.
    dims: Vec<Name>,
    /// The iteration's integers.
    scalars: Values,
}

impl Iteration<'_> {
    /// The shared reads of the loops of a body.
    fn reads_of_loops(&mut self, body: &Body<Mems>) -> Vec<(Name, SharedRead)> {
        let mut reads = Vec::new();
        for stm in &body.stms {
            self.record(stm);
            if let Exp::Loop { params, form, body } = &stm.exp
                && let LoopForm::For { var: counter, ty: PrimType::I64, bound } = *form
                && bound.var().is_none_or(|name| self.is_outside(name))
                && params.iter().all(|p| p.param.ty.is_prim())
            {
                reads.extend(self.reads(body, counter));
            }
        }
        reads
    }

    /// The shared reads of a loop body.
    fn reads(&mut self, body: &Body<Mems>, counter: Name) -> Vec<(Name, SharedRead)> {
        let checks: FxHashSet<Name> = binders(body).into_iter().collect();
        let mut reads = Vec::new();
        for stm in &body.stms {
            self.record(stm);
            let certain = !stm.aux.certs.iter().any(|cert| checks.contains(cert));
            reads.extend(self.read(stm, counter).filter(|_| certain));
        }
        reads
    }

    fn is_outside(&self, name: Name) -> bool {
        !self.inside.contains(&name) && !self.dims.contains(&name)
    }

    /// Records the value of a statement's name, if it is a sum or a product.
    fn record(&mut self, stm: &Stm<Mems>) {
        let (Exp::Basic(op), [param]) = (&stm.exp, stm.pat.as_slice()) else {
            return;
        };
        if param.ty == Type::I64 {
            self.scalars.record(param.name, op);
        }
    }

    /// The element that a statement of a loop reads, if iterations share it.
    fn read(&self, stm: &Stm<Mems>, counter: Name) -> Option<(Name, SharedRead)> {
        let (Exp::Basic(op @ BasicOp::Index { array, .. }), [param]) = (&stm.exp, stm.pat.as_slice()) else {
            return None;
        };
        let (_, MemAnn::In { block: Block::Var(block), lmad }) = self.locations.arrays.get(array)? else {
            return None;
        };
        let (_, at): (_, Lmad) = view(op, &[], |_| Some(lmad.clone()))?;
        let offset = self.scalars.resolved(at.offset);
        let outside = !self.inside.contains(block) && offset.terms().len() <= MAX_TERMS;
        if !param.ty.is_prim() || !outside {
            return None;
        }
        let known = |name| name == counter || self.dims.contains(&name) || self.is_outside(name);
        if !offset.names().all(known) || offset.step(counter)? == Poly::default() {
            return None;
        }
        let uses = |back: usize| {
            let dim = self.dims.len().checked_sub(back).and_then(|at| self.dims.get(at));
            dim.is_some_and(|dim| offset.names().any(|name| name == *dim))
        };
        let by = match (uses(2), uses(1)) {
            (true, false) => SharedBy::Row,
            (false, true) => SharedBy::Column,
            (false, false) => SharedBy::Loop,
            (true, true) => return None,
        };
        Some((param.name, SharedRead { by, block: *block, offset }))
    }
}
