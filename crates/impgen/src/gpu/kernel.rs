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

use crate::emitter::Frame;
use crate::gpu::DeviceSchedule;
use crate::operators::div_up;
use crate::schedule::Generator;
use crate::{OrBug, Result};
use imp::build::{Operand, product};
use imp::{DeviceOp, Expr, For, Launch, LoopMode, MemoryId, SharedBuffer, Stmt, Var, VarType, bind, emit};
use ir::Prov;
use ir::name::Name;
use ir::types::Dim;
use prim::PrimType;

/// The nesting depth of statement lists and frames where a kernel began.
#[derive(Clone, Copy)]
pub(crate) struct EnclosingCode {
    lists: usize,
    frames: usize,
}

impl Generator<'_, DeviceSchedule> {
    /// A kernel of `blocks` thread blocks: `f` emits the code that is common to all threads of a
    /// block, and at its end the threads.
    pub(super) fn kernel(
        &mut self,
        (what, prov): (&str, Prov),
        blocks: Operand,
        f: impl FnOnce(&mut Self, Var) -> Result,
    ) -> Result {
        let id = self.tables.launch();
        let name = format!("{}.{what}", self.function.name);
        let provenance = self.provenance(prov);
        let here = EnclosingCode { lists: self.lists.len(), frames: self.frames.len() };
        let var = self.new_var(VarType::Scalar(PrimType::I64), "block");
        let (body, frame) = self.within(Some(here), None, |g| g.task(|g| f(g, var)))?;
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
            shared_buffers: std::mem::take(&mut self.schedule.shared_memory.dynamic_buffers),
        };
        self.emit(Stmt::For(For {
            mode: LoopMode::Grid(launch),
            var,
            from: Expr::i64(0),
            to: blocks.into(),
            body,
        }));
        Ok(())
    }

    /// The threads of the current block.
    pub(super) fn threads(&mut self, f: impl FnOnce(&mut Self, Operand) -> Result) -> Result {
        let var = self.new_var(VarType::Scalar(PrimType::I64), "thread");
        let (body, frame) = self.task(|g| f(g, var.into()))?;
        if let Some(around) = self.frames.last_mut() {
            around.racy_buffers.extend(frame.racy_buffers);
        }
        let to = Expr::i64(self.schedule.layout.block);
        self.emit(Stmt::For(For {
            mode: LoopMode::Threads(frame.locals),
            var,
            from: Expr::i64(0),
            to,
            body,
        }));
        Ok(())
    }

    /// Generates code of a kernel, or of the host, that a thread block runs together if there is one.
    pub(super) fn within<R>(
        &mut self,
        kernel: Option<EnclosingCode>,
        block_thread: Option<Operand>,
        f: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let kernel = std::mem::replace(&mut self.schedule.enclosing_kernel, kernel);
        let block_thread = std::mem::replace(&mut self.schedule.block_thread, block_thread);
        let made = f(self);
        self.schedule.block_thread = block_thread;
        self.schedule.enclosing_kernel = kernel;
        made
    }

    /// Emits code before the current kernel, if there is one.
    pub(super) fn before_kernel<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let Some(around) = self.schedule.enclosing_kernel else {
            return f(self);
        };
        let lists = self.lists.split_off(around.lists);
        let frames = self.frames.split_off(around.frames);
        let made = self.within(None, None, f);
        self.lists.extend(lists);
        self.frames.extend(frames);
        made
    }

    /// Allocates an array of `count` elements in shared memory.
    pub(crate) fn shared_array(&mut self, hint: &str, elem: PrimType, count: u64) -> Result<Var> {
        let buffer = self.new_var(VarType::Buffer(MemoryId::Shared), hint);
        self.declare_shared_array(buffer, elem, count)?;
        Ok(buffer)
    }

    /// Declares a variable as an array of `count` elements in shared memory.
    pub(super) fn declare_shared_array(&mut self, buffer: Var, elem: PrimType, count: u64) -> Result {
        let around = self.schedule.enclosing_kernel.or_bug("shared memory is used outside of a kernel")?;
        self.lists[around.lists].push(Stmt::Frame { buffer, elem, count });
        self.frames[around.frames].locals.push(buffer);
        Ok(())
    }

    /// Declares a variable as a shared-memory buffer of `bytes` bytes, a size that the host
    /// computes at launch.
    pub(super) fn dynamic_shared_buffer(&mut self, buffer: Var, bytes: Expr) -> Result {
        let around = self.schedule.enclosing_kernel.or_bug("shared memory is used outside of a kernel")?;
        self.frames[around.frames].locals.push(buffer);
        self.schedule.shared_memory.dynamic_buffers.push(SharedBuffer { buffer, bytes });
        Ok(())
    }

    /// A kernel with one thread for each of `n` iterations; `f` is called with the index.
    pub(crate) fn each_iteration(
        &mut self,
        (what, prov): (&str, Prov),
        n: impl Into<Expr>,
        f: impl FnOnce(&mut Self, Operand) -> Result,
    ) -> Result {
        let size = self.schedule.layout.block;
        let n = self.bind(n, "n");
        bind!(blocks = self(div_up(n, size)));
        self.kernel((what, prov), blocks, |g, block| {
            g.threads(|g, thread| {
                bind!(iteration = g(block * size + thread));
                emit!(if g(iteration < n) {
                    f(g, iteration)?;
                });
                Ok(())
            })
        })
    }

    /// A barrier of the thread block.
    pub(super) fn barrier(&mut self) {
        self.emit(Stmt::Device(DeviceOp::Barrier));
    }

    /// The product of dimensions, in a variable.
    pub(super) fn extent_product(&mut self, dims: &[(Name, Dim)], hint: &str) -> Result<Operand> {
        let extents: Vec<Operand> = dims.iter().map(|(_, dim)| self.dim(*dim)).collect::<Result<_>>()?;
        Ok(self.bind(product(extents), hint))
    }

    /// Binds the indices of dimensions by delinearising a row-major index.
    pub(super) fn delinearise(&mut self, dims: &[(Name, Dim)], iteration: Operand) -> Result {
        let mut rest = iteration;
        for (at, (index, dim)) in dims.iter().enumerate().rev() {
            let size = self.dim(*dim)?;
            let var = self.bind_index(*index);
            if at == 0 {
                self.set(var, rest);
                break;
            }
            let outer = self.bind(rest / size, "rest");
            self.set(var, rest - outer * size);
            rest = outer;
        }
        Ok(())
    }
}
