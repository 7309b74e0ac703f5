//! Rules for array operations: elements read directly through iotas, replicates, slices and
//! reshapes; views of views; unnecessary copies.

use super::concat::Concat;
use super::update::Update;
use super::{Certs, Knowledge, NewOps, Simplified};
use ir::Name;
use ir::syntax::{Atom, BasicOp, DimIndex, ReshapeKind};
use ir::types::{Dim, Shape, Type};
use prim::{BinOp, ConvOp, PrimType, Scalar, ScalarOp};
use smallvec::SmallVec;

fn fixed(slice: &[DimIndex]) -> Option<Vec<Atom>> {
    slice
        .iter()
        .map(|index| match index {
            DimIndex::Fix(at) => Some(*at),
            DimIndex::Slice { .. } => None,
        })
        .collect()
}

impl Knowledge<'_> {
    /// Applies the rules to an array operation.
    pub(super) fn fold_array(&self, op: &BasicOp, name: Name, new: &mut NewOps<'_>) -> Option<Simplified> {
        match op {
            BasicOp::Index { array, slice } => self.fold_index(*array, slice, name, new),
            BasicOp::Rearrange { perm, array } => {
                if perm.iter().copied().eq(0..perm.len()) {
                    return Some(Simplified::Atom(Atom::Var(*array), Certs::new()));
                }
                let def = self.def(*array)?;
                let BasicOp::Rearrange { perm: inner, array } = &def.op else {
                    return None;
                };
                let perm: SmallVec<[usize; 3]> =
                    perm.iter().map(|i| inner.get(*i).copied()).collect::<Option<_>>()?;
                let array = *array;
                Some(Simplified::Op(BasicOp::Rearrange { perm, array }, def.certs.clone()))
            }
            BasicOp::Reshape { kind, shape, array } => self.fold_reshape(*kind, shape, *array),
            BasicOp::Replicate { shape, value } => {
                let def = self.def_of(*value)?;
                let BasicOp::Replicate { shape: inner, value } = &def.op else {
                    return None;
                };
                let shape: Shape = shape.iter().chain(inner).copied().collect();
                let value = *value;
                Some(Simplified::Op(BasicOp::Replicate { shape, value }, def.certs.clone()))
            }
            BasicOp::Copy(array) => {
                let aliases = &self.aliases;
                let shared = !aliases.consumed(name) && !aliases.consumed(*array) && !aliases.is_result(name);
                let may = shared || self.last_use(*array);
                may.then(|| Simplified::Atom(Atom::Var(*array), Certs::new()))
            }
            BasicOp::Concat { dim, arrays, width } => {
                self.fold_concat(&Concat { dim: *dim, arrays, width: *width }, new)
            }
            BasicOp::ArrayLit { row, elems } => self.fold_literal(row, elems, new),
            BasicOp::Update { array, slice, value } => {
                self.fold_update(&Update { array: *array, slice, value: *value })
            }
            BasicOp::UpdateAcc { acc, index: _, values } => self.neutral_update(*acc, values),
            BasicOp::Atom(_)
            | BasicOp::Scalar(_)
            | ir::parameter_op!()
            | BasicOp::Assert { .. }
            | BasicOp::FlatIndex { .. }
            | BasicOp::FlatUpdate { .. }
            | BasicOp::Iota { .. }
            | BasicOp::Scratch { .. }
            | BasicOp::Manifest { .. }
            | BasicOp::ConstArray { .. }
            | BasicOp::Opaque(_) => None,
        }
    }

    fn fold_reshape(&self, kind: ReshapeKind, shape: &Shape, array: Name) -> Option<Simplified> {
        let old = self.type_of(array);
        if old.shape() == shape.as_slice() {
            return Some(Simplified::Atom(Atom::Var(array), Certs::new()));
        }
        let moved = match kind {
            ReshapeKind::Coerce => {
                self.coerced_concat(shape, array).or_else(|| self.coerced_fill(shape, array))
            }
            ReshapeKind::Arbitrary => self.reshaped_replicate(shape, array),
        };
        if moved.is_some() {
            return moved;
        }
        let def = self.def(array)?;
        let BasicOp::Reshape { kind: inner, shape: _, array: source } = &def.op else {
            return None;
        };
        let kind = match (kind, inner) {
            (ReshapeKind::Coerce, ReshapeKind::Coerce) => ReshapeKind::Coerce,
            _ => ReshapeKind::Arbitrary,
        };
        let op = BasicOp::Reshape { kind, shape: shape.clone(), array: *source };
        Some(Simplified::Op(op, def.certs.clone()))
    }

    /// Applies the rules to the read that defines a name.
    pub(super) fn fold_index(
        &self,
        array: Name,
        slice: &[DimIndex],
        name: Name,
        new: &mut NewOps<'_>,
    ) -> Option<Simplified> {
        let ty = self.type_of(array);
        if slice.len() == ty.rank() && slice.iter().zip(ty.shape()).all(|(index, dim)| index.is_full(*dim)) {
            return Some(Simplified::Atom(Atom::Var(array), Certs::new()));
        }
        let def = self.def(array)?;
        let all_fixed = fixed(slice);
        if all_fixed.is_none()
            && let Some(fill) = self.slice_of_fill(array, slice, new)
        {
            return Some(fill);
        }
        let certs = def.certs.clone();
        let index = |array: Name, slice: Vec<DimIndex>| BasicOp::Index { array, slice };
        match &def.op {
            BasicOp::Iota { ty, count: _, start, stride } => {
                let [at] = all_fixed?[..] else { return None };
                Some(self.iota_element(*ty, (*start, *stride), at, certs, new))
            }
            BasicOp::Replicate { shape, value } => {
                let outer = fixed(slice.get(..shape.len())?)?;
                if outer.len() == slice.len() {
                    return Some(Simplified::Atom(*value, certs));
                }
                let inner = slice[shape.len()..].to_vec();
                if all_fixed.is_some() {
                    return self.element_of(value.var()?, inner, certs, new);
                }
                self.view_of(name, value.var()?, inner, certs)
                    .or_else(|| self.only_row(array, *value, &slice[shape.len()..], &def.certs))
            }
            BasicOp::Copy(source) => {
                all_fixed?;
                self.element_of(*source, slice.to_vec(), certs, new)
            }
            BasicOp::Rearrange { perm, array: source } => {
                let mut inner = vec![DimIndex::Fix(Atom::i64(0)); perm.len()];
                let mut kept: Vec<usize> = Vec::new();
                for (dim, index) in perm.iter().zip(slice) {
                    *inner.get_mut(*dim)? = *index;
                    if matches!(index, DimIndex::Slice { .. }) {
                        kept.push(*dim);
                    }
                }
                // The remaining dimensions must be in the source's order.
                kept.is_sorted().then(|| Simplified::Op(index(*source, inner), certs))
            }
            BasicOp::Reshape { kind: ReshapeKind::Coerce, shape, array: source } => {
                // A parameter's sizes that are constants make its strides constants.
                let constants = |dims: &[Dim]| dims.iter().filter(|dim| matches!(dim, Dim::Const(_))).count();
                let known = constants(shape) > constants(self.type_of(*source).shape());
                if known && self.def(*source).is_none() {
                    return None;
                }
                Some(Simplified::Op(index(*source, slice.to_vec()), certs))
            }
            BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape, array: source } => {
                let at = all_fixed?;
                let source = *source;
                if self.type_of(source).rank() != 1 {
                    return self.element_of_flat_rows(source, &at, certs, new);
                }
                let flat = self.flat_index(&at, shape, new)?;
                Some(Simplified::Op(index(source, vec![DimIndex::Fix(flat)]), certs))
            }
            BasicOp::Index { array: source, slice: outer } => {
                let source = *source;
                let inner = self.compose(outer, slice, new)?;
                Some(Simplified::Op(index(source, inner), certs))
            }
            BasicOp::FlatIndex { array: source, offset, dims } => {
                let at = fixed(slice.get(..dims.len())?)?;
                let at = self.flat_position(*offset, dims, &at, new);
                let inner = slice[dims.len()..].iter().copied();
                let slice = std::iter::once(DimIndex::Fix(at)).chain(inner).collect();
                Some(Simplified::Op(index(*source, slice), certs))
            }
            BasicOp::ArrayLit { row, elems } => {
                let DimIndex::Fix(Atom::Const(at)) = slice.first()? else {
                    return None;
                };
                let elem = *elems.get(usize::try_from(at.as_i64()?).ok()?)?;
                if row.is_prim() {
                    return Some(Simplified::Atom(elem, certs));
                }
                let source = elem.var()?;
                if all_fixed.is_none() {
                    return self
                        .view_of(name, source, slice[1..].to_vec(), certs)
                        .or_else(|| self.only_row(array, elem, &slice[1..], &def.certs));
                }
                self.element_of(source, slice[1..].to_vec(), certs, new)
            }
            BasicOp::ConstArray { elem, shape, bytes } => {
                let mut flat = 0i64;
                for (at, size) in all_fixed?.iter().zip(shape) {
                    let at = at.constant()?.as_i64()?;
                    if !(0..*size).contains(&at) {
                        return None;
                    }
                    flat = flat.checked_mul(*size)?.checked_add(at)?;
                }
                let size = elem.size() as usize;
                let start = usize::try_from(flat).ok()?.checked_mul(size)?;
                let own = bytes.get(start..start.checked_add(size)?)?;
                let mut bits = [0u8; 8];
                bits[..size].copy_from_slice(own);
                let value = Scalar::from_bits(*elem, u64::from_le_bytes(bits));
                Some(Simplified::Atom(Atom::Const(value), certs))
            }
            BasicOp::Update { .. } => {
                all_fixed?;
                self.read_after_updates(array, slice, new)
            }
            BasicOp::Atom(_)
            | BasicOp::Scalar(_)
            | ir::parameter_op!()
            | BasicOp::Assert { .. }
            | BasicOp::FlatUpdate { .. }
            | BasicOp::Concat { .. }
            | BasicOp::Scratch { .. }
            | BasicOp::Manifest { .. }
            | BasicOp::Opaque(_)
            | BasicOp::UpdateAcc { .. } => None,
        }
    }

    /// The row of a fresh array becomes a view of the row's source, unless one of them is consumed
    /// or the row is a result, which must not alias.
    fn view_of(&self, row: Name, source: Name, slice: Vec<DimIndex>, certs: Certs) -> Option<Simplified> {
        let aliases = &self.aliases;
        if aliases.consumed(row) || aliases.consumed(source) || aliases.is_result(row) {
            return None;
        }
        let array = source;
        Some(Simplified::Op(BasicOp::Index { array, slice }, certs))
    }

    /// `start + at * stride` in the element type.
    fn iota_element(
        &self,
        ty: PrimType,
        (start, stride): (Atom, Atom),
        at: Atom,
        certs: Certs,
        new: &mut NewOps<'_>,
    ) -> Simplified {
        let at = if ty == PrimType::I64 {
            at
        } else {
            let op =
                BasicOp::Scalar(ScalarOp::Convert { op: ConvOp::SExt, from: PrimType::I64, to: ty, arg: at });
            self.make(new, "i", op)
        };
        let scaled = match stride.constant().and_then(Scalar::as_i64) {
            Some(1) => at,
            _ => self.make(new, "i", BasicOp::binary(BinOp::Mul, ty, at, stride)),
        };
        Simplified::Op(BasicOp::binary(BinOp::Add, ty, scaled, start), certs)
    }

    /// The position, in the outermost dimension, of an index into a flat view.
    pub(super) fn flat_position(
        &self,
        offset: Atom,
        dims: &[(Dim, Atom)],
        at: &[Atom],
        new: &mut NewOps<'_>,
    ) -> Atom {
        let ty = PrimType::I64;
        let mut offset_so_far = offset;
        for (&(_, stride), &at) in dims.iter().zip(at) {
            let way = self.make(new, "way", BasicOp::binary(BinOp::Mul, ty, at, stride));
            offset_so_far = self.make(new, "at", BasicOp::binary(BinOp::Add, ty, offset_so_far, way));
        }
        offset_so_far
    }

    /// The row-major position of an index in an array of this shape.
    fn flat_index(&self, at: &[Atom], shape: &[Dim], new: &mut NewOps<'_>) -> Option<Atom> {
        let (ty, mut flat) = (PrimType::I64, *at.first()?);
        for (at, dim) in at.iter().zip(shape).skip(1) {
            let row = self.make(new, "row", BasicOp::binary(BinOp::Mul, ty, flat, dim.atom()?));
            flat = self.make(new, "at", BasicOp::binary(BinOp::Add, ty, row, *at));
        }
        Some(flat)
    }

    /// The composition of two slices.
    fn compose(&self, outer: &[DimIndex], inner: &[DimIndex], new: &mut NewOps<'_>) -> Option<Vec<DimIndex>> {
        let ty = PrimType::I64;
        let mut rest = inner.iter();
        let mut result = Vec::with_capacity(outer.len());
        for index in outer {
            let DimIndex::Slice { start, count: _, stride } = index else {
                result.push(*index);
                continue;
            };
            let mut position = |at: Atom| {
                let scaled = if matches!(stride, Atom::Const(Scalar::I64(1))) {
                    at
                } else {
                    self.make(new, "i", BasicOp::binary(BinOp::Mul, ty, at, *stride))
                };
                if matches!(start, Atom::Const(Scalar::I64(0))) {
                    scaled
                } else {
                    self.make(new, "i", BasicOp::binary(BinOp::Add, ty, scaled, *start))
                }
            };
            result.push(match *rest.next()? {
                DimIndex::Fix(at) => DimIndex::Fix(position(at)),
                DimIndex::Slice { start: first, count, stride: step } => {
                    let first = position(first);
                    let step = match (stride, step) {
                        (Atom::Const(Scalar::I64(1)), step) => step,
                        (stride, Atom::Const(Scalar::I64(1))) => *stride,
                        (stride, step) => self.make(new, "s", BasicOp::binary(BinOp::Mul, ty, *stride, step)),
                    };
                    DimIndex::Slice { start: first, count, stride: step }
                }
            });
        }
        Some(result)
    }

    /// Combining the neutral element into an accumulator has no effect.
    fn neutral_update(&self, acc: Name, values: &[Atom]) -> Option<Simplified> {
        let Type::Acc { token, .. } = self.type_of(acc) else {
            return None;
        };
        let neutral = self.neutrals.get(&token)?;
        (neutral.as_slice() == values).then(|| Simplified::Atom(Atom::Var(acc), Certs::new()))
    }
}
