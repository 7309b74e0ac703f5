//! Target-independent costs of operations ([`target::time`]), which determine the grain size of
//! segops and whether tasks are profitable.

use crate::syntax::BasicOp;
use target::time;

/// The number of statements that an operation becomes: more than one for mathematical functions.
pub fn statements(op: &BasicOp) -> usize {
    if let BasicOp::Math(fun, ty, _) = op
        && fun.has_definition(*ty)
    {
        return (time::math(*fun, *ty) / time::PLAIN) as usize;
    }
    1
}

/// The cost of an operation in sixteenths of a nanosecond.
pub fn basic(op: &BasicOp) -> i64 {
    match op {
        BasicOp::Atom(_)
        | BasicOp::Opaque(_)
        | BasicOp::Rearrange { .. }
        | BasicOp::Reshape { .. }
        | BasicOp::FlatIndex { .. }
        | BasicOp::ConstArray { .. } => 0,
        BasicOp::Unary(..)
        | BasicOp::Compare(..)
        | BasicOp::SizeAtLeast { .. }
        | BasicOp::Param { .. }
        | BasicOp::Convert { .. }
        | BasicOp::Select { .. }
        | BasicOp::Fma(..)
        | BasicOp::Assert { .. } => time::PLAIN,
        BasicOp::Binary(op, ..) => time::binary(*op),
        BasicOp::Math(fun, ty, _) => time::math(*fun, *ty),
        BasicOp::Index { .. } => time::LOAD,
        BasicOp::Update { .. } | BasicOp::UpdateAcc { .. } => time::STORE,
        BasicOp::Concat { .. }
        | BasicOp::FlatUpdate { .. }
        | BasicOp::Iota { .. }
        | BasicOp::Replicate { .. }
        | BasicOp::Scratch { .. }
        | BasicOp::Copy(_)
        | BasicOp::Manifest { .. }
        | BasicOp::ArrayLit { .. } => time::ARRAY,
    }
}
