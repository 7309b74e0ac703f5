//! Watched evaluation: breakpoints and new NaNs stop it, and the watcher is shown the calls in
//! progress with their variables.
//!
//! A watched program is resolved differently ([`crate::resolve`]): functions outside of the prelude
//! record which variables are in scope in each of their parts, inner functions capture all of them,
//! and variables keep their values after their last use. That costs time, so programs are watched
//! only on request.

use crate::derivative::plain;
use crate::failure::{Class, Failure, Res};
use crate::machine::{Machine, NO_SPAN};
use crate::tree::{Node, SizeExpr, SizedType, Slot};
use crate::value::{Data, RunType, RunValue, UNKNOWN};
use check::intrinsics::{ArrayFun, Intrinsic};
use check::tast::{Exp, ExpKind, Name, Program, Ty, VarId};
use prim::{BinOp, Scalar, ScalarType};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::fmt::Write as _;
use std::rc::Rc;
use syntax::span::Span;

/// The maximum number of calls shown, from the innermost.
const MOST_CALLS: usize = 100;

/// The reason why an evaluation stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A breakpoint was reached.
    Breakpoint,
    /// An operator yielded a NaN from operands that are not NaN.
    NewNan,
}

/// A variable, as shown to a watcher.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name.
    pub name: Name,
    /// Its type in source syntax; sizes are variables or numbers.
    pub ty: String,
    /// Its value.
    pub value: RunValue,
}

/// A call in progress.
#[derive(Clone, Debug)]
pub struct Call {
    /// The source span of its current expression.
    pub span: Span,
    /// The variables in scope there except functions, sizes first.
    pub locals: Vec<Local>,
}

/// A stopped evaluation.
#[derive(Debug)]
pub struct Stop {
    /// The reason.
    pub reason: Reason,
    /// The calls in progress, innermost first; at least one.
    pub calls: Vec<Call>,
}

/// A watcher's decision after a stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resume {
    /// The evaluation continues.
    Continue,
    /// The evaluation ends with a failure of class [`Class::Interrupted`].
    End,
}

/// A callback that is invoked at each stop.
pub type Debugger<'a> = dyn FnMut(&Stop) -> Resume + 'a;

/// A variable of a function, with the source region that is its scope.
#[derive(Debug)]
pub struct ScopedVar {
    pub(crate) var: VarId,
    pub(crate) name: Name,
    pub(crate) slot: Slot,
    pub(crate) source: Ty,
    pub(crate) ty: SizedType,
    pub(crate) region: Span,
}

impl ScopedVar {
    /// Returns true if the variable is in scope at a span.
    pub(crate) fn is_visible_at(&self, span: Span) -> bool {
        let region = self.region;
        region.file == span.file && region.start <= span.start && span.end <= region.end
    }
}

/// A call of a watched function.
#[derive(Debug)]
pub struct ActiveCall {
    pub(crate) scope: Rc<[ScopedVar]>,
    pub(crate) base: usize,
    /// The source span of the call.
    pub(crate) site: Span,
}

/// Returns true if the program's own definitions, not the prelude's, have breakpoints.
pub fn has_breakpoints(program: &Program) -> bool {
    let in_prelude = program.defs.iter().filter(|def| def.is_prelude);
    let breaks: FxHashSet<VarId> =
        in_prelude.map(|def| def.var).filter(|var| program.name(*var) == "break").collect();
    let mut defs = program.defs.iter().filter(|def| !def.is_prelude);
    defs.any(|def| breaks_in(&def.body, &breaks))
}

fn breaks_in(exp: &Exp, breaks: &FxHashSet<VarId>) -> bool {
    let here = match &exp.kind {
        ExpKind::Attr(attrs, _) => attrs.iter().any(|attr| &*attr.name == "break"),
        ExpKind::Var { id, .. } => breaks.contains(id),
        ExpKind::Intrinsic { fun, .. } => *fun == Intrinsic::Array(ArrayFun::Break),
        _ => false,
    };
    if here {
        return true;
    }
    let mut found = false;
    let mut look = |inner: &Exp| {
        let grow = || breaks_in(inner, breaks);
        found = found || stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, grow);
    };
    check::children(exp, &mut look);
    if let ExpKind::Let { binds, .. } = &exp.kind {
        for bind in binds {
            if let check::tast::Bind::Fun(def) = bind {
                look(&def.body);
            }
        }
    }
    found
}

impl Machine<'_> {
    /// The user's source span for an evaluation at `span`: within the prelude, that of the call
    /// that led there.
    pub(crate) fn user_span(&self, span: Span) -> Span {
        if self.interp.is_user_code(span) { span } else { self.call_site }
    }

    /// Stops at a breakpoint, if there is a watcher.
    pub(crate) fn breakpoint(&mut self, span: Span) -> Res<()> {
        self.stop(Reason::Breakpoint, span)
    }

    /// The value of an operator, with a check for new NaNs.
    pub(crate) fn eval_watched(&mut self, node: &Node, span: Span) -> Res<RunValue> {
        let mut operands: SmallVec<[RunValue; 3]> = SmallVec::new();
        let result = match node {
            Node::Binary(op, ty, pair, span) => {
                operands.push(self.eval(&pair.0)?);
                operands.push(self.eval(&pair.1)?);
                self.binary(*op, *ty, &operands[0], &operands[1], *span)?
            }
            Node::Math(fun, nodes) => {
                for node in nodes {
                    operands.push(self.eval(node)?);
                }
                self.math(*fun, &operands)?
            }
            Node::Fma(nodes) => {
                for node in nodes.iter() {
                    operands.push(self.eval(node)?);
                }
                self.fma(&operands[0], &operands[1], &operands[2])?
            }
            other => return self.eval(other),
        };
        if self.nans {
            self.check_new_nan(&operands, &result, span)?;
        }
        Ok(result)
    }

    /// The application of an operator that is a function value, with a check for new NaNs.
    #[cold]
    #[inline(never)]
    pub(crate) fn apply_watched(
        &mut self,
        op: BinOp,
        ty: ScalarType,
        x: &RunValue,
        y: &RunValue,
    ) -> Res<RunValue> {
        let z = self.binary(op, ty, x, y, NO_SPAN)?;
        self.check_new_nan(&[x.clone(), y.clone()], &z, NO_SPAN)?;
        Ok(z)
    }

    /// Stops if an operator yielded a NaN from operands that are not NaN.
    #[cold]
    #[inline(never)]
    pub(crate) fn check_new_nan(&mut self, operands: &[RunValue], result: &RunValue, span: Span) -> Res<()> {
        if !is_nan(result) || operands.iter().any(is_nan) {
            return Ok(());
        }
        self.stop(Reason::NewNan, span)
    }

    fn stop(&mut self, reason: Reason, span: Span) -> Res<()> {
        let Some(watcher) = self.watcher.take() else {
            return Ok(());
        };
        let stop = Stop { reason, calls: self.backtrace(self.user_span(span)) };
        let then = watcher(&stop);
        self.watcher = Some(watcher);
        match then {
            Resume::Continue => Ok(()),
            Resume::End => Err(Failure::new(Class::Interrupted, "Interrupted.")),
        }
    }

    fn backtrace(&self, mut span: Span) -> Vec<Call> {
        let mut calls = Vec::new();
        for active in self.active.iter().rev().take(MOST_CALLS) {
            let locals = self.locals(active, span);
            calls.push(Call { span, locals });
            span = active.site;
        }
        if calls.is_empty() {
            calls.push(Call { span, locals: Vec::new() });
        }
        calls
    }

    /// The variables in scope at a span in a call's function; of several with the same name the
    /// innermost.
    fn locals(&self, active: &ActiveCall, span: Span) -> Vec<Local> {
        let seen: Vec<&ScopedVar> = active.scope.iter().filter(|it| it.is_visible_at(span)).collect();
        let mut last = FxHashMap::default();
        for (at, one) in seen.iter().enumerate() {
            last.insert(&one.name, at);
        }
        let visible = seen.iter().enumerate();
        let visible = visible.filter(|(at, one)| last.get(&one.name) == Some(at));
        let visible: Vec<&ScopedVar> = visible.map(|(_, one)| *one).collect();
        let value = |slot: Slot| self.stack.get(active.base + slot as usize);
        let mut sizes = FxHashMap::default();
        for one in &visible {
            if one.source == Ty::I64 && value(one.slot).and_then(RunValue::as_scalar).is_some() {
                sizes.insert(one.slot, Rc::from(&*one.name));
            }
        }
        let types = Types { sizes: &sizes, slot: &value };
        let mut locals: Vec<(bool, Local)> = Vec::new();
        for one in visible {
            let Some(value) = value(one.slot).filter(|value| !matches!(value, RunValue::Unbound)) else {
                continue;
            };
            let mut ty = String::new();
            if types.push(&one.ty, &Shape::of(value), &mut ty).is_some() {
                let local = Local { name: one.name.clone(), ty, value: plain(value) };
                locals.push((!sizes.contains_key(&one.slot), local));
            }
        }
        locals.sort_by_key(|(later, _)| *later);
        locals.into_iter().map(|(_, local)| local).collect()
    }
}

fn is_nan(x: &RunValue) -> bool {
    match x.as_scalar() {
        Some(Scalar::F16(x)) => x.is_nan(),
        Some(Scalar::F32(x)) => x.is_nan(),
        Some(Scalar::F64(x)) => x.is_nan(),
        _ => false,
    }
}

/// The known sizes of a value: dimensions of an array, and an element.
#[derive(Clone, Copy)]
struct Shape<'a> {
    dims: &'a [i64],
    value: Option<&'a RunValue>,
}

impl<'a> Shape<'a> {
    fn of(value: &'a RunValue) -> Self {
        match value {
            RunValue::Array(array) => Self {
                dims: &array.shape,
                value: match &array.data {
                    Data::Other(elements, _) => elements.first(),
                    _ => None,
                },
            },
            _ => Self { dims: &[], value: Some(value) },
        }
    }

    /// The size of the outer dimension, and the shape of a row.
    fn row(self) -> (Option<i64>, Self) {
        match self.dims.split_first() {
            Some((dim, [])) => (Some(*dim), self.value.map_or(self.nothing(), Shape::of)),
            Some((dim, rest)) => (Some(*dim), Self { dims: rest, ..self }),
            None => (None, self.nothing()),
        }
    }

    const fn nothing(self) -> Self {
        Self { dims: &[], value: None }
    }

    fn part(self, at: usize) -> Self {
        match self.value {
            Some(RunValue::Tuple(parts)) => parts.get(at).map_or(self.nothing(), Shape::of),
            _ => self.nothing(),
        }
    }
}

/// Printer of types in source syntax.
struct Types<'a> {
    /// The names of slots that are sizes.
    sizes: &'a FxHashMap<Slot, Rc<str>>,
    slot: &'a dyn Fn(Slot) -> Option<&'a RunValue>,
}

impl Types<'_> {
    /// Appends a type; `None` if it has no representation, as function types.
    fn push(&self, ty: &SizedType, shape: &Shape<'_>, out: &mut String) -> Option<()> {
        match ty {
            SizedType::Static(ty) => push_plain(ty, *shape, out),
            SizedType::Var(slot) => match (self.slot)(*slot) {
                Some(RunValue::Type(ty)) => push_plain(ty, *shape, out),
                _ => None,
            },
            SizedType::Array(dim, elem) => {
                let (n, row) = shape.row();
                match (dim, n) {
                    (SizeExpr::Slot(slot), _) if self.sizes.contains_key(slot) => {
                        let _ = write!(out, "[{}]", self.sizes[slot]);
                    }
                    (_, Some(n)) => push_dim(n, out),
                    (SizeExpr::Const(n), None) => push_dim(*n, out),
                    (_, None) => out.push_str("[]"),
                }
                self.push(elem, &row, out)
            }
            SizedType::Tuple(parts) => {
                parenthesised(parts.len(), out, |at, out| self.push(&parts[at], &shape.part(at), out))
            }
            SizedType::Record(names, parts) => {
                record(names, out, |at, out| self.push(&parts[at], &shape.part(at), out))
            }
            SizedType::Sum(names, parts) => sum(names, out, |at, out| {
                parts[at].iter().try_for_each(|ty| {
                    out.push(' ');
                    self.push(ty, &shape.nothing(), out)
                })
            }),
        }
    }
}

/// Appends a type without named sizes.
fn push_plain(ty: &RunType, shape: Shape<'_>, out: &mut String) -> Option<()> {
    match ty {
        RunType::Scalar(ty) => {
            out.push_str(ty.name());
            Some(())
        }
        RunType::Array(dim, elem) => {
            let (n, row) = shape.row();
            match n {
                Some(n) => push_dim(n, out),
                None if *dim != UNKNOWN => push_dim(*dim, out),
                None => out.push_str("[]"),
            }
            push_plain(elem, row, out)
        }
        RunType::Tuple(parts) => {
            parenthesised(parts.len(), out, |at, out| push_plain(&parts[at], shape.part(at), out))
        }
        RunType::Record(names, parts) => {
            record(names, out, |at, out| push_plain(&parts[at], shape.part(at), out))
        }
        RunType::Sum(names, parts) => sum(names, out, |at, out| {
            parts[at].iter().try_for_each(|ty| {
                out.push(' ');
                push_plain(ty, shape.nothing(), out)
            })
        }),
        RunType::Fun | RunType::Unknown => None,
    }
}

fn push_dim(n: i64, out: &mut String) {
    let _ = write!(out, "[{n}]");
}

type Part<'a> = &'a mut dyn FnMut(usize, &mut String) -> Option<()>;

fn parenthesised(
    n: usize,
    out: &mut String,
    mut part: impl FnMut(usize, &mut String) -> Option<()>,
) -> Option<()> {
    out.push('(');
    separated(n, ", ", out, &mut part)?;
    out.push(')');
    Some(())
}

fn record(
    names: &[Name],
    out: &mut String,
    mut part: impl FnMut(usize, &mut String) -> Option<()>,
) -> Option<()> {
    out.push('{');
    separated(names.len(), ", ", out, &mut |at, out| {
        let _ = write!(out, "{}: ", names[at]);
        part(at, out)
    })?;
    out.push('}');
    Some(())
}

/// Sum types are parenthesised, since they may be payloads or elements.
fn sum(
    names: &[Name],
    out: &mut String,
    mut part: impl FnMut(usize, &mut String) -> Option<()>,
) -> Option<()> {
    out.push('(');
    separated(names.len(), " | ", out, &mut |at, out| {
        let _ = write!(out, "#{}", names[at]);
        part(at, out)
    })?;
    out.push(')');
    Some(())
}

fn separated(n: usize, between: &str, out: &mut String, part: Part<'_>) -> Option<()> {
    (0..n).try_for_each(|at| {
        out.push_str(if at > 0 { between } else { "" });
        part(at, out)
    })
}
