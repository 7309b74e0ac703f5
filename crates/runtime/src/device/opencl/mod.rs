//! The driver for OpenCL 1.2. All commands are executed in order, in one queue.
//!
//! | module | contents |
//! |---|---|
//! | [`api`] | the library's functions |
//! | [`devices`] | listing and choosing devices |
//! | [`program`] | compilation of kernels |
//! | [`timer`] | times of commands |

mod api;
mod devices;
mod program;
mod timer;

use super::Config;
use super::driver::{Arg, Driver, Limits, Memory};
use crate::abi::{DeviceDesc, KernelDesc};
use api::{Api, Status};
use devices::ClDevice;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use timer::Timer;

/// Serialises the listing of devices in this process: drivers initialise their lists, which are
/// global variables of theirs, at that time, and some expose incomplete lists to other threads. It
/// guards the drivers' state and holds no data.
static LISTING_LOCK: Mutex<()> = Mutex::new(());

/// Loads the library and lists the available devices.
fn devices() -> Result<(Api, Vec<ClDevice>), String> {
    let _alone = LISTING_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let api = Api::load()?;
    let all = devices::all(&api)?;
    Ok((api, all))
}

/// The available devices, a line each.
pub fn list() -> Result<Vec<String>, String> {
    let (api, all) = devices()?;
    let lines = all.iter().enumerate();
    Ok(lines.map(|(at, choice)| choice.line(at, &api)).collect())
}

/// A device with a program's kernels.
pub struct OpenCl {
    choice: ClDevice,
    context: Arc<ClContext>,
    queue: api::Queue,
    program: api::Program,
    /// Created at their first launch.
    kernels: Vec<Option<api::Kernel>>,
    descs: Vec<KernelDesc>,
    /// Only if times are requested.
    timer: Option<Timer>,
    api: Api,
}

// SAFETY: OpenCL objects may be used from any thread, by one at a time.
unsafe impl Send for OpenCl {}

/// OpenCL contexts by device, shared by the owners of this value and its clones.
#[derive(Clone, Default)]
pub struct SharedContexts(Arc<Mutex<Vec<(usize, Arc<ClContext>)>>>);

impl fmt::Debug for SharedContexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedContexts")
    }
}

/// An OpenCL context, released when its last user is dropped.
struct ClContext {
    context: api::Context,
    api: Api,
}

// SAFETY: OpenCL contexts may be used from any thread.
unsafe impl Send for ClContext {}
// SAFETY: as above.
unsafe impl Sync for ClContext {}

impl Drop for ClContext {
    fn drop(&mut self) {
        // SAFETY: created once by this library, and no longer used.
        unsafe { (self.api.release_context)(self.context) };
    }
}

impl SharedContexts {
    /// The context of a device.
    fn of(&self, choice: &ClDevice, api: &Api) -> Result<Arc<ClContext>, Status> {
        let mut contexts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let device = choice.id as usize;
        if let Some((_, context)) = contexts.iter().find(|(known, _)| *known == device) {
            return Ok(Arc::clone(context));
        }
        let mut status = 0;
        // SAFETY: one device; no callback.
        let context = unsafe {
            (api.create_context)(
                std::ptr::null(),
                1,
                &raw const choice.id,
                std::ptr::null(),
                std::ptr::null_mut(),
                &raw mut status,
            )
        };
        api::checked(status)?;
        let context = Arc::new(ClContext { context, api: *api });
        contexts.push((device, Arc::clone(&context)));
        Ok(context)
    }
}

/// The maximum size of a fill pattern in bytes.
const MAX_FILL_PATTERN: usize = 16;
/// Blocking and non-blocking calls.
const BLOCKING: api::Truth = 1;
const NON_BLOCKING: api::Truth = 0;

/// Opens a device and compiles a program's kernels for it.
pub fn open(desc: &DeviceDesc, config: &Config) -> Result<OpenCl, String> {
    let (api, all) = devices()?;
    let choice = devices::choose(all, config.platform.as_deref(), config.name.as_deref())?;
    let failed = |what: &str, status: Status| {
        let (name, why) = (&choice.name, api::describe(status));
        format!("cannot use the device `{name}`: {what}: {why}")
    };
    let shared = config.contexts.of(&choice, &api);
    let shared = shared.map_err(|status| failed("cannot create a context", status))?;
    let context = shared.context;
    let properties = if config.timed { api::QUEUE_PROFILING_ENABLE } else { 0 };
    let mut status = 0;
    // SAFETY: the device is the context's.
    let queue = unsafe { (api.create_queue)(context, choice.id, properties, &raw mut status) };
    api::checked(status).map_err(|status| failed("cannot create a queue", status))?;
    let mut device = OpenCl {
        choice,
        context: shared,
        queue,
        program: std::ptr::null_mut(),
        kernels: vec![None; desc.kernels().len()],
        descs: desc.kernels().to_vec(),
        timer: config.timed.then(Timer::new),
        api,
    };
    if !desc.kernels().is_empty() {
        let made = program::build(desc, config, (&device.choice, context), &device.api);
        device.program = made?;
    }
    Ok(device)
}

impl OpenCl {
    /// The location for the command's event; null if times are not requested.
    fn event(&mut self) -> *mut api::Event {
        let timer = self.timer.as_mut();
        timer.map_or(std::ptr::null_mut(), Timer::next_event)
    }

    /// Completes the command, with its status.
    fn end(&mut self, what: &str, status: Status) -> Result<(), String> {
        if let Some(timer) = &mut self.timer {
            timer.end(status == api::SUCCESS, &self.api);
        }
        call(what, status)
    }

    fn kernel(&mut self, number: usize) -> Result<(api::Kernel, KernelDesc), String> {
        let slots = self.kernels.get_mut(number).zip(self.descs.get(number));
        let (slot, desc) = slots.ok_or("unknown kernel")?;
        if let Some(kernel) = slot {
            return Ok((*kernel, *desc));
        }
        let device = (&self.choice, &self.api);
        let bytes: usize = desc.sizes().iter().map(|size| usize::from(*size).max(8)).sum();
        let most = self.choice.number(&self.api, api::DEVICE_MAX_PARAMETER_SIZE);
        if most > 0 && bytes as u64 + 8 > most {
            return Err(format!(
                "the kernel `{}` takes {bytes} bytes of parameters; the device allows {most}",
                desc.display_name.get()
            ));
        }
        let kernel = program::kernel(self.program, desc.name.get(), desc.threads, device)?;
        *slot = Some(kernel);
        Ok((kernel, *desc))
    }
}

/// The error of a failed call.
fn call(name: &str, status: Status) -> Result<(), String> {
    api::checked(status).map_err(|status| format!("{name}: {}", api::describe(status)))
}

const fn mem(memory: Memory) -> api::Mem {
    std::ptr::with_exposed_provenance_mut(memory.0)
}

impl Driver for OpenCl {
    fn name(&self) -> &str {
        &self.choice.name
    }

    fn limits(&self) -> Limits {
        let number = |what| self.choice.number(&self.api, what);
        Limits {
            memory: number(api::DEVICE_GLOBAL_MEM_SIZE),
            block: number(api::DEVICE_MAX_MEM_ALLOC_SIZE),
            shared: number(api::DEVICE_LOCAL_MEM_SIZE),
            saturating_threads: self.choice.busy(&self.api),
        }
    }

    fn alloc(&mut self, bytes: u64) -> Result<Option<Memory>, String> {
        let mut status = 0;
        let flags = api::MEM_READ_WRITE;
        // SAFETY: no host memory is passed.
        let mem = unsafe {
            (self.api.create_buffer)(
                self.context.context,
                flags,
                bytes as usize,
                std::ptr::null_mut(),
                &raw mut status,
            )
        };
        match status {
            api::SUCCESS => Ok(Some(Memory(mem.expose_provenance()))),
            api::MEM_OBJECT_ALLOCATION_FAILURE | api::OUT_OF_RESOURCES | api::OUT_OF_HOST_MEMORY => Ok(None),
            status => Err(format!("clCreateBuffer: {}", api::describe(status))),
        }
    }

    fn free(&mut self, memory: Memory) {
        // SAFETY: it came from `alloc`, and is no longer used. OpenCL keeps it as long as kernels
        // need it.
        unsafe { (self.api.release_mem)(mem(memory)) };
    }

    fn write(&mut self, to: Memory, at: u64, bytes: &[u8]) -> Result<(), String> {
        let (at, count) = (at as usize, bytes.len());
        if count <= MAX_FILL_PATTERN && count.is_power_of_two() && at.is_multiple_of(count) {
            // The driver copies the pattern, so the call need not block.
            let event = self.event();
            // SAFETY: the bytes lie in the block.
            let status = unsafe {
                (self.api.fill)(
                    self.queue,
                    mem(to),
                    bytes.as_ptr().cast(),
                    count,
                    at,
                    count,
                    0,
                    std::ptr::null(),
                    event,
                )
            };
            return self.end("clEnqueueFillBuffer", status);
        }
        let event = self.event();
        // SAFETY: the bytes lie in the block; they have been read when this returns.
        let status = unsafe {
            (self.api.write)(
                self.queue,
                mem(to),
                BLOCKING,
                at,
                count,
                bytes.as_ptr().cast(),
                0,
                std::ptr::null(),
                event,
            )
        };
        self.end("clEnqueueWriteBuffer", status)
    }

    fn read(&mut self, ranges: &mut [(Memory, u64, &mut [u8])]) -> Result<(), String> {
        let last = ranges.len().saturating_sub(1);
        for (i, (from, at, into)) in ranges.iter_mut().enumerate() {
            let wait = if i == last { BLOCKING } else { NON_BLOCKING };
            let event = self.event();
            // SAFETY: the bytes lie in the block and fit in the destination. All have arrived when
            // the last range has, as commands are executed in order.
            let status = unsafe {
                (self.api.read)(
                    self.queue,
                    mem(*from),
                    wait,
                    *at as usize,
                    into.len(),
                    into.as_mut_ptr().cast(),
                    0,
                    std::ptr::null(),
                    event,
                )
            };
            if status != api::SUCCESS {
                // Earlier reads must not arrive after this returns.
                // SAFETY: the queue lives as long as the value.
                unsafe { (self.api.finish)(self.queue) };
                return self.end("clEnqueueReadBuffer", status);
            }
        }
        self.end("clEnqueueReadBuffer", api::SUCCESS)
    }

    fn copy(&mut self, to: (Memory, u64), from: (Memory, u64), bytes: u64) -> Result<(), String> {
        let event = self.event();
        // SAFETY: the bytes lie in their blocks.
        let status = unsafe {
            (self.api.copy)(
                self.queue,
                mem(from.0),
                mem(to.0),
                from.1 as usize,
                to.1 as usize,
                bytes as usize,
                0,
                std::ptr::null(),
                event,
            )
        };
        self.end("clEnqueueCopyBuffer", status)
    }

    fn launch(&mut self, kernel: usize, blocks: u64, args: &[Arg]) -> Result<(), String> {
        let (kernel, desc) = self.kernel(kernel)?;
        for (i, arg) in args.iter().enumerate() {
            let none = std::ptr::null_mut();
            let (memory, bytes);
            let (value, size) = match arg {
                Arg::Memory(block) => {
                    memory = block.map_or(none, mem);
                    ((&raw const memory).cast(), size_of::<api::Mem>())
                }
                Arg::Scalar(word, size) => {
                    bytes = *word;
                    ((&raw const bytes).cast(), *size)
                }
                Arg::SharedBuffer(bytes) => (std::ptr::null(), *bytes as usize),
            };
            // SAFETY: there are `size` bytes, which OpenCL copies; for shared memory it reads the
            // size alone.
            let status = unsafe { (self.api.set_arg)(kernel, i as u32, size, value) };
            call("clSetKernelArg", status)?;
        }
        let local = desc.threads as usize;
        let global = (blocks as usize).checked_mul(local).ok_or("too many threads")?;
        let event = self.event();
        // SAFETY: all parameters are set.
        let status = unsafe {
            (self.api.launch)(
                self.queue,
                kernel,
                1,
                std::ptr::null(),
                &raw const global,
                &raw const local,
                0,
                std::ptr::null(),
                event,
            )
        };
        self.end("clEnqueueNDRangeKernel", status)
            .map_err(|why| format!("{why}, for the kernel `{}`", desc.display_name.get()))
    }

    fn finish(&mut self) -> Result<(), String> {
        // SAFETY: the queue lives as long as the value.
        call("clFinish", unsafe { (self.api.finish)(self.queue) })
    }

    fn times(&mut self) -> Result<Vec<u64>, String> {
        let ended = self.finish();
        let Some(timer) = &mut self.timer else {
            return ended.map(|()| Vec::new());
        };
        if ended.is_err() {
            timer.clear(&self.api);
        }
        ended.and_then(|()| timer.times(&self.api))
    }
}

impl Drop for OpenCl {
    fn drop(&mut self) {
        // SAFETY: all objects were created by this library, are released once and no longer used.
        unsafe {
            (self.api.finish)(self.queue);
            if let Some(timer) = &mut self.timer {
                timer.clear(&self.api);
            }
            for kernel in self.kernels.drain(..).flatten() {
                (self.api.release_kernel)(kernel);
            }
            if !self.program.is_null() {
                (self.api.release_program)(self.program);
            }
            (self.api.release_queue)(self.queue);
        }
    }
}
