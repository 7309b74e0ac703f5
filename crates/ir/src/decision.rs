//! Decisions: what passes did and left, and why, as data.
//!
//! Whoever looks at a program's fate (`dev`, tests, an account for users) gets
//! these; their words are written here and nowhere else. A decision is recorded
//! where it is made, in the context of the function that it is about, so that they
//! come in the order of the functions whoever worked on those.

use crate::name::SrcLoc;
use std::fmt;
use std::sync::Arc;

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
        /// A result of the one.
        producer: Arc<str>,
        /// A result of the other.
        consumer: Arc<str>,
    },
    /// A combinator's result is computed again in one that reads it, rather than stored.
    Again {
        /// The result.
        producer: Arc<str>,
        /// A result of the other.
        consumer: Arc<str>,
    },
    /// Two combinators that read the same are computed together.
    Together {
        /// A result of the one.
        first: Arc<str>,
        /// A result of the other.
        second: Arc<str>,
    },
    /// A combinator did not go into one that reads its results.
    Apart {
        /// A result of the one.
        producer: Arc<str>,
        /// A result of the other.
        consumer: Arc<str>,
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
    /// It is copied.
    Copied,
    /// It holds elements of several sizes.
    Sizes,
    /// It is given to a function.
    Given,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.function, self.kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fused { producer, consumer } => write!(f, "{producer} goes into {consumer}"),
            Self::Again { producer, consumer } => {
                write!(f, "{producer} is computed again in {consumer}")
            }
            Self::Together { first, second } => {
                write!(f, "{first} and {second} are computed together")
            }
            Self::Apart {
                producer,
                consumer,
                why,
            } => write!(f, "{producer} does not go into {consumer}: {why}"),
            Self::Inlined(callee) => write!(f, "a call of {callee} is replaced by its body"),
            Self::Called(callee, why) => write!(f, "a call of {callee} stays: {why}"),
            Self::Lanes {
                counter,
                lanes,
                gain,
            } => write!(f, "loop over {counter} in {lanes} lanes: {gain}"),
            Self::NoLanes { counter, why } => {
                write!(f, "loop over {counter} without lanes: {why}")
            }
        }
    }
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOtherwise => "not every element is read by its own iteration alone",
            Self::Overwritten => "what it reads is overwritten before",
            Self::Between => "something else needs the one and is needed by the other",
            Self::Attributes => "one would lose an attribute that the other does not have",
            Self::Widths => "their widths are different",
            Self::Reduced => "its result is there after all iterations only",
            Self::ScanAndReduction => "scans and reductions would come together",
            Self::Accumulators => "it passes accumulators on",
            Self::Histogram => "a histogram takes maps only, all of whose results it reads",
            Self::ArraysAfterScan => "what follows a scan would keep arrays",
            Self::Fuel => "there is no fuel left",
        })
    }
}

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "it is recursive, computed once, or asked to stay",
            Self::Large => "it is too large",
            Self::Fuel => "there is no fuel left",
        })
    }
}

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cycles, without {}", self.vector, self.scalar)
    }
}

impl fmt::Display for NoLanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWorth(cycles) => write!(f, "not worth it: {cycles}"),
            Self::Plain => f.write_str("plain: LLVM makes vectors of it"),
            Self::Around(counter) => {
                write!(f, "the loop over {counter} around it runs in lanes")
            }
            Self::Nested => f.write_str("it stands in many independent loops"),
            Self::Counter => f.write_str("its counter is no i64"),
            Self::Already => f.write_str("it runs in lanes already"),
            Self::Shared(var) => write!(f, "iterations share the variable {var}"),
            Self::Carried(var) => write!(f, "an iteration reads {var} of the one before"),
            Self::Private { bytes, lanes } => write!(
                f,
                "its private arrays take {bytes} bytes in each of {lanes} lanes"
            ),
            Self::PrivateUse(what) => f.write_str(match what {
                PrivateUse::Names => "a private array has several names",
                PrivateUse::Copied => "private arrays are copied",
                PrivateUse::Sizes => "a private array holds elements of several sizes",
                PrivateUse::Given => "it gives a private array to a function",
            }),
            Self::Tasks => f.write_str("it holds a loop of tasks"),
            Self::CounterOutside => f.write_str("a counter is used outside of its loop"),
            Self::Call => f.write_str("it calls a function that gives an array"),
            Self::Allocates => f.write_str("it allocates memory"),
            Self::Globals => f.write_str("it writes globals"),
            Self::Buffers => f.write_str("lanes would use different buffers"),
            Self::Entangled => f.write_str("its variables are too entangled"),
            Self::Fuel => f.write_str("there is no fuel left"),
        }
    }
}
