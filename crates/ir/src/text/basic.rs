//! The text form of operations without bodies.

use super::part::{Part, operation_table};
use super::{ParseError, Parser, Printer, TextForm};
use crate::syntax::{Atom, BasicOp, DimIndex, ReshapeKind};
use prim::{PrimType, ScalarOp};

type Result<T> = std::result::Result<T, ParseError>;

impl TextForm for BasicOp {
    fn print(&self, p: &mut Printer<'_>) {
        print_operation(p, self);
    }

    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>> {
        if let Some(array) = p.take_name()? {
            if p.peek("[") {
                return Ok(Some(Self::Index { array, slice: parse_slice(p)? }));
            }
            if p.take_keyword("with") {
                let slice = parse_slice(p)?;
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
        let (base, ty) = match word.split_once('.') {
            Some((base, ty)) => (base, ty.parse().ok()),
            None => (word, None),
        };
        if matches!(word, "true" | "false") || (matches!(base, "nan" | "inf" | "bits") && ty.is_some()) {
            return Ok(Some(Self::Atom(p.atom()?)));
        }
        parse_operation(p, base, ty)
    }
}

operation_table! {
    BasicOp: print_operation, parse_operation, p;
    not in table {
        BasicOp::Atom(x) => p.atom(*x),
        BasicOp::Scalar(op) => {
            p.put(op.spelling());
            for x in op.operands() {
                p.put(" ");
                p.atom(*x);
            }
        },
        BasicOp::Index { array, slice } => {
            p.name(*array);
            print_slice(p, slice);
        },
        BasicOp::Update { array, slice, value } => {
            p.name(*array);
            p.put(" with ");
            print_slice(p, slice);
            p.put(" = ");
            p.atom(*value);
        },
    }
    SizeAtLeast { size, tunable } = "size_at_least" (size tunable);
    Param { name, default } = "param" (name default);
    Assert { cond, msg } = "assert" (cond msg);
    FlatIndex { array, offset, dims } = "flatindex" (array offset dims);
    FlatUpdate { array, offset, strides, value } = "flatupdate" (array offset strides value);
    Concat { dim, arrays, width } = "concat" (dim "to" width arrays);
    Iota { ty, count, start, stride } = "iota".ty (count start stride);
    Replicate { shape, value } = "replicate" (shape value);
    Scratch { elem, shape } = "scratch".elem (shape);
    Rearrange { perm, array } = "rearrange" (perm array);
    Reshape { kind: ReshapeKind::Coerce, shape, array } = "coerce" (shape array);
    Reshape { kind: ReshapeKind::Arbitrary, shape, array } = "reshape" (shape array);
    Copy(array) = "copy" (array);
    Manifest { perm, array } = "manifest" (perm array);
    ArrayLit { row, elems } = "lit" (row elems);
    ConstArray { elem, shape, bytes } = "constarray".elem (shape bytes);
    Opaque(x) = "opaque" (x);
    UpdateAcc { acc, index, values } = "updateacc" (acc index values);
}

fn print_slice(p: &mut Printer<'_>, slice: &[DimIndex]) {
    p.put("[");
    p.separated(slice, |p, index| index.print_part(p));
    p.put("]");
}

fn parse_slice(p: &mut Parser<'_>) -> Result<Vec<DimIndex>> {
    p.punct("[")?;
    p.separated("]", Part::parse_part)
}
