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
//!
//! Operators work on scalars here: the pass [`accumulators`] replaces all others before flattening.

mod array_operators;
mod columns;
mod histogram;
mod map_operators;

pub use array_operators::accumulators;

use super::distribute::{Distribution, Results};
use super::parallelism::{NestBindings, has_parallelism};
use super::segments::segment_array_type;
use super::updates::array_of;
use crate::context::{Ctx, Let};
use crate::nest::{Nest, Segments};
use crate::scope::Scope;
use crate::{Result, Stms, bug};
use ir::name::Name;
use ir::seg::SegOp;
use ir::soac::AccInput;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Shape, Type};
use ir::walk::{VisitMut, with_stack};
use ir::{Builder, Soacs};
use prim::{CmpOp, PrimType};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The inputs and the lambda of a `withacc`.
type WithAcc = (Vec<AccInput<Soacs>>, Lambda<Soacs>);

/// Appends a `withacc` in a nest.
pub(super) fn with_acc(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    to: Let,
    (mut inputs, mut lambda): WithAcc,
) -> Result {
    for AccInput { shape, arrays, .. } in &mut inputs {
        for array in arrays {
            *array = array_of(ctx, scope, (*array).into())?;
        }
        *shape = scope.nest.widths().chain(shape.iter().copied()).collect();
    }
    let locations = inputs.iter().map(|_| Location::Dims).collect();
    widen(ctx, scope.nest, &mut lambda, locations);
    let nest = scope.nest.child(Vec::new());
    let inner = Distribution::new(ctx, scope, nest, &lambda.body);
    over_nest(ctx, inner, to, (inputs, lambda))
}

/// Appends a `withacc` whose arrays and accumulators are those of all iterations.
fn over_nest(ctx: &mut Ctx<'_>, inner: Distribution<'_, '_>, to: Let, (inputs, lambda): WithAcc) -> Result {
    let inputs = ctx.acc_inputs(inner.scope(), inputs, &lambda)?;
    let Lambda { params, body, ret } = lambda;
    let ret: Vec<Type> = ret.iter().map(|ty| inner.nest.expand(ty)).collect();
    let results = Let::at(to.aux.prov, ctx.names.fresh_all("r", &ret));
    let params = ctx.names.params(params);
    let body = ctx.body_with(results, |ctx, to| inner.over(ctx, body, to.pat))?;
    let lambda = Lambda { params, body, ret };
    ctx.emit(to, Exp::Op(SegOp::WithAcc { inputs, lambda }));
    Ok(())
}

/// Returns true if a nest is distributed into a `withacc`, whose arrays are all segments.
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
        results: Results,
        aux: Aux,
        (mut inputs, mut lambda): WithAcc,
    ) -> Result {
        let of = inputs.iter().flat_map(|input| input.arrays.iter().copied());
        let (aux, checks) = self.certs(aux, &of.collect::<Vec<Name>>());
        let prov = aux.prov;
        let mut locations = Vec::with_capacity(inputs.len());
        let mut own: Vec<(Param<Soacs>, Atom, Segments)> = Vec::with_capacity(results.len());
        let mut results = results.into_iter();
        for AccInput { shape, arrays, .. } in &mut inputs {
            let length = shape.first().and_then(|dim| dim.atom());
            let length = length.ok_or_else(bug("a segment has no length"))?;
            let segments = self.segments(ctx, length, prov)?;
            for (array, (param, _)) in arrays.iter_mut().zip(results.by_ref()) {
                let (data, _) = self.segment_array(ctx, (*array, length), prov)?;
                *array = ctx.build(prov, |b| b.let_basic("copy", BasicOp::Copy(data)));
                own.push((param, length, segments));
            }
            shape[0] = Dim::Var(segments.total);
            locations.push(Location::Segment { length, segments });
        }
        let given = own
            .iter()
            .map(|(param, _, segments)| ctx.names.fresh("updated", segment_array_type(&param.ty, *segments)));
        let to = Let { pat: given.collect(), aux };
        let given: Vec<Name> = to.pat.iter().map(|param| param.name).collect();
        let nest = self.nest.child(checks.clone());
        widen(ctx, &nest, &mut lambda, locations);
        let mut inner = Distribution::new(ctx, self.outer.with_prov(prov), nest, &lambda.body);
        inner.segments.clone_from(&self.segments);
        inner.segment_arrays.clone_from(&self.segment_arrays);
        over_nest(ctx, inner, to, (inputs, lambda))?;
        for ((param, length, segments), array) in own.into_iter().zip(given) {
            self.bind_segment(param, (array, length, segments), &checks);
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

/// Makes the accumulators of a lambda those of the arrays of all iterations.
fn widen(ctx: &mut Ctx<'_>, nest: &Nest<'_>, lambda: &mut Lambda<Soacs>, locations: Vec<Location>) {
    let tokens = lambda.params.iter().map(|param| param.name).zip(locations).collect();
    WidenAccs { tokens, nest, ctx }.lambda(lambda);
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
                    std::iter::once(Dim::Var(segments.total)).chain(own.skip(1)).collect()
                }
            };
            *shape = wider;
        }
    }

    fn param(&mut self, param: &mut Param<Soacs>) {
        self.walk_param(param);
        self.ctx.names.types.set(param.name, param.ty.clone());
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
    fn redirect_update(&mut self, stm: &mut Stm<Soacs>, before: &mut Stms<Soacs>) {
        let prov = stm.aux.prov;
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
                let mut builder: Builder<'_, Soacs> = self.ctx.names.builder(prov);
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
