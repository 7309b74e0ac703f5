//! The model of devices: the size of thread blocks and of shared memory. The partition of work over
//! threads affects results (design contract 1), so it is the same for all devices and known at
//! compile time.

use prim::{BinOp, PrimType};

/// The layout of work over the threads of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    /// The number of threads of a block, a power of two up to [`MAX_BLOCK`].
    pub block: i64,
    /// The number of threads of a subgroup, which synchronise at little cost: neighbours in a
    /// block, a power of two up to [`MAX_SUBGROUP`] and to the block size.
    pub subgroup: i64,
    /// The largest number of blocks that share a scan, or a reduction of one of several segments:
    /// one block combines their partial results.
    pub blocks: i64,
    /// The multiple of `blocks` that share the reduction of one segment: several times the number
    /// of resident blocks, so that the last ones leave little of the device idle.
    pub waves: i64,
    /// The least number of iterations per thread of such a block, where there is more than one
    /// block.
    pub grain: i64,
    /// The least number of iterations per thread where a block has several segments.
    pub segment_iterations: i64,
    /// The number of iterations per thread where there are many cheap ones: their reads are in
    /// flight at the same time.
    pub iterations_per_thread: i64,
    /// The tiles for shared operands.
    pub tiles: Tiles,
    /// The tiles of scans.
    pub scans: Scans,
    /// The bins of histograms.
    pub bins: Bins,
    /// True if a started block runs to its end even while another one waits for it.
    pub progress: bool,
}

/// The tiles of scans that read and write each element once: the iterations of a block, whose
/// elements its threads keep in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scans {
    /// The largest number of iterations per thread, an odd number: neighbouring threads then access
    /// different banks.
    pub max_iterations: i64,
    /// The number of preceding tiles that a block looks back at together, up to its number of
    /// threads.
    pub window: i64,
}

impl Scans {
    /// The number of iterations per thread of a block, where shared memory has `bytes` for each
    /// iteration and as many for each thread, and `extra` more bytes for each thread; `None` if
    /// not even one iteration fits.
    pub const fn iterations(&self, bytes: u64, extra: u64, block: i64) -> Option<i64> {
        let block = block.unsigned_abs();
        let others = (bytes + extra) * block + RESERVED_SHARED_BYTES;
        let Some(available) = SHARED_MEMORY_BYTES.checked_sub(others) else {
            return None;
        };
        let each = bytes * block;
        if available < each {
            return None;
        }
        let available = if available < TILE_BYTES { available } else { TILE_BYTES };
        let fit = match available.checked_div(each) {
            Some(fit) if (fit as i64) < self.max_iterations => fit as i64,
            Some(_) | None => self.max_iterations,
        };
        Some(if fit < 3 { 1 } else { fit - 1 + fit % 2 })
    }
}

/// The bins of histograms in a block's shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bins {
    /// The size in bytes of the bins, and of the iterations' buffer.
    pub bytes: u64,
    /// The least number of threads that share bins, a power of two: they read adjacent elements.
    pub sharers: i64,
    /// The number of threads per bin, and of iterations per bin of a copy, from which on the bins
    /// are replicated in device memory: with fewer there is hardly any contention.
    pub contention: i64,
}

/// The tiles of arrays that the threads of a block load together, each element once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tiles {
    /// The extent of the square tiles of matrix transpositions, a power of two up to the block
    /// size.
    pub square: i64,
    /// The extent of the square of iterations that a thread computes where iterations share
    /// operands in two dimensions.
    pub iterations: i64,
    /// The number of iterations of the inner loop that a tile covers.
    pub depth: i64,
    /// The number of blocks that keep the device busy: a block takes less work where there would be
    /// fewer.
    pub busy_blocks: i64,
}

impl Default for Device {
    /// The parameters of the paper on redomap: blocks of 256 threads, as many blocks as one block
    /// can combine. Measured on an H200 (`docs/measurements.md`): sums of 10^8 numbers take 97 us with four
    /// waves of interleaved blocks and 121 with one wave of contiguous slices, copies with four
    /// elements per thread 191 us and with one 293. The others were not chosen on a GPU: four
    /// neighbouring singles are half of a memory transaction, eight owners of bins read all of it;
    /// a square is as wide as a warp on most devices, 16 iterations per thread leave registers for
    /// loop-carried values, and two tiles of doubles stay below [`TILE_BYTES`]. Tiles of scans fill
    /// these, so that few blocks wait for each other, and a window is more of them than a device
    /// completes in the time of a signal. All current devices make progress: blocks remain resident
    /// until they end, and on processors, they run in threads of the operating system.
    fn default() -> Self {
        Self {
            block: 256,
            subgroup: MAX_SUBGROUP,
            blocks: 1024,
            waves: 4,
            grain: 16,
            segment_iterations: 4,
            iterations_per_thread: 4,
            tiles: Tiles { square: 32, iterations: 4, depth: 16, busy_blocks: 64 },
            scans: Scans { max_iterations: 23, window: 256 },
            bins: Bins { bytes: TILE_BYTES, sharers: 8, contention: 4 },
            progress: true,
        }
    }
}

impl Device {
    /// Small blocks and tiles for tests, so that small arrays have several of them.
    pub const SMALL: Self = Self {
        block: 8,
        subgroup: 4,
        blocks: 5,
        waves: 2,
        grain: 2,
        segment_iterations: 1,
        iterations_per_thread: 2,
        tiles: Tiles { square: 4, iterations: 2, depth: 3, busy_blocks: 1 },
        scans: Scans { max_iterations: 3, window: 2 },
        bins: Bins { bytes: 128, sharers: 2, contention: 1 },
        progress: true,
    };

    /// The same with another block size, a power of two from [`MAX_SUBGROUP`] to [`MAX_BLOCK`].
    #[must_use]
    pub const fn with_block(self, block: i64) -> Self {
        let window = self.scans.window;
        Self {
            block,
            scans: Scans { window: if window < block { window } else { block }, ..self.scans },
            ..self
        }
    }

    /// Returns true if this is a valid block size.
    pub const fn is_block(block: i64) -> bool {
        let fits = MAX_SUBGROUP <= block && block <= MAX_BLOCK;
        fits && block.unsigned_abs().is_power_of_two()
    }

    /// The threads of a block as rows and columns, as square as possible; the number of columns is
    /// a multiple of that of rows.
    pub const fn thread_grid(&self) -> (i64, i64) {
        let columns = 1 << self.block.trailing_zeros().div_ceil(2);
        (self.block / columns, columns)
    }
}

/// The largest number of threads of a block, on any device.
pub const MAX_BLOCK: i64 = 1024;
/// The largest number of threads of a subgroup: the ones that run in lockstep on all devices with
/// warps.
pub const MAX_SUBGROUP: i64 = 32;
/// The total size in bytes of a kernel's tiles, so that several blocks are resident at once.
pub const TILE_BYTES: u64 = SHARED_MEMORY_BYTES / 2;
/// The size in bytes of a block's shared memory on any current device: CUDA's limit for arrays of
/// constant size.
pub const SHARED_MEMORY_BYTES: u64 = 48 * 1024;
/// The size in bytes of shared memory reserved for flags and counters: a failed thread, the index
/// of a tile.
pub const RESERVED_SHARED_BYTES: u64 = 64;

/// Returns true if devices combine elements of a type with an operator atomically, with results
/// independent of the order.
pub fn is_atomic(op: BinOp, ty: PrimType) -> bool {
    let exact = op.is_associative() && !op.is_float();
    exact && op != BinOp::Mul && ty.is_int() && is_word(ty)
}

/// Returns true if devices exchange elements of a type atomically.
pub const fn is_word(ty: PrimType) -> bool {
    matches!(ty.size(), 4 | 8)
}
