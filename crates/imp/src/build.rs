//! Construction of code: operands, arithmetic on `i64`, and statements in the syntax of Rust.
//!
//! `+ - * / % << >>` on an [`Operand`], a [`Var`] or an [`Expr`] build an expression, with enough folding to keep
//! indices readable; division, remainder and the right shift are unsigned. [`expr!`](crate::expr) adds
//! comparisons and conjunctions, and [`emit!`](crate::emit) statements.

use crate::syntax::{Expr, Var};
#[doc(hidden)]
pub use prim::CmpOp;
use prim::{BinOp, PrimType, Scalar};
use std::ops::{Add, Div, Mul, Rem, Shl, Shr, Sub};

/// A constant or a variable: it may be used several times, and nothing is computed twice.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operand {
    /// A constant.
    Const(Scalar),
    /// A variable.
    Var(Var),
}

impl Operand {
    /// The value of an `i64` constant.
    pub const fn as_i64(self) -> Option<i64> {
        if let Self::Const(Scalar::I64(n)) = self { Some(n) } else { None }
    }
}

/// Conversions to operands and expressions.
macro_rules! conversions {
    ($($from:ty => $to:ident: |$x:ident| $value:expr;)*) => {
        $(impl From<$from> for $to {
            fn from($x: $from) -> Self {
                $value
            }
        })*
    };
}

conversions! {
    i64 => Operand: |n| Self::Const(Scalar::I64(n));
    Var => Operand: |var| Self::Var(var);
    &Operand => Operand: |operand| *operand;
    i64 => Expr: |n| Self::i64(n);
    Var => Expr: |var| Self::Var(var);
    Scalar => Expr: |constant| Self::Const(constant);
    &Expr => Expr: |expr| expr.clone();
    &Operand => Expr: |operand| (*operand).into();
    Operand => Expr: |operand| match operand {
        Operand::Const(constant) => Self::Const(constant),
        Operand::Var(var) => Self::Var(var),
    };
}

/// Operators on `i64`, each with its folding of two expressions.
macro_rules! operators {
    ($($trait:ident $method:ident $fold:ident: $($left:ty)*;)*) => {
        $($(impl<R: Into<Expr>> $trait<R> for $left {
            type Output = Expr;

            fn $method(self, right: R) -> Expr {
                $fold(self.into(), right.into())
            }
        })*)*
    };
    (constant $($trait:ident $method:ident: $($right:ty)*;)*) => {
        $($(impl $trait<$right> for i64 {
            type Output = Expr;

            fn $method(self, right: $right) -> Expr {
                $trait::$method(Expr::i64(self), right)
            }
        })*)*
    };
}

operators! {
    Add add folded_add: Expr &Expr Operand Var;
    Sub sub folded_sub: Expr &Expr Operand Var;
    Mul mul folded_mul: Expr &Expr Operand Var;
    Div div folded_div: Expr &Expr Operand Var;
    Rem rem folded_rem: Expr &Expr Operand Var;
    Shl shl folded_shl: Expr &Expr Operand Var;
    Shr shr folded_shr: Expr &Expr Operand Var;
}

operators! { constant
    Add add: Expr Operand Var;
    Sub sub: Expr Operand Var;
    Mul mul: Expr Operand Var;
    Div div: Expr Operand Var;
    Shl shl: Expr Operand Var;
    Shr shr: Expr Operand Var;
}

fn folded_add(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Const(Scalar::I64(0)), _) => b,
        (_, Expr::Const(Scalar::I64(0))) => a,
        (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) => Expr::i64(x.wrapping_add(*y)),
        _ => binary(BinOp::Add, a, b),
    }
}

fn folded_sub(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (_, Expr::Const(Scalar::I64(0))) => a,
        (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) => Expr::i64(x.wrapping_sub(*y)),
        _ => binary(BinOp::Sub, a, b),
    }
}

fn folded_mul(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Const(Scalar::I64(0)), _) | (_, Expr::Const(Scalar::I64(0))) => Expr::i64(0),
        (Expr::Const(Scalar::I64(1)), _) => b,
        (_, Expr::Const(Scalar::I64(1))) => a,
        (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) => Expr::i64(x.wrapping_mul(*y)),
        _ => binary(BinOp::Mul, a, b),
    }
}

/// For a positive divisor and a dividend that is not negative.
fn folded_div(a: Expr, b: Expr) -> Expr {
    if b == Expr::i64(1) { a } else { binary(BinOp::UDiv, a, b) }
}

fn folded_rem(a: Expr, b: Expr) -> Expr {
    binary(BinOp::UMod, a, b)
}

fn folded_shl(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Shl, a, b)
}

fn folded_shr(a: Expr, b: Expr) -> Expr {
    binary(BinOp::LShr, a, b)
}

/// A binary operator on `i64`.
pub fn binary(op: BinOp, a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
    Expr::binary(op, PrimType::I64, a.into(), b.into())
}

/// The signed minimum on `i64`.
pub fn min(a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
    binary(BinOp::SMin, a, b)
}

/// The signed maximum on `i64`.
pub fn max(a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
    binary(BinOp::SMax, a, b)
}

/// The product of factors, 1 if there are none.
pub fn product(factors: impl IntoIterator<Item: Into<Expr>>) -> Expr {
    factors.into_iter().fold(Expr::i64(1), |product, factor| product * factor)
}

/// A comparison on `i64`; [`expr!`](crate::expr) writes the signed ones as operators.
pub fn compare(op: CmpOp, a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
    Expr::compare(op, PrimType::I64, a.into(), b.into())
}

/// The unsigned comparison `a < b` on `i64`.
pub fn ult(a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
    compare(CmpOp::ULt, a, b)
}

/// `if cond then yes else no` on `i64`.
pub fn select(cond: impl Into<Expr>, yes: impl Into<Expr>, no: impl Into<Expr>) -> Expr {
    Expr::select(PrimType::I64, cond.into(), yes.into(), no.into())
}

/// The constant `true`.
pub const TRUE: Expr = Expr::Const(Scalar::Bool(true));

/// Logical or.
pub fn or(a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
    Expr::binary(BinOp::Or, PrimType::Bool, a.into(), b.into())
}

/// Logical and.
pub fn and(a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
    let (a, b) = (a.into(), b.into());
    if a == TRUE { b } else { Expr::binary(BinOp::And, PrimType::Bool, a, b) }
}

/// An expression: arithmetic, conjunctions (`&&`), and in each conjunct at most one signed comparison.
#[macro_export]
macro_rules! expr {
    (@and ($($left:expr)?) [$($a:tt)+] && $($rest:tt)+) => {
        $crate::expr!(@and ($crate::expr!(@join ($($left)?) $($a)+)) [] $($rest)+)
    };
    (@and ($($left:expr)?) [$($a:tt)*] $next:tt $($rest:tt)*) => {
        $crate::expr!(@and ($($left)?) [$($a)* $next] $($rest)*)
    };
    (@and ($($left:expr)?) [$($a:tt)+]) => { $crate::expr!(@join ($($left)?) $($a)+) };
    (@join () $($a:tt)+) => { $crate::expr!(@compare [] $($a)+) };
    (@join ($left:expr) $($a:tt)+) => { $crate::build::and($left, $crate::expr!(@compare [] $($a)+)) };
    (@compare [$($a:tt)+] < $($b:tt)+) => { $crate::expr!(@as SLt, $($a)+, $($b)+) };
    (@compare [$($a:tt)+] <= $($b:tt)+) => { $crate::expr!(@as SLe, $($a)+, $($b)+) };
    (@compare [$($a:tt)+] == $($b:tt)+) => { $crate::expr!(@as Eq, $($a)+, $($b)+) };
    (@compare [$($a:tt)*] $next:tt $($rest:tt)*) => { $crate::expr!(@compare [$($a)* $next] $($rest)*) };
    (@compare [$($a:tt)+]) => { Into::<$crate::Expr>::into($($a)+) };
    (@as $op:ident, $a:expr, $b:expr) => { $crate::build::compare($crate::build::CmpOp::$op, $a, $b) };
    ($($all:tt)+) => { $crate::expr!(@and () [] $($all)+) };
}

/// Binds a name to an operand with the value of an expression: `bind!(x = g(e))` takes a variable of that name from the
/// emitter `g`, unless the value is a constant or a variable already.
#[macro_export]
macro_rules! bind {
    ($x:ident = $g:ident($($value:tt)+)) => {
        let $x = {
            let value = $crate::expr!($($value)+);
            $g.bind(value, stringify!($x))
        };
    };
}

/// Emits a conditional or a loop: `if g(c) { .. } else { .. }`, `while g(x) { .. }`, `for i in g(a..b) { .. }`, where
/// `g` is the emitter and the code in its parentheses is generated. The blocks run while code is generated: they emit
/// the statements, and return early only with an error. `for i in g.independent(a..b)` is a loop whose iterations may
/// run in any order; `for i in g.independent_if(c, a..b)` is one if `c` is true.
#[macro_export]
macro_rules! emit {
    (if $g:ident($($cond:tt)+) $then:block $(else $other:block)?) => {{
        let cond = $crate::expr!($($cond)+);
        let then = $crate::emit!(@list $g $then);
        let other = $crate::emit!(@list $g $($other)?);
        $g.emit($crate::Stmt::If(cond, then, other));
    }};
    (while $g:ident($cond:ident) $body:block) => {{
        let body = $crate::emit!(@list $g $body);
        $g.emit($crate::Stmt::While($cond, body));
    }};
    (for $i:ident in $g:ident($($range:tt)+) $body:block) => {
        $crate::emit!(@for $g $i false $body [] $($range)+)
    };
    (for $i:ident in $g:ident.independent($($range:tt)+) $body:block) => {
        $crate::emit!(@for $g $i true $body [] $($range)+)
    };
    (for $i:ident in $g:ident.independent_if($independent:expr, $($range:tt)+) $body:block) => {
        $crate::emit!(@for $g $i $independent $body [] $($range)+)
    };
    (@for $g:ident $i:ident $independent:tt $body:block [$($from:tt)+] .. $($to:tt)+) => {{
        let (from, to): ($crate::Expr, $crate::Expr) = (Into::into($($from)+), Into::into($($to)+));
        let $i = $g.counter(stringify!($i));
        let body = $crate::emit!(@list $g $body);
        $g.emit_loop($independent, ($i, from, to), body);
    }};
    (@for $g:ident $i:ident $independent:tt $body:block [$($from:tt)*] $next:tt $($rest:tt)+) => {
        $crate::emit!(@for $g $i $independent $body [$($from)* $next] $($rest)+)
    };
    (@list $g:ident $($body:block)?) => {{
        $g.open();
        $($body)?
        $g.close()
    }};
}
