//! The dependence graph of straight-line code, within one execution of it.

use super::cost::{self, Cost};
use imp::walk::{Use, divides, each_use};
use imp::{Expr, Stmt, Var, VarInfo};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use target::{Machine, latency};

/// The memory effect of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Memory {
    None,
    /// It reads a buffer.
    Load(Var),
    /// It writes a buffer.
    Store(Var),
}

/// One statement.
pub(super) struct Node {
    /// The variable that it sets.
    pub(super) sets: Option<Var>,
    /// The number of vector registers of that variable.
    pub(super) registers: f64,
    /// The memory effect.
    pub(super) memory: Memory,
    /// The cost.
    pub(super) cost: Cost,
    /// The earlier statements that it depends on, by data, anti- or memory dependences.
    pub(super) before: Vec<usize>,
    /// The ones of these whose results it reads.
    pub(super) operands: Vec<usize>,
    /// True if it reads a variable that a later statement sets: a loop-carried dependence.
    pub(super) carried: bool,
    /// True if it could trap on operands that no iteration has.
    pub(super) traps: bool,
}

/// The statements with their dependences.
pub(super) struct DependenceGraph {
    /// In program order.
    pub(super) nodes: Vec<Node>,
    disjoint: Rc<FxHashSet<Var>>,
}

impl DependenceGraph {
    /// The graph of statements without control flow; `None` if a variable is set twice. `disjoint`
    /// has the buffers whose block no other buffer denotes.
    pub(super) fn new(
        vars: &[VarInfo],
        stmts: &[Stmt],
        machine: Machine,
        disjoint: &Rc<FxHashSet<Var>>,
    ) -> Option<Self> {
        let mut graph = Self { nodes: Vec::with_capacity(stmts.len()), disjoint: Rc::clone(disjoint) };
        let mut setters: FxHashMap<Var, usize> = FxHashMap::default();
        for (at, stmt) in stmts.iter().enumerate() {
            let mut twice = false;
            each_use(stmt, &mut |var, used| {
                if used == Use::Sets {
                    twice |= setters.insert(var, at).is_some();
                }
            });
            if twice {
                return None;
            }
        }
        let mut readers: FxHashMap<Var, Vec<usize>> = FxHashMap::default();
        let mut accesses: Vec<usize> = Vec::new();
        for (at, stmt) in stmts.iter().enumerate() {
            let mut node = plain(vars, stmt, machine);
            each_use(stmt, &mut |var, used| match used {
                Use::Reads => {
                    match setters.get(&var) {
                        Some(setter) if *setter < at => node.operands.push(*setter),
                        Some(_) => node.carried = true,
                        None => {}
                    }
                    readers.entry(var).or_default().push(at);
                }
                // Anti-dependences.
                Use::Sets => node.before.extend(readers.get(&var).into_iter().flatten().filter(|r| **r < at)),
            });
            node.before.extend(&node.operands);
            let conflicting = |earlier: &&usize| graph.conflict(graph.nodes[**earlier].memory, node.memory);
            node.before.extend(accesses.iter().filter(conflicting));
            if node.memory != Memory::None {
                accesses.push(at);
            }
            node.before.sort_unstable();
            node.before.dedup();
            graph.nodes.push(node);
        }
        Some(graph)
    }

    /// Returns true if the order of two memory accesses matters.
    pub(super) fn conflict(&self, x: Memory, y: Memory) -> bool {
        match (x, y) {
            (Memory::Store(a), Memory::Store(b) | Memory::Load(b)) | (Memory::Load(a), Memory::Store(b)) => {
                a == b || !(self.disjoint.contains(&a) || self.disjoint.contains(&b))
            }
            _ => false,
        }
    }

    /// The earliest finishing time of each statement, with unlimited units; only statements for
    /// which `counts` returns true take time.
    pub(super) fn finished(&self, counts: impl Fn(usize) -> bool) -> Vec<f64> {
        let mut finished: Vec<f64> = Vec::with_capacity(self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            let ready = node.before.iter().map(|b| finished[*b]);
            let ready = ready.fold(0.0, f64::max);
            let latency = if counts(at) { node.cost.latency } else { 0.0 };
            finished.push(ready + latency);
        }
        finished
    }
}

/// The node of a statement, without its dependences.
fn plain(vars: &[VarInfo], stmt: &Stmt, machine: Machine) -> Node {
    let mut cost = Cost::default();
    let mut traps = false;
    let mut add = |e: &Expr| {
        let more = cost::of(vars, e, machine);
        cost.latency = cost.latency.max(more.latency);
        cost.busy += more.busy;
        cost.operations += more.operations;
        traps |= divides(e);
    };
    let (sets, memory, access) = match stmt {
        Stmt::Set(v, e) => {
            add(e);
            (Some(*v), Memory::None, (0.0, 0.0))
        }
        Stmt::Load(v, from) => (Some(*v), Memory::Load(from.buffer), latency::LOAD),
        Stmt::LoadLanes { var, from, mask: _ } => (Some(*var), Memory::Load(from.buffer), latency::LOAD),
        Stmt::Store(to, e) => {
            add(e);
            (None, Memory::Store(to.buffer), latency::STORE)
        }
        Stmt::StoreLanes { to, value, mask: _ } => {
            add(value);
            (None, Memory::Store(to.buffer), latency::STORE)
        }
        imp::leaf_stmt!() | imp::nested_stmt!() => (None, Memory::None, (0.0, 0.0)),
    };
    cost.latency += access.0;
    cost.busy += access.1;
    Node {
        sets,
        registers: sets.map_or(0.0, |var| cost::registers_of(vars, var, machine)),
        memory,
        cost,
        before: Vec::new(),
        operands: Vec::new(),
        carried: false,
        traps,
    }
}
