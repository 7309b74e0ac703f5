//! Maps that update accumulators are split from the sums that their updates need.
//!
//! ```text
//! withacc .. \acc ->                          let vs = map n (x <- xs) -> sums of x
//!   map n (x <- xs, acc) ->              =>   withacc .. \acc ->
//!     let v = sums of x in update acc v         map n (v <- vs, acc) -> update acc v
//! ```
//!
//! A nest of sums is tiled and vectorised, which updates in it would prevent. Only scalars are stored between the maps.

use ir::build::Builder;
use ir::soac::{Screma, Soac, Soacs};
use ir::syntax::{Atom, Body, Exp, Function, Lambda, Param, Stm};
use ir::types::Type;
use ir::walk::{Substitution, VisitMut, free_names, refresh_lambda, stm_names, with_stack};
use ir::{Name, TypeEnv};
use opt::is_nest_with_sums;
use rustc_hash::FxHashSet;

/// The number of values that are stored for each iteration.
const MAX_VALUES: usize = 4;

/// Splits maps in a function. Returns true if there were any.
pub(crate) fn split(function: &mut Function<Soacs>) -> bool {
    let mut types = TypeEnv::of_function(function);
    let Function { names, body, .. } = function;
    let mut split = Split { b: Builder::new(names, &mut types), changed: false };
    split.body(body);
    split.changed
}

struct Split<'a> {
    b: Builder<'a, Soacs>,
    changed: bool,
}

impl VisitMut<Soacs> for Split<'_> {
    fn body(&mut self, body: &mut Body<Soacs>) {
        let outer = self.b.open();
        for mut stm in std::mem::take(&mut body.stms) {
            with_stack(|| self.stm(&mut stm));
            if let Exp::Op(Soac::WithAcc { lambda, .. }) = &mut stm.exp {
                let bound: FxHashSet<Name> =
                    lambda.body.stms.iter().flat_map(|stm| &stm.pat).map(|p| p.name).collect();
                for inner in &mut lambda.body.stms {
                    self.changed |= self.split_map(inner, &bound).is_some();
                }
            }
            self.b.let_with(stm.pat, stm.aux, stm.exp);
        }
        body.stms = self.b.close(outer, Vec::new()).stms;
    }
}

impl Split<'_> {
    /// Appends the map of the sums that a map with accumulators computes; `bound` are the names that it may not use.
    fn split_map(&mut self, stm: &mut Stm<Soacs>, bound: &FxHashSet<Name>) -> Option<()> {
        let Exp::Op(Soac::Screma(screma)) = &mut stm.exp else {
            return None;
        };
        let is_acc = |param: &&Param<Soacs>| matches!(param.ty, Type::Acc { .. });
        let mut late: FxHashSet<Name> = screma.map.params.iter().filter(is_acc).map(|p| p.name).collect();
        let is_plain = screma.scan_reduce.scans.is_empty();
        if late.is_empty() || !is_plain || !screma.map.body.stms.iter().any(is_nest_with_sums) {
            return None;
        }
        let (mut sums, mut rest) = (Vec::new(), Vec::new());
        for stm in &screma.map.body.stms {
            let mut is_late = false;
            stm_names(stm, |name| is_late |= late.contains(&name));
            if is_late {
                late.extend(stm.pat.iter().map(|param| param.name));
                rest.push(stm.clone());
            } else {
                sums.push(stm.clone());
            }
        }
        if !sums.iter().any(is_nest_with_sums) {
            return None;
        }
        // The values of the sums that the rest reads.
        let body = Body { stms: rest, result: screma.map.body.result.clone() };
        let needed: FxHashSet<Name> = free_names(&body).into_iter().collect();
        let values: Vec<Param<Soacs>> = sums
            .iter()
            .flat_map(|stm| &stm.pat)
            .filter(|param| needed.contains(&param.name))
            .cloned()
            .collect();
        if values.len() > MAX_VALUES || values.iter().any(|param| !param.ty.is_prim()) {
            return None;
        }
        let own = Body { stms: sums, result: values.iter().map(|param| param.name.into()).collect() };
        let used: FxHashSet<Name> = free_names(&own).into_iter().collect();
        let rows =
            screma.inputs.iter().zip(&screma.map.params).filter(|(_, param)| used.contains(&param.name));
        let (inputs, params): (Vec<Name>, Vec<Param<Soacs>>) =
            rows.map(|(input, param)| (*input, param.clone())).unzip();
        let certs = stm.aux.certs.iter().copied();
        let width = screma.width.atom().and_then(Atom::var);
        if inputs.iter().copied().chain(used).chain(certs).chain(width).any(|name| bound.contains(&name)) {
            return None;
        }
        let ret = values.iter().map(|param| param.ty.clone()).collect();
        let map = Lambda { params, body: own, ret };
        let map = refresh_lambda(&map, self.b.names, &mut Substitution::default());
        self.b.types.add_params(&map.params);
        self.b.types.add_body(&map.body);
        self.b.prov = stm.aux.prov;
        self.b.certs.clone_from(&stm.aux.certs);
        let stored = self.b.let_op("stored", Soac::Screma(Screma::map(screma.width, inputs, map)));
        self.b.certs.clear();
        screma.map.params.extend(values);
        screma.inputs.extend(stored);
        screma.map.body = body;
        Some(())
    }
}
