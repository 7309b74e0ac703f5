//! Computes the last element of a scan by a separate reduction, if all other elements are used only
//! by a scatter.
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
//! The scan is then fused into the scatter ([`super::accs`]), so that `ys` and `zs` are never
//! stored. `f` is computed twice and must cost little. The operator must be exact, as the reduction
//! associates differently.

use super::graph::{Graph, inputs};
use super::nest::fresh;
use super::{Fuser, merge};
use analysis::affine::Values;
use analysis::uses::Uses;
use ir::poly::Poly;
use ir::scan_reduce::ScanReduce;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, BasicOp, DimIndex, Exp, Stm};
use ir::walk::{Substitution, Visit, VisitMut, refresh_lambda};
use ir::{Name, Soacs};
use rustc_hash::FxHashMap;

impl Fuser<'_> {
    /// Adds such reductions where a `withacc` could then absorb the scan, and fuses the scan.
    pub(super) fn split_last_elements(&mut self, graph: &mut Graph) {
        for id in graph.nodes() {
            while let Some(scan) = self.scan_before(graph, id) {
                if self.split_last_element(graph, scan, id).is_none() {
                    break;
                }
                self.fused = true;
                self.vertical(graph, id);
            }
        }
    }

    /// Returns a scan that combinators in this `withacc` read, and all other readers only at the
    /// last element.
    fn scan_before(&self, graph: &Graph, id: usize) -> Option<usize> {
        let Exp::Op(Soac::WithAcc { lambda, .. }) = &graph.stm(id)?.exp else {
            return None;
        };
        lambda.body.stms.iter().find_map(|inner| {
            if !matches!(inner.exp, Exp::Op(Soac::Screma(_))) {
                return None;
            }
            let read = inputs(&inner.exp);
            read.iter().find_map(|input| {
                let scan = graph.binder(*input).filter(|scan| *scan != id)?;
                let stm = graph.stm(scan)?;
                let may = may_scan_twice(stm) && merge::possible(stm, inner, &|_| false).is_ok();
                (may && self.only_lasts(graph, scan, id, read)).then_some(scan)
            })
        })
    }

    /// Returns true if every other use of the scan's results reads only their last element, and
    /// there is one. `read` are the inputs of the reader in node `id`.
    fn only_lasts(&self, graph: &Graph, scan: usize, id: usize, read: &[Name]) -> bool {
        let Some(stm) = graph.stm(scan) else {
            return false;
        };
        let Exp::Op(Soac::Screma(Screma { width, scan_reduce, .. })) = &stm.exp else {
            return false;
        };
        let scanned = stm.pat.iter().take(scan_reduce.n_scanned());
        let mut lasts = Lasts {
            counts: scanned.map(|param| (param.name, 0)).collect(),
            size: self.integers.resolved(Poly::dim(*width)),
            integers: &self.integers,
        };
        for reader in graph.direct_successors(scan) {
            if reader != id && graph.collide(scan, reader) {
                return false;
            }
            graph.stm(reader).into_iter().for_each(|stm| lasts.stm(stm));
        }
        let all = stm.pat.iter().all(|param| {
            let last = lasts.counts.get(&param.name).copied().unwrap_or(0);
            self.uses.count(param.name) == last + Self::among(param.name, read)
        });
        all && lasts.counts.values().any(|count| *count > 0)
    }

    /// Inserts the reduction that computes the last elements before a scan, and redirects their
    /// readers to it.
    fn split_last_element(&mut self, graph: &mut Graph, scan: usize, id: usize) -> Option<()> {
        let stm = graph.stm(scan)?.clone();
        let Exp::Op(Soac::Screma(Screma { width, inputs, mut map, scan_reduce })) = stm.exp else {
            return None;
        };
        if !self.fuel.take() {
            return None;
        }
        let scanned = scan_reduce.n_scanned();
        map.body.result.truncate(scanned);
        map.ret.truncate(scanned);
        let map = refresh_lambda(&map, self.names, &mut Substitution::default());
        for param in &map.params {
            self.types.set(param.name, param.ty.clone());
        }
        let reduces = scan_reduce.scans.iter().map(|scan| scan.refreshed(self.names));
        let scan_reduce = ScanReduce::reduce(reduces.collect());
        let mut pat = Vec::with_capacity(scanned);
        for (param, ty) in stm.pat.iter().zip(&map.ret) {
            let hint = format!("{}_last", self.names.hint(param.name));
            pat.push(fresh(&hint, ty.clone(), self.names, &mut self.types));
        }
        let sums: Vec<Name> = stm.pat.iter().take(scanned).map(|p| p.name).collect();
        let lasts: Vec<Name> = pat.iter().map(|param| param.name).collect();
        lasts.iter().for_each(|last| self.uses.set(*last, 0));
        let reduction =
            Stm { pat, aux: stm.aux, exp: Exp::Op(Soac::Screma(Screma { width, inputs, map, scan_reduce })) };
        let made = graph.insert_before(scan, reduction);
        let mut take =
            Take { last_of: sums.iter().copied().zip(lasts.iter().copied()).collect(), uses: &mut self.uses };
        for reader in graph.direct_successors(scan) {
            let dropped: &[Name] = if reader == id { &[] } else { &sums };
            graph.use_instead(reader, (scan, dropped), (made, &lasts), |stm| take.stm(stm));
        }
        Some(())
    }
}

/// Returns true if a statement is a scan by exact operators whose map may be computed twice.
fn may_scan_twice(stm: &Stm<Soacs>) -> bool {
    let Exp::Op(Soac::Screma(Screma { map, scan_reduce, .. })) = &stm.exp else {
        return false;
    };
    let scans = !scan_reduce.scans.is_empty() && scan_reduce.post.is_none();
    scans && merge::maps_or_scans(stm) && merge::may_run_twice(map)
}

/// Counts reads of the last elements of arrays of one size.
struct Lasts<'a> {
    counts: FxHashMap<Name, u32>,
    size: Poly,
    integers: &'a Values,
}

impl Visit<Soacs> for Lasts<'_> {
    fn basic(&mut self, op: &BasicOp) {
        if let BasicOp::Index { array, slice } = op
            && let [DimIndex::Fix(at)] = slice.as_slice()
            && let Some(count) = self.counts.get_mut(array)
        {
            let last = self.size.sub(&Poly::constant(1));
            *count += u32::from(self.integers.value(*at) == last);
        }
    }
}

/// Replaces the counted reads by names.
struct Take<'a> {
    last_of: FxHashMap<Name, Name>,
    uses: &'a mut Uses,
}

impl VisitMut<Soacs> for Take<'_> {
    fn basic(&mut self, op: &mut BasicOp) {
        if let BasicOp::Index { array, .. } = op
            && let Some(last) = self.last_of.get(array)
        {
            self.uses.remove(*array, 1);
            self.uses.add(*last, 1);
            *op = BasicOp::Atom(Atom::Var(*last));
        }
    }
}
