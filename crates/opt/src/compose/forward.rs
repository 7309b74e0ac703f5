//! Reads of matrices that are not stored, in the statements of the next iteration.
//!
//! | read | becomes |
//! |---|---|
//! | all rows, by the next update of the matrix | a fused update |
//! | a row or column at an index bound before the statement, or elements of one | a stored row or column, and reads of it |
//! | one element; one element per iteration over rows or columns | its computation |
//!
//! Any other use of such a matrix means that the loop is not composed.

use super::Composer;
use super::normal::{MatrixLoop, names_bound_in};
use super::rows::{Producer, bind};
use crate::splice;
use analysis::size::is_at_most;
use ir::build::Builder;
use ir::soac::Soac;
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Stm};
use ir::walk::{stm_names, sub_bodies_mut, with_stack};
use ir::{Name, Soacs};
use prim::{BinOp, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};

/// Collects the statements of several iterations.
pub(super) struct Forward<'a, 'b> {
    pub(super) composer: &'a mut Composer<'b>,
    /// The statements so far.
    pub(super) out: Vec<Stm<Soacs>>,
    /// The matrices of the previous iteration.
    producers: FxHashMap<Name, Producer>,
    /// The stored rows and columns of these matrices, by index.
    rows: FxHashMap<(Name, Atom), Name>,
    columns: FxHashMap<(Name, Atom), Name>,
    /// The names bound in the current statement's bodies.
    inside: FxHashSet<Name>,
}

impl<'a, 'b> Forward<'a, 'b> {
    pub(super) fn new(composer: &'a mut Composer<'b>) -> Self {
        Self {
            composer,
            out: Vec::new(),
            producers: FxHashMap::default(),
            rows: FxHashMap::default(),
            columns: FxHashMap::default(),
            inside: FxHashSet::default(),
        }
    }

    /// Emits the number of the group's iteration `k`.
    pub(super) fn iteration(&mut self, group: Name, whole: &MatrixLoop, factor: u32, k: u32) -> Atom {
        let mut b = Builder::new(self.composer.names, &mut self.composer.types);
        let int = |x| Atom::Const(Scalar::int(whole.ty, x));
        let first = b.binary(BinOp::Mul, whole.ty, group.into(), int(factor.into()));
        let iteration = b.binary(BinOp::Add, whole.ty, first.into(), int(k.into()));
        self.out.append(&mut b.take_stms());
        iteration.into()
    }

    /// Begins the next iteration, which reads these matrices.
    pub(super) fn next_iteration(&mut self, matrices: &[Name]) -> Option<()> {
        self.rows.clear();
        self.columns.clear();
        self.producers.clear();
        for stm in &self.out {
            let bound = stm.pat.first().filter(|param| matrices.contains(&param.name));
            if let Some(param) = bound {
                self.producers.insert(param.name, Producer::of(stm)?);
            }
        }
        (self.producers.len() == matrices.len()).then_some(())
    }

    /// Returns true if there are at most `most` statements.
    pub(super) fn is_at_most(&mut self, most: usize) -> bool {
        let body = Body { stms: std::mem::take(&mut self.out), result: Vec::new() };
        let small = is_at_most(&body, most);
        self.out = body.stms;
        small
    }

    /// Appends a statement of an iteration; `updated` is the previous matrix, if the statement is
    /// its update.
    pub(super) fn statement(&mut self, mut stm: Stm<Soacs>, updated: Option<Name>) -> Option<()> {
        self.inside = names_bound_in(&stm.exp);
        if let (Some(matrix), Exp::Op(Soac::Screma(screma))) = (updated, &mut stm.exp)
            && let Some(producer) = self.producers.get(&matrix)
        {
            self.composer.fuse_row(&mut screma.map.body, matrix, producer, &self.inside)?;
            self.inside = names_bound_in(&stm.exp);
        }
        if matches!(stm.exp, Exp::Basic(_)) {
            let mut stms = self.read(stm, true)?;
            stm = stms.pop()?;
            self.out.append(&mut stms);
        } else {
            let once = self.is_narrow(&stm.exp);
            let mut done = Some(());
            sub_bodies_mut(&mut stm.exp, |body| {
                done = done.and_then(|()| self.body(body, once));
            });
            done?;
        }
        let mut left = false;
        stm_names(&stm, |name| left |= self.producers.contains_key(&name));
        self.out.push(stm);
        (!left).then_some(())
    }

    /// Returns true if the bodies of an expression run once, or once for each row or column.
    fn is_narrow(&self, exp: &Exp<Soacs>) -> bool {
        match exp {
            Exp::Op(Soac::Screma(screma)) => {
                self.producers.values().any(|producer| producer.ty.shape().contains(&screma.width))
            }
            Exp::Loop { .. } | Exp::Op(_) => false,
            Exp::Basic(_) | Exp::If { .. } | Exp::Apply { .. } => true,
        }
    }

    /// Replaces reads in a body inside of the current statement; `once` is true if the body runs
    /// at most once, or once for each row or column.
    fn body(&mut self, body: &mut Body<Soacs>, once: bool) -> Option<()> {
        with_stack(|| {
            let mut stms = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                let once = once && !matches!(stm.exp, Exp::Loop { .. } | Exp::Op(_));
                if matches!(stm.exp, Exp::Basic(_)) {
                    stms.append(&mut self.read(stm, once)?);
                    continue;
                }
                let mut done = Some(());
                sub_bodies_mut(&mut stm.exp, |body| {
                    done = done.and_then(|()| self.body(body, once));
                });
                done?;
                stms.push(stm);
            }
            body.stms = stms;
            Some(())
        })
    }

    /// Replaces the read of a matrix by the statements that end with the one that binds its result.
    /// Other statements stay, as do reads of whole rows at an index that varies.
    fn read(&mut self, mut stm: Stm<Soacs>, once: bool) -> Option<Vec<Stm<Soacs>>> {
        let Exp::Basic(BasicOp::Index { array, slice }) = &mut stm.exp else {
            return Some(vec![stm]);
        };
        let Some(producer) = self.producers.get(array).cloned() else {
            return Some(vec![stm]);
        };
        let [row, column] = slice[..] else {
            return None;
        };
        let inside =
            |index: DimIndex| matches!(index, DimIndex::Fix(Atom::Var(name)) if self.inside.contains(&name));
        match (row, column) {
            (_, DimIndex::Fix(j)) if self.columns.contains_key(&(*array, j)) => {
                *array = self.columns[&(*array, j)];
                *slice = vec![row];
            }
            (DimIndex::Fix(i), DimIndex::Fix(j)) if self.is_single(&[row, column], once) => {
                let element = self.composer.element(&producer, i, j)?;
                let mut stms = Vec::with_capacity(element.stms.len() + 1);
                splice::statements(element.stms, &stm.aux, &mut stms);
                stms.push(bind(stm.pat.pop()?, stm.aux.prov, element.result[0]));
                return Some(stms);
            }
            (DimIndex::Fix(i), _) if !inside(row) => {
                *array = self.row(*array, &producer, i)?;
                *slice = vec![column];
            }
            (_, DimIndex::Fix(j)) if !inside(column) => {
                *array = self.column(*array, &producer, j)?;
                *slice = vec![row];
            }
            _ => {}
        }
        Some(vec![stm])
    }

    /// Returns true if the element at these indices is computed where it is read: outside of
    /// combinators, or at indices that both vary.
    fn is_single(&self, indices: &[DimIndex; 2], once: bool) -> bool {
        let inside =
            |index: &DimIndex| matches!(index, DimIndex::Fix(Atom::Var(name)) if self.inside.contains(name));
        self.inside.is_empty() || once && indices.iter().all(inside)
    }

    fn row(&mut self, matrix: Name, producer: &Producer, row: Atom) -> Option<Name> {
        if let Some(known) = self.rows.get(&(matrix, row)) {
            return Some(*known);
        }
        let made = self.composer.stored_row(producer, row, &mut self.out)?;
        self.rows.insert((matrix, row), made);
        Some(made)
    }

    fn column(&mut self, matrix: Name, producer: &Producer, column: Atom) -> Option<Name> {
        if let Some(known) = self.columns.get(&(matrix, column)) {
            return Some(*known);
        }
        let made = self.composer.stored_column(producer, column, &mut self.out)?;
        self.columns.insert((matrix, column), made);
        Some(made)
    }
}
