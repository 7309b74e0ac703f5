//! Kernels: launches, threads, index spaces.
//!
//! ```text
//! for block in 0 .. blocks grid#0 ".." {
//!   for thread in 0 .. 256 block locals (..) {
//!     iteration = block * 256 + thread
//!     if iteration < n { .. }
//!   }
//! }
//! ```

use crate::function::{Frame, Gen};
use crate::operators::div_up;
use crate::var_type;
use imp::build::{add, compare, div, mul, sub};
use imp::{DeviceOp, Expr, For, Launch, LoopMode, MemoryId, SharedBuffer, Stmt, Var, VarType};
use ir::name::Name;
use ir::types::{Dim, Type};
use ir::{PassError, Prov};
use prim::{CmpOp, PrimType};
use target::device::Device;
use target::memories::Allocation;

/// The nesting depth of statement lists and frames where a kernel began.
#[derive(Clone, Copy)]
pub(crate) struct EnclosingCode {
    lists: usize,
    frames: usize,
}

impl Gen<'_, '_> {
    /// The work layout parameters of the device.
    pub(super) fn layout(&self) -> Device {
        self.device.unwrap_or_default()
    }

    /// The default buffer type of arrays: device memory in functions for a device, otherwise host
    /// memory.
    pub(crate) fn default_buffer(&self) -> VarType {
        if self.device.is_some() { VarType::Buffer(MemoryId::Device) } else { VarType::HOST }
    }

    /// The type of the variable that carries a value of this type, if there is one.
    pub(crate) fn var_type(&self, ty: &Type) -> Option<VarType> {
        match ty {
            Type::Mem(memory)
                if memory.allocation == Allocation::Frame && self.enclosing_kernel.is_some() =>
            {
                Some(VarType::Buffer(MemoryId::Private))
            }
            Type::Prim(_) | Type::Array { .. } | Type::Acc { .. } | Type::Cert | Type::Mem(_) => var_type(ty),
        }
    }

    /// A kernel of `blocks` thread blocks: `f` emits the code that is common to all threads of a
    /// block, and at its end the threads.
    pub(super) fn kernel(
        &mut self,
        (what, prov): (&str, Prov),
        blocks: Expr,
        f: impl FnOnce(&mut Self, Var) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let id = self.tables.launch();
        let name = format!("{}.{what}", self.function.name);
        let provenance = self.provenance(prov);
        self.enclosing_kernel = Some(EnclosingCode { lists: self.lists.len(), frames: self.frames.len() });
        let var = self.new_var(VarType::Scalar(PrimType::I64), "block");
        let made = self.task(|g| f(g, var));
        self.enclosing_kernel = None;
        let (body, frame) = made?;
        let Frame { owned, locals, racy_buffers: scattered } = frame;
        let launch = Launch {
            id,
            name: name.into(),
            provenance,
            cost: Expr::i64(1),
            slices: None,
            owned,
            locals,
            captures: Vec::new(),
            distinct: Vec::new(),
            scattered,
            shared_buffers: std::mem::take(&mut self.shared_memory.dynamic_buffers),
        };
        self.emit(Stmt::For(For { mode: LoopMode::Grid(launch), var, from: Expr::i64(0), to: blocks, body }));
        Ok(())
    }

    /// The threads of the current block.
    pub(super) fn threads(
        &mut self,
        f: impl FnOnce(&mut Self, Expr) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let var = self.new_var(VarType::Scalar(PrimType::I64), "thread");
        let (body, frame) = self.task(|g| f(g, Expr::Var(var)))?;
        if let Some(around) = self.frames.last_mut() {
            around.racy_buffers.extend(frame.racy_buffers);
        }
        let to = Expr::i64(self.layout().block);
        self.emit(Stmt::For(For {
            mode: LoopMode::Threads(frame.locals),
            var,
            from: Expr::i64(0),
            to,
            body,
        }));
        Ok(())
    }

    /// Emits code before the current kernel, if there is one.
    pub(crate) fn before_kernel<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let Some(around) = self.enclosing_kernel.take() else {
            return f(self);
        };
        let lists = self.lists.split_off(around.lists);
        let frames = self.frames.split_off(around.frames);
        let thread_block = self.thread_block.take();
        let result = f(self);
        self.thread_block = thread_block;
        self.lists.extend(lists);
        self.frames.extend(frames);
        self.enclosing_kernel = Some(around);
        result
    }

    /// Allocates an array of `count` elements in shared memory.
    pub(crate) fn shared_array(&mut self, hint: &str, elem: PrimType, count: u64) -> Result<Var, PassError> {
        let buffer = self.new_var(VarType::Buffer(MemoryId::Shared), hint);
        self.declare_shared_array(buffer, elem, count)?;
        Ok(buffer)
    }

    /// Declares a variable as an array of `count` elements in shared memory.
    pub(super) fn declare_shared_array(
        &mut self,
        buffer: Var,
        elem: PrimType,
        count: u64,
    ) -> Result<(), PassError> {
        let enclosing = self.enclosing_kernel;
        let around = enclosing.ok_or_else(|| PassError::bug("shared memory is used outside of a kernel"))?;
        if let (Some(list), Some(frame)) =
            (self.lists.get_mut(around.lists), self.frames.get_mut(around.frames))
        {
            list.push(Stmt::Frame { buffer, elem, count });
            frame.locals.push(buffer);
        }
        Ok(())
    }

    /// Declares a variable as a shared-memory buffer of `bytes` bytes, a size that the host
    /// computes at launch.
    pub(super) fn dynamic_shared_buffer(&mut self, buffer: Var, bytes: Expr) -> Result<(), PassError> {
        let frame = self.enclosing_kernel.and_then(|around| self.frames.get_mut(around.frames));
        let frame = frame.ok_or_else(|| PassError::bug("shared memory is used outside of a kernel"))?;
        frame.locals.push(buffer);
        self.shared_memory.dynamic_buffers.push(SharedBuffer { buffer, bytes });
        Ok(())
    }

    /// A kernel with one thread for each of `n` iterations; `f` is called with the index.
    pub(crate) fn each_iteration(
        &mut self,
        (what, prov): (&str, Prov),
        n: Expr,
        f: impl FnOnce(&mut Self, Expr) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let size = self.layout().block;
        let n = self.bind_value(n, PrimType::I64, "n");
        let blocks = self.bind_value(div_up(n.clone(), size), PrimType::I64, "blocks");
        self.kernel((what, prov), blocks, |g, block| {
            g.threads(|g, thread| {
                let first = mul(Expr::Var(block), Expr::i64(size));
                let iteration = g.bind_value(add(first, thread), PrimType::I64, "iteration");
                let inside = compare(CmpOp::SLt, iteration.clone(), n);
                let body = g.collect(|g| f(g, iteration))?;
                g.emit(Stmt::If(inside, body, Vec::new()));
                Ok(())
            })
        })
    }

    /// A barrier of the thread block.
    pub(super) fn barrier(&mut self) {
        self.emit(Stmt::Device(DeviceOp::Barrier));
    }

    /// The product of dimensions, in a variable.
    pub(super) fn extent_product(&mut self, dims: &[(Name, Dim)], hint: &str) -> Result<Expr, PassError> {
        let mut product = Expr::i64(1);
        for (_, dim) in dims {
            product = mul(product, self.dim(*dim)?);
        }
        Ok(self.bind_value(product, PrimType::I64, hint))
    }

    /// Binds the indices of dimensions by delinearising a row-major index.
    pub(super) fn delinearise(&mut self, dims: &[(Name, Dim)], iteration: &Expr) -> Result<(), PassError> {
        let mut rest = iteration.clone();
        for (at, (index, dim)) in dims.iter().enumerate().rev() {
            let size = self.dim(*dim)?;
            let var = self.bind_index(*index);
            if at == 0 {
                self.emit(Stmt::Set(var, rest));
                break;
            }
            let outer = self.bind_value(div(rest.clone(), size.clone()), PrimType::I64, "rest");
            self.emit(Stmt::Set(var, sub(rest, mul(outer.clone(), size))));
            rest = outer;
        }
        Ok(())
    }
}
