//! The pass `grain-sizes`: the grain size of a segop (the least number of iterations of a chunk) becomes
//! a tuning parameter.
//!
//! ```text
//! segmap tasks (i < n) chunks (64, 512, 1, 16)
//!   =>  segmap tasks (i < n) chunks (64, 512, 1, 16) grain_size tunable#0
//! ```
//!
//! Before: every segop has its decomposition, and one dimension where it is partitioned into tasks.
//! After: a segop that may have several chunks has a parameter of its function (contract 6), whose
//! default is the grain size of its decomposition. A segop that has a single chunk in any case, by
//! its constant size, keeps the constant. Each parameter takes a unit of fuel.
//!
//! On a device the grain size is the least number of iterations of a thread, by default
//! [`Device::grain`](target::device::Device). Segops on the grid have it, except maps of one
//! iteration and segops whose iterations are a thread block each.

use ir::seg::{Seg, SegOp, outermost_segops};
use ir::syntax::{Body, Exp, Function};
use ir::tunable::{Class, Rule, TunableTable};
use ir::types::Dim;
use ir::walk::{VisitMut, with_stack};
use ir::{Context, Fuel, Program, Segs, version};

/// Makes the grain sizes parameters.
pub fn grain_sizes(mut program: Program<Segs>, context: &mut Context) -> Program<Segs> {
    let (machine, least_per_thread) = (program.levels, context.options.device.grain);
    program.functions = context.over(program.functions, |mut function: Function<Segs>, own| {
        let stack = version::stack(function.version.as_ref(), machine);
        let of_threads = stack.has_device().then_some(least_per_thread);
        if stack.nests() || of_threads.is_some() {
            let mut grain_sizes = GrainSizes {
                tunables: TunableTable::of(std::mem::take(&mut function.tunables)),
                default_per_thread: of_threads,
                fuel: &mut own.fuel,
            };
            grain_sizes.body(&mut function.body);
            function.tunables = grain_sizes.tunables.into_tunables();
        }
        function
    });
    program
}

struct GrainSizes<'f> {
    tunables: TunableTable,
    /// The default number of iterations of a device's thread; `None` if segops run on the CPU.
    default_per_thread: Option<i64>,
    fuel: &'f mut Fuel,
}

impl VisitMut<Segs> for GrainSizes<'_> {
    fn body(&mut self, body: &mut Body<Segs>) {
        with_stack(|| self.walk_body(body));
    }

    fn exp(&mut self, exp: &mut Exp<Segs>) {
        if let Exp::Op(SegOp::Seg(seg)) = exp
            && self.is_partitioned(seg)
            && self.fuel.take()
        {
            if let Some(least_per_thread) = self.default_per_thread {
                seg.decomp.grain_size = least_per_thread;
            }
            let id = self.tunables.add(Rule::GrainSize, Class::Size, seg.decomp.grain_size);
            seg.decomp.tunable = Some(id);
        }
        self.walk_exp(exp);
    }
}

impl GrainSizes<'_> {
    /// Returns true if the segop may have several chunks, or several iterations for each thread,
    /// and its grain size is not a parameter yet.
    fn is_partitioned(&self, seg: &Seg<Segs>) -> bool {
        let several = match seg.space.dims.last() {
            Some(_) if self.default_per_thread.is_some() => {
                !seg.is_single_iteration() && outermost_segops(&seg.body).is_empty()
            }
            Some((_, Dim::Const(n))) => seg.decomp.chunks(*n) > 1,
            Some(_) => seg.decomp.max_chunks > 1,
            None => false,
        };
        several && !seg.level.is_innermost() && seg.decomp.tunable.is_none()
    }
}
