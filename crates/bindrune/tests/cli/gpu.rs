//! Programs for NVIDIA and AMD GPUs from the command line, with fake driver libraries whose kernels
//! do nothing: the calls of the driver, and the messages if something is missing or fails.

use crate::process::{Finished, Folder, bindrune, finish};
use std::path::Path;
use std::process::{Command, Stdio};

const PROGRAM: &str = "def main [n] (xs: [n]i64) : i64 = i64.sum (map (\\x -> assert (x >= 0) x) xs)\n";

/// A program built for a vendor's devices, with libraries beside it.
struct Built {
    folder: Folder,
    path: String,
}

impl Built {
    fn new(vendor: &str, program: &str) -> Self {
        let folder = Folder::new();
        let program = folder.file("sample.fut", program);
        let path = folder.path("sample");
        bindrune(&[vendor, &program, "-o", &path], "").quiet();
        Self { folder, path }
    }

    /// Builds the sample with the vendor's fake libraries.
    fn with_libraries(vendor: &str) -> Self {
        Self::with_libraries_as(vendor, &[], PROGRAM)
    }

    /// Builds another program, with further C compiler options for the fake libraries.
    fn with_libraries_as(vendor: &str, options: &[&str], program: &str) -> Self {
        let built = Self::new(vendor, program);
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
                .args(options)
                .arg(&source)
                .status();
            assert!(made.expect("a C compiler").success(), "{name} is made");
        }
        built
    }

    #[track_caller]
    fn run(&self, args: &[&str], fails: &str) -> Finished {
        let folder = Path::new(&self.path).parent().expect("the executable is in a folder");
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
fn driver_calls_follow_the_vendors_interface() {
    for (vendor, option) in
        [("cuda", "option --gpu-architecture=sm_90\n"), ("hip", "option -ffp-contract=off\n")]
    {
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
        // Compiled kernels are cached.
        built.run(&["--build-option=--own"], "").quiet();
        assert!(!built.log().contains("program of kernels"));
        built.run(&["-d", "200"], "").quiet();
        assert!(built.log().contains("device 1\n"));
        let list = built.run(&["--list-devices"], "").quiet();
        assert!(list.text().starts_with("#0 Fake 100 ("), "{}", list.text());
        let file = built.folder.path("kernels");
        built.run(&[&format!("--dump-{vendor}"), &file], "").quiet();
        let load = format!("--load-{vendor}");
        built.run(&[&load, &file, "--build-option=--own"], "").quiet();
        // The loaded kernels are those in the cache.
        assert!(!built.log().contains("program of kernels"));
    }
}

#[test]
fn compiled_kernels_are_written_and_read() {
    let built = Built::with_libraries("cuda");
    let file = built.folder.path("kernels.ptx");
    let run = built.run(&["--dump-ptx", &file], "").quiet();
    assert_eq!(run.text(), "");
    assert_eq!(std::fs::read(&file).expect("the file was written"), b"text");
    let log = built.log();
    assert!(log.contains("option --gpu-architecture=compute_90\n"), "{log}");
    assert!(!log.contains(" by 256\n"), "{log}");
    let run = built.run(&["--load-ptx", &file], "").quiet();
    assert_eq!(run.text(), "0i64\n");
    let log = built.log();
    assert!(log.contains("module of text\n"), "{log}");
    assert!(!log.contains("program of kernels"), "{log}");
    let fewer = ".visible .entry k0_main_segred(\n\t.param .u64 k0_main_segred_param_0\n)\n";
    built.folder.file("kernels.ptx", fewer);
    built.run(&["--load-ptx", &file], "").fails(&[
        "kernels.ptx has no kernel `void k0_main_segred(BR_GLOBAL br_ctx *ctx, ",
        "which the program launches",
    ]);
    built.folder.file("kernels.ptx", "these are none");
    built.run(&["--load-ptx", &file], "").fails(&["cannot load the program's kernels"]);
}

/// One iteration per thread block, whose threads share an array.
const SHARED: &str = "def main [n] (ks: [n]i64) : [n]i64 =
  #[incremental_flattening(only_intra)]
  map (\\k -> let xs = scan (+) 0 (map (+ k) ks)
             let s = i64.sum xs
             in i64.sum (map (* s) xs)) ks
";

#[test]
fn shared_memory_is_requested_at_launch() {
    for vendor in ["cuda", "hip"] {
        let built = Built::with_libraries_as(vendor, &[], SHARED);
        built.run(&[], "").quiet();
        let log = built.log();
        assert!(log.contains("launch 3 by 256\n24 bytes are shared\n"), "{vendor}: {log}");
        // A limit above that of any device is set beforehand.
        let sets_limit = log.contains("63488 bytes may be shared\n");
        assert_eq!(sets_limit, vendor == "cuda", "{vendor}: {log}");
        // An array that does not fit in shared memory is in global memory.
        built.run(&["--param=main.shared_memory_0=16"], "").quiet();
        assert!(!built.log().contains("bytes are shared"), "{vendor}");
    }
}

/// A scan per row: sequential rows, rows shared by the threads of a block, or full flattening.
const ROWS: &str = "def main [n] (ks: [n]i64) : [n]i64 =
  map (\\k -> let xs = scan (+) 0 (map (+ k) ks) in i64.sum (map (* xs[0]) xs)) ks
";

#[test]
fn default_thresholds_depend_on_device_capacity() {
    // A quarter of 5 multiprocessors with 300 threads each. HIP keeps its default, because its
    // attribute numbers change between versions.
    for (vendor, busy) in [("cuda", 375), ("hip", 1 << 15)] {
        let built = Built::with_libraries_as(vendor, &[], ROWS);
        let values = |args: &[&str]| {
            let done = built.run(&[args, &["--print-values"]].concat(), "");
            done.quiet().text().to_owned()
        };
        let line = |value: i64| format!("main.suff_outer_par_0={value}\n");
        let found = values(&[]);
        assert!(found.contains(&line(busy)), "{vendor}: {found}");
        // The threshold for threads of blocks does not depend on the device.
        assert!(found.contains("main.suff_intra_par_0=16384\n"), "{vendor}: {found}");
        let found = values(&["--param=main.suff_outer_par_0=3"]);
        assert!(found.contains(&line(3)), "{vendor}: {found}");
        let logged = built.run(&["--log-versions"], "").stderr;
        let wanted = format!("the parameter is {busy}.");
        assert!(logged.contains(&wanted), "{vendor}: {logged}");
    }
}

#[test]
fn launches_and_copies_are_timed_on_request() {
    for vendor in ["cuda", "hip"] {
        let built = Built::with_libraries(vendor);
        built.run(&[], "").quiet();
        assert!(!built.log().contains("event\n"), "{vendor}: events without -P");
        let run = built.run(&["-P", "-r", "2"], "");
        assert_eq!(run.code, 0, "{}", run.stderr);
        // The fake library reports half a millisecond for each operation.
        for part in ["        2         1000.0        500.0 ", " 0  main.segred#", "(", "sample.fut:1:"] {
            assert!(run.stderr.contains(part), "{vendor}: {part}: {}", run.stderr);
        }
        assert!(!run.stderr.contains(" blocks of "), "{}", run.stderr);
        let log = built.log();
        assert!(log.contains("event\n"), "{vendor}: {log}");
        assert!(log.contains("0 events are left\n"), "{vendor}: {log}");
        // Without a warm-up run, copies before the call are counted too.
        let run = built.run(&["-P"], "");
        assert!(run.stderr.contains(" 24  copies to the device\n"), "{}", run.stderr);
        let run = built.run(&["-D"], "");
        for part in [
            "copy to the device: 24 bytes, 500.0 us\n",
            " blocks of 256 threads, 500.0 us\n",
            "copy to the host: 8 bytes, 500.0 us\n",
        ] {
            assert!(run.stderr.contains(part), "{vendor}: {part}: {}", run.stderr);
        }
    }
}

#[test]
fn driver_failures_are_reported_in_one_message() {
    let built = Built::with_libraries("cuda");
    for (fails, message) in [
        ("init", "cannot initialise the driver: CUDA_ERROR_NO_DEVICE"),
        ("count", "CUDA found no device on this machine"),
        ("context", "cannot use the device `Fake 100`: cannot create a context"),
        (
            "compile",
            "the CUDA compiler cannot compile the program's kernels for `Fake 100` \
             (COMPILATION):\nkernels(7): error: unlikely",
        ),
        ("module", "cannot load the program's kernels: "),
        (
            "memory",
            "out of memory on the device: cannot allocate 16 bytes with 0 bytes in use; \
             the device has no more.",
        ),
        ("block", "` has blocks of 256 threads; the device allows 128"),
        ("launch", "cannot launch the kernel `"),
        ("lost", "the device `Fake 100` failed: cannot copy from the device: "),
        ("end", "cannot complete the pending commands: "),
    ] {
        // Results that are not read back are waited for with `-D`, which names the failing kernel.
        let debug = (fails == "end").then_some("-D");
        let run = built.run(debug.as_slice(), fails);
        assert_eq!((run.code, run.text()), (1, ""), "{fails}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{fails}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{fails}: {}", run.stderr);
    }
    let run = built.run(&["-d", "Quick"], "");
    assert_eq!(run.code, 1);
    let message = "there is no device `Quick`; there are: `Fake 100`, `Fake 200`";
    assert!(run.stderr.contains(message), "{}", run.stderr);
}

#[test]
fn outdated_driver_is_reported() {
    for (vendor, symbol) in [("cuda", "cuEventCreate"), ("hip", "hipEventCreateWithFlags")] {
        let run = Built::with_libraries_as(vendor, &["-DOLD"], PROGRAM).run(&[], "");
        assert_eq!((run.code, run.stderr.lines().count()), (1, 1), "{}", run.stderr);
        let message = format!("the driver's library is too old: it has no `{symbol}`; install");
        assert!(run.stderr.contains(&message), "{}", run.stderr);
    }
}

#[test]
fn kernel_cache_survives_corruption_and_full_disks() {
    let built = Built::with_libraries("cuda");
    let cache = built.folder.path("cache/bindrune");
    let kept = || -> Vec<_> {
        let files = std::fs::read_dir(&cache).expect("the cache folder exists");
        files.map(|file| file.expect("the folder can be read").path()).collect()
    };
    // A full disk: files may not grow beyond 1 KiB, and a write error results.
    let line = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
    let folder = Path::new(&built.path).parent().expect("the executable is in a folder");
    let mut full = Command::new("bash");
    full.args(["-c", line, "bash", &built.path])
        .env("LD_LIBRARY_PATH", folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .stdout(Stdio::piped());
    let run = finish(&mut full, b"[1, 2, 3]").quiet();
    assert_eq!((run.text(), kept().len()), ("0i64\n", 0));
    built.run(&[], "").quiet();
    let files = kept();
    assert_eq!(files.len(), 1);
    let whole = std::fs::read(&files[0]).expect("the file can be read");
    for damaged in [&whole[..whole.len() / 2], b"", b"something else"] {
        std::fs::write(&files[0], damaged).expect("the file can be written");
        built.log();
        built.run(&[], "").quiet();
        assert!(built.log().contains("program of kernels"), "kernels are compiled again");
        let again = std::fs::read(&files[0]).expect("the file can be read");
        assert!(again == whole, "kernels are cached again");
    }
}

#[test]
fn missing_driver_is_reported() {
    for (vendor, library) in [("cuda", "libcuda.so.1"), ("hip", "libamdhip64.so.7")] {
        let run = Built::new(vendor, PROGRAM).run(&[], "");
        assert_eq!(run.code, 1);
        let message = format!("cannot load the driver's library `{library}`");
        assert!(run.stderr.contains(&message), "{}", run.stderr);
    }
}
