//! The fields and the text form of each level's operations and annotations, except segops.

use super::part::{Part, Result, Rows, operations, structures};
use super::{Parser, Printer, TextForm};
use crate::Name;
use crate::mem::{Block, Lmad, LmadDim, MemAnn, MemOp, Mems};
use crate::poly::{Monomial, Poly};
use crate::scan_reduce::ScanReduce;
use crate::seg::SegOp;
use crate::soac::{AccInput, HistOp, Operator, Screma, Soac, Soacs};
use crate::syntax::{Body, Lambda, Level, Param};
use crate::types::Dim;
use crate::walk::{Fields, Visit, VisitMut};

structures! {
    p, [L] Operator<L> { neutral, op, comm } = [(Comm comm) ~ op "neutral" neutral];
    p, [L] HistOp<L> { shape, destinations, op } = [shape destinations "by" op];
    p, [L] AccInput<L> { shape, arrays, op } = [shape arrays (if "by" op)];
    p, [L] ScanReduce<L> { scans, reduces, post } =
        [(each "scan" scans) (each "reduce" reduces) (last "post" post)];
    p, [] LmadDim { stride, extent } = ["(" ~ stride ~ ":" extent ~ ")"];
}

operations! {
    p, Soac, [Soacs];
    others {
        Screma(0: screma) = [{ print_screma(screma, p) }];
    }
    Hist { width, inputs, map, ops } = "hist" [(Map width inputs map) (each "into" ops)];
    WithAcc { inputs, lambda } = "withacc" [inputs lambda];
    Stream { width, inputs, init, lambda } = "stream" [width inputs "from" init lambda];
    FlatMap { width, inputs, lambda } = "flatmap" [(Map width inputs lambda)];
    Jvp { args, seeds, directions, lambda } = "jvp" [args seeds (if "directions" directions) lambda];
    Vjp { args, seeds, directions, lambda } = "vjp" [args seeds (if "directions" directions) lambda];
    WithVjp { args, lambda, adjoint } = "with_vjp" [args lambda "adjoint" adjoint];
}

operations! {
    p, MemOp, [Mems];
    others {
        Seg(0: op) = [{ op.print(p) }];
    }
    Alloc { bytes, memory } = "alloc" [bytes memory];
    Transfer { array } = "transfer" [array];
}

impl TextForm for Soac {
    fn print(&self, p: &mut Printer<'_>) {
        self.print_row(p);
    }

    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>> {
        let Some("map" | "reduce" | "scan" | "redomap" | "scanomap" | "screma") = p.peek_ident() else {
            return Self::parse_row(p);
        };
        p.ident()?;
        crate::text_row!(parse p (Map width inputs map) scan_reduce);
        Ok(Some(Self::Screma(Screma { width, inputs, map, scan_reduce })))
    }
}

fn print_screma(screma: &Screma, p: &mut Printer<'_>) {
    let keyword = screma.keyword();
    let Screma { width, inputs, map, scan_reduce } = screma;
    p.put(keyword);
    p.put(" ");
    print_map(p, (width, inputs, map), matches!(keyword, "reduce" | "scan"));
    scan_reduce.print_part(p);
}

/// Width, inputs and lambda of a combinator: `n (x: t <- xs) : (ret) -> body`. If inputs and
/// parameters do not correspond one to one: `n of (xs) \(x: t) ...`.
struct Map;

impl Map {
    fn print(parts: (&Dim, &Vec<Name>, &Lambda<Soacs>), p: &mut Printer<'_>) {
        print_map(p, parts, false);
    }

    fn parse(p: &mut Parser<'_>) -> Result<(Dim, Vec<Name>, Lambda<Soacs>)> {
        let width = p.dim()?;
        if p.take_keyword("of") {
            crate::text_row!(parse p inputs lambda);
            return Ok((width, inputs, lambda));
        }
        let (mut params, mut inputs) = (Vec::<Param<Soacs>>::new(), Vec::new());
        p.list(|p| {
            params.push(Part::parse_part(p)?);
            p.punct("<-")?;
            inputs.push(p.name()?);
            Ok(())
        })?;
        if p.take(":") {
            crate::text_row!(parse p ret "->" body);
            return Ok((width, inputs, Lambda { params, body, ret }));
        }
        let ret = params.iter().map(|param| param.ty.clone()).collect();
        let result = params.iter().map(|param| param.name.into()).collect();
        Ok((width, inputs, Lambda { params, body: Body { stms: Vec::new(), result }, ret }))
    }
}

/// Prints a [`Map`]; the part after the inputs is omitted if it is the identity and `bare`.
fn print_map(p: &mut Printer<'_>, parts: (&Dim, &Vec<Name>, &Lambda<Soacs>), bare: bool) {
    let (width, inputs, map) = parts;
    let Lambda { params, body, ret } = map;
    if params.len() != inputs.len() {
        crate::text_row!(print p ~ width "of" inputs map);
        return;
    }
    crate::text_row!(print p ~ width);
    p.put(" ");
    let pairs: Vec<_> = params.iter().zip(inputs).collect();
    p.list(&pairs, |p, (param, input)| {
        crate::text_row!(print p ~ param "<-" input);
    });
    if !bare {
        crate::text_row!(print p ":" ret "->" body);
    }
}

/// True for `comm`.
struct Comm;

impl Comm {
    fn print(comm: &bool, p: &mut Printer<'_>) {
        p.put(if *comm { "comm " } else { "" });
    }

    fn parse(p: &mut Parser<'_>) -> Result<bool> {
        Ok(p.take_keyword("comm"))
    }
}

impl TextForm for MemOp {
    fn print(&self, p: &mut Printer<'_>) {
        self.print_row(p);
    }

    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>> {
        if let Some(op) = Self::parse_row(p)? {
            return Ok(Some(op));
        }
        Ok(SegOp::<Mems>::parse(p)?.map(Self::Seg))
    }
}

impl TextForm for MemAnn {
    fn print(&self, p: &mut Printer<'_>) {
        if let Self::In { block, lmad: Lmad { offset, dims } } = self {
            crate::text_row!(print p "@" block "->" "{" ~ offset ~ ";");
            p.put(" ");
            p.separated(dims, |p, dim| dim.print_part(p));
            p.put("}");
        }
    }

    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>> {
        if !p.take("@") {
            return Ok(Some(Self::None));
        }
        crate::text_row!(parse p block "->" "{" offset ";");
        let dims = p.separated("}", Part::parse_part)?.into();
        Ok(Some(Self::In { block, lmad: Lmad { offset, dims } }))
    }
}

crate::text_parts! {
    Block: |x, p| match x {
        Self::Var(name) => p.name(*name),
        Self::Ext(i) => p.put(format_args!("?{i}")),
    }, |p| Ok(if p.take("?") { Self::Ext(p.integer()?) } else { Self::Var(p.name()?) });
    Poly: |x, p| print_poly(p, x), |p| parse_poly(p);
}

fn print_poly(p: &mut Printer<'_>, poly: &Poly) {
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

fn parse_poly(p: &mut Parser<'_>) -> Result<Poly> {
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
