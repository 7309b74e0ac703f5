//! Race detection for iterations that may run in any order.
//!
//! A clock counts loops whose iterations may run in any order, and their iterations. Each memory
//! cell has the times of its last write and last read by an iteration; an access that happened
//! inside a running loop, but before the loop's current iteration began, was in another iteration,
//! and that suffices to detect a race:
//!
//! ```text
//! loop begins at 3    iterations at 4, 5, 9    now is 11
//!                       loop in the last one begins at 10, iterations at 11
//! written at 5: by another iteration of the outer loop
//! written at 9: by this iteration, before the inner loop began
//! ```
//!
//! A reader is replaced by a later one only if the two are in one iteration, and likewise a writer:
//! so no race is missed that an order of the iterations could expose. This is Feng and Leiserson's
//! argument for fork-join programs.
//!
//! **Concurrent writes.** A scatter may write one element from several tasks, and any of the values
//! may remain: a launch lists the buffers where this may happen as `scattered`. Two iterations of
//! that loop may write the same bytes there, provided that no iteration reads them. All other races
//! are errors: bytes both written and read, buffers that no loop lists, and other independent
//! iterations.

use super::memory::Pointer;
use super::{Result, bug, limit};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The printed name of a loop or block.
#[derive(Clone, Debug)]
pub(super) enum Label {
    /// A variable.
    Var(Arc<str>, u32),
    /// A task loop.
    Tasks(Arc<str>, u32),
    /// A kernel.
    Grid(Arc<str>, u32),
    /// An argument of the entry point.
    Argument(Arc<str>),
    /// Constant data.
    Data(usize),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Var(hint, number) => write!(f, "{hint}_{number}"),
            Self::Tasks(name, id) => write!(f, "tasks#{id} \"{name}\""),
            Self::Grid(name, id) => write!(f, "grid#{id} \"{name}\""),
            Self::Argument(name) => write!(f, "the argument {name}"),
            Self::Data(number) => write!(f, "data#{number}"),
        }
    }
}

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Read,
    Write,
    /// An atomic operation of a device thread.
    Update,
}

impl Access {
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Update => "updates",
        }
    }
}

/// A running loop whose iterations may run in any order.
pub(super) struct RunningLoop {
    pub(super) label: Label,
    /// Blocks where iterations may write the same location.
    pub(super) scattered: Vec<Pointer>,
}

struct Open {
    running: RunningLoop,
    begin: u32,
    /// The start time of the current iteration.
    now: u32,
    /// The start time and index of each iteration so far.
    iterations: Vec<(u32, i64)>,
}

impl Open {
    /// Returns true if the time is in another iteration of this loop than the current one.
    fn in_other_iteration(&self, time: u32) -> bool {
        self.begin <= time && time < self.now
    }

    fn iteration_at(&self, time: u32) -> i64 {
        let after = self.iterations.partition_point(|(begin, _)| *begin <= time);
        let found = after.checked_sub(1).and_then(|at| self.iterations.get(at));
        found.map_or(0, |(_, iteration)| *iteration)
    }
}

/// The running loops, outermost first.
#[derive(Default)]
pub(super) struct Races {
    clock: u32,
    loops: Vec<Open>,
    /// The beginning of the outermost loop, and of the innermost loop's current iteration: only
    /// what happened between was in another iteration.
    window: Range<u32>,
}

/// The times of the last writes and reads of a block in loops. A cell covers as many bytes as no
/// access so far has split.
pub(super) struct Shadow<C = [u32; 2]> {
    cell_bytes: usize,
    cells: Vec<C>,
}

impl Races {
    fn tick(&mut self) -> Result<u32> {
        match self.clock.checked_add(1) {
            Some(now) => {
                self.clock = now;
                Ok(now)
            }
            None => limit("too many iterations"),
        }
    }

    /// A loop begins.
    pub(super) fn begin(&mut self, running: RunningLoop) -> Result<()> {
        let begin = self.tick()?;
        self.loops.push(Open { running, begin, now: begin, iterations: Vec::new() });
        self.set_window();
        Ok(())
    }

    fn set_window(&mut self) {
        self.window = match (self.loops.first(), self.loops.last()) {
            (Some(first), Some(last)) => first.begin..last.now,
            _ => 0..0,
        };
    }

    /// The next iteration of the innermost loop begins.
    pub(super) fn next(&mut self, iteration: i64) -> Result<()> {
        let now = self.tick()?;
        if let Some(open) = self.loops.last_mut() {
            open.iterations.push((now, iteration));
            open.now = now;
            self.window.end = now;
        }
        Ok(())
    }

    /// The innermost loop ends.
    pub(super) fn end(&mut self) {
        self.loops.pop();
        self.set_window();
    }

    /// The loop in another iteration of which something happened, if any.
    #[inline]
    fn elsewhere(&self, time: u32) -> Option<&Open> {
        if !self.window.contains(&time) {
            return None;
        }
        self.loops.iter().find(|open| open.in_other_iteration(time))
    }

    /// Records an access to bytes of a block of this size; fails if it races with another
    /// iteration.
    #[inline]
    pub(super) fn record(
        &self,
        shadow: &mut Shadow,
        known: (Pointer, &Label, usize),
        bytes: Range<usize>,
        access: Access,
    ) -> Result<()> {
        if self.loops.is_empty() {
            return Ok(());
        }
        if let Some(cell) = shadow.single(&bytes)
            && self.is_free(cell, access)
        {
            return Ok(());
        }
        self.record_cells(shadow, known, bytes, access)
    }

    /// Records an access to a cell if it is certain that it does not race.
    #[inline]
    fn is_free(&self, [written, read]: &mut [u32; 2], access: Access) -> bool {
        if self.window.contains(written) {
            return false;
        }
        match access {
            Access::Read => {
                if self.elsewhere(*read).is_none() {
                    *read = self.clock;
                }
                true
            }
            Access::Write if !self.window.contains(read) => {
                *written = self.clock;
                true
            }
            Access::Write | Access::Update => false,
        }
    }

    fn record_cells(
        &self,
        shadow: &mut Shadow,
        (at, block, size): (Pointer, &Label, usize),
        bytes: Range<usize>,
        access: Access,
    ) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        shadow.divide(&bytes, size);
        let grain = shadow.cell_bytes;
        for i in bytes.start / grain..bytes.end.div_ceil(grain) {
            if self.is_free(&mut shadow.cells[i], access) {
                continue;
            }
            let [written, read] = shadow.cells[i];
            let writer = self.elsewhere(written);
            let reader = self.elsewhere(read);
            let race = |open: &Open, time: u32, other: Access| {
                let (old, new) = (open.iteration_at(time), open.iteration_at(self.clock));
                bug(format!(
                    "iterations {old} and {new} of {} meet in byte {} of block {block}: \
                     one {} it and the other {} it",
                    open.running.label,
                    i * grain,
                    other.verb(),
                    access.verb(),
                ))
            };
            match (access, writer, reader) {
                (Access::Read, Some(open), _) => return race(open, written, Access::Write),
                (Access::Update, _, _) => return bug("an atomic update outside of a kernel"),
                (Access::Write, Some(open), _) if !open.running.scattered.contains(&at) => {
                    return race(open, written, Access::Write);
                }
                (Access::Write, _, Some(open)) => return race(open, read, Access::Read),
                (Access::Read, None, None) => shadow.cells[i][1] = self.clock,
                (Access::Write, None, None) => shadow.cells[i][0] = self.clock,
                (Access::Read, None, Some(_)) | (Access::Write, Some(_), None) => {}
            }
        }
        Ok(())
    }
}

impl<C> Default for Shadow<C> {
    fn default() -> Self {
        Self { cell_bytes: 0, cells: Vec::new() }
    }
}

impl<C: Copy + Default> Shadow<C> {
    /// The cells of bytes of a block of this size, each with its first byte.
    pub(super) fn over(
        &mut self,
        bytes: &Range<usize>,
        size: usize,
    ) -> impl Iterator<Item = (usize, &mut C)> {
        self.divide(bytes, size);
        let grain = self.cell_bytes;
        let cells = bytes.start / grain..bytes.end.div_ceil(grain);
        let first = cells.start;
        let cells = self.cells.get_mut(cells).unwrap_or_default().iter_mut();
        cells.enumerate().map(move |(i, cell)| ((first + i) * grain, cell))
    }

    /// The cell of exactly these bytes.
    #[inline]
    pub(super) fn single(&mut self, bytes: &Range<usize>) -> Option<&mut C> {
        if self.cells.is_empty() || bytes.len() != self.cell_bytes {
            return None;
        }
        let shift = self.cell_bytes.trailing_zeros();
        let i = bytes.start >> shift;
        if i << shift == bytes.start { self.cells.get_mut(i) } else { None }
    }

    /// Forgets all accesses.
    pub(super) fn clear(&mut self) {
        self.cells.clear();
    }

    /// Splits cells so that none crosses either end of these bytes.
    fn divide(&mut self, bytes: &Range<usize>, size: usize) {
        let ends = bytes.start | bytes.end;
        let fits = |grain: usize| ends.is_multiple_of(grain);
        if self.cells.is_empty() {
            self.cell_bytes = [8, 4, 2].into_iter().find(|g| fits(*g)).unwrap_or(1);
            self.cells.resize(size.div_ceil(self.cell_bytes), C::default());
        } else if !fits(self.cell_bytes) {
            let grain = [4, 2].into_iter().find(|g| *g < self.cell_bytes && fits(*g));
            let grain = grain.unwrap_or(1);
            let each = self.cell_bytes / grain;
            let cells = self.cells.iter();
            self.cells = cells.flat_map(|cell| std::iter::repeat_n(*cell, each)).collect();
            self.cell_bytes = grain;
        }
    }
}
