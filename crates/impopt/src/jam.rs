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
//! What the iterations read alike is loaded once for all of them, and their sums, and the trees that combine
//! the lanes at the end, do not wait for each other. Iterations are independent, so their statements may be
//! interleaved in any way; each iteration's own keep their order, so all values are bit-identical.
//!
//! Before: vectorised loops ([`lanes`](crate::lanes)). A candidate is an independent loop of scalars, loads,
//! stores, frames, branches and loops with at least one loop that loads a vector which no iteration changes,
//! at one place in the nest of branches. Needs: a verified program. Guarantees: a verified program with the
//! same results.

use crate::loop_copies::LoopCopies;
use crate::loops::ReplaceLoops;
use imp::build::{max, min};
use imp::captures;
use imp::def_use::DefUse;
use imp::rename::{each_expr_var_mut, each_var_mut};
use imp::walk::{Use, divides, each_stmt, each_use, each_var, is_at_most};
use imp::{Expr, For, Function, Launch, LoopMode, Program, Stmt, Var, VarInfo, VarType, expr};
use ir::{Context, Fuel, VectorLanes};
use prim::{PrimType, UnOp};
use rustc_hash::{FxHashMap, FxHashSet};

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
    let has_candidate = |body: &[Stmt]| {
        let mut found = false;
        each_stmt(body, &mut |stmt| found |= matches!(stmt, Stmt::LoadLanes { .. }));
        found
    };
    if fuel.is_exhausted() || !has_candidate(&function.body) {
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

/// A loop whose iterations are jammed.
struct Plan {
    /// The arms on the way to the reduction, outermost first: the position of the branch in its list, and true
    /// for its first arm.
    path: Vec<(usize, bool)>,
    /// Variables that an iteration sets.
    own: FxHashSet<Var>,
    /// The ones among them with values of each iteration.
    varying: FxHashSet<Var>,
    /// Scalars that can be computed before all of an iteration.
    early: FxHashSet<Var>,
}

impl Plan {
    fn of(f: &For, at: u32, pass: &Jam<'_>) -> Option<Self> {
        let def_use = &pass.copies.def_use;
        let vars = &pass.copies.vars;
        if f.mode != (LoopMode::Seq { independent: true })
            || !is_at_most(&f.body, MAX_STATEMENTS)
            || vars[f.var.index()].ty != VarType::Scalar(PrimType::I64)
        {
            return None;
        }
        let mut path = Vec::new();
        if !find_path(&f.body, &mut path) {
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
        if !fits || bytes > pass.most || !stores_last(&f.body, &path, &frames, &mut false) {
            return None;
        }
        let varying = varying(f, &path, frames);
        let early = FxHashSet::from_iter([f.var]);
        let mut plan = Self { path, own, varying, early };
        (plan.has_conditions(f, def_use) && plan.shares_loads(&f.body, 0)).then_some(plan)
    }

    /// Finds the scalars on the path that depend on the counter only. Returns true if the conditions do.
    fn has_conditions(&mut self, f: &For, def_use: &DefUse) -> bool {
        let mut list = &f.body[..];
        for (position, first) in &self.path {
            let (before, rest) = list.split_at(*position);
            let Some(Stmt::If(cond, yes, no)) = rest.first() else {
                return false;
            };
            for stmt in before {
                if let Stmt::Set(var, value) = stmt
                    && !divides(value)
                    && def_use.is_set_once(*var)
                    && is_known(value, &self.own, &self.early)
                {
                    self.early.insert(*var);
                }
            }
            if !is_known(cond, &self.own, &self.early) {
                return false;
            }
            list = if *first { yes } else { no };
        }
        true
    }

    /// Returns true if a loop loads a vector that all iterations share.
    fn shares_loads(&self, list: &[Stmt], depth: usize) -> bool {
        let taken = self.path.get(depth);
        let mut found = false;
        for (i, stmt) in list.iter().enumerate() {
            match (stmt, taken) {
                (Stmt::If(_, yes, no), Some((position, first))) if *position == i => {
                    found |= self.shares_loads(if *first { yes } else { no }, depth + 1);
                }
                (Stmt::For(f), _) if self.is_jammed_loop(f) => {
                    each_stmt(&f.body, &mut |stmt| {
                        found |= matches!(stmt, Stmt::LoadLanes { .. }) && !touches(stmt, &self.varying);
                    });
                }
                _ => {}
            }
        }
        found
    }

    fn is_jammed_loop(&self, f: &For) -> bool {
        !reads_any(&f.from, &self.varying) && !reads_any(&f.to, &self.varying)
    }
}

/// Returns true if a value depends on no variables of an iteration but known ones.
fn is_known(value: &Expr, own: &FxHashSet<Var>, known: &FxHashSet<Var>) -> bool {
    let mut all = true;
    each_var(value, &mut |var, _| all &= known.contains(&var) || !own.contains(&var));
    all
}

/// Finds the arms that lead to the only list with loops over vectors. Returns false if there is none, or if
/// there are several.
fn find_path(list: &[Stmt], path: &mut Vec<(usize, bool)>) -> bool {
    if list.iter().any(|stmt| matches!(stmt, Stmt::For(f) if loads_vectors(&f.body))) {
        return true;
    }
    let mut arms = list.iter().enumerate().flat_map(|(i, stmt)| {
        let arms =
            if let Stmt::If(_, yes, no) = stmt { vec![(i, true, yes), (i, false, no)] } else { vec![] };
        arms.into_iter().filter(|(.., arm)| loads_vectors(arm))
    });
    let (Some((i, first, arm)), None) = (arms.next(), arms.next()) else {
        return false;
    };
    path.push((i, first));
    ir::walk::with_stack(|| find_path(arm, path))
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

/// Returns true if stores follow all loads on the path, apart from accesses to frames: loads may be shared.
/// `stored` is true after a store.
fn stores_last(list: &[Stmt], path: &[(usize, bool)], frames: &FxHashSet<Var>, stored: &mut bool) -> bool {
    let taken = path.split_first();
    list.iter().enumerate().all(|(i, stmt)| {
        if let (Stmt::If(_, yes, no), Some(((position, first), rest))) = (stmt, taken)
            && *position == i
        {
            return stores_last(if *first { yes } else { no }, rest, frames, stored);
        }
        let (mut loads, mut stores) = (false, false);
        each_stmt(std::slice::from_ref(stmt), &mut |stmt| {
            if let Some(from) = loaded(stmt) {
                loads |= !frames.contains(&from);
            } else if let Some(to) = stored_to(stmt) {
                stores |= !frames.contains(&to);
            }
        });
        let fits = !loads || !*stored && !stores;
        *stored |= stores;
        fits
    })
}

/// The buffer that a statement loads from.
fn loaded(stmt: &Stmt) -> Option<Var> {
    if let Stmt::Load(_, from) = stmt {
        Some(from.buffer)
    } else if let Stmt::LoadLanes { from, .. } = stmt {
        Some(from.buffer)
    } else {
        None
    }
}

/// The buffer that a statement stores to.
fn stored_to(stmt: &Stmt) -> Option<Var> {
    if let Stmt::Store(to, _) = stmt {
        Some(to.buffer)
    } else if let Stmt::StoreLanes { to, .. } = stmt {
        Some(to.buffer)
    } else {
        None
    }
}

fn reads_any(value: &Expr, vars: &FxHashSet<Var>) -> bool {
    let mut found = false;
    each_var(value, &mut |var, _| found |= vars.contains(&var));
    found
}

/// Returns true if a statement itself names one of the variables.
fn touches(stmt: &Stmt, vars: &FxHashSet<Var>) -> bool {
    let mut found = false;
    each_use(stmt, &mut |var, _| found |= vars.contains(&var));
    found
}

/// The variables that differ between iterations, if all take the path.
fn varying(f: &For, path: &[(usize, bool)], frames: FxHashSet<Var>) -> FxHashSet<Var> {
    let mut varying = frames;
    varying.insert(f.var);
    loop {
        let before = varying.len();
        spread(&f.body, Some(path), false, &mut varying);
        if varying.len() == before {
            return varying;
        }
    }
}

/// Adds what statements set that depends on varying variables; everything if they are `controlled` by one.
fn spread(list: &[Stmt], path: Option<&[(usize, bool)]>, controlled: bool, varying: &mut FxHashSet<Var>) {
    let taken = path.and_then(<[_]>::split_first);
    for (i, stmt) in list.iter().enumerate() {
        if let (Stmt::If(_, yes, no), Some(((position, first), rest))) = (stmt, taken)
            && *position == i
        {
            spread(if *first { yes } else { no }, Some(rest), controlled, varying);
            continue;
        }
        let depends = controlled || touches_read(stmt, varying);
        if depends {
            each_use(stmt, &mut |var, used| {
                if used == Use::Sets {
                    varying.insert(var);
                }
            });
        }
        for block in stmt.blocks() {
            spread(block, None, depends, varying);
        }
    }
}

fn touches_read(stmt: &Stmt, vars: &FxHashSet<Var>) -> bool {
    let mut found = false;
    each_use(stmt, &mut |var, used| found |= used == Use::Reads && vars.contains(&var));
    found
}

/// The code of a group of iterations.
struct Group<'p> {
    plan: &'p Plan,
    /// The names of what all iterations share.
    shared: FxHashMap<Var, Var>,
    /// The names of each iteration's own variables.
    each: Vec<FxHashMap<Var, Var>>,
    vars: GroupVars,
}

struct GroupVars {
    groups: Var,
    group: Var,
    first: Var,
    all: Var,
}

impl<'p> Group<'p> {
    fn new(copies: &mut LoopCopies, plan: &'p Plan, factor: i64) -> Self {
        let mut own: Vec<Var> = plan.own.iter().copied().collect();
        own.sort_unstable_by_key(|var| var.index());
        let (mut shared, mut each) = (FxHashMap::default(), vec![FxHashMap::default(); factor as usize]);
        for var in own {
            let info: VarInfo = copies.vars[var.index()].clone();
            if plan.varying.contains(&var) {
                for names in &mut each {
                    names.insert(var, copies.add(info.clone()));
                }
            } else {
                shared.insert(var, copies.add(info));
            }
        }
        let vars = GroupVars {
            groups: copies.scalar(PrimType::I64, "groups"),
            group: copies.scalar(PrimType::I64, "group"),
            first: copies.scalar(PrimType::I64, "first"),
            all: copies.scalar(PrimType::Bool, "all"),
        };
        Self { plan, shared, each, vars }
    }

    /// The loop over groups.
    fn stmts(&self, f: &For) -> Vec<Stmt> {
        let factor = self.each.len() as i64;
        let GroupVars { groups, group, first, all } = self.vars;
        let (from, to) = (f.from.clone(), f.to.clone());
        let mut body = vec![Stmt::Set(first, from.clone() + group * factor)];
        for (r, names) in self.each.iter().enumerate() {
            let row = names.get(&f.var).copied().unwrap_or(f.var);
            body.push(Stmt::Set(row, first + r as i64));
        }
        body.push(Stmt::Set(all, expr!(first + (factor - 1) < to.clone())));
        self.conditions(&f.body, &mut body);
        let mut jammed = Vec::new();
        self.list(&f.body, &self.plan.path, &mut jammed);
        let single = For {
            mode: LoopMode::Seq { independent: true },
            var: f.var,
            from: first.into(),
            to: min(first + factor, to.clone()),
            body: f.body.clone(),
        };
        body.push(Stmt::If(all.into(), jammed, vec![Stmt::For(single)]));
        vec![
            Stmt::Set(groups, (max(to - from, 0) + (factor - 1)) / factor),
            Stmt::For(For {
                mode: LoopMode::Seq { independent: true },
                var: group,
                from: Expr::i64(0),
                to: groups.into(),
                body,
            }),
        ]
    }

    /// Sets `all` to the condition that all iterations take the path.
    fn conditions(&self, body: &[Stmt], out: &mut Vec<Stmt>) {
        let all = self.vars.all;
        let mut list = body;
        for (position, is_first) in &self.plan.path {
            let (before, rest) = list.split_at(*position);
            for stmt in before {
                if let Stmt::Set(var, _) = stmt
                    && self.plan.early.contains(var)
                {
                    self.stmt(stmt, out);
                }
            }
            let Some(Stmt::If(cond, yes, no)) = rest.first() else {
                return;
            };
            for names in &self.each {
                let mut cond = cond.clone();
                self.rename_expr(&mut cond, names);
                let taken = if *is_first { cond } else { Expr::unary(UnOp::Not, PrimType::Bool, cond) };
                out.push(Stmt::Set(all, expr!(all && taken)));
            }
            list = if *is_first { yes } else { no };
        }
    }

    /// Jams a list, of which only the path is taken; what conditions depend on is known.
    fn list(&self, list: &[Stmt], path: &[(usize, bool)], out: &mut Vec<Stmt>) {
        let taken = path.split_first();
        for (i, stmt) in list.iter().enumerate() {
            match (stmt, taken) {
                (Stmt::If(_, yes, no), Some(((position, first), rest))) if *position == i => {
                    self.list(if *first { yes } else { no }, rest, out);
                }
                (Stmt::For(f), _) if self.plan.is_jammed_loop(f) => {
                    let mut body = Vec::new();
                    ir::walk::with_stack(|| self.list(&f.body, &[], &mut body));
                    let mut copy = For { mode: f.mode.clone(), body, ..f.clone() };
                    copy.var = self.shared.get(&f.var).copied().unwrap_or(f.var);
                    self.rename_expr(&mut copy.from, &self.shared);
                    self.rename_expr(&mut copy.to, &self.shared);
                    out.push(Stmt::For(copy));
                }
                (Stmt::If(cond, yes, no), _) if !reads_any(cond, &self.plan.varying) => {
                    let (mut cond, mut arms) = (cond.clone(), [Vec::new(), Vec::new()]);
                    self.rename_expr(&mut cond, &self.shared);
                    ir::walk::with_stack(|| {
                        self.list(yes, &[], &mut arms[0]);
                        self.list(no, &[], &mut arms[1]);
                    });
                    let [yes, no] = arms;
                    out.push(Stmt::If(cond, yes, no));
                }
                (Stmt::Set(var, _), _) if self.plan.early.contains(var) => {}
                _ => self.stmt(stmt, out),
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
            each_var_mut(&mut copy, &mut |var| self.rename(var, names));
            out.extend(copy);
        }
    }

    fn rename(&self, var: &mut Var, names: &FxHashMap<Var, Var>) {
        if let Some(new) = names.get(var).or_else(|| self.shared.get(var)) {
            *var = *new;
        }
    }

    fn rename_expr(&self, value: &mut Expr, names: &FxHashMap<Var, Var>) {
        each_expr_var_mut(value, &mut |var| self.rename(var, names));
    }
}
