//! Devices that run kernels and have memory of their own.
//!
//! A context whose program has kernels opens a device when it is created: the driver's library is
//! loaded at that time, never linked; a device is chosen, and the kernels are compiled for it. The
//! commands of generated code ([`abi`](crate::abi)) are executed in order; the host waits only for
//! data that it receives.
//!
//! **Failures.** A check that fails in a kernel records its number in a device block (the failure
//! block) unless another one has; later kernels then return at once. Whenever bytes are copied to
//! the host, the failure block is copied too, if kernels have run since it was last read; so the
//! host never uses results of a failed kernel. The messages are the same as on a processor.
//!
//! | module | contents |
//! |---|---|
//! | [`driver`] | the interface to drivers |
//! | [`pool`] | memory limit and reuse of freed blocks |
//! | [`opencl`] | the driver for OpenCL |
//! | [`gpu`] | the driver for CUDA and HIP |
//! | [`device_names`] | devices by name |
//! | [`cache`] | compiled kernels on disk |
//! | [`checksum`] | file contents with a checksum |
//! | [`signatures`] | kernel signatures, to check kernels from files |
//! | [`profile`] | times of launches and copies |

mod cache;
mod checksum;
mod device_names;
mod driver;
#[cfg(test)]
mod fake;
mod gpu;
mod opencl;
mod pool;
pub(crate) mod profile;
pub(crate) mod signatures;

use crate::abi::{CheckDesc, Ctx, DeviceDesc, TARGET_CUDA, TARGET_HIP, TARGET_OPENCL};
use crate::control::Progress;
use crate::error::{check_message, render};
use crate::heap::{self, describe, memory_limit};
use driver::{Arg, Driver, Limits, Memory};
use gpu::Vendor;
pub use opencl::SharedContexts;
use pool::DeviceHeap;
use profile::{Command, DIRECTIONS, Profile};
use smallvec::SmallVec;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The available devices for a program, a line each; OpenCL devices for a program without kernels.
///
/// # Errors
/// The reason why the devices cannot be listed.
pub fn list(program: Option<&DeviceDesc>) -> Result<Vec<String>, String> {
    match program.map_or(TARGET_OPENCL, |desc| desc.target) {
        TARGET_CUDA => gpu::list(Vendor::Cuda),
        TARGET_HIP => gpu::list(Vendor::Hip),
        _ => opencl::list(),
    }
}

/// The message if a device is requested and the program has no kernels.
pub(crate) const NO_KERNELS: &str = "the program has no kernels: it was compiled for a CPU";

/// The configuration of a device.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The device, by a substring of its name or its platform's, optionally after `#K` for the K-th
    /// match; any device if `None`.
    pub name: Option<String>,
    /// For OpenCL: the platform, by a substring of its name, optionally after `#K` for the K-th
    /// match.
    pub platform: Option<String>,
    /// Source of kernels that replaces the program's.
    pub source: Option<String>,
    /// Compiled kernels that replace the program's, as written to `compiled_into` earlier.
    pub compiled: Option<Vec<u8>>,
    /// The file to which kernels are written when they are compiled: for OpenCL the driver's
    /// binary, for CUDA PTX.
    pub compiled_into: Option<PathBuf>,
    /// Additional options for the kernel compiler.
    pub build_options: Vec<String>,
    /// The file in which compiled kernels are cached, instead of the user's cache directory.
    pub cache_file: Option<PathBuf>,
    /// True if launches and copies are timed.
    pub timed: bool,
    /// True if the host also waits for each command and logs it.
    pub debug: bool,
    /// The OpenCL contexts that this context shares with those of the same configuration: data that
    /// drivers keep in them (for PoCL a library of functions, which takes longer to load than most
    /// programs take to compile) is reused.
    pub contexts: SharedContexts,
}

impl Config {
    /// The source of a program's kernels, or its replacement.
    fn kernels<'a>(&'a self, desc: &'a DeviceDesc) -> &'a str {
        self.source.as_deref().unwrap_or(desc.source.get())
    }

    /// Writes compiled kernels to the requested file, if any.
    fn write_compiled(&self, code: &[u8]) -> Result<(), String> {
        let Some(file) = &self.compiled_into else {
            return Ok(());
        };
        std::fs::write(file, code).map_err(|e| format!("cannot write {}: {e}", file.display()))
    }

    /// Returns true if the configuration requires a device.
    pub(crate) const fn is_wanted(&self) -> bool {
        self.name.is_some() || self.platform.is_some()
    }
}

/// The contents of a host block that represents a device block.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Block {
    memory: Memory,
    bytes: u64,
}

/// A device that runs a program's kernels.
pub struct Device(Mutex<State>);

struct State {
    driver: Box<dyn Driver>,
    pool: DeviceHeap,
    desc: DeviceDesc,
    /// The failure block.
    failure_block: Memory,
    /// The size of the failure block in bytes.
    failure_bytes: usize,
    limits: Limits,
    /// True if kernels that may fail have been launched since the failure block was last read.
    failures_unread: bool,
    launches: u64,
    copied: [u64; DIRECTIONS.len()],
    profile: Option<Profile>,
}

impl Device {
    /// Opens a device for a program; at most `limit` bytes of its memory are in use at a time.
    ///
    /// # Errors
    /// A message for the user.
    pub(crate) fn open(desc: &DeviceDesc, config: &Config, limit: Option<u64>) -> Result<Self, String> {
        let driver: Box<dyn Driver> = match desc.target {
            TARGET_OPENCL => Box::new(opencl::open(desc, config)?),
            TARGET_CUDA => Box::new(gpu::open(Vendor::Cuda, desc, config)?),
            TARGET_HIP => Box::new(gpu::open(Vendor::Hip, desc, config)?),
            other => {
                return Err(format!(
                    "the program's kernels are for device kind {other}, which this runtime does \
                     not support"
                ));
            }
        };
        let profile = config.timed.then(|| Profile::new(desc, config.debug));
        Self::with(driver, desc, limit, profile)
    }

    fn with(
        mut driver: Box<dyn Driver>,
        desc: &DeviceDesc,
        limit: Option<u64>,
        profile: Option<Profile>,
    ) -> Result<Self, String> {
        let limits = driver.limits();
        let limit = limit.unwrap_or_else(|| limits.memory.min(memory_limit()));
        let mut pool = DeviceHeap::new(limit, limits.block);
        let slot_bytes = 8 + 8 * desc.max_message_words().max(1);
        let (slot, _) = pool
            .take(driver.as_mut(), slot_bytes as u64)?
            .map_err(|refused| pool.describe(slot_bytes as u64, refused))?;
        driver.write(slot, 0, &vec![0; slot_bytes])?;
        if profile.is_some() {
            // Discards the times of commands that are not the program's.
            driver.times()?;
        }
        Ok(Self(Mutex::new(State {
            driver,
            pool,
            desc: *desc,
            failure_block: slot,
            failure_bytes: slot_bytes,
            limits,
            failures_unread: false,
            launches: 0,
            copied: [0; DIRECTIONS.len()],
            profile,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device's capacities.
    pub(crate) fn limits(&self) -> Limits {
        self.state().limits
    }

    /// Frees a device block whose host block has been freed.
    pub(crate) fn release(&self, block: Block) {
        let state = &mut *self.state();
        state.pool.put(state.driver.as_mut(), block.memory, block.bytes);
    }

    /// Waits until all commands are complete.
    ///
    /// # Errors
    /// The message of a kernel that failed.
    pub(crate) fn synchronise(&self) -> Result<(), String> {
        let mut state = self.state();
        if state.failures_unread {
            return state.read(None);
        }
        state.driver.finish().map_err(|e| state.driver_error(&e))
    }

    /// Restarts the profile.
    pub(crate) fn restart_profile(&self) {
        let mut state = self.state();
        // A failure here recurs at the next command.
        let _ = state.collect_times();
        if let Some(profile) = &mut state.profile {
            profile.restart();
        }
    }

    /// The counters, a line each.
    pub(crate) fn report(&self) -> Vec<String> {
        let mut state = self.state();
        // After a failure the times are unknown; the failure has been reported.
        let _ = state.collect_times();
        let mut lines = vec![
            format!("device: {}", state.driver.name()),
            format!("kernels launched: {}", state.launches),
            format!("peak device memory: {} bytes", state.pool.peak()),
            format!("device blocks allocated: {}", state.pool.blocks),
            format!("device blocks reused: {}", state.pool.reused),
        ];
        let copied = DIRECTIONS.iter().zip(state.copied);
        lines.extend(copied.map(|(way, bytes)| format!("bytes copied {way}: {bytes}")));
        if let Some(profile) = &state.profile {
            lines.extend(profile.table(&state.desc));
        }
        lines
    }

    /// The launches and copies since the last call, a line each; empty unless
    /// [requested](Config::debug).
    pub(crate) fn commands(&self) -> Vec<String> {
        let mut state = self.state();
        let profile = state.profile.as_mut();
        profile.map_or_else(Vec::new, Profile::lines)
    }
}

impl State {
    /// The message if the driver fails.
    fn driver_error(&self, why: &str) -> String {
        render(&format!("the device `{}` failed: {why}.", self.driver.name()), "")
    }

    /// Records that a command was issued to the driver.
    fn issued(&mut self, command: Command) -> Result<(), String> {
        let Some(profile) = &mut self.profile else {
            return Ok(());
        };
        if profile.issued(command) {
            self.collect_times()?;
        }
        Ok(())
    }

    /// Collects the times of the commands since the last call.
    fn collect_times(&mut self) -> Result<(), String> {
        let Some(profile) = &mut self.profile else {
            return Ok(());
        };
        let times = self.driver.times().inspect_err(|_| profile.forget())?;
        profile.completed(&self.desc, &times);
        Ok(())
    }

    /// Copies bytes to the host, and reads the failure block if necessary.
    fn read(&mut self, wanted: Option<(Memory, u64, &mut [u8])>) -> Result<(), String> {
        let unread = std::mem::take(&mut self.failures_unread);
        let mut record = vec![0; if unread { self.failure_bytes } else { 0 }];
        let command = match &wanted {
            Some((_, _, into)) => Command::Copy(TO_HOST, into.len() as u64),
            None => Command::FailureBlock,
        };
        let mut ranges = SmallVec::<[_; 2]>::new();
        ranges.extend(wanted);
        if unread {
            ranges.push((self.failure_block, 0, record.as_mut_slice()));
        }
        let read = self.driver.read(&mut ranges);
        drop(ranges);
        let read = read.and_then(|()| self.issued(command));
        read.map_err(|e| self.driver_error(&e))?;
        if !unread {
            return Ok(());
        }
        let (number, words) = record.split_at(8);
        let number = number.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
        let Ok(number @ 1..) = usize::try_from(number) else {
            return Ok(());
        };
        // Clears the failure block for later calls.
        let cleared = self.driver.write(self.failure_block, 0, &[0; 8]);
        let cleared = cleared.and_then(|()| self.issued(Command::FailureBlock));
        cleared.map_err(|e| self.driver_error(&e))?;
        let mut words = words.chunks_exact(8).map(|word| {
            let bytes = word.first_chunk();
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        });
        Err(match self.desc.check(number - 1) {
            Some(check) => check_message(check, || words.next().unwrap_or_default()),
            None => self.driver_error("a kernel recorded an unknown failure"),
        })
    }

    fn launch(&mut self, kernel: usize, blocks: u64, words: &[u64]) -> Result<(), String> {
        let Some(desc) = self.desc.kernels().get(kernel).copied() else {
            return Err(self.driver_error("unknown kernel"));
        };
        let mut args = Vec::with_capacity(words.len() + 1);
        args.push(Arg::Memory(Some(self.failure_block)));
        for (&word, &size) in words.iter().zip(desc.sizes()) {
            args.push(if size == 0 {
                let block = NonNull::new(word as usize as *mut Block);
                // SAFETY: generated code passes addresses that `br_device_alloc` returned.
                Arg::Memory(block.map(|block| unsafe { block.as_ref() }.memory))
            } else {
                Arg::Scalar(word.to_le_bytes(), size as usize)
            });
        }
        let mut shared = 0u64;
        for &bytes in words.get(desc.sizes().len()..).unwrap_or_default() {
            // Negative sizes become at least 2^63, which exceeds every capacity.
            let bytes = bytes.checked_next_multiple_of(8).unwrap_or(u64::MAX);
            shared = shared.saturating_add(bytes);
            args.push(Arg::SharedBuffer(bytes.max(8)));
        }
        if shared > self.limits.shared {
            let what = if shared > i64::MAX as u64 {
                heap::TOO_LARGE.to_owned()
            } else {
                format!(
                    "the kernel `{}` needs {shared} bytes of shared memory per block; the device has {}.",
                    desc.display_name.get(),
                    self.limits.shared
                )
            };
            // For fused operations, the source positions of the last one.
            let spans = desc.spans.get();
            let span = spans.split("\n\n").next().unwrap_or_default();
            return Err(render(&what, span));
        }
        let launched = self.driver.launch(kernel, blocks, &args);
        launched.map_err(|e| self.driver_error(&e))?;
        let ended = self.issued(Command::Launch(kernel, blocks));
        ended.map_err(|e| self.driver_error(&format!("{e}, in {}", profile::display_name(&desc))))?;
        self.launches += 1;
        self.failures_unread |= desc.fails != 0;
        Ok(())
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // Kernels may still use the blocks; errors have been reported, or can no longer be.
        let _ = self.driver.finish();
        self.pool.empty(self.driver.as_mut());
        self.driver.free(self.failure_block);
    }
}

/// The index of copies to the host in [`DIRECTIONS`].
const TO_HOST: usize = 1;

const NO_DEVICE: &str = "the context has no device; this is a compiler bug, please report it";

/// Records a failure as finished text and returns the status.
fn fail(ctx: &Ctx, text: String) -> i32 {
    ctx.shared().errors.record(|| text);
    1
}

/// Allocates a device block; see [`crate::abi`].
///
/// # Safety
/// As [`heap::br_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_device_alloc(ctx: *mut Ctx, bytes: i64, span: *const CheckDesc) -> *mut u8 {
    // SAFETY: by the caller's promise.
    let ctx = unsafe { &mut *ctx };
    let shared = ctx.shared().clone();
    let mut alloc = || -> Result<NonNull<u8>, String> {
        // SAFETY: by the caller's promise.
        let location = || unsafe { heap::location(span) };
        let Ok(bytes) = u64::try_from(bytes) else {
            return Err(render(heap::TOO_LARGE, &location()));
        };
        let device = shared.device.as_ref().ok_or(NO_DEVICE)?;
        let (memory, total) = {
            let state = &mut *device.state();
            let taken = state.pool.take(state.driver.as_mut(), bytes);
            let taken = taken.map_err(|e| state.driver_error(&e))?;
            taken.map_err(|refused| render(&state.pool.describe(bytes, refused), &location()))?
        };
        let block = Block { memory, bytes: total };
        let index = ctx.index();
        ctx.heap.alloc_remote(block, &shared, index).map_err(|refused| {
            device.release(block);
            describe(size_of::<Block>() as u64, refused, &location())
        })
    };
    match alloc() {
        Ok(block) => block.as_ptr(),
        Err(text) => {
            shared.errors.record(|| text);
            std::ptr::null_mut()
        }
    }
}

/// Copies bytes to, from or within device memory; see [`crate::abi`].
///
/// # Safety
/// `ctx` must be the calling thread's view of a live context, the others as
/// [`crate::abi`] says; the bytes must lie in their blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_device_copy(
    ctx: *mut Ctx,
    direction: i64,
    to: *mut u8,
    to_at: i64,
    from: *mut u8,
    from_at: i64,
    bytes: i64,
) -> i32 {
    // SAFETY: by the caller's promise.
    let ctx = unsafe { &*ctx };
    let Some(device) = ctx.shared().device.as_ref() else {
        return fail(ctx, NO_DEVICE.to_owned());
    };
    let Ok(count @ 1..) = usize::try_from(bytes) else {
        return 0;
    };
    let state = &mut *device.state();
    if let Some(copied) = state.copied.get_mut(direction as usize) {
        *copied += count as u64;
    }
    #[expect(clippy::cast_ptr_alignment, reason = "`br_device_alloc` aligns blocks")]
    // SAFETY: an address that `br_device_alloc` returned.
    let memory = |block: *mut u8| unsafe { block.cast::<Block>().read() }.memory;
    let (to_at, from_at) = (to_at as u64, from_at as u64);
    let done = match direction {
        0 => {
            // SAFETY: by the caller's promise there are `count` bytes.
            let bytes = unsafe { std::slice::from_raw_parts(from, count) };
            state.driver.write(memory(to), to_at, bytes)
        }
        1 => {
            // SAFETY: as above; nothing else accesses them meanwhile.
            let into = unsafe { std::slice::from_raw_parts_mut(to, count) };
            return match state.read(Some((memory(from), from_at, into))) {
                Ok(()) => 0,
                Err(text) => fail(ctx, text),
            };
        }
        _ => {
            let (to, from) = ((memory(to), to_at), (memory(from), from_at));
            state.driver.copy(to, from, count as u64)
        }
    };
    let done = done.and_then(|()| state.issued(Command::Copy(direction as usize, count as u64)));
    match done {
        Ok(()) => 0,
        Err(why) => fail(ctx, state.driver_error(&why)),
    }
}

/// Launches a kernel; see [`crate::abi`].
///
/// # Safety
/// `ctx` must be the calling thread's view of a live context; `words` must hold a word for each of
/// the kernel's captures and each of its shared-memory buffers that are sized at launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_launch(ctx: *mut Ctx, kernel: i64, blocks: i64, words: *const u64) -> i32 {
    // SAFETY: by the caller's promise.
    let ctx = unsafe { &*ctx };
    let Some(device) = ctx.shared().device.as_ref() else {
        return fail(ctx, NO_DEVICE.to_owned());
    };
    let Ok(blocks @ 1..) = u64::try_from(blocks) else {
        return 0;
    };
    if ctx.shared().cancellation.is_requested() {
        return 1;
    }
    let kernel = kernel as usize;
    let mut state = device.state();
    let count = state.desc.kernels().get(kernel).map_or(0, |k| k.sizes().len() + k.n_shared_buffers as usize);
    let words = if count == 0 {
        &[]
    } else {
        // SAFETY: by the caller's promise.
        unsafe { std::slice::from_raw_parts(words, count) }
    };
    if let Err(text) = state.launch(kernel, blocks, words) {
        return fail(ctx, text);
    }
    if let Some(hook) = &ctx.shared().progress {
        let launches = state.launches;
        drop(state);
        hook.report(Progress::Launches(launches));
    }
    0
}

#[cfg(test)]
mod tests;
