//! Accumulators that are never updated.

use crate::dce::retain;
use crate::level::OptLevel;
use crate::simplify::Simplifier;
use ir::soac::AccInput;
use ir::syntax::{Atom, Aux, Lambda, Param};

impl<L: OptLevel> Simplifier<'_, L> {
    /// Registers the neutral elements of the accumulators that the tokens denote.
    pub(crate) fn learn_neutrals(&mut self, inputs: &[AccInput<L>], tokens: &[Param<L>]) {
        for (input, token) in inputs.iter().zip(tokens) {
            if let Some(operator) = &input.op {
                self.known.neutrals.insert(token.name, operator.neutral.clone());
            }
        }
    }

    /// Removes accumulators that the lambda returns unchanged; their arrays replace the results.
    pub(crate) fn untouched(
        &mut self,
        pat: &mut Vec<Param<L>>,
        aux: &Aux,
        inputs: &mut Vec<AccInput<L>>,
        lambda: &mut Lambda<L>,
    ) {
        let n = inputs.len();
        let touched: Vec<bool> = (0..n)
            .map(|i| {
                let own = lambda.params.get(n + i).map(|param| Atom::Var(param.name));
                own.as_ref() != lambda.body.result.get(i)
            })
            .collect();
        if !touched.contains(&false) || !self.rewrite() {
            return;
        }
        let mut keep_pat = vec![true; pat.len()];
        let mut at = 0;
        for (input, touched) in inputs.iter().zip(&touched) {
            for array in &input.arrays {
                if !touched {
                    keep_pat[at] = false;
                    let mut param = pat[at].clone();
                    self.rewrite_param(&mut param);
                    self.bind_atom(param, aux.clone(), Atom::Var(*array));
                }
                at += 1;
            }
        }
        retain(pat, &keep_pat);
        retain(inputs, &touched);
        let rest = lambda.params.len() - 2 * n;
        let others = vec![true; rest];
        retain(&mut lambda.params, &[&touched[..], &touched, &others].concat());
        let others = vec![true; lambda.ret.len() - n];
        let keep = [&touched[..], &others].concat();
        retain(&mut lambda.ret, &keep);
        retain(&mut lambda.body.result, &keep);
    }
}
