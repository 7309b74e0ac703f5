//! Versions of functions: a function may have one version for each position from which it is
//! called. The version's key identifies it, independently of its name.
//!
//! ```text
//! version of f within grid             in a segop at level `grid`, sequential
//! version of f within grid at block    in a segop at level `grid`, combinators at level `block`
//! version of f regular                 lifted to all iterations of a nest, regular (equal sizes)
//! version of f irregular               lifted to all iterations of a nest, irregular (different sizes)
//! version of f on host                 on the host of a device
//! ```

use crate::name::FunName;
use target::levels::{LevelId, Stack};

/// The key of a version: the original function and the position.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    /// Name of the original function, which may have been removed.
    pub of: FunName,
    /// The position that it is made for.
    pub position: CallPosition,
}

/// A position of calls, other than outside of all segops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CallPosition {
    /// In a segop.
    Within {
        /// The segop's level.
        segop_level: LevelId,
        /// The level that combinators are mapped to; `None` if they are sequential.
        level: Option<LevelId>,
    },
    /// Lifted to all iterations of a nest; sizes are equal (regular).
    LiftedRegular,
    /// Lifted to all iterations of a nest; sizes differ (irregular).
    LiftedIrregular,
    /// On the host, in a program for a device: segops have the levels of [`Stack::host`], and
    /// arrays are in host memory.
    Host,
}

/// The levels of the segops in a function of this version, in a program for `machine`.
pub fn stack(version: Option<&Version>, machine: Stack) -> Stack {
    match version {
        Some(Version { position: CallPosition::Host, .. }) => machine.host(),
        Some(Version {
            position:
                CallPosition::Within { .. } | CallPosition::LiftedRegular | CallPosition::LiftedIrregular,
            ..
        })
        | None => machine,
    }
}
