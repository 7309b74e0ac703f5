//! OpenCL's C interface, as far as it is used: functions of version 1.2, looked up in the loader's
//! library when a device is requested.
//!
//! The signatures are declared here rather than taken from a binding: bindings that load the
//! library at run time keep it in a global and add procedural-macro dependencies to the runtime
//! that every executable links; this is two dozen functions.

use libloading::Library;
use std::ffi::{c_char, c_void};
use std::mem::ManuallyDrop;

pub type Platform = *mut c_void;
pub type DeviceId = *mut c_void;
pub type Context = *mut c_void;
pub type Queue = *mut c_void;
pub type Mem = *mut c_void;
pub type Program = *mut c_void;
pub type Kernel = *mut c_void;
pub type Event = *mut c_void;

/// The status that functions return.
pub type Status = i32;
/// OpenCL's boolean.
pub type Truth = u32;

pub const SUCCESS: Status = 0;
pub const DEVICE_NOT_FOUND: Status = -1;
pub const MEM_OBJECT_ALLOCATION_FAILURE: Status = -4;
pub const OUT_OF_RESOURCES: Status = -5;
pub const OUT_OF_HOST_MEMORY: Status = -6;
pub const BUILD_PROGRAM_FAILURE: Status = -11;
pub const PLATFORM_NOT_FOUND: Status = -1001;

pub const PLATFORM_NAME: u32 = 0x0902;
pub const DEVICE_TYPE_ALL: u64 = 0xffff_ffff;
pub const DEVICE_TYPE_CPU: u64 = 1 << 1;
pub const DEVICE_TYPE_GPU: u64 = 1 << 2;
pub const DEVICE_TYPE: u32 = 0x1000;
pub const DEVICE_MAX_COMPUTE_UNITS: u32 = 0x1002;
pub const DEVICE_MAX_MEM_ALLOC_SIZE: u32 = 0x1010;
pub const DEVICE_MAX_PARAMETER_SIZE: u32 = 0x1017;
pub const DEVICE_SINGLE_FP_CONFIG: u32 = 0x101b;
pub const DEVICE_GLOBAL_MEM_SIZE: u32 = 0x101f;
pub const DEVICE_LOCAL_MEM_SIZE: u32 = 0x1023;
pub const DEVICE_AVAILABLE: u32 = 0x1027;
pub const DEVICE_COMPILER_AVAILABLE: u32 = 0x1028;
pub const DEVICE_NAME: u32 = 0x102b;
pub const DRIVER_VERSION: u32 = 0x102d;
pub const DEVICE_VERSION: u32 = 0x102f;
pub const DEVICE_EXTENSIONS: u32 = 0x1030;
/// A bit of [`DEVICE_SINGLE_FP_CONFIG`].
pub const FP_CORRECTLY_ROUNDED_DIVIDE_SQRT: u64 = 1 << 7;
pub const MEM_READ_WRITE: u64 = 1;
pub const PROGRAM_BINARY_SIZES: u32 = 0x1165;
pub const PROGRAM_BINARIES: u32 = 0x1166;
pub const PROGRAM_BUILD_LOG: u32 = 0x1183;
pub const KERNEL_WORK_GROUP_SIZE: u32 = 0x11b0;
pub const KERNEL_LOCAL_MEM_SIZE: u32 = 0x11b2;
/// A queue property: events have times.
pub const QUEUE_PROFILING_ENABLE: u64 = 1 << 1;
pub const PROFILING_START: u32 = 0x1282;
pub const PROFILING_END: u32 = 0x1283;

/// File names of the loader's library.
const LIBRARIES: &[&str] = &[
    #[cfg(target_os = "linux")]
    "libOpenCL.so.1",
    #[cfg(target_os = "macos")]
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
    #[cfg(windows)]
    "OpenCL.dll",
    #[cfg(not(windows))]
    "libOpenCL.so",
];

macro_rules! functions {
    ($($field:ident = $symbol:literal ($($arg:ty),*) -> $result:ty;)*) => {
        /// The library's functions.
        #[derive(Clone, Copy)]
        pub struct Api {
            $(pub $field: unsafe extern "system" fn($($arg),*) -> $result,)*
        }

        impl Api {
            /// Looks up the functions of a library, which stays loaded until the process ends:
            /// drivers have threads of their own, which outlive their work.
            fn of(library: Library) -> Result<Self, String> {
                let library = ManuallyDrop::new(library);
                Ok(Self {
                    $($field: {
                        // SAFETY: OpenCL specifies this type for the symbol; the library stays
                        // loaded.
                        let found = unsafe { library.get(concat!($symbol, "\0").as_bytes()) };
                        *found.map_err(|_| {
                            format!("the OpenCL library is too old: it has no `{}`", $symbol)
                        })?
                    },)*
                })
            }
        }
    };
}

functions! {
    platforms = "clGetPlatformIDs" (u32, *mut Platform, *mut u32) -> Status;
    platform_info = "clGetPlatformInfo"
        (Platform, u32, usize, *mut c_void, *mut usize) -> Status;
    devices = "clGetDeviceIDs" (Platform, u64, u32, *mut DeviceId, *mut u32) -> Status;
    device_info = "clGetDeviceInfo" (DeviceId, u32, usize, *mut c_void, *mut usize) -> Status;
    create_context = "clCreateContext"
        (*const isize, u32, *const DeviceId, *const c_void, *mut c_void, *mut Status) -> Context;
    release_context = "clReleaseContext" (Context) -> Status;
    create_queue = "clCreateCommandQueue" (Context, DeviceId, u64, *mut Status) -> Queue;
    release_queue = "clReleaseCommandQueue" (Queue) -> Status;
    create_buffer = "clCreateBuffer" (Context, u64, usize, *mut c_void, *mut Status) -> Mem;
    release_mem = "clReleaseMemObject" (Mem) -> Status;
    create_program = "clCreateProgramWithSource"
        (Context, u32, *const *const c_char, *const usize, *mut Status) -> Program;
    load_program = "clCreateProgramWithBinary"
        (Context, u32, *const DeviceId, *const usize, *const *const u8, *mut Status, *mut Status)
        -> Program;
    build_program = "clBuildProgram"
        (Program, u32, *const DeviceId, *const c_char, *const c_void, *mut c_void) -> Status;
    build_info = "clGetProgramBuildInfo"
        (Program, DeviceId, u32, usize, *mut c_void, *mut usize) -> Status;
    program_info = "clGetProgramInfo" (Program, u32, usize, *mut c_void, *mut usize) -> Status;
    release_program = "clReleaseProgram" (Program) -> Status;
    create_kernel = "clCreateKernel" (Program, *const c_char, *mut Status) -> Kernel;
    kernel_info = "clGetKernelWorkGroupInfo"
        (Kernel, DeviceId, u32, usize, *mut c_void, *mut usize) -> Status;
    release_kernel = "clReleaseKernel" (Kernel) -> Status;
    set_arg = "clSetKernelArg" (Kernel, u32, usize, *const c_void) -> Status;
    launch = "clEnqueueNDRangeKernel"
        (Queue, Kernel, u32, *const usize, *const usize, *const usize, u32, *const Event,
         *mut Event) -> Status;
    read = "clEnqueueReadBuffer"
        (Queue, Mem, Truth, usize, usize, *mut c_void, u32, *const Event, *mut Event) -> Status;
    write = "clEnqueueWriteBuffer"
        (Queue, Mem, Truth, usize, usize, *const c_void, u32, *const Event, *mut Event) -> Status;
    copy = "clEnqueueCopyBuffer"
        (Queue, Mem, Mem, usize, usize, usize, u32, *const Event, *mut Event) -> Status;
    fill = "clEnqueueFillBuffer"
        (Queue, Mem, *const c_void, usize, usize, usize, u32, *const Event, *mut Event) -> Status;
    finish = "clFinish" (Queue) -> Status;
    event_time = "clGetEventProfilingInfo"
        (Event, u32, usize, *mut c_void, *mut usize) -> Status;
    release_event = "clReleaseEvent" (Event) -> Status;
}

impl Api {
    /// Loads the library.
    pub fn load() -> Result<Self, String> {
        for name in LIBRARIES {
            // SAFETY: OpenCL's loader does nothing when it is loaded but to look up its functions.
            if let Ok(library) = unsafe { Library::new(*name) } {
                return Self::of(library);
            }
        }
        Err(format!(
            "OpenCL is not available on this machine: cannot load the library {}; install a device \
             driver (for CPUs, for example, the packages pocl-opencl-icd and \
             ocl-icd-libopencl1)",
            LIBRARIES.first().unwrap_or(&"OpenCL")
        ))
    }

    /// A property of an object as bytes, by the function that queries it.
    pub fn info(ask: impl Fn(usize, *mut c_void, *mut usize) -> Status) -> Result<Vec<u8>, Status> {
        let mut size = 0;
        checked(ask(0, std::ptr::null_mut(), &raw mut size))?;
        let mut bytes = vec![0u8; size];
        checked(ask(size, bytes.as_mut_ptr().cast(), std::ptr::null_mut()))?;
        Ok(bytes)
    }
}

/// Text without its terminating zeros.
pub fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end_matches('\0').trim().to_owned()
}

/// A little-endian number of at most eight bytes.
pub fn number(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let count = bytes.len().min(8);
    word[..count].copy_from_slice(&bytes[..count]);
    u64::from_le_bytes(word)
}

/// A status as a result.
pub const fn checked(status: Status) -> Result<(), Status> {
    if status == SUCCESS { Ok(()) } else { Err(status) }
}

/// The name of a status.
pub fn describe(status: Status) -> String {
    let name = match status {
        DEVICE_NOT_FOUND => "CL_DEVICE_NOT_FOUND",
        -2 => "CL_DEVICE_NOT_AVAILABLE",
        -3 => "CL_COMPILER_NOT_AVAILABLE",
        MEM_OBJECT_ALLOCATION_FAILURE => "CL_MEM_OBJECT_ALLOCATION_FAILURE",
        OUT_OF_RESOURCES => "CL_OUT_OF_RESOURCES",
        OUT_OF_HOST_MEMORY => "CL_OUT_OF_HOST_MEMORY",
        BUILD_PROGRAM_FAILURE => "CL_BUILD_PROGRAM_FAILURE",
        -7 => "CL_PROFILING_INFO_NOT_AVAILABLE",
        -14 => "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
        -30 => "CL_INVALID_VALUE",
        -33 => "CL_INVALID_DEVICE",
        -34 => "CL_INVALID_CONTEXT",
        -36 => "CL_INVALID_COMMAND_QUEUE",
        -38 => "CL_INVALID_MEM_OBJECT",
        -42 => "CL_INVALID_BINARY",
        -43 => "CL_INVALID_BUILD_OPTIONS",
        -46 => "CL_INVALID_KERNEL_NAME",
        -50 => "CL_INVALID_ARG_VALUE",
        -51 => "CL_INVALID_ARG_SIZE",
        -52 => "CL_INVALID_KERNEL_ARGS",
        -54 => "CL_INVALID_WORK_GROUP_SIZE",
        -61 => "CL_INVALID_BUFFER_SIZE",
        -63 => "CL_INVALID_GLOBAL_WORK_SIZE",
        PLATFORM_NOT_FOUND => "CL_PLATFORM_NOT_FOUND_KHR",
        _ => return format!("OpenCL error {status}"),
    };
    name.to_owned()
}
