//! Levels of parallel hardware, machines as stacks of them, and the default thresholds of versions
//! that use them (design section 5; incremental flattening, section 2).
//!
//! A segop is at a level. It may contain segops of another level only where the table of levels and
//! the machine's stack allow it; a combinator for which no level is left becomes a loop. A machine
//! `thread` has no levels: everything is sequential.

use crate::memories::MemoryId;
use std::ops::Deref;

/// A level of parallel hardware; it dereferences to its row in the table of levels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LevelId {
    /// The SIMD lanes of one worker.
    Lanes,
    /// Tasks over all workers.
    Tasks,
    /// The threads of one block.
    Block,
    /// All threads of all blocks.
    Grid,
}

/// A row in the table of levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    /// The name in programs.
    pub name: &'static str,
    /// The levels that it may contain, where the machine has them.
    pub contains: &'static [LevelId],
    /// True if its iterations may take arbitrarily different times, so that it can run maps;
    /// otherwise it runs only reductions and scans, whose iterations proceed in lockstep.
    pub runs_maps: bool,
    /// The number of simultaneous iterations that keep it busy: a segop with fewer has no use for
    /// the level.
    pub width: i64,
    /// The number of iterations from which on a version without further parallelism is taken by
    /// default; for a device's block, the number that fills it.
    pub threshold: i64,
}

/// The number of iterations that keeps most devices busy (incremental flattening, section 5). When
/// a device is opened that reports the number of its resident threads, that number replaces it.
pub const GRID_ITERATIONS: i64 = 1 << 15;

/// The total number of busy threads from which on blocks with inner parallelism pay: a smaller
/// kernel ends soon, but the alternative with many launches takes longer.
pub const BLOCK_THREADS: i64 = 1 << 14;

impl Deref for LevelId {
    type Target = Level;

    fn deref(&self) -> &Level {
        match self {
            Self::Lanes => &Level { name: "lanes", contains: &[], runs_maps: false, width: 8, threshold: 8 },
            Self::Tasks => &Level {
                name: "tasks",
                contains: &[Self::Tasks, Self::Lanes],
                runs_maps: true,
                width: 2,
                threshold: TASK_THRESHOLD,
            },
            Self::Block => {
                &Level { name: "block", contains: &[], runs_maps: true, width: 32, threshold: 256 }
            }
            Self::Grid => &Level {
                name: "grid",
                contains: &[Self::Block],
                runs_maps: true,
                width: 32,
                threshold: GRID_ITERATIONS,
            },
        }
    }
}

impl LevelId {
    /// All levels.
    pub const ALL: [Self; 4] = [Self::Lanes, Self::Tasks, Self::Block, Self::Grid];

    /// The level of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name == name)
    }

    /// Returns true if it contains no other level.
    pub fn is_innermost(self) -> bool {
        self.contains.is_empty()
    }
}

/// The levels of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack {
    /// The name in programs and options.
    pub name: &'static str,
    /// The levels, outermost first.
    levels: &'static [LevelId],
    /// The memory of the arrays that its segops make.
    pub memory: MemoryId,
}

/// A CPU: tasks over all workers, in each of them further tasks or the lanes of its worker.
pub const CPU: Stack =
    Stack { name: "cpu", memory: MemoryId::Host, levels: &[LevelId::Tasks, LevelId::Lanes] };

/// A GPU: the grid, and in it blocks whose threads have shared memory and barriers.
pub const GPU: Stack =
    Stack { name: "gpu", memory: MemoryId::Device, levels: &[LevelId::Grid, LevelId::Block] };

/// One thread without lanes: any processor that a C compiler targets.
pub const THREAD: Stack = Stack { name: "thread", memory: MemoryId::Host, levels: &[] };

/// The number of iterations that keep the workers of a large machine evenly busy, without inner
/// tasks. Inner tasks cost arrays between them: the 16 iterations of LocVolCalib small take 277 ms
/// as tasks alone and 480 ms with inner tasks, on two cores.
const TASK_THRESHOLD: i64 = 16;
/// The same where inner tasks scan: as each element is then read twice, tasks alone win with fewer
/// iterations (`bench/run.py forced --case "scans 10x1000000"`: 2.4 ms instead of 3.3).
pub const ENOUGH_SCANS: i64 = TASK_THRESHOLD / 2;

/// Nested choices for tasks: three dimensions have enough tasks for all workers, or little work in
/// the others (`bench/run.py forced`).
const MOST_TASK_CHOICES: u32 = 2;
/// LocVolCalib has two nested choices, a matrix product too (`dev --machine gpu --stage versions`).
const MOST_CHOICES: u32 = 4;

impl Default for Stack {
    fn default() -> Self {
        CPU
    }
}

impl Stack {
    /// All stacks.
    pub const ALL: [Self; 3] = [CPU, GPU, THREAD];

    /// The stack of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stack| stack.name == name)
    }

    /// Returns true if segops run on a device, with memory of its own.
    pub fn has_device(self) -> bool {
        self.memory.is_remote()
    }

    /// The machine that drives the device; a machine without one is its own host.
    #[must_use]
    pub fn host(self) -> Self {
        if self.has_device() { CPU } else { self }
    }

    /// Returns true if the machine has parallelism.
    pub const fn is_parallel(self) -> bool {
        !self.levels.is_empty()
    }

    /// The level for segops outside of all others.
    pub fn outermost(self) -> Option<LevelId> {
        self.levels.first().copied()
    }

    /// Returns true if a segop at a level may be in one at another, or outside of all.
    pub fn may_contain(self, level: LevelId, outer: Option<LevelId>) -> bool {
        self.levels.contains(&level) && outer.is_none_or(|outer| outer.contains.contains(&level))
    }

    /// The level for maps in a segop at a level.
    pub fn for_maps(self, outer: LevelId) -> Option<LevelId> {
        self.inside(outer, true)
    }

    /// The level for reductions and scans only in a segop at a level.
    pub fn for_scans_and_reductions(self, outer: LevelId) -> Option<LevelId> {
        self.inside(outer, false)
    }

    /// Returns true if outermost segops may contain segops of their own level: then inner
    /// parallelism need not be flattened.
    pub fn nests(self) -> bool {
        self.outermost().is_some_and(|level| self.for_maps(level) == Some(level))
    }

    /// The number of choices between versions that may be nested, at the levels that have versions:
    /// each duplicates the rest of the nest.
    pub fn max_nested_choices(self) -> u32 {
        if self.nests() { MOST_TASK_CHOICES } else { MOST_CHOICES }
    }

    fn inside(self, outer: LevelId, maps: bool) -> Option<LevelId> {
        let mut inner = outer.contains.iter().copied();
        inner.find(|&level| level.runs_maps == maps && self.may_contain(level, Some(outer)))
    }
}

/// The number of iterations over all partial accumulators from which on lanes that share a row pay
/// for their initialisation and combination (`bench/run.py rows`; sums of 64 floats take half the
/// time, of 48 the same).
pub const ROUNDS_OF_ACCUMULATORS: i64 = 2;
/// The same where each element takes a loop, which is most of the work (maximum of 16 `i64` after
/// eight loop iterations each: a third of the time of a loop, on an AMD EPYC).
pub const ROUNDS_OF_LOOPS: i64 = 1;
/// The same where combining takes longer than adding: minima and maxima, pairs (400 floats take the
/// same time).
pub const ROUNDS_OF_CHOICES: i64 = 12;
/// The number of blocks from which on lanes that share a row pay for the remainder after the last
/// block (`bench/run.py rows`).
pub const ROUNDS_OF_BLOCKS: i64 = 2;

#[cfg(test)]
mod tests {
    use super::LevelId::{Block, Grid, Lanes, Tasks};
    use super::{CPU, GPU, LevelId, Stack, THREAD};

    #[test]
    fn tasks_contain_lanes_and_lanes_contain_nothing() {
        assert!(CPU.may_contain(Tasks, None) && CPU.may_contain(Lanes, Some(Tasks)));
        assert!(CPU.may_contain(Lanes, None) && CPU.may_contain(Tasks, Some(Tasks)));
        assert!(!CPU.may_contain(Lanes, Some(Lanes)));
        assert!(!CPU.may_contain(Tasks, Some(Lanes)) && !CPU.may_contain(Grid, None));
    }

    #[test]
    fn only_the_grid_contains_blocks() {
        assert!(GPU.may_contain(Grid, None) && GPU.may_contain(Block, Some(Grid)));
        assert!(!GPU.may_contain(Grid, Some(Grid)) && !GPU.may_contain(Block, Some(Block)));
    }

    #[test]
    fn inner_levels_for_maps_and_for_scans_and_reductions() {
        assert_eq!((CPU.for_maps(Tasks), CPU.for_scans_and_reductions(Tasks)), (Some(Tasks), Some(Lanes)));
        assert_eq!((CPU.for_maps(Lanes), CPU.for_scans_and_reductions(Lanes)), (None, None));
        assert_eq!((GPU.for_maps(Grid), GPU.for_scans_and_reductions(Grid)), (Some(Block), None));
    }

    #[test]
    fn tasks_nest_and_grids_do_not() {
        assert!(CPU.nests() && !GPU.nests());
    }

    #[test]
    fn a_thread_has_no_levels() {
        assert!(CPU.is_parallel() && GPU.is_parallel() && !THREAD.is_parallel());
        assert_eq!(THREAD.outermost(), None);
    }

    #[test]
    fn levels_are_found_by_name() {
        assert!(LevelId::ALL.iter().all(|it| LevelId::named(it.name) == Some(*it)));
    }

    #[test]
    fn stacks_are_found_by_name() {
        assert!(Stack::ALL.iter().all(|it| Stack::named(it.name) == Some(*it)));
        assert_eq!(Stack::named("abacus"), None);
    }
}
