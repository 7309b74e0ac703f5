//! What a combinator or segop does with the values of its points: scans some, reduces
//! some and maps out the rest, all in one pass.
//!
//! ```text
//! values   scanned | reduced | mapped       what one point gives, in this order
//! results  reduced | elements               what comes out
//! elements scanned | mapped, or what the post lambda makes of them
//! ```
//!
//! Whoever needs one of the groups asks here for it; nobody counts positions.

use crate::name::NameTable;
use crate::soac::Operator;
use crate::syntax::{Atom, Lambda, Level};
use crate::types::Type;
use crate::walk::{Substitution, refresh_lambda};

/// Scans, reductions and what follows the scans.
#[derive(Clone, PartialEq, Debug)]
pub struct Folds<L: Level> {
    /// Inclusive scans; each takes as many values as it has neutral elements.
    pub scans: Vec<Operator<L>>,
    /// Reductions, likewise.
    pub reduces: Vec<Operator<L>>,
    /// What follows the scans: it takes the scanned and the mapped values of one
    /// point and gives the elements of the results.
    pub post: Option<Lambda<L>>,
}

/// The values of a point, or what stands for them, by group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Groups<'a, T> {
    /// What is scanned.
    pub scanned: &'a [T],
    /// What is reduced.
    pub reduced: &'a [T],
    /// What is mapped out.
    pub mapped: &'a [T],
}

impl<L: Level> Default for Folds<L> {
    fn default() -> Self {
        Self { scans: Vec::new(), reduces: Vec::new(), post: None }
    }
}

impl<L: Level> Folds<L> {
    /// Reductions alone.
    pub fn reduce(reduces: Vec<Operator<L>>) -> Self {
        Self { reduces, ..Self::default() }
    }

    /// Scans alone.
    pub fn scan(scans: Vec<Operator<L>>) -> Self {
        Self { scans, ..Self::default() }
    }

    /// Whether all values are mapped out as they are.
    pub fn is_map(&self) -> bool {
        self.scans.is_empty() && self.reduces.is_empty() && self.post.is_none()
    }

    /// How many values are scanned.
    pub fn n_scanned(&self) -> usize {
        arity(&self.scans)
    }

    /// How many values are reduced.
    pub fn n_reduced(&self) -> usize {
        arity(&self.reduces)
    }

    /// How many values are scanned or reduced.
    pub fn n_folded(&self) -> usize {
        self.n_scanned() + self.n_reduced()
    }

    /// All operators, in the order of the values that they take.
    pub fn operators(&self) -> impl Iterator<Item = &Operator<L>> + Clone {
        self.scans.iter().chain(&self.reduces)
    }

    /// As [`operators`](Self::operators).
    pub fn operators_mut(&mut self) -> impl Iterator<Item = &mut Operator<L>> {
        self.scans.iter_mut().chain(&mut self.reduces)
    }

    /// All lambdas: the operators', then the post lambda.
    pub fn lambdas(&self) -> impl Iterator<Item = &Lambda<L>> {
        self.operators().map(|op| &op.op).chain(&self.post)
    }

    /// As [`lambdas`](Self::lambdas).
    pub fn lambdas_mut(&mut self) -> impl Iterator<Item = &mut Lambda<L>> {
        let operators = self.scans.iter_mut().chain(&mut self.reduces);
        operators.map(|op| &mut op.op).chain(&mut self.post)
    }

    /// The values of a point by group. Fewer values than operators take are none.
    pub fn values<'a, T>(&self, values: &'a [T]) -> Groups<'a, T> {
        let (scanned, rest) = cut(values, self.n_scanned());
        let (reduced, mapped) = cut(rest, self.n_reduced());
        Groups { scanned, reduced, mapped }
    }

    /// The results (a pattern, mostly): what is reduced, and the elements.
    pub fn results<'a, T>(&self, results: &'a [T]) -> (&'a [T], &'a [T]) {
        cut(results, self.n_reduced())
    }

    /// The types of a point's elements, `ret` being those of its values.
    pub fn element_types(&self, ret: &[Type]) -> Vec<Type> {
        match &self.post {
            Some(post) => post.ret.clone(),
            None => {
                let scanned = self.scans.iter().flat_map(|op| &op.op.ret);
                scanned.chain(self.values(ret).mapped).cloned().collect()
            }
        }
    }

    /// The types of what is reduced.
    pub fn reduced_types(&self) -> impl Iterator<Item = &Type> {
        self.reduces.iter().flat_map(|op| &op.op.ret)
    }

    /// The neutral elements of all operators, in the order of the values.
    pub fn neutral(&self) -> impl Iterator<Item = Atom> {
        self.operators().flat_map(|op| op.neutral.iter().copied())
    }

    /// A copy whose lambdas bind fresh names.
    #[must_use]
    pub fn refreshed(&self, names: &mut NameTable) -> Self {
        let scans = self.scans.iter().map(|op| op.refreshed(names)).collect();
        let reduces = self.reduces.iter().map(|op| op.refreshed(names)).collect();
        let post = self.post.as_ref();
        Self {
            scans,
            reduces,
            post: post.map(|post| refresh_lambda(post, names, &mut Substitution::default())),
        }
    }
}

/// How many values operators take together.
pub fn arity<L: Level>(operators: &[Operator<L>]) -> usize {
    operators.iter().map(|op| op.neutral.len()).sum()
}

fn cut<T>(values: &[T], at: usize) -> (&[T], &[T]) {
    values.split_at(at.min(values.len()))
}
