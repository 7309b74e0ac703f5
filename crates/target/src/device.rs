//! What devices have: how many threads are a block, how much of the fast memory that a
//! block shares. How work falls apart over threads decides about results (design
//! contract 1), so it is the same for all devices and known when code is made.

use prim::{BinOp, PrimType};

/// How work is laid out over the threads of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    /// Threads of a block, a power of two up to [`MAX_BLOCK`].
    pub block: i64,
    /// Threads of a block that wait for each other at little cost: neighbours, a power of two
    /// up to [`GROUP`] and to the block's.
    pub group: i64,
    /// Most blocks that share a scan, or a reduction of one of several segments: their partial
    /// results are combined by one block.
    pub blocks: i64,
    /// So many times as many share the reduction of one segment: several times as many as are
    /// resident at once, so that the last ones do not leave much of the device idle.
    pub waves: i64,
    /// Points that a thread of such a block takes at least, where there are more blocks
    /// than one.
    pub grain: i64,
    /// Points that a thread takes at least where a block has several segments.
    pub few: i64,
    /// Points of a thread where there are many that compute little: what they read is on its
    /// way at the same time.
    pub side: i64,
    /// How what points share goes through the scratchpad.
    pub tiles: Tiles,
    /// How scans go through the scratchpad.
    pub scans: Scans,
    /// How histograms go through the scratchpad.
    pub bins: Bins,
    /// Whether a block that has begun comes to its end while another one waits for it.
    pub progress: bool,
}

/// Tiles of scans that read and write each element once: the points of a block, which its
/// threads hold in the scratchpad.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scans {
    /// Points of a thread at most, an odd number: threads side by side then take theirs from
    /// different banks.
    pub points: i64,
    /// How many tiles before its own a block looks at together, up to the threads of a
    /// block.
    pub window: i64,
}

impl Scans {
    /// Points of a thread where the scratchpad of a block of so many threads has so many bytes
    /// for each point and as many for each thread, and beside so many for each thread; none
    /// if not even one fits.
    pub const fn points(&self, bytes: u64, beside: u64, block: i64) -> Option<i64> {
        let block = block.unsigned_abs();
        let others = (bytes + beside) * block + ROOM_FOR_NOTES;
        let Some(room) = SCRATCHPAD_BYTES.checked_sub(others) else {
            return None;
        };
        let each = bytes * block;
        if room < each {
            return None;
        }
        let room = if room < TILE_BYTES { room } else { TILE_BYTES };
        let fit = match room.checked_div(each) {
            Some(fit) if (fit as i64) < self.points => fit as i64,
            Some(_) | None => self.points,
        };
        Some(if fit < 3 { 1 } else { fit - 1 + fit % 2 })
    }
}

/// Bins of histograms that a block has in the scratchpad.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bins {
    /// Bytes of them, and of the points that go there.
    pub bytes: u64,
    /// Threads that share bins at least, a power of two: they read points that lie side by
    /// side.
    pub owners: i64,
    /// Threads for each bin, and points for each bin of a copy, from which on there are copies
    /// of bins on the device: fewer hardly meet.
    pub meeting: i64,
}

/// Pieces of arrays that the threads of a block load together, each element once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tiles {
    /// Elements of a side of the squares in which matrices are transposed, a power of two
    /// up to the threads of a block.
    pub square: i64,
    /// Points of a side of the square of points that a thread computes where points share
    /// what they read in two dimensions.
    pub points: i64,
    /// Turns of the points' loops that such a tile lasts.
    pub depth: i64,
    /// Blocks that the device can be busy with: a block takes less where there would be
    /// fewer.
    pub fill: i64,
}

impl Default for Device {
    /// What the paper on redomap takes: blocks of 256 threads, as many blocks as one block can
    /// combine. Measured on an H200 (`docs/gpu.md`): sums of 10^8 numbers take 97 us with four
    /// waves by turns and 121 with one by pieces, copies with four elements a thread 191 us
    /// and with one 293. The others were not chosen on a GPU: four neighbouring singles are
    /// half of what is read at once, eight owners of bins read all of it; a square is as wide
    /// as threads run in step on most, 16 points of a thread leave registers for what each
    /// carries, and two tiles of doubles stay below [`TILE_BYTES`]. Tiles of scans fill these,
    /// so that few wait for each other, and a window is more of them than a device ends in the
    /// time that a signal takes. All of today make progress: blocks stay where they are until
    /// they end, and where processors run them, in threads of the operating system.
    fn default() -> Self {
        Self {
            block: 256,
            group: GROUP,
            blocks: 1024,
            waves: 4,
            grain: 16,
            few: 4,
            side: 4,
            tiles: Tiles { square: 32, points: 4, depth: 16, fill: 64 },
            scans: Scans { points: 23, window: 256 },
            bins: Bins { bytes: TILE_BYTES, owners: 8, meeting: 4 },
            progress: true,
        }
    }
}

impl Device {
    /// Small blocks and tiles, for tests: small arrays are several of them.
    pub const SMALL: Self = Self {
        block: 8,
        group: 4,
        blocks: 5,
        waves: 2,
        grain: 2,
        few: 1,
        side: 2,
        tiles: Tiles { square: 4, points: 2, depth: 3, fill: 1 },
        scans: Scans { points: 3, window: 2 },
        bins: Bins { bytes: 128, owners: 2, meeting: 1 },
        progress: true,
    };

    /// The same with so many threads a block, a power of two from [`GROUP`] to [`MAX_BLOCK`].
    #[must_use]
    pub const fn with_block(self, block: i64) -> Self {
        let window = self.scans.window;
        Self {
            block,
            scans: Scans { window: if window < block { window } else { block }, ..self.scans },
            ..self
        }
    }

    /// Whether blocks may have so many threads.
    pub const fn is_block(block: i64) -> bool {
        let fits = GROUP <= block && block <= MAX_BLOCK;
        fits && block.unsigned_abs().is_power_of_two()
    }

    /// The threads of a block as rows and columns, as far as possible as many; the
    /// number of columns is a multiple of that of rows.
    pub const fn sides(&self) -> (i64, i64) {
        let columns = 1 << self.block.trailing_zeros().div_ceil(2);
        (self.block / columns, columns)
    }
}

/// Threads of a block, on any device.
pub const MAX_BLOCK: i64 = 1024;
/// Most threads that are a group: what runs in step on all devices where any threads do.
pub const GROUP: i64 = 32;
/// Bytes that the tiles of a kernel have in all, so that several blocks are resident at once.
pub const TILE_BYTES: u64 = SCRATCHPAD_BYTES / 2;
/// Bytes of the scratchpad that a block may have on any device of today: what CUDA
/// gives to arrays of constant size.
pub const SCRATCHPAD_BYTES: u64 = 48 * 1024;
/// Bytes of the scratchpad that are left for what threads of a block tell each other: that
/// one has failed, which tile is theirs.
pub const ROOM_FOR_NOTES: u64 = 64;

/// Whether devices combine elements of a type by an operator at once: the order in which
/// they do does not show.
pub const fn is_atomic(op: BinOp, ty: PrimType) -> bool {
    ty.is_int() && is_word(ty) && is_exact(op)
}

/// Whether devices exchange elements of a type at once.
pub const fn is_word(ty: PrimType) -> bool {
    matches!(ty.size(), 4 | 8)
}

const fn is_exact(op: BinOp) -> bool {
    match op {
        BinOp::Add
        | BinOp::And
        | BinOp::Or
        | BinOp::Xor
        | BinOp::SMin
        | BinOp::UMin
        | BinOp::SMax
        | BinOp::UMax => true,
        BinOp::Sub
        | BinOp::Mul
        | BinOp::SDiv
        | BinOp::UDiv
        | BinOp::SMod
        | BinOp::UMod
        | BinOp::SQuot
        | BinOp::SRem
        | BinOp::Shl
        | BinOp::LShr
        | BinOp::AShr
        | BinOp::Pow
        | BinOp::FAdd
        | BinOp::FSub
        | BinOp::FMul
        | BinOp::FDiv
        | BinOp::FMod
        | BinOp::FMin
        | BinOp::FMax => false,
    }
}
