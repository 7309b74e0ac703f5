//! Entry points: a core function for each, whose parameters and results are the leaves of the
//! entry point's (`value::interface`).

use crate::attrs::attribute_text;
use crate::signature::uniqueness;
use crate::size::Mismatch;
use crate::types::LTy;
use crate::value::{Env, Value};
use crate::{Lower, Res};
use check::tast::{Entry, EntryType, PatKind, Uniq};
use ir::syntax::{Attrs, ENTRY_SIZES_MESSAGE, ReshapeKind};
use ir::syntax::{EntryPoint, EntryValue, FunKind, FunParam, FunResult, Signature};
use ir::{Atom, BasicOp, Dim, Exp as CoreExp, FunId, FunName, Function, Name, Param, Soacs, Type};
use prim::{CmpOp, Scalar};
use std::sync::Arc;

/// The core parameters of an entry point.
#[derive(Default)]
struct Params {
    /// The parameters in order; true if the call consumes it.
    all: Vec<(Name, bool)>,
    /// Sizes of different core arrays that have to be equal.
    pairs: Vec<(Dim, Dim)>,
}

impl Lower<'_> {
    /// Adds the entry point's function to the finished ones; returns the entry point.
    pub(crate) fn entry(&mut self, entry: &Entry) -> Res<EntryPoint> {
        self.span = entry.span;
        let name = FunName(Arc::clone(&entry.name));
        let fun = self.fun_id();
        let ((entry_point, function_parts), f) = self.in_function(|s| s.entry_body(entry, fun))?;
        let (params, ret, result, attrs) = function_parts;
        let params = params
            .into_iter()
            .map(|(name, consumed)| FunParam {
                param: Param { name, ty: f.type_of(name).clone(), ann: () },
                consumed,
            })
            .collect();
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
        self.functions.push((fun, function));
        Ok(entry_point)
    }

    #[allow(clippy::type_complexity, reason = "the parts of the function, used once")]
    fn entry_body(
        &mut self,
        entry: &Entry,
        fun: FunId,
    ) -> Res<(EntryPoint, (Vec<(Name, bool)>, Vec<FunResult<Soacs>>, Vec<Atom>, Attrs))> {
        let Some(def) = self.defs.get(&entry.var).cloned() else {
            return self.bug("an entry point has no definition");
        };
        let env = Env::inside(&self.root);
        self.f.location = self.locations.location(entry.span);
        let mut params = Params::default();
        let mut values = Vec::new();
        let mut args = Vec::new();
        for param in &entry.params {
            let ty = self.resolve(&param.ty.ty, &env, &def.size_params)?;
            if ty.has_fun() {
                return self.bug("a parameter of an entry point is a function");
            }
            let unique = param.ty.unique == Uniq::All;
            values.push(EntryValue { unique, ..self.entry_value(&param.name, &param.ty, &ty)? });
            let value = self.entry_param(&ty, unique, &mut params)?;
            for atom in value.atoms() {
                if let Atom::Var(core) = atom
                    && !param.name.is_empty()
                {
                    self.f.rename(core, &param.name);
                }
            }
            args.push((value, param));
        }
        // Sizes with the same name must be equal.
        let pairs = std::mem::take(&mut params.pairs);
        // Some sizes are known only from payloads of sums.
        if args.iter().any(|(value, _)| value.has_payload_sizes()) {
            for (value, param) in &args {
                self.target(&param.ty.ty, &value.ty(), &env, false)?;
            }
        }
        let mut conformed = Vec::new();
        for (i, (value, param)) in args.into_iter().enumerate() {
            self.argument = if param.name.is_empty() {
                format!("argument {}", i + 1)
            } else {
                format!("\"{}\"", param.name)
            };
            let value = self.with_equal_sizes(&value, &pairs)?;
            let value = self.conform(&param.ty.ty, value, &env, true, Mismatch::Entry)?;
            // Sizes of later parameters may mention this one.
            if let Some(PatKind::Var(var)) = def.params.get(i).map(|pat| &pat.kind) {
                env.bind(*var, value.clone());
            }
            conformed.push(value);
        }
        let args = conformed;
        let mut checks = self.checks_so_far();
        let value = self.enter_def(&def, args)?;
        if value.has_fun() {
            return self.bug("the result of an entry point is a function");
        }
        let ty = value.ty();
        let mut ret: Vec<FunResult<Soacs>> = Vec::new();
        let mut atoms: Vec<Atom> = Vec::new();
        let unique = uniqueness(&entry.result.unique, &ty);
        for ((leaf, atom), unique) in ty.leaves().iter().zip(value.atoms()).zip(unique) {
            let first = ret.len() as u32;
            for dim in &leaf.dims {
                ret.push(FunResult { ty: Type::I64, aliases: Vec::new(), ann: () });
                atoms.push(dim.and_then(Dim::atom).unwrap_or(Atom::i64(0)));
            }
            let exts = (0..leaf.dims.len() as u32).map(|i| Dim::Ext(first + i));
            let ty = Type::array(leaf.elem.prim(), exts);
            // Arguments are checked even if they are not used.
            let atom = match std::mem::take(&mut checks) {
                checks if checks.is_empty() => atom,
                checks => self.f.under(checks, atom).into(),
            };
            let (atom, aliases) = self.entry_result(atom, unique, &params);
            ret.push(FunResult { ty, aliases, ann: () });
            atoms.push(atom);
        }
        let signature = Signature {
            name: Arc::clone(&entry.name),
            params: values,
            result: self.entry_value("", &entry.result, &ty)?,
            attributes: def.attrs.iter().map(attribute_text).collect(),
            doc: Arc::clone(&entry.doc),
        };
        let entry_point = EntryPoint { fun, signature };
        Ok((entry_point, (params.all, ret, atoms, self.attributes(&def.attrs))))
    }

    /// A parameter or result, of this concrete type, as callers see it.
    fn entry_value(&mut self, name: &str, entry: &EntryType, ty: &LTy) -> Res<EntryValue> {
        Ok(EntryValue {
            name: name.into(),
            type_name: entry.text.clone().unwrap_or_else(|| crate::opaque::shown(ty)),
            ty: match self.opaques.entry_type(ty, entry.external_name.as_deref()) {
                Ok(ty) => ty,
                Err(problem) => return self.unsupported(problem),
            },
            unique: entry.unique.any(),
        })
    }

    /// The certificates of the checks made directly in the innermost body.
    fn checks_so_far(&self) -> Vec<Name> {
        let stms = self.f.stms().iter();
        stms.filter(|stm| matches!(stm.exp, CoreExp::Basic(BasicOp::Assert { .. })))
            .flat_map(|stm| stm.pat.iter().map(|param| param.name))
            .collect()
    }

    /// Inlines the definition's body, without a call on the provenance stack.
    fn enter_def(&mut self, def: &Arc<check::tast::Def>, args: Vec<Value>) -> Res<Value> {
        let location = std::mem::replace(&mut self.f.location, crate::state::NO_LOCATION);
        let mut args = args;
        let rest = args.split_off(def.params.len().min(args.len()));
        let env = Env::inside(&self.root);
        let value = self.in_place(&def.params, &[], &def.ret, &def.body, &env, args)?;
        let value = if rest.is_empty() { value } else { self.apply(&value, rest)? };
        self.f.location = location;
        Ok(value)
    }

    /// A result leaf and the parameters that it may alias; a copy if it is declared unique but may
    /// alias an array that the caller keeps.
    fn entry_result(&mut self, atom: Atom, unique: bool, params: &Params) -> (Atom, Vec<u32>) {
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
        let aliases = params
            .all
            .iter()
            .zip(0u32..)
            .filter(|((param, consumed), _)| !consumed && roots.contains(param))
            .map(|(_, i)| i)
            .collect();
        (atom, aliases)
    }

    /// Core parameters for a type: each leaf that is an array after its sizes.
    fn entry_param(&mut self, ty: &LTy, unique: bool, params: &mut Params) -> Res<Value> {
        let mut atoms = Vec::new();
        let ty = self.entry_leaves(ty, &mut Vec::new(), unique, params, &mut atoms);
        self.value_of(&ty, &atoms)
    }

    /// As [`Lower::entry_param`], for a part of a type; `path` has the sizes of the enclosing
    /// dimensions, as far as a leaf has determined them.
    fn entry_leaves(
        &mut self,
        ty: &LTy,
        path: &mut Vec<Option<Dim>>,
        unique: bool,
        params: &mut Params,
        atoms: &mut Vec<Atom>,
    ) -> LTy {
        match ty {
            LTy::Scalar(scalar) => {
                let mut dims = Vec::with_capacity(path.len());
                for known in path.iter_mut() {
                    let size = self.f.fresh_size();
                    params.all.push((size, false));
                    let size = Dim::Var(size);
                    match known {
                        Some(known) => params.pairs.push((*known, size)),
                        None => *known = Some(size),
                    }
                    dims.push(size);
                }
                let is_array = !dims.is_empty();
                let name = self.f.fresh("x", Type::array(scalar.prim(), dims));
                if is_array && !unique {
                    self.f.lend(name);
                }
                params.all.push((name, is_array && unique));
                atoms.push(name.into());
                ty.clone()
            }
            LTy::Array(array) => {
                path.push(None);
                let elem = self.entry_leaves(&array.1, path, unique, params, atoms);
                let dim = path.pop().flatten();
                LTy::array(Some(dim.unwrap_or(Dim::Const(0))), elem)
            }
            LTy::Tuple(parts) => LTy::Tuple(
                parts.iter().map(|ty| self.entry_leaves(ty, path, unique, params, atoms)).collect(),
            ),
            LTy::Record(fields) => LTy::Record(
                fields
                    .iter()
                    .map(|(l, ty)| (l.clone(), self.entry_leaves(ty, path, unique, params, atoms)))
                    .collect(),
            ),
            LTy::Sum(constrs) => {
                let tag = LTy::Scalar(prim::ScalarType::I8);
                self.entry_leaves(&tag, path, unique, params, atoms);
                LTy::Sum(
                    constrs
                        .iter()
                        .map(|(l, tys)| {
                            let tys = tys.iter().map(|ty| self.entry_leaves(ty, path, unique, params, atoms));
                            (l.clone(), tys.collect())
                        })
                        .collect(),
                )
            }
            LTy::Fun | LTy::Acc(_) => ty.clone(),
        }
    }

    /// The value after checks that the sizes of its core arrays agree.
    fn with_equal_sizes(&mut self, value: &Value, pairs: &[(Dim, Dim)]) -> Res<Value> {
        if pairs.is_empty() {
            return Ok(value.clone());
        }
        let leaves = value.ty().leaves();
        let mut atoms = Vec::new();
        for (leaf, atom) in leaves.iter().zip(value.atoms()) {
            let Atom::Var(name) = atom else {
                atoms.push(atom);
                continue;
            };
            let mut ok = Atom::Const(Scalar::Bool(true));
            let actual: Vec<Dim> = self.f.type_of(name).shape().to_vec();
            let expected: Vec<Dim> = leaf.dims.iter().copied().flatten().collect();
            for (x, y) in actual.iter().zip(&expected) {
                if let (Some(x), Some(y)) = (x.atom(), y.atom()) {
                    let same = self.f.cmp(CmpOp::Eq, x, y);
                    ok = self.f.and(ok, same);
                }
            }
            if actual == expected {
                atoms.push(atom);
                continue;
            }
            let msg = vec![crate::size::text(&format!(
                "{ENTRY_SIZES_MESSAGE}: the component arrays of {} differ in size.",
                self.argument
            ))];
            let cert = self.f.assert(ok, msg);
            let shape = expected.into_iter().collect();
            let op = BasicOp::Reshape { kind: ReshapeKind::Coerce, shape, array: name };
            atoms.push(self.f.certified(cert, |f| f.basic("coerced", op)).into());
        }
        self.value_of(&value.ty(), &atoms)
    }
}
