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
use crate::function::Gen;
use crate::operators::element_of_buffer;
use analysis::thresholds;
use imp::build::add;
use imp::{Expr, LaneAccess, LanePositions, MaskedOff, Stmt, Var, VarType};
use ir::PassError;
use prim::{PrimType, UnOp};

impl Gen<'_, '_> {
    /// A round that folds one iteration into each of the accumulators in `buffers`, from `first`
    /// on, and has no mapped results. It is skipped if no accumulator would change.
    pub(crate) fn skippable_round(
        &mut self,
        fold: &ChunkReduction<'_>,
        buffers: &[Var],
        first: &Expr,
        round: impl FnOnce(&mut Self) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let space = fold.space;
        let may_run_twice = space.independent && space.decomp.cost <= thresholds::SKIPPED_ROUND;
        let Some(identity) = space.identity_predicate.filter(|_| may_run_twice) else {
            return round(self);
        };
        let types = fold.types;
        let lanes = space.decomp.width;
        let width = i64::from(lanes);
        let changes = self.frame_array("changes", PrimType::Bool, width);
        self.for_seq("w", Expr::i64(0), Expr::i64(width), true, |g, w| {
            let index = g.bind_index(space.index);
            g.emit(Stmt::Set(index, add(first.clone(), Expr::Var(w))));
            g.iteration(space.body, |g, results| {
                let accs = g.load_all(buffers, types, Expr::Var(w), "acc");
                let values = g.copy_operands(&results[..types.len()], types)?;
                for (param, value) in identity.params.iter().zip(accs.into_iter().chain(values)) {
                    let var = g
                        .bind_borrowed(param)
                        .ok_or_else(|| PassError::bug("a reduced value is not a scalar"))?;
                    g.emit(Stmt::Set(var, Expr::Var(value)));
                }
                let kept = match g.body(&identity.body)?.as_slice() {
                    [kept] => g.atom(*kept)?,
                    _ => {
                        return Err(PassError::bug(
                            "an identity predicate does not return exactly one value",
                        ));
                    }
                };
                let changed = Expr::unary(UnOp::Not, PrimType::Bool, kept);
                g.emit(Stmt::Store(element_of_buffer(changes, PrimType::Bool, Expr::Var(w)), changed));
                Ok(())
            })
        })?;
        let mask = self.value(VarType::Vector(PrimType::Bool, lanes), "mask");
        self.emit(Stmt::LoadLanes {
            var: mask,
            from: LaneAccess {
                buffer: changes,
                elem: PrimType::Bool,
                lanes,
                at: LanePositions::Unit(Expr::i64(0)),
                masked_off: MaskedOff::Skip,
            },
            mask: None,
        });
        let full = self.collect(round)?;
        let any = Expr::Any(Box::new(Expr::Var(mask)));
        self.emit(Stmt::If(any, full, Vec::new()));
        Ok(())
    }
}
