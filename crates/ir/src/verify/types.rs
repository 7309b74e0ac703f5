//! Invariants 4 to 10, and 17: types of functions, bodies, statements and expressions.

use super::{AnnotationRules, Rules, VerifyError, VerifyLevel};
use crate::math::MathDefinitions;
use crate::mem::Block;
use crate::name::Name;
use crate::syntax::{Atom, Body, Exp, FunKind, Function, Lambda, Level, LoopForm, LoopParam, Param, Stm};
use crate::text;
use crate::tunable::TunableId;
use crate::types::{Dim, Type};
use crate::typing::{TypeEnv, exp_types, instantiate, map_dims, positions};
use crate::walk::with_stack;
use prim::{MathFun, PrimType};
use rustc_hash::FxHashSet;
use target::levels::{LevelId, Stack};

/// The checker of one function whose scopes are valid.
pub struct Checker<'a, L: Level> {
    function: &'a Function<L>,
    functions: &'a [Function<L>],
    math: &'a MathDefinitions,
    types: TypeEnv,
    at: Option<Name>,
    /// Level of the innermost enclosing segop.
    pub(super) seg_level: Option<LevelId>,
    /// Levels of parallelism of the target machine.
    pub(super) stack: Stack,
    errors: &'a mut Vec<VerifyError>,
}

pub(super) fn check<'a, L: VerifyLevel>(
    function: &'a Function<L>,
    functions: &'a [Function<L>],
    math: &'a MathDefinitions,
    stack: Stack,
    errors: &'a mut Vec<VerifyError>,
) {
    let types = TypeEnv::of_function(function);
    let mut c = Checker { function, functions, math, types, at: None, seg_level: None, stack, errors };
    if function.kind == FunKind::Constant && !function.params.is_empty() {
        c.fail("a constant has parameters");
    }
    let mut tunables = FxHashSet::default();
    for tunable in &function.tunables {
        if !tunables.insert((tunable.rule, tunable.ordinal)) {
            c.fail(format!("two tuning parameters are named {tunable}"));
        }
    }
    for param in &function.params {
        c.param(&param.param);
    }
    let ret_types: Vec<&Type> = function.ret.iter().map(|ret| &ret.ty).collect();
    for (i, ret) in function.ret.iter().enumerate() {
        c.ty(&ret.ty, Some(&ret_types[..i]));
        if let Some(bad) = ret.aliases.iter().find(|a| **a as usize >= function.params.len()) {
            c.fail(format!("result {i} aliases parameter {bad}, which does not exist"));
        }
        let mem_type = |block| match block {
            Block::Ext(i) => ret_types.get(i as usize).map(|ty| (*ty).clone()),
            Block::Var(name) => c.types.get(name).cloned(),
        };
        if let Err(message) = ret.ann.verify(&ret.ty, &mem_type) {
            c.fail(message);
        }
    }
    c.body(&function.body);
    let result = &function.body.result;
    if result.len() != function.ret.len() {
        c.fail(format!("{} results, but {} are declared", result.len(), function.ret.len()));
        return;
    }
    for (i, (atom, ret)) in result.iter().zip(&function.ret).enumerate() {
        let want = instantiate(&ret.ty, &|i| Dim::from_atom(*result.get(i as usize)?));
        let got = c.atom_type(*atom);
        c.equal(&got, &want, || format!("result {i}"));
    }
}

impl<L: VerifyLevel> Checker<'_, L> {
    /// Records an error at the current statement.
    pub fn fail(&mut self, message: impl Into<String>) {
        let function = self.function.name.clone();
        self.errors.push(VerifyError { function, name: self.at, message: message.into() });
    }

    /// Records an error unless the condition holds; returns the condition.
    pub fn require(&mut self, condition: bool, message: impl FnOnce() -> String) -> bool {
        if !condition {
            self.fail(message());
        }
        condition
    }

    /// Requires that the program defines a mathematical function where operations stand for
    /// definitions.
    pub(super) fn has_math_definition(&mut self, fun: MathFun, ty: PrimType) {
        let known = !fun.has_definition(ty) || self.math.get(fun, ty).is_some();
        self.require(known, || format!("the program has no definition of {}", fun.spelling(ty)));
    }

    /// Requires that the function has this tuning parameter.
    pub(super) fn has_tunable(&mut self, id: TunableId) {
        let known = id.index() < self.function.tunables.len();
        self.require(known, || format!("the function has no tuning parameter {}", id.0));
    }

    /// The type as text.
    pub fn show(&self, ty: &Type) -> String {
        text::show_type(&self.function.names, ty)
    }

    /// The name as text.
    pub fn show_name(&self, name: Name) -> String {
        text::show_name(&self.function.names, name)
    }

    /// The type of a name.
    pub fn type_of(&self, name: Name) -> Type {
        self.types.type_of(name).clone()
    }

    /// The type of an operand.
    pub fn atom_type(&self, atom: Atom) -> Type {
        self.types.type_of_atom(atom)
    }

    /// Requires two types to be equal.
    pub fn equal(&mut self, got: &Type, want: &Type, what: impl FnOnce() -> String) -> bool {
        if got == want {
            return true;
        }
        let (got, want) = (self.show(got), self.show(want));
        self.fail(format!("{} has type {got}, but {want} is required", what()));
        false
    }

    /// Requires an operand to have a type; `what` names it in the message.
    pub fn atom(&mut self, atom: Atom, want: &Type, what: &str) -> bool {
        let got = self.atom_type(atom);
        self.equal(&got, want, || what.to_owned())
    }

    /// Requires operands to have these types.
    pub fn atoms(&mut self, atoms: &[Atom], want: &[Type], what: &str) -> bool {
        if atoms.len() != want.len() {
            self.fail(format!("{what}: {}, but {} are required", atoms.len(), want.len()));
            return false;
        }
        let mut ok = true;
        for (atom, want) in atoms.iter().zip(want) {
            ok &= self.atom(*atom, want, what);
        }
        ok
    }

    /// Checks a dimension outside of function results.
    pub fn dim(&mut self, dim: Dim) {
        match dim {
            Dim::Const(n) => {
                self.require(n >= 0, || format!("the size {n} is negative"));
            }
            Dim::Var(name) => {
                let ty = self.type_of(name);
                self.equal(&ty, &Type::I64, || "a size".to_owned());
            }
            Dim::Ext(i) => self.fail(format!("?{i} is not in a function's results")),
        }
    }

    /// Checks a type; `earlier` are the types that [`Dim::Ext`] may refer to.
    pub fn ty(&mut self, ty: &Type, earlier: Option<&[&Type]>) {
        match ty {
            Type::Prim(_) | Type::Cert | Type::Mem(_) => {}
            Type::Array { elem: _, shape } => {
                self.require(!shape.is_empty(), || "an array type has no dimensions".to_owned());
                for dim in shape {
                    match (dim, earlier) {
                        (Dim::Ext(i), Some(earlier)) => {
                            let found = earlier.get(*i as usize);
                            self.require(found.is_some_and(|ty| **ty == Type::I64), || {
                                format!("?{i} is not an earlier result of type i64")
                            });
                        }
                        _ => self.dim(*dim),
                    }
                }
            }
            Type::Acc { token, shape, elems } => {
                let token = self.type_of(*token);
                self.equal(&token, &Type::Cert, || "the token of an accumulator".to_owned());
                for dim in shape {
                    self.dim(*dim);
                }
                for elem in elems {
                    self.ty(elem, None);
                }
            }
        }
    }

    /// Checks the type and annotation of a parameter or element of a pattern.
    pub fn param(&mut self, param: &Param<L>) {
        let before = self.at;
        self.at = self.at.or(Some(param.name));
        self.ty(&param.ty, None);
        let types = &self.types;
        let mem_type = |block| match block {
            Block::Var(name) => types.get(name).cloned(),
            Block::Ext(_) => None,
        };
        if let Err(message) = param.ann.verify(&param.ty, &mem_type) {
            let name = self.show_name(param.name);
            self.fail(format!("{name}: {message}"));
        }
        self.at = before;
    }

    /// Checks a body without its results.
    pub fn body(&mut self, body: &Body<L>) {
        with_stack(|| {
            for stm in &body.stms {
                self.stm(stm);
            }
        });
    }

    /// Checks a body, whose results must have these types.
    pub fn body_with(&mut self, body: &Body<L>, want: &[Type], what: &str) {
        self.body(body);
        self.atoms(&body.result, want, what);
    }

    /// Checks a lambda that is applied to values of these types.
    pub fn lambda(&mut self, lambda: &Lambda<L>, args: &[Type], what: &str) {
        let Lambda { params, body, ret } = lambda;
        self.lambda_params(params, args, what);
        for ty in ret {
            self.ty(ty, None);
        }
        self.body_with(body, ret, &format!("the results of {what}"));
    }

    /// Checks parameters that are bound to values of these types, in which [`Dim::Ext`] refers to
    /// earlier parameters.
    pub fn lambda_params(&mut self, params: &[Param<L>], args: &[Type], what: &str) {
        if params.len() != args.len() {
            let n = args.len();
            self.fail(format!("{what} has {} parameters, but {n} are required", params.len()));
        }
        for (param, arg) in params.iter().zip(args) {
            self.param(param);
            let arg = instantiate(arg, &|i| params.get(i as usize).map(|p| Dim::Var(p.name)));
            self.equal(&param.ty, &arg, || format!("a parameter of {what}"));
        }
    }

    fn stm(&mut self, stm: &Stm<L>) {
        let Stm { pat, aux, exp } = stm;
        let before = self.at;
        self.at = pat.first().map(|param| param.name).or(before);
        for cert in &aux.certs {
            self.atom(Atom::Var(*cert), &Type::Cert, "a certificate");
        }
        for param in pat {
            self.param(param);
        }
        self.facts(&aux.facts, exp, pat);
        let errors = self.errors.len();
        self.exp(exp, pat);
        // The result types are defined only if the operands are valid.
        let types = if self.errors.len() == errors {
            exp_types(exp, &|name| self.types.type_of(name).clone())
        } else {
            None
        };
        if let Some(types) = types {
            self.pattern(pat, &types);
        }
        self.at = before;
    }

    /// Requires a pattern to have these types, in which [`Dim::Ext`] refers to its elements.
    fn pattern(&mut self, pat: &[Param<L>], types: &[Type]) {
        if pat.len() != types.len() {
            self.fail(format!("{} names, but {} results", pat.len(), types.len()));
            return;
        }
        for (param, ty) in pat.iter().zip(types) {
            let want = instantiate(ty, &|i| pat.get(i as usize).map(|p| Dim::Var(p.name)));
            self.equal(&param.ty, &want, || "the bound name".to_owned());
        }
    }

    /// Requires values to have the types of the parameters that bind them, with the values
    /// substituted for the parameters' names.
    fn telescope<'p>(
        &mut self,
        params: impl Iterator<Item = &'p Param<L>> + Clone,
        values: &[Atom],
        what: &str,
    ) where
        L: 'p,
    {
        let count = params.clone().count();
        if values.len() != count {
            self.fail(format!("{what}: {} values, but {count} are required", values.len()));
            return;
        }
        let index = positions(params.clone().map(|p| p.name));
        for (param, value) in params.zip(values) {
            let want = map_dims(&param.ty, &|name| {
                let value = index.get(&name).and_then(|i| values.get(*i as usize));
                value.and_then(|value| Dim::from_atom(*value)).unwrap_or(Dim::Var(name))
            });
            self.atom(*value, &want, what);
        }
    }

    fn exp(&mut self, exp: &Exp<L>, pat: &[Param<L>]) {
        match exp {
            Exp::Basic(op) => self.basic(op),
            Exp::If { cond, then_body, else_body } => {
                self.atom(*cond, &Type::BOOL, "the condition");
                for (body, what) in [(then_body, "the first branch"), (else_body, "the second branch")] {
                    self.body(body);
                    self.telescope(pat.iter(), &body.result, what);
                }
            }
            Exp::Loop { params, form, body } => {
                let ps = || params.iter().map(|p| &p.param);
                for LoopParam { param, init: _, consumed: _ } in params {
                    self.param(param);
                }
                let inits: Vec<Atom> = params.iter().map(|p| p.init).collect();
                self.telescope(ps(), &inits, "an initial value");
                match form {
                    LoopForm::For { var: _, ty, bound } => {
                        self.require(ty.is_int(), || "the counter is not an integer".to_owned());
                        self.atom(*bound, &Type::Prim(*ty), "the bound");
                    }
                    LoopForm::While { cond } => {
                        let own = params.iter().any(|p| p.param.name == *cond);
                        self.require(own, || "the condition is not a loop parameter".to_owned());
                        self.atom(Atom::Var(*cond), &Type::BOOL, "the condition");
                    }
                }
                self.body(body);
                self.telescope(ps(), &body.result, "a next value");
            }
            Exp::Apply { fun, args } => {
                let Some(callee) = self.functions.get(fun.index()) else {
                    self.fail(format!("function {} does not exist", fun.0));
                    return;
                };
                self.call(callee, args, pat);
            }
            Exp::Op(op) => Rules::verify(op, self),
        }
    }

    fn call(&mut self, callee: &Function<L>, args: &[Atom], pat: &[Param<L>]) {
        if args.len() != callee.params.len() {
            let want = callee.params.len();
            self.fail(format!("{} arguments, but {want} are required", args.len()));
            return;
        }
        // The callee's parameters are replaced by the arguments.
        let index = positions(callee.params.iter().map(|p| p.param.name));
        let by_args = |ty: &Type| {
            map_dims(ty, &|name| {
                let arg = index.get(&name).and_then(|i| Dim::from_atom(args[*i as usize]));
                arg.unwrap_or(Dim::Ext(u32::MAX))
            })
        };
        for (param, arg) in callee.params.iter().zip(args) {
            self.atom(*arg, &by_args(&param.param.ty), "an argument");
        }
        let types: Vec<Type> = callee.ret.iter().map(|ret| by_args(&ret.ty)).collect();
        self.pattern(pat, &types);
    }
}
