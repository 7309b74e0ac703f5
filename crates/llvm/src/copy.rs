//! Copies of regular arrays according to their plans: one row is a `memcpy`; transpositions of
//! squares in registers have a file of their own ([`transpose`](crate::transpose)).

use crate::error::{Error, Res};
use crate::function::FunctionEmitter;
use crate::loops::LoopForm;
use imp::{CopyPlan, Expr, Region};
use inkwell::values::{BasicValue, PointerValue};
use prim::PrimType;

impl<'p, 'c> FunctionEmitter<'_, 'p, 'c> {
    /// Copies the elements of one region to another.
    pub fn copy(
        &mut self,
        (to, from): (&'p Region, &'p Region),
        elem: PrimType,
        extents: &'p [Expr],
        plan: CopyPlan,
    ) -> Res<()> {
        if self.is_device_buffer(to.buffer) || self.is_device_buffer(from.buffer) {
            return self.device_copy((to, from), elem, extents.first());
        }
        match plan {
            CopyPlan::InRegister(side) => self.transpose(side, to, from, elem),
            CopyPlan::Elements => self.copy_each((to, from), elem, extents),
            CopyPlan::Memory => self.copy_row((to, from), elem, extents.first()),
            CopyPlan::Dynamic(_) => Err(Error::bug("a dynamic copy has not been replaced by a call")),
        }
    }

    /// Copies one row; a single element if there is no extent.
    fn copy_row(
        &mut self,
        (to, from): (&'p Region, &'p Region),
        elem: PrimType,
        extent: Option<&'p Expr>,
    ) -> Res<()> {
        let (to_start, from_start) = (self.region_start(to, elem)?, self.region_start(from, elem)?);
        let count = match extent {
            Some(extent) => self.int_expr(extent)?,
            None => self.emit.types.const_i64(1),
        };
        let (size, align) = (elem.size() as i64, elem.size() as u32);
        let size = self.emit.types.const_i64(size);
        let bytes = self.builder.build_int_nsw_mul(count, size, "")?;
        self.builder.build_memcpy(to_start, align, from_start, align, bytes)?;
        let copy = self.current()?.get_last_instruction();
        let copy = copy.ok_or_else(|| Error::bug("a copy emits no instruction"))?;
        self.independent(copy, &[to.buffer, from.buffer])
    }

    /// Copies one dimension, element by element.
    fn copy_each(
        &mut self,
        (to, from): (&'p Region, &'p Region),
        elem: PrimType,
        extents: &'p [Expr],
    ) -> Res<()> {
        let ([count], [to_by], [from_by]) = (extents, &to.strides[..], &from.strides[..]) else {
            return Err(Error::bug("an element-wise copy does not have one dimension"));
        };
        let (to_start, from_start) = (self.region_start(to, elem)?, self.region_start(from, elem)?);
        let count = self.int_expr(count)?;
        let (to_by, from_by) = (self.int_expr(to_by)?, self.int_expr(from_by)?);
        let ty = self.emit.types.memory(elem);
        self.counted(self.emit.types.const_i64(0), count, LoopForm::default(), |frame, i| {
            let to_at = frame.builder.build_int_nsw_mul(i, to_by, "")?;
            let from_at = frame.builder.build_int_nsw_mul(i, from_by, "")?;
            let (to_start, from_start) =
                (frame.element(to_start, elem, to_at)?, frame.element(from_start, elem, from_at)?);
            let value = frame.builder.build_load(ty, from_start, "")?;
            let load = value.as_instruction_value();
            let load = load.ok_or_else(|| Error::bug("a load is not an instruction"))?;
            let store = frame.builder.build_store(to_start, value)?;
            frame.annotate(load, from.buffer)?;
            frame.annotate(store, to.buffer)
        })
    }

    /// The address of a region's first element.
    pub fn region_start(&mut self, region: &Region, elem: PrimType) -> Res<PointerValue<'c>> {
        let offset = self.int_expr(&region.offset)?;
        let buffer = self.buffer(region.buffer)?;
        self.element(buffer, elem, offset)
    }
}
