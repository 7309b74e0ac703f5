//! Reverse mode: whole arrays that each iteration of a map adds to a free array.
//!
//! ```text
//! free' += sum over i of v_i       =>   map (k < p) -> map (j < m) -> sum over i of (v_i)[k, j]
//! ```
//!
//! The element of the contribution is computed on demand from the statements of an iteration: through
//! maps, views and scalar operations ([`Elements`]). What is expensive, or no map, is a result of the
//! iteration itself, and read here. So the derivative of a matrix product is two matrix products.
//!
//! Contributions of another form are added by a reduction whose operator is a map.

use crate::state::Ad;
use ir::Name;
use ir::scan_reduce::ScanReduce;
use ir::soac::{Screma, Soac, Soacs};
use ir::syntax::{Atom, BasicOp, DimIndex, Exp, Param, ReshapeKind, Stm};
use ir::types::{Dim, Type};
use prim::{BinClass, BinOp, PrimType, ScalarOp, UnClass};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The number of operations of an element up to which it is computed on demand.
const MAX_OPERATIONS: usize = 200;

/// The contribution of an iteration to a free array.
#[derive(Clone, Copy)]
pub(super) struct Contribution {
    /// The free array.
    pub to: Name,
    /// The array that the iteration adds.
    pub value: Atom,
}

/// The statements of an iteration of a map.
pub(super) struct Iteration<'a> {
    /// The arrays and the parameters bound to their rows.
    pub rows: &'a [(Name, Param<Soacs>)],
    /// The statements.
    pub stms: &'a [Stm<Soacs>],
}

/// A value of an iteration that the map has to return.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// The first names bound by the maps inside of the iteration that compute it, outermost first.
    path: Vec<Name>,
    /// The array of all iterations' values, once it exists.
    pub array: Option<Name>,
}

/// The values that the map has to return, in the order of its results.
pub(super) type Leaves = BTreeMap<Name, Leaf>;

impl Leaf {
    /// Makes the value a result of the maps that compute it; returns its name outside of them.
    pub(super) fn returned(&self, ad: &mut Ad<'_>, stms: &mut [Stm<Soacs>], name: Name) -> Option<Name> {
        returned(ad, stms, name, &self.path)
    }
}

fn returned(ad: &mut Ad<'_>, stms: &mut [Stm<Soacs>], leaf: Name, path: &[Name]) -> Option<Name> {
    let Some((first, inner)) = path.split_first() else {
        return Some(leaf);
    };
    let stm = stms.iter_mut().find(|stm| stm.pat.first().is_some_and(|param| param.name == *first))?;
    let Exp::Op(Soac::Screma(Screma { width, map, .. })) = &mut stm.exp else {
        return None;
    };
    let own = returned(ad, &mut map.body.stms, leaf, inner)?;
    let ty = ad.b.types.type_of(own).clone();
    let result = ad.b.param("leaf", ty.array_of(*width));
    map.body.result.push(own.into());
    map.ret.push(ty);
    let name = result.name;
    stm.pat.push(result);
    Some(name)
}

/// Computes elements of an iteration's arrays.
struct Elements<'a> {
    /// The scopes: that of the iteration, and one for each element of a map.
    scopes: Vec<Scope<'a>>,
    /// The scope of the element of a map's result: by the scope around, the map, and the index.
    of_map: FxHashMap<(usize, Name, Atom), usize>,
    /// The number of the iteration.
    at: Atom,
    /// The number of dimensions of the contribution, and of those with several elements.
    rank: usize,
    sizes: usize,
    leaves: &'a mut Leaves,
    operations: usize,
}

/// An iteration of a map.
#[derive(Clone)]
struct MapElement {
    /// The map, by the first name it binds.
    map: Name,
    width: Dim,
    /// The number of the iteration.
    row: Atom,
}

struct Scope<'a> {
    around: Option<usize>,
    /// The maps around it.
    path: Vec<MapElement>,
    stms: FxHashMap<Name, (&'a Stm<Soacs>, usize)>,
    /// Parameters: the array and the index of which each is the row.
    rows: FxHashMap<Name, (Atom, Atom)>,
    known: FxHashMap<(Name, Vec<Atom>), Atom>,
}

impl<'a> Scope<'a> {
    fn new(around: Option<usize>, path: Vec<MapElement>, stms: &'a [Stm<Soacs>]) -> Self {
        let mut bound = FxHashMap::default();
        for stm in stms {
            for (at, param) in stm.pat.iter().enumerate() {
                bound.insert(param.name, (stm, at));
            }
        }
        Self { around, path, stms: bound, rows: FxHashMap::default(), known: FxHashMap::default() }
    }
}

impl Ad<'_> {
    /// Adds the names whose values the map has to return for a contribution to be summed element by
    /// element. Returns false if it cannot be.
    pub(super) fn leaves_of(
        &mut self,
        iteration: &Iteration<'_>,
        contribution: Contribution,
        leaves: &mut Leaves,
    ) -> bool {
        let ty = self.b.types.type_of(contribution.to).clone();
        let outer = self.b.open();
        let before = leaves.clone();
        let index: Vec<Atom> = ty.shape().iter().map(|_| self.b.param("k", Type::I64).name.into()).collect();
        let at = self.b.param("i", Type::I64).name.into();
        let found = self.element(iteration, contribution.value, (at, &index), leaves).is_some();
        let _ = self.b.close(outer, Vec::new());
        if !found {
            *leaves = before;
        }
        found
    }

    /// Appends the sum of a contribution over all iterations, element by element.
    pub(super) fn sum_elements(
        &mut self,
        width: Dim,
        iteration: &Iteration<'_>,
        contribution: Contribution,
        leaves: &mut Leaves,
    ) -> Option<Atom> {
        let ty = self.b.types.type_of(contribution.to).clone();
        let outer = self.b.open();
        let sum = self.nest(width, ty.shape(), &mut Vec::new(), iteration, contribution.value, leaves);
        let stms = self.b.close(outer, Vec::new()).stms;
        let sum = sum?;
        self.b.put_back(stms);
        Some(sum)
    }

    fn nest(
        &mut self,
        width: Dim,
        shape: &[Dim],
        index: &mut Vec<Atom>,
        iteration: &Iteration<'_>,
        value: Atom,
        leaves: &mut Leaves,
    ) -> Option<Atom> {
        let is_innermost = shape.is_empty();
        let own = shape.first().copied().unwrap_or(width);
        let is = self.b.iota(own);
        let param = self.b.param(if is_innermost { "i" } else { "k" }, Type::I64);
        let outer = self.b.open();
        let element = if is_innermost {
            self.element(iteration, value, (param.name.into(), index), leaves)
        } else {
            index.push(param.name.into());
            let inner = self.nest(width, &shape[1..], index, iteration, value, leaves);
            index.pop();
            inner
        };
        let Some(element) = element else {
            let _ = self.b.close(outer, Vec::new());
            return None;
        };
        let map = self.close_lambda(outer, vec![param], vec![element]);
        let reduces = if is_innermost { vec![self.addition(&map.ret)] } else { Vec::new() };
        let scan_reduce = ScanReduce::reduce(reduces);
        let screma = Screma { width: own, inputs: vec![is], map, scan_reduce };
        Some(self.b.let_op("adj", Soac::Screma(screma))[0].into())
    }

    /// Appends the element of an iteration's value at an index.
    fn element(
        &mut self,
        iteration: &Iteration<'_>,
        value: Atom,
        (at, index): (Atom, &[Atom]),
        leaves: &mut Leaves,
    ) -> Option<Atom> {
        let shape = value.var().map(|name| self.b.types.type_of(name).shape().to_vec()).unwrap_or_default();
        let mut root = Scope::new(None, Vec::new(), iteration.stms);
        for (array, param) in iteration.rows {
            root.rows.insert(param.name, ((*array).into(), at));
        }
        let mut elements = Elements {
            scopes: vec![root],
            of_map: FxHashMap::default(),
            at,
            rank: index.len(),
            sizes: several(shape.iter().copied()),
            leaves,
            operations: 0,
        };
        elements.element(self, 0, value, index)
    }
}

impl<'a> Elements<'a> {
    fn element(&mut self, ad: &mut Ad<'_>, scope: usize, x: Atom, index: &[Atom]) -> Option<Atom> {
        let Atom::Var(name) = x else {
            return index.is_empty().then_some(x);
        };
        // The scope that binds the name.
        let mut at = Some(scope);
        while let Some(own) = at {
            if self.scopes[own].stms.contains_key(&name) || self.scopes[own].rows.contains_key(&name) {
                break;
            }
            at = self.scopes[own].around;
        }
        let Some(own) = at else {
            return Self::read(ad, name, index);
        };
        let key = (name, index.to_vec());
        if let Some(known) = self.scopes[own].known.get(&key) {
            return Some(*known);
        }
        let found = match self.scopes[own].rows.get(&name).copied() {
            Some((array, row)) => {
                let inner: Vec<Atom> = std::iter::once(row).chain(index.iter().copied()).collect();
                match self.scopes[own].around {
                    None => Self::read(ad, array.var()?, &inner),
                    Some(around) => self.element(ad, around, array, &inner),
                }
            }
            None => {
                let (stm, result) = self.scopes[own].stms.get(&name).copied()?;
                // Operations that are the same for several elements are not repeated.
                let shared = matches!(stm.exp, Exp::Basic(BasicOp::Scalar(_)))
                    && self.scopes[own].path.len() < self.rank;
                let stored = if shared || self.leaves.contains_key(&name) {
                    self.leaf(ad, own, name, index)
                } else {
                    None
                };
                let computed =
                    stored.or_else(|| ir::walk::with_stack(|| self.bound(ad, own, (stm, result), index)));
                computed.or_else(|| self.leaf(ad, own, name, index))
            }
        }?;
        self.scopes[own].known.insert(key, found);
        Some(found)
    }

    fn read(ad: &mut Ad<'_>, name: Name, index: &[Atom]) -> Option<Atom> {
        let rank = ad.b.types.type_of(name).rank();
        if rank != index.len() {
            return None;
        }
        Some(if rank == 0 { name.into() } else { ad.b.index("x", name, index).into() })
    }

    /// The element of a value that the map returns. There is none if the value has as many dimensions
    /// as the contribution, or a size of its own.
    fn leaf(&mut self, ad: &mut Ad<'_>, scope: usize, name: Name, index: &[Atom]) -> Option<Atom> {
        let ty = ad.b.types.type_of(name).clone();
        let elem = ty.elem()?;
        let path = self.scopes[scope].path.clone();
        let dims = path.iter().map(|element| element.width).chain(ty.shape().iter().copied());
        if several(dims) >= self.sizes || ty.shape().iter().any(|dim| self.binds(scope, *dim)) {
            return None;
        }
        let maps = path.iter().map(|element| element.map).collect();
        match self.leaves.entry(name).or_insert(Leaf { path: maps, array: None }).array {
            // Not known yet: any element stands for it.
            None => Some(crate::state::zero(elem)),
            Some(array) => {
                let rows = path.iter().map(|element| element.row);
                let all: Vec<Atom> =
                    std::iter::once(self.at).chain(rows).chain(index.iter().copied()).collect();
                Self::read(ad, array, &all)
            }
        }
    }

    /// Returns true if a scope or one around it binds a size.
    fn binds(&self, scope: usize, dim: Dim) -> bool {
        let Dim::Var(name) = dim else {
            return false;
        };
        let mut at = Some(scope);
        while let Some(own) = at {
            if self.scopes[own].stms.contains_key(&name) || self.scopes[own].rows.contains_key(&name) {
                return true;
            }
            at = self.scopes[own].around;
        }
        false
    }

    fn bound(
        &mut self,
        ad: &mut Ad<'_>,
        scope: usize,
        (stm, result): (&'a Stm<Soacs>, usize),
        index: &[Atom],
    ) -> Option<Atom> {
        let inside = |name: &Name| {
            let mut at = Some(scope);
            while let Some(own) = at {
                if self.scopes[own].stms.contains_key(name) {
                    return true;
                }
                at = self.scopes[own].around;
            }
            false
        };
        if stm.aux.certs.iter().any(inside) {
            return None;
        }
        ad.b.certs.clone_from(&stm.aux.certs);
        let found = match &stm.exp {
            Exp::Basic(op) => self.basic(ad, scope, op, index),
            Exp::Op(Soac::Screma(screma)) if screma.scan_reduce.is_map() => {
                let (row, inner) = index.split_first()?;
                let first = stm.pat.first()?.name;
                let own = self.map_scope(scope, (first, screma), *row);
                self.element(ad, own, screma.map.body.result[result], inner)
            }
            // The reduction of one element is that element.
            Exp::Op(Soac::Screma(screma))
                if screma.width == Dim::Const(1)
                    && screma.scan_reduce.scans.is_empty()
                    && result < screma.scan_reduce.n_reduced() =>
            {
                let first = stm.pat.first()?.name;
                let own = self.map_scope(scope, (first, screma), Atom::i64(0));
                self.element(ad, own, screma.map.body.result[result], index)
            }
            Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
        };
        ad.b.certs.clear();
        found
    }

    /// The scope of the element of a map's results at an index.
    fn map_scope(&mut self, around: usize, (first, screma): (Name, &'a Screma), row: Atom) -> usize {
        if let Some(own) = self.of_map.get(&(around, first, row)) {
            return *own;
        }
        let mut path = self.scopes[around].path.clone();
        path.push(MapElement { map: first, width: screma.width, row });
        let mut scope = Scope::new(Some(around), path, &screma.map.body.stms);
        for (param, input) in screma.map.params.iter().zip(&screma.inputs) {
            scope.rows.insert(param.name, ((*input).into(), row));
        }
        let own = self.scopes.len();
        self.scopes.push(scope);
        self.of_map.insert((around, first, row), own);
        own
    }

    fn basic(&mut self, ad: &mut Ad<'_>, scope: usize, op: &'a BasicOp, index: &[Atom]) -> Option<Atom> {
        match op {
            BasicOp::Atom(x) => self.element(ad, scope, *x, index),
            BasicOp::Copy(array) => self.element(ad, scope, (*array).into(), index),
            BasicOp::Scalar(op) => {
                self.operations += 1;
                let each_element = self.scopes[scope].path.len() >= self.rank;
                if self.operations > MAX_OPERATIONS || !each_element && !is_cheap(op) {
                    return None;
                }
                let own = op.clone().try_map(|x| self.element(ad, scope, x, &[]).ok_or(())).ok()?;
                Some(ad.b.let_basic(own.name(), BasicOp::Scalar(own)).into())
            }
            BasicOp::Index { array, slice } => {
                let mut rest = index.iter();
                let mut all = Vec::new();
                for dim in slice {
                    all.push(match dim {
                        DimIndex::Fix(i) => self.element(ad, scope, *i, &[])?,
                        DimIndex::Slice { start, count: _, stride } => {
                            let start = self.element(ad, scope, *start, &[])?;
                            let stride = self.element(ad, scope, *stride, &[])?;
                            let offset = ad.b.mul_i64(*rest.next()?, stride);
                            ad.b.add_i64(start, offset)
                        }
                    });
                }
                self.element(ad, scope, (*array).into(), &all)
            }
            BasicOp::Replicate { shape, value } => self.element(ad, scope, *value, index.get(shape.len()..)?),
            BasicOp::Rearrange { perm, array } => {
                let mut all = vec![Atom::i64(0); perm.len()];
                for (from, to) in index.iter().zip(perm) {
                    all[*to] = *from;
                }
                self.element(ad, scope, (*array).into(), &all)
            }
            BasicOp::Reshape { kind: ReshapeKind::Coerce, shape: _, array } => {
                self.element(ad, scope, (*array).into(), index)
            }
            BasicOp::Iota { ty: PrimType::I64, count: _, start, stride } => {
                let start = self.element(ad, scope, *start, &[])?;
                let stride = self.element(ad, scope, *stride, &[])?;
                let offset = ad.b.mul_i64(*index.first()?, stride);
                Some(ad.b.add_i64(start, offset))
            }
            BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape, array } => {
                let all = unit_dimensions(index, shape, ad.b.types.type_of(*array).shape())?;
                self.element(ad, scope, (*array).into(), &all)
            }
            BasicOp::Iota { .. }
            | BasicOp::Opaque(_)
            | BasicOp::Assert { .. }
            | BasicOp::FlatIndex { .. }
            | BasicOp::Concat { .. }
            | BasicOp::Scratch { .. }
            | BasicOp::Manifest { .. }
            | BasicOp::ArrayLit { .. }
            | BasicOp::ConstArray { .. }
            | ir::update_op!()
            | ir::parameter_op!() => None,
        }
    }
}

/// The number of dimensions of more than one element.
fn several(dims: impl Iterator<Item = Dim>) -> usize {
    dims.filter(|dim| *dim != Dim::Const(1)).count()
}

/// The index into an array that a reshape adds dimensions of one element to, or removes such from.
fn unit_dimensions(index: &[Atom], shape: &[Dim], array: &[Dim]) -> Option<Vec<Atom>> {
    let is_several = |dim: &Dim| *dim != Dim::Const(1);
    let mut own = index.iter().zip(shape).filter(|(_, dim)| is_several(dim));
    let mut all = Vec::with_capacity(array.len());
    for dim in array {
        if !is_several(dim) {
            all.push(Atom::i64(0));
            continue;
        }
        let (i, size) = own.next()?;
        if size != dim {
            return None;
        }
        all.push(*i);
    }
    own.next().is_none().then_some(all)
}

/// Returns true if an operation may be computed again for each element.
fn is_cheap(op: &ScalarOp<Atom>) -> bool {
    match op {
        ScalarOp::Unary(op, ..) => matches!(op.class(), UnClass::Negation | UnClass::Absolute),
        ScalarOp::Binary(op, ..) => {
            matches!(op.class(), BinClass::Sum | BinClass::Product | BinClass::Min(_) | BinClass::Max(_))
                || matches!(op, BinOp::And | BinOp::Or)
        }
        ScalarOp::Compare(..) | ScalarOp::Convert { .. } | ScalarOp::Select { .. } | ScalarOp::Fma(..) => {
            true
        }
        ScalarOp::Math(..) => false,
    }
}
