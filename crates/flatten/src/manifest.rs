//! Nests made manifest: segops at a level.
//!
//! ```text
//! Σ, map f xs               segmap     (Σ, i < w) { let x = xs[i] in <f x> }
//! Σ, redomap op f xs        segred     (Σ, i < w) (op) { ... }
//! Σ, scanomap op f xs       segscan    (Σ, i < w) (op) { ... }
//! Σ, screma opS opR f xs    segscanred (Σ, i < w) (opS, opR) { ... }
//! Σ, reduce_by_index d f    seghist    (Σ, i < w) (op, d) { ... }
//!    flatmap f xs           segflatmap (i < w) { let x = xs[i] in <f x> }
//! ```

use crate::context::{Ctx, Guard, LaneVersions, SegopParts, atoms};
use crate::nest::{Manifest, Nest};
use crate::position::Position;
use crate::{decomp, empty_checks, lanes, rules};
use ir::remark::{Execution, OperationKind};
use ir::scan_reduce::ScanReduce;
use ir::seg::{Seg, SegKind, SegOp, SegSpace};
use ir::soac::{HistOp, Operator};
use ir::syntax::{Aux, Body, Exp, Param, Stm};
use ir::types::Type;
use ir::{PassError, Segs, Soacs};
use target::levels;

/// The body of one iteration of a segop, and the operators applied to its results.
#[derive(Clone)]
pub(crate) struct SegopBody {
    pub(crate) body: Body<Soacs>,
    /// Types of the body's results.
    pub(crate) ret: Vec<Type>,
    pub(crate) kind: SegopKind,
}

/// The operators that a segop applies to its iterations' results.
#[derive(Clone)]
pub(crate) enum SegopKind {
    ScanReduce(ScanReduce<Soacs>),
    Hist(Vec<HistOp<Soacs>>),
    FlatMap,
}

impl SegopBody {
    /// A copy whose operators have fresh names; those of the body get fresh names where the nest is
    /// made manifest.
    fn copy(&self, ctx: &mut Ctx<'_>) -> Self {
        let kind = match &self.kind {
            SegopKind::ScanReduce(scan_reduce) => SegopKind::ScanReduce(ctx.copy_scan_reduce(scan_reduce)),
            SegopKind::Hist(ops) => {
                let ops = ops.iter().map(|op| HistOp {
                    op: Operator { op: ctx.copy_lambda(&op.op.op), ..op.op.clone() },
                    ..op.clone()
                });
                SegopKind::Hist(ops.collect())
            }
            SegopKind::FlatMap => SegopKind::FlatMap,
        };
        let (body, ret) = (self.body.clone(), self.ret.clone());
        Self { body, ret, kind }
    }

    /// A body whose results are elements of mapped arrays.
    pub(crate) fn map(body: Body<Soacs>, ret: Vec<Type>) -> Self {
        let kind = SegopKind::ScanReduce(ScanReduce::default());
        Self { body, ret, kind }
    }
}

/// Appends a segop over a nest, at the level of `inside`, the position of its body. If lanes may
/// share scans or reductions in it, a comparison of sizes chooses between two versions.
pub(crate) fn segop(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    inside: Position,
    segop_body: SegopBody,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let Some(level) = inside.enclosing else {
        return Err(PassError::bug("a segop has no level"));
    };
    let mut aux = aux;
    aux.certs.extend(empty_checks::checks(ctx, nest, inside, &segop_body, &aux, out)?);
    let may_share = ctx.stack.for_scans_and_reductions(level).is_some() && ctx.lanes.inside;
    let mut original = may_share.then(|| segop_body.clone());
    let shared = seg(ctx, nest, inside, segop_body, (LaneVersions::Shared, Vec::new()))?;
    let guards = shared.guards.clone();
    let Some(segop_body) = original.take_if(|_| !guards.is_empty()) else {
        decide(ctx, &aux, &shared);
        let pat = ctx.params(pat);
        push(pat, aux, shared, out);
        return Ok(());
    };
    let make_copy = |ctx: &mut Ctx<'_>, versions| {
        let segop_body = segop_body.copy(ctx);
        seg(ctx, nest, inside, segop_body, (versions, guards.clone()))
    };
    let long = match guards.as_slice() {
        [_] if shared.has_both_versions => make_copy(ctx, LaneVersions::Long)?,
        [_] => shared,
        _ => make_copy(ctx, LaneVersions::Each)?,
    };
    decide(ctx, &aux, &long);
    let short = make_copy(ctx, LaneVersions::Loops)?;
    let cond = lanes::any_guard(ctx, &guards, &aux, out);
    let branch = |ctx: &mut Ctx<'_>, seg| {
        let results = pat.iter().map(|param| ctx.fresh("r", param.ty.clone()));
        let results: Vec<Param<Segs>> = results.collect();
        let result = atoms(&results);
        let mut stms = Vec::new();
        push(results, aux.clone(), seg, &mut stms);
        Body { stms, result }
    };
    let exp = Exp::If { cond, then_body: branch(ctx, long), else_body: branch(ctx, short) };
    let pat = ctx.params(pat);
    out.push(Stm { pat, aux, exp });
    Ok(())
}

/// The parts of a segop with these versions of its scans and reductions and these guards known to
/// be computed before it.
fn seg(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    inside: Position,
    segop_body: SegopBody,
    versions: (LaneVersions, Vec<Guard>),
) -> Result<SegopParts<Seg<Segs>>, PassError> {
    let Some(level) = inside.enclosing else {
        return Err(PassError::bug("a segop has no level"));
    };
    let SegopBody { body: own, ret, kind } = segop_body;
    ctx.make_segop(versions, |ctx| {
        let (space, body) = body(ctx, nest, inside, own)?;
        let (kind, combines) = match kind {
            SegopKind::ScanReduce(mut scan_reduce) => {
                let post = scan_reduce.post.take();
                scan_reduce.post = post.map(|post| nest.manifest_lambda(ctx, &space, post));
                (
                    SegKind::ScanReduce(converted_scan_reduce(ctx, inside, scan_reduce)?),
                    ctx.has_acc_with_operator(&ret),
                )
            }
            SegopKind::Hist(ops) => (SegKind::Hist(histograms(ctx, inside, ops)?), false),
            SegopKind::FlatMap => (SegKind::FlatMap, false),
        };
        let decomp = decomp::decompose(&body, &kind, combines);
        Ok(Seg { level, space, kind, body, ret, decomp, identity_predicate: None })
    })
}

/// The index space and body of a segop.
pub(crate) fn body(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    inside: Position,
    body: Body<Soacs>,
) -> Result<(SegSpace, Body<Segs>), PassError> {
    let body = rules::copy_consumed(ctx, nest, body)?;
    let Manifest { space, body } = nest.manifest(ctx, body)?;
    Ok((space, ctx.body(inside, body)?))
}

/// The scans and reductions of a segop; operators that are known to commute are marked as
/// commutative.
pub(crate) fn converted_scan_reduce(
    ctx: &mut Ctx<'_>,
    inside: Position,
    scan_reduce: ScanReduce<Soacs>,
) -> Result<ScanReduce<Segs>, PassError> {
    let inside = inside.sequential();
    let operators = |ctx: &mut Ctx<'_>, operators: Vec<Operator<Soacs>>| {
        let operators = operators.into_iter();
        let noted = operators.map(|mut operator| {
            operator.comm |= decomp::commutes(&operator.op);
            ctx.operator_inside(inside, operator)
        });
        noted.collect::<Result<_, PassError>>()
    };
    Ok(ScanReduce {
        scans: operators(ctx, scan_reduce.scans)?,
        reduces: operators(ctx, scan_reduce.reduces)?,
        post: scan_reduce.post.map(|post| ctx.lambda_inside(inside, post)).transpose()?,
    })
}

fn histograms(
    ctx: &mut Ctx<'_>,
    inside: Position,
    ops: Vec<HistOp<Soacs>>,
) -> Result<Vec<HistOp<Segs>>, PassError> {
    let mut converted = Vec::with_capacity(ops.len());
    for HistOp { shape, destinations, op } in ops {
        let op = Operator { comm: true, ..op };
        let op = ctx.operator_inside(inside, op)?;
        converted.push(HistOp { shape, destinations, op });
    }
    Ok(converted)
}

fn push(pat: Vec<Param<Segs>>, aux: Aux, seg: SegopParts<Seg<Segs>>, out: &mut Vec<Stm<Segs>>) {
    let exp = Exp::Op(SegOp::Seg(seg.parts));
    out.push(Stm { pat, aux, exp });
}

/// Records how a segop runs.
fn decide(ctx: &mut Ctx<'_>, aux: &Aux, seg: &SegopParts<Seg<Segs>>) {
    let SegopParts { parts, guards, .. } = seg;
    let what = match &parts.kind {
        SegKind::ScanReduce(scan_reduce) => OperationKind::of_scan_reduce(scan_reduce),
        SegKind::Hist(_) => OperationKind::Histogram,
        SegKind::FlatMap => OperationKind::FlatMap,
    };
    let versions = !guards.is_empty();
    ctx.remark(aux, what, |ctx| {
        if ctx.stack.has_device() {
            Execution::Kernels { in_block: parts.level == levels::BLOCK, versions }
        } else {
            Execution::Tasks { decomp: parts.decomp, versions }
        }
    });
}
