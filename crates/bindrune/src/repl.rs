//! `bindrune repl`: evaluates expressions and declarations as they are entered.
//!
//! [`session`] holds declarations and evaluates; [`commands`] has the commands that begin with a
//! colon; [`lines`] decides when input is complete and what Tab completes. This module has the read
//! loop and the output. Input continues over several lines while it is a prefix of an expression or
//! declaration; an empty line ends it.
//!
//! An evaluation that stops at a breakpoint opens a nested prompt, in which the variables of the
//! calls in progress are in scope. Ctrl-C sets a flag that ends an evaluation; a second one before
//! the flag is read ends the process.

mod commands;
mod lines;
mod session;

use crate::common;
use commands::{Action, Part};
use interp::{Reason, Resume, Stop};
use lines::LineHelper;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};
use session::{Evaluated, Failed, Input, Session, classify};
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use syntax::span::SourceMap;

/// Arguments of `repl`.
#[derive(clap::Args)]
pub struct Args {
    /// Check all values against the sizes in their types, to find bugs of the type checker.
    #[arg(long)]
    check_sizes: bool,
    /// A program to load.
    file: Option<PathBuf>,
}

/// Reads and evaluates until the end of input.
pub fn run(args: Args) -> ExitCode {
    match go(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}

fn go(args: Args) -> Result<(), ExitCode> {
    let config = Config::builder().completion_type(CompletionType::List).build();
    let mut editor: Editor<LineHelper, DefaultHistory> = Editor::with_config(config).map_err(unreadable)?;
    editor.set_helper(Some(LineHelper::default()));
    let interactive = std::io::stdin().is_terminal();
    let history = history_file().filter(|_| interactive);
    if let Some(file) = &history {
        // The file does not exist on the first run.
        let _ = editor.load_history(file);
    }
    let interrupt = Arc::new(AtomicBool::new(false));
    if interactive {
        common::handle_ctrl_c(&interrupt)?;
        let text = format!("Bindrune {}. Type :help for help.\n", env!("CARGO_PKG_VERSION"));
        common::write_stdout(&text)?;
    }
    let mut session = Session::new(interrupt, args.check_sizes);
    if let Some(file) = args.file {
        show(session.load(file))?;
    }
    let mut prompt = Prompt { editor, interactive, number: 0, nans: false, disabled_breakpoints: Vec::new() };
    while let End::Loaded(other) = prompt.read_eval_loop(session, None)? {
        session = *other;
    }
    if let Some(file) = history {
        let folder = file.parent().map(std::fs::create_dir_all);
        if folder.is_none_or(|made| made.is_ok()) {
            let _ = prompt.editor.save_history(&file);
        }
    }
    Ok(())
}

fn unreadable(e: ReadlineError) -> ExitCode {
    common::report_error(format_args!("cannot read lines: {e}"))
}

/// The reason for leaving a prompt.
enum End {
    /// End the REPL, or abandon the stopped evaluation.
    Quit,
    /// Resume the stopped evaluation.
    Continue,
    /// Continue with another program.
    Loaded(Box<Session>),
}

/// A stopped evaluation.
struct Stopped<'a> {
    stop: &'a Stop,
    locations: &'a [String],
    /// The session without the variables of the calls.
    outer: &'a Session,
}

/// The state shared by all prompts.
struct Prompt {
    editor: Editor<LineHelper, DefaultHistory>,
    interactive: bool,
    /// The number of inputs.
    number: usize,
    /// True if new NaNs stop evaluations.
    nans: bool,
    /// The locations of disabled breakpoints.
    disabled_breakpoints: Vec<String>,
}

impl Prompt {
    /// Reads and evaluates. At a breakpoint, until the evaluation resumes or ends.
    fn read_eval_loop(&mut self, mut session: Session, halt: Option<&Stopped<'_>>) -> Result<End, ExitCode> {
        loop {
            if let Some(helper) = self.editor.helper_mut() {
                helper.set_session(&session);
            }
            let prefix = if halt.is_some() { "break " } else { "" };
            let line = match self.editor.readline(&format!("{prefix}[{}]> ", self.number)) {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => continue,
                Err(ReadlineError::Eof) => return Ok(End::Quit),
                Err(e) => return Err(unreadable(e)),
            };
            let input = line.trim();
            if input.is_empty() {
                match halt {
                    Some(_) => return Ok(End::Continue),
                    None => continue,
                }
            }
            // A failure to record history is ignored.
            let _ = self.editor.add_history_entry(input);
            self.number += 1;
            session.begin();
            let end = if let Some(command) = input.strip_prefix(':') {
                let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
                match commands::find(name) {
                    Ok(command) => self.execute(&mut session, command, rest.trim(), halt)?,
                    Err(text) => {
                        eprint!("{text}");
                        None
                    }
                }
            } else if classify(input) == Input::Declarations {
                show(session.declare(input))?;
                None
            } else {
                let (value, end) = self.evaluate(&session, input, halt)?;
                show(value.map(|value| format!("{}{}\n", value.messages, value.text)))?;
                end
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Executes a command. Returns the reason to leave the prompt, if it does.
    fn execute(
        &mut self,
        session: &mut Session,
        command: &commands::Command,
        rest: &str,
        halt: Option<&Stopped<'_>>,
    ) -> Result<Option<End>, ExitCode> {
        let reload = command.action == Action::Load && rest.is_empty() && session.has_file();
        if !command.argument.is_empty() && rest.is_empty() && !reload {
            eprintln!("the command needs an argument: `:{} {}`", command.name, command.argument);
            return Ok(None);
        }
        let result = match command.action {
            Action::Load | Action::Reload => {
                let mut other = halt.map_or_else(|| session.clone(), |halt| halt.outer.clone());
                let loaded = if rest.is_empty() || command.action == Action::Reload {
                    other.reload()
                } else {
                    other.load(PathBuf::from(rest))
                };
                let done = loaded.is_ok();
                show(loaded)?;
                if done {
                    self.disabled_breakpoints.clear();
                    return Ok(Some(End::Loaded(Box::new(other))));
                }
                return Ok(None);
            }
            Action::Type => session.type_of(rest),
            Action::ModuleType => session.module_type(rest),
            Action::Format => return self.format(session, rest, halt),
            Action::Text => {
                let (value, end) = self.evaluate(session, rest, halt)?;
                show(value.and_then(|value| as_text(&value)))?;
                return Ok(end);
            }
            Action::Frame => match (halt, rest.parse::<usize>()) {
                (None, _) => Err("no evaluation is stopped\n".to_owned()),
                (Some(halt), Ok(at)) if at < halt.stop.calls.len() => {
                    *session = halt.outer.in_frame(&halt.stop.calls[at]);
                    Ok(backtrace(halt.locations, at))
                }
                (Some(_), _) => Err(format!("there is no call {rest}\n")),
            },
            Action::Unbreak => match halt {
                None => Err("no evaluation is stopped\n".to_owned()),
                Some(halt) => {
                    self.disabled_breakpoints.extend(halt.locations.first().cloned());
                    return Ok(Some(End::Continue));
                }
            },
            Action::NanBreak => {
                self.nans = !self.nans;
                let text = if self.nans {
                    "Evaluations stop at new NaNs.\n"
                } else {
                    "Evaluations no longer stop at NaNs.\n"
                };
                Ok(text.to_owned())
            }
            Action::Folder => match std::env::current_dir() {
                Ok(folder) => Ok(format!("{}\n", folder.display())),
                Err(e) => Err(format!("cannot read the current folder: {e}\n")),
            },
            Action::ChangeFolder => session.change_folder(rest),
            Action::Help => Ok(commands::help()),
            Action::Quit => return Ok(Some(End::Quit)),
        };
        show(result)?;
        Ok(None)
    }

    /// Prints a text with the values of the expressions in it.
    fn format(
        &mut self,
        session: &Session,
        text: &str,
        halt: Option<&Stopped<'_>>,
    ) -> Result<Option<End>, ExitCode> {
        let parts = match commands::parts(text) {
            Ok(parts) => parts,
            Err(text) => {
                eprint!("{text}");
                return Ok(None);
            }
        };
        let mut out = String::new();
        for part in parts {
            match part {
                Part::Text(text) => out.push_str(&text),
                Part::Value(input) => {
                    let (value, end) = self.evaluate(session, &input, halt)?;
                    match value {
                        Ok(value) => out.push_str(&value.text),
                        Err(text) => {
                            eprint!("{text}");
                            return Ok(end);
                        }
                    }
                }
            }
        }
        out.push('\n');
        common::write_stdout(&out)?;
        Ok(None)
    }

    /// Evaluates an expression. Returns its value or an error message, and the reason to leave the
    /// prompt, if a nested prompt gave one. Evaluations at a breakpoint do not stop again.
    fn evaluate(
        &mut self,
        session: &Session,
        input: &str,
        halt: Option<&Stopped<'_>>,
    ) -> Result<(Result<Evaluated, String>, Option<End>), ExitCode> {
        let nans = self.nans;
        let (mut end, mut output_error) = (None, None);
        let mut watch = |stop: &Stop, sources: &SourceMap| {
            let calls = stop.calls.iter();
            let locations: Vec<String> =
                calls.map(|call| interp::source_location(call.span, sources)).collect();
            match self.open_nested_prompt(session, stop, &locations) {
                Ok(End::Continue) => Resume::Continue,
                Ok(End::Quit) => Resume::End,
                Ok(loaded) => {
                    end = Some(loaded);
                    Resume::End
                }
                Err(code) => {
                    output_error = Some(code);
                    Resume::End
                }
            }
        };
        let value = if halt.is_some() {
            session.evaluate(input, nans, None)
        } else {
            session.evaluate(input, nans, Some(&mut watch))
        };
        if let Some(code) = output_error {
            return Err(code);
        }
        let value = value.map_err(|failed| match failed {
            Failed::Message(text) => text,
            Failed::Interrupted => "Interrupted.\n".to_owned(),
        });
        Ok((value, end))
    }

    /// Prints the location of a stop, and opens a prompt there.
    fn open_nested_prompt(
        &mut self,
        outer: &Session,
        stop: &Stop,
        locations: &[String],
    ) -> Result<End, ExitCode> {
        let (Some(call), Some(location)) = (stop.calls.first(), locations.first()) else {
            return Ok(End::Continue);
        };
        if self.disabled_breakpoints.contains(location) {
            return Ok(End::Continue);
        }
        let what = match stop.reason {
            Reason::Breakpoint => "Breakpoint",
            Reason::NewNan => "A new NaN",
        };
        let mut text = format!("{what} at {location}\n{}", backtrace(locations, 0));
        if self.interactive {
            text.push_str("Enter continues, :frame N selects a call, :quit ends the evaluation.\n");
        }
        common::write_stdout(&text)?;
        let halt = Stopped { stop, locations, outer };
        self.read_eval_loop(outer.in_frame(call), Some(&halt))
    }
}

/// The stack of calls in progress, with call `at` marked.
fn backtrace(locations: &[String], at: usize) -> String {
    let mut text = String::new();
    for (number, location) in locations.iter().enumerate() {
        let arrow = if number == at { "->" } else { "  " };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{arrow} #{number:<3} {location}");
    }
    text
}

/// Returns the text in an array of bytes.
fn as_text(value: &Evaluated) -> Result<String, String> {
    match value.bytes.as_deref().map(std::str::from_utf8) {
        Some(Ok(text)) => Ok(format!("{}{text}\n", value.messages)),
        Some(Err(_)) => Err(format!("the array is not UTF-8 text: {}\n", value.text)),
        None => Err(format!("the value is not an array of u8: {}\n", value.text)),
    }
}

/// Prints results to standard output and errors to standard error.
fn show(result: Result<String, String>) -> Result<(), ExitCode> {
    match result {
        Ok(text) => common::write_stdout(&text),
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
