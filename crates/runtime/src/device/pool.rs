//! The memory of a device: allocation with a limit, and a cache of freed blocks.
//!
//! Live and cached bytes together never exceed the limit; before that would happen, the oldest
//! cached blocks are freed. Requests that cannot succeed are refused without asking the driver, as
//! drivers may notice only when a kernel runs.

use super::driver::{Driver, Memory};
use std::fmt::Write as _;

/// The granularity of block sizes, in bytes.
const STEP: u64 = 256;
/// The maximum number of cached blocks.
const MAX_CACHED: usize = 256;

/// A freed block.
struct Cached {
    memory: Memory,
    bytes: u64,
}

/// The accounting of a device's memory.
pub struct DeviceHeap {
    limit: u64,
    /// The largest block that the device can allocate.
    largest: u64,
    live: u64,
    peak: u64,
    /// Oldest first.
    cached: Vec<Cached>,
    cached_bytes: u64,
    /// The number of blocks requested, and the number that came from the cache.
    pub blocks: u64,
    pub reused: u64,
}

/// The reason why an allocation was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The limit would be exceeded.
    Limit,
    /// The device cannot allocate a block of this size.
    Block,
    /// The device is out of memory.
    Device,
}

impl DeviceHeap {
    /// A pool with a limit and a maximum block size.
    pub fn new(limit: u64, largest: u64) -> Self {
        Self { limit, largest, live: 0, peak: 0, cached: Vec::new(), cached_bytes: 0, blocks: 0, reused: 0 }
    }

    /// The peak of bytes in use.
    pub const fn peak(&self) -> u64 {
        self.peak
    }

    /// Returns a block of at least `bytes` bytes, and its true size.
    pub fn take(
        &mut self,
        driver: &mut dyn Driver,
        bytes: u64,
    ) -> Result<Result<(Memory, u64), Refused>, String> {
        self.blocks += 1;
        let bytes = bytes.max(1).div_ceil(STEP).saturating_mul(STEP);
        if bytes > self.limit.saturating_sub(self.live) {
            return Ok(Err(Refused::Limit));
        }
        if bytes > self.largest {
            return Ok(Err(Refused::Block));
        }
        let most = bytes + bytes / 4;
        let fits = |block: &Cached| (bytes..=most).contains(&block.bytes);
        let fit = (self.cached.iter().enumerate())
            .filter(|(_, block)| fits(block))
            .min_by_key(|(_, block)| block.bytes);
        if let Some((at, block)) = fit
            && block.bytes <= self.limit - self.live
        {
            let Cached { memory, bytes } = self.cached.remove(at);
            self.cached_bytes -= bytes;
            self.reused += 1;
            self.count_live(bytes);
            return Ok(Ok((memory, bytes)));
        }
        while !self.cached.is_empty() && self.live + self.cached_bytes + bytes > self.limit {
            self.free_oldest(driver);
        }
        loop {
            if let Some(memory) = driver.alloc(bytes)? {
                self.count_live(bytes);
                return Ok(Ok((memory, bytes)));
            }
            if self.cached.is_empty() {
                return Ok(Err(Refused::Device));
            }
            self.free_oldest(driver);
        }
    }

    fn count_live(&mut self, bytes: u64) {
        self.live += bytes;
        self.peak = self.peak.max(self.live);
    }

    /// Caches a block of `bytes` bytes.
    pub fn put(&mut self, driver: &mut dyn Driver, memory: Memory, bytes: u64) {
        self.live -= bytes;
        self.cached_bytes += bytes;
        self.cached.push(Cached { memory, bytes });
        if self.cached.len() > MAX_CACHED {
            self.free_oldest(driver);
        }
    }

    fn free_oldest(&mut self, driver: &mut dyn Driver) {
        let Cached { memory, bytes } = self.cached.remove(0);
        self.cached_bytes -= bytes;
        driver.free(memory);
    }

    /// Frees all cached blocks.
    pub fn empty(&mut self, driver: &mut dyn Driver) {
        while !self.cached.is_empty() {
            self.free_oldest(driver);
        }
    }

    /// The message for a refused request of `bytes` bytes.
    pub fn describe(&self, bytes: u64, refused: Refused) -> String {
        let mut text = format!(
            "out of memory on the device: cannot allocate {bytes} bytes with {} bytes in use; ",
            self.live
        );
        // Writing to a string cannot fail.
        let _ = match refused {
            Refused::Limit => write!(text, "the limit is {} bytes.", self.limit),
            Refused::Block => write!(text, "a block has at most {} bytes.", self.largest),
            Refused::Device => write!(text, "the device has no more."),
        };
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceHeap, Refused};
    use crate::device::fake::Fake;

    #[test]
    fn freed_blocks_are_reused_within_the_limit() {
        let (mut driver, mut pool) = (Fake::new(8192), DeviceHeap::new(4096, 2048));
        let mut take =
            |pool: &mut DeviceHeap, bytes| pool.take(&mut driver, bytes).expect("the driver works");
        let (first, size) = take(&mut pool, 1000).expect("enough memory");
        assert_eq!(size, 1024);
        let (second, _) = take(&mut pool, 2048).expect("enough memory");
        assert_eq!(take(&mut pool, 1025), Err(Refused::Limit));
        assert_eq!(take(&mut pool, u64::MAX), Err(Refused::Limit));
        assert_eq!(
            pool.describe(1025, Refused::Limit),
            "out of memory on the device: cannot allocate 1025 bytes with 3072 bytes in use; the limit is 4096 bytes."
        );
        let (mut driver, mut other) = (Fake::new(8192), DeviceHeap::new(4096, 2048));
        assert_eq!(other.take(&mut driver, 2049), Ok(Err(Refused::Block)));
        let mut driver = Fake::new(8192);
        pool.put(&mut driver, second, 2048);
        // The same block, though fewer bytes are requested; a much larger one would not be reused.
        let reused = pool.take(&mut driver, 1800).expect("the driver works");
        assert_eq!(reused, Ok((second, 2048)));
        assert_eq!((pool.blocks, pool.reused), (5, 1));
        pool.put(&mut driver, second, 2048);
        pool.put(&mut driver, first, 1024);
        assert_eq!(pool.peak(), 3072);
        pool.empty(&mut driver);
        assert_eq!(driver.freed, [second, first]);
    }

    #[test]
    fn cached_blocks_are_freed_before_the_device_is_full() {
        let (mut driver, mut pool) = (Fake::new(1024), DeviceHeap::new(4096, 4096));
        let (small, _) = pool.take(&mut driver, 512).expect("the driver works").expect("enough memory");
        pool.put(&mut driver, small, 512);
        assert!(pool.take(&mut driver, 1024).expect("the driver works").is_ok());
        assert_eq!(driver.freed, [small]);
        assert_eq!(pool.take(&mut driver, 256), Ok(Err(Refused::Device)));
    }
}
