//! Instructions on vectors, lane by lane.

use super::code::{LaneOp, Reg, Slot};
use super::{Result, bug};
use prim::{Scalar, eval};

/// Returns true if a mask's lane is set.
#[inline]
pub(super) fn is_on(lane: Slot) -> Result<bool> {
    match lane.value() {
        Some(value) => Ok(value != 0),
        None => bug("a lane of a mask has no value"),
    }
}

fn lane_index(slots: &[Slot], lane: Reg, lanes: u32) -> Result<u32> {
    let lane = slots[lane as usize].word as i64;
    match u32::try_from(lane) {
        Ok(lane) if lane < lanes => Ok(lane),
        _ => bug(format!("lane {lane} of {lanes}")),
    }
}

/// The first lane that is set.
fn first_lane(slots: &[Slot], mask: Reg, lanes: u32) -> Result<Option<u32>> {
    for lane in 0..lanes {
        if is_on(slots[(mask + lane) as usize])? {
            return Ok(Some(lane));
        }
    }
    Ok(None)
}

/// Sets each lane of the destination.
fn each(slots: &mut [Slot], d: Reg, lanes: u32, f: impl Fn(&[Slot], u32) -> Option<u64>) {
    for lane in 0..lanes {
        let value = Slot::lane(f(slots, lane));
        slots[(d + lane) as usize] = value;
    }
}

/// Executes an instruction on vectors.
pub(super) fn execute(slots: &mut [Slot], op: &LaneOp) -> Result<()> {
    let at = |slots: &[Slot], reg: Reg, lane: u32| slots[(reg + lane) as usize];
    match *op {
        LaneOp::Any { d, a, lanes } => {
            let any = first_lane(slots, a, lanes)?.is_some();
            slots[d as usize] = Slot::set(u64::from(any));
        }
        LaneOp::All { d, a, lanes } => {
            let mut all = true;
            for lane in 0..lanes {
                if !is_on(at(slots, a, lane))? {
                    all = false;
                    break;
                }
            }
            slots[d as usize] = Slot::set(u64::from(all));
        }
        LaneOp::FirstLane { d, a, lanes } => {
            let first = first_lane(slots, a, lanes)?.unwrap_or(lanes);
            slots[d as usize] = Slot::set(u64::from(first));
        }
        LaneOp::Count { d, a, lanes } => {
            let mut count = 0;
            for lane in 0..lanes {
                count += u64::from(is_on(at(slots, a, lane))?);
            }
            slots[d as usize] = Slot::set(count);
        }
        LaneOp::Extract { d, a, lane, lanes } => {
            let lane = lane_index(slots, lane, lanes)?;
            match at(slots, a, lane).value() {
                Some(value) => slots[d as usize] = Slot::set(value),
                None => return bug("the lane has no value"),
            }
        }
        LaneOp::Splat { d, a, lanes } => {
            let value = Slot::set(slots[a as usize].word);
            slots[d as usize..(d + lanes) as usize].fill(value);
        }
        LaneOp::Insert { d, a, lane, b, lanes } => {
            let lane = lane_index(slots, lane, lanes)?;
            let value = Slot::set(slots[b as usize].word);
            slots.copy_within(a as usize..(a + lanes) as usize, d as usize);
            slots[(d + lane) as usize] = value;
        }
        LaneOp::Pack { d, a, mask, lanes } => {
            let mut packed = Vec::with_capacity(lanes as usize);
            for lane in 0..lanes {
                if is_on(at(slots, mask, lane))? {
                    packed.push(at(slots, a, lane));
                }
            }
            // The type of the values is that of a lane that has one.
            let none = (0..lanes).all(|lane| at(slots, a, lane).value().is_none());
            packed.resize(lanes as usize, if none { Slot::UNSET } else { Slot::set(0) });
            slots[d as usize..(d + lanes) as usize].copy_from_slice(&packed);
        }
        LaneOp::Shift { d, a, by, b, lanes } => {
            let value = Slot::set(slots[b as usize].word);
            slots.copy_within(a as usize..(a + lanes - by) as usize, (d + by) as usize);
            slots[d as usize..(d + by) as usize].fill(value);
        }
        LaneOp::Unary { f, d, a, lanes } => {
            each(slots, d, lanes, |slots, lane| at(slots, a, lane).value().map(f));
        }
        LaneOp::Binary { f, d, a, b, lanes } => {
            each(slots, d, lanes, |slots, lane| f(at(slots, a, lane).value()?, at(slots, b, lane).value()?));
        }
        LaneOp::Logic { deciding, d, a, b, lanes } => {
            let deciding = u64::from(deciding);
            each(slots, d, lanes, |slots, lane| {
                let (x, y) = (at(slots, a, lane).value(), at(slots, b, lane).value());
                if x == Some(deciding) || y == Some(deciding) {
                    return Some(deciding);
                }
                x.and(y)
            });
        }
        LaneOp::Convert { op, from, to, d, a, lanes } => {
            each(slots, d, lanes, |slots, lane| {
                let x = Scalar::from_bits(from, at(slots, a, lane).value()?);
                eval::convert(op, x, to).map(Scalar::bits)
            });
        }
        LaneOp::Select { d, c, a, b, lanes } => {
            each(slots, d, lanes, |slots, lane| {
                let chosen = if at(slots, c, lane).value()? != 0 { a } else { b };
                at(slots, chosen, lane).value()
            });
        }
        LaneOp::Fma { ty, d, a, b, c, lanes } => {
            each(slots, d, lanes, |slots, lane| {
                let [x, y, z] = [a, b, c].map(|reg| at(slots, reg, lane).value());
                let of = |bits| Scalar::from_bits(ty, bits);
                eval::fma(of(x?), of(y?), of(z?)).map(Scalar::bits)
            });
        }
        LaneOp::Math { fun, ty, d, a, b, lanes } => {
            let arity = fun.arity();
            each(slots, d, lanes, |slots, lane| {
                let [x, y] = [a, b].map(|reg| at(slots, reg, lane).value());
                let args = [Scalar::from_bits(ty, x?), Scalar::from_bits(ty, y?)];
                eval::math(fun, args.get(..arity)?).map(Scalar::bits)
            });
        }
    }
    Ok(())
}
