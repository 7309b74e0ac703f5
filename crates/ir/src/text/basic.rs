//! The text form of operations without bodies.

use super::lex::quote;
use super::{ParseError, Parser, Printer, TextForm};
use crate::syntax::{Atom, BasicOp, DimIndex, MsgPart, ReshapeKind};
use crate::tunable::TunableId;
use crate::types::{Shape, Type};
use prim::{BinOp, CmpOp, ConvOp, MathFun, PrimType, ScalarOp, UnOp};
use std::fmt::Write as _;

type Result<T> = std::result::Result<T, ParseError>;

impl TextForm for BasicOp {
    fn print(&self, p: &mut Printer<'_>) {
        let operator = |p: &mut Printer<'_>, name: &str, ty: &PrimType, args: &[Atom]| {
            p.put(format_args!("{name}.{ty}"));
            for arg in args {
                p.put(" ");
                p.atom(*arg);
            }
        };
        match self {
            Self::Atom(x) => p.atom(*x),
            Self::Unary(op, ty, x) => operator(p, op.name(), ty, &[*x]),
            Self::Binary(op, ty, x, y) => operator(p, op.name(), ty, &[*x, *y]),
            Self::Compare(op, ty, x, y) => operator(p, op.name(), ty, &[*x, *y]),
            Self::SizeAtLeast { size, tunable } => {
                p.put("size_at_least ");
                p.atom(*size);
                p.put(format_args!(" tunable#{}", tunable.0));
            }
            Self::Param { name, default } => {
                p.put(format_args!("param {} ", quote(name)));
                p.atom(*default);
            }
            Self::Convert { op, from, to, arg } => {
                p.put(format_args!("{}.{from}.{to} ", op.name()));
                p.atom(*arg);
            }
            Self::Select { ty, cond, if_true, if_false } => {
                operator(p, "select", ty, &[*cond, *if_true, *if_false]);
            }
            Self::Fma(ty, x, y, z) => operator(p, "fma", ty, &[*x, *y, *z]),
            Self::Math(fun, ty, args) => {
                p.put(fun.spelling(*ty));
                for arg in args {
                    p.put(" ");
                    p.atom(*arg);
                }
            }
            Self::Assert { cond, msg } => {
                p.put("assert ");
                p.atom(*cond);
                p.put(" ");
                p.list(msg, |p, part| match part {
                    MsgPart::Text(text) => p.put(quote(text)),
                    MsgPart::Value(ty, x) => {
                        p.atom(*x);
                        p.put(format_args!(": {ty}"));
                    }
                });
            }
            Self::Index { array, slice } => {
                p.name(*array);
                print_slice(p, slice);
            }
            Self::Update { array, slice, value } => {
                p.name(*array);
                p.put(" with ");
                print_slice(p, slice);
                p.put(" = ");
                p.atom(*value);
            }
            Self::FlatIndex { array, offset, dims } => {
                p.put("flatindex ");
                p.name(*array);
                p.put(" ");
                p.atom(*offset);
                p.put(" ");
                p.list(dims, |p, (count, stride)| {
                    p.dim(*count);
                    p.put(" * ");
                    p.atom(*stride);
                });
            }
            Self::FlatUpdate { array, offset, strides, value } => {
                p.put("flatupdate ");
                p.name(*array);
                p.put(" ");
                p.atom(*offset);
                p.put(" ");
                p.atoms(strides);
                p.put(" ");
                p.name(*value);
            }
            Self::Concat { dim, arrays, width } => {
                p.put(format_args!("concat {dim} to "));
                p.dim(*width);
                p.put(" ");
                p.name_list(arrays);
            }
            Self::Iota { ty, count, start, stride } => {
                p.put(format_args!("iota.{ty} "));
                p.dim(*count);
                p.put(" ");
                p.atom(*start);
                p.put(" ");
                p.atom(*stride);
            }
            Self::Replicate { shape, value } => {
                p.put("replicate ");
                p.shape(shape);
                p.put(" ");
                p.atom(*value);
            }
            Self::Scratch { elem, shape } => {
                p.put(format_args!("scratch.{elem} "));
                p.shape(shape);
            }
            Self::Rearrange { perm, array } => {
                p.put("rearrange ");
                p.list(perm, |p, i| p.put(i));
                p.put(" ");
                p.name(*array);
            }
            Self::Reshape { kind, shape, array } => {
                p.put(match kind {
                    ReshapeKind::Coerce => "coerce ",
                    ReshapeKind::Arbitrary => "reshape ",
                });
                p.shape(shape);
                p.put(" ");
                p.name(*array);
            }
            Self::Copy(array) => {
                p.put("copy ");
                p.name(*array);
            }
            Self::Manifest { perm, array } => {
                p.put("manifest ");
                p.list(perm, |p, i| p.put(i));
                p.put(" ");
                p.name(*array);
            }
            Self::ArrayLit { row, elems } => {
                p.put("lit ");
                p.ty(row);
                p.put(" ");
                p.atoms(elems);
            }
            Self::ConstArray { elem, shape, bytes } => {
                p.put(format_args!("constarray.{elem} "));
                p.list(shape, |p, n| p.put(n));
                let mut hex = String::with_capacity(2 * bytes.len() + 3);
                hex.push_str(" \"");
                for byte in bytes.iter() {
                    let _ = write!(hex, "{byte:02x}");
                }
                hex.push('"');
                p.put(hex);
            }
            Self::Opaque(x) => {
                p.put("opaque ");
                p.atom(*x);
            }
            Self::UpdateAcc { acc, index, values } => {
                p.put("updateacc ");
                p.name(*acc);
                p.put(" ");
                p.atoms(index);
                p.put(" ");
                p.atoms(values);
            }
        }
    }

    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>> {
        if let Some(name) = p.take_name()? {
            if p.peek("[") {
                return Ok(Some(Self::Index { array: name, slice: parse_slice(p)? }));
            }
            if p.take_keyword("with") {
                let slice = parse_slice(p)?;
                p.punct("=")?;
                return Ok(Some(Self::Update { array: name, slice, value: p.atom()? }));
            }
            return Ok(Some(Self::Atom(Atom::Var(name))));
        }
        let Some(word) = p.peek_ident() else {
            return Ok(Some(Self::Atom(p.atom()?)));
        };
        if let Some((fun, ty)) = MathFun::from_spelling(word) {
            p.ident()?;
            let args: Result<_> = (0..fun.arity()).map(|_| p.atom()).collect();
            return Ok(Some(Self::Math(fun, ty, args?)));
        }
        let mut parts = word.split('.');
        let (base, types) = (parts.next().unwrap_or(word), parts.collect::<Vec<_>>());
        if types.is_empty() {
            return parse_plain(p, base);
        }
        let types: Option<Vec<PrimType>> = types.iter().map(|ty| ty.parse().ok()).collect();
        match types.as_deref() {
            Some([ty]) => parse_at_type(p, base, *ty),
            Some([from, to]) => {
                let Some(op) = ConvOp::from_name(base) else {
                    return Ok(None);
                };
                p.ident()?;
                Ok(Some(Self::Convert { op, from: *from, to: *to, arg: p.atom()? }))
            }
            _ => Ok(None),
        }
    }
}

fn parse_plain(p: &mut Parser<'_>, word: &str) -> Result<Option<BasicOp>> {
    if word == "true" || word == "false" {
        return Ok(Some(BasicOp::Atom(p.atom()?)));
    }
    let known = [
        "assert",
        "size_at_least",
        "flatindex",
        "flatupdate",
        "concat",
        "replicate",
        "rearrange",
        "coerce",
        "reshape",
        "copy",
        "manifest",
        "lit",
        "opaque",
        "updateacc",
    ];
    if !known.contains(&word) {
        return Ok(None);
    }
    p.ident()?;
    Ok(Some(match word {
        "assert" => BasicOp::Assert {
            cond: p.atom()?,
            msg: p.list(|p| {
                // A quoted hint is followed by the name's number.
                if let Some(name) = p.take_name()? {
                    p.punct(":")?;
                    return Ok(MsgPart::Value(p.scalar_type()?, Atom::Var(name)));
                }
                if let Some(text) = p.take_string() {
                    return Ok(MsgPart::Text(text));
                }
                let value = p.atom()?;
                p.punct(":")?;
                Ok(MsgPart::Value(p.scalar_type()?, value))
            })?,
        },
        "size_at_least" => {
            let size = p.atom()?;
            p.keyword("tunable")?;
            p.punct("#")?;
            BasicOp::SizeAtLeast { size, tunable: TunableId(p.integer()?) }
        }
        "param" => BasicOp::Param { name: p.string()?, default: p.atom()? },
        "flatindex" => BasicOp::FlatIndex {
            array: p.name()?,
            offset: p.atom()?,
            dims: p
                .list(|p| {
                    let count = p.dim()?;
                    p.punct("*")?;
                    Ok((count, p.atom()?))
                })?
                .into(),
        },
        "flatupdate" => BasicOp::FlatUpdate {
            array: p.name()?,
            offset: p.atom()?,
            strides: p.atoms()?.into(),
            value: p.name()?,
        },
        "concat" => {
            let dim = p.integer()?;
            p.keyword("to")?;
            let width = p.dim()?;
            BasicOp::Concat { dim, arrays: p.name_list()?, width }
        }
        "replicate" => BasicOp::Replicate { shape: p.shape()?, value: p.atom()? },
        "rearrange" => {
            let perm = p.list(Parser::integer)?;
            BasicOp::Rearrange { perm: perm.into(), array: p.name()? }
        }
        "coerce" => reshape(p, ReshapeKind::Coerce)?,
        "reshape" => reshape(p, ReshapeKind::Arbitrary)?,
        "copy" => BasicOp::Copy(p.name()?),
        "manifest" => {
            let perm = p.list(Parser::integer)?;
            BasicOp::Manifest { perm: perm.into(), array: p.name()? }
        }
        "lit" => {
            let row: Type = p.ty()?;
            BasicOp::ArrayLit { row, elems: p.atoms()? }
        }
        "opaque" => BasicOp::Opaque(p.atom()?),
        _ => BasicOp::UpdateAcc { acc: p.name()?, index: p.atoms()?.into(), values: p.atoms()? },
    }))
}

fn reshape(p: &mut Parser<'_>, kind: ReshapeKind) -> Result<BasicOp> {
    let shape: Shape = p.shape()?;
    Ok(BasicOp::Reshape { kind, shape, array: p.name()? })
}

fn parse_at_type(p: &mut Parser<'_>, base: &str, ty: PrimType) -> Result<Option<BasicOp>> {
    if matches!(base, "nan" | "inf" | "bits") {
        return Ok(Some(BasicOp::Atom(p.atom()?)));
    }
    let binary = BinOp::from_name(base);
    let compare = CmpOp::from_name(base);
    let unary = UnOp::from_name(base);
    let special = matches!(base, "select" | "fma" | "iota" | "scratch" | "constarray");
    if !special && binary.is_none() && compare.is_none() && unary.is_none() {
        return Ok(None);
    }
    p.ident()?;
    if let Some(op) = binary {
        return Ok(Some(BasicOp::binary(op, ty, p.atom()?, p.atom()?)));
    }
    if let Some(op) = compare {
        return Ok(Some(BasicOp::compare(op, ty, p.atom()?, p.atom()?)));
    }
    if let Some(op) = unary {
        return Ok(Some(BasicOp::unary(op, ty, p.atom()?)));
    }
    Ok(Some(match base {
        "select" => {
            let (cond, if_true, if_false) = (p.atom()?, p.atom()?, p.atom()?);
            BasicOp::Scalar(ScalarOp::Select { ty, cond, if_true, if_false })
        }
        "fma" => BasicOp::fma(ty, p.atom()?, p.atom()?, p.atom()?),
        "iota" => {
            let (count, start, stride) = (p.dim()?, p.atom()?, p.atom()?);
            BasicOp::Iota { ty, count, start, stride }
        }
        "scratch" => BasicOp::Scratch { elem: ty, shape: p.shape()? },
        _ => {
            let shape = p.list(Parser::integer)?;
            let Some(bytes) = from_hex(&p.string()?) else {
                return p.error("the bytes of a constant array must be hexadecimal");
            };
            BasicOp::ConstArray { elem: ty, shape: shape.into(), bytes: bytes.into() }
        }
    }))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits?;
    if digits.len() % 2 == 1 {
        return None;
    }
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn print_slice(p: &mut Printer<'_>, slice: &[DimIndex]) {
    p.put("[");
    p.separated(slice, |p, index| match index {
        DimIndex::Fix(i) => p.atom(*i),
        DimIndex::Slice { start, count, stride } => {
            p.atom(*start);
            p.put(" :+ ");
            p.dim(*count);
            p.put(" * ");
            p.atom(*stride);
        }
    });
    p.put("]");
}

fn parse_slice(p: &mut Parser<'_>) -> Result<Vec<DimIndex>> {
    p.punct("[")?;
    p.separated("]", |p| {
        let start = p.atom()?;
        if !p.take(":+") {
            return Ok(DimIndex::Fix(start));
        }
        let count = p.dim()?;
        p.punct("*")?;
        Ok(DimIndex::Slice { start, count, stride: p.atom()? })
    })
}
