//! What operations of bodies cost on any machine: for how segops fall apart, and
//! for whether tasks pay ([`target::time`]).

use crate::syntax::BasicOp;
use target::time;

/// An operation of a body, in sixteenths of a nanosecond.
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
        BasicOp::Math(..) => time::MATH,
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
