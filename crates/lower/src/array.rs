//! Built-in functions on arrays that take no function, and array literals.

use crate::size::{Mismatch, join, number, shape_text, text};
use crate::types::{LTy, Size, size_of};
use crate::value::{ArrayVal, Env, Value};
use crate::{Lower, Res};
use check::intrinsics::ArrayFun;
use check::tast::{Exp, Ty};
use ir::syntax::ReshapeKind;
use ir::{Atom, BasicOp, Dim, Name, Type};
use prim::{CmpOp, Scalar, ScalarType};
use std::rc::Rc;

/// Literals of at least this many constants become constant data.
const DATA: usize = 16;

impl Lower<'_> {
    /// A built-in function on arrays, applied to all of its arguments.
    pub(crate) fn array_intrinsic(
        &mut self,
        fun: ArrayFun,
        types: &[LTy],
        _sizes: &[Size],
        args: Vec<Value>,
    ) -> Res<Value> {
        match (fun, args.as_slice()) {
            (ArrayFun::Map, [f, xs]) => self.map(f, xs, types.get(1)),
            (ArrayFun::Reduce, [op, ne, xs]) => self.reduce(op, ne, xs, false),
            (ArrayFun::ReduceComm, [op, ne, xs]) => self.reduce(op, ne, xs, true),
            (ArrayFun::Scan, [op, ne, xs]) => self.scan(op, ne, xs),
            (ArrayFun::Hist, [dest, op, ne, is, xs]) => self.hist(1, dest, op, ne, is, xs),
            (ArrayFun::Hist2d, [dest, op, ne, is, xs]) => self.hist(2, dest, op, ne, is, xs),
            (ArrayFun::Hist3d, [dest, op, ne, is, xs]) => self.hist(3, dest, op, ne, is, xs),
            (ArrayFun::Scatter, [dest, is, xs]) => self.scatter(1, dest, is, xs),
            (ArrayFun::Scatter2d, [dest, is, xs]) => self.scatter(2, dest, is, xs),
            (ArrayFun::Scatter3d, [dest, is, xs]) => self.scatter(3, dest, is, xs),
            (ArrayFun::Flatten, [xs]) => self.flatten(xs),
            (ArrayFun::Unflatten, [n, m, xs]) => self.unflatten(n, m, xs),
            (ArrayFun::Concat, [xs, ys]) => self.concat(xs, ys),
            (ArrayFun::Transpose, [xs]) => self.transpose(xs),
            (ArrayFun::Replicate, [n, x]) => self.replicate(n, x, types.first()),
            (ArrayFun::Iota, [n]) => self.iota(n),
            (ArrayFun::Zip, [xs, ys]) => self.zip(xs, ys),
            (ArrayFun::Unzip, [xs]) => self.unzip(xs),
            (ArrayFun::Copy, [x]) => self.each_leaf(x, |f, atom| match atom {
                Atom::Var(name) if f.type_of(name).is_array() => f.basic("copy", BasicOp::Copy(name)).into(),
                atom => atom,
            }),
            (ArrayFun::Manifest, [x]) => self.each_leaf(x, |f, atom| match atom {
                Atom::Var(array) if f.type_of(array).is_array() => {
                    let perm = (0..f.type_of(array).rank()).collect();
                    f.basic("manifest", BasicOp::Manifest { perm, array }).into()
                }
                atom => atom,
            }),
            (ArrayFun::Scratch, [Value::Array(xs)]) => {
                let ty = LTy::array(Some(xs.dim), xs.elem.clone());
                let mut atoms = Vec::new();
                for leaf in ty.leaves() {
                    let shape = leaf.dims.into_iter().flatten().collect();
                    let op = BasicOp::Scratch { elem: leaf.elem.prim(), shape };
                    atoms.push(self.f.basic("scratch", op).into());
                }
                self.value_of(&ty, &atoms)
            }
            (ArrayFun::Opaque, [x]) => self.opaque(x),
            (ArrayFun::Trace | ArrayFun::Break, [x]) => Ok(x.clone()),
            (ArrayFun::WithVjp, [f, adjoint, x]) => {
                self.with_vjp(f, adjoint, x, [types.first(), types.get(1)])
            }
            (ArrayFun::Filter | ArrayFun::Partition | ArrayFun::Rotate, _) => self.unsupported(format!(
                "the intrinsic `{}`: use the library function of this name",
                fun.name()
            )),
            (ArrayFun::FlatMap, [f, xs]) => self.flat_map(f, xs, [types.get(1), types.get(2)]),
            (ArrayFun::Jvp2 | ArrayFun::Vjp2 | ArrayFun::Jmp2 | ArrayFun::Mjp2, [f, x, seed]) => {
                self.derivative(fun, f, x, seed, [types.first(), types.get(1)])
            }
            (ArrayFun::ScatterStream, [dest, f, bs]) => self.stream(dest, None, f, bs),
            (ArrayFun::HistStream, [dest, op, ne, f, bs]) => self.stream(dest, Some((op, ne)), f, bs),
            (ArrayFun::AccWrite, [acc, i, v]) => self.acc_write(acc, i, v),
            (
                ArrayFun::FlatIndex2d | ArrayFun::FlatIndex3d | ArrayFun::FlatIndex4d,
                [xs, offset, dims @ ..],
            ) => self.flat_index(xs, offset, dims),
            (
                ArrayFun::FlatUpdate2d | ArrayFun::FlatUpdate3d | ArrayFun::FlatUpdate4d,
                [dest, offset, strides @ .., value],
            ) => self.flat_update(dest, offset, strides, value),
            _ => self.bug(format!("`{}` has the wrong arguments", fun.name())),
        }
    }

    /// The array in a value.
    pub(crate) fn as_array(&self, value: &Value) -> Res<ArrayVal> {
        match value {
            Value::Array(array) => Ok(array.clone()),
            _ => self.bug("expected an array"),
        }
    }

    /// The scalar in a value.
    pub(crate) fn as_scalar(&self, value: &Value) -> Res<Atom> {
        match value {
            Value::Scalar(atom, _) => Ok(*atom),
            _ => self.bug("expected a scalar"),
        }
    }

    /// A size that is checked not to be negative; the message has the number between the two texts.
    fn as_size(&mut self, value: &Value, msg: [&str; 2]) -> Res<(Dim, Option<Name>)> {
        let atom = self.as_scalar(value)?;
        let known = Atom::Const(Scalar::Bool(true));
        let ok = if self.f.is_size(atom) { known } else { self.f.cmp(CmpOp::SLe, Atom::i64(0), atom) };
        let msg = vec![text(msg[0]), number(atom), text(msg[1])];
        let cert = self.f.assert(ok, msg);
        match size_of(atom) {
            Some(dim) => Ok((dim, cert)),
            None => self.bug("a size is not an i64"),
        }
    }

    /// The value with each leaf replaced.
    pub(crate) fn each_leaf(
        &mut self,
        value: &Value,
        mut op: impl FnMut(&mut crate::state::FunctionBuilder, Atom) -> Atom,
    ) -> Res<Value> {
        if value.has_fun() {
            return Ok(value.clone());
        }
        let atoms: Vec<Atom> = value.atoms().into_iter().map(|atom| op(&mut self.f, atom)).collect();
        let new = self.value_of(&value.ty(), &atoms)?;
        Ok(new.with_claims(&value.claims()))
    }

    /// The value, hidden from the optimiser.
    pub(crate) fn opaque(&mut self, value: &Value) -> Res<Value> {
        let shared = value.shared().contains(&true);
        let value = self.each_leaf(value, |f, atom| f.basic("opaque", BasicOp::Opaque(atom)).into())?;
        Ok(if shared { value.mark_shared() } else { value })
    }

    /// The array's leaves with another shape for the first `outer` dimensions.
    fn reshape(&mut self, xs: &ArrayVal, outer: usize, to: &[Dim], cert: Option<Name>) -> Vec<Name> {
        xs.leaves
            .iter()
            .map(|leaf| {
                let inner = self.f.type_of(*leaf).shape().iter().skip(outer).copied();
                let shape = to.iter().copied().chain(inner).collect();
                let op = BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape, array: *leaf };
                self.f.certified(cert, |f| f.basic("reshaped", op))
            })
            .collect()
    }

    fn flatten(&mut self, xs: &Value) -> Res<Value> {
        let xs = self.as_array(xs)?;
        let LTy::Array(inner) = xs.elem.clone() else {
            return self.bug("`flatten` of a one-dimensional array");
        };
        let (Some(n), Some(m)) = (xs.dim.atom(), inner.0.and_then(Dim::atom)) else {
            return self.bug("an array has no size");
        };
        let Some(dim) = size_of(self.f.mul(n, m)) else {
            return self.bug("a size is not an i64");
        };
        let leaves = self.reshape(&xs, 2, &[dim], None);
        Ok(rebuilt(dim, inner.1.clone(), leaves, xs.shared))
    }

    fn unflatten(&mut self, n: &Value, m: &Value, xs: &Value) -> Res<Value> {
        let xs = self.as_array(xs)?;
        let (n, m) = (self.as_scalar(n)?, self.as_scalar(m)?);
        let product = self.f.mul(n, m);
        let size = xs.dim.atom().unwrap_or(Atom::i64(0));
        let mut ok = self.f.cmp(CmpOp::Eq, product, size);
        for x in [n, m] {
            if !self.f.is_size(x) {
                let positive = self.f.cmp(CmpOp::SLe, Atom::i64(0), x);
                ok = self.f.and(ok, positive);
            }
        }
        let mut msg = vec![text("Cannot unflatten array of shape ")];
        shape_text(&[Some(xs.dim)], &mut msg);
        msg.push(text(" to array of shape "));
        shape_text(&[size_of(n), size_of(m)], &mut msg);
        msg.push(text("."));
        let cert = self.f.assert(ok, join(msg));
        let (Some(n), Some(m)) = (size_of(n), size_of(m)) else {
            return self.bug("a size is not an i64");
        };
        let leaves = self.reshape(&xs, 1, &[n, m], cert);
        Ok(rebuilt(n, LTy::array(Some(m), xs.elem), leaves, xs.shared))
    }

    fn concat(&mut self, xs: &Value, ys: &Value) -> Res<Value> {
        let xs = self.as_array(xs)?;
        let ys = self.as_array(ys)?;
        let target = LTy::array(Some(ys.dim), xs.elem.clone());
        let ys = self.coerce(Value::Array(ys), &target, Mismatch::Type)?;
        let ys = self.as_array(&ys)?;
        let (n, m) = (xs.dim.atom().unwrap_or(Atom::i64(0)), ys.dim.atom().unwrap_or(Atom::i64(0)));
        let Some(width) = size_of(self.f.add(n, m)) else {
            return self.bug("a size is not an i64");
        };
        let mut leaves = Vec::new();
        for (x, y) in xs.leaves.iter().zip(ys.leaves.iter()) {
            let op = BasicOp::Concat { dim: 0, arrays: vec![*x, *y], width };
            leaves.push(self.f.basic("concat", op));
        }
        Ok(rebuilt(width, xs.elem, leaves, false))
    }

    fn transpose(&mut self, xs: &Value) -> Res<Value> {
        let xs = self.as_array(xs)?;
        let LTy::Array(inner) = xs.elem.clone() else {
            return self.bug("`transpose` of a one-dimensional array");
        };
        let mut leaves = Vec::new();
        for leaf in xs.leaves.iter() {
            let rank = self.f.type_of(*leaf).rank();
            let perm = [1, 0].into_iter().chain(2..rank).collect();
            leaves.push(self.f.basic("transposed", BasicOp::Rearrange { perm, array: *leaf }));
        }
        let elem = LTy::array(Some(xs.dim), inner.1.clone());
        Ok(rebuilt(inner.0.unwrap_or(Dim::Const(0)), elem, leaves, xs.shared))
    }

    /// `replicate n x`; `claim` is the type of the elements.
    fn replicate(&mut self, n: &Value, x: &Value, claim: Option<&LTy>) -> Res<Value> {
        let (dim, cert) = self.as_size(n, ["Negative size ", " in replicate."])?;
        if x.has_fun() {
            return self.bug("an array of functions");
        }
        let elem = self.element_type(std::slice::from_ref(x), claim)?;
        let x = self.shaped(x.clone(), &elem, Mismatch::Type)?;
        let mut leaves = Vec::new();
        for value in x.atoms() {
            let op = BasicOp::Replicate { shape: std::iter::once(dim).collect(), value };
            leaves.push(self.f.certified(cert, |f| f.basic("replicated", op)));
        }
        Ok(rebuilt(dim, elem, leaves, false))
    }

    fn iota(&mut self, n: &Value) -> Res<Value> {
        let (count, cert) = self.as_size(n, ["Range 0..1..<", " is invalid."])?;
        let op = BasicOp::Iota { ty: prim::PrimType::I64, count, start: Atom::i64(0), stride: Atom::i64(1) };
        let name = self.f.certified(cert, |f| f.basic("iota", op));
        Ok(rebuilt(count, LTy::Scalar(ScalarType::I64), vec![name], false))
    }

    fn zip(&mut self, xs: &Value, ys: &Value) -> Res<Value> {
        let (xs, ys) = (self.as_array(xs)?, self.as_array(ys)?);
        let target = LTy::array(Some(xs.dim), ys.elem.clone());
        let ys = self.coerce(Value::Array(ys), &target, Mismatch::Type)?;
        let ys = self.as_array(&ys)?;
        let leaves = xs.leaves.iter().chain(ys.leaves.iter()).copied().collect();
        let elem = LTy::Tuple([xs.elem, ys.elem].into());
        Ok(rebuilt(xs.dim, elem, leaves, true))
    }

    fn unzip(&mut self, xs: &Value) -> Res<Value> {
        let xs = self.as_array(xs)?;
        let LTy::Tuple(elems) = &xs.elem else {
            return self.bug("`unzip` of an array whose elements are not tuples");
        };
        let mut leaves = xs.leaves.iter().copied();
        let parts = elems
            .iter()
            .map(|elem| {
                let own = leaves.by_ref().take(elem.n_leaves()).collect();
                rebuilt(xs.dim, elem.clone(), own, xs.shared)
            })
            .collect();
        Ok(Value::Tuple(parts))
    }

    /// An array of the elements, coerced to the size of the first.
    pub(crate) fn array_literal(&mut self, elems: &[Exp], ty: &Ty, env: &Rc<Env>) -> Res<Value> {
        let values = elems.iter().map(|elem| self.eval(elem, env)).collect::<Res<Vec<Value>>>()?;
        let Some(first) = values.first() else {
            let ty = self.resolve(ty, env, &[])?;
            let LTy::Array(array) = &ty else {
                return self.bug("the type of an array literal is not an array");
            };
            return self.blank(&LTy::array(Some(Dim::Const(0)), array.1.clone()));
        };
        if first.has_fun() {
            return self.bug("an array of functions");
        }
        let elem = if first.has_payload_sizes() {
            let claim = match self.resolve(ty, env, &[])? {
                LTy::Array(array) => Some(array.1.clone()),
                _ => None,
            };
            self.element_type(&values, claim.as_ref())?
        } else {
            first.ty()
        };
        let dim = Dim::Const(values.len() as i64);
        let mut rows: Vec<Vec<Atom>> = Vec::with_capacity(values.len());
        for value in values {
            rows.push(self.shaped(value, &elem, Mismatch::Type)?.atoms());
        }
        let mut leaves = Vec::new();
        for (i, leaf) in elem.leaves().iter().enumerate() {
            let elems: Vec<Atom> = rows.iter().filter_map(|row| row.get(i).copied()).collect();
            let row = leaf.core();
            leaves.push(self.f.basic("array", literal(row, elems)));
        }
        Ok(rebuilt(dim, elem, leaves, false))
    }

    /// The condition that two values are equal in all parts.
    pub(crate) fn equal(&mut self, x: &Value, y: &Value) -> Res<Atom> {
        let yes = Atom::Const(Scalar::Bool(true));
        match (x, y) {
            (Value::Scalar(a, ty), Value::Scalar(b, _)) => Ok(self.f.compare(CmpOp::Eq, ty.prim(), *a, *b)),
            (Value::Tuple(xs), Value::Tuple(ys)) => {
                let mut all = yes;
                for (x, y) in xs.iter().zip(ys.iter()) {
                    let one = self.equal(x, y)?;
                    all = self.f.and(all, one);
                }
                Ok(all)
            }
            (Value::Record(xs), Value::Record(ys)) => {
                let mut all = yes;
                for ((_, x), (_, y)) in xs.iter().zip(ys.iter()) {
                    let one = self.equal(x, y)?;
                    all = self.f.and(all, one);
                }
                Ok(all)
            }
            (Value::Sum(xs, _), Value::Sum(ys, _)) => {
                // Payloads of other constructors are blank, so they are equal if their sizes are.
                let (Some(tag), tys) = (xs.first(), x.ty()) else {
                    return self.bug("a sum value has no constructor");
                };
                let LTy::Sum(constrs) = &tys else {
                    return self.bug("the type of a sum value is not a sum");
                };
                let mut pairs = xs.iter().zip(ys.iter());
                let mut all = yes;
                if let Some((x, y)) = pairs.next() {
                    all = self.equal(x, y)?;
                }
                for ((_, tys), number) in constrs.iter().zip(0i8..) {
                    for (x, y) in pairs.by_ref().take(tys.len()) {
                        let mut one = self.equal(x, y)?;
                        if x.ty().sizes() != y.ty().sizes() {
                            one = self.or_absent(tag, number, one)?;
                        }
                        all = self.f.and(all, one);
                    }
                }
                Ok(all)
            }
            (Value::Array(xs), Value::Array(ys)) => self.equal_arrays(xs, ys),
            _ => self.bug("an equality of values of different types"),
        }
    }
}

fn rebuilt(dim: Dim, elem: LTy, leaves: Vec<Name>, shared: bool) -> Value {
    Value::Array(ArrayVal { dim, elem, leaves: leaves.into(), shared })
}

/// An array literal; many constants become constant data.
fn literal(row: Type, elems: Vec<Atom>) -> BasicOp {
    if let Type::Prim(elem) = row
        && elems.len() >= DATA
        && let Some(values) = elems.iter().map(|atom| atom.constant()).collect::<Option<Vec<Scalar>>>()
    {
        let size = elem.size() as usize;
        let bytes: Vec<u8> =
            values.iter().flat_map(|v| v.bits().to_le_bytes().into_iter().take(size)).collect();
        let shape = std::iter::once(values.len() as i64).collect();
        return BasicOp::ConstArray { elem, shape, bytes: bytes.into() };
    }
    BasicOp::ArrayLit { row, elems }
}
