//! The device schedule: segops and fills as kernels, and the host code between them.
//!
//! The target-independent part of the generator calls `Gen::device_seg` for a segop, and
//! `Gen::load`, `Gen::store` and `Gen::copy` for operations that differ between host and threads.
//!
//! | module | generates |
//! |---|---|
//! | [`kernel`] | launches, threads, index spaces |
//! | [`host`] | the host's accesses to device memory |
//! | [`transpose`] | copies between arrays of the device, tiled where they are transpositions |
//! | [`map`] | segmaps, one thread for each iteration |
//! | [`coarsen`] | segmaps with several cheap iterations per thread |
//! | [`tiles`] | segmaps whose iterations share reads: block and register tiling |
//! | [`grain_size`] | the number of iterations per thread |
//! | [`segments`] | the partitioning of segments into chunks, one for each thread block |
//! | [`reduce`], [`scan`], [`hist`] | the other segops |
//! | [`look_back`] | single-pass scans (decoupled look-back) |
//! | [`block_level`] | kernels with one iteration per thread block, and their collective operations |
//! | [`block_segops`], [`subgroups`] | segops that the threads of a block share |
//! | [`sequential`] | segops of one thread: loops |
//!
//! Needs: segops that can be kernels (`mem::offload`). The assignment of iterations to threads depends on sizes and [`Device`](target::device::Device)
//! only (design contract 1).

mod block_level;
mod block_segops;
mod coarsen;
mod grain_size;
mod hist;
mod host;
mod kernel;
mod look_back;
mod map;
mod reduce;
mod scan;
mod segments;
mod sequential;
mod subgroups;
mod tiles;
mod transpose;

use super::function::Gen;
pub(crate) use block_level::{SharedMemory, ThreadBlock};
use ir::seg::{Seg, SegKind};
use ir::syntax::{Aux, Param};
use ir::{Mems, PassError};
pub(crate) use kernel::EnclosingCode;

impl Gen<'_, '_> {
    pub(crate) fn device_seg(
        &mut self,
        pat: &[Param<Mems>],
        aux: &Aux,
        seg: &Seg<Mems>,
    ) -> Result<(), PassError> {
        for param in pat {
            self.record_location(param);
        }
        if let Some(thread_block) = self.thread_block {
            return self.block_seg(thread_block, pat, seg);
        }
        if self.enclosing_kernel.is_some() {
            return self.seg_sequential(pat, seg);
        }
        match &seg.kind {
            SegKind::ScanReduce(scan_reduce)
                if scan_reduce.is_map() && block_level::has_segops(&seg.body) =>
            {
                self.block_level_map(pat, seg, aux.prov)
            }
            SegKind::ScanReduce(scan_reduce) if scan_reduce.is_map() => self.kernel_map(pat, seg, aux.prov),
            SegKind::ScanReduce(scan_reduce)
                if scan_reduce.scans.is_empty() && scan_reduce.post.is_none() =>
            {
                self.kernel_reduce(pat, seg, scan_reduce, aux.prov)
            }
            SegKind::ScanReduce(scan_reduce) => self.kernel_scan(pat, seg, scan_reduce, aux.prov),
            SegKind::Hist(ops) => self.kernel_hist(seg, ops, aux.prov),
            SegKind::FlatMap => Err(PassError::bug("a flat map is a kernel")),
        }
    }
}
