//! Scalar operations: an operator at its types, with operands of any kind. The core IR has them on
//! variables and constants, the imperative IR on expressions; operands, types, text and values are
//! defined here once.

use crate::eval;
use crate::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, UnOp};
use smallvec::{SmallVec, smallvec};
use std::convert::Infallible;

/// A scalar operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ScalarOp<X> {
    /// A unary operator at a type.
    Unary(UnOp, PrimType, X),
    /// A binary operator at a type.
    Binary(BinOp, PrimType, X, X),
    /// A comparison at an operand type; yields `bool`.
    Compare(CmpOp, PrimType, X, X),
    /// A conversion.
    Convert {
        /// The conversion operator.
        op: ConvOp,
        /// The operand's type.
        from: PrimType,
        /// The result's type.
        to: PrimType,
        /// The operand.
        arg: X,
    },
    /// One of two scalars, both already evaluated.
    Select {
        /// Type of the scalars.
        ty: PrimType,
        /// The condition, a `bool`.
        cond: X,
        /// Result when true.
        if_true: X,
        /// Result when false.
        if_false: X,
    },
    /// Fused multiply-add `a * b + c` with one rounding.
    Fma(PrimType, X, X, X),
    /// A mathematical function, with [`MathFun::arity`] operands: the program's definition of it at
    /// this type, or a library function where types have no definitions
    /// ([`MathFun::has_definition`]).
    Math(MathFun, PrimType, SmallVec<[X; 2]>),
}

/// A list of an operation's operands, or one entry for each.
pub type Operands<X> = SmallVec<[X; 3]>;

/// Defines a method that calls a function on the operands.
macro_rules! each {
    ($(#[$meta:meta])* $name:ident, $iter:ident, $($m:tt)?) => {
        $(#[$meta])*
        pub fn $name<'x>(&'x $($m)? self, mut f: impl FnMut(&'x $($m)? X)) {
            match self {
                Self::Unary(_, _, x) | Self::Convert { op: _, from: _, to: _, arg: x } => f(x),
                Self::Binary(_, _, x, y) | Self::Compare(_, _, x, y) => {
                    f(x);
                    f(y);
                }
                Self::Select { ty: _, cond: x, if_true: y, if_false: z } | Self::Fma(_, x, y, z) => {
                    f(x);
                    f(y);
                    f(z);
                }
                Self::Math(_, _, args) => args.$iter().for_each(f),
            }
        }
    };
}

impl<X> ScalarOp<X> {
    each! {
        /// Calls `f` on the operands, in order. Walks use it: it makes no list.
        each_operand, iter,
    }

    each! {
        /// As [`Self::each_operand`], mutable.
        each_operand_mut, iter_mut, mut
    }

    /// The operands, in order.
    pub fn operands(&self) -> Operands<&X> {
        let mut operands = Operands::new();
        self.each_operand(|x| operands.push(x));
        operands
    }

    /// The operands, in order.
    pub fn operands_mut(&mut self) -> Operands<&mut X> {
        let mut operands = Operands::new();
        self.each_operand_mut(|x| operands.push(x));
        operands
    }

    /// The same operation on references to the operands.
    pub fn as_ref(&self) -> ScalarOp<&X> {
        match self {
            Self::Unary(op, ty, x) => ScalarOp::Unary(*op, *ty, x),
            Self::Binary(op, ty, x, y) => ScalarOp::Binary(*op, *ty, x, y),
            Self::Compare(op, ty, x, y) => ScalarOp::Compare(*op, *ty, x, y),
            Self::Convert { op, from, to, arg } => ScalarOp::Convert { op: *op, from: *from, to: *to, arg },
            Self::Select { ty, cond, if_true, if_false } => {
                ScalarOp::Select { ty: *ty, cond, if_true, if_false }
            }
            Self::Fma(ty, x, y, z) => ScalarOp::Fma(*ty, x, y, z),
            Self::Math(fun, ty, args) => ScalarOp::Math(*fun, *ty, args.iter().collect()),
        }
    }

    /// The same operation on the results of `f`, which is called on the operands in order.
    ///
    /// # Errors
    ///
    /// The first error of `f`.
    pub fn try_map<Y, E>(self, mut f: impl FnMut(X) -> Result<Y, E>) -> Result<ScalarOp<Y>, E> {
        Ok(match self {
            Self::Unary(op, ty, x) => ScalarOp::Unary(op, ty, f(x)?),
            Self::Binary(op, ty, x, y) => ScalarOp::Binary(op, ty, f(x)?, f(y)?),
            Self::Compare(op, ty, x, y) => ScalarOp::Compare(op, ty, f(x)?, f(y)?),
            Self::Convert { op, from, to, arg } => ScalarOp::Convert { op, from, to, arg: f(arg)? },
            Self::Select { ty, cond, if_true, if_false } => {
                let cond = f(cond)?;
                ScalarOp::Select { ty, cond, if_true: f(if_true)?, if_false: f(if_false)? }
            }
            Self::Fma(ty, x, y, z) => ScalarOp::Fma(ty, f(x)?, f(y)?, f(z)?),
            Self::Math(fun, ty, args) => {
                ScalarOp::Math(fun, ty, args.into_iter().map(f).collect::<Result<_, _>>()?)
            }
        })
    }

    /// As [`Self::try_map`], for functions that do not fail.
    pub fn map<Y>(self, mut f: impl FnMut(X) -> Y) -> ScalarOp<Y> {
        let Ok(mapped) = self.try_map(|x| Ok::<Y, Infallible>(f(x)));
        mapped
    }

    /// The type of each operand.
    pub fn operand_types(&self) -> Operands<PrimType> {
        match self {
            Self::Unary(_, ty, _) | Self::Convert { op: _, from: ty, to: _, arg: _ } => smallvec![*ty],
            Self::Binary(_, ty, _, _) | Self::Compare(_, ty, _, _) => smallvec![*ty; 2],
            Self::Select { ty, .. } => smallvec![PrimType::Bool, *ty, *ty],
            Self::Fma(ty, _, _, _) => smallvec![*ty; 3],
            Self::Math(fun, ty, _) => smallvec![*ty; fun.arity()],
        }
    }

    /// The type of the result.
    pub const fn result_type(&self) -> PrimType {
        match self {
            Self::Unary(_, ty, _)
            | Self::Binary(_, ty, _, _)
            | Self::Convert { op: _, from: _, to: ty, arg: _ }
            | Self::Select { ty, .. }
            | Self::Fma(ty, _, _, _)
            | Self::Math(_, ty, _) => *ty,
            Self::Compare(..) => PrimType::Bool,
        }
    }

    /// The operator's name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Unary(op, ..) => op.name(),
            Self::Binary(op, ..) => op.name(),
            Self::Compare(op, ..) => op.name(),
            Self::Convert { op, .. } => op.name(),
            Self::Select { .. } => "select",
            Self::Fma(..) => "fma",
            Self::Math(fun, ..) => fun.name(),
        }
    }

    /// Returns true if the result is not rounded.
    pub fn is_exact(&self) -> bool {
        match self {
            Self::Binary(op, ty, _, _) => !ty.is_float() || op.is_associative(),
            Self::Convert { op: _, from, to, arg: _ } => !from.is_float() || from == to,
            Self::Unary(..) | Self::Compare(..) | Self::Select { .. } => true,
            Self::Fma(..) | Self::Math(..) => false,
        }
    }

    /// Requires that the operator is defined for its types.
    ///
    /// # Errors
    ///
    /// A message that names the operator and the type.
    pub fn is_defined(&self) -> Result<(), String> {
        let (defined, ty) = match self {
            Self::Unary(op, ty, _) => (op.domain().contains(*ty), ty),
            Self::Binary(op, ty, _, _) => (op.domain().contains(*ty), ty),
            Self::Compare(op, ty, _, _) => (op.domain().contains(*ty), ty),
            Self::Convert { op, from, to, arg: _ } => {
                let defined = op.accepts(*from, *to);
                return defined
                    .then_some(())
                    .ok_or_else(|| format!("{} does not convert {from} to {to}", op.name()));
            }
            Self::Select { ty, .. } => (true, ty),
            Self::Fma(ty, _, _, _) => (ty.is_float(), ty),
            Self::Math(fun, ty, args) => {
                let (given, arity) = (args.len(), fun.arity());
                if given != arity {
                    return Err(format!("{} takes {arity} operands, but has {given}", fun.name()));
                }
                (ty.is_float(), ty)
            }
        };
        defined.then_some(()).ok_or_else(|| format!("{} is not defined for {ty}", self.name()))
    }

    /// The operator and its types in IR text: `add.i32`, `sext.i32.i64`, `math.sin.f64`.
    pub fn spelling(&self) -> String {
        match self {
            Self::Convert { op, from, to, arg: _ } => format!("{}.{from}.{to}", op.name()),
            Self::Math(fun, ty, _) => fun.spelling(*ty),
            Self::Unary(_, ty, _)
            | Self::Binary(_, ty, _, _)
            | Self::Compare(_, ty, _, _)
            | Self::Select { ty, .. }
            | Self::Fma(ty, _, _, _) => format!("{}.{ty}", self.name()),
        }
    }
}

impl ScalarOp<()> {
    /// The operation without operands that a spelling stands for.
    pub fn from_spelling(text: &str) -> Option<Self> {
        if let Some((fun, ty)) = MathFun::from_spelling(text) {
            return Some(Self::Math(fun, ty, smallvec![(); fun.arity()]));
        }
        let (name, types) = text.split_once('.')?;
        if let Some((from, to)) = types.split_once('.') {
            let (op, from, to) = (ConvOp::from_name(name)?, from.parse().ok()?, to.parse().ok()?);
            return Some(Self::Convert { op, from, to, arg: () });
        }
        let ty: PrimType = types.parse().ok()?;
        Some(match name {
            "select" => Self::Select { ty, cond: (), if_true: (), if_false: () },
            "fma" => Self::Fma(ty, (), (), ()),
            _ => {
                let unary = || UnOp::from_name(name).map(|op| Self::Unary(op, ty, ()));
                let binary = || BinOp::from_name(name).map(|op| Self::Binary(op, ty, (), ()));
                let compare = || CmpOp::from_name(name).map(|op| Self::Compare(op, ty, (), ()));
                unary().or_else(binary).or_else(compare)?
            }
        })
    }
}

impl ScalarOp<Scalar> {
    /// The value, if the operands have one at their types; `math` computes mathematical functions.
    pub fn value(&self, math: impl FnOnce(MathFun, PrimType, &[Scalar]) -> Option<Scalar>) -> Option<Scalar> {
        match self {
            Self::Unary(op, _, x) => eval::unary(*op, *x),
            Self::Binary(op, _, x, y) => eval::binary(*op, *x, *y),
            Self::Compare(op, _, x, y) => eval::compare(*op, *x, *y).map(Scalar::Bool),
            Self::Convert { op, from: _, to, arg } => eval::convert(*op, *arg, *to),
            Self::Select { ty: _, cond, if_true, if_false } => {
                Some(if cond.as_bool()? { *if_true } else { *if_false })
            }
            Self::Fma(_, x, y, z) => eval::fma(*x, *y, *z),
            Self::Math(fun, ty, args) => math(*fun, *ty, args),
        }
    }
}
