//! `bindrune repl`: expressions and declarations, evaluated as they are entered.
//!
//! [`session`] holds what was declared and evaluates; here are the lines that come
//! in, with their history and commands. Input goes on over several lines as long as
//! what is there cannot be a whole expression or declaration; an empty line ends it.

mod session;

use crate::common;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Editor, Helper};
use session::{Input, Session, classify};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `repl`.
#[derive(clap::Args)]
pub struct Args {
    /// A program to load.
    file: Option<PathBuf>,
}

const HELP: &str = "\
An expression is evaluated, a declaration is kept. Input may go on over several lines; an empty line ends it.

:load FILE   load a program; what was declared before is forgotten
:reload      load it again
:type EXP    the type of an expression
:mtype MOD   the type of a module
:help        this text
:quit        the end; so is Ctrl-D
";

/// Reads and evaluates until the end of input.
pub fn run(args: Args) -> ExitCode {
    match go(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}

fn go(args: Args) -> Result<(), ExitCode> {
    let failed = |e: ReadlineError| common::fail(format_args!("cannot read lines: {e}"));
    let mut editor: Editor<Lines, DefaultHistory> = Editor::new().map_err(failed)?;
    editor.set_helper(Some(Lines));
    let interactive = std::io::stdin().is_terminal();
    let history = history_file().filter(|_| interactive);
    if let Some(file) = &history {
        // There is none at the first time.
        let _ = editor.load_history(file);
    }
    let mut session = Session::new();
    if interactive {
        let text = format!(
            "Bindrune {}. Type :help for help.\n",
            env!("CARGO_PKG_VERSION")
        );
        common::put(&text)?;
    }
    if let Some(file) = args.file {
        show(session.load(file))?;
    }
    let mut number = 0;
    loop {
        let line = match editor.readline(&format!("[{number}]> ")) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(e) => return Err(failed(e)),
        };
        let input = line.trim();
        if input.is_empty() {
            continue;
        }
        // What cannot be remembered can be typed again.
        let _ = editor.add_history_entry(input);
        if let Some(command) = input.strip_prefix(':') {
            let (name, rest) = command
                .split_once(char::is_whitespace)
                .unwrap_or((command, ""));
            if is(name, "quit", 1) {
                break;
            }
            show(obey(&mut session, name, rest.trim()))?;
        } else {
            show(session.enter(input))?;
        }
        number += 1;
    }
    if let Some(file) = history {
        let folder = file.parent().map(std::fs::create_dir_all);
        if folder.is_none_or(|made| made.is_ok()) {
            let _ = editor.save_history(&file);
        }
    }
    Ok(())
}

/// Whether a command is this one, at least its first letters.
fn is(given: &str, name: &str, least: usize) -> bool {
    given.len() >= least && name.starts_with(given)
}

fn obey(session: &mut Session, name: &str, rest: &str) -> Result<String, String> {
    match name {
        _ if is(name, "help", 1) || name == "?" => Ok(HELP.to_owned()),
        _ if is(name, "load", 1) && !rest.is_empty() => session.load(PathBuf::from(rest)),
        _ if is(name, "load", 1) => Err("which program? `:load FILE`\n".to_owned()),
        _ if is(name, "reload", 1) => session.reload(),
        _ if is(name, "type", 1) && !rest.is_empty() => session.type_of(rest),
        _ if is(name, "type", 1) => Err("of what? `:type EXP`\n".to_owned()),
        _ if is(name, "mtype", 1) && !rest.is_empty() => session.module_type(rest),
        _ if is(name, "mtype", 1) => Err("of what? `:mtype MOD`\n".to_owned()),
        _ => Err(format!(
            "there is no command `:{name}`; `:help` lists them\n"
        )),
    }
}

/// Results go to standard output, errors to standard error.
fn show(result: Result<String, String>) -> Result<(), ExitCode> {
    match result {
        Ok(text) => common::put(&text),
        Err(text) => {
            eprint!("{text}");
            Ok(())
        }
    }
}

fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| {
        let home = PathBuf::from(std::env::var_os("HOME")?);
        Some(home.join(".local").join("state"))
    })?;
    Some(state.join("bindrune").join("history"))
}

/// Decides whether lines are whole.
struct Lines;

impl Validator for Lines {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let input = context.input();
        let ended = input.contains('\n') && input.ends_with('\n');
        let unfinished = !input.trim_start().starts_with(':')
            && !input.trim().is_empty()
            && classify(input) == Input::Unfinished;
        Ok(if unfinished && !ended {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

impl Completer for Lines {
    type Candidate = String;
}
impl Hinter for Lines {
    type Hint = String;
}
impl Highlighter for Lines {}
impl Helper for Lines {}
