//! Common subexpressions and hoisting for conditionals and calls: equal ones are shared, and
//! conditionals of scalars are hoisted out of loops and lambdas in which they are invariant.
//!
//! ```text
//! let a = if c then { .. x .. } else { .. }        let a = if c then { .. x .. } else { .. }
//! loop (s = 0) for i < n do {                      loop (s = 0) for i < n do {
//!   let b = if c then { .. x .. } else { .. }        in s + a
//!   in s + b                                  ──►  }
//! }
//! ```
//!
//! Without this, an inlined function of scalars that contains a conditional would
//! be recomputed in each iteration of a loop, unlike a single operation. Two expressions are equal
//! if they differ only in bound names and provenance. Shared expressions have scalar results, so
//! sharing is unobservable; hoisted ones cannot fail.
//!
//! Needs: simplified expressions. Guarantees: each expression is visited up to a bounded number of
//! statements, including those of nested conditionals, so that deep nests cost no more.

use crate::level::OptLevel;
use crate::simplify::Simplifier;
use crate::simplify::knowledge::ScopeKind;
use crate::simplify::sharing::cse;
use ir::Name;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Level, Param, Stm};
use ir::walk::{Visit, alpha_equivalent_ignoring_prov};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Expressions with more statements are left as they are.
const MANY: usize = 512;
/// The number of expressions with the same hash that are remembered, the latest ones.
const CANDIDATES: usize = 8;

/// An expression that may be shared: its first result, and the position of its statement in its
/// scope.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    first: Name,
    at: usize,
}

impl<L: OptLevel> Simplifier<'_, L> {
    /// Emits a conditional or a call whose parts are simplified, in the outermost possible scope,
    /// unless an equal one is available.
    pub(crate) fn push_shared(&mut self, pat: Vec<Param<L>>, aux: Aux, exp: Exp<L>) {
        let scalars = pat.iter().all(|param| param.ty.is_prim());
        let (true, Some(first)) = (scalars, pat.first().map(|param| param.name)) else {
            self.push(pat, aux, exp);
            return;
        };
        let Some(found) = ExpInfo::of(&exp) else {
            self.push(pat, aux, exp);
            return;
        };
        if let Some(names) = self.equal_to(&found, &aux, &exp)
            && self.rewrite()
        {
            self.bind_all(pat, &aux, &names);
            return;
        }
        let mut depth = self.known.current();
        if found.moves {
            depth = self.outermost(&found, &aux);
            if depth < self.known.current() && !self.rewrite() {
                depth = self.known.current();
            }
        }
        let at = self.scopes[depth].out.len();
        self.push_at(depth, pat, aux, exp);
        let known = self.available_exps.entry(found.hash).or_default();
        if known.len() == CANDIDATES {
            known.remove(0);
        }
        known.push(Known { first, at });
        self.scopes[depth].exps.push(found.hash);
    }

    /// Removes the expressions with these hashes that belong to an ending scope of this depth.
    pub(crate) fn forget_exps(&mut self, hashes: &[u64], depth: u32) {
        for hash in hashes {
            if let Some(known) = self.available_exps.get_mut(hash) {
                known.retain(|known| self.known.depth[known.first.index()] != depth);
            }
        }
    }

    /// The results of an equal available expression that needs no other certificates.
    fn equal_to(&self, found: &ExpInfo, aux: &Aux, exp: &Exp<L>) -> Option<Vec<Atom>> {
        let candidates = self.available_exps.get(&found.hash)?;
        candidates.iter().rev().find_map(|known| {
            let stm = self.scopes[self.known.depth_of(known.first)].out.get(known.at)?;
            let equal = stm.pat.first().map(|param| param.name) == Some(known.first)
                && stm.aux.certs.iter().all(|cert| aux.certs.contains(cert))
                && stm.aux.attrs == aux.attrs
                && alpha_equivalent_ignoring_prov(&stm.exp, exp);
            equal.then(|| stm.pat.iter().map(|param| Atom::Var(param.name)).collect())
        })
    }

    /// The outermost scope, through loops and lambdas, in which all names of the expression are
    /// bound.
    fn outermost(&self, found: &ExpInfo, aux: &Aux) -> usize {
        let names = found.free.iter().chain(&aux.certs);
        let least = names.map(|name| self.known.depth_of(*name)).max().unwrap_or(0);
        let mut depth = self.known.current();
        while depth > least && matches!(self.known.kinds[depth], ScopeKind::Inner { runs: _ }) {
            depth -= 1;
        }
        depth
    }
}

/// The properties of an expression.
struct ExpInfo {
    /// A hash that is equal for equal expressions.
    hash: u64,
    /// The names that it uses and does not bind.
    free: Vec<Name>,
    /// True if it cannot fail and only computes scalars.
    moves: bool,
}

impl ExpInfo {
    /// Analyses an expression. `None` if it is large, or contains more than operations,
    /// conditionals and calls.
    fn of<L: Level>(exp: &Exp<L>) -> Option<Self> {
        let mut finder = ExpVisitor {
            hasher: FxHasher::default(),
            bound: FxHashMap::default(),
            free: Vec::new(),
            left: MANY,
            shared: true,
            moves: true,
        };
        Visit::<L>::exp(&mut finder, exp);
        finder.shared.then(|| Self { hash: finder.hasher.finish(), free: finder.free, moves: finder.moves })
    }
}

struct ExpVisitor {
    hasher: FxHasher,
    /// The names bound inside, numbered.
    bound: FxHashMap<Name, usize>,
    free: Vec<Name>,
    /// The remaining number of statements to visit.
    left: usize,
    shared: bool,
    moves: bool,
}

impl<L: Level> Visit<L> for ExpVisitor {
    fn name(&mut self, name: &Name) {
        if let Some(number) = self.bound.get(name) {
            number.hash(&mut self.hasher);
        } else {
            name.hash(&mut self.hasher);
            self.free.push(*name);
        }
    }

    fn binder(&mut self, name: &Name) {
        self.bound.insert(*name, self.bound.len());
    }

    fn atom(&mut self, atom: &Atom) {
        match atom {
            Atom::Var(name) => Visit::<L>::name(self, name),
            Atom::Const(value) => value.hash(&mut self.hasher),
        }
    }

    fn stm(&mut self, stm: &Stm<L>) {
        self.moves &= stm.aux.certs.is_empty();
        self.walk_stm(stm);
    }

    fn body(&mut self, body: &Body<L>) {
        match self.left.checked_sub(body.stms.len()) {
            Some(left) if self.shared => {
                self.left = left;
                self.walk_body(body);
            }
            Some(_) | None => self.shared = false,
        }
    }

    fn exp(&mut self, exp: &Exp<L>) {
        std::mem::discriminant(exp).hash(&mut self.hasher);
        match exp {
            Exp::Basic(_) | Exp::If { .. } => self.walk_exp(exp),
            Exp::Apply { fun, args: _ } => {
                fun.hash(&mut self.hasher);
                self.moves = false;
                self.walk_exp(exp);
            }
            Exp::Loop { .. } | Exp::Op(_) => self.shared = false,
        }
    }

    fn basic(&mut self, op: &BasicOp) {
        std::mem::discriminant(op).hash(&mut self.hasher);
        self.shared &= !matches!(op, BasicOp::Opaque(_) | BasicOp::UpdateAcc { .. });
        self.moves &= op.is_scalar() && cse::mobility(op) == cse::Mobility::Free;
        Visit::<L>::walk_basic(self, op);
    }
}
