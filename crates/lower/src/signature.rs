//! Types of core functions' parameters and results.

use crate::function::SizeFrom;
use crate::types::{LTy, Size, size_of};
use crate::value::{Env, Inst, Value};
use crate::{Lower, Res};
use check::tast::{self, Ty, Uniq};
use ir::{Atom, Dim, Name};
use std::rc::Rc;

impl Lower<'_> {
    /// The type of a parameter of an instance: its sizes are core names.
    pub(crate) fn abstract_sizes(
        &mut self,
        ty: &Ty,
        arg: &LTy,
        env: &Rc<Env>,
        sizes: &mut Vec<(Name, SizeFrom)>,
    ) -> Res<LTy> {
        let mut part = |ty: &Ty, found: &LTy| self.abstract_sizes(ty, found, env, sizes);
        if let Some(new) = arg.with_parts(ty, &mut part) {
            return new;
        }
        let mut fresh = |s: &mut Self| {
            let name = s.f.fresh_size();
            sizes.push((name, SizeFrom::Args));
            Dim::Var(name)
        };
        Ok(match (ty, arg) {
            (Ty::Array(array), LTy::Array(found)) => {
                let size = match &array.dim {
                    tast::Dim::Const(n) => Dim::Const(*n),
                    tast::Dim::Var(var) => match env.get(*var) {
                        Some(Value::Scalar(atom, _)) => size_of(atom).unwrap_or(Dim::Const(0)),
                        _ => {
                            let size = fresh(self);
                            env.bind(*var, Value::size(size));
                            size
                        }
                    },
                    _ => fresh(self),
                };
                LTy::array(
                    Some(size),
                    self.abstract_sizes(&array.elem, &found.1, env, sizes)?,
                )
            }
            (Ty::Var(var), _) => match env.get_type(*var) {
                Some(ty) => ty,
                None => return self.bug("a type variable without a type"),
            },
            _ => arg.clone(),
        })
    }
}

/// A size in a result: a constant, a parameter, or a result of its own.
pub(crate) fn ext_size(size: Size, is_param: &dyn Fn(&Name) -> bool, exts: &mut Vec<Atom>) -> Size {
    match size {
        Some(Dim::Var(name)) if !is_param(&name) => {
            let atom = Atom::Var(name);
            let i = exts.iter().position(|ext| *ext == atom).unwrap_or_else(|| {
                exts.push(atom);
                exts.len() - 1
            });
            Some(Dim::Ext(i as u32))
        }
        size => size,
    }
}

/// For each leaf, whether it is declared to alias nothing.
pub(crate) fn uniqueness(unique: &Uniq, ty: &LTy) -> Vec<bool> {
    match (unique, ty.parts()) {
        (Uniq::Parts(uniqs), Some(parts)) if uniqs.len() == parts.len() => uniqs
            .iter()
            .zip(parts)
            .flat_map(|(unique, ty)| uniqueness(unique, ty))
            .collect(),
        (Uniq::All, _) => vec![true; ty.n_leaves()],
        _ => vec![false; ty.n_leaves()],
    }
}

/// Whether a function is in the type of a result of an instantiated definition.
pub(crate) fn gives_function(ty: &Ty, inst: &Inst) -> bool {
    match ty {
        Ty::Arrow(_) => true,
        Ty::Array(array) => gives_function(&array.elem, inst),
        Ty::Tuple(parts) => parts.iter().any(|ty| gives_function(ty, inst)),
        Ty::Record(fields) => fields.iter().any(|(_, ty)| gives_function(ty, inst)),
        Ty::Sum(constrs) => {
            let mut payloads = constrs.iter().flat_map(|(_, tys)| tys.iter());
            payloads.any(|ty| gives_function(ty, inst))
        }
        Ty::Var(var) => inst.types.iter().any(|(v, ty)| v == var && ty.has_fun()),
        Ty::Scalar(_) | Ty::Abstract(..) => false,
    }
}

/// Whether a function is in the type as it is written.
pub(crate) fn has_arrow(ty: &Ty) -> bool {
    match ty {
        Ty::Arrow(_) => true,
        Ty::Array(array) => has_arrow(&array.elem),
        Ty::Tuple(parts) => parts.iter().any(has_arrow),
        Ty::Record(fields) => fields.iter().any(|(_, ty)| has_arrow(ty)),
        Ty::Sum(constrs) => constrs.iter().any(|(_, tys)| tys.iter().any(has_arrow)),
        Ty::Scalar(_) | Ty::Var(_) | Ty::Abstract(..) => false,
    }
}
