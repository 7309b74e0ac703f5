//! Pieces of very long code become functions.
//!
//! LLVM's time for a function grows faster than its length, and a function is
//! compiled by one thread. So where a list of statements is longer than a limit,
//! at any depth, its pieces become functions of their own:
//!
//! ```text
//! a = ..; b = f(a)     =>   b, c = main.1(a, xs)
//! c = b + xs[a]             return c + b
//! return c + b
//! ```
//!
//! What a piece reads is passed, what it sets and others name is a result.
//! Buffers that it only reads are borrowed; those that it allocates for others
//! come back owned; what it would give back, its caller gives back after the
//! call. A piece that sets a borrowed buffer for others, names an array in the
//! frame, or may leave a result unset stays where it is, or its halves become
//! functions.
//!
//! Needs: a verified program. Guarantees: a verified program that does the same;
//! the pieces depend on the program alone, and a program without long code stays
//! as it is.

mod flow;
mod rename;

use crate::syntax::{
    Arg, Expr, For, FunId, Function, How, Launch, Program, Stmt, Var, VarInfo, VarType,
};
use crate::walk::{each_stmt, names};
use flow::{Flow, Uses};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Names that a list of statements may have before it is cut.
pub const LIMIT: usize = 6_000;
/// Loops may be so many times as long: calls cost time there.
const LOOPS: usize = 4;
/// Pieces of fewer names than this part of the limit are not worth a function.
const LEAST: usize = 16;
/// Arguments and results at most.
const MOST_PASSED: usize = 300;

/// Cuts what is longer than the limit ([`LIMIT`], except in tests).
pub fn outline(program: Program, limit: usize) -> Program {
    let Program {
        source_name,
        functions,
        entries,
        checks,
        data,
        globals,
        init,
    } = program;
    let mut next = functions.len() as u32;
    let mut pieces = Vec::new();
    let mut functions: Vec<Function> = functions
        .into_iter()
        .map(|function| {
            if weight(&function.body) <= limit {
                return function;
            }
            Outline::new(&function, limit, &mut next, &mut pieces).run(function)
        })
        .collect();
    functions.append(&mut pieces);
    Program {
        source_name,
        functions,
        entries,
        checks,
        data,
        globals,
        init,
    }
}

/// How many variables statements name, and how many there are.
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

/// The cutting of one function.
struct Outline<'a> {
    name: Arc<str>,
    limit: usize,
    vars: Vec<VarInfo>,
    owned: FxHashSet<Var>,
    /// Buffers that denote arrays in the frame.
    framed: FxHashSet<Var>,
    /// How often each variable is named by now.
    total: Vec<u32>,
    /// The number of the next function.
    next: &'a mut u32,
    pieces: &'a mut Vec<Function>,
    made: u32,
}

/// How a piece and its surroundings share variables.
struct Interface {
    params: Vec<Var>,
    results: Vec<Var>,
    /// What the caller gives back after the call.
    released: Vec<Var>,
    /// Owned variables of the piece.
    owned: Vec<Var>,
}

impl<'a> Outline<'a> {
    fn new(
        function: &Function,
        limit: usize,
        next: &'a mut u32,
        pieces: &'a mut Vec<Function>,
    ) -> Self {
        let mut total = vec![0; function.vars.len()];
        let mut owned: FxHashSet<Var> = function.owned.iter().copied().collect();
        let mut framed = FxHashSet::default();
        let mut borrows: Vec<(Var, Var)> = Vec::new();
        each_stmt(&function.body, &mut |stmt| {
            names(stmt, &mut |var, _| total[var.index()] += 1);
            match stmt {
                Stmt::Frame { buffer, .. } => {
                    framed.insert(*buffer);
                }
                Stmt::Borrow(to, from) => borrows.push((*to, *from)),
                Stmt::For(For {
                    how: How::Tasks(launch),
                    ..
                }) => owned.extend(&launch.owned),
                _ => {}
            }
        });
        // Definitions come before uses, but for loops; twice is enough for these.
        for _ in 0..2 {
            for (to, from) in &borrows {
                if framed.contains(from) {
                    framed.insert(*to);
                }
            }
        }
        for var in function.params.iter().chain(&function.results) {
            total[var.index()] += 1;
        }
        Self {
            name: Arc::clone(&function.name),
            limit,
            vars: function.vars.clone(),
            owned,
            framed,
            total,
            next,
            pieces,
            made: 0,
        }
    }

    fn run(mut self, function: Function) -> Function {
        let body = self.block(function.body, self.limit).0;
        let total = &self.total;
        let named = |var: &Var| total[var.index()] > 0;
        Function {
            owned: function.owned.into_iter().filter(named).collect(),
            body,
            ..function
        }
    }

    /// Cuts what is inside first, then the list itself, if it is longer than the
    /// limit; with what it weighs then.
    fn block(&mut self, stmts: Vec<Stmt>, limit: usize) -> (Vec<Stmt>, usize) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut cut = Vec::with_capacity(stmts.len());
            let mut weights = Vec::with_capacity(stmts.len());
            for mut stmt in stmts {
                weights.push(self.inside(&mut stmt, limit));
                cut.push(stmt);
            }
            let all = weights.iter().sum();
            if all <= limit {
                return (cut, all);
            }
            let mut out = Vec::new();
            let (mut from, mut sum) = (0, 0);
            for (at, weight) in weights.iter().enumerate() {
                if sum > 0 && sum + weight > limit {
                    self.piece(&cut[from..at], &weights[from..at], &mut out);
                    (from, sum) = (at, 0);
                }
                sum += weight;
            }
            self.piece(&cut[from..], &weights[from..], &mut out);
            let all = weight(&out);
            (out, all)
        })
    }

    /// Cuts what is inside of a statement; with what it weighs then.
    fn inside(&mut self, stmt: &mut Stmt, limit: usize) -> usize {
        let mut sum = single(stmt);
        let in_loops = self.limit * LOOPS;
        let mut inner = |body: &mut Vec<Stmt>, limit| {
            let (cut, weight) = self.block(std::mem::take(body), limit);
            *body = cut;
            sum += weight;
        };
        match stmt {
            Stmt::If(_, yes, no) => {
                inner(yes, limit);
                inner(no, limit);
            }
            Stmt::While(_, body) => inner(body, in_loops),
            Stmt::For(f) if f.how == How::Scheduled => sum += weight(&f.body),
            Stmt::For(f) => {
                inner(&mut f.body, in_loops);
                if let How::Tasks(Launch { owned, locals, .. }) = &mut f.how {
                    for list in [owned, locals] {
                        list.retain(|var| self.total[var.index()] > 0);
                    }
                }
            }
            _ => {}
        }
        sum
    }

    /// Makes a function of a piece, or of its halves, or leaves it.
    fn piece(&mut self, stmts: &[Stmt], weights: &[usize], out: &mut Vec<Stmt>) {
        let sum: usize = weights.iter().sum();
        if sum * LEAST <= self.limit {
            out.extend_from_slice(stmts);
            return;
        }
        let flow = Flow::of(stmts);
        if let Some(interface) = self.interface(&flow) {
            self.extract(stmts, &flow, interface, out);
        } else if stmts.len() > 1 {
            let mut left = 0;
            let half = weights.iter().position(|weight| {
                left += weight;
                2 * left >= sum
            });
            let at = half.unwrap_or(0).clamp(1, stmts.len() - 1);
            self.piece(&stmts[..at], &weights[..at], out);
            self.piece(&stmts[at..], &weights[at..], out);
        } else {
            out.extend_from_slice(stmts);
        }
    }

    /// What would be passed; nothing if the piece cannot be a function.
    fn interface(&self, flow: &Flow) -> Option<Interface> {
        if flow.writes_global {
            return None;
        }
        let mut interface = Interface {
            params: Vec::new(),
            results: Vec::new(),
            released: Vec::new(),
            owned: Vec::new(),
        };
        for var in &flow.order {
            let Uses {
                count,
                set,
                exposed,
                released,
                released_inside,
                counter,
                of_task,
            } = flow.uses[var];
            let is_owned = self.owned.contains(var);
            if self.total[var.index()] == count {
                if is_owned && !of_task {
                    interface.owned.push(*var);
                }
                continue;
            }
            let sure = flow.assigned.contains(var);
            match self.vars[var.index()].ty {
                VarType::Scalar(_) | VarType::Vector(..) => {
                    if counter || set && !sure {
                        return None;
                    }
                    if exposed {
                        interface.params.push(*var);
                    }
                    if set {
                        interface.results.push(*var);
                    }
                }
                VarType::Buffer if is_owned => {
                    if released_inside || set && (!sure || exposed || released) {
                        return None;
                    }
                    if set {
                        interface.results.push(*var);
                        interface.owned.push(*var);
                    } else {
                        interface.params.push(*var);
                        if released {
                            interface.released.push(*var);
                        }
                    }
                }
                VarType::Buffer => {
                    if set || self.framed.contains(var) {
                        return None;
                    }
                    interface.params.push(*var);
                }
            }
        }
        let few = interface.params.len() + interface.results.len() <= MOST_PASSED;
        few.then_some(interface)
    }

    fn extract(&mut self, stmts: &[Stmt], flow: &Flow, at: Interface, out: &mut Vec<Stmt>) {
        let Interface {
            params,
            results,
            released,
            owned,
        } = at;
        let kept = |stmt: &&Stmt| !matches!(stmt, Stmt::Release(var) if released.contains(var));
        let mut body: Vec<Stmt> = stmts.iter().filter(kept).cloned().collect();
        let mut vars: Vec<VarInfo> = Vec::new();
        let mut numbers: FxHashMap<Var, Var> = FxHashMap::default();
        let (known, made) = (&self.vars, &mut vars);
        let mut new = |var: Var| {
            *numbers.entry(var).or_insert_with(|| {
                made.push(known[var.index()].clone());
                Var(made.len() as u32 - 1)
            })
        };
        rename::rename(&mut body, &mut new);
        let new_results: Vec<Var> = results.iter().map(|var| new(*var)).collect();
        let new_owned: Vec<Var> = owned.iter().map(|var| new(*var)).collect();
        let mut new_params: Vec<Var> = params.iter().map(|var| new(*var)).collect();
        // What is passed and set is a result too: it gets a variable of its own.
        for (param, var) in new_params.iter_mut().zip(&params) {
            if flow.uses[var].set {
                let place = *param;
                vars.push(self.vars[var.index()].clone());
                *param = Var(vars.len() as u32 - 1);
                body.insert(0, Stmt::Set(place, Expr::Var(*param)));
            }
        }
        for var in &flow.order {
            self.total[var.index()] -= flow.uses[var].count;
        }
        for var in params.iter().chain(&results) {
            self.total[var.index()] += 1;
        }
        for var in &released {
            self.total[var.index()] += 2;
        }
        let args = params.iter().map(|var| match self.vars[var.index()].ty {
            VarType::Scalar(_) | VarType::Vector(..) => Arg::Scalar(Expr::Var(*var)),
            VarType::Buffer => Arg::Buffer(*var),
        });
        out.push(Stmt::Call {
            fun: FunId(*self.next),
            args: args.collect(),
            results,
        });
        out.extend(released.into_iter().map(Stmt::Release));
        *self.next += 1;
        self.made += 1;
        self.pieces.push(Function {
            name: format!("{}.{}", self.name, self.made).into(),
            params: new_params,
            results: new_results,
            owned: new_owned,
            vars,
            body,
            inline: false,
            recursive: false,
        });
    }
}
