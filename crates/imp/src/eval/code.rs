//! Flat code: registers and instructions.
//!
//! A register holds the bits of a scalar, zero-extended, one lane of a vector, or a pointer to a
//! block. Types are resolved when code is compiled: no instruction looks at the type of a value
//! again.

use crate::{DataId, GlobalId, TunableId, Var};
use prim::{BinOp, ConvOp, MathFun, PrimType};

/// A register's index in the frame of its unit.
pub(super) type Reg = u32;

/// The state of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// No value. A lane has none where an element was not written or a division is by zero: this
    /// may occur in inactive lanes, and nothing may depend on their values.
    Unset,
    /// A scalar, the value of a lane, or a buffer's [`Pointer`](super::memory::Pointer).
    Set,
    /// The value read at this position of a block that was not written there. It may be stored
    /// elsewhere, as copies of whole arrays do; nothing may depend on it.
    Unwritten,
    /// An owned buffer variable without a block.
    Null,
}

/// The contents of a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) word: u64,
    pub(super) state: State,
}

impl Slot {
    /// A register without a value.
    pub(super) const UNSET: Self = Self { word: 0, state: State::Unset };
    /// An owned buffer variable without a block.
    pub(super) const NULL: Self = Self { word: 0, state: State::Null };

    /// A register with a value.
    #[inline]
    pub(super) const fn set(word: u64) -> Self {
        Self { word, state: State::Set }
    }

    /// A lane's register.
    #[inline]
    pub(super) const fn lane(word: Option<u64>) -> Self {
        match word {
            Some(word) => Self::set(word),
            None => Self::UNSET,
        }
    }

    /// A lane's value.
    #[inline]
    pub(super) const fn value(self) -> Option<u64> {
        match self.state {
            State::Set => Some(self.word),
            State::Unset | State::Unwritten | State::Null => None,
        }
    }
}

/// A unary operator at a type.
pub(super) type Unary = fn(u64) -> u64;
/// A binary operator or comparison at a type; `None` for a division by zero.
pub(super) type Binary = fn(u64, u64) -> Option<u64>;

/// An instruction. `d` is the destination; other registers are operands and have values, unless the
/// instruction says otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Takes this number of statements from the budget.
    Step(u32),
    /// A thread begins a statement that accesses memory of others: another thread may run before.
    Yield,
    /// Fails with the message of this index.
    Fail(u32),
    /// Fails unless the variable has a value.
    Require {
        a: Reg,
        var: Var,
    },
    /// As `Require`, but an unwritten element is permitted.
    RequireSet {
        a: Reg,
        var: Var,
    },
    /// Copies a value.
    Move {
        d: Reg,
        a: Reg,
    },
    /// Copies registers, whatever they hold.
    Copy {
        d: Reg,
        a: Reg,
        count: u32,
    },

    Add {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Sub {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Mul {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    /// `a * b + c`.
    MulAdd {
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    Less {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    LessEqual {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Equal {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    AddF32 {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    MulF32 {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    AddF64 {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    MulF64 {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    And {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Or {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    SignExtend32 {
        d: Reg,
        a: Reg,
    },
    Unary {
        f: Unary,
        d: Reg,
        a: Reg,
    },
    Binary {
        op: BinOp,
        f: Binary,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Compare {
        f: Binary,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Convert {
        op: ConvOp,
        from: PrimType,
        to: PrimType,
        d: Reg,
        a: Reg,
    },
    Select {
        d: Reg,
        c: Reg,
        a: Reg,
        b: Reg,
    },
    Fma {
        ty: PrimType,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    /// `b` is ignored by functions of one argument.
    Math {
        fun: MathFun,
        ty: PrimType,
        d: Reg,
        a: Reg,
        b: Reg,
    },

    Load {
        elem: PrimType,
        d: Reg,
        buffer: Reg,
        at: Reg,
    },
    Store {
        elem: PrimType,
        buffer: Reg,
        at: Reg,
        a: Reg,
    },
    /// Stores a variable, or unsets the element if it holds an unwritten one.
    StoreVar {
        elem: PrimType,
        buffer: Reg,
        at: Reg,
        a: Reg,
    },
    LoadLanes(u32),
    StoreLanes(u32),
    /// Jumps if one of the extents, from the index on, is not positive.
    SkipEmpty {
        first: u32,
        count: u32,
        to: u32,
    },

    /// An instruction on vectors, by its index.
    Lanes(u32),
    /// An instruction that takes much longer than its dispatch, by its index.
    Large(u32),

    Jump(u32),
    JumpIf {
        a: Reg,
        to: u32,
    },
    JumpUnless {
        a: Reg,
        to: u32,
    },
    /// Begins a sequential loop of `i64`: the counter is set to `next`, or the loop is skipped.
    Enter {
        var: Reg,
        next: Reg,
        end: Reg,
        exit: u32,
    },
    /// Begins the next iteration of a sequential loop, if there is one.
    Next {
        var: Reg,
        next: Reg,
        end: Reg,
        body: u32,
    },
    /// Wraps a counter to the type of its variable.
    Wrap {
        ty: PrimType,
        d: Reg,
        a: Reg,
    },
    /// Begins a loop whose iterations may run in any order.
    Begin {
        at: u32,
    },
    /// The next iteration of the innermost of these loops, or its end.
    Iterate {
        at: u32,
        exit: u32,
    },
    /// Ends the iteration of a task.
    EndTask {
        at: u32,
    },
    Return,

    Barrier,
    SubgroupBarrier,
    /// Jumps back and ends the execution where there is no signal yet.
    Await {
        elem: PrimType,
        d: Reg,
        buffer: Reg,
        at: Reg,
        retry: u32,
    },
}

/// An instruction on vectors, see [`Op`].
#[derive(Clone, Copy, Debug)]
pub(super) enum LaneOp {
    Any {
        d: Reg,
        a: Reg,
        lanes: u32,
    },
    All {
        d: Reg,
        a: Reg,
        lanes: u32,
    },
    FirstLane {
        d: Reg,
        a: Reg,
        lanes: u32,
    },
    Count {
        d: Reg,
        a: Reg,
        lanes: u32,
    },
    Extract {
        d: Reg,
        a: Reg,
        lane: Reg,
        lanes: u32,
    },
    Splat {
        d: Reg,
        a: Reg,
        lanes: u32,
    },
    Insert {
        d: Reg,
        a: Reg,
        lane: Reg,
        b: Reg,
        lanes: u32,
    },
    Pack {
        d: Reg,
        a: Reg,
        mask: Reg,
        lanes: u32,
    },
    Shift {
        d: Reg,
        a: Reg,
        by: u32,
        b: Reg,
        lanes: u32,
    },
    Unary {
        f: Unary,
        d: Reg,
        a: Reg,
        lanes: u32,
    },
    Binary {
        f: Binary,
        d: Reg,
        a: Reg,
        b: Reg,
        lanes: u32,
    },
    /// The operator on truth values, of which one operand may determine the result whatever the
    /// other is: `true` for or, `false` for and.
    Logic {
        deciding: bool,
        d: Reg,
        a: Reg,
        b: Reg,
        lanes: u32,
    },
    Convert {
        op: ConvOp,
        from: PrimType,
        to: PrimType,
        d: Reg,
        a: Reg,
        lanes: u32,
    },
    Select {
        d: Reg,
        c: Reg,
        a: Reg,
        b: Reg,
        lanes: u32,
    },
    Fma {
        ty: PrimType,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
        lanes: u32,
    },
    Math {
        fun: MathFun,
        ty: PrimType,
        d: Reg,
        a: Reg,
        b: Reg,
        lanes: u32,
    },
}

/// An instruction that takes much longer than its dispatch, see [`Op`].
#[derive(Clone, Copy, Debug)]
pub(super) enum LargeOp {
    Alloc {
        d: Reg,
        bytes: Reg,
        var: Var,
    },
    /// A block of the frame.
    Frame {
        d: Reg,
        bytes: i64,
        var: Var,
    },
    NewSlots {
        d: Reg,
        count: Reg,
        var: Var,
    },
    PutSlot {
        slots: Reg,
        at: Reg,
        block: Reg,
    },
    GetSlot {
        d: Reg,
        slots: Reg,
        at: Reg,
    },
    Share {
        d: Reg,
        a: Reg,
    },
    Release {
        a: Reg,
    },
    CopyElements(u32),
    ConstData {
        d: Reg,
        data: DataId,
    },
    ReadGlobal {
        d: Reg,
        global: GlobalId,
    },
    WriteGlobal {
        global: GlobalId,
        a: Reg,
    },
    Kernel(u32),
    Call(u32),
    Check(u32),
    RecordComparison {
        tunable: TunableId,
        size: Reg,
    },
    Atomic(u32),
}

const _: () = assert!(size_of::<Op>() <= 24, "instructions are small");
