//! The contract between generated code and the runtime: C calling convention, plain words,
//! `#[repr(C)]` tables. This file is its only description.
//!
//! # Words
//! A scalar is one `u64`: its bits zero-extended (`f16` as its 16 bits, `bool` as 0 or 1). An array
//! of rank `r` is `1 + r` words: the address of its first element (row-major, at offset 0 of its
//! block), then its `r` dimensions. An opaque value is the words of its leaves, in order
//! ([`value::interface`]).
//!
//! # Constant data
//! A block of constant data in generated code follows a header of 64 bytes, aligned to 64, whose
//! first word is `1 << 62`: references to it may be added and released like any others, and it is
//! never freed.
//!
//! # Functions that generated code exports
//! - [`EntryFn`]: `i32 entry(Ctx*, const u64 *args, u64 *results)`; 0 means success. Arguments are
//!   borrowed: the callee never releases them (it takes a reference of its own with `br_ref` if a
//!   result shares a block with an argument). A parameter whose source type is unique (`*t`) may be
//!   overwritten. On success every block word of `results` carries one reference that the caller
//!   now owns; on failure `results` holds nothing to release.
//! - [`InitFn`] initialises the globals once per context; when it fails it has released what it
//!   stored. [`FiniFn`] releases the blocks in the globals; called once, after a successful init.
//!
//! # The parts of a [`Ctx`] that generated code may use
//! The pointer denotes *one thread's* view of a context. Word 0 is the address of the program's
//! globals (`Program::n_globals` words, zero at first), word 1 the lowest stack address that
//! compiled code may use, word 2 the address of the tuning parameters' values (an `i64` for each of
//! `Program::tunables`), word 3 is not 0 if comparisons with these are logged, word 4 the address of
//! an `i32` that another thread sets to 1 to cancel the call: functions that see it fail without a
//! recorded failure. The words and the values stay the same while generated code runs. A task must use the `Ctx` that it is passed,
//! never one from its environment: it may run on another thread.
//!
//! # Functions that generated code calls
//! | symbol | signature |
//! |---|---|
//! | `br_alloc` | `u8 *(Ctx*, i64 bytes, const CheckDesc *span)`: a block of at least `bytes` bytes (may be 0), 64-byte aligned, contents undefined, one reference. Null on failure, with the error slot set (negative: a product of sizes overflowed; else the memory limit), with the source positions of `span` unless it is null. |
//! | `br_slots` | `u8 *(Ctx*, i64 count, const CheckDesc *span)`: a block of `count` slots, all null, else as `br_alloc`. Generated code stores addresses of blocks (which are not blocks of slots) in them, each with a reference; these are released when the block of slots is freed. |
//! | `br_ref` | `void (u8 *block)`: adds a reference; null is ignored. |
//! | `br_unref` | `void (Ctx*, u8 *block)`: releases a reference, frees the block at 0; null is ignored. |
//! | `br_unref_all` | `void (Ctx*, u8 *const *blocks, i64 count)`: `br_unref` of each. |
//! | `br_tasks` | `i32 (Ctx*, TaskFn, u8 *env, i64 n, i64 cost)`: runs the chunks `0..n`, each exactly once, grouped into ranges in any way, and returns when all are done; nonzero iff some range failed (the others may then be skipped). `cost` estimates the work of all chunks together in ns; little work runs on the caller alone, sequentially, as `f(ctx, env, 0, n)`. A negative cost is minus a lower bound: the work may be much more. May be called from inside a task. |
//! | `br_tasks_coarse` | as `br_tasks`, for ranges with work of their own: there are about as many ranges as threads. |
//! | `br_fail` | `i32 (Ctx*, const CheckDesc*, const u64 *values)`: records a failure unless one is recorded already; returns 1. |
//! | `br_called` | `void (Ctx*, const CheckDesc*)`: a call at the description's location failed; after a stack overflow, the location is appended to the backtrace. |
//! | `br_compared` | `void (Ctx*, i64 parameter, i64 size)`: logs that the size is compared with the tuning parameter of this number, which is within bounds, or that this many iterations are divided into chunks by it. Called only if word 3 is not 0. |
//! | `br_begin_nest` | `void (Ctx*)`: begins the time of a parallel nest; one in a task, or in another nest, is part of that nest. Called only in programs that are built for profiles. |
//! | `br_end_nest` | `void (Ctx*, const CheckDesc *nest, const u64 *counts)`: ends it, unless the program fails before, and adds [`NEST_COUNTS`] counts to its totals. |
//! | `br_stack_check` | `i32 (Ctx*, i64 bytes)`: 0 if more than `bytes` bytes of stack are left, else records the failure and returns 1. Generated code may first compare its stack address with word 1. |
//! | `br_device_alloc` | as `br_alloc`, for a block in the memory of the device on which the context's program runs. The address is that of a host block that represents it and counts its references; generated code never accesses its contents. |
//! | `br_device_copy` | `i32 (Ctx*, i64 direction, u8 *to, i64 to_at, u8 *from, i64 from_at, i64 bytes)`: copies bytes to the device (direction 0), to the host (1), or within the device (2). A device block is denoted by its address and an offset in bytes, host memory by the address of the first byte and 0. Copies to the host are complete on return. Not 0 on failure, also if an earlier kernel has failed. |
//! | `br_launch` | `i32 (Ctx*, i64 kernel, i64 blocks, const u64 *words)`: launches `blocks` thread blocks of the kernel of this number; none if not positive. The words are its captures, in order: scalars, addresses of device blocks; then the sizes in bytes (`i64`) of the shared-memory buffers that are sized at launch: negative sizes, and more than the capacity, fail. The kernel may run later: launches and copies are executed in order. |
//! | `br_math_<name>_<type>` | each `prim::MathFun` on `f16` (as `u16` bits), `f32` and `f64`: `T (T)` or `T (T, T)`. |
//! | `br_main` | `i32 (i32 argc, const u8 *const *argv, const Program*)`: the whole of an executable's `main`. |
//! | `br_main_levels` | `i32 (i32 argc, const u8 *const *argv, const LevelDesc*, u64 n)`: the same for an executable with a program for each of several processor levels. |
//!
//! Every function may be called from any task, except for `br_main` and `br_main_levels`; none
//! unwinds or exits.
//!
//! # Kernels
//! A program for a device has a [`DeviceDesc`] with the code of its kernels, which the runtime
//! compiles or loads for the device when a context is created. A kernel's parameters are the block
//! in which failures are recorded, then its captures, each scalar as its own type (`bool` as a
//! byte), then its shared-memory buffers: for OpenCL addresses, else the offset of each (`u64`) in
//! the shared memory that is requested at launch. The failure block is an `i32`, 0 until a check
//! fails and then the check's index in [`DeviceDesc::checks`] plus 1, four unused bytes, and from
//! offset 8 on the `u64` words of the check's message.

use value::interface::Interface;

/// One thread's view of a context. Generated code reads its first five words (see the module
/// header) and treats the rest as opaque.
pub use crate::context::{Ctx, br_stack_check};

/// An entry point: context, argument words, result words; 0 on success.
pub type EntryFn = unsafe extern "C" fn(ctx: *mut Ctx, args: *const u64, results: *mut u64) -> i32;

/// A range of chunks `lo..hi` of a parallel operation; 0 on success.
pub type TaskFn = unsafe extern "C" fn(ctx: *mut Ctx, env: *mut u8, lo: i64, hi: i64) -> i32;

/// Computes the program's constants into the globals; 0 on success.
pub type InitFn = unsafe extern "C" fn(ctx: *mut Ctx) -> i32;

/// Releases the blocks in the globals.
pub type FiniFn = unsafe extern "C" fn(ctx: *mut Ctx);

/// The value of [`Program::version`] that this runtime supports.
pub const ABI_VERSION: u64 = 8;

/// UTF-8 text: address and length in bytes. It lives as long as the program; an empty text may have
/// a null address.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Str {
    /// The address.
    pub ptr: *const u8,
    /// The length in bytes.
    pub len: u64,
}

/// A run-time check's message, for [`br_fail`](crate::error::br_fail).
///
/// `format` holds placeholders `{i8}` ... `{u64}`, `{f16}`, `{f32}`, `{f64}`, `{bool}`, each of
/// which takes the next word of the values; `{{` and `}}` denote braces. `location` holds source
/// positions such as `a.fut:3:5-12`, innermost first, separated by newlines; it may be empty.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CheckDesc {
    /// Address of the message.
    pub format: *const u8,
    /// Its length in bytes.
    pub format_len: u64,
    /// Address of the positions.
    pub location: *const u8,
    /// Their length in bytes.
    pub location_len: u64,
}

/// The number of counts of a parallel nest: operations on floats of up to 32 bits, on floats of 64 bits
/// and on integers; bytes read and written; the sum of 1 if there may be more operations, and 2 if there may be less.
pub const NEST_COUNTS: usize = 6;

/// A tuning parameter of a program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TunableDesc {
    /// The parameter's name.
    pub name: Str,
    /// The kind of number: one of the `CLASS_*` constants.
    pub class: Str,
    /// Its value unless another one is given.
    pub default: i64,
}

/// [`TunableDesc::class`] of device capacities: bytes of shared memory per block. The default value
/// is that of the device in use.
pub const CLASS_CAPACITY: &str = "capacity";

/// [`TunableDesc::class`] of chunk sizes, by which iterations are divided.
pub const CLASS_CHUNK_SIZE: &str = "size";

/// [`TunableDesc::class`] of thresholds: the size from which on a code version is chosen.
pub const CLASS_THRESHOLD: &str = "threshold";
/// [`TunableDesc::default`] of thresholds that test for enough parallelism to occupy a device. If
/// the device in use reports its number of threads, it is computed from that; this is the usual
/// value (incremental flattening, section 5).
pub const DEFAULT_SATURATION: i64 = 1 << 15;

/// [`DeviceDesc::target`] of kernels in OpenCL C.
pub const TARGET_OPENCL: u64 = 1;
/// [`DeviceDesc::target`] of kernels in CUDA C++.
pub const TARGET_CUDA: u64 = 2;
/// [`DeviceDesc::target`] of kernels in HIP.
pub const TARGET_HIP: u64 = 3;

/// A kernel of a program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelDesc {
    /// The kernel's name in the source.
    pub name: Str,
    /// Its name in reports: function and operation.
    pub display_name: Str,
    /// Its number among the kernels with this `display_name`; the pair does not change when other
    /// functions change.
    pub id: u64,
    /// Source positions, innermost first, one per line.
    pub spans: Str,
    /// The number of threads of a block.
    pub threads: u64,
    /// For each capture the size in bytes if it is a scalar, 0 if it is a block.
    pub sizes: *const u8,
    /// The number of captures.
    pub n_sizes: u64,
    /// The number of shared-memory buffers that are sized at launch.
    pub n_shared_buffers: u64,
    /// Not 0 if the kernel may record a failure.
    pub fails: u64,
}

/// The kernels of a program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DeviceDesc {
    /// The language of the source: one of the `TARGET_*` constants.
    pub target: u64,
    /// The source text.
    pub source: Str,
    /// The extensions that the device must have: names separated by spaces.
    pub needs: Str,
    /// The kernels.
    pub kernels: *const KernelDesc,
    /// The number of kernels.
    pub n_kernels: u64,
    /// The checks of the program, by number.
    pub checks: *const *const CheckDesc,
    /// The number of checks.
    pub n_checks: u64,
}

/// A compiled program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The `abi` version of the program, which must be [`ABI_VERSION`].
    pub version: u64,
    /// The source file's name.
    pub source_name: Str,
    /// The entry points and their types: address of the bytes that
    /// [`Interface::encode`](value::interface::Interface::encode) makes.
    pub interface: *const u8,
    /// The number of these bytes.
    pub interface_len: u64,
    /// The code of each entry point. If the program has a device, blocks of arguments and results
    /// are device blocks.
    pub entries: *const EntryFn,
    /// The number of entry points.
    pub n_entries: u64,
    /// The number of words of the globals.
    pub n_globals: u64,
    /// Computes the constants, if there are any.
    pub init: Option<InitFn>,
    /// Releases the constants.
    pub fini: Option<FiniFn>,
    /// The tuning parameters.
    pub tunables: *const TunableDesc,
    /// The number of tuning parameters.
    pub n_tunables: u64,
    /// The kernels, if the program is for a device; else null.
    pub device: *const DeviceDesc,
}

/// A program's code for a processor level.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LevelDesc {
    /// The level's number: 2 for x86-64-v2 and so on.
    pub number: u64,
    /// The program's table.
    pub program: *const Program,
}

// SAFETY: the tables are immutable and refer only to immutable data and code.
unsafe impl Sync for Str {}
// SAFETY: as above.
unsafe impl Send for Str {}
// SAFETY: as above.
unsafe impl Sync for CheckDesc {}
// SAFETY: as above.
unsafe impl Send for CheckDesc {}
// SAFETY: as above.
unsafe impl Sync for TunableDesc {}
// SAFETY: as above.
unsafe impl Send for TunableDesc {}
// SAFETY: as above.
unsafe impl Sync for DeviceDesc {}
// SAFETY: as above.
unsafe impl Send for DeviceDesc {}
// SAFETY: as above.
unsafe impl Sync for Program {}
// SAFETY: as above.
unsafe impl Send for Program {}

/// The slice at `ptr`, empty if `len` is 0 or `ptr` is null.
///
/// # Safety
/// `ptr` must point to `len` elements that live for `'a`, unless `len` is 0.
unsafe fn slice<'a, T>(ptr: *const T, len: u64) -> &'a [T] {
    if len == 0 || ptr.is_null() {
        &[]
    } else {
        // SAFETY: by the caller's promise.
        unsafe { std::slice::from_raw_parts(ptr, len as usize) }
    }
}

/// The text at `ptr`, with replacement characters for invalid UTF-8.
///
/// # Safety
/// As for [`slice`].
pub(crate) unsafe fn text<'a>(ptr: *const u8, len: u64) -> std::borrow::Cow<'a, str> {
    // SAFETY: by the caller's promise.
    String::from_utf8_lossy(unsafe { slice(ptr, len) })
}

impl Str {
    /// The `Str` of a constant.
    pub const fn new(text: &'static str) -> Self {
        Self { ptr: text.as_ptr(), len: text.len() as u64 }
    }

    /// The text; `?` if it is not UTF-8.
    pub fn get(&self) -> &str {
        // SAFETY: tables hold valid addresses of text that outlives them.
        let bytes = unsafe { slice(self.ptr, self.len) };
        std::str::from_utf8(bytes).unwrap_or("?")
    }
}

impl KernelDesc {
    /// The sizes of the captures.
    pub fn sizes(&self) -> &[u8] {
        // SAFETY: tables hold valid addresses.
        unsafe { slice(self.sizes, self.n_sizes) }
    }
}

impl DeviceDesc {
    /// The kernels.
    pub fn kernels(&self) -> &[KernelDesc] {
        // SAFETY: tables hold valid addresses.
        unsafe { slice(self.kernels, self.n_kernels) }
    }

    /// The check of this number.
    pub fn check(&self, number: usize) -> Option<&CheckDesc> {
        // SAFETY: tables hold valid addresses.
        let all = unsafe { slice(self.checks, self.n_checks) };
        // SAFETY: as above.
        all.get(number).and_then(|check| unsafe { check.as_ref() })
    }

    /// An upper bound on the number of values of a check's message.
    pub fn max_message_words(&self) -> usize {
        // SAFETY: tables hold valid addresses.
        let all = unsafe { slice(self.checks, self.n_checks) };
        let counts = all.iter().filter_map(|check| {
            // SAFETY: as above.
            let check = unsafe { check.as_ref() }?;
            // SAFETY: as above.
            let format = unsafe { slice(check.format, check.format_len) };
            Some(format.iter().map(|byte| usize::from(*byte == b'{')).sum())
        });
        counts.max().unwrap_or(0)
    }
}

impl Program {
    /// The code of the entry points.
    pub fn entries(&self) -> &[EntryFn] {
        // SAFETY: tables hold valid addresses.
        unsafe { slice(self.entries, self.n_entries) }
    }

    /// The entry points and their types.
    ///
    /// # Errors
    /// The description is damaged.
    pub fn interface(&self) -> Result<Interface, String> {
        // SAFETY: tables hold valid addresses.
        let interface = Interface::decode(unsafe { slice(self.interface, self.interface_len) })?;
        let matches = interface.entries.len() == self.entries().len();
        if matches { Ok(interface) } else { Err("an entry point has no code".to_owned()) }
    }

    /// The tuning parameters.
    pub fn tunables(&self) -> &[TunableDesc] {
        // SAFETY: tables hold valid addresses.
        unsafe { slice(self.tunables, self.n_tunables) }
    }

    /// The kernels, if the program is for a device.
    pub fn device(&self) -> Option<&DeviceDesc> {
        // SAFETY: tables hold valid addresses.
        unsafe { self.device.as_ref() }
    }
}
