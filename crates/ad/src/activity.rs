//! Activity: the names whose values depend, by a derivative that may not be zero, on what the
//! derivative is taken by.
//!
//! Loop parameters are computed to a fixed point. Results of combinators are active one by one, by
//! the results of their lambdas. All results of a call with an active argument are active.

use crate::state::Ad;
use ir::soac::{AccInput, Operator, Screma, Soac, Soacs};
use ir::syntax::{BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::Type;
use ir::walk::with_stack;
use prim::derivative::{Derivative, derivatives};

impl Ad<'_> {
    /// Adds the active names that a body binds.
    pub fn mark_body(&mut self, body: &Body<Soacs>) {
        with_stack(|| body.stms.iter().for_each(|stm| self.mark_stm(stm)));
    }

    fn mark(&mut self, param: &Param<Soacs>, active: bool) {
        if active && may_be_active(&param.ty) {
            self.active.insert(param.name);
        }
    }

    fn mark_stm(&mut self, stm: &Stm<Soacs>) {
        if stm.pat.first().is_some_and(|first| self.ahead.contains(&first.name)) {
            return;
        }
        let results: Vec<bool> = match &stm.exp {
            Exp::Basic(op) => vec![self.basic(op)],
            Exp::If { cond: _, then_body, else_body } => {
                self.mark_body(then_body);
                self.mark_body(else_body);
                let both = then_body.result.iter().zip(&else_body.result);
                both.map(|(x, y)| self.is_active(*x) || self.is_active(*y)).collect()
            }
            Exp::Loop { params, form: _, body } => {
                for p in params {
                    let active = self.is_active(p.init);
                    self.mark(&p.param, active);
                }
                loop {
                    let before = self.active.len();
                    self.mark_body(body);
                    for (p, next) in params.iter().zip(&body.result) {
                        let active = self.is_active(*next);
                        self.mark(&p.param, active);
                    }
                    if self.active.len() == before {
                        break;
                    }
                }
                params.iter().map(|p| self.active.contains(&p.param.name)).collect()
            }
            Exp::Apply { fun: _, args } => {
                let active = args.iter().any(|arg| self.is_active(*arg));
                vec![active; stm.pat.len()]
            }
            Exp::Op(op) => self.combinator(op),
        };
        for (param, active) in stm.pat.iter().zip(results) {
            self.mark(param, active);
        }
    }

    fn basic(&self, op: &BasicOp) -> bool {
        let name = |name: &ir::Name| self.active.contains(name);
        match op {
            BasicOp::Atom(x) | BasicOp::Opaque(x) => self.is_active(*x),
            BasicOp::Scalar(op) => {
                let known = derivatives(op);
                op.operands().iter().enumerate().any(|(at, x)| {
                    let zero = known.as_ref().is_some_and(|known| known[at] == Derivative::Zero);
                    self.is_active(**x) && !zero
                })
            }
            BasicOp::Index { array, .. }
            | BasicOp::FlatIndex { array, .. }
            | BasicOp::Rearrange { array, .. }
            | BasicOp::Reshape { array, .. }
            | BasicOp::Copy(array)
            | BasicOp::Manifest { array, .. } => name(array),
            BasicOp::Update { array, value, .. } => name(array) || self.is_active(*value),
            BasicOp::FlatUpdate { array, value, .. } => name(array) || name(value),
            BasicOp::Concat { arrays, .. } => arrays.iter().any(name),
            BasicOp::Iota { ty: _, count, start, stride } => {
                let count = count.atom().is_some_and(|count| self.is_active(count));
                count || self.is_active(*start) || self.is_active(*stride)
            }
            BasicOp::Replicate { value, .. } => self.is_active(*value),
            BasicOp::ArrayLit { elems, .. } => elems.iter().any(|x| self.is_active(*x)),
            BasicOp::UpdateAcc { acc, values, .. } => name(acc) || values.iter().any(|x| self.is_active(*x)),
            BasicOp::Scratch { .. }
            | BasicOp::ConstArray { .. }
            | BasicOp::Assert { .. }
            | ir::parameter_op!() => false,
        }
    }

    fn combinator(&mut self, op: &Soac) -> Vec<bool> {
        match op {
            Soac::Screma(Screma { width: _, inputs, map, scan_reduce }) => {
                self.rows(map, inputs);
                let mut values: Vec<bool> = self.results(map);
                for op in scan_reduce.operators() {
                    let (own, rest) = values.split_at(op.neutral.len().min(values.len()));
                    let own = self.operator(op, own);
                    // The operators' results take the places of the values that they combine.
                    values = rest.iter().copied().chain(own).collect();
                }
                let n_mapped = values.len() - scan_reduce.n_accumulated();
                let (mapped, accumulated) = values.split_at(n_mapped);
                let (scanned, reduced) = accumulated.split_at(scan_reduce.n_scanned());
                let elements: Vec<bool> = scanned.iter().chain(mapped).copied().collect();
                let elements = match &scan_reduce.post {
                    Some(post) => {
                        for (param, active) in post.params.iter().zip(&elements) {
                            self.mark(param, *active);
                        }
                        self.results(post)
                    }
                    None => elements,
                };
                reduced.iter().copied().chain(elements).collect()
            }
            Soac::Hist { width: _, inputs, map, ops } => {
                self.rows(map, inputs);
                let values = self.results(map);
                let mut values = values[ops.iter().map(|op| op.shape.len()).sum::<usize>()..].to_vec();
                let mut results = Vec::new();
                for op in ops {
                    let rest = values.split_off(op.op.neutral.len().min(values.len()));
                    for (value, destination) in values.iter_mut().zip(&op.destinations) {
                        *value |= self.active.contains(destination);
                    }
                    results.extend(self.operator(&op.op, &values));
                    values = rest;
                }
                results
            }
            Soac::WithAcc { inputs, lambda } => self.with_acc(inputs, lambda),
            Soac::Stream { lambda, .. } => vec![true; lambda.ret.len()],
            Soac::FlatMap { width: _, inputs, lambda } => {
                self.rows(lambda, inputs);
                let mut results = self.results(lambda);
                if let Some(size) = results.first_mut() {
                    *size = false;
                }
                results
            }
            Soac::WithVjp { args, lambda, adjoint: _ } => {
                let active = args.iter().any(|arg| self.is_active(*arg));
                vec![active; lambda.ret.len()]
            }
            // Derivatives inside are gone by now.
            Soac::Jvp { .. } | Soac::Vjp { .. } => Vec::new(),
        }
    }

    /// Marks a lambda's parameters that are bound to rows of active arrays.
    fn rows(&mut self, lambda: &Lambda<Soacs>, inputs: &[ir::Name]) {
        let first = lambda.params.len() - inputs.len().min(lambda.params.len());
        for (param, input) in lambda.params[first..].iter().zip(inputs) {
            let active = self.active.contains(input);
            self.mark(param, active);
        }
    }

    fn results(&mut self, lambda: &Lambda<Soacs>) -> Vec<bool> {
        self.mark_body(&lambda.body);
        lambda.body.result.iter().map(|x| self.is_active(*x)).collect()
    }

    /// The activity of an operator's results, whose values have the activity `values`.
    fn operator(&mut self, op: &Operator<Soacs>, values: &[bool]) -> Vec<bool> {
        let mut active = values.to_vec();
        loop {
            let before = active.clone();
            for (param, active) in op.op.params.iter().zip(before.iter().cycle()) {
                self.mark(param, *active);
            }
            for (active, result) in active.iter_mut().zip(self.results(&op.op)) {
                *active |= result;
            }
            if active == before {
                return active;
            }
        }
    }

    fn with_acc(&mut self, inputs: &[AccInput<Soacs>], lambda: &Lambda<Soacs>) -> Vec<bool> {
        for (input, acc) in inputs.iter().zip(lambda.params.iter().skip(inputs.len())) {
            let active = input.arrays.iter().any(|array| self.active.contains(array));
            self.mark(acc, active);
        }
        let results = self.results(lambda);
        let arrays = inputs
            .iter()
            .zip(&results)
            .flat_map(|(input, active)| std::iter::repeat_n(*active, input.arrays.len()));
        arrays.chain(results.iter().skip(inputs.len()).copied()).collect()
    }
}

/// Returns true if values of the type may have derivatives other than zero.
pub(crate) fn may_be_active(ty: &Type) -> bool {
    match ty {
        Type::Prim(_) | Type::Array { .. } | Type::Acc { .. } => true,
        Type::Cert | Type::Mem(_) => false,
    }
}
