//! The end of a definition: undetermined types get defaults, remaining open types and sizes become
//! parameters.

use crate::env::{Scheme, TypeParam};
use crate::infer::{Constraint, FreeVars, Infer, InferTables, Origin, TyState, VarState};
use crate::tast::{Dim, Name, Ty, TyVarId, VarId};
use prim::ScalarType;
use std::sync::Arc;
use syntax::span::Span;

/// A type that nothing determined, with its span.
pub(crate) enum DefaultedType {
    /// A number type that the definition's type mentions; it has become this one.
    Number(Span, ScalarType),
    /// A record with at least these fields.
    Record(Span, Vec<Name>),
    /// A sum with at least these constructors.
    Sum(Span, Vec<Name>),
}

impl InferTables {
    /// Solves the open types since `from` by their defaults: scalar types by one of their set,
    /// records and sums by `()`. Returns those to be reported: records, sums, and scalar types
    /// among `public`, the types that the definition's type mentions.
    pub(crate) fn default_types(&mut self, from: usize, public: &[TyVarId]) -> Vec<DefaultedType> {
        let mut found = Vec::new();
        for i in from..self.ty_vars.len() {
            let id = TyVarId::new(i);
            let data = self.ty_var(id);
            if !matches!(data.state, TyState::Open) {
                continue;
            }
            let (ty, default) = match &data.constraint {
                Constraint::None => continue,
                Constraint::Scalars(set) => {
                    let Some(ty) = set.default_type() else {
                        continue;
                    };
                    let reported_at = data.span.filter(|_| public.contains(&id));
                    let default = reported_at.map(|span| DefaultedType::Number(span, ty));
                    (Ty::Scalar(ty), default)
                }
                Constraint::Fields(fields) => {
                    let labels = || fields.iter().map(|(l, _)| Arc::clone(l)).collect();
                    let default = data.span.map(|span| DefaultedType::Record(span, labels()));
                    (Ty::unit(), default)
                }
                Constraint::Constrs(constrs) => {
                    let labels = || constrs.iter().map(|(l, _)| Arc::clone(l)).collect();
                    let default = data.span.map(|span| DefaultedType::Sum(span, labels()));
                    (Ty::unit(), default)
                }
            };
            found.extend(default);
            self.ty_var_mut(id).state = TyState::Solved(ty);
        }
        found
    }
}

impl InferTables {
    /// Makes instantiated sizes since `mark`, of scopes deeper than `depth`, plain open sizes, and
    /// their copies equal to them, unless they are existential.
    fn demote_instances(&mut self, mark: usize, depth: u32) {
        for i in mark..self.vars.len() {
            let var = VarId::new(i);
            let data = self.var(var);
            if data.depth <= depth {
                continue;
            }
            match data.state {
                VarState::Copy { of, .. } if !self.is_existential(of) => {
                    self.var_mut(var).state = VarState::Solved(Dim::Var(of));
                }
                VarState::Open(Origin::Instance(_)) => {
                    self.var_mut(var).state = VarState::Open(Origin::Plain);
                }
                _ => {}
            }
        }
    }
}

impl Infer<'_> {
    /// Makes the open types and sizes in the type of a finished definition its parameters. Sizes
    /// created since `mark` are its own: those of instantiated types that are not existential by
    /// now are the same in all occurrences.
    pub(crate) fn generalise(&mut self, explicit: &[TypeParam], ty: &Ty, top: bool, mark: usize) -> Scheme {
        self.tables.demote_instances(mark, self.depth);
        let ty = self.tables.resolve(ty);
        let mut ty_params: Vec<TyVarId> = explicit
            .iter()
            .filter_map(|p| match p {
                TypeParam::Type(var, _) => Some(*var),
                TypeParam::Size(_) => None,
            })
            .collect();
        let mut size_params = sizes_of(explicit);
        let mentions = FreeVars::of(&ty);
        if !top {
            // The types of a local function, except for its explicit parameters, are inferred from
            // its uses.
            let mut fixed: Vec<TyVarId> = mentions.types.clone();
            fixed.retain(|v| {
                let data = self.tables.ty_var(*v);
                data.depth > self.depth
            });
            while let Some(var) = fixed.pop() {
                if !self.tables.is_open_ty(var) || self.tables.ty_var(var).depth <= self.depth {
                    continue;
                }
                let depth = self.depth;
                let data = self.tables.ty_var_mut(var);
                data.depth = depth;
                for part in data.constraint.parts() {
                    fixed.extend(FreeVars::of(&self.tables.resolve(&part)).types);
                }
            }
        }
        for var in mentions.types {
            let data = self.tables.ty_var(var);
            if !matches!(data.state, TyState::Open) || data.depth <= self.depth {
                continue;
            }
            let name = type_name(ty_params.len());
            let data = self.tables.ty_var_mut(var);
            data.state = TyState::Rigid;
            data.name = name;
            ty_params.push(var);
        }
        for var in mentions.dims {
            let data = self.tables.var(var);
            if matches!(data.state, VarState::Open(_)) && data.depth > self.depth {
                self.tables.var_mut(var).state = VarState::Value;
                size_params.push(var);
            }
        }
        Scheme { ty_params, size_params, ty }
    }
}

/// The size parameters among all parameters.
pub(crate) fn sizes_of(params: &[TypeParam]) -> Vec<VarId> {
    params
        .iter()
        .filter_map(|p| match p {
            TypeParam::Size(var) => Some(*var),
            TypeParam::Type(..) => None,
        })
        .collect()
}

/// The name of an inferred type parameter.
fn type_name(i: usize) -> Arc<str> {
    let letter = char::from(b'a' + (i % 26) as u8);
    if i < 26 { Arc::from(format!("{letter}")) } else { Arc::from(format!("{letter}{}", i / 26)) }
}
