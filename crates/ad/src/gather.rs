//! Accumulators of sums whose updates are at fixed distances from a nest's own index become maps.
//!
//! ```text
//! withacc xs (+) \acc -> map n (i) ->           let vs = map n (i) -> v
//!   acc[i] += u; acc[i - 1] += v          =>    let us = map n (i) -> u
//!                                               map m (k) -> xs[k] + vs[k + 1] + us[k]    (terms out of range are absent)
//! ```
//!
//! The gradient of a stencil is a stencil again. Updates in branches count as updates by zero where they do not run.
//! Terms are added in the order of the iterations that computed them.

use crate::calls::Calls;
use crate::reverse::is_sum;
use crate::state::{addition, zero};
use ir::build::Builder;
use ir::remark::DerivativeStep;
use ir::soac::{AccInput, Screma, Soac, Soacs};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{VisitMut, binders, used_names, with_stack};
use ir::{Name, Prov, TypeEnv};
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The number of terms of an element up to which an accumulator is replaced.
const MAX_TERMS: usize = 40;

/// Replaces accumulators in a function. Returns true if there were any.
pub(crate) fn gather(function: &mut Function<Soacs>, calls: &mut Calls) -> bool {
    let mut types = TypeEnv::of_function(function);
    let Function { names, body, provs, .. } = function;
    let mut gather = Gather {
        b: Builder::new(names, &mut types),
        operations: FxHashMap::default(),
        indices: FxHashSet::default(),
        replicates: FxHashMap::default(),
        equalities: FxHashMap::default(),
        holding: Vec::new(),
        replaced: Vec::new(),
    };
    gather.body(body);
    if let Some(notes) = &mut calls.notes {
        notes.extend(gather.replaced.iter().map(|prov| (provs.stack(*prov), DerivativeStep::Gathers)));
    }
    !gather.replaced.is_empty()
}

struct Gather<'a> {
    b: Builder<'a, Soacs>,
    /// Sums of integers, by the name that they bind.
    operations: FxHashMap<Name, (BinOp, Atom, Atom)>,
    /// Arrays of consecutive numbers from 0 on.
    indices: FxHashSet<Name>,
    /// Arrays whose elements are one constant.
    replicates: FxHashMap<Name, Atom>,
    /// The operands of tests for equality of integers, by the name that they bind.
    equalities: FxHashMap<Name, [Atom; 2]>,
    /// The equalities that hold in the branches being visited.
    holding: Vec<[Atom; 2]>,
    /// Where accumulators were replaced.
    replaced: Vec<Prov>,
}

/// Values that iterations add at the same distances.
struct Term {
    /// Per dimension of the accumulator: the element's index minus that of the iteration.
    distances: Vec<Vec<i64>>,
    /// The value of an iteration; outside of the nest, the array of all.
    value: Atom,
}

/// The nest around an update: the indices of iterations, and the widths.
#[derive(Clone, Default)]
struct Nest {
    indices: Vec<Name>,
    widths: Vec<Dim>,
    /// For each dimension of the accumulator, that of the nest.
    dims: Option<Vec<usize>>,
}

/// A body without the updates of an accumulator.
struct Stripped {
    stms: Vec<Stm<Soacs>>,
    terms: Vec<Term>,
    /// The names of the accumulator.
    versions: FxHashSet<Name>,
}

impl VisitMut<Soacs> for Gather<'_> {
    fn body(&mut self, body: &mut Body<Soacs>) {
        let outer = self.b.open();
        for mut stm in std::mem::take(&mut body.stms) {
            with_stack(|| self.stm(&mut stm));
            self.record(&stm);
            self.replace(stm);
        }
        body.stms = self.b.close(outer, Vec::new()).stms;
    }
}

impl Gather<'_> {
    fn record(&mut self, stm: &Stm<Soacs>) {
        let (Exp::Basic(op), Some(param)) = (&stm.exp, stm.pat.first()) else {
            return;
        };
        if let BasicOp::Scalar(ScalarOp::Binary(op @ (BinOp::Add | BinOp::Sub), PrimType::I64, x, y)) = op {
            self.operations.insert(param.name, (*op, *x, *y));
        } else if let BasicOp::Scalar(ScalarOp::Compare(CmpOp::Eq, PrimType::I64, x, y)) = op {
            self.equalities.insert(param.name, [*x, *y]);
        } else if let BasicOp::Replicate { value: value @ Atom::Const(_), .. } = op {
            self.replicates.insert(param.name, *value);
        } else if param.ty.shape().first().is_some_and(|count| *op == BasicOp::indices(*count)) {
            self.indices.insert(param.name);
        }
    }

    /// Appends a statement, without the accumulators that become maps.
    fn replace(&mut self, mut stm: Stm<Soacs>) {
        let mut at = 0;
        while let Exp::Op(Soac::WithAcc { inputs, .. }) = &stm.exp {
            if at >= inputs.len() {
                break;
            }
            match self.without(&stm, at) {
                Some(next) => {
                    self.replaced.push(stm.aux.prov);
                    stm = next;
                }
                None => at += 1,
            }
        }
        let Exp::Op(Soac::WithAcc { inputs, lambda }) = stm.exp else {
            return self.b.let_with(stm.pat, stm.aux, stm.exp);
        };
        if !inputs.is_empty() {
            let exp = Exp::Op(Soac::WithAcc { inputs, lambda });
            return self.b.let_with(stm.pat, stm.aux, exp);
        }
        self.b.put_back(lambda.body.stms);
        self.b.prov = stm.aux.prov;
        for (param, result) in stm.pat.into_iter().zip(lambda.body.result) {
            self.b.let_pat(vec![param], Exp::Basic(BasicOp::Atom(result)));
        }
    }

    /// The statement without one of its accumulators, with the map in its place after it.
    fn without(&mut self, stm: &Stm<Soacs>, at: usize) -> Option<Stm<Soacs>> {
        let Exp::Op(Soac::WithAcc { inputs, lambda }) = &stm.exp else {
            return None;
        };
        let AccInput { shape, arrays, op } = &inputs[at];
        let (&[array], Some(op)) = (arrays.as_slice(), op) else {
            return None;
        };
        let ty = self.b.types.type_of(array).clone();
        if shape.len() != ty.rank() || !is_sum(&op.op) || inputs.iter().any(|input| input.arrays.len() != 1) {
            return None;
        }
        let n = inputs.len();
        let acc = lambda.params.get(n + at)?.name;
        let mut nest = Nest::default();
        let Stripped { stms, terms, versions } = self.strip(&lambda.body, acc, ty.rank(), &mut nest)?;
        let is_version = |atom: &Atom| atom.var().is_some_and(|name| versions.contains(&name));
        let others = lambda.body.result.iter().enumerate().filter(|(position, _)| *position != at);
        let mut result: Vec<Atom> = others.map(|(_, atom)| *atom).collect();
        if !is_version(lambda.body.result.get(at)?) || result.iter().any(is_version) || terms.is_empty() {
            return None;
        }
        let dims = nest.dims.take()?;
        // The maps after the `withacc` need the widths.
        let bound: FxHashSet<Name> = binders(&lambda.body).into_iter().collect();
        if nest.widths.iter().any(|width| matches!(width, Dim::Var(name) if bound.contains(name))) {
            return None;
        }
        if terms.iter().map(|term| term.distances.len()).sum::<usize>() > MAX_TERMS {
            return None;
        }
        let (mut params, mut pat) = (lambda.params.clone(), stm.pat.clone());
        params.remove(n + at);
        params.remove(at);
        let out = pat.remove(at);
        let mut arrays = Vec::new();
        for term in &terms {
            let own = self.b.param("terms", self.b.type_of(term.value));
            result.push(term.value);
            arrays.push((own.name, term.distances.clone()));
            pat.push(own);
        }
        let ret = result.iter().map(|atom| self.b.type_of(*atom)).collect();
        let lambda = Lambda { params, body: Body { stms, result }, ret };
        let mut inputs = inputs.clone();
        inputs.remove(at);
        self.replace(Stm { pat, aux: stm.aux.clone(), exp: Exp::Op(Soac::WithAcc { inputs, lambda }) });
        self.b.prov = stm.aux.prov;
        let sum = self.sums(array, &arrays, &nest, &dims);
        Some(Stm { pat: vec![out], aux: Aux::at(stm.aux.prov), exp: Exp::Basic(BasicOp::Atom(sum.into())) })
    }

    /// A body of a nest without the updates of an accumulator.
    fn strip(&mut self, body: &Body<Soacs>, acc: Name, rank: usize, nest: &mut Nest) -> Option<Stripped> {
        let outer = self.b.open();
        let mut terms = Vec::new();
        let mut versions = FxHashSet::from_iter([acc]);
        let done =
            body.stms.iter().try_for_each(|stm| self.strip_stm(stm, rank, nest, &mut terms, &mut versions));
        let stms = self.b.close(outer, Vec::new()).stms;
        done.map(|()| Stripped { stms, terms, versions })
    }

    fn strip_stm(
        &mut self,
        stm: &Stm<Soacs>,
        rank: usize,
        nest: &mut Nest,
        terms: &mut Vec<Term>,
        versions: &mut FxHashSet<Name>,
    ) -> Option<()> {
        self.record(stm);
        let mut used = false;
        used_names(&stm.exp, |name| used |= versions.contains(&name));
        if !used {
            self.b.let_with(stm.pat.clone(), stm.aux.clone(), stm.exp.clone());
            return Some(());
        }
        match &stm.exp {
            Exp::Basic(BasicOp::UpdateAcc { acc, index, values }) if versions.contains(acc) => {
                let distances = self.distances(index, nest)?;
                let mut value = *values.first()?;
                if !stm.aux.certs.is_empty() {
                    let ty = self.b.type_of(value);
                    let param = self.b.param("term", ty);
                    let exp = Exp::Basic(BasicOp::Atom(value));
                    value = param.name.into();
                    self.b.let_with(vec![param], stm.aux.clone(), exp);
                }
                terms.push(Term { distances: vec![distances], value });
                versions.insert(stm.pat.first()?.name);
            }
            Exp::Basic(BasicOp::Atom(_)) => {
                versions.insert(stm.pat.first()?.name);
            }
            Exp::If { cond, then_body, else_body } if nest.indices.len() == rank => {
                let equal = cond.var().and_then(|cond| self.equalities.get(&cond).copied());
                self.holding.extend(equal);
                let then = self.strip_branch(then_body, rank, nest, versions);
                self.holding.truncate(self.holding.len() - usize::from(equal.is_some()));
                let then = then?;
                let otherwise = self.strip_branch(else_body, rank, nest, versions)?;
                self.strip_branches(stm, *cond, [then, otherwise], terms, versions)?;
            }
            Exp::Op(Soac::Screma(screma))
                if screma.scan_reduce.scans.is_empty() && nest.indices.len() < rank && terms.is_empty() =>
            {
                let mine: Vec<usize> =
                    (0..screma.inputs.len()).filter(|at| versions.contains(&screma.inputs[*at])).collect();
                let &[at] = mine.as_slice() else {
                    return None;
                };
                let (mut inputs, mut params) = (screma.inputs.clone(), screma.map.params.clone());
                inputs.remove(at);
                let acc = params.remove(at).name;
                let index = inputs.iter().zip(&params).find(|(input, _)| self.indices.contains(input));
                let index = match index {
                    Some((_, param)) => param.name,
                    None => {
                        inputs.push(self.b.iota(screma.width));
                        params.push(self.b.param("i", Type::I64));
                        params.last()?.name
                    }
                };
                nest.indices.push(index);
                nest.widths.push(screma.width);
                let own = self.strip(&screma.map.body, acc, rank, nest)?;
                let results = screma.map.body.result.iter().zip(&stm.pat);
                let (mut result, mut pat) = (Vec::new(), Vec::new());
                for (atom, param) in results {
                    if atom.var().is_some_and(|name| own.versions.contains(&name)) {
                        versions.insert(param.name);
                    } else {
                        result.push(*atom);
                        pat.push(param.clone());
                    }
                }
                for Term { distances, value } in own.terms {
                    result.push(value);
                    let ty = self.b.type_of(value).array_of(screma.width);
                    let param = self.b.param("terms", ty);
                    terms.push(Term { distances, value: param.name.into() });
                    pat.push(param);
                }
                let ret = result.iter().map(|atom| self.b.type_of(*atom)).collect();
                let map = Lambda { params, body: Body { stms: own.stms, result }, ret };
                let scan_reduce = screma.scan_reduce.clone();
                let screma = Screma { width: screma.width, inputs, map, scan_reduce };
                self.b.let_with(pat, stm.aux.clone(), Exp::Op(Soac::Screma(screma)));
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {
                return None;
            }
        }
        Some(())
    }

    fn strip_branch<'b>(
        &mut self,
        branch: &'b Body<Soacs>,
        rank: usize,
        nest: &mut Nest,
        versions: &FxHashSet<Name>,
    ) -> Option<Branch<'b>> {
        let outer = self.b.open();
        let (mut terms, mut versions) = (Vec::new(), versions.clone());
        let done =
            branch.stms.iter().try_for_each(|stm| self.strip_stm(stm, rank, nest, &mut terms, &mut versions));
        let terms = self.by_distance(&terms);
        let stms = self.b.close(outer, Vec::new()).stms;
        done.map(|()| Branch { stms, terms, versions, result: &branch.result })
    }

    /// Appends the sums of a body's terms at the same distance.
    fn by_distance(&mut self, terms: &[Term]) -> BTreeMap<Vec<i64>, Atom> {
        let mut sums: BTreeMap<Vec<i64>, Atom> = BTreeMap::new();
        for term in terms {
            for distance in &term.distances {
                let value = match sums.get(distance) {
                    None => term.value,
                    Some(before) => {
                        let ty = self.b.type_of(term.value).elem().unwrap_or(PrimType::Bool);
                        self.b.binary(addition(ty), ty, *before, term.value).into()
                    }
                };
                sums.insert(distance.clone(), value);
            }
        }
        sums
    }

    /// Appends a conditional without the updates in its branches.
    fn strip_branches(
        &mut self,
        stm: &Stm<Soacs>,
        cond: Atom,
        branches: [Branch<'_>; 2],
        terms: &mut Vec<Term>,
        versions: &mut FxHashSet<Name>,
    ) -> Option<()> {
        let [mut then, mut otherwise] = branches;
        let mut pat = Vec::new();
        let (mut then_result, mut else_result) = (Vec::new(), Vec::new());
        for ((x, y), param) in then.result.iter().zip(otherwise.result).zip(&stm.pat) {
            let of =
                |branch: &Branch<'_>, atom: &Atom| atom.var().is_some_and(|x| branch.versions.contains(&x));
            match (of(&then, x), of(&otherwise, y)) {
                (true, true) => {
                    versions.insert(param.name);
                }
                (false, false) => {
                    then_result.push(*x);
                    else_result.push(*y);
                    pat.push(param.clone());
                }
                _ => return None,
            }
        }
        let values = then.terms.values().chain(otherwise.terms.values());
        let Some(ty) = values.map(|value| self.b.type_of(*value)).next() else {
            let [then_body, else_body] = [(then.stms, then_result), (otherwise.stms, else_result)]
                .map(|(stms, result)| Body { stms, result });
            let exp = Exp::If { cond, then_body, else_body };
            self.b.let_with(pat, stm.aux.clone(), exp);
            return Some(());
        };
        let none = zero(ty.elem()?);
        let mut groups: Vec<((Atom, Atom), Vec<Vec<i64>>)> = Vec::new();
        let all: BTreeSet<Vec<i64>> = then.terms.keys().chain(otherwise.terms.keys()).cloned().collect();
        for distance in all {
            let of = |branch: &mut Branch<'_>| branch.terms.remove(&distance).unwrap_or(none);
            let pair = (of(&mut then), of(&mut otherwise));
            match groups.iter_mut().find(|(own, _)| *own == pair) {
                Some((_, distances)) => distances.push(distance),
                None => groups.push((pair, vec![distance])),
            }
        }
        for ((x, y), distances) in groups {
            then_result.push(x);
            else_result.push(y);
            let param = self.b.param("term", ty.clone());
            terms.push(Term { distances, value: param.name.into() });
            pat.push(param);
        }
        let [then_body, else_body] = [(then.stms, then_result), (otherwise.stms, else_result)]
            .map(|(stms, result)| Body { stms, result });
        self.b.let_with(pat, stm.aux.clone(), Exp::If { cond, then_body, else_body });
        Some(())
    }

    /// The distances of an element from the index of an iteration.
    fn distances(&self, index: &[Atom], nest: &mut Nest) -> Option<Vec<i64>> {
        let (mut dims, mut distances) = (Vec::new(), Vec::new());
        for atom in index {
            let (mut atom, mut distance) = (*atom, 0i64);
            let is_index = |atom: Atom| nest.indices.iter().position(|own| Atom::Var(*own) == atom);
            let dim = loop {
                // An index may stand for that of the nest which it is equal to.
                let other = |[x, y]: &[Atom; 2]| {
                    if atom == *x { is_index(*y) } else { is_index(*x).filter(|_| atom == *y) }
                };
                let equal = self.holding.iter().find_map(other);
                if let Some(dim) = is_index(atom).or(equal) {
                    break dim;
                }
                let name = atom.var()?;
                let (op, x, y) = *self.operations.get(&name)?;
                let constant = |atom: Atom| atom.constant().and_then(Scalar::as_i64);
                (atom, distance) = match (op, constant(x), constant(y)) {
                    (BinOp::Add, None, Some(c)) => (x, distance.checked_add(c)?),
                    (BinOp::Add, Some(c), None) => (y, distance.checked_add(c)?),
                    (BinOp::Sub, None, Some(c)) => (x, distance.checked_sub(c)?),
                    _ => return None,
                };
            };
            if dims.contains(&dim) {
                return None;
            }
            dims.push(dim);
            distances.push(distance);
        }
        if dims.len() != nest.indices.len() || nest.dims.as_ref().is_some_and(|known| *known != dims) {
            return None;
        }
        nest.dims = Some(dims);
        Some(distances)
    }

    /// Appends the map over the elements of an array that adds the terms.
    fn sums(&mut self, array: Name, terms: &[(Name, Vec<Vec<i64>>)], nest: &Nest, dims: &[usize]) -> Name {
        let mut all: Vec<(&[i64], Name)> = Vec::new();
        for (own, distances) in terms {
            all.extend(distances.iter().map(|distance| (distance.as_slice(), *own)));
        }
        // The iteration that computed a term is the element's index minus the distance.
        all.sort_by_key(|(distance, _)| {
            let in_nest = (0..dims.len()).map(|dim| dims.iter().position(|own| *own == dim).unwrap_or(dim));
            in_nest.map(|at| Reverse(distance[at])).collect::<Vec<_>>()
        });
        let ty = self.b.types.type_of(array).clone();
        let start = self.replicates.get(&array).copied().unwrap_or(array.into());
        let elem = ty.elem().unwrap_or(PrimType::Bool);
        self.sums_of_row(start, ty.shape(), &mut Vec::new(), &Sums { terms: &all, nest, dims, elem })
    }

    /// The sums of a row of the accumulator, which starts from an array or a constant.
    fn sums_of_row(
        &mut self,
        row: Atom,
        shape: &[Dim],
        index: &mut Vec<(Atom, Dim)>,
        sums: &Sums<'_>,
    ) -> Name {
        let Some((width, inner)) = shape.split_first() else {
            return self.sum_of_element(row, index, sums);
        };
        let inputs: Vec<Name> = std::iter::once(self.b.iota(*width)).chain(row.var()).collect();
        let types = self.b.row_types(&inputs);
        let params: Vec<Param<Soacs>> = types.into_iter().map(|ty| self.b.param("k", ty)).collect();
        let outer = self.b.open();
        index.push((params[0].name.into(), *width));
        let start = params.get(1).map_or(row, |param| param.name.into());
        let sum = self.sums_of_row(start, inner, index, sums);
        index.pop();
        let ret = vec![self.b.types.type_of(sum).clone()];
        let body = self.b.close(outer, vec![sum.into()]);
        let map = Lambda { params, body, ret };
        self.b.let_op("sums", Soac::Screma(Screma::map(*width, inputs, map)))[0]
    }

    /// Appends the sum of an element: in the interior, where all terms are in range, without tests of each.
    fn sum_of_element(&mut self, start: Atom, index: &[(Atom, Dim)], sums: &Sums<'_>) -> Name {
        let mut inside = None;
        let mut tested: BTreeSet<(usize, i64)> = BTreeSet::new();
        for (distance, _) in sums.terms {
            for at in 0..index.len() {
                if tested.insert((at, distance[at]))
                    && let Some(own) = self.in_range(index, sums, distance, at)
                {
                    inside = Some(self.and(inside, own));
                }
            }
        }
        let Some(inside) = inside else {
            return self.sum_of_terms(start, index, sums, |_, _| None);
        };
        let outer = self.b.open();
        let sum = self.sum_of_terms(start, index, sums, |_, _| None);
        let then_body = self.b.close(outer, vec![sum.into()]);
        let outer = self.b.open();
        let sum = self.sum_of_terms(start, index, sums, |gather, distance| {
            let mut cond = None;
            for at in 0..index.len() {
                if let Some(own) = gather.in_range(index, sums, distance, at) {
                    cond = Some(gather.and(cond, own));
                }
            }
            cond
        });
        let else_body = self.b.close(outer, vec![sum.into()]);
        let exp = Exp::If { cond: inside, then_body, else_body };
        self.b.bind("sum", Type::Prim(sums.elem), exp)
    }

    fn and(&mut self, x: Option<Atom>, y: Atom) -> Atom {
        x.map_or(y, |x| self.b.binary(BinOp::And, PrimType::Bool, x, y).into())
    }

    /// Tests whether the nest has the iteration of a term along a dimension; `None` if it surely has.
    fn in_range(
        &mut self,
        index: &[(Atom, Dim)],
        sums: &Sums<'_>,
        distance: &[i64],
        at: usize,
    ) -> Option<Atom> {
        let ((k, size), width) = (index[at], sums.nest.widths[sums.dims[at]]);
        if distance[at] == 0 && width == size {
            return None;
        }
        let own = self.b.add_i64(k, Atom::i64(distance[at].wrapping_neg()));
        let width = width.atom().unwrap_or(Atom::i64(0));
        Some(self.b.compare(CmpOp::ULt, PrimType::I64, own, width).into())
    }

    /// Appends the sum of the terms; `test` returns a condition under which a term exists.
    fn sum_of_terms(
        &mut self,
        start: Atom,
        index: &[(Atom, Dim)],
        sums: &Sums<'_>,
        mut test: impl FnMut(&mut Self, &[i64]) -> Option<Atom>,
    ) -> Name {
        let (elem, ty) = (sums.elem, Type::Prim(sums.elem));
        let mut sum = start;
        for (distance, array) in sums.terms {
            let mut at = vec![Atom::i64(0); index.len()];
            for (((k, _), distance), dim) in index.iter().zip(*distance).zip(sums.dims) {
                at[*dim] = self.b.add_i64(*k, Atom::i64(distance.wrapping_neg()));
            }
            let term = match test(self, distance) {
                None => self.b.index("term", *array, &at),
                Some(cond) => {
                    let read = |b: &mut Builder<'_, Soacs>| vec![b.index("term", *array, &at).into()];
                    self.b.if_("term", cond, vec![ty.clone()], read, |_| vec![zero(elem)])[0]
                }
            };
            sum = self.b.binary(addition(elem), elem, sum, term.into()).into();
        }
        sum.var().unwrap_or_else(|| self.b.let_basic("sum", BasicOp::Atom(sum)))
    }
}

/// A branch without updates.
struct Branch<'a> {
    stms: Vec<Stm<Soacs>>,
    /// The values that it adds, by distance.
    terms: BTreeMap<Vec<i64>, Atom>,
    versions: FxHashSet<Name>,
    result: &'a [Atom],
}

/// The terms of each element.
struct Sums<'a> {
    /// The distance of the element from the iteration, and the array of terms; in the order of addition.
    terms: &'a [(&'a [i64], Name)],
    nest: &'a Nest,
    /// For each dimension of the accumulator, that of the nest.
    dims: &'a [usize],
    elem: PrimType,
}
