//! The CPU's schedule: how segops and fills run as tasks over all workers, and what a
//! task does with its points.
//!
//! Of what is here the shared part of the generator calls two things: `Gen::seg` for
//! a segop, and `Gen::fill` (or `Gen::fill_each`) for what fills an array. Another
//! target's schedule gives the same two, and stands beside this one.
//!
//! | module | makes |
//! |---|---|
//! | [`segops`] | segmaps, and what kinds of segops share |
//! | [`reduce`], [`fold`], [`streams`], [`skip`] | reductions, and the chunks of them |
//! | [`scan`], [`prefix`], [`compress`] | scans, their blocks, and filters |
//! | [`scatter`] | points that are packed |
//! | [`hist`], [`accs`] | histograms, and what updates accumulators with an operator |
//! | [`ranges`] | histograms whose tasks each update some of the bins |
//! | [`strips`] | points whose updates alone are in order |
//! | [`flat_map`] | flat maps |
//! | [`fills`] | copies, iotas, replicates |
//! | [`tasks`], [`chunks`] | loops of tasks, and their bounds |
//!
//! How a segop falls apart is its decomposition's business (design contract 1), and
//! what may be made of it the facts' ([`ir::facts`]).

mod accs;
mod chunks;
mod compress;
mod fills;
mod flat_map;
mod fold;
mod hist;
mod prefix;
mod ranges;
mod reduce;
mod scan;
mod scatter;
mod segops;
mod skip;
mod streams;
mod strips;
mod tasks;

pub(crate) use fills::Fill;
