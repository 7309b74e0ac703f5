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

use super::distribute::{Distribution, Results, Stores};
use super::distribute_irregular::is_segment;
use super::parallelism::NestBindings;
use super::segments::{length, segment_array_type};
use super::updates::array_of;
use crate::context::{Ctx, Let};
use crate::names::{Names, basic, reshape};
use crate::{Pat, Result, bug};
use ir::name::Name;
use ir::soac::Operator;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{binders, sub_bodies, with_stack};
use ir::{Builder, Prov, Segs, Soacs};
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

/// A `for` loop as a `while` loop, with two more results.
fn for_to_while(names: &mut Names<'_>, (mut params, form, mut body): Loop, results: &mut Results) -> Loop {
    let LoopForm::For { var, ty, bound } = form else {
        return (params, form, body);
    };
    let condition = names.fresh("goes", Type::BOOL);
    let counter = Param { name: var, ty: Type::Prim(ty), ann: () };
    names.types.set(var, Type::Prim(ty));
    for like in [&counter, &condition] {
        results.push((names.fresh("unused", like.ty.clone()), None));
    }
    let (next, on) = names.build(Prov::NONE, &mut body.stms, |b| {
        let next = b.binary(BinOp::Add, ty, var.into(), Atom::Const(Scalar::int(ty, 1)));
        (next, b.compare(CmpOp::SLt, ty, next.into(), bound))
    });
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
        mut results: Results,
        aux: Aux,
        parts: Loop,
    ) -> Result {
        let prov = aux.prov;
        let is_for = matches!(parts.1, LoopForm::For { .. });
        let regular = matches!(parts.1, LoopForm::For { bound, .. }
            if !bound.var().is_some_and(|name| self.nest.is_variant(name)));
        let (mut params, mut form, body) =
            if regular { parts } else { for_to_while(&mut ctx.names, parts, &mut results) };
        if is_for && !regular {
            self.initial_conditions(ctx, &mut params, prov);
        }
        let mut all = Vec::with_capacity(params.len());
        let mut carried = Vec::with_capacity(params.len());
        while carried.len() < params.len() {
            let next = self.carry(ctx, &params, carried.len(), regular, (prov, &mut all))?;
            carried.push(next);
        }
        let (result, stms) = ctx.collect(|ctx| match form {
            LoopForm::While { cond } => self.active_iteration(ctx, (&params, &carried, cond), body, prov),
            LoopForm::For { .. } => self.uniform_iteration(ctx, (&params, &carried), body, prov),
        });
        let mut inner = Body { stms, result: result? };
        if let LoopForm::While { cond } = form {
            let at = params.iter().position(|p| p.param.name == cond);
            let at = at.ok_or_else(bug("the condition of a `while` loop is not a parameter"))?;
            let flat = flat_position(&carried, at);
            let init = self.any(ctx, all[flat].init, prov)?;
            let (next, stms) = ctx.collect(|ctx| self.any(ctx, inner.result[flat], prov));
            inner.stms.extend(stms);
            let go = ctx.names.fresh("go", Type::BOOL);
            form = LoopForm::While { cond: go.name };
            all.insert(0, LoopParam { param: ctx.names.param(go), init, consumed: false });
            inner.result.insert(0, next?);
        }
        ctx.names.note_counter(form);
        self.bind_results(ctx, results.into_iter().zip(carried).collect(), aux, (all, form, inner))
    }

    /// The initial conditions of a `for` loop that has become a `while` loop.
    fn initial_conditions(&mut self, ctx: &mut Ctx<'_>, params: &mut [LoopParam<Soacs>], prov: Prov) {
        if let [.., counter, condition] = params {
            let ty = counter.param.ty.elem().unwrap_or(PrimType::I64);
            let first = ctx.names.fresh("first", Type::BOOL);
            let name = first.name;
            let op = BasicOp::compare(CmpOp::SLt, ty, counter.init, condition.init);
            self.nest.bind(basic(first, op, prov));
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
        (prov, all): (Prov, &mut Vec<LoopParam<Segs>>),
    ) -> Result<Carried> {
        let LoopParam { param, init, .. } = &params[at];
        let size = param.ty.shape().first().and_then(|dim| dim.atom());
        let own = size.and_then(|size| params.iter().find(|p| size.var() == Some(p.param.name)));
        let varies = size.and_then(Atom::var).is_some_and(|name| self.nest.is_variant(name));
        let mut push = |ctx: &mut Ctx<'_>, param: &Param<Soacs>, init: Name, consumed| {
            let param = ctx.names.param(param.clone());
            all.push(LoopParam { param, init: init.into(), consumed });
        };
        let Some(length) = size.filter(|_| own.is_some() || varies) else {
            let ty = self.nest.expand(&param.ty);
            let op = BasicOp::Copy(array_of(ctx, self.scope().with_prov(prov), *init)?);
            let copy = ctx.bind_fresh(("copy", ty.clone()), op, prov);
            let whole = ctx.names.fresh("expanded", ty);
            push(ctx, &whole, copy, !regular);
            return Ok(Carried::Whole(whole));
        };
        let first = own.map_or(length, |p| p.init);
        let name = init.var().ok_or_else(bug("expected an array"))?;
        let (array, mut segments) = self.segment_array(ctx, (name, first), prov)?;
        let total = own.map(|_| ctx.names.fresh("total", Type::I64));
        if let Some(total) = &total {
            push(ctx, total, segments.total, false);
            segments.total = total.name;
        }
        let data = ctx.names.fresh("data", segment_array_type(&param.ty, segments));
        push(ctx, &data, array, false);
        Ok(Carried::Segments { total, data, length })
    }

    /// A distribution over the same nest inside a loop, with the loop-carried values bound.
    pub(super) fn inside<'c, 'q>(
        &'q self,
        ctx: &mut Ctx<'c>,
        (params, carried): (&[LoopParam<Soacs>], &[Carried]),
        prov: Prov,
        body: &Body<Soacs>,
    ) -> Result<Distribution<'c, 'q>> {
        let nest = self.nest.child(Vec::new());
        let mut inner = Distribution::new(ctx, self.scope().with_prov(prov), nest, body);
        inner.segments.clone_from(&self.segments);
        inner.segment_arrays.clone_from(&self.segment_arrays);
        for (LoopParam { param, .. }, carried) in params.iter().zip(carried) {
            if let Carried::Whole(all) = carried {
                inner.nest.bind_element(param.clone(), all.name);
            }
        }
        for (LoopParam { param, .. }, carried) in params.iter().zip(carried) {
            if let Carried::Segments { data, length, .. } = carried {
                let segments = inner.segments(ctx, *length, prov)?;
                inner.bind_segment(param.clone(), (data.name, *length, segments), &[]);
            }
        }
        Ok(inner)
    }

    /// Appends the loop body where all iterations are active; returns the loop-carried values.
    fn uniform_iteration(
        &self,
        ctx: &mut Ctx<'_>,
        (params, carried): (&[LoopParam<Soacs>], &[Carried]),
        body: Body<Soacs>,
        prov: Prov,
    ) -> Result<Vec<Atom>> {
        let mut inner = self.inside(ctx, (params, carried), prov, &body)?;
        let body_results = body.result.clone();
        inner.statements(ctx, body.stms, &mut Stores::default())?;
        let (mut next, mut rest) = (Vec::new(), Vec::new());
        let segments = carried.iter().zip(&body_results);
        let segments = segments.filter(|(it, _)| matches!(it, Carried::Segments { .. }));
        let names = segments.filter_map(|(_, result)| result.var());
        let sizes = next_lengths(params, carried, &body_results);
        let names = names.chain(sizes.iter().filter_map(|size| size.and_then(Atom::var))).collect();
        inner.bind_pending(ctx, names)?;
        for ((carried, result), size) in carried.iter().zip(&body_results).zip(sizes) {
            match carried {
                Carried::Whole(all) => {
                    let own = ctx.names.fresh("next", all.ty.clone());
                    next.push(Atom::Var(own.name));
                    rest.push((*result, own));
                }
                Carried::Segments { .. } => {
                    let of = result.var().zip(size).ok_or_else(bug("a segment has no length"))?;
                    let (data, segments) = inner.segment_array(ctx, of, prov)?;
                    if carried.total().is_some() {
                        next.push(segments.total.into());
                    }
                    next.push(data.into());
                }
            }
        }
        inner.results(ctx, rest)?;
        Ok(next)
    }

    /// Reduces an array of truth values by disjunction.
    fn any(&self, ctx: &mut Ctx<'_>, all: Atom, prov: Prov) -> Result<Atom> {
        let all = all.var().ok_or_else(bug("expected an array"))?;
        let widths: Vec<Dim> = self.nest.widths().collect();
        let mut stms = Vec::new();
        let any = ctx.names.build(prov, &mut stms, |b| {
            let iterations = b.product(&widths);
            let width = Builder::<Soacs>::dim(iterations);
            let all = if widths.len() == 1 { all } else { b.let_basic("flags", reshape(&[width], all)) };
            let op = Operator {
                op: b.binary_lambda(BinOp::Or, PrimType::Bool),
                neutral: vec![Atom::Const(Scalar::Bool(false))],
                comm: true,
            };
            b.reduce("any", width, &[all], op)
        });
        ctx.stms(self.scope().without_nest(), stms)?;
        let any = any.first().ok_or_else(bug("a reduction has no result"))?;
        Ok(Atom::Var(*any))
    }

    /// Appends the loop, and binds its results in the nest.
    fn bind_results(
        &mut self,
        ctx: &mut Ctx<'_>,
        results: Vec<((Param<Soacs>, Option<Param<Soacs>>), Carried)>,
        aux: Aux,
        (params, form, body): (Vec<LoopParam<Segs>>, LoopForm, Body<Segs>),
    ) -> Result {
        let prov = aux.prov;
        let (aux, variant) = self.certs(aux, &[]);
        let own: Vec<Name> = results.iter().map(|((param, _), _)| param.name).collect();
        let mut all: Pat = Vec::with_capacity(params.len());
        if let LoopForm::While { .. } = form {
            all.push(ctx.names.fresh("go", Type::BOOL));
        }
        let (mut wholes, mut segments) = (Vec::new(), Vec::new());
        for ((param, array), carried) in results {
            let array = match carried {
                Carried::Whole(whole) => array.unwrap_or_else(|| ctx.names.fresh("expanded", whole.ty)),
                Carried::Segments { total: None, data, .. } => ctx.names.fresh("data", data.ty),
                Carried::Segments { total: Some(_), data, .. } => {
                    let total = ctx.names.fresh("total", Type::I64);
                    let rest = data.ty.shape().iter().skip(1).copied();
                    let shape: Vec<Dim> = std::iter::once(Dim::Var(total.name)).chain(rest).collect();
                    all.push(total);
                    let elem = param.ty.elem().unwrap_or(PrimType::Bool);
                    ctx.names.fresh("data", Type::array(elem, shape))
                }
            };
            let size = param.ty.shape().first().and_then(|dim| dim.atom()?.var());
            let varies = size.is_some_and(|name| own.contains(&name) || self.nest.is_variant(name));
            let group = if varies { &mut segments } else { &mut wholes };
            group.push((param, array.name));
            all.push(array);
        }
        let to = Let { pat: all, aux };
        ctx.emit(to, Exp::Loop { params, form, body });
        for (param, array) in wholes {
            self.nest.bind_element(param, array);
        }
        for (param, array) in segments {
            let length = length(&param.ty)?;
            let segments = self.segments(ctx, length, prov)?;
            self.bind_segment(param, (array, length, segments), &variant);
        }
        Ok(())
    }
}

/// The lengths of the segments after an iteration of the loop.
pub(super) fn next_lengths(
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

/// The position, among the loop's own parameters, of a value that is carried as a whole array.
fn flat_position(carried: &[Carried], at: usize) -> usize {
    let width = |carried: &Carried| 1 + usize::from(carried.total().is_some());
    carried.iter().take(at).map(width).sum()
}
