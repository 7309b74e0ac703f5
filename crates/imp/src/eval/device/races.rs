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
use crate::eval::{Result, bug, limit};
use std::cell::Cell;
use std::fmt;
use std::ops::Range;

/// A thread at a point in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::eval) struct Actor {
    pub(super) block: i64,
    pub(super) thread: u32,
    /// The number of barriers that it has passed.
    pub(super) barriers: u32,
    /// Its subgroup in the block.
    pub(super) group: u32,
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

/// The threads that accessed a byte, as far as later ones may race with them: the number of a
/// thread at a point in time ([`RunningKernel::number`]), and a [`Kind`] in the last two bits. Numbers are
/// unique in an evaluation, so those below the kernel's first one are of earlier kernels.
#[derive(Clone, Copy, Default)]
struct Accessors(u32);

/// The kind of the accessors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One thread.
    One,
    /// Several of a subgroup since one of its barriers; one of them is kept.
    Subgroup,
    /// Several of a block since a barrier; one of them is kept.
    Block,
    /// Several of different blocks; one of them is kept.
    Grid,
}

impl Accessors {
    fn new(number: u32, kind: Kind) -> Self {
        Self(number << 2 | kind as u32)
    }

    const fn number(self) -> u32 {
        self.0 >> 2
    }

    const fn kind(self) -> Kind {
        match self.0 & 3 {
            0 => Kind::One,
            1 => Kind::Subgroup,
            2 => Kind::Block,
            _ => Kind::Grid,
        }
    }
}

/// The accesses of a kernel to a byte.
#[derive(Clone, Copy, Default)]
pub(in crate::eval) struct Accesses {
    writers: Accessors,
    readers: Accessors,
    updaters: Accessors,
}

/// A running kernel.
pub(in crate::eval) struct RunningKernel {
    label: Label,
    /// Blocks of memory where threads may write the same location.
    scattered: Vec<Pointer>,
    /// The current thread, and its number.
    now: Actor,
    number: u32,
    /// The threads at points in time, in the order of their numbers from `first` on.
    actors: Vec<Actor>,
    first: u32,
    /// The threads' knowledge of other blocks.
    pub(super) signals: Signals,
    /// Recent results of [`Signals::happens_after`]: numbers of threads, and accessors that happened
    /// before.
    known: [Cell<(u32, u32)>; 8],
    /// The number of changes of elements that may be signals.
    pub(super) changes: u64,
}

impl RunningKernel {
    /// A kernel before its first thread; `first` is above the numbers of earlier kernels.
    pub(super) fn new(label: Label, scattered: Vec<Pointer>, first: u32) -> Self {
        let now = Actor { block: 0, thread: 0, barriers: 0, group: 0, subgroup_barriers: 0, signals: 0 };
        Self {
            label,
            scattered,
            now,
            number: first,
            actors: vec![now],
            first,
            signals: Signals::default(),
            known: Default::default(),
            changes: 0,
        }
    }

    /// The kernel's printed name.
    pub(super) const fn label(&self) -> &Label {
        &self.label
    }

    /// The number for the first thread of the next kernel.
    pub(super) fn end(&self) -> u32 {
        self.first + self.actors.len() as u32
    }

    /// The number of signals that the current thread has sent.
    pub(super) const fn signals_sent(&self) -> u32 {
        self.now.signals
    }

    /// The number of the current thread at this time.
    #[inline]
    pub(super) const fn number(&self) -> u32 {
        self.number
    }

    /// Sets the current thread, by its number, or if that is 0 as given, with a new number.
    pub(super) fn switch(&mut self, number: u32, now: impl FnOnce() -> Actor) -> Result<()> {
        let known = number.checked_sub(self.first).and_then(|i| self.actors.get(i as usize));
        if let Some(known) = known {
            (self.now, self.number) = (*known, number);
            return Ok(());
        }
        (self.now, self.number) = (now(), self.end());
        if self.number >= u32::MAX >> 2 {
            return limit("too many barriers");
        }
        self.actors.push(self.now);
        Ok(())
    }

    /// The current thread signals an element.
    pub(in crate::eval) fn give(&mut self, at: Pointer, byte: usize) -> Result<()> {
        self.signals.send(self.now, (at, byte));
        let now = Actor { signals: self.now.signals + 1, ..self.now };
        self.switch(0, || now)
    }

    /// The current thread has awaited an element.
    pub(in crate::eval) fn await_signal(&mut self, at: Pointer, byte: usize) {
        self.signals.await_signal(self.now, (at, byte));
    }

    /// An element was updated.
    pub(in crate::eval) fn changed(&mut self) {
        self.changes += 1;
    }

    /// A thread of the set that is not ordered before the current one, if there is one.
    #[inline]
    fn meets(&self, accessors: Accessors) -> Option<Actor> {
        let number = accessors.number();
        if number < self.first || number == self.number && accessors.kind() == Kind::One {
            return None;
        }
        self.unordered(accessors)
    }

    fn unordered(&self, accessors: Accessors) -> Option<Actor> {
        let now = self.now;
        let other = *self.actors.get((accessors.number() - self.first) as usize)?;
        let ordered = match accessors.kind() {
            Kind::One if other.block == now.block => {
                other.is_behind_barrier(now) || other.thread == now.thread
            }
            Kind::Subgroup if other.block == now.block => other.is_behind_barrier(now),
            Kind::Block if other.block == now.block => other.barriers != now.barriers,
            kind @ (Kind::One | Kind::Subgroup | Kind::Block) => {
                // What a thread knows of others it does not forget.
                let known = &self.known[accessors.number() as usize % self.known.len()];
                let pair = (self.number, accessors.0);
                let ordered =
                    known.get() == pair || self.signals.happens_after(now, other, kind == Kind::One);
                if ordered {
                    known.set(pair);
                }
                ordered
            }
            Kind::Grid => false,
        };
        (!ordered).then_some(other)
    }

    /// The set with the current thread, and of those in it only the one that it meets.
    fn with_current(&self, accessors: Accessors, met: Option<Actor>) -> Accessors {
        let now = self.now;
        let kind = match (met, accessors.kind()) {
            (None, _) => return Accessors::new(self.number, Kind::One),
            (Some(other), Kind::One | Kind::Subgroup) if other.in_same_subgroup(now) => Kind::Subgroup,
            (Some(other), Kind::One | Kind::Subgroup | Kind::Block) if other.block == now.block => {
                Kind::Block
            }
            (Some(_), _) => Kind::Grid,
        };
        Accessors::new(accessors.number(), kind)
    }

    /// Records an access to bytes of a block of memory of this size; fails if it races with an
    /// earlier one.
    #[inline]
    pub(in crate::eval) fn note(
        &self,
        shadow: &mut Shadow<Accesses>,
        known: (Pointer, &Label, usize),
        bytes: Range<usize>,
        access: Access,
    ) -> Result<()> {
        if let Some(cell) = shadow.single(&bytes) {
            return self.note_cell(cell, known, bytes.start, access);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        for (byte, cell) in shadow.over(&bytes, known.2) {
            self.note_cell(cell, known, byte, access)?;
        }
        Ok(())
    }

    fn note_cell(
        &self,
        cell: &mut Accesses,
        (at, block, _): (Pointer, &Label, usize),
        byte: usize,
        access: Access,
    ) -> Result<()> {
        let writer = self.meets(cell.writers);
        let updater = self.meets(cell.updaters);
        let reader = self.meets(cell.readers);
        let with_access = |other: Option<Actor>, access: Access| other.map(|other| (other, access));
        let [writes, reads, updates] = [
            with_access(writer, Access::Write),
            with_access(reader, Access::Read),
            with_access(updater, Access::Update),
        ];
        let other = match access {
            Access::Read => writes.or(updates),
            Access::Write if writes.is_some() && self.scattered.contains(&at) => reads.or(updates),
            Access::Write => writes.or(reads).or(updates),
            Access::Update => writes.or(reads),
        };
        if let Some((other, before)) = other {
            let now = self.now;
            return bug(format!(
                "{other} and {now} of {} meet in byte {byte} of block {block}: one {} it and the \
                 other {} it",
                self.label,
                before.verb(),
                access.verb(),
            ));
        }
        match access {
            Access::Read => cell.readers = self.with_current(cell.readers, reader),
            Access::Write => cell.writers = self.with_current(cell.writers, writer),
            Access::Update => cell.updaters = self.with_current(cell.updaters, updater),
        }
        Ok(())
    }
}
