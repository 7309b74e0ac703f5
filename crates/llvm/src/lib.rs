//! From the imperative IR to machine code with LLVM 19.
//!
//! [`compile`] verifies a program, takes it apart into modules, emits LLVM code
//! for each function and each task's body, and runs LLVM's optimisations for the
//! processor that is asked for, module beside module. Out come text, assembly or
//! object files, one for each module; [`Jit`] links objects into this process.
//!
//! Contracts. No fast-math flag reaches LLVM and nothing is contracted: scalar
//! operators mean what `prim::eval` says, bit for bit (NaNs up to their payload).
//! Every generated function returns a status; on failure it has given back what
//! it owned. The runtime's `abi` describes what generated code calls and exports.
//! The same program and options give the same bytes, with any number of threads.
//!
//! | module | holds |
//! |---|---|
//! | `types`, `ops` | LLVM types and constants; operators |
//! | `emit`, `metadata` | declarations, constants, attributes; facts for LLVM |
//! | `function`, `stmt`, `lanes`, `loops`, `tasks`, `copy`, `transpose` | code of functions |
//! | `results` | how functions give their results |
//! | `device` | what the host does with a device: memory, launches |
//! | `entries`, `tables` | exported functions, the program's description |
//! | `parts` | which module has what |
//! | `target`, `passes`, `masks`, `module`, `jit` | machine, pipeline, outputs |

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod copy;
mod device;
mod emit;
mod entries;
mod error;
mod frames;
mod function;
mod jit;
mod lanes;
mod loops;
mod masks;
mod metadata;
mod module;
mod ops;
mod parts;
mod passes;
mod results;
mod stmt;
mod tables;
mod target;
mod tasks;
mod transpose;
mod tunables;
mod types;

use workers::Workers;

pub use device::{DeviceCode, Target as DeviceTarget};
pub use error::Error;
pub use jit::Jit;
pub use module::Output;
pub use tables::{ABI_VERSION, PROGRAM_SYMBOL};
pub use target::describe as machine;

/// What code is made for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The processor: `native`, `generic`, or a name such as `x86-64-v3`.
    pub cpu: String,
    /// LLVM's optimisation level, 0 to 3.
    pub opt_level: u8,
    /// Whether the object gets a `main` that starts the runtime.
    pub start: Start,
    /// What all symbols that the object exports end in.
    pub suffix: &'static str,
    /// The code of the program's kernels, where it has some.
    pub device: Option<DeviceCode>,
    /// Who compiles modules side by side; the bytes do not depend on it.
    pub workers: Workers,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cpu: "native".to_owned(),
            opt_level: 3,
            start: Start::Nothing,
            suffix: "",
            device: None,
            workers: Workers::default(),
        }
    }
}

/// What an object starts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Start {
    /// Nothing: it has no `main`.
    #[default]
    Nothing,
    /// Its program.
    Program,
    /// The best program for the processor that it is started on, of several for
    /// levels of processors: their numbers and the suffixes of their symbols. One
    /// of them is its own.
    Best(Vec<(u64, &'static str)>),
}

/// Compiles a program: the bytes of each module, in order.
///
/// # Errors
/// [`Error::Unsupported`] for what the back end cannot do yet, [`Error::Usage`]
/// for an unknown processor, [`Error::Bug`] for an invalid program.
pub fn compile(program: &imp::Program, options: &Options, output: Output) -> Result<Vec<Vec<u8>>, Error> {
    if let Err(errors) = imp::verify(program) {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let shown = imp::print(program);
        return Err(Error::bug(format_args!("invalid imperative IR: {}\n{shown}", texts.join("; "))));
    }
    let kernels = imp::kernels::kernels(program).len();
    let known = options.device.as_ref().map(|code| code.names.len());
    if known != imp::kernels::uses_device(program).then_some(kernels) {
        return Err(Error::bug("the code of the program's kernels is missing"));
    }
    module::compile(program, options, output)
}

/// The modules' assembly or LLVM code as one text.
///
/// # Errors
/// As [`compile`].
pub fn text(program: &imp::Program, options: &Options, output: Output) -> Result<String, Error> {
    let parts = compile(program, options, output)?;
    let texts = parts.iter().map(|part| {
        let text = String::from_utf8_lossy(part);
        text.trim_end_matches('\0').to_owned()
    });
    Ok(texts.collect::<Vec<_>>().join("\n"))
}
