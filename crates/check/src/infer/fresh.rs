//! The starting points of inference: open types and sizes, and instances of type schemes.

use crate::env::{Target, ValueEntry};
use crate::infer::walks::may_be_existential;
use crate::infer::{Constraint, Infer, InferTables, Origin, Scalars, TyState, VarState, has_sizes};
use crate::subst::{Subst, TypeMapper, map_ty};
use crate::tast::{Bind, Dim, Exp, ExpKind, Name, OverloadedOp, Pat, PatKind, Ty, TyVarId, Uniq, VarId};
use std::sync::Arc;
use syntax::ast::Liftedness;
use syntax::span::Span;

impl Infer<'_> {
    /// A type to be inferred, of this liftedness. In the second walk it is known, with open sizes
    /// of the given origin.
    pub(crate) fn infer_ty(&mut self, name: &str, lifted: Liftedness, origin: Origin, span: Span) -> Ty {
        if let Some(known) = self.recall(origin) {
            return known;
        }
        let ty = self.open_ty(name, lifted, span);
        self.record(&ty);
        ty
    }

    /// An open type of this liftedness that is not recorded for the second walk.
    pub(crate) fn open_ty(&mut self, name: &str, lifted: Liftedness, span: Span) -> Ty {
        let id = self.tables.new_ty_var(Arc::from(name), false, lifted, self.depth);
        self.tables.ty_var_mut(id).span = Some(span);
        Ty::Var(id)
    }

    /// A type to be inferred for a value that is bound here.
    pub(crate) fn fresh(&mut self, span: Span) -> Ty {
        self.infer_ty("t", Liftedness::Lifted, Origin::BOUND, span)
    }

    /// A type to be inferred from its context; its sizes may be existential there.
    pub(crate) fn fresh_existential(&mut self, span: Span) -> Ty {
        self.infer_ty("t", Liftedness::Lifted, Origin::ABSORBING, span)
    }

    /// A type to be inferred that must be one of a set of scalar types.
    pub(crate) fn fresh_scalar(&mut self, set: Scalars, span: Span) -> Ty {
        if let Some(known) = self.recall(Origin::Plain) {
            return known;
        }
        let ty = self.open_ty("num", Liftedness::Unlifted, span);
        if let Ty::Var(id) = ty {
            self.tables.ty_var_mut(id).constraint = Constraint::Scalars(set);
        }
        self.record(&ty);
        ty
    }

    /// A sum type to be inferred with this constructor, and the expected types of its payload. In
    /// the second walk these have sizes of this origin, to be unified with those of the actual
    /// payload.
    pub(crate) fn fresh_sum(
        &mut self,
        label: &Name,
        payload: Vec<Ty>,
        origin: Origin,
        span: Span,
    ) -> (Ty, Arc<[Ty]>) {
        if let Some(known) = self.recall(origin) {
            let found = match &known {
                Ty::Sum(constrs) => constrs.iter().find(|(l, _)| l == label),
                _ => None,
            };
            let expected = found.map_or_else(|| Arc::from(payload), |(_, p)| Arc::clone(p));
            return (known, expected);
        }
        let slot = self.record(&Ty::BOOL);
        let ty = self.open_sum(label, payload.clone(), slot, span);
        (ty, Arc::from(payload))
    }

    /// An open sum type with this constructor, recorded in the given slot.
    pub(crate) fn open_sum(&mut self, label: &Name, payload: Vec<Ty>, slot: usize, span: Span) -> Ty {
        let ty = self.open_ty("sum", Liftedness::Lifted, span);
        if let Ty::Var(id) = ty {
            let constraint = Constraint::Constrs(vec![(Arc::clone(label), payload)]);
            self.tables.ty_var_mut(id).constraint = constraint;
        }
        self.record_at(slot, &ty);
        ty
    }

    /// A size to be inferred.
    pub(crate) fn fresh_dim(&mut self, name: &str) -> Dim {
        self.open_size(name, Origin::Plain)
    }

    /// A size to be inferred, of this origin.
    pub(crate) fn open_size(&mut self, name: &str, origin: Origin) -> Dim {
        Dim::Var(self.tables.new_open(Arc::from(name), origin, self.depth))
    }

    /// A size unknown until run time.
    pub(crate) fn unknown(&mut self, name: Name, span: Span) -> Dim {
        Dim::Var(self.tables.new_unknown(name, self.depth, Some(span)))
    }

    /// A new value of the current scope; its name is not bound.
    pub(crate) fn new_value(&mut self, name: Name, span: Span) -> VarId {
        self.tables.new_value(name, self.depth, span)
    }

    /// A parameter that the source does not name.
    pub(crate) fn hidden_param(&mut self, ty: Ty, span: Span) -> (Pat, Exp) {
        let id = self.tables.new_var(Arc::from("x"), VarState::Value, self.depth);
        let pat = Pat { kind: PatKind::Var(id), ty: ty.clone(), consumes: Uniq::None, span };
        let kind = ExpKind::Var { id, ty_args: Vec::new(), size_args: Vec::new() };
        (pat, node(kind, ty, span))
    }

    /// Binds the value of an expression that is used several times to a variable, unless it is a
    /// literal or variable already.
    pub(crate) fn bind_to_variable(&mut self, exp: Exp, binds: &mut Vec<Bind>) -> Exp {
        if matches!(exp.kind, ExpKind::Lit(..) | ExpKind::Var { .. }) {
            return exp;
        }
        let (pat, var) = self.hidden_param(exp.ty.clone(), exp.span);
        binds.push(Bind::Pat { sizes: Vec::new(), pat, rhs: exp });
        var
    }

    /// A use of a value: its parameters are instantiated with open variables. The sizes among these
    /// are the variables created by this call.
    pub(crate) fn instantiate(&mut self, entry: &ValueEntry, span: Span) -> Exp {
        let scheme = &entry.scheme;
        let mut subst = Subst::default();
        let mut copied = Vec::new();
        for var in &scheme.ty_params {
            let data = self.tables.ty_var(*var);
            let (name, lifted) = (Arc::clone(&data.name), data.lifted);
            let ty = self.infer_ty(&name, lifted, Origin::Instance(lifted), span);
            if self.infers_sizes() && may_be_existential(lifted) && has_sizes(&ty) {
                copied.push((*var, false));
            }
            subst.types.push((*var, ty));
        }
        self.tables.saw_sizes |= !scheme.size_params.is_empty();
        for var in &scheme.size_params {
            let name = Arc::clone(&self.tables.var(*var).name);
            let here = (self.tables).new_open(name, Origin::ABSORBING, self.depth);
            subst.dims.push((*var, Dim::Var(here)));
        }
        let ty = if copied.is_empty() {
            subst.ty(&scheme.ty)
        } else {
            self.with_copies(&scheme.ty, &mut subst, copied)
        };
        let args = match &entry.instance_args {
            None => subst,
            Some(via) => Subst {
                types: via.types.iter().map(|(v, t)| (*v, subst.ty(t))).collect(),
                dims: via.dims.iter().map(|(v, d)| (*v, subst.size(d))).collect(),
            },
        };
        let kind = match entry.target {
            Target::Var(id) => ExpKind::Var { id, ty_args: args.types, size_args: args.dims },
            Target::Intrinsic(fun) => ExpKind::Intrinsic {
                fun,
                ty_args: args.types.into_iter().map(|(_, ty)| ty).collect(),
                size_args: args.dims.into_iter().map(|(_, dim)| dim).collect(),
            },
        };
        node(kind, ty, span)
    }

    /// The instance of a type in which the first occurrence of each of these type parameters has
    /// its own sizes, and each further occurrence copies of them.
    fn with_copies(&mut self, ty: &Ty, subst: &mut Subst, seen: Vec<(TyVarId, bool)>) -> Ty {
        struct Occurrences<'c, 't> {
            infer: &'c mut Infer<'t>,
            subst: &'c mut Subst,
            seen: Vec<(TyVarId, bool)>,
        }
        impl TypeMapper for Occurrences<'_, '_> {
            fn ty_var(&mut self, var: TyVarId) -> Option<Ty> {
                let ty = self.subst.ty_var(var)?;
                match self.seen.iter_mut().find(|(v, _)| *v == var) {
                    Some((_, true)) => Some(self.infer.copy_of(&ty)),
                    Some((_, seen)) => {
                        *seen = true;
                        Some(ty)
                    }
                    None => Some(ty),
                }
            }

            fn dim_var(&mut self, var: VarId) -> Option<Dim> {
                self.subst.dim_var(var)
            }
        }
        let mut map = Occurrences { infer: self, subst, seen };
        map_ty(ty, &mut map).unwrap_or_else(|| ty.clone())
    }

    /// A built-in operator as a value, at a type to be inferred.
    pub(crate) fn overloaded(&mut self, op: OverloadedOp, span: Span) -> Exp {
        let set = match op {
            OverloadedOp::Add
            | OverloadedOp::Sub
            | OverloadedOp::Mul
            | OverloadedOp::Div
            | OverloadedOp::Mod
            | OverloadedOp::Pow
            | OverloadedOp::Neg => Scalars::NUMBERS,
            OverloadedOp::Lt | OverloadedOp::Le | OverloadedOp::Gt | OverloadedOp::Ge => Scalars::ALL,
            OverloadedOp::Quot
            | OverloadedOp::Rem
            | OverloadedOp::Shl
            | OverloadedOp::Shr
            | OverloadedOp::LShr => Scalars::INTS,
            OverloadedOp::And | OverloadedOp::Or | OverloadedOp::Xor => Scalars::INTS,
            OverloadedOp::Not => Scalars::BITS,
        };
        let ty = self.fresh_scalar(set, span);
        let fun = match op {
            OverloadedOp::Neg | OverloadedOp::Not => Ty::arrow(ty.clone(), ty),
            OverloadedOp::Lt | OverloadedOp::Le | OverloadedOp::Gt | OverloadedOp::Ge => {
                Ty::arrow(ty.clone(), Ty::arrow(ty, Ty::BOOL))
            }
            _ => Ty::arrow(ty.clone(), Ty::arrow(ty.clone(), ty)),
        };
        node(ExpKind::Operator(op), fun, span)
    }
}

impl InferTables {
    /// The type of a field; `None` if the type cannot have one of this name. An open type is
    /// constrained to have the field.
    pub(crate) fn field_ty(&mut self, ty: &Ty, label: &Name, span: Span) -> Option<Ty> {
        let ty = self.resolve_head(ty);
        if let Some(field) = ty.field(label) {
            return Some(field.clone());
        }
        if ty.is_error() {
            return Some(ty);
        }
        let Ty::Var(var) = ty else { return None };
        let data = self.ty_var(var);
        if !matches!(data.state, TyState::Open) {
            return None;
        }
        let mut fields = match &data.constraint {
            Constraint::None => Vec::new(),
            Constraint::Fields(fields) => fields.clone(),
            Constraint::Scalars(_) | Constraint::Constrs(_) => return None,
        };
        if let Some((_, field)) = fields.iter().find(|(l, _)| l == label) {
            return Some(field.clone());
        }
        let (depth, lifted) = (data.depth, data.lifted);
        let id = self.new_ty_var(Arc::from("t"), false, lifted, depth);
        self.ty_var_mut(id).span = Some(span);
        fields.push((Arc::clone(label), Ty::Var(id)));
        self.ty_var_mut(var).constraint = Constraint::Fields(fields);
        Some(Ty::Var(id))
    }
}

/// The node of an expression with an error.
pub(crate) const fn error_node(span: Span) -> Exp {
    node(ExpKind::Hole, Ty::ERROR, span)
}

/// A node whose type has no new unknown sizes.
pub(crate) const fn node(kind: ExpKind, ty: Ty, span: Span) -> Exp {
    Exp { kind, ty, existential_sizes: Vec::new(), span }
}
