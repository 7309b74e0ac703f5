//! Which of several decisions about one operation stands.
//!
//! Passes decide again as they see more, and copies of an operation may fare differently. Of the
//! decisions on one subject about one operation of the source, those of the highest precedence
//! stand.

use super::{Check, EnclosingLoop, Execution, NotVectorisedReason, RemarkKind, Sequential};

/// The subject of a decision: the aspect of its operation that it determines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    /// The function that a call calls.
    Callee,
    /// Fusion with one other operation.
    Fusion,
    /// The form of execution inside of parallel loops.
    Execution,
    /// Vectorisation of its loops.
    Lanes,
    /// Checks of this kind.
    Check(Check),
}

/// The precedence of a check that was hoisted.
pub const HOISTED: u64 = 1;
/// The precedence of a check that was removed. Where another copy of the check remains outside of
/// loops, the removed one counts as hoisted.
pub const REMOVED: u64 = 2;

impl RemarkKind {
    /// The subject of the decision and its precedence; `None` if it contradicts no other.
    pub fn precedence(&self) -> Option<(Subject, u64)> {
        Some(match self {
            Self::Specialised { .. } | Self::SpecialisationReused(_) => (Subject::Callee, 0),
            Self::Inlined(_) => (Subject::Callee, 1),
            Self::NotFused { .. } => (Subject::Fusion, 0),
            Self::Fused { .. }
            | Self::Recomputed { .. }
            | Self::FusedHorizontally { .. }
            | Self::LoopInterchanged(_)
            | Self::Composed { .. } => (Subject::Fusion, 1),
            Self::Executes { how: Execution::Loop(Sequential::Inside(_)), .. } => (Subject::Execution, 0),
            Self::Executes { how: Execution::InnerLanes { .. }, .. } => (Subject::Execution, 1),
            Self::NotVectorised { why: NotVectorisedReason::LlvmVectorises, .. } => (Subject::Lanes, 0),
            Self::NotVectorised { why: NotVectorisedReason::OuterVectorised(_), .. } => (Subject::Lanes, 1),
            Self::NotVectorised { .. } => (Subject::Lanes, 2),
            Self::Vectorised { gain, .. } => (Subject::Lanes, 3 + gain.scalar),
            Self::Tiled { .. } => (Subject::Lanes, u64::MAX),
            Self::CheckHoisted(check) => (Subject::Check(*check), HOISTED),
            Self::CheckRemoved { check, .. } => (Subject::Check(*check), REMOVED),
            Self::CheckRemains { check, inside } => {
                let precedence = match inside {
                    EnclosingLoop::Nothing => 0,
                    EnclosingLoop::Loop(_) => 3,
                    EnclosingLoop::Parallel(_) => 4,
                };
                (Subject::Check(*check), precedence)
            }
            Self::NotInlined(..)
            | Self::Loop { .. }
            | Self::EvaluatedAtCall(_)
            | Self::Version { .. }
            | Self::Executes { .. }
            | Self::VersionPruned { .. }
            | Self::OnHost { .. }
            | Self::ChoicesTooDeep { .. }
            | Self::Derivative(_)
            | Self::Hoisted
            | Self::Packed
            | Self::DeadRemoved(_)
            | Self::NestWork(_)
            | Self::Copied { .. } => return None,
        })
    }
}
