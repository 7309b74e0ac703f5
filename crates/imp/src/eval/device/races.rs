//! Race detection for the threads of a kernel.
//!
//! Accesses of threads of a block are ordered by a barrier between them, those of a subgroup also
//! by a subgroup barrier; accesses of threads of different blocks if one knows of the other's
//! access ([`signals`](super::signals)). So for each byte the last writer, reader and updater
//! suffice, as long as they are ordered: a later thread that is ordered after the last one is
//! ordered after those before it too. Of several unordered ones, one represents all of them: those
//! of a subgroup or a block since a barrier, or those of different blocks, which race with every
//! later access.
//!
//! Atomic updates, including signals, race with reads and writes, not with each other. Concurrent
//! writes are allowed in buffers that the launch lists as `scattered`, if the written bytes are not
//! read.

use super::signals::Signals;
use crate::eval::memory::Pointer;
use crate::eval::races::{Access, Label, Shadow};
use crate::eval::{Result, bug};
use std::fmt;
use std::ops::Range;

/// A thread at a point in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::eval) struct Actor {
    pub(super) block: i64,
    pub(super) thread: i64,
    /// The number of barriers that it has passed.
    pub(super) barriers: u32,
    /// Its subgroup in the block.
    pub(super) group: i64,
    /// The number of subgroup barriers that it has passed.
    pub(super) subgroup_barriers: u32,
    /// The number of signals that it has sent.
    pub(super) signals: u32,
}

impl Actor {
    /// Returns true if another thread is in the same subgroup.
    const fn in_same_subgroup(self, now: Self) -> bool {
        self.block == now.block && self.group == now.group
    }

    /// Returns true if a barrier orders its access before the current access of a thread in the
    /// same block.
    const fn is_behind_barrier(self, now: Self) -> bool {
        self.barriers != now.barriers
            || self.in_same_subgroup(now) && self.subgroup_barriers != now.subgroup_barriers
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} of block {}", self.thread, self.block)
    }
}

/// The threads that accessed a byte, as far as later ones may race with them.
#[derive(Clone, Copy, Default)]
enum Accessors {
    #[default]
    Nobody,
    One(Actor),
    /// Several of a subgroup since one of its barriers; one of them is kept.
    Subgroup(Actor),
    /// Several of a block since a barrier; one of them is kept.
    Block(Actor),
    /// Several of different blocks; one of them is kept.
    Grid(Actor),
}

impl Accessors {
    /// A thread of the set that is not ordered before the current one, if there is one.
    fn meets(self, now: Actor, signals: &Signals) -> Option<Actor> {
        match self {
            Self::Nobody => None,
            Self::One(other) => {
                let ordered = if other.block == now.block {
                    other.is_behind_barrier(now) || other.thread == now.thread
                } else {
                    signals.happens_after(now, other, true)
                };
                (!ordered).then_some(other)
            }
            Self::Subgroup(other) => {
                let ordered = if other.block == now.block {
                    other.is_behind_barrier(now)
                } else {
                    signals.happens_after(now, other, false)
                };
                (!ordered).then_some(other)
            }
            Self::Block(other) => {
                let ordered = if other.block == now.block {
                    other.barriers != now.barriers
                } else {
                    signals.happens_after(now, other, false)
                };
                (!ordered).then_some(other)
            }
            Self::Grid(other) => Some(other),
        }
    }

    fn add(&mut self, now: Actor, signals: &Signals) {
        *self = match (self.meets(now, signals), *self) {
            (None, _) => Self::One(now),
            (Some(other), Self::One(_) | Self::Subgroup(_)) if other.in_same_subgroup(now) => {
                Self::Subgroup(other)
            }
            (Some(other), Self::One(_) | Self::Subgroup(_) | Self::Block(_)) if other.block == now.block => {
                Self::Block(other)
            }
            (Some(other), _) => Self::Grid(other),
        };
    }
}

/// The accesses of a kernel to a byte.
#[derive(Clone, Copy, Default)]
pub(in crate::eval) struct Cell {
    /// The kernel's number.
    launch: u32,
    writers: Accessors,
    readers: Accessors,
    updaters: Accessors,
}

/// A running kernel.
pub(in crate::eval) struct Running {
    pub(super) label: Label,
    /// Its number among all kernels so far, from 1.
    pub(super) number: u32,
    /// Blocks of memory where threads may write the same location.
    pub(super) scattered: Vec<Pointer>,
    /// The current thread.
    pub(super) now: Actor,
    /// The threads' knowledge of other blocks.
    pub(super) signals: Signals,
    /// The number of changes of elements that may be signals.
    pub(super) changes: u64,
}

impl Running {
    /// The current thread signals an element.
    pub(in crate::eval) fn give(&mut self, at: Pointer, byte: usize) {
        self.signals.send(self.now, (at, byte));
        self.now.signals += 1;
    }

    /// The current thread has awaited an element.
    pub(in crate::eval) fn hear(&mut self, at: Pointer, byte: usize) {
        self.signals.await_signal(self.now, (at, byte));
    }

    /// An element was updated.
    pub(in crate::eval) fn changed(&mut self) {
        self.changes += 1;
    }

    /// Records an access to bytes of a block of memory of this size; fails if it races with an
    /// earlier one.
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
