//! The evaluator: executes a program of the imperative IR and checks its use of memory.
//!
//! Each function is compiled once to flat code ([`code`], [`unit`], [`compile`]), which one loop executes
//! ([`exec`]). Scalars are computed by [`prim::eval`], vectors lane by lane. Tasks and other iterations that
//! may run in any order run one after another, in a shuffled order ([`Options::seed`]). Buffers are
//! reference-counted blocks of bytes. Besides the results, the evaluator reports errors that
//! compiled code cannot:
//!
//! - a variable or element is read that was never set,
//! - an access is outside of its block, or a lane outside of its vector,
//! - a block is used after its release, or released by code that does not own it; a block of the
//!   frame outlives the frame; a block is never released,
//! - constant data, a global or an argument that is not unique is written,
//! - the regions of a copy overlap, a division is by zero,
//! - two iterations that may run in any order race ([`races`]): they access the same byte, and one
//!   of them writes it.
//!
//! Such an error is of the class [`ErrorClass::Bug`] and names the statement; for a race, also the
//! loop, the block and both iterations. Loops that are independent in memory but have loop-carried
//! variables ([`carried`]) keep their order. Variables that belong to a task have no value when the
//! task begins. Concurrent writes are allowed where a launch lists the buffer as `scattered`, if
//! the written bytes are not read. Not checked: that `distinct` is true.
//!
//! Kernels run on a simulated device ([`device`]), with the same checks for its threads.
//!
//! The interface and the limits are those of [`ir::eval`].

mod access;
mod carried;
mod code;
mod compile;
mod device;
mod exec;
mod lanes;
mod loops;
mod machine;
mod memory;
mod order;
mod races;
mod typed;
mod unit;

use crate::kernels::has_device_memory;
use crate::{Check, Function, Program, Var, VarType};
use code::{Slot, State};
use compile::bytes_of;
pub use ir::eval::{Array, DEFAULT_BUDGET, ErrorClass, EvalError, EvalValue};
use ir::tunable::{Listener, Settings};
use machine::Machine;
use memory::{Kind, Pointer};
use prim::{PrimType, Scalar};
use races::Label;
use std::fmt::Write;
use value::ValueType;

type Result<T> = std::result::Result<T, Box<EvalError>>;

fn stop<T>(class: ErrorClass, message: impl Into<String>) -> Result<T> {
    Err(Box::new(EvalError { class, message: message.into(), spans: Vec::new() }))
}

fn bug<T>(message: impl Into<String>) -> Result<T> {
    stop(ErrorClass::Bug, message)
}

fn limit<T>(message: impl Into<String>) -> Result<T> {
    stop(ErrorClass::Limit, message)
}

/// Evaluates an entry point. Arguments and results are scalars and arrays in order, with the parts
/// of opaque values flattened, and without sizes.
///
/// # Errors
///
/// See [`ErrorClass`].
pub fn eval_entry(
    program: &Program,
    entry: &str,
    args: Vec<EvalValue>,
) -> std::result::Result<Vec<EvalValue>, EvalError> {
    eval_entry_with(program, entry, args, Options::default())
}

/// The options of an evaluation.
#[derive(Clone, Debug)]
pub struct Options {
    /// The maximal number of statements.
    pub budget: u64,
    /// The seed of the order of independent iterations.
    pub seed: u64,
    /// The values of tuning parameters.
    pub settings: Settings,
    /// The listener for comparisons with tuning parameters.
    pub listener: Option<Listener>,
}

impl Default for Options {
    fn default() -> Self {
        Self { budget: DEFAULT_BUDGET, seed: 1, settings: Settings::default(), listener: None }
    }
}

/// As [`eval_entry`], with options.
///
/// # Errors
///
/// See [`ErrorClass`].
pub fn eval_entry_with(
    program: &Program,
    entry: &str,
    args: Vec<EvalValue>,
    options: Options,
) -> std::result::Result<Vec<EvalValue>, EvalError> {
    run(program, entry, args, options).map_err(|error| *error)
}

fn run(program: &Program, entry: &str, args: Vec<EvalValue>, options: Options) -> Result<Vec<EvalValue>> {
    let Some(point) = program.entries.iter().find(|point| *point.signature.name == *entry) else {
        return stop(ErrorClass::Argument, format!("there is no entry point {entry}"));
    };
    let params = program.opaques.flatten_values(&point.signature.params);
    if params.len() != args.len() {
        let message = format!("{} where {} are needed", args.len(), params.len());
        return stop(ErrorClass::Argument, message);
    }
    let mut machine = Machine::new(program, options);
    machine.init()?;
    let function = program.functions.get(point.fun.index());
    let on_device = function.is_some_and(has_device_memory);
    let (mut words, mut given) = (Vec::new(), Vec::new());
    for ((leaf, value), arg) in params.into_iter().zip(args) {
        let elem = leaf.scalar.prim();
        match arg {
            EvalValue::Scalar(x) if leaf.rank == 0 && x.ty() == elem => {
                words.push((Slot::set(x.bits()), VarType::Scalar(elem)));
            }
            EvalValue::Array(array)
                if leaf.rank > 0 && array.elem() == elem && array.shape().len() == leaf.rank =>
            {
                let bytes = array.to_bytes();
                let label = Label::Argument(value.name.clone());
                let at = machine.memory.with_bytes(bytes, Kind::Heap, value.unique, label);
                if on_device {
                    machine.memory.on_device(at)?;
                }
                given.push(at);
                words.push((Slot::set(at.bits()), VarType::HOST));
                let sizes = array.shape().iter();
                words.extend(sizes.map(|n| (Slot::set(*n as u64), VarType::Scalar(PrimType::I64))));
            }
            EvalValue::Scalar(_) | EvalValue::Array(_) => {
                let message = format!("{} has another type than the entry point's parameter", value.name);
                return stop(ErrorClass::Argument, message);
            }
        }
    }
    let types = function.into_iter().flat_map(|f| f.params.iter().map(|var| var_type(f, *var)));
    if !words.iter().map(|(_, ty)| Some(*ty)).eq(types) {
        return bug("the parameters of the entry point are not its function's");
    }
    let (unit, ended) = machine.call(point.fun, |unit, slots| {
        for ((word, _), (param, _)) in words.iter().zip(&unit.params) {
            slots[*param as usize] = *word;
        }
    })?;
    let words =
        unit.results.iter().map(|part| (ended.slots[part.reg as usize], var_type(unit.function, part.var)));
    let words: Vec<_> = words.collect();
    machine.end(ended);
    let mut words = words.into_iter();
    let mut results = Vec::new();
    for (leaf, _) in program.opaques.flatten_values([&point.signature.result]) {
        results.push(result(&mut machine, leaf, &mut words)?);
    }
    for at in given {
        machine.memory.release(at)?;
    }
    machine.finish()?;
    match machine.memory.alive() {
        0 => Ok(results),
        n => bug(format!("{n} blocks are never released")),
    }
}

/// The type of a variable; buffers in any space have one.
fn var_type(function: &Function, var: Var) -> Option<VarType> {
    let ty = function.vars.get(var.index())?.ty;
    Some(if ty.is_buffer() { VarType::HOST } else { ty })
}

/// A result from its words; releases its reference.
fn result(
    machine: &mut Machine<'_>,
    leaf: ValueType,
    words: &mut impl Iterator<Item = (Slot, Option<VarType>)>,
) -> Result<EvalValue> {
    let wrong = "a result does not fit the entry point";
    let elem = leaf.scalar.prim();
    match (leaf.rank, words.next()) {
        (0, Some((slot, Some(VarType::Scalar(ty))))) if ty == elem => {
            Ok(EvalValue::Scalar(Scalar::from_bits(elem, slot.word)))
        }
        (rank, Some((Slot { word, state: State::Set }, Some(VarType::Buffer(_))))) if rank > 0 => {
            let at = Pointer::from_bits(word);
            let mut shape = Vec::with_capacity(rank);
            for _ in 0..rank {
                match words.next() {
                    Some((slot, Some(VarType::Scalar(PrimType::I64)))) if slot.word as i64 >= 0 => {
                        shape.push(slot.word as i64);
                    }
                    _ => return bug(wrong),
                }
            }
            let count = shape.iter().try_fold(1u64, |count, n| count.checked_mul(*n as u64));
            let Some(count) = count else {
                return bug(wrong);
            };
            let bytes = machine.memory.prefix(at, bytes_of(elem, count) as usize)?;
            let array = Array::from_bytes(elem, &shape, bytes);
            machine.memory.release(at)?;
            match array {
                Some(array) => Ok(EvalValue::Array(array)),
                None => bug(wrong),
            }
        }
        _ => bug(wrong),
    }
}

/// The message of a check that fails with these values: its text, then its location.
fn message(check: &Check, values: &[Scalar]) -> String {
    let mut text = String::new();
    let mut rest = &*check.format;
    let mut values = values.iter();
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let found = &rest[at..];
        let name = found.strip_prefix('{').and_then(|t| t.split_once('}'));
        if found.starts_with("{{") || found.starts_with("}}") {
            text.push_str(&found[..1]);
            rest = &found[2..];
        } else if let Some((name, after)) = name {
            if let (Ok(ty), Some(value)) = (name.parse(), values.next()) {
                let _ = write!(text, "{}", value.display(ty));
            }
            rest = after;
        } else {
            text.push_str(&found[..1]);
            rest = &found[1..];
        }
    }
    text.push_str(rest);
    for (i, location) in check.location.lines().enumerate() {
        let word = if i == 0 { "at" } else { "called at" };
        let _ = write!(text, "\n  {word} {location}");
    }
    text
}
