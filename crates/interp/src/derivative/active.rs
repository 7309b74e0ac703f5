//! Scalars with derivatives.
//!
//! Each derivative that is being computed has a level, and an inner derivative has a higher one.
//! The parts of a scalar of one level are scalars of lower levels.

use crate::value::RunValue;
use prim::Scalar;
use smallvec::SmallVec;
use std::rc::Rc;

/// A derivative that is being computed; 0 stands for none. No two have the same level.
pub type Level = u64;

/// A scalar that depends on the variables of a derivative.
#[derive(Debug)]
pub struct Active {
    /// The derivative.
    pub level: Level,
    /// The scalar without this derivative.
    pub primal: RunValue,
    /// How it changes with the variables.
    pub change: Change,
}

/// How a scalar changes with the variables of a derivative.
#[derive(Debug)]
pub enum Change {
    /// Forward mode: the change in each direction.
    Tangents(Tangents),
    /// Reverse mode: the number of the scalar on the tape.
    Node(usize),
}

/// A change for each direction.
pub type Tangents = SmallVec<[RunValue; 1]>;

impl RunValue {
    /// A scalar that depends on the variables of a derivative.
    pub(crate) fn active(level: Level, primal: Self, change: Change) -> Self {
        Self::Active(Rc::new(Active { level, primal, change }))
    }

    /// The scalar without its derivatives; `None` for other values.
    #[inline]
    pub fn as_scalar(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(x) => Some(*x),
            Self::Active(active) => active.primal.as_scalar(),
            _ => None,
        }
    }

    /// The value, if it is an `i64`.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match self.as_scalar() {
            Some(Scalar::I64(n)) => Some(n),
            _ => None,
        }
    }

    /// The highest level of a scalar's derivatives.
    pub(crate) fn level(&self) -> Level {
        match self {
            Self::Active(active) => active.level,
            _ => 0,
        }
    }

    /// The scalar without derivatives of this level or a higher one.
    pub(crate) fn below(&self, level: Level) -> Self {
        match self {
            Self::Active(active) if active.level >= level => active.primal.below(level),
            other => other.clone(),
        }
    }

    /// The change of a scalar with the variables of a derivative, if it is its highest.
    pub(crate) fn change(&self, level: Level) -> Option<&Change> {
        match self {
            Self::Active(active) if active.level == level => Some(&active.change),
            _ => None,
        }
    }
}
