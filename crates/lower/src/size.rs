//! Sizes: concrete types of source types, and coercion of values to them.
//!
//! A size in a source type is looked up in the environment; an unbound size variable is bound to
//! the size of the actual array. Where an array's size should be another operand, [`Lower::coerce`]
//! emits a check that they are equal and a coercion under its certificate.

use crate::types::{LTy, Size, size_of};
use crate::value::{ArrayVal, Env, Value};
use crate::{Lower, Res};
use check::tast::{self, Ty, VarId};
use ir::syntax::{ENTRY_SIZES_MESSAGE, MsgPart, ReshapeKind};
use ir::{Atom, BasicOp, Dim};
use prim::{CmpOp, PrimType, ScalarType};
use std::rc::Rc;
use std::sync::Arc;

/// The error message for sizes that differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The value does not fit the type.
    Type,
    /// An argument of an entry point does not fit the others.
    Entry,
}

impl Lower<'_> {
    /// The concrete type of a source type, with the sizes that are known. Variables in `mask` count
    /// as unknown.
    pub(crate) fn resolve(&mut self, ty: &Ty, env: &Rc<Env>, mask: &[VarId]) -> Res<LTy> {
        Ok(match ty {
            Ty::Scalar(ty) => LTy::Scalar(*ty),
            Ty::Array(array) => {
                let size = self.resolve_dim(&array.dim, env, mask)?;
                LTy::array(size, self.resolve(&array.elem, env, mask)?)
            }
            Ty::Tuple(parts) => {
                LTy::Tuple(parts.iter().map(|ty| self.resolve(ty, env, mask)).collect::<Res<_>>()?)
            }
            Ty::Record(fields) => LTy::Record(
                fields
                    .iter()
                    .map(|(l, ty)| Ok((l.clone(), self.resolve(ty, env, mask)?)))
                    .collect::<Res<_>>()?,
            ),
            Ty::Sum(constrs) => LTy::Sum(
                constrs
                    .iter()
                    .map(|(l, tys)| {
                        let tys = tys.iter().map(|ty| self.resolve(ty, env, mask));
                        Ok((l.clone(), tys.collect::<Res<_>>()?))
                    })
                    .collect::<Res<_>>()?,
            ),
            Ty::Arrow(_) => LTy::Fun,
            // An undetermined type: no value has it.
            Ty::Var(var) => env.get_type(*var).unwrap_or(LTy::Tuple(Rc::from([]))),
            // The accumulator's type is part of its value.
            Ty::Abstract(..) => LTy::Tuple(Rc::from([])),
        })
    }

    /// The operand of a size, if it is known.
    pub(crate) fn resolve_dim(&mut self, dim: &tast::Dim, env: &Rc<Env>, mask: &[VarId]) -> Res<Size> {
        Ok(match dim {
            tast::Dim::Any => None,
            tast::Dim::Const(n) => Some(Dim::Const(*n)),
            tast::Dim::Var(var) if mask.contains(var) => None,
            tast::Dim::Var(var) => self.size_var(*var, env)?,
            tast::Dim::Op(op, args) => {
                let x = self.resolve_dim(&args.0, env, mask)?.and_then(Dim::atom);
                let y = self.resolve_dim(&args.1, env, mask)?.and_then(Dim::atom);
                match (x, y) {
                    (Some(x), Some(y)) => size_of(self.checked_binary(*op, ScalarType::I64, x, y)),
                    _ => None,
                }
            }
            // A size may mention variables that are not in scope here.
            tast::Dim::Exp(exp) if !self.in_scope(exp, env) => None,
            tast::Dim::Exp(exp) => match self.eval(exp, env)? {
                Value::Scalar(atom, _) => size_of(atom),
                _ => None,
            },
        })
    }

    pub(crate) fn size_var(&mut self, var: VarId, env: &Rc<Env>) -> Res<Size> {
        if let Some(value) = env.get(var) {
            return Ok(match value {
                Value::Scalar(atom, _) => size_of(atom),
                _ => None,
            });
        }
        match self.defs.get(&var).cloned() {
            Some(def) if def.params.is_empty() => match self.constant(&def, &Rc::default())? {
                Value::Scalar(atom, _) => Ok(size_of(atom)),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The type that a value of type `actual` should have by a source type. Unbound size variables
    /// are bound to the actual sizes, except those of payloads of sums: only the value determines
    /// whether these are present. Computed sizes, and those of type variables, are included only if
    /// `strict`.
    pub(crate) fn target(&mut self, ty: &Ty, actual: &LTy, env: &Rc<Env>, strict: bool) -> Res<LTy> {
        if let (Ty::Sum(_), LTy::Sum(_)) = (ty, actual) {
            return self.claim(ty, actual, env, strict, strict);
        }
        let mut part = |ty: &Ty, found: &LTy| self.target(ty, found, env, strict);
        match actual.with_parts(ty, &mut part) {
            Some(new) => new,
            None => self.element_target(ty, actual, env, strict),
        }
    }

    /// The sizes in a source type; nothing is bound. Computed sizes are included if `computed`, and
    /// those of type variables if `variables`.
    pub(crate) fn claim(
        &mut self,
        ty: &Ty,
        actual: &LTy,
        env: &Rc<Env>,
        computed: bool,
        variables: bool,
    ) -> Res<LTy> {
        let mut part = |ty: &Ty, found: &LTy| self.claim(ty, found, env, computed, variables);
        if let Some(new) = actual.with_parts(ty, &mut part) {
            return new;
        }
        Ok(match (ty, actual) {
            (Ty::Array(array), LTy::Array(found)) => {
                let size = match &array.dim {
                    tast::Dim::Op(..) | tast::Dim::Exp(_) if !computed => None,
                    dim => self.resolve_dim(dim, env, &[])?,
                };
                let elem = self.claim(&array.elem, &found.1, env, computed, variables)?;
                LTy::array(size, elem)
            }
            (Ty::Var(var), _) if variables => match env.get_type(*var) {
                Some(ty) if ty.sizes().len() == actual.sizes().len() => ty,
                _ => actual.map_sizes(&mut |_| None),
            },
            _ => actual.map_sizes(&mut |_| None),
        })
    }

    /// As [`Self::target`]; payloads of sums are present, as in elements of arrays.
    fn element_target(&mut self, ty: &Ty, actual: &LTy, env: &Rc<Env>, strict: bool) -> Res<LTy> {
        let mut part = |ty: &Ty, found: &LTy| self.element_target(ty, found, env, strict);
        if let Some(new) = actual.with_parts(ty, &mut part) {
            return new;
        }
        Ok(match (ty, actual) {
            (Ty::Array(array), LTy::Array(found)) => {
                let size = self.target_dim(&array.dim, found.0, env, strict)?;
                LTy::array(size, self.element_target(&array.elem, &found.1, env, strict)?)
            }
            (Ty::Abstract(_, args), LTy::Acc(acc)) => {
                // Binds the sizes in the array's type.
                if let [array] = args.types.as_slice() {
                    let found = LTy::array(Some(acc.dim), acc.elem.clone());
                    self.target(array, &found, env, strict)?;
                }
                actual.clone()
            }
            (Ty::Var(var), _) if strict => match env.get_type(*var) {
                Some(ty) => ty.zip_sizes(actual, &mut |expected, found| expected.or(found)),
                None => actual.clone(),
            },
            _ => actual.clone(),
        })
    }

    fn target_dim(&mut self, dim: &tast::Dim, actual: Size, env: &Rc<Env>, strict: bool) -> Res<Size> {
        Ok(match dim {
            tast::Dim::Any => actual,
            tast::Dim::Const(n) => Some(Dim::Const(*n)),
            tast::Dim::Var(var) => match self.size_var(*var, env)? {
                Some(size) => Some(size),
                None => {
                    if let Some(size) = actual {
                        env.bind(*var, Value::size(size));
                    }
                    actual
                }
            },
            tast::Dim::Op(..) | tast::Dim::Exp(_) if strict => self.resolve_dim(dim, env, &[])?.or(actual),
            tast::Dim::Op(..) | tast::Dim::Exp(_) => actual,
        })
    }

    /// The value with the sizes of its source type; unbound size variables are bound.
    pub(crate) fn conform(
        &mut self,
        ty: &Ty,
        value: Value,
        env: &Rc<Env>,
        strict: bool,
        mismatch: Mismatch,
    ) -> Res<Value> {
        if matches!(value, Value::Scalar(..) | Value::Fun(_)) {
            return Ok(value);
        }
        let actual = value.ty();
        if value.has_payload_sizes() {
            self.bind_sizes(ty, &value, env)?;
        }
        let target = self.target(ty, &actual, env, strict)?;
        if target == actual { Ok(value) } else { self.coerce(value, &target, mismatch) }
    }

    /// Binds the unbound size variables in the type of a value.
    pub(crate) fn bind_sizes(&mut self, ty: &Ty, value: &Value, env: &Rc<Env>) -> Res<()> {
        self.target(ty, &value.ty(), env, false)?;
        self.bind_payload_sizes(ty, value, env)
    }

    /// Binds the sizes in `ext`, which occur in the type, to those of the value.
    pub(crate) fn bind_ext(&mut self, ext: &[VarId], ty: &Ty, value: Value, env: &Rc<Env>) -> Res<Value> {
        if ext.is_empty() {
            return Ok(value);
        }
        let value = crate::payload::unclaimed(value, ty, ext);
        let before: Vec<Option<Value>> = ext.iter().map(|var| env.get(*var)).collect();
        for var in ext {
            env.unbind(*var);
        }
        self.bind_sizes(ty, &value, env)?;
        // A size that occurs only inside computed sizes keeps its value.
        for (var, before) in ext.iter().zip(before) {
            if let (None, Some(Value::Scalar(atom, ty))) = (env.get(*var), before)
                && size_of(atom).is_some_and(|dim| self.f.is_outer_of(dim))
            {
                env.bind(*var, Value::Scalar(atom, ty));
            }
        }
        Ok(value)
    }

    /// The value with other names for its sizes, checked to be equal. Sizes that `target` does not
    /// have are kept. For sums the sizes are their claims ([`crate::payload`]).
    pub(crate) fn coerce(&mut self, value: Value, target: &LTy, why: Mismatch) -> Res<Value> {
        Ok(match (value, target) {
            (Value::Array(array), LTy::Array(_)) => Value::Array(self.coerce_array(array, target, why)),
            (Value::Tuple(parts), LTy::Tuple(tys)) => Value::Tuple(
                parts
                    .iter()
                    .zip(tys.iter())
                    .map(|(v, ty)| self.coerce(v.clone(), ty, why))
                    .collect::<Res<_>>()?,
            ),
            (Value::Record(fields), LTy::Record(tys)) => Value::Record(
                fields
                    .iter()
                    .zip(tys.iter())
                    .map(|((l, v), (_, ty))| Ok((l.clone(), self.coerce(v.clone(), ty, why)?)))
                    .collect::<Res<_>>()?,
            ),
            (value @ Value::Sum(..), LTy::Sum(_)) => self.coerce_sum(&value, target, why)?,
            (value, _) => value,
        })
    }

    fn coerce_array(&mut self, array: ArrayVal, target: &LTy, why: Mismatch) -> ArrayVal {
        let actual = LTy::array(Some(array.dim), array.elem.clone());
        let target = target.zip_sizes(&actual, &mut |expected, found| expected.or(found));
        let mut cond = Atom::Const(prim::Scalar::Bool(true));
        let pairs: Vec<(Size, Size)> =
            target.sizes().into_iter().zip(actual.sizes()).filter(|(x, y)| x != y).collect();
        if pairs.is_empty() {
            return array;
        }
        for (expected, found) in pairs {
            if let (Some(x), Some(y)) = (expected.and_then(Dim::atom), found.and_then(Dim::atom)) {
                let same = self.f.compare(CmpOp::Eq, PrimType::I64, x, y);
                cond = self.f.and(cond, same);
            }
        }
        let what = match why {
            Mismatch::Type => "Value".to_owned(),
            Mismatch::Entry => format!("{ENTRY_SIZES_MESSAGE}: {}", self.argument),
        };
        let cert = self.f.assert(cond, mismatch_message(&what, &actual, &target));
        let LTy::Array(ty) = &target else {
            return array;
        };
        let shapes = target.leaves();
        let leaves = array
            .leaves
            .iter()
            .zip(shapes)
            .map(|(leaf, to)| {
                let shape = to.dims.into_iter().flatten().collect();
                if self.f.type_of(*leaf).shape() == slice_of(&shape) {
                    return *leaf;
                }
                let op = BasicOp::Reshape { kind: ReshapeKind::Coerce, shape, array: *leaf };
                self.f.certified(cert, |f| f.basic("coerced", op))
            })
            .collect();
        ArrayVal { dim: ty.0.unwrap_or(array.dim), elem: ty.1.clone(), leaves, shared: array.shared }
    }
}

fn slice_of(shape: &ir::Shape) -> &[Dim] {
    shape
}

/// A part of a message with fixed text.
pub(crate) fn text(text: &str) -> MsgPart {
    MsgPart::Text(Arc::from(text))
}

/// An `i64` in a message.
pub(crate) fn number(atom: Atom) -> MsgPart {
    MsgPart::Value(ScalarType::I64, atom)
}

/// Appends `[n][m]` for the sizes.
pub(crate) fn shape_text(dims: &[Size], msg: &mut Vec<MsgPart>) {
    for dim in dims {
        msg.push(text("["));
        if let Some(atom) = dim.and_then(Dim::atom) {
            msg.push(number(atom));
        }
        msg.push(text("]"));
    }
}

pub(crate) fn mismatch_message(what: &str, actual: &LTy, target: &LTy) -> Vec<MsgPart> {
    let outer = |ty: &LTy| {
        let (mut dims, mut ty) = (Vec::new(), ty.clone());
        while let LTy::Array(array) = ty {
            dims.push(array.0);
            ty = array.1.clone();
        }
        (dims, ty)
    };
    let (found, _) = outer(actual);
    let (expected, elem) = outer(target);
    let mut msg = vec![text(&format!("{what} of shape "))];
    shape_text(&found, &mut msg);
    msg.push(text(" cannot match shape of type \""));
    shape_text(&expected, &mut msg);
    type_text(&elem, &mut msg);
    msg.push(text("\"."));
    join(msg)
}

fn type_text(ty: &LTy, msg: &mut Vec<MsgPart>) {
    match ty {
        LTy::Scalar(ty) => msg.push(text(ty.name())),
        LTy::Array(array) => {
            shape_text(&[array.0], msg);
            type_text(&array.1, msg);
        }
        LTy::Fun => msg.push(text("function")),
        LTy::Acc(_) => msg.push(text("acc")),
        LTy::Tuple(parts) => {
            msg.push(text("("));
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    msg.push(text(", "));
                }
                type_text(part, msg);
            }
            msg.push(text(")"));
        }
        LTy::Record(fields) => {
            msg.push(text("{"));
            for (i, (label, ty)) in fields.iter().enumerate() {
                msg.push(text(&format!("{}{label}: ", if i > 0 { ", " } else { "" })));
                type_text(ty, msg);
            }
            msg.push(text("}"));
        }
        LTy::Sum(constrs) => {
            for (i, (label, tys)) in constrs.iter().enumerate() {
                msg.push(text(&format!("{}#{label}", if i > 0 { " | " } else { "" })));
                for ty in tys.iter() {
                    msg.push(text(" "));
                    type_text(ty, msg);
                }
            }
        }
    }
}

/// The message with adjacent texts merged.
pub(crate) fn join(msg: Vec<MsgPart>) -> Vec<MsgPart> {
    let mut out: Vec<MsgPart> = Vec::with_capacity(msg.len());
    for part in msg {
        match (out.last_mut(), part) {
            (Some(MsgPart::Text(before)), MsgPart::Text(text)) => {
                *before = Arc::from(format!("{before}{text}"));
            }
            (_, part) => out.push(part),
        }
    }
    out
}
