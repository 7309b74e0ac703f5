//! The text form of each level's operations and annotations.

use super::{ParseError, Parser, Printer, TextForm, TextLevel};
use crate::mem::{Block, Lmad, LmadDim, MemAnn, MemOp, Mems};
use crate::poly::{Monomial, Poly};
use crate::scan_reduce::ScanReduce;
use crate::seg::SegOp;
use crate::soac::{AccInput, HistOp, Operator, Screma, Soac, Soacs};
use crate::syntax::{Body, Lambda, Param};
use crate::types::Dim;
use crate::walk::LevelOp;

type Result<T> = std::result::Result<T, ParseError>;

impl TextForm for Soac {
    fn print(&self, p: &mut Printer<'_>) {
        let keyword = LevelOp::<Soacs>::keyword(self);
        p.put(keyword);
        p.put(" ");
        match self {
            Self::Screma(Screma { width, inputs, map, scan_reduce }) => {
                let bare = keyword == "reduce" || keyword == "scan";
                print_map(p, *width, inputs, map, bare);
                print_scan_reduce(p, scan_reduce);
            }
            Self::Hist { width, inputs, map, ops } => {
                print_map(p, *width, inputs, map, false);
                for op in ops {
                    p.clause(|p| print_hist(p, op));
                }
            }
            Self::WithAcc { inputs, lambda } => print_withacc(p, inputs, lambda),
            Self::Stream { width, inputs, init, lambda } => {
                p.dim(*width);
                p.put(" ");
                p.name_list(inputs);
                p.put(" from ");
                p.atoms(init);
                p.put(" ");
                p.lambda(lambda);
            }
            Self::FlatMap { width, inputs, lambda } => print_map(p, *width, inputs, lambda, false),
            Self::Jvp { lambda, args, tangents: others } | Self::Vjp { lambda, args, adjoints: others } => {
                p.atoms(args);
                p.put(" ");
                p.atoms(others);
                p.put(" ");
                p.lambda(lambda);
            }
        }
    }

    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>> {
        Ok(Some(match p.peek_ident() {
            Some("map" | "reduce" | "scan" | "redomap" | "scanomap" | "screma") => {
                p.ident()?;
                let (width, inputs, map) = parse_map(p)?;
                Self::Screma(Screma { width, inputs, map, scan_reduce: parse_scan_reduce(p)? })
            }
            Some("hist") => {
                p.ident()?;
                let (width, inputs, map) = parse_map(p)?;
                Self::Hist { width, inputs, map, ops: parse_hists(p)? }
            }
            Some("withacc") => {
                p.ident()?;
                let (inputs, lambda) = parse_withacc(p)?;
                Self::WithAcc { inputs, lambda }
            }
            Some("stream") => {
                p.ident()?;
                let (width, inputs) = (p.dim()?, p.name_list()?);
                p.keyword("from")?;
                Self::Stream { width, inputs, init: p.atoms()?, lambda: p.lambda()? }
            }
            Some("flatmap") => {
                p.ident()?;
                let (width, inputs, lambda) = parse_map(p)?;
                Self::FlatMap { width, inputs, lambda }
            }
            Some("jvp") => {
                p.ident()?;
                let (args, tangents) = (p.atoms()?, p.atoms()?);
                Self::Jvp { lambda: p.lambda()?, args, tangents }
            }
            Some("vjp") => {
                p.ident()?;
                let (args, adjoints) = (p.atoms()?, p.atoms()?);
                Self::Vjp { lambda: p.lambda()?, args, adjoints }
            }
            _ => return Ok(None),
        }))
    }
}

/// Width, inputs and lambda of a combinator: `n (x: t <- xs) : (ret) -> body`. The part after the
/// inputs is omitted if it is the identity and `bare`. If inputs and parameters do not correspond
/// one to one: `n of (xs) \(x: t) ...`.
fn print_map(p: &mut Printer<'_>, width: Dim, inputs: &[crate::Name], map: &Lambda<Soacs>, bare: bool) {
    p.dim(width);
    let Lambda { params, body, ret } = map;
    if params.len() != inputs.len() {
        p.put(" of ");
        p.name_list(inputs);
        p.put(" ");
        p.lambda(map);
        return;
    }
    p.put(" ");
    let pairs: Vec<_> = params.iter().zip(inputs).collect();
    p.list(&pairs, |p, (param, input)| {
        p.param(param);
        p.put(" <- ");
        p.name(**input);
    });
    if !bare {
        p.put(" : ");
        p.types(ret);
        p.put(" -> ");
        p.body(body);
    }
}

fn parse_map(p: &mut Parser<'_>) -> Result<(Dim, Vec<crate::Name>, Lambda<Soacs>)> {
    let width = p.dim()?;
    if p.take_keyword("of") {
        return Ok((width, p.name_list()?, p.lambda()?));
    }
    let pairs = p.list(|p| {
        let param: Param<Soacs> = p.param()?;
        p.punct("<-")?;
        Ok((param, p.name()?))
    })?;
    let (params, inputs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    if p.take(":") {
        let ret = p.types()?;
        p.punct("->")?;
        return Ok((width, inputs, Lambda { params, body: p.body()?, ret }));
    }
    let ret = params.iter().map(|param| param.ty.clone()).collect();
    let result = params.iter().map(|param| param.name.into()).collect();
    Ok((width, inputs, Lambda { params, body: Body { stms: Vec::new(), result }, ret }))
}

fn print_operator<L: TextLevel>(p: &mut Printer<'_>, keyword: &str, op: &Operator<L>) {
    let Operator { op, neutral, comm } = op;
    p.put(keyword);
    p.put(if *comm { "comm " } else { "" });
    p.lambda(op);
    p.put(" neutral ");
    p.atoms(neutral);
}

fn parse_operator<L: TextLevel>(p: &mut Parser<'_>) -> Result<Operator<L>> {
    let comm = p.take_keyword("comm");
    let op = p.lambda()?;
    p.keyword("neutral")?;
    Ok(Operator { op, neutral: p.atoms()?, comm })
}

fn parse_operators<L: TextLevel>(p: &mut Parser<'_>, keyword: &str) -> Result<Vec<Operator<L>>> {
    let mut ops = Vec::new();
    while p.take_keyword(keyword) {
        ops.push(parse_operator(p)?);
    }
    Ok(ops)
}

pub(super) fn print_scan_reduce<L: TextLevel>(p: &mut Printer<'_>, scan_reduce: &ScanReduce<L>) {
    let ScanReduce { scans, reduces, post } = scan_reduce;
    for op in scans {
        p.clause(|p| print_operator(p, "scan ", op));
    }
    for op in reduces {
        p.clause(|p| print_operator(p, "reduce ", op));
    }
    if let Some(post) = post {
        p.clause(|p| {
            p.put("post ");
            p.lambda(post);
        });
    }
}

pub(super) fn parse_scan_reduce<L: TextLevel>(p: &mut Parser<'_>) -> Result<ScanReduce<L>> {
    let scans = parse_operators(p, "scan")?;
    let reduces = parse_operators(p, "reduce")?;
    let post = if p.take_keyword("post") { Some(p.lambda()?) } else { None };
    Ok(ScanReduce { scans, reduces, post })
}

pub(super) fn print_hist<L: TextLevel>(p: &mut Printer<'_>, hist: &HistOp<L>) {
    let HistOp { shape, destinations, op } = hist;
    p.put("into ");
    p.shape(shape);
    p.put(" ");
    p.name_list(destinations);
    print_operator(p, " by ", op);
}

pub(super) fn parse_hists<L: TextLevel>(p: &mut Parser<'_>) -> Result<Vec<HistOp<L>>> {
    let mut hists = Vec::new();
    while p.take_keyword("into") {
        let (shape, destinations) = (p.shape()?, p.name_list()?);
        p.keyword("by")?;
        hists.push(HistOp { shape, destinations, op: parse_operator(p)? });
    }
    Ok(hists)
}

pub(super) fn print_withacc<L: TextLevel>(p: &mut Printer<'_>, inputs: &[AccInput<L>], lambda: &Lambda<L>) {
    p.list(inputs, |p, AccInput { shape, arrays, op }| {
        p.shape(shape);
        p.put(" ");
        p.name_list(arrays);
        if let Some(op) = op {
            print_operator(p, " by ", op);
        }
    });
    p.put(" ");
    p.lambda(lambda);
}

pub(super) fn parse_withacc<L: TextLevel>(p: &mut Parser<'_>) -> Result<(Vec<AccInput<L>>, Lambda<L>)> {
    let inputs = p.list(|p| {
        let (shape, arrays) = (p.shape()?, p.name_list()?);
        let op = if p.take_keyword("by") { Some(parse_operator(p)?) } else { None };
        Ok(AccInput { shape, arrays, op })
    })?;
    Ok((inputs, p.lambda()?))
}

impl TextForm for MemOp {
    fn print(&self, p: &mut Printer<'_>) {
        match self {
            Self::Alloc { bytes, memory } => {
                p.put("alloc ");
                p.atom(*bytes);
                p.put(format_args!(" {}", memory.name));
            }
            Self::Seg(op) => op.print(p),
        }
    }

    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>> {
        if p.take_keyword("alloc") {
            return Ok(Some(Self::Alloc { bytes: p.atom()?, memory: p.memory()? }));
        }
        Ok(SegOp::<Mems>::parse(p)?.map(Self::Seg))
    }
}

impl TextForm for MemAnn {
    fn print(&self, p: &mut Printer<'_>) {
        let Self::In { block, lmad } = self else {
            return;
        };
        p.put(" @ ");
        match block {
            Block::Var(name) => p.name(*name),
            Block::Ext(i) => p.put(format_args!("?{i}")),
        }
        let Lmad { offset, dims } = lmad;
        p.put(" -> {");
        print_poly(p, offset);
        p.put("; ");
        p.separated(dims, |p, LmadDim { stride, extent }| {
            p.put("(");
            print_poly(p, stride);
            p.put(": ");
            p.dim(*extent);
            p.put(")");
        });
        p.put("}");
    }

    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>> {
        if !p.take("@") {
            return Ok(Some(Self::None));
        }
        let block = if p.take("?") { Block::Ext(p.integer()?) } else { Block::Var(p.name()?) };
        p.punct("->")?;
        p.punct("{")?;
        let offset = parse_poly(p)?;
        p.punct(";")?;
        let dims = p.separated("}", |p| {
            p.punct("(")?;
            let stride = parse_poly(p)?;
            p.punct(":")?;
            let extent = p.dim()?;
            p.punct(")")?;
            Ok(LmadDim { stride, extent })
        })?;
        Ok(Some(Self::In { block, lmad: Lmad { offset, dims: dims.into() } }))
    }
}

pub(super) fn print_poly(p: &mut Printer<'_>, poly: &Poly) {
    if poly.terms().is_empty() {
        p.put("0");
    }
    for (i, (monomial, coefficient)) in poly.terms().iter().enumerate() {
        p.put(if i > 0 { " + " } else { "" });
        let alone = monomial.is_empty();
        if alone || *coefficient != 1 {
            p.put(coefficient);
            p.put(if alone { "" } else { "*" });
        }
        for (j, name) in monomial.iter().enumerate() {
            p.put(if j > 0 { "*" } else { "" });
            p.name(*name);
        }
    }
}

pub(super) fn parse_poly(p: &mut Parser<'_>) -> Result<Poly> {
    let mut terms = Vec::new();
    loop {
        let mut monomial = Monomial::new();
        let coefficient = if let Some(name) = p.take_name()? {
            monomial.push(name);
            1
        } else {
            p.integer()?
        };
        while p.take("*") {
            monomial.push(p.name()?);
        }
        terms.push((monomial, coefficient));
        if !p.take("+") {
            return Ok(Poly::from_terms(terms));
        }
    }
}
