//! Combinators as sequential loops.
//!
//! A screma of width `w` becomes
//!
//! ```text
//! let (reds.., outs.., scan_accs..) =
//!   loop (r.. = neutral.., o.. = scratch.., s.. = neutral..) for i < w do
//!     let x = xs[i]           -- each input's row
//!     <map>                   -- the map lambda's statements
//!     <r' = op r x>           -- each operator
//!     let o' = o with [i] <- element
//!     in (r'.., o'.., s'..)
//! ```
//!
//! so that one loop computes what the fused combinator computes, and its arrays are written in
//! place. The lambdas stay as they are: the caller flattens the loop for its position.

mod operators;

use self::operators::{RowOutputs, accumulators, copy_aliased, operators};
use crate::context::{Ctx, row_slice};
use ir::name::Name;
use ir::soac::{HistOp, Operator, Screma};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, substitute_body};
use ir::{PassError, Soacs};
use prim::{BinOp, CmpOp, PrimType};

/// A combinator's width as a loop's bound.
pub(crate) fn bound(width: Dim) -> Result<Atom, PassError> {
    let bound = width.atom();
    bound.ok_or_else(|| PassError::bug("a width is existential"))
}

/// Appends a screma as a loop of `bound` iterations, with its lambdas as they are. The rows of its
/// results from `bound` on have unspecified contents.
pub(crate) fn screma_loop(
    ctx: &mut Ctx<'_>,
    pat: Vec<Param<Soacs>>,
    aux: &Aux,
    (screma, bound): (Screma, Atom),
    out: &mut Vec<Stm<Soacs>>,
) -> Result<(), PassError> {
    let Screma { width, inputs, map, scan_reduce } = screma;
    let mut params: Vec<LoopParam<Soacs>> = Vec::new();
    let n_reduced = scan_reduce.n_reduced();
    let types = scan_reduce.values(&map.ret);
    accumulators(ctx, &scan_reduce.reduces, types.reduced, aux, out, &mut params);
    let element_types = scan_reduce.element_types(&map.ret);
    // Accumulators among the inputs are threaded through the loop: each accumulator result belongs
    // to the accumulator input of the same token.
    let mut inputs = inputs;
    for ty in &element_types {
        let param = match ty {
            Type::Acc { token, .. } => {
                let (position, init) = acc_input(ctx, &inputs, *token)?;
                let param = ctx.fresh("acc", ty.clone());
                inputs[position] = param.name;
                params.push(LoopParam { param, init: Atom::Var(init), consumed: false });
                continue;
            }
            Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => {
                ctx.fresh("out", ty.array_of(width))
            }
        };
        let init = scratch(ctx, &param.ty, aux, out)?;
        params.push(LoopParam { param, init: Atom::Var(init), consumed: true });
    }
    accumulators(ctx, &scan_reduce.scans, types.scanned, aux, out, &mut params);

    let mut stms = Vec::new();
    let index = ctx.fresh::<Soacs>("i", Type::I64).name;
    bind_rows(ctx, map.params, &inputs, index, aux, &mut stms)?;
    stms.extend(map.body.stms);
    let mapped = map.body.result;
    let groups = scan_reduce.values(&mapped);
    let accs: Vec<Atom> = params.iter().map(|p| Atom::Var(p.param.name)).collect();
    let n_out = element_types.len();
    let row = Atom::Var(index);
    let outs = RowOutputs { arrays: &[], row };
    let values = (&accs[..n_reduced], groups.reduced);
    let reduced = operators(ctx, scan_reduce.reduces, values, outs, aux, &mut stms)?;
    let arrays = match scan_reduce.post {
        None => &params[n_reduced..n_reduced + groups.scanned.len()],
        Some(_) => &[],
    };
    let outs = RowOutputs { arrays, row };
    let values = (&accs[n_reduced + n_out..], groups.scanned);
    let scanned = operators(ctx, scan_reduce.scans, values, outs, aux, &mut stms)?;
    let elements = scanned.values.iter().chain(groups.mapped);
    let elements: Vec<Atom> = elements.copied().collect();
    let elements = match scan_reduce.post {
        Some(post) => inline(post, elements, &mut stms),
        None => elements,
    };
    let mut result = reduced.values;
    let written = scanned.written.into_iter().chain(std::iter::repeat(None));
    let outs = params[n_reduced..n_reduced + n_out].iter();
    for ((param, element), written) in outs.zip(elements).zip(written) {
        if let Some(written) = written {
            result.push(written);
            continue;
        }
        if matches!(param.param.ty, Type::Acc { .. }) {
            result.push(element);
            continue;
        }
        let updated = ctx.fresh("out", param.param.ty.clone());
        result.push(Atom::Var(updated.name));
        let slice = row_slice(&param.param.ty, row);
        let update = BasicOp::Update { array: param.param.name, slice, value: element };
        stms.push(Stm { pat: vec![updated], aux: Aux::at(aux.prov), exp: Exp::Basic(update) });
    }
    result.extend(scanned.values);

    let mut pat = pat;
    for param in &params[n_reduced + n_out..] {
        let unused = ctx.fresh("last", param.param.ty.clone());
        pat.push(unused);
    }
    let form = LoopForm::For { var: index, ty: PrimType::I64, bound };
    let own: Vec<bool> = params[..n_reduced].iter().map(|p| p.consumed).collect();
    let exp = Exp::Loop { params, form, body: Body { stms, result } };
    let copies = copy_aliased(ctx, &mut pat[..n_reduced], &own, aux);
    out.push(Stm { pat, aux: aux.clone(), exp });
    out.extend(copies);
    Ok(())
}

fn acc_input(ctx: &Ctx<'_>, inputs: &[Name], token: Name) -> Result<(usize, Name), PassError> {
    for (position, &input) in inputs.iter().enumerate() {
        if matches!(ctx.type_of(input)?, Type::Acc { token: t, .. } if t == token) {
            return Ok((position, input));
        }
    }
    Err(PassError::bug("an accumulator result has no input"))
}

/// A fresh array of unspecified contents.
pub(crate) fn scratch(
    ctx: &mut Ctx<'_>,
    ty: &Type,
    aux: &Aux,
    out: &mut Vec<Stm<Soacs>>,
) -> Result<Name, PassError> {
    let Type::Array { elem, shape } = ty else {
        return Err(PassError::bug("a mapped result is not an array"));
    };
    let exp = Exp::Basic(BasicOp::Scratch { elem: *elem, shape: shape.clone() });
    let pat = ctx.fresh("out", ty.clone());
    let name = pat.name;
    out.push(Stm { pat: vec![pat], aux: Aux::at(aux.prov), exp });
    Ok(name)
}

/// Appends a histogram as a loop over the inputs: the destinations are updated in place where the
/// index is in bounds. Operators may work on arrays.
#[allow(clippy::too_many_arguments, reason = "the parts of one combinator and its position")]
pub(crate) fn hist_loop(
    ctx: &mut Ctx<'_>,
    pat: Vec<Param<Soacs>>,
    aux: &Aux,
    width: Dim,
    inputs: &[Name],
    map: Lambda<Soacs>,
    ops: Vec<HistOp<Soacs>>,
    out: &mut Vec<Stm<Soacs>>,
) -> Result<(), PassError> {
    let mut params: Vec<LoopParam<Soacs>> = Vec::new();
    for &dest in ops.iter().flat_map(|op| &op.destinations) {
        let ty = ctx.type_of(dest)?;
        let param = ctx.fresh("dest", ty);
        params.push(LoopParam { param, init: Atom::Var(dest), consumed: true });
    }
    let mut stms = Vec::new();
    let index = ctx.fresh::<Soacs>("i", Type::I64).name;
    bind_rows(ctx, map.params, inputs, index, aux, &mut stms)?;
    stms.extend(map.body.stms);
    let results = map.body.result;
    let n_indices: usize = ops.iter().map(|op| op.shape.len()).sum();
    let (mut indices, mut values) = results.split_at(n_indices);
    let mut at = 0;
    let mut result = Vec::new();
    for op in ops {
        let (bucket, more) = indices.split_at(op.shape.len());
        indices = more;
        let k = op.destinations.len();
        let (new, more) = values.split_at(k);
        values = more;
        let destinations: Vec<Param<Soacs>> = params[at..at + k].iter().map(|p| p.param.clone()).collect();
        at += k;
        result.extend(update_bucket(ctx, &op.shape, bucket, op.op, &destinations, new, aux, &mut stms)?);
    }
    let form = LoopForm::For { var: index, ty: PrimType::I64, bound: bound(width)? };
    let exp = Exp::Loop { params, form, body: Body { stms, result } };
    out.push(Stm { pat, aux: aux.clone(), exp });
    Ok(())
}

/// `if bucket is in bounds then dest with [bucket] <- op dest[bucket] new else dest`.
#[allow(clippy::too_many_arguments, reason = "the parts of one update and its position")]
fn update_bucket(
    ctx: &mut Ctx<'_>,
    shape: &[Dim],
    bucket: &[Atom],
    operator: Operator<Soacs>,
    destinations: &[Param<Soacs>],
    new: &[Atom],
    aux: &Aux,
    out: &mut Vec<Stm<Soacs>>,
) -> Result<Vec<Atom>, PassError> {
    let mut cond = Atom::Const(prim::Scalar::Bool(true));
    for (&at, dim) in bucket.iter().zip(shape) {
        let size = dim.atom().ok_or_else(|| PassError::bug("a size is existential"))?;
        // An unsigned comparison refuses negative indices too.
        let below = BasicOp::compare(CmpOp::ULt, PrimType::I64, at, size);
        let below = bind(ctx, "below", Type::BOOL, below, aux, out);
        let inside = BasicOp::binary(BinOp::And, PrimType::Bool, cond, below);
        cond = bind(ctx, "inside", Type::BOOL, inside, aux, out);
    }
    let mut stms = Vec::new();
    let mut old = Vec::new();
    for dest in destinations {
        let slice = bucket_slice(&dest.ty, bucket);
        let row = Type::array(
            dest.ty.elem().ok_or_else(|| PassError::bug("a destination is not an array"))?,
            dest.ty.shape().iter().skip(bucket.len()).copied(),
        );
        let read = BasicOp::Index { array: dest.name, slice };
        let mut value = bind(ctx, "old", row.clone(), read, aux, &mut stms);
        if let (true, Some(view)) = (row.is_array(), value.var()) {
            value = bind(ctx, "old", row, BasicOp::Copy(view), aux, &mut stms);
        }
        old.push(value);
    }
    let args: Vec<Atom> = old.into_iter().chain(new.iter().copied()).collect();
    let combined = inline(operator.op, args, &mut stms);
    let mut updated = Vec::new();
    for (dest, value) in destinations.iter().zip(combined) {
        let slice = bucket_slice(&dest.ty, bucket);
        let update = BasicOp::Update { array: dest.name, slice, value };
        updated.push(bind(ctx, "dest", dest.ty.clone(), update, aux, &mut stms));
    }
    let exp = Exp::If {
        cond,
        then_body: Body { stms, result: updated },
        else_body: Body {
            stms: Vec::new(),
            result: destinations.iter().map(|d| Atom::Var(d.name)).collect(),
        },
    };
    let pat: Vec<Param<Soacs>> = destinations.iter().map(|d| ctx.fresh("dest", d.ty.clone())).collect();
    let results = pat.iter().map(|p| Atom::Var(p.name)).collect();
    out.push(Stm { pat, aux: Aux::at(aux.prov), exp });
    Ok(results)
}

fn bucket_slice(ty: &Type, bucket: &[Atom]) -> Vec<DimIndex> {
    let full = |&count: &Dim| DimIndex::Slice { start: Atom::i64(0), count, stride: Atom::i64(1) };
    let rest = ty.shape().iter().skip(bucket.len()).map(full);
    bucket.iter().map(|&at| DimIndex::Fix(at)).chain(rest).collect()
}

pub(crate) fn bind(
    ctx: &mut Ctx<'_>,
    hint: &str,
    ty: Type,
    op: BasicOp,
    aux: &Aux,
    out: &mut Vec<Stm<Soacs>>,
) -> Atom {
    let pat = ctx.fresh(hint, ty);
    let name = pat.name;
    out.push(Stm { pat: vec![pat], aux: Aux::at(aux.prov), exp: Exp::Basic(op) });
    Atom::Var(name)
}

/// Appends statements that bind a map lambda's parameters to one row of the inputs (accumulators to
/// the input itself).
pub(crate) fn bind_rows(
    ctx: &mut Ctx<'_>,
    params: Vec<Param<Soacs>>,
    inputs: &[Name],
    index: Name,
    aux: &Aux,
    out: &mut Vec<Stm<Soacs>>,
) -> Result<(), PassError> {
    for (param, &input) in params.into_iter().zip(inputs) {
        let exp = match ctx.type_of(input)? {
            ty @ Type::Array { .. } => {
                BasicOp::Index { array: input, slice: row_slice(&ty, Atom::Var(index)) }
            }
            Type::Acc { .. } => BasicOp::Atom(Atom::Var(input)),
            Type::Prim(_) | Type::Cert | Type::Mem(_) => {
                return Err(PassError::bug("an input of a combinator is not an array"));
            }
        };
        out.push(Stm { pat: vec![param], aux: Aux::at(aux.prov), exp: Exp::Basic(exp) });
    }
    Ok(())
}

/// Inlines a lambda: the arguments replace its parameters, its statements are appended, its results
/// returned.
fn inline(
    lambda: Lambda<Soacs>,
    args: impl IntoIterator<Item = Atom>,
    out: &mut Vec<Stm<Soacs>>,
) -> Vec<Atom> {
    let Lambda { params, mut body, .. } = lambda;
    let params = params.into_iter().map(|param| param.name);
    let map: Substitution = params.zip(args).collect();
    substitute_body(&mut body, &map);
    out.extend(body.stms);
    body.result
}
