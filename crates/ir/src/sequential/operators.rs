//! The values of operators in loops, and the operators that update them.

use crate::build::LoopInit;
use crate::operator_map::{element_operator, operator_map};
use crate::soac::Operator;
use crate::syntax::{Atom, BasicOp, Exp, Lambda, Level, LoopForm, LoopParam};
use crate::types::Type;
use crate::{Builder, Name};
use prim::PrimType;

/// The loop parameters that hold the operators' values, of these types. Arrays that an operator
/// updates element by element are copied, so that they are the loop's own.
pub(super) fn starts<L: Level>(
    b: &mut Builder<'_, L>,
    operators: &[Operator<L>],
    mut types: &[Type],
) -> Vec<LoopParam<L>> {
    let mut params = Vec::new();
    for operator in operators {
        let consumed = operator_map(operator).is_some();
        for (&neutral, ty) in operator.neutral.iter().zip(types) {
            let init = match neutral {
                Atom::Var(array) if consumed => {
                    b.bind("ne", ty.clone(), Exp::Basic(BasicOp::Copy(array))).into()
                }
                Atom::Var(_) | Atom::Const(_) => neutral,
            };
            params.push(LoopParam { param: b.param("acc", ty.clone()), init, consumed });
        }
        types = &types[operator.neutral.len()..];
    }
    params
}

/// Applies each operator to its values so far and its new values. Returns the results, and for each
/// the array that already has it as a row, if there is one: `outs` has the arrays of a scan's
/// results, those of all operators or none, and the index of the row.
pub(super) fn apply<L: Level>(
    b: &mut Builder<'_, L>,
    operators: Vec<Operator<L>>,
    (mut accs, mut values): (&[Name], &[Atom]),
    (mut outs, row): (&[Name], Atom),
) -> (Vec<Atom>, Vec<Option<Atom>>) {
    let (mut results, mut written) = (Vec::new(), Vec::new());
    for operator in operators {
        let k = operator.neutral.len();
        let (own, new, to);
        (own, accs) = accs.split_at(k);
        (new, values) = values.split_at(k);
        (to, outs) = outs.split_at(k.min(outs.len()));
        let (applied, rows) = match element_operator(&operator, &mut |hint, ty| b.param(hint, ty)) {
            Some(element) => in_place(b, element, (own, new), (to, row)),
            None => {
                let args = own.iter().map(|acc| Atom::Var(*acc)).chain(new.iter().copied());
                (b.inline(operator.op, args), Vec::new())
            }
        };
        written.extend(rows.into_iter().map(Some).chain(std::iter::repeat(None)).take(k));
        results.extend(applied);
    }
    (results, written)
}

/// Applies an operator that is a map, as a loop that updates its values in place, and the rows of
/// the results:
///
/// ```text
/// map f as xs   ==>   loop (a.. = as.., o.. = outs..) for j < m {
///                       let r.. = f a[j].. x[j]..
///                       in (a with [j] <- r.., o with [i, j] <- r..)
///                     }
/// ```
fn in_place<L: Level>(
    b: &mut Builder<'_, L>,
    element: Lambda<L>,
    (accs, values): (&[Name], &[Atom]),
    (outs, row): (&[Name], Atom),
) -> (Vec<Atom>, Vec<Atom>) {
    let k = accs.len();
    let inits = accs.iter().chain(outs).map(|&init| {
        let ty = b.type_of(init.into());
        LoopInit { hint: "acc".to_owned(), ty, init: init.into(), consumed: true }
    });
    let inits: Vec<LoopInit> = inits.collect();
    let width = inits.first().and_then(|init| init.ty.shape().first()?.atom());
    let var = b.param("j", Type::I64).name;
    let form = LoopForm::For { var, ty: PrimType::I64, bound: width.unwrap_or(Atom::i64(0)) };
    let results = b.loop_(form, inits, |b, state| {
        let arrays = state[..k].iter().copied().chain(values.iter().filter_map(|value| value.var()));
        for (param, array) in element.params.into_iter().zip(arrays) {
            let slice = b.row_slice(array, &[var.into()]);
            b.let_pat(vec![param], Exp::Basic(BasicOp::Index { array, slice }));
        }
        b.extend(element.body.stms);
        let new = element.body.result;
        let each = state.iter().enumerate().map(|(i, &array)| {
            let at = [row, var.into()];
            b.update("acc", array, if i < k { &at[1..] } else { &at }, new[i % k]).into()
        });
        each.collect()
    });
    let mut results: Vec<Atom> = results.into_iter().map(Atom::Var).collect();
    let rows = results.split_off(k);
    (results, rows)
}
