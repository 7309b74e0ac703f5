//! Totals of chunks that a reduction has computed and that a scan of the same counts needs.
//!
//! ```text
//! let (a, b) = segred (i < n) (+, 0) { (btoi (d == 0), btoi (d == 1)) }
//! segscan (i < n) (+, 0) { (btoi (d == 0), btoi (d == 1), btoi (d == 2), v) } post { .. }     where d < 3
//! ```
//!
//! A pass of a radix sort needs the last element of a scan, which is a reduction, before the scan's results; a filter
//! needs the number of its elements. Both divide the iterations alike; so the scan starts with the reduction's partial
//! results. If each iteration has exactly one flag, one count may be missing.

use super::segops::SegSpace;
use crate::mems::{Body, Operator};
use imp::Var;
use imp::build::Operand;
use ir::Mems;
use ir::name::Name;
use ir::syntax::{Atom, Stm};
use ir::walk::{Substitution, alpha_equivalent_given, stm_names};
use rustc_hash::FxHashSet;

/// The number of latest reductions whose partial results are kept, and the largest number of statements of their bodies.
pub(crate) const MOST_KEPT: usize = 8;
const MAX_STATEMENTS: usize = 64;

/// A reduction's partial results, by chunk.
pub(crate) struct ChunkTotals {
    width: Operand,
    full_group: i64,
    index: Name,
    /// The statements that each counted value needs.
    values: Vec<Body>,
    partials: Vec<Var>,
    pub(crate) step: Operand,
    pub(crate) chunks: Operand,
}

/// The known totals of a scan: the division into chunks, and for each count its totals; one may be missing.
pub(crate) struct KnownTotals {
    pub(crate) step: Operand,
    pub(crate) chunks: Operand,
    pub(crate) partials: Vec<Option<Var>>,
}

impl ChunkTotals {
    /// The partial results of a reduction, if it adds. They are in the frame.
    pub(crate) fn of(
        space: &SegSpace<'_>,
        operators: &[&Operator],
        partials: &[Var],
        (step, chunks): (Operand, Operand),
    ) -> Option<Self> {
        let index = single_index(space)?;
        let adds = space.body.stms.len() <= MAX_STATEMENTS && operators.iter().all(|op| op.adds());
        adds.then(|| Self {
            width: space.width,
            full_group: space.decomp.full_group(),
            index,
            values: space.body.result[..partials.len()]
                .iter()
                .map(|atom| needed(space.body, *atom))
                .collect(),
            partials: partials.to_vec(),
            step,
            chunks,
        })
    }

    /// The totals of a scan that adds this number of counts, of which one may be missing.
    pub(crate) fn for_scan(&self, space: &SegSpace<'_>, counts: usize) -> Option<KnownTotals> {
        let index = single_index(space)?;
        let body = space.body;
        if self.width != space.width || self.full_group != space.decomp.full_group() {
            return None;
        }
        let known = |atom: &Atom| {
            let value = needed(body, *atom);
            let renamed = Substitution::from_iter([(index, Atom::Var(self.index))]);
            let at =
                self.values.iter().position(|mine| alpha_equivalent_given(mine, &value, renamed.clone()))?;
            Some(self.partials[at])
        };
        let partials: Vec<Option<Var>> = body.result[..counts].iter().map(known).collect();
        let missing = partials.iter().filter(|partial| partial.is_none()).count();
        (missing <= 1).then_some(KnownTotals { step: self.step, chunks: self.chunks, partials })
    }
}

/// The only index of a space.
fn single_index(space: &SegSpace<'_>) -> Option<Name> {
    (space.dims.len() == 1).then_some(space.index)
}

/// The statements of a body that a result needs.
fn needed(body: &Body, result: Atom) -> Body {
    let mut names: FxHashSet<Name> = result.var().into_iter().collect();
    let mut stms: Vec<Stm<Mems>> = Vec::new();
    for stm in body.stms.iter().rev() {
        if stm.pat.iter().any(|param| names.contains(&param.name)) {
            stm_names(stm, |name| {
                names.insert(name);
            });
            stms.push(stm.clone());
        }
    }
    stms.reverse();
    Body { stms, result: vec![result] }
}
