//! The CPU schedule: segops and fills as loops of tasks over all workers, and the code of a task
//! for its iterations.
//!
//! | module | generates |
//! |---|---|
//! | [`segops`] | segmaps, and the parts that kinds of segops share |
//! | [`blocks`] | maps whose iterations share columns |
//! | [`reduce`], [`reduce_chunk`], [`streams`], [`skip_rounds`] | reductions, and their chunks |
//! | [`scan`], [`scan_blocks`], [`filter`] | scans, their blocks, and filters |
//! | [`chunk_totals`] | totals that a reduction and a scan share |
//! | [`partition`] | scans that scatter values to the count of one of several flags |
//! | [`scatter`] | chunks that end with scatters, as packed lane stores |
//! | [`hist`], [`accs`] | histograms, and segops that update accumulators with an operator |
//! | [`range_partition`] | histograms whose tasks each own a range of the bins |
//! | [`strip_mine`] | strip-mined chunks of which only the updates are sequential |
//! | [`flat_map`] | flat maps |
//! | [`fills`] | copies, iotas, replicates |
//! | [`tasks`] | loops of tasks |
//!
//! The partitioning of a segop is fixed by its decomposition (design contract 1), the legality of
//! reordering by its facts ([`ir::facts`]).

mod accs;
mod blocks;
mod chunk_totals;
mod fills;
mod filter;
mod flat_map;
mod hist;
mod partition;
mod range_partition;
mod reduce;
mod reduce_chunk;
mod scan;
mod scan_blocks;
mod scatter;
mod segops;
mod skip_rounds;
mod streams;
mod strip_mine;
mod tasks;

use crate::Result;
use crate::copies::ArrayCopy;
use crate::mems::{Param, Seg};
use crate::schedule::{Fill, Generator, Schedule};
use chunk_totals::ChunkTotals;
use imp::Expr;
use imp::build::Operand;
use ir::syntax::Aux;

/// The schedule of functions for a CPU.
#[derive(Default)]
pub(crate) struct CpuSchedule {
    /// The partial results of reductions in the bodies around the current statement.
    totals: Vec<ChunkTotals>,
}

impl Schedule for CpuSchedule {
    fn seg(g: &mut Generator<'_, Self>, pat: &[Param], aux: &Aux, seg: &Seg) -> Result {
        g.seg(pat, aux, seg)
    }

    fn fill<'a>(
        g: &mut Generator<'a, Self>,
        fill: Fill<'_>,
        f: impl FnOnce(&mut Generator<'a, Self>, Operand, Expr) -> Result,
    ) -> Result {
        g.fill(fill, f)
    }

    fn copy_array(g: &mut Generator<'_, Self>, copy: ArrayCopy) -> Result {
        g.copy_in_slices(copy)
    }

    fn open(&mut self) -> usize {
        self.totals.len()
    }

    fn close(&mut self, mark: usize) {
        self.totals.truncate(mark);
    }
}
