//! Core functions: instances of definitions.
//!
//! An instance is made for each definition and structure of the types it is used at. Its parameters
//! are sizes, then the leaves of the arguments; sizes that the definition's parameters share are
//! one core parameter. Its results are the existential sizes, then the leaves.

use crate::closure::Captured;
use crate::pattern::consumed_leaves;
use crate::payload::unclaimed;
use crate::signature::{ext_size, known_size, of_results, uniqueness};
use crate::size::Mismatch;
use crate::state::FunctionBuilder;
use crate::types::{LTy, size_of};
use crate::value::{Env, FunKind as ValueKind, Inst, Value};
use crate::{Lower, Res};
use check::tast::Def;
use ir::remark::RemarkKind;
use ir::syntax::{Attrs, FunKind, FunParam, FunResult};
use ir::{Atom, BasicOp, Dim, Exp as CoreExp, FunId, FunName, Function, Name, Param, Soacs, Type};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The largest number of core functions being made of one definition at a time.
const MAX_IN_PROGRESS: u32 = 50;

/// A core function made of a definition.
#[derive(Clone)]
pub(crate) struct Instance {
    fun: FunId,
    /// The leading size parameters, with their sources at a call.
    sizes: Vec<(Name, SizeFrom)>,
    /// The types of the arguments without functions; sizes are names in the instance.
    params: Vec<LTy>,
    /// The same with the sizes of payloads that are present.
    payload_claims: Vec<LTy>,
    /// The names in the instance of these arguments' leaves, then of the captures of the other
    /// arguments.
    leaves: Vec<Name>,
    /// For each leaf, true if it is consumed.
    consumed: Vec<bool>,
    /// The type of the result; sizes are constants, names in the instance or earlier results.
    ret: LTy,
    /// The same with the sizes of payloads that are present.
    ret_payload_claims: LTy,
    n_exts: usize,
    /// For each result leaf, the parameter leaves that it may alias.
    aliases: Vec<Vec<usize>>,
}

/// The call that an instance is made for.
struct InstanceRequest<'a> {
    /// The function itself, if it is local.
    local: Option<&'a Value>,
    inst: &'a Inst,
    args: &'a [Value],
    captured: &'a Captured,
    key: &'a str,
}

/// The source, at a call, of a size parameter.
#[derive(Clone, Copy)]
pub(crate) enum SizeFrom {
    /// An argument's shape.
    Args,
    /// A size argument of the call.
    SizeArg(usize),
    /// A size in a type argument of the call.
    TypeArg(usize, usize),
    /// A size or number that functions among the arguments capture.
    Captured(usize),
}

impl Lower<'_> {
    /// A fresh name for a core function.
    pub(crate) fn fun_name(&mut self, base: &str) -> FunName {
        let base: String =
            base.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' }).collect();
        let count = self.fun_names.entry(Arc::from(base.as_str())).or_insert(0);
        *count += 1;
        let name: Arc<str> = Arc::from(format!("{base}_{count}"));
        if self.fun_names.contains_key(&name) {
            return self.fun_name(&base);
        }
        self.fun_names.insert(Arc::clone(&name), 0);
        FunName(name)
    }

    /// A fresh id of a core function.
    pub(crate) fn fun_id(&mut self) -> FunId {
        self.n_functions += 1;
        FunId::new(self.n_functions - 1)
    }

    /// Runs `f` with a new core function; returns its result and the function.
    pub(crate) fn in_function<R>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Res<R>,
    ) -> Res<(R, FunctionBuilder)> {
        let outer = std::mem::replace(&mut self.f, FunctionBuilder::new());
        let loaded = std::mem::take(&mut self.loaded);
        let span = self.span;
        let entered = std::mem::take(&mut self.inline_depth);
        let calls = self.calls.len();
        self.calls.push(span);
        let result = f(self);
        self.calls.truncate(calls);
        self.span = span;
        self.inline_depth = entered;
        self.loaded = loaded;
        let inner = std::mem::replace(&mut self.f, outer);
        Ok((result?, inner))
    }

    /// Calls a core function; `None` if a size that the function needs cannot be determined at the
    /// call.
    pub(crate) fn call_instance(
        &mut self,
        def: &Arc<Def>,
        env: &Rc<Env>,
        inst: &Rc<Inst>,
        args: &[Value],
        captured: Captured,
    ) -> Res<Option<Value>> {
        let mut key = format!("{}", def.var.0);
        for ty in inst.types.iter().map(|(_, ty)| ty.clone()).chain(args.iter().map(Value::ty)) {
            key.push('/');
            ty.structure(&mut key);
        }
        if !captured.shape.is_empty() {
            key.push('/');
            key.push_str(&captured.shape);
        }
        let plain: Vec<&Value> = args.iter().filter(|arg| !arg.has_fun()).collect();
        let instance = if let Some(instance) = self.instances.get(&key) {
            let instance = Rc::clone(instance);
            self.remark(def, RemarkKind::SpecialisationReused);
            instance
        } else {
            let local = self.local(def, env, inst);
            let request =
                InstanceRequest { local: local.as_ref(), inst, args, captured: &captured, key: &key };
            let instance = Rc::new(self.instance(def, &request)?);
            self.instances.insert(key, Rc::clone(&instance));
            instance
        };
        // Sizes of the instance by the arguments' shapes; where one size has two values they are
        // checked to be equal.
        let mut sizes: FxHashMap<Name, Dim> = FxHashMap::default();
        for (name, from) in &instance.sizes {
            if let SizeFrom::Captured(i) = from
                && let Some((dim, _)) = captured.dims.get(*i)
            {
                sizes.insert(*name, *dim);
            }
        }
        let mut leaf_names = instance.leaves.iter();
        for arg in &plain {
            for atom in arg.atoms() {
                if let (Some(name), Some(dim)) = (leaf_names.next(), size_of(atom)) {
                    sizes.insert(*name, dim);
                }
            }
        }
        let mut values = Vec::new();
        for (arg, ty) in plain.into_iter().zip(&instance.params) {
            let mut payload = ty.payload_sizes().into_iter();
            let target = ty.zip_sizes(&arg.ty(), &mut |expected, found| {
                let size = match (expected, found) {
                    (Some(Dim::Var(name)), Some(found)) => Some(*sizes.entry(name).or_insert(found)),
                    (expected, _) => expected,
                };
                size.filter(|_| payload.next() != Some(true))
            });
            let shared = arg.shared();
            values.push((self.coerce(arg.clone(), &target, Mismatch::Type)?, shared));
        }
        let mut operands: Vec<Atom> = Vec::new();
        for (name, from) in &instance.sizes {
            let dim = match sizes.get(name) {
                Some(dim) => Some(*dim),
                None => self.size_of_call(*from, def, env, inst, args)?,
            };
            let Some(dim) = dim else {
                return Ok(None);
            };
            sizes.insert(*name, dim);
            operands.extend(dim.atom());
        }
        let here = |ty: &LTy| {
            ty.map_sizes(&mut |size| match size {
                Some(Dim::Var(name)) => sizes.get(&name).copied(),
                size => size,
            })
        };
        let mut atoms = Vec::new();
        let types = instance.payload_claims.iter().zip(&instance.params);
        for ((value, shared), (claims, ty)) in values.into_iter().zip(types) {
            let value = if claims.has_payload_sizes() {
                // Claims are checked; the parameter has the size of the argument.
                let checked = self.coerce(value, &here(claims), Mismatch::Type)?;
                self.coerce(checked, &here(ty), Mismatch::Type)?
            } else {
                value
            };
            atoms.extend(value.atoms().into_iter().zip(shared));
        }
        atoms.extend(captured.leaves);
        for ((atom, shared), consumed) in atoms.iter().zip(&instance.consumed) {
            operands.push(match atom {
                Atom::Var(name) if *consumed => self.f.owned_or_copied(*name, *shared).into(),
                atom => *atom,
            });
        }
        let ret = here(&instance.ret);
        let claims = here(&instance.ret_payload_claims);
        let mut types = vec![Type::I64; instance.n_exts];
        types.extend(ret.leaves().iter().map(crate::types::Leaf::core));
        let hint = self.program.name(def.var).to_owned();
        let call = CoreExp::Apply { fun: instance.fun, args: operands };
        let certs = captured.certs;
        let names = self.f.certified(certs, |f| f.bind_all(&hint, types, call));
        let (exts, leaves) = names.split_at(instance.n_exts);
        for (leaf, aliases) in leaves.iter().zip(&instance.aliases) {
            let of: Vec<Name> =
                aliases.iter().filter_map(|i| atoms.get(*i).and_then(|(atom, _)| atom.var())).collect();
            self.f.alias(*leaf, of);
        }
        let claims = claims.map_sizes(&mut |size| of_results(size, exts));
        Ok(Some(self.results(&ret, exts, leaves)?.with_claims(&claims)))
    }

    fn instance(&mut self, def: &Arc<Def>, request: &InstanceRequest<'_>) -> Res<Instance> {
        let recursive = self.definition_size(def).recursive;
        let in_progress = self.making.entry(def.var).or_insert(0);
        *in_progress += u32::from(recursive);
        if *in_progress > MAX_IN_PROGRESS {
            return self.unsupported("recursive functions whose function arguments grow from call to call");
        }
        let name = self.fun_name(self.program.name(def.var));
        let takes_functions = request.args.iter().any(Value::has_fun);
        self.remark(def, |of| RemarkKind::Specialised { of, instance: name.0.clone(), takes_functions });
        let fun = self.fun_id();
        let ((instance, result), f) = self.in_function(|s| s.instance_body(fun, def, request))?;
        if let Some(making) = self.making.get_mut(&def.var) {
            *making -= u32::from(recursive);
        }
        self.finish(f, name, &instance, result, self.attributes(&def.attrs));
        Ok(instance)
    }

    fn instance_body(
        &mut self,
        fun: FunId,
        def: &Arc<Def>,
        request: &InstanceRequest<'_>,
    ) -> Res<(Instance, Vec<Atom>)> {
        let InstanceRequest { local, inst, args, captured, key } = *request;
        let mut sizes: Vec<(Name, SizeFrom)> = Vec::new();
        let mut dims: FxHashMap<Dim, Dim> = FxHashMap::default();
        let mut captured_leaves = Vec::new();
        let mut env = Env::inside(&self.root);
        if let Some(local) = local {
            // Types of its parameters may name sizes that it captures.
            self.captured_dims(captured, &mut dims, &mut sizes);
            let rebuilt = self.rebuild(local, &dims, &mut captured_leaves)?;
            if let Value::Fun(fun) = &rebuilt
                && let ValueKind::Def(_, inner, _) = &fun.kind
            {
                env = Env::inside(inner);
            }
        }
        for (i, (var, ty)) in inst.types.iter().enumerate() {
            let mut j = 0;
            let ty = ty.map_sizes(&mut |_| {
                let name = self.f.fresh_size();
                sizes.push((name, SizeFrom::TypeArg(i, j)));
                j += 1;
                Some(Dim::Var(name))
            });
            env.bind_type(*var, ty);
        }
        let mut params = Vec::new();
        let mut leaves = Vec::new();
        let mut consumed = Vec::new();
        let mut payloads = Vec::new();
        let pairs = def.params.iter().zip(args);
        let (with_funs, plain): (Vec<_>, Vec<_>) = pairs.partition(|(_, arg)| arg.has_fun());
        for (pat, arg) in plain {
            let arg = arg.ty();
            let ty = self.abstract_sizes(&pat.ty, &arg, &env, &mut sizes)?;
            for (own, actual) in ty.sizes().into_iter().zip(arg.sizes()) {
                if let (Some(own), Some(actual)) = (own, actual) {
                    dims.entry(actual).or_insert(own);
                }
            }
            let mut atoms: Vec<Atom> = Vec::new();
            for leaf in ty.leaves() {
                atoms.push(self.f.fresh("x", leaf.core()).into());
            }
            let from = consumed.len();
            consumed_leaves(pat, &ty, false, &mut consumed);
            for (atom, consumed) in atoms.iter().zip(&mut consumed[from..]) {
                if let Atom::Var(name) = atom {
                    leaves.push(*name);
                    *consumed &= self.f.type_of(*name).is_array();
                    if !*consumed {
                        self.f.lend(*name);
                    }
                }
            }
            let value = self.value_of(&ty, &atoms)?;
            if ty.has_payload_sizes() {
                // Names that it binds may be sizes of later parameters.
                self.destructure(pat, value.clone(), &env, 0)?;
                payloads.push((params.len(), pat, value));
            } else {
                self.bind_pattern(pat, value, &env, 0)?;
            }
            params.push(ty);
        }
        leaves.append(&mut captured_leaves);
        if !with_funs.is_empty() {
            self.captured_dims(captured, &mut dims, &mut sizes);
        }
        for (pat, arg) in with_funs {
            let value = self.rebuild(arg, &dims, &mut leaves)?;
            self.bind_pattern(pat, value, &env, usize::MAX)?;
        }
        consumed.resize(leaves.len(), false);
        for (i, (var, _)) in inst.sizes.iter().enumerate() {
            if env.get(*var).is_none() {
                let name = self.f.fresh_size();
                sizes.push((name, SizeFrom::SizeArg(i)));
                env.bind(*var, Value::size(Dim::Var(name)));
            }
        }
        let mut claims = params.clone();
        for (i, pat, value) in payloads {
            claims[i] = self.claim(&pat.ty, &value.ty(), &env, false, true)?;
            self.bind_pattern(pat, value.with_claims(&claims[i]), &env, 0)?;
        }
        let is_param = |dim: &Name| sizes.iter().any(|(name, _)| name == dim) || leaves.contains(dim);
        let mut instance = Instance {
            fun,
            sizes: sizes.clone(),
            params,
            payload_claims: claims,
            leaves: leaves.clone(),
            consumed: consumed.clone(),
            ret: LTy::Fun,
            ret_payload_claims: LTy::Fun,
            n_exts: 0,
            aliases: Vec::new(),
        };
        let recursive = self.definition_size(def).recursive;
        if recursive {
            self.declare(&mut instance, def, &env, &is_param)?;
            self.instances.insert(key.to_owned(), Rc::new(instance.clone()));
        }
        let value = self.eval(&def.body, &env)?;
        for var in &def.ret.existential_sizes {
            env.unbind(*var);
        }
        let value = unclaimed(value, &def.ret.ty, &def.ret.existential_sizes);
        let mut value = self.conform(&def.ret.ty, value, &env, false, Mismatch::Type)?;
        if value.has_fun() {
            return self.bug("a function that is not inlined returns a function");
        }
        let mut exts: Vec<Atom> = Vec::new();
        if recursive {
            value = self.coerce(value, &instance.ret_payload_claims, Mismatch::Type)?;
            for (known, actual) in instance.ret.sizes().into_iter().zip(value.ty().sizes()) {
                if matches!(known, Some(Dim::Ext(_))) {
                    exts.extend(actual.and_then(Dim::atom));
                }
            }
        } else {
            instance.ret = value.ty().map_sizes(&mut |size| ext_size(size, &is_param, &mut exts));
            instance.n_exts = exts.len();
            let claims = value.claims();
            instance.ret_payload_claims = claims.map_sizes(&mut |size| known_size(size, &is_param, &exts));
        }
        let unique = uniqueness(&def.ret.unique, &value.ty());
        let mut result = exts;
        let mut aliases = Vec::new();
        for (atom, unique) in value.atoms().into_iter().zip(unique) {
            let (atom, of) = self.returned(atom, unique, &leaves, &consumed);
            result.push(atom);
            aliases.push(of);
        }
        if !recursive {
            instance.aliases = aliases;
        }
        Ok((instance, result))
    }

    /// Parameters for the captured sizes and numbers that no argument has.
    fn captured_dims(
        &mut self,
        captured: &Captured,
        dims: &mut FxHashMap<Dim, Dim>,
        sizes: &mut Vec<(Name, SizeFrom)>,
    ) {
        for (i, (dim, size)) in captured.dims.iter().enumerate() {
            dims.entry(*dim).or_insert_with(|| {
                let name = if *size { self.f.fresh_size() } else { self.f.fresh("n", Type::I64) };
                sizes.push((name, SizeFrom::Captured(i)));
                Dim::Var(name)
            });
        }
    }

    /// The result of a recursive function, from its declared type: calls in its own body need it.
    fn declare(
        &mut self,
        instance: &mut Instance,
        def: &Arc<Def>,
        env: &Rc<Env>,
        is_param: &dyn Fn(&Name) -> bool,
    ) -> Res<()> {
        let ty = self.resolve(&def.ret.ty, env, &def.ret.existential_sizes)?;
        instance.ret_payload_claims = ty.map_sizes(&mut |size| known_size(size, is_param, &[]));
        let mut payload = ty.payload_sizes().into_iter();
        let mut n_exts = 0;
        let ty = instance.ret_payload_claims.map_sizes(&mut |size| {
            size.filter(|_| payload.next() != Some(true)).or_else(|| {
                n_exts += 1;
                Some(Dim::Ext(n_exts - 1))
            })
        });
        let unique = uniqueness(&def.ret.unique, &ty);
        let elems: Vec<Type> = instance.leaves.iter().map(|leaf| self.f.type_of(*leaf).clone()).collect();
        for (leaf, unique) in ty.leaves().iter().zip(unique) {
            let of = elems
                .iter()
                .enumerate()
                .filter(|(i, param)| {
                    param.is_array()
                        && param.elem() == Some(leaf.elem.prim())
                        && !instance.consumed.get(*i).copied().unwrap_or(false)
                })
                .map(|(i, _)| i);
            instance.aliases.push(if unique || leaf.dims.is_empty() { Vec::new() } else { of.collect() });
        }
        instance.ret = ty;
        instance.n_exts = n_exts as usize;
        Ok(())
    }

    /// A result leaf with the parameter leaves that it may alias; a copy if it must not alias any
    /// but does.
    fn returned(
        &mut self,
        atom: Atom,
        unique: bool,
        leaves: &[Name],
        consumed: &[bool],
    ) -> (Atom, Vec<usize>) {
        let Atom::Var(name) = atom else {
            return (atom, Vec::new());
        };
        if !self.f.type_of(name).is_array() {
            return (atom, Vec::new());
        }
        let roots = self.f.roots(name);
        if unique && roots.iter().any(|root| self.f.is_lent(*root)) {
            return (self.f.basic("copy", BasicOp::Copy(name)).into(), Vec::new());
        }
        let of = (0..leaves.len())
            .filter(|i| !consumed.get(*i).copied().unwrap_or(false))
            .filter(|i| roots.contains(&leaves[*i]))
            .collect();
        (atom, of)
    }

    fn finish(
        &mut self,
        f: FunctionBuilder,
        name: FunName,
        instance: &Instance,
        result: Vec<Atom>,
        attrs: Attrs,
    ) {
        let param = |name: Name| Param { name, ty: f.type_of(name).clone(), ann: () };
        let n_sizes = instance.sizes.len();
        let mut params: Vec<FunParam<Soacs>> = instance
            .sizes
            .iter()
            .map(|(name, _)| FunParam { param: param(*name), consumed: false })
            .collect();
        params.extend(
            instance
                .leaves
                .iter()
                .zip(&instance.consumed)
                .map(|(name, consumed)| FunParam { param: param(*name), consumed: *consumed }),
        );
        let fresh = |ty| FunResult { ty, aliases: Vec::new(), ann: () };
        let mut ret: Vec<FunResult<Soacs>> = (0..instance.n_exts).map(|_| fresh(Type::I64)).collect();
        ret.extend(instance.ret.leaves().iter().zip(&instance.aliases).map(|(leaf, aliases)| FunResult {
            ty: leaf.core(),
            aliases: aliases.iter().map(|i| (n_sizes + i) as u32).collect(),
            ann: (),
        }));
        let (body, names, provs) = f.finish(result);
        let function = Function {
            name,
            kind: FunKind::Function,
            version: None,
            attrs,
            params,
            ret,
            body,
            tunables: Vec::new(),
            names,
            provs,
        };
        self.functions.push((instance.fun, function));
    }
}
