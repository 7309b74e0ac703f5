//! Target-independent costs of operations ([`target::time`]), which determine the grain size of
//! segops and whether tasks are profitable.

use crate::syntax::BasicOp;
use prim::ScalarOp;
use target::time;

/// The number of statements that an operation becomes: more than one for mathematical functions.
pub fn statements(op: &BasicOp) -> usize {
    if let BasicOp::Scalar(ScalarOp::Math(fun, ty, _)) = op
        && fun.has_definition(*ty)
    {
        return (time::math(*fun, *ty) / time::PLAIN) as usize;
    }
    1
}

/// The cost of an operation in sixteenths of a nanosecond.
pub fn basic(op: &BasicOp) -> i64 {
    match op {
        BasicOp::Atom(_) | BasicOp::Opaque(_) | crate::view_op!() | BasicOp::ConstArray { .. } => 0,
        BasicOp::Scalar(op) => time::scalar(op),
        crate::parameter_op!() | BasicOp::Assert { .. } => time::PLAIN,
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
