//! The index of names: their definitions, uses and scopes, recorded while a program is checked.
//!
//! A definition is identified by the span of its name, so both walks over a definition record the
//! same. An application of a parametric module records nothing: its body was recorded with abstract
//! parameters. [`crate::analysis`] answers queries.
//!
//! Fields and constructors are declared nowhere, as record and sum types are structural. Two
//! occurrences of a label are the same name if their types have the same set of labels; the first
//! occurrence in a type is the definition.

use crate::context::Context;
use crate::env::ModuleExports;
use crate::infer::InferTables;
use crate::tast::{Def, Name, Ty};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::{Doc, Ident};
use syntax::span::{FileId, Span};

/// The kind of a named item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemKind {
    /// A declared or specified value.
    Value,
    /// A parameter of a function.
    Parameter,
    /// A variable of a local pattern, or a local function.
    Local,
    /// A size parameter, or a size that a pattern or type binds.
    Size,
    /// A type parameter.
    TypeParameter,
    /// A type.
    Type,
    /// A module.
    Module,
    /// A module type.
    ModuleType,
    /// A field of records.
    Field,
    /// A constructor of a sum type.
    Constructor,
    /// A file.
    File,
}

/// A named item.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its name.
    pub name: Name,
    /// Its kind.
    pub kind: ItemKind,
    /// The declaration in the form of a module type; empty if only the typed tree has the type.
    pub(crate) text: Arc<str>,
    /// The span of its name where it is defined; `None` if it is built in.
    pub span: Option<Span>,
    /// The members of a module that is not parametric.
    pub members: Option<Arc<[Item]>>,
}

/// A definition.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The item that it defines.
    pub item: Item,
    /// The documentation comment.
    pub doc: Option<Arc<str>>,
}

/// Definitions, and the uses of their names.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// By the span of the name.
    pub(crate) definitions: BTreeMap<Span, Definition>,
    /// For each use, the span of the name's definition.
    pub(crate) uses: BTreeMap<Span, Span>,
}

/// An occurrence of a field or constructor.
#[derive(Debug)]
struct Label {
    item: Item,
    /// All labels of its type.
    siblings: String,
    /// True in a type.
    declared: bool,
}

/// An occurrence of a field or constructor whose type is still inferred.
pub(crate) struct OpenLabel {
    pub(crate) name: Name,
    pub(crate) span: Span,
    /// The record or sum type.
    pub(crate) ty: Ty,
    /// True in a type.
    pub(crate) declared: bool,
}

/// The items that become visible together, by the span where they are, and the name if they are one.
pub(crate) type Scopes = BTreeMap<(Span, Option<Span>), Arc<[Item]>>;

/// The records of a program.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) names: Names,
    labels: BTreeMap<Span, Label>,
    pub(crate) scopes: Scopes,
    /// The typed definitions, by the spans of their names.
    pub(crate) defs: BTreeMap<Span, Arc<Def>>,
}

impl Index {
    /// Adds a definition.
    pub(crate) fn define(&mut self, span: Span, item: Item, doc: Option<&Doc>) {
        let doc = doc.map(|doc| Arc::from(doc.text.as_str()));
        self.names.definitions.insert(span, Definition { item, doc });
    }

    /// Removes and returns the fields and constructors, with their uses.
    pub(crate) fn take_labels(&mut self) -> Names {
        let labels = std::mem::take(&mut self.labels);
        let mut found: FxHashMap<(bool, &str, &str), (Span, &Label)> = FxHashMap::default();
        let key = |label: &'_ Label| label.item.kind == ItemKind::Field;
        for (span, label) in &labels {
            let first =
                found.entry((key(label), &label.siblings, &label.item.name)).or_insert((*span, label));
            if label.declared && !first.1.declared {
                *first = (*span, label);
            }
        }
        let mut names = Names::default();
        for (span, label) in &labels {
            if let Some((at, first)) = found.get(&(key(label), &*label.siblings, &*label.item.name)) {
                names.uses.insert(*span, *at);
                let item = Item { span: Some(*at), ..first.item.clone() };
                names.definitions.entry(*at).or_insert(Definition { item, doc: None });
            }
        }
        names
    }
}

/// The index while it is being made.
#[derive(Default)]
pub(crate) struct Recorder<'a> {
    pub(crate) index: Index,
    /// The items of modules and the nesting of modules in them. The module is kept, so that its
    /// address remains its own.
    pub(crate) modules: FxHashMap<*const ModuleExports<'a>, (Rc<ModuleExports<'a>>, Arc<[Item]>, u32)>,
}

impl<'a> Context<'a> {
    /// The index to record in, if there is one and this is not an application.
    pub(crate) fn recorder(&mut self) -> Option<&mut Recorder<'a>> {
        let site = self.site;
        self.recorder.as_deref_mut().filter(|_| !site.is_application())
    }

    /// Records a use of the name defined at a span.
    pub(crate) fn note_use(&mut self, at: Span, definition: Option<Span>) {
        if let (Some(recorder), Some(definition)) = (self.recorder(), definition) {
            recorder.index.names.uses.insert(at, definition);
        }
    }

    /// Records the definition of a local name, visible from there to the end of the scope.
    pub(crate) fn define(&mut self, ident: &Ident, kind: ItemKind) {
        if self.recorder().is_some() {
            let name = self.symbol_text(ident.name);
            let text = match kind {
                ItemKind::Size => format!("[{name}]"),
                ItemKind::TypeParameter => format!("'{name}"),
                _ => String::new(),
            };
            let item = Item { name, kind, text: Arc::from(text), span: Some(ident.span), members: None };
            self.show(ident.span.end, Arc::from([item.clone()]));
            if let Some(recorder) = self.recorder() {
                recorder.index.define(ident.span, item, None);
            }
        }
    }

    /// Records that items are visible from an offset to the end of the scope.
    pub(crate) fn show(&mut self, from: u32, items: Arc<[Item]>) {
        let start = self.scope.start.max(from);
        let scope = Span { start, end: self.scope.end.max(start), ..self.scope };
        if let Some(recorder) = self.recorder() {
            let name = if let [one] = &*items { one.span } else { None };
            recorder.index.scopes.insert((scope, name), items);
        }
    }

    /// Records that the members of a module are visible in an expression.
    pub(crate) fn note_local_open(&mut self, module: &Rc<ModuleExports<'a>>, at: Span) {
        let known = self.recorder().and_then(|recorder| recorder.modules.get(&Rc::as_ptr(module)));
        if let Some((_, items, _)) = known {
            let items = Arc::clone(items);
            let outer = std::mem::replace(&mut self.scope, at);
            self.show(at.start, items);
            self.scope = outer;
        }
    }

    /// Records fields and constructors.
    pub(crate) fn record_labels(&mut self, tables: &InferTables, labels: Vec<OpenLabel>) {
        let Some(recorder) = self.recorder() else { return };
        for OpenLabel { name, span, ty, declared } in labels {
            let ty = tables.resolve(&ty);
            let siblings = components(&ty, &|ty| tables.show(ty));
            let labels: Vec<&str> = siblings.iter().map(|item| &*item.name).collect();
            let labels = labels.join(" ");
            if let Some(item) = siblings.into_iter().find(|item| item.name == name)
                && !matches!(ty, Ty::Tuple(_))
            {
                recorder.index.labels.insert(span, Label { item, siblings: labels, declared });
            }
        }
    }
}

/// The fields or constructors of a type, their types shown by `show`.
pub(crate) fn components(ty: &Ty, show: &dyn Fn(&Ty) -> String) -> Vec<Item> {
    let item = |name: &Name, kind, text| Item {
        name: Arc::clone(name),
        kind,
        text: Arc::from(text),
        span: None,
        members: None,
    };
    let field = |name: &Name, ty| item(name, ItemKind::Field, format!("{name}: {}", show(ty)));
    match ty {
        Ty::Tuple(parts) => {
            parts.iter().enumerate().map(|(i, ty)| field(&Arc::from(i.to_string()), ty)).collect()
        }
        Ty::Record(fields) => fields.iter().map(|(name, ty)| field(name, ty)).collect(),
        Ty::Sum(constrs) => {
            let text = |constr: &(Name, Arc<[Ty]>)| show(&Ty::Sum(Arc::from([constr.clone()])));
            constrs.iter().map(|constr| item(&constr.0, ItemKind::Constructor, text(constr))).collect()
        }
        Ty::Scalar(_) | Ty::Array(_) | Ty::Arrow(_) | Ty::Var(_) | Ty::Abstract(..) => Vec::new(),
    }
}

/// The start of a file, as the span of its definition.
pub(crate) const fn file_start(file: FileId) -> Span {
    Span::new(file, 0, 0)
}
