//! Simplification: one forward walk that tracks the definitions and known values of names, then
//! removal of dead code; repeated while a walk leaves work for another.
//!
//! A statement's operands are rewritten first (`rewrite`), then the rules are applied, and the
//! result is emitted at the outermost position where its operands are in scope and where it may run
//! (`emit`). The components:
//!
//! - `knowledge`: what is known of names: types, definitions, aliases, uses, ranges. Facts learnt in
//!   a body are dropped at its end.
//! - `rules`: functions from an operation and what is known to a simpler operation.
//! - `sharing`: common subexpressions, and hoisting.
//! - `checks`: what conditions and checks imply, and hoisting of checks.
//! - `control`: conditionals, and loops with their invariants and closed forms.
//! - `combinators`: rules for combinators and segops.
//!
//! **Certificates.** A value may be replaced by another that depends on more checks: their
//! certificates are then added to every statement that uses it. Sizes in types and in telescopes
//! are only replaced without certificates. A check implied by others is replaced by their
//! certificates.
//!
//! **Hoisting.** Operations that cannot fail are hoisted out of loops and lambdas; a check is
//! hoisted out of bodies that certainly run, and out of others with a guard (`checks::guard`); loads and
//! divisions that depend on checks or facts stay. Nothing else is hoisted out of a conditional's
//! branch.
//!
//! **Rounds.** Later statements see what a rewrite changed, so one walk draws most consequences.
//! Another one follows only where code before the current statement may simplify further: after
//! code was emitted in an outer scope without applying the rules, or before an equal operation of a
//! scope that has ended; if a loop's parameter became invariant with its body; if the last other
//! use of an array that is copied or sliced was removed; and after unrolling.
//!
//! **Loops.** Invariants of a loop's parameters are found before its body is walked (`control::invariant`).
//!
//! Needs: a verified program. Guarantees: a verified program. Dead code is removed after each walk
//! by `dce`.

mod checks;
pub(crate) mod combinators;
mod concat_reads;
mod control;
mod emit;
mod knowledge;
mod rewrite;
mod rules;
pub(crate) mod sharing;

use crate::dce;
use crate::level::OptLevel;
use crate::remarks::Combinators;
use crate::unroll::unroll;
pub(crate) use analysis::certs::{Certs, add_certs};
use analysis::ranges::Ranges;
use analysis::signatures::Signatures;
use analysis::uses::Uses;
use checks::conditions::Guard;
use ir::remark::{Check, RemarkKind};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, Lambda, Level, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::with_stack;
use ir::{Context, Fuel, Name, NameTable, PassError, Prov};
use knowledge::{Knowledge, ScopeKind};
use rustc_hash::FxHashMap;
use sharing::cse_exps::Known;
use smallvec::SmallVec;

/// The largest number of walks.
const MAX_ROUNDS: usize = 6;

/// The treatment of a function's parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Params {
    /// Calls may still be inlined, which may replace the parameters by values that are never
    /// stored.
    MayBeInlined,
    /// Array parameters are stored in memory.
    InMemory,
}

/// Simplifies a function whose calls may still be inlined.
pub(crate) fn before_inlining<L: OptLevel>(
    function: Function<L>,
    signatures: &Signatures,
    context: &mut Context,
) -> Result<Function<L>, PassError> {
    rounds(function, signatures, context, Params::MayBeInlined)
}

/// Simplifies a function.
pub fn simplify<L: OptLevel>(
    function: Function<L>,
    signatures: &Signatures,
    context: &mut Context,
) -> Result<Function<L>, PassError> {
    rounds(function, signatures, context, Params::InMemory)
}

fn rounds<L: OptLevel>(
    mut function: Function<L>,
    signatures: &Signatures,
    context: &mut Context,
    params: Params,
) -> Result<Function<L>, PassError> {
    remove(&mut function, context);
    for _ in 0..MAX_ROUNDS {
        let left = round(&mut function, signatures, context, params);
        let unrolled = left.to_unroll && unroll(&mut function, &mut context.fuel);
        if !left.to_simplify && !unrolled {
            break;
        }
    }
    Ok(function)
}

/// One walk, with dead code removed before and after; for functions after inlining. Returns true if
/// [`simplify`] may find more.
pub(crate) fn one_round<L: OptLevel>(
    function: &mut Function<L>,
    signatures: &Signatures,
    context: &mut Context,
) -> bool {
    remove(function, context);
    let left = round(function, signatures, context, Params::InMemory);
    left.to_simplify || left.to_unroll
}

/// One walk, with dead code removed after it.
fn round<L: OptLevel>(
    function: &mut Function<L>,
    signatures: &Signatures,
    context: &mut Context,
    params: Params,
) -> Left {
    let mut left = walk(function, signatures, context, params);
    remove(function, context);
    if !left.to_simplify && !left.shared.is_empty() {
        let uses = Uses::of(function);
        left.to_simplify = left.shared.iter().any(|source| uses.get(*source) == Some(1));
    }
    left
}

/// Removes dead code, and records a remark for each combinator removed, if remarks are requested.
fn remove<L: OptLevel>(function: &mut Function<L>, context: &mut Context) {
    let before = context.options.remarks.then(|| Combinators::of(function));
    dce::remove(function, &mut context.fuel);
    if let Some(before) = before {
        before.removed(function, context);
    }
}

/// The work that a walk leaves.
#[derive(Default)]
struct Left {
    /// True if another walk may find more.
    to_simplify: bool,
    /// True if there are loops to unroll.
    to_unroll: bool,
    /// Arrays that were copied or sliced and have other uses.
    shared: Vec<Name>,
}

/// One walk.
fn walk<L: OptLevel>(
    function: &mut Function<L>,
    signatures: &Signatures,
    context: &mut Context,
    params: Params,
) -> Left {
    let known = Knowledge::of(function, signatures);
    let n = function.names.len();
    let mut s = Simplifier {
        names: &mut function.names,
        known,
        subs: vec![None; n],
        cert_subs: FxHashMap::default(),
        scopes: vec![Scope::new()],
        cse: FxHashMap::default(),
        available_exps: FxHashMap::default(),
        conjunctions: FxHashMap::default(),
        pending_disjunctions: FxHashMap::default(),
        fuel: &mut context.fuel,
        decided: context.options.remarks.then(Vec::new),
        left: Left::default(),
    };
    for param in &function.params {
        s.enter_param(&param.param);
        if params == Params::InMemory {
            s.ranges_at(0, |ranges| ranges.stored(param.param.ty.shape()));
        }
        s.known.fresh_arrays[param.param.name.index()] = param.consumed;
    }
    let body = std::mem::replace(&mut function.body, Body { stms: Vec::new(), result: Vec::new() });
    s.scopes[0].out.reserve(body.stms.len());
    for stm in body.stms {
        s.stm(stm);
    }
    let result = s.results(body.result);
    let stms = s.scopes.pop().map(|scope| scope.out).unwrap_or_default();
    let left = s.left;
    let decided = s.decided.unwrap_or_default();
    function.body = Body { stms, result };
    for (prov, kind) in decided {
        let spans = function.provs.stack(prov);
        context.remark(&function.name.0, spans, kind);
    }
    left
}

/// A replacement for a name, and the certificates that it depends on.
#[derive(Clone)]
struct Sub {
    atom: Atom,
    certs: Certs,
}

struct Scope<L: Level> {
    out: Vec<Stm<L>>,
    /// True if the body runs exactly as often as the enclosing one.
    runs_exactly_as_outer: bool,
    cse: Vec<(u64, Name)>,
    /// The names of operations emitted from here into outer scopes.
    hoisted: Vec<Name>,
    /// The hashes of conditionals and calls emitted in this scope.
    exps: Vec<u64>,
    facts: Vec<(u32, bool)>,
    /// Names that became known as sizes here, with their previous entries.
    sizes: Vec<(Name, u32)>,
    /// The condition under which the body runs.
    guard: Guard,
    /// The counters that start from 0 in the body, with their bounds.
    counters: SmallVec<[(Name, Atom); 1]>,
    /// True for the body of a segop.
    parallel: bool,
    /// The names under which disjunctions were added to `waiting` in this scope.
    waiting: Vec<Name>,
}

impl<L: Level> Scope<L> {
    fn new() -> Self {
        Self {
            out: Vec::new(),
            runs_exactly_as_outer: false,
            cse: Vec::new(),
            hoisted: Vec::new(),
            exps: Vec::new(),
            facts: Vec::new(),
            sizes: Vec::new(),
            guard: Guard::Unknown,
            counters: SmallVec::new(),
            parallel: false,
            waiting: Vec::new(),
        }
    }
}

/// The state of the walk.
pub struct Simplifier<'a, L: Level> {
    names: &'a mut NameTable,
    known: Knowledge<'a>,
    subs: Vec<Option<Sub>>,
    /// The replacement of a certificate: others, or none.
    cert_subs: FxHashMap<Name, Certs>,
    scopes: Vec<Scope<L>>,
    cse: FxHashMap<u64, SmallVec<[Name; 1]>>,
    /// Conditionals and calls, by their hashes.
    available_exps: FxHashMap<u64, Vec<Known>>,
    /// Conjunctions: a name that is equal to the second operand if the first holds, and false
    /// otherwise.
    conjunctions: FxHashMap<Name, (Atom, Atom)>,
    /// Disjunctions that hold, by the names that determine their operands.
    pending_disjunctions: FxHashMap<Name, Vec<(Atom, Atom, Certs)>>,
    fuel: &'a mut Fuel,
    /// The decisions about checks, if remarks are requested.
    decided: Option<Vec<(Prov, RemarkKind)>>,
    left: Left,
}

impl<L: OptLevel> Simplifier<'_, L> {
    /// Takes fuel for one rewrite. Returns false if it must not be made.
    pub(crate) fn rewrite(&mut self) -> bool {
        self.fuel.take()
    }

    /// Records the outcome for a check, if remarks are requested.
    fn decide(&mut self, aux: &Aux, op: &BasicOp, kind: fn(Check) -> RemarkKind) {
        if let (Some(decided), BasicOp::Assert { cond: _, msg }) = (&mut self.decided, op) {
            decided.push((aux.prov, kind(Check::of(msg))));
        }
    }

    /// Records that an operation other than a check or its condition was hoisted.
    fn decide_hoisted(&mut self, param: &Param<L>, aux: &Aux, op: &BasicOp) {
        if let Some(decided) = &mut self.decided
            && !matches!(op, BasicOp::Assert { .. })
            && param.ty != Type::BOOL
        {
            decided.push((aux.prov, RemarkKind::Hoisted));
        }
    }

    fn grow(&mut self) {
        let n = self.names.len();
        if self.subs.len() < n {
            self.subs.resize(n, None);
            self.known.grow(n);
        }
    }

    /// Creates a fresh parameter.
    pub(crate) fn fresh(&mut self, hint: &str, ty: Type) -> Param<L> {
        let name = self.names.fresh(hint);
        self.known.types.set(name, ty.clone());
        self.grow();
        Param { name, ty, ann: L::Ann::default() }
    }

    /// Brings a parameter or pattern element into scope. Its type is already rewritten.
    fn bind(&mut self, param: &Param<L>, depth: usize) {
        self.known.types.set(param.name, param.ty.clone());
        self.grow();
        self.known.depth[param.name.index()] = depth as u32;
    }

    /// Registers the type of a parameter that comes into scope later.
    pub(crate) fn declare_type(&mut self, param: &Param<L>) {
        self.known.types.set(param.name, param.ty.clone());
    }

    /// Brings a parameter into scope and registers the sizes in its type as valid.
    pub(crate) fn enter_param(&mut self, param: &Param<L>) {
        self.bind(param, self.known.current());
        let depth = self.known.current() as u32;
        self.assume_exists(&param.ty, &Certs::new());
        for dim in param.ty.shape() {
            if let Dim::Var(name) = *dim {
                let known = &mut self.known.known_size[name.index()];
                if *known > depth {
                    self.scopes[depth as usize].sizes.push((name, *known));
                    *known = depth;
                }
            }
        }
    }

    /// Records that a value of this type exists, given certificates.
    pub(crate) fn assume_exists(&mut self, ty: &Type, certs: &Certs) {
        if ty.is_array() {
            let depth = self.known.current();
            self.ranges_at(depth, |ranges| ranges.shape(ty.shape(), certs));
        }
    }

    /// Adds facts that hold until the scope with this index ends.
    pub(crate) fn ranges_at(&mut self, depth: usize, f: impl FnOnce(&mut Ranges)) {
        self.known.ranges.depth = depth as u32;
        f(&mut self.known.ranges);
        let touched = std::mem::take(&mut self.known.ranges.touched);
        self.scopes[depth].facts.extend(touched);
    }

    pub(crate) fn enter(&mut self, kind: ScopeKind) {
        self.known.kinds.push(kind);
        self.scopes.push(Scope::new());
    }

    /// Ends the innermost scope and returns its statements.
    pub(crate) fn leave(&mut self) -> Vec<Stm<L>> {
        let depth = self.known.current() as u32;
        let Some(scope) = self.scopes.pop() else {
            return Vec::new();
        };
        self.known.kinds.pop();
        for (hash, name) in scope.cse {
            if let Some(names) = self.cse.get_mut(&hash) {
                names.retain(|other| *other != name);
            }
        }
        self.forget_exps(&scope.exps, depth);
        for (name, before) in scope.sizes.into_iter().rev() {
            self.known.known_size[name.index()] = before;
        }
        for name in scope.waiting {
            if let Some(waiting) = self.pending_disjunctions.get_mut(&name) {
                waiting.pop();
            }
        }
        self.known.ranges.forget(&scope.facts, depth);
        self.learn_hoisted(scope.hoisted);
        scope.out
    }

    /// Simplifies a body in the innermost scope, and ends the scope.
    pub(crate) fn body_inside(&mut self, body: Body<L>) -> Body<L> {
        self.body_inside_and(body, |_, _| {})
    }

    /// As [`Simplifier::body_inside`]; `last` is called with the results before the scope ends.
    pub(crate) fn body_inside_and(&mut self, body: Body<L>, last: impl FnOnce(&Self, &[Atom])) -> Body<L> {
        with_stack(|| {
            if let Some(scope) = self.scopes.last_mut() {
                scope.out.reserve(body.stms.len());
            }
            for stm in body.stms {
                self.stm(stm);
            }
            let result = self.results(body.result);
            last(self, &result);
            let stms = self.leave();
            Body { stms, result }
        })
    }

    /// Simplifies a lambda. Its parameters are unknown except for the facts added by `learn`.
    pub(crate) fn lambda(
        &mut self,
        lambda: Lambda<L>,
        runs: bool,
        learn: impl FnOnce(&mut Self, &[Param<L>]),
    ) -> Lambda<L> {
        let Lambda { mut params, body, mut ret } = lambda;
        self.enter(ScopeKind::Inner { runs });
        for param in &mut params {
            self.rewrite_param(param);
            self.enter_param(param);
        }
        learn(self, &params);
        for ty in &mut ret {
            self.rewrite_type(ty);
        }
        let body = self.body_inside(body);
        Lambda { params, body, ret }
    }

    /// Simplifies one statement.
    pub(crate) fn stm(&mut self, stm: Stm<L>) {
        let Stm { pat, mut aux, exp } = stm;
        aux.certs = self.rewrite_certs(&aux.certs);
        match exp {
            Exp::Basic(op) => {
                let Ok([param]) = <[Param<L>; 1]>::try_from(pat) else {
                    return;
                };
                self.basic(param, aux, op);
            }
            Exp::If { mut cond, then_body, else_body } => {
                self.rewrite_atom(&mut cond, &mut aux.certs);
                self.conditional(pat, aux, cond, then_body, else_body);
            }
            Exp::Loop { params, form, body } => self.loop_(pat, aux, params, form, body),
            Exp::Apply { fun, args } => {
                let args = self.results(args);
                self.push_shared(pat, aux, Exp::Apply { fun, args });
            }
            Exp::Op(op) => L::simplify(self, pat, aux, op),
        }
    }
}
