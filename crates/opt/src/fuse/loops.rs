//! Loops of maps: loop and map change places, so that each element takes all its turns at
//! once and nothing is stored from one turn to the next.
//!
//! ```text
//! loop (ys = xs) for i < k do            map n (x <- xs, w <- ws) ->
//!   let s = g i                     =>     loop (y = x) for i < k do
//!   map n (y <- ys, w <- ws) ->              let s = g i
//!     f s y w                                f s y w
//! ```
//!
//! The maps of all turns fuse that way, and the one that is left with what is around the
//! loop. Of scalars only: a turn over rows may have more that is parallel in it. Arrays
//! that the loop changes are read as inputs of its map alone, and few scalars beside it
//! are computed for each element. In maps, machines whose levels do not contain
//! themselves have versions of both (rule G7).

use super::Fuser;
use super::nest::{FEW, Used, fresh, is_scalar};
use crate::simplify::add_certs;
use ir::folds::Folds;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::Visit;
use ir::{Name, Soacs};
use rustc_hash::FxHashSet;

impl Fuser<'_> {
    /// Makes a loop of one map a map of loops.
    pub(super) fn turn_inside(&mut self, stm: &mut Stm<Soacs>) {
        if self.fuel.is_gone() {
            return;
        }
        let Some(results) = changing(stm) else {
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
        let mut turns: Vec<LoopParam<Soacs>> = Vec::new();
        for (param, at) in params.iter().zip(&results) {
            let (hint, ty) = (self.names.hint(param.param.name).to_string(), &map.ret[*at]);
            let first = fresh(&hint, ty.clone(), self.names, &mut self.types);
            let turn = fresh(&hint, ty.clone(), self.names, &mut self.types);
            turns.push(LoopParam { param: turn, init: Atom::Var(first.name), consumed: false });
            outer.extend(param.init.var().map(|init| (first, init)));
        }
        let mut inner = before;
        for (param, input) in map.params.into_iter().zip(inputs) {
            match params.iter().position(|p| p.param.name == input) {
                Some(at) => inner.push(Stm {
                    pat: vec![param],
                    aux: Aux::at(own.prov),
                    exp: Exp::Basic(BasicOp::Atom(Atom::Var(turns[at].param.name))),
                }),
                None => outer.push((param, input)),
            }
        }
        inner.extend(map.body.stms);
        let ret: Vec<Type> = results.iter().map(|at| map.ret[*at].clone()).collect();
        let last: Vec<Param<Soacs>> = (turns.iter())
            .map(|turn| {
                let hint = self.names.hint(turn.param.name).to_string();
                fresh(&hint, turn.param.ty.clone(), self.names, &mut self.types)
            })
            .collect();
        let result = last.iter().map(|param| Atom::Var(param.name)).collect();
        let mut around = Aux::at(aux.prov);
        around.attrs = std::mem::take(&mut aux.attrs);
        let turning = Stm {
            pat: last,
            aux: around,
            exp: Exp::Loop {
                params: turns,
                form,
                body: Body { stms: inner, result: results.iter().map(|at| map.body.result[*at]).collect() },
            },
        };
        add_certs(&mut aux.certs, &own.certs);
        aux.attrs = own.attrs;
        aux.prov = self.provs.join(own.prov, aux.prov);
        let (params, inputs) = outer.into_iter().unzip();
        stm.aux = aux;
        stm.exp = Exp::Op(Soac::Screma(Screma {
            width,
            inputs,
            map: Lambda { params, body: Body { stms: vec![turning], result }, ret },
            folds: Folds::default(),
        }));
        self.uses.resize(self.names.len(), 1);
        self.marks.resize(self.names.len(), (0, 0));
        self.turned.extend(stm.pat.first().map(|param| (param.name, stm.aux.prov)));
        self.fused = true;
    }
}

/// Which results of the map are the next values of the parameters, if a statement is a
/// loop that does nothing but map the elements of arrays that it changes.
fn changing(stm: &Stm<Soacs>) -> Option<Vec<usize>> {
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
        || !screma.folds.is_map()
        || !scalars.chain(&screma.map.ret).all(Type::is_prim)
        || before.len() > FEW
        || !before.iter().all(is_scalar)
    {
        return None;
    }
    let results: Option<Vec<usize>> =
        body.result.iter().map(|result| map.pat.iter().position(|p| Atom::Var(p.name) == *result)).collect();
    // What the loop binds, but for its arrays as inputs, is used in its body only.
    let mut bound: FxHashSet<Name> = params.iter().map(|param| param.param.name).collect();
    let mut used = Used::default();
    before.iter().for_each(|stm| used.stm(stm));
    used.lambda(&screma.map);
    if used.0.iter().any(|name| bound.contains(name)) {
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
