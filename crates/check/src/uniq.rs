//! Uniqueness (`*`) of values, component by component.

use crate::tast::Uniq;
use std::sync::Arc;

impl Uniq {
    /// Returns true if some part is unique.
    pub fn any(&self) -> bool {
        *self != Self::None
    }

    /// The uniqueness of a component.
    pub fn part(&self, i: usize) -> &Self {
        match self {
            Self::None | Self::All => self,
            Self::Parts(parts) => parts.get(i).unwrap_or(&Self::None),
        }
    }

    /// The uniqueness of a compound value from those of its components.
    pub(crate) fn of_parts(parts: Vec<Self>) -> Self {
        if parts.iter().any(Self::any) { Self::Parts(Arc::from(parts)) } else { Self::None }
    }

    /// The parts that are unique in `self` or `other`.
    pub(crate) fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => Self::All,
            (Self::None, other) => other.clone(),
            (_, Self::None) => self.clone(),
            (Self::Parts(x), Self::Parts(y)) => {
                Self::Parts(x.iter().zip(y.iter()).map(|(x, y)| x.or(y)).collect())
            }
        }
    }
}
