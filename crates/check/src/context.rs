//! The context in which declarations are checked: the names in scope, the position in the program,
//! the diagnostics, and the facts about earlier definitions.
//!
//! It lives as long as the program is checked; a definition borrows it. It contains no state of
//! inference and none of the definition being checked: a lookup returns the entry bound to a name,
//! and the caller makes types of it.

use crate::builtins::Builtins;
use crate::decl_site::{DeclSite, FileKind};
use crate::diagnostics::Diagnostics;
use crate::env::Env;
use crate::index::{Recorder, file_start};
use crate::post_inference::consume::FunctionFacts;
use crate::tast::{Attr, Name, VarId};
use crate::unused::ModuleUses;
use prim::ScalarType;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use syntax::ast::{self, Ident};
use syntax::diag::Diagnostic;
use syntax::span::{FileId, SourceMap, Span};
use syntax::symbol::{Interner, Symbol};

/// The context in which declarations are checked.
pub(crate) struct Context<'a> {
    pub(crate) symbols: SymbolTexts<'a>,
    pub(crate) reports: Diagnostics<'a>,
    /// The names in scope.
    pub(crate) env: Env<'a>,
    pub(crate) site: DeclSite,
    pub(crate) builtins: Builtins<'a>,
    /// Facts about functions that their types do not have.
    pub(crate) function_facts: FunctionFacts,
    /// Definitions in whose types a number type was chosen by default.
    pub(crate) defaulted: FxHashMap<VarId, ScalarType>,
    pub(crate) used_modules: ModuleUses,
    /// The index of names, if it is requested.
    pub(crate) recorder: Option<Box<Recorder<'a>>>,
    /// The part of the source where names bound next are visible.
    pub(crate) scope: Span,
}

impl<'a> Context<'a> {
    /// The context of the first declaration; `found` are the errors so far.
    pub(crate) fn new(interner: &'a Interner, sources: &'a SourceMap, found: Vec<Diagnostic>) -> Self {
        let mut env = Env::default();
        Self {
            symbols: SymbolTexts { interner, texts: FxHashMap::default() },
            reports: Diagnostics::new(sources, found),
            builtins: Builtins::bind(interner, &mut env),
            env,
            site: DeclSite::top(FileKind::Prelude),
            function_facts: FunctionFacts::default(),
            defaulted: FxHashMap::default(),
            used_modules: ModuleUses::default(),
            recorder: None,
            scope: file_start(FileId(0)),
        }
    }

    /// The text of a symbol.
    pub(crate) fn symbol_text(&mut self, symbol: Symbol) -> Name {
        self.symbols.text(symbol)
    }

    /// Records an error.
    pub(crate) fn report(&mut self, diag: Diagnostic) {
        self.reports.report(diag);
    }

    /// Records an error with one span.
    pub(crate) fn error(&mut self, id: &'static str, span: Span, message: impl Into<String>) {
        self.reports.report(Diagnostic::error(id, message).at(span, ""));
    }

    /// Records a warning, except in the prelude.
    pub(crate) fn warn(&mut self, diag: Diagnostic) {
        if !self.site.is_prelude() {
            self.reports.warn(diag);
        }
    }

    /// Warns of an unused name, unless it begins with an underscore. `update` is true if the name
    /// is bound by `let x[i] = v`.
    pub(crate) fn warn_unused_name(&mut self, ident: &Ident, update: bool) {
        let name = self.symbol_text(ident.name);
        if name.starts_with('_') {
            return;
        }
        let hint = if update {
            format!("remove it: the updated \"{name}\" is not used")
        } else {
            format!("remove it, or rename it to \"_{name}\" if it is unused on purpose")
        };
        self.warn(
            Diagnostic::warning("unused-name", format!("Unused name \"{name}\""))
                .at(ident.span, "")
                .hint(hint),
        );
    }
}

/// The texts of symbols, cached to avoid the interner's lock.
pub(crate) struct SymbolTexts<'a> {
    interner: &'a Interner,
    texts: FxHashMap<Symbol, Name>,
}

impl SymbolTexts<'_> {
    /// The text of a symbol.
    pub(crate) fn text(&mut self, symbol: Symbol) -> Name {
        let interner = self.interner;
        let entry = self.texts.entry(symbol).or_insert_with(|| interner.resolve(symbol));
        Arc::clone(entry)
    }

    /// The text of a symbol, uncached.
    pub(crate) fn resolve(&self, symbol: Symbol) -> Name {
        self.interner.resolve(symbol)
    }

    /// The symbol of a text.
    pub(crate) fn symbol(&self, text: &str) -> Symbol {
        self.interner.intern(text)
    }

    /// Converts an attribute to the typed tree.
    pub(crate) fn attr(&mut self, attr: &ast::Attr) -> Attr {
        match &attr.kind {
            ast::AttrKind::Name(ident) => Attr { name: self.text(ident.name), args: Vec::new() },
            ast::AttrKind::Int(n) => Attr { name: Arc::from(n.to_string()), args: Vec::new() },
            ast::AttrKind::Compound(ident, args) => {
                Attr { name: self.text(ident.name), args: self.attrs(args) }
            }
        }
    }

    /// Converts attributes to the typed tree.
    pub(crate) fn attrs(&mut self, attrs: &[ast::Attr]) -> Vec<Attr> {
        attrs.iter().map(|a| self.attr(a)).collect()
    }
}
