//! The semantics of the language: an evaluator of the typed tree.
//!
//! It is the oracle for compiled code, and the evaluator of `bindrune run --backend interp`, the
//! prompt and the test tool. It shares no code with the optimiser: it uses the checker's output,
//! `prim` for the semantics of scalar operators, and `value` for the arguments and results of
//! programs.
//!
//! [`Interp::new`] takes a checked program; [`Interp::call`] calls an entry point. A definition is
//! translated to its resolved form ([`tree`], by [`resolve`]) when it is used first; [`machine`]
//! evaluates that. Evaluation is strict and sequential: the arguments of an application from the
//! last to the first, then the function; the operands of infix operators from left to right. If
//! several parts fail, the failure of the first one evaluated is reported.
//!
//! *Absent:* threads and any freedom in the order of evaluation. Sums are computed from left to
//! right.

#![allow(
    clippy::unnecessary_box_returns,
    reason = "failures and nodes are boxed where they are made, and stay so"
)]

mod array;
mod binding_site;
mod build;
mod call;
mod debug;
mod derivative;
mod dont_care;
mod failure;
mod indexed;
mod interface;
mod last_use;
mod loops;
mod machine;
mod operation;
mod resolve;
mod shape;
mod show;
mod size_check;
mod soac;
mod tail_calls;
mod tree;
mod value;

pub use debug::{Call, Debugger, Local, Reason, Resume, Stop, has_breakpoints};
pub use failure::{Class, Failure, source_location};
pub use interface::{components, export, import, read_argument};
pub use shape::push_type;
pub use show::show;
pub use value::{RunType, RunValue};

use ::value::Value;
use check::tast::{Entry, Program, Ty, VarId};
use failure::Res;
use machine::{Args, Machine};
use prim::{MathFun, PrimType};
use resolve::Globals;
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use syntax::span::{FileId, Span};
use tree::Function;

/// The stack size in bytes below which a recursive walk allocates more.
pub(crate) const RED_ZONE: usize = 128 * 1024;

/// The size in bytes of each further stack segment.
pub(crate) const STACK_STEP: usize = 4 * 1024 * 1024;

/// Receiver of `trace` output: the tag, the value as text, and the source span.
pub type Tracer = Box<dyn FnMut(Option<&str>, &str, Span)>;

/// A program ready to be evaluated.
pub struct Interp {
    program: Arc<Program>,
    globals: Globals,
    code: Vec<OnceCell<Rc<Function>>>,
    constants: Vec<RefCell<Option<RunValue>>>,
    /// The definitions of mathematical functions.
    math: FxHashMap<(MathFun, PrimType), u32>,
    tracer: RefCell<Option<Tracer>>,
    deadline: RefCell<Option<Instant>>,
    interrupt: RefCell<Option<Arc<AtomicBool>>>,
    watched: Cell<bool>,
    nans: Cell<bool>,
    check_sizes: Cell<bool>,
    /// The first file that is not part of the prelude.
    first_file: FileId,
}

impl Interp {
    /// Takes a program that was checked without errors.
    pub fn new(program: Arc<Program>) -> Self {
        let numbered = program.defs.iter().zip(0u32..);
        let globals = numbered.clone().map(|(def, number)| (def.var, number)).collect();
        let math =
            numbered.filter_map(|(def, number)| Some((resolve::math_function(def)?, number))).collect();
        let n = program.defs.len();
        let prelude = program.defs.iter().filter(|def| def.is_prelude);
        let last = prelude.map(|def| def.span.file.0).max();
        Self {
            first_file: FileId(last.map_or(0, |last| last.saturating_add(1))),
            program,
            globals,
            code: (0..n).map(|_| OnceCell::new()).collect(),
            constants: (0..n).map(|_| RefCell::new(None)).collect(),
            math,
            tracer: RefCell::new(None),
            deadline: RefCell::new(None),
            interrupt: RefCell::new(None),
            watched: Cell::new(false),
            nans: Cell::new(false),
            check_sizes: Cell::new(false),
        }
    }

    /// Sets the receiver of traced values; without one they are dropped.
    pub fn set_tracer(&self, tracer: Tracer) {
        self.tracer.replace(Some(tracer));
    }

    /// Sets the time at which running evaluations are aborted.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.deadline.replace(deadline);
    }

    /// Enables checks of values against the sizes in their types, which are the checker's claims: a
    /// difference is a failure of [`Class::Unsound`]. Must be called before evaluations, which fix
    /// the code of the definitions they use.
    pub fn set_check_sizes(&self, check: bool) {
        self.check_sizes.set(check);
    }

    /// Sets a flag that aborts evaluations soon after it becomes true.
    pub fn set_interrupt(&self, flag: Arc<AtomicBool>) {
        self.interrupt.replace(Some(flag));
    }

    /// The program under evaluation.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The entry point of this name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.program.entries.iter().find(|e| &*e.name == name)
    }

    /// Calls an entry point with values of its parameters' types.
    pub fn call(&self, entry: &Entry, args: Vec<RunValue>) -> Result<RunValue, Failure> {
        self.call_entry(entry, args).map_err(|failure| *failure)
    }

    /// Calls an entry point with external values (see [`Value`]).
    pub fn call_values(&self, entry: &Entry, args: &[Value]) -> Result<Vec<Value>, Failure> {
        let usage = |text: String| *Failure::new(Class::Usage, text);
        if args.len() != entry.params.len() {
            return Err(usage(format!(
                "`{}` takes {} arguments, not {}",
                entry.name,
                entry.params.len(),
                args.len()
            )));
        }
        let mut vals = Vec::with_capacity(args.len());
        for (arg, param) in args.iter().zip(&entry.params) {
            let val = interface::checked(arg, &param.ty.ty);
            vals.push(val.map_err(|text| usage(format!("argument `{}`: {text}", param.name)))?);
        }
        let result = self.call(entry, vals)?;
        let components = components(&result, &entry.result.ty);
        components.into_iter().map(|(val, ty)| export(val, ty).map_err(usage)).collect()
    }

    fn call_entry(&self, entry: &Entry, args: Vec<RunValue>) -> Res<RunValue> {
        let Some(id) = self.globals.get(&entry.var).copied() else {
            return Err(Failure::bug("an entry point without a definition"));
        };
        let mut machine = Machine::new(self, *self.deadline.borrow());
        let names = interface::names(entry);
        interface::check_sizes(entry, &names, &args)?;
        let value = machine.call_entry(id, Args::from_vec(args), names);
        value.map_err(|mut failure| {
            if failure.class == Class::Unbound {
                failure = Failure::bug("use of an unknown size");
            }
            failure
        })
    }

    /// The value of a definition, applied to as many arguments as it has parameters.
    pub fn value_of(&self, var: VarId, args: Vec<RunValue>) -> Result<RunValue, Failure> {
        let Some(id) = self.globals.get(&var).copied() else {
            return Err(*Failure::bug("no such definition"));
        };
        let mut machine = Machine::new(self, *self.deadline.borrow());
        machine.call_entry(id, Args::from_vec(args), Box::default()).map_err(|failure| *failure)
    }

    /// Evaluates a definition without parameters, or one applied to arguments, under a watcher:
    /// breakpoints, and new NaNs if `nans` is set, are reported to it. Must be called before other
    /// evaluations, which fix the code of the definitions they use.
    pub fn evaluate_watched<'a>(
        &'a self,
        var: VarId,
        args: Vec<RunValue>,
        nans: bool,
        watcher: &'a mut Debugger<'a>,
    ) -> Result<RunValue, Failure> {
        let Some(id) = self.globals.get(&var).copied() else {
            return Err(*Failure::bug("no such definition"));
        };
        self.watched.set(true);
        self.nans.set(nans);
        let mut machine = Machine::new(self, *self.deadline.borrow());
        machine.watcher = Some(watcher);
        machine.nans = nans;
        machine.call_entry(id, Args::from_vec(args), Box::default()).map_err(|failure| *failure)
    }

    /// Applies a function value.
    pub fn apply(&self, fun: &RunValue, args: Vec<RunValue>) -> Result<RunValue, Failure> {
        let mut machine = Machine::new(self, *self.deadline.borrow());
        machine.apply(fun, Args::from_vec(args)).map_err(|failure| *failure)
    }

    /// The type with its sizes as numbers, where it has constant sizes.
    pub fn plain_type(ty: &Ty) -> Rc<RunType> {
        interface::static_type(ty)
    }

    // ---------------------------------------------------- for the machine

    pub(crate) fn func(&self, id: u32) -> Res<Rc<Function>> {
        let at = id as usize;
        let (Some(cell), Some(def)) = (self.code.get(at), self.program.defs.get(at)) else {
            return Err(Failure::bug("no such definition"));
        };
        let options = resolve::Options {
            watched: self.watched.get() && !def.is_prelude,
            nans: self.nans.get(),
            check_sizes: self.check_sizes.get(),
        };
        let make = || {
            let func = resolve::definition(&self.program, &self.globals, def, options);
            Rc::new(func)
        };
        Ok(Rc::clone(cell.get_or_init(make)))
    }

    pub(crate) fn arity(&self, id: u32) -> usize {
        self.program.defs.get(id as usize).map_or(0, |def| def.params.len())
    }

    pub(crate) fn is_prelude(&self, id: u32) -> bool {
        let def = self.program.defs.get(id as usize);
        def.is_some_and(|def| def.is_prelude)
    }

    pub(crate) fn math_definition(&self, fun: MathFun, ty: PrimType) -> Option<u32> {
        self.math.get(&(fun, ty)).copied()
    }

    pub(crate) fn constant(&self, id: u32) -> Option<RunValue> {
        self.constants.get(id as usize)?.borrow().clone()
    }

    pub(crate) fn set_constant(&self, id: u32, value: RunValue) {
        if let Some(constant) = self.constants.get(id as usize) {
            constant.replace(Some(value));
        }
    }

    /// Returns true if a span is outside of the prelude.
    pub(crate) fn is_user_code(&self, span: Span) -> bool {
        span.file >= self.first_file && span != machine::NO_SPAN
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        let flag = self.interrupt.borrow();
        flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    pub(crate) fn trace(&self, tag: Option<&str>, value: &RunValue, ty: &RunType, span: Span) {
        if let Some(tracer) = self.tracer.borrow_mut().as_mut() {
            tracer(tag, &show(value, ty), span);
        }
    }
}
