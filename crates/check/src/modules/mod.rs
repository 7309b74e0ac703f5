//! The elaborator of modules: declarations and files, in order, until nothing is left but
//! a flat list of definitions.
//!
//! It owns what lasts as long as the program is checked: the tables of inference, the
//! context, the files that imports may mean, and the definitions and entry points that
//! come out. For each walk over something that has a type, a [`Definer`] is made anew.
//!
//! Never known here: how an expression is checked, the scopes within a definition, and
//! how types are found.

mod decls;
mod describe;
mod entry;
mod holes;
mod instances;
mod matching;
mod module_types;
mod signatures;
mod spelled;

use crate::context::Context;
use crate::define::Definer;
use crate::env::Struct;
use crate::infer::{Tables, Walk};
use crate::tast::{Def, Entry};
use matching::Matcher;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::sync::Arc;
use syntax::span::{FileId, Span};
use syntax::symbol::Symbol;

/// For each file and import path as written, the path that it means.
pub(crate) type Imports = FxHashMap<(FileId, String), String>;

/// The elaboration of a program.
pub(crate) struct Elaborator<'a> {
    pub(crate) tables: Tables,
    pub(crate) cx: Context<'a>,
    /// What checked files make visible, by the path that imports mean.
    pub(crate) files: FxHashMap<String, Rc<Struct<'a>>>,
    imports: &'a Imports,
    /// How many times a parametric module has been applied.
    applications: u32,
    /// The definitions so far, each after all that it mentions.
    pub(crate) defs: Vec<Arc<Def>>,
    pub(crate) entries: Vec<Entry>,
    /// Names of what is an entry point of the root though its definition does not say so.
    pub(crate) more_entries: FxHashSet<Symbol>,
}

impl<'a> Elaborator<'a> {
    /// Before the first file.
    pub(crate) fn new(cx: Context<'a>, imports: &'a Imports) -> Self {
        Self {
            tables: Tables::default(),
            cx,
            files: FxHashMap::default(),
            imports,
            applications: 0,
            defs: Vec::new(),
            entries: Vec::new(),
            more_entries: FxHashSet::default(),
        }
    }

    /// Checks a type or module type, in two walks if sizes come up in it.
    fn checked<T>(&mut self, check: impl Fn(&mut Definer<'_, 'a>) -> T) -> T {
        let (errors, mark) = (self.cx.reports.problems(), self.tables.mark());
        let mut walk = Walk::first();
        loop {
            self.tables.sized = false;
            let mut definer = Definer::new(&mut self.tables, &mut self.cx, walk);
            let out = check(&mut definer);
            match definer.shapes(errors, mark) {
                None => {
                    definer.finish_types();
                    return out;
                }
                Some(shapes) => walk = Walk::Sizes(shapes),
            }
            self.tables.truncate(mark);
        }
    }

    /// The checking of types that are known.
    fn definer(&mut self) -> Definer<'_, 'a> {
        Definer::new(&mut self.tables, &mut self.cx, Walk::known())
    }

    /// The matching of the module at a place.
    fn matcher(&mut self, span: Span) -> Matcher<'_, 'a> {
        Matcher { tables: &mut self.tables, cx: &mut self.cx, span }
    }
}
