//! Histograms whose operator works on arrays, as accumulators: where the operator is a
//! map from arrays of scalars, accumulator and map change places afterwards (rule G4 of
//! incremental flattening), and points go in parallel.
//!
//! ```text
//! hist n (d by map op) \(x <- xs) -> (b, row)
//!   =>  withacc (d by map op) \(t, acc) ->
//!         map (x <- xs, a <- acc) -> updateacc a (b) (row)
//! ```
//!
//! Any other operator is applied in order, which a histogram already says.

use super::{Build, on_arrays};
use ir::interchange::operator_map;
use ir::soac::{AccInput, HistOp, Operator, Screma, Soac};
use ir::syntax::{Aux, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::{Atom, Folds, Name, Soacs};
use rustc_hash::FxHashMap;

/// Whether some operator works on arrays, and all that do are maps that start from copies of
/// one scalar.
pub(super) fn by_rows(ops: &[HistOp<Soacs>], replicates: &FxHashMap<Name, Atom>) -> bool {
    let repeats = |ne: &Atom| ne.var().is_some_and(|ne| replicates.contains_key(&ne));
    let is_map =
        |op: &Operator<Soacs>| operator_map(op).is_some() && op.neutral.iter().all(repeats);
    let mut arrays = ops.iter().map(|op| &op.op).filter(|op| on_arrays(op));
    ops.iter().any(|op| on_arrays(&op.op)) && arrays.all(is_map)
}

/// The accumulators of a histogram, and the lambda that updates them at all points.
pub(super) fn accumulated(
    b: &mut Build<'_>,
    width: Dim,
    inputs: &[Name],
    map: Lambda<Soacs>,
    ops: Vec<HistOp<Soacs>>,
) -> (Vec<AccInput<Soacs>>, Lambda<Soacs>) {
    let (mut tokens, mut outer, mut inner) = (Vec::new(), Vec::new(), Vec::new());
    let (mut accs, mut updates, mut updated) = (Vec::new(), Vec::new(), Vec::new());
    let Lambda {
        mut params,
        body: Body { mut stms, result },
        ret: _,
    } = map;
    let n_indices = ops.iter().map(|op| op.shape.len()).sum();
    let (mut indices, mut values) = result.split_at(n_indices);
    for HistOp { shape, dests, op } in ops {
        let token = b.param("token", Type::Cert);
        let ty = Type::Acc {
            token: token.name,
            shape: shape.clone(),
            elems: op.op.ret.clone(),
        };
        let (index, value);
        (index, indices) = indices.split_at(shape.len());
        (value, values) = values.split_at(dests.len());
        let own = b.param("acc", ty.clone());
        let next = b.param("acc", ty.clone());
        updates.push(Stm {
            pat: vec![next.clone()],
            aux: Aux::at(b.prov),
            exp: Exp::Basic(BasicOp::UpdateAcc {
                acc: own.name,
                index: index.iter().copied().collect(),
                values: value.to_vec(),
            }),
        });
        updated.push(next);
        inner.push(own);
        outer.push(b.param("acc", ty.clone()));
        tokens.push(token);
        accs.push(AccInput {
            shape,
            arrays: dests,
            op: Some(op),
        });
    }
    stms.append(&mut updates);
    params.append(&mut inner);
    let types: Vec<Type> = updated.iter().map(|acc| acc.ty.clone()).collect();
    let each = Lambda {
        params,
        body: Body {
            stms,
            result: atoms(&updated),
        },
        ret: types.clone(),
    };
    let pat: Vec<Param<Soacs>> = types.iter().map(|ty| b.param("acc", ty.clone())).collect();
    let result = atoms(&pat);
    let inputs = inputs.iter().copied();
    let all = Stm {
        pat,
        aux: Aux::at(b.prov),
        exp: Exp::Op(Soac::Screma(Screma {
            width,
            inputs: inputs.chain(outer.iter().map(|acc| acc.name)).collect(),
            map: each,
            folds: Folds::default(),
        })),
    };
    let lambda = Lambda {
        params: tokens.into_iter().chain(outer).collect(),
        body: Body {
            stms: vec![all],
            result,
        },
        ret: types,
    };
    (accs, lambda)
}

fn atoms(params: &[Param<Soacs>]) -> Vec<Atom> {
    params.iter().map(|param| param.name.into()).collect()
}
