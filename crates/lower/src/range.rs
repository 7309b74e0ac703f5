//! Ranges: `start..second...end` and its variants.

use crate::size::{join, text};
use crate::types::{LTy, size_of};
use crate::value::Value;
use crate::{Lower, Res};
use check::tast::RangeKind;
use ir::syntax::MsgPart;
use ir::{Atom, BasicOp};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar, ScalarType};

impl Lower<'_> {
    /// The elements of a range. Lengths are computed on `i64`.
    pub(crate) fn range(
        &mut self,
        start: &Value,
        second: Option<&Value>,
        end: &Value,
        kind: RangeKind,
    ) -> Res<Value> {
        let (Value::Scalar(first, ty), Value::Scalar(last, _)) = (start, end) else {
            return self.bug("a bound of a range is not a scalar");
        };
        let (first, last, ty) = (*first, *last, *ty);
        let second = match second {
            Some(Value::Scalar(atom, _)) => Some(*atom),
            _ => None,
        };
        let prim = ty.prim();
        let one = Scalar::int(prim, if kind == RangeKind::DownTo { -1 } else { 1 });
        let step = match second {
            Some(second) => self.f.binary(BinOp::Sub, prim, second, first),
            None => Atom::Const(one),
        };
        let (a, b) = (self.as_i64(first, ty), self.as_i64(last, ty));
        let s = match second {
            Some(second) => {
                let second = self.as_i64(second, ty);
                self.f.sub(second, a)
            }
            None => Atom::i64(if kind == RangeKind::DownTo { -1 } else { 1 }),
        };
        let zero = Atom::i64(0);
        // Upwards: the step is positive and the end not before the start.
        let up = {
            let forwards = self.f.cmp(CmpOp::SLt, zero, s);
            let ordered = self.f.cmp(CmpOp::SLe, a, b);
            self.f.and(forwards, ordered)
        };
        let down = {
            let backwards = self.f.cmp(CmpOp::SLt, s, zero);
            let ordered = self.f.cmp(CmpOp::SLe, b, a);
            self.f.and(backwards, ordered)
        };
        let (valid, distance) = match kind {
            RangeKind::UpTo => (up, self.f.sub(b, a)),
            RangeKind::DownTo => (down, self.f.sub(b, a)),
            RangeKind::Inclusive => (self.f.or(up, down), self.f.sub(b, a)),
        };
        let mut msg = vec![text("Range "), MsgPart::Value(ty, first), text("..")];
        if let Some(second) = second {
            msg.push(MsgPart::Value(ty, second));
            msg.push(text(".."));
        }
        msg.push(text(match kind {
            RangeKind::Inclusive => ".",
            RangeKind::UpTo => "<",
            RangeKind::DownTo => ">",
        }));
        msg.push(MsgPart::Value(ty, last));
        msg.push(text(" is invalid."));
        let cert = self.f.assert(valid, join(msg));
        // Exclusive: the distance divided by the step, rounded up; inclusive: rounded down, plus
        // one.
        let count = match s.constant() {
            Some(Scalar::I64(1)) if kind == RangeKind::Inclusive => self.f.add(distance, Atom::i64(1)),
            Some(Scalar::I64(1)) => distance,
            Some(Scalar::I64(-1)) if kind != RangeKind::Inclusive => self.f.sub(zero, distance),
            _ => self.f.certified(cert, |f| {
                let by = |f: &mut crate::state::FunctionBuilder, x| {
                    f.basic("count", BasicOp::binary(BinOp::SQuot, PrimType::I64, x, s)).into()
                };
                if kind == RangeKind::Inclusive {
                    let steps = by(f, distance);
                    f.add(steps, Atom::i64(1))
                } else {
                    let sum = f.add(distance, s);
                    let unit = Atom::i64(if kind == RangeKind::UpTo { 1 } else { -1 });
                    let sum = f.sub(sum, unit);
                    by(f, sum)
                }
            }),
        };
        let Some(count) = size_of(count) else {
            return self.bug("the length of a range is not an i64");
        };
        let op = BasicOp::Iota { ty: prim, count, start: first, stride: step };
        let name = self.f.certified(cert, |f| f.basic("range", op));
        self.value_of(&LTy::array(Some(count), LTy::Scalar(ty)), &[name.into()])
    }

    /// An integer as `i64`, extended according to its signedness.
    pub(crate) fn as_i64(&mut self, atom: Atom, ty: ScalarType) -> Atom {
        let op = if ty.is_signed() { ConvOp::SExt } else { ConvOp::ZExt };
        self.f.convert(op, ty.prim(), PrimType::I64, atom)
    }
}
