//! A program's kernels, compiled for a device of NVIDIA's or AMD's.

use super::super::{Config, cache};
use super::api::{self, Compiler, Program, Status, Vendor};
use std::ffi::{CString, c_char};

/// Lines of a compiler's messages that are shown.
const SHOWN_LINES: usize = 12;

/// What kernels are compiled for.
pub struct For<'a> {
    pub vendor: Vendor,
    /// The device's name.
    pub name: &'a str,
    /// CUDA's number of what the device can do: 90 for 9.0.
    pub capability: i32,
    /// The driver's version.
    pub version: i32,
}

/// What the compiler is asked for: no contraction, and rounding as the language has it; code for
/// the device, or for all that are like it.
fn options(target: &For<'_>, config: &Config, portable: bool) -> Vec<String> {
    let own: &[&str] = match target.vendor {
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
    let mut options: Vec<String> = own.iter().map(|option| (*option).to_owned()).collect();
    if target.vendor == Vendor::Cuda {
        // PTX is for all devices of an architecture and later ones.
        let kind = if portable { "compute" } else { "sm" };
        options.push(format!("--gpu-architecture={kind}_{}", target.capability));
    }
    options.extend(config.build_options.iter().cloned());
    options
}

/// The code of a program's kernels for a device: compiled ones that are given, or made of their
/// text now or before.
pub fn code(source: &str, target: &For<'_>, config: &Config) -> Result<Vec<u8>, String> {
    if let Some(code) = &config.compiled {
        // The driver takes text that ends in a zero.
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

/// Compiles kernels, to machine code or to what the driver makes that of.
fn compile(source: &str, target: &For<'_>, options: &[String], portable: bool) -> Result<Vec<u8>, String> {
    let compiler = Compiler::load(target.vendor)?;
    let text = CString::new(source).map_err(|_| "the kernels have a zero in their text")?;
    let options: Result<Vec<CString>, _> = options.iter().map(|it| CString::new(&**it)).collect();
    let options = options.map_err(|_| "an option for the compiler has a zero in it")?;
    let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let mut program: Program = std::ptr::null_mut();
    // SAFETY: texts that end in zeros, no headers.
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
        format!("the compiler of {vendor} fails: {what}: {why}")
    };
    if status != api::SUCCESS {
        return Err(failed("it takes no program", status));
    }
    // SAFETY: a program of this compiler, and so many options.
    let status = unsafe { (compiler.compile)(program, options.len() as i32, options.as_ptr()) };
    let code = if status == api::SUCCESS {
        let code = if portable {
            bytes(program, compiler.text_size, compiler.text)
        } else {
            bytes(program, compiler.code_size, compiler.code)
        };
        code.map_err(|status| failed("it gives no code", status))
    } else {
        let log = bytes(program, compiler.log_size, compiler.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let log = log.trim_end_matches('\0').lines().take(SHOWN_LINES);
        let (name, why) = (target.name, compiler.describe(status));
        Err(format!(
            "the compiler of {vendor} does not compile the program's kernels for `{name}` \
             ({why}):\n{}",
            log.collect::<Vec<_>>().join("\n")
        ))
    };
    // SAFETY: it was made above, and is used no more.
    unsafe { (compiler.destroy)(&raw mut program) };
    code
}

/// Bytes of a program, whose number is asked for first.
fn bytes(
    program: Program,
    size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    fill: unsafe extern "C" fn(Program, *mut c_char) -> Status,
) -> Result<Vec<u8>, Status> {
    let mut count = 0;
    // SAFETY: a program of the compiler; there is room for a number.
    match unsafe { size(program, &raw mut count) } {
        api::SUCCESS => {}
        status => return Err(status),
    }
    let mut bytes = vec![0u8; count];
    // SAFETY: there is room for so many.
    match unsafe { fill(program, bytes.as_mut_ptr().cast()) } {
        api::SUCCESS => Ok(bytes),
        status => Err(status),
    }
}
