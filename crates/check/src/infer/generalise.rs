//! The end of a definition: what nothing determined gets a default, what is
//! still open becomes a parameter.

use crate::checker::Checker;
use crate::env::{Scheme, TypeParam};
use crate::infer::{Constraint, Mentions, TyState, VarState};
use crate::define::size_params::sizes_of;
use crate::tast::{Ty, TyVarId};
use prim::ScalarType;
use std::sync::Arc;
use syntax::diag::Diagnostic;

impl Checker<'_> {
    /// Scalar types that nothing determines get their defaults; other open types
    /// that a whole definition leaves open are reported. Defaults of `public` ones,
    /// which the definition's type mentions, are warned of; gives one of them.
    pub(crate) fn default_types(
        &mut self,
        from: usize,
        errors: usize,
        public: &[TyVarId],
    ) -> Option<ScalarType> {
        let mut chosen = None;
        for i in from..self.tables.ty_vars.len() {
            let id = TyVarId(i as u32);
            let data = self.tables.ty_var(id);
            if !matches!(data.state, TyState::Open) {
                continue;
            }
            let span = data.span;
            match data.constraint.clone() {
                Constraint::None => {}
                Constraint::Scalars(set) => {
                    if let Some(ty) = set.default_type() {
                        if let (Some(span), true) = (span, public.contains(&id)) {
                            chosen = Some(ty);
                            self.warn(
                                Diagnostic::warning(
                                    "defaulted-type",
                                    format!("Defaulting ambiguous type to {ty}"),
                                )
                                .at(span, "")
                                .hint("say which type is meant in the definition's parameters or result"),
                            );
                        }
                        self.tables.ty_var_mut(id).state = TyState::Solved(Ty::Scalar(ty));
                    }
                }
                Constraint::Fields(fields) => {
                    if let (Some(span), true) = (span, self.diags.len() == errors) {
                        let labels: Vec<String> =
                            fields.iter().map(|(l, _)| format!("\"{l}\"")).collect();
                        self.report(
                            Diagnostic::error(
                                "ambiguous-record",
                                format!(
                                    "Type is ambiguous: cannot tell the type of this record from its field{} {}",
                                    if labels.len() == 1 { "" } else { "s" },
                                    labels.join(", ")
                                ),
                            )
                            .at(span, "")
                            .hint("give the parameter a type"),
                        );
                    }
                    self.tables.ty_var_mut(id).state = TyState::Solved(Ty::unit());
                }
                Constraint::Constrs(constrs) => {
                    if let (Some(span), true) = (span, self.diags.len() == errors) {
                        let labels: Vec<String> =
                            constrs.iter().map(|(l, _)| format!("\"#{l}\"")).collect();
                        self.report(
                            Diagnostic::error(
                                "ambiguous-sum",
                                format!(
                                    "Type is ambiguous: cannot tell the sum type from its constructor{} {}",
                                    if labels.len() == 1 { "" } else { "s" },
                                    labels.join(", ")
                                ),
                            )
                            .at(span, "")
                            .hint("ascribe the type: `(#x : t)`"),
                        );
                    }
                    self.tables.ty_var_mut(id).state = TyState::Solved(Ty::unit());
                }
            }
        }
        chosen
    }

    /// Makes what is open in a type of a finished definition parameters.
    pub(crate) fn generalise(&mut self, explicit: &[TypeParam], ty: &Ty, top: bool) -> Scheme {
        let ty = self.tables.resolve(ty);
        let mut ty_params: Vec<TyVarId> = explicit
            .iter()
            .filter_map(|p| match p {
                TypeParam::Type(var, _) => Some(*var),
                TypeParam::Size(_) => None,
            })
            .collect();
        let mut size_params = sizes_of(explicit);
        let mentions = Mentions::of(&ty);
        if !top {
            // The types of a local function are found out by its uses, apart from
            // its explicit parameters.
            let mut fixed: Vec<TyVarId> = mentions.types.clone();
            fixed.retain(|v| {
                let data = self.tables.ty_var(*v);
                data.depth > self.depth
            });
            while let Some(var) = fixed.pop() {
                if !self.is_open_ty(var) || self.tables.ty_var(var).depth <= self.depth {
                    continue;
                }
                let depth = self.depth;
                let data = self.tables.ty_var_mut(var);
                data.depth = depth;
                data.local = true;
                let parts: Vec<Ty> = match &data.constraint {
                    Constraint::None | Constraint::Scalars(_) => Vec::new(),
                    Constraint::Fields(fields) => fields.iter().map(|(_, t)| t.clone()).collect(),
                    Constraint::Constrs(all) => all.iter().flat_map(|(_, p)| p.clone()).collect(),
                };
                for part in parts {
                    fixed.extend(Mentions::of(&self.tables.resolve(&part)).types);
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
            if matches!(data.state, VarState::Open) && data.depth > self.depth {
                self.tables.var_mut(var).state = VarState::Value;
                size_params.push(var);
            }
        }
        Scheme {
            ty_params,
            size_params,
            ty,
        }
    }
}

/// A name for an inferred type parameter.
fn type_name(i: usize) -> Arc<str> {
    let letter = char::from(b'a' + (i % 26) as u8);
    if i < 26 {
        Arc::from(format!("{letter}"))
    } else {
        Arc::from(format!("{letter}{}", i / 26))
    }
}
