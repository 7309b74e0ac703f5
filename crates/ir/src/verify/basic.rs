//! Invariants 4 and 17 for operations without bodies.

use super::VerifyLevel;
use super::types::Checker;
use crate::name::Name;
use crate::syntax::{Atom, BasicOp, DimIndex, MsgPart, ReshapeKind};
use crate::types::{Dim, Type};
use crate::typing::basic_type;
use prim::{PrimType, ScalarOp};

impl<L: VerifyLevel> Checker<'_, L> {
    /// The element type and shape of an array; `None` (and an error) for other types.
    pub(super) fn array(&mut self, name: Name) -> Option<(PrimType, Vec<Dim>)> {
        let ty = self.type_of(name);
        if let Type::Array { elem, shape } = &ty {
            return Some((*elem, shape.to_vec()));
        }
        let (name, ty) = (self.show_name(name), self.show(&ty));
        self.fail(format!("{name} has type {ty}, but an array is required"));
        None
    }

    fn slice(&mut self, rank: usize, slice: &[DimIndex]) {
        let len = slice.len();
        self.require(len == rank, || format!("{len} indices, but {rank} dimensions"));
        for index in slice {
            match index {
                DimIndex::Fix(i) => {
                    self.atom(*i, &Type::I64, "an index");
                }
                DimIndex::Slice { start, count, stride } => {
                    self.atom(*start, &Type::I64, "the start of a slice");
                    self.dim(*count);
                    self.atom(*stride, &Type::I64, "the stride of a slice");
                }
            }
        }
    }

    fn shape(&mut self, shape: &[Dim]) {
        for dim in shape {
            self.dim(*dim);
        }
    }

    fn operands(&mut self, args: &[Atom], ty: PrimType) {
        for arg in args {
            self.atom(*arg, &Type::Prim(ty), "an operand");
        }
    }

    fn permutation(&mut self, perm: &[usize], array: Name) {
        if let Some((_, shape)) = self.array(array) {
            let mut sorted = perm.to_vec();
            sorted.sort_unstable();
            let right = sorted.iter().copied().eq(0..shape.len());
            self.require(right, || format!("{perm:?} is not a permutation of the dimensions"));
        }
    }

    pub(super) fn basic(&mut self, op: &BasicOp) {
        let domain = |c: &mut Self, fits: bool, name: &str, ty: PrimType| {
            c.require(fits, || format!("{name} is not defined for {ty}"));
        };
        match op {
            BasicOp::Atom(_) | BasicOp::Opaque(_) => {}
            BasicOp::Scalar(op) => {
                if let Err(message) = op.is_defined() {
                    self.fail(message);
                }
                for (x, ty) in op.operands().into_iter().zip(op.operand_types()) {
                    self.operands(&[*x], ty);
                }
                if let ScalarOp::Math(fun, ty, _) = op {
                    self.has_math_definition(*fun, *ty);
                }
            }
            BasicOp::SizeAtLeast { size, tunable } => {
                self.operands(&[*size], PrimType::I64);
                self.has_tunable(*tunable);
            }
            BasicOp::Param { name: _, default } => self.operands(&[*default], PrimType::I64),
            BasicOp::Assert { cond, msg } => {
                self.atom(*cond, &Type::BOOL, "the condition");
                for part in msg {
                    match part {
                        MsgPart::Text(_) => {}
                        MsgPart::Value(ty, x) => self.operands(&[*x], ty.prim()),
                    }
                }
            }
            BasicOp::Index { array, slice } => {
                if let Some((_, shape)) = self.array(*array) {
                    self.slice(shape.len(), slice);
                }
            }
            BasicOp::Update { array, slice, value } => {
                if let Some((_, shape)) = self.array(*array) {
                    self.slice(shape.len(), slice);
                    let part = BasicOp::Index { array: *array, slice: slice.clone() };
                    let want = basic_type(&part, &|name| self.type_of(name));
                    self.atom(*value, &want, "the new value");
                }
            }
            BasicOp::FlatIndex { array, offset, dims } => {
                self.array(*array);
                self.operands(&[*offset], PrimType::I64);
                for (count, stride) in dims {
                    self.dim(*count);
                    self.operands(&[*stride], PrimType::I64);
                }
                let right = !dims.is_empty();
                self.require(right, || "a view has no dimensions".to_owned());
            }
            BasicOp::FlatUpdate { array, offset, strides, value } => {
                self.operands(&[*offset], PrimType::I64);
                self.operands(strides, PrimType::I64);
                self.flat_value(*array, strides.len(), *value);
            }
            BasicOp::Concat { dim, arrays, width } => self.concat(*dim, arrays, *width),
            BasicOp::Iota { ty, count, start, stride } => {
                domain(self, ty.is_int(), "iota", *ty);
                self.dim(*count);
                self.operands(&[*start, *stride], *ty);
            }
            BasicOp::Replicate { shape, value } => {
                self.shape(shape);
                let ty = self.atom_type(*value);
                self.require(ty.elem().is_some(), || "the operand of replicate is not a value".to_owned());
            }
            BasicOp::Scratch { elem: _, shape } => self.shape(shape),
            BasicOp::Rearrange { perm, array } | BasicOp::Manifest { perm, array } => {
                self.permutation(perm, *array);
            }
            BasicOp::Reshape { kind, shape, array } => {
                self.shape(shape);
                if let Some((_, old)) = self.array(*array) {
                    let right = *kind == ReshapeKind::Arbitrary || old.len() == shape.len();
                    self.require(right, || "a coerce changes the number of dimensions".to_owned());
                }
            }
            BasicOp::Copy(array) => {
                self.array(*array);
            }
            BasicOp::ArrayLit { row, elems } => {
                self.ty(row, None);
                self.require(row.elem().is_some(), || "the elements are not values".to_owned());
                for elem in elems {
                    self.atom(*elem, row, "an element");
                }
            }
            BasicOp::ConstArray { elem, shape, bytes } => {
                let count = shape.iter().try_fold(
                    1i64,
                    |product, n| {
                        if *n < 0 { None } else { product.checked_mul(*n) }
                    },
                );
                let size = count.and_then(|n| n.checked_mul(elem.size() as i64));
                let right = size == Some(bytes.len() as i64) && !shape.is_empty();
                self.require(right, || "the bytes do not match the shape".to_owned());
            }
            BasicOp::UpdateAcc { acc, index, values } => {
                let ty = self.type_of(*acc);
                let Type::Acc { token: _, shape, elems } = &ty else {
                    let ty = self.show(&ty);
                    self.fail(format!("updateacc of a name of type {ty}"));
                    return;
                };
                self.atoms(index, &vec![Type::I64; shape.len()], "an index");
                self.atoms(values, elems, "a value");
            }
        }
    }

    /// Checks the new value for a view with `rank` dimensions in place of the outermost one.
    fn flat_value(&mut self, array: Name, rank: usize, value: Name) {
        let (Some((elem, shape)), Some((_, given))) = (self.array(array), self.array(value)) else {
            return;
        };
        let outer = given.iter().take(rank).copied();
        let want = Type::array(elem, outer.chain(shape.iter().skip(1).copied()));
        self.atom(Atom::Var(value), &want, "the new value");
        let right = rank > 0 && given.len() >= rank;
        self.require(right, || "a view has no dimensions".to_owned());
    }

    fn concat(&mut self, dim: usize, arrays: &[Name], width: Dim) {
        self.dim(width);
        self.require(!arrays.is_empty(), || "concat without arrays".to_owned());
        let mut first: Option<Type> = None;
        for array in arrays {
            let Some((elem, mut shape)) = self.array(*array) else {
                continue;
            };
            let Some(size) = shape.get_mut(dim) else {
                self.fail(format!("the arrays of a concat have no dimension {dim}"));
                continue;
            };
            *size = width;
            let ty = Type::array(elem, shape);
            match &first {
                None => first = Some(ty),
                Some(first) => {
                    self.equal(&ty, first, || "an array of a concat, apart from its size,".to_owned());
                }
            }
        }
    }
}
