//! Chunks of partitions: scans that count several flags, with a post lambda that scatters values to the count of their
//! flag.
//!
//! ```text
//! segscan (i < n) (+, 0) { (btoi c0, btoi c1, v) }     for each block of L iterations
//!   post (s0, s1, v) {                                   for w < L: c0[w], c1[w], v[w] = <body>
//!     out with [if c0 then s0 - 1 else s1 + k] <- v  =>  for each flag j:
//!   }                                                      first = acc_j + offset_j + 1;  acc_j += count c_j
//!                                                          out[first ..] = pack v c_j
//!                                                      the remaining iterations one by one
//! ```
//!
//! As for [filters](super::filter) indices need not be computed. A block is written one value at a time if not all of
//! its ranges are within the array, one after the other.

use super::scan::Scan;
use super::scatter::{Packed, Scatter};
use crate::Result;
use crate::cpu::CpuSchedule;
use crate::mems::Body;
use crate::schedule::Generator;
use imp::build::{Operand, and};
use imp::{Expr, Var, VarType, bind, emit, expr};
use ir::PassError;
use ir::facts::Partition;
use ir::syntax::{Atom, BasicOp, Exp};
use prim::{ConvOp, PrimType, ScalarOp};

/// Iterations of a block; half as many if values are wide.
const BLOCK: u32 = 16;
/// The maximum size in bytes of values that use full blocks.
const NARROW: u64 = 4;

/// The values of a block with one flag.
struct Run {
    acc: Var,
    /// The index's offset from the count.
    offset: Operand,
    /// The array of the block's flags.
    flags: Var,
}

impl Generator<'_, CpuSchedule> {
    /// The iterations `lo..hi` of a partitioning scan; `accs` holds the number of values with each flag before.
    pub(crate) fn partition_chunk(
        &mut self,
        scan: &Scan<'_>,
        partition: &Partition,
        scatter: &Scatter,
        accs: &[Var],
        (lo, hi): (Operand, Operand),
    ) -> Result {
        let elems = &scatter.types[1..];
        let narrow = elems.iter().all(|elem| elem.size() <= NARROW);
        let lanes = if narrow { BLOCK } else { BLOCK / 2 };
        let width = i64::from(lanes);
        let mut runs = Vec::with_capacity(accs.len());
        for (&acc, offset) in accs.iter().zip(&partition.offsets) {
            let offset = self.poly(offset)?;
            bind!(offset = self(offset));
            let flags = self.lane_arrays("flags", &[PrimType::Bool], width)[0];
            runs.push(Run { acc, offset, flags });
        }
        let values = self.lane_arrays("values", elems, width);
        bind!(blocks = self((hi - lo) / width));
        emit!(for block in self(0..blocks) {
            bind!(first = self(lo + block * width));
            self.independent_iterations(scan.space, first, width, |g, w, results| {
                let groups = scan.operation.values(&results);
                let (counted, mapped) = (groups.scanned, groups.mapped);
                for (run, count) in runs.iter().zip(counted) {
                    let flag = flag_of(scan.space.body, *count)?;
                    let flag = g.copy_operands(&[flag], &[PrimType::Bool])?;
                    g.store_all(&[run.flags], &[PrimType::Bool], w, &flag);
                }
                let atoms: Vec<Atom> = partition.values.iter().map(|at| mapped[*at]).collect();
                let loaded = g.copy_operands(&atoms, elems)?;
                g.store_all(&values, elems, w, &loaded);
                Ok(())
            })?;
            self.write_runs(scatter, &runs, &values, lanes)?;
        });
        bind!(rest = self(lo + blocks * width));
        self.scan_points(scan, accs, rest, hi)
    }

    /// Writes the values of a block, and adds their numbers to the counts.
    fn write_runs(&mut self, scatter: &Scatter, runs: &[Run], values: &[Var], lanes: u32) -> Result {
        let width = i64::from(lanes);
        let size = self.dim(scatter.size)?;
        let (mut packed, mut end) = (Vec::with_capacity(runs.len()), Operand::from(0));
        let mut in_order = imp::build::TRUE;
        for run in runs {
            let flagged = self.frame_vector(run.flags, PrimType::Bool, (lanes, 0), "flagged");
            bind!(kept = self(Expr::Count(Box::new(flagged.into()))));
            bind!(first = self(run.acc + (run.offset + 1)));
            // A number that is at most the size does not wrap when more is added.
            in_order = and(in_order, expr!(end <= first && first <= size));
            bind!(next = self(first + kept));
            end = next;
            packed.push((flagged, kept, first));
        }
        let in_order = and(in_order, expr!(end <= size));
        emit!(if self(in_order) {
            for (run, (flagged, kept, first)) in runs.iter().zip(packed) {
                let there =
                    expr!(Expr::LaneIds(PrimType::I64, lanes) < Expr::Splat(lanes, Box::new(kept.into())));
                let mask = self.value(VarType::Vector(PrimType::Bool, lanes), "there");
                self.set(mask, there);
                let block = Packed { lanes, start: 0, first, chosen: flagged, occupied: mask.into() };
                self.store_packed(scatter, values, &block)?;
                self.set(run.acc, run.acc + kept);
            }
        } else {
            emit!(for w in self(0..width) {
                let elems = &scatter.types[1..];
                let loaded = self.load_all(values, elems, w, "x");
                for run in runs {
                    let flag = self.load_all(&[run.flags], &[PrimType::Bool], w, "flag");
                    emit!(if self(flag[0]) {
                        self.set(run.acc, run.acc + 1);
                        let index = self.bind(run.acc + run.offset, "lane");
                        self.scatter_at(scatter, index, &loaded)?;
                    });
                }
            });
        });
        Ok(())
    }
}

/// The flag that a counted number is converted from.
fn flag_of(body: &Body, count: Atom) -> Result<Atom> {
    let found = body.stms.iter().find_map(|stm| {
        let is_defined = stm.pat.iter().any(|param| count.var() == Some(param.name));
        let Exp::Basic(BasicOp::Scalar(ScalarOp::Convert { op: ConvOp::BToI, arg, .. })) = &stm.exp else {
            return None;
        };
        is_defined.then_some(*arg)
    });
    found.ok_or_else(|| PassError::bug("a partition counts what is not a flag"))
}
