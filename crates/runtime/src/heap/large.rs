//! Large blocks, shared by all threads: fresh ones from the system, a cache of freed ones for
//! reuse, and the accounting of live bytes.
//!
//! Live bytes plus cached bytes exceed the peak of live bytes by at most [`CACHE_SLACK`]: before a fresh
//! block would break that, the oldest cached ones are freed. So repeated runs reuse their (already
//! paged-in) blocks, loops whose arrays grow and shrink do not fault the same pages in at each
//! iteration, and the process is hardly larger than it would be without a cache.

use super::limit::default_limit;
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The size from which on a block is a mapping of its own.
const MAP_BYTES: u64 = 256 << 10;
/// The size from which on a block is aligned for, and requests, huge pages.
const HUGE_BYTES: u64 = 4 << 20;
const HUGE_PAGE: u64 = 2 << 20;
const PAGE: u64 = 4 << 10;
/// Bytes of freed blocks that are cached in addition to the peak of live bytes (`bench/run.py
/// reference --case breadthFirstSearch`).
const CACHE_SLACK: u64 = 32 << 20;
/// Up to this size a cached block may be twice as large as requested; above, by a quarter larger.
const LOOSE_FIT_BYTES: u64 = 2 << 20;
/// The maximum number of cached blocks.
const MAX_CACHED: usize = 64;
/// Below this much live memory the default limit is not determined.
const LIMIT_CHECK_BYTES: u64 = 64 << 20;

/// A freed block.
struct Cached {
    at: NonNull<u8>,
    total: u64,
}

// SAFETY: a freed block belongs to the cache alone.
unsafe impl Send for Cached {}

/// Freed blocks, oldest first.
#[derive(Default)]
struct Cache {
    blocks: Vec<Cached>,
    bytes: u64,
}

/// The reason why an allocation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes in use at that time.
    pub live: u64,
    /// The limit in bytes; `None` if the system refused.
    pub limit: Option<u64>,
}

/// Memory state shared by all threads of a context.
pub struct SharedHeap {
    live: AtomicI64,
    peak: AtomicU64,
    given_limit: Option<u64>,
    default_limit: OnceLock<u64>,
    cache: Mutex<Cache>,
}

impl SharedHeap {
    /// An empty heap with this limit in bytes (`None`: the default limit).
    pub fn new(limit: Option<u64>) -> Self {
        Self {
            live: AtomicI64::new(0),
            peak: AtomicU64::new(0),
            given_limit: limit,
            default_limit: OnceLock::new(),
            cache: Mutex::default(),
        }
    }

    /// Reported bytes in use: negative if one thread reported the release of blocks whose
    /// allocation another one has not reported.
    pub fn reported(&self) -> i64 {
        self.live.load(Ordering::Relaxed)
    }

    /// Reported bytes in use, at least 0.
    pub fn live(&self) -> u64 {
        at_least_0(self.reported())
    }

    /// The peak of bytes in use.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Updates the peak for a thread with `unreported` more bytes in use than it reported.
    pub fn note_peak(&self, unreported: i64) {
        let most = self.reported().saturating_add(unreported);
        self.peak.fetch_max(at_least_0(most), Ordering::Relaxed);
    }

    fn limit(&self) -> u64 {
        self.given_limit.unwrap_or_else(|| *self.default_limit.get_or_init(default_limit))
    }

    /// Counts `bytes` more as live, if the limit allows.
    pub fn reserve(&self, bytes: u64) -> Result<(), OutOfMemory> {
        let more = i64::try_from(bytes).unwrap_or(i64::MAX);
        let before = self.live.fetch_add(more, Ordering::Relaxed);
        let (after, before) = (before.saturating_add(more), at_least_0(before));
        let after = at_least_0(after);
        let bound = self.given_limit.unwrap_or(LIMIT_CHECK_BYTES);
        if after > bound && after > self.limit() {
            self.live.fetch_sub(more, Ordering::Relaxed);
            return Err(OutOfMemory { live: before, limit: Some(self.limit()) });
        }
        self.peak.fetch_max(after, Ordering::Relaxed);
        Ok(())
    }

    /// Counts `bytes` less as live.
    pub fn release(&self, bytes: u64) {
        let less = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.live.fetch_sub(less, Ordering::Relaxed);
    }

    /// Returns a block of at least `total` bytes, its true size, and true if it was cached. It
    /// counts as live from now on.
    pub fn take(&self, total: u64) -> Result<(NonNull<u8>, u64, bool), OutOfMemory> {
        let total = round_up(total, if total < MAP_BYTES { 64 } else { PAGE });
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let most = total.saturating_add(total / 4).max(total.saturating_mul(2).min(LOOSE_FIT_BYTES));
        let fit = cache
            .blocks
            .iter()
            .enumerate()
            .filter(|(_, block)| (total..=most).contains(&block.total))
            .min_by_key(|(_, block)| block.total)
            .map(|(i, _)| i);
        if let Some(i) = fit {
            self.reserve(cache.blocks[i].total)?;
            let block = cache.blocks.remove(i);
            cache.bytes -= block.total;
            return Ok((block.at, block.total, true));
        }
        self.reserve(total)?;
        while cache.bytes > 0 && self.live() + cache.bytes > self.peak() + CACHE_SLACK {
            cache.free_oldest();
        }
        loop {
            if let Some(at) = map_block(total) {
                return Ok((at, total, false));
            }
            if cache.blocks.is_empty() {
                self.release(total);
                return Err(OutOfMemory { live: self.live(), limit: None });
            }
            cache.free_oldest();
        }
    }

    /// Caches a block from `take`, of its true size.
    pub fn cache_block(&self, at: NonNull<u8>, total: u64) {
        self.release(total);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.blocks.len() >= MAX_CACHED {
            cache.free_oldest();
        }
        cache.bytes += total;
        cache.blocks.push(Cached { at, total });
    }
}

impl Drop for SharedHeap {
    fn drop(&mut self) {
        let cache = self.cache.get_mut().unwrap_or_else(PoisonError::into_inner);
        while !cache.blocks.is_empty() {
            cache.free_oldest();
        }
    }
}

impl Cache {
    fn free_oldest(&mut self) {
        let block = self.blocks.remove(0);
        self.bytes -= block.total;
        // SAFETY: the block came from `map_block` with this size and is unused.
        unsafe { unmap_block(block.at, block.total) };
    }
}

const fn at_least_0(bytes: i64) -> u64 {
    if bytes < 0 { 0 } else { bytes as u64 }
}

const fn round_up(n: u64, to: u64) -> u64 {
    n.div_ceil(to).saturating_mul(to)
}

fn layout(total: u64) -> Option<Layout> {
    Layout::from_size_align(usize::try_from(total).ok()?, 64).ok()
}

/// Obtains fresh memory of `total` bytes, aligned to 64.
pub fn map_block(total: u64) -> Option<NonNull<u8>> {
    if total >= MAP_BYTES {
        return map(total);
    }
    // SAFETY: the size is not 0.
    NonNull::new(unsafe { alloc(layout(total)?) })
}

/// Returns memory to the system.
///
/// # Safety
/// `at` must come from [`map_block`] with the same `total`, and be unused.
pub unsafe fn unmap_block(at: NonNull<u8>, total: u64) {
    if total >= MAP_BYTES {
        // SAFETY: a mapping of exactly this extent, by the caller's promise.
        unsafe { libc::munmap(at.as_ptr().cast(), total as usize) };
    } else if let Some(layout) = layout(total) {
        // SAFETY: by the caller's promise.
        unsafe { dealloc(at.as_ptr(), layout) };
    }
}

/// Creates a private mapping of `total` bytes (a multiple of the page size).
fn map(total: u64) -> Option<NonNull<u8>> {
    let huge = total >= HUGE_BYTES;
    let span = if huge { total.checked_add(HUGE_PAGE)? } else { total };
    let span = usize::try_from(span).ok().filter(|&n| isize::try_from(n).is_ok())?;
    // SAFETY: a new anonymous mapping touches no existing memory.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            span,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    if !huge {
        return NonNull::new(start.cast());
    }
    let base = start as usize;
    let aligned = round_up(base as u64, HUGE_PAGE) as usize;
    let (head, tail) = (aligned - base, base + span - (aligned + total as usize));
    // SAFETY: cuts off the unaligned ends of the mapping just made; the parts are whole pages
    // because all sizes are.
    unsafe {
        if head > 0 {
            libc::munmap(start, head);
        }
        if tail > 0 {
            libc::munmap((aligned + total as usize) as *mut libc::c_void, tail);
        }
        #[cfg(target_os = "linux")]
        libc::madvise(aligned as *mut libc::c_void, total as usize, libc::MADV_HUGEPAGE);
    }
    NonNull::new(aligned as *mut u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn freed_blocks_of_several_sizes_are_reused() {
        let heap = SharedHeap::new(None);
        let take_and_free = |mib: u64| {
            let (at, total, cached) = heap.take(mib * MIB).expect("enough memory");
            heap.cache_block(at, total);
            cached
        };
        let first = [1, 3, 5].map(take_and_free);
        let second = [1, 3, 5].map(take_and_free);
        assert_eq!((first, second), ([false; 3], [true; 3]));
        // Only small blocks may be twice as large as requested.
        assert!(take_and_free(4) && !take_and_free(2));
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let heap = SharedHeap::new(Some(MIB));
        let refused = heap.take(1 << 63).expect_err("too large");
        assert_eq!((refused.live, refused.limit), (0, Some(MIB)));
        assert_eq!(heap.live(), 0);
    }
}
