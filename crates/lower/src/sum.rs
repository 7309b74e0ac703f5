//! Sum types: a constructor's number and the payloads of all constructors; those of the other
//! constructors are blank ([`crate::payload`]).

use crate::signature::has_arrow;
use crate::size::Mismatch;
use crate::types::LTy;
use crate::value::{Env, FunKind, FunVal, Value};
use crate::{Lower, Res};
use check::tast::{Ty, VarId};
use ir::{Atom, BasicOp, Dim};
use prim::Scalar;
use std::rc::Rc;
use std::sync::Arc;

impl Lower<'_> {
    /// `#label args` of a type. It is an error if the type has more than 128 constructors.
    pub(crate) fn construct(&mut self, label: &str, args: Vec<Value>, ty: &LTy) -> Res<Value> {
        let LTy::Sum(constrs) = ty else {
            return self.bug("the type of a constructor is not a sum");
        };
        let Some(at) = constrs.iter().position(|(l, _)| &**l == label) else {
            return self.bug("a sum type does not have a constructor");
        };
        let Ok(number) = i8::try_from(at) else {
            return self.unsupported("sum types with more than 128 constructors");
        };
        let tag = Value::Scalar(Atom::Const(Scalar::I8(number)), prim::ScalarType::I8);
        let mut parts = vec![tag];
        let mut args = Some(args);
        for (i, (_, tys)) in constrs.iter().enumerate() {
            if i == at {
                for (arg, ty) in args.take().unwrap_or_default().into_iter().zip(tys.iter()) {
                    parts.push(self.coerce(arg, ty, Mismatch::Type)?);
                }
            } else {
                for ty in tys.iter() {
                    let absent = self.absent(ty);
                    parts.push(self.blank(&absent)?.with_claims(ty));
                }
            }
        }
        Ok(Value::sum(parts.into(), ty))
    }

    /// The constructor's number in the value, and the number of `label`.
    pub(crate) fn tag(&mut self, value: &Value, label: &str) -> Res<(Atom, Scalar)> {
        if let Value::Sum(parts, LTy::Sum(constrs)) = value
            && let Some(Value::Scalar(tag, _)) = parts.first()
            && let Some(at) = constrs.iter().position(|(l, _)| &**l == label)
        {
            return Ok((*tag, Scalar::I8(at as i8)));
        }
        self.bug("a constructor pattern for a value of another type")
    }

    /// The payload that the value has if `label` is its constructor, each part with its claimed
    /// type.
    pub(crate) fn payload(&mut self, value: &Value, label: &str) -> Res<Vec<(Value, LTy)>> {
        if let Value::Sum(parts, LTy::Sum(constrs)) = value {
            let mut at = 1;
            for (l, tys) in constrs.iter() {
                if &**l == label {
                    let parts = parts.iter().skip(at).zip(tys.iter());
                    return Ok(parts.map(|(v, ty)| (v.clone(), ty.clone())).collect());
                }
                at += tys.len();
            }
        }
        self.bug("a constructor pattern for a value of another type")
    }

    /// The value of a hole of this type: blank; a function that returns blank values.
    pub(crate) fn hole(&mut self, ty: &Ty, env: &Rc<Env>, ext: &[VarId]) -> Res<Value> {
        Ok(match ty {
            Ty::Arrow(arrow) => Value::Fun(Rc::new(FunVal {
                kind: FunKind::Hole(Arc::clone(arrow), Rc::clone(env)),
                args: Vec::new(),
            })),
            Ty::Tuple(parts) if has_arrow(ty) => {
                Value::Tuple(parts.iter().map(|ty| self.hole(ty, env, ext)).collect::<Res<_>>()?)
            }
            Ty::Record(fields) if has_arrow(ty) => Value::Record(
                fields.iter().map(|(l, ty)| Ok((l.clone(), self.hole(ty, env, ext)?))).collect::<Res<_>>()?,
            ),
            _ => {
                let ty = self.resolve(ty, env, ext)?;
                self.blank(&ty)?
            }
        })
    }

    /// A blank value of a type: zeros. Unknown sizes are 0, and functions fail when they are
    /// applied.
    pub(crate) fn blank(&mut self, ty: &LTy) -> Res<Value> {
        match ty {
            LTy::Fun => {
                let kind = FunKind::Absent;
                return Ok(Value::Fun(Rc::new(FunVal { kind, args: Vec::new() })));
            }
            LTy::Tuple(parts) if ty.has_fun() => {
                let parts = parts.iter().map(|ty| self.blank(ty)).collect::<Res<_>>()?;
                return Ok(Value::Tuple(parts));
            }
            LTy::Record(fields) if ty.has_fun() => {
                let fields = fields.iter().map(|(l, ty)| Ok((l.clone(), self.blank(ty)?)));
                return Ok(Value::Record(fields.collect::<Res<_>>()?));
            }
            LTy::Sum(_) if ty.has_fun() => {
                let parts = ty.parts().unwrap_or_default();
                let parts = parts.into_iter().map(|ty| self.blank(ty)).collect::<Res<_>>()?;
                return Ok(Value::Sum(parts, ty.clone()));
            }
            _ => {}
        }
        let mut atoms = Vec::new();
        let ty = ty.map_sizes(&mut |size| size.or(Some(Dim::Const(0))));
        for leaf in ty.leaves() {
            let zero = Atom::Const(Scalar::zero(leaf.elem.prim()));
            if leaf.dims.is_empty() {
                atoms.push(zero);
            } else {
                let shape = leaf.dims.into_iter().flatten().collect();
                let op = BasicOp::Replicate { shape, value: zero };
                atoms.push(self.f.basic("blank", op).into());
            }
        }
        self.value_of(&ty, &atoms)
    }
}
