//! Happens-before between blocks: a thread's knowledge of other blocks, by the signals that it
//! awaited.
//!
//! A signal publishes what the signalling thread has done so far, what its block has done before
//! the last barrier, and the signals that they have awaited. A thread that awaits it knows all of
//! that from then on, and from the next barrier on so does its whole block. The time of a thread is
//! given by the number of barriers that its block has passed and of signals that the thread has
//! sent.
//!
//! Other atomic operations publish nothing, and keep the last signal of an element.

use super::races::Actor;
use crate::eval::memory::Pointer;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// A signal.
struct Signal {
    /// The signalling thread and its time.
    by: Actor,
    /// The indices of the signals awaited before.
    awaited: Vec<u32>,
}

impl Signal {
    /// Returns true if the signal publishes what a thread did: all of it if `alone`, else including
    /// concurrent accesses of others in its block.
    fn is_behind(&self, it: Actor, alone: bool) -> bool {
        let by = self.by;
        let own = alone && by.thread == it.thread && by.signals >= it.signals;
        by.block == it.block && (by.barriers > it.barriers || own)
    }
}

/// The signals that threads of a block have awaited.
#[derive(Default)]
struct Awaited {
    /// Before the last barrier.
    common: Vec<u32>,
    /// Since then, by thread.
    own: FxHashMap<u32, Vec<u32>>,
}

impl Awaited {
    fn by(&self, thread: u32) -> Vec<u32> {
        let own = self.own.get(&thread).into_iter().flatten();
        own.chain(&self.common).copied().collect()
    }
}

/// The signals of a kernel.
#[derive(Default)]
pub(in crate::eval) struct Signals {
    all: Vec<Signal>,
    /// The last signal in each element.
    last: FxHashMap<(Pointer, usize), u32>,
    blocks: FxHashMap<i64, Awaited>,
    search: RefCell<Search>,
}

/// The storage of searches through signals.
#[derive(Default)]
struct Search {
    /// The signals found.
    open: Vec<u32>,
    /// The number of the last search that found each signal.
    seen: Vec<u64>,
    number: u64,
}

/// Adds a signal to the signals that a search has found.
fn visit(at: u32, open: &mut Vec<u32>, seen: &mut [u64], number: u64) {
    if let Some(seen) = seen.get_mut(at as usize)
        && std::mem::replace(seen, number) != number
    {
        open.push(at);
    }
}

impl Signals {
    /// Returns true if a thread knows of what another one did: of its own access if `alone`, else
    /// including concurrent accesses of others in its block.
    pub(super) fn happens_after(&self, now: Actor, it: Actor, alone: bool) -> bool {
        let Some(awaited) = self.blocks.get(&now.block) else {
            return false;
        };
        let mut search = self.search.borrow_mut();
        let Search { open, seen, number } = &mut *search;
        *number += 1;
        seen.resize(self.all.len(), 0);
        open.clear();
        // Signals that the thread itself awaited come first.
        let own = awaited.own.get(&now.thread).into_iter().flatten();
        own.chain(&awaited.common).for_each(|at| visit(*at, open, seen, *number));
        let mut next = 0;
        while let Some(at) = open.get(next) {
            let Some(signal) = self.all.get(*at as usize) else {
                return false;
            };
            if signal.is_behind(it, alone) {
                return true;
            }
            next += 1;
            signal.awaited.iter().for_each(|at| visit(*at, open, seen, *number));
        }
        false
    }

    /// A thread signals an element.
    pub(super) fn send(&mut self, by: Actor, at: (Pointer, usize)) {
        let awaited = self.blocks.get(&by.block);
        let awaited = awaited.map_or_else(Vec::new, |awaited| awaited.by(by.thread));
        self.last.insert(at, self.all.len() as u32);
        self.all.push(Signal { by, awaited });
    }

    /// A thread has awaited an element.
    pub(super) fn await_signal(&mut self, now: Actor, at: (Pointer, usize)) {
        if let Some(&signal) = self.last.get(&at) {
            let awaited = self.blocks.entry(now.block).or_default();
            awaited.own.entry(now.thread).or_default().push(signal);
        }
    }

    /// The threads of a block pass a barrier.
    pub(super) fn barrier(&mut self, block: i64) {
        if let Some(Awaited { common, own }) = self.blocks.get_mut(&block) {
            // The order has no effect on the result.
            own.drain().for_each(|(_, awaited)| common.extend(awaited));
        }
    }

    /// A block has ended.
    pub(super) fn end(&mut self, block: i64) {
        self.blocks.remove(&block);
    }
}
