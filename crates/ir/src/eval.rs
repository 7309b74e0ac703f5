//! The evaluator: the meaning of programs, at every level.
//!
//! Scalars are computed by [`prim::eval`]. At the levels without memory arrays are values: views
//! (offset and strides) of typed buffers with shared ownership, which are copied when written while
//! shared. Values of names are dropped at their last use ([`live`]), so that a loop that updates an
//! array in place takes constant time per update.
//!
//! **Decompositions are respected**, so that floating-point results equal those of compiled code
//! bit for bit. A reduction is partitioned into chunks according to [`crate::seg::Decomp`]. In a
//! chunk, `width` accumulators start from the neutral elements; iteration `i` of the chunk updates
//! accumulator `i mod width`; these are combined by halves, the first of the lower half with the
//! first of the upper one. Chunks' results are combined from left to right, starting from the first
//! chunk's. A scan computes each chunk's total (a fold from the neutral elements); the first chunk
//! starts from the neutral elements, the second from the first total, each further one from the
//! combination of all totals before. A histogram with several chunks fills a private copy of its
//! bins for each, starting from the neutral elements, and combines the copies with the destination
//! in order ([`crate::seg::Decomp`] has the rule); with a single chunk it updates the destination
//! in iteration order. Accumulators with an operator are treated likewise; those without are
//! written in iteration order. At the level of combinators everything is one chunk.
//!
//! **With memory**, an array is a memory block and an index function, and it is written and read
//! there ([`location`], [`block`]). Nothing is copied that compiled code would not copy, so
//! programs have the meaning of the code made from them. The evaluator detects misuse of memory:
//!
//! - reading an element of an array that another definition has overwritten since the array was
//!   created, even with the same value; this includes overlapping rows of one result,
//! - reading an element that was never written (at the levels without memory, too),
//! - accesses outside of the block,
//! - an array that is not at the location given by its annotation: a view, an update's result, an
//!   argument or result of a branch, a loop or a call,
//! - writes to an argument that is not consumed, or to a constant,
//! - a result that is not row-major from the start of its block, or not completely written.
//!
//! The error message contains the block, the element, the writer and the statement. Blocks live as
//! long as they are referred to: the level has no releases (`imp` does), so premature releases are
//! not detected. Iterations of a segop run sequentially; conflicts in other orders are detected by
//! the evaluator of `imp`.
//!
//! All values are checked against the types of the names to which they are bound (in statements and
//! as parameters of functions, lambdas and loops): element type, and a shape of the sizes in the
//! type ([`type_check`]).
//!
//! Errors are of five classes ([`ErrorClass`]) and carry the provenance of the failed statement and
//! of the calls around it. The number of statements is limited by a budget, the depth of calls and
//! the size of arrays by constants. An index out of bounds or a division by zero is a bug here: the
//! program must check before.
//!
//! Derivatives are evaluated with dual numbers: values have components ([`dual`]).

mod array;
mod basic;
mod block;
mod buffer;
mod derivative;
mod dual;
mod flat;
mod jet;
mod live;
mod location;
mod machine;
mod ops;
mod rows;
mod scalars;
mod seg;
mod type_check;
mod view;

pub use array::{Array, Buffer};
pub use dual::Dual;
pub use location::MemLocation;
pub use machine::{Evaluator, Frame, Value};

use crate::mem::Mems;
use crate::name::SrcLoc;
use crate::seg::Segs;
use crate::soac::Soacs;
use crate::syntax::{Level, Param, Program};
use crate::text::TextLevel;
use crate::tunable::{Listener, Settings};
use crate::types::{Dim, Type};
use prim::Scalar;
use std::fmt::{self, Write as _};
use std::sync::Arc;
use value::ValueType;

/// Default limit on the number of executed statements.
pub const DEFAULT_BUDGET: u64 = 2_000_000_000;

/// Maximum size of an array, in bytes.
pub const MAX_ARRAY_BYTES: u64 = 1 << 32;

/// Maximum depth of nested calls.
pub const MAX_CALL_DEPTH: u32 = 10_000;

/// Evaluation of a level's operations.
pub trait Evaluate<L: Level> {
    /// Appends the results to `out`; they will be bound to `pat`.
    ///
    /// # Errors
    ///
    /// Those of the evaluation of statements in general.
    fn eval<'p>(
        &'p self,
        m: &mut Evaluator<'p, L>,
        frame: &mut Frame<'p>,
        pat: &'p [Param<L>],
        out: &mut Vec<Value>,
    ) -> Result<(), EvalError>;
}

/// A level with an evaluator; its errors show statements as text.
pub trait EvalLevel: TextLevel + Level<Op: Evaluate<Self>, Ann: MemLocation> {}

impl EvalLevel for Soacs {}
impl EvalLevel for Segs {}
impl EvalLevel for Mems {}

/// An argument or result.
#[derive(Clone, PartialEq, Debug)]
pub enum EvalValue {
    /// A scalar.
    Scalar(Scalar),
    /// An array.
    Array(Array),
}

/// The classes of errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorClass {
    /// The program failed a check of its own.
    Failure,
    /// The arguments do not match the entry point.
    Argument,
    /// The budget, the depth of calls or the size of an array is exceeded.
    Limit,
    /// An operation that the evaluator does not support.
    Unsupported,
    /// The program is not well-formed.
    Bug,
}

/// An error of an evaluation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EvalError {
    /// Its class.
    pub class: ErrorClass,
    /// The error message.
    pub message: String,
    /// Source spans, innermost first.
    pub spans: Vec<SrcLoc>,
}

impl EvalError {
    pub(crate) fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), spans: Vec::new() }
    }

    pub(crate) fn bug(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Bug, message)
    }

    /// The message and the source spans, with file names.
    pub fn render(&self, files: &[Arc<str>]) -> String {
        let mut text = self.to_string();
        for (i, span) in self.spans.iter().enumerate() {
            let file = files.get(span.file as usize).map_or("?", |file| &**file);
            let word = if i == 0 { "at" } else { "called at" };
            let _ = write!(text, "\n  {word} {file}:{}:{}", span.line, span.col);
        }
        text
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.class {
            ErrorClass::Failure => "",
            ErrorClass::Argument => "invalid argument: ",
            ErrorClass::Limit => "limit reached: ",
            ErrorClass::Unsupported => "not supported yet: ",
            ErrorClass::Bug => "bug: ",
        })?;
        f.write_str(&self.message)
    }
}

impl std::error::Error for EvalError {}

/// Evaluates an entry point. Arguments and results are scalars and arrays in order: opaque values
/// are expanded to their parts, sizes and blocks are omitted.
///
/// # Errors
///
/// See [`ErrorClass`].
pub fn eval_entry<L: EvalLevel>(
    program: &Program<L>,
    entry: &str,
    args: Vec<EvalValue>,
) -> Result<Vec<EvalValue>, EvalError> {
    eval_entry_with(program, entry, args, &Options::default())
}

/// Options of an evaluation.
#[derive(Clone, Debug)]
pub struct Options {
    /// Limit on the number of executed statements.
    pub budget: u64,
    /// Values of tuning parameters.
    pub settings: Settings,
    /// Callback for comparisons with tuning parameters.
    pub listener: Option<Listener>,
}

impl Default for Options {
    fn default() -> Self {
        Self { budget: DEFAULT_BUDGET, settings: Settings::default(), listener: None }
    }
}

/// [`eval_entry`] with options.
///
/// # Errors
///
/// See [`ErrorClass`].
pub fn eval_entry_with<L: EvalLevel>(
    program: &Program<L>,
    entry: &str,
    args: Vec<EvalValue>,
    options: &Options,
) -> Result<Vec<EvalValue>, EvalError> {
    let argument = |message: String| EvalError::new(ErrorClass::Argument, message);
    let entry_point = program
        .entries
        .iter()
        .find(|entry_point| *entry_point.signature.name == *entry)
        .ok_or_else(|| argument(format!("entry point {entry} does not exist")))?;
    let mut m = Evaluator::new(program, options);
    let function = program.function(entry_point.fun);

    let leaves = program.opaques.flatten_values(&entry_point.signature.params);
    if leaves.len() != args.len() {
        return Err(argument(format!("{} arguments, but {} are required", args.len(), leaves.len())));
    }
    let mut core = Vec::new();
    for ((leaf, param), value) in leaves.into_iter().zip(args) {
        core.extend(core_values(leaf, value).ok_or_else(|| {
            argument(format!("the argument for {} does not have the parameter's type", param.name))
        })?);
    }
    let mut core = core.into_iter();
    let mut values = Vec::new();
    for param in &function.params {
        let value = if matches!(param.param.ty, Type::Mem(_)) { Some(Value::Unit) } else { core.next() };
        values.push(value.ok_or_else(|| argument("too few arguments for the function".to_owned()))?);
    }
    check_sizes(function, &values)?;
    m.arguments_in_blocks(entry_point.fun, &mut values)?;

    let mut results = Vec::new();
    m.call(entry_point.fun, &mut values, &mut results)?;
    let mut results = results.into_iter().filter(|value| !matches!(value, Value::Unit | Value::Block(_)));
    let mut out = Vec::new();
    for (leaf, _) in program.opaques.flatten_values([&entry_point.signature.result]) {
        match results.nth(leaf.rank) {
            Some(Value::Scalar(x)) => out.push(EvalValue::Scalar(x)),
            Some(Value::Array(array)) => {
                if !array.is_row_major_at_start() {
                    let message = "a result is not row-major from the start of its block";
                    return Err(EvalError::bug(message));
                }
                out.push(EvalValue::Array(array.result()?));
            }
            _ => return Err(EvalError::bug("a result does not match the entry point's type")),
        }
    }
    Ok(out)
}

/// The value preceded by its sizes; `None` if it is of another type.
fn core_values(leaf: ValueType, value: EvalValue) -> Option<Vec<Value>> {
    let elem = leaf.scalar.prim();
    match value {
        EvalValue::Scalar(x) if leaf.rank == 0 && x.ty() == elem => Some(vec![Value::Scalar(x)]),
        EvalValue::Array(array)
            if leaf.rank > 0 && array.elem() == elem && array.shape().len() == leaf.rank =>
        {
            let sizes = array.shape().iter().map(|n| Value::Scalar(Scalar::I64(*n)));
            let mut values: Vec<Value> = sizes.collect();
            values.push(Value::Array(array));
            Some(values)
        }
        EvalValue::Scalar(_) | EvalValue::Array(_) => None,
    }
}

/// Checks that arrays have the sizes of the parameters' types.
fn check_sizes<L: Level>(function: &crate::Function<L>, values: &[Value]) -> Result<(), EvalError> {
    let names = crate::typing::positions(function.params.iter().map(|p| p.param.name));
    for (param, value) in function.params.iter().zip(values) {
        let Value::Array(array) = value else { continue };
        for (dim, size) in param.param.ty.shape().iter().zip(array.shape()) {
            let want = match dim {
                Dim::Const(n) => Some(*n),
                Dim::Var(name) => match names.get(name).map(|i| &values[*i as usize]) {
                    Some(Value::Scalar(x)) => x.as_i64(),
                    _ => None,
                },
                Dim::Ext(_) => None,
            };
            if let Some(want) = want.filter(|want| want != size) {
                let name = function.names.hint(param.param.name);
                let message = format!("{name} has size {size}, but {want} is required");
                return Err(EvalError::new(ErrorClass::Argument, message));
            }
        }
    }
    Ok(())
}
