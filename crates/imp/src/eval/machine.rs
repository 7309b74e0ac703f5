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
    /// The number of statements left.
    budget: u64,
    /// The number of accesses until another thread runs.
    pub(super) burst: u64,
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

/// The state of a call, a thread block, or a thread beside its registers.
#[derive(Default)]
pub(super) struct Control {
    /// The index of the next instruction.
    pub(super) at: usize,
    /// The running loops whose iterations may run in any order.
    pub(super) loops: Vec<Iterations>,
    /// The blocks of the frame, with their variables.
    pub(super) blocks: Vec<(Var, Pointer)>,
}

/// A call or a thread block.
pub(super) struct Activation {
    pub(super) slots: Vec<Slot>,
    pub(super) control: Control,
}

impl Activation {
    pub(super) fn frame(&mut self) -> Frame<'_> {
        Frame { slots: &mut self.slots, control: &mut self.control }
    }
}

/// The registers and the state of a call, a thread block, or a thread that is being executed.
pub(super) struct Frame<'s> {
    pub(super) slots: &'s mut [Slot],
    pub(super) control: &'s mut Control,
}

impl Frame<'_> {
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
    /// The thread has used up its burst.
    Yields,
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
            budget,
            burst: 0,
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
        let i = fun.index();
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

    /// A call or a thread block before its first instruction, with these registers.
    pub(super) fn activate(&mut self, template: &[Slot]) -> Activation {
        let mut slots = self.registers.pop().unwrap_or_default();
        slots.extend_from_slice(template);
        Activation { slots, control: Control::default() }
    }

    /// Ends a call or a thread block, and its blocks of memory.
    pub(super) fn end(&mut self, ended: Activation) {
        for (_, at) in ended.control.blocks {
            self.memory.end_frame(at);
        }
        let mut slots = ended.slots;
        slots.clear();
        self.registers.push(slots);
    }

    /// Calls a function, whose arguments `set_args` sets. The results are in the frame, which the
    /// caller ends; it owns the results' buffers.
    pub(super) fn call(
        &mut self,
        fun: FunId,
        set_args: impl FnOnce(&Unit<'p>, &mut [Slot]),
    ) -> Result<(Rc<Unit<'p>>, Activation)> {
        let unit = self.unit(fun)?;
        if self.depth >= MAX_CALL_DEPTH {
            return limit(format!("calls nested more than {MAX_CALL_DEPTH} deep"));
        }
        let mut called = self.activate(&unit.template);
        set_args(&unit, &mut called.slots);
        self.depth += 1;
        let exit = stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.run(&unit, &mut called.frame()));
        self.depth -= 1;
        returned(exit?)?;
        for result in &unit.results {
            let slot = called.slots[result.reg as usize];
            if slot.state != State::Set && !result.is_vector {
                let name = &unit.function.name;
                return bug(format!("result variable {} of {name} is not set", result.var.0));
            }
        }
        for owned in &unit.owned {
            self.release(called.slots[*owned as usize])?;
        }
        Ok((unit, called))
    }

    /// Executes code of the unit from the frame's instruction on.
    pub(super) fn run(&mut self, unit: &Unit<'p>, frame: &mut Frame<'_>) -> Result<Exit> {
        let mut at = frame.control.at;
        let exit = self.execute(unit, frame, &mut at);
        frame.control.at = at;
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

    /// Takes steps from the budget.
    #[inline]
    pub(super) fn charge(&mut self, steps: u64) -> Result<()> {
        match self.budget.checked_sub(steps) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => limit("the budget of statements"),
        }
    }
}

/// Fails if code outside of threads has not returned.
pub(super) fn returned(exit: Exit) -> Result<()> {
    match exit {
        Exit::Returned => Ok(()),
        Exit::Yields | Exit::Barrier | Exit::SubgroupBarrier | Exit::Awaits => {
            bug("a thread outside of a kernel")
        }
    }
}
