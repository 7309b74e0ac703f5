//! Capacities of a typical current processor.

/// The size in bytes of all chunks' partial results in the frame: the L1 cache.
pub const PARTIAL_BYTES: u64 = 32 * 1024;
/// The size in bytes of all lanes' private arrays in the frame: somewhat more than the L1 cache, as
/// the loops over them are sequential (`rodinia/myocyte` of `bench/run.py reference`: nine arrays
/// of 91 or 92 `f32`; 8192 iterations take 1.25 s of processor time without lanes, 0.30 in 8 and
/// 0.24 in 16. `misc/ocean-sim`: three arrays of 115 `f32` in 16 lanes, 25.1 ms without lanes and
/// 13.6 with).
pub const PRIVATE_BYTES: u64 = 64 * 1024;
/// The size in bytes of an array of constant size that is kept in the frame.
pub const FRAME_BYTES: i64 = 2048;
/// The number of operations in a processor's out-of-order window, counted half: the rest is taken
/// up by instructions that are not operations on registers (`bench/run.py mini --only
/// black_scholes`).
pub const WINDOW: f64 = 100.0;
/// The number of vector registers that may be live between the parts of a pipelined iteration.
pub const MAX_LIVE_REGISTERS: f64 = 12.0;
/// The number of streams that a processor reads concurrently as fast as one after the other
/// (`bindrune bench bench/programs/columns.fut`, compared with `--fuse off`).
pub const STREAMS: i64 = 16;
