//! Decisions of the passes and their reasons, as data: the optimisation remarks.
//!
//! `dev`, tests and `explain` read them; their text is in [`text`] only. A decision is recorded
//! where it is made, in the context of the function that it concerns, so the order of decisions is
//! that of the functions, on any number of threads.
//!
//! Decisions about fusion, inlining and vectorisation are always recorded; the others only if
//! remarks are requested ([`Options::remarks`](crate::Options::remarks)), so that other
//! compilations do not pay for them.

mod precedence;
mod text;

use crate::kernels::Refusal;
use crate::name::SrcLoc;
use crate::scan_reduce::ScanReduce;
use crate::seg::{Decomp, SegKind, SegOp};
use crate::soac::Soac;
use crate::syntax::{Level, MsgPart};
use crate::tunable::Rule;
pub use precedence::{HOISTED, REMOVED, Subject};
use std::sync::Arc;
pub use text::RemarkNames;

/// A decision about an operation, and its reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// The function that contains the operation.
    pub function: Arc<str>,
    /// Source spans of the operation, innermost first; empty if unknown.
    pub spans: Vec<SrcLoc>,
    /// The decision.
    pub kind: RemarkKind,
}

/// The kinds of decisions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RemarkKind {
    /// A combinator was fused into a consumer of its results.
    Fused {
        /// The combinator that was fused.
        producer: FusionOperand,
        /// The combinator into which it was fused.
        consumer: FusionOperand,
    },
    /// A combinator's result is recomputed in a consumer instead of being stored
    /// (rematerialisation).
    Recomputed {
        /// The recomputed combinator.
        producer: FusionOperand,
        /// The combinator that recomputes it.
        consumer: FusionOperand,
    },
    /// Two combinators with common inputs were fused horizontally.
    FusedHorizontally {
        /// One of them.
        first: FusionOperand,
        /// The other.
        second: FusionOperand,
    },
    /// A loop of maps, with this result, was interchanged into a map of loops.
    LoopInterchanged(Arc<str>),
    /// Iterations of a loop were composed: the matrices between them are not stored.
    Composed {
        /// The loop's first result.
        result: Arc<str>,
        /// The number of iterations that run at once.
        iterations: u32,
    },
    /// A combinator was not fused into a consumer of its results.
    NotFused {
        /// The producer.
        producer: FusionOperand,
        /// The consumer.
        consumer: FusionOperand,
        /// The reason.
        why: NotFusedReason,
    },
    /// A call of this function was inlined.
    Inlined(Arc<str>),
    /// A call of this function was not inlined.
    NotInlined(Arc<str>, NotInlinedReason),
    /// A loop was vectorised (runs in vector lanes).
    Vectorised {
        /// The loop's counter.
        counter: Arc<str>,
        /// Number of lanes.
        lanes: u32,
        /// Estimated cycles with and without lanes.
        gain: Cycles,
    },
    /// A nest of independent loops around a fold is tiled, where sizes are large enough.
    Tiled {
        /// The outermost loop's counter.
        counter: Arc<str>,
        /// Rows of a register tile.
        rows: u32,
        /// Columns of a register tile: lanes.
        columns: u32,
    },
    /// An independent loop was not vectorised.
    NotVectorised {
        /// The loop's counter.
        counter: Arc<str>,
        /// The reason.
        why: NotVectorisedReason,
    },
    /// The operation became a loop of the imperative IR.
    Loop {
        /// The loop's counter.
        counter: Arc<str>,
    },
    /// A function of the source is evaluated at its call (by specialising evaluation).
    EvaluatedAtCall(Arc<str>),
    /// A function of the source was specialised for the arguments of a call.
    Specialised {
        /// Its name in the source.
        of: Arc<str>,
        /// Its name in the program.
        instance: Arc<str>,
        /// True if it takes functions, which are now fixed to those of the call.
        takes_functions: bool,
    },
    /// A call uses a specialised function that was made for another call.
    SpecialisationReused(Arc<str>),
    /// The function is a version of another one for the position of this call.
    Version {
        /// The other function's name in the program.
        of: Arc<str>,
    },
    /// The execution of a combinator.
    Executes {
        /// The combinator.
        what: OperationKind,
        /// The form of execution.
        how: Execution,
        /// Source spans of each of the combinators that were fused into it.
        parts: Vec<Vec<SrcLoc>>,
    },
    /// One of two versions between which a size comparison chooses was removed.
    VersionPruned {
        /// The rule that made the removed version.
        rule: Rule,
        /// The reason.
        why: Pruned,
    },
    /// An operation of a device program runs on the host.
    OnHost {
        /// The operation.
        what: OperationKind,
        /// The reason for which it cannot be a kernel.
        why: Refusal,
    },
    /// A nest has no versions of its own, as it is already nested in the choices of other nests.
    ChoicesTooDeep {
        /// Maximum number of nested choices.
        most: u32,
    },
    /// The outcome for a part of a function in its derivative.
    Derivative(DerivativeStep),
    /// A loop-invariant computation was hoisted out of the loop around it.
    Hoisted,
    /// Elements that a combinator reads far apart are copied next to each other first.
    Packed,
    /// A combinator without used results was removed.
    DeadRemoved(OperationKind),
    /// A check was removed.
    CheckRemoved {
        /// The kind of check.
        check: Check,
        /// The reason.
        why: CheckRemovedReason,
    },
    /// A check was moved out of a loop.
    CheckHoisted(Check),
    /// A check remains.
    CheckRemains {
        /// The kind of check.
        check: Check,
        /// The loop around the check.
        inside: EnclosingLoop,
    },
    /// The work of a parallel nest.
    NestWork(NestWork),
    /// An array is copied.
    Copied {
        /// The array's name.
        array: Arc<str>,
        /// The reason.
        why: CopyReason,
    },
}

/// The outcome for a part of a function in its derivative.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DerivativeStep {
    /// The values that a loop's variable takes are saved.
    SavesValues {
        /// The variable.
        variable: Arc<str>,
        /// The type of the tape.
        tape: Arc<str>,
    },
    /// The elements of a loop's array that its iterations read are saved.
    SavesReads {
        /// The array.
        variable: Arc<str>,
        /// The type of the tape.
        tape: Arc<str>,
    },
    /// Only some states of a loop are saved if all need more than a number of bytes.
    Segments(u64),
    /// A `while` loop runs once more, to count its iterations.
    CountsIterations,
    /// Inner loops and combinators run again; their results are not saved.
    RunsAgain,
    /// All contributions to an array are reductions.
    Sums(Arc<str>),
    /// Contributions to an array are updates of an accumulator.
    Accumulates(Arc<str>),
    /// The updates of an accumulator became a map of sums.
    Gathers,
    /// The updates of an accumulator with another operator than a sum are saved.
    RecordsUpdates,
    /// The part that is the same in all iterations of a map is computed once.
    Shares,
    /// Cheap elements are computed again by their readers.
    Recomputes,
}

/// The work of one execution of a parallel nest, as polynomials over sizes by their names; `0` for none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NestWork {
    /// Operations on floats of up to 32 bits.
    pub single: Arc<str>,
    /// Operations on floats of 64 bits.
    pub double: Arc<str>,
    /// Operations on integers of up to 32 bits.
    pub integer: Arc<str>,
    /// Bytes that are read from memory.
    pub read: Arc<str>,
    /// Bytes that are written to memory.
    pub written: Arc<str>,
    /// True if there may be more operations: loops of an unknown number of iterations count as one iteration.
    pub more: bool,
    /// True if there may be less operations: the more expensive arm of a branch counts.
    pub less: bool,
    /// The resource that bounds the nest's time from below; `None` if that depends on data.
    pub bound: Option<Bound>,
}

/// The resource that bounds the time of a nest from below (the roofline model), for a machine of the usual balance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// Arithmetic.
    Arithmetic,
    /// The bandwidth of the memory.
    Memory,
    /// Arithmetic where sizes are large, else the memory.
    Sizes,
}

/// An operation that is fused, or that a fusion was tried with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FusionOperand {
    /// Name of its first result.
    pub name: Arc<str>,
    /// Its kind.
    pub what: OperationKind,
    /// Its source spans, innermost first.
    pub spans: Vec<SrcLoc>,
}

/// The kinds of operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OperationKind {
    /// A map.
    Map,
    /// A reduction, possibly with a map (`redomap`).
    Reduce,
    /// A scan, possibly with a map (`scanomap`).
    Scan,
    /// Scans and reductions.
    ScanAndReduce,
    /// A histogram.
    Histogram,
    /// A map whose results vary in size.
    FlatMap,
    /// In-place updates of arrays through accumulators (`withacc`).
    WithAcc,
    /// Anything else.
    Other,
}

impl OperationKind {
    /// The kind of a combinator.
    pub fn of(soac: &Soac) -> Self {
        match soac {
            Soac::Screma(screma) => Self::of_scan_reduce(&screma.scan_reduce),
            Soac::Hist { .. } => Self::Histogram,
            Soac::WithAcc { .. } => Self::WithAcc,
            Soac::FlatMap { .. } => Self::FlatMap,
            Soac::Stream { .. } | crate::derivative_op!() => Self::Other,
        }
    }

    /// The kind of a segmented operation.
    pub fn of_segop<L: Level>(op: &SegOp<L>) -> Self {
        match op {
            SegOp::Seg(seg) => match &seg.kind {
                SegKind::ScanReduce(scan_reduce) => Self::of_scan_reduce(scan_reduce),
                SegKind::Hist(_) => Self::Histogram,
                SegKind::FlatMap => Self::FlatMap,
            },
            SegOp::WithAcc { .. } => Self::WithAcc,
        }
    }

    /// The kind of an operation with these scans and reductions.
    pub fn of_scan_reduce<L: Level>(scan_reduce: &ScanReduce<L>) -> Self {
        match (scan_reduce.scans.is_empty(), scan_reduce.reduces.is_empty()) {
            (true, true) => Self::Map,
            (true, false) => Self::Reduce,
            (false, true) => Self::Scan,
            (false, false) => Self::ScanAndReduce,
        }
    }
}

/// Execution of a combinator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Execution {
    /// As tasks over all workers.
    Tasks {
        /// Its partition into chunks.
        decomp: Decomp,
        /// True if a second version with sequential loops inside exists for other sizes.
        versions: bool,
    },
    /// As device kernels.
    Kernels {
        /// True if it is inside of an iteration that is executed by a thread block.
        in_block: bool,
        /// True if a second version exists for other sizes.
        versions: bool,
    },
    /// Inside of a parallel loop, on the vector lanes of one worker.
    InnerLanes {
        /// True if it does so for large sizes only.
        guarded: bool,
        /// Source spans of the parallel loop.
        around: Vec<SrcLoc>,
    },
    /// As a sequential loop.
    Loop(Sequential),
}

/// The reason for which a combinator is a sequential loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sequential {
    /// It is nested in a parallel loop with these source spans (empty: a loop in a caller).
    Inside(Vec<SrcLoc>),
    /// It has an attribute that requires it.
    Attribute,
    /// Its operator works on arrays; the parallelism is in the operator.
    ArrayOperator,
}

/// The reason for which a version was removed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pruned {
    /// Both versions are equal.
    Same,
    /// It has fewer iterations than its level has parallelism.
    FewIterations,
    /// The other version, too, has all of its parallelism in one operation.
    SingleOperation,
    /// It has little parallelism at the level below.
    LittleInnerParallelism,
    /// Each operation in it is a single chunk.
    OneChunk,
    /// An operation in it cannot be a device kernel.
    NotOffloadable,
}

/// The kinds of checks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Check {
    /// An index or a slice is in bounds.
    Index,
    /// Sizes are equal, or not negative.
    Sizes,
    /// A range is well formed.
    Range,
    /// The divisor is not zero.
    Division,
    /// The exponent is not negative.
    Exponent,
    /// An assertion of the program.
    Assertion,
    /// Anything else.
    Other,
}

impl Check {
    /// The kind of the check with this message.
    pub fn of(message: &[MsgPart]) -> Self {
        let Some(MsgPart::Text(text)) = message.first() else {
            return Self::Other;
        };
        let kinds = [
            ("Index [", Self::Index),
            ("Range ", Self::Range),
            ("division by zero", Self::Division),
            ("negative exponent", Self::Exponent),
            ("Assertion is false", Self::Assertion),
            ("Cannot unflatten", Self::Sizes),
            ("Negative size", Self::Sizes),
        ];
        let found = kinds.iter().find(|(start, _)| text.starts_with(start));
        match found {
            Some((_, kind)) => *kind,
            None if text.contains("of shape") => Self::Sizes,
            None => Self::Other,
        }
    }
}

/// The reason for which a check was removed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CheckRemovedReason {
    /// It cannot fail.
    Holds,
    /// It is implied by another check.
    Same,
}

/// The loop around an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EnclosingLoop {
    /// None in this function.
    Nothing,
    /// A sequential loop with these source spans, in no parallel loop.
    Loop(Vec<SrcLoc>),
    /// A parallel loop with these source spans (empty: a loop in a caller).
    Parallel(Vec<SrcLoc>),
}

/// The reason for which an array is copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CopyReason {
    /// It is, or may alias, this parameter, which the function does not consume.
    Parameter(Arc<str>),
    /// It, or an array that it may alias, is used later.
    UsedLater {
        /// The array that is used.
        array: Arc<str>,
        /// Source spans of the use.
        spans: Vec<SrcLoc>,
    },
    /// It may alias this array from outside of the surrounding loop or function.
    FromOutside(Arc<str>),
    /// A function's result is returned row-major in a block of its own.
    Result,
    /// A function's argument is passed row-major, from the start of a block.
    Argument,
    /// A result of a branch or a loop must be in the memory location that the branches or
    /// iterations share.
    ControlFlowMerge,
    /// It is copied into the part of a larger result that it forms.
    PartOfResult,
    /// A loop's next value would overwrite an array from which another next value is made.
    LoopValuesOverlap,
    /// No index function expresses its new shape.
    Reshaped,
    /// No reason was found: the source requests it (`copy`).
    Requested,
}

/// The reason for which two combinators were not fused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NotFusedReason {
    /// The consumer, or an operation before it, reads elements of other iterations.
    ReadsOtherElements,
    /// An input of the producer is overwritten before the consumer runs.
    Overwritten,
    /// Another operation depends on one of them, and the other depends on it.
    DependencyPath,
    /// Their widths differ.
    Widths,
    /// The consumer reads a reduction's result, which is complete only after all iterations.
    ReadsReduction,
    /// A scan and a reduction, or two scans with post lambdas, would have to be combined.
    ScanAndReduction,
    /// The producer updates accumulators, and its updates cannot be fused into the consumer.
    Accumulators,
    /// A histogram is fused with maps only, and only if it reads all of their results.
    Histogram,
    /// One of them is a histogram of arrays, which runs sequentially.
    ArrayOperator,
    /// Fusion would apply an attribute of one of them to the other.
    Attributes,
    /// Arrays, and not just scalars, would be computed after a scan.
    ArraysAfterScan,
    /// A nest of sums would update accumulators, which prevents tiling.
    NestOfSums,
    /// The fuel is used up.
    Fuel,
}

/// The reason for which a call was not inlined.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NotInlinedReason {
    /// The function is recursive, a constant, or has the attribute `noinline`.
    NotInlinable,
    /// The function is too large for the program's budget.
    Large,
    /// The fuel is used up.
    Fuel,
}

/// Estimated cycles of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cycles {
    /// With vector lanes.
    pub vector: u64,
    /// Without.
    pub scalar: u64,
}

/// The reason for which an independent loop was not vectorised by the compiler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotVectorisedReason {
    /// The estimated speed-up is too small.
    NotProfitable(Cycles),
    /// LLVM vectorises it.
    LlvmVectorises,
    /// It is an integer reduction, which LLVM vectorises if the instruction set permits.
    LlvmVectorisesReduction,
    /// A loop around it, with this counter, is vectorised.
    OuterVectorised(Arc<str>),
    /// It is nested in too many independent loops to be considered.
    NestedTooDeep,
    /// Its counter is not an `i64`.
    Counter,
    /// It, or a part of it, already runs in lanes.
    Already,
    /// This variable is shared by iterations.
    Shared(Arc<str>),
    /// This variable is carried from one iteration to the next.
    Carried(Arc<str>),
    /// Its private arrays need too many bytes per lane.
    Private {
        /// Bytes per lane.
        bytes: u64,
        /// Number of lanes.
        lanes: u32,
    },
    /// A private array cannot be interleaved by lane.
    PrivateUse(PrivateUse),
    /// It contains a loop of tasks.
    Tasks,
    /// A counter is used outside of its loop.
    CounterOutside,
    /// It calls a function that returns an array.
    Call,
    /// It allocates memory.
    Allocates,
    /// It writes global variables.
    Globals,
    /// Lanes would use different buffers.
    Buffers,
    /// The dependences between its variables are too complex.
    DependencesTooComplex,
    /// The fuel is used up.
    Fuel,
}

/// The reason for which a private array cannot be interleaved by lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrivateUse {
    /// Several variables refer to it.
    Aliased,
    /// It contains elements of several sizes.
    Sizes,
    /// It is passed to a function.
    PassedToCall,
}
