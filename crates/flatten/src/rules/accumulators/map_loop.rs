//! Maps that pass on accumulators whose operator works on arrays: a loop.

use super::array_operators::{Build, Pass};
use crate::{Mapped, Pat};
use ir::build::LoopInit;
use ir::syntax::{BasicOp, Exp, Lambda};
use ir::types::Type;
use ir::{Atom, Dim, Name, Soacs};
use prim::PrimType;

impl Pass {
    /// Appends a map that passes on accumulators with an operator, in any order with mapped arrays.
    pub(super) fn map(&mut self, b: &mut Build<'_>, pat: Pat, (width, inputs, lambda): Mapped<'_>) {
        let kinds: Vec<bool> = (lambda.ret.iter()).map(|ty| self.kind(ty).is_some()).collect();
        let starts: Vec<Vec<Name>> =
            lambda.ret.iter().map(|ty| self.initial_value(b, ty, width, inputs)).collect();
        let mut results = self.iteration_loop(b, width, inputs, &starts, lambda).into_iter();
        for ((param, kind), start) in pat.into_iter().zip(kinds).zip(&starts) {
            let own: Vec<Name> = results.by_ref().take(start.len()).collect();
            if kind {
                self.arrays.insert(param.name, own);
            } else {
                for name in own {
                    let value = Exp::Basic(BasicOp::Atom(name.into()));
                    b.let_pat(vec![param.clone()], value);
                }
            }
        }
    }

    /// The value of a map's result before its first iteration: the accumulator of the same token,
    /// or the arrays that replace it; for a mapped array, an array of unspecified contents.
    fn initial_value(&self, b: &mut Build<'_>, ty: &Type, width: Dim, inputs: &[Name]) -> Vec<Name> {
        let Type::Acc { token, .. } = ty else {
            let elem = ty.elem().unwrap_or(PrimType::Bool);
            let shape = std::iter::once(width).chain(ty.shape().iter().copied()).collect();
            return vec![b.let_basic("out", BasicOp::Scratch { elem, shape })];
        };
        let same = |input: &&Name| matches!(b.types.get(**input), Some(Type::Acc { token: other, .. }) if other == token);
        let Some(input) = inputs.iter().find(same) else {
            return Vec::new();
        };
        match self.arrays.get(input) {
            Some(arrays) => arrays.clone(),
            None => vec![*input],
        }
    }

    /// A loop over the iterations of a map, with these initial values.
    fn iteration_loop(
        &mut self,
        b: &mut Build<'_>,
        width: Dim,
        inputs: &[Name],
        starts: &[Vec<Name>],
        map: Lambda<Soacs>,
    ) -> Vec<Name> {
        let Lambda { params, body, ret } = map;
        let counts: Vec<usize> = starts.iter().map(Vec::len).collect();
        let inits = starts.iter().flatten().map(|&start| {
            let ty = b.types.type_of(start).clone();
            let hint = b.names.hint(start).to_string();
            LoopInit { hint, consumed: ty.is_array(), ty, init: start.into() }
        });
        let inits = inits.collect();
        let bound = width.atom().unwrap_or(Atom::i64(0));
        b.for_loop(PrimType::I64, bound, inits, |b, var, state| {
            let at = Atom::Var(var);
            let mut rest = state;
            let state: Vec<&[Name]> = counts
                .iter()
                .map(|count| {
                    let (own, more) = rest.split_at(*count);
                    rest = more;
                    own
                })
                .collect();
            for (param, &input) in params.into_iter().zip(inputs) {
                let result = ret.iter().position(|ty| *ty == param.ty);
                match (&param.ty, result) {
                    (Type::Acc { .. }, Some(result)) => {
                        if self.kind(&param.ty).is_some() {
                            self.arrays.insert(param.name, state[result].to_vec());
                        } else {
                            let acc = state[result].first().copied().unwrap_or(input);
                            let exp = Exp::Basic(BasicOp::Atom(acc.into()));
                            b.let_pat(vec![param], exp);
                        }
                    }
                    _ => {
                        let slice = b.row_slice(input, &[at]);
                        let array = input;
                        let exp = Exp::Basic(BasicOp::Index { array, slice });
                        b.let_pat(vec![param], exp);
                    }
                }
            }
            self.stms(b, body.stms);
            let mut next = Vec::new();
            for ((result, ty), own) in body.result.into_iter().zip(&ret).zip(state) {
                if let Type::Acc { .. } = ty {
                    next.extend(self.atoms(&[result]));
                } else if let [out] = own {
                    next.push(b.update("out", *out, &[at], result).into());
                }
            }
            next
        })
    }
}
