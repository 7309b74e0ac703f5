//! Accumulators in nests: their arrays get the nest's dimensions before their own, or are segments,
//! stored consecutively.
//!
//! ```text
//! Σ ⊢ withacc (a, shape) (\acc -> .. updateacc acc [i] v ..)
//!   =>  withacc (as, widths of Σ ++ shape) (\acc -> Σ ⊢ .. updateacc acc [indices of Σ, i] v ..)
//! Σ ⊢ withacc (a, [n]) (\acc -> .. updateacc acc [i] v ..)
//!   =>  withacc (data, [total]) (\acc -> Σ ⊢ .. updateacc acc [i < n ? start + i : -1] v ..)
//!     where n varies across iterations
//! ```
//!
//! Updates out of an array's bounds are ignored, so those of one segment never reach another.

use super::distribute::Distribution;
use super::parallelism::{NestBindings, has_parallelism};
use super::segments::segment_array_type;
use super::updates::array_of;
use crate::context::{Ctx, atoms};
use crate::nest::{Nest, Segments};
use crate::position::Position;
use ir::name::Name;
use ir::seg::SegOp;
use ir::soac::AccInput;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Shape, Type};
use ir::walk::{VisitMut, with_stack};
use ir::{Builder, PassError, Segs, Soacs};
use prim::{CmpOp, PrimType};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The inputs and the lambda of a `withacc`.
type WithAcc = (Vec<AccInput<Soacs>>, Lambda<Soacs>);

/// Appends a `withacc` in a nest.
pub(super) fn with_acc(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    (inputs, lambda): WithAcc,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let mut all = Vec::with_capacity(inputs.len());
    let mut locations = Vec::with_capacity(inputs.len());
    for AccInput { shape, arrays, op } in inputs {
        let arrays = arrays.into_iter();
        let arrays = arrays.map(|array| array_of(ctx, nest, at, array.into(), &aux, out));
        all.push(AccInput {
            arrays: arrays.collect::<Result<_, _>>()?,
            shape: nest.widths().chain(shape).collect(),
            op,
        });
        locations.push(Location::Dims);
    }
    over_nest(ctx, (nest, None), at, (pat, aux), (all, lambda), locations, out)
}

/// The known segments of a nest by their lengths, and the arrays that segments are part of.
type KnownSegments<'a> = (&'a FxHashMap<Atom, Segments>, &'a FxHashMap<Name, (Name, Name)>);

/// Appends a `withacc` whose arrays are those of all iterations.
fn over_nest(
    ctx: &mut Ctx<'_>,
    (nest, known): (&Nest<'_>, Option<KnownSegments<'_>>),
    at: Position,
    (pat, aux): (Vec<Param<Soacs>>, Aux),
    (inputs, mut lambda): WithAcc,
    locations: Vec<Location>,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let tokens = lambda.params.iter().map(|param| param.name);
    let mut wider = WidenAccs { tokens: tokens.zip(locations).collect(), nest, ctx };
    wider.lambda(&mut lambda);
    let inputs = ctx.acc_inputs(at, inputs, &lambda)?;
    let Lambda { params, body, ret } = lambda;
    let ret: Vec<Type> = ret.iter().map(|ty| nest.expand(ty)).collect();
    let results: Vec<Param<Soacs>> = (ret.iter()).map(|ty| ctx.fresh("r", ty.clone())).collect();
    let params = ctx.params(params);
    let result = atoms(&results);
    let mut stms = Vec::new();
    let mut inner = Distribution::new(ctx, nest.child(Vec::new()), at, &aux, &body);
    if let Some((segments, flat)) = known {
        inner.segments.clone_from(segments);
        inner.segment_arrays.clone_from(flat);
    }
    inner.over(ctx, body, results, &mut stms)?;
    let body = Body { stms, result };
    let lambda = Lambda { params, body, ret };
    let pat = ctx.params(pat);
    let exp = Exp::Op(SegOp::WithAcc { inputs, lambda });
    out.push(Stm { pat, aux, exp });
    Ok(())
}

/// Returns true if all arrays of a `withacc` are segments, and it has parallelism that a nest is
/// distributed into.
pub(super) fn is_parallel(
    bound: NestBindings<'_>,
    stm: &Stm<Soacs>,
    (inputs, lambda): (&[AccInput<Soacs>], &Lambda<Soacs>),
) -> bool {
    let own = |name: Name| lambda.params.iter().any(|param| param.name == name);
    let more = |name: Name| own(name) || (bound.more)(name);
    let inner = NestBindings { more: &more, ..bound };
    let segment = |input: &AccInput<Soacs>| {
        let mut dims = input.shape.iter();
        let operator = input.op.as_ref();
        dims.next().is_some_and(|dim| bound.varies(*dim))
            && !dims.any(|dim| bound.varies(*dim))
            && !operator.is_some_and(|op| !op.is_scalar() || bound.operator_varies(op))
    };
    let row = |param: &Param<Soacs>| {
        let mut rest = param.ty.shape().iter().skip(1);
        !rest.any(|dim| bound.varies(*dim)) && !bound.has_own_size(stm, &param.ty)
    };
    let arrays: usize = inputs.iter().map(|input| input.arrays.len()).sum();
    inputs.iter().all(segment)
        && stm.pat.len() == arrays
        && stm.pat.iter().all(row)
        && has_parallelism(&lambda.body)
        && inner.exploits(&lambda.body)
}

impl Distribution<'_, '_> {
    /// Appends a `withacc` on segments, whose results are segments.
    pub(super) fn segment_accs(
        &mut self,
        ctx: &mut Ctx<'_>,
        pat: Vec<Param<Soacs>>,
        aux: Aux,
        (inputs, lambda): WithAcc,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let of = inputs.iter().flat_map(|input| input.arrays.iter().copied());
        let (aux, checks) = self.certs(aux, &of.collect::<Vec<Name>>());
        let mut all = Vec::with_capacity(inputs.len());
        let mut locations = Vec::with_capacity(inputs.len());
        let mut own: Vec<(Param<Soacs>, Atom, Segments)> = Vec::with_capacity(pat.len());
        let mut pat = pat.into_iter();
        for AccInput { shape, arrays, op } in inputs {
            let length = shape.first().and_then(|dim| dim.atom());
            let length = length.ok_or_else(|| PassError::bug("a segment has no length"))?;
            let segments = self.segments(ctx, length, &aux, out)?;
            let mut whole = Vec::with_capacity(arrays.len());
            for (array, param) in arrays.into_iter().zip(pat.by_ref()) {
                let (data, _) = self.segment_array(ctx, (array, length), &aux, out)?;
                let mut builder = ctx.builder::<Segs>(&aux);
                whole.push(builder.let_basic("copy", BasicOp::Copy(data)));
                out.extend(builder.take_stms());
                own.push((param, length, segments));
            }
            let rest = shape.iter().skip(1).copied();
            all.push(AccInput {
                shape: std::iter::once(Dim::Var(segments.total)).chain(rest).collect(),
                arrays: whole,
                op,
            });
            locations.push(Location::Segment { length, segments });
        }
        let given: Vec<Param<Soacs>> = (own.iter())
            .map(|(param, _, segments)| ctx.fresh("updated", segment_array_type(&param.ty, *segments)))
            .collect();
        let nest = self.nest.child(checks.clone());
        let parts = (given.clone(), aux);
        let nest = (&nest, Some((&self.segments, &self.segment_arrays)));
        over_nest(ctx, nest, self.at, parts, (all, lambda), locations, out)?;
        for ((param, length, segments), array) in own.into_iter().zip(given) {
            self.bind_segment(param, (array.name, length, segments), &checks);
        }
        Ok(())
    }
}

/// The location of an iteration's array within the accumulator's.
enum Location {
    /// At the iteration's indices.
    Dims,
    /// At its segment, of this length.
    Segment { length: Atom, segments: Segments },
}

/// Makes accumulators those of the arrays of all iterations.
struct WidenAccs<'a, 'n, 'c> {
    tokens: FxHashMap<Name, Location>,
    nest: &'a Nest<'n>,
    ctx: &'a mut Ctx<'c>,
}

impl VisitMut<Soacs> for WidenAccs<'_, '_, '_> {
    fn ty(&mut self, ty: &mut Type) {
        if let Type::Acc { token, shape, .. } = ty
            && let Some(location) = self.tokens.get(token)
        {
            let own = shape.iter().copied();
            let wider: Shape = match location {
                Location::Dims => self.nest.widths().chain(own).collect(),
                Location::Segment { segments, .. } => {
                    let total = std::iter::once(Dim::Var(segments.total));
                    total.chain(own.skip(1)).collect()
                }
            };
            *shape = wider;
        }
    }

    fn param(&mut self, param: &mut Param<Soacs>) {
        self.walk_param(param);
        self.ctx.types.set(param.name, param.ty.clone());
    }

    fn body(&mut self, body: &mut Body<Soacs>) {
        with_stack(|| {
            let mut stms = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                self.stm(&mut stm);
                self.redirect_update(&mut stm, &mut stms);
                stms.push(stm);
            }
            body.stms = stms;
        });
    }
}

impl WidenAccs<'_, '_, '_> {
    /// Redirects an update to the iteration's part of the array.
    fn redirect_update(&mut self, stm: &mut Stm<Soacs>, before: &mut Vec<Stm<Soacs>>) {
        let aux = Aux::at(stm.aux.prov);
        let Exp::Basic(BasicOp::UpdateAcc { index, .. }) = &mut stm.exp else {
            return;
        };
        let location = stm.pat.iter().find_map(|param| match &param.ty {
            Type::Acc { token, .. } => self.tokens.get(token),
            Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => None,
        });
        let all: SmallVec<[Atom; 2]> = match location {
            None => return,
            Some(Location::Dims) => self.nest.indices().chain(index.iter().copied()).collect(),
            Some(Location::Segment { length, segments }) => {
                let (Some(first), start) = (index.first().copied(), segments.start) else {
                    return;
                };
                let length = *length;
                let mut builder: Builder<'_, Soacs> = self.ctx.builder(&aux);
                let inside = builder.compare(CmpOp::ULt, PrimType::I64, first, length);
                let at = builder.add_i64(start.into(), first);
                let at = builder.select(PrimType::I64, inside.into(), at, Atom::i64(-1));
                before.extend(builder.take_stms());
                let rest = index.iter().skip(1).copied();
                std::iter::once(Atom::Var(at)).chain(rest).collect()
            }
        };
        *index = all;
    }
}
