//! Evaluation of entry points of the IR at any level, by `ir::eval` and `imp::eval`, with values of
//! test blocks.

use ir::eval::{Array, ErrorClass, EvalError, EvalLevel, EvalValue};
use ir::syntax::{OpaqueTypes, Signature};
use ir::{Level, Program};
use std::fmt;
use value::{Value, ValueType};

/// A hash of the source of the evaluators and of what they use: outcomes of evaluations with
/// different hashes may differ.
pub const EVALUATOR: &str = env!("EVALUATOR_HASH");

/// The reason why an evaluation has no results.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// A run-time error of the program, which compiled code reports too.
    Program(String),
    /// The arguments do not match the entry point.
    Argument(String),
    /// The evaluator's budget or recursion limit is exceeded.
    Limit(String),
    /// The evaluator found the program invalid.
    Evaluator(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(m) | Self::Argument(m) | Self::Limit(m) | Self::Evaluator(m) => f.write_str(m),
        }
    }
}

/// Evaluates an entry point.
pub fn call<L: EvalLevel>(program: &Program<L>, entry: &str, args: &[Value]) -> Result<Vec<Value>, Failure> {
    let signature = program.entries.iter().map(|it| &it.signature).find(|it| *it.name == *entry);
    let types = signature.map(|signature| leaf_types(&program.opaques, signature));
    evaluate(entry, types, args, |args| {
        ir::eval::eval_entry(program, entry, args).map_err(|error| from_error(&error, program))
    })
}

/// Evaluates an entry point of the imperative IR. The seed determines the order of independent
/// iterations.
pub fn call_imp(
    program: &imp::Program,
    entry: &str,
    args: &[Value],
    seed: u64,
) -> Result<Vec<Value>, Failure> {
    let options = imp::eval::Options { seed, ..imp::eval::Options::default() };
    call_imp_with(program, entry, args, options)
}

/// As [`call_imp`], with a budget and values of tuning parameters.
pub fn call_imp_with(
    program: &imp::Program,
    entry: &str,
    args: &[Value],
    options: imp::eval::Options,
) -> Result<Vec<Value>, Failure> {
    let signature = program.entries.iter().map(|it| &it.signature).find(|it| *it.name == *entry);
    let types = signature.map(|signature| leaf_types(&program.opaques, signature));
    evaluate(entry, types, args, |args| {
        imp::eval::eval_entry_with(program, entry, args, options)
            .map_err(|error| failure(&error, error.to_string()))
    })
}

/// Evaluates an entry point with these types of parameters and results; `None` if it does not
/// exist.
fn evaluate(
    entry: &str,
    types: Option<(Vec<ValueType>, Vec<ValueType>)>,
    args: &[Value],
    eval: impl FnOnce(Vec<EvalValue>) -> Result<Vec<EvalValue>, Failure>,
) -> Result<Vec<Value>, Failure> {
    let (params, types) =
        types.ok_or_else(|| Failure::Argument(format!("there is no entry point `{entry}`")))?;
    if !params.iter().copied().eq(args.iter().map(Value::value_type)) {
        let list =
            |types: Vec<ValueType>| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        return Err(Failure::Argument(format!(
            "`{entry}` takes arguments of types {}, not {}",
            list(params),
            list(args.iter().map(Value::value_type).collect())
        )));
    }
    let too_large = || Failure::Evaluator("an argument is too large to evaluate".to_owned());
    let args: Option<Vec<EvalValue>> = args.iter().map(to_eval_value).collect();
    let results = eval(args.ok_or_else(too_large)?)?;
    if results.len() != types.len() {
        return Err(Failure::Evaluator(format!(
            "{} results, but the entry point has {}",
            results.len(),
            types.len()
        )));
    }
    let other =
        || Failure::Evaluator("a result does not have the type that the entry point declares".to_owned());
    results.iter().zip(types).map(|(result, ty)| from_eval_value(result, ty).ok_or_else(other)).collect()
}

fn from_error<L: Level>(error: &EvalError, program: &Program<L>) -> Failure {
    failure(error, error.render(&program.files))
}

fn failure(error: &EvalError, text: String) -> Failure {
    match error.class {
        ErrorClass::Failure => Failure::Program(text),
        ErrorClass::Argument => Failure::Argument(text),
        ErrorClass::Limit => Failure::Limit(text),
        _ => Failure::Evaluator(text),
    }
}

/// The scalars and arrays that the parameters and the result of an entry point consist of.
pub fn leaf_types(opaques: &OpaqueTypes, signature: &Signature) -> (Vec<ValueType>, Vec<ValueType>) {
    let params = signature.params.iter().flat_map(|value| opaques.leaves(value.ty)).collect();
    (params, opaques.leaves(signature.result.ty))
}

/// Converts a value for the evaluator; `None` if it is too large for this machine.
pub fn to_eval_value(value: &Value) -> Option<EvalValue> {
    if let Some(scalar) = value.as_scalar() {
        return Some(EvalValue::Scalar(scalar));
    }
    let elem = value.scalar_type().prim();
    Array::from_bytes(elem, value.shape(), value.bytes()).map(EvalValue::Array)
}

/// Converts a value from the evaluator; `None` if it has another type.
pub fn from_eval_value(value: &EvalValue, ty: ValueType) -> Option<Value> {
    match value {
        EvalValue::Scalar(scalar) => Value::from_scalar(ty.scalar, *scalar),
        EvalValue::Array(array) => {
            Value::from_bytes(ty.scalar, array.shape().to_vec(), &array.to_bytes()).ok()
        }
    }
}
