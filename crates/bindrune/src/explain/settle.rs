//! Merges remarks about the same operation into the one that describes the final outcome.

use super::entry::{Group, ShownRemark};
use driver::remark::{Check, EnclosingLoop, Execution, NotVectorisedReason, RemarkKind, Sequential};
use ir::SrcLoc;
use std::collections::{BTreeMap, BTreeSet};

/// Merges equal entries and, unless `all` is set, drops those that later outcomes override.
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
    let own = entries.iter();
    let gone: BTreeSet<SrcLoc> =
        own.filter(|entry| matches!(entry.kind, RemarkKind::Inlined(_))).map(|entry| entry.span).collect();
    entries.retain(|entry| {
        let meanwhile =
            matches!(entry.kind, RemarkKind::Specialised { .. } | RemarkKind::SpecialisationReused(_));
        !(meanwhile && gone.contains(&entry.span))
    });
}

/// Drops "not fused" of pairs that were fused in the end. Of several reasons for one pair, the last
/// counts. Where a producer was not fused into a reader that itself fused into another, the same
/// remark about the other reader is dropped.
fn fusion(entries: &mut Vec<ShownRemark>) {
    let pair = |entry: &ShownRemark| (entry.span, entry.related.first().copied());
    let is_apart = |entry: &ShownRemark| matches!(entry.kind, RemarkKind::NotFused { .. });
    let own = entries.iter().filter(|entry| entry.group == Group::Fusion);
    let mut done: BTreeSet<_> = own.filter(|entry| !is_apart(entry)).map(pair).collect();
    let mut kept: Vec<ShownRemark> = Vec::with_capacity(entries.len());
    for entry in std::mem::take(entries).into_iter().rev() {
        if !is_apart(&entry) || done.insert(pair(&entry)) {
            kept.push(entry);
        }
    }
    kept.reverse();
    let joined: BTreeSet<_> =
        (kept.iter()).filter(|entry| entry.group == Group::Fusion && !is_apart(entry)).map(pair).collect();
    let apart: Vec<_> = kept.iter().filter(|e| is_apart(e)).map(pair).collect();
    let again = |entry: &ShownRemark| {
        let (maker, reader) = pair(entry);
        let others = apart.iter().filter(|(other, _)| *other == maker);
        let mut readers = others.filter_map(|(_, other)| *other);
        readers.any(|other| Some(other) != reader && joined.contains(&(other, reader)))
    };
    kept.retain(|entry| !(is_apart(entry) && again(entry)));
    *entries = kept;
}

/// Keeps, of the remarks about one check, that of a check left in a loop; else that of a moved
/// check; else that of a removed one. Checks left outside loops are not reported.
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
            // A removed copy counts as moved if another copy of the check remains outside loops.
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
    let mut told = BTreeSet::new();
    let mut kept: Vec<ShownRemark> = Vec::with_capacity(entries.len());
    for entry in std::mem::take(entries).into_iter().rev() {
        let wanted = match rank(&entry) {
            None => true,
            Some(rank) => best.get(&entry.span) == Some(&rank) && told.insert(entry.span),
        };
        if wanted {
            kept.push(entry);
        }
    }
    kept.reverse();
    *entries = kept;
}

/// Drops the sequential version of a combinator whose lanes share the work.
fn loops(entries: &mut Vec<ShownRemark>) {
    let shared = |entry: &ShownRemark| {
        matches!(entry.kind, RemarkKind::Executes { how: Execution::InnerLanes { .. }, .. })
    };
    let own = entries.iter().filter(|entry| shared(entry));
    let places: BTreeSet<SrcLoc> = own.map(|entry| entry.span).collect();
    entries.retain(|entry| {
        let inside =
            matches!(entry.kind, RemarkKind::Executes { how: Execution::Loop(Sequential::Inside(_)), .. });
        !(inside && places.contains(&entry.span))
    });
}
