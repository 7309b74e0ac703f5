//! Views into flat arrays by offset and strides (LMADs), with their bounds checks.
//!
//! A view may contain an element more than once, so it is shared: updating it copies. All of its
//! rows are in bounds, or it is empty.

use crate::size::{Mismatch, join, number, shape_text, text};
use crate::types::{LTy, size_of};
use crate::value::{ArrayVal, Value};
use crate::{Lower, Res};
use ir::{Atom, BasicOp, Dim, Name};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar, UnOp};

/// The bound on a dimension's extent in elements: sums of extents do not wrap.
const MAX_EXTENT: f64 = (1u64 << 60) as f64;

impl Lower<'_> {
    /// A view of an array: `dims` are size and stride of each dimension, alternating.
    pub(crate) fn flat_index(&mut self, xs: &Value, offset: &Value, dims: &[Value]) -> Res<Value> {
        let xs = self.as_array(xs)?;
        let offset = self.as_scalar(offset)?;
        let mut pairs = Vec::with_capacity(dims.len() / 2);
        for pair in dims.chunks_exact(2) {
            pairs.push((self.as_scalar(&pair[0])?, self.as_scalar(&pair[1])?));
        }
        let cert = self.flat_bounds(xs.dim, offset, &pairs)?;
        let mut view = Vec::with_capacity(pairs.len());
        for (count, stride) in pairs {
            let Some(count) = size_of(count) else {
                return self.bug("a size is not an i64");
            };
            view.push((count, stride));
        }
        let mut leaves = Vec::new();
        for &array in xs.leaves.iter() {
            let op = BasicOp::FlatIndex { array, offset, dims: view.iter().copied().collect() };
            leaves.push(self.f.certified(cert, |f| f.basic("view", op)));
        }
        let [(outer, _), inner @ ..] = view.as_slice() else {
            return self.bug("a view has no dimensions");
        };
        let elem = inner.iter().rev().fold(xs.elem, |elem, (count, _)| LTy::array(Some(*count), elem));
        Ok(Value::Array(ArrayVal { dim: *outer, elem, leaves: leaves.into(), shared: true }))
    }

    /// The array with a view of it replaced.
    pub(crate) fn flat_update(
        &mut self,
        dest: &Value,
        offset: &Value,
        strides: &[Value],
        value: &Value,
    ) -> Res<Value> {
        let dest = self.as_array(dest)?;
        let offset = self.as_scalar(offset)?;
        let strides: Vec<Atom> = strides.iter().map(|stride| self.as_scalar(stride)).collect::<Res<_>>()?;
        let mut counts = Vec::with_capacity(strides.len());
        let mut ty = value.ty();
        for _ in &strides {
            let LTy::Array(array) = &ty else {
                return self.bug("a value has fewer dimensions than strides");
            };
            let Some(count) = array.0 else {
                return self.bug("an array has no size");
            };
            counts.push(count);
            ty = array.1.clone();
        }
        let target =
            counts.iter().rev().fold(dest.elem.clone(), |elem, count| LTy::array(Some(*count), elem));
        let value = self.coerce(value.clone(), &target, Mismatch::Type)?;
        let sizes = counts.iter().filter_map(|count| count.atom());
        let pairs: Vec<(Atom, Atom)> = sizes.zip(strides.iter().copied()).collect();
        let cert = self.flat_bounds(dest.dim, offset, &pairs)?;
        let mut leaves = Vec::new();
        for (&leaf, value) in dest.leaves.iter().zip(value.atoms()) {
            let Atom::Var(value) = value else {
                return self.bug("expected an array");
            };
            let op = BasicOp::FlatUpdate {
                array: self.f.owned_or_copied(leaf, dest.shared),
                offset,
                strides: strides.iter().copied().collect(),
                value,
            };
            leaves.push(self.f.certified(cert, |f| f.basic("updated", op)));
        }
        Ok(dest.with_leaves(leaves))
    }

    /// The check that a view with `dims` (size and stride) from `offset` on is within `size` rows.
    fn flat_bounds(&mut self, size: Dim, offset: Atom, dims: &[(Atom, Atom)]) -> Res<Option<Name>> {
        let Some(rows) = size.atom() else {
            return self.bug("an array has no size");
        };
        let zero = Atom::i64(0);
        let mut sizes_ok = Atom::Const(Scalar::Bool(true));
        let mut empty = Atom::Const(Scalar::Bool(false));
        let mut inside = self.f.cmp(CmpOp::ULt, offset, rows);
        let (mut least, mut most) = (offset, offset);
        let mut msg = vec![text("Index ["), number(offset), text("; ")];
        for (at, &(count, stride)) in dims.iter().enumerate() {
            if !self.f.is_size(count) {
                let positive = self.f.cmp(CmpOp::SLe, zero, count);
                sizes_ok = self.f.and(sizes_ok, positive);
            }
            let none = self.f.cmp(CmpOp::Eq, count, zero);
            empty = self.f.or(empty, none);
            let steps = self.f.sub(count, Atom::i64(1));
            let fits = self.extent_does_not_wrap(steps, stride);
            inside = self.f.and(inside, fits);
            let reach = self.f.mul(steps, stride);
            let below = self.f.binary(BinOp::SMin, PrimType::I64, reach, zero);
            let above = self.f.binary(BinOp::SMax, PrimType::I64, reach, zero);
            least = self.f.add(least, below);
            most = self.f.add(most, above);
            msg.push(text(if at == 0 { "" } else { ", " }));
            msg.extend([number(count), text(":"), number(stride)]);
        }
        let from = self.f.cmp(CmpOp::SLe, zero, least);
        let to = self.f.cmp(CmpOp::SLt, most, rows);
        inside = self.f.and(inside, from);
        inside = self.f.and(inside, to);
        let fits = self.f.or(empty, inside);
        let ok = self.f.and(sizes_ok, fits);
        msg.push(text("] out of bounds for array of shape "));
        shape_text(&[Some(size)], &mut msg);
        msg.push(text("."));
        Ok(self.f.assert(ok, join(msg)))
    }

    /// The condition that `steps * stride` is far from wrapping, computed as a product of floats.
    fn extent_does_not_wrap(&mut self, steps: Atom, stride: Atom) -> Atom {
        let small = |atom: Atom| {
            let value = atom.constant().and_then(Scalar::as_i64);
            value.is_some_and(|x| (-1..=1).contains(&x))
        };
        if small(steps) || small(stride) {
            return Atom::Const(Scalar::Bool(true));
        }
        let mut float = |arg: Atom| {
            let op = BasicOp::convert(ConvOp::SToF, PrimType::I64, PrimType::F64, arg);
            Atom::Var(self.f.basic("float", op))
        };
        let (steps, stride) = (float(steps), float(stride));
        let reach = self.f.binary(BinOp::FMul, PrimType::F64, steps, stride);
        let reach = self.f.unary(UnOp::FAbs, PrimType::F64, reach);
        let most = Atom::Const(Scalar::F64(MAX_EXTENT));
        let op = BasicOp::compare(CmpOp::FLe, PrimType::F64, reach, most);
        Atom::Var(self.f.basic("fits", op))
    }
}
