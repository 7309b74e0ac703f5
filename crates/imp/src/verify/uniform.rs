//! Finds barriers in divergent code: some threads of the block would wait for others that never
//! arrive.
//!
//! Divergence analysis by dependences. A variable depends on everything that is read to compute it,
//! and on the control flow that determines if it is set: the enclosing conditions and bounds, each
//! of which is a node too. The sources are the thread's index, reads from private memory, results
//! of atomic updates and awaited signals, and results of functions with buffer arguments; a
//! function of uniform scalars only is uniform. An element of device or shared memory at a uniform
//! position is uniform, as threads may not race for it. Takes time linear in the kernel.

use crate::walk::{Use, each_use};
use crate::{Arg, DeviceOp, For, Function, Stmt, Var, VarInfo};
use rustc_hash::FxHashMap;
use target::memories::Allocation;

/// The number of barriers in code that may be divergent.
pub(super) fn divergent_barriers(function: &Function, threads: &For) -> usize {
    let mut graph = DependenceGraph {
        vars: &function.vars,
        numbers: FxHashMap::default(),
        out: vec![Vec::new()],
        sources: Vec::new(),
        barriers: Vec::new(),
    };
    let thread = graph.var(threads.var);
    graph.sources.push(thread);
    graph.block(&threads.body, ROOT);
    let DependenceGraph { out, sources: mut open, barriers, .. } = graph;
    let mut divergent = vec![false; out.len()];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut divergent[node], true) {
            open.extend(&out[node]);
        }
    }
    barriers.iter().filter(|region| divergent[**region]).count()
}

/// The region that all threads execute.
const ROOT: usize = 0;

struct DependenceGraph<'a> {
    vars: &'a [VarInfo],
    numbers: FxHashMap<Var, usize>,
    /// The nodes that depend on each node.
    out: Vec<Vec<usize>>,
    sources: Vec<usize>,
    /// The region of each barrier.
    barriers: Vec<usize>,
}

impl DependenceGraph<'_> {
    fn node(&mut self) -> usize {
        self.out.push(Vec::new());
        self.out.len() - 1
    }

    fn var(&mut self, var: Var) -> usize {
        if let Some(node) = self.numbers.get(&var) {
            return *node;
        }
        let node = self.node();
        self.numbers.insert(var, node);
        node
    }

    fn block(&mut self, stmts: &[Stmt], region: usize) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                self.stmt(stmt, region);
            }
        });
    }

    fn stmt(&mut self, stmt: &Stmt, region: usize) {
        let (mut reads, mut sets, mut own) = (Vec::new(), Vec::new(), false);
        each_use(stmt, &mut |var, used| match used {
            Use::Reads => {
                let memory = self.vars.get(var.index()).and_then(|info| info.ty.memory());
                own |= memory.is_some_and(|memory| memory.allocation == Allocation::Frame);
                reads.push(var);
            }
            Use::Sets => sets.push(var),
        });
        own |= match stmt {
            Stmt::Device(DeviceOp::Update(_) | DeviceOp::CompareExchange { .. } | DeviceOp::Await { .. }) => {
                !sets.is_empty()
            }
            Stmt::Call { args, .. } => args.iter().any(|arg| matches!(arg, Arg::Buffer(_))),
            Stmt::Device(DeviceOp::Barrier | DeviceOp::SubgroupBarrier(_)) => {
                self.barriers.push(region);
                false
            }
            Stmt::Device(DeviceOp::Signal { .. }) => false,
            crate::element_stmt!()
            | crate::resource_stmt!()
            | crate::nested_stmt!()
            | Stmt::Copy { .. }
            | Stmt::Check { .. } => false,
        };
        let inner = match stmt {
            Stmt::If(..) | Stmt::While(..) | Stmt::For(_) => Some(self.node()),
            crate::leaf_stmt!() => None,
        };
        // The values read determine the execution of the nested statements, or the values set.
        let reads: Vec<usize> = reads.into_iter().map(|var| self.var(var)).collect();
        let sets: Vec<usize> = sets.into_iter().map(|var| self.var(var)).collect();
        let targets: Vec<usize> = inner.into_iter().chain(sets.iter().copied()).collect();
        for from in reads.into_iter().chain([region]) {
            self.out[from].extend(&targets);
        }
        if own {
            self.sources.extend(targets);
        }
        match (stmt, inner) {
            (Stmt::If(_, yes, no), Some(inner)) => {
                self.block(yes, inner);
                self.block(no, inner);
            }
            (Stmt::While(_, body) | Stmt::For(For { body, .. }), Some(inner)) => {
                self.block(body, inner);
            }
            _ => {}
        }
    }
}
