//! The tables of inference: type variables, values and sizes, and their solutions.
//!
//! A type variable is *open* (to be inferred), *solved* or *rigid* (a parameter). Likewise for size
//! variables: open sizes are solved by unification; values, size parameters and unknown sizes are
//! rigid. Every variable has the *depth* of its scope: an open variable may be solved only by types
//! and sizes visible in its scope, and a definition is generalised over the open variables deeper
//! than itself.

use crate::env::{NamedType, TypeParam};
use crate::infer::MAX_PARTS;
use crate::subst::{TypeMapper, map_ty};
use crate::tast::{AbstractTypeId, Dim, Exp, Name, Ty, TyVarId, TypeArgs, VarId};
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

    /// The type of a literal or operator that nothing else determines.
    pub(crate) fn default_type(self) -> Option<ScalarType> {
        let order = [ScalarType::I32, ScalarType::F64, ScalarType::I64, ScalarType::Bool];
        let other = ScalarType::ALL.iter().copied();
        order.into_iter().chain(other).find(|ty| self.contains(*ty))
    }
}

/// A constraint on an open type variable.
#[derive(Clone, Debug, Default)]
pub(crate) enum Constraint {
    /// No constraint.
    #[default]
    None,
    /// One of these scalar types.
    Scalars(Scalars),
    /// A record with at least these fields.
    Fields(Vec<(Name, Ty)>),
    /// A sum with at least these constructors.
    Constrs(Vec<(Name, Vec<Ty>)>),
}

impl Constraint {
    /// The types of the fields or payloads.
    pub(crate) fn parts(&self) -> Vec<Ty> {
        match self {
            Self::None | Self::Scalars(_) => Vec::new(),
            Self::Fields(fields) => fields.iter().map(|(_, ty)| ty.clone()).collect(),
            Self::Constrs(all) => all.iter().flat_map(|(_, payload)| payload.clone()).collect(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum TyState {
    Open,
    Solved(Ty),
    Rigid,
    /// The one of [`Ty::ERROR`].
    Error,
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
    /// The union-find rank: bounds the length of chains of solved variables.
    pub(crate) rank: u8,
}

/// The origin of an open size, which determines if it may become existential.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// An anonymous size, or an open size in place of an existential one: it must be a size in
    /// scope.
    Plain,
    /// A size of a loop parameter.
    Loop,
    /// A size of an inferred type, of the instance of a type parameter of this liftedness, or the
    /// instance of a size parameter. It may be linked to a parameter name of its own type; if it is
    /// lifted, it may be existential.
    Instance(Liftedness),
}

impl Origin {
    /// A size that becomes existential if it is unified with one bound in a type.
    pub(crate) const ABSORBING: Self = Self::Instance(Liftedness::Lifted);
    /// A size of a bound value, which is never existential.
    pub(crate) const BOUND: Self = Self::Instance(Liftedness::Unlifted);
}

#[derive(Clone, Debug)]
pub(crate) enum VarState {
    /// A value or size parameter.
    Value,
    /// A size unknown until run time.
    Unknown,
    /// A size to be inferred.
    Open(Origin),
    /// The size `of`, at another occurrence of an instantiated type parameter. The two are equal,
    /// unless `of` is existential: then each occurrence has a size of its own.
    Copy {
        /// The size at the first occurrence.
        of: VarId,
        /// The occurrence, a number unique in the program.
        occurrence: u32,
    },
    /// An instantiated size that became existential.
    Existential {
        /// The bound size that it was unified with; sizes of one occurrence with the same source
        /// are the same.
        source: Option<VarId>,
        /// The span at which the program computes it, if it does before the type is complete.
        computed: Option<Span>,
    },
    /// An inferred size.
    Solved(Dim),
}

/// A value or size.
#[derive(Clone, Debug)]
pub(crate) struct VarData {
    pub(crate) name: Name,
    pub(crate) state: VarState,
    pub(crate) depth: u32,
    /// For open sizes: true if unified with [`Dim::Any`], a size that only the value has.
    pub(crate) unified_with_any: bool,
    /// True if it is the parameter name of an instantiated function type, to which sizes of that
    /// type may be linked.
    pub(crate) is_param_name: bool,
    pub(crate) span: Option<Span>,
}

/// An abstract type.
#[derive(Clone, Debug)]
pub(crate) struct AbstractData {
    pub(crate) name: Name,
    /// The path of its module, as a prefix of its name in messages: `M.`.
    pub(crate) path: String,
    /// The liftedness of the type.
    pub(crate) lifted: Liftedness,
    /// Its representation, if the module that defines it is known.
    pub(crate) repr: Option<Arc<NamedType>>,
}

/// The numbers of variables at a point in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TablesMark {
    pub(crate) vars: usize,
    pub(crate) ty_vars: usize,
}

/// The tables of inference.
#[derive(Debug, Default)]
pub(crate) struct InferTables {
    pub(crate) ty_vars: Vec<TyVarData>,
    pub(crate) vars: Vec<VarData>,
    pub(crate) abstracts: Vec<AbstractData>,
    /// The number of unknown sizes created so far.
    pub(crate) unknowns: u32,
    /// The number of occurrences of instantiated type parameters so far.
    pub(crate) occurrences: u32,
    /// True if there have been sizes, since the last reset, that the second walk must infer.
    pub(crate) saw_sizes: bool,
    /// True if an instantiated size absorbed one that the program computes, since the last reset.
    pub(crate) absorbed: bool,
    /// True if a size of a loop parameter was unified with another at a join, since the last reset.
    pub(crate) joined_loop: bool,
    /// True if a type was too large to be resolved, since the last reset.
    pub(crate) too_large: Cell<bool>,
    /// The functions that `**` denotes at float types, once the prelude has defined them.
    pub(crate) float_powers: FxHashMap<ScalarType, VarId>,
}

impl InferTables {
    /// The tables before the first definition.
    pub(crate) fn new() -> Self {
        let mut tables = Self::default();
        let error = tables.new_ty_var(Arc::from("_"), true, Liftedness::Unlifted, 0);
        tables.ty_var_mut(error).state = TyState::Error;
        tables
    }

    /// A new type variable.
    pub(crate) fn new_ty_var(&mut self, name: Name, rigid: bool, lifted: Liftedness, depth: u32) -> TyVarId {
        let id = TyVarId::new(self.ty_vars.len());
        let state = if rigid { TyState::Rigid } else { TyState::Open };
        let constraint = Constraint::None;
        self.ty_vars.push(TyVarData { name, state, depth, lifted, constraint, span: None, rank: 0 });
        id
    }

    /// The id of the next value or size.
    pub(crate) fn next_var(&self) -> VarId {
        VarId::new(self.vars.len())
    }

    /// A new value or size.
    pub(crate) fn new_var(&mut self, name: Name, state: VarState, depth: u32) -> VarId {
        let id = VarId::new(self.vars.len());
        self.vars.push(VarData {
            name,
            state,
            depth,
            unified_with_any: false,
            is_param_name: false,
            span: None,
        });
        id
    }

    /// A size to be inferred.
    pub(crate) fn new_open(&mut self, name: Name, origin: Origin, depth: u32) -> VarId {
        self.new_var(name, VarState::Open(origin), depth)
    }

    /// A size unknown until run time.
    pub(crate) fn new_unknown(&mut self, name: Name, depth: u32, span: Option<Span>) -> VarId {
        self.saw_sizes = true;
        self.unknowns += 1;
        let id = self.new_var(name, VarState::Unknown, depth);
        self.var_mut(id).span = span;
        id
    }

    pub(crate) fn ty_var(&self, id: TyVarId) -> &TyVarData {
        &self.ty_vars[id.index()]
    }

    pub(crate) fn var(&self, id: VarId) -> &VarData {
        &self.vars[id.index()]
    }

    pub(crate) fn ty_var_mut(&mut self, id: TyVarId) -> &mut TyVarData {
        &mut self.ty_vars[id.index()]
    }

    pub(crate) fn var_mut(&mut self, id: VarId) -> &mut VarData {
        &mut self.vars[id.index()]
    }

    /// A mark for [`InferTables::truncate`].
    pub(crate) const fn mark(&self) -> TablesMark {
        TablesMark { vars: self.vars.len(), ty_vars: self.ty_vars.len() }
    }

    /// Removes all variables created since the mark; nothing may mention them any more.
    pub(crate) fn truncate(&mut self, mark: TablesMark) {
        self.vars.truncate(mark.vars);
        self.ty_vars.truncate(mark.ty_vars);
    }

    /// The type with its outermost variable, if solved, replaced.
    pub(crate) fn resolve_head(&self, ty: &Ty) -> Ty {
        let mut ty = ty;
        while let Ty::Var(var) = ty {
            match &self.ty_var(*var).state {
                TyState::Solved(next) => ty = next,
                TyState::Open | TyState::Rigid | TyState::Error => break,
            }
        }
        ty.clone()
    }

    /// The maximum number of parts of a type. After a type was too large, the limit is lower.
    pub(crate) const fn max_parts(&self) -> u32 {
        if self.too_large.get() { MAX_PARTS / 100 } else { MAX_PARTS }
    }

    /// The declared liftedness of a type variable or abstract type; [`Liftedness::Lifted`] for any
    /// other type. Used to explain a violated requirement.
    pub(crate) fn lifted(&self, ty: &Ty) -> Liftedness {
        match ty {
            Ty::Var(var) => self.ty_var(*var).lifted,
            Ty::Abstract(id, _) => {
                let data = self.abstracts.get(id.index());
                data.map_or(Liftedness::Lifted, |data| data.lifted)
            }
            _ => Liftedness::Lifted,
        }
    }

    /// A new abstract type, and its named form.
    pub(crate) fn new_abstract(
        &mut self,
        name: Name,
        params: Vec<TypeParam>,
        lifted: Liftedness,
        repr: Option<Arc<NamedType>>,
    ) -> (AbstractTypeId, NamedType) {
        let id = AbstractTypeId::new(self.abstracts.len());
        self.abstracts.push(AbstractData { name, path: String::new(), lifted, repr });
        let mut args = TypeArgs::default();
        for param in &params {
            match param {
                TypeParam::Type(var, _) => args.types.push(Ty::Var(*var)),
                TypeParam::Size(var) => args.dims.push(Dim::Var(*var)),
            }
        }
        let ty = Ty::Abstract(id, Arc::new(args));
        (id, NamedType { params, lifted, ..NamedType::plain(ty) })
    }

    /// A new value of a scope; its name is not bound.
    pub(crate) fn new_value(&mut self, name: Name, depth: u32, span: Span) -> VarId {
        let id = self.new_var(name, VarState::Value, depth);
        self.var_mut(id).span = Some(span);
        id
    }

    /// The unknown sizes in a type that were created since `from`.
    pub(crate) fn unknowns_since(&self, ty: &Ty, from: usize) -> Vec<VarId> {
        let mut dims = FreeVars::of(&self.resolve(ty)).dims;
        dims.retain(|v| v.index() >= from && matches!(self.var(*v).state, VarState::Unknown));
        dims
    }

    /// Returns true if the type variable is open.
    pub(crate) fn is_open_ty(&self, var: TyVarId) -> bool {
        matches!(self.ty_var(var).state, TyState::Open)
    }

    /// Returns true if the size variable is open.
    pub(crate) fn is_open(&self, var: VarId) -> bool {
        match self.var(var).state {
            VarState::Open(_) => true,
            VarState::Copy { of, .. } => self.is_open(of),
            VarState::Value | VarState::Unknown | VarState::Existential { .. } | VarState::Solved(_) => false,
        }
    }

    /// Returns true if the size was inferred.
    pub(crate) fn is_solved(&self, var: VarId) -> bool {
        matches!(self.var(var).state, VarState::Solved(_))
    }

    /// Returns true if the size is existential, or a copy of an existential size.
    pub(crate) fn is_existential(&self, var: VarId) -> bool {
        match self.var(var).state {
            VarState::Existential { .. } => true,
            VarState::Copy { of, .. } => self.is_existential(of),
            VarState::Value | VarState::Unknown | VarState::Open(_) | VarState::Solved(_) => false,
        }
    }

    /// The representative of an open size: for a copy, the size that it copies.
    pub(crate) fn canonical(&self, var: VarId) -> VarId {
        match self.var(var).state {
            VarState::Copy { of, .. } if !self.is_existential(of) => of,
            _ => var,
        }
    }
}

/// The variables that a type depends on. Variables that occur only in the types of parts of a size
/// expression are left out: the size's value does not depend on them.
#[derive(Default)]
pub(crate) struct FreeVars {
    pub(crate) types: Vec<TyVarId>,
    pub(crate) dims: Vec<VarId>,
}

impl TypeMapper for FreeVars {
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

    fn size_exp(&mut self, exp: &Exp) -> bool {
        crate::sizes::add_variables(exp, &mut self.dims);
        false
    }
}

impl FreeVars {
    /// The variables of a resolved type, in order of occurrence.
    pub(crate) fn of(ty: &Ty) -> Self {
        let mut found = Self::default();
        map_ty(ty, &mut found);
        found
    }
}
