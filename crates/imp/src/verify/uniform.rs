//! Barriers where threads of a block have parted: some would wait for others that never
//! come.
//!
//! What differs from thread to thread is found by following what depends on what. A
//! variable depends on all that is read to compute it, and on what decides whether it is
//! set: the conditions and bounds around, each of which is a node too. The sources are
//! the thread's number, what it reads from memory of its own, and what it gets from
//! atomic updates, awaited signals and from functions that are given memory; what they make
//! of scalars is the same of the same. An element of shared memory at the same place is the same for all
//! threads, as they may not race for it. Takes time linear in the kernel.

use crate::walk::{Use, names};
use crate::{Arg, DeviceOp, For, Function, Space, Stmt, Var, VarInfo};
use rustc_hash::FxHashMap;

/// How many barriers of a block stand where its threads may have parted.
pub(super) fn divergent_barriers(function: &Function, threads: &For) -> usize {
    let mut graph = Graph {
        vars: &function.vars,
        numbers: FxHashMap::default(),
        out: vec![Vec::new()],
        sources: Vec::new(),
        barriers: Vec::new(),
    };
    let thread = graph.var(threads.var);
    graph.sources.push(thread);
    graph.block(&threads.body, ROOT);
    let Graph { out, sources: mut open, barriers, .. } = graph;
    let mut differs = vec![false; out.len()];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut differs[node], true) {
            open.extend(&out[node]);
        }
    }
    barriers.iter().filter(|region| differs[**region]).count()
}

/// The statements that all threads come to.
const ROOT: usize = 0;

struct Graph<'a> {
    vars: &'a [VarInfo],
    numbers: FxHashMap<Var, usize>,
    /// What depends on each node.
    out: Vec<Vec<usize>>,
    sources: Vec<usize>,
    /// The region that each barrier stands in.
    barriers: Vec<usize>,
}

impl Graph<'_> {
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
        names(stmt, &mut |var, used| match used {
            Use::Reads => {
                let space = self.vars.get(var.index()).and_then(|info| info.ty.space());
                own |= space == Some(Space::Private);
                reads.push(var);
            }
            Use::Sets => sets.push(var),
        });
        own |= match stmt {
            Stmt::Device(DeviceOp::Update(_) | DeviceOp::Swap { .. } | DeviceOp::Await { .. }) => {
                !sets.is_empty()
            }
            Stmt::Call { args, .. } => args.iter().any(|arg| matches!(arg, Arg::Buffer(_))),
            Stmt::Device(DeviceOp::Barrier | DeviceOp::GroupBarrier(_)) => {
                self.barriers.push(region);
                false
            }
            Stmt::Device(DeviceOp::Signal { .. }) => false,
            Stmt::Set(..)
            | Stmt::Load(..)
            | Stmt::Store(..)
            | Stmt::LoadLanes { .. }
            | Stmt::StoreLanes { .. }
            | Stmt::Alloc(..)
            | Stmt::Frame { .. }
            | Stmt::Share(..)
            | Stmt::Borrow(..)
            | Stmt::Release(_)
            | Stmt::Slots(_)
            | Stmt::Copy { .. }
            | Stmt::ConstData(..)
            | Stmt::If(..)
            | Stmt::While(..)
            | Stmt::For(_)
            | Stmt::Check { .. }
            | Stmt::Compared(..)
            | Stmt::ReadGlobal(..)
            | Stmt::WriteGlobal(..) => false,
        };
        let inner = match stmt {
            Stmt::If(..) | Stmt::While(..) | Stmt::For(_) => Some(self.node()),
            crate::leaf_stmt!() => None,
        };
        // What is read decides about the nested statements, or about what is set.
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
