//! The budget for code duplication by inlining.
//!
//! Where a definition is inlined for the second time, its statements are duplicated, and with them
//! those of functions that it inlines: without a limit, a chain of definitions that each call the
//! one before twice doubles with every link. So the size of each inlined definition is recorded,
//! and when the copies of a program have used up a budget, large definitions become core functions,
//! whose instances are shared. The optimiser may still inline these.

use check::tast::VarId;
use rustc_hash::FxHashMap;

/// Limits of code duplication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The number of names in duplicates, in the whole program, from which on heavy definitions are
    /// shared.
    pub copied: usize,
    /// A definition of more names than this is heavy.
    pub heavy: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { copied: 30_000, heavy: 60 }
    }
}

/// The statistics of one program.
pub(crate) struct Copies {
    limits: Limits,
    /// The largest number of names that each definition had when it was inlined.
    sizes: FxHashMap<VarId, usize>,
    /// The number of names in second and later evaluations.
    copied: usize,
    /// True if such an evaluation is in progress.
    copying: bool,
}

/// An inlined evaluation in progress.
pub(crate) struct Copy {
    is_outermost: bool,
}

impl Copies {
    /// Statistics without duplicates.
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, sizes: FxHashMap::default(), copied: 0, copying: false }
    }

    /// Returns true if a definition should be shared from now on.
    pub(crate) fn should_share(&self, def: VarId) -> bool {
        self.sizes
            .get(&def)
            .is_some_and(|size| *size > self.limits.heavy && self.copied + size > self.limits.copied)
    }

    /// Begins an inlined evaluation of a definition.
    pub(crate) fn begin(&mut self, def: VarId) -> Copy {
        let is_outermost = !self.copying && self.sizes.contains_key(&def);
        self.copying |= is_outermost;
        Copy { is_outermost }
    }

    /// Ends the evaluation, which produced this number of names.
    pub(crate) fn end(&mut self, def: VarId, copy: &Copy, names: usize) {
        let size = self.sizes.entry(def).or_insert(0);
        *size = names.max(*size);
        if copy.is_outermost {
            self.copied += names;
            self.copying = false;
        }
    }
}
