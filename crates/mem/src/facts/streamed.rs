//! Elements of vectors that a body reads at its segop's own index: if several sub-chunks are
//! reduced in lockstep, such elements can be transposed into lane order together (the CPU's form of
//! the coalescing in section 4 of the redomap paper).

use ir::facts::FactFlag;
use ir::name::Name;
use ir::seg::SegSpace;
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp};
use ir::types::Type;
use ir::{Fuel, Mems};
use rustc_hash::FxHashSet;

/// Marks such elements.
pub(super) fn mark(space: &SegSpace, body: &mut Body<Mems>, fuel: &mut Fuel) {
    let [(index, _)] = space.dims.as_slice() else {
        return;
    };
    let at_index = DimIndex::Fix(Atom::Var(*index));
    let bound: FxHashSet<Name> =
        (body.stms.iter()).flat_map(|stm| stm.pat.iter().map(|param| param.name)).collect();
    for stm in &mut body.stms {
        let Exp::Basic(BasicOp::Index { array, slice }) = &stm.exp else {
            continue;
        };
        let [param] = stm.pat.as_slice() else {
            continue;
        };
        // Except for reads that depend on a check in the body.
        let checked = stm.aux.certs.iter().any(|cert| bound.contains(cert));
        let indexed = slice.as_slice() == std::slice::from_ref(&at_index);
        let scalar = matches!(param.ty, Type::Prim(_));
        if scalar && indexed && !checked && !bound.contains(array) && fuel.take() {
            stm.aux.facts.add(FactFlag::Streamed);
        }
    }
}
