//! The simulated device: kernels whose blocks and threads run concurrently, in any order.
//!
//! A few blocks are resident at a time, in a shuffled order. Repeatedly, a random thread of one of
//! them continues until it has accessed memory of others a few times. At a barrier it waits for all threads of its block, or of its
//! subgroup; for a missing signal, until elements have been updated. Reported are:
//!
//! - races between threads ([`races`]) that neither a barrier nor a signal ([`signals`]) orders,
//! - threads of a block that wait at different barriers, or while others have ended,
//! - threads that await a signal that no started block will send,
//! - all misuse of memory that the evaluator reports for the host: accesses outside of a block,
//!   reads of unwritten elements.
//!
//! A thread whose check fails stops, and its block ends once all others wait or have ended. A
//! thread that awaits a signal then fails too. The kernel fails with the first failure.

pub(super) mod races;
mod signals;

use super::code::{Slot, State};
use super::machine::{Control, Exit, Frame, Machine, returned};
use super::memory::{Kind, Pointer};
use super::unit::KernelInfo;
use super::{ErrorClass, EvalError, Result, bug, limit};
use crate::Var;
use races::{Actor, RunningKernel};
use target::device::SHARED_MEMORY_BYTES;

/// The number of resident blocks.
const RESIDENT: usize = 3;
/// The largest number of accesses of a thread before a switch.
const BURST: u64 = 3;

/// A thread.
#[derive(Default)]
struct Thread {
    /// The number of subgroup barriers that it has passed.
    subgroup_barriers: u32,
    /// The number of signals that it has sent.
    signals: u32,
    /// Its number in race detection; 0 if it has passed a barrier since it ran last.
    actor: u32,
    control: Control,
}

/// A running thread block.
#[derive(Default)]
struct Block {
    number: i64,
    /// Its buffers in shared memory.
    frames: Vec<(Var, Pointer)>,
    threads: Vec<Thread>,
    /// The registers of all threads, one thread after another.
    slots: Vec<Slot>,
    /// The indices of the threads that can continue.
    ready: Vec<usize>,
    /// The waiting threads, with the instructions after their barriers.
    waiting: Vec<(usize, usize)>,
    /// The number of threads of a subgroup.
    group: usize,
    /// The number of waiting threads of each subgroup.
    arrived: Vec<usize>,
    /// The threads that await signals.
    awaiting: Vec<usize>,
    /// The number of threads that have ended.
    ended: usize,
    /// True if a check has failed.
    failed: bool,
    /// The number of barriers that its threads have passed.
    phase: u32,
}

impl Block {
    /// Retries the awaiting threads, as elements have changed.
    fn retry_awaits(&mut self) {
        self.ready.append(&mut self.awaiting);
    }

    /// A thread waits at a barrier. If it is the last of its subgroup at a subgroup barrier, the
    /// subgroup continues.
    fn wait(&mut self, at: usize, barrier: usize, exit: Exit) {
        self.waiting.push((at, barrier));
        if exit != Exit::SubgroupBarrier {
            return;
        }
        let group = at / self.group;
        let Some(met) = self.arrived.get_mut(group) else {
            return;
        };
        *met += 1;
        let size = self.group;
        let is_here = |(other, at): &(usize, usize)| other / size == group && *at == barrier;
        // Where some wait elsewhere, no thread continues, which is reported.
        if *met < size || self.waiting.iter().filter(|it| is_here(it)).count() < size {
            return;
        }
        *met = 0;
        for (at, _) in self.waiting.extract_if(.., |it| is_here(it)) {
            self.threads[at].subgroup_barriers += 1;
            self.threads[at].actor = 0;
            self.ready.push(at);
        }
    }

    /// After a failure, threads that await signals fail too.
    fn fail_awaits(&mut self) {
        self.failed |= !self.awaiting.is_empty();
        self.awaiting.clear();
    }
}

impl<'p> Machine<'p> {
    pub(super) fn kernel(&mut self, frame: &Frame<'_>, info: &KernelInfo<'p>) -> Result<()> {
        let (blocks, size) = (frame.i64(info.blocks), frame.i64(info.size));
        if !(1..=target::device::MAX_BLOCK).contains(&size) {
            return bug(format!("a block of {size} threads"));
        }
        let shared = info.shared_buffers.iter();
        let shared: Vec<(Var, u32, i64)> =
            shared.map(|(var, register, bytes)| (*var, *register, frame.i64(*bytes))).collect();
        // The sizes need not be valid if nothing is launched.
        if blocks > 0 {
            check_shared_memory(info.frame_bytes, &shared)?;
        }
        let group = info.subgroup.map_or(size, i64::from);
        if group < 1 || size % group != 0 {
            return bug(format!("groups in a block of {size} threads that differ in size"));
        }
        let mut template = info.unit.template.clone();
        for (from, to, count) in &info.captures {
            let to = *to as usize..(*to + *count) as usize;
            template[to].copy_from_slice(frame.part(*from, *count));
        }
        let scattered = info.scattered.iter().map(|reg| frame.slots[*reg as usize]);
        let scattered = scattered.filter(|slot| slot.state == State::Set);
        let scattered = scattered.map(|slot| Pointer::from_bits(slot.word)).collect();
        let running = RunningKernel::new(info.label.clone(), scattered, self.actors);
        if self.memory.kernel.replace(running).is_some() {
            return bug("a kernel launches another one");
        }
        let mut order = self.orders.next(0, blocks);
        let mut resident: Vec<Block> = Vec::new();
        // Blocks that have ended, whose vectors are used again.
        let mut ended: Vec<Block> = Vec::new();
        let mut failure: Option<Box<EvalError>> = None;
        loop {
            while resident.len() < RESIDENT
                && failure.is_none()
                && let Some(number) = order.next()
            {
                let block = ended.pop().unwrap_or_default();
                resident.push(self.begin_block(info, &template, &shared, (number, size, group), block)?);
            }
            if resident.is_empty() {
                break;
            }
            let at = self.orders.below(resident.len() as u64) as usize;
            let changes = self.changes();
            if let Some(error) = self.run_burst(info, &mut resident[at])? {
                if failure.is_none() {
                    resident.iter_mut().for_each(Block::fail_awaits);
                }
                failure.get_or_insert(error);
            }
            if self.changes() != changes {
                resident.iter_mut().for_each(Block::retry_awaits);
            }
            let block = &mut resident[at];
            if !block.ready.is_empty() {
                continue;
            }
            if !block.awaiting.is_empty() {
                if failure.is_some() {
                    block.fail_awaits();
                } else if resident.iter().all(|block| block.ready.is_empty()) {
                    return self.deadlock(&resident);
                }
            } else if !self.release_barrier(block)? {
                let block = resident.swap_remove(at);
                ended.push(self.end_block(block));
            }
        }
        if let Some(kernel) = self.memory.kernel.take() {
            self.actors = kernel.end();
        }
        failure.map_or(Ok(()), Err)
    }

    /// A block before any of its threads runs.
    fn begin_block(
        &mut self,
        info: &KernelInfo<'p>,
        template: &[Slot],
        shared: &[(Var, u32, i64)],
        (number, size, group): (i64, i64, i64),
        ended: Block,
    ) -> Result<Block> {
        let unit = &info.unit;
        let mut common = self.activate(template);
        common.slots[info.block_var as usize] = Slot::set(number as u64);
        for (var, register, bytes) in shared {
            let at = self.memory.alloc(*bytes, Kind::Frame, unit.memory(*var), unit.label(*var))?;
            common.control.blocks.push((*var, at));
            common.slots[*register as usize] = Slot::set(at.bits());
        }
        returned(self.run(unit, &mut common.frame())?)?;
        let mut block = Block { number, group: group as usize, ..ended };
        block.slots.reserve(common.slots.len() * size as usize);
        for thread in 0..size {
            let from = block.slots.len();
            block.slots.extend_from_slice(&common.slots);
            block.slots[from + info.thread_var as usize] = Slot::set(thread as u64);
        }
        block.threads.resize_with(size as usize, Thread::default);
        block.threads.iter_mut().for_each(|thread| thread.control.at = info.threads as usize);
        block.ready.extend(0..size as usize);
        block.arrived.resize((size / group) as usize, 0);
        block.frames.append(&mut common.control.blocks);
        self.end(common);
        Ok(block)
    }

    /// The number of changes of elements that threads may await.
    fn changes(&self) -> u64 {
        let kernel = self.memory.kernel.as_ref();
        kernel.map_or(0, |kernel| kernel.changes)
    }

    /// Reports a deadlock: all resident threads wait, some of them for signals.
    fn deadlock(&self, resident: &[Block]) -> Result<()> {
        let label = self.kernel_label();
        let mut blocks: Vec<i64> = resident.iter().map(|block| block.number).collect();
        blocks.sort_unstable();
        bug(format!("the blocks {blocks:?} of {label} await signals that none of them gives"))
    }

    fn kernel_label(&self) -> String {
        let kernel = self.memory.kernel.as_ref();
        kernel.map_or_else(String::new, |kernel| kernel.label().to_string())
    }

    /// Continues a thread of the block for a while; returns its failure, if any.
    fn run_burst(&mut self, info: &KernelInfo<'p>, block: &mut Block) -> Result<Option<Box<EvalError>>> {
        if block.ready.is_empty() {
            return Ok(None);
        }
        let index = self.orders.below(block.ready.len() as u64) as usize;
        let at = block.ready[index];
        let thread = &mut block.threads[at];
        if let Some(kernel) = &mut self.memory.kernel {
            let now = || Actor {
                block: block.number,
                thread: at as u32,
                barriers: block.phase,
                group: (at / block.group) as u32,
                subgroup_barriers: thread.subgroup_barriers,
                signals: thread.signals,
            };
            kernel.switch(thread.actor, now)?;
        }
        self.burst = self.orders.below(BURST) + 1;
        let count = info.unit.template.len();
        let slots = &mut block.slots[at * count..(at + 1) * count];
        let result = self.run(&info.unit, &mut Frame { slots, control: &mut thread.control });
        if let Some(kernel) = &self.memory.kernel {
            thread.signals = kernel.signals_sent();
            thread.actor = kernel.number();
        }
        let exit = match result {
            Ok(Exit::Yields) => return Ok(None),
            Ok(exit) => Ok(exit),
            Err(error) if error.class == ErrorClass::Failure => Err(error),
            Err(error) => return Err(error),
        };
        let barrier = thread.control.at;
        block.ready.swap_remove(index);
        match exit {
            Ok(exit @ (Exit::Barrier | Exit::SubgroupBarrier)) => block.wait(at, barrier, exit),
            Ok(Exit::Awaits) => block.awaiting.push(at),
            Ok(Exit::Returned | Exit::Yields) => block.ended += 1,
            Err(error) => {
                block.failed = true;
                return Ok(Some(error));
            }
        }
        Ok(None)
    }

    /// Called when no thread of a block can continue: releases a barrier. Returns true if threads
    /// can continue.
    fn release_barrier(&mut self, block: &mut Block) -> Result<bool> {
        let Some((first, barrier)) = block.waiting.first().copied() else {
            return Ok(false);
        };
        if block.failed {
            return Ok(false);
        }
        let number = block.number;
        if block.ended > 0 {
            let label = self.kernel_label();
            return bug(format!(
                "thread {first} of block {number} of {label} waits at a barrier, and {} have ended",
                block.ended
            ));
        }
        if let Some((other, _)) = block.waiting.iter().find(|(_, other)| *other != barrier) {
            let label = self.kernel_label();
            return bug(format!(
                "threads {first} and {other} of block {number} of {label} wait at different barriers"
            ));
        }
        block.phase += 1;
        if let Some(kernel) = &mut self.memory.kernel {
            kernel.signals.barrier(number);
        }
        for (at, _) in block.waiting.drain(..) {
            block.threads[at].actor = 0;
            block.ready.push(at);
        }
        Ok(true)
    }

    /// Frees the memory of a block; returns the block with empty vectors.
    fn end_block(&mut self, mut block: Block) -> Block {
        if let Some(kernel) = &mut self.memory.kernel {
            kernel.signals.end(block.number);
        }
        for thread in &mut block.threads {
            for (_, at) in thread.control.blocks.drain(..) {
                self.memory.end_frame(at);
            }
            (thread.subgroup_barriers, thread.signals, thread.actor) = (0, 0, 0);
        }
        for (_, at) in block.frames.drain(..) {
            self.memory.end_frame(at);
        }
        block.slots.clear();
        block.ready.clear();
        block.waiting.clear();
        block.arrived.clear();
        block.awaiting.clear();
        (block.ended, block.failed, block.phase) = (0, false, 0);
        block
    }
}

/// Checks that the buffers of a block fit in shared memory.
fn check_shared_memory(frame_bytes: u64, shared: &[(Var, u32, i64)]) -> Result<()> {
    // A negative size exceeds the limit.
    let shared = shared.iter().map(|(_, _, bytes)| u64::try_from(*bytes).unwrap_or(u64::MAX));
    let bytes = shared.fold(frame_bytes, u64::saturating_add);
    if bytes > SHARED_MEMORY_BYTES {
        return limit(format!("a thread block with {bytes} bytes of shared memory"));
    }
    Ok(())
}
