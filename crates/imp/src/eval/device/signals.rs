//! What threads know of what other blocks have done, by the signals that they awaited.
//!
//! A signal hands on what the thread that gives it has done so far, what its block has done
//! before the last barrier, and the signals that they have heard. Whoever awaits it knows all
//! of that from then on, and at the next barrier its whole block does. What a thread did is
//! counted by the barriers that its block had passed and by the signals that it had given.
//!
//! Other atomic operations hand nothing on, and leave with an element what a signal gave it.

use super::races::Actor;
use crate::eval::memory::Pointer;
use rustc_hash::{FxHashMap, FxHashSet};

/// A signal.
struct Signal {
    /// Who gave it, and when.
    by: Actor,
    /// The numbers of those that were heard before.
    heard: Vec<u32>,
}

impl Signal {
    /// Whether it stands behind what a thread did, and where that was not alone, others of its
    /// block beside it.
    fn is_behind(&self, it: Actor, alone: bool) -> bool {
        let by = self.by;
        let own = alone && by.thread == it.thread && by.signals >= it.signals;
        by.block == it.block && (by.phase > it.phase || own)
    }
}

/// The signals that threads of a block have heard.
#[derive(Default)]
struct Heard {
    /// Before the last barrier.
    common: Vec<u32>,
    /// Since then, by thread.
    own: FxHashMap<i64, Vec<u32>>,
}

impl Heard {
    fn by(&self, thread: i64) -> Vec<u32> {
        let own = self.own.get(&thread).into_iter().flatten();
        own.chain(&self.common).copied().collect()
    }
}

/// The signals of a kernel.
#[derive(Default)]
pub(in crate::eval) struct Signals {
    all: Vec<Signal>,
    /// The last one in each element.
    last: FxHashMap<(Pointer, usize), u32>,
    blocks: FxHashMap<i64, Heard>,
}

impl Signals {
    /// Whether a thread knows of what another one did, or where that was not alone, of what
    /// others of its block did beside it.
    pub(super) fn knows(&self, now: Actor, it: Actor, alone: bool) -> bool {
        let Some(heard) = self.blocks.get(&now.block) else {
            return false;
        };
        let mut open = heard.by(now.thread);
        let mut seen: FxHashSet<u32> = open.iter().copied().collect();
        // What was heard at first hand comes first.
        let mut next = 0;
        while let Some(at) = open.get(next) {
            let Some(signal) = self.all.get(*at as usize) else {
                return false;
            };
            if signal.is_behind(it, alone) {
                return true;
            }
            next += 1;
            open.extend(signal.heard.iter().filter(|at| seen.insert(**at)));
        }
        false
    }

    /// A thread gives a signal in an element.
    pub(super) fn give(&mut self, by: Actor, at: (Pointer, usize)) {
        let heard = self.blocks.get(&by.block);
        let heard = heard.map_or_else(Vec::new, |heard| heard.by(by.thread));
        self.last.insert(at, self.all.len() as u32);
        self.all.push(Signal { by, heard });
    }

    /// A thread has awaited what stands in an element.
    pub(super) fn hear(&mut self, now: Actor, at: (Pointer, usize)) {
        if let Some(&signal) = self.last.get(&at) {
            let heard = self.blocks.entry(now.block).or_default();
            heard.own.entry(now.thread).or_default().push(signal);
        }
    }

    /// The threads of a block pass a barrier.
    pub(super) fn barrier(&mut self, block: i64) {
        if let Some(Heard { common, own }) = self.blocks.get_mut(&block) {
            // In any order it comes to the same.
            own.drain().for_each(|(_, heard)| common.extend(heard));
        }
    }

    /// A block has ended.
    pub(super) fn end(&mut self, block: i64) {
        self.blocks.remove(&block);
    }
}
