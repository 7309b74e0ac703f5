//! Equal regions: loops and bodies of task loops that are equal become calls of one function.

use super::canonical::{canonical, list_shape, nested_shape, number_checks, own_shape};
use super::sites;
use crate::outline::{Frame, Outlined, Outliner};
use crate::weight::own_weight;
use imp::captures;
use imp::def_use::DefUse;
use imp::{CheckId, Expr, For, FunId, Function, Launch, LoopMode, Program, Stmt, VarInfo};
use ir::Context;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Bodies of task loops of less weight are not worth a call.
const LEAST_BODY: u64 = 100;
/// Other loops of less weight are not worth a call: some run often and have few iterations.
const LEAST_LOOP: u64 = 400;

/// The frame around a region.
#[derive(Clone, Copy)]
enum Around<'p> {
    Function(&'p Function),
    Launch(&'p Launch),
}

/// A region that may become a function.
struct Candidate<'p> {
    /// The position of the function around it.
    function: usize,
    /// The number of the loop.
    at: u32,
    /// The loop, or its body if it is a task loop.
    stmts: &'p [Stmt],
    /// True if the region is the body.
    is_body: bool,
    around: Around<'p>,
    weight: u64,
}

/// The regions of a function that become calls, by the loop's number.
type Replacements = FxHashMap<u32, (Outlined, FunId)>;

/// Merges equal regions; returns true if there are any.
pub(super) fn merge(program: &mut Program, context: &mut Context) -> bool {
    let first = program.functions.len();
    let def_uses: Vec<DefUse> = program.functions.iter().map(DefUse::new).collect();
    let (replacements, made) = select(&program.functions, &def_uses, context);
    for ((function, def_use), replacements) in program.functions.iter_mut().zip(&def_uses).zip(replacements) {
        if replacements.is_empty() {
            continue;
        }
        let body = std::mem::take(&mut function.body);
        let frame = Frame::of_function(function);
        let mut rewrite = Rewrite { vars: &function.vars, def_use, replacements, frame };
        let body = rewrite.block(body, DefUse::FIRST);
        let frame = rewrite.frame;
        function.body = frame.started(body, &function.vars);
        frame.trim_function(function);
        captures::fill(function);
    }
    program.functions.extend(made);
    program.functions.len() > first
}

/// The replacements of each function, and the new functions.
fn select(
    functions: &[Function],
    def_uses: &[DefUse],
    context: &mut Context,
) -> (Vec<Replacements>, Vec<Function>) {
    let mut groups: FxHashMap<(u64, u64), Vec<Candidate<'_>>> = FxHashMap::default();
    for (at, function) in functions.iter().enumerate() {
        let mut find = Find { function: at, next: DefUse::FIRST, found: Vec::new() };
        find.block(&function.body, Around::Function(function));
        for (shape, candidate) in find.found {
            groups.entry((candidate.weight, shape)).or_default().push(candidate);
        }
    }
    let mut groups: Vec<Vec<Candidate<'_>>> = groups.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_by_key(|group| {
        let position = group.first().map(|candidate| (candidate.function, candidate.at));
        (std::cmp::Reverse(group.first().map(|candidate| candidate.weight)), position)
    });
    let mut replacements: Vec<Replacements> = functions.iter().map(|_| Replacements::default()).collect();
    let mut made: Vec<Function> = Vec::new();
    let mut covered: Vec<Covered> = functions.iter().map(|_| Covered::default()).collect();
    for mut group in groups {
        group.retain(|candidate| !covered[candidate.function].contains(candidate.at));
        if group.len() < 2 {
            continue;
        }
        for class in classes(&group, functions, def_uses).into_iter().flat_map(Class::by_gain) {
            if class.members.len() < 2 || !context.fuel.take() {
                continue;
            }
            let fun = FunId::new(functions.len() + made.len());
            let (first, outlined) = &class.members[0];
            let (mut merged, sites) = sites::unify(outlined.function.clone(), &class.checks);
            merged.name = Arc::from(format!("{} merged {}", functions[first.function].name, made.len() + 1));
            made.push(merged);
            for ((candidate, mut outlined), site) in class.members.into_iter().zip(sites) {
                let function = candidate.function;
                if let Some(site) = site {
                    outlined.add_argument(Expr::i64(site));
                }
                covered[function].add((candidate.at, def_uses[function].end(candidate.at)));
                replacements[function].insert(candidate.at, (outlined, fun));
            }
        }
    }
    (replacements, made)
}

/// The statements of a function that are in regions, as ranges of numbers that do not overlap.
#[derive(Default)]
struct Covered(std::collections::BTreeMap<u32, u32>);

impl Covered {
    fn add(&mut self, (from, to): (u32, u32)) {
        self.0.insert(from, to);
    }

    fn contains(&self, at: u32) -> bool {
        self.0.range(..=at).next_back().is_some_and(|(_, to)| at < *to)
    }
}

/// Candidates whose functions are equal up to the names of variables and the identities of checks.
struct Class<'c, 'p> {
    members: Vec<(&'c Candidate<'p>, Outlined)>,
    /// The checks of each member's function.
    checks: Vec<Vec<CheckId>>,
}

impl Class<'_, '_> {
    /// The class, or if the selection of checks would cost more than half of what merging saves, one
    /// for each list of checks.
    fn by_gain(self) -> Vec<Self> {
        let weight = self.members.first().map_or(0, |(candidate, _)| candidate.weight);
        let saved = weight * self.members.len().saturating_sub(1) as u64;
        if 2 * sites::cost(&self.members[0].1.function, &self.checks) <= saved {
            return vec![self];
        }
        let mut parts: Vec<Self> = Vec::new();
        for (member, checks) in self.members.into_iter().zip(self.checks) {
            if let Some(part) = parts.iter_mut().find(|part| part.checks[0] == checks) {
                part.members.push(member);
                part.checks.push(checks);
            } else {
                parts.push(Class { members: vec![member], checks: vec![checks] });
            }
        }
        parts
    }
}

/// The candidates that can be outlined, in classes.
fn classes<'c, 'p>(
    group: &'c [Candidate<'p>],
    functions: &[Function],
    def_uses: &[DefUse],
) -> Vec<Class<'c, 'p>> {
    // Each class with its function in canonical form.
    let mut classes: Vec<(Function, Class<'_, '_>)> = Vec::new();
    for candidate in group {
        let (around, def_use) = (&functions[candidate.function], &def_uses[candidate.function]);
        let frame = match candidate.around {
            Around::Function(function) => Frame::of_function(function),
            Around::Launch(launch) => Frame::of_launch(launch),
        };
        let from = candidate.at + u32::from(candidate.is_body);
        let span = (from, def_use.end(candidate.at));
        let outliner = Outliner { vars: &around.vars, def_use };
        let Some(signature) = outliner.signature(candidate.stmts, span, &[], &frame) else {
            continue;
        };
        let mut outlined = outliner.function(candidate.stmts.to_vec(), span, signature, &frame);
        outlined.function.recursive = around.recursive;
        let mut canonical = canonical(outlined.function.clone(), &|fun| fun);
        let checks = number_checks(&mut canonical);
        match classes.iter_mut().find(|(known, _)| *known == canonical) {
            Some((_, class)) => {
                class.members.push((candidate, outlined));
                class.checks.push(checks);
            }
            None => {
                let class = Class { members: vec![(candidate, outlined)], checks: vec![checks] };
                classes.push((canonical, class));
            }
        }
    }
    classes.into_iter().map(|(_, class)| class).collect()
}

/// Finds the candidates of a function.
struct Find<'p> {
    function: usize,
    /// The number of the next statement.
    next: u32,
    /// Candidates with their shapes.
    found: Vec<(u64, Candidate<'p>)>,
}

/// The properties of a list.
#[derive(Clone, Copy, Default)]
struct Summary {
    shape: u64,
    weight: u64,
    /// True if there is a task loop or a kernel in it.
    has_launch: bool,
}

impl<'p> Find<'p> {
    fn block(&mut self, stmts: &'p [Stmt], around: Around<'p>) -> Summary {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut summary = Summary::default();
            let mut shapes = Vec::with_capacity(stmts.len());
            for stmt in stmts {
                let one = self.stmt(stmt, around);
                summary.weight += one.weight;
                summary.has_launch |= one.has_launch;
                shapes.push(one.shape);
            }
            summary.shape = list_shape(shapes);
            summary
        })
    }

    fn stmt(&mut self, stmt: &'p Stmt, around: Around<'p>) -> Summary {
        let at = self.next;
        self.next += 1;
        let (own, weight) = (own_shape(stmt), own_weight(stmt));
        let launch = Summary { has_launch: true, ..Summary::default() };
        match stmt {
            Stmt::If(_, yes, no) => {
                let (yes, no) = (self.block(yes, around), self.block(no, around));
                Summary {
                    shape: nested_shape(own, yes.shape, no.shape),
                    weight: weight + yes.weight + no.weight,
                    has_launch: yes.has_launch || no.has_launch,
                }
            }
            Stmt::For(For { mode: LoopMode::Tasks(tasks), body, .. }) => {
                let around = Around::Launch(tasks);
                let summary = self.block(body, around);
                if summary.weight >= LEAST_BODY && !summary.has_launch {
                    self.push(at, (body, true), around, summary);
                }
                launch
            }
            // The device code is another program.
            Stmt::For(For { mode: LoopMode::Grid(_) | LoopMode::Threads(_), body, .. }) => {
                imp::walk::each_stmt(body, &mut |_| self.next += 1);
                launch
            }
            Stmt::While(_, body) | Stmt::For(For { body, .. }) => {
                let body = self.block(body, around);
                let shape = nested_shape(own, body.shape, 0);
                let whole = Summary { shape, weight: weight + body.weight, ..body };
                if whole.weight >= LEAST_LOOP && !whole.has_launch {
                    self.push(at, (std::slice::from_ref(stmt), false), around, whole);
                }
                whole
            }
            imp::leaf_stmt!() => Summary { shape: own, weight, has_launch: false },
        }
    }

    fn push(
        &mut self,
        at: u32,
        (stmts, is_body): (&'p [Stmt], bool),
        around: Around<'p>,
        Summary { shape, weight, .. }: Summary,
    ) {
        let function = self.function;
        self.found.push((shape, Candidate { function, at, stmts, is_body, around, weight }));
    }
}

/// Replaces the regions of a function by calls.
struct Rewrite<'f> {
    vars: &'f [VarInfo],
    def_use: &'f DefUse,
    replacements: Replacements,
    /// The innermost frame.
    frame: Frame,
}

impl Rewrite<'_> {
    /// The call for the region of the loop with this number, if it is one.
    fn call(&mut self, at: u32) -> Option<Stmt> {
        let (outlined, fun) = self.replacements.remove(&at)?;
        self.frame.record(&outlined);
        Some(outlined.call(fun))
    }

    fn block(&mut self, stmts: Vec<Stmt>, mut at: u32) -> Vec<Stmt> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut out = Vec::with_capacity(stmts.len());
            for stmt in stmts {
                let next = self.def_use.end(at);
                out.push(self.stmt(stmt, at));
                at = next;
            }
            out
        })
    }

    fn stmt(&mut self, stmt: Stmt, at: u32) -> Stmt {
        match stmt {
            Stmt::If(cond, yes, no) => {
                let yes = self.block(yes, at + 1);
                Stmt::If(cond, yes, self.block(no, self.def_use.else_start(at)))
            }
            Stmt::For(For { mode: LoopMode::Tasks(mut launch), var, from, to, body }) => {
                let outer = std::mem::replace(&mut self.frame, Frame::of_launch(&launch));
                let body = match self.call(at) {
                    Some(call) => vec![call],
                    None => self.block(body, at + 1),
                };
                let frame = std::mem::replace(&mut self.frame, outer);
                let body = frame.started(body, self.vars);
                frame.trim_launch(&mut launch);
                Stmt::For(For { mode: LoopMode::Tasks(launch), var, from, to, body })
            }
            Stmt::For(For { mode: LoopMode::Grid(_) | LoopMode::Threads(_), .. }) => stmt,
            Stmt::While(cond, body) => match self.call(at) {
                Some(call) => call,
                None => Stmt::While(cond, self.block(body, at + 1)),
            },
            Stmt::For(f) => match self.call(at) {
                Some(call) => call,
                None => Stmt::For(For { body: self.block(f.body, at + 1), ..f }),
            },
            imp::leaf_stmt!() => stmt,
        }
    }
}
