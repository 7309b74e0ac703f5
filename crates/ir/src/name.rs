//! Names, and ids and names of functions.
//!
//! A [`Name`] is an index into its function's [`NameTable`], which keeps a hint
//! for printing (`xs_12` is name 12 with the hint `xs`).

pub use crate::prov::{Prov, ProvTable, SrcLoc};
use std::fmt;
use std::sync::Arc;

prim::dense_ids! {
    /// A variable of a function, unique and dense within that function.
    pub struct Name;

    /// A function: an index into its program's list of functions.
    pub struct FunId;
}

/// The names of one function.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct NameTable {
    hints: Vec<Arc<str>>,
}

impl NameTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// A name that is new in the function.
    pub fn fresh(&mut self, hint: &str) -> Name {
        self.fresh_shared(Arc::from(hint))
    }

    /// A fresh name with the hint of another.
    pub fn fresh_like(&mut self, name: Name) -> Name {
        self.fresh_shared(self.hints[name.index()].clone())
    }

    /// A fresh name with a shared hint.
    pub fn fresh_shared(&mut self, hint: Arc<str>) -> Name {
        let name = Name::new(self.hints.len());
        self.hints.push(hint);
        name
    }

    /// The hint of a name.
    pub fn hint(&self, name: Name) -> &Arc<str> {
        &self.hints[name.index()]
    }

    /// The number of names; each name's index is below it.
    pub fn len(&self) -> usize {
        self.hints.len()
    }

    /// Returns true if there are no names.
    pub fn is_empty(&self) -> bool {
        self.hints.is_empty()
    }
}

/// The name of a function, unique within a program.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FunName(pub Arc<str>);

impl FunName {
    /// Returns true if flattening has added the function: a helper that is not specific to the
    /// program.
    pub fn is_added(&self) -> bool {
        self.0.starts_with("flatten.")
    }
}

impl fmt::Display for FunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
