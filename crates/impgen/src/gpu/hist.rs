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
use crate::accs::{AccTarget, flat, inside};
use crate::gpu::DeviceSchedule;
use crate::mems::{HistOp, Operator, Seg};
use crate::operators::operator_types;
use crate::schedule::Generator;
use analysis::exact::atomic_operator;
use imp::build::{Operand, max, min, product};
use imp::{Access, AtomicUpdate, DeviceOp, Expr, Stmt, emit};
use ir::mem::Lmad;
use ir::name::Name;
use ir::syntax::Atom;
use ir::types::{Dim, Type};
use ir::{PassError, Prov};
use prim::{BinOp, PrimType, UnOp};

/// The bins of one operator of a histogram segop.
pub(super) struct Bins<'s> {
    pub(super) op: &'s Operator,
    pub(super) types: Vec<PrimType>,
    pub(super) destinations: Vec<(Type, Name, Lmad)>,
    /// The extents of the index space, including the dimensions that count segments.
    extents: Vec<Operand>,
    /// The number of dimensions that count segments.
    outer: usize,
    /// The number of bins of a segment.
    per_segment: Operand,
}

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

impl Bins<'_> {
    /// The position of an index among all bins.
    fn position(&self, index: &[Operand]) -> Expr {
        flat(index, &self.extents)
    }

    /// The position of an index among the bins of its segment.
    fn segment_position(&self, index: &[Operand]) -> Expr {
        flat(&index[self.outer..], &self.extents[self.outer..])
    }
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
        let most = bins.iter().map(|hist| hist.per_segment);
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
        let halvings = min(63 - zeros, i64::from(most));
        self.bind(halvings, "halvings")
    }

    /// The updates of one iteration, with atomic operators.
    pub(super) fn atomic_updates(
        &mut self,
        seg: &Seg,
        ops: &[HistOp],
        hists: &[Bins<'_>],
        operators: &[(BinOp, PrimType)],
    ) -> Result {
        let dims = seg.space.dims.as_slice();
        self.iteration(&seg.body, |g, results| {
            g.each_bin(hists, ops, dims, &results, |g, k, index, values| {
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
        self.iteration(&hists.seg.body, |g, results| {
            g.each_bin(&hists.bins, hists.ops, hists.dims(), &results, f)
        })
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

    pub(super) fn bins_of<'s>(&mut self, ops: &'s [HistOp], outer: &[(Name, Dim)]) -> Result<Vec<Bins<'s>>> {
        let mut hists = Vec::with_capacity(ops.len());
        for HistOp { shape, destinations, op } in ops {
            let own = self.extents(shape)?;
            let dims: Vec<Dim> = outer.iter().map(|(_, dim)| *dim).collect();
            let extents = [self.extents(&dims)?, own.clone()].concat();
            let own = product(own);
            let locations = destinations.iter().map(|&dest| self.location(dest));
            hists.push(Bins {
                op,
                types: operator_types(&[op])?,
                destinations: locations.collect::<Result<_, _>>()?,
                extents,
                outer: outer.len(),
                per_segment: self.bind(own, "bins"),
            });
        }
        Ok(hists)
    }

    /// Calls `f` for each histogram, under the condition that the iteration's index is one of its
    /// bins, with the index and the values.
    pub(super) fn each_bin(
        &mut self,
        hists: &[Bins<'_>],
        ops: &[HistOp],
        dims: &[(Name, Dim)],
        results: &[Atom],
        mut f: impl FnMut(&mut Self, usize, &[Operand], &[Atom]) -> Result,
    ) -> Result {
        let n_indices: usize = ops.iter().map(|op| op.shape.len()).sum();
        let (mut indices, mut values) = results.split_at(n_indices.min(results.len()));
        for (k, (hist, op)) in hists.iter().zip(ops).enumerate() {
            let (own, rest) = indices.split_at(op.shape.len().min(indices.len()));
            indices = rest;
            let (xs, rest) = values.split_at(hist.types.len().min(values.len()));
            values = rest;
            let mut index = Vec::with_capacity(hist.extents.len());
            for (name, _) in &dims[..dims.len().saturating_sub(1)] {
                index.push(self.var(*name)?.into());
            }
            index.extend(self.atoms(own)?);
            let is_bin = inside(&index[hist.outer..], &hist.extents[hist.outer..]);
            emit!(if self(is_bin) {
                f(self, k, &index, xs)?;
            });
        }
        Ok(())
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
        let mut elements = Vec::with_capacity(hist.destinations.len());
        for ((_, block, lmad), &elem) in hist.destinations.iter().zip(&hist.types) {
            elements.push(self.element(elem, *block, lmad, &index)?);
        }
        Ok(elements)
    }

    /// The number of a segment's bin among the bins of all segments, in a variable.
    fn bin_number(&mut self, hist: &Bins<'_>, segment: Operand, own: Operand) -> Operand {
        let bin = segment * hist.per_segment + own;
        self.bind(bin, "bin")
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
