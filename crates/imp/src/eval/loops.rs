//! Loops whose iterations may run in any order, with race detection.

use super::code::{Slot, State};
use super::machine::{Frame, Machine};
use super::memory::Pointer;
use super::order::Order;
use super::races::RunningLoop;
use super::unit::LoopInfo;
use super::{Result, bug};
use prim::{PrimType, Scalar};

/// A running loop.
pub(super) struct Iterations {
    order: Order,
    /// The end of the range and the number of slices, if iterations take slices.
    slices: Option<(i64, i64)>,
    /// The number of the frame's blocks when the iteration began.
    blocks: usize,
}

impl Machine<'_> {
    /// A loop begins.
    pub(super) fn begin_loop(&mut self, frame: &mut Frame<'_>, info: &LoopInfo) -> Result<()> {
        let (first, end) = (frame.i64(info.from), frame.i64(info.to));
        let (order, slices) = match info.slices {
            Some((count, _)) => {
                let count = frame.i64(count);
                if end > 0 && count < 1 {
                    return bug(format!("a range is partitioned into {count} slices"));
                }
                let order = if end > 0 { self.orders.next(0, count) } else { Order::given(0, 0) };
                (order, Some((end, count)))
            }
            None if info.is_carried => (Order::given(first, end), None),
            None => (self.orders.next(first, end), None),
        };
        // Variables without a block are not accessed.
        let scattered = info.scattered.iter().map(|reg| frame.slots[*reg as usize]);
        let scattered = scattered.filter(|slot| slot.state == State::Set);
        let scattered = scattered.map(|slot| Pointer::from_bits(slot.word)).collect();
        self.memory.races.begin(RunningLoop { label: info.label.clone(), scattered })?;
        frame.control.loops.push(Iterations { order, slices, blocks: 0 });
        Ok(())
    }

    /// The next iteration of the innermost loop begins; returns false if the loop has ended.
    pub(super) fn next_iteration(&mut self, frame: &mut Frame<'_>, info: &LoopInfo) -> Result<bool> {
        let Some(running) = frame.control.loops.last_mut() else {
            return Ok(false);
        };
        let Some(k) = running.order.next() else {
            frame.control.loops.pop();
            self.memory.races.end();
            return Ok(false);
        };
        running.blocks = frame.control.blocks.len();
        self.memory.races.next(k)?;
        let counter = match (running.slices, info.slices) {
            (Some((n, count)), Some((_, end))) => {
                let bound = |k: i64| (i128::from(k) * i128::from(n) / i128::from(count)) as i64;
                frame.slots[end as usize] = Slot::set(bound(k + 1) as u64);
                bound(k)
            }
            _ => k,
        };
        let counter =
            if info.ty == PrimType::I64 { counter as u64 } else { Scalar::int(info.ty, counter).bits() };
        frame.slots[info.var as usize] = Slot::set(counter);
        for owned in &info.owned {
            frame.slots[*owned as usize] = Slot::NULL;
        }
        for (local, count) in &info.locals {
            frame.slots[*local as usize..(*local + *count) as usize].fill(Slot::UNSET);
        }
        Ok(true)
    }

    /// The iteration of a task ends: its references are released, and its blocks end.
    pub(super) fn end_task(&mut self, frame: &mut Frame<'_>, info: &LoopInfo) -> Result<()> {
        for owned in &info.owned {
            let slot = std::mem::replace(&mut frame.slots[*owned as usize], Slot::UNSET);
            self.release(slot)?;
        }
        let mark = frame.control.loops.last().map_or(0, |running| running.blocks);
        for (_, at) in frame.control.blocks.drain(mark.min(frame.control.blocks.len())..) {
            self.memory.end_frame(at);
        }
        Ok(())
    }
}
