//! Values as text, for traces and the prompt: the text format of values, with tuples, records and
//! sums in source syntax.

use crate::value::{Array, Data, RunType, RunValue};
use ::value::push_element;
use prim::{Scalar, ScalarType};
use std::fmt::Write as _;

/// The value as text; the type determines which integers are unsigned, and the names of fields and
/// constructors.
pub fn show(value: &RunValue, ty: &RunType) -> String {
    let mut out = String::new();
    push(value, ty, &mut out);
    out
}

fn push(value: &RunValue, ty: &RunType, out: &mut String) {
    match (value, ty) {
        (RunValue::Scalar(_) | RunValue::Active(_), ty) => {
            value.as_scalar().into_iter().for_each(|x| push_scalar(x, ty, out));
        }
        (RunValue::Array(array), ty) => push_array(array, 0, 0, ty, out),
        (RunValue::Tuple(parts), RunType::Record(names, tys)) => {
            out.push('{');
            for (i, ((part, ty), name)) in parts.iter().zip(tys).zip(names.iter()).enumerate() {
                // Writing to a string cannot fail.
                let _ = write!(out, "{}{name} = ", if i > 0 { ", " } else { "" });
                push(part, ty, out);
            }
            out.push('}');
        }
        (RunValue::Tuple(parts), ty) => {
            out.push('(');
            for (i, part) in parts.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                match ty {
                    RunType::Tuple(tys) if tys.len() == parts.len() => push(part, &tys[i], out),
                    _ => push(part, &RunType::Unknown, out),
                }
            }
            out.push(')');
        }
        (RunValue::Sum(sum), ty) => {
            let known = match ty {
                RunType::Sum(names, tys) => names.get(sum.0 as usize).zip(tys.get(sum.0 as usize)),
                _ => None,
            };
            let _ = match known {
                Some((name, _)) => write!(out, "#{name}"),
                None => write!(out, "#{}", sum.0),
            };
            for (i, part) in sum.1.iter().enumerate() {
                out.push(' ');
                let ty = known.and_then(|(_, tys)| tys.get(i));
                push(part, ty.map_or(&RunType::Unknown, |ty| ty), out);
            }
        }
        (RunValue::Fun(_), _) => out.push_str("#<fun>"),
        (RunValue::Acc(_), _) => out.push_str("#<acc>"),
        (RunValue::Unbound | RunValue::Type(_), _) => out.push('?'),
    }
}

fn push_scalar(x: Scalar, ty: &RunType, out: &mut String) {
    let ty = match ty {
        RunType::Scalar(ty) if ty.prim() == x.ty() => Some(*ty),
        _ => ScalarType::ALL.iter().copied().find(|t| t.prim() == x.ty()),
    };
    let Some(ty) = ty else { return };
    let mut text = Vec::new();
    let bytes = x.bits().to_le_bytes();
    push_element(&mut text, ty, &bytes[..ty.size() as usize]);
    out.push_str(&String::from_utf8_lossy(&text));
}

/// Appends the part of an array from element `from` on, without the first `at` dimensions.
fn push_array(array: &Array, at: usize, from: usize, ty: &RunType, out: &mut String) {
    let Some(size) = array.shape.get(at) else {
        push(&array.data.get(from), ty, out);
        return;
    };
    let elem = match ty {
        RunType::Array(_, elem) => elem,
        other => other,
    };
    if array.shape[at..].contains(&0) {
        let _ = write!(out, "empty(");
        array.shape[at..].iter().for_each(|dim| {
            let _ = write!(out, "[{dim}]");
        });
        let mut inner = ty;
        while let RunType::Array(_, elem) = inner {
            inner = elem;
        }
        match (inner, &array.data) {
            (RunType::Unknown, Data::Other(_, ty)) => crate::shape::push_type(ty, out),
            (RunType::Unknown, data) => crate::shape::push_type(&data.elem(), out),
            (ty, _) => crate::shape::push_type(ty, out),
        }
        out.push(')');
        return;
    }
    let block: i64 = array.shape[at + 1..].iter().product();
    out.push('[');
    for i in 0..*size {
        out.push_str(if i > 0 { ", " } else { "" });
        push_array(array, at + 1, from + (i * block) as usize, elem, out);
    }
    out.push(']');
}
