//! Maps over or of concatenated arrays. A map that concatenates rows becomes a concatenation. A map
//! over concatenations that only updates accumulators becomes a sequence of maps, or one map if the
//! operands have equal lengths and the order of updates does not matter. Such a map over flattened
//! matrices becomes a nest.

use crate::simplify::{Certs, Simplifier, add_certs};
use analysis::size;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, Param, ReshapeKind, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, refresh_body, refresh_lambda};
use ir::{Name, Soacs};
use rustc_hash::FxHashMap;

/// The largest number of statements in all copies of a map together.
const COPIES: usize = 64;

impl Simplifier<'_, Soacs> {
    /// `map (\xs ys -> concat (xs, ys)) xss yss = concat along the next dimension (xss, yss)`
    ///
    /// Not for rows that are fresh arrays of a combinator: fusion builds them in place.
    pub(crate) fn rows_concatenated(
        &self,
        result: Atom,
        rows: &FxHashMap<Name, Name>,
    ) -> Option<(BasicOp, Certs)> {
        let def = self.known.def_of(result)?;
        let BasicOp::Concat { dim, arrays, width } = &def.op else {
            return None;
        };
        let known = |name: &Name| self.known.in_scope(Atom::Var(*name));
        let width_known = width.atom().is_some_and(|atom| self.known.in_scope(atom));
        if !width_known || !def.certs.iter().all(known) {
            return None;
        }
        let arrays: Option<Vec<Name>> = arrays
            .iter()
            .map(|array| {
                let input = rows.get(array).copied()?;
                (!self.known.fresh_arrays[input.index()]).then_some(input)
            })
            .collect();
        let op = BasicOp::Concat { dim: dim + 1, arrays: arrays?, width: *width };
        Some((op, def.certs.clone()))
    }

    /// Splits a map that only updates accumulators and whose inputs are concatenations, with no
    /// other uses and equal operand sizes, into a map per operand.
    pub(crate) fn split_over_concat(
        &mut self,
        pat: &[Param<Soacs>],
        aux: &Aux,
        screma: &Screma,
    ) -> Option<Vec<(Vec<Param<Soacs>>, Aux, Soac)>> {
        let Screma { width: _, inputs, map, scan_reduce } = screma;
        let is_acc = |ty: &Type| matches!(ty, Type::Acc { .. });
        if !scan_reduce.scans.is_empty()
            || !scan_reduce.reduces.is_empty()
            || scan_reduce.post.is_some()
            || !map.ret.iter().all(is_acc)
            || !map.body.result.iter().all(|atom| atom.var().is_some())
        {
            return None;
        }
        let mut aux = aux.clone();
        // The operands of each input; `None` for an accumulator.
        let mut cut: Option<Vec<Dim>> = None;
        let mut operands: Vec<Option<Vec<Name>>> = Vec::new();
        for (input, param) in inputs.iter().zip(&map.params) {
            if is_acc(&param.ty) {
                operands.push(None);
                continue;
            }
            let mut input = *input;
            self.rewrite_name(&mut input, &mut aux.certs);
            let def = self.known.def(input)?;
            let BasicOp::Concat { dim: 0, arrays, width: _ } = &def.op else {
                return None;
            };
            if !self.known.read_once(input) || !self.known.may_delay_reads(arrays) {
                return None;
            }
            let sizes: Option<Vec<Dim>> = arrays.iter().map(|a| self.known.size_in(*a, 0)).collect();
            let sizes = sizes?;
            if cut.get_or_insert_with(|| sizes.clone()) != &sizes {
                return None;
            }
            add_certs(&mut aux.certs, &def.certs);
            operands.push(Some(arrays.clone()));
        }
        let cut = cut?;
        // The accumulator that each result continues in the next map.
        let accs = operands.iter().filter(|operands| operands.is_none()).count();
        if accs != pat.len() || cut.len() * size::of_body(&map.body) > COPIES || !self.rewrite() {
            return None;
        }
        if let [first, rest @ ..] = cut.as_slice()
            && rest.iter().all(|size| size == first)
            && map.params.iter().all(|param| self.is_scatter(&param.ty))
        {
            let map = self.interleaved(map, &operands, cut.len());
            let op = Soac::Screma(Screma {
                width: *first,
                inputs: interleaved_inputs(inputs, &operands, cut.len()),
                map,
                scan_reduce: scan_reduce.clone(),
            });
            return Some(vec![(pat.to_vec(), aux, op)]);
        }
        let mut accs: Vec<Name> = inputs
            .iter()
            .zip(&operands)
            .filter(|(_, operands)| operands.is_none())
            .map(|(input, _)| *input)
            .collect();
        let mut maps = Vec::with_capacity(cut.len());
        for (at, width) in cut.iter().enumerate() {
            let mut rest = accs.iter();
            let own = operands
                .iter()
                .filter_map(|operands| match operands {
                    Some(operands) => operands.get(at).copied(),
                    None => rest.next().copied(),
                })
                .collect();
            let copy = self.copy_of(map);
            let pat: Vec<Param<Soacs>> = if at + 1 == cut.len() {
                pat.to_vec()
            } else {
                pat.iter().map(|param| self.fresh("acc", param.ty.clone())).collect()
            };
            accs = pat.iter().map(|param| param.name).collect();
            let op = Soac::Screma(Screma {
                width: *width,
                inputs: own,
                map: copy,
                scan_reduce: scan_reduce.clone(),
            });
            maps.push((pat, aux.clone(), op));
        }
        Some(maps)
    }

    /// Returns false for the type of an accumulator with an operator.
    fn is_scatter(&self, ty: &Type) -> bool {
        match ty {
            Type::Acc { token, .. } => !self.known.neutrals.contains_key(token),
            Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => true,
        }
    }

    /// Builds a lambda that processes a row of each operand in turn, passing the accumulators of
    /// one copy of the body to the next.
    fn interleaved(
        &mut self,
        map: &Lambda<Soacs>,
        operands: &[Option<Vec<Name>>],
        n: usize,
    ) -> Lambda<Soacs> {
        let mut params = Vec::new();
        let mut stms = Vec::new();
        let mut accs: Vec<Atom> = Vec::new();
        for (param, _) in map.params.iter().zip(operands).filter(|(_, p)| p.is_none()) {
            let own = self.fresh("acc", param.ty.clone());
            accs.push(Atom::Var(own.name));
            params.push(own);
        }
        for _ in 0..n {
            let mut inside = Substitution::default();
            let mut rest = accs.iter();
            for (param, operands) in map.params.iter().zip(operands) {
                if operands.is_none() {
                    inside.extend(rest.next().map(|acc| (param.name, *acc)));
                } else {
                    let own = self.fresh("x", param.ty.clone());
                    inside.insert(param.name, Atom::Var(own.name));
                    params.push(own);
                }
            }
            let copy = refresh_body(&map.body, self.names, &mut inside);
            self.grow();
            stms.extend(copy.stms);
            accs = copy.result;
        }
        Lambda { params, body: Body { stms, result: accs }, ret: map.ret.clone() }
    }

    /// Turns a map over the rows of flattened matrices, which only updates accumulators, into a
    /// nest of maps over the matrices, if these are results of combinators:
    ///
    /// `map f (reshape [n * m] xss) = map (\xs -> map f xs) xss`
    pub(crate) fn nest_over_rows(&mut self, aux: &Aux, screma: &Screma) -> Option<(Aux, Soac)> {
        let Screma { width: _, inputs, map, scan_reduce } = screma;
        let is_acc = |ty: &Type| matches!(ty, Type::Acc { .. });
        if !scan_reduce.is_map() || !map.ret.iter().all(is_acc) {
            return None;
        }
        let mut aux = aux.clone();
        let mut sizes: Option<(Dim, Dim)> = None;
        let mut rows: Vec<(Name, Option<Type>)> = Vec::new();
        for (input, param) in inputs.iter().zip(&map.params) {
            let mut input = *input;
            self.rewrite_name(&mut input, &mut aux.certs);
            if is_acc(&param.ty) {
                rows.push((input, None));
                continue;
            }
            let def = self.known.def(input)?;
            let BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape: _, array } = &def.op else {
                return None;
            };
            let ty = self.known.type_of(*array);
            let &[n, m, ref rest @ ..] = ty.shape() else {
                return None;
            };
            let made = self.known.fresh_arrays[array.index()] && self.known.def(*array).is_none();
            let row = ty.row()?;
            if !made
                || !self.known.read_once(input)
                || !self.known.may_delay_reads(&[*array])
                || rest != param.ty.shape()
                || *sizes.get_or_insert((n, m)) != (n, m)
            {
                return None;
            }
            add_certs(&mut aux.certs, &def.certs);
            rows.push((*array, Some(row)));
        }
        let (n, m) = sizes?;
        if !self.rewrite() {
            return None;
        }
        let params: Vec<Param<Soacs>> = rows
            .iter()
            .zip(&map.params)
            .map(|((_, row), param)| {
                let ty = row.clone().unwrap_or_else(|| param.ty.clone());
                self.fresh("row", ty)
            })
            .collect();
        let pat: Vec<Param<Soacs>> = map.ret.iter().map(|ty| self.fresh("acc", ty.clone())).collect();
        let result = pat.iter().map(|param| Atom::Var(param.name)).collect();
        let inner = Soac::Screma(Screma {
            width: m,
            inputs: params.iter().map(|param| param.name).collect(),
            map: map.clone(),
            scan_reduce: scan_reduce.clone(),
        });
        let stms = vec![Stm { pat, aux: Aux::at(aux.prov), exp: Exp::Op(inner) }];
        let outer = Screma {
            width: n,
            inputs: rows.into_iter().map(|(input, _)| input).collect(),
            map: Lambda { params, body: Body { stms, result }, ret: map.ret.clone() },
            scan_reduce: scan_reduce.clone(),
        };
        Some((aux, Soac::Screma(outer)))
    }

    fn copy_of(&mut self, lambda: &Lambda<Soacs>) -> Lambda<Soacs> {
        let copy = refresh_lambda(lambda, self.names, &mut Substitution::default());
        self.grow();
        copy
    }
}

/// The accumulators, followed by each operand's arrays in turn.
fn interleaved_inputs(inputs: &[Name], operands: &[Option<Vec<Name>>], n: usize) -> Vec<Name> {
    let accs = inputs.iter().zip(operands).filter(|(_, p)| p.is_none());
    let arrays = (0..n).flat_map(|at| operands.iter().flatten().filter_map(move |p| p.get(at)));
    accs.map(|(input, _)| *input).chain(arrays.copied()).collect()
}
