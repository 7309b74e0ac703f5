//! The split of maps, branches and counted loops into their invariant and their varying part.

use super::parts::{Cut, Part, Splitter};
use crate::state::zero_of;
use ir::Name;
use ir::build::Builder;
use ir::soac::{Screma, Soac, Soacs};
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{
    Substitution, Visit, VisitMut, binders, binders_in, free_names, refresh_body, refresh_lambda,
};
use prim::{BinOp, PrimType, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most times that the parts of a loop's body are determined, before all of it counts as varying.
const MAX_ROUNDS: usize = 4;
/// The most elements that are saved of an iteration, if there are few, and if their number is not known.
const MAX_SAVED: i64 = 32;
const MAX_SAVED_OF_MANY: i64 = 8;
const FEW_ITERATIONS: i64 = 4096;

impl Splitter<'_> {
    /// Splits a map: values of iterations are saved in arrays.
    pub(super) fn split_map(
        &mut self,
        stm: &Stm<Soacs>,
        screma: &Screma,
        varying: &mut FxHashSet<Name>,
    ) -> Option<Part> {
        let Screma { width, inputs, map, scan_reduce } = screma;
        let (mut own_params, mut own_inputs) = (Vec::new(), Vec::new());
        for (param, input) in map.params.iter().zip(inputs) {
            if varying.contains(input) {
                varying.insert(param.name);
            } else {
                own_params.push(param.clone());
                own_inputs.push(*input);
            }
        }
        if own_inputs.is_empty() {
            return None;
        }
        let params = map.params.iter().map(|param| param.name);
        let bound = params.chain(binders(&map.body)).collect();
        let cut = self.cut(&map.body, (&bound, most_saved(width.atom())), varying)?;
        let (kept, moved) = results(&map.body.result, &stm.pat, varying);
        if moved.0.is_empty() && cut.saved.is_empty() {
            return None;
        }
        // The invariant part.
        let mut invariant_pat = moved.1;
        let mut result = moved.0;
        let (mut all_params, mut all_inputs) = (map.params.clone(), inputs.clone());
        let mut saved = Substitution::default();
        for (name, ty) in &cut.saved {
            let hint = self.b.names.hint(*name).to_string();
            let array = self.b.param(&hint, ty.array_of(*width));
            let param = self.b.param(&hint, ty.clone());
            saved.insert(*name, param.name.into());
            all_inputs.push(array.name);
            all_params.push(param);
            invariant_pat.push(array);
            result.push((*name).into());
        }
        let ret = result.iter().map(|atom| self.b.type_of(*atom)).collect();
        let own = Lambda { params: own_params, body: Body { stms: cut.invariant(), result }, ret };
        let own = self.copied(&own);
        let exp = Exp::Op(Soac::Screma(Screma::map(*width, own_inputs, own)));
        let invariant = vec![Stm { pat: invariant_pat, aux: stm.aux.clone(), exp }];
        // The varying part.
        let (result, pat) = kept;
        let ret = result.iter().map(|atom| self.b.type_of(*atom)).collect();
        let body = cut.varying(&result, &saved, &self.own)?;
        let used: FxHashSet<Name> = free_names(&body).into_iter().collect();
        let inputs = all_params.into_iter().zip(all_inputs);
        let (mut read, unread): (Vec<_>, Vec<_>) = inputs.partition(|(param, _)| used.contains(&param.name));
        if read.is_empty() {
            read.extend(unread.into_iter().next());
        }
        let (params, inputs) = read.into_iter().unzip();
        let map = Lambda { params, body, ret };
        let screma = Screma { width: *width, inputs, map, scan_reduce: scan_reduce.clone() };
        let rest = Stm { pat, aux: stm.aux.clone(), exp: Exp::Op(Soac::Screma(screma)) };
        Some(split(stm, invariant, rest, cut.expensive))
    }

    /// Splits a branch by a condition that is invariant: it returns the values of both bodies, of which
    /// those of the other one are zero.
    pub(super) fn split_branch(
        &mut self,
        stm: &Stm<Soacs>,
        cond: Atom,
        bodies: [&Body<Soacs>; 2],
        varying: &mut FxHashSet<Name>,
    ) -> Option<Part> {
        let mut cuts: Vec<Cut> = Vec::with_capacity(2);
        for body in bodies {
            let bound = binders(body).into_iter().collect();
            cuts.push(self.cut(body, (&bound, MAX_SAVED), varying)?);
        }
        let is_varying = |atom: &Atom| atom.var().is_some_and(|name| varying.contains(&name));
        let both = bodies[0].result.iter().zip(&bodies[1].result);
        let varies: Vec<bool> = both.map(|(x, y)| is_varying(x) || is_varying(y)).collect();
        let chosen = |results: &[Atom], which: bool| -> Vec<Atom> {
            results.iter().zip(&varies).filter(|(_, own)| **own == which).map(|(atom, _)| *atom).collect()
        };
        let pat_of = |which: bool| -> Vec<Param<Soacs>> {
            stm.pat.iter().zip(&varies).filter(|(_, own)| **own == which).map(|(p, _)| p.clone()).collect()
        };
        let mut invariant_pat = pat_of(false);
        if invariant_pat.is_empty() && cuts.iter().all(|cut| cut.saved.is_empty()) {
            return None;
        }
        let mut saved = [Substitution::default(), Substitution::default()];
        for (cut, saved) in cuts.iter().zip(&mut saved) {
            for (name, ty) in &cut.saved {
                let hint = self.b.names.hint(*name).to_string();
                let param = self.b.param(&hint, ty.clone());
                saved.insert(*name, param.name.into());
                invariant_pat.push(param);
            }
        }
        let mut own = Vec::with_capacity(2);
        for (at, body) in bodies.iter().enumerate() {
            let outer = self.b.open();
            self.b.put_back(cuts[at].invariant());
            let mut result = chosen(&body.result, false);
            for (other, cut) in cuts.iter().enumerate() {
                for (name, ty) in &cut.saved {
                    result.push(if other == at { (*name).into() } else { zero_of(&mut self.b, ty) });
                }
            }
            let made = self.b.close(outer, result);
            let made = refresh_body(&made, self.b.names, &mut Substitution::default());
            self.b.types.add_body(&made);
            own.push(made);
        }
        let (else_body, then_body) = (own.pop()?, own.pop()?);
        let exp = Exp::If { cond, then_body, else_body };
        let invariant = vec![Stm { pat: invariant_pat, aux: stm.aux.clone(), exp }];
        let [then_body, else_body] =
            [0, 1].map(|at| cuts[at].varying(&chosen(&bodies[at].result, true), &saved[at], &self.own));
        let exp = Exp::If { cond, then_body: then_body?, else_body: else_body? };
        let rest = Stm { pat: pat_of(true), aux: stm.aux.clone(), exp };
        Some(split(stm, invariant, rest, cuts.iter().any(|cut| cut.expensive)))
    }

    /// Splits a counted loop: values of iterations are saved in arrays, among them all that depend on
    /// invariant parameters.
    pub(super) fn split_loop(
        &mut self,
        stm: &Stm<Soacs>,
        (params, var, bound, body): (&[LoopParam<Soacs>], Name, Atom, &Body<Soacs>),
        varying: &mut FxHashSet<Name>,
    ) -> Option<Part> {
        let names: FxHashSet<Name> = params.iter().map(|p| p.param.name).collect();
        let is_param = |dim: &Dim| matches!(dim, Dim::Var(name) if names.contains(name));
        if params.iter().any(|p| p.param.ty.shape().iter().any(is_param)) {
            return None;
        }
        let is_varying =
            |atom: Atom, varying: &FxHashSet<Name>| atom.var().is_some_and(|name| varying.contains(&name));
        for p in params {
            if is_varying(p.init, varying) || matches!(p.param.ty, Type::Acc { .. }) {
                varying.insert(p.param.name);
            }
        }
        let mut body = body.clone();
        self.project_reads(&mut body, &names);
        let bound_names = names.iter().copied().chain(binders(&body)).chain([var]).collect();
        for _ in 0..MAX_ROUNDS {
            let own: Vec<Name> = names.iter().filter(|name| !varying.contains(name)).copied().collect();
            if own.is_empty() {
                return None;
            }
            self.own.extend(&own);
            let cut = self.cut(&body, (&bound_names, most_saved(Some(bound))), varying);
            let before = varying.len();
            for (p, next) in params.iter().zip(&body.result) {
                if is_varying(*next, varying) {
                    varying.insert(p.param.name);
                }
            }
            let parts = match cut {
                Some(cut) if varying.len() == before => {
                    self.loop_parts(stm, (params, var, bound, &body), &cut, varying)
                }
                Some(_) | None => None,
            };
            own.iter().for_each(|name| {
                self.own.remove(name);
            });
            if varying.len() == before {
                return parts;
            }
        }
        None
    }

    /// Reads rows of these arrays before combinators that read their elements: a row can be saved, the
    /// array could not.
    fn project_reads(&mut self, body: &mut Body<Soacs>, arrays: &FxHashSet<Name>) {
        let outer = self.b.open();
        for mut stm in std::mem::take(&mut body.stms) {
            if let Exp::If { then_body, else_body, .. } = &mut stm.exp {
                self.project_reads(then_body, arrays);
                self.project_reads(else_body, arrays);
            } else if !matches!(stm.exp, Exp::Basic(_)) {
                let inside = Inside(binders_in(&stm.exp).into_iter().collect());
                let mut rows = Rows { arrays, inside: &inside, found: Vec::new() };
                rows.exp(&stm.exp);
                let mut projected = FxHashMap::default();
                for (array, indices, certs) in rows.found {
                    projected.entry((array, indices.clone())).or_insert_with(|| {
                        let slice = self.b.row_slice(array, &indices);
                        let row = BasicOp::Index { array, slice };
                        self.b.with_certs(&certs, |b| b.let_basic("row", row))
                    });
                }
                ReadRows { inside: &inside, projected: &projected }.exp(&mut stm.exp);
            }
            self.b.push(stm);
        }
        body.stms = self.b.close(outer, Vec::new()).stms;
    }

    fn loop_parts(
        &mut self,
        stm: &Stm<Soacs>,
        (params, var, bound, body): (&[LoopParam<Soacs>], Name, Atom, &Body<Soacs>),
        cut: &Cut,
        varying: &FxHashSet<Name>,
    ) -> Option<Part> {
        let (mut own_params, mut rest_params) = (Vec::new(), Vec::new());
        let (mut own_pat, mut rest_pat) = (Vec::new(), Vec::new());
        let (mut own_result, mut rest_result) = (Vec::new(), Vec::new());
        for ((p, param), next) in params.iter().zip(&stm.pat).zip(&body.result) {
            if varying.contains(&p.param.name) {
                rest_params.push(p.clone());
                rest_pat.push(param.clone());
                rest_result.push(*next);
            } else {
                own_params.push(p.clone());
                own_pat.push(param.clone());
                own_result.push(*next);
            }
        }
        // Arrays of the saved values, with a row for each iteration.
        let outer = self.b.open();
        let rows = match bound {
            Atom::Const(_) => bound,
            Atom::Var(_) => self.b.binary(BinOp::SMax, PrimType::I64, bound, Atom::i64(0)).into(),
        };
        let rows = Builder::<Soacs>::dim(rows);
        let mut tapes = Vec::new();
        for (name, ty) in &cut.saved {
            let hint = self.b.names.hint(*name).to_string();
            let ty = ty.array_of(rows);
            let shape = ty.shape().iter().copied().collect();
            let elem = ty.elem()?;
            let init = self.b.let_basic(&hint, BasicOp::Scratch { elem, shape }).into();
            own_params.push(LoopParam { param: self.b.param(&hint, ty.clone()), init, consumed: true });
            let result = self.b.param(&hint, ty);
            tapes.push(result.name);
            own_pat.push(result);
        }
        let mut invariant = self.b.close(outer, Vec::new()).stms;
        let outer = self.b.open();
        self.b.put_back(cut.invariant());
        let first_tape = own_params.len() - cut.saved.len();
        for ((name, _), tape) in cut.saved.iter().zip(&own_params[first_tape..]) {
            let hint = self.b.names.hint(*name).to_string();
            own_result.push(self.b.update(&hint, tape.param.name, &[var.into()], (*name).into()).into());
        }
        let own_body = self.b.close(outer, own_result);
        let counter = Param { name: var, ty: Type::I64, ann: () };
        let mut lambda_params: Vec<Param<Soacs>> = own_params.iter().map(|p| p.param.clone()).collect();
        lambda_params.push(counter);
        let ret = own_params.iter().map(|p| p.param.ty.clone()).collect();
        let mut made = self.copied(&Lambda { params: lambda_params, body: own_body, ret });
        let own_var = made.params.pop()?.name;
        let made_params = made.params.into_iter().zip(&own_params);
        let made_params =
            made_params.map(|(param, p)| LoopParam { param, init: p.init, consumed: p.consumed }).collect();
        let form = LoopForm::For { var: own_var, ty: PrimType::I64, bound };
        let exp = Exp::Loop { params: made_params, form, body: made.body };
        invariant.push(Stm { pat: own_pat, aux: stm.aux.clone(), exp });
        // The varying part.
        let outer = self.b.open();
        let mut saved = Substitution::default();
        for ((name, _), tape) in cut.saved.iter().zip(&tapes) {
            let hint = self.b.names.hint(*name).to_string();
            saved.insert(*name, self.b.index(&hint, *tape, &[var.into()]).into());
        }
        let reads = self.b.close(outer, Vec::new()).stms;
        let mut rest_body = cut.varying(&rest_result, &saved, &self.own)?;
        rest_body.stms.splice(0..0, reads);
        let form = LoopForm::For { var, ty: PrimType::I64, bound };
        let exp = Exp::Loop { params: rest_params, form, body: rest_body };
        let rest = Stm { pat: rest_pat, aux: stm.aux.clone(), exp };
        let expensive = super::parts::is_expensive(invariant.last()?);
        Some(split(stm, invariant, rest, expensive))
    }

    /// A copy of a lambda with fresh names.
    fn copied(&mut self, lambda: &Lambda<Soacs>) -> Lambda<Soacs> {
        let copy = refresh_lambda(lambda, self.b.names, &mut Substitution::default());
        self.b.types.add_params(&copy.params);
        self.b.types.add_body(&copy.body);
        copy
    }
}

/// The most elements that are saved of each of a number of iterations.
fn most_saved(iterations: Option<Atom>) -> i64 {
    let number = iterations.and_then(Atom::constant).and_then(Scalar::as_i64);
    if number.is_some_and(|number| number <= FEW_ITERATIONS) { MAX_SAVED } else { MAX_SAVED_OF_MANY }
}

/// A statement in two parts.
fn split(stm: &Stm<Soacs>, invariant: Vec<Stm<Soacs>>, rest: Stm<Soacs>, expensive: bool) -> Part {
    let varying = (!rest.pat.is_empty()).then_some(rest);
    Part::Split { whole: stm.clone(), invariant, varying, expensive }
}

type Results = (Vec<Atom>, Vec<Param<Soacs>>);

/// The varying and the invariant results, with their patterns.
fn results(results: &[Atom], pat: &[Param<Soacs>], varying: &FxHashSet<Name>) -> (Results, Results) {
    let varies = |atom: &Atom| atom.var().is_some_and(|name| varying.contains(&name));
    let own = results.iter().copied().zip(pat.iter().cloned());
    let (kept, moved): (Vec<_>, Vec<_>) = own.partition(|(atom, _)| varies(atom));
    (kept.into_iter().unzip(), moved.into_iter().unzip())
}

/// The names bound inside of a statement.
struct Inside(FxHashSet<Name>);

impl Inside {
    /// The first indices of a read that are known before the statement, if others follow.
    fn row(&self, slice: &[DimIndex]) -> Option<Vec<Atom>> {
        let known = slice.iter().map_while(|index| match index {
            DimIndex::Fix(at) if at.var().is_none_or(|name| !self.0.contains(&name)) => Some(*at),
            DimIndex::Fix(_) | DimIndex::Slice { .. } => None,
        });
        let known: Vec<Atom> = known.collect();
        (!known.is_empty() && known.len() < slice.len()).then_some(known)
    }
}

/// Finds rows of arrays that a statement reads, with the checks of the reads.
struct Rows<'a> {
    arrays: &'a FxHashSet<Name>,
    inside: &'a Inside,
    found: Vec<(Name, Vec<Atom>, Vec<Name>)>,
}

impl Visit<Soacs> for Rows<'_> {
    fn stm(&mut self, stm: &Stm<Soacs>) {
        if let Exp::Basic(BasicOp::Index { array, slice }) = &stm.exp
            && self.arrays.contains(array)
            && !stm.aux.certs.iter().any(|cert| self.inside.0.contains(cert))
            && let Some(indices) = self.inside.row(slice)
        {
            self.found.push((*array, indices, stm.aux.certs.to_vec()));
        }
        self.walk_stm(stm);
    }
}

/// Reads elements from the rows.
struct ReadRows<'a> {
    inside: &'a Inside,
    projected: &'a FxHashMap<(Name, Vec<Atom>), Name>,
}

impl VisitMut<Soacs> for ReadRows<'_> {
    fn stm(&mut self, stm: &mut Stm<Soacs>) {
        if let Exp::Basic(BasicOp::Index { array, slice }) = &mut stm.exp
            && let Some(indices) = self.inside.row(slice)
        {
            let n = indices.len();
            if let Some(row) = self.projected.get(&(*array, indices)) {
                *array = *row;
                slice.drain(..n);
            }
        }
        self.walk_stm(stm);
    }
}
