//! Laws of concatenations: a list of rules, each documented by its law.
//!
//! Operands that are consumed anywhere are left alone, as a rule would move their reads to a later
//! point. A concatenation with other uses or many reads is built anyway and is not decomposed.

use super::{Certs, Knowledge, NewOps, Simplified, add_certs};
use ir::Name;
use ir::syntax::{Atom, BasicOp};
use ir::types::{Dim, Shape, Type};

/// The largest number of elements of a literal built by a rule.
const MAX_LITERAL: usize = 64;

/// A concatenation.
pub(super) struct Concat<'a> {
    pub(super) dim: usize,
    pub(super) arrays: &'a [Name],
    pub(super) width: Dim,
}

impl Concat<'_> {
    fn of(&self, arrays: Vec<Name>) -> BasicOp {
        BasicOp::Concat { dim: self.dim, arrays, width: self.width }
    }
}

impl Knowledge<'_> {
    /// Applies the first applicable rule to a concatenation.
    pub(super) fn fold_concat(&self, concat: &Concat<'_>, new: &mut NewOps<'_>) -> Option<Simplified> {
        self.concat_single(concat)
            .or_else(|| self.concat_empty(concat))
            .or_else(|| self.concat_nested(concat))
            .or_else(|| self.concat_replicates(concat))
            .or_else(|| self.concat_literals(concat, new))
    }

    /// `concat (xs) = copy xs`
    fn concat_single(&self, concat: &Concat<'_>) -> Option<Simplified> {
        match concat.arrays {
            [only] if self.size_in(*only, concat.dim) == Some(concat.width) => {
                Some(Simplified::Op(BasicOp::Copy(*only), Certs::new()))
            }
            _ => None,
        }
    }

    /// `concat (xs, [], ys) = concat (xs, ys)`
    fn concat_empty(&self, concat: &Concat<'_>) -> Option<Simplified> {
        let is_empty = |array: &Name| self.size_in(*array, concat.dim) == Some(Dim::Const(0));
        let mut arrays: Vec<Name> = concat.arrays.to_vec();
        arrays.retain(|array| !is_empty(array));
        if arrays.is_empty() {
            arrays.extend(concat.arrays.first());
        }
        (arrays.len() < concat.arrays.len()).then(|| Simplified::Op(concat.of(arrays), Certs::new()))
    }

    /// `concat (xs, concat (ys, zs)) = concat (xs, ys, zs)`
    fn concat_nested(&self, concat: &Concat<'_>) -> Option<Simplified> {
        let (mut arrays, mut certs) = (Vec::new(), Certs::new());
        for array in concat.arrays {
            match self.def(*array).map(|def| (&def.op, &def.certs)) {
                Some((BasicOp::Concat { dim, arrays: inner, width: _ }, more))
                    if *dim == concat.dim && self.read_once(*array) && self.may_delay_reads(inner) =>
                {
                    arrays.extend_from_slice(inner);
                    add_certs(&mut certs, more);
                }
                _ => arrays.push(*array),
            }
        }
        (arrays.len() > concat.arrays.len()).then(|| Simplified::Op(concat.of(arrays), certs))
    }

    /// `concat (replicate n x, replicate m x) = replicate (n + m) x`
    fn concat_replicates(&self, concat: &Concat<'_>) -> Option<Simplified> {
        let (mut value, mut certs) = (None, Certs::new());
        for array in concat.arrays {
            let def = self.def(*array)?;
            let BasicOp::Replicate { shape, value: own } = &def.op else {
                return None;
            };
            let mut shape = shape.clone();
            *shape.get_mut(concat.dim)? = concat.width;
            let same = (*own, shape);
            if value.get_or_insert_with(|| same.clone()) != &same {
                return None;
            }
            add_certs(&mut certs, &def.certs);
        }
        let (value, shape) = value?;
        let may = self.may_delay_reads(value.var().as_slice());
        may.then(|| Simplified::Op(BasicOp::Replicate { shape, value }, certs))
    }

    /// `concat ([a], [b, c], xs) = concat ([a, b, c], xs)`
    fn concat_literals(&self, concat: &Concat<'_>, new: &mut NewOps<'_>) -> Option<Simplified> {
        if concat.dim != 0 {
            return None;
        }
        let mut certs = Certs::new();
        // Runs of literals, and other arrays.
        let mut runs: Vec<Result<Vec<Atom>, Name>> = Vec::new();
        let mut row = None;
        for array in concat.arrays {
            let Some((own, elems)) = self.elements(*array) else {
                runs.push(Err(*array));
                continue;
            };
            row.get_or_insert(own);
            if let Some(def) = self.def(*array) {
                add_certs(&mut certs, &def.certs);
            }
            match runs.last_mut() {
                Some(Ok(run)) if run.len() + elems.len() <= MAX_LITERAL => run.extend(elems),
                _ => runs.push(Ok(elems)),
            }
        }
        if runs.len() == concat.arrays.len() {
            return None;
        }
        let row = row?;
        let literal = |elems| BasicOp::ArrayLit { row: row.clone(), elems };
        if let [Ok(run)] = runs.as_slice() {
            let sized = i64::try_from(run.len()).is_ok_and(|n| Dim::Const(n) == concat.width);
            let elems = runs.pop()?.ok()?;
            return sized.then(|| Simplified::Op(literal(elems), certs));
        }
        let mut arrays = Vec::with_capacity(runs.len());
        for run in runs {
            arrays.push(match run {
                Err(array) => array,
                Ok(elems) => new.checked("lit", literal(elems), &certs),
            });
        }
        Some(Simplified::Op(concat.of(arrays), certs))
    }

    /// The elements of a short array and their type, if they are known one by one.
    pub(super) fn elements(&self, array: Name) -> Option<(Type, Vec<Atom>)> {
        let def = self.def(array)?;
        if let BasicOp::ArrayLit { row, elems } = &def.op {
            return row.is_prim().then(|| (row.clone(), elems.clone()));
        }
        let BasicOp::Replicate { shape, value } = &def.op else {
            return None;
        };
        let [Dim::Const(n)] = shape.as_slice() else {
            return None;
        };
        let n = usize::try_from(*n).ok().filter(|n| *n <= MAX_LITERAL)?;
        let ty = self.type_of_atom(*value);
        ty.is_prim().then(|| (ty, vec![*value; n]))
    }

    /// `coerce [n] (concat (xs, ys))` is the concatenation of that width.
    pub(super) fn coerced_concat(&self, shape: &Shape, array: Name) -> Option<Simplified> {
        let def = self.def(array)?;
        let BasicOp::Concat { dim, arrays, width: _ } = &def.op else {
            return None;
        };
        let old = self.type_of(array);
        let differs = |i: usize| old.shape().get(i) != shape.get(i);
        if (0..shape.len()).any(|i| i != *dim && differs(i))
            || !self.last_use(array)
            || !self.may_delay_reads(arrays)
        {
            return None;
        }
        let op = BasicOp::Concat { dim: *dim, arrays: arrays.clone(), width: *shape.get(*dim)? };
        Some(Simplified::Op(op, def.certs.clone()))
    }
}
