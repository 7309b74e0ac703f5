//! Simplification: one forward walk that tracks the definitions and known values of names, then
//! removal of dead code; repeated while a walk leaves work for another.
//!
//! For each name the walk keeps its definition, its replacement, and the known relations of its
//! value to others (`range`). A statement's operands are rewritten first, then the rules are
//! applied, and the result is emitted at the outermost position where its operands are in scope and
//! where it may run (`emit`). All tables are scoped: facts learnt in a body are dropped at its end.
//!
//! **Certificates.** A value may be replaced by another that depends on more checks: their
//! certificates are then added to every statement that uses it. Sizes in types and in telescopes
//! are only replaced without certificates. A check implied by others is replaced by their
//! certificates.
//!
//! **Hoisting.** Operations that cannot fail are hoisted out of loops and lambdas; a check is
//! hoisted out of bodies that certainly run, and out of others with a guard (`guard`); loads and
//! divisions that depend on checks or facts stay. Nothing else is hoisted out of a conditional's
//! branch.
//!
//! **Rounds.** Later statements see what a rewrite changed, so one walk draws most consequences.
//! Another one follows only where code before the current statement may simplify further: after
//! code was emitted in an outer scope without applying the rules, or before an equal operation of a
//! scope that has ended; if a loop's parameter became invariant with its body; if the last other
//! use of a copied array was removed; and after unrolling.
//!
//! **Loops.** Invariants of a loop's parameters are found before its body is walked (`invariant`).
//!
//! Needs: a verified program. Guarantees: a verified program. Dead code is removed after each walk
//! by `dce`.

mod accs;
mod affine_checks;
mod array;
mod closed_forms;
mod concat;
mod concat_maps;
mod control;
pub(crate) mod cse;
mod cse_exps;
mod element;
mod emit;
mod expand_small;
mod guard;
mod invariant;
mod invariant_params;
pub(crate) mod licm;
mod repeat;
mod rewrite;
mod scalar;
mod scatter;
pub(crate) mod seg;
pub(crate) mod soac;
mod uniform_map;
mod uniform_scans;
mod update;

use crate::dce;
use crate::level::OptLevel;
use crate::remarks::Combinators;
use crate::unroll::unroll;
use analysis::alias::Aliases;
pub(crate) use analysis::certs::{Certs, add_certs};
use analysis::ranges::Ranges;
use analysis::signatures::Signatures;
use analysis::uses::Uses;
use cse_exps::Known;
use guard::Guard;
use ir::remark::{Check, RemarkKind};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, Lambda, Level, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::with_stack;
use ir::{Context, Fuel, MathDefinitions, Name, NameTable, PassError, Prov, TypeEnv};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

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
pub(crate) fn simplify<L: OptLevel>(
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
    if !left.to_simplify && !left.copied.is_empty() {
        let uses = Uses::of(function);
        left.to_simplify = left.copied.iter().any(|source| uses.get(*source) == Some(1));
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
    /// Arrays with other uses than the copy that was made of each.
    copied: Vec<Name>,
}

/// One walk.
fn walk<L: OptLevel>(
    function: &mut Function<L>,
    signatures: &Signatures,
    context: &mut Context,
    params: Params,
) -> Left {
    let types = TypeEnv::of_function(function);
    let aliases = Aliases::of(function, &types, signatures);
    let n = function.names.len();
    let uses = Uses::of(function);
    let mut s = Simplifier {
        names: &mut function.names,
        types,
        aliases,
        uses,
        fresh_arrays: vec![false; n],
        defs: vec![None; n],
        subs: vec![None; n],
        cert_subs: FxHashMap::default(),
        depth: vec![0; n],
        known_size: vec![u32::MAX; n],
        scopes: vec![Scope::new(ScopeKind::Root)],
        cse: FxHashMap::default(),
        available_exps: FxHashMap::default(),
        ranges: Ranges::default(),
        conjunctions: FxHashMap::default(),
        math: signatures.math(),
        pending_disjunctions: FxHashMap::default(),
        neutrals: FxHashMap::default(),
        fuel: &mut context.fuel,
        decided: context.options.remarks.then(Vec::new),
        prov: Prov::NONE,
        left: Left::default(),
    };
    for param in &function.params {
        s.enter_param(&param.param);
        if params == Params::InMemory {
            s.ranges_at(0, |ranges| ranges.stored(param.param.ty.shape()));
        }
        s.fresh_arrays[param.param.name.index()] = param.consumed;
    }
    let body = std::mem::replace(&mut function.body, Body { stms: Vec::new(), result: Vec::new() });
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

/// The definition of a name.
pub(crate) struct Def {
    pub(crate) op: BasicOp,
    pub(crate) certs: Certs,
    /// The position of its statement in its scope.
    pub(crate) at: usize,
}

/// The kind of body of a scope.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    /// The function's body.
    Root,
    /// A branch of a conditional.
    Branch,
    /// The body of a loop or of an operation. `runs` is true if it certainly runs.
    Inner { runs: bool },
}

struct Scope<L: Level> {
    out: Vec<Stm<L>>,
    kind: ScopeKind,
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
    fn new(kind: ScopeKind) -> Self {
        Self {
            out: Vec::new(),
            kind,
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
    types: TypeEnv,
    aliases: Aliases,
    /// The number of uses of each name before the walk.
    uses: Uses,
    /// Arrays that alias nothing that was bound before them.
    fresh_arrays: Vec<bool>,
    defs: Vec<Option<Rc<Def>>>,
    subs: Vec<Option<Sub>>,
    /// The replacement of a certificate: others, or none.
    cert_subs: FxHashMap<Name, Certs>,
    /// The index of the scope that binds a name.
    depth: Vec<u32>,
    /// The outermost scope in which a name is certainly a valid size, that is, not negative.
    known_size: Vec<u32>,
    scopes: Vec<Scope<L>>,
    cse: FxHashMap<u64, SmallVec<[Name; 1]>>,
    /// Conditionals and calls, by their hashes.
    available_exps: FxHashMap<u64, Vec<Known>>,
    ranges: Ranges,
    /// Conjunctions: a name that is equal to the second operand if the first holds, and false
    /// otherwise.
    conjunctions: FxHashMap<Name, (Atom, Atom)>,
    /// Disjunctions that hold, by the names that determine their operands.
    pending_disjunctions: FxHashMap<Name, Vec<(Atom, Atom, Certs)>>,
    /// The neutral elements of accumulators with an operator, by their tokens.
    neutrals: FxHashMap<Name, Vec<Atom>>,
    /// The definitions of mathematical functions.
    math: &'a MathDefinitions,
    fuel: &'a mut Fuel,
    /// The decisions about checks, if remarks are requested.
    decided: Option<Vec<(Prov, RemarkKind)>>,
    /// The provenance of the current statement.
    prov: Prov,
    left: Left,
}

/// The result of applying rules to a basic operation.
pub(crate) enum Simplified {
    /// Replaced by an operand, given these certificates.
    Atom(Atom, Certs),
    /// Replaced by another operation, given these certificates.
    Op(BasicOp, Certs),
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

    /// The definition of a name.
    pub(crate) fn def(&self, name: Name) -> Option<&Rc<Def>> {
        self.defs.get(name.index())?.as_ref()
    }

    /// The definition of an operand.
    pub(crate) fn def_of(&self, atom: Atom) -> Option<&Rc<Def>> {
        self.def(atom.var()?)
    }

    fn current(&self) -> usize {
        self.scopes.len() - 1
    }

    fn depth_of(&self, name: Name) -> usize {
        self.depth.get(name.index()).map_or(0, |d| *d as usize)
    }

    /// Returns true if an operand is bound in the current scope or an enclosing one, not further
    /// inside.
    pub(crate) fn in_scope(&self, atom: Atom) -> bool {
        atom.var().is_none_or(|name| self.depth_of(name) <= self.current())
    }

    fn grow(&mut self) {
        let n = self.names.len();
        if self.defs.len() < n {
            self.defs.resize(n, None);
            self.subs.resize(n, None);
            self.depth.resize(n, 0);
            self.fresh_arrays.resize(n, false);
            self.known_size.resize(n, u32::MAX);
        }
    }

    /// Creates a fresh parameter.
    pub(crate) fn fresh(&mut self, hint: &str, ty: Type) -> Param<L> {
        let name = self.names.fresh(hint);
        self.types.set(name, ty.clone());
        self.grow();
        Param { name, ty, ann: L::Ann::default() }
    }

    /// The type of a name.
    pub(crate) fn type_of(&self, name: Name) -> Type {
        self.types.type_of(name).clone()
    }

    /// The type of an operand.
    pub(crate) fn type_of_atom(&self, atom: Atom) -> Type {
        self.types.type_of_atom(atom)
    }

    /// Brings a parameter or pattern element into scope. Its type is already rewritten.
    fn bind(&mut self, param: &Param<L>, depth: usize) {
        self.types.set(param.name, param.ty.clone());
        self.grow();
        self.depth[param.name.index()] = depth as u32;
    }

    /// Registers the type of a parameter that comes into scope later.
    pub(crate) fn declare_type(&mut self, param: &Param<L>) {
        self.types.set(param.name, param.ty.clone());
    }

    /// Brings a parameter into scope and registers the sizes in its type as valid.
    pub(crate) fn enter_param(&mut self, param: &Param<L>) {
        self.bind(param, self.current());
        let depth = self.current() as u32;
        self.assume_exists(&param.ty, &Certs::new());
        for dim in param.ty.shape() {
            if let Dim::Var(name) = *dim {
                let known = &mut self.known_size[name.index()];
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
            let depth = self.current();
            self.ranges_at(depth, |ranges| ranges.shape(ty.shape(), certs));
        }
    }

    /// Adds facts that hold until the scope with this index ends.
    pub(crate) fn ranges_at(&mut self, depth: usize, f: impl FnOnce(&mut Ranges)) {
        self.ranges.depth = depth as u32;
        f(&mut self.ranges);
        let touched = std::mem::take(&mut self.ranges.touched);
        self.scopes[depth].facts.extend(touched);
    }

    /// Returns true if the size is known to be non-negative throughout the scope with this index.
    fn size_known(&self, dim: Dim, depth: usize) -> bool {
        match dim {
            Dim::Const(n) => n >= 0,
            Dim::Var(name) => self.known_size.get(name.index()).is_some_and(|known| *known as usize <= depth),
            Dim::Ext(_) => false,
        }
    }

    pub(crate) fn enter(&mut self, kind: ScopeKind) {
        self.scopes.push(Scope::new(kind));
    }

    /// Ends the innermost scope and returns its statements.
    pub(crate) fn leave(&mut self) -> Vec<Stm<L>> {
        let depth = self.current() as u32;
        let Some(scope) = self.scopes.pop() else {
            return Vec::new();
        };
        for (hash, name) in scope.cse {
            if let Some(names) = self.cse.get_mut(&hash) {
                names.retain(|other| *other != name);
            }
        }
        self.forget_exps(&scope.exps, depth);
        for (name, before) in scope.sizes.into_iter().rev() {
            self.known_size[name.index()] = before;
        }
        for name in scope.waiting {
            if let Some(waiting) = self.pending_disjunctions.get_mut(&name) {
                waiting.pop();
            }
        }
        self.ranges.forget(&scope.facts, depth);
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
