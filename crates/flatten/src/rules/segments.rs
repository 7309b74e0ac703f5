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

use super::distribute::Distribution;
use super::updates::{accumulator, array_of};
use super::versions;
use crate::context::{Ctx, atoms, rows_slice};
use crate::manifest::SegopBody;
use crate::nest::Segments;
use ir::name::{FunName, Name};
use ir::seg::SegOp;
use ir::soac::AccInput;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, Level, Param, ReshapeKind, Stm};
use ir::types::{Dim, Shape, Type};
use ir::{Builder, PassError, Segs, Soacs};
use prim::PrimType;
use smallvec::SmallVec;

impl Distribution<'_, '_> {
    /// The segments of this length in each iteration; appends their descriptors if there are none
    /// yet.
    pub(super) fn segments(
        &mut self,
        ctx: &mut Ctx<'_>,
        length: Atom,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<Segments, PassError> {
        if let Some(known) = self.segments.get(&length) {
            return Ok(*known);
        }
        let all = array_of(ctx, &self.nest, self.at, length, aux, out)?;
        let widths: Vec<Dim> = self.nest.widths().collect();
        let fun = FunName(format!("{}segments", FunName::ADDED).into());
        let fun = ctx.call_version(&fun, self.at);
        let mut builder = ctx.builder::<Segs>(aux);
        let nest_size = builder.product(&widths);
        let dim = Builder::<Segs>::dim(nest_size);
        let lengths =
            if widths.len() == 1 { all } else { builder.let_basic("lengths", reshape(&[dim], all)) };
        out.extend(builder.take_stms());
        let [total, starts, ids] = descriptor_params::<Segs>(ctx, dim);
        let mut builder = ctx.builder::<Segs>(aux);
        let (total_name, mut starts_name, ids_name) = (total.name, starts.name, ids.name);
        let args = vec![nest_size, lengths.into()];
        builder.let_pat(vec![total, starts, ids], Exp::Apply { fun, args });
        if widths.len() > 1 {
            starts_name = builder.let_basic("starts", reshape(&widths, starts_name));
        }
        out.extend(builder.take_stms());
        let start: Param<Soacs> = ctx.fresh("start", Type::I64);
        let segments =
            Segments { start: start.name, starts: starts_name, iterations: ids_name, total: total_name };
        self.nest.bind_element(start, starts_name);
        self.segments.insert(length, segments);
        Ok(segments)
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
        let mut aux = Aux::at(ir::Prov::NONE);
        aux.certs = checks.iter().copied().collect();
        self.nest.bind(Stm { pat: vec![param], aux, exp: Exp::Basic(BasicOp::Index { array, slice }) });
    }

    /// The array of a name's segments, of this length, for all iterations.
    pub(super) fn segment_array(
        &mut self,
        ctx: &mut Ctx<'_>,
        (name, length): (Name, Atom),
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(Name, Segments), PassError> {
        let segments = self.segments(ctx, length, aux, out)?;
        if let Some((array, ids)) = self.segment_arrays.get(&name)
            && *ids == segments.iterations
        {
            let array = with_total(ctx, *array, segments, aux, out)?;
            return Ok((array, segments));
        }
        let ty = ctx.type_of(name)?;
        let array = self.make_by_element(ctx, (ty, segments), aux, out, |ctx, indices| {
            let mut builder = ctx.builder::<Soacs>(aux);
            let x = builder.index("x", name, indices);
            Ok(builder.finish(vec![x.into()]))
        })?;
        Ok((array, segments))
    }

    /// Appends an array of segments of this type, made element by element: `make` takes the index
    /// of an element within its segment.
    pub(super) fn make_by_element(
        &mut self,
        ctx: &mut Ctx<'_>,
        (ty, segments): (Type, Segments),
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
        make: impl FnOnce(&mut Ctx<'_>, &[Atom]) -> Result<Body<Soacs>, PassError>,
    ) -> Result<Name, PassError> {
        let elem = ty.elem().ok_or_else(|| PassError::bug("expected an array"))?;
        let rest: Vec<Dim> = ty.shape().iter().skip(1).copied().collect();
        let (nest, inner_index) = self.nest.with_segments(ctx, segments);
        let nest = nest.with_dims(ctx, &rest);
        let element_indices = std::iter::once(Atom::Var(inner_index)).chain(nest.indices().skip(1));
        let element_indices: Vec<Atom> = element_indices.collect();
        let body = make(ctx, &element_indices)?;
        let all = segment_array_type(&ty, segments);
        let all: Param<Soacs> = ctx.fresh("elements", all);
        let name = all.name;
        let segop_body = SegopBody::map(body, vec![Type::Prim(elem)]);
        let aux = Aux::at(aux.prov);
        versions::g2(ctx, &nest, self.at, vec![all], aux, segop_body, out)?;
        Ok(name)
    }

    /// Appends an operation whose result is a segment.
    pub(super) fn operation(
        &mut self,
        ctx: &mut Ctx<'_>,
        pat: Vec<Param<Soacs>>,
        aux: Aux,
        op: BasicOp,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let Ok([param]) = <[Param<Soacs>; 1]>::try_from(pat) else {
            return Err(PassError::bug("a basic operation must bind one name"));
        };
        let length = param.ty.shape().first().and_then(|dim| dim.atom());
        let length = length.ok_or_else(|| PassError::bug("a segment has no length"))?;
        let mut certs: Vec<Name> = aux.certs.to_vec();
        if let BasicOp::Opaque(Atom::Var(name)) | BasicOp::Copy(name) = op {
            // An empty segment has no element that makes the checks.
            certs.extend(self.checks(name));
        }
        let (array, segments) = if let BasicOp::Opaque(Atom::Var(name)) = op {
            let (array, segments) = self.segment_array(ctx, (name, length), &aux, out)?;
            let mut builder = ctx.builder::<Segs>(&aux);
            let hidden = builder.let_basic("hidden", BasicOp::Opaque(array.into()));
            out.extend(builder.take_stms());
            (hidden, segments)
        } else if let BasicOp::Copy(name) = op {
            self.segment_array(ctx, (name, length), &aux, out)?
        } else {
            let segments = self.segments(ctx, length, &aux, out)?;
            let of = (param.ty.clone(), segments);
            let array = self.make_by_element(ctx, of, &aux, out, |ctx, indices| {
                let mut builder = ctx.builder::<Soacs>(&aux);
                builder.certs.clone_from(&aux.certs);
                let xs = builder.let_basic("xs", op);
                let x = builder.index("x", xs, indices);
                Ok(builder.finish(vec![x.into()]))
            })?;
            (array, segments)
        };
        self.bind_segment(param, (array, length, segments), &certs);
        Ok(())
    }

    /// Fills the segments of these names; `stms` compute their values.
    pub(super) fn fill(
        &mut self,
        ctx: &mut Ctx<'_>,
        stms: Vec<Stm<Soacs>>,
        filled: Vec<Param<Soacs>>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let aux = Aux::at(self.aux.prov);
        let mut all = Vec::with_capacity(filled.len());
        for param in filled {
            let length = param.ty.shape().first().and_then(|dim| dim.atom());
            let length = length.ok_or_else(|| PassError::bug("a segment has no length"))?;
            let segments = self.segments(ctx, length, &aux, out)?;
            if is_scratch(&stms, param.name) {
                // Scratch arrays have no contents to fill in.
                let data = scratch_for(ctx, segment_array_type(&param.ty, segments), &aux, out)?;
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
            let ty = segment_array_type(&param.ty, *segments);
            let data = scratch_for(ctx, ty.clone(), &aux, out)?;
            let Type::Array { elem, shape } = ty else {
                return Err(PassError::bug("expected an array"));
            };
            let mut builder = ctx.builder::<Segs>(&aux);
            let [token, acc] = accumulator(&mut builder, vec![Type::Prim(elem)], &shape);
            inputs.push(AccInput { shape, arrays: vec![data], op: None });
            accs.push(acc);
            tokens.push(token);
        }
        let mut builder = ctx.builder::<Soacs>(&aux);
        builder.extend(stms);
        let mut result = Vec::with_capacity(all.len());
        for ((param, _, segments), acc) in all.iter().zip(&accs) {
            let at = (segments.start.into(), [].as_slice());
            result.push(write_array(&mut builder, (param.name, acc.name), at).into());
        }
        let body = builder.finish(result);
        let ret: Vec<Type> = accs.iter().map(|acc| acc.ty.clone()).collect();
        let done: Vec<Param<Soacs>> = (ret.iter()).map(|ty| ctx.fresh("done", ty.clone())).collect();
        let result = atoms(&done);
        let mut stms = Vec::new();
        let segop_body = SegopBody::map(body, ret.clone());
        versions::g2(ctx, &self.nest, self.at, done, aux.clone(), segop_body, &mut stms)?;
        let lambda =
            Lambda { params: tokens.into_iter().chain(accs).collect(), body: Body { stms, result }, ret };
        let mut builder = ctx.builder::<Segs>(&aux);
        let arrays = builder.let_op("filled", SegOp::WithAcc { inputs, lambda });
        out.extend(builder.take_stms());
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

/// An array for all segments, of unspecified contents.
fn scratch_for(ctx: &mut Ctx<'_>, ty: Type, aux: &Aux, out: &mut Vec<Stm<Segs>>) -> Result<Name, PassError> {
    let Type::Array { elem, shape } = ty else {
        return Err(PassError::bug("expected an array"));
    };
    let mut builder = ctx.builder::<Segs>(aux);
    let data = builder.let_basic("scratch", BasicOp::Scratch { elem, shape });
    out.extend(builder.take_stms());
    Ok(data)
}

/// Writes an array to an accumulator, from this index on in its outermost dimension; returns the
/// accumulator.
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

/// Fresh names for the segment descriptors of `width` iterations: the total number of elements, the
/// start of each segment, the iteration of each element.
pub(super) fn descriptor_params<L: Level<Ann = ()>>(ctx: &mut Ctx<'_>, width: Dim) -> [Param<L>; 3] {
    let total: Param<L> = ctx.fresh("total", Type::I64);
    let starts = ctx.fresh("starts", Type::array(PrimType::I64, [width]));
    let elements = Type::array(PrimType::I64, [Dim::Var(total.name)]);
    let ids = ctx.fresh("ids", elements);
    [total, starts, ids]
}

/// The type of the array of all segments of values of a type.
pub(super) fn segment_array_type(ty: &Type, segments: Segments) -> Type {
    let rest = ty.shape().iter().skip(1).copied();
    let shape: Shape = std::iter::once(Dim::Var(segments.total)).chain(rest).collect();
    ty.elem().map_or_else(|| ty.clone(), |elem| Type::array(elem, shape))
}

/// An array of segments whose type names their total: in the result of a loop, that may be another
/// name for the same number.
fn with_total(
    ctx: &mut Ctx<'_>,
    array: Name,
    segments: Segments,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<Name, PassError> {
    let ty = ctx.type_of(array)?;
    let total = Dim::Var(segments.total);
    if ty.shape().first() == Some(&total) {
        return Ok(array);
    }
    let shape = std::iter::once(total).chain(ty.shape().iter().skip(1).copied());
    let mut builder = ctx.builder::<Segs>(aux);
    let view = BasicOp::Reshape { kind: ReshapeKind::Coerce, shape: shape.collect(), array };
    let view = builder.let_basic("data", view);
    out.extend(builder.take_stms());
    Ok(view)
}

pub(super) fn reshape(dims: &[Dim], array: Name) -> BasicOp {
    BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape: dims.iter().copied().collect(), array }
}
