//! Skipping of reduction rounds that change no accumulator.
//!
//! Operators that select one of their operands, such as the position of the maximum, soon change
//! hardly anything: once an accumulator is large, few elements are larger. If an operator has an
//! identity predicate (a condition under which its result is its left operand), a round first
//! evaluates it in all lanes, and is skipped if it holds in all of them:
//!
//! ```text
//! for w < W: changes[w] = !(<condition on acc[w], x>)
//! if any changes: for w < W: acc[w] = op acc[w] x
//! ```

use super::reduce_chunk::ChunkReduction;
use crate::Result;
use crate::cpu::CpuSchedule;
use crate::operators::element_of_buffer;
use crate::schedule::Generator;
use analysis::thresholds;
use imp::build::Operand;
use imp::{Expr, MemoryId, Stmt, Var, emit};
use ir::PassError;
use prim::{PrimType, UnOp};

impl Generator<'_, CpuSchedule> {
    /// A round that folds one iteration into each of the accumulators in `buffers`, from `first`
    /// on, and has no mapped results. It is skipped if no accumulator would change.
    pub(super) fn skippable_round(
        &mut self,
        fold: &ChunkReduction<'_>,
        buffers: &[Var],
        first: Operand,
    ) -> Result {
        let space = fold.space;
        let may_run_twice = space.independent && space.decomp.cost <= thresholds::SKIPPED_ROUND;
        let Some(identity) = space.identity_predicate.filter(|_| may_run_twice) else {
            return self.reduce_round(fold, buffers, first, None);
        };
        let types = fold.types;
        let lanes = space.decomp.width;
        let width = i64::from(lanes);
        let changes = self.frame_array(MemoryId::Host, "changes", PrimType::Bool, width);
        self.independent_iterations(space, first, width, |g, w, results| {
            let accs = g.load_all(buffers, types, w, "acc");
            let values = g.copy_operands(&results[..types.len()], types)?;
            for (param, value) in identity.params.iter().zip(accs.into_iter().chain(values)) {
                g.set_param(param, value)?;
            }
            let [kept] = g.body(&identity.body)?[..] else {
                return Err(PassError::bug("an identity predicate does not return exactly one value"));
            };
            let changed = Expr::unary(UnOp::Not, PrimType::Bool, g.atom(kept)?.into());
            g.emit(Stmt::Store(element_of_buffer(changes, PrimType::Bool, w), changed));
            Ok(())
        })?;
        let mask = self.frame_vector(changes, PrimType::Bool, (lanes, 0), "mask");
        emit!(if self(Expr::Any(Box::new(mask.into()))) {
            self.reduce_round(fold, buffers, first, None)?;
        });
        Ok(())
    }
}
