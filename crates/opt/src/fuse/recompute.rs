//! Recomputation: an array written only for combinators that read it element by element, and that
//! cannot be merged with its producer, is recomputed in each of them.
//!
//! ```text
//! let (s, ys) = redomap n (x <- xs) -> let y = f x in (y, y)  op
//! let zs      = scan n (y <- ys) op'
//!   =>
//! let s  = redomap n (x <- xs) -> f x  op
//! let zs = scanomap n (x <- xs) -> f x  op'
//! ```
//!
//! The cost rule: an element is computed at little cost ([`thresholds::RECOMPUTED`]) from elements of
//! arrays that take no more bytes than the element. So no more is read than before, and nothing is
//! written. All readers of the array must be combinators of this body, as it is stored otherwise.

use super::graph::{Graph, inputs};
use super::merge::{self, Position};
use super::{Fuser, Outcome};
use analysis::total::is_unchecked;
use analysis::{cost, thresholds};
use ir::scan_reduce::ScanReduce;
use ir::soac::{Screma, Soac};
use ir::syntax::{Aux, Body, Exp, Lambda, Param, Stm};
use ir::walk::{Substitution, refresh_lambda, stm_names};
use ir::{Name, Soacs};
use rustc_hash::FxHashSet;

impl Fuser<'_> {
    /// Recomputes arrays in their readers where that pays.
    pub(super) fn recompute(&mut self, graph: &mut Graph) {
        for id in graph.nodes() {
            let Some(stm) = graph.stm(id).filter(|_| graph.is_whole(id)) else {
                continue;
            };
            let results: Vec<Name> = stm.pat.iter().map(|param| param.name).collect();
            for (at, array) in results.into_iter().enumerate() {
                if let Some((maker, readers)) = self.recomputable(graph, id, at, array) {
                    self.fused = true;
                    for reader in readers {
                        self.fuse_copy(graph, &maker, reader, array);
                    }
                }
            }
        }
    }

    /// Returns a map that computes a result of the node, and all readers of the result, if
    /// recomputation pays.
    fn recomputable(
        &mut self,
        graph: &Graph,
        id: usize,
        at: usize,
        array: Name,
    ) -> Option<(Stm<Soacs>, Vec<usize>)> {
        let stm = graph.stm(id)?;
        let Exp::Op(Soac::Screma(screma)) = &stm.exp else {
            return None;
        };
        // Only a plain mapped result: neither the result of a scan nor one of a post lambda.
        let scan_reduce = &screma.scan_reduce;
        let mapped = at >= scan_reduce.n_reduced() + scan_reduce.n_scanned() && scan_reduce.post.is_none();
        if !mapped || stm.pat[at].ty.row().is_none_or(|row| row.rank() != 0) {
            return None;
        }
        let readers = self.readers(graph, id, array)?;
        let value = at - scan_reduce.n_reduced() + scan_reduce.n_accumulated() - scan_reduce.n_scanned();
        let maker = producer_map(screma, stm, at, value)?;
        let bytes = |name: &Name| self.types.type_of(*name).elem().map_or(u64::MAX, prim::PrimType::size);
        let Exp::Op(Soac::Screma(made)) = &maker.exp else {
            return None;
        };
        let read: u64 = made.inputs.iter().map(bytes).sum();
        let pays = read <= bytes(&array) && !made.inputs.is_empty();
        let kept = made.inputs.iter().all(|input| !graph.is_consumed(self.aliases.class(*input)));
        let possible = readers.iter().all(|reader| {
            let reader = graph.stm(*reader);
            reader.is_some_and(|reader| merge::possible(&maker, reader, &|_| false) == Ok(Position::InMap))
        });
        (pays && kept && possible && self.fuel.take()).then_some((maker, readers))
    }

    /// The nodes that read the array, if all of them read it element by element only.
    fn readers(&self, graph: &Graph, id: usize, array: Name) -> Option<Vec<usize>> {
        let mut readers: Vec<usize> = Vec::new();
        let mut found = 0;
        for reader in graph.direct_successors(id) {
            let stm = graph.stm(reader)?;
            let own = Self::among(array, inputs(&stm.exp));
            let inside = graph.needs(reader).inside.contains(&array);
            if own > 0 && !inside && !readers.contains(&reader) {
                found += own;
                readers.push(reader);
            }
        }
        (found > 0 && found == self.uses.count(array)).then_some(readers)
    }

    /// Fuses a copy of the map into a reader.
    fn fuse_copy(&mut self, graph: &mut Graph, maker: &Stm<Soacs>, reader: usize, array: Name) {
        let Some(consumer) = graph.take(reader).pop() else {
            return;
        };
        let mut maker = maker.clone();
        if let Exp::Op(Soac::Screma(screma)) = &mut maker.exp {
            screma.map = refresh_lambda(&screma.map, self.names, &mut Substitution::default());
            for param in &screma.map.params {
                self.types.set(param.name, param.ty.clone());
            }
        }
        self.record_outcome((Self::describe(&maker), Self::describe(&consumer)), Outcome::Recomputed);
        self.uses.remove(array, Self::among(array, inputs(&consumer.exp)));
        let gone = |_: Name| false;
        let fused = merge::merge(Position::InMap, maker, consumer, &gone, self.names, &mut self.types);
        graph.replace(reader, fused);
    }
}

/// Builds the map that computes a mapped result alone, if it costs little.
fn producer_map(screma: &Screma, stm: &Stm<Soacs>, at: usize, value: usize) -> Option<Stm<Soacs>> {
    let map = &screma.map;
    let result = *map.body.result.get(value)?;
    let mut wanted: FxHashSet<Name> = result.var().into_iter().collect();
    let (mut stms, mut total): (Vec<Stm<Soacs>>, i64) = (Vec::new(), 0);
    for stm in map.body.stms.iter().rev() {
        if stm.pat.iter().any(|param| wanted.contains(&param.name)) {
            let scalars = stm.aux.certs.is_empty() && stm.pat.iter().all(|param| param.ty.is_prim());
            match &stm.exp {
                Exp::Basic(op) if scalars && is_unchecked(op) => total += cost::basic(op),
                Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {
                    return None;
                }
            }
            if total > thresholds::RECOMPUTED {
                return None;
            }
            stm_names(stm, |name| wanted.extend([name]));
            stms.push(stm.clone());
        }
    }
    stms.reverse();
    let used = map.params.iter().zip(&screma.inputs);
    let (params, inputs): (Vec<Param<Soacs>>, Vec<Name>) = used
        .filter(|(param, _)| wanted.contains(&param.name))
        .map(|(param, input)| (param.clone(), *input))
        .unzip();
    if params.iter().any(|param| !param.ty.is_prim()) {
        return None;
    }
    let map = Lambda { params, body: Body { stms, result: vec![result] }, ret: vec![map.ret[value].clone()] };
    let exp = Exp::Op(Soac::Screma(Screma {
        width: screma.width,
        inputs,
        map,
        scan_reduce: ScanReduce::default(),
    }));
    Some(Stm {
        pat: vec![stm.pat[at].clone()],
        aux: Aux { certs: stm.aux.certs.clone(), ..Aux::at(stm.aux.prov) },
        exp,
    })
}
