//! Laws of updates: a list of rules, each documented by its law.
//!
//! An update of an array without other uses may be merged into the array's definition; a value
//! whose read moves to a later point must not be consumed.

use super::{Certs, Knowledge, Simplified, add_certs};
use ir::Name;
use ir::syntax::{Atom, BasicOp, DimIndex};
use ir::types::{Dim, Shape};
use smallvec::smallvec;

/// The largest number of elements of a literal into which updates are merged.
const LONG: usize = 16;

/// An update.
pub(super) struct Update<'a> {
    pub(super) array: Name,
    pub(super) slice: &'a [DimIndex],
    pub(super) value: Atom,
}

impl Knowledge<'_> {
    /// Applies the first applicable rule to an update.
    pub(super) fn fold_update(&self, update: &Update<'_>) -> Option<Simplified> {
        let rules: [fn(&Self, &Update<'_>) -> Option<Simplified>; 7] = [
            Self::update_of_nothing,
            Self::update_with_itself,
            Self::update_of_one,
            Self::overwritten_update,
            Self::update_with_the_same,
            Self::update_of_all,
            Self::update_of_literal,
        ];
        rules.iter().find_map(|rule| rule(self, update))
    }

    /// `xs with [a :+ 0] = ys` is `xs`.
    fn update_of_nothing(&self, update: &Update<'_>) -> Option<Simplified> {
        let is_empty = |index: &DimIndex| matches!(index, DimIndex::Slice { count: Dim::Const(0), .. });
        let none = update.slice.iter().any(is_empty);
        none.then(|| Simplified::Atom(Atom::Var(update.array), Certs::new()))
    }

    /// `xs with [i] = xs[i]` is `xs`.
    fn update_with_itself(&self, update: &Update<'_>) -> Option<Simplified> {
        let def = self.def_of(update.value)?;
        let BasicOp::Index { array: read, slice: read_slice } = &def.op else {
            return None;
        };
        (*read == update.array && read_slice.as_slice() == update.slice)
            .then(|| Simplified::Atom(Atom::Var(update.array), def.certs.clone()))
    }

    /// `xs with [i :+ 1] = replicate 1 x` is `xs with [i] = x`, and likewise for literals.
    fn update_of_one(&self, update: &Update<'_>) -> Option<Simplified> {
        let def = self.def_of(update.value)?;
        let (shape, inner): (Shape, Atom) = if let BasicOp::Replicate { shape, value } = &def.op {
            (shape.clone(), *value)
        } else if let BasicOp::ArrayLit { row: _, elems } = &def.op
            && let [only] = elems.as_slice()
        {
            (smallvec![Dim::Const(1)], *only)
        } else {
            return None;
        };
        let may = self.may_delay_reads(inner.var().as_slice());
        if !may || shape.iter().any(|dim| *dim != Dim::Const(1)) {
            return None;
        }
        let mut rest = shape.len();
        let slice = update
            .slice
            .iter()
            .map(|index| match index {
                DimIndex::Slice { start, .. } if rest > 0 => {
                    rest -= 1;
                    DimIndex::Fix(*start)
                }
                DimIndex::Slice { .. } | DimIndex::Fix(_) => *index,
            })
            .collect();
        let op = BasicOp::Update { array: update.array, slice, value: inner };
        Some(Simplified::Op(op, def.certs.clone()))
    }

    /// `(xs with [i] = a) with [i] = b` is `xs with [i] = b`.
    fn overwritten_update(&self, update: &Update<'_>) -> Option<Simplified> {
        let def = self.def(update.array)?;
        let BasicOp::Update { array, slice, .. } = &def.op else {
            return None;
        };
        if slice.as_slice() != update.slice || !self.last_use(update.array) {
            return None;
        }
        let op = BasicOp::Update { array: *array, slice: slice.clone(), value: update.value };
        Some(Simplified::Op(op, def.certs.clone()))
    }

    /// `(replicate n x) with [i] = x` is `replicate n x`.
    fn update_with_the_same(&self, update: &Update<'_>) -> Option<Simplified> {
        let filled = |array: Name| {
            let def = self.def(array)?;
            let BasicOp::Replicate { shape: _, value } = &def.op else {
                return None;
            };
            let scalar = self.type_of_atom(*value).is_prim();
            scalar.then(|| (*value, def.certs.clone()))
        };
        let (fill, mut certs) = filled(update.array)?;
        let written = match update.value {
            Atom::Var(name) if self.type_of(name).is_array() => {
                let (written, more) = filled(name)?;
                add_certs(&mut certs, &more);
                written
            }
            Atom::Var(_) | Atom::Const(_) => update.value,
        };
        (written == fill).then(|| Simplified::Atom(Atom::Var(update.array), certs))
    }

    /// `xs with [0 :+ n] = ys` is `copy ys`, if `xs` is a fill of `n` elements with no other use.
    fn update_of_all(&self, update: &Update<'_>) -> Option<Simplified> {
        let value = update.value.var()?;
        let def = self.def(update.array)?;
        let fill = matches!(
            def.op,
            BasicOp::Replicate { .. }
                | BasicOp::Iota { .. }
                | BasicOp::Scratch { .. }
                | BasicOp::ConstArray { .. }
        );
        let ty = self.type_of(update.array);
        let mut each = update.slice.iter().zip(ty.shape());
        let whole = each.all(|(index, dim)| index.is_full(*dim));
        let may = fill && whole && self.last_use(update.array) && self.may_delay_reads(&[value]);
        may.then(|| Simplified::Op(BasicOp::Copy(value), def.certs.clone()))
    }

    /// `[a, b, c] with [1] = x` is `[a, x, c]`, and likewise for short replicates.
    fn update_of_literal(&self, update: &Update<'_>) -> Option<Simplified> {
        let &[DimIndex::Fix(Atom::Const(at))] = update.slice else {
            return None;
        };
        let def = self.def(update.array)?;
        let (row, mut elems) = self.elements(update.array)?;
        if elems.len() > LONG || !self.last_use(update.array) {
            return None;
        }
        *elems.get_mut(usize::try_from(at.as_i64()?).ok()?)? = update.value;
        Some(Simplified::Op(BasicOp::ArrayLit { row, elems }, def.certs.clone()))
    }
}
