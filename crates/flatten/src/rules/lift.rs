//! Lifted functions: versions of functions whose parameters and results are those of all iterations
//! of a nest.
//!
//! ```text
//! f (n, x, ys: [n]) = e       f.irregular (w, ns, xs, (total, starts, ids, data))
//!                               = ⟨i < w⟩, n ∈ ns, x ∈ xs, ys ∈ segments ⊢ e
//! Σ ⊢ f (n, x, ys)        =>  f.irregular (size of Σ, all n, all x, all ys)
//! ```
//!
//! If the sizes among the arguments are nest-invariant, they are passed as they are (`f.even`), and
//! arrays have one more dimension. Arrays of one size share their segments. Parameters that a
//! function consumes are copied: other iterations use the same arrays.

use super::distribute::{Distribution, ResultArrays, bind};
use super::segments::{descriptor_params, reshape, segment_array_type};
use super::updates::array_of;
use crate::context::Ctx;
use crate::nest::{Nest, Segments};
use crate::position::Position;
use ir::name::{FunName, Name};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, FunParam, FunResult, Function, Param, Stm};
use ir::types::{Dim, Type};
use ir::{Builder, PassError, Segs, Soacs};
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
    params: Vec<Param<Soacs>>,
    ret: Vec<Type>,
}

/// The form in which an argument or a result of all iterations is passed.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    /// Unchanged: the same in all iterations.
    Same,
    /// With one more dimension.
    Whole,
    /// As segments whose length is this parameter or result; `here` is true if the descriptors are
    /// passed with it.
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

    /// The indices of the parameters that are sizes of parameters or results.
    fn sizes(&self) -> Vec<usize> {
        let types = self.params.iter().map(|param| &param.ty).chain(&self.ret);
        let dims = types.flat_map(Type::shape);
        let mut sizes: Vec<usize> = dims
            .filter_map(|dim| {
                let name = dim.atom()?.var()?;
                self.params.iter().position(|param| param.name == name)
            })
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Returns true if the function can be lifted: only the outermost size of an array may vary.
    pub(crate) fn can_lift(&self) -> bool {
        let types = self.params.iter().map(|param| &param.ty).chain(&self.ret);
        types.into_iter().all(|ty| match ty {
            Type::Prim(_) => true,
            Type::Array { shape, .. } => {
                let rest = shape.iter().skip(1);
                rest.into_iter().all(|dim| matches!(dim, Dim::Const(_)))
            }
            Type::Acc { .. } | Type::Cert | Type::Mem(_) => false,
        })
    }

    /// The forms of parameters and results.
    fn forms(&self, lift: Lift) -> (Vec<Form>, Vec<Form>) {
        let sizes = self.sizes();
        let form = |ty: &Type, seen: &mut Vec<Size>| {
            let size = match ty.shape().first() {
                Some(Dim::Var(name)) if lift == Lift::Irregular => {
                    let at = self.params.iter().position(|param| param.name == *name);
                    at.map(Size::Param)
                }
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
        let params = self.params.iter().enumerate().map(|(i, param)| {
            if lift == Lift::Regular && sizes.contains(&i) {
                Form::Same
            } else {
                form(&param.ty, &mut param_sizes)
            }
        });
        let params = params.collect();
        let ret = self.ret.iter().map(|ty| form(ty, &mut result_sizes)).collect();
        (params, ret)
    }
}

impl Distribution<'_, '_> {
    /// Appends a call of a lifted function.
    pub(super) fn call(
        &mut self,
        ctx: &mut Ctx<'_>,
        (pat, own): (Vec<Param<Soacs>>, Vec<Option<Param<Soacs>>>),
        aux: &Aux,
        (fun, args): (FunName, Vec<Atom>),
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let signature = ctx.signature(&fun)?;
        let varies = |i: &usize| {
            let arg = args.get(*i).and_then(|arg| arg.var());
            arg.is_some_and(|name| self.nest.is_variant(name))
        };
        let lift = if signature.sizes().iter().any(varies) { Lift::Irregular } else { Lift::Regular };
        let (params, ret) = signature.forms(lift);
        let widths: Vec<Dim> = self.nest.widths().collect();
        let mut builder = ctx.builder::<Segs>(aux);
        let iterations = builder.product(&widths);
        out.extend(builder.take_stms());
        let one = widths.len() == 1;
        let flat = [Builder::<Segs>::dim(iterations)];
        let mut all = vec![iterations];
        for (form, arg) in params.iter().zip(&args) {
            let (array, rest) = match form {
                Form::Same => {
                    all.push(*arg);
                    continue;
                }
                Form::Whole => {
                    let ty = match arg {
                        Atom::Var(name) => ctx.type_of(*name)?,
                        Atom::Const(value) => Type::Prim(value.ty()),
                    };
                    let array = array_of(ctx, &self.nest, self.at, *arg, aux, out)?;
                    (array, ty.shape().to_vec())
                }
                Form::Segments { size, here } => {
                    let Size::Param(at) = size else {
                        return Err(PassError::bug("the size of an irregular argument is not a parameter"));
                    };
                    let name = arg.var().ok_or_else(|| PassError::bug("expected an array"))?;
                    let (data, segments) = self.segment_array(ctx, (name, args[*at]), aux, out)?;
                    if *here {
                        let starts = reshaped(ctx, (one, &flat), segments.starts, &[], aux, out);
                        let parts = [segments.total, starts, segments.iterations];
                        all.extend(parts.map(Atom::Var));
                    }
                    all.push(data.into());
                    continue;
                }
            };
            all.push(reshaped(ctx, (one, &flat), array, &rest, aux, out).into());
        }
        let fun = ctx.call_lifted(&fun, lift);
        let width = Builder::<Segs>::dim(iterations);
        let mut pattern: Vec<Param<Soacs>> = Vec::new();
        let mut bound = Vec::with_capacity(pat.len());
        let mut totals: FxHashMap<Atom, Segments> = FxHashMap::default();
        // Arrays over the nest that the call itself does not return in that form.
        let mut left: Vec<(Name, Param<Soacs>)> = Vec::new();
        for ((param, own), form) in pat.into_iter().zip(own).zip(&ret) {
            if let Form::Whole | Form::Same = form {
                let whole = match own {
                    Some(own) if one => own,
                    own => {
                        left.extend(own.map(|own| (param.name, own)));
                        ctx.fresh("expanded", param.ty.array_of(width))
                    }
                };
                bound.push((param, whole.name, None));
                pattern.push(whole);
                continue;
            }
            left.extend(own.map(|own| (param.name, own)));
            let length = param.ty.shape().first().and_then(|dim| dim.atom());
            let length = length.ok_or_else(|| PassError::bug("a segment has no length"))?;
            if let Form::Segments { here: true, .. } = form {
                let made = descriptor_params(ctx, width);
                totals.insert(
                    length,
                    Segments {
                        start: made[1].name,
                        starts: made[1].name,
                        iterations: made[2].name,
                        total: made[0].name,
                    },
                );
                pattern.extend(made);
            }
            let segments = totals.get(&length).copied();
            let segments = segments.ok_or_else(|| PassError::bug("the segments of a result are unknown"))?;
            let data: Param<Soacs> = ctx.fresh("data", segment_array_type(&param.ty, segments));
            bound.push((param, data.name, Some((length, segments))));
            pattern.push(data);
        }
        let pattern = ctx.params(pattern);
        out.push(Stm { pat: pattern, aux: Aux::at(aux.prov), exp: Exp::Apply { fun, args: all } });
        // Sizes are bound before the arrays that have them.
        let (segments, wholes): (Vec<_>, Vec<_>) = bound.into_iter().partition(|(_, _, own)| own.is_some());
        for (param, array, _) in wholes {
            let rest = param.ty.shape().to_vec();
            let array = reshaped(ctx, (one, &widths), array, &rest, aux, out);
            self.nest.bind_element(param, array);
        }
        for (param, data, own) in segments {
            let Some((length, segments)) = own else {
                continue;
            };
            if !self.segments.contains_key(&length) {
                let starts = reshaped(ctx, (one, &widths), segments.starts, &[], aux, out);
                self.note_segments(ctx, length, Segments { starts, ..segments });
            }
            let segments = self.segments(ctx, length, aux, out)?;
            self.bind_segment(param, (data, length, segments), &[]);
        }
        for (name, own) in left {
            let array = array_of(ctx, &self.nest, self.at, name.into(), aux, out)?;
            bind(ctx, own, BasicOp::Atom(array.into()), aux, out);
        }
        Ok(())
    }

    /// Records the segments of a length, and binds the start in each iteration.
    fn note_segments(&mut self, ctx: &mut Ctx<'_>, length: Atom, segments: Segments) {
        let start: Param<Soacs> = ctx.fresh("start", Type::I64);
        let start_name = start.name;
        self.nest.bind_element(start, segments.starts);
        let segments = Segments { start: start_name, ..segments };
        self.segments.insert(length, segments);
    }
}

/// An array over flattened iterations, reshaped to these dimensions unless the nest has only one.
fn reshaped(
    ctx: &mut Ctx<'_>,
    (one, widths): (bool, &[Dim]),
    array: Name,
    rest: &[Dim],
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Name {
    if one {
        return array;
    }
    let dims: Vec<Dim> = widths.iter().chain(rest).copied().collect();
    view(ctx, &dims, array, aux, out)
}

fn view(ctx: &mut Ctx<'_>, dims: &[Dim], array: Name, aux: &Aux, out: &mut Vec<Stm<Segs>>) -> Name {
    let mut builder = ctx.builder::<Segs>(aux);
    let view = builder.let_basic("view", reshape(dims, array));
    out.extend(builder.take_stms());
    view
}

/// The array, or a copy of it if it may alias a parameter.
fn unaliased(ctx: &mut Ctx<'_>, array: Name, stms: &mut Vec<Stm<Segs>>) -> Atom {
    let is_new = stms.iter().any(|stm| {
        let made = matches!(stm.exp, Exp::Op(_) | Exp::Apply { .. });
        made && stm.pat.iter().any(|param| param.name == array)
    });
    if is_new {
        return array.into();
    }
    let mut builder = ctx.builder::<Segs>(&Aux::at(ir::Prov::NONE));
    let copy = builder.let_basic("copy", BasicOp::Copy(array));
    stms.extend(builder.take_stms());
    copy.into()
}

/// The parts of a lifted function that differ from the original.
pub(crate) struct Lifted {
    pub(crate) params: Vec<FunParam<Segs>>,
    pub(crate) ret: Vec<FunResult<Segs>>,
    pub(crate) body: Body<Segs>,
}

/// The lifted version of a function. The caller keeps its arrays, so consumed parameters are copied
/// first.
pub(crate) fn lifted(
    ctx: &mut Ctx<'_>,
    (signature, lift): (&Signature, Lift),
    consumed: &[bool],
    at: Position,
    body: Body<Soacs>,
) -> Result<Lifted, PassError> {
    let aux = Aux::at(ir::Prov::NONE);
    let (forms, results) = signature.forms(lift);
    let iterations: Param<Soacs> = ctx.fresh("w", Type::I64);
    let width = Dim::Var(iterations.name);
    let outer = Nest::default();
    let nest = outer.with_dims(ctx, &[width]);
    let mut d = Distribution::new(ctx, nest, at, &aux, &body);
    let mut params = vec![iterations];
    let mut stms = Vec::new();
    for ((form, param), consumed) in forms.iter().zip(&signature.params).zip(consumed) {
        match form {
            Form::Same => params.push(param.clone()),
            Form::Whole => {
                let all: Param<Soacs> = ctx.fresh("expanded", param.ty.array_of(width));
                let mut array = all.name;
                if *consumed && param.ty.is_array() {
                    let mut builder = ctx.builder::<Segs>(&aux);
                    array = builder.let_basic("copy", BasicOp::Copy(array));
                    stms.extend(builder.take_stms());
                }
                d.nest.bind_element(param.clone(), array);
                params.push(all);
            }
            Form::Segments { size, here } => {
                let Size::Param(size) = size else {
                    return Err(PassError::bug("the size of an irregular parameter is not a parameter"));
                };
                let length = Atom::Var(signature.params[*size].name);
                if *here {
                    let made = descriptor_params(ctx, width);
                    let segments = Segments {
                        start: made[1].name,
                        starts: made[1].name,
                        iterations: made[2].name,
                        total: made[0].name,
                    };
                    d.note_segments(ctx, length, segments);
                    params.extend(made);
                }
                let segments = d.segments(ctx, length, &aux, &mut Vec::new())?;
                let data: Param<Soacs> = ctx.fresh("data", segment_array_type(&param.ty, segments));
                d.bind_segment(param.clone(), (data.name, length, segments), &[]);
                params.push(data);
            }
        }
    }
    let params: Vec<FunParam<Segs>> =
        params.into_iter().map(|param| FunParam { param: ctx.param(param), consumed: false }).collect();
    let body_results = body.result.clone();
    d.statements(ctx, body.stms, &mut ResultArrays::default(), &mut stms)?;
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
    d.bind_pending(ctx, names, &mut stms)?;
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
            let own: Param<Soacs> = ctx.fresh("r", ty.clone());
            add(&mut all, ty, own.name.into());
            rest.push((*result, own));
            continue;
        };
        let length = length_of(*size);
        let name = result.var().ok_or_else(|| PassError::bug("expected an array"))?;
        let (data, segments) = d.segment_array(ctx, (name, length), &aux, &mut stms)?;
        if *here {
            let total = Dim::Ext(all.len() as u32);
            totals.insert(length, all.len() as u32);
            add(&mut all, Type::I64, segments.total.into());
            let starts = Type::array(PrimType::I64, [width]);
            let value = unaliased(ctx, segments.starts, &mut stms);
            add(&mut all, starts, value);
            let ids = Type::array(PrimType::I64, [total]);
            let value = unaliased(ctx, segments.iterations, &mut stms);
            add(&mut all, ids, value);
        }
        let total = totals.get(&length).copied().map_or(Dim::Const(0), Dim::Ext);
        let inner = ty.shape().iter().skip(1).copied();
        let shape: Vec<Dim> = std::iter::once(total).chain(inner).collect();
        let elem = ty.elem().ok_or_else(|| PassError::bug("expected an array"))?;
        let value = unaliased(ctx, data, &mut stms);
        add(&mut all, Type::array(elem, shape), value);
    }
    d.results(ctx, rest, &mut stms)?;
    Ok(Lifted { params, ret, body: Body { stms, result: all } })
}
