//! `flatmap f xs`: a map whose function returns an array of varying size, and further results of
//! one shape.
//!
//! ```text
//! m, sizes, data, rest = flatmap (\x -> let (ys, z) = f x in (|ys|, |ys|, ys, z)) xs
//! offsets = exclusive scan of sizes;  flags = scatter true to the offsets of non-empty parts
//! ```

use crate::size::Mismatch;
use crate::types::{LTy, Leaf};
use crate::value::{ArrayVal, Value};
use crate::{Lower, Res};
use ir::soac::{Operator, Soac};
use ir::{Atom, BasicOp, Dim, Name, Type};
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarType};

impl Lower<'_> {
    /// `flatmap f xs`: sizes, flags, offsets, data, and the other results; `claims` are the types
    /// of an element of the data and of the other results.
    pub(crate) fn flat_map(&mut self, f: &Value, xs: &Value, claims: [Option<&LTy>; 2]) -> Res<Value> {
        let xs = self.as_array(xs)?;
        let width = xs.dim;
        let (mut elem, mut rest) = (LTy::Fun, LTy::Fun);
        let lambda = self.lambda(&[&xs.elem], |s, args| {
            let result = s.apply(f, args.to_vec())?;
            if result.has_fun() {
                return s.bug("an array of functions");
            }
            let Value::Tuple(parts) = &result else {
                return s.bug("the function of a flatmap does not return a pair");
            };
            let [part, other] = &parts[..] else {
                return s.bug("the function of a flatmap does not return a pair");
            };
            let part = s.as_array(part)?;
            let Some(size) = part.dim.atom() else {
                return s.bug("an array has no size");
            };
            elem = s.regular(&part.elem, claims[0])?;
            let ty = s.element_type(std::slice::from_ref(other), claims[1])?;
            rest = s.regular(&ty, claims[1])?;
            let ty = LTy::array(Some(part.dim), elem.clone());
            let part = s.coerce(Value::Array(part), &ty, Mismatch::Type)?;
            let other = s.shaped(other.clone(), &rest, Mismatch::Type)?;
            let mut atoms = vec![size, size];
            let mut types = vec![Type::I64, Type::I64];
            atoms.extend(part.atoms());
            types.extend(elem.leaves().iter().map(|leaf| leaf.core().array_of(Dim::Ext(0))));
            atoms.extend(other.atoms());
            types.extend(rest.leaves().iter().map(Leaf::core));
            Ok((atoms, types))
        })?;
        let inputs = xs.leaves.to_vec();
        let op = Soac::FlatMap { width, inputs, lambda };
        let names = self.f.soac("r", op);
        let [total, sizes, arrays @ ..] = names.as_slice() else {
            return self.bug("a flatmap has no sizes");
        };
        let m = Dim::Var(*total);
        let (data, others) = arrays.split_at(elem.n_leaves().min(arrays.len()));
        let array = |dim, elem, leaves: &[Name]| ArrayVal { dim, elem, leaves: leaves.into(), shared: false };
        let i64s = LTy::Scalar(ScalarType::I64);
        let (offsets, starts) = self.offsets(width, *sizes)?;
        let flags = self.flags(m, width, starts)?;
        Ok(Value::Tuple(
            [
                Value::Array(array(width, i64s.clone(), &[*sizes])),
                flags,
                Value::Array(array(width, i64s, &[offsets])),
                Value::Array(array(m, elem, data)),
                Value::Array(array(width, rest, others)),
            ]
            .into(),
        ))
    }

    /// The start of each part in the concatenation, and the same with -1 for empty parts.
    fn offsets(&mut self, width: Dim, sizes: Name) -> Res<(Name, Name)> {
        let i64s = LTy::Scalar(ScalarType::I64);
        let add = self.lambda(&[&i64s, &i64s], |s, args| {
            let [Value::Scalar(x, _), Value::Scalar(y, _)] = args else {
                return s.bug("a size is not a scalar");
            };
            let sum = BasicOp::binary(BinOp::Add, PrimType::I64, *x, *y);
            Ok((vec![s.f.basic("end", sum).into()], vec![Type::I64]))
        })?;
        let add = Operator { op: add, neutral: vec![Atom::i64(0)], comm: true };
        let sized = self.identity(&[Type::I64]);
        let ends = self.screma(width, vec![sizes], sized, vec![add], Vec::new());
        let begin = self.lambda(&[&i64s, &i64s], |s, args| {
            let [Value::Scalar(end, _), Value::Scalar(size, _)] = args else {
                return s.bug("a size is not a scalar");
            };
            let offset = BasicOp::binary(BinOp::Sub, PrimType::I64, *end, *size);
            let offset = s.f.basic("offset", offset).into();
            let start = BasicOp::select(
                PrimType::I64,
                s.f.cmp(CmpOp::SLt, Atom::i64(0), *size),
                offset,
                Atom::i64(-1),
            );
            let start = s.f.basic("start", start).into();
            Ok((vec![offset, start], vec![Type::I64; 2]))
        })?;
        let inputs = ends.into_iter().chain([sizes]).collect();
        let names = self.screma(width, inputs, begin, Vec::new(), Vec::new());
        match names[..] {
            [offsets, starts] => Ok((offsets, starts)),
            _ => self.bug("a scan and a map of sizes do not return two arrays"),
        }
    }

    /// The flags that mark the first element of each part.
    fn flags(&mut self, m: Dim, width: Dim, starts: Name) -> Res<Value> {
        let mut all = |dim: Dim, truth: bool| {
            let op = BasicOp::Replicate {
                shape: std::iter::once(dim).collect(),
                value: Atom::Const(Scalar::Bool(truth)),
            };
            Value::Array(ArrayVal {
                dim,
                elem: LTy::Scalar(ScalarType::Bool),
                leaves: [self.f.basic("flags", op)].into(),
                shared: false,
            })
        };
        let (flags, set) = (all(m, false), all(width, true));
        let starts = Value::Array(ArrayVal {
            dim: width,
            elem: LTy::Scalar(ScalarType::I64),
            leaves: [starts].into(),
            shared: false,
        });
        self.scatter(1, &flags, &starts, &set)
    }
}
