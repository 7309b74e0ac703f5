//! The text form of operations without bodies.

use super::part::{Part, Result, Rows, operations};
use super::{Parser, Printer, TextForm};
use crate::syntax::{Atom, BasicOp, DimIndex, Level};
use crate::walk::{Fields, Visit, VisitMut};
use prim::{PrimType, ScalarOp};

impl TextForm for BasicOp {
    fn print(&self, p: &mut Printer<'_>) {
        self.print_row(p);
    }

    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>> {
        if let Some(array) = p.take_name()? {
            if p.peek("[") {
                return Ok(Some(Self::Index { array, slice: Slice::parse(p)? }));
            }
            if p.take_keyword("with") {
                let slice = Slice::parse(p)?;
                p.punct("=")?;
                return Ok(Some(Self::Update { array, slice, value: p.atom()? }));
            }
            return Ok(Some(Self::Atom(Atom::Var(array))));
        }
        let Some(word) = p.peek_ident() else {
            return Ok(Some(Self::Atom(p.atom()?)));
        };
        if let Some(op) = ScalarOp::from_spelling(word) {
            p.ident()?;
            return Ok(Some(Self::Scalar(op.try_map(|()| p.atom())?)));
        }
        let is_special = word.split_once('.').is_some_and(|(base, ty)| {
            matches!(base, "nan" | "inf" | "bits") && ty.parse::<PrimType>().is_ok()
        });
        if matches!(word, "true" | "false") || is_special {
            return Ok(Some(Self::Atom(p.atom()?)));
        }
        if matches!(word, "coerce" | "reshape") {
            crate::text_row!(parse p kind shape array);
            return Ok(Some(Self::Reshape { kind, shape, array }));
        }
        Self::parse_row(p)
    }
}

operations! {
    p, BasicOp;
    others {
        Atom(0: x) = [x];
        Scalar(0: op) = [{ print_scalar(p, op) }];
        Index { array, slice } = [array ~ (Slice slice)];
        Update { array, slice, value } = [array "with" (Slice slice) "=" value];
        Reshape { kind, shape, array } = [kind shape array];
    }
    SizeAtLeast { size, tunable } = "size_at_least" [size tunable];
    Param { name, default } = "param" [name default];
    Assert { cond, msg } = "assert" [cond msg];
    FlatIndex { array, offset, dims } = "flatindex" [array offset dims];
    FlatUpdate { array, offset, strides, value } = "flatupdate" [array offset strides value];
    Concat { dim, arrays, width } = "concat" [dim "to" width arrays];
    Iota { ty, count, start, stride } = "iota".ty [count start stride];
    Replicate { shape, value } = "replicate" [shape value];
    Scratch { elem, shape } = "scratch".elem [shape];
    Rearrange { perm, array } = "rearrange" [perm array];
    Copy(0: array) = "copy" [array];
    Manifest { perm, array } = "manifest" [perm array];
    ArrayLit { row, elems } = "lit" [row elems];
    ConstArray { elem, shape, bytes } = "constarray".elem [shape bytes];
    Opaque(0: x) = "opaque" [x];
    UpdateAcc { acc, index, values } = "updateacc" [acc index values];
}

fn print_scalar(p: &mut Printer<'_>, op: &ScalarOp<Atom>) {
    p.put(op.spelling());
    op.each_operand(|x| {
        p.put(" ");
        p.atom(*x);
    });
}

/// Indices in brackets.
struct Slice;

impl Slice {
    fn print(slice: &[DimIndex], p: &mut Printer<'_>) {
        p.put("[");
        p.separated(slice, |p, index| index.print_part(p));
        p.put("]");
    }

    fn parse(p: &mut Parser<'_>) -> Result<Vec<DimIndex>> {
        p.punct("[")?;
        p.separated("]", Part::parse_part)
    }
}
