//! The whole behaviour of an executable: options, arguments from standard input, timed runs,
//! results to standard output, exit code.
//!
//! It behaves as the reference compiler's executables do. The `main` of object files calls
//! [`br_main`], the compiler's own `run` command calls [`run`]; both share one implementation.

mod kernel_files;
pub mod levels;
pub mod options;

use crate::abi::{LevelDesc, Program};
use crate::call::{Handle, describe};
use crate::context::{Config, Context};
use crate::device;
use crate::error::Error;
use crate::image::Image;
use crate::tuning_params::Assignment;
use levels::{Code, Level};
use options::{Command, Options};
use std::ffi::{CStr, OsString, c_char};
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Read, Seek, Write};
use std::os::fd::{BorrowedFd, FromRawFd};
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;
use std::time::Instant;
use value::Reader;
use value::interface::EntryType;

/// The input and output of an executable.
pub struct Streams<'a, R> {
    /// Arguments.
    pub stdin: Reader<R>,
    /// Results.
    pub stdout: &'a mut dyn Write,
    /// Messages.
    pub stderr: &'a mut dyn Write,
}

/// The reason why an executable ends with exit code 1.
enum Failure {
    /// A failure with this message.
    Message(String),
    /// A failure without a message: the reader of the output has closed it.
    Quiet,
}

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        Self::Message(e.to_string())
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

/// Behaves as the program's executable does when called with `args`, the first of which is its
/// name. Returns the exit code.
pub fn run<R: Read>(
    code: impl Into<Code>,
    args: impl IntoIterator<Item = OsString>,
    mut streams: Streams<'_, R>,
) -> i32 {
    let mut args = args.into_iter();
    let name = args.next().map_or("program".to_owned(), |name| name.to_string_lossy().into_owned());
    let message = match execute(code.into(), &name, args, &mut streams) {
        Ok(()) => return 0,
        Err(Failure::Quiet) => return 1,
        Err(Failure::Message(message)) => message,
    };
    // If this cannot be written, the exit code is the only report.
    let _ = writeln!(streams.stderr, "{name}: {message}");
    let _ = streams.stderr.flush();
    1
}

fn execute<R: Read>(
    code: Code,
    name: &str,
    args: impl Iterator<Item = OsString>,
    streams: &mut Streams<'_, R>,
) -> Result<(), Failure> {
    let options = match options::parse(args)? {
        Command::Run(options) => options,
        Command::Help => return put(streams.stdout, options::help(name).as_bytes()),
        Command::ListDevices => {
            let (_, image) = code.choose(None, Level::of_host())?;
            let lines = device::list(image.program().device())?.into_iter();
            let lines = lines.map(|line| line + "\n");
            return put(streams.stdout, lines.collect::<String>().as_bytes());
        }
        Command::PrintParams => {
            let (_, image) = code.choose(None, Level::of_host())?;
            let lines = image.program().tunables().iter();
            let lines = lines.map(|t| format!("{} ({})\n", t.name.get(), t.class.get()));
            return put(streams.stdout, lines.collect::<String>().as_bytes());
        }
    };
    let (level, image) = code.choose(options.cpu_level, Level::of_host())?;
    let dump = options.device.dump.as_ref();
    if let Some(into) = dump.filter(|into| !into.compiled) {
        return Ok(kernel_files::dump(image.program(), into)?);
    }
    for warning in options.params.iter().filter_map(Assignment::warning) {
        log(streams.stderr, &format!("{name}: warning: {warning}"));
    }
    for idle in kernel_files::without_effect(image.program(), &options) {
        log(streams.stderr, &format!("{name}: {idle}"));
    }
    let mut times = match &options.runtime_file {
        Some(path) => {
            Some(File::create(path).map_err(|e| format!("cannot open {} for writing: {e}", path.display()))?)
        }
        None => None,
    };
    let config = Config {
        num_threads: options.num_threads,
        memory_limit: options.memory_limit,
        tuning: kernel_files::assignments(image.program(), &options),
        log_comparisons: options.log_versions,
        profile: options.profile,
        progress: None,
        device: kernel_files::config(image.program(), &options)?,
    };
    let mut context = Context::new(&config, image)?;
    if dump.is_some() {
        return Ok(());
    }
    if options.print_values {
        let lines = context.tunable_values().map(|(name, value)| format!("{name}={value}\n"));
        return put(streams.stdout, lines.collect::<String>().as_bytes());
    }
    let entry = context.entry(&options.entry)?;
    if options.log {
        log(streams.stderr, &format!("{name}: {} threads", context.num_threads()));
        if let Some(level) = level {
            log(streams.stderr, &format!("{name}: code for {level}"));
        }
    }
    let mut args = Vec::new();
    let outcome = read_arguments(&mut context, entry, &mut streams.stdin, &mut args)
        .and_then(|()| run_entry(&mut context, entry, &mut args, &options, &mut times, streams));
    args.into_iter().for_each(|arg| context.release(arg));
    if options.profile {
        log(streams.stderr, context.report().trim_end());
    }
    if options.debug && outcome.is_ok() {
        check_leaks(context, streams.stderr);
    }
    outcome
}

fn read_arguments<R: Read>(
    context: &mut Context,
    entry: usize,
    stdin: &mut Reader<R>,
    args: &mut Vec<Handle>,
) -> Result<(), Failure> {
    let interface = Arc::clone(context.interface());
    let entry = &interface.entries[entry];
    for (index, param) in entry.params.iter().enumerate() {
        let at = |e: &dyn Display| format!("{}: {e}", describe(index, param));
        args.push(match param.ty {
            EntryType::Value(ty) => {
                let value = stdin.read(ty).map_err(|e| at(&e))?;
                context.import(value).map_err(|e| at(&e))?
            }
            ty if interface.opaques.is_unit(ty) => {
                stdin.skip_unit().map_err(|e| at(&e))?;
                context.unit(ty)
            }
            EntryType::Opaque(_) => {
                return Err(at(&"values of this type have no text or binary form").into());
            }
        });
    }
    match stdin.at_end() {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!(
            "there is more input after the {} of `{}`",
            crate::error::count_arguments(entry.params.len()),
            entry.name
        )
        .into()),
        Err(e) => Err(e.to_string().into()),
    }
}

fn run_entry<R: Read>(
    context: &mut Context,
    entry: usize,
    args: &mut [Handle],
    options: &Options,
    times: &mut Option<File>,
    streams: &mut Streams<'_, R>,
) -> Result<(), Failure> {
    let interface = Arc::clone(context.interface());
    let signature = &interface.entries[entry];
    let timed_runs = options.runs.unwrap_or(1);
    let warm_ups = u64::from(options.runs.is_some());
    let mut last = None;
    for number in 0..warm_ups + timed_runs {
        let is_last = number + 1 == warm_ups + timed_runs;
        if let Some(result) = last.take() {
            context.release(result);
        }
        // Arguments that may be overwritten, of which the last run gets the originals.
        let mut originals = Vec::new();
        let mut overwritten = (0..args.len()).filter(|at| !is_last && signature.params[*at].unique);
        let copied = overwritten.try_for_each(|at| {
            let copy = context.duplicate(&args[at])?;
            originals.push((at, std::mem::replace(&mut args[at], copy)));
            Ok(())
        });
        // Clocks are read only if times are reported, as they are not free.
        let timed = options.log || times.is_some();
        let start = timed.then(Instant::now);
        let outcome = copied.and_then(|()| context.invoke(entry, args));
        let micros = start.map_or(0, |start| start.elapsed().as_micros());
        for (at, original) in originals {
            context.release(std::mem::replace(&mut args[at], original));
        }
        for line in context.comparisons().into_iter().chain(context.device_commands()) {
            log(streams.stderr, &line);
        }
        last = Some(outcome?);
        if number < warm_ups {
            context.restart_profile();
            continue;
        }
        if options.log {
            log(streams.stderr, &format!("`{}` took {micros} us", signature.name));
        }
        if let Some(file) = times {
            writeln!(file, "{micros}").map_err(|e| format!("cannot write the run time: {e}"))?;
        }
    }
    let Some(result) = last else { return Ok(()) };
    if !options.print_result {
        context.release(result);
        return Ok(());
    }
    let lines = context.components(result);
    let outcome = print_results(context, &lines, options.binary, streams.stdout);
    lines.into_iter().for_each(|line| context.release(line));
    outcome
}

fn print_results(
    context: &mut Context,
    lines: &[Handle],
    binary: bool,
    stdout: &mut dyn Write,
) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(64 << 10, stdout);
    for line in lines {
        let written = if context.interface().opaques.is_unit(line.ty()) {
            out.write_all(b"()")
        } else {
            let elements = context.value_type(line).and_then(|ty| Ok((ty, context.elements(line)?)));
            let ((ty, shape), elements) = match elements {
                Ok(value) => value,
                Err(failure) => {
                    out.flush().map_err(|e| write_failure(&e))?;
                    drop(out.into_parts());
                    return Err(failure.into());
                }
            };
            let bytes = elements.bytes();
            if binary {
                value::write_binary_header(&mut out, ty.scalar, &shape).and_then(|()| out.write_all(bytes))
            } else {
                value::write_text_array(&mut out, ty.scalar, &shape, bytes)
            }
        };
        written.and_then(|()| out.write_all(b"\n")).map_err(|e| write_failure(&e))?;
    }
    out.flush().map_err(|e| write_failure(&e))?;
    // Unflushed output was reported above; the buffer is empty.
    drop(out.into_parts());
    Ok(())
}

fn put(out: &mut dyn Write, bytes: &[u8]) -> Result<(), Failure> {
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| write_failure(&e))
}

fn write_failure(e: &io::Error) -> Failure {
    if e.kind() == io::ErrorKind::BrokenPipe {
        Failure::Quiet
    } else {
        Failure::Message(format!("cannot write the result: {e}"))
    }
}

/// Prints a line for information; errors are ignored.
fn log(stderr: &mut dyn Write, line: &str) {
    let _ = writeln!(stderr, "{line}");
}

/// Ends a context and reports memory that its program leaked.
fn check_leaks(context: Context, stderr: &mut dyn Write) {
    let leaked = context.finish();
    if leaked > 0 {
        log(stderr, &format!("the program leaked {leaked} bytes of memory; please report this."));
    }
}

/// Standard input without the buffer that `std::io` would allocate.
fn open_stdin() -> io::Result<File> {
    // SAFETY: the descriptor is only borrowed to be duplicated.
    let stdin = unsafe { BorrowedFd::borrow_raw(0) };
    Ok(File::from(stdin.try_clone_to_owned()?))
}

/// A reader that knows the remaining length of a regular file.
fn reader(mut stdin: File) -> Reader<File> {
    let length = stdin.metadata().ok().filter(fs::Metadata::is_file);
    let left = length.and_then(|m| m.len().checked_sub(stdin.stream_position().ok()?));
    match left {
        Some(left) => Reader::with_length(stdin, left),
        None => Reader::new(stdin),
    }
}

/// The whole of an executable's `main`; see [`crate::abi`].
///
/// # Safety
/// `argc` and `argv` must be the arguments of `main`, `program` a valid table that lives
/// as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_main(argc: i32, argv: *const *const c_char, program: *const Program) -> i32 {
    // SAFETY: by the caller's promise; the table lives as long as the process.
    let image = unsafe { Image::new(*program, Arc::new(())) };
    // SAFETY: by the caller's promise.
    unsafe { start(argc, argv, Code::One(image)) }
}

/// The same for a program with code for several processor levels.
///
/// # Safety
/// As for [`br_main`]; `levels` must point to `n` valid tables, in order of their
/// numbers, and code is run only on machines of its level.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_main_levels(
    argc: i32,
    argv: *const *const c_char,
    levels: *const LevelDesc,
    n: u64,
) -> i32 {
    let mut images = Vec::new();
    for at in 0..n as usize {
        // SAFETY: there are `n` of them.
        let LevelDesc { number, program } = unsafe { *levels.add(at) };
        let level = Level::ALL.into_iter().find(|l| *l as u64 == number);
        if let Some(level) = level {
            // SAFETY: by the caller's promise; the table lives as long as the process.
            images.push((level, unsafe { Image::new(*program, Arc::new(())) }));
        }
    }
    // SAFETY: by the caller's promise.
    unsafe { start(argc, argv, Code::Levels(images)) }
}

/// Runs a program as the only purpose of the process.
///
/// # Safety
/// `argc` and `argv` must be the arguments of `main`.
unsafe fn start(argc: i32, argv: *const *const c_char, code: Code) -> i32 {
    // A closed pipe becomes an error of `write` and does not kill the process.
    // SAFETY: no other handler is replaced; the process has just started.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let args: Vec<OsString> = (0..usize::try_from(argc).unwrap_or(0))
        .map(|i| {
            // SAFETY: `argv` holds `argc` strings that end with a zero byte.
            let arg = unsafe { CStr::from_ptr(*argv.add(i)) };
            OsString::from_vec(arg.to_bytes().to_vec())
        })
        .collect();
    // SAFETY: the descriptors are this process's standard streams; the handles are never dropped,
    // so nothing closes them.
    let (mut stdout, mut stderr) = unsafe {
        (std::mem::ManuallyDrop::new(File::from_raw_fd(1)), std::mem::ManuallyDrop::new(File::from_raw_fd(2)))
    };
    let stdin = match open_stdin() {
        Ok(stdin) => {
            if stdin.is_terminal() {
                log(&mut *stderr, "Reading arguments from the terminal; Ctrl-D ends them.");
            }
            reader(stdin)
        }
        Err(e) => {
            let _ = writeln!(stderr, "cannot read standard input: {e}");
            return 1;
        }
    };
    run(code, args, Streams { stdin, stdout: &mut *stdout, stderr: &mut *stderr })
}
