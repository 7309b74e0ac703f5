//! The literals of a definition: their values, and the check that their types can represent them.

use crate::context::Context;
use crate::infer::{Infer, InferTables, Scalars};
use crate::tast::{Ty, TyVarId};
use prim::{Scalar, ScalarType};
use syntax::ast::Lit;
use syntax::span::Span;

/// Literals whose types are still inferred.
#[derive(Default)]
pub(super) struct Literals(Vec<Literal>);

/// A literal without a suffix, whose type is to be inferred.
struct Literal {
    /// The magnitude, without the sign.
    value: Number,
    /// True if a minus precedes the literal.
    negative: bool,
    ty: Ty,
    span: Span,
}

enum Number {
    Int(u128),
    Float(f64),
}

impl Literals {
    /// Records a literal, unless it has a suffix.
    pub(super) fn note(&mut self, lit: &Lit, negative: bool, ty: &Ty, span: Span) {
        let value = match lit {
            Lit::Int(n, None) => Number::Int(*n),
            Lit::Float(x, None) => Number::Float(*x),
            _ => return,
        };
        let ty = ty.clone();
        self.0.push(Literal { value, negative, ty, span });
    }

    /// The number of literals recorded.
    pub(super) const fn count(&self) -> usize {
        self.0.len()
    }

    /// Marks the literal at index `count` as negated, if there is one.
    pub(super) fn negate(&mut self, count: usize) {
        if let Some(literal) = self.0.get_mut(count) {
            literal.negative = true;
        }
    }

    /// The span of a literal with a fraction or an exponent whose type is this variable.
    pub(super) fn float(&self, tables: &InferTables, var: TyVarId) -> Option<Span> {
        let mut literals = self.0.iter();
        let found = literals.find(|literal| {
            matches!(literal.value, Number::Float(_)) && tables.resolve_head(&literal.ty) == Ty::Var(var)
        });
        found.map(|literal| literal.span)
    }

    /// Reports the literals that are out of range for their types.
    pub(super) fn check(self, tables: &InferTables, cx: &mut Context<'_>) {
        for literal in self.0 {
            let Ty::Scalar(ty) = tables.resolve(&literal.ty) else {
                continue;
            };
            if !literal.fits(ty) {
                let text = cx.reports.snippet(literal.span);
                let sign = literal.negative && !text.starts_with('-');
                let sign = if sign { "-" } else { "" };
                let message = format!("the literal \"{sign}{text}\" is out of bounds for \"{ty}\"");
                cx.error("literal-range", literal.span, message);
            }
        }
    }
}

impl Literal {
    fn fits(&self, ty: ScalarType) -> bool {
        if ty.is_float() {
            let x = match self.value {
                Number::Int(n) => n as f64,
                Number::Float(x) => x,
            };
            return x.is_finite()
                && match ty {
                    ScalarType::F16 => x < 65520.0,
                    ScalarType::F32 => (x as f32).is_finite(),
                    _ => true,
                };
        }
        let Number::Int(n) = self.value else {
            return true;
        };
        let bits = 8 * ty.size() as u32;
        match (ty.is_signed(), self.negative) {
            _ if !ty.is_int() => true,
            (true, true) => n <= 1 << (bits - 1),
            (true, false) => n < 1 << (bits - 1),
            (false, true) => n == 0,
            (false, false) => n < 1 << bits,
        }
    }
}

/// The value of a scalar literal with the type that it is parsed at, and its type. The value is an
/// `i64`, `u64`, `f64` or `bool` until the type is known.
pub(super) fn value(infer: &mut Infer<'_>, lit: &Lit, span: Span) -> ((Scalar, ScalarType), Ty) {
    match lit {
        Lit::Int(n, suffix) => {
            let ty = match suffix {
                Some(ty) => Ty::Scalar(*ty),
                None => infer.fresh_scalar(Scalars::NUMBERS, span),
            };
            // An integer too large for 64 bits can only become a float.
            let value = match u64::try_from(*n) {
                Ok(n) if n > i64::MAX as u64 => (Scalar::I64(n as i64), ScalarType::U64),
                Ok(n) => (Scalar::I64(n as i64), ScalarType::I64),
                Err(_) => (Scalar::F64(*n as f64), ScalarType::F64),
            };
            (value, ty)
        }
        Lit::Float(x, suffix) => {
            let ty = match suffix {
                Some(ty) => Ty::Scalar(*ty),
                None => infer.fresh_scalar(Scalars::FLOATS, span),
            };
            ((Scalar::F64(*x), ScalarType::F64), ty)
        }
        Lit::Bool(b) => ((Scalar::Bool(*b), ScalarType::Bool), Ty::BOOL),
        Lit::Char(c) => {
            let ty = infer.fresh_scalar(Scalars::NUMBERS, span);
            ((Scalar::I64(i64::from(u32::from(*c))), ScalarType::I64), ty)
        }
        Lit::String(_) => ((Scalar::I64(0), ScalarType::I64), Ty::Scalar(ScalarType::U8)),
    }
}

/// A literal negated. One below the least `i64` is a float.
pub(super) fn negated((value, ty): (Scalar, ScalarType)) -> (Scalar, ScalarType) {
    match value {
        Scalar::I64(n) if ty == ScalarType::U64 && n != i64::MIN => {
            (Scalar::F64(-(n as u64 as f64)), ScalarType::F64)
        }
        Scalar::I64(n) => (Scalar::I64(n.wrapping_neg()), ScalarType::I64),
        Scalar::F64(x) => (Scalar::F64(-x), ty),
        other => (other, ty),
    }
}
