//! Facts about functions that their calls need: the array parameters, the home space, and whether
//! kernels can call them.
//!
//! A device thread can call a function that works on scalars, is not recursive, and uses neither
//! constants nor tuning parameters.

use ir::name::FunName;
use ir::syntax::{Exp, FunKind, Function, Param, Program};
use ir::types::{Space, Type};
use ir::walk::{Visit, with_stack};
use ir::{PassError, Segs, version};
use rustc_hash::FxHashMap;
use target::levels::Stack;

/// The facts about a function that its calls need.
pub(crate) struct Callee {
    /// For each parameter, true if it is an array.
    pub(crate) arrays: Vec<bool>,
    /// For each parameter, true if the function consumes it.
    pub(crate) consumed: Vec<bool>,
    /// The space of its arrays, including parameters and results.
    pub(crate) home: Space,
    /// True for a constant, whose values are read.
    pub(crate) constant: bool,
    /// The property that prevents kernels from calling it, if there is one.
    pub(crate) not_in_kernels: Option<&'static str>,
}

/// The functions of a program.
pub(crate) struct Callees(FxHashMap<FunName, Callee>);

impl Callees {
    /// Analyses the functions of a program.
    pub(crate) fn of(program: &Program<Segs>) -> Self {
        let each = program.functions.iter().enumerate();
        let mut walk = Walk {
            by_name: each.map(|(at, f)| (&f.name, at)).collect(),
            functions: &program.functions,
            states: vec![State::Unseen; program.functions.len()],
        };
        if program.levels.has_device() {
            for at in 0..program.functions.len() {
                walk.visit(at);
            }
        }
        let pairs = program.functions.iter().zip(walk.states);
        let callees = pairs.map(|(function, state)| {
            let callee = Callee {
                arrays: (function.params.iter()).map(|p| p.param.ty.is_array()).collect(),
                consumed: function.params.iter().map(|p| p.consumed).collect(),
                home: home(function, program.levels),
                constant: function.kind == FunKind::Constant,
                not_in_kernels: match state {
                    State::Seen(limit) => limit,
                    State::Unseen | State::Open => None,
                },
            };
            (function.name.clone(), callee)
        });
        Self(callees.collect())
    }

    /// The facts about a function.
    pub(crate) fn get(&self, fun: &FunName) -> Result<&Callee, PassError> {
        let callee = self.0.get(fun);
        callee.ok_or_else(|| PassError::bug(format!("no function named {fun}")))
    }
}

/// The space of a function's arrays.
pub(crate) fn home(function: &Function<Segs>, machine: Stack) -> Space {
    if version::stack(function.version.as_ref(), machine).has_device() { Space::Device } else { Space::Host }
}

#[derive(Clone, Copy)]
enum State {
    Unseen,
    /// Its callees are being visited.
    Open,
    /// Visited, with the property that prevents kernels from calling it, if there is one.
    Seen(Option<&'static str>),
}

/// A depth-first walk of the call graph.
struct Walk<'a> {
    functions: &'a [Function<Segs>],
    by_name: FxHashMap<&'a FunName, usize>,
    states: Vec<State>,
}

impl Walk<'_> {
    /// Returns the property that prevents kernels from calling a function, if there is one.
    fn visit(&mut self, at: usize) -> Option<&'static str> {
        match self.states.get(at) {
            Some(State::Seen(limit)) => return *limit,
            Some(State::Open) => return Some("recursive functions"),
            Some(State::Unseen) | None => {}
        }
        let function = self.functions.get(at)?;
        self.states[at] = State::Open;
        let mut uses = Uses::default();
        Visit::<Segs>::body(&mut uses, &function.body);
        let arrays = function.params.iter().any(|p| p.param.ty.is_array())
            || function.ret.iter().any(|ret| ret.ty.is_array());
        let mut limit = arrays.then_some("functions on arrays").or(uses.limit);
        for called in uses.calls {
            let Some(&next) = self.by_name.get(&called) else {
                continue;
            };
            let callee_limit = if self.functions[next].kind == FunKind::Constant {
                Some("functions that read constants")
            } else {
                with_stack(|| self.visit(next))
            };
            limit = limit.or(callee_limit);
        }
        self.states[at] = State::Seen(limit);
        limit
    }
}

/// The properties of a function by itself.
#[derive(Default)]
struct Uses {
    limit: Option<&'static str>,
    calls: Vec<FunName>,
}

impl Visit<Segs> for Uses {
    fn param(&mut self, param: &Param<Segs>) {
        if matches!(param.ty, Type::Array { .. }) {
            self.limit = self.limit.or(Some("functions with arrays"));
        }
    }

    fn exp(&mut self, exp: &Exp<Segs>) {
        match exp {
            Exp::Op(_) => self.limit = self.limit.or(Some("functions with parallel operations")),
            Exp::Basic(ir::parameter_op!()) => {
                self.limit = self.limit.or(Some("functions that read tuning parameters"));
            }
            Exp::Apply { fun, .. } => self.calls.push(fun.clone()),
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } => {}
        }
        self.walk_exp(exp);
    }
}
