//! Conversion between the evaluator's values and values with text and binary formats, and checks of
//! the sizes of entry points' arguments.

use crate::failure::Res;
use crate::shape::invalid_sizes;
use crate::value::{Array, Data, Dims, RunType, RunValue};
use ::value::{Reader, Value, ValueType};
use check::tast::{Dim, Entry, Ty, VarId};
use half::f16;
use prim::ScalarType;
use rustc_hash::FxHashMap;
use std::io::Read;
use std::rc::Rc;
use std::sync::Arc;

/// Converts an external value.
pub fn import(value: &Value) -> RunValue {
    if let Some(scalar) = value.as_scalar() {
        return RunValue::Scalar(scalar);
    }
    let shape = Dims::from_slice(value.shape());
    let bytes = value.bytes();
    macro_rules! words {
        ($variant:ident, $n:literal, $from:expr) => {
            Data::$variant(
                bytes
                    .chunks_exact($n)
                    .map(|chunk| {
                        let mut word = [0; $n];
                        word.copy_from_slice(chunk);
                        $from(word)
                    })
                    .collect(),
            )
        };
    }
    let data = match value.scalar_type() {
        ScalarType::I8 | ScalarType::U8 => words!(I8, 1, i8::from_le_bytes),
        ScalarType::I16 | ScalarType::U16 => words!(I16, 2, i16::from_le_bytes),
        ScalarType::I32 | ScalarType::U32 => words!(I32, 4, i32::from_le_bytes),
        ScalarType::I64 | ScalarType::U64 => words!(I64, 8, i64::from_le_bytes),
        ScalarType::F16 => words!(F16, 2, f16::from_le_bytes),
        ScalarType::F32 => words!(F32, 4, f32::from_le_bytes),
        ScalarType::F64 => words!(F64, 8, f64::from_le_bytes),
        ScalarType::Bool => Data::Bool(bytes.iter().map(|b| *b != 0).collect()),
    };
    RunValue::array(shape, data)
}

/// Converts an external value, if it has this type; the error explains the mismatch.
pub fn checked(value: &Value, ty: &Ty) -> Result<RunValue, String> {
    let (rank, elem) = ty.peel();
    match elem {
        Ty::Scalar(scalar) if value.scalar_type() == *scalar && value.rank() == rank => Ok(import(value)),
        Ty::Scalar(scalar) => Err(format!(
            "expected a value of type {}, found one of type {}",
            ValueType::new(*scalar, rank),
            value.value_type()
        )),
        _ => Err("values of this type have no text or binary form".to_owned()),
    }
}

/// Reads an argument of this type; the error explains a failure.
pub fn read_argument<R: Read>(reader: &mut Reader<R>, ty: &Ty) -> Result<RunValue, String> {
    if matches!(ty, Ty::Tuple(parts) if parts.is_empty()) {
        reader.skip_unit().map_err(|e| e.to_string())?;
        return Ok(RunValue::unit());
    }
    let (rank, elem) = ty.peel();
    let Ty::Scalar(scalar) = elem else {
        return Err("values of this type have no text or binary form".to_owned());
    };
    let expected = ValueType::new(*scalar, rank);
    let value = reader.read(expected).map_err(|e| e.to_string())?;
    Ok(import(&value))
}

/// The values that executables print for a result, each on a line: the components of a tuple, or
/// the result itself.
pub fn components<'v>(val: &'v RunValue, ty: &'v Ty) -> Vec<(&'v RunValue, &'v Ty)> {
    match (val, ty) {
        (RunValue::Tuple(vals), Ty::Tuple(tys)) if !tys.is_empty() => {
            vals.iter().zip(tys.iter()).flat_map(|(val, ty)| components(val, ty)).collect()
        }
        _ => vec![(val, ty)],
    }
}

/// Converts a value to external form, if its type has one; the error explains why not.
pub fn export(val: &RunValue, ty: &Ty) -> Result<Value, String> {
    let (_, elem) = ty.peel();
    let Ty::Scalar(scalar) = elem else {
        let mut text = String::new();
        crate::push_type(&static_type(ty), &mut text);
        return Err(format!("values of type `{text}` have no text or binary form"));
    };
    match val {
        RunValue::Scalar(x) => Value::from_scalar(*scalar, *x)
            .ok_or_else(|| "a result's type differs from its entry point's declaration".to_owned()),
        RunValue::Array(array) => {
            Value::from_bytes(*scalar, array.shape.to_vec(), &bytes(array)).map_err(|e| e.to_string())
        }
        _ => Err("a result's type differs from its entry point's declaration".to_owned()),
    }
}

fn bytes(array: &Array) -> Vec<u8> {
    macro_rules! words {
        ($v:expr) => {
            $v.iter().flat_map(|x| x.to_le_bytes()).collect()
        };
    }
    match &array.data {
        Data::I8(v) => words!(v),
        Data::I16(v) => words!(v),
        Data::I32(v) => words!(v),
        Data::I64(v) => words!(v),
        Data::F16(v) => words!(v),
        Data::F32(v) => words!(v),
        Data::F64(v) => words!(v),
        Data::Bool(v) => v.iter().map(|x| u8::from(*x)).collect(),
        Data::Other(..) => Vec::new(),
    }
}

/// The type with its constant sizes; all others are unknown.
pub fn static_type(ty: &Ty) -> Rc<RunType> {
    let all = |tys: &[Ty]| tys.iter().map(static_type).collect();
    Rc::new(match ty {
        Ty::Scalar(ty) => RunType::Scalar(*ty),
        Ty::Array(array) => {
            let dim = match array.dim {
                Dim::Const(n) => n,
                _ => crate::value::UNKNOWN,
            };
            RunType::Array(dim, static_type(&array.elem))
        }
        Ty::Tuple(parts) => RunType::Tuple(all(parts)),
        Ty::Record(fields) => RunType::Record(
            fields.iter().map(|(l, _)| Arc::clone(l)).collect(),
            fields.iter().map(|(_, ty)| static_type(ty)).collect(),
        ),
        Ty::Sum(constrs) => RunType::Sum(
            constrs.iter().map(|(l, _)| Arc::clone(l)).collect(),
            constrs.iter().map(|(_, tys)| all(tys)).collect(),
        ),
        Ty::Arrow(_) => RunType::Fun,
        Ty::Var(_) | Ty::Abstract(..) => RunType::Unknown,
    })
}

/// The parameters' names in messages about an entry point.
pub fn names(entry: &Entry) -> Box<[String]> {
    let params = entry.params.iter().enumerate();
    params
        .map(|(i, param)| {
            if param.name.is_empty() { format!("argument {}", i + 1) } else { format!("\"{}\"", param.name) }
        })
        .collect()
}

/// Fails unless sizes of the same name are equal in all arguments.
pub fn check_sizes(entry: &Entry, names: &[String], args: &[RunValue]) -> Res<()> {
    let mut sizes = FxHashMap::default();
    for ((param, name), arg) in entry.params.iter().zip(names).zip(args) {
        fit(&param.ty.ty, arg, &mut sizes)
            .map_err(|(found, wanted)| invalid_sizes(name, &found, &wanted, entry.span))?;
    }
    Ok(())
}

/// An array's shape, and the type that it contradicts.
type SizeConflict = (Dims, RunType);

fn fit(ty: &Ty, arg: &RunValue, sizes: &mut FxHashMap<VarId, i64>) -> Result<(), SizeConflict> {
    match (ty, arg) {
        (Ty::Array(_), RunValue::Array(array)) => {
            let mut elem = ty;
            let mut wanted = Dims::new();
            for actual in &array.shape {
                let Ty::Array(outer) = elem else { break };
                wanted.push(match &outer.dim {
                    Dim::Const(n) => *n,
                    Dim::Var(var) => *sizes.entry(*var).or_insert(*actual),
                    Dim::Any | Dim::Op(..) | Dim::Exp(_) => *actual,
                });
                elem = &outer.elem;
            }
            if wanted.iter().zip(&array.shape).any(|(x, y)| x != y) {
                let elem = RunType::clone(&static_type(elem));
                let outer = |inner, dim: &i64| RunType::Array(*dim, Rc::new(inner));
                let wanted = wanted.iter().rev().fold(elem, outer);
                return Err((array.shape.clone(), wanted));
            }
            match &array.data {
                Data::Other(elements, _) => elements.iter().try_for_each(|part| fit(elem, part, sizes)),
                _ => Ok(()),
            }
        }
        (Ty::Tuple(tys), RunValue::Tuple(parts)) => {
            let mut parts = tys.iter().zip(parts.iter());
            parts.try_for_each(|(ty, part)| fit(ty, part, sizes))
        }
        (Ty::Record(fields), RunValue::Tuple(parts)) => {
            let mut parts = fields.iter().zip(parts.iter());
            parts.try_for_each(|((_, ty), part)| fit(ty, part, sizes))
        }
        _ => Ok(()),
    }
}
