//! The driver for CUDA and HIP. All commands are executed in order, in the default stream.
//!
//! | module | contents |
//! |---|---|
//! | [`api`] | the libraries' functions |
//! | [`program`] | compilation of kernels |
//! | [`timer`] | times of commands |

mod api;
mod program;
mod timer;

use super::driver::{Arg, Driver, Limits, Memory, SATURATION_DIVISOR};
use super::{Config, device_names};
use crate::abi::{DeviceDesc, KernelDesc};
pub use api::Vendor;
use api::{Api, Status};
use std::ffi::{CStr, CString, c_char, c_void};
use timer::Timer;

/// The maximum length of a device's name, in bytes.
const NAME_BYTES: usize = 256;

/// The number of bytes up to which several ranges are read through a staging buffer, with one wait
/// for all of them.
const STAGING_BYTES: usize = 4096;

/// Shared memory in bytes that kernels may use on any device without a special request.
const DEFAULT_SHARED: u64 = 48 << 10;

/// A device.
struct FoundDevice {
    ordinal: api::Ordinal,
    name: String,
    memory: u64,
}

/// Loads the library and lists the available devices.
fn devices(vendor: Vendor) -> Result<(Api, Vec<FoundDevice>), String> {
    let api = Api::load(vendor).map_err(|why| format!("{why}; install a device driver"))?;
    // SAFETY: the first call of the library.
    let status = unsafe { (api.init)(0) };
    api.checked("cannot initialise the driver", status)?;
    let mut count = 0;
    // SAFETY: the pointer is to an integer.
    let status = unsafe { (api.count)(&raw mut count) };
    api.checked("cannot count the devices", status)?;
    let mut all = Vec::new();
    for number in 0..count.max(0) {
        let (mut ordinal, mut memory) = (0, 0);
        let mut name: [c_char; NAME_BYTES] = [0; NAME_BYTES];
        // SAFETY: all results fit in their variables.
        unsafe {
            let status = (api.device)(&raw mut ordinal, number);
            api.checked("cannot access a device", status)?;
            let status = (api.name)(name.as_mut_ptr(), NAME_BYTES as i32 - 1, ordinal);
            api.checked("cannot query a device's name", status)?;
            let status = (api.memory)(&raw mut memory, ordinal);
            api.checked("cannot query a device's memory size", status)?;
        }
        // SAFETY: the last byte is a zero, as it was not passed to the driver.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        all.push(FoundDevice {
            ordinal,
            name: name.to_string_lossy().trim().to_owned(),
            memory: memory as u64,
        });
    }
    Ok((api, all))
}

/// The available devices, a line each.
pub fn list(vendor: Vendor) -> Result<Vec<String>, String> {
    let (_, all) = devices(vendor)?;
    let lines = all.iter().enumerate().map(|(number, device)| {
        let memory = device.memory >> 20;
        format!("#{number} {} ({}: GPU, {memory} MiB)", device.name, vendor.name())
    });
    Ok(lines.collect())
}

/// A device with a program's kernels.
pub struct Gpu {
    api: Api,
    device: FoundDevice,
    context: api::Context,
    module: api::Module,
    /// Looked up at their first launch.
    kernels: Vec<Option<api::Function>>,
    descs: Vec<KernelDesc>,
    /// Only if times are requested.
    timer: Option<Timer>,
    /// The maximum shared memory of a block in bytes.
    shared: u64,
    /// The staging buffer: pinned host memory of [`STAGING_BYTES`] bytes for reads of several ranges; null
    /// until the first such read.
    staging: *mut c_void,
}

// SAFETY: contexts may be entered by any thread; only one uses this at a time.
unsafe impl Send for Gpu {}

/// Opens a device and compiles a program's kernels for it.
pub fn open(vendor: Vendor, desc: &DeviceDesc, config: &Config) -> Result<Gpu, String> {
    let (api, mut all) = devices(vendor)?;
    if all.is_empty() {
        return Err(format!("{} found no device on this machine", vendor.name()));
    }
    let names: Vec<[&str; 2]> = (all.iter()).map(|device| [device.name.as_str(), vendor.name()]).collect();
    let at = match config.name.as_deref() {
        Some(wanted) => device_names::find(&names, wanted)?,
        None => 0,
    };
    let device = all.swap_remove(at);
    let failed = |why: String| format!("cannot use the device `{}`: {why}", device.name);
    let mut context = std::ptr::null_mut();
    // SAFETY: a device of this library; the pointer is to a context.
    let status = unsafe { (api.retain)(&raw mut context, device.ordinal) };
    api.checked("cannot create a context", status).map_err(failed)?;
    let mut gpu = Gpu {
        api,
        device,
        context,
        module: std::ptr::null_mut(),
        kernels: vec![None; desc.kernels().len()],
        descs: desc.kernels().to_vec(),
        timer: config.timed.then(Timer::new),
        shared: DEFAULT_SHARED,
        staging: std::ptr::null_mut(),
    };
    let most = gpu.attribute(api::MAX_SHARED_OPTIN);
    gpu.shared = u64::try_from(most).map_or(DEFAULT_SHARED, |most| most.max(DEFAULT_SHARED));
    if !desc.kernels().is_empty() {
        gpu.load(config.kernels(desc), config)?;
    }
    Ok(gpu)
}

impl Gpu {
    /// A device attribute for CUDA; 0 for HIP, whose attribute numbers change between versions.
    fn attribute(&self, what: i32) -> i32 {
        let mut value = 0;
        if self.api.vendor == Vendor::Cuda {
            // SAFETY: a device of this library; the pointer is to an integer.
            let status = unsafe { (self.api.attribute)(&raw mut value, what, self.device.ordinal) };
            if status != api::SUCCESS {
                value = 0;
            }
        }
        value
    }

    /// The number of threads that occupy the device.
    fn busy(&self) -> Option<u64> {
        let [units, threads] = [api::MULTIPROCESSORS, api::MAX_THREADS_PER_MULTIPROCESSOR].map(|what| {
            let number = u64::try_from(self.attribute(what)).ok();
            number.filter(|number| *number > 0)
        });
        Some(units?.saturating_mul(threads?) / SATURATION_DIVISOR)
    }

    /// Reads several short ranges through the staging buffer.
    fn read_staged(&mut self, ranges: &mut [(Memory, u64, &mut [u8])]) -> Result<(), String> {
        let what = "cannot copy from the device";
        if self.staging.is_null() {
            // SAFETY: the pointer is to an address.
            let status = unsafe { (self.api.alloc_host)(&raw mut self.staging, STAGING_BYTES, 0) };
            self.api.checked(what, status)?;
        }
        let mut begin = 0;
        for (from, at, into) in ranges.iter() {
            let from = address(*from, *at);
            // SAFETY: the buffer has space for the bytes of all ranges.
            let to = unsafe { self.staging.byte_add(begin) };
            let stream = std::ptr::null_mut();
            // SAFETY: the bytes lie in the block.
            let status = unsafe { (self.api.read_soon)(to, from, into.len(), stream) };
            self.api.checked(what, status)?;
            begin += into.len();
        }
        self.finish()?;
        // SAFETY: all bytes have arrived, as all commands are complete.
        let mut bytes = unsafe { std::slice::from_raw_parts(self.staging.cast::<u8>(), begin) };
        for (.., into) in ranges {
            let (range, rest) = bytes.split_at(into.len());
            into.copy_from_slice(range);
            bytes = rest;
        }
        Ok(())
    }

    /// Compiles kernels and loads them on the device.
    fn load(&mut self, source: &str, config: &Config) -> Result<(), String> {
        let mut version = 0;
        // SAFETY: the pointer is to an integer; on failure it stays 0.
        let _ = unsafe { (self.api.version)(&raw mut version) };
        let [major, minor] = [api::CAPABILITY_MAJOR, api::CAPABILITY_MINOR];
        let target = program::CompileTarget {
            vendor: self.api.vendor,
            name: &self.device.name,
            capability: 10 * self.attribute(major) + self.attribute(minor),
            version,
        };
        self.enter()?;
        let code = program::code(source, &target, config)?;
        // SAFETY: code for this device; the pointer is to a module.
        let status = unsafe { (self.api.load_module)(&raw mut self.module, code.as_ptr().cast()) };
        self.api.checked("cannot load the program's kernels", status)
    }

    /// Makes the device's context current in the calling thread.
    fn enter(&self) -> Result<(), String> {
        // SAFETY: a context of this library.
        let status = unsafe { (self.api.enter)(self.context) };
        self.api.checked("cannot make the device's context current", status)
    }

    /// Prepares for a command.
    fn begin(&mut self) -> Result<(), String> {
        self.enter()?;
        match &mut self.timer {
            Some(timer) => timer.start(&self.api),
            None => Ok(()),
        }
    }

    /// Completes the command that began, with its status.
    fn end(&mut self, what: &str, status: Status) -> Result<(), String> {
        self.api.checked(what, status)?;
        match &mut self.timer {
            Some(timer) => timer.stop(&self.api),
            None => Ok(()),
        }
    }

    fn kernel(&mut self, number: usize) -> Result<(api::Function, KernelDesc), String> {
        let slots = self.kernels.get_mut(number).zip(self.descs.get(number));
        let (slot, desc) = slots.ok_or("unknown kernel")?;
        if let Some(kernel) = slot {
            return Ok((*kernel, *desc));
        }
        let name = CString::new(desc.name.get()).map_err(|_| "a kernel's name contains a zero byte")?;
        let mut kernel = std::ptr::null_mut();
        // SAFETY: a module of this library, a zero-terminated string.
        let status = unsafe { (self.api.function)(&raw mut kernel, self.module, name.as_ptr()) };
        let what = format!("cannot find the kernel `{}`", desc.display_name.get());
        self.api.checked(&what, status)?;
        let mut most = 0;
        // SAFETY: a kernel of this library; the pointer is to an integer.
        let status = unsafe { (self.api.ask_function)(&raw mut most, api::MOST_THREADS, kernel) };
        // A driver that does not report a maximum fails at the launch.
        if let (api::SUCCESS, Ok(most @ 1..)) = (status, u64::try_from(most))
            && most < desc.threads
        {
            return Err(format!(
                "the kernel `{}` has blocks of {} threads; the device allows {most}",
                desc.display_name.get(),
                desc.threads
            ));
        }
        if desc.n_shared_buffers > 0 && self.shared > DEFAULT_SHARED {
            let mut static_bytes = 0;
            // SAFETY: a kernel of this library; the pointer is to an integer.
            let status =
                unsafe { (self.api.ask_function)(&raw mut static_bytes, api::STATIC_SHARED, kernel) };
            self.api.checked(&what, status)?;
            let static_bytes = u64::try_from(static_bytes).unwrap_or(0);
            (self.api).set_max_dynamic_shared(kernel, self.shared.saturating_sub(static_bytes))?;
        }
        *slot = Some(kernel);
        Ok((kernel, *desc))
    }
}

const fn address(memory: Memory, at: u64) -> api::Address {
    (memory.0 as u64).wrapping_add(at)
}

impl Driver for Gpu {
    fn name(&self) -> &str {
        &self.device.name
    }

    fn limits(&self) -> Limits {
        Limits {
            memory: self.device.memory,
            block: self.device.memory,
            shared: self.shared,
            saturating_threads: self.busy(),
        }
    }

    fn alloc(&mut self, bytes: u64) -> Result<Option<Memory>, String> {
        self.enter()?;
        let mut memory = 0;
        // SAFETY: the pointer is to an address.
        let status: Status = unsafe { (self.api.alloc)(&raw mut memory, bytes as usize) };
        if status == api::OUT_OF_MEMORY {
            return Ok(None);
        }
        self.api.checked("cannot allocate memory", status)?;
        Ok(Some(Memory(memory as usize)))
    }

    fn free(&mut self, memory: Memory) {
        if self.enter().is_ok() {
            // SAFETY: it came from `alloc`, and is no longer used; the driver waits for kernels.
            unsafe { (self.api.free)(memory.0 as u64) };
        }
    }

    fn write(&mut self, to: Memory, at: u64, bytes: &[u8]) -> Result<(), String> {
        self.begin()?;
        // SAFETY: the bytes lie in the block; they have been read when this returns.
        let status = unsafe { (self.api.write)(address(to, at), bytes.as_ptr().cast(), bytes.len()) };
        self.end("cannot copy to the device", status)
    }

    fn read(&mut self, ranges: &mut [(Memory, u64, &mut [u8])]) -> Result<(), String> {
        self.begin()?;
        let all: usize = ranges.iter().map(|(.., into)| into.len()).sum();
        if ranges.len() > 1 && all <= STAGING_BYTES {
            self.read_staged(ranges)?;
            return self.end("", api::SUCCESS);
        }
        for (from, at, into) in ranges {
            let to = into.as_mut_ptr().cast();
            // SAFETY: the bytes lie in the block and fit in the destination; they have arrived when
            // this returns, as have those of earlier ranges.
            let status = unsafe { (self.api.read)(to, address(*from, *at), into.len()) };
            self.api.checked("cannot copy from the device", status)?;
        }
        self.end("", api::SUCCESS)
    }

    fn copy(&mut self, to: (Memory, u64), from: (Memory, u64), bytes: u64) -> Result<(), String> {
        self.begin()?;
        let (to, from) = (address(to.0, to.1), address(from.0, from.1));
        let stream = std::ptr::null_mut();
        // SAFETY: the bytes lie in their blocks.
        let status = unsafe { (self.api.copy)(to, from, bytes as usize, stream) };
        self.end("cannot copy on the device", status)
    }

    fn launch(&mut self, kernel: usize, blocks: u64, args: &[Arg]) -> Result<(), String> {
        self.enter()?;
        let (kernel, desc) = self.kernel(kernel)?;
        let what = format!("cannot launch the kernel `{}`", desc.display_name.get());
        let blocks = i32::try_from(blocks).ok();
        let blocks = blocks.ok_or_else(|| format!("{what}: too many blocks"))?;
        let mut words: Vec<u64> = Vec::with_capacity(args.len());
        let mut shared = 0;
        for arg in args {
            words.push(match arg {
                Arg::Memory(block) => block.map_or(0, |block| block.0 as u64),
                Arg::Scalar(word, _) => u64::from_le_bytes(*word),
                Arg::SharedBuffer(bytes) => {
                    shared += bytes;
                    shared - bytes
                }
            });
        }
        let mut addresses: Vec<*mut c_void> =
            words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
        self.begin()?;
        // SAFETY: a kernel of this device with as many parameters, from each of which the driver
        // reads the parameter's size.
        let status = unsafe {
            (self.api.launch)(
                kernel,
                blocks.unsigned_abs(),
                1,
                1,
                desc.threads as u32,
                1,
                1,
                shared as u32,
                std::ptr::null_mut(),
                addresses.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        self.end(&what, status)
    }

    fn finish(&mut self) -> Result<(), String> {
        self.enter()?;
        // SAFETY: the context lives as long as the value.
        let status = unsafe { (self.api.finish)() };
        self.api.checked("cannot complete the pending commands", status)
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

impl Drop for Gpu {
    fn drop(&mut self) {
        if self.enter().is_ok() {
            if !self.staging.is_null() {
                // SAFETY: it was allocated by this value, and is no longer used.
                unsafe { (self.api.free_host)(self.staging) };
            }
            if let Some(timer) = &mut self.timer {
                timer.clear(&self.api);
            }
            if !self.module.is_null() {
                // SAFETY: it was loaded by this value, and is no longer used.
                unsafe { (self.api.unload_module)(self.module) };
            }
        }
        // SAFETY: it was retained once.
        unsafe { (self.api.release)(self.device.ordinal) };
    }
}
