//! Statements without the accumulators of some tokens: as they compute everything else.
//!
//! ```text
//! let (y, acc') = map n (x <- xs, a <- acc) { updateacc a (i) x; in (f x, a') }
//!   =>  let y = map n (x <- xs) { in (f x) }
//! ```

use crate::PassError;
use crate::name::Name;
use crate::soac::{Screma, Soac, Soacs};
use crate::syntax::{Body, Exp, Param, Stm};
use crate::types::Type;
use crate::walk::Visit;

/// Returns true for an accumulator of one of these tokens.
pub fn has_token(ty: &Type, tokens: &[Name]) -> bool {
    matches!(ty, Type::Acc { token, .. } if tokens.contains(token))
}

/// The statement without accumulators of these tokens; `None` if nothing is left.
///
/// # Errors
///
/// Fails if an accumulator is passed to a combinator that takes none.
pub fn without_tokens(stm: &Stm<Soacs>, tokens: &[Name]) -> Result<Option<Stm<Soacs>>, PassError> {
    let keep: Vec<bool> = stm.pat.iter().map(|param| !has_token(&param.ty, tokens)).collect();
    if !uses_tokens(stm, tokens) {
        return Ok(Some(stm.clone()));
    }
    let mut stm = stm.clone();
    let mut at = keep.iter();
    stm.pat.retain(|_| *at.next().unwrap_or(&true));
    if stm.pat.is_empty() {
        return Ok(None);
    }
    match &mut stm.exp {
        Exp::Basic(_) | Exp::Apply { .. } => return Ok(None),
        Exp::If { cond: _, then_body, else_body } => {
            strip_body(then_body, &keep, tokens)?;
            strip_body(else_body, &keep, tokens)?;
        }
        Exp::Loop { params, form: _, body } => {
            params.retain(|p| !has_token(&p.param.ty, tokens));
            strip_body(body, &keep, tokens)?;
        }
        Exp::Op(Soac::Screma(Screma { width: _, inputs, map, scan_reduce: _ })) => {
            let own: Vec<bool> = map.params.iter().map(|p| !has_token(&p.ty, tokens)).collect();
            let mut at = own.iter();
            inputs.retain(|_| *at.next().unwrap_or(&true));
            map.params.retain(|p| !has_token(&p.ty, tokens));
            let results: Vec<bool> = map.ret.iter().map(|ty| !has_token(ty, tokens)).collect();
            map.ret.retain(|ty| !has_token(ty, tokens));
            strip_body(&mut map.body, &results, tokens)?;
        }
        Exp::Op(Soac::WithAcc { inputs: _, lambda }) => {
            let results: Vec<bool> = lambda.ret.iter().map(|ty| !has_token(ty, tokens)).collect();
            lambda.ret.retain(|ty| !has_token(ty, tokens));
            strip_body(&mut lambda.body, &results, tokens)?;
        }
        Exp::Op(_) => return Err(PassError::bug("an accumulator is passed to a combinator without one")),
    }
    Ok(Some(stm))
}

fn strip_body(body: &mut Body<Soacs>, keep: &[bool], tokens: &[Name]) -> Result<(), PassError> {
    let mut stms = Vec::new();
    for stm in &body.stms {
        stms.extend(without_tokens(stm, tokens)?);
    }
    body.stms = stms;
    let mut at = keep.iter();
    body.result.retain(|_| *at.next().unwrap_or(&true));
    Ok(())
}

/// Returns true if a statement uses accumulators of these tokens.
pub fn uses_tokens(stm: &Stm<Soacs>, tokens: &[Name]) -> bool {
    let mut uses = UsesTokens { tokens, found: false };
    uses.stm(stm);
    uses.found
}

struct UsesTokens<'a> {
    tokens: &'a [Name],
    found: bool,
}

impl Visit<Soacs> for UsesTokens<'_> {
    fn param(&mut self, param: &Param<Soacs>) {
        self.found |= has_token(&param.ty, self.tokens);
    }
}
