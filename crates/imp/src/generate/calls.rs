//! Which functions a body calls.

use ir::Mems;
use ir::name::FunName;
use ir::syntax::{Body, Exp};
use ir::walk::Visit;

/// The functions that a body calls.
pub(crate) fn callees(body: &Body<Mems>) -> Vec<FunName> {
    struct Calls(Vec<FunName>);
    impl Visit<Mems> for Calls {
        fn exp(&mut self, exp: &Exp<Mems>) {
            if let Exp::Apply { fun, args: _ } = exp {
                self.0.push(fun.clone());
            }
            self.walk_exp(exp);
        }
    }
    let mut calls = Calls(Vec::new());
    calls.body(body);
    calls.0
}
