//! The data structures of the imperative IR.

pub use crate::device::{AtomicUpdate, DeviceOp};
pub use crate::expr::Expr;
pub use crate::tunable::{Tunable, TunableClass, TunableId};
pub use crate::vars::{MAX_LANES, MAX_SMALL_STRIDE, ROOT_LANES, VarInfo, VarType};
pub use ir::name::FunId;
use prim::PrimType;
use std::sync::Arc;
pub use target::memories::MemoryId;
pub use value::interface::{EntryType, EntryValue, Interface, OpaqueTypes, Signature};

prim::dense_ids! {
    /// A variable of a function, an index into [`Function::vars`].
    pub struct Var;
}

/// The location of an element: `offset + sum(index_k * stride_k)` elements from the buffer's start,
/// all `i64`.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct Access {
    /// The buffer.
    pub buffer: Var,
    /// The element type.
    pub elem: PrimType,
    /// The position of the element with all indices 0.
    pub offset: Expr,
    /// Index and stride of each dimension.
    pub dims: Vec<(Expr, Expr)>,
}

/// The locations of the elements of all lanes.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct LaneAccess {
    /// The buffer.
    pub buffer: Var,
    /// The element type.
    pub elem: PrimType,
    /// The number of lanes.
    pub lanes: u32,
    /// Positions, in elements from the buffer's start.
    pub at: LanePositions,
    /// The behaviour of masked-off lanes.
    pub masked_off: MaskedOff,
}

impl LaneAccess {
    /// Returns true if the lanes are contiguous, forwards or backwards: they are one access, masked
    /// or not.
    pub fn is_contiguous(&self) -> bool {
        match &self.at {
            LanePositions::Unit(_) | LanePositions::SmallStride(_, -1) => true,
            LanePositions::SmallStride(..) | LanePositions::Strided(..) | LanePositions::Gather(_) => false,
        }
    }
}

/// The behaviour of lanes that the mask of an access switches off.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MaskedOff {
    /// They touch no memory: the instruction is masked.
    Skip,
    /// They read or write a dummy location, for processors without masked instructions or where
    /// these are slow. Not for contiguous lanes.
    Dummy,
}

/// The positions of the elements of all lanes, which determine the access instructions.
/// `impopt::lanes` chooses.
#[derive(Clone, PartialEq, Hash, Debug)]
pub enum LanePositions {
    /// Contiguous from a position on (`i64`): one access.
    Unit(Expr),
    /// From a position on (`i64`), at a constant distance: 2 to [`MAX_SMALL_STRIDE`] elements, or -1 down
    /// to -[`MAX_SMALL_STRIDE`]. A few vector accesses, each of as many elements as there are lanes, cover
    /// all of them, read nothing outside of the span between the first and the last, and are sorted
    /// by shuffles. Stores and masked accesses leave no gaps: their distance is -1.
    SmallStride(Expr, i64),
    /// From a position on, at a distance (both `i64`): one scalar access per lane. Never masked.
    Strided(Expr, Expr),
    /// A position per lane (a vector of `i64`): a gather or scatter.
    Gather(Expr),
}

/// An array in a buffer: an index function without indices.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct Region {
    /// The buffer.
    pub buffer: Var,
    /// The position of the first element, in elements.
    pub offset: Expr,
    /// The stride of each dimension, in elements.
    pub strides: Vec<Expr>,
}

/// The order in which a copy visits its elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CopyPlan {
    /// At most one dimension, contiguous on both sides: a `memcpy`.
    Memory,
    /// A square of the given side (a power of two up to 16), with constant extents and strides:
    /// contiguous rows of the source are loaded as vectors, transposed in registers and stored as
    /// contiguous rows of the destination.
    InRegister(u32),
    /// One dimension, element by element.
    Elements,
    /// Chosen by the strides at run time, considering two innermost dimensions at a time. They are
    /// merged if one loop covers both. A row that is contiguous on both sides is a `memcpy`, other
    /// rows are copied element by element, and outer dimensions are sequential loops. With tiles,
    /// of three or more dimensions one that is contiguous on a side where the innermost is not is
    /// moved next to the innermost; and where one of two dimensions is contiguous in the
    /// destination and the other one in the source, they are tiled. Such copies finally become
    /// calls of copy functions (`impopt::copies`).
    Dynamic(Option<Tile>),
}

/// A square tile of two dimensions, staged in a small array so that each cache line of either side
/// is used at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tile {
    /// The tile's extent in each dimension, in elements.
    pub extent: u32,
    /// The distance between rows of the array, in elements.
    pub pitch: u32,
}

/// The largest extent of a tile, and the largest pitch.
pub const MAX_TILE: u32 = 64;

/// The execution mode of a loop.
#[derive(Clone, PartialEq, Hash, Debug)]
pub enum LoopMode {
    /// Sequential.
    Seq {
        /// True if no iteration reads what another writes, and writes of different iterations do
        /// not overlap: apart from loop-carried variables, the iterations may run in any order.
        independent: bool,
    },
    /// Sequential; the statements of the body are in the order in which the processor should see
    /// them. Made by the pass `impopt::pipeline`.
    Scheduled,
    /// As tasks over the workers of the context. Iterations share no scalar variables (those set in
    /// the body are local to the iteration) and write disjoint memory.
    Tasks(Launch),
    /// In the lanes of vectors of this width; the iterations are as for `Tasks`. The pass
    /// `impopt::lanes` vectorises such loops.
    Lanes(u32),
    /// A kernel: each iteration is a thread block of a device ([`device`](crate::device) lists what
    /// its body may contain). It owns nothing and has no slices.
    Grid(Launch),
    /// The threads of a thread block, which owns the listed variables.
    Threads(Vec<Var>),
}

impl LoopMode {
    /// The launch of a task loop or a kernel.
    pub const fn launch(&self) -> Option<&Launch> {
        match self {
            Self::Tasks(launch) | Self::Grid(launch) => Some(launch),
            Self::Seq { .. } | Self::Scheduled | Self::Lanes(_) | Self::Threads(_) => None,
        }
    }

    /// As [`Self::launch`], mutable.
    pub const fn launch_mut(&mut self) -> Option<&mut Launch> {
        match self {
            Self::Tasks(launch) | Self::Grid(launch) => Some(launch),
            Self::Seq { .. } | Self::Scheduled | Self::Lanes(_) | Self::Threads(_) => None,
        }
    }

    /// Returns true if it is a kernel, or the thread loop of one.
    pub const fn is_kernel(&self) -> bool {
        matches!(self, Self::Grid(_) | Self::Threads(_))
    }
}

/// The identity of a parallel loop in profiles and logs, and the data for the scheduler.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct Launch {
    /// A number within the original function: unique within the program together with the name, and
    /// stable under edits of other functions.
    pub id: u32,
    /// The function and the operation, for display.
    pub name: Arc<str>,
    /// Source spans, innermost first, one a line; of fused operations, the last consumer's first,
    /// with an empty line between two.
    pub provenance: Arc<str>,
    /// The estimated cost of the whole loop in nanoseconds (`i64`); negative if its absolute value
    /// is only a lower bound and the cost may be much higher.
    pub cost: Expr,
    /// The slices, if an iteration is a slice of the range instead of one value of the counter.
    pub slices: Option<Box<Slices>>,
    /// Buffer variables that belong to one iteration.
    pub owned: Vec<Var>,
    /// Variables set in the body that belong to one iteration.
    pub locals: Vec<Var>,
    /// The variables that the body captures (see [`captures`](crate::captures)).
    pub captures: Vec<Var>,
    /// Buffers whose block no other buffer variable in the body denotes.
    pub distinct: Vec<Var>,
    /// Buffers in which iterations may write the same location, where a scatter has several values
    /// for it: any of them remains. Nothing else may be written twice, and what the body reads
    /// through other variables is disjoint from these.
    pub scattered: Vec<Var>,
    /// Arrays in the shared memory of a kernel's thread blocks whose sizes are known at the launch.
    pub shared_buffers: Vec<SharedBuffer>,
}

/// An array in the shared memory of a kernel's thread blocks.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct SharedBuffer {
    /// The variable, which is local to a thread block.
    pub buffer: Var,
    /// Its size in bytes (`i64`), which the host computes; the launch fails if a size is negative
    /// or the arrays do not all fit.
    pub bytes: Expr,
}

/// A partition of a loop's range `0 .. n` into consecutive slices, one for each task: slice `k`
/// begins at `k * n / count` (rounded down) and ends where the next one begins. The counter is its
/// first index.
///
/// Loops whose result does not depend on the partition have this form: they fill arrays, or each
/// element of an array belongs to one slice. Each task evaluates the range's bound and `count`
/// again, so these mention no variable that belongs to the loop.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct Slices {
    /// The number of slices (`i64`, at least 1); none run if the range is empty.
    pub count: Expr,
    /// The exclusive end of a slice, a variable that only the loop sets.
    pub end: Var,
    /// True if a task does much work that does not depend on the length of its slice: then a task
    /// takes several adjacent slices as one, and there are about as many tasks as workers.
    pub merge_adjacent: bool,
}

/// A counting loop.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct For {
    /// The execution mode.
    pub mode: LoopMode,
    /// The counter, an integer variable that only the loop sets.
    pub var: Var,
    /// First value.
    pub from: Expr,
    /// Bound, exclusive, signed.
    pub to: Expr,
    /// The statements of one iteration.
    pub body: Vec<Stmt>,
}

impl For {
    /// The slices that the loop's tasks take, if any.
    pub fn slices(&self) -> Option<&Slices> {
        self.mode.launch()?.slices.as_deref()
    }

    /// The variables that the loop sets before each iteration: the counter and the end of a slice.
    pub fn counters(&self) -> impl Iterator<Item = Var> + '_ {
        std::iter::once(self.var).chain(self.slices().map(|slices| slices.end))
    }
}

/// An argument of a call.
#[derive(Clone, PartialEq, Hash, Debug)]
pub enum Arg {
    /// A scalar or vector.
    Scalar(Expr),
    /// A buffer, borrowed.
    Buffer(Var),
}

/// Operations on blocks of slots: each slot holds a reference to a block, or nothing. The
/// references are released with the block of slots. Its bytes are not accessible.
#[derive(Clone, PartialEq, Hash, Debug)]
pub enum Slots {
    /// Sets an owned variable to a new block with a number (`i64`) of empty slots; fails as
    /// [`Stmt::Alloc`] does.
    New(Var, Expr, Option<CheckId>),
    /// Moves the reference of an owned variable, which becomes null, into an empty slot.
    Put {
        /// The slots.
        slots: Var,
        /// The slot's index (`i64`).
        at: Expr,
        /// The variable.
        block: Var,
    },
    /// Sets a borrowed variable to the block in a slot, which is not empty.
    Get {
        /// The variable.
        var: Var,
        /// The slots.
        slots: Var,
        /// The slot's index (`i64`).
        at: Expr,
    },
}

/// A statement.
#[derive(Clone, PartialEq, Hash, Debug)]
pub enum Stmt {
    /// Sets a scalar or vector variable to a value.
    Set(Var, Expr),
    /// Loads an element into a scalar variable.
    Load(Var, Access),
    /// Stores a value to an element.
    Store(Access, Expr),
    /// Loads each lane's element into a vector variable; lanes that the mask, if any, switches off
    /// get 0 and touch no memory.
    LoadLanes {
        /// The variable.
        var: Var,
        /// The source.
        from: LaneAccess,
        /// The active lanes; all if absent.
        mask: Option<Expr>,
    },
    /// Stores each lane's value to its element, in the order of the lanes; lanes that the mask, if
    /// any, switches off touch no memory.
    StoreLanes {
        /// The destination.
        to: LaneAccess,
        /// The vector.
        value: Expr,
        /// The active lanes; all if absent.
        mask: Option<Expr>,
    },
    /// Sets an owned variable to a new block of a number of bytes; fails if memory is exhausted or
    /// the number is negative. The check, if any, has the source span to report.
    Alloc(Var, Expr, Option<CheckId>),
    /// A buffer of constant size in the frame: a variable that is not owned, for small arrays of
    /// one iteration. In a thread of a kernel it is in private memory, in a thread block in shared
    /// memory.
    Frame {
        /// The variable.
        buffer: Var,
        /// The element type.
        elem: PrimType,
        /// The number of elements.
        count: u64,
    },
    /// Sets an owned variable to a new reference to another variable's block.
    Share(Var, Var),
    /// Sets a borrowed variable to another variable's block.
    Borrow(Var, Var),
    /// Releases the reference of an owned variable.
    Release(Var),
    /// An operation on slots.
    Slots(Slots),
    /// Elements are copied; the two regions do not overlap.
    Copy {
        /// The destination.
        to: Region,
        /// The source.
        from: Region,
        /// The element type.
        elem: PrimType,
        /// Extents, outermost first.
        extents: Vec<Expr>,
        /// The order of the elements; [`Stmt::copy`] chooses it.
        plan: CopyPlan,
    },
    /// Sets a borrowed variable to constant data.
    ConstData(Var, DataId),
    /// A conditional.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// A loop that runs while a `bool` variable is true, tested before each iteration.
    While(Var, Vec<Stmt>),
    /// A counting loop.
    For(For),
    /// A call; fails if the callee does.
    Call {
        /// The function.
        fun: FunId,
        /// Arguments.
        args: Vec<Arg>,
        /// Variables for the results; buffers are owned variables.
        results: Vec<Var>,
        /// The check whose location is that of the call, for backtraces of a callee that may
        /// exhaust the stack.
        location: Option<CheckId>,
    },
    /// Fails unless the condition holds.
    Check {
        /// The condition, a `bool`.
        cond: Expr,
        /// The message and its location.
        check: CheckId,
        /// The values of the message.
        values: Vec<Expr>,
    },
    /// Records in the context that a size (`i64`) is compared with a tuning parameter, or that an
    /// index space of that size is divided by one. It has no other effect.
    RecordComparison(TunableId, Expr),
    /// Begins a parallel nest in the context's profile, if it is not part of another one.
    BeginNest,
    /// Ends it, and adds its operations and bytes.
    EndNest {
        /// The check with the nest's name and location.
        nest: CheckId,
        /// The work ([`NEST_COUNTS`] values, `i64`).
        counts: Vec<Expr>,
    },
    /// Sets a variable (scalar, or borrowed buffer) to a global's value.
    ReadGlobal(Var, GlobalId),
    /// Sets a global to the value of a variable, for buffers with a new reference; only in the
    /// initialiser.
    WriteGlobal(GlobalId, Var),
    /// An operation that only threads of a device have.
    Device(DeviceOp),
}

/// The number of counts of a nest: operations on floats of up to 32 bits, on floats of 64 bits and on
/// integers; bytes read and written; the sum of 1 if there may be more operations, and 2 if there may be less.
pub const NEST_COUNTS: usize = 6;

prim::dense_ids! {
    /// An index into [`Program::checks`].
    pub struct CheckId;

    /// An index into [`Program::data`].
    pub struct DataId;

    /// An index into [`Program::globals`].
    pub struct GlobalId;
}

/// The placement of a function's code by the back end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodePlacement {
    /// In one module; calls may be inlined.
    OneModule,
    /// In its callers: all calls are inlined.
    Inline,
    /// In one module, and no call is inlined: it is outlined from a function that is too large.
    NoInline,
    /// In each module that calls it; calls may be inlined.
    EachModule,
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Unique name.
    pub name: Arc<str>,
    /// Parameters; buffers are borrowed.
    pub params: Vec<Var>,
    /// The result variables, whose values at the end are returned; buffers are owned.
    pub results: Vec<Var>,
    /// Owned buffer variables (outside task loops), results included.
    pub owned: Vec<Var>,
    /// Buffers whose block no other buffer variable of the function denotes.
    pub distinct: Vec<Var>,
    /// All variables.
    pub vars: Vec<VarInfo>,
    /// The body.
    pub body: Vec<Stmt>,
    /// The placement of its code.
    pub code: CodePlacement,
    /// True if it can call itself, directly or not: then it checks the stack on entry.
    pub recursive: bool,
}

/// The message of a failing check.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Check {
    /// The text with a placeholder `{i64}`, `{f32}`, ... (source types) for each value; `{{` and
    /// `}}` stand for braces.
    pub format: Arc<str>,
    /// Source spans, innermost first, one a line.
    pub location: Arc<str>,
}

/// Constant data.
#[derive(Clone, PartialEq, Debug)]
pub struct Data {
    /// The element type, for alignment and printing.
    pub elem: PrimType,
    /// The bytes, little-endian.
    pub bytes: Arc<[u8]>,
}

/// An entry point. Its function's parameters and results are, in order, the words of the entry's
/// values: scalars (narrower ones as their own type), and for an array first the buffer, then the
/// sizes as `i64`. Buffers are in host memory, in programs for a device all in device memory.
pub type Entry = ir::syntax::EntryPoint;

/// A program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// The name of the main source file.
    pub source_name: Arc<str>,
    /// Functions.
    pub functions: Vec<Function>,
    /// The types of entry points that are neither scalars nor arrays of scalars.
    pub opaques: OpaqueTypes,
    /// Entry points.
    pub entries: Vec<Entry>,
    /// Checks.
    pub checks: Vec<Check>,
    /// Constant data.
    pub data: Vec<Data>,
    /// The types of the globals; a buffer global owns a reference.
    pub globals: Vec<VarType>,
    /// Tuning parameters, in the order of their functions.
    pub tunables: Vec<Tunable>,
    /// The function that fills the globals when a context is created; it has no parameters and no
    /// results.
    pub init: Option<FunId>,
}
