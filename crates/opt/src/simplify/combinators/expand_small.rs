//! Expands combinators over a few elements that are known one by one to straight-line code.
//!
//! ```text
//! let xs = [a, b]                       let s = f a
//! let s = redomap 2 (x <- xs) f (+)  => let t = f b
//!                                       let u = s + t
//! ```
//!
//! Elements are scalars, and so are all operations on them, so no parallelism is lost. Elements in
//! memory stay in combinators, as a nest of maps over them is as fast as a single map.

use crate::simplify::Simplifier;
use analysis::size;
use ir::Soacs;
use ir::scan_reduce::ScanReduce;
use ir::soac::{Operator, Screma};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, Param};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, refresh_body};
use target::chunks::{UNROLL_STATEMENTS, UNROLL_WIDTH};

impl Simplifier<'_, Soacs> {
    /// Replaces a combinator, whose width is rewritten, by straight-line code. Returns true if it
    /// did.
    pub(crate) fn expand(&mut self, pat: &[Param<Soacs>], aux: &Aux, screma: &Screma) -> bool {
        let Screma { width, inputs, map, scan_reduce } = screma;
        let Dim::Const(n @ 1..=UNROLL_WIDTH) = *width else {
            return false;
        };
        let once: usize =
            std::iter::once(map).chain(scan_reduce.lambdas()).map(|lambda| size::of_body(&lambda.body)).sum();
        let scalar = |lambda: &Lambda<Soacs>| {
            let stms = &lambda.body.stms;
            lambda.params.iter().all(|param| param.ty.is_prim())
                && lambda.ret.iter().all(Type::is_prim)
                && stms.iter().all(|stm| matches!(stm.exp, Exp::Basic(_)))
        };
        let few = usize::try_from(n).is_ok_and(|n| n * once <= UNROLL_STATEMENTS);
        if !few || scan_reduce.post.is_some() || !scalar(map) || !scan_reduce.lambdas().all(scalar) {
            return false;
        }
        let (mut listed, mut aux) = (false, aux.clone());
        for input in inputs {
            let mut input = *input;
            self.rewrite_name(&mut input, &mut aux.certs);
            match self.known.def(input).map(|def| &def.op) {
                Some(BasicOp::ArrayLit { .. }) => listed = true,
                Some(BasicOp::Iota { .. } | BasicOp::Replicate { .. } | BasicOp::ConstArray { .. }) => {}
                _ => return false,
            }
        }
        if !(listed || scan_reduce.n_accumulated() > 0) || !self.rewrite() {
            return false;
        }
        let mut iterations: Vec<Vec<Atom>> = Vec::new();
        for i in 0..n {
            let mut inside = Substitution::default();
            for (param, input) in map.params.iter().zip(inputs) {
                let read = BasicOp::Index { array: *input, slice: vec![DimIndex::Fix(Atom::i64(i))] };
                inside.insert(param.name, self.make("x", &aux, read));
            }
            iterations.push(self.run(&map.body, inside, &aux));
        }
        let values = self.combined_results(scan_reduce, &iterations, &aux);
        for (param, op) in pat.iter().zip(values) {
            self.use_more(&op);
            self.basic(param.clone(), aux.clone(), op);
        }
        true
    }

    /// Emits the statements of a body here, with these values for its parameters, and returns its
    /// results.
    fn run(&mut self, body: &Body<Soacs>, mut inside: Substitution, aux: &Aux) -> Vec<Atom> {
        let copy = refresh_body(body, self.names, &mut inside);
        self.grow();
        let result = self.splice(copy, aux);
        self.results(result)
    }

    /// Returns the combinator's results, in order, from the mapped values of all iterations.
    fn combined_results(
        &mut self,
        scan_reduce: &ScanReduce<Soacs>,
        iterations: &[Vec<Atom>],
        aux: &Aux,
    ) -> Vec<BasicOp> {
        let (mut scanned, mut reduced) = (Vec::new(), Vec::new());
        let mut at = 0;
        for (i, op) in scan_reduce.operators().enumerate() {
            let steps = self.steps(op, iterations, at, aux);
            at += op.neutral.len();
            if i < scan_reduce.scans.len() {
                scanned.extend((0..op.neutral.len()).map(|j| literal(&steps, j, &op.op.ret[j])));
            } else if let Some(last) = steps.last() {
                reduced.extend(last.iter().map(|value| BasicOp::Atom(*value)));
            }
        }
        let types: Vec<Type> = iterations
            .first()
            .map(|iteration| iteration.iter().map(|atom| self.known.type_of_atom(*atom)).collect())
            .unwrap_or_default();
        let mapped = (at..types.len()).map(|j| literal(iterations, j, &types[j]));
        reduced.into_iter().chain(scanned).chain(mapped).collect()
    }

    /// The values of an operator's accumulators after each iteration; its inputs are the values
    /// from `at` on.
    pub(super) fn steps(
        &mut self,
        op: &Operator<Soacs>,
        iterations: &[Vec<Atom>],
        at: usize,
        aux: &Aux,
    ) -> Vec<Vec<Atom>> {
        let mut so_far = self.results(op.neutral.clone());
        let k = so_far.len();
        let mut steps = Vec::with_capacity(iterations.len());
        for iteration in iterations {
            let operands = so_far.iter().chain(&iteration[at..at + k]);
            let inside: Substitution =
                op.op.params.iter().zip(operands).map(|(param, value)| (param.name, *value)).collect();
            so_far = self.run(&op.op.body, inside, aux);
            steps.push(so_far.clone());
        }
        steps
    }
}

fn literal(iterations: &[Vec<Atom>], at: usize, row: &Type) -> BasicOp {
    BasicOp::ArrayLit { row: row.clone(), elems: iterations.iter().map(|iteration| iteration[at]).collect() }
}
