//! Statements that are not distributed yet, and the values of theirs that the nest needs.

use super::distribute::Distribution;
use super::parallelism::{NestBindings, is_recomputed};
use super::{array_ops, distribute_irregular, invariant};
use crate::Stms;
use ir::syntax::{BasicOp, Exp, Stm};
use ir::walk::stm_names;
use ir::{Name, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};

/// Statements that are not distributed yet.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) stms: Stms<Soacs>,
    /// The statement that binds a name, as an index into `stms`.
    pub(super) bound: FxHashMap<Name, usize>,
    /// Names that cannot be bound in the nest: no array holds their values.
    pub(super) stuck: FxHashSet<Name>,
    /// The last use of any stuck name: until then no pending statement is put into the nest, as
    /// later statements would need its stuck names there.
    pub(super) until: usize,
}

impl Pending {
    /// Adds a statement.
    pub(super) fn push(&mut self, stm: Stm<Soacs>) {
        let at = self.stms.len();
        self.bound.extend(stm.pat.iter().map(|param| (param.name, at)));
        self.stms.push(stm);
    }

    /// Records that a name, last used at `last`, cannot be bound in the nest.
    pub(super) fn is_stuck(&mut self, name: Name, last: usize) {
        self.stuck.insert(name);
        self.until = self.until.max(last);
    }

    pub(super) fn binder(&self, name: Name) -> Option<&Stm<Soacs>> {
        self.stms.get(*self.bound.get(&name)?)
    }
}

/// The pending values that the nest needs.
#[derive(Default)]
pub(super) struct Needs {
    /// Statements that are recomputed.
    pub(super) recomputed: Vec<usize>,
    /// Names whose values are stored in arrays over the nest.
    pub(super) stored: Vec<Name>,
    /// Names of arrays that are stored as segments.
    pub(super) stored_as_segments: Vec<Name>,
}

/// The kind of distribution of a nest into a statement.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Regularity {
    Regular,
    Irregular,
}

impl Distribution<'_, '_> {
    /// The statement that binds a name, pending or in the nest.
    pub(super) fn binder(&self, name: Name) -> Option<&Stm<Soacs>> {
        self.pending.binder(name).or_else(|| self.nest.binding(name))
    }

    /// The certificates of the statements that a name's value depends on, pending or in the nest.
    pub(super) fn checks(&self, name: Name) -> Vec<Name> {
        let (mut open, mut seen) = (vec![name], FxHashSet::default());
        let mut checks = Vec::new();
        while let Some(name) = open.pop() {
            if let Some(stm) = self.binder(name)
                && seen.insert(name)
            {
                checks.extend(stm.aux.certs.iter().copied());
                stm_names(stm, |name| open.push(name));
            }
        }
        checks
    }

    /// Adds a statement to the pending ones, and records the names that it makes stuck.
    pub(super) fn wait(&mut self, stm: Stm<Soacs>) {
        self.pending.push(stm);
        let Some(stm) = self.pending.stms.last() else {
            return;
        };
        let bound = self.bound();
        let is_stuck = |name: &Name| self.pending.stuck.contains(name);
        let mut found: Vec<Name> = Vec::new();
        if is_recomputed(stm) {
            let mut any = false;
            stm_names(stm, |name| any |= is_stuck(&name));
            found.extend(stm.pat.iter().filter(|_| any).map(|param| param.name));
        } else {
            for param in &stm.pat {
                let mut sizes = param.ty.shape().iter().filter_map(|dim| dim.atom()?.var());
                let stored = bound.is_regular_result(stm, &param.ty);
                let filled = self.allow_irregular && distribute_irregular::is_segment(bound, stm, &param.ty);
                if !stored && (!filled || sizes.any(|name| is_stuck(&name))) {
                    found.push(param.name);
                }
            }
        }
        for name in found {
            let last = self.last_use.get(&name).copied().unwrap_or_default();
            self.pending.is_stuck(name, last);
        }
    }

    /// The pending values that a nest needs before it is distributed into a statement; `None` if it
    /// is not distributed there and the statement stays pending.
    pub(super) fn needs_of(&self, stm: &Stm<Soacs>, i: usize) -> Option<(Regularity, Needs)> {
        let bound = self.bound();
        let wanted = self.is_needed_whole(stm);
        let type_of = |name: Name| {
            let mut pat = self.binder(name)?.pat.iter();
            Some(pat.find(|param| param.name == name)?.ty.clone())
        };
        let regular = bound.is_regular_parallel(stm)
            || array_ops::is_parallel(bound, stm, wanted)
            || wanted && array_ops::is_lmad_update(bound, stm, type_of);
        let way = if regular { Regularity::Regular } else { Regularity::Irregular };
        if !regular && !bound.is_parallel(stm) && !distribute_irregular::is_operation(bound, stm, wanted) {
            return None;
        }
        let mut used = FxHashSet::default();
        stm_names(stm, |name| {
            if self.is_pending(name) {
                used.insert(name);
            }
        });
        if used.is_empty() {
            return Some((way, Needs::default()));
        }
        let is_stuck = |name: &Name| self.pending.stuck.contains(name);
        if self.pending.until > i || used.iter().any(is_stuck) {
            return None;
        }
        // Pending values with later uses are needed now, too.
        let later = self.pending.bound.keys().filter(|name| {
            let last = self.last_use.get(name);
            last.is_some_and(|last| *last > i)
        });
        let mut names: Vec<Name> = later.copied().chain(used).collect();
        names.sort_unstable();
        names.dedup();
        Some((way, self.needs(bound, names)?))
    }

    /// Returns true if a statement's result is used as a whole array: the elements of an `iota`
    /// that is not a result of the body are computed where they are read.
    fn is_needed_whole(&self, stm: &Stm<Soacs>) -> bool {
        let [param] = stm.pat.as_slice() else {
            return false;
        };
        let last = self.last_use.get(&param.name).copied();
        let counts = matches!(stm.exp, Exp::Basic(BasicOp::Iota { .. }));
        last.is_some_and(|last| last == self.end || !counts)
    }

    /// The pending arrays that pending statements may consume.
    fn pending_taken(&self) -> FxHashSet<Name> {
        if !self.may_consume.iter().any(|name| self.is_pending(*name)) {
            return FxHashSet::default();
        }
        let mut taken = invariant::taken(self.callees, &self.pending.stms);
        taken.retain(|name| {
            let mut pat = self.pending.binder(*name).into_iter().flat_map(|stm| &stm.pat);
            pat.any(|param| param.name == *name && param.ty.is_array())
        });
        taken
    }

    pub(super) fn needs(&self, bound: NestBindings<'_>, names: Vec<Name>) -> Option<Needs> {
        let mut needs = Needs::default();
        let mut seen: FxHashSet<Name> = FxHashSet::default();
        let taken = self.pending_taken();
        let mut left = names;
        while let Some(name) = left.pop() {
            if !seen.insert(name) {
                continue;
            }
            let Some(stm) = self.pending.binder(name) else {
                continue;
            };
            // Views of arrays that cannot be bound in the nest are stored themselves, and so are reads of
            // arrays that are consumed before a later group could read them.
            let mut keeps = !self.pending.stuck.contains(&name);
            stm_names(stm, |name| keeps &= !taken.contains(&name));
            if keeps && is_recomputed(stm) {
                if let Some(at) = self.pending.bound.get(&name) {
                    needs.recomputed.push(*at);
                }
                stm_names(stm, |name| {
                    if self.is_pending(name) {
                        left.push(name);
                    }
                });
                continue;
            }
            let param = stm.pat.iter().find(|param| param.name == name)?;
            if bound.is_regular_result(stm, &param.ty) {
                needs.stored.push(name);
                continue;
            }
            if !self.allow_irregular || !distribute_irregular::is_segment(bound, stm, &param.ty) {
                return None;
            }
            needs.stored_as_segments.push(name);
            left.extend(param.ty.shape().iter().filter_map(|dim| dim.atom()?.var()));
        }
        needs.recomputed.sort_unstable();
        needs.recomputed.dedup();
        needs.stored.sort_unstable();
        needs.stored_as_segments.sort_unstable();
        Some(needs)
    }
}
