//! Histograms.
//!
//! Where each operator is one that devices apply at once ([`atomic_operator`]), every thread
//! takes a point and updates its bins: the operator is exact, so their order does not show.
//! All others fall apart into chunks of points, each of which is a thread's and has copies
//! of the bins that start from the neutral elements; then each bin takes the copies' bins
//! from the first chunk to the last. How many chunks there are depends on sizes alone.

use crate::generate::accs::{Target, flat, inside};
use crate::generate::expr::{add, binary, div, max, min, mul};
use crate::generate::function::Gen;
use crate::generate::operators::operator_types;
use crate::syntax::{DeviceOp, Expr, Stmt, Update, Var};
use ir::exact::atomic_operator;
use ir::mem::Lmad;
use ir::name::Name;
use ir::seg::Seg;
use ir::soac::{HistOp, Operator};
use ir::syntax::Atom;
use ir::types::{Dim, Type};
use ir::{Mems, PassError, Prov};
use prim::{BinOp, PrimType};

/// Most chunks of a histogram: as many threads as keep a device busy.
const MAX_CHUNKS: i64 = 4096;

/// A histogram of a segop.
pub(super) struct Bins<'s> {
    pub(super) op: &'s Operator<Mems>,
    pub(super) types: Vec<PrimType>,
    pub(super) dests: Vec<(Type, Name, Lmad)>,
    /// Sizes of the index space, outer dimensions of the segop included.
    extents: Vec<Expr>,
    /// How many bins there are.
    count: Expr,
    /// The chunks' copies.
    copies: Vec<Var>,
}

impl Gen<'_, '_> {
    pub(super) fn kernel_hist(
        &mut self,
        seg: &Seg<Mems>,
        ops: &[HistOp<Mems>],
        prov: Prov,
    ) -> Result<(), PassError> {
        let dims = seg.space.dims.as_slice();
        let n = self.product(dims, "n")?;
        let mut hists = self.bins_of(ops, &dims[..dims.len().saturating_sub(1)])?;
        let atomic: Option<Vec<_>> = ops
            .iter()
            .map(|hist| atomic_operator(&hist.op.op))
            .collect();
        if let Some(operators) = atomic {
            return self.each_point(("seghist", prov), n, |g, point| {
                g.bind_point(dims, &point)?;
                g.update_at_once(seg, ops, &hists, &operators)
            });
        }
        let largest = hists.iter().map(|hist| hist.count.clone());
        let grain = largest.fold(Expr::i64(self.layout().grain), max);
        let chunks = max(
            min(div(n.clone(), grain), Expr::i64(MAX_CHUNKS)),
            Expr::i64(1),
        );
        let chunks = self.name_value(chunks, PrimType::I64, "chunks");
        for hist in &mut hists {
            self.neutral_copies(hist, &chunks, prov)?;
        }
        let of_chunks = chunks.clone();
        self.each_point(("seghist", prov), chunks.clone(), |g, chunk| {
            let (from, to) = g.bounds(n, of_chunks, chunk.clone());
            g.for_seq("point", from, to, false, |g, point| {
                g.bind_point(dims, &Expr::Var(point))?;
                g.point(&seg.body, |g, results| {
                    g.each_bin(&hists, ops, dims, &results, |g, k, index, values| {
                        let hist = &hists[k];
                        let place = add(
                            mul(chunk.clone(), hist.count.clone()),
                            flat(index, &hist.extents),
                        );
                        let place = g.name_value(place, PrimType::I64, "bin");
                        let olds = g.load_all(&hist.copies, &hist.types, place.clone(), "old");
                        let values = g.values(values, &hist.types)?;
                        g.combine(&[hist.op], &olds, &values)?;
                        g.store_all(&hist.copies, &hist.types, place, &olds);
                        Ok(())
                    })
                })
            })
        })?;
        for hist in &hists {
            self.combine_copies(hist, &chunks, prov)?;
            self.release_arrays(&hist.copies);
        }
        Ok(())
    }

    /// The updates of a point, by operators that devices apply at once.
    pub(super) fn update_at_once(
        &mut self,
        seg: &Seg<Mems>,
        ops: &[HistOp<Mems>],
        hists: &[Bins<'_>],
        operators: &[(BinOp, PrimType)],
    ) -> Result<(), PassError> {
        let dims = seg.space.dims.as_slice();
        self.point(&seg.body, |g, results| {
            g.each_bin(hists, ops, dims, &results, |g, k, index, values| {
                let (by, elem) = operators[k];
                let (_, block, lmad) = &hists[k].dests[0];
                let at = g.element(elem, *block, lmad, index.to_vec())?;
                let value = g.atom(values[0])?;
                g.emit(Stmt::Device(DeviceOp::Update(Box::new(Update {
                    old: None,
                    at,
                    op: by,
                    value,
                }))));
                Ok(())
            })
        })
    }

    pub(super) fn bins_of<'s>(
        &mut self,
        ops: &'s [HistOp<Mems>],
        outer: &[(Name, Dim)],
    ) -> Result<Vec<Bins<'s>>, PassError> {
        let mut hists = Vec::with_capacity(ops.len());
        for HistOp { shape, dests, op } in ops {
            let dims = outer
                .iter()
                .map(|(_, dim)| *dim)
                .chain(shape.iter().copied());
            let dims: Vec<Dim> = dims.collect();
            let extents = self.extents(&dims)?;
            let count = extents.iter().cloned().fold(Expr::i64(1), mul);
            let places = dests.iter().map(|&dest| self.place(dest));
            hists.push(Bins {
                op,
                types: operator_types(&[op])?,
                dests: places.collect::<Result<_, _>>()?,
                extents,
                count: self.name_value(count, PrimType::I64, "bins"),
                copies: Vec::new(),
            });
        }
        Ok(hists)
    }

    /// `f` for each histogram whose index at a point is one of its bins, with the index and
    /// the values.
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
            let outer = index.len();
            for at in own {
                index.push(self.atom(*at)?);
            }
            let is_bin = inside(&index[outer..], &hist.extents[outer..]);
            let body = self.collect(|g| f(g, k, &index, xs))?;
            self.emit(Stmt::If(is_bin, body, Vec::new()));
        }
        Ok(())
    }

    /// Copies of a histogram's bins for all chunks get the neutral elements.
    fn neutral_copies(
        &mut self,
        hist: &mut Bins<'_>,
        chunks: &Expr,
        prov: Prov,
    ) -> Result<(), PassError> {
        let all = mul(chunks.clone(), hist.count.clone());
        let all = self.name_value(all, PrimType::I64, "all");
        hist.copies = self.device_arrays("copies", &hist.types, &all, prov);
        self.each_point(("seghist.start", prov), all, |g, place| {
            let neutral = g.neutral(&[hist.op], &hist.types)?;
            g.store_all(&hist.copies, &hist.types, place, &neutral);
            Ok(())
        })
    }

    /// Each bin takes the copies' bins, in the order of the chunks.
    fn combine_copies(
        &mut self,
        hist: &Bins<'_>,
        chunks: &Expr,
        prov: Prov,
    ) -> Result<(), PassError> {
        let extents = hist.extents.clone();
        let count = hist.count.clone();
        let chunks = chunks.clone();
        self.each_point(("seghist.total", prov), count, |g, bin| {
            let mut index = Vec::with_capacity(extents.len());
            let mut rest = bin.clone();
            for (k, extent) in extents.iter().enumerate().rev() {
                if k == 0 {
                    index.push(rest.clone());
                } else {
                    let own = binary(BinOp::UMod, rest.clone(), extent.clone());
                    index.push(own);
                    rest = g.name_value(div(rest, extent.clone()), PrimType::I64, "rest");
                }
            }
            index.reverse();
            let mut places = Vec::with_capacity(hist.dests.len());
            for ((_, block, lmad), &elem) in hist.dests.iter().zip(&hist.types) {
                places.push(g.element(elem, *block, lmad, index.clone())?);
            }
            let olds = g.load_places(&places, "old");
            g.for_seq("chunk", Expr::i64(0), chunks, false, |g, chunk| {
                let place = add(mul(Expr::Var(chunk), hist.count.clone()), bin);
                let place = g.name_value(place, PrimType::I64, "place");
                let values = g.load_all(&hist.copies, &hist.types, place, "own");
                g.combine(&[hist.op], &olds, &values)
            })?;
            for (place, old) in places.into_iter().zip(olds) {
                g.store(place, Expr::Var(old));
            }
            Ok(())
        })
    }

    /// An update of an accumulator by a thread, where others may update the same place.
    pub(crate) fn update_at(
        &mut self,
        target: &Target,
        op: &Operator<Mems>,
        index: &[Expr],
        values: &[Atom],
    ) -> Result<(), PassError> {
        let (Some((by, elem)), [(_, block, lmad)], [value]) =
            (atomic_operator(&op.op), target.arrays.as_slice(), values)
        else {
            return Err(self.not_in_kernels("accumulators with such an operator", self.prov));
        };
        let at = self.element(elem, *block, lmad, index.to_vec())?;
        let value = self.atom(*value)?;
        self.emit(Stmt::Device(DeviceOp::Update(Box::new(Update {
            old: None,
            at,
            op: by,
            value,
        }))));
        Ok(())
    }
}
