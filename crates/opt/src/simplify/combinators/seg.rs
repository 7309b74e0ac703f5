//! Simplification of segmented operations, using the ranges of their indices.

use crate::level::OptLevel;
use crate::simplify::Simplifier;
use crate::simplify::knowledge::ScopeKind;
use ir::Segs;
use ir::scan_reduce::ScanReduce;
use ir::seg::{Seg, SegKind, SegOp, SegSpace};
use ir::soac::{AccInput, HistOp, Operator};
use ir::syntax::{Aux, Exp, Lambda, Param};
use ir::types::{Dim, Type};

impl<L: OptLevel> Simplifier<'_, L> {
    /// Simplifies the operator of a scan or reduction.
    pub(crate) fn operator(&mut self, operator: &mut Operator<L>, runs: bool) {
        for atom in &mut operator.neutral {
            self.rewrite_plain(atom);
        }
        self.replace_lambda(&mut operator.op, runs);
    }

    /// Records that the innermost scope's body runs exactly as often as the enclosing one.
    fn runs_once(&mut self) {
        let here = self.known.current();
        self.scopes[here].runs_exactly_as_outer = true;
    }

    /// Simplifies a lambda in place.
    pub(crate) fn replace_lambda(&mut self, lambda: &mut Lambda<L>, runs: bool) {
        self.replace_lambda_and(lambda, runs, |_| {});
    }

    /// As [`Simplifier::replace_lambda`], with the facts added by `learn` in the lambda's scope.
    fn replace_lambda_and(&mut self, lambda: &mut Lambda<L>, runs: bool, learn: impl FnOnce(&mut Self)) {
        let empty = Lambda {
            params: Vec::new(),
            body: ir::Body { stms: Vec::new(), result: Vec::new() },
            ret: Vec::new(),
        };
        let old = std::mem::replace(lambda, empty);
        *lambda = self.lambda(old, runs, |s, _| learn(s));
    }

    /// Simplifies operators and the post lambda, with the facts added by `learn` in the latter's
    /// scope.
    pub(crate) fn scan_reduce(&mut self, scan_reduce: &mut ScanReduce<L>, learn: impl FnOnce(&mut Self)) {
        for op in scan_reduce.operators_mut() {
            self.operator(op, false);
        }
        if let Some(post) = &mut scan_reduce.post {
            self.replace_lambda_and(post, false, learn);
        }
    }

    pub(crate) fn histograms(&mut self, ops: &mut [HistOp<L>], aux: &mut Aux) {
        for HistOp { shape, destinations, op } in ops {
            for dim in shape {
                self.rewrite_dim(dim);
            }
            for dest in destinations {
                self.rewrite_name(dest, &mut aux.certs);
            }
            self.operator(op, false);
        }
    }

    pub(crate) fn with_acc(
        &mut self,
        mut pat: Vec<Param<L>>,
        mut aux: Aux,
        mut inputs: Vec<AccInput<L>>,
        mut lambda: Lambda<L>,
        make: fn(Vec<AccInput<L>>, Lambda<L>) -> L::Op,
    ) {
        for AccInput { shape, arrays, op } in &mut inputs {
            for dim in shape {
                self.rewrite_dim(dim);
            }
            for array in arrays {
                self.rewrite_name(array, &mut aux.certs);
            }
            if let Some(op) = op {
                self.operator(op, false);
            }
        }
        self.learn_neutrals(&inputs, &lambda.params);
        lambda = self.lambda(lambda, true, |s, _| s.runs_once());
        self.untouched(&mut pat, &aux, &mut inputs, &mut lambda);
        if inputs.is_empty() {
            let result = self.splice(lambda.body, &aux);
            self.bind_all(pat, &aux, &result);
            return;
        }
        self.push(pat, aux, Exp::Op(make(inputs, lambda)));
    }
}

/// Simplifies a segmented operation.
pub(crate) fn simplify(s: &mut Simplifier<'_, Segs>, pat: Vec<Param<Segs>>, mut aux: Aux, op: SegOp<Segs>) {
    match op {
        SegOp::Seg(Seg {
            level,
            mut space,
            mut kind,
            body,
            mut ret,
            decomp,
            identity_predicate: identity,
        }) => {
            for (_, size) in &mut space.dims {
                s.rewrite_dim(size);
            }
            match &mut kind {
                SegKind::ScanReduce(scan_reduce) => s.scan_reduce(scan_reduce, |s| iteration(s, &space)),
                SegKind::Hist(ops) => s.histograms(ops, &mut aux),
                SegKind::FlatMap => {}
            }
            enter_space(s, &space);
            for ty in &mut ret {
                s.rewrite_type(ty);
            }
            let body = s.body_inside(body);
            let op = SegOp::Seg(Seg { level, space, kind, body, ret, decomp, identity_predicate: identity });
            s.push(pat, aux, Exp::Op(op));
        }
        SegOp::WithAcc { inputs, lambda } => {
            s.with_acc(pat, aux, inputs, lambda, |inputs, lambda| SegOp::WithAcc { inputs, lambda });
        }
    }
}

fn enter_space(s: &mut Simplifier<'_, Segs>, space: &SegSpace) {
    let runs = space.dims.iter().all(|(_, size)| s.known.positive(*size));
    s.enter(ScopeKind::Inner { runs });
    iteration(s, space);
}

/// Makes the innermost scope the body of an iteration of a parallel index space, with its indices.
fn iteration(s: &mut Simplifier<'_, Segs>, space: &SegSpace) {
    let depth = s.known.current();
    s.scopes[depth].parallel = true;
    for (index, size) in &space.dims {
        let param = Param { name: *index, ty: Type::I64, ann: () };
        s.enter_param(&param);
        if let Some(bound) = size.atom() {
            s.scopes[depth].counters.push((*index, bound));
            s.ranges_at(depth, |ranges| {
                ranges.index(*index, bound);
                ranges.nonempty(*size);
            });
        }
    }
    let sizes: Vec<Dim> = space.dims.iter().map(|(_, size)| *size).collect();
    s.runs_where_positive(&sizes);
}
