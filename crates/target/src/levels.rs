//! A machine as a stack of levels of parallel hardware, and from where on versions that
//! use one are taken by default (design section 5; incremental flattening, section 2).
//!
//! A segop stands at a level. What runs at one may contain what runs at another only
//! where the stack says so; a combinator that no level below is left for is a loop.
//!
//! | stack | level 1 | contains | level 0 | contains |
//! |---|---|---|---|---|
//! | `cpu` | tasks over all workers | tasks, lanes | the lanes of one worker: reductions and scans only | nothing |
//! | `gpu` | grid: all threads of all blocks | block | the threads of one block | nothing |
//! | `thread` | none: everything runs in order | | none | |

/// A level of parallel hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    /// For people.
    pub name: &'static str,
    /// The levels that may stand inside of it.
    pub contains: &'static [u8],
    /// Whether its points may go on beside one another for as long as they like: else
    /// it is for reductions and scans, whose points are taken together.
    pub maps: bool,
    /// How many points at once keep it busy: what does not go on with fewer has no
    /// use for the level.
    pub width: i64,
    /// Points from which on a version is taken by default that has no more
    /// parallelism than these; of a block of a device, those that fill it.
    pub enough: i64,
}

/// The levels of a machine, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack {
    /// What it is called in programs and options.
    pub name: &'static str,
    levels: &'static [Level],
    /// Whether segops run on a device, with memory of its own.
    device: bool,
}

/// The SIMD lanes of one worker.
pub const LANES: u8 = 0;
/// Tasks over all workers.
pub const TASKS: u8 = 1;
/// The threads of one block.
pub const BLOCK: u8 = 0;
/// All threads of all blocks.
pub const GRID: u8 = 1;

/// A CPU: tasks over all workers, in each of them further tasks or the lanes of its
/// worker.
pub const CPU: Stack = Stack {
    name: "cpu",
    device: false,
    levels: &[
        Level { name: "lanes", contains: &[], maps: false, width: 8, enough: 8 },
        Level { name: "tasks", contains: &[LANES, TASKS], maps: true, width: 2, enough: ENOUGH_TASKS },
    ],
};

/// Points that keep most devices busy (incremental flattening, section 5). A device that says
/// how many threads it holds has these in their place when it is opened.
pub const GRID_POINTS: i64 = 1 << 15;

/// Threads of all blocks together that have something to do, from which on blocks with
/// parallelism inside pay: what has less is over soon, but in many launches it takes longer.
pub const BLOCK_THREADS: i64 = 1 << 14;

/// A GPU: the grid, and in it blocks whose threads share memory and wait for each other.
pub const GPU: Stack = Stack {
    name: "gpu",
    device: true,
    levels: &[
        Level { name: "block", contains: &[], maps: true, width: 32, enough: 256 },
        Level { name: "grid", contains: &[BLOCK], maps: true, width: 32, enough: GRID_POINTS },
    ],
};

/// One thread without lanes: whatever processor a C compiler makes code for.
pub const THREAD: Stack = Stack { name: "thread", device: false, levels: &[] };

/// Points that keep the workers of a large machine evenly busy, without tasks inside.
/// Tasks inside cost arrays between them: the 16 points of LocVolCalib small take 277 ms
/// as tasks alone and 480 ms with tasks inside, on two cores.
const ENOUGH_TASKS: i64 = 16;
/// The same where tasks inside scan: as each element is then read twice, tasks alone win with
/// fewer points (`bench/run.py forced --case "scans 10x1000000"`: 2.4 ms in place of 3.3).
pub const ENOUGH_SCANS: i64 = ENOUGH_TASKS / 2;

/// Tasks in tasks in tasks: three dimensions give enough of them for all workers, or there
/// is little in the others (`bench/run.py forced`).
const MOST_TASK_CHOICES: u32 = 2;
/// LocVolCalib has two choices inside one another, a matrix product too (`dev --machine gpu
/// --stage versions`).
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

    /// Whether segops run on a device, with memory of its own.
    pub const fn has_device(self) -> bool {
        self.device
    }

    /// The machine that a device is driven by; one without a device is its own.
    #[must_use]
    pub const fn host(self) -> Self {
        if self.device { CPU } else { self }
    }

    /// Whether anything can run side by side on it.
    pub const fn is_parallel(self) -> bool {
        !self.levels.is_empty()
    }

    /// The level of this number, if the machine has it.
    pub fn level(self, number: u8) -> Option<Level> {
        self.levels.get(usize::from(number)).copied()
    }

    /// The level that what stands outside of all segops is mapped to.
    pub const fn outermost(self) -> u8 {
        self.levels.len().saturating_sub(1) as u8
    }

    /// Whether a segop at a level may stand in one at another, or outside of all.
    pub fn may_stand(self, number: u8, outer: Option<u8>) -> bool {
        let contains = |outer| self.level(outer).is_some_and(|it| it.contains.contains(&number));
        self.level(number).is_some() && outer.is_none_or(contains)
    }

    /// The level for maps that may stand in a segop at a level: the highest.
    pub fn for_maps(self, outer: u8) -> Option<u8> {
        self.inside(outer, true)
    }

    /// The level for nothing but reductions and scans that may stand in a segop at a
    /// level.
    pub fn for_folds(self, outer: u8) -> Option<u8> {
        self.inside(outer, false)
    }

    /// Whether what stands outside of all segops becomes segops that may contain others of
    /// their own level: then parallelism inside of them need not be flattened.
    pub fn nests(self) -> bool {
        self.for_maps(self.outermost()) == Some(self.outermost())
    }

    /// How many choices between versions may stand inside one another, at the levels that
    /// have versions: each has the rest of the nest once more.
    pub fn most_choices(self) -> u32 {
        if self.nests() { MOST_TASK_CHOICES } else { MOST_CHOICES }
    }

    fn inside(self, outer: u8, maps: bool) -> Option<u8> {
        let inner = self.level(outer)?.contains.iter().copied();
        inner.filter(|&number| self.level(number).is_some_and(|level| level.maps == maps)).max()
    }
}

/// From how many rounds over all of their partial accumulators on lanes that share a
/// row pay for setting these up and combining them (`bench/run.py rows`; sums of 64 floats
/// take half the time, of 48 the same).
pub const ROUNDS_OF_ACCUMULATORS: i64 = 2;
/// The same where each element takes a loop, which is most of the work (greatest of 16 `i64`
/// that eight turns have changed: a third of the time of a loop, on an AMD EPYC).
pub const ROUNDS_OF_LOOPS: i64 = 1;
/// The same where it takes longer to combine them than to add them up: greatest and least
/// elements, pairs (400 floats take the same time).
pub const ROUNDS_OF_CHOICES: i64 = 12;
/// From how many blocks on lanes that share a row pay for what is left over behind the
/// last of them (`bench/run.py rows`).
pub const ROUNDS_OF_BLOCKS: i64 = 2;

#[cfg(test)]
mod tests {
    use super::{BLOCK, CPU, GPU, GRID, LANES, Stack, TASKS, THREAD};

    #[test]
    fn lanes_stand_in_tasks_and_nothing_in_lanes() {
        assert!(CPU.may_stand(TASKS, None) && CPU.may_stand(LANES, Some(TASKS)));
        assert!(CPU.may_stand(LANES, None) && CPU.may_stand(TASKS, Some(TASKS)));
        assert!(!CPU.may_stand(LANES, Some(LANES)));
        assert!(!CPU.may_stand(TASKS, Some(LANES)) && !CPU.may_stand(2, None));
    }

    #[test]
    fn blocks_stand_in_the_grid_alone() {
        assert!(GPU.may_stand(GRID, None) && GPU.may_stand(BLOCK, Some(GRID)));
        assert!(!GPU.may_stand(GRID, Some(GRID)) && !GPU.may_stand(BLOCK, Some(BLOCK)));
    }

    #[test]
    fn inside_there_are_levels_for_maps_and_for_folds() {
        assert_eq!((CPU.for_maps(TASKS), CPU.for_folds(TASKS)), (Some(TASKS), Some(LANES)));
        assert_eq!((CPU.for_maps(LANES), CPU.for_folds(LANES)), (None, None));
        assert_eq!((GPU.for_maps(GRID), GPU.for_folds(GRID)), (Some(BLOCK), None));
    }

    #[test]
    fn tasks_nest_and_grids_do_not() {
        assert!(CPU.nests() && !GPU.nests());
    }

    #[test]
    fn a_thread_is_alone() {
        assert!(CPU.is_parallel() && GPU.is_parallel() && !THREAD.is_parallel());
        assert_eq!(THREAD.for_folds(THREAD.outermost()), None);
    }

    #[test]
    fn stacks_have_names() {
        assert!(Stack::ALL.iter().all(|it| Stack::named(it.name) == Some(*it)));
        assert_eq!(Stack::named("abacus"), None);
    }
}
