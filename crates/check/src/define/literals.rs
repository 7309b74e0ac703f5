//! Literals of a definition: their values, and whether the types that are found for them
//! can hold these.

use crate::context::Context;
use crate::infer::{Infer, Scalars, Tables};
use crate::tast::{Ty, TyVarId};
use prim::{Scalar, ScalarType};
use syntax::ast::Lit;
use syntax::span::Span;

/// The literals whose types are not known yet.
#[derive(Default)]
pub(super) struct Literals(Vec<Literal>);

/// A literal without a suffix, whose type is to be inferred.
struct Literal {
    /// Its size; exact for integers up to 2 to the power of 53.
    value: Number,
    /// Whether a minus stands before it.
    negative: bool,
    ty: Ty,
    span: Span,
}

enum Number {
    Int(u128),
    Float(f64),
}

impl Literals {
    /// Notes a literal whose type is not known yet.
    pub(super) fn note(&mut self, lit: &Lit, negative: bool, ty: &Ty, span: Span) {
        let value = match lit {
            Lit::Int(n, None) => Number::Int(*n),
            Lit::Float(x, None) => Number::Float(*x),
            _ => return,
        };
        let ty = ty.clone();
        self.0.push(Literal { value, negative, ty, span });
    }

    /// How many there are so far.
    pub(super) const fn count(&self) -> usize {
        self.0.len()
    }

    /// Notes that a minus stands before the literal that came after `count` others, if
    /// there is one.
    pub(super) fn negate(&mut self, count: usize) {
        if let Some(literal) = self.0.get_mut(count) {
            literal.negative = true;
        }
    }

    /// A literal with a fraction or an exponent whose type is this variable.
    pub(super) fn float(&self, tables: &Tables, var: TyVarId) -> Option<Span> {
        let mut literals = self.0.iter();
        let found = literals.find(|literal| {
            matches!(literal.value, Number::Float(_)) && tables.shallow(&literal.ty) == Ty::Var(var)
        });
        found.map(|literal| literal.span)
    }

    /// Reports the literals that do not fit their types.
    pub(super) fn check(self, tables: &Tables, cx: &mut Context<'_>) {
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

/// The value and type of a scalar literal. The value is an `i64`, `f64` or
/// `bool` until the type is known.
pub(super) fn value(infer: &mut Infer<'_>, lit: &Lit, span: Span) -> (Scalar, Ty) {
    match lit {
        Lit::Int(n, suffix) => {
            let ty = match suffix {
                Some(ty) => Ty::Scalar(*ty),
                None => infer.fresh_scalar(Scalars::NUMBERS, span),
            };
            // An integer too large for 64 bits can only become a float.
            let value = match u64::try_from(*n) {
                Ok(n) => Scalar::I64(n as i64),
                Err(_) => Scalar::F64(*n as f64),
            };
            (value, ty)
        }
        Lit::Float(x, suffix) => {
            let ty = match suffix {
                Some(ty) => Ty::Scalar(*ty),
                None => infer.fresh_scalar(Scalars::FLOATS, span),
            };
            (Scalar::F64(*x), ty)
        }
        Lit::Bool(b) => (Scalar::Bool(*b), Ty::BOOL),
        Lit::Char(c) => {
            let ty = infer.fresh_scalar(Scalars::NUMBERS, span);
            (Scalar::I64(i64::from(u32::from(*c))), ty)
        }
        Lit::String(_) => (Scalar::I64(0), Ty::Scalar(ScalarType::U8)),
    }
}
