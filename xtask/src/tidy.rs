//! Checks of conventions that neither the compiler nor clippy checks.
//!
//! Each check is a function from the [`Tree`] to the problems that it finds; [`CHECKS`] lists all
//! of them. They run as a test (`cargo test -p xtask`) and as a task (`cargo xtask tidy`).

mod crates;
mod phrases;
pub mod scan;
mod sources;
mod texts;
mod tree;

use crate::Outcome;
use std::path::Path;
use tree::Tree;

/// A violation, as one line: file, line number if there is one, description.
type Problem = String;

/// A check: its name and its function.
type Check = (&'static str, fn(&Tree) -> Vec<Problem>);

/// All checks.
const CHECKS: [Check; 16] = [
    ("files start with a header", sources::headers),
    ("files stay within their line budget", sources::budget),
    ("no placeholder macros", sources::placeholders),
    ("no test is ignored, and expected panics have messages", sources::test_attributes),
    ("allowed lints have a reason", sources::lint_reasons),
    ("unsafe code is in listed crates only", sources::unsafe_code),
    ("crates depend on earlier crates only", crates::order),
    ("crates inherit the workspace's lints", crates::lints),
    ("ARCHITECTURE.md names the crates", crates::architecture),
    ("test programs have test blocks", texts::test_blocks),
    ("no file contains machine-specific paths", texts::machine_paths),
    ("each limitation has all cells", texts::limitations),
    ("messages about unsupported features are listed", texts::unsupported_messages),
    ("links between documents have targets", texts::links),
    ("docs/measurements.md is up to date", texts::measurements),
    ("no text contains a listed phrase", phrases::phrases),
];

/// Runs all checks on the repository at `root`.
pub fn run(root: &Path) -> Outcome {
    let problems = problems(&Tree::read(root)?);
    if problems.is_empty() {
        println!("tidy: {} checks hold", CHECKS.len());
        return Ok(());
    }
    Err(format!("{}\ntidy: {} problems", problems.join("\n"), problems.len()))
}

fn problems(tree: &Tree) -> Vec<Problem> {
    CHECKS
        .iter()
        .flat_map(|(name, check)| check(tree).into_iter().map(move |what| format!("{what} [{name}]")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        if let Err(problems) = run(&crate::root()) {
            panic!("\n{problems}");
        }
    }

    /// Violates each convention once: exactly the check of that name reports it.
    #[test]
    fn each_check_reports_its_violations() {
        let long = format!("//! Long.\n{}", "\n".repeat(sources::BUDGET));
        let cases: [(&str, &str, &str); 20] = [
            ("files start with a header", "crates/prim/src/a.rs", "fn f() {}\n"),
            ("files stay within their line budget", "crates/prim/src/a.rs", &long),
            ("no placeholder macros", "crates/prim/src/a.rs", "//! A.\nfn f() { todo!() }\n"),
            ("no placeholder macros", "crates/prim/src/a.rs", "//! A.\nfn f() { dbg!(1); }\n"),
            (
                "no test is ignored, and expected panics have messages",
                "crates/prim/src/a.rs",
                "//! A.\n#[ignore]\n",
            ),
            (
                "no test is ignored, and expected panics have messages",
                "crates/prim/src/a.rs",
                "//! A.\n#[should_panic]\n",
            ),
            ("allowed lints have a reason", "crates/prim/src/a.rs", "//! A.\n#[allow(dead_code)]\n"),
            ("unsafe code is in listed crates only", "crates/prim/src/a.rs", "//! A.\nunsafe fn f() {}\n"),
            (
                "crates depend on earlier crates only",
                "crates/prim/Cargo.toml",
                "[dependencies]\nvalue.workspace = true\n[lints]\nworkspace = true\n",
            ),
            (
                "crates depend on earlier crates only",
                "crates/prim/Cargo.toml",
                "[dependencies]\nir = { path = \"../ir\" }\n[lints]\nworkspace = true\n",
            ),
            ("crates inherit the workspace's lints", "crates/prim/Cargo.toml", "[dependencies]\n"),
            ("ARCHITECTURE.md names the crates", "ARCHITECTURE.md", "### `value`\n"),
            ("test programs have test blocks", "tests/programs/a.fut", "entry f = 1\n"),
            ("no file contains machine-specific paths", "README.md", concat!("It lies in `/ho", "me/me`.\n")),
            ("each limitation has all cells", "docs/limitations.md", INCOMPLETE_ROW),
            ("each limitation has all cells", "docs/limitations.md", "Nothing.\n"),
            (
                "messages about unsupported features are listed",
                "crates/prim/src/a.rs",
                "//! A.\nfn f() { unsupported(format!(\"unheard of: {x}\")) }\n",
            ),
            ("links between documents have targets", "docs/a.md", "See [b](../b.md#c) now.\n"),
            ("docs/measurements.md is up to date", "docs/measurements/a.json", "{\"tables\": []}"),
            ("no text contains a listed phrase", "docs/a.md", concat!("Of all, those", " that fail.\n")),
        ];
        for (name, path, text) in cases {
            let mut files = valid_files();
            files.retain(|(other, _)| *other != path);
            files.push((path, text));
            let found = problems(&Tree::of(&files));
            assert!(!found.is_empty(), "{name}: not found");
            for problem in found {
                assert!(problem.contains(name), "{name}: {problem}");
            }
        }
        assert_eq!(problems(&Tree::of(&valid_files())), Vec::<String>::new());
    }

    const INCOMPLETE_ROW: &str =
        "| Limitation | Message | Lifted by | Test |\n|---|---|---|---|\n| sums | no sums yet | | |\n";

    /// A small tree without violations.
    fn valid_files() -> Vec<(&'static str, &'static str)> {
        vec![
            ("ARCHITECTURE.md", "### `prim`\n"),
            ("crates/prim/Cargo.toml", "[dependencies]\nhalf.workspace = true\n[lints]\nworkspace = true\n"),
            (
                "crates/prim/src/lib.rs",
                "//! Words in \"todo!\" strings.\n// and dbg!(comments)\n\
                 const A: char = '\"';\nconst B: &str = r#\"\"todo!()\"#;\n\
                 #[allow(\n    dead_code,\n    reason = \"(a table)\"\n)]\nfn f<'a>(x: &'a str) {}\n",
            ),
            (
                "docs/limitations.md",
                "| Limitation | Message | Lifted by | Test |\n|---|---|---|---|\n| sums | no sums yet | issue 4 | `a.fut` |\n",
            ),
            ("tests/programs/b.fut", "-- ==\n-- input { 1i32 }\n-- output { 1i32 }\nentry f = id\n"),
        ]
    }
}
