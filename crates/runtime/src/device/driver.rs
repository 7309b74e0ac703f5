//! What the runtime asks of the driver of a device. All that is asked for happens in
//! order.

/// A block of a device's memory, by a number that the driver knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory(pub usize);

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    /// A block; none where a variable denotes none.
    Memory(Option<Memory>),
    /// A scalar: its bytes, of which so many count.
    Scalar([u8; 8], usize),
    /// So many bytes of the memory that a block shares, a multiple of eight and some.
    Pad(u64),
}

/// A GPU with a quarter of the threads that it holds has work for all of its units, and each of
/// these hides most of what it waits for: points that are as many run in order, rather than
/// that what is parallel in them is spread out.
pub const BUSY: u64 = 4;

/// What a device has, as far as it decides what fits, and from when on it is busy.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of its memory.
    pub memory: u64,
    /// Bytes of the largest block that it gives.
    pub block: u64,
    /// Bytes of the memory that threads of a block share.
    pub shared: u64,
    /// How many threads keep it busy: a [`BUSY`]th of those that it holds at once; nothing if
    /// it does not say how many that is.
    pub busy: Option<u64>,
}

/// The driver of a device that has a program's kernels. Errors say what failed, in words.
pub trait Driver: Send {
    /// The device's name.
    fn name(&self) -> &str;

    /// How much fits.
    fn limits(&self) -> Limits;

    /// A block of so many bytes, at least one; nothing if there is no memory left.
    fn alloc(&mut self, bytes: u64) -> Result<Option<Memory>, String>;

    /// Gives a block back.
    fn free(&mut self, memory: Memory);

    /// Copies bytes to the device; they may be gone when this returns.
    fn write(&mut self, to: Memory, at: u64, bytes: &[u8]) -> Result<(), String>;

    /// Copies pieces to the host: from where, and to which bytes. They are there when this
    /// returns.
    fn read(&mut self, pieces: &mut [(Memory, u64, &mut [u8])]) -> Result<(), String>;

    /// Copies bytes from a block to another, or to what they do not overlap with.
    fn copy(&mut self, to: (Memory, u64), from: (Memory, u64), bytes: u64) -> Result<(), String>;

    /// Launches so many blocks, at least one, of a kernel.
    fn launch(&mut self, kernel: usize, blocks: u64, args: &[Arg]) -> Result<(), String>;

    /// Waits until all is done.
    fn finish(&mut self) -> Result<(), String>;

    /// Waits until all is done, and says of each command since this was asked last how many
    /// nanoseconds it took on the device: of each write, read (of all its pieces together),
    /// copy and launch that succeeded, in order. Nothing if times are not
    /// [wanted](super::Config::timed).
    fn times(&mut self) -> Result<Vec<u64>, String>;
}
