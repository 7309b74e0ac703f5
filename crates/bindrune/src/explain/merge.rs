//! Merges remarks about the same operation into the one that describes the final outcome.

use super::remark::{Group, ShownRemark};
use driver::remark::{Check, EnclosingLoop, Execution, NotVectorisedReason, RemarkKind, Sequential};
use ir::SrcLoc;
use std::collections::{BTreeMap, BTreeSet};

/// Merges equal entries and, unless `all` is set, drops entries that later outcomes override.
pub fn merge_remarks(entries: Vec<ShownRemark>, all: bool) -> Vec<ShownRemark> {
    let mut merged: Vec<ShownRemark> = Vec::new();
    let mut known: BTreeMap<(SrcLoc, &'static str, String), usize> = BTreeMap::new();
    for entry in entries {
        let key = (entry.span, entry.name, entry.text());
        if let Some(at) = known.get(&key) {
            merged[*at].times += 1;
        } else {
            known.insert(key, merged.len());
            merged.push(entry);
        }
    }
    if !all {
        functions(&mut merged);
        fusion(&mut merged);
        checks(&mut merged);
        lanes(&mut merged);
        loops(&mut merged);
    }
    merged
}

/// Drops remarks about function instances at calls that were inlined in the end.
fn functions(entries: &mut Vec<ShownRemark>) {
    let inlined = entries.iter().filter(|entry| matches!(entry.kind, RemarkKind::Inlined(_)));
    let inlined: BTreeSet<SrcLoc> = inlined.map(|entry| entry.span).collect();
    entries.retain(|entry| {
        let instance =
            matches!(entry.kind, RemarkKind::Specialised { .. } | RemarkKind::SpecialisationReused(_));
        !(instance && inlined.contains(&entry.span))
    });
}

/// Drops "not fused" of pairs that were fused in the end. Of several reasons for one pair, the last
/// counts. Where a producer was not fused into a reader that itself fused into another, the same
/// remark about the other reader is dropped.
fn fusion(entries: &mut Vec<ShownRemark>) {
    let pair = |entry: &ShownRemark| (entry.span, entry.related.first().copied());
    let not_fused = |entry: &ShownRemark| matches!(entry.kind, RemarkKind::NotFused { .. });
    let fusion = entries.iter().filter(|entry| entry.group == Group::Fusion);
    let mut reported: BTreeSet<_> = fusion.filter(|entry| !not_fused(entry)).map(pair).collect();
    let mut retained: Vec<ShownRemark> = Vec::with_capacity(entries.len());
    for entry in std::mem::take(entries).into_iter().rev() {
        if !not_fused(&entry) || reported.insert(pair(&entry)) {
            retained.push(entry);
        }
    }
    retained.reverse();
    let fusion = retained.iter().filter(|entry| entry.group == Group::Fusion);
    let fused_pairs: BTreeSet<_> = fusion.filter(|entry| !not_fused(entry)).map(pair).collect();
    let separate_pairs: Vec<_> = retained.iter().filter(|entry| not_fused(entry)).map(pair).collect();
    let is_redundant = |entry: &ShownRemark| {
        let (producer, reader) = pair(entry);
        let others = separate_pairs.iter().filter(|(other, _)| *other == producer);
        let mut readers = others.filter_map(|(_, other)| *other);
        readers.any(|other| Some(other) != reader && fused_pairs.contains(&(other, reader)))
    };
    retained.retain(|entry| !(not_fused(entry) && is_redundant(entry)));
    *entries = retained;
}

/// Keeps, of the remarks about one check, that of a check in a loop; else that of a hoisted check;
/// else that of a removed one. Checks that remain outside loops are not reported.
fn checks(entries: &mut Vec<ShownRemark>) {
    let rank = |entry: &ShownRemark| -> Option<(Check, u8)> {
        match &entry.kind {
            RemarkKind::CheckRemains { check, inside } => Some((
                *check,
                match inside {
                    EnclosingLoop::Parallel(_) => 4,
                    EnclosingLoop::Loop(_) => 3,
                    EnclosingLoop::Nothing => 0,
                },
            )),
            RemarkKind::CheckHoisted(check) => Some((*check, 1)),
            RemarkKind::CheckRemoved { check, .. } => Some((*check, 2)),
            _ => None,
        }
    };
    let mut best: BTreeMap<(SrcLoc, Check), u8> = BTreeMap::new();
    let mut remaining: BTreeSet<(SrcLoc, Check)> = BTreeSet::new();
    for entry in entries.iter() {
        if let Some((check, rank)) = rank(entry) {
            let best = best.entry((entry.span, check)).or_insert(0);
            *best = rank.max(*best);
            if rank == 0 {
                remaining.insert((entry.span, check));
            }
        }
    }
    let mut reported = BTreeSet::new();
    entries.retain(|entry| match rank(entry) {
        None => true,
        Some((check, rank)) => {
            let key = (entry.span, check);
            let mut best = best.get(&key).copied().unwrap_or(0);
            // A removed copy counts as hoisted if another copy of the check remains outside loops.
            if best == 2 && remaining.contains(&key) {
                best = 1;
            }
            rank > 0 && rank == best && reported.insert((key, entry.text.clone()))
        }
    });
}

/// Of the loops of one operation, keeps the vectorised one with the highest scalar cost. If there
/// is none, keeps a loop that is not vectorised at all over one that LLVM or an enclosing loop
/// vectorises.
fn lanes(entries: &mut Vec<ShownRemark>) {
    let rank = |entry: &ShownRemark| match &entry.kind {
        RemarkKind::Vectorised { gain, .. } => Some(3 + gain.scalar),
        RemarkKind::NotVectorised { why, .. } => Some(match why {
            NotVectorisedReason::LlvmVectorises => 0,
            NotVectorisedReason::OuterVectorised(_) => 1,
            _ => 2,
        }),
        _ => None,
    };
    let mut best: BTreeMap<SrcLoc, u64> = BTreeMap::new();
    for entry in entries.iter() {
        if let Some(rank) = rank(entry) {
            let best = best.entry(entry.span).or_insert(0);
            *best = rank.max(*best);
        }
    }
    let mut reported = BTreeSet::new();
    let mut retained: Vec<ShownRemark> = Vec::with_capacity(entries.len());
    for entry in std::mem::take(entries).into_iter().rev() {
        let is_retained = match rank(&entry) {
            None => true,
            Some(rank) => best.get(&entry.span) == Some(&rank) && reported.insert(entry.span),
        };
        if is_retained {
            retained.push(entry);
        }
    }
    retained.reverse();
    *entries = retained;
}

/// Drops the sequential version of a combinator that also has a version for vector lanes.
fn loops(entries: &mut Vec<ShownRemark>) {
    let in_lanes = |entry: &ShownRemark| {
        matches!(entry.kind, RemarkKind::Executes { how: Execution::InnerLanes { .. }, .. })
    };
    let in_lanes = entries.iter().filter(|entry| in_lanes(entry));
    let spans: BTreeSet<SrcLoc> = in_lanes.map(|entry| entry.span).collect();
    entries.retain(|entry| {
        let sequential =
            matches!(entry.kind, RemarkKind::Executes { how: Execution::Loop(Sequential::Inside(_)), .. });
        !(sequential && spans.contains(&entry.span))
    });
}
