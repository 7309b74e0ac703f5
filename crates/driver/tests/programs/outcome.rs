//! Comparison of outcomes of calls: with test blocks, and bit for bit with one another.

use crate::program::Program;
use harness::evaluate::Failure;
use harness::{Case, Expected, compare_all};
use runtime::{Context, Error, Output};
use value::{Element, Value};

/// The outcome of a call of an entry point.
pub type Outcome = Result<Vec<Value>, Failure>;

/// Compares the outcome of a call with the expectation of the test block.
pub fn as_expected(
    program: &Program,
    case: &Case,
    outcome: Result<&[Value], &Failure>,
) -> Result<(), String> {
    match (&case.expected, outcome) {
        (Expected::Error(_), Ok(results)) => Err(format!("no failure, but the results {results:?}")),
        (Expected::Error(pattern), Err(Failure::Program(message))) => match pattern.matches(message) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("the message does not match `{}`: {message}", pattern.regex)),
            Err(e) => Err(e.to_string()),
        },
        (_, Err(failure)) => Err(failure.to_string()),
        (Expected::Values(data), Ok(results)) => {
            let expected = data.values(program.folder()).map_err(|e| e.to_string())?;
            compare_all(&expected, results)
        }
        (Expected::Success | Expected::Auto, Ok(_)) => Ok(()),
    }
}

/// Checks that a failure names a position in the program: file, line, column.
pub fn has_position(program: &Program, failure: &Failure) -> Result<(), String> {
    let message = failure.to_string();
    let file = program.name.rsplit('/').next().unwrap_or_default();
    let is_position = |rest: &str| {
        let mut numbers = rest.split([':', '-']).skip(1).take(2);
        numbers.by_ref().filter(|n| n.parse::<u32>().is_ok()).count() == 2
    };
    if message.split(file).skip(1).any(is_position) {
        Ok(())
    } else {
        Err(format!("the failure has no position: {message}"))
    }
}

/// Calls compiled code.
pub fn call_compiled(context: &mut Context, program: &Program, case: &Case, entry: &str) -> Outcome {
    let args = case.input.values(program.folder());
    let args = args.map_err(|e| Failure::Argument(e.to_string()))?;
    let outputs = context.call(entry, args).map_err(|error| match error {
        Error::Program(message) => Failure::Program(message),
        Error::Usage(message) => Failure::Argument(message),
    })?;
    let value = |output| match output {
        Output::Value(value) => Ok(value),
        other => Err(Failure::Evaluator(format!("a result without values: {other:?}"))),
    };
    outputs.into_iter().map(value).collect()
}

/// Returns true if two values have the same bits; all NaNs count as equal.
fn same_bits(x: &Value, y: &Value) -> bool {
    fn alike<T: Element>(x: &Value, y: &Value, is_nan: impl Fn(T) -> bool) -> bool {
        let (Some(xs), Some(ys)) = (x.elements::<T>(), y.elements::<T>()) else {
            return false;
        };
        let size = size_of::<T>();
        let bits = x.bytes().chunks_exact(size).zip(y.bytes().chunks_exact(size));
        let mut pairs = xs.iter().zip(ys).zip(bits);
        pairs.all(|((&a, &b), (p, q))| p == q || (is_nan(a) && is_nan(b)))
    }
    use prim::ScalarType::{F16, F32, F64};
    x == y
        || x.shape() == y.shape()
            && x.scalar_type() == y.scalar_type()
            && match x.scalar_type() {
                F16 => alike(x, y, half::f16::is_nan),
                F32 => alike(x, y, f32::is_nan),
                F64 => alike(x, y, f64::is_nan),
                _ => false,
            }
}

/// Checks that all values have the same bits; the error is the first pair that differs.
pub fn all_same_bits(xs: &[Value], ys: &[Value]) -> Result<(), String> {
    if xs.len() != ys.len() {
        return Err(format!("{} results and {} results", xs.len(), ys.len()));
    }
    match xs.iter().zip(ys).find(|(x, y)| !same_bits(x, y)) {
        Some((x, y)) => Err(format!("{x} and {y}")),
        None => Ok(()),
    }
}
