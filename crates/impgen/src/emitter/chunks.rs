//! The arithmetic of chunks, their number and their bounds, as expressions that generated code
//! computes (`ir::seg::Decomp` has the same for the evaluator).

use crate::Result;
use crate::emitter::Emitter;
use imp::build::{Operand, max, min, select};
use imp::{Expr, Stmt, bind, expr};
use ir::seg::Decomp;
use prim::{PrimType, UnOp};

impl Emitter<'_> {
    /// The minimum number of iterations of a chunk of `n` (grain size). If it is a tuning
    /// parameter, the context logs the comparison.
    pub(crate) fn grain_size(&mut self, decomp: Decomp, n: Operand) -> Result<Expr> {
        let Some(id) = decomp.tunable else {
            return Ok(Expr::i64(decomp.grain_size));
        };
        let id = self.tunable(id)?;
        let divided = Stmt::RecordComparison(id, n.into());
        self.emit(Stmt::If(Expr::LogsComparisons, vec![divided], Vec::new()));
        Ok(max(Expr::Tunable(id), 1))
    }

    /// `clamp(n / grain, 1, most)` in a variable.
    pub(crate) fn n_chunks(&mut self, n: Operand, grain: impl Into<Expr>, most: i64) -> Operand {
        self.bind(min(max(n / grain, 1), most), "chunks")
    }

    /// The bounds of a chunk of `0..n`: `chunk * n / chunks` and the next one's.
    pub(crate) fn bounds(
        &mut self,
        n: impl Into<Expr>,
        chunks: Operand,
        chunk: impl Into<Operand>,
    ) -> (Operand, Operand) {
        let (n, chunk) = (n.into(), chunk.into());
        bind!(lo = self(chunk * &n / chunks));
        bind!(hi = self((chunk + 1) * n / chunks));
        (lo, hi)
    }

    /// The bounds of a chunk of `0..n` in multiples of `step`, except for the end of the last
    /// chunk.
    pub(crate) fn stepped_bounds(
        &mut self,
        n: Operand,
        step: Operand,
        chunks: Operand,
        chunk: impl Into<Operand>,
    ) -> (Operand, Operand) {
        let chunk = chunk.into();
        if step.as_i64() == Some(1) {
            return self.bounds(n, chunks, chunk);
        }
        bind!(steps = self(n / step));
        let (lo, hi) = self.bounds(steps, chunks, chunk);
        let end = select(expr!(chunk + 1 == chunks), n, hi * step);
        bind!(lo = self(lo * step));
        (lo, self.bind(end, "hi"))
    }

    /// The number of iterations that a chunk's length is a multiple of: the largest power of two
    /// that is at most `most` and leaves at least `chunks` chunks of `n`, or 1.
    pub(crate) fn chunk_step(&mut self, n: Operand, chunks: i64, most: i64) -> Operand {
        if most <= 1 {
            return 1.into();
        }
        let fill = min(max(n / chunks, 1), most);
        let zeros = Expr::unary(UnOp::Clz, PrimType::I64, fill);
        self.bind(1 << (63 - zeros), "step")
    }
}
