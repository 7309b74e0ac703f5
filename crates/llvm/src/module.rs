//! Compiles a program's parts to LLVM text, assembly or object files.
//!
//! Each part has an LLVM context of its own, which lives on one thread and is dropped as soon as
//! the bytes exist, so that at most as many are in memory as there are workers.

use crate::emit::Emit;
use crate::error::{Error, Res};
use crate::partition::{Partition, outlined_tasks};
use crate::target::Processor;
use crate::{Options, Start, entries, function, metadata, passes, program_table, target, tasks, widen_masks};
use imp::{DataId, Program};
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::targets::FileType;

/// The form of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// An object file.
    Object,
    /// Assembly of the target.
    Assembly,
    /// LLVM's text form, optimised.
    Ir,
}

/// Compiles the parts of a verified program in parallel.
pub fn compile(program: &Program, options: &Options, output: Output) -> Res<Vec<Vec<u8>>> {
    let plan = Partition::new(program);
    let parts = (0..plan.count).collect();
    let compile = |part| compile_part(program, (&plan, part), options, output);
    let done = options.workers.map(parts, compile);
    done.into_iter().collect()
}

/// Emits and optimises a part, and returns its bytes.
fn compile_part(
    program: &Program,
    (plan, part): (&Partition, usize),
    options: &Options,
    output: Output,
) -> Res<Vec<u8>> {
    let level = match options.opt_level {
        0 => OptimizationLevel::None,
        1 => OptimizationLevel::Less,
        2 => OptimizationLevel::Default,
        _ => OptimizationLevel::Aggressive,
    };
    let processor = Processor::new(&options.cpu)?;
    let machine = target::machine(&processor, level)?;
    let context = Context::create();
    let (module, metadata) = metadata::module(&context, access_groups(program, plan, part))?;
    module.set_name(&program.source_name);
    module.set_source_file_name(&program.source_name);
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    let emit = Emit::new(&context, module, metadata, program, (plan, part, options.suffix), processor)?;
    emit_part(&emit, options)?;
    passes::optimise(&emit.module, &machine, options.opt_level)?;
    if !emit.processor.has_masks() {
        widen_masks::widen(&context, &emit.module)?;
        passes::verify(&emit.module, "with wide masks")?;
    }
    let file = match output {
        Output::Ir => return Ok(emit.module.print_to_string().to_bytes().to_vec()),
        Output::Object => FileType::Object,
        Output::Assembly => FileType::Assembly,
    };
    let buffer = machine.write_to_memory_buffer(&emit.module, file);
    Ok(buffer.map_err(Error::bug)?.as_slice().to_vec())
}

/// An upper bound on the number of access groups that a part's independent loops require.
fn access_groups(program: &Program, plan: &Partition, part: usize) -> usize {
    let functions = program.functions.iter().enumerate();
    let count = functions.map(|(id, function)| match plan.module_of(id) {
        Some(home) if home != part => outlined_tasks(function, plan, part)
            .into_iter()
            .map(|task| metadata::independent_loops(&task.body) + 1)
            .sum(),
        _ => metadata::independent_loops(&function.body),
    });
    count.sum()
}

fn emit_part(emit: &Emit<'_, '_>, options: &Options) -> Res<()> {
    for (id, f) in emit.program.functions.iter().enumerate() {
        if emit.plan.module_of(id) == Some(emit.part) {
            function::function(emit, f, id)?;
        } else {
            for task in outlined_tasks(f, emit.plan, emit.part) {
                tasks::outlined(emit, f, emit.plan.facts(id, f), task)?;
            }
        }
    }
    let mut exported = Vec::new();
    for entry in &emit.program.entries {
        let home = emit.plan.module_of(entry.fun.index()).unwrap_or_default();
        if home == emit.part {
            exported.push((entry, entries::entry(emit, entry)?));
        } else if emit.part == 0 {
            exported.push((entry, entries::entry_elsewhere(emit, entry)));
        }
    }
    if emit.part == 0 {
        let init = emit.program.init.map(|id| entries::init(emit, id)).transpose()?;
        let fini = init.map(|_| entries::fini(emit)).transpose()?;
        let device = options.device.as_ref();
        let table = program_table::program(emit, &exported, (init, fini), device)?;
        match &options.start {
            Start::None => {}
            Start::Program => entries::main(emit, "br_main", &[table.into()])?,
            Start::BestLevel(levels) => {
                let levels = program_table::levels(emit, levels);
                entries::main(emit, "br_main_levels", &levels)?;
            }
        }
        for (id, data) in emit.program.data.iter().enumerate() {
            if emit.plan.is_in_first_module(data.bytes.len()) {
                emit.data(DataId::new(id));
            }
        }
    }
    while let Some(id) = emit.next_pending() {
        if let Some(f) = emit.program.functions.get(id) {
            function::function(emit, f, id)?;
        }
    }
    Ok(())
}
