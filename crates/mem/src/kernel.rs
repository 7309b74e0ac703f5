//! Memory of kernels: nothing is allocated inside, so each array local to an iteration is a part of
//! a block allocated before the kernel.
//!
//! ```text
//! segmap level 1 (i < n) {          let t_mem = alloc (n * m * 4) device
//!   let t = scratch [m]       =>    segmap level 1 (i < n) {
//!   ..                                let t @ t_mem -> {i; (n: m)} = scratch [m]
//! }                                   ..
//! ```
//!
//! The parts are interleaved: elements with the same indices in all iterations are adjacent, as
//! neighbouring threads access them at the same time. The sizes of such an array must be known
//! before the kernel. Small arrays of constant size are in registers and need no block.
//!
//! **Thread blocks.** If a segmap of the grid contains segops at the level of thread blocks, each
//! of its iterations is run by a thread block, whose threads share the work. All arrays local to
//! such an iteration are in shared memory if that was found to fit before
//! ([`fits`](crate::fits)); their sizes are computed before the kernel. Otherwise only arrays of
//! constant size are, as long as there is space besides the buffers of reductions and scans; the
//! others are parts of a block in device memory as above, each contiguous. Arrays local to an
//! iteration of the inner segop belong to a thread: their parts are interleaved within the thread
//! block's part.

use crate::alloc::{Ctx, constant_bytes, row_major_in};
use crate::capacity_guards::Need;
use ir::mem::{Block, Blocks, Lmad, MemAnn, SharedSlot, assign_slots};
use ir::name::{Name, NameTable, Prov};
use ir::seg::{Seg, SegKind, SegOp, SegSpace, outermost_segops};
use ir::syntax::{Atom, Body, DimIndex, Param, Stm};
use ir::types::{Dim, Space, Type};
use ir::{Mems, PassError, Segs};
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};
use target::device::{RESERVED_SHARED_BYTES, SHARED_MEMORY_BYTES};

/// The enclosing kernel.
pub(crate) struct Kernel {
    /// The index and size of each dimension of its index space, followed by those of the inner
    /// segop that encloses the current point.
    dims: Vec<(Name, Dim)>,
    /// The number of these dimensions that are run by thread blocks.
    of_blocks: usize,
    /// The bytes of shared memory that its threads need for reductions and scans.
    taken: u64,
    /// The remaining bytes of shared memory; `None` if all arrays of a thread block fit.
    shared_memory_left: Option<u64>,
    /// The arrays in shared memory, by their blocks.
    shared_types: FxHashMap<Name, Type>,
    /// The statements to emit before the kernel.
    outer: Vec<Stm<Mems>>,
    /// The blocks divided among iterations, with the number of dimensions that index the parts.
    shared: FxHashMap<Name, usize>,
    /// The names bound inside.
    bound: FxHashSet<Name>,
    /// True in an operator, which belongs to no iteration.
    in_operator: bool,
}

impl Kernel {
    /// Creates a kernel over an index space.
    pub(crate) fn new(space: &SegSpace) -> Self {
        Self {
            dims: space.dims.clone(),
            of_blocks: 0,
            taken: 0,
            shared_memory_left: Some(0),
            shared_types: FxHashMap::default(),
            outer: Vec::new(),
            shared: FxHashMap::default(),
            bound: FxHashSet::default(),
            in_operator: false,
        }
    }

    /// Creates a kernel whose iterations are run by thread blocks, with the given shared memory for
    /// reductions and scans, and the rest for arrays.
    fn n_block_dims(space: &SegSpace, taken: u64, left: Option<u64>) -> Self {
        Self { of_blocks: space.dims.len(), taken, shared_memory_left: left, ..Self::new(space) }
    }

    /// The shared-memory requirement of the kernel's body, if its iterations are run by thread
    /// blocks.
    pub(crate) fn need(&self, body: &Body<Mems>, names: &NameTable) -> Result<Option<Need>, PassError> {
        if self.of_blocks == 0 {
            return Ok(None);
        }
        let slots = assign_slots(body, &Blocks::of_body(body, names.len()))?;
        let arrays = |slot: &SharedSlot| {
            let blocks = slot.blocks.iter();
            let types = blocks.filter_map(|(block, _)| self.shared_types.get(block).cloned());
            types.collect()
        };
        Ok(Some(Need {
            reserved: self.taken + RESERVED_SHARED_BYTES,
            slots: slots.iter().map(arrays).collect(),
        }))
    }

    /// Returns true outside of the inner segops of a kernel run by thread blocks.
    fn is_blocks(&self) -> bool {
        self.of_blocks > 0 && self.dims.len() == self.of_blocks
    }

    /// The statements to emit before the kernel.
    pub(crate) fn outer(self) -> Vec<Stm<Mems>> {
        self.outer
    }

    /// Registers a name bound inside.
    pub(crate) fn bind(&mut self, name: Name) {
        self.bound.insert(name);
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

    /// The kernel that a segop with these results becomes.
    pub(crate) fn kernel_of(&self, seg: &Seg<Segs>, pat: &[Param<Segs>]) -> Result<Kernel, PassError> {
        let inner = outermost_segops(&seg.body);
        let is_map = matches!(&seg.kind, SegKind::ScanReduce(scan_reduce) if scan_reduce.is_map());
        if !is_map || inner.is_empty() {
            return Ok(Kernel::new(&seg.space));
        }
        let needed = values_of_threads(&inner).saturating_mul(self.block);
        let Some(left) = (SHARED_MEMORY_BYTES - RESERVED_SHARED_BYTES).checked_sub(needed) else {
            return Err(Self::not_in_kernels("operators whose values exceed shared memory"));
        };
        let fits = |param: &Param<Segs>| self.fitting.contains(&param.name);
        let all_fit = self.needs.is_some() || pat.first().is_some_and(fits);
        let left = (!all_fit).then_some(left);
        Ok(Kernel::n_block_dims(&seg.space, needed, left))
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

    /// Allocates a shared-memory block for an array of the current thread block, if there is space.
    pub(crate) fn alloc_shared_memory(
        &mut self,
        hint: &str,
        ty: &Type,
        prov: Prov,
        out: &mut Vec<Stm<Mems>>,
    ) -> Option<Name> {
        let mut kernel = self.kernel.take_if(|kernel| kernel.is_blocks())?;
        let fits_slot = match kernel.shared_memory_left {
            None => self.is_known(&kernel, ty.shape()),
            Some(left) => {
                let bytes = constant_bytes(ty).and_then(|bytes| u64::try_from(bytes).ok());
                let rest = bytes.and_then(|bytes| left.checked_sub(bytes.next_multiple_of(8)));
                kernel.shared_memory_left = Some(rest.unwrap_or(left));
                rest.is_some()
            }
        };
        // The size is computed on the host.
        let bytes = fits_slot.then(|| self.bytes(ty, prov, &mut kernel.outer));
        let block = bytes.map(|bytes| self.alloc_bytes(hint, bytes, Space::Shared, prov, out));
        if let Some(block) = block {
            kernel.bind(block);
            kernel.shared_types.insert(block, ty.clone());
        }
        self.kernel = Some(kernel);
        block
    }

    /// Returns true if dimensions are known before a kernel.
    fn is_known<'d>(&self, kernel: &Kernel, dims: impl IntoIterator<Item = &'d Dim>) -> bool {
        dims.into_iter().all(|dim| match dim {
            Dim::Const(_) => true,
            // Sizes that a branch returns with its arrays are bound together with these.
            Dim::Var(name) => !kernel.bound.contains(name) && self.type_of(*name).is_ok(),
            Dim::Ext(_) => false,
        })
    }

    /// Allocates a block with a part for each iteration, for an array of this type.
    pub(crate) fn alloc_per_iteration(
        &mut self,
        hint: &str,
        ty: &Type,
        prov: Prov,
    ) -> Result<Name, PassError> {
        let Some(mut kernel) = self.kernel.take() else {
            return Err(PassError::bug("an array per iteration outside of a kernel"));
        };
        let iteration_dims = kernel.dims.iter().map(|(_, dim)| dim);
        let fits = !kernel.in_operator && self.is_known(&kernel, ty.shape().iter().chain(iteration_dims));
        let result = if fits {
            let whole = per_iteration(&kernel.dims, ty);
            let block = self.alloc_in(hint, &whole, Space::Device, prov, &mut kernel.outer);
            kernel.shared.insert(block, kernel.dims.len());
            Ok(block)
        } else if kernel.in_operator {
            Err(Self::not_in_kernels("operators that allocate arrays"))
        } else {
            Err(Self::not_in_kernels("arrays whose sizes differ between threads"))
        };
        self.kernel = Some(kernel);
        result
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
        let outer = kernel.shared.get(&block)?;
        Some((kernel, (*outer).min(kernel.dims.len())))
    }

    /// The annotation of an array as in [`Self::whole`].
    pub(crate) fn whole_in(&self, block: Name, ty: &Type) -> MemAnn {
        if self.part_of(block).is_none() {
            return row_major_in(block, ty);
        }
        MemAnn::In { block: Block::Var(block), lmad: self.whole(block, ty) }
    }

    /// Runs `f` on an operator, which belongs to no iteration.
    pub(crate) fn in_operator_of<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.kernel.as_mut();
        let before = before.map(|kernel| std::mem::replace(&mut kernel.in_operator, true));
        let result = f(self);
        if let (Some(kernel), Some(before)) = (&mut self.kernel, before) {
            kernel.in_operator = before;
        }
        result
    }
}

/// The bytes of shared memory per thread that reductions and scans of its block need: for each
/// type, the largest number of values of one of the segops.
fn values_of_threads(inner: &[&SegOp<Segs>]) -> u64 {
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
    PrimType::ALL.iter().map(bytes).sum()
}

/// The type of an array with a part of this type for every iteration.
fn per_iteration(dims: &[(Name, Dim)], ty: &Type) -> Type {
    dims.iter().rev().fold(ty.clone(), |ty, (_, dim)| ty.array_of(*dim))
}
