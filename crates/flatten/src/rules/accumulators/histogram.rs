//! Histograms whose operator works on arrays, as accumulators: where the operator is a map over
//! arrays of scalars, accumulator and map are interchanged afterwards (rule G4 of incremental
//! flattening), and the iterations are parallel.
//!
//! ```text
//! hist n (d by map op) \(x <- xs) -> (b, row)
//!   =>  withacc (d by map op) \(t, acc) ->
//!         map (x <- xs, a <- acc) -> updateacc a (b) (row)
//! ```
//!
//! Any other operator is applied sequentially, which a histogram already expresses.

use super::array_operators::{Build, is_array_operator};
use crate::Mapped;
use crate::names::accumulator;
use ir::operator_map::operator_map;
use ir::soac::{AccInput, HistOp};
use ir::syntax::{BasicOp, Lambda};
use ir::{Atom, Name, Soacs};
use rustc_hash::FxHashMap;

/// Returns true if operators work on arrays, all of them maps with neutral elements of one scalar.
pub(super) fn is_row_histogram(ops: &[HistOp<Soacs>], replicates: &FxHashMap<Name, Atom>) -> bool {
    let repeats = |ne: &Atom| ne.var().is_some_and(|ne| replicates.contains_key(&ne));
    let arrays = || ops.iter().map(|op| &op.op).filter(|op| is_array_operator(op));
    let mut maps = arrays().map(|op| operator_map(op).is_some() && op.neutral.iter().all(repeats));
    arrays().next().is_some() && maps.all(|is_map| is_map)
}

/// The accumulators of a histogram, and the lambda that updates them in all iterations.
pub(super) fn as_accumulators(
    b: &mut Build<'_>,
    (width, inputs, map): Mapped<'_>,
    ops: Vec<HistOp<Soacs>>,
) -> (Vec<AccInput<Soacs>>, Lambda<Soacs>) {
    let (mut tokens, mut params) = (Vec::new(), Vec::new());
    for HistOp { shape, op, .. } in &ops {
        let [token, acc] = accumulator(b, op.op.ret.clone(), shape);
        tokens.push(token);
        params.push(acc);
    }
    let accs: Vec<Name> = params.iter().map(|acc| acc.name).collect();
    let rows: Vec<Name> = inputs.iter().chain(&accs).copied().collect();
    let body = b.body(|b| {
        let updated = b.map("acc", width, &rows, |b, names| {
            let (elements, accs) = names.split_at(inputs.len());
            let results = b.inline(map, atoms(elements));
            let n_indices = ops.iter().map(|op| op.shape.len()).sum();
            let (mut indices, mut values) = results.split_at(n_indices);
            let update = |(op, acc): (&HistOp<Soacs>, &Name)| {
                let (index, value);
                (index, indices) = indices.split_at(op.shape.len());
                (value, values) = values.split_at(op.destinations.len());
                let update = BasicOp::UpdateAcc {
                    acc: *acc,
                    index: index.iter().copied().collect(),
                    values: value.to_vec(),
                };
                b.let_basic("acc", update).into()
            };
            ops.iter().zip(accs).map(update).collect()
        });
        atoms(&updated)
    });
    let lambda = Lambda {
        ret: params.iter().map(|acc| acc.ty.clone()).collect(),
        params: tokens.into_iter().chain(params).collect(),
        body,
    };
    let accs = ops.into_iter().map(|HistOp { shape, destinations, op }| AccInput {
        shape,
        arrays: destinations,
        op: Some(op),
    });
    (accs.collect(), lambda)
}

fn atoms(names: &[Name]) -> Vec<Atom> {
    names.iter().map(|name| Atom::Var(*name)).collect()
}
