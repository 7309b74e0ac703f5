//! Finds the best values of tuning parameters for a program's data sets.
//!
//! A program compares sizes with parameters, and so chooses between versions of its code
//! (`ir::forest`). The outcomes of the comparisons determine the versions that run. There are few
//! outcomes, though each parameter has 2^64 values (Rotendahl and Larsen 2019, section 3). So the
//! search is small if it knows the forest, and its result exact.
//!
//! - [`forest`]: the choices; [`region`]: sets of settings.
//! - [`explore`]: runs each path of a data set, none twice; [`order`]: chooses the next one.
//! - [`solve`]: the best setting, by dynamic programming; its header has the proof.
//! - [`coordinate`]: coordinate search over the parameters that choose no version.
//! - [`cost`], [`expression`]: cost functions; [`statistics`]: means and confidence of run times.
//! - [`tuner`]: the whole algorithm.
//! - [`simulate`]: random programs that consist of a forest, to compare the tuner with an
//!   exhaustive search.
//!
//! The callers run the programs (`bindrune tune`).

pub mod coordinate;
pub mod cost;
pub mod explore;
pub mod expression;
pub mod forest;
pub mod order;
pub mod region;
pub mod simulate;
pub mod solve;
pub mod statistics;
pub mod tuner;
