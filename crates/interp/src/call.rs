//! Calls: frames, function values, partial application, built-in functions on scalars.

use crate::debug::ActiveCall;
use crate::failure::{Class, Failure, Res};
use crate::machine::{Args, Machine, NO_SPAN};
use crate::operation::{compare, number};
use crate::shape::{INVALID_SIZES, Mode};
use crate::tree::{Comparison, Function, Slot};
use crate::value::{FunKind, FunValue, RunType, RunValue};
use check::intrinsics::{Intrinsic, bits_type, conversion};
use prim::{ConvOp, ScalarOp};
use std::rc::Rc;
use syntax::span::Span;

/// The maximum depth of nested calls.
const MAX_DEPTH: usize = 100_000;

impl Machine<'_> {
    /// Calls a function with as many arguments as it takes.
    pub fn call(
        &mut self,
        func: &Function,
        captured: &[RunValue],
        inst: &[RunValue],
        args: Args,
    ) -> Res<RunValue> {
        self.framed(func, |machine| {
            machine.bind_args(func, captured, inst, args)?;
            let value = machine.eval(&func.body)?;
            machine.returned(func, value)
        })
    }

    /// Runs `f` in a new frame of a function.
    pub(crate) fn framed<R>(&mut self, func: &Function, f: impl FnOnce(&mut Self) -> Res<R>) -> Res<R> {
        self.step()?;
        if self.depth >= MAX_DEPTH {
            return Err(Failure::new(Class::Program, "stack overflow: the recursion is too deep."));
        }
        self.depth += 1;
        let (base, site) = (self.base, self.call_site);
        self.base = self.stack.len();
        if let Some(scope) = &func.scope {
            let scope = Rc::clone(scope);
            let base = self.base;
            self.active.push(ActiveCall { scope, base, site });
        }
        self.stack.resize_with(self.base + func.n_slots, RunValue::default);
        let result = f(self);
        self.stack.truncate(self.base);
        self.base = base;
        self.call_site = site;
        if func.scope.is_some() {
            self.active.pop();
        }
        self.depth -= 1;
        result
    }

    /// Binds captured values, type and size arguments and arguments in a function's frame.
    pub(crate) fn bind_args(
        &mut self,
        func: &Function,
        captured: &[RunValue],
        inst: &[RunValue],
        args: Args,
    ) -> Res<()> {
        let comparable = std::mem::take(&mut self.comparable);
        if func.check_sizes {
            self.bound_args.push(args.clone());
        }
        for (slot, value) in func.captures.iter().zip(captured) {
            self.set(*slot, value.clone());
        }
        for (slot, ty) in (0..func.n_types as Slot).zip(inst) {
            self.set(slot, ty.clone());
        }
        let from_outside = std::mem::take(&mut self.entry_args);
        for (i, (param, arg)) in func.params.iter().zip(args).enumerate() {
            if let Some(names) = &from_outside
                && let Some(ty) = &param.ty
            {
                let fits = self.check_shape(ty, &arg, Mode::Strict, param.span);
                fits.map_err(|failure| match (failure.class, names.get(i)) {
                    (Class::Program, Some(name)) => of_argument(&failure, name, func.span),
                    _ => failure,
                })?;
            }
            if param.ty.is_some() || param.check.is_some() {
                self.check_bound(param, &arg, comparable)?;
            }
            self.destructure(&param.pat, arg)?;
        }
        // Sizes that the arguments do not determine are taken from the instance.
        let sizes = func.n_types as Slot..(func.n_types + func.n_sizes) as Slot;
        for (slot, size) in sizes.zip(inst.iter().skip(func.n_types)) {
            if matches!(self.peek(slot), RunValue::Unbound) {
                self.set(slot, size.clone());
            }
        }
        for param in &func.params {
            self.zero_unbound_sizes(&param.payload_sizes);
        }
        if func.check_sizes {
            self.check_args(func, inst)?;
        }
        Ok(())
    }

    /// Checks that a function's result has the shape of its type.
    pub(crate) fn returned(&mut self, func: &Function, value: RunValue) -> Res<RunValue> {
        if let Some(ty) = &func.ret {
            if func.check.is_none() {
                self.unbind(&func.ext);
            }
            if let Err(failure) = self.check_shape(ty, &value, Mode::Check, func.span) {
                return Err(self.classify(failure, func.check.as_deref(), &value));
            }
        }
        if let Some(check) = &func.check {
            self.check_value(check, &value)?;
        }
        Ok(value)
    }

    /// Calls a definition with as many arguments as it takes.
    pub fn call_global(&mut self, id: u32, inst: &[RunValue], args: Args) -> Res<RunValue> {
        let func = self.interp.func(id)?;
        if !self.running.is_empty()
            && let Some((fun, ty)) = func.math
            && args.iter().any(|arg| matches!(arg, RunValue::Active(_)))
        {
            return self.derived(&ScalarOp::Math(fun, ty, args.into_iter().collect()));
        }
        self.framed(&func, |machine| {
            machine.bind_args(&func, &[], inst, args)?;
            machine.run_tail_calls(id, &func)
        })
    }

    /// Applies a definition to arguments from outside, as many as there are. Messages refer to them
    /// by `names`.
    pub fn call_entry(&mut self, id: u32, args: Args, names: Box<[String]>) -> Res<RunValue> {
        let fun = self.definition(id)?;
        if args.is_empty() {
            return Ok(fun);
        }
        self.entry_args = (self.interp.arity(id) > 0).then_some(names);
        self.apply(&fun, args)
    }

    /// Applies a function value to arguments, as many as there are.
    pub fn apply(&mut self, fun: &RunValue, args: Args) -> Res<RunValue> {
        let RunValue::Fun(fun) = fun else {
            return Err(Failure::bug("application of a value that is not a function"));
        };
        if fun.args.is_empty() {
            return self.apply_kind(&fun.kind, args);
        }
        let mut all: Args = fun.args.iter().cloned().collect();
        all.extend(args);
        self.apply_kind(&fun.kind, all)
    }

    fn apply_kind(&mut self, kind: &FunKind, mut args: Args) -> Res<RunValue> {
        let arity = match kind {
            FunKind::Closure { func, .. } => func.params.len(),
            FunKind::Global { id, .. } => self.interp.arity(*id),
            FunKind::Intrinsic(fun, _) => fun.arity(),
        };
        if args.len() < arity {
            self.comparable = false;
            let fun = FunValue { kind: kind.clone(), args: args.into_vec() };
            return Ok(RunValue::Fun(Rc::new(fun)));
        }
        let rest: Args = args.drain(arity..).collect();
        let value = match kind {
            FunKind::Closure { func, captured, inst } => self.call(func, captured, inst, args)?,
            FunKind::Global { id, inst } => self.call_global(*id, inst, args)?,
            FunKind::Intrinsic(fun, types) => {
                self.comparable = false;
                self.intrinsic(*fun, types, args)?
            }
        };
        if rest.is_empty() { Ok(value) } else { self.apply(&value, rest) }
    }

    /// Applies a function to one argument.
    pub fn apply1(&mut self, fun: &RunValue, x: RunValue) -> Res<RunValue> {
        self.apply(fun, Args::from_iter([x]))
    }

    /// Applies a function to two arguments.
    pub fn apply2(&mut self, fun: &RunValue, x: RunValue, y: RunValue) -> Res<RunValue> {
        if let (RunValue::Fun(fun), RunValue::Scalar(_), RunValue::Scalar(_)) = (fun, &x, &y)
            && let FunKind::Intrinsic(Intrinsic::Binary(op, ty), _) = &fun.kind
            && fun.args.is_empty()
        {
            self.step()?;
            if self.nans {
                return self.apply_watched(*op, *ty, &x, &y);
            }
            return self.binary(*op, *ty, &x, &y, NO_SPAN);
        }
        self.apply(fun, Args::from_iter([x, y]))
    }

    fn intrinsic(&mut self, fun: Intrinsic, types: &[Rc<RunType>], args: Args) -> Res<RunValue> {
        let wrong = || Failure::bug("a built-in function with arguments of wrong types");
        let result = match (fun, args.as_slice()) {
            (Intrinsic::Array(fun), _) => return self.array_fun(fun, types, args, NO_SPAN),
            (Intrinsic::Equal { negate }, [x, y]) => RunValue::bool(x.equals(y) != negate),
            (Intrinsic::Binary(op, ty), [x, y]) => self.binary(op, ty, x, y, NO_SPAN)?,
            (Intrinsic::Compare { op, swap, negate, .. }, [x, y]) => {
                RunValue::bool(compare(Comparison { op, swap, negate }, number(x)?, number(y)?)?)
            }
            (Intrinsic::Unary(op, _), [x]) => self.unary(op, x)?,
            (Intrinsic::Convert { from, to }, [x]) => match conversion(from, to) {
                Some(op) => self.convert(op, x, to.prim())?,
                None => x.clone(),
            },
            (Intrinsic::ToBits(ty), [x]) => self.convert(ConvOp::ToBits, x, bits_type(ty).prim())?,
            (Intrinsic::FromBits(ty), [x]) => self.convert(ConvOp::FromBits, x, ty.prim())?,
            (Intrinsic::Fma(_), [x, y, z]) => self.fma(x, y, z)?,
            (Intrinsic::Math(fun, _), args) => self.math(fun, args)?,
            _ => return Err(wrong()),
        };
        if self.nans && !matches!(fun, Intrinsic::FromBits(_)) {
            self.check_new_nan(&args, &result, NO_SPAN)?;
        }
        Ok(result)
    }
}

/// The failure of an entry point's argument that contradicts the others.
fn of_argument(failure: &Failure, name: &str, span: Span) -> Box<Failure> {
    let mismatch = failure.message.strip_prefix("Value").unwrap_or("");
    let end = if mismatch.is_empty() { "." } else { mismatch };
    Failure::at(span, format!("{INVALID_SIZES}: {name}{end}"))
}
