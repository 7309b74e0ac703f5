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
use ir::syntax::{Atom, BasicOp, DimIndex, Exp, Lambda, Param, ReshapeKind, Stm};
use ir::types::{Dim, Type};
use prim::{BinClass, BinOp, PrimType, ScalarOp, UnClass};
use rustc_hash::FxHashMap;

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

/// Names of an iteration whose values are results of the map: the array of all iterations' values,
/// once it exists.
pub(super) type Leaves = FxHashMap<Name, Option<Name>>;

/// Computes elements of an iteration's arrays.
struct Elements<'a> {
    /// The scopes: that of the iteration, and one for each element of a map.
    scopes: Vec<Scope<'a>>,
    /// The scope of the element of a map's result: by the scope around, the map, and the index.
    of_map: FxHashMap<(usize, Name, Atom), usize>,
    /// The number of the iteration.
    at: Atom,
    /// The number of dimensions of the contribution.
    rank: usize,
    leaves: &'a mut Leaves,
    operations: usize,
}

struct Scope<'a> {
    around: Option<usize>,
    depth: usize,
    stms: FxHashMap<Name, (&'a Stm<Soacs>, usize)>,
    /// Parameters: the array and the index of which each is the row.
    rows: FxHashMap<Name, (Atom, Atom)>,
    known: FxHashMap<(Name, Vec<Atom>), Atom>,
}

impl<'a> Scope<'a> {
    fn new(around: Option<usize>, depth: usize, stms: &'a [Stm<Soacs>]) -> Self {
        let mut bound = FxHashMap::default();
        for stm in stms {
            for (at, param) in stm.pat.iter().enumerate() {
                bound.insert(param.name, (stm, at));
            }
        }
        Self { around, depth, stms: bound, rows: FxHashMap::default(), known: FxHashMap::default() }
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
        let outer = self.b.open();
        let before = leaves.clone();
        let ty = self.b.types.type_of(contribution.to).clone();
        let index: Vec<Atom> = ty.shape().iter().map(|_| self.b.param("k", Type::I64).name.into()).collect();
        let at = self.b.param("i", Type::I64).name.into();
        let found = self.element(iteration, contribution.value, (at, &index), leaves).is_some();
        let _ = self.b.close(outer, Vec::new());
        let bound_inside = |dim: &Dim| matches!(dim, Dim::Var(name) if iteration.binds(*name));
        let regular = leaves.keys().all(|leaf| {
            let ty = self.b.types.type_of(*leaf);
            ty.elem().is_some() && !ty.shape().iter().any(bound_inside)
        });
        if !found || !regular {
            *leaves = before;
        }
        found && regular
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
        self.b.extend(stms);
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
        let ty = self.b.type_of(element);
        let body = self.b.close(outer, vec![element]);
        let map = Lambda { params: vec![param], body, ret: vec![ty.clone()] };
        let reduces = if is_innermost { vec![self.addition(&[ty])] } else { Vec::new() };
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
        let mut root = Scope::new(None, 0, iteration.stms);
        for (array, param) in iteration.rows {
            root.rows.insert(param.name, ((*array).into(), at));
        }
        let mut elements = Elements {
            scopes: vec![root],
            of_map: FxHashMap::default(),
            at,
            rank: index.len(),
            leaves,
            operations: 0,
        };
        elements.element(self, 0, value, index)
    }
}

impl Iteration<'_> {
    fn binds(&self, name: Name) -> bool {
        self.rows.iter().any(|(_, param)| param.name == name)
            || self.stms.iter().any(|stm| stm.pat.iter().any(|param| param.name == name))
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
                let computed = if self.leaves.contains_key(&name) {
                    None
                } else {
                    ir::walk::with_stack(|| self.bound(ad, own, (stm, result), index))
                };
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

    /// The element of a value that the map returns.
    fn leaf(&mut self, ad: &mut Ad<'_>, scope: usize, name: Name, index: &[Atom]) -> Option<Atom> {
        if scope != 0 {
            return None;
        }
        match self.leaves.entry(name).or_default() {
            // Not known yet: any element stands for it.
            None => {
                let elem = ad.b.types.type_of(name).elem()?;
                Some(crate::state::zero(elem))
            }
            Some(array) => {
                let all: Vec<Atom> = std::iter::once(self.at).chain(index.iter().copied()).collect();
                Self::read(ad, *array, &all)
            }
        }
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
        let depth = self.scopes[around].depth + 1;
        let mut scope = Scope::new(Some(around), depth, &screma.map.body.stms);
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
                let each_element = self.scopes[scope].depth == self.rank;
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
            BasicOp::Reshape { .. }
            | BasicOp::Iota { .. }
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
