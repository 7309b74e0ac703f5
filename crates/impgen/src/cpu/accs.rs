//! Segops that update accumulators with an operator, as their decomposition says: in place if there
//! is one chunk, otherwise each chunk in private copies.
//!
//! ```text
//! segmap (i < n) { .. acc by op .. }
//!   chunks = clamp(n / max(grain, bins / writes), 1, max)
//!   if chunks <= 1: for i < n { <body>; d[k] = op d[k] v; out[i] = .. }
//!   else for tasks c < chunks
//!          own[c][..] = ne; for i in chunk { <body>; own[c][k] = op own[c][k] v; out[i] = .. }
//!        for tasks over k < bins: for c < chunks: d[k] = op d[k] own[c][k]
//! ```

use super::hist::Bins;
use super::reduce::Operators;
use super::segops::SegSpace;
use crate::accs::{AccTarget, PrivateCopies};
use crate::function::Gen;
use crate::operators::operator_types;
use imp::build::{add, compare, div, max, mul};
use imp::{Expr, Stmt, Var};
use ir::name::Name;
use ir::syntax::Param;
use ir::types::Type;
use ir::{Mems, PassError};
use prim::{CmpOp, PrimType};
use std::rc::Rc;

impl Gen<'_, '_> {
    /// A segop that maps, may reduce, and updates accumulators with an operator.
    pub(crate) fn seg_accumulating(
        &mut self,
        pat: &[Param<Mems>],
        space: &SegSpace<'_>,
        operators: &Operators<'_>,
    ) -> Result<(), PassError> {
        let (reduced, fold) = operators.reduction(pat, space);
        let (mapped, types) = (fold.mapped, fold.types);
        let targets = self.combining_accs(mapped);
        let mut bins = Vec::with_capacity(targets.len());
        let mut largest = Expr::i64(1);
        for (_, target) in &targets {
            let bin = self.bins(target)?;
            largest = max(largest, bin.size.clone());
            bins.push(bin);
        }
        let decomp = space.decomp;
        let n = self.bind_value(space.width.clone(), PrimType::I64, "n");
        let iterations = div(largest, Expr::i64(i64::from(decomp.updates_per_iteration.max(1))));
        let grain = max(iterations, self.grain_size(decomp, &n)?);
        let grain = self.bind_value(grain, PrimType::I64, "grain");
        let chunks = self.n_chunks(n.clone(), grain, decomp.max_chunks);
        let partials = self.partials("partial", types, &chunks, decomp.max_chunks, space.prov);

        let single = self.collect(|g| {
            let accs = g.reduce_chunk(&fold, Expr::i64(0), n.clone())?;
            g.store_all(&partials, types, Expr::i64(0), &accs);
            Ok(())
        })?;
        let several = self.collect(|g| {
            let own = g.alloc_copies(&bins, &chunks, space.prov);
            let cost = g.cost(space)?;
            let mut distinct = g.unaliased_blocks(mapped, space.body)?;
            distinct.extend(&partials);
            g.for_tasks("segacc", space.prov, chunks.clone(), cost, distinct, |g, c| {
                let (lo, hi) = g.bounds(n, chunks.clone(), Expr::Var(c));
                for (((token, target), bin), buffers) in targets.iter().zip(&bins).zip(&own) {
                    let base = g.init_copy(bin, buffers, c)?;
                    let own = PrivateCopies { buffers: buffers.clone(), base };
                    let copy = AccTarget { private: Some(own), ..AccTarget::clone(target) };
                    g.accs.insert(*token, Rc::new(copy));
                }
                let accs = g.reduce_chunk(&fold, lo, hi)?;
                for (token, target) in &targets {
                    g.accs.insert(*token, Rc::clone(target));
                }
                g.store_all(&partials, types, Expr::Var(c), &accs);
                Ok(())
            })?;
            for (bin, buffers) in bins.iter().zip(&own) {
                g.combine_bin_copies(space, bin, buffers, chunks.clone())?;
            }
            for &buffer in own.iter().flatten() {
                g.emit(Stmt::Release(buffer));
            }
            Ok(())
        })?;
        let is_single = compare(CmpOp::SLe, chunks.clone(), Expr::i64(1));
        self.emit(Stmt::If(is_single, single, several));

        let accs = self.load_all(&partials, types, Expr::i64(0), "acc");
        if !types.is_empty() {
            self.for_seq("c", Expr::i64(1), chunks, false, |g, c| {
                let values = g.load_all(&partials, types, Expr::Var(c), "part");
                g.combine(fold.operators, &accs, &values)
            })?;
        }
        self.release_partials(&partials);
        for (param, acc) in reduced.iter().zip(accs) {
            self.set_var(param.name, acc);
        }
        Ok(())
    }

    /// The accumulators with an operator among the results, by token.
    fn combining_accs(&self, mapped: &[Param<Mems>]) -> Vec<(Name, Rc<AccTarget>)> {
        let tokens = mapped.iter().filter_map(|param| match &param.ty {
            Type::Acc { token, .. } => Some(*token),
            Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => None,
        });
        let targets = tokens.filter_map(|token| Some((token, self.accs.get(&token)?.clone())));
        targets.filter(|(_, target)| target.op.is_some()).collect()
    }

    /// An accumulator's arrays as bins.
    fn bins<'t>(&mut self, target: &'t AccTarget) -> Result<Bins<'t>, PassError> {
        let op = target.op.as_deref();
        let op = op.ok_or_else(|| PassError::bug("an accumulator has no operator"))?;
        let extents = self.extents(&target.shape)?;
        let size = extents.iter().cloned().fold(Expr::i64(1), mul);
        Ok(Bins {
            extents,
            size: self.bind_value(size, PrimType::I64, "bins"),
            op,
            types: operator_types(&[op])?,
            destinations: target.arrays.clone(),
        })
    }

    /// Allocates buffers for one copy of the bins per chunk.
    pub(crate) fn alloc_copies(&mut self, bins: &[Bins<'_>], copies: &Expr, prov: ir::Prov) -> Vec<Vec<Var>> {
        let mut own = Vec::with_capacity(bins.len());
        for bin in bins {
            let mut buffers = Vec::with_capacity(bin.types.len());
            for &ty in &bin.types {
                let buffer = self.owned("private");
                let elements = mul(copies.clone(), bin.size.clone());
                let bytes = mul(elements, Expr::i64(ty.size() as i64));
                self.emit_alloc(buffer, bytes, prov);
                buffers.push(buffer);
            }
            own.push(buffers);
        }
        own
    }

    /// Fills a chunk's copy with neutral elements; returns the position of its first one.
    pub(crate) fn init_copy(
        &mut self,
        bin: &Bins<'_>,
        buffers: &[Var],
        chunk: Var,
    ) -> Result<Expr, PassError> {
        let base = mul(Expr::Var(chunk), bin.size.clone());
        let base = self.bind_value(base, PrimType::I64, "base");
        let neutral = self.neutral(&[bin.op], &bin.types)?;
        self.for_seq("b", Expr::i64(0), bin.size.clone(), true, |g, b| {
            let index = add(base.clone(), Expr::Var(b));
            g.store_all(buffers, &bin.types, index, &neutral);
            Ok(())
        })?;
        Ok(base)
    }
}
