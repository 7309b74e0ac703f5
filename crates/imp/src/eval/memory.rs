//! Memory: blocks of bytes with their lifetimes, permissions, and initialised bytes.

use super::device::races::{Cell, Running};
use super::races::{Access, Label, Races, Shadow};
use super::{Result, bug, limit};
use crate::device::RELEASE_TYPE;
use ir::eval::MAX_ARRAY_BYTES;
use ir::types::Space;
use prim::{PrimType, Scalar};
use std::ops::Range;

/// A pointer to the first byte of a block. A block's index is reused with another generation, so
/// that dangling pointers are detected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Pointer {
    index: u32,
    generation: u32,
}

/// The origin of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Allocated; lives while there are references.
    Heap,
    /// In a function's frame; lives until the function or task ends.
    Frame,
    /// Constant data; never released.
    Data,
}

/// The size of a slot, as it is counted.
const SLOT_BYTES: i64 = 8;

struct Block {
    bytes: Vec<u8>,
    /// True for each byte that was written.
    set: Vec<bool>,
    kind: Kind,
    references: u32,
    generation: u32,
    writable: bool,
    space: Space,
    label: Label,
    shadow: Shadow,
    /// The last kernel's accesses to it.
    kernel_shadow: Shadow<Cell>,
    /// The contents of its slots, if it is a block of slots.
    slots: Vec<Option<Pointer>>,
}

#[derive(Default)]
pub(super) struct Memory {
    pub(super) races: Races,
    /// The running kernel; none while the host runs.
    pub(super) kernel: Option<Running>,
    blocks: Vec<Block>,
    free: Vec<u32>,
    bytes: u64,
    heap: usize,
}

impl Memory {
    /// Allocates a block of this size, with no byte set and one reference.
    pub(super) fn alloc(&mut self, bytes: i64, kind: Kind, space: Space, label: Label) -> Result<Pointer> {
        let wanted = u64::try_from(bytes).unwrap_or(u64::MAX);
        if self.bytes.saturating_add(wanted) > MAX_ARRAY_BYTES {
            return limit(format!("a block of {bytes} bytes"));
        }
        self.bytes += wanted;
        let n = wanted as usize;
        let at = self.add(vec![0; n], vec![false; n], kind, true, label);
        self.block_mut(at)?.space = space;
        Ok(at)
    }

    /// A block of these bytes with one reference.
    pub(super) fn with_bytes(&mut self, bytes: Vec<u8>, kind: Kind, writable: bool, label: Label) -> Pointer {
        let set = vec![true; bytes.len()];
        self.bytes += bytes.len() as u64;
        self.add(bytes, set, kind, writable, label)
    }

    /// Moves a block to the memory of the device.
    pub(super) fn on_device(&mut self, at: Pointer) -> Result<()> {
        self.block_mut(at)?.space = Space::Device;
        Ok(())
    }

    fn add(&mut self, bytes: Vec<u8>, set: Vec<bool>, kind: Kind, writable: bool, label: Label) -> Pointer {
        self.heap += usize::from(kind == Kind::Heap);
        let mut block = Block {
            bytes,
            set,
            kind,
            references: 1,
            generation: 0,
            writable,
            space: Space::Host,
            label,
            shadow: Shadow::default(),
            kernel_shadow: Shadow::default(),
            slots: Vec::new(),
        };
        let place = if let Some(place) = self.free.pop() {
            let old = &mut self.blocks[place as usize];
            block.generation = old.generation;
            *old = block;
            place
        } else {
            self.blocks.push(block);
            self.blocks.len() as u32 - 1
        };
        Pointer { index: place, generation: self.blocks[place as usize].generation }
    }

    /// The number of heap blocks that are alive.
    pub(super) fn alive(&self) -> usize {
        self.heap
    }

    fn block(&self, at: Pointer) -> Result<&Block> {
        match self.blocks.get(at.index as usize) {
            Some(block) if block.generation == at.generation => Ok(block),
            _ => bug("a block is used that was given back"),
        }
    }

    /// Checks that the current executor may access a block's elements.
    fn check_reachable(&self, at: Pointer) -> Result<()> {
        if self.kernel.is_none() && self.block(at)?.space != Space::Host {
            return bug("the host touches memory of the device");
        }
        Ok(())
    }

    /// Records an access.
    fn note(&mut self, at: Pointer, bytes: Range<usize>, access: Access) -> Result<()> {
        let block = &mut self.blocks[at.index as usize];
        let known = (at, &block.label, block.bytes.len());
        if let Some(kernel) = &self.kernel {
            return match block.space {
                Space::Host => bug("a thread touches the host's memory"),
                Space::Private | Space::Registers => Ok(()),
                Space::Device | Space::Shared => kernel.note(&mut block.kernel_shadow, known, bytes, access),
            };
        }
        self.races.record(&mut block.shadow, known, bytes, access)
    }

    fn block_mut(&mut self, at: Pointer) -> Result<&mut Block> {
        match self.blocks.get_mut(at.index as usize) {
            Some(block) if block.generation == at.generation => Ok(block),
            _ => bug("a block is used that was given back"),
        }
    }

    /// Adds a reference.
    pub(super) fn share(&mut self, at: Pointer) -> Result<()> {
        let block = self.block_mut(at)?;
        match block.kind {
            Kind::Heap => block.references += 1,
            Kind::Data => {}
            Kind::Frame => return bug("a reference to a block of the frame is kept"),
        }
        Ok(())
    }

    /// Releases a reference.
    pub(super) fn release(&mut self, at: Pointer) -> Result<()> {
        let block = self.block_mut(at)?;
        match block.kind {
            Kind::Data => Ok(()),
            Kind::Frame => bug("a block of the frame is given back"),
            Kind::Heap => {
                block.references -= 1;
                if block.references > 0 {
                    return Ok(());
                }
                let slots = std::mem::take(&mut block.slots);
                self.heap -= 1;
                self.remove(at);
                slots.into_iter().flatten().try_for_each(|at| self.release(at))
            }
        }
    }

    /// Allocates a block of empty slots, with one reference.
    pub(super) fn slots(&mut self, count: i64, label: Label) -> Result<Pointer> {
        let bytes = count.checked_mul(SLOT_BYTES).unwrap_or(-1);
        let at = self.alloc(bytes, Kind::Heap, Space::Host, label)?;
        self.block_mut(at)?.slots = vec![None; count as usize];
        Ok(at)
    }

    /// Moves a reference into a slot.
    pub(super) fn put_slot(&mut self, slots: Pointer, at: i64, block: Pointer) -> Result<()> {
        if self.slot(slots, at, Access::Write)?.is_some() {
            return bug("a slot is not empty");
        }
        if self.block(block)?.kind == Kind::Frame {
            return bug("a slot gets a block of the frame");
        }
        self.block_mut(slots)?.slots[at as usize] = Some(block);
        Ok(())
    }

    /// The block in a slot.
    pub(super) fn get_slot(&mut self, slots: Pointer, at: i64) -> Result<Pointer> {
        let kept = self.slot(slots, at, Access::Read)?;
        kept.map_or_else(|| bug("a slot is empty"), Ok)
    }

    fn slot(&mut self, slots: Pointer, at: i64, access: Access) -> Result<Option<Pointer>> {
        let all = &self.block(slots)?.slots;
        let slot = usize::try_from(at).ok().and_then(|at| all.get(at).copied());
        let Some(slot) = slot else {
            return bug(format!("slot {at} of {}", all.len()));
        };
        let first = (at * SLOT_BYTES) as usize;
        self.note(slots, first..first + SLOT_BYTES as usize, access)?;
        Ok(slot)
    }

    /// Ends the life of a block of the frame.
    pub(super) fn end_frame(&mut self, at: Pointer) {
        self.remove(at);
    }

    fn remove(&mut self, at: Pointer) {
        let block = &mut self.blocks[at.index as usize];
        self.bytes -= block.bytes.len() as u64;
        block.bytes = Vec::new();
        block.set = Vec::new();
        block.shadow = Shadow::default();
        block.kernel_shadow = Shadow::default();
        block.generation += 1;
        self.free.push(at.index);
    }

    /// Makes a block read-only.
    pub(super) fn freeze(&mut self, at: Pointer) -> Result<()> {
        self.block_mut(at)?.writable = false;
        Ok(())
    }

    /// Loads an element, if it was written.
    pub(super) fn load(&mut self, at: Pointer, elem: PrimType, position: i64) -> Result<Option<Scalar>> {
        self.check_reachable(at)?;
        let range = self.block(at)?.range(elem, position, 1)?;
        self.note(at, range.clone(), Access::Read)?;
        let block = self.block(at)?;
        if block.set[range.clone()].contains(&false) {
            return Ok(None);
        }
        let mut word = [0; 8];
        let size = range.len();
        word[..size].copy_from_slice(&block.bytes[range]);
        if elem == PrimType::Bool && word[0] > 1 {
            return bug(format!("a bool of the bits {}", word[0]));
        }
        Ok(Some(Scalar::from_bits(elem, u64::from_le_bytes(word))))
    }

    /// Stores an element.
    pub(super) fn store(&mut self, at: Pointer, position: i64, value: Scalar) -> Result<()> {
        let (block, range) = self.check_write(at, value.ty(), position)?;
        let size = range.len();
        block.bytes[range.clone()].copy_from_slice(&value.bits().to_le_bytes()[..size]);
        block.set[range].fill(true);
        Ok(())
    }

    /// Unsets an element.
    pub(super) fn unset(&mut self, at: Pointer, elem: PrimType, position: i64) -> Result<()> {
        let (block, range) = self.check_write(at, elem, position)?;
        block.set[range].fill(false);
        Ok(())
    }

    /// Applies `f` to an element atomically; returns its previous value.
    pub(super) fn update(
        &mut self,
        at: Pointer,
        elem: PrimType,
        position: i64,
        f: impl FnOnce(Scalar) -> Result<Scalar>,
    ) -> Result<Scalar> {
        let block = self.block(at)?;
        let range = block.range(elem, position, 1)?;
        if block.set[range.clone()].contains(&false) {
            return bug(format!("element {position} is updated and was never written"));
        }
        let (mut word, size) = ([0; 8], range.len());
        word[..size].copy_from_slice(&block.bytes[range.clone()]);
        self.note(at, range.clone(), Access::Update)?;
        let old = Scalar::from_bits(elem, u64::from_le_bytes(word));
        let new = f(old)?;
        let block = self.block_mut(at)?;
        block.bytes[range].copy_from_slice(&new.bits().to_le_bytes()[..size]);
        if let Some(kernel) = &mut self.kernel {
            kernel.changed();
        }
        Ok(old)
    }

    /// Stores a signal of the current thread in an element.
    pub(super) fn signal(&mut self, at: Pointer, position: i64, value: Scalar) -> Result<()> {
        self.update(at, value.ty(), position, |_| Ok(value))?;
        let range = self.block(at)?.range(value.ty(), position, 1)?;
        if let Some(kernel) = &mut self.kernel
            && value.ty() == RELEASE_TYPE
        {
            kernel.give(at, range.start);
        }
        Ok(())
    }

    /// The signal in an element, unless the current thread has to wait for it.
    pub(super) fn awaited(&mut self, at: Pointer, elem: PrimType, position: i64) -> Result<Option<Scalar>> {
        let range = self.block(at)?.range(elem, position, 1)?;
        self.note(at, range.clone(), Access::Update)?;
        let block = self.block(at)?;
        if block.set[range.clone()].contains(&false) {
            return bug(format!("element {position} is awaited and was never written"));
        }
        let (mut word, size) = ([0; 8], range.len());
        word[..size].copy_from_slice(&block.bytes[range.clone()]);
        let bits = u64::from_le_bytes(word);
        if bits == 0 {
            return Ok(None);
        }
        if let Some(kernel) = &mut self.kernel
            && elem == RELEASE_TYPE
        {
            kernel.hear(at, range.start);
        }
        Ok(Some(Scalar::from_bits(elem, bits)))
    }

    /// The block and the bytes of an element that is to be written.
    fn check_write(
        &mut self,
        at: Pointer,
        elem: PrimType,
        position: i64,
    ) -> Result<(&mut Block, Range<usize>)> {
        self.check_reachable(at)?;
        let block = self.block(at)?;
        let range = block.range(elem, position, 1)?;
        if !block.writable {
            return bug("a block is written that must stay as it is");
        }
        self.note(at, range.clone(), Access::Write)?;
        Ok((self.block_mut(at)?, range))
    }

    /// Copies contiguous elements, written or not.
    pub(super) fn copy(
        &mut self,
        elem: PrimType,
        count: usize,
        to: (Pointer, i64),
        from: (Pointer, i64),
    ) -> Result<()> {
        let source = self.block(from.0)?;
        let range = source.range(elem, from.1, count)?;
        let target = self.block(to.0)?;
        let place = target.range(elem, to.1, count)?;
        if !target.writable {
            return bug("a block is written that must stay as it is");
        }
        let overlap = from.0 == to.0 && range.start < place.end && place.start < range.end;
        if overlap {
            return bug("a copy's regions overlap");
        }
        self.note(from.0, range.clone(), Access::Read)?;
        self.note(to.0, place.clone(), Access::Write)?;
        if from.0 == to.0 {
            let block = self.block_mut(to.0)?;
            block.bytes.copy_within(range.clone(), place.start);
            block.set.copy_within(range, place.start);
            return Ok(());
        }
        let (a, b) = (from.0.index as usize, to.0.index as usize);
        let Ok([source, target]) = self.blocks.get_disjoint_mut([a, b]) else {
            return bug("two blocks in one place");
        };
        target.bytes[place.clone()].copy_from_slice(&source.bytes[range.clone()]);
        target.set[place].copy_from_slice(&source.set[range]);
        Ok(())
    }

    /// The first bytes of a block, all of which have to be set.
    pub(super) fn prefix(&self, at: Pointer, bytes: usize) -> Result<&[u8]> {
        let block = self.block(at)?;
        if bytes > block.bytes.len() {
            return bug(format!("a result of {bytes} bytes has {}", block.bytes.len()));
        }
        if block.set[..bytes].contains(&false) {
            return bug("a result was not written wholly");
        }
        Ok(&block.bytes[..bytes])
    }
}

impl Block {
    /// The bytes of elements, if they are within bounds.
    fn range(&self, elem: PrimType, position: i64, count: usize) -> Result<Range<usize>> {
        let size = elem.size() as usize;
        let start = usize::try_from(position).ok().and_then(|p| p.checked_mul(size));
        let end = start.and_then(|s| s.checked_add(count.checked_mul(size)?));
        match (start, end) {
            (Some(start), Some(end)) if end <= self.bytes.len() => Ok(start..end),
            _ => bug(format!(
                "elements from {position} on of {elem}, {count} of them, lie outside of a block of {} bytes",
                self.bytes.len()
            )),
        }
    }
}
