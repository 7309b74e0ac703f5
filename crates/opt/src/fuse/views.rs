//! Producers that are read through a view: the view goes to what the producer reads.
//!
//! ```text
//! let ys = map n (xs <- xss) ->           let ts = transpose xss
//!            map m (x <- xs) -> f x   =>  let zs = map m (cs <- ts) ->
//! let zs = transpose ys                              map n (c <- cs) -> f c
//! ```
//!
//! So the producer fuses with what reads the view. It must be a perfect nest of maps
//! ([`super::nest`]) as deep as the view looks, and every result of it must be read
//! through this one view alone, so that nothing is computed twice. The views: dimensions
//! in another order, under other names, an outer dimension as several, slices (of which
//! what is not in them is not computed any more).

use super::Fuser;
use super::graph::{Graph, inputs};
use super::nest::{Nest, Read, fresh};
use ir::soac::Soac;
use ir::syntax::{Atom, Aux, BasicOp, DimIndex, Exp, Param, ReshapeKind, Stm};
use ir::types::{Dim, Type};
use ir::{Name, Soacs};
use prim::{BinOp, PrimType, Scalar};

/// What a view does to the levels of a nest.
enum Change {
    /// New level `i` is level `order[i]`.
    Order(Vec<usize>),
    /// The outermost level becomes several.
    Split(Vec<Dim>),
    /// Other names for the widths of so many levels.
    Rename(Vec<Dim>),
    /// Slices of so many levels.
    Slices(Vec<DimIndex>),
}

impl Change {
    /// What a view of an array of this type does.
    fn of(op: &BasicOp, of: &Type) -> Option<(Name, Self)> {
        let dims = of.shape();
        match op {
            BasicOp::Rearrange { perm, array } => {
                let moved = (0..perm.len()).rev().find(|i| perm[*i] != *i)?;
                Some((*array, Self::Order(perm[..=moved].to_vec())))
            }
            BasicOp::Reshape {
                kind: ReshapeKind::Coerce,
                shape,
                array,
            } => {
                let last = (0..dims.len()).rev().find(|i| shape[*i] != dims[*i])?;
                Some((*array, Self::Rename(shape[..=last].to_vec())))
            }
            BasicOp::Reshape {
                kind: ReshapeKind::Arbitrary,
                shape,
                array,
            } => {
                let parts = (shape.len() + 1)
                    .checked_sub(dims.len())
                    .filter(|n| *n > 1)?;
                let rest = shape[parts..] == dims[1..];
                rest.then(|| (*array, Self::Split(shape[..parts].to_vec())))
            }
            BasicOp::Index { array, slice } => {
                let part = |(index, dim): (&DimIndex, &Dim)| *index != whole(*dim);
                let all = slice.iter().zip(dims);
                let last = all.clone().rposition(part)?;
                let slices = &slice[..=last];
                let no_rows = |index: &DimIndex| matches!(index, DimIndex::Slice { .. });
                slices
                    .iter()
                    .all(no_rows)
                    .then(|| (*array, Self::Slices(slices.to_vec())))
            }
            _ => None,
        }
    }

    /// How deep a nest has to be.
    fn depth(&self) -> usize {
        match self {
            Self::Order(order) => order.len(),
            Self::Split(_) => 1,
            Self::Rename(dims) => dims.len(),
            Self::Slices(slices) => slices.len(),
        }
    }

    /// The widths after the change.
    fn levels(&self, before: &[Dim]) -> Vec<Dim> {
        match self {
            Self::Order(order) => order.iter().map(|level| before[*level]).collect(),
            Self::Split(parts) => parts.clone(),
            Self::Rename(dims) => dims.clone(),
            Self::Slices(slices) => {
                let count = |(index, dim): (&DimIndex, &Dim)| match index {
                    DimIndex::Slice { count, .. } => *count,
                    DimIndex::Fix(_) => *dim,
                };
                slices.iter().zip(before).map(count).collect()
            }
        }
    }

    /// The levels at which an array is indexed after the change, and the view of it
    /// that this needs, if it needs one; `dims` are its own.
    fn read(&self, read: &Read, dims: &[Dim]) -> (Vec<usize>, Option<BasicOp>) {
        let array = read.array;
        let rest = || dims[read.levels.len()..].iter().copied();
        match self {
            Self::Order(order) => {
                // Its dimensions, in the order of the new levels.
                let place = |level: usize| order.iter().position(|old| *old == level);
                let mut own: Vec<(usize, usize)> = read
                    .levels
                    .iter()
                    .enumerate()
                    .map(|(dim, level)| (place(*level).unwrap_or(*level), dim))
                    .collect();
                own.sort_unstable();
                let levels = own.iter().map(|(level, _)| *level).collect();
                let moved = own.iter().map(|(_, dim)| *dim);
                let perm: smallvec::SmallVec<[usize; 3]> =
                    moved.chain(own.len()..dims.len()).collect();
                let view = (!perm.is_sorted()).then_some(BasicOp::Rearrange { perm, array });
                (levels, view)
            }
            Self::Split(parts) => {
                let more = parts.len() - 1;
                let (&first, others) = match read.levels.split_first() {
                    Some((first, others)) => (first, others),
                    None => (&0, &[] as &[usize]),
                };
                if first != 0 {
                    return (read.levels.iter().map(|level| level + more).collect(), None);
                }
                let levels = (0..=more).chain(others.iter().map(|level| level + more));
                let shape = parts.iter().copied().chain(dims[1..].iter().copied());
                let view = BasicOp::Reshape {
                    kind: ReshapeKind::Arbitrary,
                    shape: shape.collect(),
                    array,
                };
                (levels.collect(), Some(view))
            }
            Self::Rename(to) => {
                let own = read.levels.iter().map(|level| to[*level]);
                let shape = own.chain(rest()).collect();
                let view = BasicOp::Reshape {
                    kind: ReshapeKind::Coerce,
                    shape,
                    array,
                };
                (read.levels.clone(), Some(view))
            }
            Self::Slices(slices) => {
                let own = read.levels.iter().map(|level| slices[*level].clone());
                let slice = own.chain(rest().map(whole)).collect();
                (read.levels.clone(), Some(BasicOp::Index { array, slice }))
            }
        }
    }
}

/// All of a dimension.
fn whole(dim: Dim) -> DimIndex {
    DimIndex::Slice {
        start: Atom::i64(0),
        count: dim,
        stride: Atom::i64(1),
    }
}

impl Fuser<'_> {
    /// Takes a producer that the node reads through a view to read views itself; false
    /// if there is none.
    pub(super) fn pull(&mut self, graph: &mut Graph, id: usize) -> bool {
        let Some(stm) = graph.stm(id) else {
            return false;
        };
        let read: Vec<Name> = inputs(&stm.exp).to_vec();
        read.into_iter()
            .any(|input| self.pull_input(graph, id, input).is_some())
    }

    fn pull_input(&mut self, graph: &mut Graph, id: usize, input: Name) -> Option<()> {
        let first = graph.binder(input).filter(|view| *view != id)?;
        let (array, change) = self.change(graph, first)?;
        let producer = graph.binder(array).filter(|producer| *producer != id)?;
        let stm = graph.stm(producer)?;
        let Exp::Op(Soac::Screma(screma)) = &stm.exp else {
            return None;
        };
        // Each result is read through this view only.
        let Exp::Basic(wanted) = &graph.stm(first)?.exp else {
            return None;
        };
        let mut views: Vec<usize> = Vec::with_capacity(stm.pat.len());
        for param in &stm.pat {
            let same = |view: &usize| {
                let op = graph.stm(*view).map(|stm| &stm.exp);
                matches!(op, Some(Exp::Basic(op)) if of_array(op, param.name) == of_array(wanted, param.name)
                    && reads(op, param.name))
            };
            let once = self.uses[param.name.index()] == 1;
            views.push(
                graph
                    .behind_at_once(producer)
                    .into_iter()
                    .find(|v| once && same(v))?,
            );
        }
        let last = *views.iter().max_by_key(|view| graph.place(**view))?;
        let nest = Nest::of(screma, change.depth())?;
        let alone = std::iter::once(&producer).chain(&views).all(|node| {
            *node == last || graph.apart_from_others(*node, last) && !graph.collide(*node, last)
        });
        if !alone || !self.fuel.take() {
            return None;
        }
        let mut aux = stm.aux.clone();
        let mut pat: Vec<Param<Soacs>> = Vec::with_capacity(views.len());
        for view in &views {
            let view = graph.stm(*view)?;
            pat.extend(view.pat.iter().cloned());
            let new = view
                .aux
                .certs
                .iter()
                .filter(|cert| !aux.certs.contains(cert));
            let new: Vec<Name> = new.copied().collect();
            aux.certs.extend(new);
            aux.prov = self.provs.join(aux.prov, view.aux.prov);
        }
        let (made, before) = self.changed(graph, nest, &change, pat, aux)?;
        for view in views.iter().filter(|view| **view != last) {
            graph.unite(*view, last, Vec::new());
        }
        graph.unite(producer, last, vec![made]);
        for stm in before {
            graph.insert_before(last, stm);
        }
        Some(())
    }

    fn change(&self, graph: &Graph, view: usize) -> Option<(Name, Change)> {
        let Exp::Basic(op) = &graph.stm(view)?.exp else {
            return None;
        };
        let array = match op {
            BasicOp::Rearrange { array, .. }
            | BasicOp::Reshape { array, .. }
            | BasicOp::Index { array, .. } => *array,
            _ => return None,
        };
        Change::of(op, self.types.type_of(array))
    }

    /// The nest after a change, and the views that it reads.
    fn changed(
        &mut self,
        graph: &Graph,
        mut nest: Nest,
        change: &Change,
        pat: Vec<Param<Soacs>>,
        aux: Aux,
    ) -> Option<(Stm<Soacs>, Vec<Stm<Soacs>>)> {
        let mut before: Vec<Stm<Soacs>> = Vec::new();
        let mut reads: Vec<Read> = Vec::with_capacity(nest.reads.len());
        for mut read in std::mem::take(&mut nest.reads) {
            if let Change::Split(parts) = change
                && let Some(counted) = self.counted(graph, &read)
            {
                let [n, m] = parts.as_slice() else {
                    return None;
                };
                reads.extend(self.recount(
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
                let ty = view_type(&op, self.types.type_of(name));
                let param = fresh(
                    self.names.hint(name).to_string().as_str(),
                    ty,
                    self.names,
                    &mut self.types,
                );
                read.array = param.name;
                let aux = Aux {
                    certs: aux.certs.clone(),
                    ..Aux::at(aux.prov)
                };
                before.push(Stm {
                    pat: vec![param],
                    aux,
                    exp: Exp::Basic(op),
                });
            }
            reads.push(read);
        }
        nest.reads = reads;
        nest.levels = change.levels(&nest.levels);
        let made = nest.build(pat, aux, self.names, &mut self.types)?;
        self.uses.resize(self.names.len(), 1);
        Some((made, before))
    }

    /// Start and stride, if what is read are numbers.
    fn counted(&self, graph: &Graph, read: &Read) -> Option<(Atom, Atom)> {
        let stm = graph.binder(read.array).and_then(|id| graph.stm(id))?;
        match &stm.exp {
            Exp::Basic(BasicOp::Iota {
                ty: PrimType::I64,
                start,
                stride,
                ..
            }) => Some((*start, *stride)),
            _ => None,
        }
    }

    /// Numbers over two levels: `start + (i * m + j) * stride`.
    fn recount(
        &mut self,
        param: Param<Soacs>,
        (start, stride): (Atom, Atom),
        parts: [Dim; 2],
        nest: &mut Nest,
        before: &mut Vec<Stm<Soacs>>,
        aux: &Aux,
    ) -> Vec<Read> {
        let mut reads = Vec::with_capacity(2);
        let mut places = Vec::with_capacity(2);
        let ty = Type::Prim(PrimType::I64);
        for (level, count) in parts.into_iter().enumerate() {
            let array = fresh("iota", ty.array_of(count), self.names, &mut self.types);
            let index = fresh("i", ty.clone(), self.names, &mut self.types);
            places.push(Atom::Var(index.name));
            reads.push(Read {
                param: index,
                array: array.name,
                levels: vec![level],
            });
            let op = BasicOp::Iota {
                ty: PrimType::I64,
                count,
                start: Atom::i64(0),
                stride: Atom::i64(1),
            };
            let aux = Aux {
                certs: aux.certs.clone(),
                ..Aux::at(aux.prov)
            };
            before.push(Stm {
                pat: vec![array],
                aux,
                exp: Exp::Basic(op),
            });
        }
        let mut stms: Vec<Stm<Soacs>> = Vec::new();
        let mut add = |op: BinOp, x: Atom, y: Atom, param: Param<Soacs>| {
            let value = Atom::Var(param.name);
            let exp = Exp::Basic(BasicOp::Binary(op, PrimType::I64, x, y));
            stms.push(Stm {
                pat: vec![param],
                aux: Aux::at(aux.prov),
                exp,
            });
            value
        };
        let mut some = || fresh("at", ty.clone(), self.names, &mut self.types);
        let row = add(BinOp::Mul, places[0], dim_atom(parts[1]), some());
        let place = add(BinOp::Add, row, places[1], some());
        let scaled = add(BinOp::Mul, place, stride, some());
        add(BinOp::Add, start, scaled, param);
        stms.append(&mut nest.body.stms);
        nest.body.stms = stms;
        reads
    }
}

/// A size as an operand.
fn dim_atom(dim: Dim) -> Atom {
    match dim {
        Dim::Const(n) => Atom::i64(n),
        Dim::Var(name) => Atom::Var(name),
        Dim::Ext(_) => Atom::Const(Scalar::I64(0)),
    }
}

/// The operation with another array.
fn of_array(op: &BasicOp, name: Name) -> BasicOp {
    let mut op = op.clone();
    if let BasicOp::Rearrange { array, .. }
    | BasicOp::Reshape { array, .. }
    | BasicOp::Index { array, .. } = &mut op
    {
        *array = name;
    }
    op
}

/// Whether it is a view of the array.
fn reads(op: &BasicOp, name: Name) -> bool {
    matches!(op, BasicOp::Rearrange { array, .. } | BasicOp::Reshape { array, .. } | BasicOp::Index { array, .. } if *array == name)
}

/// The type of a view of an array of this type.
fn view_type(op: &BasicOp, of: &Type) -> Type {
    let dims = of.shape();
    let shape: Vec<Dim> = match op {
        BasicOp::Rearrange { perm, .. } => perm.iter().map(|dim| dims[*dim]).collect(),
        BasicOp::Reshape { shape, .. } => shape.to_vec(),
        BasicOp::Index { slice, .. } => {
            let count = |index: &DimIndex| match index {
                DimIndex::Slice { count, .. } => Some(*count),
                DimIndex::Fix(_) => None,
            };
            slice.iter().filter_map(count).collect()
        }
        _ => dims.to_vec(),
    };
    of.elem()
        .map_or_else(|| of.clone(), |elem| Type::array(elem, shape))
}
