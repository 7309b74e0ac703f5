//! The text form of entry points' types and of the table of opaque types, equal at every level:
//!
//! ```text
//! opaque#0 "point" = record ("x": f32, "y": f32)
//! opaque#1 "shape" = sum (i8, f32, f32, f32) ("circle" (opaque#0 at 1, f32 at 3), "none" ())
//! opaque#2 "[]point" = array 1 of opaque#0 record ("x": array 1 f32, "y": array 1 f32)
//! opaque#3 "[]shape" = array 1 of opaque#1 (array 1 i8, array 1 f32, ...)
//! ```

use super::MAX_DEPTH;
use super::cursor::{Parser, Result};
use super::lex::quote;
use crate::entry::{
    Constr, EntryType, EntryValue, Field, Leaf, OpaqueId, OpaqueKind, OpaqueType, OpaqueTypes,
};
use std::fmt::Write as _;

/// The table as text, one line per type.
pub fn show_opaque_types(types: &OpaqueTypes) -> String {
    let mut out = String::new();
    for (i, ty) in types.iter().enumerate() {
        let _ = writeln!(out, "opaque#{i} {} = {}", quote(&ty.name), kind(&ty.kind));
    }
    out
}

fn kind(kind: &OpaqueKind) -> String {
    match kind {
        OpaqueKind::Record(own) => format!("record {}", fields(own)),
        OpaqueKind::Sum { leaves: own, constrs } => format!("sum {} {}", leaves(own), list(constrs, constr)),
        OpaqueKind::RecordArray { elem, rank, fields: own } => {
            format!("array {rank} of opaque#{} record {}", elem.0, fields(own))
        }
        OpaqueKind::Array { elem, rank, leaves: own } => {
            format!("array {rank} of opaque#{} {}", elem.0, leaves(own))
        }
    }
}

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    let items: Vec<String> = items.iter().map(show).collect();
    format!("({})", items.join(", "))
}

fn fields(fields: &[Field]) -> String {
    list(fields, |(name, ty)| format!("{}: {}", quote(name), entry_type(ty)))
}

fn constr(constr: &Constr) -> String {
    let payload = list(&constr.payload, |(ty, at)| format!("{} at {at}", entry_type(ty)));
    format!("{} {payload}", quote(&constr.name))
}

fn leaves(leaves: &[Leaf]) -> String {
    list(leaves, |leaf| match leaf.rank {
        0 => leaf.elem.to_string(),
        rank => format!("array {rank} {}", leaf.elem),
    })
}

/// A parameter or result of an entry point.
pub fn show_entry_value(value: &EntryValue) -> String {
    let star = if value.unique { "*" } else { "" };
    let (name, type_name) = (quote(&value.name), quote(&value.type_name));
    format!("{name}: {star}{type_name} as {}", entry_type(&value.ty))
}

fn entry_type(ty: &EntryType) -> String {
    match ty {
        EntryType::Scalar(scalar) => scalar.to_string(),
        EntryType::Array { elem, rank } => format!("array {rank} {elem}"),
        EntryType::Opaque(id) => format!("opaque#{}", id.0),
    }
}

impl Parser<'_> {
    /// A table of opaque types.
    pub fn opaque_types(&mut self) -> Result<OpaqueTypes> {
        let mut types = OpaqueTypes::default();
        while self.take_keyword("opaque") {
            self.punct("#")?;
            if self.integer::<usize>()? != types.len() {
                return self.error("opaque types must be numbered consecutively from 0");
            }
            let name = self.string()?;
            self.punct("=")?;
            let kind = self.opaque_kind()?;
            if let Err(problem) = types.push(OpaqueType { name, kind }) {
                return self.error(problem);
            }
        }
        Ok(types)
    }

    fn opaque_kind(&mut self) -> Result<OpaqueKind> {
        if self.take_keyword("record") {
            return Ok(OpaqueKind::Record(self.list(Self::field)?));
        }
        if self.take_keyword("sum") {
            return Ok(OpaqueKind::Sum { leaves: self.list(Self::leaf)?, constrs: self.list(Self::constr)? });
        }
        self.keyword("array")?;
        let rank = self.rank()?;
        self.keyword("of")?;
        self.keyword("opaque")?;
        let elem = self.opaque_id()?;
        Ok(if self.take_keyword("record") {
            OpaqueKind::RecordArray { elem, rank, fields: self.list(Self::field)? }
        } else {
            OpaqueKind::Array { elem, rank, leaves: self.list(Self::leaf)? }
        })
    }

    fn opaque_id(&mut self) -> Result<OpaqueId> {
        self.punct("#")?;
        Ok(OpaqueId(self.integer()?))
    }

    fn field(&mut self) -> Result<Field> {
        let name = self.string()?;
        self.punct(":")?;
        Ok((name, self.entry_type()?))
    }

    fn constr(&mut self) -> Result<Constr> {
        Ok(Constr {
            name: self.string()?,
            payload: self.list(|p| {
                let ty = p.entry_type()?;
                p.keyword("at")?;
                Ok((ty, p.integer()?))
            })?,
        })
    }

    fn leaf(&mut self) -> Result<Leaf> {
        let rank = if self.take_keyword("array") { self.rank()? } else { 0 };
        let elem = self.scalar_type()?;
        Ok(Leaf { elem, rank })
    }

    fn rank(&mut self) -> Result<usize> {
        let rank: usize = self.integer()?;
        if rank == 0 || rank > MAX_DEPTH {
            return self.error(format!("an array has 1 to {MAX_DEPTH} dimensions"));
        }
        Ok(rank)
    }

    /// A parameter or result of an entry point.
    pub fn entry_value(&mut self) -> Result<EntryValue> {
        let name = self.string()?;
        self.punct(":")?;
        let unique = self.take("*");
        let type_name = self.string()?;
        self.keyword("as")?;
        Ok(EntryValue { name, type_name, ty: self.entry_type()?, unique })
    }

    fn entry_type(&mut self) -> Result<EntryType> {
        if self.take_keyword("array") {
            return Ok(EntryType::Array { rank: self.rank()?, elem: self.scalar_type()? });
        }
        if self.take_keyword("opaque") {
            return Ok(EntryType::Opaque(self.opaque_id()?));
        }
        Ok(EntryType::Scalar(self.scalar_type()?))
    }
}
