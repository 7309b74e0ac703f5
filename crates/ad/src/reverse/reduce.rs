//! Reverse mode: reductions ("Reverse-Mode AD of Multi-Reduce and Scan in Futhark", IFL 2023).
//!
//! The result is `l_i op x_i op r_i` for each element, where `l` and `r` are the exclusive scans from
//! the left and from the right. The adjoint of `x_i` is that of the operator at these values. Sums,
//! products, minima and maxima have rules of their own ([`super::reduce_special`]).

use super::exclusive::Side;
use crate::state::{Ad, Result};
use ir::Name;
use ir::soac::{Operator, Soacs};
use ir::syntax::{Atom, Param};
use ir::types::Dim;
use ir::walk::free_names_lambda;

impl Ad<'_> {
    pub(super) fn reverse_reduce(
        &mut self,
        (width, inputs): (Dim, &[Name]),
        op: &Operator<Soacs>,
        pat: &[Param<Soacs>],
        adjoints: &[Option<Atom>],
    ) -> Result {
        if self.reverse_special_reduce((width, inputs), op, pat, adjoints) {
            return Ok(());
        }
        let seeds: Vec<Atom> =
            adjoints.iter().zip(&op.op.ret).map(|(adjoint, ty)| self.or_zero(*adjoint, ty)).collect();
        let left = self.exclusive(width, inputs, op, Side::Left);
        let right = self.exclusive(width, inputs, op, Side::Right);
        self.reverse_elements((width, inputs), op, (&left, &right), &seeds)
    }

    /// Adds the contributions of the elements of a reduction, each between what is to its left and to
    /// its right.
    fn reverse_elements(
        &mut self,
        (width, inputs): (Dim, &[Name]),
        op: &Operator<Soacs>,
        (left, right): (&[Name], &[Name]),
        seeds: &[Atom],
    ) -> Result {
        let first = self.copy_lambda(&op.op);
        let second = self.copy_lambda(&op.op);
        let k = op.neutral.len();
        let mut rows: Vec<(Name, Param<Soacs>)> = Vec::new();
        for (input, param) in left.iter().chain(inputs).zip(&first.params) {
            rows.push((*input, param.clone()));
        }
        for (input, param) in right.iter().zip(&second.params[k..]) {
            rows.push((*input, param.clone()));
        }
        for param in first.params[..k].iter().chain(&second.params) {
            self.active.remove(&param.name);
        }
        for (input, param) in inputs.iter().zip(&first.params[k..]) {
            if self.active.contains(input) {
                self.active.insert(param.name);
            }
        }
        self.mark_body(&first.body);
        for (param, own) in second.params[..k].iter().zip(&first.body.result) {
            if self.is_active(*own) {
                self.active.insert(param.name);
            }
        }
        let free = free_names_lambda(&first);
        let seeds: Vec<Option<Atom>> = seeds.iter().map(|seed| Some(*seed)).collect();
        self.reverse_rows(width, &rows, &free, &[], |ad, _| {
            for stm in &first.body.stms {
                ad.forward_sweep(stm)?;
            }
            // The element and all to its left, as the second application's first operand. Free names
            // of the operator are taken as constants there: each application counts once.
            let accs = ad.adjoints.clone();
            for (param, own) in second.params[..k].iter().zip(&first.body.result) {
                ad.bind(param, *own);
            }
            let kept = ad.without_free_activity(&free);
            ad.mark_body(&second.body);
            ad.sweep(&second.body, &seeds)?;
            ad.active.extend(kept);
            let partial: Vec<Option<Atom>> =
                second.params[..k].iter().map(|param| ad.take(param.name)).collect();
            ad.adjoints = accs;
            ad.return_sweep(&first.body, &partial)
        })
    }

    /// Makes free names inactive; returns the active ones among them.
    fn without_free_activity(&mut self, free: &[Name]) -> Vec<Name> {
        free.iter().copied().filter(|name| self.active.remove(name)).collect()
    }
}
