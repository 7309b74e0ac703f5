//! Thread blocks on OpenCL devices: their size, the options that set it, and barriers that PoCL's
//! optimiser must not change.

use super::Built;
use crate::process::{Folder, bindrune};

/// Checks that all kernels of an executable have blocks of this size.
#[track_caller]
fn has_blocks_of(built: &Built, size: &str) {
    let file = built.folder.path("kernels.cl");
    built.run(&["--dump-opencl", &file], "").quiet();
    let kernels = std::fs::read_to_string(&file).expect("kernels are written");
    let own = format!("BR_KERNEL({size})");
    let begun = kernels.matches("\nBR_KERNEL(").count();
    assert!(begun > 0, "{kernels}");
    assert_eq!(kernels.matches(&own).count(), begun, "{kernels}");
}

#[test]
fn block_size_option_sets_threads_per_block() {
    let source = "entry main (n: i64) = let xs = scan (+) 0 (iota n)
  in (i64.sum (map (% 7) xs), reduce_by_index (replicate 3 0) (+) 0 (map (% 3) xs) xs)\n";
    for size in ["32", "64", "512", "1024"] {
        let built = Built::with(source, &["--tblock-size", size]);
        has_blocks_of(&built, size);
        // Expected values are from a loop in Python.
        let run = built.run(&[], "5000").quiet();
        assert_eq!(run.text(), "9997i64\n[13884721389i64, 6948611111i64, 0i64]\n");
    }
    let folder = Folder::new();
    let program = folder.file("sample.fut", source);
    for size in ["0", "16", "100", "2048", "many"] {
        let command = ["opencl", &program, "--tblock-size", size];
        let done = bindrune(&command, "");
        let message = "expected a power of two from 32 to 1024";
        assert!(done.code == 1 && done.stderr.contains(message), "{done:?}");
    }
}

#[test]
fn block_size_comes_from_the_tuning_file() {
    let source = "entry main (xs: []i64) = i64.sum xs\n";
    let program = "sample.fut";
    let built = Built::new(source);
    let build = |more: &[&str]| {
        let options = ["build", "--backend=opencl", &built.folder.path(program), "-o", &built.path];
        bindrune(&[&options, more].concat(), "")
    };
    // Files of older versions of the reference compiler use the second name.
    for (line, more, size) in [
        ("default_tblock_size=64", &[][..], "64"),
        ("default_tblock_size=512\ndefault_group_size=32\n", &[], "32"),
        ("default_tblock_size=64", &["--tblock-size=128"], "128"),
        ("default_tblock_size=64", &["--no-tuning"], "256"),
    ] {
        built.folder.file("sample.fut.tuning", line);
        build(more).quiet();
        has_blocks_of(&built, size);
    }
    for size in ["100", "2048", "16", "-64", "0"] {
        built.folder.file("sample.fut.tuning", format!("\ndefault_group_size={size}"));
        build(&[]).fails(&["line 2: default_tblock_size must be a power of two from 32 to 1024"]);
    }
    // A program for the CPU ignores the block size.
    let own = ["run", &built.folder.path(program)];
    assert_eq!(bindrune(&own, "[1i64, 2i64]").quiet().text(), "3i64\n");
    // The executable was compiled for 256.
    let given = |value: &str| built.run(&["--param", value], "[1i64, 2i64]");
    assert_eq!(given("default_tblock_size=256").quiet().text(), "3i64\n");
    let run = given("default_tblock_size=64");
    assert_eq!((run.code, run.text()), (0, "3i64\n"));
    let said = "default_tblock_size has no effect: the partition of work over threads is fixed at \
                compile time; compile it with --tblock-size=64\n";
    assert!(run.stderr.ends_with(said), "{}", run.stderr);
    let run = given("default_tile_size=64");
    assert!(run.stderr.contains("default_tile_size has no effect"), "{}", run.stderr);
}

#[test]
fn tune_compiles_for_several_block_sizes() {
    let folder = Folder::new();
    let program = "-- ==\n-- input { 1000i64 } output { 499500i64 }\n\
        entry main (n: i64) = i64.sum (iota n)\n";
    let program = folder.file("sum.fut", program);
    folder.file("sum.fut.tuning", "default_group_size=128\n");
    let json = folder.path("json");
    let tune = |more: &[&str]| {
        let options = ["tune", "--backend=opencl", "--runs=2", "-v", "--json", &json, &program];
        let run = bindrune(&[&options, more].concat(), "");
        assert_eq!(run.code, 0, "{}", run.stderr);
        let json = std::fs::read_to_string(&json).expect("the file exists");
        let json: serde_json::Value = serde_json::from_str(&json).expect("the file is JSON");
        (json[&program].clone(), run.stderr)
    };
    let (found, said) = tune(&[]);
    assert_eq!(found["defaults"]["default_tblock_size"], 256);
    let tried = found["tried"].as_array().expect("a list").iter();
    let tried: Vec<_> = tried.filter(|one| one["parameter"] == "default_tblock_size").collect();
    // The search starts with a sixteenth and sixteen times the default, within the valid range, and
    // the value in the file.
    let first: Vec<_> = tried.iter().take(3).map(|one| one["value"].as_i64()).collect();
    assert_eq!(first, [Some(32), Some(1024), Some(128)]);
    // Each of them was run.
    for block in [32, 1024, 128] {
        let ran = format!(" us: default_tblock_size={block}\n");
        assert!(said.contains(&ran), "{said}");
    }
    // The file has one name and one value, if that is a gain.
    let file = std::fs::read_to_string(folder.path("sum.fut.tuning")).expect("the file exists");
    let value = found["setting"]["default_tblock_size"].as_i64();
    let line = value.map_or(String::new(), |value| format!("default_tblock_size={value}\n"));
    let kept = |line: &&str| line.contains("tblock") || line.contains("group");
    let kept: String = file.lines().filter(kept).flat_map(|line| [line, "\n"]).collect();
    assert_eq!(kept, line);
    // A block size set on the compiler's command line is not tuned.
    for more in ["--pass-compiler-option=--tblock-size=64", "--thresholds-only"] {
        let (found, _) = tune(&[more]);
        assert!(found["defaults"]["default_tblock_size"].is_null(), "{found}");
    }
}

/// Regression: PoCL's optimiser took the control flow of a block's first thread for that of all
/// threads.
#[test]
fn threads_of_failing_kernels_reach_the_same_barriers() {
    let built = Built::new(
        "def at (n: i64) (bad: i64) (i: i64): i64 = if i == bad then n + i else i
entry whole (n: i64) (bad: i64) =
  let xs = iota n
  in hist (+) 0 7 (map (\\i -> xs[at n bad i] % 7) (iota n)) (replicate n 1i64)
entry part (n: i64) (bad: i64) =
  let xs = map f32.i64 (iota n)
  in hist (+) 0 4 (map (% 5) (iota n)) (map (\\i -> xs[at n bad i]) (iota n))
",
    );
    // Expected values are from a loop in Python.
    let whole = "[2858i64, 2857i64, 2857i64, 2857i64, 2857i64, 2857i64, 2857i64]\n";
    for (entry, n, wanted) in
        [("whole", "20000", whole), ("part", "300", "[8850f32, 8910f32, 8970f32, 9030f32]\n")]
    {
        let run = built.run(&["-e", entry], &format!("{n} -1")).quiet();
        assert_eq!(run.text(), wanted);
        let run = built.run(&["-e", entry], &format!("{n} 77"));
        run.fails(&["out of bounds"]);
    }
}

/// Regression: PoCL's optimiser merged a barrier that occurs in both branches, and all threads of
/// the block followed the first.
#[test]
fn branches_of_blocks_keep_their_barriers() {
    let built = Built::new(
        "entry main (n: i64) (m: i64) =
  let xss = tabulate_2d n m (\\i j -> (i * 7 + j * 3) % 10)
  in #[flattening(only_intra)]
     map (\\xs -> let k = i64.sum xs
                 in if k % 2 == 0 then xs else loop xs for _i < k % 4 do scan (+) 0 xs) xss
",
    );
    // Expected values are from loops in Python.
    let wanted = "[[0i64, 3i64, 9i64], [7i64, 0i64, 3i64], [4i64, 19i64, 45i64], [1i64, 4i64, 7i64], \
                  [8i64, 9i64, 13i64], [5i64, 8i64, 1i64]]\n";
    assert_eq!(built.run(&[], "6 3").quiet().text(), wanted);
}
