//! Counters of a context, for profiles: one row per thread, written only by that thread, so that an
//! update is a plain load and store.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Blocks allocated.
    Allocations,
    /// Bytes allocated.
    Bytes,
    /// Blocks that were reused from a cache.
    CacheHits,
    /// Parallel operations that were shared between threads.
    Operations,
    /// Calls of task functions in shared operations.
    TaskCalls,
    /// Ranges that ran on another thread than their operation's caller.
    Steals,
}

impl Counter {
    /// Every counter with its name in reports, in the order of the table.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Allocations, "blocks allocated"),
        (Self::Bytes, "bytes allocated"),
        (Self::CacheHits, "blocks reused from cache"),
        (Self::Operations, "shared operations"),
        (Self::TaskCalls, "task calls in shared operations"),
        (Self::Steals, "ranges stolen"),
    ];
}

#[repr(align(128))]
#[derive(Default)]
struct Row([AtomicU64; Counter::ALL.len()]);

pub struct Stats(Box<[Row]>);

impl Stats {
    /// Zeroed counters for `n` threads.
    pub fn new(n: usize) -> Self {
        Self((0..n).map(|_| Row::default()).collect())
    }

    /// Adds `by` to a counter of thread `me`, which must be the calling thread.
    pub fn add(&self, me: usize, counter: Counter, by: u64) {
        let cell = &self.0[me].0[counter as usize];
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
    }

    /// The sum of a counter over all threads.
    pub fn total(&self, counter: Counter) -> u64 {
        self.0.iter().map(|row| row.0[counter as usize].load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}
