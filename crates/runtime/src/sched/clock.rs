//! A clock that is cheap to read, for spans of some microseconds.

#[cfg(target_arch = "x86_64")]
mod ticks {
    /// About 5 µs: the counter runs at the processor's nominal frequency.
    pub const SEQUENTIAL: u64 = 12_000;

    pub fn now() -> u64 {
        // SAFETY: reading the counter touches no memory, and all 64-bit x86 processors have it.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod ticks {
    /// In nanoseconds.
    pub const SEQUENTIAL: u64 = super::super::SEQUENTIAL_NS as u64;

    pub fn now() -> u64 {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the structure is writable. The clock exists everywhere.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
}

/// The current time, and the limit below which work is not worth sharing, in the clock's units.
pub use ticks::{SEQUENTIAL, now};
