//! Programs on OpenCL devices from the command line: results and messages equal to those on CPUs,
//! the choice of a device, and the messages if there is none.

mod blocks;

use crate::process::{Finished, Folder, SAMPLE, bindrune, command, finish, sample_command};
use std::path::Path;
use std::process::{Command, Stdio};

/// A program built for a device.
struct Built {
    folder: Folder,
    path: String,
}

impl Built {
    fn new(source: &str) -> Self {
        Self::with(source, &[])
    }

    fn with(source: &str, options: &[&str]) -> Self {
        let folder = Folder::new();
        let program = folder.file("sample.fut", source);
        let path = folder.path("sample");
        let command = ["opencl", &program, "-o", &path];
        bindrune(&[&command, options].concat(), "").quiet();
        Self { folder, path }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(args).stdout(Stdio::piped());
        command
    }

    #[track_caller]
    fn run(&self, args: &[&str], stdin: &str) -> Finished {
        finish(&mut self.command(args), stdin.as_bytes())
    }
}

/// Exit code, standard output and standard error, without the parts that depend on the backend:
/// file names in locations.
fn output(finished: &Finished, name: &str) -> (i32, String, String) {
    let stderr = finished.stderr.replace(name, "NAME");
    let words = stderr.split_whitespace();
    let words = words.map(|word| word.rsplit_once(".fut:").map_or(word, |(_, location)| location));
    let stderr = words.collect::<Vec<_>>().join(" ");
    (finished.code, finished.text().to_owned(), stderr)
}

#[test]
fn results_and_messages_equal_those_on_the_cpu() {
    let built = Built::new(SAMPLE);
    for (entry, input) in [
        ("main", "[1, 2, 3]"),
        ("main", "empty([0]i32)"),
        ("dot", "[1, 2] [3, 4.5]"),
        ("both", "1 3"),
        ("squares", "5"),
        ("consume", "[1, 2]"),
        ("gather", "[7, 8, 9] [2, 0]"),
        ("table", "2 3"),
        ("table", "0 3"),
        ("flags", "[true, false]"),
        ("nothing", "1"),
        // Failures, in kernels and before them.
        ("divide", "3 1"),
        ("positive", "[1, -1]"),
        ("fit", "[1, 2] [3]"),
        ("gather", "[1] [5]"),
        ("gather", "[1] [-1]"),
        ("fill", "-1 3"),
        ("dot", "[1] [1, 2]"),
        ("table", "4000000000 4000000000"),
        ("record", "1"),
    ] {
        let mut for_cpu = sample_command(&["-e", entry]);
        let name = for_cpu.get_program().to_string_lossy().into_owned();
        let cpu = output(&finish(&mut for_cpu, input.as_bytes()), &name);
        let device = output(&built.run(&["-e", entry], input), &built.path);
        assert_eq!(cpu, device, "{entry} {input}");
    }
}

#[test]
fn several_runs_reuse_kernels_and_memory() {
    let built = Built::new(SAMPLE);
    let times = built.folder.path("times");
    let args = ["-e", "main", "-r", "5", "-t", &times, "-D"];
    let run = built.run(&args, "[1, 2, 3]");
    assert_eq!((run.code, run.text()), (0, "6i32\n"), "{}", run.stderr);
    for part in [
        "device: ",
        "kernels launched: 6",
        "reused: 1",
        "bytes copied to the host: ",
        "  copies to the host\n",
        "  all launches and copies",
        // The arguments are copied once, before the runs; each run copies its result back.
        "copy to the device: 12 bytes, ",
        "copy to the host: 4 bytes, ",
    ] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    assert!(!run.stderr.contains("leaked"), "{}", run.stderr);
    // A kernel's line: name, number and location, and the number of launches in measured runs.
    let row = run.stderr.lines().find(|line| line.contains("main.seg") && !line.contains(" blocks of "));
    let row = row.unwrap_or_else(|| panic!("no kernel: {}", run.stderr));
    let words: Vec<&str> = row.split_whitespace().collect();
    assert!(words[5].contains('#') && words[6].contains("sample.fut:"), "{row}");
    assert!(words[0].parse::<u64>().is_ok_and(|times| times % 5 == 0), "{row}");
    let launched = run.stderr.lines().filter(|line| line.contains(" of 256 threads, "));
    assert_eq!(launched.count(), 6, "{}", run.stderr);
    // Without `-P`, nothing is timed.
    let quiet = built.run(&["-e", "main"], "[1, 2, 3]").quiet();
    assert_eq!(quiet.text(), "6i32\n");
    let written = std::fs::read_to_string(&times).expect("the times were written");
    assert_eq!(written.lines().count(), 5);
}

#[test]
fn compiled_kernels_are_cached_and_corrupt_ones_rejected() {
    let built = Built::new(SAMPLE);
    let file = built.folder.path("kernels");
    let main = |options: &[&str]| {
        let run = built.run(options, "[1, 2]").quiet();
        assert_eq!(run.text(), "3i32\n");
    };
    let options = ["--cache-file", &file];
    main(&options);
    let whole = std::fs::read(&file).expect("the file can be read");
    main(&options);
    for damaged in [&b""[..], b"something else", &whole[..whole.len() / 2]] {
        std::fs::write(&file, damaged).expect("the file can be written");
        main(&options);
        let again = std::fs::read(&file).expect("the file can be read");
        assert!(again.len() > whole.len() / 2);
    }
    // Other build options make other kernels.
    main(&["--cache-file", &file, "--build-option=-cl-opt-disable"]);
    // Kernels are not cached where the file cannot be written.
    let nowhere = built.folder.path("no/such");
    built.folder.file("no", "");
    main(&["--cache-file", &nowhere]);
    main(&["--cache-file=/dev/full"]);
}

#[test]
fn devices_are_listed_and_chosen() {
    let built = Built::new("entry main (x: i32) = map (+ x) [1, 2]\n");
    let list = built.run(&["--list-devices"], "").quiet();
    let first = list.text().lines().next().expect("a device");
    let name = first.strip_prefix("#0 ").expect("the first device");
    let (name, _) = name.split_once(" (").expect("the platform in parentheses");
    let chosen = built.run(&["-d", &name.to_uppercase()], "1").quiet();
    assert_eq!(chosen.text(), "[2i32, 3i32]\n");
    built.run(&["-d", "#0"], "1").quiet();
    for (wanted, parts) in [
        ("nonsense", &["there is no device `nonsense`; there are: ", name][..]),
        ("#99", &["there is no device `#99`"]),
        ("#", &["no number after `#`"]),
    ] {
        built.run(&["-d", wanted], "1").fails(parts);
    }
    built.run(&["-p", "#0", "-d", "#0"], "1").quiet();
    built.run(&["-p", "nonsense"], "1").fails(&["there is no platform `nonsense`; there are: "]);
    for option in ["-d", "-p"] {
        let on_cpu = finish(&mut sample_command(&[option, "#0"]), b"[1]");
        on_cpu.fails(&["the program has no kernels"]);
    }
}

#[test]
fn kernels_are_written_and_read() {
    let built = Built::new("entry main (x: i32) = map (+ x) [1, 2]\n");
    let file = built.folder.path("kernels.cl");
    let run = built.run(&["--dump-opencl", &file], "").quiet();
    assert_eq!(run.text(), "");
    let kernels = std::fs::read_to_string(&file).expect("kernels are written");
    assert!(kernels.contains("BR_KERNEL(256)\nvoid k0_main_segmap"));
    let loaded = built.run(&["--load-opencl", &file], "1").quiet();
    assert_eq!(loaded.text(), "[2i32, 3i32]\n");
    built.folder.file("kernels.cl", format!("{kernels}\nnonsense\n"));
    built.run(&["--load-opencl", &file], "1").fails(&["cannot compile the program's kernels"]);
    // A launch would pass its arguments to the wrong parameters.
    let fewer = kernels.replace("void k0_main_segmap(BR_GLOBAL br_ctx *ctx, ", "void k0_main_segmap(");
    assert_ne!(fewer, kernels);
    for others in [&*fewer, "", "these are none"] {
        built.folder.file("kernels.cl", others);
        built.run(&["--load-opencl", &file], "1").fails(&[
            "kernels.cl has no kernel `void k0_main_segmap(BR_GLOBAL br_ctx *ctx, ",
            "which the program launches",
        ]);
    }
    for (options, parts) in [
        (["--dump-cuda", &file], ["the program's kernels are for opencl, not for cuda"]),
        (["--load-opencl", "no/such"], ["cannot read no/such: "]),
        (["--dump-opencl", "/dev/full"], ["cannot write /dev/full: "]),
    ] {
        built.run(&options, "1").fails(&parts);
    }
    let on_cpu = finish(&mut sample_command(&["--dump-opencl", &file]), b"[1]");
    on_cpu.fails(&["the program has no kernels"]);
}

#[test]
fn compiled_kernels_are_written_and_read() {
    let built = Built::new("entry main (x: i32) = map (+ x) [1, 2]\n");
    let file = built.folder.path("kernels.bin");
    let run = built.run(&["--dump-opencl-binary", &file], "").quiet();
    assert_eq!(run.text(), "");
    assert!(std::fs::metadata(&file).is_ok_and(|about| about.len() > 0));
    let loaded = built.run(&["--load-opencl-binary", &file], "1").quiet();
    assert_eq!(loaded.text(), "[2i32, 3i32]\n");
    // Some drivers end the process on truncated binaries.
    let kernels = std::fs::read(&file).expect("kernels are written");
    let most = kernels.len() - 1;
    let cut = [0, 100, 2000, most].map(|length| kernels[..length].to_vec());
    let damaged = [&kernels[..most], &[kernels[most] ^ 1]].concat();
    for bytes in cut.into_iter().chain([damaged, b"these are none".to_vec()]) {
        std::fs::write(&file, bytes).expect("the folder takes files");
        built
            .run(&["--load-opencl-binary", &file], "1")
            .fails(&["the compiled kernels are damaged, or were not written by"]);
    }
    std::fs::write(&file, kernels).expect("the folder takes files");
    let other = Built::new("entry main (x: i32) (y: i32) = map (+ (x * y)) [1, 2]\n");
    other
        .run(&["--load-opencl-binary", &file], "1 2")
        .fails(&["the compiled kernels are damaged, or were not written by"]);
    for (options, part) in [
        (["--load-opencl-binary", "no/such"], "cannot read no/such: "),
        (["--dump-opencl-binary", "/dev/full"], "cannot write /dev/full: "),
        (["--dump-ptx", &file], "the program's kernels are for opencl, not for cuda"),
        (["--load-ptx", &file], "the program's kernels are for opencl, not for cuda"),
    ] {
        built.run(&options, "1").fails(&[part]);
    }
}

#[test]
fn ignored_options_are_reported() {
    let built = Built::new("entry main (x: i32) = map (+ x) [1, 2]\n");
    let run = built.run(&["--default-thread-block-size=64"], "1");
    assert_eq!((run.code, run.text()), (0, "[2i32, 3i32]\n"));
    assert!(
        (run.stderr).contains("--default-thread-block-size has no effect: the partition of work"),
        "{}",
        run.stderr
    );
    built.run(&["--default-tile-size=wide"], "1").fails(&["cannot parse argument \"wide\""]);
}

#[test]
fn missing_driver_is_reported_in_one_sentence() {
    let built = Built::new("entry main (x: i32) = map (+ x) [1, 2]\n");
    for args in [&[][..], &["--list-devices"]] {
        let mut run = built.command(args);
        // The first library found is not a valid one.
        for name in ["libOpenCL.so.1", "libOpenCL.so"] {
            built.folder.file(name, "");
        }
        let run = finish(run.env("LD_LIBRARY_PATH", built.folder.path("")), b"1");
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        run.fails(&["OpenCL is not available on this machine", "install"]);
    }
    let mut run = built.command(&[]);
    let run = finish(run.env("OCL_ICD_VENDORS", built.folder.path("none")), b"1");
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    run.fails(&["OpenCL found no device on this machine", "install"]);
}

#[test]
fn device_memory_and_kernel_compiler_failures_are_reported() {
    let built = Built::new(SAMPLE);
    built.run(&["-e", "fill", "--memory-limit=1M"], "1000000 1").fails(&[
        "out of memory on the device: cannot allocate 8000000 bytes",
        "the limit is 1048576 bytes.",
        "sample.fut:11:",
    ]);
    built
        .run(&["--build-option=-D", "--build-option=bool=+"], "[1]")
        .fails(&["cannot compile the program's kernels", "CL_BUILD_PROGRAM_FAILURE"]);
}

/// The name of the OpenCL loader, which [`finish`]ed programs find by themselves.
const LIBRARY: &str = "libOpenCL.so.1";

#[test]
fn driver_failures_are_reported_in_one_message() {
    let built = Built::new(SAMPLE);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/opencl/shim.c");
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .arg(built.folder.path(LIBRARY))
        .arg(&source)
        .arg("-ldl")
        .status();
    assert!(made.expect("a C compiler").success());
    let run = |fails: &str, options: &[&str]| {
        let mut command = built.command(options);
        command.env("LD_LIBRARY_PATH", built.folder.path("")).env("OPENCL", installed()).env("FAKE", fails);
        finish(&mut command, b"[1, 2, 3]")
    };
    let run_whole = run("", &[]).quiet();
    assert_eq!(run_whole.text(), "6i32\n");
    let kernels = built.folder.path("kernels.bin");
    run("", &["--dump-opencl-binary", &kernels]).quiet();
    let load = ["--load-opencl-binary", &kernels];
    for (fails, message) in [
        ("binary", "rejects these compiled kernels"),
        ("queue", "`: cannot create a queue: CL_OUT_OF_HOST_MEMORY"),
        ("memory", "the device has no more."),
        ("block", " has blocks of 256 threads; the device allows 64"),
        ("shared", " needs 1099511627776 bytes of shared memory per block; the device has "),
        ("launch", " failed: clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES, for the kernel `main."),
        ("lost", " failed: clEnqueueReadBuffer: CL_INVALID_COMMAND_QUEUE"),
    ] {
        let options = if fails == "binary" { &load[..] } else { &[] };
        let run = run(fails, options);
        assert_eq!((run.code, run.text()), (1, ""), "{fails}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{fails}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{fails}: {}", run.stderr);
    }
}

/// The path of the OpenCL loader, according to the system's linker.
fn installed() -> String {
    let asked = Command::new("cc").arg(format!("-print-file-name={LIBRARY}")).output();
    let path = String::from_utf8(asked.expect("a C compiler").stdout).expect("the path is UTF-8");
    path.trim().to_owned()
}

#[test]
fn outdated_library_is_reported() {
    let built = Built::new("entry main (x: i32) = map (+ x) [1, 2]\n");
    let empty = built.folder.file("empty.c", "int nothing = 0;\n");
    let made =
        Command::new("cc").args(["-shared", "-fPIC", "-o", &built.folder.path(LIBRARY), &empty]).status();
    assert!(made.expect("a C compiler").success());
    let mut run = built.command(&[]);
    let run = finish(run.env("LD_LIBRARY_PATH", built.folder.path("")), b"1");
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    run.fails(&["the OpenCL library is too old: it has no `clGetPlatformIDs`"]);
}

#[test]
fn run_accepts_the_options_of_executables() {
    let folder = Folder::new();
    let program = folder
        .file("p.fut", "entry twice (xs: []i32) = map (* 2) xs\nentry inverse (xs: []i32) = map (1 /) xs\n");
    let run = |entry: &str, stdin: &str| {
        let mut run = command(&["run", "--backend=opencl", &program, "-e", entry]);
        finish(&mut run, stdin.as_bytes())
    };
    assert_eq!(run("twice", "[21]").quiet().text(), "[42i32]\n");
    run("inverse", "[1, 0]").fails(&["division by zero", "p.fut:2:"]);
    // The launch statistics of a benchmark's executable are printed, and stored.
    let tested = folder.file(
        "tested.fut",
        "-- ==\n-- input { [1, 2] } output { [2, 4] }\nentry main (xs: []i32) = map (* 2) xs\n",
    );
    let json = folder.path("results.json");
    let own = ["bench", "--backend=opencl", "-r2", "--no-convergence-phase"];
    let more = ["--pass-option=-P", "--json", &json, &tested];
    let shown = finish(&mut command(&[&own[..], &more[..]].concat()), b"");
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let kept = std::fs::read_to_string(&json).expect("results are written");
    for text in [shown.text(), &kept] {
        assert!(text.contains("  main.segmap#0 ("), "{text}");
        assert!(text.contains("all launches and copies"), "{text}");
    }
    for wanted in ["--library", "--server"] {
        bindrune(&["opencl", wanted, &program], "").fails(&["not supported yet"]);
    }
}
