//! Dependencies of the results of combinators and segmented operations.
//!
//! Scans, reductions and maps are split into components: component `j` of an operator is its result
//! `j`, its parameters `j` and `k + j`, its neutral element and its input value.

use super::accs::{histograms, sweep_histograms, sweep_with_acc, with_acc};
use super::{Graph, Live, retain};
use crate::level::OptLevel;
use crate::simplify::Simplifier;
use ir::remark::OperationKind;
use ir::scan_reduce::ScanReduce;
use ir::seg::{Seg, SegKind, SegOp};
use ir::soac::{AccInput, Operator, Screma, Soac};
use ir::syntax::{Atom, Aux, Body, Lambda, Param};
use ir::types::Type;
use ir::walk::{Substitution, substitute_body};
use ir::{Segs, Soacs};

/// The values that a body passes to operators or maps out, with their types.
pub(super) struct Values<'a> {
    pub(super) results: &'a [Atom],
    pub(super) ret: &'a [Type],
}

pub(super) fn value_nodes(values: &Values<'_>, stm: u32, graph: &mut Graph) -> Vec<u32> {
    let Values { results, ret } = values;
    let nodes: Vec<u32> = results.iter().map(|_| graph.node()).collect();
    for ((node, result), ty) in nodes.iter().zip(*results).zip(*ret) {
        graph.need(*node, stm);
        graph.need_atom(*node, *result);
        graph.need_type(*node, ty);
    }
    nodes
}

/// Adds the components of an operator over these values, and returns their nodes.
pub(super) fn operator<L: OptLevel>(
    op: &Operator<L>,
    values: &[u32],
    stm: u32,
    graph: &mut Graph,
) -> Vec<u32> {
    let Operator { op, neutral, comm: _ } = op;
    let k = neutral.len();
    for param in &op.params {
        graph.binding(param, stm);
    }
    graph.body(&op.body);
    let mut nodes = Vec::with_capacity(k);
    for (j, neutral) in neutral.iter().enumerate() {
        let node = graph.node();
        nodes.push(node);
        graph.need(node, stm);
        if let Some(value) = values.get(j) {
            graph.need(node, *value);
        }
        graph.need_atom(node, *neutral);
        graph.need_atom(node, op.body.result[j]);
        graph.need_type(node, &op.ret[j]);
        graph.need(op.params[j].name.0, node);
        graph.need(op.params[k + j].name.0, node);
    }
    nodes
}

fn operators<L: OptLevel>(ops: &[Operator<L>], mut values: &[u32], stm: u32, graph: &mut Graph) -> Vec<u32> {
    let mut nodes = Vec::new();
    for op in ops {
        let (own, rest) = values.split_at(op.neutral.len().min(values.len()));
        nodes.extend(operator(op, own, stm, graph));
        values = rest;
    }
    nodes
}

fn scan_reduce_dependencies<L: OptLevel>(
    values: &Values<'_>,
    scan_reduce: &ScanReduce<L>,
    pat: &[Param<L>],
    stm: u32,
    graph: &mut Graph,
) {
    let nodes = value_nodes(values, stm, graph);
    let groups = scan_reduce.values(&nodes);
    let scanned = operators(&scan_reduce.scans, groups.scanned, stm, graph);
    let reduced = operators(&scan_reduce.reduces, groups.reduced, stm, graph);
    let elements = scanned.iter().chain(groups.mapped);
    if let Some(post) = &scan_reduce.post {
        for (param, element) in post.params.iter().zip(elements) {
            graph.binding(param, stm);
            graph.need(param.name.0, *element);
        }
        graph.body(&post.body);
        let own = Values { results: &post.body.result, ret: &post.ret };
        let after = value_nodes(&own, stm, graph);
        for (param, node) in pat.iter().zip(reduced.iter().chain(&after)) {
            graph.need(param.name.0, *node);
        }
    } else {
        for (param, node) in pat.iter().zip(reduced.iter().chain(elements)) {
            graph.need(param.name.0, *node);
        }
    }
}

/// Drops dead components. A component is live if `needed` says so or if one of its parameters is.
/// Returns a flag per component, true if it is kept.
fn sweep_operators<L: OptLevel>(ops: &mut Vec<Operator<L>>, needed: &[bool], live: &Live) -> Vec<bool> {
    let mut keep = Vec::with_capacity(needed.len());
    let mut at = 0;
    ops.retain_mut(|operator| {
        let k = operator.neutral.len();
        let own: Vec<bool> = (0..k)
            .map(|j| {
                let params = &operator.op.params;
                needed[at + j] || live.name(params[j].name) || live.name(params[k + j].name)
            })
            .collect();
        at += k;
        keep.extend_from_slice(&own);
        let both: Vec<bool> = own.iter().chain(&own).copied().collect();
        retain(&mut operator.op.params, &both);
        retain(&mut operator.op.ret, &own);
        retain(&mut operator.op.body.result, &own);
        retain(&mut operator.neutral, &own);
        live.sweep(&mut operator.op.body);
        !operator.neutral.is_empty()
    });
    keep
}

fn sweep_scan_reduce<L: OptLevel>(
    results: &mut Vec<Atom>,
    ret: &mut Vec<Type>,
    scan_reduce: &mut ScanReduce<L>,
    pat: &mut Vec<Param<L>>,
    live: &Live,
) {
    let n_scanned = scan_reduce.n_scanned();
    let alive: Vec<bool> = pat.iter().map(|param| live.name(param.name)).collect();
    let (reduced, rest) = scan_reduce.results(&alive);
    let keep_reduced = sweep_operators(&mut scan_reduce.reduces, reduced, live);
    let elements: Vec<bool> = match &scan_reduce.post {
        Some(post) => post.params.iter().map(|p| live.name(p.name)).collect(),
        None => rest.to_vec(),
    };
    let (scanned, mapped) = elements.split_at(n_scanned);
    let keep_scanned = sweep_operators(&mut scan_reduce.scans, scanned, live);
    let keep_values: Vec<bool> = keep_scanned.iter().chain(&keep_reduced).chain(mapped).copied().collect();
    retain(results, &keep_values);
    retain(ret, &keep_values);
    let keep_rest: Vec<bool> = if let Some(post) = &mut scan_reduce.post {
        let keep: Vec<bool> = keep_scanned.iter().chain(mapped).copied().collect();
        retain(&mut post.params, &keep);
        retain(&mut post.ret, rest);
        retain(&mut post.body.result, rest);
        live.sweep(&mut post.body);
        rest.to_vec()
    } else {
        keep_scanned.iter().chain(mapped).copied().collect()
    };
    let keep_pat: Vec<bool> = keep_reduced.iter().chain(&keep_rest).copied().collect();
    retain(pat, &keep_pat);
}

/// Appends a post lambda that follows no scan to the body, as a continuation of the mapped-out
/// values. Returns true if it did.
fn append_post<L: OptLevel>(
    body: &mut Body<L>,
    ret: &mut Vec<Type>,
    scan_reduce: &mut ScanReduce<L>,
) -> bool {
    if !scan_reduce.scans.is_empty() {
        return false;
    }
    let Some(post) = scan_reduce.post.take() else {
        return false;
    };
    let mapped = body.result.split_off(scan_reduce.n_reduced());
    ret.truncate(scan_reduce.n_reduced());
    // The post lambda consumes none of its parameters.
    let params = post.params.iter().map(|param| param.name);
    let same: Substitution = params.zip(mapped).collect();
    let mut rest = post.body;
    substitute_body(&mut rest, &same);
    body.stms.extend(rest.stms);
    body.result.extend(rest.result);
    ret.extend(post.ret);
    true
}

/// A flat map's arrays depend on the size, and each on its own value.
fn flat_map<L: OptLevel>(values: &Values<'_>, pat: &[Param<L>], stm: u32, graph: &mut Graph) {
    let nodes = value_nodes(values, stm, graph);
    if let Some(size) = nodes.first() {
        graph.need(stm, *size);
    }
    for (param, node) in pat.iter().zip(nodes) {
        graph.need(param.name.0, node);
    }
}

fn sweep_flat_map<L: OptLevel>(
    results: &mut Vec<Atom>,
    ret: &mut Vec<Type>,
    pat: &mut Vec<Param<L>>,
    live: &Live,
) {
    let own = pat.iter().enumerate();
    let keep: Vec<bool> = own.map(|(i, p)| i == 0 || live.name(p.name)).collect();
    retain(results, &keep);
    retain(ret, &keep);
    retain(pat, &keep);
}

fn consumed<L: OptLevel>(inputs: &[AccInput<L>]) -> usize {
    inputs.iter().map(|input| input.arrays.len()).sum()
}

impl OptLevel for Soacs {
    const IS_FLATTENED: bool = false;

    fn operation(op: &Soac) -> OperationKind {
        OperationKind::of(op)
    }

    fn dependencies(op: &Soac, pat: &[Param<Self>], stm: u32, graph: &mut Graph) {
        match op {
            Soac::Screma(Screma { width, inputs, map, scan_reduce }) => {
                input_dependencies(*width, inputs, map, stm, graph);
                let values = Values { results: &map.body.result, ret: &map.ret };
                scan_reduce_dependencies(&values, scan_reduce, pat, stm, graph);
            }
            Soac::Hist { width, inputs, map, ops } => {
                input_dependencies(*width, inputs, map, stm, graph);
                let values = Values { results: &map.body.result, ret: &map.ret };
                histograms(&values, ops, pat, stm, graph);
            }
            Soac::WithAcc { inputs, lambda } => with_acc(inputs, lambda, pat, stm, true, graph),
            Soac::Stream { width, inputs, init, lambda } => {
                input_dependencies(*width, inputs, lambda, stm, graph);
                for atom in init {
                    graph.need_atom(stm, *atom);
                }
                whole_results(lambda, stm, graph);
                for input in inputs {
                    graph.need_name(stm, *input);
                }
            }
            Soac::FlatMap { width, inputs, lambda } => {
                input_dependencies(*width, inputs, lambda, stm, graph);
                let values = Values { results: &lambda.body.result, ret: &lambda.ret };
                flat_map(&values, pat, stm, graph);
            }
            Soac::Jvp { args, seeds, directions, lambda } | Soac::Vjp { args, seeds, directions, lambda } => {
                let directions = directions.and_then(ir::Dim::atom);
                for atom in args.iter().chain(seeds).chain(&directions) {
                    graph.need_atom(stm, *atom);
                }
                graph.whole_lambda(lambda, stm);
            }
            Soac::WithVjp { args, lambda, adjoint } => {
                for atom in args {
                    graph.need_atom(stm, *atom);
                }
                graph.whole_lambda(lambda, stm);
                graph.whole_lambda(adjoint, stm);
            }
        }
    }

    fn is_fresh(op: &Soac, result: usize) -> bool {
        match op {
            // A reduction of an empty array returns its neutral element itself.
            Soac::Screma(screma) => result >= screma.scan_reduce.n_reduced(),
            Soac::Hist { .. } | Soac::Stream { .. } | Soac::FlatMap { .. } => true,
            Soac::WithAcc { inputs, lambda: _ } => result < consumed(inputs),
            ir::derivative_op!() => false,
        }
    }

    fn sweep(op: &mut Soac, pat: &mut Vec<Param<Self>>, live: &Live) {
        match op {
            Soac::Screma(Screma { width: _, inputs, map, scan_reduce }) => {
                sweep_scan_reduce(&mut map.body.result, &mut map.ret, scan_reduce, pat, live);
                append_post(&mut map.body, &mut map.ret, scan_reduce);
                sweep_inputs(inputs, map, live);
            }
            Soac::Hist { width: _, inputs, map, ops } => {
                sweep_histograms(&mut map.body.result, &mut map.ret, ops, pat, live);
                sweep_inputs(inputs, map, live);
            }
            Soac::WithAcc { inputs, lambda } => sweep_with_acc(inputs, lambda, pat, live),
            Soac::FlatMap { width: _, inputs, lambda } => {
                sweep_flat_map(&mut lambda.body.result, &mut lambda.ret, pat, live);
                sweep_inputs(inputs, lambda, live);
            }
            Soac::Stream { lambda, .. } | Soac::Jvp { lambda, .. } | Soac::Vjp { lambda, .. } => {
                live.sweep(&mut lambda.body);
            }
            Soac::WithVjp { lambda, adjoint, .. } => {
                live.sweep(&mut lambda.body);
                live.sweep(&mut adjoint.body);
            }
        }
    }

    fn simplify(s: &mut Simplifier<'_, Self>, pat: Vec<Param<Self>>, aux: Aux, op: Soac) {
        crate::simplify::combinators::soac::simplify(s, pat, aux, op);
    }
}

/// Adds the width, the inputs and the parameters bound to their rows.
fn input_dependencies(width: ir::Dim, inputs: &[ir::Name], map: &Lambda<Soacs>, stm: u32, graph: &mut Graph) {
    if let Some(width) = width.atom() {
        graph.need_atom(stm, width);
    }
    let rows = map.params.len() - inputs.len().min(map.params.len());
    for param in &map.params[..rows] {
        graph.binding(param, stm);
    }
    for (param, input) in map.params[rows..].iter().zip(inputs) {
        graph.binding(param, stm);
        graph.need_name(param.name.0, *input);
    }
    graph.body(&map.body);
}

fn whole_results(lambda: &Lambda<Soacs>, stm: u32, graph: &mut Graph) {
    graph.need_types(stm, &lambda.ret);
    for result in &lambda.body.result {
        graph.need_atom(stm, *result);
    }
}

fn sweep_inputs(inputs: &mut Vec<ir::Name>, map: &mut Lambda<Soacs>, live: &Live) {
    let keep: Vec<bool> = map.params.iter().map(|p| live.name(p.name)).collect();
    retain(inputs, &keep);
    retain(&mut map.params, &keep);
    live.sweep(&mut map.body);
}

fn seg_dependencies<L: OptLevel>(op: &SegOp<L>, pat: &[Param<L>], stm: u32, graph: &mut Graph) {
    match op {
        SegOp::Seg(Seg { level: _, space, kind, body, ret, decomp: _, identity_predicate: _ }) => {
            for (index, size) in &space.dims {
                graph.need(index.0, stm);
                if let Some(size) = size.atom() {
                    graph.need_atom(stm, size);
                }
            }
            graph.body(body);
            let values = Values { results: &body.result, ret };
            match kind {
                SegKind::ScanReduce(scan_reduce) => {
                    scan_reduce_dependencies(&values, scan_reduce, pat, stm, graph);
                }
                SegKind::Hist(ops) => histograms(&values, ops, pat, stm, graph),
                SegKind::FlatMap => flat_map(&values, pat, stm, graph),
            }
        }
        // Decompositions refer to the arrays of accumulators: all of them stay.
        SegOp::WithAcc { inputs, lambda } => with_acc(inputs, lambda, pat, stm, false, graph),
    }
}

fn seg_sweep<L: OptLevel>(op: &mut SegOp<L>, pat: &mut Vec<Param<L>>, live: &Live) {
    match op {
        SegOp::Seg(Seg { level: _, space: _, kind, body, ret, decomp, identity_predicate: _ }) => {
            match kind {
                SegKind::ScanReduce(scan_reduce) => {
                    sweep_scan_reduce(&mut body.result, ret, scan_reduce, pat, live);
                    if append_post(body, ret, scan_reduce) && scan_reduce.is_map() {
                        // Iterations of a map are independent of each other.
                        (decomp.width, decomp.accumulators, decomp.scan_block) = (1, 1, 1);
                    }
                }
                SegKind::Hist(ops) => sweep_histograms(&mut body.result, ret, ops, pat, live),
                SegKind::FlatMap => sweep_flat_map(&mut body.result, ret, pat, live),
            }
            live.sweep(body);
        }
        SegOp::WithAcc { inputs, lambda } => sweep_with_acc(inputs, lambda, pat, live),
    }
}

impl OptLevel for Segs {
    const IS_FLATTENED: bool = true;

    fn operation(op: &SegOp<Self>) -> OperationKind {
        OperationKind::of_segop(op)
    }

    fn dependencies(op: &SegOp<Self>, pat: &[Param<Self>], stm: u32, graph: &mut Graph) {
        seg_dependencies(op, pat, stm, graph);
    }

    fn is_fresh(op: &SegOp<Self>, result: usize) -> bool {
        match op {
            SegOp::Seg(_) => true,
            SegOp::WithAcc { inputs, lambda: _ } => result < consumed(inputs),
        }
    }

    fn sweep(op: &mut SegOp<Self>, pat: &mut Vec<Param<Self>>, live: &Live) {
        seg_sweep(op, pat, live);
    }

    fn simplify(s: &mut Simplifier<'_, Self>, pat: Vec<Param<Self>>, aux: Aux, op: SegOp<Self>) {
        crate::simplify::combinators::seg::simplify(s, pat, aux, op);
    }
}
