//! Resolution of types: variables are replaced by their solutions, and at the end of a definition
//! abstract types by their representations.

use crate::infer::{InferTables, TyState, VarState};
use crate::subst::{TypeMapper, map_dim, map_ty};
use crate::tast::{AbstractTypeId, Dim, Exp, RetType, Ty, TyVarId, TypeArgs, VarId};
use rustc_hash::FxHashMap;

/// The maximum number of parts of a type: a short program can have types of exponential size.
pub(crate) const MAX_PARTS: u32 = 50_000;

/// The maximum nesting of a type. Each parameter of a function is a level.
pub(crate) const MAX_DEPTH: u32 = 500;

/// The maximum number of operations and the maximum nesting of a size; larger sizes are unknown.
const MAX_SIZE: (u32, u32) = (2000, 200);

/// The extent of a type walked so far.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    /// The number of operations and the current nesting of the size being walked.
    size: (u32, u32),
    parts: u32,
    depth: u32,
    deepest: u32,
    /// True if the type is too large, and parts of it were left out.
    over: bool,
}

impl Extent {
    /// Enters a compound type; returns false if the type is too large.
    pub(crate) fn enter(&mut self, parts: usize, limit: u32) -> bool {
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        self.add(parts.saturating_add(1), 1, limit);
        if !self.over {
            self.depth += 1;
        }
        !self.over
    }

    /// Leaves the compound type entered last.
    pub(crate) const fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Enters an operation on sizes; returns false if the size is too large.
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

    /// Leaves the operation entered last.
    pub(crate) const fn leave_size(&mut self) {
        self.size.1 -= 1;
    }

    /// Adds a part of known extent.
    fn add(&mut self, parts: u32, depth: u32, limit: u32) {
        self.parts = self.parts.saturating_add(parts);
        self.deepest = self.deepest.max(self.depth + depth);
        self.over |= self.parts > limit || self.deepest > MAX_DEPTH;
    }
}

impl InferTables {
    /// The type with all solved variables replaced. A type that is too large is recorded and
    /// becomes `()`.
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
}

/// Replaces solved variables.
struct Resolve<'t> {
    tables: &'t InferTables,
    extent: Extent,
    limit: u32,
}

impl<'t> Resolve<'t> {
    fn new(tables: &'t InferTables) -> Self {
        Self { tables, extent: Extent::default(), limit: tables.max_parts() }
    }
}

impl TypeMapper for Resolve<'_> {
    fn extent(&mut self) -> Option<(&mut Extent, u32)> {
        Some((&mut self.extent, self.limit))
    }

    fn ty_var(&mut self, var: TyVarId) -> Option<Ty> {
        let tables = self.tables;
        match &tables.ty_var(var).state {
            TyState::Solved(ty) => Some(map_ty(ty, self).unwrap_or_else(|| ty.clone())),
            TyState::Open | TyState::Rigid | TyState::Error => None,
        }
    }

    fn dim_var(&mut self, var: VarId) -> Option<Dim> {
        let tables = self.tables;
        match &tables.var(var).state {
            VarState::Solved(dim) => Some(map_dim(dim, self).unwrap_or_else(|| dim.clone())),
            VarState::Copy { of, .. } if tables.is_solved(*of) => self.dim_var(*of),
            VarState::Copy { .. }
            | VarState::Existential { .. }
            | VarState::Open(_)
            | VarState::Value
            | VarState::Unknown => None,
        }
    }
}

/// Replaces solved variables, and abstract types by their representations. The result for a
/// variable is cached, so that equal types share their parts.
pub(crate) struct ResolveAbstract<'t> {
    tables: &'t InferTables,
    extent: Extent,
    /// Solutions, with their number of parts and their depth.
    known: FxHashMap<TyVarId, (Ty, u32, u32)>,
    /// True if abstract types and existential sizes that the program computes are kept.
    keep_abstract: bool,
    /// True if any were kept.
    pub(crate) kept: bool,
    /// True if a type had an error.
    pub(crate) has_error: bool,
}

impl<'t> ResolveAbstract<'t> {
    pub(crate) fn new(tables: &'t InferTables) -> Self {
        Self::keeping(tables, false)
    }

    /// As [`ResolveAbstract::new`], but with `keep`, abstract types and existential sizes that the program
    /// computes are kept.
    pub(crate) fn keeping(tables: &'t InferTables, keep: bool) -> Self {
        Self {
            tables,
            keep_abstract: keep,
            kept: false,
            has_error: false,
            extent: Extent::default(),
            known: FxHashMap::default(),
        }
    }

    /// The type with everything replaced; `None` if nothing changed. A type that is too large is
    /// recorded and becomes `()`.
    pub(crate) fn ty(&mut self, ty: &Ty) -> Option<Ty> {
        self.extent = Extent::default();
        let new = map_ty(ty, self);
        if self.extent.over {
            self.tables.too_large.set(true);
            return Some(Ty::unit());
        }
        new
    }

    /// As [`ResolveAbstract::ty`], for the result of a function.
    pub(crate) fn ret(&mut self, ret: &mut RetType) {
        if let Some(ty) = self.ty(&ret.ty) {
            ret.ty = ty;
        }
    }

    /// As [`ResolveAbstract::ty`], for a size.
    pub(crate) fn dim(&mut self, dim: &Dim) -> Option<Dim> {
        self.extent = Extent::default();
        map_dim(dim, self)
    }
}

impl TypeMapper for ResolveAbstract<'_> {
    fn extent(&mut self) -> Option<(&mut Extent, u32)> {
        Some((&mut self.extent, self.tables.max_parts()))
    }

    fn ty_var(&mut self, var: TyVarId) -> Option<Ty> {
        let tables = self.tables;
        let ty = match &tables.ty_var(var).state {
            TyState::Solved(ty) => ty,
            TyState::Open | TyState::Rigid => return None,
            TyState::Error => {
                self.has_error = true;
                return None;
            }
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
            VarState::Copy { of, .. } => self.dim_var(*of),
            // Expressions that need it are reported (`post_inference::causality`).
            VarState::Existential { computed: Some(_), .. } if self.keep_abstract => {
                self.kept = true;
                None
            }
            // Nothing determined it, or it is bound in a function's type: it is read off a value
            // where it is needed.
            VarState::Open(_) | VarState::Existential { .. } => Some(Dim::Any),
            VarState::Value | VarState::Unknown => None,
        }
    }

    fn node(&mut self, exp: &mut Exp) -> bool {
        super::zonk::resolve_overloading(exp, self.tables)
    }

    fn abstract_ty(&mut self, id: AbstractTypeId, args: &TypeArgs) -> Option<Ty> {
        let repr = self.tables.abstracts.get(id.index())?.repr.clone()?;
        if self.keep_abstract {
            self.kept = true;
            return None;
        }
        let ty = repr.apply(&args.types, &args.dims);
        Some(map_ty(&ty, self).unwrap_or(ty))
    }
}
