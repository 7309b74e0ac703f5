//! Loops in vector lanes: every file in `lanes` is a program at the level with
//! memory and, below a line `==== after`, what is decided for its independent
//! loops on a machine with vectors of 32 bytes, and the vector code of its
//! functions. With `BLESS` set, the latter is written anew.
//!
//! Before and after, and with other widths, the program verifies.

use imp::lanes::vectorise;
use imp::{Machine, Program, generate, print, verify};
use ir::{Context, Lanes, Mems, Options, text};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const AFTER: &str = "==== after\n";

fn check(program: &Program, what: &str) -> Result<(), String> {
    verify(program).map_err(|errors| format!("{what}: {errors:?}\n{}", print(program)))
}

fn context(fuel: Option<u64>, lanes: Lanes, bytes: u32) -> Context {
    let options = Options {
        lanes,
        machine: Machine::of(bytes),
        ..Options::default()
    };
    Context::new(fuel, options)
}

/// The decisions and the vector code.
fn apply(source: &str) -> Result<String, String> {
    let program = text::parse::<Mems>(source).map_err(|e| e.to_string())?;
    let program =
        generate::generate(&program, &mut Context::default()).map_err(|e| format!("{e:?}"))?;
    check(&program, "before")?;
    for bytes in [16, 64] {
        let modes = [
            Lanes::Auto,
            Lanes::Width(2),
            Lanes::Width(8),
            Lanes::Width(64),
        ];
        for lanes in modes {
            let program = vectorise(program.clone(), &mut context(None, lanes, bytes));
            check(&program, &format!("{lanes:?} with {bytes} bytes"))?;
        }
    }
    for mut context in [
        context(None, Lanes::Off, 32),
        context(Some(0), Lanes::Auto, 32),
    ] {
        if vectorise(program.clone(), &mut context) != program {
            return Err("something is done without being asked for".to_owned());
        }
    }
    let mut context = context(None, Lanes::Auto, 32);
    let program = vectorise(program, &mut context);
    let decisions = context.decisions;
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
