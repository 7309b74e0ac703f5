//! Analysis of shared reads: the elements read by the loops of a segmap's iterations that do not
//! depend on one of the two innermost dimensions of the space. For a reduction, the iterations are
//! its segments, and the loop is its innermost dimension.
//!
//! ```text
//! segmap (i < n, j < m) { loop for k < l { a[i, k]   by row: the same for all j
//!                                          b[k, j]   by column: the same for all i
//!                                          w[k] } }  by loop counter: the same for all iterations
//! ```
//!
//! The location of an element is a polynomial in names ([`Lmad`]), after substituting the sums and
//! products that the iteration computes. The element can be loaded by another thread than that of
//! its iteration if these names are the space's indices, the loop's counter, and names bound
//! outside of the segop; and it can be loaded before the loop iteration if the loop reads it in
//! every iteration, and relies on no check made inside the loop.
//!
//! Such loops are in the body of the segop itself, count from 0 to a bound known outside of it, and
//! carry scalars. Iterations have no arrays of their own and yield scalars, so that a thread
//! without an iteration may run another thread's: all it does then is read. The blocks read are
//! disjoint from the blocks of the results.

use crate::function::Gen;
use analysis::affine::{MAX_TERMS, Values, Widths};
use ir::Mems;
use ir::mem::{Block, Lmad, MemAnn, MemOp, view};
use ir::name::Name;
use ir::poly::Poly;
use ir::scan_reduce::ScanReduce;
use ir::seg::Seg;
use ir::syntax::{Atom, BasicOp, Body, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Visit, binders};
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};

/// The dependence of an element, besides the loop counter and outer dimensions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dependence {
    Row,
    Column,
    Loop,
}

/// An element that iterations share.
pub(super) struct SharedRead {
    /// The name it is bound to.
    pub(super) name: Name,
    pub(super) elem: PrimType,
    pub(super) block: Name,
    /// Its offset in the block.
    pub(super) offset: Poly,
    pub(super) by: Dependence,
    /// True if the elements of consecutive loop iterations are neighbours in memory.
    pub(super) along_loop: bool,
}

/// A loop that reads shared elements.
pub(super) struct SharedLoop<'s> {
    /// The index of its statement in the body.
    pub(super) at: usize,
    pub(super) params: &'s [LoopParam<Mems>],
    pub(super) counter: Name,
    pub(super) bound: Atom,
    pub(super) body: &'s Body<Mems>,
    pub(super) reads: Vec<SharedRead>,
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

impl Gen<'_, '_> {
    /// The plan for the shared reads of a segmap, if there are any.
    pub(super) fn tiling_plan<'s>(&self, pat: &[Param<Mems>], seg: &'s Seg<Mems>) -> Option<TilingPlan<'s>> {
        let inside: FxHashSet<Name> = binders(&seg.body).into_iter().collect();
        if !self.is_scalar_only(pat, seg, &inside) {
            return None;
        }
        let mut iteration = KnownValues::of(self, &inside, &seg.space.dims);
        let (all, outer) = (iteration.loops(&seg.body), seg.space.dims.len() >= 2);
        let has = |by| all.iter().any(|it| it.reads.iter().any(|read| read.by == by));
        let square = outer && has(Dependence::Row) && has(Dependence::Column);
        let mut loops = all;
        for shared in &mut loops {
            if square {
                continue;
            }
            // Elements that depend on the other dimension are the same along the innermost one.
            shared.reads.retain(|read| read.by != Dependence::Column);
            for read in &mut shared.reads {
                read.by = Dependence::Loop;
            }
        }
        loops.retain(|shared| !shared.reads.is_empty());
        let (carried, statements, outer_statements) = SMALL;
        let is_small = matches!(loops.as_slice(), [one] if one.params.len() <= carried
            && is_straight_line(one.body, statements))
            && seg.body.stms.len() <= outer_statements;
        (!loops.is_empty()).then_some(TilingPlan { loops, square, is_small })
    }

    /// The plan for the shared reads of a reduction's segments, with the innermost dimension as the
    /// loop, if they share in two dimensions.
    pub(in crate::gpu) fn reduction_tiling_plan<'s>(
        &self,
        pat: &[Param<Mems>],
        seg: &'s Seg<Mems>,
        scan_reduce: &ScanReduce<Mems>,
    ) -> Option<TilingPlan<'s>> {
        let (&(counter, width), outer) = seg.space.dims.split_last()?;
        let bound = match width {
            Dim::Const(n) => Atom::i64(n),
            Dim::Var(name) => Atom::Var(name),
            Dim::Ext(_) => return None,
        };
        let inside: FxHashSet<Name> = binders(&seg.body).into_iter().collect();
        let is_mapped = !scan_reduce.values(&seg.ret).mapped.is_empty();
        if is_mapped || outer.len() < 2 || !self.is_scalar_only(pat, seg, &inside) {
            return None;
        }
        let reads = KnownValues::of(self, &inside, outer).reads(&seg.body, counter);
        let has = |by| reads.iter().any(|read| read.by == by);
        if !has(Dependence::Row) || !has(Dependence::Column) {
            return None;
        }
        let (carried, statements, _) = SMALL;
        let is_small = scan_reduce.n_reduced() <= carried
            && is_straight_line(&seg.body, statements)
            && scan_reduce.lambdas().all(|op| is_straight_line(&op.body, statements));
        Some(TilingPlan {
            loops: vec![SharedLoop { at: 0, params: &[], counter, bound, body: &seg.body, reads }],
            square: true,
            is_small,
        })
    }

    /// Returns true if iterations are straight-line code of at most `most` statements, which compute
    /// scalars from memory that the segop does not write.
    pub(in crate::gpu) fn is_short(&self, pat: &[Param<Mems>], seg: &Seg<Mems>, most: usize) -> bool {
        if !is_straight_line(&seg.body, most) {
            return false;
        }
        let inside: FxHashSet<Name> = binders(&seg.body).into_iter().collect();
        self.is_scalar_only(pat, seg, &inside)
    }

    /// Returns true if iterations only compute scalars, from memory that the segop does not write.
    fn is_scalar_only(&self, pat: &[Param<Mems>], seg: &Seg<Mems>, inside: &FxHashSet<Name>) -> bool {
        let mut written = FxHashSet::default();
        for param in pat {
            if let MemAnn::In { block: Block::Var(block), .. } = &param.ann {
                written.insert(*block);
            }
        }
        let mut plain =
            ScalarOnly { inside, written: &written, g: self, fits: seg.ret.iter().all(Type::is_prim) };
        plain.body(&seg.body);
        plain.fits
    }
}

/// Returns true if a body has at most `most` statements, none with a body of its own.
fn is_straight_line(body: &Body<Mems>, most: usize) -> bool {
    let is_basic = |stm: &Stm<Mems>| matches!(stm.exp, Exp::Basic(_));
    body.stms.len() <= most && body.stms.iter().all(is_basic)
}

/// A visitor that checks that iterations only compute scalars.
struct ScalarOnly<'p, 'a, 'b> {
    inside: &'p FxHashSet<Name>,
    written: &'p FxHashSet<Name>,
    g: &'p Gen<'a, 'b>,
    fits: bool,
}

impl Visit<Mems> for ScalarOnly<'_, '_, '_> {
    fn stm(&mut self, stm: &Stm<Mems>) {
        self.fits &= match &stm.exp {
            Exp::Basic(BasicOp::UpdateAcc { .. }) => false,
            Exp::Basic(BasicOp::Index { array, .. }) => {
                let location = self.g.location(*array);
                !location.is_ok_and(|(_, block, _)| self.written.contains(&block))
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } => true,
            Exp::Op(MemOp::Alloc { .. } | MemOp::Seg(_)) => false,
        };
        for param in &stm.pat {
            self.fits &= match (&param.ty, &param.ann) {
                (Type::Prim(_) | Type::Cert, _) => true,
                // A view of an array that is allocated outside.
                (Type::Array { .. }, MemAnn::In { block: Block::Var(block), .. }) => {
                    let is_view = matches!(
                        stm.exp,
                        Exp::Basic(
                            BasicOp::Atom(_) | BasicOp::Opaque(_) | BasicOp::Index { .. } | ir::view_op!()
                        )
                    );
                    is_view && !self.inside.contains(block) && !self.written.contains(block)
                }
                _ => false,
            };
        }
        self.walk_stm(stm);
    }
}

/// The known values of an iteration's names.
struct KnownValues<'p, 'a, 'b> {
    g: &'p Gen<'a, 'b>,
    inside: &'p FxHashSet<Name>,
    dims: Vec<Name>,
    /// Views bound in the iteration: block and index function.
    views: FxHashMap<Name, (Name, Lmad)>,
    /// The iteration's integers.
    scalars: Values,
}

impl<'p, 'a, 'b> KnownValues<'p, 'a, 'b> {
    /// An iteration of a space, whose body binds the names `inside`.
    fn of(g: &'p Gen<'a, 'b>, inside: &'p FxHashSet<Name>, dims: &[(Name, Dim)]) -> Self {
        Self {
            g,
            inside,
            dims: dims.iter().map(|(index, _)| *index).collect(),
            views: FxHashMap::default(),
            scalars: Values::new(Widths::Exact),
        }
    }

    /// The loops of a body with shared reads.
    fn loops<'s>(&mut self, body: &'s Body<Mems>) -> Vec<SharedLoop<'s>> {
        let mut loops = Vec::new();
        for (at, stm) in body.stms.iter().enumerate() {
            self.record(stm);
            let Exp::Loop { params, form, body } = &stm.exp else {
                continue;
            };
            let LoopForm::For { var: counter, ty: PrimType::I64, bound } = *form else {
                continue;
            };
            let is_known = bound.var().is_none_or(|name| self.is_outside(name));
            let scalars = params.iter().all(|p| p.param.ty.is_prim());
            if !is_known || !scalars {
                continue;
            }
            let reads = self.reads(body, counter);
            if !reads.is_empty() {
                loops.push(SharedLoop { at, params, counter, bound, body, reads });
            }
        }
        loops
    }

    /// The shared reads of a loop body.
    fn reads(&mut self, body: &Body<Mems>, counter: Name) -> Vec<SharedRead> {
        let checks: FxHashSet<Name> = binders(body).into_iter().collect();
        let mut reads = Vec::new();
        for stm in &body.stms {
            self.record(stm);
            let certain = !stm.aux.certs.iter().any(|cert| checks.contains(cert));
            if certain && let Some(read) = self.read(stm, counter) {
                reads.push(read);
            }
        }
        reads
    }

    fn is_outside(&self, name: Name) -> bool {
        !self.inside.contains(&name) && !self.dims.contains(&name)
    }

    /// Records the value of a statement's name, if it is a sum, a product or a view.
    fn record(&mut self, stm: &Stm<Mems>) {
        let (Exp::Basic(op), [param]) = (&stm.exp, stm.pat.as_slice()) else {
            return;
        };
        if let MemAnn::In { block: Block::Var(block), lmad } = &param.ann {
            self.views.insert(param.name, (*block, lmad.clone()));
        }
        if param.ty == Type::Prim(PrimType::I64) {
            self.scalars.record(param.name, op);
        }
    }

    /// The element that a statement of a loop reads, if iterations share it.
    fn read(&self, stm: &Stm<Mems>, counter: Name) -> Option<SharedRead> {
        let (Exp::Basic(op @ BasicOp::Index { array, .. }), [param]) = (&stm.exp, stm.pat.as_slice()) else {
            return None;
        };
        let Type::Prim(elem) = param.ty else {
            return None;
        };
        let (block, lies) = match self.views.get(array) {
            Some((block, lmad)) => (*block, lmad.clone()),
            None => {
                let (_, block, lmad) = self.g.location(*array).ok()?;
                (block, lmad)
            }
        };
        let (_, at) = view(op, &[], |_| Some(lies))?;
        let offset = self.scalars.resolved(at.offset);
        if self.inside.contains(&block) || offset.terms().len() > MAX_TERMS {
            return None;
        }
        let known = |name| name == counter || self.dims.contains(&name) || self.is_outside(name);
        let step = offset.step(counter)?;
        if !offset.names().all(known) || step == Poly::default() {
            return None;
        }
        let uses = |back: usize| {
            let dim = self.dims.len().checked_sub(back).and_then(|at| self.dims.get(at));
            dim.is_some_and(|dim| offset.names().any(|name| name == *dim))
        };
        let by = match (uses(2), uses(1)) {
            (true, false) => Dependence::Row,
            (false, true) => Dependence::Column,
            (false, false) => Dependence::Loop,
            (true, true) => return None,
        };
        Some(SharedRead {
            name: param.name,
            elem,
            block,
            offset,
            by,
            along_loop: matches!(step.as_constant(), Some(-1 | 1)),
        })
    }
}
