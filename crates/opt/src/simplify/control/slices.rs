//! Conditionals that choose between slices of one array.
//!
//! ```text
//! if c then xs[i, ..] else xs[j, ..]   =>   xs[select c i j, ..]
//! ```
//!
//! A slice is a view; the result of a conditional would be a copy of it.

use super::is_speculable;
use crate::level::OptLevel;
use crate::simplify::{Simplifier, add_certs};
use analysis::thresholds;
use ir::Name;
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Param, Stm};
use ir::types::Type;
use prim::PrimType;

impl<L: OptLevel> Simplifier<'_, L> {
    /// Emits a conditional with one result as a slice, if its branches are slices of one array. Returns true if
    /// it was emitted.
    pub(super) fn selected_slice(
        &mut self,
        pat: &[Param<L>],
        aux: &Aux,
        cond: Atom,
        branches: [&Body<L>; 2],
    ) -> bool {
        let ([param], [Some(yes), Some(no)]) =
            (pat, branches.map(|body| slice_of(body, self.known.differentiates)))
        else {
            return false;
        };
        if yes.before.len() + no.before.len() > thresholds::SELECTED_STATEMENTS {
            return false;
        }
        if !param.ty.is_array() || yes.array != no.array || yes.dims.len() != no.dims.len() {
            return false;
        }
        let fixed = |dim: &DimIndex| matches!(dim, DimIndex::Fix(_));
        let mut pairs = yes.dims.iter().zip(no.dims);
        if !pairs.all(|(x, y)| x == y || fixed(x) && fixed(y)) || !self.rewrite() {
            return false;
        }
        for stm in yes.before.iter().chain(no.before) {
            self.stm(stm.clone());
        }
        let mut slice = Vec::with_capacity(yes.dims.len());
        for dims in yes.dims.iter().zip(no.dims) {
            slice.push(match dims {
                (DimIndex::Fix(yes), DimIndex::Fix(no)) if yes != no => {
                    let index = self.fresh("index", Type::I64);
                    let chosen = Atom::Var(index.name);
                    self.basic(index, Aux::at(aux.prov), BasicOp::select(PrimType::I64, cond, *yes, *no));
                    DimIndex::Fix(chosen)
                }
                (dim, _) => *dim,
            });
        }
        let mut aux = aux.clone();
        add_certs(&mut aux.certs, &yes.aux.certs);
        add_certs(&mut aux.certs, &no.aux.certs);
        self.basic(param.clone(), aux, BasicOp::Index { array: yes.array, slice });
        true
    }
}

struct Slice<'b, L: OptLevel> {
    /// Scalar statements.
    before: &'b [Stm<L>],
    aux: &'b Aux,
    array: Name,
    dims: &'b [DimIndex],
}

/// The slice that a body results in, after scalar statements that cannot fail.
fn slice_of<L: OptLevel>(body: &Body<L>, differentiates: bool) -> Option<Slice<'_, L>> {
    let ((stm, before), [Atom::Var(result)]) = (body.stms.split_last()?, body.result.as_slice()) else {
        return None;
    };
    let ([param], Exp::Basic(BasicOp::Index { array, slice })) = (stm.pat.as_slice(), &stm.exp) else {
        return None;
    };
    let is_slice = param.name == *result && before.iter().all(|stm| is_speculable(stm, differentiates));
    is_slice.then_some(Slice { before, aux: &stm.aux, array: *array, dims: slice })
}
