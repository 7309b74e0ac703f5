//! Loops that run once before themselves, for values on which their tapes depend: the number of iterations of a
//! `while` loop, the greatest sizes of arrays.
//!
//! Dead-code elimination removes all that the further values do not need.

use crate::state::{Ad, Result};
use ir::accumulators::without_tokens;
use ir::soac::Soacs;
use ir::syntax::{Atom, Body, Exp, LoopParam, Stm};
use ir::types::Type;
use ir::walk::Substitution;
use ir::{Name, PassError};

impl Ad<'_> {
    /// Appends a copy of a loop, without its accumulators, with further `i64` parameters of these initial values;
    /// returns their results. `next` appends their next values to an iteration, from their names and its results.
    pub(crate) fn run_ahead(
        &mut self,
        stm: &Stm<Soacs>,
        (hint, inits): (&str, &[Atom]),
        next: impl FnOnce(&mut Self, &[Name], &[Atom]) -> Vec<Atom>,
    ) -> Result<Vec<Name>> {
        self.at(&stm.aux);
        let whole = Body { stms: vec![stm.clone()], result: Vec::new() };
        let mut stms = self.copy(&whole, &mut Substitution::default()).stms;
        let Some(Stm { mut pat, aux, exp: Exp::Loop { mut params, form, body } }) = stms.pop() else {
            return Err(PassError::bug("a statement that runs ahead is no loop"));
        };
        let tokens: Vec<Name> = params
            .iter()
            .filter_map(|p| if let Type::Acc { token, .. } = p.param.ty { Some(token) } else { None })
            .collect();
        let (mut names, mut results) = (Vec::new(), Vec::new());
        for init in inits {
            let (param, result) = (self.b.param(hint, Type::I64), self.b.param(hint, Type::I64));
            names.push(param.name);
            results.push(result.name);
            params.push(LoopParam { param, init: *init, consumed: false });
            pat.push(result);
        }
        let outer = self.b.open();
        self.b.put_back(body.stms);
        let further = next(self, &names, &body.result);
        let body = self.b.close(outer, body.result.into_iter().chain(further).collect());
        let ahead = Stm { pat, aux, exp: Exp::Loop { params, form, body } };
        if let Some(Stm { pat, aux, exp }) = without_tokens(&ahead, &tokens)? {
            self.ahead.extend(pat.first().map(|first| first.name));
            self.b.let_with(pat, aux, exp);
        }
        Ok(results)
    }
}
