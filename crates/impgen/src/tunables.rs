//! Tuning parameters: the program's table of the parameters that comparisons and the source program
//! refer to.

use super::function::Gen;
use imp::build::compare;
use imp::{Expr, Tunable, TunableId};
use ir::name::FunName;
use ir::tunable::{Class, UNSET};
use ir::{Mems, PassError};
use prim::{CmpOp, PrimType, ScalarOp};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The program-wide numbers of each function's parameters that are referred to.
#[derive(Default)]
pub(crate) struct TunableNumbers {
    of: FxHashMap<FunName, Vec<Option<TunableId>>>,
    user: FxHashMap<Arc<str>, TunableId>,
}

impl TunableNumbers {
    /// Numbers a program's parameters, in the order of the functions; returns the table.
    pub(super) fn number(&mut self, program: &ir::Program<Mems>) -> Vec<Tunable> {
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
                    TunableId::new(table.len() - 1)
                })
            });
            let numbers: Vec<_> = numbers.collect();
            if !numbers.is_empty() {
                self.of.insert(function.name.clone(), numbers);
            }
        }
        for name in ir::tunable::user_params(program) {
            table.push(Tunable { name: Arc::clone(&name), class: Class::User, default: UNSET });
            self.user.insert(name, TunableId::new(table.len() - 1));
        }
        table
    }
}

impl Gen<'_, '_> {
    /// The program-wide number of a parameter of this function.
    pub(super) fn tunable(&self, id: ir::TunableId) -> Result<TunableId, PassError> {
        let numbers = self.shared.tunables.of.get(&self.function.name);
        let number = numbers.and_then(|numbers| numbers.get(id.index()));
        let number = number.copied().flatten();
        number.ok_or_else(|| PassError::bug("a comparison uses a tuning parameter that does not exist"))
    }

    /// The value of a parameter of the source program.
    pub(super) fn param(&self, name: &str, default: Expr) -> Result<Expr, PassError> {
        let id = self.shared.tunables.user.get(name).copied();
        let id = id.ok_or_else(|| PassError::bug("a user-defined parameter has no number"))?;
        let none = compare(CmpOp::Eq, Expr::Tunable(id), Expr::i64(UNSET));
        let value = Box::new(Expr::Tunable(id));
        Ok(Expr::Scalar(ScalarOp::Select {
            ty: PrimType::I64,
            cond: Box::new(none),
            if_true: Box::new(default),
            if_false: value,
        }))
    }
}
