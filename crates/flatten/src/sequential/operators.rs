//! The accumulators of loops made of scans and reductions, and the operators that update them.
//!
//! An operator on arrays that is a map updates its accumulators element by element: these are the
//! loop's own, and are updated in place. Other operators return new values in each iteration.

use super::{bind, bound, inline};
use crate::context::{Ctx, atoms, row_slice};
use ir::PassError;
use ir::Soacs;
use ir::operator_map::{element_operator, operator_map};
use ir::soac::Operator;
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::Type;
use prim::PrimType;

/// Appends the loop parameters that hold the operators' accumulators. Arrays that an operator
/// updates element by element are copied, so that they are the loop's own.
pub(super) fn accumulators(
    ctx: &mut Ctx<'_>,
    operators: &[Operator<Soacs>],
    mut types: &[Type],
    aux: &Aux,
    out: &mut Vec<Stm<Soacs>>,
    params: &mut Vec<LoopParam<Soacs>>,
) {
    for operator in operators {
        let consumed = operator_map(operator).is_some();
        for (&neutral, ty) in operator.neutral.iter().zip(types) {
            let init = match neutral {
                Atom::Var(array) if consumed => bind(ctx, "ne", ty.clone(), BasicOp::Copy(array), aux, out),
                Atom::Var(_) | Atom::Const(_) => neutral,
            };
            params.push(LoopParam { param: ctx.fresh("acc", ty.clone()), init, consumed });
        }
        types = &types[operator.neutral.len()..];
    }
}

/// The arrays that a scan's results are written to, those of all operators or none, and the index
/// of the row.
pub(super) struct RowOutputs<'a> {
    pub(super) arrays: &'a [LoopParam<Soacs>],
    pub(super) row: Atom,
}

/// The result of applying operators.
#[derive(Default)]
pub(super) struct OperatorResults {
    /// The new values of the accumulators.
    pub(super) values: Vec<Atom>,
    /// For each value, the array that already has it as a row, if there is one.
    pub(super) written: Vec<Option<Atom>>,
}

/// Applies each operator to its accumulators and its new values.
pub(super) fn operators(
    ctx: &mut Ctx<'_>,
    operators: Vec<Operator<Soacs>>,
    (mut accs, mut values): (&[Atom], &[Atom]),
    mut outs: RowOutputs<'_>,
    aux: &Aux,
    stms: &mut Vec<Stm<Soacs>>,
) -> Result<OperatorResults, PassError> {
    let mut applied = OperatorResults::default();
    for operator in operators {
        let k = operator.neutral.len();
        let args: Vec<Atom> = accs[..k].iter().chain(&values[..k]).copied().collect();
        let (own, rest) = outs.arrays.split_at(k.min(outs.arrays.len()));
        if operator_map(&operator).is_some() {
            let arrays = own;
            let own = RowOutputs { arrays, ..outs };
            let (values, written) = in_place(ctx, &operator, &args, own, aux, stms)?;
            applied.values.extend(values);
            applied.written.extend(written);
        } else {
            let values = inline(operator.op, args, stms);
            applied.written.extend(values.iter().map(|_| None));
            applied.values.extend(values);
        }
        (accs, values, outs.arrays) = (&accs[k..], &values[k..], rest);
    }
    Ok(applied)
}

/// Applies an operator that is a map, as a loop that updates the accumulators in place, and the
/// rows of the results:
///
/// ```text
/// map f as xs   ==>   loop (a.. = as.., o.. = outs..) for j < m {
///                       let r.. = f a[j].. x[j]..
///                       in (a with [j] <- r.., o with [i, j] <- r..)
///                     }
/// ```
fn in_place(
    ctx: &mut Ctx<'_>,
    operator: &Operator<Soacs>,
    args: &[Atom],
    outs: RowOutputs<'_>,
    aux: &Aux,
    out: &mut Vec<Stm<Soacs>>,
) -> Result<(Vec<Atom>, Vec<Option<Atom>>), PassError> {
    let bug = || PassError::bug("an operator does not have the form it was checked for");
    let (width, _) = operator_map(operator).ok_or_else(bug)?;
    let element = element_operator(operator, &mut |hint, ty| ctx.fresh(hint, ty));
    let element = element.ok_or_else(bug)?;
    let (accs, values) = args.split_at(operator.neutral.len());
    let own = accs.iter().zip(&element.ret);
    let own = own.map(|(&init, row)| (init, row.array_of(width)));
    let rows = outs.arrays.iter().map(|p| &p.param);
    let rows = rows.map(|param| (param.name.into(), param.ty.clone()));
    let params: Vec<LoopParam<Soacs>> = own
        .chain(rows)
        .map(|(init, ty)| LoopParam { param: ctx.fresh("acc", ty), init, consumed: true })
        .collect();
    let var = ctx.fresh::<Soacs>("j", Type::I64).name;
    let mut stms = Vec::new();
    let own = params.iter().take(accs.len()).map(|p| Some(p.param.name));
    let value_names = values.iter().map(|value| value.var());
    for (param, array) in element.params.into_iter().zip(own.chain(value_names)) {
        let array = array.ok_or_else(bug)?;
        let slice = row_slice(&param.ty.array_of(width), var.into());
        let read = BasicOp::Index { array, slice };
        stms.push(Stm { pat: vec![param], aux: Aux::at(aux.prov), exp: Exp::Basic(read) });
    }
    stms.extend(element.body.stms);
    let new = element.body.result;
    let mut result = Vec::new();
    for (i, LoopParam { param, .. }) in params.iter().enumerate() {
        let mut slice = row_slice(&param.ty, var.into());
        let value = *new.get(i % accs.len()).ok_or_else(bug)?;
        if i >= accs.len() {
            slice = row_slice(&param.ty, outs.row);
            if let Some(inner) = slice.get_mut(1) {
                *inner = DimIndex::Fix(var.into());
            }
        }
        let array = param.name;
        let update = BasicOp::Update { array, slice, value };
        result.push(bind(ctx, "acc", param.ty.clone(), update, aux, &mut stms));
    }
    let pat: Vec<Param<Soacs>> = params.iter().map(|p| ctx.fresh("acc", p.param.ty.clone())).collect();
    let mut results = atoms(&pat);
    let form = LoopForm::For { var, ty: PrimType::I64, bound: bound(width)? };
    let body = Body { stms, result };
    out.push(Stm { pat, aux: Aux::at(aux.prov), exp: Exp::Loop { params, form, body } });
    let written = results.split_off(accs.len());
    let written = written.into_iter().map(Some).chain(std::iter::repeat(None));
    let written = written.take(accs.len()).collect();
    Ok((results, written))
}

/// Copies reduced arrays that may alias a value of an operator or an input: a loop's result has to
/// be a fresh array. Arrays that are the loop's `own` need no copy. Replaces the names in the
/// loop's pattern, and returns the copies that bind the old ones.
pub(super) fn copy_aliased(
    ctx: &mut Ctx<'_>,
    pat: &mut [Param<Soacs>],
    own: &[bool],
    aux: &Aux,
) -> Vec<Stm<Soacs>> {
    let mut copies = Vec::new();
    for (param, _) in pat.iter_mut().zip(own).filter(|(param, own)| param.ty.is_array() && !**own) {
        let last = ctx.fresh("last", param.ty.clone());
        let copy = Exp::Basic(BasicOp::Copy(last.name));
        let pat = vec![std::mem::replace(param, last)];
        copies.push(Stm { pat, aux: Aux::at(aux.prov), exp: copy });
    }
    copies
}
