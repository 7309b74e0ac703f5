//! An iteration of a loop that some iterations of the nest have left: those still active are a nest
//! of their own, whose results are written back to the arrays of all iterations.
//!
//! ```text
//! ones = segmap Σ (if c then 1 else 0)        Σc = the elements of segments of these lengths
//! news = Σc ⊢ f                               xs' = scatter xs (iterations of Σc) news
//! ```
//!
//! Segments that change are rebuilt element by element; those of inactive iterations are copied.

use super::distribute::{Distribution, ResultArrays};
use super::irregular_loops::Carried;
use super::updates::{accumulator, array_of};
use super::versions;
use crate::context::Ctx;
use crate::manifest::SegopBody;
use crate::nest::Segments;
use ir::name::Name;
use ir::seg::SegOp;
use ir::soac::AccInput;
use ir::syntax::{Atom, Aux, BasicOp, Body, Lambda, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::{Builder, PassError, Segs, Soacs};
use prim::{CmpOp, PrimType};
use rustc_hash::FxHashMap;

impl Distribution<'_, '_> {
    /// Appends the loop body for the active iterations; returns the loop-carried values.
    pub(super) fn active_iteration(
        &self,
        ctx: &mut Ctx<'_>,
        (params, carried, cond): (&[LoopParam<Soacs>], &[Carried], Name),
        body: Body<Soacs>,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<Vec<Atom>, PassError> {
        let mut here = self.inside(ctx, (params, carried), aux, &body, out)?;
        // The conditions are read before they are updated.
        let ones = {
            let mut builder = ctx.builder::<Soacs>(aux);
            let (one, zero) = (Atom::i64(1), Atom::i64(0));
            let one = builder.select(PrimType::I64, cond.into(), one, zero);
            let body = builder.finish(vec![one.into()]);
            let ty = here.nest.expand(&Type::I64);
            let ones: Param<Soacs> = ctx.fresh("ones", ty);
            let name = ones.name;
            here.in_nest(ctx, body, vec![Type::I64], vec![ones], out)?;
            name
        };
        let one: Param<Soacs> = ctx.fresh("one", Type::I64);
        let one_name = one.name;
        here.nest.bind_element(one, ones);
        let active = here.segments(ctx, one_name.into(), aux, out)?;
        let body_results = body.result.clone();
        let sizes = self.next_lengths(params, carried, &body_results);
        // The nest of the active iterations.
        let (nest, _) = here.nest.with_segments(ctx, active);
        let mut on = Distribution::new(ctx, nest.child(Vec::new()), self.at, aux, &body);
        on.statements(ctx, body.stms, &mut ResultArrays::default(), out)?;
        on.bind_pending(ctx, body_results.iter().filter_map(|it| it.var()).collect(), out)?;
        let mut wholes = Vec::with_capacity(body_results.len());
        let mut parts = Vec::with_capacity(body_results.len());
        for ((carried, result), size) in carried.iter().zip(&body_results).zip(&sizes) {
            match carried {
                Carried::Whole(_) => {
                    wholes.push(Some(array_of(ctx, &on.nest, self.at, *result, aux, out)?));
                    parts.push(None);
                }
                Carried::Segments { .. } => {
                    let of = result.var().zip(*size);
                    let of = of.ok_or_else(|| PassError::bug("a segment has no length"))?;
                    wholes.push(None);
                    parts.push(Some(on.segment_array(ctx, of, aux, out)?));
                }
            }
        }
        let mut changed = Vec::with_capacity(body_results.len());
        for (carried, new) in carried.iter().zip(wholes) {
            changed.push(match (carried, new) {
                (Carried::Whole(all), Some(new)) => {
                    Some(self.scatter_active(ctx, (all, new), active, aux, out)?)
                }
                _ => None,
            });
        }
        let mut next = Vec::with_capacity(body_results.len());
        // Arrays of the same size are segments of the same length.
        let mut lengths: FxHashMap<usize, Atom> = FxHashMap::default();
        for ((i, carried), part) in carried.iter().enumerate().zip(parts) {
            let Carried::Segments { data, length, .. } = carried else {
                next.extend(changed[i].map(Atom::Var));
                continue;
            };
            let new = part.ok_or_else(|| PassError::bug("an irregular loop parameter has no next value"))?;
            let old = here.segments(ctx, *length, aux, out)?;
            let own = params.iter().position(|p| length.var() == Some(p.param.name));
            let mut size = *length;
            if let Some((at, array)) = own.and_then(|at| Some((at, changed[at]?))) {
                size = *lengths.entry(at).or_insert_with(|| {
                    let after: Param<Soacs> = ctx.fresh("length", Type::I64);
                    let name = Atom::Var(after.name);
                    here.nest.bind_element(after, array);
                    name
                });
            }
            let after = here.segments(ctx, size, aux, out)?;
            let ty = params[i].param.ty.clone();
            let old = (data.name, old.start);
            let merged = here.make_by_element(ctx, (ty, after), aux, out, |ctx, element_indices| {
                Ok(select_element(ctx, aux, (one_name, active.start), new, old, element_indices))
            })?;
            if carried.total().is_some() {
                next.push(after.total.into());
            }
            next.push(merged.into());
        }
        Ok(next)
    }

    /// The array of all iterations, updated with the values of the active ones.
    fn scatter_active(
        &self,
        ctx: &mut Ctx<'_>,
        (all, new): (&Param<Soacs>, Name),
        active: Segments,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<Name, PassError> {
        let Type::Array { elem, shape } = &all.ty else {
            return Err(PassError::bug("expected an array"));
        };
        let rank = self.nest.widths().count();
        let rest: Vec<Dim> = shape.iter().skip(rank).copied().collect();
        let (nest, _) = self.nest.with_segments(ctx, active);
        let nest = nest.with_dims(ctx, &rest);
        let element_indices: Vec<Atom> = nest.indices().collect();
        let mut builder = ctx.builder::<Segs>(aux);
        let [token, acc] = accumulator(&mut builder, vec![Type::Prim(*elem)], shape);
        let ty = acc.ty.clone();
        let mut builder = ctx.builder::<Soacs>(aux);
        let value = builder.index("x", new, &element_indices);
        let index = self.nest.indices().chain(element_indices.iter().skip(1).copied());
        let update = BasicOp::UpdateAcc { acc: acc.name, index: index.collect(), values: vec![value.into()] };
        let done = builder.let_basic("acc", update);
        let body = builder.finish(vec![done.into()]);
        let done: Param<Soacs> = ctx.fresh("done", ty.clone());
        let result = vec![Atom::Var(done.name)];
        let mut stms = Vec::new();
        let segop_body = SegopBody::map(body, vec![ty.clone()]);
        versions::g2(ctx, &nest, self.at, vec![done], aux.clone(), segop_body, &mut stms)?;
        let lambda = Lambda { params: vec![token, acc], body: Body { stms, result }, ret: vec![ty] };
        let inputs = vec![AccInput { shape: shape.clone(), arrays: vec![all.name], op: None }];
        let mut builder = ctx.builder::<Segs>(aux);
        let arrays = builder.let_op("scattered", SegOp::WithAcc { inputs, lambda });
        out.extend(builder.take_stms());
        arrays.first().copied().ok_or_else(|| PassError::bug("a `withacc` has no result"))
    }
}

/// An element of a segment: the new one if the iteration is active, else the old one.
fn select_element(
    ctx: &mut Ctx<'_>,
    aux: &Aux,
    (one, rank): (Name, Name),
    (new, segments): (Name, Segments),
    (old, start): (Name, Name),
    element_indices: &[Atom],
) -> Body<Soacs> {
    let mut builder = ctx.builder::<Soacs>(aux);
    let elem = builder.type_of(old.into()).elem().unwrap_or(PrimType::Bool);
    let goes = builder.compare(CmpOp::SLt, PrimType::I64, Atom::i64(0), one.into());
    let read = |b: &mut Builder<'_, Soacs>, array: Name, start: Atom| {
        let (first, rest) =
            element_indices.split_first().map_or((Atom::i64(0), element_indices), |(f, r)| (*f, r));
        let first = b.add_i64(start, first);
        let index: Vec<Atom> = std::iter::once(first).chain(rest.iter().copied()).collect();
        vec![b.index("x", array, &index).into()]
    };
    let x = builder.if_(
        "x",
        goes.into(),
        vec![Type::Prim(elem)],
        |b| {
            let start = b.index("start", segments.starts, &[rank.into()]);
            read(b, new, start.into())
        },
        |b| read(b, old, start.into()),
    );
    builder.finish(x.into_iter().map(Atom::Var).collect())
}
