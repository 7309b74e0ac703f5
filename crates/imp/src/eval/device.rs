//! The simulated device: kernels whose blocks and threads run concurrently, in any order.
//!
//! A few blocks are resident at a time, in a shuffled order. Repeatedly, a random thread of one of
//! them executes a few statements. At a barrier it waits for all threads of its block, or of its
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
mod thread;

use super::expr::Slot;
use super::frame::{EnclosingFrame, Frame, OwnVariables};
use super::machine::Machine;
use super::memory::{Kind, Pointer};
use super::races::Label;
use super::{EvalError, Result, bug, limit};
use crate::walk::each_stmt;
use crate::{DeviceOp, For, Launch, LoopMode, SharedBuffer, Stmt, Var};
use races::{Actor, Running};
use signals::Signals;
use target::device::SHARED_MEMORY_BYTES;
use thread::{Step, Thread};

/// The number of resident blocks.
const RESIDENT: usize = 3;
/// The largest number of statements that a thread executes before a switch.
const BURST: u64 = 12;

/// A running thread block.
struct Block<'p> {
    number: i64,
    /// Its buffers in shared memory.
    frames: Vec<(Var, Pointer)>,
    threads: Vec<Thread<'p>>,
    /// The indices of the threads that can continue.
    ready: Vec<usize>,
    /// The waiting threads, with their barriers.
    waiting: Vec<(usize, &'p Stmt)>,
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

impl<'p> Block<'p> {
    /// Retries the awaiting threads, as elements have changed.
    fn retry_awaits(&mut self) {
        self.ready.append(&mut self.awaiting);
    }

    /// A thread waits at a barrier. If it is the last of its subgroup at a subgroup barrier, the
    /// subgroup continues.
    fn wait(&mut self, at: usize, barrier: &'p Stmt) {
        self.waiting.push((at, barrier));
        if !matches!(barrier, Stmt::Device(DeviceOp::SubgroupBarrier(_))) {
            return;
        }
        let group = at / self.group;
        let Some(met) = self.arrived.get_mut(group) else {
            return;
        };
        *met += 1;
        let size = self.group;
        let is_here =
            |(other, place): &(usize, &Stmt)| other / size == group && std::ptr::eq(*place, barrier);
        // Where some wait elsewhere, no thread continues, which is reported.
        if *met < size || self.waiting.iter().filter(|it| is_here(it)).count() < size {
            return;
        }
        *met = 0;
        for (at, _) in self.waiting.extract_if(.., |it| is_here(it)) {
            self.threads[at].subgroup_barriers += 1;
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
    pub(super) fn kernel(&mut self, frame: &mut Frame<'p>, f: &'p For, launch: &'p Launch) -> Result<()> {
        let Some((Stmt::For(threads), common)) = f.body.split_last() else {
            return bug("a kernel has no threads");
        };
        let LoopMode::Threads(locals) = &threads.mode else {
            return bug("a kernel does not end with its threads");
        };
        let (blocks, size) = (frame.values().i64(&f.to)?, frame.values().i64(&threads.to)?);
        if !(1..=target::device::MAX_BLOCK).contains(&size) {
            return bug(format!("a block of {size} threads"));
        }
        let mut pads = Vec::with_capacity(launch.shared_buffers.len());
        for SharedBuffer { buffer, bytes } in &launch.shared_buffers {
            pads.push((*buffer, frame.values().i64(bytes)?));
        }
        // The sizes need not be valid if nothing is launched.
        if blocks > 0 {
            fit(common, &pads)?;
        }
        let group = group_of(threads, size)?;
        let (ours, theirs) = (launch.locals.iter(), locals.iter());
        let ours = OwnVariables::new(frame.function, ours.chain([&f.var]).copied())?;
        let theirs = OwnVariables::new(frame.function, theirs.chain([&threads.var]).copied())?;
        let found = EnclosingFrame::of_kernel(frame);
        let scattered = launch.scattered.iter();
        let scattered = scattered.filter_map(|var| frame.values().pointer(*var).ok());
        self.kernels += 1;
        let now = Actor { block: 0, thread: 0, barriers: 0, group: 0, subgroup_barriers: 0, signals: 0 };
        let running = Running {
            label: Label::Grid(launch.name.clone(), launch.id),
            number: self.kernels,
            scattered: scattered.collect(),
            now,
            signals: Signals::default(),
            changes: 0,
        };
        if self.memory.kernel.replace(running).is_some() {
            return bug("a kernel launches another one");
        }
        let mut order = self.orders.next(0, blocks);
        let mut resident: Vec<Block<'p>> = Vec::new();
        let mut failure: Option<Box<EvalError>> = None;
        loop {
            while resident.len() < RESIDENT
                && failure.is_none()
                && let Some(number) = order.next()
            {
                let mut own = found.frame(&ours);
                own.set(f.var, Slot::Scalar(prim::Scalar::I64(number)))?;
                for &(buffer, bytes) in &pads {
                    let (space, label) = (own.space(buffer), own.label(buffer));
                    let at = self.memory.alloc(bytes, Kind::Frame, space, label)?;
                    own.blocks.push((buffer, at));
                    own.set(buffer, Slot::Buffer(Some(at)))?;
                }
                self.block(&mut own, common)?;
                resident.push(begin(number, own, threads, &theirs, (size, group))?);
            }
            if resident.is_empty() {
                break;
            }
            let at = self.orders.below(resident.len() as u64) as usize;
            let changes = self.changes();
            if let Some(error) = self.run_burst(&mut resident[at])? {
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
                self.end_block(block);
            }
        }
        self.memory.kernel = None;
        failure.map_or(Ok(()), Err)
    }

    /// The number of changes of elements that threads may await.
    fn changes(&self) -> u64 {
        let kernel = self.memory.kernel.as_ref();
        kernel.map_or(0, |kernel| kernel.changes)
    }

    /// Reports a deadlock: all resident threads wait, some of them for signals.
    fn deadlock(&self, resident: &[Block<'p>]) -> Result<()> {
        let label = self.memory.kernel.as_ref().map(|kernel| &kernel.label);
        let label = label.map_or_else(String::new, ToString::to_string);
        let mut blocks: Vec<i64> = resident.iter().map(|block| block.number).collect();
        blocks.sort_unstable();
        bug(format!("the blocks {blocks:?} of {label} await signals that none of them gives"))
    }

    /// Executes a few statements of a thread of the block; returns its failure, if any.
    fn run_burst(&mut self, block: &mut Block<'p>) -> Result<Option<Box<EvalError>>> {
        if block.ready.is_empty() {
            return Ok(None);
        }
        let place = self.orders.below(block.ready.len() as u64) as usize;
        let at = block.ready[place];
        let thread = &mut block.threads[at];
        if let Some(kernel) = &mut self.memory.kernel {
            kernel.now = Actor {
                block: block.number,
                thread: thread.number,
                barriers: block.phase,
                group: thread.subgroup,
                subgroup_barriers: thread.subgroup_barriers,
                signals: thread.signals,
            };
        }
        let (mut failure, mut waits) = (None, None);
        for _ in 0..=self.orders.below(BURST) {
            match thread.step(self)? {
                Step::On => continue,
                Step::Waits(barrier) => waits = Some(barrier),
                Step::Awaits => block.awaiting.push(at),
                Step::Ends => block.ended += 1,
                Step::Fails(error) => {
                    block.failed = true;
                    failure = Some(error);
                }
            }
            block.ready.swap_remove(place);
            break;
        }
        if let Some(kernel) = &self.memory.kernel {
            thread.signals = kernel.now.signals;
        }
        if let Some(barrier) = waits {
            block.wait(at, barrier);
        }
        Ok(failure)
    }

    /// Called when no thread of a block can continue: releases a barrier. Returns true if threads
    /// can continue.
    fn release_barrier(&mut self, block: &mut Block<'p>) -> Result<bool> {
        let Some((first, barrier)) = block.waiting.first().copied() else {
            return Ok(false);
        };
        if block.failed {
            return Ok(false);
        }
        let label = self.memory.kernel.as_ref().map(|kernel| &kernel.label);
        let label = label.map_or_else(String::new, ToString::to_string);
        let number = block.number;
        if block.ended > 0 {
            return bug(format!(
                "thread {first} of block {number} of {label} waits at a barrier, and {} have ended",
                block.ended
            ));
        }
        let other = |(_, other): &&(usize, &Stmt)| !std::ptr::eq(*other, barrier);
        if let Some((other, _)) = block.waiting.iter().find(other) {
            return bug(format!(
                "threads {first} and {other} of block {number} of {label} wait at different barriers"
            ));
        }
        block.phase += 1;
        if let Some(kernel) = &mut self.memory.kernel {
            kernel.signals.barrier(number);
        }
        block.ready.extend(block.waiting.drain(..).map(|(at, _)| at));
        Ok(true)
    }

    /// Frees the memory of a block.
    fn end_block(&mut self, block: Block<'p>) {
        if let Some(kernel) = &mut self.memory.kernel {
            kernel.signals.end(block.number);
        }
        let threads = block.threads.into_iter();
        let frames = threads.flat_map(|thread| thread.frame.blocks);
        for (_, at) in frames.chain(block.frames) {
            self.memory.end_frame(at);
        }
    }
}

/// The subgroup size of a block of this size: the whole block without subgroup barriers.
fn group_of(threads: &For, size: i64) -> Result<i64> {
    let (mut group, mut differ) = (None, false);
    each_stmt(&threads.body, &mut |stmt| {
        if let Stmt::Device(DeviceOp::SubgroupBarrier(own)) = stmt {
            differ |= *group.get_or_insert(*own) != *own;
        }
    });
    let group = group.map_or(size, i64::from);
    if differ || group < 1 || size % group != 0 {
        return bug(format!("groups in a block of {size} threads that differ in size"));
    }
    Ok(group)
}

/// Checks that the buffers of a block fit in shared memory.
fn fit(common: &[Stmt], shared_buffers: &[(Var, i64)]) -> Result<()> {
    let frames = common.iter().filter_map(|stmt| {
        if let Stmt::Frame { elem, count, .. } = stmt {
            Some(elem.size().saturating_mul(*count))
        } else {
            None
        }
    });
    // A negative size exceeds the limit.
    let pads = shared_buffers.iter();
    let pads = pads.map(|(_, bytes)| u64::try_from(*bytes).unwrap_or(u64::MAX));
    let bytes = frames.chain(pads).fold(0, u64::saturating_add);
    if bytes > SHARED_MEMORY_BYTES {
        return limit(format!("a block with {bytes} bytes in the scratchpad"));
    }
    Ok(())
}

/// A block before any of its threads runs.
fn begin<'p>(
    number: i64,
    frame: Frame<'p>,
    threads: &'p For,
    locals: &OwnVariables,
    (size, group): (i64, i64),
) -> Result<Block<'p>> {
    let mut all = Vec::with_capacity(size as usize);
    let (common, frames) = EnclosingFrame::of_block(frame);
    for thread in 0..size {
        let mut own = common.frame(locals);
        own.set(threads.var, Slot::Scalar(prim::Scalar::I64(thread)))?;
        all.push(Thread::new(thread, thread / group, own, &threads.body));
    }
    Ok(Block {
        number,
        frames,
        ready: (0..all.len()).collect(),
        threads: all,
        waiting: Vec::new(),
        group: group as usize,
        arrived: vec![0; (size / group) as usize],
        awaiting: Vec::new(),
        ended: 0,
        failed: false,
        phase: 0,
    })
}
