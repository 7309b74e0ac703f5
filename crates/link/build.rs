//! Builds the runtime as a static library, which this crate embeds.
//!
//! `BINDRUNE_RUNTIME_LIB` names a prebuilt library to use instead.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed=BINDRUNE_RUNTIME_LIB");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..");
    for used in ["runtime", "value", "prim"] {
        println!("cargo:rerun-if-changed={}", root.join("crates").join(used).display());
    }
    let library = match env::var_os("BINDRUNE_RUNTIME_LIB") {
        Some(path) => PathBuf::from(path),
        None => build(&root)?,
    };
    println!("cargo:rustc-env=BINDRUNE_RUNTIME_LIB={}", library.display());
    Ok(())
}

/// Builds the library in its own target directory, because cargo holds a lock on the outer one.
fn build(root: &std::path::Path) -> Result<PathBuf, Box<dyn Error>> {
    let target = PathBuf::from(env::var("OUT_DIR")?).join("runtime");
    // Tests of the compiler do not need the fastest runtime.
    let (level, lto, units) = match env::var("PROFILE")?.as_str() {
        "release" => ("3", "fat", "1"),
        _ => ("1", "off", "16"),
    };
    let status = Command::new(env::var("CARGO")?)
        .args(["build", "--package", "runtime", "--release", "--lib", "--locked", "--target-dir"])
        .arg(&target)
        .current_dir(root)
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level)
        .env("CARGO_PROFILE_RELEASE_LTO", lto)
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", units)
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .status()?;
    if !status.success() {
        return Err("the runtime library does not build".into());
    }
    Ok(target.join("release/libruntime.a"))
}
