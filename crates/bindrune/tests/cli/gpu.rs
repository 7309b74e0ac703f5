//! Programs for devices of NVIDIA's and AMD's from the command line, with libraries that do
//! as if there were such devices, on which kernels do nothing: how the driver is called, and
//! what is said where something is missing or fails.

use crate::process::{Finished, Folder, bindrune, finish};
use std::path::Path;
use std::process::{Command, Stdio};

const PROGRAM: &str =
    "def main [n] (xs: [n]i64) : i64 = i64.sum (map (\\x -> assert (x >= 0) x) xs)\n";

/// A program for a vendor's devices, and libraries beside it.
struct Built {
    folder: Folder,
    path: String,
}

impl Built {
    fn new(vendor: &str) -> Self {
        let folder = Folder::new();
        let program = folder.file("sample.fut", PROGRAM);
        let path = folder.path("sample");
        bindrune(&[vendor, &program, "-o", &path], "").quiet();
        Self { folder, path }
    }

    /// The same with libraries of the vendor's.
    fn with_libraries(vendor: &str) -> Self {
        let built = Self::new(vendor);
        let names = match vendor {
            "cuda" => ["libcuda.so.1", "libnvrtc.so.12"],
            _ => ["libamdhip64.so.6", "libhiprtc.so.6"],
        };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/gpu/fake.c");
        for name in names {
            let made = Command::new("cc")
                .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
                .arg(built.folder.path(name))
                .args((vendor == "hip").then_some("-DHIP"))
                .arg(&source)
                .status();
            assert!(made.expect("a C compiler").success(), "{name} is made");
        }
        built
    }

    #[track_caller]
    fn run(&self, args: &[&str], fails: &str) -> Finished {
        let folder = Path::new(&self.path).parent().expect("it is in a folder");
        let mut command = Command::new(&self.path);
        command
            .args(args)
            .env("LD_LIBRARY_PATH", folder)
            .env("XDG_CACHE_HOME", folder.join("cache"))
            .env("LOG", folder.join("log"))
            .env("FAKE", fails)
            .stdout(Stdio::piped());
        finish(&mut command, b"[1, 2, 3]")
    }

    fn log(&self) -> String {
        let log = self.folder.path("log");
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let _ = std::fs::remove_file(log);
        text
    }
}

#[test]
fn drivers_are_called_as_they_want() {
    for (vendor, option) in [
        ("cuda", "option --gpu-architecture=sm_90\n"),
        ("hip", "option -ffp-contract=off\n"),
    ] {
        let built = Built::with_libraries(vendor);
        let run = built.run(&["--build-option=--own"], "");
        assert_eq!((run.code, run.text()), (0, "0i64\n"), "{}", run.stderr);
        let log = built.log();
        for part in [
            "device 0\n",
            "program of kernels\n",
            option,
            "option --own\n",
            " by 256\n",
            "0 blocks are left on device 0\n",
        ] {
            assert!(log.contains(part), "{vendor}: {part}: {log}");
        }
        // What was compiled is kept.
        built.run(&["--build-option=--own"], "").quiet();
        assert!(!built.log().contains("program of kernels"));
        built.run(&["-d", "200"], "").quiet();
        assert!(built.log().contains("device 1\n"));
        let list = built.run(&["--list-devices"], "").quiet();
        assert!(list.text().starts_with("#0 Fake 100 ("), "{}", list.text());
    }
}

#[test]
fn what_fails_is_said_in_one_message() {
    let built = Built::with_libraries("cuda");
    for (fails, message) in [
        ("init", "its driver cannot be used: CUDA_ERROR_NO_DEVICE"),
        ("count", "CUDA finds no device on this machine"),
        (
            "context",
            "the device `Fake 100` cannot be used: no context is made",
        ),
        (
            "compile",
            "the compiler of CUDA does not compile the program's kernels for `Fake 100` \
             (COMPILATION):\nkernels(7): error: unlikely",
        ),
        ("memory", "memory"),
        ("launch", "is not launched"),
        ("lost", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    ] {
        let run = built.run(&[], fails);
        assert_eq!(run.code, 1, "{fails}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{fails}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{fails}: {}", run.stderr);
    }
    let run = built.run(&["-d", "Quick"], "");
    assert_eq!(run.code, 1);
    let message = "there is no device `Quick`; there are: `Fake 100`, `Fake 200`";
    assert!(run.stderr.contains(message), "{}", run.stderr);
}

#[test]
fn a_machine_without_a_driver_says_so() {
    for (vendor, library) in [("cuda", "libcuda.so.1"), ("hip", "libamdhip64.so.7")] {
        let run = Built::new(vendor).run(&[], "");
        assert_eq!(run.code, 1);
        let message = format!("the driver's library `{library}` cannot be loaded");
        assert!(run.stderr.contains(&message), "{}", run.stderr);
    }
}
