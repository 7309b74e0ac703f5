//! Reverse mode: conditionals. Each branch runs again with its return sweep, and returns the
//! adjoints of all names to which either branch contributes.

use super::{Adjoint, Adjoints};
use crate::state::{Ad, Result};
use ir::Name;
use ir::soac::Soacs;
use ir::syntax::{Atom, Body, Exp, Stm};
use ir::types::Type;
use ir::walk::{Substitution, free_names};

impl Ad<'_> {
    pub(super) fn reverse_branch(
        &mut self,
        cond: Atom,
        branches: [&Body<Soacs>; 2],
        adjoints: &[Option<Atom>],
    ) -> Result {
        let mut free: Vec<Name> = branches.iter().flat_map(|body| free_names(*body)).collect();
        free.retain(|name| self.active.contains(name));
        free.sort_unstable();
        free.dedup();
        let before = self.adjoints.clone();
        let dense = self.dense.take();
        let mut swept: Vec<(Vec<Stm<Soacs>>, Adjoints)> = Vec::new();
        for body in branches {
            let body = self.copy(body, &mut Substitution::default());
            let outer = self.b.open();
            self.sweep(&body, adjoints)?;
            let found = std::mem::replace(&mut self.adjoints, before.clone());
            swept.push((self.b.close(outer, Vec::new()).stms, found));
        }
        let changed: Vec<Name> = free
            .into_iter()
            .filter(|name| swept.iter().any(|(_, found)| found.get(name) != before.get(name)))
            .collect();
        let mut types: Vec<Type> = Vec::new();
        let mut bodies = Vec::new();
        for (stms, found) in swept {
            let outer = self.b.open();
            self.b.extend(stms);
            types.clear();
            let mut result = Vec::new();
            for name in &changed {
                let value = match found.get(name).or(before.get(name)) {
                    Some(Adjoint::Value(value)) => *value,
                    Some(Adjoint::Acc(acc)) => Atom::Var(*acc),
                    None => self.value_so_far(*name),
                };
                types.push(self.b.type_of(value));
                result.push(value);
            }
            bodies.push(self.b.close(outer, result));
        }
        let [then_body, else_body]: [Body<Soacs>; 2] = match bodies.try_into() {
            Ok(both) => both,
            Err(_) => return Ok(()),
        };
        self.dense = dense;
        let hinted = types.into_iter().map(|ty| ("adj", ty));
        let names = self.b.bind_all(hinted, Exp::If { cond, then_body, else_body });
        for (name, result) in changed.iter().zip(names) {
            let adjoint = match self.b.types.type_of(result) {
                Type::Acc { .. } => Adjoint::Acc(result),
                Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => {
                    Adjoint::Value(result.into())
                }
            };
            self.adjoints.insert(*name, adjoint);
        }
        Ok(())
    }
}
