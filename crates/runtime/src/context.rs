//! A context: one program, ready to be called, with all of its state.
//!
//! [`Shared`] is the state that its threads share, [`Ctx`] one thread's view (the pointer that
//! generated code gets), [`Context`] the owner. Dropping the owner releases the program's
//! constants, stops the threads and frees all memory. Contexts are independent of each other; a
//! process may have any number of them.

use crate::abi::{
    ABI_VERSION, CLASS_CAPACITY, CLASS_CHUNK_SIZE, CLASS_THRESHOLD, DEFAULT_SATURATION, Program, TunableDesc,
};
use crate::comparison_log::Comparisons;
use crate::control::{CANCELLED, Cancellation, ProgressHook};
use crate::device::{self, Device};
use crate::error::{Error, ErrorSlot, render};
use crate::heap::LocalHeap;
use crate::heap::large::SharedHeap;
use crate::image::Image;
use crate::nests::{Nests, OpenNests};
use crate::sched::Pool;
use crate::stats::{Counter, Stats};
use crate::tuning_params::{self, Assignment};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};
use value::interface::Interface;

/// Stack reserved for the runtime and the system, and for the part of compiled frames that is not
/// arrays, in bytes. Frames are checked on function entry.
pub const STACK_MARGIN: usize = 256 << 10;
/// Stack assumed below the current address if the system does not report its bounds.
const UNKNOWN_STACK: usize = 512 << 10;

/// The configuration of a context.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The number of threads, the caller included; `None`: as many as the process may run in
    /// parallel.
    pub num_threads: Option<usize>,
    /// Memory limit in bytes; `None`: that of the container or machine.
    pub memory_limit: Option<u64>,
    /// Values of tuning parameters.
    pub tuning: Vec<Assignment>,
    /// True if comparisons with tuning parameters are logged.
    pub log_comparisons: bool,
    /// True if parallel nests are measured, in programs that are built for profiles.
    pub profile: bool,
    /// The receiver of reports on progress, called by any thread of the context.
    pub progress: Option<ProgressHook>,
    /// The device on which a program with kernels runs.
    pub device: device::Config,
}

/// State shared by all threads of a context.
pub struct Shared {
    /// The threads and their work.
    pub pool: Pool,
    /// Large blocks and memory accounting.
    pub heap: SharedHeap,
    /// The first failure of the call in progress.
    pub errors: ErrorSlot,
    /// The request to cancel the call in progress.
    pub cancellation: Cancellation,
    /// The receiver of reports on progress.
    pub progress: Option<ProgressHook>,
    /// Counters for profiles.
    pub stats: Stats,
    /// Times of parallel nests.
    pub(crate) nests: Nests,
    /// The log of comparisons with tuning parameters.
    pub(crate) comparisons: Comparisons,
    /// The device, if the program is for one.
    pub(crate) device: Option<Device>,
    globals: Box<[AtomicU64]>,
    tunables: Box<[i64]>,
    log_comparisons: bool,
}

/// One thread's view of a context. Generated code reads the first five fields.
#[repr(C)]
pub struct Ctx {
    globals: *mut u64,
    stack_limit: usize,
    tunables: *const i64,
    log_comparisons: u64,
    cancelled: *const AtomicU32,
    index: usize,
    /// The number of parallel operations that the thread is running, one inside another.
    pub(crate) operations: usize,
    /// The parallel nests that the thread is in.
    pub(crate) nests: OpenNests,
    shared: Arc<Shared>,
    /// The thread's own part of the heap.
    pub(crate) heap: LocalHeap,
}

impl Ctx {
    /// Creates the view of thread `index`.
    pub(crate) fn new(shared: Arc<Shared>, index: usize) -> Box<Self> {
        Box::new(Self {
            globals: shared.globals.as_ptr().cast_mut().cast(),
            stack_limit: 0,
            tunables: shared.tunables.as_ptr(),
            log_comparisons: u64::from(shared.log_comparisons),
            cancelled: shared.cancellation.flag(),
            index,
            operations: 0,
            nests: OpenNests::default(),
            shared,
            heap: LocalHeap::default(),
        })
    }

    /// The state shared by the context's threads.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The thread's number; 0 is the caller.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Sets the lowest stack address that compiled code may use.
    pub(crate) fn set_stack_limit(&mut self, limit: usize) {
        self.stack_limit = limit;
    }

    /// Bytes of stack left to compiled code.
    pub(crate) fn stack_left(&self) -> usize {
        stack_address().saturating_sub(self.stack_limit)
    }

    /// Frees the thread's cached memory.
    pub(crate) fn release_caches(&mut self) {
        self.heap.retire(&self.shared.heap);
    }
}

/// An address near the top of the stack in use.
#[inline(never)]
pub fn stack_address() -> usize {
    let here = 0u8;
    (&raw const here) as usize
}

/// The lowest address of the calling thread's stack that compiled code may use.
fn stack_limit() -> usize {
    let lowest = stack_bottom().unwrap_or_else(|| stack_address().saturating_sub(UNKNOWN_STACK));
    lowest + STACK_MARGIN
}

#[cfg(target_os = "linux")]
fn stack_bottom() -> Option<usize> {
    // SAFETY: the attributes are read only after `pthread_getattr_np` has initialised them, and
    // destroyed once.
    unsafe {
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        let status = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (status == 0).then_some(lowest as usize)
    }
}

#[cfg(not(target_os = "linux"))]
fn stack_bottom() -> Option<usize> {
    None
}

/// Fails unless more than `bytes` bytes of stack are left; see [`crate::abi`].
///
/// # Safety
/// `ctx` must be the calling thread's view of a live context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_stack_check(ctx: *mut Ctx, bytes: i64) -> i32 {
    // SAFETY: by the caller's promise.
    let ctx = unsafe { &*ctx };
    if ctx.stack_left() as u64 > bytes.unsigned_abs() {
        return 0;
    }
    let message = "stack overflow: the recursion is too deep.";
    ctx.shared().errors.record_with_backtrace(ctx.index(), message);
    1
}

/// The values of a program's tuning parameters.
fn tunables(program: &Program, given: &[Assignment], device: Option<&Device>) -> Result<Box<[i64]>, Error> {
    let table = program.tunables();
    let of_device = |tunable: &TunableDesc, device: &Device| match tunable.class.get() {
        CLASS_CAPACITY => i64::try_from(device.limits().shared).ok(),
        CLASS_THRESHOLD if tunable.default == DEFAULT_SATURATION => {
            device.limits().saturating_threads.and_then(|busy| i64::try_from(busy).ok())
        }
        _ => None,
    };
    let value = |tunable: &TunableDesc| {
        let known = device.and_then(|device| of_device(tunable, device));
        known.unwrap_or(tunable.default)
    };
    let mut values: Box<[i64]> = table.iter().map(value).collect();
    let names: Vec<&str> = table.iter().map(|tunable| tunable.name.get()).collect();
    let indices = tuning_params::resolve(&names, given).map_err(Error::Usage)?;
    for (index, given) in indices.into_iter().zip(given) {
        values[index] = given.value;
    }
    Ok(values)
}

/// A program with its state. One thread uses it at a time.
pub struct Context {
    /// From a box; a raw pointer because generated code holds copies of it.
    ctx: *mut Ctx,
    image: Image,
    interface: Arc<Interface>,
    initialised: bool,
    caller: Option<libc::pthread_t>,
}

// SAFETY: a context is not bound to a thread: the stack limit is set again whenever another thread
// calls.
unsafe impl Send for Context {}

impl Context {
    /// Creates a context and computes the program's constants.
    pub fn new(config: &Config, image: Image) -> Result<Self, Error> {
        let program: &Program = image.program();
        if program.version != ABI_VERSION {
            return Err(Error::Usage(format!(
                "the program was compiled for version {} of the runtime; this is version {ABI_VERSION}",
                program.version
            )));
        }
        let interface = program.interface();
        let interface = interface.map_err(|why| Error::Usage(format!("the program is damaged: {why}")))?;
        // Unknown parameters are reported before a device is opened.
        tunables(program, &config.tuning, None)?;
        let device = match program.device() {
            Some(desc) => {
                let open = Device::open(desc, &config.device, config.memory_limit);
                Some(open.map_err(Error::Usage)?)
            }
            None if config.device.is_wanted() => {
                return Err(Error::Usage(device::NO_KERNELS.to_owned()));
            }
            None => None,
        };
        let tunables = tunables(program, &config.tuning, device.as_ref())?;
        let n_globals = program.n_globals;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = config.num_threads.unwrap_or(cores).max(1);
        let shared = Arc::new(Shared {
            pool: Pool::new(threads, cores),
            heap: SharedHeap::new(config.memory_limit),
            errors: ErrorSlot::default(),
            cancellation: Cancellation::default(),
            progress: config.progress.clone(),
            stats: Stats::new(threads),
            nests: Nests::new(config.profile),
            comparisons: Comparisons::of(program.tunables()),
            device,
            globals: (0..n_globals).map(|_| AtomicU64::new(0)).collect(),
            tunables,
            log_comparisons: config.log_comparisons,
        });
        let mut context = Self {
            ctx: Box::into_raw(Ctx::new(shared, 0)),
            image,
            interface: Arc::new(interface),
            initialised: false,
            caller: None,
        };
        if let Some(init) = context.image.program().init {
            let ctx = context.activate();
            // SAFETY: generated code fulfils the contract of `InitFn`.
            let status = unsafe { init(ctx) };
            context.check_status(status)?;
            context.initialised = true;
            context.synchronise()?;
        }
        context.initialised = true;
        Ok(context)
    }

    /// The program's table.
    pub fn program(&self) -> &Program {
        self.image.program()
    }

    /// The program's entry points and their types.
    pub fn interface(&self) -> &Arc<Interface> {
        &self.interface
    }

    /// The calling thread's view, ready for a call of generated code.
    pub(crate) fn activate(&mut self) -> *mut Ctx {
        // SAFETY: the pointer is valid until `drop`, and no generated code is running. A failed call may have
        // left nests open.
        unsafe { (*self.ctx).nests = OpenNests::default() };
        // SAFETY: has no preconditions.
        let here = unsafe { libc::pthread_self() };
        if self.caller != Some(here) {
            self.caller = Some(here);
            // SAFETY: the pointer is valid until `drop`, and no generated code is running.
            unsafe { (*self.ctx).set_stack_limit(stack_limit()) };
        }
        self.ctx
    }

    /// The state shared by the context's threads.
    pub(crate) fn shared(&self) -> &Shared {
        // SAFETY: the pointer is valid until `drop`.
        unsafe { (*self.ctx).shared() }
    }

    /// Converts generated code's status to a result, with the failure it recorded.
    pub(crate) fn check_status(&self, status: i32) -> Result<(), Error> {
        let failure = self.shared().errors.take();
        if status == 0 {
            return Ok(());
        }
        Err(Error::Program(failure.unwrap_or_else(|| {
            let cancelled = self.shared().cancellation.is_requested();
            let what = if cancelled {
                CANCELLED
            } else {
                "the program failed without a message; please report this."
            };
            render(what, "")
        })))
    }

    /// The handle by which other threads cancel this context's calls.
    pub fn cancellation(&self) -> Cancellation {
        self.shared().cancellation.clone()
    }

    /// Waits for the device's pending commands; fails if a kernel did.
    pub(crate) fn synchronise(&self) -> Result<(), Error> {
        match &self.shared().device {
            Some(device) => device.synchronise().map_err(Error::Program),
            None => Ok(()),
        }
    }

    /// The number of threads, the caller included.
    pub fn num_threads(&self) -> usize {
        self.shared().pool.size()
    }

    /// Bytes in use. Exact to within 64 KiB for each worker thread.
    pub fn live_bytes(&self) -> u64 {
        // SAFETY: no generated code is running; the pointer is valid.
        let unreported = unsafe { (*self.ctx).heap.unreported() };
        let live = self.shared().heap.reported().saturating_add(unreported);
        u64::try_from(live).unwrap_or_default()
    }

    /// The peak of bytes in use, as exact as [`Self::live_bytes`].
    pub fn peak_bytes(&self) -> u64 {
        // SAFETY: as in `live_bytes`.
        let highest = unsafe { (*self.ctx).heap.highest() };
        let heap = &self.shared().heap;
        let now = heap.reported().saturating_add(highest);
        heap.peak().max(u64::try_from(now).unwrap_or_default())
    }

    /// The counters, one line each.
    pub fn report(&self) -> String {
        let mut lines = vec![
            format!("threads: {}", self.num_threads()),
            format!("peak memory: {} bytes", self.peak_bytes()),
        ];
        lines.extend(
            Counter::ALL
                .iter()
                .map(|&(counter, name)| format!("{name}: {}", self.shared().stats.total(counter))),
        );
        lines.extend(self.shared().device.iter().flat_map(Device::report));
        lines.extend(self.shared().nests.table());
        lines.join("\n") + "\n"
    }

    /// The messages for the comparisons with tuning parameters since the last call, one line each;
    /// empty unless comparisons are logged.
    pub fn comparisons(&self) -> Vec<String> {
        if !self.shared().log_comparisons {
            return Vec::new();
        }
        let (kept, more) = self.shared().comparisons.take();
        let tunables = self.program().tunables();
        let values = &self.shared().tunables;
        let mut lines: Vec<String> = (kept.into_iter())
            .filter_map(|(at, size)| {
                let (tunable, value) = (tunables.get(at)?, *values.get(at)?);
                let say = match tunable.class.get() {
                    CLASS_CHUNK_SIZE => tuning_params::division,
                    _ => tuning_params::comparison,
                };
                Some(say(tunable.name.get(), size, value))
            })
            .collect();
        if more > 0 {
            lines.push(format!("There were {more} more comparisons."));
        }
        lines
    }

    /// The program's tuning parameters with their values, as in tuning files.
    pub fn tunable_values(&self) -> impl Iterator<Item = (&str, i64)> {
        let names = self.program().tunables().iter().map(|tunable| tunable.name.get());
        names.zip(self.shared().tunables.iter().copied())
    }

    /// The device commands since the last call, one line each; empty unless debugging is requested.
    pub fn device_commands(&self) -> Vec<String> {
        let device = self.shared().device.as_ref();
        device.map_or_else(Vec::new, Device::commands)
    }

    /// Restarts the profile after warm-up runs.
    pub(crate) fn restart_profile(&self) {
        self.shared().nests.restart();
        if let Some(device) = &self.shared().device {
            device.restart_profile();
        }
    }

    /// The sum of a counter over all threads.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.shared().stats.total(counter)
    }
}

impl Context {
    /// Ends the context and returns the number of bytes that its program leaked.
    pub fn finish(mut self) -> u64 {
        self.shut_down();
        self.live_bytes()
    }

    /// Releases the constants, stops the threads, empties the local caches.
    fn shut_down(&mut self) {
        if std::mem::take(&mut self.initialised)
            && let Some(fini) = self.image.program().fini
        {
            let ctx = self.activate();
            // SAFETY: the constants were computed, and nothing uses them now.
            unsafe { fini(ctx) };
        }
        self.shared().pool.stop();
        // SAFETY: no generated code is running; the pointer is valid.
        unsafe { (*self.ctx).release_caches() };
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.shut_down();
        // SAFETY: the pointer came from a box, and all threads have ended.
        drop(unsafe { Box::from_raw(self.ctx) });
    }
}
