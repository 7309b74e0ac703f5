//! A machine as a stack of levels of parallel hardware, and from where on versions that
//! use one are taken by default (design section 5; incremental flattening, section 2).
//!
//! A segop stands at a level. What runs at one may contain what runs at another only
//! where the stack says so; a combinator that no level below is left for is a loop.

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
}

/// The levels of a machine, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack(&'static [Level]);

/// The SIMD lanes of one worker.
pub const LANES: u8 = 0;
/// Tasks over all workers.
pub const TASKS: u8 = 1;

/// A CPU: tasks over all workers, and in each of them the lanes of its worker.
pub const CPU: Stack = Stack(&[
    Level {
        name: "lanes",
        contains: &[],
        maps: false,
    },
    Level {
        name: "tasks",
        contains: &[LANES],
        maps: true,
    },
]);

impl Stack {
    /// The level of this number, if the machine has it.
    pub fn level(self, number: u8) -> Option<Level> {
        self.0.get(usize::from(number)).copied()
    }

    /// Whether a segop at a level may stand in one at another, or outside of all.
    pub fn may_stand(self, number: u8, outer: Option<u8>) -> bool {
        let contains = |outer| {
            self.level(outer)
                .is_some_and(|it| it.contains.contains(&number))
        };
        self.level(number).is_some() && outer.is_none_or(contains)
    }
}

/// From how many rounds over all of their partial accumulators on lanes that share a
/// row pay for setting these up and combining them (`bench/run.py rows`).
pub const ROUNDS_OF_ACCUMULATORS: i64 = 4;
/// From how many blocks on lanes that share a row pay for what is left over behind the
/// last of them (`bench/run.py rows`).
pub const ROUNDS_OF_BLOCKS: i64 = 2;

#[cfg(test)]
mod tests {
    use super::{CPU, LANES, TASKS};

    #[test]
    fn lanes_stand_in_tasks_and_nothing_in_lanes() {
        assert!(CPU.may_stand(TASKS, None) && CPU.may_stand(LANES, Some(TASKS)));
        assert!(CPU.may_stand(LANES, None));
        assert!(!CPU.may_stand(TASKS, Some(TASKS)) && !CPU.may_stand(LANES, Some(LANES)));
        assert!(!CPU.may_stand(TASKS, Some(LANES)) && !CPU.may_stand(2, None));
    }
}
