//! The analysis of a program for an editor: the typed tree and the index of names, despite
//! errors, and queries by position.
//!
//! An expression with an error is an [`ExpKind::Hole`](crate::tast::ExpKind::Hole), of type [`Ty::ERROR`]
//! where the type is unknown. A definition whose body could not be parsed is present with a hole as
//! its body. The tree is not a [`Program`](crate::tast::Program): it cannot be compiled.

use crate::index::{Definition, Index, Item, ItemKind, Names, Scopes, components};
use crate::infer::{InferTables, arrow, simple_name};
use crate::tast::{Bind, Def, ExpKind, LoopForm, Pat, Ty};
use crate::visit::{for_each_exp, pattern, patterns};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use syntax::diag::Diagnostic;
use syntax::span::{FileId, Span};

/// The maximum nesting of modules in the text of a module.
const MAX_DEPTH: usize = 8;

/// A position in a source file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The file.
    pub file: FileId,
    /// The offset of the byte after the position.
    pub offset: u32,
}

impl Position {
    /// Returns true if the position is in a span, or at its end.
    const fn is_in(self, span: Span) -> bool {
        self.file.0 == span.file.0 && span.start <= self.offset && self.offset <= span.end
    }

    /// The last span that starts at the position or before it, in the order of spans.
    const fn last_span(self) -> Span {
        Span::new(self.file, self.offset, u32::MAX)
    }
}

/// The result of [`crate::analyse`].
#[derive(Debug)]
pub struct Analysis {
    /// The diagnostics, as in [`crate::Checked`].
    pub diagnostics: Vec<Diagnostic>,
    tables: InferTables,
    defs: BTreeMap<Span, Arc<Def>>,
    names: Names,
    labels: Names,
    scopes: Scopes,
}

impl Analysis {
    pub(crate) fn new(diagnostics: Vec<Diagnostic>, tables: InferTables, mut index: Index) -> Self {
        let labels = index.take_labels();
        let Index { names, scopes, defs, .. } = index;
        Self { diagnostics, tables, defs, names, labels, scopes }
    }

    /// The typed definitions, also those in modules and in bodies of parametric modules, by position.
    /// Types keep their abstract types.
    pub fn defs(&self) -> impl Iterator<Item = &Def> {
        self.defs.values().map(|def| &**def)
    }

    /// A type as text.
    pub fn show(&self, ty: &Ty) -> String {
        self.tables.show(ty)
    }

    /// The name at a position, and its definition. Where a label and a variable share a name
    /// (`{x}`), it is the variable.
    pub fn name_at(&self, at: Position) -> Option<(Span, &Definition)> {
        self.names.at(at).or_else(|| self.labels.at(at))
    }

    /// The spans of a definition's name and of its uses, by position.
    pub fn occurrences(&self, definition: &Definition) -> Vec<Span> {
        let names = match definition.item.kind {
            ItemKind::Field | ItemKind::Constructor => &self.labels,
            _ => &self.names,
        };
        let Some(name) = definition.item.span else {
            return Vec::new();
        };
        let mut found: Vec<Span> =
            names.uses.keys().copied().filter(|at| names.target(*at) == name).collect();
        found.push(name);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns true if a span is that of both a label and a variable: `{x}`.
    pub fn is_punned(&self, name: Span) -> bool {
        self.labels.uses.contains_key(&name)
            && (self.names.uses.contains_key(&name) || self.names.definitions.contains_key(&name))
    }

    /// The declaration of an item, as in a module type; that of a variable is its name with its
    /// type.
    pub fn declaration(&self, item: &Item) -> String {
        let Some(span) = item.span.filter(|_| item.text.is_empty()) else {
            return item.text.to_string();
        };
        match self.names.definitions.get(&span) {
            Some(definition) if !definition.item.text.is_empty() => definition.item.text.to_string(),
            _ => match self.variable_ty(span) {
                Some(ty) => format!("{}: {}", item.name, self.show(&ty)),
                None => item.name.to_string(),
            },
        }
    }

    /// The type of the innermost expression or pattern at a position, and its span.
    pub fn type_at(&self, at: Position) -> Option<(Span, Ty)> {
        let mut found: Option<(Span, Ty)> = None;
        for def in self.defs_around(at) {
            self.for_each_type(def, &mut |span, ty| {
                let inner = |(other, _): &(Span, Ty)| span.range().len() < other.range().len();
                if at.is_in(span) && found.as_ref().is_none_or(inner) {
                    found = Some((span, ty()));
                }
            });
        }
        found
    }

    /// The fields of a record or tuple type, or the constructors of a sum type.
    pub fn components(&self, ty: &Ty) -> Vec<Item> {
        components(ty, &|ty| self.show(ty))
    }

    /// The names in scope at a position, sorted; hidden names are left out.
    pub fn names_in_scope(&self, at: Position) -> Vec<Item> {
        let first = (Span::new(at.file, 0, 0), None);
        let mut visible: FxHashMap<(&str, u8), &Item> = FxHashMap::default();
        for ((scope, _), items) in self.scopes.range(first..=(at.last_span(), Some(at.last_span()))) {
            if at.is_in(*scope) {
                visible.extend(items.iter().map(|item| ((&*item.name, name_space(item.kind)), item)));
            }
        }
        let mut names: Vec<((&str, u8), &Item)> = visible.into_iter().collect();
        names.sort_unstable_by_key(|(name, _)| *name);
        names.into_iter().map(|(_, item)| item.clone()).collect()
    }

    /// The members of the module that a path denotes at a position.
    pub fn members(&self, at: Position, path: &[&str]) -> Option<Arc<[Item]>> {
        let mut members: Arc<[Item]> = Arc::from(self.names_in_scope(at));
        for name in path {
            let module = members.iter().find(|item| item.kind == ItemKind::Module && *item.name == **name);
            members = module?.members.clone()?;
        }
        Some(members)
    }

    /// The definitions whose extent includes a position.
    fn defs_around(&self, at: Position) -> impl Iterator<Item = &Def> {
        let defs = self.defs.range(Span::new(at.file, 0, 0)..=at.last_span());
        defs.map(|(_, def)| &**def).filter(move |def| at.is_in(def.span.to(def.body.span)))
    }

    /// The type of the variable bound at a span.
    fn variable_ty(&self, name: Span) -> Option<Ty> {
        let mut found = None;
        for def in self.defs_around(Position { file: name.file, offset: name.start }) {
            self.for_each_type(def, &mut |span, ty| {
                if span == name && found.is_none() {
                    found = Some(ty());
                }
            });
        }
        found
    }
}

impl Analysis {
    /// Calls `f` on the span and type of each expression and pattern, outer ones first, and of the
    /// names of functions and of counters of loops.
    fn for_each_type(&self, def: &Def, f: &mut dyn FnMut(Span, &dyn Fn() -> Ty)) {
        function_types(def, f);
        for_each_exp(&def.body, &mut |exp| {
            f(exp.span, &|| exp.ty.clone());
            patterns(exp, &mut |pat: &Pat| f(pat.span, &|| pat.ty.clone()));
            match &exp.kind {
                ExpKind::Let { binds, body: _ } => {
                    for bind in binds {
                        if let Bind::Fun(def) = bind {
                            function_types(def, f);
                        }
                    }
                }
                ExpKind::Loop { form: LoopForm::For(counter, bound), .. } => {
                    let counter = self.tables.vars.get(counter.index());
                    if let Some(span) = counter.and_then(|counter| counter.span) {
                        f(span, &|| bound.ty.clone());
                    }
                }
                _ => {}
            }
        });
    }
}

/// Calls `f` on the span of a function's name with its type, and on its parameters.
fn function_types(def: &Def, f: &mut dyn FnMut(Span, &dyn Fn() -> Ty)) {
    f(def.span, &|| {
        let params = def.params.iter();
        let params: Vec<_> = params.map(|p| (simple_name(p), p.ty.clone(), p.consumes.clone())).collect();
        arrow(&params, def.ret.clone())
    });
    for param in &def.params {
        pattern(param, &mut |pat| f(pat.span, &|| pat.ty.clone()));
    }
}

impl Names {
    /// The span of the definition of the name at a span: that of an update (`let a[i] = v`) and of a
    /// loop parameter without initial value is a use of the variable outside.
    fn target(&self, name: Span) -> Span {
        let mut target = self.uses.get(&name).copied().unwrap_or(name);
        while let Some(next) = self.uses.get(&target).filter(|next| **next < target) {
            target = *next;
        }
        target
    }

    fn at(&self, at: Position) -> Option<(Span, &Definition)> {
        let names = |span: &Span| span.start < span.end && at.is_in(*span);
        let last = at.last_span();
        let used = self.uses.range(..=last).next_back().map(|(span, _)| *span);
        let defined = self.definitions.range(..=last).next_back().map(|(span, _)| *span);
        let name = used.filter(names).max(defined.filter(names))?;
        Some((name, self.definitions.get(&self.target(name))?))
    }
}

impl Item {
    /// The type of a module, in the form of a module type; `None` for other items.
    pub fn module_type(&self) -> Option<String> {
        let mut out = String::new();
        match &self.members {
            Some(members) => write_module(members, 0, &mut out),
            None if self.kind == ItemKind::Module => {
                out.push_str(self.text.split_once(" : ").map_or("{ ... }", |(_, ty)| ty));
            }
            None => return None,
        }
        Some(out)
    }
}

fn write_module(members: &[Item], depth: usize, out: &mut String) {
    if depth == MAX_DEPTH {
        out.push_str("{ ... }");
        return;
    }
    out.push_str("{\n");
    for item in members {
        // Writing to a string cannot fail.
        let _ = write!(out, "{}{}", "  ".repeat(depth + 1), item.text);
        if let Some(members) = &item.members {
            out.push_str(" : ");
            write_module(members, depth + 1, out);
        }
        out.push('\n');
    }
    let _ = write!(out, "{}}}", "  ".repeat(depth));
}

/// Names of different name spaces do not hide each other.
const fn name_space(kind: ItemKind) -> u8 {
    match kind {
        ItemKind::Value
        | ItemKind::Parameter
        | ItemKind::Local
        | ItemKind::Size
        | ItemKind::Module
        | ItemKind::Field
        | ItemKind::Constructor
        | ItemKind::File => 0,
        ItemKind::TypeParameter | ItemKind::Type => 1,
        ItemKind::ModuleType => 2,
    }
}
