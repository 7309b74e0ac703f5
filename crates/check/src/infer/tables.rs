//! The tables of inference: type variables, values and sizes, and their solutions.
//!
//! A type variable is *open* (still to be inferred), *solved* or *rigid* (a
//! parameter). A size variable likewise: open sizes are solved by unification;
//! values, size parameters and unknown sizes are rigid. Every variable knows the
//! *depth* of the scope it belongs to: an open variable may be solved only by
//! what its scope can see, and those deeper than a definition are what the
//! definition is generalised over. All changes go through a trail, so that a
//! loop body can be checked again under other assumptions.

use crate::env::{TypeAbbr, TypeParam};
use crate::infer::MAX_PARTS;
use crate::subst::{TyMap, map_ty};
use crate::tast::{Dim, Name, Ty, TyVarId, TypeArgs, TypeId, VarId};
use prim::ScalarType;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::sync::Arc;
use syntax::ast::Liftedness;
use syntax::span::Span;

/// A set of scalar types, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Scalars(pub(crate) u16);

impl Scalars {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const INTS: Self = Self(0x0ff);
    pub(crate) const FLOATS: Self = Self(0x700);
    pub(crate) const NUMBERS: Self = Self(0x7ff);
    pub(crate) const BITS: Self = Self(0x8ff);
    pub(crate) const ALL: Self = Self(0xfff);

    pub(crate) fn contains(self, ty: ScalarType) -> bool {
        self.0 & (1 << ty as u16) != 0
    }

    /// What a literal or operator becomes that nothing else determines.
    pub(crate) fn default_type(self) -> Option<ScalarType> {
        let order = [
            ScalarType::I32,
            ScalarType::F64,
            ScalarType::I64,
            ScalarType::Bool,
        ];
        let other = ScalarType::ALL.iter().copied();
        order.into_iter().chain(other).find(|ty| self.contains(*ty))
    }
}

/// What is known of an open type variable.
#[derive(Clone, Debug, Default)]
pub(crate) enum Constraint {
    /// Nothing.
    #[default]
    None,
    /// It is one of these scalar types.
    Scalars(Scalars),
    /// It is a record with at least these fields.
    Fields(Vec<(Name, Ty)>),
    /// It is a sum with at least these constructors.
    Constrs(Vec<(Name, Vec<Ty>)>),
}

#[derive(Clone, Debug)]
pub(crate) enum TyState {
    Open,
    Solved(Ty),
    Rigid,
}

/// A type variable.
#[derive(Clone, Debug)]
pub(crate) struct TyVarData {
    pub(crate) name: Name,
    pub(crate) state: TyState,
    pub(crate) depth: u32,
    pub(crate) lifted: Liftedness,
    pub(crate) constraint: Constraint,
    pub(crate) span: Option<Span>,
    /// Bounds the length of chains of variables that stand for each other.
    pub(crate) rank: u8,
    /// Whether it is found out by uses of a local function, each of which may give
    /// it other sizes.
    pub(crate) local: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum VarState {
    /// A value, size parameter: itself.
    Value,
    /// A size that only the running program knows.
    Unknown,
    /// A size to be inferred.
    Open,
    /// A size that was inferred.
    Solved(Dim),
}

/// A value or size.
#[derive(Clone, Debug)]
pub(crate) struct VarData {
    pub(crate) name: Name,
    pub(crate) state: VarState,
    pub(crate) depth: u32,
    /// Of an open size: whether it met one that only the value tells.
    pub(crate) told: bool,
    pub(crate) span: Option<Span>,
}

/// An abstract type.
#[derive(Clone, Debug)]
pub(crate) struct AbstractData {
    pub(crate) name: Name,
    /// The module that it is from, as messages write it before the name: `M.`.
    pub(crate) path: String,
    /// What its values may hold.
    pub(crate) lifted: Liftedness,
    /// Its representation, where the module behind it is known.
    pub(crate) repr: Option<Arc<TypeAbbr>>,
}

#[derive(Debug)]
enum Undo {
    Ty(TyVarId, Box<TyVarData>),
    Var(VarId, Box<VarData>),
}

/// The tables.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) ty_vars: Vec<TyVarData>,
    pub(crate) vars: Vec<VarData>,
    pub(crate) abstracts: Vec<AbstractData>,
    trail: Vec<Undo>,
    /// How many loops are being checked that may go back on the trail.
    pub(crate) speculating: u32,
    /// Number of unknown sizes made so far.
    pub(crate) unknowns: u32,
    /// Whether a type was too large to be resolved since this was last reset.
    pub(crate) too_large: Cell<bool>,
    /// The functions that `**` means at float types, once the prelude has defined them.
    pub(crate) float_powers: FxHashMap<ScalarType, VarId>,
}

impl Tables {
    /// A new type variable.
    pub(crate) fn new_ty_var(
        &mut self,
        name: Name,
        rigid: bool,
        lifted: Liftedness,
        depth: u32,
    ) -> TyVarId {
        let id = TyVarId(self.ty_vars.len() as u32);
        let state = if rigid { TyState::Rigid } else { TyState::Open };
        let constraint = Constraint::None;
        self.ty_vars.push(TyVarData {
            name,
            state,
            depth,
            lifted,
            constraint,
            span: None,
            rank: 0,
            local: false,
        });
        id
    }

    /// The next value or size to be made.
    pub(crate) fn next_var(&self) -> VarId {
        VarId(self.vars.len() as u32)
    }

    /// A new value or size.
    pub(crate) fn new_var(&mut self, name: Name, state: VarState, depth: u32) -> VarId {
        let id = VarId(self.vars.len() as u32);
        self.vars.push(VarData {
            name,
            state,
            depth,
            told: false,
            span: None,
        });
        id
    }

    /// A size unknown until run time.
    pub(crate) fn new_unknown(&mut self, name: Name, depth: u32, span: Option<Span>) -> VarId {
        self.unknowns += 1;
        let id = self.new_var(name, VarState::Unknown, depth);
        self.var_mut(id).span = span;
        id
    }

    pub(crate) fn ty_var(&self, id: TyVarId) -> &TyVarData {
        &self.ty_vars[id.0 as usize]
    }

    pub(crate) fn var(&self, id: VarId) -> &VarData {
        &self.vars[id.0 as usize]
    }

    pub(crate) fn ty_var_mut(&mut self, id: TyVarId) -> &mut TyVarData {
        let data = &mut self.ty_vars[id.0 as usize];
        if self.speculating > 0 {
            self.trail.push(Undo::Ty(id, Box::new(data.clone())));
        }
        data
    }

    pub(crate) fn var_mut(&mut self, id: VarId) -> &mut VarData {
        let data = &mut self.vars[id.0 as usize];
        if self.speculating > 0 {
            self.trail.push(Undo::Var(id, Box::new(data.clone())));
        }
        data
    }

    /// A point to which [`Tables::rollback`] can return.
    pub(crate) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Takes back every change to a variable since the mark.
    pub(crate) fn rollback(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Undo::Ty(id, data)) => self.ty_vars[id.0 as usize] = *data,
                Some(Undo::Var(id, data)) => self.vars[id.0 as usize] = *data,
                None => break,
            }
        }
    }

    /// Forgets the trail where nothing can go back any more.
    pub(crate) fn commit(&mut self) {
        if self.speculating == 0 {
            self.trail.clear();
        }
    }

    /// The type with its outermost variable, if solved, replaced.
    pub(crate) fn shallow(&self, ty: &Ty) -> Ty {
        let mut ty = ty;
        while let Ty::Var(var) = ty {
            match &self.ty_var(*var).state {
                TyState::Solved(next) => ty = next,
                TyState::Open | TyState::Rigid => break,
            }
        }
        ty.clone()
    }

    /// How many parts a type may have. Where one was too large already, little
    /// more is spent.
    pub(crate) const fn max_parts(&self) -> u32 {
        if self.too_large.get() {
            MAX_PARTS / 100
        } else {
            MAX_PARTS
        }
    }

    /// What a type that is put where it may not stand is declared as.
    pub(crate) fn lifted(&self, ty: &Ty) -> Liftedness {
        match ty {
            Ty::Var(var) => self.ty_var(*var).lifted,
            Ty::Abstract(id, _) => {
                let data = self.abstracts.get(id.0 as usize);
                data.map_or(Liftedness::Lifted, |data| data.lifted)
            }
            _ => Liftedness::Lifted,
        }
    }

    /// A new abstract type, and the name for it.
    pub(crate) fn new_abstract(
        &mut self,
        name: Name,
        params: Vec<TypeParam>,
        lifted: Liftedness,
        repr: Option<Arc<TypeAbbr>>,
    ) -> (TypeId, TypeAbbr) {
        let id = TypeId(self.abstracts.len() as u32);
        self.abstracts.push(AbstractData {
            name,
            path: String::new(),
            lifted,
            repr,
        });
        let mut args = TypeArgs::default();
        for param in &params {
            match param {
                TypeParam::Type(var, _) => args.types.push(Ty::Var(*var)),
                TypeParam::Size(var) => args.dims.push(Dim::Var(*var)),
            }
        }
        let ty = Ty::Abstract(id, Arc::new(args));
        (
            id,
            TypeAbbr {
                params,
                ext: Vec::new(),
                ty,
                lifted,
                spelled: None,
            },
        )
    }

    /// A new value of a scope, without a name in it.
    pub(crate) fn new_value(&mut self, name: Name, depth: u32, span: Span) -> VarId {
        let id = self.new_var(name, VarState::Value, depth);
        self.var_mut(id).span = Some(span);
        id
    }

    /// The unknown sizes in a type that were made since `from`.
    pub(crate) fn unknowns_since(&self, ty: &Ty, from: usize) -> Vec<VarId> {
        let mut dims = Mentions::of(&self.resolve(ty)).dims;
        dims.retain(|v| v.0 as usize >= from && matches!(self.var(*v).state, VarState::Unknown));
        dims
    }

    /// Whether the type variable is still open.
    pub(crate) fn is_open_ty(&self, var: TyVarId) -> bool {
        matches!(self.ty_var(var).state, TyState::Open)
    }

    /// Whether the size variable is still open.
    pub(crate) fn is_open(&self, var: VarId) -> bool {
        matches!(self.var(var).state, VarState::Open)
    }
}

/// What a type mentions.
#[derive(Default)]
pub(crate) struct Mentions {
    pub(crate) types: Vec<TyVarId>,
    pub(crate) dims: Vec<VarId>,
}

impl TyMap for Mentions {
    fn ty_var(&mut self, var: TyVarId) -> Option<Ty> {
        if !self.types.contains(&var) {
            self.types.push(var);
        }
        None
    }

    fn dim_var(&mut self, var: VarId) -> Option<Dim> {
        if !self.dims.contains(&var) {
            self.dims.push(var);
        }
        None
    }
}

impl Mentions {
    /// The variables of a resolved type, in order of appearance.
    pub(crate) fn of(ty: &Ty) -> Self {
        let mut found = Self::default();
        map_ty(ty, &mut found);
        found
    }
}
