//! Mapnest contexts: the Σ of incremental flattening (Henriksen et al., PPoPP 2019,
//! §2.1), by indices.
//!
//! ```text
//! Σ = ⟨xs ∈ xss⟩ ⟨x ∈ xs⟩      dims   i < n, j < m
//!                              binds  xs = xss[i]; x = xs[j]
//! ```
//!
//! A nest's names are patterns of names: wherever it is made manifest, as a segop's
//! space and the beginning of its body, that gets names of its own, and only those
//! bindings that it needs. Bindings are indices, views and cheap scalars, which are
//! computed again rather than stored.
//!
//! Where sizes differ from point to point, all segments lie one after another, and a
//! nest of their own goes over them ([`Nest::with_segments`]): there the indices of the
//! nest around are bindings, too.

use crate::context::{Ctx, part, row_slice};
use ir::name::Name;
use ir::seg::SegSpace;
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{
    Substitution, free_names, free_names_lambda, refresh_body, refresh_lambda, stm_names, used_names,
};
use ir::{PassError, Prov, Soacs};
use prim::{BinOp, PrimType};
use rustc_hash::{FxHashMap, FxHashSet};

/// A mapnest context. What a map inside adds stands in a nest of its own.
#[derive(Default)]
pub(crate) struct Nest<'p> {
    outer: Option<&'p Nest<'p>>,
    /// Index and width of each map, outermost first, those of `outer` among them.
    dims: Vec<(Name, Dim)>,
    /// What each point binds beside what `outer` does, in order.
    binds: Vec<Stm<Soacs>>,
    /// How many of these come first: they bind the indices of `outer`, whose points are
    /// segments here.
    segments: usize,
    /// Which of `binds` binds a name; `None` for an index.
    bound: FxHashMap<Name, Option<usize>>,
    /// Bound arrays and scalars that are the elements of an array over so many of the
    /// dimensions.
    elements: FxHashMap<Name, (Name, usize)>,
    /// Checks that must hold before what stands in the nest.
    certs: Vec<Name>,
    /// The indices of dimensions that have no more than one point, though a width says it not.
    single: FxHashSet<Name>,
}

/// The segments that points of a nest have, one after another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segments {
    /// Where a point's segment begins, in the nest.
    pub(crate) start: Name,
    /// The same of all points, outside of the nest.
    pub(crate) starts: Name,
    /// The point of each element, outside of the nest.
    pub(crate) ids: Name,
    /// How many elements there are.
    pub(crate) total: Name,
}

/// Checks of a nest around another one.
pub(crate) struct Shallow<'a, 'p> {
    pub(crate) nest: &'a Nest<'p>,
    /// Certificates that it binds.
    pub(crate) certs: Vec<Name>,
    /// Widths of the dimensions that the other one has inside.
    pub(crate) inner: Vec<Dim>,
}

/// A nest made manifest over a body.
pub(crate) struct Manifest {
    pub(crate) space: SegSpace,
    pub(crate) body: Body<Soacs>,
}

impl<'p> Nest<'p> {
    /// A nest of the same indices, some of whose dimensions have another width.
    pub(crate) fn narrowed(dims: Vec<(Name, Dim)>, single: FxHashSet<Name>) -> Self {
        let bound = dims.iter().map(|(index, _)| (*index, None)).collect();
        Nest { dims, bound, single, ..Nest::default() }
    }

    /// Whether a dimension, by its index, is known to have one point at most.
    pub(crate) fn is_single(&self, index: Name) -> bool {
        let known = self.dims.iter().find(|(name, _)| *name == index);
        known.is_some_and(|(_, width)| matches!(width, Dim::Const(..=1)))
            || self.frames().any(|frame| frame.single.contains(&index))
    }

    /// The indices and widths, outermost first.
    pub(crate) fn dims(&self) -> &[(Name, Dim)] {
        &self.dims
    }

    /// Whether it has no dimension.
    pub(crate) fn is_empty(&self) -> bool {
        self.dims.is_empty()
    }

    /// The widths, outermost first.
    pub(crate) fn widths(&self) -> impl DoubleEndedIterator<Item = Dim> + '_ {
        self.dims.iter().map(|(_, width)| *width)
    }

    /// How many points it has, if that is known.
    pub(crate) fn points(&self) -> Option<i64> {
        let mut widths = self.widths();
        widths.try_fold(1i64, |points, width| match width {
            Dim::Const(n) => Some(points.saturating_mul(n)),
            Dim::Var(_) | Dim::Ext(_) => None,
        })
    }

    /// The indices, outermost first.
    pub(crate) fn indices(&self) -> impl Iterator<Item = Atom> + '_ {
        self.dims.iter().map(|(index, _)| Atom::Var(*index))
    }

    /// Whether a name differs from point to point.
    pub(crate) fn is_variant(&self, name: Name) -> bool {
        self.frames().any(|frame| frame.bound.contains_key(&name))
    }

    /// The nest and those around it, inwards out.
    fn frames(&self) -> impl Iterator<Item = &Nest<'p>> {
        std::iter::successors(Some(self), |frame| frame.outer)
    }

    /// The type of what has an element of this type at each point.
    pub(crate) fn expand(&self, ty: &Type) -> Type {
        match ty {
            Type::Acc { .. } => ty.clone(),
            Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => {
                let widths = self.widths().rev();
                widths.fold(ty.clone(), |ty, width| ty.array_of(width))
            }
        }
    }

    /// With a map inside: its width, and its parameters as rows of its inputs.
    pub(crate) fn with_map<'q>(
        &'q self,
        ctx: &mut Ctx<'_>,
        width: Dim,
        params: &[Param<Soacs>],
        inputs: &[Name],
    ) -> Result<Nest<'q>, PassError>
    where
        'p: 'q,
    {
        let mut nest = Nest { outer: Some(self), dims: self.dims.clone(), ..Nest::default() };
        let index = ctx.fresh::<Soacs>("gtid", Type::I64).name;
        nest.dims.push((index, width));
        nest.bound.insert(index, None);
        let certs = self.checks();
        for (param, &input) in params.iter().zip(inputs) {
            let op = match ctx.type_of(input)? {
                ty @ Type::Array { .. } => {
                    BasicOp::Index { array: input, slice: row_slice(&ty, index.into()) }
                }
                Type::Acc { .. } => BasicOp::Atom(input.into()),
                Type::Prim(_) | Type::Cert | Type::Mem(_) => {
                    return Err(PassError::bug("a combinator's input is no array"));
                }
            };
            let whole = match self.element(input) {
                Some((array, depth)) if depth == self.dims.len() => Some(array),
                None if self.is_empty() => Some(input),
                Some(_) | None => None,
            };
            if let Some(array) = whole.filter(|_| !matches!(param.ty, Type::Acc { .. })) {
                nest.elements.insert(param.name, (array, nest.dims.len()));
            }
            let mut aux = Aux::at(Prov::NONE);
            aux.certs = certs.iter().copied().collect();
            nest.bind(Stm { pat: vec![param.clone()], aux, exp: Exp::Basic(op) });
        }
        Ok(nest)
    }

    /// The same nest, to which more can be added; `certs` are checks that must hold
    /// before what stands in it.
    pub(crate) fn child<'q>(&'q self, certs: Vec<Name>) -> Nest<'q>
    where
        'p: 'q,
    {
        Nest { outer: Some(self), dims: self.dims.clone(), certs, ..Nest::default() }
    }

    /// With dimensions of these sizes inside.
    pub(crate) fn with_dims<'q>(&'q self, ctx: &mut Ctx<'_>, sizes: &[Dim]) -> Nest<'q>
    where
        'p: 'q,
    {
        let mut nest = self.child(Vec::new());
        for &size in sizes {
            let index = ctx.fresh::<Soacs>("gtid", Type::I64).name;
            nest.dims.push((index, size));
            nest.bound.insert(index, None);
        }
        nest
    }

    /// With one dimension for all elements of the nest's segments, and the place of an
    /// element in its segment.
    pub(crate) fn with_segments<'q>(&'q self, ctx: &mut Ctx<'_>, segments: Segments) -> (Nest<'q>, Name)
    where
        'p: 'q,
    {
        let mut nest = self.child(Vec::new());
        let index = ctx.fresh::<Soacs>("k", Type::I64).name;
        nest.dims = vec![(index, Dim::Var(segments.total))];
        nest.bound.insert(index, None);
        let mut segment = ctx.fresh::<Soacs>("segment", Type::I64);
        if let [(only, _)] = self.dims.as_slice() {
            segment.name = *only;
        }
        let mut left = segment.name;
        let slice = vec![DimIndex::Fix(index.into())];
        nest.bind_op(segment, BasicOp::Index { array: segments.ids, slice });
        for (i, (outer, width)) in self.dims.iter().enumerate().rev() {
            let Some(width) = width.atom().filter(|_| self.dims.len() > 1) else {
                break;
            };
            let own = Param { name: *outer, ty: Type::I64, ann: () };
            if i == 0 {
                nest.bind_op(own, BasicOp::Atom(left.into()));
                break;
            }
            let op = |op| BasicOp::Binary(op, PrimType::I64, left.into(), width);
            nest.bind_op(own, op(BinOp::SRem));
            let rest = ctx.fresh::<Soacs>("rest", Type::I64);
            let next = rest.name;
            nest.bind_op(rest, op(BinOp::SQuot));
            left = next;
        }
        nest.segments = nest.binds.len();
        let place = ctx.fresh::<Soacs>("j", Type::I64);
        let name = place.name;
        let from = BasicOp::Binary(BinOp::Sub, PrimType::I64, index.into(), segments.start.into());
        nest.bind_op(place, from);
        (nest, name)
    }

    fn element(&self, name: Name) -> Option<(Name, usize)> {
        for frame in self.frames() {
            if let Some(found) = frame.elements.get(&name) {
                return Some(*found);
            }
            if frame.segments > 0 {
                // Around here there are other dimensions.
                return None;
            }
        }
        None
    }

    pub(crate) fn bind_op(&mut self, param: Param<Soacs>, op: BasicOp) {
        self.bind(Stm { pat: vec![param], aux: Aux::at(Prov::NONE), exp: Exp::Basic(op) });
    }

    /// With a statement that each point computes again.
    pub(crate) fn bind(&mut self, stm: Stm<Soacs>) {
        let at = Some(self.binds.len());
        self.bound.extend(stm.pat.iter().map(|param| (param.name, at)));
        self.binds.push(stm);
    }

    /// With a name that is the element of an array over all dimensions.
    pub(crate) fn bind_element(&mut self, param: Param<Soacs>, array: Name) {
        self.bind_checked(param, array, &[]);
    }

    /// The same, where these checks of a point must hold before. With any, the array does
    /// not stand for the name's values at all points: readers have to come by the points.
    pub(crate) fn bind_checked(&mut self, param: Param<Soacs>, array: Name, checks: &[Name]) {
        let op = if matches!(param.ty, Type::Acc { .. }) {
            BasicOp::Atom(array.into())
        } else {
            if checks.is_empty() {
                self.elements.insert(param.name, (array, self.dims.len()));
            }
            let indices: Vec<Atom> = self.indices().collect();
            part(array, &indices, &param.ty)
        };
        let mut aux = Aux::at(Prov::NONE);
        aux.certs = checks.iter().copied().collect();
        self.bind(Stm { pat: vec![param], aux, exp: Exp::Basic(op) });
    }

    /// With a name that is the part of an array at these indices of the outer dimensions.
    pub(crate) fn bind_at(&mut self, param: Param<Soacs>, array: Name, indices: &[Atom]) {
        let op = part(array, indices, &param.ty);
        self.bind_op(param, op);
    }

    /// The array over all dimensions that has a name's value at each point, if there is
    /// one already.
    pub(crate) fn array_of(&self, name: Name) -> Option<Name> {
        let (array, depth) = self.element(name)?;
        (depth == self.dims.len()).then_some(array)
    }

    /// What a bound name is at all points, if it is the same and known outside.
    pub(crate) fn constant(&self, name: Name) -> Option<Atom> {
        match &self.binding(name)?.exp {
            Exp::Basic(BasicOp::Atom(value)) => match value {
                Atom::Var(source) if self.is_variant(*source) => self.constant(*source),
                Atom::Var(_) | Atom::Const(_) => Some(*value),
            },
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
        }
    }

    /// The accumulator from outside that a bound name is.
    pub(crate) fn acc(&self, name: Name) -> Option<Name> {
        let Some(stm) = self.binding(name) else {
            return Some(name);
        };
        match &stm.exp {
            Exp::Basic(BasicOp::Atom(Atom::Var(source))) => self.acc(*source),
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
        }
    }

    /// The statement that binds a name at each point.
    pub(crate) fn binding(&self, name: Name) -> Option<&Stm<Soacs>> {
        self.frames().find_map(|frame| {
            let at = (*frame.bound.get(&name)?)?;
            frame.binds.get(at)
        })
    }

    /// The nest as a segop's space, and the body with what it needs of the nest, all
    /// with names of their own.
    pub(crate) fn manifest(&self, ctx: &mut Ctx<'_>, mut body: Body<Soacs>) -> Result<Manifest, PassError> {
        let certs = self.checks();
        for stm in &mut body.stms {
            let more = certs.iter().filter(|cert| !stm.aux.certs.contains(cert));
            let more: Vec<Name> = more.copied().collect();
            stm.aux.certs.extend(more);
        }
        Self::check_results(ctx, &certs, &mut body)?;
        let mut stms = self.needed(free_names(&body));
        stms.extend(body.stms);
        let body = Body { stms, result: body.result };
        let mut dims = Vec::with_capacity(self.dims.len());
        for &(index, width) in &self.dims {
            let own = ctx.names().fresh_like(index);
            ctx.types.set(own, Type::I64);
            dims.push((own, width));
        }
        let mut map = self.renamed(&dims);
        let body = refresh_body(&body, ctx.names(), &mut map);
        ctx.types.add_body(&body);
        let space = SegSpace { dims, lane: None };
        Ok(Manifest { space, body })
    }

    /// What a body gives that none of its statements makes is checked by a statement.
    fn check_results(ctx: &mut Ctx<'_>, certs: &[Name], body: &mut Body<Soacs>) -> Result<(), PassError> {
        if certs.is_empty() {
            return Ok(());
        }
        let made = body.stms.iter().flat_map(|stm| &stm.pat);
        let made: FxHashSet<Name> = made.map(|param| param.name).collect();
        for result in &mut body.result {
            let ty = match *result {
                Atom::Var(name) if made.contains(&name) => continue,
                Atom::Var(name) => ctx.type_of(name)?,
                Atom::Const(scalar) => Type::Prim(scalar.ty()),
            };
            let mut aux = Aux::at(Prov::NONE);
            aux.certs = certs.iter().copied().collect();
            let checked = ctx.fresh("checked", ty);
            let exp = Exp::Basic(BasicOp::Atom(*result));
            *result = checked.name.into();
            body.stms.push(Stm { pat: vec![checked], aux, exp });
        }
        Ok(())
    }

    /// The checks that must hold before what stands in the nest.
    pub(crate) fn checks(&self) -> Vec<Name> {
        let certs = self.frames().flat_map(|frame| &frame.certs);
        certs.copied().collect()
    }

    /// The checks of points that hold where these names are computed.
    pub(crate) fn checks_of(&self, names: &[Name]) -> Vec<Name> {
        let needed = self.needed(names.to_vec());
        let certs = needed.iter().flat_map(|stm| stm.aux.certs.iter().copied());
        let mut certs: Vec<Name> = certs.filter(|cert| self.is_variant(*cert)).collect();
        certs.sort_unstable();
        certs.dedup();
        certs
    }

    /// The checks of those that need these names which nests around make that have fewer
    /// dimensions, outside of segments.
    pub(crate) fn shallow_checks(&self, names: impl FnOnce() -> Vec<Name>) -> Vec<Shallow<'_, 'p>> {
        let frames: Vec<&Nest<'_>> = self.frames().collect();
        // Around segments there are other dimensions.
        let last = frames.iter().position(|frame| frame.segments > 0);
        let shallow =
            |at: usize| last.is_none_or(|last| at <= last) && frames[at].dims.len() < self.dims.len();
        let is_check = |stm: &Stm<Soacs>| stm.pat.iter().any(|param| param.ty == Type::Cert);
        let mut found: Vec<Shallow<'_, 'p>> = Vec::new();
        if !(0..frames.len()).any(|at| shallow(at) && frames[at].binds.iter().any(is_check)) {
            return found;
        }
        let needed = self.needed_at([names(), self.checks()].concat());
        for (at, bind) in needed {
            let stm = &frames[at].binds[bind];
            if !shallow(at) || !is_check(stm) {
                continue;
            }
            // The innermost of its depth knows what all of them bind.
            let depth = frames[at].dims.len();
            let innermost = frames.iter().find(|frame| frame.dims.len() == depth);
            let certs = stm.pat.iter().map(|param| param.name);
            match found.iter_mut().find(|it| it.nest.dims.len() == depth) {
                Some(known) => known.certs.extend(certs),
                None => found.push(Shallow {
                    nest: innermost.unwrap_or(&frames[at]),
                    certs: certs.collect(),
                    inner: self.widths().skip(depth).collect(),
                }),
            }
        }
        found
    }

    /// What the indices are called in a space.
    fn renamed(&self, dims: &[(Name, Dim)]) -> Substitution {
        let pairs = self.dims.iter().zip(dims);
        pairs.map(|((index, _), (own, _))| (*index, Atom::Var(*own))).collect()
    }

    /// A lambda beside the body of a segop over the nest, with what it needs of the
    /// nest, all with names of their own.
    pub(crate) fn beside(
        &self,
        ctx: &mut Ctx<'_>,
        space: &SegSpace,
        mut lambda: Lambda<Soacs>,
    ) -> Lambda<Soacs> {
        let mut stms = self.needed(free_names_lambda(&lambda));
        stms.append(&mut lambda.body.stms);
        lambda.body.stms = stms;
        let mut map = self.renamed(&space.dims);
        let lambda = refresh_lambda(&lambda, ctx.names(), &mut map);
        ctx.types.add_params(&lambda.params);
        ctx.types.add_body(&lambda.body);
        lambda
    }

    /// The bindings that these names need, in order, and the indices that differ in them; none
    /// if they are accumulators or stand in segments.
    pub(crate) fn dependent(&self, names: Vec<Name>) -> Option<(Vec<Stm<Soacs>>, FxHashSet<Name>)> {
        if self.frames().any(|frame| frame.segments > 0) {
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
        let frames: Vec<&Nest<'_>> = self.frames().collect();
        let order = self.needed_at(names).into_iter();
        order.map(|(frame, bind)| frames[frame].binds[bind].clone()).collect()
    }

    /// Where these are: in which of the frames, inwards out, and which of its bindings.
    fn needed_at(&self, mut names: Vec<Name>) -> Vec<(usize, usize)> {
        let frames: Vec<&Nest<'_>> = self.frames().collect();
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
        // Indices of segments inwards out, then all else outwards in.
        order.sort_unstable_by_key(|&(frame, bind)| {
            let segment = bind < frames[frame].segments;
            let depth = frame as isize;
            (!segment, if segment { depth } else { -depth }, bind)
        });
        order
    }
}
