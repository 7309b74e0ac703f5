//! Memory: blocks of bytes with their lifetimes, permissions, and initialised bytes.

use super::code::Slot;
use super::device::races::{Accesses, RunningKernel};
use super::races::{Access, Label, Races, Shadow};
use super::{Result, bug, limit};
use crate::device::RELEASE_TYPE;
use ir::eval::MAX_ARRAY_BYTES;
use prim::PrimType;
use std::ops::Range;
use target::memories::{Allocation, MemoryId};

/// A pointer to the first byte of a block. A block's index is reused with another generation, so
/// that dangling pointers are detected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Pointer {
    index: u32,
    generation: u32,
}

impl Pointer {
    /// The bits that a register holds.
    #[inline]
    pub(super) fn bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The pointer of a register's bits.
    #[inline]
    pub(super) fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
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

/// The mark of a byte that was written.
const WRITTEN: u8 = 1;

/// The largest size of a block whose vectors are kept for another one.
const KEPT_BYTES: usize = 1 << 16;

/// The size of a slot, as it is counted.
const SLOT_BYTES: i64 = 8;

struct Block {
    bytes: Vec<u8>,
    /// [`WRITTEN`] for each byte that was written, else 0.
    written: Vec<u8>,
    kind: Kind,
    references: u32,
    generation: u32,
    writable: bool,
    memory: MemoryId,
    label: Label,
    shadow: Shadow,
    /// The last kernel's accesses to it.
    kernel_shadow: Shadow<Accesses>,
    /// The contents of its slots, if it is a block of slots.
    slots: Vec<Option<Pointer>>,
}

#[derive(Default)]
pub(super) struct Memory {
    pub(super) races: Races,
    /// The running kernel; none while the host runs.
    pub(super) kernel: Option<RunningKernel>,
    blocks: Vec<Block>,
    free: Vec<u32>,
    bytes: u64,
    heap: usize,
}

impl Memory {
    /// Allocates a block of a memory, of this size, with no byte set and one reference.
    pub(super) fn alloc(&mut self, bytes: i64, kind: Kind, of: MemoryId, label: Label) -> Result<Pointer> {
        let wanted = u64::try_from(bytes).unwrap_or(u64::MAX);
        if self.bytes.saturating_add(wanted) > MAX_ARRAY_BYTES {
            return limit(format!("a block of {bytes} bytes"));
        }
        let at = self.add(kind, true, label);
        let block = self.block_mut(at)?;
        block.memory = of;
        block.bytes.resize(wanted as usize, 0);
        block.written.resize(wanted as usize, 0);
        self.bytes += wanted;
        Ok(at)
    }

    /// A block of these bytes with one reference.
    pub(super) fn with_bytes(&mut self, bytes: Vec<u8>, kind: Kind, writable: bool, label: Label) -> Pointer {
        self.bytes += bytes.len() as u64;
        let at = self.add(kind, writable, label);
        if let Some(block) = self.blocks.get_mut(at.index as usize) {
            block.written = vec![WRITTEN; bytes.len()];
            block.bytes = bytes;
        }
        at
    }

    /// Moves a block to the memory of the device.
    pub(super) fn on_device(&mut self, at: Pointer) -> Result<()> {
        self.block_mut(at)?.memory = MemoryId::Device;
        Ok(())
    }

    /// A block without bytes. It reuses the vectors of a block that was removed.
    fn add(&mut self, kind: Kind, writable: bool, label: Label) -> Pointer {
        self.heap += usize::from(kind == Kind::Heap);
        if let Some(index) = self.free.pop() {
            let block = &mut self.blocks[index as usize];
            block.kind = kind;
            block.references = 1;
            block.writable = writable;
            block.memory = MemoryId::Host;
            block.label = label;
            return Pointer { index, generation: block.generation };
        }
        self.blocks.push(Block {
            bytes: Vec::new(),
            written: Vec::new(),
            kind,
            references: 1,
            generation: 0,
            writable,
            memory: MemoryId::Host,
            label,
            shadow: Shadow::default(),
            kernel_shadow: Shadow::default(),
            slots: Vec::new(),
        });
        Pointer { index: self.blocks.len() as u32 - 1, generation: 0 }
    }

    /// The number of heap blocks that are alive.
    pub(super) fn alive(&self) -> usize {
        self.heap
    }

    fn block(&self, at: Pointer) -> Result<&Block> {
        match self.blocks.get(at.index as usize) {
            Some(block) if block.generation == at.generation => Ok(block),
            _ => bug("a block is used after its release"),
        }
    }

    fn block_mut(&mut self, at: Pointer) -> Result<&mut Block> {
        found(&mut self.blocks, at)
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
            Kind::Frame => bug("a block of the frame is released"),
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
        let at = self.alloc(bytes, Kind::Heap, MemoryId::Host, label)?;
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
        let bytes = first..first + SLOT_BYTES as usize;
        let block = found(&mut self.blocks, slots)?;
        note(&self.races, self.kernel.as_ref(), block, slots, bytes, access)?;
        Ok(slot)
    }

    /// Ends the life of a block of the frame.
    pub(super) fn end_frame(&mut self, at: Pointer) {
        self.remove(at);
    }

    /// Ends the life of a block of the frame and begins that of another one in its place, if it has
    /// the size.
    pub(super) fn renew(&mut self, at: Pointer, bytes: i64) -> Result<Option<Pointer>> {
        let block = self.block_mut(at)?;
        if usize::try_from(bytes) != Ok(block.bytes.len()) {
            return Ok(None);
        }
        block.generation += 1;
        block.written.fill(0);
        block.shadow.clear();
        block.kernel_shadow.clear();
        Ok(Some(Pointer { index: at.index, generation: block.generation }))
    }

    fn remove(&mut self, at: Pointer) {
        let block = &mut self.blocks[at.index as usize];
        self.bytes -= block.bytes.len() as u64;
        if block.bytes.len() > KEPT_BYTES {
            block.bytes = Vec::new();
            block.written = Vec::new();
            block.shadow = Shadow::default();
            block.kernel_shadow = Shadow::default();
        } else {
            block.bytes.clear();
            block.written.clear();
            block.shadow.clear();
            block.kernel_shadow.clear();
        }
        block.slots = Vec::new();
        block.generation += 1;
        self.free.push(at.index);
    }

    /// Makes a block read-only.
    pub(super) fn freeze(&mut self, at: Pointer) -> Result<()> {
        self.block_mut(at)?.writable = false;
        Ok(())
    }

    /// Loads an element's bits, if it was written.
    pub(super) fn load(&mut self, at: Pointer, elem: PrimType, position: i64) -> Result<Option<u64>> {
        match elem {
            PrimType::I64 | PrimType::F64 => self.load_bytes::<8>(at, elem, position),
            PrimType::I32 | PrimType::F32 => self.load_bytes::<4>(at, elem, position),
            PrimType::I16 | PrimType::F16 => self.load_bytes::<2>(at, elem, position),
            PrimType::I8 => self.load_bytes::<1>(at, elem, position),
            PrimType::Bool => match self.load_bytes::<1>(at, elem, position)? {
                Some(bits) if bits > 1 => bug(format!("a bool of the bits {bits}")),
                bits => Ok(bits),
            },
        }
    }

    fn load_bytes<const N: usize>(
        &mut self,
        at: Pointer,
        elem: PrimType,
        position: i64,
    ) -> Result<Option<u64>> {
        let block = found(&mut self.blocks, at)?;
        reachable(self.kernel.as_ref(), block)?;
        let start = block.element::<N>(elem, position)?;
        note(&self.races, self.kernel.as_ref(), block, at, start..start + N, Access::Read)?;
        let written = block.written.get(start..).and_then(|rest| rest.first_chunk::<N>());
        let bytes = block.bytes.get(start..).and_then(|rest| rest.first_chunk::<N>());
        match (written, bytes) {
            (Some(written), Some(bytes)) if *written == [WRITTEN; N] => {
                let mut word = [0; 8];
                word[..N].copy_from_slice(bytes);
                Ok(Some(u64::from_le_bytes(word)))
            }
            _ => Ok(None),
        }
    }

    /// Loads contiguous elements as lanes, if they are within bounds; returns false if not.
    pub(super) fn load_row(
        &mut self,
        at: Pointer,
        elem: PrimType,
        first: i64,
        lanes: &mut [Slot],
    ) -> Result<bool> {
        let block = found(&mut self.blocks, at)?;
        reachable(self.kernel.as_ref(), block)?;
        let Ok(range) = block.range(elem, first, lanes.len()) else {
            return Ok(false);
        };
        note(&self.races, self.kernel.as_ref(), block, at, range.clone(), Access::Read)?;
        let (bytes, written) = (&block.bytes[range.clone()], &block.written[range]);
        match elem.size() {
            8 => row::<8>(bytes, written, lanes),
            4 => row::<4>(bytes, written, lanes),
            2 => row::<2>(bytes, written, lanes),
            _ => row::<1>(bytes, written, lanes),
        }
        if elem == PrimType::Bool
            && let Some(bits) = lanes.iter().find_map(|lane| lane.value().filter(|bits| *bits > 1))
        {
            return bug(format!("a bool of the bits {bits}"));
        }
        Ok(true)
    }

    /// Stores lanes to contiguous elements, if they are within bounds; returns false if not.
    pub(super) fn store_row(
        &mut self,
        at: Pointer,
        elem: PrimType,
        first: i64,
        lanes: &[Slot],
    ) -> Result<bool> {
        let block = found(&mut self.blocks, at)?;
        reachable(self.kernel.as_ref(), block)?;
        let Ok(range) = block.range(elem, first, lanes.len()) else {
            return Ok(false);
        };
        if !block.writable {
            return bug("a block is written that must stay as it is");
        }
        note(&self.races, self.kernel.as_ref(), block, at, range.clone(), Access::Write)?;
        let size = elem.size() as usize;
        let elements = block.bytes[range.clone()].chunks_exact_mut(size);
        let marks = block.written[range].chunks_exact_mut(size);
        for ((element, marks), lane) in elements.zip(marks).zip(lanes) {
            let value = lane.value();
            marks.fill(if value.is_some() { WRITTEN } else { 0 });
            if let Some(bits) = value {
                element.copy_from_slice(&bits.to_le_bytes()[..size]);
            }
        }
        Ok(true)
    }

    /// Stores an element, or unsets it.
    pub(super) fn store(
        &mut self,
        at: Pointer,
        elem: PrimType,
        position: i64,
        bits: Option<u64>,
    ) -> Result<()> {
        match elem {
            PrimType::I64 | PrimType::F64 => self.store_bytes::<8>(at, elem, position, bits),
            PrimType::I32 | PrimType::F32 => self.store_bytes::<4>(at, elem, position, bits),
            PrimType::I16 | PrimType::F16 => self.store_bytes::<2>(at, elem, position, bits),
            PrimType::I8 | PrimType::Bool => self.store_bytes::<1>(at, elem, position, bits),
        }
    }

    fn store_bytes<const N: usize>(
        &mut self,
        at: Pointer,
        elem: PrimType,
        position: i64,
        bits: Option<u64>,
    ) -> Result<()> {
        let block = found(&mut self.blocks, at)?;
        reachable(self.kernel.as_ref(), block)?;
        let start = block.element::<N>(elem, position)?;
        if !block.writable {
            return bug("a block is written that must stay as it is");
        }
        note(&self.races, self.kernel.as_ref(), block, at, start..start + N, Access::Write)?;
        if let Some(written) = block.written.get_mut(start..).and_then(|rest| rest.first_chunk_mut::<N>()) {
            *written = [if bits.is_some() { WRITTEN } else { 0 }; N];
        }
        let bytes = block.bytes.get_mut(start..).and_then(|rest| rest.first_chunk_mut::<N>());
        if let (Some(bits), Some(bytes)) = (bits, bytes) {
            bytes.copy_from_slice(&bits.to_le_bytes()[..N]);
        }
        Ok(())
    }

    /// Applies `f` to an element atomically; returns its previous value.
    pub(super) fn update(
        &mut self,
        at: Pointer,
        elem: PrimType,
        position: i64,
        f: impl FnOnce(u64) -> Result<u64>,
    ) -> Result<u64> {
        let block = found(&mut self.blocks, at)?;
        let range = block.range(elem, position, 1)?;
        if !block.is_written(&range) {
            return bug(format!("element {position} is updated and was never written"));
        }
        note(&self.races, self.kernel.as_ref(), block, at, range.clone(), Access::Update)?;
        let old = block.bits(&range);
        let new = f(old)?;
        let size = range.len();
        block.bytes[range].copy_from_slice(&new.to_le_bytes()[..size]);
        if let Some(kernel) = &mut self.kernel {
            kernel.changed();
        }
        Ok(old)
    }

    /// Stores a signal of the current thread in an element.
    pub(super) fn signal(&mut self, at: Pointer, elem: PrimType, position: i64, value: u64) -> Result<()> {
        self.update(at, elem, position, |_| Ok(value))?;
        let range = found(&mut self.blocks, at)?.range(elem, position, 1)?;
        if let Some(kernel) = &mut self.kernel
            && elem == RELEASE_TYPE
        {
            kernel.give(at, range.start)?;
        }
        Ok(())
    }

    /// The signal in an element, unless the current thread has to wait for it.
    pub(super) fn awaited(&mut self, at: Pointer, elem: PrimType, position: i64) -> Result<Option<u64>> {
        let block = found(&mut self.blocks, at)?;
        let range = block.range(elem, position, 1)?;
        note(&self.races, self.kernel.as_ref(), block, at, range.clone(), Access::Update)?;
        if !block.is_written(&range) {
            return bug(format!("element {position} is awaited and was never written"));
        }
        let bits = block.bits(&range);
        if bits == 0 {
            return Ok(None);
        }
        if let Some(kernel) = &mut self.kernel
            && elem == RELEASE_TYPE
        {
            kernel.await_signal(at, range.start);
        }
        Ok(Some(bits))
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
        let destination = target.range(elem, to.1, count)?;
        if !target.writable {
            return bug("a block is written that must stay as it is");
        }
        let overlap = from.0 == to.0 && range.start < destination.end && destination.start < range.end;
        if overlap {
            return bug("a copy's regions overlap");
        }
        let kernel = self.kernel.as_ref();
        let source = found(&mut self.blocks, from.0)?;
        note(&self.races, kernel, source, from.0, range.clone(), Access::Read)?;
        let target = found(&mut self.blocks, to.0)?;
        note(&self.races, kernel, target, to.0, destination.clone(), Access::Write)?;
        if from.0 == to.0 {
            target.bytes.copy_within(range.clone(), destination.start);
            target.written.copy_within(range, destination.start);
            return Ok(());
        }
        let (a, b) = (from.0.index as usize, to.0.index as usize);
        let Ok([source, target]) = self.blocks.get_disjoint_mut([a, b]) else {
            return bug("two blocks with one index");
        };
        target.bytes[destination.clone()].copy_from_slice(&source.bytes[range.clone()]);
        target.written[destination].copy_from_slice(&source.written[range]);
        Ok(())
    }

    /// The first bytes of a block, all of which have to be set.
    pub(super) fn prefix(&self, at: Pointer, bytes: usize) -> Result<&[u8]> {
        let block = self.block(at)?;
        if bytes > block.bytes.len() {
            return bug(format!("a result of {bytes} bytes has {}", block.bytes.len()));
        }
        if !block.is_written(&(0..bytes)) {
            return bug("a result was not written wholly");
        }
        Ok(&block.bytes[..bytes])
    }
}

/// The block of a pointer.
#[inline]
fn found(blocks: &mut [Block], at: Pointer) -> Result<&mut Block> {
    match blocks.get_mut(at.index as usize) {
        Some(block) if block.generation == at.generation => Ok(block),
        _ => bug("a block is used after its release"),
    }
}

/// Sets lanes to elements of this size.
fn row<const N: usize>(bytes: &[u8], written: &[u8], lanes: &mut [Slot]) {
    let (elements, _) = bytes.as_chunks::<N>();
    let (marks, _) = written.as_chunks::<N>();
    for ((element, marks), lane) in elements.iter().zip(marks).zip(lanes) {
        let mut word = [0; 8];
        word[..N].copy_from_slice(element);
        *lane = Slot::lane((*marks == [WRITTEN; N]).then(|| u64::from_le_bytes(word)));
    }
}

/// Checks that the current executor may access a block's elements.
#[inline]
fn reachable(kernel: Option<&RunningKernel>, block: &Block) -> Result<()> {
    if kernel.is_none() && !block.memory.is_host() {
        return bug("the host touches memory of the device");
    }
    Ok(())
}

/// Records an access.
#[inline]
fn note(
    races: &Races,
    kernel: Option<&RunningKernel>,
    block: &mut Block,
    at: Pointer,
    bytes: Range<usize>,
    access: Access,
) -> Result<()> {
    let known = (at, &block.label, block.bytes.len());
    let Some(kernel) = kernel else {
        return races.record(&mut block.shadow, known, bytes, access);
    };
    match block.memory.allocation {
        Allocation::Heap if block.memory.is_host() => bug("a thread touches the host's memory"),
        Allocation::Frame => Ok(()),
        Allocation::Heap | Allocation::Launch => kernel.note(&mut block.kernel_shadow, known, bytes, access),
    }
}

impl Block {
    /// The first byte of an element of this size, if it is within bounds.
    #[inline]
    fn element<const N: usize>(&self, elem: PrimType, position: i64) -> Result<usize> {
        let count = self.bytes.len() / N;
        match usize::try_from(position) {
            Ok(position) if position < count => Ok(position * N),
            _ => self.range(elem, position, 1).map(|range| range.start),
        }
    }

    fn is_written(&self, range: &Range<usize>) -> bool {
        self.written[range.clone()].iter().all(|mark| *mark == WRITTEN)
    }

    /// The bits of an element.
    fn bits(&self, range: &Range<usize>) -> u64 {
        let mut word = [0; 8];
        word[..range.len()].copy_from_slice(&self.bytes[range.clone()]);
        u64::from_le_bytes(word)
    }

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
