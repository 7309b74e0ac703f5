//! Unification of types and sizes.
//!
//! [`Unifier::unify`] makes an expected and a found type equal by solving open variables. The first
//! walk over a definition solves types and ignores sizes ([`Sizes::Ignore`]); in the second, types
//! are known and sizes are solved. The two sides differ for functions with existential results
//! only: a function that promises nothing about a size cannot replace one with a definite result.
//! Equations of sizes that cannot be decided yet are deferred and retried by [`Unifier::solve_deferred`].
//!
//! A size that is bound in a function's type (a parameter name, an existential size) does not
//! belong to a scope. If an open size of an instantiated type ([`Origin::Instance`]) is unified
//! with one, it is linked to it if it is a parameter name of the instantiated type itself, and else
//! becomes existential (the reference's "absorption").

mod sizes;

use crate::infer::{
    Constraint, FreeVars, InferTables, MAX_DEPTH, Origin, Scalars, TyState, VarState, has_sizes,
};
use crate::subst::Subst;
use crate::tast::{ArrowTy, Dim, Name, Ty, TyVarId, VarId};
use std::sync::Arc;
use syntax::ast::Liftedness;
use syntax::span::Span;

/// A depth below every scope: the values of all scopes are visible.
pub(crate) const INNERMOST: u32 = u32::MAX - 1;

/// A depth below every scope, for variables bound in types.
pub(super) const BOUND_DEPTH: u32 = u32::MAX;

/// The reason why two types do not match.
#[derive(Clone, Debug)]
pub(crate) enum Mismatch {
    /// These parts differ: expected, found.
    Types(Ty, Ty),
    /// These sizes differ: expected, found.
    Sizes(Dim, Dim),
    /// The variable would have to contain itself.
    Infinite(TyVarId, Ty),
    /// The size is not visible in the scope of the type.
    Escapes(Dim),
    /// The rigid type variable is not visible in the scope of the type.
    TypeEscapes(TyVarId),
    /// Functions (or existential sizes) are not allowed here.
    Lifted(Ty),
    /// A scalar type of the set is required.
    NotScalar(Scalars, Ty),
    /// No scalar type is in both sets.
    Scalars(Scalars, Scalars),
    /// The type has no such field.
    NoField(Name, Ty),
    /// The type has no such constructor.
    NoConstr(Name, Ty),
    /// The type has too many parts or is nested too deeply.
    TooLarge,
    /// The size of the result may differ at each call.
    Existential,
}

type Result<T = ()> = std::result::Result<T, Mismatch>;

/// Two sizes that must be equal and could not be compared yet.
pub(crate) type Deferred = (Dim, Dim);

/// The treatment of sizes in unification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sizes {
    /// They must be equal.
    Strict,
    /// They may differ; none is solved.
    Ignore,
    /// They may differ. Open sizes are solved where possible, except for anonymous sizes older than
    /// this variable: branches that differ in the sizes of parameters do not make these equal.
    Join(VarId),
    /// As [`Sizes::Join`], but sizes of loop parameters are not solved either.
    LooseJoin(VarId),
}

/// The state of a unification: its mode and deferred equations.
pub(crate) struct Unifier<'t> {
    tables: &'t mut InferTables,
    sizes: Sizes,
    /// The span that it is made for.
    span: Span,
    pub(super) deferred: Vec<Deferred>,
    /// The number of parts of types that may still be visited.
    budget: u32,
    /// The current nesting in a type.
    nesting: u32,
    /// True in the element type of an array.
    in_array: bool,
    /// True in a type that solves a type variable.
    instance: bool,
}

impl<'t> Unifier<'t> {
    /// A unification for a place.
    pub(super) fn new(tables: &'t mut InferTables, sizes: Sizes, span: Span) -> Self {
        Self {
            budget: tables.max_parts(),
            tables,
            sizes,
            span,
            deferred: Vec::new(),
            nesting: 0,
            in_array: false,
            instance: false,
        }
    }
}

impl Unifier<'_> {
    /// Unifies `found` with `expected`.
    pub(crate) fn unify(&mut self, expected: &Ty, found: &Ty) -> Result {
        let a = self.tables.resolve_head(expected);
        let b = self.tables.resolve_head(found);
        self.nested(|u| u.unify_parts(&a, &b))
    }

    /// Enters a type one level deeper; fails if there are too many parts or levels.
    fn nested(&mut self, f: impl FnOnce(&mut Self) -> Result) -> Result {
        if self.budget == 0 || self.nesting > MAX_DEPTH {
            return Err(Mismatch::TooLarge);
        }
        self.budget -= 1;
        self.nesting += 1;
        let result = stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || f(self));
        self.nesting -= 1;
        result
    }

    /// As [`Unifier::unify`], with the outermost variables replaced.
    fn unify_parts(&mut self, a: &Ty, b: &Ty) -> Result {
        match (a, b) {
            (Ty::Var(x), Ty::Var(y)) if x == y => Ok(()),
            (error, other) | (other, error) if error.is_error() => {
                self.unify_with_error(other);
                Ok(())
            }
            (Ty::Var(x), Ty::Var(y)) if self.open(*x) && self.open(*y) => self.union_vars(*x, *y),
            (Ty::Var(x), _) if self.open(*x) => self.solve(*x, b),
            (_, Ty::Var(y)) if self.open(*y) => self.solve(*y, a),
            (Ty::Scalar(x), Ty::Scalar(y)) if x == y => Ok(()),
            (Ty::Array(x), Ty::Array(y)) => {
                self.unify_dims(&x.dim, &y.dim)?;
                self.unify(&x.elem, &y.elem)
            }
            (Ty::Tuple(x), Ty::Tuple(y)) if x.len() == y.len() => {
                x.iter().zip(y.iter()).try_for_each(|(x, y)| self.unify(x, y))
            }
            (Ty::Record(x), Ty::Record(y))
                if x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| x.0 == y.0) =>
            {
                x.iter().zip(y.iter()).try_for_each(|(x, y)| self.unify(&x.1, &y.1))
            }
            (Ty::Sum(x), Ty::Sum(y))
                if x.len() == y.len()
                    && x.iter().zip(y.iter()).all(|(x, y)| x.0 == y.0 && x.1.len() == y.1.len()) =>
            {
                x.iter()
                    .zip(y.iter())
                    .flat_map(|(x, y)| x.1.iter().zip(y.1.iter()))
                    .try_for_each(|(x, y)| self.unify(x, y))
            }
            (Ty::Arrow(x), Ty::Arrow(y)) => self.unify_arrows(x, y),
            (Ty::Abstract(x, args), Ty::Abstract(y, brgs)) if x == y => {
                for (x, y) in args.types.iter().zip(&brgs.types) {
                    self.unify(x, y)?;
                }
                args.dims.iter().zip(&brgs.dims).try_for_each(|(x, y)| self.unify_dims(x, y))
            }
            _ => Err(Mismatch::Types(a.clone(), b.clone())),
        }
    }

    /// Solves the open variables in a type by [`Ty::ERROR`], except for number types.
    fn unify_with_error(&mut self, ty: &Ty) {
        let mut types = vec![ty.clone()];
        while let Some(ty) = types.pop() {
            for var in FreeVars::of(&self.tables.resolve(&ty)).types {
                let data = self.tables.ty_var_mut(var);
                let is_number = matches!(data.constraint, Constraint::Scalars(_));
                if matches!(data.state, TyState::Open) && !is_number {
                    data.state = TyState::Solved(Ty::ERROR);
                    types.extend(data.constraint.parts());
                }
            }
        }
    }

    fn open(&self, var: TyVarId) -> bool {
        matches!(self.tables.ty_var(var).state, TyState::Open)
    }

    fn unify_arrows(&mut self, x: &Arc<ArrowTy>, y: &Arc<ArrowTy>) -> Result {
        self.unify(&y.param, &x.param)?;
        if self.sizes == Sizes::Ignore {
            return self.unify(&x.ret.ty, &y.ret.ty);
        }
        let mut left = Subst::default();
        let mut right = Subst::default();
        let common = self.common_name(x.name, y.name);
        if let Some(common) = common {
            left.dims.extend(x.name.map(|v| (v, Dim::Var(common))));
            right.dims.extend(y.name.map(|v| (v, Dim::Var(common))));
        }
        let mut opened = Vec::with_capacity(x.ret.existential_sizes.len());
        for ext in &x.ret.existential_sizes {
            let name = Arc::clone(&self.tables.var(*ext).name);
            let open = self.tables.new_open(name, Origin::Plain, BOUND_DEPTH);
            left.dims.push((*ext, Dim::Var(open)));
            opened.push((*ext, open));
        }
        for ext in &y.ret.existential_sizes {
            let name = Arc::clone(&self.tables.var(*ext).name);
            let rigid = self.tables.new_var(name, VarState::Unknown, BOUND_DEPTH);
            right.dims.push((*ext, Dim::Var(rigid)));
        }
        // Solved sizes may mention the replaced variables.
        let replaced = |u: &Self, subst: &mut Subst, ty: &Ty| {
            if subst.is_empty() { ty.clone() } else { subst.ty(&u.tables.resolve(ty)) }
        };
        let expected = replaced(self, &mut left, &x.ret.ty);
        let found = replaced(self, &mut right, &y.ret.ty);
        self.unify(&expected, &found)?;
        for (ext, open) in opened {
            self.absorb_declared(ext, open);
        }
        if let Some(common) = common {
            self.link_param_names(&[(x.name, &x.ret.ty), (y.name, &y.ret.ty)], common);
        }
        Ok(())
    }

    /// A common name for the parameters of two function types, if either has one.
    fn common_name(&mut self, x: Option<VarId>, y: Option<VarId>) -> Option<VarId> {
        let name = Arc::clone(&self.tables.var(x.or(y)?).name);
        // A type without a parameter name has no size that depends on the parameter.
        let is_binder = |v: VarId| self.tables.var(v).is_param_name;
        let binder = matches!((x, y), (Some(x), Some(y)) if is_binder(x) || is_binder(y));
        let common = self.tables.new_var(name, VarState::Value, BOUND_DEPTH);
        self.tables.var_mut(common).is_param_name = binder;
        Some(common)
    }

    /// Links sizes that were solved by the common parameter name to the parameter name of their own
    /// type.
    fn link_param_names(&mut self, sides: &[(Option<VarId>, &Ty)], common: VarId) {
        let mut links = Vec::new();
        for (name, ty) in sides {
            let Some(name) = name else { continue };
            for var in FreeVars::of(ty).dims {
                if !self.tables.is_solved(var) {
                    continue;
                }
                let dim = self.tables.resolve_dim(&Dim::Var(var));
                if sizes::mentions_dim(&dim, common) {
                    let mut own = Subst::default();
                    own.dims.push((common, Dim::Var(*name)));
                    links.push((var, own.size(&dim)));
                }
            }
        }
        for (var, dim) in links {
            self.tables.var_mut(var).state = VarState::Solved(dim);
        }
    }

    /// If a declared existential size was unified with a size that may be existential, makes that
    /// existential.
    fn absorb_declared(&mut self, ext: VarId, open: VarId) {
        if let Dim::Var(var) = self.tables.resolve_dim(&Dim::Var(open)) {
            let computed = match self.tables.var(ext).state {
                VarState::Unknown => self.tables.var(ext).span.or(Some(self.span)),
                _ => None,
            };
            self.absorb(var, Some(ext), computed);
        }
    }

    /// Makes an open size existential, if it may be; returns true if it is existential then.
    fn absorb(&mut self, var: VarId, source: Option<VarId>, computed: Option<Span>) -> bool {
        if self.tables.is_existential(var) {
            return true;
        }
        let var = self.tables.canonical(var);
        let may = matches!(
            self.tables.var(var).state,
            VarState::Open(Origin::Instance(lifted)) if lifted != Liftedness::Unlifted
        );
        if may {
            self.tables.absorbed |= computed.is_some();
            self.tables.var_mut(var).state = VarState::Existential { source, computed };
        }
        may
    }

    /// Unifies two open variables.
    fn union_vars(&mut self, x: TyVarId, y: TyVarId) -> Result {
        let a = self.tables.ty_var(x).clone();
        let b = self.tables.ty_var(y).clone();
        let constraint = self.merge_constraints(a.constraint, b.constraint)?;
        // Union by rank, so that chains are short.
        let (representative, solved) = if a.rank >= b.rank { (x, y) } else { (y, x) };
        let data = self.tables.ty_var_mut(representative);
        data.constraint = constraint;
        data.lifted = less_lifted(a.lifted, b.lifted);
        data.depth = a.depth.min(b.depth);
        data.rank = a.rank.max(b.rank) + u8::from(a.rank == b.rank);
        self.tables.ty_var_mut(solved).state = TyState::Solved(Ty::Var(representative));
        Ok(())
    }

    fn merge_constraints(&mut self, a: Constraint, b: Constraint) -> Result<Constraint> {
        Ok(match (a, b) {
            (Constraint::None, other) | (other, Constraint::None) => other,
            (Constraint::Scalars(x), Constraint::Scalars(y)) => {
                let both = Scalars(x.0 & y.0);
                if both == Scalars::NONE {
                    return Err(Mismatch::Scalars(x, y));
                }
                Constraint::Scalars(both)
            }
            (Constraint::Fields(mut x), Constraint::Fields(y)) => {
                for (label, ty) in y {
                    if let Some((_, old)) = x.iter().find(|(l, _)| *l == label) {
                        self.unify(&old.clone(), &ty)?;
                    } else {
                        x.push((label, ty));
                    }
                }
                Constraint::Fields(x)
            }
            (Constraint::Constrs(mut x), Constraint::Constrs(y)) => {
                for (label, payload) in y {
                    if let Some((_, old)) = x.iter().find(|(l, _)| *l == label) {
                        let old = old.clone();
                        self.unify_payloads(&label, &old, &payload)?;
                    } else {
                        x.push((label, payload));
                    }
                }
                Constraint::Constrs(x)
            }
            (Constraint::Scalars(x), other) | (other, Constraint::Scalars(x)) => {
                return Err(Mismatch::NotScalar(x, describe(&other)));
            }
            (Constraint::Fields(x), Constraint::Constrs(_))
            | (Constraint::Constrs(_), Constraint::Fields(x)) => {
                let label = x.first().map_or_else(|| Arc::from("0"), |(l, _)| Arc::clone(l));
                return Err(Mismatch::NoField(label, Ty::Sum(Arc::from([]))));
            }
        })
    }

    fn unify_payloads(&mut self, label: &Name, x: &[Ty], y: &[Ty]) -> Result {
        if x.len() != y.len() {
            let sum = |p: &[Ty]| Ty::Sum(Arc::from([(Arc::clone(label), Arc::from(p))]));
            return Err(Mismatch::Types(sum(x), sum(y)));
        }
        x.iter().zip(y).try_for_each(|(x, y)| self.unify(x, y))
    }

    /// Solves an open variable by a type that is not an open variable.
    fn solve(&mut self, var: TyVarId, ty: &Ty) -> Result {
        let data = self.tables.ty_var(var);
        let (depth, lifted) = (data.depth, data.lifted);
        let constraint = data.constraint.clone();
        match constraint {
            Constraint::None => {}
            Constraint::Scalars(set) => match ty {
                Ty::Scalar(scalar) if set.contains(*scalar) => {}
                _ => return Err(Mismatch::NotScalar(set, ty.clone())),
            },
            Constraint::Fields(fields) => {
                for (label, field) in fields {
                    let Some(actual) = ty.field(&label) else {
                        return Err(Mismatch::NoField(label, ty.clone()));
                    };
                    self.unify(&actual.clone(), &field)?;
                }
            }
            Constraint::Constrs(constrs) => {
                for (label, payload) in constrs {
                    let found = match ty {
                        Ty::Sum(all) => all.iter().find(|(l, _)| *l == label),
                        _ => None,
                    };
                    let Some((_, actual)) = found else {
                        return Err(Mismatch::NoConstr(label, ty.clone()));
                    };
                    self.unify_payloads(&label, &Arc::clone(actual), &payload)?;
                }
            }
        }
        let outer = std::mem::replace(&mut self.instance, true);
        let adjusted = self.adjust(var, ty, depth, lifted);
        self.instance = outer;
        adjusted?;
        self.tables.saw_sizes |= has_sizes(ty);
        self.tables.ty_var_mut(var).state = TyState::Solved(ty.clone());
        Ok(())
    }

    /// Checks that `ty` may solve `var`, and moves its open variables to the scope of `var`.
    fn adjust(&mut self, var: TyVarId, ty: &Ty, depth: u32, lifted: Liftedness) -> Result {
        self.nested(|u| u.adjust_parts(var, ty, depth, lifted))
    }

    fn adjust_parts(&mut self, var: TyVarId, ty: &Ty, depth: u32, lifted: Liftedness) -> Result {
        match ty {
            Ty::Scalar(_) => Ok(()),
            Ty::Var(other) if *other == var => Err(Mismatch::Infinite(var, ty.clone())),
            Ty::Var(other) => {
                let data = self.tables.ty_var(*other);
                match &data.state {
                    TyState::Solved(inner) => {
                        let inner = inner.clone();
                        self.adjust(var, &inner, depth, lifted).map_err(|error| widen(error, ty))
                    }
                    TyState::Open => {
                        let new_lifted = less_lifted(data.lifted, lifted);
                        if data.depth > depth || data.lifted != new_lifted {
                            let data = self.tables.ty_var_mut(*other);
                            data.depth = data.depth.min(depth);
                            data.lifted = new_lifted;
                            let parts = data.constraint.parts();
                            return parts.iter().try_for_each(|part| self.adjust(var, part, depth, lifted));
                        }
                        Ok(())
                    }
                    TyState::Rigid if data.depth > depth => Err(Mismatch::TypeEscapes(*other)),
                    TyState::Rigid if less_lifted(data.lifted, lifted) != data.lifted => {
                        Err(Mismatch::Lifted(ty.clone()))
                    }
                    TyState::Rigid | TyState::Error => Ok(()),
                }
            }
            Ty::Array(array) => {
                let outer = std::mem::replace(&mut self.in_array, true);
                let result = self.adjust(var, &array.elem, depth, Liftedness::Unlifted);
                self.in_array = outer;
                result
            }
            Ty::Tuple(parts) => parts.iter().try_for_each(|part| self.adjust(var, part, depth, lifted)),
            Ty::Record(fields) => {
                fields.iter().try_for_each(|(_, part)| self.adjust(var, part, depth, lifted))
            }
            Ty::Sum(constrs) => constrs
                .iter()
                .flat_map(|(_, payload)| payload.iter())
                .try_for_each(|part| self.adjust(var, part, depth, lifted)),
            Ty::Arrow(arrow) => {
                if lifted != Liftedness::Lifted {
                    return Err(Mismatch::Lifted(ty.clone()));
                }
                self.adjust(var, &arrow.param, depth, lifted)?;
                self.adjust(var, &arrow.ret.ty, depth, lifted)
            }
            Ty::Abstract(id, args) => {
                let data = self.tables.abstracts.get(id.index());
                if data.is_some_and(|data| self.is_too_lifted(data.lifted, lifted)) {
                    return Err(Mismatch::Lifted(ty.clone()));
                }
                args.types.iter().try_for_each(|part| self.adjust(var, part, depth, Liftedness::Lifted))
            }
        }
    }

    /// Returns true if an abstract type of liftedness `own` is not allowed where at most `limit`
    /// is. A size-lifted type may instantiate a type parameter that is not lifted (`copy`): if its
    /// values are put in an array, their sizes are compared.
    fn is_too_lifted(&self, own: Liftedness, limit: Liftedness) -> bool {
        let sizes = own == Liftedness::SizeLifted && !self.in_array && self.instance;
        less_lifted(own, limit) != own && !sizes
    }

    /// Retries deferred equations of sizes; undecided ones remain deferred.
    pub(crate) fn solve_deferred(&mut self) -> Result {
        loop {
            let todo = std::mem::take(&mut self.deferred);
            let before = todo.len();
            for (a, b) in todo {
                self.unify_dims(&a, &b)?;
            }
            if self.deferred.is_empty() || self.deferred.len() >= before {
                return Ok(());
            }
        }
    }

    /// Requires a scalar type of the set.
    pub(crate) fn require_scalar(&mut self, ty: &Ty, set: Scalars) -> Result {
        match self.tables.resolve_head(ty) {
            Ty::Scalar(scalar) if set.contains(scalar) => Ok(()),
            Ty::Var(var) if self.open(var) => {
                let old = self.tables.ty_var(var).constraint.clone();
                let new = self.merge_constraints(old, Constraint::Scalars(set))?;
                self.tables.ty_var_mut(var).constraint = new;
                Ok(())
            }
            error if error.is_error() => Ok(()),
            other => Err(Mismatch::NotScalar(set, other)),
        }
    }

    /// Requires a type of at most this liftedness.
    pub(crate) fn require_lifted(&mut self, ty: &Ty, lifted: Liftedness) -> Result {
        let ty = self.tables.resolve_head(ty);
        if let Ty::Var(var) = ty
            && self.open(var)
        {
            let now = self.tables.ty_var(var).lifted;
            self.tables.ty_var_mut(var).lifted = less_lifted(now, lifted);
            return Ok(());
        }
        self.adjust(TyVarId(u32::MAX), &ty, BOUND_DEPTH, lifted)
    }
}

/// The less lifted of the two.
pub(crate) const fn less_lifted(a: Liftedness, b: Liftedness) -> Liftedness {
    match (a, b) {
        (Liftedness::Unlifted, _) | (_, Liftedness::Unlifted) => Liftedness::Unlifted,
        (Liftedness::SizeLifted, _) | (_, Liftedness::SizeLifted) => Liftedness::SizeLifted,
        (Liftedness::Lifted, Liftedness::Lifted) => Liftedness::Lifted,
    }
}

/// An example of a type that satisfies the constraint, for messages.
fn describe(constraint: &Constraint) -> Ty {
    match constraint {
        Constraint::Fields(fields) => Ty::Record(Arc::from(fields.clone())),
        Constraint::Constrs(constrs) => Ty::Sum(
            constrs.iter().map(|(label, payload)| (Arc::clone(label), Arc::from(payload.clone()))).collect(),
        ),
        Constraint::None | Constraint::Scalars(_) => Ty::unit(),
    }
}

fn widen(error: Mismatch, ty: &Ty) -> Mismatch {
    match error {
        Mismatch::Infinite(var, _) => Mismatch::Infinite(var, ty.clone()),
        other => other,
    }
}
