//! Finds the values of tuning parameters that suit a program's data sets best.
//!
//! A program compares sizes with parameters, and so chooses between versions of its code
//! (`ir::forest`). Which versions run is decided by the outcomes of the comparisons, of which
//! there are few, though there are 2^64 values of each parameter (Rotendahl and Larsen
//! 2019, section 3). So the search is small if it knows the forest, and its result exact.
//!
//! - [`forest`]: the choices; [`region`]: sets of settings.
//! - [`explore`]: runs each path of a data set, none twice; [`order`]: which one next.
//! - [`solve`]: the best setting, by dynamic programming; its header has the proof.
//! - [`coordinate`]: what is no choice between versions, one parameter after the other.
//! - [`cost`], [`expression`]: what is best; [`statistics`]: what run times say.
//! - [`tuner`]: all of it together.
//! - [`simulate`]: programs that are nothing but a forest, to hold the tuner against a search
//!   through all settings.
//!
//! Running programs belongs to those who use this: `bindrune tune`.

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
