//! Memory of compiled programs: reference-counted blocks.
//!
//! A block is a [`Header`] of 64 bytes followed by its data, 64-byte aligned. Small blocks come in
//! size classes (at most a quarter larger than requested, or 64 bytes) and are kept in free lists
//! of each thread, so that allocation in tasks takes no lock; a thread keeps a bounded amount per
//! class. Large blocks are shared, see [`large`]. Live bytes of small blocks are reported to the
//! shared accounting in steps of [`REPORT_BYTES`].

pub mod large;
mod limit;

pub use limit::default_limit as memory_limit;

use crate::abi::{CheckDesc, Ctx, text};
use crate::context::Shared;
use crate::device;
use crate::stats::Counter;

use large::{OutOfMemory, SharedHeap, map_block, unmap_block};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use value::Buffer;

/// The size of a header.
const HEADER: u64 = 64;
/// The largest block, header included, that has a size class.
const SMALL_BYTES: u64 = 64 << 10;
const CLASSES: usize = 36;
/// The maximum number of bytes of freed blocks that a thread keeps in a class.
const KEEP_BYTES: u64 = 128 << 10;
/// The change in bytes of small blocks after which a thread reports them.
const REPORT_BYTES: i64 = 64 << 10;
/// The first word of the header of a block of constant data in generated code. Such a header is
/// never written: it lies in read-only memory.
const STATIC_REFERENCES: u64 = 1 << 62;
/// [`Header::slots`] of a block that represents a device block.
const DEVICE_BLOCK: u64 = u64::MAX;
/// The distance of headers of subsequent large blocks from where their pages begin: a number of cache
/// lines without a common divisor with that of a page.
const SHIFT_STEP: u64 = 11 * 64;
const SHIFT_RANGE: u64 = 4 << 10;
/// [`Header::class`] of a block of [`large`].
const LARGE: u64 = u64::MAX;
/// [`Header::class`] of a block whose memory is that of a `value::Buffer`.
const ADOPTED: u64 = u64::MAX - 1;

/// The header that precedes a block's data.
#[repr(C, align(64))]
struct Header {
    references: AtomicU64,
    /// True size, header included.
    total: u64,
    /// Size class, [`LARGE`] or [`ADOPTED`].
    class: u64,
    /// Next free block of the class, while it is free.
    next: Option<NonNull<Header>>,
    /// The number of slots at the start of the data: addresses of blocks to each of which it holds
    /// a reference, or null. [`DEVICE_BLOCK`] if the data are a [`device::Block`].
    slots: u64,
    /// Bytes of the block before the header.
    shift: u64,
}

const _: () = assert!(size_of::<Header>() == HEADER as usize && value::HEADROOM == HEADER as usize);

/// The smallest size class that holds `total` bytes. Classes go in steps of 64 bytes up to 512,
/// then in four steps for each doubling.
fn class_of(total: u64) -> usize {
    let units = total.div_ceil(64).max(1);
    if units <= 8 {
        return units as usize - 1;
    }
    let shift = (units - 1).ilog2() - 2;
    let step = ((units - 1) >> shift) as usize;
    8 + (shift as usize - 1) * 4 + (step - 4)
}

/// The size of a class's blocks, header included.
fn class_bytes(class: usize) -> u64 {
    if class < 8 {
        return (class as u64 + 1) * 64;
    }
    let (shift, step) = ((class - 8) / 4 + 1, (class - 8) % 4 + 4);
    ((step as u64 + 1) << shift) * 64
}

#[derive(Clone, Copy, Default)]
struct FreeList {
    first: Option<NonNull<Header>>,
    bytes: u64,
}

/// A thread's own part of the heap.
pub struct LocalHeap {
    free: [FreeList; CLASSES],
    unreported: i64,
    /// The maximum of `unreported` since the last report.
    highest: i64,
    /// The last large block's [`Header::shift`].
    shift: u64,
}

impl Default for LocalHeap {
    fn default() -> Self {
        Self { free: [FreeList::default(); CLASSES], unreported: 0, highest: 0, shift: 0 }
    }
}

impl LocalHeap {
    /// Reports small blocks to the shared accounting; refused only for growth.
    fn report(&mut self, shared: &SharedHeap) -> Result<(), OutOfMemory> {
        let change = self.unreported;
        shared.note_peak(std::mem::take(&mut self.highest));
        if change > 0 {
            shared.reserve(change as u64)?;
        } else {
            shared.release(change.unsigned_abs());
        }
        self.unreported = 0;
        Ok(())
    }

    fn take_small(
        &mut self,
        class: usize,
        shared: &Shared,
        me: usize,
    ) -> Result<NonNull<Header>, OutOfMemory> {
        let total = class_bytes(class);
        self.unreported += total as i64;
        if self.unreported > REPORT_BYTES
            && let Err(refused) = self.report(&shared.heap)
        {
            self.unreported -= total as i64;
            return Err(refused);
        }
        self.highest = self.highest.max(self.unreported);
        let list = &mut self.free[class];
        if let Some(block) = list.first {
            // SAFETY: blocks in a list are free and this thread's own.
            list.first = unsafe { block.as_ref() }.next;
            list.bytes -= total;
            shared.stats.add(me, Counter::CacheHits, 1);
            return Ok(block);
        }
        let Some(block) = map_block(total) else {
            self.unreported -= total as i64;
            return Err(OutOfMemory { live: shared.heap.live(), limit: None });
        };
        let block = block.cast::<Header>();
        // SAFETY: fresh memory, large enough and aligned for a header.
        unsafe {
            block.write(Header {
                references: AtomicU64::new(0),
                total,
                class: class as u64,
                next: None,
                slots: 0,
                shift: 0,
            });
        }
        Ok(block)
    }

    /// Adds a small block to its free list, or frees it.
    fn put_small(&mut self, mut block: NonNull<Header>, shared: &SharedHeap) {
        // SAFETY: the block has no references left, so it is this thread's own.
        let header = unsafe { block.as_mut() };
        let total = header.total;
        let list = &mut self.free[header.class as usize];
        if list.bytes + total <= KEEP_BYTES {
            header.next = list.first;
            list.first = Some(block);
            list.bytes += total;
        } else {
            // SAFETY: it came from `map_block` with this size.
            unsafe { unmap_block(block.cast(), total) };
        }
        self.unreported -= total as i64;
        if self.unreported < -REPORT_BYTES {
            // Shrinking is never refused.
            let _ = self.report(shared);
        }
    }

    /// Bytes of small blocks that have not been reported to the shared accounting.
    pub fn unreported(&self) -> i64 {
        self.unreported
    }

    /// The maximum of unreported bytes of small blocks since the last report.
    pub fn highest(&self) -> i64 {
        self.highest
    }

    /// Frees all cached blocks and reports what is left.
    pub fn retire(&mut self, shared: &SharedHeap) {
        for list in &mut self.free {
            while let Some(block) = list.first {
                // SAFETY: as in `take_small` and `put_small`.
                unsafe {
                    list.first = block.as_ref().next;
                    unmap_block(block.cast(), block.as_ref().total);
                }
            }
            list.bytes = 0;
        }
        if self.report(shared).is_err() {
            // Bytes that were not reported need not be released.
            self.unreported = 0;
        }
    }

    /// Where the next large block's header is put: blocks of one size would begin at the same place of
    /// a page otherwise, and elements of one index of several arrays share few sets of a cache.
    fn next_shift(&mut self) -> u64 {
        self.shift = (self.shift + SHIFT_STEP) % SHIFT_RANGE;
        self.shift
    }

    /// Allocates a block for `bytes` bytes of data, with one reference.
    pub fn alloc(&mut self, bytes: u64, shared: &Shared, me: usize) -> Result<NonNull<u8>, OutOfMemory> {
        shared.stats.add(me, Counter::Allocations, 1);
        shared.stats.add(me, Counter::Bytes, bytes);
        let total = bytes.saturating_add(HEADER);
        let block = if total <= SMALL_BYTES {
            self.take_small(class_of(total), shared, me)?
        } else {
            // The accounting must be exact for large blocks.
            self.report(&shared.heap)?;
            let shift = self.next_shift();
            let (block, total, reused) = shared.heap.take(total.saturating_add(shift))?;
            shared.stats.add(me, Counter::CacheHits, u64::from(reused));
            // SAFETY: the block is this thread's, large enough and aligned.
            unsafe {
                let block = block.byte_add(shift as usize).cast::<Header>();
                block.write(Header {
                    references: AtomicU64::new(0),
                    total,
                    class: LARGE,
                    next: None,
                    slots: 0,
                    shift,
                });
                block
            }
        };
        // SAFETY: the block is this thread's and has a header; its data follow.
        unsafe {
            block.as_ref().references.store(1, Ordering::Relaxed);
            Ok(block.add(1).cast())
        }
    }

    /// Releases one reference to a block.
    ///
    /// # Safety
    /// `data` must come from `alloc` on the same context; the caller must own
    /// the reference.
    pub unsafe fn unref(&mut self, data: NonNull<u8>, shared: &Shared) {
        // SAFETY: by the caller's promise a header precedes the data.
        let block = unsafe { data.cast::<Header>().sub(1) };
        // SAFETY: as above. The reference ends before the block is reused.
        let (last, class, total, slots, shift) = unsafe {
            let header = block.as_ref();
            let references = header.references.load(Ordering::Acquire);
            if references >= STATIC_REFERENCES {
                return;
            }
            // A sole owner needs no atomic update.
            let last = references == 1 || header.references.fetch_sub(1, Ordering::Release) == 1;
            (last, header.class, header.total, header.slots, header.shift)
        };
        if !last {
            return;
        }
        fence(Ordering::Acquire);
        if slots > 0 {
            // SAFETY: there are no other references to the block.
            unsafe { self.release_slots(block, shared) };
        }
        match class {
            LARGE => {
                // SAFETY: `alloc` put the header so far into the block.
                let start = unsafe { block.cast::<u8>().byte_sub(shift as usize) };
                shared.heap.cache_block(start, total);
            }
            ADOPTED => {
                shared.heap.release(total);
                // SAFETY: `adopt` took these parts from a buffer.
                drop(unsafe { Buffer::from_raw_parts(data, 0, (total - HEADER) as usize) });
            }
            _ => self.put_small(block, &shared.heap),
        }
    }
}

impl LocalHeap {
    /// Allocates a host block that represents a device block, with one reference.
    pub fn alloc_remote(
        &mut self,
        remote: device::Block,
        shared: &Shared,
        me: usize,
    ) -> Result<NonNull<u8>, OutOfMemory> {
        let data = self.alloc(size_of::<device::Block>() as u64, shared, me)?;
        // SAFETY: the block is new, large enough for it, and has a header.
        unsafe {
            data.cast::<device::Block>().write(remote);
            data.cast::<Header>().sub(1).as_mut().slots = DEVICE_BLOCK;
        }
        Ok(data)
    }

    /// Releases the blocks in a block of slots, or the device block that a block represents;
    /// afterwards it is an ordinary block.
    ///
    /// # Safety
    /// The block must have no references left, and its slots must hold what [`br_slots`] specifies.
    #[cold]
    unsafe fn release_slots(&mut self, mut block: NonNull<Header>, shared: &Shared) {
        // SAFETY: by the caller's promise the block is this thread's own.
        let slots = std::mem::take(unsafe { &mut block.as_mut().slots });
        if slots == DEVICE_BLOCK {
            // SAFETY: its data follow the header.
            let remote = unsafe { block.add(1).cast::<device::Block>().read() };
            if let Some(device) = &shared.device {
                device.release(remote);
            }
            return;
        }
        // SAFETY: its data follow the header.
        let first = unsafe { block.add(1) }.cast::<*mut u8>();
        for i in 0..slots as usize {
            // SAFETY: the index is below the number of slots. The blocks in slots are not blocks of
            // slots themselves (`imp::Slots`), so the recursion is not deep.
            if let Some(kept) = NonNull::new(unsafe { first.add(i).read() }) {
                // SAFETY: the slot owns a reference.
                unsafe { self.unref(kept, shared) };
            }
        }
    }
}

/// The message if a product of sizes overflows.
pub const TOO_LARGE: &str = "the size of an array in bytes does not fit into 63 bits.";

/// The message for a refused allocation at a location of the program.
pub fn describe(bytes: u64, refused: OutOfMemory, location: &str) -> String {
    let OutOfMemory { live, limit } = refused;
    let message = match limit {
        Some(limit) => format!(
            "out of memory: cannot allocate {bytes} bytes with {live} bytes in use; the limit is {limit} bytes."
        ),
        None => format!(
            "out of memory: cannot allocate {bytes} bytes with {live} bytes in use; the system has no more."
        ),
    };
    crate::error::render(&message, location)
}

/// Allocates a block; see [`crate::abi`].
///
/// # Safety
/// `ctx` must be the calling thread's view of a live context, `span` null or a
/// valid description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_alloc(ctx: *mut Ctx, bytes: i64, span: *const CheckDesc) -> *mut u8 {
    // SAFETY: by the caller's promise; `heap` and the others are disjoint fields.
    let (heap, shared, me) = unsafe { (&mut (*ctx).heap, (*ctx).shared(), (*ctx).index()) };
    let Ok(size) = u64::try_from(bytes) else {
        shared.errors.record(|| {
            crate::error::render(
                TOO_LARGE,
                // SAFETY: by the caller's promise.
                &unsafe { location(span) },
            )
        });
        return std::ptr::null_mut();
    };
    match heap.alloc(size, shared, me) {
        Ok(block) => block.as_ptr(),
        Err(refused) => {
            // SAFETY: by the caller's promise.
            let location = || unsafe { location(span) };
            shared.errors.record(|| describe(size, refused, &location()));
            std::ptr::null_mut()
        }
    }
}

/// Allocates a block of empty slots; see [`crate::abi`].
///
/// # Safety
/// As [`br_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_slots(ctx: *mut Ctx, count: i64, span: *const CheckDesc) -> *mut u8 {
    let bytes = count.checked_mul(size_of::<*mut u8>() as i64).unwrap_or(-1);
    // SAFETY: by the caller's promise.
    let block = unsafe { br_alloc(ctx, bytes, span) };
    if let Some(data) = NonNull::new(block) {
        // SAFETY: the block is new, has space for `count` addresses, and a header.
        unsafe {
            data.write_bytes(0, bytes as usize);
            data.cast::<Header>().sub(1).as_mut().slots = count as u64;
        }
    }
    block
}

/// The source positions of a description, which may be null.
///
/// # Safety
/// `span` must be null or a valid description.
pub(crate) unsafe fn location(span: *const CheckDesc) -> String {
    // SAFETY: by the caller's promise.
    match unsafe { span.as_ref() } {
        // SAFETY: as above.
        Some(desc) => unsafe { text(desc.location, desc.location_len) }.into_owned(),
        None => String::new(),
    }
}

/// Makes a buffer a block without copying: the header is written to the buffer's headroom. Null on
/// failure, like [`br_alloc`].
///
/// # Safety
/// `ctx` must be the calling thread's view of a live context.
pub unsafe fn adopt(ctx: *mut Ctx, data: Buffer) -> *mut u8 {
    if data.capacity() == 0 {
        // SAFETY: by the caller's promise.
        return unsafe { br_alloc(ctx, 0, std::ptr::null()) };
    }
    // SAFETY: by the caller's promise.
    let shared = unsafe { (*ctx).shared() };
    let total = data.capacity() as u64 + HEADER;
    if let Err(refused) = shared.heap.reserve(total) {
        shared.errors.record(|| describe(data.len() as u64, refused, ""));
        return std::ptr::null_mut();
    }
    let (data, _, _) = data.into_raw_parts();
    // SAFETY: a buffer with a capacity has `HEADROOM` bytes of its own before its data, aligned
    // like them.
    unsafe {
        data.cast::<Header>().sub(1).write(Header {
            references: AtomicU64::new(1),
            total,
            class: ADOPTED,
            next: None,
            slots: 0,
            shift: 0,
        });
    }
    data.as_ptr()
}

/// Adds a reference to a block; see [`crate::abi`].
///
/// # Safety
/// `data` must be null or come from [`br_alloc`], with a reference left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_ref(data: *mut u8) {
    if let Some(data) = NonNull::new(data) {
        // SAFETY: by the caller's promise a header precedes the data.
        let header = unsafe { data.cast::<Header>().sub(1).as_ref() };
        if header.references.load(Ordering::Relaxed) < STATIC_REFERENCES {
            header.references.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Releases a reference to a block; see [`crate::abi`].
///
/// # Safety
/// `ctx` must be the calling thread's view of a live context, `data` null or a
/// block of the same context to which the caller owns a reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_unref(ctx: *mut Ctx, data: *mut u8) {
    if let Some(data) = NonNull::new(data) {
        // SAFETY: by the caller's promise; disjoint fields.
        unsafe {
            let (heap, shared) = (&mut (*ctx).heap, (*ctx).shared());
            heap.unref(data, shared);
        }
    }
}

/// Releases the references in an array; see [`crate::abi`].
///
/// # Safety
/// As [`br_unref`] for each of the `count` pointers that `blocks` points to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_unref_all(ctx: *mut Ctx, blocks: *const *mut u8, count: i64) {
    for i in 0..usize::try_from(count).unwrap_or_default() {
        // SAFETY: by the caller's promise.
        unsafe { br_unref(ctx, *blocks.add(i)) };
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, LocalHeap, SHIFT_RANGE, SMALL_BYTES, class_bytes, class_of};

    #[test]
    fn large_blocks_begin_at_all_lines_of_a_page() {
        let mut heap = LocalHeap::default();
        let mut shifts: Vec<u64> = (0..SHIFT_RANGE / 64).map(|_| heap.next_shift()).collect();
        shifts.sort_unstable();
        assert!(shifts.into_iter().eq((0..SHIFT_RANGE).step_by(64)));
    }

    #[test]
    fn size_classes_are_tight_upper_bounds() {
        assert_eq!(class_of(SMALL_BYTES), CLASSES - 1);
        for class in 0..CLASSES {
            assert_eq!(class_of(class_bytes(class)), class);
            if class > 0 {
                assert_eq!(class_of(class_bytes(class - 1) + 1), class);
            }
        }
        for total in 1..=SMALL_BYTES {
            let size = class_bytes(class_of(total));
            assert!(size >= total && size <= total + total / 4 + 64);
        }
    }
}
