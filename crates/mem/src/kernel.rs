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

use crate::alloc::{Ctx, row_major_in};
use ir::mem::{Block, Lmad, MemAnn};
use ir::name::{Name, Prov};
use ir::seg::SegSpace;
use ir::syntax::{Atom, DimIndex, Stm};
use ir::types::{Dim, Space, Type};
use ir::{Mems, PassError};
use rustc_hash::FxHashSet;

/// The kernel that the code at hand stands in.
pub(crate) struct Kernel {
    /// Index and size of each dimension of its points.
    dims: Vec<(Name, Dim)>,
    /// What has to stand before it.
    outer: Vec<Stm<Mems>>,
    /// The blocks that all points have a part of.
    shared: FxHashSet<Name>,
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
            outer: Vec::new(),
            shared: FxHashSet::default(),
            bound: FxHashSet::default(),
            no_point: false,
        }
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

    /// A new block for an array of this type that each point has for itself.
    pub(crate) fn alloc_parts(
        &mut self,
        hint: &str,
        ty: &Type,
        prov: Prov,
    ) -> Result<Name, PassError> {
        let Some(mut kernel) = self.kernel.take() else {
            return Err(PassError::bug("parts of a block outside of a kernel"));
        };
        let known = |dim: &Dim| match dim {
            Dim::Const(_) => true,
            // Sizes of a branch's own results are bound with them.
            Dim::Var(name) => !kernel.bound.contains(name) && self.type_of(*name).is_ok(),
            Dim::Ext(_) => false,
        };
        let fits = !kernel.no_point && ty.shape().iter().all(known);
        let result = if fits {
            let whole = of_all_points(&kernel.dims, ty);
            let block = self.alloc_in(hint, &whole, Space::Device, prov, &mut kernel.outer);
            kernel.shared.insert(block);
            Ok(block)
        } else if kernel.no_point {
            Err(Self::not_in_kernels("arrays in operators"))
        } else {
            Err(Self::not_in_kernels(
                "arrays whose sizes differ from point to point",
            ))
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
        match &self.kernel {
            Some(kernel) if kernel.shared.contains(&block) => {
                let outer = kernel.dims.len();
                let full = of_all_points(&kernel.dims, ty);
                let order: Vec<usize> = perm.iter().map(|at| at + outer).chain(0..outer).collect();
                let point = kernel.dims.iter();
                let point = point.map(|(index, _)| DimIndex::Fix(Atom::Var(*index)));
                let rest = ty.shape().iter().map(|&count| DimIndex::Slice {
                    start: Atom::i64(0),
                    count,
                    stride: Atom::i64(1),
                });
                let slice: Vec<DimIndex> = point.chain(rest).collect();
                Lmad::in_order(&order, full.shape()).slice(&slice)
            }
            _ => Lmad::in_order(perm, ty.shape()),
        }
    }

    /// An array as [`Self::whole`] has it.
    pub(crate) fn whole_in(&self, block: Name, ty: &Type) -> MemAnn {
        match &self.kernel {
            Some(kernel) if kernel.shared.contains(&block) => MemAnn::In {
                block: Block::Var(block),
                lmad: self.whole(block, ty),
            },
            _ => row_major_in(block, ty),
        }
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

/// The type of all points' arrays of a type.
fn of_all_points(dims: &[(Name, Dim)], ty: &Type) -> Type {
    dims.iter()
        .rev()
        .fold(ty.clone(), |ty, (_, dim)| ty.array_of(*dim))
}
