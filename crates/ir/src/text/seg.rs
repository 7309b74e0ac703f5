//! The text form of segops.

use super::part::{Part, Result, Rows, rows, text};
use super::{Parser, Printer, TextForm, TextLevel};
use crate::seg::{Decomp, Seg, SegKind, SegOp, SegSpace};

rows! {
    p, [L] SegOp<L>;
    others {
        Seg(0: seg) = [{ print_seg(seg, p) }];
    }
    WithAcc { inputs, lambda } = "withacc" [inputs lambda];
}

text! {
    p, [] SegSpace { dims, lane } = [dims (if "lane" lane)];
    p, [] Decomp {
        grain_size, max_chunks, width, cost, tunable, accumulators, scan_block, updates_per_iteration
    } = [
        "chunks" "(" ~ grain_size ~ "," max_chunks ~ "," width ~ "," cost ~ ")"
        (if "grain_size" tunable) ~ (Streams accumulators scan_block) ~ (Writes updates_per_iteration)
    ];
}

impl<L: TextLevel> TextForm for SegOp<L> {
    fn print(&self, p: &mut Printer<'_>) {
        self.print_row(p);
    }

    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>> {
        let Some(keyword @ ("segmap" | "segred" | "segscan" | "segscanred" | "seghist" | "segflatmap")) =
            p.peek_ident()
        else {
            return Self::parse_row(p);
        };
        p.ident()?;
        crate::text_row!(parse p level space decomp ":" ret "->" body);
        let kind = match keyword {
            "seghist" => SegKind::Hist(p.clauses("into")?),
            "segflatmap" => SegKind::FlatMap,
            _ => SegKind::ScanReduce(Part::parse_part(p)?),
        };
        crate::text_row!(parse p (last "identity" identity_predicate));
        Ok(Some(Self::Seg(Seg { level, space, kind, body, ret, decomp, identity_predicate })))
    }
}

fn print_seg<L: TextLevel>(seg: &Seg<L>, p: &mut Printer<'_>) {
    let Seg { level, space, kind, body, ret, decomp, identity_predicate } = seg;
    p.put(seg.keyword());
    crate::text_row!(print p level space decomp ":" ret "->" body);
    match kind {
        SegKind::ScanReduce(scan_reduce) => scan_reduce.print_part(p),
        SegKind::Hist(ops) => p.clauses("into", ops),
        SegKind::FlatMap => {}
    }
    p.clauses("identity", identity_predicate);
}

/// The accumulators and the scan block of a decomposition, unless both are 1.
struct Streams;

impl Streams {
    fn print(streams: (&u32, &u32), p: &mut Printer<'_>) {
        if streams != (&1, &1) {
            p.put(format_args!(" streams ({}, {})", streams.0, streams.1));
        }
    }

    fn parse(p: &mut Parser<'_>) -> Result<(u32, u32)> {
        if !p.take_keyword("streams") {
            return Ok((1, 1));
        }
        crate::text_row!(parse p "(" accumulators "," scan_block ")");
        Ok((accumulators, scan_block))
    }
}

/// The updates per iteration of a decomposition, unless there are none.
struct Writes;

impl Writes {
    fn print(writes: &u32, p: &mut Printer<'_>) {
        if *writes != 0 {
            p.put(format_args!(" writes {writes}"));
        }
    }

    fn parse(p: &mut Parser<'_>) -> Result<u32> {
        if p.take_keyword("writes") { p.integer() } else { Ok(0) }
    }
}
