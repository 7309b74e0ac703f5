//! Decisions: what passes did and left, and why, as data.
//!
//! Whoever looks at a program's fate (`dev`, tests, the account of `explain`) gets
//! these; their words are written in [`words`] and nowhere else. A decision is
//! recorded where it is made, in the context of the function that it is about, so that
//! they come in the order of the functions whoever worked on those.
//!
//! Those about fusion, inlining and lanes are always recorded. The others are, where
//! an account is asked for ([`Options::account`](crate::Options::account)): nobody
//! else pays for them.

mod words;

use crate::folds::Folds;
use crate::name::SrcLoc;
use crate::seg::{Decomp, SegKind, SegOp};
use crate::soac::Soac;
use crate::syntax::{Level, MsgPart};
use crate::tunable::Rule;
use std::sync::Arc;
pub use words::Names;

/// What was decided about an operation, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The function.
    pub function: Arc<str>,
    /// Where the operation comes from, innermost first; empty if that is not known.
    pub places: Vec<SrcLoc>,
    /// What was decided.
    pub kind: Kind,
}

/// What was decided about which kind of operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A combinator went into one that reads its results.
    Fused {
        /// The one.
        producer: Party,
        /// The other.
        consumer: Party,
    },
    /// A combinator's result is computed again in one that reads it, rather than stored.
    Again {
        /// The one.
        producer: Party,
        /// The other.
        consumer: Party,
    },
    /// Two combinators that read the same are computed together.
    Together {
        /// The one.
        first: Party,
        /// The other.
        second: Party,
    },
    /// A loop of maps, with this result, became a map of loops.
    TurnedInside(Arc<str>),
    /// A combinator did not go into one that reads its results.
    Apart {
        /// The one.
        producer: Party,
        /// The other.
        consumer: Party,
        /// Why not.
        why: Apart,
    },
    /// A call was replaced by the function's body.
    Inlined(Arc<str>),
    /// A call stays.
    Called(Arc<str>, Called),
    /// A loop runs in lanes of vectors.
    Lanes {
        /// Its counter.
        counter: Arc<str>,
        /// How many.
        lanes: u32,
        /// What that promises.
        gain: Cycles,
    },
    /// An independent loop does not run in lanes.
    NoLanes {
        /// Its counter.
        counter: Arc<str>,
        /// Why not.
        why: NoLanes,
    },
    /// A loop of the imperative IR comes from here.
    Counted {
        /// Its counter.
        counter: Arc<str>,
    },
    /// A function of the source is evaluated where it is called.
    InPlace(Arc<str>),
    /// A function of the source becomes one of the program for these arguments.
    Instance {
        /// What the source calls it.
        of: Arc<str>,
        /// What the program calls it.
        instance: Arc<str>,
        /// Whether it takes functions, which are those of the call from now on.
        takes_functions: bool,
    },
    /// A call goes to a function that was made for another call.
    SharedInstance(Arc<str>),
    /// The function is a version of another for a position that this is called from.
    Version {
        /// What the program calls the other one.
        of: Arc<str>,
    },
    /// A combinator runs so.
    Runs {
        /// What it is.
        what: Operation,
        /// How it runs.
        how: Runs,
        /// Where each of those comes from that became one.
        parts: Vec<Vec<SrcLoc>>,
    },
    /// Of two versions that a size chooses between, the one for large sizes is gone.
    VersionGone {
        /// Which rule made the choice.
        rule: Rule,
        /// Why.
        why: Pruned,
    },
    /// An operation of a program for a device runs on the host.
    OnHost {
        /// What it is.
        what: Operation,
        /// Why it is no kernel.
        why: Arc<str>,
    },
    /// There are no versions of a nest, as it stands in those of others already.
    NoVersions {
        /// How many choices may stand inside one another.
        most: u32,
    },
    /// What is computed has left the loop around it.
    Hoisted,
    /// A combinator whose results nothing needs is gone.
    Unneeded(Operation),
    /// A check is gone.
    CheckGone {
        /// What it is about.
        check: Check,
        /// Why.
        why: Gone,
    },
    /// A check has left a loop.
    CheckMoved(Check),
    /// A check stays.
    CheckLeft {
        /// What it is about.
        check: Check,
        /// What it stands in.
        inside: Around,
    },
    /// An array is copied.
    Copied {
        /// Its name.
        array: Arc<str>,
        /// Why.
        why: Copied,
    },
}

/// An operation that takes part in a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Party {
    /// Its first result.
    pub name: Arc<str>,
    /// What it is.
    pub what: Operation,
    /// Where it comes from, innermost first.
    pub places: Vec<SrcLoc>,
}

/// What an operation is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    /// A map.
    Map,
    /// A reduction, which may map too.
    Reduce,
    /// A scan, which may map too.
    Scan,
    /// Scans and reductions.
    ScanAndReduce,
    /// A histogram.
    Histogram,
    /// A map whose results vary in size.
    FlatMap,
    /// Updates of arrays by accumulators.
    Updates,
    /// Anything else.
    Other,
}

impl Operation {
    /// What a combinator is.
    pub fn of(soac: &Soac) -> Self {
        match soac {
            Soac::Screma(screma) => Self::of_folds(&screma.folds),
            Soac::Hist { .. } => Self::Histogram,
            Soac::WithAcc { .. } => Self::Updates,
            Soac::FlatMap { .. } => Self::FlatMap,
            Soac::Stream { .. } | Soac::Jvp { .. } | Soac::Vjp { .. } => Self::Other,
        }
    }

    /// What a segmented operation is.
    pub fn of_segop<L: Level>(op: &SegOp<L>) -> Self {
        match op {
            SegOp::Seg(seg) => match &seg.kind {
                SegKind::Folds(folds) => Self::of_folds(folds),
                SegKind::Hist(_) => Self::Histogram,
                SegKind::FlatMap => Self::FlatMap,
            },
            SegOp::WithAcc { .. } => Self::Updates,
        }
    }

    /// What does these.
    pub fn of_folds<L: Level>(folds: &Folds<L>) -> Self {
        match (folds.scans.is_empty(), folds.reduces.is_empty()) {
            (true, true) => Self::Map,
            (true, false) => Self::Reduce,
            (false, true) => Self::Scan,
            (false, false) => Self::ScanAndReduce,
        }
    }
}

/// How a combinator runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Runs {
    /// As tasks over all workers.
    Tasks {
        /// How it falls apart.
        decomp: Decomp,
        /// Whether there is a second version with loops inside, for other sizes.
        versions: bool,
    },
    /// As kernels of a device.
    Kernels {
        /// Whether it stands in a point that is a block's, whose threads share it.
        in_block: bool,
        /// Whether there is a second version for other sizes.
        versions: bool,
    },
    /// Inside a parallel loop: the lanes of one worker share it.
    Shared {
        /// Whether that is so for large sizes only.
        guarded: bool,
        /// The parallel loop.
        around: Vec<SrcLoc>,
    },
    /// As a sequential loop.
    Loop(Sequential),
}

/// Why a combinator is a sequential loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sequential {
    /// It stands in this parallel loop (one of the callers', if there is no place).
    Inside(Vec<SrcLoc>),
    /// An attribute asks for it.
    Asked,
    /// Its operator works on arrays, and what is parallel is in there.
    ArrayOperator,
}

/// Why a version is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pruned {
    /// The other one is the same.
    Same,
    /// It has too few points for its level.
    FewPoints,
    /// The other one has all of its parallelism in one operation, too.
    NothingApart,
    /// There is little at the level below.
    LittleInside,
    /// Each operation in it is one chunk.
    OneChunk,
    /// Something in it cannot be a kernel of a device.
    NoKernel,
}

/// What a check is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Check {
    /// An index or a slice is in bounds.
    Index,
    /// Sizes agree, and are not negative.
    Sizes,
    /// A range is one.
    Range,
    /// The divisor is not zero.
    Division,
    /// The exponent is not negative.
    Exponent,
    /// What the program asserts.
    Assertion,
    /// Anything else.
    Other,
}

impl Check {
    /// What the check with this message is about.
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

/// Why a check is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Gone {
    /// It cannot fail.
    Holds,
    /// Another one checks the same.
    Same,
}

/// What an operation stands in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Around {
    /// No loop of this function.
    Nothing,
    /// A sequential loop from here, in no parallel one.
    Loop(Vec<SrcLoc>),
    /// A parallel loop from here (one of the callers', if there is no place).
    Parallel(Vec<SrcLoc>),
}

/// Why an array is copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Copied {
    /// It is, or may be a part of, a parameter that the function does not consume.
    Parameter(Arc<str>),
    /// It, or what it may be a part of, is used here later.
    UsedLater {
        /// What is used.
        array: Arc<str>,
        /// Where.
        places: Vec<SrcLoc>,
    },
    /// What it may be a part of comes from around the loop or function that it is in.
    Around(Arc<str>),
    /// A function's result lies in a block of its own, row by row.
    Result,
    /// A function's argument lies in a block from its start, row by row.
    Argument,
    /// A branch's or loop's result lies where that of the others does.
    Joined,
    /// A part of a result is brought to its place in there.
    Part,
    /// A loop's next value would overwrite what the other values are made from.
    Exchanged,
    /// Its new shape cannot be seen in the order that it lies in.
    Reshaped,
    /// Nothing was found that keeps it.
    Asked,
}

/// Why two combinators stay apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Apart {
    /// The consumer, or what runs before it, reads other elements than its own.
    ReadOtherwise,
    /// What the producer reads is written before the consumer runs.
    Overwritten,
    /// Something else needs the one and is needed by the other.
    Between,
    /// They run over different widths.
    Widths,
    /// What is read is there only after all iterations.
    Reduced,
    /// Both scans and reductions would come together.
    ScanAndReduction,
    /// The producer passes accumulators on.
    Accumulators,
    /// A histogram takes maps only, all of whose results it reads.
    Histogram,
    /// One of them is a histogram of arrays, which runs sequentially.
    ArrayOperator,
    /// One would lose an attribute that the other does not have.
    Attributes,
    /// What follows a scan would keep arrays.
    ArraysAfterScan,
    /// There is no fuel left.
    Fuel,
}

/// Why a call stays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Called {
    /// The function calls itself, or is computed once, or is asked to stay.
    Never,
    /// The function is too large for a program of this size.
    Large,
    /// There is no fuel left.
    Fuel,
}

/// Cycles of a loop by an estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cycles {
    /// In lanes.
    pub vector: u64,
    /// Without.
    pub scalar: u64,
}

/// Why an independent loop does not run in lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoLanes {
    /// It would not be faster by enough.
    NotWorth(Cycles),
    /// LLVM makes vectors of it.
    Plain,
    /// It is a reduction of integers, which LLVM vectorises where instructions permit.
    Reduction,
    /// One around it does.
    Around(Arc<str>),
    /// It stands in so many independent loops that it is not looked at.
    Nested,
    /// Its counter has another type.
    Counter,
    /// It, or a part of it, does already.
    Already,
    /// Iterations share a variable.
    Shared(Arc<str>),
    /// An iteration reads a variable of the one before.
    Carried(Arc<str>),
    /// Its private arrays take too many bytes in each lane.
    Private {
        /// Bytes in a lane.
        bytes: u64,
        /// Number of lanes.
        lanes: u32,
    },
    /// A private array has several names, copies, or elements of several sizes, or
    /// is given to a function.
    PrivateUse(PrivateUse),
    /// It holds tasks.
    Tasks,
    /// A counter is used outside of its loop.
    CounterOutside,
    /// It calls a function that gives an array.
    Call,
    /// It allocates memory.
    Allocates,
    /// It writes globals.
    Globals,
    /// Lanes would use different buffers.
    Buffers,
    /// Its variables depend on each other in too many ways.
    Entangled,
    /// There is no fuel left.
    Fuel,
}

/// What keeps a private array from lying interleaved by lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrivateUse {
    /// It has several names.
    Names,
    /// It holds elements of several sizes.
    Sizes,
    /// It is given to a function.
    Given,
}
