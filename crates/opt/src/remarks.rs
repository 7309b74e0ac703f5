//! Optimisation remarks about what the optimiser left: the remaining checks with their enclosing
//! loops, and the remaining copies with the reason that each is needed.
//!
//! An analysis that changes nothing, run only when remarks are requested. A copy is attributed to
//! its cause: a parameter that the caller keeps, a later use of the copied array, or an array bound
//! outside the loop that contains the copy; otherwise the program requests it.
//!
//! The combinators removed as dead code are reported too, by comparing a function before and after
//! ([`Combinators`]).
//!
//! Needs: a verified program at level `segs`, as the optimiser leaves it.

use crate::level::OptLevel;
use analysis::alias::Aliases;
use analysis::signatures::Signatures;
use ir::remark::{Check, CopyReason, EnclosingLoop, OperationKind, RemarkKind};
use ir::seg::SegOp;
use ir::syntax::{BasicOp, Exp, Function, Stm};
use ir::walk::Visit;
use ir::{Context, FunId, Name, Program, Prov, Segs, TypeEnv};
use rustc_hash::{FxHashMap, FxHashSet};

/// Records remarks for the remaining checks and copies of a program.
pub fn remarks(program: &Program<Segs>, context: &mut Context) {
    let signatures = Signatures::of(program);
    let inside = called_in_segops(program);
    for (function, is_inside) in program.functions.iter().zip(inside) {
        for (prov, kind) in collect(function, &signatures, is_inside) {
            let spans = function.provs.stack(prov);
            context.remark(&function.name.0, spans, kind);
        }
    }
}

/// Returns, for each function, true if parallel loops call it, directly or transitively.
fn called_in_segops(program: &Program<Segs>) -> Vec<bool> {
    let mut calls = Vec::with_capacity(program.functions.len());
    let mut todo = Vec::new();
    for function in &program.functions {
        let mut own = Calls::default();
        Visit::<Segs>::body(&mut own, &function.body);
        todo.append(&mut own.in_segops);
        calls.push(own.outside_segops);
    }
    let mut found = vec![false; calls.len()];
    while let Some(fun) = todo.pop() {
        if !std::mem::replace(&mut found[fun.index()], true) {
            todo.append(&mut calls[fun.index()]);
        }
    }
    found
}

/// The functions called by one function, inside and outside of its segops.
#[derive(Default)]
struct Calls {
    depth: u32,
    in_segops: Vec<FunId>,
    outside_segops: Vec<FunId>,
}

impl Visit<Segs> for Calls {
    fn exp(&mut self, exp: &Exp<Segs>) {
        let is_seg = matches!(exp, Exp::Op(SegOp::Seg(_)));
        self.depth += u32::from(is_seg);
        self.walk_exp(exp);
        self.depth -= u32::from(is_seg);
    }

    fn fun(&mut self, fun: &FunId) {
        let calls = if self.depth > 0 { &mut self.in_segops } else { &mut self.outside_segops };
        calls.push(*fun);
    }
}

fn collect(function: &Function<Segs>, signatures: &Signatures, inside: bool) -> Vec<(Prov, RemarkKind)> {
    let types = TypeEnv::of_function(function);
    let aliases = Aliases::of(function, &types, signatures);
    let mut collector = RemarkCollector {
        aliases: &aliases,
        depth: vec![0; function.names.len()],
        loops: 0,
        parallel: inside.then_some(Prov::NONE),
        sequential: None,
        prov: Prov::NONE,
        at: 0,
        last: FxHashMap::default(),
        checks: Vec::new(),
        copies: Vec::new(),
    };
    Visit::<Segs>::body(&mut collector, &function.body);
    let RemarkCollector { last, checks, copies, .. } = collector;
    let hint = |name: Name| function.names.hint(name).clone();
    let spans = |prov: Prov| function.provs.stack(prov);
    let mut found: Vec<(Prov, RemarkKind)> = Vec::new();
    for (prov, check, enclosing) in checks {
        let inside = match enclosing {
            Enclosing::None => EnclosingLoop::Nothing,
            Enclosing::Loop(prov) => EnclosingLoop::Loop(spans(prov)),
            Enclosing::Parallel(prov) => EnclosingLoop::Parallel(spans(prov)),
        };
        found.push((prov, RemarkKind::CheckRemains { check, inside }));
    }
    for (prov, array, at, from_around) in copies {
        let class = aliases.class(array);
        let mut params = function.params.iter();
        let borrowed = params.find(|p| !p.consumed && aliases.class(p.param.name) == class);
        let why = if let Some(param) = borrowed {
            CopyReason::Parameter(hint(param.param.name))
        } else if from_around {
            CopyReason::FromOutside(hint(array))
        } else {
            match last.get(&class) {
                Some((last, name, prov)) if *last > at => {
                    CopyReason::UsedLater { array: hint(*name), spans: spans(*prov) }
                }
                Some(_) | None => CopyReason::Requested,
            }
        };
        let array = hint(array);
        found.push((prov, RemarkKind::Copied { array, why }));
    }
    found
}

/// The combinators of a function: the names each binds, its provenance and its classification.
pub(crate) struct Combinators(Vec<(Vec<Name>, Prov, OperationKind)>);

impl Combinators {
    /// Collects the combinators of a function.
    pub(crate) fn of<L: OptLevel>(function: &Function<L>) -> Self {
        let mut all = Self(Vec::new());
        Visit::<L>::body(&mut all, &function.body);
        all
    }

    /// Records a remark for each of these combinators that the function no longer contains.
    pub(crate) fn removed<L: OptLevel>(self, function: &Function<L>, context: &mut Context) {
        let after: FxHashSet<Name> = Self::of(function).0.into_iter().flat_map(|c| c.0).collect();
        for (names, prov, what) in self.0 {
            if !names.iter().any(|name| after.contains(name)) {
                let spans = function.provs.stack(prov);
                context.remark(&function.name.0, spans, RemarkKind::DeadRemoved(what));
            }
        }
    }
}

impl<L: OptLevel> Visit<L> for Combinators {
    fn stm(&mut self, stm: &Stm<L>) {
        if let Exp::Op(op) = &stm.exp {
            let names = stm.pat.iter().map(|param| param.name).collect();
            self.0.push((names, stm.aux.prov, L::operation(op)));
        }
        self.walk_stm(stm);
    }
}

/// The loop that encloses an operation.
#[derive(Clone, Copy)]
enum Enclosing {
    None,
    Loop(Prov),
    Parallel(Prov),
}

struct RemarkCollector<'a> {
    aliases: &'a Aliases,
    /// The number of loops that enclose each name's binding.
    depth: Vec<u32>,
    loops: u32,
    /// The outermost enclosing parallel loop.
    parallel: Option<Prov>,
    /// The innermost enclosing sequential loop.
    sequential: Option<Prov>,
    /// The provenance of the current statement.
    prov: Prov,
    /// A clock: the number of statement starts and ends so far.
    at: u32,
    /// For each alias class, the time, name and provenance of its last use.
    last: FxHashMap<usize, (u32, Name, Prov)>,
    checks: Vec<(Prov, Check, Enclosing)>,
    /// For each copy: its provenance, the copied array, the time, and true if the array is bound
    /// outside of a loop that contains the copy.
    copies: Vec<(Prov, Name, u32, bool)>,
}

impl Visit<Segs> for RemarkCollector<'_> {
    fn stm(&mut self, stm: &Stm<Segs>) {
        let around = std::mem::replace(&mut self.prov, stm.aux.prov);
        self.at += 1;
        match &stm.exp {
            Exp::Basic(BasicOp::Assert { cond: _, msg }) => {
                let enclosing = match (self.parallel, self.sequential) {
                    (Some(prov), _) => Enclosing::Parallel(prov),
                    (None, Some(prov)) => Enclosing::Loop(prov),
                    (None, None) => Enclosing::None,
                };
                self.checks.push((self.prov, Check::of(msg), enclosing));
            }
            Exp::Basic(BasicOp::Copy(array)) => {
                let from_around = self.depth[array.index()] < self.loops;
                self.copies.push((self.prov, *array, self.at, from_around));
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {}
        }
        let parts = (self.parallel, self.sequential);
        let is_seg = matches!(stm.exp, Exp::Op(SegOp::Seg(_)));
        let is_loop = matches!(stm.exp, Exp::Loop { .. });
        if is_seg {
            self.parallel = self.parallel.or(Some(self.prov));
        } else if is_loop {
            self.sequential = Some(self.prov);
        }
        for param in &stm.pat {
            self.depth[param.name.index()] = self.loops;
        }
        let loops = self.loops;
        self.loops += u32::from(is_seg || is_loop);
        self.walk_exp(&stm.exp);
        self.loops = loops;
        (self.parallel, self.sequential) = parts;
        self.at += 1;
        self.prov = around;
    }

    fn binder(&mut self, name: &Name) {
        self.depth[name.index()] = self.loops;
    }

    fn name(&mut self, name: &Name) {
        let class = self.aliases.class(*name);
        self.last.insert(class, (self.at, *name, self.prov));
    }
}
