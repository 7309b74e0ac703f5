//! Checks of finished definitions: all types are known, and the typed tree is complete.
//!
//! Each is a function of the definition, the tables and the context. None changes the definition or
//! infers types. All report errors or warnings; [`consume`] also records facts about functions, for
//! later definitions.

pub(crate) mod causality;
pub(crate) mod consume;
pub(crate) mod exhaustiveness;
pub(crate) mod recursion;
pub(crate) mod warnings;
