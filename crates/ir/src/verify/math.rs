//! Invariant 18: definitions of mathematical functions.

use super::{VerifyError, error_in, scope, types};
use crate::math::{MathDefinition, MathDefinitions, may_define};
use crate::soac::Soacs;
use crate::syntax::{BasicOp, Exp, FunKind, Stm};
use crate::types::Type;
use crate::walk::Visit;
use rustc_hash::FxHashSet;
use target::levels::Stack;

/// Checks the definitions of a program.
pub(super) fn check(math: &MathDefinitions, errors: &mut Vec<VerifyError>) {
    let mut seen = FxHashSet::default();
    for definition in math.iter() {
        let name = &definition.function.name;
        let before = errors.len();
        if !seen.insert((definition.fun, definition.ty)) {
            errors.push(error_in(name, "the function has two definitions"));
        }
        if !is_function_of_its_type(definition) {
            errors.push(error_in(name, "the definition does not have the function's parameters and result"));
        }
        scope::check(&definition.function, errors);
        let mut parts = Parts(true);
        Visit::<Soacs>::body(&mut parts, &definition.function.body);
        if !parts.0 {
            errors.push(error_in(name, "a definition consists of scalar operations and conditionals"));
        }
        if errors.len() == before {
            types::check(&definition.function, &[], math, Stack::default(), errors);
        }
    }
}

fn is_function_of_its_type(definition: &MathDefinition) -> bool {
    let MathDefinition { fun, ty, function } = definition;
    let own = |other: &Type| *other == Type::Prim(*ty);
    fun.has_definition(*ty)
        && function.name == MathDefinition::name(*fun, *ty)
        && function.kind == FunKind::Function
        && function.version.is_none()
        && function.tunables.is_empty()
        && function.params.len() == fun.arity()
        && function.params.iter().all(|param| own(&param.param.ty) && !param.consumed)
        && function.ret.len() == 1
        && function.ret.iter().all(|ret| own(&ret.ty))
}

/// True if a body has only the parts of a definition.
struct Parts(bool);

impl Visit<Soacs> for Parts {
    fn stm(&mut self, stm: &Stm<Soacs>) {
        self.0 &= stm.aux.certs.is_empty() && stm.pat.iter().all(|param| param.ty.is_prim());
        self.walk_stm(stm);
    }

    fn exp(&mut self, exp: &Exp<Soacs>) {
        match exp {
            Exp::Basic(_) | Exp::If { .. } => self.walk_exp(exp),
            Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => self.0 = false,
        }
    }

    fn basic(&mut self, op: &BasicOp) {
        self.0 &= may_define(op);
    }
}
