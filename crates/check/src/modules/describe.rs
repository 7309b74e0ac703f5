//! Prints modules: their names with types, in the form of module types.

use crate::context::{Context, SymbolTexts};
use crate::env::{Entry, Module, ModuleExports, NamedType, Scheme, TypeParam};
use crate::infer::InferTables;
use crate::modules::Elaborator;
use crate::tast::Ty;
use std::fmt::Write as _;
use syntax::ast::Liftedness;

/// The maximum nesting of modules shown.
const MAX_DEPTH: usize = 8;

impl Elaborator<'_> {
    /// The type of a module, as text.
    pub(crate) fn describe(&self, module: &Module<'_>) -> String {
        let describe = Describe { tables: &self.tables, names: &self.cx.symbols };
        let mut out = String::new();
        describe.module(module, 0, &mut out);
        out
    }
}

impl Context<'_> {
    /// The names in scope and in modules, sorted, one a line.
    pub(crate) fn visible_names(&self) -> String {
        let mut names = Vec::new();
        for name in self.env.term_names() {
            let text = self.symbols.resolve(name);
            if let Some(Entry::Module(Module::Struct(inner))) = self.env.term(name) {
                self.names_in(inner, &text, 1, &mut names);
            }
            names.push(text.to_string());
        }
        let types = self.env.type_names();
        names.extend(types.into_iter().map(|n| self.symbols.resolve(n).to_string()));
        names.retain(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
        names.sort_unstable();
        names.dedup();
        names.join("\n")
    }

    fn names_in(&self, inner: &ModuleExports<'_>, path: &str, depth: usize, names: &mut Vec<String>) {
        let types = inner.types.keys();
        for name in inner.terms.keys().chain(types) {
            let text = self.symbols.resolve(*name);
            if !text.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                continue;
            }
            let text = format!("{path}.{text}");
            if let Some(Entry::Module(Module::Struct(inner))) = inner.terms.get(name)
                && depth < MAX_DEPTH
            {
                self.names_in(inner, &text, depth + 1, names);
            }
            names.push(text);
        }
    }
}

/// Prints modules.
struct Describe<'d> {
    tables: &'d InferTables,
    names: &'d SymbolTexts<'d>,
}

impl Describe<'_> {
    fn module(&self, module: &Module<'_>, depth: usize, out: &mut String) {
        match module {
            Module::Struct(inner) if depth < MAX_DEPTH => self.structure(inner, depth, out),
            Module::Struct(_) => out.push_str("{ ... }"),
            Module::Functor(_) => out.push_str("a parametric module"),
            Module::Intrinsics => out.push_str("the built-in module"),
        }
    }

    fn structure(&self, inner: &ModuleExports<'_>, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth + 1);
        out.push_str("{\n");
        // Writing to a string cannot fail.
        for (name, abbr) in &inner.types {
            let name = self.names.resolve(*name);
            let _ = writeln!(out, "{indent}{}", self.ty(&name, abbr));
        }
        for (name, entry) in &inner.terms {
            let name = self.names.resolve(*name);
            match entry {
                Entry::Value(value) => {
                    let text = self.scheme(&value.scheme);
                    let name = operator(&name);
                    let _ = writeln!(out, "{indent}val {name}{text}");
                }
                Entry::Module(module) => {
                    let _ = write!(out, "{indent}module {name} : ");
                    self.module(module, depth + 1, out);
                    out.push('\n');
                }
                Entry::Operator(_) | Entry::Equality { .. } | Entry::Logical { .. } => {
                    let _ = writeln!(out, "{indent}val {} : built in", operator(&name));
                }
            }
        }
        for name in inner.mod_types.keys() {
            let name = self.names.resolve(*name);
            let _ = writeln!(out, "{indent}module type {name}");
        }
        let _ = write!(out, "{}}}", "  ".repeat(depth));
    }

    fn ty(&self, name: &str, abbr: &NamedType) -> String {
        let mut out = String::from(match abbr.lifted {
            Liftedness::Unlifted => "type ",
            Liftedness::SizeLifted => "type~ ",
            Liftedness::Lifted => "type^ ",
        });
        out.push_str(name);
        for param in &abbr.params {
            match param {
                TypeParam::Type(var, _) => {
                    let _ = write!(out, " '{}", self.tables.show(&Ty::Var(*var)));
                }
                TypeParam::Size(var) => {
                    let dim = crate::tast::Dim::Var(*var);
                    let _ = write!(out, " [{}]", self.tables.show_dim(&dim));
                }
            }
        }
        if !matches!(abbr.ty, Ty::Abstract(..)) {
            let _ = write!(out, " = {}", self.tables.show_inside(&abbr.ty));
        }
        out
    }

    fn scheme(&self, scheme: &Scheme) -> String {
        let mut out = String::new();
        for var in &scheme.size_params {
            let dim = crate::tast::Dim::Var(*var);
            let _ = write!(out, " [{}]", self.tables.show_dim(&dim));
        }
        for var in &scheme.ty_params {
            let _ = write!(out, " '{}", self.tables.show(&Ty::Var(*var)));
        }
        let _ = write!(out, " : {}", self.tables.show_inside(&scheme.ty));
        out
    }
}

/// A name as written in a specification: operators are in parentheses.
fn operator(name: &str) -> String {
    if name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        name.to_owned()
    } else {
        format!("({name})")
    }
}
