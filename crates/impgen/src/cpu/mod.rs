//! The CPU schedule: segops and fills as loops of tasks over all workers, and the code of a task
//! for its iterations.
//!
//! The target-independent part of the generator calls only `Gen::seg` for a segop, and `Gen::fill`
//! or `Gen::fill_each` for operations that fill an array. In functions for a device, both dispatch
//! to its schedule ([`gpu`](super::gpu)).
//!
//! | module | generates |
//! |---|---|
//! | [`segops`] | segmaps, and the parts that kinds of segops share |
//! | [`reduce`], [`reduce_chunk`], [`streams`], [`skip_rounds`] | reductions, and their chunks |
//! | [`scan`], [`scan_blocks`], [`filter`] | scans, their blocks, and filters |
//! | [`scatter`] | chunks that end with scatters, as packed lane stores |
//! | [`hist`], [`accs`] | histograms, and segops that update accumulators with an operator |
//! | [`range_partition`] | histograms whose tasks each own a range of the bins |
//! | [`strip_mine`] | strip-mined chunks of which only the updates are sequential |
//! | [`flat_map`] | flat maps |
//! | [`fills`] | copies, iotas, replicates |
//! | [`tasks`], [`chunks`] | loops of tasks, and their bounds |
//!
//! The partitioning of a segop is fixed by its decomposition (design contract 1), the legality of
//! reordering by its facts ([`ir::facts`]).

mod accs;
mod chunks;
mod fills;
mod filter;
mod flat_map;
mod hist;
mod range_partition;
mod reduce;
mod reduce_chunk;
mod scan;
mod scan_blocks;
mod scatter;
mod segops;
mod skip_rounds;
mod streams;
mod strip_mine;
mod tasks;

pub(crate) use fills::Fill;
