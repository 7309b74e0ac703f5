//! Vertical fusion of two combinators into one.
//!
//! With the producer's and the consumer's map lambdas `p` and `c`, the fused lambda is `p` followed
//! by `c`, with the consumer's parameters bound to the producer's results. The order of values and
//! results is
//!
//! ```text
//! values   scans of p, of c | reductions of p, of c | mapped of c | kept of p
//! results  reduced p, c | scanned p, c | mapped c | kept p
//! ```
//!
//! If the consumer reads scanned results of the producer, `c` follows the scan instead: it becomes
//! the end of the `post` lambda, and the consumer's other inputs are passed through the map lambda
//! to it.

use crate::simplify::add_certs;
use analysis::exact::is_exact;
use analysis::size::is_at_most;
use analysis::thresholds;
use ir::remark::NotFusedReason;
use ir::scan_reduce::ScanReduce;
use ir::soac::{HistOp, Screma, Soac};
use ir::syntax::{Atom, Attrs, Aux, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::with_stack;
use ir::{Name, NameTable, Soacs, TypeEnv};

/// Returns true if the statement only maps, or scans by exact operators. These scans may run
/// element by element as well as in blocks.
pub(super) fn maps_or_scans(stm: &Stm<Soacs>) -> bool {
    matches!(
        &stm.exp,
        Exp::Op(Soac::Screma(Screma { scan_reduce, .. }))
            if scan_reduce.reduces.is_empty() && scan_reduce.scans.iter().all(|scan| is_exact(&scan.op))
    )
}

/// Returns true if the statement is a plain map.
pub(super) fn is_map(stm: &Stm<Soacs>) -> bool {
    matches!(&stm.exp, Exp::Op(Soac::Screma(screma)) if screma.scan_reduce.is_map())
}

/// The number of reduced results of a statement, which come first.
pub(super) fn reduced(stm: &Stm<Soacs>) -> usize {
    if let Exp::Op(Soac::Screma(screma)) = &stm.exp { screma.scan_reduce.n_reduced() } else { 0 }
}

/// Returns true if this would fuse a map into a reduction whose mapped-out results it reads.
pub(super) fn fuses_map_into_reduction(producer: &Stm<Soacs>, consumer: &Stm<Soacs>) -> bool {
    matches!(&producer.exp, Exp::Op(Soac::Screma(screma)) if !screma.scan_reduce.reduces.is_empty())
        && is_map(consumer)
}

/// Returns true if the statement is a combinator without scans.
fn no_scans(stm: &Stm<Soacs>) -> bool {
    matches!(&stm.exp, Exp::Op(Soac::Screma(screma)) if screma.scan_reduce.scans.is_empty())
}

pub(super) fn passes_accumulators(stm: &Stm<Soacs>) -> bool {
    stm.pat.iter().any(|param| matches!(param.ty, Type::Acc { .. }))
}

/// Returns true if a map's rows are arrays of reductions, as those of a matrix product, or reductions of reductions.
/// Such a nest is tiled, which updates of accumulators in it would prevent; its result is small beside the elements that
/// it reads.
fn is_nest_of_sums(stm: &Stm<Soacs>) -> bool {
    let Exp::Op(Soac::Screma(screma)) = &stm.exp else {
        return false;
    };
    let is_matrix = |param: &Param<Soacs>| param.ty.rank() > 1;
    let mut own = screma.map.body.stms.iter();
    screma.scan_reduce.is_map()
        && (stm.pat.iter().all(is_matrix) && own.clone().any(|stm| sums(stm, 1)) || own.any(sums_of_sums))
}

/// Returns true if a statement is a long reduction of long reductions, or has one in it.
fn sums_of_sums(stm: &Stm<Soacs>) -> bool {
    sums(stm, 2)
}

/// Returns true if a statement is a long map or reduction with long reductions in it.
pub fn is_nest_with_sums(stm: &Stm<Soacs>) -> bool {
    let Exp::Op(Soac::Screma(screma)) = &stm.exp else {
        return false;
    };
    matches!(screma.width, Dim::Var(_)) && screma.map.body.stms.iter().any(|stm| sums(stm, 1))
}

/// Returns true if a statement has reductions of variable widths in it, nested at this many levels.
fn sums(stm: &Stm<Soacs>, levels: usize) -> bool {
    let Exp::Op(Soac::Screma(screma)) = &stm.exp else {
        return false;
    };
    let is_long = matches!(screma.width, Dim::Var(_)) && !screma.scan_reduce.reduces.is_empty();
    let left = levels.saturating_sub(usize::from(is_long));
    left == 0 || with_stack(|| screma.map.body.stms.iter().any(|stm| sums(stm, left)))
}

/// Returns true if a lambda has no array parameters: a combinator with accumulators after a scan
/// keeps no arrays.
fn reads_scalars(map: &Lambda<Soacs>) -> bool {
    map.params.iter().all(|param| !param.ty.is_array())
}

/// Returns true if the consumer reads results of the producer that come after a scan.
fn reads_scanned(producer: &Stm<Soacs>, scan_reduce: &ScanReduce<Soacs>, inputs: &[Name]) -> bool {
    let (_, elements) = scan_reduce.results(&producer.pat);
    let n_scanned = if scan_reduce.post.is_some() { elements.len() } else { scan_reduce.n_scanned() };
    elements[..n_scanned].iter().any(|param| inputs.contains(&param.name))
}

/// Returns true if a histogram updates its bins one after another because they are arrays: its map
/// runs on one worker.
pub(super) fn updates_sequentially(ops: &[HistOp<Soacs>]) -> bool {
    !ops.iter().all(|op| op.op.is_scalar())
}

/// Returns true if a lambda, of scalars and memory, may be computed twice.
pub(super) fn may_run_twice(map: &Lambda<Soacs>) -> bool {
    let is_scalar =
        |stm: &Stm<Soacs>| stm.pat.iter().all(|param| param.ty.is_prim()) && matches!(stm.exp, Exp::Basic(_));
    map.params.iter().all(|param| param.ty.is_prim())
        && map.body.stms.iter().all(is_scalar)
        && is_at_most(&map.body, thresholds::FUSED_TWICE_STATEMENTS)
}

/// The way to fuse two independent combinators horizontally, and true if the second acts as the
/// producer.
pub(super) fn horizontal(one: &Stm<Soacs>, other: &Stm<Soacs>) -> Result<(Position, bool), NotFusedReason> {
    let (Exp::Op(Soac::Screma(p)), Exp::Op(Soac::Screma(c))) = (&one.exp, &other.exp) else {
        return Err(NotFusedReason::ReadsOtherElements);
    };
    if p.width != c.width {
        return Err(NotFusedReason::Widths);
    }
    // Joins the elements after the scan, or the scan's map, which is computed twice.
    let to_scan = |stm: &Stm<Soacs>, screma: &Screma, scan_first: bool| {
        if screma.scan_reduce.is_map() {
            let scalars = !passes_accumulators(stm) || reads_scalars(&screma.map);
            let way = (Position::InPost, !scan_first);
            return if scalars { Ok(way) } else { Err(NotFusedReason::ArraysAfterScan) };
        }
        if may_run_twice(&screma.map) && !passes_accumulators(stm) {
            Ok((Position::InMap, scan_first))
        } else {
            Err(NotFusedReason::ScanAndReduction)
        }
    };
    match (p.scan_reduce.scans.is_empty(), c.scan_reduce.scans.is_empty()) {
        (true, true) => Ok((Position::InMap, false)),
        (false, true) => to_scan(other, c, true),
        (true, false) => to_scan(one, p, false),
        (false, false) if passes_accumulators(one) || passes_accumulators(other) => {
            Err(NotFusedReason::Accumulators)
        }
        (false, false) if p.scan_reduce.post.is_none() => Ok((Position::InMap, false)),
        (false, false) if c.scan_reduce.post.is_none() => Ok((Position::InMap, true)),
        (false, false) => Err(NotFusedReason::ScanAndReduction),
    }
}

/// The position of the consumer's lambda.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Position {
    /// After the producer's lambda, in the map.
    InMap,
    /// After the producer's scans, in the `post` lambda.
    InPost,
}

/// The way to fuse the producer into the consumer, which reads its results only element by element.
/// `kept` returns true for results with other uses.
pub(super) fn possible(
    producer: &Stm<Soacs>,
    consumer: &Stm<Soacs>,
    kept: &dyn Fn(Name) -> bool,
) -> Result<Position, NotFusedReason> {
    let Exp::Op(Soac::Screma(Screma { width, inputs: _, map, scan_reduce })) = &producer.exp else {
        return Err(NotFusedReason::ReadsOtherElements);
    };
    let or = |holds: bool, why: NotFusedReason| if holds { Ok(()) } else { Err(why) };
    // A scan computes its map twice, so the map must not update anything.
    let once = is_map(producer) && no_scans(consumer);
    or(once || !passes_accumulators(producer), NotFusedReason::Accumulators)?;
    or(!(passes_accumulators(consumer) && is_nest_of_sums(producer)), NotFusedReason::NestOfSums)?;
    match &consumer.exp {
        Exp::Op(Soac::Hist { width: other, inputs: _, map: _, ops }) => {
            or(width == other, NotFusedReason::Widths)?;
            let all_read = producer.pat.iter().all(|param| !kept(param.name));
            or(is_map(producer) && all_read, NotFusedReason::Histogram)?;
            or(!updates_sequentially(ops) || may_run_twice(map), NotFusedReason::ArrayOperator)?;
            Ok(Position::InMap)
        }
        Exp::Op(Soac::Screma(Screma { width: other, inputs, map: own_map, scan_reduce: own })) => {
            or(width == other, NotFusedReason::Widths)?;
            // A reduced array exists only after all iterations.
            let (reduced, _) = scan_reduce.results(&producer.pat);
            let reads_reduced = reduced.iter().any(|param| inputs.contains(&param.name));
            or(!reads_reduced, NotFusedReason::ReadsReduction)?;
            if reads_scanned(producer, scan_reduce, inputs) {
                or(own.is_map(), NotFusedReason::ScanAndReduction)?;
                let scalars = !passes_accumulators(consumer) || reads_scalars(own_map);
                or(scalars, NotFusedReason::ArraysAfterScan)?;
                return Ok(Position::InPost);
            }
            // Scans compute their maps twice, reductions do not.
            let is_more_expensive = !scan_reduce.reduces.is_empty() && !own.scans.is_empty();
            let is_more_expensive = is_more_expensive && scan_reduce.scans.is_empty();
            or(scan_reduce.post.is_none() && !is_more_expensive, NotFusedReason::ScanAndReduction)?;
            Ok(Position::InMap)
        }
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {
            Err(NotFusedReason::ReadsOtherElements)
        }
    }
}

/// Fuses the producer and the consumer in a way that is [`possible`].
pub(super) fn merge(
    way: Position,
    producer: Stm<Soacs>,
    consumer: Stm<Soacs>,
    kept: &dyn Fn(Name) -> bool,
    names: &mut NameTable,
    types: &mut TypeEnv,
) -> Stm<Soacs> {
    let aux = merge_aux(&producer.aux, consumer.aux);
    let pat_p = producer.pat;
    let Exp::Op(Soac::Screma(p)) = producer.exp else {
        return Stm { pat: consumer.pat, aux, exp: consumer.exp };
    };
    match consumer.exp {
        Exp::Op(Soac::Hist { width, inputs, map, ops }) => {
            let mut fused = p.map;
            let values = std::mem::take(&mut fused.body.result);
            fused.ret.clear();
            let mut outer = p.inputs;
            append(&mut fused, &mut outer, &pat_p, &values, &inputs, map, &aux);
            let exp = Exp::Op(Soac::Hist { width, inputs: outer, map: fused, ops });
            Stm { pat: consumer.pat, aux, exp }
        }
        Exp::Op(Soac::Screma(c)) => {
            let (pat, fused) = match way {
                Position::InPost => after_scan(p, pat_p, c, consumer.pat, kept, &aux, names, types),
                Position::InMap => in_map(p, pat_p, c, consumer.pat, kept, &aux, names, types),
            };
            let exp = Exp::Op(Soac::Screma(fused));
            Stm { pat, aux, exp }
        }
        exp @ (Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_)) => {
            Stm { pat: consumer.pat, aux, exp }
        }
    }
}

/// The certificates and attributes of both. The consumer's provenance is joined already; statements
/// inside keep their own.
pub(super) fn merge_aux(producer: &Aux, consumer: Aux) -> Aux {
    let mut aux = consumer;
    add_certs(&mut aux.certs, &producer.certs);
    aux.attrs = Attrs::fused(&producer.attrs, &aux.attrs);
    aux
}

fn bind(param: Param<Soacs>, value: Atom, aux: &Aux) -> Stm<Soacs> {
    Stm { pat: vec![param], aux: Aux::at(aux.prov), exp: Exp::Basic(BasicOp::Atom(value)) }
}

/// Appends the consumer's lambda to the producer's. Parameters that read the producer's results
/// (`pat`, with the values `values` in an iteration) are bound to these; others are added with
/// their inputs. The results are the consumer's.
fn append(
    fused: &mut Lambda<Soacs>,
    outer: &mut Vec<Name>,
    pat: &[Param<Soacs>],
    values: &[Atom],
    inputs: &[Name],
    map: Lambda<Soacs>,
    aux: &Aux,
) {
    let Lambda { params, body, ret } = map;
    for (param, input) in params.into_iter().zip(inputs) {
        match pat.iter().position(|produced| produced.name == *input) {
            Some(i) => fused.body.stms.push(bind(param, values[i], aux)),
            None => {
                fused.params.push(param);
                outer.push(*input);
            }
        }
    }
    fused.body.stms.extend(body.stms);
    fused.body.result.extend(body.result);
    fused.ret.extend(ret);
}

#[allow(clippy::too_many_arguments, reason = "two combinators, their patterns, names and types")]
fn in_map(
    p: Screma,
    pat_p: Vec<Param<Soacs>>,
    c: Screma,
    pat_c: Vec<Param<Soacs>>,
    kept: &dyn Fn(Name) -> bool,
    aux: &Aux,
    names: &mut NameTable,
    types: &mut TypeEnv,
) -> (Vec<Param<Soacs>>, Screma) {
    let (scanned_p, reduced_p) = (p.scan_reduce.n_scanned(), p.scan_reduce.n_reduced());
    let (scanned_c, reduced_c) = (c.scan_reduce.n_scanned(), c.scan_reduce.n_reduced());
    let mut map = p.map;
    let mut inputs = p.inputs;
    let values = std::mem::take(&mut map.body.result);
    let ret = std::mem::take(&mut map.ret);
    // Only mapped results are read: from there on, values and pattern correspond.
    let first = p.scan_reduce.n_accumulated();
    append(&mut map, &mut inputs, &pat_p[first..], &values[first..], &c.inputs, c.map, aux);
    let own = std::mem::take(&mut map.body.result);
    let own_ret = std::mem::take(&mut map.ret);
    let mut add = |values: &[Atom], types: &[Type]| {
        map.body.result.extend_from_slice(values);
        map.ret.extend_from_slice(types);
    };
    add(&values[..scanned_p], &ret[..scanned_p]);
    add(&own[..scanned_c], &own_ret[..scanned_c]);
    add(&values[scanned_p..first], &ret[scanned_p..first]);
    let end = c.scan_reduce.n_accumulated();
    add(&own[scanned_c..end], &own_ret[scanned_c..end]);
    add(&own[end..], &own_ret[end..]);
    let mut pat_p = pat_p;
    let mapped_p = pat_p.split_off(first);
    let mut kept_p = Vec::new();
    for (i, param) in mapped_p.into_iter().enumerate() {
        if kept(param.name) {
            add(&values[first + i..=first + i], &ret[first + i..=first + i]);
            kept_p.push(param);
        }
    }
    let kept_ret: Vec<Type> = map.ret[map.ret.len() - kept_p.len()..].to_vec();
    let scan_ret: Vec<Type> = map.ret[..scanned_p].to_vec();
    let post = c.scan_reduce.post.map(|post| {
        let mut fresh = |ty: &Type| {
            let name = names.fresh("x");
            types.set(name, ty.clone());
            Param { name, ty: ty.clone(), ann: () }
        };
        let before: Vec<Param<Soacs>> = scan_ret.iter().map(&mut fresh).collect();
        let behind: Vec<Param<Soacs>> = kept_ret.iter().map(&mut fresh).collect();
        let atoms = |params: &[Param<Soacs>]| -> Vec<Atom> {
            params.iter().map(|param| Atom::Var(param.name)).collect()
        };
        let result = [atoms(&before), post.body.result, atoms(&behind)].concat();
        Lambda {
            params: [before, post.params, behind].concat(),
            body: Body { stms: post.body.stms, result },
            ret: [scan_ret, post.ret, kept_ret].concat(),
        }
    });
    let mut pat = pat_p;
    let scanned = pat.split_off(reduced_p);
    let mut pat_c = pat_c;
    let rest_c = pat_c.split_off(reduced_c);
    pat.extend(pat_c);
    pat.extend(scanned);
    pat.extend(rest_c);
    pat.extend(kept_p);
    let fused = Screma {
        width: p.width,
        inputs,
        map,
        scan_reduce: ScanReduce {
            scans: [p.scan_reduce.scans, c.scan_reduce.scans].concat(),
            reduces: [p.scan_reduce.reduces, c.scan_reduce.reduces].concat(),
            post,
        },
    };
    (pat, fused)
}

#[allow(clippy::too_many_arguments, reason = "two combinators, their patterns, names and types")]
fn after_scan(
    p: Screma,
    pat_p: Vec<Param<Soacs>>,
    c: Screma,
    pat_c: Vec<Param<Soacs>>,
    kept: &dyn Fn(Name) -> bool,
    aux: &Aux,
    names: &mut NameTable,
    types: &mut TypeEnv,
) -> (Vec<Param<Soacs>>, Screma) {
    let mut fresh = |ty: &Type| {
        let name = names.fresh("x");
        types.set(name, ty.clone());
        Param { name, ty: ty.clone(), ann: () }
    };
    let mut map = p.map;
    let mut inputs = p.inputs;
    let elements = p.scan_reduce.element_types(&map.ret);
    let mut pat = pat_p;
    let pat_p = pat.split_off(p.scan_reduce.n_reduced());
    let mut post = p.scan_reduce.post.unwrap_or_else(|| {
        let params: Vec<Param<Soacs>> = elements.iter().map(&mut fresh).collect();
        let result = params.iter().map(|param| Atom::Var(param.name)).collect();
        let stms = Vec::new();
        Lambda { params, body: Body { stms, result }, ret: elements }
    });
    let results = std::mem::take(&mut post.body.result);
    let ret = std::mem::take(&mut post.ret);
    let Lambda { params, body, ret: ret_c } = c.map;
    for (param, input) in params.into_iter().zip(&c.inputs) {
        if let Some(i) = pat_p.iter().position(|bound| bound.name == *input) {
            post.body.stms.push(bind(param, results[i], aux));
            continue;
        }
        let row = fresh(&param.ty);
        map.body.result.push(Atom::Var(row.name));
        map.ret.push(row.ty.clone());
        map.params.push(row);
        inputs.push(*input);
        post.params.push(param);
    }
    post.body.stms.extend(body.stms);
    post.body.result = body.result;
    post.ret = ret_c;
    pat.extend(pat_c);
    for ((param, result), ty) in pat_p.into_iter().zip(results).zip(ret) {
        if kept(param.name) {
            pat.push(param);
            post.body.result.push(result);
            post.ret.push(ty);
        }
    }
    let fused =
        Screma { width: p.width, inputs, map, scan_reduce: ScanReduce { post: Some(post), ..p.scan_reduce } };
    (pat, fused)
}
