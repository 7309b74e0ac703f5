//! The arithmetic of chunks, their number and their bounds, as expressions that generated code
//! computes (`ir::seg::Decomp` has the same for the evaluator).

use crate::function::Gen;
use imp::build::{add, binary, compare, div, max, min, mul, sub};
use imp::{Expr, Stmt};
use ir::PassError;
use ir::seg::Decomp;
use prim::{BinOp, CmpOp, PrimType, UnOp};

impl Gen<'_, '_> {
    /// The minimum number of iterations of a chunk of `n` (grain size). If it is a tuning
    /// parameter, the context logs the comparison.
    pub(crate) fn grain_size(&mut self, decomp: Decomp, n: &Expr) -> Result<Expr, PassError> {
        let Some(id) = decomp.tunable else {
            return Ok(Expr::i64(decomp.grain_size));
        };
        let id = self.tunable(id)?;
        let divided = Stmt::RecordComparison(id, n.clone());
        self.emit(Stmt::If(Expr::LogsComparisons, vec![divided], Vec::new()));
        Ok(max(Expr::Tunable(id), Expr::i64(1)))
    }

    /// `clamp(n / grain, 1, most)` in a variable.
    pub(crate) fn n_chunks(&mut self, n: Expr, grain: Expr, most: i64) -> Expr {
        let chunks = min(max(div(n, grain), Expr::i64(1)), Expr::i64(most));
        self.bind_value(chunks, PrimType::I64, "chunks")
    }

    /// The bounds of a chunk of `0..n`: `chunk * n / chunks` and the next one's.
    pub(crate) fn bounds(&mut self, n: Expr, chunks: Expr, chunk: Expr) -> (Expr, Expr) {
        let next = add(chunk.clone(), Expr::i64(1));
        let lo = div(mul(chunk, n.clone()), chunks.clone());
        let hi = div(mul(next, n), chunks);
        (self.bind_value(lo, PrimType::I64, "lo"), self.bind_value(hi, PrimType::I64, "hi"))
    }

    /// The bounds of a chunk of `0..n` in multiples of `step`, except for the end of the last
    /// chunk.
    pub(crate) fn stepped_bounds(&mut self, n: Expr, step: Expr, chunks: Expr, chunk: Expr) -> (Expr, Expr) {
        if step == Expr::i64(1) {
            return self.bounds(n, chunks, chunk);
        }
        let steps = div(n.clone(), step.clone());
        let steps = self.bind_value(steps, PrimType::I64, "steps");
        let (lo, hi) = self.bounds(steps, chunks.clone(), chunk.clone());
        let next = add(chunk, Expr::i64(1));
        let last = Box::new(compare(CmpOp::Eq, next, chunks));
        let end = Box::new(mul(hi, step.clone()));
        let hi = Expr::select(PrimType::I64, *last, n, *end);
        (self.bind_value(mul(lo, step), PrimType::I64, "lo"), self.bind_value(hi, PrimType::I64, "hi"))
    }

    /// The number of iterations that a chunk's length is a multiple of: the largest power of two
    /// that is at most `most` and leaves at least `chunks` chunks of `n`, or 1.
    pub(crate) fn chunk_step(&mut self, n: Expr, chunks: i64, most: i64) -> Expr {
        if most <= 1 {
            return Expr::i64(1);
        }
        let fill = min(max(div(n, Expr::i64(chunks)), Expr::i64(1)), Expr::i64(most));
        let zeros = Expr::unary(UnOp::Clz, PrimType::I64, fill);
        let step = binary(BinOp::Shl, Expr::i64(1), sub(Expr::i64(63), zeros));
        self.bind_value(step, PrimType::I64, "step")
    }
}
