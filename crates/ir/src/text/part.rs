//! The text of nodes' parts, and the table from which both printer and parser of operations follow.
//!
//! An operation's text is a word, or a word with a type (`iota.i64`), and the fields in order with
//! words between them: one row of [`operation_table`]. A field is printed and parsed by its type.

use super::lex::quote;
use super::{ParseError, Parser, Printer, TextLevel};
use crate::name::Name;
use crate::syntax::{Atom, DimIndex, Lambda, MsgPart};
use crate::tunable::TunableId;
use crate::types::{Dim, Type};
use smallvec::{Array, SmallVec};
use std::fmt::Write as _;
use std::sync::Arc;

type Result<T> = std::result::Result<T, ParseError>;

/// A part of a node.
pub(super) trait Part: Sized {
    /// Prints it.
    fn print_part(&self, p: &mut Printer<'_>);

    /// Parses it.
    fn parse_part(p: &mut Parser<'_>) -> Result<Self>;

    /// Prints several.
    fn print_list(list: &[Self], p: &mut Printer<'_>) {
        p.list(list, |p, x| x.print_part(p));
    }

    /// Parses several.
    fn parse_list(p: &mut Parser<'_>) -> Result<Vec<Self>> {
        p.list(Self::parse_part)
    }
}

/// Implements [`Part`] by methods of printer and parser.
macro_rules! parts {
    ($($ty:ty: |$x:ident, $p:ident| $print:expr, |$q:ident| $parse:expr;)*) => {
        $(impl Part for $ty {
            fn print_part(&self, $p: &mut Printer<'_>) {
                let $x = self;
                $print
            }

            fn parse_part($q: &mut Parser<'_>) -> Result<Self> {
                $parse
            }
        })*
    };
}

parts! {
    Atom: |x, p| p.atom(*x), |p| p.atom();
    Name: |x, p| p.name(*x), |p| p.name();
    Type: |x, p| p.ty(x), |p| p.ty();
    usize: |x, p| p.put(x), |p| p.integer();
    i64: |x, p| p.put(x), |p| p.integer();
    Arc<str>: |x, p| p.put(quote(x)), |p| p.string();
    TunableId: |x, p| p.put(format_args!("tunable#{}", x.0)), |p| parse_tunable(p);
    MsgPart: |x, p| print_message_part(x, p), |p| parse_message_part(p);
    Arc<[u8]>: |x, p| print_bytes(x, p), |p| parse_bytes(p);
    (Dim, Atom): |x, p| {
        p.dim(x.0);
        p.put(" * ");
        p.atom(x.1);
    }, |p| {
        let count = p.dim()?;
        p.punct("*")?;
        Ok((count, p.atom()?))
    };
    DimIndex: |x, p| match x {
        Self::Fix(i) => p.atom(*i),
        Self::Slice { start, count, stride } => {
            p.atom(*start);
            p.put(" :+ ");
            (*count, *stride).print_part(p);
        }
    }, |p| {
        let start = p.atom()?;
        if !p.take(":+") {
            return Ok(Self::Fix(start));
        }
        let (count, stride) = Part::parse_part(p)?;
        Ok(Self::Slice { start, count, stride })
    };
}

impl Part for Dim {
    fn print_part(&self, p: &mut Printer<'_>) {
        p.dim(*self);
    }

    fn parse_part(p: &mut Parser<'_>) -> Result<Self> {
        p.dim()
    }

    fn print_list(shape: &[Self], p: &mut Printer<'_>) {
        p.shape(shape);
    }

    fn parse_list(p: &mut Parser<'_>) -> Result<Vec<Self>> {
        Ok(p.shape()?.to_vec())
    }
}

impl<T: Part> Part for Vec<T> {
    fn print_part(&self, p: &mut Printer<'_>) {
        T::print_list(self, p);
    }

    fn parse_part(p: &mut Parser<'_>) -> Result<Self> {
        T::parse_list(p)
    }
}

impl<A: Array<Item: Part>> Part for SmallVec<A> {
    fn print_part(&self, p: &mut Printer<'_>) {
        A::Item::print_list(self, p);
    }

    fn parse_part(p: &mut Parser<'_>) -> Result<Self> {
        Ok(A::Item::parse_list(p)?.into())
    }
}

impl<L: TextLevel> Part for Lambda<L> {
    fn print_part(&self, p: &mut Printer<'_>) {
        p.lambda(self);
    }

    fn parse_part(p: &mut Parser<'_>) -> Result<Self> {
        p.lambda()
    }
}

fn parse_tunable(p: &mut Parser<'_>) -> Result<TunableId> {
    p.keyword("tunable")?;
    p.punct("#")?;
    Ok(TunableId(p.integer()?))
}

fn print_message_part(part: &MsgPart, p: &mut Printer<'_>) {
    match part {
        MsgPart::Text(text) => p.put(quote(text)),
        MsgPart::Value(ty, x) => {
            p.atom(*x);
            p.put(format_args!(": {ty}"));
        }
    }
}

fn parse_message_part(p: &mut Parser<'_>) -> Result<MsgPart> {
    // A quoted hint is followed by the name's number.
    let value = match p.take_name()? {
        Some(name) => Atom::Var(name),
        None => match p.take_string() {
            Some(text) => return Ok(MsgPart::Text(text)),
            None => p.atom()?,
        },
    };
    p.punct(":")?;
    Ok(MsgPart::Value(p.scalar_type()?, value))
}

fn print_bytes(bytes: &[u8], p: &mut Printer<'_>) {
    let mut hex = String::with_capacity(2 * bytes.len() + 2);
    hex.push('"');
    for byte in bytes {
        let _ = write!(hex, "{byte:02x}");
    }
    hex.push('"');
    p.put(hex);
}

fn parse_bytes(p: &mut Parser<'_>) -> Result<Arc<[u8]>> {
    let text = p.string()?;
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => {
            Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
        }
        _ => p.error("the bytes of a constant array must be hexadecimal"),
    }
}

/// Prints or parses one entry of a row: a word or a field.
macro_rules! entry {
    (print $p:ident $word:literal) => {
        $p.put(concat!(" ", $word));
    };
    (print $p:ident $field:ident) => {
        $p.put(" ");
        $field.print_part($p);
    };
    (parse $p:ident $word:literal) => {
        $p.keyword($word)?;
    };
    (parse $p:ident $field:ident) => {
        let $field = Part::parse_part($p)?;
    };
}

/// Defines a function that prints operations and one that parses the operation that begins with a
/// word, if the table has it. A row: the operation with its fields, the word, the field that is the type behind
/// the word if there is one, and the entries. Other operations have arms of their own for printing.
macro_rules! operation_table {
    (
        $op:ident: $print:ident, $parse:ident, $p:ident;
        not in table { $($other:pat => $print_other:expr,)* }
        $($variant:ident $fields:tt = $word:literal $(. $ty:ident)? ($($entry:tt)*);)*
    ) => {
        fn $print($p: &mut Printer<'_>, op: &$op) {
            match op {
                $($op::$variant $fields => {
                    $p.put($word);
                    $($p.put(format_args!(".{}", $ty));)?
                    $(entry!(print $p $entry);)*
                })*
                $($other => $print_other,)*
            }
        }

        fn $parse($p: &mut Parser<'_>, word: &str, ty: Option<PrimType>) -> Result<Option<$op>> {
            Ok(Some(match (word, ty) {
                $(($word, operation_table!(@ty $($ty)?)) => {
                    $p.ident()?;
                    $(entry!(parse $p $entry);)*
                    $op::$variant $fields
                })*
                _ => return Ok(None),
            }))
        }
    };
    (@ty $ty:ident) => { Some($ty) };
    (@ty) => { None };
}

pub(super) use {entry, operation_table};
