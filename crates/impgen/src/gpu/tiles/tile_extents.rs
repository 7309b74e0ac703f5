//! The layout of a block's iterations, and their distribution over its threads.
//!
//! Each side of a block is along one dimension. Along the innermost one, neighbouring threads have
//! neighbouring iterations, so that results are stored coalesced: a thread's own iterations are
//! strided by the number of threads. Along the other dimension a thread's iterations are
//! neighbours, so that it reads their elements from shared memory together.

use super::div_up_const;
use crate::Result;
use crate::gpu::DeviceSchedule;
use crate::mems::Param;
use crate::operators::div_up;
use crate::schedule::Generator;
use imp::build::{Operand, TRUE, and, min};
use imp::{Expr, Var, bind, expr};
use ir::facts::SharedBy;
use ir::name::Name;
use ir::types::Dim;
use prim::PrimType;

/// The shape of a block of iterations.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Threads along the outer dimension and along the innermost one.
    pub(super) threads: (i64, i64),
    /// The side length of a thread's register tile, in iterations.
    pub(super) iterations: i64,
    /// The number of loop iterations per shared-memory tile.
    pub(super) depth: i64,
}

impl Shape {
    pub(super) const fn height(self) -> i64 {
        self.threads.0 * self.iterations
    }

    pub(super) const fn width(self) -> i64 {
        self.threads.1 * self.iterations
    }

    /// The side lengths of a block, the outer one first; with one side, that of the innermost
    /// dimension.
    pub(super) fn lengths(self, dims: usize) -> impl DoubleEndedIterator<Item = i64> + ExactSizeIterator {
        [self.height(), self.width()].into_iter().skip(2 - dims.min(2))
    }

    /// The number of rounds in which the `block` threads of a block load a tile.
    pub(super) const fn rounds(self, by: SharedBy, block: i64) -> i64 {
        let (length, _) = self.line_layout(by);
        div_up_const(self.depth * length, block)
    }

    /// The number of elements of a tile for one loop iteration, and the stride between loop
    /// iterations. It is padded so that the elements that a thread reads of a row together do not
    /// straddle shared-memory lines.
    pub(super) const fn line_layout(self, by: SharedBy) -> (i64, i64) {
        match by {
            SharedBy::Row => (self.height(), self.height() + self.iterations),
            SharedBy::Column => (self.width(), self.width() + 1),
            SharedBy::Loop => (1, 1),
        }
    }
}

impl TileExtent {
    /// The offset of a thread's iteration in the block, by its number.
    pub(super) fn offset(&self, number: i64) -> Expr {
        self.position * self.thread_stride + number * self.iteration_stride
    }
}

/// One dimension of a block of iterations.
pub(super) struct TileExtent {
    pub(super) index: Name,
    /// The extent of the dimension.
    pub(super) size: Operand,
    /// The number of blocks along it.
    pub(super) blocks: Operand,
    /// The block's first index.
    pub(super) first: Operand,
    /// The thread's index along the side.
    position: Operand,
    /// The stride between the first iterations of neighbouring threads (`thread_stride`), and
    /// between the iterations of one thread (`iteration_stride`).
    thread_stride: i64,
    iteration_stride: i64,
    /// The indices of the thread's iterations, and variables with the indices clamped to the
    /// dimension.
    pub(super) iterations: Vec<(Operand, Var)>,
}

/// An iteration of a thread: its position, and the variables that names are bound to.
pub(super) struct ThreadIteration {
    /// The number of its index among the thread's indices along each side, the outer one first.
    pub(super) numbers: Vec<usize>,
    pub(super) vars: Vec<(Name, Var)>,
}

impl ThreadIteration {
    /// The condition that the iteration is in the space.
    pub(super) fn is_inside(&self, extents: &[TileExtent]) -> Expr {
        extents.iter().zip(&self.numbers).fold(TRUE, |inside, (extent, &number)| {
            let (index, _) = extent.iterations[number];
            and(inside, expr!(index < extent.size))
        })
    }
}

impl Generator<'_, DeviceSchedule> {
    /// Blocks over the innermost one or two dimensions of a space.
    pub(super) fn tile_extents(&mut self, inner: &[(Name, Dim)], shape: Shape) -> Result<Vec<TileExtent>> {
        let mut extents = Vec::with_capacity(inner.len());
        for (number, ((index, dim), length)) in inner.iter().zip(shape.lengths(inner.len())).enumerate() {
            let (thread_stride, iteration_stride) =
                if number + 1 == inner.len() { (1, shape.threads.1) } else { (shape.iterations, 1) };
            let size = self.dim(*dim)?;
            let along = div_up(size, length);
            extents.push(TileExtent {
                index: *index,
                size,
                blocks: self.bind(along, "along"),
                first: 0.into(),
                position: 0.into(),
                thread_stride,
                iteration_stride,
                iterations: Vec::new(),
            });
        }
        Ok(extents)
    }

    /// Computes the first index of a block along each side; returns the rest of its number, which
    /// counts the other dimensions.
    pub(super) fn block_origin(&mut self, extents: &mut [TileExtent], shape: Shape, block: Var) -> Operand {
        let mut rest = Operand::from(block);
        let lengths = shape.lengths(extents.len());
        for (extent, length) in extents.iter_mut().zip(lengths).rev() {
            extent.first = self.bind(rest % extent.blocks * length, "first");
            rest = self.bind(rest / extent.blocks, "rest");
        }
        rest
    }

    /// Computes the position of a thread in its block, and the indices of its iterations.
    pub(super) fn thread_indices(&mut self, extents: &mut [TileExtent], thread: Operand, shape: Shape) {
        let (_, columns) = shape.threads;
        let owns =
            if extents.len() == 1 { vec![thread.into()] } else { vec![thread / columns, thread % columns] };
        for (extent, own) in extents.iter_mut().zip(owns) {
            extent.position = self.bind(own, "position");
            let hint = self.hint(extent.index);
            let last = extent.size - 1;
            for number in 0..shape.iterations {
                bind!(index = self(extent.first + extent.offset(number)));
                let var = self.scalar(PrimType::I64, &hint);
                self.set(var, min(index, last.clone()));
                extent.iterations.push((index, var));
            }
        }
    }

    /// Binds names to an iteration's variables.
    pub(super) fn bind_iteration(&mut self, iteration: &ThreadIteration) {
        for &(name, var) in &iteration.vars {
            self.set_var(name, var);
        }
    }

    /// Records the variables of names that were bound for an iteration.
    pub(super) fn record_bindings(&self, iteration: &mut ThreadIteration, pat: &[Param]) {
        for param in pat {
            if let Ok(var) = self.var(param.name) {
                iteration.vars.push((param.name, var));
            }
        }
    }
}

/// The iterations of a thread, with their index variables.
pub(super) fn register_tile(extents: &[TileExtent]) -> Vec<ThreadIteration> {
    let mut iterations = vec![ThreadIteration { numbers: Vec::new(), vars: Vec::new() }];
    for extent in extents {
        let mut more = Vec::with_capacity(iterations.len() * extent.iterations.len());
        for iteration in &iterations {
            for (number, &(_, var)) in extent.iterations.iter().enumerate() {
                let (mut numbers, mut vars) = (iteration.numbers.clone(), iteration.vars.clone());
                numbers.push(number);
                vars.push((extent.index, var));
                more.push(ThreadIteration { numbers, vars });
            }
        }
        iterations = more;
    }
    iterations
}
