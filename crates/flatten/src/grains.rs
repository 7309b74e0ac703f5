//! The pass `grains`: how many points a chunk has at least becomes a parameter.
//!
//! ```text
//! segmap level 1 (i < n) chunks (64, 512, 1, 16)
//!   =>  segmap level 1 (i < n) chunks (64, 512, 1, 16) grain tunable#0
//! ```
//!
//! Before: every segop has its decomposition, and one dimension where it falls apart into
//! tasks. After: what may fall apart into several chunks has a parameter of its function
//! (contract 6), whose default is the grain that the decomposition had. What has a single
//! chunk in any case, by its constant size, keeps it as a constant. Each takes a unit of fuel. Functions for a device
//! stay as they are: how many points its threads take follows from the device.

use ir::seg::{Seg, SegOp};
use ir::syntax::{Body, Exp, Function};
use ir::tunable::{Class, Rule, Tunable, TunableId};
use ir::types::Dim;
use ir::walk::{VisitMut, with_stack};
use ir::{Context, Fuel, Program, Segs, version};
use target::levels;

/// Makes parameters of the grains.
pub fn grains(mut program: Program<Segs>, context: &mut Context) -> Program<Segs> {
    let machine = program.stack;
    program.functions = context.over(program.functions, |mut function: Function<Segs>, own| {
        if version::stack(function.version.as_ref(), machine).nests() {
            let known = (function.tunables.iter()).filter(|tunable| tunable.rule == Rule::Grain);
            let next = known.map(|tunable| tunable.ordinal.saturating_add(1)).max();
            let mut grains = Grains {
                tunables: std::mem::take(&mut function.tunables),
                next: next.unwrap_or(0),
                fuel: &mut own.fuel,
            };
            grains.body(&mut function.body);
            function.tunables = grains.tunables;
        }
        function
    });
    program
}

struct Grains<'f> {
    tunables: Vec<Tunable>,
    /// The next one's ordinal.
    next: u32,
    fuel: &'f mut Fuel,
}

impl VisitMut<Segs> for Grains<'_> {
    fn body(&mut self, body: &mut Body<Segs>) {
        with_stack(|| self.walk_body(body));
    }

    fn exp(&mut self, exp: &mut Exp<Segs>) {
        if let Exp::Op(SegOp::Seg(seg)) = exp
            && falls_apart(seg)
            && self.fuel.take()
        {
            let id = TunableId(self.tunables.len() as u32);
            self.tunables.push(Tunable {
                rule: Rule::Grain,
                ordinal: self.next,
                class: Class::Size,
                default: seg.decomp.grain,
            });
            self.next = self.next.saturating_add(1);
            seg.decomp.tunable = Some(id);
        }
        self.walk_exp(exp);
    }
}

/// Whether there may be several chunks, and nothing is known of the grain yet.
fn falls_apart(seg: &Seg<Segs>) -> bool {
    let several = match seg.space.dims.last() {
        Some((_, Dim::Const(n))) => seg.decomp.chunks(*n) > 1,
        Some(_) => seg.decomp.max_chunks > 1,
        None => false,
    };
    several && seg.level == levels::TASKS && seg.decomp.tunable.is_none()
}
