//! The loop that executes instructions.

use super::access::combined;
use super::code::{LargeOp, Op, Slot, State};
use super::machine::{Exit, Frame, Machine};
use super::memory::{Kind, Pointer};
use super::races::Label;
use super::unit::Unit;
use super::{Result, bug, lanes, message, stop};
use crate::Var;
use ir::eval::ErrorClass;
use ir::tunable::{Class, Comparison};
use prim::{Scalar, eval};

impl<'p> Machine<'p> {
    /// Executes instructions from `at` on, which is then the index of the next one, or of the one
    /// that failed.
    pub(super) fn execute(&mut self, unit: &Unit<'p>, frame: &mut Frame<'_>, at: &mut usize) -> Result<Exit> {
        macro_rules! word {
            ($reg:expr) => {
                frame.slots[$reg as usize].word
            };
        }
        macro_rules! set {
            ($reg:expr, $word:expr) => {{
                let word = $word;
                frame.slots[$reg as usize] = Slot::set(word);
            }};
        }
        macro_rules! f32s {
            ($d:expr, $a:expr, $b:expr, $f:expr) => {{
                let (x, y) = (f32::from_bits(word!($a) as u32), f32::from_bits(word!($b) as u32));
                set!($d, u64::from(f32::to_bits($f(x, y))))
            }};
        }
        macro_rules! f64s {
            ($d:expr, $a:expr, $b:expr, $f:expr) => {{
                let (x, y) = (f64::from_bits(word!($a)), f64::from_bits(word!($b)));
                set!($d, f64::to_bits($f(x, y)))
            }};
        }
        macro_rules! attempt {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(error) => break Err(error),
                }
            };
        }
        let code = unit.code.as_slice();
        let mut pc = *at;
        let result = loop {
            let Some(op) = code.get(pc) else {
                break Ok(Exit::Returned);
            };
            match *op {
                Op::Step(count) => attempt!(self.charge(u64::from(count))),
                Op::Yield => match self.burst.checked_sub(1) {
                    Some(left) => self.burst = left,
                    None => break Ok(Exit::Yields),
                },
                Op::Fail(message) => break bug(unit.failures[message as usize].clone()),
                Op::Require { a, var } => {
                    let slot = frame.slots[a as usize];
                    if slot.state != State::Set {
                        break missing(var, slot);
                    }
                }
                Op::RequireSet { a, var } => {
                    let slot = frame.slots[a as usize];
                    if slot.state == State::Unset {
                        break missing(var, slot);
                    }
                }
                Op::Move { d, a } => set!(d, word!(a)),
                Op::Copy { d, a, count } => {
                    if count == 1 {
                        frame.slots[d as usize] = frame.slots[a as usize];
                    } else {
                        frame.slots.copy_within(a as usize..(a + count) as usize, d as usize);
                    }
                }
                Op::Add { d, a, b } => set!(d, word!(a).wrapping_add(word!(b))),
                Op::Sub { d, a, b } => set!(d, word!(a).wrapping_sub(word!(b))),
                Op::Mul { d, a, b } => set!(d, word!(a).wrapping_mul(word!(b))),
                Op::MulAdd { d, a, b, c } => set!(d, word!(a).wrapping_mul(word!(b)).wrapping_add(word!(c))),
                Op::Less { d, a, b } => set!(d, u64::from((word!(a) as i64) < word!(b) as i64)),
                Op::LessEqual { d, a, b } => set!(d, u64::from(word!(a) as i64 <= word!(b) as i64)),
                Op::Equal { d, a, b } => set!(d, u64::from(word!(a) == word!(b))),
                Op::AddF32 { d, a, b } => f32s!(d, a, b, |x, y| x + y),
                Op::MulF32 { d, a, b } => f32s!(d, a, b, |x, y| x * y),
                Op::AddF64 { d, a, b } => f64s!(d, a, b, |x, y| x + y),
                Op::MulF64 { d, a, b } => f64s!(d, a, b, |x, y| x * y),
                Op::And { d, a, b } => set!(d, word!(a) & word!(b)),
                Op::Or { d, a, b } => set!(d, word!(a) | word!(b)),
                Op::SignExtend32 { d, a } => set!(d, i64::from(word!(a) as i32) as u64),
                Op::Unary { f, d, a } => set!(d, f(word!(a))),
                Op::Binary { op, f, d, a, b } => match f(word!(a), word!(b)) {
                    Some(value) => set!(d, value),
                    None => break combined(op, None).map(|_| Exit::Returned),
                },
                Op::Compare { f, d, a, b } => set!(d, f(word!(a), word!(b)).unwrap_or(0)),
                Op::Convert { op, from, to, d, a } => {
                    let value = eval::convert(op, Scalar::from_bits(from, word!(a)), to);
                    set!(d, value.map_or(0, Scalar::bits));
                }
                Op::Select { d, c, a, b } => {
                    let chosen = if word!(c) != 0 { word!(a) } else { word!(b) };
                    set!(d, chosen);
                }
                Op::Fma { ty, d, a, b, c } => {
                    let [x, y, z] = [word!(a), word!(b), word!(c)].map(|bits| Scalar::from_bits(ty, bits));
                    set!(d, eval::fma(x, y, z).map_or(0, Scalar::bits));
                }
                Op::Math { fun, ty, d, a, b } => {
                    let args = [word!(a), word!(b)].map(|bits| Scalar::from_bits(ty, bits));
                    set!(d, eval::math(fun, &args[..fun.arity()]).map_or(0, Scalar::bits));
                }
                Op::Load { elem, d, buffer, at } => {
                    let position = word!(at) as i64;
                    let value = attempt!(self.memory.load(Pointer::from_bits(word!(buffer)), elem, position));
                    frame.slots[d as usize] = match value {
                        Some(value) => Slot::set(value),
                        None => Slot { word: position as u64, state: State::Unwritten },
                    };
                }
                Op::Store { elem, buffer, at, a } => {
                    let (block, value) = (Pointer::from_bits(word!(buffer)), word!(a));
                    attempt!(self.memory.store(block, elem, word!(at) as i64, Some(value)));
                }
                Op::StoreVar { elem, buffer, at, a } => {
                    let (block, value) = (Pointer::from_bits(word!(buffer)), frame.slots[a as usize].value());
                    attempt!(self.memory.store(block, elem, word!(at) as i64, value));
                }
                Op::Jump(to) => {
                    pc = to as usize;
                    continue;
                }
                Op::JumpIf { a, to } => {
                    if word!(a) != 0 {
                        pc = to as usize;
                        continue;
                    }
                }
                Op::JumpUnless { a, to } => {
                    if word!(a) == 0 {
                        pc = to as usize;
                        continue;
                    }
                }
                Op::Enter { var, next, end, exit } => {
                    if word!(next) as i64 >= word!(end) as i64 {
                        pc = exit as usize;
                        continue;
                    }
                    set!(var, word!(next));
                }
                Op::Next { var, next, end, body } => {
                    let following = (word!(next) as i64).wrapping_add(1);
                    if following < word!(end) as i64 {
                        set!(next, following as u64);
                        set!(var, following as u64);
                        pc = body as usize;
                        continue;
                    }
                }
                Op::Wrap { ty, d, a } => set!(d, Scalar::int(ty, word!(a) as i64).bits()),
                Op::LoadLanes(number) => attempt!(self.load_lanes(frame, &unit.lanes[number as usize])),
                Op::StoreLanes(number) => attempt!(self.store_lanes(frame, &unit.lanes[number as usize])),
                Op::Begin { at } => attempt!(self.begin_loop(frame, &unit.loops[at as usize])),
                Op::Iterate { at: number, exit } => {
                    if !attempt!(self.next_iteration(frame, &unit.loops[number as usize])) {
                        pc = exit as usize;
                        continue;
                    }
                }
                Op::EndTask { at } => attempt!(self.end_task(frame, &unit.loops[at as usize])),
                Op::Return => break Ok(Exit::Returned),
                Op::Barrier => {
                    pc += 1;
                    break Ok(Exit::Barrier);
                }
                Op::SubgroupBarrier => {
                    pc += 1;
                    break Ok(Exit::SubgroupBarrier);
                }
                Op::Await { elem, d, buffer, at: position, retry } => {
                    let block = Pointer::from_bits(word!(buffer));
                    match attempt!(self.memory.awaited(block, elem, word!(position) as i64)) {
                        Some(signal) => set!(d, signal),
                        None => {
                            pc = retry as usize;
                            break Ok(Exit::Awaits);
                        }
                    }
                }
                Op::SkipEmpty { first, count, to } => {
                    let extents = unit.extents.get(first as usize..(first + count) as usize);
                    if extents.unwrap_or_default().iter().any(|reg| word!(*reg) as i64 <= 0) {
                        pc = to as usize;
                        continue;
                    }
                }
                Op::Lanes(op) => attempt!(lanes::execute(frame.slots, &unit.lane_ops[op as usize])),
                Op::Large(op) => attempt!(self.large(unit, frame, &unit.large_ops[op as usize])),
            }
            pc += 1;
        };
        *at = pc;
        result
    }

    /// Executes an instruction that takes much longer than its dispatch.
    fn large(&mut self, unit: &Unit<'p>, frame: &mut Frame<'_>, op: &LargeOp) -> Result<()> {
        match *op {
            LargeOp::Alloc { d, bytes, var } => {
                let at = self.memory.alloc(frame.i64(bytes), Kind::Heap, unit.space(var), unit.label(var))?;
                self.set_owned(frame, d, at)
            }
            LargeOp::Frame { d, bytes, var } => {
                let at = self.frame_block(unit, frame, bytes, var)?;
                frame.slots[d as usize] = Slot::set(at.bits());
                Ok(())
            }
            LargeOp::NewSlots { d, count, var } => {
                let at = self.memory.slots(frame.i64(count), unit.label(var))?;
                self.set_owned(frame, d, at)
            }
            LargeOp::PutSlot { slots, at, block } => {
                self.memory.put_slot(frame.pointer(slots), frame.i64(at), frame.pointer(block))?;
                frame.slots[block as usize] = Slot::NULL;
                Ok(())
            }
            LargeOp::GetSlot { d, slots, at } => {
                let kept = self.memory.get_slot(frame.pointer(slots), frame.i64(at))?;
                frame.slots[d as usize] = Slot::set(kept.bits());
                Ok(())
            }
            LargeOp::Share { d, a } => {
                let at = frame.pointer(a);
                self.memory.share(at)?;
                self.set_owned(frame, d, at)
            }
            LargeOp::Release { a } => {
                self.memory.release(frame.pointer(a))?;
                frame.slots[a as usize] = Slot::NULL;
                Ok(())
            }
            LargeOp::CopyElements(number) => self.copy(frame, &unit.copies[number as usize]),
            LargeOp::ConstData { d, data } => {
                let program = self.program;
                let i = data.index();
                let (Some(known), Some(data)) = (self.data.get_mut(i), program.data.get(i)) else {
                    return bug(format!("data#{i} does not exist"));
                };
                let memory = &mut self.memory;
                let at = *known.get_or_insert_with(|| {
                    memory.with_bytes(data.bytes.to_vec(), Kind::Data, false, Label::Data(i))
                });
                frame.slots[d as usize] = Slot::set(at.bits());
                Ok(())
            }
            LargeOp::ReadGlobal { d, global } => {
                let value = *self.global(global.0)?;
                if value.state == State::Unset {
                    return bug(format!("global#{} is not set", global.0));
                }
                frame.slots[d as usize] = value;
                Ok(())
            }
            LargeOp::WriteGlobal { global, a } => {
                let value = frame.slots[a as usize];
                let is_buffer = self.program.globals.get(global.index()).is_some_and(|ty| ty.is_buffer());
                if is_buffer {
                    self.memory.share(Pointer::from_bits(value.word))?;
                }
                let old = std::mem::replace(self.global(global.0)?, value);
                if is_buffer { self.release(old) } else { Ok(()) }
            }
            LargeOp::Kernel(number) => self.kernel(frame, &unit.kernels[number as usize]),
            LargeOp::Call(number) => self.call_from(unit, frame, number as usize),
            LargeOp::Check(number) => {
                let info = &unit.checks[number as usize];
                let values = info.values.iter();
                let values = values.map(|(reg, ty)| Scalar::from_bits(*ty, frame.word(*reg)));
                let values: Vec<Scalar> = values.collect();
                match self.program.checks.get(info.check.index()) {
                    Some(check) => stop(ErrorClass::Failure, message(check, &values)),
                    None => bug(format!("check#{} does not exist", info.check.0)),
                }
            }
            LargeOp::RecordComparison { tunable: id, size } => {
                let tunable = self.program.tunables.get(id.index());
                let tunable = tunable.filter(|tunable| tunable.class != Class::Size);
                let threshold = self.tunables.get(id.index());
                if let (Some(listener), Some(tunable), Some(threshold)) = (self.listener, tunable, threshold)
                {
                    let (name, size) = (&tunable.name, frame.i64(size));
                    listener(Comparison { name, size, threshold: *threshold });
                }
                Ok(())
            }
            LargeOp::Atomic(number) => self.atomic(frame, &unit.atomics[number as usize]),
        }
    }

    fn global(&mut self, global: u32) -> Result<&mut Slot> {
        match self.globals.get_mut(global as usize) {
            Some(slot) => Ok(slot),
            None => bug(format!("global#{global} does not exist")),
        }
    }

    /// A new block of the frame in place of the variable's old one.
    fn frame_block(
        &mut self,
        unit: &Unit<'p>,
        frame: &mut Frame<'_>,
        bytes: i64,
        var: Var,
    ) -> Result<Pointer> {
        if let Some(i) = frame.control.blocks.iter().position(|(of, _)| *of == var) {
            let (_, old) = &mut frame.control.blocks[i];
            if let Some(new) = self.memory.renew(*old, bytes)? {
                *old = new;
                return Ok(new);
            }
            let (_, old) = frame.control.blocks.swap_remove(i);
            self.memory.end_frame(old);
        }
        let at = self.memory.alloc(bytes, Kind::Frame, unit.space(var), unit.label(var))?;
        frame.control.blocks.push((var, at));
        Ok(at)
    }

    /// Sets an owned variable to a reference, and releases its old one.
    fn set_owned(&mut self, frame: &mut Frame<'_>, d: u32, at: Pointer) -> Result<()> {
        let old = std::mem::replace(&mut frame.slots[d as usize], Slot::set(at.bits()));
        self.release(old)
    }

    fn call_from(&mut self, unit: &Unit<'p>, frame: &mut Frame<'_>, number: usize) -> Result<()> {
        let info = &unit.calls[number];
        let (callee, ended) = self.call(info.fun, |callee, inner| {
            for ((reg, count), (param, _)) in info.args.iter().zip(&callee.params) {
                let to = *param as usize..(*param + *count) as usize;
                inner[to].copy_from_slice(frame.part(*reg, *count));
            }
        })?;
        for (target, result) in info.results.iter().zip(&callee.results) {
            let value = ended.slots[result.reg as usize];
            if result.is_buffer {
                self.set_owned(frame, target.reg, Pointer::from_bits(value.word))?;
            } else {
                let to = target.reg as usize..(target.reg + target.count) as usize;
                frame.slots[to]
                    .copy_from_slice(&ended.slots[result.reg as usize..(result.reg + target.count) as usize]);
            }
        }
        self.end(ended);
        Ok(())
    }
}

/// The error of a variable that has no value.
fn missing<T>(var: Var, slot: Slot) -> Result<T> {
    match slot.state {
        State::Unwritten => bug(format!("element {} is used and was never written", slot.word as i64)),
        State::Null => bug(format!("buffer variable {} has no block", var.0)),
        State::Unset | State::Set => bug(format!("variable {} is not set", var.0)),
    }
}
