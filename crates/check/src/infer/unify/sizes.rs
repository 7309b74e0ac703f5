//! Unification of sizes: equal as polynomials, or one of them is solved.
//!
//! Sizes that cannot be compared yet are put off; [`Unifier::settle`] looks at
//! them again when everything around them is known.

use super::{Mismatch, Result, Sizes, Unifier};
use crate::dims::{self, Cmp, Poly};
use crate::infer::{Mentions, VarState};
use crate::tast::{Dim, Exp, ExpKind, VarId};

impl Unifier<'_> {
    /// Makes two sizes equal.
    pub(crate) fn unify_dims(&mut self, expected: &Dim, found: &Dim) -> Result {
        match self.sizes {
            Sizes::Strict => self.equal_dims(expected, found),
            Sizes::Ignore => Ok(()),
            Sizes::Join(since) => {
                // Where they differ, the caller finds an unknown size.
                let open = [expected, found].map(|dim| match self.tables.resolve_dim(dim) {
                    Dim::Var(var) if self.tables.is_open(var) => Some(var),
                    _ => None,
                });
                let is_old = |var: &Option<VarId>| var.is_some_and(|var| var < since);
                let is_new = |var: &Option<VarId>| var.is_some_and(|var| var >= since);
                if !open.iter().any(is_old) || open.iter().any(is_new) {
                    drop(self.equal_dims(expected, found));
                }
                Ok(())
            }
        }
    }

    fn equal_dims(&mut self, expected: &Dim, found: &Dim) -> Result {
        let a = self.tables.resolve_dim(expected);
        let b = self.tables.resolve_dim(found);
        match (&a, &b) {
            (Dim::Any, other) | (other, Dim::Any) => {
                if let Dim::Var(var) = other
                    && self.tables.is_open(*var)
                {
                    self.tables.var_mut(*var).told = true;
                }
                Ok(())
            }
            (Dim::Var(x), Dim::Var(y)) if x == y => Ok(()),
            (Dim::Const(x), Dim::Const(y)) if x == y => Ok(()),
            (Dim::Var(x), Dim::Var(y)) if self.tables.is_open(*x) && self.tables.is_open(*y) => {
                let (keep, gone) = if self.tables.var(*x).depth <= self.tables.var(*y).depth {
                    (*x, *y)
                } else {
                    (*y, *x)
                };
                if self.tables.var(gone).told {
                    self.tables.var_mut(keep).told = true;
                }
                self.tables.var_mut(gone).state = VarState::Solved(Dim::Var(keep));
                Ok(())
            }
            (Dim::Var(x), _) if self.tables.is_open(*x) => self.solve_dim(*x, &b),
            (_, Dim::Var(y)) if self.tables.is_open(*y) => self.solve_dim(*y, &a),
            _ => self.compare_dims(a, b),
        }
    }

    fn solve_dim(&mut self, var: VarId, dim: &Dim) -> Result {
        if mentions_dim(dim, var) {
            return self.compare_dims(Dim::Var(var), dim.clone());
        }
        self.adjust_dim(dim, self.tables.var(var).depth, &[])?;
        self.tables.var_mut(var).state = VarState::Solved(dim.clone());
        Ok(())
    }

    fn compare_dims(&mut self, a: Dim, b: Dim) -> Result {
        match dims::compare(&a, &b) {
            Cmp::Equal | Cmp::Unknown => return Ok(()),
            Cmp::Different => {}
        }
        let mut open = Mentions::default();
        crate::subst::map_dim(&a, &mut open);
        crate::subst::map_dim(&b, &mut open);
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
        // What an unknown size is made of, nobody knows.
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
            return self.solve_dim(*var, &solution);
        }
        self.deferred.push((a, b));
        Ok(())
    }

    /// Matches two expressions that stand for sizes part by part, solving for
    /// open variables. Whether they are the same then.
    fn match_exps(&mut self, a: &Exp, b: &Exp) -> bool {
        for (x, y) in [(a, b), (b, a)] {
            if let ExpKind::Var { id, .. } = &x.kind
                && self.tables.is_open(*id)
                && let Some(dim) = dims::from_exp(y)
            {
                return self.equal_dims(&Dim::Var(*id), &dim).is_ok();
            }
        }
        match (&a.kind, &b.kind) {
            (ExpKind::Apply { fun: f, args: x }, ExpKind::Apply { fun: g, args: y }) => {
                x.len() == y.len()
                    && self.match_exps(f, g)
                    && x.iter().zip(y).all(|(x, y)| self.match_exps(x, y))
            }
            _ => dims::compare_exps(a, b) == Cmp::Equal,
        }
    }

    /// Whether matching operand by operand is sure to be what is meant: on one
    /// side the operands are open variables.
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

fn mentions_dim(dim: &Dim, var: VarId) -> bool {
    let mut mentions = Mentions::default();
    crate::subst::map_dim(dim, &mut mentions);
    mentions.dims.contains(&var)
}

fn difference(a: &Dim, b: &Dim) -> Option<Poly> {
    Poly::of(&dims::op(prim::BinOp::Sub, a.clone(), b.clone()))
}
