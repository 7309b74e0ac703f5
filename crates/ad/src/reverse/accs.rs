//! Reverse mode: accumulators of the program and of adjoints.
//!
//! The adjoint of a value that an accumulator takes is the element of the array's adjoint at that
//! index. The adjoint of the array before is that of the array after, with zeros where values have
//! been written; with sums it is the same.
//!
//! When the return sweep runs the function of a `withacc` again, it runs it without the accumulators
//! ([`Ad::without_accumulators`]).

use crate::recorded_updates::has_sums;
use crate::state::{Ad, Result};
use ir::Name;
use ir::accumulators::{has_token, uses_tokens, without_tokens};
use ir::soac::{AccInput, Screma, Soac, Soacs};
use ir::syntax::{Atom, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Shape, Type};
use ir::walk::{Substitution, VisitMut};
use prim::{BinOp, CmpOp, PrimType};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The adjoints of a `withacc`'s arrays, as its function's return sweep reads them.
#[derive(Clone, Debug)]
pub(crate) struct AccAdjoint {
    /// The adjoints after it.
    arrays: Vec<Option<Atom>>,
    /// Of writes in the iterations of a map, if elements may be written several times.
    last: Option<LastWrites>,
}

/// The writes that remain, of several to an element.
#[derive(Clone, Copy, Debug)]
struct LastWrites {
    /// The number of the last write of each element, counted from 1; 0 for others.
    numbers: Name,
    /// The number of the iteration, in the return sweep.
    iteration: Name,
    /// The number of writes in an iteration.
    count: usize,
    /// The number of writes that the return sweep has not visited; it visits the last one first.
    left: usize,
}

/// The adjoints by the token of the accumulator.
pub(crate) type AccAdjoints = FxHashMap<Name, AccAdjoint>;

impl Ad<'_> {
    /// A token and an accumulator of the sums of an array of a type's elements.
    pub(super) fn sum_accumulator(&mut self, ty: &Type) -> (Param<Soacs>, Param<Soacs>) {
        let token = self.b.param("token", Type::Cert);
        let elems = vec![Type::Prim(ty.elem().unwrap_or(PrimType::Bool))];
        let shape = Shape::from_slice(ty.shape());
        let acc = self.b.param("acc", Type::Acc { token: token.name, shape, elems });
        (token, acc)
    }

    /// The input of a `withacc` that adds to the elements of an array.
    pub(super) fn sum_input(&mut self, array: Name, ty: &Type) -> AccInput<Soacs> {
        let op = self.addition(&[Type::Prim(ty.elem().unwrap_or(PrimType::Bool))]);
        AccInput { shape: Shape::from_slice(ty.shape()), arrays: vec![array], op: Some(op) }
    }

    /// Maps over arrays with an accumulator that each iteration updates; returns the accumulator.
    pub(super) fn map_accumulator(
        &mut self,
        acc: Name,
        width: Dim,
        inputs: &[Name],
        f: impl FnOnce(&mut Self, Name, &[Name]) -> Name,
    ) -> Name {
        let inputs: Vec<Name> = std::iter::once(acc).chain(inputs.iter().copied()).collect();
        self.map("acc", width, &inputs, |ad, rows| vec![f(ad, rows[0], &rows[1..]).into()])[0]
    }

    /// Adds a row to the accumulator of an array.
    pub(super) fn accumulate_row(&mut self, acc: Name, row: Atom, value: Name) -> Name {
        let ty = self.b.types.type_of(value).clone();
        self.accumulate(acc, &mut SmallVec::from_elem(row, 1), ty.shape(), value)
    }

    /// Renames the numbers of iterations of maps that are copied.
    pub(crate) fn rename_iterations(&mut self, copies: &Substitution) {
        for last in self.acc_adjoints.values_mut().filter_map(|adjoint| adjoint.last.as_mut()) {
            if let Some(copy) = copies.get(&last.iteration).and_then(|copy| copy.var()) {
                last.iteration = copy;
                last.left = last.count;
            }
        }
    }

    pub(super) fn reverse_update_acc(&mut self, acc: Name, index: &[Atom], values: &[Atom]) -> Result {
        let Type::Acc { token, shape, elems } = self.b.types.type_of(acc).clone() else {
            return Ok(());
        };
        let Some(adjoint) = self.acc_adjoints.get_mut(&token) else {
            return Ok(());
        };
        if let Some(last) = &mut adjoint.last {
            last.left = last.left.saturating_sub(1);
        }
        let AccAdjoint { arrays, last } = adjoint.clone();
        for ((value, adjoint), ty) in values.iter().zip(arrays).zip(elems) {
            if let (Some(Atom::Var(adjoint)), true) = (adjoint, self.is_active(*value)) {
                let own = match last {
                    None => self.element_or_zero(adjoint, (index, &shape), &ty),
                    Some(LastWrites { numbers, iteration, count, left }) => {
                        let last = self.element_or_zero(numbers, (index, &shape), &Type::I64);
                        let number = self.write_number(iteration, count, left);
                        let is_last = self.b.compare(CmpOp::Eq, PrimType::I64, last, number);
                        self.if_or_zero(is_last.into(), &ty, |ad| ad.b.index("adj", adjoint, index).into())
                    }
                };
                self.add(*value, own);
            }
        }
        Ok(())
    }

    /// The number of a write in an iteration, counted from 1.
    fn write_number(&mut self, iteration: Name, count: usize, at: usize) -> Atom {
        let before = self.b.mul_i64(iteration.into(), Atom::i64(count as i64));
        self.b.add_i64(before, Atom::i64(at as i64 + 1))
    }

    /// A value that is computed if a condition holds, otherwise zero.
    fn if_or_zero(&mut self, cond: Atom, ty: &Type, f: impl FnOnce(&mut Self) -> Atom) -> Atom {
        let outer = self.b.open();
        let value = f(self);
        let then_body = self.b.close(outer, vec![value]);
        let outer = self.b.open();
        let zero = self.zero(ty);
        let else_body = self.b.close(outer, vec![zero]);
        self.b.bind("adj", ty.clone(), Exp::If { cond, then_body, else_body }).into()
    }

    /// The element of an array at an index; zero if it is out of bounds.
    pub(super) fn element_or_zero(
        &mut self,
        array: Name,
        (index, shape): (&[Atom], &[Dim]),
        ty: &Type,
    ) -> Atom {
        let mut inside: Option<Atom> = None;
        for (i, dim) in index.iter().zip(shape) {
            let size = dim.atom().unwrap_or(Atom::i64(0));
            // An index below zero is above all sizes without its sign.
            let own: Atom = self.b.compare(CmpOp::ULt, PrimType::I64, *i, size).into();
            inside = Some(match inside {
                None => own,
                Some(inside) => self.b.binary(BinOp::And, PrimType::Bool, inside, own).into(),
            });
        }
        let cond = inside.unwrap_or(super::reduce_special::truth(true));
        self.if_or_zero(cond, ty, |ad| ad.b.index("adj", array, index).into())
    }

    pub(super) fn reverse_with_acc(
        &mut self,
        inputs: &[AccInput<Soacs>],
        lambda: &Lambda<Soacs>,
        adjoints: &[Option<Atom>],
    ) -> Result {
        let mut rest = adjoints;
        let mut groups = Vec::new();
        for input in inputs {
            let (own, others) = rest.split_at(input.arrays.len());
            rest = others;
            groups.push(own);
        }
        if !inputs.iter().zip(&groups).all(|(input, own)| has_sums(input) || own.iter().all(Option::is_none))
        {
            return Err(ir::PassError::bug("an active accumulator has another operator than a sum"));
        }
        let mut again = self.copy_lambda(lambda);
        for (at, (input, own)) in inputs.iter().zip(&groups).enumerate() {
            let writes = input.op.is_none() && own.iter().any(Option::is_some);
            let last = if writes { self.last_writes(lambda, at, input, &mut again)? } else { None };
            let token = again.params[at].name;
            self.acc_adjoints.insert(token, AccAdjoint { arrays: own.to_vec(), last });
        }
        let mut seeds = vec![None; inputs.len()];
        seeds.extend_from_slice(rest);
        self.sweep(&again.body, &seeds)?;
        for token in &again.params[..inputs.len()] {
            self.acc_adjoints.remove(&token.name);
        }
        for (at, (input, own)) in inputs.iter().zip(&groups).enumerate() {
            let active = input.arrays.iter().any(|array| self.active.contains(array));
            if !active || own.iter().all(Option::is_none) {
                continue;
            }
            let after = match input.op {
                Some(_) => own.to_vec(),
                None => self.zeros_where_written(lambda, at, input, own)?,
            };
            for (array, adjoint) in input.arrays.iter().zip(after) {
                if let Some(adjoint) = adjoint {
                    self.add((*array).into(), adjoint);
                }
            }
        }
        Ok(())
    }

    /// The function of a `withacc` with one of its accumulators only.
    fn only_accumulator(&mut self, lambda: &Lambda<Soacs>, at: usize) -> Result<Lambda<Soacs>> {
        let mut lambda = self.copy_lambda(lambda);
        let n = lambda.params.iter().filter(|param| param.ty == Type::Cert).count();
        let others = lambda.params[..n].iter().enumerate().filter(|(i, _)| *i != at);
        let others: Vec<Name> = others.map(|(_, token)| token.name).collect();
        let mut body = Body { stms: Vec::new(), result: vec![lambda.body.result[at]] };
        for stm in &lambda.body.stms {
            body.stms.extend(without_tokens(stm, &others)?);
        }
        let params = vec![lambda.params[at].clone(), lambda.params[n + at].clone()];
        let ret = vec![lambda.ret.swap_remove(at)];
        Ok(Lambda { params, body, ret })
    }

    /// If all writes to an accumulator are in the iterations of a map: the last writes of its elements.
    /// Of several writes to an element, the last one has the adjoint. The copy `again` gets the number
    /// of the iteration.
    fn last_writes(
        &mut self,
        lambda: &Lambda<Soacs>,
        at: usize,
        input: &AccInput<Soacs>,
        again: &mut Lambda<Soacs>,
    ) -> Result<Option<LastWrites>> {
        let token = again.params[at].name;
        let Some((map, count)) = writing_map(&mut again.body, token) else {
            return Ok(None);
        };
        let width = map.width;
        let iteration = self.b.param("i", Type::I64);
        let is = self.b.iota(width);
        map.inputs.insert(0, is);
        map.map.params.insert(0, iteration.clone());
        let mut own = self.only_accumulator(lambda, at)?;
        let token = own.params[0].name;
        let number = self.b.param("i", Type::I64);
        let Some((map, _)) = writing_map(&mut own.body, token) else {
            return Ok(None);
        };
        map.inputs.insert(0, is);
        map.map.params.insert(0, number.clone());
        let outer = self.b.open();
        let numbers = (0..count).map(|at| self.write_number(number.name, count, at)).collect();
        let counting = self.b.close(outer, Vec::new()).stms;
        map.map.body.stms.splice(0..0, counting);
        VisitMut::<Soacs>::lambda(&mut WriteNumbers { token, numbers }, &mut own);
        self.b.types.add_params(&own.params);
        self.b.types.add_body(&own.body);
        let none = self.b.replicate("last", &input.shape, Atom::i64(0));
        let inputs = vec![AccInput { shape: input.shape.clone(), arrays: vec![none], op: None }];
        let last = self.b.let_op("last", Soac::WithAcc { inputs, lambda: own })[0];
        Ok(Some(LastWrites { numbers: last, iteration: iteration.name, count, left: count }))
    }

    /// The adjoints with zeros where the function of a `withacc` writes to the accumulator at a
    /// position.
    fn zeros_where_written(
        &mut self,
        lambda: &Lambda<Soacs>,
        at: usize,
        input: &AccInput<Soacs>,
        adjoints: &[Option<Atom>],
    ) -> Result<Vec<Option<Atom>>> {
        let mut lambda = self.only_accumulator(lambda, at)?;
        let token = lambda.params[0].name;
        let mut arrays = Vec::new();
        for (array, adjoint) in input.arrays.iter().zip(adjoints) {
            let ty = self.b.types.type_of(*array).clone();
            let adjoint = self.or_zero(*adjoint, &ty);
            arrays.push(self.name_of(adjoint));
        }
        VisitMut::<Soacs>::body(&mut WriteZeros { ad: self, token }, &mut lambda.body);
        let inputs = vec![AccInput { shape: input.shape.clone(), arrays, op: None }];
        let names = self.b.let_op("adj", Soac::WithAcc { inputs, lambda });
        Ok(names.iter().zip(adjoints).map(|(name, before)| before.map(|_| (*name).into())).collect())
    }

    /// The statement as the forward sweep within a `withacc` runs it: without its accumulators.
    /// `None` if nothing is left.
    pub(super) fn without_accumulators(&mut self, stm: &Stm<Soacs>) -> Result<Option<Stm<Soacs>>> {
        if self.acc_adjoints.is_empty() {
            return Ok(Some(stm.clone()));
        }
        let tokens: Vec<Name> = self.acc_adjoints.keys().copied().collect();
        without_tokens(stm, &tokens)
    }
}

/// The map in a body whose iterations write to an accumulator, if nothing else does, and the number of
/// writes in an iteration.
fn writing_map(body: &mut Body<Soacs>, token: Name) -> Option<(&mut Screma, usize)> {
    let tokens = [token];
    let uses = |stm: &Stm<Soacs>| uses_tokens(stm, &tokens);
    let mut found = body.stms.iter_mut().filter(|stm| uses(stm));
    let (first, None) = (found.next()?, found.next()) else {
        return None;
    };
    let Exp::Op(Soac::Screma(screma)) = &mut first.exp else {
        return None;
    };
    let is_write = |stm: &&Stm<Soacs>| matches!(stm.exp, Exp::Basic(BasicOp::UpdateAcc { .. }));
    let users: Vec<&Stm<Soacs>> = screma.map.body.stms.iter().filter(|stm| uses(stm)).collect();
    let (count, all) = (users.len(), users.iter().all(is_write));
    (all && screma.scan_reduce.is_map()).then_some((screma, count))
}

fn acc_elems(ty: &Type) -> &[Type] {
    match ty {
        Type::Acc { elems, .. } => elems,
        Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => &[],
    }
}

/// Replaces the values written to an accumulator by numbers, in order.
struct WriteNumbers {
    token: Name,
    numbers: std::collections::VecDeque<Atom>,
}

impl VisitMut<Soacs> for WriteNumbers {
    fn ty(&mut self, ty: &mut Type) {
        if let Type::Acc { token, elems, .. } = ty
            && *token == self.token
        {
            *elems = vec![Type::I64];
        }
    }

    fn stm(&mut self, stm: &mut Stm<Soacs>) {
        self.walk_stm(stm);
        if let (Exp::Basic(BasicOp::UpdateAcc { values, .. }), [param]) = (&mut stm.exp, stm.pat.as_slice())
            && has_token(&param.ty, &[self.token])
        {
            *values = self.numbers.pop_front().into_iter().collect();
        }
    }
}

/// Replaces the values written to an accumulator by zeros.
struct WriteZeros<'a, 'b> {
    ad: &'a mut Ad<'b>,
    token: Name,
}

impl VisitMut<Soacs> for WriteZeros<'_, '_> {
    fn body(&mut self, body: &mut Body<Soacs>) {
        let outer = self.ad.b.open();
        for mut stm in std::mem::take(&mut body.stms) {
            self.stm(&mut stm);
            if let (Exp::Basic(BasicOp::UpdateAcc { values, .. }), [param]) =
                (&mut stm.exp, stm.pat.as_slice())
                && has_token(&param.ty, &[self.token])
            {
                for (value, ty) in values.iter_mut().zip(acc_elems(&param.ty)) {
                    *value = self.ad.zero(ty);
                }
            }
            self.ad.b.let_with(stm.pat, stm.aux, stm.exp);
        }
        body.stms = self.ad.b.close(outer, Vec::new()).stms;
    }
}
