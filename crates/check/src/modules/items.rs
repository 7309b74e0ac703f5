//! Records declarations in the index: each with its form in a module type as text, and the members
//! of modules.

use crate::context::SymbolTexts;
use crate::env::{Entry, Module, ModuleExports, NamedType, Scheme, TypeParam};
use crate::index::{Item, ItemKind, Recorder, file_start};
use crate::infer::InferTables;
use crate::modules::Elaborator;
use crate::tast::{Dim, Name, Ty};
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::{Doc, Ident, Liftedness};
use syntax::span::{FileId, Span};
use syntax::symbol::Symbol;

/// The maximum nesting of modules whose members are items.
const MAX_NESTING: u32 = 64;

/// A declared entity.
#[derive(Clone, Copy)]
pub(super) enum Declared<'e, 'a> {
    Term(&'e Entry<'a>),
    Type(&'e NamedType),
    ModType,
}

impl<'a> Elaborator<'a> {
    /// Records a declaration, visible from an offset on.
    pub(super) fn record(&mut self, name: &Ident, declared: Declared<'_, 'a>, from: u32, doc: Option<&Doc>) {
        if let Some(mut items) = self.items() {
            let mut item = match declared {
                Declared::Term(entry) => items.term(name.name, entry),
                Declared::Type(ty) => items.named_type(name.name, ty),
                Declared::ModType => items.mod_type(name.name, name.span),
            };
            item.span = Some(name.span);
            self.cx.show(from, Arc::from([item.clone()]));
            if let Some(recorder) = self.cx.recorder() {
                recorder.index.define(name.span, item, doc);
            }
        }
    }

    /// Records that the members of a module are visible from an offset on.
    pub(super) fn record_opened(&mut self, module: &Module<'a>, from: u32) {
        if let Module::Struct(exports) = module
            && let Some(mut items) = self.items()
        {
            let (members, _) = items.members(exports);
            self.cx.show(from, members);
        }
    }

    /// Records the file that is checked next, with the names in scope at its start.
    pub(crate) fn record_file(&mut self, file: FileId, path: &str, doc: Option<&Doc>) {
        if self.cx.recorder().is_none() {
            return;
        }
        let env = self.cx.env.clone();
        if let Some(mut items) = self.items() {
            let text = Arc::from(format!("\"{path}\""));
            let span = Some(file_start(file));
            let item = Item { name: Arc::from(path), kind: ItemKind::File, text, span, members: None };
            let mut names = Vec::new();
            for name in env.type_names() {
                names.extend(env.ty(name).map(|ty| items.named_type(name, ty)));
            }
            for name in env.term_names() {
                names.extend(env.term(name).map(|entry| items.term(name, entry)));
            }
            for name in env.mod_type_names() {
                names.extend(env.sig(name).map(|(_, span)| items.mod_type(name, *span)));
            }
            self.cx.show(0, Arc::from(names));
            if let Some(recorder) = self.cx.recorder() {
                recorder.index.define(file_start(file), item, doc);
            }
        }
    }

    /// The maker of items, if they are recorded here.
    fn items(&mut self) -> Option<Items<'_, 'a>> {
        self.cx.recorder()?;
        let recorder = self.cx.recorder.as_deref_mut()?;
        Some(Items {
            tables: &self.tables,
            symbols: &mut self.cx.symbols,
            recorder,
            nesting: 0,
            in_module: false,
        })
    }
}

/// Makes items.
struct Items<'i, 'a> {
    tables: &'i InferTables,
    symbols: &'i mut SymbolTexts<'a>,
    recorder: &'i mut Recorder<'a>,
    /// The nesting of the modules among the items made so far.
    nesting: u32,
    /// True for the members of a module.
    in_module: bool,
}

impl<'a> Items<'_, 'a> {
    fn item(
        &mut self,
        name: Symbol,
        kind: ItemKind,
        span: Option<Span>,
        text: impl Fn(&str) -> String,
    ) -> Item {
        let name = self.symbols.text(name);
        let text = Arc::from(text(&operator(&name)));
        Item { name, kind, text, span, members: None }
    }

    fn term(&mut self, name: Symbol, entry: &Entry<'a>) -> Item {
        let (tables, in_module) = (self.tables, self.in_module);
        match entry {
            Entry::Value(value) => self.item(name, ItemKind::Value, value.span, |name| {
                format!("val {name}{}", scheme(tables, &value.scheme, in_module))
            }),
            Entry::Module(module, span) => {
                let ending = match module {
                    Module::Struct(_) => "",
                    Module::Functor(_) => " : a parametric module",
                    Module::Intrinsics => " : the built-in module",
                    Module::Unknown => " : an unknown module",
                };
                let item = self.item(name, ItemKind::Module, *span, |name| format!("module {name}{ending}"));
                let members = match module {
                    Module::Struct(exports) => {
                        let (members, nesting) = self.members(exports);
                        (nesting < MAX_NESTING).then_some(members)
                    }
                    Module::Functor(_) | Module::Intrinsics | Module::Unknown => None,
                };
                Item { members, ..item }
            }
            Entry::Operator(_) | Entry::Equality { .. } | Entry::Logical { .. } => {
                self.item(name, ItemKind::Value, None, |name| format!("val {name} : built in"))
            }
        }
    }

    fn named_type(&mut self, name: Symbol, ty: &NamedType) -> Item {
        let (tables, in_module) = (self.tables, self.in_module);
        self.item(name, ItemKind::Type, ty.span, |name| type_text(tables, name, ty, in_module))
    }

    fn mod_type(&mut self, name: Symbol, span: Span) -> Item {
        self.item(name, ItemKind::ModuleType, Some(span), |name| format!("module type {name}"))
    }

    /// The members of a module (types, then values and modules, then module types), and the nesting
    /// of modules in it.
    fn members(&mut self, exports: &Rc<ModuleExports<'a>>) -> (Arc<[Item]>, u32) {
        let key = Rc::as_ptr(exports);
        let known = self.recorder.modules.get(&key);
        let (items, nesting) = match known {
            Some((_, items, nesting)) => (Arc::clone(items), *nesting),
            None => {
                let outer = (std::mem::take(&mut self.nesting), std::mem::replace(&mut self.in_module, true));
                let items = stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
                    let mut items = Vec::new();
                    items.extend(exports.types.iter().map(|(name, ty)| self.named_type(*name, ty)));
                    items.extend(exports.terms.iter().map(|(name, entry)| self.term(*name, entry)));
                    let mod_types = exports.mod_types.iter();
                    items.extend(mod_types.map(|(name, (_, span))| self.mod_type(*name, *span)));
                    Arc::<[Item]>::from(items)
                });
                let nesting = self.nesting + 1;
                (self.nesting, self.in_module) = outer;
                let module = (Rc::clone(exports), Arc::clone(&items), nesting);
                self.recorder.modules.insert(key, module);
                (items, nesting)
            }
        };
        self.nesting = self.nesting.max(nesting);
        (items, nesting)
    }
}

fn type_text(tables: &InferTables, name: &str, ty: &NamedType, in_module: bool) -> String {
    let mut out = String::from(match ty.lifted {
        Liftedness::Unlifted => "type ",
        Liftedness::SizeLifted => "type~ ",
        Liftedness::Lifted => "type^ ",
    });
    out.push_str(name);
    for param in &ty.params {
        // Writing to a string cannot fail.
        let _ = match param {
            TypeParam::Type(var, _) => write!(out, " '{}", tables.show(&Ty::Var(*var))),
            TypeParam::Size(var) => write!(out, " [{}]", tables.show_dim(&Dim::Var(*var))),
        };
    }
    if !matches!(ty.ty, Ty::Abstract(..)) {
        let _ = write!(out, " = {}", show(tables, &ty.ty, in_module));
    }
    out
}

fn scheme(tables: &InferTables, scheme: &Scheme, in_module: bool) -> String {
    let mut out = String::new();
    for var in &scheme.size_params {
        let _ = write!(out, " [{}]", tables.show_dim(&Dim::Var(*var)));
    }
    for var in &scheme.ty_params {
        let _ = write!(out, " '{}", tables.show(&Ty::Var(*var)));
    }
    let _ = write!(out, " : {}", show(tables, &scheme.ty, in_module));
    out
}

/// A type as text; in a module, its abstract types have no paths.
fn show(tables: &InferTables, ty: &Ty, in_module: bool) -> String {
    if in_module { tables.show_inside(ty) } else { tables.show(ty) }
}

/// A name as written in a specification: operators are in parentheses.
fn operator(name: &Name) -> Name {
    if name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        Arc::clone(name)
    } else {
        Arc::from(format!("({name})"))
    }
}
