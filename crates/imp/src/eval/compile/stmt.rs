//! Compiles statements without nested ones.

use super::{Compiled, Compiler, bytes_of};
use crate::eval::code::{LargeOp, Op, Reg};
use crate::eval::unit::{CallInfo, LaneAccess};
use crate::{Arg, Expr, Function, Slots, Stmt, Var, VarType};
use prim::PrimType;

impl<'p> Compiler<'p, '_> {
    pub(super) fn stmt(&mut self, stmt: &'p Stmt) -> Compiled<()> {
        match stmt {
            Stmt::Set(var, expr) => self.set(*var, expr),
            Stmt::Load(var, access) => {
                let (at, buffer) = self.location(access)?;
                let (d, ty) = self.scalar_target(*var)?;
                self.typed(access.elem, ty)?;
                self.emit(Op::Load { elem: access.elem, d, buffer, at });
                self.facts.forget(*var);
                Ok(())
            }
            Stmt::Store(access, expr) => {
                let (at, buffer) = self.location(access)?;
                let elem = access.elem;
                if let Expr::Var(var) = expr
                    && let VarType::Scalar(ty) = self.ty(*var)?
                {
                    self.typed(ty, elem)?;
                    let part = self.part(*var)?;
                    if !self.facts.is_known(*var) {
                        self.emit(Op::RequireSet { a: part.reg, var: *var });
                        self.emit(Op::StoreVar { elem, buffer, at, a: part.reg });
                        return Ok(());
                    }
                }
                let (a, ty) = self.scalar(expr)?;
                self.typed(ty, elem)?;
                self.emit(Op::Store { elem, buffer, at, a });
                Ok(())
            }
            Stmt::LoadLanes { var, from, mask } => {
                let lanes = self.lanes(from, mask.as_ref())?;
                let part = self.target(*var)?;
                if self.ty(*var)? != VarType::Vector(from.elem, from.lanes) {
                    return self.fail("vectors with different numbers of lanes");
                }
                let at = self.unit.lanes.len() as u32;
                self.unit.lanes.push(LaneAccess { vector: part.reg, ..lanes });
                self.emit(Op::LoadLanes(at));
                Ok(())
            }
            Stmt::StoreLanes { to, value, mask } => {
                let lanes = self.lanes(to, mask.as_ref())?;
                let (vector, ty, count) = self.vector(value)?;
                if count != to.lanes {
                    return self.fail("vectors with different numbers of lanes");
                }
                self.typed(ty, to.elem)?;
                let at = self.unit.lanes.len() as u32;
                self.unit.lanes.push(LaneAccess { vector, ..lanes });
                self.emit(Op::StoreLanes(at));
                Ok(())
            }
            Stmt::Alloc(var, bytes, _) => {
                let bytes = self.i64(bytes)?;
                let d = self.buffer_target(*var)?;
                self.emit_large(LargeOp::Alloc { d, bytes, var: *var });
                self.facts.know(*var);
                Ok(())
            }
            Stmt::Frame { buffer, elem, count } => {
                let d = self.buffer_target(*buffer)?;
                self.emit_large(LargeOp::Frame { d, bytes: bytes_of(*elem, *count), var: *buffer });
                self.facts.know(*buffer);
                Ok(())
            }
            Stmt::Slots(Slots::New(var, count, _)) => {
                let count = self.i64(count)?;
                let d = self.buffer_target(*var)?;
                self.emit_large(LargeOp::NewSlots { d, count, var: *var });
                self.facts.know(*var);
                Ok(())
            }
            Stmt::Slots(Slots::Put { slots, at, block }) => {
                let (slots, at) = (self.pointer(*slots)?, self.i64(at)?);
                self.pointer(*block)?;
                let block_register = self.buffer_target(*block)?;
                self.emit_large(LargeOp::PutSlot { slots, at, block: block_register });
                self.facts.forget(*block);
                Ok(())
            }
            Stmt::Slots(Slots::Get { var, slots, at }) => {
                let (slots, at) = (self.pointer(*slots)?, self.i64(at)?);
                let d = self.buffer_target(*var)?;
                self.emit_large(LargeOp::GetSlot { d, slots, at });
                self.facts.know(*var);
                Ok(())
            }
            Stmt::Share(var, other) => {
                let a = self.pointer(*other)?;
                let d = self.buffer_target(*var)?;
                self.emit_large(LargeOp::Share { d, a });
                self.facts.know(*var);
                Ok(())
            }
            Stmt::Borrow(var, other) => {
                let a = self.pointer(*other)?;
                let d = self.buffer_target(*var)?;
                self.emit(Op::Move { d, a });
                self.facts.know(*var);
                Ok(())
            }
            Stmt::Release(var) => {
                self.pointer(*var)?;
                let a = self.buffer_target(*var)?;
                self.emit_large(LargeOp::Release { a });
                self.facts.forget(*var);
                Ok(())
            }
            Stmt::Copy { to, from, elem, extents, plan: _ } => self.copy(to, from, *elem, extents),
            Stmt::ConstData(var, data) => {
                let d = self.buffer_target(*var)?;
                self.emit_large(LargeOp::ConstData { d, data: *data });
                self.facts.know(*var);
                Ok(())
            }
            Stmt::If(cond, yes, no) => self.conditional(cond, yes, no),
            Stmt::While(cond, body) => self.while_loop(*cond, body),
            Stmt::For(f) => self.for_loop(f),
            Stmt::Call { fun, args, results, location: _ } => {
                let program = self.program;
                let Some(callee) = program.functions.get(fun.index()) else {
                    return self.fail(format!("function {} does not exist", fun.0));
                };
                let args = self.args(callee, args)?;
                let mut parts = Vec::with_capacity(results.len());
                for (var, result) in results.iter().zip(&callee.results) {
                    let part = self.target(*var)?;
                    let ty = callee.vars.get(result.index()).map(|info| info.ty);
                    let own = self.ty(*var)?;
                    if !ty.is_some_and(|ty| agree(ty, own)) {
                        return self.fail("a result has another type than its variable");
                    }
                    parts.push(part);
                }
                let at = self.unit.calls.len() as u32;
                self.unit.calls.push(CallInfo { fun: *fun, args, results: parts });
                self.emit_large(LargeOp::Call(at));
                results.iter().for_each(|var| self.facts.know(*var));
                Ok(())
            }
            Stmt::RecordComparison(id, size) => {
                let size = self.i64(size)?;
                self.tunable(*id)?;
                self.emit_large(LargeOp::RecordComparison { tunable: *id, size });
                Ok(())
            }
            Stmt::BeginNest => Ok(()),
            Stmt::EndNest { nest: _, counts } => {
                counts.iter().try_for_each(|count| self.i64(count).map(drop))
            }
            Stmt::Check { cond, check, values } => self.check(cond, *check, values),
            Stmt::ReadGlobal(var, global) => {
                let part = self.target(*var)?;
                let ty = self.ty(*var)?;
                if self.program.globals.get(global.index()).is_some_and(|of| !agree(*of, ty)) {
                    return self.fail("a global has another type than the variable");
                }
                self.emit_large(LargeOp::ReadGlobal { d: part.reg, global: *global });
                self.facts.know(*var);
                Ok(())
            }
            Stmt::WriteGlobal(global, var) => {
                let part = self.part(*var)?;
                if part.is_vector {
                    return self.fail("a scalar is needed");
                }
                self.require(part);
                self.emit_large(LargeOp::WriteGlobal { global: *global, a: part.reg });
                Ok(())
            }
            Stmt::Device(op) => self.device(op),
        }
    }

    pub(super) fn set(&mut self, var: Var, expr: &Expr) -> Compiled<()> {
        let part = self.target(var)?;
        match self.ty(var)? {
            VarType::Vector(ty, lanes) => {
                let (reg, found, count) = self.vector_into(expr, Some(part.reg))?;
                if (found, count) != (ty, lanes) {
                    return self.fail("vectors with different numbers of lanes");
                }
                if reg != part.reg {
                    self.emit(Op::Copy { d: part.reg, a: reg, count });
                }
            }
            VarType::Scalar(ty) => {
                if let Expr::Var(other) = expr {
                    let VarType::Scalar(found) = self.ty(*other)? else {
                        return self.fail("a scalar is needed");
                    };
                    self.typed(found, ty)?;
                    let from = self.part(*other)?;
                    if !self.facts.is_known(*other) {
                        self.emit(Op::RequireSet { a: from.reg, var: *other });
                        self.emit(Op::Copy { d: part.reg, a: from.reg, count: 1 });
                        self.facts.forget(var);
                        return Ok(());
                    }
                }
                let (reg, found) = self.scalar_into(expr, Some(part.reg))?;
                self.typed(found, ty)?;
                if reg != part.reg {
                    self.emit(Op::Move { d: part.reg, a: reg });
                }
                self.facts.know(var);
            }
            VarType::Buffer(_) => return self.fail("a scalar is needed"),
        }
        Ok(())
    }

    pub(super) fn typed(&mut self, ty: PrimType, elem: PrimType) -> Compiled<()> {
        if ty == elem { Ok(()) } else { self.fail(format!("a value of type {ty} is stored as {elem}")) }
    }

    fn args(&mut self, callee: &Function, args: &[Arg]) -> Compiled<Vec<(Reg, u32)>> {
        let mut registers = Vec::with_capacity(args.len());
        for (arg, param) in args.iter().zip(&callee.params) {
            let wanted = callee.vars.get(param.index()).map(|info| info.ty);
            let (reg, count, fits) = match (arg, wanted) {
                (Arg::Scalar(expr), Some(VarType::Vector(ty, lanes))) => {
                    let (reg, found, count) = self.vector(expr)?;
                    (reg, count, (found, count) == (ty, lanes))
                }
                (Arg::Scalar(Expr::Var(var)), Some(VarType::Scalar(ty))) => {
                    let part = self.part(*var)?;
                    if !self.facts.is_known(*var) {
                        self.emit(Op::RequireSet { a: part.reg, var: *var });
                    }
                    (part.reg, 1, self.ty(*var)? == VarType::Scalar(ty))
                }
                (Arg::Scalar(expr), Some(VarType::Scalar(ty))) => {
                    let (reg, found) = self.scalar(expr)?;
                    (reg, 1, found == ty)
                }
                (Arg::Buffer(var), Some(VarType::Buffer(_))) => (self.pointer(*var)?, 1, true),
                _ => (0, 0, false),
            };
            if !fits {
                return self.fail("an argument has another type than its parameter");
            }
            registers.push((reg, count));
        }
        Ok(registers)
    }
}

/// Returns true if the types are equal but for the memory of a buffer.
fn agree(x: VarType, y: VarType) -> bool {
    x == y || x.is_buffer() && y.is_buffer()
}
