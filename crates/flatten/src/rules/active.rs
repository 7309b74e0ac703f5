//! An iteration of a loop that some iterations of the nest have left: those still active are a nest
//! of their own, whose results are written back to the arrays of all iterations.
//!
//! ```text
//! ones = segmap Σ (if c then 1 else 0)        Σc = the elements of segments of these lengths
//! news = Σc ⊢ f                               xs' = scatter xs (iterations of Σc) news
//! ```
//!
//! Segments that change are rebuilt element by element; those of inactive iterations are copied.

use super::distribute::{Distribution, Stores};
use super::irregular_loops::{Carried, next_lengths};
use super::map;
use super::updates::array_of;
use crate::context::{Ctx, Let};
use crate::manifest::SegopBody;
use crate::names::accumulator;
use crate::nest::Segments;
use crate::{Result, bug};
use ir::name::Name;
use ir::seg::SegOp;
use ir::soac::AccInput;
use ir::syntax::{Atom, BasicOp, Body, Lambda, LoopParam, Param};
use ir::types::Type;
use ir::{Builder, PassError, Prov, Soacs};
use prim::{CmpOp, PrimType};
use rustc_hash::FxHashMap;

impl Distribution<'_, '_> {
    /// Appends the loop body for the active iterations; returns the loop-carried values.
    pub(super) fn active_iteration(
        &self,
        ctx: &mut Ctx<'_>,
        (params, carried, cond): (&[LoopParam<Soacs>], &[Carried], Name),
        body: Body<Soacs>,
        prov: Prov,
    ) -> Result<Vec<Atom>> {
        let mut here = self.inside(ctx, (params, carried), prov, &body)?;
        // The conditions are read before they are updated.
        let mut builder = ctx.names.builder::<Soacs>(prov);
        let one = builder.select(PrimType::I64, cond.into(), Atom::i64(1), Atom::i64(0));
        let ones_body = builder.finish(vec![one.into()]);
        let ones = ctx.names.fresh("ones", here.nest.expand(&Type::I64));
        let ones_name = ones.name;
        here.in_nest(ctx, ones_body, vec![Type::I64], vec![ones])?;
        let one = ctx.names.fresh("one", Type::I64);
        let one_name = one.name;
        here.nest.bind_element(one, ones_name);
        let active = here.segments(ctx, one_name.into(), prov)?;
        let body_results = body.result.clone();
        let sizes = next_lengths(params, carried, &body_results);
        // The nest of the active iterations.
        let (nest, _) = here.nest.with_segments(&mut ctx.names, active);
        let mut on = Distribution::new(ctx, self.scope().with_prov(prov), nest.child(Vec::new()), &body);
        on.statements(ctx, body.stms, &mut Stores::default())?;
        on.bind_pending(ctx, body_results.iter().filter_map(|it| it.var()).collect())?;
        let mut wholes = Vec::with_capacity(body_results.len());
        let mut parts = Vec::with_capacity(body_results.len());
        for ((carried, result), size) in carried.iter().zip(&body_results).zip(&sizes) {
            if let Carried::Whole(all) = carried {
                wholes.push(Some((all, array_of(ctx, on.scope().with_prov(prov), *result)?)));
                parts.push(None);
            } else {
                let of = result.var().zip(*size).ok_or_else(bug("a segment has no length"))?;
                wholes.push(None);
                parts.push(Some(on.segment_array(ctx, of, prov)?));
            }
        }
        let mut changed = Vec::with_capacity(body_results.len());
        for whole in wholes {
            let scatter = |of| self.scatter_active(ctx, of, active, prov);
            changed.push(whole.map(scatter).transpose()?);
        }
        let mut next = Vec::with_capacity(body_results.len());
        // Arrays of the same size are segments of the same length.
        let mut lengths: FxHashMap<usize, Atom> = FxHashMap::default();
        for ((i, carried), part) in carried.iter().enumerate().zip(parts) {
            let Carried::Segments { data, length, .. } = carried else {
                next.extend(changed[i].map(Atom::Var));
                continue;
            };
            let new = part.ok_or_else(bug("an irregular loop parameter has no next value"))?;
            let old = here.segments(ctx, *length, prov)?;
            let own = params.iter().position(|p| length.var() == Some(p.param.name));
            let mut size = *length;
            if let Some((at, array)) = own.and_then(|at| Some((at, changed[at]?))) {
                size = *lengths.entry(at).or_insert_with(|| {
                    let after = ctx.names.fresh("length", Type::I64);
                    let name = Atom::Var(after.name);
                    here.nest.bind_element(after, array);
                    name
                });
            }
            let after = here.segments(ctx, size, prov)?;
            let ty = params[i].param.ty.clone();
            let old = (data.name, old.start);
            let merged = here.make_by_element(ctx, (ty, after), prov, |b, indices| {
                select_element(b, (one_name, active.start), new, old, indices)
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
        prov: Prov,
    ) -> Result<Name> {
        let Type::Array { elem, shape } = &all.ty else {
            return Err(PassError::bug("expected an array"));
        };
        let rest = &shape[self.nest.dims().len()..];
        let (nest, _) = self.nest.with_segments(&mut ctx.names, active);
        let nest = nest.with_dims(&mut ctx.names, rest);
        let element_indices: Vec<Atom> = nest.indices().collect();
        let [token, acc] = accumulator(&mut ctx.names.builder(prov), vec![Type::Prim(*elem)], shape);
        let ty = acc.ty.clone();
        let mut builder = ctx.names.builder::<Soacs>(prov);
        let value = builder.index("x", new, &element_indices);
        let index = self.nest.indices().chain(element_indices.iter().skip(1).copied());
        let update = BasicOp::UpdateAcc { acc: acc.name, index: index.collect(), values: vec![value.into()] };
        let done = builder.let_basic("acc", update);
        let segop_body = SegopBody::map(builder.finish(vec![done.into()]), vec![ty.clone()]);
        let done = Let::at(prov, vec![ctx.names.fresh("done", ty.clone())]);
        let scope = self.scope().over(&nest);
        let body = ctx.body_with(done, |ctx, to| map::g2(ctx, scope, to, segop_body))?;
        let lambda = Lambda { params: vec![token, acc], body, ret: vec![ty] };
        let inputs = vec![AccInput { shape: shape.clone(), arrays: vec![all.name], op: None }];
        let op = SegOp::WithAcc { inputs, lambda };
        let arrays = ctx.build(prov, |b| b.let_op("scattered", op));
        arrays.first().copied().ok_or_else(bug("a `withacc` has no result"))
    }
}

/// An element of a segment: the new one if the iteration is active, else the old one.
fn select_element(
    b: &mut Builder<'_, Soacs>,
    (one, rank): (Name, Name),
    (new, segments): (Name, Segments),
    (old, start): (Name, Name),
    indices: &[Atom],
) -> Name {
    let elem = b.type_of(old.into()).elem().unwrap_or(PrimType::Bool);
    let goes = b.compare(CmpOp::SLt, PrimType::I64, Atom::i64(0), one.into());
    let read = |b: &mut Builder<'_, Soacs>, array: Name, start: Name| {
        let mut indices = indices.to_vec();
        if let Some(first) = indices.first_mut() {
            *first = b.add_i64(start.into(), *first);
        }
        vec![b.index("x", array, &indices).into()]
    };
    let x = b.if_(
        "x",
        goes.into(),
        vec![Type::Prim(elem)],
        |b| {
            let start = b.index("start", segments.starts, &[rank.into()]);
            read(b, new, start)
        },
        |b| read(b, old, start),
    );
    x[0]
}
