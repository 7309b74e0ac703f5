//! Laws of replicates and literals; each rule implements one law.
//!
//! A value whose read moves to a later point must not be consumed. A fresh array with other uses is
//! built anyway, so it is not replaced.

use super::{Certs, Knowledge, NewOps, Simplified, add_certs};
use ir::Name;
use ir::syntax::{Atom, BasicOp, DimIndex, ReshapeKind};
use ir::types::{Dim, Shape, Type};
use prim::{BinOp, PrimType};
use smallvec::smallvec;

/// The largest number of elements of a literal built by a rule.
const LONG: usize = 256;

impl Knowledge<'_> {
    /// Applies the rules to a literal.
    pub(super) fn fold_literal(
        &self,
        row: &Type,
        elems: &[Atom],
        new: &mut NewOps<'_>,
    ) -> Option<Simplified> {
        Self::literal_of_equals(row, elems).or_else(|| self.literal_of_literals(row, elems, new))
    }

    /// `[x, x, x] = replicate 3 x`
    fn literal_of_equals(row: &Type, elems: &[Atom]) -> Option<Simplified> {
        let [first, _, ..] = elems else { return None };
        if !row.is_prim() || !elems.iter().all(|elem| elem == first) {
            return None;
        }
        let shape = smallvec![Dim::Const(i64::try_from(elems.len()).ok()?)];
        let value = *first;
        Some(Simplified::Op(BasicOp::Replicate { shape, value }, Certs::new()))
    }

    /// `[[a, b], [c, d]] = reshape [2][2] [a, b, c, d]`
    fn literal_of_literals(&self, row: &Type, elems: &[Atom], new: &mut NewOps<'_>) -> Option<Simplified> {
        let Type::Array { elem, shape } = row else {
            return None;
        };
        let [Dim::Const(_)] = shape.as_slice() else {
            return None;
        };
        let (mut all, mut certs) = (Vec::new(), Certs::new());
        for name in elems.iter().map(|elem| elem.var()) {
            let name = name.filter(|name| self.read_once(*name))?;
            let def = self.def(name)?;
            let BasicOp::ArrayLit { row: _, elems } = &def.op else {
                return None;
            };
            all.extend_from_slice(elems);
            add_certs(&mut certs, &def.certs);
            if all.len() > LONG {
                return None;
            }
        }
        let whole = std::iter::once(Dim::Const(i64::try_from(elems.len()).ok()?));
        let shape = whole.chain(shape.iter().copied()).collect();
        let flat = BasicOp::ArrayLit { row: Type::Prim(*elem), elems: all };
        let array = new.checked("lit", flat, &certs);
        let op = BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape, array };
        Some(Simplified::Op(op, certs))
    }

    /// `coerce [n] (iota m) = iota n`, and likewise for replicates.
    pub(super) fn coerced_fill(&self, shape: &Shape, array: Name) -> Option<Simplified> {
        let def = self.def(array)?;
        if !self.last_use(array) {
            return None;
        }
        let op = if let BasicOp::Replicate { shape: outer, value } = &def.op {
            self.repeated_in(shape, outer.len(), *value)?
        } else if let BasicOp::Iota { ty, count: _, start, stride } = &def.op {
            BasicOp::Iota { ty: *ty, count: *shape.first()?, start: *start, stride: *stride }
        } else {
            return None;
        };
        Some(Simplified::Op(op, def.certs.clone()))
    }

    /// `reshape [a][b] (replicate n x) = replicate [a][b] x`
    pub(super) fn reshaped_replicate(&self, shape: &Shape, array: Name) -> Option<Simplified> {
        let def = self.def(array)?;
        let BasicOp::Replicate { shape: _, value } = &def.op else {
            return None;
        };
        let inner = self.type_of_atom(*value).rank();
        let outer = shape.len().checked_sub(inner).filter(|outer| *outer > 0)?;
        if !self.last_use(array) {
            return None;
        }
        let op = self.repeated_in(shape, outer, *value)?;
        Some(Simplified::Op(op, def.certs.clone()))
    }

    /// A value replicated to an array of this shape, over the outer dimensions.
    fn repeated_in(&self, shape: &Shape, outer: usize, value: Atom) -> Option<BasicOp> {
        let (outer, inner) = shape.split_at_checked(outer)?;
        let may = self.may_delay_reads(value.var().as_slice());
        if self.type_of_atom(value).shape() != inner || !may {
            return None;
        }
        let shape = Shape::from_slice(outer);
        Some(BasicOp::Replicate { shape, value })
    }

    /// `(replicate n x)[a :+ c] = replicate c x`, and likewise for iotas.
    pub(super) fn slice_of_fill(
        &self,
        array: Name,
        slice: &[DimIndex],
        new: &mut NewOps<'_>,
    ) -> Option<Simplified> {
        let def = self.def(array)?;
        if !self.last_use(array) {
            return None;
        }
        match (&def.op, slice) {
            (BasicOp::Replicate { shape, value }, _) if shape.len() == slice.len() => {
                let shape: Shape = slice
                    .iter()
                    .filter_map(|index| match index {
                        DimIndex::Fix(_) => None,
                        DimIndex::Slice { count, .. } => Some(*count),
                    })
                    .collect();
                let scalar = self.type_of_atom(*value).is_prim();
                let op = BasicOp::Replicate { shape, value: *value };
                scalar.then(|| Simplified::Op(op, def.certs.clone()))
            }
            (
                BasicOp::Iota { ty: PrimType::I64, count: _, start, stride },
                [DimIndex::Slice { start: first, count, stride: step }],
            ) => {
                let ty = PrimType::I64;
                let way = BasicOp::binary(BinOp::Mul, ty, *first, *stride);
                let way = self.make(new, "way", way);
                let start = BasicOp::binary(BinOp::Add, ty, *start, way);
                let start = self.make(new, "start", start);
                let stride = BasicOp::binary(BinOp::Mul, ty, *stride, *step);
                let stride = self.make(new, "stride", stride);
                let op = BasicOp::Iota { ty, count: *count, start, stride };
                Some(Simplified::Op(op, def.certs.clone()))
            }
            _ => None,
        }
    }
}
