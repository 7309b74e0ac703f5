//! Loads and stores of vectors.
//!
//! The access's `imp::LanePositions` determines the instructions: contiguous lanes are one access,
//! masked if there is a mask; lanes a small constant stride apart are a few such accesses and
//! shuffles; other strided lanes are scalar loads or stores; all else is gathered or scattered.
//! LLVM scatters in lane order. A `bool` is a byte in memory.
//!
//! If there is a mask, lanes that are not set may have positions outside of the block, so address
//! computations are not marked `inbounds`. If the access specifies `Off::Dummy`, such lanes
//! read a constant 0 or write to a stack slot; otherwise they are masked off, if need be by
//! branches.

use crate::emit::{call, call_instruction};
use crate::error::{Error, Res};
use crate::function::{FunctionEmitter, instruction_of};
use crate::types::{Value, vector};
use imp::{Expr, LaneAccess, LanePositions, MaskedOff, Var};
use inkwell::llvm_sys::core::LLVMBuildGEP2;
use inkwell::types::{AsTypeRef, BasicTypeEnum, VectorType};
use inkwell::values::{AsValueRef, CallSiteValue, InstructionValue, IntValue, PointerValue, VectorValue};
use prim::PrimType;

/// An access with all operands but the positions.
struct VectorAccess<'c> {
    var: Var,
    buffer: PointerValue<'c>,
    elem: PrimType,
    lanes: u32,
    /// The vector type in memory.
    ty: VectorType<'c>,
    mask: Option<VectorValue<'c>>,
    off: MaskedOff,
}

impl<'c> FunctionEmitter<'_, '_, 'c> {
    /// Loads each lane's element into a variable.
    pub fn load_lanes(&mut self, var: Var, from: &LaneAccess, mask: Option<&Expr>) -> Res<()> {
        let target = self.target(from, mask)?;
        let value = match &from.at {
            LanePositions::Unit(position) => {
                let position = self.int_expr(position)?;
                self.load_row(&target, position, target.mask)?
            }
            LanePositions::SmallStride(position, stride) => {
                let position = self.int_expr(position)?;
                self.load_small_stride(&target, position, *stride)?
            }
            LanePositions::Strided(position, stride) => {
                let position = self.int_expr(position)?;
                let stride = self.int_expr(stride)?;
                self.load_strided(&target, position, stride)?
            }
            LanePositions::Gather(positions) => {
                let positions = vector(self.expr(positions)?)?;
                self.gather(&target, positions)?
            }
        };
        let value = self.loaded(value.into(), from.elem)?;
        self.set(var, value)
    }

    /// Stores each lane's value to its element.
    pub fn store_lanes(&mut self, to: &LaneAccess, value: &Expr, mask: Option<&Expr>) -> Res<()> {
        let value = self.expr(value)?;
        let value = vector(self.stored(value, to.elem)?)?;
        let target = self.target(to, mask)?;
        match &to.at {
            LanePositions::Unit(position) => {
                let position = self.int_expr(position)?;
                self.store_row(&target, position, value, target.mask)
            }
            LanePositions::SmallStride(position, _) => {
                let position = self.int_expr(position)?;
                self.store_reversed(&target, position, value)
            }
            LanePositions::Strided(position, stride) => {
                let position = self.int_expr(position)?;
                let stride = self.int_expr(stride)?;
                self.store_strided(&target, position, stride, value)
            }
            LanePositions::Gather(positions) => {
                let positions = vector(self.expr(positions)?)?;
                self.scatter(&target, positions, value)
            }
        }
    }

    fn target(&mut self, access: &LaneAccess, mask: Option<&Expr>) -> Res<VectorAccess<'c>> {
        let (elem, lanes) = (access.elem, access.lanes);
        let mask = mask.map(|mask| self.expr(mask)).transpose()?;
        Ok(VectorAccess {
            var: access.buffer,
            buffer: self.buffer(access.buffer)?,
            elem,
            lanes,
            ty: self.emit.types.memory_vector(elem, lanes),
            mask: mask.map(vector).transpose()?,
            off: access.masked_off,
        })
    }

    /// A position `by` elements further.
    fn offset_by(&self, position: IntValue<'c>, by: i64) -> Res<IntValue<'c>> {
        let by = self.emit.types.const_i64(by);
        Ok(self.builder.build_int_add(position, by, "")?)
    }

    fn load_small_stride(
        &self,
        target: &VectorAccess<'c>,
        position: IntValue<'c>,
        stride: i64,
    ) -> Res<VectorValue<'c>> {
        let n = target.lanes;
        let low = self.offset_by(position, i64::from(n - 1) * stride.min(0))?;
        let offsets = lane_offsets(n, stride);
        let starts = rows(n, stride);
        let mask = target.mask.map(|mask| self.shuffle(mask, mask, &offsets));
        let mask = mask.transpose()?;
        let contiguous = |start: u32| {
            let position = self.offset_by(low, i64::from(start))?;
            self.load_row(target, position, mask)
        };
        let mut found = contiguous(0)?;
        if starts.len() == 1 {
            return self.shuffle(found, found, &offsets);
        }
        // The index of each lane in `found`, where loaded so far; extended row by row.
        let mut known: Vec<Option<u32>> = offsets.iter().map(|offset| offset.filter(|at| *at < n)).collect();
        for start in &starts[1..] {
            let lane = |(known, offset): (&Option<u32>, &Option<u32>)| {
                let new = offset.and_then(|at| at.checked_sub(*start));
                known.or(new.filter(|at| *at < n).map(|at| at + n))
            };
            let indices: Vec<_> = known.iter().zip(&offsets).map(lane).collect();
            found = self.shuffle(found, contiguous(*start)?, &indices)?;
            known = (0..n).zip(indices).map(|(i, index)| index.map(|_| i)).collect();
        }
        Ok(found)
    }

    /// Stores with stride -1, where the first lane has the highest position. The verifier admits no
    /// other near stride for stores.
    fn store_reversed(
        &self,
        target: &VectorAccess<'c>,
        position: IntValue<'c>,
        value: VectorValue<'c>,
    ) -> Res<()> {
        let low = self.offset_by(position, 1 - i64::from(target.lanes))?;
        let offsets = lane_offsets(target.lanes, -1);
        let value = self.shuffle(value, value, &offsets)?;
        let mask = target.mask.map(|mask| self.shuffle(mask, mask, &offsets));
        self.store_row(target, low, value, mask.transpose()?)
    }

    fn load_strided(
        &self,
        target: &VectorAccess<'c>,
        position: IntValue<'c>,
        stride: IntValue<'c>,
    ) -> Res<VectorValue<'c>> {
        let ty = self.emit.types.memory(target.elem);
        let mut found = target.ty.get_poison();
        for lane in 0..target.lanes {
            let (lane, address) = self.lane_address(target, position, stride, lane)?;
            let value = self.builder.build_load(ty, address, "")?;
            self.annotate_aligned(target, instruction_of(value)?)?;
            found = self.builder.build_insert_element(found, value, lane, "")?;
        }
        Ok(found)
    }

    fn store_strided(
        &self,
        target: &VectorAccess<'c>,
        position: IntValue<'c>,
        stride: IntValue<'c>,
        value: VectorValue<'c>,
    ) -> Res<()> {
        for lane in 0..target.lanes {
            let (lane, address) = self.lane_address(target, position, stride, lane)?;
            let value = self.builder.build_extract_element(value, lane, "")?;
            let store = self.builder.build_store(address, value)?;
            self.annotate_aligned(target, store)?;
        }
        Ok(())
    }

    /// A lane's number as a constant, and the address of its element.
    fn lane_address(
        &self,
        target: &VectorAccess<'c>,
        position: IntValue<'c>,
        stride: IntValue<'c>,
        lane: u32,
    ) -> Res<(IntValue<'c>, PointerValue<'c>)> {
        let lane = self.emit.types.const_i64(i64::from(lane));
        let step = self.builder.build_int_mul(stride, lane, "")?;
        let position = self.builder.build_int_add(position, step, "")?;
        let address = self.element(target.buffer, target.elem, position)?;
        Ok((lane, address))
    }

    fn shuffle(
        &self,
        x: VectorValue<'c>,
        y: VectorValue<'c>,
        indices: &[Option<u32>],
    ) -> Res<VectorValue<'c>> {
        self.ops().shuffle(x, y, indices)
    }

    /// Loads contiguous elements.
    fn load_row(
        &self,
        target: &VectorAccess<'c>,
        position: IntValue<'c>,
        mask: Option<VectorValue<'c>>,
    ) -> Res<VectorValue<'c>> {
        let address = self.start(target, position, mask)?;
        let Some(mask) = mask else {
            let value = self.builder.build_load(target.ty, address, "")?;
            self.annotate_aligned(target, instruction_of(value)?)?;
            return vector(value);
        };
        let zero = target.ty.const_zero();
        let args = [address.into(), self.alignment(target), mask.into(), zero.into()];
        let types = [target.ty.into(), self.emit.types.ptr.into()];
        result(self.masked(target, "llvm.masked.load", &types, &args)?)
    }

    fn store_row(
        &self,
        target: &VectorAccess<'c>,
        position: IntValue<'c>,
        value: VectorValue<'c>,
        mask: Option<VectorValue<'c>>,
    ) -> Res<()> {
        let address = self.start(target, position, mask)?;
        let Some(mask) = mask else {
            let store = self.builder.build_store(address, value)?;
            return self.annotate_aligned(target, store);
        };
        let args = [value.into(), address.into(), self.alignment(target), mask.into()];
        let types = [target.ty.into(), self.emit.types.ptr.into()];
        self.masked(target, "llvm.masked.store", &types, &args)?;
        Ok(())
    }

    fn gather(&self, target: &VectorAccess<'c>, positions: VectorValue<'c>) -> Res<VectorValue<'c>> {
        let mut addresses = self.addresses(target, positions);
        let mut mask = target.mask;
        if target.off == MaskedOff::Dummy
            && let Some(mask) = mask.take()
        {
            addresses = self.replace(mask, addresses, self.emit.zero_constant())?;
        }
        let zero = target.ty.const_zero();
        let args = [addresses.into(), self.alignment(target), self.mask_or_all(target, mask), zero.into()];
        let types = [target.ty.into(), addresses.get_type().into()];
        result(self.masked(target, "llvm.masked.gather", &types, &args)?)
    }

    fn scatter(
        &mut self,
        target: &VectorAccess<'c>,
        positions: VectorValue<'c>,
        value: VectorValue<'c>,
    ) -> Res<()> {
        let mut addresses = self.addresses(target, positions);
        let mut mask = target.mask;
        let replaced = target.off == MaskedOff::Dummy && mask.is_some();
        if replaced && let Some(mask) = mask.take() {
            let spare = self.spare()?;
            addresses = self.replace(mask, addresses, spare)?;
        }
        let args = [value.into(), addresses.into(), self.alignment(target), self.mask_or_all(target, mask)];
        let types = [target.ty.into(), addresses.get_type().into()];
        let f = self.emit.intrinsic("llvm.masked.scatter", &types)?;
        let store = call_instruction(call(&self.builder, f, &args)?);
        if replaced {
            // The slot is shared by iterations of independent loops, so the store joins no access
            // group.
            return self.scoped(store, target.var);
        }
        self.annotate(store, target.var)
    }

    /// The addresses, replaced by `other` where the mask is not set.
    fn replace(
        &self,
        mask: VectorValue<'c>,
        addresses: VectorValue<'c>,
        other: PointerValue<'c>,
    ) -> Res<VectorValue<'c>> {
        let others = self.ops().splat(other.into(), mask.get_type().get_size())?;
        vector(self.ops().select(mask.into(), addresses.into(), others)?)
    }

    /// The stack slot to which masked-off lanes store.
    fn spare(&mut self) -> Res<PointerValue<'c>> {
        if let Some(spare) = self.masked_store_slot {
            return Ok(spare);
        }
        let spare = self.stack_slot(self.emit.types.i64, 8)?;
        self.masked_store_slot = Some(spare);
        Ok(spare)
    }

    /// The address of the lowest lane's element.
    fn start(
        &self,
        target: &VectorAccess<'c>,
        position: IntValue<'c>,
        mask: Option<VectorValue<'c>>,
    ) -> Res<PointerValue<'c>> {
        if mask.is_none() {
            return self.element(target.buffer, target.elem, position);
        }
        let ty = self.emit.types.memory(target.elem);
        // SAFETY: the address computation is not marked `inbounds`.
        Ok(unsafe { self.builder.build_gep(ty, target.buffer, &[position], "")? })
    }

    /// The address of each lane's element.
    fn addresses(&self, target: &VectorAccess<'c>, positions: VectorValue<'c>) -> VectorValue<'c> {
        let ty = self.emit.types.memory(target.elem);
        let mut positions = [positions.as_value_ref()];
        // SAFETY: a pointer and a vector of indices give a vector of pointers, for which inkwell
        // has no call. The address computation is not marked `inbounds`.
        unsafe {
            VectorValue::new(LLVMBuildGEP2(
                self.builder.as_mut_ptr(),
                ty.as_type_ref(),
                target.buffer.as_value_ref(),
                positions.as_mut_ptr(),
                1,
                c"".as_ptr(),
            ))
        }
    }

    fn mask_or_all(&self, target: &VectorAccess<'c>, mask: Option<VectorValue<'c>>) -> Value<'c> {
        let all = || {
            let set = self.emit.types.i1.const_all_ones();
            VectorType::const_vector(&vec![set; target.lanes as usize])
        };
        mask.unwrap_or_else(all).into()
    }

    /// The element's alignment as the operand of an intrinsic.
    fn alignment(&self, target: &VectorAccess<'c>) -> Value<'c> {
        let bytes = self.emit.types.i32.const_int(target.elem.size(), false);
        bytes.into()
    }

    /// Calls an intrinsic for vectors in memory and annotates the access.
    fn masked(
        &self,
        target: &VectorAccess<'c>,
        name: &str,
        types: &[BasicTypeEnum<'c>],
        args: &[Value<'c>],
    ) -> Res<CallSiteValue<'c>> {
        let site = call(&self.builder, self.emit.intrinsic(name, types)?, args)?;
        self.annotate(call_instruction(site), target.var)?;
        Ok(site)
    }

    /// Aligns a load or store to its elements and annotates it.
    fn annotate_aligned(&self, target: &VectorAccess<'c>, access: InstructionValue<'c>) -> Res<()> {
        access.set_alignment(target.elem.size() as u32).map_err(Error::bug)?;
        self.annotate(access, target.var)
    }
}

/// The offsets of lanes from the lowest one, in elements.
fn lane_offsets(lanes: u32, stride: i64) -> Vec<Option<u32>> {
    let distance = stride.unsigned_abs() as u32;
    let mut offsets: Vec<_> = (0..lanes).map(|lane| Some(lane * distance)).collect();
    if stride < 0 {
        offsets.reverse();
    }
    offsets
}

/// The starts, relative to the lowest lane, of rows that together cover all lanes; each row has as
/// many elements as there are lanes. The last row ends with the last lane.
fn rows(lanes: u32, stride: i64) -> Vec<u32> {
    let distance = stride.unsigned_abs() as u32;
    let last = (lanes - 1) * distance + 1 - lanes;
    let mut starts: Vec<u32> = Vec::new();
    for offset in (0..lanes).map(|lane| lane * distance) {
        if starts.last().is_none_or(|start| offset >= start + lanes) {
            starts.push(offset.min(last));
        }
    }
    starts
}

/// The vector result of an intrinsic.
fn result(site: CallSiteValue<'_>) -> Res<VectorValue<'_>> {
    let value = site.try_as_basic_value().basic();
    vector(value.ok_or_else(|| Error::bug("a load returns no value"))?)
}
