//! Accesses to device memory. The host reads and writes elements by small copies, copies contiguous
//! data directly, and launches kernels for all other copies ([`transpose`](super::transpose)).
//! Threads read, write and copy directly.

use crate::Result;
use crate::copies::{ArrayCopy, copy_stmt};
use crate::gpu::DeviceSchedule;
use crate::operators::element_of_buffer;
use crate::schedule::{Generator, Schedule};
use imp::build::{Operand, product};
use imp::{Access, CopyPlan, Expr, MemoryId, Region, Stmt, Var, VarType};
use ir::PassError;
use prim::PrimType;

impl Generator<'_, DeviceSchedule> {
    /// Returns true if the code runs on the host and the buffer is in device memory.
    pub(super) fn is_device_memory(&self, buffer: Var) -> bool {
        self.schedule.is_host()
            && self.type_of(buffer).and_then(VarType::memory).is_some_and(MemoryId::is_remote)
    }

    /// Loads an element of device memory into a variable, on the host.
    pub(super) fn load_from_device(&mut self, var: Var, access: Access) {
        let elem = access.elem;
        let here = self.frame_array(MemoryId::Host, "element", elem, 1);
        self.emit(copy_stmt(first_element(here), region_of(access), elem, [1]));
        self.emit(Stmt::Load(var, element_of_buffer(here, elem, 0)));
    }

    /// Stores a value into an element of device memory, on the host.
    pub(super) fn store_to_device(&mut self, access: Access, value: Expr) {
        let elem = access.elem;
        let here = self.frame_array(MemoryId::Host, "element", elem, 1);
        self.emit(Stmt::Store(element_of_buffer(here, elem, 0), value));
        self.emit(copy_stmt(region_of(access), first_element(here), elem, [1]));
    }

    /// Copies the first bytes of a device block into the frame.
    pub(super) fn copy_to_host(&mut self, block: Var, bytes: i64) -> Var {
        let words = bytes.unsigned_abs().div_ceil(8) as i64;
        let here = self.frame_array(MemoryId::Host, "element", PrimType::I64, words);
        self.emit(copy_stmt(first_element(here), first_element(block), PrimType::I8, [bytes]));
        here
    }

    /// Copies elements between two regions.
    pub(super) fn copy(&mut self, copy: ArrayCopy) -> Result {
        let ArrayCopy { to, from, elem, extents } = copy;
        if self.schedule.block_thread.is_some() {
            return self.block_copy(&to, &from, elem, &extents);
        }
        let mut stmt = copy_stmt(to.clone(), from.clone(), elem, &extents);
        let Stmt::Copy { plan, .. } = &mut stmt else {
            return Err(PassError::bug("a copy is not a copy statement"));
        };
        if !self.schedule.is_host() && matches!(plan, CopyPlan::InRegister(_)) {
            *plan = CopyPlan::Dynamic(None);
        }
        let direct = *plan == CopyPlan::Memory || !self.is_device_memory(to.buffer);
        if direct {
            self.emit(stmt);
            return Ok(());
        }
        self.copy_by_kernels(&to, &from, elem, &extents)
    }

    /// Copies the element with linear index `index` in the extents.
    pub(super) fn copy_element(
        &mut self,
        sides: (&Region, &Region),
        elem: PrimType,
        extents: &[Operand],
        index: Operand,
    ) {
        let (to, value) = self.read_element(sides, elem, extents, index);
        self.emit(Stmt::Store(to, value.into()));
    }

    /// Reads the element with linear index `index` from one region. Returns the access to its
    /// counterpart in the other region, and the value.
    pub(super) fn read_element(
        &mut self,
        (to, from): (&Region, &Region),
        elem: PrimType,
        extents: &[Operand],
        index: Operand,
    ) -> (Access, Var) {
        let indices = self.delinearised(extents, index);
        let value = self.scalar(elem, "value");
        let [to, from] = [to, from].map(|region| Access {
            buffer: region.buffer,
            elem,
            offset: region.offset.clone(),
            dims: indices.iter().cloned().zip(region.strides.clone()).collect(),
        });
        self.emit(Stmt::Load(value, from));
        (to, value)
    }

    /// Copies constant data of the host, which is row-major, to an array on the device.
    pub(super) fn upload(&mut self, copy: ArrayCopy) -> Result {
        if copy.to.strides == copy.from.strides {
            self.copy_flat(copy);
            return Ok(());
        }
        let temp = self.owned(MemoryId::Device, "temp");
        let bytes = product(&copy.extents) * copy.elem.size() as i64;
        self.emit(Stmt::Alloc(temp, bytes, None));
        let packed = Region { buffer: temp, offset: Expr::i64(0), strides: copy.from.strides.clone() };
        self.copy_flat(ArrayCopy { to: packed.clone(), ..copy.clone() });
        self.copy(ArrayCopy { from: packed, ..copy })?;
        self.emit(Stmt::Release(temp));
        Ok(())
    }
}

/// An element as a region of one element.
fn region_of(access: Access) -> Region {
    let steps = access.dims.into_iter();
    Region {
        buffer: access.buffer,
        offset: steps.fold(access.offset, |sum, (index, stride)| sum + index * stride),
        strides: vec![Expr::i64(1)],
    }
}

/// The first element of a buffer as a region.
fn first_element(buffer: Var) -> Region {
    Region { buffer, offset: Expr::i64(0), strides: vec![Expr::i64(1)] }
}
