//! Statements that wait for their nest, and what it takes to have their values in it.

use ir::syntax::Stm;
use ir::walk::Visit;
use ir::{Name, Soacs};
use rustc_hash::FxHashMap;

/// Statements that wait for their nest.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) stms: Vec<Stm<Soacs>>,
    /// Which of them binds a name.
    pub(super) bound: FxHashMap<Name, usize>,
}

impl Pending {
    pub(super) fn push(&mut self, stm: Stm<Soacs>) {
        let at = self.stms.len();
        self.bound
            .extend(stm.pat.iter().map(|param| (param.name, at)));
        self.stms.push(stm);
    }

    pub(super) fn binder(&self, name: Name) -> Option<&Stm<Soacs>> {
        self.stms.get(*self.bound.get(&name)?)
    }
}

/// What it takes to have values that wait in the nest.
#[derive(Default)]
pub(super) struct Needs {
    /// Statements that are computed again.
    pub(super) again: Vec<usize>,
    /// Names whose values are stored.
    pub(super) stored: Vec<Name>,
    /// Names of arrays that are stored as segments.
    pub(super) filled: Vec<Name>,
}

/// How a nest goes into a statement.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Way {
    Regular,
    Irregular,
}

/// The names that a statement uses, its certificates and the sizes in its types too.
pub(super) fn uses(stm: &Stm<Soacs>, mut f: impl FnMut(Name)) {
    struct Uses<F>(F);
    impl<F: FnMut(Name)> Visit<Soacs> for Uses<F> {
        fn name(&mut self, name: &Name) {
            (self.0)(*name);
        }
    }
    Uses(&mut f).stm(stm);
}
