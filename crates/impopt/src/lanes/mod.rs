//! The vectoriser: loops in vector lanes, single program, multiple data.
//!
//! It runs after the imperative IR is generated, before machine code. An independent loop may run
//! several iterations at once, one in each lane of vectors. For each nest of such loops this pass
//! chooses the loop to vectorise, if any ([`choose`]), and emits vector code for it ([`emit`],
//! [`body`]):
//!
//! ```text
//! for i in lo .. hi independent {        for group in 0 .. (hi - lo) / 8 {
//!   x: f64 = xs[f64: i]                    i: i64 = lo + group * 8
//!   if flt.f64(x, 0.0f64) {        =>      x: 8 x f64 = xs[f64: unit i]
//!     x = fneg.f64(x)                      holds: 8 x bool = flt.f64(x, splat.8(0.0f64))
//!   }                                      x = select.f64(holds, fneg.f64(x), x)
//!   ys[f64: i] = x                         ys[f64: unit i] = x
//! }                                      }
//!                                        <the same under a mask for the remainder>
//! ```
//!
//! Divergent conditionals and loops run under masks, with a branch around code that no lane is
//! active in. Arrays that belong to one iteration are interleaved by lane. Every lane computes
//! exactly what the iteration does, so results have the same bits at any width and without vectors.
//!
//! | module | contents |
//! |---|---|
//! | [`expand`], [`sink`] | preparation: copies of small arrays become loops, stores are sunk below conditionals |
//! | [`rewrite`] | the traversal and replacement of statements for both |
//! | [`legality`] | legality |
//! | [`value`], [`divergence`] | analysis of uniform, affine and varying values |
//! | [`indices`] | 32-bit indices, which are affine though their arithmetic wraps |
//! | [`branch_probability`], [`critical_path`] | conditions that nearly always hold; the loop-carried critical path |
//! | [`cost`], [`choose`] | the cost model, the choice of loops and widths |
//! | [`positions`], [`strides`] | lane positions of accesses, accesses along rows |
//! | [`index_sets`] | loops whose indices jump once |
//! | [`interiors`] | loops whose indices are bounded at the borders of arrays |
//! | [`short_rows`] | loops over rows that may have few elements |
//! | [`delinearise`] | delinearisation of loops over pairs of indices |
//! | [`trip_bounds`] | trip-count bounds: loops that do nothing from some index on |
//! | [`versions`] | loop versioning: by row length, and by trip count |
//! | [`emit`], [`body`] | vector code |
//! | [`reduction`] | integer reductions that LLVM vectorises |
//!
//! Needs: a verified program. Guarantees: a program that `verify` accepts, without loops marked as
//! running in lanes.

mod body;
mod branch_probability;
mod choose;
mod cost;
mod critical_path;
mod delinearise;
mod divergence;
mod emit;
mod expand;
mod index_sets;
mod indices;
mod interiors;
mod legality;
mod positions;
mod reduction;
mod rewrite;
mod short_rows;
mod sink;
pub(crate) mod strides;
mod trip_bounds;
mod value;
mod versions;

use crate::loops::ReplaceLoops;
use imp::captures;
use imp::def_use::DefUse;
use imp::{For, Function, Launch, Program, Stmt, Var, VarInfo, VarType};
use ir::{Context, VectorLanes};
use rustc_hash::FxHashMap;
use target::Machine;

/// Vectorises loops where that pays, each for one unit of fuel.
pub fn vectorise(mut program: Program, context: &mut Context) -> Program {
    if context.options.lanes != VectorLanes::Off {
        program.functions = context.over(program.functions, |mut function, own| {
            vectorise_function(&mut function, own);
            function
        });
    }
    program
}

fn vectorise_function(function: &mut Function, context: &mut Context) {
    if context.fuel.is_exhausted() {
        return;
    }
    expand::expand(function);
    sink::sink(function);
    let def_use = DefUse::new(function);
    let def_use = index_sets::split(function, def_use, &mut context.fuel);
    let mut def_use = interiors::split(function, def_use, &mut context.fuel);
    let mut flat = delinearise::find(function, &def_use);
    flat.retain(|_, _| context.fuel.take());
    if !flat.is_empty() {
        versions::make_versions(function, &def_use, &flat);
        def_use = DefUse::new(function);
    }
    if trip_bounds::bound_trips(function, &def_use, &mut context.fuel) {
        def_use = DefUse::new(function);
    }
    let mut rows = short_rows::find(function, &def_use, context.options.machine);
    rows.retain(|_, _| context.fuel.take());
    if !rows.is_empty() {
        versions::make_versions(function, &def_use, &rows);
        def_use = DefUse::new(function);
    }
    let mut plan = choose::plan(function, &def_use, context);
    plan.loop_versions.retain(|_, _| context.fuel.take());
    if !plan.loop_versions.is_empty() {
        versions::make_versions(function, &def_use, &plan.loop_versions);
        def_use = DefUse::new(function);
        plan = choose::plan(function, &def_use, context);
    }
    let widths = plan.widths(function, context);
    if !widths.is_empty() {
        rewrite(function, &def_use, &widths, context.options.machine);
    }
    captures::fill(function);
}

/// A function whose loops are being replaced.
struct Rewrite<'p> {
    machine: Machine,
    vars: Vec<VarInfo>,
    def_use: &'p DefUse,
    widths: &'p FxHashMap<u32, u32>,
    /// Variables that now hold vectors, with their lanes.
    vectors: Vec<(Var, u32)>,
    /// New variables of the innermost frame.
    fresh: Vec<Var>,
}

fn rewrite(function: &mut Function, def_use: &DefUse, widths: &FxHashMap<u32, u32>, machine: Machine) {
    let mut rewrite = Rewrite {
        machine,
        vars: std::mem::take(&mut function.vars),
        def_use,
        widths,
        vectors: Vec::new(),
        fresh: Vec::new(),
    };
    let body = std::mem::take(&mut function.body);
    function.body = rewrite.block(body, DefUse::FIRST);
    for (var, lanes) in rewrite.vectors {
        if let Some(info) = rewrite.vars.get_mut(var.index())
            && let VarType::Scalar(ty) = info.ty
        {
            info.ty = VarType::Vector(ty, lanes);
        }
    }
    function.vars = rewrite.vars;
}

impl ReplaceLoops for Rewrite<'_> {
    type Mark = usize;

    fn def_use(&self) -> &DefUse {
        self.def_use
    }

    fn replace(&mut self, f: For, at: u32, out: &mut Vec<Stmt>) -> Option<For> {
        let Some(lanes) = self.widths.get(&at) else {
            return Some(f);
        };
        self.in_lanes(&f, at, *lanes, out);
        None
    }

    fn mark(&self) -> usize {
        self.fresh.len()
    }

    fn leave(&mut self, mark: usize, launch: &mut Launch) {
        launch.locals.extend(self.fresh.drain(mark..));
    }
}

impl Rewrite<'_> {
    /// Replaces a loop by vector code.
    fn in_lanes(&mut self, f: &For, at: u32, lanes: u32, out: &mut Vec<Stmt>) {
        let shapes = legality::analyse(&self.vars, self.def_use, f, at).and_then(|mut shapes| {
            divergence::analyse(&mut shapes, self.def_use, f, at)?;
            Ok(shapes)
        });
        let Ok(mut shapes) = shapes else {
            // It was legal when it was planned.
            out.push(Stmt::For(f.clone()));
            return;
        };
        shapes.lanes = lanes;
        let (stmts, fresh) = emit::vector_loop(&shapes, self.def_use, f, at, self.machine);
        let varying = shapes.varying();
        self.vectors.extend(varying.into_iter().map(|var| (var, lanes)));
        let first = self.vars.len();
        self.vars.extend(fresh);
        let fresh = first..self.vars.len();
        self.fresh.extend(fresh.map(Var::new));
        out.extend(stmts);
    }
}
