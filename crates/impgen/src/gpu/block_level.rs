//! Kernels with one iteration per thread block: the threads of a block share the segops of its
//! iteration.
//!
//! ```text
//! for block in 0 .. n grid#0 ".." {
//!   part = frame [256]f32                -- arrays of the block, some allocated by the launch
//!   for thread in 0 .. 256 block {
//!     k = ks[block]                      -- all threads compute scalars, with equal results
//!     barrier
//!     if thread == 0 { ys[0] = k }       -- one thread writes for all
//!     barrier
//!     for round in .. { i = round * 256 + thread; if i < m { .. } }
//!     barrier                            -- distributed work is between barriers
//!   }
//! }
//! ```
//!
//! Code outside of the shared segops is *block-uniform*: scalars, conditions and bounds are equal
//! in all threads, as they are computed from equal values, so barriers are allowed in branches and
//! loops. Side effects are executed by one thread, or distributed, with a barrier before, as other
//! threads may still read the old values, and one after. The code of a segop's iterations belongs
//! to single threads ([`sequential`](super::sequential)).

use crate::gpu::DeviceSchedule;
use crate::mems::{Body, Param, Seg};
use crate::schedule::Generator;
use crate::{OrBug, Result};
use imp::build::{Operand, binary, product};
use imp::copy_plan::constant;
use imp::{DeviceOp, Expr, MemoryId, Region, SharedBuffer, Stmt, Var, VarType};
use ir::Prov;
use ir::mem::{MemOp, assign_slots};
use ir::seg::SegOp;
use ir::syntax::Exp;
use ir::walk::with_stack;
use prim::{BinOp, PrimType, Scalar};
use target::device::{RESERVED_SHARED_BYTES, SHARED_MEMORY_BYTES};

/// The shared memory of a kernel with one iteration per thread block.
#[derive(Default)]
pub(crate) struct SharedMemory {
    /// Arrays with one element for each thread.
    parts: Vec<(PrimType, Var)>,
    /// Buffers whose size is set by the launch.
    pub(super) dynamic_buffers: Vec<SharedBuffer>,
}

impl Generator<'_, DeviceSchedule> {
    /// A segmap with one thread block for each iteration.
    pub(super) fn block_level_map(&mut self, pat: &[Param], seg: &Seg, prov: Prov) -> Result {
        let n = self.extent_product(&seg.space.dims, "n")?;
        self.schedule.shared_memory.parts.clear();
        let slots = self.assign_slots(&seg.body)?;
        self.kernel(("segmap", prov), n, |g, block| {
            g.threads(|g, thread| {
                let kernel = g.schedule.enclosing_kernel;
                g.within(kernel, Some(thread), |g| g.map_iteration(pat, seg, block.into()))?;
                g.declare_slots(slots)
            })
        })
    }

    /// Binds the IR blocks that a thread block allocates in shared memory to slots (shared-memory
    /// colouring). Returns the variable and size in bytes of each slot.
    fn assign_slots(&mut self, body: &Body) -> Result<Vec<(Var, Expr)>> {
        let mut made = Vec::new();
        for slot in assign_slots(body, &self.blocks)? {
            let Some((first, _)) = slot.blocks.first() else {
                continue;
            };
            let hint = self.hint(*first);
            let var = self.new_var(VarType::Buffer(MemoryId::Shared), &hint);
            let mut bytes: Option<Expr> = None;
            for (block, own) in slot.blocks {
                self.set_var(block, var);
                let own = Expr::from(self.atom(own)?);
                bytes = Some(match bytes {
                    None => own,
                    Some(other) => larger(other, own),
                });
            }
            made.push((var, bytes.unwrap_or(Expr::i64(0))));
        }
        Ok(made)
    }

    /// Declares the slots: slots of constant size are arrays of the block as long as they fit on
    /// any device, the launch allocates the others.
    fn declare_slots(&mut self, slots: Vec<(Var, Expr)>) -> Result {
        let threads = self.schedule.layout.block.unsigned_abs();
        let parts = self.schedule.shared_memory.parts.iter().map(|(elem, _)| elem.size() * threads);
        let mut left = (SHARED_MEMORY_BYTES - RESERVED_SHARED_BYTES).saturating_sub(parts.sum());
        let word = PrimType::I64.size();
        for (slot, bytes) in slots {
            if let Some(bytes @ 0..) = constant(&bytes)
                && let count = bytes.unsigned_abs().div_ceil(word).max(1)
                && let Some(rest) = left.checked_sub(count.saturating_mul(word))
            {
                left = rest;
                self.declare_shared_array(slot, PrimType::I64, count)?;
            } else {
                self.dynamic_shared_buffer(slot, bytes)?;
            }
        }
        Ok(())
    }

    /// Emits work that the threads of a block distribute by their indices, between barriers.
    pub(crate) fn distributed<R>(&mut self, f: impl FnOnce(&mut Self, Operand) -> Result<R>) -> Result<R> {
        let thread = self.schedule.block_thread.or_bug("code is not common to a thread block")?;
        if !self.at_barrier() {
            self.barrier();
        }
        let kernel = self.schedule.enclosing_kernel;
        let made = self.within(kernel, None, |g| f(g, thread))?;
        self.barrier();
        Ok(made)
    }

    /// Returns true if the last statement that is not an assignment is a barrier: no memory access
    /// followed it.
    fn at_barrier(&self) -> bool {
        let stmts = self.lists.last().map(Vec::as_slice).unwrap_or_default();
        let last = stmts.iter().rev().find(|stmt| !matches!(stmt, Stmt::Set(..)));
        matches!(last, Some(Stmt::Device(DeviceOp::Barrier)))
    }

    /// A copy that the threads of a block distribute.
    pub(super) fn block_copy(
        &mut self,
        to: &Region,
        from: &Region,
        elem: PrimType,
        extents: &[Operand],
    ) -> Result {
        let n = product(extents);
        self.distributed(|g, thread| {
            g.distribute((0, n), true, thread, |g, index| {
                g.copy_element((to, from), elem, extents, index);
                Ok(())
            })
        })
    }

    /// Arrays with one element of each type for each thread of the block. Their contents belong to
    /// one segop; all segops of a kernel use the same arrays.
    pub(super) fn per_thread_arrays(&mut self, types: &[PrimType]) -> Result<Vec<Var>> {
        let mut free = self.schedule.shared_memory.parts.clone();
        let mut parts = Vec::with_capacity(types.len());
        for &elem in types {
            if let Some(at) = free.iter().position(|(ty, _)| *ty == elem) {
                parts.push(free.remove(at).1);
                continue;
            }
            let count = self.schedule.layout.block.unsigned_abs();
            let part = self.shared_array("part", elem, count)?;
            self.schedule.shared_memory.parts.push((elem, part));
            parts.push(part);
        }
        Ok(parts)
    }
}

/// The larger of two sizes in bytes. A negative size, which stands for overflow, is the largest.
fn larger(one: Expr, other: Expr) -> Expr {
    match (&one, &other) {
        (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) => {
            Expr::i64((*x as u64).max(*y as u64) as i64)
        }
        _ if one == other => one,
        _ => binary(BinOp::UMax, one, other),
    }
}

/// Returns true if a body contains segops.
pub(super) fn has_segops(body: &Body) -> bool {
    with_stack(|| {
        body.stms.iter().any(|stm| match &stm.exp {
            Exp::Op(MemOp::Seg(SegOp::Seg(_))) => true,
            Exp::Op(MemOp::Seg(SegOp::WithAcc { inputs: _, lambda })) => has_segops(&lambda.body),
            Exp::If { cond: _, then_body, else_body } => has_segops(then_body) || has_segops(else_body),
            Exp::Loop { params: _, form: _, body } => has_segops(body),
            Exp::Basic(_) | Exp::Apply { .. } | Exp::Op(MemOp::Alloc { .. } | MemOp::Transfer { .. }) => {
                false
            }
        })
    })
}
