//! Definitions without parameters: core constants, or inlined values.

use crate::payload::unclaimed;
use crate::signature::{ext_size, has_arrow, known_size, of_results};
use crate::size::Mismatch;
use crate::types::LTy;
use crate::value::{Env, Inst, Value};
use crate::{Lower, Res};
use check::tast::{Def, Ty};
use ir::syntax::{FunKind, FunResult, Stm};
use ir::{Exp as CoreExp, FunId, Function, Soacs, Type};
use std::rc::Rc;
use std::sync::Arc;

/// Scalar constants up to this number of nodes are inlined.
const MAX_INLINE_CONSTANT: usize = 8;

/// A constant: the core function that computes it and the type of its value, in which sizes may be
/// earlier results.
pub(crate) struct Constant {
    fun: FunId,
    ty: LTy,
    /// The type with the sizes of payloads that are present, as far as these are known outside.
    claims: LTy,
    n_exts: usize,
}

impl Lower<'_> {
    /// The value of a definition without parameters.
    pub(crate) fn constant(&mut self, def: &Arc<Def>, inst: &Rc<Inst>) -> Res<Value> {
        if let Some(value) = self.loaded.get(&def.var) {
            return Ok(value.clone());
        }
        let poly = !def.ty_params.is_empty() || !def.size_params.is_empty();
        let scalar = matches!(def.ret.ty, Ty::Scalar(_));
        let trivial = scalar && self.definition_size(def).nodes <= MAX_INLINE_CONSTANT;
        if poly || has_arrow(&def.ret.ty) || (trivial && !self.is_more_than_scalar_ops(def)?) {
            let env = Env::inside(&self.root);
            for (var, ty) in &inst.types {
                env.bind_type(*var, ty.clone());
            }
            return self.in_place(&[], &inst.sizes, &def.ret, &def.body, &env, Vec::new());
        }
        let constant = self.core_constant(def)?;
        let mut types = vec![Type::I64; constant.n_exts];
        types.extend(constant.ty.leaves().iter().map(crate::types::Leaf::core));
        let call = CoreExp::Apply { fun: constant.fun, args: Vec::new() };
        let names = self.f.bind_prologue(self.program.name(def.var), types, call);
        self.lend_all(&names);
        let (exts, leaves) = names.split_at(constant.n_exts);
        let value = self.results(&constant.ty, exts, leaves)?;
        let claims = constant.claims.map_sizes(&mut |size| of_results(size, exts));
        let value = value.with_claims(&claims);
        self.loaded.insert(def.var, value.clone());
        Ok(value)
    }

    fn core_constant(&mut self, def: &Arc<Def>) -> Res<Rc<Constant>> {
        if let Some(constant) = self.constants.get(&def.var) {
            return Ok(Rc::clone(constant));
        }
        let constant = Rc::new(self.make_constant(def)?);
        self.constants.insert(def.var, Rc::clone(&constant));
        Ok(constant)
    }

    /// Returns true if a small definition lowers to more than scalar operations.
    fn is_more_than_scalar_ops(&mut self, def: &Arc<Def>) -> Res<bool> {
        if self.scalar_constants.contains(&def.var) {
            return Ok(false);
        }
        let constant = self.core_constant(def)?;
        let position = self.functions.iter().rposition(|(id, _)| *id == constant.fun);
        let scalar = |stm: &Stm<Soacs>| matches!(stm.exp, CoreExp::Basic(_));
        let plain = position.filter(|at| self.functions[*at].1.body.stms.iter().all(scalar));
        if let Some(at) = plain {
            self.functions.remove(at);
            self.constants.remove(&def.var);
            self.scalar_constants.insert(def.var);
        }
        Ok(plain.is_none())
    }

    fn make_constant(&mut self, def: &Arc<Def>) -> Res<Constant> {
        let ((value, exts, ty, claims), f) = self.in_function(|s| {
            let env = Env::inside(&s.root);
            let value = s.eval(&def.body, &env)?;
            for var in &def.ret.existential_sizes {
                env.unbind(*var);
            }
            let value = unclaimed(value, &def.ret.ty, &def.ret.existential_sizes);
            let value = s.conform(&def.ret.ty, value, &env, false, Mismatch::Type)?;
            let mut exts = Vec::new();
            let ty = value.ty().map_sizes(&mut |size| ext_size(size, &|_| false, &mut exts));
            let claims = value.claims();
            let claims = claims.map_sizes(&mut |size| known_size(size, &|_| false, &exts));
            Ok((value, exts, ty, claims))
        })?;
        let name = self.fun_name(self.program.name(def.var));
        let mut ret: Vec<FunResult<Soacs>> = Vec::new();
        let fresh = |ty| FunResult { ty, aliases: Vec::new(), ann: () };
        ret.extend(exts.iter().map(|_| fresh(Type::I64)));
        ret.extend(ty.leaves().iter().map(|leaf| fresh(leaf.core())));
        let n_exts = exts.len();
        let mut result = exts;
        result.extend(value.atoms());
        let (body, names, provs) = f.finish(result);
        let fun = self.fun_id();
        let function = Function {
            name,
            kind: FunKind::Constant,
            version: None,
            attrs: self.attributes(&def.attrs),
            params: Vec::new(),
            ret,
            body,
            tunables: Vec::new(),
            names,
            provs,
        };
        self.functions.push((fun, function));
        Ok(Constant { fun, ty, claims, n_exts })
    }
}
