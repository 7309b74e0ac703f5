//! Linking: object files and the embedded runtime, by the system's linker.
//!
//! Executables depend on the system's C and mathematical libraries only; parts of libgcc are linked
//! statically.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The runtime as a static library.
static RUNTIME: &[u8] = include_bytes!(env!("BINDRUNE_RUNTIME_LIB"));

/// Links objects into an executable at `output`. The error message says how to fix the problem.
pub fn executable(objects: &[Vec<u8>], output: &Path) -> Result<(), String> {
    let folder = work_folder()?;
    let mut object_files = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        let file = folder.path().join(format!("program{i}.o"));
        write(&file, object)?;
        object_files.push(file);
    }
    let library = folder.path().join("libruntime.a");
    let linked = folder.path().join("program");
    write(&library, RUNTIME)?;
    let linker = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let result = Command::new(&linker)
        .arg("-o")
        .arg(&linked)
        .args(&object_files)
        .arg(&library)
        .args(["-static-libgcc", "-Wl,--gc-sections", "-s", "-lpthread", "-ldl", "-lm"])
        .output();
    let name = linker.to_string_lossy();
    let run = result.map_err(|e| {
        format!(
            "cannot start the linker `{name}`: {e}; install a C compiler (for example the \
             package gcc), or name one in the environment variable CC"
        )
    })?;
    if !run.status.success() {
        let stderr = String::from_utf8_lossy(&run.stderr);
        return Err(format!("the linker `{name}` failed ({}):\n{}", run.status, stderr.trim_end()));
    }
    install(&linked, output)
}

/// Returns the path of a program's executable: the requested one, or that of the source without its
/// extension.
pub fn output(requested: Option<PathBuf>, program: &Path) -> Result<PathBuf, &'static str> {
    let output = requested.unwrap_or_else(|| program.with_extension(""));
    let file = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // Imports are not known yet, so no `.fut` file is overwritten.
    let is_source = output.extension().is_some_and(|it| it == "fut");
    if is_source || file(&output) == file(program) {
        return Err("the executable would overwrite the program; choose another name with -o");
    }
    Ok(output)
}

/// Moves an executable to `output`. An existing file is replaced atomically; devices and pipes are
/// written to.
pub fn install(executable: &Path, output: &Path) -> Result<(), String> {
    let cannot = |e| format!("cannot write {}: {e}", output.display());
    if std::fs::metadata(output).is_ok_and(|file| !file.is_file() && !file.is_dir()) {
        return std::fs::copy(executable, output).map(drop).map_err(cannot);
    }
    let new = temporary_beside(output).map_err(cannot)?;
    std::fs::copy(executable, new.path()).map_err(cannot)?;
    new.persist(output).map_err(|e| cannot(e.error))?;
    Ok(())
}

/// Creates a temporary file in the directory of `file`, which it can replace when complete.
pub fn temporary_beside(file: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
    tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
}

/// Creates a temporary directory.
pub fn work_folder() -> Result<tempfile::TempDir, String> {
    tempfile::tempdir().map_err(|e| format!("cannot create a temporary folder: {e}"))
}

pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::File::create(path)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(|e| format!("cannot write {}: {e}", path.display()))
}
