//! Text of decisions: one line with the compiler's internal names ([`std::fmt::Display`]), and the
//! remark for users, shown at the source span of the operation ([`RemarkKind::text`]).

use super::{
    Bound, Check, CheckRemovedReason, CopyReason, Cycles, DerivativeStep, EnclosingLoop, Execution,
    FusionOperand, NestWork, NotFusedReason, NotInlinedReason, NotVectorisedReason, OperationKind,
    PrivateUse, Pruned, Remark, RemarkKind, Sequential,
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
    fn span(&self, spans: &[SrcLoc]) -> String;
    /// Several source spans: `line 3, line 4`; `None` if they render equally.
    fn lines(&self, parts: &[Vec<SrcLoc>]) -> Option<String> {
        let lines: BTreeSet<String> = parts.iter().map(|part| self.span(part)).collect();
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

    fn span(&self, spans: &[SrcLoc]) -> String {
        let line = spans.last().map(|loc| format!("line {}", loc.line));
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
            Self::Fused { consumer, .. } => format!("fused into {}", names.party(consumer)),
            Self::Recomputed { consumer, .. } => {
                format!("recomputed in {}, not stored", names.party(consumer))
            }
            Self::FusedHorizontally { second, .. } => {
                format!("fused horizontally with {}", names.party(second))
            }
            Self::LoopInterchanged(_) => {
                "interchanged with the map inside it: each element runs all iterations".to_owned()
            }
            Self::Composed { iterations, .. } => {
                format!(
                    "{iterations} iterations composed, where sizes are large enough: matrices between them are not stored"
                )
            }
            Self::NotFused { consumer, why, .. } => {
                format!("not fused into {}: {why}", names.party(consumer))
            }
            Self::Inlined(callee) => {
                format!("call of {} inlined", names.function(callee))
            }
            Self::NotInlined(callee, why) => {
                format!("call of {} not inlined: {why}", names.function(callee))
            }
            Self::Vectorised { lanes, gain, .. } => {
                format!("vectorised, {lanes} lanes: about {} cycles instead of {}", gain.vector, gain.scalar)
            }
            Self::Tiled { rows, columns, .. } => {
                format!("tiled, {rows} rows by {columns} columns in registers, where sizes are large enough")
            }
            Self::NotVectorised { why: NotVectorisedReason::LlvmVectorises, .. } => {
                "vectorised by LLVM".to_owned()
            }
            Self::NotVectorised { why: NotVectorisedReason::LlvmVectorisesReduction, .. } => {
                "integer reduction: vectorised by LLVM if the processor has the instructions".to_owned()
            }
            Self::NotVectorised { why, .. } => format!("not vectorised: {}", why.text(names)),
            Self::Loop { .. } => "is a loop".to_owned(),
            Self::Version { of } => format!("is a version of {}", names.function(of)),
            Self::EvaluatedAtCall(function) => {
                format!("{} inlined during lowering", names.function(function))
            }
            Self::Specialised { of, instance: _, takes_functions } => {
                let what = if *takes_functions { "these types and functions" } else { "these types" };
                format!("{} specialised for {what}", names.function(of))
            }
            Self::SpecialisationReused(of) => {
                format!("call of {} uses the specialisation made for another call", names.function(of))
            }
            Self::Executes { what, how, parts } => {
                let lines = names.lines(parts);
                let of = lines.map_or_else(String::new, |lines| format!(" ({lines} fused)"));
                format!("{what}{of} {}", how.text(names))
            }
            Self::Derivative(step) => format!("its derivative {}", step.text(names)),
            Self::Hoisted => "hoisted out of the loop".to_owned(),
            Self::Packed => {
                "elements that are not contiguous are packed first, if they are read often".to_owned()
            }
            Self::DeadRemoved(what) => format!("{what} removed: its results are not used"),
            Self::VersionPruned { rule, why } => {
                format!("version of rule {} removed: {why}", rule.name())
            }
            Self::OnHost { what, why } => {
                format!("{what} runs on the host: not supported yet: {why}")
            }
            Self::ChoicesTooDeep { most } => {
                format!("no versions of its own: already nested in {most} choices of versions")
            }
            Self::CheckRemoved { check, why } => format!("{check} removed: {why}"),
            Self::CheckHoisted(check) => format!("{check} hoisted out of the loop"),
            Self::CheckRemains { check, inside } => match inside {
                EnclosingLoop::Nothing => format!("{check} remains, outside loops"),
                EnclosingLoop::Loop(spans) => {
                    format!("{check} remains in the sequential loop of {}", names.span(spans))
                }
                EnclosingLoop::Parallel(spans) => {
                    format!("{check} remains in the parallel loop of {}", names.span(spans))
                }
            },
            Self::NestWork(work) => work.to_string(),
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
            Self::Composed { .. } => "composed",
            Self::NotFused { .. } => "not-fused",
            Self::Inlined(_) => "inlined",
            Self::NotInlined(..) => "called",
            Self::Vectorised { .. } => "lanes",
            Self::Tiled { .. } => "tiled",
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
            Self::Derivative(_) => "derivative",
            Self::Hoisted => "hoisted",
            Self::Packed => "packed",
            Self::DeadRemoved(_) => "removed",
            Self::CheckRemoved { .. } => "check-removed",
            Self::CheckHoisted(_) => "check-moved",
            Self::CheckRemains { inside, .. } => match inside {
                EnclosingLoop::Nothing => "check-once",
                EnclosingLoop::Loop(_) => "check-in-loop",
                EnclosingLoop::Parallel(_) => "check-in-parallel-loop",
            },
            Self::NestWork(_) => "nest-work",
            Self::Copied { .. } => "copied",
        }
    }
}

impl DerivativeStep {
    fn text(&self, names: &dyn RemarkNames) -> String {
        match self {
            Self::SavesValues { variable, tape } => {
                format!("saves {} of each iteration: {tape}", names.variable(variable))
            }
            Self::SavesReads { variable, tape } => {
                format!("saves the elements of {} that are read: {tape}", names.variable(variable))
            }
            Self::Segments(limit) => format!(
                "saves some states only, if all need more than {limit} bytes: iterations between them run again"
            ),
            Self::CountsIterations => "runs the loop once more, to count its iterations".to_owned(),
            Self::RunsAgain => {
                "computes inner loops and combinators again, instead of saving them".to_owned()
            }
            Self::Sums(array) => format!("adds to {} by reductions", names.variable(array)),
            Self::Accumulates(array) => {
                format!("adds to {} by updates of single elements", names.variable(array))
            }
            Self::Gathers => "adds by a map of sums, without updates".to_owned(),
            Self::RecordsUpdates => "saves the updates of the accumulator".to_owned(),
            Self::Shares => "computes once what is the same for all iterations".to_owned(),
            Self::Recomputes => {
                "computes cheap terms where they are added, instead of saving them".to_owned()
            }
        }
    }
}

impl fmt::Display for Pruned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "it is equal to the other version",
            Self::FewIterations => "it has too few iterations",
            Self::SingleOperation => "the other version also has all parallelism in one operation",
            Self::LittleInnerParallelism => "it has little inner parallelism",
            Self::OneChunk => "each operation in it is a single chunk",
            Self::NotOffloadable => "it cannot run on a device",
        })
    }
}

/// The addition to the remark on an operation with a second version.
const fn by_sizes(versions: bool) -> &'static str {
    if versions { "; two versions, chosen by the inner sizes" } else { "" }
}

impl Execution {
    fn text(&self, names: &dyn RemarkNames) -> String {
        match self {
            Self::Tasks { decomp, versions } => {
                let Decomp { grain_size: grain, max_chunks, updates_per_iteration: writes, .. } = decomp;
                let mut text = match (*grain, *max_chunks) {
                    (1, most) => format!("runs as at most {most} tasks"),
                    (grain, most) => {
                        format!("runs as at most {most} tasks of at least {grain} iterations")
                    }
                };
                if *writes > 0 {
                    text.push_str("; each task updates private copies of small arrays");
                }
                text + by_sizes(*versions)
            }
            Self::Kernels { in_block, versions } => {
                let runs = if *in_block {
                    "runs on the threads of one block of the device"
                } else {
                    "runs on the device"
                };
                runs.to_owned() + by_sizes(*versions)
            }
            Self::InnerLanes { guarded, around } => {
                let long = if *guarded { ", if it is long enough" } else { "" };
                let around = names.span(around);
                format!("runs on the vector lanes of one worker in the parallel loop of {around}{long}")
            }
            Self::Loop(why) => match why {
                Sequential::Inside(around) => {
                    format!("runs sequentially, inside the parallel loop of {}", names.span(around))
                }
                Sequential::Attribute => "runs sequentially: required by an attribute".to_owned(),
                Sequential::ArrayOperator => {
                    "runs sequentially: its operator works on arrays and is itself parallel".to_owned()
                }
            },
        }
    }
}

impl fmt::Display for NestWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { single, double, integer, read, written, more, less, bound } = self;
        let operations = [(single, "f32"), (double, "f64"), (integer, "integer")];
        let counted = operations.into_iter().filter(|(count, _)| &***count != "0");
        let counted: Vec<String> = counted.map(|(count, ty)| format!("{count} {ty} operations")).collect();
        f.write_str(match (more, less) {
            (false, false) => "",
            (true, false) => "at least ",
            (false, true) => "at most ",
            (true, true) => "about ",
        })?;
        match counted.as_slice() {
            [] => f.write_str("no operations")?,
            counted => f.write_str(&counted.join(", "))?,
        }
        write!(f, "; reads {read} bytes, writes {written}")?;
        bound.map_or(Ok(()), |bound| write!(f, "; limited by {bound}"))
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Arithmetic => "arithmetic",
            Self::Memory => "memory",
            Self::Sizes => "arithmetic if sizes are large",
        })
    }
}

impl CopyReason {
    fn text(&self, names: &dyn RemarkNames) -> String {
        match self {
            Self::Parameter(param) => {
                format!("parameter {} is not consumed: its type is not unique (`*`)", names.variable(param))
            }
            Self::UsedLater { array, spans } => format!(
                "{} is used later, {}",
                names.variable(array),
                if spans.is_empty() { "as a result".to_owned() } else { format!("in {}", names.span(spans)) }
            ),
            Self::FromOutside(array) => {
                format!("{} is defined outside of the loop or function", names.variable(array))
            }
            Self::Result => "a function's result is returned row-major in its own memory block".to_owned(),
            Self::Argument => "a function's argument is passed row-major".to_owned(),
            Self::ControlFlowMerge => {
                "results of branches or iterations share one memory location".to_owned()
            }
            Self::PartOfResult => "it is copied into its part of a larger result".to_owned(),
            Self::LoopValuesOverlap => {
                "it would overwrite an array that another result of the iteration is computed from".to_owned()
            }
            Self::Reshaped => "its elements are not in the order of the new shape".to_owned(),
            Self::Requested => "no need found; a `copy` in the source can be removed".to_owned(),
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
            Self::Sizes => "size check",
            Self::Range => "range check",
            Self::Division => "divisor check",
            Self::Exponent => "exponent check",
            Self::Assertion => "assertion",
            Self::Other => "check",
        })
    }
}

impl fmt::Display for CheckRemovedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "it cannot fail",
            Self::Same => "another check implies it",
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
                return write!(f, "{} recomputed in {}", producer.name, consumer.name);
            }
            Self::FusedHorizontally { first, second } => {
                return write!(f, "{} and {} fused horizontally", first.name, second.name);
            }
            Self::Inlined(callee) => {
                return write!(f, "call of {callee} inlined");
            }
            Self::NotInlined(callee, why) => return write!(f, "call of {callee} not inlined: {why}"),
            Self::Vectorised { counter, lanes, gain } => {
                return write!(f, "loop over {counter} vectorised, {lanes} lanes: {gain}");
            }
            Self::Tiled { counter, rows, columns } => {
                return write!(f, "loop over {counter} tiled, {rows} rows by {columns} columns");
            }
            Self::NotVectorised { counter, why } => {
                return write!(f, "loop over {counter} not vectorised: {}", why.text(&InternalNames));
            }
            Self::Loop { counter } => write!(f, "{counter} ")?,
            Self::LoopInterchanged(result) => write!(f, "loop of {result} ")?,
            Self::Composed { result, .. } => write!(f, "loop of {result}: ")?,
            Self::EvaluatedAtCall(_)
            | Self::Specialised { .. }
            | Self::SpecialisationReused(_)
            | Self::Version { .. }
            | Self::Executes { .. }
            | Self::Derivative(_)
            | Self::Hoisted
            | Self::Packed
            | Self::DeadRemoved(_)
            | Self::VersionPruned { .. }
            | Self::OnHost { .. }
            | Self::ChoicesTooDeep { .. }
            | Self::CheckRemoved { .. }
            | Self::CheckHoisted(_)
            | Self::NestWork(_)
            | Self::CheckRemains { .. } => {}
            Self::Copied { array, why } => {
                return write!(f, "copy of {array}: {}", why.text(&InternalNames));
            }
        }
        f.write_str(&self.text(&InternalNames))
    }
}

impl fmt::Display for NotFusedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadsOtherElements => "elements of other iterations are read",
            Self::Overwritten => "an input of the producer is overwritten before the consumer",
            Self::DependencyPath => "another operation depends on the producer, and the consumer on it",
            Self::Attributes => "an attribute of one would apply to the other",
            Self::Widths => "their widths differ",
            Self::ReadsReduction => "a reduction's result is complete only after all iterations",
            Self::ScanAndReduction => "a scan and a reduction, or two scans, would be combined",
            Self::Accumulators => "the producer's accumulator updates cannot be fused",
            Self::Histogram => "a histogram fuses only with maps whose results it reads all",
            Self::ArrayOperator => "a histogram of arrays runs sequentially",
            Self::NestOfSums => "a nest of sums is tiled apart from updates",
            Self::ArraysAfterScan => "arrays would be computed after a scan",
            Self::Fuel => "the fuel is used up",
        })
    }
}

impl fmt::Display for NotInlinedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotInlinable => "it is recursive, a constant, or marked `noinline`",
            Self::Large => "it is too large",
            Self::Fuel => "the fuel is used up",
        })
    }
}

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cycles, scalar {}", self.vector, self.scalar)
    }
}

impl NotVectorisedReason {
    fn text(&self, names: &dyn RemarkNames) -> String {
        let text = match self {
            Self::NotProfitable(cycles) => return format!("not profitable: {cycles}"),
            Self::LlvmVectorises => "LLVM vectorises it",
            Self::LlvmVectorisesReduction => {
                "an integer reduction: LLVM vectorises it if the processor has the instructions"
            }
            Self::OuterVectorised(counter) => {
                return format!("{} around it is vectorised", names.counter(counter));
            }
            Self::NestedTooDeep => "it is nested in too many independent loops",
            Self::Counter => "its counter is not an i64",
            Self::Already => "it already runs in lanes",
            Self::Shared(var) => {
                let var = names.variable(var);
                return format!("iterations share variable {var}");
            }
            Self::Carried(var) => {
                let var = names.variable(var);
                return format!("{var} is carried from one iteration to the next");
            }
            Self::Private { bytes, lanes } => {
                return format!("its private arrays take {bytes} bytes per lane, with {lanes} lanes");
            }
            Self::PrivateUse(what) => match what {
                PrivateUse::Aliased => "a private array is aliased",
                PrivateUse::Sizes => "a private array has elements of several sizes",
                PrivateUse::PassedToCall => "it passes a private array to a function",
            },
            Self::Tasks => "it contains a loop of tasks",
            Self::CounterOutside => "a counter is used outside of its loop",
            Self::Call => "it calls a function that returns an array",
            Self::Allocates => "it allocates memory",
            Self::Globals => "it writes global variables",
            Self::Buffers => "lanes would use different buffers",
            Self::DependencesTooComplex => "the dependences between its variables are too complex",
            Self::Fuel => "the fuel is used up",
        };
        text.to_owned()
    }
}
