//! Tail calls of a definition to itself: they reuse the frame of the caller, so that their number
//! is not bounded.

use crate::failure::{Failure, Res};
use crate::machine::{Args, Machine};
use crate::tree::{Function, Node, SizeCheck};
use crate::value::RunValue;
use syntax::span::Span;

/// The outcome of a body.
enum Tail {
    Value(RunValue),
    /// A tail call of the same definition: its instance, its arguments, its source span.
    Call(Args, Args, Span),
}

impl Machine<'_> {
    /// Evaluates the body of a definition whose arguments are in the frame.
    pub(crate) fn run_tail_calls(&mut self, id: u32, func: &Function) -> Res<RunValue> {
        let mut last_call = None;
        loop {
            // Backtraces contain the last tail call only.
            let last = self.eval_tail(func, id).map_err(|failure| match last_call {
                Some(span) => failure.with_caller(span),
                None => failure,
            })?;
            match last {
                Tail::Value(value) => return self.returned(func, value),
                Tail::Call(inst, args, span) => {
                    last_call = Some(span);
                    if let Some(value) = self.next_tail_call(id, func, &inst, args, span)? {
                        return self.returned(func, value);
                    }
                }
            }
        }
    }

    /// Binds the arguments of the next tail call in the frame; returns `None`. If the call's result
    /// must have another shape, the call runs in a frame of its own, and its value is returned.
    fn next_tail_call(
        &mut self,
        id: u32,
        func: &Function,
        inst: &[RunValue],
        args: Args,
        span: Span,
    ) -> Res<Option<RunValue>> {
        let (base, next) = (self.base, self.stack.len());
        let shape = match &func.ret {
            Some(ty) => {
                self.unbind(&func.ext);
                Some(self.rty(ty)?)
            }
            None => None,
        };
        let value = self.framed(func, |machine| {
            machine.bind_args(func, &[], inst, args)?;
            let same = match (&func.ret, &shape) {
                (Some(ty), Some(shape)) => machine.rty(ty)? == *shape,
                _ => true,
            };
            if !same {
                return machine.run_tail_calls(id, func).map(Some);
            }
            for slot in 0..func.n_slots {
                machine.stack[base + slot] = std::mem::take(&mut machine.stack[next + slot]);
            }
            Ok(None)
        });
        value.map_err(|failure| failure.with_caller(span))
    }

    fn eval_tail(&mut self, func: &Function, id: u32) -> Res<Tail> {
        let mut node = &func.body;
        let mut checks: Vec<&SizeCheck> = Vec::new();
        loop {
            node = match node {
                Node::If(parts) => {
                    if self.truth(&parts.0)? {
                        &parts.1
                    } else {
                        &parts.2
                    }
                }
                Node::Let(binds, body) => {
                    self.binds(binds)?;
                    body
                }
                Node::Match(scrutinee, cases, span) => self.case(scrutinee, cases, *span)?,
                Node::Assert(pair, text, span) => {
                    if !self.truth(&pair.0)? {
                        let message = format!("Assertion is false: {text}");
                        return Err(Failure::at(*span, message));
                    }
                    &pair.1
                }
                Node::Checked(inner, check) => {
                    checks.push(check);
                    inner
                }
                Node::Call(callee, inst, nodes, span) if *callee == id && self.are_implied(&checks, func) => {
                    let args = self.args(nodes)?;
                    return Ok(Tail::Call(self.inst(inst)?, args, *span));
                }
                node => {
                    let value = self.eval(node)?;
                    for check in checks.into_iter().rev() {
                        self.check_value(check, &value)?;
                    }
                    return Ok(Tail::Value(value));
                }
            };
        }
    }

    /// Returns true if the checks hold for any value of the function's result type, as far as this
    /// is known before evaluation.
    fn are_implied(&mut self, checks: &[&SizeCheck], func: &Function) -> bool {
        if checks.is_empty() {
            return true;
        }
        let Some(result) = &func.check else {
            return false;
        };
        let result = self.evaluated_type(&result.ty);
        checks.iter().all(|check| self.evaluated_type(&check.ty) == result)
    }
}
