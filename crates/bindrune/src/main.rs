//! The command line: one module per subcommand; files, terminals, exit codes.

mod bench;
mod build;
mod check_command;
mod common;
mod compile;
mod data;
mod dev;
mod explain;
mod interpret;
mod memory;
mod panics;
mod progress;
mod repl;
mod run;
mod source;
mod test;
mod tune;
mod tuning;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::Allocator;

/// An optimising compiler for the array language Futhark.
#[derive(Parser)]
#[command(name = "bindrune", version, propagate_version = true, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile a program and run it in this process. Arguments come from standard input; results
    /// go to standard output.
    Run(run::Args),
    /// Compile a program to an executable.
    Build(build::Args),
    /// Compile a program to C, and the C to an executable; both are written.
    C(compile::Args),
    /// Compile a program to an executable for all cores of the processor.
    Multicore(compile::Args),
    /// Compile a program to an executable for OpenCL devices.
    Opencl(compile::Args),
    /// Compile a program to an executable for NVIDIA GPUs.
    Cuda(compile::Args),
    /// Compile a program to an executable for AMD GPUs.
    Hip(compile::Args),
    /// Check a program for errors.
    Check(check_command::Args),
    /// Run the tests in programs' test blocks.
    Test(test::Args),
    /// Measure the run times of programs on the data sets of their test blocks.
    Bench(bench::Args),
    /// Find the best values of tuning parameters for a program's data sets.
    #[command(alias = "autotune")]
    Tune(tune::Args),
    /// Compare two results of `bench --json`.
    Benchcmp(bench::CompareArgs),
    /// Generate random values, or convert values between formats.
    Data(data::Args),
    /// Evaluate expressions and declarations as they are entered.
    Repl(repl::Args),
    /// Report optimisation remarks: what fused, what runs in parallel, which checks and copies
    /// remain, and why.
    Explain(explain::Args),
    /// Inspect the compiler: print any stage, or continue from IR text.
    Dev(dev::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version text go to standard output and exit with 0.
            let code = u8::from(error.use_stderr());
            return match error.print() {
                Ok(()) => ExitCode::from(code),
                Err(_) => ExitCode::FAILURE,
            };
        }
    };
    if !matches!(cli.command, Command::Test(_)) {
        panics::install_hook();
    }
    match cli.command {
        // Compiled code runs on the system's stack, so `run` is not moved to the large one.
        Command::Run(args) => run::run(args),
        command => driver::on_large_stack(|| compile(command)),
    }
}

fn compile(command: Command) -> ExitCode {
    match command {
        Command::Run(args) => run::run(args),
        Command::Build(args) => build::run(args),
        Command::C(args) => compile::command(args, "c"),
        Command::Multicore(args) => compile::command(args, "multicore"),
        Command::Opencl(args) => compile::command(args, "opencl"),
        Command::Cuda(args) => compile::command(args, "cuda"),
        Command::Hip(args) => compile::command(args, "hip"),
        Command::Check(args) => check_command::run(args),
        Command::Test(args) => test::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Tune(args) => tune::run(args),
        Command::Benchcmp(args) => bench::compare(args),
        Command::Data(args) => data::run(args),
        Command::Repl(args) => repl::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Dev(args) => dev::run(args),
    }
}
