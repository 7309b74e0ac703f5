//! External spellings of the types of entry points, made by `modules::external_names`.

use crate::tast::Name;
use std::sync::Arc;

/// The external spelling of a type: without sizes.
#[derive(Clone, PartialEq, Debug)]
pub struct ExternalName {
    /// The name of the type.
    pub name: Name,
    /// The spellings of its parts.
    pub parts: ExternalParts,
}

/// The spellings of the parts of a type. A named type that was declared at the top level of a file
/// has the parts of the record or sum that defines it.
#[derive(Clone, PartialEq, Debug)]
pub enum ExternalParts {
    /// Not known.
    Unknown,
    /// The elements of an array.
    Elem(Arc<ExternalName>),
    /// The fields of a record or tuple, in the order of the source.
    Fields(Vec<(Name, Arc<ExternalName>)>),
    /// The payloads of a sum's constructors, in the order of the source.
    Constrs(Vec<(Name, Vec<Arc<ExternalName>>)>),
}
