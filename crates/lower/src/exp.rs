//! Expressions: the core of the evaluator. Each form has its method; the larger ones are in modules
//! of their own.

use crate::size::{Mismatch, text};
use crate::types::LTy;
use crate::value::{ArrayVal, Env, FunKind, FunVal, Inst, Value};
use crate::{Lower, Res};
use check::tast::{Bind, Exp, ExpKind, Ty, TyVarId, VarId};
use ir::{Atom, BasicOp};
use prim::{PrimType, Scalar, ScalarType};
use std::rc::Rc;
use std::sync::Arc;

/// The stack is extended if less than this is left.
const RED_ZONE: usize = 256 * 1024;
/// The size of a stack extension.
const STACK_STEP: usize = 8 * 1024 * 1024;
/// The largest number of core names in one function; more means that inlining is out of control.
const MAX_NAMES: usize = 20_000_000;

impl Lower<'_> {
    /// The value of an expression.
    pub(crate) fn eval(&mut self, exp: &Exp, env: &Rc<Env>) -> Res<Value> {
        stacker::maybe_grow(RED_ZONE, STACK_STEP, || {
            let (span, location) = (self.span, self.f.location);
            self.span = exp.span;
            self.f.location = self.locations.location(exp.span);
            if self.f.n_names() > MAX_NAMES {
                return self.unsupported("functions of this size after specialisation");
            }
            let value = self.eval_kind(exp, env)?;
            let value = self.bind_ext(&exp.existential_sizes, &exp.ty, value, env)?;
            self.span = span;
            self.f.location = location;
            Ok(value)
        })
    }

    fn eval_kind(&mut self, exp: &Exp, env: &Rc<Env>) -> Res<Value> {
        match &exp.kind {
            ExpKind::Lit(value, ty) => Ok(Value::Scalar(Atom::Const(*value), *ty)),
            ExpKind::String(bytes) => self.string(bytes),
            ExpKind::Var { id, ty_args, size_args } => {
                let inst = self.instantiate(ty_args, size_args, env)?;
                self.variable(*id, inst, env)
            }
            ExpKind::Intrinsic { fun, ty_args, size_args } => {
                let types = ty_args.iter().map(|ty| self.resolve(ty, env, &[])).collect::<Res<_>>()?;
                let sizes =
                    size_args.iter().map(|dim| self.resolve_dim(dim, env, &[])).collect::<Res<_>>()?;
                let kind = FunKind::Intrinsic(*fun, types, sizes);
                Ok(Value::Fun(Rc::new(FunVal { kind, args: Vec::new() })))
            }
            ExpKind::Operator(_) => self.bug("an operator has no type"),
            ExpKind::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.eval(part, env)).collect::<Res<_>>()?;
                Ok(Value::Tuple(parts))
            }
            ExpKind::Record(fields) => self.record(fields, &exp.ty, env),
            ExpKind::Project(record, label) => match self.eval(record, env)?.field(label) {
                Some(value) => Ok(value),
                None => self.bug("a projection of a field that the value does not have"),
            },
            ExpKind::RecordUpdate { record, path, value } => {
                let record = self.eval(record, env)?;
                let value = self.eval(value, env)?;
                self.with_field(&record, path, value)
            }
            ExpKind::Array(elems) => self.array_literal(elems, &exp.ty, env),
            ExpKind::Range { start, second, end, kind } => {
                let start = self.eval(start, env)?;
                let second = match second {
                    Some(second) => Some(self.eval(second, env)?),
                    None => None,
                };
                let end = self.eval(end, env)?;
                self.range(&start, second.as_ref(), &end, *kind)
            }
            ExpKind::Index { array, indices } => self.index(array, indices, env),
            ExpKind::Update { array, indices, value } => self.update(array, indices, value, env),
            ExpKind::Apply { fun, args, infix } => self.application(fun, args, *infix, env),
            ExpKind::Lambda(lambda) => {
                let kind = FunKind::Lambda(Arc::clone(lambda), Rc::clone(env));
                Ok(Value::Fun(Rc::new(FunVal { kind, args: Vec::new() })))
            }
            ExpKind::Let { binds, body } => {
                for bind in binds {
                    self.bind(bind, env)?;
                }
                self.eval(body, env)
            }
            ExpKind::If { cond, then, otherwise } => {
                let cond = self.eval_scalar(cond, env)?;
                self.branches(cond, exp, env, |s| s.eval(then, env), |s| s.eval(otherwise, env))
            }
            ExpKind::Loop { sizes, pat, init, form, body } => {
                self.loop_exp(sizes, pat, init, form, body, env)
            }
            ExpKind::Match { scrutinee, cases } => {
                let value = self.eval(scrutinee, env)?;
                self.cases(&value, cases, exp, env)
            }
            ExpKind::Constr(label, args) => {
                let args = args.iter().map(|arg| self.eval(arg, env)).collect::<Res<Vec<_>>>()?;
                // Existential sizes that only the payload determines.
                for var in &exp.existential_sizes {
                    env.unbind(*var);
                }
                if let Ty::Sum(constrs) = &exp.ty
                    && let Some((_, tys)) = constrs.iter().find(|(l, _)| l == label)
                {
                    for (ty, arg) in tys.iter().zip(&args) {
                        self.bind_sizes(ty, arg, env)?;
                    }
                }
                let ty = self.resolve(&exp.ty, env, &[])?;
                self.construct(label, args, &ty)
            }
            ExpKind::And(x, y) => self.short_circuit(true, x, y, env),
            ExpKind::Or(x, y) => self.short_circuit(false, x, y, env),
            ExpKind::Coerce(inner) => {
                let value = self.eval(inner, env)?;
                // Existential sizes of the coercion are taken from the value.
                for var in &exp.existential_sizes {
                    env.unbind(*var);
                }
                self.conform(&exp.ty, value, env, true, Mismatch::Type)
            }
            ExpKind::Assert { cond, source_text: shown, exp } => {
                let cond = self.eval_scalar(cond, env)?;
                let msg = vec![text(&format!("Assertion is false: {shown}"))];
                let cert = self.f.assert(cond, msg);
                let value = self.eval(exp, env)?;
                self.under(cert, &value)
            }
            ExpKind::Attr(attrs, inner) => self.attributed(attrs, inner, env),
            ExpKind::Hole => {
                let no = Atom::Const(Scalar::Bool(false));
                let ty = self.program.show(&exp.ty);
                let msg = vec![text(&format!("Reached hole of type: {ty}"))];
                let cert = self.f.basic("cert", BasicOp::Assert { cond: no, msg });
                let value = self.hole(&exp.ty, env, &exp.existential_sizes)?;
                self.under(Some(cert), &value)
            }
        }
    }

    /// The operand of a scalar expression.
    pub(crate) fn eval_scalar(&mut self, exp: &Exp, env: &Rc<Env>) -> Res<Atom> {
        match self.eval(exp, env)? {
            Value::Scalar(atom, _) => Ok(atom),
            _ => self.bug("expected a scalar"),
        }
    }

    pub(crate) fn bind(&mut self, bind: &Bind, env: &Rc<Env>) -> Res<()> {
        match bind {
            Bind::Pat { sizes, pat, rhs } => {
                let mark = self.f.n_names();
                let mut value = self.eval(rhs, env)?;
                for size in sizes {
                    env.unbind(*size);
                }
                // A size that the payload does not determine may be in the type.
                if !sizes.is_empty() && value.has_payload_sizes() {
                    let claimed = self.claim(&rhs.ty, &value.ty(), env, true, true)?;
                    value = self.coerce(value, &claimed, Mismatch::Type)?;
                }
                self.bind_pattern(pat, value, env, mark)
            }
            Bind::Fun(def) => {
                let value = if def.params.is_empty() {
                    // A constant or an alias of a function, perhaps polymorphic.
                    self.eval(&def.body, env)?
                } else {
                    let kind = FunKind::Def(Arc::clone(def), Rc::clone(env), Rc::default());
                    Value::Fun(Rc::new(FunVal { kind, args: Vec::new() }))
                };
                env.bind(def.var, value);
                Ok(())
            }
        }
    }

    fn instantiate(
        &mut self,
        ty_args: &[(TyVarId, Ty)],
        size_args: &[(VarId, check::tast::Dim)],
        env: &Rc<Env>,
    ) -> Res<Rc<Inst>> {
        let types =
            ty_args.iter().map(|(var, ty)| Ok((*var, self.resolve(ty, env, &[])?))).collect::<Res<_>>()?;
        let sizes = size_args
            .iter()
            .map(|(var, dim)| Ok((*var, self.resolve_dim(dim, env, &[])?)))
            .collect::<Res<_>>()?;
        Ok(Rc::new(Inst { types, sizes }))
    }

    fn variable(&mut self, var: VarId, inst: Rc<Inst>, env: &Rc<Env>) -> Res<Value> {
        if let Some(value) = env.get(var) {
            let poly = !inst.types.is_empty() || !inst.sizes.is_empty();
            if poly
                && let Value::Fun(fun) = &value
                && let FunKind::Def(def, scope, _) = &fun.kind
                && fun.args.is_empty()
            {
                let kind = FunKind::Def(Arc::clone(def), Rc::clone(scope), inst);
                return Ok(Value::Fun(Rc::new(FunVal { kind, args: Vec::new() })));
            }
            return Ok(value);
        }
        let Some(def) = self.defs.get(&var).cloned() else {
            return self.bug(format!("`{}` has no value", self.program.name(var)));
        };
        if def.params.is_empty() {
            return self.constant(&def, &inst);
        }
        let kind = FunKind::Def(def, Rc::clone(&self.root), inst);
        Ok(Value::Fun(Rc::new(FunVal { kind, args: Vec::new() })))
    }

    fn record(&mut self, fields: &[(Arc<str>, Exp)], ty: &Ty, env: &Rc<Env>) -> Res<Value> {
        let values = fields
            .iter()
            .map(|(label, exp)| Ok((label.clone(), self.eval(exp, env)?)))
            .collect::<Res<Vec<_>>>()?;
        let find =
            |label: &str| values.iter().rev().find(|(l, _)| &**l == label).map(|(_, value)| value.clone());
        let record = match ty {
            Ty::Record(tys) => tys
                .iter()
                .map(|(label, _)| Some((label.clone(), find(label)?)))
                .collect::<Option<_>>()
                .map(Value::Record),
            Ty::Tuple(tys) => {
                (0..tys.len()).map(|i| find(&i.to_string())).collect::<Option<_>>().map(Value::Tuple)
            }
            _ => None,
        };
        match record {
            Some(record) => Ok(record),
            None => self.bug("a record does not match its type"),
        }
    }

    fn with_field(&mut self, record: &Value, path: &[Arc<str>], new: Value) -> Res<Value> {
        let Some((label, path)) = path.split_first() else {
            return Ok(new);
        };
        let Some(old) = record.field(label) else {
            return self.bug("an update of a field that the record does not have");
        };
        let new = self.with_field(&old, path, new)?;
        Ok(match record {
            Value::Record(fields) => Value::Record(
                fields
                    .iter()
                    .map(|(l, v)| (l.clone(), if l == label { new.clone() } else { v.clone() }))
                    .collect(),
            ),
            Value::Tuple(parts) => {
                let at = label.parse::<usize>().unwrap_or(usize::MAX);
                let part = |(i, v): (usize, &Value)| if i == at { new.clone() } else { v.clone() };
                Value::Tuple(parts.iter().enumerate().map(part).collect())
            }
            other => other.clone(),
        })
    }

    fn string(&mut self, bytes: &Arc<[u8]>) -> Res<Value> {
        let shape = std::iter::once(bytes.len() as i64).collect();
        let op = BasicOp::ConstArray { elem: PrimType::I8, shape, bytes: Arc::clone(bytes) };
        let name = self.f.basic("string", op);
        let ty = LTy::array(Some(ir::Dim::Const(bytes.len() as i64)), LTy::Scalar(ScalarType::U8));
        self.value_of(&ty, &[name.into()])
    }

    /// The value of a type whose leaves are these operands.
    pub(crate) fn value_of(&mut self, ty: &LTy, atoms: &[Atom]) -> Res<Value> {
        match Value::from_atoms(ty, &mut atoms.iter().copied()) {
            Some(value) => Ok(value),
            None => self.bug("the leaves of a value do not match its type"),
        }
    }

    /// The value, made dependent on the certificate.
    pub(crate) fn under(&mut self, cert: Option<ir::Name>, value: &Value) -> Res<Value> {
        let Some(name) = cert else {
            return Ok(value.clone());
        };
        Ok(match value {
            Value::Fun(fun) => {
                Value::Fun(Rc::new(FunVal { kind: FunKind::Checked(Rc::clone(fun), name), args: Vec::new() }))
            }
            Value::Scalar(atom, ty) => Value::Scalar(self.f.under(cert, *atom).into(), *ty),
            Value::Acc(acc, ty) => Value::Acc(self.f.under(cert, (*acc).into()), Rc::clone(ty)),
            Value::Array(array) => {
                let leaves = array.leaves.iter();
                Value::Array(ArrayVal {
                    leaves: leaves.map(|leaf| self.f.under(cert, (*leaf).into())).collect(),
                    ..array.clone()
                })
            }
            Value::Tuple(parts) => Value::Tuple(self.all_under(cert, parts)?),
            Value::Sum(parts, ty) => {
                let mut out = self.all_under(cert, parts)?.to_vec();
                // The constructor has to stay static, as it selects a function.
                if let (true, Some(tag @ Value::Scalar(Atom::Const(_), _))) = (value.has_fun(), parts.first())
                {
                    out[0] = tag.clone();
                }
                Value::Sum(out.into(), ty.clone())
            }
            Value::Record(fields) => Value::Record(
                fields
                    .iter()
                    .map(|(label, part)| Ok((label.clone(), self.under(cert, part)?)))
                    .collect::<Res<_>>()?,
            ),
        })
    }

    fn all_under(&mut self, cert: Option<ir::Name>, parts: &[Value]) -> Res<Rc<[Value]>> {
        parts.iter().map(|part| self.under(cert, part)).collect()
    }
}
