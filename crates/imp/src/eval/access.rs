//! Positions of accesses, copies, and atomic operations of threads.

use super::expr::{Slot, binary, is_on};
use super::frame::Frame;
use super::machine::Machine;
use super::memory::Pointer;
use super::{Result, bug};
use crate::{Access, DeviceOp, Expr, LaneAccess, LanePositions, Region, Var};
use prim::{PrimType, Scalar};

impl<'p> Machine<'p> {
    /// Executes an atomic operation of a thread; barriers and awaits are executed by the block.
    pub(super) fn device_op(&mut self, frame: &mut Frame<'p>, op: &'p DeviceOp) -> Result<()> {
        match op {
            DeviceOp::Barrier | DeviceOp::SubgroupBarrier(_) => bug("a barrier that no block is at"),
            DeviceOp::Update(update) => {
                let (at, position) = location(frame, &update.at)?;
                let value = frame.values().scalar(&update.value)?;
                let combined = |old| binary(update.op, old, value);
                let old = self.memory.update(at, update.at.elem, position, combined)?;
                match update.old {
                    Some(var) => frame.set(var, Slot::Scalar(old)),
                    None => Ok(()),
                }
            }
            DeviceOp::CompareExchange { old: var, at: access, expected, value } => {
                let (at, position) = location(frame, access)?;
                let (expected, value) = (frame.values().scalar(expected)?, frame.values().scalar(value)?);
                let same = |old: Scalar| old.bits() == expected.bits();
                let swapped = |old| Ok(if same(old) { value } else { old });
                let old = self.memory.update(at, access.elem, position, swapped)?;
                frame.set(*var, Slot::Scalar(old))
            }
            DeviceOp::Signal { at: access, value } => {
                let (at, position) = location(frame, access)?;
                let value = frame.values().scalar(value)?;
                self.memory.signal(at, position, value)
            }
            DeviceOp::Await { .. } => bug("a signal that no block awaits"),
        }
    }

    /// Returns true if a variable has got the signal that a thread awaits.
    pub(super) fn try_await(&mut self, frame: &mut Frame<'p>, var: Var, access: &'p Access) -> Result<bool> {
        let (at, position) = location(frame, access)?;
        match self.memory.awaited(at, access.elem, position)? {
            Some(signal) => frame.set(var, Slot::Scalar(signal)).map(|()| true),
            None => Ok(false),
        }
    }

    /// Copies elements, in row-major order.
    pub(super) fn copy(
        &mut self,
        frame: &Frame<'p>,
        to: &Region,
        from: &Region,
        elem: PrimType,
        extents: &[Expr],
    ) -> Result<()> {
        let values = frame.values();
        let all = |exprs: &[Expr]| -> Result<Vec<i64>> { exprs.iter().map(|e| values.i64(e)).collect() };
        let extents = all(extents)?;
        if extents.iter().any(|n| *n <= 0) {
            return Ok(());
        }
        let mut sides = Vec::with_capacity(2);
        for region in [to, from] {
            let strides = all(&region.strides)?;
            if strides.len() != extents.len() {
                return bug("a copy's strides are not as many as its extents");
            }
            sides.push((values.pointer(region.buffer)?, values.i64(&region.offset)?, strides));
        }
        // The innermost dimension is copied as a whole where it is contiguous.
        let mut outer = extents.len();
        let mut row = 1;
        if outer > 0 && sides.iter().all(|(_, _, strides)| strides[outer - 1] == 1) {
            outer -= 1;
            row = extents[outer];
        }
        let mut index = vec![0; outer];
        loop {
            self.charge(1)?;
            let at = |side: &(Pointer, i64, Vec<i64>)| {
                let steps = index.iter().zip(&side.2);
                let position =
                    steps.fold(side.1, |sum, (i, stride)| sum.wrapping_add(i64::wrapping_mul(*i, *stride)));
                (side.0, position)
            };
            self.memory.copy(elem, row as usize, at(&sides[0]), at(&sides[1]))?;
            let mut dim = outer;
            loop {
                if dim == 0 {
                    return Ok(());
                }
                dim -= 1;
                index[dim] += 1;
                if index[dim] < extents[dim] {
                    break;
                }
                index[dim] = 0;
            }
        }
    }
}

/// The block and the position of an access.
pub(super) fn location(frame: &Frame<'_>, access: &Access) -> Result<(Pointer, i64)> {
    let values = frame.values();
    let mut position = values.i64(&access.offset)?;
    for (index, stride) in &access.dims {
        let step = values.i64(index)?.wrapping_mul(values.i64(stride)?);
        position = position.wrapping_add(step);
    }
    Ok((values.pointer(access.buffer)?, position))
}

/// The block and the position of each active lane's access.
pub(super) fn lane_locations(
    frame: &Frame<'_>,
    access: &LaneAccess,
    mask: Option<&Expr>,
) -> Result<(Pointer, Vec<Option<i64>>)> {
    let values = frame.values();
    let lanes = 0..i64::from(access.lanes);
    let strided = |first: i64, stride: i64| {
        let position = |lane| first.wrapping_add(i64::wrapping_mul(lane, stride));
        lanes.map(|lane| Some(position(lane))).collect()
    };
    let mut positions: Vec<Option<i64>> = match &access.at {
        LanePositions::Unit(first) => strided(values.i64(first)?, 1),
        LanePositions::SmallStride(first, stride) => strided(values.i64(first)?, *stride),
        LanePositions::Strided(first, stride) => strided(values.i64(first)?, values.i64(stride)?),
        LanePositions::Gather(each) => {
            let each = values.vector(each)?;
            each.iter().map(|x| x.and_then(Scalar::as_i64)).collect()
        }
    };
    match mask {
        None if positions.contains(&None) => return bug("a lane's position has no value"),
        None => {}
        Some(mask) => {
            for (position, lane) in positions.iter_mut().zip(values.vector(mask)?.iter()) {
                if !is_on(*lane)? {
                    *position = None;
                } else if position.is_none() {
                    return bug("a lane's position has no value");
                }
            }
        }
    }
    Ok((values.pointer(access.buffer)?, positions))
}
