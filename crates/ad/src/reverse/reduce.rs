//! Reverse mode: reductions ("Reverse-Mode AD of Multi-Reduce and Scan in Futhark", IFL 2023).
//!
//! The result is `l_i op x_i op r_i` for each element, where `l` and `r` are the exclusive scans from
//! the left and from the right. The adjoint of `x_i` is that of the operator at these values. Sums,
//! products, minima and maxima have rules of their own ([`super::reduce_special`]).

use crate::state::{Ad, Result};
use ir::Name;
use ir::soac::{Operator, Screma, Soac, Soacs};
use ir::syntax::{Atom, Exp, Lambda, Param};
use ir::types::{Dim, Type};
use ir::walk::free_names_lambda;
use prim::{BinOp, CmpOp, PrimType};

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
        let types = &op.op.ret;
        let seeds: Vec<Atom> = adjoints
            .iter()
            .zip(types)
            .map(|(adjoint, ty)| adjoint.unwrap_or_else(|| self.zero(ty)))
            .collect();
        let left = self.exclusive(width, inputs, op, true);
        let right = self.exclusive(width, inputs, op, false);
        self.reverse_elements((width, inputs), op, (&left, &right), &Seeds::Same(&seeds))
    }

    /// The scan of all earlier (from the left) or all later elements.
    pub(super) fn exclusive(
        &mut self,
        width: Dim,
        inputs: &[Name],
        op: &Operator<Soacs>,
        left: bool,
    ) -> Vec<Name> {
        let scan_op = if left { self.copied(op) } else { self.flipped(op) };
        let ordered: Vec<Name> =
            inputs.iter().map(|input| if left { *input } else { self.reversed(*input, width) }).collect();
        let scanned = self.b.scan("scanned", width, &ordered, scan_op);
        let size = width.atom().unwrap_or(Atom::i64(0));
        let is = self.b.iota(width);
        let ty = op.op.ret.clone();
        let outer = self.b.open();
        let i = self.b.param("i", Type::I64);
        // The position in the scan of the neighbour, and whether there is none.
        let at: Atom = if left {
            self.b.binary(BinOp::Sub, PrimType::I64, i.name.into(), Atom::i64(1)).into()
        } else {
            let last = self.b.binary(BinOp::Sub, PrimType::I64, size, Atom::i64(2));
            self.b.binary(BinOp::Sub, PrimType::I64, last.into(), i.name.into()).into()
        };
        let first: Atom = self.b.compare(CmpOp::SLt, PrimType::I64, at, Atom::i64(0)).into();
        let open = self.b.open();
        let then_body = self.b.close(open, op.neutral.clone());
        let open = self.b.open();
        let results = scanned.iter().map(|own| self.b.index("x", *own, &[at]).into()).collect();
        let else_body = self.b.close(open, results);
        let exp = Exp::If { cond: first, then_body, else_body };
        let rows = self.b.bind_all(ty.iter().map(|ty| ("x", ty.clone())), exp);
        let body = self.b.close(outer, rows.into_iter().map(Atom::from).collect());
        let map = Lambda { params: vec![i], body, ret: ty };
        self.b.let_op("exclusive", Soac::Screma(Screma::map(width, vec![is], map)))
    }

    fn copied(&mut self, op: &Operator<Soacs>) -> Operator<Soacs> {
        Operator { op: self.copy_lambda(&op.op), neutral: op.neutral.clone(), comm: op.comm }
    }

    /// The operator with its operands exchanged.
    fn flipped(&mut self, op: &Operator<Soacs>) -> Operator<Soacs> {
        let mut copy = self.copied(op);
        let k = op.neutral.len();
        copy.op.params.rotate_left(k);
        copy
    }

    /// The array from its last row to its first.
    pub(super) fn reversed(&mut self, array: Name, width: Dim) -> Name {
        let size = width.atom().unwrap_or(Atom::i64(0));
        let start = crate::normalise::minus_one(&mut self.b, size);
        let mut slice = self.whole(array);
        slice[0] = ir::syntax::DimIndex::Slice { start, count: width, stride: Atom::i64(-1) };
        self.b.let_basic("reversed", ir::syntax::BasicOp::Index { array, slice })
    }

    /// Adds the contributions of the elements of a reduction, each between what is to its left and to
    /// its right.
    pub(super) fn reverse_elements(
        &mut self,
        (width, inputs): (Dim, &[Name]),
        op: &Operator<Soacs>,
        (left, right): (&[Name], &[Name]),
        seeds: &Seeds<'_>,
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
        let (adjoints, same): (Vec<Option<Atom>>, Option<Vec<Atom>>) = match seeds {
            Seeds::Same(seeds) => (Vec::new(), Some(seeds.to_vec())),
            Seeds::Own(adjoints) => (adjoints.to_vec(), None),
        };
        self.reverse_rows(width, &rows, &free, &adjoints, |ad, own| {
            let seeds: Vec<Option<Atom>> =
                same.map_or_else(|| own.to_vec(), |same| same.into_iter().map(Some).collect());
            for stm in &first.body.stms {
                ad.forward_sweep(stm)?;
            }
            // The element and all to its left, as the second application's first operand. Free names
            // of the operator are taken as constants there: each application counts once.
            let accs = ad.adjoints.clone();
            for (param, own) in second.params[..k].iter().zip(&first.body.result) {
                let exp = Exp::Basic(ir::syntax::BasicOp::Atom(*own));
                ad.b.let_pat(vec![param.clone()], exp);
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

/// The adjoints of the elements' combinations.
pub(super) enum Seeds<'a> {
    /// The same for all elements.
    Same(&'a [Atom]),
    /// Arrays of their own.
    Own(&'a [Option<Atom>]),
}
