//! Concatenations and maps: a map that concatenates rows is a concatenation, and a
//! map over concatenations that only updates accumulators is one map after another.

use super::{Certs, Simplifier, add_certs};
use crate::inline::size_of;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Lambda, Param};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, refresh_lambda};
use ir::{Name, Soacs};
use rustc_hash::FxHashMap;

/// So many statements a map may have in all its copies.
const COPIES: usize = 64;

impl Simplifier<'_, Soacs> {
    /// `map (\xs ys -> concat (xs, ys)) xss yss = concat along the next dimension (xss, yss)`
    ///
    /// Rows that a combinator makes are left to fusion, which builds them in place.
    pub(super) fn rows_concatenated(
        &self,
        result: Atom,
        rows: &FxHashMap<Name, Name>,
    ) -> Option<(BasicOp, Certs)> {
        let def = self.def_of(result)?;
        let BasicOp::Concat { dim, arrays, width } = &def.op else {
            return None;
        };
        let known = |name: &Name| self.in_scope(Atom::Var(*name));
        let width_known = width.atom().is_some_and(|atom| self.in_scope(atom));
        if !width_known || !def.certs.iter().all(known) {
            return None;
        }
        let arrays: Option<Vec<Name>> = arrays
            .iter()
            .map(|array| {
                let input = rows.get(array).copied()?;
                (!self.own[input.index()]).then_some(input)
            })
            .collect();
        let op = BasicOp::Concat {
            dim: dim + 1,
            arrays: arrays?,
            width: *width,
        };
        Some((op, def.certs.clone()))
    }

    /// A map that only updates accumulators, its inputs concatenations that nobody
    /// else reads, cut in the same places: a map over each piece.
    pub(super) fn in_pieces(
        &mut self,
        pat: &[Param<Soacs>],
        aux: &Aux,
        screma: &Screma,
    ) -> Option<Vec<(Vec<Param<Soacs>>, Aux, Soac)>> {
        let Screma {
            width: _,
            inputs,
            map,
            folds,
        } = screma;
        let is_acc = |ty: &Type| matches!(ty, Type::Acc { .. });
        if !folds.scans.is_empty()
            || !folds.reduces.is_empty()
            || folds.post.is_some()
            || !map.ret.iter().all(is_acc)
            || !map.body.result.iter().all(|atom| atom.var().is_some())
        {
            return None;
        }
        let mut aux = aux.clone();
        // Of each input the pieces; of an accumulator none.
        let mut cut: Option<Vec<Dim>> = None;
        let mut pieces: Vec<Option<Vec<Name>>> = Vec::new();
        for (input, param) in inputs.iter().zip(&map.params) {
            if is_acc(&param.ty) {
                pieces.push(None);
                continue;
            }
            let mut input = *input;
            self.rewrite_name(&mut input, &mut aux.certs);
            let def = self.def(input)?;
            let BasicOp::Concat {
                dim: 0,
                arrays,
                width: _,
            } = &def.op
            else {
                return None;
            };
            if !self.read_once(input) || !self.may_read(arrays) {
                return None;
            }
            let sizes: Option<Vec<Dim>> = arrays.iter().map(|a| self.size_in(*a, 0)).collect();
            let sizes = sizes?;
            if cut.get_or_insert_with(|| sizes.clone()) != &sizes {
                return None;
            }
            add_certs(&mut aux.certs, &def.certs);
            pieces.push(Some(arrays.clone()));
        }
        let cut = cut?;
        // Which accumulator each result goes on with in the next map.
        let accs = pieces.iter().filter(|pieces| pieces.is_none()).count();
        if accs != pat.len() || cut.len() * size_of(&map.body) > COPIES || !self.rewrite() {
            return None;
        }
        let mut accs: Vec<Name> = inputs
            .iter()
            .zip(&pieces)
            .filter(|(_, pieces)| pieces.is_none())
            .map(|(input, _)| *input)
            .collect();
        let mut maps = Vec::with_capacity(cut.len());
        for (at, width) in cut.iter().enumerate() {
            let mut rest = accs.iter();
            let own = pieces
                .iter()
                .filter_map(|pieces| match pieces {
                    Some(pieces) => pieces.get(at).copied(),
                    None => rest.next().copied(),
                })
                .collect();
            let copy = self.copy_of(map);
            let pat: Vec<Param<Soacs>> = if at + 1 == cut.len() {
                pat.to_vec()
            } else {
                pat.iter()
                    .map(|param| self.fresh("acc", param.ty.clone()))
                    .collect()
            };
            accs = pat.iter().map(|param| param.name).collect();
            let op = Soac::Screma(Screma {
                width: *width,
                inputs: own,
                map: copy,
                folds: folds.clone(),
            });
            maps.push((pat, aux.clone(), op));
        }
        Some(maps)
    }

    fn copy_of(&mut self, lambda: &Lambda<Soacs>) -> Lambda<Soacs> {
        let copy = refresh_lambda(lambda, self.names, &mut Substitution::default());
        self.grow();
        copy
    }
}
