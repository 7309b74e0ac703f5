//! Rules for type expressions beyond well-formedness.

use crate::context::Context;
use crate::definition::types::strip;
use crate::env::Module;
use crate::infer::less_lifted;
use crate::tast::{Exp, ExpKind, Ty, TyVarId};
use syntax::ast::{self, Liftedness, QualName, TypeArg, TypeExp, TypeExpKind};
use syntax::diag::Diagnostic;
use syntax::span::Span;

impl Context<'_> {
    /// Reports a parameter of a function type with the name of an earlier one.
    pub(super) fn check_parameter_name(&mut self, first: &ast::Ident, rest: &TypeExp) {
        let mut rest = strip(rest);
        while let TypeExpKind::Arrow(name, _, ret) = &rest.kind {
            if let Some(second) = name
                && second.name == first.name
            {
                let text = self.symbol_text(first.name);
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

    /// Reports an array whose element type is declared lifted. Returns true if so.
    pub(super) fn check_element(&mut self, te: &TypeExp) -> bool {
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
        let text = self.symbol_text(name.name.name);
        let message = format!("Cannot create array of \"{text}\": this type is lifted, {why}");
        self.report(
            Diagnostic::error("functional-type", message)
                .at(te.span, "")
                .hint("if possible, declare the type with `type`, or the type parameter with `'`"),
        );
        true
    }

    /// The liftedness of a type by the declarations of the names in it. Element types of arrays are
    /// checked separately.
    pub(super) fn lifted_as_written(&self, te: &TypeExp) -> Liftedness {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || match &te.kind {
            TypeExpKind::Parens(inner) | TypeExpKind::Unique(inner) => self.lifted_as_written(inner),
            TypeExpKind::Var(name) => self.declared_lifted(name),
            TypeExpKind::Apply(head, args) => {
                let args = args.iter().map(|arg| match arg {
                    TypeArg::Type(te) => self.lifted_as_written(te),
                    TypeArg::Size(_) => Liftedness::Unlifted,
                });
                args.fold(self.lifted_as_written(head), more_lifted)
            }
            TypeExpKind::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.lifted_as_written(part));
                parts.fold(Liftedness::Unlifted, more_lifted)
            }
            TypeExpKind::Record(fields) => {
                let parts = fields.iter().map(|(_, te)| self.lifted_as_written(te));
                parts.fold(Liftedness::Unlifted, more_lifted)
            }
            TypeExpKind::Sum(constrs) => {
                let parts = constrs.iter().flat_map(|constr| &constr.payload);
                let parts = parts.map(|te| self.lifted_as_written(te));
                parts.fold(Liftedness::Unlifted, more_lifted)
            }
            TypeExpKind::Array(..) => Liftedness::Unlifted,
            TypeExpKind::Exists(_, inner) => {
                more_lifted(Liftedness::SizeLifted, self.lifted_as_written(inner))
            }
            TypeExpKind::Arrow(..) => Liftedness::Lifted,
        })
    }

    /// The declared liftedness of the named type.
    fn declared_lifted(&self, name: &QualName) -> Liftedness {
        let abbr = if name.quals.is_empty() {
            self.env.ty(name.name.name).cloned()
        } else {
            match self.module_at(&name.quals) {
                Some(Module::Struct(module)) => module.types.get(&name.name.name).cloned(),
                Some(Module::Intrinsics) => return Liftedness::Unlifted,
                Some(Module::Functor(_) | Module::Unknown) | None => None,
            }
        };
        abbr.map_or(Liftedness::Lifted, |abbr| abbr.lifted)
    }

    /// Reports consumption in a size expression, which may be evaluated any number of times.
    pub(super) fn check_size_exp(&mut self, exp: &Exp) {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
            if let ExpKind::Apply { fun, args, .. } = &exp.kind {
                let mut ty = &fun.ty;
                for arg in args {
                    let Ty::Arrow(arrow) = ty else { break };
                    if arrow.consumes.any() && is_path(arg) {
                        let text = self.reports.snippet(arg.span);
                        let message = format!("Consuming \"{text}\" in a size, where it is not consumable");
                        self.report(
                            Diagnostic::error("not-consumable", message)
                                .at(arg.span, "consumed here")
                                .hint("compute the size first, and take it as a parameter"),
                        );
                    }
                    ty = &arrow.ret.ty;
                }
            }
            crate::visit::children(exp, &mut |child| self.check_size_exp(child));
        });
    }
}

/// The more lifted of the two.
fn more_lifted(a: Liftedness, b: Liftedness) -> Liftedness {
    if less_lifted(a, b) == a { b } else { a }
}

/// Returns true if the type parameter occurs below an array in the finished type.
pub(super) fn is_in_array(ty: &Ty, var: TyVarId) -> bool {
    in_array(ty, var, false)
}

/// Returns true if the variable occurs below an array, or anywhere if `inside` one.
fn in_array(ty: &Ty, var: TyVarId, inside: bool) -> bool {
    match ty {
        Ty::Var(own) => inside && *own == var,
        Ty::Scalar(_) => false,
        Ty::Array(array) => in_array(&array.elem, var, true),
        Ty::Tuple(parts) => parts.iter().any(|ty| in_array(ty, var, inside)),
        Ty::Record(fields) => fields.iter().any(|(_, ty)| in_array(ty, var, inside)),
        Ty::Sum(constrs) => {
            let mut parts = constrs.iter().flat_map(|(_, parts)| parts.iter());
            parts.any(|ty| in_array(ty, var, inside))
        }
        Ty::Arrow(arrow) => in_array(&arrow.param, var, inside) || in_array(&arrow.ret.ty, var, inside),
        Ty::Abstract(_, args) => args.types.iter().any(|ty| in_array(ty, var, inside)),
    }
}

/// Returns true if an expression is a variable or a part of one.
fn is_path(exp: &Exp) -> bool {
    match &exp.kind {
        ExpKind::Var { .. } => true,
        ExpKind::Project(inner, _) | ExpKind::Attr(_, inner) | ExpKind::Coerce(inner) => is_path(inner),
        _ => false,
    }
}

/// The error for a size that a type mentions but its values do not carry.
pub(super) fn not_carried(message: String, span: Span, name: &str) -> Diagnostic {
    Diagnostic::error("size-not-carried", message)
        .at(span, "")
        .note("functions do not carry the sizes of their parameters and results")
        .hint(format!(
            "add a component of type \"[{name}]()\", which takes no memory, or make \"{name}\" a parameter"
        ))
}
