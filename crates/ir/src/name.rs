//! Names, function names and provenance.
//!
//! A [`Name`] is an index into its function's [`NameTable`], which keeps a hint
//! for printing (`xs_12` is name 12 with the hint `xs`). A [`Prov`] is an index
//! into the function's [`ProvTable`], where the stack of source spans of a
//! statement is interned: the statement's own span and one more for each
//! inlining.

use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::Arc;

/// A variable of a function, unique and dense within that function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Name(pub u32);

impl Name {
    /// The index for side tables.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names of one function.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct NameTable {
    hints: Vec<Arc<str>>,
}

impl NameTable {
    /// A table without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// A name that nothing else in the function has.
    pub fn fresh(&mut self, hint: &str) -> Name {
        self.fresh_shared(Arc::from(hint))
    }

    /// A fresh name with the hint of another.
    pub fn fresh_like(&mut self, name: Name) -> Name {
        self.fresh_shared(self.hints[name.index()].clone())
    }

    /// A fresh name with a shared hint.
    #[allow(
        clippy::expect_used,
        reason = "2^32 hints are 64 GiB: memory ends first"
    )]
    pub fn fresh_shared(&mut self, hint: Arc<str>) -> Name {
        let name = Name(u32::try_from(self.hints.len()).expect("fewer than 2^32 names"));
        self.hints.push(hint);
        name
    }

    /// The hint that a name was made with.
    pub fn hint(&self, name: Name) -> &Arc<str> {
        &self.hints[name.index()]
    }

    /// How many names there are; every name's index is below this.
    pub fn len(&self) -> usize {
        self.hints.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.hints.is_empty()
    }
}

/// The name of a function, unique within a program.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FunName(pub Arc<str>);

impl fmt::Display for FunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A place in the source: file by its index in the program's file list, lines
/// and columns counted from 1, the end column exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SrcLoc {
    /// Index into [`Program::files`](crate::Program::files).
    pub file: u32,
    /// First line.
    pub line: u32,
    /// First column.
    pub col: u32,
    /// Last line.
    pub end_line: u32,
    /// Column after the last one.
    pub end_col: u32,
}

/// An interned stack of source places.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Prov(pub u32);

impl Prov {
    /// The empty stack, for statements that the compiler made up.
    pub const NONE: Self = Self(0);
}

/// The provenance stacks of one function: each entry is a place and the stack
/// of the call that it was inlined from.
#[derive(Clone, Debug, Default)]
pub struct ProvTable {
    entries: Vec<(SrcLoc, Prov)>,
    index: FxHashMap<(SrcLoc, Prov), Prov>,
}

impl PartialEq for ProvTable {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl ProvTable {
    /// A table with the empty stack only.
    pub fn new() -> Self {
        Self::default()
    }

    /// The stack with `loc` innermost on top of `outer`.
    #[allow(
        clippy::expect_used,
        reason = "2^32 entries are more than 64 GiB: memory ends first"
    )]
    pub fn push(&mut self, loc: SrcLoc, outer: Prov) -> Prov {
        let entries = &mut self.entries;
        *self.index.entry((loc, outer)).or_insert_with(|| {
            entries.push((loc, outer));
            Prov(u32::try_from(entries.len()).expect("fewer than 2^32 provenances"))
        })
    }

    /// The innermost place of a stack and the rest, `None` for the empty one.
    pub fn pop(&self, prov: Prov) -> Option<(SrcLoc, Prov)> {
        prov.0.checked_sub(1).map(|i| self.entries[i as usize])
    }

    /// The places of a stack, innermost first.
    pub fn stack(&self, mut prov: Prov) -> Vec<SrcLoc> {
        let mut places = Vec::new();
        while let Some((loc, rest)) = self.pop(prov) {
            places.push(loc);
            prov = rest;
        }
        places
    }

    /// How many stacks there are beside the empty one; `Prov(1..=len)` are valid.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether only the empty stack is there.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
