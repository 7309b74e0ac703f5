//! Facts about functions that their calls need: the array parameters, the consumed ones, and
//! the home memory.

use ir::name::FunName;
use ir::syntax::Program;
use ir::{PassError, Segs, version};
use rustc_hash::FxHashMap;
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
pub(crate) struct Callees(FxHashMap<FunName, Callee>);

impl Callees {
    /// Analyses the functions of a program.
    pub(crate) fn of(program: &Program<Segs>) -> Self {
        let callees = program.functions.iter().map(|function| {
            let callee = Callee {
                arrays: (function.params.iter()).map(|p| p.param.ty.is_array()).collect(),
                consumed: function.params.iter().map(|p| p.consumed).collect(),
                home: version::stack(function.version.as_ref(), program.levels).memory,
            };
            (function.name.clone(), callee)
        });
        Self(callees.collect())
    }

    /// The facts about a function.
    pub(crate) fn get(&self, fun: &FunName) -> Result<&Callee, PassError> {
        let callee = self.0.get(fun);
        callee.ok_or_else(|| PassError::bug(format!("no function named {fun}")))
    }
}
