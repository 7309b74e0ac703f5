//! A device's schedule: how segops and fills run as kernels, and what the host does in
//! between.
//!
//! Of what is here the shared part of the generator calls `Gen::device_seg` for a segop,
//! and for what host and threads do in different ways: `Gen::load`, `Gen::store`,
//! `Gen::copy`.
//!
//! | module | makes |
//! |---|---|
//! | [`kernel`] | launches, threads, points |
//! | [`host`] | what the host does with memory of the device |
//! | [`transpose`] | copies between arrays of the device, in squares where they are transposed |
//! | [`map`] | segmaps, a thread for each point |
//! | [`several`] | points that are little more than a read and a write, several a thread |
//! | [`tiles`] | segmaps whose points share what they read |
//! | [`grain`] | how much a thread takes |
//! | [`segments`] | how segments fall apart into chunks, one for each block |
//! | [`reduce`], [`scan`], [`hist`] | the other segops |
//! | [`look_back`] | scans that read and write each element once |
//! | [`block`] | kernels whose blocks are points: what threads do together, or one for all |
//! | [`shared`] | segops that the threads of a block share |
//! | [`in_order`] | segops of one thread: loops |
//! | [`callees`] | what functions do that kernels call |
//!
//! Which thread takes which point depends on sizes and [`Device`](target::device::Device)
//! alone (design contract 1).

mod block;
mod callees;
mod grain;
mod groups;
mod hist;
mod host;
mod in_order;
mod kernel;
mod look_back;
mod map;
mod reduce;
mod scan;
mod segments;
mod several;
mod shared;
mod tiles;
mod transpose;

use super::function::Gen;
pub(crate) use block::{Scratchpad, Team};
pub(super) use callees::check_callees;
use ir::seg::{Seg, SegKind};
use ir::syntax::{Aux, Param};
use ir::{Mems, PassError, Prov};
pub(crate) use kernel::Around;

impl Gen<'_, '_> {
    /// A segop.
    pub(crate) fn device_seg(
        &mut self,
        pat: &[Param<Mems>],
        aux: &Aux,
        seg: &Seg<Mems>,
    ) -> Result<(), PassError> {
        for param in pat {
            self.note(param);
        }
        if let Some(team) = self.team {
            return self.seg_of_block(team, pat, seg);
        }
        if self.kernel.is_some() {
            return self.seg_in_order(pat, seg);
        }
        match &seg.kind {
            SegKind::Folds(folds) if folds.is_map() && block::has_segops(&seg.body) => {
                self.kernel_of_blocks(pat, seg, aux.prov)
            }
            SegKind::Folds(folds) if folds.is_map() => self.kernel_map(pat, seg, aux.prov),
            SegKind::Folds(_) if seg.decomp.writes > 0 => {
                Err(self.not_in_kernels("accumulators in reductions and scans", aux.prov))
            }
            SegKind::Folds(folds) if folds.scans.is_empty() && folds.post.is_none() => {
                self.kernel_reduce(pat, seg, folds, aux.prov)
            }
            SegKind::Folds(folds) => self.kernel_scan(pat, seg, folds, aux.prov),
            SegKind::Hist(ops) => self.kernel_hist(seg, ops, aux.prov),
            SegKind::FlatMap => Err(self.not_in_kernels("flat maps", aux.prov)),
        }
    }

    /// A limitation of kernels.
    pub(crate) fn not_in_kernels(&self, what: &str, prov: Prov) -> PassError {
        PassError::unsupported(format!("{what} in kernels of a device"), self.function.provs.stack(prov))
    }
}
