//! The machine: evaluates resolved code with a stack of frames.
//!
//! Each call ([`crate::call`]) has a frame of slots on one stack. Calls and nested expressions use
//! the native stack, which grows as needed, up to a limit on the depth of calls.

use crate::Interp;
use crate::debug::{ActiveCall, Debugger};
use crate::derivative::Running;
use crate::derivative::active::Level;
use crate::failure::{Class, Failure, Res};
use crate::operation::{compare, number};
use crate::shape::Mode;
use crate::tree::{Bind, Instance, Node, Param, Pat, SizeExpr, SizedType, Slot};
use crate::value::{FunKind, FunValue, Parts, RunType, RunValue};
use prim::{CmpOp, Scalar};
use smallvec::SmallVec;
use std::rc::Rc;
use std::time::Instant;
use syntax::span::{FileId, Span};

/// A span that denotes no source text.
pub const NO_SPAN: Span = Span::new(FileId(u32::MAX), 0, 0);

/// The number of steps between two checks of the deadline.
const DEADLINE_INTERVAL: u32 = 1 << 12;

/// The number of steps between two checks for interrupts.
const POLL_INTERVAL: u32 = 1 << 6;

/// Arguments of a call.
pub type Args = SmallVec<[RunValue; 4]>;

/// An evaluation in progress.
pub struct Machine<'a> {
    pub(crate) interp: &'a Interp,
    pub(crate) stack: Vec<RunValue>,
    pub(crate) base: usize,
    pub(crate) depth: usize,
    steps: u32,
    deadline: Option<Instant>,
    /// The source span of the innermost call from outside of the prelude.
    pub(crate) call_site: Span,
    /// The calls of watched functions.
    pub(crate) active: Vec<ActiveCall>,
    pub(crate) watcher: Option<&'a mut Debugger<'a>>,
    /// True if new NaNs stop the evaluation.
    pub(crate) nans: bool,
    /// The names of the arguments, if the next frame is an entry point's, whose arguments come from
    /// outside: all of their sizes are checked.
    pub(crate) entry_args: Option<Box<[String]>>,
    /// True if the checker could compare the sizes of the next frame's arguments.
    pub(crate) comparable: bool,
    /// Arguments of calls that are being bound, if sizes are checked.
    pub(crate) bound_args: Vec<Args>,
    /// The number of size expressions that are being evaluated for checks.
    pub(crate) size_depth: u32,
    /// The derivatives that are being computed, from the outermost.
    pub(crate) running: Vec<Running>,
    /// The level of the newest derivative so far.
    pub(crate) last_level: Level,
}

impl<'a> Machine<'a> {
    /// A machine for a program.
    pub fn new(interp: &'a Interp, deadline: Option<Instant>) -> Self {
        Self {
            interp,
            stack: Vec::new(),
            base: 0,
            depth: 0,
            steps: 0,
            deadline,
            call_site: NO_SPAN,
            active: Vec::new(),
            watcher: None,
            nans: false,
            entry_args: None,
            comparable: false,
            bound_args: Vec::new(),
            size_depth: 0,
            running: Vec::new(),
            last_level: 0,
        }
    }

    // ------------------------------------------------------------------ slots

    /// The value in a slot.
    pub fn peek(&self, slot: Slot) -> &RunValue {
        &self.stack[self.base + slot as usize]
    }

    /// Puts a value into a slot.
    pub fn set(&mut self, slot: Slot, value: RunValue) {
        let at = self.base + slot as usize;
        self.stack[at] = value;
    }

    /// Resets slots to unbound.
    pub fn unbind(&mut self, slots: &[Slot]) {
        for slot in slots {
            self.set(*slot, RunValue::Unbound);
        }
    }

    /// Counts a step; fails after the deadline, or when evaluation was interrupted.
    #[inline]
    pub fn step(&mut self) -> Res<()> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(POLL_INTERVAL) {
            return self.poll();
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn poll(&self) -> Res<()> {
        if self.interp.is_interrupted() {
            return Err(Failure::new(Class::Interrupted, "Interrupted."));
        }
        if self.steps.is_multiple_of(DEADLINE_INTERVAL)
            && self.deadline.is_some_and(|end| Instant::now() > end)
        {
            return Err(Failure::new(Class::Timeout, "time limit exceeded"));
        }
        Ok(())
    }

    /// Records the source span of a call, if it is outside of the prelude.
    fn at(&mut self, span: Span) {
        if self.interp.is_user_code(span) {
            self.call_site = span;
        }
    }

    // --------------------------------------------------------------- patterns

    /// Binds a pattern that matches, after checking the value's shape.
    pub fn bind(&mut self, param: &Param, value: RunValue) -> Res<()> {
        if param.ty.is_some() || param.check.is_some() {
            self.check_bound(param, &value, true)?;
        }
        self.destructure(&param.pat, value)
    }

    /// Checks the shape of a value that a pattern will bind. `comparable` is true if the checker
    /// could compare the sizes of the value's type, regardless of the pattern's own type.
    pub(crate) fn check_bound(&mut self, param: &Param, value: &RunValue, comparable: bool) -> Res<()> {
        if let Some(ty) = &param.ty
            && let Err(failure) = self.check_shape(ty, value, Mode::Check, param.span)
        {
            let check = param.check.as_deref().filter(|_| comparable);
            return Err(self.classify(failure, check, value));
        }
        match &param.check {
            Some(check) => self.check_value(check, value),
            None => Ok(()),
        }
    }

    pub(crate) fn destructure(&mut self, pat: &Pat, value: RunValue) -> Res<()> {
        match (pat, value) {
            (Pat::Var(slot), value) => self.set(*slot, value),
            (Pat::Checked(pat, check), value) => {
                self.check_value(check, &value)?;
                self.destructure(pat, value)?;
            }
            (Pat::Wild | Pat::Lit(_), _) => {}
            (Pat::Parts(pats), RunValue::Tuple(parts)) => {
                let mut parts = Rc::try_unwrap(parts).unwrap_or_else(|shared| (*shared).clone());
                for (at, pat) in pats {
                    let part = parts.get_mut(*at as usize).map(std::mem::take);
                    let part = part.ok_or_else(|| Failure::bug("a pattern with too many components"))?;
                    self.destructure(pat, part)?;
                }
            }
            (Pat::Constr(_, pats), RunValue::Sum(sum)) => {
                let sum = Rc::try_unwrap(sum).unwrap_or_else(|shared| (*shared).clone());
                for (pat, part) in pats.iter().zip(sum.1) {
                    self.destructure(pat, part)?;
                }
            }
            _ => return Err(Failure::bug("a pattern for a value of another type")),
        }
        Ok(())
    }

    fn matches(pat: &Pat, value: &RunValue) -> bool {
        match (pat, value) {
            (Pat::Var(_) | Pat::Wild, _) => true,
            (Pat::Checked(pat, _), value) => Self::matches(pat, value),
            (Pat::Lit(x), RunValue::Scalar(_) | RunValue::Active(_)) => {
                let y = value.as_scalar();
                y.is_some_and(|y| prim::eval::compare(CmpOp::Eq, *x, y) == Some(true))
            }
            (Pat::Parts(pats), RunValue::Tuple(parts)) => pats.iter().all(|(at, pat)| {
                let part = parts.get(*at as usize);
                part.is_some_and(|part| Self::matches(pat, part))
            }),
            (Pat::Constr(number, pats), RunValue::Sum(sum)) => {
                *number == sum.0 && pats.iter().zip(&sum.1).all(|(p, v)| Self::matches(p, v))
            }
            _ => false,
        }
    }

    // ------------------------------------------------------------ expressions

    /// The value of an expression.
    pub fn eval(&mut self, node: &Node) -> Res<RunValue> {
        match node {
            Node::Const(value) => Ok(value.clone()),
            Node::Slot(slot) => match self.peek(*slot) {
                RunValue::Unbound => Err(Failure::new(Class::Unbound, "an unknown size")),
                value => Ok(value.clone()),
            },
            Node::Move(slot) => {
                let at = self.base + *slot as usize;
                match std::mem::take(&mut self.stack[at]) {
                    RunValue::Unbound => Err(Failure::new(Class::Unbound, "an unknown size")),
                    value => Ok(value),
                }
            }
            _ => stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || self.eval_node(node)),
        }
    }

    /// The value of a scalar expression, without its derivatives.
    pub fn scalar(&mut self, node: &Node) -> Res<Scalar> {
        match self.eval(node)? {
            RunValue::Scalar(x) => Ok(x),
            other => number(&other),
        }
    }

    pub(crate) fn truth(&mut self, node: &Node) -> Res<bool> {
        truth(&self.eval(node)?)
    }

    /// The values of arguments, evaluated from the last to the first.
    pub(crate) fn args(&mut self, nodes: &[Node]) -> Res<Args> {
        let mut args = Args::with_capacity(nodes.len());
        for node in nodes.iter().rev() {
            args.push(self.eval(node)?);
        }
        args.reverse();
        Ok(args)
    }

    pub(crate) fn inst(&mut self, inst: &Instance) -> Res<Args> {
        let mut out = Args::new();
        for ty in &inst.types {
            out.push(RunValue::Type(self.rty(ty)?));
        }
        for dim in &inst.sizes {
            out.push(self.size(dim)?);
        }
        Ok(out)
    }

    fn size(&mut self, dim: &SizeExpr) -> Res<RunValue> {
        Ok(self.dim(dim)?.map_or(RunValue::Unbound, RunValue::i64))
    }

    fn eval_node(&mut self, node: &Node) -> Res<RunValue> {
        match node {
            Node::Const(_) | Node::Slot(_) | Node::Move(_) => self.eval(node),
            Node::Binary(op, ty, pair, span) => {
                let x = self.eval(&pair.0)?;
                let y = self.eval(&pair.1)?;
                self.binary(*op, *ty, &x, &y, *span)
            }
            Node::Compare(comparison, pair) => {
                let x = self.scalar(&pair.0)?;
                let y = self.scalar(&pair.1)?;
                Ok(RunValue::bool(compare(*comparison, x, y)?))
            }
            Node::Unary(op, inner) => {
                let x = self.eval(inner)?;
                self.unary(*op, &x)
            }
            Node::Convert(op, to, inner) => {
                let x = self.eval(inner)?;
                self.convert(*op, &x, *to)
            }
            Node::Math(fun, nodes) => {
                let mut args: SmallVec<[RunValue; 2]> = SmallVec::new();
                for node in nodes {
                    args.push(self.eval(node)?);
                }
                self.math(*fun, &args)
            }
            Node::Fma(nodes) => {
                let x = self.eval(&nodes[0])?;
                let y = self.eval(&nodes[1])?;
                let z = self.eval(&nodes[2])?;
                self.fma(&x, &y, &z)
            }
            Node::Equal(negate, pair) => {
                let x = self.eval(&pair.0)?;
                let y = self.eval(&pair.1)?;
                Ok(RunValue::bool(x.equals(&y) != *negate))
            }
            Node::If(parts) => {
                if self.truth(&parts.0)? {
                    self.eval(&parts.1)
                } else {
                    self.eval(&parts.2)
                }
            }
            Node::And(pair) => Ok(RunValue::bool(self.truth(&pair.0)? && self.truth(&pair.1)?)),
            Node::Or(pair) => Ok(RunValue::bool(self.truth(&pair.0)? || self.truth(&pair.1)?)),
            Node::Let(binds, body) => {
                self.binds(binds)?;
                self.eval(body)
            }
            Node::Loop(inner) => self.run_loop(inner),
            Node::Match(scrutinee, cases, span) => {
                let body = self.case(scrutinee, cases, *span)?;
                self.eval(body)
            }
            Node::Parts(nodes) => {
                let mut parts = Parts::new();
                for (at, node) in nodes {
                    let value = self.eval(node)?;
                    let at = *at as usize;
                    if at >= parts.len() {
                        parts.resize(at + 1, RunValue::Unbound);
                    }
                    parts[at] = value;
                }
                Ok(RunValue::Tuple(Rc::new(parts)))
            }
            Node::Field(inner, at) => {
                let RunValue::Tuple(mut parts) = self.eval(inner)? else {
                    return Err(Failure::bug("a projection from a value that is not a tuple"));
                };
                let at = *at as usize;
                let part = match Rc::get_mut(&mut parts) {
                    Some(unshared) => unshared.get_mut(at).map(std::mem::take),
                    None => parts.get(at).cloned(),
                };
                part.ok_or_else(|| Failure::bug("a projection of a field that does not exist"))
            }
            Node::WithField(pair, path) => {
                let mut record = self.eval(&pair.0)?;
                let value = self.eval(&pair.1)?;
                let mut part = &mut record;
                for at in path {
                    let RunValue::Tuple(parts) = part else {
                        return Err(Failure::bug("a field update of a value that is not a record"));
                    };
                    part = Rc::make_mut(parts)
                        .get_mut(*at as usize)
                        .ok_or_else(|| Failure::bug("an update of a field that does not exist"))?;
                }
                *part = value;
                Ok(record)
            }
            Node::Index(array, indices, span) => self.index(array, indices, *span),
            Node::Update(pair, indices, span) => self.update(&pair.0, indices, &pair.1, *span),
            Node::Array(nodes, ty, span) => self.literal(nodes, ty, *span),
            Node::Range(range) => self.range(range),
            Node::Call(id, inst, nodes, span) => {
                let comparable = inst.comparable;
                let args = self.args(nodes)?;
                let inst = self.inst(inst)?;
                self.at(*span);
                self.comparable = comparable;
                self.call_global(*id, &inst, args).map_err(|failure| failure.with_caller(*span))
            }
            Node::Apply(fun, nodes, span, comparable) => {
                let args = self.args(nodes)?;
                let fun = self.eval(fun)?;
                self.at(*span);
                self.comparable = *comparable;
                self.apply(&fun, args).map_err(|failure| failure.with_caller(*span))
            }
            Node::ArrayFun(fun, types, nodes, span) => {
                let args = self.args(nodes)?;
                let types = self.rtys(types)?;
                self.at(*span);
                self.array_fun(*fun, &types, args, *span).map_err(|failure| match failure.backtrace.last() {
                    Some(last) if last == span => failure,
                    _ => failure.with_caller(*span),
                })
            }
            Node::Intrinsic(fun, types) => {
                let kind = FunKind::Intrinsic(*fun, self.rtys(types)?.into());
                Ok(function(kind))
            }
            Node::Global(id) => self.global(*id, &[]),
            Node::GlobalInst(id, inst) => {
                let inst = self.inst(inst)?;
                self.global(*id, &inst)
            }
            Node::LocalInst(inner, inst, span) => {
                let fun = self.eval(inner)?;
                let inst = self.inst(inst)?;
                let RunValue::Fun(fun) = &fun else {
                    return Ok(fun);
                };
                let FunKind::Closure { func, captured, .. } = &fun.kind else {
                    return Err(Failure::bug("instantiation of a function that is not a closure"));
                };
                if func.params.is_empty() {
                    return self
                        .call(func, captured, &inst, Args::new())
                        .map_err(|failure| failure.with_caller(*span));
                }
                Ok(function(FunKind::Closure {
                    func: Rc::clone(func),
                    captured: Rc::clone(captured),
                    inst: inst.into_vec().into(),
                }))
            }
            Node::Closure(func, nodes) => {
                let captured = nodes.iter().map(|node| self.captured(node)).collect();
                Ok(function(FunKind::Closure { func: Rc::clone(func), captured, inst: Rc::from([]) }))
            }
            Node::Constr(number, nodes) => {
                let mut parts = Parts::new();
                for node in nodes {
                    parts.push(self.eval(node)?);
                }
                Ok(RunValue::Sum(Rc::new((*number, parts))))
            }
            Node::Coerce(inner, sizes, ty, span) => {
                let value = self.eval(inner)?;
                self.unbind(sizes);
                self.check_shape(ty, &value, Mode::Strict, *span)?;
                Ok(value)
            }
            Node::Assert(pair, text, span) => {
                if !self.truth(&pair.0)? {
                    return Err(Failure::at(*span, format!("Assertion is false: {text}")));
                }
                self.eval(&pair.1)
            }
            Node::Trace(tag, inner, ty, span) => {
                let value = self.eval(inner)?;
                let ty = self.rty(ty)?;
                let span = self.user_span(*span);
                if self.size_depth == 0 {
                    self.interp.trace(tag.as_deref(), &value, &ty, span);
                }
                Ok(value)
            }
            Node::Break(inner, span) => {
                self.breakpoint(*span)?;
                self.eval(inner)
            }
            Node::Watched(inner, span) => self.eval_watched(inner, *span),
            Node::DontCare(inner, ty, span) => self.dont_care(inner, ty, *span),
            Node::BindSizes(inner, slots, ty) => {
                let value = self.eval(inner)?;
                self.bind_sizes(slots, ty, &value)?;
                Ok(value)
            }
            Node::Checked(inner, check) => {
                let value = self.eval(inner)?;
                self.check_value(check, &value)?;
                Ok(value)
            }
            Node::Hole(ty, span) => Err(Failure::at(*span, format!("Reached hole of type: {ty}"))),
            Node::Refused(what, span) => Err(Failure::bug(what).with_caller(*span)),
        }
    }

    /// Evaluates and binds the bindings of a `let`.
    pub(crate) fn binds(&mut self, binds: &[Bind]) -> Res<()> {
        for bind in binds {
            match bind {
                Bind::Pat(sizes, param, node, known) => {
                    let value = self.eval(node)?;
                    self.unbind(sizes);
                    self.bind(param, value)?;
                    if let (Some(known), Some(ty)) = (known, &param.ty) {
                        let known = self.rty(known)?;
                        self.fit_type(ty, &known, Mode::BindSizes)?;
                        self.zero_unbound_sizes(&param.payload_sizes);
                    }
                }
                Bind::Fun(slot, node) => {
                    let value = self.eval(node)?;
                    self.set(*slot, value);
                }
            }
        }
        Ok(())
    }

    /// The body of the first matching case, with its variables bound.
    pub(crate) fn case<'n>(
        &mut self,
        scrutinee: &Node,
        cases: &'n [(Param, Node)],
        span: Span,
    ) -> Res<&'n Node> {
        let value = self.eval(scrutinee)?;
        let found = cases.iter().find(|(param, _)| Self::matches(&param.pat, &value));
        let Some((param, body)) = found else {
            return Err(Failure::at(span, "no case matches"));
        };
        self.bind(param, value)?;
        Ok(body)
    }

    /// A captured value; a captured size may still be unbound.
    fn captured(&mut self, node: &Node) -> RunValue {
        match node {
            Node::Move(slot) => {
                let at = self.base + *slot as usize;
                std::mem::take(&mut self.stack[at])
            }
            Node::Slot(slot) => self.peek(*slot).clone(),
            _ => RunValue::Unbound,
        }
    }

    /// The value of a definition without type and size parameters.
    pub fn definition(&mut self, id: u32) -> Res<RunValue> {
        self.global(id, &[])
    }

    fn global(&mut self, id: u32, inst: &[RunValue]) -> Res<RunValue> {
        if self.interp.arity(id) > 0 {
            let inst = inst.iter().cloned().collect();
            return Ok(function(FunKind::Global { id, inst }));
        }
        if !inst.is_empty() {
            return self.call_global(id, inst, Args::new());
        }
        if let Some(value) = self.interp.constant(id) {
            return Ok(value);
        }
        // NaNs in the prelude's constants are not reported.
        let nans = self.nans;
        self.nans = nans && !self.interp.is_prelude(id);
        let value = self.call_global(id, &[], Args::new());
        self.nans = nans;
        let value = value?;
        self.interp.set_constant(id, value.clone());
        Ok(value)
    }

    fn literal(&mut self, nodes: &[Node], ty: &SizedType, span: Span) -> Res<RunValue> {
        let mut rows = crate::build::Rows::new(nodes.len());
        for node in nodes {
            let value = self.eval(node)?;
            let pushed = rows.push(value);
            self.row_result(pushed, Some(ty), span)?;
        }
        let claim = if nodes.is_empty() { self.rty(ty)? } else { Rc::new(RunType::Unknown) };
        Ok(rows.finish(|| claim))
    }
}

/// A function value without arguments.
fn function(kind: FunKind) -> RunValue {
    RunValue::Fun(Rc::new(FunValue { kind, args: Vec::new() }))
}

/// The truth value without its derivatives.
pub fn truth(value: &RunValue) -> Res<bool> {
    let truth = value.as_scalar().and_then(Scalar::as_bool);
    truth.ok_or_else(|| Failure::bug("a value that is not a `bool`"))
}

/// An integer as an `i64`, according to its signedness; a larger unsigned number becomes
/// `i64::MAX`.
pub fn index_of(x: Scalar, signed: bool) -> i64 {
    if signed { x.as_i64().unwrap_or(0) } else { i64::try_from(x.bits()).unwrap_or(i64::MAX) }
}
