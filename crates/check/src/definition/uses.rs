//! Uses of names in expressions: values, operators, fields, opened modules.

use crate::definition::DefinitionChecker;
use crate::definition::ambiguous::SizeOrigin;
use crate::env::{Entry, Module, Target, ValueEntry};
use crate::infer::{Origin, error_node, node};
use crate::intrinsics::Intrinsic;
use crate::tast::{Exp, ExpKind, Ty, VarId};
use syntax::ast::{self, Ident, Liftedness, QualName};
use syntax::span::Span;

impl<'a> DefinitionChecker<'_, 'a> {
    pub(super) fn variable(&mut self, name: &'a QualName, span: Span) -> Exp {
        let Some((entry, labels)) = self.cx.find_term(name) else {
            return error_node(span);
        };
        let text = self.cx.symbol_text(name.name.name);
        if text.starts_with('_') && name.quals.is_empty() && !self.cx.site.is_prelude() {
            let message = format!("the variable \"{text}\" starts with an underscore: it may not be used");
            self.cx.error("underscore-use", span, message);
        }
        let start = name.quals.first().map_or(name.name.span, |q| q.span);
        let mut exp = self.reference(&entry, if labels.is_empty() { span } else { start });
        for label in labels {
            exp = self.project(exp, label);
        }
        exp
    }

    /// A use of the entry that a name refers to.
    pub(super) fn reference(&mut self, entry: &Entry<'a>, span: Span) -> Exp {
        match entry {
            Entry::Value(value) => self.instantiate(value, span),
            Entry::Operator(op) => self.infer.overloaded(*op, span),
            Entry::Equality { negate } => {
                let lifted = Liftedness::SizeLifted;
                let ty = self.infer.infer_ty("t", lifted, Origin::BOUND, span);
                let fun = Ty::arrow(ty.clone(), Ty::arrow(ty.clone(), Ty::BOOL));
                self.needed_checks.equality = true;
                let kind = ExpKind::Intrinsic {
                    fun: Intrinsic::Equal { negate: *negate },
                    ty_args: vec![ty],
                    size_args: Vec::new(),
                };
                node(kind, fun, span)
            }
            Entry::Logical { and } => self.logical_section(*and, None, None, span),
            Entry::Module(..) => {
                self.cx.error("not-a-value", span, "this is a module, not a value");
                error_node(span)
            }
        }
    }

    pub(super) fn local_open(&mut self, name: &'a QualName, inner: &'a ast::Exp) -> Exp {
        let mark = self.cx.env.enter();
        let path: Vec<Ident> = name.quals.iter().copied().chain([name.name]).collect();
        match self.cx.find_module(&path) {
            Some(Module::Struct(module)) => {
                self.cx.env.open(&module);
                self.cx.note_local_open(&module, inner.span);
            }
            Some(Module::Functor(_) | Module::Intrinsics) => {
                self.cx.error("unknown-module", name.span(), "this module cannot be opened");
            }
            Some(Module::Unknown) | None => {}
        }
        let exp = self.exp(inner);
        self.cx.env.leave(mark);
        exp
    }

    /// A use of a value: its parameters are instantiated with open variables.
    pub(super) fn instantiate(&mut self, entry: &ValueEntry, span: Span) -> Exp {
        self.record_use(entry.span);
        if let (Target::Var(var), Some(own)) = (entry.target, self.current_def) {
            self.needed_checks.recursive |= var == own;
        }
        let first = self.infer.tables.next_var();
        let exp = self.infer.instantiate(entry, span);
        if self.infer.infers_sizes() {
            for size in first.0..self.infer.tables.next_var().0 {
                self.require_size(VarId(size), span, SizeOrigin::Instance(entry.target));
            }
        }
        exp
    }
}
