//! Links LLVM 19: the shared library, which links quickly, or, with the feature `static-llvm`,
//! statically the LLVM components that this crate uses.
//!
//! `llvm-config` is searched for below `LLVM_SYS_191_PREFIX`, then in the search path as
//! `llvm-config-19`.

use std::path::PathBuf;
use std::process::Command;

const PREFIX: &str = "LLVM_SYS_191_PREFIX";

fn main() {
    println!("cargo:rerun-if-env-changed={PREFIX}");
    println!("cargo:rerun-if-changed=build.rs");
    let config = std::env::var_os(PREFIX).map_or_else(
        || PathBuf::from("llvm-config-19"),
        |prefix| PathBuf::from(prefix).join("bin/llvm-config"),
    );
    let ask = |args: &[&str]| -> String {
        let shown = config.display();
        match Command::new(&config).args(args).output() {
            Ok(out) if out.status.success() => String::from_utf8_lossy(&out.stdout).into_owned(),
            Ok(out) => panic!("{shown} {args:?}: {}", String::from_utf8_lossy(&out.stderr)),
            Err(error) => panic!("{shown}: {error}; install LLVM 19 or set {PREFIX}"),
        }
    };
    println!("cargo:rustc-link-search=native={}", ask(&["--libdir"]).trim());
    let names = |text: String| -> Vec<String> {
        text.split_whitespace().map(|word| word.trim_start_matches("-l").to_owned()).collect()
    };
    if std::env::var_os("CARGO_FEATURE_STATIC_LLVM").is_none() {
        for lib in names(ask(&["--link-shared", "--libs"])) {
            println!("cargo:rustc-link-lib=dylib={lib}");
        }
        return;
    }
    for lib in names(ask(&["--link-static", "--libs", "x86", "orcjit", "passes"])) {
        println!("cargo:rustc-link-lib=static:-bundle={lib}");
    }
    // Dependencies of LLVMSupport: compression of sections and the C++ library. Its uses of z3 and
    // libxml2 are in archive members that nothing here refers to. Archives found by the C compiler
    // are preferred, so that the binary runs without these shared libraries.
    for lib in ["z", "zstd", "stdc++"] {
        match archive(lib) {
            Some(path) => {
                if let Some(folder) = path.parent() {
                    println!("cargo:rustc-link-search=native={}", folder.display());
                }
                println!("cargo:rustc-link-lib=static:-bundle={lib}");
            }
            None => println!("cargo:rustc-link-lib=dylib={lib}"),
        }
    }
}

/// The path of a library's archive as the C compiler finds it.
fn archive(lib: &str) -> Option<PathBuf> {
    let ask = format!("-print-file-name=lib{lib}.a");
    let out = Command::new("cc").arg(ask).output().ok()?;
    let path = PathBuf::from(String::from_utf8_lossy(&out.stdout).trim());
    path.is_absolute().then_some(path)
}
