//! Dependencies of the results of histograms and accumulators, which are split into components as
//! well.
//!
//! An array of a histogram or of an accumulator is live if its result is, or if the operator
//! computes another live component from it. If it is dead, its values are removed from every
//! update, and its neutral element from the operator.

use super::ops::{Values, operator, value_nodes};
use super::{Graph, Live, retain};
use crate::level::OptLevel;
use ir::Name;
use ir::soac::{AccInput, HistOp, Operator};
use ir::syntax::{Atom, BasicOp, Exp, Lambda, Param, Stm};
use ir::types::Type;
use ir::walk::VisitMut;
use rustc_hash::FxHashMap;

pub(super) fn histograms<L: OptLevel>(
    values: &Values<'_>,
    ops: &[HistOp<L>],
    pat: &[Param<L>],
    stm: u32,
    graph: &mut Graph,
) {
    let nodes = value_nodes(values, stm, graph);
    let n_indices: usize = ops.iter().map(|op| op.shape.len()).sum();
    let (mut indices, mut rest) = nodes.split_at(n_indices);
    let mut pat = pat;
    for HistOp { shape, destinations, op } in ops {
        let node = graph.node();
        graph.need(node, stm);
        for size in shape.iter().filter_map(|dim| dim.atom()) {
            graph.need_atom(node, size);
        }
        let (own, more) = indices.split_at(shape.len());
        indices = more;
        for index in own {
            graph.need(node, *index);
        }
        let (new, more) = rest.split_at(destinations.len());
        rest = more;
        let components = operator(op, new, stm, graph);
        let (bound, more) = pat.split_at(destinations.len());
        pat = more;
        for ((component, dest), param) in components.iter().zip(destinations).zip(bound) {
            graph.need(*component, node);
            graph.need_name(*component, *dest);
            graph.need(param.name.0, *component);
        }
    }
}

/// Returns the liveness of each component of an operator with these results.
fn needed<L: OptLevel>(op: &Operator<L>, results: &[Param<L>], live: &Live) -> Vec<bool> {
    let k = results.len();
    let params = &op.op.params;
    let own = |j: usize| [j, k + j].iter().any(|at| live.name(params[*at].name));
    let each = results.iter().enumerate();
    each.map(|(j, result)| live.name(result.name) || own(j)).collect()
}

/// Keeps the flagged components of an operator.
fn keep_components<L: OptLevel>(op: &mut Operator<L>, keep: &[bool], live: &Live) {
    let both = [keep, keep].concat();
    retain(&mut op.op.params, &both);
    retain(&mut op.op.ret, keep);
    retain(&mut op.op.body.result, keep);
    retain(&mut op.neutral, keep);
    live.sweep(&mut op.op.body);
}

pub(super) fn sweep_histograms<L: OptLevel>(
    results: &mut Vec<Atom>,
    ret: &mut Vec<Type>,
    ops: &mut Vec<HistOp<L>>,
    pat: &mut Vec<Param<L>>,
    live: &Live,
) {
    let (mut keep_indices, mut keep_pat) = (Vec::new(), Vec::new());
    let mut at = 0;
    ops.retain_mut(|op| {
        let k = op.destinations.len();
        let keep = needed(&op.op, &pat[at..at + k], live);
        at += k;
        let any = keep.contains(&true);
        keep_indices.extend(std::iter::repeat_n(any, op.shape.len()));
        if any {
            retain(&mut op.destinations, &keep);
            keep_components(&mut op.op, &keep, live);
        }
        keep_pat.extend(keep);
        any
    });
    let keep: Vec<bool> = keep_indices.iter().chain(&keep_pat).copied().collect();
    retain(results, &keep);
    retain(ret, &keep);
    retain(pat, &keep_pat);
}

/// An update depends on its accumulator and its indices; its values belong to the components.
pub(super) fn update<L: OptLevel>(
    param: &Param<L>,
    acc: Name,
    index: &[Atom],
    values: &[Atom],
    graph: &mut Graph,
) {
    let from = param.name.0;
    graph.need_name(from, acc);
    for atom in index {
        graph.need_atom(from, *atom);
    }
    let components = match &param.ty {
        Type::Acc { token, .. } => graph.components.get(token).cloned(),
        Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => None,
    };
    match components {
        Some(components) => {
            for (component, value) in components.iter().zip(values) {
                graph.need_atom(*component, *value);
            }
        }
        None => values.iter().for_each(|value| graph.need_atom(from, *value)),
    }
}

/// Adds a `withacc`. If `separable` is true, dead components may be removed one by one; otherwise one
/// live component keeps all of its accumulator's.
pub(super) fn with_acc<L: OptLevel>(
    inputs: &[AccInput<L>],
    lambda: &Lambda<L>,
    pat: &[Param<L>],
    stm: u32,
    separable: bool,
    graph: &mut Graph,
) {
    let n = inputs.len();
    let mut pat = pat;
    for (i, AccInput { shape, arrays, op }) in inputs.iter().enumerate() {
        let node = graph.node();
        graph.need(node, stm);
        for size in shape.iter().filter_map(|dim| dim.atom()) {
            graph.need_atom(node, size);
        }
        let components = match op {
            Some(op) => operator(op, &[], stm, graph),
            None => arrays.iter().map(|_| graph.node()).collect(),
        };
        let (own, rest) = pat.split_at(arrays.len());
        pat = rest;
        for ((component, array), param) in components.iter().zip(arrays).zip(own) {
            graph.need(*component, node);
            graph.need_name(*component, *array);
            graph.need(param.name.0, *component);
            if !separable {
                graph.need(node, *component);
            }
        }
        graph.components.insert(lambda.params[i].name, components);
        graph.need_atom(node, lambda.body.result[i]);
        for param in [&lambda.params[i], &lambda.params[n + i]] {
            graph.binding(param, node);
            graph.need(node, param.name.0);
        }
    }
    for ((param, result), ty) in
        pat.iter().zip(lambda.body.result.iter().skip(n)).zip(lambda.ret.iter().skip(n))
    {
        graph.need_atom(param.name.0, *result);
        graph.need_type(param.name.0, ty);
    }
    graph.body(&lambda.body);
}

pub(super) fn sweep_with_acc<L: OptLevel>(
    inputs: &mut Vec<AccInput<L>>,
    lambda: &mut Lambda<L>,
    pat: &mut Vec<Param<L>>,
    live: &Live,
) {
    let n = inputs.len();
    let keep: Vec<bool> = lambda.params[..n].iter().map(|token| live.name(token.name)).collect();
    let mut keep_pat: Vec<bool> = Vec::new();
    let mut less = RemoveComponents::default();
    for (i, (input, keep)) in inputs.iter_mut().zip(&keep).enumerate() {
        let k = input.arrays.len();
        let results = &pat[keep_pat.len()..keep_pat.len() + k];
        let mut own: Vec<bool> = match &input.op {
            Some(op) => needed(op, results, live),
            None => results.iter().map(|param| live.name(param.name)).collect(),
        };
        if !own.contains(&true) {
            own = vec![*keep; k];
        }
        if *keep {
            retain(&mut input.arrays, &own);
            if let Some(op) = &mut input.op {
                keep_components(op, &own, live);
            }
            if own.contains(&false) {
                less.0.insert(lambda.params[i].name, own.clone());
            }
        }
        keep_pat.extend(own.iter().map(|own| *own && *keep));
    }
    let rest: Vec<bool> = pat[keep_pat.len()..].iter().map(|param| live.name(param.name)).collect();
    let results: Vec<bool> = keep.iter().chain(&rest).copied().collect();
    let params: Vec<bool> = keep.iter().chain(&keep).copied().collect();
    keep_pat.extend_from_slice(&rest);
    retain(inputs, &keep);
    retain(&mut lambda.params, &params);
    retain(&mut lambda.ret, &results);
    retain(&mut lambda.body.result, &results);
    retain(pat, &keep_pat);
    live.sweep(&mut lambda.body);
    if !less.0.is_empty() {
        VisitMut::<L>::lambda(&mut less, lambda);
    }
}

/// Removes components from the types and updates of accumulators, by their tokens.
#[derive(Default)]
struct RemoveComponents(FxHashMap<Name, Vec<bool>>);

impl<L: OptLevel> VisitMut<L> for RemoveComponents {
    fn stm(&mut self, stm: &mut Stm<L>) {
        if let Exp::Basic(BasicOp::UpdateAcc { values, .. }) = &mut stm.exp
            && let Some(Type::Acc { token, .. }) = stm.pat.first().map(|param| &param.ty)
            && let Some(keep) = self.0.get(token)
        {
            retain(values, keep);
        }
        self.walk_stm(stm);
    }

    fn ty(&mut self, ty: &mut Type) {
        if let Type::Acc { token, elems, .. } = ty
            && let Some(keep) = self.0.get(token)
        {
            retain(elems, keep);
        }
    }
}
