//! The operations that the optimiser requires of each level's operators.

use crate::dce::{Graph, Live};
use crate::simplify::Simplifier;
use analysis::cost::CostOp;
use ir::Level;
use ir::remark::OperationKind;
use ir::syntax::{Aux, Param};

/// A level that the optimiser works on.
pub trait OptLevel: Level<Op: CostOp<Self>> {
    /// True if no fusion follows, so that a loop may drop the record of the checks made in it.
    const IS_FLATTENED: bool;

    /// Adds the dependencies of the operation's results to the graph and descends into its bodies.
    /// Every element of the pattern already depends on `stm`.
    fn dependencies(op: &Self::Op, pat: &[Param<Self>], stm: u32, graph: &mut Graph);

    /// Returns true if the given result is certainly a fresh array, which aliases nothing.
    fn is_fresh(op: &Self::Op, result: usize) -> bool;

    /// Removes the dead parts of the operation with their pattern elements, and sweeps its bodies.
    fn sweep(op: &mut Self::Op, pat: &mut Vec<Param<Self>>, live: &Live);

    /// Classifies the operation for optimisation remarks.
    fn operation(op: &Self::Op) -> OperationKind;

    /// Simplifies an operation, whose operands are already rewritten, and its bodies, and emits the
    /// result.
    fn simplify(s: &mut Simplifier<'_, Self>, pat: Vec<Param<Self>>, aux: Aux, op: Self::Op);
}
