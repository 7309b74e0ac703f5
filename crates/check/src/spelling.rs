//! How the program spells the types of its entry points: data for whoever shows them
//! to the outside. `modules::spelled` makes it.

use crate::tast::Name;
use std::sync::Arc;

/// How a type is spelled for the outside: without sizes.
#[derive(Clone, PartialEq, Debug)]
pub struct Spelled {
    /// The type's name.
    pub name: Name,
    /// How its parts are spelled.
    pub parts: SpelledParts,
}

/// How the parts of a type are spelled: of a name that was declared at the top of a
/// file, those of the record or sum that it stands for.
#[derive(Clone, PartialEq, Debug)]
pub enum SpelledParts {
    /// Nothing says so.
    Unknown,
    /// The elements of an array.
    Elem(Arc<Spelled>),
    /// The fields of a record or tuple, in the order of the source.
    Fields(Vec<(Name, Arc<Spelled>)>),
    /// The payloads of a sum's constructors, in the order of the source.
    Constrs(Vec<(Name, Vec<Arc<Spelled>>)>),
}
