//! Element reads of concatenations, forwarded to the operands.
//!
//! A concatenation with other uses or many reads is built anyway, so its reads stay.

use super::{Simplifier, add_certs};
use crate::level::OptLevel;
use ir::Name;
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Param, Stm};
use ir::types::Dim;
use prim::{BinOp, CmpOp, PrimType};

/// The largest number of element reads that are forwarded; an array with more reads stays.
const MAX_READS: u32 = 4;

/// The largest number of operands between which an element read selects.
const MAX_OPERANDS: usize = 8;

impl<L: OptLevel> Simplifier<'_, L> {
    /// Forwards an element read to an operand, if the concatenation's only uses are a few element
    /// reads. Emits the selection. Returns true if it did.
    ///
    /// `(concat (xs, ys))[i] = if i < n then xs[i] else ys[i - n]`
    pub(super) fn forward_element_read(&mut self, param: &Param<L>, aux: &Aux, op: &BasicOp) -> bool {
        let BasicOp::Index { array, slice } = op else {
            return false;
        };
        let Some(def) = self.known.def(*array).cloned() else {
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
            || !arrays.iter().all(|operand| self.known.size_in(*operand, *dim).and_then(Dim::atom).is_some())
            || !self.few_elements(*array)
            || !self.known.may_delay_reads(arrays)
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
            let Some(size) = self.known.size_in(*array, dim).and_then(Dim::atom) else {
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
            // The reads in the branches are not simplified.
            self.left.to_simplify = true;
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

    /// Returns true if the only uses of an array are a few element reads where it is bound.
    fn few_elements(&self, array: Name) -> bool {
        self.known.used_here(array, MAX_READS)
            && self.known.uses.element_reads(array) == self.known.uses.get(array)
    }
}
