//! Statements in no nest: rule G0, which applies where no other rule does.
//!
//! Combinators go to the rules. Branches, loops and `withacc` remain; their bodies are flattened.

use crate::context::{Ctx, Let};
use crate::names::atoms;
use crate::scope::Scope;
use crate::{Result, Stms, decomp, lanes, rules};
use ir::remark::OperationKind;
use ir::seg::SegOp;
use ir::soac::{AccInput, Operator, Soac};
use ir::syntax::{Aux, Body, Exp, Lambda, LoopParam, Stm};
use ir::walk::{LevelOp, with_stack};
use ir::{PassError, Segs, Soacs, sequential};

impl Ctx<'_> {
    /// A body whose combinators become segops or loops.
    pub(crate) fn body(&mut self, scope: Scope<'_>, body: Body<Soacs>) -> Result<Body<Segs>> {
        self.names.summed.extend(decomp::summed(&body));
        let (done, stms) = self.collect(|ctx| ctx.stms(scope, body.stms));
        done?;
        Ok(Body { stms, result: body.result })
    }

    /// Appends the flattened statements.
    pub(crate) fn stms(&mut self, scope: Scope<'_>, stms: Stms<Soacs>) -> Result {
        with_stack(|| stms.into_iter().try_for_each(|stm| self.statement(scope, stm)))
    }

    /// A statement in no nest: all but combinators remain.
    fn statement(&mut self, scope: Scope<'_>, stm: Stm<Soacs>) -> Result {
        let Stm { pat, aux, exp } = stm;
        let exp = match exp {
            Exp::Basic(op) => {
                if let [param] = pat.as_slice() {
                    self.names.note_view(param, &op);
                }
                Exp::Basic(op)
            }
            Exp::If { cond, then_body, else_body } => Exp::If {
                cond,
                then_body: self.body(scope, then_body)?,
                else_body: self.body(scope, else_body)?,
            },
            Exp::Loop { params, form, body } => {
                let params = self.loop_params(params);
                self.names.note_counter(form);
                Exp::Loop { params, form, body: self.body(scope, body)? }
            }
            Exp::Apply { fun, args } => Exp::Apply { fun: self.call_version(fun, scope.of(&aux).at), args },
            Exp::Op(soac) => return rules::combinator(self, scope, Let { pat, aux }, soac),
        };
        self.emit(Let { pat, aux }, exp);
        Ok(())
    }

    fn loop_params(&mut self, params: Vec<LoopParam<Soacs>>) -> Vec<LoopParam<Segs>> {
        let param = |p: LoopParam<Soacs>| LoopParam {
            param: self.names.param(p.param),
            init: p.init,
            consumed: p.consumed,
        };
        params.into_iter().map(param).collect()
    }

    /// Appends a sequential combinator: a loop, or a segop shared by the lanes of one worker.
    pub(crate) fn sequential(&mut self, scope: Scope<'_>, to: Let, soac: Soac) -> Result {
        let in_nest = !scope.nest.is_empty();
        let pat = if in_nest {
            // Within the nest the results are those of one iteration.
            let types = soac.result_types(&|name| self.names.types.type_of(name).clone());
            self.names.fresh_all("r", &types)
        } else {
            to.pat.clone()
        };
        let result = atoms(&pat);
        let (own, prov) = ((pat, to.aux.clone()), to.aux.prov);
        let mut stms = Vec::new();
        match soac {
            Soac::Screma(s) => {
                if !in_nest && scope.at.level.is_none() && scope.at.enclosing.is_some() {
                    return lanes::screma(self, scope, to, s);
                }
                self.remark_loop(scope, &to.aux, OperationKind::of_scan_reduce(&s.scan_reduce));
                self.names.build(prov, &mut stms, |b| sequential::screma(b, own, s, None))?;
            }
            Soac::Hist { width, inputs, map, ops } => {
                self.remark_loop(scope, &to.aux, OperationKind::Histogram);
                let mapped = (width, inputs.as_slice(), map);
                self.names.build(prov, &mut stms, |b| sequential::histogram(b, own, mapped, ops))?;
            }
            Soac::FlatMap { width, inputs, lambda } => {
                self.remark_loop(scope, &to.aux, OperationKind::FlatMap);
                let mapped = (width, inputs.as_slice(), lambda);
                self.names.build(prov, &mut stms, |b| sequential::flat_map(b, own, mapped))?;
            }
            Soac::WithAcc { inputs, lambda } if !in_nest => {
                return self.with_acc(scope, to, (inputs, lambda));
            }
            Soac::WithAcc { .. } | Soac::Stream { .. } | ir::derivative_op!() => {
                return Err(unsupported(self, &to.aux, &soac));
            }
        }
        if in_nest {
            rules::distribute(self, scope, Body { stms, result }, to)
        } else {
            self.stms(scope, stms)
        }
    }

    /// A lambda of the segop that is being made, outside of its body.
    pub(crate) fn lambda(&mut self, scope: Scope<'_>, lambda: Lambda<Soacs>) -> Result<Lambda<Segs>> {
        self.names.note_operator(&lambda);
        let Lambda { params, body, ret } = lambda;
        Ok(Lambda {
            params: self.names.params(params),
            body: self.body(scope.sequential().without_nest(), body)?,
            ret,
        })
    }

    /// An operator of the segop that is being made; its body is sequential.
    pub(crate) fn operator(&mut self, scope: Scope<'_>, op: Operator<Soacs>) -> Result<Operator<Segs>> {
        let Operator { op, neutral, comm } = op;
        Ok(Operator { op: self.lambda(scope, op)?, neutral, comm })
    }

    /// Appends a `withacc`; only its lambda and operators are flattened.
    pub(crate) fn with_acc(
        &mut self,
        scope: Scope<'_>,
        to: Let,
        (inputs, lambda): (Vec<AccInput<Soacs>>, Lambda<Soacs>),
    ) -> Result {
        let inputs = self.acc_inputs(scope, inputs, &lambda)?;
        let Lambda { params, body, ret } = lambda;
        let params = self.names.params(params);
        let lambda = Lambda { params, body: self.body(scope, body)?, ret };
        self.emit(to, Exp::Op(SegOp::WithAcc { inputs, lambda }));
        Ok(())
    }

    /// The arrays of a `withacc`; records which of its accumulators have an operator.
    pub(crate) fn acc_inputs(
        &mut self,
        scope: Scope<'_>,
        inputs: Vec<AccInput<Soacs>>,
        lambda: &Lambda<Soacs>,
    ) -> Result<Vec<AccInput<Segs>>> {
        let mut converted = Vec::with_capacity(inputs.len());
        for (AccInput { shape, arrays, op }, token) in inputs.into_iter().zip(&lambda.params) {
            if op.is_some() {
                self.names.note_token(token.name);
            }
            let op = op.map(|op| self.operator(scope, op)).transpose()?;
            converted.push(AccInput { shape, arrays, op });
        }
        Ok(converted)
    }
}

/// The error for a combinator that is not supported yet.
pub(crate) fn unsupported(ctx: &Ctx<'_>, aux: &Aux, soac: &Soac) -> PassError {
    let what = match soac {
        Soac::Stream { .. } => "sequential streams",
        ir::derivative_op!() => "derivatives after the pass ad",
        Soac::Screma(_) | Soac::Hist { .. } | Soac::WithAcc { .. } | Soac::FlatMap { .. } => {
            "this combinator"
        }
    };
    PassError::unsupported(what, ctx.names.provs.stack(aux.prov))
}
