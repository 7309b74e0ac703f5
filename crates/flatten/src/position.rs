//! Positions of code on a machine: the level of the enclosing segop, if any, and the level that
//! combinators at this position are mapped to.

use ir::syntax::{Attr, Aux};
use target::levels::Stack;

/// A position in the target's stack of levels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Position {
    /// The level of the enclosing segop.
    pub(crate) enclosing: Option<u8>,
    /// The level that combinators are mapped to; without one they are sequential.
    pub(crate) level: Option<u8>,
}

impl Position {
    /// Outside all segops; on a machine without levels everything there is sequential.
    pub(crate) fn host(stack: Stack) -> Self {
        Self { enclosing: None, level: stack.is_parallel().then_some(stack.outermost()) }
    }

    /// In a segop at a level, with sequential combinators.
    pub(crate) const fn sequential_in(around: u8) -> Self {
        Self { enclosing: Some(around), level: None }
    }

    /// In a segop at a level, with maps at the level that may stand in it; `None` if none may.
    pub(crate) fn inside(stack: Stack, around: u8) -> Option<Self> {
        let level = stack.for_maps(around)?;
        Some(Self { enclosing: Some(around), level: Some(level) })
    }

    /// The same position with sequential combinators.
    pub(crate) const fn sequential(self) -> Self {
        Self { level: None, ..self }
    }

    /// The position of a statement with these attributes.
    pub(crate) fn of(self, aux: &Aux) -> Self {
        if aux.attrs.has(&Attr::Sequential) { self.sequential() } else { self }
    }
}
