//! The dependency graph of a body, in which fused statements become one node.
//!
//! An edge leads from a statement to one that must stay after it: one that uses its results, one
//! that consumes an array that it reads, or one that reads an array that it consumed. Two nodes may
//! be merged if no path between them leads through a third (T2 reducibility, design §4): then some
//! order of the statements has them adjacent. The graph maintains such an order, which is the
//! program's own except for statements that had to be moved aside.
//!
//! Cost: one edge per name that a statement uses; a query or a fusion visits the nodes between the
//! two.

use analysis::alias::Aliases;
use ir::syntax::{Exp, Stm};
use ir::types::Type;
use ir::{Name, Soacs, TypeEnv};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::Cell;

/// The dependencies of a statement on the enclosing body.
#[derive(Clone, Default, Debug)]
pub(super) struct Needs {
    /// The names that it uses and does not bind itself, except for inputs of a combinator.
    pub(super) inside: Vec<Name>,
    /// The arrays that it consumes.
    pub(super) consumed: Vec<Name>,
}

struct Node {
    /// Statements in order. The last is the combinator; the others precede it.
    stms: Vec<Stm<Soacs>>,
    needs: Needs,
    /// The alias classes of the arrays that are read, and of the consumed arrays.
    reads: Vec<usize>,
    consumes: Vec<usize>,
    /// The nodes that must stay after this one. They may be part of others by now.
    successors: Vec<usize>,
    /// The node's position in the order.
    position: usize,
    /// The node into which this one was merged, or one of those into which that was merged.
    merged_into: Cell<Option<usize>>,
}

/// The graph of one body.
pub(super) struct Graph {
    nodes: Vec<Node>,
    order: Vec<usize>,
    /// The node that first bound each name.
    binders: FxHashMap<Name, usize>,
    /// The alias classes of arrays that some node consumes.
    consumed: FxHashSet<usize>,
}

impl Graph {
    /// Builds the graph of statements in their order. `alone` returns true for an array that no
    /// other name refers to, even in part, so that consuming it affects no other statement.
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
                successors: Vec::new(),
                position: at,
                merged_into: Cell::new(None),
            });
        }
        graph
    }

    /// Adds an edge to the node that was added last.
    fn add_edge(&mut self, from: usize, to: usize) {
        let after = &mut self.nodes[from].successors;
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

    /// The node that contains a node by now.
    pub(super) fn find(&self, id: usize) -> usize {
        let mut whole = id;
        while let Some(next) = self.nodes[whole].merged_into.get() {
            whole = next;
        }
        // The next search from these nodes is short.
        let mut part = id;
        while let Some(next) = self.nodes[part].merged_into.get() {
            self.nodes[part].merged_into.set(Some(whole));
            part = next;
        }
        whole
    }

    /// The nodes in order.
    pub(super) fn nodes(&self) -> Vec<usize> {
        self.order.clone()
    }

    /// Returns true if the node is not part of another.
    pub(super) fn is_whole(&self, id: usize) -> bool {
        self.nodes[id].merged_into.get().is_none()
    }

    /// The node's position in the order.
    pub(super) fn position(&self, id: usize) -> usize {
        self.nodes[id].position
    }

    /// The combinator of the node.
    pub(super) fn stm(&self, id: usize) -> Option<&Stm<Soacs>> {
        self.nodes[id].stms.last()
    }

    /// The node that binds a name, if this body binds it.
    pub(super) fn binder(&self, name: Name) -> Option<usize> {
        self.binders.get(&name).map(|id| self.find(*id))
    }

    /// The node's dependencies.
    pub(super) fn needs(&self, id: usize) -> &Needs {
        &self.nodes[id].needs
    }

    /// Returns true if some node consumes arrays of this class.
    pub(super) fn is_consumed(&self, class: usize) -> bool {
        self.consumed.contains(&class)
    }

    /// Returns true if one node consumes an array that the other reads or consumes.
    pub(super) fn collide(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.nodes[a], &self.nodes[b]);
        let hits = |consumes: &[usize], reads: &[usize]| consumes.iter().any(|class| reads.contains(class));
        hits(&a.consumes, &b.reads) || hits(&b.consumes, &a.reads) || hits(&a.consumes, &b.consumes)
    }

    /// Returns true if an edge requires the node to stay after the other one.
    pub(super) fn depends(&self, id: usize, on: usize) -> bool {
        self.nodes[on].successors.iter().any(|next| self.find(*next) == id)
    }

    /// Returns true if no path between the two nodes leads through a third.
    pub(super) fn no_path_through_others(&self, first: usize, second: usize) -> bool {
        self.successors_between(first, second).is_some()
    }

    /// For each node, the largest number of counted statements on a path to it. No path leads from
    /// a counted statement to another one of its level, and that still holds after nodes of one
    /// level are merged.
    pub(super) fn levels(&self, counts: impl Fn(&Stm<Soacs>) -> bool) -> Vec<u32> {
        let mut levels = vec![0; self.nodes.len()];
        for id in &self.order {
            let level = levels[*id] + u32::from(self.stm(*id).is_some_and(&counts));
            for next in &self.nodes[*id].successors {
                let next = self.find(*next);
                if next != *id {
                    levels[next] = level.max(levels[next]);
                }
            }
        }
        levels
    }

    /// Returns true if a path leads from a node to a later one.
    pub(super) fn has_path(&self, from: usize, to: usize) -> bool {
        self.depends(to, from) || !self.no_path_through_others(from, to)
    }

    /// The nodes between the two that must stay after the first. `None` if the second must stay
    /// after one of them.
    fn successors_between(&self, first: usize, second: usize) -> Option<FxHashSet<usize>> {
        let end = self.nodes[second].position;
        let mut found: FxHashSet<usize> = FxHashSet::default();
        let mut open: Vec<usize> = vec![first];
        while let Some(id) = open.pop() {
            for next in &self.nodes[id].successors {
                let next = self.find(*next);
                if next == second && id != first {
                    return None;
                }
                if next != id && self.nodes[next].position < end && found.insert(next) {
                    open.push(next);
                }
            }
        }
        found.remove(&first);
        Some(found)
    }

    /// Merges the first node into the second and replaces its statements. No path may lead through
    /// a third node.
    pub(super) fn merge(&mut self, first: usize, second: usize, stms: Vec<Stm<Soacs>>) {
        let aside = self.successors_between(first, second).unwrap_or_default();
        let (from, to) = (self.nodes[first].position, self.nodes[second].position);
        let window: Vec<usize> = self.order[from..=to].to_vec();
        let stays = |id: &&usize| **id != first && **id != second && !aside.contains(*id);
        let mut order: Vec<usize> = window.iter().filter(stays).copied().collect();
        order.push(second);
        order.extend(window.iter().filter(|id| aside.contains(*id)));
        // The first node, which is empty from now on, is last.
        order.push(first);
        for (at, id) in (from..).zip(&order) {
            self.order[at] = *id;
            self.nodes[*id].position = at;
        }
        let part = &mut self.nodes[first];
        part.stms.clear();
        part.merged_into.set(Some(second));
        let after = std::mem::take(&mut part.successors);
        let needs = std::mem::take(&mut part.needs);
        let reads = std::mem::take(&mut part.reads);
        let consumes = std::mem::take(&mut part.consumes);
        let own = std::mem::take(&mut self.nodes[second].successors);
        let successors = self.join(second, own, after);
        let whole = &mut self.nodes[second];
        whole.stms = stms;
        whole.successors = successors;
        whole.needs.inside.extend(needs.inside);
        whole.needs.consumed.extend(needs.consumed);
        whole.reads.extend(reads);
        whole.consumes.extend(consumes);
    }

    /// Both lists of a node's successors, the shorter appended to the longer without the node itself.
    fn join(&self, id: usize, mut a: Vec<usize>, mut b: Vec<usize>) -> Vec<usize> {
        if a.len() < b.len() {
            std::mem::swap(&mut a, &mut b);
        }
        a.extend(b.into_iter().filter(|next| self.find(*next) != id));
        a
    }

    /// As [`Graph::merge`], where the first statement is moved into a lambda of the second: the
    /// arrays that it reads become dependencies of the inside.
    pub(super) fn sink(&mut self, first: usize, second: usize, stms: Vec<Stm<Soacs>>, read: &[Name]) {
        self.merge(first, second, stms);
        self.nodes[second].needs.inside.extend(read);
    }

    /// The direct successors of a node, each once.
    pub(super) fn direct_successors(&self, id: usize) -> Vec<usize> {
        let after = &self.nodes[id].successors;
        distinct(after.iter().map(|next| self.find(*next)).collect())
    }

    /// Changes the node's statement so that it uses the names `used`, bound by node `new`, instead
    /// of `dropped`, bound by node `old`. If `dropped` is empty, it keeps its dependence on `old`.
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
            let mut after = std::mem::take(&mut self.nodes[old].successors);
            after.retain(|next| self.find(*next) != id);
            self.nodes[old].successors = after;
        }
        self.add_edge(new, id);
    }

    /// Inserts a statement, which only this node depends on, before the node. Returns its node.
    pub(super) fn insert_before(&mut self, id: usize, stm: Stm<Soacs>) -> usize {
        let (new, at) = (self.nodes.len(), self.nodes[id].position);
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
            successors: vec![id],
            position: at,
            merged_into: Cell::new(None),
            stms: vec![stm],
        });
        self.put(at, new);
        new
    }

    /// Inserts a statement that renames the node's results after the node. The node's successors
    /// become successors of that statement too.
    pub(super) fn insert_behind(&mut self, id: usize, stm: Stm<Soacs>) {
        let (new, at) = (self.nodes.len(), self.nodes[id].position + 1);
        self.binders.extend(stm.pat.iter().map(|param| (param.name, new)));
        self.nodes.push(Node {
            needs: Needs::default(),
            reads: Vec::new(),
            consumes: Vec::new(),
            successors: self.nodes[id].successors.clone(),
            position: at,
            merged_into: Cell::new(None),
            stms: vec![stm],
        });
        self.nodes[id].successors.push(new);
        self.put(at, new);
    }

    /// Changes the node's statement so that it reads the array only as an input.
    pub(super) fn change(&mut self, id: usize, array: Name, change: impl FnOnce(&mut Stm<Soacs>)) {
        let node = &mut self.nodes[id];
        node.needs.inside.retain(|name| *name != array);
        if let Some(stm) = node.stms.last_mut() {
            change(stm);
        }
    }

    /// Replaces the node's statement.
    pub(super) fn replace(&mut self, id: usize, stm: Stm<Soacs>) {
        self.binders.extend(stm.pat.iter().map(|param| (param.name, id)));
        self.nodes[id].stms = vec![stm];
    }

    fn put(&mut self, at: usize, id: usize) {
        self.order.insert(at, id);
        for (at, id) in self.order.iter().enumerate().skip(at) {
            self.nodes[*id].position = at;
        }
    }

    /// Takes a node's statements. [`Graph::merge`] sets them again.
    pub(super) fn take(&mut self, id: usize) -> Vec<Stm<Soacs>> {
        std::mem::take(&mut self.nodes[id].stms)
    }
}

fn distinct(mut classes: Vec<usize>) -> Vec<usize> {
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// The last accesses to an alias class.
#[derive(Default)]
struct Access {
    consumed: Option<usize>,
    /// The reads since then.
    read: Vec<usize>,
}

/// The arrays that a combinator reads element by element.
pub(super) fn inputs(exp: &Exp<Soacs>) -> &[Name] {
    use ir::soac::{Screma, Soac};
    match exp {
        Exp::Op(Soac::Screma(Screma { inputs, .. }) | Soac::Hist { inputs, .. }) => inputs,
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => &[],
    }
}
