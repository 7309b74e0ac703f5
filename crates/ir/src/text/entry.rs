//! The text form of entry points and of the table of opaque types, equal at every level:
//!
//! ```text
//! opaque#0 "point" = record ("x": f32, "y": f32)
//! opaque#1 "shape" = sum ("circle" (opaque#0, f32), "none" ())
//! opaque#2 "[]point" = array 1 of opaque#0 record ("x": array 1 f32, "y": array 1 f32)
//! opaque#3 "[]shape" = array 1 of opaque#1
//! entry "area" = area ("s": "shape" as opaque#1) -> ("": "f32" as f32) attributes ("inline") doc "text"
//! ```

use super::MAX_DEPTH;
use super::cursor::{Parser, Result};
use super::lex::quote;
use crate::name::FunId;
use crate::syntax::EntryPoint;
use std::fmt::Write as _;
use value::ValueType;
use value::interface::{
    Constr, EntryType, EntryValue, Field, OpaqueId, OpaqueKind, OpaqueType, OpaqueTypes, Signature,
};

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
        OpaqueKind::Sum(constrs) => format!("sum {}", list(constrs, constr)),
        OpaqueKind::RecordArray { elem, rank, fields: own } => {
            format!("array {rank} of opaque#{} record {}", elem.0, fields(own))
        }
        OpaqueKind::Array { elem, rank } => format!("array {rank} of opaque#{}", elem.0),
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
    format!("{} {}", quote(&constr.name), list(&constr.payload, entry_type))
}

/// An entry point with the printed name of its function, as a line.
pub fn show_entry_point(signature: &Signature, fun: &str) -> String {
    let Signature { name, params, result, attributes, doc } = signature;
    let (params, result) = (list(params, entry_value), entry_value(result));
    let mut out = format!("entry {} = {fun} {params} -> ({result})", quote(name));
    if !attributes.is_empty() {
        let _ = write!(out, " attributes {}", list(attributes, |text| quote(text)));
    }
    if !doc.is_empty() {
        let _ = write!(out, " doc {}", quote(doc));
    }
    out + "\n"
}

fn entry_value(value: &EntryValue) -> String {
    let star = if value.unique { "*" } else { "" };
    let (name, type_name) = (quote(&value.name), quote(&value.type_name));
    format!("{name}: {star}{type_name} as {}", entry_type(&value.ty))
}

fn entry_type(ty: &EntryType) -> String {
    match ty {
        EntryType::Value(ValueType { scalar, rank: 0 }) => scalar.to_string(),
        EntryType::Value(ValueType { scalar, rank }) => format!("array {rank} {scalar}"),
        EntryType::Opaque(id) => format!("opaque#{}", id.0),
    }
}

impl<C> Parser<'_, C> {
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
            return Ok(OpaqueKind::Sum(self.list(Self::constr)?));
        }
        self.keyword("array")?;
        let rank = self.rank()?;
        self.keyword("of")?;
        self.keyword("opaque")?;
        let elem = self.opaque_id()?;
        Ok(if self.take_keyword("record") {
            OpaqueKind::RecordArray { elem, rank, fields: self.list(Self::field)? }
        } else {
            OpaqueKind::Array { elem, rank }
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
        Ok(Constr { name: self.string()?, payload: self.list(Self::entry_type)? })
    }

    fn rank(&mut self) -> Result<usize> {
        let rank: usize = self.integer()?;
        if rank == 0 || rank > MAX_DEPTH {
            return self.error(format!("an array has 1 to {MAX_DEPTH} dimensions"));
        }
        Ok(rank)
    }

    /// The entry points; `fun` parses the name of a function.
    pub fn entry_points(
        &mut self,
        mut fun: impl FnMut(&mut Self) -> Result<FunId>,
    ) -> Result<Vec<EntryPoint>> {
        let mut entries = Vec::new();
        while self.take_keyword("entry") {
            let name = self.string()?;
            self.punct("=")?;
            let fun = fun(self)?;
            let params = self.list(Self::entry_value)?;
            self.punct("->")?;
            self.punct("(")?;
            let result = self.entry_value()?;
            self.punct(")")?;
            let attributes =
                if self.take_keyword("attributes") { self.list(Self::string)? } else { Vec::new() };
            let doc = if self.take_keyword("doc") { self.string()? } else { "".into() };
            let signature = Signature { name, params, result, attributes, doc };
            entries.push(EntryPoint { fun, signature });
        }
        Ok(entries)
    }

    fn entry_value(&mut self) -> Result<EntryValue> {
        let name = self.string()?;
        self.punct(":")?;
        let unique = self.take("*");
        let type_name = self.string()?;
        self.keyword("as")?;
        Ok(EntryValue { name, type_name, ty: self.entry_type()?, unique })
    }

    fn entry_type(&mut self) -> Result<EntryType> {
        if self.take_keyword("array") {
            let rank = self.rank()?;
            return Ok(EntryType::array(self.scalar_type()?, rank));
        }
        if self.take_keyword("opaque") {
            return Ok(EntryType::Opaque(self.opaque_id()?));
        }
        Ok(EntryType::scalar(self.scalar_type()?))
    }
}
