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

use crate::accs::{AccTarget, flat, inside};
use crate::function::Gen;
use crate::operators::operator_types;
use analysis::exact::atomic_operator;
use imp::build::{add, and, binary, compare, div, max, min, mul, sub};
use imp::{Access, AtomicUpdate, DeviceOp, Expr, Stmt};
use ir::mem::Lmad;
use ir::name::Name;
use ir::seg::Seg;
use ir::soac::{HistOp, Operator};
use ir::syntax::Atom;
use ir::types::{Dim, Type};
use ir::{Mems, PassError, Prov};
use prim::{BinOp, CmpOp, PrimType, UnOp};

/// The bins of one operator of a histogram segop.
pub(super) struct Bins<'s> {
    pub(super) op: &'s Operator<Mems>,
    pub(super) types: Vec<PrimType>,
    pub(super) destinations: Vec<(Type, Name, Lmad)>,
    /// The extents of the index space, including the dimensions that count segments.
    extents: Vec<Expr>,
    /// The number of dimensions that count segments.
    outer: usize,
    /// The number of bins of a segment.
    per_segment: Expr,
}

/// The histograms of a segop.
struct Hists<'s> {
    seg: &'s Seg<Mems>,
    ops: &'s [HistOp<Mems>],
    bins: Vec<Bins<'s>>,
    /// The maximum number of bins per segment over the histograms.
    most: Expr,
    /// The number of segments.
    segments: Expr,
    /// The number of iterations of all segments.
    iterations: Expr,
    prov: Prov,
}

impl Bins<'_> {
    /// The position of an index among all bins.
    fn position(&self, index: &[Expr]) -> Expr {
        flat(index, &self.extents)
    }

    /// The position of an index among the bins of its segment.
    fn segment_position(&self, index: &[Expr]) -> Expr {
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
        mul(self.segments.clone(), self.most.clone())
    }

    fn dims(&self) -> &[(Name, Dim)] {
        &self.seg.space.dims
    }
}

impl Gen<'_, '_> {
    pub(super) fn kernel_hist(
        &mut self,
        seg: &Seg<Mems>,
        ops: &[HistOp<Mems>],
        prov: Prov,
    ) -> Result<(), PassError> {
        let dims = seg.space.dims.as_slice();
        let outer = &dims[..dims.len().saturating_sub(1)];
        let bins = self.bins_of(ops, outer)?;
        let most = bins.iter().map(|hist| hist.per_segment.clone());
        let most = most.fold(Expr::i64(1), max);
        let hists = Hists {
            seg,
            ops,
            bins,
            most: self.bind_value(most, PrimType::I64, "most"),
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
    fn hist_atomic(&mut self, hists: &Hists<'_>, operators: &[(BinOp, PrimType)]) -> Result<(), PassError> {
        let capacity = (self.layout().bins.bytes / hists.bytes()) as i64;
        let everywhere = self.collect(|g| g.hist_global_atomic(hists, operators))?;
        if capacity == 0 {
            everywhere.into_iter().for_each(|stmt| self.emit(stmt));
            return Ok(());
        }
        let segments = self.segments_by(hists.seg, hists.most.clone(), self.layout().blocks)?;
        let enough = max(hists.most.clone(), Expr::i64(self.layout().block));
        let fits = and(
            compare(CmpOp::SLe, hists.most.clone(), Expr::i64(capacity)),
            compare(CmpOp::SLe, enough, segments.width.clone()),
        );
        let in_shared = self.collect(|g| g.hist_in_shared_memory(hists, operators, &segments, capacity))?;
        self.emit(Stmt::If(fits, in_shared, everywhere));
        Ok(())
    }

    /// The binary logarithm of the number of private copies of the bins that fit into `capacity`
    /// bins; at most `most`.
    fn halvings(&mut self, hists: &Hists<'_>, capacity: i64, most: u32) -> Expr {
        let times = div(Expr::i64(capacity), hists.most.clone());
        let times = max(times, Expr::i64(1));
        let zeros = Expr::unary(UnOp::Clz, PrimType::I64, times);
        let halvings = min(sub(Expr::i64(63), zeros), Expr::i64(i64::from(most)));
        self.bind_value(halvings, PrimType::I64, "halvings")
    }

    /// The updates of one iteration, with atomic operators.
    pub(super) fn atomic_updates(
        &mut self,
        seg: &Seg<Mems>,
        ops: &[HistOp<Mems>],
        hists: &[Bins<'_>],
        operators: &[(BinOp, PrimType)],
    ) -> Result<(), PassError> {
        let dims = seg.space.dims.as_slice();
        self.iteration(&seg.body, |g, results| {
            g.each_bin(hists, ops, dims, &results, |g, k, index, values| {
                let (by, elem) = operators[k];
                let (_, block, lmad) = &hists[k].destinations[0];
                let at = g.element(elem, *block, lmad, index.to_vec())?;
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
        f: impl FnMut(&mut Self, usize, &[Expr], &[Atom]) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        self.iteration(&hists.seg.body, |g, results| {
            g.each_bin(&hists.bins, hists.ops, hists.dims(), &results, f)
        })
    }

    /// Emits an atomic update of an element.
    fn atomic_update(&mut self, at: Access, op: BinOp, value: Expr) {
        self.emit(Stmt::Device(DeviceOp::Update(Box::new(AtomicUpdate { old: None, at, op, value }))));
    }

    pub(super) fn bins_of<'s>(
        &mut self,
        ops: &'s [HistOp<Mems>],
        outer: &[(Name, Dim)],
    ) -> Result<Vec<Bins<'s>>, PassError> {
        let mut hists = Vec::with_capacity(ops.len());
        for HistOp { shape, destinations, op } in ops {
            let own = self.extents(shape)?;
            let dims: Vec<Dim> = outer.iter().map(|(_, dim)| *dim).collect();
            let extents = [self.extents(&dims)?, own.clone()].concat();
            let own = own.into_iter().fold(Expr::i64(1), mul);
            let locations = destinations.iter().map(|&dest| self.location(dest));
            hists.push(Bins {
                op,
                types: operator_types(&[op])?,
                destinations: locations.collect::<Result<_, _>>()?,
                extents,
                outer: outer.len(),
                per_segment: self.bind_value(own, PrimType::I64, "bins"),
            });
        }
        Ok(hists)
    }

    /// Calls `f` for each histogram, under the condition that the iteration's index is one of its
    /// bins, with the index and the values.
    pub(super) fn each_bin(
        &mut self,
        hists: &[Bins<'_>],
        ops: &[HistOp<Mems>],
        dims: &[(Name, Dim)],
        results: &[Atom],
        mut f: impl FnMut(&mut Self, usize, &[Expr], &[Atom]) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let n_indices: usize = ops.iter().map(|op| op.shape.len()).sum();
        let (mut indices, mut values) = results.split_at(n_indices.min(results.len()));
        for (k, (hist, op)) in hists.iter().zip(ops).enumerate() {
            let (own, rest) = indices.split_at(op.shape.len().min(indices.len()));
            indices = rest;
            let (xs, rest) = values.split_at(hist.types.len().min(values.len()));
            values = rest;
            let mut index = Vec::with_capacity(hist.extents.len());
            for (name, _) in &dims[..dims.len().saturating_sub(1)] {
                index.push(Expr::Var(self.var(*name)?));
            }
            for at in own {
                index.push(self.atom(*at)?);
            }
            let is_bin = inside(&index[hist.outer..], &hist.extents[hist.outer..]);
            let body = self.collect(|g| f(g, k, &index, xs))?;
            self.emit(Stmt::If(is_bin, body, Vec::new()));
        }
        Ok(())
    }

    /// The destination elements of a bin, given by its number among the bins of all segments.
    fn destination_elements(&mut self, hist: &Bins<'_>, bin: &Expr) -> Result<Vec<Access>, PassError> {
        let mut index = Vec::with_capacity(hist.extents.len());
        let mut rest = bin.clone();
        for (k, extent) in hist.extents.iter().enumerate().rev() {
            if k == 0 {
                index.push(rest.clone());
            } else {
                index.push(binary(BinOp::UMod, rest.clone(), extent.clone()));
                rest = self.bind_value(div(rest, extent.clone()), PrimType::I64, "rest");
            }
        }
        index.reverse();
        let mut elements = Vec::with_capacity(hist.destinations.len());
        for ((_, block, lmad), &elem) in hist.destinations.iter().zip(&hist.types) {
            elements.push(self.element(elem, *block, lmad, index.clone())?);
        }
        Ok(elements)
    }

    /// The number of a segment's bin among the bins of all segments, in a variable.
    fn bin_number(&mut self, hist: &Bins<'_>, segment: &Expr, own: Expr) -> Expr {
        let bin = add(mul(segment.clone(), hist.per_segment.clone()), own);
        self.bind_value(bin, PrimType::I64, "bin")
    }

    /// A thread's update of an accumulator that other threads may update at the same index.
    pub(crate) fn atomic_acc_update(
        &mut self,
        target: &AccTarget,
        op: &Operator<Mems>,
        index: &[Expr],
        values: &[Atom],
    ) -> Result<(), PassError> {
        let (Some((by, elem)), [(_, block, lmad)], [value]) =
            (atomic_operator(&op.op), target.arrays.as_slice(), values)
        else {
            return Err(PassError::bug("threads update an accumulator by an operator that is not atomic"));
        };
        let at = self.element(elem, *block, lmad, index.to_vec())?;
        let value = self.atom(*value)?;
        self.atomic_update(at, by, value);
        Ok(())
    }
}
