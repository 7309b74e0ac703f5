//! Application: functions are inlined where they are called, unless they become core functions (see
//! [`crate::function`]).

use crate::inline::InlineDecision;
use crate::payload::unclaimed;
use crate::size::Mismatch;
use crate::value::{Env, FunKind, FunVal, Inst, Value};
use crate::{Lower, Res};
use check::intrinsics::Intrinsic;
use check::tast::{Def, Exp, Pat, RetType};
use ir::remark::RemarkKind;
use prim::ScalarType;
use std::rc::Rc;
use std::sync::Arc;

/// The largest depth of nested inlining of the same function.
const MAX_ENTERED: u32 = 500;

impl Lower<'_> {
    /// Applies a function to any number of arguments.
    pub(crate) fn apply(&mut self, fun: &Value, args: Vec<Value>) -> Res<Value> {
        let Value::Fun(fun) = fun else {
            return self.bug("the applied value is not a function");
        };
        let arity = match &fun.kind {
            FunKind::Lambda(lambda, _) => lambda.params.len(),
            FunKind::Def(def, ..) => def.params.len(),
            FunKind::Intrinsic(fun, ..) => fun.arity(),
            FunKind::Hole(..) => 1,
            FunKind::Absent => {
                return self.bug("a function in a sum type whose constructor is unknown at compile time");
            }
            FunKind::Checked(inner, cert) => {
                let result = self.apply(&Value::Fun(Rc::clone(inner)), args)?;
                return self.under(Some(*cert), &result);
            }
        };
        let mut all = fun.args.clone();
        all.extend(args);
        if all.len() < arity {
            let kind = fun.kind.clone();
            return Ok(Value::Fun(Rc::new(FunVal { kind, args: all })));
        }
        let rest = all.split_off(arity);
        let result = match &fun.kind {
            FunKind::Lambda(lambda, env) => {
                let env = Env::inside(env);
                self.in_place(&lambda.params, &[], &lambda.ret, &lambda.body, &env, all)?
            }
            FunKind::Def(def, env, inst) => {
                let arrays = if self.f.has_needs() { all.clone() } else { Vec::new() };
                match self.call(def, env, inst, all)? {
                    Value::Scalar(size, ScalarType::I64) => {
                        Value::Scalar(self.size_under(size, &arrays), ScalarType::I64)
                    }
                    other => other,
                }
            }
            FunKind::Hole(arrow, env) => {
                let env = Env::inside(env);
                if let (Some(var), Some(arg)) = (arrow.name, all.into_iter().next()) {
                    env.bind(var, arg);
                }
                self.hole(&arrow.ret.ty, &env, &arrow.ret.existential_sizes)?
            }
            FunKind::Intrinsic(Intrinsic::Array(fun), types, sizes) => {
                self.array_intrinsic(*fun, types, sizes, all)?
            }
            FunKind::Intrinsic(Intrinsic::Equal { negate }, ..) => {
                let [x, y] = all.as_slice() else {
                    return self.bug("an equality needs two operands");
                };
                let same = self.equal(x, y)?;
                Value::bool(if *negate { self.f.not(same) } else { same })
            }
            FunKind::Intrinsic(fun, ..) => self.scalar_intrinsic(*fun, &all)?,
            FunKind::Absent | FunKind::Checked(..) => return self.bug("application of an absent function"),
        };
        if rest.is_empty() { Ok(result) } else { self.apply(&result, rest) }
    }

    fn call(&mut self, def: &Arc<Def>, env: &Rc<Env>, inst: &Rc<Inst>, args: Vec<Value>) -> Res<Value> {
        if let Some(result) = self.math_operation(def, &args)? {
            return Ok(result);
        }
        let decision = self.inline_decision(def, inst, &args);
        let shared = match decision {
            InlineDecision::Function => true,
            InlineDecision::Inline { or_function } => or_function && self.copies.should_share(def.var),
        };
        if shared {
            // If not all of its captured values can be passed, it is inlined after all.
            match self.captures(def, env, inst, &args) {
                Ok(captured) => match self.call_instance(def, env, inst, &args, captured)? {
                    Some(result) => return Ok(result),
                    None if decision == InlineDecision::Function => {
                        return self.bug("neither arguments nor context determine a size of a call");
                    }
                    None => {}
                },
                Err(error) if decision == InlineDecision::Function => return Err(error),
                Err(_) => {}
            }
        }
        // A library function is a part of the caller's expression.
        if !def.is_prelude {
            self.remark(def, RemarkKind::EvaluatedAtCall);
        }
        let env = Env::inside(env);
        for (var, ty) in &inst.types {
            env.bind_type(*var, ty.clone());
        }
        let entered = self.inline_depth.entry(def.var).or_insert(0);
        *entered += 1;
        if *entered > MAX_ENTERED {
            return self.unsupported("recursive functions that must be inlined");
        }
        let (copy, before) = (self.copies.begin(def.var), self.f.size());
        // A library function is a part of the caller's expression.
        let attrs = (!def.is_prelude).then(|| self.f.enter_callee());
        let result = self.in_place(&def.params, &inst.sizes, &def.ret, &def.body, &env, args)?;
        if let Some(attrs) = attrs {
            self.f.set_attrs(attrs);
        }
        let names = self.f.size() - before;
        self.copies.end(def.var, &copy, names);
        if let Some(entered) = self.inline_depth.get_mut(&def.var) {
            *entered -= 1;
        }
        Ok(result)
    }

    /// Evaluates a function's body inline. Sizes that cannot be taken from the arguments are those
    /// of the instantiation.
    pub(crate) fn in_place(
        &mut self,
        params: &[Pat],
        sizes: &[(check::tast::VarId, crate::types::Size)],
        ret: &RetType,
        body: &Exp,
        env: &Rc<Env>,
        args: Vec<Value>,
    ) -> Res<Value> {
        self.calls.push(self.span);
        let (span, location, calls) = (self.span, self.f.location, self.f.calls);
        self.f.calls = self.f.prov();
        let mark = self.f.n_names();
        let bind_sizes = || {
            for (var, size) in sizes {
                if let (Some(size), None) = (size, env.get(*var)) {
                    env.bind(*var, Value::size(*size));
                }
            }
        };
        // Some sizes are known only from payloads of sums.
        if args.iter().any(Value::has_payload_sizes) {
            for (pat, arg) in params.iter().zip(&args) {
                self.target(&pat.ty, &arg.ty(), env, false)?;
            }
            bind_sizes();
        }
        for (pat, arg) in params.iter().zip(args) {
            self.bind_pattern(pat, arg, env, mark)?;
        }
        bind_sizes();
        // Existential sizes of the result are bound anew.
        let value = self.eval(body, env)?;
        for var in &ret.existential_sizes {
            env.unbind(*var);
        }
        let value = unclaimed(value, &ret.ty, &ret.existential_sizes);
        let value = self.conform(&ret.ty, value, env, false, Mismatch::Type)?;
        self.f.calls = calls;
        self.f.location = location;
        self.span = span;
        self.calls.pop();
        Ok(value)
    }
}
