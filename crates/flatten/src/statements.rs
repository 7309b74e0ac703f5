//! Statements outside of nests: rule G0, which applies where no other rule does.
//!
//! Combinators go to the rules, with an empty nest, or become loops where there is no level for
//! them. Branches, loops and `withacc` remain; their bodies are flattened.

use crate::context::{Ctx, LaneSharing, atoms};
use crate::nest::Nest;
use crate::position::Position;
use crate::{decomp, growing, lanes, rules, sequential};
use ir::attrs::Versions;
use ir::remark::OperationKind;
use ir::seg::SegOp;
use ir::soac::{AccInput, Operator, Soac};
use ir::syntax::{Attr, Aux, Body, Exp, Lambda, LoopParam, Param, Stm};
use ir::types::Type;
use ir::walk::with_stack;
use ir::{PassError, Segs, Soacs};

impl Ctx<'_> {
    /// A body whose combinators become segops or loops.
    pub(crate) fn body(&mut self, at: Position, body: Body<Soacs>) -> Result<Body<Segs>, PassError> {
        let mut stms = Vec::with_capacity(body.stms.len());
        self.summed.extend(decomp::summed(&body));
        self.stms(at, body.stms, &mut stms)?;
        Ok(Body { stms, result: body.result })
    }

    /// Appends the flattened statements to `out`.
    pub(crate) fn stms(
        &mut self,
        at: Position,
        stms: Vec<Stm<Soacs>>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        with_stack(|| {
            for stm in stms {
                self.statement(at, stm, out)?;
            }
            Ok(())
        })
    }

    /// A statement in no nest: all but combinators remain.
    fn statement(
        &mut self,
        at: Position,
        stm: Stm<Soacs>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let Stm { pat, aux, exp } = stm;
        let exp = match exp {
            Exp::Basic(op) => {
                if let [param] = pat.as_slice() {
                    self.note_view(param, &op);
                }
                Exp::Basic(op)
            }
            Exp::If { cond, then_body, else_body } => {
                Exp::If { cond, then_body: self.body(at, then_body)?, else_body: self.body(at, else_body)? }
            }
            Exp::Loop { params, form, body } => {
                let params = self.loop_params(params);
                self.note_counter(form);
                Exp::Loop { params, form, body: self.body(at, body)? }
            }
            Exp::Apply { fun, args } => Exp::Apply { fun: self.call_version(&fun, at.of(&aux)), args },
            Exp::Op(soac) => {
                return self.combinator(&Nest::default(), at, pat, aux, soac, out);
            }
        };
        let pat = self.params(pat);
        out.push(Stm { pat, aux, exp });
        Ok(())
    }

    fn loop_params(&mut self, params: Vec<LoopParam<Soacs>>) -> Vec<LoopParam<Segs>> {
        let params = params.into_iter();
        params.map(|p| LoopParam { param: self.param(p.param), init: p.init, consumed: p.consumed }).collect()
    }

    /// Appends a combinator in a nest, in the form that its position and attributes require; the
    /// pattern has its results for all iterations of the nest.
    pub(crate) fn combinator(
        &mut self,
        nest: &Nest<'_>,
        at: Position,
        pat: Vec<Param<Soacs>>,
        aux: Aux,
        soac: Soac,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let has = |attr| aux.attrs.has(&attr);
        let ordered = has(Attr::Sequential);
        let before = (self.lanes, self.sequential_requested, self.sequentialise_irregular, self.outermost);
        let plain = has(Attr::SequentialInner) || has(Attr::Flattening(Versions::NoIntra));
        let LaneSharing { inside, .. } = self.lanes;
        self.lanes = LaneSharing {
            here: inside && !ordered && !has(Attr::SequentialOuter),
            inside: inside && !ordered && !plain,
        };
        self.sequential_requested |= ordered;
        self.sequentialise_irregular |= has(Attr::Flattening(Versions::SequentialiseNonuniform));
        let at = at.of(&aux);
        if at.level.is_some() && !has(Attr::SequentialOuter) {
            if at.enclosing.is_none() && nest.is_empty() {
                self.outermost = aux.prov;
            }
            rules::combinator(self, nest, at, pat, aux, soac, out)?;
        } else {
            self.sequential(nest, at, pat, aux, soac, out)?;
        }
        (self.lanes, self.sequential_requested, self.sequentialise_irregular, self.outermost) = before;
        Ok(())
    }

    /// Appends a sequential combinator: a loop, or a segop shared by the lanes of one worker.
    pub(crate) fn sequential(
        &mut self,
        nest: &Nest<'_>,
        at: Position,
        pat: Vec<Param<Soacs>>,
        aux: Aux,
        soac: Soac,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let mut stms = Vec::new();
        let pattern = pat.clone();
        let pat = if nest.is_empty() {
            pat
        } else {
            // Within the nest the results are those of one iteration.
            let types = self.result_types(&soac);
            let types = types.into_iter();
            types.map(|ty| self.fresh("r", ty)).collect()
        };
        let result = atoms(&pat);
        match soac {
            Soac::Screma(screma) => {
                let inside = at.level.is_none() && at.enclosing.is_some();
                if inside && nest.is_empty() {
                    return lanes::screma(self, at, pat, aux, screma, out);
                }
                self.remark_loop(&aux, OperationKind::of_scan_reduce(&screma.scan_reduce), at);
                let bound = sequential::bound(screma.width)?;
                sequential::screma_loop(self, pat, &aux, (screma, bound), &mut stms)?;
            }
            Soac::Hist { width, inputs, map, ops } => {
                self.remark_loop(&aux, OperationKind::Histogram, at);
                sequential::hist_loop(self, pat, &aux, width, &inputs, map, ops, &mut stms)?;
            }
            Soac::FlatMap { width, inputs, lambda } => {
                self.remark_loop(&aux, OperationKind::FlatMap, at);
                growing::flat_map_loop(self, pat, &aux, (width, inputs, lambda), &mut stms)?;
            }
            Soac::WithAcc { inputs, lambda } if nest.is_empty() => {
                return self.with_acc(at, pat, aux, inputs, lambda, out);
            }
            Soac::WithAcc { .. } | Soac::Stream { .. } | Soac::Jvp { .. } | Soac::Vjp { .. } => {
                return Err(unsupported(self, &aux, &soac));
            }
        }
        if nest.is_empty() {
            return self.stms(at, stms, out);
        }
        rules::distribute(self, nest, at, Body { stms, result }, pattern, &aux, out)
    }

    /// The types of a combinator's results.
    pub(crate) fn result_types(&self, soac: &Soac) -> Vec<Type> {
        use ir::walk::LevelOp;
        soac.result_types(&|name| self.types.type_of(name).clone())
    }

    /// A lambda that is part of the segop that is being made.
    pub(crate) fn lambda_inside(
        &mut self,
        at: Position,
        lambda: Lambda<Soacs>,
    ) -> Result<Lambda<Segs>, PassError> {
        let params = self.params(lambda.params);
        let body = self.body(at, lambda.body)?;
        Ok(Lambda { params, body, ret: lambda.ret })
    }

    /// An operator of the segop that is being made; its body is sequential.
    pub(crate) fn operator_inside(
        &mut self,
        at: Position,
        operator: Operator<Soacs>,
    ) -> Result<Operator<Segs>, PassError> {
        let Operator { op, neutral, comm } = operator;
        Ok(Operator { op: self.lambda_inside(at.sequential(), op)?, neutral, comm })
    }

    /// Appends a `withacc`; only its lambda and operators are flattened.
    pub(crate) fn with_acc(
        &mut self,
        at: Position,
        pat: Vec<Param<Soacs>>,
        aux: Aux,
        inputs: Vec<AccInput<Soacs>>,
        lambda: Lambda<Soacs>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let inputs = self.acc_inputs(at, inputs, &lambda)?;
        let params = self.params(lambda.params);
        let body = self.body(at, lambda.body)?;
        let lambda = Lambda { params, body, ret: lambda.ret };
        let pat = self.params(pat);
        let exp = Exp::Op(SegOp::WithAcc { inputs, lambda });
        out.push(Stm { pat, aux, exp });
        Ok(())
    }

    /// The arrays of a `withacc`; records which of its accumulators have an operator.
    pub(crate) fn acc_inputs(
        &mut self,
        at: Position,
        inputs: Vec<AccInput<Soacs>>,
        lambda: &Lambda<Soacs>,
    ) -> Result<Vec<AccInput<Segs>>, PassError> {
        let mut converted = Vec::with_capacity(inputs.len());
        for (input, token) in inputs.into_iter().zip(&lambda.params) {
            if input.op.is_some() {
                self.note_operator(token.name);
            }
            let op = input.op.map(|op| self.operator_inside(at, op));
            converted.push(AccInput { shape: input.shape, arrays: input.arrays, op: op.transpose()? });
        }
        Ok(converted)
    }
}

/// The error for a combinator that is not supported yet.
pub(crate) fn unsupported(ctx: &Ctx<'_>, aux: &Aux, soac: &Soac) -> PassError {
    let what = match soac {
        Soac::Stream { .. } => "sequential streams",
        Soac::Jvp { .. } => "forward-mode differentiation (jvp)",
        Soac::Vjp { .. } => "reverse-mode differentiation (vjp)",
        Soac::Screma(_) | Soac::Hist { .. } | Soac::WithAcc { .. } | Soac::FlatMap { .. } => {
            "this combinator"
        }
    };
    PassError::unsupported(what, ctx.stack(aux))
}
