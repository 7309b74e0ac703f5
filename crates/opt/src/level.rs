//! What the optimiser must know of each level's operations.

use crate::dce::{Graph, Live};
use crate::simplify::Simplifier;
use ir::Level;
use ir::decision::Operation;
use ir::syntax::{Aux, Param};

/// A level that the optimiser works on.
pub trait OptLevel: Level {
    /// Whether nothing fuses any more, so that nothing is lost where a loop no longer
    /// says what was checked in it.
    const FLAT: bool;

    /// Tells the dependency graph what the results of the operation need, and
    /// goes on into its bodies. Every element of the pattern needs `stm` already.
    fn dependencies(op: &Self::Op, pat: &[Param<Self>], stm: u32, graph: &mut Graph);

    /// Whether the result in this place is certainly an array of its own, that
    /// aliases nothing.
    fn is_fresh(op: &Self::Op, result: usize) -> bool;

    /// Removes the parts of the operation that nothing needs, with their
    /// elements of the pattern, and sweeps its bodies.
    fn sweep(op: &mut Self::Op, pat: &mut Vec<Param<Self>>, live: &Live);

    /// What an operation is, for an account of what was done.
    fn operation(op: &Self::Op) -> Operation;

    /// Simplifies an operation whose operands are rewritten already, and its
    /// bodies, and emits what remains.
    fn simplify(s: &mut Simplifier<'_, Self>, pat: Vec<Param<Self>>, aux: Aux, op: Self::Op);
}
