//! Derivatives, and functions with a reverse derivative of their own.
//!
//! The differentiated function becomes a lambda whose parameters are the leaves of its argument.
//! The argument, the result and their derivatives have sizes that are known around the lambda, as
//! elements of arrays have: payloads of sums have the sizes of the type, blank where they are
//! absent. The derivative of a sum has the constructor of the value: the number of its own
//! constructor has no meaning.

use crate::size::Mismatch;
use crate::types::{LTy, Leaf};
use crate::value::Value;
use crate::{Lower, Res};
use check::intrinsics::ArrayFun;
use ir::soac::Soac;
use ir::{Atom, BasicOp, Dim, Lambda, Name, Soacs, Type};

/// The types of a function's argument and result, as far as the call determines them.
type Claims<'a> = [Option<&'a LTy>; 2];

impl Lower<'_> {
    /// `jvp2 f x seed`, `vjp2`, `jmp2` or `mjp2`: the result of `f`, and the derivative.
    pub(crate) fn derivative(
        &mut self,
        fun: ArrayFun,
        f: &Value,
        x: &Value,
        seed: &Value,
        claims: Claims<'_>,
    ) -> Res<Value> {
        self.definitions.differentiated = true;
        let (args, arg_ty) = self.argument_of(x, claims[0])?;
        let (lambda, result_ty) = self.function_of(f, &arg_ty, claims[1])?;
        let directions = match (fun, seed) {
            (ArrayFun::Jmp2 | ArrayFun::Mjp2, Value::Array(seeds)) => Some(seeds.dim),
            _ => None,
        };
        let in_directions = |ty: &LTy| match directions {
            Some(n) => LTy::array(Some(n), ty.clone()),
            None => ty.clone(),
        };
        let forward = matches!(fun, ArrayFun::Jvp2 | ArrayFun::Jmp2);
        let (seed_of, derived_of) = if forward { (&arg_ty, &result_ty) } else { (&result_ty, &arg_ty) };
        let derived_ty = in_directions(derived_of);
        let seeds = self.shaped(seed.clone(), &in_directions(seed_of), Mismatch::Type)?.atoms();
        let sources = [&*args, &*seeds, &*lambda.body.result].concat();
        let own_args = args.clone();
        let op = if forward {
            Soac::Jvp { args, seeds, directions, lambda }
        } else {
            Soac::Vjp { args, seeds, directions, lambda }
        };
        let names = self.results_of(op, result_ty.n_leaves() + derived_ty.n_leaves(), &sources);
        let (result, derived) = names.split_at(result_ty.n_leaves().min(names.len()));
        let derived =
            self.with_tags_of(if forward { result } else { &own_args }, derived, derived_of, directions);
        let parts = [self.value_of(&result_ty, result)?, self.value_of(&derived_ty, &derived)?];
        Ok(Value::Tuple(parts.into()).mark_shared())
    }

    /// `with_vjp f adjoint x`: the result of `f`.
    pub(crate) fn with_vjp(
        &mut self,
        f: &Value,
        adjoint: &Value,
        x: &Value,
        claims: Claims<'_>,
    ) -> Res<Value> {
        let (args, arg_ty) = self.argument_of(x, claims[0])?;
        let (lambda, result_ty) = self.function_of(f, &arg_ty, claims[1])?;
        let adjoint = self.lambda(&[&result_ty, &result_ty], |s, values| {
            let adjoints = s.apply(adjoint, values.to_vec())?;
            let adjoints = s.shaped(adjoints, &arg_ty, Mismatch::Type)?;
            Ok((adjoints.atoms(), core_types(&arg_ty)))
        })?;
        let sources = [&*args, &*lambda.body.result].concat();
        let op = Soac::WithVjp { args, lambda, adjoint };
        let names = self.results_of(op, result_ty.n_leaves(), &sources);
        Ok(self.value_of(&result_ty, &names)?.mark_shared())
    }

    /// The operands of the argument of a differentiated function, and its type.
    fn argument_of(&mut self, x: &Value, claim: Option<&LTy>) -> Res<(Vec<Atom>, LTy)> {
        self.differentiable(x)?;
        let ty = self.element_type(std::slice::from_ref(x), claim)?;
        let x = self.shaped(x.clone(), &ty, Mismatch::Type)?;
        Ok((x.atoms(), ty))
    }

    /// A differentiated function as a lambda, and the type of its result.
    fn function_of(&mut self, f: &Value, arg: &LTy, claim: Option<&LTy>) -> Res<(Lambda<Soacs>, LTy)> {
        let mut ty = LTy::Fun;
        let lambda = self.lambda(&[arg], |s, args| {
            let result = s.apply(f, args.to_vec())?;
            s.differentiable(&result)?;
            let own = s.element_type(std::slice::from_ref(&result), claim)?;
            ty = match s.with_outer_sizes(&own, claim) {
                Some(ty) => ty,
                None => return s.bug("the argument of a differentiated function determines a size"),
            };
            let result = s.shaped(result, &ty, Mismatch::Type)?;
            Ok((result.atoms(), core_types(&ty)))
        })?;
        Ok((lambda, ty))
    }

    /// The leaves of a derivative of a value of type `ty`, with the constructors of the value.
    fn with_tags_of(
        &mut self,
        value: &[Atom],
        derived: &[Atom],
        ty: &LTy,
        directions: Option<Dim>,
    ) -> Vec<Atom> {
        let mut tags = Vec::new();
        tag_leaves(ty, &mut tags);
        let leaves = value.iter().zip(derived).zip(tags);
        let leaf = |((value, derived), is_tag): ((&Atom, &Atom), bool)| match directions {
            _ if !is_tag => *derived,
            None => *value,
            Some(n) => {
                let op = BasicOp::Replicate { shape: std::iter::once(n).collect(), value: *value };
                self.f.basic("tags", op).into()
            }
        };
        leaves.map(leaf).collect()
    }

    fn differentiable(&self, value: &Value) -> Res<()> {
        if value.has_fun() {
            return self.bug("a derivative of a function on functions");
        }
        if value.has_acc() {
            return self.unsupported("derivatives of functions on accumulators");
        }
        Ok(())
    }

    /// Binds the `n` results of an operation; they may share the memory of these operands.
    fn results_of(&mut self, op: Soac, n: usize, sources: &[Atom]) -> Vec<Atom> {
        if n == 0 {
            return Vec::new();
        }
        let names = self.f.soac("y", op);
        let arrays: Vec<Name> = names.iter().copied().filter(|n| self.f.type_of(*n).is_array()).collect();
        for array in arrays {
            self.f.alias_outer(array, sources);
        }
        names.into_iter().map(Atom::Var).collect()
    }
}

/// Appends, for each leaf of a type, true if it is the number of a constructor.
fn tag_leaves(ty: &LTy, out: &mut Vec<bool>) {
    match ty {
        LTy::Array(array) => tag_leaves(&array.1, out),
        LTy::Tuple(_) | LTy::Record(_) | LTy::Sum(_) => {
            let first = out.len();
            ty.parts().unwrap_or_default().into_iter().for_each(|part| tag_leaves(part, out));
            if let (LTy::Sum(_), Some(tag)) = (ty, out.get_mut(first)) {
                *tag = true;
            }
        }
        LTy::Scalar(_) | LTy::Acc(_) => out.push(false),
        LTy::Fun => {}
    }
}

fn core_types(ty: &LTy) -> Vec<Type> {
    ty.leaves().iter().map(Leaf::core).collect()
}
