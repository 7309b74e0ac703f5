//! Scans, reductions, maps and histograms as loops.

use super::ScanReduceLoop;
use crate::soac::{HistOp, Screma};
use crate::syntax::{Atom, Aux, BasicOp, Exp, Lambda, LoopForm, LoopParam, Param};
use crate::types::{Dim, Type};
use crate::{Builder, Name, PassError, Soacs};
use prim::{BinOp, CmpOp, PrimType, Scalar};

/// A width as the bound of a loop.
///
/// # Errors
/// The width is existential.
pub fn bound(width: Dim) -> Result<Atom, PassError> {
    width.atom().ok_or_else(|| PassError::bug("a width is existential"))
}

/// Appends a screma as a loop of `rows` iterations, or of as many as it has rows. The rows of its
/// results from `rows` on have unspecified contents.
///
/// # Errors
/// The width is existential, or an accumulator among the results is not among the inputs.
pub fn screma(
    b: &mut Builder<'_, Soacs>,
    to: (Vec<Param<Soacs>>, Aux),
    s: Screma,
    rows: Option<Atom>,
) -> Result<(), PassError> {
    let Screma { width, mut inputs, map: Lambda { params, body, ret }, scan_reduce } = s;
    // Each accumulator result belongs to the accumulator input of the same token.
    let position = |result: &Type| {
        let Type::Acc { token, .. } = result else {
            return None;
        };
        let is_same = |ty: Option<&Type>| matches!(ty, Some(Type::Acc { token: own, .. }) if own == token);
        inputs.iter().position(|input| is_same(b.types.get(*input)))
    };
    let positions: Vec<usize> = scan_reduce.element_types(&ret).iter().filter_map(position).collect();
    let bound = rows.map_or_else(|| bound(width), Ok)?;
    let accs = positions.iter().map(|at| inputs[*at]).collect();
    ScanReduceLoop { width, bound, index: None, scan_reduce, ret, accs }.emit(b, to, |b, index, accs| {
        for (at, acc) in positions.iter().zip(accs) {
            inputs[*at] = *acc;
        }
        bind_rows(b, params, &inputs, index);
        b.extend(body.stms);
        body.result
    })
}

/// Binds a lambda's parameters to one row of the inputs.
pub(super) fn bind_rows(b: &mut Builder<'_, Soacs>, params: Vec<Param<Soacs>>, inputs: &[Name], index: Name) {
    for (param, &array) in params.into_iter().zip(inputs) {
        let op = if let Type::Acc { .. } = param.ty {
            BasicOp::Atom(array.into())
        } else {
            BasicOp::Index { array, slice: b.row_slice(array, &[index.into()]) }
        };
        b.let_pat(vec![param], Exp::Basic(op));
    }
}

/// Appends a histogram as a loop over the inputs: the destinations are updated in place where the
/// index is in bounds. Operators may work on arrays.
///
/// # Errors
/// The width is existential.
pub fn histogram(
    b: &mut Builder<'_, Soacs>,
    (pat, aux): (Vec<Param<Soacs>>, Aux),
    (width, inputs, map): (Dim, &[Name], Lambda<Soacs>),
    ops: Vec<HistOp<Soacs>>,
) -> Result<(), PassError> {
    let bound = bound(width)?;
    let destinations = ops.iter().flat_map(|op| &op.destinations).map(|&dest| {
        let ty = b.type_of(dest.into());
        LoopParam { param: b.param("dest", ty), init: dest.into(), consumed: true }
    });
    let params: Vec<LoopParam<Soacs>> = destinations.collect();
    let index = b.param("i", Type::I64).name;
    let body = b.body(|b| {
        bind_rows(b, map.params, inputs, index);
        b.extend(map.body.stms);
        let n_indices: usize = ops.iter().map(|op| op.shape.len()).sum();
        let (mut indices, mut values) = map.body.result.split_at(n_indices);
        let mut own = params.iter().map(|p| p.param.name);
        let mut result = Vec::new();
        for HistOp { shape, destinations, op } in ops {
            let (bucket, new);
            (bucket, indices) = indices.split_at(shape.len());
            (new, values) = values.split_at(destinations.len());
            let own: Vec<Name> = own.by_ref().take(destinations.len()).collect();
            let updated = update_bucket(b, (&own, &shape), (bucket, new), op.op);
            result.extend(updated.into_iter().map(Atom::Var));
        }
        result
    });
    let form = LoopForm::For { var: index, ty: PrimType::I64, bound };
    b.let_with(pat, aux, Exp::Loop { params, form, body });
    Ok(())
}

/// `if bucket < shape then dest with [bucket] <- op dest[bucket] new else dest`.
pub fn update_bucket(
    b: &mut Builder<'_, Soacs>,
    (destinations, shape): (&[Name], &[Dim]),
    (bucket, new): (&[Atom], &[Atom]),
    op: Lambda<Soacs>,
) -> Vec<Name> {
    let mut cond = Atom::Const(Scalar::Bool(true));
    for (&at, size) in bucket.iter().zip(shape.iter().filter_map(|dim| dim.atom())) {
        // An unsigned comparison refuses negative indices too.
        let below = b.let_basic("below", BasicOp::compare(CmpOp::ULt, PrimType::I64, at, size)).into();
        cond = match cond {
            Atom::Const(_) => below,
            Atom::Var(_) => {
                b.let_basic("inside", BasicOp::binary(BinOp::And, PrimType::Bool, cond, below)).into()
            }
        };
    }
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
            let combined = b.inline(op, args);
            let updates = destinations.iter().zip(combined);
            updates.map(|(&dest, value)| b.update("dest", dest, bucket, value).into()).collect()
        },
        |_| destinations.iter().map(|dest| Atom::Var(*dest)).collect(),
    )
}
