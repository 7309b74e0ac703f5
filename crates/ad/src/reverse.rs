//! Reverse mode by re-execution of scopes (Schenck, Rønning, Henriksen, Oancea, "AD for an Array
//! Language with Nested Parallelism", SC 2022).
//!
//! The forward sweep of a body is the body itself. The return sweep visits its statements from last
//! to first, and adds to the adjoint of each name that a statement uses. Statements with scopes of
//! their own run them again, forward and return sweep: nothing is stored for them, except by loops,
//! which save the parameters' values of each iteration.
//!
//! Within a map, contributions to free arrays go to accumulators, as other iterations contribute to
//! the same elements.

mod accs;
mod basic;
mod bin_chunks;
mod branch;
mod checkpoints;
mod dense;
mod element_tapes;
mod exclusive;
mod flat_map;
mod hist;
mod loops;
mod map;
mod reduce;
mod reduce_special;
mod scan;

pub(crate) use accs::AccAdjoints;
pub(crate) use checkpoints::Segments;
pub(crate) use element_tapes::{SavedRead, reads_of};
pub(crate) use hist::is_sum;
pub(crate) use loops::Tape;
pub(crate) use reduce_special::has_rule_for_arrays;

use crate::state::{Ad, Result};
use ir::Name;
use ir::build::Outer;
use ir::soac::{Soac, Soacs};
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Lambda, LoopForm, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::with_stack;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The adjoint of a name, as far as it has been added up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Adjoint {
    /// A value of the name's type.
    Value(Atom),
    /// An accumulator of a value of the name's type, an array.
    Acc(Name),
}

impl Adjoint {
    /// The value, or the accumulator.
    pub fn atom(self) -> Atom {
        match self {
            Self::Value(value) => value,
            Self::Acc(acc) => acc.into(),
        }
    }

    /// A later one of the same kind.
    #[must_use]
    pub fn replaced(self, by: Name) -> Self {
        match self {
            Self::Value(_) => Self::Value(by.into()),
            Self::Acc(_) => Self::Acc(by),
        }
    }
}

/// The adjoints of names; that of an absent name is zero.
pub(crate) type Adjoints = FxHashMap<Name, Adjoint>;

/// The adjoints and statements of the scope around.
pub(crate) struct Scope {
    outer: Outer<Soacs>,
    adjoints: Adjoints,
    dense: Option<FxHashMap<Name, Atom>>,
}

impl Ad<'_> {
    /// Appends a body's statements and the return sweep. Adjoints are added to `self.adjoints`.
    pub fn sweep(&mut self, body: &Body<Soacs>, seeds: &[Option<Atom>]) -> Result {
        for stm in &body.stms {
            self.forward_sweep(stm)?;
        }
        self.return_sweep(body, seeds)
    }

    pub fn return_sweep(&mut self, body: &Body<Soacs>, seeds: &[Option<Atom>]) -> Result {
        for (result, seed) in body.result.iter().zip(seeds) {
            if let Some(seed) = seed {
                self.add(*result, *seed);
            }
        }
        for stm in body.stms.iter().rev() {
            with_stack(|| self.reverse(stm))?;
        }
        Ok(())
    }

    /// Begins a scope without adjoints.
    pub fn open_scope(&mut self) -> Scope {
        Scope { outer: self.b.open(), adjoints: std::mem::take(&mut self.adjoints), dense: self.dense.take() }
    }

    /// Ends a scope; returns its body and its adjoints.
    pub fn close_scope(&mut self, scope: Scope, result: Vec<Atom>) -> Body<Soacs> {
        self.adjoints = scope.adjoints;
        self.dense = scope.dense;
        self.b.close(scope.outer, result)
    }

    /// The adjoint of a name, which is removed; `None` if it is zero.
    pub fn take(&mut self, name: Name) -> Option<Atom> {
        match self.adjoints.get(&name)? {
            Adjoint::Value(value) => {
                let value = *value;
                self.adjoints.remove(&name);
                Some(value)
            }
            Adjoint::Acc(_) => None,
        }
    }

    /// The adjoint of a name so far.
    pub fn so_far(&mut self, name: Name) -> Adjoint {
        match self.adjoints.get(&name) {
            Some(adjoint) => *adjoint,
            None => {
                let ty = self.b.types.type_of(name).clone();
                Adjoint::Value(self.zero(&ty))
            }
        }
    }

    /// The adjoint of a name that has no accumulator, so far; of the name's type.
    pub fn value_so_far(&mut self, name: Name) -> Atom {
        self.so_far(name).atom()
    }

    /// Adds to the adjoint of an operand.
    pub fn add(&mut self, to: Atom, value: Atom) {
        let Some(name) = to.var().filter(|name| self.active.contains(name)) else {
            return;
        };
        let ty = self.b.types.type_of(name).clone();
        let value = self.coerced(value, &ty);
        match self.adjoints.get(&name).copied() {
            None => {
                self.adjoints.insert(name, Adjoint::Value(value));
            }
            Some(Adjoint::Value(before)) => {
                let sum = self.sum(&ty, before, value);
                self.adjoints.insert(name, Adjoint::Value(sum));
            }
            Some(Adjoint::Acc(acc)) => {
                if let Some(before) = self.dense.as_ref().map(|dense| dense.get(&name).copied()) {
                    let value = before.map_or(value, |before| self.sum(&ty, before, value));
                    if let Some(dense) = &mut self.dense {
                        dense.insert(name, value);
                    }
                    return;
                }
                let value = self.name_of(value);
                let acc = self.accumulate(acc, &mut SmallVec::new(), ty.shape(), value);
                self.adjoints.insert(name, Adjoint::Acc(acc));
            }
        }
    }

    /// Adds to the adjoint of a part of an array.
    pub fn add_part(&mut self, array: Name, slice: &[DimIndex], value: Atom) {
        if !self.active.contains(&array) {
            return;
        }
        let adjoint = match self.adjoints.get(&array).copied() {
            Some(Adjoint::Acc(acc)) => {
                let acc = self.accumulate_part(acc, &mut SmallVec::new(), slice, value);
                Adjoint::Acc(acc)
            }
            before => {
                let (to, value) = match before {
                    Some(Adjoint::Value(Atom::Var(before))) => {
                        let part = self.read(before, slice);
                        let ty = self.b.type_of(part);
                        (before, self.sum(&ty, part, value))
                    }
                    _ => {
                        let ty = self.b.types.type_of(array).clone();
                        let zero = self.zero(&ty);
                        (self.name_of(zero), value)
                    }
                };
                let update = BasicOp::Update { array: to, slice: slice.to_vec(), value };
                Adjoint::Value(self.b.let_basic("adj", update).into())
            }
        };
        self.adjoints.insert(array, adjoint);
    }

    /// Adds all elements of a value of this shape to an accumulator, below an index.
    fn accumulate(&mut self, acc: Name, index: &mut SmallVec<[Atom; 2]>, shape: &[Dim], value: Name) -> Name {
        let Some((width, inner)) = shape.split_first() else {
            let update = BasicOp::UpdateAcc { acc, index: index.clone(), values: vec![value.into()] };
            return self.b.let_basic("acc", update);
        };
        let is = self.b.iota(*width);
        self.map_accumulator(acc, *width, &[is, value], |ad, acc, rows| {
            index.push(rows[0].into());
            let acc = ad.accumulate(acc, index, inner, rows[1]);
            index.pop();
            acc
        })
    }

    /// Adds a value to a part of the array of an accumulator.
    fn accumulate_part(
        &mut self,
        acc: Name,
        index: &mut SmallVec<[Atom; 2]>,
        slice: &[DimIndex],
        value: Atom,
    ) -> Name {
        match slice.split_first() {
            None => {
                let update = BasicOp::UpdateAcc { acc, index: index.clone(), values: vec![value] };
                self.b.let_basic("acc", update)
            }
            Some((DimIndex::Fix(i), inner)) => {
                index.push(*i);
                let acc = self.accumulate_part(acc, index, inner, value);
                index.pop();
                acc
            }
            Some((DimIndex::Slice { start, count, stride }, inner)) => {
                let (start, stride) = (*start, *stride);
                let is = self.b.iota(*count);
                let value = self.name_of(value);
                self.map_accumulator(acc, *count, &[is, value], |ad, acc, rows| {
                    let offset = ad.b.mul_i64(rows[0].into(), stride);
                    index.push(ad.b.add_i64(start, offset));
                    let acc = ad.accumulate_part(acc, index, inner, rows[1].into());
                    index.pop();
                    acc
                })
            }
        }
    }

    /// The statements of a forward sweep.
    pub fn forward_sweep(&mut self, stm: &Stm<Soacs>) -> Result {
        let active = stm.pat.iter().any(|param| self.active.contains(&param.name));
        let Some(own) = self.without_accumulators(stm)? else {
            return Ok(());
        };
        let own = self.with_saved_reads(own);
        if active && matches!(own.exp, Exp::Loop { form: LoopForm::For { .. }, .. }) {
            let first = own.pat.first().map(|param| param.name);
            return match first.and_then(|first| Some((first, *self.segment_lengths.get(&first)?))) {
                Some((first, length)) => self.loop_over_segments(&own, first, length),
                None => self.taped_loop(&own, None),
            };
        }
        self.b.let_with(own.pat, own.aux, own.exp);
        Ok(())
    }

    /// Adds a statement's contributions to the adjoints of what it uses.
    fn reverse(&mut self, stm: &Stm<Soacs>) -> Result {
        let adjoints: Vec<Option<Atom>> = stm.pat.iter().map(|param| self.take(param.name)).collect();
        let updates =
            stm.pat.iter().any(|p| matches!(p.ty, Type::Acc { .. }) && self.active.contains(&p.name));
        if adjoints.iter().all(Option::is_none) && !updates {
            return Ok(());
        }
        self.at(&stm.aux);
        match &stm.exp {
            Exp::Basic(op) => self.reverse_basic(stm, op, adjoints.first().copied().flatten())?,
            Exp::If { cond, then_body, else_body } => {
                self.reverse_branch(*cond, [then_body, else_body], &adjoints)?;
            }
            Exp::Loop { .. } => self.reverse_loop(stm, &adjoints)?,
            Exp::Apply { fun, args } => self.reverse_call(*fun, args, &stm.pat, &adjoints)?,
            Exp::Op(op) => match op {
                Soac::Screma(screma) => self.reverse_screma(screma, &stm.pat, &adjoints)?,
                Soac::Hist { width, inputs, map, ops } => {
                    self.reverse_hist((*width, inputs, map, ops), &stm.pat, &adjoints)?;
                }
                Soac::WithAcc { inputs, lambda } => self.reverse_with_acc(inputs, lambda, &adjoints)?,
                Soac::FlatMap { width, inputs, lambda } => {
                    self.reverse_flat_map((*width, inputs, lambda), &stm.pat, &adjoints)?;
                }
                Soac::WithVjp { args, lambda, adjoint } => {
                    self.reverse_with_vjp((args, lambda, adjoint), &stm.pat, &adjoints);
                }
                Soac::Stream { .. } => return Err(self.unsupported("sequential streams")),
                Soac::Jvp { .. } | Soac::Vjp { .. } => {
                    return Err(ir::PassError::bug("a derivative within a derivative is left"));
                }
            },
        }
        Ok(())
    }

    /// Adds the contributions of a function with a derivative of its own.
    fn reverse_with_vjp(
        &mut self,
        (args, lambda, adjoint): (&[Atom], &Lambda<Soacs>, &Lambda<Soacs>),
        pat: &[Param<Soacs>],
        adjoints: &[Option<Atom>],
    ) {
        let mut values: Vec<Atom> = pat.iter().map(|param| param.name.into()).collect();
        for (seed, ty) in adjoints.iter().zip(&lambda.ret) {
            values.push(self.or_zero(*seed, ty));
        }
        let adjoint = self.copy_lambda(adjoint);
        let results = self.b.inline(adjoint, values);
        for (arg, result) in args.iter().zip(results) {
            self.add(*arg, result);
        }
    }
}
