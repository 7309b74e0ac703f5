//! The memory of a device: blocks against a limit, and freed ones kept for reuse.
//!
//! What is in use and what is kept never exceed the limit together; before that would
//! happen, the blocks that were kept longest go back. What cannot fit is refused before
//! the driver is asked, as drivers may notice only when a kernel runs.

use super::driver::{Driver, Memory};
use std::fmt::Write as _;

/// Blocks come in multiples of so many bytes.
const STEP: u64 = 256;
/// At most this many freed blocks are kept.
const MAX_KEPT: usize = 256;

/// A freed block.
struct Kept {
    memory: Memory,
    bytes: u64,
}

/// The account of a device's memory.
pub struct Pool {
    limit: u64,
    /// The largest block that the device gives.
    largest: u64,
    live: u64,
    peak: u64,
    /// Oldest first.
    kept: Vec<Kept>,
    kept_bytes: u64,
    /// How many blocks were asked for, and how many of them had been kept.
    pub blocks: u64,
    pub reused: u64,
}

/// Why there is no memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// More would be in use than the limit.
    Limit,
    /// The device gives no block as large.
    Block,
    /// The device has no more.
    Device,
}

impl Pool {
    /// A pool that gives so much at a time.
    pub fn new(limit: u64, largest: u64) -> Self {
        Self { limit, largest, live: 0, peak: 0, kept: Vec::new(), kept_bytes: 0, blocks: 0, reused: 0 }
    }

    /// The most bytes that were in use at a time.
    pub const fn peak(&self) -> u64 {
        self.peak
    }

    /// A block of at least so many bytes, and how many it has.
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
        let fits = |kept: &Kept| (bytes..=most).contains(&kept.bytes);
        let fit =
            (self.kept.iter().enumerate()).filter(|(_, kept)| fits(kept)).min_by_key(|(_, kept)| kept.bytes);
        if let Some((at, kept)) = fit
            && kept.bytes <= self.limit - self.live
        {
            let Kept { memory, bytes } = self.kept.remove(at);
            self.kept_bytes -= bytes;
            self.reused += 1;
            self.use_more(bytes);
            return Ok(Ok((memory, bytes)));
        }
        while !self.kept.is_empty() && self.live + self.kept_bytes + bytes > self.limit {
            self.drop_oldest(driver);
        }
        loop {
            if let Some(memory) = driver.alloc(bytes)? {
                self.use_more(bytes);
                return Ok(Ok((memory, bytes)));
            }
            if self.kept.is_empty() {
                return Ok(Err(Refused::Device));
            }
            self.drop_oldest(driver);
        }
    }

    fn use_more(&mut self, bytes: u64) {
        self.live += bytes;
        self.peak = self.peak.max(self.live);
    }

    /// Takes a block back, of so many bytes.
    pub fn put(&mut self, driver: &mut dyn Driver, memory: Memory, bytes: u64) {
        self.live -= bytes;
        self.kept_bytes += bytes;
        self.kept.push(Kept { memory, bytes });
        if self.kept.len() > MAX_KEPT {
            self.drop_oldest(driver);
        }
    }

    fn drop_oldest(&mut self, driver: &mut dyn Driver) {
        let Kept { memory, bytes } = self.kept.remove(0);
        self.kept_bytes -= bytes;
        driver.free(memory);
    }

    /// Gives back all that is kept.
    pub fn empty(&mut self, driver: &mut dyn Driver) {
        while !self.kept.is_empty() {
            self.drop_oldest(driver);
        }
    }

    /// What is said where a block of so many bytes is refused.
    pub fn describe(&self, bytes: u64, refused: Refused) -> String {
        let mut text = format!(
            "out of memory on the device: {bytes} bytes were asked for while {} bytes are in use, and ",
            self.live
        );
        // Writing to a string cannot fail.
        let _ = match refused {
            Refused::Limit => write!(text, "the limit is {} bytes.", self.limit),
            Refused::Block => write!(text, "a block has {} bytes at most.", self.largest),
            Refused::Device => write!(text, "the device has no more."),
        };
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{Pool, Refused};
    use crate::device::fake::Fake;

    #[test]
    fn blocks_are_kept_for_reuse_and_never_exceed_the_limit() {
        let (mut driver, mut pool) = (Fake::new(8192), Pool::new(4096, 2048));
        let mut take = |pool: &mut Pool, bytes| pool.take(&mut driver, bytes).expect("it works");
        let (first, size) = take(&mut pool, 1000).expect("it fits");
        assert_eq!(size, 1024);
        let (second, _) = take(&mut pool, 2048).expect("it fits");
        assert_eq!(take(&mut pool, 1025), Err(Refused::Limit));
        assert_eq!(take(&mut pool, u64::MAX), Err(Refused::Limit));
        assert_eq!(
            pool.describe(1025, Refused::Limit),
            "out of memory on the device: 1025 bytes were asked for while 3072 bytes are in use, and the limit is 4096 bytes."
        );
        let (mut driver, mut other) = (Fake::new(8192), Pool::new(4096, 2048));
        assert_eq!(other.take(&mut driver, 2049), Ok(Err(Refused::Block)));
        let mut driver = Fake::new(8192);
        pool.put(&mut driver, second, 2048);
        // The same block, though less is wanted; one much too large is not taken.
        let again = pool.take(&mut driver, 1800).expect("it works");
        assert_eq!(again, Ok((second, 2048)));
        assert_eq!((pool.blocks, pool.reused), (5, 1));
        pool.put(&mut driver, second, 2048);
        pool.put(&mut driver, first, 1024);
        assert_eq!(pool.peak(), 3072);
        pool.empty(&mut driver);
        assert_eq!(driver.freed, [second, first]);
    }

    #[test]
    fn kept_blocks_go_before_the_device_is_full() {
        let (mut driver, mut pool) = (Fake::new(1024), Pool::new(4096, 4096));
        let (small, _) = pool.take(&mut driver, 512).expect("it works").expect("it fits");
        pool.put(&mut driver, small, 512);
        assert!(pool.take(&mut driver, 1024).expect("it works").is_ok());
        assert_eq!(driver.freed, [small]);
        assert_eq!(pool.take(&mut driver, 256), Ok(Err(Refused::Device)));
    }
}
