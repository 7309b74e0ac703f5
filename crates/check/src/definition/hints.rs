//! Notes and hints on type errors: likely causes that the two types alone do not show.
//!
//! - A number type was chosen by default, because nothing determined it.
//! - A local function is used at two types, but is monomorphic.
//! - A function of the program shadows one of the prelude.
//! - A literal with a fraction is used where an integer is needed.
//! - Two number types meet: one value must be converted.
//! - An abstract type differs from every other type, also from its representation.
//!
//! Computed only when there is an error to report.

use crate::definition::DefinitionChecker;
use crate::env::{Entry, Scheme, Target};
use crate::infer::{Constraint, FreeVars, InferTables, Mismatch, Scalars};
use crate::tast::{Exp, ExpKind, Ty, VarId};
use prim::ScalarType;
use rustc_hash::FxHashMap;
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// The maximum length of an expression that is quoted in a hint, in bytes.
const MAX_EXCERPT: usize = 30;

/// Local functions whose types are inferred from their uses; true if the open type is a number
/// type.
#[derive(Default)]
pub(super) struct MonomorphicFunctions(FxHashMap<VarId, bool>);

impl MonomorphicFunctions {
    /// Records a local function with an open type, which its uses will determine.
    pub(super) fn note(&mut self, tables: &InferTables, var: VarId, scheme: &Scheme) {
        let mut types = FreeVars::of(&tables.resolve(&scheme.ty)).types.into_iter();
        let open = types.find(|var| tables.is_open_ty(*var));
        if let Some(ty) = open {
            let constraint = &tables.ty_var(ty).constraint;
            let number = matches!(constraint, Constraint::Scalars(_));
            self.0.insert(var, number);
        }
    }
}

impl DefinitionChecker<'_, '_> {
    /// Adds notes and hints that follow from the mismatched types.
    pub(super) fn add_hints(
        &self,
        mut diag: Diagnostic,
        (expected, found): (&Ty, &Ty),
        why: &Mismatch,
        span: Span,
    ) -> Diagnostic {
        match why {
            Mismatch::Types(Ty::Scalar(to), Ty::Scalar(from)) => {
                let whole = [expected, found].map(|ty| self.infer.tables.resolve_head(ty));
                if whole == [Ty::Scalar(*to), Ty::Scalar(*from)] {
                    diag = self.hint_conversion(diag, *to, *from, span);
                }
            }
            Mismatch::Types(a, b) => {
                for ty in [a, b] {
                    if let Ty::Abstract(..) = ty {
                        let name = self.infer.tables.show(ty);
                        diag = diag.note(format!(
                            "\"{name}\" is an abstract type: its definition is visible in its module only"
                        ));
                    }
                }
            }
            Mismatch::NotScalar(Scalars::FLOATS, Ty::Scalar(other)) if !other.is_float() => {
                diag = self.hint_float_literal(diag, (expected, found), Some(*other), span);
            }
            Mismatch::Scalars(Scalars::FLOATS, _) | Mismatch::Scalars(_, Scalars::FLOATS) => {
                diag = self.hint_float_literal(diag, (expected, found), None, span);
            }
            _ => {}
        }
        diag
    }

    /// Adds a hint that converts a number to the expected type.
    fn hint_conversion(&self, diag: Diagnostic, to: ScalarType, from: ScalarType, span: Span) -> Diagnostic {
        let text = self.cx.reports.snippet(span);
        if !Scalars::NUMBERS.contains(to) || !Scalars::NUMBERS.contains(from) {
            return diag;
        }
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return diag.hint(format!("remove the suffix \"{from}\" from the literal"));
        }
        let value = if text.len() > MAX_EXCERPT || text.contains('\n') {
            "(...)".to_owned()
        } else if text.contains(|c: char| !(c.is_alphanumeric() || "_.'".contains(c))) {
            format!("({text})")
        } else {
            text.to_owned()
        };
        diag.hint(format!("convert it: `{to}.{from} {value}`"))
    }

    /// Points at the literal that makes a type a float type.
    fn hint_float_literal(
        &self,
        mut diag: Diagnostic,
        (expected, found): (&Ty, &Ty),
        other: Option<ScalarType>,
        span: Span,
    ) -> Diagnostic {
        let open = [found, expected].map(|ty| self.infer.tables.resolve_head(ty));
        let literal = open.iter().find_map(|ty| match ty {
            Ty::Var(var) => self.literals.float(self.infer.tables, *var),
            _ => None,
        });
        let Some(literal) = literal else {
            return diag;
        };
        let text = self.cx.reports.snippet(literal);
        if literal == span {
            diag = diag.note(format!("the literal \"{text}\" is a float"));
        } else {
            diag = diag.also(literal, "this literal is a float");
        }
        let whole = text.strip_suffix(".0").filter(|text| !text.is_empty());
        let convert = match other {
            Some(ty) => format!("convert the \"{ty}\" with `f64.{ty}`"),
            None => "convert the integer to a float".to_owned(),
        };
        diag.hint(match whole {
            Some(whole) => format!("{convert}, or write `{whole}` for an integer"),
            None => convert,
        })
    }

    /// Adds notes and hints about the function of a call or its mismatched argument.
    pub(super) fn hint_call(
        &mut self,
        mut diag: Diagnostic,
        why: &Mismatch,
        fun: &Exp,
        arg: &Exp,
    ) -> Diagnostic {
        if matches!(why, Mismatch::Sizes(..) | Mismatch::Escapes(_)) {
            return diag;
        }
        for exp in [fun, arg] {
            let Some(var) = head(exp) else { continue };
            let data = self.infer.tables.var(var);
            let (name, binding) = (data.name.clone(), data.span);
            if let Some(ty) = self.cx.defaulted.get(&var)
                && is_about(why, *ty)
            {
                diag = diag
                    .note(format!(
                        "the definition of \"{name}\" does not determine the number type, so it has \
                         the default \"{ty}\""
                    ))
                    .hint(format!(
                        "declare types in the definition of \"{name}\"; for several types, define it \
                         once per type"
                    ));
            }
            if let Some(number) = self.functions.0.get(&var) {
                diag = diag.note(format!(
                    "\"{name}\" is a local function without type parameters: all its uses have one \
                     type, inferred from the first"
                ));
                diag = diag.hint(if *number {
                    "define it once per number type".to_owned()
                } else {
                    format!("give it a type parameter: `let {name} 'a (x: a) ...`, or define it with `def`")
                });
                if let Some(binding) = binding {
                    diag = diag.also(binding, "defined here");
                }
            }
        }
        self.note_shadowing(diag, fun)
    }

    /// Adds a note if a function shadows one of the prelude.
    pub(super) fn note_shadowing(&self, diag: Diagnostic, fun: &Exp) -> Diagnostic {
        let Some(var) = head(fun) else { return diag };
        let data = self.infer.tables.var(var);
        let prelude = self.cx.builtins.prelude.as_ref();
        let known = prelude.and_then(|prelude| prelude.terms.get(&self.cx.symbols.symbol(&data.name)));
        let is_same = |target: Target| matches!(target, Target::Var(other) if other == var);
        match (known, data.span) {
            (Some(Entry::Value(value)), Some(binding)) if !is_same(value.target) => {
                let name = &data.name;
                diag.also(binding, format!("this \"{name}\" shadows the standard library function"))
            }
            _ => diag,
        }
    }
}

/// The variable that is applied, or that is the whole expression.
fn head(exp: &Exp) -> Option<VarId> {
    match &exp.kind {
        ExpKind::Var { id, .. } => Some(*id),
        ExpKind::Apply { fun, .. } => match &fun.kind {
            ExpKind::Var { id, .. } => Some(*id),
            _ => None,
        },
        _ => None,
    }
}

/// Returns true if the scalar type is one of the mismatched types.
fn is_about(why: &Mismatch, ty: ScalarType) -> bool {
    let is = |other: &Ty| *other == Ty::Scalar(ty);
    match why {
        Mismatch::Types(a, b) => is(a) || is(b),
        Mismatch::NotScalar(_, other) => is(other),
        _ => false,
    }
}
