//! `dev --run`: evaluates an entry point of the IR at any of its levels. Arguments and results use
//! standard input and output, as in an executable.

use crate::common;
use driver::Ir;
use imp::eval::Options;
use ir::eval::EvalValue;
use ir::syntax::{EntryValue, OpaqueTypes};
use std::process::ExitCode;
use value::{Reader, Value, ValueType};

/// Evaluates the entry point.
pub fn run(ir: &Ir, entry: &str, options: Options) -> Result<(), ExitCode> {
    match ir {
        Ir::Soacs(program) => level(program, entry, options),
        Ir::Segs(program) => level(program, entry, options),
        Ir::Mems(program) => level(program, entry, options),
        Ir::Imp(program) => imperative(program, entry, options),
    }
}

fn level<L: ir::Level>(program: &ir::Program<L>, entry: &str, options: Options) -> Result<(), ExitCode> {
    let names = program.entries.iter().map(|entry| &*entry.name);
    let point = &program.entries[position(names, entry)?];
    let params = spread(&program.opaques, &point.params);
    let results = spread(&program.opaques, &point.results);
    // The evaluator of these levels runs iterations in one fixed order, so there is no seed.
    let Options { budget, settings, listener, seed: _ } = options;
    let options = ir::eval::Options { budget, settings, listener };
    let values = ir::eval::eval_entry_with(program, entry, read_args(params)?, &options)
        .map_err(|error| common::report_error(error.render(&program.files)))?;
    write_results(&values, results)
}

fn imperative(program: &imp::Program, entry: &str, options: Options) -> Result<(), ExitCode> {
    let names = program.entries.iter().map(|entry| &*entry.name);
    let point = &program.entries[position(names, entry)?];
    let params = spread(&program.opaques, &point.params);
    let results = spread(&program.opaques, &point.results);
    let values = imp::eval::eval_entry_with(program, entry, read_args(params)?, options)
        .map_err(common::report_error)?;
    write_results(&values, results)
}

/// The index of an entry point.
fn position<'a>(names: impl Iterator<Item = &'a str> + Clone, entry: &str) -> Result<usize, ExitCode> {
    names.clone().position(|name| name == entry).ok_or_else(|| {
        let names: Vec<&str> = names.collect();
        common::report_error(format_args!(
            "there is no entry point `{entry}`; there are: {}",
            names.join(", ")
        ))
    })
}

fn write_results(results: &[EvalValue], types: Vec<ValueType>) -> Result<(), ExitCode> {
    let mut text = String::new();
    for (result, ty) in results.iter().zip(types) {
        let value = to_value(result, ty).ok_or_else(|| {
            common::report_error("the type of a result differs from that of the entry point")
        })?;
        text.push_str(&value.to_string());
        text.push('\n');
    }
    common::write_stdout(&text)
}

/// The scalars and arrays that entry values consist of, in order.
fn spread(opaques: &OpaqueTypes, values: &[EntryValue]) -> Vec<ValueType> {
    let leaves = opaques.flatten_values(values).into_iter();
    leaves.map(|(leaf, _)| ValueType::new(leaf.elem, leaf.rank)).collect()
}

fn read_args(types: Vec<ValueType>) -> Result<Vec<EvalValue>, ExitCode> {
    let mut reader = Reader::stdin()
        .map_err(|error| common::report_error(format_args!("cannot read standard input: {error}")))?;
    let mut args = Vec::with_capacity(types.len());
    for ty in types {
        let value =
            reader.read(ty).map_err(|error| common::report_error(format_args!("standard input: {error}")))?;
        args.push(from_value(&value).ok_or_else(|| {
            common::report_error(format_args!("an argument of type {ty} is too large to evaluate"))
        })?);
    }
    reader.finish().map_err(|error| common::report_error(format_args!("standard input: {error}")))?;
    Ok(args)
}

fn from_value(value: &Value) -> Option<EvalValue> {
    if let Some(scalar) = value.as_scalar() {
        return Some(EvalValue::Scalar(scalar));
    }
    let elem = value.value_type().scalar.prim();
    ir::eval::Array::from_bytes(elem, value.shape(), value.bytes()).map(EvalValue::Array)
}

fn to_value(value: &EvalValue, ty: ValueType) -> Option<Value> {
    match value {
        EvalValue::Scalar(scalar) => Value::from_scalar(ty.scalar, *scalar),
        EvalValue::Array(array) => {
            Value::from_bytes(ty.scalar, array.shape().to_vec(), &array.to_bytes()).ok()
        }
    }
}
