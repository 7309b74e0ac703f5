//! Accumulators whose operator is not a sum, in reverse mode: their updates are recorded in arrays, in
//! the order of the iterations, and a histogram of these follows.
//!
//! ```text
//! withacc ([k] (d) by op) \(t, acc) -> map (x <- xs) -> .. updateacc acc (i) v ..
//!   =>  total = the number of updates, counted by a copy of the function
//!       let (is, vs) = withacc ([total] (is'), [total] (vs')) \(t1, t2, acc1, acc2) ->
//!         map (x <- xs, p <- numbers of updates before) ->
//!           .. updateacc acc1 (p) i; updateacc acc2 (p) v; let p' = p + 1 ..
//!       hist (d by op) (is, vs)
//! ```
//!
//! In the accumulator's place, code passes on the writers of the arrays and a *position*, the number of
//! updates so far. An iteration of a map begins at the number of updates in the iterations before it,
//! which a map without the writers counts. What follows differentiates writes and histograms by their
//! rules.

use crate::reverse::is_sum;
use crate::state::{Ad, Result};
use ir::accumulators::{has_token, without_tokens};
use ir::remark::DerivativeStep;
use ir::soac::{AccInput, HistOp, Screma, Soac, Soacs};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, LoopParam, Param, Stm};
use ir::types::{Dim, Shape, Type};
use ir::walk::with_stack;
use ir::{Builder, Name, PassError};
use prim::PrimType;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// The updates of one accumulator, recorded or, without writers, counted.
struct Updates {
    token: Name,
    /// The types of the writers' accumulators.
    writers: Vec<Type>,
    /// In the place of each accumulator with the token: the position, then the writers.
    states: FxHashMap<Name, Vec<Atom>>,
}

impl Updates {
    fn has(&self, ty: &Type) -> bool {
        has_token(ty, &[self.token])
    }

    /// Values with the state in place of the accumulator.
    fn expand(&self, values: &[Atom]) -> Vec<Atom> {
        let state = |value: &Atom| value.var().and_then(|name| self.states.get(&name));
        let each = |value: &Atom| state(value).map_or_else(|| vec![*value], Clone::clone);
        values.iter().flat_map(each).collect()
    }

    /// Values with the writers in place of the accumulator.
    fn writers_of(&self, values: &[Atom]) -> Vec<Atom> {
        let state = |value: &Atom| value.var().and_then(|name| self.states.get(&name));
        let each = |value: &Atom| state(value).map_or_else(|| vec![*value], |state| state[1..].to_vec());
        values.iter().flat_map(each).collect()
    }

    /// The position in the state among the results of a body.
    fn position(&self, results: &[Atom]) -> Result<Atom> {
        let state = results.iter().find_map(|result| self.states.get(&result.var()?)?.first());
        state.copied().ok_or_else(|| PassError::bug("code does not return the accumulator that it updates"))
    }

    fn state(&self, acc: Name) -> Result<&[Atom]> {
        let state = self.states.get(&acc);
        state.map(Vec::as_slice).ok_or_else(|| PassError::bug("an accumulator has no recorded updates"))
    }
}

impl Ad<'_> {
    /// Appends a `withacc` in which all accumulators have sums, or no operator, and histograms of the
    /// others' updates.
    pub(crate) fn recorded(
        &mut self,
        mut pat: Vec<Param<Soacs>>,
        aux: &Aux,
        (mut inputs, mut lambda): (Vec<AccInput<Soacs>>, Lambda<Soacs>),
    ) -> Result {
        let mut histograms = Vec::new();
        self.at(aux);
        self.note(|_| DerivativeStep::RecordsUpdates);
        while let Some(at) = inputs.iter().position(|input| !has_sums(input)) {
            let total = self.count_updates(&lambda, at)?;
            let total = Builder::<Soacs>::dim(total);
            let first: usize = inputs[..at].iter().map(|input| input.arrays.len()).sum();
            let input = inputs.remove(at);
            let results: Vec<Param<Soacs>> = pat.drain(first..first + input.arrays.len()).collect();
            let rank = input.shape.len();
            let Some(Type::Acc { token: _, shape: _, elems }) = lambda.ret.get(at) else {
                return Err(PassError::bug("a function of accumulators does not return them"));
            };
            let types: Vec<Type> = vec![Type::I64; rank].into_iter().chain(elems.iter().cloned()).collect();
            let written: Vec<Param<Soacs>> =
                types.iter().map(|ty| self.b.param("updates", ty.array_of(total))).collect();
            let arrays = types.iter().map(|ty| self.unwritten("updates", ty, total));
            let own = arrays.collect::<Vec<Name>>().into_iter().map(|array| AccInput {
                shape: smallvec![total],
                arrays: vec![array],
                op: None,
            });
            inputs.splice(at..at, own);
            let names: Vec<Name> = written.iter().map(|param| param.name).collect();
            pat.splice(first..first, written);
            lambda = self.record_updates(lambda, at, (total, &types))?;
            histograms.push((results, input, total, names));
        }
        self.b.let_with(pat, aux.clone(), Exp::Op(Soac::WithAcc { inputs, lambda }));
        for (results, AccInput { shape, arrays, op }, total, updates) in histograms {
            let op = op.ok_or_else(|| PassError::bug("a recorded accumulator has no operator"))?;
            let ops = vec![HistOp { shape, destinations: arrays, op }];
            self.split_histograms(&results, aux, (total, &updates), ops)?;
        }
        Ok(())
    }

    /// The number of updates of one of a function's accumulators.
    fn count_updates(&mut self, lambda: &Lambda<Soacs>, at: usize) -> Result<Atom> {
        let Lambda { params, body, ret: _ } = self.copy_lambda(lambda);
        let n = params.len() / 2;
        let others: Vec<Name> =
            params[..n].iter().enumerate().filter(|(k, _)| *k != at).map(|(_, token)| token.name).collect();
        let states = [(params[n + at].name, vec![Atom::i64(0)])].into_iter().collect();
        let mut updates = Updates { token: params[at].name, writers: Vec::new(), states };
        let body = stripped(body, &others)?;
        self.record_stms(&mut updates, body.stms)?;
        updates.position(&body.result)
    }

    /// The function with writers of `total` values of these types in place of one of its accumulators.
    fn record_updates(
        &mut self,
        lambda: Lambda<Soacs>,
        at: usize,
        (total, types): (Dim, &[Type]),
    ) -> Result<Lambda<Soacs>> {
        let Lambda { mut params, body, ret: _ } = lambda;
        let accs = params.split_off(params.len() / 2);
        let (mut tokens, mut writers) = (Vec::new(), Vec::new());
        for ty in types {
            let token = self.b.param("token", Type::Cert);
            let shape: Shape = smallvec![total];
            let ty = Type::Acc { token: token.name, shape, elems: vec![ty.clone()] };
            writers.push(self.b.param("acc", ty));
            tokens.push(token);
        }
        let names = writers.iter().map(|writer| Atom::Var(writer.name));
        let state = std::iter::once(Atom::i64(0)).chain(names).collect();
        let mut updates = Updates {
            token: params[at].name,
            writers: writers.iter().map(|writer| writer.ty.clone()).collect(),
            states: [(accs[at].name, state)].into_iter().collect(),
        };
        let mut own_accs = accs;
        params.splice(at..=at, tokens);
        own_accs.splice(at..=at, writers);
        let outer = self.b.open();
        self.record_stms(&mut updates, body.stms)?;
        let result = updates.writers_of(&body.result);
        params.extend(own_accs);
        Ok(self.close_lambda(outer, params, result))
    }

    fn record_stms(&mut self, updates: &mut Updates, stms: Vec<Stm<Soacs>>) -> Result {
        with_stack(|| stms.into_iter().try_for_each(|stm| self.record_stm(updates, stm)))
    }

    fn record_body(&mut self, updates: &mut Updates, body: Body<Soacs>) -> Result<Body<Soacs>> {
        let outer = self.b.open();
        self.record_stms(updates, body.stms)?;
        let result = updates.expand(&body.result);
        Ok(self.b.close(outer, result))
    }

    fn record_stm(&mut self, updates: &mut Updates, stm: Stm<Soacs>) -> Result {
        let Stm { pat, aux, exp } = stm;
        let Some(own) = pat.iter().position(|param| updates.has(&param.ty)) else {
            self.b.let_with(pat, aux, exp);
            return Ok(());
        };
        let acc = pat[own].name;
        let exp = match exp {
            Exp::Basic(BasicOp::UpdateAcc { acc: before, index, values }) => {
                let state = updates.state(before)?.to_vec();
                let state = self.record_update(&state, index.iter().chain(&values).copied());
                updates.states.insert(acc, state);
                return Ok(());
            }
            Exp::Basic(BasicOp::Atom(Atom::Var(before))) => {
                let state = updates.state(before)?.to_vec();
                updates.states.insert(acc, state);
                return Ok(());
            }
            Exp::If { cond, then_body, else_body } => {
                let then_body = self.record_body(updates, then_body)?;
                let else_body = self.record_body(updates, else_body)?;
                Exp::If { cond, then_body, else_body }
            }
            Exp::Loop { params, form, body } => {
                let mut own_params = Vec::with_capacity(params.len());
                for p in params {
                    if !updates.has(&p.param.ty) {
                        own_params.push(p);
                        continue;
                    }
                    let inits = updates.expand(&[p.init]);
                    let own = self.state_params(updates);
                    updates.states.insert(p.param.name, own.iter().map(|own| own.name.into()).collect());
                    let with_init = |(param, init)| LoopParam { param, init, consumed: false };
                    own_params.extend(own.into_iter().zip(inits).map(with_init));
                }
                let body = self.record_body(updates, body)?;
                Exp::Loop { params: own_params, form, body }
            }
            Exp::Op(Soac::Screma(screma)) if screma.scan_reduce.is_map() => {
                return self.record_map(updates, (pat, aux), screma);
            }
            Exp::Op(Soac::WithAcc { inputs, mut lambda }) => {
                lambda.body = self.record_body(updates, lambda.body)?;
                lambda.ret = lambda.body.result.iter().map(|atom| self.b.type_of(*atom)).collect();
                Exp::Op(Soac::WithAcc { inputs, lambda })
            }
            Exp::Basic(_) | Exp::Apply { .. } | Exp::Op(_) => {
                return Err(PassError::bug("an accumulator is passed to an operation without a rule"));
            }
        };
        let state = self.state_params(updates);
        updates.states.insert(acc, state.iter().map(|param| param.name.into()).collect());
        let mut results = pat;
        results.splice(own..=own, state);
        self.b.let_with(results, aux, exp);
        Ok(())
    }

    /// Parameters for a state.
    fn state_params(&mut self, updates: &Updates) -> Vec<Param<Soacs>> {
        let position = self.b.param("position", Type::I64);
        let writers = updates.writers.iter().map(|ty| self.b.param("acc", ty.clone()));
        let writers: Vec<Param<Soacs>> = writers.collect();
        std::iter::once(position).chain(writers).collect()
    }

    /// The state after an update with these indices and values.
    fn record_update(&mut self, state: &[Atom], written: impl Iterator<Item = Atom>) -> Vec<Atom> {
        let position = state[0];
        let mut after = vec![self.b.add_i64(position, Atom::i64(1))];
        for (writer, value) in state[1..].iter().zip(written) {
            let acc = self.name_of(*writer);
            let update = BasicOp::UpdateAcc { acc, index: smallvec![position], values: vec![value] };
            after.push(self.b.let_basic("acc", update).into());
        }
        after
    }

    /// A map whose iterations update the accumulator: one that counts the updates of each, then the
    /// map with a position for each iteration.
    fn record_map(
        &mut self,
        updates: &mut Updates,
        (pat, aux): (Vec<Param<Soacs>>, Aux),
        screma: Screma,
    ) -> Result {
        let Screma { width, inputs, map, scan_reduce } = screma;
        let own = map.params.iter().position(|param| updates.has(&param.ty));
        let own = own.ok_or_else(|| PassError::bug("a map updates an accumulator that it does not take"))?;
        let state = updates.state(inputs[own])?.to_vec();
        let counts = self.count_in_iterations(updates.token, (width, &inputs, &map))?;
        let (starts, total) = self.starts(state[0], width, counts);
        let after = self.b.add_i64(state[0], total.into());

        let mut own_inputs = inputs;
        let mut own_params = map.params;
        let params = self.state_params(updates);
        let acc = own_params[own].name;
        updates.states.insert(acc, params.iter().map(|param| param.name.into()).collect());
        let writers = state[1..].iter().filter_map(|writer| writer.var());
        own_inputs.splice(own..=own, std::iter::once(starts).chain(writers));
        own_params.splice(own..=own, params);
        let outer = self.b.open();
        self.record_stms(updates, map.body.stms)?;
        let result = updates.writers_of(&map.body.result);
        let map = self.close_lambda(outer, own_params, result);
        let mut results = Vec::with_capacity(pat.len() + updates.writers.len());
        for param in pat {
            if !updates.has(&param.ty) {
                results.push(param);
                continue;
            }
            let mut own = self.state_params(updates);
            own.remove(0);
            let writers = own.iter().map(|writer| Atom::Var(writer.name));
            updates.states.insert(param.name, std::iter::once(after).chain(writers).collect());
            results.extend(own);
        }
        if !results.is_empty() {
            let screma = Screma { width, inputs: own_inputs, map, scan_reduce };
            self.b.let_with(results, aux, Exp::Op(Soac::Screma(screma)));
        }
        Ok(())
    }

    /// The number of updates in each iteration of a map.
    fn count_in_iterations(
        &mut self,
        token: Name,
        (width, inputs, map): (Dim, &[Name], &Lambda<Soacs>),
    ) -> Result<Name> {
        let Lambda { params, body, ret: _ } = self.copy_lambda(map);
        let mut updates = Updates { token, writers: Vec::new(), states: FxHashMap::default() };
        let (mut own_inputs, mut own_params, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (param, input) in params.into_iter().zip(inputs) {
            match &param.ty {
                ty if updates.has(ty) => {
                    updates.states.insert(param.name, vec![Atom::i64(0)]);
                }
                Type::Acc { token, .. } => others.push(*token),
                Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => {
                    own_params.push(param);
                    own_inputs.push(*input);
                }
            }
        }
        if own_inputs.is_empty() {
            own_inputs.push(self.b.iota(width));
            own_params.push(self.b.param("i", Type::I64));
        }
        let body = stripped(body, &others)?;
        let outer = self.b.open();
        self.record_stms(&mut updates, body.stms)?;
        let count = updates.position(&body.result)?;
        let map = self.close_lambda(outer, own_params, vec![count]);
        let counts = self.b.let_op("counts", Soac::Screma(Screma::map(width, own_inputs, map)));
        Ok(counts[0])
    }

    /// The positions of iterations with these numbers of updates, and the sum of the numbers.
    fn starts(&mut self, first: Atom, width: Dim, counts: Name) -> (Name, Name) {
        let sum = self.addition(&[Type::I64]);
        let total = self.b.reduce("total", width, &[counts], sum)[0];
        let sum = self.addition(&[Type::I64]);
        let ends = self.b.scan("ends", width, &[counts], sum)[0];
        let starts = self.b.map("starts", width, &[ends, counts], |b, x| {
            let own = b.binary(prim::BinOp::Sub, PrimType::I64, x[0].into(), x[1].into());
            vec![b.add_i64(first, own.into())]
        });
        (starts[0], total)
    }
}

/// Returns true if an accumulator has a rule: its operator adds, or its values are written.
pub(crate) fn has_sums(input: &AccInput<Soacs>) -> bool {
    input.op.as_ref().is_none_or(|op| is_sum(&op.op))
}

/// A body without the accumulators of other tokens; its results are as before.
fn stripped(body: Body<Soacs>, others: &[Name]) -> Result<Body<Soacs>> {
    let mut stms = Vec::with_capacity(body.stms.len());
    for stm in &body.stms {
        stms.extend(without_tokens(stm, others)?);
    }
    Ok(Body { stms, result: body.result })
}
