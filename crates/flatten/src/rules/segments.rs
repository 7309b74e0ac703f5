//! Segments: arrays of a nest whose sizes vary across iterations, stored consecutively in one
//! array.
//!
//! ```text
//! lengths, starts: one for each iteration     ids: the iteration of each element
//! in an iteration:  xs = data[start :+ length]
//! ```
//!
//! Pending statements fill their segments sequentially, one iteration of the nest each; arrays with
//! known elements are made element by element.

use super::distribute::{Distribution, Results};
use super::map;
use super::updates::array_of;
use crate::context::{Ctx, Let};
use crate::manifest::SegopBody;
use crate::names::{Names, accumulator, reshape, rows_slice};
use crate::nest::Segments;
use crate::{Pat, Result, Stms, bug};
use ir::name::Name;
use ir::seg::SegOp;
use ir::soac::AccInput;
use ir::syntax::{Atom, Aux, BasicOp, Exp, Lambda, Param, ReshapeKind, Stm};
use ir::types::{Dim, Shape, Type};
use ir::{Builder, PassError, Prov, Segs, Soacs};
use prim::PrimType;
use smallvec::SmallVec;

/// The length of a segment of this type.
pub(super) fn length(ty: &Type) -> Result<Atom> {
    let length = ty.shape().first().and_then(|dim| dim.atom());
    length.ok_or_else(bug("a segment has no length"))
}

impl Distribution<'_, '_> {
    /// The segments of this length in each iteration; appends their descriptors if there are none.
    pub(super) fn segments(&mut self, ctx: &mut Ctx<'_>, length: Atom, prov: Prov) -> Result<Segments> {
        if let Some(known) = self.segments.get(&length) {
            return Ok(*known);
        }
        let all = array_of(ctx, self.scope().with_prov(prov), length)?;
        let widths: Vec<Dim> = self.nest.widths().collect();
        let fun = ctx.callees.segments.ok_or_else(bug("no function makes segment descriptors"))?;
        let fun = ctx.call_version(fun, self.scope().at);
        let (args, dim) = ctx.build(prov, |b| {
            let size = b.product(&widths);
            let dim = Builder::<Segs>::dim(size);
            let lengths = if widths.len() == 1 { all } else { b.let_basic("lengths", reshape(&[dim], all)) };
            (vec![size, lengths.into()], dim)
        });
        let pat = descriptor_params(&mut ctx.names, dim);
        let mut segments = descriptor(&pat);
        ctx.emit(Let::at(prov, pat.into()), Exp::Apply { fun, args });
        if widths.len() > 1 {
            let starts = reshape(&widths, segments.starts);
            segments.starts = ctx.build(prov, |b| b.let_basic("starts", starts));
        }
        Ok(self.note_segments(ctx, length, segments))
    }

    /// Records the segments of a length, and binds the start in each iteration.
    pub(super) fn note_segments(&mut self, ctx: &mut Ctx<'_>, length: Atom, segments: Segments) -> Segments {
        let start = ctx.names.fresh("start", Type::I64);
        let segments = Segments { start: start.name, ..segments };
        self.nest.bind_element(start, segments.starts);
        self.segments.insert(length, segments);
        segments
    }

    /// Binds a name to its iteration's segment of an array; the read relies on these certificates.
    pub(super) fn bind_segment(
        &mut self,
        param: Param<Soacs>,
        (array, length, segments): (Name, Atom, Segments),
        checks: &[Name],
    ) {
        if matches!(param.ty, Type::Acc { .. }) {
            self.nest.bind_element(param, array);
            return;
        }
        let count = Builder::<Soacs>::dim(length);
        let slice = rows_slice(&param.ty, segments.start.into(), count);
        self.segment_arrays.insert(param.name, (array, segments.iterations));
        self.nest.bind_with(param, BasicOp::Index { array, slice }, checks);
    }

    /// The array of a name's segments, of this length, for all iterations.
    pub(super) fn segment_array(
        &mut self,
        ctx: &mut Ctx<'_>,
        (name, length): (Name, Atom),
        prov: Prov,
    ) -> Result<(Name, Segments)> {
        let segments = self.segments(ctx, length, prov)?;
        if let Some((array, ids)) = self.segment_arrays.get(&name)
            && *ids == segments.iterations
        {
            let array = with_total(ctx, *array, segments, prov)?;
            return Ok((array, segments));
        }
        let ty = ctx.names.type_of(name)?;
        let element = |b: &mut Builder<'_, Soacs>, indices: &[Atom]| b.index("x", name, indices);
        Ok((self.make_by_element(ctx, (ty, segments), prov, element)?, segments))
    }

    /// Appends an array of segments, made element by element: `make` takes the index within a segment.
    pub(super) fn make_by_element(
        &mut self,
        ctx: &mut Ctx<'_>,
        (ty, segments): (Type, Segments),
        prov: Prov,
        make: impl FnOnce(&mut Builder<'_, Soacs>, &[Atom]) -> Name,
    ) -> Result<Name> {
        let elem = ty.elem().ok_or_else(bug("expected an array"))?;
        let (nest, inner_index) = self.nest.with_segments(&mut ctx.names, segments);
        let nest = nest.with_dims(&mut ctx.names, ty.shape().get(1..).unwrap_or_default());
        let indices: Vec<Atom> =
            std::iter::once(Atom::Var(inner_index)).chain(nest.indices().skip(1)).collect();
        let mut builder = ctx.names.builder::<Soacs>(prov);
        let element = make(&mut builder, &indices);
        let body = builder.finish(vec![element.into()]);
        let all = ctx.names.fresh("elements", segment_array_type(&ty, segments));
        let name = all.name;
        let segop_body = SegopBody::map(body, vec![Type::Prim(elem)]);
        map::g2(ctx, self.scope().over(&nest), Let::at(prov, vec![all]), segop_body)?;
        Ok(name)
    }

    /// Appends an operation whose result is a segment.
    pub(super) fn operation(&mut self, ctx: &mut Ctx<'_>, results: Results, aux: Aux, op: BasicOp) -> Result {
        let Ok([(param, _)]) = <[_; 1]>::try_from(results) else {
            return Err(PassError::bug("a basic operation must bind one name"));
        };
        let (length, prov) = (length(&param.ty)?, aux.prov);
        let mut certs: Vec<Name> = aux.certs.to_vec();
        if let BasicOp::Opaque(Atom::Var(name)) | BasicOp::Copy(name) = op {
            // An empty segment has no element that makes the checks.
            certs.extend(self.checks(name));
        }
        let (array, segments) = if let BasicOp::Opaque(Atom::Var(name)) = op {
            let (array, segments) = self.segment_array(ctx, (name, length), prov)?;
            let op = BasicOp::Opaque(array.into());
            (ctx.build(prov, |b| b.let_basic("hidden", op)), segments)
        } else if let BasicOp::Copy(name) = op {
            self.segment_array(ctx, (name, length), prov)?
        } else {
            let segments = self.segments(ctx, length, prov)?;
            let of = (param.ty.clone(), segments);
            let array = self.make_by_element(ctx, of, prov, |b, indices| {
                b.certs = aux.certs;
                let xs = b.let_basic("xs", op);
                b.index("x", xs, indices)
            })?;
            (array, segments)
        };
        self.bind_segment(param, (array, length, segments), &certs);
        Ok(())
    }

    /// Fills the segments of these names; `stms` compute their values.
    pub(super) fn fill(&mut self, ctx: &mut Ctx<'_>, stms: Stms<Soacs>, filled: Pat) -> Result {
        let prov = self.outer.prov;
        let mut all = Vec::with_capacity(filled.len());
        for param in filled {
            let length = length(&param.ty)?;
            let segments = self.segments(ctx, length, prov)?;
            if is_scratch(&stms, param.name) {
                // Scratch arrays have no contents to fill in.
                let (data, _) = scratch_for(ctx, (&param.ty, segments), prov)?;
                self.bind_segment(param, (data, length, segments), &[]);
                continue;
            }
            all.push((param, length, segments));
        }
        if all.is_empty() {
            return Ok(());
        }
        let (mut inputs, mut tokens, mut accs) = (Vec::new(), Vec::new(), Vec::new());
        for (param, _, segments) in &all {
            let (data, ty) = scratch_for(ctx, (&param.ty, *segments), prov)?;
            let Type::Array { elem, shape } = ty else {
                return Err(PassError::bug("expected an array"));
            };
            let [token, acc] = accumulator(&mut ctx.names.builder(prov), vec![Type::Prim(elem)], &shape);
            inputs.push(AccInput { shape, arrays: vec![data], op: None });
            accs.push(acc);
            tokens.push(token);
        }
        let mut builder = ctx.names.builder::<Soacs>(prov);
        builder.extend(stms);
        let mut result = Vec::with_capacity(all.len());
        for ((param, _, segments), acc) in all.iter().zip(&accs) {
            let at = (segments.start.into(), [].as_slice());
            result.push(write_array(&mut builder, (param.name, acc.name), at).into());
        }
        let body = builder.finish(result);
        let ret: Vec<Type> = accs.iter().map(|acc| acc.ty.clone()).collect();
        let done = Let::at(prov, ctx.names.fresh_all("done", &ret));
        let segop_body = SegopBody::map(body, ret.clone());
        let scope = self.scope();
        let body = ctx.body_with(done, |ctx, to| map::g2(ctx, scope, to, segop_body))?;
        let lambda = Lambda { params: tokens.into_iter().chain(accs).collect(), body, ret };
        let op = SegOp::WithAcc { inputs, lambda };
        let arrays = ctx.build(prov, |b| b.let_op("filled", op));
        for ((param, length, segments), array) in all.into_iter().zip(arrays) {
            self.bind_segment(param, (array, length, segments), &[]);
        }
        Ok(())
    }
}

/// Returns true if statements bind an array to scratch memory.
fn is_scratch(stms: &[Stm<Soacs>], array: Name) -> bool {
    let scratches = stms.iter().filter(|stm| matches!(stm.exp, Exp::Basic(BasicOp::Scratch { .. })));
    scratches.flat_map(|stm| &stm.pat).any(|it| it.name == array)
}

/// An array for all segments of values of a type, of unspecified contents, and its type.
fn scratch_for(ctx: &mut Ctx<'_>, (ty, segments): (&Type, Segments), prov: Prov) -> Result<(Name, Type)> {
    let whole = segment_array_type(ty, segments);
    let Type::Array { elem, shape } = whole.clone() else {
        return Err(PassError::bug("expected an array"));
    };
    let op = BasicOp::Scratch { elem, shape };
    Ok((ctx.bind_fresh(("scratch", whole.clone()), op, prov), whole))
}

/// Writes an array to an accumulator, from this outer index on; returns the accumulator.
fn write_array(
    builder: &mut Builder<'_, Soacs>,
    (array, acc): (Name, Name),
    (start, outer): (Atom, &[Atom]),
) -> Name {
    let ty = builder.type_of(array.into());
    let Some(&width) = ty.shape().first() else {
        return acc;
    };
    let iota = builder.iota(width);
    let rank = ty.rank();
    let done = builder.map("acc", width, &[iota, array, acc], |b, names| {
        let &[i, row, acc] = names else {
            return Vec::new();
        };
        let i = if outer.is_empty() { b.add_i64(start, i.into()) } else { i.into() };
        let index: SmallVec<[Atom; 2]> = outer.iter().copied().chain([i]).collect();
        if rank > 1 {
            return vec![write_array(b, (row, acc), (start, &index)).into()];
        }
        let update = BasicOp::UpdateAcc { acc, index, values: vec![row.into()] };
        vec![b.let_basic("acc", update).into()]
    });
    done.first().copied().unwrap_or(acc)
}

/// Fresh names for the descriptors of `width` segments: total, starts, iterations of the elements.
pub(super) fn descriptor_params(names: &mut Names<'_>, width: Dim) -> [Param<Soacs>; 3] {
    let total = names.fresh("total", Type::I64);
    let starts = names.fresh("starts", Type::array(PrimType::I64, [width]));
    let elements = Type::array(PrimType::I64, [Dim::Var(total.name)]);
    let ids = names.fresh("ids", elements);
    [total, starts, ids]
}

/// The segments with these descriptors, whose starts are not bound in the nest yet.
pub(super) fn descriptor([total, starts, ids]: &[Param<Soacs>; 3]) -> Segments {
    Segments { start: starts.name, starts: starts.name, iterations: ids.name, total: total.name }
}

/// The type of the array of all segments of values of a type.
pub(super) fn segment_array_type(ty: &Type, segments: Segments) -> Type {
    let rest = ty.shape().iter().skip(1).copied();
    let shape: Shape = std::iter::once(Dim::Var(segments.total)).chain(rest).collect();
    ty.elem().map_or_else(|| ty.clone(), |elem| Type::array(elem, shape))
}

/// An array of segments whose type names their total; a loop's result may have another name for it.
fn with_total(ctx: &mut Ctx<'_>, array: Name, segments: Segments, prov: Prov) -> Result<Name> {
    let ty = ctx.names.type_of(array)?;
    let whole = segment_array_type(&ty, segments);
    if ty == whole {
        return Ok(array);
    }
    let shape = whole.shape().iter().copied().collect();
    let view = BasicOp::Reshape { kind: ReshapeKind::Coerce, shape, array };
    Ok(ctx.bind_fresh(("data", whole), view, prov))
}
