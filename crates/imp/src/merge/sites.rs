//! Checks of merged code: each call site fails with its own message and location.
//!
//! Where the checks of equal functions differ, the merged function has a parameter, the number of
//! the call site, and selects the check when the condition does not hold:
//!
//! ```text
//! check#1 ok      (site 0)         if ok { } else {
//! check#7 ok      (site 1)   =>      if site == 0 { check#1 false } else { check#7 false }
//!                                  }
//! ```

use crate::generate::expr::compare;
use crate::syntax::{CheckId, Expr, Function, Stmt, Var, VarInfo, VarType};
use crate::walk::each_stmt_mut;
use prim::{CmpOp, PrimType, Scalar};
use std::sync::Arc;

/// The function for all members of a class, and for each member the number of its call site, if the
/// function has a parameter for it. `checks` has the checks of each member in order of appearance.
pub(super) fn unify(mut function: Function, checks: &[Vec<CheckId>]) -> (Function, Vec<Option<i64>>) {
    let mut variants: Vec<&Vec<CheckId>> = Vec::new();
    let mut sites = Vec::with_capacity(checks.len());
    for member in checks {
        let known = variants.iter().position(|variant| *variant == member);
        let site = known.unwrap_or_else(|| {
            variants.push(member);
            variants.len() - 1
        });
        sites.push(Some(site as i64));
    }
    if variants.len() < 2 {
        return (function, vec![None; checks.len()]);
    }
    let site = Var(function.vars.len() as u32);
    function.vars.push(VarInfo { ty: VarType::Scalar(PrimType::I64), hint: Arc::from("site") });
    function.params.push(site);
    let mut number = 0;
    // The checks of a replacement, which are visited next.
    let mut made = 0;
    each_stmt_mut(&mut function.body, &mut |stmt| {
        let Stmt::Check { cond, values, .. } = stmt else {
            return;
        };
        if made > 0 {
            made -= 1;
            return;
        }
        let ids: Vec<CheckId> = variants.iter().filter_map(|variant| variant.get(number).copied()).collect();
        number += 1;
        if ids.windows(2).any(|pair| pair[0] != pair[1]) {
            made = ids.len();
            *stmt = Stmt::If(cond.clone(), Vec::new(), vec![failure(values, site, &ids)]);
        }
    });
    (function, sites)
}

/// Fails with the identity of the call site's check.
fn failure(values: &[Expr], site: Var, ids: &[CheckId]) -> Stmt {
    let cond = Expr::Const(Scalar::Bool(false));
    let fail = |check: CheckId| Stmt::Check { cond: cond.clone(), check, values: values.to_vec() };
    let mut by_site = ids.iter().enumerate().rev().map(|(number, check)| (number as i64, fail(*check)));
    let (_, last) = by_site.next().unwrap_or((0, fail(CheckId(0))));
    by_site.fold(last, |rest, (number, fail)| {
        let here = compare(CmpOp::Eq, Expr::Var(site), Expr::i64(number));
        Stmt::If(here, vec![fail], vec![rest])
    })
}
