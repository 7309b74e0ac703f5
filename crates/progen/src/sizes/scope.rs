//! The scope of an expression under construction, and the text of types in it.

use super::exp::{Exp, Name};
use super::model::Def;
use super::types::{Id, Kind, Size, Ty};
use crate::choices::Choices;
use std::collections::BTreeSet;

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    Value(Ty),
    /// A non-negative `i64` that is a size.
    Size(Id),
    /// A module with an abstract type.
    Module(Kind),
    /// A module with functions, by number.
    Funs(Vec<usize>),
    Fun(usize),
}

/// A name in scope.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub name: Name,
    pub what: Binding,
}

/// A function that can be called.
#[derive(Clone, Debug)]
pub(super) struct Fun {
    /// The name in calls.
    pub path: Name,
    /// True if it captures variables.
    pub local: bool,
    pub params: Vec<Ty>,
    /// The sizes whose values the `i64` parameters are.
    pub ints: Vec<Option<Id>>,
    pub ret: Ty,
    /// Sizes with this number or a greater one are fresh in each call, unless an argument
    /// determines them.
    pub first_fresh_size: Id,
    /// The number of the definition.
    pub def: usize,
}

/// A type abbreviation.
#[derive(Clone, Debug)]
pub(super) struct Abbreviation {
    pub name: &'static str,
    /// The type, with open sizes.
    pub ty: Ty,
    /// True if all its sizes are equal.
    pub equal: bool,
}

/// The state of the generator.
pub(super) struct Gen<'a> {
    pub c: &'a mut Choices,
    pub scope: Vec<Entry>,
    pub next: Id,
    pub defs: Vec<Def>,
    pub funs: Vec<Fun>,
    pub abbreviations: Vec<Abbreviation>,
    /// Anonymous sizes of parameters. The language infers them: they are unified with the sizes
    /// that they meet in branches.
    pub anonymous_sizes: BTreeSet<Id>,
    /// Anonymous sizes that met another size.
    pub unified: BTreeSet<Id>,
    /// The number of choices after which everything is simple.
    pub limit: usize,
}

/// Names of variables, size parameters and functions. There are few, so that they hide each other
/// and modules.
const NAMES: [&str; 16] = ["x", "n", "k", "xs", "i", "a", "b", "m", "v", "y", "ys", "t", "w", "u", "f", "g"];

impl Gen<'_> {
    /// A size about which nothing is known.
    pub fn fresh(&mut self) -> Size {
        Size::Var(self.fresh_id())
    }

    pub fn fresh_id(&mut self) -> Id {
        self.next += 1;
        self.next
    }

    /// The type with a fresh size for each open one.
    pub fn close(&mut self, ty: &Ty) -> Ty {
        ty.map_sizes(&mut |size| match size {
            Size::Open => self.fresh(),
            size => size.clone(),
        })
    }

    /// The type with a fresh size for each size.
    pub fn unknown(&mut self, ty: &Ty) -> Ty {
        ty.map_sizes(&mut |_| self.fresh())
    }

    /// The common type of two branches.
    pub fn common_type(&mut self, a: &Ty, b: &Ty) -> Ty {
        let mut seen: Vec<(Size, Size, Size)> = Vec::new();
        let pairs: Vec<(Size, Size)> = a.sizes().into_iter().zip(b.sizes()).collect();
        let sizes: Vec<Size> = pairs
            .into_iter()
            .map(|(x, y)| {
                if x == y || y == Size::Open {
                    return x;
                }
                for size in [&x, &y] {
                    self.record_unified(size);
                }
                if x == Size::Open {
                    return y;
                }
                let known = seen.iter().find(|(a, b, _)| *a == x && *b == y);
                if let Some((.., size)) = known {
                    return size.clone();
                }
                let size = self.fresh();
                seen.push((x, y, size.clone()));
                size
            })
            .collect();
        a.with_sizes(&sizes)
    }

    /// Records that anonymous sizes of parameters in this one met another.
    fn record_unified(&mut self, size: &Size) {
        size.map_vars(&mut |id| {
            if self.anonymous_sizes.contains(&id) {
                self.unified.insert(id);
            }
            Size::Var(id)
        });
    }

    /// Brings a name into scope.
    pub fn push(&mut self, name: &Name, what: Binding) {
        let name = name.clone();
        self.scope.push(Entry { name, what });
    }

    /// Brings a variable into scope.
    pub fn bind(&mut self, name: &Name, ty: Ty) {
        self.push(name, Binding::Value(ty));
    }

    /// Runs `make` in a scope of its own.
    pub fn scoped<R>(&mut self, make: impl FnOnce(&mut Self) -> R) -> R {
        let mark = self.scope.len();
        let made = make(self);
        self.scope.truncate(mark);
        made
    }

    /// A name, none of those given, that hides no module that the types mention.
    pub fn name(&mut self, avoid: &[Name], goals: &[&Ty]) -> Name {
        let fine = |name: &&&str| {
            avoid.iter().all(|other| **other != ***name) && goals.iter().all(|ty| !ty.mentions(name))
        };
        let names: Vec<&&str> = NAMES.iter().filter(fine).collect();
        let most = names.len();
        // The first names are more frequent, so that they hide each other.
        let at = self.c.below(most).min(self.c.below(most * 2));
        // Without a name left, the number of those in use makes one.
        names.get(at).map_or_else(|| format!("z{}", avoid.len()).into(), |name| (**name).into())
    }

    /// The entries that are not shadowed, the innermost first.
    pub fn visible(&self) -> Vec<&Entry> {
        let mut seen = BTreeSet::new();
        let entries = self.scope.iter().rev();
        entries.filter(|entry| seen.insert(&*entry.name)).collect()
    }

    /// Returns true if a module is visible.
    pub fn module_visible(&self, path: &str) -> bool {
        let entry = self.scope.iter().rev().find(|entry| *entry.name == *path);
        entry.is_some_and(|entry| matches!(entry.what, Binding::Module(_)))
    }

    /// The visible modules with abstract types.
    pub fn modules(&self) -> Vec<(Name, Kind)> {
        let visible = self.visible().into_iter();
        let module = |entry: &Entry| match entry.what {
            Binding::Module(kind) => Some((entry.name.clone(), kind)),
            _ => None,
        };
        visible.filter_map(module).collect()
    }

    /// The visible functions.
    pub fn callable(&self) -> Vec<usize> {
        let mut found = Vec::new();
        for entry in self.visible() {
            match &entry.what {
                Binding::Fun(fun) => found.push(*fun),
                Binding::Funs(funs) => found.extend(funs),
                _ => {}
            }
        }
        found
    }

    /// The parts of variables with a required type.
    pub fn known(&self, wanted: &dyn Fn(&Ty) -> bool) -> Vec<(Exp, Ty)> {
        let mut found = Vec::new();
        for entry in self.visible() {
            match &entry.what {
                Binding::Value(ty) => parts(&Exp::Var(entry.name.clone()), ty, wanted, &mut found),
                Binding::Size(_) if wanted(&Ty::Int) => {
                    found.push((Exp::Var(entry.name.clone()), Ty::Int));
                }
                _ => {}
            }
        }
        found
    }

    /// The sizes with names.
    pub fn named_sizes(&self) -> Vec<(Name, Id)> {
        let visible = self.visible().into_iter();
        let size = |entry: &Entry| match entry.what {
            Binding::Size(id) => Some((entry.name.clone(), id)),
            _ => None,
        };
        visible.filter_map(size).collect()
    }

    /// A size as an expression.
    pub fn size_text(&self, size: &Size) -> Option<String> {
        match size {
            Size::Const(n) => Some(n.to_string()),
            Size::Var(id) => {
                let named = self.named_sizes();
                let found = named.iter().find(|(_, other)| other == id);
                found.map(|(name, _)| name.to_string())
            }
            Size::Sum(a, b) => {
                let (a, b) = (self.size_text(a)?, self.size_text(b)?);
                let b = if b.contains('+') { format!("({b})") } else { b };
                Some(format!("{a} + {b}"))
            }
            Size::Open => None,
        }
    }

    /// The text of a type in this scope, with sizes as `size` returns them; `None` if a module is
    /// hidden.
    pub fn type_text(&self, ty: &Ty, size: &mut dyn FnMut(&Size) -> String) -> Option<String> {
        Some(match ty {
            Ty::Int => "i64".to_owned(),
            Ty::Array(sizes) => {
                let sizes: String = sizes.iter().map(|s| format!("[{}]", size(s))).collect();
                format!("{sizes}i64")
            }
            Ty::Abstract(path, _, sizes) => {
                if !self.module_visible(path) {
                    return None;
                }
                let sizes: String = sizes.iter().map(|s| format!(" [{}]", size(s))).collect();
                format!("{path}.t{sizes}")
            }
            Ty::Boxed(ty) => format!("boxes.box ({})", self.type_text(ty, size)?),
            Ty::Tuple(parts) => {
                let parts = parts.iter().map(|ty| self.type_text(ty, size));
                format!("({})", parts.collect::<Option<Vec<_>>>()?.join(", "))
            }
            Ty::Record(fields) => {
                let field = |(name, ty): &(&str, Ty)| Some(format!("{name}: {}", self.type_text(ty, size)?));
                let fields = fields.iter().map(field);
                format!("{{{}}}", fields.collect::<Option<Vec<_>>>()?.join(", "))
            }
            Ty::Sum(cases) => {
                let mut texts = Vec::new();
                for (name, payload) in cases {
                    let mut text = format!("#{name}");
                    for ty in payload {
                        text.push_str(&format!(" ({})", self.type_text(ty, size)?));
                    }
                    texts.push(text);
                }
                format!("({})", texts.join(" | "))
            }
        })
    }

    /// The type with anonymous sizes.
    pub fn anonymous(&self, ty: &Ty) -> Option<String> {
        self.type_text(ty, &mut |_| String::new())
    }

    /// The type with the sizes that have names.
    pub fn named(&self, ty: &Ty) -> Option<String> {
        self.type_text(ty, &mut |size| self.size_text(size).unwrap_or_default())
    }
}

/// Adds the parts of a value with a required type.
fn parts(e: &Exp, ty: &Ty, wanted: &dyn Fn(&Ty) -> bool, found: &mut Vec<(Exp, Ty)>) {
    let mut part = |name: &str, at: usize, ty: &Ty| {
        let e = Exp::Field(Box::new(e.clone()), name.into(), at);
        parts(&e, ty, wanted, found);
    };
    match ty {
        Ty::Tuple(tys) => {
            for (at, ty) in tys.iter().enumerate() {
                part(&at.to_string(), at, ty);
            }
        }
        Ty::Record(fields) => {
            for (at, (name, ty)) in fields.iter().enumerate() {
                part(name, at, ty);
            }
        }
        _ => {}
    }
    if wanted(ty) {
        found.push((e.clone(), ty.clone()));
    }
}
