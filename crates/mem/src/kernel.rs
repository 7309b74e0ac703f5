//! Memory of kernels: nothing is allocated inside, so each array local to an iteration is a part of
//! a block allocated before the kernel.
//!
//! ```text
//! segmap grid (i < n) {             let t_mem = alloc (n * m * 4) device
//!   let t = scratch [m]       =>    segmap grid (i < n) {
//!   ..                                let t @ t_mem -> {i; (n: m)} = scratch [m]
//! }                                   ..
//! ```
//!
//! The parts are interleaved: elements with the same indices in all iterations are adjacent, as
//! neighbouring threads access them at the same time. The sizes of such an array are known before
//! the kernel ([`legality`](crate::legality)). Small arrays of constant size are in registers and
//! need no block.
//!
//! **Thread blocks.** If a segmap of the grid contains segops at the level of thread blocks, each
//! of its iterations is run by a thread block, whose threads share the work. All arrays local to
//! such an iteration are in shared memory, as if they fit; their sizes are computed before the
//! kernel. Afterwards, [`capacity_guards`](crate::capacity_guards) moves them to device memory where
//! they may not fit. Arrays local to an iteration of the inner segop belong to a thread: their parts
//! are interleaved within the thread block's part.

use crate::alloc::{Ctx, row_major_in};
use ir::mem::{Block, Lmad, MemAnn};
use ir::name::{Name, Prov};
use ir::seg::{Seg, SegKind, SegOp, SegSpace, outermost_segops};
use ir::syntax::{Atom, DimIndex, Stm};
use ir::types::{Dim, Type};
use ir::{Mems, Segs};
use prim::PrimType;
use rustc_hash::FxHashMap;
use target::memories::MemoryId;

/// The enclosing kernel.
pub(crate) struct Kernel {
    /// The index and size of each dimension of its index space, followed by those of the inner
    /// segop that encloses the current point.
    dims: Vec<(Name, Dim)>,
    /// The number of these dimensions that are run by thread blocks.
    of_blocks: usize,
    /// The bytes of shared memory that the threads of a block need for reductions and scans, if
    /// its iterations are run by thread blocks.
    pub(crate) block_bytes: Option<u64>,
    /// The statements to emit before the kernel.
    outer: Vec<Stm<Mems>>,
    /// The blocks divided among iterations, with the number of dimensions that index the parts.
    parts: FxHashMap<Name, usize>,
}

impl Kernel {
    /// Returns true outside of the inner segops of a kernel run by thread blocks.
    fn is_blocks(&self) -> bool {
        self.of_blocks > 0 && self.dims.len() == self.of_blocks
    }

    /// The statements to emit before the kernel.
    pub(crate) fn outer(self) -> Vec<Stm<Mems>> {
        self.outer
    }
}

impl Ctx<'_> {
    /// Returns true inside a kernel.
    pub(crate) const fn in_kernel(&self) -> bool {
        self.kernel.is_some()
    }

    /// Returns true where the threads of a block share the arrays created: outside of its inner
    /// segops.
    pub(crate) fn in_block(&self) -> bool {
        self.kernel.as_ref().is_some_and(Kernel::is_blocks)
    }

    /// The kernel that a segop becomes.
    pub(crate) fn kernel_of(&self, seg: &Seg<Segs>) -> Kernel {
        let block_bytes = block_bytes(seg, self.block);
        Kernel {
            dims: seg.space.dims.clone(),
            of_blocks: if block_bytes.is_some() { seg.space.dims.len() } else { 0 },
            block_bytes,
            outer: Vec::new(),
            parts: FxHashMap::default(),
        }
    }

    /// Enters a segop inside a thread block, if this is one. Returns the number of dimensions
    /// before.
    pub(crate) fn enter_thread_segop(&mut self, space: &SegSpace) -> Option<usize> {
        let kernel = self.kernel.as_mut().filter(|kernel| kernel.is_blocks())?;
        let before = kernel.dims.len();
        kernel.dims.extend(space.dims.iter().copied());
        Some(before)
    }

    /// Leaves the segop that was entered at this number of dimensions.
    pub(crate) fn leave_thread_segop(&mut self, before: Option<usize>) {
        if let (Some(kernel), Some(before)) = (&mut self.kernel, before) {
            kernel.dims.truncate(before);
        }
    }

    /// Allocates a block for an array of the current thread block in shared memory, or one in device
    /// memory with a part for each iteration.
    pub(crate) fn alloc_in_kernel(
        &mut self,
        mut kernel: Kernel,
        (hint, ty): (&str, &Type),
        prov: Prov,
        out: &mut Vec<Stm<Mems>>,
    ) -> Name {
        let block;
        if kernel.is_blocks() {
            // The size is computed on the host.
            let bytes = self.bytes(ty, prov, &mut kernel.outer);
            block = self.alloc_bytes(hint, bytes, MemoryId::Shared, prov, out);
            self.capacity.arrays.insert(block, ty.clone());
        } else {
            let whole = per_iteration(&kernel.dims, ty);
            block = self.alloc_in(hint, &whole, self.home_memory, prov, &mut kernel.outer);
            kernel.parts.insert(block, kernel.dims.len());
        }
        self.kernel = Some(kernel);
        block
    }

    /// The index function of an array that is row-major from the start of a block, or of the
    /// current iteration's part of it.
    pub(crate) fn whole(&self, block: Name, ty: &Type) -> Lmad {
        let order: Vec<usize> = (0..ty.rank()).collect();
        self.whole_by(block, ty, &order)
    }

    /// As [`Self::whole`], with the dimensions in an order, slowest first.
    pub(crate) fn whole_by(&self, block: Name, ty: &Type, perm: &[usize]) -> Lmad {
        let Some((kernel, outer)) = self.part_of(block) else {
            return Lmad::with_dim_order(perm, ty.shape());
        };
        let dims = &kernel.dims[..outer];
        let full = per_iteration(dims, ty);
        // A thread block's part is contiguous; within it, the threads' parts are interleaved.
        let blocks = kernel.of_blocks.min(outer);
        let own = perm.iter().map(|at| at + outer);
        let order: Vec<usize> = (0..blocks).chain(own).chain(blocks..outer).collect();
        let indices = dims.iter();
        let indices = indices.map(|(index, _)| DimIndex::Fix(Atom::Var(*index)));
        let rest = ty.shape().iter().map(|&count| DimIndex::Slice {
            start: Atom::i64(0),
            count,
            stride: Atom::i64(1),
        });
        let slice: Vec<DimIndex> = indices.chain(rest).collect();
        Lmad::with_dim_order(&order, full.shape()).slice(&slice)
    }

    /// The kernel whose iterations have parts of a block, if there is one, and the number of
    /// current dimensions that index the parts.
    fn part_of(&self, block: Name) -> Option<(&Kernel, usize)> {
        let kernel = self.kernel.as_ref()?;
        let outer = kernel.parts.get(&block)?;
        Some((kernel, (*outer).min(kernel.dims.len())))
    }

    /// The annotation of an array as in [`Self::whole`].
    pub(crate) fn whole_in(&self, block: Name, ty: &Type) -> MemAnn {
        if self.part_of(block).is_none() {
            return row_major_in(block, ty);
        }
        MemAnn::In { block: Block::Var(block), lmad: self.whole(block, ty) }
    }
}

/// The bytes of shared memory that reductions and scans of a segop's thread blocks need, for blocks
/// of `block` threads: for each type, the largest number of values of one of the inner segops.
/// `None` if iterations are not run by thread blocks.
pub(crate) fn block_bytes(seg: &Seg<Segs>, block: u64) -> Option<u64> {
    let inner = outermost_segops(&seg.body);
    if !seg.kind.is_map() || inner.is_empty() {
        return None;
    }
    let mut most: FxHashMap<PrimType, u64> = FxHashMap::default();
    for op in inner {
        let SegOp::Seg(seg) = op else { continue };
        let SegKind::ScanReduce(scan_reduce) = &seg.kind else {
            continue;
        };
        let mut own: FxHashMap<PrimType, u64> = FxHashMap::default();
        for elem in scan_reduce.operators().flat_map(|op| &op.op.ret).filter_map(Type::elem) {
            *own.entry(elem).or_default() += 1;
        }
        for &elem in PrimType::ALL {
            let count = own.get(&elem).copied().unwrap_or_default();
            let most = most.entry(elem).or_default();
            *most = count.max(*most);
        }
    }
    let bytes = |elem: &PrimType| elem.size() * most.get(elem).copied().unwrap_or_default();
    let of_thread: u64 = PrimType::ALL.iter().map(bytes).sum();
    Some(of_thread.saturating_mul(block))
}

/// The type of an array with a part of this type for every iteration.
pub(crate) fn per_iteration(dims: &[(Name, Dim)], ty: &Type) -> Type {
    dims.iter().rev().fold(ty.clone(), |ty, (_, dim)| ty.array_of(*dim))
}
