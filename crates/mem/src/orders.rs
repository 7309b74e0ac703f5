//! Arrays that had better lie in another order of their dimensions.
//!
//! ```text
//! let r = segmap (j < m) -> ..     -- computes row j of r from column j of xs
//! let t = rearrange (1, 0) r
//! in (t)                           -- has to be row-major
//! ```
//!
//! If `r` lies column by column, `t` is row-major as it stands, and nothing is
//! copied. Such wishes flow from a body's results, which will be row-major,
//! back through transposes to what nobody else uses. A segop grants them
//! ([`Ctx::granted`]) if its points, which run side by side in lanes, then read
//! and write neighbours.

use crate::alloc::Ctx;
use crate::basic::permuted;
use crate::dests::Dest;
use crate::order::count_uses;
use ir::Segs;
use ir::mem::{Lmad, MemAnn};
use ir::name::Name;
use ir::poly::Poly;
use ir::seg::{SegOp, SegSpace};
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Param, ReshapeKind};
use ir::types::Dim;
use ir::walk::Visit;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The dimensions of an array, the one of the largest stride first.
pub(crate) type Order = SmallVec<[usize; 3]>;

/// The orders that are wished for in a body whose results have these
/// destinations; only those that are not row-major.
pub(crate) fn wishes(body: &Body<Segs>, results: &[Option<Dest>]) -> FxHashMap<Name, Order> {
    let mut wishes: FxHashMap<Name, Order> = FxHashMap::default();
    let transposes = body
        .stms
        .iter()
        .any(|stm| matches!(stm.exp, Exp::Basic(BasicOp::Rearrange { .. })));
    if !transposes {
        return wishes;
    }
    let uses = count_uses(body);
    // What is row-major anyway has an empty order.
    for (at, result) in body.result.iter().enumerate() {
        if let (Atom::Var(name), None) = (result, results.get(at).and_then(Option::as_ref)) {
            wishes.insert(*name, Order::new());
        }
    }
    for stm in body.stms.iter().rev() {
        let (Exp::Basic(op), [bound]) = (&stm.exp, stm.pat.as_slice()) else {
            continue;
        };
        let Some(order) = wishes.get(&bound.name) else {
            continue;
        };
        let (array, order) = if let BasicOp::Rearrange { perm, array } = op {
            let order = if order.is_empty() {
                perm.clone()
            } else {
                order.iter().map(|at| perm[*at]).collect()
            };
            (*array, order)
        } else if let BasicOp::Reshape {
            kind: ReshapeKind::Coerce,
            array,
            ..
        } = op
        {
            (*array, order.clone())
        } else {
            continue;
        };
        if uses.get(&array) == Some(&1) {
            wishes.entry(array).or_insert(order);
        }
    }
    wishes.retain(|_, order| !order.iter().enumerate().all(|(at, dim)| at == *dim));
    wishes
}

impl Ctx<'_> {
    /// The index function that a segop's result gets by its wish, if that is
    /// granted.
    pub(crate) fn granted(
        &self,
        param: &Param<Segs>,
        space: &SegSpace,
        body: &Body<Segs>,
    ) -> Option<Lmad> {
        let order = self.orders.get(&param.name)?;
        let points = space.dims.len();
        let innermost = order.last()? + 1 == points;
        if order.len() != param.ty.rank() || !innermost || self.dest(param).is_some() {
            return None;
        }
        let (index, _) = space.dims.last()?;
        let mut reads = Reads {
            ctx: self,
            index: *index,
            along: 0,
            across: 0,
        };
        reads.body(body);
        (reads.along > 0 && reads.across == 0).then(|| permuted(order, &param.ty))
    }
}

impl Ctx<'_> {
    /// The index function that a branch's result gets by its wish, if a segop in one of
    /// the arms would be granted it; `own` are the names of the branch's results.
    pub(crate) fn wished_of(
        &mut self,
        param: &Param<Segs>,
        mut own: impl Iterator<Item = Name>,
        at: usize,
        arms: [&Body<Segs>; 2],
    ) -> Option<Lmad> {
        let order = self.orders.get(&param.name)?.clone();
        let shape = param.ty.shape();
        if own.any(|name| shape.contains(&Dim::Var(name))) {
            return None;
        }
        let granted = arms.iter().any(|arm| self.granted_in(arm, at, &order));
        granted.then(|| permuted(&order, &param.ty))
    }

    /// Whether a segop that gives a body's result at a position would be granted an
    /// order.
    fn granted_in(&mut self, body: &Body<Segs>, at: usize, order: &Order) -> bool {
        let Some(Atom::Var(name)) = body.result.get(at) else {
            return false;
        };
        let binder = body.stms.iter().find_map(|stm| {
            let at = stm.pat.iter().position(|param| param.name == *name)?;
            Some((stm, at))
        });
        let Some((stm, at)) = binder else {
            return false;
        };
        match &stm.exp {
            Exp::Op(SegOp::Seg(seg)) if seg.kind.is_map() => {
                let before = self.orders.insert(*name, order.clone());
                let granted = self.granted(&stm.pat[at], &seg.space, &seg.body);
                match before {
                    Some(before) => self.orders.insert(*name, before),
                    None => self.orders.remove(name),
                };
                granted.is_some()
            }
            Exp::If {
                then_body,
                else_body,
                ..
            } => [then_body, else_body]
                .iter()
                .any(|arm| self.granted_in(arm, at, order)),
            Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
        }
    }
}

/// How neighbouring points read arrays from outside.
struct Reads<'c, 'a> {
    ctx: &'c Ctx<'a>,
    index: Name,
    /// Reads of neighbouring elements.
    along: usize,
    /// Reads of elements that are apart.
    across: usize,
}

impl Visit<Segs> for Reads<'_, '_> {
    fn basic(&mut self, op: &BasicOp) {
        let BasicOp::Index { array, slice } = op else {
            return;
        };
        let MemAnn::In { lmad, .. } = self.ctx.ann(*array) else {
            return;
        };
        for (index, dim) in slice.iter().zip(&lmad.dims) {
            if *index != DimIndex::Fix(Atom::Var(self.index)) {
                continue;
            }
            if dim.stride == Poly::constant(1) {
                self.along += 1;
            } else {
                self.across += 1;
            }
        }
    }
}
