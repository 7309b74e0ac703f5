//! Own-index reads: if a map over `iota` reads another combinator's result at its own index, that
//! result becomes an input.
//!
//! ```text
//! let ys = map n (x <- xs) -> f x         let ys = map n (x <- xs) -> f x
//! let zs = map n (i <- iota n) ->    =>   let zs = map n (i <- iota n, y <- ys) ->
//!            g (ys[i])                               g y
//! ```
//!
//! The other combinator can then be fused. All reads of the array in the map must have this form.

use super::Fuser;
use super::graph::{Graph, inputs};
use super::nest::fresh;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, BasicOp, DimIndex, Exp, Param, Stm};
use ir::types::Dim;
use ir::walk::{Visit, VisitMut};
use ir::{Name, Soacs};

impl Fuser<'_> {
    /// Turns the node's own-index reads of earlier combinators' results into inputs.
    pub(super) fn forward_own_index_reads(&mut self, graph: &mut Graph, id: usize) {
        let Some((width, index)) = graph.stm(id).and_then(|stm| self.own_index_param(graph, stm)) else {
            return;
        };
        let made_here = |name: &&Name| {
            let stm = graph.binder(**name).filter(|from| *from != id).and_then(|from| graph.stm(from));
            stm.is_some_and(|stm| {
                let combines = matches!(&stm.exp, Exp::Op(Soac::Screma(screma)) if screma.width == width);
                combines && self.types.type_of(**name).shape().first() == Some(&width)
            })
        };
        let arrays: Vec<Name> = graph.needs(id).inside.iter().filter(made_here).copied().collect();
        for array in arrays {
            let Some(stm) = graph.stm(id) else {
                return;
            };
            let mut reads = Reads { array, index, own: 0, all: 0 };
            Visit::<Soacs>::exp(&mut reads, &stm.exp);
            // The array's name occurs once in each read and once in each input.
            let others = reads.all - Self::among(array, inputs(&stm.exp)) - reads.own;
            if reads.own == 0 || others > 0 || !self.fuel.take() {
                continue;
            }
            let Some(row) = self.types.type_of(array).row() else {
                continue;
            };
            let elem = if row.rank() == 0 { row.elem().map_or(row.clone(), ir::Type::Prim) } else { row };
            let param = fresh("element", elem, self.names, &mut self.types);
            self.uses.remove(array, reads.own - 1);
            graph.change(id, array, |stm| {
                if let Exp::Op(Soac::Screma(screma)) = &mut stm.exp {
                    let mut replace = Replace { array, index, param: &param };
                    VisitMut::<Soacs>::body(&mut replace, &mut screma.map.body);
                    screma.map.params.push(param.clone());
                    screma.inputs.push(array);
                }
            });
        }
    }

    /// A combinator's width, and its parameter that is the iteration's index, if there is one.
    fn own_index_param(&self, graph: &Graph, stm: &Stm<Soacs>) -> Option<(Dim, Name)> {
        let Exp::Op(Soac::Screma(Screma { width, inputs, map, .. })) = &stm.exp else {
            return None;
        };
        let is_here = |input: &Name| {
            let stm = graph.binder(*input).and_then(|id| graph.stm(id));
            matches!(stm.map(|stm| &stm.exp), Some(Exp::Basic(op)) if op.as_indices().is_some())
        };
        let at = inputs.iter().position(|input| self.iotas.contains(input) || is_here(input))?;
        Some((*width, map.params[at].name))
    }
}

/// Returns true if the array is `wanted` and its first index is `index`.
fn reads_own_index(array: Name, slice: &[DimIndex], wanted: Name, index: Name) -> bool {
    array == wanted && slice.first() == Some(&DimIndex::Fix(Atom::Var(index)))
}

/// Counts the reads of an array at the own index, and all occurrences of its name.
struct Reads {
    array: Name,
    index: Name,
    own: u32,
    all: u32,
}

impl Visit<Soacs> for Reads {
    fn name(&mut self, name: &Name) {
        self.all += u32::from(*name == self.array);
    }

    fn basic(&mut self, op: &BasicOp) {
        if let BasicOp::Index { array, slice } = op {
            self.own += u32::from(reads_own_index(*array, slice, self.array, self.index));
        }
        self.walk_basic(op);
    }
}

struct Replace<'a> {
    array: Name,
    index: Name,
    param: &'a Param<Soacs>,
}

impl VisitMut<Soacs> for Replace<'_> {
    fn basic(&mut self, op: &mut BasicOp) {
        if let BasicOp::Index { array, slice } = op
            && reads_own_index(*array, slice, self.array, self.index)
        {
            let rest: Vec<DimIndex> = slice.drain(1..).collect();
            *op = if rest.is_empty() {
                BasicOp::Atom(Atom::Var(self.param.name))
            } else {
                BasicOp::Index { array: self.param.name, slice: rest }
            };
        }
    }
}
