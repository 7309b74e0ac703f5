//! Text of decisions: one line with the compiler's internal names ([`std::fmt::Display`]), and the
//! remark for users, shown at the source span of the operation ([`RemarkKind::text`]).

use super::{
    Check, CheckRemovedReason, CopyReason, Cycles, EnclosingLoop, Execution, FusionOperand, NotFusedReason,
    NotInlinedReason, NotVectorisedReason, OperationKind, PrivateUse, Pruned, Remark, RemarkKind, Sequential,
};
use crate::name::SrcLoc;
use crate::seg::Decomp;
use std::collections::BTreeSet;
use std::fmt;

/// Renders operations, source spans and variables in remarks.
pub trait RemarkNames {
    /// An operation at another source span.
    fn party(&self, party: &FusionOperand) -> String;
    /// A source span, to follow a preposition such as "in": `line 3`.
    fn place(&self, places: &[SrcLoc]) -> String;
    /// Several source spans: `line 3, line 4`; `None` if they render equally.
    fn lines(&self, parts: &[Vec<SrcLoc>]) -> Option<String> {
        let lines: BTreeSet<String> = parts.iter().map(|part| self.place(part)).collect();
        (lines.len() > 1).then(|| lines.into_iter().collect::<Vec<_>>().join(", "))
    }
    /// A variable, given its hint.
    fn variable(&self, name: &str) -> String;
    /// The loop with this counter.
    fn counter(&self, name: &str) -> String;
    /// A function.
    fn function(&self, name: &str) -> String;
}

/// The compiler's internal names.
struct InternalNames;

impl RemarkNames for InternalNames {
    fn party(&self, party: &FusionOperand) -> String {
        party.name.to_string()
    }

    fn place(&self, places: &[SrcLoc]) -> String {
        let line = places.last().map(|loc| format!("line {}", loc.line));
        line.unwrap_or_else(|| "a caller".to_owned())
    }

    fn variable(&self, name: &str) -> String {
        name.to_owned()
    }

    fn counter(&self, name: &str) -> String {
        format!("the loop over {name}")
    }

    fn function(&self, name: &str) -> String {
        name.to_owned()
    }
}

impl RemarkKind {
    /// The remark for users, with the operation as its implied subject.
    pub fn text(&self, names: &dyn RemarkNames) -> String {
        match self {
            Self::Fused { consumer, .. } => format!("goes into {}", names.party(consumer)),
            Self::Recomputed { consumer, .. } => {
                format!("is computed again in {}, not stored", names.party(consumer))
            }
            Self::FusedHorizontally { second, .. } => {
                format!("is computed together with {}", names.party(second))
            }
            Self::LoopInterchanged(_) => {
                "runs inside of its map: each element takes all turns at once".to_owned()
            }
            Self::NotFused { consumer, why, .. } => {
                format!("does not go into {}: {why}", names.party(consumer))
            }
            Self::Inlined(callee) => {
                format!("the call of {} is replaced by its body", names.function(callee))
            }
            Self::NotInlined(callee, why) => {
                format!("the call of {} stays: {why}", names.function(callee))
            }
            Self::Vectorised { lanes, gain, .. } => {
                format!("runs in {lanes} lanes: about {} cycles, not {}", gain.vector, gain.scalar)
            }
            Self::NotVectorised { why: NotVectorisedReason::LlvmVectorises, .. } => {
                "is left to LLVM, which makes vectors of it".to_owned()
            }
            Self::NotVectorised { why: NotVectorisedReason::LlvmVectorisesReduction, .. } => {
                "is left to LLVM, which vectorises this reduction of integers \
                  where the processor has the instructions"
                    .to_owned()
            }
            Self::NotVectorised { why, .. } => format!("runs without lanes: {}", why.text(names)),
            Self::Loop { .. } => "is a loop".to_owned(),
            Self::Version { of } => format!("is a version of {}", names.function(of)),
            Self::EvaluatedAtCall(function) => {
                format!("{} is evaluated in place", names.function(function))
            }
            Self::Specialised { of, instance: _, takes_functions } => {
                let what = if *takes_functions { "these types and functions" } else { "these types" };
                format!("{} becomes a function for {what}", names.function(of))
            }
            Self::SpecialisationReused(of) => {
                format!("the call of {} goes to a function that other calls go to", names.function(of))
            }
            Self::Executes { what, how, parts } => {
                let lines = names.lines(parts);
                let of = lines.map_or_else(String::new, |lines| format!(" ({lines} in one)"));
                format!("{what}{of} {}", how.text(names))
            }
            Self::Hoisted => "is computed before the loop around it".to_owned(),
            Self::DeadRemoved(what) => format!("{what} removed: nothing needs its results"),
            Self::VersionPruned { rule, why } => {
                format!("the version by {} cannot win: {why}", rule.name())
            }
            Self::OnHost { what, why } => {
                format!("{what} runs on the host: there are no {why} yet")
            }
            Self::ChoicesTooDeep { most } => {
                format!("has no versions of its own: there are {most} choices around it already")
            }
            Self::CheckRemoved { check, why } => format!("{check} removed: {why}"),
            Self::CheckHoisted(check) => format!("{check} moved out of the loop around it"),
            Self::CheckRemains { check, inside } => match inside {
                EnclosingLoop::Nothing => format!("{check} stays, outside of loops"),
                EnclosingLoop::Loop(places) => {
                    format!("{check} stays in the sequential loop of {}", names.place(places))
                }
                EnclosingLoop::Parallel(places) => {
                    format!("{check} stays in the parallel loop of {}", names.place(places))
                }
            },
            Self::Copied { array: _, why } => format!("makes a copy: {}", why.text(names)),
        }
    }

    /// The kind's identifier in machine-readable output (`--json`).
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fused { .. } => "fused",
            Self::Recomputed { .. } => "computed-again",
            Self::FusedHorizontally { .. } => "computed-together",
            Self::LoopInterchanged(_) => "turned-inside",
            Self::NotFused { .. } => "not-fused",
            Self::Inlined(_) => "inlined",
            Self::NotInlined(..) => "called",
            Self::Vectorised { .. } => "lanes",
            Self::NotVectorised { .. } => "no-lanes",
            Self::Loop { .. } => "loop",
            Self::Version { .. } => "version",
            Self::EvaluatedAtCall(_) => "in-place",
            Self::Specialised { .. } => "instance",
            Self::SpecialisationReused(_) => "shared-instance",
            Self::Executes { how, .. } => match how {
                Execution::Tasks { .. } => "tasks",
                Execution::Kernels { .. } => "kernels",
                Execution::InnerLanes { .. } => "shared-by-lanes",
                Execution::Loop(_) => "sequential",
            },
            Self::VersionPruned { .. } => "version-removed",
            Self::OnHost { .. } => "on-host",
            Self::ChoicesTooDeep { .. } => "no-versions",
            Self::Hoisted => "hoisted",
            Self::DeadRemoved(_) => "removed",
            Self::CheckRemoved { .. } => "check-removed",
            Self::CheckHoisted(_) => "check-moved",
            Self::CheckRemains { inside, .. } => match inside {
                EnclosingLoop::Nothing => "check-once",
                EnclosingLoop::Loop(_) => "check-in-loop",
                EnclosingLoop::Parallel(_) => "check-in-parallel-loop",
            },
            Self::Copied { .. } => "copied",
        }
    }
}

impl fmt::Display for Pruned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "another does the same",
            Self::FewIterations => "it has too few points",
            Self::SingleOperation => "the other has all parallelism in one operation, too",
            Self::LittleInnerParallelism => "there is little to share inside",
            Self::OneChunk => "each operation inside is one chunk",
            Self::NotOffloadable => "it cannot run on a device",
        })
    }
}

/// The addition to the remark on an operation with a second version.
const fn by_sizes(versions: bool) -> &'static str {
    if versions { "; in two versions, by the sizes inside" } else { "" }
}

impl Execution {
    fn text(&self, names: &dyn RemarkNames) -> String {
        match self {
            Self::Tasks { decomp, versions } => {
                let Decomp { grain_size: grain, max_chunks, updates_per_iteration: writes, .. } = decomp;
                let mut text = match (*grain, *max_chunks) {
                    (1, most) => format!("runs as tasks, {most} at most"),
                    (grain, most) => {
                        format!("runs as tasks of {grain} points or more, {most} at most")
                    }
                };
                if *writes > 0 {
                    text.push_str("; each updates a copy of its own of what is small");
                }
                text + by_sizes(*versions)
            }
            Self::Kernels { in_block, versions } => {
                let runs = if *in_block {
                    "is shared by the threads of a block of the device"
                } else {
                    "runs on the device"
                };
                runs.to_owned() + by_sizes(*versions)
            }
            Self::InnerLanes { guarded, around } => {
                let long = if *guarded { ", where it is long enough" } else { "" };
                let around = names.place(around);
                format!("is shared by the lanes of one worker in the parallel loop of {around}{long}")
            }
            Self::Loop(why) => match why {
                Sequential::Inside(around) => {
                    format!("runs sequentially: it is inside the parallel loop of {}", names.place(around))
                }
                Sequential::Attribute => "runs sequentially: an attribute asks for it".to_owned(),
                Sequential::ArrayOperator => {
                    "runs sequentially: its operator takes arrays and is parallel itself".to_owned()
                }
            },
        }
    }
}

impl CopyReason {
    fn text(&self, names: &dyn RemarkNames) -> String {
        match self {
            Self::Parameter(param) => {
                format!("parameter {} is not consumed, so the caller keeps it", names.variable(param))
            }
            Self::UsedLater { array, places } => format!(
                "{} is used later, {}",
                names.variable(array),
                if places.is_empty() {
                    "as a result".to_owned()
                } else {
                    format!("in {}", names.place(places))
                }
            ),
            Self::FromOutside(array) => {
                format!("{} comes from outside of the loop around it", names.variable(array))
            }
            Self::Result => "a function's result lies in memory of its own, row by row".to_owned(),
            Self::Argument => "a function takes arrays that lie row by row".to_owned(),
            Self::ControlFlowMerge => {
                "what a branch or an iteration gives has to lie where the others' does".to_owned()
            }
            Self::PartOfResult => "it is a part of a larger result, and made elsewhere".to_owned(),
            Self::LoopValuesOverlap => {
                "an iteration's results would overwrite what the others are made from".to_owned()
            }
            Self::Reshaped => "its elements do not lie in the order of the new shape".to_owned(),
            Self::Requested => "nothing was found that needs it; a `copy` in the source can go".to_owned(),
        }
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Map => "map",
            Self::Reduce => "reduction",
            Self::Scan => "scan",
            Self::ScanAndReduce => "scan and reduction",
            Self::Histogram => "histogram",
            Self::FlatMap => "flatmap",
            Self::WithAcc => "update",
            Self::Other => "operation",
        })
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Index => "bounds check",
            Self::Sizes => "check of sizes",
            Self::Range => "check of a range",
            Self::Division => "check of a divisor",
            Self::Exponent => "check of an exponent",
            Self::Assertion => "assertion",
            Self::Other => "check",
        })
    }
}

impl fmt::Display for CheckRemovedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "it cannot fail",
            Self::Same => "the same is checked elsewhere",
        })
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.function, self.kind)
    }
}

impl fmt::Display for RemarkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fused { producer, .. } | Self::NotFused { producer, .. } => {
                write!(f, "{} ", producer.name)?;
            }
            Self::Recomputed { producer, consumer } => {
                return write!(f, "{} is computed again in {}", producer.name, consumer.name);
            }
            Self::FusedHorizontally { first, second } => {
                return write!(f, "{} and {} are computed together", first.name, second.name);
            }
            Self::Inlined(callee) => {
                return write!(f, "a call of {callee} is replaced by its body");
            }
            Self::NotInlined(callee, why) => return write!(f, "a call of {callee} stays: {why}"),
            Self::Vectorised { counter, lanes, gain } => {
                return write!(f, "loop over {counter} in {lanes} lanes: {gain}");
            }
            Self::NotVectorised { counter, why } => {
                return write!(f, "loop over {counter} without lanes: {}", why.text(&InternalNames));
            }
            Self::Loop { counter } => write!(f, "{counter} ")?,
            Self::LoopInterchanged(result) => write!(f, "the loop of {result} ")?,
            Self::EvaluatedAtCall(_)
            | Self::Specialised { .. }
            | Self::SpecialisationReused(_)
            | Self::Version { .. }
            | Self::Executes { .. }
            | Self::Hoisted
            | Self::DeadRemoved(_)
            | Self::VersionPruned { .. }
            | Self::OnHost { .. }
            | Self::ChoicesTooDeep { .. }
            | Self::CheckRemoved { .. }
            | Self::CheckHoisted(_)
            | Self::CheckRemains { .. } => {}
            Self::Copied { array, .. } => write!(f, "{array} ")?,
        }
        f.write_str(&self.text(&InternalNames))
    }
}

impl fmt::Display for NotFusedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadsOtherElements => "not every element is read by its own iteration alone",
            Self::Overwritten => "what it reads is overwritten before",
            Self::DependencyPath => "something else needs the one and is needed by the other",
            Self::Attributes => "one would lose an attribute that the other does not have",
            Self::Widths => "their widths are different",
            Self::ReadsReduction => "its result is there after all iterations only",
            Self::ScanAndReduction => "scans and reductions would come together",
            Self::Accumulators => "it passes accumulators on",
            Self::Histogram => "a histogram takes maps only, all of whose results it reads",
            Self::ArrayOperator => "the operator of a histogram takes arrays, so that it runs sequentially",
            Self::ArraysAfterScan => "what follows a scan would keep arrays",
            Self::Fuel => "there is no fuel left",
        })
    }
}

impl fmt::Display for NotInlinedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotInlinable => "it is recursive, computed once, or asked to stay",
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

impl NotVectorisedReason {
    fn text(&self, names: &dyn RemarkNames) -> String {
        let text = match self {
            Self::NotProfitable(cycles) => return format!("not worth it: {cycles}"),
            Self::LlvmVectorises => "plain: LLVM makes vectors of it",
            Self::LlvmVectorisesReduction => {
                "a reduction of integers: LLVM vectorises it where the processor has \
                 the instructions"
            }
            Self::OuterVectorised(counter) => {
                return format!("{} around it runs in lanes", names.counter(counter));
            }
            Self::NestedTooDeep => "it stands in many independent loops",
            Self::Counter => "its counter is no i64",
            Self::Already => "it runs in lanes already",
            Self::Shared(var) => {
                let var = names.variable(var);
                return format!("iterations share the variable {var}");
            }
            Self::Carried(var) => {
                let var = names.variable(var);
                return format!("an iteration reads {var} of the one before");
            }
            Self::Private { bytes, lanes } => {
                return format!("its private arrays take {bytes} bytes in each of {lanes} lanes");
            }
            Self::PrivateUse(what) => match what {
                PrivateUse::Aliased => "a private array has several names",
                PrivateUse::Sizes => "a private array holds elements of several sizes",
                PrivateUse::PassedToCall => "it gives a private array to a function",
            },
            Self::Tasks => "it holds a loop of tasks",
            Self::CounterOutside => "a counter is used outside of its loop",
            Self::Call => "it calls a function that gives an array",
            Self::Allocates => "it allocates memory",
            Self::Globals => "it writes globals",
            Self::Buffers => "lanes would use different buffers",
            Self::DependencesTooComplex => "its variables are too entangled",
            Self::Fuel => "there is no fuel left",
        };
        text.to_owned()
    }
}
