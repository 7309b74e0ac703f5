//! The program's table of opaque types: the types of entry points' parameters and results that are
//! neither scalars nor arrays of scalars.
//!
//! A type is in the table once for each name that users know it by; types that are not named in the
//! source are named by their structure. Two types with the same name (of different modules, say)
//! are distinguished by their structure.

use crate::types::LTy;
use check::tast::{ExternalName, ExternalParts};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;
use std::sync::Arc;
use value::interface::{Constr, EntryType, Field, OpaqueId, OpaqueKind, OpaqueType, OpaqueTypes};

/// The table under construction.
#[derive(Default)]
pub(crate) struct Opaques {
    /// The types so far.
    pub(crate) table: OpaqueTypes,
    /// The types by requested name and structure.
    known: FxHashMap<(Arc<str>, String), OpaqueId>,
    /// The names that are taken.
    names: FxHashSet<Arc<str>>,
}

/// The source of a type's spelling.
#[derive(Clone, Copy)]
enum By<'s> {
    None,
    /// The spelling of the type as a whole.
    Whole(&'s ExternalName),
    /// The spelling of the elements of the dimensions around it.
    Elem(&'s ExternalName),
}

impl Opaques {
    /// The type of a parameter or result, added to the table if necessary.
    ///
    /// # Errors
    ///
    /// The table becomes too large.
    pub(crate) fn entry_type(
        &mut self,
        ty: &LTy,
        spelled: Option<&ExternalName>,
    ) -> Result<EntryType, String> {
        self.within(ty, 0, spelled.map_or(By::None, By::Whole))
    }

    /// As [`Self::entry_type`], for an array of `outer` dimensions over this type.
    fn within(&mut self, ty: &LTy, outer: usize, by: By<'_>) -> Result<EntryType, String> {
        let (mut rank, mut elem) = (outer, ty);
        let mut elem_by = match by {
            By::Whole(own) | By::Elem(own) => Some(own),
            By::None => None,
        };
        while let LTy::Array(array) = elem {
            (rank, elem) = (rank + 1, &array.1);
            elem_by = elem_by.and_then(|own| match &own.parts {
                ExternalParts::Elem(elem) => Some(&**elem),
                ExternalParts::Unknown | ExternalParts::Fields(_) | ExternalParts::Constrs(_) => None,
            });
        }
        if let LTy::Scalar(elem) = *elem {
            return Ok(EntryType::array(elem, rank));
        }
        let mut shown = "[]".repeat(outer);
        let name = match by {
            By::None => None,
            By::Whole(own) => Some(own.name.clone()),
            By::Elem(own) => Some(format!("{shown}{}", own.name).into()),
        };
        show(ty, &mut shown);
        let name: Arc<str> = name.unwrap_or_else(|| shown.as_str().into());
        let key = (name, shown);
        if let Some(id) = self.known.get(&key) {
            return Ok(EntryType::Opaque(*id));
        }
        let kind = if rank == 0 { self.kind(elem, elem_by)? } else { self.array(elem, elem_by, rank)? };
        let name = self.free_name(&key);
        let id = self.table.push(OpaqueType { name, kind })?;
        self.known.insert(key, id);
        Ok(EntryType::Opaque(id))
    }

    /// The requested name, or another one if a different type has it.
    fn free_name(&mut self, (name, shown): &(Arc<str>, String)) -> Arc<str> {
        let mut own = name.clone();
        let mut count = 1;
        while !self.names.insert(own.clone()) {
            own = match count {
                1 => shown.as_str().into(),
                _ => format!("{shown} ({count})").into(),
            };
            count += 1;
        }
        own
    }

    /// The structure of a type that is not an array.
    fn kind(&mut self, ty: &LTy, by: Option<&ExternalName>) -> Result<OpaqueKind, String> {
        let LTy::Sum(constrs) = ty else {
            return Ok(OpaqueKind::Record(self.fields(ty, by, 0)?));
        };
        let mut out = Vec::with_capacity(constrs.len());
        for (label, types) in constrs.iter() {
            let name: Arc<str> = label.to_string().into();
            let mut payload = Vec::with_capacity(types.len());
            for (i, ty) in types.iter().enumerate() {
                let by = payload_of(by, &name, i).map_or(By::None, By::Whole);
                payload.push(self.within(ty, 0, by)?);
            }
            out.push(Constr { name, payload });
        }
        Ok(OpaqueKind::Sum(out))
    }

    fn array(&mut self, elem: &LTy, by: Option<&ExternalName>, rank: usize) -> Result<OpaqueKind, String> {
        let own = self.within(elem, 0, by.map_or(By::None, By::Whole))?;
        let EntryType::Opaque(own) = own else {
            return Err("an array of scalars is not an opaque type".to_owned());
        };
        if let LTy::Tuple(_) | LTy::Record(_) = elem
            && !elem.parts().unwrap_or_default().is_empty()
        {
            return Ok(OpaqueKind::RecordArray { elem: own, rank, fields: self.fields(elem, by, rank)? });
        }
        Ok(OpaqueKind::Array { elem: own, rank })
    }

    /// The fields of a record, each with `rank` more dimensions.
    fn fields(&mut self, ty: &LTy, by: Option<&ExternalName>, rank: usize) -> Result<Vec<Field>, String> {
        let names: Vec<Arc<str>> = match ty {
            LTy::Record(fields) => (fields.iter().map(|(label, _)| label.to_string().into())).collect(),
            _ => (0..ty.parts().map_or(0, |parts| parts.len())).map(|i| i.to_string().into()).collect(),
        };
        let mut fields = Vec::with_capacity(names.len());
        for (name, ty) in names.into_iter().zip(ty.parts().unwrap_or_default()) {
            let by = match (field_of(by, &name), rank) {
                (None, _) => By::None,
                (Some(own), 0) => By::Whole(own),
                (Some(own), _) => By::Elem(own),
            };
            let ty = self.within(ty, rank, by)?;
            fields.push((name, ty));
        }
        Ok(fields)
    }
}

fn field_of<'s>(by: Option<&'s ExternalName>, name: &str) -> Option<&'s ExternalName> {
    match &by?.parts {
        ExternalParts::Fields(fields) => {
            let (_, own) = fields.iter().find(|(label, _)| **label == *name)?;
            Some(own)
        }
        ExternalParts::Unknown | ExternalParts::Elem(_) | ExternalParts::Constrs(_) => None,
    }
}

fn payload_of<'s>(by: Option<&'s ExternalName>, name: &str, i: usize) -> Option<&'s ExternalName> {
    match &by?.parts {
        ExternalParts::Constrs(constrs) => {
            let (_, payload) = constrs.iter().find(|(label, _)| **label == *name)?;
            payload.get(i).map(|own| &**own)
        }
        ExternalParts::Unknown | ExternalParts::Elem(_) | ExternalParts::Fields(_) => None,
    }
}

/// A type's structure in source syntax.
pub(crate) fn shown(ty: &LTy) -> Arc<str> {
    let mut out = String::new();
    show(ty, &mut out);
    out.into()
}

fn show(ty: &LTy, out: &mut String) {
    match ty {
        LTy::Scalar(ty) => out.push_str(ty.name()),
        LTy::Array(array) => {
            out.push_str("[]");
            let sum = matches!(array.1, LTy::Sum(_));
            out.push_str(if sum { "(" } else { "" });
            show(&array.1, out);
            out.push_str(if sum { ")" } else { "" });
        }
        LTy::Tuple(parts) => {
            out.push('(');
            for (i, part) in parts.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                show(part, out);
            }
            out.push(')');
        }
        LTy::Record(fields) => {
            out.push('{');
            for (i, (label, ty)) in fields.iter().enumerate() {
                let _ = write!(out, "{}{label}: ", if i > 0 { ", " } else { "" });
                show(ty, out);
            }
            out.push('}');
        }
        LTy::Sum(constrs) => {
            for (i, (label, types)) in constrs.iter().enumerate() {
                let _ = write!(out, "{}#{label}", if i > 0 { " | " } else { "" });
                for ty in types.iter() {
                    let sum = matches!(ty, LTy::Sum(_));
                    out.push_str(if sum { " (" } else { " " });
                    show(ty, out);
                    out.push_str(if sum { ")" } else { "" });
                }
            }
        }
        LTy::Fun | LTy::Acc(_) => out.push('?'),
    }
}
