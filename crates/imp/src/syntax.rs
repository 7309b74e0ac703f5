//! The data structures of the imperative IR.

pub use crate::device::{DeviceOp, Update};
pub use crate::tunable::{Tunable, TunableClass, TunableId};
pub use crate::vars::{MAX_LANES, MAX_NEAR, ROOT_LANES, VarInfo, VarType};
pub use ir::entry::{EntryType, EntryValue, Leaf, OpaqueTypes};
pub use ir::types::Space;
use prim::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, UnOp};
use std::sync::Arc;

/// A variable of a function, an index into [`Function::vars`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Var(pub u32);

impl Var {
    /// The index for side tables.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A scalar or vector expression, free of side effects and failure: division is
/// guarded by checks before it.
///
/// Operators on vectors work lane by lane; all their operands have as many
/// lanes, a `Select`'s condition too.
/// Lanes that are switched off may hold anything, 0 as a divisor too: whoever
/// writes code sees to it that no operator traps on them.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A constant.
    Const(Scalar),
    /// A scalar or vector variable.
    Var(Var),
    /// The value of a tuning parameter (`i64`).
    Tunable(TunableId),
    /// Whether the context wants to know of comparisons with tuning parameters.
    Logging,
    /// A unary operator at a type.
    Unary(UnOp, PrimType, Box<Expr>),
    /// A binary operator at a type.
    Binary(BinOp, PrimType, Box<Expr>, Box<Expr>),
    /// A comparison at an operand type.
    Compare(CmpOp, PrimType, Box<Expr>, Box<Expr>),
    /// A conversion from a type to a type.
    Convert(ConvOp, PrimType, PrimType, Box<Expr>),
    /// Condition, value when true, value when false; all evaluated.
    Select(PrimType, Box<Expr>, Box<Expr>, Box<Expr>),
    /// The square roots of [`ROOT_LANES`] doubles, of which the divider takes the
    /// first half and the multipliers the other one (see
    /// [`divider`](crate::divider)); the bits are those of the operator.
    SharedRoot(Box<Expr>),
    /// The quotients of vectors of singles, a multiple of [`ROOT_LANES`], without the divider;
    /// the bits are those of the operator.
    SharedQuotient(Box<Expr>, Box<Expr>),
    /// `a * b + c` with one rounding.
    Fma(PrimType, Box<Expr>, Box<Expr>, Box<Expr>),
    /// A library function of the runtime.
    Math(MathFun, PrimType, Vec<Expr>),
    /// The vector of so many lanes that all hold a scalar's value.
    Splat(u32, Box<Expr>),
    /// The vector 0, 1, 2, ... of an integer type and so many lanes.
    Lanes(PrimType, u32),
    /// Whether any lane of a mask is set.
    Any(Box<Expr>),
    /// Whether all lanes of a mask are set.
    All(Box<Expr>),
    /// Number of the first lane that is set in a mask (`i64`), the number of
    /// lanes if there is none.
    FirstLane(Box<Expr>),
    /// How many lanes are set in a mask (`i64`).
    Count(Box<Expr>),
    /// A vector's values in the lanes that a mask sets, in their order from the
    /// first lane on; 0 in the lanes that are left.
    Pack(Box<Expr>, Box<Expr>),
    /// A vector's value in a lane (`i64`, within bounds).
    Extract(Box<Expr>, Box<Expr>),
    /// A vector with the lane (`i64`, within bounds) set to a scalar.
    Insert(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A vector whose values moved up by so many lanes; the first lanes get a
    /// scalar.
    Shift(Box<Expr>, u32, Box<Expr>),
}

impl Expr {
    /// The `i64` constant.
    pub const fn i64(x: i64) -> Self {
        Self::Const(Scalar::I64(x))
    }
}

/// Where an element lies: `offset + sum(index_k * stride_k)` elements from the
/// buffer's start, all `i64`.
#[derive(Clone, PartialEq, Debug)]
pub struct Access {
    /// The buffer.
    pub buffer: Var,
    /// Type of the elements.
    pub elem: PrimType,
    /// Position of the element with all indices 0.
    pub offset: Expr,
    /// Index and stride of each dimension.
    pub dims: Vec<(Expr, Expr)>,
}

/// Where the elements of all lanes lie.
#[derive(Clone, PartialEq, Debug)]
pub struct LaneAccess {
    /// The buffer.
    pub buffer: Var,
    /// Type of the elements.
    pub elem: PrimType,
    /// Number of lanes.
    pub lanes: u32,
    /// Positions, in elements from the buffer's start.
    pub at: LanePositions,
    /// What lanes do that a mask switches off.
    pub off: Off,
}

impl LaneAccess {
    /// Whether the lanes lie one after another, forwards or backwards: then they
    /// are one access, with a mask or without.
    pub fn is_row(&self) -> bool {
        match &self.at {
            LanePositions::Unit(_) | LanePositions::Near(_, -1) => true,
            LanePositions::Near(..) | LanePositions::Strided(..) | LanePositions::Each(_) => false,
        }
    }
}

/// What lanes do that the mask of an access switches off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Off {
    /// They touch no memory: the instruction leaves them out.
    Skip,
    /// They read or write a place that nobody looks at, for processors whose
    /// instructions that leave out lanes are slow, or for which there are none. Not
    /// where lanes lie one after another.
    Elsewhere,
}

/// Positions of the elements of all lanes, and with that how an access goes about
/// it. [`lanes`](crate::lanes) chooses.
#[derive(Clone, PartialEq, Debug)]
pub enum LanePositions {
    /// One after another from a position on (`i64`): one access.
    Unit(Expr),
    /// From a position on (`i64`), so many elements apart: from 2 to [`MAX_NEAR`],
    /// or from -1 down to -[`MAX_NEAR`]. A few accesses to as many elements as there
    /// are lanes cover all of them, read nothing outside of the span between the
    /// first and the last, and are sorted by shuffles. Stores and accesses with a
    /// mask leave no gaps: they go backwards (-1).
    Near(Expr, i64),
    /// From a position on, so many elements apart (both `i64`): each lane is an
    /// access of its own. Not with a mask.
    Strided(Expr, Expr),
    /// Each lane's own (a vector of `i64`): gathered or scattered.
    Each(Expr),
}

/// An array in a buffer: an index function without indices.
#[derive(Clone, PartialEq, Debug)]
pub struct Region {
    /// The buffer.
    pub buffer: Var,
    /// Position of the first element, in elements.
    pub offset: Expr,
    /// Stride of each dimension, in elements.
    pub strides: Vec<Expr>,
}

/// In which order a copy visits its elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Plan {
    /// At most one dimension, contiguous on both sides: it moves as memory.
    Memory,
    /// A square with so many elements a side (a power of two up to 16), all
    /// constant: contiguous rows of the source become rows of vectors, which are
    /// transposed in registers and stored as contiguous lines of the target.
    Registers(u32),
    /// One dimension, element by element.
    Each,
    /// By the strides that it has when it runs, looking at two innermost
    /// dimensions at a time. They become one if one walk covers both. A row that
    /// is contiguous on both sides moves as memory, others element by element,
    /// and outer dimensions are walked in order. With tiles, of three dimensions
    /// and more one that is contiguous on a side where the innermost is not comes
    /// next to that; and where one of two is contiguous in the target and the
    /// other one in the source, they are walked in tiles. In the end such copies
    /// are calls of functions that say so ([`copies`](crate::copies)).
    Strides(Option<Tile>),
}

/// A square piece of two dimensions that goes through a small array, so that each
/// cache line of either side is used at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tile {
    /// Elements of a side.
    pub side: u32,
    /// Distance of the lines of the array, in elements.
    pub pitch: u32,
}

/// The longest side of a tile, and the largest pitch.
pub const MAX_TILE: u32 = 64;

/// How the iterations of a loop run.
#[derive(Clone, PartialEq, Debug)]
pub enum How {
    /// One after another.
    Seq {
        /// Whether no iteration reads what another writes, and writes of
        /// different iterations do not meet: they may run in any order, unless
        /// they hand something on in variables.
        independent: bool,
    },
    /// One after another; the statements of the body stand in the order in which
    /// the processor should see them. The pass [`pipeline`](crate::pipeline)
    /// makes such loops.
    Scheduled,
    /// As tasks over the workers of the context. Iterations share no scalar
    /// variables (what the body sets is local to the iteration) and write
    /// disjoint memory.
    Tasks(Launch),
    /// In the lanes of vectors of this width; iterations as for `Tasks`. The
    /// pass [`lanes`](crate::lanes) makes vector code of such loops.
    Lanes(u32),
    /// A kernel: each iteration is a block of threads of a device ([`device`](crate::device)
    /// says what stands in it). Nothing is owned, and there are no pieces.
    Grid(Launch),
    /// The threads of a block of a kernel, which has the variables.
    Block(Vec<Var>),
}

impl How {
    /// What identifies the loop, if it is one of tasks or a kernel.
    pub const fn launch(&self) -> Option<&Launch> {
        match self {
            Self::Tasks(launch) | Self::Grid(launch) => Some(launch),
            Self::Seq { .. } | Self::Scheduled | Self::Lanes(_) | Self::Block(_) => None,
        }
    }

    /// As [`Self::launch`], to change it.
    pub const fn launch_mut(&mut self) -> Option<&mut Launch> {
        match self {
            Self::Tasks(launch) | Self::Grid(launch) => Some(launch),
            Self::Seq { .. } | Self::Scheduled | Self::Lanes(_) | Self::Block(_) => None,
        }
    }

    /// Whether it is a kernel, or the threads of one.
    pub const fn is_kernel(&self) -> bool {
        matches!(self, Self::Grid(_) | Self::Block(_))
    }
}

/// What identifies a parallel loop in profiles and logs, and what the scheduler knows.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// Counted within the function that the loop is from: with the name unique within
    /// the program, and stable under edits of other functions.
    pub id: u32,
    /// For people: function and operation.
    pub name: Arc<str>,
    /// Source places, innermost first, one a line; where several operations became
    /// one, the last consumer's first, with an empty line between two.
    pub provenance: Arc<str>,
    /// Estimated cost of the whole loop in nanoseconds (`i64`); negative if it is that at
    /// least and may be much more.
    pub cost: Expr,
    /// What an iteration is, if it is not one value of the counter.
    pub pieces: Option<Box<Pieces>>,
    /// Buffer variables that belong to one iteration.
    pub owned: Vec<Var>,
    /// Variables set in the body that belong to one iteration.
    pub locals: Vec<Var>,
    /// What the body takes from around it (see [`captures`](crate::captures)).
    pub captures: Vec<Var>,
    /// Buffers whose block no other buffer variable in the body denotes.
    pub distinct: Vec<Var>,
    /// Buffers in which iterations may write the same place, where a scatter has
    /// several values for it: any of them stays. Nothing else may be written twice, and
    /// what the body reads under other names lies elsewhere.
    pub scattered: Vec<Var>,
    /// Arrays in the scratchpad of a kernel's blocks whose sizes are known when it is
    /// launched.
    pub pads: Vec<Pad>,
}

/// An array in the scratchpad of a kernel's blocks.
#[derive(Clone, PartialEq, Debug)]
pub struct Pad {
    /// The variable, which belongs to a block.
    pub buffer: Var,
    /// How many bytes it has (`i64`), which the host computes; the launch fails if they are
    /// negative or not all fit.
    pub bytes: Expr,
}

/// A loop's range `0 .. n` as pieces that lie side by side, one for each task:
/// piece `k` begins at `k * n / count` (rounded down) and ends where the next one
/// begins. The counter is its first value.
///
/// Loops whose result does not depend on how they fall apart have this form: they
/// fill arrays, or each place of an array belongs to a piece. Each task reads the range's
/// bound and `count` again, so these name nothing that belongs to the loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Pieces {
    /// How many there are (`i64`, at least 1); none where the range has no value.
    pub count: Expr,
    /// The value behind the last of a piece, a variable that only the loop sets.
    pub end: Var,
    /// Whether a task does much that does not depend on how long its piece is: as many tasks
    /// as there are workers then take several pieces each, as if these were one.
    pub few: bool,
}

/// A counting loop.
#[derive(Clone, PartialEq, Debug)]
pub struct For {
    /// How it runs.
    pub how: How,
    /// The counter, an integer variable that only the loop sets.
    pub var: Var,
    /// First value.
    pub from: Expr,
    /// Bound, exclusive, signed.
    pub to: Expr,
    /// One iteration.
    pub body: Vec<Stmt>,
}

impl For {
    /// The pieces that the loop's tasks take, if they do.
    pub fn pieces(&self) -> Option<&Pieces> {
        self.how.launch()?.pieces.as_deref()
    }

    /// The variables that the loop sets before each iteration: the counter and
    /// the end of a piece.
    pub fn counters(&self) -> impl Iterator<Item = Var> + '_ {
        std::iter::once(self.var).chain(self.pieces().map(|pieces| pieces.end))
    }
}

/// An argument of a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// A scalar or vector.
    Scalar(Expr),
    /// A buffer, borrowed.
    Buffer(Var),
}

/// What is done with blocks of slots: each slot holds a reference to a block, or
/// nothing. The references go with the block of slots. Its bytes are nobody's business.
#[derive(Clone, PartialEq, Debug)]
pub enum Slots {
    /// An owned variable gets a new block of a number (`i64`) of empty slots; fails as
    /// [`Stmt::Alloc`] does.
    New(Var, Expr, Option<CheckId>),
    /// An empty slot gets the reference of an owned variable, which is null then.
    Keep {
        /// The slots.
        slots: Var,
        /// Which slot (`i64`).
        at: Expr,
        /// The variable.
        block: Var,
    },
    /// A borrowed variable denotes what a slot holds, which is not empty.
    Kept {
        /// The variable.
        var: Var,
        /// The slots.
        slots: Var,
        /// Which slot (`i64`).
        at: Expr,
    },
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// A scalar or vector variable gets a value.
    Set(Var, Expr),
    /// A scalar variable gets an element.
    Load(Var, Access),
    /// An element gets a value.
    Store(Access, Expr),
    /// A vector variable gets each lane's element; where a mask is given and
    /// not set, 0, and memory is not touched.
    LoadLanes {
        /// The variable.
        var: Var,
        /// From where.
        from: LaneAccess,
        /// Lanes that load; all, if absent.
        mask: Option<Expr>,
    },
    /// Each lane's element gets its value, in the order of the lanes; where a
    /// mask is given and not set, memory is not touched.
    StoreLanes {
        /// To where.
        to: LaneAccess,
        /// A vector.
        value: Expr,
        /// Lanes that store; all, if absent.
        mask: Option<Expr>,
    },
    /// An owned variable gets a new block of a number of bytes; fails if there
    /// is no memory or the number is negative. The check, where there is one,
    /// says at which place of the program.
    Alloc(Var, Expr, Option<CheckId>),
    /// A buffer of constant size in the frame: a variable that is not owned,
    /// for small arrays of one iteration. Of a thread of a kernel it is private, of a
    /// block it lies in the scratchpad.
    Frame {
        /// The variable.
        buffer: Var,
        /// Element type.
        elem: PrimType,
        /// Number of elements.
        count: u64,
    },
    /// An owned variable gets a further reference to what another denotes.
    Share(Var, Var),
    /// A borrowed variable denotes what another does.
    Borrow(Var, Var),
    /// An owned variable gives its reference back.
    Release(Var),
    /// Blocks in slots of another one.
    Slots(Slots),
    /// Elements are copied; the two regions do not overlap.
    Copy {
        /// To.
        to: Region,
        /// From.
        from: Region,
        /// Element type.
        elem: PrimType,
        /// Extents, outermost first.
        extents: Vec<Expr>,
        /// In which order. [`Stmt::copy`] makes it.
        plan: Plan,
    },
    /// A borrowed variable denotes constant data.
    ConstData(Var, DataId),
    /// A conditional.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// While a `bool` variable is true, tested before each iteration.
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
        /// Whose location is that of the call, for backtraces of a callee that
        /// may use up the stack.
        place: Option<CheckId>,
    },
    /// Fails unless the condition holds.
    Check {
        /// A `bool`.
        cond: Expr,
        /// What is said.
        check: CheckId,
        /// The values of the message.
        values: Vec<Expr>,
    },
    /// The context takes note that a size (`i64`) is compared with a tuning
    /// parameter, or that so many points are divided by one. Nothing else depends on it.
    Compared(TunableId, Expr),
    /// A variable (scalar, or borrowed buffer) gets a global's value.
    ReadGlobal(Var, GlobalId),
    /// A global gets the value of a variable, for buffers with a new reference; only in the initialiser.
    WriteGlobal(GlobalId, Var),
    /// What threads of a device do beside what all code does.
    Device(DeviceOp),
}

/// An index into [`Program::functions`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FunId(pub u32);

/// An index into [`Program::checks`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CheckId(pub u32);

/// An index into [`Program::data`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DataId(pub u32);

/// An index into [`Program::globals`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct GlobalId(pub u32);

/// Where the back end puts a function's code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// In one place; calls may be inlined.
    Once,
    /// In its callers: all calls are inlined.
    Inline,
    /// In one place, and no call is inlined: it is a piece of a function that is
    /// too large.
    Apart,
    /// In each module that calls it; calls may be inlined.
    Each,
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Unique name.
    pub name: Arc<str>,
    /// Parameters; buffers are borrowed.
    pub params: Vec<Var>,
    /// Result variables: what they hold at the end is returned; buffers are owned.
    pub results: Vec<Var>,
    /// Owned buffer variables (outside task loops), results included.
    pub owned: Vec<Var>,
    /// All variables.
    pub vars: Vec<VarInfo>,
    /// The body.
    pub body: Vec<Stmt>,
    /// Where its code goes.
    pub code: Code,
    /// Whether it can call itself, directly or not: then it checks the stack on entry.
    pub recursive: bool,
}

/// What a failing check says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Check {
    /// Text with a placeholder `{i64}`, `{f32}`, ... (source types) for each
    /// value; `{{` and `}}` stand for braces.
    pub format: Arc<str>,
    /// Source positions, innermost first, one a line.
    pub location: Arc<str>,
}

/// Constant data.
#[derive(Clone, PartialEq, Debug)]
pub struct Data {
    /// Element type, for alignment and printing.
    pub elem: PrimType,
    /// Little-endian bytes.
    pub bytes: Arc<[u8]>,
}

/// An entry point. Its function's parameters and results are, in order, the
/// words of the entry's values: scalars (narrower ones as their own type), and
/// for an array first the buffer, then the sizes as `i64`. Buffers are the host's, of
/// programs for a device all that device's.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The name that users see.
    pub name: Arc<str>,
    /// The function.
    pub fun: FunId,
    /// Parameters.
    pub params: Vec<EntryValue>,
    /// Results.
    pub results: Vec<EntryValue>,
}

/// A program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// Name of the main source file.
    pub source_name: Arc<str>,
    /// Functions.
    pub functions: Vec<Function>,
    /// The types of entry points that are neither scalars nor arrays of these.
    pub opaques: OpaqueTypes,
    /// Entry points.
    pub entries: Vec<Entry>,
    /// Checks.
    pub checks: Vec<Check>,
    /// Constant data.
    pub data: Vec<Data>,
    /// Types of the globals; a buffer global owns a reference.
    pub globals: Vec<VarType>,
    /// Tuning parameters, in the order of the functions that they are from.
    pub tunables: Vec<Tunable>,
    /// Fills the globals when a context is made; takes and gives nothing.
    pub init: Option<FunId>,
}
