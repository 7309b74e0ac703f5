//! The evaluator: what a program means, at every level where operations have a meaning.
//!
//! Scalars are computed by [`prim::eval`]. At the levels without memory arrays are
//! values: views (offset and strides) of shared typed buffers that are copied
//! when written to while shared. Names' values are dropped at their last use ([`live`]), so that a
//! loop that updates an array in place takes constant time for each update.
//!
//! **Decompositions are respected**, so that float results equal those of
//! compiled code bit for bit. A reduction falls apart into chunks as
//! [`crate::seg::Decomp`] says. In a chunk, `width` accumulators start
//! from the neutral elements; point `i` of the chunk goes to accumulator `i mod
//! width`; these combine by halves, the first of the lower half with the first of
//! the upper one; chunks' results combine left to right, from the first chunk's. A scan takes each chunk's total (a fold from the
//! neutral elements); the first chunk starts from the neutral elements, the
//! second from the first total, each further one from the combination of those
//! before. A histogram that has several chunks fills a copy of its bins for each,
//! starting from the neutral elements, and folds the copies into the destination
//! in order (the same place has the rule); one that has a single chunk
//! takes the points in order. At the level of combinators everything is one
//! chunk. Accumulators take their values in the order of the points.
//!
//! **With memory**, arrays are places: an array is a block and an index function,
//! and it is written and read there ([`place`], [`block`]). Nothing is copied that
//! code made from the program would not copy, so programs mean what that code
//! will do. The evaluator tells misuse of memory:
//!
//! - an element is read as a part of an array though another definition has
//!   written it since the array was made, be it with the same value; this covers
//!   the rows of one result that meet,
//! - an element is read that nobody wrote (at the levels without memory, too),
//! - an access is outside of its block,
//! - an array does not lie where its annotation says: a view, an update's
//!   result, what a branch, a loop or a call takes or gives back,
//! - an argument that is not consumed, or a constant, is written,
//! - a result does not lie row-major from the start of its block, or was not
//!   written wholly.
//!
//! Such an error names block, element and writer, and the statement. Blocks live
//! as long as anything refers to them: the level has no releases (`imp` does), so
//! none come too early. Points of a segop run in order; what they would do to
//! each other in another order is told by the evaluator of `imp`.
//!
//! Whatever is bound (by a statement, as a parameter of a function, lambda or loop) is
//! checked against its type: element type, and a shape of the sizes in the type ([`typed`]).
//!
//! Errors are of five classes ([`ErrorClass`]) and carry the provenance of the
//! statement that failed and of the calls around it. The number of statements
//! is limited by a budget, the depth of calls and the size of arrays by
//! constants. An index out of bounds or a division by zero is a bug here: the
//! program has to check before. Derivatives are not supported yet.

mod array;
mod basic;
mod block;
mod buffer;
mod flat;
mod live;
mod machine;
mod ops;
mod place;
mod rows;
mod scalars;
mod seg;
mod typed;
mod view;

pub use array::{Array, Buffer};
pub use machine::{Frame, Machine, Value};
pub use place::Place;

use crate::entry::Leaf;
use crate::name::SrcLoc;
use crate::syntax::{Level, Param, Program};
use crate::tunable::{Listener, Settings};
use crate::types::{Dim, Type};
use prim::Scalar;
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// How many statements an evaluation may run unless told otherwise.
pub const DEFAULT_BUDGET: u64 = 2_000_000_000;

/// The largest array, in bytes.
pub const MAX_ARRAY_BYTES: u64 = 1 << 32;

/// How deep calls may nest.
pub const MAX_CALL_DEPTH: u32 = 10_000;

/// How a level's operations are evaluated.
pub trait Evaluate<L: Level> {
    /// Appends the results to `out`; `pat` is what they will be bound to.
    ///
    /// # Errors
    ///
    /// As the evaluation of statements in general.
    fn eval<'p>(
        &'p self,
        m: &mut Machine<'p, L>,
        frame: &mut Frame<'p>,
        pat: &'p [Param<L>],
        out: &mut Vec<Value>,
    ) -> Result<(), EvalError>;
}

/// An argument or result.
#[derive(Clone, PartialEq, Debug)]
pub enum EvalValue {
    /// A scalar.
    Scalar(Scalar),
    /// An array.
    Array(Array),
}

/// What kind of error it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorClass {
    /// The program failed a check of its own.
    Failure,
    /// The arguments do not fit the entry point.
    Argument,
    /// The budget, the depth of calls or the size of an array.
    Limit,
    /// Something that the evaluator cannot do yet.
    Unsupported,
    /// The program is not well-formed.
    Bug,
}

/// Why an evaluation did not end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EvalError {
    /// Its class.
    pub class: ErrorClass,
    /// What happened.
    pub message: String,
    /// Where, innermost first.
    pub places: Vec<SrcLoc>,
}

impl EvalError {
    pub(crate) fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), places: Vec::new() }
    }

    pub(crate) fn bug(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Bug, message)
    }

    /// The message and the places, with the files' names.
    pub fn render(&self, files: &[Arc<str>]) -> String {
        let mut text = self.to_string();
        for (i, place) in self.places.iter().enumerate() {
            let file = files.get(place.file as usize).map_or("?", |file| &**file);
            let word = if i == 0 { "at" } else { "called at" };
            let _ = write!(text, "\n  {word} {file}:{}:{}", place.line, place.col);
        }
        text
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.class {
            ErrorClass::Failure => "",
            ErrorClass::Argument => "wrong argument: ",
            ErrorClass::Limit => "limit reached: ",
            ErrorClass::Unsupported => "not supported yet: ",
            ErrorClass::Bug => "bug: ",
        })?;
        f.write_str(&self.message)
    }
}

impl std::error::Error for EvalError {}

/// Evaluates an entry point. Arguments and results are scalars and arrays in
/// order, the parts of opaque values spread out, sizes and blocks left out.
///
/// # Errors
///
/// See [`ErrorClass`].
pub fn eval_entry<L: Level>(
    program: &Program<L>,
    entry: &str,
    args: Vec<EvalValue>,
) -> Result<Vec<EvalValue>, EvalError> {
    eval_entry_with(program, entry, args, &Options::default())
}

/// How an evaluation goes.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many statements it may run.
    pub budget: u64,
    /// Values of tuning parameters.
    pub settings: Settings,
    /// Who is told of comparisons with these.
    pub listener: Option<Listener>,
}

impl Default for Options {
    fn default() -> Self {
        Self { budget: DEFAULT_BUDGET, settings: Settings::default(), listener: None }
    }
}

/// As [`eval_entry`], with options.
///
/// # Errors
///
/// See [`ErrorClass`].
pub fn eval_entry_with<L: Level>(
    program: &Program<L>,
    entry: &str,
    args: Vec<EvalValue>,
    options: &Options,
) -> Result<Vec<EvalValue>, EvalError> {
    let argument = |message: String| EvalError::new(ErrorClass::Argument, message);
    let point = program
        .entries
        .iter()
        .find(|point| &*point.name == entry)
        .ok_or_else(|| argument(format!("there is no entry point {entry}")))?;
    let mut m = Machine::new(program, options);
    let index = m.function_index(&point.fun)?;
    let function = &program.functions[index];

    let leaves = program.opaques.spread(&point.params);
    if leaves.len() != args.len() {
        return Err(argument(format!("{} where {} are needed", args.len(), leaves.len())));
    }
    let mut core = Vec::new();
    for ((leaf, param), value) in leaves.into_iter().zip(args) {
        core.extend(core_values(leaf, value).ok_or_else(|| {
            argument(format!("{} has another type than the entry point's parameter", param.name))
        })?);
    }
    let mut core = core.into_iter();
    let mut values = Vec::new();
    for param in &function.params {
        let value = if matches!(param.param.ty, Type::Mem(_)) { Some(Value::Unit) } else { core.next() };
        values.push(value.ok_or_else(|| argument("too few for the function".to_owned()))?);
    }
    check_sizes(function, &values)?;
    m.arguments_in_blocks(index, &mut values)?;

    let mut results = Vec::new();
    m.call(index, &mut values, &mut results)?;
    let mut results = results.into_iter().filter(|value| !matches!(value, Value::Unit | Value::Block(_)));
    let mut out = Vec::new();
    for (leaf, _) in program.opaques.spread(&point.results) {
        match results.nth(leaf.rank) {
            Some(Value::Scalar(x)) => out.push(EvalValue::Scalar(x)),
            Some(Value::Array(array)) => {
                if !array.at_start() {
                    let message = "a result does not lie row-major from the start of its block";
                    return Err(EvalError::bug(message));
                }
                out.push(EvalValue::Array(array.result()?));
            }
            _ => return Err(EvalError::bug("a result does not fit the entry point")),
        }
    }
    Ok(out)
}

/// A value with its sizes before it, if it has the type.
fn core_values(leaf: Leaf, value: EvalValue) -> Option<Vec<Value>> {
    let elem = leaf.elem.prim();
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

/// Arrays have the sizes that the parameters' types say.
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
                let message = format!("{name} has size {size} where {want} is needed");
                return Err(EvalError::new(ErrorClass::Argument, message));
            }
        }
    }
    Ok(())
}
