//! How a program falls apart into modules, which are compiled side by side.
//!
//! Before: a program. After: for each function and each outermost loop of tasks
//! the part that its code goes to. Units are taken in the order of the program
//! until a part is full, so what stands together mostly stays together. The plan
//! depends on the program alone: any number of threads makes the same bytes.
//!
//! A function that the back end shall inline has no part: each part that calls
//! it makes its own, and so it is with those that say so. What one part defines and another names is an external symbol.

use crate::frames;
use imp::kernels::kernels;
use imp::walk::{each_stmt, names};
use imp::{Code, For, Function, How, Launch, Program, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Weight of a part. LLVM takes some hundred milliseconds for this much.
const PART: usize = 6_000;
/// A program of less than this is not worth a second part.
const ALONE: usize = 1_200;
/// Constant data of more bytes than this lies in one part only.
const SMALL_DATA: usize = 1024;

/// Which part has what.
pub struct Plan {
    /// How many parts there are.
    pub count: usize,
    /// The part of each function; nothing for what is inlined.
    functions: Vec<Option<usize>>,
    /// The parts of loops of tasks that are elsewhere than their functions, by launch.
    tasks: FxHashMap<Key, usize>,
    /// Functions that other parts call than their own.
    shared: FxHashSet<usize>,
    /// The numbers of kernels, by launch.
    kernels: FxHashMap<Key, i64>,
    /// Bytes of stack for the arrays of each function.
    frames: Vec<u64>,
}

impl Plan {
    /// The plan for a verified program.
    pub fn new(program: &Program) -> Self {
        let units: Vec<Unit> = program.functions.iter().map(units).collect();
        let total: usize = units
            .iter()
            .map(|unit| unit.host + unit.tasks.iter().map(|(_, weight)| weight).sum::<usize>())
            .sum();
        let count = match total {
            ..ALONE => 1,
            // Two workers at least have something to do.
            _ => total.div_ceil(PART).max(2),
        };
        let mut plan = Self {
            count,
            functions: Vec::with_capacity(units.len()),
            tasks: FxHashMap::default(),
            shared: FxHashSet::default(),
            kernels: (kernels(program).iter().zip(0..))
                .map(|(kernel, number)| (key(kernel.launch), number))
                .collect(),
            frames: frames::needs(program),
        };
        let mut filled = 0;
        // The part in which the middle of the next unit lies.
        let mut place = |weight: usize| {
            let middle = filled + weight / 2;
            filled += weight;
            (middle * count / total.max(1)).min(count - 1)
        };
        for (function, unit) in program.functions.iter().zip(&units) {
            let home = place(unit.host);
            plan.functions.push(has_home(function).then_some(home));
            for (launch, weight) in &unit.tasks {
                let part = place(*weight);
                if part != home && has_home(function) {
                    plan.tasks.insert(launch.clone(), part);
                }
            }
        }
        plan.share(program);
        plan
    }

    /// Notes what is called across parts.
    fn share(&mut self, program: &Program) {
        if self.count == 1 {
            return;
        }
        for (at, function) in program.functions.iter().enumerate() {
            let home = self.functions.get(at).copied().flatten();
            each_unit(&function.body, home, &self.tasks, &mut |stmt, part| {
                if let Stmt::Call { fun, .. } = stmt {
                    let callee = fun.0 as usize;
                    let own = self.functions.get(callee).copied().flatten();
                    // Code that is inlined may be anywhere.
                    if part.is_none() || own != part {
                        self.shared.insert(callee);
                    }
                }
            });
        }
        // The first part has what fills the globals.
        self.shared.extend(program.init.map(|id| id.0 as usize));
    }

    /// Bytes of stack that the arrays of a function may take ([`frames`]).
    pub fn frames(&self, function: usize) -> u64 {
        self.frames.get(function).copied().unwrap_or(0)
    }

    /// The part of a function's own code; nothing if each part makes its own.
    pub fn home(&self, function: usize) -> Option<usize> {
        self.functions.get(function).copied().flatten()
    }

    /// Whether other parts than its own call a function.
    pub fn is_shared(&self, function: usize) -> bool {
        self.shared.contains(&function)
    }

    /// The part of a loop of tasks, if it is not that of the function around it.
    pub fn task(&self, launch: &Launch) -> Option<usize> {
        self.tasks.get(&key(launch)).copied()
    }

    /// The number of a kernel.
    pub fn kernel(&self, launch: &Launch) -> Option<i64> {
        self.kernels.get(&key(launch)).copied()
    }

    /// Whether data of so many bytes lies in the first part alone.
    pub fn has_one_place(&self, bytes: usize) -> bool {
        self.count > 1 && bytes > SMALL_DATA
    }
}

/// What tells a launch from all others.
type Key = (Arc<str>, u32);

fn key(launch: &Launch) -> Key {
    (launch.name.clone(), launch.id)
}

/// Whether a function's code lies in one part.
const fn has_home(function: &Function) -> bool {
    match function.code {
        Code::Once | Code::Apart => true,
        Code::Inline | Code::Each => false,
    }
}

/// The weight of a function's own code and of its outermost loops of tasks.
struct Unit {
    host: usize,
    tasks: Vec<(Key, usize)>,
}

fn units(function: &Function) -> Unit {
    let mut unit = Unit { host: 0, tasks: Vec::new() };
    if function.code == Code::Each {
        return unit;
    }
    unit.host = 1;
    let mut own = Vec::new();
    outermost(&function.body, &mut |stmt, task| match task {
        Some((launch, body)) => {
            unit.tasks.push((key(launch), weight(body)));
            own.push(stmt);
        }
        None => own.push(stmt),
    });
    unit.host += own.into_iter().map(single).sum::<usize>();
    unit
}

/// The weight of statements with all that is in them.
fn weight(stmts: &[Stmt]) -> usize {
    let mut sum = 0;
    each_stmt(stmts, &mut |stmt| sum += single(stmt));
    sum
}

/// The weight of a statement without what is in it.
fn single(stmt: &Stmt) -> usize {
    let mut sum = 1;
    names(stmt, &mut |_, _| sum += 1);
    sum
}

/// Calls `f` on statements outside of loops of tasks, and on such loops with
/// their launch and body.
fn outermost<'s>(stmts: &'s [Stmt], f: &mut dyn FnMut(&'s Stmt, Option<(&'s Launch, &'s [Stmt])>)) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        for stmt in stmts {
            match stmt {
                Stmt::For(For { how: How::Tasks(launch), body, .. }) => f(stmt, Some((launch, body))),
                Stmt::If(_, yes, no) => {
                    f(stmt, None);
                    outermost(yes, f);
                    outermost(no, f);
                }
                Stmt::While(_, body) | Stmt::For(For { body, .. }) => {
                    f(stmt, None);
                    outermost(body, f);
                }
                imp::leaf_stmt!() => f(stmt, None),
            }
        }
    });
}

/// Calls `f` on every statement with the part that it is in.
fn each_unit<'s>(
    body: &'s [Stmt],
    home: Option<usize>,
    tasks: &FxHashMap<Key, usize>,
    f: &mut dyn FnMut(&'s Stmt, Option<usize>),
) {
    outermost(body, &mut |stmt, task| {
        f(stmt, home);
        if let Some((launch, body)) = task {
            let part = tasks.get(&key(launch)).copied().or(home);
            each_stmt(body, &mut |stmt| f(stmt, part));
        }
    });
}

/// The outermost loops of tasks of a function that lie in a part which is not
/// the function's own, in order.
pub fn tasks_apart<'p>(function: &'p Function, plan: &Plan, part: usize) -> Vec<&'p For> {
    let mut found = Vec::new();
    outermost(&function.body, &mut |stmt, task| {
        if let (Stmt::For(f), Some((launch, _))) = (stmt, task)
            && plan.task(launch) == Some(part)
        {
            found.push(f);
        }
    });
    found
}
