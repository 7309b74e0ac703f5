//! Where code runs on a machine: inside of a segop at which level, if any, and which
//! level its own combinators are mapped to.

use ir::syntax::{Attr, Aux};
use target::levels::Stack;

/// A place in the target's stack of levels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Position {
    /// The level of the segop around.
    pub(crate) around: Option<u8>,
    /// The level that combinators are mapped to; without one they run in order.
    pub(crate) level: Option<u8>,
}

impl Position {
    /// Outside of all segops; on a machine that has no levels all runs in order there.
    pub(crate) fn host(stack: Stack) -> Self {
        Self { around: None, level: stack.is_parallel().then_some(stack.outermost()) }
    }

    /// In a segop at a level, all maps in order.
    pub(crate) const fn alone(around: u8) -> Self {
        Self { around: Some(around), level: None }
    }

    /// In a segop at a level, with what may stand in it for maps; `None` if nothing may.
    pub(crate) fn within(stack: Stack, around: u8) -> Option<Self> {
        let level = stack.for_maps(around)?;
        Some(Self { around: Some(around), level: Some(level) })
    }

    /// Here, all in order.
    pub(crate) const fn in_order(self) -> Self {
        Self { level: None, ..self }
    }

    /// Where a statement with these attributes runs.
    pub(crate) fn of(self, aux: &Aux) -> Self {
        if aux.attrs.has(&Attr::Sequential) { self.in_order() } else { self }
    }
}
