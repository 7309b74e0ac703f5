//! Frames, and the evaluation of bodies, statements, expressions and calls.

use super::array::Array;
use super::block::{BlockRef, Writer, WriterNames};
use super::derivative::Perturbations;
use super::dual::Dual;
use super::live::{Live, analyse};
use super::view::Sizes;
use super::{ErrorClass, EvalError, EvalLevel, Evaluate, MAX_CALL_DEPTH, Options};
use crate::name::{FunId, FunName, Name, NameTable, ProvTable};
use crate::seg::Decomp;
use crate::soac::Operator;
use crate::syntax::{Atom, Body, Exp, FunKind, Lambda, Level, LoopForm, LoopParam, Program, Stm};
use crate::tunable::{Comparison, Tunable, TunableId};
use crate::types::Dim;
use crate::walk::with_stack;
use prim::Scalar;
use smallvec::SmallVec;
use std::fmt::Write as _;
use std::rc::Rc;

type Result<T> = std::result::Result<T, EvalError>;

/// The value of a name.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// No value: not yet bound, or moved out.
    #[default]
    Empty,
    /// A scalar.
    Scalar(Scalar),
    /// An array.
    Array(Array),
    /// An accumulator, by its index among the open ones.
    Acc(usize),
    /// A certificate.
    Unit,
    /// A block.
    Block(BlockRef),
    /// A scalar or array in a function whose derivative is being evaluated.
    Dual(Rc<Dual>),
}

/// The arrays of an open accumulator.
pub(super) struct OpenAcc<'p, L: Level> {
    pub(super) token: Name,
    /// Its index space.
    pub(super) shape: SmallVec<[i64; 3]>,
    pub(super) arrays: Vec<Value>,
    pub(super) op: Option<&'p Operator<L>>,
}

/// The values of the names in a call.
pub struct Frame<'p> {
    pub(super) slots: Vec<Value>,
    live: Rc<Live>,
    function: &'p FunName,
    tunables: &'p [Tunable],
    names: &'p NameTable,
    provs: &'p ProvTable,
    /// The number of its first name among those of all functions.
    first: Writer,
    /// True if an error in the frame already has its provenance.
    has_provenance: bool,
}

/// An evaluation in progress.
pub struct Evaluator<'p, L: Level> {
    pub(super) program: &'p Program<L>,
    live: Vec<Option<(Rc<Live>, Writer)>>,
    pub(super) legend: Rc<WriterNames>,
    /// The time of the last write.
    pub(super) time: u32,
    /// True if the error being propagated already contains its statement.
    has_statement: bool,
    constants: Vec<Option<Vec<Value>>>,
    budget: u64,
    options: &'p Options,
    depth: u32,
    pub(super) accs: Vec<OpenAcc<'p, L>>,
    pub(super) perturbations: Perturbations,
}

impl Frame<'_> {
    /// A name as text.
    pub(super) fn show(&self, name: Name) -> String {
        crate::text::show_name(self.names, name)
    }

    /// The name's number among those of all functions.
    pub(super) fn writer(&self, name: Name) -> Writer {
        self.first + name.0
    }

    fn missing(&self, name: Name) -> EvalError {
        let name = self.show(name);
        EvalError::bug(format!("{name} has no value here (unbound, or consumed before)"))
    }

    /// Sets the value of a name.
    #[inline]
    pub(super) fn set(&mut self, name: Name, value: Value) {
        self.slots[name.index()] = value;
    }

    /// Returns a copy of a name's value.
    #[inline]
    pub(super) fn value(&self, name: Name) -> Result<Value> {
        let value = &self.slots[name.index()];
        if matches!(value, Value::Empty) { Err(self.missing(name)) } else { Ok(value.clone()) }
    }

    /// Moves a name's value out.
    pub(super) fn take(&mut self, name: Name) -> Result<Value> {
        let value = std::mem::take(&mut self.slots[name.index()]);
        if matches!(value, Value::Empty) { Err(self.missing(name)) } else { Ok(value) }
    }

    /// An operand's value.
    pub(super) fn atom(&self, atom: Atom) -> Result<Value> {
        match atom {
            Atom::Var(name) => self.value(name),
            Atom::Const(value) => Ok(Value::Scalar(value)),
        }
    }

    /// The value of an operand, if it is a scalar.
    pub(super) fn known_scalar(&self, atom: Atom) -> Option<Scalar> {
        match atom {
            Atom::Const(value) => Some(value),
            Atom::Var(name) => match &self.slots[name.index()] {
                Value::Scalar(value) => Some(*value),
                Value::Dual(dual) => dual.primal.as_scalar(),
                Value::Empty | Value::Array(_) | Value::Acc(_) | Value::Unit | Value::Block(_) => None,
            },
        }
    }

    /// A scalar operand.
    #[inline]
    pub(super) fn scalar(&self, atom: Atom) -> Result<Scalar> {
        self.known_scalar(atom).ok_or_else(|| match atom {
            Atom::Var(name) if matches!(self.slots[name.index()], Value::Empty) => self.missing(name),
            Atom::Var(_) | Atom::Const(_) => EvalError::bug("an operand is not a scalar"),
        })
    }

    /// An `i64` operand.
    #[inline]
    pub(super) fn i64(&self, atom: Atom) -> Result<i64> {
        if let Scalar::I64(x) = self.scalar(atom)? {
            Ok(x)
        } else {
            Err(EvalError::bug("an operand is not an i64"))
        }
    }

    /// A `bool` operand.
    pub(super) fn bool(&self, atom: Atom) -> Result<bool> {
        self.scalar(atom)?.as_bool().ok_or_else(|| EvalError::bug("an operand is not a bool"))
    }

    /// An array operand.
    #[inline]
    pub(super) fn array(&self, name: Name) -> Result<&Array> {
        match self.slots[name.index()].primal() {
            Value::Array(array) => Ok(array),
            Value::Empty => Err(self.missing(name)),
            Value::Scalar(_) | Value::Acc(_) | Value::Unit | Value::Block(_) | Value::Dual(_) => {
                Err(EvalError::bug("an operand is not an array"))
            }
        }
    }

    /// Moves an array out of its name.
    pub(super) fn take_array(&mut self, name: Name) -> Result<Array> {
        if let Value::Array(array) = self.take(name)? {
            Ok(array)
        } else {
            Err(EvalError::bug("an operand is not an array"))
        }
    }

    /// The value of a dimension.
    pub(super) fn dim(&self, dim: Dim) -> Result<i64> {
        match dim.atom() {
            Some(atom) => self.i64(atom),
            None => Err(EvalError::bug("an existential size has no value here")),
        }
    }

    /// The values of dimensions.
    pub(super) fn sizes(&self, shape: &[Dim]) -> Result<Sizes> {
        shape.iter().map(|dim| self.dim(*dim)).collect()
    }
}

impl<'p, L: EvalLevel> Evaluator<'p, L> {
    pub(super) fn new(program: &'p Program<L>, options: &'p Options) -> Self {
        let n = program.functions.len();
        Self {
            program,
            live: vec![None; n],
            legend: Rc::default(),
            time: 0,
            has_statement: false,
            constants: vec![None; n],
            budget: options.budget,
            options,
            depth: 0,
            accs: Vec::new(),
            perturbations: Perturbations::default(),
        }
    }

    /// The last uses in a function, and the number of its first name.
    pub(super) fn live_of(&mut self, id: FunId) -> (Rc<Live>, Writer) {
        let function = self.program.function(id);
        let legend = &self.legend;
        let known = self.live[id.index()].get_or_insert_with(|| {
            let first = legend.add(&function.name, &function.names);
            (Rc::new(analyse(function)), first)
        });
        known.clone()
    }

    /// Calls a function. The arguments are moved out of `args`.
    pub(super) fn call(&mut self, id: FunId, args: &mut Vec<Value>, out: &mut Vec<Value>) -> Result<()> {
        let function = self.program.function(id);
        if let (FunKind::Constant, Some(values)) = (function.kind, &self.constants[id.index()]) {
            out.extend_from_slice(values);
            return Ok(());
        }
        if self.depth >= MAX_CALL_DEPTH {
            let message = format!("calls are nested {MAX_CALL_DEPTH} deep");
            return Err(EvalError::new(ErrorClass::Limit, message));
        }
        if args.len() != function.params.len() {
            return Err(EvalError::bug(format!("{}: wrong number of arguments", function.name)));
        }
        let (live, first) = self.live_of(id);
        let slots = vec![Value::Empty; function.names.len()];
        let mut frame = Frame {
            slots,
            live,
            function: &function.name,
            tunables: &function.tunables,
            names: &function.names,
            provs: &function.provs,
            first,
            has_provenance: false,
        };
        for (param, arg) in function.params.iter().zip(args.drain(..)) {
            self.bind(&mut frame, &param.param, arg)?;
        }
        self.depth += 1;
        let mut results = Vec::new();
        self.run(&mut frame, &function.body, &mut results)?;
        self.depth -= 1;
        if function.kind == FunKind::Constant {
            // Constants are shared by all their readers.
            for value in &results {
                if let Value::Array(array) = value {
                    array.make_read_only();
                }
            }
            self.constants[id.index()] = Some(results.clone());
        }
        out.append(&mut results);
        Ok(())
    }

    /// A tuning parameter of the function being evaluated, and its value.
    fn tunable<'t>(&self, frame: &Frame<'t>, id: TunableId) -> Result<(&'t Tunable, i64)> {
        let tunable = frame.tunables.get(id.index());
        let tunable = tunable.ok_or_else(|| EvalError::bug("the tuning parameter does not exist"))?;
        let value = self.options.settings.value(frame.function, tunable);
        Ok((tunable, value))
    }

    /// Compares a size with a tuning parameter: true if it is not less.
    pub(super) fn compare_threshold(&self, frame: &Frame<'_>, size: i64, id: TunableId) -> Result<bool> {
        let (tunable, least) = self.tunable(frame, id)?;
        if let Some(listener) = self.options.listener {
            let name = &tunable.full_name(frame.function);
            listener(Comparison { name, size, threshold: least });
        }
        Ok(size >= least)
    }

    /// The decomposition with the grain size that its tuning parameter has.
    pub(super) fn tuned(&self, frame: &Frame<'_>, decomp: Decomp) -> Result<Decomp> {
        let Some(id) = decomp.tunable else {
            return Ok(decomp);
        };
        let (_, grain) = self.tunable(frame, id)?;
        Ok(Decomp { grain_size: grain.max(1), ..decomp })
    }

    /// The value that a user-defined parameter is set to.
    pub(super) fn user_param(&self, name: &str) -> Option<Scalar> {
        let value = self.options.settings.0.get(name).copied();
        value.map(Scalar::I64)
    }

    /// Subtracts from the budget.
    pub(super) fn charge(&mut self, statements: u64) -> Result<()> {
        match self.budget.checked_sub(statements) {
            Some(rest) => {
                self.budget = rest;
                Ok(())
            }
            None => Err(EvalError::new(ErrorClass::Limit, "the statement budget is used up")),
        }
    }

    /// Evaluates a body; appends its results.
    pub(super) fn run(
        &mut self,
        frame: &mut Frame<'p>,
        body: &'p Body<L>,
        out: &mut Vec<Value>,
    ) -> Result<()> {
        with_stack(|| {
            for stm in &body.stms {
                self.stm(frame, stm)?;
            }
            for atom in &body.result {
                out.push(match atom {
                    Atom::Var(name) if frame.live.movable[name.index()] => frame.take(*name)?,
                    Atom::Var(_) | Atom::Const(_) => frame.atom(*atom)?,
                });
            }
            Ok(())
        })
    }

    /// Applies a lambda; appends its results.
    pub(super) fn apply(
        &mut self,
        frame: &mut Frame<'p>,
        lambda: &'p Lambda<L>,
        args: impl IntoIterator<Item = Value>,
        out: &mut Vec<Value>,
    ) -> Result<()> {
        let mut args = args.into_iter();
        for param in &lambda.params {
            let arg = args.next().ok_or_else(|| EvalError::bug("too few arguments"))?;
            self.bind(frame, param, arg)?;
        }
        self.run(frame, &lambda.body, out)
    }

    fn stm(&mut self, frame: &mut Frame<'p>, stm: &'p Stm<L>) -> Result<()> {
        self.charge(1)?;
        self.stm_results(frame, stm).map_err(|mut error| {
            if !self.has_statement && error.class == ErrorClass::Bug {
                self.has_statement = true;
                let text = crate::text::show_stm(self.program, frame.names, stm);
                let function = frame.function;
                let _ = write!(error.message, "\n  in {function}: {text}");
            }
            let stack = frame.provs.stack(stm.aux.prov);
            if !frame.has_provenance && !stack.is_empty() {
                frame.has_provenance = true;
                error.spans.extend(stack);
            }
            error
        })?;
        if let Some(first) = stm.pat.first() {
            let Frame { slots, live, .. } = frame;
            for name in &live.after[first.name.index()] {
                slots[name.index()] = Value::Empty;
            }
        }
        Ok(())
    }

    fn stm_results(&mut self, frame: &mut Frame<'p>, stm: &'p Stm<L>) -> Result<()> {
        if let (Exp::Basic(op), [param]) = (&stm.exp, stm.pat.as_slice()) {
            if self.perturbations.all != 0
                && let Some(value) = self.dual(frame, op, param.name)?
            {
                return self.bind(frame, param, value);
            }
            if let Some(value) = self.scalar(frame, op)? {
                frame.set(param.name, Value::Scalar(value));
                return Ok(());
            }
            let value = self.basic(frame, op, param.name)?;
            self.bind(frame, param, value)?;
            return self.check_operands_intact(frame, op);
        }
        let mut out = Vec::with_capacity(stm.pat.len());
        self.exp(frame, stm, &mut out)?;
        if out.len() != stm.pat.len() {
            let message = format!("{} results are bound to {} names", out.len(), stm.pat.len());
            return Err(EvalError::bug(message));
        }
        for (param, value) in stm.pat.iter().zip(out) {
            self.bind(frame, param, value)?;
        }
        Ok(())
    }

    fn exp(&mut self, frame: &mut Frame<'p>, stm: &'p Stm<L>, out: &mut Vec<Value>) -> Result<()> {
        match &stm.exp {
            Exp::Basic(_) => Err(EvalError::bug("a basic operation binds one name")),
            Exp::If { cond, then_body, else_body } => {
                let body = if frame.bool(*cond)? { then_body } else { else_body };
                self.run(frame, body, out)
            }
            Exp::Loop { params, form, body } => self.loop_(frame, params, *form, body, out),
            Exp::Apply { fun, args } => {
                let params = &self.program.function(*fun).params;
                let mut values = Vec::with_capacity(args.len());
                for (i, arg) in args.iter().enumerate() {
                    let consumed = params.get(i).is_some_and(|param| param.consumed);
                    values.push(match arg {
                        Atom::Var(name) if consumed => frame.take(*name)?,
                        Atom::Var(_) | Atom::Const(_) => frame.atom(*arg)?,
                    });
                }
                with_stack(|| self.call(*fun, &mut values, out))
            }
            Exp::Op(op) => op.eval(self, frame, &stm.pat, out),
        }
    }

    fn loop_(
        &mut self,
        frame: &mut Frame<'p>,
        params: &'p [LoopParam<L>],
        form: LoopForm,
        body: &'p Body<L>,
        out: &mut Vec<Value>,
    ) -> Result<()> {
        let mut values = Vec::with_capacity(params.len());
        for LoopParam { param: _, init, consumed } in params {
            values.push(match init {
                Atom::Var(name) if *consumed => frame.take(*name)?,
                Atom::Var(_) | Atom::Const(_) => frame.atom(*init)?,
            });
        }
        let bound = match form {
            LoopForm::For { var: _, ty: _, bound } => frame.scalar(bound)?.as_i64(),
            LoopForm::While { cond: _ } => Some(i64::MAX),
        };
        let bound = bound.ok_or_else(|| EvalError::bug("the bound is not an integer"))?;
        let mut i = 0;
        while i < bound {
            self.charge(1)?;
            if values.len() != params.len() {
                return Err(EvalError::bug("a loop body has the wrong number of results"));
            }
            for (param, value) in params.iter().zip(values.drain(..)) {
                self.bind(frame, &param.param, value)?;
            }
            match form {
                LoopForm::For { var, ty, bound: _ } => {
                    frame.set(var, Value::Scalar(Scalar::int(ty, i)));
                }
                LoopForm::While { cond } => {
                    if !frame.bool(Atom::Var(cond))? {
                        for param in params {
                            values.push(frame.take(param.param.name)?);
                        }
                        break;
                    }
                }
            }
            self.run(frame, body, &mut values)?;
            i += 1;
        }
        out.append(&mut values);
        Ok(())
    }
}
