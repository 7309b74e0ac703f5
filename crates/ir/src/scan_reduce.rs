//! The scans, reductions and mapped results of a combinator or segop, all computed in one pass.
//!
//! ```text
//! values   scanned | reduced | mapped       results of one iteration, in this order
//! results  reduced | elements               results of the operation
//! elements scanned | mapped, or the results of the post lambda, applied to these
//! ```
//!
//! The accessors here are the only code that computes positions of these groups.

use crate::name::NameTable;
use crate::soac::Operator;
use crate::syntax::{Atom, Lambda, Level};
use crate::types::Type;
use crate::walk::{Substitution, refresh_lambda};

/// Scans, reductions and the post lambda.
#[derive(Clone, PartialEq, Debug)]
pub struct ScanReduce<L: Level> {
    /// Inclusive scans; each takes as many values as it has neutral elements.
    pub scans: Vec<Operator<L>>,
    /// Reductions, likewise.
    pub reduces: Vec<Operator<L>>,
    /// The lambda after the scans: it takes the scanned and the mapped values of one iteration and
    /// returns the elements of the results.
    pub post: Option<Lambda<L>>,
}

/// The values of an iteration, or items that correspond to them, by group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueGroups<'a, T> {
    /// Scanned values.
    pub scanned: &'a [T],
    /// Reduced values.
    pub reduced: &'a [T],
    /// Mapped values.
    pub mapped: &'a [T],
}

impl<L: Level> Default for ScanReduce<L> {
    fn default() -> Self {
        Self { scans: Vec::new(), reduces: Vec::new(), post: None }
    }
}

impl<L: Level> ScanReduce<L> {
    /// Reductions only.
    pub fn reduce(reduces: Vec<Operator<L>>) -> Self {
        Self { reduces, ..Self::default() }
    }

    /// Scans only.
    pub fn scan(scans: Vec<Operator<L>>) -> Self {
        Self { scans, ..Self::default() }
    }

    /// Returns true if all values are mapped, without a post lambda.
    pub fn is_map(&self) -> bool {
        self.scans.is_empty() && self.reduces.is_empty() && self.post.is_none()
    }

    /// The number of scanned values.
    pub fn n_scanned(&self) -> usize {
        arity(&self.scans)
    }

    /// The number of reduced values.
    pub fn n_reduced(&self) -> usize {
        arity(&self.reduces)
    }

    /// The number of scanned and reduced values.
    pub fn n_accumulated(&self) -> usize {
        self.n_scanned() + self.n_reduced()
    }

    /// All operators, in the order of the values that they take.
    pub fn operators(&self) -> impl Iterator<Item = &Operator<L>> + Clone {
        self.scans.iter().chain(&self.reduces)
    }

    /// [`operators`](Self::operators), mutable.
    pub fn operators_mut(&mut self) -> impl Iterator<Item = &mut Operator<L>> {
        self.scans.iter_mut().chain(&mut self.reduces)
    }

    /// All lambdas: the operators', then the post lambda.
    pub fn lambdas(&self) -> impl Iterator<Item = &Lambda<L>> {
        self.operators().map(|op| &op.op).chain(&self.post)
    }

    /// [`lambdas`](Self::lambdas), mutable.
    pub fn lambdas_mut(&mut self) -> impl Iterator<Item = &mut Lambda<L>> {
        let operators = self.scans.iter_mut().chain(&mut self.reduces);
        operators.map(|op| &mut op.op).chain(&mut self.post)
    }

    /// The values of an iteration by group. Missing values leave the last groups shorter or empty.
    pub fn values<'a, T>(&self, values: &'a [T]) -> ValueGroups<'a, T> {
        let (scanned, rest) = cut(values, self.n_scanned());
        let (reduced, mapped) = cut(rest, self.n_reduced());
        ValueGroups { scanned, reduced, mapped }
    }

    /// The results (usually a pattern): the reduced ones, and the elements.
    pub fn results<'a, T>(&self, results: &'a [T]) -> (&'a [T], &'a [T]) {
        cut(results, self.n_reduced())
    }

    /// The types of an iteration's elements, given the types `ret` of its values.
    pub fn element_types(&self, ret: &[Type]) -> Vec<Type> {
        match &self.post {
            Some(post) => post.ret.clone(),
            None => {
                let scanned = self.scans.iter().flat_map(|op| &op.op.ret);
                scanned.chain(self.values(ret).mapped).cloned().collect()
            }
        }
    }

    /// The types of the reduced results.
    pub fn reduced_types(&self) -> impl Iterator<Item = &Type> {
        self.reduces.iter().flat_map(|op| &op.op.ret)
    }

    /// The neutral elements of all operators, in the order of the values.
    pub fn neutral(&self) -> impl Iterator<Item = Atom> {
        self.operators().flat_map(|op| op.neutral.iter().copied())
    }

    /// Returns a copy whose lambdas bind fresh names.
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

/// The number of values that the operators take together.
pub fn arity<L: Level>(operators: &[Operator<L>]) -> usize {
    operators.iter().map(|op| op.neutral.len()).sum()
}

fn cut<T>(values: &[T], at: usize) -> (&[T], &[T]) {
    values.split_at(at.min(values.len()))
}
