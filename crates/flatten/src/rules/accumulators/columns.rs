//! Histograms of rows as histograms of columns, for machines whose tasks contain no tasks and that
//! cannot apply the operator atomically (rule G4 of incremental flattening): each column is a
//! histogram of scalars, and all of them are one segmented histogram.
//!
//! ```text
//! hist n (d by map op) \(x <- xs) -> (b, row)
//!   =>  let (bs, rows) = map \(x <- xs) -> (b, row)
//!       transpose (map (column <- transpose rows, c <- transpose d) ->
//!                    hist n (copy c by op) \(b <- bs, v <- column) -> (b, v))
//! ```

use super::array_operators::{Build, is_array_operator};
use crate::{Mapped, Pat};
use analysis::exact::atomic_operator;
use ir::operator_map::{element_operator, operator_map};
use ir::soac::{HistOp, Operator, Screma, Soac};
use ir::syntax::{BasicOp, Exp, Lambda};
use ir::types::{Dim, Type};
use ir::{Atom, Name, Soacs};
use rustc_hash::FxHashMap;

/// Returns true if all operators that work on arrays are maps of operators on scalars, and the
/// device cannot apply all of these atomically, as accumulators require.
pub(super) fn pays(b: &mut Build<'_>, ops: &[HistOp<Soacs>]) -> bool {
    let mut all_atomic = true;
    for HistOp { op, .. } in ops.iter().filter(|op| is_array_operator(&op.op)) {
        let Some(elements) = element_operator(op, &mut |hint, ty| b.param(hint, ty)) else {
            return false;
        };
        if elements.ret.iter().any(Type::is_array) {
            return false;
        }
        all_atomic = all_atomic && atomic_operator(&elements).is_some();
    }
    !all_atomic
}

/// Binds the results of a histogram of rows, computed by columns. [`pays`] holds for its operators;
/// their neutral elements repeat scalars, which `replicates` has.
pub(super) fn histogram(
    b: &mut Build<'_>,
    pat: Pat,
    (width, inputs, map): Mapped<'_>,
    ops: Vec<HistOp<Soacs>>,
    replicates: &FxHashMap<Name, Atom>,
) {
    let n_indices = ops.iter().map(|op| op.shape.len()).sum();
    let mapped = mapped_arrays(b, width, inputs, map);
    let (mut indices, mut values) = mapped.split_at(n_indices);
    let mut pat = pat.into_iter();
    for HistOp { shape, destinations, op } in ops {
        let (bins, rows);
        (bins, indices) = indices.split_at(shape.len());
        (rows, values) = values.split_at(destinations.len());
        let results: Pat = pat.by_ref().take(destinations.len()).collect();
        let inner = operator_map(&op).map(|(inner, _)| inner);
        let (true, Some(inner)) = (is_array_operator(&op), inner) else {
            let hist = scalar_histogram(b, width, [bins, rows].concat(), HistOp { shape, destinations, op });
            b.let_pat(results, Exp::Op(hist));
            continue;
        };
        let Some(elements) = element_operator(&op, &mut |hint, ty| b.param(hint, ty)) else {
            continue;
        };
        let scalar = |ne: &Atom| ne.var().and_then(|ne| replicates.get(&ne)).copied();
        let op =
            Operator { op: elements, neutral: op.neutral.iter().filter_map(scalar).collect(), comm: op.comm };
        let rank = shape.len();
        let columns: Vec<Name> = rows.iter().map(|row| transposed(b, *row, &[1, 0])).collect();
        let front: Vec<usize> = std::iter::once(rank).chain(0..rank).collect();
        let back: Vec<usize> = (1..=rank).chain([0]).collect();
        let destinations: Vec<Name> = destinations.iter().map(|dest| transposed(b, *dest, &front)).collect();
        let both: Vec<Name> = columns.iter().chain(&destinations).copied().collect();
        let made = b.map("columns", inner, &both, |b, own| {
            let (column, destinations) = own.split_at(columns.len());
            let copies = destinations.iter().map(|dest| b.let_basic("dest", BasicOp::Copy(*dest)));
            let destinations = copies.collect();
            let hist =
                scalar_histogram(b, width, [bins, column].concat(), HistOp { shape, destinations, op });
            b.let_op("column", hist).into_iter().map(Atom::Var).collect()
        });
        for (result, made) in results.into_iter().zip(made) {
            let perm = back.iter().copied().collect();
            let op = BasicOp::Rearrange { perm, array: made };
            b.let_pat(vec![result], Exp::Basic(op));
        }
    }
}

/// The arrays of the map's results for all iterations.
fn mapped_arrays(b: &mut Build<'_>, width: Dim, inputs: &[Name], map: Lambda<Soacs>) -> Vec<Name> {
    let own: FxHashMap<Name, Name> =
        (map.params.iter().zip(inputs)).map(|(param, input)| (param.name, *input)).collect();
    let value_name = |result: &Atom| own.get(&result.var()?).copied();
    match map.body.result.iter().map(value_name).collect() {
        Some(arrays) if map.body.stms.is_empty() => arrays,
        _ => b.let_op("mapped", Soac::Screma(Screma::map(width, inputs.to_vec(), map))),
    }
}

/// An array with its dimensions permuted.
fn transposed(b: &mut Build<'_>, array: Name, perm: &[usize]) -> Name {
    let perm = perm.iter().copied().collect();
    b.let_basic("transposed", BasicOp::Rearrange { perm, array })
}

/// A histogram of the elements of arrays: first the bins, then the values.
fn scalar_histogram(b: &mut Build<'_>, width: Dim, inputs: Vec<Name>, op: HistOp<Soacs>) -> Soac {
    let rows = b.row_types(&inputs);
    Soac::Hist { width, inputs, map: b.identity_lambda(&rows), ops: vec![op] }
}
