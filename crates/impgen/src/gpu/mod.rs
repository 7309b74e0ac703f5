//! The device schedule: segops and fills as kernels, and the host code between them.
//!
//! | module | generates |
//! |---|---|
//! | [`kernel`] | launches, threads, index spaces |
//! | [`host`] | the host's accesses to device memory |
//! | [`transpose`] | copies between arrays of the device, tiled where they are transpositions |
//! | [`map`] | segmaps, one thread for each iteration |
//! | [`accumulators`] | segmaps that update accumulators by operators that are not atomic |
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

mod accumulators;
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

use crate::Result;
use crate::accs::AccTarget;
use crate::basic::Replicate;
use crate::copies::ArrayCopy;
use crate::mems::{AccInput, Operator, Param, Seg};
use crate::schedule::{Fill, Generator, Schedule};
use block_level::SharedMemory;
use imp::build::Operand;
use imp::{Access, Expr, Stmt, Var};
use ir::fuel::Fuel;
use ir::seg::SegKind;
use ir::syntax::{Atom, Aux};
use ir::{PassError, Prov};
use kernel::EnclosingCode;
use target::device::Device;

/// The schedule of functions for a device, with the state of the code being generated.
pub(crate) struct DeviceSchedule {
    /// The work layout parameters of the device.
    layout: Device,
    /// Fuel for kernels that are more than one thread for each iteration.
    pub(crate) fuel: Fuel,
    /// The enclosing kernel, if there is one.
    enclosing_kernel: Option<EnclosingCode>,
    /// The index of a thread in its block, where the threads of a block run code together.
    block_thread: Option<Operand>,
    /// The shared-memory buffers of the current kernel.
    shared_memory: SharedMemory,
    /// True in a block-level `withacc` in which updates may collide.
    in_colliding_withacc: bool,
}

impl DeviceSchedule {
    pub(crate) fn new(layout: Device, fuel: Fuel) -> Self {
        Self {
            layout,
            fuel,
            enclosing_kernel: None,
            block_thread: None,
            shared_memory: SharedMemory::default(),
            in_colliding_withacc: false,
        }
    }
}

type DeviceGenerator<'a> = Generator<'a, DeviceSchedule>;

impl Schedule for DeviceSchedule {
    fn seg(g: &mut DeviceGenerator<'_>, pat: &[Param], aux: &Aux, seg: &Seg) -> Result {
        for param in pat {
            g.record_location(param);
        }
        if g.schedule.block_thread.is_some() {
            return g.block_seg(pat, seg);
        }
        if !g.schedule.is_host() {
            return g.seg_sequential(pat, seg);
        }
        match &seg.kind {
            SegKind::ScanReduce(scan_reduce)
                if scan_reduce.is_map() && block_level::has_segops(&seg.body) =>
            {
                g.block_level_map(pat, seg, aux.prov)
            }
            SegKind::ScanReduce(scan_reduce) if scan_reduce.is_map() => {
                let accs = g.accs_of_chunks(pat);
                if !accs.is_empty() {
                    return g.map_by_chunks(pat, seg, &accs, aux.prov);
                }
                g.kernel_map(pat, seg, aux)
            }
            SegKind::ScanReduce(scan_reduce)
                if scan_reduce.scans.is_empty() && scan_reduce.post.is_none() =>
            {
                g.kernel_reduce(pat, seg, scan_reduce, aux.prov)
            }
            SegKind::ScanReduce(scan_reduce) => g.kernel_scan(pat, seg, scan_reduce, aux.prov),
            SegKind::Hist(ops) => g.kernel_hist(seg, ops, aux.prov),
            SegKind::FlatMap => Err(PassError::bug("a flat map is a kernel")),
        }
    }

    fn fill<'a>(
        g: &mut DeviceGenerator<'a>,
        fill: Fill<'_>,
        f: impl FnOnce(&mut DeviceGenerator<'a>, Operand, Expr) -> Result,
    ) -> Result {
        let Fill { operation, prov, count, .. } = fill;
        if g.schedule.block_thread.is_none() && g.in_task() {
            return f(g, 0.into(), count.into());
        }
        let row = |g: &mut DeviceGenerator<'a>, at: Operand| f(g, at, at + 1);
        if g.schedule.block_thread.is_some() {
            return g.distributed(|g, thread| g.distribute((0, count), true, thread, row));
        }
        g.each_iteration((operation, prov), count, row)
    }

    fn copy(g: &mut DeviceGenerator<'_>, copy: ArrayCopy) -> Result {
        g.copy(copy)
    }

    fn copy_data(g: &mut DeviceGenerator<'_>, copy: ArrayCopy) -> Result {
        g.upload(copy)
    }

    fn load(g: &mut DeviceGenerator<'_>, var: Var, access: Access) {
        if g.is_device_memory(access.buffer) {
            g.load_from_device(var, access);
        } else {
            g.emit(Stmt::Load(var, access));
        }
    }

    fn store(g: &mut DeviceGenerator<'_>, access: Access, value: Expr) {
        if g.is_device_memory(access.buffer) {
            g.store_to_device(access, value);
        } else {
            g.emit(Stmt::Store(access, value));
        }
    }

    fn replicate(g: &mut DeviceGenerator<'_>, array: &Replicate<'_>, value: Atom, prov: Prov) -> Result {
        if g.is_device_memory(g.var(array.block)?) {
            return g.replicate_by_kernels(array, value, prov);
        }
        g.replicate_rows(array, value, prov)
    }

    fn once<'a>(g: &mut DeviceGenerator<'a>, f: impl FnOnce(&mut DeviceGenerator<'a>) -> Result) -> Result {
        match g.schedule.block_thread {
            None => f(g),
            Some(_) => g.distributed(|g, thread| g.first_thread(thread, f)),
        }
    }

    fn on_host<'a, R>(g: &mut DeviceGenerator<'a>, f: impl FnOnce(&mut DeviceGenerator<'a>) -> R) -> R {
        g.before_kernel(f)
    }

    fn with_acc<'a>(
        g: &mut DeviceGenerator<'a>,
        inputs: &[AccInput],
        f: impl FnOnce(&mut DeviceGenerator<'a>) -> Result<Vec<Atom>>,
    ) -> Result<Vec<Atom>> {
        let around = g.schedule.in_colliding_withacc;
        let collides = g.schedule.block_thread.is_some() && inputs.iter().any(|input| input.op.is_none());
        g.schedule.in_colliding_withacc |= collides;
        let made = f(g);
        g.schedule.in_colliding_withacc = around;
        made
    }

    fn update(
        g: &mut DeviceGenerator<'_>,
        target: &AccTarget,
        op: &Operator,
        index: (&[Operand], &[Operand]),
        values: &[Atom],
    ) -> Result {
        if g.schedule.is_host() || target.thread_private {
            return g.combine_at(target, op, index, values);
        }
        g.atomic_acc_update(target, op, index.0, values)
    }

    fn is_host(&self) -> bool {
        self.enclosing_kernel.is_none()
    }

    fn is_single_thread(&self) -> bool {
        !self.is_host() && self.block_thread.is_none()
    }
}
