//! Names in expressions: through modules, to values, operators and fields.

use crate::checker::Checker;
use crate::env::{Entry, Module};
use crate::define::exps::node;
use crate::intrinsics::Intrinsic;
use crate::tast::{Exp, ExpKind, Name, Ty};
use syntax::ast::{self, Ident, Liftedness, QualName};
use syntax::diag::Diagnostic;
use syntax::span::Span;
use syntax::symbol::Symbol;

impl<'a> Checker<'a> {
    /// Follows a name through modules: what it refers to, and the labels after
    /// it that are projections. Reports what cannot be found.
    pub(crate) fn find_term<'q>(
        &mut self,
        name: &'q QualName,
    ) -> Option<(Entry<'a>, Vec<&'q Ident>)> {
        let mut path = name.quals.iter().chain(std::iter::once(&name.name));
        let first = path.next()?;
        let Some(mut entry) = self.env.term(first.name).cloned() else {
            let text = self.name(first.name);
            let module = !name.quals.is_empty();
            let id = if module {
                "unknown-module"
            } else {
                "unknown-variable"
            };
            let what = if module {
                "Unknown name or module"
            } else {
                "Unknown name"
            };
            let mut diag = Diagnostic::error(id, format!("{what} \"{text}\"")).at(first.span, "");
            let names = self.env.term_names();
            if let Some(other) = self.suggest(&text, &names) {
                diag = diag.hint(format!("did you mean \"{other}\"?"));
            }
            self.report(diag);
            return None;
        };
        let mut labels = Vec::new();
        for ident in path {
            let module = match &entry {
                Entry::Module(module) => {
                    self.note_module_used(first.name);
                    module.clone()
                }
                Entry::Value(_)
                | Entry::Operator(_)
                | Entry::Equality { .. }
                | Entry::Logical { .. } => {
                    labels.push(ident);
                    continue;
                }
            };
            entry = self.member(&module, ident)?;
        }
        Some((entry, labels))
    }

    pub(crate) fn member(&mut self, module: &Module<'a>, ident: &Ident) -> Option<Entry<'a>> {
        let text = self.name(ident.name);
        let (found, names) = match module {
            Module::Struct(inner) => (
                inner.terms.get(&ident.name).cloned(),
                inner.terms.keys().copied().collect(),
            ),
            Module::Intrinsics => (self.intrinsic(ident), Vec::new()),
            Module::Functor(_) => {
                self.error(
                    "unknown-variable",
                    ident.span,
                    "a parametric module has no members before it is applied",
                );
                return None;
            }
        };
        if found.is_none() {
            let mut diag = Diagnostic::error(
                "unknown-variable",
                format!("the module has no value or module \"{text}\""),
            )
            .at(ident.span, "");
            if let Some(other) = self.suggest(&text, &names) {
                diag = diag.hint(format!("did you mean \"{other}\"?"));
            }
            self.report(diag);
        }
        found
    }

    /// The name in scope that is most like `wanted`, if any is like it.
    pub(crate) fn suggest(&self, wanted: &str, candidates: &[Symbol]) -> Option<Name> {
        // Short names differ by little from many others.
        let limit = match wanted.chars().count() {
            0..=2 => return None,
            3..=4 => 1,
            5..=7 => 2,
            _ => 3,
        };
        let mut best: Option<(usize, Name)> = None;
        for symbol in candidates {
            let name = self.interner.resolve(*symbol);
            if name.len().abs_diff(wanted.len()) > limit || name.len() < 3 || *name == *wanted {
                continue;
            }
            let distance = edit_distance(wanted, &name);
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

    pub(crate) fn variable(&mut self, name: &'a QualName, span: Span) -> Exp {
        let Some((entry, labels)) = self.find_term(name) else {
            let ty = self.fresh(span);
            return node(ExpKind::Hole, ty, span);
        };
        let text = self.name(name.name.name);
        if text.starts_with('_') && name.quals.is_empty() && !self.in_prelude {
            let message =
                format!("the variable \"{text}\" starts with an underscore: it may not be used");
            self.error("underscore-use", span, message);
        }
        let start = name.quals.first().map_or(name.name.span, |q| q.span);
        let mut exp = self.reference(&entry, if labels.is_empty() { span } else { start });
        for label in labels {
            exp = self.project(exp, label);
        }
        exp
    }

    /// A use of what a name refers to.
    pub(crate) fn reference(&mut self, entry: &Entry<'a>, span: Span) -> Exp {
        match entry {
            Entry::Value(value) => self.instantiate(value, span),
            Entry::Operator(op) => self.overloaded(*op, span),
            Entry::Equality { negate } => {
                let ty = self.fresh_ty("t", Liftedness::SizeLifted, span);
                let fun = Ty::arrow(ty.clone(), Ty::arrow(ty.clone(), Ty::BOOL));
                let kind = ExpKind::Intrinsic {
                    fun: Intrinsic::Equal { negate: *negate },
                    ty_args: vec![ty],
                    size_args: Vec::new(),
                };
                node(kind, fun, span)
            }
            Entry::Logical { and } => self.logical_section(*and, None, None, span),
            Entry::Module(_) => {
                self.error("not-a-value", span, "this is a module, not a value");
                let ty = self.fresh(span);
                node(ExpKind::Hole, ty, span)
            }
        }
    }

    pub(crate) fn local_open(&mut self, name: &'a QualName, inner: &'a ast::Exp) -> Exp {
        let mark = self.env.enter();
        let path: Vec<Ident> = name.quals.iter().copied().chain([name.name]).collect();
        match self.find_module(&path) {
            Some(Module::Struct(module)) => self.env.open(&module),
            Some(Module::Functor(_) | Module::Intrinsics) => {
                self.error(
                    "unknown-module",
                    name.span(),
                    "this module cannot be opened",
                );
            }
            None => {}
        }
        let exp = self.exp(inner);
        self.env.leave(mark);
        exp
    }
}

/// Number of insertions, deletions and replacements between two words.
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
