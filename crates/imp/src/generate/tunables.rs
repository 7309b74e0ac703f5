//! Tuning parameters: a table of the whole program, of those that comparisons name.

use super::function::Gen;
use crate::syntax::{Tunable, TunableId};
use ir::name::FunName;
use ir::{Mems, PassError};
use rustc_hash::FxHashMap;

/// The program's number of each function's parameters that something names.
#[derive(Default)]
pub(crate) struct Numbers(FxHashMap<FunName, Vec<Option<TunableId>>>);

impl Numbers {
    /// Numbers a program's parameters, in the order of the functions; the table.
    pub(super) fn of(&mut self, program: &ir::Program<Mems>) -> Vec<Tunable> {
        let mut table: Vec<Tunable> = Vec::new();
        for function in &program.functions {
            let used = ir::tunable::used(function);
            let numbers = function.tunables.iter().zip(used).map(|(tunable, used)| {
                used.then(|| {
                    table.push(Tunable {
                        name: tunable.full_name(&function.name).into(),
                        class: tunable.class,
                        default: tunable.default,
                    });
                    TunableId(table.len() as u32 - 1)
                })
            });
            let numbers: Vec<_> = numbers.collect();
            if !numbers.is_empty() {
                self.0.insert(function.name.clone(), numbers);
            }
        }
        table
    }
}

impl Gen<'_, '_> {
    /// The program's number of a parameter of this function.
    pub(super) fn tunable(&self, id: ir::TunableId) -> Result<TunableId, PassError> {
        let numbers = self.shared.tunables.0.get(&self.function.name);
        let number = numbers.and_then(|numbers| numbers.get(id.index()));
        let number = number.copied().flatten();
        number.ok_or_else(|| PassError::bug("a comparison with a parameter that there is not"))
    }
}
