//! Functions for copies that consider their strides at run time ([`CopyPlan::Dynamic`]): copies become
//! calls of them, one function for a rank.
//!
//! [`CopyPlan::Dynamic`]: imp::CopyPlan::Dynamic

mod nest;
mod strided;
mod tiles;

pub use strided::outline_copies;
