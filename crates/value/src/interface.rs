//! The interface of a program: its entry points, and the types of their parameters and results.
//!
//! A type is a scalar or an array of scalars ([`ValueType`]), or an *opaque type*: an entry of the
//! program's table ([`OpaqueTypes`]) with its name and its structure. A value of an opaque type is
//! represented by scalars and arrays, its leaves:
//!
//! | kind | leaves, in order |
//! |---|---|
//! | record | those of the fields, in alphabetical order; those of a tuple are called `0`, `1`, ... |
//! | sum | the constructor's number (`i8`), then those of all payloads, in alphabetical order of the constructors |
//! | array of records | those of the fields, each with the array's dimensions before its own |
//! | array of other opaque types | those of the element, likewise |
//!
//! The table is in order of first use, and an entry mentions only earlier ones; each consists of at
//! most [`MAX_LEAVES`] leaves. Names are the source's, without sizes, and unique. The compiler's
//! verifiers check the other invariants ([`OpaqueTypes::problems`]); so does the runtime when it
//! loads a program, whose interface is one constant ([`Interface::encode`]).

mod encoding;

use crate::value::ValueType;
use prim::ScalarType;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Maximum number of leaves of a type.
pub const MAX_LEAVES: usize = 1 << 16;

/// The type of an entry point's parameter or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryType {
    /// A scalar or an array of scalars.
    Value(ValueType),
    /// Any other type.
    Opaque(OpaqueId),
}

impl EntryType {
    /// The type of this scalar.
    pub const fn scalar(scalar: ScalarType) -> Self {
        Self::Value(ValueType::new(scalar, 0))
    }

    /// The type of arrays of rank `rank` of `scalar`.
    pub const fn array(scalar: ScalarType, rank: usize) -> Self {
        Self::Value(ValueType::new(scalar, rank))
    }
}

prim::dense_ids! {
    /// An index into the program's table of opaque types.
    pub struct OpaqueId;
}

/// An opaque type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpaqueType {
    /// Its name.
    pub name: Arc<str>,
    /// Its structure.
    pub kind: OpaqueKind,
}

/// A field's name and type.
pub type Field = (Arc<str>, EntryType);

/// The structure of an opaque type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OpaqueKind {
    /// A record or tuple.
    Record(Vec<Field>),
    /// A sum, its constructors in the order of their numbers.
    Sum(Vec<Constr>),
    /// An array of records or tuples.
    RecordArray {
        /// The record.
        elem: OpaqueId,
        /// Number of dimensions, at least 1.
        rank: usize,
        /// The fields, each with the array's dimensions before its own.
        fields: Vec<Field>,
    },
    /// An array of another opaque type.
    Array {
        /// The element type.
        elem: OpaqueId,
        /// Number of dimensions, at least 1.
        rank: usize,
    },
}

/// A constructor of a sum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constr {
    /// Its name, without `#`.
    pub name: Arc<str>,
    /// The types of its payload.
    pub payload: Vec<EntryType>,
}

/// A parameter or result of an entry point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryValue {
    /// The parameter's name; empty for patterns and results.
    pub name: Arc<str>,
    /// The type as the source spells it, without `*`.
    pub type_name: Arc<str>,
    /// The type.
    pub ty: EntryType,
    /// True if the source type is unique (`*`); for a tuple, if that of a component is.
    pub unique: bool,
}

/// An entry point as callers see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// Its name.
    pub name: Arc<str>,
    /// Its parameters.
    pub params: Vec<EntryValue>,
    /// Its result.
    pub result: EntryValue,
    /// Its attributes in source syntax, without `#[` and `]`.
    pub attributes: Vec<Arc<str>>,
    /// The text of its documentation comment, or empty.
    pub doc: Arc<str>,
}

impl Signature {
    /// An entry point without attributes and documentation.
    pub fn new(name: &str, params: Vec<EntryValue>, result: EntryValue) -> Self {
        Self { name: name.into(), params, result, attributes: Vec::new(), doc: "".into() }
    }
}

/// The entry points of a program with the table of their types.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interface {
    /// The opaque types.
    pub opaques: OpaqueTypes,
    /// The entry points.
    pub entries: Vec<Signature>,
}

/// A program's table of opaque types.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpaqueTypes {
    types: Vec<OpaqueType>,
    /// The number of leaves of each type.
    counts: Vec<usize>,
}

/// The leaf of a constructor's number.
const TAG: ValueType = ValueType::new(ScalarType::I8, 0);

impl OpaqueTypes {
    /// The types in order.
    pub fn iter(&self) -> impl Iterator<Item = &OpaqueType> {
        self.types.iter()
    }

    /// The number of types.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Returns true if there are no types.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// The type with this index.
    pub fn get(&self, id: OpaqueId) -> Option<&OpaqueType> {
        self.types.get(id.index())
    }

    /// The structure of a type, if it is opaque.
    pub fn kind(&self, ty: EntryType) -> Option<&OpaqueKind> {
        match ty {
            EntryType::Opaque(id) => self.get(id).map(|ty| &ty.kind),
            EntryType::Value(_) => None,
        }
    }

    /// The name of a type: `[]f32`, an opaque type's name.
    pub fn name(&self, ty: EntryType) -> Arc<str> {
        match ty {
            EntryType::Value(ty) => ty.to_string().into(),
            EntryType::Opaque(id) => self.get(id).map_or_else(|| "?".into(), |ty| ty.name.clone()),
        }
    }

    /// The type of this name.
    pub fn find(&self, name: &str) -> Option<OpaqueId> {
        self.types.iter().position(|ty| *ty.name == *name).map(OpaqueId::new)
    }

    /// The type of the tuple of these parts, added if necessary; of a single part, its own.
    ///
    /// # Errors
    ///
    /// See [`Self::push`].
    pub fn tuple(&mut self, parts: &[EntryType]) -> Result<EntryType, String> {
        if let [part] = parts {
            return Ok(*part);
        }
        let names: Vec<Arc<str>> = parts.iter().map(|ty| self.name(*ty)).collect();
        let name = format!("({})", names.join(", "));
        if let Some(id) = self.find(&name) {
            return Ok(EntryType::Opaque(id));
        }
        let fields = parts.iter().enumerate().map(|(at, ty)| (at.to_string().into(), *ty));
        let kind = OpaqueKind::Record(fields.collect());
        Ok(EntryType::Opaque(self.push(OpaqueType { name: name.into(), kind })?))
    }

    /// A parameter of this name, or a result, of a type that is not unique.
    pub fn value(&self, name: &str, ty: EntryType) -> EntryValue {
        EntryValue { name: name.into(), type_name: self.name(ty), ty, unique: false }
    }

    /// Appends a type.
    ///
    /// # Errors
    ///
    /// Fails if the type mentions one that is not in the table, or has more than [`MAX_LEAVES`]
    /// leaves.
    pub fn push(&mut self, ty: OpaqueType) -> Result<OpaqueId, String> {
        let types = |fields: &[Field]| fields.iter().map(|field| field.1).collect();
        let (own, parts): (usize, Vec<EntryType>) = match &ty.kind {
            OpaqueKind::Record(fields) => (0, types(fields)),
            OpaqueKind::Sum(constrs) => {
                (1, constrs.iter().flat_map(|constr| constr.payload.iter().copied()).collect())
            }
            OpaqueKind::RecordArray { elem, rank: _, fields } => {
                self.count(EntryType::Opaque(*elem))?;
                (0, types(fields))
            }
            OpaqueKind::Array { elem, rank: _ } => (0, vec![EntryType::Opaque(*elem)]),
        };
        let mut count = own;
        for part in parts {
            count = self.count(part)?.saturating_add(count);
        }
        if count > MAX_LEAVES {
            return Err(format!(
                "the type {:?} consists of more than {MAX_LEAVES} scalars and arrays",
                ty.name
            ));
        }
        let id = u32::try_from(self.types.len()).map_err(|_| "too many opaque types")?;
        self.types.push(ty);
        self.counts.push(count);
        Ok(OpaqueId(id))
    }

    fn count(&self, ty: EntryType) -> Result<usize, String> {
        match ty {
            EntryType::Value(_) => Ok(1),
            EntryType::Opaque(id) => self
                .counts
                .get(id.index())
                .copied()
                .ok_or_else(|| format!("opaque type {} does not exist", id.0)),
        }
    }

    /// Returns true if the opaque types of these values are in the table.
    pub fn contains_types_of(&self, values: &[EntryValue]) -> bool {
        values.iter().all(|value| self.count(value.ty).is_ok())
    }

    /// The leaves of a type.
    pub fn leaves(&self, ty: EntryType) -> Vec<ValueType> {
        let mut out = Vec::new();
        // The parts that remain, last first, each with the dimensions around it.
        let mut rest = vec![(ty, 0)];
        while let Some((ty, outer)) = rest.pop() {
            let id = match ty {
                EntryType::Value(leaf) => {
                    out.push(ValueType::new(leaf.scalar, leaf.rank + outer));
                    continue;
                }
                EntryType::Opaque(id) => id,
            };
            match self.get(id).map(|ty| &ty.kind) {
                Some(OpaqueKind::Record(fields) | OpaqueKind::RecordArray { fields, .. }) => {
                    rest.extend(fields.iter().rev().map(|(_, ty)| (*ty, outer)));
                }
                Some(OpaqueKind::Sum(constrs)) => {
                    let payloads = constrs.iter().flat_map(|constr| &constr.payload);
                    rest.extend(payloads.rev().map(|ty| (*ty, outer)));
                    out.push(ValueType::new(TAG.scalar, outer));
                }
                Some(OpaqueKind::Array { elem, rank }) => {
                    rest.push((EntryType::Opaque(*elem), outer + rank));
                }
                None => {}
            }
        }
        out
    }

    /// The number of words of a value of this type in a call.
    pub fn n_words(&self, ty: EntryType) -> usize {
        match ty {
            EntryType::Value(ty) => ty.n_words(),
            EntryType::Opaque(_) => self.leaves(ty).into_iter().map(ValueType::n_words).sum(),
        }
    }

    /// The leaves of the values, each with its value.
    pub fn flatten_values<'v>(
        &self,
        values: impl IntoIterator<Item = &'v EntryValue>,
    ) -> Vec<(ValueType, &'v EntryValue)> {
        let mut out = Vec::new();
        for value in values {
            out.extend(self.leaves(value.ty).into_iter().map(|leaf| (leaf, value)));
        }
        out
    }

    /// The types of what executables print for a result, each on a line: the components of a
    /// tuple, or the result itself.
    pub fn components(&self, result: EntryType) -> Vec<EntryType> {
        let mut out = Vec::new();
        let mut rest = vec![result];
        while let Some(ty) = rest.pop() {
            match self.kind(ty) {
                Some(OpaqueKind::Record(fields)) if is_tuple(fields) => {
                    rest.extend(fields.iter().rev().map(|(_, ty)| *ty));
                }
                Some(_) | None => out.push(ty),
            }
        }
        out
    }

    /// Returns true if values of this type are `()`.
    pub fn is_unit(&self, ty: EntryType) -> bool {
        matches!(self.kind(ty), Some(OpaqueKind::Record(fields)) if fields.is_empty())
    }

    /// Returns descriptions of all broken invariants.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut names = BTreeSet::new();
        for ty in &self.types {
            let mut problem = |what: &str| {
                problems.push(format!("opaque type {:?} {what}", ty.name));
            };
            if ty.name.is_empty() || !names.insert(&ty.name) {
                problem("has an empty or duplicate name");
            }
            match &ty.kind {
                OpaqueKind::Record(fields) => {
                    if !differ(fields.iter().map(|(name, _)| name)) {
                        problem("has two fields with the same name");
                    }
                }
                OpaqueKind::Sum(constrs) => {
                    if constrs.is_empty() || !differ(constrs.iter().map(|constr| &constr.name)) {
                        problem("has no constructors, or two with the same name");
                    }
                }
                OpaqueKind::RecordArray { elem, rank, fields } => {
                    let fits = match self.kind(EntryType::Opaque(*elem)) {
                        Some(OpaqueKind::Record(of)) => fields
                            .iter()
                            .map(|(name, ty)| (name, self.leaves(*ty)))
                            .eq(of.iter().map(|(name, ty)| (name, within(*rank, self.leaves(*ty))))),
                        _ => false,
                    };
                    if *rank == 0 || !fits {
                        problem("is not an array of the record's fields");
                    }
                }
                OpaqueKind::Array { elem: _, rank } => {
                    if *rank == 0 {
                        problem("is an array without dimensions");
                    }
                }
            }
        }
        problems
    }
}

/// Returns true for the fields of a tuple other than `()`.
fn is_tuple(fields: &[Field]) -> bool {
    !fields.is_empty() && fields.iter().zip(0..).all(|((name, _), at)| name.parse() == Ok(at))
}

fn within(rank: usize, mut leaves: Vec<ValueType>) -> Vec<ValueType> {
    for leaf in &mut leaves {
        leaf.rank = leaf.rank.saturating_add(rank);
    }
    leaves
}

fn differ<'n>(names: impl Iterator<Item = &'n Arc<str>>) -> bool {
    let mut seen = BTreeSet::new();
    names.into_iter().all(|name| seen.insert(name))
}
