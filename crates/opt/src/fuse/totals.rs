//! The last element of a scan as a reduction of its own, where nothing but a
//! scatter wants the others.
//!
//! ```text
//! let (ys, zs) = scanomap n (x <- xs)        let t = redomap n (x <- xs) -> f x op ne
//!                  -> f x  op ne             let (ys, zs) = scanomap n (x <- xs)
//! let k = if n == 0 then 0                                    -> f x  op ne
//!         else ys[n - 1]                 =>  let k = if n == 0 then 0 else t
//! withacc (..) \acc ->                       withacc (..) \acc ->
//!   map n (y <- ys, z <- zs, acc) ..           map n (y <- ys, z <- zs, acc) ..
//! ```
//!
//! The scan can then go to the scatter, so that `ys` and `zs` are never written
//! and read: for that `f` is computed once more, which must be cheap. What the
//! operator computes must be exact, as the reduction groups it in another way.

use super::merge;
use ir::exact::is_exact;
use ir::soac::{Operator, Soac};
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Function, Lambda, Param, Stm};
use ir::types::Dim;
use ir::walk::{Substitution, Visit, VisitMut, refresh_lambda};
use ir::{Fuel, Name, NameTable, Soacs};
use prim::BinOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// Statements of a lambda that is cheap enough to be computed once more.
const CHEAP: usize = 24;

/// Makes reductions of the last elements of scans; whether there were any.
pub(super) fn totals(function: &mut Function<Soacs>, fuel: &mut Fuel) -> bool {
    let mut before = Before::default();
    Visit::<Soacs>::body(&mut before, &function.body);
    let mut pass = Totals {
        before: before.0,
        names: &mut function.names,
        fuel,
        found: false,
    };
    pass.body(&mut function.body);
    pass.found
}

/// Names that are one less than others.
#[derive(Default)]
struct Before(FxHashMap<Name, Name>);

impl Visit<Soacs> for Before {
    fn stm(&mut self, stm: &Stm<Soacs>) {
        if let ([param], Exp::Basic(BasicOp::Binary(BinOp::Add, _, Atom::Var(of), Atom::Const(by)))) =
            (stm.pat.as_slice(), &stm.exp)
            && by.as_i64() == Some(-1)
        {
            self.0.insert(param.name, *of);
        }
        self.walk_stm(stm);
    }
}

struct Totals<'a> {
    before: FxHashMap<Name, Name>,
    names: &'a mut NameTable,
    fuel: &'a mut Fuel,
    found: bool,
}

impl VisitMut<Soacs> for Totals<'_> {
    fn body(&mut self, body: &mut Body<Soacs>) {
        self.walk_body(body);
        let mut at = 0;
        while at < body.stms.len() {
            if let Some(reduction) = self.reduction(body, at) {
                let totals = reduction.pat.iter().map(|param| param.name);
                let scanned = body.stms[at].pat.iter().map(|param| param.name);
                let mut replace = Replace(scanned.zip(totals).collect());
                for stm in &mut body.stms[at + 1..] {
                    replace.stm(stm);
                }
                body.stms.insert(at, reduction);
                self.found = true;
                at += 1;
            }
            at += 1;
        }
    }
}

impl Totals<'_> {
    /// The reduction that gives the last elements of the scan at a place of the
    /// body, if all holds.
    fn reduction(&mut self, body: &Body<Soacs>, at: usize) -> Option<Stm<Soacs>> {
        let stm = &body.stms[at];
        let Exp::Op(Soac::Screma {
            width,
            inputs,
            map,
            scans,
            reduces,
            post: None,
        }) = &stm.exp
        else {
            return None;
        };
        let scanned: usize = scans.iter().map(|scan| scan.neutral.len()).sum();
        let possible = scanned > 0
            && reduces.is_empty()
            && scans.iter().all(|scan| is_exact(&scan.op))
            && is_cheap(map);
        if !possible || !self.only_scattered(body, at, *width, scanned) || !self.fuel.take() {
            return None;
        }
        let pat = map.ret[..scanned].iter().map(|ty| Param {
            name: self.names.fresh("total"),
            ty: ty.clone(),
            ann: (),
        });
        let pat = pat.collect();
        let mut copy = |lambda| refresh_lambda(lambda, self.names, &mut Substitution::default());
        let mut own = copy(map);
        own.body.result.truncate(scanned);
        own.ret.truncate(scanned);
        let reduces = scans.iter().map(|Operator { op, neutral, comm }| Operator {
            op: copy(op),
            neutral: neutral.clone(),
            comm: *comm,
        });
        let exp = Exp::Op(Soac::Screma {
            width: *width,
            inputs: inputs.clone(),
            reduces: reduces.collect(),
            map: own,
            scans: Vec::new(),
            post: None,
        });
        Some(Stm {
            pat,
            aux: stm.aux.clone(),
            exp,
        })
    }

    /// Whether the last elements of the scanned results are read, and else all
    /// results go to one combinator in a `withacc` alone.
    fn only_scattered(&self, body: &Body<Soacs>, at: usize, width: Dim, scanned: usize) -> bool {
        let results = &body.stms[at].pat;
        let mut uses = Uses {
            names: results.iter().map(|param| param.name).collect(),
            scanned: results[..scanned].iter().map(|param| param.name).collect(),
            width,
            before: &self.before,
            last: 0,
            others: 0,
        };
        let mut scatters = 0;
        for stm in &body.stms[at + 1..] {
            let before = uses.others;
            uses.stm(stm);
            if uses.others > before {
                scatters += 1;
                let Exp::Op(Soac::WithAcc { lambda, .. }) = &stm.exp else {
                    return false;
                };
                let elementwise = |inner: &Stm<Soacs>| match &inner.exp {
                    Exp::Op(Soac::Screma { inputs, .. })
                        if merge::possible(&body.stms[at], inner, &|_| false) =>
                    {
                        inputs.iter().filter(|i| uses.names.contains(i)).count()
                    }
                    _ => 0,
                };
                let most = lambda.body.stms.iter().map(elementwise).max();
                if most != Some(uses.others - before) {
                    return false;
                }
            }
        }
        let used = body.result.iter().filter_map(|atom| atom.var());
        scatters == 1 && uses.last > 0 && !used.into_iter().any(|name| uses.names.contains(&name))
    }
}

/// Whether a lambda computes few scalars from scalars and memory.
fn is_cheap(map: &Lambda<Soacs>) -> bool {
    let stms = &map.body.stms;
    stms.len() <= CHEAP
        && map.params.iter().all(|param| param.ty.is_prim())
        && stms.iter().all(|stm| {
            let scalar = stm.pat.iter().all(|param| param.ty.is_prim());
            scalar && matches!(&stm.exp, Exp::Basic(op) if !matches!(op, BasicOp::Math(..)))
        })
}

/// How some arrays are used.
struct Uses<'a> {
    names: FxHashSet<Name>,
    scanned: FxHashSet<Name>,
    width: Dim,
    before: &'a FxHashMap<Name, Name>,
    /// How often the last elements of scanned ones are read.
    last: usize,
    /// Other uses.
    others: usize,
}

impl Uses<'_> {
    fn is_last(&self, at: Atom) -> bool {
        match (at, self.width) {
            (Atom::Var(at), Dim::Var(width)) => self.before.get(&at) == Some(&width),
            (Atom::Const(at), Dim::Const(width)) => at.as_i64() == Some(width - 1),
            _ => false,
        }
    }
}

impl Visit<Soacs> for Uses<'_> {
    fn name(&mut self, name: &Name) {
        self.others += usize::from(self.names.contains(name));
    }

    fn basic(&mut self, op: &BasicOp) {
        if let BasicOp::Index { array, slice } = op
            && let [DimIndex::Fix(at)] = slice.as_slice()
            && self.scanned.contains(array)
            && self.is_last(*at)
        {
            self.last += 1;
        } else {
            self.walk_basic(op);
        }
    }
}

/// Takes totals for what is read of scanned arrays.
struct Replace(FxHashMap<Name, Name>);

impl VisitMut<Soacs> for Replace {
    fn basic(&mut self, op: &mut BasicOp) {
        if let BasicOp::Index { array, .. } = op
            && let Some(total) = self.0.get(array)
        {
            *op = BasicOp::Atom(Atom::Var(*total));
        }
    }
}
