//! Don't-care values: expressions under `#[blank]` and `#[scratch]`.
//!
//! Such an expression may be replaced by any other of its type. Its own value is used if there is
//! one; if its evaluation fails, zeros of its type are used, provided that all sizes of the type
//! are known.

use crate::failure::{Class, Res};
use crate::machine::Machine;
use crate::soac::replicate;
use crate::tree::{Node, SizedType};
use crate::value::{RunType, RunValue};
use prim::Scalar;
use std::rc::Rc;
use syntax::span::Span;

impl Machine<'_> {
    /// The value of a don't-care expression of this type.
    pub fn dont_care(&mut self, inner: &Node, ty: &SizedType, span: Span) -> Res<RunValue> {
        match self.eval(inner) {
            Err(failure) if failure.class == Class::Program => match self.rty(ty) {
                Ok(ty) => zero(&ty, span)?.ok_or(failure),
                Err(_) => Err(failure),
            },
            result => result,
        }
    }
}

/// A zero value of this type; `None` if it contains unknown sizes or functions.
fn zero(ty: &RunType, span: Span) -> Res<Option<RunValue>> {
    Ok(match ty {
        RunType::Scalar(ty) => Some(RunValue::Scalar(Scalar::zero(ty.prim()))),
        RunType::Array(0, row) => Some(RunValue::no_rows(row)),
        RunType::Array(dim @ 1.., row) => match zero(row, span)? {
            Some(row) => Some(replicate(*dim, row, span)?),
            None => None,
        },
        RunType::Tuple(parts) | RunType::Record(_, parts) => zeros(parts, span)?.map(RunValue::tuple),
        RunType::Sum(_, constrs) => match constrs.first() {
            Some(parts) => zeros(parts, span)?.map(|parts| RunValue::constructed(0, parts)),
            None => None,
        },
        RunType::Array(..) | RunType::Fun | RunType::Unknown => None,
    })
}

fn zeros(parts: &[Rc<RunType>], span: Span) -> Res<Option<Vec<RunValue>>> {
    parts.iter().map(|ty| zero(ty, span)).collect()
}
