//! Compilation of a program's kernels for an OpenCL device.

use super::super::{Config, cache, checksum, signatures};
use super::api::{self, Api, Context, Kernel, Program};
use super::devices::ClDevice;
use crate::abi::DeviceDesc;
use std::ffi::CString;

/// The number of lines shown of a compiler's messages.
const SHOWN_LINES: usize = 12;

/// The platform name of PoCL.
const POCL: &str = "Portable Computing Language";

/// The compiler's options.
fn options(config: &Config, choice: &ClDevice, api: &Api) -> String {
    let mut options = "-cl-std=CL1.2".to_owned();
    for option in &config.build_options {
        options.push(' ');
        options += option;
    }
    let floats = choice.number(api, api::DEVICE_SINGLE_FP_CONFIG);
    if floats & api::FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0 {
        options += " -cl-fp32-correctly-rounded-divide-sqrt -D BR_ROUNDED";
    }
    options
}

/// The message about an extension that the device `name` lacks, if any; `needs` and `has` are
/// extensions separated by spaces.
fn missing(needs: &str, has: &str, name: &str) -> Option<String> {
    let has: Vec<&str> = has.split_whitespace().collect();
    let mut needs = needs.split_whitespace();
    let lacks = needs.find(|needed| !has.contains(needed))?;
    let what = match lacks {
        "cl_khr_fp64" => "64-bit floats (f64)",
        "cl_khr_int64_base_atomics" | "cl_khr_int64_extended_atomics" => "atomic updates of 64-bit integers",
        other => other,
    };
    Some(format!("the program needs {what}, which the device `{name}` does not support ({lacks})"))
}

/// A program's kernels for a device: given compiled ones, or compiled from source.
pub fn build(
    desc: &DeviceDesc,
    config: &Config,
    (choice, context): (&ClDevice, Context),
    api: &Api,
) -> Result<Program, String> {
    let has = choice.text(api, api::DEVICE_EXTENSIONS);
    if let Some(lacks) = missing(desc.needs.get(), &has, &choice.name) {
        return Err(lacks);
    }
    let options = options(config, choice, api);
    // Drivers may abort the process on truncated binaries, and do not check signatures. The
    // checksum is at the end, for tools that read the binary.
    let owner = || signatures::signatures(desc).join("\n").into_bytes();
    if let Some(file) = &config.compiled {
        let binary = checksum::verify_checksum(file, &owner()).ok_or(
            "the compiled kernels are damaged, or were not written by `--dump-opencl-binary` of this program",
        )?;
        return load(binary, choice, context, api, &options).ok_or_else(|| {
            let name = &choice.name;
            format!("the driver of the device `{name}` rejects these compiled kernels")
        });
    }
    let program = compiled(desc, config, (choice, context), api, &options)?;
    if config.compiled_into.is_some() {
        let binary = binary(program, api);
        let binary = binary.ok_or("the driver does not return its compiled kernels");
        let written = binary.map_err(str::to_owned);
        let written =
            written.and_then(|binary| config.write_compiled(&checksum::append_checksum(binary, &owner())));
        if let Err(why) = written {
            // SAFETY: it was created above, and is no longer used.
            unsafe { (api.release_program)(program) };
            return Err(why);
        }
    }
    Ok(program)
}

/// Compiles the source of a program's kernels, or takes them from the cache.
fn compiled(
    desc: &DeviceDesc,
    config: &Config,
    (choice, context): (&ClDevice, Context),
    api: &Api,
    options: &str,
) -> Result<Program, String> {
    let source = config.kernels(desc);
    let key = [
        &*choice.platform,
        &choice.name,
        &choice.text(api, api::DEVICE_VERSION),
        &choice.text(api, api::DRIVER_VERSION),
        options,
        source,
    ]
    .join("\n");
    // PoCL caches its compiled kernels itself, kernel by kernel at their first launch; reading the
    // binary of a whole program would compile each kernel once more.
    let file = match &config.cache_file {
        None if choice.platform == POCL => None,
        given => cache::file_of(&key, given.as_deref()),
    };
    let found = file.as_deref().and_then(|file| cache::find(file, &key));
    if let Some(binary) = found
        && let Some(program) = load(&binary, choice, context, api, options)
    {
        return Ok(program);
    }
    let mut status = 0;
    let (text, length) = (source.as_ptr().cast(), source.len());
    // SAFETY: one string of this length, which OpenCL copies.
    let program =
        unsafe { (api.create_program)(context, 1, &raw const text, &raw const length, &raw mut status) };
    api::checked(status)
        .map_err(|status| format!("OpenCL rejects the program's kernels: {}", api::describe(status)))?;
    if let Err(status) = compile(program, choice, api, options) {
        let log = log(program, choice, api);
        // SAFETY: it was created above, and is no longer used.
        unsafe { (api.release_program)(program) };
        let log = if log.is_empty() { String::new() } else { format!(":\n{log}") };
        return Err(format!(
            "the driver of the device `{}` cannot compile the program's kernels ({}){log}",
            choice.name,
            api::describe(status)
        ));
    }
    if let Some(file) = file
        && let Some(binary) = binary(program, api)
    {
        cache::keep(&file, &key, &binary);
    }
    Ok(program)
}

fn compile(program: Program, choice: &ClDevice, api: &Api, options: &str) -> Result<(), api::Status> {
    let options = CString::new(options).unwrap_or_default();
    // SAFETY: a program and a device of one context; no callback.
    api::checked(unsafe {
        (api.build_program)(
            program,
            1,
            &raw const choice.id,
            options.as_ptr(),
            std::ptr::null(),
            std::ptr::null_mut(),
        )
    })
}

/// The compiler's messages, shortened.
fn log(program: Program, choice: &ClDevice, api: &Api) -> String {
    let ask = |size, into, needed| {
        // SAFETY: a program and a device of one context; the buffer has `size` bytes.
        unsafe { (api.build_info)(program, choice.id, api::PROGRAM_BUILD_LOG, size, into, needed) }
    };
    let log = api::text(&Api::info(ask).unwrap_or_default());
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = lines.iter().take(SHOWN_LINES).copied();
    shown.collect::<Vec<_>>().join("\n")
}

/// The binary of a compiled program.
fn binary(program: Program, api: &Api) -> Option<Vec<u8>> {
    let sizes = Api::info(|size, into, needed| {
        // SAFETY: a program of this library; the buffer has `size` bytes.
        unsafe { (api.program_info)(program, api::PROGRAM_BINARY_SIZES, size, into, needed) }
    });
    let size = api::number(&sizes.ok()?);
    let mut binary = vec![0u8; usize::try_from(size).ok().filter(|size| *size > 0)?];
    let mut address = binary.as_mut_ptr();
    // SAFETY: one device, so one address, to as many bytes as the binary has.
    let status = unsafe {
        (api.program_info)(
            program,
            api::PROGRAM_BINARIES,
            size_of::<*mut u8>(),
            (&raw mut address).cast(),
            std::ptr::null_mut(),
        )
    };
    (status == api::SUCCESS).then_some(binary)
}

/// A program from a binary; `None` if the driver rejects it.
fn load(binary: &[u8], choice: &ClDevice, context: Context, api: &Api, options: &str) -> Option<Program> {
    let (mut status, mut taken) = (0, 0);
    let (address, length) = (binary.as_ptr(), binary.len());
    // SAFETY: one device and one binary of this length.
    let program = unsafe {
        (api.load_program)(
            context,
            1,
            &raw const choice.id,
            &raw const length,
            &raw const address,
            &raw mut taken,
            &raw mut status,
        )
    };
    if status != api::SUCCESS || program.is_null() {
        return None;
    }
    if taken == api::SUCCESS && compile(program, choice, api, options).is_ok() {
        return Some(program);
    }
    // SAFETY: it was created above, and is no longer used.
    unsafe { (api.release_program)(program) };
    None
}

/// Creates a kernel; fails if the device cannot run its blocks of `threads` threads.
pub fn kernel(
    program: Program,
    name: &str,
    threads: u64,
    (choice, api): (&ClDevice, &Api),
) -> Result<Kernel, String> {
    let c_name = CString::new(name).unwrap_or_default();
    let mut status = 0;
    // SAFETY: a compiled program, and a zero-terminated name.
    let kernel = unsafe { (api.create_kernel)(program, c_name.as_ptr(), &raw mut status) };
    api::checked(status)
        .map_err(|status| format!("cannot create the kernel `{name}`: {}", api::describe(status)))?;
    let info = |what| {
        let bytes = Api::info(|size, into, needed| {
            // SAFETY: a kernel of the device; the buffer has `size` bytes.
            unsafe { (api.kernel_info)(kernel, choice.id, what, size, into, needed) }
        });
        bytes.ok().map(|bytes| api::number(&bytes))
    };
    let most = info(api::KERNEL_WORK_GROUP_SIZE).filter(|most| *most > 0);
    let needed = info(api::KERNEL_LOCAL_MEM_SIZE).unwrap_or(0);
    let has = choice.number(api, api::DEVICE_LOCAL_MEM_SIZE);
    let refused = if most.is_some_and(|most| threads > most) {
        Some(format!(
            "the kernel `{name}` has blocks of {threads} threads; the device allows {}",
            most.unwrap_or(0)
        ))
    } else if needed > has {
        Some(format!(
            "the kernel `{name}` needs {needed} bytes of shared memory per block; the device has {has}"
        ))
    } else {
        None
    };
    match refused {
        None => Ok(kernel),
        Some(message) => {
            // SAFETY: it was created above, and is no longer used.
            unsafe { (api.release_kernel)(kernel) };
            Err(message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn missing_extensions_are_named() {
        let doubles = "cl_khr_fp64";
        assert_eq!(missing("", "", "small"), None);
        assert_eq!(missing(doubles, "cl_khr_icd cl_khr_fp64 other", "large"), None);
        assert_eq!(
            missing(doubles, "cl_khr_icd cl_khr_fp64x", "small").as_deref(),
            Some(
                "the program needs 64-bit floats (f64), which the device `small` does not support (cl_khr_fp64)"
            )
        );
        let atomics = missing("cl_khr_fp64 cl_khr_int64_base_atomics", doubles, "small");
        assert!(atomics.is_some_and(|text| text.contains("atomic updates of 64-bit integers")));
    }
}
