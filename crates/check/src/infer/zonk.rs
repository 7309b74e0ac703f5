//! Zonking, the end of checking a definition: solutions are substituted in the tree, overloading is
//! resolved, abstract types are replaced by their representations.

use crate::infer::{InferTables, ResolveAbstract};
use crate::intrinsics::{self, Intrinsic};
use crate::subst::{Subst, TypeMapper, map_ty};
use crate::tast::{Bind, Def, Dim, Exp, ExpKind, Lambda, OverloadedOp, Pat, PatKind, Ty, TyVarId, VarId};
use crate::visit::{children_mut, pattern_mut, patterns_mut};
use prim::eval;
use prim::{ConvOp, Scalar, ScalarType};
use std::sync::Arc;

impl InferTables {
    /// Substitutes solutions in a definition. With `keep`, abstract types and existential sizes
    /// that the program computes are kept. Returns true if any were, and true if a type has an error.
    pub(crate) fn finish_def(&self, def: &mut Def, keep: bool) -> (bool, bool) {
        let mut zonk = Zonk {
            reveal: ResolveAbstract::keeping(self, keep),
            tables: self,
            current_def: (def.var, def.ty_params.clone(), def.size_params.clone()),
        };
        zonk.def(def);
        (zonk.reveal.kept, zonk.reveal.has_error)
    }

    /// The finished form of a type.
    pub(crate) fn finish_ty(&self, ty: &Ty) -> Ty {
        ResolveAbstract::new(self).ty(ty).unwrap_or_else(|| ty.clone())
    }

    /// The finished form of a size: [`Dim::Any`] if nothing determines it.
    pub(crate) fn finish_dim(&self, dim: &Dim) -> Dim {
        ResolveAbstract::new(self).dim(dim).unwrap_or_else(|| dim.clone())
    }

    /// The type of a definition for its users: solved, overloading in sizes resolved, abstract
    /// types kept.
    pub(crate) fn exported_type(&self, ty: &Ty) -> Ty {
        struct ResolveExported<'t>(&'t InferTables);
        impl TypeMapper for ResolveExported<'_> {
            fn ty_var(&mut self, var: TyVarId) -> Option<Ty> {
                let ty = Ty::Var(var);
                let resolved = self.0.resolve(&ty);
                (resolved != ty).then_some(resolved)
            }
            fn dim_var(&mut self, var: VarId) -> Option<Dim> {
                let dim = Dim::Var(var);
                let resolved = self.0.resolve_dim(&dim);
                (resolved != dim).then_some(resolved)
            }
            fn node(&mut self, exp: &mut Exp) -> bool {
                resolve_overloading(exp, self.0)
            }
        }
        map_ty(ty, &mut ResolveExported(self)).unwrap_or_else(|| ty.clone())
    }
}

struct Zonk<'t> {
    reveal: ResolveAbstract<'t>,
    tables: &'t InferTables,
    /// The definition itself, for its recursive uses.
    current_def: (VarId, Vec<TyVarId>, Vec<VarId>),
}

impl Zonk<'_> {
    fn def(&mut self, def: &mut Def) {
        for pat in &mut def.params {
            pattern_mut(pat, &mut |pat| self.pat(pat));
        }
        self.reveal.ret(&mut def.ret);
        self.exp(&mut def.body);
    }

    fn ty(&mut self, ty: &mut Ty) {
        if let Some(new) = self.reveal.ty(ty) {
            *ty = new;
        }
    }

    fn pat(&mut self, pat: &mut Pat) {
        self.ty(&mut pat.ty);
        if let PatKind::Lit(value, ty) = &mut pat.kind
            && let Ty::Scalar(scalar) = pat.ty
        {
            *value = literal(*value, *ty, scalar);
            *ty = scalar;
        }
    }

    fn exp(&mut self, exp: &mut Exp) {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
            self.ty(&mut exp.ty);
            match &mut exp.kind {
                ExpKind::Var { id, ty_args, size_args } => {
                    if *id == self.current_def.0 {
                        self.recursive(ty_args, size_args);
                    }
                    for (_, ty) in ty_args {
                        self.ty(ty);
                    }
                    for (_, dim) in size_args {
                        self.dim(dim);
                    }
                }
                ExpKind::Intrinsic { fun: _, ty_args, size_args } => {
                    for ty in ty_args {
                        self.ty(ty);
                    }
                    for dim in size_args {
                        self.dim(dim);
                    }
                }
                ExpKind::Lambda(lambda) => {
                    let lambda: &mut Lambda = Arc::make_mut(lambda);
                    self.reveal.ret(&mut lambda.ret);
                }
                ExpKind::Let { binds, body: _ } => {
                    for bind in binds {
                        if let Bind::Fun(def) = bind {
                            self.def(Arc::make_mut(def));
                        }
                    }
                }
                _ => {}
            }
            resolve_overloading(exp, self.tables);
            patterns_mut(exp, &mut |pat| self.pat(pat));
            children_mut(exp, &mut |child| self.exp(child));
        });
    }

    fn dim(&mut self, dim: &mut Dim) {
        if let Some(new) = self.reveal.dim(dim) {
            *dim = new;
        }
    }

    /// A recursive use has the definition's own type parameters, and the size arguments inferred
    /// for it; other sizes are determined by the arguments.
    fn recursive(&self, ty_args: &mut Vec<(TyVarId, Ty)>, size_args: &mut Vec<(VarId, Dim)>) {
        *ty_args = self.current_def.1.iter().map(|v| (*v, Ty::Var(*v))).collect();
        let mut given = Subst { types: Vec::new(), dims: std::mem::take(size_args) };
        *size_args = self.current_def.2.iter().map(|v| (*v, given.dim_var(*v).unwrap_or(Dim::Any))).collect();
    }
}

/// Resolves a literal, operator or comparison whose meaning depends on its type, if the type is
/// known. Returns true if anything changed.
pub(crate) fn resolve_overloading(exp: &mut Exp, tables: &InferTables) -> bool {
    match &mut exp.kind {
        ExpKind::Lit(value, ty) => {
            let Ty::Scalar(scalar) = exp.ty else {
                return false;
            };
            let changed = *ty != scalar || value.ty() != scalar.prim();
            *value = literal(*value, *ty, scalar);
            *ty = scalar;
            changed
        }
        ExpKind::Operator(op) => {
            let Ty::Arrow(arrow) = &exp.ty else {
                return false;
            };
            let Ty::Scalar(scalar) = arrow.param else {
                return false;
            };
            if *op == OverloadedOp::Pow
                && let Some(id) = tables.float_powers.get(&scalar)
            {
                let (ty_args, size_args) = (Vec::new(), Vec::new());
                exp.kind = ExpKind::Var { id: *id, ty_args, size_args };
                return true;
            }
            let Some(fun) = operator(*op, scalar) else {
                return false;
            };
            exp.kind = ExpKind::Intrinsic { fun, ty_args: Vec::new(), size_args: Vec::new() };
            true
        }
        ExpKind::Intrinsic { fun: fun @ Intrinsic::Equal { .. }, ty_args, size_args: _ } => {
            let Some(Ty::Scalar(scalar)) = ty_args.first() else {
                return false;
            };
            let name = if *fun == (Intrinsic::Equal { negate: true }) { "neq" } else { "eq" };
            let Some(compare) = intrinsics::comparison(name, *scalar) else {
                return false;
            };
            *fun = compare;
            ty_args.clear();
            true
        }
        _ => false,
    }
}

/// A built-in operator at a scalar type.
pub(crate) fn operator(op: OverloadedOp, ty: ScalarType) -> Option<Intrinsic> {
    let name = match op {
        OverloadedOp::Add => "add",
        OverloadedOp::Sub => "sub",
        OverloadedOp::Mul => "mul",
        OverloadedOp::Div => "div",
        OverloadedOp::Mod => "mod",
        OverloadedOp::Quot => "quot",
        OverloadedOp::Rem => "rem",
        // The prelude's functions, which are in the tables.
        OverloadedOp::Pow if ty.is_float() => return None,
        OverloadedOp::Pow => "pow",
        OverloadedOp::And => "and",
        OverloadedOp::Or => "or",
        OverloadedOp::Xor => "xor",
        OverloadedOp::Shl => "shl",
        OverloadedOp::Shr => "shr",
        OverloadedOp::LShr => "lshr",
        OverloadedOp::Lt => return intrinsics::comparison("lt", ty),
        OverloadedOp::Le => return intrinsics::comparison("le", ty),
        OverloadedOp::Gt => return intrinsics::comparison("gt", ty),
        OverloadedOp::Ge => return intrinsics::comparison("ge", ty),
        OverloadedOp::Neg => return Some(Intrinsic::Unary(intrinsics::unary("neg", ty)?, ty)),
        OverloadedOp::Not => return Some(Intrinsic::Unary(intrinsics::unary("not", ty)?, ty)),
    };
    Some(Intrinsic::Binary(intrinsics::binary(name, ty)?, ty))
}

/// A literal, parsed as an `i64`, `u64` or `f64`, at its type.
fn literal(value: Scalar, parsed: ScalarType, ty: ScalarType) -> Scalar {
    let prim = ty.prim();
    if value.ty() == prim {
        return value;
    }
    match value {
        Scalar::I64(_) if prim.is_float() => {
            let op = if parsed == ScalarType::U64 { ConvOp::UToF } else { ConvOp::SToF };
            eval::convert(op, value, prim).unwrap_or(value)
        }
        Scalar::I64(n) => Scalar::int(prim, n),
        Scalar::F64(_) if prim.is_float() => eval::convert(ConvOp::FConv, value, prim).unwrap_or(value),
        other => other,
    }
}
