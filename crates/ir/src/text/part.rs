//! The text of nodes' parts, and the tables from which printer and parser of nodes follow.
//!
//! A node's text is a row: words, and the fields in order. A variant's row begins with a word, or a
//! word with a type (`iota.i64`). A field is printed and parsed by its type.

use super::lex::quote;
use super::{ParseError, Parser, Printer, TextForm, TextLevel};
use crate::name::{FunId, FunName, Name};
use crate::prov::SrcLoc;
use crate::syntax::{
    Atom, Body, DimIndex, FunParam, FunResult, Lambda, LoopParam, MsgPart, Param, ReshapeKind,
};
use crate::tunable::{Class, Rule, Tunable, TunableId};
use crate::types::{Dim, Type};
use crate::version::{CallPosition, Version};
use prim::PrimType;
use smallvec::{Array, SmallVec};
use std::fmt::Write as _;
use std::sync::Arc;
use target::levels::LevelId;
use target::memories::MemoryId;

pub(super) type Result<T> = std::result::Result<T, ParseError>;

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

/// A node whose variants are rows of a table.
pub(super) trait Rows: Sized {
    /// Prints it.
    fn print_row(&self, p: &mut Printer<'_>);

    /// Parses the row that begins with the current word, if there is one.
    fn parse_row(p: &mut Parser<'_>) -> Result<Option<Self>>;
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
/// `(some "word" x)` a list that may be empty, `(flag "word" x)` a truth value; `(each "word" x)` and
/// `(last "word" x)` are lists and optional fields in lines of their own. Another name before fields
/// is a type whose functions `print` and `parse` replace those of `Part`. Code in braces prints only.
#[macro_export]
macro_rules! text_row {
    ($mode:ident $p:ident) => {};
    ($mode:ident $p:ident ~ ($kind:ident $word:literal $x:ident) $($rest:tt)*) => {
        $crate::text_row!($mode $p ($kind $word $x) $($rest)*);
    };
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
    (print $p:ident ($kind:ident $word:literal $x:ident) $($rest:tt)*) => {
        $p.clauses($word, $x);
        $crate::text_row!(print $p $($rest)*);
    };
    (parse $p:ident (each $word:literal $x:ident) $($rest:tt)*) => {
        let $x = $p.clauses($word)?;
        $crate::text_row!(parse $p $($rest)*);
    };
    (parse $p:ident (last $word:literal $x:ident) $($rest:tt)*) => {
        $crate::text_row!(parse $p (if $word $x) $($rest)*);
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
    (print $p:ident ($Kind:ident $($field:ident)+)) => {
        $Kind::print(($($field),+), $p);
    };
    (parse $p:ident ($Kind:ident $($field:ident)+)) => {
        let ($($field),+) = $Kind::parse($p)?;
    };
    (print $p:ident $code:block) => {
        $code
    };
}

text_parts! {
    Atom: |x, p| p.atom(*x), |p| p.atom();
    Name: |x, p| p.name(*x), |p| p.name();
    FunId: |x, p| p.fun(*x), |p| p.mention();
    FunName: |x, p| p.put(super::print::fun_name(x)), |p| p.fun_name();
    Type: |x, p| p.ty(x), |p| p.ty();
    PrimType: |x, p| p.put(x), |p| p.prim();
    MemoryId: |x, p| p.put(x.name), |p| p.memory();
    LevelId: |x, p| p.put(x.name), |p| p.level();
    usize: |x, p| p.put(x), |p| p.integer();
    u32: |x, p| p.put(x), |p| p.integer();
    i64: |x, p| p.put(x), |p| p.integer();
    Arc<str>: |x, p| p.put(quote(x)), |p| p.string();
    TunableId: |x, p| p.put(format_args!("tunable#{}", x.0)), |p| {
        p.keyword("tunable")?;
        p.punct("#")?;
        Ok(Self(p.integer()?))
    };
    Rule: |x, p| p.put(x.name()), |p| p.named("rule", &Self::ALL, Self::name);
    Class: |x, p| p.put(x.name()), |p| p.named("parameter class", &Self::ALL, Self::name);
    MsgPart: |x, p| match x {
        Self::Text(text) => p.put(quote(text)),
        Self::Value(ty, x) => {
            p.atom(*x);
            p.put(format_args!(": {ty}"));
        }
    }, |p| {
        // A quoted hint is followed by the name's number.
        let value = match p.take_name()? {
            Some(name) => Atom::Var(name),
            None => match p.take_string() {
                Some(text) => return Ok(Self::Text(text)),
                None => p.atom()?,
            },
        };
        p.punct(":")?;
        Ok(Self::Value(p.scalar_type()?, value))
    };
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
    (Name, Dim): |x, p| {
        p.name(x.0);
        p.put(" < ");
        p.dim(x.1);
    }, |p| {
        let index = p.name()?;
        p.punct("<")?;
        Ok((index, p.dim()?))
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
    ReshapeKind: |x, p| p.put(match x {
        Self::Coerce => "coerce",
        Self::Arbitrary => "reshape",
    }), |p| {
        if p.take_keyword("coerce") {
            return Ok(Self::Coerce);
        }
        p.keyword("reshape")?;
        Ok(Self::Arbitrary)
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

impl<L: TextLevel> Part for Body<L> {
    fn print_part(&self, p: &mut Printer<'_>) {
        p.body(self);
    }

    fn parse_part(p: &mut Parser<'_>) -> Result<Self> {
        p.body()
    }
}

/// A level's annotation, with a space before.
struct Ann;

impl Ann {
    fn print(ann: &impl TextForm, p: &mut Printer<'_>) {
        ann.print(p);
    }

    fn parse<A: TextForm>(p: &mut Parser<'_>) -> Result<A> {
        A::parse(p)?.map_or_else(|| p.expected("an annotation"), Ok)
    }
}

/// True for `*`.
struct Star;

impl Star {
    fn print(consumed: &bool, p: &mut Printer<'_>) {
        p.put(if *consumed { "*" } else { "" });
    }

    fn parse(p: &mut Parser<'_>) -> Result<bool> {
        Ok(p.take("*"))
    }
}

/// A row of another table.
pub(super) struct Row;

impl Row {
    pub(super) fn print(node: &impl Rows, p: &mut Printer<'_>) {
        node.print_row(p);
    }

    pub(super) fn parse<T: Rows>(p: &mut Parser<'_>) -> Result<T> {
        T::parse_row(p)?.map_or_else(|| p.expected("another keyword"), Ok)
    }
}

/// Implements [`Part`] for a structure by a row.
macro_rules! text {
    ($($p:ident, [$($L:ident)?] $Node:ty { $($x:ident),* } = [$($entry:tt)*];)*) => {
        $(impl<$($L: $crate::text::TextLevel)?> Part for $Node {
            fn print_part(&self, $p: &mut Printer<'_>) {
                let Self { $($x),* } = self;
                $crate::text_row!(print $p ~ $($entry)*);
            }

            fn parse_part($p: &mut Parser<'_>) -> Result<Self> {
                $crate::text_row!(parse $p $($entry)*);
                Ok(Self { $($x),* })
            }
        })*
    };
}

/// Declares the fields of structures, in scope order, and their text.
macro_rules! structures {
    ($($p:ident, [$($L:ident)?] $Node:ty { $($x:ident),* } = [$($entry:tt)*];)*) => {
        $(
            $crate::walk::fields::fields!($Node: { $($x),* });
            $crate::text::part::text!($p, [$($L)?] $Node { $($x),* } = [$($entry)*];);
        )*
    };
}

/// Implements [`Rows`] for an enum. Rows in `others` have text that no word of their own begins.
macro_rules! rows {
    (
        $p:ident, [$($L:ident)?] $Node:ty;
        others {
            $($Other:ident $(($($other_index:tt : $y:ident),*))? $({$($other_name:ident),*})?
                = [$($other_entry:tt)*];)*
        }
        $($Row:ident $(($($index:tt : $x:ident),*))? $({$($name:ident),*})?
            = $word:literal $(. $ty:ident)? [$($entry:tt)*];)*
    ) => {
        impl<$($L: $crate::text::TextLevel)?> Rows for $Node {
            fn print_row(&self, $p: &mut Printer<'_>) {
                match self {
                    $(Self::$Other $({ $($other_index: $y),* })? $({ $($other_name),* })? => {
                        $crate::text_row!(print $p ~ $($other_entry)*);
                    })*
                    $(Self::$Row $({ $($index: $x),* })? $({ $($name),* })? => {
                        $p.put($word);
                        $($p.put(format_args!(".{}", $ty));)?
                        $crate::text_row!(print $p $($entry)*);
                    })*
                }
            }

            fn parse_row($p: &mut Parser<'_>) -> Result<Option<Self>> {
                let text = $p.peek_ident().unwrap_or_default();
                let (word, ty) = match text.split_once('.') {
                    Some((word, ty)) => (word, ty.parse().ok()),
                    None => (text, None::<prim::PrimType>),
                };
                Ok(Some(match (word, ty) {
                    $(($word, $crate::text::part::rows!(@ty $($ty)?)) => {
                        $p.ident()?;
                        $crate::text_row!(parse $p $($entry)*);
                        Self::$Row $({ $($index: $x),* })? $({ $($name),* })?
                    })*
                    _ => return Ok(None),
                }))
            }
        }
    };
    (@ty $ty:ident) => { Some($ty) };
    (@ty) => { None };
}

/// Declares the fields of an enum's variants, in scope order, and their text; in brackets is the
/// level, if there is only one.
macro_rules! operations {
    (
        $p:ident, $Node:ident $(, $Level:tt)?;
        others {
            $($Other:ident $(($($other_index:tt : $y:ident),*))? $({$($other_name:ident),*})?
                = [$($other_entry:tt)*];)*
        }
        $($Row:ident $(($($index:tt : $x:ident),*))? $({$($name:ident),*})?
            = $word:literal $(. $ty:ident)? [$($entry:tt)*];)*
    ) => {
        $crate::walk::fields::fields!($($Level)? $Node:
            $($Other $(($($other_index: $y),*))? $({$($other_name),*})?;)*
            $($Row $(($($index: $x),*))? $({$($name),*})?;)*
        );
        $crate::text::part::rows! {
            $p, [] $Node;
            others {
                $($Other $(($($other_index: $y),*))? $({$($other_name),*})? = [$($other_entry)*];)*
            }
            $($Row $(($($index: $x),*))? $({$($name),*})? = $word $(. $ty)? [$($entry)*];)*
        }
    };
}

pub(super) use {operations, rows, structures, text};

text! {
    p, [L] Param<L> { name, ty, ann } = [name ~ ":" ty ~ (Ann ann)];
    p, [L] LoopParam<L> { consumed, param, init } = [(Star consumed) ~ param "=" init];
    p, [L] FunParam<L> { consumed, param } = [(Star consumed) ~ param];
    p, [L] FunResult<L> { ty, aliases, ann } = [ty (some "alias" aliases) ~ (Ann ann)];
    p, [L] Lambda<L> { params, ret, body } = ["\\" ~ params ":" ret "->" body];
    p, [] Tunable { rule, ordinal, class, default } = [rule ordinal class default];
    p, [] Version { of, position } = ["of" of (Row position)];
    p, [] SrcLoc { file, line, col, end_line, end_col } =
        [file ~ ":" ~ line ~ ":" ~ col ~ "-" ~ end_line ~ ":" ~ end_col];
}

rows! {
    p, [] CallPosition;
    others {}
    Within { segop_level, level } = "within" [segop_level (if "at" level)];
    LiftedRegular = "regular" [];
    LiftedIrregular = "irregular" [];
    Host = "on" ["host"];
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
