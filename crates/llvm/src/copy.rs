//! Copies of regular arrays, as their plans say: one row is a `memcpy`; squares in
//! registers have a file of their own ([`transpose`](crate::transpose)).

use crate::error::{Error, Res};
use crate::function::Frame;
use imp::{Expr, Plan, Region};
use inkwell::values::PointerValue;
use prim::PrimType;

impl<'p, 'c> Frame<'_, 'p, 'c> {
    /// Copies elements of one region to another.
    pub fn copy(
        &mut self,
        (to, from): (&'p Region, &'p Region),
        elem: PrimType,
        extents: &'p [Expr],
        plan: Plan,
    ) -> Res<()> {
        match plan {
            Plan::Registers(side) => self.transpose(side, to, from, elem),
            Plan::Memory => self.copy_row((to, from), elem, extents.first()),
            Plan::Strides(_) => Err(Error::bug("a copy by strides has not become a call before")),
        }
    }

    /// Copies one row; a single element if there is no extent.
    fn copy_row(
        &mut self,
        (to, from): (&'p Region, &'p Region),
        elem: PrimType,
        extent: Option<&'p Expr>,
    ) -> Res<()> {
        let (to_place, from_place) = (self.region_start(to, elem)?, self.region_start(from, elem)?);
        let count = match extent {
            Some(extent) => self.int_expr(extent)?,
            None => self.emit.types.const_i64(1),
        };
        let (size, align) = (elem.size() as i64, elem.size() as u32);
        let size = self.emit.types.const_i64(size);
        let bytes = self.builder.build_int_nsw_mul(count, size, "")?;
        self.builder
            .build_memcpy(to_place, align, from_place, align, bytes)?;
        let copy = self.current()?.get_last_instruction();
        let copy = copy.ok_or_else(|| Error::bug("a copy emits nothing"))?;
        self.independent(copy, &[to.buffer, from.buffer])
    }

    fn region_start(&mut self, region: &Region, elem: PrimType) -> Res<PointerValue<'c>> {
        let offset = self.int_expr(&region.offset)?;
        let buffer = self.buffer(region.buffer)?;
        self.element(buffer, elem, offset)
    }
}
