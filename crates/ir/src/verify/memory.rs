//! Invariant 19: basic operations access the memory of the function's machine; a transfer connects
//! two memories.

use super::VerifyError;
use crate::mem::{Blocks, MemOp, Mems};
use crate::name::Name;
use crate::syntax::{Exp, Function, Stm};
use crate::types::Type;
use crate::typing::TypeEnv;
use crate::walk::Visit;
use target::memories::{Allocation, MemoryId};

/// Checks a function whose arrays are in this memory.
pub(super) fn check(function: &Function<Mems>, home: MemoryId, errors: &mut Vec<VerifyError>) {
    let (blocks, types) = (Blocks::new(function), TypeEnv::of_function(function));
    Walk { function, blocks, types, home, errors }.body(&function.body);
}

struct Walk<'a> {
    function: &'a Function<Mems>,
    blocks: Blocks,
    types: TypeEnv,
    home: MemoryId,
    errors: &'a mut Vec<VerifyError>,
}

impl Walk<'_> {
    /// The memory on the heap that an array is in.
    fn heap(&self, array: Name) -> Option<MemoryId> {
        match self.types.get(self.blocks.of(array)?)? {
            Type::Mem(memory) => Some(*memory).filter(|memory| memory.allocation == Allocation::Heap),
            Type::Prim(_) | Type::Array { .. } | Type::Acc { .. } | Type::Cert => None,
        }
    }

    fn fail(&mut self, stm: &Stm<Mems>, message: String) {
        let name = stm.pat.first().map(|param| param.name);
        self.errors.push(VerifyError { function: self.function.name.clone(), name, message });
    }
}

impl Visit<Mems> for Walk<'_> {
    fn stm(&mut self, stm: &Stm<Mems>) {
        if let Exp::Basic(_) = stm.exp {
            let mut used = self.blocks.used(stm).into_iter().filter_map(|block| self.heap(block));
            if let Some(other) = used.find(|memory| *memory != self.home) {
                self.fail(stm, format!("an operation accesses memory `{}`", other.name));
            }
        } else if let (Exp::Op(MemOp::Transfer { array }), [param]) = (&stm.exp, stm.pat.as_slice()) {
            let ends = [*array, param.name].map(|name| self.heap(name));
            if !matches!(ends, [Some(from), Some(to)] if from != to) {
                self.fail(stm, "a transfer does not connect two memories".to_owned());
            }
        }
        self.walk_stm(stm);
    }
}
