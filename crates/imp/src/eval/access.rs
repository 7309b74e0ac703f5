//! Accesses in lanes, copies, and atomic operations of threads.

use super::code::{Slot, State};
use super::lanes::is_on;
use super::machine::{Frame, Machine};
use super::unit::{AtomicInfo, AtomicKind, CopyInfo, LaneAccess, Positions, Side};
use super::{Result, bug};
use prim::BinOp;

/// The position of a lane, if it is active.
fn position(frame: &Frame<'_>, lanes: &LaneAccess, lane: u32) -> Result<Option<i64>> {
    let active = match lanes.mask {
        None => true,
        Some(mask) => is_on(frame.slots[(mask + lane) as usize])?,
    };
    if !active {
        return Ok(None);
    }
    let from = |first: i64, stride: i64| first.wrapping_add(i64::from(lane).wrapping_mul(stride));
    match lanes.at {
        Positions::Near(first, stride) => Ok(Some(from(frame.i64(first), stride))),
        Positions::Strided(first, stride) => Ok(Some(from(frame.i64(first), frame.i64(stride)))),
        Positions::Gather(each) => match frame.slots[(each + lane) as usize].value() {
            Some(position) => Ok(Some(position as i64)),
            None => bug("a lane's position has no value"),
        },
    }
}

/// Fails where a mask or the position of an active lane has no value.
fn check_lanes(frame: &Frame<'_>, lanes: &LaneAccess) -> Result<()> {
    if lanes.mask.is_some() || matches!(lanes.at, Positions::Gather(_)) {
        for lane in 0..lanes.count {
            position(frame, lanes, lane)?;
        }
    }
    Ok(())
}

/// The first position, if all lanes are active and contiguous.
fn contiguous(frame: &Frame<'_>, lanes: &LaneAccess) -> Option<i64> {
    let Positions::Near(first, 1) = lanes.at else {
        return None;
    };
    if let Some(mask) = lanes.mask
        && frame.part(mask, lanes.count).iter().any(|lane| lane.value() != Some(1))
    {
        return None;
    }
    Some(frame.i64(first))
}

impl Machine<'_> {
    /// Loads a vector; inactive lanes get 0.
    pub(super) fn load_lanes(&mut self, frame: &mut Frame<'_>, lanes: &LaneAccess) -> Result<()> {
        if let Some(first) = contiguous(frame, lanes) {
            let at = frame.pointer(lanes.buffer);
            let vector = &mut frame.slots[lanes.vector as usize..(lanes.vector + lanes.count) as usize];
            if self.memory.load_row(at, lanes.elem, first, vector)? {
                return Ok(());
            }
        }
        check_lanes(frame, lanes)?;
        let at = frame.pointer(lanes.buffer);
        // The vector may also be that of the positions or the mask.
        let mut values = [Slot::UNSET; crate::MAX_LANES as usize];
        let count = lanes.count.min(crate::MAX_LANES);
        for lane in 0..count {
            values[lane as usize] = match position(frame, lanes, lane)? {
                Some(position) => Slot::lane(self.memory.load(at, lanes.elem, position)?),
                None => Slot::set(0),
            };
        }
        let vector = lanes.vector as usize;
        frame.slots[vector..vector + count as usize].copy_from_slice(&values[..count as usize]);
        Ok(())
    }

    /// Stores a vector; a lane without a value unsets its element.
    pub(super) fn store_lanes(&mut self, frame: &Frame<'_>, lanes: &LaneAccess) -> Result<()> {
        if let Some(first) = contiguous(frame, lanes) {
            let vector = frame.part(lanes.vector, lanes.count);
            if self.memory.store_row(frame.pointer(lanes.buffer), lanes.elem, first, vector)? {
                return Ok(());
            }
        }
        check_lanes(frame, lanes)?;
        let at = frame.pointer(lanes.buffer);
        for lane in 0..lanes.count {
            if let Some(position) = position(frame, lanes, lane)? {
                let value = frame.slots[(lanes.vector + lane) as usize].value();
                self.memory.store(at, lanes.elem, position, value)?;
            }
        }
        Ok(())
    }

    /// Copies elements, in row-major order.
    pub(super) fn copy(&mut self, frame: &Frame<'_>, info: &CopyInfo) -> Result<()> {
        let extents: Vec<i64> = info.extents.iter().map(|reg| frame.i64(*reg)).collect();
        let side = |side: &Side| {
            let strides: Vec<i64> = side.strides.iter().map(|reg| frame.i64(*reg)).collect();
            (frame.pointer(side.buffer), frame.i64(side.offset), strides)
        };
        let (to, from) = (side(&info.to), side(&info.from));
        // The innermost dimension is copied as a whole where it is contiguous.
        let mut outer = extents.len();
        let mut row = 1;
        if outer > 0 && to.2[outer - 1] == 1 && from.2[outer - 1] == 1 {
            outer -= 1;
            row = extents[outer];
        }
        let (mut index, mut at_to, mut at_from) = (vec![0; outer], to.1, from.1);
        loop {
            self.charge(1)?;
            self.memory.copy(info.elem, row as usize, (to.0, at_to), (from.0, at_from))?;
            let mut dim = outer;
            loop {
                if dim == 0 {
                    return Ok(());
                }
                dim -= 1;
                index[dim] += 1;
                at_to = at_to.wrapping_add(to.2[dim]);
                at_from = at_from.wrapping_add(from.2[dim]);
                if index[dim] < extents[dim] {
                    break;
                }
                at_to = at_to.wrapping_sub(to.2[dim].wrapping_mul(extents[dim]));
                at_from = at_from.wrapping_sub(from.2[dim].wrapping_mul(extents[dim]));
                index[dim] = 0;
            }
        }
    }

    /// Executes an atomic operation of a thread.
    pub(super) fn atomic(&mut self, frame: &mut Frame<'_>, info: &AtomicInfo) -> Result<()> {
        let (at, position) = (frame.pointer(info.buffer), frame.i64(info.at));
        let value = frame.word(info.value);
        let old = match info.kind {
            AtomicKind::Update(op, f) => {
                self.memory.update(at, info.elem, position, |old| combined(op, f(old, value)))?
            }
            AtomicKind::CompareExchange(expected) => {
                let expected = frame.word(expected);
                let swapped = |old| Ok(if old == expected { value } else { old });
                self.memory.update(at, info.elem, position, swapped)?
            }
            AtomicKind::Signal => return self.memory.signal(at, info.elem, position, value),
        };
        if let Some(d) = info.old {
            frame.slots[d as usize] = Slot { word: old, state: State::Set };
        }
        Ok(())
    }
}

/// The value of a binary operator.
pub(super) fn combined(op: BinOp, value: Option<u64>) -> Result<u64> {
    match value {
        Some(value) => Ok(value),
        None => bug(format!("{} has no value", op.name())),
    }
}
