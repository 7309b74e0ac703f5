//! Interchange of a loop of maps to a map of loops: each element runs all iterations at once, and
//! no array is stored between iterations.
//!
//! ```text
//! loop (ys = xs) for i < k do            map n (x <- xs, w <- ws) ->
//!   let s = g i                     =>     loop (y = x) for i < k do
//!   map n (y <- ys, w <- ws) ->              let s = g i
//!     f s y w                                f s y w
//! ```
//!
//! This fuses the maps of all iterations, and the remaining map with the code around the loop. Only
//! maps of scalars qualify: an iteration over rows may contain more parallelism. Arrays that the
//! loop changes are read only as inputs of its map, and the loop's few other scalars are recomputed
//! for each element. Inside maps, machines whose levels do not nest get versions of both forms by
//! flattening instead (rule G7).

use super::Fuser;
use super::nest::{fresh, is_prelude};
use crate::simplify::add_certs;
use analysis::uses::EachUse;
use ir::scan_reduce::ScanReduce;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::Visit;
use ir::{Name, Soacs};
use rustc_hash::FxHashSet;

impl Fuser<'_> {
    /// Interchanges a loop whose body is one map.
    pub(super) fn interchange_loop(&mut self, stm: &mut Stm<Soacs>) {
        if self.fuel.is_exhausted() {
            return;
        }
        let Some(results) = interchangeable(stm) else {
            return;
        };
        if !self.fuel.take() {
            return;
        }
        let none = Exp::Basic(BasicOp::Atom(Atom::i64(0)));
        let (exp, mut aux) = (std::mem::replace(&mut stm.exp, none), stm.aux.clone());
        let Exp::Loop { params, form, body } = exp else {
            return;
        };
        let Body { stms, .. } = body;
        let mut before = stms;
        let Some(Stm { aux: own, exp: Exp::Op(Soac::Screma(screma)), .. }) = before.pop() else {
            return;
        };
        let Screma { width, inputs, map, .. } = screma;
        let mut outer: Vec<(Param<Soacs>, Name)> = Vec::new();
        let mut loop_params: Vec<LoopParam<Soacs>> = Vec::new();
        for (param, at) in params.iter().zip(&results) {
            let (hint, ty) = (self.names.hint(param.param.name).to_string(), &map.ret[*at]);
            let first = fresh(&hint, ty.clone(), self.names, &mut self.types);
            let loop_param = fresh(&hint, ty.clone(), self.names, &mut self.types);
            loop_params.push(LoopParam { param: loop_param, init: Atom::Var(first.name), consumed: false });
            outer.extend(param.init.var().map(|init| (first, init)));
        }
        let mut inner = before;
        for (param, input) in map.params.into_iter().zip(inputs) {
            match params.iter().position(|p| p.param.name == input) {
                Some(at) => inner.push(Stm {
                    pat: vec![param],
                    aux: Aux::at(own.prov),
                    exp: Exp::Basic(BasicOp::Atom(Atom::Var(loop_params[at].param.name))),
                }),
                None => outer.push((param, input)),
            }
        }
        inner.extend(map.body.stms);
        let ret: Vec<Type> = results.iter().map(|at| map.ret[*at].clone()).collect();
        let last: Vec<Param<Soacs>> = (loop_params.iter())
            .map(|loop_param| {
                let hint = self.names.hint(loop_param.param.name).to_string();
                fresh(&hint, loop_param.param.ty.clone(), self.names, &mut self.types)
            })
            .collect();
        let result = last.iter().map(|param| Atom::Var(param.name)).collect();
        let mut around = Aux::at(aux.prov);
        around.attrs = std::mem::take(&mut aux.attrs);
        let turning = Stm {
            pat: last,
            aux: around,
            exp: Exp::Loop {
                params: loop_params,
                form,
                body: Body { stms: inner, result: results.iter().map(|at| map.body.result[*at]).collect() },
            },
        };
        add_certs(&mut aux.certs, &own.certs);
        aux.attrs = own.attrs;
        aux.prov = self.provs.merge(own.prov, aux.prov);
        let (params, inputs) = outer.into_iter().unzip();
        stm.aux = aux;
        stm.exp = Exp::Op(Soac::Screma(Screma {
            width,
            inputs,
            map: Lambda { params, body: Body { stms: vec![turning], result }, ret },
            scan_reduce: ScanReduce::default(),
        }));
        self.marks.resize(self.names.len(), (0, 0));
        self.history.interchanged.extend(stm.pat.first().map(|param| (param.name, stm.aux.prov)));
        self.fused = true;
    }
}

/// If a statement is a loop that only maps elements of the arrays that it changes: returns, for
/// each parameter, the result of the map that is its next value.
fn interchangeable(stm: &Stm<Soacs>) -> Option<Vec<usize>> {
    let Exp::Loop { params, form, body } = &stm.exp else {
        return None;
    };
    let LoopForm::For { var, .. } = form else {
        return None;
    };
    let (map, before) = body.stms.split_last()?;
    let Exp::Op(Soac::Screma(screma)) = &map.exp else {
        return None;
    };
    let scalars = screma.map.params.iter().map(|param| &param.ty);
    if params.is_empty()
        || !screma.scan_reduce.is_map()
        || !scalars.chain(&screma.map.ret).all(Type::is_prim)
        || !is_prelude(before)
    {
        return None;
    }
    let results: Option<Vec<usize>> =
        body.result.iter().map(|result| map.pat.iter().position(|p| Atom::Var(p.name) == *result)).collect();
    // Names bound by the loop, except for its arrays as inputs, are used only in its body.
    let mut bound: FxHashSet<Name> = params.iter().map(|param| param.param.name).collect();
    let mut uses_bound = false;
    let mut used = EachUse(|name| uses_bound |= bound.contains(&name));
    before.iter().for_each(|stm| Visit::<Soacs>::stm(&mut used, stm));
    Visit::<Soacs>::lambda(&mut used, &screma.map);
    if uses_bound {
        return None;
    }
    let arrays = params.iter().all(|p| p.param.ty.is_array());
    bound.extend(before.iter().flat_map(|stm| &stm.pat).map(|p| p.name));
    bound.insert(*var);
    let varies = |name: &Name| bound.contains(name);
    let is_param = |name: &Name| params.iter().any(|p| p.param.name == *name);
    let inputs = screma.inputs.iter().all(|input| is_param(input) || !varies(input));
    let width = !matches!(screma.width, Dim::Var(name) if varies(&name));
    (arrays && inputs && width && !map.aux.certs.iter().any(varies)).then_some(results?)
}
