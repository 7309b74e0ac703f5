//! Memory of the points of a kernel: nothing is allocated inside, so each array that a
//! point needs for itself is a part of a block that is made before the kernel.
//!
//! ```text
//! segmap level 1 (i < n) {          let t_mem = alloc (n * m * 4) device
//!   let t = scratch [m]       =>    segmap level 1 (i < n) {
//!   ..                                let t @ t_mem -> {i; (n: m)} = scratch [m]
//! }                                   ..
//! ```
//!
//! The parts lie interleaved: elements with the same indices of all points are
//! neighbours, as threads side by side read and write them at the same time. The sizes of
//! such an array have to be known before the kernel. Small arrays of constant size lie in
//! registers and need nothing.
//!
//! **Blocks.** Where a segmap of the grid has segops at the level of blocks in it, its points
//! are those of a block, whose threads share what the point computes. All such arrays lie in
//! the scratchpad where it was found before that they fit ([`fits`](crate::fits)); their
//! sizes are computed before the kernel. Elsewhere those do whose size is constant, as long as
//! there is room beside what reductions and scans need; the others are parts of a block on
//! the device as above, but each in one piece. What a point of the inner segop needs for
//! itself is again a thread's: its parts are interleaved within the piece that the block has.

use crate::alloc::{Ctx, constant_bytes, row_major_in};
use crate::fits::Need;
use ir::mem::{Block, Blocks, Lmad, MemAnn, Room, rooms};
use ir::name::{Name, NameTable, Prov};
use ir::seg::{Seg, SegKind, SegOp, SegSpace, outermost};
use ir::syntax::{Atom, Body, DimIndex, Param, Stm};
use ir::types::{Dim, Space, Type};
use ir::{Mems, PassError, Segs};
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};
use target::device::{ROOM_FOR_NOTES, SCRATCHPAD_BYTES};

/// The kernel that the code at hand stands in.
pub(crate) struct Kernel {
    /// Index and size of each dimension of its points, and of those of the segop in it that
    /// the code stands in.
    dims: Vec<(Name, Dim)>,
    /// How many of these count blocks, whose threads share what a point computes.
    of_blocks: usize,
    /// Bytes of the scratchpad that its threads need for reductions and scans.
    taken: u64,
    /// Bytes of the scratchpad that are left; nothing if all arrays of the block fit.
    left: Option<u64>,
    /// The arrays in the scratchpad, by their blocks.
    scratchpad: FxHashMap<Name, Type>,
    /// What has to stand before it.
    outer: Vec<Stm<Mems>>,
    /// The blocks that all points have a part of, and by how many dimensions.
    shared: FxHashMap<Name, usize>,
    /// The names bound inside.
    bound: FxHashSet<Name>,
    /// Whether the code is that of an operator, which knows no point.
    no_point: bool,
}

impl Kernel {
    /// A kernel over these points.
    pub(crate) fn new(space: &SegSpace) -> Self {
        Self {
            dims: space.dims.clone(),
            of_blocks: 0,
            taken: 0,
            left: Some(0),
            scratchpad: FxHashMap::default(),
            outer: Vec::new(),
            shared: FxHashMap::default(),
            bound: FxHashSet::default(),
            no_point: false,
        }
    }

    /// A kernel whose points are those of blocks, whose threads need so many bytes of the
    /// scratchpad, and which have others for arrays.
    fn of_blocks(space: &SegSpace, taken: u64, left: Option<u64>) -> Self {
        Self { of_blocks: space.dims.len(), taken, left, ..Self::new(space) }
    }

    /// What a body of the kernel has in the scratchpad, if its points are blocks.
    pub(crate) fn need(&self, body: &Body<Mems>, names: &NameTable) -> Result<Option<Need>, PassError> {
        if self.of_blocks == 0 {
            return Ok(None);
        }
        let rooms = rooms(body, &Blocks::of_body(body, names.len()))?;
        let arrays = |room: &Room| {
            let blocks = room.blocks.iter();
            let types = blocks.filter_map(|(block, _)| self.scratchpad.get(block).cloned());
            types.collect()
        };
        Ok(Some(Need { taken: self.taken + ROOM_FOR_NOTES, rooms: rooms.iter().map(arrays).collect() }))
    }

    /// Whether the code is that of a block: outside of the segops that its threads share.
    fn is_blocks(&self) -> bool {
        self.of_blocks > 0 && self.dims.len() == self.of_blocks
    }

    /// What has to stand before the kernel.
    pub(crate) fn outer(self) -> Vec<Stm<Mems>> {
        self.outer
    }

    /// A name is bound inside.
    pub(crate) fn bind(&mut self, name: Name) {
        self.bound.insert(name);
    }
}

impl Ctx<'_> {
    /// Whether the code stands in a kernel.
    pub(crate) const fn in_kernel(&self) -> bool {
        self.kernel.is_some()
    }

    /// Whether the code is that of a block: what it makes, the threads share.
    pub(crate) fn in_block(&self) -> bool {
        self.kernel.as_ref().is_some_and(Kernel::is_blocks)
    }

    /// The kernel that a segop with these results becomes.
    pub(crate) fn kernel_of(&self, seg: &Seg<Segs>, pat: &[Param<Segs>]) -> Result<Kernel, PassError> {
        let inner = outermost(&seg.body);
        let is_map = matches!(&seg.kind, SegKind::Folds(folds) if folds.is_map());
        if !is_map || inner.is_empty() {
            return Ok(Kernel::new(&seg.space));
        }
        let needed = values_of_threads(&inner).saturating_mul(self.block);
        let Some(left) = (SCRATCHPAD_BYTES - ROOM_FOR_NOTES).checked_sub(needed) else {
            return Err(Self::not_in_kernels("operators on so many values"));
        };
        let fits = |param: &Param<Segs>| self.fitting.contains(&param.name);
        let all_fit = self.needs.is_some() || pat.first().is_some_and(fits);
        let left = (!all_fit).then_some(left);
        Ok(Kernel::of_blocks(&seg.space, needed, left))
    }

    /// A segop of a block begins, if the code is a block's: how many dimensions there were.
    pub(crate) fn points_of_threads(&mut self, space: &SegSpace) -> Option<usize> {
        let kernel = self.kernel.as_mut().filter(|kernel| kernel.is_blocks())?;
        let before = kernel.dims.len();
        kernel.dims.extend(space.dims.iter().copied());
        Some(before)
    }

    /// The segop ends that began where there were so many dimensions.
    pub(crate) fn end_of_threads(&mut self, before: Option<usize>) {
        if let (Some(kernel), Some(before)) = (&mut self.kernel, before) {
            kernel.dims.truncate(before);
        }
    }

    /// A new block in the scratchpad for an array of this type of the block at hand, if it
    /// lies there.
    pub(crate) fn alloc_in_scratchpad(
        &mut self,
        hint: &str,
        ty: &Type,
        prov: Prov,
        out: &mut Vec<Stm<Mems>>,
    ) -> Option<Name> {
        let mut kernel = self.kernel.take_if(|kernel| kernel.is_blocks())?;
        let there = match kernel.left {
            None => self.is_known(&kernel, ty.shape()),
            Some(left) => {
                let bytes = constant_bytes(ty).and_then(|bytes| u64::try_from(bytes).ok());
                let rest = bytes.and_then(|bytes| left.checked_sub(bytes.next_multiple_of(8)));
                kernel.left = Some(rest.unwrap_or(left));
                rest.is_some()
            }
        };
        // The host knows how large it is.
        let bytes = there.then(|| self.bytes(ty, prov, &mut kernel.outer));
        let block = bytes.map(|bytes| self.alloc_bytes(hint, bytes, Space::Scratchpad, prov, out));
        if let Some(block) = block {
            kernel.bind(block);
            kernel.scratchpad.insert(block, ty.clone());
        }
        self.kernel = Some(kernel);
        block
    }

    /// Whether dimensions are known before a kernel.
    fn is_known<'d>(&self, kernel: &Kernel, dims: impl IntoIterator<Item = &'d Dim>) -> bool {
        dims.into_iter().all(|dim| match dim {
            Dim::Const(_) => true,
            // Sizes of a branch's own results are bound with them.
            Dim::Var(name) => !kernel.bound.contains(name) && self.type_of(*name).is_ok(),
            Dim::Ext(_) => false,
        })
    }

    /// A new block for an array of this type that each point has for itself.
    pub(crate) fn alloc_parts(&mut self, hint: &str, ty: &Type, prov: Prov) -> Result<Name, PassError> {
        let Some(mut kernel) = self.kernel.take() else {
            return Err(PassError::bug("parts of a block outside of a kernel"));
        };
        let points = kernel.dims.iter().map(|(_, dim)| dim);
        let fits = !kernel.no_point && self.is_known(&kernel, ty.shape().iter().chain(points));
        let result = if fits {
            let whole = of_all_points(&kernel.dims, ty);
            let block = self.alloc_in(hint, &whole, Space::Device, prov, &mut kernel.outer);
            kernel.shared.insert(block, kernel.dims.len());
            Ok(block)
        } else if kernel.no_point {
            Err(Self::not_in_kernels("arrays in operators"))
        } else {
            Err(Self::not_in_kernels("arrays whose sizes differ from point to point"))
        };
        self.kernel = Some(kernel);
        result
    }

    /// Row-major from the start of a block, or of the part that the point at hand has
    /// of it.
    pub(crate) fn whole(&self, block: Name, ty: &Type) -> Lmad {
        let order: Vec<usize> = (0..ty.rank()).collect();
        self.whole_by(block, ty, &order)
    }

    /// As [`Self::whole`], with the dimensions in an order, slowest first.
    pub(crate) fn whole_by(&self, block: Name, ty: &Type, perm: &[usize]) -> Lmad {
        let Some((kernel, outer)) = self.part_of(block) else {
            return Lmad::in_order(perm, ty.shape());
        };
        let dims = &kernel.dims[..outer];
        let full = of_all_points(dims, ty);
        // A block's piece lies together, in it what threads have for themselves is interleaved.
        let blocks = kernel.of_blocks.min(outer);
        let own = perm.iter().map(|at| at + outer);
        let order: Vec<usize> = (0..blocks).chain(own).chain(blocks..outer).collect();
        let point = dims.iter();
        let point = point.map(|(index, _)| DimIndex::Fix(Atom::Var(*index)));
        let rest = ty.shape().iter().map(|&count| DimIndex::Slice {
            start: Atom::i64(0),
            count,
            stride: Atom::i64(1),
        });
        let slice: Vec<DimIndex> = point.chain(rest).collect();
        Lmad::in_order(&order, full.shape()).slice(&slice)
    }

    /// The kernel whose points have parts of a block, if there is one, and by how many of
    /// the dimensions at hand.
    fn part_of(&self, block: Name) -> Option<(&Kernel, usize)> {
        let kernel = self.kernel.as_ref()?;
        let outer = kernel.shared.get(&block)?;
        Some((kernel, (*outer).min(kernel.dims.len())))
    }

    /// An array as [`Self::whole`] has it.
    pub(crate) fn whole_in(&self, block: Name, ty: &Type) -> MemAnn {
        if self.part_of(block).is_none() {
            return row_major_in(block, ty);
        }
        MemAnn::In { block: Block::Var(block), lmad: self.whole(block, ty) }
    }

    /// What `f` makes of an operator, which no point belongs to.
    pub(crate) fn without_point<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.kernel.as_mut();
        let before = before.map(|kernel| std::mem::replace(&mut kernel.no_point, true));
        let result = f(self);
        if let (Some(kernel), Some(before)) = (&mut self.kernel, before) {
            kernel.no_point = before;
        }
        result
    }
}

/// Bytes that a thread has in the scratchpad where its block reduces and scans: as many values
/// of each type as one of the segops has of it.
fn values_of_threads(inner: &[&SegOp<Segs>]) -> u64 {
    let mut most: FxHashMap<PrimType, u64> = FxHashMap::default();
    for op in inner {
        let SegOp::Seg(seg) = op else { continue };
        let SegKind::Folds(folds) = &seg.kind else {
            continue;
        };
        let mut own: FxHashMap<PrimType, u64> = FxHashMap::default();
        for elem in folds.operators().flat_map(|op| &op.op.ret).filter_map(Type::elem) {
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

/// The type of all points' arrays of a type.
fn of_all_points(dims: &[(Name, Dim)], ty: &Type) -> Type {
    dims.iter().rev().fold(ty.clone(), |ty, (_, dim)| ty.array_of(*dim))
}
