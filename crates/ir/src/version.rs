//! Versions of functions: for each position that a function is called from there may be
//! one of its own. Its key says which it is, so that nobody has to know what it is called.
//!
//! ```text
//! version of f within 1         in a segop at level 1, all in order
//! version of f within 1 at 0    in a segop at level 1, combinators at level 0
//! version of f even             at all points of a nest, sizes the same
//! version of f uneven           at all points of a nest, sizes different
//! version of f on host          on the host of a device
//! ```

use crate::name::FunName;
use target::levels::Stack;

/// Which version of which function another function is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    /// What the function is called of which this is a version; it may be gone.
    pub of: FunName,
    /// The position that it is for.
    pub place: Place,
}

/// A position that functions are called from, other than outside of all segops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// In a segop.
    Within {
        /// Its level.
        around: u8,
        /// The level that combinators are mapped to; without one they run in order.
        level: Option<u8>,
    },
    /// At all points of a nest at once, where sizes are the same.
    Even,
    /// The same where sizes differ.
    Uneven,
    /// On the host, where others run on a device: segops stand at the levels of
    /// [`Stack::host`], and arrays lie in the host's memory.
    Host,
}

/// The machine whose levels the segops of a function stand at that is this version, in a
/// program for a machine.
pub fn stack(version: Option<&Version>, machine: Stack) -> Stack {
    match version {
        Some(Version { place: Place::Host, .. }) => machine.host(),
        Some(Version { place: Place::Within { .. } | Place::Even | Place::Uneven, .. }) | None => machine,
    }
}
