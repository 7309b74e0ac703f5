//! The bins of histograms: their elements, and the updates of an iteration.

use crate::accs::{AccTarget, flat, inside};
use crate::emitter::Location;
use crate::mems::{HistOp, Operator};
use crate::operators::operator_types;
use crate::schedule::{Generator, Schedule};
use crate::{OrBug, Result};
use imp::build::{Operand, product};
use imp::{Access, Expr, emit};
use ir::name::Name;
use ir::syntax::Atom;
use ir::types::Dim;
use prim::PrimType;

/// The bins of one histogram operator.
pub(crate) struct Bins<'h> {
    pub(crate) op: &'h Operator,
    pub(crate) types: Vec<PrimType>,
    pub(crate) destinations: Vec<Location>,
    /// The extents of the index space, including the dimensions that count segments.
    pub(crate) extents: Vec<Operand>,
    /// The number of dimensions that count segments.
    pub(crate) outer: usize,
    /// The number of bins of a segment.
    pub(crate) size: Operand,
}

impl Bins<'_> {
    /// The position of an index among all bins.
    pub(crate) fn position(&self, index: &[Operand]) -> Expr {
        flat(index, &self.extents)
    }

    /// The position of an index among the bins of its segment.
    pub(crate) fn segment_position(&self, index: &[Operand]) -> Expr {
        flat(&index[self.outer..], &self.extents[self.outer..])
    }
}

impl<S: Schedule> Generator<'_, S> {
    /// The bins of each operator, in segments over the outer dimensions.
    pub(crate) fn bins_of<'s>(&mut self, ops: &'s [HistOp], outer: &[(Name, Dim)]) -> Result<Vec<Bins<'s>>> {
        let mut bins = Vec::with_capacity(ops.len());
        for HistOp { shape, destinations, op } in ops {
            let own = self.extents(shape)?;
            let dims: Vec<Dim> = outer.iter().map(|(_, dim)| *dim).collect();
            bins.push(Bins {
                op,
                types: operator_types(&[op])?,
                destinations: destinations
                    .iter()
                    .map(|&array| self.location(array))
                    .collect::<Result<_>>()?,
                extents: [self.extents(&dims)?, own.clone()].concat(),
                outer: outer.len(),
                size: self.bind(product(own), "bins"),
            });
        }
        Ok(bins)
    }

    /// The arrays of an accumulator with an operator as bins, whose first `outer` dimensions count
    /// segments.
    pub(crate) fn bins_of_acc<'t>(&mut self, target: &'t AccTarget, outer: usize) -> Result<Bins<'t>> {
        let op = target.op.as_deref();
        let op = op.or_bug("an accumulator has no operator")?;
        let extents = self.extents(&target.shape)?;
        let size = product(&extents[outer..]);
        Ok(Bins {
            outer,
            extents,
            size: self.bind(size, "bins"),
            op,
            types: operator_types(&[op])?,
            destinations: target.arrays.clone(),
        })
    }

    /// The elements of a bin.
    pub(crate) fn bin_elements<'i, I>(&self, bins: &Bins<'_>, index: &'i [I]) -> Result<Vec<Access>>
    where
        &'i I: Into<Expr>,
    {
        let arrays = bins.destinations.iter().zip(&bins.types);
        arrays.map(|((_, block, lmad), &elem)| self.element(elem, *block, lmad, index)).collect()
    }

    /// Calls `f` for each histogram over a space, under the condition that the index in the results of an
    /// iteration is one of its bins, with the histogram's number, the index and the values.
    pub(crate) fn each_bin(
        &mut self,
        bins: &[Bins<'_>],
        dims: &[(Name, Dim)],
        results: &[Atom],
        mut f: impl FnMut(&mut Self, usize, &[Operand], &[Atom]) -> Result,
    ) -> Result {
        let n_indices: usize = bins.iter().map(|hist| hist.extents.len() - hist.outer).sum();
        let (mut indices, mut values) = results.split_at(n_indices.min(results.len()));
        for (k, hist) in bins.iter().enumerate() {
            let (own, rest) = indices.split_at((hist.extents.len() - hist.outer).min(indices.len()));
            indices = rest;
            let (xs, rest) = values.split_at(hist.types.len().min(values.len()));
            values = rest;
            let mut index: Vec<Operand> = Vec::with_capacity(hist.extents.len());
            for (name, _) in &dims[..hist.outer] {
                index.push(self.var(*name)?.into());
            }
            index.extend(self.atoms(own)?);
            emit!(if self(inside(&index[hist.outer..], &hist.extents[hist.outer..])) {
                f(self, k, &index, xs)?;
            });
        }
        Ok(())
    }
}
