//! The module elaborator: checks declarations and files in order, and reduces them to a flat list
//! of definitions.
//!
//! It owns all that lives as long as the program is checked: the inference tables, the context, the
//! checked files, and the resulting definitions and entry points. For each walk over typed syntax
//! it makes a new [`DefinitionChecker`].
//!
//! It has no access to the checking of expressions, the scopes within a definition, or inference.

mod abstract_types;
mod decls;
mod entry;
mod external_names;
mod instances;
mod items;
mod matching;
mod module_types;
mod signatures;

use crate::context::Context;
use crate::decl_site::DeclSite;
use crate::definition::DefinitionChecker;
use crate::env::ModuleExports;
use crate::infer::{InferTables, Walk};
use crate::tast::{Def, Entry};
use matching::Matcher;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::sync::Arc;
use syntax::span::{FileId, Span};
use syntax::symbol::Symbol;

/// For each file and import path as written, the resolved path.
pub(crate) type Imports = FxHashMap<(FileId, String), String>;

/// The elaboration of a program.
pub(crate) struct Elaborator<'a> {
    pub(crate) tables: InferTables,
    pub(crate) cx: Context<'a>,
    /// The exports of checked files, by resolved path.
    pub(crate) files: FxHashMap<String, (FileId, Rc<ModuleExports<'a>>)>,
    imports: &'a Imports,
    /// The number of applications of parametric modules so far.
    applications: u32,
    /// The definitions so far, each after all that it mentions.
    pub(crate) defs: Vec<Arc<Def>>,
    pub(crate) entries: Vec<Entry>,
    /// Names of root definitions that are entry points without the keyword `entry`.
    pub(crate) extra_entries: FxHashSet<Symbol>,
}

impl<'a> Elaborator<'a> {
    /// The state before the first file.
    pub(crate) fn new(cx: Context<'a>, imports: &'a Imports) -> Self {
        Self {
            tables: InferTables::new(),
            cx,
            files: FxHashMap::default(),
            imports,
            applications: 0,
            defs: Vec::new(),
            entries: Vec::new(),
            extra_entries: FxHashSet::default(),
        }
    }

    /// Checks a type or module type, in two walks if it has sizes.
    fn check_in_walks<T>(&mut self, check: impl Fn(&mut DefinitionChecker<'_, 'a>) -> T) -> T {
        let (errors, mark) = (self.cx.reports.error_count(), self.tables.mark());
        let mut walk = Walk::first();
        loop {
            self.tables.saw_sizes = false;
            let mut checker = DefinitionChecker::new(&mut self.tables, &mut self.cx, walk);
            let out = check(&mut checker);
            match checker.shapes(errors, mark, false) {
                None => {
                    checker.finish_types();
                    return out;
                }
                Some(shapes) => walk = Walk::InferSizes(shapes),
            }
            self.tables.truncate(mark);
        }
    }

    /// Runs `f` in a scope at a span, and removes its bindings afterwards.
    fn scoped<T>(&mut self, scope: Span, site: DeclSite, f: impl FnOnce(&mut Self) -> T) -> T {
        let env = self.cx.env.snapshot();
        let outer = (self.cx.scope, self.cx.site);
        (self.cx.scope, self.cx.site) = (scope, site);
        let result = f(self);
        (self.cx.scope, self.cx.site) = outer;
        self.cx.env = env;
        result
    }

    /// A checker for types that are known without inference.
    fn known_checker(&mut self) -> DefinitionChecker<'_, 'a> {
        DefinitionChecker::new(&mut self.tables, &mut self.cx, Walk::known())
    }

    /// A matcher for the module at a span.
    fn matcher(&mut self, span: Span) -> Matcher<'_, 'a> {
        Matcher { tables: &mut self.tables, cx: &mut self.cx, span }
    }
}
