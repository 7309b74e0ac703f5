//! The tables of inference: type variables, values and sizes, and their solutions.
//!
//! A type variable is *open* (still to be inferred), *solved* or *rigid* (a
//! parameter). A size variable likewise: open sizes are solved by unification;
//! values, size parameters and unknown sizes are rigid. Every variable knows the
//! *depth* of the scope it belongs to: an open variable may be solved only by
//! what its scope can see, and those deeper than a definition are what the
//! definition is generalised over. All changes go through a trail, so that a
//! loop body can be checked again under other assumptions.

use crate::subst::{TyMap, map_dim, map_ty};
use crate::tast::{Dim, Exp, Name, RetType, Ty, TyVarId, TypeArgs, TypeId, VarId};
use prim::ScalarType;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::sync::Arc;
use syntax::ast::Liftedness;
use syntax::span::Span;

/// Types with more parts are refused: a short program can have types that are
/// exponentially large.
pub(crate) const MAX_PARTS: u32 = 50_000;

/// Types that nest more deeply are refused, so functions with more parameters too.
pub(crate) const MAX_DEPTH: u32 = 500;

/// Sizes with more operations are unknown, and so are those that nest more deeply.
const MAX_SIZE: (u32, u32) = (2000, 200);

/// How much of a type was walked.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    /// Operations in the size that is being walked, and how deep it is there.
    size: (u32, u32),
    parts: u32,
    depth: u32,
    deepest: u32,
    /// Whether the type is too large, and part of it was left out.
    over: bool,
}

impl Extent {
    /// Goes into a compound type, unless there is too much of it.
    pub(crate) fn enter(&mut self, parts: usize, limit: u32) -> bool {
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        self.add(parts.saturating_add(1), 1, limit);
        if !self.over {
            self.depth += 1;
        }
        !self.over
    }

    /// The compound type last gone into is done.
    pub(crate) const fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Goes into an operation on sizes, unless there is too much of it.
    pub(crate) const fn enter_size(&mut self) -> bool {
        if self.size.1 == 0 {
            self.size.0 = 0;
        }
        self.size.0 += 1;
        let small = self.size.0 <= MAX_SIZE.0 && self.size.1 < MAX_SIZE.1;
        if small {
            self.size.1 += 1;
        }
        small
    }

    /// The operation on sizes last gone into is done.
    pub(crate) const fn leave_size(&mut self) {
        self.size.1 -= 1;
    }

    /// Passes over something of which the extent is known.
    fn add(&mut self, parts: u32, depth: u32, limit: u32) {
        self.parts = self.parts.saturating_add(parts);
        self.deepest = self.deepest.max(self.depth + depth);
        self.over |= self.parts > limit || self.deepest > MAX_DEPTH;
    }
}

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
    pub(crate) repr: Option<Arc<crate::env::TypeAbbr>>,
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
    /// Unknown sizes that unification made since they were last collected.
    pub(crate) pending: Vec<VarId>,
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

    /// The type with all solved variables replaced. One that is too large is
    /// noted and becomes `()`.
    pub(crate) fn resolve(&self, ty: &Ty) -> Ty {
        let mut resolve = Resolve::new(self);
        let new = map_ty(ty, &mut resolve);
        if resolve.extent.over {
            self.too_large.set(true);
            return Ty::unit();
        }
        new.unwrap_or_else(|| ty.clone())
    }

    /// The size with all solved variables replaced.
    pub(crate) fn resolve_dim(&self, dim: &Dim) -> Dim {
        map_dim(dim, &mut Resolve::new(self)).unwrap_or_else(|| dim.clone())
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

    /// Whether the size variable is still open.
    pub(crate) fn is_open(&self, var: VarId) -> bool {
        matches!(self.var(var).state, VarState::Open)
    }
}

/// Replaces solved variables.
struct Resolve<'t> {
    tables: &'t Tables,
    extent: Extent,
    limit: u32,
}

impl<'t> Resolve<'t> {
    fn new(tables: &'t Tables) -> Self {
        Self {
            tables,
            extent: Extent::default(),
            limit: tables.max_parts(),
        }
    }
}

impl TyMap for Resolve<'_> {
    fn extent(&mut self) -> Option<(&mut Extent, u32)> {
        Some((&mut self.extent, self.limit))
    }

    fn ty_var(&mut self, var: TyVarId) -> Option<Ty> {
        let tables = self.tables;
        match &tables.ty_var(var).state {
            TyState::Solved(ty) => Some(map_ty(ty, self).unwrap_or_else(|| ty.clone())),
            TyState::Open | TyState::Rigid => None,
        }
    }

    fn dim_var(&mut self, var: VarId) -> Option<Dim> {
        let tables = self.tables;
        match &tables.var(var).state {
            VarState::Solved(dim) => Some(map_dim(dim, self).unwrap_or_else(|| dim.clone())),
            VarState::Open | VarState::Value | VarState::Unknown => None,
        }
    }
}

/// Replaces solved variables, and abstract types by what they stand for. What it
/// found for a variable it gives again, so that equal types share their parts.
pub(crate) struct Reveal<'t> {
    tables: &'t Tables,
    extent: Extent,
    /// Solutions, with their number of parts and their depth.
    known: FxHashMap<TyVarId, (Ty, u32, u32)>,
}

impl<'t> Reveal<'t> {
    pub(crate) fn new(tables: &'t Tables) -> Self {
        Self {
            tables,
            extent: Extent::default(),
            known: FxHashMap::default(),
        }
    }

    /// The type with everything replaced; `None` if nothing changed. One that is
    /// too large is noted and becomes `()`.
    pub(crate) fn ty(&mut self, ty: &Ty) -> Option<Ty> {
        self.extent = Extent::default();
        let new = map_ty(ty, self);
        if self.extent.over {
            self.tables.too_large.set(true);
            return Some(Ty::unit());
        }
        new
    }

    /// As [`Reveal::ty`], for the result of a function.
    pub(crate) fn ret(&mut self, ret: &mut RetType) {
        if let Some(ty) = self.ty(&ret.ty) {
            ret.ty = ty;
        }
    }

    /// As [`Reveal::ty`], for a size.
    pub(crate) fn dim(&mut self, dim: &Dim) -> Option<Dim> {
        self.extent = Extent::default();
        map_dim(dim, self)
    }
}

impl TyMap for Reveal<'_> {
    fn extent(&mut self) -> Option<(&mut Extent, u32)> {
        Some((&mut self.extent, self.tables.max_parts()))
    }

    fn ty_var(&mut self, var: TyVarId) -> Option<Ty> {
        let tables = self.tables;
        let TyState::Solved(ty) = &tables.ty_var(var).state else {
            return None;
        };
        if let Ty::Scalar(_) = ty {
            return Some(ty.clone());
        }
        let limit = tables.max_parts();
        if let Some((ty, parts, depth)) = self.known.get(&var) {
            self.extent.add(*parts, *depth, limit);
            return Some(ty.clone());
        }
        let (parts, deepest) = (self.extent.parts, self.extent.deepest);
        self.extent.deepest = self.extent.depth;
        let new = map_ty(ty, self).unwrap_or_else(|| ty.clone());
        if !self.extent.over {
            let parts = self.extent.parts - parts;
            let depth = self.extent.deepest - self.extent.depth;
            self.known.insert(var, (new.clone(), parts, depth));
        }
        self.extent.deepest = self.extent.deepest.max(deepest);
        Some(new)
    }

    fn dim_var(&mut self, var: VarId) -> Option<Dim> {
        let tables = self.tables;
        match &tables.var(var).state {
            VarState::Solved(dim) => Some(map_dim(dim, self).unwrap_or_else(|| dim.clone())),
            // Nothing determined it: whoever needs it reads it off a value.
            VarState::Open => Some(Dim::Any),
            VarState::Value | VarState::Unknown => None,
        }
    }

    fn node(&mut self, exp: &mut Exp) -> bool {
        crate::infer::zonk::finish_node(exp, self.tables)
    }

    fn abstract_ty(&mut self, id: TypeId, args: &TypeArgs) -> Option<Ty> {
        let repr = self.tables.abstracts.get(id.0 as usize)?.repr.clone()?;
        let ty = repr.apply(&args.types, &args.dims);
        Some(map_ty(&ty, self).unwrap_or(ty))
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
