//! Compiles accesses of elements: positions, lanes, copies, and atomic operations.

use super::{Compiled, Compiler, Executor};
use crate::eval::code::{LargeOp, Op, Reg};
use crate::eval::typed;
use crate::eval::unit::{AtomicInfo, AtomicKind, CopyInfo, LaneAccess as LaneRegisters, Positions, Side};
use crate::{Access, DeviceOp, Expr, LaneAccess, LanePositions, Region, Var};
use prim::PrimType;

impl Compiler<'_, '_> {
    /// The registers of an access's position and of its buffer.
    pub(super) fn location(&mut self, access: &Access) -> Compiled<(Reg, Reg)> {
        let mut at = self.i64(&access.offset)?;
        for (index, stride) in &access.dims {
            let a = self.i64(index)?;
            let d = self.temp(1);
            if *stride == Expr::i64(1) {
                self.emit(Op::Add { d, a, b: at });
            } else {
                let b = self.i64(stride)?;
                self.emit(Op::MulAdd { d, a, b, c: at });
            }
            at = d;
        }
        Ok((at, self.pointer(access.buffer)?))
    }

    /// An access in lanes, with no vector yet.
    pub(super) fn lanes(&mut self, access: &LaneAccess, mask: Option<&Expr>) -> Compiled<LaneRegisters> {
        let at = match &access.at {
            LanePositions::Unit(first) => Positions::Near(self.i64(first)?, 1),
            LanePositions::SmallStride(first, stride) => Positions::Near(self.i64(first)?, *stride),
            LanePositions::Strided(first, stride) => Positions::Strided(self.i64(first)?, self.i64(stride)?),
            LanePositions::Gather(each) => {
                let (reg, ty, lanes) = self.vector(each)?;
                if (ty, lanes) != (PrimType::I64, access.lanes) {
                    return self.fail("vectors with different numbers of lanes");
                }
                Positions::Gather(reg)
            }
        };
        let mask = match mask {
            None => None,
            Some(mask) => {
                let (reg, ty, lanes) = self.vector(mask)?;
                if (ty, lanes) != (PrimType::Bool, access.lanes) {
                    return self.fail("vectors with different numbers of lanes");
                }
                Some(reg)
            }
        };
        let buffer = self.pointer(access.buffer)?;
        Ok(LaneRegisters { buffer, elem: access.elem, count: access.lanes, at, mask, vector: 0 })
    }

    pub(super) fn copy(
        &mut self,
        to: &Region,
        from: &Region,
        elem: PrimType,
        extents: &[Expr],
    ) -> Compiled<()> {
        let all = |compiler: &mut Self, exprs: &[Expr]| -> Compiled<Vec<Reg>> {
            exprs.iter().map(|expr| compiler.i64(expr)).collect()
        };
        let extents = all(self, extents)?;
        // Nothing else is evaluated where there is nothing to copy.
        let (first, count) = (self.unit.extents.len() as u32, extents.len() as u32);
        self.unit.extents.extend(&extents);
        let test = self.here();
        self.emit(Op::SkipEmpty { first, count, to: test + 1 });
        let mark = self.facts.mark();
        let mut sides = Vec::with_capacity(2);
        for region in [to, from] {
            let strides = all(self, &region.strides)?;
            if strides.len() != extents.len() {
                return self.fail("a copy's strides are not as many as its extents");
            }
            let buffer = self.pointer(region.buffer)?;
            sides.push(Side { buffer, offset: self.i64(&region.offset)?, strides });
        }
        let at = self.unit.copies.len() as u32;
        if let Ok([to, from]) = <[Side; 2]>::try_from(sides) {
            self.unit.copies.push(CopyInfo { extents: extents.clone(), to, from, elem });
        }
        self.emit_large(LargeOp::CopyElements(at));
        self.facts.undo(mark);
        self.unit.code[test as usize] = Op::SkipEmpty { first, count, to: self.here() };
        Ok(())
    }

    pub(super) fn device(&mut self, op: &DeviceOp) -> Compiled<()> {
        let (access, kind, old, value) = match op {
            DeviceOp::Barrier | DeviceOp::SubgroupBarrier(_) if self.executor != Executor::Thread => {
                return self.fail("a barrier that no block is at");
            }
            DeviceOp::Await { .. } if self.executor != Executor::Thread => {
                return self.fail("a signal that no block awaits");
            }
            DeviceOp::Barrier => {
                self.emit(Op::Barrier);
                return Ok(());
            }
            DeviceOp::SubgroupBarrier(_) => {
                self.emit(Op::SubgroupBarrier);
                return Ok(());
            }
            DeviceOp::Await { var, at: access } => {
                let (at, buffer) = self.location(access)?;
                let (d, ty) = self.scalar_target(*var)?;
                self.typed(access.elem, ty)?;
                self.emit(Op::Await { elem: access.elem, d, buffer, at, retry: self.start });
                self.facts.know(*var);
                return Ok(());
            }
            DeviceOp::Update(update) => {
                let Some(f) = typed::binary(update.op, update.at.elem) else {
                    return self.fail(format!("{} has no value", update.op.name()));
                };
                (&update.at, AtomicKind::Update(update.op, f), update.old, &update.value)
            }
            DeviceOp::CompareExchange { old, at, expected, value } => {
                let (position, buffer) = self.location(at)?;
                let (expected, ty) = self.scalar(expected)?;
                self.typed(ty, at.elem)?;
                return self.atomic(
                    at,
                    (position, buffer),
                    AtomicKind::CompareExchange(expected),
                    Some(*old),
                    value,
                );
            }
            DeviceOp::Signal { at, value } => (at, AtomicKind::Signal, None, value),
        };
        let location = self.location(access)?;
        self.atomic(access, location, kind, old, value)
    }

    pub(super) fn atomic(
        &mut self,
        access: &Access,
        (at, buffer): (Reg, Reg),
        kind: AtomicKind,
        old: Option<Var>,
        value: &Expr,
    ) -> Compiled<()> {
        let (value, ty) = self.scalar(value)?;
        self.typed(ty, access.elem)?;
        let target = match old {
            None => None,
            Some(var) => {
                let (reg, ty) = self.scalar_target(var)?;
                self.typed(access.elem, ty)?;
                Some(reg)
            }
        };
        let number = self.unit.atomics.len() as u32;
        self.unit.atomics.push(AtomicInfo { elem: access.elem, buffer, at, value, kind, old: target });
        self.emit_large(LargeOp::Atomic(number));
        if let Some(var) = old {
            self.facts.know(var);
        }
        Ok(())
    }
}
