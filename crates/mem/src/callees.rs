//! What calls need to know of functions: which parameters are arrays, where these lie, and
//! whether kernels can call them.
//!
//! A thread calls what works on scalars, does not call itself, and asks nothing of the
//! context: neither constants nor tuning parameters.

use ir::name::FunName;
use ir::syntax::{BasicOp, Exp, FunKind, Function, Param, Program};
use ir::types::{Space, Type};
use ir::walk::{Visit, with_stack};
use ir::{PassError, Segs, version};
use rustc_hash::FxHashMap;
use target::levels::Stack;

/// What calls need to know of a function.
pub(crate) struct Callee {
    /// Which parameters are arrays.
    pub(crate) arrays: Vec<bool>,
    /// Which parameters it consumes.
    pub(crate) consumed: Vec<bool>,
    /// Where arrays lie, and results.
    pub(crate) home: Space,
    /// Whether it is a constant, whose values are read.
    pub(crate) constant: bool,
    /// What it is for kernels that cannot call it.
    pub(crate) beyond: Option<&'static str>,
}

/// The functions of a program.
pub(crate) struct Callees(FxHashMap<FunName, Callee>);

impl Callees {
    /// Those of a program.
    pub(crate) fn of(program: &Program<Segs>) -> Self {
        let each = program.functions.iter().enumerate();
        let mut walk = Walk {
            by_name: each.map(|(at, f)| (&f.name, at)).collect(),
            functions: &program.functions,
            states: vec![State::Unseen; program.functions.len()],
        };
        if program.stack.has_device() {
            for at in 0..program.functions.len() {
                walk.visit(at);
            }
        }
        let pairs = program.functions.iter().zip(walk.states);
        let callees = pairs.map(|(function, state)| {
            let callee = Callee {
                arrays: (function.params.iter()).map(|p| p.param.ty.is_array()).collect(),
                consumed: function.params.iter().map(|p| p.consumed).collect(),
                home: home(function, program.stack),
                constant: function.kind == FunKind::Constant,
                beyond: match state {
                    State::Seen(beyond) => beyond,
                    State::Unseen | State::Open => None,
                },
            };
            (function.name.clone(), callee)
        });
        Self(callees.collect())
    }

    /// What is known of a function.
    pub(crate) fn get(&self, fun: &FunName) -> Result<&Callee, PassError> {
        let callee = self.0.get(fun);
        callee.ok_or_else(|| PassError::bug(format!("no function named {fun}")))
    }
}

/// Where a function's arrays lie.
pub(crate) fn home(function: &Function<Segs>, machine: Stack) -> Space {
    if version::stack(function.version.as_ref(), machine).has_device() { Space::Device } else { Space::Host }
}

#[derive(Clone, Copy)]
enum State {
    Unseen,
    /// What it calls is being looked at.
    Open,
    /// With what keeps kernels from calling it, if anything does.
    Seen(Option<&'static str>),
}

/// A walk through calls.
struct Walk<'a> {
    functions: &'a [Function<Segs>],
    by_name: FxHashMap<&'a FunName, usize>,
    states: Vec<State>,
}

impl Walk<'_> {
    /// What keeps kernels from calling a function.
    fn visit(&mut self, at: usize) -> Option<&'static str> {
        match self.states.get(at) {
            Some(State::Seen(beyond)) => return *beyond,
            Some(State::Open) => return Some("functions that call themselves"),
            Some(State::Unseen) | None => {}
        }
        let function = self.functions.get(at)?;
        self.states[at] = State::Open;
        let mut own = Own::default();
        Visit::<Segs>::body(&mut own, &function.body);
        let arrays = function.params.iter().any(|p| p.param.ty.is_array())
            || function.ret.iter().any(|ret| ret.ty.is_array());
        let mut beyond = arrays.then_some("functions on arrays").or(own.beyond);
        for called in own.calls {
            let Some(&next) = self.by_name.get(&called) else {
                continue;
            };
            let there = if self.functions[next].kind == FunKind::Constant {
                Some("functions with constants")
            } else {
                with_stack(|| self.visit(next))
            };
            beyond = beyond.or(there);
        }
        self.states[at] = State::Seen(beyond);
        beyond
    }
}

/// What a function does itself.
#[derive(Default)]
struct Own {
    beyond: Option<&'static str>,
    calls: Vec<FunName>,
}

impl Visit<Segs> for Own {
    fn param(&mut self, param: &Param<Segs>) {
        if matches!(param.ty, Type::Array { .. }) {
            self.beyond = self.beyond.or(Some("functions with arrays"));
        }
    }

    fn exp(&mut self, exp: &Exp<Segs>) {
        match exp {
            Exp::Op(_) => self.beyond = self.beyond.or(Some("functions with kernels")),
            Exp::Basic(BasicOp::SizeAtLeast { .. } | BasicOp::Param { .. }) => {
                self.beyond = self.beyond.or(Some("functions with tuning parameters"));
            }
            Exp::Apply { fun, .. } => self.calls.push(fun.clone()),
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } => {}
        }
        self.walk_exp(exp);
    }
}
