//! Scans and reductions of a value that is the same in every iteration are replaced by closed
//! forms.
//!
//! ```text
//! scan (+) 0 (replicate n x)      =  map (\i -> (i + 1) * x) (iota n)
//! scan max ne (replicate n x)     =  replicate n (max ne x)
//! reduce (+) 0 (replicate n x)    =  n * x
//! ```
//!
//! No iteration then depends on the previous one. Closed forms exist for integer sums only, as
//! float sums round in each iteration, and for idempotent operators. `closed_forms` has the ones of
//! loops.

use crate::dce::retain;
use crate::simplify::Simplifier;
use crate::simplify::control::closed_forms::Closed;
use analysis::exact::scalar_operator;
use ir::Soacs;
use ir::scan_reduce::ScanReduce;
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use prim::{BinOp, ConvOp, PrimType, Scalar, ScalarOp};
use smallvec::smallvec;

/// A result with a closed form: its name, and the recurrence of its operator.
pub(crate) struct ClosedResult {
    param: Param<Soacs>,
    ty: PrimType,
    closed: Closed,
    neutral: Atom,
    width: Atom,
    scanned: bool,
}

impl Simplifier<'_, Soacs> {
    /// Removes the results with a closed form from a combinator without a post lambda. Its map is
    /// simplified, and its scope has ended.
    pub(crate) fn closed_results(
        &mut self,
        width: Dim,
        map: &mut Lambda<Soacs>,
        scan_reduce: &mut ScanReduce<Soacs>,
        pat: &mut Vec<Param<Soacs>>,
    ) -> Vec<ClosedResult> {
        let (n_reduced, n_scanned) = (scan_reduce.n_reduced(), scan_reduce.n_scanned());
        let mut found = Vec::new();
        let Some(iterations) = width.atom() else {
            return found;
        };
        let mut keep_values = vec![true; map.ret.len()];
        let mut keep_results = vec![true; pat.len()];
        let mut at = 0;
        let mut multiple = |s: &mut Self, op: &Operator<Soacs>, scanned: bool| {
            let first = at;
            at += op.neutral.len();
            let value = map.body.result[first];
            let (Some((ty, closed)), [neutral]) = (closed(op, value), op.neutral.as_slice()) else {
                return true;
            };
            let result = if scanned { n_reduced + first } else { first - n_scanned };
            if !s.known.in_scope(value) || !s.rewrite() {
                return true;
            }
            keep_values[first] = false;
            keep_results[result] = false;
            found.push(ClosedResult {
                param: pat[result].clone(),
                ty,
                closed,
                neutral: *neutral,
                width: iterations,
                scanned,
            });
            false
        };
        scan_reduce.scans.retain(|op| multiple(self, op, true));
        scan_reduce.reduces.retain(|op| multiple(self, op, false));
        if !found.is_empty() {
            retain(&mut map.ret, &keep_values);
            retain(&mut map.body.result, &keep_values);
            retain(pat, &keep_results);
        }
        found
    }

    /// Binds such a result. Returns the map that it requires, if any, for the caller to emit.
    pub(crate) fn bind_multiple(
        &mut self,
        multiple: ClosedResult,
        aux: &Aux,
        width: Dim,
    ) -> Option<(Vec<Param<Soacs>>, Soac)> {
        let ClosedResult { param, ty, closed, neutral, width: iterations, scanned } = multiple;
        let op = match closed {
            Closed::Sum(_, _, value) if scanned => {
                let map = self.counted(aux, width, ty, value);
                return Some((vec![param], Soac::Screma(map)));
            }
            Closed::Idempotent(op, _, value) if scanned => BasicOp::Replicate {
                shape: smallvec![width],
                value: self.make("once", aux, BasicOp::binary(op, ty, neutral, value)),
            },
            closed @ (Closed::Constant(_) | Closed::Sum(..) | Closed::Idempotent(..)) => {
                self.value_after(closed, neutral, ty, (PrimType::I64, iterations), false, aux)
            }
        };
        self.use_more(&op);
        self.basic(param, aux.clone(), op);
        None
    }

    /// `map (\i -> (i + 1) * value) (iota width)`
    fn counted(&mut self, aux: &Aux, width: Dim, ty: PrimType, value: Atom) -> Screma {
        let inputs = self.make("is", aux, BasicOp::indices(width)).var().into_iter().collect();
        // A new array is shared with an equal one only after its aliases were analysed.
        self.left.to_simplify = true;
        let index = self.fresh("i", Type::I64);
        let mut stms = Vec::new();
        let mut stm = |s: &mut Self, hint: &str, op: BasicOp| {
            s.use_more(&op);
            let param = s.fresh(hint, Type::Prim(ty));
            let name = param.name;
            stms.push(Stm { pat: vec![param], aux: Aux::at(aux.prov), exp: Exp::Basic(op) });
            Atom::Var(name)
        };
        let mut before = Atom::Var(index.name);
        if ty != PrimType::I64 {
            let op = BasicOp::convert(ConvOp::SExt, PrimType::I64, ty, before);
            before = stm(self, "before", op);
        }
        let one = Atom::Const(Scalar::int(ty, 1));
        let times = stm(self, "times", BasicOp::Scalar(ScalarOp::Binary(BinOp::Add, ty, before, one)));
        let product = BasicOp::binary(BinOp::Mul, ty, times, value);
        let product = stm(self, "product", product);
        Screma {
            width,
            inputs,
            map: Lambda {
                params: vec![index],
                body: Body { stms, result: vec![product] },
                ret: vec![Type::Prim(ty)],
            },
            scan_reduce: ScanReduce::default(),
        }
    }
}

/// The recurrence of an operator over one value, if it has a closed form.
fn closed(operator: &Operator<Soacs>, value: Atom) -> Option<(PrimType, Closed)> {
    let (op, ty) = scalar_operator(&operator.op)?;
    let closed = if op == BinOp::Add && ty.is_int() {
        let zero = Atom::Const(Scalar::int(ty, 0));
        (operator.neutral == [zero]).then_some(Closed::Sum(op, ty, value))
    } else {
        (op.is_idempotent() && !ty.is_float()).then_some(Closed::Idempotent(op, ty, value))
    };
    Some((ty, closed?))
}
