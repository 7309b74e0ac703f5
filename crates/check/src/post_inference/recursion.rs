//! Restrictions on finished definitions beyond their types: no equality on values of unknown types,
//! and no recursion that cannot be compiled to first-order calls.

use crate::context::Context;
use crate::infer::FreeVars;
use crate::intrinsics::Intrinsic;
use crate::tast::{Bind, Def, Exp, ExpKind, PatKind, Ty, TyVarId, VarId};
use crate::visit::{any_component, children, for_each_exp};
use syntax::ast;
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// Reports comparisons of values whose type is a parameter of the definition, or abstract.
pub(crate) fn check_equality(def: &Def, cx: &mut Context<'_>) {
    let mut found = Vec::new();
    equality(&def.body, &def.ty_params, &mut found);
    for (span, is_abstract) in found {
        let (message, hint) = if is_abstract {
            (
                "an abstract type does not support equality: its definition is visible in its module only",
                "compare with a function of the module",
            )
        } else {
            (
                "a type parameter does not support equality: it may be a function type",
                "take a comparison function as a parameter",
            )
        };
        cx.report(Diagnostic::error("no-equality", message).at(span, "").hint(hint));
    }
}

/// Reports recursive calls whose function arguments are not the definition's own parameters, and
/// recursive functions that return functions.
pub(crate) fn check_recursion(def: &Def, bind: &ast::ValBind, cx: &mut Context<'_>) {
    let lifted: Vec<TyVarId> = bind
        .type_params
        .iter()
        .filter(|param| !matches!(param.kind, ast::TypeParamKind::Size))
        .zip(&def.ty_params)
        .filter(|(param, _)| matches!(param.kind, ast::TypeParamKind::Type(ast::Liftedness::Lifted)))
        .map(|(_, var)| *var)
        .collect();
    let mut walk = Recursion {
        def,
        functions: def.params.iter().map(|pat| holds_function(&pat.ty, &lifted)).collect(),
        found: Vec::new(),
        mentioned: false,
    };
    walk.exp(&def.body);
    let mut found = std::mem::take(&mut walk.found);
    if walk.mentioned && holds_function(&def.ret.ty, &lifted) {
        let message = "The result of a recursive function is not first-order";
        found.push((def.span, message.to_owned()));
    }
    for (span, message) in found {
        let hint = "a recursive function must pass on its functional parameters unchanged, and may not \
                    return functions";
        cx.report(Diagnostic::error("higher-order-recursion", message).at(span, "").hint(hint));
    }
}

/// Collects the uses of `==` and `!=` on values that contain a type parameter or an abstract type;
/// true for an abstract type.
fn equality(exp: &Exp, params: &[TyVarId], out: &mut Vec<(Span, bool)>) {
    for_each_exp(exp, &mut |exp| {
        if let ExpKind::Intrinsic { fun: Intrinsic::Equal { .. }, ty_args, .. } = &exp.kind {
            let of = |ty: &Ty| FreeVars::of(ty).types;
            if ty_args.iter().flat_map(of).any(|var| params.contains(&var)) {
                out.push((exp.span, false));
            } else if ty_args.iter().any(holds_abstract) {
                out.push((exp.span, true));
            }
        }
    });
}

struct Recursion<'d> {
    def: &'d Def,
    /// True for each parameter that may contain a function.
    functions: Vec<bool>,
    found: Vec<(Span, String)>,
    mentioned: bool,
}

impl Recursion<'_> {
    fn exp(&mut self, exp: &Exp) {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || self.exp_inner(exp));
    }

    fn exp_inner(&mut self, exp: &Exp) {
        let is_current = |e: &Exp| matches!(e.kind, ExpKind::Var { id, .. } if id == self.def.var);
        match &exp.kind {
            ExpKind::Apply { fun, args, .. } if is_current(fun) => {
                self.mentioned = true;
                self.call(args, exp.span);
                args.iter().for_each(|arg| self.exp(arg));
                return;
            }
            ExpKind::Var { .. } if is_current(exp) => {
                self.mentioned = true;
                if self.functions.contains(&true) {
                    let message = "A recursive function with a higher-order parameter may only be \
                                   applied, to all of its arguments";
                    self.found.push((exp.span, message.to_owned()));
                }
            }
            ExpKind::Let { binds, .. } => {
                for bind in binds {
                    if let Bind::Fun(def) = bind {
                        self.exp(&def.body);
                    }
                }
            }
            _ => {}
        }
        children(exp, &mut |child| self.exp(child));
    }

    fn call(&mut self, args: &[Exp], span: Span) {
        if !self.functions.contains(&true) {
            return;
        }
        if args.len() < self.def.params.len() {
            let message = "A recursive application of a higher-order function is not fully saturated";
            self.found.push((span, message.to_owned()));
            return;
        }
        let params = self.def.params.iter().zip(args).zip(&self.functions);
        for ((param, arg), function) in params {
            if *function && !is_param_unchanged(param_var(param), arg) {
                let message = "A recursive application must have its higher-order arguments \
                               passed unchanged";
                self.found.push((arg.span, message.to_owned()));
            }
        }
    }
}

fn param_var(pat: &crate::tast::Pat) -> Option<VarId> {
    match &pat.kind {
        PatKind::Var(var) => Some(*var),
        PatKind::Attr(_, inner) => param_var(inner),
        _ => None,
    }
}

fn is_param_unchanged(param: Option<VarId>, arg: &Exp) -> bool {
    match (&arg.kind, param) {
        (ExpKind::Var { id, .. }, Some(param)) => *id == param,
        // Components of a pattern are passed on as they were bound.
        (_, None) => true,
        _ => false,
    }
}

/// Returns true if values of the type contain values of an abstract type.
fn holds_abstract(ty: &Ty) -> bool {
    any_component(ty, &|part| match part {
        Ty::Array(array) => holds_abstract(&array.elem),
        part => matches!(part, Ty::Abstract(..)),
    })
}

/// Returns true if values of the type may contain functions.
fn holds_function(ty: &Ty, lifted: &[TyVarId]) -> bool {
    match ty {
        Ty::Arrow(_) => true,
        Ty::Var(var) => lifted.contains(var),
        Ty::Scalar(_) | Ty::Array(_) | Ty::Abstract(..) => false,
        Ty::Tuple(parts) => parts.iter().any(|ty| holds_function(ty, lifted)),
        Ty::Record(fields) => fields.iter().any(|(_, ty)| holds_function(ty, lifted)),
        Ty::Sum(constrs) => constrs.iter().any(|(_, tys)| tys.iter().any(|ty| holds_function(ty, lifted))),
    }
}
