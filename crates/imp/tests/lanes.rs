//! Loops in vector lanes: every file in `lanes` is a program at the level with
//! memory and, below a line `==== after`, what is decided for its independent
//! loops on a machine with vectors of 32 bytes, and the vector code of its
//! functions. With `BLESS` set, the latter is written anew.
//!
//! Before and after, and with other widths, the program verifies.

use imp::lanes::{Mode, Options, vectorise};
use imp::{Machine, Program, generate, print, verify};
use ir::{Context, Mems, text};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const AFTER: &str = "==== after\n";

fn check(program: &Program, what: &str) -> Result<(), String> {
    verify(program).map_err(|errors| format!("{what}: {errors:?}\n{}", print(program)))
}

/// The decisions and the vector code.
fn apply(source: &str) -> Result<String, String> {
    let program = text::parse::<Mems>(source).map_err(|e| e.to_string())?;
    let program = generate::generate(&program, "test.fut", &mut Context::default())
        .map_err(|e| format!("{e:?}"))?;
    check(&program, "before")?;
    for bytes in [16, 64] {
        for mode in [Mode::Auto, Mode::Width(2), Mode::Width(8), Mode::Width(64)] {
            let (program, _) = vectorise(
                program.clone(),
                Options {
                    mode,
                    machine: Machine::of(bytes),
                },
                &mut Context::default(),
            );
            check(&program, &format!("{mode:?} with {bytes} bytes"))?;
        }
    }
    let options = Options {
        mode: Mode::Auto,
        machine: Machine::of(32),
    };
    let (off, none) = vectorise(
        program.clone(),
        Options {
            mode: Mode::Off,
            ..options
        },
        &mut Context::default(),
    );
    if off != program || !none.is_empty() {
        return Err("something is done without being asked for".to_owned());
    }
    let (program, decisions) = vectorise(program, options, &mut Context::default());
    check(&program, "after")?;
    let mut after = String::new();
    for decision in decisions {
        let _ = writeln!(after, "-- {decision}");
    }
    let code = print(&program);
    let code = code.split_once("\n\n").map_or("", |(_, code)| code);
    after.push_str(code);
    Ok(after)
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lanes");
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    paths.sort();
    paths
}

#[test]
fn loops_become_vector_code() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut problems = String::new();
    for path in files() {
        let name = path.display();
        let content = std::fs::read_to_string(&path).expect("the file can be read");
        let (source, expected) = content.split_once(AFTER).unwrap_or((&content, ""));
        match apply(source) {
            Ok(after) if bless => {
                std::fs::write(&path, format!("{source}{AFTER}{after}"))
                    .expect("the file can be written");
            }
            Ok(after) if after == expected => {}
            Ok(after) => {
                let _ = writeln!(problems, "{name}: expected\n{expected}\nbut it is\n{after}");
            }
            Err(problem) => {
                let _ = writeln!(problems, "{name}: {problem}");
            }
        }
    }
    assert!(problems.is_empty(), "{problems}");
}
