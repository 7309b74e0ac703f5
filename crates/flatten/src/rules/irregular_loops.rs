//! Loops whose arrays are segments, and loops whose trip count varies across iterations of the
//! nest.
//!
//! ```text
//! Σ ⊢ loop x = e for i < n do f       =>  loop xs = (Σ ⊢ e) for i < n do (Σ, x ∈ xs ⊢ f)
//! Σ ⊢ loop x = e while c do f         =>  loop xs, cs = (Σ ⊢ e) while any cs do
//!                                           Σc, x ∈ xs ⊢ f, scattered into xs
//!     where Σc is the iterations of Σ in which c holds
//! ```
//!
//! The first is rule G7 with segments. A `for` loop with a nest-variant bound becomes a `while`
//! loop. The active iterations are the elements of segments of length 1 or 0 (`active`). Arrays
//! whose sizes change are rebuilt in each iteration of the loop.

use super::distribute::{Distribution, ResultArrays, bind};
use super::distribute_irregular::is_segment;
use super::parallelism::NestBindings;
use super::segments::{reshape, segment_array_type};
use super::updates::array_of;
use crate::context::Ctx;
use ir::name::Name;
use ir::soac::Operator;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{binders, sub_bodies, with_stack};
use ir::{Builder, PassError, Segs, Soacs};
use prim::{BinOp, CmpOp, PrimType, Scalar};
use rustc_hash::FxHashSet;

type Loop = (Vec<LoopParam<Soacs>>, LoopForm, Body<Soacs>);

/// Returns true if a statement is such a loop, with parallelism that a nest is distributed into.
pub(super) fn is_parallel(
    bound: NestBindings<'_>,
    stm: &Stm<Soacs>,
    (params, form, body): (&[LoopParam<Soacs>], LoopForm, &Body<Soacs>),
) -> bool {
    let own = |name: Name| params.iter().any(|p| p.param.name == name);
    let counter = |name: Name| {
        let varies = |bound_of: Atom| bound.atom_varies(bound_of);
        matches!(form, LoopForm::For { var, bound, .. } if var == name && varies(bound))
    };
    let more = |name: Name| own(name) || counter(name) || (bound.more)(name);
    let inner = NestBindings { more: &more, ..bound };
    let carried = |ty: &Type| match ty {
        Type::Prim(_) => true,
        Type::Array { .. } => inner.is_regular(ty) || is_segment(inner, stm, ty),
        Type::Acc { .. } | Type::Cert | Type::Mem(_) => false,
    };
    bound.irregular
        && params.iter().all(|p| carried(&p.param.ty))
        && (inner.exploits(body) || makes_arrays_of_inner_sizes(params, body))
}

/// Returns true if a loop makes arrays whose sizes are known only inside it: these cannot be
/// allocated where iterations run independently.
fn makes_arrays_of_inner_sizes(params: &[LoopParam<Soacs>], body: &Body<Soacs>) -> bool {
    let mut own: FxHashSet<Name> = params.iter().map(|p| p.param.name).collect();
    own.extend(binders(body));
    makes(body, &own)
}

/// Returns true if a body makes arrays of such sizes.
fn makes(body: &Body<Soacs>, sizes: &FxHashSet<Name>) -> bool {
    with_stack(|| {
        body.stms.iter().any(|stm| match &stm.exp {
            Exp::Basic(
                BasicOp::Concat { .. }
                | BasicOp::Iota { .. }
                | BasicOp::Replicate { .. }
                | BasicOp::Scratch { .. }
                | BasicOp::Copy(_),
            )
            | Exp::Op(_) => {
                let dims = stm.pat.iter().flat_map(|param| param.ty.shape());
                dims.filter_map(|dim| dim.atom()?.var()).any(|name| sizes.contains(&name))
            }
            Exp::Basic(_) | Exp::Apply { .. } => false,
            exp @ (Exp::If { .. } | Exp::Loop { .. }) => {
                let mut found = false;
                sub_bodies(exp, |body| found = found || makes(body, sizes));
                found
            }
        })
    })
}

/// A loop-carried value for all iterations of the nest.
#[derive(Clone)]
pub(super) enum Carried {
    /// The array of all values.
    Whole(Param<Soacs>),
    /// Segments of this length; `total` is their number of elements if the loop changes it.
    Segments { total: Option<Param<Soacs>>, data: Param<Soacs>, length: Atom },
}

impl Carried {
    /// The loop parameter of the total, which precedes that of the data.
    pub(super) fn total(&self) -> Option<&Param<Soacs>> {
        match self {
            Self::Segments { total, .. } => total.as_ref(),
            Self::Whole(_) => None,
        }
    }
}

/// A `for` loop as a `while` loop.
fn for_to_while(ctx: &mut Ctx<'_>, (mut params, form, mut body): Loop, pat: &mut Vec<Param<Soacs>>) -> Loop {
    let LoopForm::For { var, ty, bound } = form else {
        return (params, form, body);
    };
    let aux = Aux::at(ir::Prov::NONE);
    let condition: Param<Soacs> = ctx.fresh("goes", Type::BOOL);
    let counter = Param { name: var, ty: Type::Prim(ty), ann: () };
    ctx.types.set(var, Type::Prim(ty));
    for like in [&counter, &condition] {
        let unused = ctx.fresh("unused", like.ty.clone());
        pat.push(unused);
    }
    let mut builder = ctx.builder::<Soacs>(&aux);
    builder.extend(std::mem::take(&mut body.stms));
    let next = builder.binary(BinOp::Add, ty, var.into(), Atom::Const(Scalar::int(ty, 1)));
    let on = builder.compare(CmpOp::SLt, ty, next.into(), bound);
    body.stms = builder.take_stms();
    body.result.extend([Atom::Var(next), Atom::Var(on)]);
    let cond = condition.name;
    params.push(LoopParam { param: counter, init: Atom::Const(Scalar::int(ty, 0)), consumed: false });
    params.push(LoopParam { param: condition, init: bound, consumed: false });
    (params, LoopForm::While { cond }, body)
}

impl Distribution<'_, '_> {
    /// Appends such a loop; results that are not segments have patterns for all iterations.
    pub(super) fn loop_over_nest(
        &mut self,
        ctx: &mut Ctx<'_>,
        (mut pat, mut own): (Vec<Param<Soacs>>, Vec<Option<Param<Soacs>>>),
        aux: Aux,
        parts: Loop,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let is_for = matches!(parts.1, LoopForm::For { .. });
        let regular = matches!(parts.1, LoopForm::For { bound, .. }
            if !bound.var().is_some_and(|name| self.nest.is_variant(name)));
        let (mut params, form, body) = if regular { parts } else { for_to_while(ctx, parts, &mut pat) };
        own.resize(pat.len(), None);
        if is_for && !regular {
            self.initial_conditions(ctx, &mut params, &aux);
        }
        let mut all = Vec::with_capacity(params.len());
        let mut carried = Vec::with_capacity(params.len());
        while carried.len() < params.len() {
            let next = self.carry(ctx, &params, carried.len(), regular, (&aux, &mut all), out)?;
            carried.push(next);
        }
        let mut stms = Vec::new();
        let results = if regular {
            self.uniform_iteration(ctx, (&params, &carried), body, &aux, &mut stms)?
        } else {
            let LoopForm::While { cond } = form else {
                return Err(PassError::bug("an irregular loop was not converted to a `while` loop"));
            };
            self.active_iteration(ctx, (&params, &carried, cond), body, &aux, &mut stms)?
        };
        let mut inner = Body { stms, result: results };
        let mut form = form;
        if let LoopForm::While { cond } = form {
            let at = params.iter().position(|p| p.param.name == cond);
            let at =
                at.ok_or_else(|| PassError::bug("the condition of a `while` loop is not a parameter"))?;
            let flat = flat_position(&carried, at);
            let first = self.any(ctx, all[flat].init, &aux, out)?;
            let next = self.any(ctx, inner.result[flat], &aux, &mut inner.stms)?;
            let go: Param<Soacs> = ctx.fresh("go", Type::BOOL);
            form = LoopForm::While { cond: go.name };
            let go = ctx.param(go);
            all.insert(0, LoopParam { param: go, init: first, consumed: false });
            inner.result.insert(0, next);
        }
        ctx.note_counter(form);
        self.bind_results(ctx, (pat, own, carried), aux, (all, form, inner), out)
    }

    /// The initial conditions of a `for` loop that has become a `while` loop.
    fn initial_conditions(&mut self, ctx: &mut Ctx<'_>, params: &mut [LoopParam<Soacs>], aux: &Aux) {
        if let [.., counter, condition] = params {
            let ty = counter.param.ty.elem().unwrap_or(PrimType::I64);
            let first: Param<Soacs> = ctx.fresh("first", Type::BOOL);
            let name = first.name;
            let op = BasicOp::compare(CmpOp::SLt, ty, counter.init, condition.init);
            self.nest.bind(Stm { pat: vec![first], aux: Aux::at(aux.prov), exp: Exp::Basic(op) });
            condition.init = name.into();
        }
    }

    /// The loop-carried form of a parameter; adds the loop's own parameters.
    fn carry(
        &mut self,
        ctx: &mut Ctx<'_>,
        params: &[LoopParam<Soacs>],
        at: usize,
        regular: bool,
        (aux, all): (&Aux, &mut Vec<LoopParam<Segs>>),
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<Carried, PassError> {
        let LoopParam { param, init, .. } = &params[at];
        let size = param.ty.shape().first().and_then(|dim| dim.atom());
        let own = size.and_then(|size| params.iter().find(|p| size.var() == Some(p.param.name)));
        let varies = size.and_then(Atom::var).is_some_and(|name| self.nest.is_variant(name));
        let mut push = |ctx: &mut Ctx<'_>, param: &Param<Soacs>, init, consumed| {
            all.push(LoopParam { param: ctx.param(param.clone()), init, consumed });
        };
        let Some(length) = size.filter(|_| own.is_some() || varies) else {
            let ty = self.nest.expand(&param.ty);
            let array = array_of(ctx, &self.nest, self.at, *init, aux, out)?;
            let copy: Param<Soacs> = ctx.fresh("copy", ty.clone());
            let name = copy.name;
            bind(ctx, copy, BasicOp::Copy(array), aux, out);
            let whole: Param<Soacs> = ctx.fresh("expanded", ty);
            push(ctx, &whole, name.into(), !regular);
            return Ok(Carried::Whole(whole));
        };
        let first = own.map_or(length, |p| p.init);
        let name = init.var().ok_or_else(|| PassError::bug("expected an array"))?;
        let (array, segments) = self.segment_array(ctx, (name, first), aux, out)?;
        let mut of = segments;
        let total = own.map(|_| ctx.fresh::<Soacs>("total", Type::I64));
        if let Some(total) = &total {
            of.total = total.name;
            push(ctx, total, segments.total.into(), false);
        }
        let data: Param<Soacs> = ctx.fresh("data", segment_array_type(&param.ty, of));
        push(ctx, &data, array.into(), false);
        Ok(Carried::Segments { total, data, length })
    }

    /// A distribution over the same nest inside a loop, with the loop-carried values bound.
    pub(super) fn inside<'q>(
        &'q self,
        ctx: &mut Ctx<'_>,
        (params, carried): (&[LoopParam<Soacs>], &[Carried]),
        aux: &'q Aux,
        body: &Body<Soacs>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<Distribution<'q, 'q>, PassError> {
        let nest = self.nest.child(Vec::new());
        let mut inner = Distribution::new(ctx, nest, self.at, aux, body);
        inner.segments.clone_from(&self.segments);
        inner.segment_arrays.clone_from(&self.segment_arrays);
        for (LoopParam { param, .. }, carried) in params.iter().zip(carried) {
            if let Carried::Whole(all) = carried {
                inner.nest.bind_element(param.clone(), all.name);
            }
        }
        for (LoopParam { param, .. }, carried) in params.iter().zip(carried) {
            if let Carried::Segments { data, length, .. } = carried {
                let segments = inner.segments(ctx, *length, aux, out)?;
                inner.bind_segment(param.clone(), (data.name, *length, segments), &[]);
            }
        }
        Ok(inner)
    }

    /// Appends the loop body where all iterations of the nest are active; returns the loop-carried
    /// values.
    fn uniform_iteration(
        &self,
        ctx: &mut Ctx<'_>,
        (params, carried): (&[LoopParam<Soacs>], &[Carried]),
        body: Body<Soacs>,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<Vec<Atom>, PassError> {
        let mut inner = self.inside(ctx, (params, carried), aux, &body, out)?;
        let body_results = body.result.clone();
        inner.statements(ctx, body.stms, &mut ResultArrays::default(), out)?;
        let (mut next, mut rest) = (Vec::new(), Vec::new());
        let segments = carried.iter().zip(&body_results);
        let segments = segments.filter(|(it, _)| matches!(it, Carried::Segments { .. }));
        let names = segments.filter_map(|(_, result)| result.var());
        let sizes = self.next_lengths(params, carried, &body_results);
        let names = names.chain(sizes.iter().filter_map(|size| size.and_then(Atom::var)));
        let names = names.collect();
        inner.bind_pending(ctx, names, out)?;
        for ((carried, result), size) in carried.iter().zip(&body_results).zip(sizes) {
            match carried {
                Carried::Whole(all) => {
                    let own: Param<Soacs> = ctx.fresh("next", all.ty.clone());
                    next.push(Atom::Var(own.name));
                    rest.push((*result, own));
                }
                Carried::Segments { .. } => {
                    let of = result.var().zip(size);
                    let of = of.ok_or_else(|| PassError::bug("a segment has no length"))?;
                    let (data, segments) = inner.segment_array(ctx, of, aux, out)?;
                    if carried.total().is_some() {
                        next.push(segments.total.into());
                    }
                    next.push(data.into());
                }
            }
        }
        inner.results(ctx, rest, out)?;
        Ok(next)
    }

    /// The lengths of the segments after an iteration of the loop.
    pub(super) fn next_lengths(
        &self,
        params: &[LoopParam<Soacs>],
        carried: &[Carried],
        results: &[Atom],
    ) -> Vec<Option<Atom>> {
        let next = |carried: &Carried| match carried {
            Carried::Whole(_) => None,
            Carried::Segments { length, .. } => {
                let own = params.iter().position(|p| length.var() == Some(p.param.name));
                Some(own.and_then(|at| results.get(at)).copied().unwrap_or(*length))
            }
        };
        carried.iter().map(next).collect()
    }

    /// Reduces an array of truth values by disjunction.
    fn any(
        &self,
        ctx: &mut Ctx<'_>,
        all: Atom,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<Atom, PassError> {
        let all = all.var().ok_or_else(|| PassError::bug("expected an array"))?;
        let widths: Vec<Dim> = self.nest.widths().collect();
        let mut builder = ctx.builder::<Soacs>(aux);
        let iterations = builder.product(&widths);
        let width = Builder::<Soacs>::dim(iterations);
        let all = match widths.len() {
            1 => all,
            _ => builder.let_basic("flags", reshape(&[width], all)),
        };
        let op = Operator {
            op: builder.binary_lambda(BinOp::Or, PrimType::Bool),
            neutral: vec![Atom::Const(Scalar::Bool(false))],
            comm: true,
        };
        let any = builder.reduce("any", width, &[all], op);
        let stms = builder.take_stms();
        ctx.stms(self.at, stms, out)?;
        let any = any.first().ok_or_else(|| PassError::bug("a reduction has no result"))?;
        Ok(Atom::Var(*any))
    }

    /// Appends the loop, and binds its results in the nest.
    fn bind_results(
        &mut self,
        ctx: &mut Ctx<'_>,
        (pat, own, carried): (Vec<Param<Soacs>>, Vec<Option<Param<Soacs>>>, Vec<Carried>),
        aux: Aux,
        (params, form, body): (Vec<LoopParam<Segs>>, LoopForm, Body<Segs>),
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let (known, variant): (Vec<Name>, Vec<Name>) =
            (aux.certs.iter()).partition(|cert| !self.nest.is_variant(**cert));
        let mut all: Vec<Param<Soacs>> = Vec::with_capacity(params.len());
        if let LoopForm::While { .. } = form {
            all.push(ctx.fresh("go", Type::BOOL));
        }
        let mut arrays = Vec::with_capacity(pat.len());
        for ((param, own), carried) in pat.iter().zip(own).zip(carried) {
            let array = match carried {
                Carried::Whole(whole) => match own {
                    Some(own) => own,
                    None => ctx.fresh("expanded", whole.ty),
                },
                Carried::Segments { total, data, .. } => match total {
                    Some(_) => {
                        let total: Param<Soacs> = ctx.fresh("total", Type::I64);
                        let own = total.name;
                        all.push(total);
                        let rest = data.ty.shape().iter().skip(1).copied();
                        let shape = std::iter::once(Dim::Var(own)).chain(rest);
                        let shape: Vec<Dim> = shape.collect();
                        let elem = param.ty.elem().unwrap_or(PrimType::Bool);
                        ctx.fresh("data", Type::array(elem, shape))
                    }
                    None => ctx.fresh("data", data.ty),
                },
            };
            arrays.push(array.name);
            all.push(array);
        }
        let pattern = ctx.params(all);
        out.push(Stm {
            pat: pattern,
            aux: Aux { certs: known.into_iter().collect(), ..aux.clone() },
            exp: Exp::Loop { params, form, body },
        });
        let is_own = |name: Name| pat.iter().any(|p| p.name == name);
        let (segments, wholes): (Vec<_>, Vec<_>) = (pat.iter().zip(arrays)).partition(|(param, _)| {
            let size = param.ty.shape().first().and_then(|dim| dim.atom()?.var());
            size.is_some_and(|name| is_own(name) || self.nest.is_variant(name))
        });
        for (param, array) in wholes {
            self.nest.bind_element(param.clone(), array);
        }
        for (param, array) in segments {
            let length = param.ty.shape().first().and_then(|dim| dim.atom());
            let length = length.ok_or_else(|| PassError::bug("a segment has no length"))?;
            let segments = self.segments(ctx, length, &aux, out)?;
            self.bind_segment(param.clone(), (array, length, segments), &variant);
        }
        Ok(())
    }
}

/// The position, among the loop's own parameters, of a value that is carried as a whole array.
fn flat_position(carried: &[Carried], at: usize) -> usize {
    let width = |carried: &Carried| 1 + usize::from(carried.total().is_some());
    carried.iter().take(at).map(width).sum()
}
