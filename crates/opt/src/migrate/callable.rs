//! The functions that a device thread can call, and the functions that kernels call already.

use ir::kernels::ThreadCallees;
use ir::seg::SegOp;
use ir::syntax::Exp;
use ir::walk::{Visit, callees, sub_bodies};
use ir::{FunName, Program, Segs};
use rustc_hash::{FxHashMap, FxHashSet};

/// Facts about a program's functions.
pub(super) struct Callable {
    by_threads: ThreadCallees,
    in_kernels: FxHashSet<FunName>,
}

impl Callable {
    /// Analyses all functions of a program.
    pub(super) fn of(program: &Program<Segs>) -> Self {
        let mut calls: FxHashMap<&FunName, Vec<FunName>> = FxHashMap::default();
        let mut called = Kernels::default();
        for function in &program.functions {
            let mut own = Vec::new();
            callees(&function.body, |fun| own.push(fun.clone()));
            calls.insert(&function.name, own);
            Visit::<Segs>::body(&mut called, &function.body);
        }
        let mut in_kernels = FxHashSet::default();
        let mut open = called.called;
        while let Some(name) = open.pop() {
            if let Some(more) = calls.get(&name)
                && in_kernels.insert(name)
            {
                open.extend(more.iter().cloned());
            }
        }
        Self { by_threads: ThreadCallees::of(program), in_kernels }
    }

    /// Returns true if a device thread can call the function.
    pub(super) fn callable_by_threads(&self, name: &FunName) -> bool {
        self.by_threads.allow(name)
    }

    /// Returns true if kernels call the function, directly or transitively.
    pub(super) fn called_by_kernels(&self, name: &FunName) -> bool {
        self.in_kernels.contains(name)
    }
}

/// The functions called inside of segops.
#[derive(Default)]
struct Kernels {
    called: Vec<FunName>,
}

impl Visit<Segs> for Kernels {
    fn exp(&mut self, exp: &Exp<Segs>) {
        let Exp::Op(SegOp::Seg(_)) = exp else {
            return self.walk_exp(exp);
        };
        sub_bodies(exp, |body| callees(body, |fun| self.called.push(fun.clone())));
    }
}
