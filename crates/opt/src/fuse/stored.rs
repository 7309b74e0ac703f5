//! Which combinators stay apart since one reads elements of its choice of what the other
//! makes, so that this is stored; noted only for an account of what was done.
//!
//! Such a pair never comes up as one that may fuse. Where it stands in the source is
//! known before anything has fused, and whether it is still there, in the end: so the
//! pairs of the first walk are told of whose arrays are read so in the last.

use super::graph::Graph;
use super::{Apart, Fate, Fuser, Side, is_candidate, merge};
use indexmap::IndexMap;
use ir::Name;
use ir::soac::Soac;
use ir::syntax::Exp;
use rustc_hash::{FxBuildHasher, FxHashSet};

/// An array and what reads it: who made it, who reads it, why they stay apart.
type Pairs = IndexMap<(Name, Name), (Side, Side, Apart), FxBuildHasher>;

/// What is known of such pairs.
#[derive(Default)]
pub(super) struct Stored {
    /// Whether something has fused.
    pub(super) begun: bool,
    /// As they were before anything fused.
    early: Pairs,
    /// As they are in the end.
    late: Pairs,
}

impl Stored {
    /// The pairs that are there in the end, as the source has them where that is known.
    pub(super) fn fates(self) -> Vec<(Side, Side, Fate)> {
        let arrays = |pairs: &Pairs| -> FxHashSet<Name> { pairs.keys().map(|key| key.0).collect() };
        let (before, after) = (arrays(&self.early), arrays(&self.late));
        let early = self.early.into_iter().filter(|(key, _)| after.contains(&key.0));
        let late = self.late.into_iter().filter(|(key, _)| !before.contains(&key.0));
        let all = early.chain(late);
        all.map(|(_, (maker, reader, why))| (maker, reader, Fate::Apart(why))).collect()
    }
}

impl Fuser<'_> {
    /// Notes pairs before anything has fused.
    pub(super) fn note_read(&mut self, graph: &Graph) {
        if self.stored.as_ref().is_some_and(|stored| !stored.begun) {
            let pairs = self.pairs(graph);
            if let Some(stored) = self.stored {
                stored.early.extend(pairs);
            }
        }
    }

    /// Notes pairs when nothing fuses any more.
    pub(super) fn note_stored(&mut self, graph: &Graph) {
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
                let why =
                    if at < Some(merge::reduced(maker)) { Apart::Reduced } else { Apart::ReadOtherwise };
                let pair = (Self::side(maker), Self::side(reader), why);
                pairs.insert((*name, own.name), pair);
            }
        }
        pairs
    }
}
