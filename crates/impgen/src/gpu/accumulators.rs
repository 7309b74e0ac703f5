//! Segmaps that update accumulators by operators that are not atomic: one thread for each chunk of
//! iterations, which updates a private copy of the accumulator's arrays.
//!
//! ```text
//! segmap grid (s < m, i < n) { .. updateacc acc (s, k) v .. }
//!   threads: copies[s, c][..] = ne
//!   thread (s < m, c < chunks): for i in chunk { <body>; copies[s, c][k] = op copies[s, c][k] v }
//!   threads (s < m, k): d[s, k] = op d[s, k] copies[s, 0..chunks][k]
//! ```
//!
//! If the first indices of all updates are those of the segmap (`s` above), its iterations belong to
//! segments that share no element, each with chunks of its own. A single chunk per segment updates
//! the arrays themselves. The number of chunks depends on sizes only, and each element combines its
//! values in the order of the iterations within a chunk, and of the chunks. So results are
//! deterministic.

use crate::Result;
use crate::accs::{AccTarget, PrivateCopies, flat};
use crate::bins::Bins;
use crate::gpu::DeviceSchedule;
use crate::mems::{Body, Param, Seg};
use crate::schedule::Generator;
use analysis::exact::atomic_operator;
use imp::build::{Operand, max, min, product};
use imp::{Expr, Var, emit};
use ir::Prov;
use ir::name::Name;
use ir::syntax::{Atom, BasicOp, Exp};
use ir::types::{Dim, Type};
use ir::walk::{sub_bodies, with_stack};
use std::rc::Rc;

/// The number of elements that the copies of accumulators may have in all where there are fewer
/// updates: 128 MiB of 64-bit numbers. Not measured on a GPU.
const COPIED_ELEMENTS: i64 = 1 << 24;

/// An accumulator that chunks of iterations update.
struct Accumulator<'t> {
    token: Name,
    target: &'t Rc<AccTarget>,
    bins: Bins<'t>,
    /// The number of segments of its arrays.
    segments: Operand,
    /// Copies of the arrays, row-major by segment, chunk and element.
    copies: Vec<Var>,
}

/// The chunks of a segmap.
struct Chunks<'s> {
    /// The dimensions that count segments.
    outer: &'s [(Name, Dim)],
    /// The dimensions of a segment.
    inner: &'s [(Name, Dim)],
    /// The number of segments.
    segments: Operand,
    /// The number of iterations of a segment.
    width: Operand,
    /// The number of chunks per segment.
    count: Operand,
}

impl Generator<'_, DeviceSchedule> {
    /// The accumulators among the results of a segop that threads cannot update atomically.
    pub(super) fn accs_of_chunks(&self, pat: &[Param]) -> Vec<(Name, Rc<AccTarget>)> {
        let mut targets = self.combining_accs(pat);
        targets.retain(|(_, target)| {
            let op = target.op.as_ref();
            target.arrays.len() != 1 || op.is_none_or(|op| atomic_operator(&op.op).is_none())
        });
        targets
    }

    /// A segmap that updates these accumulators.
    pub(super) fn map_by_chunks(
        &mut self,
        pat: &[Param],
        seg: &Seg,
        targets: &[(Name, Rc<AccTarget>)],
        prov: Prov,
    ) -> Result {
        let dims = seg.space.dims.as_slice();
        let shared = targets.iter().map(|(token, target)| {
            let possible = &dims[..dims.len().min(target.shape.len())];
            common_indices(&seg.body, *token, possible)
        });
        let (outer, inner) = dims.split_at(shared.min().unwrap_or_default());
        let mut accs = Vec::with_capacity(targets.len());
        for (token, target) in targets {
            let bins = self.bins_of_acc(target, outer.len())?;
            let segments = self.bind(product(&bins.extents[..outer.len()]), "segments");
            accs.push(Accumulator { token: *token, target, bins, segments, copies: Vec::new() });
        }
        let mut chunks = Chunks {
            outer,
            inner,
            segments: self.extent_product(outer, "segments")?,
            width: self.extent_product(inner, "width")?,
            count: 1.into(),
        };
        chunks.count = self.n_chunks(seg, &chunks, &accs)?;
        emit!(if self(chunks.count <= 1) {
            let one = Chunks { count: 1.into(), ..chunks };
            self.run_chunks(pat, seg, &one, &accs, prov)?;
        } else {
            for acc in &mut accs {
                let all = self.bind(acc.segments * chunks.count * acc.bins.size, "copied");
                acc.copies = self.device_arrays("copies", &acc.bins.types, all, prov);
                self.each_iteration(("segmap.start", prov), all, |g, at| {
                    let neutral = g.neutral(&[acc.bins.op], &acc.bins.types)?;
                    g.store_all(&acc.copies, &acc.bins.types, at, &neutral);
                    Ok(())
                })?;
            }
            self.run_chunks(pat, seg, &chunks, &accs, prov)?;
            for acc in &accs {
                let counts = (acc.segments, chunks.count, acc.bins.size);
                self.combine_copies(&acc.bins, &acc.copies, counts, prov)?;
                self.release_all(&acc.copies);
            }
        });
        Ok(())
    }

    /// The number of chunks per segment: at least a grain of iterations each, not more than there
    /// are threads, and not more copies than iterations unless they are small.
    fn n_chunks(&mut self, seg: &Seg, chunks: &Chunks<'_>, accs: &[Accumulator<'_>]) -> Result<Operand> {
        let device = self.schedule.layout;
        let grain = self.thread_grain_size(seg)?;
        let threads = Expr::i64(device.blocks * device.segment_iterations);
        let mut elements = Expr::i64(1);
        for acc in accs {
            elements = elements + acc.segments * acc.bins.size;
        }
        let updates = chunks.segments * chunks.width * i64::from(seg.decomp.updates_per_iteration.max(1));
        let copies = self.bind(max(updates, COPIED_ELEMENTS) / elements, "copies");
        let per_segment = self.bind(threads / max(chunks.segments, 1), "threads");
        let count = min(chunks.width / grain, min(copies, per_segment));
        Ok(self.bind(max(count, 1), "chunks"))
    }

    /// The kernel whose threads run chunks.
    fn run_chunks(
        &mut self,
        pat: &[Param],
        seg: &Seg,
        chunks: &Chunks<'_>,
        accs: &[Accumulator<'_>],
        prov: Prov,
    ) -> Result {
        let all = chunks.segments * chunks.count;
        self.each_iteration(("segmap", prov), all, |g, number| {
            let segment = g.bind(number / chunks.count, "segment");
            let chunk = g.bind(number - segment * chunks.count, "chunk");
            g.delinearise(chunks.outer, segment)?;
            for acc in accs {
                let private = g.copy_of_chunk(acc, chunks, chunk)?;
                let target = AccTarget { private, thread_private: true, ..AccTarget::clone(acc.target) };
                g.accs.insert(acc.token, Rc::new(target));
            }
            let (from, to) = g.bounds(chunks.width, chunks.count, chunk);
            emit!(for i in g(from..to) {
                g.delinearise(chunks.inner, i.into())?;
                g.iteration(&seg.body, |g, results| g.write_elements(pat, &seg.space.dims, &results))?;
            });
            for acc in accs {
                g.accs.insert(acc.token, Rc::clone(acc.target));
            }
            Ok(())
        })
    }

    /// The copy of an accumulator that a chunk updates, if it has one. Positions in it are those of
    /// the accumulator, with its segments.
    fn copy_of_chunk(
        &mut self,
        acc: &Accumulator<'_>,
        chunks: &Chunks<'_>,
        chunk: Operand,
    ) -> Result<Option<PrivateCopies>> {
        if acc.copies.is_empty() {
            return Ok(None);
        }
        let indices = chunks.outer.iter().map(|(index, _)| Ok(self.var(*index)?.into()));
        let indices: Vec<Operand> = indices.collect::<Result<_, _>>()?;
        let segment = flat(&indices, &acc.bins.extents[..acc.bins.outer]);
        let before = segment * (chunks.count - 1);
        let base = self.bind((before + chunk) * acc.bins.size, "base");
        Ok(Some(PrivateCopies { buffers: acc.copies.clone(), base }))
    }
}

/// The number of first dimensions whose indices, in order, are the first indices of all updates of an
/// accumulator.
fn common_indices(body: &Body, acc: Name, dims: &[(Name, Dim)]) -> usize {
    with_stack(|| {
        let stms = body.stms.iter().map(|stm| {
            if let Exp::Basic(BasicOp::UpdateAcc { index, .. }) = &stm.exp {
                let updated = |ty: &Type| matches!(ty, Type::Acc { token, .. } if *token == acc);
                if !stm.pat.iter().any(|param| updated(&param.ty)) {
                    return dims.len();
                }
                let same = index.iter().zip(dims).take_while(|(at, (dim, _))| **at == Atom::Var(*dim));
                return same.count();
            }
            let mut common = dims.len();
            sub_bodies(&stm.exp, |body| common = common.min(common_indices(body, acc, dims)));
            common
        });
        stms.min().unwrap_or(dims.len())
    })
}
