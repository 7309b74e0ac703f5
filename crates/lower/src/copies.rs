//! How much evaluation in place has copied.
//!
//! Where a definition is evaluated in place for the second time, its statements
//! are there twice, and those of what it calls in place with them: without a
//! limit a chain of definitions that each call the one before twice doubles with
//! every link. So what each definition came to is counted, and when the copies of
//! a program have used up a budget, definitions that come to much become core
//! functions, whose instances are shared. The optimiser still may inline these.

use check::tast::VarId;
use rustc_hash::FxHashMap;

/// Names in the copies of a program, above which what is heavy is shared.
const BUDGET: usize = 30_000;
/// A definition that comes to more names than this is heavy.
const HEAVY: usize = 60;

/// The count of one program.
#[derive(Default)]
pub(crate) struct Copies {
    /// The most names that each definition came to in place.
    sizes: FxHashMap<VarId, usize>,
    /// Names in second and later evaluations.
    copied: usize,
    /// Whether such an evaluation is under way.
    copying: bool,
}

/// An evaluation in place that is under way.
pub(crate) struct Copy {
    is_outermost: bool,
}

impl Copies {
    /// Whether a definition should be shared from now on.
    pub(crate) fn shares(&self, def: VarId) -> bool {
        self.sizes
            .get(&def)
            .is_some_and(|size| *size > HEAVY && self.copied + size > BUDGET)
    }

    /// A definition is about to be evaluated in place.
    pub(crate) fn begin(&mut self, def: VarId) -> Copy {
        let is_outermost = !self.copying && self.sizes.contains_key(&def);
        self.copying |= is_outermost;
        Copy { is_outermost }
    }

    /// It was, and came to so many names.
    pub(crate) fn end(&mut self, def: VarId, copy: &Copy, names: usize) {
        let size = self.sizes.entry(def).or_insert(0);
        *size = names.max(*size);
        if copy.is_outermost {
            self.copied += names;
            self.copying = false;
        }
    }
}
