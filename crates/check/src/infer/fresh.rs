//! What inference begins with: open types and sizes, and uses of values that have a type.

use crate::env::{Target, ValueEntry};
use crate::infer::{Constraint, Infer, Scalars, Tables, TyState, VarState};
use crate::subst::Subst;
use crate::tast::{Bind, Dim, Exp, ExpKind, Name, Pat, PatKind, SourceOp, Ty, Uniq, VarId};
use std::sync::Arc;
use syntax::ast::Liftedness;
use syntax::span::Span;

impl Infer<'_> {
    /// An open type of this liftedness.
    pub(crate) fn fresh_ty(&mut self, name: &str, lifted: Liftedness, span: Span) -> Ty {
        let id = self
            .tables
            .new_ty_var(Arc::from(name), false, lifted, self.depth);
        self.tables.ty_var_mut(id).span = Some(span);
        Ty::Var(id)
    }

    /// An open type that may be anything.
    pub(crate) fn fresh(&mut self, span: Span) -> Ty {
        self.fresh_ty("t", Liftedness::Lifted, span)
    }

    /// An open type that must be one of some scalar types.
    pub(crate) fn fresh_scalar(&mut self, set: Scalars, span: Span) -> Ty {
        let id = self
            .tables
            .new_ty_var(Arc::from("num"), false, Liftedness::Unlifted, self.depth);
        let data = self.tables.ty_var_mut(id);
        data.constraint = Constraint::Scalars(set);
        data.span = Some(span);
        Ty::Var(id)
    }

    /// An open sum type with this constructor.
    pub(crate) fn fresh_sum(&mut self, label: Name, payload: Vec<Ty>, span: Span) -> Ty {
        let id = self
            .tables
            .new_ty_var(Arc::from("sum"), false, Liftedness::Lifted, self.depth);
        let data = self.tables.ty_var_mut(id);
        data.constraint = Constraint::Constrs(vec![(label, payload)]);
        data.span = Some(span);
        Ty::Var(id)
    }

    /// A size to be inferred.
    pub(crate) fn fresh_dim(&mut self, name: &str) -> Dim {
        Dim::Var(
            self.tables
                .new_var(Arc::from(name), VarState::Open, self.depth),
        )
    }

    /// A size that only the running program knows.
    pub(crate) fn unknown(&mut self, name: Name, span: Span) -> Dim {
        Dim::Var(self.tables.new_unknown(name, self.depth, Some(span)))
    }

    /// A new value of the current scope, without a name in it.
    pub(crate) fn new_value(&mut self, name: Name, span: Span) -> VarId {
        self.tables.new_value(name, self.depth, span)
    }

    /// A parameter that the source does not name.
    pub(crate) fn hidden_param(&mut self, ty: Ty, span: Span) -> (Pat, Exp) {
        let id = self
            .tables
            .new_var(Arc::from("x"), VarState::Value, self.depth);
        let pat = Pat {
            kind: PatKind::Var(id),
            ty: ty.clone(),
            consumes: Uniq::None,
            span,
        };
        let kind = ExpKind::Var {
            id,
            ty_args: Vec::new(),
            size_args: Vec::new(),
        };
        (pat, node(kind, ty, span))
    }

    /// A variable for the value of an expression that is used several times.
    pub(crate) fn bind_once(&mut self, exp: Exp, binds: &mut Vec<Bind>) -> Exp {
        if matches!(exp.kind, ExpKind::Lit(..) | ExpKind::Var { .. }) {
            return exp;
        }
        let (pat, var) = self.hidden_param(exp.ty.clone(), exp.span);
        binds.push(Bind::Pat {
            sizes: Vec::new(),
            pat,
            rhs: exp,
        });
        var
    }

    /// A use of a value: its parameters replaced by open variables. The sizes among
    /// these are the variables that are new afterwards.
    pub(crate) fn instantiate(&mut self, entry: &ValueEntry, span: Span) -> Exp {
        let scheme = &entry.scheme;
        let mut subst = Subst::default();
        for var in &scheme.ty_params {
            let data = self.tables.ty_var(*var);
            let (name, lifted) = (Arc::clone(&data.name), data.lifted);
            let ty = self.fresh_ty(&name, lifted, span);
            subst.types.push((*var, ty));
        }
        for var in &scheme.size_params {
            let name = Arc::clone(&self.tables.var(*var).name);
            let var_here = self.tables.new_var(name, VarState::Open, self.depth);
            subst.dims.push((*var, Dim::Var(var_here)));
        }
        let ty = subst.ty(&scheme.ty);
        let args = match &entry.via {
            None => subst,
            Some(via) => Subst {
                types: via.types.iter().map(|(v, t)| (*v, subst.ty(t))).collect(),
                dims: via.dims.iter().map(|(v, d)| (*v, subst.size(d))).collect(),
            },
        };
        let kind = match entry.target {
            Target::Var(id) => ExpKind::Var {
                id,
                ty_args: args.types,
                size_args: args.dims,
            },
            Target::Intrinsic(fun) => ExpKind::Intrinsic {
                fun,
                ty_args: args.types.into_iter().map(|(_, ty)| ty).collect(),
                size_args: args.dims.into_iter().map(|(_, dim)| dim).collect(),
            },
        };
        node(kind, ty, span)
    }

    /// A built-in operator as a value, at a type to be inferred.
    pub(crate) fn overloaded(&mut self, op: SourceOp, span: Span) -> Exp {
        let set = match op {
            SourceOp::Add
            | SourceOp::Sub
            | SourceOp::Mul
            | SourceOp::Div
            | SourceOp::Mod
            | SourceOp::Pow
            | SourceOp::Neg => Scalars::NUMBERS,
            SourceOp::Lt | SourceOp::Le | SourceOp::Gt | SourceOp::Ge => Scalars::ALL,
            SourceOp::Quot | SourceOp::Rem | SourceOp::Shl | SourceOp::Shr | SourceOp::LShr => {
                Scalars::INTS
            }
            SourceOp::And | SourceOp::Or | SourceOp::Xor | SourceOp::Not => Scalars::BITS,
        };
        let ty = self.fresh_scalar(set, span);
        let fun = match op {
            SourceOp::Neg | SourceOp::Not => Ty::arrow(ty.clone(), ty),
            SourceOp::Lt | SourceOp::Le | SourceOp::Gt | SourceOp::Ge => {
                Ty::arrow(ty.clone(), Ty::arrow(ty, Ty::BOOL))
            }
            _ => Ty::arrow(ty.clone(), Ty::arrow(ty.clone(), ty)),
        };
        node(ExpKind::Operator(op), fun, span)
    }
}

impl Tables {
    /// The type of a field, if there can be one of this name; an open type gets the
    /// field.
    pub(crate) fn field_ty(&mut self, ty: &Ty, label: &Name, span: Span) -> Option<Ty> {
        let ty = self.shallow(ty);
        if let Some(field) = ty.field(label) {
            return Some(field.clone());
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
        let id = self.new_ty_var(Arc::clone(label), false, lifted, depth);
        self.ty_var_mut(id).span = Some(span);
        fields.push((Arc::clone(label), Ty::Var(id)));
        self.ty_var_mut(var).constraint = Constraint::Fields(fields);
        Some(Ty::Var(id))
    }
}

/// A node whose type has no new unknown sizes.
pub(crate) const fn node(kind: ExpKind, ty: Ty, span: Span) -> Exp {
    Exp {
        kind,
        ty,
        ext: Vec::new(),
        span,
    }
}
