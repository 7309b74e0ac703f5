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
//! [`outline`](crate::outline) makes the functions.
//!
//! Needs: a verified program; runs after the passes that optimise loops. Guarantees: a verified
//! program with the same results. Outlined functions check the stack, since thousands of them may be
//! active.

use crate::outline::{Frame, Outliner};
use crate::weight::{frame_weight, own_weight};
use imp::captures;
use imp::def_use::DefUse;
use imp::walk::each_stmt_mut;
use imp::{For, FunId, Function, LoopMode, Program, Stmt};
use ir::Context;
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

/// Splits the functions that are too large, each for one unit of fuel.
pub fn split(mut program: Program, sizes: Sizes, context: &mut Context) -> Program {
    let first = program.functions.len();
    let done = context.over(program.functions, |mut function, own| {
        let mut parts = Vec::new();
        if heavy(&function.body, sizes) && own.fuel.take() {
            split_function(&mut function, sizes, first, &mut parts);
            std::iter::once(&mut function).chain(&mut parts).for_each(captures::fill);
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
                        && fun.index() >= first
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
    program
}

/// Returns true if any frame of a function may be too large.
fn heavy(body: &[Stmt], sizes: Sizes) -> bool {
    let mut weight = 0;
    imp::walk::each_stmt(body, &mut |stmt| weight += own_weight(stmt));
    weight > sizes.function.min(sizes.tasks)
}

fn split_function(function: &mut Function, sizes: Sizes, first: usize, parts: &mut Vec<Function>) {
    let def_use = DefUse::new(function);
    let body = std::mem::take(&mut function.body);
    let mut split = Split {
        outliner: Outliner { vars: &function.vars, def_use: &def_use },
        name: &function.name,
        first,
        parts,
        made: 0,
        sizes,
        frame: Frame::of_function(function),
        large: frame_weight(&body) > sizes.function,
    };
    let (body, _) = split.block(body, DefUse::FIRST);
    let frame = split.frame;
    function.body = frame.started(body, &function.vars);
    frame.trim_function(function);
}

/// A statement with its numbers and its weight.
struct Item {
    stmt: Stmt,
    from: u32,
    to: u32,
    weight: u64,
}

struct Split<'f> {
    outliner: Outliner<'f>,
    name: &'f str,
    /// The number of the first outlined function in the program.
    first: usize,
    parts: &'f mut Vec<Function>,
    /// The number of functions outlined from this one.
    made: u32,
    sizes: Sizes,
    /// The innermost frame.
    frame: Frame,
    /// True if that frame is too large.
    large: bool,
}

impl Split<'_> {
    /// Outlines from a list; also returns its weight without what was outlined.
    fn block(&mut self, stmts: Vec<Stmt>, mut at: u32) -> (Vec<Stmt>, u64) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut items = Vec::with_capacity(stmts.len());
            let mut total = 0;
            for stmt in stmts {
                let to = self.outliner.def_use.end(at);
                let (stmt, weight) = self.stmt(stmt, at);
                total += weight;
                items.push(Item { stmt, from: at, to, weight });
                at = to;
            }
            if !self.large || total <= self.sizes.outline {
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
                let (no, second) = self.block(no, self.outliner.def_use.else_start(at));
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
            imp::leaf_stmt!() => (stmt, own),
        }
    }

    fn tasks(&mut self, mut f: For, at: u32) -> For {
        let LoopMode::Tasks(launch) = &mut f.mode else {
            return f;
        };
        let outer = std::mem::replace(&mut self.frame, Frame::of_launch(launch));
        let outer_large = std::mem::replace(&mut self.large, frame_weight(&f.body) > self.sizes.tasks);
        let (body, _) = self.block(f.body, at + 1);
        self.large = outer_large;
        let frame = std::mem::replace(&mut self.frame, outer);
        f.body = frame.started(body, self.outliner.vars);
        frame.trim_launch(launch);
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
            let def_use = self.outliner.def_use;
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
            let region = run.iter().map(|item| &item.stmt).filter(|stmt| others(stmt).is_none());
            if let Some(signature) = self.outliner.signature(region, (from, to), &behind, &self.frame) {
                run.retain(|item| others(&item.stmt).is_none());
                let region = run.into_iter().map(|item| item.stmt).collect();
                let mut outlined = self.outliner.function(region, (from, to), signature, &self.frame);
                self.frame.record(&outlined);
                self.made += 1;
                outlined.function.name = Arc::from(format!("{} part {}", self.name, self.made));
                let call = outlined.call(FunId::new(self.first + self.parts.len()));
                self.parts.push(outlined.function);
                let weight = own_weight(&call) + 2 * behind.len() as u64;
                out.push(call);
                out.extend(behind.into_iter().map(Stmt::Release));
                return weight;
            }
        }
        out.extend(run.into_iter().map(|item| item.stmt));
        weight
    }
}
