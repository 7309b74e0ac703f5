//! Checks: what they imply, how they are hoisted out of bodies that may not run, and out of loops in
//! whose indices they are affine.

pub(crate) mod affine_checks;
pub(crate) mod conditions;
pub(crate) mod guard;
