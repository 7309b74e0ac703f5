//! The guide (`docs/src`): the commands in its console blocks print what the blocks show.
//!
//! A fence ` ```console ` contains commands (`$ ...`) with their output, standard output and error
//! combined. The commands of a page run sequentially in one directory. A fence ` ```futhark NAME.fut `
//! (or another language) is a file in that directory, written when the fence is reached. In output,
//! `...` matches any text within a line, and a line `...` matches any number of lines. Lines after
//! `bindrune repl` that begin with its prompt (`[0]> `) are input.

use crate::process::{Folder, finish};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command of a page, its input, and its expected output.
struct Shown {
    line: usize,
    command: String,
    input: String,
    output: Vec<String>,
}

/// A step of a page.
enum Step {
    File(String, String),
    Run(Shown),
}

fn pages() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    let entries = std::fs::read_dir(folder).expect("the guide is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut pages: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    pages.sort();
    pages
}

/// The files and commands of a page.
fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, _)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let mut words = info.split_whitespace();
        let language = words.next().unwrap_or_default();
        let inside = lines.by_ref().take_while(|(line, _)| *line != "```");
        match words.next() {
            Some(name) => {
                let lines: Vec<&str> = inside.map(|(line, _)| line).collect();
                steps.push(Step::File(name.to_owned(), lines.join("\n") + "\n"));
            }
            None if language == "console" => commands(inside, &mut steps),
            None => inside.for_each(drop),
        }
    }
    steps
}

fn commands<'t>(lines: impl Iterator<Item = (&'t str, usize)>, steps: &mut Vec<Step>) {
    for (text, line) in lines {
        if let Some(command) = text.strip_prefix("$ ") {
            steps.push(Step::Run(Shown {
                line,
                command: command.to_owned(),
                input: String::new(),
                output: Vec::new(),
            }));
            continue;
        }
        let Some(Step::Run(shown)) = steps.last_mut() else {
            panic!("line {line}: output without a command");
        };
        if shown.output.is_empty() && shown.command.ends_with('\\') {
            shown.command.push('\n');
            shown.command.push_str(text);
        } else if let Some(entered) = entered(text) {
            shown.input.push_str(entered);
            shown.input.push('\n');
        } else {
            shown.output.push(text.trim_end().to_owned());
        }
    }
}

/// The input at a prompt in a line of output.
fn entered(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("break ").unwrap_or(line);
    let (number, input) = rest.strip_prefix('[')?.split_once("]>")?;
    number.parse::<usize>().ok()?;
    Some(input.trim_start())
}

/// Returns true if a line matches; `...` matches any text.
fn fits(shown: &str, line: &str) -> bool {
    match shown.split_once("...") {
        None => shown == line,
        Some((start, rest)) => line.strip_prefix(start).is_some_and(|line| {
            let ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
            ends.into_iter().any(|at| fits(rest, &line[at..]))
        }),
    }
}

/// Returns true if the lines match; a line `...` matches any number of lines.
fn all_fit(shown: &[String], lines: &[&str]) -> bool {
    match (shown.split_first(), lines.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "..." => (0..=lines.len()).any(|at| all_fit(rest, &lines[at..])),
        (Some((first, rest)), Some((line, lines))) => fits(first, line) && all_fit(rest, lines),
        _ => false,
    }
}

#[test]
fn commands_print_what_the_guide_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the repository is there");
    let (mut failures, mut runs) = (String::new(), 0);
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("the page can be read");
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        let folder = Folder::new();
        let link = |to: &Path, name: &str| {
            std::os::unix::fs::symlink(to, folder.path(name)).expect("a link can be made");
        };
        link(&root.join("examples"), "examples");
        link(Path::new(env!("CARGO_BIN_EXE_bindrune")), "bindrune");
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", folder.path(""));
        for step in steps(&text) {
            let shown = match step {
                Step::File(name, text) => {
                    folder.file(&name, text);
                    continue;
                }
                Step::Run(shown) => shown,
            };
            let mut command = Command::new("sh");
            command
                .args(["-c", &format!("exec 2>&1; {}", shown.command)])
                .env("PATH", &path)
                .current_dir(folder.path(""))
                .stdout(Stdio::piped());
            let done = finish(&mut command, shown.input.as_bytes());
            let lines: Vec<&str> = done.text().lines().map(str::trim_end).collect();
            if !all_fit(&shown.output, &lines) {
                // Writing to a string cannot fail.
                let _ =
                    writeln!(failures, "{name}:{}: $ {}\n{}\n", shown.line, shown.command, lines.join("\n"));
            }
            runs += 1;
        }
    }
    assert!(failures.is_empty(), "these commands print:\n\n{failures}");
    assert!(runs > 20, "only {runs} commands");
}

/// The image of a forest in the guide is the output of the command that the page names.
#[test]
fn forest_image_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = root.join("bench/programs/nests/matmul.fut");
    let program = program.to_string_lossy();
    let dev = ["dev", "--stage", "versions", "--form", "svg", &program];
    let picture = crate::process::bindrune(&dev, "").quiet();
    let path = root.join("docs/src/forest.svg");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &picture.stdout).expect("the image can be written");
    }
    let there = std::fs::read_to_string(path).expect("the image exists");
    assert_eq!(there, picture.text(), "BLESS=1 updates the image");
}
