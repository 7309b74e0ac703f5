//! Executables from object files, by the system's linker, or from portable C ([`c`]).
//!
//! Executables depend on the system's C and mathematical libraries only: the runtime is embedded
//! here and linked statically, and so are parts of libgcc. An existing file is replaced when the
//! new one is complete.

pub mod c;

use std::path::Path;
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
    run_tool("linker", "a C compiler", |command| {
        command.arg("-o").arg(&linked).args(&object_files).arg(&library);
        command.args(["-static-libgcc", "-Wl,--gc-sections", "-s", "-lpthread", "-ldl", "-lm"]);
    })?;
    install(&linked, output)
}

/// Runs the system's C compiler, or that named by `CC`, in the role of `tool`.
fn run_tool(tool: &str, missing: &str, arguments: impl FnOnce(&mut Command)) -> Result<(), String> {
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let name = compiler.to_string_lossy();
    let mut command = Command::new(&compiler);
    arguments(&mut command);
    let run = command.output().map_err(|e| {
        format!(
            "cannot start the {tool} `{name}`: {e}; install {missing} (for example the package \
             gcc), or name one in the environment variable CC"
        )
    })?;
    if run.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&run.stderr);
    Err(format!("the {tool} `{name}` failed ({}):\n{}", run.status, stderr.trim_end()))
}

/// Moves an executable to `output`. An existing file is replaced atomically; devices and pipes are
/// written to.
fn install(executable: &Path, output: &Path) -> Result<(), String> {
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

/// Creates a temporary directory, removed on drop.
pub fn work_folder() -> Result<tempfile::TempDir, String> {
    tempfile::tempdir().map_err(|e| format!("cannot create a temporary folder: {e}"))
}

/// Writes a file.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))
}
