//! The C interfaces of CUDA's driver and of HIP, as far as they are used: the same functions under
//! different names, which are looked up in the driver's library when a device is requested.
//! Likewise for the run-time compilers that come with them.
//!
//! The signatures are declared here rather than taken from a binding, as for OpenCL: the
//! maintained binding that loads the library at run time, cudarc, supports CUDA alone, and two
//! dozen signatures serve both.

use libloading::Library;
use std::ffi::{CStr, c_char, c_void};
use std::mem::ManuallyDrop;

/// The vendor of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vendor {
    /// NVIDIA: CUDA and NVRTC.
    Cuda,
    /// AMD: HIP and hipRTC.
    Hip,
}

impl Vendor {
    /// The name of the vendor's platform.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cuda => "CUDA",
            Self::Hip => "HIP",
        }
    }

    /// File names of the driver's library.
    const fn drivers(self) -> &'static [&'static str] {
        match self {
            Self::Cuda => &["libcuda.so.1", "libcuda.so"],
            Self::Hip => &[
                "libamdhip64.so.7",
                "libamdhip64.so.6",
                "libamdhip64.so.5",
                "libamdhip64.so",
                "/opt/rocm/lib/libamdhip64.so",
            ],
        }
    }

    /// File names of the compiler's library.
    const fn compilers(self) -> &'static [&'static str] {
        match self {
            Self::Cuda => &[
                "libnvrtc.so.13",
                "libnvrtc.so.12",
                "libnvrtc.so.11.2",
                "libnvrtc.so",
                "/usr/local/cuda/lib64/libnvrtc.so",
            ],
            Self::Hip => &[
                "libhiprtc.so.7",
                "libhiprtc.so.6",
                "libhiprtc.so.5",
                "libhiprtc.so",
                "/opt/rocm/lib/libhiprtc.so",
            ],
        }
    }
}

pub type Status = i32;
/// The number of a device.
pub type Ordinal = i32;
pub type Context = *mut c_void;
pub type Module = *mut c_void;
pub type Function = *mut c_void;
pub type Event = *mut c_void;
/// An address in device memory.
pub type Address = u64;
pub type Program = *mut c_void;

pub const SUCCESS: Status = 0;
pub const OUT_OF_MEMORY: Status = 2;
/// The kernel attribute, for CUDA and HIP, of the maximum number of threads in a block.
pub const MOST_THREADS: i32 = 0;
/// The kernel attribute, for CUDA and HIP, of the statically allocated shared memory in bytes.
pub const STATIC_SHARED: i32 = 1;
/// CUDA's device attributes of the compute capability.
pub const CAPABILITY_MAJOR: i32 = 75;
pub const CAPABILITY_MINOR: i32 = 76;
/// CUDA's device attributes of the number of multiprocessors and of the threads that each holds.
pub const MULTIPROCESSORS: i32 = 16;
pub const MAX_THREADS_PER_MULTIPROCESSOR: i32 = 39;
/// CUDA's device attribute of the maximum shared memory of a block, if the kernel requests it.
pub const MAX_SHARED_OPTIN: i32 = 97;
/// CUDA's settable kernel attribute of the maximum dynamic shared memory.
const DYNAMIC_SHARED: i32 = 8;

macro_rules! functions {
    (
        $(#[$meta:meta])* $Table:ident, $what:literal, $libraries:ident;
        $($field:ident = $cuda:literal or $hip:literal ($($arg:ty),*);)*
    ) => {
        $(#[$meta])*
        pub struct $Table {
            $(pub $field: unsafe extern "C" fn($($arg),*) -> Status,)*
            pub vendor: Vendor,
            library: ManuallyDrop<Library>,
        }

        impl $Table {
            /// Loads the library, which stays loaded until the process ends, as it has threads of
            /// its own.
            pub fn load(vendor: Vendor) -> Result<Self, String> {
                let names = vendor.$libraries();
                // SAFETY: such libraries do nothing when they are loaded.
                let found = names.iter().find_map(|name| unsafe { Library::new(*name) }.ok());
                let library = ManuallyDrop::new(found.ok_or_else(|| {
                    format!(
                        "{} is not available on this machine: cannot load {} `{}`",
                        vendor.name(),
                        $what,
                        names.first().unwrap_or(&""),
                    )
                })?);
                Ok(Self {
                    $($field: {
                        let symbol = match vendor {
                            Vendor::Cuda => concat!($cuda, "\0"),
                            Vendor::Hip => concat!($hip, "\0"),
                        };
                        // SAFETY: the symbol has this type by the library's interface; the library
                        // stays loaded.
                        let found = unsafe { library.get(symbol.as_bytes()) };
                        *found.map_err(|_| {
                            format!(
                                "{} is too old: it has no `{}`",
                                $what,
                                symbol.trim_end_matches('\0')
                            )
                        })?
                    },)*
                    vendor,
                    library,
                })
            }
        }
    };
}

functions! {
    /// The driver's functions.
    Api, "the driver's library", drivers;
    init = "cuInit" or "hipInit" (u32);
    count = "cuDeviceGetCount" or "hipGetDeviceCount" (*mut i32);
    device = "cuDeviceGet" or "hipDeviceGet" (*mut Ordinal, i32);
    name = "cuDeviceGetName" or "hipDeviceGetName" (*mut c_char, i32, Ordinal);
    memory = "cuDeviceTotalMem_v2" or "hipDeviceTotalMem" (*mut usize, Ordinal);
    attribute = "cuDeviceGetAttribute" or "hipDeviceGetAttribute" (*mut i32, i32, Ordinal);
    version = "cuDriverGetVersion" or "hipDriverGetVersion" (*mut i32);
    retain = "cuDevicePrimaryCtxRetain" or "hipDevicePrimaryCtxRetain" (*mut Context, Ordinal);
    release = "cuDevicePrimaryCtxRelease_v2" or "hipDevicePrimaryCtxRelease" (Ordinal);
    enter = "cuCtxSetCurrent" or "hipCtxSetCurrent" (Context);
    load_module = "cuModuleLoadData" or "hipModuleLoadData" (*mut Module, *const c_void);
    unload_module = "cuModuleUnload" or "hipModuleUnload" (Module);
    function = "cuModuleGetFunction" or "hipModuleGetFunction"
        (*mut Function, Module, *const c_char);
    ask_function = "cuFuncGetAttribute" or "hipFuncGetAttribute" (*mut i32, i32, Function);
    launch = "cuLaunchKernel" or "hipModuleLaunchKernel"
        (Function, u32, u32, u32, u32, u32, u32, u32, *mut c_void, *mut *mut c_void,
         *mut *mut c_void);
    alloc = "cuMemAlloc_v2" or "hipMalloc" (*mut Address, usize);
    free = "cuMemFree_v2" or "hipFree" (Address);
    write = "cuMemcpyHtoD_v2" or "hipMemcpyHtoD" (Address, *const c_void, usize);
    read = "cuMemcpyDtoH_v2" or "hipMemcpyDtoH" (*mut c_void, Address, usize);
    read_soon = "cuMemcpyDtoHAsync_v2" or "hipMemcpyDtoHAsync"
        (*mut c_void, Address, usize, *mut c_void);
    alloc_host = "cuMemHostAlloc" or "hipHostMalloc" (*mut *mut c_void, usize, u32);
    free_host = "cuMemFreeHost" or "hipHostFree" (*mut c_void);
    copy = "cuMemcpyDtoDAsync_v2" or "hipMemcpyDtoDAsync"
        (Address, Address, usize, *mut c_void);
    finish = "cuCtxSynchronize" or "hipDeviceSynchronize" ();
    create_event = "cuEventCreate" or "hipEventCreateWithFlags" (*mut Event, u32);
    destroy_event = "cuEventDestroy_v2" or "hipEventDestroy" (Event);
    record = "cuEventRecord" or "hipEventRecord" (Event, *mut c_void);
    elapsed = "cuEventElapsedTime" or "hipEventElapsedTime" (*mut f32, Event, Event);
}

functions! {
    /// The compiler's functions.
    Compiler, "the compiler's library", compilers;
    create = "nvrtcCreateProgram" or "hiprtcCreateProgram"
        (*mut Program, *const c_char, *const c_char, i32, *const *const c_char,
         *const *const c_char);
    destroy = "nvrtcDestroyProgram" or "hiprtcDestroyProgram" (*mut Program);
    compile = "nvrtcCompileProgram" or "hiprtcCompileProgram"
        (Program, i32, *const *const c_char);
    log_size = "nvrtcGetProgramLogSize" or "hiprtcGetProgramLogSize" (Program, *mut usize);
    log = "nvrtcGetProgramLog" or "hiprtcGetProgramLog" (Program, *mut c_char);
    code_size = "nvrtcGetCUBINSize" or "hiprtcGetCodeSize" (Program, *mut usize);
    code = "nvrtcGetCUBIN" or "hiprtcGetCode" (Program, *mut c_char);
    text_size = "nvrtcGetPTXSize" or "hiprtcGetCodeSize" (Program, *mut usize);
    text = "nvrtcGetPTX" or "hiprtcGetCode" (Program, *mut c_char);
}

impl Api {
    /// A status as a result, with what failed and the driver's name of the error.
    pub fn checked(&self, what: &str, status: Status) -> Result<(), String> {
        if status == SUCCESS { Ok(()) } else { Err(format!("{what}: {}", self.describe(status))) }
    }

    /// Lets a kernel be launched with this much dynamic shared memory, in bytes. HIP requires no
    /// such request.
    pub fn set_max_dynamic_shared(&self, kernel: Function, bytes: u64) -> Result<(), String> {
        type SetAttribute = unsafe extern "C" fn(Function, i32, i32) -> Status;
        if self.vendor != Vendor::Cuda {
            return Ok(());
        }
        // SAFETY: the symbol has this type.
        let set = unsafe { self.library.get::<SetAttribute>(b"cuFuncSetAttribute\0") };
        let set = set.map_err(|_| "the driver is too old: it has no `cuFuncSetAttribute`")?;
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        // SAFETY: a kernel of this library.
        let status = unsafe { set(kernel, DYNAMIC_SHARED, bytes) };
        self.checked("cannot raise the shared memory limit of a block", status)
    }

    /// The driver's name of an error.
    pub fn describe(&self, status: Status) -> String {
        let mut name: *const c_char = std::ptr::null();
        match self.vendor {
            Vendor::Cuda => {
                type Name = unsafe extern "C" fn(Status, *mut *const c_char) -> Status;
                // SAFETY: the symbol has this type; it returns a static string.
                if let Ok(ask) = unsafe { self.library.get::<Name>(b"cuGetErrorName\0") } {
                    // SAFETY: as above.
                    let _ = unsafe { ask(status, &raw mut name) };
                }
            }
            Vendor::Hip => name = text(&self.library, b"hipGetErrorName\0", status),
        }
        shown(self.vendor, name, status)
    }
}

impl Compiler {
    /// The compiler's name of an error.
    pub fn describe(&self, status: Status) -> String {
        let symbol: &[u8] = match self.vendor {
            Vendor::Cuda => b"nvrtcGetErrorString\0",
            Vendor::Hip => b"hiprtcGetErrorString\0",
        };
        shown(self.vendor, text(&self.library, symbol, status), status)
    }
}

/// The string that a library function returns for an error.
fn text(library: &Library, symbol: &[u8], status: Status) -> *const c_char {
    type Text = unsafe extern "C" fn(Status) -> *const c_char;
    // SAFETY: the requested symbols have this type; they return static strings.
    match unsafe { library.get::<Text>(symbol) } {
        // SAFETY: as above.
        Ok(ask) => unsafe { ask(status) },
        Err(_) => std::ptr::null(),
    }
}

fn shown(vendor: Vendor, name: *const c_char, status: Status) -> String {
    if name.is_null() {
        return format!("{} error {status}", vendor.name());
    }
    // SAFETY: a zero-terminated string.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_string_lossy().into_owned()
}
