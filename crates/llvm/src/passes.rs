//! LLVM's optimisation pipeline.

use crate::error::{Error, Res};
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::TargetMachine;

/// Verifies the module, optimises it at a level from 0 to 3, and verifies it again.
pub fn optimise(module: &Module<'_>, machine: &TargetMachine, level: u8) -> Res<()> {
    verify(module, "before passes")?;
    let options = PassBuilderOptions::create();
    options.set_loop_vectorization(level >= 2);
    options.set_loop_interleaving(level >= 2);
    options.set_loop_slp_vectorization(level >= 2);
    options.set_loop_unrolling(level >= 2);
    let pipeline = format!("default<O{}>", level.min(3));
    module.run_passes(&pipeline, machine, options).map_err(Error::bug)?;
    verify(module, "after passes")
}

/// Returns an error if a module is not valid LLVM code.
pub fn verify(module: &Module<'_>, when: &str) -> Res<()> {
    module.verify().map_err(|error| Error::bug(format_args!("invalid LLVM code {when}: {error}")))
}
