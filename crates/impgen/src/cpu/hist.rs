//! Histograms: each chunk of the input fills a private copy of the bins, and the copies are
//! combined with the destination in the order of the chunks.
//!
//! ```text
//! seghist (i < n) (op, ne, dest[m])
//!   copies = clamp(n / max(grain, m), 1, max)
//!   if copies == 1: for i < n { <body>; dest[b] = op dest[b] x }      (or by ranges of bins)
//!   else for tasks c < copies
//!          own[c][..] = ne; for i in chunk { <body>; own[c][b] = op own[c][b] x }
//!        for tasks over b < m: for c < copies: dest[b] = op dest[b] own[c][b]
//! ```
//!
//! Out-of-bounds bins are ignored. Expensive iterations are strip-mined
//! ([`strip_mine`](super::strip_mine)). If there are too many bins for private copies and
//! iterations are cheap, each task takes a range of the bins
//! ([`range_partition`](super::range_partition)).

use super::segops::SegSpace;
use super::strip_mine;
use crate::Result;
use crate::bins::Bins;
use crate::cpu::CpuSchedule;
use crate::mems::HistOp;
use crate::operators::element_of_buffer;
use crate::schedule::{Fill, Generator};
use imp::build::{Operand, binary, max};
use imp::{Expr, Var, bind, emit};
use ir::syntax::Atom;
use prim::{BinOp, PrimType};

impl Generator<'_, CpuSchedule> {
    pub(crate) fn seg_hist(&mut self, space: &SegSpace<'_>, ops: &[HistOp]) -> Result {
        let bins = self.bins_of(ops, &[])?;
        let largest = bins.iter().fold(Expr::i64(1), |largest, hist| max(largest, hist.size));
        bind!(n = self(space.width));
        let ranged = match bins.as_slice() {
            [hist] if self.can_range_partition(space) => Some(hist),
            _ => None,
        };
        let grain = self.grain_size(space.decomp, n)?;
        bind!(grain = self(max(largest, grain)));
        let copies = self.n_chunks(n, grain, space.decomp.max_chunks);
        emit!(if self(copies <= 1) {
            match ranged {
                Some(hist) => self.range_partitioned(space, hist, n)?,
                None => self.update_chunk(space, &bins, (0.into(), n), None)?,
            }
        } else {
            self.private_copies(space, &bins, n, copies)?;
        });
        Ok(())
    }

    fn private_copies(
        &mut self,
        space: &SegSpace<'_>,
        bins: &[Bins<'_>],
        n: Operand,
        copies: Operand,
    ) -> Result {
        let own = self.alloc_copies(bins, copies, space.prov);
        let cost = self.cost(space)?;
        self.for_tasks(("seghist", space.prov), copies, cost, Vec::new(), |g, c| {
            let (lo, hi) = g.bounds(n, copies, c);
            let mut bases = Vec::with_capacity(bins.len());
            for (hist, buffers) in bins.iter().zip(&own) {
                let base = g.init_copy(hist, buffers, c)?;
                bases.push((buffers.as_slice(), base));
            }
            g.update_chunk(space, bins, (lo, hi), Some(&bases))
        })?;
        for (hist, buffers) in bins.iter().zip(&own) {
            self.combine_bin_copies(space, hist, buffers, copies)?;
        }
        self.release_all(own.iter().flatten());
        Ok(())
    }

    /// Combines the private copies of each bin with the destination.
    pub(crate) fn combine_bin_copies(
        &mut self,
        space: &SegSpace<'_>,
        hist: &Bins<'_>,
        buffers: &[Var],
        copies: Operand,
    ) -> Result {
        let rows = Fill {
            operation: "seghist.fold",
            prov: space.prov,
            count: hist.size,
            row: copies,
            unaliased: Vec::new(),
        };
        self.fill_each(rows, |g, b| {
            let mut indices = Vec::with_capacity(hist.extents.len());
            let mut rest = Operand::from(b);
            for extent in hist.extents.iter().rev() {
                let last = indices.len() + 1 == hist.extents.len();
                if last {
                    indices.push(rest);
                } else {
                    indices.push(g.bind(rest % extent, "digit"));
                    rest = g.bind(binary(BinOp::UDiv, rest, extent), "rest");
                }
            }
            indices.reverse();
            let elements = g.bin_elements(hist, &indices)?;
            let accs = g.load_elements(&elements, "acc");
            emit!(for c in g(0..copies) {
                let index = c * hist.size + b;
                let values = g.load_all(buffers, &hist.types, index, "part");
                g.combine(&[hist.op], &accs, &values)?;
            });
            for (element, acc) in elements.into_iter().zip(accs) {
                g.store(element, acc);
            }
            Ok(())
        })
    }

    /// All updates of the iterations `lo..hi`, of the destinations or of private copies.
    pub(super) fn update_chunk(
        &mut self,
        space: &SegSpace<'_>,
        bins: &[Bins<'_>],
        (lo, hi): (Operand, Operand),
        own: Option<&[(&[Var], Operand)]>,
    ) -> Result {
        if !(space.independent && strip_mine::pays_off(space)) {
            return self
                .iterations(&space.sequential(), lo, hi, |g, results| g.update_bins(bins, &results, own));
        }
        let mut types: Vec<PrimType> =
            bins.iter().flat_map(|hist| hist.extents.iter().map(|_| PrimType::I64)).collect();
        types.extend(bins.iter().flat_map(|hist| &hist.types));
        self.strip_mined(space, &types, (lo, hi), |g, results| g.update_bins(bins, results, own))
    }

    /// The updates of one iteration, of the destinations or of private copies (given by their
    /// buffers and the position of the copy's first bin).
    pub(super) fn update_bins(
        &mut self,
        bins: &[Bins<'_>],
        results: &[Atom],
        own: Option<&[(&[Var], Operand)]>,
    ) -> Result {
        self.each_bin(bins, &[], results, |g, k, index, new| {
            let hist = &bins[k];
            let elements = match own {
                None => g.bin_elements(hist, index)?,
                Some(own) => {
                    let (buffers, base) = &own[k];
                    let at = *base + hist.position(index);
                    let arrays = buffers.iter().zip(&hist.types);
                    arrays.map(|(&buffer, &ty)| element_of_buffer(buffer, ty, &at)).collect()
                }
            };
            let accs = g.load_elements(&elements, "old");
            let values = g.copy_operands(new, &hist.types)?;
            g.combine(&[hist.op], &accs, &values)?;
            for (element, acc) in elements.into_iter().zip(accs) {
                g.store(element, acc);
            }
            Ok(())
        })
    }
}
