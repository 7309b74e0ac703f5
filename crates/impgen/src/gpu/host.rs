//! Accesses to device memory. The host reads and writes elements by small copies, copies contiguous
//! data directly, and launches kernels for all other copies ([`transpose`](super::transpose)).
//! Threads read, write and copy directly.

use crate::basic::unexpected_type;
use crate::function::Gen;
use crate::operators::element_of_buffer;
use imp::build::{add, mul};
use imp::{Access, CopyPlan, Expr, MemoryId, Region, Stmt, Var, VarType};
use ir::mem::Lmad;
use ir::syntax::{Atom, BasicOp, Param};
use ir::types::Dim;
use ir::{Mems, PassError};
use prim::{CmpOp, PrimType, Scalar, ScalarOp};

impl Gen<'_, '_> {
    /// Returns true if the code runs on the host and the buffer is in device memory.
    pub(crate) fn is_device_memory(&self, buffer: Var) -> bool {
        self.enclosing_kernel.is_none()
            && self.type_of(buffer).and_then(VarType::memory).is_some_and(MemoryId::is_remote)
    }

    /// Loads an element into a variable.
    pub(crate) fn load(&mut self, var: Var, access: Access) {
        if !self.is_device_memory(access.buffer) {
            self.emit(Stmt::Load(var, access));
            return;
        }
        let elem = access.elem;
        let (here, there) = (self.element_buffer(elem), region_of(access));
        let extents = vec![Expr::i64(1)];
        self.emit(Stmt::copy(first_element(here), there, elem, extents));
        self.emit(Stmt::Load(var, element_of_buffer(here, elem, Expr::i64(0))));
    }

    /// Stores a value into an element.
    pub(crate) fn store(&mut self, access: Access, value: Expr) {
        if !self.is_device_memory(access.buffer) {
            self.emit(Stmt::Store(access, value));
            return;
        }
        let elem = access.elem;
        let (here, there) = (self.element_buffer(elem), region_of(access));
        self.emit(Stmt::Store(element_of_buffer(here, elem, Expr::i64(0)), value));
        self.emit(Stmt::copy(there, first_element(here), elem, vec![Expr::i64(1)]));
    }

    /// Allocates a one-element array in the frame.
    fn element_buffer(&mut self, elem: PrimType) -> Var {
        let buffer = self.borrowed("element");
        self.emit(Stmt::Frame { buffer, elem, count: 1 });
        buffer
    }

    /// Copies the first bytes of a device block into the frame.
    pub(super) fn copy_to_host(&mut self, block: Var, bytes: i64) -> Var {
        let here = self.borrowed("element");
        let words = bytes.unsigned_abs().div_ceil(8);
        self.emit(Stmt::Frame { buffer: here, elem: PrimType::I64, count: words });
        let extents = vec![Expr::i64(bytes)];
        let copy = Stmt::copy(first_element(here), first_element(block), PrimType::I8, extents);
        self.emit(copy);
        here
    }

    /// Copies elements between two regions.
    pub(crate) fn copy(
        &mut self,
        to: Region,
        from: Region,
        elem: PrimType,
        extents: Vec<Expr>,
    ) -> Result<(), PassError> {
        if let Some(thread_block) = self.thread_block {
            return self.block_copy(thread_block, &to, &from, elem, &extents);
        }
        let mut stmt = Stmt::copy(to.clone(), from.clone(), elem, extents.clone());
        let Stmt::Copy { plan, .. } = &mut stmt else {
            return Err(PassError::bug("a copy is not a copy statement"));
        };
        if self.enclosing_kernel.is_some() && matches!(plan, CopyPlan::InRegister(_)) {
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
        extents: &[Expr],
        index: Expr,
    ) {
        let (to, value) = self.read_element(sides, elem, extents, index);
        self.emit(Stmt::Store(to, Expr::Var(value)));
    }

    /// Reads the element with linear index `index` from one region. Returns the access to its
    /// counterpart in the other region, and the value.
    pub(super) fn read_element(
        &mut self,
        (to, from): (&Region, &Region),
        elem: PrimType,
        extents: &[Expr],
        index: Expr,
    ) -> (Access, Var) {
        let indices = self.delinearised(extents.iter(), index);
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

    /// Returns true if the code runs on the host, and exactly one of the regions is in device
    /// memory.
    pub(crate) fn is_host_device_copy(&self, to: &Region, from: &Region) -> bool {
        self.is_device_memory(to.buffer) != self.is_device_memory(from.buffer)
    }

    /// Copies an array to or from the device. It is row-major on both sides, which the assignment
    /// of memory guarantees.
    pub(crate) fn copy_host_device(
        &mut self,
        to: &Region,
        from: &Region,
        elem: PrimType,
        extents: Vec<Expr>,
    ) {
        let count = extents.into_iter().fold(Expr::i64(1), mul);
        let count = self.bind_value(count, PrimType::I64, "count");
        self.emit(Stmt::copy(flattened(to), flattened(from), elem, vec![count]));
    }

    /// Copies constant data of the host, which is row-major, to an array on the device.
    pub(crate) fn upload(
        &mut self,
        to: Region,
        from: Region,
        elem: PrimType,
        shape: &[i64],
    ) -> Result<(), PassError> {
        let count = shape.iter().product::<i64>();
        let dims: Vec<Dim> = shape.iter().map(|&n| Dim::Const(n)).collect();
        let mut packed = Vec::with_capacity(dims.len());
        for dim in &Lmad::row_major(&dims).dims {
            packed.push(self.poly(&dim.stride)?);
        }
        let extents = vec![Expr::i64(count)];
        if to.strides == packed {
            self.emit(Stmt::copy(flattened(&to), flattened(&from), elem, extents));
            return Ok(());
        }
        let temp = self.owned_in(self.default_buffer(), "temp");
        let bytes = count.saturating_mul(elem.size() as i64);
        self.emit(Stmt::Alloc(temp, Expr::i64(bytes), None));
        let there = Region { buffer: temp, offset: Expr::i64(0), strides: packed };
        self.emit(Stmt::copy(flattened(&there), flattened(&from), elem, extents));
        let extents = shape.iter().map(|&n| Expr::i64(n)).collect();
        self.copy(to, there, elem, extents)?;
        self.emit(Stmt::Release(temp));
        Ok(())
    }

    /// Stores constants into a thread's array, one by one.
    pub(crate) fn store_constants(&mut self, to: &Region, elem: PrimType, shape: &[i64], bytes: &[u8]) {
        let size = elem.size() as usize;
        for (number, word) in bytes.chunks_exact(size).enumerate() {
            let mut bits = [0; 8];
            bits[..size].copy_from_slice(word);
            let mut rest = number as i64;
            let mut dims = Vec::with_capacity(shape.len());
            for (extent, stride) in shape.iter().zip(&to.strides).rev() {
                let extent = (*extent).max(1);
                dims.push((Expr::i64(rest % extent), stride.clone()));
                rest /= extent;
            }
            dims.reverse();
            let access = Access { buffer: to.buffer, elem, offset: to.offset.clone(), dims };
            let value = Scalar::from_bits(elem, u64::from_le_bytes(bits));
            self.emit(Stmt::Store(access, Expr::Const(value)));
        }
    }

    /// A scalar operation in a kernel. Tuning parameters and parameters of the source program are
    /// read before the kernel, and comparisons are not logged.
    pub(crate) fn scalar_in_kernel(&mut self, pat: &Param<Mems>, op: &BasicOp) -> Result<(), PassError> {
        let value = if let BasicOp::SizeAtLeast { size, tunable } = op {
            let tunable = Expr::Tunable(self.tunable(*tunable)?);
            let least = self.before_kernel(|g| g.bind_value(tunable, PrimType::I64, "least"));
            let size = Box::new(self.atom(*size)?);
            Expr::Scalar(ScalarOp::Compare(CmpOp::SLe, PrimType::I64, Box::new(least), size))
        } else if let BasicOp::Param { name, default } = op {
            let Atom::Const(default) = default else {
                return Err(PassError::bug("a kernel computes the default of a parameter"));
            };
            let value = self.param(name, Expr::Const(*default))?;
            self.before_kernel(|g| g.bind_value(value, PrimType::I64, "parameter"))
        } else {
            self.scalar_value(op)?
        };
        let var = self.bind_borrowed(pat).ok_or_else(unexpected_type)?;
        self.emit(Stmt::Set(var, value));
        Ok(())
    }
}

/// A row-major region as one dimension.
fn flattened(region: &Region) -> Region {
    Region { buffer: region.buffer, offset: region.offset.clone(), strides: vec![Expr::i64(1)] }
}

/// An element as a region of one element.
fn region_of(access: Access) -> Region {
    let steps = access.dims.into_iter();
    Region {
        buffer: access.buffer,
        offset: steps.fold(access.offset, |sum, (index, stride)| add(sum, mul(index, stride))),
        strides: vec![Expr::i64(1)],
    }
}

/// The first element of a buffer as a region.
fn first_element(buffer: Var) -> Region {
    Region { buffer, offset: Expr::i64(0), strides: vec![Expr::i64(1)] }
}
