//! `bindrune data`: generates random values, and converts values between formats.
//!
//! As in the reference compiler's `dataset`, an option applies to the options after it. The
//! arguments are therefore kept in their order.

use crate::common;
use clap::{Arg, ArgAction, ArgMatches, Command};
use harness::random::{Bounds, generate, parse};
use prim::ScalarType;
use std::io::{BufWriter, Write};
use std::process::ExitCode;
use value::{Reader, Value, write_binary, write_text};

/// The options in command-line order.
pub struct Args {
    arguments: Vec<Argument>,
}

#[derive(Clone, PartialEq, Debug)]
enum Argument {
    Form(OutputFormat),
    Seed(u64),
    Bounds(ScalarType, String),
    Generate(String),
}

/// An output format.
#[derive(Clone, Copy, PartialEq, Debug)]
enum OutputFormat {
    Text,
    Binary,
    Type,
}

/// The format switches: name, short name, format, help text.
const FORMS: [(&str, Option<char>, OutputFormat, &str); 3] = [
    ("binary", Some('b'), OutputFormat::Binary, "Write values after this option in the binary format"),
    ("text", None, OutputFormat::Text, "Write values after this option in the text format, the default"),
    (
        "type",
        Some('t'),
        OutputFormat::Type,
        "Write the types of values after this option instead of the values",
    ),
];

impl clap::Args for Args {
    fn augment_args(cmd: Command) -> Command {
        let mut cmd = cmd.arg(
            Arg::new("generate")
                .short('g')
                .long("generate")
                .value_name("TYPE")
                .action(ArgAction::Append)
                .allow_hyphen_values(true)
                .help("Generate a random value of a type such as `[1000]f32`, or write the given value"),
        );
        for (name, short, _, help) in FORMS {
            let mut arg = Arg::new(name)
                .long(name)
                .action(ArgAction::Append)
                .num_args(0)
                .default_missing_value("yes")
                .help(help);
            if let Some(short) = short {
                arg = arg.short(short);
            }
            cmd = cmd.arg(arg);
        }
        cmd = cmd.arg(
            Arg::new("seed")
                .short('s')
                .long("seed")
                .value_name("INT")
                .action(ArgAction::Append)
                .value_parser(clap::value_parser!(i64))
                .allow_hyphen_values(true)
                .help("The seed of values after this option; 1 by default"),
        );
        for ty in ScalarType::ALL {
            cmd = cmd.arg(
                Arg::new(ty.name())
                    .long(format!("{ty}-bounds"))
                    .value_name("MIN:MAX")
                    .action(ArgAction::Append)
                    .allow_hyphen_values(true)
                    .help(format!("Bounds of elements of type {ty} in values after this option")),
            );
        }
        cmd
    }

    fn augment_args_for_update(cmd: Command) -> Command {
        Self::augment_args(cmd)
    }
}

impl clap::FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut steps: Vec<(usize, Argument)> = Vec::new();
        let mut add = |name: &str, make: &dyn Fn(String) -> Argument| {
            let (Some(indices), Some(values)) = (matches.indices_of(name), matches.get_many::<String>(name))
            else {
                return;
            };
            steps.extend(indices.zip(values.map(|value| make(value.clone()))));
        };
        add("generate", &Argument::Generate);
        for (name, _, form, _) in FORMS {
            add(name, &|_| Argument::Form(form));
        }
        for ty in ScalarType::ALL {
            add(ty.name(), &|text| Argument::Bounds(*ty, text));
        }
        if let (Some(indices), Some(values)) = (matches.indices_of("seed"), matches.get_many::<i64>("seed")) {
            let seeds = values.map(|seed| Argument::Seed(seed.cast_unsigned()));
            steps.extend(indices.zip(seeds));
        }
        steps.sort_by_key(|(index, _)| *index);
        Ok(Self { arguments: steps.into_iter().map(|(_, step)| step).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Generates or converts values.
pub fn run(args: Args) -> ExitCode {
    match write_all(&args.arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => common::report_error(message),
    }
}

fn write_all(steps: &[Argument]) -> Result<(), String> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let (mut form, mut bounds, mut seed) = (OutputFormat::Text, Bounds::default(), 1u64);
    let mut generated = 0u64;
    for step in steps {
        match step {
            Argument::Form(new) => form = *new,
            Argument::Seed(new) => seed = *new,
            Argument::Bounds(ty, text) => bounds.set(*ty, text)?,
            Argument::Generate(text) => {
                let types = parse(text)?;
                if types.is_empty() {
                    return Err("no type or value is given; give a type such as `[10]i32`".to_owned());
                }
                let values = generate(&types, &bounds, seed.wrapping_add(generated << 20))?;
                generated += values.len() as u64;
                for value in values {
                    write(&mut out, &value, form)?;
                }
            }
        }
    }
    if !steps.iter().any(|step| matches!(step, Argument::Generate(_))) {
        let stdin = Reader::stdin().map_err(|e| format!("cannot read standard input: {e}"));
        let mut stdin = stdin?;
        while let Some(value) = stdin.read_any().map_err(|e| e.to_string())? {
            write(&mut out, &value, form)?;
        }
    }
    out.flush().map_err(|e| unwritten(&e))
}

fn write(out: &mut dyn Write, value: &Value, form: OutputFormat) -> Result<(), String> {
    let written = match form {
        OutputFormat::Text => write_text(out, value).and_then(|()| out.write_all(b"\n")),
        OutputFormat::Binary => write_binary(out, value),
        OutputFormat::Type => {
            let mut dims = value.shape().iter();
            dims.try_for_each(|dim| write!(out, "[{dim}]"))
                .and_then(|()| writeln!(out, "{}", value.scalar_type()))
        }
    };
    written.map_err(|e| unwritten(&e))
}

fn unwritten(e: &std::io::Error) -> String {
    format!("cannot write the values: {e}")
}
