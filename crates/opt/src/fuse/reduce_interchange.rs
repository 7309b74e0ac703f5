//! Interchange of a reduction of arrays to a map of reductions, where that lets it fuse with a map
//! that reads the result element by element: rule G4 of incremental flattening (Henriksen et al.,
//! PPoPP 2019, §3).
//!
//! ```text
//! let zs = reduce n (map m op) nes            let cs = transpose xss
//!            (map n (xs <- xss) -> map m f xs)    let zs = map m (c <- cs, ne <- nes) ->
//! let ys = map m (z <- zs) -> g z        =>                reduce n op ne (map n f c)
//! ```
//!
//! The reduction's inputs may be plain rows or a nest of maps ([`super::nest`]). The number of rows
//! must be a constant so small that they can be read as concurrent streams
//! ([`target::memory::STREAMS`]): the parallelism is then in the columns.

use super::Fuser;
use super::graph::{Graph, inputs};
use super::nest::{Nest, fresh};
use super::view_change::IndexSpaceChange;
use ir::operator_map::{element_operator, operator_map};
use ir::scan_reduce::ScanReduce;
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Atom, Exp, Param, Stm};
use ir::types::Dim;
use ir::{Name, Soacs};

impl Fuser<'_> {
    /// Turns a reduction of arrays that the node reads into a map of reductions. Returns false if
    /// there is none.
    pub(super) fn interchange(&mut self, graph: &mut Graph, id: usize) -> bool {
        let Some(stm) = graph.stm(id) else {
            return false;
        };
        let read: Vec<Name> = inputs(&stm.exp).to_vec();
        read.into_iter().any(|input| self.interchange_input(graph, id, input).is_some())
    }

    fn interchange_input(&mut self, graph: &mut Graph, id: usize, input: Name) -> Option<()> {
        let reader = graph.stm(id)?;
        let Exp::Op(Soac::Screma(Screma { width, .. })) = reader.exp else {
            return None;
        };
        let producer = graph.binder(input).filter(|producer| *producer != id)?;
        let stm = graph.stm(producer)?;
        let Exp::Op(Soac::Screma(screma)) = &stm.exp else {
            return None;
        };
        let inside = &graph.needs(id).inside;
        let elementwise = !stm.pat.iter().any(|param| inside.contains(&param.name));
        let scan_reduce = &screma.scan_reduce;
        let reduces_only = scan_reduce.scans.is_empty()
            && scan_reduce.post.is_none()
            && screma.map.ret.len() == scan_reduce.n_reduced();
        let maps = |reduce: &Operator<Soacs>| operator_map(reduce).is_some_and(|(m, _)| m == width);
        let few = matches!(screma.width, Dim::Const(n) if n <= target::memory::STREAMS);
        if !few || !elementwise || !reduces_only || !scan_reduce.reduces.iter().all(maps) {
            return None;
        }
        let fuses = !graph.collide(producer, id) && graph.no_path_through_others(producer, id);
        if !fuses || self.fuel.is_exhausted() {
            return None;
        }
        let map = Screma { scan_reduce: ScanReduce::default(), ..screma.clone() };
        let nest = Nest::of(&map, 2)
            .or_else(|| Nest::of_rows(&map, width, self.names, &mut self.types))
            .filter(|nest| nest.levels.get(1) == Some(&width))?;
        if !self.fuel.take() {
            return None;
        }
        let (pat, aux, reduces) = (stm.pat.clone(), stm.aux.clone(), scan_reduce.reduces.clone());
        let mut throwaway: Vec<Param<Soacs>> = Vec::with_capacity(pat.len());
        for param in &pat {
            let hint = self.names.hint(param.name).to_string();
            let ty = param.ty.clone();
            throwaway.push(fresh(&hint, ty, self.names, &mut self.types));
        }
        let swap = IndexSpaceChange::Order(vec![1, 0]);
        let (mut made, before) = self.changed(graph, nest, &swap, Vec::new(), throwaway, aux)?;
        self.reduce_inside(&mut made, reduces)?;
        made.pat = pat;
        graph.replace(producer, made);
        for stm in before {
            graph.insert_before(producer, stm);
        }
        Some(())
    }

    /// Makes the innermost of two maps reduce its values by the element operators of these
    /// operators on rows.
    fn reduce_inside(&mut self, made: &mut Stm<Soacs>, reduces: Vec<Operator<Soacs>>) -> Option<()> {
        let Exp::Op(Soac::Screma(outer)) = &mut made.exp else {
            return None;
        };
        let inner = outer.map.body.stms.last_mut()?;
        let Exp::Op(Soac::Screma(screma)) = &mut inner.exp else {
            return None;
        };
        let mut scalars: Vec<Operator<Soacs>> = Vec::with_capacity(reduces.len());
        for reduce in reduces {
            let (names, types) = (&mut *self.names, &mut self.types);
            let op = element_operator(&reduce, &mut |hint, ty| fresh(hint, ty, names, types))?;
            let mut neutral: Vec<Atom> = Vec::with_capacity(reduce.neutral.len());
            for (rows, ty) in reduce.neutral.iter().zip(&op.ret) {
                let element = fresh("ne", ty.clone(), self.names, &mut self.types);
                neutral.push(Atom::Var(element.name));
                outer.map.params.push(element);
                outer.inputs.push(rows.var()?);
            }
            scalars.push(Operator { op, neutral, comm: reduce.comm });
        }
        screma.scan_reduce = ScanReduce::reduce(scalars);
        for (param, ty) in inner.pat.iter_mut().zip(&screma.map.ret) {
            param.ty = ty.clone();
            self.types.set(param.name, ty.clone());
        }
        outer.map.ret.clone_from(&screma.map.ret);
        Some(())
    }
}
