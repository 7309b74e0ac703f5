//! What a combinator inside of a map computes of its own index alone is computed once, into
//! a table, for all points of the map.
//!
//! ```text
//! let zs = map n (y <- ys) {               let ts = map m (i <- is) { in (cos (conv i)) }
//!   let r = redomap m (i <- is) {          let zs = map n (y <- ys) {
//!     let t = cos (conv i)           =>      let r = redomap m (i <- is, t <- ts) {
//!     let x = f t y                            let x = f t y
//!     in (x)                                   in (x)
//!   } ..                                     } ..
//! ```
//!
//! This undoes a fusion, or what the program says: a value is stored where it costs much
//! more to compute than to read again. Only what cannot fail goes, and only out of combinators
//! that each point of the map comes to, so what is computed is computed anyway wherever the
//! map has a point. The table stands as far outside as all that it needs; loops may lie
//! between, branches may not.
//!
//! Runs after fusion, which would take the table back. Needs unique names; guarantees that all
//! values stay, bit for bit.

use crate::passes::Signatures;
use crate::sink::is_arithmetic;
use ir::decision::Kind;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, Lambda, LoopForm, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{
    Substitution, Visit, binders, refresh_lambda, sub_bodies, sub_bodies_mut, substitute_body,
    used_names, with_stack,
};
use ir::{Context, Fuel, Name, NameTable, PassError, Prov, Soacs, cost};
use prim::BinOp;
use rustc_hash::{FxHashMap, FxHashSet};
use target::time;

/// What a value costs at least for a table of it: a good many times what it takes to read it.
const DEAR: i64 = 10 * time::LOAD;
/// Tables of one combinator at most: each is an array of its size.
const MOST: usize = 4;
/// A body with more values that may go is left as it is, so that none is looked at too often.
const MANY: usize = 64;

/// Makes tables wherever that pays.
pub(crate) fn tables(
    mut function: Function<Soacs>,
    _: &Signatures,
    context: &mut Context,
) -> Result<Function<Soacs>, PassError> {
    let params = function.params.iter().map(|param| (param.param.name, 0));
    let mut pass = Tables {
        levels: Vec::new(),
        maps: Vec::new(),
        floor: 0,
        known: params.collect(),
        iotas: FxHashMap::default(),
        made: Vec::new(),
        names: &mut function.names,
        fuel: &mut context.fuel,
    };
    let stms = std::mem::take(&mut function.body.stms);
    function.body.stms = pass.statements(stms);
    for prov in pass.made {
        let places = function.provs.stack(prov);
        context.decide(&function.name.0, places, Kind::Hoisted);
    }
    Ok(function)
}

/// Bodies around each other, by level: 0 is the function's.
struct Tables<'a> {
    /// The statements of each so far.
    levels: Vec<Vec<Stm<Soacs>>>,
    /// Which of them are bodies of maps.
    maps: Vec<usize>,
    /// The level that nothing leaves: that of the branch around.
    floor: usize,
    /// The level that binds a name.
    known: FxHashMap<Name, usize>,
    /// The indices that inputs consist of, by name.
    iotas: FxHashMap<Name, Stm<Soacs>>,
    /// Where values come from that have a table.
    made: Vec<Prov>,
    names: &'a mut NameTable,
    fuel: &'a mut Fuel,
}

impl Tables<'_> {
    /// A body's statements, with the tables that come to stand among them.
    fn statements(&mut self, stms: Vec<Stm<Soacs>>) -> Vec<Stm<Soacs>> {
        with_stack(|| {
            let level = self.levels.len();
            self.levels.push(Vec::with_capacity(stms.len()));
            for mut stm in stms {
                self.inside(&mut stm.exp, level);
                if let Exp::Op(Soac::Screma(screma)) = &mut stm.exp {
                    self.split(screma, level);
                }
                self.known
                    .extend(stm.pat.iter().map(|param| (param.name, level)));
                if let (Exp::Basic(BasicOp::Iota { .. }), [param]) = (&stm.exp, stm.pat.as_slice())
                {
                    self.iotas.insert(param.name, stm.clone());
                }
                self.levels[level].push(stm);
            }
            self.levels.pop().unwrap_or_default()
        })
    }

    /// The bodies of a statement that stands at a level.
    fn inside(&mut self, exp: &mut Exp<Soacs>, level: usize) {
        let below = level + 1;
        if let Exp::Op(Soac::Screma(screma)) = exp {
            let params = screma.map.params.iter();
            self.known.extend(params.map(|param| (param.name, below)));
            self.maps.push(below);
            let body = &mut screma.map.body;
            body.stms = self.statements(std::mem::take(&mut body.stms));
            self.maps.pop();
            return;
        }
        let floor = self.floor;
        if let Exp::Loop { params, form, .. } = exp {
            let params = params.iter().map(|it| it.param.name);
            self.known.extend(params.map(|name| (name, below)));
            if let LoopForm::For { var, .. } = form {
                self.known.insert(*var, below);
            }
        } else {
            self.floor = below;
        }
        sub_bodies_mut(exp, |body| {
            body.stms = self.statements(std::mem::take(&mut body.stms));
        });
        self.floor = floor;
    }

    /// Gives a combinator at a level tables, where that pays.
    fn split(&mut self, screma: &mut Screma, level: usize) {
        let around = self.maps.iter().rev();
        let Some(&map) = around.take(1).find(|map| **map > self.floor) else {
            return;
        };
        let Some(free) = Free::of(self, screma, map) else {
            return;
        };
        let dear = free.dear(&screma.map.body);
        if dear.is_empty() || dear.len() > MOST || !self.fuel.take() {
            return;
        }
        debug_assert!(map <= level, "a map around a combinator is further out");
        let to = free.level_of(&dear);
        let stms = &screma.map.body.stms;
        let wanted = free.slice(&dear);
        let kept = stms
            .iter()
            .enumerate()
            .filter(|(at, _)| wanted.contains(at));
        let body = Body {
            stms: kept.map(|(_, stm)| stm.clone()).collect(),
            result: dear.iter().map(|name| Atom::Var(*name)).collect(),
        };
        self.made
            .extend(dear.iter().map(|name| stms[free.bound[name]].aux.prov));
        let types: FxHashMap<Name, Type> = (stms.iter().flat_map(|stm| &stm.pat))
            .map(|param| (param.name, param.ty.clone()))
            .collect();
        let ret: Vec<Type> = dear.iter().map(|name| types[name].clone()).collect();
        let (params, inputs) = self.inputs_of(screma, &body, to);
        let lambda = Lambda { params, body, ret };
        let lambda = refresh_lambda(&lambda, self.names, &mut Substitution::default());
        let mut pat = Vec::with_capacity(dear.len());
        let mut read = Substitution::default();
        for (name, ty) in dear.iter().zip(&lambda.ret) {
            let table = self.names.fresh_like(*name);
            self.known.insert(table, to);
            pat.push(Param {
                name: table,
                ty: ty.array_of(screma.width),
                ann: (),
            });
            let own = self.names.fresh_like(*name);
            read.insert(*name, own.into());
            screma.inputs.push(table);
            screma.map.params.push(Param {
                name: own,
                ty: ty.clone(),
                ann: (),
            });
        }
        let prov = self.made.last().copied().unwrap_or(Prov::NONE);
        let table = Screma::map(screma.width, inputs, lambda);
        self.levels[to].push(Stm {
            pat,
            aux: Aux::at(prov),
            exp: Exp::Op(Soac::Screma(table)),
        });
        substitute_body(&mut screma.map.body, &read);
        drop_unused(&mut screma.map.body, &wanted);
    }

    /// The parameters that a table's body needs and what they are the elements of, at a level.
    fn inputs_of(
        &mut self,
        screma: &Screma,
        body: &Body<Soacs>,
        to: usize,
    ) -> (Vec<Param<Soacs>>, Vec<Name>) {
        let mut used = FxHashSet::default();
        for stm in &body.stms {
            used_names(&stm.exp, |name| {
                used.insert(name);
            });
        }
        let (mut params, mut inputs) = (Vec::new(), Vec::new());
        for (param, &input) in screma.map.params.iter().zip(&screma.inputs) {
            if !used.contains(&param.name) {
                continue;
            }
            let there = self.known.get(&input).is_some_and(|level| *level <= to);
            let input = match self.iotas.get(&input).filter(|_| !there).cloned() {
                None => input,
                Some(mut iota) => {
                    let own = self.names.fresh_like(input);
                    self.known.insert(own, to);
                    for param in &mut iota.pat {
                        param.name = own;
                    }
                    self.levels[to].push(iota);
                    own
                }
            };
            params.push(param.clone());
            inputs.push(input);
        }
        (params, inputs)
    }
}

/// What a combinator computes that does not need the map around it.
struct Free {
    /// The level that a value needs.
    levels: FxHashMap<Name, usize>,
    /// The statement that binds it; parameters have none.
    bound: FxHashMap<Name, usize>,
    /// What each of these statements needs of the others, and what it costs.
    stms: FxHashMap<usize, (Vec<usize>, i64)>,
    /// The level that the width needs.
    width: usize,
}

impl Free {
    /// What is free of the map whose body has a level; `None` if the size is not.
    fn of(tables: &Tables<'_>, screma: &Screma, map: usize) -> Option<Self> {
        let level = |name: &Name| tables.known.get(name).copied().filter(|it| *it < map);
        let width = match screma.width {
            Dim::Const(_) => 0,
            Dim::Var(name) => level(&name)?,
            Dim::Ext(_) => return None,
        };
        let mut free = Self {
            levels: FxHashMap::default(),
            bound: FxHashMap::default(),
            stms: FxHashMap::default(),
            width: width.max(tables.floor),
        };
        for (param, input) in screma.map.params.iter().zip(&screma.inputs) {
            let indices = tables.iotas.get(input);
            let needs = level(input).or_else(|| needs(indices?, |name| level(&name)));
            if let (Some(needs), true) = (needs, param.ty.is_prim()) {
                free.levels.insert(param.name, needs);
            }
        }
        let own: FxHashSet<Name> = (screma.map.body.stms.iter().flat_map(|stm| &stm.pat))
            .chain(&screma.map.params)
            .map(|param| param.name)
            .collect();
        for (at, stm) in screma.map.body.stms.iter().enumerate() {
            let known = |name: Name| {
                if own.contains(&name) {
                    free.levels.get(&name).copied()
                } else {
                    level(&name)
                }
            };
            if let (Some(cost), Some(level)) = (cost_of(stm), needs(stm, known)) {
                let mut of = Vec::new();
                used_names(&stm.exp, |name| of.extend(free.bound.get(&name)));
                free.stms.insert(at, (of, cost));
                for param in &stm.pat {
                    free.levels.insert(param.name, level);
                    free.bound.insert(param.name, at);
                }
            }
        }
        (!free.bound.is_empty()).then_some(free)
    }

    /// The values that the rest of the body reads and that are worth a table.
    fn dear(&self, body: &Body<Soacs>) -> Vec<Name> {
        let mut read: Vec<Name> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut note = |name: Name| {
            if self.bound.contains_key(&name) && seen.insert(name) {
                read.push(name);
            }
        };
        for (at, stm) in body.stms.iter().enumerate() {
            if !self.stms.contains_key(&at) {
                uses(stm, &mut note);
            }
        }
        body.result.iter().filter_map(|it| it.var()).for_each(note);
        if read.len() > MANY {
            return Vec::new();
        }
        read.retain(|name| {
            let all = self.slice(&[*name]);
            all.iter().map(|at| self.stms[at].1).sum::<i64>() >= DEAR
        });
        read
    }

    /// The statements that values are computed by.
    fn slice(&self, names: &[Name]) -> FxHashSet<usize> {
        let mut open: Vec<usize> = names.iter().map(|name| self.bound[name]).collect();
        let mut found = FxHashSet::default();
        while let Some(at) = open.pop() {
            if found.insert(at) {
                open.extend(&self.stms[&at].0);
            }
        }
        found
    }

    /// The level that tables of these values need.
    fn level_of(&self, names: &[Name]) -> usize {
        let levels = names.iter().map(|name| self.levels[name]);
        levels.fold(self.width, usize::max)
    }
}

/// The names that a statement uses, in its certificates and types too.
fn uses(stm: &Stm<Soacs>, f: impl FnMut(Name)) {
    struct Uses<F>(F);
    impl<F: FnMut(Name)> Visit<Soacs> for Uses<F> {
        fn name(&mut self, name: &Name) {
            (self.0)(*name);
        }
    }
    Uses(f).stm(stm);
}

/// The level that a statement needs, if all that it uses has one.
fn needs(stm: &Stm<Soacs>, level: impl Fn(Name) -> Option<usize>) -> Option<usize> {
    let own = bound_inside(&stm.exp);
    let mut most = Some(0);
    uses(stm, |name| {
        if !own.contains(&name) {
            most = most.and_then(|most: usize| Some(most.max(level(name)?)));
        }
    });
    most
}

/// What the branches of a statement bind.
fn bound_inside(exp: &Exp<Soacs>) -> FxHashSet<Name> {
    let mut names = FxHashSet::default();
    sub_bodies(exp, |body| names.extend(binders(body)));
    names
}

/// What a statement costs that computes scalars and cannot fail; `None` of others.
fn cost_of(stm: &Stm<Soacs>) -> Option<i64> {
    let scalars = stm.pat.iter().all(|param| param.ty.is_prim());
    match &stm.exp {
        Exp::Basic(op) if scalars && is_arithmetic(op) && !may_trap(op) => Some(cost::basic(op)),
        Exp::If {
            cond: _,
            then_body,
            else_body,
        } if scalars => {
            let all = |body: &Body<Soacs>| -> Option<i64> { body.stms.iter().map(cost_of).sum() };
            Some(time::BRANCH + with_stack(|| Some(all(then_body)?.max(all(else_body)?)))?)
        }
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
    }
}

/// Whether an operation may end the program where its operands are not checked.
fn may_trap(op: &BasicOp) -> bool {
    matches!(
        op,
        BasicOp::Binary(
            BinOp::SDiv | BinOp::UDiv | BinOp::SMod | BinOp::UMod | BinOp::SQuot | BinOp::SRem,
            ..
        )
    )
}

/// Drops those of these statements of a body whose values nothing reads any more.
fn drop_unused(body: &mut Body<Soacs>, of: &FxHashSet<usize>) {
    let mut read: FxHashSet<Name> = body.result.iter().filter_map(|it| it.var()).collect();
    let mut kept = Vec::with_capacity(body.stms.len());
    let stms = std::mem::take(&mut body.stms);
    for (at, stm) in stms.into_iter().enumerate().rev() {
        if of.contains(&at) && !stm.pat.iter().any(|param| read.contains(&param.name)) {
            continue;
        }
        uses(&stm, |name| {
            read.insert(name);
        });
        kept.push(stm);
    }
    kept.reverse();
    body.stms = kept;
}
