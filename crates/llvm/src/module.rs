//! Compiled modules and what can be had from them: text, assembly, an object.

use crate::emit::Emit;
use crate::error::{Error, Res};
use crate::target::Processor;
use crate::{Options, Start, entries, function, masks, metadata, passes, tables, target};
use imp::Program;
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::targets::{FileType, TargetMachine};
use std::mem::ManuallyDrop;

/// A program as LLVM code, optimised.
pub struct Module {
    /// Refers to `context`, hence freed before it.
    code: ManuallyDrop<inkwell::module::Module<'static>>,
    machine: TargetMachine,
    context: ManuallyDrop<Box<Context>>,
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: neither is used afterwards, and the module goes first.
        unsafe {
            ManuallyDrop::drop(&mut self.code);
            ManuallyDrop::drop(&mut self.context);
        }
    }
}

impl Module {
    /// Emits and optimises a verified program.
    pub(crate) fn compile(program: &Program, options: &Options) -> Res<Self> {
        let level = match options.opt_level {
            0 => OptimizationLevel::None,
            1 => OptimizationLevel::Less,
            2 => OptimizationLevel::Default,
            _ => OptimizationLevel::Aggressive,
        };
        let processor = Processor::new(&options.cpu)?;
        let machine = target::machine(&processor, level)?;
        let context = Box::new(Context::create());
        let code = {
            let (module, metadata) = metadata::module(&context, program)?;
            module.set_name(&program.source_name);
            module.set_source_file_name(&program.source_name);
            module.set_triple(&machine.get_triple());
            module.set_data_layout(&machine.get_target_data().get_data_layout());
            let emit = Emit::new(&context, module, metadata, program, processor)?;
            emit_program(&emit, options)?;
            passes::optimise(&emit.module, &machine, options.opt_level)?;
            if !emit.processor.has_masks() {
                masks::widen(&context, &emit.module)?;
                passes::verify(&emit.module, "with wide masks")?;
            }
            // SAFETY: `drop` frees the module before the context, whose place
            // in memory does not change, and nobody can take it out.
            unsafe {
                std::mem::transmute::<inkwell::module::Module<'_>, inkwell::module::Module<'static>>(
                    emit.module,
                )
            }
        };
        Ok(Self {
            code: ManuallyDrop::new(code),
            machine,
            context: ManuallyDrop::new(context),
        })
    }

    /// LLVM's text form.
    pub fn to_ir_text(&self) -> String {
        self.code.print_to_string().to_string()
    }

    /// Assembly text.
    pub fn to_assembly(&self) -> Result<String, Error> {
        let bytes = self.write(FileType::Assembly)?;
        Ok(String::from_utf8_lossy(&bytes)
            .trim_end_matches('\0')
            .to_owned())
    }

    /// A relocatable object file.
    pub fn to_object(&self) -> Result<Vec<u8>, Error> {
        self.write(FileType::Object)
    }

    fn write(&self, ty: FileType) -> Res<Vec<u8>> {
        // Making machine code changes the module, so a copy is taken: outputs
        // do not depend on what was asked for before. (Copying wants a valid
        // module, which this one is known to be.)
        let copy = ManuallyDrop::into_inner(self.code.clone());
        let buffer = self
            .machine
            .write_to_memory_buffer(&copy, ty)
            .map_err(Error::bug)?;
        Ok(buffer.as_slice().to_vec())
    }
}

fn emit_program(emit: &Emit<'_, '_>, options: &Options) -> Res<()> {
    for (f, value) in emit.program.functions.iter().zip(&emit.functions) {
        function::function(emit, f, *value)?;
    }
    let mut exported = Vec::new();
    for entry in &emit.program.entries {
        exported.push((entry, entries::entry(emit, entry, options.suffix)?));
    }
    let init = emit
        .program
        .init
        .map(|id| entries::init(emit, id, options.suffix))
        .transpose()?;
    let fini = init
        .map(|_| entries::fini(emit, options.suffix))
        .transpose()?;
    let table = tables::program(emit, &exported, init, fini, options.suffix);
    match &options.start {
        Start::Nothing => Ok(()),
        Start::Program => entries::main(emit, "br_main", &[table.into()]),
        Start::Best(levels) => {
            let levels = tables::levels(emit, levels);
            entries::main(emit, "br_main_levels", &levels)
        }
    }
}
