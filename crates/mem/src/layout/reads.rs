//! The strides at which the iterations of a segop read arrays from outside: the distances between
//! the elements read by neighbouring iterations, and by successive iterations of loops inside.
//!
//! ```text
//! segmap (i < n) { loop for j < m { x = xs[j, i + 1] } }
//!     x is at j * n + i + 1:   stride 1 in the segop's index, n in the loop's
//! ```
//!
//! The offset of an array's index function is a polynomial in names; indices that are sums and
//! products of others are substituted into it. The stride of an index is its coefficient. Reads at
//! positions that are not such polynomials (indices read from arrays, quotients) are ignored.

use analysis::affine::{Values, Widths};
use ir::Segs;
use ir::mem::{Lmad, view};
use ir::name::Name;
use ir::poly::Poly;
use ir::seg::{SegOp, SegSpace};
use ir::syntax::{BasicOp, Body, Exp, LoopForm, Stm};
use ir::types::Type;
use ir::walk::Visit;
use rustc_hash::FxHashMap;

/// The kinds of reads found.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Reads {
    /// True if neighbouring iterations read adjacent elements somewhere.
    contiguous: bool,
    /// True if neighbouring iterations read non-adjacent elements somewhere.
    strided: bool,
    /// True if successive iterations of a loop read non-adjacent elements where neighbouring
    /// iterations of the segop read adjacent ones.
    pub(super) strided_in_loop: bool,
}

impl Reads {
    /// Returns true if neighbouring iterations read adjacent elements, and nowhere non-adjacent
    /// ones.
    pub(super) const fn neighbours(self) -> bool {
        self.contiguous && !self.strided
    }
}

/// Analyses the reads of arrays from outside, with the index functions given by `lies`, by the
/// iterations of a segop.
pub(super) fn of(space: &SegSpace, body: &Body<Segs>, lies: impl Fn(Name) -> Option<Lmad>) -> Reads {
    let mut reader = Reader {
        lies,
        index: space.dims.last().map(|(index, _)| *index),
        views: FxHashMap::default(),
        scalars: Values::new(Widths::Estimate),
        counters: Vec::new(),
        tasks: 0,
        reads: Reads::default(),
    };
    reader.body(body);
    reader.reads
}

struct Reader<F> {
    lies: F,
    index: Option<Name>,
    /// Views that the body creates.
    views: FxHashMap<Name, Lmad>,
    /// The body's integers.
    scalars: Values,
    /// The counters of enclosing loops, outermost first.
    counters: Vec<Name>,
    /// The number of enclosing task-level segops within the body. Loop strides inside these are not
    /// counted.
    tasks: usize,
    reads: Reads,
}

impl<F: Fn(Name) -> Option<Lmad>> Visit<Segs> for Reader<F> {
    fn stm(&mut self, stm: &Stm<Segs>) {
        if let (Exp::Basic(op), [param]) = (&stm.exp, stm.pat.as_slice()) {
            if param.ty.is_array() || matches!(op, BasicOp::Index { .. }) {
                self.view(param.name, &param.ty, op);
            } else {
                self.scalars.record(param.name, op);
            }
            return;
        }
        let before = self.counters.len();
        match &stm.exp {
            Exp::Loop { form: LoopForm::For { var, .. }, .. } => self.counters.push(*var),
            Exp::Op(SegOp::Seg(seg)) if seg.level.is_innermost() => {
                self.counters.extend(seg.space.dims.iter().map(|(index, _)| *index));
            }
            Exp::Op(SegOp::Seg(_)) => {
                self.tasks += 1;
                self.walk_stm(stm);
                self.tasks -= 1;
                return;
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {}
        }
        self.walk_stm(stm);
        self.counters.truncate(before);
    }
}

impl<F: Fn(Name) -> Option<Lmad>> Reader<F> {
    /// Records a view that the body creates, or an element that it reads.
    fn view(&mut self, name: Name, ty: &Type, op: &BasicOp) {
        let views = &self.views;
        let lies = |array| views.get(&array).cloned().or_else(|| (self.lies)(array));
        let Some((_, mut lmad)) = view(op, ty.shape(), lies) else {
            return;
        };
        lmad.offset = self.scalars.resolved(lmad.offset);
        if matches!(op, BasicOp::Index { .. }) {
            self.read(&lmad.offset, ty.is_array());
        }
        if ty.is_array() {
            self.views.insert(name, lmad);
        }
    }

    /// Records a read at an offset.
    fn read(&mut self, at: &Poly, row: bool) {
        let is_strided = |step: &Poly| !matches!(step.as_constant(), Some(-1..=1));
        let iteration_step = self.index.and_then(|index| at.step(index));
        let along = iteration_step.as_ref().and_then(Poly::as_constant) == Some(1);
        self.reads.contiguous |= along;
        self.reads.strided |= iteration_step.as_ref().is_some_and(is_strided);
        if row || self.tasks > 0 {
            return;
        }
        let mut steps = self.counters.iter().rev().filter_map(|it| at.step(*it));
        let loop_step = steps.find(|step| *step != Poly::default());
        self.reads.strided_in_loop |= along && loop_step.as_ref().is_some_and(is_strided);
    }
}
