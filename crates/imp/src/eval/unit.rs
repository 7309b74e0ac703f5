//! Units: the code of a function, or of a kernel with its thread blocks and threads, and the
//! operands of its larger instructions.
//!
//! Each variable of a unit has one register, a vector as many as it has lanes; constants and
//! temporaries have registers too.

use super::code::{Binary, LaneOp, LargeOp, Op, Reg, Slot};
use super::races::Label;
use crate::{CheckId, FunId, Function, MemoryId, Stmt, Var};
use prim::{BinOp, PrimType};

/// The registers of an access in lanes.
#[derive(Debug)]
pub(super) struct LaneAccess {
    pub(super) buffer: Reg,
    pub(super) elem: PrimType,
    pub(super) count: u32,
    pub(super) at: Positions,
    pub(super) mask: Option<Reg>,
    /// The vector that is loaded or stored.
    pub(super) vector: Reg,
}

/// The positions of an access in lanes.
#[derive(Debug)]
pub(super) enum Positions {
    /// From a position on, at a constant distance.
    Near(Reg, i64),
    /// From a position on, at a distance.
    Strided(Reg, Reg),
    /// A vector of positions.
    Gather(Reg),
}

/// One side of a copy.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) buffer: Reg,
    pub(super) offset: Reg,
    pub(super) strides: Vec<Reg>,
}

/// A copy of elements.
#[derive(Debug)]
pub(super) struct CopyInfo {
    pub(super) extents: Vec<Reg>,
    pub(super) to: Side,
    pub(super) from: Side,
    pub(super) elem: PrimType,
}

/// A call: the registers of arguments and results, each with the number of registers.
#[derive(Debug)]
pub(super) struct CallInfo {
    pub(super) fun: FunId,
    pub(super) args: Vec<(Reg, u32)>,
    pub(super) results: Vec<Part>,
}

/// The registers of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) var: Var,
    pub(super) reg: Reg,
    /// The number of registers.
    pub(super) count: u32,
    pub(super) is_buffer: bool,
    pub(super) is_vector: bool,
}

/// A check, with the registers and types of the values of its message.
#[derive(Debug)]
pub(super) struct CheckInfo {
    pub(super) check: CheckId,
    pub(super) values: Vec<(Reg, PrimType)>,
}

/// An atomic operation of a thread.
#[derive(Debug)]
pub(super) struct AtomicInfo {
    pub(super) elem: PrimType,
    pub(super) buffer: Reg,
    pub(super) at: Reg,
    pub(super) value: Reg,
    pub(super) kind: AtomicKind,
    pub(super) old: Option<Reg>,
}

/// The kind of an atomic operation.
#[derive(Debug)]
pub(super) enum AtomicKind {
    Update(BinOp, Binary),
    /// The expected value.
    CompareExchange(Reg),
    Signal,
}

/// A loop whose iterations may run in any order.
pub(super) struct LoopInfo {
    pub(super) label: Label,
    pub(super) ty: PrimType,
    pub(super) var: Reg,
    pub(super) from: Reg,
    pub(super) to: Reg,
    /// True if variables carry values from one iteration to the next: then they keep their order.
    pub(super) is_carried: bool,
    /// The number of slices of the range, and the variable for the end of a slice.
    pub(super) slices: Option<(Reg, Reg)>,
    pub(super) owned: Vec<Reg>,
    /// The variables that have no value when a task begins.
    pub(super) locals: Vec<(Reg, u32)>,
    pub(super) scattered: Vec<Reg>,
}

/// A kernel.
pub(super) struct KernelInfo<'p> {
    pub(super) unit: Unit<'p>,
    pub(super) label: Label,
    /// The registers that the kernel reads: of the host, of the kernel, and their number.
    pub(super) captures: Vec<(Reg, Reg, u32)>,
    pub(super) blocks: Reg,
    pub(super) size: Reg,
    /// The variable, the kernel's register, and the host's register with the size in bytes.
    pub(super) shared_buffers: Vec<(Var, Reg, Reg)>,
    /// The bytes of the other arrays in shared memory.
    pub(super) frame_bytes: u64,
    pub(super) scattered: Vec<Reg>,
    pub(super) block_var: Reg,
    pub(super) thread_var: Reg,
    /// The number of threads in a subgroup, if there are subgroup barriers; of several numbers, 0.
    pub(super) subgroup: Option<u32>,
    /// The first instruction of threads.
    pub(super) threads: u32,
}

/// The code of a function or a kernel.
pub(super) struct Unit<'p> {
    pub(super) function: &'p Function,
    pub(super) code: Vec<Op>,
    pub(super) lane_ops: Vec<LaneOp>,
    pub(super) large_ops: Vec<LargeOp>,
    /// The statement of each instruction, if any.
    pub(super) origin: Vec<u32>,
    pub(super) stmts: Vec<&'p Stmt>,
    /// The registers before the first instruction.
    pub(super) template: Vec<Slot>,
    pub(super) params: Vec<(Reg, u32)>,
    pub(super) results: Vec<Part>,
    /// The owned variables that are not results.
    pub(super) owned: Vec<Reg>,
    pub(super) failures: Vec<String>,
    pub(super) lanes: Vec<LaneAccess>,
    pub(super) copies: Vec<CopyInfo>,
    /// The registers of the extents of copies.
    pub(super) extents: Vec<Reg>,
    pub(super) calls: Vec<CallInfo>,
    pub(super) checks: Vec<CheckInfo>,
    pub(super) atomics: Vec<AtomicInfo>,
    pub(super) loops: Vec<LoopInfo>,
    pub(super) kernels: Vec<KernelInfo<'p>>,
}

impl Unit<'_> {
    /// The printed name of a variable.
    pub(super) fn label(&self, var: Var) -> Label {
        label(self.function, var)
    }

    /// The memory of a variable's blocks.
    pub(super) fn memory(&self, var: Var) -> MemoryId {
        let info = self.function.vars.get(var.index());
        info.and_then(|info| info.ty.memory()).unwrap_or(MemoryId::Host)
    }
}

/// The printed name of a variable.
pub(super) fn label(function: &Function, var: Var) -> Label {
    let info = function.vars.get(var.index());
    Label::Var(info.map_or_else(|| "".into(), |info| info.hint.clone()), var.0)
}
