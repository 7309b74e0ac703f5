//! Exclusive scans from either side, of whole arrays or of segments: the values before and after each
//! element that the rules of reductions, scans and histograms need.

use super::reduce_special::truth;
use crate::state::Ad;
use ir::Name;
use ir::soac::{Operator, Soacs};
use ir::syntax::{Atom, BasicOp, DimIndex, Exp};
use ir::types::{Dim, Type};
use prim::{BinOp, CmpOp, PrimType};

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
        self.neighbours(width, &scanned, op, (side, None))
    }

    /// [`Self::exclusive`] within segments; the flag is set at the element of each segment that is
    /// next to the side.
    pub(super) fn segmented(
        &mut self,
        width: Dim,
        (flags, values): (Name, &[Name]),
        op: &Operator<Soacs>,
        side: Side,
    ) -> Vec<Name> {
        let own = self.segmented_operator(op, side);
        let inputs: Vec<Name> = std::iter::once(flags).chain(values.iter().copied()).collect();
        let scanned = self.scan_from(width, &inputs, own, side);
        self.neighbours(width, &scanned[1..], op, (side, Some(flags)))
    }

    /// The operator on flags and values that begins again where the second operand's flag is set.
    fn segmented_operator(&mut self, op: &Operator<Soacs>, side: Side) -> Operator<Soacs> {
        let types = op.op.ret.clone();
        let all: Vec<Type> = std::iter::once(Type::BOOL).chain(types.iter().cloned()).collect();
        let own = self.copy_lambda(&op.op);
        let params: Vec<_> = all.iter().chain(&all).map(|ty| self.b.param("x", ty.clone())).collect();
        let (x, y) = params.split_at(all.len());
        let outer = self.b.open();
        let flag = self.b.binary(BinOp::Or, PrimType::Bool, x[0].name.into(), y[0].name.into());
        let values = |own: &[ir::syntax::Param<Soacs>]| -> Vec<Atom> {
            own[1..].iter().map(|param| param.name.into()).collect()
        };
        let (earlier, later) = (values(x), values(y));
        // From the right, the operand that comes later in the scan is the earlier element.
        let operands = match side {
            Side::Left => [earlier, later.clone()].concat(),
            Side::Right => [later.clone(), earlier].concat(),
        };
        let hinted: Vec<Type> = types;
        let results = self.b.if_("x", y[0].name.into(), hinted, |_| later, |b| b.inline(own, operands));
        let result = std::iter::once(flag).chain(results).map(Atom::from).collect();
        let neutral = std::iter::once(truth(false)).chain(op.neutral.iter().copied()).collect();
        Operator { op: self.close_lambda(outer, params, result), neutral, comm: false }
    }

    /// Scans arrays from a side on.
    fn scan_from(&mut self, width: Dim, inputs: &[Name], op: Operator<Soacs>, side: Side) -> Vec<Name> {
        let ordered: Vec<Name> = match side {
            Side::Left => inputs.to_vec(),
            Side::Right => inputs.iter().map(|input| self.reversed(*input, width)).collect(),
        };
        self.b.scan("scanned", width, &ordered, op)
    }

    /// For each element, the value of a scan at its neighbour: the neutral element if there is none on
    /// that side, or where a flag is set.
    pub(super) fn neighbours(
        &mut self,
        width: Dim,
        scanned: &[Name],
        op: &Operator<Soacs>,
        (side, edges): (Side, Option<Name>),
    ) -> Vec<Name> {
        let size = width.atom().unwrap_or(Atom::i64(0));
        let inputs: Vec<Name> = std::iter::once(self.b.iota(width)).chain(edges).collect();
        self.b.map("neighbour", width, &inputs, |b, x| {
            // The position in the scan, which is counted from its side.
            let at = match side {
                Side::Left => b.sub_i64(x[0].into(), Atom::i64(1)),
                Side::Right => {
                    let last = b.sub_i64(size, Atom::i64(2));
                    b.sub_i64(last, x[0].into())
                }
            };
            let edge = match x.get(1) {
                Some(flag) => Atom::from(*flag),
                None => b.compare(CmpOp::SLt, PrimType::I64, at, Atom::i64(0)).into(),
            };
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
        let start = self.b.sub_i64(width.atom().unwrap_or(Atom::i64(0)), Atom::i64(1));
        let mut slice = self.whole(array);
        slice[0] = DimIndex::Slice { start, count: width, stride: Atom::i64(-1) };
        self.b.let_exp("reversed", Exp::Basic(BasicOp::Index { array, slice }))
    }
}
