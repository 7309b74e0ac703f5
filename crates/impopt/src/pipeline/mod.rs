//! Software pipelining: overlapping iterations of long loops.
//!
//! A processor has some 150 vector operations in flight, in the order of the code. Where an
//! iteration has more than that and most of them wait for one another, its units are idle: the next
//! iteration, which could proceed meanwhile, is outside of the window. Here the first part A of the
//! next iteration is interleaved with the second part B of this one, in an order in which operands
//! are ready when they are needed (Lam 1988, with two stages):
//!
//! ```text
//! for i in lo .. hi {        if lo < hi {
//!   A(i)                =>     A(lo)
//!   B(i)                       for i in lo .. hi scheduled {
//! }                              A'(min(i + 1, hi - 1)) among B(i)
//!                                the values of A used in B := those of A'
//!                              }
//!                            }
//! ```
//!
//! The last iteration computes its own A once more, and the result is unused. Every operation gets
//! the same operands as before: results have the same bits.
//!
//! | module | contents |
//! |---|---|
//! | [`cost`] | latencies and throughput of statements |
//! | [`graph`] | the dependence graph of straight-line code |
//! | [`cut`] | the choice of A |
//! | [`order`] | list scheduling |
//!
//! Needs: a verified program, after [`lanes`](crate::lanes). Guarantees: a verified program with
//! the same results.

mod copy;
pub(crate) mod cost;
mod cut;
mod graph;
mod order;

use crate::divider;
use copy::Renamed;
use cut::Cut;
use graph::DependenceGraph;
use imp::captures;
use imp::def_use::DefUse;
use imp::walk::each_stmt;
use imp::{Expr, For, LoopMode, Program, Stmt, Var, VarInfo, VarType};
use ir::{Context, Fuel, VectorLanes};
use prim::{BinOp, CmpOp, Scalar};
use rustc_hash::FxHashSet;
use std::rc::Rc;
use target::Machine;

/// The least number of statements of a body.
const LEAST_STATEMENTS: usize = 32;
/// The largest number of statements of a body: scheduling takes quadratic time.
const MAX_STATEMENTS: usize = 1000;
/// The largest trip count of a loop that is unrolled.
const MAX_UNROLLED: i64 = 4;
/// The deepest nesting of unrolled loops.
const MOST_NESTED: u32 = 8;

/// Pipelines the loops of a program where the estimate promises a gain, each for one unit of fuel.
/// Also splits the roots of loops bound by the divider between divider and multipliers, as loops
/// have their final form now.
pub fn pipeline(mut program: Program, context: &mut Context) -> Program {
    let machine = context.options.machine;
    if context.options.lanes == VectorLanes::Off {
        return program;
    }
    program.functions = context.over(program.functions, |mut function, own| {
        let def_use = DefUse::new(&function);
        let shared = shared(&function.body);
        let body = std::mem::take(&mut function.body);
        let mut pass = Pipeline {
            vars: &mut function.vars,
            def_use: &def_use,
            machine,
            shared: &shared,
            disjoint: Rc::default(),
            fresh: Vec::new(),
            fuel: &mut own.fuel,
        };
        function.body = pass.block(body, DefUse::FIRST);
        divider::split_roots(&mut function, machine, &mut own.fuel);
        captures::fill(&mut function);
        function
    });
    program
}

struct Pipeline<'f> {
    vars: &'f mut Vec<VarInfo>,
    def_use: &'f DefUse,
    machine: Machine,
    /// Buffers whose blocks other variables may denote too.
    shared: &'f FxHashSet<Var>,
    /// Buffers in scope whose block no other buffer denotes.
    disjoint: Rc<FxHashSet<Var>>,
    /// New variables of the innermost task or of the function.
    fresh: Vec<Var>,
    fuel: &'f mut Fuel,
}

impl Pipeline<'_> {
    fn block(&mut self, stmts: Vec<Stmt>, mut at: u32) -> Vec<Stmt> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut out = Vec::with_capacity(stmts.len());
            for stmt in stmts {
                out.push(self.stmt(stmt, at));
                at = self.def_use.end(at);
            }
            out
        })
    }

    fn stmt(&mut self, stmt: Stmt, at: u32) -> Stmt {
        if let Stmt::Frame { buffer, .. } = &stmt
            && !self.shared.contains(buffer)
        {
            Rc::make_mut(&mut self.disjoint).insert(*buffer);
        }
        match stmt {
            Stmt::If(cond, yes, no) => {
                let yes = self.block(yes, at + 1);
                let no = self.block(no, self.def_use.else_start(at));
                Stmt::If(cond, yes, no)
            }
            Stmt::While(cond, body) => Stmt::While(cond, self.block(body, at + 1)),
            Stmt::For(f) if f.mode.is_kernel() => Stmt::For(f),
            Stmt::For(f) => match self.overlapped(&f, at) {
                Some(stmt) => stmt,
                None => Stmt::For(self.for_loop(f, at)),
            },
            imp::leaf_stmt!() => stmt,
        }
    }

    fn for_loop(&mut self, mut f: For, at: u32) -> For {
        let before = self.fresh.len();
        let added: Vec<Var> = match &f.mode {
            LoopMode::Tasks(launch) => launch.distinct.clone(),
            LoopMode::Seq { .. }
            | LoopMode::Scheduled
            | LoopMode::Lanes(_)
            | LoopMode::Grid(_)
            | LoopMode::Threads(_) => Vec::new(),
        };
        let added: Vec<Var> =
            added.into_iter().filter(|var| Rc::make_mut(&mut self.disjoint).insert(*var)).collect();
        f.body = self.block(f.body, at + 1);
        for var in added {
            Rc::make_mut(&mut self.disjoint).remove(&var);
        }
        if let LoopMode::Tasks(launch) = &mut f.mode {
            launch.locals.extend(self.fresh.drain(before..));
        }
        f
    }

    /// The loop with overlapping iterations, if that is possible and promises a gain.
    fn overlapped(&mut self, f: &For, at: u32) -> Option<Stmt> {
        let (vars, fresh) = (self.vars.len(), self.fresh.len());
        let stmt = self.try_overlap(f, at).filter(|_| self.fuel.take());
        if stmt.is_none() {
            self.vars.truncate(vars);
            self.fresh.truncate(fresh);
        }
        stmt
    }

    fn try_overlap(&mut self, f: &For, at: u32) -> Option<Stmt> {
        if !matches!(f.mode, LoopMode::Seq { .. }) {
            return None;
        }
        let mut body = Vec::new();
        unroll(&f.body, MOST_NESTED, &mut body)?;
        if !(LEAST_STATEMENTS..=MAX_STATEMENTS).contains(&body.len()) {
            return None;
        }
        let vector = |stmt: &Stmt| {
            if let Stmt::Set(var, _) | Stmt::LoadLanes { var, .. } = stmt {
                matches!(self.vars[var.index()].ty, VarType::Vector(..))
            } else {
                false
            }
        };
        if !body.iter().any(vector) {
            return None;
        }
        let known = self.vars.len();
        let body = copy::set_once(&body, |var| {
            let info = self.vars[var.index()].clone();
            self.fresh_var(info)
        });
        let graph = DependenceGraph::new(self.vars, &body, self.machine, &self.disjoint)?;
        // New variables are local to this loop; the bounds are outside of it.
        let def_use = self.def_use;
        let inside = (at + 1, def_use.end(at));
        let cut =
            cut::choose(&graph, |var| var.index() >= known || def_use.is_local(var, inside.0, inside.1))?;
        self.rotated(f, &body, &graph, &cut)
    }

    /// The loop over these statements, rotated at a cut.
    fn rotated(&mut self, f: &For, body: &[Stmt], graph: &DependenceGraph, cut: &Cut) -> Option<Stmt> {
        let VarType::Scalar(counter_type) = self.vars.get(f.var.index())?.ty else {
            return None;
        };
        let fresh_counter = |pass: &mut Self| {
            let info = pass.vars[f.var.index()].clone();
            pass.fresh_var(info)
        };
        let (last, next) = (fresh_counter(self), fresh_counter(self));
        let one = Expr::Const(Scalar::int(counter_type, 1));
        let binary = |op, x, y| Expr::binary(op, counter_type, x, y);

        // A for the first iteration, with its own variables.
        let early = || body.iter().zip(&cut.early).filter(|(_, early)| **early);
        let mut first = Renamed::default();
        first.insert(f.var, next);
        let mut start = vec![
            Stmt::Set(last, binary(BinOp::Sub, f.to.clone(), one.clone())),
            Stmt::Set(next, f.from.clone()),
        ];
        start.extend(early().map(|(stmt, _)| copy::renamed(stmt, &first, &first)));

        // A for the next iteration, with new variables.
        let mut renamed = Renamed::default();
        renamed.insert(f.var, next);
        for (node, _) in graph.nodes.iter().zip(&cut.early).filter(|(_, early)| **early) {
            if let Some(var) = node.sets {
                let info = self.vars[var.index()].clone();
                let new = self.fresh_var(info);
                renamed.insert(var, new);
            }
        }
        let after = binary(BinOp::Add, Expr::Var(f.var), one);
        let mut merged = vec![Stmt::Set(next, binary(BinOp::SMin, after, Expr::Var(last)))];
        merged.extend(early().map(|(stmt, _)| copy::renamed(stmt, &renamed, &renamed)));
        let late = body.iter().zip(&cut.early).filter(|(_, early)| !**early);
        merged.extend(late.map(|(stmt, _)| stmt.clone()));
        let order = order::schedule(&DependenceGraph::new(self.vars, &merged, self.machine, &self.disjoint)?);
        let mut merged: Vec<Option<Stmt>> = merged.into_iter().map(Some).collect();
        let mut inside: Vec<Stmt> = order.into_iter().filter_map(|at| merged.get_mut(at)?.take()).collect();
        for var in &cut.crossing {
            let new = renamed.get(var).copied().unwrap_or(*var);
            inside.push(Stmt::Set(*var, Expr::Var(new)));
        }
        start.push(Stmt::For(For {
            mode: LoopMode::Scheduled,
            var: f.var,
            from: f.from.clone(),
            to: f.to.clone(),
            body: inside,
        }));
        let runs = Expr::compare(CmpOp::SLt, counter_type, f.from.clone(), f.to.clone());
        Some(Stmt::If(runs, start, Vec::new()))
    }

    fn fresh_var(&mut self, info: VarInfo) -> Var {
        let var = Var::new(self.vars.len());
        self.vars.push(info);
        self.fresh.push(var);
        var
    }
}

/// The buffers from which other variables that denote the same block are made.
fn shared(body: &[Stmt]) -> FxHashSet<Var> {
    let mut shared = FxHashSet::default();
    each_stmt(body, &mut |stmt| {
        if let Stmt::Borrow(_, of) | Stmt::Share(_, of) = stmt {
            shared.insert(*of);
        }
    });
    shared
}

/// The statements of a body without control flow, with loops of few iterations unrolled, at most
/// `depth` levels deep; `None` for other bodies.
fn unroll(stmts: &[Stmt], depth: u32, out: &mut Vec<Stmt>) -> Option<()> {
    for stmt in stmts {
        match stmt {
            imp::element_stmt!() => out.push(stmt.clone()),
            Stmt::For(For {
                mode: LoopMode::Seq { .. },
                var,
                from: Expr::Const(from),
                to: Expr::Const(to),
                body,
            }) => {
                let depth = depth.checked_sub(1)?;
                let (first, end) = (from.as_i64()?, to.as_i64()?);
                if end.checked_sub(first)? > MAX_UNROLLED {
                    return None;
                }
                for at in first..end {
                    out.push(Stmt::Set(*var, Expr::Const(Scalar::int(from.ty(), at))));
                    unroll(body, depth, out)?;
                    if out.len() > MAX_STATEMENTS {
                        return None;
                    }
                }
            }
            imp::leaf_stmt!() | imp::nested_stmt!() => return None,
        }
    }
    Some(())
}
