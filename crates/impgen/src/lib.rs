//! Translation of the memory level to the imperative IR.
//!
//! Arrays disappear: only buffers and index functions are left. A block is released right after the
//! last statement that uses it ([`Blocks`](ir::mem::Blocks)). The [`emitter`] holds the code of a
//! function and knows no schedule; control flow, accumulators and copies are generic over the
//! [`schedule`], which executes segops. On a CPU ([`cpu`]) a segop becomes a loop over its chunks
//! that runs as tasks, with a sequential loop over the iterations of the chunk inside. Its partial
//! results are combined as its decomposition says (design contract 1), so the result depends on
//! sizes only. On a device ([`gpu`]) a segop becomes kernels.
//!
//! Needs: a verified program at level `mems`. Guarantees: a program that `imp::verify` accepts.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod accs;
mod basic;
mod bins;
mod control;
mod copies;
mod cpu;
mod emitter;
mod entries;
mod function;
mod gpu;
mod mems;
mod nests;
mod operators;
mod program_tables;
mod schedule;
mod tunables;

use imp::captures;
use imp::{FunId, GlobalId, Program, VarType};
use ir::syntax::{EntryPoint, FunKind, Function};
use ir::types::Type;
use ir::{Context, Mems, PassError};
use petgraph::graph::DiGraph;
use program_tables::ProgramTables;
use std::sync::Arc;
use target::device::Device;
use target::levels::Stack;
use target::memories::Allocation;
use tunables::TunableNumbers;

/// The result of generating code.
pub(crate) type Result<T = (), E = PassError> = std::result::Result<T, E>;

/// Values that an earlier pass should have left.
pub(crate) trait OrBug<T> {
    /// The value, or the report of a compiler bug.
    fn or_bug(self, what: &str) -> Result<T>;
}

impl<T> OrBug<T> for Option<T> {
    fn or_bug(self, what: &str) -> Result<T> {
        self.ok_or_else(|| PassError::bug(what))
    }
}

/// Program-wide data that all functions share while they are generated.
pub(crate) struct ProgramContext<'a> {
    files: &'a [Arc<str>],
    entries: &'a [EntryPoint],
    /// The call targets of the functions.
    callees: Vec<Callee>,
    /// For each function, true if it can call itself, directly or indirectly.
    pub(crate) recursive: Vec<bool>,
    tunables: TunableNumbers,
    /// The target machine, for whose levels the program was flattened.
    machine: Stack,
    /// The work layout parameters of the machine's device.
    device: Device,
    /// True if parallel nests are measured, for profiles.
    profile: bool,
    /// True if the work of parallel nests is recorded, for optimisation remarks.
    remarks: bool,
}

/// The call target of a function.
#[derive(Clone)]
pub(crate) enum Callee {
    /// A function, which has the same id in both programs.
    Function,
    /// A constant, whose values are read from these globals.
    Constant(Vec<GlobalId>),
}

/// Generates a program; see the module's header.
///
/// # Errors
/// A limitation: on a CPU, segops over several dimensions. A bug report: anything that an earlier
/// pass should not have left.
pub fn generate(program: &ir::Program<Mems>, context: &mut Context) -> Result<Program> {
    let mut globals = Vec::new();
    let callees = program.functions.iter().map(|function| match function.kind {
        FunKind::Function => Callee::Function,
        FunKind::Constant => {
            let own = result_types(function).map(|ty| {
                globals.push(ty);
                GlobalId::new(globals.len() - 1)
            });
            Callee::Constant(own.collect())
        }
    });
    let mut shared = ProgramContext {
        files: &program.files,
        entries: &program.entries,
        callees: callees.collect(),
        recursive: recursive_functions(program),
        tunables: TunableNumbers::default(),
        machine: program.levels,
        device: context.options.device,
        profile: context.options.profile,
        remarks: context.options.remarks,
    };
    let tunables = shared.tunables.number(program);
    let mut functions = Vec::with_capacity(program.functions.len() + program.entries.len());
    let numbered = program.functions.iter().enumerate().map(|(at, function)| (FunId::new(at), function));
    let each: Vec<_> = numbered.zip(shared.recursive.clone()).collect();
    let made = context
        .each(each, |(function, recursive), own| function::generate(function, recursive, &shared, own))?;
    let mut tables = ProgramTables::default();
    for (mut function, own) in made {
        tables.append(own, &mut function);
        captures::fill(&mut function);
        functions.push(function);
    }
    let mut entries = Vec::with_capacity(program.entries.len());
    for entry in &program.entries {
        let fun = FunId::new(functions.len());
        functions.push(entries::generate(entry, program, &functions)?);
        entries.push(imp::Entry { fun, signature: entry.signature.clone() });
    }
    let init = entries::initialiser(program, &shared);
    let init = init.map(|function| {
        functions.push(function);
        FunId::new(functions.len() - 1)
    });
    let (checks, data) = tables.finish();
    Ok(Program {
        source_name: context.options.source_name.clone(),
        functions,
        opaques: program.opaques.clone(),
        entries,
        checks,
        data,
        globals,
        tunables,
        init,
    })
}

/// The types of the variables that carry a function's results. Arrays have no variable; their
/// blocks are results of their own.
fn result_types(function: &Function<Mems>) -> impl Iterator<Item = VarType> + '_ {
    function.ret.iter().filter_map(|result| var_type(&result.ty))
}

/// The type of the variable that carries a value of this type, if there is one.
pub(crate) fn var_type(ty: &Type) -> Option<VarType> {
    match ty {
        Type::Prim(prim) => Some(VarType::Scalar(*prim)),
        Type::Mem(memory) if memory.allocation == Allocation::Heap => Some(VarType::Buffer(*memory)),
        // Register blocks are arrays in the stack frame on a CPU.
        Type::Mem(_) => Some(VarType::HOST),
        Type::Array { .. } | Type::Acc { .. } | Type::Cert => None,
    }
}

/// For each function: true if it can call itself, directly or indirectly.
fn recursive_functions(program: &ir::Program<Mems>) -> Vec<bool> {
    let mut graph = DiGraph::<(), ()>::new();
    let nodes: Vec<_> = program.functions.iter().map(|_| graph.add_node(())).collect();
    let mut recursive = vec![false; nodes.len()];
    for (at, function) in program.functions.iter().enumerate() {
        ir::walk::callees(&function.body, |callee| {
            graph.add_edge(nodes[at], nodes[callee.index()], ());
            recursive[at] |= at == callee.index();
        });
    }
    for component in petgraph::algo::kosaraju_scc(&graph) {
        if component.len() > 1 {
            for node in component {
                recursive[node.index()] = true;
            }
        }
    }
    recursive
}
