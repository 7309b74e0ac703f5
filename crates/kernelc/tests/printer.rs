//! Tests the printed C: every file `c/NAME.imp` is a program in text form and, below a line `====
//! after`, the C of its data, checks and functions; in `opencl/NAME.imp` and `cuda/NAME.imp` it is
//! the code of its kernels. With `BLESS` set, that part is regenerated.

use imp::Verified;
use kernelc::Target;
use std::path::{Path, PathBuf};

const AFTER: &str = "==== after\n";

fn files(folder: &str) -> Vec<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folder = tests.join(folder);
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    files.sort();
    files
}

#[test]
fn printed_c_matches_expected_files() {
    check_expected_files("c", 7, kernelc::functions);
}

#[test]
fn printed_opencl_matches_expected_files() {
    let print = |program: &Verified| kernelc::kernels_code(program, Target::OpenCl);
    check_expected_files("opencl", 10, print);
}

#[test]
fn printed_cuda_matches_expected_files() {
    let print = |program: &Verified| kernelc::kernels_code(program, Target::Cuda);
    check_expected_files("cuda", 5, print);
}

fn verified(text: &str) -> Verified {
    Verified::new(imp::parse(text).expect("the text is valid")).expect("the program is valid")
}

fn check_expected_files(folder: &str, count: usize, print: fn(&Verified) -> Result<String, kernelc::Error>) {
    let bless = std::env::var_os("BLESS").is_some();
    let files = files(folder);
    assert!(files.len() >= count, "test files are missing");
    let mut problems = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("the file can be read");
        let (source, after) = text.split_once(AFTER).unwrap_or((&text, ""));
        let program = imp::parse(source).map_err(|e| e.to_string()).and_then(Verified::new);
        let program = program.unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let c = print(&program).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        if c == after {
            continue;
        }
        if bless {
            std::fs::write(&file, format!("{source}{AFTER}{c}")).expect("the file can be written");
        } else {
            let pair = c.lines().zip(after.lines()).find(|(now, then)| now != then);
            problems.push(format!("{}: {pair:?}", file.display()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn vector_code_is_a_bug() {
    for text in [
        "imp file \"x.fut\"\n\nfun f(x_0: 4 x i32) -> () {\n}\n",
        "imp file \"x.fut\"\n\nfun f(n_0: i64) -> () {\n  for i_1: i64 in 0 .. n_0 lanes(4) {\n  }\n}\n",
    ] {
        let program = verified(text);
        let error = kernelc::functions(&program).expect_err("the program is rejected");
        assert!(matches!(error, kernelc::Error::Bug(_)), "{error}");
    }
}

#[test]
fn barriers_precede_conditions_that_failed_threads_do_not_compute() {
    let text = "imp file \"x.fut\"\ncheck#0 = \"no\" at \"\"\n\n\
        fun f(n_0: i64, a_1: buffer device) -> () {\n  \
        for b_2: i64 in 0 .. n_0 grid#0 \"f\" at \"\" cost 1 owned () locals () captures (n_0) distinct () {\n    \
        for t_3: i64 in 0 .. 8 block locals (k_4) {\n      \
        check#0 slt.i64(t_3, n_0) values ()\n      \
        k_4: i64 = n_0\n      \
        for i_5: i64 in 0 .. k_4 {\n        barrier\n      }\n    }\n  }\n}\n";
    let program = verified(text);
    let kernels = kernelc::kernels(&program, Target::OpenCl)
        .expect("the program is supported")
        .expect("the program has kernels");
    let wanted = "    BR_BARRIER_OR_STOP\n    for (i64 i_5 = 0, i_5_end = br_goes_on ? k_4 : 0;";
    assert!(kernels.source.contains(wanted), "{}", kernels.source);
    let end = "\n    BR_END\n}\n";
    assert!(kernels.source.ends_with(end), "{}", kernels.source);
}

#[test]
fn device_requirements_are_reported() {
    let program = |elem: &str| {
        let text = format!(
            "imp file \"x.fut\"\n\nfun f(n_0: i64, a_1: buffer device) -> () {{\n  \
             for b_2: i64 in 0 .. n_0 grid#0 \"f\" at \"\" cost 1 owned () locals () captures (a_1) distinct () {{\n    \
             for t_3: i64 in 0 .. 8 block locals (x_4) {{\n      \
             x_4: {elem} = a_1[{elem}: t_3]\n      a_1[{elem}: t_3] = x_4\n    }}\n  }}\n}}\n"
        );
        let program = verified(&text);
        kernelc::kernels(&program, Target::OpenCl)
            .expect("the program is supported")
            .expect("the program has kernels")
    };
    let (single, double) = (program("f32"), program("f64"));
    assert_eq!((&*single.required_extensions, &*double.required_extensions), ("", "cl_khr_fp64"));
    assert_eq!(&*single.names[0], "k0_f");
    assert!(double.source.contains("#define BR_HAS_F64\n"));
    assert!(!single.source.contains("#define BR_HAS_F64\n"));
}

#[test]
fn inexact_library_functions_are_rejected_by_name() {
    let text = "imp file \"x.fut\"\n\nfun f(x_0: f64) -> (r_1: f64) {\n  r_1: f64 = math.sin.f64(x_0)\n}\n";
    let program = verified(text);
    let error = kernelc::functions(&program).expect_err("the program is rejected");
    assert_eq!(error.to_string(), "not supported yet: the library function `sin` on f64 in C");
}
