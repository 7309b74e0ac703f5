//! Loops: loop-carried values become core loop parameters.
//!
//! The checker determines the sizes that vary between iterations; these become parameters, too.
//! Values that the body updates in place are consumed: the initial value, and the value for the
//! next iteration, must then be owned by this code. They are copied if they are not.

use crate::signature::of_results;
use crate::size::Mismatch;
use crate::types::{LTy, size_of};
use crate::value::{ArrayVal, Env, Value};
use crate::{Lower, Res};
use check::tast::{self, Exp, LoopForm, Pat, Ty, VarId};
use ir::syntax::LoopParam;
use ir::{Atom, BasicOp, Body, Dim, Exp as CoreExp, Name, Param, Soacs, Type};
use prim::{PrimType, ScalarType};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The evaluated form of a loop.
enum Driver<'a> {
    For { var: Option<VarId>, ty: ScalarType, bound: Atom, array: Option<(&'a Pat, ArrayVal)> },
    While(&'a Exp),
}

impl Lower<'_> {
    pub(crate) fn loop_exp(
        &mut self,
        sizes: &[VarId],
        pat: &Pat,
        init: &Exp,
        form: &LoopForm,
        body: &Exp,
        env: &Rc<Env>,
    ) -> Res<Value> {
        let init = self.eval(init, env)?;
        if init.has_fun() {
            return self.bug("a loop parameter is a function");
        }
        let driver = match form {
            LoopForm::For(var, bound) => {
                let Value::Scalar(bound, ty) = self.eval(bound, env)? else {
                    return self.bug("a loop bound is not a scalar");
                };
                Driver::For { var: Some(*var), ty, bound, array: None }
            }
            LoopForm::ForIn(pat, array) => {
                let array = self.eval(array, env)?;
                let array = self.as_array(&array)?;
                let bound = array.dim.atom().unwrap_or(Atom::i64(0));
                let ty = ScalarType::I64;
                Driver::For { var: None, ty, bound, array: Some((pat, array)) }
            }
            LoopForm::While(cond) => Driver::While(cond),
        };
        // The sizes that do not vary are bound by the initial value, which gets the sizes of the
        // pattern's type.
        for size in sizes {
            env.unbind(*size);
        }
        let init = self.conform(&pat.ty, init, env, false, Mismatch::Type)?;
        for size in sizes {
            env.unbind(*size);
        }
        let first = if let Driver::While(cond) = &driver {
            let mark = self.f.n_names();
            self.bind_pattern(pat, init.clone(), env, mark)?;
            let first = self.eval_scalar(cond, env)?;
            for size in sizes {
                env.unbind(*size);
            }
            Some(first)
        } else {
            None
        };
        self.loop_of(sizes, pat, init, first, &driver, body, env)
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of a loop, passed from the only caller")]
    fn loop_of(
        &mut self,
        sizes: &[VarId],
        pat: &Pat,
        init: Value,
        first: Option<Atom>,
        driver: &Driver<'_>,
        body: &Exp,
        env: &Rc<Env>,
    ) -> Res<Value> {
        let init_ty = init.ty();
        let attrs = self.loop_attrs(pat, &init_ty);
        self.f.enter(true);
        self.f.enter_loop(attrs.clone());
        // Sizes that vary: one parameter for each variable, and one for each size that the type
        // does not determine.
        let mut size_inits: Vec<Atom> = Vec::new();
        let mut size_params: Vec<Param<Soacs>> = Vec::new();
        let mut by_var: FxHashMap<VarId, Dim> = FxHashMap::default();
        let mut claims: Vec<Option<VarId>> = Vec::new();
        varying_sizes(&pat.ty, &init_ty, sizes, env, &mut claims);
        let payload = init_ty.payload_sizes();
        let mut claim = claims.into_iter().zip(&payload);
        let param_ty = init_ty.map_sizes(&mut |size| {
            let Some(atom) = size.and_then(Dim::atom) else {
                return size;
            };
            let var = match claim.next() {
                // Payloads have sizes of their own.
                Some((_, true)) => ANONYMOUS,
                Some((Some(var), _)) => var,
                _ => return size,
            };
            let known = (var != ANONYMOUS).then(|| by_var.get(&var).copied()).flatten();
            known.or_else(|| {
                let param = self.f.param("n", Type::I64);
                let dim = Dim::Var(param.name);
                size_params.push(param);
                size_inits.push(atom);
                by_var.insert(var, dim);
                Some(dim)
            })
        });
        let mut leaf_params: Vec<Param<Soacs>> = Vec::new();
        for leaf in param_ty.leaves() {
            leaf_params.push(self.f.param("x", leaf.core()));
        }
        let atoms: Vec<Atom> = leaf_params.iter().map(|param| param.name.into()).collect();
        let mut value = self.value_of(&param_ty, &atoms)?;
        let is_size = |name: Name| size_params.iter().any(|param| param.name == name);
        let mut claims = LTy::Fun;
        if payload.contains(&true) {
            for size in sizes {
                if let Some(dim) = by_var.get(size) {
                    env.bind(*size, Value::size(*dim));
                }
            }
            claims = self.claim(&pat.ty, &param_ty, env, false, true)?;
            value = value.with_claims(&claims);
        }
        let claimed_sizes = claims.sizes();
        let mark = leaf_params.first().map_or(usize::MAX, |param| param.name.index());
        self.bind_pattern(pat, value, env, mark)?;
        let (form, cond_param) = self.drive(driver, env)?;
        let result = self.eval(body, env)?;
        self.same_accumulators(&init, &result)?;
        for size in sizes {
            env.unbind(*size);
        }
        // The values for the next iteration: invariant sizes stay, the others are results.
        let mut at = 0..;
        let fixed = param_ty.map_sizes(&mut |size| {
            let size = match at.next() {
                Some(i) if payload[i] => claimed_sizes.get(i).copied().flatten(),
                _ => size,
            };
            size.filter(|dim| !matches!(dim, Dim::Var(name) if is_size(*name)))
        });
        let result = self.coerce(result, &fixed, Mismatch::Type)?;
        let mut next_sizes: FxHashMap<Name, Atom> = FxHashMap::default();
        let mut is_payload = payload.iter();
        // Two sizes of the result that have the same variable must agree.
        let mut joined = param_ty.zip_sizes(&result.ty(), &mut |param, found| match param {
            _ if is_payload.next() == Some(&true) => None,
            Some(Dim::Var(name)) if is_size(name) => {
                let atom = found.and_then(Dim::atom).unwrap_or(Atom::i64(0));
                size_of(*next_sizes.entry(name).or_insert(atom))
            }
            param => param,
        });
        if payload.contains(&true) {
            let mut at = 0..;
            joined = joined.map_sizes(&mut |size| match at.next() {
                Some(i) if payload[i] => match claimed_sizes.get(i).copied().flatten() {
                    Some(Dim::Var(name)) if is_size(name) => next_sizes.get(&name).copied().and_then(size_of),
                    size => size,
                },
                _ => size,
            });
        }
        let result = self.coerce(result, &joined, Mismatch::Type)?;
        let own = param_ty.sizes().into_iter().zip(result.ty().sizes());
        for ((param, found), _) in own.zip(&payload).filter(|(_, payload)| **payload) {
            if let (Some(Dim::Var(name)), Some(found)) = (param, found.and_then(Dim::atom)) {
                next_sizes.insert(name, found);
            }
        }
        let next_cond = match driver {
            Driver::While(cond) => {
                let mark = self.f.n_names();
                self.bind_pattern(pat, result.clone(), env, mark)?;
                let next = self.eval_scalar(cond, env)?;
                for size in sizes {
                    env.unbind(*size);
                }
                Some(next)
            }
            Driver::For { .. } => None,
        };
        let mut next = result.atoms();
        let shared = result.shared();
        let consumed = self.consumption(&leaf_params, &mut next, &shared);
        // The roots of the body's results, before its names go out of scope.
        let roots: Vec<Vec<Name>> = next.iter().map(|atom| self.array_roots(*atom)).collect();
        let stms = self.f.leave();
        let outer_attrs = self.f.set_attrs(attrs);
        // The core loop.
        let mut inits = init.atoms();
        let mut consumed_roots: Vec<Name> = Vec::new();
        for ((atom, shared), consumed) in inits.iter_mut().zip(init.shared()).zip(&consumed) {
            if let (true, Atom::Var(name)) = (*consumed, *atom) {
                let aliased = self.f.roots(name).iter().any(|root| consumed_roots.contains(root));
                consumed_roots.extend(self.f.roots(name));
                *atom = self.f.owned_or_copied(name, shared || aliased).into();
            }
        }
        let mut params: Vec<LoopParam<Soacs>> = Vec::new();
        let mut results: Vec<Atom> = Vec::new();
        if let (Some(param), Some(init), Some(next)) = (cond_param, first, next_cond) {
            params.push(LoopParam { param, init, consumed: false });
            results.push(next);
        }
        let before = params.len();
        for (param, init) in size_params.iter().zip(&size_inits) {
            results.push(next_sizes.get(&param.name).copied().unwrap_or(*init));
            params.push(LoopParam { param: param.clone(), init: *init, consumed: false });
        }
        let n_sizes = size_params.len();
        for ((param, init), consumed) in leaf_params.iter().zip(&inits).zip(&consumed) {
            params.push(LoopParam { param: param.clone(), init: *init, consumed: *consumed });
        }
        results.extend(next);
        let hints: Vec<Arc<str>> = params.iter().map(|param| self.f.hint(param.param.name)).collect();
        let body = Body { stms, result: results };
        let names = self.f.loop_(&hints, CoreExp::Loop { params, form, body });
        self.f.set_attrs(outer_attrs);
        let (sizes_out, leaves) = names[before..].split_at(n_sizes);
        self.alias_results(leaves, &leaf_params, &inits, &roots, &consumed);
        let mut position = FxHashMap::default();
        for (param, i) in size_params.iter().zip(0u32..) {
            position.insert(param.name, Dim::Ext(i));
        }
        let ty = param_ty.map_sizes(&mut |size| match size {
            Some(Dim::Var(name)) => Some(position.get(&name).copied().unwrap_or(Dim::Var(name))),
            size => size,
        });
        let claimed = claims.map_sizes(&mut |size| match size {
            Some(Dim::Var(name)) => Some(position.get(&name).copied().unwrap_or(Dim::Var(name))),
            size => size,
        });
        let claimed = claimed.map_sizes(&mut |size| of_results(size, sizes_out));
        let value = self.results(&ty, sizes_out, leaves)?.with_claims(&claimed);
        let lent = shared.contains(&true) || init.shared().contains(&true);
        Ok(if lent { value.mark_shared() } else { value })
    }

    /// The core form of the loop and, for `while`, the condition's parameter. Binds the counter or
    /// element for the body.
    fn drive(&mut self, driver: &Driver<'_>, env: &Rc<Env>) -> Res<(ir::LoopForm, Option<Param<Soacs>>)> {
        match driver {
            Driver::For { var, ty, bound, array } => {
                // Unsigned counters are counted as `i64`.
                let signed = ty.is_signed();
                let core = if signed { ty.prim() } else { PrimType::I64 };
                let bound = if signed { *bound } else { self.outer_bound(*bound, *ty) };
                let counter = self.f.fresh("i", Type::Prim(core));
                let mut value: Atom = counter.into();
                if core != ty.prim() {
                    value = self.f.convert(prim::ConvOp::ZExt, core, ty.prim(), value);
                }
                if let Some(var) = var {
                    if let Some(info) = self.program.vars.get(var.index()) {
                        self.f.rename(counter, &info.name);
                    }
                    env.bind(*var, Value::Scalar(value, *ty));
                }
                if let Some((pat, array)) = array {
                    let mark = self.f.n_names();
                    let row = self.row(array, value)?;
                    self.bind_pattern(pat, row, env, mark)?;
                }
                Ok((ir::LoopForm::For { var: counter, ty: core, bound }, None))
            }
            Driver::While(_) => {
                let param = self.f.param("go", Type::BOOL);
                Ok((ir::LoopForm::While { cond: param.name }, Some(param)))
            }
        }
    }

    /// The bound as `i64`, computed in the body around the loop's.
    fn outer_bound(&mut self, bound: Atom, ty: ScalarType) -> Atom {
        let scope = self.f.suspend();
        let bound = self.as_i64(bound, ty);
        self.f.resume(scope);
        bound
    }

    fn array_roots(&self, atom: Atom) -> Vec<Name> {
        match atom {
            Atom::Var(name) if self.f.type_of(name).is_array() => self.f.roots(name).to_vec(),
            _ => Vec::new(),
        }
    }

    /// Determines the consumed parameters: the parameters that the body consumes, and the ones that
    /// the next value of a consumed one may alias. Next values of consumed parameters that the body
    /// does not own are copied.
    fn consumption(&mut self, params: &[Param<Soacs>], next: &mut [Atom], shared: &[bool]) -> Vec<bool> {
        let position: FxHashMap<Name, usize> =
            params.iter().enumerate().map(|(i, param)| (param.name, i)).collect();
        let mut consumed: Vec<bool> =
            params.iter().map(|param| self.f.consumed.contains(&param.name)).collect();
        let mut todo: Vec<usize> = (0..params.len()).filter(|i| consumed[*i]).collect();
        let mut taken: Vec<Name> = Vec::new();
        while let Some(i) = todo.pop() {
            let Some(Atom::Var(name)) = next.get(i).copied() else {
                continue;
            };
            let roots = self.f.roots(name);
            let owned = roots.iter().all(|root| position.contains_key(root)) || self.f.is_owned(name);
            let is_taken = roots.iter().any(|root| taken.contains(root));
            if !owned || is_taken || shared.get(i).copied().unwrap_or(false) {
                next[i] = self.f.basic("copy", BasicOp::Copy(name)).into();
                continue;
            }
            taken.extend(roots.iter().copied());
            for root in roots {
                if let Some(j) = position.get(&root)
                    && !consumed[*j]
                {
                    consumed[*j] = true;
                    todo.push(*j);
                }
            }
        }
        // Values that are not consumed must not alias consumed ones.
        for (i, atom) in next.iter_mut().enumerate() {
            let Atom::Var(name) = *atom else { continue };
            if !consumed[i] && self.f.roots(name).iter().any(|root| taken.contains(root)) {
                *atom = self.f.basic("copy", BasicOp::Copy(name)).into();
            }
        }
        consumed
    }

    /// Records the aliases of the loop's results: a consumed parameter's result is fresh; others
    /// may alias their initial values and outer arrays that the body returns.
    fn alias_results(
        &mut self,
        results: &[Name],
        params: &[Param<Soacs>],
        inits: &[Atom],
        roots: &[Vec<Name>],
        consumed: &[bool],
    ) {
        let position: FxHashMap<Name, usize> =
            params.iter().enumerate().map(|(i, param)| (param.name, i)).collect();
        for (i, result) in results.iter().enumerate() {
            if consumed[i] || !self.f.type_of(*result).is_array() {
                continue;
            }
            let mut of: Vec<Atom> = vec![inits[i]];
            let mut seen = vec![i];
            let mut todo = vec![i];
            while let Some(j) = todo.pop() {
                for root in &roots[j] {
                    match position.get(root) {
                        Some(k) if !seen.contains(k) => {
                            seen.push(*k);
                            todo.push(*k);
                            of.push(inits[*k]);
                        }
                        Some(_) => {}
                        None => of.push(Atom::Var(*root)),
                    }
                }
            }
            self.f.alias_outer(*result, &of);
        }
    }
}

/// The marker of a varying size that has no variable.
const ANONYMOUS: VarId = VarId(u32::MAX);

/// Returns true if a size depends on a variable.
fn mentions(dim: &tast::Dim, var: VarId) -> bool {
    fn in_exp(exp: &Exp, var: VarId) -> bool {
        let mut found = matches!(exp.kind, tast::ExpKind::Var { id, .. } if id == var);
        check::children(exp, &mut |child| found = found || in_exp(child, var));
        found
    }
    match dim {
        tast::Dim::Any | tast::Dim::Const(_) => false,
        tast::Dim::Var(own) => *own == var,
        tast::Dim::Op(_, args) => mentions(&args.0, var) || mentions(&args.1, var),
        tast::Dim::Exp(exp) => in_exp(exp, var),
    }
}

/// Appends, for each size of the type in order, the variable by which it varies; `None` if it does
/// not vary.
fn varying_sizes(ty: &Ty, actual: &LTy, sizes: &[VarId], env: &Env, out: &mut Vec<Option<VarId>>) {
    match (ty, actual) {
        (Ty::Array(array), LTy::Array(found)) => {
            out.push(match &array.dim {
                tast::Dim::Var(var) if sizes.contains(var) => Some(*var),
                tast::Dim::Any => Some(ANONYMOUS),
                // A size computed from a varying one.
                dim if sizes.iter().any(|size| mentions(dim, *size)) => Some(ANONYMOUS),
                _ => None,
            });
            varying_sizes(&array.elem, &found.1, sizes, env, out);
        }
        (Ty::Tuple(parts), LTy::Tuple(found)) => {
            for (ty, found) in parts.iter().zip(found.iter()) {
                varying_sizes(ty, found, sizes, env, out);
            }
        }
        (Ty::Record(fields), LTy::Record(found)) => {
            for ((_, ty), (_, found)) in fields.iter().zip(found.iter()) {
                varying_sizes(ty, found, sizes, env, out);
            }
        }
        (Ty::Sum(constrs), LTy::Sum(found)) => {
            for ((_, tys), (_, found)) in constrs.iter().zip(found.iter()) {
                for (ty, found) in tys.iter().zip(found.iter()) {
                    varying_sizes(ty, found, sizes, env, out);
                }
            }
        }
        // A type variable instantiated with values that vary in size.
        (Ty::Var(var), _) => match env.get_type(*var) {
            Some(known) if known.sizes().len() == actual.sizes().len() => {
                let sizes = known.sizes().into_iter();
                out.extend(sizes.map(|size| size.is_none().then_some(ANONYMOUS)));
            }
            _ => out.extend(actual.sizes().iter().map(|_| None)),
        },
        _ => out.extend(actual.sizes().iter().map(|_| None)),
    }
}
