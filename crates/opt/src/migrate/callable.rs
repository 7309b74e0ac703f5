//! The functions that a device thread can call, and the functions that kernels call already.

use ir::kernels::ThreadCallees;
use ir::seg::SegOp;
use ir::syntax::Exp;
use ir::walk::{Visit, callees, sub_bodies};
use ir::{FunId, Program, Segs};

/// Facts about a program's functions.
pub(super) struct Callable {
    by_threads: ThreadCallees,
    /// For each function, true if kernels call it, directly or transitively.
    in_kernels: Vec<bool>,
}

impl Callable {
    /// Analyses all functions of a program.
    pub(super) fn of(program: &Program<Segs>) -> Self {
        let mut called = Kernels::default();
        for function in &program.functions {
            Visit::<Segs>::body(&mut called, &function.body);
        }
        let mut in_kernels = vec![false; program.functions.len()];
        let mut open = called.called;
        while let Some(fun) = open.pop() {
            if !std::mem::replace(&mut in_kernels[fun.index()], true) {
                callees(&program.function(fun).body, |callee| open.push(callee));
            }
        }
        Self { by_threads: ThreadCallees::of(program), in_kernels }
    }

    /// Returns true if a device thread can call the function.
    pub(super) fn callable_by_threads(&self, fun: FunId) -> bool {
        self.by_threads.allow(fun)
    }

    /// Returns true if kernels call the function, directly or transitively.
    pub(super) fn called_by_kernels(&self, fun: FunId) -> bool {
        self.in_kernels[fun.index()]
    }
}

/// The functions called inside of segops.
#[derive(Default)]
struct Kernels {
    called: Vec<FunId>,
}

impl Visit<Segs> for Kernels {
    fn exp(&mut self, exp: &Exp<Segs>) {
        let Exp::Op(SegOp::Seg(_)) = exp else {
            return self.walk_exp(exp);
        };
        sub_bodies(exp, |body| callees(body, |fun| self.called.push(fun)));
    }
}
