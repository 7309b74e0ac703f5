//! The text of elements of buffers, and of the operators of their positions.

use super::parse::{Parser, Result};
use super::part::{Part, Rows};
use super::print::Printer;
use crate::{Access, Expr, LaneAccess, LanePositions, MAX_LANES, MaskedOff, Var};
use ir::text::show_scalar;
use prim::{BinOp, PrimType, Scalar, ScalarOp};

/// The accesses in brackets behind a buffer: one element, or one per lane with a mask.
pub(super) enum Element {
    One(Access),
    Lanes(LaneAccess, Option<Expr>),
}

ir::text_parts! {
    Access: |x, p| print_access(x, p), |p| {
        let buffer = Var::parse_part(p)?;
        match element(p, buffer)? {
            Element::One(access) => Ok(access),
            Element::Lanes(..) => p.error("expected a single element"),
        }
    };
}

fn print_access(access: &Access, p: &mut Printer<'_>) {
    let Access { buffer, elem, offset, dims } = access;
    buffer.print_part(p);
    p.put(format_args!("[{elem}: "));
    let mut before = "";
    if *offset != Expr::i64(0) || dims.is_empty() {
        p.put("at ");
        offset.print_part(p);
        before = " + ";
    }
    for (index, stride) in dims {
        p.put(std::mem::replace(&mut before, " + "));
        index.print_part(p);
        if *stride != Expr::i64(1) {
            p.put(" * ");
            stride.print_part(p);
        }
    }
    p.put("]");
}

impl Printer<'_> {
    /// The access of all lanes under a mask.
    pub(crate) fn lanes(&mut self, access: &LaneAccess, mask: Option<&Expr>) {
        let LaneAccess { buffer, elem, lanes, at, masked_off } = access;
        buffer.print_part(self);
        self.put(format_args!("[{lanes} x {elem}: "));
        at.print_row(self);
        self.put("]");
        if let Some(mask) = mask {
            self.put(" mask ");
            mask.print_part(self);
        }
        self.put(match masked_off {
            MaskedOff::Skip => "",
            MaskedOff::Dummy => " elsewhere",
        });
    }
}

/// Parses the brackets behind a buffer.
pub(super) fn element(p: &mut Parser<'_>, buffer: Var) -> Result<Element> {
    p.punct("[")?;
    if let Some(lanes) = p.take_integer::<u32>() {
        if lanes > MAX_LANES {
            return p.error(format!("a vector has at most {MAX_LANES} lanes"));
        }
        ir::text_row!(parse p "x" elem ":");
        let at = positions(p)?;
        ir::text_row!(parse p "]" (if "mask" mask) (flag "elsewhere" is_dummy));
        let masked_off = if is_dummy { MaskedOff::Dummy } else { MaskedOff::Skip };
        return Ok(Element::Lanes(LaneAccess { buffer, elem, lanes, at, masked_off }, mask));
    }
    ir::text_row!(parse p elem ":" (if "at" offset));
    let mut dims = Vec::new();
    while offset.is_none() && dims.is_empty() || p.take("+") {
        let index = Expr::parse_part(p)?;
        let stride = if p.take("*") { Expr::parse_part(p)? } else { Expr::i64(1) };
        dims.push((index, stride));
    }
    p.punct("]")?;
    Ok(Element::One(Access { buffer, elem, offset: offset.unwrap_or(Expr::i64(0)), dims }))
}

fn positions(p: &mut Parser<'_>) -> Result<LanePositions> {
    if let Some(each) = LanePositions::parse_row(p, None)? {
        return Ok(each);
    }
    ir::text_row!(parse p first "..");
    Ok(if p.take_keyword("near") {
        LanePositions::SmallStride(first, p.integer()?)
    } else if p.take_keyword("by") {
        LanePositions::Strided(first, Part::parse_part(p)?)
    } else {
        LanePositions::Unit(first)
    })
}

/// The operators of positions, which are infix.
const INFIX: [(&str, BinOp); 3] = [("+", BinOp::Add), ("-", BinOp::Sub), ("*", BinOp::Mul)];

/// Prints an operation on positions; returns true if it is one.
pub(crate) fn print_infix(p: &mut Printer<'_>, op: &ScalarOp<Box<Expr>>) -> bool {
    if let ScalarOp::Binary(op, PrimType::I64, x, y) = op
        && let Some((sign, _)) = INFIX.iter().find(|(_, infix)| infix == op)
    {
        p.put("(");
        ir::text_row!(print p ~ x { p.put(sign) } y ~ ")");
        return true;
    }
    false
}

/// `(x + y)`.
pub(crate) fn parse_infix(p: &mut Parser<'_>) -> Result<Expr> {
    ir::text_row!(parse p "(" x);
    let Some((_, op)) = INFIX.into_iter().find(|(sign, _)| p.take(sign)) else {
        return p.expected("`+`, `-` or `*`");
    };
    ir::text_row!(parse p y ")");
    Ok(Expr::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y)))
}

/// Prints operands in parentheses, if there are any.
pub(crate) fn print_operands(p: &mut Printer<'_>, operands: &[&Expr]) {
    let mut before = "(";
    for x in operands {
        p.put(std::mem::replace(&mut before, ", "));
        x.print_part(p);
    }
    p.put(if operands.is_empty() { "" } else { ")" });
}

/// Parses `N` operands in parentheses, if there are any.
pub(crate) fn operands<const N: usize>(p: &mut Parser<'_>) -> Result<[Box<Expr>; N]> {
    let mut operands = Vec::with_capacity(N);
    for i in 0..N {
        p.punct(if i > 0 { "," } else { "(" })?;
        operands.push(Part::parse_part(p)?);
    }
    if N > 0 {
        p.punct(")")?;
    }
    operands.try_into().or_else(|_| p.expected(&format!("{N} operands")))
}

/// A part of an operator's name after a point.
pub(crate) trait Suffix: Sized {
    /// Parses it.
    fn parse_suffix(p: &Parser<'_>, text: &str) -> Result<Self>;
}

impl Suffix for PrimType {
    fn parse_suffix(p: &Parser<'_>, text: &str) -> Result<Self> {
        text.parse().or_else(|()| p.expected("an operator with its types"))
    }
}

impl Suffix for u32 {
    /// The number of lanes.
    fn parse_suffix(p: &Parser<'_>, text: &str) -> Result<Self> {
        match text.parse() {
            Ok(lanes) if lanes <= MAX_LANES => Ok(lanes),
            _ => p.error(format!("a vector has at most {MAX_LANES} lanes")),
        }
    }
}

/// A constant; those of type `i64` have no suffix.
pub(crate) fn constant(value: Scalar) -> String {
    value
        .as_i64()
        .filter(|_| value.ty() == PrimType::I64)
        .map_or_else(|| show_scalar(value), |x| x.to_string())
}
