//! Name resolution through modules, for values, types and modules, and suggestions for unknown
//! names.

use crate::context::Context;
use crate::env::{Entry, Module, NamedType};
use crate::tast::Name;
use std::rc::Rc;
use syntax::ast::{Ident, QualName};
use syntax::diag::Diagnostic;
use syntax::symbol::Symbol;

impl<'a> Context<'a> {
    /// Resolves a name through modules. Returns its entry, and the labels after it that are
    /// projections. Reports unknown names.
    pub(crate) fn find_term<'q>(&mut self, name: &'q QualName) -> Option<(Entry<'a>, Vec<&'q Ident>)> {
        let mut path = name.quals.iter().chain(std::iter::once(&name.name));
        let first = path.next()?;
        let Some(mut entry) = self.env.term(first.name).cloned() else {
            let text = self.symbol_text(first.name);
            let module = !name.quals.is_empty();
            let id = if module { "unknown-module" } else { "unknown-variable" };
            let what = if module { "Unknown name or module" } else { "Unknown name" };
            let mut diag = Diagnostic::error(id, format!("{what} \"{text}\"")).at(first.span, "");
            let names = self.env.term_names();
            if let Some(other) = self.suggest(&text, &names) {
                diag = diag.hint(format!("did you mean \"{other}\"?"));
            }
            self.report(diag);
            return None;
        };
        self.note_use(first.span, entry.span());
        let mut labels = Vec::new();
        for ident in path {
            let module = match &entry {
                Entry::Module(module, _) => {
                    self.note_module_used(first.name);
                    module.clone()
                }
                Entry::Value(_) | Entry::Operator(_) | Entry::Equality { .. } | Entry::Logical { .. } => {
                    labels.push(ident);
                    continue;
                }
            };
            entry = self.member(&module, ident)?;
            self.note_use(ident.span, entry.span());
        }
        Some((entry, labels))
    }

    fn member(&mut self, module: &Module<'a>, ident: &Ident) -> Option<Entry<'a>> {
        let text = self.symbol_text(ident.name);
        let (found, inner) = match module {
            Module::Struct(inner) => (inner.terms.get(&ident.name).cloned(), Some(inner)),
            Module::Intrinsics => (self.builtins.term(ident.name, &text), None),
            Module::Functor(_) => {
                self.error(
                    "unknown-variable",
                    ident.span,
                    "a parametric module has no members before it is applied",
                );
                return None;
            }
            Module::Unknown => return None,
        };
        if found.is_none() {
            let mut diag = Diagnostic::error(
                "unknown-variable",
                format!("the module has no value or module \"{text}\""),
            )
            .at(ident.span, "");
            let names: Vec<Symbol> =
                inner.map(|inner| inner.terms.keys().copied().collect()).unwrap_or_default();
            if let Some(other) = self.suggest(&text, &names) {
                diag = diag.hint(format!("did you mean \"{other}\"?"));
            }
            self.report(diag);
        }
        found
    }

    /// The candidate most similar to an unknown name, if one is similar enough.
    pub(crate) fn suggest(&self, unknown: &str, candidates: &[Symbol]) -> Option<Name> {
        // A short name is similar to many others.
        let limit = match unknown.chars().count() {
            0..=2 => return None,
            3..=4 => 1,
            5..=7 => 2,
            _ => 3,
        };
        let mut best: Option<(usize, Name)> = None;
        for symbol in candidates {
            let name = self.symbols.resolve(*symbol);
            if name.len().abs_diff(unknown.len()) > limit || name.len() < 3 || *name == *unknown {
                continue;
            }
            let distance = edit_distance(unknown, &name);
            let better = match &best {
                None => distance <= limit,
                Some((d, other)) => distance < *d || (distance == *d && name < *other),
            };
            if better {
                best = Some((distance, name));
            }
        }
        best.map(|(_, name)| name)
    }

    /// Looks up a type name; reports an unknown one.
    pub(crate) fn find_type(&mut self, name: &QualName) -> Option<Rc<NamedType>> {
        let found = if name.quals.is_empty() {
            self.env.ty(name.name.name).cloned()
        } else {
            match self.find_module(&name.quals)? {
                Module::Struct(module) => module.types.get(&name.name.name).cloned(),
                Module::Intrinsics => self.builtins.ty(name.name.name),
                Module::Functor(_) => None,
                Module::Unknown => return None,
            }
        };
        if let Some(ty) = &found {
            self.note_use(name.name.span, ty.span);
        } else {
            let text = self.symbol_text(name.name.name);
            let mut diag =
                Diagnostic::error("unknown-type", format!("Unknown type \"{text}\"")).at(name.span(), "");
            if name.quals.is_empty() {
                let names = self.env.type_names();
                if let Some(other) = self.suggest(&text, &names) {
                    diag = diag.hint(format!("did you mean \"{other}\"?"));
                }
            }
            self.report(diag);
        }
        found
    }

    /// Looks up a module by its path; reports an unknown one.
    pub(crate) fn find_module(&mut self, path: &[Ident]) -> Option<Module<'a>> {
        let (first, rest) = path.split_first()?;
        let mut module = match self.env.term(first.name).cloned() {
            Some(Entry::Module(module, span)) => {
                self.note_module_used(first.name);
                self.note_use(first.span, span);
                module
            }
            other => {
                let text = self.symbol_text(first.name);
                let message = if other.is_some() {
                    format!("\"{text}\" is a value, not a module")
                } else {
                    format!("Unknown module \"{text}\"")
                };
                self.error("unknown-module", first.span, message);
                return None;
            }
        };
        for ident in rest {
            let next = match &module {
                Module::Struct(outer) => outer.terms.get(&ident.name).cloned(),
                Module::Functor(_) | Module::Intrinsics => None,
                Module::Unknown => return Some(module),
            };
            if let Some(Entry::Module(inner, span)) = next {
                self.note_use(ident.span, span);
                module = inner;
            } else {
                let text = self.symbol_text(ident.name);
                self.error(
                    "unknown-module",
                    ident.span,
                    format!("the module has no module \"{text}\" in it"),
                );
                return None;
            }
        }
        Some(module)
    }

    /// Records a use of a module.
    fn note_module_used(&mut self, name: Symbol) {
        if !self.site.is_prelude() {
            self.used_modules.use_name(name);
        }
    }

    /// The module at a path, if there is one.
    pub(crate) fn module_at(&self, path: &[Ident]) -> Option<Module<'a>> {
        let (first, rest) = path.split_first()?;
        let mut entry = self.env.term(first.name)?;
        for ident in rest {
            entry = match entry {
                Entry::Module(Module::Struct(outer), _) => outer.terms.get(&ident.name)?,
                _ => return None,
            };
        }
        match entry {
            Entry::Module(module, _) => Some(module.clone()),
            _ => None,
        }
    }
}

/// The Levenshtein distance of two words: insertions, deletions and replacements.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (slot, y) in row.iter_mut().skip(1).zip(&b) {
            let cost = diagonal + usize::from(x != *y);
            diagonal = *slot;
            left = cost.min(left + 1).min(*slot + 1);
            *slot = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}
