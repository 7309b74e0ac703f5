//! Mapnest contexts: the Σ of incremental flattening (Henriksen et al., PPoPP 2019, §2.1), with
//! explicit indices.
//!
//! ```text
//! Σ = ⟨xs ∈ xss⟩ ⟨x ∈ xs⟩      dims   i < n, j < m
//!                              binds  xs = xss[i]; x = xs[j]
//! ```
//!
//! A nest's names are patterns: each time it is made manifest, as a segop's index space and the
//! first statements of its body, the copy gets fresh names and only the bindings that it needs.
//! Bindings are indices, views and cheap scalars, which are recomputed rather than stored.
//!
//! Where sizes vary across iterations, all segments are stored consecutively, and a nest of its own
//! iterates over their elements ([`Nest::with_segments`]); in it the indices of the enclosing nest
//! are bindings, too.

use crate::Result;
use crate::names::{Names, basic, part_slice, read_part};
use ir::name::Name;
use ir::seg::SegSpace;
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{
    Substitution, free_names, free_names_lambda, refresh_body, refresh_lambda, stm_names, used_names,
};
use ir::{PassError, Prov, Soacs};
use prim::{BinOp, PrimType};
use rustc_hash::{FxHashMap, FxHashSet};

/// A mapnest context. A nested map extends it in a nest of its own.
#[derive(Default)]
pub(crate) struct Nest<'p> {
    outer: Option<&'p Nest<'p>>,
    /// Index and width of each map, outermost first, including those of `outer`.
    dims: Vec<(Name, Dim)>,
    /// The statements that each iteration binds in addition to those of `outer`, in order.
    binds: Vec<Stm<Soacs>>,
    /// The number of leading `binds` of the indices of `outer`, if its iterations are segments here.
    segments: usize,
    /// The statement in `binds` that binds a name; `None` for an index.
    bound: FxHashMap<Name, Option<usize>>,
    /// Bound names that are elements of an array: the array, and the number of indices.
    elements: FxHashMap<Name, (Name, usize)>,
    /// Certificates that everything in the nest relies on.
    certs: Vec<Name>,
    /// The indices of dimensions with at most one iteration, though the width is not a constant.
    at_most_one: FxHashSet<Name>,
}

/// The segments of the iterations of a nest, stored consecutively.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segments {
    /// The start of an iteration's segment, bound in the nest.
    pub(crate) start: Name,
    /// The array of all starts, outside the nest.
    pub(crate) starts: Name,
    /// The iteration that each element belongs to, outside the nest.
    pub(crate) iterations: Name,
    /// The total number of elements.
    pub(crate) total: Name,
}

/// Checks that an enclosing nest of fewer dimensions makes.
pub(crate) struct OuterChecks<'a, 'p> {
    pub(crate) nest: &'a Nest<'p>,
    /// Certificates that it binds.
    pub(crate) certs: Vec<Name>,
    /// Widths of the dimensions that the deeper nest has in addition.
    pub(crate) inner: Vec<Dim>,
}

impl<'p> Nest<'p> {
    /// A nest with these dimensions, of which those in `single` have at most one iteration.
    pub(crate) fn with_widths(dims: Vec<(Name, Dim)>, single: FxHashSet<Name>) -> Self {
        let bound = dims.iter().map(|(index, _)| (*index, None)).collect();
        Nest { dims, bound, at_most_one: single, ..Nest::default() }
    }

    /// Returns true if the dimension of this index is known to have at most one iteration.
    pub(crate) fn has_at_most_one_iteration(&self, index: Name) -> bool {
        let known = self.dims.iter().find(|(name, _)| *name == index);
        known.is_some_and(|(_, width)| matches!(width, Dim::Const(..=1)))
            || self.enclosing().any(|frame| frame.at_most_one.contains(&index))
    }

    /// The indices and widths, outermost first.
    pub(crate) fn dims(&self) -> &[(Name, Dim)] {
        &self.dims
    }

    /// Returns true if it has no dimension.
    pub(crate) fn is_empty(&self) -> bool {
        self.dims.is_empty()
    }

    /// The widths, outermost first.
    pub(crate) fn widths(&self) -> impl DoubleEndedIterator<Item = Dim> + '_ {
        self.dims.iter().map(|(_, width)| *width)
    }

    /// The number of iterations, if it is a constant.
    pub(crate) fn iterations(&self) -> Option<i64> {
        let mut widths = self.widths();
        widths.try_fold(1i64, |iterations, width| match width {
            Dim::Const(n) => Some(iterations.saturating_mul(n)),
            Dim::Var(_) | Dim::Ext(_) => None,
        })
    }

    /// The indices, outermost first.
    pub(crate) fn indices(&self) -> impl Iterator<Item = Atom> + '_ {
        self.dims.iter().map(|(index, _)| Atom::Var(*index))
    }

    /// Returns true if a name varies across iterations.
    pub(crate) fn is_variant(&self, name: Name) -> bool {
        self.enclosing().any(|frame| frame.bound.contains_key(&name))
    }

    /// The nest and its enclosing nests, innermost first.
    fn enclosing(&self) -> impl Iterator<Item = &Nest<'p>> {
        std::iter::successors(Some(self), |frame| frame.outer)
    }

    /// The type of an array with a value of this type per iteration; accumulators stay as they are.
    pub(crate) fn expand(&self, ty: &Type) -> Type {
        self.widths().rev().fold(ty.clone(), |ty, width| ty.array_of(width))
    }

    /// The type of one iteration's element of such an array.
    pub(crate) fn element_type(&self, ty: &Type) -> Type {
        self.dims.iter().fold(ty.clone(), |ty, _| ty.row().unwrap_or(ty))
    }

    /// Adds a map inside: its width, and its parameters as rows of its inputs.
    pub(crate) fn with_map<'q>(
        &'q self,
        names: &mut Names<'_>,
        width: Dim,
        params: &[Param<Soacs>],
        inputs: &[Name],
    ) -> Result<Nest<'q>> {
        let mut nest = self.with_dims(names, &[width]);
        let index = nest.dims[self.dims.len()].0;
        let certs = self.certs();
        for (param, &input) in params.iter().zip(inputs) {
            let op = row(names, input, index.into())?;
            let whole = match self.element(input) {
                Some((array, depth)) if depth == self.dims.len() => Some(array),
                None if self.is_empty() => Some(input),
                Some(_) | None => None,
            };
            if let Some(array) = whole.filter(|_| !matches!(param.ty, Type::Acc { .. })) {
                nest.elements.insert(param.name, (array, nest.dims.len()));
            }
            nest.bind_with(param.clone(), op, &certs);
        }
        Ok(nest)
    }

    /// The same nest, ready for more bindings; everything in it relies on the certificates `certs`.
    pub(crate) fn child(&self, certs: Vec<Name>) -> Nest<'_> {
        Nest { outer: Some(self), dims: self.dims.clone(), certs, ..Nest::default() }
    }

    /// Adds inner dimensions of these sizes.
    pub(crate) fn with_dims<'q>(&'q self, names: &mut Names<'_>, sizes: &[Dim]) -> Nest<'q> {
        let mut nest = self.child(Vec::new());
        for &size in sizes {
            let index = names.fresh("gtid", Type::I64).name;
            nest.dims.push((index, size));
            nest.bound.insert(index, None);
        }
        nest
    }

    /// A nest over all elements of the nest's segments, and an element's index within its segment.
    pub(crate) fn with_segments<'q>(&'q self, names: &mut Names<'_>, segments: Segments) -> (Nest<'q>, Name) {
        let mut nest = self.child(Vec::new());
        let index = names.fresh("k", Type::I64).name;
        nest.dims = vec![(index, Dim::Var(segments.total))];
        nest.bound.insert(index, None);
        let mut segment = names.fresh("segment", Type::I64);
        if let [(only, _)] = self.dims.as_slice() {
            segment.name = *only;
        }
        let mut left = segment.name;
        let slice = vec![DimIndex::Fix(index.into())];
        nest.bind_op(segment, BasicOp::Index { array: segments.iterations, slice });
        for (i, (outer, width)) in self.dims.iter().enumerate().rev() {
            let Some(width) = width.atom().filter(|_| self.dims.len() > 1) else {
                break;
            };
            let own = Param { name: *outer, ty: Type::I64, ann: () };
            if i == 0 {
                nest.bind_op(own, BasicOp::Atom(left.into()));
                break;
            }
            let op = |op| BasicOp::binary(op, PrimType::I64, left, width);
            nest.bind_op(own, op(BinOp::SRem));
            let rest = names.fresh("rest", Type::I64);
            let next = rest.name;
            nest.bind_op(rest, op(BinOp::SQuot));
            left = next;
        }
        nest.segments = nest.binds.len();
        let inner_index = names.fresh("j", Type::I64);
        let name = inner_index.name;
        let from = BasicOp::binary(BinOp::Sub, PrimType::I64, index, segments.start);
        nest.bind_op(inner_index, from);
        (nest, name)
    }

    fn element(&self, name: Name) -> Option<(Name, usize)> {
        for frame in self.enclosing() {
            if let Some(found) = frame.elements.get(&name) {
                return Some(*found);
            }
            if frame.segments > 0 {
                // Outside the segments the dimensions differ.
                return None;
            }
        }
        None
    }

    pub(crate) fn bind_op(&mut self, param: Param<Soacs>, op: BasicOp) {
        self.bind(basic(param, op, Prov::NONE));
    }

    /// Binds a name to the result of an operation that relies on these certificates.
    pub(crate) fn bind_with(&mut self, param: Param<Soacs>, op: BasicOp, certs: &[Name]) {
        let mut stm = basic(param, op, Prov::NONE);
        stm.aux.certs = certs.iter().copied().collect();
        self.bind(stm);
    }

    /// Adds a statement, which each iteration recomputes.
    pub(crate) fn bind(&mut self, stm: Stm<Soacs>) {
        let at = Some(self.binds.len());
        self.bound.extend(stm.pat.iter().map(|param| (param.name, at)));
        self.binds.push(stm);
    }

    /// Binds a name to its element of an array over all dimensions.
    pub(crate) fn bind_element(&mut self, param: Param<Soacs>, array: Name) {
        self.bind_certified(param, array, &[]);
    }

    /// Binds a name to its element of an array over all dimensions; the read relies on these
    /// certificates. If there are any, the array does not stand for the name's values in all
    /// iterations: readers have to go through the binding.
    pub(crate) fn bind_certified(&mut self, param: Param<Soacs>, array: Name, checks: &[Name]) {
        let op = if matches!(param.ty, Type::Acc { .. }) {
            BasicOp::Atom(array.into())
        } else {
            if checks.is_empty() {
                self.elements.insert(param.name, (array, self.dims.len()));
            }
            let indices: Vec<Atom> = self.indices().collect();
            read_part(array, &indices, &param.ty)
        };
        self.bind_with(param, op, checks);
    }

    /// Binds a name to the part of an array at these indices of the outer dimensions.
    pub(crate) fn bind_at(&mut self, param: Param<Soacs>, array: Name, indices: &[Atom]) {
        let op = read_part(array, indices, &param.ty);
        self.bind_op(param, op);
    }

    /// The array over all dimensions that holds a name's value for each iteration, if there is one.
    pub(crate) fn array_of(&self, name: Name) -> Option<Name> {
        let (array, depth) = self.element(name)?;
        (depth == self.dims.len()).then_some(array)
    }

    /// The value of a bound name, if it is a copy of a constant or of a name from outside the nest.
    pub(crate) fn constant(&self, name: Name) -> Option<Atom> {
        match &self.binding(name)?.exp {
            Exp::Basic(BasicOp::Atom(value)) => match value {
                Atom::Var(source) if self.is_variant(*source) => self.constant(*source),
                Atom::Var(_) | Atom::Const(_) => Some(*value),
            },
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
        }
    }

    /// The accumulator from outside the nest that a bound name stands for.
    pub(crate) fn acc(&self, name: Name) -> Option<Name> {
        let Some(stm) = self.binding(name) else {
            return Some(name);
        };
        match &stm.exp {
            Exp::Basic(BasicOp::Atom(Atom::Var(source))) => self.acc(*source),
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
        }
    }

    /// The statement that binds a name in each iteration.
    pub(crate) fn binding(&self, name: Name) -> Option<&Stm<Soacs>> {
        self.enclosing().find_map(|frame| {
            let at = (*frame.bound.get(&name)?)?;
            frame.binds.get(at)
        })
    }

    /// The nest as an index space, and the body after the bindings that it needs, with fresh names.
    pub(crate) fn manifest(
        &self,
        names: &mut Names<'_>,
        mut body: Body<Soacs>,
    ) -> Result<(SegSpace, Body<Soacs>)> {
        let certs = self.certs();
        for stm in &mut body.stms {
            let more = certs.iter().filter(|cert| !stm.aux.certs.contains(cert));
            let more: Vec<Name> = more.copied().collect();
            stm.aux.certs.extend(more);
        }
        Self::check_results(names, &certs, &mut body)?;
        let mut stms = self.needed(free_names(&body));
        stms.extend(body.stms);
        let body = Body { stms, result: body.result };
        let mut dims = Vec::with_capacity(self.dims.len());
        for &(index, width) in &self.dims {
            dims.push((names.fresh_like(index, Type::I64).name, width));
        }
        let mut map = self.renamed(&dims);
        let body = refresh_body(&body, &mut names.table, &mut map);
        names.types.add_body(&body);
        Ok((SegSpace { dims, lane: None }, body))
    }

    /// Results of a body that none of its statements binds are rebound by a statement that relies
    /// on the nest's certificates.
    fn check_results(names: &mut Names<'_>, certs: &[Name], body: &mut Body<Soacs>) -> Result {
        if certs.is_empty() {
            return Ok(());
        }
        let made = body.stms.iter().flat_map(|stm| &stm.pat);
        let made: FxHashSet<Name> = made.map(|param| param.name).collect();
        for result in &mut body.result {
            if result.var().is_some_and(|name| made.contains(&name)) {
                continue;
            }
            let ty = names.atom_type(*result)?;
            let checked = names.fresh("checked", ty);
            let op = BasicOp::Atom(std::mem::replace(result, checked.name.into()));
            let mut stm = basic(checked, op, Prov::NONE);
            stm.aux.certs = certs.iter().copied().collect();
            body.stms.push(stm);
        }
        Ok(())
    }

    /// The certificates that everything in the nest relies on.
    pub(crate) fn certs(&self) -> Vec<Name> {
        self.enclosing().flat_map(|frame| &frame.certs).copied().collect()
    }

    /// The nest-variant certificates that the computation of these names relies on.
    pub(crate) fn certs_of(&self, names: &[Name]) -> Vec<Name> {
        let needed = self.needed(names.to_vec());
        let certs = needed.iter().flat_map(|stm| stm.aux.certs.iter().copied());
        let mut certs: Vec<Name> = certs.filter(|cert| self.is_variant(*cert)).collect();
        certs.sort_unstable();
        certs.dedup();
        certs
    }

    /// The checks for these names that nests of fewer dimensions make, up to the nearest segments.
    pub(crate) fn outer_checks(&self, names: impl FnOnce() -> Vec<Name>) -> Vec<OuterChecks<'_, 'p>> {
        let frames: Vec<&Nest<'_>> = self.enclosing().collect();
        // Outside the segments the dimensions differ.
        let last = frames.iter().position(|frame| frame.segments > 0);
        let shallow =
            |at: usize| last.is_none_or(|last| at <= last) && frames[at].dims.len() < self.dims.len();
        let is_check = |stm: &Stm<Soacs>| stm.pat.iter().any(|param| param.ty == Type::Cert);
        let mut found: Vec<OuterChecks<'_, 'p>> = Vec::new();
        if !(0..frames.len()).any(|at| shallow(at) && frames[at].binds.iter().any(is_check)) {
            return found;
        }
        let needed = self.needed_at([names(), self.certs()].concat());
        for (at, bind) in needed {
            let stm = &frames[at].binds[bind];
            if !shallow(at) || !is_check(stm) {
                continue;
            }
            // The innermost nest of this depth has the bindings of all of them.
            let depth = frames[at].dims.len();
            let innermost = frames.iter().find(|frame| frame.dims.len() == depth);
            let certs = stm.pat.iter().map(|param| param.name);
            match found.iter_mut().find(|it| it.nest.dims.len() == depth) {
                Some(known) => known.certs.extend(certs),
                None => found.push(OuterChecks {
                    nest: innermost.unwrap_or(&frames[at]),
                    certs: certs.collect(),
                    inner: self.widths().skip(depth).collect(),
                }),
            }
        }
        found
    }

    /// The renaming of the nest's indices to those of an index space.
    fn renamed(&self, dims: &[(Name, Dim)]) -> Substitution {
        self.dims.iter().zip(dims).map(|((index, _), (own, _))| (*index, Atom::Var(*own))).collect()
    }

    /// A lambda of a segop beside its body: after the bindings that it needs, with fresh names.
    pub(crate) fn manifest_lambda(
        &self,
        names: &mut Names<'_>,
        space: &SegSpace,
        mut lambda: Lambda<Soacs>,
    ) -> Lambda<Soacs> {
        let mut stms = self.needed(free_names_lambda(&lambda));
        stms.append(&mut lambda.body.stms);
        lambda.body.stms = stms;
        let mut map = self.renamed(&space.dims);
        let lambda = refresh_lambda(&lambda, &mut names.table, &mut map);
        names.add_lambda(&lambda);
        lambda
    }

    /// The bindings that these names need, in order, and the indices that these depend on; `None`
    /// if they include accumulators or the nest is over segments.
    pub(crate) fn dependencies(&self, names: Vec<Name>) -> Option<(Vec<Stm<Soacs>>, FxHashSet<Name>)> {
        if self.enclosing().any(|frame| frame.segments > 0) {
            return None;
        }
        let own = |name: &Name| self.dims.iter().any(|(index, _)| index == name);
        let mut indices: FxHashSet<Name> = names.iter().copied().filter(own).collect();
        let needed = self.needed(names);
        for stm in &needed {
            stm_names(stm, |name| indices.extend(Some(name).filter(own)));
            if stm.pat.iter().any(|param| matches!(param.ty, Type::Acc { .. })) {
                return None;
            }
        }
        Some((needed, indices))
    }

    /// The bindings that these names need, in order.
    fn needed(&self, names: Vec<Name>) -> Vec<Stm<Soacs>> {
        let frames: Vec<&Nest<'_>> = self.enclosing().collect();
        self.needed_at(names).into_iter().map(|(frame, bind)| frames[frame].binds[bind].clone()).collect()
    }

    /// The bindings that these names need: the nest, innermost first, and the index in its `binds`.
    fn needed_at(&self, mut names: Vec<Name>) -> Vec<(usize, usize)> {
        let frames: Vec<&Nest<'_>> = self.enclosing().collect();
        let mut found: FxHashSet<(usize, usize)> = FxHashSet::default();
        let mut order = Vec::new();
        while let Some(name) = names.pop() {
            let at = frames.iter().enumerate();
            let mut at = at.filter_map(|(i, frame)| Some((i, (*frame.bound.get(&name)?)?)));
            let Some((frame, bind)) = at.next() else {
                continue;
            };
            if found.insert((frame, bind)) {
                order.push((frame, bind));
                let stm = &frames[frame].binds[bind];
                used_names(&stm.exp, |name| names.push(name));
                names.extend(stm.aux.certs.iter().copied());
                let shapes = stm.pat.iter().flat_map(|param| param.ty.shape());
                names.extend(shapes.filter_map(|dim| dim.atom()?.var()));
            }
        }
        // Indices of segments innermost first, then all other bindings outermost first.
        order.sort_unstable_by_key(|&(frame, bind)| {
            let segment = bind < frames[frame].segments;
            let depth = frame as isize;
            (!segment, if segment { depth } else { -depth }, bind)
        });
        order
    }
}

/// The row of an input of a combinator at an index; an accumulator is passed on as it is.
pub(crate) fn row(names: &Names<'_>, input: Name, index: Atom) -> Result<BasicOp> {
    match names.type_of(input)? {
        ty @ Type::Array { .. } => Ok(BasicOp::Index { array: input, slice: part_slice(&ty, &[index]) }),
        Type::Acc { .. } => Ok(BasicOp::Atom(input.into())),
        Type::Prim(_) | Type::Cert | Type::Mem(_) => {
            Err(PassError::bug("an input of a combinator is not an array"))
        }
    }
}
