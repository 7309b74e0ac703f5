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
        let own = free.iter().filter_map(|name| Some((*name, *self.adjoints.get(name)?)));
        let before: Adjoints = own.collect();
        let outer = std::mem::replace(&mut self.adjoints, before.clone());
        let dense = self.dense.take();
        let mut swept: Vec<(Vec<Stm<Soacs>>, Adjoints)> = Vec::new();
        for body in branches {
            let body = self.copy(body, &mut Substitution::default());
            let scope = self.b.open();
            self.sweep(&body, adjoints)?;
            let found = std::mem::replace(&mut self.adjoints, before.clone());
            swept.push((self.b.close(scope, Vec::new()).stms, found));
        }
        let changed: Vec<Name> = free
            .into_iter()
            .filter(|name| swept.iter().any(|(_, found)| found.get(name) != before.get(name)))
            .collect();
        let mut kinds: Vec<Adjoint> = Vec::new();
        let mut bodies = Vec::new();
        for (stms, found) in swept {
            let scope = self.b.open();
            self.b.put_back(stms);
            self.adjoints = found;
            kinds = changed.iter().map(|name| self.so_far(*name)).collect();
            bodies.push(self.b.close(scope, kinds.iter().map(|adjoint| adjoint.atom()).collect()));
        }
        self.adjoints = outer;
        self.dense = dense;
        let [then_body, else_body]: [Body<Soacs>; 2] = match bodies.try_into() {
            Ok(both) => both,
            Err(_) => return Ok(()),
        };
        let types: Vec<Type> = kinds.iter().map(|adjoint| self.b.type_of(adjoint.atom())).collect();
        let hinted = types.into_iter().map(|ty| ("adj", ty));
        let names = self.b.bind_all(hinted, Exp::If { cond, then_body, else_body });
        for ((name, kind), result) in changed.iter().zip(kinds).zip(names) {
            self.adjoints.insert(*name, kind.replaced(result));
        }
        Ok(())
    }
}
