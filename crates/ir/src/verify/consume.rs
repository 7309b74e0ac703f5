//! Invariants 11 to 14: consumption, with aliases recomputed.
//!
//! An array has edges to its sources (arrays that it may be a view of, or the same as) and back.
//! Two arrays may alias if paths along sources lead from both to the same array; two sources of one
//! array need not alias. So consuming an array marks as dead all arrays reachable along its
//! sources, and all views of these. Marked arrays are not visited again, so marking takes linear
//! time in total. The branches of a conditional start from the same marks, and the marks of both
//! remain.

use super::VerifyError;
use crate::name::{FunId, Name};
use crate::syntax::{Atom, BasicOp, Body, Exp, Function, Lambda, Level, LoopParam, Param};
use crate::text;
use crate::types::Type;
use crate::typing::TypeEnv;
use crate::walk::{Fields, LevelOp, Visit, with_stack};
use smallvec::SmallVec;

/// A violation of the rules of consumption, by the copy that would remove it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Conflict {
    /// A statement, by the first name it binds, consumes an array that has to be kept: it should
    /// consume a copy.
    Operand {
        /// The statement.
        statement: Name,
        /// The array.
        array: Name,
    },
    /// The next value of a loop parameter aliases what it must not: it should be a copy.
    Next {
        /// The parameter.
        param: Name,
    },
    /// A result of the function aliases a parameter that its declaration does not list: it should be
    /// a copy.
    Result {
        /// The position of the result.
        position: usize,
    },
}

/// Looks up a called function; `None` if it is not known.
pub type Callees<'a, L> = &'a dyn Fn(FunId) -> Option<&'a Function<L>>;

/// The violations of the rules of consumption in a function, in order; of several with one cause,
/// some. Calls of unknown functions consume nothing.
pub fn conflicts<'a, L: Level>(function: &'a Function<L>, callees: Callees<'a, L>) -> Vec<Conflict> {
    run(function, callees).conflicts
}

pub(super) fn check<L: Level>(
    function: &Function<L>,
    functions: &[Function<L>],
    errors: &mut Vec<VerifyError>,
) {
    errors.extend(run(function, &|fun| functions.get(fun.index())).errors);
}

fn run<'a, L: Level>(function: &'a Function<L>, callees: Callees<'a, L>) -> Consumption<'a, L> {
    let n = function.names.len();
    let mut c = Consumption {
        function,
        callees,
        types: TypeEnv::of_function(function),
        nodes: vec![Node::default(); n],
        depth: 0,
        log: Vec::new(),
        seen: vec![0; n],
        round: 0,
        at: None,
        consuming: None,
        conflicts: Vec::new(),
        errors: Vec::new(),
    };
    for param in &function.params {
        c.bind(param.param.name, &[]);
        c.nodes[param.param.name.index()].protected = !param.consumed;
    }
    c.body(&function.body);
    for (i, (atom, ret)) in function.body.result.iter().zip(&function.ret).enumerate() {
        let Atom::Var(name) = atom else { continue };
        if !c.is_tracked(*name) {
            continue;
        }
        c.at = None;
        c.reachable(*name);
        for (j, param) in function.params.iter().enumerate() {
            // Consumed parameters are owned by the function, which may return them.
            let mine = param.consumed || ret.aliases.contains(&(j as u32));
            if !mine && c.seen[param.param.name.index()] == c.round {
                c.conflicts.push(Conflict::Result { position: i });
                c.fail(format!("result {i} aliases parameter {j}, which its declaration does not list"));
            }
        }
    }
    c
}

#[derive(Clone, Default)]
struct Node {
    /// Arrays that it may be a view of, or the same as.
    sources: SmallVec<[Name; 2]>,
    /// Arrays of which it is a source.
    views: SmallVec<[Name; 2]>,
    life: State,
    /// True for a parameter that may not be consumed.
    protected: bool,
    /// True for a view that may contain an element more than once: it may not be consumed, but its
    /// source may.
    repeats: bool,
    /// Number of enclosing bodies, at its binding, that may run more than once.
    depth: u32,
    /// The statement that consumed it or an alias, and the array that it consumed.
    consumer: Option<(Name, Name)>,
}

/// The state of an array. If an array is dead, so are all of its views; in the last state also its
/// sources and their views.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd)]
enum State {
    #[default]
    Alive,
    Dead,
    Consumed,
}

struct Consumption<'a, L: Level> {
    function: &'a Function<L>,
    callees: Callees<'a, L>,
    types: TypeEnv,
    nodes: Vec<Node>,
    depth: u32,
    /// Changes of states, in order: name, state before, state after.
    log: Vec<(Name, State, State)>,
    /// The round of the last search that reached a name.
    seen: Vec<u32>,
    round: u32,
    at: Option<Name>,
    /// The array that is being consumed.
    consuming: Option<Name>,
    conflicts: Vec<Conflict>,
    errors: Vec<VerifyError>,
}

impl<L: Level> Consumption<'_, L> {
    fn fail(&mut self, message: String) {
        let function = self.function.name.clone();
        let error = VerifyError { function, name: self.at, message };
        if self.errors.last() != Some(&error) {
            self.errors.push(error);
        }
    }

    fn show(&self, name: Name) -> String {
        text::show_name(&self.function.names, name)
    }

    fn is_tracked(&self, name: Name) -> bool {
        matches!(self.types.get(name), Some(Type::Array { .. } | Type::Acc { .. }))
    }

    fn is_acc(&self, name: Name) -> bool {
        matches!(self.types.get(name), Some(Type::Acc { .. }))
    }

    /// Binds a name to a value that may be a view of `aliases`.
    fn bind(&mut self, name: Name, aliases: &[Name]) {
        if !self.is_tracked(name) {
            return;
        }
        self.nodes[name.index()].depth = self.depth;
        for alias in aliases {
            self.alias(name, *alias);
        }
    }

    fn alias(&mut self, name: Name, other: Name) {
        if name != other && self.is_tracked(name) && self.is_tracked(other) {
            self.nodes[name.index()].sources.push(other);
            self.nodes[other.index()].views.push(name);
        }
    }

    fn use_name(&mut self, name: Name) {
        if self.nodes[name.index()].life != State::Alive {
            if let Some((statement, array)) = self.nodes[name.index()].consumer {
                self.conflicts.push(Conflict::Operand { statement, array });
            }
            let shown = self.show(name);
            self.fail(format!("{shown} is used after it or an alias of it was consumed"));
        }
    }

    /// Returns the names that a name may alias, including itself; all of them are seen in this
    /// round.
    fn reachable(&mut self, name: Name) -> Vec<Name> {
        self.round += 1;
        self.seen[name.index()] = self.round;
        let mut reached = vec![name];
        let mut next = 0;
        while let Some(&name) = reached.get(next) {
            next += 1;
            self.visit_neighbours(name, |node| &node.sources, &mut reached);
        }
        next = 0;
        while let Some(&name) = reached.get(next) {
            next += 1;
            self.visit_neighbours(name, |node| &node.views, &mut reached);
        }
        reached
    }

    /// Adds a name's neighbours that have not been seen in this round.
    fn visit_neighbours(&mut self, name: Name, edges: impl Fn(&Node) -> &[Name], reached: &mut Vec<Name>) {
        for &other in edges(&self.nodes[name.index()]) {
            if self.seen[other.index()] != self.round {
                self.seen[other.index()] = self.round;
                reached.push(other);
            }
        }
    }

    fn consume(&mut self, name: Name) {
        if !self.is_tracked(name) {
            return;
        }
        self.use_name(name);
        self.consuming = Some(name);
        let mut pending = Vec::new();
        self.mark_dead(name, State::Consumed, &mut pending);
        while let Some((name, life)) = pending.pop() {
            let node = &self.nodes[name.index()];
            let (sources, views) = (node.sources.clone(), node.views.clone());
            if life == State::Consumed {
                for source in sources {
                    self.mark_dead(source, life, &mut pending);
                }
            }
            for view in views {
                self.mark_dead(view, State::Dead, &mut pending);
            }
        }
    }

    /// Marks a name as dead, or raises its state.
    fn mark_dead(&mut self, name: Name, life: State, pending: &mut Vec<(Name, State)>) {
        let Node { protected, repeats, depth, life: before, .. } = self.nodes[name.index()];
        if before >= life {
            return;
        }
        self.set_life(name, life);
        pending.push((name, life));
        if before != State::Alive {
            return;
        }
        let consumer = self.at.zip(self.consuming);
        self.nodes[name.index()].consumer = consumer;
        let problem = if protected || repeats && life == State::Consumed {
            "may not be consumed"
        } else if depth < self.depth && !self.is_acc(name) {
            "is consumed in a body that may be executed repeatedly"
        } else {
            return;
        };
        self.conflicts.extend(consumer.map(|(statement, array)| Conflict::Operand { statement, array }));
        let shown = self.show(name);
        self.fail(format!("{shown} {problem}"));
    }

    fn set_life(&mut self, name: Name, life: State) {
        let before = std::mem::replace(&mut self.nodes[name.index()].life, life);
        self.log.push((name, before, life));
    }

    fn body(&mut self, body: &Body<L>) {
        with_stack(|| {
            for stm in &body.stms {
                let before = self.at;
                self.at = stm.pat.first().map(|param| param.name).or(before);
                self.exp(&stm.exp, &stm.pat);
                self.at = before;
            }
            for name in body.result.iter().filter_map(|atom| atom.var()) {
                self.use_name(name);
            }
        });
    }

    fn exp(&mut self, exp: &Exp<L>, pat: &[Param<L>]) {
        match exp {
            Exp::Basic(op) => self.basic(op, pat),
            Exp::If { cond: _, then_body, else_body } => {
                let start = self.log.len();
                self.body(then_body);
                let died = self.log.split_off(start);
                for (name, before, _) in died.iter().rev() {
                    self.nodes[name.index()].life = *before;
                }
                self.body(else_body);
                for (name, _, life) in died {
                    if self.nodes[name.index()].life < life {
                        self.set_life(name, life);
                    }
                }
                self.bind_to_results(pat, &[&then_body.result, &else_body.result]);
            }
            Exp::Loop { params, form: _, body } => self.loop_(params, body, pat),
            Exp::Apply { fun, args } => {
                let Some(callee) = (self.callees)(*fun) else {
                    return;
                };
                self.call(callee, args, pat);
            }
            Exp::Op(op) => self.op(op, pat),
        }
    }

    fn bind_to_results(&mut self, pat: &[Param<L>], results: &[&[Atom]]) {
        for (i, param) in pat.iter().enumerate() {
            let values = results.iter().filter_map(|result| result.get(i)?.var());
            let aliases: Vec<Name> = values.collect();
            self.bind(param.name, &aliases);
        }
    }

    fn basic(&mut self, op: &BasicOp, pat: &[Param<L>]) {
        struct Uses(SmallVec<[Name; 4]>);
        impl<L: Level> Visit<L> for Uses {
            fn name(&mut self, name: &Name) {
                self.0.push(*name);
            }
        }
        let mut uses = Uses(SmallVec::new());
        Visit::<L>::basic(&mut uses, op);
        for name in uses.0 {
            self.use_name(name);
        }
        let Some(bound) = pat.first().map(|param| param.name) else {
            return;
        };
        match op {
            BasicOp::Atom(Atom::Var(source))
            | BasicOp::Opaque(Atom::Var(source))
            | BasicOp::Index { array: source, slice: _ }
            | BasicOp::Rearrange { perm: _, array: source }
            | BasicOp::Reshape { kind: _, shape: _, array: source } => {
                self.bind(bound, &[*source]);
            }
            BasicOp::FlatIndex { array, offset: _, dims: _ } => {
                self.bind(bound, &[*array]);
                self.nodes[bound.index()].repeats = true;
            }
            BasicOp::Update { array, slice: _, value } => {
                self.consume(*array);
                if let Atom::Var(value) = value {
                    self.use_name(*value);
                }
                self.bind(bound, &[]);
            }
            BasicOp::FlatUpdate { array, offset: _, strides: _, value } => {
                self.consume(*array);
                self.use_name(*value);
                self.bind(bound, &[]);
            }
            BasicOp::UpdateAcc { acc, index: _, values: _ } => {
                self.consume(*acc);
                self.bind(bound, &[]);
            }
            BasicOp::Atom(Atom::Const(_))
            | BasicOp::Opaque(Atom::Const(_))
            | BasicOp::Scalar(_)
            | crate::parameter_op!()
            | BasicOp::Assert { .. }
            | crate::fresh_array_op!() => self.bind(bound, &[]),
        }
    }

    fn loop_(&mut self, params: &[LoopParam<L>], body: &Body<L>, pat: &[Param<L>]) {
        // Accumulators are always consumed.
        let consumed: Vec<bool> = params.iter().map(|p| p.consumed || self.is_acc(p.param.name)).collect();
        let inits = |which: bool| {
            let chosen = params.iter().zip(&consumed).filter(move |(_, c)| **c == which);
            chosen.filter_map(|(p, _)| p.init.var())
        };
        for name in inits(true).chain(inits(false)) {
            self.use_name(name);
        }
        for name in inits(true) {
            self.consume(name);
        }
        for name in inits(false) {
            self.use_name(name);
        }
        self.depth += 1;
        for (LoopParam { param, init, consumed: _ }, consumed) in params.iter().zip(&consumed) {
            let init = init.var().filter(|_| !consumed);
            self.bind(param.name, init.as_slice());
            self.nodes[param.name.index()].protected = !consumed;
        }
        self.body(body);
        self.next_values(params, &consumed, &body.result);
        self.depth -= 1;
        for ((param, bound), consumed) in params.iter().zip(pat).zip(&consumed) {
            let name = param.param.name;
            self.nodes[name.index()].protected = false;
            // A consumed parameter's final value aliases nothing outside of the loop.
            let alias = Some(name).filter(|_| !consumed);
            self.bind(bound.name, alias.as_slice());
        }
    }

    fn next_values(&mut self, params: &[LoopParam<L>], consumed: &[bool], next: &[Atom]) {
        let depth = self.depth;
        let next: Vec<Option<Name>> = next.iter().map(|atom| atom.var()).collect();
        for (i, (param, next_name)) in params.iter().zip(&next).enumerate() {
            let Some(name) = next_name.filter(|name| self.is_tracked(*name)) else {
                continue;
            };
            if !consumed[i] {
                self.alias(param.param.name, name);
                continue;
            }
            let reached = self.reachable(name);
            let mut problem = reached.iter().copied().find(|name| {
                let node = &self.nodes[name.index()];
                node.protected || node.depth < depth
            });
            let others = next.iter().enumerate().filter(|(j, _)| *j != i);
            for other in others.filter_map(|(_, other)| *other) {
                if problem.is_none() && self.seen[other.index()] == self.round {
                    problem = Some(other);
                }
            }
            if let Some(problem) = problem {
                self.conflicts.push(Conflict::Next { param: param.param.name });
                let (name, problem) = (self.show(param.param.name), self.show(problem));
                self.fail(format!("the next value of consumed parameter {name} aliases {problem}"));
            }
        }
    }

    fn call(&mut self, callee: &Function<L>, args: &[Atom], pat: &[Param<L>]) {
        let uses = || args.iter().filter_map(|arg| arg.var());
        for name in uses() {
            self.use_name(name);
        }
        for (param, arg) in callee.params.iter().zip(args) {
            if let (true, Atom::Var(name)) = (param.consumed, arg) {
                self.consume(*name);
            }
        }
        for (param, arg) in callee.params.iter().zip(args) {
            if let (false, Atom::Var(name)) = (param.consumed, arg) {
                self.use_name(*name);
            }
        }
        for (bound, ret) in pat.iter().zip(&callee.ret) {
            let values = ret.aliases.iter().filter_map(|i| args.get(*i as usize)?.var());
            let aliases: Vec<Name> = values
                .zip(&ret.aliases)
                .filter(|(_, i)| !callee.params[**i as usize].consumed)
                .map(|(name, _)| name)
                .collect();
            self.bind(bound.name, &aliases);
        }
    }

    fn op(&mut self, op: &L::Op, pat: &[Param<L>]) {
        let mut operands = Operands(Vec::new());
        op.visit(&mut operands);
        for name in &operands.0 {
            self.use_name(*name);
        }
        let consumed = op.consumed();
        for name in &consumed {
            self.consume(*name);
        }
        for name in &operands.0 {
            if self.is_acc(*name) && self.nodes[name.index()].life == State::Alive {
                self.consume(*name);
            }
        }
        let once = op.runs_once();
        self.depth += u32::from(!once);
        let mut inside = Inside { c: self, results: Vec::new() };
        op.visit(&mut inside);
        let results = inside.results;
        self.depth -= u32::from(!once);
        for param in pat {
            self.bind(param.name, &[]);
        }
        if once {
            // The results of a `withacc` after its arrays are results of its lambda, unchanged;
            // they come last.
            let last = results.last().map_or(&[][..], Vec::as_slice);
            for (param, atom) in pat.iter().rev().zip(last.iter().rev()) {
                if let Some(name) = atom.var().filter(|name| !self.is_acc(*name)) {
                    self.alias(param.name, name);
                }
            }
        }
        if let Some(mut aliased) = op.aliased_operands() {
            aliased.extend(results.iter().flatten().filter_map(|atom| atom.var()));
            for param in pat {
                self.bind(param.name, &aliased);
            }
        }
    }

    fn lambda(&mut self, lambda: &Lambda<L>) {
        for param in &lambda.params {
            self.bind(param.name, &[]);
            self.nodes[param.name.index()].protected = !self.is_acc(param.name);
        }
        self.body(&lambda.body);
    }
}

/// The names that an operation uses outside of its bodies.
struct Operands(Vec<Name>);

impl<L: Level> Visit<L> for Operands {
    fn name(&mut self, name: &Name) {
        self.0.push(*name);
    }
    fn body(&mut self, _: &Body<L>) {}
    fn lambda(&mut self, _: &Lambda<L>) {}
}

/// The bodies of an operation, and the results of each lambda.
struct Inside<'c, 'a, L: Level> {
    c: &'c mut Consumption<'a, L>,
    results: Vec<Vec<Atom>>,
}

impl<L: Level> Visit<L> for Inside<'_, '_, L> {
    fn body(&mut self, body: &Body<L>) {
        self.c.body(body);
    }

    fn lambda(&mut self, lambda: &Lambda<L>) {
        self.c.lambda(lambda);
        self.results.push(lambda.body.result.clone());
    }
}
