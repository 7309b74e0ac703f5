//! Laws of concatenations: a list of rules, each documented by its law, and element reads forwarded
//! to the operands.
//!
//! Operands that are consumed anywhere are left alone, as a rule would move their reads to a later
//! point. A concatenation with other uses or many reads is built anyway and is not decomposed.

use super::{Certs, Simplified, Simplifier, add_certs};
use crate::level::OptLevel;
use ir::Name;
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Param, Stm};
use ir::types::{Dim, Shape, Type};
use prim::{BinOp, CmpOp, PrimType};

/// The largest number of elements of a literal built by a rule.
const MAX_LITERAL: usize = 64;

/// The largest number of element reads that are forwarded; an array with more reads stays.
const MAX_READS: u32 = 4;

/// The largest number of operands between which an element read selects.
const MAX_OPERANDS: usize = 8;

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

impl<L: OptLevel> Simplifier<'_, L> {
    /// Applies the first applicable rule to a concatenation.
    pub(super) fn fold_concat(&mut self, concat: &Concat<'_>) -> Option<Simplified> {
        let rules: [fn(&mut Self, &Concat<'_>) -> Option<Simplified>; 5] = [
            Self::concat_single,
            Self::concat_empty,
            Self::concat_nested,
            Self::concat_replicates,
            Self::concat_literals,
        ];
        rules.iter().find_map(|rule| rule(self, concat))
    }

    /// `concat (xs) = copy xs`
    fn concat_single(&mut self, concat: &Concat<'_>) -> Option<Simplified> {
        match concat.arrays {
            [only] if self.size_in(*only, concat.dim) == Some(concat.width) => {
                Some(Simplified::Op(BasicOp::Copy(*only), Certs::new()))
            }
            _ => None,
        }
    }

    /// `concat (xs, [], ys) = concat (xs, ys)`
    fn concat_empty(&mut self, concat: &Concat<'_>) -> Option<Simplified> {
        let is_empty = |array: &Name| self.size_in(*array, concat.dim) == Some(Dim::Const(0));
        let mut arrays: Vec<Name> = concat.arrays.to_vec();
        arrays.retain(|array| !is_empty(array));
        if arrays.is_empty() {
            arrays.extend(concat.arrays.first());
        }
        (arrays.len() < concat.arrays.len()).then(|| Simplified::Op(concat.of(arrays), Certs::new()))
    }

    /// `concat (xs, concat (ys, zs)) = concat (xs, ys, zs)`
    fn concat_nested(&mut self, concat: &Concat<'_>) -> Option<Simplified> {
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
    fn concat_replicates(&mut self, concat: &Concat<'_>) -> Option<Simplified> {
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
        let may = value.var().is_none_or(|name| self.may_delay_reads(&[name]));
        may.then(|| Simplified::Op(BasicOp::Replicate { shape, value }, certs))
    }

    /// `concat ([a], [b, c], xs) = concat ([a, b, c], xs)`
    fn concat_literals(&mut self, concat: &Concat<'_>) -> Option<Simplified> {
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
        let mut aux = Aux::at(self.prov);
        aux.certs.clone_from(&certs);
        let mut arrays = Vec::with_capacity(runs.len());
        for run in runs {
            arrays.push(match run {
                Err(array) => array,
                Ok(elems) => self.make("lit", &aux, literal(elems)).var()?,
            });
        }
        Some(Simplified::Op(concat.of(arrays), certs))
    }

    /// The elements of a short array and their type, if they are known one by one.
    fn elements(&self, array: Name) -> Option<(Type, Vec<Atom>)> {
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

    /// Forwards an element read to an operand, if the concatenation's only uses are a few element
    /// reads. Emits the selection. Returns true if it did.
    ///
    /// `(concat (xs, ys))[i] = if i < n then xs[i] else ys[i - n]`
    pub(super) fn forward_element_read(&mut self, param: &Param<L>, aux: &Aux, op: &BasicOp) -> bool {
        let BasicOp::Index { array, slice } = op else {
            return false;
        };
        let Some(def) = self.def(*array).cloned() else {
            return false;
        };
        let BasicOp::Concat { dim, arrays, width: _ } = &def.op else {
            return false;
        };
        let Some(DimIndex::Fix(at)) = slice.get(*dim).copied() else {
            return false;
        };
        if !param.ty.is_prim()
            || arrays.len() > MAX_OPERANDS
            || !arrays.iter().all(|operand| self.size_in(*operand, *dim).and_then(Dim::atom).is_some())
            || !self.few_elements(*array)
            || !self.may_delay_reads(arrays)
            || !self.rewrite()
        {
            return false;
        }
        let mut all = aux.clone();
        add_certs(&mut all.certs, &def.certs);
        self.emit_select(param.clone(), all, *dim, arrays, slice, at);
        true
    }

    /// Emits a read from the operand that contains position `at`, counted from the start of the
    /// first one.
    fn emit_select(
        &mut self,
        param: Param<L>,
        aux: Aux,
        dim: usize,
        arrays: &[Name],
        slice: &[DimIndex],
        at: Atom,
    ) {
        let plain = Aux::at(aux.prov);
        // Each operand with the position in it and the condition that it contains the element.
        let mut candidates = Vec::with_capacity(arrays.len());
        let mut position = at;
        for array in arrays {
            let Some(size) = self.size_in(*array, dim).and_then(Dim::atom) else {
                return;
            };
            let here = BasicOp::compare(CmpOp::SLt, PrimType::I64, position, size);
            let cond = self.make("here", &plain, here);
            candidates.push((*array, position, cond));
            let rest = BasicOp::binary(BinOp::Sub, PrimType::I64, position, size);
            position = self.make("rest", &plain, rest);
        }
        let read = |array: Name, position: Atom| {
            let mut slice = slice.to_vec();
            slice[dim] = DimIndex::Fix(position);
            BasicOp::Index { array, slice }
        };
        let Some((last, at_last, _)) = candidates.pop() else {
            return;
        };
        let mut rest = Exp::Basic(read(last, at_last));
        for (array, position, cond) in candidates.into_iter().rev() {
            let then_body = self.only(&param, &aux, Exp::Basic(read(array, position)));
            let else_body = self.only(&param, &aux, rest);
            rest = Exp::If { cond, then_body, else_body };
        }
        if let Exp::Basic(op) = rest {
            self.basic(param, aux, op);
        } else {
            self.push(vec![param], aux, rest);
        }
    }

    /// A body of one expression.
    fn only(&mut self, like: &Param<L>, aux: &Aux, exp: Exp<L>) -> Body<L> {
        let param = self.fresh("x", like.ty.clone());
        let result = vec![Atom::Var(param.name)];
        let stms = vec![Stm { pat: vec![param], aux: aux.clone(), exp }];
        Body { stms, result }
    }

    /// The size of an array in a dimension.
    pub(super) fn size_in(&self, array: Name, dim: usize) -> Option<Dim> {
        self.type_of(array).shape().get(dim).copied()
    }

    /// Returns true if the only uses of an array are a few element reads where it is bound.
    fn few_elements(&self, array: Name) -> bool {
        self.used_here(array, MAX_READS) && self.uses.element_reads(array) == self.uses.get(array)
    }

    /// Returns true if reads of these arrays may move to a later point.
    pub(super) fn may_delay_reads(&self, arrays: &[Name]) -> bool {
        arrays.iter().all(|array| !self.aliases.consumed(*array))
    }

    /// Returns true if the name has a single use.
    pub(super) fn read_once(&self, name: Name) -> bool {
        self.uses.get(name) == Some(1)
    }
}
