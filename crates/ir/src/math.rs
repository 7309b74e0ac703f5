//! The definitions of the mathematical functions that a program uses: operations
//! [`ScalarOp::Math`] on `f32` and `f64` stand for them until the pass `expand-math`.
//!
//! A definition is a function of the prelude, as scalar operations and conditionals; it calls
//! nothing, cannot fail, and is the same at all levels.

use crate::name::FunName;
use crate::soac::Soacs;
use crate::syntax::{Atom, BasicOp, Body, Exp, Function, Level, Param, Stm};
use crate::walk::with_stack;
use prim::{MathFun, PrimType, Scalar, ScalarOp, eval};
use smallvec::SmallVec;
use std::sync::Arc;

/// The definition of a mathematical function at a type.
#[derive(Clone, PartialEq, Debug)]
pub struct MathDefinition {
    /// The function.
    pub fun: MathFun,
    /// The type of parameters and result.
    pub ty: PrimType,
    /// The definition; its name is the operation's spelling.
    pub function: Function<Soacs>,
}

impl MathDefinition {
    /// The definition that a function is by its name.
    pub fn from_function(function: Function<Soacs>) -> Option<Self> {
        let (fun, ty) = MathFun::from_spelling(&function.name.0)?;
        Some(Self { fun, ty, function })
    }

    /// The name of the definition of a function.
    pub fn name(fun: MathFun, ty: PrimType) -> FunName {
        FunName(fun.spelling(ty).into())
    }

    /// The value for these arguments; `None` if the definition or an argument has another type.
    pub fn evaluate(&self, args: &[Scalar]) -> Option<Scalar> {
        let mut values = vec![Scalar::Bool(false); self.function.names.len()];
        for (param, arg) in self.function.params.iter().zip(args) {
            *values.get_mut(param.param.name.index())? = *arg;
        }
        match evaluate_body(&self.function.body, &mut values)?.as_slice() {
            [result] => Some(*result),
            _ => None,
        }
    }

    /// The definition's body at a level; `None` if it contains more than operations and
    /// conditionals.
    pub fn body_at<L: Level>(&self) -> Option<Body<L>> {
        body_at(&self.function.body)
    }
}

/// The definitions of a program, in the order of functions and types.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MathDefinitions(Arc<[MathDefinition]>);

impl MathDefinitions {
    /// Returns the definition of a function at a type.
    pub fn get(&self, fun: MathFun, ty: PrimType) -> Option<&MathDefinition> {
        self.0.iter().find(|definition| definition.fun == fun && definition.ty == ty)
    }

    /// All definitions, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &MathDefinition> {
        self.0.iter()
    }

    /// The value of an operation: by its definition, or by [`prim::eval::math`] if the function has
    /// none at the type.
    pub fn evaluate(&self, fun: MathFun, ty: PrimType, args: &[Scalar]) -> Option<Scalar> {
        if fun.has_definition(ty) { self.get(fun, ty)?.evaluate(args) } else { eval::math(fun, args) }
    }
}

impl FromIterator<MathDefinition> for MathDefinitions {
    fn from_iter<I: IntoIterator<Item = MathDefinition>>(definitions: I) -> Self {
        let mut all: Vec<MathDefinition> = definitions.into_iter().collect();
        all.sort_by_key(|definition| (definition.fun, definition.ty));
        Self(all.into())
    }
}

fn evaluate_body(body: &Body<Soacs>, values: &mut [Scalar]) -> Option<SmallVec<[Scalar; 2]>> {
    for stm in &body.stms {
        let results = match &stm.exp {
            Exp::Basic(op) => SmallVec::from_slice(&[evaluate_op(op, values)?]),
            Exp::If { cond, then_body, else_body } => {
                let body = if operand(*cond, values)?.as_bool()? { then_body } else { else_body };
                with_stack(|| evaluate_body(body, values))?
            }
            Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => return None,
        };
        for (param, result) in stm.pat.iter().zip(results) {
            *values.get_mut(param.name.index())? = result;
        }
    }
    body.result.iter().map(|atom| operand(*atom, values)).collect()
}

fn operand(atom: Atom, values: &[Scalar]) -> Option<Scalar> {
    match atom {
        Atom::Var(name) => values.get(name.index()).copied(),
        Atom::Const(value) => Some(value),
    }
}

fn evaluate_op(op: &BasicOp, values: &[Scalar]) -> Option<Scalar> {
    let value = |atom: &Atom| operand(*atom, values);
    match op {
        BasicOp::Atom(x) => value(x),
        BasicOp::Scalar(op) => op.as_ref().try_map(|x| value(x).ok_or(())).ok()?.value(|_, _, _| None),
        crate::parameter_op!()
        | BasicOp::Assert { .. }
        | BasicOp::Index { .. }
        | crate::update_op!()
        | crate::view_op!()
        | crate::fresh_array_op!()
        | BasicOp::Opaque(_) => None,
    }
}

/// Returns true if an operation may occur in a definition.
pub(crate) fn may_define(op: &BasicOp) -> bool {
    op.is_scalar() && !matches!(op, crate::parameter_op!() | BasicOp::Scalar(ScalarOp::Math(..)))
}

fn body_at<L: Level>(body: &Body<Soacs>) -> Option<Body<L>> {
    let stms: Option<Vec<Stm<L>>> = body
        .stms
        .iter()
        .map(|stm| {
            let exp = match &stm.exp {
                Exp::Basic(op) => Exp::Basic(op.clone()),
                Exp::If { cond, then_body, else_body } => {
                    let (then_body, else_body) =
                        with_stack(|| Some((body_at(then_body)?, body_at(else_body)?)))?;
                    Exp::If { cond: *cond, then_body, else_body }
                }
                Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => return None,
            };
            let param = |param: &Param<Soacs>| Param {
                name: param.name,
                ty: param.ty.clone(),
                ann: L::Ann::default(),
            };
            Some(Stm { pat: stm.pat.iter().map(param).collect(), aux: stm.aux.clone(), exp })
        })
        .collect();
    Some(Body { stms: stms?, result: body.result.clone() })
}
