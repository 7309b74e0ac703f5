//! Interned names.
//!
//! A [`Symbol`] stands for a string of an [`Interner`]; equal strings have equal symbols. Interners
//! are shared between threads, so the numbers depend on scheduling: symbols have no order, and no
//! output may depend on their numbers.

use std::fmt;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustc_hash::FxHashMap;

/// A name; see [`Interner::resolve`] for its text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol(u32);

impl Symbol {
    /// Index for dense side tables; smaller than [`Interner::len`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) const fn raw(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sym{}", self.0)
    }
}

/// The locked table of an [`Interner`].
#[derive(Debug, Default)]
pub(crate) struct InternerTable {
    ids: FxHashMap<Arc<str>, Symbol>,
    texts: Vec<Arc<str>>,
}

impl InternerTable {
    pub(crate) fn intern(&mut self, text: &str) -> Symbol {
        if let Some(&symbol) = self.ids.get(text) {
            return symbol;
        }
        let symbol = Symbol(self.texts.len() as u32);
        let text: Arc<str> = Arc::from(text);
        self.texts.push(Arc::clone(&text));
        self.ids.insert(text, symbol);
        symbol
    }
}

/// All names of a session, shared between threads.
#[derive(Debug, Default)]
pub struct Interner {
    table: RwLock<InternerTable>,
}

impl Interner {
    /// An empty interner.
    pub fn new() -> Self {
        Self::default()
    }

    fn read(&self) -> RwLockReadGuard<'_, InternerTable> {
        self.table.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Locks the table for several insertions.
    pub(crate) fn lock(&self) -> RwLockWriteGuard<'_, InternerTable> {
        self.table.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The symbol of `text`, interned if it is new.
    pub fn intern(&self, text: &str) -> Symbol {
        if let Some(symbol) = self.get(text) {
            return symbol;
        }
        self.lock().intern(text)
    }

    /// The symbol of `text`, if it has been interned.
    pub fn get(&self, text: &str) -> Option<Symbol> {
        self.read().ids.get(text).copied()
    }

    /// The text of a symbol of this interner; cheap (a reference count). Empty for a symbol of
    /// another interner with a number that is unknown here.
    pub fn resolve(&self, symbol: Symbol) -> Arc<str> {
        self.read().texts.get(symbol.index()).map_or_else(|| Arc::from(""), Arc::clone)
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.read().texts.len()
    }

    /// Returns true if there are no names.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
