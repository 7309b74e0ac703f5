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
use crate::context::Let;
use crate::names::{Names, basic, part_slice};
use crate::{Mapped, Pat, Result, Stms, bug, nest};
use ir::name::Name;
use ir::soac::{HistOp, Screma};
use ir::syntax::{Atom, BasicOp, Body, Exp, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, substitute_body};
use ir::{Builder, PassError, Prov, Soacs};
use prim::{BinOp, CmpOp, PrimType, Scalar};

/// A combinator's width as a loop's bound.
pub(crate) fn bound(width: Dim) -> Result<Atom> {
    width.atom().ok_or_else(bug("a width is existential"))
}

/// Appends a screma as a loop of `bound` iterations, with its lambdas as they are. The rows of its
/// results from `bound` on have unspecified contents.
pub(crate) fn screma_loop(
    names: &mut Names<'_>,
    Let { mut pat, aux }: Let,
    (screma, bound): (Screma, Atom),
    out: &mut Stms<Soacs>,
) -> Result {
    let prov = aux.prov;
    let Screma { width, mut inputs, map, scan_reduce } = screma;
    let mut params: Vec<LoopParam<Soacs>> = Vec::new();
    let n_reduced = scan_reduce.n_reduced();
    let types = scan_reduce.values(&map.ret);
    accumulators(names, &scan_reduce.reduces, types.reduced, prov, out, &mut params);
    let element_types = scan_reduce.element_types(&map.ret);
    // Accumulators among the inputs are threaded through the loop: each accumulator result belongs
    // to the accumulator input of the same token.
    for ty in &element_types {
        if let Type::Acc { token, .. } = ty {
            let input = acc_input(names, &mut inputs, *token)?;
            let param = names.fresh("acc", ty.clone());
            let init = Atom::Var(std::mem::replace(input, param.name));
            params.push(LoopParam { param, init, consumed: false });
        } else {
            let param = names.fresh("out", ty.array_of(width));
            let init = scratch(names, &param.ty, prov, out)?.into();
            params.push(LoopParam { param, init, consumed: true });
        }
    }
    accumulators(names, &scan_reduce.scans, types.scanned, prov, out, &mut params);

    let mut stms = Vec::new();
    let index = names.fresh("i", Type::I64).name;
    bind_rows(names, map.params, &inputs, index, prov, &mut stms)?;
    stms.extend(map.body.stms);
    let mapped = map.body.result;
    let groups = scan_reduce.values(&mapped);
    let accs: Vec<Atom> = params.iter().map(|p| Atom::Var(p.param.name)).collect();
    let n_out = element_types.len();
    let row = Atom::Var(index);
    let outs = RowOutputs { arrays: &[], row };
    let values = (&accs[..n_reduced], groups.reduced);
    let reduced = operators(names, scan_reduce.reduces, values, outs, prov, &mut stms)?;
    let arrays = match scan_reduce.post {
        None => &params[n_reduced..n_reduced + groups.scanned.len()],
        Some(_) => &[],
    };
    let outs = RowOutputs { arrays, row };
    let values = (&accs[n_reduced + n_out..], groups.scanned);
    let scanned = operators(names, scan_reduce.scans, values, outs, prov, &mut stms)?;
    let elements: Vec<Atom> = scanned.values.iter().chain(groups.mapped).copied().collect();
    let elements = match scan_reduce.post {
        Some(post) => inline(post, elements, &mut stms),
        None => elements,
    };
    let mut result = reduced.values;
    let written = scanned.written.into_iter().chain(std::iter::repeat(None));
    let outs = params[n_reduced..n_reduced + n_out].iter().map(|p| &p.param);
    for ((Param { name, ty, .. }, element), written) in outs.zip(elements).zip(written) {
        result.push(match written {
            Some(written) => written,
            None if matches!(ty, Type::Acc { .. }) => element,
            None => {
                let slice = part_slice(ty, &[row]);
                let update = BasicOp::Update { array: *name, slice, value: element };
                names.bind_fresh(("out", ty.clone()), update, prov, &mut stms).into()
            }
        });
    }
    result.extend(scanned.values);

    let unused = params[n_reduced + n_out..].iter().map(|p| p.param.ty.clone());
    pat.extend(unused.map(|ty| names.fresh("last", ty)));
    let form = LoopForm::For { var: index, ty: PrimType::I64, bound };
    let own: Vec<bool> = params[..n_reduced].iter().map(|p| p.consumed).collect();
    let exp = Exp::Loop { params, form, body: Body { stms, result } };
    let copies = copy_aliased(names, &mut pat[..n_reduced], &own, prov);
    out.push(Stm { pat, aux, exp });
    out.extend(copies);
    Ok(())
}

fn acc_input<'i>(names: &Names<'_>, inputs: &'i mut [Name], token: Name) -> Result<&'i mut Name> {
    let is_same = |input: &&mut Name| {
        let ty = names.types.get(**input);
        matches!(ty, Some(Type::Acc { token: own, .. }) if *own == token)
    };
    let input = inputs.iter_mut().find(is_same);
    input.ok_or_else(bug("an accumulator result has no input"))
}

/// A fresh array of unspecified contents.
pub(crate) fn scratch(names: &mut Names<'_>, ty: &Type, prov: Prov, out: &mut Stms<Soacs>) -> Result<Name> {
    let Type::Array { elem, shape } = ty else {
        return Err(PassError::bug("a mapped result is not an array"));
    };
    let op = BasicOp::Scratch { elem: *elem, shape: shape.clone() };
    Ok(names.bind_fresh(("out", ty.clone()), op, prov, out))
}

/// Appends a histogram as a loop over the inputs: the destinations are updated in place where the
/// index is in bounds. Operators may work on arrays.
pub(crate) fn hist_loop(
    names: &mut Names<'_>,
    Let { pat, aux }: Let,
    (width, inputs, map): Mapped<'_>,
    ops: Vec<HistOp<Soacs>>,
    out: &mut Stms<Soacs>,
) -> Result {
    let mut params: Vec<LoopParam<Soacs>> = Vec::new();
    for &dest in ops.iter().flat_map(|op| &op.destinations) {
        let ty = names.type_of(dest)?;
        let param = names.fresh("dest", ty);
        params.push(LoopParam { param, init: Atom::Var(dest), consumed: true });
    }
    let mut stms = Vec::new();
    let index = names.fresh("i", Type::I64).name;
    bind_rows(names, map.params, inputs, index, aux.prov, &mut stms)?;
    stms.extend(map.body.stms);
    let n_indices: usize = ops.iter().map(|op| op.shape.len()).sum();
    let (mut indices, mut values) = map.body.result.split_at(n_indices);
    let mut destinations = params.iter().map(|p| p.param.name);
    let result = names.build(aux.prov, &mut stms, |b| {
        let mut result = Vec::new();
        for HistOp { shape, destinations: own, op } in ops {
            let (bucket, new);
            (bucket, indices) = indices.split_at(shape.len());
            (new, values) = values.split_at(own.len());
            let destinations: Vec<Name> = destinations.by_ref().take(own.len()).collect();
            let mut cond = Atom::Const(Scalar::Bool(true));
            for (&at, size) in bucket.iter().zip(shape.iter().filter_map(|dim| dim.atom())) {
                // An unsigned comparison refuses negative indices too.
                let below = BasicOp::compare(CmpOp::ULt, PrimType::I64, at, size);
                let below = b.let_basic("below", below);
                let inside = BasicOp::binary(BinOp::And, PrimType::Bool, cond, below);
                cond = b.let_basic("inside", inside).into();
            }
            let combine = |b: &mut Builder<'_, Soacs>, args| {
                let mut stms = Vec::new();
                let combined = inline(op.op, args, &mut stms);
                b.extend(stms);
                combined
            };
            let updated = update_bucket(b, cond, (&destinations, bucket, new), combine);
            result.extend(updated.into_iter().map(Atom::Var));
        }
        result
    });
    let form = LoopForm::For { var: index, ty: PrimType::I64, bound: bound(width)? };
    let exp = Exp::Loop { params, form, body: Body { stms, result } };
    out.push(Stm { pat, aux, exp });
    Ok(())
}

/// `if cond then dest with [bucket] <- combine dest[bucket] new else dest`.
pub(crate) fn update_bucket(
    b: &mut Builder<'_, Soacs>,
    cond: Atom,
    (destinations, bucket, new): (&[Name], &[Atom], &[Atom]),
    combine: impl FnOnce(&mut Builder<'_, Soacs>, Vec<Atom>) -> Vec<Atom>,
) -> Vec<Name> {
    let types = destinations.iter().map(|dest| b.type_of((*dest).into())).collect();
    b.if_(
        "dest",
        cond,
        types,
        |b| {
            let mut args = Vec::with_capacity(2 * destinations.len());
            for &dest in destinations {
                let old = b.index("old", dest, bucket);
                let is_array = b.type_of(old.into()).is_array();
                let old = if is_array { b.let_basic("old", BasicOp::Copy(old)) } else { old };
                args.push(Atom::Var(old));
            }
            args.extend_from_slice(new);
            let combined = combine(b, args);
            let updates = destinations.iter().zip(combined);
            updates.map(|(&dest, value)| b.update("dest", dest, bucket, value).into()).collect()
        },
        |_| destinations.iter().map(|dest| Atom::Var(*dest)).collect(),
    )
}

/// Appends statements that bind a lambda's parameters to one row of the inputs.
pub(crate) fn bind_rows(
    names: &Names<'_>,
    params: Pat,
    inputs: &[Name],
    index: Name,
    prov: Prov,
    out: &mut Stms<Soacs>,
) -> Result {
    for (param, &input) in params.into_iter().zip(inputs) {
        out.push(basic(param, nest::row(names, input, index.into())?, prov));
    }
    Ok(())
}

/// Appends a lambda's statements, with the arguments in place of its parameters; returns its results.
fn inline(lambda: Lambda<Soacs>, args: impl IntoIterator<Item = Atom>, out: &mut Stms<Soacs>) -> Vec<Atom> {
    let Lambda { params, mut body, .. } = lambda;
    let params = params.into_iter().map(|param| param.name);
    let map: Substitution = params.zip(args).collect();
    substitute_body(&mut body, &map);
    out.extend(body.stms);
    body.result
}
