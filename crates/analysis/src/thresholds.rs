//! The costs from which on choices change, in the unit of [`cost`](crate::cost), and the sizes of
//! code that may be computed twice or needlessly ([`size`](crate::size)), with the measurements that
//! they were chosen by.

use target::time;

/// The most expensive element that is recomputed by each of its readers, and not stored: the
/// operations overlap with the reads (`bench/run.py basis`, `filter_builtin`).
pub const RECOMPUTED: i64 = time::DIVISION + 2 * time::PLAIN;
/// The most expensive mapped value of a scan that is recomputed by its second traversal, where lanes
/// compute the values: less than a quotient and its use (`bench/figures.py book --case
/// regular_scan`: 0.33 ms, and 2.0 where the scan divides twice). At half of this value, scans that
/// only compare and add become slower (`longest_streak` of the book's examples, 1.2 ms instead of
/// 1.1).
pub const RECOMPUTED_IN_SCAN: i64 = 64;
/// The most expensive scalars between the maps of a nest that fusion moves into the innermost one.
pub const NEST_PRELUDE: i64 = 4 * time::PLAIN;
/// The most expensive scalar operation of a nest that its readers recompute; mathematical functions
/// are stored.
pub const DISTRIBUTED: i64 = time::DIVISION;
/// The least expensive element that is precomputed into a table: a multiple of the cost of reading
/// it.
pub const TABLE: i64 = 10 * time::LOAD;
/// The most expensive iteration of a loop that is fused into the loop before it: about what fusion
/// saves, which is a store, two loads and a loop iteration.
pub const SECOND_LOOP: i64 = time::STORE + 2 * time::LOAD + time::LOOP;
/// The least expensive iteration of a histogram that is strip-mined: at cost 20, histograms with
/// strips take 1.4 times as long as without, at 28 0.9, at 44 0.8, at 140 0.4 (a million iterations,
/// bins computed by some multiplications, one thread with AVX-512).
pub const STRIP_MINED: i64 = 48;
/// The most expensive iteration of a reduction whose mapped value is computed twice, so that rounds
/// that change no accumulator are skipped.
pub const SKIPPED_ROUND: i64 = 16;

/// The most statements of a map that fusion may compute twice to save an array.
pub const FUSED_TWICE_STATEMENTS: usize = 24;
/// The most statements of both arms of a conditional that are computed to select from.
pub const SELECTED_STATEMENTS: usize = 12;
