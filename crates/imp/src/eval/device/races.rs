//! Threads of a kernel that meet in memory.
//!
//! Threads of a block are in order where a barrier stands between what they do, those of a
//! group also where one of the group does; threads of different blocks where one knows of
//! what the other did ([`signals`](super::signals)). So of each place it is enough to know
//! who wrote, read and updated it last, as long as they are in order: who is in order with a later one is so with those before it, too. Of
//! several that are not, one stands for all of them: for those of a group or a block since
//! a barrier, or for those of different blocks, who meet all that follows.
//!
//! Atomic updates, signals among them, meet what reads and writes, not each other. Writes
//! may meet in buffers that the launch lists as `scattered`, if nobody reads what is written.

use super::signals::Signals;
use crate::eval::memory::Pointer;
use crate::eval::races::{Access, Label, Shadow};
use crate::eval::{Result, bug};
use std::fmt;
use std::ops::Range;

/// A thread at a point of its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::eval) struct Actor {
    pub(super) block: i64,
    pub(super) thread: i64,
    /// How many barriers it has passed.
    pub(super) phase: u32,
    /// Its group in the block.
    pub(super) group: i64,
    /// How many barriers of the group it has passed.
    pub(super) steps: u32,
    /// How many signals it has given.
    pub(super) signals: u32,
}

impl Actor {
    /// Whether another thread is one of its group.
    const fn is_beside(self, now: Self) -> bool {
        self.block == now.block && self.group == now.group
    }

    /// Whether a barrier stands between what it did and what a thread of its block does now.
    const fn is_behind_barrier(self, now: Self) -> bool {
        self.phase != now.phase || self.is_beside(now) && self.steps != now.steps
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} of block {}", self.thread, self.block)
    }
}

/// Who did something to a place, as far as others may meet them.
#[derive(Clone, Copy, Default)]
enum Group {
    /// Nobody.
    #[default]
    Nobody,
    /// One thread.
    One(Actor),
    /// Several of a group since one of its barriers; one of them.
    Neighbours(Actor),
    /// Several of a block since a barrier; one of them.
    Several(Actor),
    /// Several of different blocks; one of them.
    Blocks(Actor),
}

impl Group {
    /// One of the group that is not in order with a thread, if there is one.
    fn meets(self, now: Actor, signals: &Signals) -> Option<Actor> {
        match self {
            Self::Nobody => None,
            Self::One(other) => {
                let ordered = if other.block == now.block {
                    other.is_behind_barrier(now) || other.thread == now.thread
                } else {
                    signals.knows(now, other, true)
                };
                (!ordered).then_some(other)
            }
            Self::Neighbours(other) => {
                let ordered = if other.block == now.block {
                    other.is_behind_barrier(now)
                } else {
                    signals.knows(now, other, false)
                };
                (!ordered).then_some(other)
            }
            Self::Several(other) => {
                let ordered = if other.block == now.block {
                    other.phase != now.phase
                } else {
                    signals.knows(now, other, false)
                };
                (!ordered).then_some(other)
            }
            Self::Blocks(other) => Some(other),
        }
    }

    fn add(&mut self, now: Actor, signals: &Signals) {
        *self = match (self.meets(now, signals), *self) {
            (None, _) => Self::One(now),
            (Some(other), Self::One(_) | Self::Neighbours(_)) if other.is_beside(now) => {
                Self::Neighbours(other)
            }
            (Some(other), Self::One(_) | Self::Neighbours(_) | Self::Several(_))
                if other.block == now.block =>
            {
                Self::Several(other)
            }
            (Some(other), _) => Self::Blocks(other),
        };
    }
}

/// What a kernel has done to a place.
#[derive(Clone, Copy, Default)]
pub(in crate::eval) struct Cell {
    /// Which kernel.
    launch: u32,
    writers: Group,
    readers: Group,
    updaters: Group,
}

/// A kernel that runs.
pub(in crate::eval) struct Running {
    pub(super) label: Label,
    /// Its number among all kernels so far, from 1.
    pub(super) number: u32,
    /// Blocks of memory where threads may write the same place.
    pub(super) scattered: Vec<Pointer>,
    /// Whose turn it is.
    pub(super) now: Actor,
    /// What threads know of other blocks.
    pub(super) signals: Signals,
    /// How often an element has changed that may be a signal.
    pub(super) changes: u64,
}

impl Running {
    /// The thread gives a signal in an element.
    pub(in crate::eval) fn give(&mut self, at: Pointer, byte: usize) {
        self.signals.give(self.now, (at, byte));
        self.now.signals += 1;
    }

    /// The thread has awaited an element.
    pub(in crate::eval) fn hear(&mut self, at: Pointer, byte: usize) {
        self.signals.hear(self.now, (at, byte));
    }

    /// An element was updated.
    pub(in crate::eval) fn changed(&mut self) {
        self.changes += 1;
    }

    /// Takes note of an access to bytes of a block of memory of so many; an error if
    /// other threads must not have done what they did there.
    pub(in crate::eval) fn note(
        &self,
        shadow: &mut Shadow<Cell>,
        (at, block, size): (Pointer, &Label, usize),
        bytes: Range<usize>,
        access: Access,
    ) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        for (byte, cell) in shadow.over(&bytes, size) {
            if cell.launch != self.number {
                *cell = Cell { launch: self.number, ..Cell::default() };
            }
            let now = self.now;
            let signals = &self.signals;
            let writer = cell.writers.meets(now, signals).map(|it| (it, Access::Write));
            let reader = cell.readers.meets(now, signals).map(|it| (it, Access::Read));
            let updater = cell.updaters.meets(now, signals).map(|it| (it, Access::Update));
            let other = match access {
                Access::Read => writer.or(updater),
                Access::Write if self.scattered.contains(&at) => reader.or(updater),
                Access::Write => writer.or(reader).or(updater),
                Access::Update => writer.or(reader),
            };
            if let Some((other, before)) = other {
                return bug(format!(
                    "{other} and {now} of {} meet in byte {byte} of block {block}: one {} it \
                     and the other {} it",
                    self.label,
                    before.verb(),
                    access.verb(),
                ));
            }
            match access {
                Access::Read => cell.readers.add(now, signals),
                Access::Write => cell.writers.add(now, signals),
                Access::Update => cell.updaters.add(now, signals),
            }
        }
        Ok(())
    }
}
