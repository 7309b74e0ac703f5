//! Horizontal fusion: two combinators that read the same array become one, so that it is read once.
//!
//! ```text
//! let s  = reduce w (x <- xs) op 0        let (s, ys) = redomap w (x <- xs) -> (x, f x)
//! let ys = map w (x <- xs) -> f x                       op 0
//! ```
//!
//! They have the same width, neither depends on the other, and both read an array in memory. If
//! that array is an `iota`, both must cost little, as only the loop is saved. Maps fused with a scan
//! go to its `post` lambda, so that they are computed once. `withacc`s and histograms: see
//! [`super::accs`].

use super::graph::{Graph, inputs};
use super::merge::{self, Position};
use super::{Fuser, Outcome, accs, is_candidate};
use indexmap::IndexMap;
use ir::remark::NotFusedReason;
use ir::soac::Soac;
use ir::syntax::{Attrs, BasicOp, Exp, Stm};
use ir::{Name, Soacs};
use rustc_hash::FxBuildHasher;
use std::collections::BTreeMap;

/// Arrays that several nodes read element by element, with these nodes in order.
type Shared = IndexMap<Name, Vec<usize>, FxBuildHasher>;

/// A node that has not been fused with an earlier one. It may be part of another node by now.
#[derive(Clone, Copy)]
struct Head {
    id: usize,
    /// An upper bound: paths to this node come only from the first `led` heads.
    led: usize,
}

impl Fuser<'_> {
    /// Fuses combinators of the body that read the same arrays.
    ///
    /// Nodes of the same level are not connected by a path, and most nodes that fuse have the same
    /// level. They are fused pairwise in rounds, in n log n time. Each remaining node is fused with
    /// the first one that accepts it.
    pub(super) fn fuse_horizontally(&mut self, graph: &mut Graph) {
        let shared = shared(graph);
        let levels = graph.levels(is_candidate);
        for (name, readers) in &shared {
            let mut by_level: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            for id in readers {
                by_level.entry(levels[*id]).or_default().push(*id);
            }
            for group in by_level.into_values() {
                self.in_pairs(graph, *name, group);
            }
        }
        for (name, readers) in shared {
            self.one_by_one(graph, name, readers);
        }
    }

    /// Fuses neighbours of a level in rounds, as long as some fuse.
    fn in_pairs(&mut self, graph: &mut Graph, array: Name, group: Vec<usize>) {
        let mut group = group;
        loop {
            group.retain(|id| graph.is_whole(*id));
            let mut next = Vec::with_capacity(group.len());
            for two in group.chunks(2) {
                match *two {
                    [a, b] => match self.pair(graph, a, b, array) {
                        Some(whole) => next.push(whole),
                        None => next.extend([a, b]),
                    },
                    _ => next.extend_from_slice(two),
                }
            }
            if next.len() == group.len() {
                break;
            }
            self.fused = true;
            group = next;
        }
    }

    /// Fuses each node with the first earlier one that it can fuse with.
    fn one_by_one(&mut self, graph: &mut Graph, array: Name, readers: Vec<usize>) {
        let mut heads: Vec<Head> = Vec::new();
        for id in readers {
            if !graph.is_whole(id) {
                continue;
            }
            let free = free(graph, &heads, id);
            let led = free.first().copied().unwrap_or(heads.len());
            let united = free.into_iter().find_map(|at| {
                let head = graph.find(heads[at].id);
                let whole = self.pair(graph, head, id, array)?;
                Some((at, whole))
            });
            let Some((at, whole)) = united else {
                heads.push(Head { id, led });
                continue;
            };
            self.fused = true;
            self.vertical(graph, whole);
            heads[at] = Head { id: whole, led: heads[at].led.max(led) };
        }
    }

    /// Merges two nodes that read the array. Returns `None` if they are not fused.
    fn pair(&mut self, graph: &mut Graph, a: usize, b: usize, array: Name) -> Option<usize> {
        let (first, second) = if graph.position(a) < graph.position(b) { (a, b) } else { (b, a) };
        let (one, other) = (graph.stm(first)?, graph.stm(second)?);
        // Vertical fusion of these has been tried before.
        if graph.depends(second, first) {
            return None;
        }
        let array = graph.binder(array).and_then(|id| graph.stm(id));
        let pays = !array.is_some_and(is_iota) || is_light(one) && is_light(other);
        let way = if pays {
            horizontal_way(one, other)?
        } else {
            return None;
        };
        let pair = (Self::describe(one), Self::describe(other));
        let done = way.and_then(|way| {
            if !keep_attributes(one, other) {
                return Err(NotFusedReason::Attributes);
            }
            self.may_merge(graph, first, second)?;
            Ok(way)
        });
        let outcome = done.map_or_else(Outcome::NotFused, |_| Outcome::Horizontal);
        self.record_outcome(pair, outcome);
        self.merge_horizontal(graph, first, second, done.ok()?);
        Some(second)
    }

    fn merge_horizontal(&mut self, graph: &mut Graph, first: usize, second: usize, way: HorizontalWay) {
        let (Some(one), Some(mut other)) = (graph.take(first).pop(), graph.take(second).pop()) else {
            return;
        };
        let prov = self.provs.merge(one.aux.prov, other.aux.prov);
        let (names, types) = (&mut *self.names, &mut self.types);
        let fused = match way {
            HorizontalWay::Combinators { way, swapped } => {
                let (producer, mut consumer) = if swapped { (other, one) } else { (one, other) };
                consumer.aux.prov = prov;
                merge::merge(way, producer, consumer, &|_| true, names, types)
            }
            HorizontalWay::Accumulators => {
                other.aux.prov = prov;
                accs::merge(one, other)
            }
        };
        graph.merge(first, second, vec![fused]);
    }
}

/// The arrays that several combinators read.
fn shared(graph: &Graph) -> Shared {
    let mut readers = Shared::default();
    for id in graph.nodes() {
        let Some(stm) = graph.stm(id).filter(|_| graph.is_whole(id)) else {
            continue;
        };
        for name in read_elementwise(stm) {
            let list = readers.entry(name).or_default();
            if list.last() != Some(&id) {
                list.push(id);
            }
        }
    }
    readers.retain(|_, list| list.len() > 1);
    readers
}

/// The heads from which no path leads to the node, in order.
fn free(graph: &Graph, heads: &[Head], id: usize) -> Vec<usize> {
    let (mut free, mut led) = (Vec::new(), 0);
    for (at, head) in heads.iter().enumerate().rev() {
        if at < led {
            break;
        }
        let node = graph.find(head.id);
        if graph.has_path(node, id) {
            led = led.max(head.led);
        } else if node != id {
            free.push(at);
        }
    }
    free.reverse();
    free
}

/// The way to fuse two statements horizontally.
#[derive(Clone, Copy)]
enum HorizontalWay {
    /// As combinators. `swapped` is true if the second acts as the producer.
    Combinators { way: Position, swapped: bool },
    /// As `withacc`s or histograms.
    Accumulators,
}

/// The way to fuse two statements that read the same array horizontally; `None` if their kinds
/// never do.
fn horizontal_way(one: &Stm<Soacs>, other: &Stm<Soacs>) -> Option<Result<HorizontalWay, NotFusedReason>> {
    let combinators = |(way, swapped)| HorizontalWay::Combinators { way, swapped };
    match (&one.exp, &other.exp) {
        (Exp::Op(Soac::Screma(_)), Exp::Op(Soac::Screma(_))) => {
            Some(merge::horizontal(one, other).map(combinators))
        }
        (Exp::Op(Soac::Hist { .. }), Exp::Op(Soac::Hist { .. }))
        | (Exp::Op(Soac::WithAcc { .. }), Exp::Op(Soac::WithAcc { .. })) => {
            Some(accs::may_fuse_horizontally(one, other).map(|()| HorizontalWay::Accumulators))
        }
        _ => None,
    }
}

/// The arrays that a statement reads element by element: inputs of the combinator, or of those
/// directly in a `withacc`.
fn read_elementwise(stm: &Stm<Soacs>) -> Vec<Name> {
    let mut read = inputs(&stm.exp).to_vec();
    if let Exp::Op(Soac::WithAcc { lambda, .. }) = &stm.exp {
        for inner in &lambda.body.stms {
            read.extend(inputs(&inner.exp));
        }
    }
    read
}

/// Returns true if the fusion of both keeps all their attributes.
fn keep_attributes(one: &Stm<Soacs>, other: &Stm<Soacs>) -> bool {
    let (one, other) = (&one.aux.attrs, &other.aux.attrs);
    let both = Attrs::fused(one, other);
    one.iter().chain(other.iter()).all(|attr| both.has(attr))
}

fn is_iota(stm: &Stm<Soacs>) -> bool {
    matches!(stm.exp, Exp::Basic(BasicOp::Iota { .. }))
}

/// Returns true if the combinator may be computed twice.
fn is_light(stm: &Stm<Soacs>) -> bool {
    matches!(&stm.exp, Exp::Op(Soac::Screma(screma)) if merge::may_run_twice(&screma.map))
}
