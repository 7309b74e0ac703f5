//! Tiling: nests of independent loops around a fold, whose iterations share what they read.
//!
//! ```text
//! for i in .. independent {          for each block of columns, part of the fold {
//!   for j in .. independent {          pack the columns' values
//!     acc = 0                          for each block of rows {
//!     for k in .. {             =>       pack the rows' values
//!       acc += xs[i, k] * ys[k, j]       for each panel of columns, panel of rows {
//!     }                                    <kernel: a dozen rows, two vectors of columns>
//!     zs[i, j] = acc                     }
//!   }                                  }
//! }                                  }
//! ```
//!
//! In the original nest each element of `ys` is loaded for one product. A *register tile* computes
//! some rows for the lanes of some vectors: what it loads is used for all its rows or all its
//! columns, and its accumulators stay in registers. The fold is cut into parts so short that the
//! values of a panel of columns stay in the first-level cache, and rows into blocks whose values
//! stay in the second-level cache. Values are *packed*: stored in the order in which the kernel
//! reads them, so that strides, pages and alignment of arrays cost nothing, and what they are
//! computed from is computed once per block. At the edges, values of the last row or column are
//! repeated, and the kernel stores no results for them. Between parts of the fold, the carried
//! values are in a block in memory.
//!
//! Each iteration folds in the same order as before, so results are bit-identical.
//!
//! | module | contents |
//! |---|---|
//! | [`nest`] | recognition and legality |
//! | [`strips`] | iterations with several nests, a strip of them at a time |
//! | [`fission`] | loops that combine the results of folds |
//! | [`reuse`] | what is shared by rows and by columns; the shape of the register tile |
//! | [`sizes`] | tuning parameters |
//! | [`tile`], [`pack`], [`lines`], [`kernel`] | the code |
//! | [`emit`] | new variables, renamed copies |
//!
//! Needs: a verified program; runs before vectorisation, which vectorises the kernels' columns.
//! Guarantees: a verified program with the same results. Sizes choose at run time between the tiled
//! nest and the original one.

mod emit;
mod fission;
mod kernel;
mod lines;
mod nest;
mod pack;
mod reuse;
mod sizes;
mod strips;
mod tile;

use crate::loops::ReplaceLoops;
use emit::Emit;
use imp::build::{Operand, max, min, product};
use imp::captures;
use imp::def_use::DefUse;
use imp::rename::{each_leaf_mut, own_exprs_mut};
use imp::walk::each_stmt_mut;
use imp::{Expr, For, Function, Launch, Program, Stmt, Tunable, TunableId, Var, VarInfo, bind, expr};
use ir::name::FunName;
use ir::remark::RemarkKind;
use ir::{Context, VectorLanes};
use nest::{Counted, Nest};
use reuse::Plan;
use sizes::{Made, TileSizes};
use std::sync::Arc;
use target::Machine;
use target::chunks::MIN_COLUMNS;

/// The smallest numbers of rows, and of iterations of the fold, that are tiled.
const MIN_ROWS: i64 = 4;
const MIN_DEPTH: i64 = 4;
/// The same in strips, whose values between nests are stored and loaded: rows of up to four elements are
/// [specialised](crate::lanes) in the original loop.
const MIN_DEPTH_IN_STRIPS: i64 = 5;
/// Sizes beyond this do not change the choice.
const LARGE: i64 = 1 << 20;

/// Tiles nests, each for one unit of fuel.
pub fn tile(mut program: Program, context: &mut Context) -> Program {
    if context.options.lanes == VectorLanes::Auto {
        let first = program.tunables.len();
        let tiled = context.over(program.functions, |mut function, own| {
            let made = tile_function(&mut function, own, first);
            (function, made)
        });
        program.functions = tiled
            .into_iter()
            .map(|(mut function, mut made)| {
                let before = program.tunables.len() - first;
                if before > 0 && !made.is_empty() {
                    renumber(&mut function, first, before);
                }
                program.tunables.append(&mut made);
                function
            })
            .collect();
    }
    program
}

/// Adds to the numbers of the parameters from `first` on, which the pass has made.
fn renumber(function: &mut Function, first: usize, before: usize) {
    let moved = |id: &mut TunableId| {
        if id.index() >= first {
            *id = TunableId::new(id.index() + before);
        }
    };
    each_stmt_mut(&mut function.body, &mut |stmt| {
        if let Stmt::RecordComparison(id, _) = stmt {
            moved(id);
        }
        own_exprs_mut(stmt, &mut |expr| {
            each_leaf_mut(expr, &mut |leaf| {
                if let Expr::Tunable(id) = leaf {
                    moved(id);
                }
            });
        });
    });
}

/// Tiles the nests of a function. Returns the parameters, which are numbered from `first` on.
fn tile_function(function: &mut Function, context: &mut Context, first: usize) -> Vec<Tunable> {
    if context.fuel.is_exhausted() {
        return Vec::new();
    }
    let mut made = Made::none(first);
    let def_use = DefUse::new(function);
    let mut rewrite = Rewrite {
        machine: context.options.machine,
        vars: std::mem::take(&mut function.vars),
        def_use,
        context,
        name: FunName(Arc::clone(&function.name)),
        strip_of: None,
        distinct: vec![function.distinct.clone()],
        made: &mut made,
        locals: Vec::new(),
        owned: Vec::new(),
        tiled: false,
        conditions: Vec::new(),
    };
    let body = std::mem::take(&mut function.body);
    let body = rewrite.block(body, DefUse::FIRST);
    let Rewrite { vars, owned, tiled, .. } = rewrite;
    (function.vars, function.body) = (vars, body);
    function.owned.extend(owned);
    if tiled {
        captures::fill(function);
    }
    made.tunables
}

struct Rewrite<'c> {
    machine: Machine,
    vars: Vec<VarInfo>,
    def_use: DefUse,
    context: &'c mut Context,
    name: FunName,
    /// The counter of the loop whose strips are being tiled, for remarks.
    strip_of: Option<Arc<str>>,
    /// The buffers of each frame, outermost first, whose block no other buffer of the frame denotes.
    distinct: Vec<Vec<Var>>,
    made: &'c mut Made,
    /// New variables of the innermost frame, and new owned buffers.
    locals: Vec<Var>,
    owned: Vec<Var>,
    tiled: bool,
    /// In a strip: that the nests are large enough, whatever the strip.
    conditions: Vec<Expr>,
}

impl ReplaceLoops for Rewrite<'_> {
    /// The numbers of local and of owned variables.
    type Mark = (usize, usize);

    fn def_use(&self) -> &DefUse {
        &self.def_use
    }

    fn replace(&mut self, f: For, at: u32, out: &mut Vec<Stmt>) -> Option<For> {
        let Some(stmts) = self.tiled_nest(&f, at).or_else(|| self.in_strips(&f, at)) else {
            return Some(f);
        };
        out.extend(stmts);
        None
    }

    fn mark(&self) -> (usize, usize) {
        (self.locals.len(), self.owned.len())
    }

    fn enter(&mut self, launch: &Launch) {
        self.distinct.push(launch.distinct.clone());
    }

    fn leave(&mut self, (locals, owned): (usize, usize), launch: &mut Launch) {
        self.distinct.pop();
        launch.locals.extend(self.locals.drain(locals..));
        launch.owned.extend(self.owned.drain(owned..));
    }
}

impl Rewrite<'_> {
    /// The tiled nest and the original one, if the nest can be tiled.
    fn tiled_nest(&mut self, f: &For, at: u32) -> Option<Vec<Stmt>> {
        let nest = Nest::of(f, at, &self.vars, &self.def_use)?;
        let plan = Plan::of(&nest, &self.vars, self.machine)?;
        if !self.context.fuel.take() {
            return None;
        }
        self.tiled = true;
        let counter = self.strip_of.clone().unwrap_or_else(|| counter_name(&self.vars, f));
        let kind = RemarkKind::Tiled { counter, rows: plan.height, columns: plan.lanes };
        self.context.remark(&self.name.0, Vec::new(), kind);
        let sizes = TileSizes::make(self.made, &self.name, &plan);
        let mut vars = std::mem::take(&mut self.vars);
        let mut g = Emit::new(&mut vars);
        if self.strip_of.is_some() {
            self.conditions.extend(conditions_in_strip(&plan));
        }
        let min_depth = if self.strip_of.is_some() { MIN_DEPTH_IN_STRIPS } else { MIN_DEPTH };
        let is_large = is_large(&mut g, &plan, sizes, min_depth);
        g.open();
        tile::tiled(&mut g, &plan, sizes);
        let tiled = g.close();
        g.emit(Stmt::If(is_large, tiled, vec![Stmt::For(f.clone())]));
        let (stmts, locals, owned) = g.finish();
        self.vars = vars;
        self.locals.extend(locals);
        self.owned.extend(owned);
        Some(stmts)
    }
}

impl Rewrite<'_> {
    /// A loop in strips with tiled nests, and the original one. There are no strips in strips.
    fn in_strips(&mut self, f: &For, at: u32) -> Option<Vec<Stmt>> {
        if self.strip_of.is_some() || !strips::is_candidate(f, at, &self.vars, &self.def_use) {
            return None;
        }
        let (counter, known) = (counter_name(&self.vars, f), self.vars.len());
        let mut vars = std::mem::take(&mut self.vars);
        let distinct = self.distinct.last().map_or(&[][..], Vec::as_slice);
        let mut g = Emit::new(&mut vars);
        let Some((fits, stmts)) = strips::strips(&mut g, f, at, (&self.def_use, distinct)) else {
            vars.truncate(known);
            self.vars = vars;
            return None;
        };
        let (mut before, mut locals, mut owned) = g.finish();
        let def_use = DefUse::of_stmts(&stmts, vars.len());
        let mut rewrite = Rewrite {
            machine: self.machine,
            vars,
            def_use,
            context: self.context,
            name: self.name.clone(),
            strip_of: Some(counter),
            distinct: Vec::new(),
            made: self.made,
            locals: Vec::new(),
            owned: Vec::new(),
            tiled: false,
            conditions: Vec::new(),
        };
        let body = rewrite.block(stmts, DefUse::FIRST);
        self.vars = rewrite.vars;
        if !rewrite.tiled {
            self.vars.truncate(known);
            return None;
        }
        locals.append(&mut rewrite.locals);
        owned.append(&mut rewrite.owned);
        self.tiled = true;
        self.locals.extend(locals);
        self.owned.extend(owned);
        let fits = rewrite.conditions.into_iter().fold(fits, |fits, condition| expr!(fits && condition));
        before.push(Stmt::If(fits, body, vec![Stmt::For(f.clone())]));
        Some(before)
    }
}

/// The name of a loop's counter in remarks.
fn counter_name(vars: &[VarInfo], f: &For) -> Arc<str> {
    format!("{}_{}", vars[f.var.index()].hint, f.var.0).into()
}

/// The conditions on the sizes of a nest in a strip, whose outermost loop is the strip's.
fn conditions_in_strip(plan: &Plan<'_>) -> [Expr; 2] {
    let trips = |head: &Counted| max(head.to.clone() - head.from.clone(), 0);
    let inner = if plan.rows.var == plan.nest.loops[0].var { plan.columns } else { plan.rows };
    let depth = plan.nest.fold.levels().map(|level| min(trips(&level.head), LARGE));
    let depth = depth.reduce(|x, y| min(x * y, LARGE)).unwrap_or(Expr::i64(1));
    [expr!(MIN_COLUMNS <= trips(inner)), expr!(MIN_DEPTH_IN_STRIPS <= depth)]
}

/// Returns true if tiles pay off.
fn is_large(g: &mut Emit<'_>, plan: &Plan<'_>, sizes: TileSizes, min_depth: i64) -> Expr {
    let mut trips = |head: &Counted| -> Operand {
        bind!(trips = g(max(head.to.clone() - head.from.clone(), 0)));
        trips
    };
    let (rows, columns) = (trips(plan.rows), trips(plan.columns));
    let fold: Vec<Operand> = plan.nest.fold.levels().map(|level| trips(&level.head)).collect();
    let bounded = |trips: Operand| min(trips, LARGE);
    bind!(depth = g(fold.into_iter().map(bounded).reduce(|x, y| min(x * y, LARGE)).unwrap_or(Expr::i64(1))));
    let all = product([bounded(rows), bounded(columns), min(depth, LARGE)]);
    bind!(all = g(all));
    sizes::record(g, sizes.work, all);
    let least = Expr::Tunable(sizes.work);
    expr!(MIN_ROWS <= rows && MIN_COLUMNS <= columns && min_depth <= depth && least <= all)
}
