//! Unroll and jam of independent iterations around reductions in lanes.
//!
//! ```text
//! for i in lo .. hi independent {        for g in 0 .. groups independent {
//!   if c(i) {                              if all of c(4 g + lo) .. c(4 g + 3 + lo) and 4 g + 4 + lo <= hi {
//!     for k in 0 .. rounds {                 for k in 0 .. rounds {
//!       x = xs[8 lanes: 8 k ..]                x = xs[8 lanes: 8 k ..]
//!       y = ys[8 lanes: i * m + 8 k ..]  =>    y0 = ys[8 lanes: (4 g + lo) * m + 8 k ..]; ..; y3 = ..
//!       acc = acc + x * y                      acc0 = acc0 + x * y0; ..; acc3 = acc3 + x * y3
//!     }                                      }
//!     zs[i] = sum of acc                     zs[4 g + lo] = sum of acc0; ..; zs[4 g + 3 + lo] = ..
//!   }                                      } else {
//! }                                          for i in 4 g + lo .. min(4 g + 4 + lo, hi) { .. as before .. }
//!                                          } }
//! ```
//!
//! Vectors that the iterations read alike are loaded once for all of them, and their sums, and the trees that
//! combine the lanes at the end, do not wait for each other. Iterations are independent, so their statements may be
//! interleaved in any way; each iteration's own keep their order, so all values are bit-identical.
//!
//! Before: vectorised loops ([`lanes`](crate::lanes)). A candidate is an independent loop of scalars, loads,
//! stores, frames, branches and loops with at least one loop that loads a vector which no iteration changes,
//! at one place in the nest of branches. Needs: a verified program. Guarantees: a verified program with the
//! same results.

use crate::loop_copies::{LoopCopies, Renamed, apply};
use crate::loops::ReplaceLoops;
use imp::build::{max, min};
use imp::captures;
use imp::def_use::DefUse;
use imp::rename::each_expr_var_mut;
use imp::walk::{Use, divides, each_stmt, each_use, each_var, is_at_most};
use imp::{Access, Expr, For, Function, LaneAccess, Launch, LoopMode, Program, Stmt, Var, VarType, expr};
use ir::{Context, Fuel, VectorLanes};
use prim::{PrimType, UnOp};
use rustc_hash::FxHashSet;

/// The largest number of statements of an iteration.
const MAX_STATEMENTS: usize = 96;
/// The largest number of vectors that the accumulators of a group take, of 32.
const MAX_VECTORS: u64 = 16;

/// Jams iterations, each loop for one unit of fuel.
pub fn jam(mut program: Program, context: &mut Context) -> Program {
    let machine = context.options.machine;
    if context.options.lanes != VectorLanes::Off
        && let Some(factor) = machine.jam_factor()
    {
        let most = MAX_VECTORS * u64::from(machine.bytes) / factor as u64;
        program.functions = context.over(program.functions, |mut function, own| {
            jam_function(&mut function, (factor, most), &mut own.fuel);
            function
        });
    }
    program
}

fn jam_function(function: &mut Function, (factor, most): (i64, u64), fuel: &mut Fuel) {
    if fuel.is_exhausted() || !loads_vectors(&function.body) {
        return;
    }
    let copies = LoopCopies::of(function, DefUse::new(function));
    let body = std::mem::take(&mut function.body);
    let mut pass = Jam { copies, factor, most, fuel, jammed: false };
    function.body = pass.block(body, DefUse::FIRST);
    let jammed = pass.jammed;
    pass.copies.finish(function);
    if jammed {
        // Statements name variables in another order.
        captures::fill(function);
    }
}

struct Jam<'c> {
    copies: LoopCopies,
    /// The number of iterations in a group.
    factor: i64,
    /// The most bytes of frames of an iteration.
    most: u64,
    fuel: &'c mut Fuel,
    jammed: bool,
}

impl ReplaceLoops for Jam<'_> {
    type Mark = usize;

    fn def_use(&self) -> &DefUse {
        &self.copies.def_use
    }

    fn replace(&mut self, f: For, at: u32, out: &mut Vec<Stmt>) -> Option<For> {
        let Some(plan) = Plan::of(&f, at, self) else {
            return Some(f);
        };
        if !self.fuel.take() {
            return Some(f);
        }
        self.jammed = true;
        let stmts = Group::new(&mut self.copies, &plan, self.factor).stmts(&f);
        out.extend(stmts);
        None
    }

    fn mark(&self) -> usize {
        self.copies.mark()
    }

    fn leave(&mut self, mark: usize, launch: &mut Launch) {
        self.copies.leave(mark, launch);
    }
}

/// An iteration whose branches lead to the reduction.
#[derive(Default)]
struct Straight<'f> {
    /// The statements apart from these branches.
    stmts: Vec<&'f Stmt>,
    /// The branches' conditions, and true for first arms.
    conditions: Vec<(&'f Expr, bool)>,
    /// The number of statements before the last branch.
    before: usize,
}

impl<'f> Straight<'f> {
    /// Adds a list. Returns false unless it has loops over vectors at one place.
    fn add(&mut self, list: &'f [Stmt]) -> bool {
        if list.iter().any(|stmt| matches!(stmt, Stmt::For(f) if loads_vectors(&f.body))) {
            self.stmts.extend(list);
            return true;
        }
        let branches = list.iter().enumerate().filter_map(|(i, stmt)| {
            let Stmt::If(cond, yes, no) = stmt else { return None };
            Some([(i, cond, true, yes), (i, cond, false, no)])
        });
        let mut arms = branches.flatten().filter(|(.., arm)| loads_vectors(arm));
        let (Some((i, cond, first, arm)), None) = (arms.next(), arms.next()) else {
            return false;
        };
        self.stmts.extend(&list[..i]);
        self.conditions.push((cond, first));
        self.before = self.stmts.len();
        let found = ir::walk::with_stack(|| self.add(arm));
        self.stmts.extend(&list[i + 1..]);
        found
    }
}

/// A loop whose iterations are jammed.
struct Plan<'f> {
    iteration: Straight<'f>,
    /// Variables that an iteration sets.
    own: FxHashSet<Var>,
    /// The ones among them with values of each iteration.
    varying: FxHashSet<Var>,
    /// Scalars that can be computed before all of an iteration.
    early: FxHashSet<Var>,
}

impl<'f> Plan<'f> {
    fn of(f: &'f For, at: u32, pass: &Jam<'_>) -> Option<Self> {
        let def_use = &pass.copies.def_use;
        if f.mode != (LoopMode::Seq { independent: true })
            || !is_at_most(&f.body, MAX_STATEMENTS)
            || pass.copies.vars[f.var.index()].ty != VarType::Scalar(PrimType::I64)
        {
            return None;
        }
        let mut iteration = Straight::default();
        if !iteration.add(&f.body) {
            return None;
        }
        let (mut own, mut frames, mut fits) = (FxHashSet::default(), FxHashSet::default(), true);
        let (mut bytes, end) = (0, def_use.end(at));
        own.insert(f.var);
        each_stmt(&f.body, &mut |stmt| {
            fits &= may_be_jammed(stmt);
            if let Stmt::Frame { buffer, elem, count } = stmt {
                frames.insert(*buffer);
                bytes += count * elem.size();
            }
            each_use(stmt, &mut |var, used| {
                if used == Use::Sets {
                    own.insert(var);
                    fits &= def_use.is_local(var, at, end);
                }
            });
        });
        if !fits || bytes > pass.most || !stores_last(&iteration.stmts, &frames) {
            return None;
        }
        let varying = varying(f.var, &iteration.stmts, frames);
        let early = early(f.var, &iteration, &own, def_use);
        let plan = Self { iteration, own, varying, early };
        let known = plan.iteration.conditions.iter().all(|(cond, _)| is_known(cond, &plan.own, &plan.early));
        (known && plan.shares_loads()).then_some(plan)
    }

    /// Returns true if a loop loads a vector that all iterations share.
    fn shares_loads(&self) -> bool {
        let mut found = false;
        for stmt in &self.iteration.stmts {
            if let Stmt::For(f) = stmt
                && !touches(stmt, &self.varying)
            {
                each_stmt(&f.body, &mut |stmt| {
                    found |= matches!(stmt, Stmt::LoadLanes { .. }) && !touches(stmt, &self.varying);
                });
            }
        }
        found
    }
}

/// The scalars before the last branch that depend on the counter only.
fn early(counter: Var, iteration: &Straight<'_>, own: &FxHashSet<Var>, def_use: &DefUse) -> FxHashSet<Var> {
    let mut early = FxHashSet::from_iter([counter]);
    for stmt in &iteration.stmts[..iteration.before] {
        if let Stmt::Set(var, value) = stmt
            && !divides(value)
            && def_use.is_set_once(*var)
            && is_known(value, own, &early)
        {
            early.insert(*var);
        }
    }
    early
}

/// Returns true if a value depends on no variables of an iteration but known ones.
fn is_known(value: &Expr, own: &FxHashSet<Var>, known: &FxHashSet<Var>) -> bool {
    let mut all = true;
    each_var(value, &mut |var, _| all &= known.contains(&var) || !own.contains(&var));
    all
}

fn loads_vectors(list: &[Stmt]) -> bool {
    let mut found = false;
    each_stmt(list, &mut |stmt| found |= matches!(stmt, Stmt::LoadLanes { .. }));
    found
}

/// Returns true for statements without effects on the context, and loops of them.
fn may_be_jammed(stmt: &Stmt) -> bool {
    match stmt {
        imp::element_stmt!() | Stmt::Frame { .. } | Stmt::If(..) => true,
        Stmt::For(f) => matches!(f.mode, LoopMode::Seq { .. }),
        Stmt::While(..)
        | Stmt::Copy { .. }
        | Stmt::Call { .. }
        | Stmt::Check { .. }
        | Stmt::Device(_)
        | imp::resource_stmt!() => false,
    }
}

/// Returns true if stores follow all loads, apart from accesses to frames: loads may be shared.
fn stores_last(stmts: &[&Stmt], frames: &FxHashSet<Var>) -> bool {
    let mut stored = false;
    stmts.iter().all(|stmt| {
        let (mut loads, mut stores) = (false, false);
        each_stmt(std::slice::from_ref(*stmt), &mut |stmt| {
            if let Stmt::Load(_, Access { buffer, .. })
            | Stmt::LoadLanes { from: LaneAccess { buffer, .. }, .. } = stmt
            {
                loads |= !frames.contains(buffer);
            } else if let Stmt::Store(Access { buffer, .. }, _)
            | Stmt::StoreLanes { to: LaneAccess { buffer, .. }, .. } = stmt
            {
                stores |= !frames.contains(buffer);
            }
        });
        stored |= stores;
        !loads || !stored
    })
}

/// Returns true if a statement itself names one of the variables.
fn touches(stmt: &Stmt, vars: &FxHashSet<Var>) -> bool {
    let mut found = false;
    each_use(stmt, &mut |var, _| found |= vars.contains(&var));
    found
}

/// The variables that differ between iterations.
fn varying(counter: Var, stmts: &[&Stmt], frames: FxHashSet<Var>) -> FxHashSet<Var> {
    let mut varying = frames;
    varying.insert(counter);
    loop {
        let before = varying.len();
        for stmt in stmts {
            spread(stmt, false, &mut varying);
        }
        if varying.len() == before {
            return varying;
        }
    }
}

/// Adds the variables that a statement sets if it names varying ones, or is `controlled` by one.
fn spread(stmt: &Stmt, controlled: bool, varying: &mut FxHashSet<Var>) {
    let depends = controlled || touches(stmt, varying);
    if depends {
        each_use(stmt, &mut |var, used| {
            if used == Use::Sets {
                varying.insert(var);
            }
        });
    }
    for stmt in stmt.blocks().into_iter().flatten() {
        spread(stmt, depends, varying);
    }
}

/// The code of a group of iterations.
struct Group<'p> {
    plan: &'p Plan<'p>,
    /// The names of each iteration's variables; all have the same names for shared ones.
    each: Vec<Renamed>,
    groups: Var,
    counter: Var,
    first: Var,
    all: Var,
}

impl<'p> Group<'p> {
    fn new(copies: &mut LoopCopies, plan: &'p Plan<'p>, factor: i64) -> Self {
        let mut own: Vec<Var> = plan.own.iter().copied().collect();
        own.sort_unstable_by_key(|var| var.index());
        let mut each = vec![Renamed::default(); factor as usize];
        for var in own {
            let info = copies.vars[var.index()].clone();
            let mut new = copies.add(info.clone());
            for (r, names) in each.iter_mut().enumerate() {
                if r > 0 && plan.varying.contains(&var) {
                    new = copies.add(info.clone());
                }
                names.insert(var, new);
            }
        }
        Self {
            plan,
            each,
            groups: copies.scalar(PrimType::I64, "groups"),
            counter: copies.scalar(PrimType::I64, "group"),
            first: copies.scalar(PrimType::I64, "first"),
            all: copies.scalar(PrimType::Bool, "all"),
        }
    }

    /// The loop over groups.
    fn stmts(&self, f: &For) -> Vec<Stmt> {
        let factor = self.each.len() as i64;
        let Self { groups, counter, first, all, .. } = *self;
        let mode = LoopMode::Seq { independent: true };
        let (from, to) = (f.from.clone(), f.to.clone());
        let mut body = vec![Stmt::Set(first, from.clone() + counter * factor)];
        for (r, names) in self.each.iter().enumerate() {
            body.push(Stmt::Set(names[&f.var], first + r as i64));
        }
        body.push(Stmt::Set(all, expr!(first + (factor - 1) < to.clone())));
        self.conditions(&mut body);
        let mut jammed = Vec::new();
        self.jam(&self.plan.iteration.stmts, &mut jammed);
        let single = For { from: first.into(), to: min(first + factor, to.clone()), ..f.clone() };
        body.push(Stmt::If(all.into(), jammed, vec![Stmt::For(single)]));
        let count = (max(to - from, 0) + (factor - 1)) / factor;
        let loop_ = For { mode, var: counter, from: Expr::i64(0), to: groups.into(), body };
        vec![Stmt::Set(groups, count), Stmt::For(loop_)]
    }

    /// Sets `all` to the condition that all iterations take the branches to the reduction.
    fn conditions(&self, out: &mut Vec<Stmt>) {
        let Straight { stmts, conditions, before } = &self.plan.iteration;
        for stmt in &stmts[..*before] {
            if self.is_early(stmt) {
                self.stmt(stmt, out);
            }
        }
        let all = self.all;
        for (cond, first) in conditions {
            for names in &self.each {
                let cond = renamed(cond, names);
                let taken = if *first { cond } else { Expr::unary(UnOp::Not, PrimType::Bool, cond) };
                out.push(Stmt::Set(all, expr!(all && taken)));
            }
        }
    }

    fn is_early(&self, stmt: &Stmt) -> bool {
        matches!(stmt, Stmt::Set(var, _) if self.plan.early.contains(var))
    }

    /// Jams statements; the ones that conditions depend on were executed before.
    fn jam(&self, stmts: &[&Stmt], out: &mut Vec<Stmt>) {
        for stmt in stmts.iter().filter(|stmt| !self.is_early(stmt)) {
            let jammed = |list: &[Stmt]| {
                let mut out = Vec::new();
                ir::walk::with_stack(|| self.jam(&list.iter().collect::<Vec<_>>(), &mut out));
                out
            };
            let names = &self.each[0];
            let shared = !touches(stmt, &self.plan.varying);
            if let Stmt::For(f) = stmt
                && shared
            {
                out.push(Stmt::For(For {
                    mode: f.mode.clone(),
                    var: names[&f.var],
                    from: renamed(&f.from, names),
                    to: renamed(&f.to, names),
                    body: jammed(&f.body),
                }));
            } else if let Stmt::If(cond, yes, no) = stmt
                && shared
            {
                out.push(Stmt::If(renamed(cond, names), jammed(yes), jammed(no)));
            } else {
                self.stmt(stmt, out);
            }
        }
    }

    /// A statement for all iterations, or one for each.
    fn stmt(&self, stmt: &Stmt, out: &mut Vec<Stmt>) {
        let mut varies = matches!(stmt, Stmt::Store(..) | Stmt::StoreLanes { .. });
        each_stmt(std::slice::from_ref(stmt), &mut |stmt| varies |= touches(stmt, &self.plan.varying));
        let all = if varies { &self.each[..] } else { &self.each[..1] };
        for names in all {
            let mut copy = [stmt.clone()];
            apply(&mut copy, names);
            out.extend(copy);
        }
    }
}

/// A copy of a value with other variables.
fn renamed(value: &Expr, names: &Renamed) -> Expr {
    let mut copy = value.clone();
    each_expr_var_mut(&mut copy, &mut |var| {
        if let Some(new) = names.get(var) {
            *var = *new;
        }
    });
    copy
}
