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
use crate::copies::copy_stmt;
use crate::cpu::CpuSchedule;
use crate::mems::Param;
use crate::operators::{elem_of, element_of_buffer};
use crate::schedule::Generator;
use crate::{OrBug, Result};
use imp::build::{Operand, binary, product, select, ult};
use imp::{CheckId, Expr, MemoryId, Region, Slots, Stmt, Var, VarType, bind, emit, expr};
use ir::PassError;
use ir::mem::Lmad;
use ir::name::Name;
use ir::seg::is_concatenated;
use ir::syntax::Atom;
use ir::types::{Dim, Type};
use prim::{BinOp, PrimType};

/// An array made by concatenation.
struct FlatResult {
    result: Var,
    elem: PrimType,
    /// The number of scalars per element.
    row: Operand,
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
    is_single: Operand,
}

impl Generator<'_, CpuSchedule> {
    pub(crate) fn seg_flat_map(&mut self, pat: &[Param], space: &SegSpace<'_>, ret: &[Type]) -> Result {
        let cost = self.cost(space)?;
        bind!(n = self(space.width));
        let grain = self.grain_size(space.decomp, n)?;
        let chunks = self.n_chunks(n, grain, space.decomp.max_chunks);
        let location = self.span_check(space.prov);
        let [total, arrays @ ..] = pat else {
            return Err(PassError::bug("a flat map has no size"));
        };
        let total = self.bind_owned(total).or_bug("the size of a flat map has no variable")?;
        let (concatenated, mapped) = self.flat_results(arrays, ret, chunks, location)?;
        let mut most = space.decomp.max_chunks;
        if let Some(n) = n.as_i64() {
            most = n.clamp(1, most);
        }
        let used = self.partials("used", &[PrimType::I64], chunks, most, space.prov);
        let [used_in] = used[..] else {
            return Err(PassError::bug("a flat map does not have exactly one buffer for sizes"));
        };
        let elements: Vec<Param> = mapped.iter().map(|(_, param)| param.clone()).collect();
        let mut distinct = self.unaliased_blocks(&elements, space.body)?;
        distinct.push(used_in);
        self.for_tasks(("segflatmap", space.prov), chunks, cost, distinct, |g, c| {
            let (lo, hi) = g.bounds(n, chunks, c);
            let parts = ChunkParts {
                concatenated: &concatenated,
                blocks: concatenated.iter().map(|_| g.owned(MemoryId::Host, "part")).collect(),
                used: g.scalar(PrimType::I64, "used"),
                capacity: g.scalar(PrimType::I64, "capacity"),
                is_single: g.bind(expr!(hi - lo == 1), "alone"),
            };
            for var in [parts.used, parts.capacity] {
                g.set(var, 0);
            }
            g.iterations(space, lo, hi, |g, results| {
                let own: Vec<Atom> = mapped.iter().map(|(at, _)| results[*at]).collect();
                g.write_elements(&elements, space.dims, &own)?;
                g.append(&parts, &results, location)
            })?;
            g.emit(Stmt::Store(element_of_buffer(used_in, PrimType::I64, c), parts.used.into()));
            let keep = parts.blocks.iter().zip(&concatenated).map(|(block, flat_result)| {
                Stmt::Slots(Slots::Put { slots: flat_result.slots, at: c.into(), block: *block })
            });
            g.emit(Stmt::If(expr!(0 < parts.used), keep.collect(), Vec::new()));
            Ok(())
        })?;
        self.exclusive_offsets(used_in, chunks, total)?;
        if concatenated.is_empty() {
            // Elements of size 0: a count that overflows must fail to allocate here too.
            let none = self.owned(MemoryId::Host, "none");
            let bytes = self.flat_bytes(total, 0);
            self.emit(Stmt::Alloc(none, bytes.into(), location));
            self.emit(Stmt::Release(none));
        } else {
            self.concatenate(&concatenated, space, (n, chunks), (used_in, total), location)?;
        }
        self.release_all(&used);
        for flat_result in &concatenated {
            self.emit(Stmt::Release(flat_result.slots));
        }
        Ok(())
    }

    /// The results without the size: the concatenated arrays, and the mapped ones with their
    /// positions among the results of an iteration.
    fn flat_results(
        &mut self,
        mut pat: &[Param],
        ret: &[Type],
        chunks: Operand,
        location: Option<CheckId>,
    ) -> Result<(Vec<FlatResult>, Vec<(usize, Param)>)> {
        let (mut concatenated, mut mapped) = (Vec::new(), Vec::new());
        for (at, ty) in ret.iter().enumerate().skip(1) {
            let count = if is_concatenated(ty) { 2 } else { 1 };
            let (own, rest) = pat.split_at_checked(count).or_bug("a flat map has too few results")?;
            pat = rest;
            match own {
                [block, array] => {
                    let result = self.bind_owned(block).or_bug("a name of a block has no variable")?;
                    let rows = self.extents(array.ty.shape().get(1..).unwrap_or_default())?;
                    let row = product(rows);
                    let slots = self.owned(MemoryId::Host, "slots");
                    self.emit(Stmt::Slots(Slots::New(slots, chunks.into(), location)));
                    concatenated.push(FlatResult {
                        result,
                        elem: elem_of(&array.ty)?,
                        row: self.bind(row, "row"),
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
    fn append(&mut self, parts: &ChunkParts<'_>, results: &[Atom], location: Option<CheckId>) -> Result {
        let size = self.atom(*results.first().or_bug("an iteration of a flat map returns no size")?)?;
        let (used, capacity) = (parts.used, parts.capacity);
        bind!(need = self(sum(used, size)));
        emit!(if self(0 < size) {
            // A wrapped sum exceeds the capacity as well.
            emit!(if self(ult(capacity, need)) {
                self.grow(parts, results, need, location)?;
            });
            for (flat_result, &block) in parts.concatenated.iter().zip(&parts.blocks) {
                let part = results[flat_result.at];
                let to = row_at(block, used * flat_result.row);
                if self.reusable_block(part)?.is_some() {
                    emit!(if self(parts.is_single) {
                    } else {
                        self.copy_part(flat_result, to, part, size)?;
                    });
                } else {
                    self.copy_part(flat_result, to, part, size)?;
                }
            }
        });
        self.set(used, need);
        Ok(())
    }

    /// Makes capacity for at least `need` elements. In a chunk of one iteration, the result's own
    /// block is taken over.
    fn grow(
        &mut self,
        parts: &ChunkParts<'_>,
        results: &[Atom],
        need: Operand,
        location: Option<CheckId>,
    ) -> Result {
        bind!(more = self(binary(BinOp::UMax, need, parts.capacity * 2)));
        for (flat_result, &block) in parts.concatenated.iter().zip(&parts.blocks) {
            let longer = self.collect(|g| {
                let longer = g.owned(MemoryId::Host, "longer");
                let bytes = g.flat_bytes(more, flat_result.bytes());
                g.emit(Stmt::Alloc(longer, bytes.into(), location));
                emit!(if g(0 < parts.used) {
                    let count = parts.used * flat_result.row;
                    g.emit(copy_stmt(row_at(longer, 0), row_at(block, 0), flat_result.elem, [count]));
                });
                g.emit(Stmt::Share(block, longer));
                g.emit(Stmt::Release(longer));
                Ok(())
            })?;
            match self.reusable_block(results[flat_result.at])? {
                Some(own) => {
                    let take = vec![Stmt::Share(block, own)];
                    self.emit(Stmt::If(parts.is_single.into(), take, longer));
                }
                None => self.emit_all(longer),
            }
        }
        self.set(parts.capacity, more);
        Ok(())
    }

    /// The block of a result that may be kept: owned, and filled from its start in row-major order.
    fn reusable_block(&self, result: Atom) -> Result<Option<Var>> {
        let (_, block, lmad) = self.location(array(result)?)?;
        let block = self.var(block)?;
        Ok((lmad.is_row_major() && self.is_owned(block)).then_some(block))
    }

    /// Copies the result of an iteration into a block.
    fn copy_part(&mut self, flat_result: &FlatResult, mut to: Region, result: Atom, size: Operand) -> Result {
        let (ty, own, lmad) = self.location(array(result)?)?;
        let from = self.region(own, &lmad)?;
        if lmad == row_major_at(&lmad, ty.shape()) {
            let count = size * flat_result.row;
            let from = Region { strides: vec![Expr::i64(1)], ..from };
            self.emit(copy_stmt(to, from, flat_result.elem, [count]));
            return Ok(());
        }
        let extents = self.extents(ty.shape())?;
        let mut stride = Expr::i64(1);
        to.strides.clear();
        for &extent in extents.iter().rev() {
            to.strides.push(stride.clone());
            stride = extent * stride;
        }
        to.strides.reverse();
        self.emit(copy_stmt(to, from, flat_result.elem, extents));
        Ok(())
    }

    /// Replaces the chunks' lengths by their offsets (exclusive scan); the sum is the size of the
    /// whole.
    fn exclusive_offsets(&mut self, used: Var, chunks: Operand, total: Var) -> Result {
        self.set(total, 0);
        emit!(for c in self(0..chunks) {
            let own = self.scalar(PrimType::I64, "length");
            let length = element_of_buffer(used, PrimType::I64, c);
            self.emit(Stmt::Load(own, length.clone()));
            self.emit(Stmt::Store(length, total.into()));
            self.set(total, sum(total, own));
        });
        Ok(())
    }

    /// Copies the chunks' parts into the results.
    fn concatenate(
        &mut self,
        concatenated: &[FlatResult],
        space: &SegSpace<'_>,
        (n, chunks): (Operand, Operand),
        (begins, total): (Var, Var),
        location: Option<CheckId>,
    ) -> Result {
        // A single chunk of several iterations has blocks of its own.
        emit!(if self(chunks == 1 && 1 < n && 0 < total) {
            for flat_result in concatenated {
                let part = self.part(flat_result, 0);
                self.emit(Stmt::Share(flat_result.result, part));
            }
        } else {
            let mut scalars = Expr::i64(0);
            for flat_result in concatenated {
                let bytes = self.flat_bytes(total, flat_result.bytes());
                self.emit(Stmt::Alloc(flat_result.result, bytes.into(), location));
                scalars = scalars + flat_result.row;
            }
            bind!(cost = self(total * scalars / 4));
            let results = concatenated.iter().map(|flat_result| flat_result.result).collect();
            self.for_tasks(("flatten", space.prov), chunks, cost, results, |g, c| {
                g.copy_chunk(concatenated, (c, chunks), (begins, total))
            })?;
        });
        Ok(())
    }

    /// The part of an array that a chunk has kept.
    fn part(&mut self, flat_result: &FlatResult, at: impl Into<Expr>) -> Var {
        let var = self.value(VarType::HOST, "part");
        let slots = flat_result.slots;
        self.emit(Stmt::Slots(Slots::Get { var, slots, at: at.into() }));
        var
    }

    /// Copies a chunk's parts to its offset in the results.
    fn copy_chunk(
        &mut self,
        concatenated: &[FlatResult],
        (c, chunks): (Var, Operand),
        (begins, total): (Var, Var),
    ) -> Result {
        let (begin, end) = (self.scalar(PrimType::I64, "begin"), self.scalar(PrimType::I64, "end"));
        self.emit(Stmt::Load(begin, element_of_buffer(begins, PrimType::I64, c)));
        bind!(next = self(c + 1));
        emit!(if self(next == chunks) {
            self.set(end, total);
        } else {
            self.emit(Stmt::Load(end, element_of_buffer(begins, PrimType::I64, next)));
        });
        bind!(count = self(end - begin));
        emit!(if self(0 < count) {
            for flat_result in concatenated {
                let part = self.part(flat_result, c);
                let to = row_at(flat_result.result, begin * flat_result.row);
                let count = count * flat_result.row;
                self.emit(copy_stmt(to, row_at(part, 0), flat_result.elem, [count]));
            }
        });
        Ok(())
    }

    /// The size in bytes of `count` elements; negative if the count has overflowed.
    fn flat_bytes(&mut self, count: impl Into<Operand>, each: impl Into<Expr>) -> Operand {
        let count = count.into();
        bind!(bytes = self(select(expr!(count < 0), -1, count * each)));
        bytes
    }
}

impl FlatResult {
    /// The size in bytes of an element.
    fn bytes(&self) -> Expr {
        self.row * self.elem.size() as i64
    }
}

/// The sum of two sizes; negative if the first is negative or the sum wraps.
fn sum(so_far: Var, more: impl Into<Expr>) -> Expr {
    select(expr!(so_far < 0), so_far, so_far + more)
}

/// The contiguous elements of a block, from a position on.
fn row_at(buffer: Var, offset: impl Into<Expr>) -> Region {
    Region { buffer, offset: offset.into(), strides: vec![Expr::i64(1)] }
}

fn array(result: Atom) -> Result<Name> {
    let name = result.var();
    name.or_bug("a constant is concatenated")
}

/// The row-major index function with the same offset.
fn row_major_at(lmad: &Lmad, shape: &[Dim]) -> Lmad {
    Lmad { offset: lmad.offset.clone(), ..Lmad::row_major(shape) }
}
