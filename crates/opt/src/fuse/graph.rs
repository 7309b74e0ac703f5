//! The dependency graph of a body, in which statements that fuse become one node.
//!
//! An edge leads from a statement to one that must stay behind it: one that uses what
//! it binds, one that consumes an array that it reads, one that reads what it
//! consumed. Two nodes may become one if no path between them leads through a third
//! (T2 reducibility, design §4): then some order of the statements has them side by
//! side. The graph keeps such an order, which is the program's own but for what had
//! to step aside.
//!
//! Cost: an edge for each name that a statement uses; a question, and a fusion, looks
//! at what stands between the two nodes.

use crate::alias::Aliases;
use ir::syntax::{Exp, Stm};
use ir::types::Type;
use ir::{Name, Soacs, TypeEnv};
use rustc_hash::{FxHashMap, FxHashSet};

/// What a statement needs of the body around it.
#[derive(Clone, Default, Debug)]
pub(super) struct Needs {
    /// Names that it uses, with those that it binds inside; inputs of a combinator
    /// are left out.
    pub(super) inside: Vec<Name>,
    /// Arrays that it consumes.
    pub(super) consumed: Vec<Name>,
}

struct Node {
    /// Statements in order; the last is what the node is about.
    stms: Vec<Stm<Soacs>>,
    needs: Needs,
    /// Classes of arrays that are read, and consumed.
    reads: Vec<usize>,
    consumes: Vec<usize>,
    /// Nodes that must stay behind, also such as are part of others by now.
    after: Vec<usize>,
    /// Where the node stands in the order.
    at: usize,
    /// The node that it is part of by now.
    part_of: Option<usize>,
}

/// The graph of one body.
pub(super) struct Graph {
    nodes: Vec<Node>,
    order: Vec<usize>,
    /// The node that bound a name first.
    binders: FxHashMap<Name, usize>,
    /// Classes of arrays that some node consumes.
    consumed: FxHashSet<usize>,
}

impl Graph {
    /// The graph of statements in their order. `alone` says of an array that nothing
    /// else denotes it or a part of it, so that consuming it concerns nobody.
    pub(super) fn new(
        stms: Vec<(Stm<Soacs>, Needs)>,
        types: &TypeEnv,
        aliases: &Aliases,
        alone: impl Fn(&Self, Name) -> bool,
    ) -> Self {
        let mut graph = Self {
            nodes: Vec::with_capacity(stms.len()),
            order: (0..stms.len()).collect(),
            binders: FxHashMap::default(),
            consumed: FxHashSet::default(),
        };
        let mut last: FxHashMap<usize, Access> = FxHashMap::default();
        for (at, (stm, needs)) in stms.into_iter().enumerate() {
            let is_array = |name: &&Name| types.get(**name).is_some_and(Type::is_array);
            let used = || inputs(&stm.exp).iter().chain(&needs.inside);
            let class = |name: &Name| aliases.class(*name);
            let reads = distinct(used().filter(is_array).map(class).collect());
            let consumed = needs.consumed.iter().filter(|name| !alone(&graph, **name));
            let consumes = distinct(consumed.map(class).collect());
            graph.consumed.extend(&consumes);
            for name in used() {
                if let Some(from) = graph.binders.get(name).copied() {
                    graph.add_edge(from, at);
                }
            }
            for class in &reads {
                let access = last.entry(*class).or_default();
                access.consumed.into_iter().for_each(|from| graph.add_edge(from, at));
                access.read.push(at);
            }
            for class in &consumes {
                let access = last.entry(*class).or_default();
                let before = access.read.drain(..).filter(|from| *from != at);
                before.for_each(|from| graph.add_edge(from, at));
                let before = access.consumed.replace(at);
                before.into_iter().for_each(|from| graph.add_edge(from, at));
            }
            graph.binders.extend(stm.pat.iter().map(|param| (param.name, at)));
            graph.nodes.push(Node {
                stms: vec![stm],
                needs,
                reads,
                consumes,
                after: Vec::new(),
                at,
                part_of: None,
            });
        }
        graph
    }

    /// An edge to a node that is added later than all that have edges so far.
    fn add_edge(&mut self, from: usize, to: usize) {
        let after = &mut self.nodes[from].after;
        if after.last() != Some(&to) {
            after.push(to);
        }
    }

    /// The statements, in order.
    pub(super) fn into_stms(mut self) -> Vec<Stm<Soacs>> {
        let mut stms = Vec::with_capacity(self.order.len());
        for id in &self.order {
            stms.append(&mut self.nodes[*id].stms);
        }
        stms
    }

    /// The node that a node is part of by now.
    pub(super) fn find(&self, id: usize) -> usize {
        let mut id = id;
        while let Some(whole) = self.nodes[id].part_of {
            id = whole;
        }
        id
    }

    /// The nodes in order.
    pub(super) fn nodes(&self) -> Vec<usize> {
        self.order.clone()
    }

    /// Whether the node is not part of another.
    pub(super) fn is_whole(&self, id: usize) -> bool {
        self.nodes[id].part_of.is_none()
    }

    /// Where the node stands.
    pub(super) fn place(&self, id: usize) -> usize {
        self.nodes[id].at
    }

    /// The statement that the node is about.
    pub(super) fn stm(&self, id: usize) -> Option<&Stm<Soacs>> {
        self.nodes[id].stms.last()
    }

    /// The node that binds a name, if this body does.
    pub(super) fn binder(&self, name: Name) -> Option<usize> {
        self.binders.get(&name).map(|id| self.find(*id))
    }

    /// What the node needs.
    pub(super) fn needs(&self, id: usize) -> &Needs {
        &self.nodes[id].needs
    }

    /// Whether some node consumes arrays of this class.
    pub(super) fn is_consumed(&self, class: usize) -> bool {
        self.consumed.contains(&class)
    }

    /// Whether one node consumes what the other reads, or both consume the same.
    pub(super) fn collide(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.nodes[a], &self.nodes[b]);
        let hits = |consumes: &[usize], reads: &[usize]| consumes.iter().any(|class| reads.contains(class));
        hits(&a.consumes, &b.reads) || hits(&b.consumes, &a.reads) || hits(&a.consumes, &b.consumes)
    }

    /// Whether the node must stay behind the other one, by an edge.
    pub(super) fn depends(&self, id: usize, on: usize) -> bool {
        self.nodes[on].after.iter().any(|next| self.find(*next) == id)
    }

    /// Whether no path between the two leads through a third node.
    pub(super) fn apart_from_others(&self, first: usize, second: usize) -> bool {
        self.behind(first, second).is_some()
    }

    /// For each node how many statements that count stand on the longest path to it.
    /// One that counts does not lead to others of its level, and nodes of one level may
    /// become one without leading to others of it.
    pub(super) fn levels(&self, counts: impl Fn(&Stm<Soacs>) -> bool) -> Vec<u32> {
        let mut levels = vec![0; self.nodes.len()];
        for id in &self.order {
            let level = levels[*id] + u32::from(self.stm(*id).is_some_and(&counts));
            for next in &self.nodes[*id].after {
                let next = self.find(*next);
                if next != *id {
                    levels[next] = level.max(levels[next]);
                }
            }
        }
        levels
    }

    /// Whether a path leads from a node to one that stands behind it.
    pub(super) fn leads(&self, from: usize, to: usize) -> bool {
        self.depends(to, from) || !self.apart_from_others(from, to)
    }

    /// The nodes between the two that must stay behind the first; nothing if the
    /// second must stay behind one of them.
    fn behind(&self, first: usize, second: usize) -> Option<FxHashSet<usize>> {
        let end = self.nodes[second].at;
        let mut found: FxHashSet<usize> = FxHashSet::default();
        let mut open: Vec<usize> = vec![first];
        while let Some(id) = open.pop() {
            for next in &self.nodes[id].after {
                let next = self.find(*next);
                if next == second && id != first {
                    return None;
                }
                if next != id && self.nodes[next].at < end && found.insert(next) {
                    open.push(next);
                }
            }
        }
        found.remove(&first);
        Some(found)
    }

    /// Makes the first node part of the second, whose statements are these now, where
    /// no path leads through a third.
    pub(super) fn unite(&mut self, first: usize, second: usize, stms: Vec<Stm<Soacs>>) {
        let aside = self.behind(first, second).unwrap_or_default();
        let (from, to) = (self.nodes[first].at, self.nodes[second].at);
        let window: Vec<usize> = self.order[from..=to].to_vec();
        let stays = |id: &&usize| **id != first && **id != second && !aside.contains(*id);
        let mut order: Vec<usize> = window.iter().filter(stays).copied().collect();
        order.push(second);
        order.extend(window.iter().filter(|id| aside.contains(*id)));
        // The first's place goes: the order gets shorter by a part that is no node.
        order.push(first);
        for (at, id) in (from..).zip(&order) {
            self.order[at] = *id;
            self.nodes[*id].at = at;
        }
        let part = &mut self.nodes[first];
        part.stms.clear();
        part.part_of = Some(second);
        let after = std::mem::take(&mut part.after);
        let needs = std::mem::take(&mut part.needs);
        let reads = std::mem::take(&mut part.reads);
        let consumes = std::mem::take(&mut part.consumes);
        let whole = &mut self.nodes[second];
        whole.stms = stms;
        whole.after = join(std::mem::take(&mut whole.after), after);
        whole.needs.inside.extend(needs.inside);
        whole.needs.consumed.extend(needs.consumed);
        whole.reads.extend(reads);
        whole.consumes.extend(consumes);
    }

    /// As [`Graph::unite`], where the first goes into a lambda of the second: what it
    /// reads is needed inside from now on.
    pub(super) fn sink(&mut self, first: usize, second: usize, stms: Vec<Stm<Soacs>>, read: &[Name]) {
        self.unite(first, second, stms);
        self.nodes[second].needs.inside.extend(read);
    }

    /// The nodes that must stay behind this one, by an edge, each once.
    pub(super) fn behind_at_once(&self, id: usize) -> Vec<usize> {
        let after = &self.nodes[id].after;
        distinct(after.iter().map(|next| self.find(*next)).collect())
    }

    /// Changes the node's statement so that it uses the names that one node binds instead
    /// of these that another one does; if there are none, it uses that one's, too.
    pub(super) fn use_instead(
        &mut self,
        id: usize,
        (old, dropped): (usize, &[Name]),
        (new, used): (usize, &[Name]),
        change: impl FnOnce(&mut Stm<Soacs>),
    ) {
        let node = &mut self.nodes[id];
        node.stms.last_mut().map(change);
        node.needs.inside.retain(|name| !dropped.contains(name));
        node.needs.inside.extend(used);
        if !dropped.is_empty() {
            let mut after = std::mem::take(&mut self.nodes[old].after);
            after.retain(|next| self.find(*next) != id);
            self.nodes[old].after = after;
        }
        self.add_edge(new, id);
    }

    /// Puts a statement that the node needs, and no other node so far, in front of it; its
    /// node.
    pub(super) fn insert_before(&mut self, id: usize, stm: Stm<Soacs>) -> usize {
        let (new, at) = (self.nodes.len(), self.nodes[id].at);
        ir::walk::used_names(&stm.exp, |name| {
            if let Some(from) = self.binder(name) {
                self.add_edge(from, new);
            }
        });
        self.binders.extend(stm.pat.iter().map(|param| (param.name, new)));
        self.nodes.push(Node {
            needs: Needs::default(),
            reads: Vec::new(),
            consumes: Vec::new(),
            after: vec![id],
            at,
            part_of: None,
            stms: vec![stm],
        });
        self.put(at, new);
        new
    }

    /// Puts a statement that gives the node's results other names behind it: what had to
    /// stay behind the node stays behind this.
    pub(super) fn insert_behind(&mut self, id: usize, stm: Stm<Soacs>) {
        let (new, at) = (self.nodes.len(), self.nodes[id].at + 1);
        self.binders.extend(stm.pat.iter().map(|param| (param.name, new)));
        self.nodes.push(Node {
            needs: Needs::default(),
            reads: Vec::new(),
            consumes: Vec::new(),
            after: self.nodes[id].after.clone(),
            at,
            part_of: None,
            stms: vec![stm],
        });
        self.nodes[id].after.push(new);
        self.put(at, new);
    }

    /// Changes the node's statement so that it reads the array as an input alone.
    pub(super) fn change(&mut self, id: usize, array: Name, change: impl FnOnce(&mut Stm<Soacs>)) {
        let node = &mut self.nodes[id];
        node.needs.inside.retain(|name| *name != array);
        if let Some(stm) = node.stms.last_mut() {
            change(stm);
        }
    }

    /// The node's statement from now on.
    pub(super) fn replace(&mut self, id: usize, stm: Stm<Soacs>) {
        self.binders.extend(stm.pat.iter().map(|param| (param.name, id)));
        self.nodes[id].stms = vec![stm];
    }

    fn put(&mut self, at: usize, id: usize) {
        self.order.insert(at, id);
        for (at, id) in self.order.iter().enumerate().skip(at) {
            self.nodes[*id].at = at;
        }
    }

    /// Takes a node's statements, which are given back by [`Graph::unite`].
    pub(super) fn take(&mut self, id: usize) -> Vec<Stm<Soacs>> {
        std::mem::take(&mut self.nodes[id].stms)
    }
}

fn distinct(mut classes: Vec<usize>) -> Vec<usize> {
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// The last accesses to a class of arrays.
#[derive(Default)]
struct Access {
    consumed: Option<usize>,
    /// Since then.
    read: Vec<usize>,
}

/// Both, the shorter appended to the longer.
fn join(mut a: Vec<usize>, mut b: Vec<usize>) -> Vec<usize> {
    if a.len() < b.len() {
        std::mem::swap(&mut a, &mut b);
    }
    a.append(&mut b);
    a
}

/// The arrays that a combinator reads element by element.
pub(super) fn inputs(exp: &Exp<Soacs>) -> &[Name] {
    use ir::soac::{Screma, Soac};
    match exp {
        Exp::Op(Soac::Screma(Screma { inputs, .. }) | Soac::Hist { inputs, .. }) => inputs,
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => &[],
    }
}
