//! Threads of a kernel that meet in memory.
//!
//! Threads of a block are in order where a barrier stands between what they do; threads
//! of different blocks never are while the kernel runs. So of each place it is enough to
//! know who wrote, read and updated it since the block's last barrier, and whether other
//! blocks have: whatever came before is in order with a thread of the same block, and a
//! thread of another block meets the later access as well as the earlier one.
//!
//! Atomic updates meet what reads and writes, not each other. Writes may meet in buffers
//! that the launch lists as `scattered`, if nobody reads what is written.

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
    /// Several of a block since a barrier; one of them.
    Several(Actor),
    /// Several of different blocks; one of them.
    Blocks(Actor),
}

impl Group {
    /// One of the group that is not in order with a thread, if there is one.
    fn meets(self, now: Actor) -> Option<Actor> {
        match self {
            Self::Nobody => None,
            Self::One(other) => {
                let ordered = other.block == now.block
                    && (other.phase != now.phase || other.thread == now.thread);
                (!ordered).then_some(other)
            }
            Self::Several(other) => {
                let ordered = other.block == now.block && other.phase != now.phase;
                (!ordered).then_some(other)
            }
            Self::Blocks(other) => Some(other),
        }
    }

    fn add(&mut self, now: Actor) {
        *self = match *self {
            Self::Nobody => Self::One(now),
            Self::One(other) | Self::Several(other) if other.block != now.block => {
                Self::Blocks(other)
            }
            Self::One(other) if other.phase == now.phase && other.thread != now.thread => {
                Self::Several(other)
            }
            Self::Several(other) if other.phase == now.phase => Self::Several(other),
            Self::One(_) | Self::Several(_) => Self::One(now),
            Self::Blocks(other) => Self::Blocks(other),
        }
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
}

impl Running {
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
                *cell = Cell {
                    launch: self.number,
                    ..Cell::default()
                };
            }
            let now = self.now;
            let writer = cell.writers.meets(now).map(|it| (it, Access::Write));
            let reader = cell.readers.meets(now).map(|it| (it, Access::Read));
            let updater = cell.updaters.meets(now).map(|it| (it, Access::Update));
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
                Access::Read => cell.readers.add(now),
                Access::Write => cell.writers.add(now),
                Access::Update => cell.updaters.add(now),
            }
        }
        Ok(())
    }
}
