//! Histograms, by their operators and by sizes.
//!
//! With atomic operators ([`atomic_operator`]):
//! - If the bins fit in shared memory, and segments have at least as many iterations as bins, a
//!   block updates bins of its own there, and with them the histogram ([`shared_bins`]).
//! - With more bins, on which many threads would collide, iterations update one of several copies
//!   of the bins, and the copies are combined with the histogram ([`copies`]).
//! - Otherwise, iterations update the histogram.
//!
//! With other operators:
//! - If the bins fit in shared memory, the threads of a block own bins there ([`owned`]); but if
//!   segments have fewer iterations than a block has threads, one thread runs a segment
//!   sequentially.
//! - With more bins, one thread runs a chunk of iterations, with a private copy of the bins
//!   ([`copies`]).
//!
//! Atomic operators are exact, so the order of their application has no effect. All other operators
//! are applied by threads that own their bins, in the order of the iterations, and the partial
//! results of chunks, whose partitioning depends on sizes only, are combined in their order.

mod copies;
mod owned;
mod shared_bins;

use crate::Result;
use crate::accs::AccTarget;
use crate::bins::Bins;
use crate::gpu::DeviceSchedule;
use crate::mems::{HistOp, Operator, Seg};
use crate::schedule::Generator;
use analysis::exact::atomic_operator;
use imp::build::{Operand, max, min};
use imp::{Access, AtomicUpdate, DeviceOp, Expr, Stmt, emit};
use ir::name::Name;
use ir::syntax::Atom;
use ir::types::Dim;
use ir::{PassError, Prov};
use prim::{BinOp, PrimType, UnOp};

/// The histograms of a segop.
struct Hists<'s> {
    seg: &'s Seg,
    ops: &'s [HistOp],
    bins: Vec<Bins<'s>>,
    /// The maximum number of bins per segment over the histograms.
    most: Operand,
    /// The number of segments.
    segments: Operand,
    /// The number of iterations of all segments.
    iterations: Operand,
    prov: Prov,
}

impl Hists<'_> {
    /// The size in bytes of one bin of each histogram, at least 1.
    fn bytes(&self) -> u64 {
        let types = self.bins.iter().flat_map(|hist| &hist.types);
        types.map(|ty| ty.size()).sum::<u64>().max(1)
    }

    /// The maximum number of bins of all segments over the histograms.
    fn all_bins(&self) -> Expr {
        self.segments * self.most
    }

    fn dims(&self) -> &[(Name, Dim)] {
        &self.seg.space.dims
    }
}

impl Generator<'_, DeviceSchedule> {
    pub(super) fn kernel_hist(&mut self, seg: &Seg, ops: &[HistOp], prov: Prov) -> Result {
        let dims = seg.space.dims.as_slice();
        let outer = &dims[..dims.len().saturating_sub(1)];
        let bins = self.bins_of(ops, outer)?;
        let most = bins.iter().map(|hist| hist.size);
        let most = most.fold(Expr::i64(1), max);
        let hists = Hists {
            seg,
            ops,
            bins,
            most: self.bind(most, "most"),
            segments: self.extent_product(outer, "segments")?,
            iterations: self.extent_product(dims, "iterations")?,
            prov,
        };
        let operators = ops.iter().map(|hist| atomic_operator(&hist.op.op));
        match operators.collect::<Option<Vec<_>>>() {
            Some(operators) => self.hist_atomic(&hists, &operators),
            None => self.hist_not_atomic(&hists),
        }
    }

    /// Histograms with atomic operators.
    fn hist_atomic(&mut self, hists: &Hists<'_>, operators: &[(BinOp, PrimType)]) -> Result {
        let capacity = (self.schedule.layout.bins.bytes / hists.bytes()) as i64;
        let everywhere = self.collect(|g| g.hist_global_atomic(hists, operators))?;
        if capacity == 0 {
            self.emit_all(everywhere);
            return Ok(());
        }
        let segments = self.segments_by(hists.seg, hists.most, self.schedule.layout.blocks)?;
        let enough = max(hists.most, self.schedule.layout.block);
        emit!(if self(hists.most <= capacity && enough <= segments.width) {
            self.hist_in_shared_memory(hists, operators, &segments, capacity)?;
        } else {
            self.emit_all(everywhere);
        });
        Ok(())
    }

    /// The binary logarithm of the number of private copies of the bins that fit into `capacity`
    /// bins; at most `most`.
    fn halvings(&mut self, hists: &Hists<'_>, capacity: i64, most: u32) -> Operand {
        let times = capacity / hists.most;
        let times = max(times, 1);
        let zeros = Expr::unary(UnOp::Clz, PrimType::I64, times);
        self.bind(min(63 - zeros, i64::from(most)), "halvings")
    }

    /// The updates of one iteration, with atomic operators.
    pub(super) fn atomic_updates(
        &mut self,
        seg: &Seg,
        hists: &[Bins<'_>],
        operators: &[(BinOp, PrimType)],
    ) -> Result {
        let dims = seg.space.dims.as_slice();
        self.iteration(&seg.body, |g, results| {
            g.each_bin(hists, dims, &results, |g, k, index, values| {
                let (by, elem) = operators[k];
                let (_, block, lmad) = &hists[k].destinations[0];
                let at = g.element(elem, *block, lmad, index)?;
                let value = g.atom(values[0])?;
                g.atomic_update(at, by, value);
                Ok(())
            })
        })
    }

    /// Calls `f` for each histogram that an iteration updates, with the index and the values.
    fn each_update(
        &mut self,
        hists: &Hists<'_>,
        f: impl FnMut(&mut Self, usize, &[Operand], &[Atom]) -> Result,
    ) -> Result {
        self.iteration(&hists.seg.body, |g, results| g.each_bin(&hists.bins, hists.dims(), &results, f))
    }

    /// Emits an atomic update of an element.
    fn atomic_update(&mut self, at: Access, op: BinOp, value: impl Into<Expr>) {
        self.emit(Stmt::Device(DeviceOp::Update(Box::new(AtomicUpdate {
            old: None,
            at,
            op,
            value: value.into(),
        }))));
    }

    /// The destination elements of a bin, given by its number among the bins of all segments.
    fn destination_elements(&mut self, hist: &Bins<'_>, bin: Operand) -> Result<Vec<Access>> {
        let mut index = Vec::with_capacity(hist.extents.len());
        let mut rest = bin;
        for (k, extent) in hist.extents.iter().enumerate().rev() {
            if k == 0 {
                index.push(rest.into());
            } else {
                index.push(rest % extent);
                rest = self.bind(rest / extent, "rest");
            }
        }
        index.reverse();
        self.bin_elements(hist, &index)
    }

    /// The number of a segment's bin among the bins of all segments, in a variable.
    fn bin_number(&mut self, hist: &Bins<'_>, segment: Operand, own: Operand) -> Operand {
        self.bind(segment * hist.size + own, "bin")
    }

    /// A thread's update of an accumulator that other threads may update at the same index.
    pub(crate) fn atomic_acc_update(
        &mut self,
        target: &AccTarget,
        op: &Operator,
        index: &[Operand],
        values: &[Atom],
    ) -> Result {
        let (Some((by, elem)), [(_, block, lmad)], [value]) =
            (atomic_operator(&op.op), target.arrays.as_slice(), values)
        else {
            return Err(PassError::bug("threads update an accumulator by an operator that is not atomic"));
        };
        let at = self.element(elem, *block, lmad, index)?;
        let value = self.atom(*value)?;
        self.atomic_update(at, by, value);
        Ok(())
    }
}
