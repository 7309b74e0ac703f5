//! `check`, `run`, `build` and `dev` on valid programs.

use crate::process::{Folder, SAMPLE, bindrune, finish};
use std::process::{Command, Stdio};

#[test]
fn check_prints_nothing_for_a_valid_program() {
    let folder = Folder::new();
    let program = folder.file("good.fut", SAMPLE);
    assert_eq!(bindrune(&["check", &program], "").quiet().text(), "");
}

#[test]
fn check_takes_several_files_and_warning_options() {
    let folder = Folder::new();
    let good = folder.file("good.fut", SAMPLE);
    let odd = folder.file("odd.fut", "entry main (x: i32) (y: i32) : i32 = x\n");
    let wrong = folder.file("wrong.fut", "entry main (x: i32) : i32 = z\n");
    let check = |args: &[&str]| {
        let args: Vec<&str> = ["check"].iter().chain(args).copied().collect();
        bindrune(&args, "")
    };
    check(&[&good, &good]).quiet();
    let warned = check(&[&good, &odd]);
    assert_eq!(warned.code, 0);
    let warning = "warning[unused-name]: Unused name \"y\"";
    assert!(warned.stderr.contains(warning), "{}", warned.stderr);
    check(&["-w", &odd]).quiet();
    check(&["-w", "--Werror", &odd]).quiet();
    check(&["--Werror", &good]).quiet();
    let strict = check(&["--Werror", &odd]);
    assert_eq!(strict.code, 2);
    assert!(strict.stderr.contains(warning), "{}", strict.stderr);
    assert!(strict.stderr.contains("--Werror"), "{}", strict.stderr);
    // Errors take precedence over warnings, and each file is checked.
    check(&["--Werror", &wrong, &odd]).fails(&["Unknown name \"z\"", warning]);
    let text = folder.file("notes.txt", "def x = 1i32\n");
    check(&[&text]).fails(&["does not end in `.fut`"]);
    check(&[&folder.path("absent.fut")]).fails(&["cannot read the file"]);
    assert_ne!(check(&[]).code, 0);
}

#[test]
fn run_compiles_and_runs() {
    let folder = Folder::new();
    folder.file("library.fut", "def twice (x: i32) : i32 = 2 * x\n");
    let program = folder.file(
        "user.fut",
        "import \"library\"\nentry main (xs: []i32) = map twice xs\nentry one (x: i32) = twice x\n",
    );
    let run = |args: &[&str], stdin: &str| {
        let args: Vec<&str> = ["run", &program].iter().chain(args).copied().collect();
        bindrune(&args, stdin)
    };
    assert_eq!(run(&[], "[1, -2]").quiet().text(), "[2i32, -4i32]\n");
    assert_eq!(run(&["-e", "one"], "21 -- the argument\n").quiet().text(), "42i32\n");
    assert_eq!(run(&["-e", "one", "-n"], "21").quiet().text(), "");
    run(&["-e", "two"], "21").fails(&["no entry point `two`", "main, one"]);
}

#[test]
fn build_output_name_defaults_to_program_name() {
    let folder = Folder::new();
    let program = folder.file("p.fut", "entry main (x: i32) = x + 1\n");
    bindrune(&["build", &program], "").quiet();
    bindrune(&["build", &program, "-o", &folder.path("q"), "--cpu", "generic"], "").quiet();
    for name in ["p", "q"] {
        let mut command = Command::new(folder.path(name));
        let finished = finish(command.stdout(Stdio::piped()), b"41");
        assert_eq!(finished.quiet().text(), "42i32\n");
    }
    let (here, import) = (folder.path("./p.fut"), folder.path("import.fut"));
    std::os::unix::fs::symlink(&program, folder.path("link")).expect("the folder takes links");
    for taken in [&program, &here, &import, &folder.path("link")] {
        bindrune(&["build", &program, "-o", taken], "").fails(&["would overwrite"]);
    }
}

#[test]
fn device_files_are_written_to_and_not_replaced() {
    let folder = Folder::new();
    let program = folder.file("p.fut", "entry main (x: i32) = x + 1\n");
    let (null, full) = (folder.path("null"), folder.path("full"));
    for (device, link) in [("/dev/null", &null), ("/dev/full", &full)] {
        std::os::unix::fs::symlink(device, link).expect("the folder takes links");
    }
    for command in ["build", "c", "opencl"] {
        bindrune(&[command, &program, "-o", &null], "").quiet();
        bindrune(&[command, &program, "-o", &full], "").fails(&["cannot write", "space"]);
        for link in [&null, &full] {
            assert!(std::fs::symlink_metadata(link).is_ok_and(|there| there.is_symlink()));
        }
    }
    bindrune(&["build", &program, "-o", &folder.path(".")], "").fails(&["cannot write"]);
    let left = std::fs::read_dir(folder.path(".")).expect("the folder is there");
    let mut left: Vec<_> = left.map(|file| file.expect("the folder can be read").file_name()).collect();
    left.sort();
    assert_eq!(left, ["full", "full.c", "null", "null.c", "p.fut"]);
}

#[test]
fn dev_prints_every_stage_and_continues_from_its_output() {
    let folder = Folder::new();
    let program = folder.file("p.fut", "entry main (xs: []i32) = reduce (+) 1 (map (* 2) xs)\n");
    let list = bindrune(&["dev", "--stage", "list", &program], "").quiet();
    let stages: Vec<&str> = list.text().lines().filter_map(|line| line.split_whitespace().next()).collect();
    for wanted in
        ["ast", "typed", "lower", "flatten", "mem", "imp", "c", "llvm", "asm", "opencl", "cuda", "hip"]
    {
        assert!(stages.contains(&wanted), "{wanted} is no stage: {stages:?}");
    }
    for stage in stages {
        let text = bindrune(&["dev", "--stage", stage, &program], "").quiet().text().to_owned();
        assert!(text.contains("main"), "{stage}: {text}");
        if ["ast", "typed", "c", "llvm", "asm", "opencl", "cuda", "hip"].contains(&stage) {
            continue;
        }
        let value = bindrune(&["dev", "--stage", stage, &program, "--run"], "[1, 2, 3]");
        assert_eq!(value.quiet().text(), "13i32\n", "{stage}");
        // Continuing from the text form gives the same result.
        let saved = folder.file("saved.ir", &text);
        if [
            "moves",
            "tail-calls",
            "tiles",
            "lanes",
            "jam-iterations",
            "pipeline",
            "simplify-loops",
            "split",
            "merge",
            "strided-copies",
        ]
        .contains(&stage)
        {
            let value = bindrune(&["dev", &saved, "--run"], "[1, 2, 3]");
            assert_eq!(value.quiet().text(), "13i32\n", "{stage}");
            continue;
        }
        let on = bindrune(&["dev", "--stage", "imp", &saved], "").quiet();
        let whole = bindrune(&["dev", "--stage", "imp", &program], "").quiet();
        // The first line contains the file name.
        let body = |text: &str| text.split_once('\n').map(|(_, rest)| rest.to_owned());
        assert_eq!(body(on.text()), body(whole.text()), "{stage}");
    }
    bindrune(&["dev", "--stage", "nonsense", &program], "").fails(&["nonsense", "--stage list"]);
    let broken = folder.file("broken.ir", "soacs\nfun main(");
    bindrune(&["dev", &broken], "").fails(&["2:"]);
    let timed = bindrune(&["dev", "--stage", "imp", "--times", &program], "");
    assert!(
        timed.stderr.contains("flatten")
            && timed.stderr.contains(" ms")
            && timed.stderr.contains(" statements"),
        "{}",
        timed.stderr
    );
}

#[test]
fn typed_stage_omits_the_library_unless_all_is_given() {
    let folder = Folder::new();
    folder.file("library.fut", "def twice (x: i32) = x * 2\n");
    let text = "import \"library\"\nentry main (xs: []i32) = reduce (+) 1 (map twice xs)\n";
    let program = folder.file("p.fut", text);
    let headers = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("// "));
        let names = lines.filter(|line| !line.starts_with("VarId"));
        names.map(str::to_owned).collect()
    };
    let own = bindrune(&["dev", "--stage", "typed", &program], "").quiet();
    assert_eq!(headers(own.text()), ["twice : i32 -> i32", "main [k] : [k]i32 -> i32"]);
    assert!(own.text().contains(": xs\n"), "{}", own.text());
    let all = bindrune(&["dev", "--stage", "typed", "--all", &program], "").quiet();
    let all = headers(all.text());
    assert!(all.len() > 10 && all.iter().any(|line| line.starts_with("reduce ")), "{all:?}");
}

#[test]
fn help_and_version_go_to_standard_output() {
    for (args, part) in
        [(&["--help"][..], "check"), (&["--version"], "bindrune 0."), (&["build", "--help"], "--cpu")]
    {
        let finished = bindrune(args, "").quiet();
        assert!(finished.text().contains(part), "{}", finished.text());
    }
    bindrune(&["compose"], "").fails(&["compose"]);
    bindrune::<&str>(&[], "").fails(&["Usage"]);
}

#[test]
fn loops_use_full_vector_registers_on_every_processor() {
    let folder = Folder::new();
    let program = folder.file(
        "loops.fut",
        "entry plain [n] (xs: [n]f64) : [n]f64 = map (\\x -> x * x + 1) xs
entry long (n: i64) : f64 =
  reduce (+) 0 (map (\\i -> let x = f64.i64 i in f64.exp (-x) / (1 + f64.sqrt x)) (iota n))
",
    );
    let products = |cpu: &str| {
        let args = ["dev", "--stage", "asm", "--cpu", cpu, &program];
        let code = bindrune(&args, "").quiet();
        ["zmm", "ymm"].map(|register| {
            let fused = |line: &&str| line.contains("vfmadd") && line.contains(register);
            code.text().lines().filter(fused).count()
        })
    };
    for cpu in ["znver4", "sapphirerapids", "skylake-avx512", "x86-64-v4"] {
        let [whole, half] = products(cpu);
        assert!(whole > 10 && half == 0, "{cpu}: {whole} of 64 bytes, {half} of 32");
    }
    let [whole, half] = products("x86-64-v3");
    assert!(whole == 0 && half > 10, "{whole} of 64 bytes, {half} of 32");
}
