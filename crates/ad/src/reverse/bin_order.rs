//! Reverse mode: histograms by any operator. The values are put in the order of their bins; then each is
//! combined with the destination and all values before it, and with all values after it, in segmented
//! scans, as for a reduction ([`super::reduce`]).

use super::exclusive::Side;
use super::hist::Histogram;
use super::reduce::Seeds;
use super::reduce_special::truth;
use crate::state::{Ad, Result};
use ir::Name;
use ir::build::LoopInit;
use ir::soac::{Operator, Soacs};
use ir::syntax::{Atom, BasicOp, ReshapeKind};
use ir::types::{Dim, Type};
use prim::{BinOp, CmpOp, PrimType};

/// Values in the order of bins.
struct BinOrder {
    /// The bin of each value, as one number.
    bin_of: Name,
    /// The first position of each bin.
    starts: Name,
    /// The position of each value.
    position: Name,
    /// The value at each position.
    order: Name,
}

impl Ad<'_> {
    /// Adds the contributions of a histogram by any operator.
    pub(super) fn general_hist(&mut self, h: &Histogram<'_>) -> Result {
        let order = self.bin_order(h);
        let (op, width) = (&h.op.op, h.width);
        let types = op.op.ret.clone();
        let k = types.len();
        let gather = |ad: &mut Self, from: Name, at: Name| -> Name {
            ad.b.map("sorted", width, &[at], |b, x| vec![b.index("x", from, &[x[0].into()]).into()])[0]
        };
        let bins = gather(self, order.bin_of, order.order);
        let sorted: Vec<Name> = h.values.iter().map(|own| gather(self, *own, order.order)).collect();
        for (sorted, own) in sorted.iter().zip(h.values) {
            if self.active.contains(own) {
                self.active.insert(*sorted);
            }
        }
        let starts = order.starts;
        let is = self.b.iota(width);
        let first = self.b.map("first", width, &[is, bins], |b, x| {
            let start = b.index("start", starts, &[x[1].into()]);
            vec![b.compare(CmpOp::Eq, PrimType::I64, x[0].into(), start.into()).into()]
        })[0];
        let size = width.atom().unwrap_or(Atom::i64(0));
        let end = self.b.sub_i64(size, Atom::i64(1));
        let is = self.b.iota(width);
        let last = self.b.map("last", width, &[is], |b, x| {
            let next = b.add_i64(x[0].into(), Atom::i64(1));
            let at_end: Atom = b.compare(CmpOp::Eq, PrimType::I64, x[0].into(), end).into();
            let results = b.if_(
                "last",
                at_end,
                vec![Type::BOOL],
                |_| vec![truth(true)],
                |b| vec![b.index("last", first, &[next]).into()],
            );
            vec![results[0].into()]
        })[0];
        let left = self.segmented(width, (first, &sorted), op, Side::Left);
        let right = self.segmented(width, (last, &sorted), op, Side::Right);
        // The values before a value in its bin begin with the destination.
        let destinations: Vec<Name> = h.op.destinations.iter().map(|own| self.flat(*own, h)).collect();
        let before = self.after_destination(width, (bins, first), (&left, &destinations), op);
        let mut seeds = Vec::new();
        for (adjoint, ty) in h.adjoints.iter().zip(&types) {
            let adjoint = self.name_of(*adjoint);
            let adjoint = self.flat(adjoint, h);
            let size = self.b.types.type_of(adjoint).shape()[0];
            seeds.push(Some(self.elements_at(width, &[bins], (adjoint, &[size]), ty).into()));
        }
        self.reverse_elements((width, &sorted), op, (&before, &right), &Seeds::Own(&seeds))?;
        for (sorted, own) in sorted.iter().zip(h.values) {
            if let Some(adjoint) = self.take(*sorted) {
                let adjoint = self.name_of(adjoint);
                let back = gather(self, adjoint, order.position);
                self.add((*own).into(), back.into());
            }
        }
        if !h.op.destinations.iter().any(|own| self.active.contains(own)) {
            return Ok(());
        }
        // The destination is the first operand of the rest of its bin.
        let rest_op = self.copy_operator(op);
        let rest = self.hist_of(h, h.values, rest_op);
        let mut all: Vec<Name> = h.op.destinations.iter().copied().chain(rest).collect();
        for adjoint in &h.adjoints {
            all.push(self.name_of(*adjoint));
        }
        let own = self.map_bins(&h.op.shape, &all, &mut |ad, x| {
            let seeds: Vec<Option<Atom>> = x[2 * k..].iter().map(|own| Some((*own).into())).collect();
            ad.first_operand(op, &x[..2 * k], &seeds)
        })?;
        for (destination, own) in h.op.destinations.iter().zip(own) {
            self.add((*destination).into(), own.into());
        }
        Ok(())
    }

    /// The position of each value in the order of bins, the start of each bin, and the bin of each
    /// position. Values without a bin come last, in a bin of their own.
    fn bin_order(&mut self, h: &Histogram<'_>) -> BinOrder {
        let bins = self.b.product(&h.op.shape);
        // The bin as one number.
        let bin_of = self.b.map("bin", h.width, h.indices, |b, index| {
            let mut flat = Atom::i64(0);
            let mut inside = truth(true);
            for (i, dim) in index.iter().zip(&h.op.shape) {
                let size = dim.atom().unwrap_or(Atom::i64(0));
                flat = b.mul_i64(flat, size);
                flat = b.add_i64(flat, (*i).into());
                let own = b.compare(CmpOp::ULt, PrimType::I64, (*i).into(), size);
                inside = b.binary(BinOp::And, PrimType::Bool, inside, own.into()).into();
            }
            vec![b.select(PrimType::I64, inside, flat, bins).into()]
        })[0];
        let all = self.b.add_i64(bins, Atom::i64(1));
        let all = Dim::from_atom(all).unwrap_or(Dim::Const(0));
        let ones = self.b.replicate("ones", &[h.width], Atom::i64(1));
        let op = self.addition(&[Type::I64]);
        let counts = self.hist_over((h.width, &[bin_of]), &[all], &[ones], op)[0];
        let op = self.addition(&[Type::I64]);
        let ends = self.b.scan("ends", all, &[counts], op)[0];
        let starts = self.b.map("starts", all, &[ends, counts], |b, x| {
            vec![b.binary(BinOp::Sub, PrimType::I64, x[0].into(), x[1].into()).into()]
        })[0];
        // Stable positions, one after another.
        let size = h.width.atom().unwrap_or(Atom::i64(0));
        let ty = |dim: Dim| Type::array(PrimType::I64, [dim]);
        let copy = self.b.let_basic("next", BasicOp::Copy(starts));
        let position = self.zero(&ty(h.width));
        let order = self.zero(&ty(h.width));
        let init =
            |hint: &str, ty: Type, init: Atom| LoopInit { hint: hint.to_owned(), ty, init, consumed: true };
        let inits = vec![
            init("next", ty(all), copy.into()),
            init("position", ty(h.width), position),
            init("order", ty(h.width), order),
        ];
        let results = self.b.for_loop(PrimType::I64, size, inits, |b, i, params| {
            let bin = b.index("bin", bin_of, &[i.into()]);
            let at = b.index("at", params[0], &[bin.into()]);
            let after = b.add_i64(at.into(), Atom::i64(1));
            let next = b.update("next", params[0], &[bin.into()], after);
            let position = b.update("position", params[1], &[i.into()], at.into());
            let order = b.update("order", params[2], &[at.into()], i.into());
            vec![next.into(), position.into(), order.into()]
        });
        BinOrder { bin_of, starts, position: results[1], order: results[2] }
    }

    /// An array over bins with one dimension for these.
    fn flat(&mut self, array: Name, h: &Histogram<'_>) -> Name {
        let rank = h.op.shape.len();
        if rank == 1 {
            return array;
        }
        let bins = self.b.product(&h.op.shape);
        let ty = self.b.types.type_of(array).clone();
        let outer = Dim::from_atom(bins).unwrap_or(Dim::Const(0));
        let shape = std::iter::once(outer).chain(ty.shape().iter().skip(rank).copied()).collect();
        let kind = ReshapeKind::Arbitrary;
        self.b.let_basic("flat", BasicOp::Reshape { kind, shape, array })
    }

    /// `destination op left` of each position: the destination itself at the start of a bin.
    fn after_destination(
        &mut self,
        width: Dim,
        (bins, first): (Name, Name),
        (left, destinations): (&[Name], &[Name]),
        op: &Operator<Soacs>,
    ) -> Vec<Name> {
        let types = op.op.ret.clone();
        let size = self.b.types.type_of(destinations[0]).shape()[0];
        let inputs: Vec<Name> = [bins, first].into_iter().chain(left.iter().copied()).collect();
        self.map("before", width, &inputs, |ad, x| {
            let from = destinations.iter().zip(&types);
            let from: Vec<Atom> =
                from.map(|(array, ty)| ad.element_or_zero(*array, (&[x[0].into()], &[size]), ty)).collect();
            let operands: Vec<Atom> =
                from.iter().copied().chain(x[2..].iter().map(|x| (*x).into())).collect();
            let own = ad.copy_lambda(&op.op);
            let rows = ad.b.if_("x", x[1].into(), types.clone(), |_| from, |b| b.inline(own, operands));
            rows.into_iter().map(Atom::from).collect()
        })
    }
}
