//! The two walks over a definition, and the results of the first that the second uses.
//!
//! Types and sizes are inferred one after the other, as in the reference's checker since 0.27: the
//! *first walk* infers types and ignores sizes; the *second walk* visits the same syntax again with
//! all types known, and infers their sizes. Where a join (`if`, `match`, `loop`), a constructor or
//! a use of a polymorphic function needs the sizes of a type, the whole type is known by then, and
//! no size is lost in a type that is still open.
//!
//! The first walk records each type that it leaves to inference, in the order of the requests. The
//! second makes the same requests in the same order and gets the *shape* (the type without sizes)
//! with new open sizes. A definition without sizes needs no second walk.
//!
//! A recursive function without a declared result has any sizes at its uses in the second walk, as
//! in the reference ([`crate::definition`]). If these differ from those of the resulting function, the
//! second walk is repeated with other settings ([`WalkOptions`]).
//!
//! Needs: both walks request inferred types in the same order, whatever the types are.

use crate::infer::variables::{TablesMark, TyVarData};
use crate::infer::{Infer, InferTables, MAX_DEPTH, Origin, TyState, VarState};
use crate::tast::{ArrowTy, Dim, RetType, Ty, TyVarId, TypeArgs, VarId};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::Liftedness;

/// The walk being made, with its record of inferred types.
pub(crate) enum Walk {
    /// The first walk: types are inferred, sizes ignored.
    InferTypes(Recorded),
    /// The second walk: sizes are inferred.
    InferSizes(ErasedTypes),
}

/// The types that the first walk left to inference.
#[derive(Default)]
pub(crate) struct Recorded {
    /// Types, in the order of the requests.
    types: Vec<Ty>,
    /// Explicit type parameters, in order.
    params: Vec<TyVarId>,
}

/// A type whose sizes have no meaning.
struct ErasedType {
    ty: Ty,
    /// True if it has neither sizes nor variables of the first walk.
    complete: bool,
}

/// The results of the first walk, and the positions of the second walk in them.
#[derive(Default)]
pub(crate) struct ErasedTypes {
    found: Rc<Found>,
    /// The number of recorded types requested so far.
    next_type: usize,
    /// The number of explicit type parameters created so far.
    next_param: usize,
    /// The settings of this walk.
    options: WalkOptions,
    /// Variables of the second walk, by those of the first.
    renamed: FxHashMap<TyVarId, TyVarId>,
}

/// The results of the first walk.
#[derive(Default)]
struct Found {
    /// The recorded types.
    shapes: Vec<ErasedType>,
    /// The explicit type parameters of the first walk.
    params: Vec<TyVarId>,
    /// Variables of the first walk that stayed open.
    open: FxHashMap<TyVarId, TyVarData>,
}

/// The settings of a second walk. The first attempt has the default; another may follow if it
/// fails.
#[derive(Clone, Copy, Default)]
pub(crate) struct WalkOptions {
    /// Recursive uses of a function without a declared result have unknown sizes in their results;
    /// uses of one with a declared result have the anonymous sizes of its parameters.
    pub(crate) unknown_results: bool,
    /// Sizes of loop parameters are not unified with others where branches join, so that they may
    /// vary.
    pub(crate) loose_loops: bool,
}

impl ErasedTypes {
    /// The same results, for another second walk with these settings.
    fn retry_with(&self, options: WalkOptions) -> Self {
        Self { found: Rc::clone(&self.found), options, ..Self::default() }
    }
}

impl Walk {
    /// The start of a first walk.
    pub(crate) fn first() -> Self {
        Self::InferTypes(Recorded::default())
    }

    /// A second walk that requests no inferred types.
    pub(crate) fn known() -> Self {
        Self::InferSizes(ErasedTypes::default())
    }
}

impl Infer<'_> {
    /// Returns true in the second walk.
    pub(crate) const fn infers_sizes(&self) -> bool {
        matches!(self.walk, Walk::InferSizes(_))
    }

    /// The settings of this walk.
    pub(crate) fn walk_options(&self) -> WalkOptions {
        match &self.walk {
            Walk::InferTypes(_) => WalkOptions::default(),
            Walk::InferSizes(shapes) => shapes.options,
        }
    }

    /// The results of the first walk, for another second walk with these settings.
    pub(crate) fn retry(&self, options: WalkOptions) -> Option<ErasedTypes> {
        match &self.walk {
            Walk::InferTypes(_) => None,
            Walk::InferSizes(shapes) => Some(shapes.retry_with(options)),
        }
    }

    /// In the first walk, records a type that the second will request, and returns its slot.
    pub(crate) fn record(&mut self, ty: &Ty) -> usize {
        match &mut self.walk {
            Walk::InferTypes(recorded) => {
                recorded.types.push(ty.clone());
                recorded.types.len() - 1
            }
            Walk::InferSizes(_) => 0,
        }
    }

    /// Replaces the type in a recorded slot.
    pub(crate) fn record_at(&mut self, slot: usize, ty: &Ty) {
        if let Walk::InferTypes(recorded) = &mut self.walk
            && let Some(recorded_ty) = recorded.types.get_mut(slot)
        {
            *recorded_ty = ty.clone();
        }
    }

    /// Skips a type that is known without inference, so that both walks count it even if only the
    /// second knows it.
    pub(crate) fn skip_recorded(&mut self) {
        match &mut self.walk {
            Walk::InferTypes(recorded) => recorded.types.push(Ty::BOOL),
            Walk::InferSizes(shapes) => shapes.next_type += 1,
        }
    }

    /// In the second walk, the next of the recorded types, with new open sizes.
    pub(crate) fn recall(&mut self, origin: Origin) -> Option<Ty> {
        let Walk::InferSizes(shapes) = &mut self.walk else {
            return None;
        };
        let shape = shapes.found.shapes.get(shapes.next_type)?;
        shapes.next_type += 1;
        if shape.complete {
            return Some(shape.ty.clone());
        }
        let ty = shape.ty.clone();
        Some(self.sized(&ty, &mut SizeReplacement::Open(origin)))
    }

    /// Records an explicit type parameter, which both walks create.
    pub(crate) fn note_param(&mut self, param: TyVarId) {
        match &mut self.walk {
            Walk::InferTypes(recorded) => recorded.params.push(param),
            Walk::InferSizes(shapes) => {
                if let Some(first) = shapes.found.params.get(shapes.next_param) {
                    shapes.renamed.insert(*first, param);
                }
                shapes.next_param += 1;
            }
        }
    }

    /// An instantiated type at a further occurrence of its type parameter: each size is a copy.
    pub(crate) fn copy_of(&mut self, ty: &Ty) -> Ty {
        self.tables.occurrences += 1;
        let occurrence = self.tables.occurrences;
        self.sized(ty, &mut SizeReplacement::Copies(occurrence))
    }

    /// The type with new sizes.
    fn sized(&mut self, ty: &Ty, fresh: &mut SizeReplacement) -> Ty {
        match ty {
            Ty::Scalar(_) => ty.clone(),
            // Copies are made of types of this walk.
            Ty::Var(var) => match fresh {
                SizeReplacement::Open(_) => Ty::Var(self.renamed(*var)),
                SizeReplacement::Copies(_) => ty.clone(),
            },
            Ty::Array(array) => {
                let dim = self.size_like(&array.dim, fresh);
                Ty::array(dim, self.sized(&array.elem, fresh))
            }
            Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(|ty| self.sized(ty, fresh)).collect()),
            Ty::Record(fields) => {
                let field = |(label, ty): &(_, Ty)| (Arc::clone(label), self.sized(ty, fresh));
                Ty::Record(fields.iter().map(field).collect())
            }
            Ty::Sum(constrs) => Ty::Sum(
                constrs
                    .iter()
                    .map(|(label, payload)| {
                        let payload = payload.iter().map(|ty| self.sized(ty, fresh)).collect();
                        (Arc::clone(label), payload)
                    })
                    .collect(),
            ),
            Ty::Arrow(arrow) => {
                let name = arrow.name.map(|name| match fresh {
                    SizeReplacement::Open(_) => self.binder(name),
                    // The sizes of all occurrences are linked to one name.
                    SizeReplacement::Copies(_) => name,
                });
                let param = self.sized(&arrow.param, fresh);
                let ret = self.sized(&arrow.ret.ty, fresh);
                Ty::Arrow(Arc::new(ArrowTy {
                    name,
                    param,
                    consumes: arrow.consumes.clone(),
                    ret: RetType { existential_sizes: Vec::new(), ty: ret, unique: arrow.ret.unique.clone() },
                }))
            }
            Ty::Abstract(id, args) => {
                let types = args.types.iter().map(|ty| self.sized(ty, fresh)).collect();
                let dims = args.dims.iter().map(|dim| self.size_like(dim, fresh));
                let dims = dims.collect();
                Ty::Abstract(*id, Arc::new(TypeArgs { types, dims }))
            }
        }
    }

    fn size_like(&mut self, dim: &Dim, fresh: &SizeReplacement) -> Dim {
        match (fresh, dim) {
            (SizeReplacement::Open(origin), _) => self.open_size(UNNAMED, *origin),
            (SizeReplacement::Copies(occurrence), Dim::Var(of)) => {
                let data = self.tables.var(*of);
                let (name, of) = (Arc::clone(&data.name), self.tables.canonical(*of));
                let state = VarState::Copy { of, occurrence: *occurrence };
                Dim::Var(self.tables.new_var(name, state, self.depth))
            }
            (SizeReplacement::Copies(_), dim) => dim.clone(),
        }
    }

    /// A parameter name of an instantiated function type.
    fn binder(&mut self, name: VarId) -> VarId {
        let text = match self.tables.vars.get(name.index()) {
            Some(data) => Arc::clone(&data.name),
            None => Arc::from("n"),
        };
        let new = self.tables.new_var(text, VarState::Value, super::unify::BOUND_DEPTH);
        self.tables.var_mut(new).is_param_name = true;
        new
    }

    /// The variable of the second walk for one of the first.
    fn renamed(&mut self, var: TyVarId) -> TyVarId {
        let Walk::InferSizes(shapes) = &mut self.walk else {
            return var;
        };
        if let Some(new) = shapes.renamed.get(&var) {
            return *new;
        }
        let Some(data) = shapes.found.open.get(&var) else {
            return var;
        };
        let name = Arc::clone(&data.name);
        let new = (self.tables).new_ty_var(name, false, data.lifted, data.depth);
        self.tables.ty_var_mut(new).span = data.span;
        shapes.renamed.insert(var, new);
        new
    }

    /// Ends the first walk: returns the shapes of the types that it left to inference. Variables
    /// from `mark` on are its own. `None` if no second walk is needed: there are no sizes, or a
    /// type is too large.
    pub(crate) fn shapes(&mut self, mark: TablesMark) -> Option<ErasedTypes> {
        let Walk::InferTypes(recorded) = &mut self.walk else {
            return None;
        };
        if !self.tables.saw_sizes || self.tables.too_large.get() {
            return None;
        }
        let Recorded { types, params } = std::mem::take(recorded);
        let mut erase = Erase {
            tables: self.tables,
            first_var: TyVarId::new(mark.ty_vars),
            known: FxHashMap::default(),
            open: FxHashMap::default(),
            budget: 0,
        };
        let shapes = types.iter().map(|ty| {
            let Erased { ty, complete, .. } = erase.checked(ty);
            ErasedType { ty, complete }
        });
        let shapes = shapes.collect();
        let mut open = erase.open;
        for param in &params {
            open.remove(param);
        }
        let found = Found { shapes, params, open };
        let shapes = ErasedTypes { found: Rc::new(found), ..ErasedTypes::default() };
        (!self.tables.too_large.get()).then_some(shapes)
    }
}

/// The name of unnamed sizes; unified with a named size, they take its name.
pub(crate) const UNNAMED: &str = "d";

/// The kind of replacement of sizes.
enum SizeReplacement {
    /// New open sizes.
    Open(Origin),
    /// Copies, for this occurrence.
    Copies(u32),
}

/// Removes the sizes from solved types.
struct Erase<'t> {
    tables: &'t InferTables,
    /// The first variable of the walk.
    first_var: TyVarId,
    known: FxHashMap<TyVarId, Erased>,
    open: FxHashMap<TyVarId, TyVarData>,
    /// The number of parts of the type that may still be visited.
    budget: u32,
}

/// A type without sizes, and its extent.
#[derive(Clone)]
struct Erased {
    ty: Ty,
    complete: bool,
    parts: u32,
    depth: u32,
}

impl Erased {
    /// A type with these parts; `sized` is true if it has sizes of its own.
    fn of(ty: Ty, sized: bool, parts: &[Self]) -> Self {
        let count = |sum: u32, part: &Self| sum.saturating_add(part.parts);
        Self {
            ty,
            complete: !sized && parts.iter().all(|part| part.complete),
            parts: parts.iter().fold(1, count),
            depth: parts.iter().map(|part| part.depth).max().unwrap_or(0) + 1,
        }
    }
}

impl Erase<'_> {
    /// As [`Erase::ty`]; a type that is too large is recorded and becomes `()`.
    fn checked(&mut self, ty: &Ty) -> Erased {
        let limit = self.tables.max_parts();
        self.budget = limit;
        let erased = self.ty(ty);
        if self.budget == 0 || erased.parts > limit || erased.depth > MAX_DEPTH {
            self.tables.too_large.set(true);
            return Erased::of(Ty::unit(), false, &[]);
        }
        erased
    }

    fn ty(&mut self, ty: &Ty) -> Erased {
        if self.budget == 0 {
            return Erased::of(Ty::unit(), false, &[]);
        }
        self.budget -= 1;
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || self.ty_inner(ty))
    }

    fn ty_inner(&mut self, ty: &Ty) -> Erased {
        match ty {
            Ty::Scalar(_) => Erased::of(ty.clone(), false, &[]),
            Ty::Var(var) => self.var(*var),
            Ty::Array(array) => {
                let elem = self.ty(&array.elem);
                Erased::of(Ty::array(Dim::Any, elem.ty.clone()), true, &[elem])
            }
            Ty::Tuple(parts) => {
                let parts: Vec<Erased> = parts.iter().map(|ty| self.ty(ty)).collect();
                let ty = Ty::Tuple(parts.iter().map(|part| part.ty.clone()).collect());
                Erased::of(ty, false, &parts)
            }
            Ty::Record(fields) => {
                let parts: Vec<Erased> = fields.iter().map(|(_, ty)| self.ty(ty)).collect();
                let labels = fields.iter().map(|(label, _)| Arc::clone(label));
                let types = parts.iter().map(|part| part.ty.clone());
                let ty = Ty::Record(labels.zip(types).collect());
                Erased::of(ty, false, &parts)
            }
            Ty::Sum(constrs) => {
                let mut parts = Vec::new();
                let mut out = Vec::with_capacity(constrs.len());
                for (label, payload) in constrs.iter() {
                    let from = parts.len();
                    parts.extend(payload.iter().map(|ty| self.ty(ty)));
                    let payload = parts[from..].iter().map(|part| part.ty.clone()).collect();
                    out.push((Arc::clone(label), payload));
                }
                Erased::of(Ty::Sum(Arc::from(out)), false, &parts)
            }
            Ty::Arrow(arrow) => {
                let (param, ret) = (self.ty(&arrow.param), self.ty(&arrow.ret.ty));
                let name = arrow.name.filter(|_| param.ty == Ty::I64);
                let ty = Ty::Arrow(Arc::new(ArrowTy {
                    name,
                    param: param.ty.clone(),
                    consumes: arrow.consumes.clone(),
                    ret: RetType {
                        existential_sizes: Vec::new(),
                        ty: ret.ty.clone(),
                        unique: arrow.ret.unique.clone(),
                    },
                }));
                Erased::of(ty, name.is_some(), &[param, ret])
            }
            Ty::Abstract(id, args) => {
                let parts: Vec<Erased> = args.types.iter().map(|ty| self.ty(ty)).collect();
                let types = parts.iter().map(|part| part.ty.clone()).collect();
                let dims = vec![Dim::Any; args.dims.len()];
                let sized = !dims.is_empty();
                let ty = Ty::Abstract(*id, Arc::new(TypeArgs { types, dims }));
                Erased::of(ty, sized, &parts)
            }
        }
    }

    fn var(&mut self, var: TyVarId) -> Erased {
        if let TyState::Solved(ty) = &self.tables.ty_var(var).state {
            if let Ty::Scalar(_) = ty {
                return Erased::of(ty.clone(), false, &[]);
            }
            if let Some(known) = self.known.get(&var) {
                return known.clone();
            }
            let erased = self.ty(ty);
            self.known.insert(var, erased.clone());
            return erased;
        }
        let of_this_walk = var >= self.first_var;
        if of_this_walk {
            let data = || self.tables.ty_var(var).clone();
            self.open.entry(var).or_insert_with(data);
        }
        Erased::of(Ty::Var(var), of_this_walk, &[])
    }
}

/// Returns true if sizes of a type parameter of this liftedness may be existential, so that each
/// occurrence needs sizes of its own.
pub(crate) const fn may_be_existential(lifted: Liftedness) -> bool {
    !matches!(lifted, Liftedness::Unlifted)
}
