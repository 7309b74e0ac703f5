//! Rules that types as written must keep beside being well formed.

use crate::checker::Checker;
use crate::tast::{Exp, ExpKind, Ty};
use crate::types::strip;
use syntax::ast::{self, Liftedness, TypeExp, TypeExpKind};
use syntax::diag::Diagnostic;
use syntax::span::Span;

impl<'a> Checker<'a> {
    /// Reports a parameter of a function type with the name of an earlier one.
    pub(crate) fn check_parameter_name(&mut self, first: &ast::Ident, rest: &TypeExp) {
        let mut rest = strip(rest);
        while let TypeExpKind::Arrow(name, _, ret) = &rest.kind {
            if let Some(second) = name
                && second.name == first.name
            {
                let text = self.name(first.name);
                self.report(
                    Diagnostic::error(
                        "duplicate-name",
                        format!("the parameter name \"{text}\" is also bound by another parameter"),
                    )
                    .at(second.span, "")
                    .also(first.span, "also bound here"),
                );
                return;
            }
            rest = strip(ret);
        }
    }

    /// Whether the element type of an array is declared to be lifted; reports it.
    pub(crate) fn check_element(&mut self, te: &'a TypeExp) -> bool {
        let mut elem = strip(te);
        if let TypeExpKind::Apply(head, _) = &elem.kind {
            elem = strip(head);
        }
        let TypeExpKind::Var(name) = &elem.kind else {
            return false;
        };
        if !name.quals.is_empty() {
            return false;
        }
        let Some(abbr) = self.env.ty(name.name.name).cloned() else {
            return false;
        };
        let why = match abbr.lifted {
            Liftedness::Unlifted => return false,
            Liftedness::SizeLifted => "so the rows might differ in size",
            Liftedness::Lifted => "so its values might contain functions",
        };
        let text = self.name(name.name.name);
        let message = format!("Cannot create array of \"{text}\": this type is lifted, {why}");
        self.report(
            Diagnostic::error("functional-type", message)
                .at(te.span, "")
                .hint("declare the type with `type`, or its parameter with `'`, if it can be"),
        );
        true
    }

    /// A size may be computed any number of times, so it consumes nothing.
    pub(crate) fn check_size_exp(&mut self, exp: &Exp) {
        stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || {
            if let ExpKind::Apply { fun, args } = &exp.kind {
                let mut ty = &fun.ty;
                for arg in args {
                    let Ty::Arrow(arrow) = ty else { break };
                    if arrow.consumes.any() && is_path(arg) {
                        let text = self.sources.snippet(arg.span);
                        let message =
                            format!("Consuming \"{text}\" in a size, where it is not consumable");
                        self.report(
                            Diagnostic::error("not-consumable", message)
                                .at(arg.span, "consumed here")
                                .hint("compute the size before, and take it as a parameter"),
                        );
                    }
                    ty = &arrow.ret.ty;
                }
            }
            crate::visit::children(exp, &mut |child| self.check_size_exp(child));
        });
    }
}

/// Whether an expression is a variable or a part of one.
fn is_path(exp: &Exp) -> bool {
    match &exp.kind {
        ExpKind::Var { .. } => true,
        ExpKind::Project(inner, _) | ExpKind::Attr(_, inner) | ExpKind::Coerce(inner) => {
            is_path(inner)
        }
        _ => false,
    }
}

/// The error for a size that a type mentions and its values do not carry.
pub(crate) fn not_carried(message: String, span: Span, name: &str) -> Diagnostic {
    Diagnostic::error("size-not-carried", message)
        .at(span, "")
        .note("functions do not carry the sizes of their parameters and results")
        .hint(format!(
            "add a component of type \"[{name}]()\", which takes no memory, or make \"{name}\" a parameter"
        ))
}
