//! Built-in functions on scalars, with the checks that they need.

use crate::size::text;
use crate::value::Value;
use crate::{Lower, Res};
use check::intrinsics::{Intrinsic, bits_type, conversion};
use ir::{Atom, BasicOp};
use prim::{BinOp, ConvOp, Scalar, ScalarOp, ScalarType};

impl Lower<'_> {
    /// `x op y` with the checks that the operator needs.
    pub(crate) fn checked_binary(&mut self, op: BinOp, ty: ScalarType, x: Atom, y: Atom) -> Atom {
        let prim = ty.prim();
        let zero = Atom::Const(Scalar::zero(prim));
        let cert = if op.is_division() {
            let is_zero = self.f.compare(prim::CmpOp::Eq, prim, y, zero);
            let ok = self.f.not(is_zero);
            self.f.assert(ok, vec![text("division by zero")])
        } else if op == BinOp::Pow && ty.is_signed() {
            let ok = self.f.compare(prim::CmpOp::SLe, prim, zero, y);
            self.f.assert(ok, vec![text("negative exponent")])
        } else {
            None
        };
        if cert.is_none() {
            return self.f.binary(op, prim, x, y);
        }
        // Not folded: a constant would no longer depend on the check.
        let exp = BasicOp::binary(op, prim, x, y);
        self.f.certified(cert, |f| f.basic(op.name(), exp)).into()
    }

    /// A built-in function on scalars, applied to all of its arguments.
    pub(crate) fn scalar_intrinsic(&mut self, fun: Intrinsic, args: &[Value]) -> Res<Value> {
        let mut atoms = Vec::with_capacity(args.len());
        for arg in args {
            match arg {
                Value::Scalar(atom, _) => atoms.push(*atom),
                _ => return self.bug("an operand of a scalar operation is not a scalar"),
            }
        }
        Ok(match (fun, atoms.as_slice()) {
            (Intrinsic::Binary(op, ty), &[x, y]) => Value::Scalar(self.checked_binary(op, ty, x, y), ty),
            (Intrinsic::Compare { op, ty, swap, negate }, &[x, y]) => {
                let (x, y) = if swap { (y, x) } else { (x, y) };
                let holds = self.f.compare(op, ty.prim(), x, y);
                Value::bool(if negate { self.f.not(holds) } else { holds })
            }
            (Intrinsic::Unary(op, ty), &[x]) => Value::Scalar(self.f.unary(op, ty.prim(), x), ty),
            (Intrinsic::Convert { from, to }, &[x]) => {
                let x = match conversion(from, to) {
                    Some(op) => self.f.convert(op, from.prim(), to.prim(), x),
                    None => x,
                };
                Value::Scalar(x, to)
            }
            (Intrinsic::ToBits(ty), &[x]) => {
                let bits = bits_type(ty);
                Value::Scalar(self.f.convert(ConvOp::ToBits, ty.prim(), bits.prim(), x), bits)
            }
            (Intrinsic::FromBits(ty), &[x]) => {
                let bits = bits_type(ty).prim();
                Value::Scalar(self.f.convert(ConvOp::FromBits, bits, ty.prim(), x), ty)
            }
            (Intrinsic::Fma(ty), &[x, y, z]) => {
                Value::Scalar(self.f.basic("fma", BasicOp::fma(ty.prim(), x, y, z)).into(), ty)
            }
            (Intrinsic::Math(fun, ty), _) => {
                let op = BasicOp::Scalar(ScalarOp::Math(fun, ty.prim(), atoms.iter().copied().collect()));
                Value::Scalar(self.f.basic(fun.name(), op).into(), ty)
            }
            _ => return self.bug("a scalar operation has the wrong number of arguments"),
        })
    }
}
