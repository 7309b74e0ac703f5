//! The CUDA and HIP compilers accept a program's kernels without a warning. Neither needs
//! a device: NVRTC is a Python package that `make setup-test` installs below `target`; the HIP
//! compiler is clang.

use crate::program::Program;
use driver::DeviceTarget;
use imp::Verified;
use libloading::Library;
use std::ffi::{CString, c_char, c_void};
use std::path::PathBuf;
use std::process::Command;
use target::device::Device;

/// The text of a program's kernels, if it has any.
fn kernels(program: &Program, target: DeviceTarget) -> Result<Option<String>, String> {
    let made = Verified::new(program.kernels_for(Device::default())?)?;
    let made = kernelc::kernels(&made, target).map_err(|e| e.to_string())?;
    Ok(made.map(|kernels| kernels.source.to_string()))
}

/// Compiles the program's kernels, if there are any; the compiler returns its diagnostics as the
/// error.
fn compile_kernels(
    program: &Program,
    target: DeviceTarget,
    compile: impl Fn(&str) -> Result<(), String>,
) -> Vec<String> {
    if !program.is_accepted() {
        return Vec::new();
    }
    let result = match kernels(program, target) {
        Ok(Some(source)) => compile(&source),
        Ok(None) => Ok(()),
        Err(message) => Err(message),
    };
    result.err().into_iter().collect()
}

/// NVRTC, the CUDA compiler as a library.
struct Nvrtc(Library);

type Handle = *mut c_void;

impl Nvrtc {
    fn load() -> Self {
        let target = option_env!("CARGO_TARGET_TMPDIR").map_or_else(PathBuf::new, PathBuf::from);
        let path = target.with_file_name("nvrtc").join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
        // SAFETY: loading the library has no effects.
        let library = unsafe { Library::new(&path) };
        Self(library.unwrap_or_else(|e| panic!("{}: {e}; `make setup-test` installs it", path.display())))
    }

    /// Compiles a text; any output of the compiler is the error.
    fn compile(&self, source: &str, options: &[&str]) -> Result<(), String> {
        let text = CString::new(source).expect("no zeros");
        let options: Vec<CString> =
            options.iter().map(|option| CString::new(*option).expect("no zeros")).collect();
        let options: Vec<*const c_char> = options.iter().map(|it| it.as_ptr()).collect();
        // SAFETY: the symbols have these types in the library's interface, and the arguments
        // satisfy it.
        unsafe {
            let create = self.0.get::<unsafe extern "C" fn(
                *mut Handle,
                *const c_char,
                *const c_char,
                i32,
                *const *const c_char,
                *const *const c_char,
            ) -> i32>(b"nvrtcCreateProgram\0");
            let compile = self.0.get::<unsafe extern "C" fn(Handle, i32, *const *const c_char) -> i32>(
                b"nvrtcCompileProgram\0",
            );
            let size =
                self.0.get::<unsafe extern "C" fn(Handle, *mut usize) -> i32>(b"nvrtcGetProgramLogSize\0");
            let log = self.0.get::<unsafe extern "C" fn(Handle, *mut c_char) -> i32>(b"nvrtcGetProgramLog\0");
            let destroy = self.0.get::<unsafe extern "C" fn(*mut Handle) -> i32>(b"nvrtcDestroyProgram\0");
            let mut program = std::ptr::null_mut();
            let none = std::ptr::null();
            let (name, count) = (c"kernels".as_ptr(), options.len() as i32);
            let made = create.expect("it is there")(&raw mut program, text.as_ptr(), name, 0, none, none);
            assert_eq!(made, 0, "a program is made");
            let status = compile.expect("it is there")(program, count, options.as_ptr());
            let mut bytes = 0;
            size.expect("it is there")(program, &raw mut bytes);
            let mut said = vec![0u8; bytes];
            log.expect("it is there")(program, said.as_mut_ptr().cast());
            destroy.expect("it is there")(&raw mut program);
            let said = String::from_utf8_lossy(&said);
            // Ignores the deprecation warning for old architectures.
            let old = "nvrtc: warning: Architectures prior to";
            let lines = said.trim_end_matches('\0').lines();
            let lines: Vec<&str> = lines.filter(|line| !line.starts_with(old)).collect();
            let said = lines.join("\n");
            let said = said.trim();
            if status == 0 && said.is_empty() { Ok(()) } else { Err(format!("error {status}: {said}")) }
        }
    }
}

/// NVRTC compiles the kernels for an old and a new architecture without a warning.
pub fn nvrtc_accepts_kernels(program: &Program) -> Vec<String> {
    compile_kernels(program, DeviceTarget::Cuda, |source| {
        let nvrtc = Nvrtc::load();
        // An old and a new architecture; the driver makes machine code of the output. Diagnostics
        // come before optimisation, so optimising for one of them is enough.
        for (arch, effort) in [("compute_70", "max"), ("compute_90", "0")] {
            let arch = format!("--gpu-architecture={arch}");
            let effort = format!("--Ofast-compile={effort}");
            let options = [
                "--std=c++17",
                "--fmad=false",
                "--ftz=false",
                "--prec-div=true",
                "--prec-sqrt=true",
                &effort,
                &arch,
            ];
            nvrtc.compile(source, &options)?;
        }
        Ok(())
    })
}

/// clang compiles the kernels for HIP without a warning.
pub fn clang_accepts_kernels(program: &Program) -> Vec<String> {
    compile_kernels(program, DeviceTarget::Hip, |source| {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = folder.path().join("kernels.hip");
        std::fs::write(&path, source).map_err(|e| e.to_string())?;
        let made = Command::new("clang-19")
            .args(["-x", "hip", "--cuda-device-only", "--offload-arch=gfx90a"])
            .args(["-nogpuinc", "-nogpulib", "-std=c++17", "-ffp-contract=off"])
            .args(["-Wall", "-Wno-unused", "-S", "-O1", "-o", "kernels.s"])
            .arg(&path)
            .current_dir(folder.path())
            .output()
            .map_err(|e| format!("clang-19: {e}; `make setup-test` installs it"))?;
        let said = String::from_utf8_lossy(&made.stderr);
        if made.status.success() && said.trim().is_empty() {
            Ok(())
        } else {
            Err(said.lines().take(12).collect::<Vec<_>>().join("\n"))
        }
    })
}
