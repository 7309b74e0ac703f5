//! Application: consumption of arguments, functions as arguments, and the aliases of the result.

use super::alias::{Aliases, MemoryRoot, holds_memory, set};
use super::{ConsumptionCheck, FunctionFacts, Origin, Owner};
use crate::env::Target;
use crate::tast::{ArrowTy, Exp, ExpKind, RetType, Ty, Uniq, VarId};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;
use syntax::diag::Diagnostic;

impl FunctionFacts {
    /// Returns the arity of the function that an expression names, and the unique parts of its
    /// result.
    pub(super) fn known(&self, exp: &Exp) -> Option<(usize, Uniq)> {
        match &exp.kind {
            ExpKind::Var { id, .. } => self.inferred_results.get(id).cloned(),
            ExpKind::Coerce(inner) | ExpKind::Attr(_, inner) => self.known(inner),
            ExpKind::Apply { fun, args, .. } => {
                let (arity, unique) = self.known(fun)?;
                let left = arity.checked_sub(args.len()).filter(|left| *left > 0)?;
                Some((left, unique))
            }
            _ => None,
        }
    }

    /// Returns true if a function consumes no more and shares no more than its specification
    /// allows.
    pub(crate) fn satisfies_spec(&self, function: Target, specified: &Ty, found: &Ty) -> bool {
        if consumes_more(specified, found) {
            return false;
        }
        let Some((arity, specified_result, found_result)) = last_results(specified, found) else {
            return true;
        };
        if !specified_result.unique.any() || !holds_memory(&specified_result.ty) {
            return true;
        }
        let Target::Var(var) = function else {
            return true;
        };
        match self.inferred_results.get(&var) {
            Some((n, unique)) => {
                *n != arity || is_unique_enough(unique, &specified_result.unique, &specified_result.ty)
            }
            None if self.declared.contains(&var) => {
                let body_unique = self.body_uniqueness.get(&var).unwrap_or(&found_result.unique);
                is_unique_enough(body_unique, &specified_result.unique, &specified_result.ty)
            }
            None => true,
        }
    }
}

impl ConsumptionCheck<'_> {
    /// Records the arity and unique result of a function under another name.
    pub(super) fn note_alias(&mut self, var: VarId, exp: &Exp) {
        if let Some(known) = self.functions.known(exp) {
            self.functions.inferred_results.insert(var, known);
        }
    }

    /// Checks the application `exp`. Arguments are evaluated from the last to the first, the
    /// operands of an `infix` operator from left to right.
    pub(super) fn apply(&mut self, fun: &Exp, args: &[Exp], infix: bool, exp: &Exp) -> Aliases {
        let closure = self.exp(fun);
        let mut ty = &fun.ty;
        let mut params = Vec::with_capacity(args.len());
        for _ in args {
            let Ty::Arrow(arrow) = ty else { break };
            params.push(arrow);
            ty = &arrow.ret.ty;
        }
        let mut value = |(arg, arrow): (&Exp, &Arc<ArrowTy>)| {
            let aliases = self.exp(arg);
            self.check_function_argument(&arrow.param, arg);
            (aliases, arrow.consumes.clone())
        };
        let pairs = args.iter().zip(params.iter().copied());
        let values: Vec<(Aliases, Uniq)> = if infix {
            pairs.map(&mut value).collect()
        } else {
            let mut values: Vec<_> = pairs.rev().map(&mut value).collect();
            values.reverse();
            values
        };
        let mut ty = &fun.ty;
        let mut unique = &Uniq::None;
        for arrow in params {
            unique = &arrow.ret.unique;
            ty = &arrow.ret.ty;
        }
        self.consume_arguments(args, &values, matches!(ty, Ty::Arrow(_)));
        // The result may share memory with all that is not consumed.
        let mut roots = closure.to_vec();
        for (aliases, consumes) in &values {
            let mut leaves = Vec::new();
            aliases.leaves(consumes, &mut leaves);
            let not_consumed = leaves.iter().filter(|(_, consumed)| !consumed);
            roots.extend(not_consumed.flat_map(|(roots, _)| roots.iter().copied()));
        }
        if let Ty::Arrow(_) = ty {
            let all = values.iter().flat_map(|(aliases, _)| aliases.to_vec());
            roots.extend(all);
            return Aliases::Roots(set(roots));
        }
        let known = match &fun.kind {
            ExpKind::Var { id, .. } => self.functions.inferred_results.get(id).cloned(),
            _ => None,
        };
        let unique = match known {
            Some((arity, unique)) if arity == args.len() => unique,
            _ => unique.clone(),
        };
        if !holds_memory(&exp.ty) {
            return Aliases::none();
        }
        if unique != Uniq::All {
            let name = self.function_name(fun);
            roots.push(self.new_root(Origin::Result(name), Owner::Owned));
        }
        result(&exp.ty, &unique, &set(roots))
    }

    /// Consumes the arguments of unique parameters.
    fn consume_arguments(&mut self, args: &[Exp], values: &[(Aliases, Uniq)], partial: bool) {
        if !values.iter().any(|(_, consumes)| consumes.any()) {
            return;
        }
        // The argument and component in which each root was first found.
        let mut first_found: FxHashMap<MemoryRoot, (usize, usize)> = FxHashMap::default();
        let mut consumed: Vec<(MemoryRoot, usize)> = Vec::new();
        let mut clashes: Vec<(MemoryRoot, usize, bool)> = Vec::new();
        let mut is_consumed: FxHashMap<MemoryRoot, bool> = FxHashMap::default();
        for (i, (aliases, consumes)) in values.iter().enumerate() {
            let mut leaves = Vec::new();
            aliases.leaves(consumes, &mut leaves);
            for (j, (roots, unique)) in leaves.iter().enumerate() {
                for root in roots.iter() {
                    let before = *first_found.entry(*root).or_insert((i, j));
                    let was = is_consumed.get(root).copied().unwrap_or(false);
                    if before != (i, j) && (*unique || was) {
                        clashes.push((*root, i, before.0 == i));
                    }
                    if *unique {
                        consumed.push((*root, i));
                    }
                    is_consumed.insert(*root, *unique || was);
                }
            }
        }
        for (root, i, same) in clashes {
            let name = self.root_name(root);
            let Some(arg) = args.get(i) else { continue };
            let message = if same {
                format!("Argument passed for consuming parameter is self-aliased by {name}")
            } else {
                format!("Argument is consumed, but another argument is aliased to {name} too")
            };
            self.report("consumed-argument", root, arg.span, message);
        }
        for (root, i) in consumed {
            let Some(arg) = args.get(i) else { continue };
            let named = self.roots.get(root.index());
            if partial && named.is_some_and(|info| matches!(info.origin, Origin::Var(_))) {
                let message = format!(
                    "A partial application cannot consume {}: the function might be applied again",
                    self.root_name(root)
                );
                self.report("contains-consumption", root, arg.span, message);
            } else {
                self.consume(root, arg.span);
            }
        }
    }

    /// Reports a function-typed result that consumes more than its declared type allows.
    pub(super) fn check_result_consumption(&mut self, expected: &Ty, body: &Exp) {
        if consumes_more(expected, &body.ty) {
            let message = "The function does not have expected type: it consumes more than its declared type";
            let diag = Diagnostic::error("consuming-function", message).at(body.span, "");
            self.diags.push(diag);
        }
    }

    /// Reports a function argument that consumes more than the parameter's type allows, or whose
    /// result is not unique where that type requires it.
    fn check_function_argument(&mut self, expected: &Ty, arg: &Exp) {
        let lambda = self.lambda.take();
        let Some((arity, required, found)) = last_results(expected, &arg.ty) else {
            return;
        };
        if consumes_more(expected, &arg.ty) {
            let message =
                "The argument is a consuming function, but the parameter type is not consuming".to_owned();
            let diag = Diagnostic::error("consuming-function", message)
                .at(arg.span, "")
                .hint("pass a function that consumes a `copy` of its argument");
            self.diags.push(diag);
            return;
        }
        if !required.unique.any() || !holds_memory(&required.ty) {
            return;
        }
        let known = match &arg.kind {
            ExpKind::Lambda(lambda_exp) if lambda_exp.params.len() == arity => lambda,
            ExpKind::Var { id, .. } => match self.functions.inferred_results.get(id) {
                Some((n, unique)) if *n == arity => Some(unique.clone()),
                None if self.functions.declared.contains(id) => Some(found.unique.clone()),
                _ => None,
            },
            _ => None,
        };
        if known.is_some_and(|known| !is_unique_enough(&known, &required.unique, &required.ty)) {
            let message =
                "The argument is a function whose result is not unique, but the parameter type requires it"
                    .to_owned();
            let diag = Diagnostic::error("unique-result", message)
                .at(arg.span, "")
                .hint("return a `copy` from the function");
            self.diags.push(diag);
        }
    }
}

/// The number of parameters that two function types share, and their results after these.
fn last_results<'t>(x: &'t Ty, y: &'t Ty) -> Option<(usize, &'t RetType, &'t RetType)> {
    let (Ty::Arrow(x), Ty::Arrow(y)) = (x, y) else {
        return None;
    };
    let (mut arity, mut x, mut y) = (1, &x.ret, &y.ret);
    while let (Ty::Arrow(a), Ty::Arrow(b)) = (&x.ty, &y.ty) {
        (arity, x, y) = (arity + 1, &a.ret, &b.ret);
    }
    Some((arity, x, y))
}

/// The aliases of a result whose `unique` parts share nothing.
fn result(ty: &Ty, unique: &Uniq, roots: &Rc<[MemoryRoot]>) -> Aliases {
    if *unique == Uniq::All {
        return Aliases::build(ty, &mut |_| Aliases::none());
    }
    let parts: Vec<&Ty> = match ty {
        Ty::Tuple(parts) => parts.iter().collect(),
        Ty::Record(fields) => fields.iter().map(|(_, ty)| ty).collect(),
        ty => return Aliases::spread(roots, ty),
    };
    let parts = parts.into_iter().enumerate();
    let parts = parts.map(|(i, ty)| result(ty, unique.part(i), roots));
    Aliases::Parts(parts.collect())
}

/// Returns true if all parts that must be unique are.
fn is_unique_enough(known: &Uniq, required: &Uniq, ty: &Ty) -> bool {
    let parts: Vec<&Ty> = match ty {
        _ if *known == Uniq::All || !required.any() || !holds_memory(ty) => return true,
        Ty::Tuple(parts) => parts.iter().collect(),
        Ty::Record(fields) => fields.iter().map(|(_, ty)| ty).collect(),
        _ => return known.any(),
    };
    let mut parts = parts.into_iter().enumerate();
    parts.all(|(i, ty)| is_unique_enough(known.part(i), required.part(i), ty))
}

/// Returns true if a function consumes an argument that the expected type does not consume.
fn consumes_more(expected: &Ty, found: &Ty) -> bool {
    let (Ty::Arrow(x), Ty::Arrow(y)) = (expected, found) else {
        return false;
    };
    (y.consumes.any() && !x.consumes.any())
        || consumes_more(&y.param, &x.param)
        || consumes_more(&x.ret.ty, &y.ret.ty)
}
