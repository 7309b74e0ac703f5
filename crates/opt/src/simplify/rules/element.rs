//! Element reads resolved without the array: through copies, fills and rows, and through updates.
//!
//! The initial contents of an array stay known when it is consumed later: an element of a fill does
//! not need the array. A written element, or one that updates do not touch, is found through at
//! most [`UPDATES`] updates.

use super::{Certs, Knowledge, NewOps, Simplified, add_certs};
use ir::Name;
use ir::syntax::{Atom, BasicOp, DimIndex};
use ir::types::Dim;
use prim::{BinOp, PrimType};

/// The largest number of updates through which a read is traced.
const UPDATES: usize = 16;

impl Knowledge<'_> {
    /// `(copy xs)[i] = xs[i]`; if `xs` is consumed, only where its elements are known without it.
    pub(super) fn element_of(
        &self,
        source: Name,
        slice: Vec<DimIndex>,
        certs: Certs,
        new: &mut NewOps<'_>,
    ) -> Option<Simplified> {
        if !self.aliases.consumed(source) {
            let array = source;
            return Some(Simplified::Op(BasicOp::Index { array, slice }, certs));
        }
        self.element_of_known(source, &slice, certs, new)
    }

    /// An element of a fill, a constant or a literal, which may be consumed.
    fn element_of_known(
        &self,
        source: Name,
        slice: &[DimIndex],
        certs: Certs,
        new: &mut NewOps<'_>,
    ) -> Option<Simplified> {
        let known = matches!(
            self.def(source)?.op,
            BasicOp::Iota { .. }
                | BasicOp::Replicate { .. }
                | BasicOp::ConstArray { .. }
                | BasicOp::ArrayLit { .. }
        );
        if !known {
            return None;
        }
        let mut folded = self.fold_index(source, slice, source, new)?;
        let (Simplified::Atom(_, own) | Simplified::Op(_, own)) = &mut folded;
        add_certs(own, &certs);
        Some(folded)
    }

    /// `(reshape [n] (flatindex xs from (n by step, 1 by ..)))[i] = xs[from + i * step]`, where all
    /// dimensions but one have one element.
    fn element_of_flat_view(
        &self,
        (source, offset, dims): (Name, Atom, &[(Dim, Atom)]),
        at: Atom,
        certs: Certs,
        new: &mut NewOps<'_>,
    ) -> Option<Simplified> {
        let mut long = dims.iter().filter(|(count, _)| *count != Dim::Const(1));
        let step = long.next();
        if long.next().is_some() || self.type_of(source).rank() != 1 {
            return None;
        }
        let position = match step {
            Some(dim) => self.flat_position(offset, &[*dim], &[at], new),
            None => offset,
        };
        let op = BasicOp::Index { array: source, slice: vec![DimIndex::Fix(position)] };
        Some(Simplified::Op(op, certs))
    }

    /// `(reshape [n * m] (replicate n row))[i] = row[i % m]`
    pub(super) fn element_of_flat_rows(
        &self,
        source: Name,
        at: &[Atom],
        certs: Certs,
        new: &mut NewOps<'_>,
    ) -> Option<Simplified> {
        let &[at] = at else { return None };
        let def = self.def(source)?;
        let mut certs = certs;
        add_certs(&mut certs, &def.certs);
        if let BasicOp::FlatIndex { array, offset, dims } = &def.op {
            return self.element_of_flat_view((*array, *offset, dims), at, certs, new);
        }
        let BasicOp::Replicate { shape: _, value } = &def.op else {
            return None;
        };
        let row = self.type_of_atom(*value);
        if row.is_prim() {
            return Some(Simplified::Atom(*value, certs));
        }
        let &[size] = row.shape() else { return None };
        let row = value.var()?;
        let fill = self.def(row).is_some_and(|def| {
            matches!(def.op, BasicOp::Iota { .. } | BasicOp::Replicate { .. } | BasicOp::ConstArray { .. })
        });
        if self.aliases.consumed(row) && !fill {
            return None;
        }
        // An element exists, so the row's size is positive; the remainder must not depend on that
        // fact.
        let one = BasicOp::binary(BinOp::SMax, PrimType::I64, size.atom()?, Atom::i64(1));
        let some = self.make(new, "some", one);
        let within = BasicOp::binary(BinOp::SRem, PrimType::I64, at, some);
        let slice = vec![DimIndex::Fix(self.make(new, "within", within))];
        self.element_of(row, slice, certs, new)
    }

    /// `[row][0] = copy row`, and likewise for replicates, if the array of rows has no other use.
    pub(super) fn only_row(
        &self,
        array: Name,
        row: Atom,
        rest: &[DimIndex],
        certs: &Certs,
    ) -> Option<Simplified> {
        let row = row.var()?;
        let ty = self.type_of(row);
        let mut each = rest.iter().zip(ty.shape());
        let whole = each.all(|(index, dim)| index.is_full(*dim));
        let may = whole && self.last_use(array) && self.may_delay_reads(&[row]);
        may.then(|| Simplified::Op(BasicOp::Copy(row), certs.clone()))
    }

    /// An element of an updated array: the written value, or the value before, if it is known
    /// without the array.
    pub(super) fn read_after_updates(
        &self,
        array: Name,
        at: &[DimIndex],
        new: &mut NewOps<'_>,
    ) -> Option<Simplified> {
        let (mut array, mut certs) = (array, Certs::new());
        for _ in 0..UPDATES {
            let def = self.def(array)?;
            add_certs(&mut certs, &def.certs);
            let BasicOp::Update { array: before, slice: written, value } = &def.op else {
                return self.element_of_known(array, at, certs, new);
            };
            match self.ranges.compare_index(at, written) {
                Some((true, proof)) => {
                    add_certs(&mut certs, &proof);
                    return Some(Simplified::Atom(*value, certs));
                }
                Some((false, proof)) => add_certs(&mut certs, &proof),
                None => return None,
            }
            array = *before;
        }
        None
    }
}
