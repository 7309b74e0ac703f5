//! Second-order array combinators: lambdas from function values.
//!
//! A lambda's body is the function, inlined and applied to the element. The sizes in its result
//! must be known outside the lambda: those computed inside are hoisted if they do not depend on the
//! element, and otherwise checked to be those of the type.

use crate::size::Mismatch;
use crate::types::{LTy, Leaf};
use crate::value::{ArrayVal, Value};
use crate::{Lower, Res};
use analysis::exact::scalar_operator;
use ir::scan_reduce::ScanReduce;
use ir::soac::{AccInput, HistOp, Operator, Screma, Soac};
use ir::{Atom, BasicOp, Body, Dim, Exp, Lambda, Name, Param, Soacs, Type};
use prim::{CmpOp, Scalar, ScalarType};

impl Lower<'_> {
    /// Parameters for the leaves of a type. They must not be updated in place.
    pub(crate) fn element(&mut self, ty: &LTy, params: &mut Vec<Param<Soacs>>) -> Res<Value> {
        let mut atoms = Vec::new();
        for leaf in ty.leaves() {
            let param = self.f.param("x", leaf.core());
            if param.ty.is_array() {
                self.f.lend(param.name);
            }
            atoms.push(param.name.into());
            params.push(param);
        }
        self.value_of(ty, &atoms)
    }

    /// A lambda with parameters of these types.
    pub(crate) fn lambda(
        &mut self,
        params: &[&LTy],
        body: impl FnOnce(&mut Self, &[Value]) -> Res<(Vec<Atom>, Vec<Type>)>,
    ) -> Res<Lambda<Soacs>> {
        let attrs = self.f.attrs();
        self.f.enter(true);
        let mut names = Vec::new();
        let values = params.iter().map(|ty| self.element(ty, &mut names)).collect::<Res<Vec<_>>>()?;
        self.combinator_depth += 1;
        let result = body(self, &values);
        self.combinator_depth -= 1;
        let (result, ret) = result?;
        let stms = self.f.leave();
        self.f.set_attrs(attrs);
        Ok(Lambda { params: names, body: Body { stms, result }, ret })
    }

    /// The identity on these types.
    pub(crate) fn identity(&mut self, types: &[Type]) -> Lambda<Soacs> {
        self.f.enter(true);
        let params: Vec<Param<Soacs>> = types.iter().map(|ty| self.f.param("x", ty.clone())).collect();
        let result = params.iter().map(|param| param.name.into()).collect();
        let stms = self.f.leave();
        Lambda { params, body: Body { stms, result }, ret: types.to_vec() }
    }

    /// The type of an element that a lambda's body returns, with sizes that are known outside.
    pub(crate) fn regular(&mut self, ty: &LTy, claim: Option<&LTy>) -> Res<LTy> {
        match self.with_outer_sizes(ty, claim) {
            Some(ty) => Ok(ty),
            None => self.unsupported("arrays whose elements differ in size"),
        }
    }

    /// The type of a result of a lambda's body, with sizes that are known outside; `None` if there
    /// are none.
    pub(crate) fn with_outer_sizes(&mut self, ty: &LTy, claim: Option<&LTy>) -> Option<LTy> {
        let claims = claim.map(LTy::sizes).unwrap_or_default();
        let n_claims = claims.len();
        let mut claims = claims.into_iter();
        let fits = n_claims == ty.sizes().len();
        let mut irregular = false;
        let ty = ty.map_sizes(&mut |size| {
            let claim = claims.next().flatten().filter(|_| fits);
            match size {
                Some(dim) if self.f.is_outer(dim) => Some(dim),
                Some(Dim::Var(name)) if self.f.hoist(name) => Some(Dim::Var(name)),
                size => match claim {
                    Some(dim) if self.f.is_outer(dim) => Some(dim),
                    _ => {
                        irregular = true;
                        size
                    }
                },
            }
        });
        (!irregular).then_some(ty)
    }

    /// `map f xs`; `claim` is the type of the result's elements.
    pub(crate) fn map(&mut self, f: &Value, xs: &Value, claim: Option<&LTy>) -> Res<Value> {
        let xs = self.as_array(xs)?;
        let mut elem = LTy::Fun;
        let map = self.lambda(&[&xs.elem], |s, args| {
            let result = s.apply(f, args.to_vec())?;
            if result.has_fun() {
                return s.bug("an array of functions");
            }
            let ty = s.element_type(std::slice::from_ref(&result), claim)?;
            elem = s.regular(&ty, claim)?;
            let result = s.shaped(result, &elem, Mismatch::Type)?;
            Ok((result.atoms(), elem.leaves().iter().map(Leaf::core).collect()))
        })?;
        let leaves = self.screma(xs.dim, xs.leaves.to_vec(), map, Vec::new(), Vec::new());
        Ok(Value::Array(ArrayVal { dim: xs.dim, elem, leaves: leaves.into(), shared: false }))
    }

    pub(crate) fn screma(
        &mut self,
        width: Dim,
        inputs: Vec<Name>,
        map: Lambda<Soacs>,
        scans: Vec<Operator<Soacs>>,
        reduces: Vec<Operator<Soacs>>,
    ) -> Vec<Name> {
        if map.ret.is_empty() && scans.is_empty() && reduces.is_empty() {
            return Vec::new();
        }
        self.f.soac(
            "r",
            Soac::Screma(Screma {
                width,
                inputs,
                map,
                scan_reduce: ScanReduce { scans, reduces, post: None },
            }),
        )
    }

    /// An operator on elements of a type, with its neutral element.
    pub(crate) fn operator(
        &mut self,
        op: &Value,
        ne: &Value,
        elem: &LTy,
        comm: bool,
    ) -> Res<Operator<Soacs>> {
        let ne = self.shaped(ne.clone(), elem, Mismatch::Type)?;
        let lambda = self.lambda(&[elem, elem], |s, args| {
            let result = s.apply(op, args.to_vec())?;
            let result = s.shaped(result, elem, Mismatch::Type)?;
            Ok((result.atoms(), elem.leaves().iter().map(Leaf::core).collect()))
        })?;
        let comm = comm || scalar_operator(&lambda).is_some_and(|(op, _)| op.is_commutative());
        Ok(Operator { op: lambda, neutral: ne.atoms(), comm })
    }

    /// `reduce op ne xs`.
    pub(crate) fn reduce(&mut self, op: &Value, ne: &Value, xs: &Value, comm: bool) -> Res<Value> {
        let xs = self.as_array(xs)?;
        if xs.leaves.is_empty() {
            return Ok(ne.clone());
        }
        let op = self.operator(op, ne, &xs.elem, comm)?;
        let rows: Vec<Type> = xs.elem.leaves().iter().map(Leaf::core).collect();
        let map = self.identity(&rows);
        let names = self.screma(xs.dim, xs.leaves.to_vec(), map, Vec::new(), vec![op]);
        let atoms: Vec<Atom> = names.into_iter().map(Atom::Var).collect();
        self.value_of(&xs.elem, &atoms)
    }

    /// `scan op ne xs`.
    pub(crate) fn scan(&mut self, op: &Value, ne: &Value, xs: &Value) -> Res<Value> {
        let xs = self.as_array(xs)?;
        if xs.leaves.is_empty() {
            return Ok(Value::Array(xs));
        }
        let op = self.operator(op, ne, &xs.elem, false)?;
        let rows: Vec<Type> = xs.elem.leaves().iter().map(Leaf::core).collect();
        let map = self.identity(&rows);
        let leaves = self.screma(xs.dim, xs.leaves.to_vec(), map, vec![op], Vec::new());
        Ok(Value::Array(ArrayVal { leaves: leaves.into(), shared: false, ..xs }))
    }

    /// Indices and values of one width, the values of the destination's element type, and the
    /// destination's outer dimensions and owned leaves.
    fn updates(&mut self, rank: usize, dest: &Value, is: &Value, xs: &Value) -> Res<Updates> {
        let dest = self.as_array(dest)?;
        let is = self.as_array(is)?;
        let mut dims = vec![dest.dim];
        let mut elem = dest.elem.clone();
        for _ in 1..rank {
            let LTy::Array(array) = &elem else {
                return self.bug("the rank of a destination is too small");
            };
            dims.extend(array.0);
            elem = array.1.clone();
        }
        let target = LTy::array(Some(is.dim), elem.clone());
        let xs = self.coerce(xs.clone(), &target, Mismatch::Type)?;
        let xs = self.as_array(&xs)?;
        let inputs = is.leaves.iter().chain(xs.leaves.iter()).copied().collect();
        let arrays = dest.leaves.iter().map(|leaf| self.f.owned_or_copied(*leaf, dest.shared)).collect();
        Ok(Updates { width: is.dim, inputs, dims, elem, arrays, dest })
    }

    /// `reduce_by_index dest op ne is xs` with indices of `rank` components.
    pub(crate) fn hist(
        &mut self,
        rank: usize,
        dest: &Value,
        op: &Value,
        ne: &Value,
        is: &Value,
        xs: &Value,
    ) -> Res<Value> {
        let updates = self.updates(rank, dest, is, xs)?;
        if updates.arrays.is_empty() {
            return Ok(dest.clone());
        }
        let op = self.operator(op, ne, &updates.elem, true)?;
        let mut rows = vec![Type::I64; rank];
        rows.extend(updates.elem.leaves().iter().map(Leaf::core));
        let map = self.identity(&rows);
        let shape = updates.dims.iter().copied().collect();
        let hist = HistOp { shape, destinations: updates.arrays, op };
        let (width, inputs) = (updates.width, updates.inputs);
        let leaves = self.f.soac("hist", Soac::Hist { width, inputs, map, ops: vec![hist] });
        Ok(updates.dest.with_leaves(leaves))
    }

    /// `scatter dest is xs` with indices of `rank` components: an accumulator without an operator,
    /// written by a map.
    pub(crate) fn scatter(&mut self, rank: usize, dest: &Value, is: &Value, xs: &Value) -> Res<Value> {
        let updates = self.updates(rank, dest, is, xs)?;
        if updates.arrays.is_empty() {
            return Ok(dest.clone());
        }
        let shape: ir::Shape = updates.dims.iter().copied().collect();
        let elems: Vec<Type> = updates.elem.leaves().iter().map(Leaf::core).collect();
        let attrs = self.f.attrs();
        self.f.enter(true);
        let token = self.f.param("token", Type::Cert);
        let acc_ty = Type::Acc { token: token.name, shape: shape.clone(), elems: elems.clone() };
        let acc = self.f.param("acc", acc_ty.clone());
        // The map over indices and values.
        self.f.enter(true);
        let mut params: Vec<Param<Soacs>> = (0..rank).map(|_| self.f.param("i", Type::I64)).collect();
        params.extend(elems.iter().map(|ty| self.f.param("v", ty.clone())).collect::<Vec<_>>());
        let inner = self.f.param("acc", acc_ty.clone());
        let op = BasicOp::UpdateAcc {
            acc: inner.name,
            index: params.iter().take(rank).map(|p| Atom::Var(p.name)).collect(),
            values: params.iter().skip(rank).map(|p| Atom::Var(p.name)).collect(),
        };
        params.push(inner);
        let updated = self.f.basic("acc", op);
        let stms = self.f.leave();
        let body = Body { stms, result: vec![updated.into()] };
        let map = Lambda { params, body, ret: vec![acc_ty.clone()] };
        let mut inputs = updates.inputs;
        inputs.push(acc.name);
        self.f.set_attrs(attrs);
        let result = self.screma(updates.width, inputs, map, Vec::new(), Vec::new());
        let stms = self.f.leave();
        let body = Body { stms, result: result.into_iter().map(Atom::Var).collect() };
        let lambda = Lambda { params: vec![token, acc], body, ret: vec![acc_ty] };
        let input = AccInput { shape, arrays: updates.arrays, op: None };
        let leaves = self.f.soac("scattered", Soac::WithAcc { inputs: vec![input], lambda });
        Ok(updates.dest.with_leaves(leaves))
    }

    /// The condition that two arrays have the same shape and elements.
    pub(crate) fn equal_arrays(&mut self, xs: &ArrayVal, ys: &ArrayVal) -> Res<Atom> {
        let (x_ty, y_ty) =
            (LTy::array(Some(xs.dim), xs.elem.clone()), LTy::array(Some(ys.dim), ys.elem.clone()));
        let mut same = Atom::Const(Scalar::Bool(true));
        for (x, y) in x_ty.sizes().into_iter().zip(y_ty.sizes()) {
            if let (Some(x), Some(y)) = (x.and_then(Dim::atom), y.and_then(Dim::atom)) {
                let one = self.f.cmp(CmpOp::Eq, x, y);
                same = self.f.and(same, one);
            }
        }
        if xs.leaves.is_empty() || same.constant() == Some(Scalar::Bool(false)) {
            return Ok(same);
        }
        if same.constant().is_some() {
            return self.equal_elements(xs, ys);
        }
        self.f.enter(false);
        let ys = self.coerce(Value::Array(ys.clone()), &x_ty, Mismatch::Type)?;
        let ys = self.as_array(&ys)?;
        let equal = self.equal_elements(xs, &ys)?;
        let then_body = Body { stms: self.f.leave(), result: vec![equal] };
        let no = Atom::Const(Scalar::Bool(false));
        let else_body = Body { stms: Vec::new(), result: vec![no] };
        let exp = Exp::If { cond: same, then_body, else_body };
        match self.f.bind_all("equal", vec![Type::BOOL], exp).first() {
            Some(name) => Ok((*name).into()),
            None => self.bug("a conditional has no result"),
        }
    }

    fn equal_elements(&mut self, xs: &ArrayVal, ys: &ArrayVal) -> Res<Atom> {
        let map = self.lambda(&[&xs.elem, &ys.elem], |s, args| {
            let [x, y] = args else {
                return s.bug("an equality needs two operands");
            };
            Ok((vec![s.equal(x, y)?], vec![Type::BOOL]))
        })?;
        let bool_ty = LTy::Scalar(ScalarType::Bool);
        let op = self.lambda(&[&bool_ty, &bool_ty], |s, args| {
            let [Value::Scalar(x, _), Value::Scalar(y, _)] = args else {
                return s.bug("an operand of a conjunction is not a scalar");
            };
            Ok((vec![s.f.and(*x, *y)], vec![Type::BOOL]))
        })?;
        let yes = Atom::Const(Scalar::Bool(true));
        let op = Operator { op, neutral: vec![yes], comm: true };
        let inputs = xs.leaves.iter().chain(ys.leaves.iter()).copied().collect();
        match self.screma(xs.dim, inputs, map, Vec::new(), vec![op]).first() {
            Some(name) => Ok((*name).into()),
            None => self.bug("a reduction has no result"),
        }
    }
}

/// The operands of a histogram or scatter.
struct Updates {
    width: Dim,
    inputs: Vec<Name>,
    dims: Vec<Dim>,
    elem: LTy,
    arrays: Vec<Name>,
    dest: ArrayVal,
}

impl ArrayVal {
    /// The array with other core arrays, which are not shared.
    pub(crate) fn with_leaves(self, leaves: Vec<Name>) -> Value {
        Value::Array(Self { leaves: leaves.into(), shared: false, ..self })
    }
}
