//! Exclusive scans from either side: the values before and after each element that the rules of
//! reductions and scans need.

use crate::state::{Ad, size_of};
use ir::Name;
use ir::soac::{Operator, Soacs};
use ir::syntax::{Atom, BasicOp, DimIndex, Exp};
use ir::types::Dim;
use prim::{CmpOp, PrimType};

/// The side on which a scan begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The first element.
    Left,
    /// The last element.
    Right,
}

impl Ad<'_> {
    /// For each element, the combination of all elements on a side of it.
    pub(super) fn exclusive(
        &mut self,
        width: Dim,
        inputs: &[Name],
        op: &Operator<Soacs>,
        side: Side,
    ) -> Vec<Name> {
        let mut own = self.copy_operator(op);
        if side == Side::Right {
            own.op.params.rotate_left(op.neutral.len());
        }
        let scanned = self.scan_from(width, inputs, own, side);
        self.neighbours(width, &scanned, op, side)
    }

    /// Scans arrays from a side on.
    fn scan_from(&mut self, width: Dim, inputs: &[Name], op: Operator<Soacs>, side: Side) -> Vec<Name> {
        let ordered: Vec<Name> = match side {
            Side::Left => inputs.to_vec(),
            Side::Right => inputs.iter().map(|input| self.reversed(*input, width)).collect(),
        };
        self.b.scan("scanned", width, &ordered, op)
    }

    /// For each element, the value of a scan at its neighbour; the neutral element if there is none on
    /// that side.
    pub(super) fn neighbours(
        &mut self,
        width: Dim,
        scanned: &[Name],
        op: &Operator<Soacs>,
        side: Side,
    ) -> Vec<Name> {
        let size = size_of(width);
        let is = self.b.iota(width);
        self.b.map("neighbour", width, &[is], |b, x| {
            // The position in the scan, which is counted from its side.
            let at = match side {
                Side::Left => b.sub_i64(x[0].into(), Atom::i64(1)),
                Side::Right => {
                    let last = b.sub_i64(size, Atom::i64(2));
                    b.sub_i64(last, x[0].into())
                }
            };
            let edge: Atom = b.compare(CmpOp::SLt, PrimType::I64, at, Atom::i64(0)).into();
            let types = op.op.ret.clone();
            let at = |b: &mut ir::build::Builder<'_, Soacs>| {
                scanned.iter().map(|own| b.index("x", *own, &[at]).into()).collect()
            };
            let rows = b.if_("x", edge, types, |_| op.neutral.clone(), at);
            rows.into_iter().map(Atom::from).collect()
        })
    }

    /// The array from its last row to its first.
    pub(super) fn reversed(&mut self, array: Name, width: Dim) -> Name {
        let start = self.b.sub_i64(size_of(width), Atom::i64(1));
        let mut slice = self.whole(array);
        slice[0] = DimIndex::Slice { start, count: width, stride: Atom::i64(-1) };
        self.b.let_exp("reversed", Exp::Basic(BasicOp::Index { array, slice }))
    }
}
