//! Checks in the update of a matrix are made before it, so that the update is total.
//!
//! ```text
//! map n (i <- iota n) {                    let first = redomap n (i <- iota n) {
//!   if c i then .. else {                    let fails = if c i then false else not p in
//!     let cert = assert p "i"        =>      select fails i n } smin
//!     .. <cert> ..                         let cert = assert (first == n) "first"
//!   }                                      map n (i <- iota n) { if c i then .. else { .. <cert> .. } }
//! ```
//!
//! The check fails if that of any row does, with the message of the first such row. A condition that
//! is the same for all rows is checked directly, as the matrix has a row.

use super::Composer;
use super::normal::names_bound_in;
use crate::simplify::add_certs;
use ir::build::Builder;
use ir::scan_reduce::ScanReduce;
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Atom, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, binders, refresh_body, stm_names, substitute_stm, with_stack};
use ir::{Name, Soacs};
use prim::{BinOp, CmpOp, PrimType, Scalar, UnOp};
use rustc_hash::FxHashSet;

/// A check that was taken out of a row's computation.
struct Check {
    stm: Stm<Soacs>,
    /// The index in the row of the element whose computation makes the check.
    column: Option<Name>,
    /// True if every row makes it.
    always: bool,
}

impl Composer<'_> {
    /// Moves the checks out of the update of a matrix, which is a map over `row`. `None` if a message
    /// needs other values of the row; checks that differ between the elements of a row stay.
    pub(super) fn hoist_checks(
        &mut self,
        update: &mut Stm<Soacs>,
        row: Name,
        out: &mut Vec<Stm<Soacs>>,
    ) -> Option<()> {
        let certs = update.aux.certs.clone();
        let inside = names_bound_in(&update.exp);
        let Exp::Op(Soac::Screma(screma)) = &mut update.exp else {
            return None;
        };
        loop {
            let whole = screma.map.body.clone();
            let Some(Check { mut stm, column, always }) = self.take_check(&mut screma.map.body) else {
                return Some(());
            };
            let cert = stm.pat[0].name;
            let mut names = Substitution::from_iter([(row, Atom::i64(0))]);
            names.extend(column.map(|column| (column, Atom::i64(0))));
            if let Exp::Basic(BasicOp::Assert { cond, .. }) = &mut stm.exp
                && (!always || cond.var().is_some_and(|name| inside.contains(&name)))
            {
                let mut b = Builder::new(self.names, &mut self.types);
                (b.prov, b.certs) = (stm.aux.prov, certs.clone());
                let rows = screma.width.atom()?;
                let first = first_failing(&mut b, &fails(whole, cert)?, row, screma.width)?;
                *cond = b.compare(CmpOp::Eq, PrimType::I64, first, rows).into();
                out.append(&mut b.take_stms());
                names.insert(row, first);
            }
            substitute_stm(&mut stm, &names);
            let mut left = false;
            stm_names(&stm, |name| left |= name != cert && inside.contains(&name));
            if left {
                return None;
            }
            add_certs(&mut stm.aux.certs, &certs);
            self.types.add_params(&stm.pat);
            out.push(stm);
        }
    }

    /// Takes the first check out of a row's computation.
    fn take_check(&self, body: &mut Body<Soacs>) -> Option<Check> {
        let is_check = |stm: &Stm<Soacs>| matches!(stm.exp, Exp::Basic(BasicOp::Assert { .. }));
        for at in 0..body.stms.len() {
            if is_check(&body.stms[at]) {
                return Some(Check { stm: body.stms.remove(at), column: None, always: true });
            }
            match &mut body.stms[at].exp {
                Exp::If { then_body, else_body, .. } => {
                    let found =
                        with_stack(|| self.take_check(then_body).or_else(|| self.take_check(else_body)));
                    if let Some(check) = found {
                        return Some(Check { always: false, ..check });
                    }
                }
                Exp::Op(Soac::Screma(Screma { inputs, map, .. })) => {
                    let mut own: FxHashSet<Name> = map.params.iter().map(|param| param.name).collect();
                    own.extend(binders(&map.body));
                    let same = |stm: &Stm<Soacs>| {
                        matches!(&stm.exp, Exp::Basic(BasicOp::Assert { cond, .. })
                            if cond.var().is_none_or(|name| !own.contains(&name)))
                    };
                    let Some(check) = map.body.stms.iter().position(same) else {
                        continue;
                    };
                    let column = inputs.iter().position(|input| self.iotas.contains(input));
                    let column = column.map(|at| map.params[at].name);
                    return Some(Check { stm: map.body.stms.remove(check), column, always: true });
                }
                Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {}
            }
        }
        None
    }
}

/// The condition of a check in a row's computation, with what it depends on.
struct Fails {
    before: Vec<Stm<Soacs>>,
    /// The conditions of the branches around the check, with the statements in each.
    branches: Vec<(Atom, bool, Vec<Stm<Soacs>>)>,
    cond: Atom,
}

/// Finds a check in a row's computation.
fn fails(body: Body<Soacs>, cert: Name) -> Option<Fails> {
    let mut before = Vec::new();
    for stm in body.stms {
        let is_bound = |body: &Body<Soacs>| binders(body).contains(&cert);
        let own = stm.pat.iter().any(|param| param.name == cert);
        match stm.exp {
            Exp::Basic(BasicOp::Assert { cond, .. }) if own => {
                return Some(Fails { before, branches: Vec::new(), cond });
            }
            Exp::If { cond, then_body, else_body } if is_bound(&then_body) || is_bound(&else_body) => {
                let yes = is_bound(&then_body);
                let inner = with_stack(|| fails(if yes { then_body } else { else_body }, cert))?;
                let mut branches = vec![(cond, yes, inner.before)];
                branches.extend(inner.branches);
                return Some(Fails { before, branches, cond: inner.cond });
            }
            Exp::Op(Soac::Screma(screma)) if is_bound(&screma.map.body) => {
                let own = |stm: &Stm<Soacs>| stm.pat.first().is_some_and(|param| param.name == cert);
                let check = screma.map.body.stms.into_iter().find(own)?;
                let Exp::Basic(BasicOp::Assert { cond, .. }) = check.exp else {
                    return None;
                };
                return Some(Fails { before, branches: Vec::new(), cond });
            }
            exp @ (Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_)) => {
                before.push(Stm { exp, ..stm });
            }
        }
    }
    None
}

/// Emits the index of the first row whose check fails, or the number of rows.
fn first_failing(b: &mut Builder<'_, Soacs>, check: &Fails, row: Name, rows: Dim) -> Option<Atom> {
    let none = rows.atom()?;
    let mut body = Body { stms: check.before.clone(), result: Vec::new() };
    let mut innermost = b.body(|b| vec![b.unary(UnOp::Not, PrimType::Bool, check.cond).into()]);
    for (cond, yes, stms) in check.branches.iter().rev() {
        let mut inner = Body { stms: stms.clone(), result: innermost.result };
        inner.stms.append(&mut innermost.stms);
        let other = Body { stms: Vec::new(), result: vec![Atom::Const(Scalar::Bool(false))] };
        let (then_body, else_body) = if *yes { (inner, other) } else { (other, inner) };
        let exp = Exp::If { cond: *cond, then_body, else_body };
        innermost = b.body(|b| vec![b.bind("fails", Type::BOOL, exp).into()]);
    }
    body.stms.append(&mut innermost.stms);
    body.result = innermost.result;
    let index: Param<Soacs> = b.param("i", Type::I64);
    let mut own = Substitution::from_iter([(row, index.name.into())]);
    let mut body = refresh_body(&body, b.names, &mut own);
    b.types.add_body(&body);
    let fails = body.result[0];
    let mut last = b.body(|b| vec![b.select(PrimType::I64, fails, index.name.into(), none).into()]);
    body.stms.append(&mut last.stms);
    body.result = last.result;
    let iota = b.iota(rows);
    let op = b.binary_lambda(BinOp::SMin, PrimType::I64);
    let least = Operator { op, neutral: vec![none], comm: true };
    let screma = Screma {
        width: rows,
        inputs: vec![iota],
        map: Lambda { params: vec![index], body, ret: vec![Type::I64] },
        scan_reduce: ScanReduce { reduces: vec![least], ..ScanReduce::default() },
    };
    Some(b.let_op("first", Soac::Screma(screma)).first().copied()?.into())
}
