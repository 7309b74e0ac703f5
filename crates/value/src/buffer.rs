//! A growable byte buffer with cache-line alignment.
//!
//! Elements of every type are naturally aligned, and vector loads of any width are aligned at the
//! start. Allocation failure is an error value, never an abort, because sizes come from input
//! files. Memory that is reserved but not yet filled costs address space only.

use std::alloc::{Layout, alloc, dealloc};
use std::fmt;
use std::io::{self, Read};
use std::ptr::NonNull;

/// Alignment of every buffer, in bytes.
pub const ALIGNMENT: usize = 64;

/// Bytes before the first byte that belong to the allocation of every buffer with a capacity. After
/// [`Buffer::into_raw_parts`], the caller may write a header there.
pub const HEADROOM: usize = 64;

/// The page size requested from the system for large buffers. Filling fresh memory then takes about
/// a third of the time that small pages take.
const LARGE_PAGE: usize = 2 << 20;

/// The allocation size from which allocations are aligned for large pages.
const LARGE: usize = 2 * LARGE_PAGE;

/// The size of one `read` call of [`Buffer::fill_from`]. The target is cleared first; at this size
/// it stays in the level-2 cache.
const READ_CHUNK: usize = 256 * 1024;

/// The maximum number of bytes that [`Buffer::fill_from`] reserves on the strength of a header
/// alone.
const MAX_UNTRUSTED_RESERVE: usize = 1 << 30;

/// A failed allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory {
    /// The number of bytes requested.
    pub bytes: usize,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of memory: cannot allocate {} bytes", self.bytes)
    }
}

impl std::error::Error for OutOfMemory {}

/// Owned bytes; the address of the first is divisible by [`ALIGNMENT`].
pub struct Buffer {
    ptr: NonNull<u8>,
    len: usize,
    /// The size of the allocation without the headroom; 0 means that `ptr` dangles.
    capacity: usize,
}

// SAFETY: a buffer owns its bytes alone, as a `Vec<u8>` does.
unsafe impl Send for Buffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for Buffer {}

/// The layout of an allocation for the headroom and at least `capacity` bytes. A capacity that
/// fills its layout gives the same layout again.
fn layout(capacity: usize) -> Option<Layout> {
    let wanted = capacity.checked_add(HEADROOM)?;
    let alignment = if wanted >= LARGE { LARGE_PAGE } else { ALIGNMENT };
    Layout::from_size_align(wanted.checked_next_multiple_of(alignment)?, alignment).ok()
}

/// Requests large pages for a fresh allocation. This is only advice: the system may ignore it.
fn advise_large_pages(start: NonNull<u8>, layout: Layout) {
    #[cfg(target_os = "linux")]
    if layout.align() == LARGE_PAGE {
        // SAFETY: the range is one allocation that starts and ends on page boundaries, and the
        // advice does not change its contents.
        unsafe { libc::madvise(start.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, layout);
}

impl Buffer {
    /// An empty buffer; allocates nothing.
    pub const fn new() -> Self {
        // SAFETY: `ALIGNMENT` is not 0.
        let ptr = unsafe { NonNull::new_unchecked(std::ptr::without_provenance_mut(ALIGNMENT)) };
        Self { ptr, len: 0, capacity: 0 }
    }

    /// An empty buffer with space for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Result<Self, OutOfMemory> {
        let mut buffer = Self::new();
        if capacity > 0 {
            buffer.grow_to(capacity)?;
        }
        Ok(buffer)
    }

    /// A buffer of `len` zero bytes.
    pub fn zeroed(len: usize) -> Result<Self, OutOfMemory> {
        let mut buffer = Self::with_capacity(len)?;
        // SAFETY: the capacity is at least `len`, and the bytes are written before they count as
        // part of the buffer.
        unsafe {
            buffer.ptr.as_ptr().write_bytes(0, len);
            buffer.len = len;
        }
        Ok(buffer)
    }

    /// A copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Result<Self, OutOfMemory> {
        let mut buffer = Self::with_capacity(bytes.len())?;
        buffer.extend(bytes)?;
        Ok(buffer)
    }

    /// The number of bytes.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of bytes that fit without another allocation.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// The bytes.
    pub const fn as_slice(&self) -> &[u8] {
        // SAFETY: the first `len` bytes are allocated and written; a dangling pointer goes with
        // length 0.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }

    /// The bytes, mutable.
    pub const fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }

    /// Makes space for `additional` more bytes. At least doubles the capacity, or grows it exactly
    /// as far as needed if there is no memory for that.
    pub fn reserve(&mut self, additional: usize) -> Result<(), OutOfMemory> {
        let wanted = self.len.checked_add(additional).ok_or(OutOfMemory { bytes: usize::MAX })?;
        if wanted <= self.capacity {
            return Ok(());
        }
        let doubled = self.capacity.saturating_mul(2).min(isize::MAX as usize / 2);
        if wanted < doubled && self.grow_to(doubled).is_ok() {
            return Ok(());
        }
        self.grow_to(wanted)
    }

    /// Moves the bytes to a new allocation of at least `capacity` bytes, which must exceed the
    /// present capacity.
    fn grow_to(&mut self, capacity: usize) -> Result<(), OutOfMemory> {
        let failure = OutOfMemory { bytes: capacity };
        let new_layout = layout(capacity).ok_or(failure)?;
        // SAFETY: the size is not 0.
        let base = NonNull::new(unsafe { alloc(new_layout) }).ok_or(failure)?;
        advise_large_pages(base, new_layout);
        // SAFETY: the headroom is part of the allocation.
        let new = unsafe { base.add(HEADROOM) };
        // SAFETY: both ranges are allocated, distinct and at least `len` long.
        unsafe {
            new.as_ptr().copy_from_nonoverlapping(self.ptr.as_ptr(), self.len);
        };
        self.release();
        self.ptr = new;
        self.capacity = new_layout.size() - HEADROOM;
        Ok(())
    }

    fn release(&mut self) {
        if self.capacity > 0
            && let Some(layout) = layout(self.capacity)
        {
            // SAFETY: `ptr` is `HEADROOM` into an allocation of this very layout.
            unsafe { dealloc(self.ptr.as_ptr().sub(HEADROOM), layout) };
        }
    }

    /// Appends `bytes`.
    pub fn extend(&mut self, bytes: &[u8]) -> Result<(), OutOfMemory> {
        self.reserve(bytes.len())?;
        // SAFETY: `reserve` made the space, and the borrowed source cannot overlap the exclusively
        // borrowed buffer.
        unsafe {
            let end = self.ptr.as_ptr().add(self.len);
            end.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        self.len += bytes.len();
        Ok(())
    }

    /// Appends the `N` bytes of one element.
    #[inline]
    pub fn push<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), OutOfMemory> {
        if self.capacity - self.len < N {
            self.reserve(N.max(ALIGNMENT))?;
        }
        // SAFETY: there is space for `N` bytes after `len`; the type `[u8; N]` has alignment 1.
        unsafe {
            self.ptr.as_ptr().add(self.len).cast::<[u8; N]>().write(bytes);
        };
        self.len += N;
        Ok(())
    }

    /// Appends up to `count` bytes from `source`, read directly into the buffer, and returns their
    /// number, which is smaller than `count` only if the source ended. With `trusted`, the source
    /// is known to hold `count` bytes, and space for all is reserved at once; otherwise at most 1
    /// GiB is reserved at first and the buffer grows as bytes arrive.
    pub fn fill_from(&mut self, source: &mut dyn Read, count: usize, trusted: bool) -> io::Result<usize> {
        let oom = |e: OutOfMemory| io::Error::new(io::ErrorKind::OutOfMemory, e);
        let first = if trusted { count } else { count.min(MAX_UNTRUSTED_RESERVE) };
        self.reserve(first).map_err(oom)?;
        let mut done = 0;
        while done < count {
            let piece = READ_CHUNK.min(count - done);
            self.reserve(piece).map_err(oom)?;
            // SAFETY: there is space for `piece` bytes after `len`; they are cleared before a slice
            // of them is made.
            let target = unsafe {
                let start = self.ptr.as_ptr().add(self.len);
                start.write_bytes(0, piece);
                std::slice::from_raw_parts_mut(start, piece)
            };
            match source.read(target) {
                Ok(0) => break,
                Ok(n) => {
                    let n = n.min(piece);
                    self.len += n;
                    done += n;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    /// Releases the allocation to the caller as address, length and capacity. It is freed by
    /// rebuilding the buffer with [`Buffer::from_raw_parts`].
    pub fn into_raw_parts(self) -> (NonNull<u8>, usize, usize) {
        let parts = (self.ptr, self.len, self.capacity);
        std::mem::forget(self);
        parts
    }

    /// Rebuilds a buffer from the parts that [`Buffer::into_raw_parts`] returned.
    ///
    /// # Safety
    /// The three must come from one call of `into_raw_parts` and be used once; `len` may have
    /// changed to another number of initialised bytes within the capacity.
    pub const unsafe fn from_raw_parts(ptr: NonNull<u8>, len: usize, capacity: usize) -> Self {
        Self { ptr, len, capacity }
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.release();
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Buffer {}
