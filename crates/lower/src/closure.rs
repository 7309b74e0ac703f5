//! Functions as arguments of recursive functions.
//!
//! A recursive function cannot be inlined, so it becomes a core function for each *shape* of its
//! function arguments: the code of each, and the shapes of the values captured by that code. The
//! captured values are parameters. In the core function the closures are rebuilt from these, so the
//! recursive call, which passes functions of the same shape, finds the core function that is being
//! made.
//!
//! Sizes in captured values, and captured numbers of type `i64`, are parameters of their own, one
//! for each distinct one at the call: which are equal is part of the shape. Functions that grow
//! from call to call have infinitely many shapes; they are refused.

use crate::types::{LTy, size_of};
use crate::value::{Env, FunKind, FunVal, Inst, Value};
use crate::{Lower, Res};
use check::tast::{self, Bind, Def, Exp, ExpKind, LoopForm, Pat, PatKind, RetType, Ty, TyVarId, VarId};
use ir::{Atom, Dim, Name, Type};
use prim::ScalarType;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

/// The components that are visited while a value is rebuilt.
trait Components {
    /// Adds a part of the shape.
    fn text(&mut self, text: &str);
    /// A size or number; `size` is true if it is an array's size.
    fn dim(&mut self, dim: Dim, size: bool) -> Dim;
    /// An operand and its new type; `shared` is true if other values refer to it.
    fn leaf(&mut self, lower: &mut Lower<'_>, atom: Atom, ty: Type, shared: bool) -> Atom;
    /// A certificate that the results of a function depend on.
    fn cert(&mut self, cert: Name);
}

/// The components of a call's arguments that contain functions.
#[derive(Default)]
pub(crate) struct Captured {
    /// The shape.
    pub(crate) shape: String,
    /// The distinct sizes and numbers, in order; true if it is an array's size.
    pub(crate) dims: Vec<(Dim, bool)>,
    /// The other operands; true if other values refer to them.
    pub(crate) leaves: Vec<(Atom, bool)>,
    /// Certificates that the call depends on.
    pub(crate) certs: Vec<Name>,
    numbers: FxHashMap<Dim, usize>,
}

impl Captured {
    /// Numbers the sizes of other arguments first: captured ones may be the same.
    pub(crate) fn sizes_of(&mut self, ty: &LTy) {
        for dim in ty.sizes().into_iter().flatten() {
            Components::dim(self, dim, true);
        }
    }
}

impl Components for Captured {
    fn text(&mut self, text: &str) {
        self.shape.push_str(text);
    }

    fn dim(&mut self, dim: Dim, size: bool) -> Dim {
        let next = self.dims.len();
        let number = *self.numbers.entry(dim).or_insert(next);
        if number == next {
            self.dims.push((dim, size));
        }
        self.dims[number].1 |= size;
        let _ = write!(self.shape, "#{number}");
        dim
    }

    fn leaf(&mut self, _: &mut Lower<'_>, atom: Atom, _: Type, shared: bool) -> Atom {
        self.leaves.push((atom, shared));
        atom
    }

    fn cert(&mut self, cert: Name) {
        self.certs.push(cert);
    }
}

/// Their counterparts in the core function that is being made.
struct Rebuilt<'m> {
    dims: &'m FxHashMap<Dim, Dim>,
    leaves: Vec<Name>,
}

impl Components for Rebuilt<'_> {
    fn text(&mut self, _: &str) {}

    fn dim(&mut self, dim: Dim, _: bool) -> Dim {
        self.dims.get(&dim).copied().unwrap_or(dim)
    }

    fn leaf(&mut self, lower: &mut Lower<'_>, _: Atom, ty: Type, _: bool) -> Atom {
        let name = lower.f.fresh("x", ty);
        lower.f.lend(name);
        self.leaves.push(name);
        name.into()
    }

    fn cert(&mut self, _: Name) {}
}

impl Lower<'_> {
    /// Adds the components of an argument that contains functions.
    pub(crate) fn capture(&mut self, value: &Value, captured: &mut Captured) -> Res<()> {
        self.anew(value, captured)?;
        captured.shape.push('/');
        Ok(())
    }

    /// Rebuilds the argument in the core function that is being made; `dims` maps its sizes and
    /// numbers. Its other operands become fresh names, which are appended to `leaves`.
    pub(crate) fn rebuild(
        &mut self,
        value: &Value,
        dims: &FxHashMap<Dim, Dim>,
        leaves: &mut Vec<Name>,
    ) -> Res<Value> {
        let mut rebuilt = Rebuilt { dims, leaves: Vec::new() };
        let value = self.anew(value, &mut rebuilt)?;
        leaves.append(&mut rebuilt.leaves);
        Ok(value)
    }

    fn anew(&mut self, value: &Value, parts: &mut dyn Components) -> Res<Value> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || match value {
            Value::Scalar(atom, ScalarType::I64) => {
                parts.text("i");
                let dim = size_of(*atom).map(|dim| parts.dim(dim, false));
                let atom = dim.and_then(Dim::atom).unwrap_or(*atom);
                Ok(Value::Scalar(atom, ScalarType::I64))
            }
            Value::Array(_) | Value::Scalar(..) => self.leaves_anew(value, parts),
            Value::Tuple(fields) => Ok(Value::Tuple(self.all_anew(fields.iter(), parts)?.into())),
            Value::Record(fields) => {
                let mut out = Vec::with_capacity(fields.len());
                for (label, field) in fields.iter() {
                    parts.text(label);
                    out.push((label.clone(), self.anew(field, parts)?));
                }
                Ok(Value::Record(out.into()))
            }
            Value::Sum(_, _) if !value.has_fun() => self.leaves_anew(value, parts),
            Value::Sum(fields, ty) => {
                let Some(tag @ Value::Scalar(Atom::Const(number), _)) = fields.first() else {
                    return self.bug("a function in a sum type whose constructor is unknown at compile time");
                };
                parts.text(&format!("<{}", number.as_i64().unwrap_or(0)));
                let mut out = vec![tag.clone()];
                out.extend(self.all_anew(fields.iter().skip(1), parts)?);
                let ty = ty.map_sizes(&mut |size| size.map(|dim| parts.dim(dim, false)));
                Ok(Value::Sum(out.into(), ty))
            }
            Value::Fun(fun) => Ok(Value::Fun(Rc::new(self.function_anew(fun, parts)?))),
            Value::Acc(..) => self.unsupported("accumulators captured by functions"),
        })
    }

    /// Rebuilds a value without functions.
    fn leaves_anew(&mut self, value: &Value, parts: &mut dyn Components) -> Res<Value> {
        let ty = value.ty();
        let mut text = String::new();
        ty.structure(&mut text);
        parts.text(&text);
        let ty = ty.map_sizes(&mut |size| size.map(|dim| parts.dim(dim, true)));
        let mut atoms = Vec::new();
        for ((leaf, atom), shared) in ty.leaves().iter().zip(value.atoms()).zip(value.shared()) {
            atoms.push(parts.leaf(self, atom, leaf.core(), shared));
        }
        self.value_of(&ty, &atoms)
    }

    fn all_anew<'v>(
        &mut self,
        values: impl Iterator<Item = &'v Value>,
        parts: &mut dyn Components,
    ) -> Res<Vec<Value>> {
        parts.text("(");
        let values = values
            .map(|value| {
                let value = self.anew(value, parts);
                parts.text(",");
                value
            })
            .collect();
        parts.text(")");
        values
    }

    fn function_anew(&mut self, fun: &FunVal, parts: &mut dyn Components) -> Res<FunVal> {
        let kind = match &fun.kind {
            FunKind::Checked(inner, cert) => {
                parts.cert(*cert);
                return self.function_anew(inner, parts);
            }
            FunKind::Absent => {
                parts.text("absent");
                FunKind::Absent
            }
            FunKind::Lambda(lambda, env) => {
                parts.text(&format!("\\{:p}", Arc::as_ptr(lambda)));
                let mut used = Used::default();
                used.pats(&lambda.params);
                used.ret(&lambda.ret);
                used.exp(&lambda.body);
                FunKind::Lambda(Arc::clone(lambda), self.env_anew(used, env, parts)?)
            }
            FunKind::Hole(arrow, env) => {
                parts.text(&format!("?{:p}", Arc::as_ptr(arrow)));
                let mut used = Used::default();
                used.ty(&Ty::Arrow(Arc::clone(arrow)));
                FunKind::Hole(Arc::clone(arrow), self.env_anew(used, env, parts)?)
            }
            FunKind::Def(def, env, inst) => {
                parts.text(&format!("d{}", def.var.0));
                let env = if self.defs.contains_key(&def.var) {
                    Rc::clone(env)
                } else {
                    let mut used = Used::default();
                    used.def(def);
                    self.env_anew(used, env, parts)?
                };
                let mut types = Vec::with_capacity(inst.types.len());
                for (var, ty) in &inst.types {
                    types.push((*var, type_anew(ty, parts)));
                }
                let sizes = inst.sizes.iter();
                let sizes = sizes.map(|(var, size)| (*var, size_anew(*size, parts)));
                let sizes = sizes.collect();
                FunKind::Def(Arc::clone(def), env, Rc::new(Inst { types, sizes }))
            }
            FunKind::Intrinsic(fun, types, sizes) => {
                parts.text(&format!("{fun:?}"));
                let types = types.iter().map(|ty| type_anew(ty, parts)).collect();
                let sizes = sizes.iter().map(|size| size_anew(*size, parts)).collect();
                FunKind::Intrinsic(*fun, types, sizes)
            }
        };
        let args = self.all_anew(fun.args.iter(), parts)?;
        Ok(FunVal { kind, args })
    }

    /// An environment with the variables that a function's code uses.
    fn env_anew(&mut self, used: Used, env: &Rc<Env>, parts: &mut dyn Components) -> Res<Rc<Env>> {
        let new = Env::inside(&self.root);
        for var in used.types {
            if let Some(ty) = env.get_type(var) {
                parts.text(&format!("t{}", var.0));
                new.bind_type(var, type_anew(&ty, parts));
            }
        }
        for var in used.vars {
            if let Some(value) = env.get(var) {
                parts.text(&format!("v{}", var.0));
                new.bind(var, self.anew(&value, parts)?);
            }
        }
        Ok(new)
    }
}

fn type_anew(ty: &LTy, parts: &mut dyn Components) -> LTy {
    let mut text = String::new();
    ty.structure(&mut text);
    parts.text(&text);
    ty.map_sizes(&mut |size| size_anew(size, parts))
}

fn size_anew(size: Option<Dim>, parts: &mut dyn Components) -> Option<Dim> {
    match size {
        Some(dim) => Some(parts.dim(dim, false)),
        None => {
            parts.text("_");
            None
        }
    }
}

/// The variables and type variables that code mentions, each once, in order.
#[derive(Default)]
struct Used {
    vars: Vec<VarId>,
    types: Vec<TyVarId>,
    seen: FxHashSet<VarId>,
    seen_types: FxHashSet<TyVarId>,
}

impl Used {
    fn var(&mut self, var: VarId) {
        if self.seen.insert(var) {
            self.vars.push(var);
        }
    }

    fn dim(&mut self, dim: &tast::Dim) {
        match dim {
            tast::Dim::Any | tast::Dim::Const(_) => {}
            tast::Dim::Var(var) => self.var(*var),
            tast::Dim::Op(_, args) => {
                self.dim(&args.0);
                self.dim(&args.1);
            }
            tast::Dim::Exp(exp) => self.exp(exp),
        }
    }

    fn ty(&mut self, ty: &Ty) {
        match ty {
            Ty::Scalar(_) => {}
            Ty::Array(array) => {
                self.dim(&array.dim);
                self.ty(&array.elem);
            }
            Ty::Tuple(parts) => parts.iter().for_each(|ty| self.ty(ty)),
            Ty::Record(fields) => fields.iter().for_each(|(_, ty)| self.ty(ty)),
            Ty::Sum(constrs) => {
                let payloads = constrs.iter().flat_map(|(_, tys)| tys.iter());
                payloads.for_each(|ty| self.ty(ty));
            }
            Ty::Arrow(arrow) => {
                self.ty(&arrow.param);
                self.ret(&arrow.ret);
            }
            Ty::Var(var) => {
                if self.seen_types.insert(*var) {
                    self.types.push(*var);
                }
            }
            Ty::Abstract(_, args) => {
                args.types.iter().for_each(|ty| self.ty(ty));
                args.dims.iter().for_each(|dim| self.dim(dim));
            }
        }
    }

    fn ret(&mut self, ret: &RetType) {
        self.ty(&ret.ty);
    }

    fn pats(&mut self, pats: &[Pat]) {
        pats.iter().for_each(|pat| self.pat(pat));
    }

    fn pat(&mut self, pat: &Pat) {
        self.ty(&pat.ty);
        match &pat.kind {
            PatKind::Var(_) | PatKind::Wildcard | PatKind::Lit(..) => {}
            PatKind::Tuple(parts) | PatKind::Constr(_, parts) => self.pats(parts),
            PatKind::Record(fields) => fields.iter().for_each(|(_, pat)| self.pat(pat)),
            PatKind::Attr(_, inner) => self.pat(inner),
        }
    }

    fn def(&mut self, def: &Def) {
        self.pats(&def.params);
        self.ret(&def.ret);
        self.exp(&def.body);
    }

    fn exp(&mut self, exp: &Exp) {
        let mut todo: Vec<&Exp> = vec![exp];
        while let Some(exp) = todo.pop() {
            self.ty(&exp.ty);
            match &exp.kind {
                ExpKind::Var { id, ty_args, size_args } => {
                    self.var(*id);
                    ty_args.iter().for_each(|(_, ty)| self.ty(ty));
                    size_args.iter().for_each(|(_, dim)| self.dim(dim));
                }
                ExpKind::Intrinsic { fun: _, ty_args, size_args } => {
                    ty_args.iter().for_each(|ty| self.ty(ty));
                    size_args.iter().for_each(|dim| self.dim(dim));
                }
                ExpKind::Lambda(lambda) => {
                    self.pats(&lambda.params);
                    self.ret(&lambda.ret);
                }
                ExpKind::Let { binds, body: _ } => {
                    for bind in binds {
                        match bind {
                            Bind::Pat { pat, .. } => self.pat(pat),
                            Bind::Fun(def) => {
                                self.pats(&def.params);
                                self.ret(&def.ret);
                                todo.push(&def.body);
                            }
                        }
                    }
                }
                ExpKind::Loop { pat, form, .. } => {
                    self.pat(pat);
                    if let LoopForm::ForIn(pat, _) = form {
                        self.pat(pat);
                    }
                }
                ExpKind::Match { scrutinee: _, cases } => cases.iter().for_each(|case| self.pat(&case.pat)),
                _ => {}
            }
            check::children(exp, &mut |child| todo.push(child));
        }
    }
}
