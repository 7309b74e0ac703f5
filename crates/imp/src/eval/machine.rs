//! An evaluation in progress: globals, calls, and the memory of calls.

use super::code::{Reg, Slot, State};
use super::compile::{self, Constants};
use super::loops::Iterations;
use super::memory::{Memory, Pointer};
use super::order::Orders;
use super::unit::Unit;
use super::{Options, Result, bug, limit};
use crate::text::show_stmt;
use crate::{FunId, Program, Tunable, Var};
use ir::eval::{ErrorClass, MAX_CALL_DEPTH};
use ir::tunable::Listener;
use std::fmt::Write;
use std::rc::Rc;

/// An evaluation in progress.
pub(super) struct Machine<'p> {
    pub(super) program: &'p Program,
    pub(super) memory: Memory,
    /// The code of the functions that have been called.
    units: Vec<Option<Rc<Unit<'p>>>>,
    pub(super) data: Vec<Option<Pointer>>,
    pub(super) globals: Vec<Slot>,
    pub(super) tunables: Vec<i64>,
    /// The listener for comparisons.
    pub(super) listener: Option<Listener>,
    /// The number of statements left; in a thread, until another thread runs.
    pub(super) steps: u64,
    /// In a thread, the number of statements left.
    pub(super) budget: u64,
    /// True while a thread executes its own code.
    pub(super) in_thread: bool,
    /// The orders of independent iterations.
    pub(super) orders: Orders,
    depth: u32,
    /// Vectors of registers that can be used again.
    pub(super) registers: Vec<Vec<Slot>>,
    /// The number for the first thread of the next kernel.
    pub(super) actors: u32,
    /// True if the error being propagated has a location.
    is_located: bool,
}

/// A call, a thread block, or a thread.
pub(super) struct Frame {
    pub(super) slots: Vec<Slot>,
    /// The index of the next instruction.
    pub(super) at: usize,
    /// The running loops whose iterations may run in any order.
    pub(super) loops: Vec<Iterations>,
    /// The blocks of the frame, with their variables.
    pub(super) blocks: Vec<(Var, Pointer)>,
}

impl Frame {
    /// The registers that begin here.
    #[inline]
    pub(super) fn part(&self, reg: Reg, count: u32) -> &[Slot] {
        self.slots.get(reg as usize..(reg + count) as usize).unwrap_or_default()
    }

    /// The block of a buffer register.
    #[inline]
    pub(super) fn pointer(&self, reg: Reg) -> Pointer {
        Pointer::from_bits(self.word(reg))
    }

    #[inline]
    pub(super) fn word(&self, reg: Reg) -> u64 {
        self.slots[reg as usize].word
    }

    #[inline]
    pub(super) fn i64(&self, reg: Reg) -> i64 {
        self.word(reg) as i64
    }
}

/// The reason why an execution has stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Exit {
    /// The code has ended.
    Returned,
    /// There are no steps left.
    NoSteps,
    /// A thread waits at a barrier.
    Barrier,
    /// A thread waits at a subgroup barrier.
    SubgroupBarrier,
    /// A thread awaits a signal.
    Awaits,
}

impl<'p> Machine<'p> {
    /// An evaluation with unset globals.
    pub(super) fn new(program: &'p Program, options: Options) -> Self {
        let Options { budget, seed, settings, listener } = options;
        let value = |tunable: &Tunable| {
            let given = settings.0.get(&*tunable.name).copied();
            given.unwrap_or(tunable.default)
        };
        Self {
            program,
            memory: Memory::default(),
            units: vec![None; program.functions.len()],
            data: vec![None; program.data.len()],
            globals: vec![Slot::UNSET; program.globals.len()],
            tunables: program.tunables.iter().map(value).collect(),
            listener,
            steps: budget,
            budget: 0,
            in_thread: false,
            orders: Orders::new(seed),
            depth: 0,
            registers: Vec::new(),
            actors: 1,
            is_located: false,
        }
    }

    /// Runs the initialiser, if there is one, and makes the globals' blocks read-only.
    pub(super) fn init(&mut self) -> Result<()> {
        if let Some(init) = self.program.init {
            self.call(init, |_, _| {})?;
        }
        let buffers = self.program.globals.iter().zip(&self.globals).filter(|(ty, _)| ty.is_buffer());
        for (_, slot) in buffers {
            if slot.state == State::Set {
                self.memory.freeze(Pointer::from_bits(slot.word))?;
            }
        }
        Ok(())
    }

    /// Releases the references of the globals.
    pub(super) fn finish(&mut self) -> Result<()> {
        let globals = std::mem::take(&mut self.globals);
        let buffers = self.program.globals.iter().zip(globals).filter(|(ty, _)| ty.is_buffer());
        buffers.into_iter().try_for_each(|(_, slot)| self.release(slot))
    }

    /// Releases the reference of a buffer's register.
    pub(super) fn release(&mut self, slot: Slot) -> Result<()> {
        match slot.state {
            State::Set => self.memory.release(Pointer::from_bits(slot.word)),
            State::Unset | State::Unwritten | State::Null => Ok(()),
        }
    }

    fn unit(&mut self, fun: FunId) -> Result<Rc<Unit<'p>>> {
        let i = fun.0 as usize;
        let (Some(unit), Some(function)) = (self.units.get_mut(i), self.program.functions.get(i)) else {
            return bug(format!("function {} does not exist", fun.0));
        };
        if let Some(unit) = unit {
            return Ok(Rc::clone(unit));
        }
        let constants = Constants { tunables: &self.tunables, logs_comparisons: self.listener.is_some() };
        let made = Rc::new(compile::function(self.program, function, &constants));
        *unit = Some(Rc::clone(&made));
        Ok(made)
    }

    /// A frame before the first instruction of a unit.
    pub(super) fn frame(&mut self, unit: &Unit<'p>) -> Frame {
        self.frame_of(&unit.template)
    }

    /// A frame with these registers.
    pub(super) fn frame_of(&mut self, template: &[Slot]) -> Frame {
        let mut slots = self.registers.pop().unwrap_or_default();
        slots.extend_from_slice(template);
        Frame { slots, at: 0, loops: Vec::new(), blocks: Vec::new() }
    }

    /// Ends the blocks of a frame.
    pub(super) fn end_frame(&mut self, frame: Frame) {
        for (_, at) in frame.blocks {
            self.memory.end_frame(at);
        }
        let mut slots = frame.slots;
        slots.clear();
        self.registers.push(slots);
    }

    /// Calls a function, whose arguments `set_args` sets. The results are in the frame, which the
    /// caller ends; it owns the results' buffers.
    pub(super) fn call(
        &mut self,
        fun: FunId,
        set_args: impl FnOnce(&Unit<'p>, &mut Frame),
    ) -> Result<(Rc<Unit<'p>>, Frame)> {
        let unit = self.unit(fun)?;
        if self.depth >= MAX_CALL_DEPTH {
            return limit(format!("calls nested more than {MAX_CALL_DEPTH} deep"));
        }
        let mut frame = self.frame(&unit);
        set_args(&unit, &mut frame);
        self.depth += 1;
        let exit = stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.run(&unit, &mut frame));
        self.depth -= 1;
        self.returned(&unit, &frame, exit?)?;
        for result in &unit.results {
            let slot = frame.slots[result.reg as usize];
            if slot.state != State::Set && !result.is_vector {
                let name = &unit.function.name;
                return bug(format!("result variable {} of {name} is not set", result.var.0));
            }
        }
        for owned in &unit.owned {
            self.release(frame.slots[*owned as usize])?;
        }
        Ok((unit, frame))
    }

    /// Fails if code of the host has not come to its end.
    pub(super) fn returned(&mut self, unit: &Unit<'p>, frame: &Frame, exit: Exit) -> Result<()> {
        match exit {
            Exit::Returned => Ok(()),
            Exit::NoSteps => {
                let result = limit("the budget of statements");
                self.located(unit, frame.at, result)
            }
            Exit::Barrier | Exit::SubgroupBarrier | Exit::Awaits => bug("a thread outside of a kernel"),
        }
    }

    /// Executes code of the unit from the frame's instruction on.
    pub(super) fn run(&mut self, unit: &Unit<'p>, frame: &mut Frame) -> Result<Exit> {
        let mut at = frame.at;
        let exit = self.execute(unit, frame, &mut at);
        frame.at = at;
        self.located(unit, at, exit)
    }

    /// Adds the innermost statement to an error.
    fn located<T>(&mut self, unit: &Unit<'p>, at: usize, result: Result<T>) -> Result<T> {
        result.map_err(|mut error| {
            let stmt = unit.origin.get(at).and_then(|stmt| unit.stmts.get(*stmt as usize));
            if let Some(stmt) = stmt
                && !self.is_located
                && error.class != ErrorClass::Failure
            {
                self.is_located = true;
                let text = show_stmt(self.program, unit.function, stmt);
                let name = &unit.function.name;
                let _ = write!(error.message, "\n  in {name}: {text}");
            }
            error
        })
    }

    /// Takes steps from the budget for work that is not a statement.
    pub(super) fn charge(&mut self, steps: u64) -> Result<()> {
        let budget = if self.in_thread { &mut self.budget } else { &mut self.steps };
        match budget.checked_sub(steps) {
            Some(left) => {
                *budget = left;
                Ok(())
            }
            None => limit("the budget of statements"),
        }
    }
}
