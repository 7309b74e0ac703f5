//! Compiles the imperative IR to machine code with LLVM 19.
//!
//! [`compile`] verifies a program, partitions it into modules, emits LLVM code for each function
//! and each task body, and runs LLVM's optimisations for the requested processor, the modules in
//! parallel. The output is text, assembly or object files, one for each module; [`Jit`] links
//! objects into this process.
//!
//! Contracts. No fast-math flag reaches LLVM and nothing is contracted: scalar operators mean what
//! `prim::eval` says, bit for bit (NaNs up to their payload). Every generated function returns a
//! status; on failure it has released what it owned. The runtime's `abi` describes the functions
//! that generated code calls and exports. The same program and options give the same bytes, with
//! any number of threads.
//!
//! | module | contents |
//! |---|---|
//! | `types`, `ops` | LLVM types and constants; operators |
//! | `emit`, `metadata` | declarations, constants, attributes; metadata for LLVM |
//! | `function`, `stmt`, `lanes`, `loops`, `tasks`, `copy`, `transpose` | code of functions |
//! | `results` | the calling convention for results |
//! | `device` | the host's device operations: memory, launches |
//! | `tunables` | tuning parameters and logged comparisons |
//! | `entries`, `tables` | exported functions, the program's description |
//! | `parts`, `frames` | partition into modules; stack used by frame arrays |
//! | `target`, `passes`, `masks`, `module`, `jit` | target machine, pass pipeline, outputs |

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod copy;
mod device;
mod emit;
mod entries;
mod error;
mod function;
mod jit;
mod loops;
mod metadata;
mod module;
mod ops;
mod partition;
mod passes;
mod program_table;
mod quiet;
mod results;
mod stack_use;
mod stmt;
mod target;
mod tasks;
mod transpose;
mod tunables;
mod types;
mod vector_memory;
mod widen_masks;

use imp::Verified;
use workers::Workers;

pub use device::{DeviceCode, KernelLanguage as DeviceTarget};
pub use error::Error;
pub use jit::Jit;
pub use module::Output;
pub use program_table::{ABI_VERSION, PROGRAM_SYMBOL};
pub use target::describe as machine;

/// The target and form of the generated code.
#[derive(Clone, Debug)]
pub struct Options {
    /// The processor: `native`, `generic`, or a name such as `x86-64-v3`.
    pub cpu: String,
    /// LLVM's optimisation level, 0 to 3.
    pub opt_level: u8,
    /// The entry function that the object gets, if any: its `main` starts the runtime.
    pub start: Start,
    /// Suffix of all symbols that the object exports.
    pub suffix: &'static str,
    /// The code of the program's kernels, if it has kernels.
    pub device: Option<DeviceCode>,
    /// The threads that compile modules in parallel; the bytes do not depend on them.
    pub workers: Workers,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cpu: "native".to_owned(),
            opt_level: 3,
            start: Start::None,
            suffix: "",
            device: None,
            workers: Workers::default(),
        }
    }
}

/// The program that an object's `main` starts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Start {
    /// None: the object has no `main`.
    #[default]
    None,
    /// The object's own program.
    Program,
    /// The best of several programs, compiled for several processor levels, for the processor on
    /// which it is started: the levels' numbers and the suffixes of their symbols. One of them is
    /// the object's own.
    BestLevel(Vec<(u64, &'static str)>),
}

/// Compiles a program and returns the bytes of each module, in order.
///
/// # Errors
/// [`Error::Unsupported`] for features that the back end does not support yet, [`Error::Usage`] for
/// an unknown processor.
pub fn compile(program: &Verified, options: &Options, output: Output) -> Result<Vec<Vec<u8>>, Error> {
    let kernels = imp::kernels::kernels(program).len();
    let known = options.device.as_ref().map(|code| code.names.len());
    if known != imp::kernels::uses_device(program).then_some(kernels) {
        return Err(Error::bug("the options do not have the code of the program's kernels"));
    }
    module::compile(program, options, output)
}

/// Returns the modules' assembly or LLVM code as one text.
///
/// # Errors
/// As [`compile`].
pub fn text(program: &Verified, options: &Options, output: Output) -> Result<String, Error> {
    let parts = compile(program, options, output)?;
    let texts = parts.iter().map(|part| {
        let text = String::from_utf8_lossy(part);
        text.trim_end_matches('\0').to_owned()
    });
    Ok(texts.collect::<Vec<_>>().join("\n"))
}
