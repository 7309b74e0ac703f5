//! How much fits where, of a usual processor of today.

/// Bytes of partial results of all chunks that lie in the frame: the first cache.
pub const PARTIAL_BYTES: u64 = 32 * 1024;
/// Bytes of private arrays of all lanes together that lie in the frame: somewhat more than the
/// first cache has, as there are loops in order over them (`rodinia/myocyte` of `bench/run.py
/// reference`: nine arrays of 91 or 92 `f32`; 8192 points take 1.25 s of processor time without
/// lanes, 0.30 in 8 and 0.24 in 16. `misc/ocean-sim`: three arrays of 115 `f32` in 16 lanes,
/// 25.1 ms without lanes and 13.6 with).
pub const PRIVATE_BYTES: u64 = 64 * 1024;
/// Bytes of an array of constant size that lies in the frame.
pub const FRAME_BYTES: i64 = 2048;
/// Operations that a processor looks ahead over, half of its window: the rest is
/// taken up by what is not an operation on registers (`bench/run.py mini --only
/// black_scholes`).
pub const WINDOW: f64 = 100.0;
/// Vector registers that may be kept from one part of an iteration to the next.
pub const KEPT_REGISTERS: f64 = 12.0;
/// Operations that computing an element again may take where that saves storing it:
/// they hide behind the reads (`bench/run.py basis`, `filter_builtin`).
pub const AGAIN: usize = 8;
/// Streams that a processor reads side by side as fast as one after the other
/// (`bindrune bench bench/programs/columns.fut`, with `--fuse off` beside it).
pub const STREAMS: i64 = 16;
