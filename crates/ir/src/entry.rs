//! Entry points and their types, as seen by callers of a compiled program.
//!
//! A parameter or result is a scalar, an array of scalars, or of an *opaque type*: an entry of the
//! program's table ([`OpaqueTypes`]) with its name, its fields or constructors, and its
//! representation by core values. The representation is the same at every level: a scalar is one
//! value, an array its sizes followed by the array, an opaque type the values of its parts in
//! order.
//!
//! | kind | parts, in order |
//! |---|---|
//! | record | the fields; those of a tuple are called `0`, `1`, ... |
//! | sum | the constructor's number, then scalars and arrays that represent payloads |
//! | array of records | the fields, each with the array's dimensions before its own |
//! | array of other opaque types | scalars and arrays of the element, likewise |
//!
//! The table is in order of first use, and an entry mentions only earlier ones; each consists of at
//! most [`MAX_LEAVES`] scalars and arrays. The verifier checks the other invariants of the table
//! ([`OpaqueTypes::problems`]). Names are the source's, without sizes, and unique.

use crate::name::FunName;
use crate::walk::with_stack;
use prim::ScalarType;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Maximum number of scalars and arrays of a type.
pub const MAX_LEAVES: usize = 1 << 16;

/// The type of an entry point's parameter or result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EntryType {
    /// A scalar: one core value.
    Scalar(ScalarType),
    /// An array of scalars: `rank` core sizes, then the array.
    Array {
        /// Element type.
        elem: ScalarType,
        /// Number of dimensions, at least 1.
        rank: usize,
    },
    /// Any other type.
    Opaque(OpaqueId),
}

/// An index into the program's table of opaque types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct OpaqueId(pub u32);

/// A scalar (of no dimensions) or an array of scalars.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// (Element) type.
    pub elem: ScalarType,
    /// Number of dimensions.
    pub rank: usize,
}

impl Leaf {
    /// The number of core values that represent it.
    pub const fn n_values(self) -> usize {
        self.rank + 1
    }
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
    /// A sum.
    Sum {
        /// Its representation, the constructor's number (`i8`) first.
        leaves: Vec<Leaf>,
        /// The constructors in the order of their numbers.
        constrs: Vec<Constr>,
    },
    /// An array of records or tuples.
    RecordArray {
        /// The record.
        elem: OpaqueId,
        /// Number of dimensions.
        rank: usize,
        /// The fields, each with the array's dimensions before its own.
        fields: Vec<Field>,
    },
    /// An array of another opaque type.
    Array {
        /// The element type.
        elem: OpaqueId,
        /// Number of dimensions.
        rank: usize,
        /// Its representation.
        leaves: Vec<Leaf>,
    },
}

/// A constructor of a sum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constr {
    /// Its name, without `#`.
    pub name: Arc<str>,
    /// The types of its payload, each with the index of the first leaf of the sum that represents
    /// it; the leaves of one payload are consecutive.
    pub payload: Vec<(EntryType, u32)>,
}

/// A parameter or result of an entry point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryValue {
    /// The parameter's name; empty for results.
    pub name: Arc<str>,
    /// The type as the source spells it.
    pub type_name: Arc<str>,
    /// The core representation of the type.
    pub ty: EntryType,
    /// True if the source type is unique (`*`).
    pub unique: bool,
}

/// An entry point: a function whose parameters and results are, in order, the representations of
/// the entry point's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryPoint {
    /// The name for callers.
    pub name: Arc<str>,
    /// The function that implements it.
    pub fun: FunName,
    /// Parameters.
    pub params: Vec<EntryValue>,
    /// Results.
    pub results: Vec<EntryValue>,
}

/// A program's table of opaque types.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpaqueTypes {
    types: Vec<OpaqueType>,
    /// The number of leaves of each type.
    counts: Vec<usize>,
}

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
        self.types.get(id.0 as usize)
    }

    /// Appends a type.
    ///
    /// # Errors
    ///
    /// Fails if the type mentions one that is not in the table, or has more than [`MAX_LEAVES`]
    /// leaves.
    pub fn push(&mut self, ty: OpaqueType) -> Result<OpaqueId, String> {
        let mut count: usize = 0;
        match &ty.kind {
            OpaqueKind::Record(fields) => {
                for (_, ty) in fields {
                    count = count.saturating_add(self.count(ty)?);
                }
            }
            OpaqueKind::Sum { leaves, constrs } => {
                count = leaves.len();
                for (ty, _) in constrs.iter().flat_map(|constr| &constr.payload) {
                    self.count(ty)?;
                }
            }
            OpaqueKind::RecordArray { elem, rank: _, fields } => {
                self.count(&EntryType::Opaque(*elem))?;
                for (_, ty) in fields {
                    count = count.saturating_add(self.count(ty)?);
                }
            }
            OpaqueKind::Array { elem, rank: _, leaves } => {
                self.count(&EntryType::Opaque(*elem))?;
                count = leaves.len();
            }
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

    fn count(&self, ty: &EntryType) -> Result<usize, String> {
        match ty {
            EntryType::Scalar(_) | EntryType::Array { .. } => Ok(1),
            EntryType::Opaque(id) => self
                .counts
                .get(id.0 as usize)
                .copied()
                .ok_or_else(|| format!("opaque type {} does not exist", id.0)),
        }
    }

    /// Returns true if the opaque types of these values are in the table and arrays have
    /// dimensions.
    pub fn contains_types_of(&self, values: &[EntryValue]) -> bool {
        values.iter().all(|value| match value.ty {
            EntryType::Opaque(id) => self.get(id).is_some(),
            EntryType::Array { elem: _, rank } => rank > 0,
            EntryType::Scalar(_) => true,
        })
    }

    /// The scalars and arrays that a type consists of.
    pub fn leaves(&self, ty: &EntryType) -> Vec<Leaf> {
        let mut out = Vec::new();
        self.collect(ty, &mut out);
        out
    }

    fn collect(&self, ty: &EntryType, out: &mut Vec<Leaf>) {
        let id = match ty {
            EntryType::Scalar(elem) => {
                return out.push(Leaf { elem: *elem, rank: 0 });
            }
            EntryType::Array { elem, rank } => {
                return out.push(Leaf { elem: *elem, rank: *rank });
            }
            EntryType::Opaque(id) => *id,
        };
        match self.get(id).map(|ty| &ty.kind) {
            Some(OpaqueKind::Record(fields) | OpaqueKind::RecordArray { fields, .. }) => {
                with_stack(|| fields.iter().for_each(|(_, ty)| self.collect(ty, out)));
            }
            Some(OpaqueKind::Sum { leaves, .. } | OpaqueKind::Array { leaves, .. }) => {
                out.extend(leaves);
            }
            None => {}
        }
    }

    /// The scalars and arrays that represent the values, each with its value.
    pub fn flatten_values<'v>(&self, values: &'v [EntryValue]) -> Vec<(Leaf, &'v EntryValue)> {
        let mut out = Vec::new();
        for value in values {
            out.extend(self.leaves(&value.ty).into_iter().map(|leaf| (leaf, value)));
        }
        out
    }

    /// The number of core values that represent a type.
    pub fn n_values(&self, ty: &EntryType) -> usize {
        self.leaves(ty).into_iter().map(Leaf::n_values).sum()
    }

    /// Returns descriptions of all broken invariants.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut names = FxHashSet::default();
        for ty in &self.types {
            let mut problem = |what: &str| {
                problems.push(format!("opaque type {:?} {what}", ty.name));
            };
            if ty.name.is_empty() || !names.insert(&ty.name) {
                problem("has an empty or duplicate name");
            }
            if !self.is_ranked(&ty.kind) {
                problem("has arrays without dimensions");
            }
            match &ty.kind {
                OpaqueKind::Record(fields) => {
                    if !differ(fields.iter().map(|(name, _)| name)) {
                        problem("has two fields with the same name");
                    }
                }
                OpaqueKind::Sum { leaves, constrs } => {
                    if leaves.first().is_none_or(|leaf| *leaf != TAG) {
                        problem("does not begin with the constructor tag");
                    }
                    if !differ(constrs.iter().map(|constr| &constr.name)) {
                        problem("has two constructors with the same name");
                    }
                    let payloads = constrs.iter().flat_map(|constr| &constr.payload);
                    if !payloads.into_iter().all(|part| self.is_represented(part, leaves)) {
                        problem("has a payload that does not match its values");
                    }
                }
                OpaqueKind::RecordArray { elem, rank, fields } => {
                    let own = fields.iter().map(|(name, ty)| (name, self.leaves(ty)));
                    let fits = match self.get(*elem).map(|ty| &ty.kind) {
                        Some(OpaqueKind::Record(of)) => {
                            own.eq(of.iter().map(|(name, ty)| (name, within(*rank, self.leaves(ty)))))
                        }
                        _ => false,
                    };
                    if !fits {
                        problem("is not an array of the record's fields");
                    }
                }
                OpaqueKind::Array { elem, rank, leaves } => {
                    let of = self.leaves(&EntryType::Opaque(*elem));
                    if *leaves != within(*rank, of) {
                        problem("is not an array of its element type");
                    }
                }
            }
        }
        problems
    }

    /// Returns true if all arrays have at least one dimension.
    fn is_ranked(&self, kind: &OpaqueKind) -> bool {
        let ranked = |ty: &EntryType| !matches!(ty, EntryType::Array { rank: 0, .. });
        match kind {
            OpaqueKind::Record(fields) => fields.iter().all(|(_, ty)| ranked(ty)),
            OpaqueKind::Sum { leaves: _, constrs } => {
                let mut payloads = constrs.iter().flat_map(|constr| &constr.payload);
                payloads.all(|(ty, _)| ranked(ty))
            }
            OpaqueKind::RecordArray { elem: _, rank, fields } => {
                *rank > 0 && fields.iter().all(|(_, ty)| ranked(ty))
            }
            OpaqueKind::Array { rank, .. } => *rank > 0,
        }
    }

    /// Returns true if the leaves from the payload's position on, after the tag, are those of its
    /// type.
    fn is_represented(&self, (ty, at): &(EntryType, u32), leaves: &[Leaf]) -> bool {
        let own = self.leaves(ty);
        let at = *at as usize;
        at > 0 && leaves.get(at..at + own.len()) == Some(&own)
    }
}

/// The leaf of a constructor's number.
const TAG: Leaf = Leaf { elem: ScalarType::I8, rank: 0 };

fn within(rank: usize, mut leaves: Vec<Leaf>) -> Vec<Leaf> {
    for leaf in &mut leaves {
        leaf.rank = leaf.rank.saturating_add(rank);
    }
    leaves
}

fn differ<'n>(names: impl Iterator<Item = &'n Arc<str>>) -> bool {
    let mut seen = FxHashSet::default();
    names.into_iter().all(|name| seen.insert(name))
}
