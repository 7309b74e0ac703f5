//! Lifted functions: versions of functions whose parameters and results are those of all iterations
//! of a nest.
//!
//! ```text
//! f (n, x, ys: [n]) = e       f.irregular (w, ns, xs, (total, starts, ids, data))
//!                               = ⟨i < w⟩, n ∈ ns, x ∈ xs, ys ∈ segments ⊢ e
//! Σ ⊢ f (n, x, ys)        =>  f.irregular (size of Σ, all n, all x, all ys)
//! ```
//!
//! If the sizes among the arguments are nest-invariant, they are passed as they are (`f.regular`), and
//! arrays have one more dimension. Arrays of one size share their segments. Parameters that a
//! function consumes are copied: other iterations use the same arrays.

use super::distribute::{Distribution, Results, Stores};
use super::segments::{descriptor, descriptor_params, length, segment_array_type};
use super::updates::array_of;
use crate::context::{Ctx, Let};
use crate::names::reshape;
use crate::nest::Segments;
use crate::scope::Scope;
use crate::{Pat, Result, bug};
use ir::name::{FunId, Name};
use ir::syntax::{Atom, BasicOp, Body, Exp, FunParam, FunResult, Function, Param};
use ir::types::{Dim, Type};
use ir::{Builder, PassError, Prov, Segs, Soacs};
use prim::PrimType;
use rustc_hash::FxHashMap;

/// The regularity of the sizes of a function's lifted version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Lift {
    /// The sizes are the same in all iterations.
    Regular,
    /// The sizes vary across iterations.
    Irregular,
}

/// The parameter and result types of a function.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    params: Pat,
    ret: Vec<Type>,
}

/// The form in which an argument or a result of all iterations is passed.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    /// Unchanged: the same in all iterations.
    Same,
    /// With one more dimension.
    Whole,
    /// As segments of this length; `here` is true if the descriptors are passed with it.
    Segments { size: Size, here: bool },
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Size {
    Param(usize),
    Result(usize),
}

impl Signature {
    pub(crate) fn of(function: &Function<Soacs>) -> Self {
        Self {
            params: function.params.iter().map(|p| p.param.clone()).collect(),
            ret: function.ret.iter().map(|r| r.ty.clone()).collect(),
        }
    }

    /// The types of parameters and results.
    fn types(&self) -> impl Iterator<Item = &Type> {
        self.params.iter().map(|param| &param.ty).chain(&self.ret)
    }

    /// The index of a parameter.
    fn position(&self, name: Name) -> Option<usize> {
        self.params.iter().position(|param| param.name == name)
    }

    /// The indices of the parameters that are sizes of parameters or results.
    fn sizes(&self) -> Vec<usize> {
        let dims = self.types().flat_map(Type::shape);
        dims.filter_map(|dim| self.position(dim.atom()?.var()?)).collect()
    }

    /// Returns true if the function can be lifted: only the outermost size of an array may vary.
    pub(crate) fn can_lift(&self) -> bool {
        self.types().all(|ty| match ty {
            Type::Prim(_) => true,
            Type::Array { shape, .. } => shape.iter().skip(1).all(|dim| matches!(dim, Dim::Const(_))),
            Type::Acc { .. } | Type::Cert | Type::Mem(_) => false,
        })
    }

    /// The forms of parameters and results.
    fn forms(&self, lift: Lift) -> (Vec<Form>, Vec<Form>) {
        let sizes = self.sizes();
        let form = |ty: &Type, seen: &mut Vec<Size>| {
            let size = match ty.shape().first() {
                Some(Dim::Var(name)) if lift == Lift::Irregular => self.position(*name).map(Size::Param),
                Some(Dim::Ext(k)) => Some(Size::Result(*k as usize)),
                Some(Dim::Var(_) | Dim::Const(_)) | None => None,
            };
            size.map_or(Form::Whole, |size| {
                let here = !seen.contains(&size);
                seen.push(size);
                Form::Segments { size, here }
            })
        };
        let (mut param_sizes, mut result_sizes) = (Vec::new(), Vec::new());
        let is_same = |i: usize| lift == Lift::Regular && sizes.contains(&i);
        let params = self.params.iter().enumerate();
        let params = params
            .map(|(i, param)| if is_same(i) { Form::Same } else { form(&param.ty, &mut param_sizes) })
            .collect();
        let ret = self.ret.iter().map(|ty| form(ty, &mut result_sizes)).collect();
        (params, ret)
    }
}

impl Distribution<'_, '_> {
    /// Appends a call of a lifted function.
    pub(super) fn call(
        &mut self,
        ctx: &mut Ctx<'_>,
        results: Results,
        prov: Prov,
        (fun, args): (FunId, Vec<Atom>),
    ) -> Result {
        let signature = ctx.callees.signature(fun);
        let signature = signature.ok_or_else(|| PassError::bug("a function has no lifted version"))?;
        let varies =
            |i: &usize| args.get(*i).and_then(|arg| arg.var()).is_some_and(|name| self.nest.is_variant(name));
        let lift = if signature.sizes().iter().any(varies) { Lift::Irregular } else { Lift::Regular };
        let (params, ret) = signature.forms(lift);
        let widths: Vec<Dim> = self.nest.widths().collect();
        let iterations = ctx.build(prov, |b| b.product(&widths));
        let width = Builder::<Segs>::dim(iterations);
        let one = widths.len() == 1;
        // An array over flattened iterations with these dimensions instead, or the other way round.
        let reshaped = |ctx: &mut Ctx<'_>, dims: &[Dim], array, rest: &[Dim]| {
            let view = reshape(&[dims, rest].concat(), array);
            if one { array } else { ctx.build(prov, |b| b.let_basic("view", view)) }
        };
        let mut all = vec![iterations];
        for (form, arg) in params.iter().zip(&args) {
            match form {
                Form::Same => all.push(*arg),
                Form::Whole => {
                    let ty = ctx.names.atom_type(*arg)?;
                    let array = array_of(ctx, self.scope().with_prov(prov), *arg)?;
                    all.push(reshaped(ctx, &[width], array, ty.shape()).into());
                }
                Form::Segments { size, here } => {
                    let Size::Param(at) = size else {
                        return Err(PassError::bug("the size of an irregular argument is not a parameter"));
                    };
                    let name = arg.var().ok_or_else(bug("expected an array"))?;
                    let (data, segments) = self.segment_array(ctx, (name, args[*at]), prov)?;
                    if *here {
                        let starts = reshaped(ctx, &[width], segments.starts, &[]);
                        let parts = [segments.total, starts, segments.iterations];
                        all.extend(parts.map(Atom::Var));
                    }
                    all.push(data.into());
                }
            }
        }
        let fun = ctx.call_lifted(fun, lift);
        let mut pattern: Pat = Vec::new();
        let (mut wholes, mut segments) = (Vec::new(), Vec::new());
        let mut totals: FxHashMap<Atom, Segments> = FxHashMap::default();
        // Arrays over the nest that the call itself does not return in that form.
        let mut left: Vec<(Name, Param<Soacs>)> = Vec::new();
        for ((param, own), form) in results.into_iter().zip(&ret) {
            let Form::Segments { here, .. } = form else {
                let whole = match own {
                    Some(own) if one => own,
                    own => {
                        left.extend(own.map(|own| (param.name, own)));
                        ctx.names.fresh("expanded", param.ty.array_of(width))
                    }
                };
                wholes.push((param, whole.name));
                pattern.push(whole);
                continue;
            };
            left.extend(own.map(|own| (param.name, own)));
            let length = length(&param.ty)?;
            if *here {
                let made = descriptor_params(&mut ctx.names, width);
                totals.insert(length, descriptor(&made));
                pattern.extend(made);
            }
            let of = totals.get(&length).copied();
            let of = of.ok_or_else(bug("the segments of a result are unknown"))?;
            let data = ctx.names.fresh("data", segment_array_type(&param.ty, of));
            segments.push((param, data.name, length, of));
            pattern.push(data);
        }
        ctx.emit(Let::at(prov, pattern), Exp::Apply { fun, args: all });
        // Sizes are bound before the arrays that have them.
        for (param, array) in wholes {
            let array = reshaped(ctx, &widths, array, param.ty.shape());
            self.nest.bind_element(param, array);
        }
        for (param, data, length, of) in segments {
            if !self.segments.contains_key(&length) {
                let starts = reshaped(ctx, &widths, of.starts, &[]);
                self.note_segments(ctx, length, Segments { starts, ..of });
            }
            let segments = self.segments(ctx, length, prov)?;
            self.bind_segment(param, (data, length, segments), &[]);
        }
        for (name, own) in left {
            let array = array_of(ctx, self.scope().with_prov(prov), name.into())?;
            ctx.bind(own, BasicOp::Atom(array.into()), prov);
        }
        Ok(())
    }
}

/// The array, or a copy of it if it may alias a parameter.
fn unaliased(ctx: &mut Ctx<'_>, array: Name) -> Atom {
    let is_new = ctx.out.iter().any(|stm| {
        let made = matches!(stm.exp, Exp::Op(_) | Exp::Apply { .. });
        made && stm.pat.iter().any(|param| param.name == array)
    });
    let copy = |b: &mut Builder<'_, Segs>| b.let_basic("copy", BasicOp::Copy(array));
    if is_new { array.into() } else { ctx.build(Prov::NONE, copy).into() }
}

/// The parts of a lifted function that differ from the original.
pub(crate) struct Lifted {
    pub(crate) params: Vec<FunParam<Segs>>,
    pub(crate) ret: Vec<FunResult<Segs>>,
    pub(crate) body: Body<Segs>,
}

/// The lifted version of a function, with copies of consumed parameters: the caller keeps its arrays.
pub(crate) fn lifted(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    (signature, lift): (&Signature, Lift),
    consumed: &[bool],
    body: Body<Soacs>,
) -> Result<Lifted> {
    let prov = Prov::NONE;
    let (forms, results) = signature.forms(lift);
    let iterations = ctx.names.fresh("w", Type::I64);
    let width = Dim::Var(iterations.name);
    let nest = scope.nest.with_dims(&mut ctx.names, &[width]);
    let mut d = Distribution::new(ctx, scope, nest, &body);
    let mut params = vec![iterations];
    for ((form, param), consumed) in forms.iter().zip(&signature.params).zip(consumed) {
        match form {
            Form::Same => params.push(param.clone()),
            Form::Whole => {
                let all = ctx.names.fresh("expanded", param.ty.array_of(width));
                let copies = *consumed && param.ty.is_array();
                let copy = |b: &mut Builder<'_, Segs>| b.let_basic("copy", BasicOp::Copy(all.name));
                let array = if copies { ctx.build(prov, copy) } else { all.name };
                d.nest.bind_element(param.clone(), array);
                params.push(all);
            }
            Form::Segments { size, here } => {
                let Size::Param(size) = size else {
                    return Err(PassError::bug("the size of an irregular parameter is not a parameter"));
                };
                let length = Atom::Var(signature.params[*size].name);
                if *here {
                    let made = descriptor_params(&mut ctx.names, width);
                    d.note_segments(ctx, length, descriptor(&made));
                    params.extend(made);
                }
                let segments = d.segments(ctx, length, prov)?;
                let data = ctx.names.fresh("data", segment_array_type(&param.ty, segments));
                d.bind_segment(param.clone(), (data.name, length, segments), &[]);
                params.push(data);
            }
        }
    }
    let param = |param| FunParam { param: ctx.names.param(param), consumed: false };
    let params: Vec<FunParam<Segs>> = params.into_iter().map(param).collect();
    let body_results = body.result.clone();
    d.statements(ctx, body.stms, &mut Stores::default())?;
    let length_of = |size: Size| match size {
        Size::Param(at) => Atom::Var(signature.params[at].name),
        Size::Result(at) => body_results.get(at).copied().unwrap_or(Atom::i64(0)),
    };
    let mut names: Vec<Name> = Vec::new();
    for (form, result) in results.iter().zip(&body_results) {
        if let Form::Segments { size, .. } = form {
            names.extend(result.var());
            names.extend(length_of(*size).var());
        }
    }
    d.bind_pending(ctx, names)?;
    let mut ret = Vec::new();
    let (mut all, mut rest) = (Vec::new(), Vec::new());
    let mut totals: FxHashMap<Atom, u32> = FxHashMap::default();
    let mut add = |all: &mut Vec<Atom>, ty: Type, value: Atom| {
        ret.push(FunResult { ty, aliases: Vec::new(), ann: () });
        all.push(value);
    };
    for ((form, result), ty) in results.iter().zip(&body_results).zip(&signature.ret) {
        let Form::Segments { size, here } = form else {
            let ty = ty.array_of(width);
            let own = ctx.names.fresh("r", ty.clone());
            add(&mut all, ty, own.name.into());
            rest.push((*result, own));
            continue;
        };
        let length = length_of(*size);
        let name = result.var().ok_or_else(bug("expected an array"))?;
        let (data, segments) = d.segment_array(ctx, (name, length), prov)?;
        if *here {
            let total = Dim::Ext(all.len() as u32);
            totals.insert(length, all.len() as u32);
            add(&mut all, Type::I64, segments.total.into());
            for (array, size) in [(segments.starts, width), (segments.iterations, total)] {
                let value = unaliased(ctx, array);
                add(&mut all, Type::array(PrimType::I64, [size]), value);
            }
        }
        let total = totals.get(&length).copied().map_or(Dim::Const(0), Dim::Ext);
        let inner = ty.shape().iter().skip(1).copied();
        let shape: Vec<Dim> = std::iter::once(total).chain(inner).collect();
        let elem = ty.elem().ok_or_else(bug("expected an array"))?;
        let value = unaliased(ctx, data);
        add(&mut all, Type::array(elem, shape), value);
    }
    d.results(ctx, rest)?;
    Ok(Lifted { params, ret, body: Body { stms: std::mem::take(&mut ctx.out), result: all } })
}
