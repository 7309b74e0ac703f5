//! Judgements of finished definitions: all types are known, everything that the walks over
//! expressions say is in the tree.
//!
//! Each is a function of the definition, the tables and what it needs besides; none of
//! them changes the definition or infers anything. The first four report and warn, and
//! know nothing of inference but how types are shown; [`consume`] also leaves behind what
//! it found out of functions, for the definitions after.

pub(crate) mod causality;
pub(crate) mod consume;
pub(crate) mod exhaust;
pub(crate) mod recursion;
pub(crate) mod warnings;
