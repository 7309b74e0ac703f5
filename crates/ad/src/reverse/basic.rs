//! Reverse mode: operations without bodies.

use super::Adjoint;
use crate::scalars::Mode;
use crate::state::{Ad, Result, zero};
use ir::Name;
use ir::soac::{Soac, Soacs};
use ir::syntax::{Atom, BasicOp, DimIndex, ReshapeKind, Stm};
use ir::types::{Dim, Shape, Type};
use prim::{BinOp, PrimType, ScalarOp};
use smallvec::SmallVec;

impl Ad<'_> {
    /// Adds the contributions of `let pat = op`, given the adjoint of its result.
    pub(super) fn reverse_basic(&mut self, stm: &Stm<Soacs>, op: &BasicOp, adjoint: Option<Atom>) -> Result {
        let Some(result) = stm.pat.first() else {
            return Ok(());
        };
        if let BasicOp::UpdateAcc { acc, index, values } = op {
            return self.reverse_update_acc(*acc, index, values);
        }
        let Some(adjoint) = adjoint else {
            return Ok(());
        };
        match op {
            BasicOp::Atom(x) | BasicOp::Opaque(x) => self.add(*x, adjoint),
            BasicOp::Scalar(op) => self.reverse_scalar(op, result.name, adjoint)?,
            BasicOp::Index { array, slice } => self.add_part(*array, slice, adjoint),
            BasicOp::Update { array, slice, value } => {
                let adjoint = self.name_of(adjoint);
                if self.is_active(*value) {
                    let part = self.read(adjoint, slice);
                    let part = self.copy_of(part);
                    self.add(*value, part);
                }
                if self.active.contains(array) {
                    let ty = self.b.type_of(*value);
                    let value = self.zero(&ty);
                    let update = BasicOp::Update { array: adjoint, slice: slice.clone(), value };
                    let rest = self.b.let_basic("adj", update);
                    self.add((*array).into(), rest.into());
                }
            }
            BasicOp::FlatIndex { array, offset, dims } => {
                self.add_flat(*array, *offset, dims, adjoint);
            }
            BasicOp::FlatUpdate { array, offset, strides, value } => {
                let adjoint = self.name_of(adjoint);
                let ty = self.b.types.type_of(*value).clone();
                let dims = ty.shape().iter().copied().zip(strides.iter().copied()).collect();
                let view = BasicOp::FlatIndex { array: adjoint, offset: *offset, dims };
                if self.active.contains(value) {
                    let part = self.b.let_basic("part", view);
                    let part = self.copy_of(part.into());
                    self.add((*value).into(), part);
                }
                if self.active.contains(array) {
                    let zeros = self.zero(&ty);
                    let value = self.name_of(zeros);
                    let (offset, strides) = (*offset, strides.clone());
                    let update = BasicOp::FlatUpdate { array: adjoint, offset, strides, value };
                    let rest = self.b.let_basic("adj", update);
                    self.add((*array).into(), rest.into());
                }
            }
            BasicOp::Concat { dim, arrays, width: _ } => self.reverse_concat(*dim, arrays, adjoint),
            BasicOp::Iota { ty, count, start, stride } => {
                let adjoint = self.name_of(adjoint);
                // As in the reference compiler, the number of elements has the same adjoint.
                let size = count.atom().filter(|size| *ty == PrimType::I64 && self.is_active(*size));
                if self.is_active(*start) || size.is_some() {
                    let sum = self.sum_rows(*count, adjoint);
                    self.add(*start, sum);
                    self.add(size.unwrap_or(zero(*ty)), sum);
                }
                if self.is_active(*stride) {
                    let is = BasicOp::Iota { ty: *ty, count: *count, start: zero(*ty), stride: one(*ty) };
                    let is = self.b.let_basic("is", is);
                    let products = self.b.map("product", *count, &[is, adjoint], |b, x| {
                        vec![b.binary(BinOp::Mul, *ty, x[0].into(), x[1].into()).into()]
                    });
                    let sum = self.sum_rows(*count, products[0]);
                    self.add(*stride, sum);
                }
            }
            BasicOp::Replicate { shape, value } => {
                if self.is_active(*value) {
                    let adjoint = self.name_of(adjoint);
                    let (rows, count) = self.merge_outer(adjoint, shape);
                    let sum = self.sum_rows(count, rows);
                    self.add(*value, sum);
                }
            }
            BasicOp::Rearrange { perm, array } => {
                let mut inverse: SmallVec<[usize; 3]> = SmallVec::from_elem(0, perm.len());
                for (to, from) in perm.iter().enumerate() {
                    inverse[*from] = to;
                }
                let adjoint = self.name_of(adjoint);
                let back = self.b.let_basic("adj", BasicOp::Rearrange { perm: inverse, array: adjoint });
                self.add((*array).into(), back.into());
            }
            BasicOp::Reshape { kind, shape: _, array } => {
                let shape = Shape::from_slice(self.b.types.type_of(*array).shape());
                let adjoint = self.name_of(adjoint);
                let back = BasicOp::Reshape { kind: *kind, shape, array: adjoint };
                let back = self.b.let_basic("adj", back);
                self.add((*array).into(), back.into());
            }
            BasicOp::Copy(array) | BasicOp::Manifest { perm: _, array } => self.add((*array).into(), adjoint),
            BasicOp::ArrayLit { row: _, elems } => {
                let adjoint = self.name_of(adjoint);
                for (i, elem) in elems.iter().enumerate() {
                    if self.is_active(*elem) {
                        let own = self.b.index("adj", adjoint, &[Atom::i64(i as i64)]);
                        self.add(*elem, own.into());
                    }
                }
            }
            BasicOp::UpdateAcc { .. }
            | BasicOp::Scratch { .. }
            | BasicOp::ConstArray { .. }
            | BasicOp::Assert { .. }
            | ir::parameter_op!() => {}
        }
        Ok(())
    }

    fn reverse_scalar(&mut self, op: &ScalarOp<Atom>, result: Name, adjoint: Atom) -> Result {
        let known = self.derivatives(op)?;
        for (at, operand) in op.operands().into_iter().enumerate() {
            if self.is_active(*operand) {
                let own = (at, &known[at]);
                if let Some(change) = self.passed_on(op, result.into(), own, adjoint, Mode::Reverse) {
                    self.add(*operand, change);
                }
            }
        }
        Ok(())
    }

    /// A copy of an array that is about to be updated; other values unchanged.
    fn copy_of(&mut self, value: Atom) -> Atom {
        match value.var().filter(|name| self.b.types.type_of(*name).is_array()) {
            Some(array) => self.b.let_basic("copy", BasicOp::Copy(array)).into(),
            None => value,
        }
    }

    fn reverse_concat(&mut self, dim: usize, arrays: &[Name], adjoint: Atom) {
        let adjoint = self.name_of(adjoint);
        let mut start = Atom::i64(0);
        for array in arrays {
            let ty = self.b.types.type_of(*array).clone();
            let count = ty.shape()[dim];
            if self.active.contains(array) {
                let mut slice = self.whole(adjoint);
                slice[dim] = DimIndex::Slice { start, count, stride: Atom::i64(1) };
                let part = self.read(adjoint, &slice);
                self.add((*array).into(), part);
            }
            start = self.b.add_i64(start, count.atom().unwrap_or(Atom::i64(0)));
        }
    }

    /// An array with its outer dimensions merged to one, and the size of that.
    fn merge_outer(&mut self, array: Name, outer: &[Dim]) -> (Name, Dim) {
        if let [dim] = outer {
            return (array, *dim);
        }
        let count = Dim::from_atom(self.b.product(outer)).unwrap_or(Dim::Const(0));
        let ty = self.b.types.type_of(array).clone();
        let shape = std::iter::once(count).chain(ty.shape().iter().skip(outer.len()).copied()).collect();
        let merged = BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape, array };
        (self.b.let_basic("merged", merged), count)
    }

    /// The sum of an array's rows.
    pub fn sum_rows(&mut self, width: Dim, rows: Name) -> Atom {
        let row = self.b.types.type_of(rows).row().unwrap_or(Type::BOOL);
        if let Type::Array { shape, .. } = &row {
            // Columns are summed one by one.
            let columns = self.transposed(rows);
            let sums =
                self.map("sum", shape[0], &[columns], |ad, column| vec![ad.sum_rows(width, column[0])]);
            return sums[0].into();
        }
        let op = self.addition(&[row]);
        self.b.reduce("sum", width, &[rows], op)[0].into()
    }

    /// Adds to the adjoint of a view, whose elements may overlap.
    fn add_flat(&mut self, array: Name, offset: Atom, dims: &[(Dim, Atom)], adjoint: Atom) {
        if !self.active.contains(&array) {
            return;
        }
        let ty = self.b.types.type_of(array).clone();
        let adjoint = self.name_of(adjoint);
        if let Some(Adjoint::Acc(acc)) = self.adjoints.get(&array).copied() {
            let acc = self.add_view(acc, offset, dims, adjoint);
            self.adjoints.insert(array, Adjoint::Acc(acc));
            return;
        }
        let before = self.value_so_far(array);
        let before = self.name_of(before);
        let (token, acc) = self.sum_accumulator(&ty);
        let inputs = vec![self.sum_input(before, &ty)];
        let outer = self.b.open();
        let after = self.add_view(acc.name, offset, dims, adjoint);
        let lambda = self.close_lambda(outer, vec![token, acc], vec![after.into()]);
        let after = self.b.let_op("adj", Soac::WithAcc { inputs, lambda });
        self.adjoints.insert(array, Adjoint::Value(after[0].into()));
    }

    fn add_view(&mut self, acc: Name, offset: Atom, dims: &[(Dim, Atom)], adjoint: Name) -> Name {
        let Some(((count, stride), inner)) = dims.split_first() else {
            return self.accumulate_row(acc, offset, adjoint);
        };
        let is = self.b.iota(*count);
        let (stride, inner) = (*stride, inner.to_vec());
        self.map_accumulator(acc, *count, &[is, adjoint], |ad, acc, rows| {
            let moved = ad.b.mul_i64(rows[0].into(), stride);
            let offset = ad.b.add_i64(offset, moved);
            ad.add_view(acc, offset, &inner, rows[1])
        })
    }
}

/// The one of a scalar type.
pub(super) fn one(ty: PrimType) -> Atom {
    Atom::Const(prim::Scalar::int(ty, 1))
}
