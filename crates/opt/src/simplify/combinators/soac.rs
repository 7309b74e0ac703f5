//! Second-order combinators: simplifies their lambdas, using facts about the elements, and removes
//! inputs and results that need no combinator.
//!
//! - A parameter over a replicate is the replicated value; two parameters over one array are
//!   merged.
//! - A mapped result that is the same in every iteration is a replicate; one that is an input is a
//!   copy of it; two equal ones are merged (with a copy); an accumulator that is passed through
//!   needs no map.
//! - Rules for maps over concatenations are in `concat_maps`, closed forms of scans and reductions
//!   of one value in `uniform_scans`.

use crate::dce::retain;
use crate::simplify::{Certs, Simplifier, add_certs};
use ir::scan_reduce::ScanReduce;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, Param};
use ir::types::{Dim, Shape, Type};
use ir::{Name, Soacs};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// Simplifies a combinator.
pub(crate) fn simplify(s: &mut Simplifier<'_, Soacs>, pat: Vec<Param<Soacs>>, mut aux: Aux, op: Soac) {
    match op {
        Soac::Screma(Screma { mut width, inputs, map, scan_reduce }) => {
            s.rewrite_dim(&mut width);
            let screma = Screma { width, inputs, map, scan_reduce };
            if let Some(maps) = s.split_over_concat(&pat, &aux, &screma) {
                for (pat, aux, op) in maps {
                    simplify(s, pat, aux, op);
                }
                return;
            }
            if s.expand(&pat, &aux, &screma) || s.expand_rows(&pat, &aux, &screma) {
                return;
            }
            if let Some((aux, nest)) = s.nest_over_rows(&aux, &screma) {
                simplify(s, pat, aux, nest);
                return;
            }
            let Screma { width, mut inputs, map, mut scan_reduce } = screma;
            let mut map = simplify_inputs(s, width, &mut inputs, map, &mut aux);
            s.scan_reduce(&mut scan_reduce, |_| {});
            if let Some(body) = s.uniform_body(width, &inputs, &mut map, &scan_reduce) {
                let result = s.splice(body, &aux);
                s.replicate_all(pat, &aux, width, &result);
                return;
            }
            let mut pat = pat;
            let (mut after, mut multiples) = (Vec::new(), Vec::new());
            if scan_reduce.post.is_none() {
                multiples = s.closed_results(width, &mut map, &mut scan_reduce, &mut pat);
                after = extract_mapped(s, width, &mut inputs, &mut map, &scan_reduce, &mut pat);
                scan_reduce.post = drop_scanned(s, &map.ret, &scan_reduce, &mut pat);
            }
            let dead = pat.is_empty();
            let screma = Screma { width, inputs, map, scan_reduce };
            if !dead {
                s.push_hoisted(pat, aux.clone(), screma);
            }
            for (param, op, certs) in after {
                let mut aux = aux.clone();
                add_certs(&mut aux.certs, &certs);
                s.basic(param, aux, op);
            }
            for multiple in multiples {
                if let Some((pat, map)) = s.bind_multiple(multiple, &aux, width) {
                    simplify(s, pat, aux.clone(), map);
                }
            }
        }
        Soac::Hist { mut width, mut inputs, map, mut ops } => {
            s.rewrite_dim(&mut width);
            let map = simplify_inputs(s, width, &mut inputs, map, &mut aux);
            s.histograms(&mut ops, &mut aux);
            let op = Soac::Hist { width, inputs, map, ops };
            s.push(pat, aux, Exp::Op(op));
        }
        Soac::WithAcc { inputs, lambda } => {
            if let Some((values, map)) = s.scatter_of_all(&pat, &aux, &inputs, &lambda) {
                let mut rest = pat;
                rest.drain(..values.len());
                let others = s.results(lambda.body.result[1..].to_vec());
                simplify(s, values, aux.clone(), map);
                s.bind_all(rest, &aux, &others);
                return;
            }
            s.with_acc(pat, aux, inputs, lambda, |inputs, lambda| Soac::WithAcc { inputs, lambda });
        }
        Soac::Stream { mut width, mut inputs, init, mut lambda } => {
            s.rewrite_dim(&mut width);
            for input in &mut inputs {
                s.rewrite_name(input, &mut aux.certs);
            }
            let init = s.results(init);
            s.replace_lambda(&mut lambda, false);
            let op = Soac::Stream { width, inputs, init, lambda };
            s.push(pat, aux, Exp::Op(op));
        }
        Soac::FlatMap { mut width, mut inputs, mut lambda } => {
            s.rewrite_dim(&mut width);
            for input in &mut inputs {
                s.rewrite_name(input, &mut aux.certs);
            }
            s.replace_lambda(&mut lambda, false);
            let op = Soac::FlatMap { width, inputs, lambda };
            s.push(pat, aux, Exp::Op(op));
        }
        mut op @ (ir::derivative_op!()) => {
            derivative(s, &mut op);
            s.push(pat, aux, Exp::Op(op));
        }
    }
}

/// Simplifies the operands and lambdas of a derivative or a function with its derivative.
fn derivative(s: &mut Simplifier<'_, Soacs>, op: &mut Soac) {
    match op {
        Soac::Jvp { args, seeds, directions, lambda } | Soac::Vjp { args, seeds, directions, lambda } => {
            *args = s.results(std::mem::take(args));
            *seeds = s.results(std::mem::take(seeds));
            if let Some(directions) = directions {
                s.rewrite_dim(directions);
            }
            s.replace_lambda(lambda, true);
        }
        Soac::WithVjp { args, lambda, adjoint } => {
            *args = s.results(std::mem::take(args));
            s.replace_lambda(lambda, true);
            s.replace_lambda(adjoint, true);
        }
        Soac::Screma(_)
        | Soac::Hist { .. }
        | Soac::WithAcc { .. }
        | Soac::Stream { .. }
        | Soac::FlatMap { .. } => {}
    }
}

/// Simplifies the inputs and the lambda over their rows.
fn simplify_inputs(
    s: &mut Simplifier<'_, Soacs>,
    width: Dim,
    inputs: &mut Vec<Name>,
    mut map: Lambda<Soacs>,
    aux: &mut Aux,
) -> Lambda<Soacs> {
    for input in inputs.iter_mut() {
        s.rewrite_name(input, &mut aux.certs);
    }
    let mut keep = vec![true; inputs.len()];
    let mut seen: FxHashMap<Name, Name> = FxHashMap::default();
    for (i, (param, input)) in map.params.iter().zip(inputs.iter()).enumerate() {
        let mut param = param.clone();
        s.rewrite_param(&mut param);
        s.declare_type(&param);
        if matches!(param.ty, Type::Acc { .. }) {
            continue;
        }
        let value = match seen.get(input) {
            Some(first) => Some(Atom::Var(*first)),
            None => repeated(s, *input, aux),
        };
        match value {
            Some(value) if s.rewrite() => {
                keep[i] = false;
                s.bind_atom(param, Aux::at(aux.prov), value);
            }
            _ => {
                seen.insert(*input, param.name);
            }
        }
    }
    retain(inputs, &keep);
    retain(&mut map.params, &keep);
    let runs = s.known.positive(width);
    s.lambda(map, runs, |s, params| {
        let depth = s.known.current();
        s.ranges_at(depth, |ranges| ranges.nonempty(width));
        s.runs_where_positive(&[width]);
        for (param, input) in params.iter().zip(inputs.iter()) {
            if let Some(bound) = s.known.def(*input).and_then(|def| def.op.as_indices()?.atom()) {
                s.ranges_at(depth, |ranges| ranges.index(param.name, bound));
            }
        }
    })
}

/// The value of every row of the array, if all rows are the same.
fn repeated(s: &mut Simplifier<'_, Soacs>, input: Name, aux: &mut Aux) -> Option<Atom> {
    let def = s.known.def(input)?.clone();
    let BasicOp::Replicate { shape, value } = &def.op else {
        return None;
    };
    if s.fuel.is_exhausted() {
        return None;
    }
    let value = if shape.len() == 1 {
        *value
    } else {
        let op = BasicOp::Replicate { shape: Shape::from_slice(&shape[1..]), value: *value };
        let mut inner = aux.clone();
        add_certs(&mut inner.certs, &def.certs);
        s.make("row", &inner, op)
    };
    // A value that is consumed later, while its replicate is still live, is not shared.
    let shared =
        value.var().is_none_or(|name| !s.known.type_of(name).is_array() || !s.known.aliases.consumed(name));
    if !shared {
        return None;
    }
    add_certs(&mut aux.certs, &def.certs);
    Some(value)
}

/// Returns a post lambda that drops unused scanned values, if there are any: they are computed for
/// the others, but not stored.
fn drop_scanned(
    s: &mut Simplifier<'_, Soacs>,
    types: &[Type],
    scan_reduce: &ScanReduce<Soacs>,
    pat: &mut Vec<Param<Soacs>>,
) -> Option<Lambda<Soacs>> {
    let (reduced, elements) = scan_reduce.results(pat);
    let keep: Vec<bool> = elements
        .iter()
        .enumerate()
        .map(|(i, param)| i >= scan_reduce.n_scanned() || s.known.is_used(param.name))
        .collect();
    if !keep.contains(&false) || !keep.contains(&true) || !s.rewrite() {
        return None;
    }
    let keep_pat = [vec![true; reduced.len()], keep.clone()].concat();
    let mut ret = scan_reduce.element_types(types);
    let params: Vec<Param<Soacs>> = ret.iter().map(|ty| s.fresh("x", ty.clone())).collect();
    let mut result = params.iter().map(|param| Atom::Var(param.name)).collect();
    retain(&mut result, &keep);
    retain(&mut ret, &keep);
    retain(pat, &keep_pat);
    let stms = Vec::new();
    Some(Lambda { params, body: Body { stms, result }, ret })
}

/// Returns an outside array if each iteration returns that array's row at its own index.
fn own_rows(
    s: &Simplifier<'_, Soacs>,
    (width, rows): (Dim, &FxHashMap<Name, Name>),
    body: &Body<Soacs>,
    result: Atom,
) -> Option<(Name, Certs)> {
    let [row] = body.stms.as_slice() else {
        return None;
    };
    let (Exp::Basic(BasicOp::Index { array, slice }), [param]) = (&row.exp, row.pat.as_slice()) else {
        return None;
    };
    let [DimIndex::Fix(Atom::Var(index)), rest @ ..] = slice.as_slice() else {
        return None;
    };
    s.known.def(*rows.get(index)?)?.op.as_indices()?;
    let ty = s.known.type_of(*array);
    let (first, inner) = ty.shape().split_first()?;
    let whole = rest.iter().zip(inner).all(|(at, dim)| at.is_full(*dim));
    let outside = |name: &Name| s.known.in_scope(Atom::Var(*name));
    let known = outside(array) && row.aux.certs.iter().all(outside);
    let own = result == Atom::Var(param.name) && *first == width && !rest.is_empty();
    (own && whole && known).then(|| (*array, row.aux.certs.clone()))
}

/// Removes mapped results that need no combinator, and returns the operations that compute them.
fn extract_mapped(
    s: &mut Simplifier<'_, Soacs>,
    width: Dim,
    inputs: &mut Vec<Name>,
    map: &mut Lambda<Soacs>,
    scan_reduce: &ScanReduce<Soacs>,
    pat: &mut Vec<Param<Soacs>>,
) -> Vec<(Param<Soacs>, BasicOp, Certs)> {
    let first = scan_reduce.n_accumulated();
    let (mut rows, mut accs) = (FxHashMap::default(), FxHashMap::default());
    for (i, (param, input)) in map.params.iter().zip(inputs.iter()).enumerate() {
        if matches!(param.ty, Type::Acc { .. }) {
            accs.insert(param.name, i);
        } else {
            rows.insert(param.name, *input);
        }
    }
    let mut keep_inputs = vec![true; inputs.len()];
    let mut known: FxHashMap<Atom, Name> = FxHashMap::default();
    let mut keep = vec![true; map.ret.len()];
    let mut after = Vec::new();
    for i in first..map.ret.len() {
        if map.ret[i].elem().is_none() {
            // An accumulator that is passed through, with no other use.
            if let Some(at) = map.body.result[i].var().and_then(|name| accs.get(&name))
                && s.rewrite()
            {
                keep[i] = false;
                keep_inputs[*at] = false;
                let acc = Atom::Var(inputs[*at]);
                after.push((pat[i].clone(), BasicOp::Atom(acc), Certs::new()));
            }
            continue;
        }
        let result = map.body.result[i];
        let mut certs = Certs::new();
        let op = if s.known.in_scope(result) {
            Some(BasicOp::Replicate { shape: smallvec![width], value: result })
        } else if let Some(input) = result.var().and_then(|name| rows.get(&name)) {
            Some(BasicOp::Copy(*input))
        } else if let Some((op, more)) = s.rows_concatenated(result, &rows) {
            certs = more;
            Some(op)
        } else if let Some((array, more)) = own_rows(s, (width, &rows), &map.body, result) {
            certs = more;
            Some(BasicOp::Copy(array))
        } else {
            let same = known.get(&result).copied();
            same.map(BasicOp::Copy)
        };
        match op {
            Some(op) if s.rewrite() => {
                keep[i] = false;
                s.use_more(&op);
                after.push((pat[i].clone(), op, certs));
            }
            _ => {
                known.insert(result, pat[i].name);
            }
        }
    }
    if after.is_empty() {
        return after;
    }
    retain(inputs, &keep_inputs);
    retain(&mut map.params, &keep_inputs);
    retain(&mut map.ret, &keep);
    retain(&mut map.body.result, &keep);
    // Reduced results come first in the pattern, scanned ones in the values: their total number is
    // the same.
    retain(pat, &keep);
    after
}
