//! Memory limits of the compiler: running out of memory is an error with a message.
//!
//! There are two mechanisms. The allocator reports a request that the system refuses, where Rust
//! would abort. And while a command compiles, a thread polls the memory use of the process,
//! including trees, stacks, and LLVM's allocations. Above the limit of the machine or the
//! container, the kernel would kill the process without a message, so the thread ends it first. No
//! output file is left half written.
//!
//! Programs that the compiler runs have a limit of their own (`runtime`).

use crate::common;
use driver::{Ir, Observer, PassInfo};
use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The global allocator. The compiler makes many small allocations; the C library's allocator takes
/// a fifth of the time of `check`.
pub struct Allocator;

// SAFETY: every call is forwarded to `MiMalloc`. While a command compiles, a null pointer ends the
// process instead of being returned.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `alloc`.
        check_allocated(unsafe { MiMalloc.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `alloc_zeroed`.
        check_allocated(unsafe { MiMalloc.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { MiMalloc.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `realloc`.
        check_allocated(unsafe { MiMalloc.realloc(ptr, layout, size) })
    }
}

#[inline]
fn check_allocated(ptr: *mut u8) -> *mut u8 {
    if ptr.is_null() && WATCHING.load(Ordering::Relaxed) {
        out_of_memory(format_args!("the system refused an allocation"));
    }
    ptr
}

/// True while a command compiles. Otherwise a refused request returns a null pointer to its caller.
static WATCHING: AtomicBool = AtomicBool::new(false);
/// The file being compiled and the current stage.
static WORK: Mutex<Option<(String, String)>> = Mutex::new(None);

/// A guard: memory is watched while it lives.
pub struct MemoryWatch(());

/// The time before the first poll; most commands are done by then.
const FIRST_POLL: Duration = Duration::from_millis(20);
/// The longest time between two polls.
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// An upper bound, about, of the bytes that a process can allocate per millisecond.
const BYTES_PER_MILLISECOND: u64 = 4 << 20;
/// The page size of the processors that code is generated for.
const PAGE: u64 = 4096;

/// Watches the compilation of a file. `limit` is in bytes; without it, the limit of the machine or
/// container applies.
pub fn watch_memory(file: &Path, limit: Option<u64>) -> MemoryWatch {
    set_stage(Some(file), "checking");
    if !WATCHING.swap(true, Ordering::Relaxed) {
        let work = std::thread::Builder::new().name("memory".to_owned());
        // If the thread does not start, only the kernel's limit applies.
        let _ = work.spawn(move || poll(limit));
    }
    MemoryWatch(())
}

impl Drop for MemoryWatch {
    fn drop(&mut self) {
        WATCHING.store(false, Ordering::Relaxed);
    }
}

/// Returns the file being compiled and the current stage.
pub fn work() -> Option<(String, String)> {
    WORK.try_lock().ok()?.clone()
}

fn set_stage(file: Option<&Path>, stage: &str) {
    if let Ok(mut work) = WORK.lock() {
        match (&mut *work, file) {
            (work, Some(file)) => *work = Some((file.display().to_string(), stage.to_owned())),
            (Some((_, old)), None) => stage.clone_into(old),
            (None, None) => {}
        }
    }
}

fn poll(limit: Option<u64>) {
    std::thread::sleep(FIRST_POLL);
    let limit = limit.unwrap_or_else(runtime::memory_limit);
    let space = address_space().unwrap_or(u64::MAX);
    while WATCHING.load(Ordering::Relaxed) {
        let Some((mapped, used)) = usage() else {
            return;
        };
        if used > limit {
            out_of_memory(format_args!("it uses {} MiB, the limit is {} MiB", used >> 20, limit >> 20));
        }
        if mapped > space {
            out_of_memory(format_args!(
                "it maps {} MiB of address space, the limit is {} MiB",
                mapped >> 20,
                space >> 20
            ));
        }
        let left = (limit - used).min(space - mapped);
        let pause = Duration::from_millis((left / BYTES_PER_MILLISECOND).max(1));
        std::thread::sleep(pause.min(MAX_POLL_INTERVAL));
    }
}

/// Returns the bytes of address space and of resident memory of this process.
fn usage() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').map(|field| field.parse::<u64>().ok());
    Some((pages.next()?? * PAGE, pages.next()?? * PAGE))
}

/// Returns the limit on address space in bytes, less a sixteenth as a reserve until the next poll.
fn address_space() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find(|line| line.starts_with("Max address space"))?;
    let bytes: u64 = line.split_whitespace().nth(3)?.parse().ok()?;
    Some(bytes - bytes / 16)
}

/// Prints the reason and ends the process. Allocates nothing.
fn out_of_memory(why: std::fmt::Arguments<'_>) -> ! {
    let mut stderr = std::io::stderr();
    let _ = match WORK.try_lock().as_deref() {
        Ok(Some((file, stage))) => {
            writeln!(stderr, "bindrune: the compiler ran out of memory: {why} ({file}, {stage})")
        }
        _ => writeln!(stderr, "bindrune: the compiler ran out of memory: {why}"),
    };
    runtime::exit_at_once(1)
}

/// An observer that records the current pass for out-of-memory messages.
pub struct PassTracker {
    names: Vec<String>,
    /// True if the time of each pass is printed.
    verbose: bool,
}

impl PassTracker {
    /// Observes all passes silently.
    pub fn new() -> Self {
        Self::with_times(false)
    }

    /// Observes all passes and, if `verbose`, prints the time of each to standard error.
    pub fn with_times(verbose: bool) -> Self {
        set_stage(None, "lowering");
        let names = driver::passes().into_iter().map(|pass| pass.name).collect();
        Self { names, verbose }
    }
}

impl Observer for PassTracker {
    fn pass(&mut self, pass: &PassInfo, time: Duration, _: &Ir) {
        if self.verbose {
            let milliseconds = time.as_secs_f64() * 1e3;
            common::note(&format!("{:12} {milliseconds:9.3} ms", pass.name));
        }
        let at = self.names.iter().position(|name| *name == pass.name);
        match at.and_then(|at| self.names.get(at + 1)) {
            Some(next) => set_stage(None, &format!("pass {next}")),
            None => set_stage(None, "machine code"),
        }
    }
}
