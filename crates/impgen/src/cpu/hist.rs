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

use super::fills::Fill;
use super::segops::SegSpace;
use super::strip_mine;
use crate::accs::{flat, inside};
use crate::function::Gen;
use crate::operators::{element_of_buffer, operator_types};
use imp::build::{add, binary, compare, max, mul};
use imp::{Access, Expr, Stmt, Var};
use ir::mem::Lmad;
use ir::name::Name;
use ir::soac::{HistOp, Operator};
use ir::syntax::Atom;
use ir::types::Type;
use ir::{Mems, PassError};
use prim::{BinOp, CmpOp, PrimType};

/// The bins of one histogram operator.
pub(crate) struct Bins<'h> {
    /// Extents of the index space.
    pub(crate) extents: Vec<Expr>,
    /// Number of bins.
    pub(crate) size: Expr,
    pub(crate) op: &'h Operator<Mems>,
    /// Element types.
    pub(crate) types: Vec<PrimType>,
    /// The destination arrays: type, block and index function.
    pub(crate) destinations: Vec<(Type, Name, Lmad)>,
}

impl Gen<'_, '_> {
    pub(crate) fn seg_hist(&mut self, space: &SegSpace<'_>, ops: &[HistOp<Mems>]) -> Result<(), PassError> {
        let mut bins = Vec::with_capacity(ops.len());
        let mut largest = Expr::i64(1);
        for HistOp { shape, destinations, op } in ops {
            let extents = self.extents(shape)?;
            let size = extents.iter().cloned().fold(Expr::i64(1), mul);
            let size = self.bind_value(size, PrimType::I64, "bins");
            largest = max(largest, size.clone());
            let types = operator_types(&[op])?;
            let destinations = destinations.iter().map(|&d| self.location(d)).collect::<Result<_, _>>()?;
            bins.push(Bins { extents, size, op, types, destinations });
        }
        let n = self.bind_value(space.width.clone(), PrimType::I64, "n");
        let ranged = match bins.as_slice() {
            [hist] if self.can_range_partition(space) => Some(hist),
            _ => None,
        };
        let grain = max(largest, self.grain_size(space.decomp, &n)?);
        let grain = self.bind_value(grain, PrimType::I64, "grain");
        let copies = self.n_chunks(n.clone(), grain, space.decomp.max_chunks);
        let single = self.collect(|g| match ranged {
            Some(hist) => g.range_partitioned(space, hist, n.clone()),
            None => g.update_chunk(space, &bins, (Expr::i64(0), n.clone()), None),
        })?;
        let several = self.collect(|g| g.private_copies(space, &bins, n.clone(), copies.clone()))?;
        let is_single = compare(CmpOp::SLe, copies, Expr::i64(1));
        self.emit(Stmt::If(is_single, single, several));
        Ok(())
    }

    fn private_copies(
        &mut self,
        space: &SegSpace<'_>,
        bins: &[Bins<'_>],
        n: Expr,
        copies: Expr,
    ) -> Result<(), PassError> {
        let own = self.alloc_copies(bins, &copies, space.prov);
        let cost = self.cost(space)?;
        self.for_tasks("seghist", space.prov, copies.clone(), cost, Vec::new(), |g, c| {
            let (lo, hi) = g.bounds(n, copies.clone(), Expr::Var(c));
            let mut bases = Vec::with_capacity(bins.len());
            for (hist, buffers) in bins.iter().zip(&own) {
                let base = g.init_copy(hist, buffers, c)?;
                bases.push((buffers.as_slice(), base));
            }
            g.update_chunk(space, bins, (lo, hi), Some(&bases))
        })?;
        for (hist, buffers) in bins.iter().zip(&own) {
            self.combine_bin_copies(space, hist, buffers, copies.clone())?;
        }
        for &buffer in own.iter().flatten() {
            self.emit(Stmt::Release(buffer));
        }
        Ok(())
    }

    /// Combines the private copies of each bin with the destination.
    pub(crate) fn combine_bin_copies(
        &mut self,
        space: &SegSpace<'_>,
        hist: &Bins<'_>,
        buffers: &[Var],
        copies: Expr,
    ) -> Result<(), PassError> {
        let rows = Fill {
            operation: "seghist.fold",
            prov: space.prov,
            count: hist.size.clone(),
            row: copies.clone(),
            unaliased: Vec::new(),
        };
        self.fill_each(rows, |g, b| {
            let mut indices = Vec::with_capacity(hist.extents.len());
            let mut rest = Expr::Var(b);
            for extent in hist.extents.iter().rev() {
                let last = indices.len() + 1 == hist.extents.len();
                if last {
                    indices.push(rest.clone());
                } else {
                    let digit = binary(BinOp::UMod, rest.clone(), extent.clone());
                    indices.push(g.bind_value(digit, PrimType::I64, "digit"));
                    let quotient = binary(BinOp::UDiv, rest, extent.clone());
                    rest = g.bind_value(quotient, PrimType::I64, "rest");
                }
            }
            indices.reverse();
            let elements = g.dest_elements(hist, &indices)?;
            let accs = g.load_elements(&elements, "acc");
            g.for_seq("c", Expr::i64(0), copies, false, |g, c| {
                let index = add(mul(Expr::Var(c), hist.size.clone()), Expr::Var(b));
                let values = g.load_all(buffers, &hist.types, index, "part");
                g.combine(&[hist.op], &accs, &values)
            })?;
            for (element, acc) in elements.into_iter().zip(accs) {
                g.emit(Stmt::Store(element, Expr::Var(acc)));
            }
            Ok(())
        })
    }

    /// All updates of the iterations `lo..hi`, of the destinations or of private copies.
    pub(super) fn update_chunk(
        &mut self,
        space: &SegSpace<'_>,
        bins: &[Bins<'_>],
        (lo, hi): (Expr, Expr),
        own: Option<&[(&[Var], Expr)]>,
    ) -> Result<(), PassError> {
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
        own: Option<&[(&[Var], Expr)]>,
    ) -> Result<(), PassError> {
        let n_indices: usize = bins.iter().map(|hist| hist.extents.len()).sum();
        let (mut indices, mut values) = results.split_at(n_indices);
        for (at_hist, hist) in bins.iter().enumerate() {
            let (index, more) = indices.split_at(hist.extents.len());
            indices = more;
            let (new, more) = values.split_at(hist.types.len());
            values = more;
            let index: Vec<Expr> = index.iter().map(|&i| self.atom(i)).collect::<Result<_, _>>()?;
            let inside = inside(&index, &hist.extents);
            let update = self.collect(|g| {
                let elements = match own {
                    None => g.dest_elements(hist, &index)?,
                    Some(own) => {
                        let (buffers, base) = &own[at_hist];
                        let flat = add(base.clone(), flat(&index, &hist.extents));
                        buffers
                            .iter()
                            .zip(&hist.types)
                            .map(|(&buffer, &ty)| element_of_buffer(buffer, ty, flat.clone()))
                            .collect()
                    }
                };
                let accs = g.load_elements(&elements, "old");
                let values = g.copy_operands(new, &hist.types)?;
                g.combine(&[hist.op], &accs, &values)?;
                for (element, acc) in elements.into_iter().zip(accs) {
                    g.emit(Stmt::Store(element, Expr::Var(acc)));
                }
                Ok(())
            })?;
            self.emit(Stmt::If(inside, update, Vec::new()));
        }
        Ok(())
    }

    fn dest_elements(&self, hist: &Bins<'_>, index: &[Expr]) -> Result<Vec<Access>, PassError> {
        hist.destinations
            .iter()
            .zip(&hist.types)
            .map(|((_, block, lmad), &ty)| self.element(ty, *block, lmad, index.to_vec()))
            .collect()
    }
}
