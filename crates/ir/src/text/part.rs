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

/// Implements the trait `Part` for types, each with code that prints and code that parses.
#[macro_export]
macro_rules! text_parts {
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

/// Prints or parses the entries of a row: words, punctuation and fields in the order of the text,
/// with spaces between them; `~` leaves out the space. `(if "word" x)` is an optional field,
/// `(some "word" x)` a list that may be empty, `(flag "word" x)` a truth value; another name before
/// a field is a type whose functions `print` and `parse` replace those of `Part`. Code in braces
/// prints only.
#[macro_export]
macro_rules! text_row {
    ($mode:ident $p:ident) => {};
    (print $p:ident (if $word:literal $x:ident) $($rest:tt)*) => {
        if let Some(x) = $x {
            $p.put(concat!(" ", $word, " "));
            x.print_part($p);
        }
        $crate::text_row!(print $p $($rest)*);
    };
    (parse $p:ident (if $word:literal $x:ident) $($rest:tt)*) => {
        let $x = if $p.take_keyword($word) { Some(Part::parse_part($p)?) } else { None };
        $crate::text_row!(parse $p $($rest)*);
    };
    (print $p:ident (some $word:literal $x:ident) $($rest:tt)*) => {
        if !$x.is_empty() {
            $p.put(concat!(" ", $word, " "));
            $x.print_part($p);
        }
        $crate::text_row!(print $p $($rest)*);
    };
    (parse $p:ident (some $word:literal $x:ident) $($rest:tt)*) => {
        let $x = if $p.take_keyword($word) { Part::parse_part($p)? } else { Default::default() };
        $crate::text_row!(parse $p $($rest)*);
    };
    (print $p:ident (flag $word:literal $x:ident) $($rest:tt)*) => {
        $p.put(if *$x { concat!(" ", $word) } else { "" });
        $crate::text_row!(print $p $($rest)*);
    };
    (parse $p:ident (flag $word:literal $x:ident) $($rest:tt)*) => {
        let $x = $p.take_keyword($word);
        $crate::text_row!(parse $p $($rest)*);
    };
    ($mode:ident $p:ident ~ $entry:tt $($rest:tt)*) => {
        $crate::text_entry!($mode $p $entry);
        $crate::text_row!($mode $p $($rest)*);
    };
    (print $p:ident $entry:tt $($rest:tt)*) => {
        $p.put(" ");
        $crate::text_row!(print $p ~ $entry $($rest)*);
    };
    (parse $p:ident $($entries:tt)*) => {
        $crate::text_row!(parse $p ~ $($entries)*);
    };
}

/// Prints or parses one entry of a row.
#[macro_export]
macro_rules! text_entry {
    (print $p:ident $word:literal) => {
        $p.put($word);
    };
    (parse $p:ident $word:literal) => {
        $p.word($word)?;
    };
    (print $p:ident $field:ident) => {
        $field.print_part($p);
    };
    (parse $p:ident $field:ident) => {
        let $field = Part::parse_part($p)?;
    };
    (print $p:ident ($Kind:ident $field:ident)) => {
        $Kind::print($field, $p);
    };
    (parse $p:ident ($Kind:ident $field:ident)) => {
        let $field = $Kind::parse($p)?;
    };
    (print $p:ident $code:block) => {
        $code
    };
}

text_parts! {
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
                    $crate::text_row!(print $p $($entry)*);
                })*
                $($other => $print_other,)*
            }
        }

        fn $parse($p: &mut Parser<'_>, word: &str, ty: Option<PrimType>) -> Result<Option<$op>> {
            Ok(Some(match (word, ty) {
                $(($word, operation_table!(@ty $($ty)?)) => {
                    $p.ident()?;
                    $crate::text_row!(parse $p $($entry)*);
                    $op::$variant $fields
                })*
                _ => return Ok(None),
            }))
        }
    };
    (@ty $ty:ident) => { Some($ty) };
    (@ty) => { None };
}

pub(super) use operation_table;
