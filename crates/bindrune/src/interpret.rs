//! `bindrune run --backend interp`: the interpreter of the typed tree with the command line of
//! executables.

use crate::common;
use crate::source::SourceOptions;
use check::tast::{Entry, EntryParam, Ty};
use interp::{Class, Interp, RunValue};
use runtime::exe::options::{self, Command, Options};
use std::ffi::OsString;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use syntax::span::SourceMap;
use value::{Reader, Value};

/// Evaluates an entry point with an executable's options. With `check_sizes`, values are checked
/// against the sizes in their types.
pub fn run(file: &Path, source: &SourceOptions, check_sizes: bool, args: Vec<OsString>) -> ExitCode {
    let name = file.to_string_lossy();
    let options = match options::parse(args) {
        Ok(Command::Run(options)) => options,
        Ok(Command::Help) => return done(common::write_stdout(&options::help(&name))),
        Ok(Command::PrintParams) => return ExitCode::SUCCESS,
        Ok(Command::ListDevices) => {
            return match runtime::device::list(None) {
                Ok(lines) => {
                    done(common::write_stdout(&lines.into_iter().map(|line| line + "\n").collect::<String>()))
                }
                Err(message) => failed(&name, &message),
            };
        }
        Err(message) => return failed(&name, &message),
    };
    if options.device.is_wanted() {
        return failed(&name, "the interpreter does not run on devices");
    }
    // The interpreter does not flatten, so it has no tuning parameters.
    if let Err(message) = runtime::tuning_params::resolve(&[], &options.params) {
        return failed(&name, &message);
    }
    let (mut session, program) = driver::check(file, driver::Options::default());
    let program = program.map(Arc::new);
    let program = match source.report(&mut session, program) {
        Ok(program) => program,
        Err(code) => return code,
    };
    let sources = std::mem::take(&mut session.sources);
    match evaluate(program, &Arc::new(sources), check_sizes, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Quiet) => ExitCode::FAILURE,
        Err(Stop::Message(message)) => failed(&name, &message),
    }
}

fn done(result: Result<(), ExitCode>) -> ExitCode {
    result.err().unwrap_or(ExitCode::SUCCESS)
}

fn failed(name: &str, message: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{name}: {message}");
    ExitCode::FAILURE
}

/// The reason why output ends.
enum Stop {
    /// An error with this message.
    Message(String),
    /// The reader has closed the pipe.
    Quiet,
}

impl From<String> for Stop {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

/// Returns a tracer that prints `trace` output to standard error.
pub fn tracer(sources: Arc<SourceMap>) -> interp::Tracer {
    Box::new(move |tag, text, span| {
        let location = interp::source_location(span, &sources);
        let tag = tag.map_or_else(|| format!("Trace: {location}"), str::to_owned);
        // A closed standard error does not fail the program.
        let _ = writeln!(std::io::stderr(), "{tag}: {text}");
    })
}

fn evaluate(
    program: Arc<check::tast::Program>,
    sources: &Arc<SourceMap>,
    check_sizes: bool,
    options: &Options,
) -> Result<(), Stop> {
    let mut times = match &options.runtime_file {
        Some(path) => Some(
            std::fs::File::create(path)
                .map_err(|e| format!("cannot open {} for writing: {e}", path.display()))?,
        ),
        None => None,
    };
    let interp = Interp::new(program);
    interp.set_check_sizes(check_sizes);
    interp.set_tracer(tracer(Arc::clone(sources)));
    let entry = interp.entry(&options.entry).ok_or_else(|| {
        let names: Vec<&str> = interp.program().entries.iter().map(|e| &*e.name).collect();
        format!("there is no entry point `{}`; there are: {}", options.entry, names.join(", "))
    })?;
    let stdin = Reader::stdin().map_err(|e| format!("cannot read standard input: {e}"))?;
    let args = read_arguments(entry, stdin)?;
    let runs = options.runs.unwrap_or(1);
    let warm_ups = u64::from(options.runs.is_some());
    let mut result = RunValue::unit();
    for number in 0..warm_ups + runs {
        let start = Instant::now();
        let outcome = interp.call(entry, args.clone());
        let micros = start.elapsed().as_micros();
        result = outcome.map_err(|failure| match failure.class {
            Class::Program | Class::Unsound => failure.render(sources),
            _ => failure.message,
        })?;
        if number < warm_ups {
            continue;
        }
        if options.log {
            let _ = writeln!(std::io::stderr(), "`{}` took {micros} us", entry.name);
        }
        if let Some(file) = &mut times {
            writeln!(file, "{micros}").map_err(|e| format!("cannot write the run time: {e}"))?;
        }
    }
    if options.print_result { print(entry, &result, options.binary) } else { Ok(()) }
}

fn read_arguments<R: Read>(entry: &Entry, mut stdin: Reader<R>) -> Result<Vec<RunValue>, Stop> {
    let mut args = Vec::with_capacity(entry.params.len());
    for (index, param) in entry.params.iter().enumerate() {
        let value = interp::read_argument(&mut stdin, &param.ty.ty)
            .map_err(|e| format!("{}: {e}", describe(index, param)))?;
        args.push(value);
    }
    match stdin.at_end() {
        Ok(true) => Ok(args),
        Ok(false) => Err(format!(
            "there is more input after the {} of `{}`",
            runtime::error::count_arguments(entry.params.len()),
            entry.name
        )
        .into()),
        Err(e) => Err(e.to_string().into()),
    }
}

fn describe(index: usize, param: &EntryParam) -> String {
    let mut ty = String::new();
    match &param.ty.text {
        Some(text) => ty.push_str(text),
        None => interp::push_type(&Interp::plain_type(&param.ty.ty), &mut ty),
    }
    if param.name.is_empty() {
        format!("argument {} (of type {ty})", index + 1)
    } else {
        format!("argument {} (`{}`, of type {ty})", index + 1, param.name)
    }
}

fn print(entry: &Entry, result: &RunValue, binary: bool) -> Result<(), Stop> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (val, ty) in interp::components(result, &entry.result.ty) {
        let written = if matches!(ty, Ty::Tuple(parts) if parts.is_empty()) {
            out.write_all(b"()")
        } else {
            let value: Value = interp::export(val, ty).inspect_err(|_| {
                let _ = out.flush();
            })?;
            if binary { value::write_binary(&mut out, &value) } else { value::write_text(&mut out, &value) }
        };
        written.and_then(|()| out.write_all(b"\n")).map_err(stop)?;
    }
    out.flush().map_err(stop)
}

fn stop(e: std::io::Error) -> Stop {
    if e.kind() == std::io::ErrorKind::BrokenPipe {
        Stop::Quiet
    } else {
        Stop::Message(format!("cannot write the result: {e}"))
    }
}
