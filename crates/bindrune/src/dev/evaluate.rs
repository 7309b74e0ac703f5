//! `dev --run`: evaluates an entry point of the IR at any of its levels. Arguments and results use
//! standard input and output, as in an executable.

use crate::common;
use driver::Ir;
use harness::evaluate::{from_eval_value, leaf_types, to_eval_value};
use imp::eval::Options;
use ir::eval::EvalValue;
use ir::syntax::{OpaqueTypes, Signature};
use std::process::ExitCode;
use value::{Reader, ValueType};

/// Evaluates the entry point.
pub fn run(ir: &Ir, entry: &str, options: Options) -> Result<(), ExitCode> {
    match ir {
        Ir::Soacs(program) => level(program, entry, options),
        Ir::Segs(program) => level(program, entry, options),
        Ir::Mems(program) => level(program, entry, options),
        Ir::Imp(program) => imperative(program, entry, options),
    }
}

fn level<L: ir::eval::EvalLevel>(
    program: &ir::Program<L>,
    entry: &str,
    options: Options,
) -> Result<(), ExitCode> {
    let (params, results) =
        types(&program.opaques, program.entries.iter().map(|point| &point.signature), entry)?;
    // The evaluator of these levels runs iterations in one fixed order, so there is no seed.
    let Options { budget, settings, listener, seed: _ } = options;
    let options = ir::eval::Options { budget, settings, listener };
    let values = ir::eval::eval_entry_with(program, entry, read_args(params)?, &options)
        .map_err(|error| common::report_error(error.render(&program.files)))?;
    write_results(&values, results)
}

fn imperative(program: &imp::Program, entry: &str, options: Options) -> Result<(), ExitCode> {
    let (params, results) =
        types(&program.opaques, program.entries.iter().map(|point| &point.signature), entry)?;
    let values = imp::eval::eval_entry_with(program, entry, read_args(params)?, options)
        .map_err(common::report_error)?;
    write_results(&values, results)
}

/// The scalars and arrays that the parameters and the result of an entry point consist of.
fn types<'a>(
    opaques: &OpaqueTypes,
    mut entries: impl Iterator<Item = &'a Signature> + Clone,
    name: &str,
) -> Result<(Vec<ValueType>, Vec<ValueType>), ExitCode> {
    let names = entries.clone().map(|entry| &*entry.name);
    match entries.find(|entry| *entry.name == *name) {
        Some(entry) => Ok(leaf_types(opaques, entry)),
        None => {
            let names: Vec<&str> = names.collect();
            let names = names.join(", ");
            Err(common::report_error(format_args!("there is no entry point `{name}`; there are: {names}")))
        }
    }
}

fn write_results(results: &[EvalValue], types: Vec<ValueType>) -> Result<(), ExitCode> {
    let mut text = String::new();
    for (result, ty) in results.iter().zip(types) {
        let value = from_eval_value(result, ty).ok_or_else(|| {
            common::report_error("the type of a result differs from that of the entry point")
        })?;
        text.push_str(&value.to_string());
        text.push('\n');
    }
    common::write_stdout(&text)
}

fn read_args(types: Vec<ValueType>) -> Result<Vec<EvalValue>, ExitCode> {
    let mut reader = Reader::stdin()
        .map_err(|error| common::report_error(format_args!("cannot read standard input: {error}")))?;
    let mut args = Vec::with_capacity(types.len());
    for ty in types {
        let value =
            reader.read(ty).map_err(|error| common::report_error(format_args!("standard input: {error}")))?;
        args.push(to_eval_value(&value).ok_or_else(|| {
            common::report_error(format_args!("an argument of type {ty} is too large to evaluate"))
        })?);
    }
    reader.finish().map_err(|error| common::report_error(format_args!("standard input: {error}")))?;
    Ok(args)
}
