//! Reverse mode: histograms by any operator.
//!
//! A bin is a reduction from its destination on, `y_i = y_(i-1) op x_i` over the values `x_i` of the
//! bin, so that the adjoint of `y_(i-1)` is that of the operator's first operand at `(y_(i-1), x_i)`,
//! from the last value to the first. Two sequential passes over the values, with one element for each
//! bin, compute all `y` and all adjoints.
//!
//! The values are divided into chunks, which are independent: the bins before a chunk are combined from
//! the totals of the chunks before it, and the adjoints after it follow from the totals of the chunks
//! after it, since the result is what the chunk leaves, combined with these. There are as many chunks
//! as the bins are few. Their number depends on sizes only, so results do not depend on threads.

use super::hist::Histogram;
use crate::state::{Ad, Result, size_of};
use ir::Name;
use ir::build::{Builder, LoopInit};
use ir::soac::{Operator, Soacs};
use ir::syntax::{Atom, BasicOp, Exp, ReshapeKind};
use ir::types::{Dim, Type};
use ir::walk::free_names_lambda;
use prim::{BinOp, CmpOp, PrimType};

/// Values per bin and chunk at least: below, combining the bins of chunks costs more than they save.
const MIN_VALUES_PER_BIN: i64 = 8;
/// Chunks at most: enough for the threads of a processor, and for those of a device.
const MAX_CHUNKS: i64 = 64;
const MAX_DEVICE_CHUNKS: i64 = 4096;

/// Values by the bins in which an operator combines them, in chunks of one length; the last chunks may
/// be shorter.
struct Chunks<'a> {
    width: Dim,
    values: &'a [Name],
    op: &'a Operator<Soacs>,
    /// The number of bins.
    bins: Dim,
    /// The bin of each value, as one number; other numbers are outside.
    bin_of: Name,
    count: Dim,
    length: Dim,
    /// True if nothing but operands of the operator is active.
    is_closed: bool,
}

/// One chunk, in scope.
#[derive(Clone, Copy)]
struct Chunk {
    /// Its first value.
    start: Atom,
    /// Its number of values.
    count: Atom,
}

impl Chunks<'_> {
    /// The number of components of a value.
    fn components(&self) -> usize {
        self.op.neutral.len()
    }

    /// The types of all bins.
    fn bin_types(&self) -> Vec<Type> {
        self.op.op.ret.iter().map(|ty| ty.array_of(self.bins)).collect()
    }
}

fn atoms(names: &[Name]) -> Vec<Atom> {
    names.iter().map(|name| Atom::from(*name)).collect()
}

impl Ad<'_> {
    /// Adds the contributions of a histogram by any operator.
    pub(super) fn general_hist(&mut self, h: &Histogram<'_>) -> Result {
        let bins = self.b.product(&h.op.shape);
        let bin_of = match h.indices {
            [indices] => *indices,
            _ => self.flat_indices(h, bins),
        };
        let bins = Builder::<Soacs>::dim(bins);
        let destinations = self.flat_all(&h.op.destinations, h, bins);
        let seeds: Vec<Name> = h.adjoints.iter().map(|adjoint| self.name_of(*adjoint)).collect();
        let seeds = self.flat_all(&seeds, h, bins);
        let (count, length) = self.chunks(h.width, bins);
        let is_closed = !free_names_lambda(&h.op.op.op).iter().any(|name| self.active.contains(name));
        let chunks =
            Chunks { width: h.width, values: h.values, op: &h.op.op, bins, bin_of, count, length, is_closed };
        self.reverse_chunks(&chunks, (&destinations, &seeds))?;
        self.add_to_destinations(h)
    }

    /// Adds the contributions of values, from the bins before all of them and the adjoints after them.
    fn reverse_chunks(&mut self, chunks: &Chunks<'_>, (first, seeds): (&[Name], &[Name])) -> Result {
        let k = chunks.components();
        let mut totals = self.chunk_totals(chunks);
        let counts = totals.split_off(k)[0];
        let starts = self.chunk_starts(chunks, (first, &totals));
        let ends = self.chunk_ends(chunks, (&starts, &totals, seeds))?;
        let is = self.b.iota(chunks.count);
        let inputs: Vec<Name> = [is, counts].into_iter().chain(starts).chain(ends).collect();
        let passes = self.try_map("chunk", chunks.count, &inputs, |ad, rows| {
            let chunk = Chunk { count: rows[1].into(), ..ad.chunk(chunks, rows[0].into()) };
            let (starts, ends) = rows[2..].split_at(k);
            let before = ad.forward_pass(chunks, chunk, starts);
            let adjoints = ad.return_pass(chunks, chunk, (&before, ends))?;
            Ok(if chunks.is_closed { atoms(&adjoints) } else { [atoms(&before), atoms(&adjoints)].concat() })
        })?;
        let all: Vec<Name> = passes.iter().map(|own| self.values_of_chunks(*own, chunks.width)).collect();
        if chunks.is_closed {
            for (value, own) in chunks.values.iter().zip(all) {
                if self.active.contains(value) {
                    self.add((*value).into(), own.into());
                }
            }
            return Ok(());
        }
        // What each value is combined with, and the adjoint of the combination.
        let (before, whole) = all.split_at(k);
        self.reverse_applications((chunks.width, chunks.values), chunks.op, before, whole)
    }

    /// Adds the adjoints of destinations: those of the operator's first operand, with the rest of each bin
    /// as its second, also for a bin without values, as the reference does.
    fn add_to_destinations(&mut self, h: &Histogram<'_>) -> Result {
        if !h.op.destinations.iter().any(|own| self.active.contains(own)) {
            return Ok(());
        }
        let op = &h.op.op;
        let k = op.neutral.len();
        let rest_op = self.copy_operator(op);
        let rest = self.hist_of(h, h.values, rest_op);
        let mut all: Vec<Name> = h.op.destinations.iter().copied().chain(rest).collect();
        for adjoint in &h.adjoints {
            all.push(self.name_of(*adjoint));
        }
        let own = self.map_bins(&h.op.shape, &all, &mut |ad, x| {
            let seeds: Vec<Option<Atom>> = x[2 * k..].iter().map(|own| Some((*own).into())).collect();
            ad.first_operand(op, &x[..2 * k], &seeds)
        })?;
        for (destination, own) in h.op.destinations.iter().zip(own) {
            self.add((*destination).into(), own.into());
        }
        Ok(())
    }

    /// The bin of each value as one number; that of bins at least if an index is outside.
    fn flat_indices(&mut self, h: &Histogram<'_>, bins: Atom) -> Name {
        self.b.map("bin", h.width, h.indices, |b, index| {
            let mut flat = Atom::i64(0);
            let mut inside = super::reduce_special::truth(true);
            for (i, dim) in index.iter().zip(&h.op.shape) {
                let size = size_of(*dim);
                flat = b.mul_i64(flat, size);
                flat = b.add_i64(flat, (*i).into());
                let own = b.compare(CmpOp::ULt, PrimType::I64, (*i).into(), size);
                inside = b.binary(BinOp::And, PrimType::Bool, inside, own.into()).into();
            }
            vec![b.select(PrimType::I64, inside, flat, bins).into()]
        })[0]
    }

    /// The number of chunks of values, and their length.
    fn chunks(&mut self, width: Dim, bins: Dim) -> (Dim, Dim) {
        // Chunks within other iterations have these beside them.
        if self.lambdas > 0 {
            return (Dim::Const(1), width);
        }
        let size = size_of(width);
        let (one, ty) = (Atom::i64(1), PrimType::I64);
        let most = if self.calls.options.has_device { MAX_DEVICE_CHUNKS } else { MAX_CHUNKS };
        let some = self.b.binary(BinOp::SMax, ty, size_of(bins), one);
        let least = self.b.mul_i64(some.into(), Atom::i64(MIN_VALUES_PER_BIN));
        let count = self.b.binary(BinOp::SQuot, ty, size, least);
        let count = self.b.binary(BinOp::SMin, ty, count.into(), Atom::i64(most));
        let count: Atom = self.b.binary(BinOp::SMax, ty, count.into(), one).into();
        let sum = self.b.add_i64(size, count);
        let sum = self.b.sub_i64(sum, one);
        let length: Atom = self.b.binary(BinOp::SQuot, ty, sum, count).into();
        (Builder::<Soacs>::dim(count), Builder::<Soacs>::dim(length))
    }

    /// A chunk by its number.
    fn chunk(&mut self, chunks: &Chunks<'_>, number: Atom) -> Chunk {
        let size = size_of(chunks.width);
        let length = size_of(chunks.length);
        let start = self.b.mul_i64(number, length);
        let left = self.b.sub_i64(size, start);
        let count = self.b.binary(BinOp::SMin, PrimType::I64, left, length);
        let count = self.b.binary(BinOp::SMax, PrimType::I64, count.into(), Atom::i64(0)).into();
        Chunk { start, count }
    }

    /// The bins of each chunk, from neutral elements on, and its number of values. The bins of a single
    /// chunk are not read. The number is stored since LLVM would compute it again for each address of the
    /// return pass.
    fn chunk_totals(&mut self, chunks: &Chunks<'_>) -> Vec<Name> {
        let count = size_of(chunks.count);
        let single: Atom = self.b.compare(CmpOp::Eq, PrimType::I64, count, Atom::i64(1)).into();
        let is = self.b.iota(chunks.count);
        self.map("totals", chunks.count, &[is], |ad, rows| {
            let chunk = ad.chunk(chunks, rows[0].into());
            let read = ad.b.select(PrimType::I64, single, Atom::i64(0), chunk.count);
            let neutral = ad.neutral_bins(chunks);
            let (bins, _) =
                ad.combine_all(chunks, Chunk { count: read.into(), ..chunk }, (neutral, Vec::new()));
            [atoms(&bins), vec![chunk.count]].concat()
        })
    }

    /// Bins of neutral elements.
    fn neutral_bins(&mut self, chunks: &Chunks<'_>) -> Vec<Name> {
        chunks.op.neutral.iter().map(|own| self.b.replicate("bins", &[chunks.bins], *own)).collect()
    }

    /// The bins before each chunk.
    fn chunk_starts(&mut self, chunks: &Chunks<'_>, (first, totals): (&[Name], &[Name])) -> Vec<Name> {
        let k = chunks.components();
        let count = size_of(chunks.count);
        let types = chunks.bin_types();
        let mut inits = Vec::new();
        for (ty, first) in types.iter().zip(first) {
            inits.push(state("bins", ty.clone(), (*first).into(), false));
        }
        for ty in &types {
            let all = self.unwritten("unwritten", ty, chunks.count);
            inits.push(state("starts", ty.array_of(chunks.count), all.into(), true));
        }
        let own = self.copy_lambda(&chunks.op.op);
        let results = self.b.for_loop(PrimType::I64, count, inits, |b, c, params| {
            let (bins, starts) = params.split_at(k);
            let stored = starts.iter().zip(bins);
            let stored: Vec<Name> =
                stored.map(|(all, own)| b.update("starts", *all, &[c.into()], (*own).into())).collect();
            let totals = totals.iter().map(|own| b.index("total", *own, &[c.into()]));
            let inputs: Vec<Name> = totals.collect();
            let inputs: Vec<Name> = bins.iter().copied().chain(inputs).collect();
            let next = b.map("bins", chunks.bins, &inputs, |b, x| b.inline(own, atoms(x)));
            atoms(&next).into_iter().chain(atoms(&stored)).collect()
        });
        results[k..].to_vec()
    }

    /// The adjoints of what each chunk leaves in the bins.
    fn chunk_ends(
        &mut self,
        chunks: &Chunks<'_>,
        (starts, totals, seeds): (&[Name], &[Name], &[Name]),
    ) -> Result<Vec<Name>> {
        let (op, k) = (chunks.op, chunks.components());
        let count = size_of(chunks.count);
        let last = self.b.sub_i64(count, Atom::i64(1));
        let types = chunks.bin_types();
        let mut inits: Vec<(Type, Atom)> = Vec::new();
        for (ty, total) in types.iter().zip(totals) {
            inits.push((ty.clone(), self.b.index("rest", *total, &[last]).into()));
        }
        // What the last chunk leaves is the result.
        for (ty, seed) in types.iter().zip(seeds) {
            let all = self.unwritten("unwritten", ty, chunks.count);
            let all = self.b.update("ends", all, &[last], (*seed).into());
            inits.push((ty.array_of(chunks.count), all.into()));
        }
        let results = self.down((PrimType::I64, last), inits, |ad, (_, c), params| {
            let (rest, ends) = params.split_at(k);
            let mut inputs: Vec<Name> =
                starts.iter().chain(totals).map(|own| ad.b.index("own", *own, &[c])).collect();
            inputs.extend(rest.iter().chain(seeds));
            let results = ad.try_map("bins", chunks.bins, &inputs, |ad, x| ad.chunk_end(op, x))?;
            let (rest, own) = results.split_at(k);
            let ends = ends.iter().zip(own).map(|(all, own)| ad.b.update("ends", *all, &[c], (*own).into()));
            let ends: Vec<Name> = ends.collect();
            Ok(atoms(rest).into_iter().chain(atoms(&ends)).collect())
        })?;
        Ok(results[k..].to_vec())
    }

    /// The total of a chunk and all after it, and the adjoint of the bins that the chunk leaves, from the
    /// bins before it, its total, the total after it, and the adjoint of the result.
    fn chunk_end(&mut self, op: &Operator<Soacs>, x: &[Name]) -> Result<Vec<Atom>> {
        let k = op.neutral.len();
        let (left, after) = (self.copy_lambda(&op.op), self.copy_lambda(&op.op));
        let left = self.b.inline(left, atoms(&x[..2 * k]));
        let after = self.b.inline(after, atoms(&x[k..3 * k]));
        let left: Vec<Name> = left.into_iter().map(|own| self.name_of(own)).collect();
        let both: Vec<Name> = left.iter().chain(&x[2 * k..3 * k]).copied().collect();
        let seeds: Vec<Option<Atom>> = x[3 * k..].iter().map(|own| Some((*own).into())).collect();
        let own = self.first_operand(op, &both, &seeds)?;
        Ok(after.into_iter().chain(own).collect())
    }

    /// The bin's element that each value of a chunk is combined with.
    fn forward_pass(&mut self, chunks: &Chunks<'_>, chunk: Chunk, starts: &[Name]) -> Vec<Name> {
        let bins = starts.iter().map(|own| self.b.let_basic("bins", BasicOp::Copy(*own))).collect();
        let stored =
            chunks.op.op.ret.iter().map(|ty| self.unwritten("unwritten", ty, chunks.length)).collect();
        self.combine_all(chunks, chunk, (bins, stored)).1
    }

    /// Combines bins with the values of a chunk, one after another. If there are arrays for it, stores
    /// what each value is combined with: a neutral element outside of all bins.
    fn combine_all(
        &mut self,
        chunks: &Chunks<'_>,
        chunk: Chunk,
        (bins, stored): (Vec<Name>, Vec<Name>),
    ) -> (Vec<Name>, Vec<Name>) {
        let k = bins.len();
        let own = self.copy_lambda(&chunks.op.op);
        let size = size_of(chunks.bins);
        let mut types = chunks.bin_types();
        let mut inits = Vec::new();
        for array in bins.iter().chain(&stored) {
            inits.push(state("bins", self.b.types.type_of(*array).clone(), (*array).into(), true));
        }
        types.extend(chunks.op.op.ret.iter().cloned());
        let results = self.b.for_loop(PrimType::I64, chunk.count, inits, |b, j, params| {
            let (bins, stored) = params.split_at(k);
            let at = b.add_i64(chunk.start, j.into());
            let bin: Atom = b.index("bin", chunks.bin_of, &[at]).into();
            let inside = b.compare(CmpOp::ULt, PrimType::I64, bin, size);
            let combined = |b: &mut Builder<'_, Soacs>| -> Vec<Atom> {
                let before: Vec<Name> = bins.iter().map(|own| b.index("before", *own, &[bin])).collect();
                let values: Vec<Name> = chunks.values.iter().map(|own| b.index("x", *own, &[at])).collect();
                let results = b.inline(own, atoms(&before).into_iter().chain(atoms(&values)));
                let next = bins.iter().zip(results);
                let next: Vec<Name> = next.map(|(own, x)| b.update("bins", *own, &[bin], x)).collect();
                atoms(&next).into_iter().chain(atoms(&before)).collect()
            };
            let unchanged = |_: &mut Builder<'_, Soacs>| -> Vec<Atom> {
                atoms(bins).into_iter().chain(chunks.op.neutral.iter().copied()).collect()
            };
            let results = b.if_("bins", inside.into(), types, combined, unchanged);
            let (next, before) = results.split_at(k);
            let stored = stored.iter().zip(before);
            let stored: Vec<Name> =
                stored.map(|(all, own)| b.update("stored", *all, &[j.into()], (*own).into())).collect();
            atoms(next).into_iter().chain(atoms(&stored)).collect()
        });
        (results[..k].to_vec(), results[k..].to_vec())
    }

    /// The adjoint of each value of a chunk, from those after it, or else that of its combination; zero
    /// outside of all bins.
    fn return_pass(
        &mut self,
        chunks: &Chunks<'_>,
        chunk: Chunk,
        (before, ends): (&[Name], &[Name]),
    ) -> Result<Vec<Name>> {
        let (op, k) = (chunks.op, ends.len());
        let size = size_of(chunks.bins);
        let mut types = chunks.bin_types();
        let mut inits = Vec::new();
        for (ty, own) in types.iter().zip(ends) {
            inits.push((ty.clone(), self.b.let_basic("adj", BasicOp::Copy(*own)).into()));
        }
        for ty in &op.op.ret {
            inits.push((ty.array_of(chunks.length), self.unwritten("unwritten", ty, chunks.length).into()));
        }
        types.extend(op.op.ret.iter().cloned());
        let results = self.down((PrimType::I64, chunk.count), inits, |ad, (_, j), params| {
            let (bins, whole) = params.split_at(k);
            let at = ad.b.add_i64(chunk.start, j);
            let bin: Atom = ad.b.index("bin", chunks.bin_of, &[at]).into();
            let inside = ad.b.compare(CmpOp::ULt, PrimType::I64, bin, size);
            let outer = ad.b.open();
            let own: Vec<Name> = bins.iter().map(|own| ad.b.index("adj", *own, &[bin])).collect();
            let mut operands: Vec<Name> = before.iter().map(|own| ad.b.index("before", *own, &[j])).collect();
            operands.extend(chunks.values.iter().map(|own| ad.b.index("x", *own, &[at])));
            let seeds: Vec<Option<Atom>> = own.iter().map(|own| Some((*own).into())).collect();
            let operands =
                ad.operand_adjoints(op, &operands, &seeds, if chunks.is_closed { 2 * k } else { k })?;
            let (next, of_values) = operands.split_at(k);
            let next = bins.iter().zip(next);
            let next: Vec<Name> = next.map(|(all, x)| ad.b.update("adj", *all, &[bin], *x)).collect();
            let stored = if chunks.is_closed { of_values.to_vec() } else { atoms(&own) };
            let then_body = ad.b.close(outer, atoms(&next).into_iter().chain(stored).collect());
            let outer = ad.b.open();
            let zeros: Vec<Atom> = op.op.ret.iter().map(|ty| ad.zero(ty)).collect();
            let else_body = ad.b.close(outer, atoms(bins).into_iter().chain(zeros).collect());
            let exp = Exp::If { cond: inside.into(), then_body, else_body };
            let results = ad.b.bind_all(types.into_iter().map(|ty| ("adj", ty)), exp);
            let (next, own) = results.split_at(k);
            let whole = whole.iter().zip(own);
            let whole: Vec<Name> =
                whole.map(|(all, own)| ad.b.update("adj", *all, &[j], (*own).into())).collect();
            Ok(atoms(next).into_iter().chain(atoms(&whole)).collect())
        })?;
        Ok(results[k..].to_vec())
    }

    /// Arrays over bins with one dimension for these.
    fn flat_all(&mut self, arrays: &[Name], h: &Histogram<'_>, bins: Dim) -> Vec<Name> {
        let rank = h.op.shape.len();
        let mut flat = Vec::new();
        for array in arrays {
            let inner = self.b.types.type_of(*array).shape().iter().skip(rank);
            let shape = std::iter::once(bins).chain(inner.copied()).collect();
            flat.push(self.reshaped(*array, shape));
        }
        flat
    }

    /// The values of all chunks, without what is behind the last one.
    fn values_of_chunks(&mut self, array: Name, width: Dim) -> Name {
        let shape = self.b.types.type_of(array).shape().to_vec();
        let all = self.b.product(&shape[..2]);
        let all = Builder::<Soacs>::dim(all);
        let flat = self.reshaped(array, std::iter::once(all).chain(shape[2..].iter().copied()).collect());
        let slice = self.b.rows_slice(flat, Atom::i64(0), width);
        self.b.let_basic("values", BasicOp::Index { array: flat, slice })
    }

    /// An array with its elements in another shape.
    fn reshaped(&mut self, array: Name, shape: Vec<Dim>) -> Name {
        if self.b.types.type_of(array).shape() == shape {
            return array;
        }
        let kind = ReshapeKind::Arbitrary;
        self.b.let_basic("flat", BasicOp::Reshape { kind, shape: shape.into_iter().collect(), array })
    }
}

/// A loop's parameter.
fn state(hint: &str, ty: Type, init: Atom, consumed: bool) -> LoopInit {
    LoopInit { hint: hint.to_owned(), ty, init, consumed }
}
