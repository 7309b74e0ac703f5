//! Alias classes of arrays, and the consumption of their storage.
//!
//! Names that may alias fall into one class (a union-find over the whole function, insensitive to
//! control flow). For each class it is known whether a member is ever consumed, whether a member is
//! a result of the function, and whether a member is a parameter that the function does not
//! consume. Storage that is never consumed may be shared freely; other storage is left alone.

use crate::signatures::Signatures;
use ir::syntax::{Atom, BasicOp, Body, Exp, Function, Level, Param, Stm};
use ir::types::Type;
use ir::walk::{LevelOp, Visit};
use ir::{Name, TypeEnv};

#[derive(Clone, Copy, Default)]
struct Flags {
    consumed: bool,
    result: bool,
    param: bool,
}

/// The alias classes of a function's names; see the module's header.
pub struct Aliases {
    parent: Vec<u32>,
    flags: Vec<Flags>,
}

impl Aliases {
    /// Computes the classes of all names bound in the function.
    pub fn of<L: Level>(function: &Function<L>, types: &TypeEnv, sigs: &Signatures) -> Self {
        let n = function.names.len();
        let mut collect = Collect {
            aliases: Self { parent: (0..n as u32).collect(), flags: vec![Flags::default(); n] },
            types,
            sigs,
        };
        for param in &function.params {
            collect.aliases.flags[param.param.name.index()].param = !param.consumed;
        }
        Visit::<L>::body(&mut collect, &function.body);
        for name in function.body.result.iter().filter_map(|atom| atom.var()) {
            let root = collect.aliases.root(name);
            collect.aliases.flags[root].result = true;
        }
        collect.aliases
    }

    fn find(&self, name: Name) -> usize {
        let mut at = name.index();
        while let Some(parent) = self.parent.get(at).filter(|parent| **parent as usize != at) {
            at = *parent as usize;
        }
        at
    }

    fn root(&mut self, name: Name) -> usize {
        let root = self.find(name);
        let mut at = name.index();
        while at != root {
            let next = self.parent[at] as usize;
            self.parent[at] = root as u32;
            at = next;
        }
        root
    }

    /// Merges the classes of two names. Names created after the analysis belong to no class and are
    /// ignored.
    pub fn union(&mut self, a: Name, b: Name) {
        if a.index().max(b.index()) >= self.parent.len() {
            return;
        }
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        // The smaller index becomes the root: earlier names have more aliases.
        let (root, child) = (a.min(b), a.max(b));
        self.parent[child] = root as u32;
        let (x, y) = (self.flags[root], self.flags[child]);
        self.flags[root] = Flags {
            consumed: x.consumed || y.consumed,
            result: x.result || y.result,
            param: x.param || y.param,
        };
    }

    fn flags(&self, name: Name) -> Flags {
        // Names created after the analysis are unknown: the worst case is assumed.
        self.flags.get(self.find(name)).copied().unwrap_or(Flags {
            consumed: true,
            result: true,
            param: true,
        })
    }

    /// Returns true if the array or an alias of it is consumed anywhere.
    pub fn consumed(&self, name: Name) -> bool {
        self.flags(name).consumed
    }

    /// Returns true if the array or an alias of it is a result of the function.
    pub fn is_result(&self, name: Name) -> bool {
        self.flags(name).result
    }

    /// The representative of a name's class, for comparison.
    pub fn class(&self, name: Name) -> usize {
        self.find(name)
    }
}

struct Collect<'a> {
    aliases: Aliases,
    types: &'a TypeEnv,
    sigs: &'a Signatures,
}

impl Collect<'_> {
    fn tracked(&self, name: Name) -> bool {
        matches!(self.types.get(name), Some(Type::Array { .. } | Type::Acc { .. }))
    }

    fn alias(&mut self, a: Name, b: Name) {
        if self.tracked(a) && self.tracked(b) {
            self.aliases.union(a, b);
        }
    }

    fn alias_atom(&mut self, a: Name, b: Atom) {
        if let Atom::Var(b) = b {
            self.alias(a, b);
        }
    }

    fn consume(&mut self, name: Name) {
        let root = self.aliases.root(name);
        self.aliases.flags[root].consumed = true;
    }

    fn results<L: Level>(&mut self, pat: &[Param<L>], body: &Body<L>) {
        for (param, result) in pat.iter().zip(&body.result) {
            self.alias_atom(param.name, *result);
        }
    }
}

impl<L: Level> Visit<L> for Collect<'_> {
    fn stm(&mut self, stm: &Stm<L>) {
        let Stm { pat, aux: _, exp } = stm;
        match exp {
            Exp::Basic(op) => {
                let Some(bound) = pat.first().map(|p| p.name) else {
                    return;
                };
                match op {
                    BasicOp::Atom(Atom::Var(source))
                    | BasicOp::Opaque(Atom::Var(source))
                    | BasicOp::Index { array: source, .. }
                    | BasicOp::FlatIndex { array: source, .. }
                    | BasicOp::Rearrange { array: source, .. }
                    | BasicOp::Reshape { array: source, .. } => self.alias(bound, *source),
                    BasicOp::Update { array, .. }
                    | BasicOp::FlatUpdate { array, .. }
                    | BasicOp::UpdateAcc { acc: array, .. } => {
                        self.alias(bound, *array);
                        self.consume(*array);
                    }
                    BasicOp::Atom(_)
                    | BasicOp::Scalar(_)
                    | ir::parameter_op!()
                    | BasicOp::Assert { .. }
                    | ir::fresh_array_op!()
                    | BasicOp::Opaque(_) => {}
                }
                return;
            }
            Exp::If { cond: _, then_body, else_body } => {
                self.results(pat, then_body);
                self.results(pat, else_body);
            }
            Exp::Loop { params, form: _, body } => {
                for (param, bound) in params.iter().zip(pat) {
                    self.alias_atom(param.param.name, param.init);
                    self.alias(bound.name, param.param.name);
                    if param.consumed {
                        self.consume(param.param.name);
                    }
                }
                self.results(pat, body);
            }
            Exp::Apply { fun, args } => {
                let sig = self.sigs.get(*fun);
                for (i, arg) in args.iter().enumerate() {
                    let Atom::Var(arg) = arg else { continue };
                    if self.sigs.consumes(*fun, i) && self.tracked(*arg) {
                        self.consume(*arg);
                    }
                }
                for (i, bound) in pat.iter().enumerate() {
                    for (j, arg) in args.iter().enumerate() {
                        let aliases = sig.and_then(|sig| sig.aliases.get(i));
                        if aliases.is_none_or(|aliases| aliases.contains(&(j as u32))) {
                            self.alias_atom(bound.name, *arg);
                        }
                    }
                }
            }
            Exp::Op(op) => {
                let consumed = op.consumed();
                for name in &consumed {
                    self.consume(*name);
                }
                let operands = op.aliased_operands();
                for operand in operands.iter().flatten() {
                    for bound in pat {
                        self.alias(bound.name, *operand);
                    }
                }
                if op.runs_once() || operands.is_some() {
                    // The results of a body that runs once may alias anything in it.
                    for (bound, name) in pat.iter().zip(&consumed) {
                        self.alias(bound.name, *name);
                    }
                    let mut results: Vec<Atom> = Vec::new();
                    ir::walk::sub_bodies(exp, |body| results.extend_from_slice(&body.result));
                    for bound in pat {
                        for result in &results {
                            self.alias_atom(bound.name, *result);
                        }
                    }
                }
            }
        }
        self.walk_exp(exp);
    }
}
