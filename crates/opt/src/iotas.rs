//! The arrays of consecutive integers from 0 on.

use ir::syntax::{Exp, Function, Stm};
use ir::walk::{Visit, with_stack};
use ir::{Name, Soacs};
use rustc_hash::FxHashSet;

/// The names of these arrays in a function.
pub fn iotas(function: &Function<Soacs>) -> FxHashSet<Name> {
    struct Iotas(FxHashSet<Name>);
    impl Visit<Soacs> for Iotas {
        fn stm(&mut self, stm: &Stm<Soacs>) {
            if let (Exp::Basic(op), [param]) = (&stm.exp, stm.pat.as_slice())
                && op.as_indices().is_some()
            {
                self.0.insert(param.name);
            }
            with_stack(|| self.walk_stm(stm));
        }
    }
    let mut found = Iotas(FxHashSet::default());
    Visit::<Soacs>::body(&mut found, &function.body);
    found.0
}
