//! Flat maps: each chunk appends the results of its iterations to blocks of its own, which grow as
//! required; then the offsets of all chunks are computed, and their parts are copied together.
//!
//! ```text
//! segflatmap (i < n) { .. }
//!   for tasks c < chunks
//!     for i in chunk { <body>; part = part ++ result }     used[c] = |part|
//!     keep slots c part
//!   used = exclusive scan of used, m its sum
//!   for tasks c < chunks: all[used[c]..] = kept slots c
//! ```
//!
//! A chunk of one iteration passes its block on, and the parts of a single chunk are the whole
//! result: neither is copied.

use super::segops::SegSpace;
use crate::function::Gen;
use crate::operators::element_of_buffer;
use imp::build::{add, binary, compare, div, mul, sub};
use imp::{CheckId, Expr, Region, Slots, Stmt, Var};
use ir::mem::Lmad;
use ir::name::Name;
use ir::seg::is_concatenated;
use ir::syntax::{Atom, Param};
use ir::types::{Dim, Type};
use ir::{Mems, PassError};
use prim::{BinOp, CmpOp, PrimType, Scalar};

/// An array made by concatenation.
struct FlatResult {
    result: Var,
    elem: PrimType,
    /// The number of scalars per element.
    row: Expr,
    /// The position of its part among the results of an iteration.
    at: usize,
    /// The slots that hold the chunks' blocks.
    slots: Var,
}

/// The parts of the results that a chunk has so far.
struct ChunkParts<'w> {
    concatenated: &'w [FlatResult],
    blocks: Vec<Var>,
    /// The number of elements so far, and the capacity of the blocks.
    used: Var,
    capacity: Var,
    /// True if the chunk is a single iteration.
    is_single: Expr,
}

impl Gen<'_, '_> {
    pub(crate) fn seg_flat_map(
        &mut self,
        pat: &[Param<Mems>],
        space: &SegSpace<'_>,
        ret: &[Type],
    ) -> Result<(), PassError> {
        let cost = self.cost(space)?;
        let n = self.bind_value(space.width.clone(), PrimType::I64, "n");
        let grain = self.grain_size(space.decomp, &n)?;
        let chunks = self.n_chunks(n.clone(), grain, space.decomp.max_chunks);
        let location = self.span_check(space.prov);
        let [total, arrays @ ..] = pat else {
            return Err(PassError::bug("a flat map has no size"));
        };
        let total =
            self.bind_owned(total).ok_or_else(|| PassError::bug("the size of a flat map has no variable"))?;
        let (concatenated, mapped) = self.flat_results(arrays, ret, &chunks, location)?;
        let mut most = space.decomp.max_chunks;
        if let Expr::Const(Scalar::I64(n)) = n {
            most = n.clamp(1, most);
        }
        let used = self.partials("used", &[PrimType::I64], &chunks, most, space.prov);
        let [used_in] = used[..] else {
            return Err(PassError::bug("a flat map does not have exactly one buffer for sizes"));
        };
        let elements: Vec<Param<Mems>> = mapped.iter().map(|(_, param)| param.clone()).collect();
        let mut distinct = self.unaliased_blocks(&elements, space.body)?;
        distinct.push(used_in);
        let all = chunks.clone();
        self.for_tasks("segflatmap", space.prov, all.clone(), cost, distinct, |g, c| {
            let (lo, hi) = g.bounds(n.clone(), all, Expr::Var(c));
            let alone = compare(CmpOp::Eq, sub(hi.clone(), lo.clone()), Expr::i64(1));
            let parts = ChunkParts {
                concatenated: &concatenated,
                blocks: concatenated.iter().map(|_| g.owned("part")).collect(),
                used: g.scalar(PrimType::I64, "used"),
                capacity: g.scalar(PrimType::I64, "capacity"),
                is_single: g.bind_value(alone, PrimType::Bool, "alone"),
            };
            for var in [parts.used, parts.capacity] {
                g.emit(Stmt::Set(var, Expr::i64(0)));
            }
            g.iterations(space, lo, hi, |g, results| {
                let own: Vec<Atom> = mapped.iter().map(|(at, _)| results[*at]).collect();
                g.write_iteration(&elements, space, &own)?;
                g.append(&parts, &results, location)
            })?;
            g.emit(Stmt::Store(
                element_of_buffer(used_in, PrimType::I64, Expr::Var(c)),
                Expr::Var(parts.used),
            ));
            let keep = parts.blocks.iter().zip(&concatenated).map(|(block, flat_result)| {
                Stmt::Slots(Slots::Put { slots: flat_result.slots, at: Expr::Var(c), block: *block })
            });
            let any = compare(CmpOp::SLt, Expr::i64(0), Expr::Var(parts.used));
            g.emit(Stmt::If(any, keep.collect(), Vec::new()));
            Ok(())
        })?;
        self.exclusive_offsets(used_in, chunks.clone(), total)?;
        if concatenated.is_empty() {
            // Elements of size 0: a count that overflows must fail to allocate here too.
            let none = self.owned("none");
            let bytes = self.flat_bytes(Expr::Var(total), &Expr::i64(0));
            self.emit(Stmt::Alloc(none, bytes, location));
            self.emit(Stmt::Release(none));
        } else {
            self.concatenate(&concatenated, space, (n, chunks), (used_in, total), location)?;
        }
        self.release_partials(&used);
        for flat_result in &concatenated {
            self.emit(Stmt::Release(flat_result.slots));
        }
        Ok(())
    }

    /// The results without the size: the concatenated arrays, and the mapped ones with their
    /// positions among the results of an iteration.
    fn flat_results(
        &mut self,
        mut pat: &[Param<Mems>],
        ret: &[Type],
        chunks: &Expr,
        location: Option<CheckId>,
    ) -> Result<(Vec<FlatResult>, Vec<(usize, Param<Mems>)>), PassError> {
        let (mut concatenated, mut mapped) = (Vec::new(), Vec::new());
        for (at, ty) in ret.iter().enumerate().skip(1) {
            let count = if is_concatenated(ty) { 2 } else { 1 };
            let Some((own, rest)) = pat.split_at_checked(count) else {
                return Err(PassError::bug("a flat map has too few results"));
            };
            pat = rest;
            match own {
                [block, array] => {
                    let result = self
                        .bind_owned(block)
                        .ok_or_else(|| PassError::bug("a name of a block has no variable"))?;
                    let rows = self.extents(array.ty.shape().get(1..).unwrap_or_default())?;
                    let row = rows.into_iter().fold(Expr::i64(1), mul);
                    let slots = self.owned("slots");
                    self.emit(Stmt::Slots(Slots::New(slots, chunks.clone(), location)));
                    concatenated.push(FlatResult {
                        result,
                        elem: Self::elem_of(&array.ty)?,
                        row: self.bind_value(row, PrimType::I64, "row"),
                        at,
                        slots,
                    });
                }
                own => mapped.extend(own.iter().map(|param| (at, param.clone()))),
            }
        }
        Ok((concatenated, mapped))
    }

    /// Appends the results of an iteration to the chunk's parts.
    fn append(
        &mut self,
        parts: &ChunkParts<'_>,
        results: &[Atom],
        location: Option<CheckId>,
    ) -> Result<(), PassError> {
        let Some(size) = results.first() else {
            return Err(PassError::bug("an iteration of a flat map returns no size"));
        };
        let size = self.atom(*size)?;
        let (used, capacity) = (Expr::Var(parts.used), Expr::Var(parts.capacity));
        let need = self.bind_value(sum(used.clone(), size.clone()), PrimType::I64, "need");
        let append = self.collect(|g| {
            // A wrapped sum exceeds the capacity as well.
            let full = compare(CmpOp::ULt, capacity.clone(), need.clone());
            let grow = g.collect(|g| g.grow(parts, results, &need, location))?;
            g.emit(Stmt::If(full, grow, Vec::new()));
            for (flat_result, &block) in parts.concatenated.iter().zip(&parts.blocks) {
                let handed = g.reusable_block(results[flat_result.at])?;
                let copy = g.collect(|g| {
                    let offset = mul(used.clone(), flat_result.row.clone());
                    g.copy_part(flat_result, (block, offset), results[flat_result.at], &size)
                })?;
                if handed.is_some() {
                    g.emit(Stmt::If(parts.is_single.clone(), Vec::new(), copy));
                } else {
                    copy.into_iter().for_each(|stmt| g.emit(stmt));
                }
            }
            Ok(())
        })?;
        let any = compare(CmpOp::SLt, Expr::i64(0), size);
        self.emit(Stmt::If(any, append, Vec::new()));
        self.emit(Stmt::Set(parts.used, need));
        Ok(())
    }

    /// Makes capacity for at least `need` elements. In a chunk of one iteration, the result's own
    /// block is taken over.
    fn grow(
        &mut self,
        parts: &ChunkParts<'_>,
        results: &[Atom],
        need: &Expr,
        location: Option<CheckId>,
    ) -> Result<(), PassError> {
        let twice = mul(Expr::Var(parts.capacity), Expr::i64(2));
        let more = binary(BinOp::UMax, need.clone(), twice);
        let more = self.bind_value(more, PrimType::I64, "more");
        for (flat_result, &block) in parts.concatenated.iter().zip(&parts.blocks) {
            let longer = self.collect(|g| {
                let longer = g.owned("longer");
                let bytes = g.flat_bytes(more.clone(), &mul(flat_result.row.clone(), size_of(flat_result)));
                g.emit(Stmt::Alloc(longer, bytes, location));
                let before = vec![Stmt::copy(
                    row_at(longer, Expr::i64(0)),
                    row_at(block, Expr::i64(0)),
                    flat_result.elem,
                    vec![mul(Expr::Var(parts.used), flat_result.row.clone())],
                )];
                let any = compare(CmpOp::SLt, Expr::i64(0), Expr::Var(parts.used));
                g.emit(Stmt::If(any, before, Vec::new()));
                g.emit(Stmt::Share(block, longer));
                g.emit(Stmt::Release(longer));
                Ok(())
            })?;
            match self.reusable_block(results[flat_result.at])? {
                Some(own) => {
                    let take = vec![Stmt::Share(block, own)];
                    self.emit(Stmt::If(parts.is_single.clone(), take, longer));
                }
                None => longer.into_iter().for_each(|stmt| self.emit(stmt)),
            }
        }
        self.emit(Stmt::Set(parts.capacity, more));
        Ok(())
    }

    /// The block of a result that may be kept: owned, and filled from its start in row-major order.
    fn reusable_block(&self, result: Atom) -> Result<Option<Var>, PassError> {
        let (_, block, lmad) = self.location(array(result)?)?;
        let block = self.var(block)?;
        Ok((lmad.is_row_major() && self.is_owned(block)).then_some(block))
    }

    /// Copies the result of an iteration into a block.
    fn copy_part(
        &mut self,
        flat_result: &FlatResult,
        (block, offset): (Var, Expr),
        result: Atom,
        size: &Expr,
    ) -> Result<(), PassError> {
        let (ty, own, lmad) = self.location(array(result)?)?;
        let from = self.region(own, &lmad)?;
        let mut to = row_at(block, offset);
        if lmad == row_major_at(&lmad, ty.shape()) {
            let count = mul(size.clone(), flat_result.row.clone());
            let from = Region { strides: vec![Expr::i64(1)], ..from };
            self.emit(Stmt::copy(to, from, flat_result.elem, vec![count]));
            return Ok(());
        }
        let extents = self.extents(ty.shape())?;
        let mut stride = Expr::i64(1);
        to.strides.clear();
        for extent in extents.iter().rev() {
            to.strides.push(stride.clone());
            stride = mul(extent.clone(), stride);
        }
        to.strides.reverse();
        self.emit(Stmt::copy(to, from, flat_result.elem, extents));
        Ok(())
    }

    /// Replaces the chunks' lengths by their offsets (exclusive scan); the sum is the size of the
    /// whole.
    fn exclusive_offsets(&mut self, used: Var, chunks: Expr, total: Var) -> Result<(), PassError> {
        self.emit(Stmt::Set(total, Expr::i64(0)));
        self.for_seq("c", Expr::i64(0), chunks, false, |g, c| {
            let own = g.scalar(PrimType::I64, "length");
            let length = element_of_buffer(used, PrimType::I64, Expr::Var(c));
            g.emit(Stmt::Load(own, length.clone()));
            g.emit(Stmt::Store(length, Expr::Var(total)));
            g.emit(Stmt::Set(total, sum(Expr::Var(total), Expr::Var(own))));
            Ok(())
        })
    }

    /// Copies the chunks' parts into the results.
    fn concatenate(
        &mut self,
        concatenated: &[FlatResult],
        space: &SegSpace<'_>,
        (n, chunks): (Expr, Expr),
        (begins, total): (Var, Var),
        location: Option<CheckId>,
    ) -> Result<(), PassError> {
        let all = Expr::Var(total);
        let take = self.collect(|g| {
            for flat_result in concatenated {
                let part = g.part(flat_result, Expr::i64(0));
                g.emit(Stmt::Share(flat_result.result, part));
            }
            Ok(())
        })?;
        let copy = self.collect(|g| {
            let mut scalars = Expr::i64(0);
            for flat_result in concatenated {
                let bytes = g.flat_bytes(all.clone(), &mul(flat_result.row.clone(), size_of(flat_result)));
                g.emit(Stmt::Alloc(flat_result.result, bytes, location));
                scalars = add(scalars, flat_result.row.clone());
            }
            let cost = div(mul(all.clone(), scalars), Expr::i64(4));
            let cost = g.bind_value(cost, PrimType::I64, "cost");
            let results = concatenated.iter().map(|flat_result| flat_result.result).collect();
            let count = chunks.clone();
            g.for_tasks("flatten", space.prov, count.clone(), cost, results, |g, c| {
                g.copy_chunk(concatenated, (c, count), (begins, all.clone()))
            })
        })?;
        // A single chunk of several iterations has blocks of its own.
        let one = compare(CmpOp::Eq, chunks, Expr::i64(1));
        let several = compare(CmpOp::SLt, Expr::i64(1), n);
        let some = compare(CmpOp::SLt, Expr::i64(0), Expr::Var(total));
        let own = [several, some].into_iter().fold(one, imp::build::and);
        self.emit(Stmt::If(own, take, copy));
        Ok(())
    }

    /// The part of an array that a chunk has kept.
    fn part(&mut self, flat_result: &FlatResult, at: Expr) -> Var {
        let var = self.borrowed("part");
        let slots = flat_result.slots;
        self.emit(Stmt::Slots(Slots::Get { var, slots, at }));
        var
    }

    /// Copies a chunk's parts to its offset in the results.
    fn copy_chunk(
        &mut self,
        concatenated: &[FlatResult],
        (c, chunks): (Var, Expr),
        (begins, total): (Var, Expr),
    ) -> Result<(), PassError> {
        let (begin, end) = (self.scalar(PrimType::I64, "begin"), self.scalar(PrimType::I64, "end"));
        self.emit(Stmt::Load(begin, element_of_buffer(begins, PrimType::I64, Expr::Var(c))));
        let next = add(Expr::Var(c), Expr::i64(1));
        let next = self.bind_value(next, PrimType::I64, "next");
        let last = compare(CmpOp::Eq, next.clone(), chunks);
        let load = Stmt::Load(end, element_of_buffer(begins, PrimType::I64, next));
        self.emit(Stmt::If(last, vec![Stmt::Set(end, total)], vec![load]));
        let count = sub(Expr::Var(end), Expr::Var(begin));
        let count = self.bind_value(count, PrimType::I64, "count");
        let copy = self.collect(|g| {
            for flat_result in concatenated {
                let part = g.part(flat_result, Expr::Var(c));
                let offset = mul(Expr::Var(begin), flat_result.row.clone());
                g.emit(Stmt::copy(
                    row_at(flat_result.result, offset),
                    row_at(part, Expr::i64(0)),
                    flat_result.elem,
                    vec![mul(count.clone(), flat_result.row.clone())],
                ));
            }
            Ok(())
        })?;
        let any = compare(CmpOp::SLt, Expr::i64(0), count);
        self.emit(Stmt::If(any, copy, Vec::new()));
        Ok(())
    }

    /// The size in bytes of `count` elements; negative if the count has overflowed.
    fn flat_bytes(&mut self, count: Expr, each: &Expr) -> Expr {
        let wrapped = compare(CmpOp::SLt, count.clone(), Expr::i64(0));
        let bytes = mul(count, each.clone());
        let (wrapped, bytes) = (Box::new(wrapped), Box::new(bytes));
        let bytes = Expr::select(PrimType::I64, *wrapped, Expr::i64(-1), *bytes);
        self.bind_value(bytes, PrimType::I64, "bytes")
    }
}

/// The sum of two sizes; negative if the first is negative or the sum wraps.
fn sum(so_far: Expr, more: Expr) -> Expr {
    let wrapped = compare(CmpOp::SLt, so_far.clone(), Expr::i64(0));
    let sum = add(so_far.clone(), more);
    Expr::select(PrimType::I64, wrapped, so_far, sum)
}

/// The contiguous elements of a block, from a position on.
fn row_at(buffer: Var, offset: Expr) -> Region {
    Region { buffer, offset, strides: vec![Expr::i64(1)] }
}

fn size_of(flat_result: &FlatResult) -> Expr {
    Expr::i64(flat_result.elem.size() as i64)
}

fn array(result: Atom) -> Result<Name, PassError> {
    let name = result.var();
    name.ok_or_else(|| PassError::bug("a constant is concatenated"))
}

/// The row-major index function with the same offset.
fn row_major_at(lmad: &Lmad, shape: &[Dim]) -> Lmad {
    Lmad { offset: lmad.offset.clone(), ..Lmad::row_major(shape) }
}
