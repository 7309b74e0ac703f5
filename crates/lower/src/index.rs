//! Indexing, slicing and in-place updates, with their bounds checks.

use crate::size::{Mismatch, join, number, shape_text, text};
use crate::types::{LTy, Size, size_of};
use crate::value::{ArrayVal, Env, Value};
use crate::{Lower, Res};
use check::tast::{Bind, Exp, ExpKind, Index, PatKind};
use ir::syntax::{DimIndex, MsgPart};
use ir::{Atom, BasicOp, Dim, Name};
use prim::{BinOp, CmpOp, PrimType, Scalar};
use std::rc::Rc;

/// Evaluated indices.
struct Position {
    /// One for each indexed dimension.
    slice: Vec<DimIndex>,
    /// The sizes of the slices.
    counts: Vec<Dim>,
    /// The type below the indexed dimensions.
    elem: LTy,
    /// The certificate of the bounds check.
    cert: Option<Name>,
}

impl Position {
    /// The type of the indexed part.
    fn ty(&self) -> LTy {
        let elem = self.elem.clone();
        self.counts.iter().rev().fold(elem, |ty, dim| LTy::array(Some(*dim), ty))
    }
}

/// `a with [i] = (a[i] with [j] = v)` is `a with [i, j] = v`, and so on: all indices, the bindings
/// in between, and the value.
fn chain<'a>(
    array: &'a Exp,
    indices: &'a [Index],
    value: &'a Exp,
) -> (Vec<&'a Index>, Vec<&'a Bind>, &'a Exp) {
    let mut all: Vec<&Index> = indices.iter().collect();
    let mut binds: Vec<&Bind> = Vec::new();
    let (mut array, mut indices, mut value) = (array, indices, value);
    let is_row = |row: &Exp, array: &Exp, indices: &[Index]| match (&row.kind, &array.kind) {
        (ExpKind::Index { array: of, indices: at }, ExpKind::Var { id, .. }) => {
            matches!(&of.kind, ExpKind::Var { id: other, .. } if other == id) && at.as_slice() == indices
        }
        _ => false,
    };
    // A slice before an index would have to be composed with it.
    while indices.iter().all(|index| matches!(index, Index::At(_))) {
        match &value.kind {
            ExpKind::Update { array: row, indices: next, value: new } if is_row(row, array, indices) => {
                all.extend(next);
                (array, indices, value) = (row, next, new);
            }
            ExpKind::Let { binds: between, body } => {
                let (
                    Some((Bind::Pat { pat, rhs, .. }, rest)),
                    ExpKind::Update { array: row, indices: next, value: new },
                ) = (between.split_first(), &body.kind)
                else {
                    break;
                };
                let (PatKind::Var(bound), ExpKind::Var { id, .. }) = (&pat.kind, &row.kind) else {
                    break;
                };
                if bound != id || !is_row(rhs, array, indices) {
                    break;
                }
                all.extend(next);
                binds.extend(rest);
                (array, indices, value) = (row, next, new);
            }
            _ => break,
        }
    }
    (all, binds, value)
}

impl Lower<'_> {
    /// `array[indices]`.
    pub(crate) fn index(&mut self, array: &Exp, indices: &[Index], env: &Rc<Env>) -> Res<Value> {
        let array = self.eval(array, env)?;
        let array = self.as_array(&array)?;
        let indices: Vec<&Index> = indices.iter().collect();
        let at = self.position(&array, &indices, env)?;
        let ty = at.ty();
        let mut atoms = Vec::new();
        for leaf in array.leaves.iter() {
            let slice = self.whole_slice(*leaf, &at.slice);
            let op = BasicOp::Index { array: *leaf, slice };
            atoms.push(self.f.certified(at.cert, |f| f.basic("x", op)).into());
        }
        let value = self.value_of(&ty, &atoms)?;
        Ok(if array.shared { value.mark_shared() } else { value })
    }

    /// `array with [indices] = value`. The value is evaluated first: it may read the array as it is
    /// before.
    pub(crate) fn update(
        &mut self,
        array: &Exp,
        indices: &[Index],
        value: &Exp,
        env: &Rc<Env>,
    ) -> Res<Value> {
        let (indices, binds, value) = chain(array, indices, value);
        for bind in binds {
            self.bind(bind, env)?;
        }
        // The value must not update rows of the array.
        let lent = match &array.kind {
            ExpKind::Var { id, .. } => match env.get(*id) {
                Some(Value::Array(array)) => self.f.set_lent(&array.leaves, true),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let value = self.eval(value, env)?;
        self.f.set_lent(&lent, false);
        let array = self.eval(array, env)?;
        let array = self.as_array(&array)?;
        let at = self.position(&array, &indices, env)?;
        let ty = at.ty();
        let value = self.shaped(value, &ty, Mismatch::Type)?;
        let mut leaves = Vec::new();
        for (leaf, value) in array.leaves.iter().zip(value.atoms()) {
            let slice = self.whole_slice(*leaf, &at.slice);
            let array = self.f.owned_or_copied(*leaf, array.shared);
            let op = BasicOp::Update { array, slice, value };
            leaves.push(self.f.certified(at.cert, |f| f.basic("updated", op)));
        }
        Ok(Value::Array(ArrayVal { leaves: leaves.into(), shared: false, ..array }))
    }

    /// Row `i` of each leaf; `i` is in bounds.
    pub(crate) fn row(&mut self, array: &ArrayVal, i: Atom) -> Res<Value> {
        let mut atoms = Vec::new();
        for leaf in array.leaves.iter() {
            let slice = self.whole_slice(*leaf, &[DimIndex::Fix(i)]);
            atoms.push(self.f.basic("x", BasicOp::Index { array: *leaf, slice }).into());
        }
        let value = self.value_of(&array.elem, &atoms)?;
        Ok(if array.shared { value.mark_shared() } else { value })
    }

    fn whole_slice(&self, array: Name, slice: &[DimIndex]) -> Vec<DimIndex> {
        let inner = self.f.type_of(array).shape().iter().skip(slice.len()).map(|dim| DimIndex::Slice {
            start: Atom::i64(0),
            count: *dim,
            stride: Atom::i64(1),
        });
        slice.iter().copied().chain(inner).collect()
    }

    fn position(&mut self, array: &ArrayVal, indices: &[&Index], env: &Rc<Env>) -> Res<Position> {
        let mut slice = Vec::with_capacity(indices.len());
        let mut counts = Vec::new();
        let mut dims: Vec<Size> = Vec::new();
        let mut ok = Atom::Const(Scalar::Bool(true));
        let mut msg = vec![text("Index [")];
        let mut ty = LTy::array(Some(array.dim), array.elem.clone());
        for (i, index) in indices.iter().enumerate() {
            let LTy::Array(inner) = ty else {
                return self.bug("an array has fewer dimensions than indices");
            };
            let Some(size) = inner.0.and_then(Dim::atom) else {
                return self.bug("an array has no size");
            };
            dims.push(inner.0);
            if i > 0 {
                msg.push(text(", "));
            }
            let (one, dim_ok) = match index {
                Index::At(exp) => {
                    let Value::Scalar(atom, ty) = self.eval(exp, env)? else {
                        return self.bug("an index is not a scalar");
                    };
                    let at = self.as_i64(atom, ty);
                    msg.push(number(at));
                    (DimIndex::Fix(at), self.f.cmp(CmpOp::ULt, at, size))
                }
                Index::Slice { from, to, step } => {
                    let part = |s: &mut Self, exp: &Option<Exp>| match exp {
                        Some(exp) => s.eval_scalar(exp, env).map(Some),
                        None => Ok(None),
                    };
                    let from = part(self, from)?;
                    let to = part(self, to)?;
                    let step = part(self, step)?;
                    slice_text(from, to, step, &mut msg);
                    let (one, count, dim_ok) = self.slice(size, from, to, step)?;
                    counts.push(count);
                    (one, dim_ok)
                }
            };
            slice.push(one);
            ok = self.f.and(ok, dim_ok);
            ty = inner.1.clone();
        }
        msg.push(text("] out of bounds for array of shape "));
        shape_text(&dims, &mut msg);
        msg.push(text("."));
        let cert = self.f.assert(ok, join(msg));
        // Counts are computed before the check; their divisors are never 0.
        Ok(Position { slice, counts, elem: ty, cert })
    }

    /// One slice of a dimension: the slice, its length, and the condition that it is valid.
    fn slice(
        &mut self,
        size: Atom,
        from: Option<Atom>,
        to: Option<Atom>,
        step: Option<Atom>,
    ) -> Res<(DimIndex, Dim, Atom)> {
        let zero = Atom::i64(0);
        let one = Atom::i64(1);
        let minus_one = Atom::i64(-1);
        let yes = Atom::Const(Scalar::Bool(true));
        let (start, stride, count, ok) = match step {
            None | Some(Atom::Const(Scalar::I64(1))) => {
                let start = from.unwrap_or(zero);
                let end = to.unwrap_or(size);
                let count = self.f.sub(end, start);
                // Empty, or 0 <= start <= end <= size.
                let ok = match (start == zero, end == size) {
                    (true, true) => yes,
                    (true, false) => self.f.cmp(CmpOp::ULe, end, size),
                    (false, true) => self.f.cmp(CmpOp::ULe, start, size),
                    (false, false) => {
                        let inside = self.f.cmp(CmpOp::ULe, end, size);
                        let positive = self.f.cmp(CmpOp::SLe, zero, start);
                        let ordered = self.f.cmp(CmpOp::SLe, start, end);
                        let both = self.f.and(positive, ordered);
                        let valid = self.f.and(inside, both);
                        let empty = self.f.cmp(CmpOp::Eq, start, end);
                        self.f.or(empty, valid)
                    }
                };
                (start, one, count, ok)
            }
            Some(Atom::Const(Scalar::I64(-1))) if from.is_none() && to.is_none() => {
                (self.f.sub(size, one), minus_one, size, yes)
            }
            Some(step) => self.strided(size, from, to, step),
        };
        let Some(count) = size_of(count) else {
            return self.bug("the length of a slice is not an i64");
        };
        Ok((DimIndex::Slice { start, count, stride }, count, ok))
    }

    /// The start, stride and length of a slice with this step, and the condition that it is valid.
    /// Exact for all operands: distances are unsigned and one less than the distance to the end, so
    /// that they and the index of the last element never overflow.
    fn strided(
        &mut self,
        size: Atom,
        from: Option<Atom>,
        to: Option<Atom>,
        step: Atom,
    ) -> (Atom, Atom, Atom, Atom) {
        let (zero, one) = (Atom::i64(0), Atom::i64(1));
        let select = |s: &mut Self, cond, yes, no| s.f.select(PrimType::I64, cond, yes, no);
        let backwards = self.f.cmp(CmpOp::SLt, step, zero);
        let negated = self.f.sub(zero, step);
        let width = select(self, backwards, negated, step);
        let step_is_zero = self.f.cmp(CmpOp::Eq, step, zero);
        let moves = self.f.not(step_is_zero);
        let width = select(self, step_is_zero, one, width);
        let last = self.f.sub(size, one);
        let start = from.unwrap_or_else(|| select(self, backwards, last, zero));
        if from.is_none() && to.is_none() {
            let round = self.f.sub(width, one);
            let sum = self.f.add(size, round);
            let count = self.f.binary(BinOp::UDiv, PrimType::I64, sum, width);
            return (start, step, count, moves);
        }
        let end = to.unwrap_or_else(|| select(self, backwards, Atom::i64(-1), size));
        let low = select(self, backwards, end, start);
        let high = select(self, backwards, start, end);
        let ahead = self.f.cmp(CmpOp::SLt, low, high);
        // The end is ahead of the start: the first and the last element have to be in bounds.
        let distance = self.f.sub(high, low);
        let distance = self.f.sub(distance, one);
        let before = self.f.binary(BinOp::UDiv, PrimType::I64, distance, width);
        let way = self.f.mul(before, step);
        let final_index = self.f.add(start, way);
        let first_inside = self.f.cmp(CmpOp::ULt, start, size);
        let last_inside = self.f.cmp(CmpOp::ULt, final_index, size);
        let inside = self.f.and(first_inside, last_inside);
        // The end is not ahead: the slice is empty if the distance divided by the step, rounded up,
        // is 0.
        let back = self.f.sub(low, high);
        let twice = self.f.add(width, width);
        let most = self.f.sub(twice, Atom::i64(2));
        let empty = self.f.cmp(CmpOp::ULe, back, most);
        let steps = self.f.add(before, one);
        let count = select(self, ahead, steps, zero);
        let not_ahead = self.f.not(ahead);
        let empty = self.f.and(not_ahead, empty);
        let inside = self.f.and(ahead, inside);
        let fits = self.f.or(inside, empty);
        (start, step, count, self.f.and(moves, fits))
    }
}

fn slice_text(from: Option<Atom>, to: Option<Atom>, step: Option<Atom>, msg: &mut Vec<MsgPart>) {
    msg.extend(from.map(number));
    msg.push(text(":"));
    msg.extend(to.map(number));
    if let Some(step) = step {
        msg.push(text(":"));
        msg.push(number(step));
    }
}
