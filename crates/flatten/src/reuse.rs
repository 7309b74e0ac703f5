//! Reuse: folds in the loops of a segop that read what other iterations read as well.
//!
//! ```text
//! segmap (i < n) { let r = a[i]
//!                  in map (c <- b) { reduce (+) 0 (map2 (*) r c) } }
//! ```
//!
//! `r` depends on the segop's iteration alone, `c` on the inner one. Such a segop leaves vector lanes
//! to iterations, and its reductions remain loops: nests of iterations around a fold are tiled later,
//! and an element that was loaded once is used by several of them, which reductions in lanes do not
//! allow.

use crate::nest::Nest;
use ir::Soacs;
use ir::name::Name;
use ir::soac::{Screma, Soac};
use ir::syntax::{BasicOp, Body, Exp, Lambda, LoopForm, Stm};
use ir::walk::{free_names_exp, with_stack};
use rustc_hash::FxHashMap;

/// A set of the iterations that a value depends on: the segop's, and one bit for each combinator or
/// loop inside.
type Iterations = u64;

/// The segop's own iteration.
const SEGOP: Iterations = 1;
/// The number of nested combinators and loops that are told apart.
const MAX_DEPTH: u32 = 60;

/// Returns true if a segop's body over a nest contains folds that read one array by the segop's
/// iteration or an outer loop and another one by an inner loop.
pub(crate) fn has_tiled_folds(nest: &Nest<'_>, body: &Body<Soacs>) -> bool {
    let mut walk = Walk { nest, known: FxHashMap::default(), depth: 0, found: false };
    walk.body(body);
    walk.found
}

struct Walk<'n, 'p> {
    nest: &'n Nest<'p>,
    known: FxHashMap<Name, Iterations>,
    /// The number of combinators and loops around.
    depth: u32,
    found: bool,
}

impl Walk<'_, '_> {
    fn of(&self, name: Name) -> Iterations {
        let outside = || if self.nest.is_variant(name) { SEGOP } else { 0 };
        self.known.get(&name).copied().unwrap_or_else(outside)
    }

    fn of_all(&self, names: impl IntoIterator<Item = Name>) -> Iterations {
        names.into_iter().fold(0, |all, name| all | self.of(name))
    }

    fn body(&mut self, body: &Body<Soacs>) {
        with_stack(|| body.stms.iter().for_each(|stm| self.stm(stm)));
    }

    fn stm(&mut self, stm: &Stm<Soacs>) {
        let all = self.of_all(free_names_exp(&stm.exp));
        match &stm.exp {
            Exp::Basic(_) | Exp::Apply { .. } => {}
            Exp::If { then_body, else_body, .. } => {
                self.body(then_body);
                self.body(else_body);
            }
            Exp::Loop { params, form, body } => {
                let mut bound: Vec<(Name, Iterations)> =
                    params.iter().map(|param| (param.param.name, all)).collect();
                if let LoopForm::For { var, .. } = form {
                    bound.push((*var, 0));
                }
                self.inside(bound, |walk| walk.body(body));
            }
            Exp::Op(op) => self.soac(op, all),
        }
        self.known.extend(stm.pat.iter().map(|param| (param.name, all)));
    }

    fn soac(&mut self, op: &Soac, all: Iterations) {
        let (inputs, lambda): (&[Name], &Lambda<Soacs>) = match op {
            Soac::Screma(s) => {
                let folds = s.scan_reduce.scans.is_empty() && !s.scan_reduce.is_map();
                self.found |= folds && self.depth > 0 && self.reads_by_rows_and_columns(s);
                (&s.inputs, &s.map)
            }
            Soac::Hist { inputs, map, .. } => (inputs, map),
            Soac::Stream { inputs, lambda, .. } | Soac::FlatMap { inputs, lambda, .. } => (inputs, lambda),
            Soac::WithAcc { lambda, .. } | Soac::Jvp { lambda, .. } | Soac::Vjp { lambda, .. } => {
                (&[], lambda)
            }
        };
        let elements = inputs.iter().map(|input| self.of(*input));
        let own = elements.chain(std::iter::repeat(all));
        let bound = lambda.params.iter().map(|param| param.name).zip(own).collect();
        self.inside(bound, |walk| walk.body(&lambda.body));
    }

    /// Walks a body that binds these names once in each of its iterations.
    fn inside(&mut self, bound: Vec<(Name, Iterations)>, f: impl FnOnce(&mut Self)) {
        if self.found || self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        let own = SEGOP << self.depth;
        self.known.extend(bound.into_iter().map(|(name, all)| (name, all | own)));
        f(self);
        self.depth -= 1;
    }

    /// Returns true if two arrays that a fold reads depend on different iterations around it.
    fn reads_by_rows_and_columns(&self, s: &Screma) -> bool {
        let mut reads: Vec<Iterations> = s.inputs.iter().map(|input| self.of(*input)).collect();
        let mut inside: FxHashMap<Name, Iterations> = FxHashMap::default();
        let inputs = s.inputs.iter().map(|input| self.of(*input)).chain(std::iter::repeat(0));
        inside.extend(s.map.params.iter().map(|param| param.name).zip(inputs));
        for stm in &s.map.body.stms {
            let names = free_names_exp(&stm.exp);
            let all = names
                .iter()
                .fold(0, |all, name| all | inside.get(name).copied().unwrap_or_else(|| self.of(*name)));
            if let Exp::Basic(BasicOp::Index { .. }) = &stm.exp {
                reads.push(all);
            }
            inside.extend(stm.pat.iter().map(|param| (param.name, all)));
        }
        let differ = |x: Iterations, y: Iterations| x & !y != 0 && y & !x != 0;
        reads.iter().enumerate().any(|(at, x)| reads[at + 1..].iter().any(|y| differ(*x, *y)))
    }
}
