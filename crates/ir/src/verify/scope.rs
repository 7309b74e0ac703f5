//! Invariants 1 to 3: names and provenances.

use super::VerifyError;
use crate::name::{Name, Prov};
use crate::syntax::{Function, Level, Param, Stm};
use crate::walk::Visit;

pub(super) fn check<L: Level>(function: &Function<L>, errors: &mut Vec<VerifyError>) {
    let mut scopes = Scopes {
        function,
        state: vec![State::Unbound; function.names.len()],
        open: Vec::new(),
        starts: Vec::new(),
        at: None,
        errors,
    };
    scopes.walk_function(function);
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Unbound,
    Open,
    Closed,
}

struct Scopes<'a, L: Level> {
    function: &'a Function<L>,
    state: Vec<State>,
    /// Names in scope; `starts` are the positions at which the open scopes begin.
    open: Vec<Name>,
    starts: Vec<usize>,
    at: Option<Name>,
    errors: &'a mut Vec<VerifyError>,
}

impl<L: Level> Scopes<'_, L> {
    fn fail(&mut self, message: String) {
        let function = self.function.name.clone();
        self.errors.push(VerifyError { function, name: self.at, message });
    }

    fn show(&self, name: Name) -> String {
        format!("{}_{}", self.function.names.hint(name), name.0)
    }

    fn in_table(&mut self, name: Name) -> bool {
        let known = name.index() < self.function.names.len();
        if !known {
            self.fail(format!("name {} is not in the name table", name.0));
        }
        known
    }
}

impl<L: Level> Visit<L> for Scopes<'_, L> {
    fn enter(&mut self) {
        self.starts.push(self.open.len());
    }

    fn leave(&mut self) {
        let start = self.starts.pop().unwrap_or(0);
        for name in self.open.drain(start..) {
            self.state[name.index()] = State::Closed;
        }
    }

    fn binder(&mut self, name: &Name) {
        if !self.in_table(*name) {
            return;
        }
        if self.state[name.index()] != State::Unbound {
            let shown = self.show(*name);
            self.fail(format!("{shown} is bound twice"));
        }
        self.state[name.index()] = State::Open;
        self.open.push(*name);
    }

    fn name(&mut self, name: &Name) {
        if !self.in_table(*name) {
            return;
        }
        match self.state[name.index()] {
            State::Open => {}
            State::Unbound => {
                let shown = self.show(*name);
                self.fail(format!("{shown} is used before it is bound"));
            }
            State::Closed => {
                let shown = self.show(*name);
                self.fail(format!("{shown} is used outside its scope"));
            }
        }
    }

    fn prov(&mut self, prov: &Prov) {
        if prov.index() > self.function.provs.len() {
            self.fail(format!("provenance {} is not in the table", prov.0));
        }
    }

    fn param(&mut self, param: &Param<L>) {
        let before = self.at;
        self.at = before.or(Some(param.name));
        self.walk_param(param);
        self.at = before;
    }

    fn stm(&mut self, stm: &Stm<L>) {
        let before = self.at;
        self.at = stm.pat.first().map(|param| param.name);
        self.walk_stm(stm);
        self.at = before;
    }
}
