//! What C is printed for: every file `c/NAME.imp` is a program in text form and, below a
//! line `==== after`, the C of its data, checks and functions. With `BLESS` set, that part
//! is written anew.

use std::path::{Path, PathBuf};

const AFTER: &str = "==== after\n";

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    files.sort();
    files
}

#[test]
fn programs_become_the_c_beside_them() {
    let bless = std::env::var_os("BLESS").is_some();
    let files = files();
    assert!(files.len() >= 7, "files were not found");
    let mut problems = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("the file can be read");
        let (source, after) = text.split_once(AFTER).unwrap_or((&text, ""));
        let program = imp::parse(source).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let c = kernelc::functions(&program).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
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
fn what_is_not_for_one_thread_is_a_bug() {
    for text in [
        "imp file \"x.fut\"\n\nfun f(x_0: 4 x i32) -> () {\n}\n",
        "imp file \"x.fut\"\n\nfun f(n_0: i64) -> () {\n  for i_1: i64 in 0 .. n_0 lanes(4) {\n  }\n}\n",
    ] {
        let program = imp::parse(text).expect("it is right");
        let error = kernelc::functions(&program).expect_err("must be refused");
        assert!(matches!(error, kernelc::Error::Bug(_)), "{error}");
    }
}

#[test]
fn library_functions_that_are_not_exact_are_refused_by_name() {
    let text =
        "imp file \"x.fut\"\n\nfun f(x_0: f64) -> (r_1: f64) {\n  r_1: f64 = sin.f64(x_0)\n}\n";
    let program = imp::parse(text).expect("it is right");
    let error = kernelc::functions(&program).expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "not supported yet: the library function `sin` on f64 in C"
    );
}
