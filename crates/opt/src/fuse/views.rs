//! Producers that are read through a view: the view is moved to the producer's inputs.
//!
//! ```text
//! let ys = map n (xs <- xss) ->           let ts = transpose xss
//!            map m (x <- xs) -> f x   =>  let zs = map m (cs <- ts) ->
//! let zs = transpose ys                              map n (c <- cs) -> f c
//! ```
//!
//! The producer can then fuse with the reader of the view. It must be a perfect nest of maps
//! ([`super::nest`]) as deep as the view reaches, and every result must be used by this one view
//! only, so that nothing is computed twice. Supported views: permutations, coercions of sizes,
//! splits of the outer dimension, and slices (elements outside of a slice are no longer computed).

use super::graph::{Graph, inputs};
use super::nest::{Nest, Read, fresh};
use super::view_change::{IndexSpaceChange, alike, viewed, whole};
use super::{Fuser, is_slice, join};
use crate::simplify::add_certs;
use ir::soac::Soac;
use ir::syntax::{Atom, Aux, BasicOp, DimIndex, Exp, Param, ReshapeKind, Stm};
use ir::types::{Dim, Type};
use ir::typing::basic_type;
use ir::{Name, Soacs};
use prim::{BinOp, PrimType, ScalarOp};

impl Fuser<'_> {
    /// Moves a view, through which the node reads a producer, to the producer's inputs. Returns
    /// false if there is none.
    pub(super) fn push_view_to_inputs(&mut self, graph: &mut Graph, id: usize) -> bool {
        let Some(stm) = graph.stm(id) else {
            return false;
        };
        let read: Vec<Name> = inputs(&stm.exp).to_vec();
        read.into_iter().any(|input| self.pull_input(graph, id, input).is_some())
    }

    /// Moves slices of maps' results that have no other use to the maps' inputs: the other elements
    /// need not be computed, whatever reads the slice.
    pub(super) fn slices(&mut self, graph: &mut Graph) {
        for id in graph.nodes() {
            let Some(stm) = graph.stm(id).filter(|stm| is_slice(stm)) else {
                continue;
            };
            let result = stm.pat.first().map(|param| param.name);
            let of_map = self.change(graph, id).is_some_and(|(array, change)| {
                let producer = graph.binder(array).and_then(|id| graph.stm(id));
                let map = producer.is_some_and(|stm| matches!(stm.exp, Exp::Op(Soac::Screma(_))));
                map && matches!(change, IndexSpaceChange::Slices(_))
            });
            if let Some(result) = result.filter(|_| of_map && graph.is_whole(id)) {
                self.fused |= self.pull_input(graph, usize::MAX, result).is_some();
            }
        }
    }

    fn pull_input(&mut self, graph: &mut Graph, id: usize, input: Name) -> Option<()> {
        let first = graph.binder(input).filter(|view| *view != id)?;
        let (array, change) = self.change(graph, first)?;
        // A view of a view: the inner view is moved first.
        if self.change(graph, graph.binder(array)?).is_some() {
            self.pull_input(graph, first, array)?;
        }
        let producer = graph.binder(array).filter(|producer| *producer != id)?;
        let stm = graph.stm(producer)?;
        let Exp::Op(Soac::Screma(screma)) = &stm.exp else {
            return None;
        };
        // Each result is read only through this view.
        let Exp::Basic(wanted) = &graph.stm(first)?.exp else {
            return None;
        };
        let mut views: Vec<usize> = Vec::with_capacity(stm.pat.len());
        for param in &stm.pat {
            let same = |view: &usize| {
                let op = graph.stm(*view).map(|stm| &stm.exp);
                matches!(op, Some(Exp::Basic(op)) if alike(op, wanted) && viewed(op) == Some(param.name))
            };
            let once = self.uses.count(param.name) == 1;
            views.push(graph.direct_successors(producer).into_iter().find(|v| once && same(v))?);
        }
        let last = *views.iter().max_by_key(|view| graph.position(**view))?;
        let nest = Nest::of(screma, change.depth());
        let joins = matches!(change, IndexSpaceChange::Join { .. });
        if nest.is_none() && !(joins && Nest::has_views(screma, change.depth())) {
            return None;
        }
        let alone = std::iter::once(&producer).chain(&views).all(|node| {
            *node == last || graph.no_path_through_others(*node, last) && !graph.collide(*node, last)
        });
        if !alone || !self.fuel.take() {
            return None;
        }
        let mut before: Vec<Stm<Soacs>> = Vec::new();
        let nest = match nest {
            Some(nest) => nest,
            None => {
                let depth = (change.depth(), stm.aux.prov);
                Nest::of_views(screma, depth, self.names, &mut self.types, &mut before)?
            }
        };
        let mut aux = stm.aux.clone();
        let mut pat: Vec<Param<Soacs>> = Vec::with_capacity(views.len());
        for view in &views {
            let view = graph.stm(*view)?;
            pat.extend(view.pat.iter().cloned());
            add_certs(&mut aux.certs, &view.aux.certs);
            aux.prov = self.provs.merge(aux.prov, view.aux.prov);
        }
        let (made, before) = self.changed(graph, nest, &change, before, pat, aux)?;
        for view in views.iter().filter(|view| **view != last) {
            graph.merge(*view, last, Vec::new());
        }
        graph.merge(producer, last, vec![made]);
        for stm in before {
            graph.insert_before(last, stm);
        }
        Some(())
    }

    /// If the node is a map over a flattened result of a nest of maps, gives the map the nest's
    /// dimensions. Returns false if it is not.
    pub(super) fn unflatten_map(&mut self, graph: &mut Graph, id: usize) -> bool {
        let Some(stm) = graph.stm(id) else {
            return false;
        };
        let read: Vec<Name> = inputs(&stm.exp).to_vec();
        read.into_iter().any(|input| self.push_input(graph, id, input).is_some())
    }

    fn push_input(&mut self, graph: &mut Graph, id: usize, input: Name) -> Option<()> {
        let view = graph.binder(input).filter(|view| *view != id)?;
        let Exp::Basic(BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape, array }) =
            &graph.stm(view)?.exp
        else {
            return None;
        };
        let dims = self.types.type_of(*array).shape();
        let parts = (dims.len() + 1).checked_sub(shape.len()).filter(|n| *n > 1)?;
        let once = self.uses.count(input) == 1 && self.uses.count(*array) == 1;
        if !once || dims[parts..] != shape[1..] {
            return None;
        }
        let parts = dims[..parts].to_vec();
        let producer = graph.stm(graph.binder(*array)?)?;
        if !has_combinator_rows(producer, *array) {
            return None;
        }
        let stm = graph.stm(id)?;
        let Exp::Op(Soac::Screma(screma)) = &stm.exp else {
            return None;
        };
        let nest = Nest::of(screma, 1)?;
        let first = stm.pat.first()?.name;
        let again = self.history.unflattened.contains(&first);
        if again || !graph.no_path_through_others(view, id) || !self.fuel.take() {
            return None;
        }
        self.history.unflattened.insert(first);
        let (own, aux) = (stm.pat.clone(), stm.aux.clone());
        let mut pat: Vec<Param<Soacs>> = Vec::with_capacity(own.len());
        for param in &own {
            let hint = self.names.hint(param.name).to_string();
            pat.push(fresh(&hint, param.ty.clone(), self.names, &mut self.types));
        }
        let whole = aux.clone();
        let split = IndexSpaceChange::Split(parts);
        let (made, before) = self.changed(graph, nest, &split, Vec::new(), pat, aux)?;
        let renamed: Vec<Stm<Soacs>> = own
            .into_iter()
            .zip(&made.pat)
            .map(|(param, made)| {
                let op = BasicOp::Reshape {
                    kind: ReshapeKind::Arbitrary,
                    shape: param.ty.shape().iter().copied().collect(),
                    array: made.name,
                };
                Stm { pat: vec![param], aux: Aux::at(whole.prov), exp: Exp::Basic(op) }
            })
            .collect();
        graph.replace(id, made);
        for stm in before {
            graph.insert_before(id, stm);
        }
        for stm in renamed {
            graph.insert_behind(id, stm);
        }
        Some(())
    }

    fn change(&self, graph: &Graph, view: usize) -> Option<(Name, IndexSpaceChange)> {
        let Exp::Basic(op) = &graph.stm(view)?.exp else {
            return None;
        };
        let array = viewed(op)?;
        Some((array, IndexSpaceChange::of(op, self.types.type_of(array))?))
    }

    /// The nest after a change, and the views that it reads, behind the statements `before`.
    pub(super) fn changed(
        &mut self,
        graph: &Graph,
        mut nest: Nest,
        change: &IndexSpaceChange,
        mut before: Vec<Stm<Soacs>>,
        pat: Vec<Param<Soacs>>,
        aux: Aux,
    ) -> Option<(Stm<Soacs>, Vec<Stm<Soacs>>)> {
        let mut reads: Vec<Read> = Vec::with_capacity(nest.reads.len());
        let mut index = Vec::new();
        if let IndexSpaceChange::Join { parts, total } = change {
            index = self.join(graph, &mut nest, (parts, *total), &mut before, &aux)?;
        }
        for mut read in std::mem::take(&mut nest.reads) {
            if let IndexSpaceChange::Split(parts) = change
                && let Some(counted) = self.iota_of(graph, &read)
            {
                let [n, m] = parts.as_slice() else {
                    return None;
                };
                reads.extend(self.two_level_iota(
                    read.param,
                    counted,
                    [*n, *m],
                    &mut nest,
                    &mut before,
                    &aux,
                ));
                continue;
            }
            let dims = self.types.type_of(read.array).shape().to_vec();
            let (levels, view) = change.read(&read, &dims);
            read.levels = levels;
            if let Some(op) = view {
                let name = read.array;
                let ty = basic_type(&op, &|name| self.types.type_of(name).clone());
                let param =
                    fresh(self.names.hint(name).to_string().as_str(), ty, self.names, &mut self.types);
                read.array = param.name;
                let aux = Aux { certs: aux.certs.clone(), ..Aux::at(aux.prov) };
                before.push(Stm { pat: vec![param], aux, exp: Exp::Basic(op) });
            }
            reads.push(read);
        }
        reads.extend(index);
        nest.reads = reads;
        nest.levels = change.levels(&nest.levels);
        let made = nest.build(pat, aux, self.names, &mut self.types)?;
        Some((made, before))
    }

    /// Computes what a nest reads by some of the joined levels from the index of the joined one. Returns the
    /// read of that index, if there are any.
    fn join(
        &mut self,
        graph: &Graph,
        nest: &mut Nest,
        (parts, total): (&[Dim], Dim),
        before: &mut Vec<Stm<Soacs>>,
        aux: &Aux,
    ) -> Option<Vec<Read>> {
        let joined = |read: &Read| read.levels.iter().filter(|level| **level < parts.len()).count();
        let (computed, kept): (Vec<Read>, Vec<Read>) = std::mem::take(&mut nest.reads)
            .into_iter()
            .partition(|read| joined(read) > 0 && joined(read) < parts.len());
        if computed.iter().any(|read| joined(read) < read.levels.len()) {
            return None;
        }
        nest.reads = kept;
        if computed.is_empty() {
            return Some(Vec::new());
        }
        let made = join::delinearised(parts, total, aux, self.names, &mut self.types);
        let mut stms = made.stms;
        for read in computed {
            let counted = self.iota_of(graph, &read).or_else(|| join::iota_in(before, read.array));
            let names = (&mut *self.names, &mut self.types);
            stms.extend(join::element(read, counted, &made.indices, names, aux));
        }
        stms.append(&mut nest.body.stms);
        nest.body.stms = stms;
        before.push(made.iota);
        Some(vec![made.read])
    }

    /// The start and stride, if the array read is an `iota`.
    fn iota_of(&self, graph: &Graph, read: &Read) -> Option<(Atom, Atom)> {
        let stm = graph.binder(read.array).and_then(|id| graph.stm(id))?;
        if let Exp::Basic(BasicOp::Iota { ty: PrimType::I64, start, stride, .. }) = &stm.exp {
            Some((*start, *stride))
        } else {
            None
        }
    }

    /// Builds an `iota` over two levels: `start + (i * m + j) * stride`.
    fn two_level_iota(
        &mut self,
        param: Param<Soacs>,
        (start, stride): (Atom, Atom),
        parts: [Dim; 2],
        nest: &mut Nest,
        before: &mut Vec<Stm<Soacs>>,
        aux: &Aux,
    ) -> Vec<Read> {
        let mut reads = Vec::with_capacity(2);
        let mut indices = Vec::with_capacity(2);
        let ty = Type::Prim(PrimType::I64);
        for (level, count) in parts.into_iter().enumerate() {
            let array = fresh("iota", ty.array_of(count), self.names, &mut self.types);
            let index = fresh("i", ty.clone(), self.names, &mut self.types);
            indices.push(Atom::Var(index.name));
            reads.push(Read { param: index, array: array.name, levels: vec![level] });
            let op = BasicOp::indices(count);
            let aux = Aux { certs: aux.certs.clone(), ..Aux::at(aux.prov) };
            before.push(Stm { pat: vec![array], aux, exp: Exp::Basic(op) });
        }
        let mut stms: Vec<Stm<Soacs>> = Vec::new();
        let mut add = |op: BinOp, x: Atom, y: Atom, param: Param<Soacs>| {
            let value = Atom::Var(param.name);
            let exp = Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y)));
            stms.push(Stm { pat: vec![param], aux: Aux::at(aux.prov), exp });
            value
        };
        let mut some = || fresh("at", ty.clone(), self.names, &mut self.types);
        let row = add(BinOp::Mul, indices[0], parts[1].atom().unwrap_or(Atom::i64(0)), some());
        let flat_index = add(BinOp::Add, row, indices[1], some());
        let scaled = add(BinOp::Mul, flat_index, stride, some());
        add(BinOp::Add, start, scaled, param);
        stms.append(&mut nest.body.stms);
        nest.body.stms = stms;
        reads
    }
}

/// Slices of whole dimensions.
pub(super) fn whole_dims(dims: &[Dim]) -> impl Iterator<Item = DimIndex> + '_ {
    dims.iter().copied().map(whole)
}

/// Returns true if the rows of an array bound by a statement are results of combinators.
fn has_combinator_rows(stm: &Stm<Soacs>, array: Name) -> bool {
    let Exp::Op(Soac::Screma(screma)) = &stm.exp else {
        return false;
    };
    let at = stm.pat.iter().position(|param| param.name == array);
    let row = at.filter(|_| screma.scan_reduce.is_map());
    let row = row.and_then(|at| screma.map.body.result[at].var());
    row.is_some_and(|row| {
        let inner = screma.map.body.stms.iter();
        inner
            .filter(|stm| matches!(stm.exp, Exp::Op(Soac::Screma(_))))
            .any(|stm| stm.pat.iter().any(|param| param.name == row))
    })
}
