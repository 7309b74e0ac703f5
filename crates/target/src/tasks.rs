//! How work falls apart into chunks: constants, so that results do not depend on
//! the machine (design contract 1).

/// Least work of a chunk, in sixteenths of a nanosecond: 8 µs, so that handing it
/// out is lost in it (`bench/run.py small`).
pub const CHUNK_WORK: i64 = 8_000 * 16;
/// Chunks of flat maps have a share of that where sizes are taken to be what loops' are
/// that are not known: keeping a chunk's part costs some 50 ns (`bench/irregular.py`:
/// expand).
pub const FLAT_SHARE: i64 = 16;
/// Least work of a nest that few points have, for it to be tasks in tasks: some chunks'
/// worth (`bindrune bench` of LU decomposition).
pub const NEST_WORK: i64 = 8 * CHUNK_WORK;
/// Most chunks of one segop: enough to keep many cores evenly busy.
pub const MAX_CHUNKS: i64 = 512;
/// Most chunks of a map whose points allocate: these have arrays of sizes of their own, and
/// may differ much in what they take (`bench/run.py nests --case quicksort`, where the first 200
/// of 100,000 points take two thirds of all time).
pub const MOST_ALONE: i64 = 1 << 13;
/// How many updates of accumulators a point is taken to make at most: copies for
/// chunks have no more elements in all than so many times the points (`cargo nextest
/// run -p driver accumulators`: what the copies may take).
pub const MOST_WRITES: u32 = 8;
/// Least work for an element of an array that a function is called with, in nanoseconds,
/// if the function may call itself (`bench/irregular.py`: quicksort).
pub const ELEMENT_WORK: i64 = 4;
/// Elements that a task fills or copies at least (`bench/run.py rows`).
pub const FILL_GRAIN: i64 = 1 << 15;
/// Points of a chunk that fill vector lanes well. Chunks of dear points have fewer
/// where there would be fewer chunks than this otherwise, but enough for [`CHUNK_WORK`]
/// where it is known before what a point costs (`bench/run.py lanes`, `bindrune bench
/// bench/programs/turns.fut`).
pub const LANES_GRAIN: i64 = 64;
/// Chunks that there are at least where points of known cost fill lanes (a register of what
/// they give) rather than have chunks of fewer: 98 chunks of 2 of 196 take as long as 24 of 8
/// on as many cores, and four times as long on one (`bench/run.py tuned --case random-5`); of
/// 1000 points of `f32`, chunks of 8 take twice as long as of 16 (`accelerate/nbody` of
/// `bench/run.py reference`); of 100, chunks of one up to twice as long (`jgf/series`).
pub const LEAST_FULL: i64 = 4;
/// Points of a chunk, dear or not, where points side by side read what lies side by
/// side (`bench/run.py rows`, `column_sums`).
pub const LANES_LEAST: i64 = 16;
/// Rows of up to so many elements are folded by code for just so many: a loop over one of
/// them takes longer than what is in it (`bench/run.py nests --case 10000000x1`; 10^7
/// elements in rows of 1 are scanned in 2.3 ms instead of 5.6, of 4 in 2.1 instead of 2.6, of
/// 8 in the same time).
pub const SHORTEST_ROWS: i64 = 4;
/// Rows of at least so many elements have a loop of their own where a program counts all
/// elements by one index (`misc/bfast` of `bench/run.py reference`).
pub const SHORTEST_UNRAVELLED: i64 = 8;
/// The same where an element takes long: rows leave few lanes idle then.
pub const SHORTEST_DEAR: i64 = 64;
/// Statements of such a fold at most.
pub const ROW_STATEMENTS: usize = 12;
/// Chunks of a scan whose sums are combined together (`bench/run.py mini --only scan_plus`).
pub const SCAN_GROUP: i64 = 32;
/// Bytes of one partial accumulator over all of its virtual lanes: two registers of
/// the widest machine, so that one adds while the other waits (`bench/run.py mini
/// --only reduce_plus`).
pub const ACCUMULATOR_BYTES: u64 = 128;
/// Bytes of the widest values of a block that is scanned at once: the widest register.
pub const BLOCK_BYTES: u64 = 64;
/// Most points of such a block, however narrow they are.
pub const MOST_IN_BLOCK: u64 = 16;

/// A combinator over at most so many scalars that are known one by one is no loop
/// (`bindrune bench bench/programs/straight.fut`).
pub const STRAIGHT_WIDTH: i64 = 8;
/// Statements that it may become: as many as a processor looks ahead over, with
/// what is around them ([`crate::memory::WINDOW`]).
pub const STRAIGHT_STATEMENTS: usize = 48;
