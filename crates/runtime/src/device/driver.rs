//! The interface to a device's driver. Commands are executed in order.

/// A block of device memory, by a number that the driver assigns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory(pub usize);

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    /// A block; `None` for a null variable.
    Memory(Option<Memory>),
    /// A scalar: its bytes, and how many of them are significant.
    Scalar([u8; 8], usize),
    /// A shared-memory buffer of this many bytes, a positive multiple of eight.
    SharedBuffer(u64),
}

/// The divisor for the number of threads that occupy a GPU. With a quarter of the threads that it
/// holds, all units of a GPU have work and hide most latencies: with that many iterations, each
/// runs sequentially, and their inner parallelism is not exploited.
pub const SATURATION_DIVISOR: u64 = 4;

/// The capacities of a device, and the number of threads that occupy it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The size of its memory in bytes.
    pub memory: u64,
    /// The size in bytes of the largest block that it can allocate.
    pub block: u64,
    /// The size in bytes of a block's shared memory.
    pub shared: u64,
    /// The number of threads that occupy the device: a [`SATURATION_DIVISOR`]th of the number that it holds at
    /// once; `None` if it does not report that.
    pub saturating_threads: Option<u64>,
}

/// The driver of a device with a program's kernels. Errors are descriptions of the failure.
pub trait Driver: Send {
    /// The device's name.
    fn name(&self) -> &str;

    /// The device's capacities.
    fn limits(&self) -> Limits;

    /// Allocates a block of `bytes` bytes, at least one; `None` if out of memory.
    fn alloc(&mut self, bytes: u64) -> Result<Option<Memory>, String>;

    /// Frees a block.
    fn free(&mut self, memory: Memory);

    /// Copies bytes to the device; they may be overwritten when this returns.
    fn write(&mut self, to: Memory, at: u64, bytes: &[u8]) -> Result<(), String>;

    /// Copies several ranges to the host, each given by its block, offset and destination. They
    /// have arrived when this returns.
    fn read(&mut self, ranges: &mut [(Memory, u64, &mut [u8])]) -> Result<(), String>;

    /// Copies bytes between blocks, or within a block without overlap.
    fn copy(&mut self, to: (Memory, u64), from: (Memory, u64), bytes: u64) -> Result<(), String>;

    /// Launches `blocks` thread blocks, at least one, of a kernel.
    fn launch(&mut self, kernel: usize, blocks: u64, args: &[Arg]) -> Result<(), String>;

    /// Waits until all commands are complete.
    fn finish(&mut self) -> Result<(), String>;

    /// Waits until all commands are complete, and returns the time in nanoseconds on the device of
    /// each command since the last call: of each write, read (of all its ranges together), copy and
    /// launch that succeeded, in order. Empty if times are not [requested](super::Config::timed).
    fn times(&mut self) -> Result<Vec<u64>, String>;
}
