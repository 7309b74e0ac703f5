//! The memories of all machines: which levels access their elements, and who allocates their
//! blocks. Host code runs at the levels of the CPU.

use crate::levels::LevelId;
use std::ops::Deref;

/// A memory; it dereferences to its row in the table of memories.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum MemoryId {
    /// The host's memory.
    Host,
    /// A device's memory.
    Device,
    /// Fast memory shared by the threads of a block (CUDA shared memory).
    Shared,
    /// Memory private to a thread of a device, interleaved over the threads.
    Private,
    /// Registers of a thread or lane; blocks have no address.
    Registers,
}

/// A row in the table of memories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// The name in programs.
    pub name: &'static str,
    /// The levels whose code accesses elements by address.
    pub reached_from: &'static [LevelId],
    /// The allocation of its blocks.
    pub allocation: Allocation,
}

/// The allocation of a memory's blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocation {
    /// By host code, of any size, with a count of references.
    Heap,
    /// By the launch of a kernel, once per thread block.
    Launch,
    /// By the code that uses it, of constant size, for itself alone.
    Frame,
}

impl Deref for MemoryId {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        use Allocation::{Frame, Heap, Launch};
        use LevelId::{Block, Grid, Lanes, Tasks};
        match self {
            Self::Host => &Memory { name: "host", reached_from: &[Tasks, Lanes], allocation: Heap },
            Self::Device => &Memory { name: "device", reached_from: &[Grid, Block], allocation: Heap },
            Self::Shared => &Memory { name: "shared", reached_from: &[Grid, Block], allocation: Launch },
            Self::Private => &Memory { name: "private", reached_from: &[Grid, Block], allocation: Frame },
            Self::Registers => &Memory { name: "registers", reached_from: &[], allocation: Frame },
        }
    }
}

impl MemoryId {
    /// All memories.
    pub const ALL: [Self; 5] = [Self::Host, Self::Device, Self::Shared, Self::Private, Self::Registers];

    /// The memory of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|memory| memory.name == name)
    }

    /// Returns true if code at a level accesses its elements by address.
    pub fn is_reachable_from(self, level: LevelId) -> bool {
        self.reached_from.contains(&level)
    }

    /// Returns true if host code accesses its elements.
    pub fn is_host(self) -> bool {
        self.is_reachable_from(LevelId::Tasks)
    }

    /// Returns true if host code allocates its blocks, but accesses their elements by copies only.
    pub fn is_remote(self) -> bool {
        self.allocation == Allocation::Heap && !self.is_host()
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryId;

    #[test]
    fn memories_are_found_by_name() {
        assert!(MemoryId::ALL.iter().all(|it| MemoryId::named(it.name) == Some(*it)));
    }

    #[test]
    fn only_device_memory_is_remote() {
        let remote: Vec<MemoryId> = MemoryId::ALL.into_iter().filter(|it| it.is_remote()).collect();
        assert_eq!(remote, [MemoryId::Device]);
    }
}
