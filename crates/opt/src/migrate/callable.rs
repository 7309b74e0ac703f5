//! The functions that a device thread can call, and the functions that kernels call already.

use ir::seg::SegOp;
use ir::syntax::{BasicOp, Exp, FunKind, Function, Param};
use ir::types::Type;
use ir::walk::{Visit, callees, sub_bodies};
use ir::{FunName, Program, Segs};
use prim::ScalarOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// Facts about a program's functions.
pub(super) struct Callable {
    by_threads: FxHashSet<FunName>,
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
        Self { by_threads: by_threads(program, &calls), in_kernels }
    }

    /// Returns true if a device thread can call the function.
    pub(super) fn callable_by_threads(&self, name: &FunName) -> bool {
        self.by_threads.contains(name)
    }

    /// Returns true if kernels call the function, directly or transitively.
    pub(super) fn called_by_kernels(&self, name: &FunName) -> bool {
        self.in_kernels.contains(name)
    }
}

/// Functions on scalars that call only such functions, and are not recursive. Found from those
/// without calls: a caller follows when its last callee is known.
fn by_threads(program: &Program<Segs>, calls: &FxHashMap<&FunName, Vec<FunName>>) -> FxHashSet<FunName> {
    let mut callers: FxHashMap<&FunName, Vec<&FunName>> = FxHashMap::default();
    let mut waits: FxHashMap<&FunName, usize> = FxHashMap::default();
    let mut open = Vec::new();
    for function in program.functions.iter().filter(|f| on_scalars(f)) {
        let own = calls.get(&function.name).map_or(&[][..], Vec::as_slice);
        for callee in own {
            callers.entry(callee).or_default().push(&function.name);
        }
        waits.insert(&function.name, own.len());
        if own.is_empty() {
            open.push(&function.name);
        }
    }
    let mut found = FxHashSet::default();
    while let Some(name) = open.pop() {
        found.insert(name.clone());
        for caller in callers.get(name).into_iter().flatten() {
            if let Some(left) = waits.get_mut(caller) {
                *left -= 1;
                if *left == 0 {
                    open.push(caller);
                }
            }
        }
    }
    found
}

/// Returns true if a function works on scalars only and reads no tuning parameters or size
/// thresholds.
fn on_scalars(function: &Function<Segs>) -> bool {
    struct Scalars(bool);
    impl Visit<Segs> for Scalars {
        fn param(&mut self, param: &Param<Segs>) {
            self.0 &= matches!(param.ty, Type::Prim(_) | Type::Cert);
        }

        fn exp(&mut self, exp: &Exp<Segs>) {
            self.0 &= !matches!(exp, Exp::Op(_) | Exp::Basic(ir::parameter_op!()));
            self.walk_exp(exp);
        }
    }
    let mut scalars = Scalars(function.kind == FunKind::Function);
    Visit::<Segs>::walk_function(&mut scalars, function);
    scalars.0 && function.ret.iter().all(|ret| ret.ty.is_prim())
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
