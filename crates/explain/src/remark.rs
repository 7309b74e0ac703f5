//! A remark: a decision with its source location, text, and rating.

use crate::names::{RemarkContext, SourceNames};
use driver::Remark;
use driver::remark::{
    CopyReason, DerivativeStep, EnclosingLoop, Execution, FusionOperand, NotVectorisedReason, RemarkKind,
    Sequential,
};
use ir::SrcLoc;

/// The subject of a decision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Function instances and calls.
    Functions,
    /// Work that was hoisted or found unnecessary.
    Work,
    /// Values that derivatives save, compute again, and add up.
    Derivatives,
    /// Fusion.
    Fusion,
    /// Parallelisation and offloading.
    Parallel,
    /// Vectorisation.
    Lanes,
    /// Checks.
    Checks,
    /// Copies.
    Copies,
}

impl Group {
    /// All groups, in the order of display.
    pub const ALL: [Self; 8] = [
        Self::Functions,
        Self::Work,
        Self::Derivatives,
        Self::Fusion,
        Self::Parallel,
        Self::Lanes,
        Self::Checks,
        Self::Copies,
    ];

    /// The name in texts and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::Work => "work",
            Self::Derivatives => "derivatives",
            Self::Fusion => "fusion",
            Self::Parallel => "parallel",
            Self::Lanes => "lanes",
            Self::Checks => "checks",
            Self::Copies => "copies",
        }
    }
}

/// The rating of a decision with regard to the program's speed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rating {
    /// An optimisation was applied.
    Good,
    /// An optimisation was not applied.
    Left,
    /// Neutral.
    Plain,
}

impl Rating {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Left => "left",
            Self::Plain => "plain",
        }
    }

    /// The first character of the remark's line.
    pub fn sign(self) -> char {
        match self {
            Self::Good => '+',
            Self::Left => '!',
            Self::Plain => '.',
        }
    }
}

/// A remark.
#[derive(Clone)]
pub struct ShownRemark {
    /// The source location.
    pub span: SrcLoc,
    /// The subject of the decision.
    pub group: Group,
    /// The rating.
    pub rating: Rating,
    /// The decision, with functions by their source names.
    pub kind: RemarkKind,
    /// The operation's source text, truncated if it is long.
    pub subject: String,
    /// The library function that contains the operation.
    pub library_function: Option<String>,
    /// The text of the remark.
    pub text: String,
    /// The locations of other operations and loops that the remark mentions.
    pub related: Vec<SrcLoc>,
    /// The number of equal decisions.
    pub times: u32,
}

impl ShownRemark {
    /// The whole line.
    pub fn text(&self) -> String {
        let Self { subject, text: decision, .. } = self;
        let inside = match &self.library_function {
            Some(function) => format!(" (inside `{function}`)"),
            None => String::new(),
        };
        let text = match self.group {
            Group::Functions => format!("{decision}{inside}"),
            Group::Fusion | Group::Lanes | Group::Copies => format!("`{subject}`{inside} {decision}"),
            Group::Work if self.kind == RemarkKind::Hoisted => format!("`{subject}`{inside} {decision}"),
            Group::Work | Group::Derivatives | Group::Parallel | Group::Checks => {
                format!("`{subject}`{inside}: {decision}")
            }
        };
        format!("{text}{}", self.repetitions())
    }

    /// The key that identifies the operation.
    pub fn key(&self) -> (SrcLoc, Option<&str>) {
        (self.span, self.library_function.as_deref())
    }

    /// The operation as text.
    pub fn title(&self) -> String {
        match &self.library_function {
            Some(function) => format!("`{}`, inside `{function}`", self.subject),
            None => format!("`{}`", self.subject),
        }
    }

    /// The line below a heading that names the operation.
    pub fn short(&self) -> String {
        format!("{}{}", self.text, self.repetitions())
    }

    fn repetitions(&self) -> String {
        if self.group == Group::Functions && self.times > 1 {
            format!(" ({} times)", self.times)
        } else {
            String::new()
        }
    }
}

/// Returns the remark for a decision; `None` if it has no location in user code, or if it only
/// concerns library code and `all` is not set.
pub fn remark(decision: &Remark, user: &SourceNames<'_>, all: bool) -> Option<ShownRemark> {
    let stack = user.spans(decision);
    let span = user.source.innermost_user_span(&stack)?;
    let library_function = user.source.enclosing_library_function(&stack);
    let (group, rating) = classify(&decision.kind)?;
    if !all && decision.kind == RemarkKind::Hoisted && stack.first() != Some(&span) {
        return None;
    }
    let context = RemarkContext { user, function: &decision.function, span };
    let operand = |operand: &FusionOperand| {
        let other = user.source.innermost_user_span(&operand.spans);
        let inside = other == Some(span) && user.source.enclosing_library_function(&operand.spans).is_some();
        (other, inside)
    };
    let related = match &decision.kind {
        RemarkKind::Fused { consumer, .. }
        | RemarkKind::Recomputed { consumer, .. }
        | RemarkKind::NotFused { consumer, .. }
        | RemarkKind::FusedHorizontally { second: consumer, .. } => {
            let (other, inside) = operand(consumer);
            // Fusion inside a library function is omitted.
            if !all && (inside || other == Some(span) && library_function.is_some()) {
                return None;
            }
            other.into_iter().collect()
        }
        RemarkKind::Executes {
            how: Execution::InnerLanes { around, .. } | Execution::Loop(Sequential::Inside(around)),
            ..
        }
        | RemarkKind::CheckRemains {
            inside: EnclosingLoop::Loop(around) | EnclosingLoop::Parallel(around),
            ..
        } => user.source.innermost_user_span(around).into_iter().collect(),
        RemarkKind::Copied { why: CopyReason::UsedLater { spans, .. }, .. } => {
            user.source.innermost_user_span(spans).into_iter().collect()
        }
        _ => Vec::new(),
    };
    let kind = user.named(&decision.kind);
    Some(ShownRemark {
        span,
        group,
        rating,
        subject: user.source.snippet(span),
        library_function: library_function.map(str::to_owned),
        text: kind.text(&context),
        related,
        times: 1,
        kind,
    })
}

/// Returns the subject and rating of a decision; `None` for bookkeeping that is not reported.
fn classify(kind: &RemarkKind) -> Option<(Group, Rating)> {
    let remaining_check = |inside: &EnclosingLoop| match inside {
        EnclosingLoop::Nothing => Rating::Plain,
        EnclosingLoop::Loop(_) | EnclosingLoop::Parallel(_) => Rating::Left,
    };
    Some(match kind {
        RemarkKind::Loop { .. } | RemarkKind::Version { .. } => return None,
        RemarkKind::Fused { .. }
        | RemarkKind::Recomputed { .. }
        | RemarkKind::FusedHorizontally { .. }
        | RemarkKind::LoopInterchanged(_)
        | RemarkKind::Composed { .. } => (Group::Fusion, Rating::Good),
        RemarkKind::NotFused { .. } => (Group::Fusion, Rating::Left),
        RemarkKind::Inlined(_)
        | RemarkKind::NotInlined(..)
        | RemarkKind::EvaluatedAtCall(_)
        | RemarkKind::Specialised { .. }
        | RemarkKind::SpecialisationReused(_) => (Group::Functions, Rating::Plain),
        RemarkKind::Vectorised { .. } | RemarkKind::Tiled { .. } => (Group::Lanes, Rating::Good),
        RemarkKind::NotVectorised { why, .. } => (
            Group::Lanes,
            match why {
                NotVectorisedReason::LlvmVectorises
                | NotVectorisedReason::LlvmVectorisesReduction
                | NotVectorisedReason::NotProfitable(_)
                | NotVectorisedReason::OuterVectorised(_)
                | NotVectorisedReason::Already
                | NotVectorisedReason::Tasks
                | NotVectorisedReason::Fuel => Rating::Plain,
                NotVectorisedReason::NestedTooDeep
                | NotVectorisedReason::Counter
                | NotVectorisedReason::Shared(_)
                | NotVectorisedReason::Carried(_)
                | NotVectorisedReason::Private { .. }
                | NotVectorisedReason::PrivateUse(_)
                | NotVectorisedReason::CounterOutside
                | NotVectorisedReason::Call
                | NotVectorisedReason::Allocates
                | NotVectorisedReason::Globals
                | NotVectorisedReason::Buffers
                | NotVectorisedReason::DependencesTooComplex => Rating::Left,
            },
        ),
        RemarkKind::Executes { how, .. } => (
            Group::Parallel,
            match how {
                Execution::Tasks { .. } | Execution::Kernels { .. } | Execution::InnerLanes { .. } => {
                    Rating::Good
                }
                Execution::Loop(Sequential::ArrayOperator) => Rating::Left,
                Execution::Loop(Sequential::Inside(_) | Sequential::Attribute) => Rating::Plain,
            },
        ),
        RemarkKind::VersionPruned { .. } | RemarkKind::ChoicesTooDeep { .. } => {
            (Group::Parallel, Rating::Plain)
        }
        RemarkKind::NestWork(_) => (Group::Parallel, Rating::Plain),
        RemarkKind::OnHost { .. } => (Group::Parallel, Rating::Left),
        RemarkKind::Derivative(step) => (
            Group::Derivatives,
            match step {
                DerivativeStep::Sums(_)
                | DerivativeStep::Gathers
                | DerivativeStep::Shares
                | DerivativeStep::Recomputes => Rating::Good,
                DerivativeStep::Accumulates(_) => Rating::Left,
                DerivativeStep::SavesValues { .. }
                | DerivativeStep::SavesReads { .. }
                | DerivativeStep::Segments(_)
                | DerivativeStep::CountsIterations
                | DerivativeStep::RecordsUpdates
                | DerivativeStep::RunsAgain => Rating::Plain,
            },
        ),
        RemarkKind::Hoisted | RemarkKind::Packed => (Group::Work, Rating::Good),
        RemarkKind::DeadRemoved(_) => (Group::Work, Rating::Plain),
        RemarkKind::CheckRemoved { .. } | RemarkKind::CheckHoisted(_) => (Group::Checks, Rating::Good),
        RemarkKind::CheckRemains { inside, .. } => (Group::Checks, remaining_check(inside)),
        RemarkKind::Copied { .. } => (Group::Copies, Rating::Left),
    })
}
