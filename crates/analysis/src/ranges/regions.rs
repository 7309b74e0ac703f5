//! Disjointness of regions of an array: an element and a written region.

use super::{Certs, Ranges, add_certs};
use ir::syntax::{Atom, DimIndex};
use ir::types::Dim;
use prim::CmpOp;

impl Ranges {
    /// Compares an index with a written region: true if it is exactly the written element, false if
    /// it is certainly outside. Also returns the certificates that this depends on.
    pub fn compare_index(&self, at: &[DimIndex], written: &[DimIndex]) -> Option<(bool, Certs)> {
        let mut all = Certs::new();
        let mut same = true;
        for (read, write) in at.iter().zip(written) {
            let DimIndex::Fix(read) = *read else {
                return None;
            };
            match *write {
                DimIndex::Fix(write) if read == write => {}
                DimIndex::Fix(write) => match self.compare(CmpOp::Eq, read, write) {
                    Some((false, proof)) => return Some((false, proof)),
                    Some((true, proof)) => add_certs(&mut all, &proof),
                    None => same = false,
                },
                DimIndex::Slice { start, count, stride } => {
                    if let Some(proof) = self.outside_range(read, start, count, stride) {
                        return Some((false, proof));
                    }
                    same = false;
                }
            }
        }
        same.then_some((true, all))
    }

    /// The certificates proving that an index is outside of a range with stride 1.
    fn outside_range(&self, at: Atom, start: Atom, count: Dim, stride: Atom) -> Option<Certs> {
        if stride != Atom::i64(1) {
            return None;
        }
        let before = self.at_most(at, start, -1);
        before.or_else(|| {
            let zero = start == Atom::i64(0);
            let end = if zero { count.atom() } else { None };
            self.at_most(end?, at, 0)
        })
    }
}
