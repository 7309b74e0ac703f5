//! Combinators on the host, as segops at level 1.
//!
//! ```text
//! map f xs                 segmap     (i < w) { let x = xs[i] in <f x> }
//! redomap op f xs          segred     (i < w) (op) { ... }
//! scanomap op f xs         segscan    (i < w) (op) { ... }
//! screma opS opR f xs      segscanred (i < w) (opS, opR) { ... }
//! reduce_by_index d op f   seghist    (i < w) (op, d) { ... }
//! ```
//!
//! One whose post lambda takes arrays becomes a segscan that maps them out, and a
//! segmap over that.

use crate::convert::{Ctx, InSeg};
use crate::decomp;
use crate::functions::Place;
use crate::level0;
use crate::reduce_arrays;
use crate::sequential::{self, hist_loop, screma_loop};
use ir::decision::{Operation, Runs};
use ir::folds::Folds;
use ir::name::Name;
use ir::seg::{Seg, SegKind, SegOp, SegSpace};
use ir::soac::{HistOp, Operator, Screma, Soac};
use ir::syntax::{Aux, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::{PassError, Segs, Soacs};
use target::levels::TASKS;

/// Appends the parallel form of a combinator.
pub(crate) fn soac(
    ctx: &mut Ctx<'_>,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    soac: Soac,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    match soac {
        Soac::Screma(s) => screma(ctx, pat, aux, s, out),
        Soac::Hist {
            width,
            inputs,
            map,
            ops,
        } => {
            if ops.iter().all(|op| op.op.is_scalar()) {
                hist(ctx, pat, aux, width, &inputs, map, ops, out)
            } else {
                hist_loop(
                    ctx,
                    pat,
                    &aux,
                    width,
                    &inputs,
                    map,
                    ops,
                    Place::Outside,
                    out,
                )
            }
        }
        Soac::WithAcc { inputs, lambda } => {
            sequential::with_acc(ctx, pat, aux, inputs, lambda, Place::Outside, out)
        }
        Soac::Stream { .. } | Soac::FlatMap { .. } | Soac::Jvp { .. } | Soac::Vjp { .. } => {
            Err(sequential::unsupported(ctx, &aux, &soac))
        }
    }
}

fn screma(
    ctx: &mut Ctx<'_>,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    s: Screma,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    if !s.folds.operators().all(Operator::is_scalar) {
        return array_operators(ctx, pat, &aux, s, out);
    }
    let mut s = s;
    if let Some(post) = s.folds.post.take_if(|post| {
        let arrays = post.params.iter().any(|p| p.ty.is_array());
        arrays || ctx.combines(&post.ret)
    }) {
        return map_after(ctx, pat, aux, s, post, out);
    }
    if !s.folds.scans.is_empty() && ctx.combines(&s.map.ret) {
        return map_before(ctx, pat, aux, s, out);
    }
    let Screma {
        width,
        inputs,
        map,
        folds: own,
    } = s;
    let seg = ctx.in_seg(|ctx| {
        let (space, body, ret) = body(ctx, width, &inputs, map, &aux)?;
        let kind = SegKind::Folds(folds(ctx, own)?);
        let combines = ctx.combines(&ret);
        Ok(segop(space, kind, body, ret, combines))
    })?;
    push_seg(ctx, pat, aux, seg, out);
    Ok(())
}

/// The folds of a segop.
pub(crate) fn folds(ctx: &mut Ctx<'_>, own: Folds<Soacs>) -> Result<Folds<Segs>, PassError> {
    Ok(Folds {
        scans: operators(ctx, own.scans)?,
        reduces: operators(ctx, own.reduces)?,
        post: own.post.map(|post| ctx.lambda_inside(post)).transpose()?,
    })
}

/// Operators of a segop, noted as commutative where that shows.
fn operators(
    ctx: &mut Ctx<'_>,
    operators: Vec<Operator<Soacs>>,
) -> Result<Vec<Operator<Segs>>, PassError> {
    operators
        .into_iter()
        .map(|Operator { op, neutral, comm }| {
            let comm = comm || decomp::commutes(&op);
            Ok(Operator {
                op: ctx.lambda_inside(op)?,
                neutral,
                comm,
            })
        })
        .collect()
}

/// A segop at level 1.
fn segop(
    space: SegSpace,
    kind: SegKind<Segs>,
    body: Body<Segs>,
    ret: Vec<Type>,
    combines: bool,
) -> Seg<Segs> {
    let decomp = decomp::decompose(&body, &kind, combines);
    Seg {
        level: TASKS,
        space,
        kind,
        body,
        ret,
        decomp,
        keeps: None,
    }
}

/// Appends a segop, in two versions if it has guarded reductions.
fn push_seg(
    ctx: &mut Ctx<'_>,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    seg: InSeg<Seg<Segs>>,
    out: &mut Vec<Stm<Segs>>,
) {
    let InSeg {
        parts: mut seg,
        guards,
        reads_across,
    } = seg;
    seg.space.lane = (reads_across && ctx.fuel.take()).then_some(0);
    let what = match &seg.kind {
        SegKind::Folds(folds) => Operation::of_folds(folds),
        SegKind::Hist(_) => Operation::Histogram,
    };
    ctx.decide(&aux, what, |_| Runs::Tasks {
        decomp: seg.decomp,
        versions: !guards.is_empty(),
    });
    let exp = if guards.is_empty() {
        Exp::Op(SegOp::Seg(seg))
    } else {
        let cond = level0::any_holds(ctx, &guards, &aux, out);
        let own: Vec<_> = (pat.iter())
            .map(|param| ctx.fresh("r", param.ty.clone()))
            .collect();
        let result = own.iter().map(|param| param.name.into()).collect();
        let stm = Stm {
            pat: own,
            aux: aux.clone(),
            exp: Exp::Op(SegOp::Seg(seg)),
        };
        let stms = vec![stm];
        let (then_body, else_body) = level0::versions(ctx, &guards, Body { stms, result });
        Exp::If {
            cond,
            then_body,
            else_body,
        }
    };
    let pat = ctx.params(pat);
    out.push(Stm { pat, aux, exp });
}

/// The space and body of a segop over one dimension.
pub(crate) fn body(
    ctx: &mut Ctx<'_>,
    width: Dim,
    inputs: &[Name],
    map: Lambda<Soacs>,
    aux: &Aux,
) -> Result<(SegSpace, Body<Segs>, Vec<Type>), PassError> {
    let index = ctx.fresh("gtid", Type::I64).name;
    let mut stms = Vec::new();
    ctx.bind_rows(map.params, inputs, index, aux, &mut stms)?;
    ctx.stms(map.body.stms, Place::Inside, &mut stms)?;
    let space = SegSpace {
        dims: vec![(index, width)],
        lane: None,
    };
    Ok((
        space,
        Body {
            stms,
            result: map.body.result,
        },
        map.ret,
    ))
}

#[allow(
    clippy::too_many_arguments,
    reason = "the parts of one combinator and where it stands"
)]
fn hist(
    ctx: &mut Ctx<'_>,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    width: Dim,
    inputs: &[Name],
    map: Lambda<Soacs>,
    ops: Vec<HistOp<Soacs>>,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let seg = ctx.in_seg(|ctx| {
        let (space, body, ret) = body(ctx, width, inputs, map, &aux)?;
        let mut converted = Vec::with_capacity(ops.len());
        for HistOp { shape, dests, op } in ops {
            let op = Operator {
                op: ctx.lambda_inside(op.op)?,
                neutral: op.neutral,
                comm: true,
            };
            converted.push(HistOp { shape, dests, op });
        }
        Ok(segop(space, SegKind::Hist(converted), body, ret, false))
    })?;
    push_seg(ctx, pat, aux, seg, out);
    Ok(())
}

/// A scan whose map updates accumulators with an operator: the map, and a scan over
/// what it maps out, since a segscan computes its points twice.
fn map_before(
    ctx: &mut Ctx<'_>,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    scan: Screma,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let Screma {
        width,
        inputs,
        map,
        folds,
    } = scan;
    let types = map.ret.clone();
    let mapped: Vec<Param<Soacs>> = types
        .iter()
        .map(|ty| ctx.fresh_soac("xs", ty.array_of(width)))
        .collect();
    // Accumulators are done; the others go on.
    let (_, elements) = folds.results(&pat);
    let n_scanned = folds.n_scanned();
    let (mut done, mut left) = (Vec::new(), Vec::new());
    for (i, (param, ty)) in mapped.iter().zip(&types).enumerate() {
        let is_acc = matches!(ty, Type::Acc { .. });
        if is_acc && i >= folds.n_folded() {
            done.push(elements[n_scanned + i - folds.n_folded()].clone());
        } else {
            left.push((param.clone(), ty.clone()));
            done.push(param.clone());
        }
    }
    let first = Screma {
        width,
        inputs,
        map,
        folds: Folds::default(),
    };
    screma(ctx, done, aux.clone(), first, out)?;
    let params: Vec<Param<Soacs>> = (left.iter())
        .map(|(_, ty)| ctx.fresh_soac("x", ty.clone()))
        .collect();
    let second = Screma {
        width,
        inputs: left.iter().map(|(array, _)| array.name).collect(),
        map: Lambda {
            body: Body {
                stms: Vec::new(),
                result: params.iter().map(|p| p.name.into()).collect(),
            },
            params,
            ret: left.into_iter().map(|(_, ty)| ty).collect(),
        },
        folds,
    };
    let rest = pat.into_iter();
    let rest = rest.filter(|param| !matches!(param.ty, Type::Acc { .. }));
    screma(ctx, rest.collect(), aux, second, out)
}

/// A scan, and its post lambda as a map over what the scan maps out: a segscan
/// keeps what it scanned until carries are known, but no arrays beside it.
fn map_after(
    ctx: &mut Ctx<'_>,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    scan: Screma,
    post: Lambda<Soacs>,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let width = scan.width;
    let arrays: Vec<Param<Soacs>> = post
        .params
        .iter()
        .map(|param| ctx.fresh_soac("xs", param.ty.array_of(width)))
        .collect();
    let map = Screma {
        width,
        inputs: arrays.iter().map(|p| p.name).collect(),
        map: post,
        folds: Folds::default(),
    };
    let (reduced, elements) = scan.folds.results(&pat);
    let scan_pat = [reduced.to_vec(), arrays].concat();
    let elements = elements.to_vec();
    screma(ctx, scan_pat, aux.clone(), scan, out)?;
    screma(ctx, elements, aux, map, out)
}

/// Operators on arrays: rule G4 where the operator is a map, else the map part
/// as a segop of its own and a loop over the operator, whose inside stays
/// parallel.
fn array_operators(
    ctx: &mut Ctx<'_>,
    pat: Vec<Param<Soacs>>,
    aux: &Aux,
    s: Screma,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let s = match reduce_arrays::interchange(ctx, s)? {
        reduce_arrays::Outcome::Interchanged(before, soacs) => {
            ctx.stms(before, Place::Outside, out)?;
            let mut pat = pat.into_iter();
            for soac_stm in soacs {
                let n = soac_stm.results;
                let own: Vec<Param<Soacs>> = pat.by_ref().take(n).collect();
                screma(ctx, own, aux.clone(), soac_stm.screma, out)?;
            }
            return Ok(());
        }
        reduce_arrays::Outcome::Unchanged(s) => *s,
    };
    let Screma {
        width,
        inputs,
        map,
        folds,
    } = s;
    if map.body.stms.is_empty() {
        let s = Screma {
            width,
            inputs,
            map,
            folds,
        };
        return screma_loop(ctx, pat, aux, s, Place::Outside, out);
    }
    let arrays: Vec<Param<Soacs>> = map
        .ret
        .iter()
        .map(|ty| ctx.fresh_soac("xs", ty.array_of(width)))
        .collect();
    let params: Vec<Param<Soacs>> = map
        .ret
        .iter()
        .map(|ty| ctx.fresh_soac("x", ty.clone()))
        .collect();
    let result = params.iter().map(|p| p.name.into()).collect();
    let names = arrays.iter().map(|p| p.name).collect();
    let ret = map.ret.clone();
    let first = Screma {
        width,
        inputs,
        map,
        folds: Folds::default(),
    };
    screma(ctx, arrays, aux.clone(), first, out)?;
    let map = Lambda {
        params,
        body: Body {
            stms: Vec::new(),
            result,
        },
        ret,
    };
    let second = Screma {
        width,
        inputs: names,
        map,
        folds,
    };
    screma_loop(ctx, pat, aux, second, Place::Outside, out)
}
