//! The partition of work into chunks: constants, so that results do not depend on the machine
//! (design contract 1).

/// The least work of a chunk, in sixteenths of a nanosecond: 8 µs, so that the scheduling overhead
/// is negligible (`bench/run.py small`).
pub const CHUNK_WORK: i64 = 8_000 * 16;
/// The divisor of [`CHUNK_WORK`] for chunks of flat maps whose inner sizes are assumed, like the
/// trip counts of loops: keeping a chunk's part costs about 50 ns (`bench/run.py irregular`: expand).
pub const FLAT_MAP_DIVISOR: i64 = 16;
/// The least work of a nest with few outer iterations that has nested tasks: a few chunks' worth
/// (`bindrune bench` of LU decomposition).
pub const NEST_WORK: i64 = 8 * CHUNK_WORK;
/// The largest number of chunks of a segop: enough to keep many cores evenly busy.
pub const MAX_CHUNKS: i64 = 512;
/// The largest number of chunks of a map whose iterations allocate: these have arrays of sizes of
/// their own, and may differ much in their time (`bench/run.py nests --case quicksort`, where the
/// first 200 of 100,000 iterations take two thirds of the time).
pub const MAX_ALLOCATING_CHUNKS: i64 = 1 << 13;
/// The assumed maximum of accumulator updates per iteration: the copies for all chunks together
/// have at most this many elements per iteration (`cargo nextest run -p driver accumulators`: the
/// size of the copies).
pub const MAX_UPDATES: u32 = 8;
/// The least work per element of an array argument of a function, in nanoseconds, if the function
/// may call itself (`bench/run.py irregular`: quicksort).
pub const ELEMENT_WORK: i64 = 4;
/// The least number of elements that a task fills or copies (`bench/run.py rows`).
pub const FILL_CHUNK: i64 = 1 << 15;
/// The number of iterations of a chunk that fill vector lanes well. Chunks of expensive iterations
/// have fewer where there would otherwise be fewer chunks than this number, but enough for
/// [`CHUNK_WORK`] where the cost of an iteration is known beforehand (`bench/run.py lanes`,
/// `bindrune bench bench/programs/map_loops.fut`).
pub const LANES_CHUNK: i64 = 64;
/// The least number of chunks for which iterations of known cost fill lanes (a register of their
/// results) rather than form smaller chunks: 98 chunks of 2 of 196 take as long as 24 of 8 on as
/// many cores, and four times as long on one (`bench/run.py tuned --case random-5`); of 1000
/// iterations of `f32`, chunks of 8 take twice as long as of 16 (`accelerate/nbody` of
/// `bench/run.py reference`); of 100, chunks of one up to twice as long (`jgf/series`).
pub const MIN_FULL_CHUNKS: i64 = 4;
/// The number of iterations of a chunk, expensive or not, where adjacent iterations read adjacent
/// elements (`bench/run.py rows`, `column_sums`).
pub const MIN_LANES_CHUNK: i64 = 16;
/// The number of iterations of a chunk whose iterations contain operations in lanes, which are jammed
/// ([`crate::Machine::jam_factor`]), and the number of such chunks below which they are smaller.
pub const JAMMED_CHUNK: i64 = 4;
/// See [`JAMMED_CHUNK`].
pub const MIN_JAMMED_CHUNKS: i64 = 16;
/// The number of columns from which nests of iterations around folds are tiled: with fewer, a fold's own
/// lanes are faster than a register tile that is mostly empty.
pub const MIN_COLUMNS: i64 = 4;
/// Rows of up to this many elements are reduced by code specialised for their length: a loop over
/// one of them has more overhead than work (`bench/run.py nests --case 10000000x1`; 10^7 elements
/// in rows of 1 are scanned in 2.3 ms instead of 5.6, of 4 in 2.1 instead of 2.6, of 8 in the same
/// time).
pub const MAX_SPECIALISED_ROW: i64 = 4;
/// The least row length for a loop of its own where a program counts all elements by one index
/// (`misc/bfast` of `bench/run.py reference`).
pub const MIN_DELINEARISED_ROW: i64 = 8;
/// The same where elements are expensive: such rows leave few lanes idle.
pub const MIN_DELINEARISED_EXPENSIVE_ROW: i64 = 64;
/// The largest number of statements of a specialised row reduction.
pub const ROW_STATEMENTS: usize = 12;
/// The number of chunks of a scan whose totals are combined together (`bench/run.py mini --only
/// scan_plus`).
pub const SCAN_GROUP: i64 = 32;
/// The size in bytes of a partial accumulator over all of its virtual lanes: two registers of the
/// widest machine, so that their additions overlap (`bench/run.py mini --only reduce_plus`).
pub const ACCUMULATOR_BYTES: u64 = 128;
/// The size in bytes of the widest values of a block that is scanned at once: the widest register.
pub const BLOCK_BYTES: u64 = 64;
/// The largest number of iterations of such a block, however narrow its values are.
pub const MOST_IN_BLOCK: u64 = 16;

/// A combinator over at most this many individually known scalars is fully unrolled (`bindrune
/// bench bench/programs/straight.fut`).
pub const UNROLL_WIDTH: i64 = 8;
/// A reduction of at most this many rows of a literal by maps is fully unrolled (`bench/run.py users
/// --case life`).
pub const UNROLL_ROWS: i64 = 16;
/// The largest number of unrolled statements: with those around them, they fit in the window of a
/// processor ([`crate::memory::WINDOW`]).
pub const UNROLL_STATEMENTS: usize = 48;
