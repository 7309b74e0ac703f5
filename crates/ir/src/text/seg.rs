//! The text form of segops.

use super::ops::{
    parse_hists, parse_scan_reduce, parse_withacc, print_hist, print_scan_reduce, print_withacc,
};
use super::{ParseError, Parser, Printer, TextForm, TextLevel};
use crate::seg::{Decomp, Seg, SegKind, SegOp, SegSpace};
use crate::tunable::TunableId;
use crate::walk::LevelOp;

type Result<T> = std::result::Result<T, ParseError>;

impl<L: TextLevel> TextForm for SegOp<L> {
    fn print(&self, p: &mut Printer<'_>) {
        p.put(LevelOp::<L>::keyword(self));
        p.put(" ");
        match self {
            Self::Seg(Seg { level, space, kind, body, ret, decomp, identity_predicate }) => {
                let SegSpace { dims, lane } = space;
                let Decomp {
                    grain_size: grain,
                    tunable,
                    max_chunks,
                    width,
                    accumulators: streams,
                    scan_block: depth,
                    cost,
                    updates_per_iteration: writes,
                } = decomp;
                p.put(format_args!("{} ", level.name));
                p.list(dims, |p, (index, size)| {
                    p.name(*index);
                    p.put(" < ");
                    p.dim(*size);
                });
                if let Some(lane) = lane {
                    p.put(format_args!(" lane {lane}"));
                }
                p.put(format_args!(" chunks ({grain}, {max_chunks}, {width}, {cost})"));
                if let Some(tunable) = tunable {
                    p.put(format_args!(" grain_size tunable#{}", tunable.0));
                }
                if (*streams, *depth) != (1, 1) {
                    p.put(format_args!(" streams ({streams}, {depth})"));
                }
                if *writes != 0 {
                    p.put(format_args!(" writes {writes}"));
                }
                p.put(" : ");
                p.types(ret);
                p.put(" -> ");
                p.body(body);
                match kind {
                    SegKind::ScanReduce(scan_reduce) => print_scan_reduce(p, scan_reduce),
                    SegKind::Hist(ops) => {
                        for op in ops {
                            p.clause(|p| print_hist(p, op));
                        }
                    }
                    SegKind::FlatMap => {}
                }
                if let Some(identity) = identity_predicate {
                    p.clause(|p| {
                        p.put("identity ");
                        p.lambda(identity);
                    });
                }
            }
            Self::WithAcc { inputs, lambda } => print_withacc(p, inputs, lambda),
        }
    }

    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>> {
        let Some(
            keyword @ ("segmap" | "segred" | "segscan" | "segscanred" | "seghist" | "segflatmap" | "withacc"),
        ) = p.peek_ident()
        else {
            return Ok(None);
        };
        p.ident()?;
        if keyword == "withacc" {
            let (inputs, lambda) = parse_withacc(p)?;
            return Ok(Some(Self::WithAcc { inputs, lambda }));
        }
        let level = p.level()?;
        let dims = p.list(|p| {
            let index = p.name()?;
            p.punct("<")?;
            Ok((index, p.dim()?))
        })?;
        let lane = if p.take_keyword("lane") { Some(p.integer()?) } else { None };
        let decomp = parse_decomp(p)?;
        p.punct(":")?;
        let ret = p.types()?;
        p.punct("->")?;
        let body = p.body()?;
        let kind = match keyword {
            "seghist" => SegKind::Hist(parse_hists(p)?),
            "segflatmap" => SegKind::FlatMap,
            _ => SegKind::ScanReduce(parse_scan_reduce(p)?),
        };
        let space = SegSpace { dims, lane };
        let identity_predicate = if p.take_keyword("identity") { Some(p.lambda()?) } else { None };
        Ok(Some(Self::Seg(Seg { level, space, kind, body, ret, decomp, identity_predicate })))
    }
}

fn parse_decomp(p: &mut Parser<'_>) -> Result<Decomp> {
    p.keyword("chunks")?;
    p.punct("(")?;
    let grain = p.integer()?;
    p.punct(",")?;
    let max_chunks = p.integer()?;
    p.punct(",")?;
    let width = p.integer()?;
    p.punct(",")?;
    let cost = p.integer()?;
    p.punct(")")?;
    let tunable = if p.take_keyword("grain_size") {
        p.keyword("tunable")?;
        p.punct("#")?;
        Some(TunableId(p.integer()?))
    } else {
        None
    };
    let (mut streams, mut depth) = (1, 1);
    if p.take_keyword("streams") {
        p.punct("(")?;
        streams = p.integer()?;
        p.punct(",")?;
        depth = p.integer()?;
        p.punct(")")?;
    }
    let writes = if p.take_keyword("writes") { p.integer()? } else { 0 };
    Ok(Decomp {
        grain_size: grain,
        tunable,
        max_chunks,
        width,
        accumulators: streams,
        scan_block: depth,
        cost,
        updates_per_iteration: writes,
    })
}
