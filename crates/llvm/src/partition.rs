//! Partitions a program into modules ("parts"), which are compiled in parallel.
//!
//! Before: a program. After: for each function and each outermost task loop, the part that its code
//! goes to. Units are assigned in program order until a part is full, so neighbouring code mostly
//! stays together. The plan depends on the program alone: any number of threads makes the same
//! bytes.
//!
//! A function that is always inlined (`Code::Inline`) has no part: each part that calls it emits
//! its own copy; the same holds for functions with `Code::Each`. A symbol that one part defines and
//! another refers to is external.

use crate::function::VarFacts;
use crate::stack_use;
use imp::kernels::kernels;
use imp::walk::{each_stmt, each_use};
use imp::{CodePlacement, For, Function, Launch, LoopMode, Program, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// Weight of a part. LLVM takes some hundred milliseconds for this much code.
const MODULE_WEIGHT: usize = 6_000;
/// A program of less weight is compiled as one part.
const SINGLE_MODULE_WEIGHT: usize = 1_200;
/// Constant data of more bytes is emitted in one part only.
const DUPLICATED_DATA_BYTES: usize = 1024;

/// The assignment of code to parts.
pub struct Partition {
    pub count: usize,
    /// The part of each function; `None` for functions that are inlined.
    functions: Vec<Option<usize>>,
    /// The parts of task loops that are compiled in other parts than their functions, by launch.
    tasks: FxHashMap<Key, usize>,
    /// Functions that other parts call.
    called_across: FxHashSet<usize>,
    /// The kernels' numbers, by launch.
    kernels: FxHashMap<Key, i64>,
    /// Bytes of stack that the frame arrays of each function use.
    frames: Vec<u64>,
    /// Facts on the variables of each function.
    facts: Vec<OnceLock<VarFacts>>,
}

impl Partition {
    /// The plan for a verified program.
    pub fn new(program: &Program) -> Self {
        let units: Vec<Weights> = program.functions.iter().map(weights).collect();
        let total: usize = units
            .iter()
            .map(|unit| unit.host + unit.tasks.iter().map(|(_, weight)| weight).sum::<usize>())
            .sum();
        let count = match total {
            ..SINGLE_MODULE_WEIGHT => 1,
            // At least two, so that two workers have something to compile.
            _ => total.div_ceil(MODULE_WEIGHT).max(2),
        };
        let mut plan = Self {
            count,
            functions: Vec::with_capacity(units.len()),
            tasks: FxHashMap::default(),
            called_across: FxHashSet::default(),
            kernels: (kernels(program).iter().zip(0..))
                .map(|(kernel, number)| (key(kernel.launch), number))
                .collect(),
            frames: stack_use::stack_bytes(program),
            facts: program.functions.iter().map(|_| OnceLock::new()).collect(),
        };
        let mut filled = 0;
        // The part that contains the middle of the next unit.
        let mut assign = |weight: usize| {
            let middle = filled + weight / 2;
            filled += weight;
            (middle * count / total.max(1)).min(count - 1)
        };
        for (function, unit) in program.functions.iter().zip(&units) {
            let home = assign(unit.host);
            plan.functions.push(has_own_module(function).then_some(home));
            for (launch, weight) in &unit.tasks {
                let part = assign(*weight);
                if part != home && has_own_module(function) {
                    plan.tasks.insert(launch.clone(), part);
                }
            }
        }
        plan.remove_empty_modules();
        plan.record_cross_module_calls(program);
        plan
    }

    /// Removes the parts without code and numbers the others again: large units fill several parts.
    /// The first part remains, it has the program's description.
    fn remove_empty_modules(&mut self) {
        let assigned = self.functions.iter().flatten().chain(self.tasks.values()).copied();
        let used: BTreeSet<usize> = assigned.chain([0]).collect();
        let numbers: FxHashMap<usize, usize> = used.iter().copied().zip(0..).collect();
        for part in self.functions.iter_mut().flatten().chain(self.tasks.values_mut()) {
            *part = numbers.get(part).copied().unwrap_or_default();
        }
        self.count = used.len();
    }

    /// Records the functions that are called across parts.
    fn record_cross_module_calls(&mut self, program: &Program) {
        if self.count == 1 {
            return;
        }
        for (at, function) in program.functions.iter().enumerate() {
            let home = self.functions.get(at).copied().flatten();
            each_stmt_with_module(&function.body, home, &self.tasks, &mut |stmt, part| {
                if let Stmt::Call { fun, .. } = stmt {
                    let callee = fun.index();
                    let own = self.functions.get(callee).copied().flatten();
                    // Inlined code can be in any part.
                    if part.is_none() || own != part {
                        self.called_across.insert(callee);
                    }
                }
            });
        }
        // The first part contains the code that initialises the globals.
        self.called_across.extend(program.init.map(imp::FunId::index));
    }

    /// Bytes of stack that the arrays of a function may use ([`frames`]).
    pub fn frames(&self, function: usize) -> u64 {
        self.frames.get(function).copied().unwrap_or(0)
    }

    /// Facts on the variables of the function of this id.
    pub fn facts(&self, id: usize, function: &Function) -> &VarFacts {
        self.facts[id].get_or_init(|| VarFacts::new(function))
    }

    /// The part of a function's own code; `None` if each part emits its own copy.
    pub fn module_of(&self, function: usize) -> Option<usize> {
        self.functions.get(function).copied().flatten()
    }

    /// Returns true if parts other than its own call a function.
    pub fn is_shared(&self, function: usize) -> bool {
        self.called_across.contains(&function)
    }

    /// The part of a task loop, if it differs from that of the enclosing function.
    pub fn task(&self, launch: &Launch) -> Option<usize> {
        self.tasks.get(&key(launch)).copied()
    }

    /// The number of a kernel.
    pub fn kernel(&self, launch: &Launch) -> Option<i64> {
        self.kernels.get(&key(launch)).copied()
    }

    /// Returns true if data of this many bytes is emitted in the first part alone.
    pub fn is_in_first_module(&self, bytes: usize) -> bool {
        self.count > 1 && bytes > DUPLICATED_DATA_BYTES
    }
}

/// Identifies a launch within the program.
type Key = (Arc<str>, u32);

fn key(launch: &Launch) -> Key {
    (launch.name.clone(), launch.id)
}

/// Returns true if a function's code is emitted in one part.
const fn has_own_module(function: &Function) -> bool {
    match function.code {
        CodePlacement::OneModule | CodePlacement::NoInline => true,
        CodePlacement::Inline | CodePlacement::EachModule => false,
    }
}

/// The weight of a function's own code and of each of its outermost task loops.
struct Weights {
    host: usize,
    tasks: Vec<(Key, usize)>,
}

fn weights(function: &Function) -> Weights {
    let mut unit = Weights { host: 0, tasks: Vec::new() };
    if function.code == CodePlacement::EachModule {
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
    unit.host += own.into_iter().map(stmt_weight).sum::<usize>();
    unit
}

/// The weight of statements, nested statements included.
fn weight(stmts: &[Stmt]) -> usize {
    let mut sum = 0;
    each_stmt(stmts, &mut |stmt| sum += stmt_weight(stmt));
    sum
}

/// The weight of a statement without its nested statements.
fn stmt_weight(stmt: &Stmt) -> usize {
    let mut sum = 1;
    each_use(stmt, &mut |_, _| sum += 1);
    sum
}

/// Calls `f` on statements outside of task loops, and on task loops with their launch and body.
fn outermost<'s>(stmts: &'s [Stmt], f: &mut dyn FnMut(&'s Stmt, Option<(&'s Launch, &'s [Stmt])>)) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        for stmt in stmts {
            if let Stmt::For(For { mode: LoopMode::Tasks(launch), body, .. }) = stmt {
                f(stmt, Some((launch, body)));
            } else {
                f(stmt, None);
                stmt.blocks().into_iter().for_each(|block| outermost(block, f));
            }
        }
    });
}

/// Calls `f` on every statement with the part that it is compiled in.
fn each_stmt_with_module<'s>(
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

/// The outermost task loops of a function that are compiled in `part`, which is not the function's
/// own, in program order.
pub fn outlined_tasks<'p>(function: &'p Function, plan: &Partition, module: usize) -> Vec<&'p For> {
    let mut found = Vec::new();
    outermost(&function.body, &mut |stmt, task| {
        if let (Stmt::For(f), Some((launch, _))) = (stmt, task)
            && plan.task(launch) == Some(module)
        {
            found.push(f);
        }
    });
    found
}
