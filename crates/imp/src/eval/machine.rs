//! Execution of calls and statements.

use super::access::{lane_locations, location};
use super::carried::Carried;
use super::expr::{Lane, Slot, Tunables, bytes_of};
use super::frame::Frame;
use super::memory::{Kind, Memory, Pointer};
use super::order::Orders;
use super::races::Label;
use super::{Options, Result, bug, limit, message, stop};
use crate::text::show_stmt;
use crate::{Arg, Expr, FunId, GlobalId, Program, Slots, Stmt, Tunable, Var, VarType};
use ir::eval::{ErrorClass, MAX_CALL_DEPTH};
use ir::tunable::{Class, Comparison};
use prim::{PrimType, Scalar};
use std::fmt::Write;
use std::rc::Rc;

/// An evaluation in progress.
pub(super) struct Machine<'p> {
    program: &'p Program,
    pub(super) memory: Memory,
    data: Vec<Option<Pointer>>,
    globals: Vec<Slot>,
    tunables: Rc<Tunables>,
    budget: u64,
    /// The orders of independent iterations.
    pub(super) orders: Orders,
    /// The loops with loop-carried variables.
    pub(super) carried: Carried,
    /// The number of kernels launched so far.
    pub(super) kernels: u32,
    depth: u32,
    /// True if the error being propagated has a location.
    located: bool,
}

impl<'p> Machine<'p> {
    /// An evaluation with unset globals.
    pub(super) fn new(program: &'p Program, options: Options) -> Self {
        let Options { budget, seed, settings, listener } = options;
        let value = |tunable: &Tunable| {
            let given = settings.0.get(&*tunable.name).copied();
            given.unwrap_or(tunable.default)
        };
        let tunables = Tunables { values: program.tunables.iter().map(value).collect(), listener };
        Self {
            program,
            memory: Memory::default(),
            data: vec![None; program.data.len()],
            globals: vec![Slot::Unset; program.globals.len()],
            tunables: Rc::new(tunables),
            budget,
            orders: Orders::new(seed),
            carried: Carried::default(),
            kernels: 0,
            depth: 0,
            located: false,
        }
    }

    /// Runs the initialiser, if there is one, and makes the globals' blocks read-only.
    pub(super) fn init(&mut self) -> Result<()> {
        if let Some(init) = self.program.init {
            self.call(init, Vec::new())?;
        }
        for slot in &self.globals {
            if let Slot::Buffer(Some(at)) = slot {
                self.memory.freeze(*at)?;
            }
        }
        Ok(())
    }

    /// Releases the references of the globals.
    pub(super) fn finish(&mut self) -> Result<()> {
        for slot in std::mem::take(&mut self.globals) {
            self.drop_slot(slot)?;
        }
        Ok(())
    }

    /// Releases the reference of a slot.
    pub(super) fn drop_slot(&mut self, slot: Slot) -> Result<()> {
        match slot {
            Slot::Buffer(Some(at)) => self.memory.release(at),
            Slot::Unset | Slot::Scalar(_) | Slot::Unwritten(_) | Slot::Vector(_) | Slot::Buffer(None) => {
                Ok(())
            }
        }
    }

    /// Calls a function; the caller owns the results' buffers.
    pub(super) fn call(&mut self, fun: FunId, args: Vec<Slot>) -> Result<Vec<Slot>> {
        let Some(function) = self.program.functions.get(fun.0 as usize) else {
            return bug(format!("function {} does not exist", fun.0));
        };
        if self.depth >= MAX_CALL_DEPTH {
            return limit(format!("calls nested more than {MAX_CALL_DEPTH} deep"));
        }
        let mut frame = Frame::new(function, &self.tunables)?;
        for (param, arg) in function.params.iter().zip(args) {
            frame.set(*param, arg)?;
        }
        self.depth += 1;
        self.block(&mut frame, &function.body)?;
        self.depth -= 1;
        let mut results = Vec::with_capacity(function.results.len());
        for result in &function.results {
            match std::mem::replace(frame.slot(*result)?, Slot::Unset) {
                slot @ (Slot::Scalar(_) | Slot::Vector(_) | Slot::Buffer(Some(_))) => {
                    results.push(slot);
                }
                Slot::Unset | Slot::Unwritten(_) | Slot::Buffer(None) => {
                    return bug(format!("result variable {} of {} is not set", result.0, function.name));
                }
            }
        }
        self.release_all(&mut frame, &function.owned)?;
        for (_, at) in frame.blocks {
            self.memory.end_frame(at);
        }
        Ok(results)
    }

    pub(super) fn release_all(&mut self, frame: &mut Frame<'p>, owned: &[Var]) -> Result<()> {
        for var in owned {
            let slot = std::mem::replace(frame.slot(*var)?, Slot::Unset);
            self.drop_slot(slot)?;
        }
        Ok(())
    }

    pub(super) fn block(&mut self, frame: &mut Frame<'p>, stmts: &'p [Stmt]) -> Result<()> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                if self.budget == 0 {
                    return limit("the budget of statements");
                }
                self.budget -= 1;
                self.located_stmt(frame, stmt)?;
            }
            Ok(())
        })
    }

    /// Runs a statement; adds the innermost statement to an error.
    pub(super) fn located_stmt(&mut self, frame: &mut Frame<'p>, stmt: &'p Stmt) -> Result<()> {
        self.stmt(frame, stmt).map_err(|mut error| {
            if !self.located && error.class != ErrorClass::Failure {
                self.located = true;
                let text = show_stmt(self.program, frame.function, stmt);
                let name = &frame.function.name;
                let _ = write!(error.message, "\n  in {name}: {text}");
            }
            error
        })
    }

    fn stmt(&mut self, frame: &mut Frame<'p>, stmt: &'p Stmt) -> Result<()> {
        match stmt {
            Stmt::Set(var, expr) => {
                let value = value(frame, expr, frame.is_vector(*var))?;
                frame.set(*var, value)
            }
            Stmt::Load(var, access) => {
                let (at, position) = location(frame, access)?;
                let value = self.memory.load(at, access.elem, position)?;
                frame.set(*var, value.map_or(Slot::Unwritten(position), Slot::Scalar))
            }
            Stmt::Store(access, expr) => {
                let (at, position) = location(frame, access)?;
                if frame.values().unwritten(expr).is_some() {
                    return self.memory.unset(at, access.elem, position);
                }
                let value = frame.values().scalar(expr)?;
                typed(value, access.elem)?;
                self.memory.store(at, position, value)
            }
            Stmt::LoadLanes { var, from, mask } => {
                let (at, positions) = lane_locations(frame, from, mask.as_ref())?;
                let values = positions.into_iter().map(|position| match position {
                    Some(position) => self.memory.load(at, from.elem, position),
                    None => Ok(Some(Scalar::zero(from.elem))),
                });
                let values: Result<Vec<Lane>> = values.collect();
                frame.set(*var, Slot::Vector(values?))
            }
            Stmt::StoreLanes { to, value, mask } => {
                let (at, positions) = lane_locations(frame, to, mask.as_ref())?;
                let values = frame.values().vector(value)?;
                if values.len() != positions.len() {
                    return bug("vectors with different numbers of lanes");
                }
                for (position, value) in positions.into_iter().zip(values.iter()) {
                    if let Some(position) = position {
                        // A lane without a value may be stored: that unsets the element.
                        match *value {
                            Some(value) => {
                                typed(value, to.elem)?;
                                self.memory.store(at, position, value)?;
                            }
                            None => self.memory.unset(at, to.elem, position)?,
                        }
                    }
                }
                Ok(())
            }
            Stmt::Alloc(var, bytes, _) => {
                let bytes = frame.values().i64(bytes)?;
                let at = self.memory.alloc(bytes, Kind::Heap, frame.space(*var), frame.label(*var))?;
                self.set_owned(frame, *var, at)
            }
            Stmt::Frame { buffer, elem, count } => {
                if let Some(i) = frame.blocks.iter().position(|(var, _)| var == buffer) {
                    let (_, old) = frame.blocks.swap_remove(i);
                    self.memory.end_frame(old);
                }
                let bytes = bytes_of(*elem, *count);
                let (space, label) = (frame.space(*buffer), frame.label(*buffer));
                let at = self.memory.alloc(bytes, Kind::Frame, space, label)?;
                frame.blocks.push((*buffer, at));
                frame.set(*buffer, Slot::Buffer(Some(at)))
            }
            Stmt::Slots(Slots::New(var, count, _)) => {
                let count = frame.values().i64(count)?;
                let at = self.memory.slots(count, frame.label(*var))?;
                self.set_owned(frame, *var, at)
            }
            Stmt::Slots(Slots::Put { slots, at, block }) => {
                let (slots, at) = (frame.values().pointer(*slots)?, frame.values().i64(at)?);
                let kept = frame.values().pointer(*block)?;
                self.memory.put_slot(slots, at, kept)?;
                frame.set(*block, Slot::Buffer(None))
            }
            Stmt::Slots(Slots::Get { var, slots, at }) => {
                let (slots, at) = (frame.values().pointer(*slots)?, frame.values().i64(at)?);
                let kept = self.memory.get_slot(slots, at)?;
                frame.set(*var, Slot::Buffer(Some(kept)))
            }
            Stmt::Share(var, other) => {
                let at = frame.values().pointer(*other)?;
                self.memory.share(at)?;
                self.set_owned(frame, *var, at)
            }
            Stmt::Borrow(var, other) => {
                let at = frame.values().pointer(*other)?;
                frame.set(*var, Slot::Buffer(Some(at)))
            }
            Stmt::Release(var) => {
                let at = frame.values().pointer(*var)?;
                self.memory.release(at)?;
                frame.set(*var, Slot::Buffer(None))
            }
            Stmt::Copy { to, from, elem, extents, plan: _ } => self.copy(frame, to, from, *elem, extents),
            Stmt::ConstData(var, data) => {
                let program = self.program;
                let i = data.0 as usize;
                let (Some(known), Some(data)) = (self.data.get_mut(i), program.data.get(i)) else {
                    return bug(format!("data#{i} does not exist"));
                };
                let memory = &mut self.memory;
                let at = *known.get_or_insert_with(|| {
                    memory.with_bytes(data.bytes.to_vec(), Kind::Data, false, Label::Data(i))
                });
                frame.set(*var, Slot::Buffer(Some(at)))
            }
            Stmt::If(cond, yes, no) => {
                let branch = if frame.values().bool(cond)? { yes } else { no };
                self.block(frame, branch)
            }
            Stmt::While(cond, body) => {
                while frame.values().scalar_var(*cond)? == Scalar::Bool(true) {
                    self.block(frame, body)?;
                    self.charge(1)?;
                }
                Ok(())
            }
            Stmt::For(f) => self.for_loop(frame, f),
            Stmt::Call { fun, args, results, place: _ } => {
                let args = self.args(frame, *fun, args)?;
                let values = self.call(*fun, args)?;
                for (var, value) in results.iter().zip(values) {
                    match value {
                        Slot::Buffer(Some(at)) => self.set_owned(frame, *var, at)?,
                        Slot::Unset
                        | Slot::Scalar(_)
                        | Slot::Unwritten(_)
                        | Slot::Vector(_)
                        | Slot::Buffer(_) => {
                            frame.set(*var, value)?;
                        }
                    }
                }
                Ok(())
            }
            Stmt::RecordComparison(id, size) => {
                let (size, least) = (frame.values().i64(size)?, frame.values().tunable(*id)?);
                let tunable = self.program.tunables.get(id.0 as usize);
                let tunable = tunable.filter(|tunable| tunable.class != Class::Size);
                if let (Some(listener), Some(tunable)) = (self.tunables.listener, tunable) {
                    let name = &tunable.name;
                    listener(Comparison { name, size, threshold: least });
                }
                Ok(())
            }
            Stmt::Check { cond, check, values } => {
                if frame.values().bool(cond)? {
                    return Ok(());
                }
                let values: Result<Vec<Scalar>> = values.iter().map(|v| frame.values().scalar(v)).collect();
                match self.program.checks.get(check.0 as usize) {
                    Some(check) => stop(ErrorClass::Failure, message(check, &values?)),
                    None => bug(format!("check#{} does not exist", check.0)),
                }
            }
            Stmt::ReadGlobal(var, global) => {
                let value = self.global(*global)?.clone();
                if matches!(value, Slot::Unset) {
                    return bug(format!("global#{} is not set", global.0));
                }
                frame.set(*var, value)
            }
            Stmt::Device(op) => self.device_op(frame, op),
            Stmt::WriteGlobal(global, var) => {
                let value = if let Slot::Buffer(Some(at)) = *frame.slot(*var)? {
                    self.memory.share(at)?;
                    Slot::Buffer(Some(at))
                } else {
                    Slot::Scalar(frame.values().scalar_var(*var)?)
                };
                let old = std::mem::replace(self.global(*global)?, value);
                self.drop_slot(old)
            }
        }
    }

    fn global(&mut self, global: GlobalId) -> Result<&mut Slot> {
        match self.globals.get_mut(global.0 as usize) {
            Some(slot) => Ok(slot),
            None => bug(format!("global#{} does not exist", global.0)),
        }
    }

    /// Takes steps from the budget for work that is not a statement.
    pub(super) fn charge(&mut self, steps: u64) -> Result<()> {
        match self.budget.checked_sub(steps) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => limit("the budget of statements"),
        }
    }

    /// Sets an owned variable to a reference, and releases its old one.
    fn set_owned(&mut self, frame: &mut Frame<'p>, var: Var, at: Pointer) -> Result<()> {
        let old = std::mem::replace(frame.slot(var)?, Slot::Buffer(Some(at)));
        self.drop_slot(old)
    }

    fn args(&self, frame: &Frame<'p>, fun: FunId, args: &[Arg]) -> Result<Vec<Slot>> {
        let callee = self.program.functions.get(fun.0 as usize);
        let is_vector = |i: usize| {
            let info = callee.and_then(|f| f.vars.get(f.params.get(i)?.index()));
            matches!(info.map(|info| info.ty), Some(VarType::Vector(..)))
        };
        let slots = args.iter().enumerate().map(|(i, arg)| match arg {
            Arg::Scalar(expr) => value(frame, expr, is_vector(i)),
            Arg::Buffer(var) => Ok(Slot::Buffer(Some(frame.values().pointer(*var)?))),
        });
        slots.collect()
    }
}

fn value(frame: &Frame<'_>, expr: &Expr, is_vector: bool) -> Result<Slot> {
    Ok(if is_vector {
        Slot::Vector(frame.values().vector(expr)?.into_owned())
    } else if let Some(position) = frame.values().unwritten(expr) {
        Slot::Unwritten(position)
    } else {
        Slot::Scalar(frame.values().scalar(expr)?)
    })
}

fn typed(value: Scalar, elem: PrimType) -> Result<()> {
    if value.ty() == elem {
        Ok(())
    } else {
        bug(format!("a value of type {} is stored as {elem}", value.ty()))
    }
}
