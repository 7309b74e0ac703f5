//! Uses of names: operands, certificates, results, and sizes in types.

use ir::Name;
use ir::syntax::{BasicOp, Body, Exp, Function, Level, Stm};
use ir::walk::Visit;
use rustc_hash::FxHashMap;

/// The numbers of uses of a function's names, kept up to date by the pass that changes it.
#[derive(Clone, Default, Debug)]
pub struct Uses {
    all: Vec<u32>,
    elements: Vec<u32>,
}

impl Uses {
    /// Counts the uses in a function.
    pub fn of<L: Level>(function: &Function<L>) -> Self {
        let n = function.names.len();
        let mut uses = Self { all: vec![0; n], elements: vec![0; n] };
        Visit::<L>::body(&mut uses, &function.body);
        uses
    }

    /// The number of uses; `None` for a name created since the count.
    pub fn get(&self, name: Name) -> Option<u32> {
        self.all.get(name.index()).copied()
    }

    /// The number of uses; a name created since the count has one.
    pub fn count(&self, name: Name) -> u32 {
        self.get(name).unwrap_or(1)
    }

    /// The number of reads of one scalar of an array, as of the count.
    pub fn element_reads(&self, array: Name) -> Option<u32> {
        self.elements.get(array.index()).copied()
    }

    /// Adds uses of a counted name.
    pub fn add(&mut self, name: Name, more: u32) {
        if let Some(uses) = self.all.get_mut(name.index()) {
            *uses = uses.saturating_add(more);
        }
    }

    /// Removes uses of a name.
    pub fn remove(&mut self, name: Name, fewer: u32) {
        self.set(name, self.count(name) - fewer);
    }

    /// Sets the number of uses of a name.
    pub fn set(&mut self, name: Name, uses: u32) {
        if self.all.len() <= name.index() {
            self.all.resize(name.index() + 1, 1);
        }
        self.all[name.index()] = uses;
    }
}

impl<L: Level> Visit<L> for Uses {
    fn name(&mut self, name: &Name) {
        self.all[name.index()] += 1;
    }

    fn stm(&mut self, stm: &Stm<L>) {
        let scalar = matches!(stm.pat.as_slice(), [param] if param.ty.is_prim());
        if let (true, Exp::Basic(BasicOp::Index { array, .. })) = (scalar, &stm.exp) {
            self.elements[array.index()] += 1;
        }
        self.walk_stm(stm);
    }
}

/// The number of uses of each name in a body, including inner bodies and results.
pub fn in_body<L: Level>(body: &Body<L>) -> FxHashMap<Name, u32> {
    let mut uses = FxHashMap::default();
    Visit::<L>::body(&mut EachUse(|name| *uses.entry(name).or_default() += 1), body);
    uses
}

/// A visitor that calls a function with each use of a name.
pub struct EachUse<F>(pub F);

impl<L: Level, F: FnMut(Name)> Visit<L> for EachUse<F> {
    fn name(&mut self, name: &Name) {
        (self.0)(*name);
    }
}
