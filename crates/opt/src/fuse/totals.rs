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

use super::{Fuser, Uses, merge};
use ir::folds::Folds;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Function, Param, Stm};
use ir::types::Dim;
use ir::walk::{Substitution, Visit, VisitMut, refresh_lambda};
use ir::{Fuel, Name, NameTable, Soacs};
use prim::BinOp;
use rustc_hash::FxHashMap;

/// Makes reductions of the last elements of scans; whether there were any.
pub(super) fn totals(function: &mut Function<Soacs>, fuel: &mut Fuel) -> bool {
    let mut lasts = Lasts::default();
    Visit::<Soacs>::body(&mut lasts, &function.body);
    if lasts.reads.is_empty() {
        return false;
    }
    let mut pass = Totals {
        uses: Uses::of(function),
        lasts: lasts.reads,
        names: &mut function.names,
        fuel,
        replace: Replace::default(),
    };
    pass.body(&mut function.body);
    let mut replace = pass.replace;
    if replace.0.is_empty() {
        return false;
    }
    replace.body(&mut function.body);
    true
}

/// How often arrays are read at one less than a size.
#[derive(Default)]
struct Lasts {
    /// Names that are one less than others.
    before: FxHashMap<Name, Name>,
    reads: FxHashMap<(Name, Dim), u32>,
}

impl Visit<Soacs> for Lasts {
    fn stm(&mut self, stm: &Stm<Soacs>) {
        if let ([param], Exp::Basic(BasicOp::Binary(BinOp::Add, _, Atom::Var(of), Atom::Const(by)))) =
            (stm.pat.as_slice(), &stm.exp)
            && by.as_i64() == Some(-1)
        {
            self.before.insert(param.name, *of);
        }
        self.walk_stm(stm);
    }

    fn basic(&mut self, op: &BasicOp) {
        if let BasicOp::Index { array, slice } = op
            && let [DimIndex::Fix(at)] = slice.as_slice()
        {
            let size = match at {
                Atom::Var(at) => self.before.get(at).map(|of| Dim::Var(*of)),
                Atom::Const(at) => at.as_i64().and_then(|at| at.checked_add(1)).map(Dim::Const),
            };
            if let Some(size) = size {
                *self.reads.entry((*array, size)).or_default() += 1;
            }
        }
    }
}

struct Totals<'a> {
    uses: Uses,
    lasts: FxHashMap<(Name, Dim), u32>,
    names: &'a mut NameTable,
    fuel: &'a mut Fuel,
    replace: Replace,
}

impl VisitMut<Soacs> for Totals<'_> {
    fn body(&mut self, body: &mut Body<Soacs>) {
        self.walk_body(body);
        let mut scans: FxHashMap<Name, usize> = FxHashMap::default();
        let mut reductions: FxHashMap<usize, Stm<Soacs>> = FxHashMap::default();
        for (at, stm) in body.stms.iter().enumerate() {
            match &stm.exp {
                Exp::Op(Soac::Screma(screma)) if !screma.folds.scans.is_empty() => {
                    scans.extend(stm.pat.iter().map(|param| (param.name, at)));
                }
                Exp::Op(Soac::WithAcc { lambda, .. }) => {
                    for inner in &lambda.body.stms {
                        self.before_scatter(inner, body, &scans, &mut reductions);
                    }
                }
                Exp::Basic(_)
                | Exp::If { .. }
                | Exp::Loop { .. }
                | Exp::Apply { .. }
                | Exp::Op(_) => {}
            }
        }
        if reductions.is_empty() {
            return;
        }
        let stms = std::mem::take(&mut body.stms);
        for (at, stm) in stms.into_iter().enumerate() {
            body.stms.extend(reductions.remove(&at));
            body.stms.push(stm);
        }
    }
}

impl Totals<'_> {
    /// Adds the reductions for the scans that a combinator in a `withacc` reads.
    fn before_scatter(
        &mut self,
        inner: &Stm<Soacs>,
        body: &Body<Soacs>,
        scans: &FxHashMap<Name, usize>,
        reductions: &mut FxHashMap<usize, Stm<Soacs>>,
    ) {
        let Exp::Op(Soac::Screma(Screma { inputs, .. })) = &inner.exp else {
            return;
        };
        for input in inputs {
            if let Some(&at) = scans.get(input)
                && !reductions.contains_key(&at)
                && merge::possible(&body.stms[at], inner, &|_| false).is_ok()
                && let Some(reduction) = self.reduction(&body.stms[at], inputs)
            {
                reductions.insert(at, reduction);
            }
        }
    }

    /// The reduction that gives the last elements of a scan whose other results
    /// are all among these inputs, if all holds.
    fn reduction(&mut self, stm: &Stm<Soacs>, read: &[Name]) -> Option<Stm<Soacs>> {
        let Exp::Op(Soac::Screma(Screma {
            width,
            inputs,
            map,
            folds: folds @ Folds {
                scans, post: None, ..
            },
        })) = &stm.exp
        else {
            return None;
        };
        if !merge::maps_or_scans(stm) || !merge::is_cheap(map) {
            return None;
        }
        let scanned = folds.n_scanned();
        let mut lasts = 0;
        for (k, param) in stm.pat.iter().enumerate() {
            let key = (param.name, *width);
            let own = self.lasts.get(&key).filter(|_| k < scanned);
            let own = own.copied().unwrap_or(0);
            lasts += own;
            if self.uses.0[param.name.index()] != own + Fuser::among(param.name, read) {
                return None;
            }
        }
        if lasts == 0 || !self.fuel.take() {
            return None;
        }
        let mut pat = Vec::with_capacity(scanned);
        for (param, ty) in stm.pat.iter().zip(&map.ret[..scanned]) {
            let name = self.names.fresh("total");
            self.replace.0.insert(param.name, name);
            pat.push(Param {
                name,
                ty: ty.clone(),
                ann: (),
            });
        }
        let mut own = refresh_lambda(map, self.names, &mut Substitution::default());
        own.body.result.truncate(scanned);
        own.ret.truncate(scanned);
        let reduces = scans.iter().map(|scan| scan.refreshed(self.names));
        let exp = Exp::Op(Soac::Screma(Screma {
            width: *width,
            inputs: inputs.clone(),
            map: own,
            folds: Folds::reduce(reduces.collect()),
        }));
        let aux = stm.aux.clone();
        Some(Stm { pat, aux, exp })
    }
}

/// Takes totals for what is read of scanned arrays.
#[derive(Default)]
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
