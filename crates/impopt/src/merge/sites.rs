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
//!
//! Allocations and calls, which have a location, are selected likewise.

use super::canonical::{has_check, replace_check};
use imp::build::compare;
use imp::walk::{each_stmt, each_stmt_mut};
use imp::{CheckId, Expr, Function, Stmt, Var, VarInfo, VarType};
use prim::{CmpOp, PrimType, Scalar};
use std::sync::Arc;

/// The weight of a failing check, and of an allocation or call, at one call site.
const CHECK: u64 = 10;
const OTHER: u64 = 40;

/// The weight of the code that selects checks in the function of a class.
pub(super) fn cost(function: &Function, checks: &[Vec<CheckId>]) -> u64 {
    let variants = variants(checks);
    let (mut cost, mut number) = (0, 0);
    each_stmt(&function.body, &mut |stmt| {
        if !has_check(stmt) {
            return;
        }
        let mut ids = variants.iter().filter_map(|variant| variant.get(number));
        let first = ids.next();
        if ids.any(|id| Some(id) != first) {
            let one = if matches!(stmt, Stmt::Check { .. }) { CHECK } else { OTHER };
            cost += one * variants.len() as u64;
        }
        number += 1;
    });
    cost
}

/// The different lists of checks, in order of appearance.
fn variants(checks: &[Vec<CheckId>]) -> Vec<&Vec<CheckId>> {
    let mut variants: Vec<&Vec<CheckId>> = Vec::new();
    for member in checks {
        if !variants.contains(&member) {
            variants.push(member);
        }
    }
    variants
}

/// The function for all members of a class, and for each member the number of its call site, if the
/// function has a parameter for it. `checks` has the checks of each member in order of appearance.
pub(super) fn unify(mut function: Function, checks: &[Vec<CheckId>]) -> (Function, Vec<Option<i64>>) {
    let variants = variants(checks);
    if variants.len() < 2 {
        return (function, vec![None; checks.len()]);
    }
    let site_of = |member| variants.iter().position(|variant| *variant == member).map(|site| site as i64);
    let sites = checks.iter().map(site_of).collect();
    let site = Var::new(function.vars.len());
    function.vars.push(VarInfo { ty: VarType::Scalar(PrimType::I64), hint: Arc::from("site") });
    function.params.push(site);
    let mut number = 0;
    // The checks of a replacement, which are visited next.
    let mut made = 0;
    each_stmt_mut(&mut function.body, &mut |stmt| {
        if !has_check(stmt) {
            return;
        }
        if made > 0 {
            made -= 1;
            return;
        }
        let ids: Vec<CheckId> = variants.iter().filter_map(|variant| variant.get(number).copied()).collect();
        number += 1;
        if ids.windows(2).any(|pair| pair[0] != pair[1]) {
            made = ids.len();
            *stmt = if let Stmt::Check { cond, .. } = stmt {
                let holds = std::mem::replace(cond, Expr::Const(Scalar::Bool(false)));
                Stmt::If(holds, Vec::new(), vec![by_site(stmt, site, &ids)])
            } else {
                by_site(stmt, site, &ids)
            };
        }
    });
    (function, sites)
}

/// Executes a statement with the identity of the call site's check.
fn by_site(stmt: &Stmt, site: Var, ids: &[CheckId]) -> Stmt {
    let with = |id: CheckId| {
        let mut stmt = stmt.clone();
        replace_check(&mut stmt, |_| id);
        stmt
    };
    let mut variants = ids.iter().enumerate().rev().map(|(number, id)| (number as i64, with(*id)));
    let last = variants.next().map_or_else(|| stmt.clone(), |(_, last)| last);
    variants.fold(last, |rest, (number, variant)| {
        let here = compare(CmpOp::Eq, Expr::Var(site), Expr::i64(number));
        Stmt::If(here, vec![variant], vec![rest])
    })
}
