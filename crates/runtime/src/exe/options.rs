//! The command line of an executable, with the options of the reference compiler's executables.

mod device;

pub use device::{DeviceOptions, KernelFile};

use super::levels::Level;
use crate::tuning_params::{self, Assignment};
use lexopt::prelude::*;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The options of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// Entry point to run.
    pub entry: String,
    /// Number of timed runs; `None`: one run without a warm-up.
    pub runs: Option<u64>,
    /// The file for run times.
    pub runtime_file: Option<PathBuf>,
    /// Write results in the binary format.
    pub binary: bool,
    /// Write results at all.
    pub print_result: bool,
    /// Log to standard error.
    pub log: bool,
    /// Print the counters at the end.
    pub profile: bool,
    /// Check for leaks at the end.
    pub debug: bool,
    /// Number of threads.
    pub num_threads: Option<usize>,
    /// Memory limit in bytes.
    pub memory_limit: Option<u64>,
    /// The processor level whose code is run.
    pub cpu_level: Option<Level>,
    /// Log comparisons with tuning parameters.
    pub log_versions: bool,
    /// Print the values of tuning parameters instead of running.
    pub print_values: bool,
    /// The assignments to tuning parameters, in order.
    pub params: Vec<Assignment>,
    /// The device to run on, and its kernels.
    pub device: DeviceOptions,
}

/// The action that the command line requests.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// Run an entry point.
    Run(Box<Options>),
    /// Print the help text.
    Help,
    /// Print the tuning parameters.
    PrintParams,
    /// Print the available devices.
    ListDevices,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            entry: "main".to_owned(),
            runs: None,
            runtime_file: None,
            binary: false,
            print_result: true,
            log: false,
            log_versions: false,
            print_values: false,
            profile: false,
            debug: false,
            num_threads: None,
            memory_limit: None,
            cpu_level: None,
            params: Vec::new(),
            device: DeviceOptions::default(),
        }
    }
}

struct Line {
    short: Option<char>,
    long: &'static str,
    value: Option<&'static str>,
    help: &'static str,
}

const fn line(
    short: Option<char>,
    long: &'static str,
    value: Option<&'static str>,
    help: &'static str,
) -> Line {
    Line { short, long, value, help }
}

const LINES: &[Line] = &[
    line(Some('h'), "help", None, "Print this text and exit."),
    line(Some('e'), "entry-point", Some("NAME"), "Run this entry point instead of `main`."),
    line(
        Some('r'),
        "runs",
        Some("N"),
        "Run once to warm up and then N times; only the last result is printed.",
    ),
    line(
        Some('t'),
        "write-runtime-to",
        Some("FILE"),
        "Write the time of each run to FILE, in microseconds, one per line.",
    ),
    line(Some('b'), "binary-output", None, "Print results in the binary format."),
    line(Some('n'), "no-print-result", None, "Do not print results."),
    line(
        Some('D'),
        "debugging",
        None,
        "Log everything, print the counters of -P, and check that all memory is released.",
    ),
    line(Some('L'), "log", None, "Log threads, comparisons and run times to standard error."),
    line(None, "log-versions", None, "Log each comparison with a tuning parameter; --log does so too."),
    line(
        Some('P'),
        "profile",
        None,
        "Print counters and the times of launches, copies and nests at the end.",
    ),
    line(None, "num-threads", Some("N"), "Use N threads; the default is the number of processors."),
    line(
        None,
        "memory-limit",
        Some("BYTES"),
        "Fail rather than use more memory; K, M, G, T may follow the number.",
    ),
    line(
        None,
        "cpu-level",
        Some("LEVEL"),
        "Run the code for processor level v2, v3 or v4 instead of the best.",
    ),
    line(None, "param", Some("NAME=N"), "Set a tuning parameter."),
    line(None, "tuning", Some("FILE"), "Set tuning parameters from a file of lines NAME=N."),
    line(None, "print-params", None, "Print the tuning parameters and their classes, and exit."),
    line(None, "print-values", None, "Print the tuning parameters' values as a tuning file, and exit."),
];

/// The help text of the program called `name`.
pub fn help(name: &str) -> String {
    let mut text = format!(
        "Usage: {name} [OPTION...]\n\nReads the arguments of an entry point from standard input and prints its\nresults to standard output.\n\nOptions:\n"
    );
    for option in LINES.iter().chain(device::LINES) {
        let short = option.short.map_or("    ".to_owned(), |c| format!("-{c}, "));
        let value = option.value.map_or(String::new(), |v| format!("={v}"));
        let left = format!("{short}--{}{value}", option.long);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {left:<31} {}", option.help);
    }
    text
}

/// Parses the arguments after the program's name.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    parse_args(args).map_err(|e| format!("{e}; --help lists the options"))
}

fn parse_args(args: impl IntoIterator<Item = OsString>) -> Result<Command, lexopt::Error> {
    let mut options = Options::default();
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("print-params") => return Ok(Command::PrintParams),
            Long("list-devices") => return Ok(Command::ListDevices),
            Short('d') => options.device.name = Some(parser.value()?.string()?),
            Short('p') => options.device.platform = Some(parser.value()?.string()?),
            Short('e') | Long("entry-point") => options.entry = parser.value()?.string()?,
            Short('r') | Long("runs") => {
                let runs = parser.value()?.parse_with(|text| match text.parse() {
                    Ok(n) if n > 0 => Ok(n),
                    _ => Err("the number of runs must be positive"),
                })?;
                options.runs = Some(runs);
            }
            Short('t') | Long("write-runtime-to") => {
                options.runtime_file = Some(parser.value()?.into());
            }
            Short('b') | Long("binary-output") => options.binary = true,
            Short('n') | Long("no-print-result") => options.print_result = false,
            Short('D') | Long("debugging") => {
                options.debug = true;
                options.log = true;
                options.log_versions = true;
                options.profile = true;
            }
            Short('L') | Long("log") => {
                options.log = true;
                options.log_versions = true;
            }
            Long("log-versions") => options.log_versions = true,
            Long("print-values") => options.print_values = true,
            Short('P') | Long("profile") => options.profile = true,
            Long("num-threads") => {
                let n = parser.value()?.parse_with(|text| match text.parse() {
                    Ok(n) if n <= MAX_THREADS => Ok(n),
                    _ => Err(format!(
                        "the number of threads must be between 0 (one for each core) and {MAX_THREADS}"
                    )),
                })?;
                options.num_threads = (n > 0).then_some(n);
            }
            Long("memory-limit") => {
                options.memory_limit = Some(parser.value()?.parse_with(parse_bytes)?);
            }
            Long("cpu-level") => {
                let level = parser
                    .value()?
                    .parse_with(|text| Level::from_name(text).ok_or("the level must be v2, v3 or v4"))?;
                options.cpu_level = Some(level);
            }
            Long("param") => {
                let param = parser.value()?.parse_with(Assignment::parse)?;
                options.params.push(param);
            }
            Long("tuning") => {
                let file = PathBuf::from(parser.value()?);
                options.params.extend(tuning_params::read_file(&file)?);
            }
            Long(name) => {
                let name = name.to_owned();
                if !options.device.take(&name, &mut parser)? {
                    return Err(Long(&name).unexpected());
                }
            }
            _ => return Err(arg.unexpected()),
        }
    }
    Ok(Command::Run(Box::new(options)))
}

const MAX_THREADS: usize = 4096;

fn parse_bytes(text: &str) -> Result<u64, &'static str> {
    let wrong = "must be a number of bytes, perhaps followed by K, M, G or T";
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        Some((at, 'T' | 't')) => (&text[..at], 40),
        _ => (text, 0),
    };
    let n: u64 = digits.parse().map_err(|_| wrong)?;
    n.checked_mul(1 << shift).ok_or(wrong)
}

#[cfg(test)]
mod tests {
    use super::{Assignment, Command, DeviceOptions, KernelFile, Level, Options, help, parse};

    fn parsed(args: &[&str]) -> Result<Command, String> {
        parse(args.iter().map(Into::into))
    }

    #[test]
    fn accepts_every_spelling_of_the_reference() {
        let expected = Options {
            entry: "dot".to_owned(),
            runs: Some(10),
            runtime_file: Some("/tmp/t".into()),
            binary: true,
            print_result: false,
            num_threads: Some(3),
            memory_limit: Some(2 << 30),
            cpu_level: Some(Level::V3),
            params: vec![Assignment::parse("main.tile=16").expect("an assignment")],
            device: DeviceOptions {
                name: Some("#1 quick".to_owned()),
                platform: Some("v".to_owned()),
                build_options: vec!["-cl-opt-disable".to_owned()],
                cache_file: Some("x".into()),
                dump: Some(KernelFile { target: "cuda", compiled: false, file: "y".into() }),
                load: Some(KernelFile { target: "opencl", compiled: false, file: "z".into() }),
                default_threshold: Some(7),
                without_effect: vec!["default-group-size", "default-tile-size"],
            },
            ..Options::default()
        };
        let short = parsed(&[
            "-e",
            "dot",
            "-r10",
            "-t",
            "/tmp/t",
            "-bn",
            "--num-threads=3",
            "--memory-limit",
            "2G",
            "--cpu-level=v3",
            "--param=main.tile=16",
            "--cache-file=x",
            "-d#1 quick",
            "-pv",
            "--build-option=-cl-opt-disable",
            "--dump-cuda=y",
            "--load-opencl=z",
            "--default-threshold=7",
            "--default-group-size=256",
            "--default-tile-size=16",
        ]);
        assert_eq!(short, Ok(Command::Run(Box::new(expected))));
        let long = parsed(&[
            "--entry-point=dot",
            "--runs",
            "10",
            "--write-runtime-to=/tmp/t",
            "--binary-output",
            "--no-print-result",
            "--num-threads",
            "3",
            "--memory-limit=2147483648",
            "--cpu-level",
            "v3",
            "--param",
            "main.tile=16",
            "--cache-file",
            "x",
            "--device",
            "#1 quick",
            "--platform",
            "v",
            "--nvrtc-option",
            "-cl-opt-disable",
            "--dump-cuda",
            "y",
            "--load-opencl",
            "z",
            "--default-threshold",
            "7",
            "--default-group-size",
            "128",
            "--default-tile-size",
            "32",
        ]);
        assert_eq!(long, short);
        assert_eq!(parsed(&["-h"]), Ok(Command::Help));
        assert_eq!(parsed(&["--print-params"]), Ok(Command::PrintParams));
        assert_eq!(parsed(&["--list-devices"]), Ok(Command::ListDevices));
        assert!(help("a.out").lines().all(|line| line.chars().count() < 120));
    }

    #[test]
    fn errors_name_the_wrong_option() {
        for (args, part) in [
            (&["--frobnicate"][..], "--frobnicate"),
            (&["-r", "0"], "positive"),
            (&["-r", "many"], "positive"),
            (&["-e"], "-e"),
            (&["--num-threads=-1"], "between 0 (one for each core) and 4096"),
            (&["--memory-limit=99999999T"], "bytes"),
            (&["--cpu-level=v5"], "v4"),
            (&["--param=x"], "NAME=N"),
            (&["--tuning=/does/not/exist"], "/does/not/exist"),
            (&["input.in"], "input.in"),
        ] {
            let message = parsed(args).expect_err("must be refused");
            assert!(message.contains(part), "{message}");
        }
    }
}
