//! Types of core functions' parameters and results.

use crate::function::SizeFrom;
use crate::types::{LTy, Size, size_of};
use crate::value::{Env, Inst, Value};
use crate::{Lower, Res};
use check::tast::{self, Def, Ty, Uniq};
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
        if !matches!(arg, LTy::Sum(_))
            && let Some(new) = arg.with_parts(ty, &mut part)
        {
            return new;
        }
        let payload = arg.payload_sizes();
        if !payload.contains(&true) {
            return self.abstract_element(ty, arg, env, sizes);
        }
        // Payloads have sizes of their own.
        let ty = match ty {
            Ty::Var(var) => env.get_type(*var).unwrap_or_else(|| arg.clone()),
            _ => arg.clone(),
        };
        let mut payload = payload.into_iter();
        Ok(ty.map_sizes(&mut |size| {
            if payload.next() != Some(true) {
                return size;
            }
            let name = self.f.fresh_size();
            sizes.push((name, SizeFrom::Args));
            Some(Dim::Var(name))
        }))
    }

    /// As [`Self::abstract_sizes`], for a type in which no payload has sizes of its own.
    fn abstract_element(
        &mut self,
        ty: &Ty,
        arg: &LTy,
        env: &Rc<Env>,
        sizes: &mut Vec<(Name, SizeFrom)>,
    ) -> Res<LTy> {
        let mut part = |ty: &Ty, found: &LTy| self.abstract_element(ty, found, env, sizes);
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
                LTy::array(Some(size), self.abstract_element(&array.elem, &found.1, env, sizes)?)
            }
            (Ty::Var(var), _) => match env.get_type(*var) {
                Some(ty) => ty,
                None => return self.bug("a type variable has no type"),
            },
            _ => arg.clone(),
        })
    }

    /// A size of an instance that the shapes of a call's arguments do not determine: from the
    /// call's type and size arguments, else from payloads.
    pub(crate) fn size_of_call(
        &mut self,
        from: SizeFrom,
        def: &Def,
        env: &Rc<Env>,
        inst: &Inst,
        args: &[Value],
    ) -> Res<Size> {
        match from {
            SizeFrom::Args | SizeFrom::Captured(_) => Ok(None),
            SizeFrom::TypeArg(i, j) => {
                let Some((var, ty)) = inst.types.get(i) else {
                    return Ok(None);
                };
                if let Some(size) = ty.sizes().get(j).copied().flatten() {
                    return Ok(Some(size));
                }
                let mut args = def.params.iter().zip(args);
                let arg = args.find(|(pat, _)| matches!(pat.ty, Ty::Var(v) if v == *var));
                Ok(arg.and_then(|(_, arg)| arg.claims().sizes().get(j).copied().flatten()))
            }
            SizeFrom::SizeArg(i) => match inst.sizes.get(i) {
                Some((_, Some(size))) => Ok(Some(*size)),
                Some((var, None)) => {
                    let scope = Env::inside(env);
                    for (var, ty) in &inst.types {
                        scope.bind_type(*var, ty.clone());
                    }
                    for (pat, arg) in def.params.iter().zip(args) {
                        self.target(&pat.ty, &arg.ty(), &scope, false)?;
                    }
                    for (var, size) in &inst.sizes {
                        if let (Some(size), None) = (size, scope.get(*var)) {
                            scope.bind(*var, Value::size(*size));
                        }
                    }
                    for (pat, arg) in def.params.iter().zip(args) {
                        self.bind_payload_sizes(&pat.ty, arg, &scope)?;
                    }
                    self.size_var(*var, &scope)
                }
                None => Ok(None),
            },
        }
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

/// A size known to the caller of a function: a constant, a parameter, or one of its results.
pub(crate) fn known_size(size: Size, is_param: &dyn Fn(&Name) -> bool, exts: &[Atom]) -> Size {
    match size {
        Some(Dim::Var(name)) if !is_param(&name) => {
            let at = exts.iter().position(|ext| *ext == Atom::Var(name))?;
            Some(Dim::Ext(at as u32))
        }
        size => size,
    }
}

/// The size, where an existential size is replaced by the name of that result.
pub(crate) fn of_results(size: Size, results: &[Name]) -> Size {
    match size {
        Some(Dim::Ext(i)) => results.get(i as usize).map(|name| Dim::Var(*name)),
        size => size,
    }
}

/// For each leaf, true if it is declared to alias nothing.
pub(crate) fn uniqueness(unique: &Uniq, ty: &LTy) -> Vec<bool> {
    match (unique, ty.parts()) {
        (Uniq::Parts(uniqs), Some(parts)) if uniqs.len() == parts.len() => {
            uniqs.iter().zip(parts).flat_map(|(unique, ty)| uniqueness(unique, ty)).collect()
        }
        (Uniq::All, _) => vec![true; ty.n_leaves()],
        _ => vec![false; ty.n_leaves()],
    }
}

/// Returns true if the type of an instantiated definition's result contains a function.
pub(crate) fn returns_function(ty: &Ty, inst: &Inst) -> bool {
    match ty {
        Ty::Arrow(_) => true,
        Ty::Array(array) => returns_function(&array.elem, inst),
        Ty::Tuple(parts) => parts.iter().any(|ty| returns_function(ty, inst)),
        Ty::Record(fields) => fields.iter().any(|(_, ty)| returns_function(ty, inst)),
        Ty::Sum(constrs) => {
            let mut payloads = constrs.iter().flat_map(|(_, tys)| tys.iter());
            payloads.any(|ty| returns_function(ty, inst))
        }
        Ty::Var(var) => inst.types.iter().any(|(v, ty)| v == var && ty.has_fun()),
        Ty::Scalar(_) | Ty::Abstract(..) => false,
    }
}

/// Returns true if the type contains an arrow, type variables not instantiated.
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
