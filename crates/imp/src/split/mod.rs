//! Outlining: splits very large functions.
//!
//! A back end's passes take more than linear time in the size of a function, and its stack in the
//! depth of its nesting. Hand-written programs stay far below the size where this matters;
//! generated ones have a thousand nested branches. Of a function that is too large, regions of
//! bounded size (runs of statements of one list) become functions of their own, innermost first,
//! and are replaced by calls:
//!
//! ```text
//! c = ...                          c = ...
//! if c { r = 1 } else {            if c { r = 1 } else {
//!   (a thousand branches)    =>      (r) = f part 1 (x, y)
//! }                                }
//! ```
//!
//! Variables that a region reads before it sets them are parameters; variables that it sets and
//! other code reads are results. A region is not outlined where a call cannot replace it: where it sets a
//! borrowed buffer that is used outside, or releases a block that it does not own. A variable that
//! a region sets on some paths only is passed through, and initialised to 0 at the start of its
//! frame (the function, or a task loop).
//!
//! Needs: a verified program; runs last, so that no other pass sees the outlined functions.
//! Guarantees: a verified program with the same results. Outlined functions check the stack, since
//! thousands of them may be active.

mod flow;

use crate::captures;
use crate::def_use::DefUse;
use crate::rename::each_var_mut;
use crate::syntax::{
    Arg, CodePlacement, Expr, For, FunId, Function, LoopMode, Program, Stmt, Var, VarInfo, VarType,
};
use crate::walk::{each_stmt_mut, each_use};
use flow::LiveInOut;
use ir::Context;
use prim::Scalar;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The size limits, by weight.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Functions above this weight are split.
    pub function: u64,
    /// Task loops above this weight are split; the limit is higher as calls cost time there.
    pub tasks: u64,
    /// The approximate weight of an outlined function; at most that of a conditional with two
    /// branches of this weight. Runs of less than an eighth are not worth a call.
    pub outline: u64,
}

impl Default for Sizes {
    /// LLVM takes 1.6 times as long for functions of 8,000 as for functions of 2,000 (`bench/run.py
    /// generated`, `library`).
    fn default() -> Self {
        Self { function: 5000, tasks: 16_000, outline: 2000 }
    }
}

/// The largest number of parameters and results of an outlined function.
const MOST_VALUES: usize = 256;

/// The weight of a conditional: basic blocks cost a back end more than operations.
const BRANCH: u64 = 6;
/// The weight of a loop: loop passes visit it.
const LOOP: u64 = 64;
/// The weight of a task loop, whose body is a function of its own.
const TASKS: u64 = 50;

/// Splits the functions that are too large, each for one unit of fuel.
pub fn split(mut program: Program, sizes: Sizes, context: &mut Context) -> Program {
    let first = program.functions.len();
    let done = context.over(program.functions, |mut function, own| {
        let mut parts = Vec::new();
        if heavy(&function.body, sizes) && own.fuel.take() {
            split_function(&mut function, sizes, first, &mut parts);
        }
        (function, parts)
    });
    program.functions = Vec::with_capacity(first);
    let mut all = Vec::new();
    for (mut function, mut parts) in done {
        // The outlined functions of each function are numbered as if they were the only ones.
        let before = all.len() as u32;
        if before > 0 && !parts.is_empty() {
            for function in std::iter::once(&mut function).chain(&mut parts) {
                each_stmt_mut(&mut function.body, &mut |stmt| {
                    if let Stmt::Call { fun, .. } = stmt
                        && fun.0 as usize >= first
                    {
                        fun.0 += before;
                    }
                });
            }
        }
        program.functions.push(function);
        all.append(&mut parts);
    }
    program.functions.append(&mut all);
    program.functions.iter_mut().for_each(captures::fill);
    program
}

/// Returns true if any frame of a function may be too large.
fn heavy(body: &[Stmt], sizes: Sizes) -> bool {
    let mut weight = 0;
    crate::walk::each_stmt(body, &mut |stmt| weight += own_weight(stmt));
    weight > sizes.function.min(sizes.tasks)
}

fn split_function(function: &mut Function, sizes: Sizes, first: usize, parts: &mut Vec<Function>) {
    let def_use = DefUse::new(function);
    let body = std::mem::take(&mut function.body);
    let mut split = Split {
        vars: &function.vars,
        def_use: &def_use,
        name: &function.name,
        first,
        parts,
        made: 0,
        sizes,
        frame: Frame::new(&body, &function.owned, sizes.function),
    };
    let (body, _) = split.block(body, DefUse::FIRST);
    let frame = split.frame;
    function.body = frame.started(body, &function.vars);
    function.owned.retain(|var| !frame.moved.contains(var));
}

/// The weight of one statement without its nested ones.
fn own_weight(stmt: &Stmt) -> u64 {
    let mut weight = match stmt {
        Stmt::If(..) => BRANCH,
        Stmt::While(..) => LOOP,
        Stmt::For(For { mode: how, .. }) => match how {
            LoopMode::Tasks(_) | LoopMode::Grid(_) | LoopMode::Threads(_) => TASKS,
            LoopMode::Seq { .. } | LoopMode::Scheduled | LoopMode::Lanes(_) => LOOP,
        },
        crate::leaf_stmt!() => 1,
    };
    each_use(stmt, &mut |_, _| weight += 1);
    weight
}

/// The weight of all statements of a frame, except those in its task loops and kernels.
fn frame_weight(stmts: &[Stmt]) -> u64 {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        stmts
            .iter()
            .map(|stmt| {
                own_weight(stmt)
                    + match stmt {
                        Stmt::If(_, yes, no) => frame_weight(yes) + frame_weight(no),
                        Stmt::For(For { mode: LoopMode::Tasks(_) | LoopMode::Grid(_), .. }) => 0,
                        Stmt::While(_, body) | Stmt::For(For { body, .. }) => frame_weight(body),
                        crate::leaf_stmt!() => 0,
                    }
            })
            .sum()
    })
}

/// A function, or a task loop.
#[derive(Default)]
struct Frame {
    /// True if it is too large.
    large: bool,
    owned: FxHashSet<Var>,
    /// Variables that now belong to outlined functions.
    moved: FxHashSet<Var>,
    /// Variables that must be 0 at the start.
    zero: BTreeSet<Var>,
}

/// The initial value of a variable at the start of its frame.
fn zero(ty: VarType) -> Option<Expr> {
    match ty {
        VarType::Scalar(ty) => Some(Expr::Const(Scalar::zero(ty))),
        VarType::Vector(ty, lanes) => {
            let zero = Expr::Const(Scalar::zero(ty));
            Some(Expr::Splat(lanes, Box::new(zero)))
        }
        VarType::Buffer(_) => None,
    }
}

impl Frame {
    fn new(body: &[Stmt], owned: &[Var], largest: u64) -> Self {
        Self {
            large: frame_weight(body) > largest,
            owned: owned.iter().copied().collect(),
            ..Self::default()
        }
    }

    /// The body after the initialisation of variables.
    fn started(&self, body: Vec<Stmt>, vars: &[VarInfo]) -> Vec<Stmt> {
        let start = self.zero.iter();
        let start = start.filter_map(|var| Some(Stmt::Set(*var, zero(vars.get(var.index())?.ty)?)));
        start.chain(body).collect()
    }
}

/// A statement with its numbers and its weight.
struct Item {
    stmt: Stmt,
    from: u32,
    to: u32,
    weight: u64,
}

struct Split<'f> {
    vars: &'f [VarInfo],
    def_use: &'f DefUse,
    name: &'f str,
    /// The number of the first outlined function in the program.
    first: usize,
    parts: &'f mut Vec<Function>,
    /// The number of functions outlined from this one.
    made: u32,
    sizes: Sizes,
    /// The innermost frame.
    frame: Frame,
}

impl Split<'_> {
    /// Outlines from a list; also returns its weight without what was outlined.
    fn block(&mut self, stmts: Vec<Stmt>, mut at: u32) -> (Vec<Stmt>, u64) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut items = Vec::with_capacity(stmts.len());
            let mut total = 0;
            for stmt in stmts {
                let to = self.def_use.end(at);
                let (stmt, weight) = self.stmt(stmt, at);
                total += weight;
                items.push(Item { stmt, from: at, to, weight });
                at = to;
            }
            if !self.frame.large || total <= self.sizes.outline {
                return (items.into_iter().map(|item| item.stmt).collect(), total);
            }
            let mut out = Vec::new();
            let mut left = 0;
            let mut run: Vec<Item> = Vec::new();
            let mut weight = 0;
            for item in items {
                if weight + item.weight > self.sizes.outline && !run.is_empty() {
                    left += self.outline_run(std::mem::take(&mut run), weight, &mut out);
                    weight = 0;
                }
                weight += item.weight;
                run.push(item);
            }
            left += self.outline_run(run, weight, &mut out);
            (out, left)
        })
    }

    fn stmt(&mut self, stmt: Stmt, at: u32) -> (Stmt, u64) {
        let own = own_weight(&stmt);
        match stmt {
            Stmt::If(cond, yes, no) => {
                let (yes, first) = self.block(yes, at + 1);
                let (no, second) = self.block(no, self.def_use.else_start(at));
                (Stmt::If(cond, yes, no), own + first + second)
            }
            Stmt::While(cond, body) => {
                let (body, weight) = self.block(body, at + 1);
                (Stmt::While(cond, body), own + weight)
            }
            Stmt::For(f) => match f.mode {
                LoopMode::Tasks(_) => (Stmt::For(self.tasks(f, at)), own),
                LoopMode::Seq { .. } => {
                    let (body, weight) = self.block(f.body, at + 1);
                    (Stmt::For(For { body, ..f }), own + weight)
                }
                // The device code is another program.
                LoopMode::Grid(_) | LoopMode::Threads(_) => (Stmt::For(f), own),
                // The order of their statements is scheduled.
                LoopMode::Scheduled | LoopMode::Lanes(_) => {
                    let weight = frame_weight(&f.body);
                    (Stmt::For(f), own + weight)
                }
            },
            crate::leaf_stmt!() => (stmt, own),
        }
    }

    fn tasks(&mut self, mut f: For, at: u32) -> For {
        let LoopMode::Tasks(launch) = &mut f.mode else {
            return f;
        };
        let frame = Frame::new(&f.body, &launch.owned, self.sizes.tasks);
        let outer = std::mem::replace(&mut self.frame, frame);
        let (body, _) = self.block(f.body, at + 1);
        let frame = std::mem::replace(&mut self.frame, outer);
        f.body = frame.started(body, self.vars);
        for list in [&mut launch.owned, &mut launch.locals, &mut launch.distinct, &mut launch.scattered] {
            list.retain(|var| !frame.moved.contains(var));
        }
        f
    }

    /// Appends a run of statements to a list, as a call if it is worth one; returns the weight of
    /// what was appended.
    fn outline_run(&mut self, mut run: Vec<Item>, weight: u64, out: &mut Vec<Stmt>) -> u64 {
        let (Some(from), Some(to)) = (run.first().map(|i| i.from), run.last().map(|i| i.to)) else {
            return 0;
        };
        let mut behind = Vec::new();
        if 8 * weight >= self.sizes.outline {
            // Blocks that others own are released after the call.
            let def_use = self.def_use;
            let others = |stmt: &Stmt| {
                if let Stmt::Release(var) = stmt
                    && !def_use.is_local(*var, from, to)
                {
                    Some(*var)
                } else {
                    None
                }
            };
            behind.extend(run.iter().filter_map(|item| others(&item.stmt)));
            if let Some(interface) = self.interface(&run, from, to, &behind) {
                run.retain(|item| others(&item.stmt).is_none());
                let call = self.outlined(run, (from, to), interface);
                let weight = own_weight(&call) + 2 * behind.len() as u64;
                out.push(call);
                out.extend(behind.into_iter().map(Stmt::Release));
                return weight;
            }
        }
        out.extend(run.into_iter().map(|item| item.stmt));
        weight
    }

    /// The parameters and results of a run of statements as a function; none where it cannot be
    /// one.
    fn interface(&mut self, run: &[Item], from: u32, to: u32, behind: &[Var]) -> Option<Signature> {
        let local = |var: Var| self.def_use.is_local(var, from, to);
        let mut flow = LiveInOut::new(&local);
        for item in run {
            let of_others = matches!(&item.stmt, Stmt::Release(var) if !local(*var));
            if !of_others {
                flow.stmt(&item.stmt);
            }
        }
        let mut inputs = flow.live_in()?;
        let mut zero = Vec::new();
        for &var in flow.live_out() {
            let certain = flow.is_certain(var);
            if self.vars.get(var.index())?.ty.is_buffer() {
                let fits = certain
                    && self.frame.owned.contains(&var)
                    && !inputs.contains(&var)
                    && !behind.contains(&var);
                if !fits {
                    return None;
                }
            } else if !certain && !inputs.contains(&var) {
                inputs.push(var);
                zero.push(var);
            }
        }
        let outputs = flow.live_out().to_vec();
        if inputs.len() + outputs.len() > MOST_VALUES {
            return None;
        }
        // A parameter has a value from the start.
        zero.retain(|var| !self.def_use.is_param(*var));
        self.frame.zero.extend(zero);
        Some(Signature { inputs, outputs })
    }

    /// Makes a function of a run of statements; returns the call.
    fn outlined(&mut self, run: Vec<Item>, (from, to): (u32, u32), interface: Signature) -> Stmt {
        let Signature { inputs, outputs } = interface;
        let mut renaming = Renaming::new(self.vars);
        let params = inputs.iter().map(|var| renaming.var(*var)).collect();
        let results: Vec<Var> = outputs.iter().map(|var| renaming.var(*var)).collect();
        let outside: FxHashSet<Var> = inputs.iter().chain(&outputs).copied().collect();
        let mut body: Vec<Stmt> = run.into_iter().map(|item| item.stmt).collect();
        each_var_mut(&mut body, &mut |var| *var = renaming.var(*var));
        let mut owned: Vec<Var> = Vec::new();
        let mut start: Vec<Stmt> = Vec::new();
        for (new, &old) in renaming.old.iter().enumerate() {
            let new = Var(new as u32);
            if self.frame.owned.contains(&old) && !inputs.contains(&old) {
                owned.push(new);
            }
            if !outside.contains(&old) && self.def_use.is_local(old, from, to) {
                self.frame.moved.insert(old);
                // Its initialisation moves with it.
                if self.frame.zero.remove(&old) {
                    let value = zero(self.vars[old.index()].ty);
                    start.extend(value.map(|value| Stmt::Set(new, value)));
                }
            }
        }
        start.append(&mut body);
        self.made += 1;
        let fun = FunId((self.first + self.parts.len()) as u32);
        let args = inputs.iter().map(|var| match self.vars[var.index()].ty {
            VarType::Buffer(_) => Arg::Buffer(*var),
            VarType::Scalar(_) | VarType::Vector(..) => Arg::Scalar(Expr::Var(*var)),
        });
        let call = Stmt::Call { fun, args: args.collect(), results: outputs, location: None };
        self.parts.push(Function {
            name: Arc::from(format!("{} part {}", self.name, self.made)),
            params,
            results,
            owned,
            vars: renaming.into_vars(),
            body: start,
            code: CodePlacement::NoInline,
            recursive: true,
        });
        call
    }
}

/// The parameters and results of an outlined function.
struct Signature {
    inputs: Vec<Var>,
    outputs: Vec<Var>,
}

/// The new variables of an outlined function, numbered in order of appearance.
struct Renaming<'f> {
    from: &'f [VarInfo],
    new: FxHashMap<Var, Var>,
    /// The old variables, by the numbers of the new ones.
    old: Vec<Var>,
}

impl<'f> Renaming<'f> {
    fn new(from: &'f [VarInfo]) -> Self {
        Self { from, new: FxHashMap::default(), old: Vec::new() }
    }

    fn into_vars(self) -> Vec<VarInfo> {
        let info = |var: &Var| self.from[var.index()].clone();
        self.old.iter().map(info).collect()
    }

    /// The new variable for an old one.
    fn var(&mut self, var: Var) -> Var {
        *self.new.entry(var).or_insert_with(|| {
            self.old.push(var);
            Var(self.old.len() as u32 - 1)
        })
    }
}
