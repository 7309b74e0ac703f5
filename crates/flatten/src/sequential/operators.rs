//! The accumulators of loops made of scans and reductions, and the operators that update them.
//!
//! An operator on arrays that is a map updates its accumulators element by element: these are the
//! loop's own, and are updated in place. Other operators return new values in each iteration.

use super::{bound, inline};
use crate::names::{Names, atoms, basic, part_slice};
use crate::{Result, Stms, bug};
use ir::operator_map::{element_operator, operator_map};
use ir::soac::Operator;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::Type;
use ir::{Prov, Soacs};
use prim::PrimType;

/// Appends the loop parameters that hold the operators' accumulators. Arrays that an operator
/// updates element by element are copied, so that they are the loop's own.
pub(super) fn accumulators(
    names: &mut Names<'_>,
    operators: &[Operator<Soacs>],
    mut types: &[Type],
    prov: Prov,
    out: &mut Stms<Soacs>,
    params: &mut Vec<LoopParam<Soacs>>,
) {
    for operator in operators {
        let consumed = operator_map(operator).is_some();
        for (&neutral, ty) in operator.neutral.iter().zip(types) {
            let init = match neutral {
                Atom::Var(array) if consumed => {
                    names.bind_fresh(("ne", ty.clone()), BasicOp::Copy(array), prov, out).into()
                }
                Atom::Var(_) | Atom::Const(_) => neutral,
            };
            params.push(LoopParam { param: names.fresh("acc", ty.clone()), init, consumed });
        }
        types = &types[operator.neutral.len()..];
    }
}

/// The arrays of a scan's results, those of all operators or none, and the index of the row.
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
    names: &mut Names<'_>,
    operators: Vec<Operator<Soacs>>,
    (mut accs, mut values): (&[Atom], &[Atom]),
    mut outs: RowOutputs<'_>,
    prov: Prov,
    stms: &mut Stms<Soacs>,
) -> Result<OperatorResults> {
    let mut applied = OperatorResults::default();
    for operator in operators {
        let k = operator.neutral.len();
        let args: Vec<Atom> = accs[..k].iter().chain(&values[..k]).copied().collect();
        let (own, rest) = outs.arrays.split_at(k.min(outs.arrays.len()));
        if operator_map(&operator).is_some() {
            let arrays = own;
            let own = RowOutputs { arrays, ..outs };
            let (values, written) = in_place(names, &operator, &args, own, prov, stms)?;
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
    names: &mut Names<'_>,
    operator: &Operator<Soacs>,
    args: &[Atom],
    outs: RowOutputs<'_>,
    prov: Prov,
    out: &mut Stms<Soacs>,
) -> Result<(Vec<Atom>, Vec<Option<Atom>>)> {
    let bug = bug("an operator does not have the form it was checked for");
    let (width, _) = operator_map(operator).ok_or_else(bug)?;
    let element = element_operator(operator, &mut |hint, ty| names.fresh(hint, ty)).ok_or_else(bug)?;
    let (accs, values) = args.split_at(operator.neutral.len());
    let own = accs.iter().zip(&element.ret).map(|(&init, row)| (init, row.array_of(width)));
    let rows = outs.arrays.iter().map(|p| &p.param).map(|param| (param.name.into(), param.ty.clone()));
    let params: Vec<LoopParam<Soacs>> = own
        .chain(rows)
        .map(|(init, ty)| LoopParam { param: names.fresh("acc", ty), init, consumed: true })
        .collect();
    let var = names.fresh("j", Type::I64).name;
    let mut stms = Vec::new();
    let own = params.iter().take(accs.len()).map(|p| Some(p.param.name));
    let value_names = values.iter().map(|value| value.var());
    for (param, array) in element.params.into_iter().zip(own.chain(value_names)) {
        let array = array.ok_or_else(bug)?;
        let slice = part_slice(&param.ty.array_of(width), &[var.into()]);
        stms.push(basic(param, BasicOp::Index { array, slice }, prov));
    }
    stms.extend(element.body.stms);
    let new = element.body.result;
    let mut result = Vec::new();
    for (i, LoopParam { param, .. }) in params.iter().enumerate() {
        let at = [outs.row, var.into()];
        let slice = part_slice(&param.ty, if i < accs.len() { &at[1..] } else { &at });
        let value = *new.get(i % accs.len()).ok_or_else(bug)?;
        let update = BasicOp::Update { array: param.name, slice, value };
        result.push(names.bind_fresh(("acc", param.ty.clone()), update, prov, &mut stms).into());
    }
    let types: Vec<Type> = params.iter().map(|p| p.param.ty.clone()).collect();
    let pat = names.fresh_all("acc", &types);
    let mut results = atoms(&pat);
    let form = LoopForm::For { var, ty: PrimType::I64, bound: bound(width)? };
    let body = Body { stms, result };
    out.push(Stm { pat, aux: Aux::at(prov), exp: Exp::Loop { params, form, body } });
    let written = results.split_off(accs.len()).into_iter().map(Some).chain(std::iter::repeat(None));
    let written = written.take(accs.len()).collect();
    Ok((results, written))
}

/// Copies reduced arrays that may alias a value of an operator or an input: a loop's result has to
/// be a fresh array. Arrays that are the loop's `own` need no copy. Replaces the names in the
/// loop's pattern, and returns the copies that bind the old ones.
pub(super) fn copy_aliased(
    names: &mut Names<'_>,
    pat: &mut [Param<Soacs>],
    own: &[bool],
    prov: Prov,
) -> Stms<Soacs> {
    let mut copies = Vec::new();
    for (param, _) in pat.iter_mut().zip(own).filter(|(param, own)| param.ty.is_array() && !**own) {
        let last = names.fresh("last", param.ty.clone());
        let copy = BasicOp::Copy(last.name);
        copies.push(basic(std::mem::replace(param, last), copy, prov));
    }
    copies
}
