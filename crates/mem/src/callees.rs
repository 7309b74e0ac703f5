//! Facts about functions that their calls need: the array parameters, the consumed ones, and
//! the home memory.

use ir::name::FunId;
use ir::syntax::Program;
use ir::{Segs, version};
use target::memories::MemoryId;

/// The facts about a function that its calls need.
pub(crate) struct Callee {
    /// For each parameter, true if it is an array.
    pub(crate) arrays: Vec<bool>,
    /// For each parameter, true if the function consumes it.
    pub(crate) consumed: Vec<bool>,
    /// The memory of its arrays, including parameters and results.
    pub(crate) home: MemoryId,
}

/// The functions of a program.
pub(crate) struct Callees(Vec<Callee>);

impl Callees {
    /// Analyses the functions of a program.
    pub(crate) fn of(program: &Program<Segs>) -> Self {
        let callees = program.functions.iter().map(|function| Callee {
            arrays: (function.params.iter()).map(|p| p.param.ty.is_array()).collect(),
            consumed: function.params.iter().map(|p| p.consumed).collect(),
            home: version::stack(function.version.as_ref(), program.levels).memory,
        });
        Self(callees.collect())
    }

    /// The facts about a function.
    pub(crate) fn get(&self, fun: FunId) -> &Callee {
        &self.0[fun.index()]
    }
}
