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

/// How much may be copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Names in the copies of a program, above which what is heavy is shared.
    pub copied: usize,
    /// A definition that comes to more names than this is heavy.
    pub heavy: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { copied: 30_000, heavy: 60 }
    }
}

/// The count of one program.
pub(crate) struct Copies {
    limits: Limits,
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
    /// Nothing is copied yet.
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, sizes: FxHashMap::default(), copied: 0, copying: false }
    }

    /// Whether a definition should be shared from now on.
    pub(crate) fn shares(&self, def: VarId) -> bool {
        self.sizes
            .get(&def)
            .is_some_and(|size| *size > self.limits.heavy && self.copied + size > self.limits.copied)
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
