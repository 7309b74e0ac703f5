//! Compiles control flow: conditionals, loops, checks and kernels.

use super::{Compiled, Compiler, Executor};
use crate::eval::code::{LargeOp, Op, Reg, Slot};
use crate::eval::races::Label;
use crate::eval::unit::{CheckInfo, KernelInfo, LoopInfo, label};
use crate::walk::each_stmt;
use crate::{CheckId, DeviceOp, Expr, For, Launch, LoopMode, SharedBuffer, Stmt, Var, VarType};
use prim::{ConvOp, PrimType};

impl<'p> Compiler<'p, '_> {
    pub(super) fn conditional(&mut self, cond: &Expr, yes: &'p [Stmt], no: &'p [Stmt]) -> Compiled<()> {
        let a = self.bool(cond)?;
        let test = self.here();
        self.emit(Op::JumpUnless { a, to: 0 });
        let mark = self.facts.mark();
        self.block(yes, 0);
        let known = self.facts.undo(mark);
        let is_empty = no.is_empty();
        let skip = self.here();
        if !is_empty {
            self.emit(Op::Jump(0));
        }
        self.unit.code[test as usize] = Op::JumpUnless { a, to: self.here() };
        if !is_empty {
            self.block(no, 0);
            self.unit.code[skip as usize] = Op::Jump(self.here());
        }
        self.facts.join(mark, &known);
        Ok(())
    }

    pub(super) fn while_loop(&mut self, cond: Var, body: &'p [Stmt]) -> Compiled<()> {
        let part = self.part(cond)?;
        if self.ty(cond)? != VarType::Scalar(PrimType::Bool) {
            return self.fail("a bool is needed");
        }
        self.require(part);
        let test = self.here();
        self.emit(Op::JumpUnless { a: part.reg, to: 0 });
        self.facts.forget_in_loop(body);
        let mark = self.facts.mark();
        let start = self.here();
        self.block(body, 1);
        self.require(part);
        self.emit(Op::JumpIf { a: part.reg, to: start });
        self.facts.undo(mark);
        self.unit.code[test as usize] = Op::JumpUnless { a: part.reg, to: self.here() };
        Ok(())
    }

    pub(super) fn for_loop(&mut self, f: &'p For) -> Compiled<()> {
        if self.executor != Executor::Host && !matches!(f.mode, LoopMode::Seq { .. } | LoopMode::Scheduled) {
            return self.fail("a thread has threads of its own");
        }
        let (from, ty) = self.scalar(&f.from)?;
        let (to, to_type) = self.scalar(&f.to)?;
        if !ty.is_int() || !to_type.is_int() {
            return self.fail("a loop's bounds are no integers");
        }
        let (from, to) = (self.wide(from, ty), self.wide(to, to_type));
        if let LoopMode::Grid(launch) = &f.mode {
            return self.kernel(f, launch);
        }
        let is_slices = f.slices().is_some();
        let carried = match &f.mode {
            _ if is_slices => None,
            LoopMode::Seq { independent: true } | LoopMode::Lanes(_) => {
                self.carried.of(self.unit.function, f)
            }
            LoopMode::Seq { independent: false }
            | LoopMode::Scheduled
            | LoopMode::Tasks(_)
            | LoopMode::Grid(_)
            | LoopMode::Threads(_) => None,
        };
        match (&f.mode, carried) {
            (LoopMode::Threads(_), _) => self.fail("threads outside of a kernel"),
            (LoopMode::Lanes(_), Some(var)) => {
                let var = label(self.unit.function, var);
                self.fail(format!("iterations in lanes share the variable {var}"))
            }
            (LoopMode::Seq { independent: false } | LoopMode::Scheduled, _) => {
                self.sequential_loop(f, ty, from, to)
            }
            // Threads of a kernel are checked for races with each other.
            (LoopMode::Seq { independent: true }, _) if self.executor != Executor::Host => {
                self.sequential_loop(f, ty, from, to)
            }
            _ => self.any_order_loop(f, ty, (from, to), carried.is_some()),
        }
    }

    /// The value as an `i64`.
    fn wide(&mut self, a: Reg, ty: PrimType) -> Reg {
        if ty == PrimType::I64 {
            return a;
        }
        let d = self.temp(1);
        self.emit(Op::Convert { op: ConvOp::SExt, from: ty, to: PrimType::I64, d, a });
        d
    }

    fn sequential_loop(&mut self, f: &'p For, ty: PrimType, from: Reg, to: Reg) -> Compiled<()> {
        let (var, _) = self.scalar_target(f.var)?;
        let (next, end) = (self.own_temp(), self.own_temp());
        self.emit(Op::Move { d: next, a: from });
        self.emit(Op::Move { d: end, a: to });
        let enter = self.here();
        self.emit(Op::Enter { var, next, end, exit: 0 });
        self.facts.forget_in_loop(&f.body);
        let mark = self.facts.mark();
        self.facts.know(f.var);
        let body = self.here();
        if ty != PrimType::I64 {
            self.emit(Op::Wrap { ty, d: var, a: next });
        }
        self.block(&f.body, 1);
        self.emit(Op::Next { var, next, end, body });
        self.facts.undo(mark);
        self.unit.code[enter as usize] = Op::Enter { var, next, end, exit: self.here() };
        Ok(())
    }

    fn any_order_loop(
        &mut self,
        f: &'p For,
        ty: PrimType,
        (from, to): (Reg, Reg),
        is_carried: bool,
    ) -> Compiled<()> {
        let (var, _) = self.scalar_target(f.var)?;
        let slices = match f.slices() {
            None => None,
            Some(slices) => Some((self.i64(&slices.count)?, self.scalar_target(slices.end)?.0)),
        };
        let launch = if let LoopMode::Tasks(launch) = &f.mode { Some(launch) } else { None };
        let (mut owned, mut locals, mut scattered) = (Vec::new(), Vec::new(), Vec::new());
        for var in launch.iter().flat_map(|launch| &launch.owned) {
            owned.push(self.target(*var)?.reg);
        }
        for var in launch.iter().flat_map(|launch| &launch.locals) {
            let part = self.target(*var)?;
            locals.push((part.reg, part.count));
        }
        for var in launch.iter().flat_map(|launch| &launch.scattered) {
            scattered.push(self.part(*var)?.reg);
        }
        let at = self.unit.loops.len() as u32;
        let label = match launch {
            Some(launch) => Label::Tasks(launch.name.clone(), launch.id),
            None => label(self.unit.function, f.var),
        };
        self.unit.loops.push(LoopInfo {
            label,
            ty,
            var,
            from,
            to,
            is_carried,
            slices,
            owned,
            locals,
            scattered,
        });
        self.emit(Op::Begin { at });
        self.facts.forget_in_loop(&f.body);
        self.facts.forget_of_tasks(f);
        let mark = self.facts.mark();
        f.counters().for_each(|var| self.facts.know(var));
        self.facts.forget_of_tasks(f);
        let next = self.here();
        self.emit(Op::Iterate { at, exit: 0 });
        // The bounds are read when the loop begins, and their temporaries can be used again.
        self.block(&f.body, 1);
        if launch.is_some() {
            self.emit(Op::EndTask { at });
        }
        self.emit(Op::Jump(next));
        self.facts.undo(mark);
        self.unit.code[next as usize] = Op::Iterate { at, exit: self.here() };
        Ok(())
    }

    pub(super) fn check(&mut self, cond: &Expr, check: CheckId, values: &[Expr]) -> Compiled<()> {
        let a = self.bool(cond)?;
        let test = self.here();
        self.emit(Op::JumpIf { a, to: 0 });
        let mark = self.facts.mark();
        let values: Compiled<Vec<(Reg, PrimType)>> = values.iter().map(|value| self.scalar(value)).collect();
        if let Ok(values) = values {
            let at = self.unit.checks.len() as u32;
            self.unit.checks.push(CheckInfo { check, values });
            self.emit_large(LargeOp::Check(at));
        }
        self.facts.undo(mark);
        self.unit.code[test as usize] = Op::JumpIf { a, to: self.here() };
        Ok(())
    }

    fn kernel(&mut self, f: &'p For, launch: &'p Launch) -> Compiled<()> {
        let Some((Stmt::For(threads), common)) = f.body.split_last() else {
            return self.fail("a kernel has no threads");
        };
        let LoopMode::Threads(locals) = &threads.mode else {
            return self.fail("a kernel does not end with its threads");
        };
        let (blocks, size) = (self.i64(&f.to)?, self.i64(&threads.to)?);
        let mut shared_buffers = Vec::with_capacity(launch.shared_buffers.len());
        for SharedBuffer { buffer, bytes } in &launch.shared_buffers {
            shared_buffers.push((*buffer, 0, self.i64(bytes)?));
        }
        let mut scattered = Vec::with_capacity(launch.scattered.len());
        for var in &launch.scattered {
            scattered.push(self.part(*var)?.reg);
        }
        let function = self.unit.function;
        let mut inner = Compiler::new(self.program, function, self.constants, self.carried, Executor::Block);
        inner.stmt = 0;
        inner.unit.stmts.extend(self.unit.stmts.get(self.stmt as usize));
        inner.own.extend(launch.locals.iter().chain([&f.var]));
        inner.inner.clone_from(&inner.own);
        inner.inner.extend(locals.iter().chain([&threads.var]));
        let Ok((block_var, _)) = inner.scalar_target(f.var) else {
            return self.fail("a kernel does not count its blocks");
        };
        // A captured variable has a value if it has one at the launch.
        let captured = launch.captures.iter().copied();
        inner.facts.assume(captured.filter(|var| self.facts.is_known(*var)));
        inner.own.iter().for_each(|var| inner.facts.forget(*var));
        inner.facts.know(f.var);
        for (buffer, register, _) in &mut shared_buffers {
            let Ok(found) = inner.buffer_target(*buffer) else {
                return self.fail("a shared buffer is no variable of a block");
            };
            *register = found;
            inner.facts.know(*buffer);
        }
        inner.block(common, 0);
        inner.emit(Op::Return);
        let first = inner.here();
        inner.executor = Executor::Thread;
        inner.own.clear();
        inner.own.extend(locals.iter().chain([&threads.var]));
        for var in locals {
            inner.facts.forget(*var);
            // A thread's variable has no value at first, also if the block has one of that name.
            if let Some(part) = inner.parts.get(var).copied() {
                let unset = inner.registers(Slot::UNSET, part.count);
                inner.emit(Op::Copy { d: part.reg, a: unset, count: part.count });
            }
        }
        let Ok((thread_var, _)) = inner.scalar_target(threads.var) else {
            return self.fail("a kernel does not count its threads");
        };
        inner.facts.know(threads.var);
        inner.block(&threads.body, 0);
        inner.emit(Op::Return);
        let (unit, captures) = (inner.unit, inner.captures);
        let mut copied = Vec::with_capacity(captures.len());
        for part in captures {
            copied.push((self.part(part.var)?.reg, part.reg, part.count));
        }
        let at = self.unit.kernels.len() as u32;
        self.unit.kernels.push(KernelInfo {
            unit,
            label: Label::Grid(launch.name.clone(), launch.id),
            captures: copied,
            blocks,
            size,
            shared_buffers,
            frame_bytes: frame_bytes(common),
            scattered,
            block_var,
            thread_var,
            subgroup: subgroup(threads),
            threads: first,
        });
        self.emit_large(LargeOp::Kernel(at));
        Ok(())
    }
}

/// The size of the arrays of a block that have constant sizes.
fn frame_bytes(common: &[Stmt]) -> u64 {
    let frames = common.iter().filter_map(|stmt| {
        if let Stmt::Frame { elem, count, .. } = stmt {
            Some(elem.size().saturating_mul(*count))
        } else {
            None
        }
    });
    frames.fold(0, u64::saturating_add)
}

/// The number of threads in a subgroup, if there are subgroup barriers; of several numbers, 0.
fn subgroup(threads: &For) -> Option<u32> {
    let mut size = None;
    each_stmt(&threads.body, &mut |stmt| {
        if let Stmt::Device(DeviceOp::SubgroupBarrier(own)) = stmt {
            size = Some(if size.is_none_or(|size| size == *own) { *own } else { 0 });
        }
    });
    size
}
