//! Sharing and hoisting: equal operations are computed once, invariant ones before the bodies that
//! they are invariant in.

pub(crate) mod cse;
pub(crate) mod cse_exps;
pub(crate) mod licm;
