//! Pairs of combinators that cannot fuse because one indexes the other's result freely, so that it
//! is stored; recorded only for optimisation remarks.
//!
//! Such a pair is never considered for fusion. Its provenance in the source is known before
//! anything has fused, its presence only at the end. So a pair of the first walk is reported if
//! the last walk finds that its array is still read that way.

use super::graph::Graph;
use super::{Combinator, Fuser, NotFusedReason, Outcome, is_candidate, merge};
use indexmap::IndexMap;
use ir::Name;
use ir::soac::Soac;
use ir::syntax::Exp;
use rustc_hash::{FxBuildHasher, FxHashSet};

/// By array and reader: the producer, the reader and the reason why they are not fused.
type Pairs = IndexMap<(Name, Name), (Combinator, Combinator, NotFusedReason), FxBuildHasher>;

/// The pairs before and after fusion.
#[derive(Default)]
pub(super) struct IndexedReaders {
    /// True if the first walk is over.
    pub(super) first_walk_done: bool,
    /// The pairs found in the first walk.
    early: Pairs,
    /// The pairs at the end.
    late: Pairs,
}

impl IndexedReaders {
    /// The pairs present at the end, as recorded from the source where possible.
    pub(super) fn outcomes(self) -> Vec<(Combinator, Combinator, Outcome)> {
        let arrays = |pairs: &Pairs| -> FxHashSet<Name> { pairs.keys().map(|key| key.0).collect() };
        let (before, after) = (arrays(&self.early), arrays(&self.late));
        let early = self.early.into_iter().filter(|(key, _)| after.contains(&key.0));
        let late = self.late.into_iter().filter(|(key, _)| !before.contains(&key.0));
        let all = early.chain(late);
        all.map(|(_, (maker, reader, why))| (maker, reader, Outcome::NotFused(why))).collect()
    }
}

impl Fuser<'_> {
    /// Records pairs in the first walk, before the body's combinators fuse.
    pub(super) fn record_first(&mut self, graph: &Graph) {
        if self.stored.as_ref().is_some_and(|stored| !stored.first_walk_done) {
            let pairs = self.pairs(graph);
            if let Some(stored) = self.stored {
                stored.early.extend(pairs);
            }
        }
    }

    /// Records pairs when nothing fuses any more.
    pub(super) fn record_last(&mut self, graph: &Graph) {
        if self.stored.is_some() {
            let pairs = self.pairs(graph);
            if let Some(stored) = self.stored {
                stored.late.extend(pairs);
            }
        }
    }

    fn pairs(&self, graph: &Graph) -> Pairs {
        let mut pairs = Pairs::default();
        for id in graph.nodes() {
            let Some(reader) = graph.stm(id).filter(|stm| is_candidate(stm)) else {
                continue;
            };
            let Some(own) = reader.pat.first() else {
                continue;
            };
            for name in &graph.needs(id).inside {
                let binder = graph.binder(*name).filter(|binder| *binder != id);
                let Some(maker) = binder.and_then(|binder| graph.stm(binder)) else {
                    continue;
                };
                if !matches!(maker.exp, Exp::Op(Soac::Screma(_))) {
                    continue;
                }
                let at = maker.pat.iter().position(|param| param.name == *name);
                let why = if at < Some(merge::reduced(maker)) {
                    NotFusedReason::ReadsReduction
                } else {
                    NotFusedReason::ReadsOtherElements
                };
                let pair = (Self::describe(maker), Self::describe(reader), why);
                pairs.insert((*name, own.name), pair);
            }
        }
        pairs
    }
}
