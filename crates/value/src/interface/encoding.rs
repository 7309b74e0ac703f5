//! The interface of a program as bytes: numbers of 32 bits, little-endian; texts and lists after
//! their lengths. A type is the index of its (element) type in [`ScalarType::ALL`] and its rank, or
//! [`OPAQUE`] and its index in the table.

use super::{
    Constr, EntryType, EntryValue, Interface, OpaqueId, OpaqueKind, OpaqueType, OpaqueTypes, Signature,
};
use crate::value::ValueType;
use prim::ScalarType;
use std::sync::Arc;

const OPAQUE: u32 = u32::MAX;
const RECORD: u32 = 0;
const SUM: u32 = 1;
const RECORD_ARRAY: u32 = 2;
const ARRAY: u32 = 3;

impl Interface {
    /// The interface as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer(Vec::new());
        let types: Vec<&OpaqueType> = self.opaques.iter().collect();
        out.list(&types, |out, ty| out.opaque(ty));
        out.list(&self.entries, |out, entry| {
            out.text(&entry.name);
            out.list(&entry.params, Writer::value);
            out.value(&entry.result);
            out.list(&entry.attributes, |out, text| out.text(text));
            out.text(&entry.doc);
        });
        out.0
    }

    /// The interface that [`Self::encode`] made these bytes of.
    ///
    /// # Errors
    /// The bytes are no interface, or it breaks an invariant.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut reader = Reader { bytes, at: 0 };
        let mut opaques = OpaqueTypes::default();
        for _ in 0..reader.number()? {
            let ty = reader.opaque()?;
            opaques.push(ty)?;
        }
        let entries = reader.list(|from| {
            Ok(Signature {
                name: from.text()?,
                params: from.list(Reader::value)?,
                result: from.value()?,
                attributes: from.list(Reader::text)?,
                doc: from.text()?,
            })
        })?;
        let known = |entry: &Signature| {
            opaques.contains_types_of(&entry.params)
                && opaques.contains_types_of(std::slice::from_ref(&entry.result))
        };
        if reader.at != bytes.len() || !entries.iter().all(known) {
            return Err("the entry points do not fit".to_owned());
        }
        match opaques.problems().into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(Self { opaques, entries }),
        }
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: usize) {
        // Larger numbers do not fit into memory as interfaces.
        self.0.extend((number as u32).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.0.extend(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        self.number(items.len());
        for one in items {
            item(self, one);
        }
    }

    fn ty(&mut self, ty: &EntryType) {
        let (kind, number) = match ty {
            EntryType::Value(ty) => {
                let scalar = ScalarType::ALL.iter().position(|scalar| *scalar == ty.scalar);
                (scalar.unwrap_or_default(), ty.rank)
            }
            EntryType::Opaque(id) => (OPAQUE as usize, id.index()),
        };
        self.number(kind);
        self.number(number);
    }

    fn fields(&mut self, fields: &[super::Field]) {
        self.list(fields, |out, (name, ty)| {
            out.text(name);
            out.ty(ty);
        });
    }

    fn opaque(&mut self, ty: &OpaqueType) {
        self.text(&ty.name);
        let mut kind = |kind: u32| self.number(kind as usize);
        match &ty.kind {
            OpaqueKind::Record(fields) => {
                kind(RECORD);
                self.fields(fields);
            }
            OpaqueKind::Sum(constrs) => {
                kind(SUM);
                self.list(constrs, |out, constr| {
                    out.text(&constr.name);
                    out.list(&constr.payload, Self::ty);
                });
            }
            OpaqueKind::RecordArray { elem, rank, fields } => {
                kind(RECORD_ARRAY);
                self.number(elem.index());
                self.number(*rank);
                self.fields(fields);
            }
            OpaqueKind::Array { elem, rank } => {
                kind(ARRAY);
                self.number(elem.index());
                self.number(*rank);
            }
        }
    }

    fn value(&mut self, value: &EntryValue) {
        self.text(&value.name);
        self.text(&value.type_name);
        self.ty(&value.ty);
        self.number(usize::from(value.unique));
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take(&mut self, count: usize) -> Result<&[u8], String> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or("it is incomplete")?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, String> {
        let mut word = [0; 4];
        word.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(word))
    }

    fn text(&mut self) -> Result<Arc<str>, String> {
        let length = self.number()?;
        let text = std::str::from_utf8(self.take(length as usize)?);
        text.map(Arc::from).map_err(|_| "a name is not UTF-8".to_owned())
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        (0..self.number()?).map(|_| item(self)).collect()
    }

    fn ty(&mut self) -> Result<EntryType, String> {
        let kind = self.number()?;
        if kind == OPAQUE {
            return Ok(EntryType::Opaque(OpaqueId(self.number()?)));
        }
        let scalar = ScalarType::ALL.get(kind as usize).ok_or("a scalar type does not exist")?;
        Ok(EntryType::Value(ValueType::new(*scalar, self.rank()?)))
    }

    fn rank(&mut self) -> Result<usize, String> {
        match u16::try_from(self.number()?) {
            Ok(rank) => Ok(rank.into()),
            Err(_) => Err("an array has too many dimensions".to_owned()),
        }
    }

    fn fields(&mut self) -> Result<Vec<super::Field>, String> {
        self.list(|from| Ok((from.text()?, from.ty()?)))
    }

    fn opaque(&mut self) -> Result<OpaqueType, String> {
        let name = self.text()?;
        let kind = match self.number()? {
            RECORD => OpaqueKind::Record(self.fields()?),
            SUM => OpaqueKind::Sum(
                self.list(|from| Ok(Constr { name: from.text()?, payload: from.list(Self::ty)? }))?,
            ),
            RECORD_ARRAY => OpaqueKind::RecordArray {
                elem: OpaqueId(self.number()?),
                rank: self.rank()?,
                fields: self.fields()?,
            },
            ARRAY => OpaqueKind::Array { elem: OpaqueId(self.number()?), rank: self.rank()? },
            _ => return Err("a kind of type does not exist".to_owned()),
        };
        Ok(OpaqueType { name, kind })
    }

    fn value(&mut self) -> Result<EntryValue, String> {
        Ok(EntryValue {
            name: self.text()?,
            type_name: self.text()?,
            ty: self.ty()?,
            unique: self.number()? != 0,
        })
    }
}
