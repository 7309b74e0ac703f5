//! Unification of sizes: they are equal as polynomials, or one of them is solved.
//!
//! Sizes that cannot be compared yet are deferred; [`Unifier::solve_deferred`] retries them when their
//! context is known.

use super::{BOUND_DEPTH, Mismatch, Result, Sizes, Unifier};
use crate::infer::walks::UNNAMED;
use crate::infer::{FreeVars, Origin, VarState};
use crate::sizes::{self, Poly, SizeComparison};
use crate::subst::{TypeMapper, map_dim};
use crate::tast::{Dim, Exp, ExpKind, VarId};
use std::sync::Arc;

impl Unifier<'_> {
    /// Unifies two sizes, as the mode requires.
    pub(crate) fn unify_dims(&mut self, expected: &Dim, found: &Dim) -> Result {
        self.tables.saw_sizes = true;
        match self.sizes {
            Sizes::Strict => self.equal_dims(expected, found),
            Sizes::Ignore => Ok(()),
            Sizes::Join(since) | Sizes::LooseJoin(since) => {
                // If they differ, the caller creates an unknown size.
                let a = self.canonical_dim(expected);
                let b = self.canonical_dim(found);
                if !self.solve_if_visible(&a, &b, since) {
                    self.solve_if_visible(&b, &a, since);
                }
                Ok(())
            }
        }
    }

    /// Solves an open size by another, if all variables of the other are visible in its scope.
    fn solve_if_visible(&mut self, open: &Dim, dim: &Dim, since: VarId) -> bool {
        let Dim::Var(var) = open else { return false };
        if !self.tables.is_open(*var) {
            return false;
        }
        let data = self.tables.var(*var);
        let depth = data.depth;
        if *var < since && matches!(data.state, VarState::Open(Origin::Plain)) {
            return false;
        }
        if matches!(data.state, VarState::Open(Origin::Loop)) {
            if matches!(self.sizes, Sizes::LooseJoin(_)) {
                return false;
            }
            self.tables.joined_loop = true;
        }
        let visible = |v: &VarId| *v != *var && self.tables.var(*v).depth <= depth;
        if *dim == Dim::Any || !mentioned(dim).iter().all(visible) {
            return false;
        }
        self.assign(*var, dim);
        true
    }

    /// The size with solutions substituted, and copies replaced by their sources.
    fn canonical_dim(&self, dim: &Dim) -> Dim {
        struct Canonical<'t>(&'t crate::infer::InferTables);
        impl TypeMapper for Canonical<'_> {
            fn dim_var(&mut self, var: VarId) -> Option<Dim> {
                let canonical = self.0.canonical(var);
                (canonical != var).then_some(Dim::Var(canonical))
            }
        }
        let dim = self.tables.resolve_dim(dim);
        match dim {
            Dim::Any | Dim::Const(_) => dim,
            Dim::Var(var) => Dim::Var(self.tables.canonical(var)),
            Dim::Op(..) | Dim::Exp(_) => map_dim(&dim, &mut Canonical(self.tables)).unwrap_or(dim),
        }
    }

    fn equal_dims(&mut self, expected: &Dim, found: &Dim) -> Result {
        let a = self.canonical_dim(expected);
        let b = self.canonical_dim(found);
        match (&a, &b) {
            (Dim::Any, other) | (other, Dim::Any) => {
                if let Dim::Var(var) = other
                    && self.tables.is_open(*var)
                {
                    self.tables.var_mut(*var).unified_with_any = true;
                }
                Ok(())
            }
            (Dim::Var(x), Dim::Var(y)) if x == y => Ok(()),
            (Dim::Const(x), Dim::Const(y)) if x == y => Ok(()),
            (Dim::Var(x), Dim::Var(y)) if self.tables.is_open(*x) && self.tables.is_open(*y) => {
                self.join_open(*x, *y);
                Ok(())
            }
            (Dim::Var(x), _) if self.tables.is_open(*x) => self.solve_dim(*x, &b, expected),
            (_, Dim::Var(y)) if self.tables.is_open(*y) => self.solve_dim(*y, &a, found),
            (Dim::Var(x), other) | (other, Dim::Var(x))
                if self.tables.is_existential(*x) && self.mentions_bound(other) =>
            {
                Ok(())
            }
            _ => self.compare_dims(a, b),
        }
    }

    /// Unifies two open sizes. The found one remains, unless it is bound in a type.
    fn join_open(&mut self, expected: VarId, found: VarId) {
        let depth = |var| self.tables.var(var).depth;
        let (representative, solved) =
            if depth(found) == BOUND_DEPTH { (expected, found) } else { (found, expected) };
        let solved_data = self.tables.var(solved);
        let (is_any, depth) = (solved_data.unified_with_any, solved_data.depth);
        let name = Arc::clone(&solved_data.name);
        let data = self.tables.var_mut(representative);
        data.unified_with_any |= is_any;
        data.depth = data.depth.min(depth);
        if *data.name == *UNNAMED {
            data.name = name;
        }
        self.assign(solved, &Dim::Var(representative));
    }

    /// Solves an open size by one that is not open. `own` is the size as it occurs in the type.
    fn solve_dim(&mut self, var: VarId, dim: &Dim, own: &Dim) -> Result {
        if mentions_dim(dim, var) {
            return self.compare_dims(Dim::Var(var), dim.clone());
        }
        if self.tables.var(var).depth != BOUND_DEPTH && self.mentions_bound(dim) {
            return self.unify_bound(var, dim, own);
        }
        self.adjust_dim(dim, self.tables.var(var).depth)?;
        self.assign(var, dim);
        Ok(())
    }

    fn assign(&mut self, var: VarId, dim: &Dim) {
        self.tables.var_mut(var).state = VarState::Solved(dim.clone());
    }

    /// Unifies an open size with one that is bound in the other type.
    fn unify_bound(&mut self, var: VarId, dim: &Dim, own: &Dim) -> Result {
        let bound = self.bound(dim);
        let instance = matches!(self.tables.var(var).state, VarState::Open(Origin::Instance(_)));
        if instance && bound.iter().all(|v| self.tables.var(*v).is_param_name) {
            // The link holds for this occurrence only: others have their own names.
            let own = match own {
                Dim::Var(own) if self.tables.canonical(*own) == var => *own,
                _ => var,
            };
            self.assign(own, dim);
            return Ok(());
        }
        let source = match dim {
            Dim::Var(source) => Some(*source),
            _ => None,
        };
        let unknown = |v: &&VarId| matches!(self.tables.var(**v).state, VarState::Unknown);
        let computed = bound.iter().find(unknown);
        let computed = computed.map(|v| self.tables.var(*v).span.unwrap_or(self.span));
        if self.absorb(var, source, computed) { Ok(()) } else { Err(Mismatch::Existential) }
    }

    /// The variables of a size that are bound in a type.
    fn bound(&self, dim: &Dim) -> Vec<VarId> {
        let mut found = mentioned(dim);
        found.retain(|v| self.tables.var(*v).depth == BOUND_DEPTH);
        found
    }

    fn mentions_bound(&self, dim: &Dim) -> bool {
        match dim {
            Dim::Any | Dim::Const(_) => false,
            Dim::Var(var) => self.tables.var(*var).depth == BOUND_DEPTH,
            Dim::Op(..) | Dim::Exp(_) => !self.bound(dim).is_empty(),
        }
    }

    /// Checks that a size is visible in a scope, and moves its open and unknown variables to that
    /// scope.
    fn adjust_dim(&mut self, dim: &Dim, depth: u32) -> Result {
        for var in mentioned(dim) {
            let data = self.tables.var(var);
            if data.depth <= depth {
                continue;
            }
            match data.state {
                VarState::Value => return Err(Mismatch::Escapes(dim.clone())),
                VarState::Open(_)
                | VarState::Copy { .. }
                | VarState::Existential { .. }
                | VarState::Unknown
                | VarState::Solved(_) => self.tables.var_mut(var).depth = depth,
            }
        }
        Ok(())
    }

    fn compare_dims(&mut self, a: Dim, b: Dim) -> Result {
        match sizes::compare(&a, &b) {
            SizeComparison::Equal | SizeComparison::Unknown => return Ok(()),
            SizeComparison::Different => {}
        }
        let mut open = FreeVars::default();
        map_dim(&a, &mut open);
        map_dim(&b, &mut open);
        open.dims.retain(|v| self.tables.is_open(*v));
        if open.dims.is_empty() {
            return Err(Mismatch::Sizes(a, b));
        }
        if let (Dim::Op(f, x), Dim::Op(g, y)) = (&a, &b)
            && f == g
            && self.matches_shape(&a, &b)
        {
            self.unify_dims(&x.0, &y.0)?;
            return self.unify_dims(&x.1, &y.1);
        }
        if let (Dim::Exp(x), Dim::Exp(y)) = (&a, &b)
            && self.match_exps(x, y)
        {
            return Ok(());
        }
        // An unknown size cannot be decomposed.
        let unknown = |dim: &Dim| match dim {
            Dim::Var(var) => matches!(self.tables.var(*var).state, VarState::Unknown),
            Dim::Any | Dim::Const(_) | Dim::Op(..) | Dim::Exp(_) => false,
        };
        if unknown(&a) || unknown(&b) {
            return Err(Mismatch::Sizes(a, b));
        }
        if self.sizes == Sizes::Strict
            && let [var] = open.dims.as_slice()
            && let Some(solution) = difference(&a, &b).and_then(|poly| poly.solve(*var))
            && !mentions_dim(&solution, *var)
        {
            return self.solve_dim(*var, &solution, &Dim::Var(*var));
        }
        self.deferred.push((a, b));
        Ok(())
    }

    /// Matches two size expressions part by part and solves open variables; returns true if they
    /// are the same then.
    fn match_exps(&mut self, a: &Exp, b: &Exp) -> bool {
        for (x, y) in [(a, b), (b, a)] {
            if let ExpKind::Var { id, .. } = &x.kind
                && self.tables.is_open(*id)
                && let Some(dim) = sizes::from_exp(y)
            {
                return self.equal_dims(&Dim::Var(*id), &dim).is_ok();
            }
        }
        match (&a.kind, &b.kind) {
            (ExpKind::Apply { fun: f, args: x, .. }, ExpKind::Apply { fun: g, args: y, .. }) => {
                x.len() == y.len()
                    && self.match_exps(f, g)
                    && x.iter().zip(y).all(|(x, y)| self.match_exps(x, y))
            }
            _ => sizes::compare_exps(a, b) == SizeComparison::Equal,
        }
    }

    /// Returns true if two operations may be unified operand by operand: on one side an operand is
    /// an open variable or compound.
    fn matches_shape(&self, a: &Dim, b: &Dim) -> bool {
        let open_side = |dim: &Dim| match dim {
            Dim::Op(_, args) => [&args.0, &args.1].into_iter().any(|d| match d {
                Dim::Var(v) => self.tables.is_open(*v),
                Dim::Op(..) | Dim::Exp(_) => true,
                Dim::Any | Dim::Const(_) => false,
            }),
            Dim::Any | Dim::Const(_) | Dim::Var(_) | Dim::Exp(_) => false,
        };
        open_side(a) || open_side(b)
    }
}

/// The variables that the value of a size depends on.
fn mentioned(dim: &Dim) -> Vec<VarId> {
    sizes::variables(dim)
}

/// Returns true if the value of a size depends on a variable.
pub(super) fn mentions_dim(dim: &Dim, var: VarId) -> bool {
    match dim {
        Dim::Any | Dim::Const(_) => false,
        Dim::Var(own) => *own == var,
        Dim::Op(..) | Dim::Exp(_) => mentioned(dim).contains(&var),
    }
}

fn difference(a: &Dim, b: &Dim) -> Option<Poly> {
    Poly::of(&sizes::size_op(prim::BinOp::Sub, a.clone(), b.clone()))
}
