//! Shared columns: elements that all iterations of a map read in a loop, for each index of an
//! independent loop around it.
//!
//! ```text
//! segmap (i < n) { loop for j < m {independent} { loop for k < l { a[i, k]
//!                                                                  b[k, j]  shared by all i } } }
//! ```
//!
//! The more iterations run one after another, the more uses follow one read of such an element. The
//! bounds of the loops are known outside of the segop, so iterations cost the same.

use super::Locations;
use analysis::affine::{MAX_TERMS, Values, Widths};
use ir::Mems;
use ir::facts::FactFlag;
use ir::mem::{MemAnn, view};
use ir::name::Name;
use ir::seg::Seg;
use ir::syntax::{BasicOp, Exp, LoopForm, Stm};
use ir::types::Type;
use ir::walk::{Visit, binders};
use rustc_hash::FxHashSet;

/// Returns true if iterations of a map share columns.
pub(super) fn has_shared_columns(seg: &Seg<Mems>, locations: &Locations) -> bool {
    let [(index, _)] = seg.space.dims.as_slice() else {
        return false;
    };
    let inside: FxHashSet<Name> = binders(&seg.body).into_iter().chain([*index]).collect();
    let values = Values::new(Widths::Exact);
    let mut search = Search { locations, inside, values, loops: Vec::new(), found: false };
    search.body(&seg.body);
    search.found
}

struct Search<'p> {
    locations: &'p Locations,
    inside: FxHashSet<Name>,
    values: Values,
    /// The counters of the loops around, and whether their iterations are independent.
    loops: Vec<(Name, bool)>,
    found: bool,
}

impl Search<'_> {
    /// Returns true if all iterations of the map read this element, for each index of an
    /// independent loop, in a loop inside of that.
    fn is_shared(&self, op: &BasicOp) -> bool {
        let BasicOp::Index { array, .. } = op else {
            return false;
        };
        let Some((_, MemAnn::In { lmad, .. })) = self.locations.arrays.get(array) else {
            return false;
        };
        let Some((_, at)) = view(op, &[], |_| Some(lmad.clone())) else {
            return false;
        };
        let offset = self.values.resolved(at.offset);
        let counts = |name: Name| self.loops.iter().any(|(counter, _)| *counter == name);
        let known = |name| counts(name) || !self.inside.contains(&name);
        if offset.terms().len() > MAX_TERMS || !offset.names().all(known) {
            return false;
        }
        let uses = |counter: Name| offset.names().any(|name| name == counter);
        let column = self.loops.iter().position(|(counter, independent)| *independent && uses(*counter));
        column.is_some_and(|at| self.loops[at + 1..].iter().any(|(counter, _)| uses(*counter)))
    }
}

impl Visit<Mems> for Search<'_> {
    fn stm(&mut self, stm: &Stm<Mems>) {
        match (&stm.exp, stm.pat.as_slice()) {
            (Exp::Basic(op), [param]) => {
                self.found |= self.is_shared(op);
                if param.ty == Type::I64 {
                    self.values.record(param.name, op);
                }
            }
            (Exp::Loop { form: LoopForm::For { var, bound, .. }, body, .. }, _) => {
                if bound.var().is_none_or(|bound| !self.inside.contains(&bound)) {
                    self.loops.push((*var, stm.aux.facts.has(FactFlag::Independent)));
                    self.body(body);
                    self.loops.pop();
                }
            }
            _ => self.walk_stm(stm),
        }
    }
}
