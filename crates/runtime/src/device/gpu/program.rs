//! Compilation of a program's kernels for an NVIDIA or AMD GPU.

use super::super::{Config, cache};
use super::api::{self, Compiler, Program, Status, Vendor};
use std::ffi::{CString, c_char};

/// The number of lines shown of a compiler's messages.
const SHOWN_LINES: usize = 12;

/// The target of the compilation.
pub struct CompileTarget<'a> {
    pub vendor: Vendor,
    /// The device's name.
    pub name: &'a str,
    /// CUDA's compute capability, times ten: 90 for 9.0.
    pub capability: i32,
    /// The driver's version.
    pub version: i32,
}

/// The compiler's options: no contraction, and the language's rounding; code for the device, or
/// portable code for all similar ones.
fn options(target: &CompileTarget<'_>, config: &Config, portable: bool) -> Vec<String> {
    let fixed: &[&str] = match target.vendor {
        Vendor::Cuda => {
            &["--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"]
        }
        Vendor::Hip => &[
            "-std=c++17",
            "-ffp-contract=off",
            "-fhip-fp32-correctly-rounded-divide-sqrt",
            "-fno-gpu-flush-denormals-to-zero",
        ],
    };
    let mut options: Vec<String> = fixed.iter().map(|option| (*option).to_owned()).collect();
    if target.vendor == Vendor::Cuda {
        // PTX is for all devices of an architecture and later ones.
        let kind = if portable { "compute" } else { "sm" };
        options.push(format!("--gpu-architecture={kind}_{}", target.capability));
    }
    options.extend(config.build_options.iter().cloned());
    options
}

/// The code of a program's kernels for a device: given compiled kernels, cached ones, or the source
/// compiled now.
pub fn code(source: &str, target: &CompileTarget<'_>, config: &Config) -> Result<Vec<u8>, String> {
    if let Some(code) = &config.compiled {
        // The driver requires zero-terminated text.
        return Ok([code.as_slice(), &[0]].concat());
    }
    let portable = config.compiled_into.is_some();
    let options = options(target, config, portable);
    if portable {
        let code = compile(source, target, &options, true)?;
        config.write_compiled(code.strip_suffix(&[0]).unwrap_or(&code))?;
        return Ok(code);
    }
    let key = format!(
        "{} {} {}\n{}\n{source}",
        target.vendor.name(),
        target.name,
        target.version,
        options.join(" ")
    );
    let file = cache::file_of(&key, config.cache_file.as_deref());
    if let Some(code) = file.as_deref().and_then(|file| cache::find(file, &key)) {
        return Ok(code);
    }
    let code = compile(source, target, &options, false)?;
    if let Some(file) = file {
        cache::keep(&file, &key, &code);
    }
    Ok(code)
}

/// Compiles kernels to machine code, or, if `portable`, to the driver's intermediate code.
fn compile(
    source: &str,
    target: &CompileTarget<'_>,
    options: &[String],
    portable: bool,
) -> Result<Vec<u8>, String> {
    let compiler = Compiler::load(target.vendor)?;
    let text = CString::new(source).map_err(|_| "the kernels' source contains a zero byte")?;
    let options: Result<Vec<CString>, _> = options.iter().map(|it| CString::new(&**it)).collect();
    let options = options.map_err(|_| "a compiler option contains a zero byte")?;
    let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let mut program: Program = std::ptr::null_mut();
    // SAFETY: zero-terminated strings, no headers.
    let status = unsafe {
        (compiler.create)(
            &raw mut program,
            text.as_ptr(),
            c"kernels".as_ptr(),
            0,
            std::ptr::null(),
            std::ptr::null(),
        )
    };
    let vendor = target.vendor.name();
    let failed = |what: &str, status| {
        let why = compiler.describe(status);
        format!("the {vendor} compiler failed: {what}: {why}")
    };
    if status != api::SUCCESS {
        return Err(failed("cannot create a program", status));
    }
    // SAFETY: a program of this compiler, and an array of its options.
    let status = unsafe { (compiler.compile)(program, options.len() as i32, options.as_ptr()) };
    let code = if status == api::SUCCESS {
        let code = if portable {
            bytes(program, compiler.text_size, compiler.text)
        } else {
            bytes(program, compiler.code_size, compiler.code)
        };
        code.map_err(|status| failed("cannot read the code", status))
    } else {
        let log = bytes(program, compiler.log_size, compiler.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let log = log.trim_end_matches('\0').lines().take(SHOWN_LINES);
        let (name, why) = (target.name, compiler.describe(status));
        Err(format!(
            "the {vendor} compiler cannot compile the program's kernels for `{name}` \
             ({why}):\n{}",
            log.collect::<Vec<_>>().join("\n")
        ))
    };
    // SAFETY: it was created above, and is no longer used.
    unsafe { (compiler.destroy)(&raw mut program) };
    code
}

/// Reads data of a program, whose size is queried first.
fn bytes(
    program: Program,
    size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    fill: unsafe extern "C" fn(Program, *mut c_char) -> Status,
) -> Result<Vec<u8>, Status> {
    let mut count = 0;
    // SAFETY: a program of the compiler; the pointer is to a number.
    match unsafe { size(program, &raw mut count) } {
        api::SUCCESS => {}
        status => return Err(status),
    }
    let mut bytes = vec![0u8; count];
    // SAFETY: the buffer has this size.
    match unsafe { fill(program, bytes.as_mut_ptr().cast()) } {
        api::SUCCESS => Ok(bytes),
        status => Err(status),
    }
}
