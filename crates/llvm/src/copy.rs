//! Copies of regular arrays, as their plans say: one row is a `memcpy`; copies by
//! strides (`imp::Plan::Strides`) are calls of helper functions, which are made
//! once for each rank, element size and tile, and look at strides when they run;
//! squares in registers have a file of their own ([`transpose`](crate::transpose)).

use crate::emit::{Emit, call, call_instruction};
use crate::error::{Error, Res};
use crate::function::Frame;
use crate::types::{int, pointer};
use imp::{Expr, Plan, Region, Tile};
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::module::Linkage;
use inkwell::types::{ArrayType, BasicMetadataTypeEnum, IntType};
use inkwell::values::{BasicValue, FunctionValue, IntValue, PointerValue};
use prim::PrimType;

/// Rank, element size and tiles.
pub type CopyKey = (usize, u64, Option<Tile>);

impl<'p, 'c> Frame<'_, 'p, 'c> {
    /// Copies elements of one region to another.
    pub fn copy(
        &mut self,
        (to, from): (&'p Region, &'p Region),
        elem: PrimType,
        extents: &'p [Expr],
        plan: Plan,
    ) -> Res<()> {
        if let Plan::Registers(side) = plan {
            return self.transpose(side, to, from, elem);
        }
        let to_place = self.region_start(to, elem)?;
        let from_place = self.region_start(from, elem)?;
        let size = elem.size();
        let copied = if let Plan::Strides(tile) = plan {
            let mut args = vec![to_place.into(), from_place.into()];
            for list in [extents, &to.strides, &from.strides] {
                for e in list {
                    args.push(self.expr(e)?);
                }
            }
            let helper = copy_function(self.emit, (extents.len(), size, tile))?;
            Some(call(&self.builder, helper, &args)?)
        } else {
            let count = match extents.first() {
                Some(extent) => self.int_expr(extent)?,
                None => self.emit.types.const_i64(1),
            };
            memcpy(self.emit, &self.builder, to_place, from_place, count, size)?;
            None
        };
        let instruction = match copied {
            Some(site) => Some(call_instruction(site)),
            None => self.current()?.get_last_instruction(),
        };
        let instruction = instruction.ok_or_else(|| Error::bug("a copy emits nothing"))?;
        self.independent(instruction, &[to.buffer, from.buffer])
    }

    fn region_start(&mut self, region: &Region, elem: PrimType) -> Res<PointerValue<'c>> {
        let offset = self.int_expr(&region.offset)?;
        let buffer = self.buffer(region.buffer)?;
        self.element(buffer, elem, offset)
    }
}

fn memcpy<'c>(
    emit: &Emit<'_, 'c>,
    b: &Builder<'c>,
    to: PointerValue<'c>,
    from: PointerValue<'c>,
    count: IntValue<'c>,
    size: u64,
) -> Res<()> {
    let bytes = b.build_int_nsw_mul(count, emit.types.const_i64(size as i64), "")?;
    b.build_memcpy(to, size as u32, from, size as u32, bytes)?;
    Ok(())
}

/// One dimension: extent and the strides on both sides, in elements.
#[derive(Clone, Copy)]
struct Dim<'c> {
    n: IntValue<'c>,
    to: IntValue<'c>,
    from: IntValue<'c>,
}

/// A helper under construction.
struct Copier<'e, 'p, 'c> {
    emit: &'e Emit<'p, 'c>,
    b: Builder<'c>,
    f: FunctionValue<'c>,
    elem: IntType<'c>,
    size: u64,
    tile: Option<Tile>,
}

/// The helper for copies of a rank and element size.
fn copy_function<'c>(emit: &Emit<'_, 'c>, key: CopyKey) -> Res<FunctionValue<'c>> {
    if let Some(known) = emit.copies.borrow().get(&key) {
        return Ok(*known);
    }
    let ((rank, size, tile), types) = (key, &emit.types);
    let elem = match size {
        1 => types.i8,
        2 => types.i16,
        4 => types.i32,
        8 => types.i64,
        _ => return Err(Error::bug(format_args!("elements of {size} bytes"))),
    };
    let mut params: Vec<BasicMetadataTypeEnum<'c>> = vec![types.ptr.into(); 2];
    params.resize(2 + 3 * rank, types.i64.into());
    let ty = emit.context.void_type().fn_type(&params, false);
    let name = match tile {
        Some(Tile { side, .. }) => format!("copy.{rank}.{size}.{side}"),
        None => format!("copy.{rank}.{size}"),
    };
    let f = emit.module.add_function(&name, ty, Some(Linkage::Internal));
    for attribute in ["nounwind", "willreturn", "mustprogress"] {
        emit.attribute(f, AttributeLoc::Function, attribute, 0);
    }
    for side in 0..2 {
        // The regions do not overlap.
        emit.attribute(f, AttributeLoc::Param(side), "noalias", 0);
        emit.attribute(f, AttributeLoc::Param(side), "align", size);
    }
    emit.copies.borrow_mut().insert(key, f);
    let copier = Copier {
        emit,
        b: emit.context.create_builder(),
        f,
        elem,
        size,
        tile,
    };
    copier.build(rank)?;
    Ok(f)
}

impl<'c> Copier<'_, '_, 'c> {
    fn param(&self, i: usize) -> Res<IntValue<'c>> {
        let param = self.f.get_nth_param(i as u32);
        int(param.ok_or_else(|| Error::bug("a copy's parameter is missing"))?)
    }

    fn block(&self, name: &str) -> BasicBlock<'c> {
        self.emit.context.append_basic_block(self.f, name)
    }

    fn is(&self, x: IntValue<'c>, y: IntValue<'c>) -> Res<IntValue<'c>> {
        Ok(self.b.build_int_compare(IntPredicate::EQ, x, y, "")?)
    }

    fn is_one(&self, x: IntValue<'c>) -> Res<IntValue<'c>> {
        self.is(x, self.emit.types.const_i64(1))
    }

    fn select<V: BasicValue<'c>>(&self, c: IntValue<'c>, x: V, y: V) -> Res<IntValue<'c>> {
        int(self.b.build_select(c, x, y, "")?)
    }

    /// `base + index * stride` elements.
    fn at(
        &self,
        base: PointerValue<'c>,
        index: IntValue<'c>,
        stride: IntValue<'c>,
    ) -> Res<PointerValue<'c>> {
        let offset = self.b.build_int_nsw_mul(index, stride, "")?;
        // SAFETY: the offset of an element of the array, which lies in its block.
        Ok(unsafe { self.b.build_in_bounds_gep(self.elem, base, &[offset], "")? })
    }

    fn build(&self, rank: usize) -> Res<()> {
        let b = &self.b;
        b.position_at_end(self.block("entry"));
        let place = |i| {
            self.f
                .get_nth_param(i)
                .ok_or_else(|| Error::bug("no copy parameter"))
        };
        let (to, from) = (pointer(place(0)?)?, pointer(place(1)?)?);
        let mut dims = Vec::new();
        for i in 0..rank {
            dims.push(Dim {
                n: self.param(2 + i)?,
                to: self.param(2 + rank + i)?,
                from: self.param(2 + 2 * rank + i)?,
            });
        }
        match dims[..] {
            [] => self.one(to, from)?,
            [dim] => self.row(to, from, dim)?,
            _ => self.nest(to, from, dims)?,
        }
        b.build_return(None)?;
        Ok(())
    }

    fn one(&self, to: PointerValue<'c>, from: PointerValue<'c>) -> Res<()> {
        let x = self.b.build_load(self.elem, from, "")?;
        self.b.build_store(to, x)?;
        Ok(())
    }

    /// `for i in from .. to by step`; leaves the builder behind the loop.
    fn each(
        &self,
        bounds: (IntValue<'c>, IntValue<'c>, i64),
        body: impl FnOnce(IntValue<'c>) -> Res<()>,
    ) -> Res<()> {
        let b = &self.b;
        let (from, to, step) = bounds;
        let no_block = || Error::bug("code without a block");
        let before = b.get_insert_block().ok_or_else(no_block)?;
        let (head, inside, after) = (self.block("loop"), self.block("body"), self.block("after"));
        b.build_unconditional_branch(head)?;
        b.position_at_end(head);
        let counter = b.build_phi(self.emit.types.i64, "i")?;
        let i = int(counter.as_basic_value())?;
        let more = b.build_int_compare(IntPredicate::SLT, i, to, "")?;
        b.build_conditional_branch(more, inside, after)?;
        b.position_at_end(inside);
        body(i)?;
        let next = b.build_int_nsw_add(i, self.emit.types.const_i64(step), "")?;
        let last = b.get_insert_block().ok_or_else(no_block)?;
        b.build_unconditional_branch(head)?;
        counter.add_incoming(&[(&from, before), (&next, last)]);
        b.position_at_end(after);
        Ok(())
    }

    fn all(&self, n: IntValue<'c>, body: impl FnOnce(IntValue<'c>) -> Res<()>) -> Res<()> {
        self.each((self.emit.types.i64.const_zero(), n, 1), body)
    }

    /// `if c { yes } else { no }`; leaves the builder behind both.
    fn either(
        &self,
        c: IntValue<'c>,
        yes: impl FnOnce() -> Res<()>,
        no: impl FnOnce() -> Res<()>,
    ) -> Res<()> {
        let (then, other, after) = (self.block("then"), self.block("else"), self.block("joined"));
        self.b.build_conditional_branch(c, then, other)?;
        self.b.position_at_end(then);
        yes()?;
        self.b.build_unconditional_branch(after)?;
        self.b.position_at_end(other);
        no()?;
        self.b.build_unconditional_branch(after)?;
        self.b.position_at_end(after);
        Ok(())
    }

    fn row(&self, to: PointerValue<'c>, from: PointerValue<'c>, dim: Dim<'c>) -> Res<()> {
        let b = &self.b;
        let (to_unit, from_unit) = (self.is_one(dim.to)?, self.is_one(dim.from)?);
        let contiguous = b.build_and(to_unit, from_unit, "")?;
        let repeated = self.is(dim.from, self.emit.types.i64.const_zero())?;
        let one = self.emit.types.const_i64(1);
        self.either(
            contiguous,
            || memcpy(self.emit, b, to, from, dim.n, self.size),
            || {
                self.either(
                    b.build_and(repeated, to_unit, "")?,
                    || self.all(dim.n, |i| self.one(self.at(to, i, one)?, from)),
                    || {
                        self.all(dim.n, |i| {
                            self.one(self.at(to, i, dim.to)?, self.at(from, i, dim.from)?)
                        })
                    },
                )
            },
        )
    }

    fn nest(
        &self,
        to: PointerValue<'c>,
        from: PointerValue<'c>,
        mut dims: Vec<Dim<'c>>,
    ) -> Res<()> {
        let (Some(last), Some(next)) = (dims.pop(), dims.pop()) else {
            return Err(Error::bug("a copy has too few dimensions"));
        };
        let b = &self.b;
        // One walk over both: the outer stride spans the inner dimension, or
        // the inner dimension has one element, whose stride does not matter.
        let spans = |outer, inner| self.is(outer, b.build_int_nsw_mul(inner, last.n, "")?);
        let both = b.build_and(spans(next.to, last.to)?, spans(next.from, last.from)?, "")?;
        let single = self.is_one(last.n)?;
        let joined = Dim {
            n: b.build_int_nsw_mul(next.n, last.n, "")?,
            to: self.select(single, next.to, last.to)?,
            from: self.select(single, next.from, last.from)?,
        };
        let outer = dims;
        self.either(
            b.build_or(both, single, "")?,
            || {
                let mut dims = outer.clone();
                dims.push(joined);
                self.inner(to, from, &dims)
            },
            || match outer[..] {
                [] => self.plane(to, from, next, last),
                _ => self.outer(to, from, outer.clone(), next, last),
            },
        )
    }

    /// Calls the helper for these dimensions.
    fn inner(&self, to: PointerValue<'c>, from: PointerValue<'c>, dims: &[Dim<'c>]) -> Res<()> {
        let mut args = vec![to.into(), from.into()];
        args.extend(dims.iter().map(|dim| dim.n.as_basic_value_enum()));
        args.extend(dims.iter().map(|dim| dim.to.as_basic_value_enum()));
        args.extend(dims.iter().map(|dim| dim.from.as_basic_value_enum()));
        let tile = self.tile.filter(|_| dims.len() > 1);
        let helper = copy_function(self.emit, (dims.len(), self.size, tile))?;
        call(&self.b, helper, &args)?;
        Ok(())
    }

    /// Walks the outermost dimension of three or more; with tiles, after bringing
    /// one that is contiguous on a side next to the innermost, which is not there.
    fn outer(
        &self,
        to: PointerValue<'c>,
        from: PointerValue<'c>,
        mut outer: Vec<Dim<'c>>,
        mut next: Dim<'c>,
        last: Dim<'c>,
    ) -> Res<()> {
        let b = &self.b;
        let (to_unit, from_unit) = (self.is_one(last.to)?, self.is_one(last.from)?);
        let others = if self.tile.is_some() {
            &mut outer[..]
        } else {
            &mut []
        };
        for dim in others {
            let wanted_from =
                b.build_and(b.build_not(from_unit, "")?, self.is_one(dim.from)?, "")?;
            let wanted_to = b.build_and(b.build_not(to_unit, "")?, self.is_one(dim.to)?, "")?;
            let wanted = b.build_or(wanted_from, wanted_to, "")?;
            let before = *dim;
            let pick = |x: Dim<'c>, y: Dim<'c>| -> Res<Dim<'c>> {
                Ok(Dim {
                    n: self.select(wanted, x.n, y.n)?,
                    to: self.select(wanted, x.to, y.to)?,
                    from: self.select(wanted, x.from, y.from)?,
                })
            };
            *dim = pick(next, before)?;
            next = pick(before, next)?;
        }
        let first = outer.remove(0);
        outer.extend([next, last]);
        self.all(first.n, |i| {
            self.inner(
                self.at(to, i, first.to)?,
                self.at(from, i, first.from)?,
                &outer,
            )
        })
    }

    /// Two dimensions: row by row, or in tiles where the sides disagree about
    /// which is contiguous.
    fn plane(
        &self,
        to: PointerValue<'c>,
        from: PointerValue<'c>,
        rows: Dim<'c>,
        columns: Dim<'c>,
    ) -> Res<()> {
        let row_by_row = || {
            self.all(rows.n, |i| {
                self.inner(
                    self.at(to, i, rows.to)?,
                    self.at(from, i, rows.from)?,
                    &[columns],
                )
            })
        };
        let Some(tile) = self.tile else {
            return row_by_row();
        };
        let (b, one) = (&self.b, self.emit.types.const_i64(1));
        let gathers = b.build_and(self.is_one(columns.to)?, self.is_one(rows.from)?, "")?;
        let scatters = b.build_and(self.is_one(columns.from)?, self.is_one(rows.to)?, "")?;
        // The order is free: let the columns be contiguous in the target.
        let pick = |x, y| self.select(gathers, x, y);
        let long = Dim {
            n: pick(rows.n, columns.n)?,
            to: pick(rows.to, columns.to)?,
            from: one,
        };
        let wide = Dim {
            n: pick(columns.n, rows.n)?,
            to: one,
            from: pick(columns.from, rows.from)?,
        };
        self.either(
            b.build_or(gathers, scatters, "")?,
            || self.tiles((to, from), long, wide, tile),
            row_by_row,
        )
    }

    /// Transposes in tiles: `rows` are contiguous in the source, `columns` in the
    /// target. What is left at the edges is no whole tile and does not go through
    /// the small array.
    fn tiles(
        &self,
        (to, from): (PointerValue<'c>, PointerValue<'c>),
        rows: Dim<'c>,
        columns: Dim<'c>,
        tile: Tile,
    ) -> Res<()> {
        let (b, types) = (&self.b, &self.emit.types);
        let step = i64::from(tile.side);
        let (zero, side) = (types.i64.const_zero(), types.const_i64(step));
        let square = self.elem.array_type(tile.side * tile.pitch);
        let square = self.entry_slot(square)?;
        let end = |start, n: IntValue<'c>| -> Res<IntValue<'c>> {
            let end = b.build_int_nsw_add(start, side, "")?;
            let fits = b.build_int_compare(IntPredicate::SLT, end, n, "")?;
            self.select(fits, end, n)
        };
        self.each((zero, rows.n, step), |row| {
            let row_end = end(row, rows.n)?;
            self.each((zero, columns.n, step), |column| {
                let column_end = end(column, columns.n)?;
                let height = b.build_int_nsw_sub(row_end, row, "")?;
                let width = b.build_int_nsw_sub(column_end, column, "")?;
                let whole = b.build_and(self.is(height, side)?, self.is(width, side)?, "")?;
                let to = self.at(self.at(to, row, rows.to)?, column, columns.to)?;
                let from = self.at(self.at(from, row, rows.from)?, column, columns.from)?;
                self.either(
                    whole,
                    || {
                        let pitches = (rows.to, columns.from);
                        self.whole_tile((to, from), pitches, (square, tile))
                    },
                    || {
                        self.all(height, |i| {
                            let (to, from) =
                                (self.at(to, i, rows.to)?, self.at(from, i, rows.from)?);
                            self.all(width, |j| {
                                self.one(
                                    self.at(to, j, columns.to)?,
                                    self.at(from, j, columns.from)?,
                                )
                            })
                        })
                    },
                )
            })
        })
    }

    fn whole_tile(
        &self,
        (to, from): (PointerValue<'c>, PointerValue<'c>),
        (to_pitch, from_pitch): (IntValue<'c>, IntValue<'c>),
        (square, tile): (PointerValue<'c>, Tile),
    ) -> Res<()> {
        let types = &self.emit.types;
        let (side, pitch, one) = (
            types.const_i64(i64::from(tile.side)),
            types.const_i64(i64::from(tile.pitch)),
            types.const_i64(1),
        );
        self.all(side, |j| {
            let line = self.at(square, j, pitch)?;
            memcpy(
                self.emit,
                &self.b,
                line,
                self.at(from, j, from_pitch)?,
                side,
                self.size,
            )
        })?;
        self.all(side, |i| {
            let (to, from) = (self.at(to, i, to_pitch)?, self.at(square, i, one)?);
            self.all(side, |j| {
                self.one(self.at(to, j, one)?, self.at(from, j, pitch)?)
            })
        })
    }

    /// An array in the helper's frame.
    fn entry_slot(&self, ty: ArrayType<'c>) -> Res<PointerValue<'c>> {
        let entry = self.f.get_first_basic_block();
        let first = entry.and_then(BasicBlock::get_first_instruction);
        let builder = self.emit.context.create_builder();
        builder.position_before(&first.ok_or_else(|| Error::bug("a copy without an entry"))?);
        Ok(builder.build_alloca(ty, "square")?)
    }
}
