//! Checks of values against the types of the names to which they are bound.
//!
//! The verifier does not know the values of sizes, so it cannot check that an array has the shape
//! in its type. The evaluator can.

use super::EvalError;
use super::machine::{Frame, Value};
use crate::name::Name;
use crate::types::{Dim, Type};
use std::fmt::Write as _;

impl Frame<'_> {
    /// Fails unless the value has the type of the name to which it is bound. A [`Dim::Ext`] matches
    /// any size.
    pub(super) fn check_type(&self, name: Name, ty: &Type, value: &Value) -> Result<(), EvalError> {
        let value = value.primal();
        let fits = match (ty, value) {
            (Type::Array { elem, shape }, Value::Array(array)) => {
                array.elem() == *elem
                    && array.shape().len() == shape.len()
                    && shape
                        .iter()
                        .zip(array.shape())
                        .all(|(dim, size)| self.known_size(*dim).is_none_or(|wanted| wanted == *size))
            }
            (Type::Prim(elem), Value::Scalar(value)) => value.ty() == *elem,
            (Type::Acc { .. }, Value::Acc(_))
            | (Type::Cert, Value::Unit)
            | (Type::Mem(_), Value::Block(_) | Value::Unit) => true,
            (Type::Array { .. } | Type::Prim(_) | Type::Acc { .. } | Type::Cert | Type::Mem(_), _) => false,
        };
        if fits {
            return Ok(());
        }
        Err(self.misfit(name, ty, value))
    }

    fn known_size(&self, dim: Dim) -> Option<i64> {
        self.known_scalar(dim.atom()?)?.as_i64()
    }

    #[cold]
    fn misfit(&self, name: Name, ty: &Type, value: &Value) -> EvalError {
        let name = self.show(name);
        let found = match value {
            Value::Array(array) => {
                format!("an array of {} of shape {:?}", array.elem(), array.shape())
            }
            Value::Scalar(value) => format!("a scalar of type {}", value.ty()),
            Value::Acc(_) => "an accumulator".to_owned(),
            Value::Unit => "no value".to_owned(),
            Value::Block(_) => "a block".to_owned(),
            Value::Empty | Value::Dual(_) => "nothing".to_owned(),
        };
        let mut message = format!("{name} is bound to {found}, but its type is ");
        match ty {
            Type::Array { elem, shape } => {
                for dim in shape {
                    let _ = match (dim, self.known_size(*dim)) {
                        (Dim::Var(size), Some(n)) => {
                            write!(message, "[{} = {n}]", self.show(*size))
                        }
                        (Dim::Var(size), None) => write!(message, "[{}]", self.show(*size)),
                        (Dim::Const(n), _) => write!(message, "[{n}]"),
                        (Dim::Ext(_), _) => write!(message, "[]"),
                    };
                }
                let _ = write!(message, "{elem}");
            }
            Type::Prim(elem) => {
                let _ = write!(message, "{elem}");
            }
            Type::Acc { .. } => message.push_str("an accumulator type"),
            Type::Cert => message.push_str("a certificate type"),
            Type::Mem(_) => message.push_str("a block type"),
        }
        EvalError::bug(message)
    }
}
