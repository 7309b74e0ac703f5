//! The pass `prune-versions`: removes versions that cannot win.
//!
//! Before: all versions that the rules of flattening make, each behind a comparison of a size with
//! a parameter, the last behind none. After: fewer, with the same meaning. Each removal is a
//! decision with its reason:
//!
//! | version | removed if |
//! |---|---|
//! | any | it has the same operations as the rest |
//! | a nest, sequential inside | its constant number of iterations is too small for the level |
//! | a nest, sequential inside | the rest only adds a map, or a scan or reduction of higher rank |
//! | a nest, parallel at the level below | that is one segop, or its constant size is too small |
//! | tasks in tasks | the inner segops have constant sizes, each so small that it is one chunk |
//!
//! The counts are of segops: those in loops count ten times, and of a branch the more expensive
//! side counts. One segop alone needs no second version. A reduction and a scan of one map count as
//! one.

use ir::forest::{keep_branch, or_not};
use ir::name::{FunName, ProvTable};
use ir::remark::{Pruned, RemarkKind};
use ir::seg::{Seg, SegKind, SegOp};
use ir::syntax::{Atom, BasicOp, Body, Exp, Function, Stm};
use ir::tunable::{Rule, Tunable};
use ir::types::Dim;
use ir::walk::{Substitution, alpha_equivalent, sub_bodies_mut, substitute_stm, with_stack};
use ir::{Context, Name, Program, Segs};
use rustc_hash::{FxHashMap, FxHashSet};
use target::levels::{LevelId, Stack};

/// Removes versions that cannot win.
pub fn prune_versions(mut program: Program<Segs>, context: &mut Context) -> Program<Segs> {
    let stack = program.levels;
    program.functions = context.over(program.functions, |mut function, own| {
        let Function { name, body, tunables, provs, .. } = &mut function;
        let mut pruner = Pruner { stack, name, tunables, provs, context: own };
        pruner.body(body);
        function
    });
    program
}

struct Pruner<'a> {
    stack: Stack,
    name: &'a FunName,
    tunables: &'a [Tunable],
    provs: &'a ProvTable,
    context: &'a mut Context,
}

/// A choice between versions: a size, and the rule whose parameter it is compared with.
#[derive(Clone, Copy)]
struct Choice {
    size: Atom,
    rule: Rule,
    /// True if the version is also taken where the rest has too little work.
    or_rest_too_small: bool,
}

/// The version of a choice that is removed.
#[derive(Clone, Copy, PartialEq)]
enum Removed {
    Version,
    Rest,
}

impl Pruner<'_> {
    fn body(&mut self, body: &mut Body<Segs>) {
        with_stack(|| {
            let mut choices: FxHashMap<Name, Choice> = FxHashMap::default();
            let mut stms = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                sub_bodies_mut(&mut stm.exp, |body| self.body(body));
                if let (Exp::Basic(BasicOp::SizeAtLeast { size, tunable }), [param]) =
                    (&stm.exp, stm.pat.as_slice())
                    && let Some(tunable) = self.tunables.get(tunable.index())
                {
                    let rule = tunable.rule;
                    let choice = Choice { size: *size, rule, or_rest_too_small: false };
                    choices.insert(param.name, choice);
                } else if let (Exp::Basic(op), [param]) = (&stm.exp, stm.pat.as_slice())
                    && let Some((first, _)) = or_not(op)
                    && let Some(choice) = choices.get(&first).copied()
                {
                    let choice = Choice { or_rest_too_small: true, ..choice };
                    choices.insert(param.name, choice);
                }
                self.choice(stm, &choices, &mut stms);
            }
            body.stms = stms;
        });
    }

    /// Appends a statement, or the version that is left of it.
    fn choice(&mut self, stm: Stm<Segs>, choices: &FxHashMap<Name, Choice>, out: &mut Vec<Stm<Segs>>) {
        let Stm { pat, aux, exp } = stm;
        let (cond, then_body, else_body) = match exp {
            Exp::If { cond, then_body, else_body } => (cond, then_body, else_body),
            exp @ (Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_)) => {
                out.push(Stm { pat, aux, exp });
                return;
            }
        };
        let choice = cond.var().and_then(|name| choices.get(&name).copied());
        let gone = choice.and_then(|choice| self.cannot_win(choice, &then_body, &else_body));
        let Some((goes, why)) = gone.filter(|_| self.context.fuel.take()) else {
            let exp = Exp::If { cond, then_body, else_body };
            out.push(Stm { pat, aux, exp });
            return;
        };
        if let Some(Choice { rule, .. }) = choice.filter(|_| self.context.options.remarks) {
            let rule = match goes {
                Removed::Version => rule,
                Removed::Rest => Rule::InnerParallelism,
            };
            let spans = self.provs.stack(aux.prov);
            let kind = RemarkKind::VersionPruned { rule, why };
            self.context.remark(&self.name.0, spans, kind);
        }
        let exp = Exp::If { cond, then_body, else_body };
        keep_branch(Stm { pat, aux, exp }, goes == Removed::Rest, out);
    }

    /// The version of a choice that cannot win against the other, and why; `None` if both may.
    fn cannot_win(
        &self,
        choice: Choice,
        version: &Body<Segs>,
        rest: &Body<Segs>,
    ) -> Option<(Removed, Pruned)> {
        if alpha_equivalent(version, rest) {
            return Some((Removed::Version, Pruned::Same));
        }
        if choice.or_rest_too_small
            && let Some(seg) = nest(rest)
            && one_chunk(&seg.body, seg.level)
        {
            return Some((Removed::Rest, Pruned::OneChunk));
        }
        self.version_cannot_win(choice, nest(version)?, rest).map(|why| (Removed::Version, why))
    }

    /// The reason why a version that is one segop cannot win against the rest, if it cannot.
    fn version_cannot_win(&self, choice: Choice, seg: &Seg<Segs>, rest: &Body<Segs>) -> Option<Pruned> {
        let level = seg.level;
        match choice.rule {
            Rule::OuterParallelism => {
                let width = level.width;
                let known = choice.size.constant().and_then(prim::Scalar::as_i64);
                if !choice.or_rest_too_small && known.is_some_and(|iterations| iterations < width) {
                    return Some(Pruned::FewIterations);
                }
                let combines = !is_map(seg);
                let rank = seg.space.dims.len();
                // A scan or reduction itself always has two versions if there is more parallelism
                // in it.
                if !combines
                    && self.stack.for_maps(level) != Some(level)
                    && n_separate_segops(rest, rank) <= 1
                {
                    return Some(Pruned::SingleOperation);
                }
                None
            }
            Rule::InnerParallelism => {
                let inner = self.stack.for_maps(level)?;
                let width = inner.width;
                if n_segops_at(&seg.body, inner, width) <= 1 {
                    return Some(Pruned::LittleInnerParallelism);
                }
                None
            }
            Rule::InnerLanes | Rule::SharedMemory | Rule::GrainSize => None,
        }
    }
}

/// Returns true if each segop of this level in a body has a constant size so small that it is one
/// chunk: then nothing in the body runs in parallel. False if it calls functions, which may have
/// more.
fn one_chunk(body: &Body<Segs>, level: LevelId) -> bool {
    with_stack(|| {
        body.stms.iter().all(|stm| match &stm.exp {
            Exp::Basic(_) => true,
            Exp::Apply { .. } => false,
            Exp::If { then_body, else_body, .. } => {
                one_chunk(then_body, level) && one_chunk(else_body, level)
            }
            Exp::Loop { body, .. } => one_chunk(body, level),
            Exp::Op(SegOp::WithAcc { lambda, .. }) => one_chunk(&lambda.body, level),
            Exp::Op(SegOp::Seg(seg)) if seg.level == level => {
                let iterations = seg.space.dims.iter().try_fold(1i64, |n, (_, dim)| match dim {
                    Dim::Const(size) => n.checked_mul(*size),
                    Dim::Var(_) | Dim::Ext(_) => None,
                });
                iterations.is_some_and(|n| seg.decomp.chunks(n) <= 1) && one_chunk(&seg.body, level)
            }
            Exp::Op(SegOp::Seg(_)) => true,
        })
    })
}

/// The only segop of a version.
fn nest(version: &Body<Segs>) -> Option<&Seg<Segs>> {
    let mut segs = version.stms.iter().filter_map(|stm| match &stm.exp {
        Exp::Op(SegOp::Seg(seg)) => Some(seg),
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
    });
    let seg = segs.next()?;
    segs.next().is_none().then_some(seg)
}

/// The last of the versions of a body that begins with a choice between versions.
fn flattest(mut body: &Body<Segs>) -> &Body<Segs> {
    loop {
        let mut compared: FxHashSet<Name> = FxHashSet::default();
        let mut last = None;
        for stm in &body.stms {
            match &stm.exp {
                Exp::Basic(BasicOp::SizeAtLeast { .. }) => {
                    compared.extend(stm.pat.iter().map(|param| param.name));
                }
                Exp::Basic(_) => {}
                Exp::If { cond, else_body, .. }
                    if cond.var().is_some_and(|name| compared.contains(&name)) =>
                {
                    last = last.or(Some(else_body));
                }
                Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => return body,
            }
        }
        let Some(rest) = last else {
            return body;
        };
        body = rest;
    }
}

/// The names of comparisons that choose between versions.
fn compared(body: &Body<Segs>) -> FxHashSet<Name> {
    let comparisons =
        body.stms.iter().filter(|stm| matches!(stm.exp, Exp::Basic(BasicOp::SizeAtLeast { .. })));
    comparisons.flat_map(|stm| stm.pat.iter().map(|param| param.name)).collect()
}

fn is_map(seg: &Seg<Segs>) -> bool {
    matches!(&seg.kind, SegKind::ScanReduce(scan_reduce) if scan_reduce.is_map())
}

/// The number of segops in a body that are inside the sequential version of a nest of this rank.
fn n_separate_segops(body: &Body<Segs>, rank: usize) -> u32 {
    with_stack(|| {
        let body = flattest(body);
        let compared = compared(body);
        let each = body.stms.iter().map(|stm| match &stm.exp {
            Exp::Basic(_) | Exp::Apply { .. } => 0,
            // Versions of one of the parts.
            Exp::If { cond, then_body, else_body } if cond.var().is_some_and(|it| compared.contains(&it)) => {
                n_separate_segops(then_body, rank).max(n_separate_segops(else_body, rank))
            }
            Exp::If { then_body, else_body, .. } => {
                let both = [then_body, else_body].map(|body| n_separate_segops(body, rank));
                both[0].max(both[1]).saturating_mul(2)
            }
            Exp::Loop { body, .. } => n_separate_segops(body, rank).saturating_mul(10),
            Exp::Op(SegOp::WithAcc { lambda, .. }) => n_separate_segops(&lambda.body, rank),
            Exp::Op(SegOp::Seg(seg)) => match &seg.kind {
                SegKind::ScanReduce(scan_reduce) if scan_reduce.is_map() => 0,
                // Reductions of values computed in the same segop may be tiled.
                SegKind::ScanReduce(scan_reduce) => {
                    let computes =
                        seg.body.stms.iter().any(|stm| {
                            !matches!(stm.exp, Exp::Basic(BasicOp::Index { .. } | BasicOp::Atom(_)))
                        });
                    let is_inner = seg.space.dims.len() == rank + 1;
                    1 + u32::from(is_inner && computes && scan_reduce.scans.is_empty())
                }
                SegKind::Hist(_) | SegKind::FlatMap => 0,
            },
        });
        each.fold(0, u32::saturating_add)
    })
}

/// The number of segops of a level in a body, without those of constant size below `width`.
fn n_segops_at(body: &Body<Segs>, level: LevelId, width: i64) -> u32 {
    with_stack(|| {
        let mut before: Option<&Seg<Segs>> = None;
        let each = body.stms.iter().map(|stm| match &stm.exp {
            Exp::Basic(_) | Exp::Apply { .. } => 0,
            Exp::If { then_body, else_body, .. } => {
                n_segops_at(then_body, level, width).max(n_segops_at(else_body, level, width))
            }
            Exp::Loop { body, .. } => n_segops_at(body, level, width).saturating_mul(10),
            Exp::Op(SegOp::WithAcc { lambda, .. }) => n_segops_at(&lambda.body, level, width),
            Exp::Op(SegOp::Seg(seg)) => {
                let small = |(_, dim): &(Name, Dim)| matches!(dim, Dim::Const(n) if *n < width);
                let shares_segop = before.replace(seg).is_some_and(|it| are_scan_and_reduce(it, seg));
                u32::from(seg.level == level && !shares_segop && !seg.space.dims.iter().all(small))
            }
        });
        each.fold(0, u32::saturating_add)
    })
}

/// Returns true if two segops are a reduction and a scan of one map; these are one combinator where
/// scans and reductions need not be separate.
fn are_scan_and_reduce(one: &Seg<Segs>, other: &Seg<Segs>) -> bool {
    let scans = |seg: &Seg<Segs>| match &seg.kind {
        SegKind::ScanReduce(scan_reduce) if !scan_reduce.is_map() => Some(!scan_reduce.scans.is_empty()),
        SegKind::ScanReduce(_) | SegKind::Hist(_) | SegKind::FlatMap => None,
    };
    let widths = |seg: &Seg<Segs>| -> Vec<Dim> { seg.space.dims.iter().map(|(_, width)| *width).collect() };
    let kinds = scans(one).zip(scans(other));
    if kinds.is_none_or(|(one, other)| one == other) || widths(one) != widths(other) {
        return false;
    }
    let pairs = other.space.dims.iter().zip(&one.space.dims);
    let indices: Substitution = pairs.map(|((index, _), (own, _))| (*index, Atom::Var(*own))).collect();
    let map = |seg: &Seg<Segs>| Body { stms: seg.body.stms.clone(), result: Vec::new() };
    let (one, mut other) = (map(one), map(other));
    for stm in &mut other.stms {
        substitute_stm(stm, &indices);
    }
    alpha_equivalent(&one, &other)
}
