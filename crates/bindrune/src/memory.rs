//! Memory of the compiler: to run out of it is an error with a message.
//!
//! Two things see to that. The allocator reports a request that the system
//! refuses, where Rust would abort. And while a command compiles, a thread looks
//! from time to time at how much memory the process has, all of it: trees, stacks,
//! and what LLVM allocates by itself. Once that is more than the machine or the
//! container gives, the kernel would kill the process without a word; so it ends
//! before. It has no files open then that would stay behind half written.
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

/// A compiler makes many small things; the C library's allocator takes a fifth of
/// the time of `check`.
pub struct Allocator;

// SAFETY: all is done by `MiMalloc`; a null pointer is never returned.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller's promise.
        given(unsafe { MiMalloc.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller's promise.
        given(unsafe { MiMalloc.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { MiMalloc.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by the caller's promise.
        given(unsafe { MiMalloc.realloc(place, layout, size) })
    }
}

#[inline]
fn given(place: *mut u8) -> *mut u8 {
    if place.is_null() && WATCHING.load(Ordering::Relaxed) {
        out_of_memory(format_args!("the system gives no more"));
    }
    place
}

/// Whether a command compiles; where it does not, who asks for memory is told that
/// there is none.
static WATCHING: AtomicBool = AtomicBool::new(false);
/// What is compiled, and the stage that this has come to.
static WORK: Mutex<Option<(String, String)>> = Mutex::new(None);

/// While it lives, the compiler's memory is watched.
pub struct Watch(());

/// How long a command runs before the first look: most are done by then.
const FIRST: Duration = Duration::from_millis(20);
/// The longest time between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// So many bytes can a process get in a millisecond, about.
const BYTES_PER_MILLISECOND: u64 = 4 << 20;
/// The size of a page of memory on the processors that there is code for.
const PAGE: u64 = 4096;

/// Watches the compilation of a file, for a limit in bytes or what the machine gives.
pub fn watch(file: &Path, limit: Option<u64>) -> Watch {
    set_stage(Some(file), "checking");
    if !WATCHING.swap(true, Ordering::Relaxed) {
        let work = std::thread::Builder::new().name("memory".to_owned());
        // Without the thread there is no limit but the kernel's.
        let _ = work.spawn(move || look(limit));
    }
    Watch(())
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHING.store(false, Ordering::Relaxed);
    }
}

/// What is compiled, and the stage that this has come to.
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

fn look(limit: Option<u64>) {
    std::thread::sleep(FIRST);
    let limit = limit.unwrap_or_else(runtime::memory_limit);
    let space = address_space().unwrap_or(u64::MAX);
    while WATCHING.load(Ordering::Relaxed) {
        let Some((mapped, used)) = usage() else {
            return;
        };
        if used > limit {
            out_of_memory(format_args!("it uses {} MiB and may use {} MiB", used >> 20, limit >> 20));
        }
        if mapped > space {
            out_of_memory(format_args!(
                "it maps {} MiB of address space and may map {} MiB",
                mapped >> 20,
                space >> 20
            ));
        }
        let left = (limit - used).min(space - mapped);
        let pause = Duration::from_millis((left / BYTES_PER_MILLISECOND).max(1));
        std::thread::sleep(pause.min(PAUSE));
    }
}

/// Bytes of address space, and of memory that this process has.
fn usage() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').map(|field| field.parse::<u64>().ok());
    Some((pages.next()?? * PAGE, pages.next()?? * PAGE))
}

/// How much address space the process may have, less what has to be left for the
/// next look.
fn address_space() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find(|line| line.starts_with("Max address space"))?;
    let bytes: u64 = line.split_whitespace().nth(3)?.parse().ok()?;
    Some(bytes - bytes / 16)
}

/// Says why the compiler ends, and ends it. Nothing is allocated.
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

/// Tells the watch which pass is next.
pub struct Stages {
    names: Vec<String>,
    /// Whether the user is told which pass has run.
    verbose: bool,
}

impl Stages {
    /// For all passes.
    pub fn new() -> Self {
        Self::told(false)
    }

    /// For all passes; a line to standard error says of each what time it took, if that is
    /// wanted.
    pub fn told(verbose: bool) -> Self {
        set_stage(None, "lowering");
        let names = driver::passes().into_iter().map(|pass| pass.name).collect();
        Self { names, verbose }
    }
}

impl Observer for Stages {
    fn pass(&mut self, pass: &PassInfo, time: Duration, _: &Ir) {
        if self.verbose {
            let milliseconds = time.as_secs_f64() * 1e3;
            common::say(&format!("{:12} {milliseconds:9.3} ms", pass.name));
        }
        let at = self.names.iter().position(|name| *name == pass.name);
        match at.and_then(|at| self.names.get(at + 1)) {
            Some(next) => set_stage(None, &format!("pass {next}")),
            None => set_stage(None, "machine code"),
        }
    }
}
